"""Counts and stall of reference, weakest and fewest synchronisation, per schedule.

Writes bench/results/sync.md. Run: ``python -m bench.sync_table`` (a few minutes: every derived wait
and barrier is weakened once and judged by the verifier).
"""

import datetime
import platform
import time
import warnings
from dataclasses import replace
from pathlib import Path

from tests.sync.minimal import check_minimal

from warploom import (
    DeclarativeSchedule,
    KernelGeometry,
    OrderError,
    Phase,
    Pipeline4Wave,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    __version__,
    build_default_matmul_schedule,
    compile_schedule,
    mi355x_target,
    synthesise,
)
from warploom.sim import mi355x_costs, simulate
from warploom.sync.counters import CHIP, REFERENCE, count_sync, repair
from warploom.verify import Severity, verify

OUT = Path(__file__).parent / "results" / "sync.md"
PHASES = (Phase.PROLOGUE, Phase.KERNEL, Phase.EPILOGUE)
COSTS = mi355x_costs()


def clean(document):
    return not races(document)


def races(document):
    found = [f for f in verify(document).findings if f.severity is not Severity.INFO]
    return sorted({f.code.value for f in found})


def simulated(document):
    """Cycles an iteration on the timing simulator, all waves of the workgroup."""
    return simulate(document, COSTS, trips=12, waves=1).ii


def fourwave_geometry(bm, bn, vm, lgkm):
    return KernelGeometry(
        BM=bm,
        BN=bn,
        BK=64,
        MMA_M=16,
        MMA_N=16,
        MMA_K=32,
        elem_bytes=2,
        simd_width=8,
        is_fp8=False,
        vm_per_load_a=vm[0],
        vm_per_load_b=vm[1],
        lgkm_per_load_a=lgkm[0],
        lgkm_per_load_b=lgkm[1],
    )


def documents():
    """(name, document as the reference's rules synchronise it)."""
    ruled = {"sync": SyncPolicy.REFERENCE, "on_race": "skip"}
    for strategy in (
        SchedulingStrategy.IDENTITY,
        SchedulingStrategy.GREEDY,
        SchedulingStrategy.CSP,
    ):
        for most in (0, 1, 2):
            schedule = DeclarativeSchedule(
                lgkm_a=8,
                lgkm_b=4,
                config=ScheduleConfig(scheduling=strategy, auto_waits=True),
                target=mi355x_target(max_globals=most),
            )
            name = f"ping-pong {strategy.name}, max_globals {most}"
            try:
                yield name, compile_schedule(schedule, **ruled).document()
            except Exception as error:
                yield name, error
    wave = Pipeline4Wave(fourwave_geometry(256, 256, (4, 4), (8, 8)))
    yield "4-wave 256x256x64", compile_schedule(wave, **ruled).document()
    single = build_default_matmul_schedule(2, 4, 4, 2, 16, 16, 2, 2)
    yield "single buffer, 2 k-tiles", single.document()


def counts(document):
    return " / ".join(str(count_sync(document, p)) for p in PHASES)


def row(kind, document, derived, checks, seconds):
    verdict = ", ".join(races(document)) or "clean"
    cells = [
        kind,
        counts(document),
        str(derived),
        verdict,
        f"{CHIP(document):.0f}",
        f"{REFERENCE(document):.0f}",
        f"{simulated(document):.0f}",
        checks,
        seconds,
    ]
    return "| " + " | ".join(cells) + " |"


def derived_rows(document, keep):
    where = "kept barriers" if keep else "no barriers kept"
    for mode in ("weakest", "fewest"):
        start = time.perf_counter()
        result = synthesise(document, keep_barriers=keep, mode=mode)
        took = time.perf_counter() - start
        loose = check_minimal(result.document, clean, barriers=result.derived_barriers)
        waits = sum(c.vm + c.lgkm for c in (result.counts(p) for p in PHASES))
        checks = f"{len(loose)} of {waits + len(result.derived_barriers)}"
        yield row(
            f"{mode}, {where}",
            result.document,
            len(result.derived_barriers),
            checks,
            f"{took:.2f}",
        )


def ranked_by_simulator(document):
    result = synthesise(document, keep_barriers=False, cost=simulated, limit=24)
    kind = "weakest, no barriers kept, ranked by the simulator"
    return row(kind, result.document, len(result.derived_barriers), "", "")


HEAD = """| synchronisation | barriers, vm, lgkm: P / K / E | derived barriers | verifier | \
stall, chip | stall, reference latencies | simulated | loose | seconds |
|---|---|---|---|---|---|---|---|---|"""


def section(name, document):
    lines = [f"## {name}", ""]
    if isinstance(document, Exception):
        return [*lines, f"Not compiled: {type(document).__name__}: {document.args[0]}", ""]
    try:
        synthesise(document, limit=1)
    except OrderError as error:
        return [*lines, f"Refused ({error.code}): {error.what}; {error.why}.", ""]
    lines += [HEAD, row("reference rules", document, 0, "", "")]
    fixed = repair(document)
    lines.append(row(f"repaired ({len(fixed.changes)} changes)", fixed.document, "", "", ""))
    for keep in (True, False):
        lines += derived_rows(document, keep)
    lines.append(ranked_by_simulator(document))
    more = synthesise(document, keep_barriers=False, extra_barriers=1)
    lines.append(
        row(
            "weakest, none kept, one kernel barrier more",
            more.document,
            len(more.derived_barriers),
            "",
            "",
        )
    )
    if document.protocol.groups > 1:
        alone = replace(
            document,
            protocol=replace(document.protocol, groups=1, stagger_index=None, tail_barriers=(0,)),
        )
        result = synthesise(replace(alone), keep_barriers=False)
        lines.append(
            row(
                "weakest, none kept, one group",
                result.document,
                len(result.derived_barriers),
                "",
                "",
            )
        )
    return [*lines, ""]


def main():
    warnings.simplefilter("ignore")
    lines = [
        "# Synchronisation: reference, weakest, fewest",
        "",
        f"Made by `bench/sync_table.py` on {datetime.date.today()}, warploom {__version__}, "
        f"Python {platform.python_version()}.",
        "",
        "Counts are barriers, vm waits, lgkm waits in prologue / kernel / epilogue. Stall columns "
        "are cycles a steady iteration of the one-wave stall model (chip: 256-cycle MMA group, 900 "
        "vm, 128 lgkm, 16 a barrier); 'simulated' is the timing simulator's interval with all wave "
        "groups (one wave each). 'loose' counts derived waits and barriers that the verifier would "
        "let be weaker by one, of all that were tried.",
        "",
    ]
    for name, document in documents():
        lines += section(name, document)
        print(name, flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
