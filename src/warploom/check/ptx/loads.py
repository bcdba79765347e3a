"""Loads, stores, atomics, matrix loads, shuffles and votes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.formats import bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16
from warploom.check.ptx.alu import _U, LANES, dtype_of, put, refuse, setter, stored
from warploom.check.ptx.clocks import (
    BLOCK as BLOCK_FENCE,
    CLUSTER,
    CONTROL,
    DEVICE,
    FULL,
    control_only,
    merge,
    relaxed_view,
    weakened,
)
from warploom.check.ptx.machine import (
    BLOCK,
    EVERY,
    GLOBAL_AT,
    LOCAL_AT,
    PARAM_AT,
    PAUSE,
    RANK_SHIFT,
    SHARED_AT,
    SHARED_BASE,
    WINDOW,
    Cta,
    Lanes,
    MachineBase,
)
from warploom.check.ptx.memory import Memory, alike
from warploom.check.ptx.parse import (
    TYPE_BYTES,
    Addr,
    Imm,
    Instr,
    Operand,
    Pair,
    Reg,
    Sink,
    Special,
    Sym,
    Vec,
)
from warploom.report import Verdict

Array = NDArray[Any]
Run = Callable[[Any], Any]
_SPACES = ("global", "shared", "local", "param", "const")
_SCOPES = ("cta", "cluster", "gpu", "sys")
MOST_TOUCHED = 1 << 26  # bytes that are noted one by one, CTAs times memory
ALL_CTAS = -1  # instead of a CTA's number, where their bytes are noted together
UNDEFINED = 0x7FC0DEAD  # what a register holds that nothing defines: a NaN, and no small number
_STRONG = ("relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")


class WaitLanes:
    """Waits for lanes of its own warp."""

    polls = False

    def __init__(self, machine: Any, what: str, *, aligned: bool) -> None:  # noqa: ANN401
        self.machine, self.what, self.aligned = machine, what, aligned
        self.go = False

    def ready(self, g: Lanes) -> bool:
        """Another group of the warp may have come to the same place."""
        mates = [h for h in g.warp.groups if h is not g and h.pc == g.pc and h.wait is not None]
        missing = g.warp.live & ~g.mask
        return self.go or bool(mates) or not missing.any()

    def describe(self) -> str:
        """For a deadlock's listing."""
        return self.what


