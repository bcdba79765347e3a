"""The shipped kernels compute what plain NumPy says."""

import importlib
import inspect
import pkgutil
import re
from itertools import pairwise

import numpy as np
import pytest

import warploom as wl
from warploom import kernels
from warploom.frontend.tile_kernel import TileKernel
from warploom.kernels.attention import attention, packed
from warploom.kernels.attention_grad import attention_grad
from warploom.kernels.block_scaled import block_scaled
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import (
    gathered_swiglu,
    grouped,
    grouped_gathered,
    grouped_input,
    grouped_scaled,
    grouped_scattered,
    grouped_swiglu,
    grouped_weights,
)
from warploom.kernels.int4_gemm import fp8_gemm, int4_gemm
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.scan import scan, scan_parts
from warploom.kernels.swiglu import swiglu


def bf16(*names):
    return dict.fromkeys(names, "bf16")


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def silu(x):
    return x / (1 + np.exp(-x))


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


EXTENTS = [{}, {"m": 5, "n": 7, "k": 3}, {"m": 64, "n": 64, "k": 32}]


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("residual", [False, True])
def test_gemm(extents, bias, residual):
    a, b, c, r = normal(33, 70), normal(21, 70), normal(21), normal(33, 21)
    left_out = {n for n, used in (("bias", bias), ("residual", residual)) if not used}
    kernel = gemm.specialise(
        bf16("a", "b", "bias", "residual", "out"),
        constants={"activation": lambda x: wl.relu(x) + 1.0},
        without=left_out,
    )
    wanted = np.maximum(0.5 * a @ b.T + c * bias, 0) + 1 + r * residual
    given = [a, b, *([c] if bias else []), *([r] if residual else [])]
    close(kernel.reference(*given, alpha=0.5, extents=extents), wanted)


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_swiglu(extents):
    x, g, u = normal(33, 70), normal(21, 70), normal(21, 70, seed=1)
    kernel = swiglu.specialise(bf16("x", "gate", "up", "out"))
    close(kernel.reference(x, g, u, extents=extents), silu(x @ g.T) * (x @ u.T))


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_rms_gemm(extents):
    x, w = normal(33, 70), normal(21, 70)
    kernel = rms_gemm.specialise(bf16("x", "w", "out"))
    wanted = (x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-3)) @ w.T
    close(kernel.reference(x, w, eps=1e-3, extents=extents), wanted)


