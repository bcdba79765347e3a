"""Ready-made loop bodies: GEMM grids, attention forward, random graphs."""
