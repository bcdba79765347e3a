"""What the benchmark scripts share; run none of these."""
