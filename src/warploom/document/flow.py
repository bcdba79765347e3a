"""``Flow``: what the ops of a document were declared to compute, apart from any order.

A schedule's entries say when an op runs and which registers, slots and copies it touches. The flow
says which *values* it must find there: a judge walks the entries and compares. Values are named;
each is defined by one op, once an iteration (``loop``), once a tile before the loop (``head``) or
after it (``tail``). A value lives in its ``home``: a register array, or ``ring.part`` for a part of
a ring slot, or ``buffer#copy`` for a staging copy. Several values may share a home: an accumulator
that is rescaled in place and then added to is three values in one array.

Operand ``back`` = d of a loop op in iteration i is the value of iteration i - d. Where i - d lies
before the first iteration, ``before`` names the head's value it stands for (loop-carried values
start there); without one the operand is absent there: a product then starts from zero and must not
accumulate. An operand of a tail op with ``back`` = d is the value of the tile's iteration
n - 1 - d, the last one for 0.

An entry of a program runs the op of its role, ``op`` and ``args``. An op that several entries run
piece by piece (a result stored in four parts) is several ops with different ``args``.

In a counter schedule all waves run one program: entries run the ops of role ``wave``, found by tag
name and sub-tile; those of role ``setup`` and ``store`` stand before the first entry and after the
last. There ``channel.part`` is a part of an LDS slot, ``channel:index`` a fragment register.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class When(StrEnum):
    """How often an op runs."""

    HEAD = "head"
    LOOP = "loop"
    TAIL = "tail"


class Across(StrEnum):
    """At which ops CTAs meet: to put together the ``parts`` of a tile in global memory, or ``near``
    in the shared memory of their cluster, or to add in ``turns``. A document says how
    (``exchanges``).
    """

    NOTHING = ""
    PARTS = "parts"
    NEAR = "near"
    TURNS = "turns"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowOperand:
    """A value an op reads: of which iteration, and what stands for it before the first one.

    ``zero_first``: in the first iteration it is zero whatever was computed (a sum that starts from
    zero, rescaled), so a product may discard its accumulator there instead of reading it.
    """

    value: str
    back: int = 0
    before: str | None = None
    zero_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowOp:
    """One declared op: the role that runs it, what it reads, and the values it defines.

    ``stores``: it writes results to memory, so a program without it is wrong; ``adds``: it adds to
    what is there. ``across``: CTAs meet at it. ``line`` is the author's, as ``file.py:12``.
    """

    name: str
    role: str
    args: tuple[int, ...] = ()
    when: When = When.LOOP
    operands: tuple[FlowOperand, ...] = ()
    results: tuple[str, ...] = ()
    stores: bool = False
    adds: bool = False
    across: Across = Across.NOTHING
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where a value lives."""

    value: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """All declared ops, and the homes of their values."""

    ops: tuple[FlowOp, ...]
    homes: tuple[Home, ...]


WAVE, SETUP, STORE = "wave", "setup", "store"
Key = tuple[str, int]  # tag name and sub-tile of an op of a counter schedule


@dataclass(frozen=True, slots=True)
class Touch:
    """What an op of a counter schedule touches that arrives by itself: the part of an LDS slot it
    fills or reads, and the fragment registers ``(channel, index)`` it takes.
    """

    part: int
    takes: tuple[tuple[int, int], ...]


def touches(flow: Flow) -> Mapping[Key, Touch]:
    """By op of a counter schedule."""
    home = {h.value: h.place for h in flow.homes}
    found = {}
    for op in flow.ops:
        taken = [home[o.value] for o in op.operands]
        slots = [p for p in (*taken, *(home[r] for r in op.results)) if "." in p]
        fragments = (p.split(":") for p in taken if ":" in p)
        found[op.name, op.args[0] if op.args else 0] = Touch(
            int(slots[0].partition(".")[2]) if slots else 0,
            tuple((int(channel), int(index)) for channel, index in fragments),
        )
    return found
