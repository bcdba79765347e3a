"""Modules with random edits of indices, predicates, coordinates, trip counts and tile schedules.

An edit changes one node, or all equal ones: consistently in every role. Whether a mutant is wrong
is decided by executions at sizes and timings that the verifier does not try. What goes wrong there
must have been found by the verification of synchronisation, coverage or dataflow.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.ir.modules import edited, module
from warploom.errors import WarploomError
from warploom.interp.dataflow import _difference, size_classes, verify_dataflow
from warploom.ir import KernelModule
from warploom.ir.expr import Binary, Const, Op, Select, const
from warploom.ir.roles_document import roles_documents
from warploom.ir.tile_schedule import TileSchedule
from warploom.verify.coverage import verify_coverage
from warploom.verify.roles import verify_roles

NAMES = ("small", "cooperative", "gelu", "turned", "swiglu")
SWAPS = {
    Op.ADD: Op.SUB, Op.SUB: Op.ADD, Op.MUL: Op.ADD, Op.DIV: Op.MOD, Op.MOD: Op.DIV,
    Op.MIN: Op.MAX, Op.MAX: Op.MIN, Op.LT: Op.LE, Op.LE: Op.LT, Op.GE: Op.LT, Op.EQ: Op.NE,
    Op.NE: Op.EQ, Op.AND: Op.OR, Op.OR: Op.AND, Op.XOR: Op.ADD, Op.FLOOR_DIV: Op.MOD,
}  # fmt: skip


def nodes(value: Any) -> Iterator[Any]:
    """All parts of a value that edits know."""
    if isinstance(value, Const | Binary | Select | TileSchedule):
        yield value
    if isinstance(value, tuple):
        for v in value:
            yield from nodes(v)
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            yield from nodes(getattr(value, f.name))


def _other(rng: random.Random, node: Any) -> Any:
    if isinstance(node, Const):
        return const(rng.choice((node.value + 1, node.value - 1, node.value * 2, 0)))
    if isinstance(node, Select):
        return replace(node, yes=node.no, no=node.yes) if hasattr(node, "yes") else None
    if isinstance(node, TileSchedule):
        return rng.choice(
            (
                replace(node, group=node.group + 1),
                replace(node, group=max(1, node.group - 1)),
                replace(node, serpentine=not node.serpentine),
                replace(node, tiled=node.tiled[::-1]),
                replace(node, tiled=(replace(node.tiled[0], extent=node.tiled[0].extent * 2),
                                     *node.tiled[1:])),
                replace(node, units=node.units[::-1]),
                replace(node, neighbours=0 if node.neighbours else 2),
            )
        )  # fmt: skip
    return rng.choice(
        (
            replace(node, op=SWAPS.get(node.op, Op.ADD)),
            replace(node, a=node.b, b=node.a),
            node.a,
            node.b,
        )
    )


def mutant(seed: int) -> tuple[KernelModule, KernelModule]:
    """(the module, the edited one)."""
    rng = random.Random(f"modules {seed}")
    base = module(rng.choice(NAMES))
    parts = (
        {"roles": base.roles, "maps": base.maps} if hasattr(base, "maps") else {"roles": base.roles}
    )
    every = list(nodes(tuple(parts.values())))
    chosen = rng.choice(every)
    new = _other(rng, chosen)
    whole = rng.random() < 0.6
    left = [0 if whole else sum(n == chosen for n in every)]
    at = rng.randrange(max(1, left[0])) if not whole else 0
    seen = [0]

    def change(value: Any) -> Any | None:
        if type(value) is not type(chosen) or value != chosen or new is None:
            return None
        seen[0] += 1
        return new if whole or seen[0] == at + 1 else None

    return base, replace(base, **{n: edited(v, change) for n, v in parts.items()})


def verdict(made: KernelModule) -> str:
    """What the verifications say: ``clean``, or which one found something."""
    try:
        for document in roles_documents(made):
            if verify_roles(document).verdict != "clean":
                return "synchronisation"
        if verify_coverage(made).verdict != "clean":
            return "coverage"
        return "clean" if verify_dataflow(made).verdict == "clean" else "dataflow"
    except WarploomError as error:
        return f"refused: {type(error).__name__}"


def compare(seed: int) -> tuple[str, str]:
    """``missed``, ``wrong``, ``right`` as far as tried, or ``none``; and the verdict."""
    base, made = mutant(seed)
    if made == base:
        return "none", "none"
    found = verdict(made)
    if found != "clean":
        return "wrong", found
    for n, sizes in enumerate(size_classes(made, 16, seed + 1000)):
        if n >= 6 and _difference(made, sizes, ("adversarial", "random")[n % 2], seed + n):
            return "missed", found
    return "right", found
