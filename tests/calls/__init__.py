"""Public calls, end to end, on the CPU: every launch is executed."""
