"""An explicit-state model checker for small role programs: every interleaving, tried.

It reads ``RolesDocument`` and shares nothing with the verifier or the executor. An agent with more
than one thread runs as up to three *strands*: the elected thread, another lane of its warp, and
another warp. Strands run the same entries apart and meet where the hardware makes them meet. A
warp sees a barrier as one: where its elected thread has passed a wait, its other lanes do too.
Copies land at any time after they were issued. Products stay in flight until a wait covers them,
and bulk stores until theirs: that is the worst case, because nothing waits for them to be quick.

What agents do in registers does not depend on the others as long as slots hold what they should,
so values are compared once, in program order (``alone``); interleavings are tried for slots,
barriers and staging copies only.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.rings import Per, Scope
from warploom.document.roles import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)

LEAD, MATE, OTHER = 0, 1, 2
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Step:
    entry: object
    tile: int
    at: int  # iteration of the tile
    base: int  # iterations before the tile


def steps(program, instance, tiles):
    out = [Step(e, 0, getattr(e, "k", 0), 0) for e in program.setup]
    base = 0
    for tile, n in enumerate(tiles):
        if program.alternates and (tile - instance) % program.instances:
            base += n
            continue
        for e in program.prologue:
            out.append(Step(e, tile, getattr(e, "k", 0), base))
        for i in range(program.peel, n):
            out += [Step(e, tile, i + getattr(e, "k", 0), base) for e in program.kernel]
        for e in program.epilogue:
            out.append(Step(e, tile, n + getattr(e, "k", 0), base))
        base += n
    out += [Step(e, len(tiles), getattr(e, "k", 0), base) for e in program.finish]
    return [s for s in out if getattr(s.entry, "instance", None) in (None, instance)]


# -- one agent alone ------------------------------------------------------------------------------


def alone(document, tiles):
    """Stored values and op counts of every agent in program order; or the word for a fault."""
    stored, counts = {}, {}
    for program in document.programs:
        for instance in range(program.instances):
            fault = _alone(document, program, instance, tiles, stored, counts)
            if fault:
                return fault
    return stored, counts


def _alone(document, program, instance, tiles, stored, counts):
    rings = {r.name: r for r in document.rings}
    holds, unsettled, fenced = {}, set(), False
    groups, open_ = [], []
    staged = {}

    def flying():
        return [m for g in groups for m in g] + open_

    def slot(s, step):
        index = step.tile if rings[s.ring].per is Per.TILE else step.base + step.at
        return ("slot", s.ring, s.part, index)

    for step in steps(program, instance, tiles):
        e = step.entry
        if isinstance(e, Load | Mma | Compute | BulkStore):
            key = (program.name, instance, step.tile, e.op, getattr(e, "args", ()))
            once = isinstance(e, Load) and rings[e.ring].per is Per.TILE
            counts.setdefault(key, []).append(0 if once else step.at)
        if isinstance(e, Mma):
            used = {e.accumulator, *e.registers}
            if not fenced or used & unsettled:
                return "a product without a fence"
            for m in flying():
                if m.accumulator in e.registers or e.accumulator in m.registers:
                    return "products in flight share registers"
            if e.accumulator in e.registers:
                return "a product overwrites its operand"
            old = holds.get(e.accumulator) if e.accumulate else None
            if e.accumulate and old is None:
                return "an accumulator without a value"
            operands = tuple(holds.get(r) for r in e.registers)
            holds[e.accumulator] = (
                "mma",
                e.op,
                tuple(slot(s, step) for s in e.slots),
                operands,
                old,
            )
            open_.append(e)
        elif isinstance(e, Commit):
            groups.append(open_)
            open_ = []
        elif isinstance(e, WaitGroup):
            while len(groups) > e.pending:
                groups.pop(0)
        elif isinstance(e, MmaFence):
            unsettled, fenced = set(), True
        elif isinstance(e, Compute):
            for m in flying():
                if m.accumulator in (*e.reads, *e.writes) or set(m.registers) & set(e.writes):
                    return "a register is touched in flight"
            taken = tuple(holds.get(r) for r in e.reads)
            made = (e.op, e.args, taken, tuple(slot(s, step) for s in e.slots))
            for name in e.writes:
                holds[name] = (name, made)
            for c in e.fills:
                staged[c] = made
            if not (e.writes or e.fills or e.fills_slots):
                stored[program.name, instance, step.tile, step.at, e.op, e.args] = made
            for s in e.fills_slots:
                stored[program.name, instance, slot(s, step)] = made
            unsettled |= {*e.reads, *e.writes}
        elif isinstance(e, BulkStore):
            key = (program.name, instance, step.tile, step.at, e.op, e.args, e.reduce)
            stored[key] = staged.get(e.source)
    if open_ or any(groups):
        return "products in flight at the end"
    return None


# -- all agents together --------------------------------------------------------------------------


class Wrong(Exception):  # noqa: N818
    pass


class Strand:
    """A strand's view of its agent's steps, with what is in flight in front of every step."""

    def __init__(self, machine, agent, kind, code):
        self.machine, self.agent, self.kind, self.code = machine, agent, kind, code
        self.reading = []  # slots that products in flight read, in front of each step
        self.storing = []  # staging copies that stores in flight read
        self.filled = []  # per copy: (version, fenced)
        self.slots = []  # per slot: (use, fenced)
        self.quiet, self.early = [], []


class Checker:
    """One document and one sequence of tiles."""

    def __init__(self, document: RolesDocument, tiles, limit=20_000):
        self.limit = limit
        self.document, self.tiles = document, tiles
        self.rings = {r.name: r for r in document.rings}
        self.parts = {(r.name, p.name): p for r in document.rings for p in r.parts}
        self.bar_ids, self.bar_start = {}, []
        self.slot_ids, self.named_ids, self.named_need = {}, {}, []
        for r in document.rings:
            for s in range(r.depth):
                for side, n in (("full", r.full_arrivals), ("empty", r.empty_arrivals)):
                    self.bar_ids[r.name, side, s] = len(self.bar_start)
                    self.bar_start.append((n, n))
                for p in r.parts:
                    self.slot_ids[r.name, p.name, s] = len(self.slot_ids)
        for b in document.barriers:
            for i in range(b.count):
                self.named_ids[b.name, i] = len(self.named_need)
                self.named_need.append(b.threads)
        self.agents = []
        for program in document.programs:
            for instance in range(program.instances):
                self.agents.append(self._agent(program, instance))
        self.strands = [s for a in self.agents for s in a]
        self.moving = [
            [q or e for q, e in zip(s.quiet, s.early, strict=True)] for s in self.strands
        ]
        self.twins = self._twins(document)
        self.groups = [[self._group(i, c) for c in s.code] for i, s in enumerate(self.strands)]
        self.fillers = {}  # of a slot for a use: the strands that write it
        for i, s in enumerate(self.strands):
            for filled in dict.fromkeys(x for c in s.code if c[0] == "compute" for x in c[3]):
                self.fillers.setdefault(filled, []).append(i)
        self.filled = {slot for slot, _ in self.fillers}

    # -- preparation

    def _agent(self, program, instance):
        listed = steps(program, instance, self.tiles)
        entries = [s.entry for s in listed]
        kinds = [LEAD]
        staging = any(isinstance(e, Compute) and (e.fills or e.fills_slots) for e in entries)
        apart = staging or any(
            (isinstance(e, Arrive) and e.scope is not Scope.WARP)
            or (isinstance(e, Compute) and e.slots)
            or isinstance(e, Load | Expect)
            for e in entries
        )
        if program.threads > 1 and staging:
            kinds.append(MATE)
        if program.threads > 32 and apart:
            kinds.append(OTHER)
        agent = len(self.agents)
        code = [self._code(program, instance, s) for s in listed]
        strands = [Strand(self, agent, k, code) for k in kinds]
        for s in strands:
            self._flights(s, listed, program)
            self._unnoticed(s, alone=len(strands) == 1)
        return strands

    @staticmethod
    def _unnoticed(strand, *, alone):
        """Steps of a strand that may be taken at once: by itself, or as soon as its group can."""
        for pc, code in enumerate(strand.code):
            views = strand.reading, strand.storing, strand.filled, strand.slots
            same = all(v[pc] == v[pc + 1] for v in views)
            if code[0] == "compute":
                quiet = not (code[1] or code[2] or code[3])
            else:
                quiet = code[0] == "local" and (alone or same)
            strand.quiet.append(quiet)
            strand.early.append(code[0] == "product" or (code[0] in ("sync", "join") and same))
        strand.quiet.append(False)
        strand.early.append(False)

    def _position(self, program, step, ring):
        if self.rings[ring].per is Per.TILE:
            return step.tile if program.carries_phase else 0
        return step.base + step.at if program.carries_phase else step.at

    def _meant(self, step, ring):
        return step.tile if self.rings[ring].per is Per.TILE else step.base + step.at

    def _slot(self, program, step, s):
        depth = self.rings[s.ring].depth
        at = self._position(program, step, s.ring) % depth
        return self.slot_ids[s.ring, s.part, at], self._meant(step, s.ring)

    def _bar(self, program, step, ring, side):
        at = self._position(program, step, ring) % self.rings[ring].depth
        return self.bar_ids[ring, side, at]

    def _code(self, program, instance, step):
        e = step.entry
        match e:
            case WaitFull() | WaitEmpty():
                side = "full" if isinstance(e, WaitFull) else "empty"
                turn = self._position(program, step, e.ring) // self.rings[e.ring].depth
                return "wait", self._bar(program, step, e.ring, side), (turn + e.parity) % 2
            case Expect():
                return "expect", self._bar(program, step, e.ring, "full"), e.bytes
            case Load():
                slot, use = self._slot(program, step, e)
                bad = e.bytes != self.parts[e.ring, e.part].bytes
                return "load", slot, use, self._bar(program, step, e.ring, "full"), e.bytes, bad
            case Arrive():
                bar = self._bar(program, step, e.ring, e.side.value)
                warps = max(1, program.threads // 32)
                return "arrive", bar, e.scope, warps, program.threads
            case Mma():
                return "product", tuple(self._slot(program, step, s) for s in e.slots)
            case Compute():
                reads = tuple(self._slot(program, step, s) for s in e.slots)
                return (
                    "compute",
                    reads,
                    tuple(e.fills),
                    tuple(self._slot(program, step, s) for s in e.fills_slots),
                )
            case NamedSync() | NamedArrive():
                b = next(b for b in self.document.barriers if b.name == e.barrier)
                which = (instance + e.turn) % b.count if b.count > 1 else 0
                kind = "meet" if isinstance(e, NamedSync) else "come"
                threads = -(-program.threads // 32) * 32
                return kind, self.named_ids[e.barrier, which], threads
            case ScopeSync():
                return "sync", e.scope
            case BulkStore():
                return "store", e.source, e.scope
            case WaitGroup():
                return ("retire",)
            case ClusterSync():
                return ("join",)
            case MmaFence() | Commit():
                return ("join",)
            case ProxyFence() | BulkCommit() | BulkWait():
                return ("local",)
            case _:
                raise AssertionError(e)

    def _flights(self, strand, listed, program):
        groups, open_ = [], []
        store_groups, open_stores = [], []
        filled, slots = {}, {}
        for step, code in zip([*listed, None], [*strand.code, None], strict=True):
            strand.reading.append(frozenset(x for g in [*groups, open_] for x in g))
            flight = [x for g in [*store_groups, open_stores] for x in g]
            strand.storing.append(frozenset(c for c, done in flight if not done))
            strand.filled.append(dict(filled))
            strand.slots.append(dict(slots))
            if step is None:
                break
            e = step.entry
            match e:
                case Mma():
                    open_ = [*open_, *(s for s, _ in code[1])]
                case Commit():
                    groups, open_ = [*groups, open_], []
                case WaitGroup():
                    groups = groups[max(0, len(groups) - e.pending) :]
                case Compute():
                    for c in e.fills:
                        filled[c] = (filled.get(c, (0, True))[0] + 1, False)
                    for s, use in code[3]:
                        slots[s] = (use, False)
                case ProxyFence():
                    filled = {c: (v, True) for c, (v, _) in filled.items()}
                    slots = {s: (u, True) for s, (u, _) in slots.items()}
                case BulkStore():
                    mine = strand.kind == LEAD or (strand.kind == OTHER and e.scope is Scope.WARP)
                    if mine:
                        open_stores = [*open_stores, ((e.source, e.scope), False)]
                case BulkCommit():
                    store_groups, open_stores = [*store_groups, open_stores], []
                case BulkWait():
                    cut = max(0, len(store_groups) - e.pending)
                    store_groups = store_groups[cut:]
                case _:
                    pass
        strand.unfinished = not self._drained(listed)

    @staticmethod
    def _drained(listed):
        """Whether the last stores are waited for altogether."""
        groups, open_ = [], 0
        for step in listed:
            e = step.entry
            if isinstance(e, BulkStore):
                open_ += 1
            elif isinstance(e, BulkCommit):
                groups.append(open_)
                open_ = 0
            elif isinstance(e, BulkWait) and not e.source_read:
                groups = groups[max(0, len(groups) - e.pending) :]
        return not open_ and not any(groups)

    def _twins(self, document):
        """The strands of instances that run the same steps and are told apart by nothing."""
        out, agent = [], 0
        for program in document.programs:
            rows = []
            for a in range(agent, agent + program.instances):
                rows.append([i for i, s in enumerate(self.strands) if s.agent == a])
            agent += program.instances
            if len({repr([self.strands[i].code for i in row]) for row in rows}) == 1 < len(rows):
                out.append(rows)
        return out

    # -- exploration

    def run(self):
        """None when every interleaving is right, else what went wrong (or ``UNDECIDED``)."""
        start = (
            (0,) * len(self.strands),
            (None,) * len(self.strands),
            tuple((n, 0, 0) for n, _ in self.bar_start),
            ((0, 0),) * len(self.named_need),
            (None,) * len(self.slot_ids),
            (),
        )
        stack, seen = [start], set()
        try:
            while stack:
                state = self._settle(stack.pop())
                if state in seen:
                    continue
                seen.add(state)
                if len(seen) > self.limit:
                    return UNDECIDED
                following = list(self._moves(state))
                if not following:
                    self._ended(state)
                stack += following
        except Wrong as wrong:
            return str(wrong)
        return None

    def _ended(self, state):
        pcs, _, _, _, _, copies = state
        if any(pc < len(s.code) for pc, s in zip(pcs, self.strands, strict=True)):
            raise Wrong("deadlock")
        if copies:
            raise Wrong("a copy is in flight at the end")
        if any(s.unfinished for s in self.strands if s.kind == LEAD):
            raise Wrong("a store is in flight at the end")

    def _settle(self, state):
        """Take all steps that nobody else can notice, and issue products as early as may be.

        A product that finds its slots right now keeps them until it retires, so whatever would
        have changed them before a later issue is caught then.
        """
        pcs = list(state[0])
        moving = [i for i, move in enumerate(self.moving) if move[pcs[i]]]
        while moving:
            i = moving.pop()
            s = self.strands[i]
            while s.quiet[pcs[i]]:
                pcs[i] += 1
            if not s.early[pcs[i]]:
                continue
            pc, group = pcs[i], self.groups[i][pcs[i]]
            if any(pcs[j] != pc for j in group):
                continue
            for j in group:
                pcs[j] += 1
            moving += [j for j in group if self.moving[j][pc + 1]]
            if s.code[pc][0] == "product":
                self._check_slots((pcs, *state[1:]), s.code[pc][1], product=True)
        if not self.twins:
            return (tuple(pcs), *state[1:])
        joined = state[1]
        for rows in self.twins:
            held = sorted(
                [(pcs[i], -1 if joined[i] is None else joined[i]) for i in row] for row in rows
            )
            joined = list(joined)
            for row, values in zip(rows, held, strict=True):
                for i, (pc, generation) in zip(row, values, strict=True):
                    pcs[i], joined[i] = pc, None if generation < 0 else generation
            joined = tuple(joined)
        return (tuple(pcs), joined, *state[2:])

    def _group(self, i, code):
        """The strands that take a step together."""
        s = self.strands[i]
        if code[0] in ("product", "retire", "join", "meet") or (
            code[0] == "sync" and code[1] is Scope.WARPGROUP
        ):
            return self._mates(i, {LEAD, MATE, OTHER})
        if code[0] == "sync" and code[1] is Scope.WARP:
            return self._mates(i, {LEAD, MATE} if s.kind != OTHER else {OTHER})
        return (i,)

    def _moves(self, state):
        for copy in state[5]:
            yield self._land(state, copy)
        done = set()
        for i, s in enumerate(self.strands):
            pc = state[0][i]
            if pc == len(s.code):
                continue
            code = s.code[pc]
            group = self.groups[i][pc]
            if group in done:
                continue
            if len(group) > 1 and any(state[0][j] != pc for j in group):
                continue
            done.add(group)
            after = self._step(state, i, s, code, group)
            if after is not None:
                yield after

    def _mates(self, i, kinds):
        agent = self.strands[i].agent
        return tuple(j for j, s in enumerate(self.strands) if s.agent == agent and s.kind in kinds)

    def _go(self, state, group, joined=None, bars=None, named=None, slots=None, copies=None):
        pcs = list(state[0])
        for j in group:
            pcs[j] += 1
        return (
            tuple(pcs),
            state[1] if joined is None else joined,
            state[2] if bars is None else bars,
            state[3] if named is None else named,
            state[4] if slots is None else slots,
            state[5] if copies is None else copies,
        )

    def _step(self, state, i, s, code, group):
        _, _, bars, named, _, _ = state
        match code[0]:
            case "local" | "sync" | "join" | "retire":
                return self._go(state, group)
            case "wait":
                _, _, parity = bars[code[1]]
                passed = s.kind == MATE and state[0][i - 1] > state[0][i]
                return self._go(state, group) if passed or parity != code[2] else None
            case "expect":
                if s.kind != LEAD:
                    return self._go(state, group)
                return self._go(state, group, bars=self._count(bars, code[1], 1, code[2]))
            case "load":
                if s.kind != LEAD:
                    return self._go(state, group)
                return self._load(state, group, code)
            case "arrive":
                n = self._arrivals(s, code)
                return self._go(state, group, bars=self._count(bars, code[1], n, 0))
            case "product":
                self._check_slots(state, code[1], product=True)
                return self._go(state, group)
            case "compute":
                self._check_slots(state, code[1], product=False)
                self._check_fill(state, i, s, code)
                return self._go(state, group)
            case "store":
                self._check_store(state, s, code)
                return self._go(state, group)
            case "come":
                share = code[2] if s.kind == LEAD and not self._has_other(i) else None
                if share is None:
                    share = {LEAD: 32, MATE: 0, OTHER: code[2] - 32}[s.kind]
                return self._go(state, group, named=self._come(named, code[1], share)[0])
            case "meet":
                return self._meet(state, group, code)
        raise AssertionError(code)

    def _has_other(self, i):
        agent = self.strands[i].agent
        return any(s.kind == OTHER for s in self.strands if s.agent == agent)

    def _arrivals(self, s, code):
        _, _, scope, warps, threads = code
        apart = any(x.kind == OTHER for x in self.strands if x.agent == s.agent)
        if s.kind == MATE:
            return 0
        if scope is Scope.WARP:
            return (1 if s.kind == LEAD else warps - 1) if apart else warps
        if s.kind == OTHER:
            return 0
        return 1 if scope is Scope.THREAD else max(1, threads // 128)

    def _count(self, bars, which, arrivals, extra):
        pending, tx, parity = bars[which]
        tx += extra
        if not arrivals and pending == 0 and tx == 0:
            pending, parity = self.bar_start[which][0], 1 - parity
        for _ in range(arrivals):
            if pending == 0:
                raise Wrong("more arrivals than a lap takes")
            pending -= 1
            if pending == 0 and tx == 0:
                pending, parity = self.bar_start[which][0], 1 - parity
        new = list(bars)
        new[which] = (pending, tx, parity)
        return tuple(new)

    def _come(self, named, which, threads):
        count, generation = named[which]
        count += threads
        if count > self.named_need[which]:
            raise Wrong("too many threads at a named barrier")
        mine = generation
        if count == self.named_need[which]:
            count, generation = 0, (generation + 1) % 4
        new = list(named)
        new[which] = (count, generation)
        return tuple(new), mine

    def _meet(self, state, group, code):
        joined = list(state[1])
        if joined[group[0]] is None:
            named, mine = self._come(state[3], code[1], code[2])
            for j in group:
                joined[j] = mine
            return (*state[:1], tuple(joined), state[2], named, *state[4:])
        if state[3][code[1]][1] == joined[group[0]]:
            return None
        for j in group:
            joined[j] = None
        return self._go(state, group, joined=tuple(joined))

    def _load(self, state, group, code):
        _, slot, use, bar, size, bad = code
        if bad:
            raise Wrong("a copy of another size than its place")
        if any(c[0] == slot for c in state[5]):
            raise Wrong("two copies into one place")
        if any(slot in s.reading[pc] for pc, s in zip(state[0], self.strands, strict=True)):
            raise Wrong("a copy into a slot that a product reads")
        slots = list(state[4])
        slots[slot] = None
        copies = tuple(sorted((*state[5], (slot, use, bar, size))))
        return self._go(state, group, slots=tuple(slots), copies=copies)

    def _land(self, state, copy):
        slot, use, bar, size = copy
        slots = list(state[4])
        slots[slot] = use
        copies = list(state[5])
        copies.remove(copy)
        bars = self._count(state[2], bar, 0, -size)
        return (*state[:2], bars, state[3], tuple(slots), tuple(copies))

    def _check_slots(self, state, reads, *, product):
        for slot, use in reads:
            if slot in self.filled:
                every = [
                    s.slots[pc].get(slot) for pc, s in zip(state[0], self.strands, strict=True)
                ]
                mine = [every[i] for i in self.fillers.get((slot, use), ())]
                wrong = not mine or any(f and f[0] > use for f in every)
                if wrong or any(f is None or f[0] != use or (product and not f[1]) for f in mine):
                    raise Wrong("a slot is read that is not written, or not for products")
            elif state[4][slot] != use:
                raise Wrong("a slot holds something else than is read")

    def _check_fill(self, state, i, s, code):
        for copy in code[2]:
            for pc, other in zip(state[0], self.strands, strict=True):
                if other.agent != s.agent:
                    continue
                for held, scope in other.storing[pc]:
                    same = s.kind == other.kind or {s.kind, other.kind} == {LEAD, MATE}
                    if held == copy and (scope is not Scope.WARP or same):
                        raise Wrong("a staging copy is overwritten while it is stored")
        for slot, _ in code[3]:
            if any(slot in o.reading[pc] for pc, o in zip(state[0], self.strands, strict=True)):
                raise Wrong("a slot is written that a product reads")

    def _check_store(self, state, s, code):
        _, copy, scope = code
        if s.kind == MATE or (s.kind == OTHER and scope is not Scope.WARP):
            return
        version = None
        for pc, other in zip(state[0], self.strands, strict=True):
            if other is s:
                version = other.filled[pc].get(copy)
        if version is None:
            raise Wrong("a store of nothing")
        for pc, other in zip(state[0], self.strands, strict=True):
            if other.agent != s.agent:
                continue
            same = s.kind == other.kind or {s.kind, other.kind} == {LEAD, MATE}
            covered = scope is not Scope.WARP or same
            if covered and other.filled[pc].get(copy) != (version[0], True):
                raise Wrong("a store reads writes that are not there")


def check(document: RolesDocument, intended: RolesDocument, tiles, limit=20_000):
    """None, or what goes wrong in some interleaving; ``intended`` says what must be computed."""
    found, wanted = alone(document, tiles), alone(intended, tiles)
    if isinstance(found, str):
        return found
    if found != wanted:
        return "other values are computed"
    return Checker(document, tiles, limit).run()
