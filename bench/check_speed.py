"""Processor time and memory of ``check`` for one schedule of one CTA, on this machine.

    python bench/check_speed.py [--write]

Writes bench/results/check_speed.md. Goals: a GEMM CTA of 128x128x256 in 5 s, an attention tile of
128 queries with d = 128 and 4 key tiles in 15 s, on one core, under 1 GB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = (
    ("gemm", "m=128,n=208,k=256", 5.0, "GEMM, one CTA of 128x208x256"),
    (
        "attention",
        "b=1,h=1,g=1,s=128,t=512,d=128",
        15.0,
        "attention, 128 queries, 512 keys, d = 128",
    ),
    ("attention_grad", "b=1,h=1,g=1,s=256,t=128,d=128", 15.0, "gradient, 128 keys, 256 queries"),
)


def one(name: str, sizes: str) -> dict:
    """The figures of one kernel, in a process of its own."""
    warnings.simplefilter("ignore")
    from warploom.check import check
    from warploom.cli.kernels import NamedKernel
    from warploom.cli.knobs import Request
    from warploom.cli.problem import make_problem
    from warploom.cli.source import look_up
    from warploom.compiler.check_launch import launch_of

    found = look_up(name, Request())
    kernel = found if isinstance(found, NamedKernel) else found.kernel
    problem = make_problem(kernel, sizes, [], timed=False)
    made = problem.kernel.compiled
    launch = launch_of(made, problem.sizes, scalars=problem.scalars)
    text = made.ptx_with_lines
    began = time.process_time()
    report = check(text, launch, orders=("forward",))
    return {
        "verdict": report.verdict.value,
        "seconds": time.process_time() - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "instructions": report.figures["warp_instructions"],
        "ctas": launch.grid[0] * launch.grid[1] * launch.grid[2],
    }


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--write", action="store_true")
    given = reader.parse_args()
    lines = [
        "# Speed of `check` on PTX",
        "",
        "`python bench/check_speed.py --write`: processor time of one schedule (parsing included,",
        "compilation not), peak memory of the whole process with the compiler in it.",
        "",
        "| kernel | CTAs | warp instructions | seconds | goal | MB | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, sizes, goal, title in CASES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            r = pool.apply(one, (name, sizes))
        lines.append(
            f"| {title} | {r['ctas']} | {r['instructions']} | {r['seconds']:.2f} | {goal:.0f} | "
            f"{r['megabytes']} | {r['verdict']} |"
        )
        print(lines[-1], flush=True)
    if given.write:
        (ROOT / "bench" / "results" / "check_speed.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
