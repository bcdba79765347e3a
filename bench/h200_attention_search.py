"""The search for attention schedules: enumerate, predict, build, measure all, feed back, choose.

    python bench/h200_attention_search.py derive  [--kernel NAME ..] [--slacks 0,0.125] [--most N]
    python bench/h200_attention_search.py measure [--out DIR] [--seconds S]      (needs an H200)
    python bench/h200_attention_search.py feed    --results FILE [--out DIR]

``derive`` writes one zip a kernel into ``--store`` (default build/attention_search): take it along
to the GPU. ``measure`` checks every candidate against float64, then times all of them with cuDNN in
the same run, the best ones again for longer, and traces the best and the shipped one; results are
written after every step. ``feed`` reads them, corrects the model, re-solves, and reports.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from lib.search_store import derive, stores

from warploom.launch.shipped import SHIPPED_ATTENTION


def chosen_kernels(names):
    known = {k.name: k for k in SHIPPED_ATTENTION if not k.program}  # those have one already
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"unknown kernels {unknown}; known: {', '.join(known)}")
    return [known[n] for n in names] if names else list(known.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("derive", "list", "measure", "feed"))
    parser.add_argument("--store", default="build/attention_search")
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--kernel", action="append", default=[])
    parser.add_argument("--slacks", default="0", help="0.25: programs at a quarter more, too")
    parser.add_argument("--most", type=int, help="at most so many candidates, best predicted first")
    parser.add_argument("--seconds", type=float, default=60.0, help="measuring time of a kernel")
    parser.add_argument("--results", default="bench/results/attention_search.json")
    args = parser.parse_args()
    if args.mode == "derive":
        for kernel in chosen_kernels(args.kernel):
            derive(
                kernel,
                args.store,
                slacks=tuple(float(s) for s in args.slacks.split(",")),
                most=args.most,
                say=lambda text: print(text, flush=True),
            )
    elif args.mode == "list":
        for store in stores(args.store):
            print(store.facts["name"], *store.facts["claim"], sep="\n  ")
            for row in store.facts["kept"]:
                late = " ".join(f"{x:6.0f}" for x in row["late"])
                print(f"  {row['name']} {row['interval']:6.0f} {late}  {row['program']}")
    elif args.mode == "measure":
        from lib.search_measure import measure

        picked = [
            s for s in stores(args.store) if not args.kernel or s.facts["name"] in args.kernel
        ]
        return measure(picked, Path(args.out), args.seconds)
    else:
        from lib.search_feed import report

        data = json.loads(Path(args.results).read_text())
        report(data, stores(args.store), Path(args.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
