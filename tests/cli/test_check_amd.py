"""``warploom check`` of kernels for AMD chips, and repair of AMDGCN files."""

import json
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from .runner import warploom

SYNCBENCH = Path(__file__).parents[2] / "bench" / "syncbench" / "amd"
KERNEL = """import warploom as wl


@wl.kernel
def scaled(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"], *, alpha: float = 0.5):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = acc * alpha
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "own.py"
    path.write_text(KERNEL)
    return f"{path}:scaled"


@pytest.mark.parametrize("chip", [pytest.param("mi355x", marks=pytest.mark.slow), "mi300x"])
def test_a_kernel_of_a_users_own_is_checked_on_a_chip(source, chip):
    done = warploom("check", source, "--on", chip, "--sizes", "m=17,n=24,k=40", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["verdict"] for r in reports] == ["clean", "clean"]  # whole rows and odd ones
    assert all(r["assumes"] for r in reports)


def test_a_chip_that_nobody_has_is_refused(source):
    done = warploom("check", source, "--on", "mi1")
    assert done.returncode == 2
    assert "mi355x" in done.stdout


def test_a_file_of_amdgcn_is_repaired(tmp_path):
    case = SYNCBENCH / "count_one_too_weak"
    fixed = tmp_path / "fixed.s"
    done = warploom(
        "check",
        str(case / "wrong.s"),
        "--launch",
        str(case / "launch.json"),
        "--repair",
        str(fixed),
    )
    assert done.returncode == 1
    assert f"{fixed}: clean" in done.stdout.replace("\n", " ").replace("  ", " ")
    again = warploom("check", str(fixed), "--launch", str(case / "launch.json"))
    assert again.returncode == 0
