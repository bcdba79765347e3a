"""Host time of the public calls, split by step, beside torch's own.

    python bench/host_time.py [--quick] [--out FILE.json]

Microseconds the caller's thread is busy: the median over runs of the mean of a run of calls. Runs
are short and the GPU is waited for between them, so that no call waits for the launch queue, and
shapes are small: what the GPU does is not the question here.

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
from warploom.launch.attention import CALLS as ATTENTION, _options as attention_options
from warploom.launch.gemm import CALLS as GEMM, _options as gemm_options

SHAPE = (256, 512, 256)  # M, N, K
HEADS = (1, 4, 256, 64)
LIMITS = {"repeated": 10.0, "allocating": 15.0, "new addresses": 20.0}
STEP = 8  # elements between addresses: 16 bytes


class Clock:
    """Runs of calls, timed."""

    def __init__(self, runs, calls):
        self.runs, self.calls = runs, calls

    def __call__(self, call):
        """Median microseconds of a call; ``call`` takes the number of the call."""
        found, number = [], 0
        for _ in range(self.runs + 2):
            start = time.perf_counter()
            for i in range(number, number + self.calls):
                call(i)
            found.append((time.perf_counter() - start) / self.calls * 1e6)
            number += self.calls
            torch.cuda.synchronize()
        return statistics.median(found[2:])

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
    rows = {
        "torch.matmul, out given": clock(lambda i: torch.matmul(a, b, out=c)),
        "torch.matmul": clock(lambda i: torch.matmul(a, b)),
        "repeated": clock(lambda i: warploom.gemm(a, b, out=c)),
        "allocating": clock(lambda i: warploom.gemm(a, b)),
        "new addresses": clock(moved),
        "bias, gelu, allocating": clock(
            lambda i: warploom.gemm(a, b, bias=bias, activation="gelu")
        ),
        "warploom.torch.gemm": clock(lambda i: wt.gemm(a, b)),
        "an op that does nothing": clock(lambda i: nothing(a, b)),
        "torch.ops.warploom.gemm": clock(lambda i: torch.ops.warploom.gemm(a, b)),
    }
    with torch.inference_mode():
        rows["torch.ops, inference mode"] = clock(lambda i: torch.ops.warploom.gemm(a, b))
    options = gemm_options("none", None, True, None)
    return rows, steps(clock, GEMM.runner, (a, b, c, None, None), options, ())


def attention_rows(clock):
    q, k, v, o = (places(1, *HEADS)[0] for _ in "qkvo")
    many = [places(clock.numbers, *HEADS) for _ in "qkvo"]

    def moved(i):
        warploom.attention(many[0][i], many[1][i], many[2][i], out=many[3][i])

    rows = {
        "torch SDPA": clock(lambda i: functional.scaled_dot_product_attention(q, k, v)),
        "repeated": clock(lambda i: warploom.attention(q, k, v, out=o)),
        "allocating": clock(lambda i: warploom.attention(q, k, v)),
        "new addresses": clock(moved),
        "with log-sum-exp": clock(lambda i: warploom.attention(q, k, v, return_lse=True)),
        "warploom.torch.attention": clock(lambda i: wt.attention(q, k, v)),
        "torch.ops.warploom.attention": clock(lambda i: torch.ops.warploom.attention(q, k, v)),
        "drop-in SDPA": clock(lambda i: wt.scaled_dot_product_attention(q, k, v)),
    }
    tensors = (q, k, v, o, None, None)
    options = attention_options(False, False, None)
    return rows, steps(clock, ATTENTION.runner, tensors, options, (0.125,))


def steps(clock, runner, tensors, options, scalars):
    """What a repeated call is made of."""
    runner(tensors, scalars, options)
    plan = runner.plan(tensors, options)
    entry = runner._entries[runner._key(options, tensors)]
    stream = torch.cuda.current_stream().cuda_stream

    def values(i):
        return [*[0 if t is None else t.data_ptr() for t in tensors], *scalars]

    def written(i):
        plan._write(block, ready)

    def planned(i):
        runner.forget()
        runner.plan(tensors, options)

    ready, block = values(0), plan._free[-1]
    config, function = plan._configs[stream], plan.kernel.function
    quick = Clock(max(2, clock.runs // 4), max(2, clock.calls // 20))
    return {
        "layout known by its guard": clock(lambda i: entry.check(*entry.pick(tensors))),
        "layout known by its key": clock(lambda i: runner._entries[runner._key(options, tensors)]),
        "addresses": clock(values),
        "current stream": clock(lambda i: entry.stream()),
        "words written": clock(written),
        "driver's launch": clock(lambda i: plan._go(config, function, block.address, 0)),
        "plan, all of it": clock(lambda i: plan.launch(stream, ready)),
        "runner, all of it": clock(lambda i: runner(tensors, scalars, options)),
        "allocation": clock(lambda i: torch.empty_like(tensors[0])),
        "planning": quick(planned),
    }


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
        data["microseconds"][name] = {"calls": calls, "steps": parts}
        print(f"{name}: host microseconds")
        for what, value in calls.items():
            limit = LIMITS.get(what)
            missed += limit is not None and value > limit
            said = (
                ""
                if limit is None
                else f"  limit {limit:.0f} {'ok' if value <= limit else 'MISSED'}"
            )
            print(f"  {what:32s} {value:8.2f}{said}", flush=True)
        for what, value in parts.items():
            print(f"    {what:30s} {value:8.2f}", flush=True)
    path = Path(args.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
