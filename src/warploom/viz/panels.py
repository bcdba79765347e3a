"""Source, schedule and code beside each other: which line of one belongs to which of another.

The author's line of an entry comes from the document; the lines of code of an entry from the code
generator, which marks them when asked to. Nothing is matched by its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from warploom.dataclass import dataclass

NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of the author's file; ``key`` is how entries refer to it, as ``file.py:12``."""

    key: str
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLine:
    """An entry of the schedule: the list it stands in, its index there, the author's line."""

    list: str
    index: int
    label: str
    reason: str = ""
    op: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Generated code. ``owners``: of each line the entries it belongs to."""

    name: str
    lines: tuple[str, ...]
    owners: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """What a page shows below its timeline."""

    source: tuple[SourceLine, ...] = ()
    entries: tuple[EntryLine, ...] = ()
    codes: tuple[Code, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values; owners of successive lines are one row."""
        return {
            "source": [(s.key, s.number, s.text) for s in self.source],
            "entries": [(e.list, e.index, e.label, e.reason, e.op, e.source) for e in self.entries],
            "codes": [
                {"name": c.name, "lines": c.lines, "owners": _stretches(c.owners)}
                for c in self.codes
            ],
        }


def marked_code(
    name: str,
    text: str,
    mark: str,
    entries: Sequence[EntryLine],
    plain: str | None = None,
    loop: int = 0,
) -> Code:
    """Code whose comments ``mark`` + loop + owner say what the lines after them belong to.

    An owner is ``list index`` of an entry or ``op name``, empty for none; lines of another loop
    than ``loop`` have none. Where the code without marks is not ``plain``, marking changed it:
    then no line has an owner.
    """
    by_place = {f"{loop} {e.list} {e.index}": n for n, e in enumerate(entries)}
    by_op: dict[str, list[int]] = {}
    for n, e in enumerate(entries):
        by_op.setdefault(f"{loop} op {e.op}", []).append(n)
    lines: list[str] = []
    owners: list[tuple[int, ...]] = []
    owner: tuple[int, ...] = ()
    for line in text.splitlines():
        begins, found, said = line.partition(mark.rstrip())
        if found and not begins.strip():
            key = said.strip()
            owner = (by_place[key],) if key in by_place else tuple(by_op.get(key, ()))
            continue
        lines.append(line)
        owners.append(owner)
    if plain is not None and lines != plain.splitlines():
        lines = plain.splitlines()
        owners = [()] * len(lines)
    return Code(name=name, lines=tuple(lines), owners=tuple(owners))


def located_code(code: Code, name: str, lines: Sequence[str], origin: Mapping[int, int]) -> Code:
    """Code made from other ``code``: ``origin`` gives of a line (from 0) the line it comes from."""
    owners = tuple(
        code.owners[origin[n]] if n in origin and origin[n] < len(code.owners) else ()
        for n in range(len(lines))
    )
    return Code(name=name, lines=tuple(lines), owners=owners)


def _stretches(owners: Sequence[tuple[int, ...]]) -> list[tuple[int, int, tuple[int, ...]]]:
    out: list[tuple[int, int, tuple[int, ...]]] = []
    for n, owner in enumerate(owners):
        if not owner:
            continue
        if out and out[-1][1] == n and out[-1][2] == owner:
            out[-1] = (out[-1][0], n + 1, owner)
        else:
            out.append((n, n + 1, owner))
    return out
