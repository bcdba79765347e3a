"""Wrong modules: indices, predicates, trip counts, tile schedules and coordinates edited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.ir.modules import edited
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import Binary, Function, Op, Sym, SymKind, lift
from warploom.ir.tile_schedule import Let, TileSchedule

Edit = Callable[[Any], Any | None]


def _once(change: Edit) -> Edit:
    """The first place only."""
    done = [False]

    def first(value: Any) -> Any | None:
        if done[0]:
            return None
        made = change(value)
        done[0] = made is not None
        return made

    return first


def _of(kind: Any, change: Callable[[Any], Any | None]) -> Edit:
    return lambda value: change(value) if isinstance(value, kind) else None


def _shifted(values: tuple[Any, ...], n: int, by: int) -> tuple[Any, ...]:
    return tuple(lift(v + by) if i == n else v for i, v in enumerate(values))


def _without_predicate(x: Any) -> Any:
    return replace(x, predicate=None) if x.predicate is not None else None


def _tighter(x: Any) -> Any:
    """One element less."""
    if not isinstance(x.predicate, Binary) or not isinstance(x.predicate.a, Binary):
        return None
    left = x.predicate.a
    if left.op is not Op.LT:
        return None
    return replace(
        x, predicate=Binary(Op.AND, Binary(Op.LT, lift(left.a + 1), left.b), x.predicate.b)
    )


def _rounded_down(x: Binary) -> Any:
    """``(end - first + 63) / 64`` without the 63."""
    up = x.a
    if x.op is not Op.DIV or not isinstance(up, Binary) or up.op is not Op.ADD:
        return None
    counts = isinstance(up.a, Binary) and up.a.op is Op.SUB and up.a.a == Sym(SymKind.LET, "end_k")
    return replace(x, a=up.a) if counts else None


def _shorter(x: TileSchedule) -> Any:
    return replace(x, group=x.group + 1)


EDITS: dict[str, Edit] = {
    "a copy one row further": _of(
        ops.Copy,
        lambda x: replace(x, boxes=tuple(replace(b, at=_shifted(b.at, 0, 1)) for b in x.boxes)),
    ),
    "a copy one column further": _of(
        ops.Copy,
        lambda x: replace(
            x, boxes=tuple(replace(b, at=_shifted(b.at, -1 % len(b.at), 1)) for b in x.boxes)
        ),
    ),
    "trips rounded down": _of(Binary, _rounded_down),
    "a bulk store one row further": _of(
        ops.BulkStore, lambda x: replace(x, at=_shifted(x.at, 0, 1))
    ),
    "a bulk store one column further": _of(
        ops.BulkStore, lambda x: replace(x, at=_shifted(x.at, 1, 8))
    ),
    "a store one row further": _of(ops.VectorStore, lambda x: replace(x, at=_shifted(x.at, 0, 1))),
    "a store without a predicate": _of(ops.VectorStore, _without_predicate),
    "a store with one row less": _of(ops.VectorStore, _tighter),
    "a load without a predicate": _of(ops.VectorLoad, _without_predicate),
    "a load one element further": _of(
        ops.VectorLoad, lambda x: replace(x, at=_shifted(x.at, 0, 1), predicate=x.predicate)
    ),
    "fragment rows exchanged": _of(ops.FragmentLayout, lambda x: replace(x, row=lift(x.row + 1))),
    "fragment columns doubled": _of(ops.FragmentLayout, lambda x: replace(x, col=lift(x.col * 2))),
    "registers one further": _of(
        ops.FragmentLayout, lambda x: replace(x, register=lift(x.register + 1))
    ),
    "tile positions one further": _of(
        Let, lambda x: replace(x, value=lift(x.value + 1)) if x.name.name == "pos_m" else None
    ),
    "steps half as far": _of(Function, lambda x: replace(x, value=lift(x.value // 2))),
    "the first step skipped": _of(Function, lambda x: replace(x, value=lift(x.value + 64))),
    "an operand's rows moved": _of(
        ops.Mma,
        lambda x: (
            replace(x, a=replace(x.a, row=lift(x.a.row + 8)))
            if isinstance(x.a, ops.SlotOperand)
            else None
        ),
    ),
    "sums that go on from the tile before": _of(
        ops.Mma, lambda x: None if x.accumulate else replace(x, accumulate=True)
    ),
    "sums begun anew every step": _of(
        ops.Mma, lambda x: replace(x, accumulate=False) if x.accumulate else None
    ),
    "staging rows moved": _of(ops.VectorStage, lambda x: replace(x, row=lift((x.row + 1) % 16))),
    "fewer bytes announced": _of(ops.Expect, lambda x: replace(x, bytes=x.bytes - 128)),
}
# Edits of one role alone: the others keep the old value.
ALONE: dict[str, Edit] = {
    "another band in one role": _of(TileSchedule, _shorter),
    "another direction in one role": _of(
        TileSchedule, lambda x: replace(x, serpentine=not x.serpentine) if x.group else None
    ),
    "one step loop shorter": _of(ops.StepLoop, lambda x: replace(x, stop=lift(x.stop - 1))),
    "one step loop longer": _of(ops.StepLoop, lambda x: replace(x, stop=lift(x.stop + 1))),
}


def mutants(module: KernelModule) -> Iterator[tuple[str, KernelModule]]:
    """Every edit that changes the module."""
    for name, edit in EDITS.items():
        made = edited(module, edit)
        if made != module:
            yield name, made
    for name, edit in ALONE.items():
        roles = list(module.roles)
        roles[-1] = edited(roles[-1], _once(edit))
        made = replace(module, roles=tuple(roles))
        if made != module:
            yield name, made
