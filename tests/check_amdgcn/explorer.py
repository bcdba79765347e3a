"""Every execution of a small launch on gfx942 or gfx950, one after the other.

Nothing is reasoned about order. Waves run; accesses in flight land one by one, whenever the
hardware may let them land; ``s_waitcnt`` blocks while its counter is above its operand;
``s_barrier`` blocks until all waves that have not ended are there. All choices are tried, states
that were seen before are not entered again. A launch is wrong when two executions end with
different results, when one faults, or when nobody can go on. Values of instructions are those of
the machine; no clock, no happens-before and no rule of registers is used.

What may land: in ``vmcnt``, accesses in order of issue; in ``lgkmcnt``, LDS accesses in order,
scalar accesses in any order; flat accesses in any order. ``dma_order=False``: LDS-DMA in any order.

Three reductions keep the number of states small and lose no behaviour. A wave's own instructions
touch no memory before they land, so waves run as far as they can before anything lands, but stop in
front of an instruction that names a register on which a load is still on its way: there the landing
may come before or after. A landing that reads memory nobody writes is put off until its wave (or an
access behind it) needs it. A barrier opens at once.

Caches are not modelled: workgroups see each other's stores as they land.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from warploom.check.amdgcn.findings import Findings
from warploom.check.amdgcn.launching import block_of, make_groups, pack_arguments, place_tensors
from warploom.check.amdgcn.machine import Settings
from warploom.check.amdgcn.reader import read_kernel, read_waits
from warploom.check.amdgcn.state import FaultError
from warploom.check.amdgcn.timed import LATE, TimedMachine
from warploom.check.amdgcn.transfer import Moves
from warploom.check.amdgcn.uses import uses_of
from warploom.errors import WarploomError

MEMORY = (
    "ds_", "buffer_", "tbuffer_", "global_", "flat_", "scratch_", "s_load", "s_buffer_", "s_store",
    "s_atomic",
)  # fmt: skip
GLOBAL_WRITES = Moves.WRITES_GLOBAL.value
HIDDEN = Moves.READS_GLOBAL.value | Moves.READS_PRIVATE.value | Moves.WRITES_PRIVATE.value


@dataclass(frozen=True)
class Explored:
    """``right``, ``wrong``, or ``bounded`` (right as far as was looked)."""

    verdict: str
    why: str
    states: int
    ends: int


class _Chip(TimedMachine):
    """Issues accesses and leaves the landing to the explorer."""

    def __init__(self, kernel, memory, findings, *, dma_order):
        super().__init__(kernel, memory, Settings(axioms={}), findings, LATE)
        self.dma_order = dma_order
        self.uses = [uses_of(i).all for i in self._code]
        self.waits = [read_waits(i) if i.mnemonic == "s_waitcnt" else None for i in self._code]
        self.counted = [self._counters(i.mnemonic) for i in self._code]
        rows = {r for u in self.uses for r in u if 0 <= r < 512} | {0}
        self.rows = np.array(sorted(rows))

    @staticmethod
    def _counters(name):
        if not name.startswith(MEMORY) or name in ("buffer_inv", "ds_nop"):
            return ()
        if name.startswith("flat_"):
            return ("vm", "lgkm")
        return ("lgkm",) if name.startswith(("ds_", "s_")) else ("vm",)

    def wait(self, w, waits):
        """The explorer has looked at the counters."""

    def _make_room(self, w, queue):
        """The explorer has looked at the counters."""

    def _end(self, w):
        w.ended = True

    def carry(self, w, queue, moves, act, put=None):
        before = len(queue.items[-1].works)
        super().carry(w, queue, moves, act, put)
        # What the access took at issue tells it from another of the same instruction.
        queue.items[-1].number = hash((w.v[self.rows].tobytes(), tuple(w.s), w.exec, before))

    def flying(self, w):
        """Registers on which a load is on its way."""
        return {r for q in (w.vm, w.lgkm) for o in q.items for r in o.registers}

    def blocked(self, w):
        """Why a wave cannot execute its next instruction, or nothing."""
        if w.ended:
            return "ended"
        if w.at_barrier:
            return "barrier"
        if w.pc >= len(self._code):
            self._past_the_end()
        waits = self.waits[w.pc]
        if waits is not None:
            over = (waits.vm < 63 and len(w.vm.items) > waits.vm) or (
                waits.lgkm < 15 and len(w.lgkm.items) > waits.lgkm
            )
            return "wait" if over else ""
        if any(len(getattr(w, q).items) >= getattr(w, q).capacity for q in self.counted[w.pc]):
            return "full"
        return ""

    def run(self, w, *, over_hazard=False):
        """Run a wave until it is blocked, or in front of a register in flight."""
        for _ in range(100_000):
            why = self.blocked(w)
            if why:
                return why
            if not over_hazard and self.uses[w.pc] & self.flying(w):
                return "hazard"
            over_hazard = False
            self._turn(w, 1)
            if self.findings.stopped:
                return "fault"
        return "endless"

    def landable(self, w):
        """Accesses of a wave that may land next, as (queue, operation)."""
        found = []
        first = True
        for operation in w.vm.items:
            free = operation.flat or (not self.dma_order and operation.dma)
            if free or first:
                found.append((w.vm, operation))
            first = first and free
        first = True
        for operation in w.lgkm.items:
            if operation.flat:
                continue  # by its entry among the vector accesses
            if operation.scalar or first:
                found.append((w.lgkm, operation))
            first = first and operation.scalar
        return found

    @staticmethod
    def land(w, queue, operation):
        queue.items.remove(operation)
        queue.scalars -= operation.scalar or operation.flat
        if operation.flat:
            twin = next((o for o in w.lgkm.items if o.twin is operation), None)
            if twin is not None:
                w.lgkm.items.remove(twin)
                w.lgkm.scalars -= 1
        for work in operation.works:
            work.retire()


class Explorer:
    """One kernel and launch."""

    def __init__(self, text, launch, *, dma_order=True, seed=0):
        self.kernel = read_kernel(text, launch.entry or None)
        self.launch = launch
        self.memory, addresses = place_tensors(self.kernel, launch, seed)
        block = block_of(self.kernel, launch)
        arguments, _ = pack_arguments(self.kernel, launch, addresses, block)
        self.findings = Findings()
        self.chip = _Chip(self.kernel, self.memory, self.findings, dma_order=dma_order)
        self.groups = list(make_groups(self.kernel, launch, block, self.memory, arguments))
        self.waves = [(g, w) for g in self.groups for w in g.waves]
        outputs = [t.name for t in launch.tensors.values() if t.role != "in"]
        self.regions = [r for r in self.memory.regions if r.name in launch.tensors]
        self.outputs = [r for r in self.regions if r.name in outputs]

    # States.

    def _save(self):
        waves = []
        for _, w in self.waves:
            queues = tuple(
                (
                    tuple(q.items),
                    q.scalars,
                    tuple((k.acted, k.brought) for o in q.items for k in o.works),
                )
                for q in (w.vm, w.lgkm)
            )
            waves.append(
                (w.v[self.chip.rows], list(w.s), w.exec, w.mask, w.scc, w.pc, w.ended, w.at_barrier,
                 w.register_index, None if w.scratch is None else w.scratch.copy(), queues)
            )  # fmt: skip
        memory = [self.memory.bytes[r.start : r.stop].copy() for r in self.regions]
        return waves, [g.lds.bytes.copy() for g in self.groups], memory

    def _restore(self, state):
        waves, lds, memory = state
        for (_, w), saved in zip(self.waves, waves, strict=True):
            (rows, s, w.exec, w.mask, w.scc, w.pc, w.ended, w.at_barrier, w.register_index, scratch,
             queues) = saved  # fmt: skip
            w.v[self.chip.rows] = rows
            w.s[:] = s
            if scratch is not None:
                w.scratch[:] = scratch
            for queue, (items, scalars, works) in zip((w.vm, w.lgkm), queues, strict=True):
                queue.items.clear()
                queue.items.extend(items)
                queue.scalars = scalars
                flat = [k for o in items for k in o.works]
                for work, (acted, brought) in zip(flat, works, strict=True):
                    work.acted, work.brought = acted, brought
        for group, saved in zip(self.groups, lds, strict=True):
            group.lds.bytes[:] = saved
        for region, saved in zip(self.regions, memory, strict=True):
            self.memory.bytes[region.start : region.stop] = saved

    def _key(self, state):
        waves, lds, memory = state
        return hash(
            (
                tuple(
                    (rows.tobytes(), tuple(s), mask, scc, pc, ended, barrier, index,
                     None if scratch is None else scratch.tobytes(),
                     tuple((o.at, o.number) for items, _, _ in queues for o in items))
                    for rows, s, mask, _, scc, pc, ended, barrier, index, scratch, queues in waves
                ),
                tuple(x.tobytes() for x in lds),
                tuple(x.tobytes() for x in memory),
            )
        )  # fmt: skip

    # Search.

    def _settle(self):
        """Run every wave as far as it goes without a landing; why each of them stands."""
        while True:
            stands = {}
            for g, w in self.waves:
                self.chip._group, self.chip.lds = g, g.lds
                stands[w.uid] = self.chip.run(w)
                if stands[w.uid] in ("fault", "endless"):
                    return stands
            opened = False
            for group in self.groups:
                inside = [w for w in group.waves if not w.ended]
                if inside and all(w.at_barrier for w in inside):
                    for w in inside:
                        w.at_barrier = False
                    opened = True
            if not opened:
                return stands

    def _choices(self, stands):
        """What can happen next: landings, and runs over a register in flight."""
        written = any(
            k.moves & GLOBAL_WRITES for _, w in self.waves for o in w.vm.items for k in o.works
        )
        found = []
        for index, (_, w) in enumerate(self.waves):
            needs = stands[w.uid] in ("wait", "full", "hazard")
            for queue, operation in self.chip.landable(w):
                hidden = not (self._writes_memory or written) and all(
                    not k.moves & ~HIDDEN for k in operation.works
                )
                behind = any(o is not operation for o in queue.items)
                if not hidden or needs or behind:
                    found.append((index, queue is w.vm, list(queue.items).index(operation)))
            if stands[w.uid] == "hazard":
                found.append((index, None, 0))
        return found

    def _apply(self, choice):
        index, vector, place = choice
        g, w = self.waves[index]
        self.chip._group, self.chip.lds = g, g.lds
        if vector is None:
            self.chip.run(w, over_hazard=True)
            return
        queue = w.vm if vector else w.lgkm
        self.chip.land(w, queue, queue.items[place])

    def _results(self):
        return b"".join(self.memory.bytes[r.start : r.stop].tobytes() for r in self.outputs)

    def explore(self, *, expected=None, states=20_000, seconds=10.0):
        """Try everything; ``expected`` are the results that count as right, else the first ones."""
        # A landing that reads global memory can be put off where no instruction of the kernel
        # writes what it reads: inputs and outputs are different tensors in these launches.
        names = {i.mnemonic for i in self.kernel.instructions}
        self._writes_memory = any("atomic" in n for n in names) or len(self.groups) > 1
        began, seen, ends = time.monotonic(), set(), 0
        with np.errstate(all="ignore"):
            try:
                stands = self._settle()
            except (WarploomError, FaultError) as error:
                return Explored("wrong", str(error), 0, 0)
            stack = [(self._save(), stands)]
            while stack:
                if len(seen) >= states or time.monotonic() - began > seconds:
                    return Explored("bounded", "", len(seen), ends)
                state, stands = stack.pop()
                if "fault" in stands.values() or "endless" in stands.values():
                    return Explored("wrong", "a fault", len(seen), ends)
                self._restore(state)
                choices = self._choices(stands)
                if not choices:
                    if any(not w.ended for _, w in self.waves):
                        return Explored("wrong", "nobody can go on", len(seen), ends)
                    ends += 1
                    results = self._results()
                    if expected is None:
                        expected = results
                    if results != expected:
                        return Explored("wrong", "another result", len(seen), ends)
                    continue
                for choice in choices:
                    self._restore(state)
                    try:
                        self._apply(choice)
                        stands = self._settle()
                    except (WarploomError, FaultError) as error:
                        return Explored("wrong", str(error), len(seen), ends)
                    after = self._save()
                    key = self._key(after)
                    if key not in seen:
                        seen.add(key)
                        stack.append((after, stands))
        self.expected = expected
        return Explored("right", "", len(seen), ends)


def explore(text, launch, **how):
    """Explore a launch; ``expected`` are the bytes of its outputs that count as right."""
    dma_order = how.pop("dma_order", True)
    try:
        explorer = Explorer(text, launch, dma_order=dma_order)
    except (WarploomError, FaultError) as error:
        return Explored("unreadable", str(error), 0, 0)
    return explorer.explore(**how)


def results_of(text, launch):
    """Results of the first execution of a launch that is right."""
    explorer = Explorer(text, launch)
    found = explorer.explore(states=1_000_000, seconds=60.0)
    if found.verdict == "wrong":
        raise AssertionError(found.why)
    return explorer.expected
