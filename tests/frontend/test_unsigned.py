"""Whole numbers without sign: every operation against NumPy's own uint32, here and as emitted."""

import linecache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tests.host_cuda as hc
import warploom as wl
from warploom import KernelTypeError

EDGES = (0, 1, 2, 3, 5, 31, 32, 33, 255, 65535, 2**16, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2,
         2**32 - 1, 1234567891, 3000000019)  # fmt: skip


@wl.kernel
def arithmetic(
    x: wl.In["n", wl.u32], y: wl.In["n", wl.u32],
    add: wl.Out["n", wl.u32], sub: wl.Out["n", wl.u32], mul: wl.Out["n", wl.u32],
    high: wl.Out["n", wl.u32], quotient: wl.Out["n", wl.u32], rest: wl.Out["n", wl.u32],
    right: wl.Out["n", wl.u32], left: wl.Out["n", wl.u32], turned: wl.Out["n", wl.u32],
):  # fmt: skip
    n = wl.tile(add)
    a, b = x[n], y[n]
    add[n] = a + b
    sub[n] = a - b
    mul[n] = a * b
    high[n] = wl.mulhi(a, b)
    quotient[n] = a // b
    rest[n] = a % b
    right[n] = a >> b
    left[n] = a << b
    turned[n] = ~a ^ (b | 0x80000000) & 0xFFFF00FF


def arithmetic_wanted(x, y):
    with np.errstate(all="ignore"):
        by = np.where(y == 0, 1, y)
        shift = np.where(y < 32, y, 0)
        return (
            x + y, x - y, x * y,
            (x.astype(np.uint64) * y.astype(np.uint64) >> np.uint64(32)).astype(np.uint32),
            x // by, x % by,
            np.where(y < 32, x >> shift, 0), np.where(y < 32, x << shift, 0),
            ~x ^ (y | np.uint32(0x80000000)) & np.uint32(0xFFFF00FF),
        )  # fmt: skip


@wl.kernel
def orders(
    x: wl.In["n", wl.u32], y: wl.In["n", wl.u32],
    less: wl.Out["n", wl.bool_], at_least: wl.Out["n", wl.bool_], equal: wl.Out["n", wl.bool_],
    least: wl.Out["n", wl.u32], most: wl.Out["n", wl.u32],
    seventh: wl.Out["n", wl.u32], eighth: wl.Out["n", wl.u32], half: wl.Out["n", wl.u32],
    real: wl.Out["n", wl.f32], halved: wl.Out["n", wl.f32], byte: wl.Out["n", wl.u8],
    small: wl.Out["n", wl.i8], same: wl.Out["n", wl.i32],
):  # fmt: skip
    n = wl.tile(less)
    a, b = x[n], y[n]
    less[n] = a < b
    at_least[n] = a >= 3000000000
    equal[n] = a == b
    least[n] = wl.minimum(a, b)
    most[n] = wl.maximum(a, 2**31)
    seventh[n] = a // 7
    eighth[n] = a % 8
    half[n] = a // 2**31
    real[n] = a
    halved[n] = a / 2
    byte[n] = a
    small[n] = a
    same[n] = a.to(wl.i32)


def orders_wanted(x, y):
    real = x.astype(np.float32)
    return (
        x < y, x >= 3000000000, x == y, np.minimum(x, y), np.maximum(x, 2**31), x // 7, x % 8,
        x >> 31, real, real / 2, np.minimum(x, 255), np.minimum(x, 127), x.astype(np.int32),
    )  # fmt: skip


KERNELS = [(arithmetic, arithmetic_wanted), (orders, orders_wanted)]


def require(made, wanted, kernel):
    for t, got, want in zip(kernel.signature.outputs, made, wanted, strict=True):
        np.testing.assert_array_equal(
            np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64), t.name
        )


def pairs():
    x, y = np.meshgrid(np.array(EDGES, np.uint32), np.array(EDGES, np.uint32))
    return x.ravel(), y.ravel()


@pytest.mark.parametrize(("kernel", "wanted"), KERNELS)
def test_reference(kernel, wanted):
    x, y = pairs()
    made = kernel.reference(x, y)
    assert {t.dtype: g.dtype for t, g in zip(kernel.signature.outputs, made, strict=True)}[
        wl.u32
    ] == np.uint32
    require(kernel.reference(x, y, exact=False), wanted(x, y), kernel)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 2), min_size=1, max_size=20))
@pytest.mark.parametrize(("kernel", "wanted"), KERNELS)
def test_any_numbers(kernel, wanted, numbers):
    x, y = np.array(numbers, np.uint32).T
    require(kernel.reference(x, y, exact=False), wanted(x, y), kernel)


@pytest.mark.parametrize("target", ["h200", "mi355x"])
@pytest.mark.parametrize(("kernel", "wanted"), KERNELS)
def test_machine_code(kernel, wanted, target):
    x, y = pairs()
    require(kernel.interpret(x, y, target=target), wanted(x, y), kernel)


@wl.kernel
def of_floats(x: wl.In["n", wl.f32], out: wl.Out["n", wl.u32], byte: wl.Out["n", wl.u8]):
    n = wl.tile(out)
    out[n] = x[n].to(wl.u32)
    byte[n] = x[n]


