"""Ring slots: a reader sees the copy it means, and no copy lands in a slot that is still read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from warploom.document.roles import Arrive, Compute, Load, Mma, Scope
from warploom.verify.roles.finding import Code, RoleFinding, Severity
from warploom.verify.roles.order import Order
from warploom.verify.roles.unroll import Event, describe

SlotKey = tuple[int, str, str, int]  # cta, ring, part, use
Loads = dict[SlotKey, list[tuple[int, int]]]  # (issue, landing)
Reads = dict[SlotKey, list[int]]


def check_slots(order: Order) -> Iterator[RoleFinding]:
    """RAW and WAR on every part of every slot."""
    loads, reads = _accesses(order)
    for key, nodes in reads.items():
        for node in nodes:
            yield from _raw(order, key, node, loads.get(key, []))
    for key, issued in loads.items():
        depth = order.document.ring(key[1]).depth
        older = (*key[:3], key[3] - depth)
        for issue, _ in issued:
            yield from _war(order, issue, reads.get(older, []))
            for _, landing in loads.get(older, []):
                if not order.before(landing, issue):
                    yield _finding(order, Code.WAR_SLOT, issue, None, "two copies may overlap in")


def _accesses(order: Order) -> tuple[Loads, Reads]:
    loads: Loads = defaultdict(list)
    reads: Reads = defaultdict(list)
    for node, event in order.event.items():
        entry = event.entry
        if isinstance(entry, Load):
            use = order.uses.meant(event, entry.ring)
            for cta, landing in order.landed[node].items():
                loads[cta, entry.ring, entry.part, use].append((node, landing))
        elif isinstance(entry, Mma | Compute):
            for slot in entry.slots:
                use = order.uses.meant(event, slot.ring)
                reads[event.agent.cta, slot.ring, slot.part, use].append(node)
    return loads, reads


def _raw(
    order: Order, key: SlotKey, node: int, loads: list[tuple[int, int]]
) -> Iterator[RoleFinding]:
    event = order.event[node]
    if not loads:
        yield RoleFinding(
            code=Code.TOKEN,
            why=f"{describe(event.entry)} reads part {key[2]}, use {key[3]}, which nobody loads",
            fix="load every part of every use",
            where=(event.place(),),
            tiles=order.tiles,
        )
    for issue, landing in loads:
        if not order.before(landing, node):
            yield _finding(order, Code.RAW_SLOT, node, issue, "may read before the copy landed in")


def _war(order: Order, issue: int, readers: list[int]) -> Iterator[RoleFinding]:
    for node in readers:
        asynchronous = isinstance(order.event[node].entry, Mma)
        over = order.retired.get(node) if asynchronous else node
        if over is None or not order.before(over, issue):
            yield _finding(order, Code.WAR_SLOT, issue, node, "may overwrite what is still read in")


def _finding(order: Order, code: Code, node: int, other: int | None, what: str) -> RoleFinding:
    event = order.event[node]
    ring = getattr(event.entry, "ring", None) or "its ring"
    places = [order.event[n].place() for n in (other, node) if n is not None]
    fix = (
        "a WaitFull of this use in front of the reader"
        if code is Code.RAW_SLOT
        else "WaitGroup until the readers retired, then Arrive; WaitEmpty in front of the Load"
    )
    return RoleFinding(
        code=code,
        why=f"{describe(event.entry)} {what} {ring}",
        fix=fix,
        where=tuple(places),
        tiles=order.tiles,
    )


def check_scopes(order: Order) -> Iterator[RoleFinding]:
    """One arrival speaks only for the warp that makes it."""
    seen: set[tuple[str, str, int]] = set()
    for event in order.event.values():
        entry = event.entry
        if not isinstance(entry, Arrive) or entry.scope is Scope.WARP:
            continue
        key = (event.agent.role, event.phase, event.index)
        if event.agent.threads > 32 and key not in seen:
            seen.add(key)
            yield _scope_finding(order, event, entry)


def _scope_finding(order: Order, event: Event, entry: Arrive) -> RoleFinding:
    return RoleFinding(
        code=Code.SCOPE,
        severity=Severity.TIMING,
        why=f"{describe(entry)}: one thread arrives for {event.agent.threads}; the groups of the "
        "other warps are assumed to retire with its own",
        fix="scope warp: one arrival of every warp",
        where=(event.place(),),
        tiles=order.tiles,
    )
