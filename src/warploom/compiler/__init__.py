"""Compilation: configurations chosen, kernels lowered and built, results cached on disk."""
