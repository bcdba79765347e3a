"""The machine: what may happen next, and what happens. It decides nothing about time."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.interp.executor.roles import agent, memory
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.rings import Scope, SlotRead


@dataclass(frozen=True, slots=True)
class Unseen:
    """Ordinary writes of one strand that the copy engine may not see yet."""

    copy: memory.StagingCopy
    strand: int


Action = tuple[str, agent.Agent | None, object]
"""What can happen: the ``first`` or ``second`` strand of an agent steps, its oldest ``product``
retires, a ``store`` reads, a ``copy`` lands, a register ``settle``-s, staged writes can be
``see``-n."""


class Machine:
    """All agents of a cluster in the midst of a run."""

    def __init__(self, plan: memory.Plan, values: memory.Values) -> None:
        self.document, self.values = plan.document, values
        self.rings = {r.name: r for r in plan.document.rings}
        self.memory = memory.SharedMemory(plan.document)
        self.agents = [
            agent.Agent(a, {name for name, _ in a.program.registers}) for a in plan.agents
        ]
        self.unseen: list[Unseen] = []
        self.named: dict[tuple[int, str, int], memory.NamedState] = {}
        self.gone: set[int] = set()
        self.outputs: agent.Outputs = {}
        self._meets = plan.meets

    def actions(self) -> list[Action]:
        """Everything that may happen next."""
        out: list[Action] = [("copy", None, c) for c in self.memory.copies]
        out += [("see", None, u) for u in self.unseen]
        for a in self.agents:
            steps = a.plan.steps
            if a.at < len(steps) and self._ready(a, steps[a.at]):
                out.append(("first", a, None))
            if a.second_may_go() and not self._meets[id(steps[a.plan.strand[a.strand_at]].entry)]:
                out.append(("second", a, None))
            if a.products:
                out.append(("product", a, None))
            out += [("store", a, s) for s in a.stores]
            out += [("settle", a, name) for name in sorted(a.unsettled)]
        return out

    def _ready(self, a: agent.Agent, step: memory.Step) -> bool:
        entry = step.entry
        if a.plan.strand and self._meets[id(entry)] and not a.together:
            return False
        match entry:
            case roles.WaitFull() | roles.WaitEmpty():
                kind = "full" if isinstance(entry, roles.WaitFull) else "empty"
                lap = self._position(a, step, entry.ring) // self.rings[entry.ring].depth
                return self._barrier(a, step, entry.ring, kind).passes((lap + entry.parity) % 2)
            case roles.WaitGroup(pending=n):
                return agent.over(a.groups, n)
            case roles.BulkWait(pending=n):
                return agent.over(a.store_groups, n)
            case roles.NamedSync() | roles.ClusterSync():
                if a.joined is None:
                    a.joined = self._join(a, entry)
                key, generation = a.joined
                return self.named[key].generation > generation
            case _:
                return True

    def _join(
        self, a: agent.Agent, entry: roles.NamedSync | roles.NamedArrive | roles.ClusterSync
    ) -> tuple[tuple[int, str, int], int]:
        if isinstance(entry, roles.ClusterSync):
            key, came, needed = (-1, "cluster", 0), 1, len(self.agents)
        else:
            barrier = next(b for b in self.document.barriers if b.name == entry.barrier)
            which = (a.plan.instance + entry.turn) % barrier.count if barrier.count > 1 else 0
            key, needed = (a.cta, entry.barrier, which), barrier.threads
            came = -(-a.program.threads // 32) * 32  # hardware counts whole warps
        return key, self.named.setdefault(key, memory.NamedState()).join(came, needed)

    def perform(self, action: Action) -> None:
        """One action happens."""
        match action:
            case "copy", _, memory.Copy() as copy:
                self.memory.land(copy)
            case "see", _, Unseen() as unseen:
                self._see(unseen.strand, [unseen.copy])
            case "first", agent.Agent() as a, _:
                self._first(a)
            case "second", agent.Agent() as a, _:
                self._second(a)
            case "product", agent.Agent() as a, _:
                self._retire(a)
            case "store", agent.Agent() as a, agent.Store() as store:
                self._read_staging(a, store)
            case "settle", agent.Agent() as a, str() as name:
                a.unsettled.discard(name)
            case _:
                raise AssertionError(action)
        if action[1] is not None and action[1].done:
            self._leave(action[1].cta)

    def _first(self, a: agent.Agent) -> None:
        step = a.plan.steps[a.at]
        if a.plan.strand and self._meets[id(step.entry)]:
            a.strand_at += 1
        self._step(a, step)
        a.at += 1
        a.joined = None

    def _second(self, a: agent.Agent) -> None:
        index = a.plan.strand[a.strand_at]
        a.strand_at += 1
        entry = a.plan.steps[index].entry
        if isinstance(entry, roles.ProxyFence):
            self._see(agent.SECOND, list(a.staging.values()))
        elif isinstance(entry, roles.Compute):
            known = a.filled.get(index)
            made = agent.fill_value(self.values, entry, a.registers) if known is None else known
            self._fill(a, agent.SECOND, entry, made)

    def _step(self, a: agent.Agent, step: memory.Step) -> None:  # noqa: C901 (dispatch)
        match step.entry:
            case roles.Expect() as e:
                barrier = self._barrier(a, step, e.ring, "full")
                barrier.bytes += e.bytes
                barrier.arrive()
            case roles.Load() as e:
                self._load(a, step, e)
            case roles.Arrive() as e:
                self._arrive(a, step, e)
            case roles.Mma() as e:
                self._check_seen(a, step, e.slots)
                a.issue(agent.Product(e, self._read(a, step, e.slots)))
            case roles.Commit():
                a.groups.append(a.open)
                a.open = []
            case roles.MmaFence():
                a.unsettled.clear()
            case roles.Compute() as e:
                self._compute(a, step, e)
            case roles.ProxyFence():
                self._see(agent.FIRST, list(a.staging.values()))
                self.memory.see(a.plan.instance)
            case roles.NamedArrive() as e:
                self._join(a, e)
            case roles.BulkStore() as e:
                store = agent.Store(step, e.source)
                a.stores.append(store)
                a.open_stores.append(store)
            case roles.BulkCommit():
                a.store_groups.append(a.open_stores)
                a.open_stores = []
            case _:
                pass

    def _position(self, a: agent.Agent, step: memory.Step, ring: str) -> int:
        return step.position(self.rings[ring], a.program.carries_phase)

    def _barrier(
        self, a: agent.Agent, step: memory.Step, ring: str, kind: str, cta: int | None = None
    ) -> memory.MBarrier:
        slot = self._position(a, step, ring) % self.rings[ring].depth
        return self.memory.barriers[a.cta if cta is None else cta, ring, kind, slot]

    def _load(self, a: agent.Agent, step: memory.Step, e: roles.Load) -> None:
        ring = self.rings[e.ring]
        slot = self._position(a, step, e.ring) % ring.depth
        value = self.values.of("loaded", e.ring, e.part, step.content(ring))
        read = {key for b in self.agents for p in b.products for key, _ in p.slots}
        for cta in self._reached(a.cta, e.multicast):
            self.memory.start((cta, e.ring, slot, e.part), value, e.bytes, read)

    def _arrive(self, a: agent.Agent, step: memory.Step, e: roles.Arrive) -> None:
        size = {Scope.THREAD: a.program.threads, Scope.WARP: 32, Scope.WARPGROUP: 128}[e.scope]
        for cta in self._reached(a.cta, e.ctas):
            barrier = self._barrier(a, step, e.ring, e.side.value, cta)
            barrier.arrive(-(-a.program.threads // size))

    def _reached(self, cta: int, n: int) -> range:
        first = cta // n * n
        reached = range(first, first + n)
        if self.gone.intersection(reached):
            raise memory.Fault("a CTA of the cluster has exited")
        return reached

    def _read(
        self, a: agent.Agent, step: memory.Step, reads: Sequence[SlotRead]
    ) -> tuple[tuple[memory.SlotKey, int], ...]:
        out = []
        for r in reads:
            slot = self._position(a, step, r.ring) % self.rings[r.ring].depth
            key = (a.cta, r.ring, slot, r.part)
            out.append((key, self.memory.whole(key)))
        return tuple(out)

    def _check_seen(self, a: agent.Agent, step: memory.Step, reads: Sequence[SlotRead]) -> None:
        for r in reads:
            slot = self._position(a, step, r.ring) % self.rings[r.ring].depth
            if self.memory.unseen.get((a.cta, r.ring, slot, r.part)):
                raise memory.Fault("a product reads ordinary writes that no fence made visible")

    def _compute(self, a: agent.Agent, step: memory.Step, e: roles.Compute) -> None:
        slots = tuple(value for _, value in self._read(a, step, e.slots))
        a.touch(e)
        self._fill_slots(a, step, e)
        if e.fills or not e.writes:
            made = agent.fill_value(self.values, e, a.registers)
            a.filled[a.at] = made
            self._fill(a, agent.FIRST, e, made)
            if not e.fills:
                self.outputs[agent.output_key(a.cta, a.program, a.plan.instance, step)] = made
        a.registers.update(agent.compute_values(self.values, e, slots, a.registers))

    def _fill_slots(self, a: agent.Agent, step: memory.Step, e: roles.Compute) -> None:
        """Ordinary writes of this instance's share of a slot; products see them after a fence."""
        read = {key for b in self.agents for p in b.products for key, _ in p.slots}
        shares = 1 if a.program.alternates else a.program.instances
        for s in e.fills_slots:
            ring = self.rings[s.ring]
            slot = self._position(a, step, s.ring) % ring.depth
            value = self.values.of("loaded", s.ring, s.part, step.content(ring))
            key = (a.cta, s.ring, slot, s.part)
            self.memory.fill(key, value, a.plan.instance, shares, read)

    def _fill(self, a: agent.Agent, strand: int, e: roles.Compute, made: int) -> None:
        for which in e.fills:
            copy = a.copy(which)
            copy.fill(strand, made)
            self.unseen.append(Unseen(copy, strand))

    def _see(self, strand: int, copies: list[memory.StagingCopy]) -> None:
        for copy in copies:
            copy.unseen.discard(strand)
        self.unseen = [u for u in self.unseen if u.strand in u.copy.unseen]

    def _retire(self, a: agent.Agent) -> None:
        product = a.retire()
        if any(self.memory.whole(key) != value for key, value in product.slots):
            raise memory.Fault("a slot changed under a product")
        held = tuple(value for _, value in product.slots)
        made = agent.product_value(self.values, product.mma, held, a.registers)
        a.registers[product.mma.accumulator] = made

    def _read_staging(self, a: agent.Agent, store: agent.Store) -> None:
        a.stored(store)
        copy = a.copy(store.source)
        strands = (agent.FIRST, agent.SECOND) if a.plan.strand else (agent.FIRST, agent.FIRST)
        seen = [
            copy.written.get(s, memory.GARBAGE) if s not in copy.unseen else memory.GARBAGE
            for s in strands
        ]
        key = agent.output_key(a.cta, a.program, a.plan.instance, store.step)
        self.outputs[key] = self.values.of("stored", *seen)

    def _leave(self, cta: int) -> None:
        """The CTA exits when its last agent is through: nothing of it may be in flight."""
        mine = [a for a in self.agents if a.cta == cta]
        if not all(a.done for a in mine):
            return
        self.gone.add(cta)
        if any(c.key[0] == cta for c in self.memory.copies) or any(a.products for a in mine):
            raise memory.Fault("the CTA exits with copies or products in flight")
        if any(a.stores for a in mine):
            raise memory.Fault("the CTA exits before its stores read their data")
