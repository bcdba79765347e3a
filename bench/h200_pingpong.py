"""What consumers that take tiles in turn are worth for short K, before the column can say it.

    python bench/h200_pingpong.py warm                 compile, without a GPU
    python bench/h200_pingpong.py run [--out FOLDER]   against the library and the public call

The CUDA text of kernels with one consumer is edited: a second consumer runs the same program, each
takes every other tile of the CTA, so that one stores while the other multiplies. A consumer waits
for its tile's first slot when the other has seen its last one full (a named barrier each), since a
parity tells two neighbouring phases apart and no more; then its place in the ring is that of its
tile. Results are checked. Writes h200_pingpong.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

from warploom.emit.cuda import ptx
from warploom.kernel.values import DType
from warploom.launch.gemm import CALLS, _options
from warploom.launch.layout import Layout
from warploom.lower.tiling import Tiling, pins_of_name

NAMES = ("128x128x64_w1_s6", "128x192x64_w1_s4", "128x128x64_w1_s6_o1", "128x192x64_w1_s4_o1")
TWO_CTAS = ("128x128x64_w1_r2", "128x192x64_w1_r2")  # one consumer each on an SM
M = N = 8192
DEPTHS = (128, 256, 512, 1024)
ATOM, MOST_SHARED = 1024, 232_448
ERROR_LIMIT = 6e-3
HELPERS = ("registers_up", "registers_down", "named_sync", "named_arrive")
TILES = "for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {"
IN_TURN = "for (int tile = blockIdx.x + turn * gridDim.x; tile < tiles; tile += 2 * gridDim.x) {"


def tiling(name):
    sizes, _, tags = name.partition("_")
    extents = tuple(zip("mnk", map(int, sizes.split("x")), strict=True))
    return Tiling(extents=extents, keep="a", **pins_of_name(tags))


def compiled(k, name=None):
    a, b = Layout((M, k), (k, 1), DType.BF16), Layout((k, N), (1, k), DType.BF16)
    options = _options("none", None, True, tiling(name) if name else None)
    return CALLS.compiled_for((a, b, None, None, None), options)


def once(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def in_turn(made):
    """The build with a second consumer."""
    source, depth = made.built.source, made.built.tiling.extent("k")
    staging = -(-source.shared_bytes // ATOM) * ATOM  # of the second consumer
    text = once(source.text, "__launch_bounds__(256, 1)", "__launch_bounds__(384, 1)")
    start = "    if (warp == 0 && elect_one()) {"
    text = once(text, start, f"    registers_down<24>();\n{start}")
    own = "const int instance = group_of_warps - 1,"
    other = "registers_up<240>();\n    const int instance = 0, turn = group_of_warps - 1,"
    head, tail = once(text, own, other).split("int instance = 0, turn", 1)
    place = "smem + OUT_STAGING + instance * OUT_INSTANCE"
    tail = once(once(tail, place, f"smem + (turn ? {staging} : OUT_STAGING)"), TILES, IN_TURN)
    cursor = re.search(r"Cursor<(\w+_DEPTH)> (\w+);", tail)
    slots, ring = cursor[1], cursor[2]
    leap = (
        f"{cursor[0]}\n    const int skip = max((len_k + {depth - 1}) / {depth}, 1);\n"
        f"    auto leap = [&]() {{ const int to = {ring}.slot + skip;"
        f" {ring}.phase ^= to / {slots} & 1; {ring}.slot = to % {slots}; }};\n"
        "    if (turn) leap();"
    )
    tail = once(tail, cursor[0], leap)
    first = tail.index("      // dot_acc_1 reads")
    tail = f"{tail[:first]}      if (tile >= gridDim.x) named_sync(8 + turn, 256);\n{tail[first:]}"
    end = "\n      }\n"
    after = tail.index(end, tail.index("for (; k < k_tiles; ++k) {")) + len(end)
    given = "      if (tile + gridDim.x < tiles) named_arrive(8 + (turn ^ 1), 256);\n"
    tail = tail[:after] + given + tail[after:]
    last = tail.rindex("    }\n    // stores end before the CTA does")
    tail = f"{tail[:last]}      leap();\n{tail[last:]}"
    text = f"{head}int instance = 0, turn{tail}"
    more = "".join(ptx.HELPERS[h] for h in HELPERS if ptx.HELPERS[h] not in text)
    text = text.replace("DEVICE bool elect_one", f"{more}DEVICE bool elect_one", 1)
    shared = staging + int(re.search(r"OUT_INSTANCE = (\d+)", text)[1])
    assert shared <= MOST_SHARED, shared
    return made._built(
        made.built.tiling, replace(source, text=text, threads=384, shared_bytes=shared)
    )


def warm():
    for k in DEPTHS:
        for name in (None, *TWO_CTAS):
            print(k, compiled(k, name).built.tiling.name, flush=True)
        for name in NAMES:
            report = in_turn(compiled(k, name)).cubin.report
            print(k, "in turn", name, report.registers, report.spill_bytes, flush=True)


def run(out):
    import torch
    from lib.protocol import compare, environment

    import warploom
    from warploom.launch.direct import Direct

    table = []
    for k in DEPTHS:
        a, w = (torch.randn(rows, k, device="cuda").bfloat16() for rows in (M, N))
        b, found = w.T, torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
        want = torch.matmul(a, b)
        library = [lambda a=a, b=b, c=want: torch.matmul(a, b, out=c)]
        calls = {"library": library, "library again": library}
        for name in (None, *TWO_CTAS):
            choice = tiling(name) if name else None
            calls[name or "public call"] = [
                lambda a=a, b=b, c=found, t=choice: warploom.gemm(a, b, out=c, choice=t)
            ]
        for name in NAMES:
            made = compiled(k, name)
            launch = Direct(made, in_turn(made), {"a": a, "b": w, "out": found}, {})
            found.zero_()
            launch()
            error = ((found.double() - want.double()).norm() / want.double().norm()).item()
            if not error < ERROR_LIMIT:
                print("WRONG", k, name, error, flush=True)
                return 1
            calls[f"in turn {name}"] = [launch]
        times = compare(calls, rounds=3, run_ms=24.0, slice_ms=6.0, preheat_s=0.1)
        base = (times["library"] + times["library again"]) / 2
        print(k, {n: round(base / t, 3) for n, t in times.items()}, flush=True)
        table.append({"shape": (M, N, k), "ms": times})
        data = {"script": "bench/h200_pingpong.py", "environment": environment(), "table": table}
        (Path(out) / "h200_pingpong.json").write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("warm", "run"))
    parser.add_argument("--out", default="bench/results")
    given = parser.parse_args()
    sys.exit(warm() if given.mode == "warm" else run(given.out))
