"""Asynchronous copies and matrix products: cp.async, bulk and tensor copies, wgmma, mma.sync."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.formats import (
    SIZES,
    bf16_to_f32,
    e4m3_to_f32,
    e5m2_to_f32,
    f16_to_f32,
    f32_to_f16,
)
from warploom.check.launch import SWIZZLES, TensorMap
from warploom.check.ptx.alu import _U, LANES, refuse, setter
from warploom.check.ptx.clocks import CONTROL, FULL, SHARED, STEP
from warploom.check.ptx.loads import UNDEFINED
from warploom.check.ptx.machine import (
    BLOCK,
    RANK_SHIFT,
    WINDOW,
    Lanes,
    Warp,
)
from warploom.check.ptx.maps import Maps
from warploom.check.ptx.parse import TYPE_BYTES, Addr, Imm, Instr, Operand, Pair, Reg, Vec
from warploom.check.ptx.results import place
from warploom.report import Verdict

Array = NDArray[Any]
Run = Callable[[Any], Any]
MAX_BULK = 1 << 20


def _tf32(bits: Array) -> Array:
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


_LOAD: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "f16": (2, f16_to_f32), "bf16": (2, bf16_to_f32), "tf32": (4, _tf32),
    "e4m3": (1, e4m3_to_f32), "e5m2": (1, e5m2_to_f32),
    "s8": (1, lambda a: a.view(np.int8).astype(np.float64)),
    "u8": (1, lambda a: a.astype(np.float64)),
}  # fmt: skip


def swizzled(address: Array, span: int) -> Array:
    """The address after the XOR of a swizzle of ``span`` bytes."""
    if not span:
        return address
    rows = {128: 7, 64: 3, 32: 1}[span]
    return address ^ (((address >> 7) & rows) << 4)


@lru_cache(maxsize=512)
def _offsets(
    rows: int, depth: int, size: int, span: int, lead: int, stride: int, major: str
) -> Array:
    """Bytes from the start of an operand to (row, k) before the swizzle."""
    r, k = np.arange(rows)[:, None], np.arange(depth)[None, :]
    if major == "k":
        kb = k * size
        if span:
            return (r // 8) * stride + (r % 8) * span + kb + 0 * r
        return (r // 8) * stride + (r % 8) * 16 + (kb // 16) * lead + kb % 16
    rb = r * size
    if span:
        return (rb // span) * lead + rb % span + (k // 8) * stride + (k % 8) * span
    return (rb // 16) * stride + rb % 16 + (k // 8) * lead + (k % 8) * 16


class Tensors(Maps):
    """Asynchronous instructions."""

    # -- registers in flight

    def product_registers(self) -> frozenset[int]:
        """Registers that some wgmma uses."""
        found: set[int] = set()
        for i in self.program.instrs:
            if i.parts[0] == "wgmma" and i.parts[1].startswith("mma_async"):
                for o in i.operands[:2]:
                    if isinstance(o, Vec):
                        found |= {r.slot for r in o.items if isinstance(r, Reg)}
        return frozenset(found)

    def watched(self, run: Run, instr: Instr, pc: int, touched: frozenset[int]) -> Run:
        """The function, with a look at registers in flight where it touches such."""
        if not touched or instr.parts[0] == "wgmma":
            return run
        used: set[int] = set()

        def visit(o: Operand) -> None:
            if isinstance(o, Reg):
                used.add(o.slot)
            elif isinstance(o, Vec):
                for x in o.items:
                    visit(x)
            elif isinstance(o, Addr):
                visit(o.base)
                for x in o.rest:
                    visit(x)
            elif isinstance(o, Pair):
                visit(o.first)
                visit(o.second)

        for o in instr.operands:
            visit(o)
        mine = tuple(used & touched)
        if not mine:
            return run
        no_source = instr.parts[0] in ("st", "red", "stmatrix", "cp", "bar")
        first = instr.operands[0]
        written: set[int] = set()
        if not no_source:
            if isinstance(first, Reg):
                written = {first.slot}
            elif isinstance(first, Vec):
                written = {r.slot for r in first.items if isinstance(r, Reg)}

        def looked(g: Lanes) -> Any:  # noqa: ANN401
            warp = g.warp
            if warp.flying:
                for slot in mine:
                    held = warp.flying.get(slot)
                    if held is not None:
                        self._in_flight(g, pc, slot, held, slot in written)
                        break
            result = run(g)
            if result is not BLOCK:
                warp.sequence += 1
                for slot in mine:
                    warp.touched[slot] = (warp.sequence, pc)
            return result

        return looked

    def _in_flight(
        self, g: Lanes, pc: int, slot: int, held: tuple[int, str, int], writes: bool
    ) -> None:
        _, what, at = held
        name = next(
            (
                o.name
                for i in (self.program.instrs[at],)
                for v in i.operands
                if isinstance(v, Vec)
                for o in v.items
                if isinstance(o, Reg) and o.slot == slot
            ),
            "?",
        )
        kind = "an accumulator" if what == "d" else "an A operand"
        self.findings.between(
            self,
            "REGISTER-IN-FLIGHT",
            place(self, g.warp, at, None, g.lanes),
            g,
            pc,
            f"{name} is {kind} of a wgmma in flight and is {'written' if writes else 'read'} "
            "before a "
            "wgmma.wait_group that covers it (ptxas may insert a wait; the PTX as written "
            "has none)",
            "wgmma.wait_group before the access",
            kind=Verdict.RACE,
        )

    # -- wgmma

    def op_wgmma(self, instr: Instr, pc: int) -> Run:
        """``wgmma.*``."""
        what = instr.parts[1]
        if what == "fence":
            return self._wg_fence(instr, pc)
        if what == "commit_group":
            return self._wg_commit(instr, pc)
        if what == "wait_group":
            return self._wg_wait(instr, pc)
        if what == "mma_async":
            return self._wg_product(instr, pc)
        raise refuse(instr)

    def _wg_together(self, g: Lanes, pc: int, what: str) -> bool:
        return self.converged(g, pc, g.warp.live, f"{what} (aligned)", aligned=True)

    def _wg_fence(self, instr: Instr, pc: int) -> Run:
        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self._wg_together(g, pc, "wgmma.fence"):
                return BLOCK
            g.warp.sequence += 1
            g.warp.fenced = g.warp.sequence
            return None

        return run

    def _wg_commit(self, instr: Instr, pc: int) -> Run:
        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self._wg_together(g, pc, "wgmma.commit_group"):
                return BLOCK
            warp = g.warp
            warp.committed += 1
            warp.opened = False
            if not self.axioms["wgmma_per_warp"]:
                warp.commits.append(warp.cta.cluster.clocks.known[STEP, g.threads].max(axis=0))
                self.changes += 1
            return None

        return run

    def _wg_wait(self, instr: Instr, pc: int) -> Run:
        (n,) = instr.operands
        count = int(n.value) if isinstance(n, Imm) else 0

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self._wg_together(g, pc, "wgmma.wait_group"):
                return BLOCK
            warp = g.warp
            done = warp.committed - count
            if not self.axioms["wgmma_per_warp"] and not self._all_committed(g, done):
                return BLOCK
            warp.flying = {s: f for s, f in warp.flying.items() if f[0] > done}
            if warp.wgmma >= 0 and done > 0:
                clocks = warp.cta.cluster.clocks
                clocks.learn(g.threads, warp.wgmma, done)
                if not self.axioms["wgmma_per_warp"]:
                    self._learn_all(g, done)
            return None

        return run

    def _mates(self, warp: Warp) -> list[Warp]:
        first = warp.index // 4 * 4
        return warp.cta.warps[first : first + 4]

    def _all_committed(self, g: Lanes, done: int) -> bool:
        """A group of the warpgroup is complete only after all of its warps have issued it."""
        late = [w for w in self._mates(g.warp) if w.committed < done and w.live.any()]
        g.wait = WaitGroup(late, done) if late else None
        return not late

    def _learn_all(self, g: Lanes, done: int) -> None:
        """One warp's wait covers the products of its warpgroup."""
        clocks = g.warp.cta.cluster.clocks
        for other in self._mates(g.warp):
            if other.wgmma >= 0:
                clocks.learn(g.threads, other.wgmma, min(done, other.committed))
            if len(other.commits) >= done:
                row = other.commits[done - 1]
                part = clocks.known[STEP, g.threads, : row.size]
                clocks.known[STEP, g.threads, : row.size] = np.maximum(part, row)

    def _wg_product(self, instr: Instr, pc: int) -> Run:  # noqa: C901, PLR0915
        parts = instr.parts
        sparse = any(p == "sp" or p.startswith("sp::") for p in parts)
        binary = "b1" in parts
        shape = next(p for p in parts if p.startswith("m64n"))
        n, depth = (int(x) for x in shape[4:].split("k"))
        types = parts[parts.index(shape) + 1 :]
        types = tuple(t for t in types if t in ("f32", "f16", "s32", "b1", *_LOAD))
        out, ka, kb = types[0], types[1], types[2]
        d, a, b, *rest = instr.operands
        if not isinstance(d, Vec):
            raise refuse(instr)
        if sparse:
            rest = rest[2:]  # metadata and selector
        if binary:
            ka = kb = "u8"
            depth //= 8
        size, load_a = _LOAD[ka]
        _, load_b = _LOAD[kb]
        if size * depth != (64 if sparse else 32):
            raise refuse(instr, "shape")
        taken = depth // 2 if sparse else depth  # of A, along k
        slots = [r.slot for r in d.items if isinstance(r, Reg)]
        expected = n // 4 if out == "f16" else n // 2
        if len(slots) != expected:
            raise refuse(instr, f"{len(slots)} accumulators of {expected}")
        scale_d = self._flag(rest[0], instr) if rest else None
        if not all(isinstance(x, Imm) for x in rest[1:]):
            raise refuse(instr, "immediates")
        numbers = [int(x.value) for x in rest[1:] if isinstance(x, Imm)]
        scale_a, scale_b = [*numbers, 1, 1][:2] if len(numbers) >= 2 else (1, 1)
        turns = numbers[2:]
        a_slots: list[int] = []
        if isinstance(a, Vec):
            a_slots = [r.slot for r in a.items if isinstance(r, Reg)]
            turn_a, turn_b = 0, turns[0] if turns else 0
            desc_a = None
        else:
            turn_a, turn_b = (turns[0], turns[1]) if len(turns) >= 2 else (0, 0)
            desc_a = self.get(a, "b64", instr)
        desc_b = self.get(b, "b64", instr)
        integer = out == "s32"

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self._wg_together(g, pc, "wgmma.mma_async"):
                return BLOCK
            warp = g.warp
            cta = warp.cta
            clocks = cta.cluster.clocks
            self._wg_rules(g, pc, slots, a_slots)
            if warp.wgmma < 0:
                warp.wgmma = clocks.component()
            group = warp.committed + 1
            regs = warp.R
            row = 16 * (warp.index % 4)
            bytes_b = self._operand_bytes(g, pc, desc_b(g), n, depth, size, turn_b, 0, n)
            wanted = [bytes_b]
            if desc_a is not None:
                bytes_a = self._operand_bytes(
                    g, pc, desc_a(g), 64, taken, size, turn_a, row, row + 16
                )
                wanted.append(bytes_a)
                if not self.axioms["wgmma_rows"]:
                    wanted[-1] = self._operand_bytes(
                        g, pc, desc_a(g), 64, taken, size, turn_a, 0, 64
                    )
            self._wg_reads(g, instr, pc, wanted, size, group)
            data = cta.cluster.shared.data
            view = data.view(_U[size])
            right = load_b(view[bytes_b // size].reshape(-1)).reshape(n, depth)
            if sparse:
                self.no_values(instr)
                left, right = np.full((16, 1), np.nan), np.ones((n, 1))
            elif desc_a is not None:
                left = load_a(view[bytes_a // size].reshape(-1)).reshape(16, depth)
            else:
                left = _fragment_a([regs[s] for s in a_slots], size, load_a)
            if binary:
                left, right = (
                    np.unpackbits(v.astype(np.uint8), axis=1).astype(np.float64)
                    for v in (left, right)
                )
            if integer and sparse:
                product = np.full((16, n), float(UNDEFINED))
            elif integer:
                product = left @ right.T
            else:
                # In double precision, so that an element does not depend on its place in the tile.
                product = left.astype(np.float64) @ right.astype(np.float64).T
                if scale_a * scale_b < 0:
                    product = -product
            keeps = scale_d is None or bool(scale_d(g)[g.lanes[0]])
            total = product
            if keeps:
                total = total + _accumulator([regs[s] for s in slots], n, out)
            for s, v in zip(slots, _as_registers(total, n, out), strict=True):
                regs[s] = v
            for s in slots:
                warp.flying[s] = (group, "d", pc)
            for s in a_slots:
                warp.flying[s] = (group, "a", pc)
            warp.opened = True
            warp.products.append(pc)
            visits = warp.visits
            visits[pc] = visits.get(pc, 0) + 1
            self.changes += 1
            return None

        return run

    def no_values(self, instr: Instr) -> None:
        """An instruction whose result is not computed: only order is checked from here on."""
        self.valueless.setdefault(instr.line, instr.op)

    def _flag(self, op: Operand, instr: Instr) -> Callable[[Any], Array]:
        if isinstance(op, Imm):
            held = np.full(LANES, bool(op.value))
            return lambda g: held
        return self.get(op, "pred", instr)

    def _wg_rules(self, g: Lanes, pc: int, slots: list[int], a_slots: list[int]) -> None:
        warp = g.warp
        if warp.index // 4 * 4 + 4 > warp.cta.warp_count:
            self.fault(
                g,
                pc,
                "WARPGROUP",
                "wgmma by warps that form no whole warpgroup",
                "a block of a multiple of 128 threads",
                stop=False,
            )
        fenced = warp.fenced
        if fenced < 0:
            self.findings.fault(
                self,
                g,
                pc,
                "WGMMA-FENCE",
                "no wgmma.fence before the warp's first wgmma",
                "wgmma.fence.sync.aligned before the first wgmma.mma_async",
            )
            warp.fenced = warp.sequence
        for s in (*slots, *a_slots):
            touch = warp.touched.get(s)
            if touch is not None and touch[0] > fenced:
                self.findings.between(
                    self,
                    "WGMMA-FENCE",
                    place(self, warp, touch[1], None, g.lanes),
                    g,
                    pc,
                    "a register of this wgmma is accessed by another instruction after the last "
                    "wgmma.fence",
                    "wgmma.fence.sync.aligned between the register access and the wgmma",
                    kind=Verdict.INVALID,
                    once=True,
                )
                break
        for s in a_slots:
            held = warp.flying.get(s)
            if held is not None and held[1] == "d":
                self._in_flight(g, pc, s, held, False)
                break
        for s in slots:
            held = warp.flying.get(s)
            if held is not None and held[1] == "a":
                self._in_flight(g, pc, s, held, True)
                break

    def _operand_bytes(
        self,
        g: Lanes,
        pc: int,
        descriptors: Array,
        rows: int,
        depth: int,
        size: int,
        turned: int | None,
        low: int,
        high: int,
    ) -> Array:
        """The first byte of every element of an operand in shared memory."""
        desc = int(descriptors[g.lanes[0]])
        if (descriptors[g.lanes] != descriptors[g.lanes[0]]).any():
            self.fault(
                g,
                pc,
                "DESCRIPTOR",
                "lanes of a warp give different matrix descriptors",
                "the same descriptor in all threads",
            )
        start = (desc & 0x3FFF) << 4
        lead, stride = ((desc >> 16) & 0x3FFF) << 4, ((desc >> 32) & 0x3FFF) << 4
        base = (desc >> 49) & 7
        span = {0: 0, 1: 128, 2: 64, 3: 32}[desc >> 62]
        major = "mn" if turned else "k"
        if turned and size != 2:
            self.fault(
                g, pc, "DESCRIPTOR", "a transposed operand of a type that is not 16 bits wide"
            )
        offsets = _offsets(rows, depth, size, span, lead, stride, major)[low:high]
        cta = g.warp.cta
        address = start + offsets
        if base and span:
            # The pattern starts ``base`` rows of 128 bytes off a boundary.
            shift = base << 7
            address = swizzled(address - shift, span) + shift
        else:
            address = swizzled(address, span)
        if int(address.min()) < 1024 or int(address.max()) + size > self.shared_end:
            self.fault(
                g,
                pc,
                "OUT-OF-BOUNDS",
                "a wgmma operand at "
                f"{int(address.min()):#x}..{int(address.max()) + size - 1:#x} of "
                f"shared memory that ends at {self.shared_end:#x}",
                "mend the descriptor (start, leading and stride offsets, swizzle)",
            )
        return address + cta.rank * cta.cluster.stride

    def _wg_reads(
        self, g: Lanes, instr: Instr, pc: int, operands: list[Array], size: int, group: int
    ) -> None:
        """Operands are read through the async proxy until the group is waited for."""
        warp = g.warp
        cta = warp.cta
        clocks = cta.cluster.clocks
        component = np.array([clocks.encoded(warp.wgmma)])
        event = self.event(
            g,
            instr,
            pc,
            write=False,
            proxy="async",
            components=component,
            values=np.array([group]),
            what="wgmma",
        )
        warp.visits[pc] -= 1
        event.lanes = g.lanes[:1]
        view = _WarpView(clocks, g.threads)
        for found in operands:
            first = np.unique(found.reshape(-1) & ~15)  # whole 16-byte units
            index = (first[:, None] + np.arange(16)).reshape(1, -1)
            cta.cluster.shared.access(
                view,
                _ONE,
                index,
                event,
                lambda c: self.conflict(c, "shared", cta),
            )

    # -- mma.sync

    def op_mma(self, instr: Instr, pc: int) -> Run:
        """``mma.sync`` m16n8k16/k8/k32."""
        parts = instr.parts
        shape = next((p for p in parts if p.startswith("m16n8k")), "")
        if not shape or "sp" in parts or "block_scale" in parts:
            raise refuse(instr)
        depth = int(shape[6:])
        types = [t for t in parts[parts.index(shape) + 1 :] if t in ("f32", "f16", "s32", *_LOAD)]
        out, ka, kb, kc = types
        d, a, b, c = instr.operands
        if not all(isinstance(o, Vec) for o in (d, a, b, c)) or ka not in _LOAD:
            raise refuse(instr)
        size, load = _LOAD[ka]
        load_b = _LOAD[kb][1]
        if size * depth not in (16, 32) or out != kc:
            raise refuse(instr, "shape")
        stores = [setter(o, "b32", instr) for o in d.items]  # type: ignore[union-attr]
        ga, gb, gc = ([self.get(o, "b32", instr) for o in v.items] for v in (a, b, c))  # type: ignore[union-attr]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "mma.sync.aligned", aligned=True):
                return BLOCK
            left = _fragment_a([x(g) for x in ga], size, load)
            right = _fragment_b([x(g) for x in gb], size, load_b)
            total = left.astype(np.float64) @ right.astype(np.float64).T
            total = total + _accumulator([x(g) for x in gc], 8, out)
            for store, v in zip(stores, _as_registers(total, 8, out), strict=True):
                store(g, v)
            return None

        return run

    # -- cp.async of Ampere

    def op_cp(self, instr: Instr, pc: int) -> Run:
        """``cp.async*``."""
        parts = instr.parts
        if parts[1] == "reduce" or "bulk" in parts:
            return self._bulk(instr, pc)
        if parts[1] != "async":
            raise refuse(instr)
        if "commit_group" in parts:
            return self._cp_commit
        if "wait_group" in parts or "wait_all" in parts:
            return self._cp_wait(instr, pc)
        if "mbarrier" in parts:
            return self._cp_arrive(instr, pc)
        return self._cp_copy(instr, pc)

    def _copies(self, warp: Warp) -> int:
        if warp.copies < 0:
            clocks = warp.cta.cluster.clocks
            found = [clocks.component() for _ in range(LANES)]
            warp.copies = found[0]
        return warp.copies

    def _cp_commit(self, g: Lanes) -> None:
        g.warp.copy_groups[g.lanes] += 1

    def _cp_wait(self, instr: Instr, pc: int) -> Run:
        every = "wait_all" in instr.parts
        n = 0 if every else int(instr.operands[0].value)  # type: ignore[union-attr]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            warp = g.warp
            base = self._copies(warp)
            clocks = warp.cta.cluster.clocks
            if every:
                warp.copy_groups[g.lanes] += 1
            done = warp.copy_groups[g.lanes] - n
            columns = base + g.lanes
            clocks.known[FULL, g.threads, columns] = np.maximum(
                clocks.known[FULL, g.threads, columns], done
            )
            clocks.known[CONTROL, g.threads, columns] = np.maximum(
                clocks.known[CONTROL, g.threads, columns], done
            )

        return run

    def _cp_arrive(self, instr: Instr, pc: int) -> Run:
        """``cp.async.mbarrier.arrive``: an arrival when the thread's copies are done."""
        address = self.address(instr.operands[0], instr)
        noinc = "noinc" in instr.parts

        def run(g: Lanes) -> Any:  # noqa: ANN401
            where = address(g)
            warp = g.warp
            base = self._copies(warp)
            clocks = warp.cta.cluster.clocks
            for i, lane in enumerate(g.lanes.tolist()):
                thread = g.threads[i : i + 1]
                barrier = self._found(g, pc, int(where[lane]), thread)
                stamp = clocks.stamp(thread)
                rows = stamp[clocks.cluster]
                value = int(warp.copy_groups[lane]) + 1
                rows[FULL, base + lane] = max(int(rows[FULL, base + lane]), value)
                rows[CONTROL, base + lane] = max(int(rows[CONTROL, base + lane]), value)
                if not noinc:
                    barrier.pending += 1
                self.arrive(g, pc, barrier, thread, 1, 0, "", "cta", stamp=stamp)
                warp.copy_groups[lane] += 1  # later copies are not covered
            clocks.tick(g.threads)

        return run

    def _cp_copy(self, instr: Instr, pc: int) -> Run:
        d, s, n, *rest = instr.operands
        to, source = self.address(d, instr), self.address(s, instr)
        width = int(n.value) if isinstance(n, Imm) else 0
        if width not in (4, 8, 16):
            raise refuse(instr, "size")
        extra = [o for o in rest if not (isinstance(o, Reg) and o.type in ("b64", "u64"))]
        size = None
        ignore = None
        if extra:
            if isinstance(extra[0], Reg) and extra[0].type == "pred":
                ignore = self.get(extra[0], "pred", instr)
            else:
                size = self.get(extra[0], "u32", instr)
        span = np.arange(width)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            warp, cta, lanes = g.warp, g.warp.cta, g.lanes
            clocks = cta.cluster.clocks
            base = self._copies(warp)
            where = to(g)[lanes] & WINDOW
            self.place(g, pc, "shared", where, width, lanes)
            start = self.shared_index(g, pc, where, width, cta)
            have = np.full(len(lanes), width) if size is None else size(g)[lanes].astype(np.int64)
            if ignore is not None:
                have = np.where(ignore(g)[lanes], 0, have)
            if (have > width).any():
                self.fault(g, pc, "SIZE", "cp.async with a source size above the copy's size")
            components = clocks.encoded(base) + lanes
            values = warp.copy_groups[lanes] + 1
            raw = np.zeros((len(lanes), width), np.uint8)
            for k in np.unique(have):
                k = int(k)  # noqa: PLW2901
                if not k:
                    continue
                rows = np.nonzero(have == k)[0]
                addresses = source(g)[lanes][rows]
                first = self.global_index(g, pc, addresses, k)
                read = self.event(
                    g,
                    instr,
                    pc,
                    write=False,
                    starts=first,
                    width=k,
                    components=components[rows],
                    values=values[rows],
                    what="cp.async",
                )
                read.lanes = lanes[rows]
                index = first[:, None] + np.arange(k)
                self.before_grid_wait(g, pc, g.threads[rows], write=False)
                self.memory.access(
                    clocks, g.threads[rows], index, read, lambda c: self.conflict(c, "global", cta)
                )
                raw[rows[:, None], np.arange(k)] = self.memory.data[index]
                self.moved["global_read"] += k * len(rows)
            event = self.event(
                g,
                instr,
                pc,
                write=True,
                starts=start,
                width=width,
                components=components,
                values=values,
                what="cp.async",
            )
            index = start[:, None] + span
            cta.cluster.shared.access(
                clocks, g.threads, index, event, lambda c: self.conflict(c, "shared", cta), new=raw
            )
            cta.cluster.shared.data[index] = raw
            self.changes += 1

        return run

    # -- bulk copies

    def _group(self, g: Lanes, lane: int) -> list[int]:
        """Components (reads, results), groups committed and whether one is open, of a thread."""
        result = g.warp.bulk.get(lane)
        if result is None:
            clocks = g.warp.cta.cluster.clocks
            result = g.warp.bulk[lane] = [clocks.component(), clocks.component(), 0, 0, 0, pc_none]
        return result

    def _bulk(self, instr: Instr, pc: int) -> Run:
        parts = instr.parts
        if "commit_group" in parts:
            return self._bulk_commit
        if "wait_group" in parts:
            return self._bulk_wait(instr, pc)
        if "prefetch" in parts:
            return lambda g: None
        if "tensor" in parts:
            if "im2col" in instr.op or "tile::gather4" in parts or "tile::scatter4" in parts:
                raise refuse(instr)
            return self._tensor_copy(instr, pc)
        return self._plain_copy(instr, pc)

    def _bulk_commit(self, g: Lanes) -> None:
        for lane in g.lanes.tolist():
            held = self._group(g, lane)
            held[2] += 1
            held[3] = 0

    def _bulk_wait(self, instr: Instr, pc: int) -> Run:
        n = int(instr.operands[0].value)  # type: ignore[union-attr]
        read = "read" in instr.parts

        def run(g: Lanes) -> Any:  # noqa: ANN401
            clocks = g.warp.cta.cluster.clocks
            for i, lane in enumerate(g.lanes.tolist()):
                held = g.warp.bulk.get(lane)
                if held is None:
                    continue
                done = held[2] - n
                one = g.threads[i : i + 1]
                clocks.learn(one, held[0], done)
                held[4] = max(held[4], done)
                if not read:
                    clocks.learn(one, held[1], done)

        return run

    def _tensor_copy(self, instr: Instr, pc: int) -> Run:  # noqa: C901, PLR0915
        """``cp.async.bulk.tensor`` and ``cp.reduce.async.bulk.tensor``."""
        parts = instr.parts
        rank = next(int(p[0]) for p in parts if p in ("1d", "2d", "3d", "4d", "5d"))
        reduce = next(
            (p for p in parts if p in ("add", "min", "max", "inc", "dec", "and", "or", "xor")), ""
        )
        spaces = [p.split("::")[0] for p in parts if p.split("::")[0] in ("global", "shared")]
        load = spaces[0] == "shared"
        multicast = "multicast::cluster" in parts
        operands = list(instr.operands)
        if load:
            dst, src, bar, *more = operands
            mask = self.get(more[0], "u16", instr) if multicast else None
            if not isinstance(src, Addr) or len(src.rest) != 1:
                raise refuse(instr, "operands")
            target, where, barrier = (
                self.address(dst, instr),
                self.address(Addr(src.base, src.offset), instr),
                self.address(bar, instr),
            )
            coords = src.rest[0]
        else:
            dst, src, *more = operands
            if not isinstance(dst, Addr) or len(dst.rest) != 1:
                raise refuse(instr, "operands")
            target, where = (
                self.address(src, instr),
                self.address(Addr(dst.base, dst.offset), instr),
            )
            coords, barrier, mask = dst.rest[0], None, None
        if not isinstance(coords, Vec) or len(coords.items) != rank:
            raise refuse(instr, "coordinates")
        gets = [self.get(o, "s32", instr) for o in coords.items]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            for i, lane in enumerate(g.lanes.tolist()):
                thread = g.threads[i : i + 1]
                found, held = self.map_at(g, instr, pc, lane, thread, int(where(g)[lane]))
                if len(found.dims) != rank:
                    self.fault(
                        g, pc, "RANK", f"a {rank}d copy with a map of rank {len(found.dims)}"
                    )
                at = [int(x(g)[lane]) for x in gets]
                shared = int(target(g)[lane]) & WINDOW
                align = (
                    1024
                    if found.swizzle == "128B"
                    else {"64B": 512, "32B": 256}.get(found.swizzle, 128)
                )
                if shared % 128:
                    self.fault(
                        g,
                        pc,
                        "MISALIGNED",
                        f"a tensor copy to or from shared memory at {shared:#x}",
                        f"128-byte alignment ({align} for the swizzle pattern)",
                        lane=lane,
                    )
                index, inside = self._box(found, tuple(at))
                if load:
                    assert barrier is not None
                    ranks = self._masked(g, pc, lane, shared, mask)
                    self._land_box(
                        g,
                        instr,
                        pc,
                        lane,
                        thread,
                        found,
                        shared,
                        ranks,
                        index,
                        inside,
                        int(barrier(g)[lane]),
                        held,
                    )
                else:
                    self._store_box(
                        g, instr, pc, lane, thread, found, shared, index, inside, reduce, held
                    )
            self.changes += 1

        return run

    def _masked(self, g: Lanes, pc: int, lane: int, shared: int, mask: Any) -> list[int]:  # noqa: ANN401
        """The CTAs that a copy lands in."""
        cta = g.warp.cta
        if mask is None:
            upper = shared >> RANK_SHIFT & 0xFF
            return [upper - 1 if upper else cta.rank]
        bits = int(mask(g)[lane])
        result = [r for r in range(16) if bits >> r & 1]
        if not result or result[-1] >= cta.cluster.size:
            self.fault(
                g,
                pc,
                "MULTICAST",
                f"multicast mask {bits:#x} in a cluster of {cta.cluster.size}",
                "bits of CTAs of the cluster only",
            )
        return result

    def _box(self, found: TensorMap, at: tuple[int, ...]) -> tuple[Array, Array]:
        """The bytes of a box in global memory (innermost fastest) and which are inside."""
        size = SIZES[found.element]
        key = (found, at)
        have = self.boxes.get(key)
        if have is not None:
            return have
        steps = found.element_strides or (1,) * len(found.dims)
        offset = np.zeros((1,), np.int64)
        inside = np.ones((1,), np.bool_)
        strides = (size, *found.strides)
        for dim, extent, start, stride, step in zip(
            found.dims, found.box, at, strides, steps, strict=True
        ):
            place_ = start + step * np.arange(-(-extent // step))
            ok = (place_ >= 0) & (place_ < dim)
            offset = (np.where(ok, place_, 0)[:, None] * stride + offset[None, :]).reshape(-1)
            inside = (ok[:, None] & inside[None, :]).reshape(-1)
        base = (self.tensor_at[found.tensor] if found.tensor else 0) + found.offset
        index = ((base + offset)[:, None] + np.arange(size)).reshape(-1)
        inside = np.repeat(inside, size)
        if len(self.boxes) > 256:
            self.boxes.clear()
        self.boxes[key] = (index, inside)
        return index, inside

    def _check_box(self, g: Lanes, pc: int, found: TensorMap, index: Array, inside: Array) -> None:
        taken = index[inside]
        if taken.size and (int(taken.max()) >= self.valid.size or not self.valid[taken].all()):
            self.fault(
                g,
                pc,
                "OUT-OF-BOUNDS",
                f"the tensor map {'of ' + found.tensor if found.tensor else 'made by the kernel'} "
                "reaches beyond the tensor",
                "dims and strides of the map that fit the tensor",
            )

    def _shared_box(
        self, g: Lanes, pc: int, found: TensorMap, shared: int, count: int, rank: int
    ) -> Array:
        """The bytes of a box in shared memory, swizzled."""
        span = SWIZZLES[found.swizzle]
        offset = shared & ((1 << RANK_SHIFT) - 1)
        cta = g.warp.cta
        if offset < 1024 or offset + count > self.shared_end:
            self.fault(
                g,
                pc,
                "OUT-OF-BOUNDS",
                f"a copy of {count} bytes at {offset:#x} of shared memory "
                f"that ends at {self.shared_end:#x}",
            )
        other = cta.cluster.ctas[rank]
        if other.done and other is not cta:
            self.fault(
                g,
                pc,
                "EXITED",
                f"a copy to CTA {other.number}, which has exited",
                "a cluster barrier before the exit",
            )
        return swizzled(offset + np.arange(count), span) + rank * cta.cluster.stride

    def _land_box(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        lane: int,
        thread: Array,
        found: TensorMap,
        shared: int,
        ranks: list[int],
        index: Array,
        inside: Array,
        bar: int,
        held: Array | None,
    ) -> None:
        self._check_box(g, pc, found, index, inside)
        fill = 0
        raw = np.full(index.size, fill, np.uint8)
        raw[inside] = self.memory.data[index[inside]]
        if found.oob == "nan" and not inside.all():
            raw[~inside] = 0xFF
        self.moved["bulk_read"] += int(inside.sum())
        self._land(
            g,
            instr,
            pc,
            lane,
            thread,
            shared,
            ranks,
            raw,
            bar,
            index[inside],
            lambda rank: self._shared_box(g, pc, found, shared, index.size, rank),
            held,
        )

    def _land(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        lane: int,
        thread: Array,
        shared: int,
        ranks: list[int],
        raw: Array,
        bar: int,
        source: Array,
        placed: Callable[[int], Array],
        held: Array | None = None,
        *,
        proxy: str = "async",
        atomic: bool = False,
        combine: Callable[[Array, Array], Array] | None = None,
    ) -> None:
        """Bytes land in one or more CTAs and count on the barrier at the same offset there.

        ``combine``: of what is there and the bytes, for reductions.
        """
        cta = g.warp.cta
        cluster = cta.cluster
        clocks = cluster.clocks
        first = True
        for rank in ranks:
            upper = bar >> RANK_SHIFT & 0xFF
            at = (bar & ((1 << RANK_SHIFT) - 1)) | ((rank + 1) << RANK_SHIFT)
            if len(ranks) == 1 and upper:
                at = bar & WINDOW
            barrier = self._found(g, pc, at, thread)
            component = np.array([clocks.encoded(barrier.component)])
            value = np.array([barrier.phase + 1])
            if first:
                self.use_map(g, instr, pc, lane, thread, held, barrier.component, barrier.phase + 1)
            if first and source.size:
                self.before_grid_wait(g, pc, thread, write=False)
                read = self.event(
                    g,
                    instr,
                    pc,
                    write=False,
                    proxy="async",
                    components=component,
                    values=value,
                    what="bulk load",
                )
                g.warp.visits[pc] -= 1
                read.lanes = np.array([lane])
                self.memory.access(
                    clocks, thread, source[None, :], read, lambda c: self.conflict(c, "global", cta)
                )
            index = placed(rank)
            event = self.event(
                g,
                instr,
                pc,
                write=True,
                proxy=proxy,
                components=component,
                values=value,
                what="bulk load" if proxy == "async" else "asynchronous store",
                atomic=atomic,
                scope="cluster",
            )
            if not first:
                g.warp.visits[pc] -= 1
            first = False
            event.lanes = np.array([lane])
            cluster.shared.access(
                clocks,
                thread,
                index[None, :],
                event,
                lambda c: self.conflict(c, "shared", cta),
                war_fence=not self.axioms["war_proxy"],
            )
            there = cluster.shared.data
            there[index] = raw if combine is None else combine(there[index], raw)
            self.covers_barrier(g, pc, index)
            self.remember(cluster.ctas[rank], barrier.component, barrier.phase + 1, g, pc)
            self.land(g, pc, barrier, thread, raw.size)
            self.settle(g, pc, barrier)

    def _store_box(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        lane: int,
        thread: Array,
        found: TensorMap,
        shared: int,
        index: Array,
        inside: Array,
        reduce: str,
        held: Array | None,
    ) -> None:
        self._check_box(g, pc, found, index, inside)
        if held is not None:
            group = self._group(g, lane)
            self.use_map(g, instr, pc, lane, thread, held, group[0], group[2] + 1)
        source = self._shared_box(g, pc, found, shared, index.size, g.warp.cta.rank)
        self._send(
            g, instr, pc, lane, thread, source, source[inside], index[inside], reduce, found.element
        )

    def _send(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        lane: int,
        thread: Array,
        source: Array,
        taken: Array,
        index: Array,
        reduce: str,
        element: str,
    ) -> None:
        """Bytes leave shared memory for global memory, in the thread's open bulk group."""
        cta = g.warp.cta
        clocks = cta.cluster.clocks
        held = self._group(g, lane)
        held[3], held[5] = 1, pc
        value = np.array([held[2] + 1])
        read = self.event(
            g,
            instr,
            pc,
            write=False,
            proxy="async",
            components=np.array([clocks.encoded(held[0])]),
            values=value,
            what="bulk read",
        )
        g.warp.visits[pc] -= 1
        read.lanes = np.array([lane])
        cta.cluster.shared.access(
            clocks, thread, source[None, :], read, lambda c: self.conflict(c, "shared", cta)
        )
        if index.size == 0:
            return
        self._writable(g, pc, index[:1])
        self.before_grid_wait(g, pc, thread, write=True)
        raw = cta.cluster.shared.data[taken]
        write = self.event(
            g,
            instr,
            pc,
            write=True,
            proxy="async",
            components=np.array([clocks.encoded(held[1])]),
            values=value,
            atomic=bool(reduce),
            what="bulk write",
        )
        write.lanes = np.array([lane])
        self.memory.access(
            clocks,
            thread,
            index[None, :],
            write,
            lambda c: self.conflict(c, "global", cta),
            new=raw[None, :] if not reduce else None,
        )
        if reduce:
            raw = _reduced(self.memory.data[index], raw, reduce, element)
        self.memory.data[index] = raw
        self.moved["bulk_written"] += index.size

    def _plain_copy(self, instr: Instr, pc: int) -> Run:  # noqa: C901
        """``cp.async.bulk`` and ``cp.reduce.async.bulk`` of plain bytes."""
        parts = instr.parts
        spaces = [p for p in parts if p.split("::")[0] in ("global", "shared")]
        reduce = next(
            (p for p in parts if p in ("add", "min", "max", "inc", "dec", "and", "or", "xor")), ""
        )
        operands = list(instr.operands)
        to_shared = spaces[0].startswith("shared")
        from_shared = spaces[1].startswith("shared")
        multicast = "multicast::cluster" in parts
        if to_shared:
            dst, src, size, bar, *more = operands
            mask = self.get(more[0], "u16", instr) if multicast else None
            barrier = self.address(bar, instr)
        else:
            dst, src, size, *_ = operands
            mask, barrier = None, None
        target, source, count = (
            self.address(dst, instr),
            self.address(src, instr),
            self.get(size, "u32", instr),
        )
        element = parts[-1] if reduce else ""
        kind = _ELEMENTS.get(element, element)
        if to_shared and reduce and kind not in SIZES:
            raise refuse(instr, f"type .{element}")
        combine = partial(_reduced, op=reduce, element=kind) if to_shared and reduce else None

        def run(g: Lanes) -> Any:  # noqa: ANN401
            cta = g.warp.cta
            for i, lane in enumerate(g.lanes.tolist()):
                thread = g.threads[i : i + 1]
                n = int(count(g)[lane])
                to, at = int(target(g)[lane]), int(source(g)[lane])
                if n % 16 or to % 16 or at % 16 or n > MAX_BULK:
                    self.fault(
                        g,
                        pc,
                        "MISALIGNED",
                        f"a bulk copy of {n} bytes from {at:#x} to {to:#x}",
                        "16-byte alignment of addresses and size",
                        lane=lane,
                    )
                if n == 0:
                    continue
                if to_shared:
                    assert barrier is not None
                    ranks = self._masked(g, pc, lane, to & WINDOW, mask)
                    if from_shared:
                        first = int(self.shared_index(g, pc, np.array([at & WINDOW]), n, cta)[0])
                        own = first + np.arange(n)
                        raw = cta.cluster.shared.data[own].copy()
                        self._own_read(
                            g, instr, pc, lane, thread, own, int(barrier(g)[lane]), ranks
                        )
                        taken = np.zeros(0, np.int64)
                    else:
                        first = int(self.global_index(g, pc, np.array([at]), n)[0])
                        taken = first + np.arange(n)
                        raw = self.memory.data[taken].copy()
                        self.moved["bulk_read"] += n
                    offset = to & ((1 << RANK_SHIFT) - 1)
                    self._land(
                        g,
                        instr,
                        pc,
                        lane,
                        thread,
                        to & WINDOW,
                        ranks,
                        raw,
                        int(barrier(g)[lane]),
                        taken,
                        partial(self._flat, g, pc, offset, n),
                        atomic=bool(reduce),
                        combine=combine,
                    )
                else:
                    first = int(self.shared_index(g, pc, np.array([at & WINDOW]), n, cta)[0])
                    own = first + np.arange(n)
                    out = int(self.global_index(g, pc, np.array([to]), n)[0]) + np.arange(n)
                    self._send(
                        g,
                        instr,
                        pc,
                        lane,
                        thread,
                        own,
                        own,
                        out,
                        reduce,
                        kind,
                    )
            self.changes += 1

        return run

    def _flat(self, g: Lanes, pc: int, offset: int, n: int, rank: int) -> Array:
        where = np.array([offset | ((rank + 1) << RANK_SHIFT)])
        return int(self.shared_index(g, pc, where, n, g.warp.cta)[0]) + np.arange(n)

    def _own_read(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        lane: int,
        thread: Array,
        own: Array,
        bar: int,
        ranks: list[int],
    ) -> None:
        """A copy from shared to shared reads its source until its barrier's phase is complete."""
        cta = g.warp.cta
        clocks = cta.cluster.clocks
        upper = bar >> RANK_SHIFT & 0xFF
        at = bar & WINDOW if upper else (bar | ((ranks[0] + 1) << RANK_SHIFT))
        barrier = self._found(g, pc, at, thread)
        read = self.event(
            g,
            instr,
            pc,
            write=False,
            proxy="async",
            components=np.array([clocks.encoded(barrier.component)]),
            values=np.array([barrier.phase + 1]),
            what="bulk load",
        )
        read.lanes = np.array([lane])
        cta.cluster.shared.access(
            clocks, thread, own[None, :], read, lambda c: self.conflict(c, "shared", cta)
        )

    def store_async(self, instr: Instr, pc: int) -> Run:
        """``st.async`` and ``red.async``: a store to another CTA that counts on its mbarrier."""
        kind = instr.parts[-1]
        n = next((int(p[1:]) for p in instr.parts if p in ("v2", "v4")), 1)
        if kind not in TYPE_BYTES or (
            instr.parts[0] == "red" and kind not in ("u32", "s32", "u64")
        ):
            raise refuse(instr)
        a, v, bar = instr.operands
        items = v.items if isinstance(v, Vec) else (v,)
        size = TYPE_BYTES[kind]
        address, barrier = self.address(a, instr), self.address(bar, instr)
        gets = [
            self.get(o, f"b{8 * size}" if not isinstance(o, Imm) else kind, instr) for o in items
        ]
        op = next((p for p in instr.parts if p in ("add", "min", "max", "and", "or", "xor")), "")

        def run(g: Lanes) -> Any:  # noqa: ANN401
            cta = g.warp.cta
            for i, lane in enumerate(g.lanes.tolist()):
                thread = g.threads[i : i + 1]
                at = int(address(g)[lane]) & WINDOW
                where = self.shared_index(g, pc, np.array([at]), size * n, cta)
                rank = int(where[0]) // cta.cluster.stride
                values = np.array([x(g).view(_U[size])[lane] for x in gets], _U[size])
                raw = values.view(np.uint8).copy()
                index = int(where[0]) + np.arange(size * n)
                if op:
                    raw = _reduced(cta.cluster.shared.data[index], raw, op, kind.replace("s", "i"))
                self._land(
                    g,
                    instr,
                    pc,
                    lane,
                    thread,
                    at,
                    [rank],
                    raw,
                    int(barrier(g)[lane]),
                    np.zeros(0, np.int64),
                    partial(_same, index),
                    proxy="generic",  # relaxed stores: no part of the async proxy
                    atomic=bool(op),
                )

        return run

    # -- the end

    def leaving(self, g: Lanes, mask: Array) -> None:
        """A thread may not exit while its bulk stores may still read shared memory."""
        for lane in np.nonzero(mask)[0].tolist():
            held = g.warp.bulk.get(lane)
            if held is not None and (held[3] or held[2] > held[4]):
                at = held[5]
                if at < 0:
                    continue
                self.findings.between(
                    self,
                    "BULK-EXIT",
                    place(self, g.warp, at, lane, g.lanes),
                    g,
                    min(g.pc, len(self.program.instrs) - 1),
                    "the thread exits while its bulk store may still read its source: shared "
                    "memory "
                    "is given back at the exit of the CTA",
                    "cp.async.bulk.wait_group.read 0 before the exit",
                    kind=Verdict.INVALID,
                )

    def ended(self) -> None:
        """Rules at the end of the launch."""
        for cluster in self.clusters:
            for cta in cluster.ctas:
                for first in range(0, cta.warp_count, 4):
                    warps = cta.warps[first : first + 4]
                    lists = [w.products for w in warps]
                    if any(p != lists[0] for p in lists):
                        self._parted(warps)
                    changes = [w.register_changes for w in warps]
                    if any(c != changes[0] for c in changes):
                        pc = next(c[0] for c in changes if c)
                        at = next(w for w in warps if w.register_changes)
                        self.findings.fault(
                            self,
                            Lanes(at, pc, np.ones(LANES, np.bool_), None),
                            pc,
                            "REGISTERS",
                            "setmaxnreg by some warps of a warpgroup only: all four have to "
                            "execute the same one",
                            "branch on whole warpgroups",
                        )

    def _parted(self, warps: list[Warp]) -> None:
        longest = max(warps, key=lambda w: len(w.products))
        other = min(warps, key=lambda w: len(w.products))
        at = next(
            (
                i
                for i, p in enumerate(longest.products)
                if i >= len(other.products) or other.products[i] != p
            ),
            0,
        )
        pc = longest.products[at]
        g = Lanes(longest, pc, np.ones(LANES, np.bool_), None)
        self.findings.fault(
            self,
            g,
            pc,
            "WARPGROUP",
            f"warp {longest.index} executes this wgmma and warp {other.index} of the same "
            "warpgroup "
            "does not: all four warps have to execute the same wgmma",
            "branch on whole warpgroups only",
        )


pc_none = -1
_ONE = np.array([0])


def _same(index: Array, _: int) -> Array:
    return index


_ELEMENTS = {
    "u32": "u32",
    "s32": "i32",
    "u64": "u64",
    "s64": "i64",
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
    "b32": "u32",
    "b64": "u64",
    "noftz": "f16",
}


class WaitGroup:
    """Waits until all warps of a warpgroup have issued a group of products."""

    polls, aligned = False, False

    def __init__(self, late: list[Warp], done: int) -> None:
        self.late, self.done = late, done

    def ready(self, g: Lanes) -> bool:
        """All have."""
        return all(w.committed >= self.done or not w.live.any() for w in self.late)

    def describe(self) -> str:
        """For a deadlock's listing."""
        names = ", ".join(str(w.index) for w in self.late)
        return f"waits for a wgmma group that warps {names} have not issued"


class _WarpView:
    """What a warp knows as a whole: if one lane waited, the warp's product counts as ordered."""

    def __init__(self, clocks: Any, threads: Array) -> None:  # noqa: ANN401
        self.clocks, self.threads = clocks, threads
        self.rows = {
            SHARED: clocks.known[SHARED, threads].max(axis=0),
            FULL: clocks.known[FULL, threads].max(axis=0),
        }

    def look(self, plane: int, threads: Array, components: Array) -> Array:
        """As ``Clocks.look``, for one row."""
        result: Array = self.rows[plane][components & ((1 << 18) - 1)]
        return result


def _fragment_a(regs: list[Array], size: int, load: Callable[[Array], Array]) -> Array:
    """16 rows of A from registers: pairs of rows 8 apart, halves of k."""
    per = 4 // size  # elements of a register
    halves = len(regs) // 2
    stacked = np.stack([np.ascontiguousarray(r) for r in regs])  # a0: row g; a1: row g + 8; ...
    values = load(stacked.view(_U[size]).reshape(-1)).reshape(halves, 2, 8, 4, per)
    # (k half, row half, g, t, element) -> rows (half, g), k (half, t, element)
    return values.transpose(1, 2, 0, 3, 4).reshape(16, halves * 4 * per)


def _fragment_b(regs: list[Array], size: int, load: Callable[[Array], Array]) -> Array:
    """8 columns of B from registers, as rows of k."""
    per = 4 // size
    stacked = np.stack([np.ascontiguousarray(r) for r in regs])
    values = load(stacked.view(_U[size]).reshape(-1)).reshape(len(regs), 8, 4, per)
    return values.transpose(1, 0, 2, 3).reshape(8, len(regs) * 4 * per)


def _accumulator(regs: list[Array], n: int, out: str) -> Array:
    """16 x n accumulators of a warp from its registers."""
    stacked = np.stack(regs)
    if out == "f16":
        values = f16_to_f32(np.ascontiguousarray(stacked).view(np.uint16).reshape(-1))
        grid = values.reshape(n // 8, 2, 8, 4, 2)  # j, i, g, t, c
        return grid.transpose(1, 2, 0, 3, 4).reshape(16, n)
    values = stacked.view(np.float32 if out == "f32" else np.int32)
    grid = values.reshape(n // 8, 2, 2, 8, 4)  # j, i, c, g, t
    found: Array = grid.transpose(1, 3, 0, 4, 2).reshape(16, n)
    return found.astype(np.float64) if out == "s32" else found


def _as_registers(total: Array, n: int, out: str) -> list[Array]:
    """The registers of 16 x n accumulators."""
    grid = total.reshape(2, 8, n // 8, 4, 2)  # i, g, j, t, c
    if out == "f16":
        bits = f32_to_f16(grid.astype(np.float32).transpose(2, 0, 1, 3, 4))
        words = np.ascontiguousarray(bits).reshape(n // 4, 64).view(np.uint32)
        return list(words)
    kind = np.float32 if out == "f32" else np.int64
    values = grid.transpose(2, 0, 4, 1, 3).reshape(n // 2, LANES).astype(kind)
    if out == "s32":
        values = values.astype(np.int32)
    return list(np.ascontiguousarray(values).view(np.uint32))


def _reduced(old: Array, new: Array, op: str, element: str) -> Array:
    """Bytes of a reduction of two arrays of elements."""
    from warploom.check.formats import decode, encode  # noqa: PLC0415

    a, b = decode(np.ascontiguousarray(old), element), decode(np.ascontiguousarray(new), element)
    ops: dict[str, Any] = {
        "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor,
        "inc": lambda x, y: np.where(x >= y, 0, x + 1),
        "dec": lambda x, y: np.where((x == 0) | (x > y), y, x - 1),
    }  # fmt: skip
    return encode(ops[op](a, b), element)
