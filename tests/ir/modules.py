"""Modules the tests speak of, each built once, and edits of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from warploom.codegen.amdgcn.module import module_of_kernel
from warploom.frontend import builtins as words
from warploom.ir import KernelModule
from warploom.kernels.gemm import gemm, turned
from warploom.kernels.swiglu import swiglu

PLAIN = ("bias", "residual")
KERNELS: dict[str, tuple[Any, dict[str, Any]]] = {
    # ping-pong consumers, serpentine tile schedule, bulk stores
    "large": (gemm, {"without": PLAIN, "constants": {"alpha": 1.0}}),
    # one consumer, stores from registers
    "small": (gemm, {"without": PLAIN, "sizes": {"m": 256, "n": 256, "k": 256}}),
    # two cooperative consumers
    "cooperative": (gemm, {"without": PLAIN, "sizes": {"m": 2048, "n": 2048, "k": 2048}}),
    # a cluster with multicast copies, a tail that reads a vector and a tile
    "gelu": (
        gemm,
        {"constants": {"activation": words.gelu}, "sizes": {"m": 1000, "n": 1000, "k": 1000}},
    ),
    "turned": (turned, {"without": PLAIN, "sizes": {"m": 16, "n": 1000, "k": 1000}}),
    # two accumulators
    "swiglu": (swiglu, {"sizes": {"m": 1000, "n": 1000, "k": 1000}}),
}


@cache
def compiled(name: str) -> Any:
    """What passes make of a kernel."""
    kernel, given = KERNELS[name]
    return kernel.compile("bf16", **given)


@cache
def module(name: str) -> KernelModule:
    """Its module for the first choice of tiles."""
    made = compiled(name)
    found: KernelModule = made.module_of(made.choices[0].config)
    return found


def edited(value: Any, change: Callable[[Any], Any | None]) -> Any:
    """A value with every part that ``change`` answers for replaced by its answer."""
    made = change(value)
    if made is not None:
        return made
    if isinstance(value, tuple):
        return tuple(edited(v, change) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        new = {n: edited(v, change) for n, v in parts.items()}
        changed = {n: v for n, v in new.items() if v is not parts[n] and v != parts[n]}
        return replace(value, **changed) if changed else value
    return value


@cache
def wave_module(schedule: str, block: tuple[int, int, int] = (128, 128, 64)) -> KernelModule:
    """A GEMM with a bias for MI355X."""
    kernel = gemm.specialise(
        {"a": "bf16", "b": "bf16", "out": "bf16", "bias": "f32"}, without=("residual",)
    )
    return module_of_kernel(kernel, schedule=schedule, block=block)
