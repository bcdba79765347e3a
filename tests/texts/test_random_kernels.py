"""Random kernels of the language down to CUDA: proven and emitted, or refused at a line.

On a Hopper GPU they are also run against their NumPy meaning.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.cuda.gpu import NEEDS_HOPPER
from tests.kernel.random_kernels import random_kernels
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.errors import GeometryError, KernelError, SchedulingError
from warploom.kernel.values import Access, DType
from warploom.launch.compiled import Compiled
from warploom.launch.layout import Layout
from warploom.launch.plan import prepare
from warploom.launch.texts import binary_of
from warploom.verify.roles import verify_roles

REFUSALS = (KernelError, GeometryError, SchedulingError)
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


class Lowered:
    """A random kernel on its way; ``made`` is None where the target has no place for it."""

    def __init__(self, case):
        self.case = case
        positive = {n for n, v in case.scalars.items() if v > 0}
        self.compiled = Compiled(case.kernel, sizes=case.sizes, positive=positive)

    @cached_property
    def made(self):
        try:
            return self.compiled.lower(self.compiled.choices[0].tiling)
        except REFUSALS:
            return None


def check(case):
    lowered = Lowered(case).made
    if lowered is not None:
        report = verify_roles(lowered.document)
        assert report.clean, report.text()
        assert "warploom_kernel" in emit_kernel(lowered).text


@settings(max_examples=3, **QUIET)
@given(random_kernels())
def test_random_kernels_are_proven_or_refused(case):
    check(case)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=100, **QUIET)
@given(random_kernels())
def test_many_random_kernels_are_proven_or_refused(case):
    check(case)


def run(torch, compiled, case):
    """The outputs of a launch; every row padded to 16 bytes."""
    kinds = {DType.BF16: torch.bfloat16, DType.F16: torch.float16, DType.F32: torch.float32}
    kinds |= {DType.E4M3: torch.float8_e4m3fn, DType.I32: torch.int32}
    kernel, arrays = compiled.rewritten, iter(case.arrays())
    tensors = []
    for t in kernel.tensors:
        shape = tuple(-(-case.sizes[a.name] // a.per) for a in t.axes)
        if t.access is not Access.OUT:
            given_array = next(arrays)
            shape = given_array.shape
        per = 128 // t.dtype.bits
        whole = torch.zeros(
            (*shape[:-1], -(-shape[-1] // per) * per), dtype=kinds[t.dtype], device="cuda"
        )
        view = whole[..., : shape[-1]]
        if t.access is not Access.OUT:
            view.copy_(torch.from_numpy(np.ascontiguousarray(given_array)).to(kinds[t.dtype]))
        tensors.append(view)
    layouts = [
        Layout(tuple(x.shape), tuple(x.stride()), t.dtype)
        for t, x in zip(kernel.tensors, tensors, strict=True)
    ]
    plan = prepare(binary_of(compiled), layouts)
    scalars = [case.scalars[p.name] for p in kernel.parameters]
    stream = torch.cuda.current_stream().cuda_stream
    plan(stream, *(x.data_ptr() for x in tensors), *scalars)
    torch.cuda.synchronize()
    outs = [x for t, x in zip(kernel.tensors, tensors, strict=True) if t.access is Access.OUT]
    return [x.float().cpu().numpy() for x in outs]


class TestOnTheGpu:
    pytestmark = NEEDS_HOPPER

    @settings(max_examples=12, **QUIET)
    @given(random_kernels())
    def test_random_kernels_compute_their_meaning(self, case):
        torch = pytest.importorskip("torch")
        lowered = Lowered(case)
        if lowered.made is None:
            return
        found, wanted = run(torch, lowered.compiled, case), case.reference()
        for mine, right in zip(found, wanted, strict=True):
            size = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
            assert np.allclose(mine, right, atol=2e-2 * size, rtol=2e-2, equal_nan=True)
