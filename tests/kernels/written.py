"""Kernels as authors write them, emitted for the H200 and executed on the host beside NaN."""

import numpy as np

import tests.host_cuda as hc
from warploom.compiler.described import described
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType

BF16 = DType.BF16
NAN = 0xFF  # bytes around and between tensors: NaN in every type of floats


def executed(kernel, types, sizes, arrays, scalars=None, seed=0, **pins):
    """All outputs of the emitted kernel, those of the reference, and the tensors' memory."""
    scalars = scalars or {}
    text = kernel.with_config(**pins) if pins else kernel
    positive = {n for n, v in scalars.items() if v > 0}
    made = text.compile(types, sizes=sizes, positive=positive)
    built, memory = made.built, []
    for t in made.rewritten.tensors:
        shape = [-(-sizes[a.name] // a.per) for a in t.axes]
        shape[0] += t.access is Access.STARTS
        memory.append(hc.Memory(t, shape, None if t.access is Access.OUT else arrays[t.name]))
    binary = described(made.rewritten, built.source, built.config, b"")
    assert hc.execute(binary, built.source, memory, scalars, grid=2, seed=seed) is None
    assert all(m.untouched() for m in memory)
    outs = [
        m.values()
        for t, m in zip(made.rewritten.tensors, memory, strict=True)
        if t.access is Access.OUT
    ]
    known = {a.name for t in kernel.signature.inputs for a in t.axes}
    reference = kernel.reference(
        **arrays, types=types, sizes={a: n for a, n in sizes.items() if a not in known}, **scalars
    )
    return outs, reference if isinstance(reference, tuple) else (reference,)


def close(got, want, tolerance=2e-2):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def drawn(*shape, seed=0, dtype=BF16):
    return rounded(np.random.default_rng(seed).normal(size=shape), dtype)
