"""What ops were declared to compute (``Flow``), and how CTAs meet in memory (``Exchange``).

A schedule's entries say when an op runs and which registers, slots and copies it touches. The flow
says which *values* it must find there: a verifier walks the entries and compares. Values are named;
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
name and sub-tile, and in a grid of products by the row, too (``args``: sub-tile, row). Those of
role ``setup`` and ``store`` stand before the first entry and after the last. There ``channel.part``
is a part of an LDS slot, ``channel:index`` a fragment register.

``parts``: several CTAs each run a part of a tile's loop; the last one to come takes what the others
left and ends the tile. ``turns``: tiles add to the same rows of memory one after the other, so that
sums do not depend on timing; a turn is the rows one iteration adds to. ``near``: the parts are a
cluster; one of them, the ``owner``, has an inbox into which every ``sender`` writes, and barriers
count what came (``full``) and that it was read (``free``, awaited for the tile before).

Steps are done in the order listed, each ``by`` those it names: the threads of an instance as part
of a tile (``all``, and after the draw ``others`` or ``last``), or the ``consumer``, and beside it
the ``usher``, the acquire warp that opens turns, and the ``clerk``, the release warp that passes
them on. One thread of an instance draws,
publishes, awaits and clears; all of its threads write, add and read.

Flags count. A ``publish`` adds one to its flag, and what its thread knows is known to whoever
awaits that flag, as far as both ``reach``. An ``await`` stands until all are there who come before:
the other parts, the tiles whose turn is before, the warps of its CTA. ``less`` of them are not
waited for (or not read); ``at`` is how far from its own the part or turn lies.
"""

from collections.abc import Mapping
from enum import StrEnum

from warploom.dataclass import dataclass


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

    @property
    def key(self) -> tuple[str, int, int]:
        """What an op of a counter schedule is found by."""
        subtile, row = (*self.args, 0, 0)[:2]
        return self.name, subtile, row


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
Key = tuple[str, int, int]  # tag name and sub-tile of an op of a counter schedule; its grid row


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
    # A load into registers belongs to the slot that the store of its value fills.
    filled = {
        o.value: home[r]
        for op in flow.ops
        for r in op.results
        if "." in home[r]
        for o in op.operands
    }
    result = {}
    for op in flow.ops:
        taken = [home[o.value] for o in op.operands]
        slots = [p for p in (*taken, *(home[r] for r in op.results)) if "." in p]
        slots += [filled[r] for r in op.results if not slots and r in filled]
        fragments = (p.split(":") for p in taken if ":" in p)
        result[op.key] = Touch(
            int(slots[0].partition(".")[2]) if slots else 0,
            tuple((int(channel), int(index)) for channel, index in fragments),
        )
    return result


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
    ACQUIRE_WARP = "usher"
    RELEASE_WARP = "clerk"
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
