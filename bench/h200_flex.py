"""Attention with functions of the caller on the H200: right against float64, and how fast.

    python bench/h200_flex.py [CASE ...] [--quick] [--alone] [--out FOLDER]
    WARPLOOM_CACHE=... WARPLOOM_COMPILER=nvcc python bench/h200_flex.py warm [CASE ...]

Public calls against FlexAttention under torch.compile, which enters twice, and cuDNN where it has
the mask. "blocks" is the call with FlexAttention's BlockMask, "warploom" that with the function of
a mask where all of it is affine, else the same. TFLOPS count what is seen.
``--alone`` leaves FlexAttention out (it takes seconds to compile).
``warm`` compiles the kernels of a run and needs no GPU. Errors are relative to float64, over all
rows of a head: in the root of the mean square, and the worst against the largest value.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from types import FunctionType, SimpleNamespace

import warploom
from warploom.compiler.layout import Layout
from warploom.errors import WarploomError
from warploom.ir.tile import DType
from warploom.runtime.attention import BLOCKED, CALLS as ATTENTION, _options as attention_options
from warploom.runtime.flexible import flexible
from warploom.runtime.tensors import row_major

try:
    import torch
except ImportError:  # compiling needs none: what is read of functions are their texts

    def _no_torch(*_):
        raise NotImplementedError

    torch = SimpleNamespace()
    for _name in ("tanh", "exp", "exp2"):
        _made = FunctionType(_no_torch.__code__, {}, _name)
        _made.__module__ = "torch"
        setattr(torch, _name, _made)

OURS = "warploom"
HEADS = (4, 32, 4096, 128)
SLOPE = 8.0 / 32


class Captured:
    """A tensor's layout, where there is no GPU."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype

    def __dlpack__(self):
        raise NotImplementedError


DOCUMENT = Captured((4096,), DType.I32)
PREFIX = Captured((4,), DType.I32)
BIAS = Captured((32, 8191), DType.BF16)


def softcap(x, b, h, i, j):
    return 30.0 * torch.tanh(x / 30.0)


def alibi(x, b, h, i, j):
    return x + (j - i) * torch.exp2(-SLOPE * (h + 1))


def relative(x, b, h, i, j):
    return x + BIAS[h, i - j + 4095]


def causal(b, h, i, j):
    return i >= j


def window(b, h, i, j):
    return (i >= j) & (i - j <= 1024)


def documents(b, h, i, j):
    return (DOCUMENT[i] == DOCUMENT[j]) & (i >= j)


def prefix(b, h, i, j):
    return (j < PREFIX[b]) | (i >= j)


AFFINE = (causal, window)  # what is seen follows from comparisons of indices
# score, mask
CASES = {
    "alibi_window": (alibi, window),
    "softcap": (softcap, None),
    "plain": (None, None),
    "documents": (None, documents),
    "window": (None, window),
    "prefix": (None, prefix),
    "relative": (relative, None),
    "causal": (None, causal),
    "alibi": (alibi, None),
}


def layout(shape, dtype=DType.BF16):
    return Layout(tuple(shape), row_major(tuple(shape)), dtype)


def options(by_blocks):
    types, choices, *rest = attention_options(False, False, None)
    return (types, (*choices, ("wide", 128)) if by_blocks else choices, *rest)


def lists():
    """Layouts of a mask's lists."""
    b, h, s, _ = HEADS
    n = s // 128
    counts, tiles = layout((b, h, n), DType.I32), layout((b, h, n, n), DType.I32)
    return layout((b * h * n,), DType.I32), tiles, counts, tiles, counts


def calls_of(name):
    """What a run compiles: label, and whether the mask is given by its blocks."""
    _, mask = CASES[name]
    yield "", mask is not None and mask not in AFFINE
    if mask in AFFINE:
        yield "blocks", True


def warm(names):
    bad, q = 0, layout(HEADS)
    for name in names:
        score, mask = CASES[name]
        for label, by_blocks in calls_of(name):
            start = time.perf_counter()
            calls, chosen, given = ATTENTION, options(by_blocks), ()
            calls = BLOCKED if by_blocks else calls
            if score or mask:
                calls, chosen, given = flexible(calls, score, mask, chosen)
            more = [*(lists() if by_blocks else ()), *(layout(t.shape, t.dtype) for t in given)]
            try:
                made = calls.compiled_for((q, q, q, None, None, None, *more), chosen)
                report = made.built.cubin.report
                said = f"{made.config.name}, {report.spill_bytes} bytes spilled"
            except WarploomError as error:
                bad, said = bad + 1, f"FAILED: {error}"
            took = time.perf_counter() - start
            print(f"{name} {label}: {said}, {took:.1f} s", flush=True)
    return bad


