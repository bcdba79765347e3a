"""Laps of barriers: no wait can mean another lap, every lap completes, and nothing deadlocks."""

from collections import defaultdict
from collections.abc import Iterator

from warploom.ir import mbarrier_dialect as roles
from warploom.ir.rings import SlotRead
from warploom.verify.agents import Agent, Event, describe
from warploom.verify.findings import Code, Finding, Severity
from warploom.verify.roles.order import CLUSTER, BarrierPhase, BarrierPhaseKey, Generation, Order

MAX_BYTES = (1 << 20) - 1  # what the transaction count of an mbarrier can hold
SHOWN = 4  # events of a finding
_Slot = tuple[str, str, int]  # ring, side, slot


def check_phases(order: Order) -> Iterator[Finding]:
    """Each entry's own slot and parity are those of the use it means.

    Where positions run on from tile to tile they are, but for wrong parities and uses before the
    first.
    """
    odd = {
        id(e)
        for p in order.document.programs
        for _, row in p.phases()
        for e in row
        if not p.carries_phase
        or (
            isinstance(e, roles.WaitFull | roles.WaitEmpty)
            and e.parity != isinstance(e, roles.WaitEmpty)
        )
    }
    every = (e for events in order.programs.values() for e in events)
    for event in [e for e in every if e.step < 0 or id(e.entry) in odd]:
        entry = event.entry
        if isinstance(
            entry, roles.WaitFull | roles.WaitEmpty | roles.Expect | roles.Load | roles.Arrive
        ):
            yield from _position(order, event, entry.ring)
        elif isinstance(entry, roles.Mma | roles.Compute) and (entry.slots or _fills(entry)):
            for ring in dict.fromkeys(s.ring for s in (*entry.slots, *_fills(entry))):
                yield from _position(order, event, ring)


def _fills(entry: roles.Mma | roles.Compute) -> tuple[SlotRead, ...]:
    return entry.fills_slots if isinstance(entry, roles.Compute) else ()


