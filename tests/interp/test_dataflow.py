"""Dataflow against the author's kernel: shipped forms are clean, edited programs are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.interp.cases import counted_rows, norm_then_product, rms_norm, softmax, step_parts
from tests.ir.modules import edited
from tests.ir.mutants import EDITS
from warploom.compiler.compiled import Compiled
from warploom.interp.dataflow import verify_dataflow
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import Element, lift
from warploom.ir.tile_schedule import Let
from warploom.ir.types import Fn
from warploom.kernels.attention import attention
from warploom.kernels.grouped import grouped, grouped_gathered
from warploom.kernels.rms_gemm import rms_gemm
from warploom.passes.row_module import build_row_module

Make = Callable[[], KernelModule]


def _rows(text: Any, **given: Any) -> KernelModule:
    kernel = text.specialise(text.spell("bf16"), **given)
    compiled = Compiled(kernel)
    return build_row_module(kernel, compiled.rewritten)


def _first(text: Any, **given: Any) -> KernelModule:
    made = text.compile("bf16", **given)
    return made.module_of(made.choices[0].config)  # type: ignore[no-any-return]


MODULES: dict[str, Make] = {
    "rms_norm": lambda: _rows(rms_norm, sizes={"n": 128}),
    "softmax": lambda: _rows(softmax, sizes={"n": 64}),
    "rms_gemm": lambda: _first(rms_gemm.with_config(m=64, n=32, k=64)),
    "two_loops": lambda: _first(norm_then_product.with_config(m=64, n=32, k=64, j=64)),
    "split": lambda: _first(rms_gemm.with_config(m=64, n=32, k=64, split_k=3)),
    "step_parts": lambda: _first(
        step_parts.with_config(m=64, n=32, split_k=2, mma_turns=False), sizes={"d": 64}
    ),
    "grouped": lambda: _first(grouped.with_config(t=64, n=32, k=64)),
    "counted_rows": lambda: _first(counted_rows.with_config(t=64, n=32, k=64)),
    "gathered": lambda: _first(grouped_gathered.with_config(t=64, n=32, k=64)),
    "attention": lambda: _first(
        attention.with_config(s=64, t=64),
        sizes={"d": 64},
        without=["lse"],
        constants={"causal": True},
        positive=["scale"],
    ),
}
SLOW = ("attention", "two_loops")
NAMES = [pytest.param(n, marks=pytest.mark.slow if n in SLOW else []) for n in MODULES]


@cache
def module(name: str) -> KernelModule:
    """A module, built once."""
    return MODULES[name]()


@pytest.mark.parametrize("name", NAMES)
def test_programs_compute_the_authors_kernel(name: str) -> None:
    report = verify_dataflow(module(name), classes=4)
    assert report.verdict == "clean", str(report)
    assert len(report.tried) == 4


def test_a_part_of_single_steps_that_is_split_again_ends_where_its_part_does() -> None:
    """Parts with fewer steps than CTAs share: those without one add zeros, not the next part's."""
    for c in (2, 3, 5):
        sizes = [{"c": c, "m": 5, "n": 40, "d": 64, "p": p} for p in (1, 2, 3)]
        report = verify_dataflow(module("step_parts"), sizes_tried=sizes)
        assert report.verdict == "clean", str(report)
        assert len(report.tried) == 3


def _of(kind: Any, change: Callable[[Any], Any | None]) -> Callable[[Any], Any | None]:
    return lambda value: change(value) if isinstance(value, kind) else None


MORE = {
    "a sum over one lane less": _of(
        ops.VectorReduce, lambda x: replace(x, lanes=x.lanes[:-1]) if x.lanes else None
    ),
    "a maximum that is a sum": _of(
        ops.VectorReduce, lambda x: replace(x, fn=Fn.ADD) if x.fn is Fn.MAX else None
    ),
    "another function": _of(
        ops.VectorPointwise, lambda x: replace(x, fn=Fn.SUB) if x.fn is Fn.ADD else None
    ),
    "operands exchanged": _of(
        ops.VectorPointwise,
        lambda x: replace(x, args=x.args[::-1]) if x.fn in (Fn.SUB, Fn.DIV, Fn.LT) else None,
    ),
    "offsets of the next group": _of(
        Element,
        lambda x: replace(x, at=tuple(lift(i + 1) for i in x.at)) if x.tensor == "starts" else None,
    ),
    "a list read one row further": _of(
        ops.ThreadCopy, lambda x: replace(x, at=(lift(x.at[0] + 1), *x.at[1:]))
    ),
    "parts that are not met": _of(ops.Meet, lambda x: replace(x, sums=x.sums[:-1])),
    "a row taken from its neighbour": _of(
        ops.VectorRegister,
        lambda x: replace(x, register=lift(x.register + 1)) if x.register is not None else None,
    ),
    "a loop that begins later": _of(
        Let,
        lambda x: replace(x, value=lift(x.value + 1)) if x.name.name.startswith("first_") else None,
    ),
    "no mask anywhere": _of(
        Let,
        lambda x: replace(x, value=lift(x.value + 100)) if x.name.name == "whole_to" else None,
    ),
}
# Register rows of a layout are for loads and stores; where a body has neither they say nothing.
HARMLESS = {"fragment rows exchanged", "fragment columns doubled"}


def wrong(made: KernelModule) -> bool:
    """Whether the verifier of dataflow finds something."""
    return verify_dataflow(made, classes=4).verdict == "wrong"


@pytest.mark.parametrize("name", NAMES)
def test_edited_programs_are_found(name: str) -> None:
    found = module(name)
    tried, missed = 0, []
    for label, edit in {**EDITS, **MORE}.items():
        made = edited(replace(found, kernel=found.kernel), _program_only(edit))
        if made == found:
            continue
        tried += 1
        if not wrong(made):
            missed.append(label)
    assert tried >= 3
    unused = {"registers one further"} if not found.roles[0].arrays and found.maps == () else set()
    assert set(missed) <= HARMLESS | unused, missed


def test_sizes_cross_tiles_steps_and_parts() -> None:
    tried = [dict(x) for x in verify_dataflow(module("split"), classes=6).tried]
    assert {x["k"] for x in tried} >= {1, 64, 65, 2 * 64 * 3 + 3}
    assert {x["m"] for x in tried} >= {1, 64, 65}


def _program_only(edit: Callable[[Any], Any | None]) -> Callable[[Any], Any | None]:
    """The embedded tile IR is what the program is compared with: it stays."""
    from warploom.ir.tile import Kernel

    return lambda value: value if isinstance(value, Kernel) else edit(value)


def test_another_kernel_than_the_embedded_one_is_found() -> None:
    other = module("rms_norm").kernel
    made = replace(module("softmax"), kernel=replace(other, name="softmax"))
    with pytest.raises(Exception):  # noqa: B017, PT011 (other tensors altogether)
        verify_dataflow(made)
    ops_of = tuple(
        replace(op, fn=Fn.SUB) if getattr(op, "fn", None) is Fn.ADD and hasattr(op, "args") else op
        for op in other.ops
    )
    changed = replace(module("rms_norm"), kernel=replace(other, ops=ops_of))
    assert wrong(changed)


def test_compiled_kernels_answer_for_their_dataflow() -> None:
    made = rms_norm.compile("bf16", sizes={"n": 128})
    assert made.module == module("rms_norm")
    assert made.after("module") == str(made.module)
    assert made.dataflow.verdict == "clean"
    assert "allowed: sums in another order" in str(made.dataflow)
