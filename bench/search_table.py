"""The best schedules found against the bound: identity, greedy, CSP, MODULO and the search's best.

Writes bench/results/search.md. Scores: simulated cycles of two K-tiles.

    python bench/search_table.py [--seconds 120] [--workers 2] [--store DIR] [--only NAME]
"""

import argparse
import os
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

from warploom import SearchOptions, search
from warploom.cli.builtin import BUILT_IN
from warploom.seed.compile import compile_schedule
from warploom.seed.target.chip import chip_costs

RESULTS = Path(__file__).parent / "results" / "search.md"
# name, schedule, tile, element type, cycles of one matrix instruction, splits
BODIES = [
    ("4-wave 256x256x64 bf16", "fourwave", "256x256x64", "bf16", 32, ((1, 1), (2, 2))),
    ("4-wave 256x256x64 bf16, 16x16", "fourwave", "256x256x64", "bf16", 16, ((1, 1), (2, 2))),
    ("8-wave 256x256x64 bf16", "pingpong", "256x256x64", "bf16", 16, ((1, 1),)),
    ("4-wave 128x128x64 bf16", "fourwave", "128x128x64", "bf16", 16, ((1, 1),)),
    ("8-wave 256x128x64 bf16", "pingpong", "256x128x64", "bf16", 16, ((1, 1),)),
    ("4-wave 256x256x128 fp8", "fourwave", "256x256x128", "fp8", 32, ((1, 1),)),
    ("8-wave 256x256x128 fp8", "pingpong", "256x256x128", "fp8", 32, ((1, 1),)),
    ("4-wave 256x128x64 bf16", "fourwave", "256x128x64", "bf16", 16, ((1, 1),)),
]


def row(name, kind, tile, dtype, mfma, splits, arguments):
    schedule = BUILT_IN[kind]({}, tile, dtype)
    shape = tuple(int(side) for side in tile.split("x"))
    document = compile_schedule(schedule, on_race="skip").document()
    machine = chip_costs(document, shape, dtype).with_mfma(mfma)
    options = SearchOptions(seconds=arguments.seconds, workers=arguments.workers, splits=splits)
    store = None if arguments.store is None else Path(arguments.store) / f"{kind}_{tile}.jsonl"
    begun = time.process_time()
    found = search(schedule, machine, options=options, store=store)
    spent = time.process_time() - begun

    def best(*words):
        scores = [r.score for r in found.rows if r.origin in words]
        return f"{min(scores):g}" if scores else "-"

    return (
        f"| {name} | {mfma} | {found.bound:g} | {best('identity')} | {best('greedy')} | "
        f"{best('csp')} | {best('modulo')} | **{found.score:g}** | "
        f"{found.rows[0].split[0]}x{found.rows[0].split[1]} | {found.evaluations} | "
        f"{found.seconds:.0f} | {spent:.0f} | {found.best.report.verdict} |"
    )


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--store")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    lines = [
        "# Best schedules found",
        "",
        f"Made by `bench/search_table.py` on {datetime.now(UTC):%Y-%m-%d} with "
        f"{arguments.workers} worker(s), {arguments.seconds:g} s a body, load average "
        f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores at the start. Simulated cycles of two "
        "K-tiles; AUTO is the best of the search. CPU seconds are those of the searching process, "
        "without its workers.",
        "",
        "| body | MFMA cycles | bound | identity | greedy | CSP | MODULO | AUTO | split | "
        "evaluations | s | CPU s | verdict |",
        "|" + "---|" * 13,
    ]
    for body in BODIES:
        if arguments.only in body[0]:
            lines.append(row(*body, arguments))
            print(lines[-1], flush=True)
            RESULTS.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
