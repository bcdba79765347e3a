"""Type checkers accept kernels, and editors show what the words of the language mean."""

import inspect
import shutil
import subprocess
import sys

import pytest

import warploom as wl
from warploom.frontend.builtins import WORDS

KERNEL = """
from typing import Literal

import warploom as wl


@wl.kernel
def swiglu(
    x: wl.In["m", "k"], gate: wl.In["n", "k/4"], up: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]
):
    m, n = wl.tile(out)
    g, u = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        a = x[m, k]
        g += a @ gate[n, k].T
        u += a @ up[n, k].T

    def scaled(v, by=2.0):
        return v * by

    rows = wl.sum(g, axis=1) + wl.logsumexp(u) + g.mean(axis=1, keepdims=True)
    out[m, n] = wl.silu(g) * u + scaled(round(g)) + rows * float(x.k) ** 0.5


def choose(word: Literal["a", "b"]) -> None: ...


y = swiglu(1, 2)
choose("a")
"""


def test_every_builtin_has_a_docstring_and_its_use():
    for name, word in WORDS.items():
        text = inspect.getdoc(word)
        assert text.endswith(word.usage), name
        assert len(text.splitlines()[0]) > 5
    assert "Philox4x32-10" in inspect.getdoc(wl.philox)


@pytest.mark.slow
def test_mypy_accepts_kernels_with_the_plugin(tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL)
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = warploom.mypy_plugin\n")
    words = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "mine.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "mine.py").write_text(KERNEL.replace('choose("a")', 'choose("c")'))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "arg-type" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_accepts_kernels(tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL)
    words = ["pyright", "--pythonpath", sys.executable, "mine.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "0 errors" in done.stdout, done.stdout
