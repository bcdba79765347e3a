"""Ring slots: a reader sees what it means, and nothing is written to a slot that is still read."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.errors import TooLargeError
from warploom.ir.mbarrier_dialect import Compute, Load, Mma, ProxyFence
from warploom.ir.rings import Part
from warploom.verify.agents import Agent, describe
from warploom.verify.findings import Code, Finding, Severity
from warploom.verify.roles.order import Order

MAX_PAIRS = 1_000_000
"""Pairs of accesses to slots that are compared for one run."""
SlotKey = tuple[str, str, int]  # ring, part, use


@dataclass(slots=True)
class _Use:
    """What happens to one part of a slot in one use: nodes, copies with their landing."""

    loads: list[tuple[int, int]] = field(default_factory=list)
    fills: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)


Uses = dict[SlotKey, _Use]


def check_slots(order: Order, uses: Uses) -> Iterator[Finding]:
    """RAW and WAR on every part of every slot."""
    fences = _next_fences(order) if any(u.fills for u in uses.values()) else {}
    none = _Use()
    before = {
        (ring, part, use): uses.get((ring, part, use - order.depth[ring]), none)
        for ring, part, use in uses
    }
    if sum(_pairs(use, before[key]) for key, use in uses.items()) > MAX_PAIRS:
        raise TooLargeError(
            "the schedule is too large to judge",
            why=f"more than {MAX_PAIRS} pairs of accesses meet in slots",
            fix="fewer entries that touch the same part of a slot",
        )
    for key, use in uses.items():
        for node in use.reads:
            yield from _raw(order, key, node, use, fences)
        older = before[key]
        for node in [*use.fills, *(issue for issue, _ in use.loads)]:
            yield from _war(order, node, older)


def _pairs(use: _Use, older: _Use) -> int:
    fills = len(use.loads) + len(use.fills)
    return fills * (len(use.reads) + len(older.reads) + len(older.loads) + len(older.fills))


def accesses(order: Order) -> Uses:
    """Who fills and who reads every part of every use, in the first CTA."""
    uses: dict[SlotKey, _Use] = defaultdict(_Use)
    meant = order.uses.meant
    for node, event in order.event.items():
        entry = event.entry
        if isinstance(entry, Load):
            use = meant(event, entry.ring)
            landing = order.laps[entry.ring, "full", use].over
            uses[entry.ring, entry.part, use].loads.append((node, landing))
        elif isinstance(entry, (Mma, Compute)):
            for slot in entry.slots:
                uses[slot.ring, slot.part, meant(event, slot.ring)].reads.append(node)
            for slot in entry.fills_slots if isinstance(entry, Compute) else ():
                uses[slot.ring, slot.part, meant(event, slot.ring)].fills.append(node)
    for (ring, _, use), lap in order.laps.items() if order.document.cluster > 1 else ():
        for node, _ in lap.landed:
            if node >= order.size:
                load = order.entry(node)
                assert isinstance(load, Load)
                uses[ring, load.part, use].loads.append((node, lap.over))
    return uses


def _next_fences(order: Order) -> dict[int, int]:
    """For every event, the first proxy fence of its agent after it."""
    result: dict[int, int] = {}
    for agent, events in order.programs.items():
        fence: int | None = None
        for i in range(len(events) - 1, -1, -1):
            node = order.nodes[agent][i]
            if fence is not None:
                result[node] = fence
            if isinstance(events[i].entry, ProxyFence):
                fence = node
    return result


def _raw(
    order: Order, key: SlotKey, node: int, use: _Use, fences: dict[int, int]
) -> Iterator[Finding]:
    event = order.told(node)
    if not use.loads and not use.fills:
        why = f"{describe(event.entry)} reads part {key[1]}, use {key[2]}, which nobody fills"
        yield order.finding(Code.TOKEN, why, "load every part of every use", node)
    for issue, landing in use.loads:
        if not order.before(landing, node):
            yield _finding(order, Code.RAW_SLOT, node, issue, "may read before the copy landed in")
    for fill in use.fills:
        late = order.done_before(fill, node)
        if late:
            what = "may read before it is written, in"
            yield _finding(order, Code.RAW_SLOT, node, fill, what, late)
        if late is not Severity.RACE and isinstance(event.entry, Mma):
            fence = fences.get(fill)
            late = Severity.RACE if fence is None else order.done_before(fence, node)
            if late:
                what = "reads ordinary writes without a fence, in"
                yield _finding(order, Code.PROXY, node, fill, what, late)


def _war(order: Order, node: int, older: _Use) -> Iterator[Finding]:
    for reader in older.reads:
        asynchronous = isinstance(order.entry(reader), Mma)
        over = order.retired.get(reader) if asynchronous else reader
        late = Severity.RACE if over is None else order.done_before(over, node)
        if late:
            what = "may overwrite what is still read in"
            yield _finding(order, Code.WAR_SLOT, node, reader, what, late)
    for _, landing in older.loads:
        if not order.before(landing, node):
            yield _finding(order, Code.WAR_SLOT, node, None, "two copies may overlap in")
    for fill in older.fills:
        own = order.told(fill).agent == order.told(node).agent  # each thread has a share of its own
        late = order.done_before(fill, node)
        if late and not (own and order.before(fill, node)):
            yield _finding(order, Code.WAR_SLOT, node, fill, "two fills may overlap in", late)


_FIXES = {
    Code.RAW_SLOT: "a WaitFull of this use in front of the reader",
    Code.WAR_SLOT: "WaitGroup until the readers retired, then Arrive; WaitEmpty before the fill",
    Code.PROXY: "ProxyFence by the writers, then ScopeSync, then Arrive on full",
}


def _finding(
    order: Order,
    code: Code,
    node: int,
    other: int | None,
    what: str,
    severity: Severity = Severity.RACE,
) -> Finding:
    event = order.told(node)
    ring = getattr(event.entry, "ring", None) or "its ring"
    where = [n for n in (other, node) if n is not None]
    why = f"{describe(event.entry)} {what} {ring}"
    return order.finding(code, why, _FIXES[code], *where, severity=severity)


def check_parts(order: Order, uses: Uses) -> Iterator[Finding]:
    """Every part of a slot that is used at all is filled exactly once a use, and whole."""
    parts = {r.name: r.parts for r in order.document.rings}
    touched: dict[tuple[str, int], set[str]] = defaultdict(set)
    for (ring, name, number), use in uses.items():
        if use.loads or use.fills:
            touched[ring, number].add(name)
    for (ring, number), filled in touched.items():
        for part in parts[ring]:
            use = uses.get((ring, part.name, number), _Use())
            whole = part.name in filled
            why = _misfilled(order, part, use) if whole else "nothing is loaded"
            if why:
                nodes = [n for n, _ in use.loads] + use.fills
                what = f"part {part.name} of ring {ring} has {part.bytes} bytes; for use {number}"
                fix = "fill every part of the slot exactly once a use"
                yield order.finding(Code.TOKEN, f"{what} {why}", fix, *nodes[:2])


def _misfilled(order: Order, part: Part, use: _Use) -> str:
    """What is wrong with how a part is filled, if anything."""
    if use.loads and use.fills:
        return "both a copy and ordinary instructions write it"
    return _misloaded(order, part, use) if use.loads else _miswritten(order, use)


def _misloaded(order: Order, part: Part, use: _Use) -> str:
    entries = [e for e in (order.entry(n) for n, _ in use.loads) if isinstance(e, Load)]
    sizes = {e.bytes * e.multicast for e in entries}
    if sizes != {part.bytes}:
        return f"copies of {min(sizes)} bytes land at its start"
    shares = {e.multicast for e in entries}
    if shares != {len(entries)} or len({n // order.size for n, _ in use.loads}) != len(entries):
        return f"{len(entries)} copies land in the same place"
    return ""


def _miswritten(order: Order, use: _Use) -> str:
    agents: set[Agent] = {order.told(n).agent for n in use.fills}
    roles = {a.role for a in agents}
    if len(roles) > 1:
        return "two roles write it"
    role = order.document.program(min(roles))
    some = len(agents) != (1 if role.alternates else role.instances)
    return "some instance of its role writes no share" if some else ""
