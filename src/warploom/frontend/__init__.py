"""The tile language: a kernel as plain Python, read into one frozen value."""
