"""On a Hopper GPU: ``run`` and ``bench`` of shipped kernels and of an author's own."""

import json
import re

import pytest

from tests.runtime.gpu import NEEDS_HOPPER, TORCH_WARNINGS
from warploom.cli.kernels import kernel_names
from warploom.viz.measured import read_stamps

from .runner import warploom

pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]

MINE = """
import warploom as wl


@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], bias: wl.In["n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = wl.relu(acc + bias[n])


def theirs(x, w, bias):
    import torch

    return torch.relu(torch.addmm(bias, x, w.T))
"""


@pytest.mark.parametrize("name", kernel_names())
def test_every_shipped_kernel_is_right(name):
    done = warploom("run", name, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["right"]


@pytest.mark.parametrize("name", ["gemm", "attention"])
def test_the_library_stands_beside(name):
    done = warploom("bench", name, "--rounds", "2", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(json.loads(done.stdout)["ms"]) == {"library", "warploom", "library again"}


def test_a_kernel_of_ones_own_against_a_function_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    assert warploom("run", "mine.py:kernel", "--shape", "300x200x100").returncode == 0
    done = warploom("bench", "mine.py:kernel", "--against", "mine.py:theirs", "--rounds", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "x library" in done.stdout


def test_clocks_of_a_run_lie_over_its_prediction(tmp_path):
    path = tmp_path / "stamps.json"
    done = warploom("run", "gemm", "--stamps", path)
    assert done.returncode == 0, done.stdout + done.stderr
    stamps = read_stamps(path.read_text())
    assert {r.role for r in stamps.roles} == {"producer", "consumer"}
    done = warploom("timeline", "gemm", "--stamps", path, "--width", "100")
    predicted = int(re.search(r"predicted (\d+)", done.stdout)[1])
    assert 0.88 < stamps.interval / predicted < 1.37


def test_a_document_runs_its_own_programs(tmp_path):
    path = tmp_path / "gemm.json"
    assert warploom("compile", "gemm", "-o", path).returncode == 0
    assert warploom("run", path).returncode == 0
