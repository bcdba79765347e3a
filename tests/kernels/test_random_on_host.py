"""Random kernels that were once wrong, executed on the host."""

import pytest

from tests.frontend.random_kernels import RandomKernel
from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.test_random_kernels import check

pytestmark = NEEDS_COMPILER
GROWN = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        e = wl.exp(wl.index(k) * 2.0 - 140.0)
        acc += {} @ w[n, k].T
    out[m, n] = acc
"""
PRODUCT = "(e * x[m, k]).to(x.dtype)"
QUOTIENT = "(x[m, k] / wl.where(wl.index(k) < 70, 2.0, 0.0)).to(x.dtype)"
GROUPS = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"],
           out: wl.Out["m", "n"]):
    e, m, n = wl.tile(out, groups=starts)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[e, n, k].T
    out[m, n] = acc
"""


def case(text, **sizes):
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    return RandomKernel(text=text, types=types, sizes=sizes, whole={}, scalars={}, seed=3)


@pytest.mark.parametrize("left", [PRODUCT, QUOTIENT])
def test_infinity_past_the_end_leaves_no_trace(left):
    """Elements past the end were known to be 0 there, but 0 times infinity is none."""
    assert check(case(GROWN.format(left), m=72, n=40, k=70)) is not None


@pytest.mark.parametrize("consumers", [1, 2])
def test_tiles_of_groups_walk_to_and_fro(consumers):
    """The early walk to the next tile did not say in which direction a tile's loop goes."""
    pins = {"m": 64 * consumers, "n": 64, "consumer_warpgroups": consumers, "serpentine": True}
    lowered = check(case(GROUPS, m=285, n=72, k=200, e=4), pins)
    assert lowered.config.serpentine


SCALED = """
@wl.kernel
def kernel(x: wl.In["m", "k"], sx: wl.In["m", "k/128", wl.f32], w: wl.In["n", "k"],
           sw: wl.In["n/128", "k/128", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 128):
        acc += (x[m, k] @ w[n, k].T) * (sw[n, k] + 0.5) * sx[m, k]
    out[m, n] = acc
"""


def test_numbers_are_read_where_an_op_asks_whether_copies_have_landed():
    """A scale of the tile was not read at all."""
    assert check(
        case(SCALED, m=74, n=265, k=200), {"n": 32, "separate_full_waits": True}
    ).config.separate_full_waits


PLAIN = GROWN.replace("{}", "x[m, k]").replace(
    "        e = wl.exp(wl.index(k) * 2.0 - 140.0)\n", ""
)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("n", [72, 136])
def test_parts_meet_in_all_their_columns(n, near):
    """The last eight of an odd number of eights were those of one part."""
    pins = {"m": 64, "n": n, "consumer_warpgroups": 1, "split_k": 2, "split_k_in_cluster": near}
    assert check(case(PLAIN, m=70, n=150, k=300), pins).config.extent("n") == n
