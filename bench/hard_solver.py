"""The modulo solver beside a plain CP-SAT model, on hard bodies by seed.

    python bench/hard_solver.py [--ops 24 48 96] [--seeds 10] [--from 100] [--out FILE.jsonl]

Each body is solved to its proof in a process of its own, by both: CPU seconds with child processes,
interval, bound, proof. A line of JSON each; a file that is there is gone on with. At the end one
line a size: how often ours was behind, and by how much at the most.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.compile_time import about, run  # noqa: E402


def summary(rows):
    """One line a size."""
    for ops in sorted({r["ops"] for r in rows}):
        both = [(r["ours"], r["plain"]) for r in rows if r["ops"] == ops]
        wrong = [1 for a, b in both if a["proven"] and b["proven"] and a["ii"] != b["ii"]]
        behind = [a["cpu_s"] - b["cpu_s"] for a, b in both if a["cpu_s"] > b["cpu_s"]]
        unproven = [sum(not x["proven"] for x in side) for side in zip(*both, strict=True)]
        yield (
            f"{ops} ops: {len(both)} bodies, {len(wrong)} disagree, ours behind in {len(behind)}"
            f" (at most {max(behind, default=0):.2f} s), unproven {unproven[0]} / {unproven[1]},"
            f" CPU s {sum(a['cpu_s'] for a, _ in both):.1f}"
            f" / {sum(b['cpu_s'] for _, b in both):.1f}"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ops", type=int, nargs="+", default=[24, 48, 96])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--from", type=int, default=100, dest="first")
    parser.add_argument("--nice", type=int, default=5)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = []
    if args.out and args.out.exists():
        rows = [json.loads(x) for x in args.out.read_text().splitlines()[1:]]
    elif args.out:
        args.out.write_text(json.dumps(about(ROOT)) + "\n")
    done = {(r["ops"], r["seed"]) for r in rows}
    for ops in args.ops:
        for seed in range(args.first, args.first + args.seeds):
            if (ops, seed) in done:
                continue
            row = {"ops": ops, "seed": seed}
            for side, name in (("ours", f"solver:{ops}:{seed}"), ("plain", f"plain:{ops}:{seed}")):
                row[side] = run(name, ROOT, "", args.nice)
            rows.append(row)
            print(json.dumps(row), flush=True)
            if args.out:
                with args.out.open("a") as out:
                    out.write(json.dumps(row) + "\n")
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
