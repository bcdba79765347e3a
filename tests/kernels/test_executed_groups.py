"""Rows of groups, gathered and scattered rows, and sums in memory, executed on the host."""

from dataclasses import replace

import pytest

from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.samples import (
    GEMM,
    GROUPED_SCALES,
    GROUPED_WEIGHTS,
    SCATTERED,
    SUMS,
    SUMS_OF_GROUPS,
    case,
)
from tests.kernels.test_random_kernels import Lowered, check
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError

pytestmark = NEEDS_COMPILER


@pytest.mark.parametrize(
    "one",
    [case(GROUPED_SCALES, e=4, m=333, n=72, k=200), case(GROUPED_WEIGHTS, e=3, m=201, k=201)],
    ids=["rows", "columns"],
)
def test_vectors_of_groups_begin_anywhere(one):
    """Their copies begin at the 16 bytes before: the chip takes others for illegal instructions."""
    assert "& ~3" in emit_kernel(check(one)).text


@pytest.mark.parametrize(
    "pins",
    [
        {"m": 128, "n": 48, "consumer_warpgroups": 1, "pingpong": 2},
        {"m": 128, "n": 64, "consumer_warpgroups": 2},
        {"m": 256, "n": 80, "consumer_warpgroups": 2},
    ],
    ids=["in turn", "shared", "large"],
)
def test_copies_of_rows_end_where_their_group_does(pins):
    """Past it they bring zeros, in tiles of any columns, which leave by 16 bytes."""
    text = SCATTERED.replace('"s", "n"', '"m", "n"')
    text = text.replace("out[wl.index(m) // 3 * 2 - 1, n] +=", "out[m, n] =")
    made = emit_kernel(check(case(text, m=700, e=5, k=100, n=200), pins, 0, 1)).text
    assert "_bounded" in made
    assert "store_line(" in made


def test_columns_that_begin_anywhere_are_refused_at_their_line():
    text = GROUPED_SCALES.replace('x: wl.In["m", "k"]', 'x: wl.In["k", "m"]')
    with pytest.raises(KernelError, match="may begin anywhere") as found:
        Lowered(case(text.replace("x[m, k]", "x[k, m].T"), e=3)).compiled.choices  # noqa: B018
    assert "x[k, m].T" in found.value.where


@pytest.mark.parametrize(("groups", "rows"), [(1, 136), (4, 200), (9, 30)])
def test_products_sum_over_a_group_alone(groups, rows):
    made = check(case(SUMS_OF_GROUPS.format(right="x[m, k]"), e=groups, m=rows, k=70))
    assert "bounded" in emit_kernel(made).text


def test_a_computed_right_operand_meets_zeros_past_the_end():
    right = "(x[m, k] * 0.5).to(x.dtype)"
    assert check(
        case(SUMS_OF_GROUPS.format(right=right), e=3, m=90, k=70), {"consumer_warpgroups": 1}
    )


def test_a_sum_along_columns_past_the_end_is_refused_at_its_line():
    text = SUMS_OF_GROUPS.format(right="x[m, k]").replace('["m", "n"]', '["n", "m"]')
    text = text.replace("y[m, n].T", "y[n, m]")
    with pytest.raises(KernelError, match="past the end of this loop") as found:
        Lowered(case(text, e=3)).compiled.choices  # noqa: B018
    assert "y[n, m]" in found.value.where


@pytest.mark.parametrize(
    ("dtype", "out", "n"), [("bf16", "f32", 37), ("bf16", "bf16", 64), ("f16", "f16", 37)]
)
def test_rows_are_scattered_and_added(dtype, out, n):
    one = case(SCATTERED, dtype=dtype, e=3, m=150, s=70, n=n, k=64)
    assert check(replace(one, types={**one.types, "out": out}))


@pytest.mark.parametrize("direct", [False, True])
def test_a_sum_in_memory_is_a_sum_however_it_leaves(direct):
    assert check(case(SUMS, n=100, k=64), {"store_from_registers": direct, "n": 64})


@pytest.mark.parametrize(
    ("text", "row", "dtype", "pins"),
    [
        (GEMM, "m", "bf16", {"m": 64, "n": 64, "consumer_warpgroups": 1, "stages": 2}),
        (GEMM, "n", "bf16", {"m": 64, "n": 64, "consumer_warpgroups": 1}),
        (SCATTERED, "m", "f16", {"m": 128, "n": 64, "consumer_warpgroups": 2}),
    ],
)
def test_rows_are_gathered_by_a_list(text, row, dtype, pins):
    name = {"m": "x", "n": "w"}[row]
    text = text.replace(f'{name}: wl.In["{row}", "k"]', f'{name}: wl.In["r", "k"]')
    text = text.replace(f"{name}[{row}, k]", f"{name}[wl.index({row}) * 2 - 9, k]")  # some outside
    one = case(text, dtype=dtype, m=150, n=64, k=100, r=200, e=3, s=70)
    made = check(replace(one, types={**one.types, "out": "f32"}), pins)
    assert "copy_row(" in emit_kernel(made).text


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("x[m, k]", "x[m, wl.index(k) * 2]", "begin anywhere"),
        ("x[m, k]", "x[wl.index(k) * 2, m].T", "read once a tile"),
    ],
)
def test_other_lists_are_refused_at_their_line(old, new, why):
    axes = '"m", "r"' if new.startswith("x[m") else '"r", "m"'
    text = GEMM.replace('x: wl.In["m", "k"]', f"x: wl.In[{axes}]")
    text = text.replace(old, new).replace("x.k", "w.k")
    with pytest.raises(KernelError, match=why) as found:
        Lowered(case(text, r=100)).compiled.choices  # noqa: B018
    assert "wl.index(k) * 2" in found.value.where
