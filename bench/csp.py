"""How long the exact order search takes, on the ping-pong body and on larger grids.

usage: python bench/csp.py [--quick] [--out bench/results/csp.md]

Times are processor time of one call on one core; work is the deterministic count of placed ops.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random

import warploom
from warploom.errors import InfeasibleError, SchedulingError
from warploom.ir.schedule_ops import DepEdge, KOffsetKind, OpDesc, OpRole, ResourceKind
from warploom.pipeline.amd_target.cost import (
    PingPongOps as Op,
    mi355x_cost_model,
    mi355x_double_buffer,
)
from warploom.pipeline.body import PipelineBody
from warploom.pipeline.config.pipeline import BlockSizing
from warploom.pipeline.cost_model import (
    annotate_ops,
)
from warploom.pipeline.graph_builder.edges import derive_edges_from_ops
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.scheduling.csp import optimal_schedule_with_halves
from warploom.pipeline.scheduling.greedy import double_buffer_reorder, greedy_schedule
from warploom.pipeline.scheduling.result import evaluate_schedule

KILLS = {
    "none": {},
    "compute 8": {OpRole.COMPUTE: 8},
    "compute 12": {OpRole.COMPUTE: 12},
    "compute 20, load 4": {OpRole.COMPUTE: 20, OpRole.GLOBAL_LOAD: 4},
}


def half(h: int, m: int, n: int) -> PipelineBody:
    """One half of a ping-pong body on an m x n grid."""
    k = KOffsetKind.K1 if h else KOffsetKind.K0
    with PipelineBody() as body:
        completion = KOffsetKind.K0 if h else KOffsetKind.K_PREV
        body.load(Op.LOAD_A, ch=0, stage=1 - h, sub=m - 1, k=completion)
        body.fan(m - 1, Op.LOAD_A, ch=0, stage=h, k=k)
        body.fan(n, Op.LOAD_B, ch=1, stage=h, k=k)
        body.fan(m, Op.MMA_LOAD_A, ch=0, stage=h)
        body.fan(n, Op.MMA_LOAD_B, ch=1, stage=h)
        body.grid(m, n, Op.MMA)
    return body


def grid_body(m: int, n: int, *, max_globals: int = 1, heavy: int = 4) -> LoopBody:
    """The priced, interleaved body with its edges, as the compiler hands it to the search."""
    config = replace(
        mi355x_double_buffer(4, 4, max_globals),
        m_mmas=m,
        n_mmas=n,
        block_sizing=BlockSizing(heavy=heavy, light=2, max_globals=max_globals),
    )
    logical = PipelineBody().extend(half(0, m, n)).extend(half(1, m, n)).done()
    priced = annotate_ops(logical, mi355x_cost_model())
    # Without a cap, light blocks of some sizings leave loads over; the search needs none of that.
    ops = priced if heavy < 4 else double_buffer_reorder(priced, config)
    return LoopBody.of(ops, derive_edges_from_ops(ops, config))


def with_kills(body: LoopBody, kills: dict[OpRole, int]) -> LoopBody:
    """The body under a cost model that frees registers."""
    ops = [replace(x.op, vgpr_kill=kills.get(x.op.role, 0)) for x in body.ops]
    return LoopBody.of(ops, body.edges)


class Table:
    """Rows of one family of questions."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.rows: list[tuple[float, int, bool, str]] = []

    def ask(self, what: str, body: LoopBody, *args: int | None, **kw: int) -> None:
        """Put one question to the search and note what it took."""
        begin = time.process_time()
        try:
            r = optimal_schedule_with_halves(body, *args, **kw)
        except InfeasibleError as error:
            least = error.smallest_feasible
            answer, work, ended = f"infeasible, least {least}", 0, least is not None
        except SchedulingError as error:
            answer, work, ended = error.what, 0, False
        else:
            answer = f"{r.makespan} (bound {r.lower_bound}), peak {r.vgpr_peak}"
            work, ended = r.work, r.exact
        spent = time.process_time() - begin
        self.rows.append((spent, work, ended, f"{what}: {answer}"))

    def summary(self) -> str:
        """One Markdown line."""
        times = sorted(r[0] for r in self.rows)
        slowest = max(self.rows)
        ended = sum(r[2] for r in self.rows)
        return (
            f"| {self.title} | {len(self.rows)} | {ended} | {times[len(times) // 2] * 1e3:.1f} ms |"
            f" {times[-1]:.2f} s | {max(r[1] for r in self.rows)} | {slowest[3]} |"
        )


def penalties(quick: bool) -> Table:
    """Every penalty on every sizing, no budget."""
    table = Table("penalty 1..60 x max_globals 0, 1, 2")
    for g in (0, 1, 2):
        body = grid_body(2, 2, max_globals=g)
        for penalty in range(1, 61, 7 if quick else 1):
            table.ask(f"g={g} penalty={penalty}", body, g, penalty)
    return table


