"""Where this machine stands: host time and speed of a product and an attention, beside torch's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from warploom.compiler.cuda_driver import require_hopper
from warploom.runtime.attention import attention
from warploom.runtime.gemm import gemm
from warploom.runtime.tuning import rotated
from warploom.torch.autograd import torch_sdpa

SMALL, LARGE = 256, 4096
HEADS_SMALL, HEADS_LARGE = (1, 4, 256, 128), (2, 16, 4096, 128)
ERROR_LIMIT = 1e-2
HOST_LIMITS = (10.0, 15.0)


@dataclass(frozen=True, slots=True)
class SelfBenchmark:
    """One measurement; ``good`` is None where there is no bar to meet."""

    what: str
    unit: str
    ours: float
    torch: float | None
    good: bool | None


def standing(device: int = 0) -> tuple[SelfBenchmark, ...]:
    """Measure now; a few seconds, more where kernels are compiled first."""
    require_hopper(device)
    with torch.cuda.device(device):
        return (*_products(), *_attentions())


def _products() -> tuple[SelfBenchmark, ...]:
    a, w = (torch.randn(SMALL, SMALL, device="cuda").bfloat16() for _ in "ab")
    b, out = w.T, torch.empty(SMALL, SMALL, device="cuda", dtype=torch.bfloat16)
    first = _seconds(lambda: gemm(a, b, out=out))
    x, y = (torch.randn(LARGE, LARGE, device="cuda").bfloat16() for _ in "xy")
    turned, result = y.T, torch.empty(LARGE, LARGE, device="cuda", dtype=torch.bfloat16)
    gemm(x, turned, out=result)
    torch.matmul(x, turned, out=(theirs := torch.empty_like(result)))
    flops = 2.0 * LARGE**3
    return (
        SelfBenchmark("gemm, first call", "s", first, None, None),
        _host("gemm, host", HOST_LIMITS[0], lambda: gemm(a, b, out=out), lambda: a @ b),
        _host("gemm, host, allocating", HOST_LIMITS[1], lambda: gemm(a, b), lambda: a @ b),
        _right(f"gemm {LARGE}^3, distance", result, theirs),
        _speed(
            f"gemm {LARGE}^3",
            flops,
            lambda: gemm(x, turned, out=result),
            lambda: torch.matmul(x, turned, out=theirs),
        ),
    )


def _attentions() -> tuple[SelfBenchmark, ...]:
    sdpa = torch_sdpa
    q, k, v, out = (torch.randn(HEADS_SMALL, device="cuda").bfloat16() for _ in "qkvo")
    first = _seconds(lambda: attention(q, k, v, out=out))
    x, y, z = (torch.randn(HEADS_LARGE, device="cuda").bfloat16() for _ in "qkv")
    b, h, s, d = HEADS_LARGE
    return (
        SelfBenchmark("attention, first call", "s", first, None, None),
        _host(
            "attention, host",
            HOST_LIMITS[0],
            lambda: attention(q, k, v, out=out),
            lambda: sdpa(q, k, v),
        ),
        _right(
            f"attention {s} causal, distance",
            attention(x, y, z, True),
            sdpa(x, y, z, is_causal=True),
        ),
        _speed(
            f"attention {s} causal",
            2.0 * b * h * s * s * d,
            lambda: attention(x, y, z, True),
            lambda: sdpa(x, y, z, is_causal=True),
        ),
    )


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def _host(
    what: str, limit: float, ours: Callable[[], object], theirs: Callable[[], object]
) -> SelfBenchmark:
    mine, others = (_microseconds(call) for call in (ours, theirs))
    return SelfBenchmark(what, "us", mine, others, mine <= limit)


def _microseconds(call: Callable[[], object], runs: int = 15, calls: int = 100) -> float:
    """Time the caller is busy; runs are short, so that no call waits for the GPU."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls * 1e6)
        torch.cuda.synchronize()
    return statistics.median(found)


def _right(what: str, ours: torch.Tensor, theirs: torch.Tensor) -> SelfBenchmark:
    """How far our result lies from torch's."""
    far = ((ours.float() - theirs.float()).norm() / theirs.float().norm()).item()
    return SelfBenchmark(what, "", far, None, far < ERROR_LIMIT)


def _speed(
    what: str, flops: float, ours: Callable[[], object], theirs: Callable[[], object]
) -> SelfBenchmark:
    """TFLOPS, the two taking turns."""
    mine, others = (flops / ms / 1e9 for ms in rotated((ours, theirs), rounds=8))
    return SelfBenchmark(what, "TFLOPS", mine, others, mine >= others)