@pytest.mark.parametrize("target", [None, "h200", "mi355x"])
def test_floats_are_held_to_the_range(target):
    x = np.array(
        [0, 0.9, -3, 254.7, 256, 2.0**31, 3e9, 4e9, 2.0**32, 1e20, np.inf, -np.inf, np.nan]
    )
    found = of_floats.reference(x) if target is None else of_floats.interpret(x, target=target)
    clipped = np.nan_to_num(x, nan=0.0, posinf=1e30, neginf=-1e30)
    single = clipped.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(
        found[0], np.trunc(np.clip(single, 0, 2**32 - 1)).astype(np.uint32)
    )
    np.testing.assert_array_equal(found[1], np.trunc(np.clip(single, 0, 255)).astype(np.uint8))


@wl.kernel
def reduced(
    x: wl.In["m", "n", wl.u32], total: wl.Out["m", wl.u32], most: wl.Out["m", wl.u32],
    least: wl.Out["m", wl.u32], place: wl.Out["m", wl.i32], so_far: wl.Out["m", "n", wl.u32],
    folded: wl.Out["m", wl.u32],
):  # fmt: skip
    m = wl.tile(total)
    v = x[m, :]
    total[m] = v.sum(axis=1)
    most[m] = v.max(axis=1)
    least[m] = v.min(axis=1)
    place[m] = v.argmax(axis=1)
    so_far[m, :] = wl.cummax(v, axis=1)
    acc = wl.zeros(m, dtype=wl.u32)
    for n in wl.steps(x.n, 8):
        acc = wl.maximum(acc >> 1, x[m, n].max(axis=1))
    folded[m] = acc


def reduced_wanted(x):
    acc = np.zeros(len(x), np.uint32)
    for n in range(0, x.shape[1], 8):
        acc = np.maximum(acc >> 1, x[:, n : n + 8].max(1))
    return (
        x.sum(1, dtype=np.uint32), x.max(1), x.min(1), x.argmax(1), np.maximum.accumulate(x, 1),
        acc,
    )  # fmt: skip


@pytest.mark.parametrize("target", [None, "h200", "mi355x"])
def test_reductions(target):
    x = np.random.default_rng(0).integers(0, 2**32, (5, 37), dtype=np.uint32)
    found = reduced.reference(x) if target is None else reduced.interpret(x, target=target)
    require(found, reduced_wanted(x), reduced)


@wl.kernel
def brighter(
    image: wl.In["h", "w", wl.u8], mask: wl.In["h", "w", wl.bool_], out: wl.Out["h", "w", wl.u8],
    *, by: float,
):  # fmt: skip
    h, w = wl.tile(out)
    v = image[h, w]
    out[h, w] = wl.where(mask[h, w], wl.floor(v * by + 0.5), v.to(wl.f32))


@pytest.mark.parametrize("target", [None, "h200", "mi355x"])
def test_bytes(target):
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (7, 33)).astype(np.uint8)
    mask = rng.integers(0, 2, (7, 33)).astype(bool)
    how = brighter.reference if target is None else brighter.interpret
    found = how(image, mask, by=1.5, **({} if target is None else {"target": target}))
    wanted = np.where(mask, np.minimum(np.floor(image * 1.5 + 0.5), 255), image)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, wanted)


@hc.NEEDS_COMPILER
def test_calls_give_unsigned_arrays():
    image = np.arange(200, 256, dtype=np.uint8).reshape(7, 8)
    with wl.interpreting():
        found = brighter(image, np.ones((7, 8), bool), by=0.5)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.floor(image * 0.5 + 0.5))


@wl.kernel
def counted(x: wl.In["n", wl.u8], out: wl.Out["b", wl.u32]):
    n = wl.tile("n")
    out[x[n]] += 1


@pytest.mark.parametrize("target", [None, "h200", "mi355x"])
def test_bytes_are_indices(target):
    x = np.random.default_rng(2).integers(0, 256, 1003).astype(np.uint8)
    how = counted.reference if target is None else counted.interpret
    found = how(x, sizes={"b": 256}, **({} if target is None else {"target": target}))
    np.testing.assert_array_equal(found, np.bincount(x, minlength=256))


def test_arrays_without_sign_count_by_their_bits_where_the_text_says_i8():
    @wl.kernel
    def plain(x: wl.In["n", wl.i8], out: wl.Out["n", wl.i32]):
        n = wl.tile(out)
        out[n] = x[n]

    x = np.array([0, 1, 127, 128, 200, 255], np.uint8)
    for found in (plain.reference(x), plain.interpret(x), plain.interpret(x, target="mi355x")):
        np.testing.assert_array_equal(found, x.view(np.int8))


def refused(text, match):
    namespace = {"wl": wl}
    source = "@wl.kernel\ndef f(x: wl.In['n', wl.u32], out: wl.Out['n', wl.u32]):\n"
    source += "    n = wl.tile(out)\n" + "".join(f"    {line}\n" for line in text)
    name = f"<unsigned {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), namespace)
    with pytest.raises(KernelTypeError, match=match):
        namespace["f"].specialise({})


def test_refusals():
    refused(["acc = wl.zeros(n, dtype=wl.u8)", "out[n] = acc"], "a value of type u8")
    refused(["wl.atomic_max(out[n], x[n])"], "an extreme in memory")
    refused(["out[n] = x[n] + 2**32"], "4294967296 beside a u32")
    refused(["a = wl.zeros(n, dtype=wl.i32)", "for k in wl.steps(x.n, 4):", "    a = a + x[n]",
             "out[n] = a"], "from i32 to u32")  # fmt: skip
