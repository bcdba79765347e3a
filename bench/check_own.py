"""``warploom check`` over every shipped kernel and class of configuration for the H200.

    python bench/check_own.py [--write] [NAME...]

Each is compiled, its PTX run at two sizes (one tile with several steps; ragged ends) and compared
with the kernel's reference. ``--write`` makes ``bench/results/check_own.md``.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from warploom.cli.check import check_kernel
from warploom.cli.kernels import NamedKernel, hopper_kernels
from warploom.cli.knobs import Request
from warploom.cli.source import look_up
from warploom.errors import WarploomError

OUT = Path(__file__).parent / "results" / "check_own.md"
TILE = (("m", 128), ("n", 128), ("k", 64))
CLASSES: dict[str, list[tuple[tuple[str, object], ...]]] = {
    "gemm": [
        (*TILE, ("pingpong", 1), ("consumer_warpgroups", 1)),
        (*TILE, ("pingpong", 1), ("consumer_warpgroups", 2)),
        (*TILE, ("pingpong", 2), ("consumer_warpgroups", 1)),
        (*TILE, ("stages", 2)),
        (*TILE, ("cluster", 2)),
        (*TILE, ("split_k", 2)),
        (*TILE, ("split_k", 2), ("split_k_in_cluster", True)),
        (*TILE, ("a_in_registers", True)),
        (*TILE, ("store_from_registers", True)),
        (*TILE, ("one_barrier_per_stage", True)),
        (*TILE, ("ctas_per_sm", 2), ("pingpong", 1)),
        (("m", 64), ("n", 256), ("k", 64)),
        (("m", 256), ("n", 128), ("k", 64)),
    ],
    "swiglu": [(("pingpong", 1), ("consumer_warpgroups", 2)), (("cluster", 2),)],
    # No clusters: rows of one product each, groups share no tile, and the compiler refuses them.
    "grouped": [(("pingpong", 1), ("consumer_warpgroups", 2))],
    "attention": [(("pingpong", 1),), (("consumer_warpgroups", 2), ("pingpong", 1))],
}


def named(name: str) -> NamedKernel:
    found = look_up(name, Request())
    return found if isinstance(found, NamedKernel) else found.kernel


def rows(name: str, pins: tuple[tuple[str, object], ...]) -> list[str]:
    """Lines of the table: one a launch."""
    kernel = named(name)
    if pins:
        kernel = replace(kernel, pins=pins)
    words = ", ".join(f"{n} {v}" for n, v in pins) or "as shipped"
    began = time.process_time()
    try:
        reports = check_kernel(kernel, name, None, [], {})
    except WarploomError as error:
        return [f"| {name} | {words} | - | refused: {error.what[:70]} | - | - |"]
    seconds = (time.process_time() - began) / len(reports)
    lines = []
    for report in reports:
        codes = ", ".join(sorted({f.code for f in report.findings})) or "-"
        launch = report.launches[0].split("; ")[1] if report.launches else "-"
        lines.append(
            f"| {name} | {words} | {launch[:60]} | {report.verdict.value} | {codes} "
            f"| {seconds:.1f} |"
        )
    return lines


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--write", action="store_true")
    reader.add_argument("names", nargs="*")
    given = reader.parse_args()
    names = given.names or list(hopper_kernels())
    wanted = [(n, ()) for n in names] + [(n, pins) for n in names for pins in CLASSES.get(n, [])]
    lines = []
    for done, (name, pins) in enumerate(wanted, 1):
        for line in rows(name, pins):
            print(line, flush=True)
            lines.append(line)
        if given.write:
            OUT.write_text(page(lines, f"{done} of {len(wanted)}"))


def page(lines: list[str], done: str) -> str:
    """The table so far."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    verdicts = [line.split(" | ")[3] for line in lines]
    head = [
        "# Own machine code under `check`",
        "",
        f"`python bench/check_own.py --write`, {datetime.date.today()}, commit {commit}, {done}",
        "configurations. Processor time includes compilation. All outputs are compared with the",
        f"kernel's reference. {verdicts.count('clean')} of {len(lines)} launches are clean.",
        "",
        "| kernel | choices | launch | verdict | findings and notes | seconds |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
