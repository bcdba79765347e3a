"""Words that are written in others, reductions by name and as functions, functions in a kernel."""

import math

import numpy as np
import pytest

import warploom as wl


@wl.kernel
def rounded(x: wl.In["m", "n", wl.f32], out: wl.Out["k", "m", "n", wl.f32]):
    m = wl.tile("m")
    v = x[m, :]
    found = [wl.round(v), wl.trunc(v), round(v), float(int(v)), wl.where(wl.isinf(v), 1.0, 0.0)]
    found += [wl.where(wl.isfinite(v), v, 0.0)]
    for i in range(len(found)):
        out[i, m, :] = found[i]


def rounded_wanted(x):
    return [np.round(x), np.trunc(x), np.round(x), np.trunc(x), 0 * x, x]


@wl.kernel
def powers(
    x: wl.In["m", "n", wl.f32],
    y: wl.In["m", "n", wl.f32],
    out: wl.Out["k", "m", "n", wl.f32],
    *,
    gamma: float,
):
    m = wl.tile("m")
    v, w = x[m, :], y[m, :]
    size = wl.abs(v)
    found = [v**2.0, v**-1, size**1.5, v**12, size**gamma, v**w, v ** wl.round(w), v**0]
    found = [*found, v**-2.5, size**0.3, wl.pow(v, 3), 2**w]
    for i in range(len(found)):
        out[i, m, :] = found[i]


def powers_wanted(x, y, gamma):
    size = abs(x)
    found = [x**2, 1 / x, size**1.5, x**12, size**gamma, np.power(x, y), np.power(x, np.round(y))]
    return [*found, x**0, np.power(x, -2.5), size**0.3, x**3, 2**y]


@wl.kernel
def functions(
    x: wl.In["m", "n", wl.f32], y: wl.In["m", "n", wl.f32], out: wl.Out["k", "m", "n", wl.f32]
):
    m = wl.tile("m")
    v, w = x[m, :], y[m, :]
    found = [wl.tan(v), wl.sinh(v), wl.cosh(v), wl.erfc(v), wl.expm1(v), wl.log10(wl.abs(v))]
    found += [wl.logaddexp(v, w), wl.fma(v, w, 2.0)]
    for i in range(len(found)):
        out[i, m, :] = found[i]


def functions_wanted(x, y):
    found = [np.tan(x), np.sinh(x), np.cosh(x), np.vectorize(math.erfc)(x), np.expm1(x)]
    return [*found, np.log10(abs(x)), np.logaddexp(x, y), x * y + 2]


@wl.kernel
def activations(x: wl.In["m", "n", wl.f32], out: wl.Out["k", "m", "n", wl.f32]):
    m = wl.tile("m")
    v = x[m, :]
    found = [wl.leaky_relu(v, 0.2), wl.elu(v), wl.relu6(v), wl.hardswish(v), wl.mish(v)]
    found += [wl.softmax(v), wl.log_softmax(v, axis=-1), v - v.mean(axis=1, keepdims=True)]
    for i in range(len(found)):
        out[i, m, :] = found[i]


def activations_wanted(x):
    total = np.exp(x).sum(1, keepdims=True)
    found = [np.where(x < 0, 0.2 * x, x), np.where(x < 0, np.expm1(x), x), np.clip(x, 0, 6)]
    found += [x * np.clip(x + 3, 0, 6) / 6, x * np.tanh(np.log1p(np.exp(x)))]
    return [*found, np.exp(x) / total, x - np.log(total), x - x.mean(1, keepdims=True)]


@wl.kernel
def reductions(x: wl.In["m", "n", wl.f32], out: wl.Out["k", "m", wl.f32]):
    m = wl.tile("m")
    v = x[m, :]
    found = [wl.sum(v, axis=1), wl.max(v, 1), wl.min(v, axis=-1), wl.mean(v, -1)]
    found += [wl.logsumexp(v), np.sum(v, axis=1), np.mean(v, axis=1), np.max(v, axis=1)]
    found += [wl.where((v > 1.0).any(axis=1), 1.0, 0.0), wl.where(wl.all(v > -2.0, 1), 1.0, 0.0)]
    found += [v.max(dim=1, keepdim=True), wl.max(v.sum(axis=1), 0.5)]
    for i in range(len(found)):
        out[i, m] = found[i]


