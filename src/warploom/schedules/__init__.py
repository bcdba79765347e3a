"""Ready-made schedules: ping-pong, 4-wave and single buffer."""
