"""The documented schedule API: schedules of MMA blocks, from declared ops to the document."""
