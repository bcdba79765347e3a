"""CUDA C++ of tile kernels: role programs, vector steps and memory traffic, all from the value."""