class Loads(MachineBase):
    """Instructions on memory and between lanes."""

    # -- addresses

    def space_of(self, instr: Instr) -> str:
        """The state space an instruction names; empty for generic."""
        for part in instr.parts[1:]:
            base = part.split("::")[0]
            if base in _SPACES:
                return base
        return ""

    def address(self, op: Operand, instr: Instr, *, wide: bool = True) -> Callable[[Any], Array]:
        """The address of each lane, in the named space."""
        if not isinstance(op, Addr):
            raise refuse(instr, "address")
        offset = op.offset
        base = op.base
        if isinstance(base, Sym):
            held = np.full(LANES, self.address_of(base, instr) + offset, np.int64)
            return lambda g: held
        if isinstance(base, Imm):
            held = np.full(LANES, int(base.value) + offset, np.int64)
            return lambda g: held
        if not isinstance(base, Reg):
            raise refuse(instr, "address")
        slot = base.slot
        if offset:
            return lambda g: g.R[slot].astype(np.int64) + offset
        return lambda g: g.R[slot].astype(np.int64)

    def symbol_space(self, op: Operand) -> str:
        """The space of a symbol in an address."""
        if isinstance(op, Addr) and isinstance(op.base, Sym):
            return self.names.get(op.base.name, ("", 0))[0]
        return ""

    def place(
        self, g: Lanes, pc: int, space: str, addresses: Array, width: int, lanes: Array
    ) -> tuple[str, Array]:
        """The memory and the first byte of each lane's access; one memory for all lanes."""
        if space == "":
            window = addresses >> 40
            kind = int(window[0])
            if (window != kind).any():
                self.fault(
                    g,
                    pc,
                    "UNSUPPORTED-MIX",
                    "lanes access different state spaces at once",
                    kind=Verdict.UNSUPPORTED,
                )
            space = {0: "global", 1: "shared", 2: "local", 4: "param"}.get(kind, "global")
            if space != "global":
                addresses = addresses & WINDOW
        align = width
        if align and (addresses % align).any():
            lane = int(lanes[int(np.argmax(addresses % align != 0))])
            self.fault(
                g,
                pc,
                "MISALIGNED",
                f"an address that is no multiple of {align} bytes: "
                f"{int(addresses[np.argmax(addresses % align != 0)]):#x}",
                "align the address to the width of the access",
                lane=lane,
            )
        return space, addresses

    def shared_index(self, g: Lanes, pc: int, addresses: Array, width: int, cta: Cta) -> Array:
        """Bytes of the cluster's shared memory."""
        offset = addresses & ((1 << RANK_SHIFT) - 1)
        upper = (addresses >> RANK_SHIFT) & 0xFF
        rank = np.where(upper == 0, cta.rank, upper - 1)
        bad = (
            (offset + width > self.shared_end) | (offset < SHARED_BASE) | (rank >= cta.cluster.size)
        )
        if bad.any():
            at = int(np.argmax(bad))
            self.fault(
                g,
                pc,
                "OUT-OF-BOUNDS",
                f"shared memory at {int(addresses[at]):#x}, {width} bytes; the CTA has "
                f"{SHARED_BASE:#x}..{self.shared_end - 1:#x}",
                "give the launch enough shared_bytes, or mend the address",
                lane=int(g.lanes[at]) if len(addresses) == len(g.lanes) else None,
            )
        for r in np.unique(rank):
            other = cta.cluster.ctas[int(r)]
            if other.done and other is not cta:
                self.fault(
                    g,
                    pc,
                    "EXITED",
                    f"shared memory of CTA {other.number}, which has exited",
                    "a cluster barrier before the exit",
                )
            if other is not cta and not self.begun(g, other, rank == r):
                self.fault(
                    g,
                    pc,
                    "NOT-STARTED",
                    f"shared memory of CTA {other.number}, which may not have begun yet: nothing "
                    "that it did comes before this access",
                    "a cluster barrier (arrive and wait) before the first access to another CTA",
                    stop=False,
                )
        return rank * cta.cluster.stride + offset

    @staticmethod
    def begun(g: Lanes, other: Cta, there: Array) -> bool:
        """Whether threads know of anything that a thread of another CTA has done."""
        threads = g.threads[there] if len(there) == len(g.threads) else g.threads
        last = other.base + other.warp_count * LANES
        known = g.warp.cta.cluster.clocks.known[CONTROL, threads, other.base : last]
        return bool(known.any(axis=1).all())

    def global_index(self, g: Lanes, pc: int, addresses: Array, width: int) -> Array:
        """Bytes of global memory."""
        index = addresses - GLOBAL_AT
        inside = (index >= 0) & (index + width <= self.valid.size)
        safe = np.where(inside, index, 0)
        ok = (
            inside
            & self.valid[safe]
            & self.valid[np.minimum(safe + width - 1, self.valid.size - 1)]
        )
        if not ok.all():
            at = int(np.argmin(ok))
            near = min(
                self.regions,
                key=lambda r: max(r[0] - int(index[at]), int(index[at]) - r[1], 0),
                default=None,
            )
            where = (
                ""
                if near is None
                else f", {int(index[at]) - near[0]} bytes from the start of {near[2]} "
                f"({near[1] - near[0]} bytes)"
            )
            self.fault(
                g,
                pc,
                "OUT-OF-BOUNDS",
                f"global memory outside of every tensor{where}",
                "a predicate on the access, or tensors of the size the kernel expects",
                lane=int(g.lanes[at]) if len(addresses) == len(g.lanes) else None,
            )
        return index

    # -- loads and stores

    def _shape(self, instr: Instr) -> tuple[int, str]:
        """Vector length and element type."""
        n = next((int(p[1:]) for p in instr.parts if p in ("v2", "v4", "v8")), 1)
        kind = instr.parts[-1]
        if kind not in TYPE_BYTES:
            raise refuse(instr, f"type .{kind}")
        return n, kind

    def op_ld(self, instr: Instr, pc: int) -> Run:
        """``ld`` of all spaces, ``ldu`` and ``ld.global.nc``."""
        n, kind = self._shape(instr)
        d, a = instr.operands[:2]
        items = d.items if isinstance(d, Vec) else (d,)
        if len(items) != n:
            raise refuse(instr, "vector length")
        size = TYPE_BYTES[kind]
        if kind == "b128":
            raise refuse(instr)
        space = self.space_of(instr)
        if space == "param" and self.symbol_space(a) == "frame":
            space = "local"
        address = self.address(a, instr)
        stores = [setter(o, kind, instr) for o in items]
        dtype = dtype_of(kind, instr)
        strong = next((p for p in instr.parts[1:] if p in _STRONG), "")
        scope = next((p for p in instr.parts[1:] if p in _SCOPES), "sys")
        kept = "nc" in instr.parts  # in a cache that no write and no fence reaches
        # A volatile read that is no poll takes part in races like any other: nothing orders it.
        after = PAUSE if pc in self.program.polled else None  # others change it meanwhile
        atomic = bool(strong) and (strong != "volatile" or pc in self.program.polled)
        width = size * n
        span = np.arange(width)

        def load(g: Lanes) -> Any:  # noqa: ANN401
            lanes = g.lanes
            where = address(g)[lanes]
            kind_, where = self.place(g, pc, space, where, width, lanes)
            if kind_ in ("shared", "global", "const"):
                values = self._read(
                    g, instr, pc, kind_, where, width, span, strong, scope, atomic=atomic
                )
                if kept and kind_ == "global":
                    self._unchanged(g, pc, where, span)
            elif kind_ == "param":
                if (where + width > self.params.size).any():
                    self.fault(g, pc, "OUT-OF-BOUNDS", "a parameter beyond the entry's parameters")
                values = self.params[where[:, None] + span]
            else:
                local = g.warp.cta.cluster.local
                if local is None or (where + width > local.shape[1]).any() or (where < 0).any():
                    self.fault(g, pc, "OUT-OF-BOUNDS", "local memory outside of the frame")
                assert local is not None
                values = local[g.threads[:, None], where[:, None] + span]
            numbers = np.ascontiguousarray(values).view(dtype)
            for i, store in enumerate(stores):
                if g.full:
                    store(g, np.ascontiguousarray(numbers[:, i]))
                else:
                    wide = np.zeros(LANES, dtype)
                    wide[lanes] = numbers[:, i]
                    store(g, wide)
            return after

        return load

    op_ldu = op_ld

    def _read(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        space: str,
        where: Array,
        width: int,
        span: Array,
        strong: str,
        scope: str,
        *,
        atomic: bool,
    ) -> Array:
        cta = g.warp.cta
        if space == "shared":
            memory: Memory = cta.cluster.shared
            start = self.shared_index(g, pc, where, width, cta)
            self._remote(g, cta, start, pc)
        else:
            memory = self.memory
            start = self.global_index(g, pc, where, width)
            self.before_grid_wait(g, pc, g.threads, write=False)
            self.moved["global_read"] += width * len(where)
            self.widths[f"ld {width}"] = self.widths.get(f"ld {width}", 0) + 1
        index = start[:, None] + span
        if space != "shared":
            self.touch(cta, "global_read", index)
        event = self.event(
            g, instr, pc, write=False, starts=start, width=width, atomic=atomic, scope=scope
        )
        memory.access(
            cta.cluster.clocks,
            g.threads,
            index,
            event,
            lambda c: self.conflict(c, memory.name, cta),
            data=pc not in self.program.polled,
        )
        if strong:
            self.acquire(g, instr, memory, start, strong, scope)
        return memory.data[index]

    def _unchanged(self, g: Lanes, pc: int, where: Array, span: Array) -> None:
        """``ld.global.nc``: what it reads is written by nobody while the kernel runs."""
        index = (where - GLOBAL_AT)[:, None] + span
        changed = self.memory.value[index].any(axis=1)
        if changed.any():
            at = int(np.argmax(changed))
            writer = self.memory.events[int(self.memory.writer[index[at]].max())]
            line = self.program.instrs[writer.pc].line
            self.fault(
                g,
                pc,
                "NON-COHERENT",
                f"ld.global.nc reads what this launch has written (line {line}): its cache may "
                "hold the bytes from before, whatever orders the two",
                "an ordinary load (in CUDA no __ldg and no const __restrict__ for what the kernel "
                "writes)",
                kind=Verdict.RACE,
                stop=False,
                lane=int(g.lanes[at]),
            )

    def op_st(self, instr: Instr, pc: int) -> Run:
        """``st`` of all spaces, ``st.async`` included."""
        if "async" in instr.parts or "bulk" in instr.parts:
            return self.store_async(instr, pc)
        n, kind = self._shape(instr)
        a, v = instr.operands[:2]
        items = v.items if isinstance(v, Vec) else (v,)
        if len(items) != n or kind == "b128":
            raise refuse(instr, "vector length")
        size = TYPE_BYTES[kind]
        space = self.space_of(instr)
        if space == "param" and self.symbol_space(a) == "frame":
            space = "local"
        address = self.address(a, instr)
        unsigned = f"b{8 * size}"
        gets = [self.get(o, kind if isinstance(o, Imm) else unsigned, instr) for o in items]
        strong = next((p for p in instr.parts[1:] if p in _STRONG), "")
        scope = next((p for p in instr.parts[1:] if p in _SCOPES), "sys")
        width = size * n
        span = np.arange(width)
        dtype = _U[size]

        def store(g: Lanes) -> Any:  # noqa: ANN401
            lanes = g.lanes
            where = address(g)[lanes]
            kind_, where = self.place(g, pc, space, where, width, lanes)
            values = np.empty((len(lanes), n), dtype)
            for i, x in enumerate(gets):
                values[:, i] = x(g).view(dtype)[lanes]
            raw = values.view(np.uint8)
            if kind_ in ("shared", "global"):
                self._write(g, instr, pc, kind_, where, width, span, raw, strong, scope)
            elif kind_ == "local":
                local = g.warp.cta.cluster.local
                if local is None or (where + width > local.shape[1]).any() or (where < 0).any():
                    self.fault(g, pc, "OUT-OF-BOUNDS", "local memory outside of the frame")
                assert local is not None
                local[g.threads[:, None], where[:, None] + span] = raw
            else:
                self.fault(g, pc, "READ-ONLY", f"a store to {kind_} memory")
            return None

        return store

    def store_async(self, instr: Instr, pc: int) -> Run:
        """``st.async``; with the asynchronous copies."""
        raise refuse(instr)

    def _write(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        space: str,
        where: Array,
        width: int,
        span: Array,
        raw: Array,
        strong: str,
        scope: str,
    ) -> None:
        cta = g.warp.cta
        if space == "shared":
            memory: Memory = cta.cluster.shared
            start = self.shared_index(g, pc, where, width, cta)
            self._remote(g, cta, start, pc)
            self.not_a_barrier(g, pc, start, width)
        else:
            memory = self.memory
            start = self.global_index(g, pc, where, width)
            self.before_grid_wait(g, pc, g.threads, write=True)
            self.moved["global_written"] += width * len(where)
            self.widths[f"st {width}"] = self.widths.get(f"st {width}", 0) + 1
            self._writable(g, pc, start)
        index = start[:, None] + span
        if space != "shared":
            self.touch(cta, "global_written", index)
        event = self.event(
            g, instr, pc, write=True, starts=start, width=width, atomic=bool(strong), scope=scope
        )
        if len(start) > 1:
            self._overlaps(g, pc, start, width, raw, event, memory)
        memory.access(
            cta.cluster.clocks,
            g.threads,
            index,
            event,
            lambda c: self.conflict(c, memory.name, cta),
            new=raw,
        )
        memory.data[index] = raw
        self.changes += 1
        if strong:
            self.release(g, memory, start, strong, scope, replace=True)

    def _writable(self, g: Lanes, pc: int, start: Array) -> None:
        if (start < self.memory.untracked).any():
            at = int(start[int(np.argmax(start < self.memory.untracked))])
            name = next((n for low, high, n in self.regions if low <= at < high), "?")
            self.fault(
                g,
                pc,
                "WRITES-INPUT",
                f"a store to the tensor {name}, whose role is in",
                "give it the role inout in the launch, or mend the address",
                stop=True,
            )

    def _remote(self, g: Lanes, cta: Cta, start: Array, pc: int) -> None:
        """Writes to another CTA must be over before that one exits."""
        ranks = start // cta.cluster.stride
        if (ranks == cta.rank).all():
            return
        clocks = cta.cluster.clocks
        for rank, thread in zip(ranks.tolist(), g.threads.tolist(), strict=True):
            if rank != cta.rank:
                self.remember(
                    cta.cluster.ctas[rank], thread, int(clocks.known[FULL, thread, thread]), g, pc
                )

    def remember(self, owner: Cta, component: int, value: int, g: Lanes, pc: int) -> None:
        """Something asynchronous or remote happens to a CTA's shared memory."""
        have = owner.remote.get(component)
        if have is None or have[0] <= value:
            owner.remote[component] = (value, (g.warp, pc))

    def not_a_barrier(self, g: Lanes, pc: int, start: Array, width: int) -> None:
        """An ordinary store over a live mbarrier."""
        raise NotImplementedError

    def touch(self, cta: Cta, how: str, index: Array) -> None:
        """Note which bytes a CTA reads or writes at all: what it moves with a cache that is large
        enough. Of large launches only what all CTAs together touch is noted.
        """
        seen = self.touched.get((cta.number, how))
        if seen is None:
            size = len(self.memory.data)
            if 2 * size > MOST_TOUCHED:
                return
            crowded = (len(self.touched) + 2) * size > MOST_TOUCHED
            key = (ALL_CTAS if crowded else cta.number, how)
            seen = self.touched.setdefault(key, np.zeros(size, bool))
        seen[index] = True

    def distinct(self, *, by_cta: bool) -> dict[str, int]:
        """Bytes of global memory that loads and stores touch: by each CTA, over all CTAs, or by
        the launch, where what several CTAs touch counts once.
        """
        result: dict[str, int] = {}
        if by_cta and any(number == ALL_CTAS for number, _ in self.touched):
            return result
        for how in sorted({how for _, how in self.touched}):
            seen = [bits for (_, other), bits in self.touched.items() if other == how]
            bits = [functools.reduce(np.logical_or, seen)] if not by_cta else seen
            result[how] = sum(int(np.count_nonzero(b)) for b in bits)
        return result

    def _overlaps(
        self,
        g: Lanes,
        pc: int,
        start: Array,
        width: int,
        raw: Array,
        event: Any,  # noqa: ANN401
        memory: Memory,
    ) -> None:
        """Lanes of one store that write the same bytes."""
        order = np.argsort(start, kind="stable")
        sorted_ = start[order]
        near = np.diff(sorted_) < width
        if not near.any():
            return
        one, two, rounded = -1, -1, -1
        for at in np.nonzero(near)[0].tolist():
            first, second = int(order[at]), int(order[at + 1])
            shift = int(start[second] - start[first])
            held, given = raw[first][shift:], raw[second][: width - shift]
            if (held == given).all():
                continue
            if alike(held[None], given[None]).all():
                rounded = second
                continue
            one, two = first, second
            break
        if one < 0:
            if rounded >= 0:
                self.findings.rounded(self, g, pc, int(g.lanes[rounded]))
            return
        self.fault(
            g,
            pc,
            "WAW-LANES",
            f"lanes {int(g.lanes[one])} and {int(g.lanes[two])} of one store "
            "write different values to the same bytes: which one stays is undefined",
            "give every lane its own bytes, or one lane the store",
            kind=Verdict.RACE,
            stop=False,
            lane=int(g.lanes[two]),
        )

    # -- atomics and flags

    def acquire(
        self, g: Lanes, instr: Instr, memory: Memory, start: Array, strong: str, scope: str
    ) -> None:
        """A strong read sees what was released at its address."""
        clocks = g.warp.cta.cluster.clocks
        if memory.name == "global" and instr.parts[0] != "fence":
            self.draw(instr, "memory that others may change")
        for i, at in enumerate(start.tolist()):
            self.observed[memory.name, at, clocks.cluster, int(g.threads[i])] = int(
                memory.writer[at]
            )
            mine = g.warp.cta
            for giver, wide, sem, stamp in self.flags.get((memory.name, at), ()):
                seen = self._within(mine, giver, scope, wide)
                one = g.threads[i : i + 1]
                given = stamp
                if not seen:  # the two are not strong for each other: no order of memory
                    self.used.add("read_done")
                    clocks.join(one, control_only(stamp, read_done=self.axioms["read_done"]))
                    continue
                if sem not in ("release", "acq_rel"):
                    self.used.add("read_done")
                    fenced = _fence_between(mine, giver)
                    given = weakened(stamp, fenced, read_done=self.axioms["read_done"])
                if strong in ("acquire", "acq_rel"):
                    clocks.join(one, given)
                else:  # takes effect at the next fence
                    clocks.join(one, relaxed_view(given))

    def release(
        self,
        g: Lanes,
        memory: Memory,
        start: Array,
        strong: str,
        scope: str,
        *,
        replace: bool = False,
    ) -> None:
        """A strong write publishes what its thread knows; nothing is kept where nobody looks."""
        clocks = g.warp.cta.cluster.clocks
        for i, at in enumerate(start.tolist() if self.observers else ()):
            one = g.threads[i : i + 1]
            stamp = clocks.stamp(one)
            key = (memory.name, at)
            held = [] if replace else self.flags.get(key, [])
            # A CTA's own releases at one address are joined: they are seen in the same way.
            same = next((h for h in held if h[0] is g.warp.cta and h[1:3] == (scope, strong)), None)
            if same is not None:
                merge(same[3], stamp)
            else:
                held = [*held, (g.warp.cta, scope, strong, stamp)]
            self.flags[key] = held
        clocks.tick(g.threads)

    @staticmethod
    def _within(mine: Cta, giver: Cta, scope: str, wide: str) -> bool:
        """Whether both scopes include the other thread."""
        if mine is giver:
            return True
        narrow = ("cta",) if mine.cluster is giver.cluster else ("cta", "cluster")
        return scope not in narrow and wide not in narrow

    def op_atom(self, instr: Instr, pc: int) -> Run:
        """``atom``."""
        return self._atomic(instr, pc, returns=True)

    def op_red(self, instr: Instr, pc: int) -> Run:
        """``red``."""
        if "async" in instr.parts:
            return self.store_async(instr, pc)
        return self._atomic(instr, pc, returns=False)

    def _atomic(self, instr: Instr, pc: int, *, returns: bool) -> Run:
        operands = list(instr.operands)
        kind = next((p for p in reversed(instr.parts) if p in TYPE_BYTES), "")
        n = next((int(p[1:]) for p in instr.parts if p in ("v2", "v4", "v8")), 1)
        d = operands.pop(0) if returns else Sink()
        a, *given = operands
        space = self.space_of(instr)
        names = (
            "add",
            "min",
            "max",
            "and",
            "or",
            "xor",
            "exch",
            "cas",
            "inc",
            "dec",
        )
        op = next((p for p in instr.parts if p in names), "")
        if not op or kind == "b128":
            raise refuse(instr)
        size = TYPE_BYTES[kind]
        address = self.address(a, instr)
        items = [o.items if isinstance(o, Vec) else (o,) for o in given]
        gets = [[self.get(o, kind, instr) for o in row] for row in items]
        outs = [
            setter(o, kind, instr)
            for o in (d.items if isinstance(d, Vec) else (d,) * (1 if n == 1 else n))
        ]
        strong = next((p for p in instr.parts[1:] if p in _STRONG), "relaxed")
        scope = next((p for p in instr.parts[1:] if p in _SCOPES), "gpu")
        dtype = dtype_of(kind, instr)
        width = size * n
        span = np.arange(width)
        after = PAUSE if pc in self.program.polled else None

        def run(g: Lanes) -> Any:  # noqa: ANN401
            lanes, cta = g.lanes, g.warp.cta
            where = address(g)[lanes]
            kind_, where = self.place(g, pc, space, where, width, lanes)
            if kind_ == "shared":
                memory: Memory = cta.cluster.shared
                start = self.shared_index(g, pc, where, width, cta)
                self._remote(g, cta, start, pc)
            else:
                memory = self.memory
                start = self.global_index(g, pc, where, width)
                self._writable(g, pc, start)
                self.before_grid_wait(g, pc, g.threads, write=True)
            index = start[:, None] + span
            event = self.event(
                g, instr, pc, write=True, starts=start, width=width, atomic=True, scope=scope
            )
            values = [[x(g)[lanes] for x in row] for row in gets]
            memory.access(
                cta.cluster.clocks,
                g.threads,
                index,
                event,
                lambda c: self.conflict(c, memory.name, cta),
                data=returns and pc not in self.program.polled and _only_reads(op, values),
            )
            old = np.zeros((n, LANES), dtype)
            view = memory.data
            before = view[index].copy()
            for i in range(len(lanes)):
                for j in range(n):
                    at = int(start[i]) + j * size
                    have = view[at : at + size].view(dtype)[0]
                    old[j, lanes[i]] = have
                    row = [v[j][i] for v in values]
                    view[at : at + size] = np.array([_combine(op, kind, have, row)], dtype).view(
                        np.uint8
                    )
            if returns:
                for j, out in enumerate(outs):
                    out(g, old[j])
                if memory.name == "global" and not isinstance(d, Sink):
                    self.draw(instr, "an atomic that others change")
            if (view[index] != before).any():  # who polls with atomics changes nothing
                self.changes += 1
            if strong in ("acquire", "acq_rel") or returns:
                self.acquire(g, instr, memory, start, strong, scope) if returns else None
            self.release(g, memory, start, strong, scope)
            return after

        return run

    def before_grid_wait(self, g: Lanes, pc: int, threads: Array, *, write: bool) -> None:
        """Global memory before griddepcontrol.wait; with the barriers."""
        raise NotImplementedError

    # -- shuffles and votes

    def converged(self, g: Lanes, pc: int, need: Array, what: str, *, aligned: bool) -> bool:
        """Whether the lanes that have to be together are; else the group waits for them."""
        need = need & g.warp.live
        if not (need & ~g.mask).any():
            g.wait = None
            if g.warp.looked:
                g.warp.looked = False
                g.warp.cta.cluster.clocks.together(g.threads)
            if aligned and g.warp.forced and (g.warp.live & ~g.mask).any():
                self.fault(
                    g,
                    pc,
                    "DIVERGED",
                    f"{what} by a part of the warp only",
                    "make the branch uniform in the warp",
                    stop=False,
                )
            self.never_came(g, pc, what)
            return True
        mates = [
            h for h in g.warp.groups
            if h is not g and h.pc == g.pc and isinstance(h.wait, WaitLanes)
        ]  # fmt: skip
        for h in mates:
            mask = g.mask | h.mask
            if h.join is not g.join and h.join is not None:
                if g.join is None or int(h.join.mask.sum()) > int(g.join.mask.sum()):
                    keep, lose, lost = h.join, g.join, g.mask
                else:
                    keep, lose, lost = g.join, h.join, h.mask
                if lose is not None:
                    lose.mask = lose.mask & ~lost
                g.enter(keep)
            self.drop(h)
            g.narrow(mask)
        if not (need & ~g.mask).any():
            g.wait = None
            g.warp.cta.cluster.clocks.together(g.threads)
            return True
        g.wait = WaitLanes(
            self, f"waits for the other lanes of its warp at {what}", aligned=aligned
        )
        late = need & ~g.mask
        g.warp.awaited[pc] = late | g.warp.awaited.get(pc, late)
        return False

    def never_came(self, g: Lanes, pc: int, what: str) -> None:
        """Lanes that were waited for here, went past and exited: the mask may not name them.

        Lanes that return early are another matter: who is gone need not come.
        """
        warp = g.warp
        late = warp.awaited.get(pc)
        if late is None or not warp.let_go.any():
            return
        lost = late & ~g.mask & ~warp.live & warp.let_go
        if lost.any():
            lane = int(np.argmax(lost))
            self.fault(
                g,
                pc,
                "MASK",
                f"the member mask of {what} names lane {lane}, which took another way and ended "
                "without coming here: undefined",
                "let all lanes that the mask names execute it, and choose inside of a branch; or a "
                "mask of the lanes that come here",
                stop=False,
                lane=lane,
            )

    def _mask_of(self, op: Operand, instr: Instr, pc: int) -> Callable[[Any], Array]:
        """The lanes of a member mask; who executes the instruction has to be among them.

        Lanes of one branch may give masks of their own, as after match.sync: each then waits for
        the lanes of its own mask, and all masks of a group are disjoint or equal.
        """
        if isinstance(op, Imm):
            bits = int(op.value) & 0xFFFFFFFF
            held = np.array([bits >> i & 1 for i in range(LANES)], np.bool_)

            def fixed(g: Lanes) -> Array:
                if (g.mask & ~held).any():
                    self._no_member(g, pc, instr, bits, int(np.argmax(g.mask & ~held)))
                return held

            return fixed
        get = self.get(op, "u32", instr)

        def mask(g: Lanes) -> Array:
            given = get(g)
            result = np.zeros(LANES, np.bool_)
            for bits in np.unique(given[g.lanes]).tolist():
                mine = g.mask & (given == bits)
                named = np.array([bits >> i & 1 for i in range(LANES)], np.bool_)
                if (mine & ~named).any():
                    self._no_member(g, pc, instr, bits, int(np.argmax(mine & ~named)))
                other = named & g.mask & ~mine
                if other.any():
                    self._other_mask(g, pc, instr, bits, int(np.argmax(mine)), int(other.argmax()))
                result |= named
            return result

        return mask

    def _other_mask(
        self, g: Lanes, pc: int, instr: Instr, bits: int, lane: int, other: int
    ) -> None:
        self.fault(
            g,
            pc,
            "MASK",
            f"lane {lane} executes {instr.parts[0]}.sync with the member mask {bits:#010x}, and "
            f"lane {other}, which it names, with another mask: undefined",
            "the same mask in all lanes that it names",
            stop=False,
            lane=lane,
        )

    def _no_member(self, g: Lanes, pc: int, instr: Instr, bits: int, lane: int) -> None:
        self.fault(
            g,
            pc,
            "MASK",
            f"lane {lane} executes {instr.parts[0]}.sync with the member mask {bits:#010x}, "
            "which does not name it: undefined",
            "a mask that names every lane that comes here, such as that of __activemask or "
            "__ballot_sync before the branch",
            stop=False,
            lane=lane,
        )

    def op_shfl(self, instr: Instr, pc: int) -> Run:
        """``shfl.sync``."""
        if "sync" not in instr.parts:
            raise refuse(instr)
        d, a, b, c, m = instr.operands
        first, second = (d.first, d.second) if isinstance(d, Pair) else (d, None)
        mode = instr.parts[2]
        store, x = setter(first, "b32", instr), self.get(a, "b32", instr)
        flag = setter(second, "pred", instr) if second is not None else None
        y, z, mask = (
            self.get(b, "u32", instr),
            self.get(c, "u32", instr),
            self._mask_of(m, instr, pc),
        )

        def run(g: Lanes) -> Any:  # noqa: ANN401
            need = mask(g)
            if not self.converged(g, pc, need, "shfl.sync", aligned=False):
                return BLOCK
            late = g.warp.awaited.pop(pc, np.zeros(LANES, np.bool_))
            by, cv = (y(g) & 31).astype(np.int64), z(g).astype(np.int64)
            clamp, segment = cv & 31, (cv >> 8) & 31
            top = (EVERY & segment) | (clamp & ~segment)
            low = EVERY & segment
            if mode == "up":
                source = EVERY - by
                ok = source >= top
            elif mode == "down":
                source = EVERY + by
                ok = source <= top
            elif mode == "bfly":
                source = EVERY ^ by
                ok = source <= top
            else:
                source = low | (by & ~segment)
                ok = source <= top
            source = np.where(ok, source, EVERY)
            taken = source[g.lanes]
            dead = ~g.mask[taken]
            value = x(g)[source]
            if dead.any():
                lane = int(g.lanes[int(np.argmax(dead))])
                # Lanes that were there and never came; lanes that are gone give no value either,
                # but often nothing of theirs is used.
                named = dead & late[taken]
                if named.any():
                    lane = int(g.lanes[int(np.argmax(named))])
                self.fault(
                    g,
                    pc,
                    "SHUFFLE",
                    f"lane {lane} reads lane {int(source[lane])}, which does "
                    "not take part: the value is undefined",
                    "let all lanes of the mask execute the shuffle, and choose inside of a branch"
                    if named.any()
                    else "a mask and lanes that fit",
                    stop=False,
                    lane=lane,
                    kind=Verdict.INVALID if named.any() else Verdict.NOTE,
                )
                value = value.copy()
                value[g.lanes[dead]] = UNDEFINED
            store(g, value)
            if flag is not None:
                flag(g, ok)
            return None

        return run

    def op_vote(self, instr: Instr, pc: int) -> Run:
        """``vote.sync``."""
        d, p, m = instr.operands
        mode = instr.parts[2]
        mask, flag = self._mask_of(m, instr, pc), self.get(p, "pred", instr)
        sets = self._sets_of(m, instr)
        store = setter(d, "b32" if mode == "ballot" else "pred", instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            need = mask(g)
            if not self.converged(g, pc, need, "vote.sync", aligned=False):
                return BLOCK
            given = flag(g)
            found: Array = np.zeros(LANES, np.uint32 if mode == "ballot" else np.bool_)
            for lanes in sets(g):
                votes = given[lanes]
                if mode == "ballot":
                    found[lanes] = sum(1 << int(k) for k in lanes[votes])
                elif mode == "any":
                    found[lanes] = votes.any()
                else:
                    found[lanes] = votes.all() or (mode == "uni" and not votes.any())
            store(g, found)
            return None

        return run

    def _sets_of(self, op: Operand, instr: Instr) -> Callable[[Any], list[Array]]:
        """The lanes that act together: those of one member mask."""
        if isinstance(op, Imm):
            return lambda g: [g.lanes]
        get = self.get(op, "u32", instr)

        def sets(g: Lanes) -> list[Array]:
            given = get(g)[g.lanes]
            return [g.lanes[given == bits] for bits in np.unique(given)]

        return sets

    def op_activemask(self, instr: Instr, pc: int) -> Run:
        """``activemask``."""
        store = setter(instr.operands[0], "b32", instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            bits = sum(1 << int(i) for i in g.lanes)
            store(g, np.full(LANES, bits, np.uint32))

        return run

    def op_match(self, instr: Instr, pc: int) -> Run:
        """``match.sync``."""
        d, a, m = instr.operands
        kind, every = instr.parts[-1], instr.parts[1] == "all"
        first, second = (d.first, d.second) if isinstance(d, Pair) else (d, None)
        store, x, mask = (
            setter(first, "b32", instr),
            self.get(a, kind, instr),
            self._mask_of(m, instr, pc),
        )
        flag = setter(second, "pred", instr) if second is not None else None
        sets = self._sets_of(m, instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, mask(g), "match.sync", aligned=False):
                return BLOCK
            values = x(g)
            bits = np.zeros(LANES, np.uint32)
            alike = np.zeros(LANES, np.bool_)
            for lanes in sets(g):
                for lane in lanes:
                    bits[lane] = sum(1 << int(i) for i in lanes if values[i] == values[lane])
                alike[lanes] = bool((values[lanes] == values[lanes[0]]).all())
            if every:
                store(g, np.where(alike, bits, 0).astype(np.uint32))
                if flag is not None:
                    flag(g, alike)
            else:
                store(g, bits)
            return None

        return run

    def op_redux(self, instr: Instr, pc: int) -> Run:
        """``redux.sync``."""
        d, a, m = instr.operands
        kind = instr.parts[-1]
        op = instr.parts[2]
        store, x, mask = (
            setter(d, kind, instr),
            self.get(a, kind, instr),
            self._mask_of(m, instr, pc),
        )
        ops: dict[str, Any] = {
            "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
            "or": np.bitwise_or, "xor": np.bitwise_xor,
        }  # fmt: skip
        sets = self._sets_of(m, instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, mask(g), "redux.sync", aligned=False):
                return BLOCK
            given = x(g)
            found = np.zeros(LANES, given.dtype)
            for lanes in sets(g):
                found[lanes] = ops[op].reduce(given[lanes])
            store(g, found)
            return None

        return run

    def op_elect(self, instr: Instr, pc: int) -> Run:
        """``elect.sync``: the lowest lane of the mask (axiom ``elect_lowest``)."""
        d, m = instr.operands
        if not isinstance(d, Pair):
            raise refuse(instr)
        mask, sets = self._mask_of(m, instr, pc), self._sets_of(m, instr)
        lane_out, flag = setter(d.first, "b32", instr), setter(d.second, "pred", instr)
        which = 0 if self.axioms["elect_lowest"] else -1

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, mask(g), "elect.sync", aligned=False):
                return BLOCK
            leaders = np.zeros(LANES, np.uint32)
            for lanes in sets(g):
                leaders[lanes] = lanes[which]
            lane_out(g, leaders)
            flag(g, np.equal(leaders, EVERY))
            return None

        return run

    # -- matrices between shared memory and registers

    def op_ldmatrix(self, instr: Instr, pc: int) -> Run:
        """``ldmatrix`` of 8x8 matrices of 16 bits, transposed or not."""
        d, a = instr.operands
        n = next((int(p[1:]) for p in instr.parts if p in ("x1", "x2", "x4")), 0)
        trans = "trans" in instr.parts
        if not n or "m8n8" not in instr.parts or instr.parts[-1] != "b16":
            raise refuse(instr)
        items = d.items if isinstance(d, Vec) else (d,)
        stores = [setter(o, "b32", instr) for o in items]
        address = self.address(a, instr)
        span = np.arange(16)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "ldmatrix.sync.aligned", aligned=True):
                return BLOCK
            cta = g.warp.cta
            rows = EVERY[: 8 * n]
            where = address(g)[rows] & WINDOW
            self.place(g, pc, "shared", where, 16, rows)
            start = self.shared_index(g, pc, where, 16, cta)
            index = start[:, None] + span
            threads = g.warp.threads[rows]
            event = self.event(
                g,
                instr,
                pc,
                write=False,
                starts=start,
                width=16,
                components=threads + (cta.cluster.clocks.cluster << 18),
                values=cta.cluster.clocks.epochs(threads),
            )
            event.lanes = rows
            cta.cluster.shared.access(
                cta.cluster.clocks, threads, index, event, lambda c: self.conflict(c, "shared", cta)
            )
            tiles = (
                np.ascontiguousarray(cta.cluster.shared.data[index])
                .view(np.uint16)
                .reshape(n, 8, 8)
            )
            if trans:
                tiles = np.ascontiguousarray(tiles.transpose(0, 2, 1))
            words = tiles.reshape(n, 64).view(np.uint32)  # lane l: row l // 4, pair l % 4
            for i, store in enumerate(stores):
                store(g, words[i].copy())
            return None

        return run

    def op_stmatrix(self, instr: Instr, pc: int) -> Run:
        """``stmatrix``."""
        a, v = instr.operands
        n = next((int(p[1:]) for p in instr.parts if p in ("x1", "x2", "x4")), 0)
        trans = "trans" in instr.parts
        if not n or "m8n8" not in instr.parts or instr.parts[-1] != "b16":
            raise refuse(instr)
        items = v.items if isinstance(v, Vec) else (v,)
        gets = [self.get(o, "b32", instr) for o in items]
        address = self.address(a, instr)
        span = np.arange(16)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "stmatrix.sync.aligned", aligned=True):
                return BLOCK
            cta = g.warp.cta
            rows = EVERY[: 8 * n]
            where = address(g)[rows] & WINDOW
            self.place(g, pc, "shared", where, 16, rows)
            start = self.shared_index(g, pc, where, 16, cta)
            tiles = np.stack([x(g) for x in gets]).view(np.uint16).reshape(n, 8, 8)
            if trans:
                tiles = np.ascontiguousarray(tiles.transpose(0, 2, 1))
            raw = np.ascontiguousarray(tiles.reshape(8 * n, 8)).view(np.uint8)
            threads = g.warp.threads[rows]
            event = self.event(
                g,
                instr,
                pc,
                write=True,
                starts=start,
                width=16,
                components=threads + (cta.cluster.clocks.cluster << 18),
                values=cta.cluster.clocks.epochs(threads),
            )
            event.lanes = rows
            index = start[:, None] + span
            cta.cluster.shared.access(
                cta.cluster.clocks,
                threads,
                index,
                event,
                lambda c: self.conflict(c, "shared", cta),
                new=raw,
            )
            cta.cluster.shared.data[index] = raw
            self.changes += 1
            return None

        return run

    # -- addresses as values

    def op_cvta(self, instr: Instr, pc: int) -> Run:
        """``cvta`` and ``cvta.to``."""
        d, a = instr.operands
        kind = instr.parts[-1]
        space = self.space_of(instr)
        base = {"shared": SHARED_AT, "local": LOCAL_AT, "param": PARAM_AT}.get(space, 0)
        store = setter(d, kind, instr)
        if isinstance(a, Sym):
            own = self.names.get(a.name, ("", 0))[0]
            if own == "frame":
                base = LOCAL_AT
        x = (
            self.get(a, "u64", instr)
            if not isinstance(a, Reg) or a.type[-2:] == "64"
            else self.get(a, "u32", instr)
        )
        if "to" in instr.parts:
            mask = np.uint64(WINDOW)
            if space in ("global", "const"):
                return lambda g: store(g, x(g))
            return lambda g: store(g, x(g).astype(np.uint64) & mask)
        return lambda g: store(g, (x(g).astype(np.uint64) + np.uint64(base)))

    def op_isspacep(self, instr: Instr, pc: int) -> Run:
        """``isspacep``."""
        d, a = instr.operands
        space = self.space_of(instr)
        kind = {"global": 0, "shared": 1, "local": 2, "param": 4, "const": 9}[space]
        store, x = setter(d, "pred", instr), self.get(a, "u64", instr)
        return lambda g: store(g, (x(g) >> np.uint64(40)) == kind)

    def op_mapa(self, instr: Instr, pc: int) -> Run:
        """``mapa``: the address of the same variable in another CTA of the cluster."""
        d, a, b = instr.operands
        kind = instr.parts[-1]
        generic = "shared::cluster" not in instr.parts
        x, y = self.get(a, kind, instr), self.get(b, "u32", instr)
        store, dtype = setter(d, kind, instr), dtype_of(kind, instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            offset = x(g).astype(np.uint64) & np.uint64((1 << RANK_SHIFT) - 1)
            rank = y(g).astype(np.uint64)
            if int(rank[g.lanes].max()) >= g.warp.cta.cluster.size:
                self.fault(g, pc, "RANK", "mapa with a rank outside of the cluster")
            out = offset | ((rank + np.uint64(1)) << np.uint64(RANK_SHIFT))
            if generic:
                out = out + np.uint64(SHARED_AT)
            store(g, out.astype(dtype))

        return run

    def op_getctarank(self, instr: Instr, pc: int) -> Run:
        """``getctarank``."""
        d, a = instr.operands
        wide = isinstance(a, Reg) and a.type.endswith("64")
        x = self.get(a, "u64" if wide else "u32", instr)
        store = setter(d, "u32", instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            upper = (x(g).astype(np.uint64) >> np.uint64(RANK_SHIFT)) & np.uint64(0xFF)
            store(g, np.where(upper == 0, g.warp.cta.rank, upper - np.uint64(1)).astype(np.uint32))

        return run

    def _nothing(self, instr: Instr, pc: int) -> Run:
        """Hints without effect on values or order."""
        return lambda g: None

    op_prefetch = op_prefetchu = op_applypriority = op_discard = op_nanosleep = _nothing
    op_pmevent = _nothing

    def op_createpolicy(self, instr: Instr, pc: int) -> Run:
        """A cache policy: any number."""
        store = setter(instr.operands[0], "b64", instr)
        held = np.zeros(LANES, np.uint64)
        return lambda g: store(g, held)


def _fence_between(mine: Cta, giver: Cta) -> int:
    """The plane of a fence wide enough for both."""
    if mine is giver:
        return BLOCK_FENCE
    return CLUSTER if mine.cluster is giver.cluster else DEVICE


def _only_reads(op: str, values: list[list[Array]]) -> bool:
    """Whether an atomic operation leaves its word as it is: a read by other means."""
    if op == "cas":
        return all((a == b).all() for a, b in zip(*values, strict=True))
    return op in ("add", "or", "xor") and all(not v.any() for row in values for v in row)


def _combine(op: str, kind: str, have: Any, given: list[Any]) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912
    """One atomic operation."""
    value = given[0]
    if op == "exch":
        return value
    if op == "cas":
        return given[1] if have == value else have
    if op in ("inc", "dec"):
        top, old = int(value), int(have)
        if op == "inc":
            return 0 if old >= top else old + 1
        return top if old == 0 or old > top else old - 1
    if kind in ("f16", "bf16", "f16x2", "bf16x2"):
        load, keep = (
            (f16_to_f32, f32_to_f16) if kind.startswith("f16") else (bf16_to_f32, f32_to_bf16)
        )
        parts = 2 if kind.endswith("x2") else 1
        a = load(np.array([have]).view(np.uint16)[:parts])
        b = load(np.array([value]).view(np.uint16)[:parts])
        out = {"add": a + b, "min": np.fmin(a, b), "max": np.fmax(a, b)}[op]
        return keep(out.astype(np.float32)).view(np.uint32 if parts == 2 else np.uint16)[0]
    if op == "add":
        return have + value
    if op == "min":
        return min(have, value)
    if op == "max":
        return max(have, value)
    if op == "and":
        return have & value
    return have | value if op == "or" else have ^ value


_ = (Special, stored, put)
