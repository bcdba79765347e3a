"""The measuring protocol of the H200 benchmarks.

Dense kernels run at the board's power cap, and the power controller carries the state of the kernel
before. So: pre-heat, run each contestant for a while, shuffle the order from round to round (in a
mere rotation everybody always runs after the same neighbour), count only the second half of each
run, take the median over rounds, and enter the library twice, so that the noise floor stands in the
table.
"""

from __future__ import annotations

import math
import random
import statistics
import subprocess
import time
from contextlib import nullcontext
from datetime import UTC, datetime

import torch


def milliseconds(functions, repeats):
    """Mean time of a call, rotating over the input sets; inside ``functions.context`` if any."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with getattr(functions, "context", nullcontext)():
        start.record()
        for i in range(repeats):
            functions[i % len(functions)]()
        end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / repeats


def compare(
    contestants, rounds=5, run_ms=200.0, slice_ms=12.0, preheat_s=0.8, shuffle=0, after=None
):
    """Median milliseconds of each contestant; ``contestants`` maps names to lists of calls.
    ``after`` is called with the name after each run.
    """
    repeats = {}
    for name, functions in contestants.items():
        milliseconds(functions, 3)
        once = milliseconds(functions, 4)
        repeats[name] = max(2, int(slice_ms / max(once, 1e-4)))
    names = list(contestants)
    until = time.time() + preheat_s
    while time.time() < until:
        milliseconds(contestants[names[0]], repeats[names[0]])
    slices = max(2, int(run_ms / slice_ms))
    times = {name: [] for name in names}
    order = random.Random(rounds + 1000 * shuffle)  # the same shuffles in every run
    for _ in range(rounds):
        for name in order.sample(names, len(names)):
            taken = [milliseconds(contestants[name], repeats[name]) for _ in range(slices)]
            times[name].append(statistics.median(taken[slices // 2 :]))
            if after:
                after(name)
    return {name: statistics.median(t) for name, t in times.items()}


def geometric_mean(values):
    """The geometric mean of positive numbers."""
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def sets_for(bytes_of_one, *, least=2, most=8, cover=240_000_000):
    """How many input sets cover several times the L2."""
    return max(least, min(most, -(-cover // bytes_of_one)))


def environment():
    """Versions and clocks, for the results file."""

    def command(*words):
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip()

    query = "name,driver_version,clocks.sm,power.limit,clocks_event_reasons.active"
    try:
        import triton

        triton_version = triton.__version__
    except ImportError:
        triton_version = None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": command("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "triton": triton_version,
        "nvcc": command("nvcc", "--version").splitlines()[-1:],
    }
