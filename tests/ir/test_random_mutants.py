"""Random edits of modules: what executions show to be wrong is found; nothing fails raw."""

from __future__ import annotations

import pytest

from tests.ir.modules import module
from tests.ir.random_mutants import compare, mutant, verdict
from warploom.errors import DocumentError
from warploom.ir.expr import Op, Sym, SymKind, apply_op, const

SEEDS = [range(14), pytest.param(range(14, 600), marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS)
def test_wrong_mutants_are_found(seeds):
    found = [compare(seed) for seed in seeds]
    assert [s for s, f in zip(seeds, found, strict=True) if f[0] == "missed"] == []
    assert sum(f[0] == "wrong" for f in found) > len(found) // 2
    assert len(found) < 100 or ("right", "clean") in found


def test_a_division_by_0_is_malformed():
    with pytest.raises(DocumentError, match="/ 0"):
        apply_op(Op.DIV, 7, 0)
    assert (Sym(SymKind.SIZE, "m") % const(8)) is not None
    _, made = mutant(288)  # a constant that is divided by became 0
    assert verdict(made) == "refused: DocumentError"


def test_what_is_not_edited_is_clean():
    assert verdict(module("small")) == "clean"
