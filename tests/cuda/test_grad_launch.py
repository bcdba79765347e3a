"""Attention backward without a GPU: what its texts mean together, and which calls are refused."""

import itertools

import numpy as np
import pytest

from warploom.errors import BackendError
from warploom.kernel import language as wl
from warploom.kernel.values import DType
from warploom.kernels.attention_grad import (
    attention_grad,
    packed_grad,
    queries_grad,
    values_grad,
)
from warploom.kernels.attention_grad_ends import converted, prepared, summed
from warploom.kernels.measured import measured
from warploom.launch.attention_checks import check_backward, check_functions
from warploom.launch.attention_grad import kernels_of
from warploom.launch.layout import Layout
from warploom.launch.tensors import row_major

F32 = DType.F32
WIDE = dict.fromkeys(("q", "k", "v", "do", "dk", "dv"), F32)
SCALE = 0.3


def softcap(x, b, h, i, j):
    return 2.0 * wl.tanh(x / 2.0)


def forward(q, k, v, mask, capped):
    each = q.shape[1] // k.shape[1]
    x = q @ np.repeat(k, each, 1).swapaxes(-1, -2) * SCALE
    x = 2 * np.tanh(x / 2) if capped else x
    if mask:
        rows, columns = (np.arange(n) for n in x.shape[-2:])
        ahead = len(columns) - len(rows) if mask == "end" else 0
        x = np.where(columns > rows[:, None] + ahead, -np.inf, x)
    top = x.max(-1, keepdims=True)
    p = np.exp(x - top)
    total = p.sum(-1, keepdims=True)
    return p / total @ np.repeat(v, each, 1), (top + np.log(total))[..., 0]


def numeric(inputs, do, mask, capped):
    """Gradients by central differences."""
    found = []
    for n, x in enumerate(inputs):
        grad = np.zeros_like(x)
        for at in itertools.product(*map(range, x.shape)):
            sums = []
            for step in (1e-5, -1e-5):
                moved = [y.copy() for y in inputs]
                moved[n][at] += step
                sums.append((forward(*moved, mask, capped)[0] * do).sum())
            grad[at] = (sums[0] - sums[1]) / 2e-5
        found.append(grad)
    return found


@pytest.mark.parametrize(
    ("mask", "heads", "capped"), [(False, 2, False), (True, 1, False), ("end", 2, True)]
)
def test_the_texts_together_are_the_gradients(mask, heads, capped):
    rng = np.random.default_rng(1)
    q, do = (rng.standard_normal((1, 2, 3, 4)) for _ in range(2))
    k, v = (rng.standard_normal((1, heads, 5, 4)) for _ in range(2))
    out, lse = forward(q, k, v, mask, capped)
    want = numeric([q, k, v], do, mask, capped)
    choices = {"causal": mask, "score": softcap if capped else None}
    each = {"each": 2 // heads}

    def value(text, types, given=None, without=()):
        names = {t.name for t in text.signature.tensors} - set(without)
        types = {n: d for n, d in types.items() if n in names}
        return text.specialise(types, sizes={"d": 4}, constants=given, without=without)

    delta, _ = value(prepared, {"do": F32, "o": F32}).reference(do, out)
    main = value(attention_grad, WIDE, choices)
    dk, sums, dv = main.reference(q, k, v, do, lse, delta, scale=SCALE)
    dq = value(converted, {"out": F32}).reference(sums, scale=SCALE)
    total = value(summed, {"out": F32}, each)
    parts = [total.reference(x, sizes={"g": heads}, scale=1.0) for x in (dk, dv)]
    for found, wanted in zip((dq, *parts), want, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    alone = value(queries_grad, WIDE | {"dq": F32}, choices)
    np.testing.assert_allclose(
        alone.reference(q, k, v, do, lse, delta, scale=SCALE), want[0], atol=1e-6
    )
    alone = value(values_grad, WIDE, choices)
    np.testing.assert_allclose(alone.reference(q, k, do, lse, scale=SCALE), dv, atol=1e-9)
    without = value(attention_grad, WIDE, choices, without=("dq", "dv"))
    np.testing.assert_allclose(
        without.reference(q, k, v, do, lse, delta, scale=SCALE), dk, atol=1e-9
    )


class Shape:
    def __init__(self, *shape):
        self.shape = shape


GOOD = {n: Shape(2, 4, 9, 64) for n in ("grad", "q", "out")}
GOOD |= {n: Shape(2, 2, 7, 64) for n in ("k", "v")} | {"lse": Shape(2, 4, 9)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"out": Shape(2, 4, 8, 64)}, "out"),
        ({"lse": Shape(2, 4)}, "lse"),
        ({"v": Shape(2, 2, 8, 64)}, "k and v alike"),
        ({n: Shape(2, 3, 7, 64) for n in ("k", "v")}, "share"),
        ({n: Shape(2, 4, 9, 192) for n in ("grad", "q", "out")}, "head dim"),
        ({n: Shape(2, 2, 0, 64) for n in ("k", "v")}, "head dim"),
    ],
)
def test_calls_that_do_not_fit_are_refused(change, says):
    check_backward(**GOOD)
    with pytest.raises(BackendError, match=says):
        check_backward(**(GOOD | change))


