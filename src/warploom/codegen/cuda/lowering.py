"""The lowering table: which CUDA lines an entry of a role program becomes.

Synchronisation entries lower by their kind; ops (loads, products, ordinary work, stores) by their
name, which the kernel's skeleton and its users register. A lowering sees one entry and its
``Site``; it returns lines. Tables are values: ``with_op`` returns a new one.

>>> table = base_table().with_op("scale", lambda entry, site: ["acc[0][0] *= 2.0f;"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.layout import part_constant
from warploom.codegen.cuda.legality import group_barrier, refuse_unfaithful
from warploom.codegen.cuda.roles import number
from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkCommit,
    BulkWait,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Per, Scope, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where an entry is emitted: its program, the list, and the text of the running iteration.

    ``amid``: lines that are executed within its work.
    """

    document: RolesDocument
    program: RoleProgram
    phase: str
    amid: tuple[str, ...] = ()

    def cursor(self, ring: str, k: int) -> str:
        """The ring position of iteration ``k``, as an expression."""
        held = self.document.ring(ring)
        if held.per is Per.TILE:
            return ring
        away = k if abs(k) <= held.depth else k % (2 * held.depth)  # parities repeat every two laps
        away -= 2 * held.depth if away > held.depth else 0
        return f"{ring}.at<{away}>()" if away else ring

    def slot(self, ring: str, k: int) -> str:
        """The slot number of iteration ``k``; the same in every lap of the ring."""
        depth = self.document.ring(ring).depth
        near = k if abs(k) <= depth else k % depth
        return f"{self.cursor(ring, near)}.slot"

    def part(self, ring: str, part: str, k: int) -> str:
        """The shared address of a part of the slot."""
        name = ring.upper()
        return f"smem + {part_constant(ring, part)} + {self.slot(ring, k)} * {name}_SLOT"

    def barrier(self, ring: str, which: str, k: int) -> str:
        """The shared address of the slot's ``full`` or ``empty`` barrier."""
        return f"smem + {ring.upper()}_{which.upper()} + 8 * {self.slot(ring, k)}"

    def iteration(self, k: int) -> str:
        """The iteration number an entry with that ``k`` speaks of."""
        base = {"prologue": "0", "kernel": "k", "epilogue": "k_tiles"}.get(self.phase, "0")
        if base == "0":
            return str(k)
        return base if k == 0 else f"{base} {'-' if k < 0 else '+'} {abs(k)}"


