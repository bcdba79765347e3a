"""Back ends: compiled schedules become kernels, checked against the schedule they came from."""
