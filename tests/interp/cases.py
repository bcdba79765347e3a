"""Kernels of every form with small inputs, for the interpreter and the verifier of dataflow."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.frontend import builtins as wl
from warploom.frontend.tile_kernel import kernel
from warploom.kernels import grouped as groups
from warploom.kernels.attention import attention, packed, paged
from warploom.kernels.attention_grad import attention_grad, packed_values
from warploom.kernels.attention_grad_ends import converted, prepared
from warploom.kernels.block_scaled import block_scaled
from warploom.kernels.gemm import gemm
from warploom.kernels.int4_gemm import int4_gemm
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.scan import scan_parts

BF16 = "bf16"


@kernel
def rms_norm(x: wl.In["m", "n"], w: wl.In["n"], out: wl.Out["m", "n"], *, eps: float):
    m = wl.tile(out, whole="n")
    v = x[m].to(wl.f32)
    out[m] = v * wl.rsqrt((v * v).sum(axis=1) / 128.0 + eps) * w[:].to(wl.f32)


@kernel
def softmax(x: wl.In["b", "m", "n"], out: wl.Out["b", "m", "n"], top: wl.Out["b", "m", wl.f32]):
    b, m = wl.tile(out, whole="n")
    v = x[b, m].to(wl.f32)
    most = v.max(axis=1)
    e = wl.exp(v - most)
    out[b, m] = e / e.sum(axis=1)
    top[b, m] = most


@kernel
def norm_then_product(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, eps: float):
    """Two loops in a tile."""
    m, n = wl.tile(out)
    total = wl.zeros(m)
    for j in wl.steps(x.k):
        v = x[m, j].to(wl.f32)
        total = total + (v * v).sum(axis=1)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc * wl.rsqrt(total + eps)


@kernel
def step_parts(x: wl.In["c", "m", "d"], w: wl.In["c", "n", "d"], out: wl.Out["p", "m", "n"]):
    """Parts of a loop of single steps, which CTAs may split once more."""
    p, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for c in wl.steps(x.c, 1, part=p):
        acc += x[c, m] @ w[c, n].T
    out[p, m, n] = acc


@kernel
def counted_rows(
    x: wl.In["t", "k"],
    w: wl.In["e", "n", "k"],
    starts: wl.Starts["e"],
    rows: wl.In["t", wl.i32],
    out: wl.Out["s", "n", wl.f32],
):
    """Rows of groups that a list scatters; what is added differs from 0 where there is no row."""
    e, t, n = wl.tile("t", "n", groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, n, k].T
    out[rows[t], n] += acc + 1.0


@kernel
def two_products(
    x: wl.In["m", "k"], y: wl.In["m", "k"], w: wl.In["n", "k"], v: wl.In["n", "k"],
    out: wl.Out["m", "n"],
):  # fmt: skip
    """Two products into one sum."""
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        acc += y[m, k] @ v[n, k].T
    out[m, n] = acc


@dataclass(frozen=True)
class Case:
    """A kernel, its inputs, and the options of ``interpret`` and ``reference`` alike."""

    text: Any
    arrays: tuple[Any, ...]
    types: Any = BF16
    given: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()


def _r(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def _starts(*lengths: int) -> Any:
    return np.cumsum([0, *lengths]).astype(np.int32)


def _rows(count: int, most: int) -> Any:
    return np.random.default_rng(count).permutation(most)[:count].astype(np.int32)


ROWS, PACKED = _starts(70, 0, 30, 1), (_starts(40, 0, 31), _starts(50, 20, 9))
SPLIT = {"config": {"split_k": 3, "m": 64, "n": 64, "k": 64}}
CASES: dict[str, Callable[[], Case]] = {
    "rms_norm": lambda: Case(rms_norm, (_r(37, 128), _r(128)), given={"eps": 1e-5}),
    "softmax": lambda: Case(softmax, (_r(3, 7, 256),)),
    "prepared": lambda: Case(
        prepared, (_r(1, 2, 21, 64), _r(1, 2, 21, 64, seed=1)), without=("turns",)
    ),
    "converted": lambda: Case(
        converted, (_r(1, 2, 21, 64),), types={"out": BF16}, given={"scale": 0.5}
    ),
    "split": lambda: Case(gemm, (_r(70, 400), _r(50, 400)), options=SPLIT),
    "rms_gemm": lambda: Case(rms_gemm, (_r(70, 200), _r(50, 200)), given={"eps": 1e-5}),
    "two_loops": lambda: Case(norm_then_product, (_r(70, 90), _r(50, 90)), given={"eps": 1e-5}),
    "attention": lambda: Case(
        attention,
        (_r(1, 2, 70, 64), _r(1, 1, 90, 64, seed=1), _r(1, 1, 90, 64, seed=2)),
        given={"scale": 0.125},
        without=("lse",),
    ),
    "causal": lambda: Case(
        attention,
        (_r(1, 2, 90, 64), _r(1, 1, 90, 64, seed=1), _r(1, 1, 90, 64, seed=2)),
        given={"scale": 0.125, "causal": True},
        without=("lse",),
    ),
    "lengths": lambda: Case(
        attention,
        (_r(3, 1, 20, 64), _r(3, 1, 90, 64, seed=1), _r(3, 1, 90, 64, seed=2)),
        given={"scale": 0.125, "lengths": np.array([90, 37, 0], np.int32)},
        without=("lse",),
    ),
    "packed": lambda: Case(
        packed,
        (_r(2, 71, 64), _r(1, 79, 64, seed=1), _r(1, 79, 64, seed=2), *PACKED),
        given={"scale": 0.125, "causal": True},
        without=("lse",),
    ),
    "paged": lambda: Case(
        paged,
        (
            _r(2, 2, 3, 64),
            _r(6, 1, 64, 64, seed=1),
            _r(6, 1, 64, 64, seed=2),
            np.array([[3, 1, 0], [2, 5, 4]], np.int32),
            np.array([150, 70], np.int32),
        ),
        given={"scale": 0.125},
        without=("lse",),
    ),
    "grouped": lambda: Case(groups.grouped, (_r(101, 96), _r(4, 80, 96), ROWS)),
    "gathered": lambda: Case(
        groups.grouped_gathered, (_r(60, 96), _r(4, 80, 96), ROWS, _rows(101, 60 * 2) % 60)
    ),
    "scattered": lambda: Case(
        groups.grouped_scattered,
        (_r(101, 96), _r(4, 80, 96), ROWS, _rows(101, 120)),
        options={"sizes": {"s": 120}},
    ),
    "weights": lambda: Case(groups.grouped_weights, (_r(101, 80), _r(101, 96), ROWS)),
    "block_scaled": lambda: Case(
        block_scaled,
        (_r(70, 256), abs(_r(2, 70)), _r(50, 256, seed=1), abs(_r(1, 2))),
        types={"a": "e4m3", "b": "e4m3", "out": BF16},
    ),
    "int4": lambda: Case(
        int4_gemm,
        (
            _r(70, 256),
            np.random.default_rng(3).integers(-128, 127, (50, 128)).astype(np.int8),
            abs(_r(2, 50)),
        ),
        types={"x": BF16, "out": BF16},
    ),
    "scan_parts": lambda: Case(
        scan_parts,
        (_r(1, 1, 3, 64, 128), _r(1, 2, 3, 64, 64), -abs(_r(1, 2, 3, 64)), -abs(_r(1, 2, 3))),
        options={"sizes": {"r": 2}},
    ),
    "backward": lambda: Case(
        attention_grad,
        (
            _r(1, 2, 70, 64),
            _r(1, 1, 90, 64, seed=1),
            _r(1, 1, 90, 64, seed=2),
            _r(1, 2, 70, 64, seed=3),
            abs(_r(1, 2, 70)) + 5,
            _r(1, 2, 70, seed=4),
        ),
        given={"scale": 0.125, "causal": True},
    ),
    "packed_values": lambda: Case(
        packed_values,
        (
            _r(2, 71, 64),
            _r(1, 79, 64, seed=1),
            _r(2, 71, 64, seed=3),
            abs(_r(2, 71)) + 5,
            *PACKED,
        ),
        given={"scale": 0.125},
    ),
}
QUICK = ("rms_norm", "softmax", "prepared", "converted", "split", "rms_gemm", "lengths", "grouped",
         "gathered", "scattered", "int4")  # fmt: skip
