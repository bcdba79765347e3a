"""The first line where rounding goes wrong."""

import numpy as np

import warploom as wl


@wl.kernel
def squared(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    v = x[m, n]
    big = (v * v).to(wl.f16)
    out[m, n] = big - 1.0


@wl.kernel
def summed(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = wl.log(acc)


def test_the_first_infinity_is_named_with_line_tile_and_numbers():
    x = np.ones((5, 40))
    assert squared.compare(x, types="f16") is None
    x[4, 33] = 300.0  # its square is above the largest f16
    found = squared.compare(x, types="f16", extents={"m": 2, "n": 16})
    assert "(v * v).to(wl.f16)" in found.line.text
    assert dict(found.at) == {"m": 4, "n": 32}
    assert np.isinf(found.found)
    assert found.wanted == 90000
    assert "first infinite: line" in str(found)


def test_the_step_of_a_loop_is_named():
    x, w = np.ones((3, 256)), np.ones((2, 256))
    w[1, 200:] = 3e38
    x[0, 200:] = 3e38
    found = summed.compare(x, w, types="f32", extents={"k": 64})
    assert dict(found.at)["k"] == 192
    assert "acc += x[m, k] @ w[n, k].T" in found.line.text


def test_what_is_wrong_in_float64_too_is_no_difference():
    x = np.full((2, 8), np.nan)
    assert squared.compare(x, types="f32") is None
