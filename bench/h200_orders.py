"""Orders of kernels on one tile: the one in use against the one the solver finds, and former ones.

    python bench/h200_orders.py plan [--out FOLDER]      solve and compile, without a GPU
    python bench/h200_orders.py measure [--out FOLDER]   in rotation, results compared

Writes h200_orders.json: of every order interval and issue times, registers, microseconds. An order
that ptxas spills or serialises is not measured; the table says so.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median

from warploom.cli.kernels import kernel_named
from warploom.cli.problem import make_problem
from warploom.compiler.compiled import SOLVE
from warploom.errors import WarploomError
from warploom.passes.driver import lower

KERNELS = (
    "int4_gemm@m=64,n=8192,k=8192",
    "int4_gemm@m=256,n=8192,k=8192",
    "scan@b=8,h=16,g=16,c=64,t=128,j=128,d=128,e=64,p=1",
    "attention@b=4,h=32,g=32,s=4096,t=4096,d=64",
    "attention@b=4,h=32,g=32,s=4096,t=4096,d=128",
)
FORMER = {  # in use before, on the same tile
    "int4_gemm@m=256,n=8192,k=8192": (1311, 0, 519, 560, 1215, 1297, 1952, 2076, 2731),
}
SETS, TURNS = 3, 5
FAR = 2e-2  # relative difference of results that rounding does not explain


def orders(spec):
    """Interval and issue times by name."""
    kernel = kernel_named(spec)
    free = replace(kernel.config, schedule=())
    solved = lower(kernel.compiled.rewritten, free, target=kernel.target, options=SOLVE).result
    own, best = kernel.config.issue_times, (solved.ii, *solved.times)
    found = {"in use, as solved": best} if own in {(), best} else {"in use": own, "solved": best}
    return kernel, found | ({"former": FORMER[spec]} if spec in FORMER else {})


def plan(path):
    table = []
    for spec in KERNELS:
        kernel, found = orders(spec)
        for name, times in found.items():
            row = {"kernel": spec, "order": name, "refused": "", "times": times}
            config = replace(kernel.config, schedule=tuple(times))
            try:
                built = kernel.compiled.build(config)
            except WarploomError as error:
                row["refused"] = error.what
            else:
                report = built.cubin.report
                row |= {"config": config.name, "registers": report.registers}
                if not report.kept:
                    row["refused"] = "; ".join(report.messages) or f"{report.spill_bytes} spilled"
            print(row, flush=True)
            table.append(row)
            path.write_text(json.dumps({"table": table}, indent=1) + "\n")


def launches(kernel, rows):
    """A call of every order on some sets of tensors in turn, so that none lies in the cache."""
    import torch

    from warploom.cli.gpu import Bound
    from warploom.runtime.direct import Direct

    sets = [Bound(make_problem(kernel, None, [], timed=True)) for _ in range(SETS)]
    calls, expected = [], None
    for row in rows:
        built = kernel.compiled.build(replace(kernel.config, schedule=tuple(row["times"])))
        made = []
        for bound in sets:
            tensors = {**bound.inputs, **bound.empty()}
            made.append(Direct(kernel.compiled, built, tensors, bound.problem.scalars))
        made[-1]()
        torch.cuda.synchronize()
        out = [tensors[n].float() for n in bound.outputs]
        expected = expected or out
        gaps = [float((x - y).norm() / y.norm()) for x, y in zip(out, expected, strict=True)]
        if not max(gaps) < FAR:
            raise SystemExit(f"{row['kernel']} {row['order']}: results differ by {max(gaps):.2g}")
        calls.append(lambda made=made: [call() for call in made])
    return calls


def measure(path):
    from lib.protocol import environment

    from warploom.runtime.tuning import rotated

    data = json.loads(path.read_text())
    for spec in KERNELS:
        rows = [r for r in data["table"] if r["kernel"] == spec and not r["refused"]]
        calls = launches(kernel_named(spec), rows)
        turns = [rotated(calls, rounds=5, slice_ms=8.0) for _ in range(TURNS)]
        for row, own in zip(rows, zip(*turns, strict=True), strict=True):
            us = sorted(round(ms * 1e3 / SETS, 2) for ms in own)
            row["us"], row["between"] = median(us), (us[0], us[-1])
            print(spec, row["order"], row["us"], row["between"], flush=True)
        data |= {"script": "bench/h200_orders.py", "environment": environment()}
        path.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("plan", "measure"))
    parser.add_argument("--out", default="bench/results")
    given = parser.parse_args()
    sys.exit({"plan": plan, "measure": measure}[given.mode](Path(given.out) / "h200_orders.json"))
