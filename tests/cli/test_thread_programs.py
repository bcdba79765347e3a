"""Kernels whose threads run one program on the command line: emitted, verified and listed."""

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


PRODUCTS = """
import warploom as wl


@wl.kernel
def chain(x: wl.In["m", "d"], up: wl.In["f", "d"], down: wl.In["n", "f"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out, rows=64, cols=64)
    acc = wl.zeros(m, n)
    for f in wl.steps(up.f, 64):
        h = wl.zeros(m, f)
        for d in wl.steps(x.d, 64):
            h += x[m, d] @ up[f, d].T
        acc += h.to(x.dtype) @ down[n, f].T
    out[m, n] = acc
"""


def test_products_that_no_pipeline_takes(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(PRODUCTS)
    source, folder, second = f"{path}:chain", tmp_path / "dump", tmp_path / "second"
    said = warploom("show", source)
    assert said.returncode == 2
    assert "has no pipelined loop" in said.stderr
    assert "--after module" in said.stderr
    assert "mma commit" in warploom("show", source, "--after", "module").stdout
    assert warploom("show", source, "--dump-passes", str(folder)).returncode == 0
    module = folder / "module.json"
    shown = warploom("verify", str(module))
    assert shown.returncode == 0
    words = " ".join(shown.stdout.split())
    assert "and products read tiles behind a fence and a barrier" in words
    assert warploom("emit", "h200", str(module), "--no-build", "-o", str(second)).returncode == 0
    text = module.read_text()
    wrong = text.replace('"is": "ProxyFence"', '"is": "MmaCommit"')
    assert wrong != text
    module.write_text(wrong)
    said = warploom("verify", str(module))
    assert said.returncode == 1
    assert "is stored without a proxy fence" in " ".join(said.stdout.split())
