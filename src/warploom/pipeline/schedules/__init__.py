"""Schedules the seed declares: ping-pong, 4-wave, single buffer."""
