"""The seed's front end: schedules of MMA blocks in the reference's shapes, up to the document."""
