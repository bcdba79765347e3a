"""warploom: a compiler for GPU software-pipeline schedules."""
