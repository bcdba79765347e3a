"""The best schedules found against the bound: identity, greedy, CSP, MODULO and the search's best.

Writes bench/results/search_table.md. Scores: simulated cycles of two K-tiles; of attention the
interval of one key tile of both consumers, in the solver's own costs.

    python bench/search_table.py [--evaluations 120] [--seconds S] [--workers 2] [--only NAME]
"""

import argparse
import os
import resource
import warnings
from datetime import UTC, datetime
from pathlib import Path

from warploom import SearchOptions, search, simulate
from warploom.autotune.build import can_build
from warploom.autotune.subjects import finer_splits
from warploom.cli.kernels import built_in
from warploom.errors import WarploomError
from warploom.kernels.attention import attention
from warploom.modulo import ModuloOptions, solve_modulo
from warploom.modulo.sequence import Program, as_result
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.pipeline.schedules.shipped import tuned
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.sim.chip import chip_costs

RESULTS = Path(__file__).parent / "results" / "search_table.md"
STRATEGIES = (
    SchedulingStrategy.IDENTITY,
    SchedulingStrategy.GREEDY,
    SchedulingStrategy.CSP,
    SchedulingStrategy.MODULO,
)
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


def by(strategy, schedule):
    """What a strategy compiles to, timed on the chip; MODULO with one copy of every slot."""
    request = ModuloRequest(max_depth=1, options=ModuloOptions(goals=(), work=4.0))
    modulo = {"modulo": request} if strategy is SchedulingStrategy.MODULO else {}
    try:
        document = compile_schedule(
            tuned(schedule, scheduling=strategy), sync=SyncPolicy.PROVEN_WEAKEST, **modulo
        ).document()
    except WarploomError:
        return "refused"
    run = simulate(document, chip_costs(document), trips=12)
    return f"{run.ii * 2 / document.protocol.k_tiles_per_iteration:g}"


def row(name, kind, tile, dtype, mma, arguments):
    schedule = built_in(kind, {}, tile, dtype, mma)
    options = SearchOptions(
        seconds=arguments.seconds,
        evaluations=arguments.evaluations,
        workers=arguments.workers,
        splits=finer_splits(schedule),
        build=can_build(schedule),
    )
    begun = spent()
    found = search(schedule, options=options)
    used = spent() - begun
    own = " | ".join(by(s, schedule) for s in STRATEGIES)
    top = next(r for r in found.rows if r.score == found.score and r.built is not False)
    return (
        f"| {name} | {mma} | {found.bound:g} | {own} | **{found.score:g}** | "
        f"{top.split[0]}x{top.split[1]} | {found.evaluations} | {found.seconds:.0f} | "
        f"{used:.0f} | {found.best.report.verdict}"
        f"{', built' if options.build else ''} |"
    )


def attention_row(arguments):
    """Attention forward on Hopper, head dimension 128: a problem of roles, no counter schedule."""
    sizes = {"b": 4, "h": 32, "g": 32, "s": 4096, "t": 4096, "d": 128}
    made = attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})
    problem = made.lower(made.choices[0].config).problem
    begun, depths = spent(), tuple(r.max_depth for r in problem.rings)
    own = as_result(problem, Program(tuple(range(len(problem.ops))), depths))
    solved = solve_modulo(problem, ModuloOptions(goals=()))
    options = SearchOptions(evaluations=arguments.evaluations, goal=solved.ii)
    found = search(problem, options=options)
    proven = "proven" if solved.proven else "not proven"
    return (
        f"| attention 128x128 bf16, H200 | wgmma | {found.bound:g} | {own.ii if own else '-'} | - "
        f"| - | {solved.ii} | **{min(found.score, solved.ii):g}** | 1x1 | {found.evaluations} | "
        f"{found.seconds:.0f} | {spent() - begun:.0f} | {proven} |"
    )


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluations", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--more", action="store_true", help="keep the rows there are")
    arguments = parser.parse_args()
    limit = f"{arguments.seconds:g} s" if arguments.seconds else "120 evaluations"
    limit = f"{arguments.evaluations} evaluations" if arguments.evaluations else limit
    lines = [
        "# Best schedules found",
        "",
        f"Made by `bench/search_table.py` on {datetime.now(UTC):%Y-%m-%d} with "
        f"{arguments.workers} worker(s), {limit} a body, load average "
        f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores at the start. Simulated cycles of two "
        "K-tiles, waits and barriers placed at least cost; AUTO is the best the search found, on "
        "ops as declared or finer (split). Built: it passed the ISA gate without spills. CPU "
        "seconds include workers and LLVM. MODULO is solved in the schedule's own model with one "
        "copy of every slot; attention has no strategies of its own.",
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
