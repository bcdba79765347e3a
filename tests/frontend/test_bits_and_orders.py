"""Bits, random numbers, places of extremes: in NumPy and as emitted CUDA on the host."""

import numpy as np
import pytest

import warploom as wl
from tests.frontend.memory_bound import executed, of_type
from tests.host_cuda import NEEDS_COMPILER

INTEGERS = np.array([0, 1, -1, 5, 2**31 - 1, -(2**31), 0x12345678, -77, 31, 32, 33, 1 << 20])


def signed(x):
    """The low 32 bits as a number of two's complement."""
    return (x + 2**31) % 2**32 - 2**31


@wl.kernel
def bits(
    a: wl.In["n", wl.i32],
    b: wl.In["n", wl.i32],
    both: wl.Out["n", wl.i32],
    any_: wl.Out["n", wl.i32],
    one: wl.Out["n", wl.i32],
    no: wl.Out["n", wl.i32],
    left: wl.Out["n", wl.i32],
    right: wl.Out["n", wl.i32],
    high: wl.Out["n", wl.i32],
    low: wl.Out["n", wl.i32],
):
    n = wl.tile(both)
    x, y = a[n], b[n]
    both[n] = x & y
    any_[n] = x | y
    one[n] = x ^ y
    no[n] = ~x
    left[n] = x << y
    right[n] = x >> y
    high[n] = wl.mulhi(x, y)
    low[n] = x * y


def wanted_bits(a, b):
    amount = [n if 0 <= n < 32 else None for n in b.tolist()]
    left = [signed(x << n) if n is not None else 0 for x, n in zip(a.tolist(), amount, strict=True)]
    right = [x >> (31 if n is None else n) for x, n in zip(a.tolist(), amount, strict=True)]
    mask = 0xFFFFFFFF
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    high = [signed((x & mask) * (y & mask) >> 32) for x, y in pairs]
    low = [signed(x * y) for x, y in pairs]
    return [a & b, a | b, a ^ b, ~a, left, right, high, low]


@NEEDS_COMPILER
def test_bits_of_whole_numbers():
    a, b = (x.reshape(-1) for x in np.meshgrid(INTEGERS, INTEGERS))
    reference = bits.reference(a, b)
    found = executed(bits, {}, {"n": len(a)}, {"a": a, "b": b})
    for mine, ours, right in zip(found, reference, wanted_bits(a, b), strict=True):
        assert (ours == right).all()
        assert (mine == right).all()


def philox(seed, counter):
    """Philox4x32-10, as its authors state it."""
    c, k = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, 0]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        mask = 0xFFFFFFFF
        c = [second >> 32 ^ c[1] ^ k[0], second & mask, first >> 32 ^ c[3] ^ k[1], first & mask]
        k = [k[0] + 0x9E3779B9 & mask, k[1] + 0xBB67AE85 & mask]
    return c


@wl.kernel
def random_bits(out: wl.Out["four", "n", wl.i32], *, seed: int):
    n = wl.tile("n")
    for i, x in ((0, 0), (1, 1), (2, 2), (3, 3)):
        out[i, n] = wl.philox(seed, wl.index(n))[x]


@wl.kernel
def dropout(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, seed: int, p: float):
    m, n = wl.tile(out)
    keep = wl.uniform(seed, wl.index(m) * x.n + wl.index(n)) >= p
    out[m, n] = wl.where(keep, x[m, n] / (1.0 - p), 0.0)


def test_philox_is_that_of_its_authors():
    """The first vector of Random123's known answers: counter 0, key 0."""
    known = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(0, 0) == known
    found = random_bits.reference(sizes={"n": 1, "four": 4}, seed=0)
    assert (found[:, 0].astype(np.int64) & 0xFFFFFFFF).tolist() == known


@NEEDS_COMPILER
@pytest.mark.parametrize("seed", [0, -3, 2**31 - 1])
def test_random_bits_and_dropout_equal_their_reference(seed):
    found = executed(random_bits, {}, {"n": 100, "four": 4}, {}, scalars={"seed": seed})
    wanted = np.array([philox(seed, i) for i in range(100)]).T
    assert ((found.astype(np.int64) & 0xFFFFFFFF) == wanted).all()
    x = of_type(np.random.default_rng(0).normal(size=(37, 65)) + 3, "bf16")
    scalars = {"seed": seed, "p": 0.25}
    out = executed(dropout, "bf16", {"m": 37, "n": 65}, {"x": x}, scalars=scalars)
    uniform = np.array([philox(seed, i)[0] >> 8 for i in range(37 * 65)]).reshape(37, 65) / 2**24
    wanted = of_type(np.where(uniform >= 0.25, x / 0.75, 0), "bf16")
    assert ((out != 0) == (wanted != 0)).all()
    assert np.allclose(out, wanted, rtol=8e-3)
    assert 0.15 < (out == 0).mean() < 0.35


@wl.kernel
def places(
    x: wl.In["m", "n"],
    most: wl.Out["m", wl.i32],
    least: wl.Out["m", wl.i32],
    first: wl.Out["k", "m", wl.f32],
    where: wl.Out["k", "m", wl.i32],
    total: wl.Out["one", wl.f32],
    *,
    k=3,
):
    m = wl.tile("m", "n", whole="n")
    v = x[m]
    most[m] = v.argmax(axis=1)
    least[m] = wl.argmin(v, axis=1)
    values, at = wl.topk(v, k)
    for i in range(k):
        first[i, m] = values[i]
        where[i, m] = at[i]
    total[0] += v.sum()


@NEEDS_COMPILER
@pytest.mark.parametrize("n", [3, 60, 1001, 40000])
def test_places_of_extremes_and_the_largest_few(n):
    """Of equal elements the first; a NaN is none of them."""
    rng = np.random.default_rng(n)
    x = rng.integers(-9, 9, (5, n)).astype(float)
    x[1:, 0] = np.nan if n > 3 else x[1:, 0]
    sizes = {"m": 5, "n": n, "k": 3, "one": 1}
    found = executed(places, {"x": "f32"}, sizes, {"x": x}, initial={"total": 0})
    most, least, first, where, total = found
    order = np.array(
        [sorted(range(n), key=lambda i: (-np.nan_to_num(r[i], nan=-99.0), i)) for r in x]
    )
    assert (most == order[:, 0]).all()
    assert (least == np.nanargmin(x, 1)).all()
    assert (order[:, :3] == where.T).all()
    assert (np.take_along_axis(x, order[:, :3], 1) == first.T).all()
    assert np.isnan(total[0]) if n > 3 else total[0] == x.sum()


@wl.kernel
def running(x: wl.In["m", "n"], out: wl.Out["m", "n", wl.f32]):
    m = wl.tile("m")
    acc = wl.zeros(m)
    for n in wl.steps(x.n, 1):
        acc += x[m, n]
        out[m, n] = acc


@NEEDS_COMPILER
def test_running_sums_along_a_step_axis():
    x = of_type(np.random.default_rng(0).normal(size=(70, 33)), "bf16")
    found = executed(running, {"x": "bf16"}, {"m": 70, "n": 33}, {"x": x})
    assert np.allclose(found, np.cumsum(x, 1), atol=1e-4)
