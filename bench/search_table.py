"""The best schedules found against the bound: identity, greedy, CSP, MODULO and the search's best.

Writes bench/results/search_table.md. Scores: simulated cycles of two K-tiles; of attention the
interval of one key tile of both consumers, in the solver's own costs.

    python bench/search_table.py [--seconds 120] [--workers 2] [--store DIR] [--only NAME]
"""

import argparse
import os
import resource
import warnings
from datetime import UTC, datetime
from pathlib import Path

from warploom import SearchOptions, search, simulate
from warploom.cli.kernels import built_in
from warploom.errors import WarploomError
from warploom.kernels.attention import attention
from warploom.order import ModuloOptions, solve_modulo
from warploom.order.sequence import Program, as_result
from warploom.search.build import can_build
from warploom.search.subjects import finer_splits
from warploom.seed.compile import compile_schedule
from warploom.seed.modulo.bridge import ModuloRequest
from warploom.sim.chip import chip_costs

RESULTS = Path(__file__).parent / "results" / "search_table.md"
# name, schedule, tile, element type, matrix instruction
BODIES = [
    ("8-wave 256x256x64 bf16", "pingpong", "256x256x64", "bf16", "32x32x16"),
    ("4-wave 256x256x64 bf16", "fourwave", "256x256x64", "bf16", "32x32x16"),
    ("4-wave 128x128x64 bf16", "fourwave", "128x128x64", "bf16", "16x16x32"),
    ("8-wave 256x256x128 fp8", "pingpong", "256x256x128", "fp8", "32x32x64"),
    ("4-wave 256x256x128 fp8", "fourwave", "256x256x128", "fp8", "32x32x64"),
    ("8-wave 256x128x64 bf16", "pingpong", "256x128x64", "bf16", "16x16x32"),
    ("4-wave 256x128x64 bf16", "fourwave", "256x128x64", "bf16", "32x32x16"),
]


def spent():
    """CPU seconds of this process and those it waited for."""
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def by_modulo(schedule):
    """What MODULO compiles to: solved in the schedule's own model, timed on the chip's costs."""
    request = ModuloRequest(max_depth=1, options=ModuloOptions(goals=(), seconds=10.0))
    try:
        document = compile_schedule(schedule, modulo=request).document()
    except WarploomError:
        return "-"
    run = simulate(document, chip_costs(document), trips=12)
    return f"{run.ii * 2 / document.protocol.k_tiles_per_iteration:g}"


def row(name, kind, tile, dtype, mma, arguments):
    schedule = built_in(kind, {}, tile, dtype, mma)
    options = SearchOptions(
        seconds=arguments.seconds,
        workers=arguments.workers,
        splits=finer_splits(schedule),
        build=can_build(schedule),
    )
    store = None if arguments.store is None else Path(arguments.store) / f"{kind}_{tile}.jsonl"
    begun = spent()
    found = search(schedule, options=options, store=store)

    def best(*words):
        scores = [r.score for r in found.rows if r.origin in words]
        return f"{min(scores):g}" if scores else "-"

    top = next(r for r in found.rows if r.score == found.score and r.built is not False)
    return (
        f"| {name} | {mma} | {found.bound:g} | {best('identity')} | {best('greedy')} | "
        f"{best('csp')} | {by_modulo(schedule)} | **{found.score:g}** | "
        f"{top.split[0]}x{top.split[1]} | {found.evaluations} | {found.seconds:.0f} | "
        f"{spent() - begun:.0f} | {found.best.report.verdict}"
        f"{', built' if options.build else ''} |"
    )


def attention_row(arguments):
    """Attention forward on Hopper, head dimension 128: a problem of roles, no counter schedule."""
    sizes = {"b": 4, "h": 32, "g": 32, "s": 4096, "t": 4096, "d": 128}
    made = attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})
    problem = made.lower(made.choices[0].tiling).problem
    begun, depths = spent(), tuple(r.max_depth for r in problem.rings)
    own = as_result(problem, Program(tuple(range(len(problem.ops))), depths))
    solved = solve_modulo(problem, ModuloOptions(goals=(), seconds=arguments.seconds))
    found = search(problem, options=SearchOptions(seconds=arguments.seconds, goal=solved.ii))
    proven = "proven" if solved.proven else "not proven"
    return (
        f"| attention 128x128 bf16, H200 | wgmma | {found.bound:g} | {own.ii if own else '-'} | - "
        f"| - | {solved.ii} | **{min(found.score, solved.ii):g}** | 1x1 | {found.evaluations} | "
        f"{found.seconds:.0f} | {spent() - begun:.0f} | {proven} |"
    )


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--store")
    parser.add_argument("--only", default="")
    parser.add_argument("--more", action="store_true", help="keep the rows there are")
    arguments = parser.parse_args()
    lines = [
        "# Best schedules found",
        "",
        f"Made by `bench/search_table.py` on {datetime.now(UTC):%Y-%m-%d} with "
        f"{arguments.workers} worker(s), {arguments.seconds:g} s a body, load average "
        f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores at the start. Simulated cycles of two "
        "K-tiles; AUTO is the best the search found, on ops as declared or finer (split). Built: "
        "it passed the ISA gate without spills. CPU seconds include workers and LLVM. A dash: the "
        "same kernel as in a column before it, or no such strategy; MODULO is solved in the "
        "schedule's own model with one copy of every slot."
        + (" Scores of earlier searches were read from a store." if arguments.store else ""),
        "",
        "| body | instruction | bound | identity | greedy | CSP | MODULO | AUTO | split | "
        "evaluations | s | CPU s | verdict |",
        "|" + "---|" * 13,
    ]
    known = RESULTS.read_text().splitlines() if arguments.more and RESULTS.exists() else []
    lines += [line for line in known if line.startswith(("| 4-", "| 8-"))]
    done = {line.split(" | ")[0].strip("| ") for line in lines}
    for body in BODIES:
        if arguments.only in body[0] and body[0] not in done:
            lines.append(row(*body, arguments))
            print(lines[-1], flush=True)
            RESULTS.write_text("\n".join([*lines, ""]))
    if arguments.only in "attention":
        lines.append(attention_row(arguments))
        print(lines[-1], flush=True)
        RESULTS.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
