"""Consumers that take tiles in turn against consumers that share them, and against the library.

    python bench/h200_pingpong.py warm                 compile, without a GPU
    python bench/h200_pingpong.py run [--out FOLDER]

The public call as it chooses, the same without tiles in turn, and some tiles in turn by name.
Results are checked. Writes h200_pingpong.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from warploom.compiler.layout import Layout
from warploom.ir.tile import DType
from warploom.passes.kernel_config import KernelConfig, pins_of_name
from warploom.runtime.gemm import CALLS, _options

PUBLIC, SHARED = "public call", "shared"
NAMES = ("128x128x64_w1_a2_s6", "128x192x64_w1_a2_s5_o1", "128x200x64_w1_a2_s5_o1")
SHAPES = (
    *((8192, 8192, k) for k in (256, 512, 1024, 2048, 4096)),
    *((4096, 4096, k) for k in (512, 1024, 4096)),
    (1024, 8192, 1024),
    (16384, 8192, 1024),
    (8192, 7168, 2048),
)
ERROR_LIMIT = 6e-3


def options(name):
    if name == SHARED:
        return (*_options("none", None, True, None)[:4], (("pingpong", 1),))
    if name == PUBLIC:
        return _options("none", None, True, None)
    sizes, _, tags = name.partition("_")
    extents = tuple(zip("mnk", map(int, sizes.split("x")), strict=True))
    config = KernelConfig(tile=extents, l2_evict_last="a", raster_group=16, **pins_of_name(tags))
    return _options("none", None, True, config)


def warm():
    for m, n, k in SHAPES:
        a, b = Layout((m, k), (k, 1), DType.BF16), Layout((k, n), (1, k), DType.BF16)
        for name in (PUBLIC, SHARED, *NAMES):
            made = CALLS.compiled_for((a, b, None, None, None), options(name))
            print(m, n, k, name, made.built.config.name, flush=True)


def run(out):
    import torch
    from lib.protocol import compare, environment

    table, made = [], {name: options(name) for name in (PUBLIC, SHARED, *NAMES)}
    for m, n, k in SHAPES:
        a, w = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (m, n))
        b, found = w.T, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        want = torch.matmul(a, b)
        library = [lambda a=a, b=b, c=want: torch.matmul(a, b, out=c)]
        calls = {"library": library, "library again": library}
        for name, choice in made.items():

            def ours(tensors=(a, b, found, None, None), chosen=choice):
                CALLS.launch(tensors, (), chosen, None)

            found.fill_(float("nan"))
            ours()
            error = ((found.double() - want.double()).norm() / want.double().norm()).item()
            if not error < ERROR_LIMIT:
                print("WRONG", m, n, k, name, error, flush=True)
                return 1
            calls[name] = [ours]
        times = compare(calls, rounds=3, run_ms=40.0, slice_ms=6.0, preheat_s=0.2)
        base = (times["library"] + times["library again"]) / 2
        print((m, n, k), {n: round(base / t, 3) for n, t in times.items()}, flush=True)
        table.append({"shape": (m, n, k), "ms": times})
        data = {"script": "bench/h200_pingpong.py", "environment": environment(), "table": table}
        (Path(out) / "h200_pingpong.json").write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("warm", "run"))
    parser.add_argument("--out", default="bench/results")
    given = parser.parse_args()
    sys.exit(warm() if given.mode == "warm" else run(given.out))
