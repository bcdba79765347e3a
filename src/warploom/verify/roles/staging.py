"""Staging copies of one agent: ordinary writes on their way to the copy engine, and back.

A copy is written by all threads of an instance and read by a store that one thread a scope issues.
Between: every writer fences, then the writers meet the thread that stores. After: that thread
waits for its store, then meets the writers. Who meets whom: a warp sync joins a warp, a warpgroup
sync, a named or a cluster sync all threads of the instance; a thread alone meets nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from warploom.document.rings import BufferCopy, Scope
from warploom.document.roles import (
    BulkCommit,
    BulkStore,
    BulkWait,
    ClusterSync,
    Compute,
    NamedSync,
    ProxyFence,
    ScopeSync,
)
from warploom.verify.agents import ALL, NOBODY, WARP, Agent, Event, describe, reach_of
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.order import Order
from warploom.verify.roles.registers import at

_MEETS = {ProxyFence, ScopeSync, NamedSync, ClusterSync}
_KINDS = {Compute, BulkStore, BulkCommit, BulkWait} | _MEETS


@dataclass(slots=True)
class _Copy:
    """One staging copy. ``joined``: how far its fenced writes are known; ``over``: the issuing
    thread knows that the store has read it, ``known``: so do the writers; ``complete``: the store
    is over altogether.
    """

    written: bool = False
    fenced: bool = False
    joined: int = NOBODY
    stored: bool = False
    group: int = -1
    wide: bool = False
    over: bool = True
    known: bool = True
    complete: bool = True


def check_staging(order: Order, agent: Agent) -> Iterator[Finding]:
    """Ordinary writes are fenced and joined before a bulk store, stores over before a rewrite."""
    copies: dict[BufferCopy, _Copy] = defaultdict(_Copy)
    group = 0
    for event in order.of(agent, _KINDS):
        match event.entry:
            case Compute(fills=fills):
                for c in fills:
                    yield from _fill(order, event, copies[c])
            case ProxyFence() | ScopeSync() | NamedSync() | ClusterSync():
                _advance(copies, event)
            case BulkStore():
                copy = copies[event.entry.source]
                yield from _store(order, event, event.entry, copy)
                copy.group = group
            case BulkCommit():
                group += 1
            case BulkWait():
                _finish(copies, event.entry, group, agent)
            case _:
                pass
    if order.programs[agent]:
        yield from _end(order, order.programs[agent][-1], list(copies.values()))


def _advance(copies: dict[BufferCopy, _Copy], event: Event) -> None:
    reach = reach_of(event.entry, event.agent)
    for copy in copies.values():
        if isinstance(event.entry, ProxyFence):
            copy.fenced = copy.fenced or copy.written
        else:
            _join(copy, reach)


def _join(copy: _Copy, reach: int) -> None:
    if copy.fenced:
        copy.joined = max(copy.joined, reach)
    if copy.over and reach >= (ALL if copy.wide else WARP):
        copy.known = True


def _fill(order: Order, event: Event, copy: _Copy) -> Iterator[Finding]:
    if copy.stored and not copy.known:
        why = f"{describe(event.entry)} overwrites a staging copy a bulk store may still read"
        fix = "BulkWait for the store's group, then ScopeSync, in front"
        yield at(order, event, Code.STAGING, why, fix)
    if copy.written and copy.fenced and not copy.stored:  # several ops may fill one copy
        why = f"{describe(event.entry)} overwrites a staging copy that nobody stored"
        yield at(order, event, Code.COVERAGE, why, "a BulkStore after every fill")
    copy.written, copy.fenced, copy.joined, copy.stored = True, False, NOBODY, False


def _store(order: Order, event: Event, store: BulkStore, copy: _Copy) -> Iterator[Finding]:
    threads = event.agent.threads
    copy.wide = store.scope is not Scope.WARP and threads > 32
    enough = NOBODY if threads == 1 else ALL if copy.wide else WARP
    if not copy.fenced or copy.joined < enough:
        missing = "nothing written" if not copy.written else "no ProxyFence"
        if copy.fenced:
            missing = "no ScopeSync of all that wrote it"
        yield at(
            order,
            event,
            Code.PROXY,
            f"{describe(store)} reads ordinary writes with {missing} between",
            "ProxyFence by the writers, then ScopeSync, then the store",
        )
    copy.stored, copy.over, copy.known, copy.complete = True, False, False, False


def _finish(copies: dict[BufferCopy, _Copy], wait: BulkWait, group: int, agent: Agent) -> None:
    """The issuing thread knows that the stores are over; the others learn it at a barrier."""
    for copy in copies.values():
        if copy.stored and copy.group < group - wait.pending:
            copy.over = True
            copy.known = copy.known or agent.threads == 1
            copy.complete = copy.complete or not wait.source_read


def _end(order: Order, last: Event, copies: list[_Copy]) -> Iterator[Finding]:
    if any(c.written and not c.stored for c in copies):
        why = "a staging copy is filled and never stored"
        yield at(order, last, Code.COVERAGE, why, "a BulkStore after every fill")
    if any(not c.complete for c in copies):
        why = "bulk stores may be unfinished when the CTA exits"
        yield at(order, last, Code.DRAIN, why, "BulkWait(pending=0, source_read=False) in finish")
