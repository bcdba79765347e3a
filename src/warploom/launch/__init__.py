"""Running emitted kernels: choose, compile, cache, launch. Nothing is loaded on import."""

from warploom.hopper.energy import Shape
from warploom.launch.choose import Estimate, choose, estimate
from warploom.launch.gemm import gemm
from warploom.launch.launch import Choice

__all__ = ["Choice", "Estimate", "Shape", "choose", "estimate", "gemm"]
