"""Timelines of the attention schedules: what holds which unit in one interval, solved anew.

    python bench/attention_timeline.py [FILE]     (default bench/results/attention-timelines.md)

Small letters are consumer 0, capitals consumer 1: q QK, p PV, m row maximum, e exponentials, c
conversion, r rescaling. Needs the solver (OR-tools); takes a few seconds a schedule.
"""

from __future__ import annotations

import sys
from pathlib import Path

from warploom.runtime.shipped import SHIPPED_ATTENTION
from warploom.schedules.hopper.solve import solve_attention

COLUMN = 32  # cycles a character
LETTERS = {"QK": "q", "PV": "p", "MAX": "m", "EXP": "e", "CVT": "c", "RESCALE": "r"}


def lane(result, unit):
    """One interval of a unit, a letter for each column in which an op holds it."""
    width = result.ii // COLUMN
    cells = ["."] * width
    for v, op in enumerate(result.problem.ops):
        letter = LETTERS.get(op.name[:-1])
        for hold in op.holds():
            if letter is None or hold.unit != unit:
                continue
            shown = letter.upper() if op.name.endswith("1") else letter
            for cycle in range(result.phase(v), result.phase(v) + hold.cycles, COLUMN // 2):
                cells[cycle // COLUMN % width] = shown
    return "".join(cells)


def rotated(result, text):
    """The lane turned so that consumer 0's first product of a turn is at its start."""
    first = result.phase(result.problem.index("QK0")) // COLUMN
    return text[first:] + text[:first]


def section(kernel):
    result = solve_attention(kernel)
    names = [op.name for op in result.problem.ops]
    rows = sorted(zip(result.times, names, strict=True))
    start = result.times[names.index("QK0")]
    lines = [
        f"## Margin {kernel.margin}",
        "",
        f"Interval {result.ii} cycles, proven least: {result.limit}. From the first load to the "
        f"end of PV {result.length} cycles. K and V rings: {result.depth('K')} and "
        f"{result.depth('V')} slots.",
        "",
        "```text",
        *(
            f"{unit:7s}|{rotated(result, lane(result, unit))}|"
            for unit in ("tensor", "mufu", "alu")
        ),
        "```",
        "",
        "Issue times in cycles, QK of consumer 0 at 0: "
        + ", ".join(f"{name} {time - start}" for time, name in rows)
        + ".",
        "",
    ]
    return "\n".join(lines)


def main():
    out = Path(sys.argv[1] if sys.argv[1:] else "bench/results/attention-timelines.md")
    head = (
        "# Attention on the H200: the schedules and their timelines\n\n"
        "Written by `bench/attention_timeline.py`. One interval of the steady state, "
        f"{COLUMN} cycles a\ncharacter, from QK of consumer 0 on. Small letters are consumer 0, "
        "capitals consumer 1: q QK, p PV,\nm row maximum, e exponentials (and what rides along "
        "on the ALU), c conversion, r rescaling.\n\n"
    )
    kernels = {k.margin: k for k in SHIPPED_ATTENTION}
    out.write_text(head + "\n".join(section(k) for k in kernels.values()))
    print(out.read_text())


if __name__ == "__main__":
    main()
