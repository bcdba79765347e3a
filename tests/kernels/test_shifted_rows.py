"""Rows that begin at any address: vectors of 16 bytes in their middle, elements at their ends."""

import shutil

import numpy as np
import pytest
from examples.gallery.case import Case

import tests.host_cuda as hc
import warploom as wl
from tests.kernels import gallery
from warploom.compiler.described import binary_of
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType

HOST = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@wl.kernel
def rms(x: wl.In["m", "n"], w: wl.In["n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    v = x[m].to(wl.f32)
    out[m] = v * wl.rsqrt((v * v).sum(axis=1) / x.n + 1.0) * w[:]


@wl.kernel
def shared_sum(x: wl.In["b", "m", "n"], y: wl.In["m", "n", wl.f32], out: wl.Out["b", "m", "n"]):
    b, m, n = wl.tile(out)
    out[b, m, n] = x[b, m, n] + y[m, n]


def inputs(kernel, types, sizes):
    rng = np.random.default_rng(0)
    stated = {t.name: t.dtype for t in kernel.signature.tensors if t.dtype is not None}
    kinds = dict.fromkeys([t.name for t in kernel.signature.tensors], DType(types)) | stated
    return kinds, {
        t.name: rounded(rng.normal(size=[sizes[a.name] for a in t.axes]), kinds[t.name])
        for t in kernel.signature.inputs
    }


CASES = [
    (rms, "bf16", {"m": 5, "n": 77}, 0),
    pytest.param(rms, "bf16", {"m": 5, "n": 333}, 3, marks=pytest.mark.slow),
    (rms, "f32", {"m": 5, "n": 131}, 1),
    (rms, "e4m3", {"m": 5, "n": 203}, 5),
    pytest.param(rms, "f16", {"m": 2, "n": 2051}, 7, marks=pytest.mark.slow),
    pytest.param(rms, "bf16", {"m": 2, "n": 20011}, 1, marks=pytest.mark.slow),
    (shared_sum, "bf16", {"b": 2, "m": 3, "n": 139}, 1),
]


@HOST
@pytest.mark.parametrize(("kernel", "types", "sizes", "away"), CASES)
def test_what_lies_beside_rows_is_left_alone(kernel, types, sizes, away):
    """Emitted CUDA on the host: dense rows, the first of them anywhere, poison around."""
    kinds, arrays = inputs(kernel, types, sizes)
    made = kernel.compile(kinds, sizes=sizes)
    assert "store_shifted" in made.cuda
    binary = binary_of(made)
    memories = []
    for t in binary.tensors:
        shape = [sizes[a.name] for a in t.axes]
        memories.append(hc.Memory(t, shape, arrays.get(t.name), dense=True, away=away))
        if t.access is Access.OUT:
            memories[-1].raw[...] = np.iinfo(memories[-1].raw.dtype).max
    fault = hc.execute(binary, made.built.source, memories, {}, grid=3, seed=1)
    assert fault is None, fault
    assert all(m.untouched() for m in memories), "bytes outside the tensors were written"
    out = next(m for m, t in zip(memories, binary.tensors, strict=True) if t.name == "out")
    want = kernel.reference(*arrays.values(), types=kinds, exact=False)
    limit = 0.1 if types == "e4m3" else 2e-2
    np.testing.assert_allclose(out.values(), want, atol=limit * np.abs(want).max())


def test_middles_of_rows_move_sixteen_bytes():
    _, arrays = inputs(rms, "bf16", {"m": 3, "n": 1001})
    made = Case(kernel=rms, make=lambda _: arrays, wanted=lambda x, w: x, types="bf16")
    report = gallery.checked(made)
    assert report.clean, report.text()
    widths = dict(report.figures)["access_widths"]
    warps = 3 * 4  # of three rows, each 16 vectors of 8 to a warp
    assert widths["st 16"] >= warps - 3
    assert widths["ld 16"] >= 2 * (warps - 3)
