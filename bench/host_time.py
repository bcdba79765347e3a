"""Host time of the public calls, split by step, beside torch's own.

    python bench/host_time.py [--quick] [--out FILE.json]

Microseconds the caller's thread is busy: the median over runs of the mean of a run of calls. Runs
are short and the GPU is waited for between them, so that no call waits for the launch queue; they
take turns, so that a slow while of the machine is everybody's. Before every run stands a loop of
plain Python, the yardstick: cores of rented machines run at half their speed for seconds. The
second column is the median of the runs before which the yardstick took at most a tenth more than
its least; without one there is none. Shapes are small: what the GPU does is not the question here.

repeated: the same tensors, the result written to one given. allocating: the result is made.
new addresses: operands and result where no call was before. planning: the first call with a layout
whose kernel is loaded already.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional

import warploom
import warploom.torch as wt
from warploom.runtime.attention import CALLS as ATTENTION, _options as attention_options
from warploom.runtime.gemm import CALLS as GEMM, _options as gemm_options

SHAPE = (256, 512, 256)  # M, N, K
HEADS = (1, 4, 256, 64)
LIMITS = {"repeated": 10.0, "allocating": 15.0, "new addresses": 20.0}
LIMITS |= {f"torch.ops.warploom.{name}": 15.0 for name in ("gemm", "attention")}
LIMITS |= {"torch.ops, new addresses": 20.0}
PACES = [float("inf"), 0.0]
STEP = 8  # elements between addresses: 16 bytes


def yardstick():
    """Microseconds of a loop of plain Python; ``PACES`` is its least and its last."""
    start = time.perf_counter()
    for _ in range(20):
        sum(range(50))
    taken = (time.perf_counter() - start) * 1e6
    PACES[:] = [min(taken, PACES[0]), taken]
    return taken


class Clock:
    """Runs of calls, timed."""

    def __init__(self, runs, calls):
        self.runs, self.calls = runs, calls

    def __call__(self, calls):
        """Microseconds of every call, of all runs and of quick ones; a call takes its number."""
        found = {name: [] for name in calls}
        for run in range(self.runs + 2):
            for name, call in calls.items():
                pace = yardstick()
                start = time.perf_counter()
                for i in range(run * self.calls, (run + 1) * self.calls):
                    call(i)
                taken = (time.perf_counter() - start) / self.calls * 1e6
                found[name].append((taken, pace))
                torch.cuda.synchronize()
        return {name: self.medians(runs[2:]) for name, runs in found.items()}

    @staticmethod
    def medians(runs):
        """Of all runs, and of those before which the machine was quick."""
        quick = [taken for taken, pace in runs if pace <= 1.1 * PACES[0]]
        return statistics.median(t for t, _ in runs), statistics.median(quick) if quick else None

    @property
    def numbers(self):
        """How many calls one measurement makes."""
        return (self.runs + 2) * self.calls


def places(count, *shape):
    """Tensors at ``count`` different addresses of one buffer."""
    size = torch.Size(shape).numel()
    pool = torch.randn(size + STEP * count, device="cuda").bfloat16()
    return [pool[STEP * i : STEP * i + size].view(shape) for i in range(count)]


def empty_op():
    """An op like ours that does nothing: what torch's dispatcher takes to call Python."""
    library = torch.library.Library("warploom_bench", "DEF")
    schema = "nothing(Tensor a, Tensor b, Tensor? c=None, float d=1.0, str e='none') -> Tensor"
    library.define(schema)
    for key in ("CUDA", "Autograd"):
        library.impl("nothing", lambda a, b, c=None, d=1.0, e="none": a, key)
    return library, torch.ops.warploom_bench.nothing


def gemm_rows(clock):
    m, n, k = SHAPE
    a, w, c = places(1, m, k)[0], places(1, n, k)[0], places(1, m, n)[0]
    b, bias = w.T, places(1, n)[0]
    many = [places(clock.numbers, *s) for s in ((m, k), (n, k), (m, n))]
    many[1] = [t.T for t in many[1]]

    def moved(i):
        warploom.gemm(many[0][i], many[1][i], out=many[2][i])

    _held, nothing = empty_op()
    calls = {
        "torch.matmul, out given": lambda i: torch.matmul(a, b, out=c),
        "torch.matmul": lambda i: torch.matmul(a, b),
        "repeated": lambda i: warploom.gemm(a, b, out=c),
        "allocating": lambda i: warploom.gemm(a, b),
        "new addresses": moved,
        "bias, gelu, allocating": lambda i: warploom.gemm(a, b, bias=bias, activation="gelu"),
        "warploom.torch.gemm": lambda i: wt.gemm(a, b),
        "an op that does nothing": lambda i: nothing(a, b),
        "torch.ops.warploom.gemm": lambda i: torch.ops.warploom.gemm(a, b),
        "torch.ops, new addresses": lambda i: torch.ops.warploom.gemm(many[0][i], many[1][i]),
    }
    rows = clock(calls)
    with torch.inference_mode():
        rows |= clock({"torch.ops, inference mode": lambda i: torch.ops.warploom.gemm(a, b)})
    options = gemm_options("none", None, True, None)
    return rows, steps(clock, GEMM.runner, (a, b, c, None, None), options, ())