Lowering = Callable[[RoleEntry, Site], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweringTable:
    """Lowerings by entry kind and by op name."""

    kinds: Mapping[type, Lowering]
    ops: Mapping[str, Lowering]

    def with_op(self, name: str, lowering: Lowering) -> LoweringTable:
        """This table with the lowering of one op added or replaced."""
        return replace(self, ops={**self.ops, name: lowering})

    def with_kind(self, kind: type, lowering: Lowering) -> LoweringTable:
        """This table with another lowering of a kind of entry."""
        return replace(self, kinds={**self.kinds, kind: lowering})

    def lower(self, entry: RoleEntry, site: Site) -> list[str]:
        """The lines of one entry, its reason as a comment in front."""
        refuse_unfaithful(entry, site.document, site.program)
        found = self._find(entry)
        lines = list(found(entry, site))
        return [f"// {entry.reason}", *lines] if entry.reason and lines else lines

    def _find(self, entry: RoleEntry) -> Lowering:
        name: str | None = getattr(entry, "op", None)
        if name is not None and name in self.ops:
            return self.ops[name]
        if type(entry) in self.kinds:
            return self.kinds[type(entry)]
        what = f"op {name!r}" if name else type(entry).__name__
        near = get_close_matches(str(name), self.ops, 1)
        raise BackendError(
            f"no lowering for {what}",
            where="LoweringTable",
            why="the back end does not know what code it stands for",
            fix=f"did you mean {near[0]!r}?" if near else "register it: table.with_op(name, f)",
        )


def base_table() -> LoweringTable:
    """The lowerings of everything that synchronises."""
    kinds: dict[type, Lowering] = {
        WaitFull: _wait_full,
        WaitEmpty: _wait_empty,
        Expect: _expect,
        Arrive: _arrive,
        MmaFence: lambda e, s: [f"{device.wgmma_fence}();"],
        Commit: lambda e, s: [f"{device.wgmma_commit}();"],
        WaitGroup: _wait_group,
        ProxyFence: lambda e, s: [f"{device.proxy_fence}();"],
        ScopeSync: _scope_sync,
        NamedSync: _named,
        NamedArrive: _named,
        BulkCommit: lambda e, s: [f"{_one_lane(s)}{device.bulk_commit}();"],
        BulkWait: _bulk_wait,
        ClusterSync: lambda e, s: [],  # where all threads of the kernel end
    }
    return LoweringTable(kinds=kinds, ops={})


def _wait_full(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, WaitFull)
    return _wait(e, site, "full", e.parity)


def _wait_empty(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, WaitEmpty)
    return _wait(e, site, "empty", e.parity)


def _wait(e: WaitFull | WaitEmpty, site: Site, which: str, parity: int) -> list[str]:
    bit = f"{site.cursor(e.ring, e.k)}.phase" + (" ^ 1" if parity else "")
    together = site.document.cluster > 1  # others' acts, too
    wait = device.mbar_wait_cluster if together else device.mbar_wait
    return [f"{wait}({site.barrier(e.ring, which, e.k)}, {bit});"]


def _expect(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, Expect)
    return [f"{device.mbar_expect}({site.barrier(e.ring, 'full', e.k)}, {e.bytes});"]


def _arrive(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, Arrive)
    bar = site.barrier(e.ring, e.side.value, e.k)
    # The lane that arrives speaks for its warp: lanes that read by themselves meet first.
    meet = ["__syncwarp();"] if _reads_apart(e, site) else []
    if e.ctas > 1:  # a lane for each of them
        first = "" if e.scope is Scope.WARP else " && warp_in_group == 0"
        return [*meet, f"if (lane < {e.ctas}{first}) {device.mbar_arrive_at}({bar}, lane);"]
    if e.scope is Scope.WARP or site.program.threads == 1:
        return [*meet, f"{_one_lane(site)}{device.mbar_arrive}({bar});"]
    return [f"if (lane == 0 && warp_in_group == 0) {device.mbar_arrive}({bar});"]


def _reads_apart(e: Arrive, site: Site) -> bool:
    """Whether the role reads the ring by ordinary loads; products keep a warp together."""
    if e.side is not Side.EMPTY or site.program.threads == 1:
        return False
    entries = (entry for _, row in site.program.phases() for entry in row)
    work = (entry for entry in entries if isinstance(entry, Compute))
    return any(slot.ring == e.ring for entry in work for slot in entry.slots)


def _one_lane(site: Site) -> str:
    """One thread of a warp acts; a role of one thread is that thread."""
    return "" if site.program.threads == 1 else "if (lane == 0) "


def _wait_group(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, WaitGroup)
    return [f"{device.wgmma_wait}<{e.pending}>();"]


def _scope_sync(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, ScopeSync)
    if e.scope is Scope.WARPGROUP:
        first = group_barrier(site.document, site.program)
        return [f"{device.named_sync}({first} + {number(site.program)}, 128);"]
    return ["__syncwarp();"] if e.scope is Scope.WARP else []


def _named(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, NamedSync | NamedArrive)
    barrier = next(b for b in site.document.barriers if b.name == e.barrier)
    alone, mine = site.program.instances == 1, number(site.program)
    at = str(barrier.id)
    if barrier.count > 1 and alone:
        at = str(barrier.id + e.turn % barrier.count)
    elif barrier.count > 1:
        turn = f"({mine} + {e.turn}) % {barrier.count}" if e.turn else mine
        at = f"{barrier.id} + {turn}"
    call = device.named_sync if isinstance(e, NamedSync) else device.named_arrive
    guard = f"if ({mine} == {e.instance}) " if e.instance is not None and not alone else ""
    return [f"{guard}{call}({at}, {barrier.threads});"]


def _bulk_wait(e: RoleEntry, site: Site) -> list[str]:
    assert isinstance(e, BulkWait)
    call = device.bulk_wait_read if e.source_read else device.bulk_wait
    return [f"{_one_lane(site)}{call}<{e.pending}>();"]
