"""The gallery's kernels compute what NumPy does: by reference, as emitted, on both targets."""

from __future__ import annotations

import shutil

import pytest
from examples.gallery import CASES

from tests.kernels import gallery

NAMES = [c.name for c in CASES]
QUICK = ("layer_norm", "column_sum", "transpose", "greatest", "sample", "welford", "route")
REFUSED: tuple[str, ...] = ()
QUICK_HOST = ("gptq_gemm", "batch_norm", "clip_loss", "lora_rank12", "route_top8")
HOST = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def some(expected):
    """All kernels, those marked that are known not to get there."""
    reason = "see REFUSED"
    mark = pytest.mark.xfail(reason=reason, strict=False)
    return [pytest.param(n, marks=mark) if n in expected else n for n in NAMES]


def case(name):
    return next(c for c in CASES if c.name == name)


def test_names_are_different_and_twenty_trials_are_there():
    assert len(set(NAMES)) == len(NAMES) >= 40
    assert {c.trial for c in CASES} >= set(range(1, 21))


@pytest.mark.parametrize("name", NAMES)
def test_reference(name):
    assert gallery.near(case(name), gallery.by_reference(case(name))) == ""


@pytest.mark.parametrize("name", QUICK)
def test_interpreted_for_h200(name):
    assert gallery.near(case(name), gallery.interpreted(case(name))) == ""


@HOST
@pytest.mark.parametrize("name", QUICK_HOST)
def test_emitted_cuda_of_some(name):
    assert gallery.near(case(name), gallery.on_host(case(name))) == ""


@HOST
@pytest.mark.slow
@pytest.mark.parametrize("name", some(REFUSED))
def test_emitted_cuda(name):
    assert gallery.near(case(name), gallery.on_host(case(name))) == ""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["h200", "mi355x"])
@pytest.mark.parametrize("name", some(REFUSED))
def test_interpreted(name, target):
    assert gallery.near(case(name), gallery.interpreted(case(name), target)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", some(REFUSED))
def test_machine_code_is_clean(name):
    report = gallery.checked(case(name))
    assert report.clean, report.text()
