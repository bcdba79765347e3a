"""How the exact modulo scheduler grows: time to a proven II for 24 to 384 ops.

Real bodies (GEMM grids with shared fragments, the tight case) and random ones: *easy* with loose
recurrences, *hard* with one recurrence at 97 % of the busiest unit and odd occupancies. Writes
bench/results/modulo_growth.md and .svg.

    python bench/modulo_growth.py [--seeds N] [--hard-up-to OPS]
"""

import argparse
import math
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.modulo.bodies.gemm import gemm_body
from tests.modulo.random_bodies import RandomShape, random_body

from warploom.modulo import Goal, ModuloOptions, check_result, solve_modulo
from warploom.modulo.exact.process import shared_solver

RESULTS = Path(__file__).parent / "results"
SIZES = (24, 48, 96, 192, 384)
GRIDS = ((2, 2), (4, 4), (4, 8), (8, 8), (8, 16))
OPTIONS = ModuloOptions(goals=(Goal.SMEM,), tries=2, find_work=6, prove_work=10)


def cases(seeds, hard_up_to):
    for m, n in GRIDS:
        yield "gemm", gemm_body(m, n)
    for ops in SIZES:
        easy = RandomShape(ops=ops, rings=ops // 8, ring_depth=8)
        for seed in range(1, seeds + 1):
            yield "easy", random_body(easy, seed)
    for ops in SIZES:
        hard = RandomShape(
            ops=ops, rings=ops // 8, ring_depth=8, occupancies=(3, 5, 8, 16), tight=0.97
        )
        for seed in range(1, seeds + 1 if ops <= hard_up_to else 1):
            yield "hard", random_body(hard, seed)


def cpu_seconds():
    """CPU time of this process and of the solver's child (Linux)."""
    child = shared_solver()._child
    theirs = 0.0
    if child is not None and child.poll() is None:
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        theirs = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return time.process_time() + theirs


def measure(kind, body):
    start = cpu_seconds()
    r = solve_modulo(body, OPTIONS)
    cpu = cpu_seconds() - start
    check_result(r)
    smem = r.goal(Goal.SMEM)
    row = {
        "kind": kind,
        "name": body.name,
        "ops": len(body.ops),
        "ii": r.ii,
        "bound": r.lower_bound,
        "proven": r.proven,
        "smem": f"{smem.value}/{smem.bound}" if smem else "-",
        "to_ii": r.seconds_to_ii,
        "all": r.seconds,
        "cpu": cpu,
    }
    print(row, flush=True)
    return row


def table(rows):
    yield "| body | ops | II | bound | proven | smem | s to II | s with least smem | CPU s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for r in rows:
        yield (
            f"| {r['kind']}: {r['name']} | {r['ops']} | {r['ii']} | {r['bound']} | "
            f"{'yes' if r['proven'] else 'no'} | {r['smem']} | {r['to_ii']:.2f} | {r['all']:.2f} | "
            f"{r['cpu']:.2f} |"
        )


COLOURS = {"gemm": "#1b6ca8", "easy": "#3a9d5d", "hard": "#c0392b"}


def plot(rows):
    """Ops against CPU seconds of the whole solve, both logarithmic; hollow: unproven."""
    width, height, left, bottom = 640, 400, 60, 40
    low, high = -2.0, 2.5

    def x(ops):
        share = math.log(ops / 20) / math.log(450 / 20)
        return left + share * (width - left - 20)

    def y(seconds):
        share = (math.log10(max(seconds, 0.01)) - low) / (high - low)
        return height - bottom - share * (height - bottom - 20)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for power in (-2, -1, 0, 1, 2):
        at = y(10**power)
        out.append(f'<line x1="{left}" x2="{width - 20}" y1="{at}" y2="{at}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{at + 4}" text-anchor="end">{10**power:g} s</text>')
    for ops in (24, 48, 96, 192, 384):
        out.append(f'<text x="{x(ops)}" y="{height - 18}" text-anchor="middle">{ops}</text>')
    out.append(f'<text x="{width / 2}" y="{height - 3}" text-anchor="middle">ops</text>')
    for r in rows:
        colour = COLOURS[r["kind"]]
        fill = colour if r["proven"] else "white"
        out.append(
            f'<circle cx="{x(r["ops"]):.1f}" cy="{y(r["cpu"]):.1f}" r="5" fill="{fill}" '
            f'stroke="{colour}" stroke-width="2"><title>{r["name"]}</title></circle>'
        )
    for i, (name, colour) in enumerate(COLOURS.items()):
        out.append(f'<circle cx="{left + 15}" cy="{30 + 18 * i}" r="5" fill="{colour}"/>')
        out.append(f'<text x="{left + 28}" y="{34 + 18 * i}">{name}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--hard-up-to", type=int, default=384)
    given = parser.parse_args()
    rows = []
    for kind, body in cases(given.seeds, given.hard_up_to):
        rows.append(measure(kind, body))
        write(rows)


def write(rows):
    text = [
        "# Growth of the exact modulo scheduler",
        "",
        f"Made by `bench/modulo_growth.py` on {datetime.now(UTC):%Y-%m-%d}, OR-tools "
        f"{version('ortools')}, Python {platform.python_version()}, 2 cores shared with other "
        "work (load average about 10, so wall times are several times the CPU times). smem is "
        "value/bound.",
        "",
        "![CPU seconds to proven II and least smem](modulo_growth.svg)",
        "",
        *table(rows),
        "",
    ]
    (RESULTS / "modulo_growth.md").write_text("\n".join(text))
    (RESULTS / "modulo_growth.svg").write_text(plot(rows))


if __name__ == "__main__":
    main()
