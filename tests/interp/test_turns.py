"""Sums that tiles add in turn: a module says whose turn it is, and the interpreter keeps to it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.ir.modules import edited
from warploom.errors import InterpreterError
from warploom.interp.run import run_module
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import lift
from warploom.ir.tile import Kernel
from warploom.kernels.attention_grad import attention_grad

QUERIES, KEYS = 300, 260


@cache
def module(causal: bool) -> KernelModule:
    made = attention_grad.compile(
        "bf16", sizes={"d": 64}, without=["lengths"], constants={"causal": causal}
    )
    return made.module_of(made.choices[0].config)  # type: ignore[no-any-return]


def run(found: KernelModule, timing: str, sms: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    arrays = {n: rng.normal(size=(1, 1, QUERIES, 64)) for n in ("q", "do")}
    arrays |= {n: rng.normal(size=(1, 1, KEYS, 64)) for n in ("k", "v")}
    arrays |= {"lse": np.full((1, 1, QUERIES), 4.0), "delta": rng.normal(size=(1, 1, QUERIES))}
    arrays |= {"turns": np.zeros((1, 1, QUERIES), np.int32)}
    return run_module(found, arrays, {"scale": 0.125}, timing=timing, sms=sms)


def turns_of(found: KernelModule, change: Any) -> KernelModule:
    def edit(value: Any) -> Any:
        if isinstance(value, Kernel):
            return value
        return change(value) if isinstance(value, ops.Turn) else None

    made: KernelModule = edited(found, edit)
    assert made != found
    return made


@pytest.mark.parametrize("causal", [False, True])
def test_sums_in_turn_have_the_same_bits_under_any_timing(causal: bool) -> None:
    """With a causal mask rows are given on together, by several iterations."""
    first = run(module(causal), "in_order", 1)
    for timing, sms in (("random", 2), ("adversarial", 3)):
        found = run(module(causal), timing, sms)
        for name, right in first.items():
            np.testing.assert_array_equal(found[name], right)


WRONG = {
    "one more before": lambda x: replace(x, before=lift(x.before + 1)),
    "nobody before": lambda x: replace(x, before=lift(x.before * 0)),
    "rows of another turn": lambda x: replace(x, first=lift(x.first * 0)),
    "counted at one place": lambda x: replace(x, at=(*x.at[:-1], lift(x.at[-1] * 0))),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("wrong", WRONG)
def test_turns_that_are_counted_wrong_are_found(causal: bool, wrong: str) -> None:
    with pytest.raises(InterpreterError, match=r"turn|deadlock"):
        run(turns_of(module(causal), WRONG[wrong]), "in_order", 2)
