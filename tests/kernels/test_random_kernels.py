"""Random kernels of the language down to CUDA: proven and emitted, or refused at a line.

What is emitted is executed on the host, thread by thread under random timing, against the NumPy
reference of the kernel; on a Hopper GPU a few are run there too.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tests.frontend.random_kernels import random_kernels
from tests.host_cuda import NEEDS_COMPILER, run_case
from tests.runtime.gpu import NEEDS_HOPPER
from warploom.compiler.compiled import Compiled
from warploom.compiler.described import binary_of
from warploom.compiler.emit_cuda import emit_kernel
from warploom.compiler.layout import Layout
from warploom.errors import GeometryError, KernelError, SchedulingError
from warploom.ir.tile import Access, DType
from warploom.runtime.plan import prepare
from warploom.verify.roles import verify_roles

REFUSALS = (KernelError, GeometryError, SchedulingError)
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


# Choices nobody makes for a small kernel, drawn now and then.
PINS = st.fixed_dictionaries(
    {},
    optional={
        "m": st.sampled_from((64, 128, 192, 256)),
        "n": st.sampled_from((32, 64, 72, 128, 200)),
        "consumer_warpgroups": st.sampled_from((1, 2, 3)),
        "pingpong": st.sampled_from((1, 2)),
        "stages": st.sampled_from((1, 2, 3)),
        "epilogue_stages": st.sampled_from((1, 2, 4)),
        "store_from_registers": st.booleans(),
        "a_in_registers": st.booleans(),
        "fuse_vector_chains": st.booleans(),
        "operands_from_smem": st.booleans(),
        "mma_turns": st.booleans(),
        "zero_init_accumulators": st.booleans(),
        "serpentine": st.booleans(),
        "raster_group": st.sampled_from((1, 2, 3)),
        "split_k": st.sampled_from((2, 3, 5)),
        "ctas_per_sm": st.just(2),
        "unroll": st.sampled_from((2, 3)),
        "one_barrier_per_stage": st.booleans(),
        "drain_mma": st.booleans(),
        "computed_tile_stages": st.just(2),
        "tile_prefetch": st.just(2),
        "preload_vectors": st.just(1),
        "separate_full_waits": st.booleans(),
        "full_wait_after": st.just(8),
        "deferred_mmas": st.just(1),
        "reduce_from_registers": st.booleans(),
        "earlier_loop_stages": st.sampled_from((1, 2)),
        "cta_sync_interval": st.sampled_from((1, 3)),
        "cluster": st.sampled_from((2, 4)),
        "split_k_in_cluster": st.booleans(),
    },
)


class Lowered:
    """A random kernel on its way; ``made`` is None where the target has no place for it."""

    def __init__(self, case, pins=None):
        self.case = case
        positive = {n for n, v in case.scalars.items() if v > 0}
        self.compiled = Compiled(case.kernel, sizes=case.sizes, positive=positive, pins=pins or {})

    @cached_property
    def made(self):
        try:
            return self.compiled.lower(self.compiled.choices[0].config)
        except REFUSALS:
            return None


def lowered_with(case, pins):
    """Lowered with the choices pinned that can be together; the others the compiler makes."""
    known = {v.name for v in case.kernel.vars if v.extent is None}
    pins = {n: v for n, v in pins.items() if len(n) > 1 or n in known}
    found = Lowered(case, pins)
    if found.made is not None:
        return found
    found, kept = Lowered(case), {}
    for name, value in pins.items():
        more = Lowered(case, {**kept, name: value})
        if more.made is not None:
            found, kept = more, {**kept, name: value}
    return found


def require_near(found, wanted, said=""):
    for mine, right in zip(found, wanted, strict=True):
        size = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
        assert np.allclose(mine, right, atol=2e-2 * size, rtol=2e-2, equal_nan=True), said


def check(case, pins=None, *seeds):
    """Proven, emitted, and executed with the right outcome; None where it is refused."""
    on_its_way = lowered_with(case, pins or {})
    lowered = on_its_way.made
    if lowered is None:
        return None
    report = verify_roles(lowered.document)
    assert report.clean, report.text()
    kernel, source = on_its_way.compiled.rewritten, emit_kernel(lowered)
    wanted = case.reference()
    for seed in seeds or (0,):
        found, fault = run_case(case, kernel, source, lowered.config, seed=seed)
        assert fault is None, f"{lowered.config}: {fault}"
        require_near(found, wanted, str(lowered.config))
    return lowered


def check_drawn(case, pins, seed):
    """As ``check``, without the choices where the emitter refuses one of them (an odd ``tie``)."""
    try:
        check(case, pins, seed)
    except KernelError:
        check(case, {}, seed)


CHEAP = ("product", "softmax", "rows", "blocks", "groups")  # soon scheduled
EXECUTED = random_kernels(hopper=True, largest=150)
SEEDS = st.integers(0, 2**31)
NO_TURNS = st.just({"mma_turns": False})


@NEEDS_COMPILER
# The same kernels every run, few that take turns, which are scheduled slowly; the slow test
# draws others.
@settings(max_examples=8, phases=[Phase.generate, Phase.target], derandomize=True, **QUIET)
@given(random_kernels(forms=CHEAP, hopper=True, largest=150), NO_TURNS | PINS, SEEDS)
def test_random_kernels_are_proven_and_compute_their_reference(case, pins, seed):
    check_drawn(case, pins, seed)


@NEEDS_COMPILER
@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=400, **QUIET)
@given(EXECUTED, st.just({}) | PINS, SEEDS)
def test_many_random_kernels_are_proven_and_compute_their_reference(case, pins, seed):
    check_drawn(case, pins, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=100, **QUIET)
@given(random_kernels())
def test_kernels_without_a_place_are_refused_at_a_line(case):
    lowered = Lowered(case).made
    assert lowered is None or verify_roles(lowered.document).clean


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
    def test_random_kernels_compute_their_reference(self, case):
        torch = pytest.importorskip("torch")
        lowered = Lowered(case)
        if lowered.made is None:
            return
        require_near(run(torch, lowered.compiled, case), case.reference())
