"""What ``bench`` counts as work, and what kernels leave in blocks."""

import numpy as np
import pytest

import warploom as wl
from warploom.cli.kernels import NamedKernel, kernel_named
from warploom.cli.problem import in_rows, make_problem


@wl.kernel
def banded(
    x: wl.In["m", "k"],  # noqa: F821
    w: wl.In["n", "k"],  # noqa: F821
    out: wl.Out["m", "n"],  # noqa: F821
    *,
    width=3,
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        near = wl.index(k) < wl.index(m) + width
        acc += wl.where(near, x[m, k].to(wl.f32), 0.0).to(x.dtype) @ w[n, k].T
    out[m, n] = acc


@pytest.mark.parametrize("name", ["attention", "attention_grad", "values_grad"])
@pytest.mark.parametrize(("queries", "keys"), [(100, 100), (70, 200), (200, 70)])
@pytest.mark.parametrize("causal", ["True", "end"])
def test_a_causal_mask_counts_what_it_leaves(name, queries, keys, causal):
    products = {"attention": 2, "attention_grad": 5, "values_grad": 2}[name]
    shape = f"b=2,h=3,g=3,s={queries},t={keys},d=64"
    found = make_problem(kernel_named(name), shape, [f"causal={causal}"], timed=False).flop
    ahead = keys - queries if causal == "end" else 0
    rows, columns = np.arange(queries)[:, None], np.arange(keys)
    pairs = int((columns <= rows + ahead).sum())
    assert found == pytest.approx(2 * products * 2 * 3 * pairs * 64)


def test_sequences_count_their_own_keys_only():
    problem = make_problem(kernel_named("packed"), "h=2,s=300,d=64,g=2,t=200,i=4", [], timed=False)
    spans = [np.diff(problem.whole_number_input(n)) for n in ("q_starts", "k_starts")]
    assert problem.flop == pytest.approx(4 * 2 * 64 * (spans[0] * spans[1]).sum())


def test_pages_count_up_to_each_length():
    problem = make_problem(kernel_named("paged"), None, [], timed=False)
    pages = -(-problem.whole_number_input("lengths") // problem.sizes["u"])
    lengths = problem.whole_number_input("lengths")
    sizes = problem.sizes
    wanted = 4 * sizes["h"] * sizes["s"] * sizes["d"] * lengths.sum()
    assert problem.flop == pytest.approx(wanted)
    assert pages.max() <= sizes["j"]


def test_a_mask_of_ones_own_counts():
    problem = make_problem(NamedKernel(banded), "50x30x90", [], timed=False)
    seen = (np.arange(90) < np.arange(50)[:, None] + 3).sum()
    assert problem.flop == pytest.approx(2 * 30 * seen)


def test_steps_that_are_numbers_count_each():
    problem = make_problem(kernel_named("scan"), "b=2,h=1,c=7", [], timed=False)
    t, d, e = (problem.sizes[a] for a in "tde")
    assert problem.flop == 2 * 7 * 2 * (t * t * d + t * d * e + t * t * e + d * t * e)


def test_blocks_are_read_as_the_lanes_of_a_warp_wrote_them():
    rows, columns = 32, 24
    right = np.arange(2 * rows * columns, dtype=float).reshape(2, rows, columns)
    blocks = np.zeros((2, rows * columns))
    for n, r, c in np.ndindex(right.shape):
        block = (r // 16) * (columns // 8) + c // 8
        lane, element = r % 8 * 4 + c % 8 // 2, r % 16 // 8 * 2 + c % 2
        blocks[n, block * 128 + lane * 4 + element] = right[n, r, c]
    assert np.array_equal(in_rows(blocks.reshape(right.shape)), right)


def test_room_for_blocks_is_whole():
    problem = make_problem(kernel_named("attention_grad"), "s=100,t=70,d=64", [], timed=False)
    assert problem.allocated("dq")[-2:] == (112, 64)
    assert problem.shape("dq")[-2:] == (100, 64)
    assert problem.allocated("dk") == problem.shape("dk")