class Bench:
    """What needs torch."""

    def __init__(self, speed, alone):
        from lib.protocol import compare, environment

        self.compare, self.environment = compare, environment
        self.speed, self.alone, self.rows = speed, alone, []
        draw = {"device": "cuda", "dtype": torch.bfloat16}
        self.sets = [tuple(torch.randn(*HEADS, **draw) for _ in "qkv") for _ in range(2)]
        self.capture()

    def capture(self):
        """The tensors that functions find by their names, as users write them."""
        global DOCUMENT, PREFIX, BIAS  # noqa: PLW0603
        torch.manual_seed(1)
        lengths = torch.tensor([700, 90, 1300, 5, 411, 900, 300, 390])
        DOCUMENT = torch.repeat_interleave(torch.arange(8), lengths).int().cuda()
        PREFIX = torch.tensor([1000, 0, 333, 4096], device="cuda", dtype=torch.int32)
        BIAS = torch.randn(32, 8191, device="cuda", dtype=torch.bfloat16)

    def entries(self, name, scale):
        """All contestants."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        torch._dynamo.reset()  # it compiles a function for a few cases only
        score, mask = CASES[name]
        (b, _, s, _), block, found = HEADS, None, {}
        if mask:
            batch = b if mask is prefix else None
            block = create_block_mask(mask, batch, None, s, s, device="cuda")
        if not self.alone:
            compiled = torch.compile(flex_attention, dynamic=False)
            found["flex"] = [
                lambda t=t: compiled(*t, score_mod=score, block_mask=block) for t in self.sets
            ]
        if score is None and mask in (None, causal):

            def cudnn(t):
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return torch.nn.functional.scaled_dot_product_attention(
                        *t, is_causal=mask is causal
                    )

            found["cuDNN"] = [lambda t=t: cudnn(t) for t in self.sets]
        for label, by_blocks in calls_of(name):
            given = {"scale": scale, "score": score, "visible": block if by_blocks else mask}
            found[f"{OURS} {label}".strip()] = [
                lambda t=t, given=given: warploom.attention(*t, **given) for t in self.sets
            ]
        return found

    def exact(self, score, mask, scale):
        """All rows of one head in float64, and how many pairs all heads see."""
        b, h, s, _ = HEADS
        rows, at = torch.arange(s, device="cuda"), (b - 2, h - 3)
        q, k, v = (t[at].double() for t in self.sets[0])
        x, j, i = q[rows] @ k.T * scale, torch.arange(s, device="cuda"), rows[:, None]
        seen = b * s * s
        if score is not None:
            x = score(x, at[0], torch.tensor(at[1], device="cuda"), i, j)
        if mask:
            x = x.masked_fill(~mask(at[0], at[1], i, j), float("-inf"))
            seen = sum(int(mask(n, 0, j[:, None], j).sum()) for n in range(b))
        return (*at, rows), torch.softmax(x, -1) @ v, h * seen

    def case(self, name):
        """Check and time one case."""
        score, mask = CASES[name]
        scale = HEADS[-1] ** -0.5
        rows, wanted, seen = self.exact(score, mask, scale)
        found, errors, worst = self.entries(name, scale), {}, {}
        for entry in list(found):
            start = time.perf_counter()
            try:
                out = found[entry][0]()
                torch.cuda.synchronize()
                off = out[rows].double() - wanted
                errors[entry] = (off.norm() / wanted.norm()).item()
                worst[entry] = (off.abs().max() / wanted.abs().max()).item()
            except Exception as error:  # one that cannot run is no contestant
                print(f"  no {entry} for {name}: {str(error)[:300]}", flush=True)
                del found[entry]
            if time.perf_counter() - start > 1:
                print(f"  {entry} began in {time.perf_counter() - start:.1f} s", flush=True)
        first = next(iter(found))
        found = {first: found[first], "again": found[first], **found}
        times = self.compare(found, **self.speed)
        base = (times[first] + times["again"]) / 2
        row = {
            "case": name,
            "ms": times,
            "tflops": {n: 4.0 * seen * HEADS[-1] / t / 1e9 for n, t in times.items()},
            "ratio": {n: base / t for n, t in times.items()},
            "error": errors,
            "worst": worst,
        }
        self.rows.append(row)
        said = ", ".join(f"{n} {r:.3f}" for n, r in row["ratio"].items() if n != first)
        print(f"{name:13} {first} {row['tflops'][first]:.0f} TFLOPS; {said}", flush=True)
        both = {n: f"{e:.3e} {worst[n]:.2e}" for n, e in errors.items()}
        print("    errors", both, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--alone", action="store_true", help="without FlexAttention")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    names = [n for n in args.cases if n != "warm"] or list(CASES)
    if "warm" in args.cases:
        return warm(names)
    speed = {"rounds": 4, "run_ms": 60.0, "preheat_s": 0.5} if args.quick else {}
    bench = Bench(speed, args.alone)
    for name in names:
        try:
            bench.case(name)
        except Exception as error:  # the other cases are to be seen all the same
            print(f"{name} stopped: {type(error).__name__} {str(error)[:500]}", flush=True)
        done = {
            "script": "bench/h200_flex.py",
            "shape": HEADS,
            "environment": bench.environment(),
            "table": bench.rows,
        }
        Path(args.out).mkdir(parents=True, exist_ok=True)
        Path(args.out, "h200_flex.json").write_text(json.dumps(done, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
