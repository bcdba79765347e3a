"""``wl.print``: a tile is printed where a kernel is interpreted, and changes nothing elsewhere."""

import numpy as np
import pytest

import warploom
from warploom.errors import KernelError
from warploom.frontend import builtins as wl
from warploom.frontend.tile_kernel import kernel


@kernel
def shown(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    half = acc * 0.5
    wl.print(half)
    out[m, n] = half + 1.0


@kernel
def rows(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    top = x[m].to(wl.f32).max(axis=1)
    wl.print(top)
    out[m] = x[m].to(wl.f32) - top


def test_a_tile_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones((3, 8), np.float32)
    found = shown.interpret(x, x, types="bf16")
    said = capsys.readouterr().out
    assert "half [m=3, n=3]" in said
    assert "line 19" in said
    assert "[4. 4. 4.]" in said
    assert (found == 5).all()


def test_a_row_of_a_kernel_without_a_loop(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(128, dtype=np.float32).reshape(2, 64)
    rows.interpret(x, types="f16")
    assert "[ 63. 127.]" in capsys.readouterr().out


def test_calls_that_are_interpreted_print_too(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones((3, 8), np.float32)
    with warploom.interpreting(types="bf16"):
        shown(x, x)
    assert "half [m=3, n=3]" in capsys.readouterr().out


def test_compilations_leave_it_out() -> None:
    kinds = shown.spell("bf16")
    assert [t.name for t in shown.specialise(kinds).tensors] == ["x", "w", "out"]


def test_what_is_no_tile_is_refused_at_its_line() -> None:
    @kernel
    def number(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
        m = wl.tile(out, whole="n")
        wl.print(2.0)
        out[m] = x[m]

    with pytest.raises(KernelError) as error:
        number.interpret(np.ones((2, 64), np.float32), types="f16")
    assert "test_print.py:" in error.value.where