def budgets(quick: bool) -> Table:
    """Budgets from hopeless to loose, with and without cost models that free registers."""
    table = Table("max_vgpr 8..96 x penalty 0, 10, 40 x max_globals 0, 1, 2 x 4 kill models")
    for g in (0, 1, 2):
        for name, kills in KILLS.items():
            body = with_kills(grid_body(2, 2, max_globals=g), kills)
            peak = evaluate_schedule(body, greedy_schedule(body)).vgpr_peak
            for penalty in (0, 10, 40):
                for budget in sorted({*range(8, 97, 44 if quick else 8), peak - 1, peak, peak + 4}):
                    what = f"g={g} kills={name} penalty={penalty} max_vgpr={budget}"
                    table.ask(what, body, g, penalty, budget)
    return table


def sizings(quick: bool) -> Table:
    """heavy=2 without a load limit: the declared order, which interleaving cannot improve."""
    table = Table("heavy 2, max_globals 0, penalty 0..60")
    body = grid_body(2, 2, max_globals=0, heavy=2)
    for penalty in range(0, 61, 20 if quick else 4):
        table.ask(f"penalty={penalty}", body, 0, penalty)
    return table


def grids(quick: bool) -> Table:
    """Larger grids: the search may reach its limit and then returns its best with a bound."""
    table = Table("grids 3x2 .. 4x4, penalty 0, 4, 10, 30, max_globals 0, 1")
    for m, n in ((3, 2),) if quick else ((3, 2), (2, 4), (3, 3), (4, 2), (4, 4)):
        for g in (0, 1):
            body = grid_body(m, n, max_globals=1)
            for penalty in (0, 4, 10, 30):
                table.ask(f"{m}x{n} ({len(body)} ops) g={g} penalty={penalty}", body, g, penalty)
    return table


def random_graphs(quick: bool) -> Table:
    """Random bodies of the sizes at which plain enumeration stops ending."""
    table = Table("random graphs of 16..32 ops, density 0.15 and 0.30, plain and partitioned")
    random = Random(5)
    for n in (16,) if quick else (16, 20, 24, 32):
        for density in (0.15, 0.30):
            for case in range(4 if quick else 12):
                body = random_body(random, n, density)
                what = f"n={n} density={density} case {case}"
                table.ask(f"{what} whole", body, partitions=1)
                table.ask(f"{what} halves, g=1 penalty=10", body, 1, 10)
                peak = evaluate_schedule(body, greedy_schedule(body)).vgpr_peak
                table.ask(f"{what} halves, penalty=25 tight", body, 0, 25, max(peak - 4, 2))
    return table


def random_body(random: Random, n: int, density: float) -> LoopBody:
    """Ops of every unit; edges upwards."""
    kinds = (
        (ResourceKind.MMA_UNIT, OpRole.COMPUTE),
        (ResourceKind.VALU, OpRole.VALU_COMPUTE),
        (ResourceKind.GLOBAL_MEM, OpRole.GLOBAL_LOAD),
        (ResourceKind.LDS, OpRole.FRAGMENT_LOAD),
    )
    ops = []
    for _ in range(n):
        resource, role = random.choice(kinds)
        latency = random.choice((1, 4, 8, 16, 24, 40, 100))
        registers = {"vgpr_def": random.choice((0, 2, 4, 8)), "vgpr_kill": random.choice((0, 4, 8))}
        ops.append(OpDesc.op(0, resource, latency, role, **registers))
    pairs = ((i, j) for i in range(n) for j in range(i + 1, n))
    return LoopBody.of(ops, [DepEdge.flow(i, j) for i, j in pairs if random.random() < density])


def report(tables: list[Table]) -> str:
    """The results page."""
    lines = [
        "# Exact order search",
        "",
        f"Script: bench/csp.py · {date.today()} · warploom {warploom.__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}, processor time of one core.",
        "",
        "| questions | asked | ended | median | slowest | most work | the slowest one |",
        "|---|---|---|---|---|---|---|",
        *(t.summary() for t in tables),
        "",
        "*ended*: the answer is the exact order of the definition, or a proven infeasibility.",
    ]
    open_ones = [row for table in tables for row in table.rows if not row[2]]
    if open_ones:
        lines += ["", "Stopped at the work limit with a best order and a bound:", ""]
        lines += [f"- {what} ({spent:.1f} s)" for spent, _, _, what in open_ones]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all tables and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    page = report(
        [make(args.quick) for make in (penalties, budgets, sizings, grids, random_graphs)]
    )
    if args.out:
        args.out.write_text(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
