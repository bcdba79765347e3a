"""A joint search as a table, and predicted against measured as a picture."""

from html import escape
from statistics import median

from warploom.autotune.joint import JointResult, Row

WIDE, HIGH, EDGE = 640, 480, 56
SHOWN = 20


def to_table(found: JointResult) -> str:
    """Trials, best first, and what the search did."""
    head = ("", "trial", "bound", "predicted", "measured ms")
    rows = [_cells(n, r) for n, r in enumerate(found.rows[:SHOWN], 1)]
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    lines = [_line(r, widths) for r in [head, *rows]]
    if len(found.rows) > SHOWN:
        lines.append(f"... and {len(found.rows) - SHOWN} more")
    return "\n".join([*lines, "", *_facts(found)])


def _cells(place: int, row: Row) -> tuple[str, ...]:
    took = f"{row.milliseconds:.4f}" if row.milliseconds is not None else row.error or "-"
    trial = row.trial
    return str(place), trial.name, f"{trial.bound:.0f}", f"{trial.predicted:.0f}", took


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip()


def _facts(found: JointResult) -> list[str]:
    sizes = ", ".join(f"{a}={n}" for a, n in found.sizes)
    lines = [
        f"{found.kernel}, {sizes}: {found.shapes} shapes, {found.scheduled} scheduled,"
        f" {found.pruned} pruned by their bound, {len(found.rows)} trials,"
        f" {len(found.known())} measured in {found.seconds:.0f} s ({found.stopped})."
    ]
    if not found.measured:
        return [*lines, "Nothing was measured: this is the simulator's ranking, in cycles."]
    rank = found.correlation()
    if rank is not None:
        lines.append(f"Rank correlation of predicted with measured: {rank:.2f}.")
    return lines


def to_svg(found: JointResult) -> str:
    """Measured milliseconds against predicted cycles, these scaled to the median trial's time."""
    times = [(r, r.milliseconds) for r in found.known() if r.milliseconds]
    scale = median(took / r.trial.predicted for r, took in times) if times else 0.0
    known = [(r, took, r.trial.predicted * scale) for r, took in times]
    if not known:
        return _frame('<text x="56" y="80">nothing was measured</text>', found)
    values = [v for _, took, said in known for v in (took, said)]
    low, high = min(values) * 0.98, max(values) * 1.02

    def x(value: float) -> float:
        return EDGE + (value - low) / (high - low) * (WIDE - 2 * EDGE)

    def y(value: float) -> float:
        return HIGH - EDGE - (value - low) / (high - low) * (HIGH - 2 * EDGE)

    parts = [
        f'<path class="same" d="M{x(low):.1f} {y(low):.1f}L{x(high):.1f} {y(high):.1f}"/>',
        *(_tick(v, x(v), y(v)) for v in [low + (high - low) * i / 4 for i in range(5)]),
    ]
    for row, took, said in known:
        name = "best" if row is found.rows[0] else "trial"
        label = escape(f"{row.trial.name}: measured {took:.4f} ms, expected {said:.4f}")
        parts.append(
            f'<circle class="{name}" cx="{x(said):.1f}" cy="{y(took):.1f}" r="4">'
            f"<title>{label}</title></circle>"
        )
    return _frame("\n".join(parts), found)


def _tick(value: float, x: float, y: float) -> str:
    return (
        f'<text class="tick" x="{x:.1f}" y="{HIGH - EDGE + 18}">{value:.3g}</text>'
        f'<text class="tick side" x="{EDGE - 6}" y="{y + 4:.1f}">{value:.3g}</text>'
        f'<path class="grid" d="M{x:.1f} {EDGE}V{HIGH - EDGE}M{EDGE} {y:.1f}H{WIDE - EDGE}"/>'
    )


def _frame(inside: str, found: JointResult) -> str:
    rank = found.correlation()
    said = "" if rank is None else f", rank correlation {rank:.2f}"
    sizes = ", ".join(f"{a}={n}" for a, n in found.sizes)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img">
<style>
text {{ font: 13px sans-serif; fill: #222; }} .tick {{ font-size: 11px; text-anchor: middle; }}
.side {{ text-anchor: end; }} .grid {{ stroke: #ddd; fill: none; }} .same {{ stroke: #999; }}
.trial {{ fill: #3b6fb6; fill-opacity: .7; }} .best {{ fill: #c0392b; }}
</style>
<rect width="{WIDE}" height="{HIGH}" fill="#fff"/>
<text x="{EDGE}" y="24">{escape(found.kernel)} ({escape(sizes)}){said}</text>
<text x="{WIDE / 2:.0f}" y="{HIGH - 12}" text-anchor="middle">predicted, ms by
 the median trial</text>
<text transform="translate(14 {HIGH / 2:.0f}) rotate(-90)" text-anchor="middle">measured, ms</text>
{inside}
</svg>
"""
