"""Schedule and code side by side, around the places where they differ."""

from __future__ import annotations

from difflib import SequenceMatcher

from warploom.emit.gfx950.gate.expected import Step

CONTEXT = 3
MAX_LINES = 40
WIDTH = 44


def side_by_side(want: tuple[Step, ...], got: tuple[Step, ...], trips: int) -> str:
    """Rows ``schedule | code``; ``<`` is lost, ``>`` added, ``!`` changed."""
    matcher = SequenceMatcher(None, [s.label() for s in want], [s.label() for s in got], False)
    lines = [f"with {trips} loop iteration(s):", f"  {'schedule':<{WIDTH}} | code"]
    for group in matcher.get_grouped_opcodes(CONTEXT):
        lines.append("  ...")
        for op, a0, a1, b0, b1 in group:
            lines += _rows(op, want[a0:a1], got[b0:b1])
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"  ... {len(lines) - MAX_LINES} more lines"]
    return "\n".join(lines)


def _rows(op: str, want: tuple[Step, ...], got: tuple[Step, ...]) -> list[str]:
    mark = {"equal": " ", "delete": "<", "insert": ">", "replace": "!"}[op]
    rows = []
    for i in range(max(len(want), len(got))):
        left = f"{want[i].label()}  {want[i].source}" if i < len(want) else ""
        right = got[i].source if i < len(got) else ""
        rows.append(f"{mark} {left:<{WIDTH}} | {right}")
    return rows
