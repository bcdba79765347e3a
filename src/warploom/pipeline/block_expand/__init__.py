"""MMA blocks, the program they form, and how one block expands to entries."""
