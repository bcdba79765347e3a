"""What ops cost on a target, and the kernel geometry counters follow from."""

AMD = ("mi355x", "mi300x")
"""Names of the chips of AMD; what is known of each loads with its file."""
