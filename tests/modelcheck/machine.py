"""A role program as strands: their steps as codes, with what is in flight in front of each."""

from __future__ import annotations

from warploom.ir.mbarrier_dialect import (
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
from warploom.ir.rings import Per, Scope, Side

from .alone import steps

LEAD, MATE, OTHER = 0, 1, 2


class Strand:
    """A strand's view of its agent's steps, with what is in flight in front of every step."""

    def __init__(self, machine, agent, kind, code):
        self.machine, self.agent, self.kind, self.code = machine, agent, kind, code
        self.reading = []  # slots that products in flight read, in front of each step
        self.storing = []  # staging copies that stores in flight read
        self.filled = []  # per copy: (version, fenced)
        self.slots = []  # per slot: (use, fenced)
        self.quiet, self.early = [], []


class Machine:
    """One document and one sequence of tiles, prepared: no state of a run."""

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
        read = self._read(program)
        # A release of what lanes read meets them first; an arrival elsewhere does not.
        away = read and not any(isinstance(e, Arrive) and e.ring in read for e in entries)
        if program.threads > 1 and (staging or away):
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
                warps = -(-program.threads // 32)
                # Lanes that read the ring meet before their warp releases it.
                meets = (
                    e.scope is Scope.WARP and e.side is Side.EMPTY and e.ring in self._read(program)
                )
                return "arrive", bar, e.scope, warps, program.threads, meets
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

    @staticmethod
    def _read(program):
        """The rings whose slots a program's ordinary instructions read."""
        rows = (row for _, row in program.phases())
        return {s.ring for row in rows for e in row if isinstance(e, Compute) for s in e.slots}

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

    def _group(self, i, code):
        """The strands that take a step together."""
        s = self.strands[i]
        if code[0] in ("product", "retire", "join", "meet") or (
            code[0] == "sync" and code[1] is Scope.WARPGROUP
        ):
            return self._mates(i, {LEAD, MATE, OTHER})
        if (code[0] == "sync" and code[1] is Scope.WARP) or (code[0] == "arrive" and code[5]):
            return self._mates(i, {LEAD, MATE} if s.kind != OTHER else {OTHER})
        return (i,)

    def _mates(self, i, kinds):
        agent = self.strands[i].agent
        return tuple(j for j, s in enumerate(self.strands) if s.agent == agent and s.kind in kinds)
