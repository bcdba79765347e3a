"""Gradients of attention with functions of the caller on the H200: right, and how fast.

    python bench/h200_flex_grad.py [CASE:D ...] [--quick] [--alone] [--errors] [--out FOLDER]
    WARPLOOM_CACHE=... WARPLOOM_COMPILER=nvcc python bench/h200_flex_grad.py warm [CASE:D ...]

``warploom.attention_backward`` against torch's autograd of FlexAttention under torch.compile, which
enters twice; each makes its gradients. Functions are those of ``h200_flex.py``; a mask that no
comparisons of indices say is given by its blocks. Errors are of both,
each going on with its own result, relative to float64 in the root of the mean square, of some heads
of the same call. ``--alone`` leaves FlexAttention out, ``--errors`` the timing. Several runs may go
on at once: with ``--lock FILE`` they compile side by side and are timed one after the other.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import h200_flex as flex

import warploom
from warploom.errors import WarploomError
from warploom.ir.tile import DType
from warploom.runtime import attention_grad as launch
from warploom.runtime.attention import (
    BLOCKED,
    CALLS as ATTENTION,
    _options as attention_options,
    _wide,
)
from warploom.runtime.block_mask import QUERIES, tile_keys
from warploom.runtime.flexible import flexible

CASES = ("softcap", "alibi", "window", "relative", "documents")
DIMS = (64, 128, 256)
CHECKED = (0, 5)  # heads of the first of the batch
GRADS = ("dq", "dk", "dv")


def heads(d):
    return (4, 32 if d <= 128 else 16, 4096, d)


def lists(shape, rows, columns):
    """Layouts of a mask's lists."""
    b, h, s, _ = shape
    counts = flex.layout((b, h, s // rows), DType.I32)
    tiles = flex.layout((b, h, s // rows, s // columns), DType.I32)
    return flex.layout((b * h * s // rows,), DType.I32), tiles, counts, tiles, counts


def kernels(name, d):
    """What a call runs: label, calls, layouts, options."""
    score, mask = flex.CASES[name]
    shape = heads(d)
    q, rows = flex.layout(shape), flex.layout(shape[:3], DType.F32)
    sums = flex.layout(shape, DType.F32)
    by_blocks = mask is not None and mask not in flex.AFFINE
    options = attention_options(False, True, None)
    options = _wide(options, tile_keys(q)) if by_blocks else options
    text = BLOCKED if by_blocks else ATTENTION
    calls, chosen, given = flexible(text, score, mask, options)
    more = tuple(flex.layout(t.shape, t.dtype) for t in given)
    walked = lists(shape, 128, tile_keys(q)) if by_blocks else ()
    yield "forward", calls, (q, q, q, None, None, None, *walked, *more), chosen
    walked = lists(shape, 128, QUERIES) if by_blocks else ()
    for plain, tensors, usual in launch.kernels_of(q, q, rows, sums, False, lists=walked):
        if plain not in (launch.PREPARED, launch.CONVERTED):
            calls, chosen, _ = flexible(plain, score, mask, usual)
            yield calls.tile_kernel.name, calls, (*tensors, *more), chosen
        else:
            yield plain.tile_kernel.name, plain, tensors, usual


def warm(cases):
    bad = 0
    for name, d in cases:
        for label, calls, layouts, chosen in kernels(name, d):
            start = time.perf_counter()
            try:
                made = calls.compiled_for(layouts, chosen)
                report = made.built.cubin.report
                said = f"{made.config.name}, {report.spill_bytes} bytes spilled"
            except WarploomError as error:
                bad, said = bad + 1, f"FAILED: {error}"
            took = time.perf_counter() - start
            print(f"{name} {d} {label}: {said}, {took:.1f} s", flush=True)
    return bad


@contextmanager
def alone(path):
    """Nobody else is timed meanwhile."""
    if path is None:
        yield
        return
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Bench:
    """What needs torch."""

    def __init__(self, args):
        import torch
        from lib.protocol import compare, environment

        self.torch, self.compare, self.environment, self.args = torch, compare, environment, args
        self.rows = []
        flex.Bench.capture(self)

    def drawn(self, b, h, s, d):
        draw = {"device": "cuda", "dtype": self.torch.bfloat16}
        return [self.torch.randn(b, h, s, d, **draw) for _ in range(4)]

    def passes(self, name, q, k, v, do):
        """Result and a call that gives the gradients, by whom."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        torch = self.torch
        score, mask = flex.CASES[name]
        by_blocks = mask is not None and mask not in flex.AFFINE
        block = mask and create_block_mask(mask, None, None, *q.shape[2:3] * 2, device="cuda")
        given = {"score": score, "visible": block if by_blocks else mask}
        out, lse = warploom.attention(q, k, v, **given, return_lse=True)
        found = {
            flex.OURS: lambda: warploom.attention_backward(do, q, k, v, out, lse, **given),
        }
        if not self.args.alone:
            torch._dynamo.reset()
            inputs = [x.clone().requires_grad_() for x in (q, k, v)]
            compiled = torch.compile(flex_attention, dynamic=False)
            theirs = compiled(*inputs, score_mod=score, block_mask=block)
            found["flex"] = lambda: torch.autograd.grad(theirs, inputs, do, retain_graph=True)
        return found

    def exact(self, name, n, q, k, v, do):
        """Gradients of one head in float64."""
        torch = self.torch
        score, mask = flex.CASES[name]
        j = torch.arange(k.shape[2], device="cuda")
        i = torch.arange(q.shape[2], device="cuda")[:, None]
        wide = [x[0, n].double().requires_grad_() for x in (q, k, v)]
        x = wide[0] @ wide[1].T * q.shape[3] ** -0.5
        if score is not None:
            x = score(x, 0, torch.tensor(n, device="cuda"), i, j)
        if mask:
            x = x.masked_fill(~mask(0, n, i, j), float("-inf"))
        out = torch.softmax(x, -1) @ wide[2]
        return torch.autograd.grad(out, wide, do[0, n].double())

    def errors(self, name, given, calls):
        """The largest of the heads looked at, of every gradient."""
        found = {who: dict.fromkeys(GRADS, 0.0) for who in calls}
        made = {who: call() for who, call in calls.items()}
        for n in CHECKED:
            want = self.exact(name, n, *given)
            for who, grads in made.items():
                for g, f, w in zip(GRADS, grads, want, strict=True):
                    far = ((f[0, n].double() - w).norm() / w.norm()).item()
                    found[who][g] = max(found[who][g], far)
        return found

    def prepared(self, name, d):
        """A case with its errors, compiled; and its calls."""
        given = self.drawn(*heads(d))
        calls = self.passes(name, *given)
        row = {"case": f"{name}, d={d}", "error": self.errors(name, given, calls)}
        self.rows.append(row)
        for who, found in row["error"].items():
            print(name, d, who, {g: f"{e:.3e}" for g, e in found.items()}, flush=True)
        return row, calls

    def timed(self, row, calls):
        """Times of a case, and their ratios to FlexAttention's."""
        first = "flex" if "flex" in calls else flex.OURS
        entered = {n: [c] for n, c in calls.items()}
        entered = {first: entered[first], "again": entered[first], **entered}
        speed = {"rounds": 3, "run_ms": 50.0, "preheat_s": 0.2} if self.args.quick else {}
        row["ms"] = self.compare(entered, **speed)
        base = (row["ms"][first] + row["ms"]["again"]) / 2
        row["ratio"] = {n: base / t for n, t in row["ms"].items()}
        said = {n: f"{r:.3f}" for n, r in row["ratio"].items()}
        print(row["case"], said, f"{row['ms'][flex.OURS]:.3f} ms", flush=True)

    def save(self, out):
        done = {"script": "bench/h200_flex_grad.py", "environment": self.environment()}
        done |= {"table": self.rows}
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(done, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", help="as softcap:128, or warm")
    parser.add_argument("--out", type=Path, default=Path("bench/results/h200_flex_grad.json"))
    parser.add_argument("--lock", type=Path)
    for name in ("alone", "errors", "quick"):
        parser.add_argument(f"--{name}", action="store_true")
    args = parser.parse_args()
    named = [c.partition(":") for c in args.cases if c != "warm"]
    cases = [(n, int(d)) for n, _, d in named] or [(n, d) for d in DIMS for n in CASES]
    if "warm" in args.cases:
        return warm(cases)
    bench, ready = Bench(args), []
    for case in cases:
        try:
            ready.append(bench.prepared(*case))
        except Exception as error:  # the other cases are to be seen all the same
            print(f"{case} stopped: {type(error).__name__} {str(error)[:500]}", flush=True)
        bench.save(args.out)
    with alone(args.lock):
        for row, calls in [] if args.errors else ready:
            bench.timed(row, calls)
            bench.save(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
