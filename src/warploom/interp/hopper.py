"""Execute a module of the mbarrier dialect: roles, rings, MMAs and bulk stores, CTA by CTA.

Every role instance is an agent. Shared memory and registers hold values that are NaN until
something writes them. Barriers count arrivals and bytes and have one phase bit; copies land, MMAs
run and bulk stores read their source when the timing lets them, so a missing wait gives a wrong
value, a fault or a deadlock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.document.rings import BufferCopy, Per, Scope, Side
from warploom.errors import InterpreterError
from warploom.interp.arithmetic import Array
from warploom.interp.timing import Agent, Blocked, Event, Scheduler, Step
from warploom.interp.vector import Fragments, check_inside, run_body
from warploom.ir import operations as ops
from warploom.ir.expr import Function, IntExpr, Sym, SymKind, evaluate
from warploom.ir.module import KernelModule, Outside, Role, TensorMap
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.tile_schedule import CTA, CTAS, TILE, VISIT, expand

WARP = 32
BLOCK_ROWS = 64
T_STEP = Sym(SymKind.STEP, "t")
TRIPS = Sym(SymKind.LET, "trips")
END = Sym(SymKind.LET, "end")
INSTANCE = Sym(SymKind.THREAD, "instance")
Values = dict[Sym, int]


@dataclass
class Barrier:
    """An mbarrier: ``phase`` is the parity of the phase that is not complete yet."""

    count: int
    pending: int = 0
    transferred: int = 0
    phase: int = 0

    def __post_init__(self) -> None:
        self.pending = self.count

    def arrive(self, times: int = 1, expect: int = 0) -> None:
        """Arrivals; bytes announced with them."""
        self.transferred += expect
        self.pending -= times
        if self.pending < 0:
            raise InterpreterError(
                "more arrivals on a barrier than it counts",
                why="a phase ends with its last arrival; one more belongs to a phase not begun",
            )
        self._flip()

    def complete(self, size: int) -> None:
        """Bytes of a copy landed."""
        self.transferred -= size
        self._flip()

    def _flip(self) -> None:
        if self.pending == 0 and self.transferred == 0:
            self.phase ^= 1
            self.pending = self.count

    def passes(self, parity: int) -> bool:
        """Whether the phase of that parity is complete."""
        return self.phase != parity


@dataclass
class Named:
    """A named barrier: threads that have come, and how often it opened."""

    threads: int
    came: int = 0
    opened: int = 0

    def arrive(self, threads: int) -> None:
        """Threads of an instance come."""
        self.came += threads
        if self.came > self.threads:
            raise InterpreterError("more threads at a named barrier than it counts")
        if self.came == self.threads:
            self.came = 0
            self.opened += 1


@dataclass
class Cta:
    """Shared memory and barriers of a CTA."""

    number: int
    module: KernelModule
    slots: dict[tuple[str, str, int], Array] = field(default_factory=dict)
    barriers: dict[tuple[str, Side, int], Barrier] = field(default_factory=dict)
    named: dict[tuple[str, int], Named] = field(default_factory=dict)

    def __post_init__(self) -> None:
        storage = self.module.storage
        for ring in storage.rings:
            for slot in range(ring.depth):
                self.barriers[ring.name, Side.FULL, slot] = Barrier(ring.full_arrivals)
                self.barriers[ring.name, Side.EMPTY, slot] = Barrier(ring.empty_arrivals)
        for part in storage.parts:
            for slot in range(self.module.ring(part.ring).depth):
                blank = np.full((part.rows, part.cols), np.nan, np.float32)
                self.slots[part.ring, part.part, slot] = blank
        for named in storage.barriers:
            for i in range(named.count):
                self.named[named.name, i] = Named(named.threads)


@dataclass
class Launch:
    """One run: memory, the machine's clock, and its CTAs."""

    module: KernelModule
    memory: dict[str, Array]
    sizes: Mapping[str, int]
    scalars: Mapping[str, float]
    scheduler: Scheduler
    grid: int
    ctas: list[Cta] = field(default_factory=list)
    met: dict[int, int] = field(default_factory=dict)

    def start(self) -> None:
        """All agents of all CTAs."""
        self.ctas = [Cta(n, self.module) for n in range(self.grid)]
        for cta in self.ctas:
            for role in self.module.roles:
                for instance in range(role.instances):
                    runner = RoleRun(self, cta, role, instance)
                    name = f"CTA {cta.number} {role.name} {instance}"
                    self.scheduler.agents.append(Agent(name, runner.steps()))

    def cluster(self, cta: Cta) -> list[Cta]:
        """The CTAs of its cluster."""
        size = self.module.launch.cluster
        first = cta.number // size * size
        return self.ctas[first : first + size]

    def meeting(self) -> int:
        """Agents of a cluster that meet at cluster barriers."""
        size = self.module.launch.cluster
        return size * sum(
            r.instances
            for r in self.module.roles
            if any(isinstance(o, ops.ClusterSync) for o in (*r.setup, *r.finish))
        )


