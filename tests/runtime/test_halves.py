"""Block scales whose tiles lie in both halves of the weights, without a GPU."""

from __future__ import annotations

import pytest

from warploom.compiler.layout import Layout
from warploom.errors import BackendError
from warploom.ir.tile import DType
from warploom.runtime import fused
from warploom.runtime.halves import Half, halves
from warploom.runtime.tensors import row_major


def layouts(m, n, k, out=None):
    fp8 = [Layout(s, row_major(s), DType.E4M3) for s in ((m, k), (n, k))]
    columns = Layout((m, k // 128), (1, m), DType.F32)
    blocks = (n // 128, k // 128)
    return fp8[0], columns, fp8[1], Layout(blocks, row_major(blocks), DType.F32), out


@pytest.mark.parametrize(
    ("shape", "paired"),
    [
        ((4096, 4096, 4096), True),
        ((4096, 7168, 2048), True),
        ((2048, 4096, 7168), True),
        ((4100, 4096, 640), True),
        ((8192, 8192, 8192), False),  # 192 x 128 moves fewer bytes still
        ((4096, 4224, 4096), False),  # halves would not be whole blocks
        ((2048, 4608, 4096), False),  # three rounds of large tiles, five of half of them
        ((128, 4096, 7168), False),
    ],
)
def test_which_products_are_seen_in_halves(shape, paired):
    seen, shapes = halves(layouts(*shape), fused.PLAIN)
    assert isinstance(seen[2], Half) == paired
    assert shapes == ({4: shape[:2]} if paired else {})


def test_halves_of_a_result_that_lies_in_a_larger_one():
    m, n, k = 4096, 4096, 640
    out = Layout((m, n), (3 * n, 1), DType.BF16)
    (_, _, b, scales, seen), _ = halves(layouts(m, n, k, out), fused.PLAIN)
    assert (b.shape, b.strides) == ((2, 2048, k), (2048 * k, k, 1))
    assert (scales.shape, scales.strides) == ((2, 16, 5), (80, 5, 1))
    assert (seen.shape, seen.strides) == ((m, 2, 2048), (3 * n, 2048, 1))


def test_both_compile_from_the_layouts_of_a_call():
    names = [
        fused.SCALED.compiled_for(layouts(m, 4096, 640), fused.PLAIN).kernel.name
        for m in (4096, 256)
    ]
    assert names == ["block_scaled_pair", "block_scaled"]


def test_weights_of_three_axes_are_refused_as_they_were():
    a, sa, b, sb, _ = layouts(4096, 4096, 640)
    b, sb = (Layout((2, 2048, w.shape[1]), (1, 1, 1), w.dtype) for w in (b, sb))
    with pytest.raises(BackendError, match=r"axes|dimensions"):
        fused.SCALED.compiled_for((a, sa, b, sb, None), fused.PLAIN)
