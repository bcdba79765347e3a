"""Room 5, order: from a loop-body graph to a permutation of its ops."""
