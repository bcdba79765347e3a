"""Public calls that are drawn, against float64, with NaN wherever it must not count."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.host_cuda import NEEDS_COMPILER

SCRIPT = Path(__file__).parents[2] / "bench" / "random_calls.py"


def drawn():
    spec = importlib.util.spec_from_file_location("random_calls", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@NEEDS_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_calls_are_right_or_refused(first):
    run = drawn().run
    lines = [run(seed) for seed in range(first, first + 10)]
    wrong = [x for x in lines if x["found"] != "right" and not x["found"].startswith("refused")]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_calls_are_right_or_refused_in_the_interpreter(first):
    run = drawn().run
    lines = [run(seed, "interpreter") for seed in range(first, first + 10)]
    wrong = [x for x in lines if x["found"] != "right" and not x["found"].startswith("refused")]
    assert wrong == []


@NEEDS_COMPILER
@pytest.mark.parametrize("seed", [5, 12, 27])
def test_a_few_calls_every_run(seed):
    """Gradients, and rows that are added to others, by NumPy arrays of float32 in both ways."""
    assert drawn().run(seed)["found"] == "right"
    assert drawn().run(seed, "interpreter")["found"] == "right"


def test_what_is_wrong_is_seen():
    """NaN, other infinities, numbers that are off and other shapes."""
    near = drawn().near
    x = np.array([1.0, 2.0, -np.inf])
    assert near(x, x) == ""
    assert "NaN" in near(np.array([1.0, np.nan, -np.inf]), x)
    assert "infinities" in near(np.array([1.0, 2.0, 3.0]), x)
    assert "off by" in near(np.array([1.0, 2.5, -np.inf]), x)
    assert "not" in near(x[:2], x)


def test_gradients_that_calls_are_compared_with():
    """Against differences of the forward pass."""
    module = drawn()
    rng = np.random.default_rng(0)
    q, k, v, grad = (rng.normal(size=s) for s in ((2, 5, 4), (1, 7, 4), (1, 7, 4), (2, 5, 4)))
    for causal, n in ((False, 7), (True, 7), ("lower_right", 6), (False, 3)):
        made = module.heads_grad(q, k, v, grad, n, causal, 0.5)
        for x, dx in zip((q, k, v), made, strict=True):
            at = (0, 2, 1)
            sides = []
            for by in (1e-5, -1e-5):
                x[at] += by
                sides.append((module.heads(q, k, v, n, causal, 0.5)[0] * grad).sum())
                x[at] -= by
            assert np.isclose((sides[0] - sides[1]) / 2e-5, dx[at], atol=1e-6)
