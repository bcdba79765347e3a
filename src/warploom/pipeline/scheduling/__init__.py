"""From a loop-body graph to a permutation of its ops."""
