"""What the hardware can do with an entry of a role program; everything else is refused.

A role of one thread is an elected lane: it cannot meet its warp or a named barrier, which count
whole warps. Copies and announced bytes are one thread's, but for copies by threads: there
every thread arrives for its share. CTAs of a cluster meet where all threads
of a kernel end, and nowhere else; what reaches other CTAs reaches all of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from warploom.errors import BackendError
from warploom.ir.dataflow import Exchange, ExchangeStep
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkStore,
    ClusterSync,
    Commit,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Scope

HARDWARE_BARRIERS = 16
WARPGROUP = 128
_SHARED = (WaitFull, WaitEmpty, Expect, Load, Arrive, NamedSync, NamedArrive)  # others take part


def refuse_unfaithful(entry: RoleEntry, document: RolesDocument, program: RoleProgram) -> None:
    """``BackendError`` for an entry whose code would not do what the judge took it for."""
    why = _why(entry, document, program)
    if why:
        raise _refused(entry, document, program, why)


def _refused(
    entry: RoleEntry, document: RolesDocument, program: RoleProgram, why: str
) -> BackendError:
    return BackendError(
        f"{type(entry).__name__} of role {program.name!r} cannot be emitted as it is judged",
        where=f"document {document.name!r}",
        why=why,
        fix="give it to a role that can execute it, or leave it out and verify again",
    )


def refuse_conditional(
    document: RolesDocument, program: RoleProgram, entries: Iterable[RoleEntry]
) -> None:
    """``BackendError`` for what other roles wait for, where only one CTA of several goes on."""
    for entry in entries:
        if isinstance(entry, _SHARED):
            raise _refused(entry, document, program, "only the last part of a split loop goes on")


def _why(  # noqa: C901, PLR0911 (one line a kind of entry)
    entry: RoleEntry, document: RolesDocument, program: RoleProgram
) -> str:
    alone = program.threads == 1
    match entry:
        case ClusterSync() if document.cluster == 1 or not _meets_last(program):
            return "CTAs of a cluster meet at the very end of all roles"
        case Arrive() if entry.ctas > 1 and (alone or entry.ctas != document.cluster):
            return "a lane arrives at each CTA of the cluster"
        case Load() if entry.multicast not in (1, document.cluster if not entry.by_threads else 1):
            return "a copy lands in one CTA or in all of the cluster"
        case Load() if entry.by_threads == alone:
            return f"{program.threads} threads would issue it"
        case Expect() if not alone and entry.ring not in _copied_by_threads(program):
            return f"{program.threads} threads would each issue it"
        case NamedSync() | NamedArrive() if alone:
            return "a named barrier counts whole warps, and one lane would execute it"
        case ScopeSync() if alone and entry.scope is not Scope.THREAD:
            return "one lane would wait for its warp"
        case Mma() | MmaFence() | Commit() | WaitGroup() if program.threads != WARPGROUP:
            return "products are issued by the 128 threads of a warpgroup"
        case BulkStore() if alone and entry.scope is not Scope.THREAD:
            return "one thread stands for no warp"
        case ScopeSync() | Arrive() | BulkStore() if _apart(entry.scope, program.threads):
            return f"{program.threads} threads have no first warp, and a warpgroup has 128"
        case ScopeSync() if entry.scope is Scope.WARPGROUP:
            last = group_barrier(document, program) + program.instances
            return (
                f"no hardware barrier is left: {last} are needed"
                if (last > HARDWARE_BARRIERS)
                else ""
            )
    return ""


def _copied_by_threads(program: RoleProgram) -> set[str]:
    every = (e for _, row in program.phases() for e in row)
    return {e.ring for e in every if isinstance(e, Load) and e.by_threads}


def _apart(scope: Scope, threads: int) -> bool:
    """Whether a thread or a barrier of all is meant in a role of some warps."""
    return scope is not Scope.WARP and threads not in (1, WARPGROUP)


def _meets_last(program: RoleProgram) -> bool:
    """Whether CTAs of a cluster meet once, after all the role does."""
    every = [e for _, row in program.phases() for e in row if isinstance(e, ClusterSync)]
    return len(every) == 1 and every[0] in program.finish[-1:]


def refuse_other_registers(documents: Sequence[RolesDocument], entry: int) -> None:
    """``BackendError`` where loops of a tile ask for different numbers of registers, or for more
    together than the CTA has at entry (``entry`` a thread): who asks for more waits for ever.
    """
    asked = [{p.name: p.most_registers for p in d.programs} for d in documents]
    groups = [p for p in documents[-1].programs if p.threads == WARPGROUP]
    others = [p.most_registers for p in documents[-1].programs if p.threads != WARPGROUP]
    given = entry * (1 + sum(p.instances for p in groups))
    wanted = sum(p.instances * (p.most_registers or entry) for p in groups)
    wanted += max(others, default=0) or entry
    if any(one != asked[-1] for one in asked) or wanted > given:
        raise BackendError(
            f"registers of the roles of document {documents[-1].name!r} cannot be had",
            why=f"a thread has {entry} at entry, and the loops of a tile share one number: {asked}",
            fix="most_registers of the derived programs",
        )


def exchange_at(document: RolesDocument, op: str) -> Exchange:
    """How CTAs meet at an op."""
    return next(x for x in document.exchanges if x.op == op)


def unfaithful_step(exchange: Exchange, step: ExchangeStep) -> BackendError:
    """What to say of a step that has no code."""
    return BackendError(
        f"{step.does} {step.flag} by {step.by} cannot be emitted as it is judged",
        where=f"exchange of op {exchange.op!r}",
        why="threads reach the counts of their own side only",
        fix="give it to those who can execute it, or leave it out and verify again",
    )


def group_barrier(document: RolesDocument, program: RoleProgram) -> int:
    """The first hardware barrier that no declared one and no role before takes; 0 is the CTA's."""
    at = [p.name for p in document.programs].index(program.name)
    before = sum(p.instances for p in document.programs[:at] if p.threads > 1)
    return max((b.id + b.count for b in document.barriers), default=1) + before


def with_barriers(document: RolesDocument, others: Iterable[RolesDocument]) -> RolesDocument:
    """A loop's document that knows which barriers the other loops of its tile take."""
    more = [replace(b, name=f"{d.name} {b.name}") for d in others for b in d.barriers]
    return replace(document, barriers=(*document.barriers, *more))
