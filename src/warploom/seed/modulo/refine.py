"""Finer ops: each sub-tile in parts, so that reads and loads can stand between the products.

A body of a 2x2 grid of quadrants becomes one of a 4x4 grid of quarter quadrants when both channels
are split in two: twice the loads and fragments, each half as large, and four times the products,
each a quarter as long. Nothing else changes; what was one slot is two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.document.counters import Counters
from warploom.document.kinds import OpRole
from warploom.document.ops import OpDesc
from warploom.errors import ConfigError, ProgramError

Split = tuple[int, int]
WHOLE: Split = (1, 1)


def refined(
    body: Sequence[OpDesc], units: Counters, split: Split
) -> tuple[tuple[OpDesc, ...], Counters, tuple[tuple[int, ...], ...]]:
    """The finer body, its counter units, and per old op the indices of its parts."""
    check_split(units, split)
    if any(op.role is OpRole.SHARED_STORE for op in body) and split != WHOLE:
        raise ProgramError(
            "a body that stages its tiles through registers cannot be split", fix="split=(1, 1)"
        )
    out: list[OpDesc] = []
    parts: list[tuple[int, ...]] = []
    for op in body:
        fine = _parts(op, split)
        parts.append(tuple(range(len(out), len(out) + len(fine))))
        out += fine
    return tuple(out), finer_units(units, split), tuple(parts)


def finer_units(units: Counters, split: Split) -> Counters:
    """Counter units of one part of a load or fragment."""
    a, b = split
    (vm_a, vm_b), (lgkm_a, lgkm_b) = units.vm_per_load, units.lgkm_per_load
    return Counters(vm_per_load=(vm_a // a, vm_b // b), lgkm_per_load=(lgkm_a // a, lgkm_b // b))


def check_split(units: Counters, split: Split) -> None:
    """Refuse a split that does not divide the instructions of a load or fragment."""
    for channel, (name, factor) in enumerate(zip("AB", split, strict=True)):
        for what, count in (
            ("loads", units.vm_per_load[channel]),
            ("fragment reads", units.lgkm_per_load[channel]),
        ):
            if factor < 1 or count % factor:
                raise ConfigError(
                    f"{count} {what} of {name} cannot be split in {factor} equal parts",
                    where="split",
                    fix="a divisor of every count of the channel",
                )


def _parts(op: OpDesc, split: Split) -> list[OpDesc]:
    a, b = split
    if op.role is OpRole.COMPUTE:
        latency = max(1, op.latency // (a * b))
        return [
            replace(op, stage=op.stage * a + i, subtile=op.subtile * b + j, latency=latency)
            for i in range(a)
            for j in range(b)
        ]
    if op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD) and op.channel in (0, 1):
        n = split[op.channel]
        return [
            replace(
                op,
                subtile=op.subtile * n + i,
                vm_cost=op.vm_cost // n,
                lgkm_cost=op.lgkm_cost // n,
                vgpr_def=-(-op.vgpr_def // n),
            )
            for i in range(n)
        ]
    return [op]
