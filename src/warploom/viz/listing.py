"""A schedule as text, of either dialect: sections of lines, each with its reason, and a legend.

A counter schedule has a section for every block of its three phases, a role document one for every
list of every role. What brackets, offsets and marks mean stands in the legend below the listing.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.mbarrier_dialect import RoleEntry, RolesDocument
from warploom.ir.rings import Per
from warploom.ir.schedule_ops import Phase, ScheduleEntry, ScheduleOps
from warploom.pipeline.listing import split_blocks

Reasons = Mapping[tuple[str, int], str]
Paint = Callable[[str, str], str]
NOTE_COLUMN = 36
WAITS = ("WaitFull", "WaitEmpty", "WaitGroup", "BulkWait")
MEETINGS = ("NamedSync", "NamedArrive", "ScopeSync", "ClusterSync")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry: where it stands, its label, what kind of op it is, and why it is there."""

    index: int
    label: str
    kind: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines under a title; ``level`` 0 opens a list of entries, 1 a block of one."""

    title: str
    level: int
    lines: tuple[Line, ...] = ()


def sections(
    document: ScheduleDocument | RolesDocument, reasons: Reasons | None = None
) -> list[Section]:
    """The whole document, in the order it runs."""
    notes = reasons or {}
    if isinstance(document, RolesDocument):
        return _role_sections(document, notes)
    result: list[Section] = []
    for phase in Phase:
        entries, name = document.phase(phase), phase.name.lower()
        blocks = split_blocks(entries)
        result.append(
            Section(title=f"{name} ({len(entries)} entries, {len(blocks)} blocks)", level=0)
        )
        for number, (start, end) in enumerate(blocks):
            lines = tuple(
                Line(
                    index=i,
                    label=entry_label(entries[i]),
                    kind=entry_kind(entries[i]),
                    note=notes.get((name, i), ""),
                )
                for i in range(start, end)
            )
            result.append(Section(title=f"block {number}", level=1, lines=lines))
    return result


def _role_sections(document: RolesDocument, notes: Reasons) -> list[Section]:
    result = []
    for program in document.programs:
        many = f"{program.instances} x " if program.instances > 1 else ""
        threads = f"{program.threads} threads" if program.threads > 1 else "one thread"
        threads += ", tiles in turn" if program.alternates else ""
        result.append(Section(title=f"{program.name}: {many}{threads}", level=0))
        for phase, entries in program.phases():
            if not entries:
                continue
            lines = tuple(
                Line(
                    index=i,
                    label=entry_label(entry, document),
                    kind=entry_kind(entry),
                    note=notes.get((f"{program.name}.{phase}", i), entry.reason),
                )
                for i, entry in enumerate(entries)
            )
            result.append(Section(title=f"{phase} ({len(entries)} entries)", level=1, lines=lines))
    return result


def entry_label(entry: Any, document: RolesDocument | None = None) -> str:  # noqa: ANN401
    """An entry of either dialect in a few characters."""
    if isinstance(entry, ScheduleEntry):
        return f"{entry.op.label()}{' *' if entry.is_prefetch else ''}"
    return _role_label(entry, document)


def _role_label(entry: RoleEntry, document: RolesDocument | None) -> str:  # noqa: PLR0911
    match entry:
        case roles.WaitFull() | roles.WaitEmpty() | roles.Arrive():
            return f"{type(entry).__name__}({entry.ring}{_turn(entry, document)})"
        case roles.Expect():
            return f"Expect({entry.ring}{_turn(entry, document)}, {entry.bytes} B)"
        case roles.Load():
            cast = f" x{entry.multicast}" if entry.multicast > 1 else ""
            return f"{entry.op} > {entry.ring}.{entry.part}{_turn(entry, document)}{cast}"
        case roles.Mma():
            read = ", ".join((*(f"{s.ring}.{s.part}" for s in entry.slots), *entry.registers))
            sign = "+=" if entry.accumulate else "="
            return f"{entry.op}: {entry.accumulator} {sign} {read}{_turn(entry, document)}"
        case roles.Compute():
            out = ", ".join((*entry.writes, *(f"{f.buffer}{f.copy}" for f in entry.fills)))
            return f"{entry.op}{' > ' + out if out else ''}{_turn(entry, document)}"
        case roles.BulkStore():
            return f"{entry.op} < {entry.source.buffer}{entry.source.copy}"
        case roles.NamedSync() | roles.NamedArrive():
            who = "" if entry.instance is None else f" by {entry.instance}"
            turn = f" +{entry.turn}" if entry.turn else ""
            return f"{type(entry).__name__}({entry.barrier}{turn}){who}"
        case _ if hasattr(entry, "pending"):
            return f"{type(entry).__name__}({entry.pending})"
        case _:
            return type(entry).__name__


def _turn(entry: Any, document: RolesDocument | None) -> str:  # noqa: ANN401 (has a k)
    ring = getattr(entry, "ring", "")
    if document is not None and ring and document.ring(ring).per is Per.TILE:
        return ""
    return f" k{entry.k:+d}" if entry.k else " k"


def entry_kind(entry: Any) -> str:  # noqa: ANN401 (an entry of either dialect)
    """What kind of op an entry is, in the words of the palette, or wait, barrier, fence."""
    if isinstance(entry, ScheduleEntry):
        tag = entry.op.tag
        if tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
            return "wait"
        return "barrier" if tag == ScheduleOps.BARRIER else entry.op.role.name
    name = type(entry).__name__
    known = {
        "Load": "GLOBAL_LOAD",
        "Mma": "COMPUTE",
        "Compute": "VALU_COMPUTE",
        "BulkStore": "SHARED_STORE",
        "Arrive": "signal",
        "Expect": "signal",
    }
    if name in WAITS:
        return "wait"
    return "barrier" if name in MEETINGS else known.get(name, "fence")


def listing_text(
    parts: Sequence[Section], *, width: int = 120, details: bool = False, paint: Paint | None = None
) -> str:
    """The sections as text of at most ``width`` columns; notes beside entries, or below them."""
    colour = paint or (lambda text, kind: text)
    lines: list[str] = []
    for part in parts:
        if part.level == 0:
            lines += ["", colour(part.title, "title")]
            continue
        lines.append(f"  {part.title}")
        for line in part.lines:
            lines += _line(line, width, details, colour)
    return "\n".join(lines[1:] if lines and not lines[0] else lines)


def _line(line: Line, width: int, details: bool, colour: Paint) -> list[str]:
    head = f"    {line.index:3}  {line.label}"
    note = line.note if details else short_note(line.note)
    # The number keeps its colour: only the label says what the entry is.
    shown = head[:9] + colour(head[9:], line.kind)
    if not note:
        return [shown]
    beside = width >= 2 * NOTE_COLUMN + 20 and len(head) < NOTE_COLUMN
    column = NOTE_COLUMN if beside else 9
    wrapped = textwrap.wrap(note, max(20, width - column - 2)) or [""]
    rows = [" " * column + colour(f"; {w}", "note") for w in wrapped]
    if beside:
        rows[0] = shown + " " * (NOTE_COLUMN - len(head)) + colour(f"; {wrapped[0]}", "note")
        return rows
    return [shown, *rows]


def short_note(note: str) -> str:
    """The first clause of a reason, without the place it repeats."""
    head, colon, rest = note.partition(": ")
    body = rest if colon and "[" in head and head[0].isupper() and len(head) < 24 else note
    return body.partition("; ")[0]


def legend(document: ScheduleDocument | RolesDocument) -> list[str]:
    """What the marks of a listing mean; only those of the document's dialect."""
    if isinstance(document, RolesDocument):
        return [
            "name > ring.part k+1   a copy into the slot of iteration k+1; k is the running one",
            "name: acc += a, b      matrix products of a and b into acc, asynchronous",
            "WaitFull, WaitEmpty    until a slot's copies landed; until all readers left it",
            "Expect, Arrive         announce a slot's bytes; a reader leaves the slot",
            "Commit, WaitGroup(n)   close a group of products; until at most n are unfinished",
            "NamedSync, NamedArrive roles take turns at a hardware barrier",
        ]
    return [
        "LOAD[s,t]     global load into buffer stage s, sub-tile t; MMA[r,c] row r, column c",
        "K0 K1 K_NEXT  the K-tile a load fetches: 0, 1, 2 tiles from the loop variable;",
        "K_PREV        the tile before it, whose last part was left for this iteration",
        "*             fetched ahead of its use in a later part of the schedule (prefetch)",
        "WAIT_VM(n)    until at most n counter units of global loads are in flight",
        "WAIT_LGKM(n)  the same for LDS reads; one load counts several units",
        "BARRIER       all waves of the workgroup meet; SCHEDULE_BARRIER only holds the compiler",
    ]
