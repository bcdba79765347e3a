"""Barrier phases: no wait can mean another phase, every phase completes, and nothing deadlocks."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import (
    Arrive,
    Expect,
    Load,
    NamedArrive,
    NamedSync,
    WaitEmpty,
    WaitFull,
)
from warploom.verify.roles.finding import Code, Place, RoleFinding
from warploom.verify.roles.order import BarrierKey, Order, Phase, waited
from warploom.verify.roles.unroll import Agent, Event, describe


def check_phases(order: Order) -> Iterator[RoleFinding]:
    """Each entry's own slot and parity are those of the use it means."""
    for event in order.event.values():
        entry = event.entry
        if not isinstance(entry, WaitFull | WaitEmpty | Expect | Load | Arrive):
            continue
        depth = order.document.ring(entry.ring).depth
        meant = order.uses.meant(event, entry.ring)
        computed = order.uses.computed(event, entry.ring)
        if meant % depth != computed % depth:
            yield _phase_finding(order, event, "slot", computed % depth, meant % depth)
        if isinstance(entry, WaitFull | WaitEmpty):
            right = (meant // depth + (1 if isinstance(entry, WaitEmpty) else 0)) % 2
            parity = (computed // depth + entry.parity) % 2
            if parity != right:
                yield _phase_finding(order, event, "parity", parity, right)


def _phase_finding(order: Order, event: Event, what: str, found: int, right: int) -> RoleFinding:
    program = order.document.program(event.agent.role)
    fix = (
        "WaitFull takes parity 0, WaitEmpty parity 1"
        if program.carries_phase
        else "carry slot and phase from tile to tile (carries_phase)"
    )
    return RoleFinding(
        code=Code.PHASE,
        why=f"{describe(event.entry)} uses {what} {found} where {right} is meant",
        fix=fix,
        where=(event.place(),),
        tiles=order.tiles,
    )


def check_counts(order: Order) -> Iterator[RoleFinding]:
    """Arrivals and bytes of every phase are what the barrier waits for."""
    for key, phase in order.phases.items():
        ring = order.document.ring(key[1])
        count = sum(n for _, n in phase.arrivals)
        needed = ring.full_arrivals if key[2] == "full" else ring.empty_arrivals
        if count != needed:
            yield _arrivals(order, key, phase, count, needed)
        landed = sum(n for _, n in phase.landed)
        if landed != phase.expected:
            yield RoleFinding(
                code=Code.BYTES,
                why=f"{_name(key)} expects {phase.expected} bytes and {landed} land on it: "
                + ("it never completes" if landed < phase.expected else "it completes too early"),
                fix="Expect.bytes = all bytes that land in this CTA's slot, multicast included",
                where=_places(order, [*phase.arrivals, *phase.landed]),
                tiles=order.tiles,
            )
        yield from _parts(order, key, phase)


def _arrivals(order: Order, key: BarrierKey, phase: Phase, count: int, needed: int) -> RoleFinding:
    effect = "it never completes" if count < needed else "it completes before the last arrival"
    return RoleFinding(
        code=Code.ARRIVALS,
        why=f"{_name(key)} is initialised for {needed} arrivals and gets {count}: {effect}",
        fix="one arrival per scope, instance and CTA that uses the slot",
        where=_places(order, phase.arrivals),
        tiles=order.tiles,
    )


def _parts(order: Order, key: BarrierKey, phase: Phase) -> Iterator[RoleFinding]:
    if key[2] != "full" or not phase.landed:
        return
    owner = {landing: load for load, m in order.landed.items() for landing in m.values()}
    filled: dict[str, int] = {}
    for node, size in phase.landed:
        entry = order.event[owner[node]].entry
        assert isinstance(entry, Load)
        filled[entry.part] = filled.get(entry.part, 0) + size
    for part in order.document.ring(key[1]).parts:
        if filled.get(part.name, 0) != part.bytes:
            yield RoleFinding(
                code=Code.TOKEN,
                why=f"part {part.name} of ring {key[1]} has {part.bytes} bytes, "
                f"{filled.get(part.name, 0)} are loaded for use {key[3]}",
                fix="load every part of the slot exactly once a use",
                where=_places(order, phase.arrivals),
                tiles=order.tiles,
            )


def check_waits(order: Order) -> Iterator[RoleFinding]:
    """No wait can be passed by an older phase or lapped by a newer one; each has its phase."""
    for (agent, position), node in order.node.items():
        event = order.event[node]
        entry = event.entry
        if isinstance(entry, WaitFull | WaitEmpty):
            yield from _check_wait(order, agent, position, event, entry)


def _check_wait(
    order: Order, agent: Agent, position: int, event: Event, entry: WaitFull | WaitEmpty
) -> Iterator[RoleFinding]:
    key = waited(order, agent, event)
    if key is None:
        return
    depth = order.document.ring(entry.ring).depth
    if key not in order.completion:
        yield RoleFinding(
            code=Code.DEADLOCK,
            why=f"{describe(entry)} waits for a phase that nobody completes",
            fix="load or release every use of the ring",
            where=(event.place(),),
            tiles=order.tiles,
        )
        return
    node = order.node[agent, position]
    older = order.completion.get((*key[:3], key[3] - depth))
    start = order.previous(agent, position)
    if older is not None and (start is None or not order.before(older, start)):
        yield _lapped(order, event, "may pass on the phase two back, which has the same parity")
    newer = order.completion.get((*key[:3], key[3] + depth))
    if newer is not None and not order.before(node, newer):
        yield _lapped(order, event, "may be lapped: the next phase can complete before it is seen")


def _lapped(order: Order, event: Event, why: str) -> RoleFinding:
    return RoleFinding(
        code=Code.LAPPED,
        why=f"{describe(event.entry)} {why}",
        fix="wait on every use, in order, and release only behind the wait",
        where=(event.place(),),
        tiles=order.tiles,
    )


def check_early_arrivals(order: Order) -> Iterator[RoleFinding]:
    """An arrival or a copy falls into its own phase: the one before has completed."""
    for key, phase in order.phases.items():
        depth = order.document.ring(key[1]).depth
        older = order.completion.get((*key[:3], key[3] - depth))
        if older is None:
            continue
        for node, _ in [*phase.arrivals, *phase.landed]:
            if not order.before(older, node):
                yield RoleFinding(
                    code=Code.LAPPED,
                    why=f"an arrival for {_name(key)} can fall into the phase before",
                    fix="let the wait for the slot stand in front of it",
                    where=_places(order, [(node, 0)]),
                    tiles=order.tiles,
                )


def check_deadlock(order: Order) -> Iterator[RoleFinding]:
    """The waits do not wait for one another in a circle."""
    stuck = [order.event[v] for v in order.blocked if v in order.event]
    waits = [e for e in stuck if isinstance(e.entry, WaitFull | WaitEmpty | NamedSync)]
    if order.blocked:
        first: dict[Agent, Event] = {}
        for event in waits:
            first.setdefault(event.agent, event)
        yield RoleFinding(
            code=Code.DEADLOCK,
            why="these waits wait for one another",
            fix="more slots, or release a slot before waiting for the next",
            where=tuple(e.place() for e in first.values()),
            tiles=order.tiles,
        )


def check_named(order: Order) -> Iterator[RoleFinding]:
    """Every generation of a named barrier gets its threads, each agent once.

    Arrivals behind the last generation that anyone waits for wake nobody and harm nobody.
    """
    threads = {b.name: b.threads for b in order.document.barriers}
    for (cta, name, turn, generation), nodes in order.generations.items():
        last = (cta, name, turn, generation + 1) not in order.generations
        if last and all(isinstance(order.event[n].entry, NamedArrive) for n in nodes):
            continue
        if name == "cluster":
            total = len(order.programs)
            found, needed = len(nodes), total
        else:
            found = sum(_whole_warps(order.event[n].agent.threads) for n in nodes)
            needed = threads[name]
        if found != needed:
            yield RoleFinding(
                code=Code.BARRIER,
                why=f"generation {generation} of barrier {name}[{turn}] gets {found} of {needed}",
                fix="the same number of arrivals by every participant",
                where=_places(order, [(n, 0) for n in nodes]),
                tiles=order.tiles,
            )
    yield from _early_named(order)


def _early_named(order: Order) -> Iterator[RoleFinding]:
    for (cta, name, turn, generation), nodes in order.generations.items():
        older = order.generations.get((cta, name, turn, generation - 1))
        for node in nodes if older else ():
            entry = order.event[node].entry
            if not isinstance(entry, NamedArrive):
                continue
            syncs = [n for n in older or () if not isinstance(order.event[n].entry, NamedArrive)]
            if not any(order.before(s, node) for s in syncs):
                yield RoleFinding(
                    code=Code.BARRIER,
                    why=f"an arrival on {name}[{turn}] can fall into the generation before",
                    fix="wait for the other side before arriving again",
                    where=_places(order, [(node, 0)]),
                    tiles=order.tiles,
                )


def _whole_warps(threads: int) -> int:
    return -(-threads // 32) * 32


def _name(key: BarrierKey) -> str:
    return f"{key[2]}[{key[1]}] use {key[3]}"


def _places(order: Order, nodes: list[tuple[int, int]]) -> tuple[Place, ...]:
    owner = {landing: load for load, m in order.landed.items() for landing in m.values()}
    events = [order.event[owner.get(n, n)] for n, _ in nodes[:4]]
    return tuple(e.place() for e in events)
