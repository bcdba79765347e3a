"""From a tile kernel to the program of the waves of a CDNA chip: plan, schedule, lower."""