@dataclass
class Group:
    """Operations that complete together: MMAs, or bulk stores; in order of their groups."""

    work: list[Any] = field(default_factory=list)
    event: Event | None = None
    over: bool = False


class RoleRun:
    """One instance of a role in one CTA."""

    def __init__(self, launch: Launch, cta: Cta, role: Role, instance: int) -> None:
        self.launch, self.cta, self.role, self.instance = launch, cta, role, instance
        self.module = launch.module
        self.accumulators = {
            a.name: np.full((a.blocks * BLOCK_ROWS, a.cols), np.nan, np.float32)
            for a in role.arrays
        }
        self.in_flight: dict[str, int] = dict.fromkeys(self.accumulators, 0)
        self.groups: list[Group] = []
        self.open = Group()
        self.stores: list[Group] = []
        self.open_stores = Group()
        self.written: dict[tuple[str, int], Array] = {}
        self.visible: dict[tuple[str, int], Array] = {}
        self.base: dict[str, int] = {r.name: 0 for r in self.module.storage.rings}
        self.functions: Mapping[str, Function] = {f.name: f for f in role.tiles.functions}
        self.values: Values = {}
        self.fragments = Fragments(
            {INSTANCE: instance},
            (
                (Sym(SymKind.THREAD, "warp"), role.threads // WARP),
                (Sym(SymKind.THREAD, "lane"), WARP),
            ),
        )
        for stage in self.module.storage.staging:
            buffer = next(b for b in self.module.storage.buffers if b.name == stage.buffer)
            for copy in range(buffer.copies if buffer.role == role.name else 0):
                shape = (max(1, role.threads // WARP), stage.rows, stage.cols)
                for view in (self.written, self.visible):
                    view[stage.buffer, copy] = np.full(shape, np.nan, np.float32)

    @property
    def memory(self) -> dict[str, Array]:
        """Tensors, by name."""
        return self.launch.memory

    @property
    def scalars(self) -> Mapping[str, float]:
        """Scalars of the call, by name."""
        return self.launch.scalars

    def staging(self, target: BufferCopy) -> Array:
        """A staging copy, as ordinary writes see it."""
        return self.written[target.buffer, target.copy]

    def registers(self, array: str, register: Array, own: dict[Sym, Any]) -> Array:
        """Elements of an accumulator of 64-row blocks, as ``wgmma`` leaves them in registers."""
        held = self.accumulators[array]
        per = held.shape[1] // 2
        block, inside = register // per, register % per
        warp, lane = own[Sym(SymKind.THREAD, "warp")], own[Sym(SymKind.THREAD, "lane")]
        row = 64 * block + 16 * warp + lane // 4 + 8 * (inside // 2 % 2)
        col = inside // 4 * 8 + lane % 4 * 2 + inside % 2
        check_inside(held.shape, (row, col), None, f"registers of {array}")
        found: Array = held[row, col]
        return found

    # The program.

    def steps(self) -> Step:
        """Everything the instance does."""
        sizes = {Sym(SymKind.SIZE, n): v for n, v in self.launch.sizes.items()}
        self.values = {
            **sizes,
            CTA: self.cta.number,
            CTAS: self.launch.grid,
            INSTANCE: self.instance,
            END: 0,
        }
        yield from self._run(self.role.setup)
        tiles = self.role.tiles
        schedule = expand(tiles.schedule)
        for bound in (*schedule.counts, *schedule.start):
            self.values[bound.name] = self._number(bound.value)
        first, total = self._number(schedule.first), self._number(schedule.total)
        stride = self._number(schedule.stride)
        for visit, tile in enumerate(range(first, total, max(1, stride))):
            self.values[TILE], self.values[VISIT] = tile, visit
            for bound in schedule.place:
                self.values[bound.name] = self._number(bound.value)
            for var, place in schedule.indices:
                self.values[Sym(SymKind.TILE, var)] = self._number(place)
            for bound in tiles.bounds:
                self.values[bound.name] = self._number(bound.value)
            self.values[TRIPS] = self._number(tiles.trips)
            for bound in tiles.lets:
                self.values[bound.name] = self._number(bound.value)
            if not self.role.alternates or visit % self.role.instances == self.instance:
                yield from self._run(tiles.body)
            self._advance()
        yield from self._run(self.role.finish)

    def _advance(self) -> None:
        """Ring positions after a tile."""
        for ring in self.module.storage.rings:
            used = self.values[TRIPS] if ring.per is Per.ITERATION else 1
            self.base[ring.name] = self.base[ring.name] + used if self.role.carries_phase else 0

    def _run(self, body: tuple[Statement, ...]) -> Step:
        for op in body:
            if isinstance(op, StepLoop):
                for t in range(self._number(op.start), self._number(op.stop)):
                    self.values[T_STEP] = t
                    yield from self._run(op.body)
            else:
                yield from self._execute(op)
                yield None

    def _number(self, expr: IntExpr) -> int:
        return evaluate(expr, self.values, self.functions)

    def _slot(self, ring: str, iteration: IntExpr) -> tuple[int, int]:
        """Slot and lap of the use of a ring."""
        held = self.module.ring(ring)
        away = self._number(iteration) if held.per is Per.ITERATION else 0
        use = self.base[ring] + away
        if use < 0:
            raise InterpreterError(f"ring {ring}: a use before its first", where=str(iteration))
        return use % held.depth, use // held.depth

    def _execute(  # noqa: C901, PLR0912 (one line a kind of operation)
        self, op: Operation
    ) -> Step:
        match op:
            case ops.Wait():
                slot, lap = self._slot(op.ring, op.iteration)
                barrier = self.cta.barriers[op.ring, op.side, slot]
                parity = (lap + op.parity) % 2
                what = f"{op.side} of {op.ring}, slot {slot}"
                while not barrier.passes(parity):
                    yield Blocked(lambda: barrier.passes(parity), what)
            case ops.Expect():
                slot, _ = self._slot(op.ring, op.iteration)
                self.cta.barriers[op.ring, Side.FULL, slot].arrive(expect=op.bytes)
            case ops.Copy():
                self._copy(op)
            case ops.Arrive():
                self._arrive(op)
            case ops.Mma():
                self._mma(op)
            case ops.Commit():
                self._commit()
            case ops.WaitGroup():
                self._wait_group(op.pending)
            case ops.Vector():
                self._vector(op)
            case ops.ProxyFence():
                for key, array in self.written.items():
                    self.visible[key][...] = array
            case ops.NamedBarrierOp():
                yield from self._named(op)
            case ops.BulkStore():
                self._bulk_store(op)
            case ops.BulkCommit():
                self._bulk_commit()
            case ops.BulkWait():
                self._bulk_wait(op.pending)
            case ops.ClusterSync():
                yield from self._meet()
            case ops.MmaFence() | ops.ScopeSync():
                pass
            case _:
                raise InterpreterError(f"{type(op).__name__} is of another dialect")

    # Synchronisation.

    def _arrivals(self, scope: Scope) -> int:
        return max(1, self.role.threads // WARP) if scope is Scope.WARP else 1

    def _arrive(self, op: ops.Arrive) -> None:
        slot, _ = self._slot(op.ring, op.iteration)
        for cta in self.launch.cluster(self.cta) if op.ctas > 1 else [self.cta]:
            cta.barriers[op.ring, op.side, slot].arrive(self._arrivals(op.scope))

    def _named(self, op: ops.NamedBarrierOp) -> Step:
        if op.instance is not None and op.instance != self.instance:
            return
        held = next(b for b in self.module.storage.barriers if b.name == op.barrier)
        barrier = self.cta.named[op.barrier, (self.instance + op.turn) % held.count]
        before = barrier.opened
        barrier.arrive(self.role.threads)
        while op.waits and barrier.opened == before:
            yield Blocked(lambda: barrier.opened != before, f"named barrier {op.barrier}")

    def _meet(self) -> Step:
        """All agents of a cluster that have cluster barriers, one round after the other."""
        key = self.cta.number // self.module.launch.cluster
        many = self.launch.meeting()
        self.launch.met[key] = self.launch.met.get(key, 0) + 1
        wanted = -(-self.launch.met[key] // many) * many
        while self.launch.met[key] < wanted:
            yield Blocked(lambda: self.launch.met[key] >= wanted, "the cluster")

    # Copies.

    def _copy(self, op: ops.Copy) -> None:
        tensor_map = self.module.map(op.tensor_map)
        slot, _ = self._slot(op.ring, op.iteration)
        shape = self.module.part(op.ring, op.part)
        ctas = self.launch.cluster(self.cta) if op.multicast > 1 else [self.cta]
        size = int(np.prod(tensor_map.box)) * shape.dtype.bits // 8
        high = [n for n in tensor_map.box if n > 1] or [1]
        rows, cols = (high[0], high[-1]) if len(high) > 1 else (1, high[0])
        for box in op.boxes:
            at = tuple(self._number(x) for x in box.at)
            row, col = self._number(box.row), box.col

            def land(at: tuple[int, ...] = at, row: int = row, col: int = col) -> None:
                tile = read_box(self.launch.memory[tensor_map.tensor], tensor_map, at)
                for cta in ctas:
                    target = cta.slots[op.ring, op.part, slot]
                    if row + rows > target.shape[0] or col + cols > target.shape[1]:
                        raise InterpreterError(
                            f"a copy past the end of {op.ring}.{op.part}", where=str(op.op)
                        )
                    target[row : row + rows, col : col + cols] = tile.reshape(rows, cols)
                    cta.barriers[op.ring, Side.FULL, slot].complete(size)

            self.launch.scheduler.add(land, may_be_early=True)

    # Products.

    def _operand(self, x: ops.SlotOperand, slot: int) -> Array:
        tile = self.cta.slots[x.ring, x.part, slot]
        tile = tile.T if x.transposed else tile
        row = self._number(x.row)
        if row < 0 or row + x.rows > tile.shape[0]:
            raise InterpreterError(f"an operand past the end of {x.ring}.{x.part}")
        return tile[row : row + x.rows]

    def _mma(self, op: ops.Mma) -> None:
        slot_a, _ = self._slot(op.a.ring, op.iteration)
        slot_b, _ = self._slot(op.b.ring, op.iteration)
        left, right = self._operand(op.a, slot_a), self._operand(op.b, slot_b)
        target = self.accumulators[op.accumulator]
        self.in_flight[op.accumulator] += 1

        def multiply() -> None:
            with np.errstate(all="ignore"):
                made = left @ right.T
                target[...] = target + made if op.accumulate else made
            self.in_flight[op.accumulator] -= 1

        self.open.work.append(multiply)

    def _commit(self) -> None:
        group, self.open = self.open, Group()
        self.groups.append(group)
        group.event = self.launch.scheduler.add(lambda: self._finish(group))

    def _finish(self, group: Group) -> None:
        """A group and all before it."""
        for each in self.groups[: self.groups.index(group) + 1]:
            if not each.over:
                each.over = True
                for work in each.work:
                    work()

    def _wait_group(self, pending: int) -> None:
        done = max(0, len(self.groups) - pending)
        for group in self.groups[:done]:
            if group.event is not None:
                group.event.complete()
            self._finish(group)
        self.groups = self.groups[done:]

    # Vector work and stores.

    def _vector(self, op: ops.Vector) -> None:
        for name in (*op.reads, *op.writes):
            if self.in_flight.get(name):
                raise InterpreterError(
                    f"{op.op} touches {name} while an MMA writes it",
                    where=f"CTA {self.cta.number}, {self.role.name} {self.instance}",
                    why="no wait_group before it covers that MMA",
                    fix="wait for the group first",
                )
        run_body(self, op)

    def _bulk_store(self, op: ops.BulkStore) -> None:
        tensor_map = self.module.map(op.tensor_map)
        source = self.visible[op.source.buffer, op.source.copy]
        places = []
        for warp in range(source.shape[0]):
            own = {**self.values, Sym(SymKind.THREAD, "warp"): warp}
            places.append(tuple(evaluate(x, own, self.functions) for x in op.at))
        memory = self.launch.memory[tensor_map.tensor]

        def store() -> None:
            for warp, at in enumerate(places):
                write_box(memory, tensor_map, at, source[warp], add=op.add)

        self.open_stores.work.append(store)

    def _bulk_commit(self) -> None:
        group, self.open_stores = self.open_stores, Group()
        self.stores.append(group)
        group.event = self.launch.scheduler.add(lambda: self._finish_stores(group))

    def _finish_stores(self, group: Group) -> None:
        if group.event is not None:
            group.event.over = True
        if not group.over:
            group.over = True
            for work in group.work:
                work()

    def _bulk_wait(self, pending: int) -> None:
        """All groups but the newest ones, whichever of those are done already."""
        done = max(0, len(self.stores) - pending)
        for group in self.stores[:done]:
            self._finish_stores(group)
        self.stores = self.stores[done:]


def _ranges(
    shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...]
) -> Iterator[tuple[slice, slice]]:
    """By axis: what of the tensor a box covers, and where in the box that lies."""
    for length, extent, start in zip(shape, box, at, strict=True):
        low, high = max(start, 0), min(start + extent, length)
        high = max(low, high)
        yield slice(low, high), slice(low - start, high - start)


def read_box(memory: Array, tensor_map: TensorMap, at: tuple[int, ...]) -> Array:
    """A box of a tensor; elements outside are 0."""
    if tensor_map.outside is not Outside.ZERO:
        raise InterpreterError(f"{tensor_map.name} is a map of stores")
    tile = np.zeros(tensor_map.box, np.float32)
    pairs = list(_ranges(memory.shape, tensor_map.box, at))
    inside = tuple(b for _, b in pairs)
    tile[inside] = memory[tuple(a for a, _ in pairs)]
    return tile


def write_box(
    memory: Array, tensor_map: TensorMap, at: tuple[int, ...], tile: Array, *, add: bool
) -> None:
    """A box to a tensor; elements outside are dropped."""
    pairs = list(_ranges(memory.shape, tensor_map.box, at))
    here = tuple(a for a, _ in pairs)
    values = tile.reshape(tensor_map.box)[tuple(b for _, b in pairs)]
    memory[here] = memory[here] + values if add else values
