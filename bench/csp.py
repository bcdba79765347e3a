"""How long the exact order search takes, on the ping-pong body and on larger grids.

usage: python bench/csp.py [--quick] [--out bench/results/csp.md]

Times are wall clock of one call on one core; work is the deterministic count of placed ops.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import warploom
from warploom.config.parts import BlockSizing
from warploom.errors import InfeasibleError
from warploom.graph.edges import derive_edges_from_ops
from warploom.graph.loop_body import LoopBody
from warploom.ops.body import PipelineBody
from warploom.ops.kinds import KOffsetKind, OpRole
from warploom.sched.csp import optimal_schedule_with_halves
from warploom.sched.evaluate import evaluate_schedule
from warploom.sched.greedy import greedy_schedule
from warploom.sched.interleave import double_buffer_reorder
from warploom.target.cost import annotate_ops
from warploom.target.mi355x import mi355x_cost_model, mi355x_double_buffer
from warploom.target.tags import PingPongOps as Op

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
        begin = time.perf_counter()
        try:
            r = optimal_schedule_with_halves(body, *args, **kw)
        except InfeasibleError as error:
            answer, work, ended = f"infeasible, least {error.smallest_feasible}", 0, True
        else:
            answer = f"{r.makespan} (bound {r.lower_bound}), peak {r.vgpr_peak}"
            work, ended = r.work, r.exact
        spent = time.perf_counter() - begin
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


def report(tables: list[Table]) -> str:
    """The results page."""
    lines = [
        "# Exact order search",
        "",
        f"Script: bench/csp.py · {date.today()} · warploom {warploom.__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}, one core.",
        "",
        "| questions | asked | ended | median | slowest | most work | the slowest one |",
        "|---|---|---|---|---|---|---|",
        *(t.summary() for t in tables),
        "",
        "*ended*: the answer is the exact order of the definition (or a proven infeasibility); the "
        "others stopped at the work limit with a best order and a bound:",
        "",
        *(f"- {what} ({spent:.1f} s)" for t in tables for spent, _, ok, what in t.rows if not ok),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Run all tables and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    page = report([make(args.quick) for make in (penalties, budgets, sizings, grids)])
    if args.out:
        args.out.write_text(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