def reductions_wanted(x):
    found = [x.sum(1), x.max(1), x.min(1), x.mean(1), np.log(np.exp(x).sum(1)), x.sum(1)]
    found += [x.mean(1), x.max(1), 1.0 * (x > 1).any(1), 1.0 * (x > -2).all(1)]
    return [*found, x.max(1), np.maximum(x.sum(1), 0.5)]


def drawn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 37)) * 2
    x[0, :8] = 0.5, 1.5, 2.5, -0.5, -1.5, 0.25, 3, -2
    x[1, 0], x[2] = 1.0, abs(x[2]) + 1
    return x.astype(np.float32), rng.normal(size=(5, 37)).astype(np.float32)


CASES = [
    (rounded, rounded_wanted, 1, {}),
    (powers, powers_wanted, 2, {"gamma": 1.7}),
    (functions, functions_wanted, 2, {}),
    (activations, activations_wanted, 1, {}),
    (reductions, reductions_wanted, 1, {}),
]


def check(case, found, tolerance):
    _, wanted, count, scalars = case
    with np.errstate(all="ignore"):
        want = wanted(*(a.astype(float) for a in drawn()[:count]), **scalars)
    for i, (one, other) in enumerate(zip(found, want, strict=True)):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=str(i))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].name)
def test_words_in_the_reference(case):
    kernel, wanted, count, scalars = case
    with np.errstate(all="ignore"):
        sizes = {"k": len(wanted(*drawn()[:count], **scalars))}
        check(case, kernel.reference(*drawn()[:count], sizes=sizes, **scalars), 1e-9)


@pytest.mark.parametrize(
    ("case", "target"),
    [
        (c, t) if t == "h200" else pytest.param(c, t, marks=pytest.mark.slow)
        for c in CASES
        for t in ("h200", "mi355x")
    ],
    ids=lambda c: c if isinstance(c, str) else c[0].name,
)
@pytest.mark.filterwarnings("ignore")
def test_words_as_executed(case, target):
    kernel, wanted, count, scalars = case
    with np.errstate(all="ignore"):
        sizes = {"k": len(wanted(*drawn()[:count], **scalars))}
    made = kernel.interpret(*drawn()[:count], sizes=sizes, scalars=scalars, target=target)
    check(case, made, 2e-4)


def test_a_softmax_without_finite_numbers_and_their_logarithm():
    @wl.kernel
    def both(x: wl.In["m", "n"], out: wl.Out["m", "n"], lse: wl.Out["m"]):
        m = wl.tile(out, whole="n")
        out[m], lse[m] = wl.softmax(x[m]), wl.logsumexp(x[m])

    x = np.array([[-np.inf, -np.inf], [1000.0, 1000.0]])
    with np.errstate(all="ignore"):
        out, lse = both.reference(x)
    assert np.isnan(out[0]).all()
    assert out[1].tolist() == [0.5, 0.5]
    assert lse[0] == -np.inf
    assert lse[1] == 1000 + np.log(2)


def test_the_mean_of_a_step_counts_what_exists():
    @wl.kernel
    def means(x: wl.In["m", "n"], out: wl.Out["m", "n/8"]):
        m = wl.tile("m")
        for n in wl.steps(x.n, 8):
            out[m, n] = x[m, n].mean(axis=1)

    x = np.arange(3 * 19.0).reshape(3, 19)
    found = means.reference(x)
    want = np.stack([x[:, i : i + 8].mean(1) for i in (0, 8, 16)], 1)
    np.testing.assert_allclose(found, want)
    np.testing.assert_allclose(means.interpret(x, types="f32"), want, rtol=1e-6)