def _position(order: Order, event: Event, ring: str) -> Iterator[Finding]:
    depth = order.depth[ring]
    meant = order.uses.meant(event, ring)
    computed = order.uses.computed(event, ring)
    entry = event.entry
    if meant < 0 and not isinstance(entry, roles.WaitFull | roles.WaitEmpty):
        why = f"{describe(entry)} speaks of a use before the first: it acts on the slot's first"
        fix = "in a tile's prologue k counts from 0; release at the end of the tile before"
        yield order.finding(Code.PHASE, why, fix, event)
    if meant % depth != computed % depth:
        yield _phase_finding(order, event, "slot", computed % depth, meant % depth)
    if isinstance(entry, roles.WaitFull | roles.WaitEmpty):
        right = (meant // depth + (1 if isinstance(entry, roles.WaitEmpty) else 0)) % 2
        parity = (computed // depth + entry.parity) % 2
        if parity != right:
            yield _phase_finding(order, event, "parity", parity, right)


def _phase_finding(order: Order, event: Event, what: str, found: int, right: int) -> Finding:
    program = order.document.program(event.agent.role)
    fix = (
        "WaitFull takes parity 0, WaitEmpty parity 1"
        if program.carries_phase
        else "carry slot and phase bit from tile to tile (carries_phase)"
    )
    why = f"{describe(event.entry)} uses {what} {found} where {right} is meant"
    return order.finding(Code.PHASE, why, fix, event)


def check_counts(order: Order) -> Iterator[Finding]:
    """Arrivals and bytes of every lap are what the barrier waits for.

    A barrier that nobody waits for any more may count what it likes.
    """
    last = _last_waits(order)
    rings = {r.name: r for r in order.document.rings}
    for key, lap in order.laps.items():
        ring = rings[key[0]]
        if key[1] == "empty" and key[2] > last.get(_slot(order, key), -1):
            continue
        count = sum(n for _, n in lap.arrivals)
        needed = ring.full_arrivals if key[1] == "full" else ring.empty_arrivals
        if count != needed:
            yield _arrivals(order, key, lap, count, needed)
        landed = sum(n for _, n in lap.landed)
        if landed != lap.expected or max(landed, lap.expected) > MAX_BYTES:
            yield _bytes(order, key, lap, landed)
    yield from _skipped(order, last)


def _slot(order: Order, key: BarrierPhaseKey) -> _Slot:
    return key[0], key[1], key[2] % order.depth[key[0]]


def _last_waits(order: Order, *, credit: bool = False) -> dict[_Slot, int]:
    """The last use of every slot's barrier that anyone waits for; perhaps its initial credit."""
    last: dict[_Slot, int] = {}
    for key in order.waits:
        if key[2] >= 0 or credit:
            slot = _slot(order, key)
            last[slot] = max(last.get(slot, key[2]), key[2])
    return last


def _skipped(order: Order, last: dict[_Slot, int]) -> Iterator[Finding]:
    """A use that nobody fills (or releases) leaves all later laps of its barrier one behind."""
    present: dict[_Slot, set[int]] = defaultdict(set)
    for key in order.laps:
        present[_slot(order, key)].add(key[2])
    for slot, final in last.items():
        for use in range(slot[2], final, order.depth[slot[0]]):
            if use not in present[slot]:
                what = "filled" if slot[1] == "full" else "released"
                yield order.finding(
                    Code.PHASE,
                    f"use {use} of ring {slot[0]} is never {what}: the laps of its "
                    f"{slot[1]} barrier slip, and later waits mean other uses",
                    f"every use of the ring is {what}, at the end of a tile too",
                    *order.waits[(*slot[:2], final)][:1],
                )
                break


def _arrivals(
    order: Order, key: BarrierPhaseKey, lap: BarrierPhase, count: int, needed: int
) -> Finding:
    effect = "it never completes" if count < needed else "it completes before the last arrival"
    why = f"{name_of(key)} is initialised for {needed} arrivals and gets {count}: {effect}"
    fix = "one arrival per scope, instance and CTA that uses the slot"
    where = [n for n, _ in lap.arrivals] or order.waits[key][:1]
    return order.finding(Code.ARRIVALS, why, fix, *where[:SHOWN])


def _bytes(order: Order, key: BarrierPhaseKey, lap: BarrierPhase, landed: int) -> Finding:
    if landed == lap.expected:
        why = f"{landed} bytes are more than an mbarrier can count ({MAX_BYTES})"
        fix = "a smaller slot"
    else:
        early = "it never completes" if landed < lap.expected else "it completes too early"
        why = f"{name_of(key)} expects {lap.expected} bytes and {landed} land on it: {early}"
        fix = "Expect.bytes = all bytes that land in this CTA's slot, multicast included"
    where = [n for n, _ in (*lap.arrivals, *lap.landed)]
    return order.finding(Code.BYTES, why, fix, *where[:SHOWN])


def check_waits(order: Order) -> Iterator[Finding]:
    """No wait can be passed by an older lap or lapped by a newer one; each has its lap."""
    for (ring, side, use), nodes in order.waits.items():
        depth = order.depth[ring]
        older = order.completion(ring, side, use - depth)
        newer = order.completion(ring, side, use + depth)
        for node in nodes:
            if use >= 0 and (ring, side, use) not in order.laps:
                why = f"{describe(order.told(node).entry)} waits for a lap that nobody completes"
                yield order.finding(
                    Code.DEADLOCK, why, "load or release every use of the ring", node
                )
                continue
            if older is not None and not order.before_start(older, node):
                why = "may pass on the lap two back, which has the same parity"
                severity = _unless_met(order, (ring, side, use - depth), order.earlier(node))
                if severity:
                    yield _lapped(order, node, why, severity)
            if newer is not None and not order.before(node, newer):
                why = "may be lapped: the next lap can complete before it is seen"
                yield _lapped(order, node, why, Severity.RACE)


def _unless_met(order: Order, key: BarrierPhaseKey, node: int | None) -> Severity | None:
    """None where a lap is over before a node though nobody waited for it.

    It completes with its last arrival, so it is enough that all who arrived have met since. What
    rests on products keeping warps together is ``timing``.
    """
    lap = order.laps[key]
    if node is None or lap.landed:  # that copies landed is known by waiting alone
        return Severity.RACE
    for severity, products in ((None, False), (Severity.TIMING, True)):
        met = [order.met_after(n, products=products) for n, _ in lap.arrivals]
        if all(m is not None and order.before(m, node) for m in met):
            return severity
    return Severity.RACE


def _lapped(order: Order, node: int, why: str, severity: Severity) -> Finding:
    fix = "wait on every use, in order, and release only after the wait"
    why = f"{describe(order.told(node).entry)} {why}"
    return order.finding(Code.LAPPED, why, fix, node, severity=severity)


def check_early_arrivals(order: Order) -> Iterator[Finding]:
    """An arrival or a copy falls into its own lap: the one before has completed.

    Where nobody waits for that one, nor for a later one, it is enough that all who wait for the
    last lap that anyone waits for (or for the ring's initial credit) are past it.
    """
    last = _last_waits(order, credit=True)
    for key, lap in order.laps.items():
        ring, side, use = key
        final = last.get(_slot(order, key))
        if final is None:
            continue
        before, older = use - order.depth[ring], None
        if before <= final:
            older = order.completion(ring, side, before)
            if older is None:
                continue
        for node, _ in [*lap.arrivals, *lap.landed]:
            if older is not None and order.before(older, node):
                continue
            severity: Severity | None = Severity.RACE
            if older is not None:
                severity = _unless_met(order, (ring, side, before), node)
            elif all(order.before(wait, node) for wait in order.waits[ring, side, final]):
                severity = None
            if severity:
                why = f"an arrival for {name_of(key)} can fall into the lap before"
                fix = "let the wait for the slot stand in front of it"
                yield order.finding(Code.LAPPED, why, fix, node, severity=severity)


def check_deadlock(order: Order) -> Iterator[Finding]:
    """The waits do not wait for one another in a circle."""
    own = [v for v in order.blocked if v < order.size * order.document.cluster]
    stuck = [order.told(v) for v in own if v % order.size in order.event]
    waits = [
        e for e in stuck if isinstance(e.entry, roles.WaitFull | roles.WaitEmpty | roles.NamedSync)
    ]
    if order.blocked:
        first: dict[Agent, Event] = {}
        for event in waits:
            first.setdefault(event.agent, event)
        fix = "more slots, or release a slot before waiting for the next"
        yield order.finding(Code.DEADLOCK, "these waits wait for one another", fix, *first.values())


def name_of(key: BarrierPhaseKey) -> str:
    """A barrier's lap in words."""
    return f"{key[1]}[{key[0]}] use {key[2]}"


def check_named(order: Order) -> Iterator[Finding]:
    """Every generation of a named barrier gets its threads, and none comes too early.

    An agent's n-th entry on a barrier means generation n. That it falls there, the generation
    before must be over when the entry starts: a sync sees to that for the next entry of its own
    agent, an arrival does not. Arrivals after the last generation that anyone waits for wake
    nobody; they harm nobody unless they come before it is over.
    """
    for key, nodes in order.generations.items():
        last = (*key[:2], key[2] + 1) not in order.generations
        wakes = not (last and all(isinstance(order.entry(n), roles.NamedArrive) for n in nodes))
        found, needed = _threads(order, key, nodes)
        if wakes and found != needed:
            why = f"generation {key[2]} of barrier {_name(key)} gets {found} of {needed}"
            fix = "the same number of arrivals by every participant"
            yield order.finding(Code.BARRIER, why, fix, *nodes[:SHOWN])
        yield from _early(order, key, nodes)


def _threads(order: Order, key: Generation, nodes: list[int]) -> tuple[int, int]:
    if key[0] == CLUSTER:
        return len(nodes), len(order.programs) * order.document.cluster
    threads = next(b.threads for b in order.document.barriers if b.name == key[0])
    return sum(-(-order.event[n].agent.threads // 32) * 32 for n in nodes), threads


def _early(order: Order, key: Generation, nodes: list[int]) -> Iterator[Finding]:
    older = order.met.get((*key[:2], key[2] - 1))
    if older is None:
        return
    for node in nodes:
        if not order.before_start(older, node):
            yield order.finding(
                Code.BARRIER,
                f"{describe(order.entry(node))} can come to {_name(key)} before its "
                "generation: it fills the one before, or its own arrival does",
                "wait for the other side before coming again",
                node,
            )


def _name(key: Generation) -> str:
    return f"{key[0] or 'cluster'}[{key[1]}]"


def check_exit(order: Order) -> Iterator[Finding]:
    """Nothing lands in, or arrives at, a CTA whose last thread may have left."""
    outlasts, laps = order.outlasts(), order.laps.values()
    for load in sorted(n for p in laps if outlasts(p.over) for n, _ in p.landed):
        yield _left(order, load, "may still copy into a CTA that has left")
    away = (n for p in laps for n, _ in p.arrivals if n >= order.size)
    for node in sorted(filter(outlasts, away)):
        yield _left(order, node, "may arrive at a CTA that has left")


def _left(order: Order, node: int, why: str) -> Finding:
    fix = "wait for the copy; in finish for all slots to be free, or ClusterSync in all roles"
    return order.finding(Code.DRAIN, f"{describe(order.entry(node))} {why}", fix, node)
