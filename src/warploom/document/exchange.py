"""``Exchange``: how CTAs meet in global memory at one op, step by step.

``parts``: several CTAs each run a part of a tile's loop; the last one to come takes what the others
left and ends the tile. ``turns``: tiles add to the same rows of memory one after the other, so that
sums do not depend on timing; a turn is the rows one iteration adds to. ``near``: the parts are a
cluster; one of them, the ``owner``, has an inbox into which every ``sender`` writes, and barriers
count what came (``full``) and that it was read (``free``, awaited for the tile before).

Steps are done in the order listed, each ``by`` those it names: the threads of an instance as part
of a tile (``all``, and after the draw ``others`` or ``last``), or the ``consumer``, and beside it
the ``usher`` who opens turns and the ``clerk`` who gives them on. One thread of an instance draws,
publishes, awaits and clears; all of its threads write, add and read.

Flags count. A ``publish`` adds one to its flag, and what its thread knows is known to whoever
awaits that flag, as far as both ``reach``. An ``await`` stands until all are there who come before:
the other parts, the tiles whose turn is before, the warps of its CTA. ``less`` of them are not
waited for (or not read); ``at`` is how far from its own the part or turn lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from warploom.document.flow import Across


class Does(StrEnum):
    """What a step does: ``draw`` counts a part at its tile, and the threads meet to hear whether it
    was the last; ``clear`` sets the counts of the tile to 0 for the next launch.
    """

    DRAW = "draw"
    WRITE = "write"
    SYNC = "sync"
    PUBLISH = "publish"
    AWAIT = "await"
    CLEAR = "clear"
    READ = "read"
    ADD = "add"


class Who(StrEnum):
    """Who does a step."""

    ALL = "all"
    OTHERS = "others"
    LAST = "last"
    CONSUMER = "consumer"
    USHER = "usher"
    CLERK = "clerk"
    SENDER = "sender"
    OWNER = "owner"


class Counted(StrEnum):
    """What a flag counts: parts that have ``left`` their sums, tiles whose ``turn`` is over (both
    in global memory); of a CTA turns that are ``open``, that a warp is ``done`` with, and that
    were ``given`` on. These are barriers, in a ring of so many turns as there are slots: what was
    given is awaited for the turn before in the same slot.
    """

    NOTHING = ""
    LEFT = "left"
    TURN = "turn"
    OPEN = "open"
    DONE = "done"
    GIVEN = "given"
    FULL = "full"
    FREE = "free"


class Reach(StrEnum):
    """Who learns what was done before a count, or how far one sees after it."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"


class Rows(StrEnum):
    """An order of the tiles of a unit, by their rows."""

    DOWN = "last row first"
    UP = "first row first"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeStep:
    """One step; ``flag``, ``reach``, ``less`` and ``at`` as the module says."""

    does: Does
    by: Who
    flag: Counted = Counted.NOTHING
    reach: Reach = Reach.CTA
    less: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """How CTAs meet at an op of a role.

    ``parts`` of a tile are run by CTAs in the order of the tiles, any number at a time; ``kept``:
    the last part reads its own sums in registers, not in memory. Tiles that take turns take them in
    the order ``turns`` of their rows and are begun in the order ``visits``; a CTA has barriers for
    so many turns as ``slots``.
    """

    role: str
    op: str
    across: Across
    steps: tuple[ExchangeStep, ...]
    parts: int = 1
    kept: bool = False
    turns: Rows = Rows.DOWN
    visits: Rows = Rows.DOWN
    slots: int = 1
