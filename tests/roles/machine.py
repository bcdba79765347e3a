"""An operational model of roles, mbarriers and asynchronous groups, run in random order.

It shares nothing with the verifier but the document: barriers count literally (pending arrivals,
transaction bytes, one phase bit), copies land and groups retire at any time, and every read checks
that the slot holds the tile it means. ``run`` raises ``Fault`` when something goes wrong.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from warploom.interchange.roles import (
    Arrive,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    NamedArrive,
    NamedSync,
    Per,
    RolesDocument,
    Scope,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)


class Fault(Exception):  # noqa: N818
    pass


@dataclass
class Barrier:
    count: int
    pending: int
    tx: int = 0
    phase: int = 0

    def arrive(self, n=1):
        self.pending -= n
        if self.pending < 0:
            raise Fault("more arrivals than the barrier was initialised for")
        self.settle()

    def settle(self):
        if self.pending == 0 and self.tx == 0:
            self.phase += 1
            self.pending = self.count


@dataclass
class Group:
    mma: Mma
    agent: object
    slots: list
    step: int


@dataclass
class Agent:
    cta: int
    program: object
    events: list
    at: int = 0
    groups: list = field(default_factory=list)  # lists of unfinished Groups
    open: list = field(default_factory=list)
    acc: dict = field(default_factory=dict)
    instance: int = 0
    joined: tuple | None = None  # the named barrier this agent stands at, and its generation


class Machine:
    def __init__(self, doc: RolesDocument, tiles, seed):
        self.doc, self.tiles, self.rng = doc, tiles, random.Random(seed)
        self.rings = {r.name: r for r in doc.rings}
        self.bar = {}
        for cta in range(doc.cluster):
            for r in doc.rings:
                for s in range(r.depth):
                    for kind, n in (("full", r.full_arrivals), ("empty", r.empty_arrivals)):
                        self.bar[cta, r.name, kind, s] = Barrier(n, n)
        self.slot = {}
        self.flying = []
        self.named = {}  # (cta, hardware barrier) -> [threads there, generations over]
        self.agents = [
            Agent(cta, p, self.unroll(p, i), instance=i)
            for cta in range(doc.cluster)
            for p in doc.programs
            for i in range(p.instances)
        ]

    def unroll(self, p, instance):
        out = [(e, 0, 0, 0, 0, 0) for e in p.setup]
        base = 0
        for tile, n in enumerate(self.tiles):
            rows = [(e, getattr(e, "k", 0)) for e in p.prologue]
            for i in range(p.peel, n):
                rows += [(e, i + getattr(e, "k", 0)) for e in p.kernel]
            rows += [(e, n + getattr(e, "k", 0)) for e in p.epilogue]
            for e, k in rows:
                ring = self.rings.get(getattr(e, "ring", None))
                use = tile if ring is not None and ring.per is Per.TILE else base + k
                own = use if p.carries_phase else k
                out.append((e, k, use, own, n, tile))
            base += n
        out += [(e, 0, 0, 0, 0, 0) for e in p.finish]
        mine = (None, instance)
        return [x for x in out if getattr(x[0], "instance", None) in mine]

    def hardware(self, a, e):
        b = next(b for b in self.doc.barriers if b.name == e.barrier)
        index = (a.instance + e.turn) % b.count if b.count > 1 else 0
        return (a.cta, b.id + index), b.threads

    def join(self, a, e):
        """Threads come to a named barrier; the last ones open it."""
        key, needed = self.hardware(a, e)
        state = self.named.setdefault(key, [0, 0])
        generation = state[1]
        state[0] += a.program.threads
        if state[0] > needed:
            raise Fault("too many threads at a named barrier")
        if state[0] == needed:
            state[0], state[1] = 0, generation + 1
        return key, generation

    def ready(self, a):
        if a.at >= len(a.events):
            return False
        e, _, _, own, _, _ = a.events[a.at]
        if isinstance(e, WaitFull | WaitEmpty):
            ring = self.rings[e.ring]
            kind = "full" if isinstance(e, WaitFull) else "empty"
            b = self.bar[a.cta, e.ring, kind, own % ring.depth]
            return (b.phase & 1) != (own // ring.depth + e.parity) % 2
        if isinstance(e, WaitGroup):
            older = a.groups[: max(0, len(a.groups) - e.pending)]
            return not any(older)
        if isinstance(e, NamedSync):
            if a.joined is None:
                a.joined = self.join(a, e)
            key, generation = a.joined
            return self.named[key][1] > generation
        return True

    def reach(self, cta, n):
        return range(cta // n * n, cta // n * n + n)

    def execute(self, a):
        e, k, use, own, trips, tile = a.events[a.at]
        a.at += 1
        a.joined = None
        if isinstance(e, NamedArrive):
            self.join(a, e)
        depth = self.rings[e.ring].depth if hasattr(e, "ring") else 1
        if isinstance(e, Expect):
            b = self.bar[a.cta, e.ring, "full", own % depth]
            b.tx += e.bytes
            b.arrive()
        elif isinstance(e, Load):
            for cta in self.reach(a.cta, e.multicast):
                key = (cta, e.ring, own % depth, e.part)
                old = self.slot.get(key)
                if old is None or old[0] != use:
                    self.busy(key)
                    self.slot[key] = (use, 0)
                self.flying.append(("copy", key, use, e.bytes))
        elif isinstance(e, Arrive):
            n = {Scope.WARP: max(1, a.program.threads // 32)}.get(e.scope, 1)
            for cta in self.reach(a.cta, e.ctas):
                self.bar[cta, e.ring, "empty", own % depth].arrive(n)
        elif isinstance(e, Mma):
            slots = self.read_slots(a, e, tile, use, own)
            g = Group(e, a, slots, k)
            self.inspect(g)
            if not e.accumulate:
                a.acc[e.accumulator] = []
            a.open.append(g)
            self.flying.append(("group", g))
        elif isinstance(e, Commit):
            a.groups.append(a.open)
            a.open = []
        elif isinstance(e, Compute):
            self.inspect(Group(e, a, self.read_slots(a, e, tile, use, own), k))
            for g in [g for gs in a.groups for g in gs] + a.open:
                if g.mma.accumulator in (*e.reads, *e.writes):
                    raise Fault("accumulator touched in flight")
            a.acc.update({name: [] for name in e.writes if name not in e.reads})
            summed = {m.accumulator for m in self.products(a.program)}
            for name in summed.intersection(e.reads) if e.fills else ():
                if sorted(a.acc.get(name, [])) != list(range(trips)):
                    raise Fault(f"accumulated {a.acc.get(name)} of {trips}")

    def products(self, program):
        return [e for _, entries in program.phases() for e in entries if isinstance(e, Mma)]

    def read_slots(self, a, e, tile, use, own):
        """(slot, use it should hold) of every part an entry reads."""
        out = []
        for r in e.slots:
            ring = self.rings[r.ring]
            meant, at = (tile, tile) if ring.per is Per.TILE else (use, own)
            out.append(((a.cta, r.ring, at % ring.depth, r.part), meant))
        return out

    def busy(self, key):
        for item in self.flying:
            if item[0] == "group" and any(s == key for s, _ in item[1].slots):
                raise Fault("a copy overwrites what a group reads")

    def inspect(self, g):
        for key, use in g.slots:
            part = next(p for p in self.rings[key[1]].parts if p.name == key[3])
            if self.slot.get(key) != (use, part.bytes):
                raise Fault(f"read {self.slot.get(key)} instead of use {use}")

    def finish(self, i):
        item = self.flying.pop(i)
        if item[0] == "copy":
            _, key, use, size = item
            if self.slot[key][0] != use:
                raise Fault("a copy lands on another")
            self.slot[key] = (use, self.slot[key][1] + size)
            b = self.bar[key[0], key[1], "full", key[2]]
            b.tx -= size
            b.settle()
        else:
            g = item[1]
            self.inspect(g)
            g.agent.acc.setdefault(g.mma.accumulator, []).append(g.step)
            for group in [*g.agent.groups, g.agent.open]:
                if g in group:
                    group.remove(g)

    def run(self):
        lazy = self.rng.random()
        while True:
            able = [a for a in self.agents if self.ready(a)]
            if not able and not self.flying:
                break
            if self.flying and (not able or self.rng.random() < lazy):
                # groups of one agent retire in order; copies land in any order
                i = self.rng.randrange(len(self.flying))
                item = self.flying[i]
                if item[0] == "group":
                    i = next(
                        j
                        for j, x in enumerate(self.flying)
                        if x[0] == "group" and x[1].agent is item[1].agent
                    )
                self.finish(i)
            else:
                self.execute(self.rng.choice(able))
        if any(a.at < len(a.events) for a in self.agents):
            raise Fault("deadlock")


def breaks(doc, tiles, seeds):
    """The first fault in random runs, or None."""
    for seed in seeds:
        try:
            Machine(doc, tiles, seed).run()
        except Fault as fault:
            return str(fault)
    return None
