"""Copies of a loop are placed by numbers that are known before it."""

from __future__ import annotations

from warploom.compiler.emit_cuda import emit_kernel
from warploom.kernels.attention import attention
from warploom.targets.h200 import h200

SIZES = {"b": 1, "h": 8, "g": 2, "s": 4096, "t": 4096, "d": 128}


def test_no_copy_of_the_loop_divides() -> None:
    """A division keeps the copying thread 200 cycles: it runs beside the exponentials."""
    made = attention.compile("bf16", sizes=SIZES, without={"lse", "lengths"}, positive={"scale"})
    text = emit_kernel(made.lower(made.choices[0].config), h200()).text
    copies = [line for line in text.splitlines() if "tma_load_4d(smem" in line]
    assert any("at_g" in line for line in copies)
    assert not any("divided_down" in line for line in copies)
    once = "const int at_g = divided_down(pos_h, divided_down(len_h, len_g));"
    assert text.count(once) == 1
