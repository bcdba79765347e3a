"""Kernels without products on the command line: their module is emitted, verified and listed."""

import pytest

from tests.cli.runner import warploom
from warploom.ir import from_json

KERNEL = """
import warploom as wl


@wl.kernel
def sums(x: wl.In["m", "n"], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    acc = wl.zeros(m)
    for n in wl.steps(x.n):
        acc += x[m, n].sum(axis=1)
    out[m] = acc
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(KERNEL)
    return f"{path}:sums"


def test_what_is_emitted_is_what_calls_run_and_comes_again_from_its_module(source, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert warploom("emit", "h200", source, "--no-build", "-o", str(first)).returncode == 0
    module = from_json((first / "module.json").read_text())
    assert module.threads is not None
    again = warploom("emit", "h200", str(first / "module.json"), "--no-build", "-o", str(second))
    assert again.returncode == 0
    assert (second / "kernel.cu").read_text() == (first / "kernel.cu").read_text()


def test_a_wrong_module_is_found_and_not_emitted(source, tmp_path):
    assert warploom("emit", "h200", source, "--no-build", "-o", str(tmp_path)).returncode == 0
    path = tmp_path / "module.json"
    text = path.read_text()
    assert warploom("verify", str(path)).returncode == 0
    wrong = text.replace('"end_n"', '"end_m"', 1)  # its declaration, and nothing that reads it
    path.write_text(wrong)
    assert warploom("verify", str(path)).returncode == 2
    assert (
        warploom("emit", "h200", str(path), "--no-build", "-o", str(tmp_path / "x")).returncode == 2
    )


def test_verify_and_show_speak_of_the_module(source):
    assert "every tile of the grid is taken once: all sizes" in warploom("verify", source).stdout
    assert "threads  " in warploom("show", source, "--after", "module").stdout
