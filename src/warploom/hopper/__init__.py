"""Ready-made Hopper schedules: the warp-specialised GEMM."""

from warploom.hopper.kernel import Activation, Dtype, Epilogue, GemmKernel, L2Hints

__all__ = ["Activation", "Dtype", "Epilogue", "GemmKernel", "L2Hints"]
