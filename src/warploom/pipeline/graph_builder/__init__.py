"""Room 4, relate: dependence edges, the loop-body graph and its timing analysis."""
