"""Timelines of the attention schedules: what holds which unit in one interval, solved anew.

    python bench/attention_timeline.py [FILE]     (default bench/results/attention_timelines.md)

Small letters are consumer 0, capitals consumer 1: q QK, p PV, m row maximum, e exponentials, c
conversion, r rescaling. Needs the solver (OR-tools); takes a few seconds a schedule.
"""

from __future__ import annotations

import sys
from pathlib import Path

from warploom.hopper.attention import AttentionKernel
from warploom.hopper.solve import solve_attention
from warploom.launch.shipped import SHIPPED_ATTENTION

COLUMN = 32  # cycles a character
LETTERS = {"QK": "q", "PV": "p", "MAX": "m", "EXP": "e", "CVT": "c", "RESCALE": "r"}


def lane(result, unit, consumers="01"):
    """One interval of a unit, a letter for each column in which one of the consumers holds it."""
    width = result.ii // COLUMN
    cells = ["."] * width
    for v, op in enumerate(result.problem.ops):
        letter = LETTERS.get(op.name[:-1])
        for hold in op.holds():
            if letter is None or hold.unit != unit or op.name[-1] not in consumers:
                continue
            shown = letter.upper() if op.name.endswith("1") else letter
            for cycle in range(result.phase(v), result.phase(v) + hold.cycles, COLUMN // 2):
                cells[cycle // COLUMN % width] = shown
    return "".join(cells)


def lanes(result, kernel):
    """The lines of a timeline; of more than two consumers one line each."""
    groups = ["01"] if kernel.consumers < 3 else [str(c) for c in range(kernel.consumers)]
    return [
        f"{unit:7s}{'' if len(groups) == 1 else group + ' '}|"
        f"{rotated(result, lane(result, unit, group))}|"
        for unit in ("tensor", "mufu", "alu")
        for group in groups
    ]


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
        f"## {kernel.name}",
        "",
        f"Head dimension {kernel.head_dim}, {kernel.tile_k} keys, {kernel.consumers} consumers, "
        + (f"program {kernel.program}." if kernel.program else f"margin {kernel.margin}."),
        "",
        f"Interval {result.ii} cycles, proven least: {result.limit}. From the first load to the "
        f"end of PV {result.length} cycles. K and V rings: {result.depth('K')} and "
        f"{result.depth('V')} slots.",
        "",
        "```text",
        *lanes(result, kernel),
        "```",
        "",
        "Issue times in cycles, QK of consumer 0 at 0: "
        + ", ".join(f"{name} {time - start}" for time, name in rows)
        + ".",
        "",
    ]
    return "\n".join(lines)


def main():
    out = Path(sys.argv[1] if sys.argv[1:] else "bench/results/attention_timelines.md")
    head = (
        "# Attention on the H200: the schedules and their timelines\n\n"
        "Written by `bench/attention_timeline.py`. One interval of the steady state, "
        f"{COLUMN} cycles a\ncharacter, from QK of consumer 0 on. Small letters are consumer 0, "
        "capitals consumer 1: q QK, p PV,\nm row maximum, e exponentials (and what rides along "
        "on the ALU), c conversion, r rescaling.\n\n"
    )
    kernels = [AttentionKernel(margin=0), *(k for k in SHIPPED_ATTENTION if k.hold is False)]
    drawn = {k.name.removesuffix("_q"): k for k in kernels}  # where Q lies changes no time
    out.write_text(head + "\n".join(section(k) for k in drawn.values()))
    print(out.read_text())


if __name__ == "__main__":
    main()
