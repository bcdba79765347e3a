"""What stands after a turn is given stays there: the assembler would move it between products."""

from __future__ import annotations

from dataclasses import replace

from warploom.document.roles import (
    Commit,
    Compute,
    Mma,
    NamedArrive,
    NamedSync,
    RoleEntry,
    WaitGroup,
)
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.emit.cuda.tile.ties import drawn_after
from warploom.kernels.attention import attention
from warploom.target.h200 import h200

QK = Mma(op="qk", slots=(), accumulator="s")
PV = Mma(op="pv", slots=(), accumulator="o", registers=("p",))
MAX = Compute(op="max", reads=("s",), writes=("s",))
GIVEN = NamedArrive(barrier="turn", turn=1)


def _drawn(*entries: RoleEntry) -> bool:
    return drawn_after(entries, entries.index(GIVEN))


def test_a_step_can_be_drawn_between_products_if_what_it_reads_is_there() -> None:
    assert _drawn(QK, Commit(), WaitGroup(pending=0), PV, Commit(), GIVEN, MAX)
    assert _drawn(
        QK, Commit(), WaitGroup(pending=0), PV, Commit(), GIVEN, WaitGroup(pending=0), MAX
    )
    assert not _drawn(QK, Commit(), PV, Commit(), GIVEN, WaitGroup(pending=1), MAX)
    assert not _drawn(QK, Commit(), GIVEN, NamedSync(barrier="turn"), PV, Commit(), MAX)
    assert not _drawn(QK, Commit(), WaitGroup(pending=0), MAX, PV, Commit(), GIVEN)


# Interval and issue times for 80 keys: QK is waited for before PV, the maximum follows the turn.
WAITS = (1604, 0, 798, 1481, 778, 1929, 1226, 2314, 1611, 3165, 2462, 2976, 2273, 3468, 2765)


def test_only_programs_whose_steps_can_be_drawn_read_the_clock() -> None:
    sizes = {"b": 1, "h": 1, "g": 1, "s": 4096, "t": 4096, "d": 128}
    made = attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})
    shipped = made.choices[0].tiling
    extents = tuple((n, 80 if n == "t" else e) for n, e in shipped.extents)
    waits = replace(shipped, extents=extents, times=WAITS, tie=0)
    text = emit_kernel(made.lower(waits), h200()).text
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index("turn_given(instance);")
    assert lines[at - 1].startswith("named_arrive(")
    assert lines[at + 1].startswith("make_v13_here(")
    assert "turn_given" not in emit_kernel(made.lower(shipped), h200()).text
