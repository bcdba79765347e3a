"""Memory-bound kernels of the gallery on the H200, as users call them, against torch.

    python bench/h200_memory.py [--quick] [--out bench/results] [NAME ...]

Each kernel of the tile language runs by its public call into outputs that are given; torch runs the
same function eagerly and through ``torch.compile`` (Inductor, that is Triton). ``copy`` moves the
least bytes of the kernel (each input read once, each output written once) by ``copy_``: what the
memory allows. Results are compared with torch in float32 first; a kernel that differs is marked.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from examples.gallery import normalise, pointwise, reduce  # noqa: E402
from lib.protocol import compare, environment, geometric_mean, sets_for  # noqa: E402

F = torch.nn.functional
BF16 = torch.bfloat16
QUICK = {"rounds": 3, "run_ms": 40.0, "preheat_s": 0.2}


def rand(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def like(*shape, dtype=BF16):
    return torch.empty(*shape, device="cuda", dtype=dtype)


def softmax(m, n):
    kernel, other = normalise.softmax, lambda x: torch.softmax(x, -1)
    return kernel, {"x": rand(m, n)}, {"out": like(m, n)}, {}, other


def rms_norm(m, n):
    def other(x, weight):
        v = x.float()
        return (v * torch.rsqrt((v * v).mean(-1, keepdim=True) + 1e-5) * weight.float()).to(BF16)

    given = {"x": rand(m, n), "weight": rand(n)}
    return normalise.rms_norm, given, {"out": like(m, n)}, {"eps": 1e-5}, other


def layer_norm(m, n):
    def other(x, weight, bias):
        return F.layer_norm(x, (n,), weight, bias, 1e-5)

    given = {"x": rand(m, n), "weight": rand(n), "bias": rand(n)}
    out = {"out": like(m, n), "mean": like(m, dtype=torch.float32)}
    out["rstd"] = like(m, dtype=torch.float32)
    return normalise.layer_norm, given, out, {"eps": 1e-5}, other


def rms_norm_residual(m, n):
    def other(x, residual, weight):
        s = x + residual
        v = s.float()
        r = v * torch.rsqrt((v * v).mean(-1, keepdim=True) + 1e-5) * weight.float()
        return r.to(BF16), s

    given = {"x": rand(m, n), "residual": rand(m, n), "weight": rand(n)}
    out = {"out": like(m, n), "new_residual": like(m, n)}
    return normalise.rms_norm_residual, given, out, {"eps": 1e-5}, other


def add(m, n):
    given = {"x": rand(1, m, n), "y": rand(1, m, n)}
    return pointwise.add, given, {"out": like(1, m, n)}, {}, torch.add


def swiglu(m, n):
    def other(gate, up):
        return F.silu(gate) * up

    return pointwise.swiglu, {"gate": rand(m, n), "up": rand(m, n)}, {"out": like(m, n)}, {}, other


def rope_halves(s, h, d):
    def other(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos[:, None] + torch.cat((-second, first), -1) * sin[:, None]

    given = {"x": rand(s, h, d), "cos": rand(s, d), "sin": rand(s, d)}
    return pointwise.rope_halves, given, {"out": like(s, h, d)}, {}, other


def quantise_rows(m, n):
    def other(x):
        v = x.float()
        s = v.abs().amax(-1).clamp(min=1e-12) / 448.0
        return (v / s[:, None]).to(torch.float8_e4m3fn), s

    out = {"q": like(m, n, dtype=torch.float8_e4m3fn), "scale": like(m, dtype=torch.float32)}
    return pointwise.quantise_rows, {"x": rand(m, n)}, out, {}, other


def transpose(m, n):
    return (
        pointwise.transpose,
        {"x": rand(m, n)},
        {"out": like(n, m)},
        {},
        lambda x: x.T.contiguous(),
    )


def column_sum(m, n):
    out = {"out": like(n, dtype=torch.float32)}
    return reduce.column_sum, {"x": rand(m, n)}, out, {}, lambda x: x.float().sum(0)


CASES = {
    "softmax": (softmax, [(16384, 1024), (8192, 4096), (4096, 16384), (4096, 32768)]),
    "rms_norm": (rms_norm, [(16384, 2048), (8192, 4096), (8192, 8192)]),
    "rms_norm_residual": (rms_norm_residual, [(8192, 4096)]),
    "layer_norm": (layer_norm, [(16384, 1024), (8192, 4096), (4096, 16384)]),
    "add": (add, [(8192, 8192), (8191, 4097)]),
    "swiglu": (swiglu, [(8192, 11008)]),
    "rope_halves": (rope_halves, [(8192, 32, 128)]),
    "quantise_rows": (quantise_rows, [(8192, 4096), (8192, 7168)]),
    "transpose": (transpose, [(8192, 8192)]),
    "column_sum": (column_sum, [(8192, 8192)]),
}


def size_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def worst(found, wanted):
    """The largest difference relative to the largest value."""
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    worst = 0.0
    for one, other in zip(found, wanted, strict=False):
        a, b = one.float().reshape(-1), other.float().reshape(-1)
        worst = max(worst, ((a - b).abs().max() / b.abs().max()).item())
    return worst


def measure(make, shape, speed):
    first = make(*shape)
    least = size_of((*first[1].values(), *first[2].values()))
    sets = [first, *(make(*shape) for _ in range(sets_for(least) - 1))]
    compiled = torch.compile(first[4], dynamic=False)
    half = [torch.empty(least // 2, device="cuda", dtype=torch.uint8) for _ in range(2)]
    contestants = {
        "torch.compile": [lambda s=s: compiled(*s[1].values()) for s in sets],
        "torch": [lambda s=s: s[4](*s[1].values()) for s in sets],
        "copy": [lambda: half[0].copy_(half[1])],
        "warploom": [lambda s=s: s[0](**s[1], **s[2], **s[3]) for s in sets],
    }
    contestants["torch.compile again"] = contestants["torch.compile"]
    contestants["warploom"][0]()
    error = worst(list(first[2].values()), compiled(*first[1].values()))
    times = compare(contestants, **speed)
    return {
        "case": [make.__name__, *shape],
        "bytes": least,
        "ms": times,
        "gbytes_s": {name: least / ms / 1e6 for name, ms in times.items()},
        "error": error,
        "right": error < (7.2e-2 if "q" in first[2] else 2e-2),  # fp8: one step of the format
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="bench/results")
    args = parser.parse_args()
    speed = QUICK if args.quick else {}
    table = []
    for name in args.names or CASES:
        make, shapes = CASES[name]
        for shape in shapes:
            row = measure(make, shape, speed)
            table.append(row)
            ms = row["ms"]
            print(
                f"  {name:18s}{'x'.join(map(str, shape)):14s}"
                f" {row['gbytes_s']['warploom']:6.0f} GB/s, of torch.compile"
                f" {ms['torch.compile'] / ms['warploom']:.3f}, of torch"
                f" {ms['torch'] / ms['warploom']:.3f}, of a copy {ms['copy'] / ms['warploom']:.3f}"
                f"{'' if row['right'] else '  WRONG'} {row['error']:.1e}",
                flush=True,
            )
            torch.cuda.empty_cache()
            data = {"script": "bench/h200_memory.py", "environment": environment(), "table": table}
            path = Path(args.out) / "h200_memory.json"
            path.write_text(json.dumps(data, indent=1) + "\n")
    mean = geometric_mean(r["ms"]["torch.compile"] / r["ms"]["warploom"] for r in table)
    print(f"  geometric mean of torch.compile {mean:.3f}")
    return sum(not r["right"] for r in table)


if __name__ == "__main__":
    raise SystemExit(main())
