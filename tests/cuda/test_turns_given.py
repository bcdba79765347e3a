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
TAKEN = NamedSync(barrier="turn")
GIVEN = NamedArrive(barrier="turn", turn=1)


def _drawn(*entries: RoleEntry) -> bool:
    return drawn_after(entries, entries.index(GIVEN))


def test_steps_that_read_what_a_turn_waited_for_can_be_drawn_into_it() -> None:
    done, later = WaitGroup(pending=0), WaitGroup(pending=1)
    assert _drawn(TAKEN, QK, Commit(), done, PV, Commit(), GIVEN, MAX)
    assert _drawn(TAKEN, QK, Commit(), done, PV, Commit(), GIVEN, done, MAX)
    assert not _drawn(TAKEN, QK, Commit(), PV, Commit(), GIVEN, later, MAX)
    assert not _drawn(TAKEN, QK, Commit(), GIVEN, TAKEN, PV, Commit(), MAX)
    assert not _drawn(TAKEN, QK, Commit(), done, MAX, PV, Commit(), GIVEN)
    assert not _drawn(QK, Commit(), done, TAKEN, PV, Commit(), GIVEN, MAX)


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
