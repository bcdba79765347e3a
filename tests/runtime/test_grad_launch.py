"""Attention backward without a GPU: what its texts mean together, and which calls are refused."""

import itertools

import numpy as np
import pytest

from warploom.compiler.layout import Layout
from warploom.errors import BackendError
from warploom.frontend import language as wl
from warploom.frontend.simplify import simplify
from warploom.ir.tile import DType
from warploom.kernels.attention_grad import (
    attention_grad,
    packed_grad,
    values_grad,
)
from warploom.kernels.attention_grad_ends import converted, prepared, summed
from warploom.kernels.registry import measured
from warploom.passes.driver import lower
from warploom.passes.heuristics import choose
from warploom.passes.rewrites import rewrite
from warploom.runtime.attention_checks import check_backward
from warploom.runtime.attention_grad import kernels_of
from warploom.runtime.tensors import row_major
from warploom.verify.roles import verify_roles

F32 = DType.F32
WIDE = dict.fromkeys(("q", "k", "v", "do", "dk", "dv"), F32)
SCALE = 0.3


def softcap(x, b, h, i, j):
    return 2.0 * wl.tanh(x / 2.0)


def near(b, h, i, j):
    return i - j < 100


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
def test_the_kernels_together_are_the_gradients(mask, heads, capped):
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
        without = {*without, "lengths", "turns"} & {t.name for t in text.signature.tensors}
        return text.specialise(types, sizes={"d": 4}, constants=given, without=without)

    delta, _ = value(prepared, {"do": F32, "o": F32}).reference(do, out)
    main = value(attention_grad, WIDE, choices)
    dk, sums, dv = main.reference(q, k, v, do, lse, delta, scale=SCALE)
    dq = value(converted, {"out": F32}).reference(sums, scale=SCALE)
    total = value(summed, {"out": F32}, each)
    parts = [total.reference(x, sizes={"g": heads}, scale=1.0) for x in (dk, dv)]
    for found, wanted in zip((dq, *parts), want, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)
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
        ({"lse": 3}, "lse is a int"),
    ],
)
def test_calls_that_do_not_fit_are_refused(change, says):
    check_backward("attention_backward", GOOD)
    with pytest.raises(BackendError, match=says):
        check_backward("attention_backward", GOOD | change)


@pytest.mark.parametrize("size", [64, 128, 256])
@pytest.mark.parametrize("given", [{"score": softcap}, {"visible": near}], ids=["score", "visible"])
def test_functions_of_scores_have_proven_programs(size, given):
    """In the order of the text: registers hold it, nothing is searched."""
    types = {n: DType.BF16 for n in WIDE if size < 256 or n != "dv"}
    without = {"lengths", "turns"} | ({"dv"} if size == 256 else set())
    kernel = attention_grad.specialise(types, sizes={"d": size}, constants=given, without=without)
    kernel = rewrite(simplify(kernel), positive=frozenset({"scale"}))
    pins = dict(measured("attention_grad", given, {"d": size}))
    config = choose(kernel, {"b": 1, "h": 8, "g": 8, "s": 512, "t": 512}, pins=pins)[0].config
    made = lower(kernel, config)
    assert verify_roles(made.document).clean
    times = dict(zip((op.name for op in made.problem.ops), made.result.times, strict=True))
    mine = [n for n in times if not n.startswith("load")]
    (put,) = (n for n in mine if n.startswith("put"))
    mine.remove(put)  # before the product that takes the registers it reads
    mine.insert(mine.index("dot_gk_1"), put)
    assert sorted(mine, key=times.__getitem__) == mine


@pytest.mark.parametrize("mask", [False, True, "end"])
def test_keys_past_the_length_do_not_count(mask):
    rng = np.random.default_rng(3)
    q, do = (rng.standard_normal((2, 2, 6, 4)) for _ in range(2))
    k, v = (rng.standard_normal((2, 2, 9, 4)) for _ in range(2))
    ends = np.array([9, 7], dtype=np.int32)
    short = [[x[n : n + 1, :, :e] for x in (k, v)] for n, e in enumerate(ends)]
    made = [forward(q[n : n + 1], *kv, mask, False) for n, kv in enumerate(short)]
    out, lse = (np.concatenate(x) for x in zip(*made, strict=True))
    delta = (out * do).sum(-1)
    types = WIDE | {"lengths": DType.I32}
    kernel = attention_grad.specialise(
        types, sizes={"d": 4}, constants={"causal": mask}, without={"turns"}
    )
    found = kernel.reference(q, k, v, do, lse, delta, ends, scale=SCALE)
    alone = attention_grad.specialise(
        WIDE, sizes={"d": 4}, constants={"causal": mask}, without={"lengths", "turns"}
    )
    for n, (e, kv) in enumerate(zip(ends, short, strict=True)):
        rows = slice(n, n + 1)
        want = alone.reference(q[rows], *kv, do[rows], lse[rows], delta[rows], scale=SCALE)
        for x, y, keys in zip(found, want, (e, None, e), strict=True):
            np.testing.assert_allclose(x[rows, :, :keys], y, atol=1e-9)
            assert not x[rows, :, e:].any() or keys is None


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
        (128, 4, True, "prepared attention_grad converted"),
    ],
)
def test_the_kernels_of_a_call(size, heads, fixed, names):
    given = layouts(2, 4, heads, 100, 77, size)
    found = [c.tile_kernel.name for c, *_ in kernels_of(*given, False, deterministic=fixed)]
    assert found == names.split()


def test_every_head_dimension_has_its_schedule():
    for size, mask in itertools.product((64, 128, 256), (False, True)):
        pins = dict(measured("attention_grad", {"causal": mask}, {"d": size}))
        assert isinstance(pins["schedule"], tuple)
        scored = measured("attention_grad", {"causal": mask, "score": softcap}, {"d": size})
        assert dict(scored)["schedule"] == "source"


@pytest.mark.parametrize("mask", [False, True, "end"])
def test_packed_sequences_are_sequences_apart(mask):
    rng = np.random.default_rng(2)
    q, do = (rng.standard_normal((2, 9, 4)) for _ in range(2))
    k, v = (rng.standard_normal((2, 11, 4)) for _ in range(2))
    starts = np.array([0, 4, 4, 9]), np.array([0, 5, 5, 11])
    kernel = packed_grad.specialise(WIDE, sizes={"d": 4}, constants={"causal": mask})
    alone = attention_grad.specialise(
        WIDE, sizes={"d": 4}, constants={"causal": mask}, without={"lengths", "turns"}
    )
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
