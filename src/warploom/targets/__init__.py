"""What ops cost on a target, and the kernel geometry counters follow from."""
