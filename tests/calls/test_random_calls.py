"""Public calls that are drawn, against float64, with NaN wherever it must not count."""

from __future__ import annotations

import importlib.util
from pathlib import Path

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


@NEEDS_COMPILER
def test_what_is_wrong_is_seen():
    """NaN, other infinities, numbers that are off and other shapes."""
    import torch

    near = drawn().near
    x = torch.tensor([1.0, 2.0, -torch.inf], dtype=torch.float64)
    assert near(x, x) == ""
    assert "NaN" in near(torch.tensor([1.0, torch.nan, -torch.inf]), x)
    assert "infinities" in near(torch.tensor([1.0, 2.0, 3.0]), x)
    assert "off by" in near(torch.tensor([1.0, 2.5, -torch.inf]), x)
    assert "not" in near(x[:2], x)
