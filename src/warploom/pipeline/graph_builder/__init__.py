"""Dependence edges, the loop-body graph and its timing analysis."""
