"""Running emitted kernels: choose, compile, cache, launch. Nothing is loaded on import."""

from warploom.runtime.choose import Estimate, choose, estimate
from warploom.runtime.gemm import gemm
from warploom.runtime.launch import Choice
from warploom.schedules.hopper.energy import Shape

__all__ = ["Choice", "Estimate", "Shape", "choose", "estimate", "gemm"]
