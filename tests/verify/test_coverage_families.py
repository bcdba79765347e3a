"""Coverage for all sizes of kernels beyond products: what is claimed, and that edits are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.interp.test_dataflow import HARMLESS, MORE, SLOW, module
from tests.ir.modules import edited
from tests.ir.mutants import EDITS
from warploom.compiler import compiled
from warploom.errors import VerificationError
from warploom.interp import dataflow
from warploom.interp.dataflow import compile_sizes, require_computed, verify_dataflow
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import Const, Element, Op, lift
from warploom.ir.tile import Kernel
from warploom.ir.tile_schedule import Let
from warploom.kernels.rms_gemm import rms_gemm
from warploom.verify.coverage import How, require_covered, verify_coverage

FAMILIES = (
    "rms_gemm", "two_loops", "split", "step_parts", "grouped", "counted_rows", "gathered",
    "attention",
)  # fmt: skip
NAMES = [pytest.param(n, marks=pytest.mark.slow if n in SLOW else []) for n in FAMILIES]


@pytest.mark.parametrize("name", NAMES)
def test_stores_and_steps_are_covered_for_all_sizes(name: str) -> None:
    report = verify_coverage(module(name))
    assert report.verdict == "clean", str(report)
    proven = " ".join(c.what for c in report.claims if c.how is How.ALL)
    assert "each element of a tile of 'out'" in proven
    assert "take every element from first_" in proven
    assert "cover" in proven


def _of(kind: Any, change: Callable[[Any], Any | None]) -> Callable[[Any], Any | None]:
    return lambda value: change(value) if isinstance(value, kind) else None


def _position(x: Let) -> Any:
    return replace(x, value=lift(x.value + 1)) if x.name.name.startswith("pos_") else None


def _bound(x: Let) -> Any:
    return replace(x, value=lift(x.value + 1)) if x.name.name.startswith("end_") else None


def _every_other(x: ops.VectorStore) -> Any:
    """Rows are stored by one thread more, or one thread less."""
    part = x.predicate
    if part is None or getattr(part, "op", None) is not Op.AND:
        return None
    return replace(x, predicate=getattr(part, "b", None))


OWN = {
    "a tile one element further": _of(Let, _position),
    "a loop that ends later": _of(Let, _bound),
    "a store without a condition": _of(
        ops.VectorStore, lambda x: replace(x, predicate=None) if x.predicate is not None else None
    ),
    "a store without its first condition": _of(ops.VectorStore, _every_other),
    "a store that is never made": _of(ops.VectorStore, lambda x: replace(x, predicate=Const(0))),
    "a load without a condition": _of(
        ops.VectorLoad, lambda x: replace(x, predicate=None) if x.predicate is not None else None
    ),
    "a load one element further": _of(
        ops.VectorLoad, lambda x: replace(x, at=(*x.at[:-1], lift(x.at[-1] + 1)))
    ),
    "a group's last row left out": _of(
        Let,
        lambda x: replace(x, value=lift(x.value - 1)) if isinstance(x.value, Element) else None,
    ),
}


ZEROS = "a loop that ends later"  # one element: copies past the end of a tensor bring zeros


def found(made: KernelModule) -> bool:
    """Whether what every compilation runs finds something."""
    if verify_coverage(made).verdict == "wrong":
        return True
    return verify_dataflow(made, sizes_tried=[compile_sizes(made)]).verdict == "wrong"


@pytest.mark.parametrize("name", NAMES)
def test_every_edit_is_found_by_what_a_compilation_runs(name: str) -> None:
    right = module(name)
    tried, missed = 0, []
    for label, edit in {**EDITS, **MORE, **OWN}.items():

        def program(value: Any, edit: Any = edit) -> Any:
            return value if isinstance(value, Kernel) else edit(value)

        made = edited(right, program)
        if made == right:
            continue
        tried += 1
        if not found(made):
            missed.append(label)
    assert tried >= 8
    assert set(missed) <= HARMLESS | {ZEROS}, missed


def test_wrong_modules_are_not_compiled() -> None:
    right = module("rms_gemm")
    moved = edited(right, _of(Let, _position))
    with pytest.raises(VerificationError, match="is wrong"):
        require_covered(moved)
    swapped = edited(
        right,
        lambda x: x if isinstance(x, Kernel) else MORE["a sum over one lane less"](x),
    )
    require_covered(swapped)
    with pytest.raises(VerificationError, match="does not compute it"):
        require_computed(swapped)
    assert require_computed(right).verdict == "clean"


def test_a_compilation_stops_at_a_program_that_computes_something_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    right = module("rms_gemm")
    swapped = edited(
        right,
        lambda x: x if isinstance(x, Kernel) else MORE["a sum over one lane less"](x),
    )
    made = rms_gemm.with_config(m=64, n=32, k=64).compile("bf16")
    monkeypatch.setattr(compiled, "stated_module", lambda kernel, lowered: swapped)
    monkeypatch.setattr(compiled, "compile_source", None)  # it does not come to that
    with pytest.raises(VerificationError, match="does not compute it"):
        made.build(made.choices[0].config)


def test_what_cannot_be_evaluated_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataflow, "MOST_ELEMENTS", 10)
    report = require_computed(module("rms_gemm"))
    assert report.verdict == "not judged"
    assert "too many to execute" in str(report)
