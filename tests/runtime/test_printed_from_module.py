"""CUDA is printed from the module: an edit of a fact there is an edit of the source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.ir.modules import edited
from tests.mbarrier.samples import lowered
from warploom.codegen.cuda.tile.source import emit_pipelined
from warploom.ir import KernelModule, from_json, operations as ops, to_json
from warploom.ir.expr import Function, least, lift
from warploom.ir.module import TileLoop
from warploom.ir.tile import Kernel
from warploom.ir.tile_schedule import Let, TileSchedule, let
from warploom.passes.stated_module import stated_module


def _later(at: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*at[:-1], lift(at[-1] + 3))


EDITS: dict[str, tuple[type, Any]] = {
    "position": (
        Let,
        lambda x: replace(x, value=lift(x.value + 3)) if x.name.name.startswith("pos_") else None,
    ),
    "bound": (
        Let,
        lambda x: replace(x, value=lift(x.value + 3)) if x.name.name.startswith("first_") else None,
    ),
    "range": (
        Let,
        lambda x: replace(x, value=lift(x.value + 3)) if x.name.name == "whole_to" else None,
    ),
    "trips": (TileLoop, lambda x: replace(x, trips=lift(x.trips + 3))),
    "step": (Function, lambda x: replace(x, value=lift(x.value + 3))),
    "schedule": (TileSchedule, lambda x: replace(x, group=x.group + 1) if x.group else None),
    "copy": (ops.Box, lambda x: replace(x, at=_later(x.at))),
    "end of a copy": (
        ops.Box,
        lambda x: replace(x, end=lift(x.end + 3)) if x.end is not None else None,
    ),
    "operand": (
        ops.SlotOperand,
        lambda x: replace(x, row=lift(x.row + x.row)) if str(x.row) != "0" else None,
    ),
    "sum": (ops.Mma, lambda x: replace(x, accumulate=not x.accumulate)),
    "bulk store": (ops.BulkStore, lambda x: replace(x, at=_later(x.at))),
    "store": (ops.VectorStore, lambda x: replace(x, at=_later(x.at))),
    "condition of a store": (
        ops.VectorStore,
        lambda x: replace(x, predicate=_looser(x.predicate)),
    ),
    "load": (ops.VectorLoad, lambda x: replace(x, at=_later(x.at))),
}


def _looser(predicate: Any) -> Any:
    """The last bound of a condition, moved."""
    if predicate is None:
        return None
    if str(predicate.op) == "&&":
        return replace(predicate, b=_looser(predicate.b))
    return replace(predicate, b=lift(predicate.b + 3))


@pytest.mark.parametrize("name", ["gemm", "split_gemm", "grouped_gathered", "attention"])
def test_an_edit_of_the_module_is_an_edit_of_the_source(name: str) -> None:
    made = lowered(name)
    right = stated_module(made.kernel, made)
    text = emit_pipelined(right).text
    tried = 0
    for label, (kind, change) in EDITS.items():

        def edit(value: Any, kind: type = kind, change: Any = change) -> Any:
            if isinstance(value, Kernel):
                return value
            return change(value) if isinstance(value, kind) else None

        wrong: KernelModule = edited(right, edit)
        if wrong == right:
            continue
        tried += 1
        assert emit_pipelined(wrong).text != text, label
    assert tried >= 6


@pytest.mark.parametrize(
    "name", ["gemm", "split_gemm", "grouped_gathered", "attention", "turns", "scan", "int4_gemm"]
)
def test_a_module_that_was_written_and_read_gives_the_same_source(name: str) -> None:
    """Nothing but the module is asked: neither the schedule nor what passes made of the kernel."""
    made = lowered(name)
    right = stated_module(made.kernel, made)
    assert emit_pipelined(from_json(to_json(right))) == emit_pipelined(right)


def test_iterations_that_no_range_names_are_not_left_out() -> None:
    """Where the first iteration alone hides nothing, the others run with their masks."""
    made = lowered("attention")
    right = stated_module(made.kernel, made)

    def edit(x: Any) -> Any:
        if isinstance(x, Let) and x.name.name == "whole_to":
            return replace(x, value=least(let("trips"), 1))
        return x if isinstance(x, Kernel) else None

    text = emit_pipelined(edited(right, edit)).text
    assert "k < whole_to" in text
    assert "k < k_tiles" in text
