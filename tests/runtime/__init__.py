"""The CUDA back end and its runtime."""
