"""Every interleaving of a small PTX launch, without any notion of happens-before.

A second opinion on the checker: warps run in lockstep, one after the other in every order, and
asynchronous copies land at every moment until something waits for them. What a launch leaves in
memory must not depend on that, and it must end. Values and addresses are those of the checker's
interpreter; clocks, proxies and findings are not used.

- Visible steps: accesses to memory that several agents touch, barriers, copies. A warp runs up to
  its next visible step at once. States are kept, so that loops that poll end.
- An ordinary write to shared memory reaches the async proxy at any time up to the next proxy fence
  (of any thread); until then a copy may see the old bytes, and the write may land on top of a copy.
- Not modelled: relaxed memory (fences of scopes), wgmma, lanes of a warp apart from one another. So
  what is called wrong is wrong; what is not may still be.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from warploom.axioms import resolve
from warploom.check.launch import Launch
from warploom.check.ptx.alu import LANES, refuse, setter
from warploom.check.ptx.check import _fitting
from warploom.check.ptx.machine import BLOCK, GONE, PAUSE, RANK_SHIFT, WINDOW, Halt, Lanes
from warploom.check.ptx.matrix import Whole
from warploom.check.ptx.parse import Addr, Reg, Sink, parse
from warploom.check.ptx.program import link
from warploom.check.ptx.results import Findings
from warploom.errors import UnsupportedCodeError

ARRIVED = object()  # the warp has arrived at a barrier and stays at the instruction
MOST_LOCAL = 20_000
_MEMORY = ("ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix")
_SYNC = ("mbarrier", "bar", "barrier", "cp", "griddepcontrol")


class Broken(Exception):  # noqa: N818 (an outcome)
    """The program does something that has no meaning."""


@dataclass(slots=True)
class Result:
    """What can happen: ``outcomes`` (final memory, or a word), and whether all was seen."""

    outcomes: set[Any] = field(default_factory=set)
    states: int = 0
    complete: bool = True

    @property
    def wrong(self) -> bool:
        """Several ends, or one that is none."""
        return len(self.outcomes) > 1 or any(isinstance(o, str) for o in self.outcomes)

    @property
    def single(self) -> bool:
        """One end, whatever the timing (so far as was looked)."""
        return len(self.outcomes) == 1 and not self.wrong


class Explorer(Whole):
    """The interpreter with barriers and copies of its own."""

    def __init__(self, text: str, launch: Launch) -> None:
        module = parse(text)
        program = link(module, launch.entry)
        super().__init__(
            module, program, _fitting(launch, program), axioms=resolve(), findings=Findings()
        )
        if any(i.parts[0] in ("wgmma", "tensormap") for i in program.instrs):
            raise UnsupportedCodeError("wgmma or tensormap", where="explorer")
        gx, gy, gz = self.launch.grid
        cx, cy, cz = self.launch.cluster
        origins = [
            (x, y, z) for z in range(0, gz, cz) for y in range(0, gy, cy) for x in range(0, gx, cx)
        ]
        self.prepare()
        self.clusters = []
        for n, origin in enumerate(origins):
            self._admit(n, origin)
        self.agents = [w for c in self.clusters for t in c.ctas for w in t.warps]
        self.touched: dict[tuple[str, int], set[Any]] = {}
        self.by_pc: dict[int, set[tuple[str, int]]] = {}
        self.recording = True
        self.private: set[int] = set()
        for c in self.clusters:
            c.shared.access = self._recorder(f"shared{c.number}")
        self.memory.access = self._recorder("global")
        for i, w in enumerate(self.agents):
            w.number = i
            w.groups.clear()
            w.stack = [(0, w.live.copy(), -1)]
            w.waiting = None
        self.mbars: dict[Any, tuple[int, int, int, int]] = {}
        self.named: dict[Any, tuple[int, int, int | None]] = {}
        self.meeting: dict[int, tuple[int, frozenset[int]]] = {}
        self.pend: tuple[Any, ...] = ()
        self.counts: dict[Any, int] = {}
        self.stale: dict[int, dict[int, int]] = {c.number: {} for c in self.clusters}

    # -- what is not needed

    def converged(self, g, pc, need, what, *, aligned):
        return True

    def watched(self, run, instr, pc, touched):
        return run

    def product_registers(self):
        return frozenset()

    def event(self, g, instr, pc, **more):
        return SimpleNamespace(pc=pc, agent=getattr(g.warp, "number", -1), lanes=g.lanes)

    def begun(self, g, other, there):
        return True  # knows no order

    def fault(self, g, pc, code, why, fix="", *, kind=None, stop=True, lane=None):
        if code not in ("SHUFFLE", "WAW-LANES"):
            raise Broken(code)

    def _nil(self, *a, **k):
        return None

    acquire = release = before_grid_wait = _remote = not_a_barrier = covers_barrier = _nil
    _overlaps = remember = leaving = draw = left = use_map = _nil

    def _recorder(self, space):
        def access(clocks, threads, index, event, report, **more):
            if self.recording:
                places = {(space, int(b) & ~3) for b in np.asarray(index).reshape(-1)}
                self.by_pc.setdefault(event.pc, set()).update(places)
                for p in places:
                    self.touched.setdefault(p, set()).add(event.agent)

        return access

    def _async_touch(self, space, index):
        if self.recording:
            for b in np.asarray(index).reshape(-1).tolist():
                self.touched.setdefault((space, b & ~3), set()).add("async")

    # -- lanes: a stack of branches

    def part(self, g, pc, ways):
        warp, meet = g.warp, self.program.meets[pc]
        _, _, outer = warp.stack.pop()
        if meet >= 0 and meet != outer:
            warp.stack.append((meet, g.mask.copy(), outer))
        rpc = meet if meet >= 0 else outer
        for target, mask in ways:
            warp.stack.append((target, mask.copy(), rpc))
        g.parted = True

    def leave(self, g, mask):
        warp = g.warp
        warp.live = warp.live & ~mask
        kept = [(p, m & warp.live, r) for p, m, r in warp.stack]
        warp.stack = [e for e in kept if e[1].any()]
        for key in list(self.named):
            self._settle_bar(key)
        for n in list(self.meeting):
            self._settle_all(n)
        return GONE

    # -- barriers

    def op_bar(self, instr, pc):
        if instr.parts[1] == "warp":
            return lambda g: None
        return self._named(instr, pc, aligned=True)

    def op_barrier(self, instr, pc):
        if "cluster" in instr.parts:
            return self._meet(instr)
        return self._named(instr, pc, aligned=True)

    def _named(self, instr, pc, *, aligned):
        what = next((p for p in instr.parts if p in ("sync", "arrive", "red")), "sync")
        if what == "red":
            raise refuse(instr)
        number = self.get(instr.operands[0], "u32", instr)
        count = self.get(instr.operands[1], "u32", instr) if len(instr.operands) > 1 else None

        def run(g):
            warp = g.warp
            key = (warp.cta.number, int(number(g)[g.lanes[0]]))
            wanted = None if count is None else int(count(g)[g.lanes[0]])
            if warp.waiting is not None:
                if self.named[key][0] <= warp.waiting:
                    return BLOCK
                warp.waiting = None
                return None
            generation, arrived, fixed = self.named.get(key, (0, 0, wanted))
            if arrived and fixed != wanted:
                raise Broken("BARRIER")
            self.named[key] = (generation, arrived + LANES, wanted)
            self._settle_bar(key)
            if wanted is not None and self.named[key][1] > wanted:
                raise Broken("BARRIER")
            if what == "arrive":
                return None
            warp.waiting = generation
            return ARRIVED

        return run

    def _settle_bar(self, key):
        generation, arrived, fixed = self.named[key]
        cta = next(t for c in self.clusters for t in c.ctas if t.number == key[0])
        wanted = LANES * sum(bool(w.live.any()) for w in cta.warps) if fixed is None else fixed
        if arrived and arrived >= wanted:
            self.named[key] = (generation + 1, 0, None)

    def _meet(self, instr):
        arrives = "arrive" in instr.parts

        def run(g):
            warp = g.warp
            n = warp.cta.cluster.number
            generation, here = self.meeting.get(n, (0, frozenset()))
            if arrives:
                if warp.number in here:
                    raise Broken("CLUSTER")
                self.counts["met", warp.number] = generation
                self.meeting[n] = (generation, here | {warp.number})
                self._settle_all(n)
                return None
            mine = self.counts.get(("met", warp.number))
            if mine is None:
                raise Broken("CLUSTER")
            if self.meeting[n][0] <= mine:
                return BLOCK
            del self.counts["met", warp.number]
            return None

        return run

    def _settle_all(self, n):
        generation, here = self.meeting[n]
        live = {w.number for t in self.clusters[n].ctas for w in t.warps if w.live.any()}
        if live and live <= here:
            self.meeting[n] = (generation + 1, frozenset())

    def _bar_key(self, g, pc, address):
        index, _ = self._barrier(g, pc, address)
        return (g.warp.cta.cluster.number, index)

    def op_mbarrier(self, instr, pc):
        what, operands = instr.parts[1], list(instr.operands)
        if what in ("try_wait", "test_wait"):
            return self._wait(instr, pc)
        d = Sink()
        if not isinstance(operands[0], Addr):
            d = operands.pop(0)
        address = self.address(operands[0], instr)
        number = self.get(operands[1], "u32", instr) if len(operands) > 1 else None
        store = setter(d, "b64", instr)

        def run(g):
            where = address(g)
            state = np.zeros(LANES, np.uint64)
            for lane in g.lanes.tolist():
                key = self._bar_key(g, pc, int(where[lane]))
                n = 1 if number is None else int(number(g)[lane])
                if what == "init":
                    self.mbars[key] = (n, n, 0, 0)
                    continue
                if key not in self.mbars:
                    raise Broken("NO-INIT")
                if what == "inval":
                    del self.mbars[key]
                    continue
                state[lane] = self.mbars[key][3]
                if what == "expect_tx":
                    self._count(key, 0, n)
                elif what == "arrive":
                    expects = "expect_tx" in instr.parts
                    self._count(key, 1 if expects else n, n if expects else 0)
                else:
                    raise refuse(instr)
            store(g, state)

        return run

    def _count(self, key, arrivals, tx):
        if key not in self.mbars:
            raise Broken("NO-INIT")
        count, pending, bytes_, phase = self.mbars[key]
        pending, bytes_ = pending - arrivals, bytes_ + tx
        if pending < 0:
            raise Broken("ARRIVALS")
        if pending == 0 and bytes_ == 0:
            pending, phase = count, phase + 1
        self.mbars[key] = (count, pending, bytes_, phase)

    def _wait(self, instr, pc):
        p, a, phase = instr.operands[:3]
        parity = "parity" in instr.parts
        address = self.address(a, instr)
        number = self.get(phase, "u32" if parity else "u64", instr)
        store = setter(p, "pred", instr)

        def run(g):
            where, numbers = address(g), number(g)
            for lane in g.lanes.tolist():
                key = self._bar_key(g, pc, int(where[lane]))
                if key not in self.mbars:
                    raise Broken("NO-INIT")
                now, wanted = self.mbars[key][3], int(numbers[lane])
                if (now % 2 == wanted & 1) if parity else now <= wanted:
                    return BLOCK
            store(g, np.ones(LANES, np.bool_))
            return None

        return run

    def op_fence(self, instr, pc):
        if "proxy" in instr.parts and any(p.startswith("async") for p in instr.parts):
            return lambda g: self.stale[g.warp.cta.cluster.number].clear()
        return lambda g: None

    def op_membar(self, instr, pc):
        return lambda g: None

    def op_griddepcontrol(self, instr, pc):
        return lambda g: None

    op_setmaxnreg = op_griddepcontrol

    # -- memory: old bytes stay visible to the async proxy

    def _write(self, g, instr, pc, space, where, width, span, raw, strong, scope):
        if space == "shared":
            cluster = g.warp.cta.cluster
            start = self.shared_index(g, pc, where, width, g.warp.cta)
            held = self.stale[cluster.number]
            for b in (start[:, None] + span).reshape(-1).tolist():
                held.setdefault(b, int(cluster.shared.data[b]))
        super()._write(g, instr, pc, space, where, width, span, raw, strong, scope)

    # -- copies

    def _cp_commit(self, g):
        key = ("cp", g.warp.number)
        self.counts[key] = self.counts.get(key, 0) + 1

    def _cp_wait(self, instr, pc):
        every = "wait_all" in instr.parts
        n = 0 if every else int(instr.operands[0].value)

        def run(g):
            key = ("cp", g.warp.number)
            done = self.counts.get(key, 0) - n + (1 if every else 0)
            late = any(p[0] == "cp" and p[1] == g.warp.number and p[2] < done for p in self.pend)
            return BLOCK if late else None

        return run

    def _cp_copy(self, instr, pc):
        d, s, n, *rest = instr.operands
        to, source = self.address(d, instr), self.address(s, instr)
        width = int(n.value)
        extra = [o for o in rest if not (isinstance(o, Reg) and o.type in ("b64", "u64"))]
        size = self.get(extra[0], "u32", instr) if extra else None

        def run(g):
            lanes, cta = g.lanes, g.warp.cta
            where = to(g)[lanes] & WINDOW
            start = self.shared_index(g, pc, where, width, cta)
            have = [width] * len(lanes) if size is None else [int(x) for x in size(g)[lanes]]
            raw = np.zeros((len(lanes), width), np.uint8)
            for i, k in enumerate(have):
                if k:
                    first = int(self.global_index(g, pc, source(g)[lanes][i : i + 1], k)[0])
                    raw[i, :k] = self.memory.data[first : first + k]
            index = (start[:, None] + np.arange(width)).reshape(-1)
            self._async_touch(f"shared{cta.cluster.number}", index)
            group = self.counts.get(("cp", g.warp.number), 0)
            held = ("cp", g.warp.number, group, cta.cluster.number, tuple(index.tolist()))
            self.pend = (*self.pend, (*held, raw.tobytes()))

        return run

    def _cp_arrive(self, instr, pc):
        address = self.address(instr.operands[0], instr)
        noinc = "noinc" in instr.parts

        def run(g):
            where, w = address(g), g.warp.number
            for lane in g.lanes.tolist():
                key = self._bar_key(g, pc, int(where[lane]))
                if key not in self.mbars:
                    raise Broken("NO-INIT")
                count, pending, tx, phase = self.mbars[key]
                if not noinc:
                    self.mbars[key] = (count, pending + 1, tx, phase)
                waits = tuple(p for p in self.pend if p[0] == "cp" and p[1] == w)
                self.pend = (*self.pend, ("arrive", w, key, waits))

        return run

    def _land(self, g, instr, pc, lane, thread, shared, ranks, raw, bar, source, placed, held=None,
              *, proxy="async", atomic=False, combine=None):  # fmt: skip
        if combine is not None:
            raise UnsupportedCodeError("a bulk reduction", where="explorer")
        cluster = g.warp.cta.cluster
        for rank in ranks:
            upper = bar >> RANK_SHIFT & 0xFF
            at = (bar & ((1 << RANK_SHIFT) - 1)) | ((rank + 1) << RANK_SHIFT)
            if len(ranks) == 1 and upper:
                at = bar & WINDOW
            key = self._bar_key(g, pc, at)
            index = placed(rank)
            self._async_touch(f"shared{cluster.number}", index)
            held_ = ("land", cluster.number, tuple(index.tolist()), np.asarray(raw).tobytes(), key)
            self.pend = (*self.pend, held_)

    def _own_read(self, *a):
        raise UnsupportedCodeError("a copy from shared to shared memory", where="explorer")

    def _bulk_commit(self, g):
        key = ("bulk", g.warp.number)
        self.counts[key] = self.counts.get(key, 0) + 1

    def _bulk_wait(self, instr, pc):
        n, read = int(instr.operands[0].value), "read" in instr.parts
        kinds = ("send",) if read else ("send", "sent")

        def run(g):
            done = self.counts.get(("bulk", g.warp.number), 0) - n
            late = any(p[0] in kinds and p[1] == g.warp.number and p[2] < done for p in self.pend)
            return BLOCK if late else None

        return run

    def _send(self, g, instr, pc, lane, thread, source, taken, index, reduce, element):
        if reduce:
            raise UnsupportedCodeError("a bulk reduction", where="explorer")
        cluster, w = g.warp.cta.cluster, g.warp.number
        self._async_touch(f"shared{cluster.number}", taken)
        self._async_touch("global", index)
        group = self.counts.get(("bulk", w), 0)
        held = ("send", w, group, cluster.number, tuple(taken.tolist()), tuple(index.tolist()))
        self.pend = (*self.pend, held)

    def complete(self, at: int, variant: int) -> bool:
        """One asynchronous step; False where there is no such variant or it has to wait."""
        op = self.pend[at]
        rest = (*self.pend[:at], *self.pend[at + 1 :])
        if op[0] == "arrive":
            if variant or any(p in rest for p in op[3]):
                return False
            self.pend = rest
            self._count(op[2], 1, 0)
            return True
        if op[0] == "cp":
            if variant:
                return False
            self.clusters[op[3]].shared.data[list(op[4])] = np.frombuffer(op[5], np.uint8)
            self.pend = tuple(_without(p, op) for p in rest)
            return True
        if op[0] == "land":
            data, held = self.clusters[op[1]].shared.data, self.stale[op[1]]
            index, raw = list(op[2]), np.frombuffer(op[3], np.uint8)
            under = [b in held for b in index]
            if variant and not any(under):
                return False
            keep = data[index]
            data[index] = np.where(under, keep, raw) if variant else raw
            for b in index:
                held.pop(b, None)
            self.pend = rest
            self._count(op[4], 0, -len(raw))
            return True
        if op[0] == "send":
            data, held = self.clusters[op[3]].shared.data, self.stale[op[3]]
            values = data[list(op[4])].copy()
            old = [held.get(b) for b in op[4]]
            if variant and all(o is None for o in old):
                return False
            if variant:
                values = np.array(
                    [v if o is None else o for v, o in zip(values.tolist(), old, strict=True)],
                    np.uint8,
                )
            self.pend = (*rest, ("sent", op[1], op[2], op[5], values.tobytes()))
            return True
        if variant:
            return False
        self.memory.data[list(op[3])] = np.frombuffer(op[4], np.uint8)
        self.pend = rest
        return True

    # -- steps

    def visible(self, pc: int) -> bool:
        """Whether others can tell when the instruction runs."""
        if pc >= len(self.program.instrs):
            return False
        instr = self.program.instrs[pc]
        head = instr.parts[0]
        if head in _SYNC or (head == "fence" and "proxy" in instr.parts):
            return True
        return head in _MEMORY and instr.parts[1] != "param" and pc not in self.private

    def run_local(self, warp) -> None:
        """To the next visible instruction of a warp, or its end."""
        for _ in range(MOST_LOCAL):
            if not warp.stack:
                return
            pc, _, rpc = warp.stack[-1]
            if pc == rpc:
                warp.stack.pop()
                continue
            if self.visible(pc):
                return
            self.one(warp)
        raise Broken("ENDLESS")

    def one(self, warp) -> object:
        """Execute the instruction a warp is at."""
        pc, mask, rpc = warp.stack[-1]
        g = _Group(warp, pc, mask, None)
        found = self.code[pc](g)
        found = None if found is PAUSE else found  # every order is tried
        if found is BLOCK or found is ARRIVED:
            return found
        if found is GONE:
            if warp.stack and warp.stack[-1][0] == pc and warp.stack[-1][2] == rpc:
                _p, m, r = warp.stack[-1]
                if (m & mask).any():
                    warp.stack[-1] = (pc + 1, m, r)
            return found
        if not g.parted:
            warp.stack[-1] = (pc + 1 if found is None else g.pc, mask, rpc)
        return found

    def step(self, warp) -> bool:
        """The visible instruction of a warp and what follows; False where it has to wait."""
        if not warp.stack:
            return False
        found = self.one(warp)
        if found is BLOCK:
            return False
        if found is not ARRIVED:
            self.run_local(warp)
        return True

    def save(self):
        """The state, and a key of it."""
        warps = [(list(w.R), list(w.stack), w.live, w.waiting, list(w.carry)) for w in self.agents]
        memory = self.memory.data.tobytes()
        shared = [c.shared.data.tobytes() for c in self.clusters]
        sync = (
            dict(self.mbars), dict(self.named), dict(self.meeting), self.pend, dict(self.counts),
            {n: dict(s) for n, s in self.stale.items()},
        )  # fmt: skip
        key = (
            memory, tuple(shared), self.pend,
            *(frozenset(sync[i].items()) for i in (0, 1, 2, 4)),
            tuple(frozenset(s.items()) for s in sync[5].values()),
            tuple(
                (b"".join(r.tobytes() for r in regs), wait, live.tobytes(),
                 tuple((p, m.tobytes(), r) for p, m, r in stack))
                for regs, stack, live, wait, _ in warps
            ),
        )  # fmt: skip
        return (warps, memory, shared, sync), hash(key)

    def restore(self, held) -> None:
        """Back to a saved state."""
        warps, memory, shared, sync = held
        for w, (regs, stack, live, wait, carry) in zip(self.agents, warps, strict=True):
            w.R, w.stack, w.live, w.waiting, w.carry = list(regs), list(stack), live, wait, carry
        self.memory.data[:] = np.frombuffer(memory, np.uint8)
        for c, data in zip(self.clusters, shared, strict=True):
            c.shared.data[:] = np.frombuffer(data, np.uint8)
        self.mbars, self.named, self.meeting = dict(sync[0]), dict(sync[1]), dict(sync[2])
        self.pend, self.counts = sync[3], dict(sync[4])
        self.stale = {n: dict(s) for n, s in sync[5].items()}

    def outcome(self) -> bytes:
        """What the launch has left in memory."""
        found = b""
        for name, t in self.launch.tensors.items():
            if t.role != "in":
                at = self.tensor_at[name]
                found += self.memory.data[at : at + t.nbytes].tobytes()
        return found

    def choices(self) -> list[tuple[str, int, int]]:
        """Everything that may happen next."""
        found = [("warp", i, 0) for i, w in enumerate(self.agents) if w.stack]
        return found + [("copy", i, v) for i in range(len(self.pend)) for v in (0, 1)]

    def take(self, choice: tuple[str, int, int]) -> bool:
        """Let one thing happen."""
        kind, i, variant = choice
        return self.step(self.agents[i]) if kind == "warp" else self.complete(i, variant)

    def record(self, seed: int) -> None:
        """One run in a random order: which places more than one agent touches."""
        rng = random.Random(seed)
        try:
            for w in self.agents:
                self.run_local(w)
            for _ in range(20_000):
                ways = self.choices()
                rng.shuffle(ways)
                if not any(self.take(c) for c in ways):
                    break
        except (Broken, Halt):
            pass


class _Group(Lanes):
    """Lanes that know whether they parted."""

    __slots__ = ("parted",)

    def __init__(self, *given):
        super().__init__(*given)
        self.parted = False


def _without(op, done):
    """A pending arrival without a copy that is done."""
    if op[0] != "arrive":
        return op
    return (*op[:3], tuple(p for p in op[3] if p != done))


def explore(text: str, launch: Launch | dict, most: int = 4000, seed: int = 0) -> Result:
    """All ends of a launch; at most ``most`` states are looked at."""
    made = launch if isinstance(launch, Launch) else Launch.from_json(launch)
    with np.errstate(all="ignore"):
        return _explore(text, made, most, seed)


def _explore(text: str, launch: Launch, most: int, seed: int) -> Result:
    private: set[int] = set()
    touched: dict[Any, set[Any]] = {}
    by_pc: dict[int, set[Any]] = {}
    for s in range(2):
        first = Explorer(text, launch)
        first.record(seed + s)
        for p, who in first.touched.items():
            touched.setdefault(p, set()).update(who)
        for pc, places in first.by_pc.items():
            by_pc.setdefault(pc, set()).update(places)
    for pc, places in by_pc.items():
        if all(len(touched[p]) == 1 for p in places):
            private.add(pc)
    m = Explorer(text, launch)
    m.recording, m.private = False, private
    result = Result()
    rng = random.Random(seed)
    try:
        for w in m.agents:
            m.run_local(w)
    except (Broken, Halt) as error:
        result.outcomes.add(f"broken {error}")
        return result
    held, key = m.save()
    seen, stack = {key}, [held]
    while stack:
        held = stack.pop()
        m.restore(held)
        ways = m.choices()
        rng.shuffle(ways)
        moved, ended = False, not any(w.stack for w in m.agents) and not m.pend
        if ended:
            result.outcomes.add(m.outcome())
        for choice in ways:
            m.restore(held)
            try:
                if not m.take(choice):
                    continue
            except (Broken, Halt) as error:
                result.outcomes.add(f"broken {error}")
                moved = True
                continue
            moved = True
            after, key = m.save()
            if key not in seen:
                seen.add(key)
                stack.append(after)
        if not moved and not ended:
            result.outcomes.add("deadlock")
        if result.wrong or len(seen) > most:
            result.complete = result.wrong or not stack
            break
    result.states = len(seen)
    if not result.outcomes and result.complete:
        result.outcomes.add("deadlock")
    return result