def attention_rows(clock):
    q, k, v, o = (places(1, *HEADS)[0] for _ in "qkvo")
    many = [places(clock.numbers, *HEADS) for _ in "qkvo"]

    def moved(i):
        warploom.attention(many[0][i], many[1][i], many[2][i], out=many[3][i])

    def op_moved(i):
        torch.ops.warploom.attention(many[0][i], many[1][i], many[2][i])

    calls = {
        "torch SDPA": lambda i: functional.scaled_dot_product_attention(q, k, v),
        "repeated": lambda i: warploom.attention(q, k, v, out=o),
        "allocating": lambda i: warploom.attention(q, k, v),
        "new addresses": moved,
        "with log-sum-exp": lambda i: warploom.attention(q, k, v, return_lse=True),
        "warploom.torch.attention": lambda i: wt.attention(q, k, v),
        "torch.ops.warploom.attention": lambda i: torch.ops.warploom.attention(q, k, v),
        "torch.ops, new addresses": op_moved,
        "drop-in SDPA": lambda i: wt.scaled_dot_product_attention(q, k, v),
    }
    rows = clock(calls)
    tensors = (q, k, v, o, None, None)
    options = attention_options(False, False, None)
    return rows, steps(clock, ATTENTION.runner, tensors, options, (0.125,))


def steps(clock, runner, tensors, options, scalars):
    """What a repeated call is made of."""
    for _ in range(3):
        runner(tensors, scalars, options)
    plan = runner.plan(tensors, options)
    entry = runner._entries[runner._key(options, tensors)]
    ((_, check, call),) = entry.calls[runner.seen]
    given, stream = [t for t in tensors if t is not None], torch.cuda.current_stream().cuda_stream

    def values(i):
        return [0 if t is None else t.data_ptr() for t in tensors]

    def planned(i):
        runner.forget()
        runner.plan(tensors, options)

    ready, block = [*values(0), *scalars], plan.free[-1]
    (config, _held), function = plan.configs[stream], plan.function
    quick = Clock(max(2, clock.runs // 4), max(2, clock.calls // 20))
    calls = {
        "layout known by its guard": lambda i: check(*given),
        "layout known by its key": lambda i: runner._entries[runner._key(options, tensors)],
        "addresses": values,
        "current stream": lambda i: entry.stream(),
        "driver's launch": lambda i: plan.go(config, function, block.pointer, None),
        "any plan's launch": lambda i: plan.launch(stream, ready),
        "launch written out, with guard": lambda i: call(tensors, scalars, None, ready[1]),
        "runner, all of it": lambda i: runner(tensors, scalars, options),
        "allocation": lambda i: torch.empty_like(tensors[0]),
    }
    return clock(calls) | quick({"planning": planned})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls")
    parser.add_argument("--out", default="bench/results/host_time.json")
    args = parser.parse_args()
    clock = Clock(7, 60) if args.quick else Clock(31, 200)
    torch.zeros(1, device="cuda")
    data = {"script": "bench/host_time.py", "torch": torch.__version__, "microseconds": {}}
    missed = 0
    for name, measure in (("gemm", gemm_rows), ("attention", attention_rows)):
        calls, parts = measure(clock)
        data["microseconds"][name] = {
            "calls": {what: value for what, (value, _) in calls.items()},
            "calls while quick": {what: quick for what, (_, quick) in calls.items() if quick},
            "steps": {what: value for what, (value, _) in parts.items()},
        }
        print(f"{name}: host microseconds; while the machine is quick ({PACES[0]:.1f})")
        for what, (value, quick) in calls.items():
            limit = LIMITS.get(what)
            missed += limit is not None and (quick or value) > limit
            said = (
                ""
                if limit is None
                else f"  limit {limit:.0f} {'ok' if (quick or value) <= limit else 'MISSED'}"
            )
            print(f"  {what:32s} {value:8.2f} {quick or float('nan'):8.2f}{said}", flush=True)
        for what, (value, quick) in parts.items():
            print(f"    {what:30s} {value:8.2f} {quick or float('nan'):8.2f}", flush=True)
    path = Path(args.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
