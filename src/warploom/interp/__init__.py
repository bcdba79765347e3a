"""The interpreter: executes a kernel module on NumPy arrays, values and synchronisation.

    run_module(module, {"a": a, "b": b}, {"alpha": 1.0}, timing="adversarial", seed=3)

It reads ``KernelModule`` and nothing else, and shares no code with the verifier, the passes or the
code generators.
"""

from warploom.interp.run import run_module
from warploom.interp.timing import TIMINGS

__all__ = ["TIMINGS", "run_module"]