def test_functions_and_lambdas_in_a_kernel():
    @wl.kernel
    def local(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, shift: int = 2):
        m, n = wl.tile(out)

        def scaled(v, by=2.0, *, more=0):
            acc = v * by
            return acc + more

        acc, factor = wl.zeros(m, n), 3.0
        for i in range(2):
            again = lambda v: scaled(v) * factor  # noqa: B023, E731 (read when it is called)
            acc += again(x[m, n]) + i
            factor = 2.0
        out[m, n] = acc + scaled(1, more=shift) + sum((1, *(2, 3), *[4]))

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(local.reference(x, shift=1), 10 * x + 1 + 3 + 10)


def test_the_tiles_of_an_input():
    @wl.kernel
    def most(x: wl.In["n", "d", wl.f32], to: wl.In["n", wl.i32], out: wl.Out["s", "d", wl.f32]):
        n, d = wl.tile(x)
        wl.atomic_max(out[to[n], d], x[n, d])

    x, to = drawn()[0], np.array([1, 0, 1, 2, 0])
    given = {"sizes": {"s": 3}, "initial": {"out": np.full((3, 37), -9.0)}}
    want = np.stack([x[to == i].max(0) for i in range(3)])
    np.testing.assert_allclose(most.reference(x, to, **given), want)
    np.testing.assert_allclose(most.interpret(x, to, **given), want)


def test_forms_of_indices_and_assignments():
    @wl.kernel
    def kernel(x: wl.In["m", "n"], y: wl.In["b", "m", "n"], out: wl.Out["m", "n"]):
        mn = wl.tile(out)
        a = b = x[mn] + y[0, *mn] * 2
        b += y[(y.b - 1, *mn)]
        out[mn] = a + b

    @wl.kernel
    def rows(y: wl.In["b", "m", "n"], out: wl.Out["m", "n"]):
        m = wl.tile(out, whole="n")
        out[m, ...] = y[1, m, ...] + y[..., 0, m, :]

    @wl.kernel
    def product(x: wl.In["m", "k"], w: wl.In["k", "n"], out: wl.Out["m", "n"]):
        m, n = wl.tile(out)
        acc = wl.zeros(m, n)
        for k in wl.steps(x.k):
            acc += np.dot(x[m, k], w[k, n])
        out[m, n] = acc

    x, y = np.arange(6.0).reshape(2, 3), np.arange(18.0).reshape(3, 2, 3)
    np.testing.assert_allclose(kernel.reference(x, y), 2 * (x + 2 * y[0]) + y[2])
    np.testing.assert_allclose(rows.reference(y), y[0] + y[1])
    np.testing.assert_allclose(product.reference(x, x.T), x @ x.T)


def test_one_type_for_all_tensors():
    @wl.kernel
    def copied(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
        m, n = wl.tile(out)
        out[m, n] = x[m, n]

    assert copied.specialise("f16") == copied.specialise({"x": "f16", "out": "f16"})


def test_stores_where_a_loaded_slot_says_and_at_both_parts_of_a_place():
    @wl.kernel
    def append(
        k: wl.In["t", "h", "d"], slots: wl.In["t", wl.i32], cache: wl.Out["p", "o", "h", "d"]
    ):
        t, h, d = wl.tile(k)
        slot = slots[t]
        cache[slot // 4, slot % 4, h, d] = k[t, h, d]

    @wl.kernel
    def folded(x: wl.In["t", "d"], out: wl.Out["p", "o", "d"]):
        t, d = wl.tile(x, unit="t")
        out[t // 4, t % 4, d] = x[t, d]

    k, slots = np.arange(24.0).reshape(4, 2, 3), np.array([7, 0, -1, 10])
    want = np.zeros((12, 2, 3))
    want[slots[[0, 1, 3]]] = k[[0, 1, 3]]
    given = {"types": "f32", "sizes": {"p": 3, "o": 4}}
    empty = {"initial": {"cache": np.zeros((3, 4, 2, 3))}}
    for made in (
        append.reference(k, slots, **given, **empty),
        append.interpret(k, slots, **given, **empty),
    ):
        np.testing.assert_array_equal(made.reshape(12, 2, 3), want)
    x = np.arange(24.0).reshape(12, 2)
    for made in (folded.reference(x, **given), folded.interpret(x, **given)):
        np.testing.assert_array_equal(made.reshape(12, 2), x)