@pytest.mark.parametrize("extents", [{}, {"m": 5, "n": 100}, {"n": 256}], ids=str)
@pytest.mark.parametrize("k", [256, 300])
def test_block_scaled(extents, k):
    a, b = normal(9, k), normal(200, k)
    sa, sb = normal(9, -(-k // 128)), normal(2, -(-k // 128))
    kernel = block_scaled.specialise({"a": "e4m3", "b": "e4m3", "out": "bf16"})
    wide = np.repeat(np.repeat(sb, 128, 0)[:200], 128, 1)[:, :k]
    wanted = (a * np.repeat(sa, 128, 1)[:, :k]) @ (b * wide).T
    close(kernel.reference(a, sa.T, b, sb, extents=extents), wanted)


@pytest.mark.parametrize("extents", [{}, {"t": 4, "n": 5, "k": 16}], ids=str)
def test_grouped(extents):
    starts = np.array([0, 5, 5, 17, 23])
    x, w = normal(23, 40), normal(4, 11, 40)
    kernel = grouped.specialise(bf16("x", "w", "out"))
    wanted = np.concatenate([x[a:b] @ w[e].T for e, (a, b) in enumerate(pairwise(starts))])
    close(kernel.reference(x, w, starts, extents=extents), wanted)


def test_grouped_input_and_gated():
    starts = np.array([0, 5, 5, 17, 23])
    x, w, up = normal(23, 40), normal(4, 11, 40), normal(4, 11, 40)
    parts = [(e, slice(a, b)) for e, (a, b) in enumerate(pairwise(starts))]
    y = np.concatenate([x[r] @ w[e].T for e, r in parts])
    u = np.concatenate([x[r] @ up[e].T for e, r in parts])
    close(grouped_swiglu.reference(x, w, up, starts), y / (1 + np.exp(-y)) * u)
    wanted = np.concatenate([y[r] @ w[e] for e, r in parts])
    close(grouped_input.reference(y, w, starts), wanted)


def test_rows_of_groups_by_number():
    """Gathered, gated, added to where they belong; the gradient of the weights."""
    starts, tokens = np.array([0, 5, 5, 17, 23]), np.random.default_rng(1).integers(-1, 10, 23)
    x, w, up, weight = normal(9, 40), normal(4, 11, 40), normal(4, 11, 40), normal(23)
    exists = (tokens >= 0) & (tokens < 9)
    rows = x[np.where(exists, tokens, 0)] * exists[:, None]
    parts = [(e, slice(a, b)) for e, (a, b) in enumerate(pairwise(starts))]
    y, u = (np.concatenate([rows[r] @ m[e].T for e, r in parts]) for m in (w, up))
    close(grouped_gathered.reference(x, w, starts, tokens), y)
    close(gathered_swiglu.reference(x, w, up, starts, tokens), silu(y) * u)
    sums = np.zeros((9, 11))
    np.add.at(sums, tokens[exists], (y * weight[:, None])[exists])
    found = grouped_scattered.reference(rows, w, starts, tokens, weight, sizes={"s": 9})
    close(found, sums)
    close(
        grouped_weights.reference(y, rows, starts),
        np.stack([y[r].T @ rows[r] for _, r in parts]),
    )


def test_grouped_scaled():
    starts = np.array([0, 0, 9, 14])
    x, w = normal(14, 256), normal(3, 200, 256)
    sx, sw = normal(2, 14), normal(3, 2, 2)
    kernel = grouped_scaled.specialise({"x": "e4m3", "w": "e4m3", "out": "bf16"})
    wide = np.repeat(np.repeat(sw, 128, 1)[:, :200], 128, 2)
    rows = x * np.repeat(sx.T, 128, 1)
    parts = enumerate(pairwise(starts))
    wanted = np.concatenate([rows[a:b] @ (w[e] * wide[e]).T for e, (a, b) in parts])
    close(kernel.reference(x, sx, w, sw, starts), wanted)


@pytest.mark.parametrize("extents", [{}, {"m": 3, "n": 8}], ids=str)
def test_quantised_weights(extents):
    x, scale = normal(5, 256), normal(2, 20)
    numbers = np.random.default_rng(3).integers(0, 16, (20, 256))
    packed = (numbers[:, ::2] | numbers[:, 1::2] << 4).astype(np.uint8).view(np.int8)
    kernel = int4_gemm.specialise(bf16("x", "out"))
    wide = np.repeat(scale.T, 128, 1)
    close(kernel.reference(x, packed, scale, extents=extents), x @ ((numbers - 8) * wide).T)
    w = normal(20, 256)
    close(fp8_gemm.reference(x, w, scale, extents=extents), x @ (w * wide).T)


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_scan(parts):
    """Any number of parts of the sequence gives the same, empty ones too."""
    q, k, v = normal(1, 2, 7, 8, 4), normal(1, 2, 7, 8, 4), normal(1, 2, 7, 8, 6)
    gates = -np.random.default_rng(4).random((1, 2, 7, 8))
    grown = gates.cumsum(-1)
    given = (grown, grown[..., -1])
    before = {}
    if parts > 1:
        cut = scan_parts.reference(k, v, *given, sizes={"r": parts})
        before = dict(zip(("left", "gone"), cut, strict=True))
    out, last = scan.reference(q, k, v, grown, *given, sizes={"p": parts}, **before)
    state, wanted = np.zeros((1, 2, 4, 6)), np.zeros_like(out)
    for c, t in np.ndindex(7, 8):
        fresh = k[:, :, c, t, :, None] * v[:, :, c, t, None, :]
        state = state * np.exp(gates[:, :, c, t])[..., None, None] + fresh
        wanted[:, :, c, t] = np.einsum("bhd,bhde->bhe", q[:, :, c, t], state)
    close(out, wanted)
    close(last[:, :, -1], state)


def plain_attention(q, k, v, scale, seen):
    heads = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, heads, 1), np.repeat(v, heads, 1)
    x = np.where(seen, np.einsum("bhsd,bhtd->bhst", q, k) * scale, -np.inf)
    top = np.maximum(x.max(-1, keepdims=True), -1e30)
    p = np.exp(x - top)
    total = p.sum(-1, keepdims=True)
    out = np.einsum("bhst,bhtd->bhsd", p / np.where(total > 0, total, 1), v)
    with np.errstate(divide="ignore"):
        return out, (top + np.log(total))[..., 0], p / np.where(total > 0, total, 1)


SHAPES = [(1, 1, 1, 1), (37, 50, 4, 2), (50, 37, 2, 2)]


@pytest.mark.parametrize("extents", [{}, {"s": 5, "t": 7}, {"t": 200}], ids=str)
@pytest.mark.parametrize("mask", ["none", "causal", "end", "window", "lengths"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention(extents, mask, shape):
    s, t, h, g = shape
    q, k, v = normal(2, h, s, 8), normal(2, g, t, 8, seed=1), normal(2, g, t, 8, seed=2)
    i, j = np.arange(s)[:, None], np.arange(t)[None, :]
    lengths = np.array([t, max(0, t - 20)])
    seen = {
        "none": np.ones((s, t), bool),
        "causal": j <= i,
        "end": j <= i + t - s,
        "window": (j <= i) & (i - j < 3),
        "lengths": j < lengths[:, None, None, None],
    }[mask]
    constants = {"causal": {"causal": True, "end": "end"}.get(mask, False)}
    if mask == "window":
        constants["visible"] = lambda b, h, i, j: 0 <= i - j < 3
    kernel = attention.specialise(
        bf16("q", "k", "v", "out"),
        sizes={"d": 8},
        constants=constants,
        without=() if mask == "lengths" else {"lengths"},
    )
    more = (lengths,) if mask == "lengths" else ()
    out, lse = kernel.reference(q, k, v, *more, scale=0.3, extents=extents)
    wanted, wanted_lse, _ = plain_attention(q, k, v, 0.3, seen)
    close(out, wanted)
    close(lse, wanted_lse)


def test_attention_with_a_score_function_and_without_lse():
    q, k, v = normal(1, 2, 9, 8), normal(1, 2, 11, 8, seed=1), normal(1, 2, 11, 8, seed=2)

    def tilted(x, b, h, i, j):
        slope = 0.5 / (h + 1)
        return x - wl.abs(i - j) * slope

    kernel = attention.specialise(
        bf16("q", "k", "v", "out"),
        sizes={"d": 8},
        constants={"score": tilted},
        without={"lse", "lengths"},
    )
    tilt = np.abs(np.arange(9)[:, None] - np.arange(11)) * (0.5 / np.arange(1, 3))[:, None, None]
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.3 - tilt
    p = np.exp(x)
    wanted = np.einsum("bhst,bhtd->bhsd", p / p.sum(-1, keepdims=True), v)
    close(kernel.reference(q, k, v, scale=0.3), wanted)


@pytest.mark.parametrize("causal", [False, True, "end"])
@pytest.mark.parametrize("extents", [{}, {"s": 4, "t": 3}], ids=str)
def test_packed(causal, extents):
    qs, ks = np.array([0, 7, 7, 20]), np.array([0, 9, 12, 33])
    q, k, v = normal(4, 20, 8), normal(2, 33, 8), normal(2, 33, 8, seed=1)
    kernel = packed.specialise(
        bf16("q", "k", "v", "out"), sizes={"d": 8}, constants={"causal": causal}
    )
    out, lse = kernel.reference(q, k, v, qs, ks, scale=0.3, extents=extents)
    for n in range(3):
        rows, keys = slice(qs[n], qs[n + 1]), slice(ks[n], ks[n + 1])
        i, j = np.arange(qs[n + 1] - qs[n])[:, None], np.arange(ks[n + 1] - ks[n])[None]
        ahead = j.size - i.size if causal == "end" else 0
        seen = j <= i + ahead if causal else np.ones((i.size, j.size), bool)
        wanted, wanted_lse, _ = plain_attention(
            q[None, :, rows], k[None, :, keys], v[None, :, keys], 0.3, seen
        )
        close(out[:, rows], wanted[0])
        close(lse[:, rows], wanted_lse[0])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("extents", [{}, {"s": 4, "t": 3}], ids=str)
def test_attention_grad(causal, extents):
    q, k, v = normal(2, 3, 21, 8), normal(2, 3, 17, 8, seed=1), normal(2, 3, 17, 8, seed=2)
    do = normal(2, 3, 21, 8, seed=3)
    seen = np.arange(17) <= np.arange(21)[:, None] if causal else np.ones((21, 17), bool)
    out, lse, p = plain_attention(q, k, v, 0.3, seen)
    delta = (do * out).sum(-1)
    ds = p * (np.einsum("bhsd,bhtd->bhst", do, v) - delta[..., None])
    kernel = attention_grad.specialise(
        bf16("q", "k", "v", "do", "dk", "dv"),
        sizes={"d": 8},
        constants={"causal": causal},
        without={"lengths", "turns"},
    )
    dk, dq, dv = kernel.reference(q, k, v, do, lse, delta, scale=0.3, extents=extents)
    close(dq, np.einsum("bhst,bhtd->bhsd", ds, k))
    close(dk, np.einsum("bhst,bhsd->bhtd", ds, q) * 0.3)
    close(dv, np.einsum("bhst,bhsd->bhtd", p, do))


def test_declared_types_are_rounded():
    x, g, u = normal(33, 70), normal(21, 70), normal(21, 70, seed=1)
    kernel = swiglu.specialise(bf16("x", "gate", "up", "out"))
    exact, near = kernel.reference(x, g, u), kernel.reference(x, g, u, exact=False)
    assert not np.array_equal(exact, near)
    np.testing.assert_allclose(near, exact, rtol=0.05, atol=0.5)
    bits = near.astype(np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any()


OF_SCHEDULES = re.compile(
    r"stage|consumer|producer|barrier|slot|warp|cuda|ptx|wgmma|tma|with_config"
)


def shipped():
    for module in pkgutil.iter_modules(kernels.__path__, "warploom.kernels."):
        for found in vars(importlib.import_module(module.name)).values():
            if isinstance(found, TileKernel):
                yield found


def test_kernels_say_nothing_of_schedules():
    texts = {t.name: inspect.getsource(t.function) for t in shipped()}
    assert len(texts) > 20
    assert {n for n, text in texts.items() if OF_SCHEDULES.search(text)} == set()
