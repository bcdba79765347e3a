"""What stands after a turn is given stays there: the assembler would move it between products."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.codegen.cuda.tile.ptxas_fences import drawn_after
from warploom.compiler.compiled import Compiled
from warploom.compiler.emit_cuda import emit_kernel
from warploom.frontend.pointwise import rounded
from warploom.ir.mbarrier_dialect import (
    Commit,
    Compute,
    Mma,
    NamedArrive,
    NamedSync,
    RoleEntry,
    WaitGroup,
)
from warploom.ir.tile import DType
from warploom.kernels.attention import attention
from warploom.passes.driver import Lowered
from warploom.targets.h200 import h200

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


def _made() -> Compiled:
    sizes = {"d": 128}  # of all sizes together the measured order would be taken
    return attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})


def _waiting(made: Compiled) -> Lowered:
    """Attention over 80 keys an iteration, in the order of WAITS."""
    shipped = made.choices[0].config
    extents = tuple((n, 80 if n == "t" else e) for n, e in shipped.tile)
    return made.lower(replace(shipped, tile=extents, schedule=WAITS, full_wait_after=0, cluster=1))


def test_only_programs_whose_steps_can_be_drawn_read_the_clock() -> None:
    made = _made()
    text = emit_kernel(_waiting(made), h200()).text
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index("turn_given(instance);")
    assert lines[at - 1].startswith("named_arrive(")
    assert lines[at + 1].startswith("make_v13_here(")
    assert "turn_given" not in emit_kernel(made.lower(made.choices[0].config), h200()).text


@NEEDS_COMPILER
def test_consumers_that_read_the_clock_between_their_turns_compute_attention() -> None:
    made, rng = _made(), np.random.default_rng(0)
    lowered = _waiting(made)
    sizes = {"b": 1, "h": 1, "g": 1, "s": 150, "t": 330, "d": 128}
    rows = {"q": 150, "k": 330, "v": 330}
    given = {n: rounded(rng.normal(size=(1, 1, r, 128)), DType.BF16) for n, r in rows.items()}
    case = SimpleNamespace(sizes=sizes, scalars={"scale": 0.1}, arrays=given.values)
    source = emit_kernel(lowered, h200())
    (found,), fault = run_case(case, made.rewritten, source, lowered.config, grid=1)
    assert fault is None
    (right,) = made.rewritten.reference(*given.values(), scale=0.1)
    assert np.linalg.norm(found - right) < 0.01 * np.linalg.norm(right)
