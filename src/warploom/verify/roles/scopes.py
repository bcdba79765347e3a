"""What one thread does for all: arrivals, copies and waits of roles with several warps.

Warps of an instance run apart. They meet at syncs of the warpgroup, at named and cluster syncs;
matrix products keep them together as far as is known, which is an assumption (``timing``), not a
proof. An arrival of one thread speaks for the others only after such a meeting.
"""

from collections.abc import Iterator
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.ir.mbarrier_dialect import (
    Arrive,
    ClusterSync,
    Compute,
    Mma,
    NamedSync,
    ProxyFence,
    RoleProgram,
    ScopeSync,
    WaitEmpty,
    WaitFull,
)
from warploom.ir.rings import Scope, Side, SlotRead
from warploom.verify.agents import ALL, WARP, Agent, Event, describe, reach_of
from warploom.verify.findings import Code, Finding, Severity
from warploom.verify.roles.order import Order

_Use = tuple[str, int]  # ring, use
_KINDS = {
    *(ScopeSync, NamedSync, ClusterSync, ProxyFence, WaitFull, WaitEmpty, Mma, Compute, Arrive)
}


@dataclass(slots=True)
class _Apart:
    """What other warps of the instance may not have done yet, by use of a ring."""

    waits: set[_Use] = field(default_factory=set)  # waits not known to be passed by all
    reads: set[_Use] = field(default_factory=set)  # ordinary reads
    products: set[_Use] = field(default_factory=set)
    fills: set[_Use] = field(default_factory=set)  # ordinary writes, not met in the warp either
    warp_fills: set[_Use] = field(default_factory=set)
    unfenced: set[_Use] = field(default_factory=set)
    fences: set[_Use] = field(default_factory=set)  # ordinary writes fenced, as fills
    warp_fences: set[_Use] = field(default_factory=set)

    def meet(self, reach: int) -> None:
        """Threads of a warp, or all of the instance, have met."""
        if reach == ALL:
            every = self.waits, self.reads, self.products
            for held in (*every, self.fills, self.warp_fills, self.fences, self.warp_fences):
                held.clear()
        elif reach == WARP:
            self.warp_fills |= self.fills
            self.warp_fences |= self.fences
            self.fills.clear()
            self.fences.clear()


def check_scopes(order: Order, agent: Agent) -> Iterator[Finding]:
    """One thread's arrival, copy or wait is good for all threads it stands for."""
    if agent.threads == 1:
        return
    apart = _Apart()
    for event in order.of(agent, _KINDS):
        entry = event.entry
        match entry:
            case ScopeSync() | NamedSync() | ClusterSync():
                apart.meet(reach_of(entry, agent))
            case ProxyFence():
                apart.fences |= apart.unfenced
                apart.unfenced.clear()
            case WaitFull() | WaitEmpty():
                apart.waits.add((entry.ring, order.uses.meant(event, entry.ring)))
            case Mma():
                apart.products |= _uses(order, event, entry.slots)
                apart.products |= apart.waits
                apart.waits.clear()
                yield from _warpgroup(order, event)
            case Compute() if entry.slots or entry.fills_slots:
                apart.reads |= _uses(order, event, entry.slots)
                filled = _uses(order, event, entry.fills_slots)
                apart.fills |= filled
                apart.unfenced |= filled
            case Arrive():
                yield from _arrive(order, event, entry, apart)
            case _:
                pass


def _uses(order: Order, event: Event, slots: tuple[SlotRead, ...]) -> set[_Use]:
    return {(s.ring, order.uses.meant(event, s.ring)) for s in slots}


def _warpgroup(order: Order, event: Event) -> Iterator[Finding]:
    if event.agent.threads % 128:
        why = f"{describe(event.entry)} needs whole warpgroups and runs in {event.agent.threads}"
        yield order.finding(Code.SCOPE, why, "128 threads an instance", event)


def _arrive(order: Order, event: Event, entry: Arrive, apart: _Apart) -> Iterator[Finding]:
    use = (entry.ring, order.uses.meant(event, entry.ring))
    alone = entry.scope is not Scope.WARP and event.agent.threads > 32
    fix = "scope warp: one arrival of every warp; or a sync of the warpgroup in front"
    if entry.side is Side.FULL:
        programs = order.document.programs
        readers = [p for p in programs if _reads(p, entry.ring, Mma)]
        itself = all(p.name == event.agent.role and _alone(p) for p in readers)
        # Its own products come after its own writes, if they keep its warps together.
        met = itself and not any(_reads(p, entry.ring, Compute) for p in programs)
        kind = Severity.TIMING if met else Severity.RACE
        if use in apart.fills or (alone and use in apart.warp_fills):
            why = f"{describe(entry)}: others than the arriving thread may not have written yet"
            fix = "ProxyFence, then ScopeSync of the arrival's scope, then Arrive"
            yield order.finding(Code.SCOPE, why, fix, event, severity=kind)
        elif (use in apart.fences or (alone and use in apart.warp_fences)) and readers:
            why = f"{describe(entry)}: others than the arriving thread may not have fenced yet"
            fix = "ScopeSync of the arrival's scope after ProxyFence, then Arrive"
            yield order.finding(Code.SCOPE, why, fix, event, severity=kind)
        return
    if not alone:
        return
    who = f"{describe(entry)}: one thread arrives for {event.agent.threads};"
    if use in apart.reads or use in apart.waits:
        why = f"{who} the others may not have read the slot yet"
        yield order.finding(Code.SCOPE, why, fix, event)
    elif use in apart.products:
        why = f"{who} the groups of the other warps are assumed to retire with its own"
        yield order.finding(Code.SCOPE, why, fix, event, severity=Severity.TIMING)


def _alone(program: RoleProgram) -> bool:
    """Whether nobody else of the role has a part in a tile."""
    return program.instances == 1 or program.alternates


def _reads(program: RoleProgram, ring: str, kind: type[Mma | Compute]) -> bool:
    entries = (e for _, row in program.phases() for e in row)
    return any(s.ring == ring for e in entries if isinstance(e, kind) for s in e.slots)