def test_functions_of_wide_heads_are_refused():
    check_functions(Shape(1, 1, 1, 64), own=True)
    check_functions(Shape(1, 1, 1, 128), own=False)
    with pytest.raises(BackendError, match="head dimension 128"):
        check_functions(Shape(1, 1, 1, 128), own=True)


def layouts(b, h, g, s, t, d):
    def of(*shape, dtype=DType.BF16):
        return Layout(shape, row_major(shape), dtype)

    return of(b, h, s, d), of(b, g, t, d), of(b, h, s, dtype=F32), of(b, h, s, d, dtype=F32)


@pytest.mark.parametrize(
    ("size", "heads", "fixed", "names"),
    [
        (128, 4, False, "prepared attention_grad converted"),
        (64, 2, False, "prepared attention_grad converted summed"),
        (256, 4, False, "prepared attention_grad values_grad converted"),
        (128, 4, True, "prepared attention_grad queries_grad"),
    ],
)
def test_the_kernels_of_a_call(size, heads, fixed, names):
    given = layouts(2, 4, heads, 100, 77, size)
    found = [c.text.name for c, *_ in kernels_of(*given, False, deterministic=fixed)]
    assert found == names.split()


def test_every_head_dimension_has_its_schedule():
    for size, mask in itertools.product((64, 128, 256), (False, True)):
        pins = dict(measured("attention_grad", {"causal": mask}, {"d": size}, ("dq", "dk")))
        assert pins["times"]
        assert "times" not in dict(
            measured("attention_grad", {"causal": mask, "score": softcap}, {"d": size})
        )


@pytest.mark.parametrize("mask", [False, True, "end"])
def test_packed_sequences_are_sequences_apart(mask):
    rng = np.random.default_rng(2)
    q, do = (rng.standard_normal((2, 9, 4)) for _ in range(2))
    k, v = (rng.standard_normal((2, 11, 4)) for _ in range(2))
    starts = np.array([0, 4, 4, 9]), np.array([0, 5, 5, 11])
    kernel = packed_grad.specialise(WIDE, sizes={"d": 4}, constants={"causal": mask})
    alone = attention_grad.specialise(WIDE, sizes={"d": 4}, constants={"causal": mask})
    lse, delta = np.zeros((2, 9)), np.zeros((2, 9))
    want = [np.zeros_like(x) for x in (k, q, v)]
    for at, to, first, end in zip(starts[0], starts[0][1:], starts[1], starts[1][1:], strict=False):
        if at == to:
            continue
        parts = [x[None, :, at:to] for x in (q, do)] + [x[None, :, first:end] for x in (k, v)]
        mine, grad, keys, values = parts
        out, found = forward(mine, keys, values, mask, False)
        lse[:, at:to], delta[:, at:to] = found[0], (out * grad).sum(-1)[0]
        dk, dq, dv = alone.reference(
            mine, keys, values, grad, found, (out * grad).sum(-1), scale=SCALE
        )
        want[0][:, first:end], want[1][:, at:to], want[2][:, first:end] = dk[0], dq[0], dv[0]
    found = kernel.reference(q, k, v, do, lse, delta, *starts, scale=SCALE)
    for x, y in zip(found, want, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-9)
