"""Execute a module of the mbarrier dialect: roles, rings, MMAs and bulk stores, CTA by CTA.

Every role instance is an agent. Shared memory and registers hold values that are NaN until
something writes them. Barriers count arrivals and bytes and have one phase bit; copies land, MMAs
run and bulk stores read their source when the timing lets them, so a missing wait gives a wrong
value, a fault or a deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.errors import InterpreterError
from warploom.interp.arithmetic import OUTSIDE, WHOLE, Array, elements_of, floating, index
from warploom.interp.timing import Agent, Blocked, Event, Scheduler, Step
from warploom.interp.vector import COL, ROW, Fragments, check_inside, run_body
from warploom.ir import operations as ops
from warploom.ir.expr import Function, IntExpr, Sym, SymKind, evaluate
from warploom.ir.module import (
    KernelModule,
    LoopPhase,
    Outside,
    RegisterArray,
    Role,
    TensorMap,
    TileLoop,
)
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.rings import BufferCopy, Per, Scope, Side
from warploom.ir.tile_schedule import CTA, CTAS, TILE, VISIT, TileAxis, TileSchedule, expand
from warploom.ir.types import DType

WARP = 32
BLOCK_ROWS = 64
T_STEP = Sym(SymKind.STEP, "t")
TRIPS = Sym(SymKind.LET, "trips")
END = Sym(SymKind.LET, "end")
INSTANCE = Sym(SymKind.THREAD, "instance")
Values = dict[Sym, int]
_WORK = (ops.Vector, ops.Mma, ops.BulkStore, ops.Meet)  # what who rests in a tile leaves out
TurnKey = tuple[str, tuple[int, ...], int]  # what counts a turn, where, for which instance


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
                blank = _blank((part.rows, part.cols), part.dtype)
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
    visits: tuple[int, ...] = ()
    ctas: list[Cta] = field(default_factory=list)
    met: dict[int, int] = field(default_factory=dict)
    parts: dict[tuple[tuple[int, ...], int], list[dict[str, Array]]] = field(default_factory=dict)
    turns: dict[TurnKey, int] = field(default_factory=dict)

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
        warps = max(1, role.threads // WARP)
        self.arrays = {a.name: a for a in role.arrays}
        self.accumulators = {a.name: _blank_array(a, warps) for a in role.arrays}
        self.in_flight: dict[str, int] = dict.fromkeys(self.accumulators, 0)
        self.read_in_flight: dict[str, int] = dict.fromkeys(self.accumulators, 0)
        self.pending: list[Callable[[], None]] = []
        self.ended = self.rests = False
        self.groups: list[Group] = []
        self.open = Group()
        self.stores: list[Group] = []
        self.open_stores = Group()
        self.written: dict[tuple[str, int], Array] = {}
        self.visible: dict[tuple[str, int], Array] = {}
        self.base: dict[str, int] = {r.name: 0 for r in self.module.storage.rings}
        self.functions_of: dict[int, Mapping[str, Function]] = {}
        self.functions: Mapping[str, Function] = self.known_functions(role.tiles)
        self.values: Values = {}
        threads: tuple[tuple[Sym, int], ...] = (
            (Sym(SymKind.THREAD, "warp"), role.threads // WARP),
            (Sym(SymKind.THREAD, "lane"), WARP),
        )
        if role.tiles.schedule.rows:
            threads = ((Sym(SymKind.THREAD, "tid"), role.threads),)
        self.fragments = Fragments({INSTANCE: instance}, threads)
        for stage in self.module.storage.staging:
            buffer = next(b for b in self.module.storage.buffers if b.name == stage.buffer)
            for copy in range(buffer.copies if buffer.role == role.name else 0):
                shape = (max(1, role.threads // WARP), stage.rows, stage.cols)
                for view in (self.written, self.visible):
                    view[stage.buffer, copy] = _blank(shape, stage.dtype)

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

    def _place(self, array: str, register: Array, own: dict[Sym, Any]) -> tuple[Array, ...]:
        """Where registers of all threads lie in an array, by its form."""
        found, held = self.arrays[array], self.accumulators[array]
        warp, lane = own[Sym(SymKind.THREAD, "warp")], own[Sym(SymKind.THREAD, "lane")]
        places: tuple[Array, ...]
        if found.form in ("row", "thread"):
            places = (
                np.broadcast_to(warp, register.shape),
                np.broadcast_to(lane, register.shape),
                register,
            )
        else:
            per = held.shape[1] // 2
            block, inside = register // per, register % per
            row = 64 * block + 16 * warp + lane // 4 + 8 * (inside // 2 % 2)
            places = (row, inside // 4 * 8 + lane % 4 * 2 + inside % 2)
        check_inside(held.shape, places, None, f"registers of {array}")
        return places

    def registers(self, array: str, register: Array, own: dict[Sym, Any]) -> Array:
        """Elements of an array of 64-row blocks, as ``wgmma`` leaves them in registers, or of a
        thread's own.
        """
        if self.in_flight[array]:
            raise self._in_flight(array, "reads")
        result: Array = self.accumulators[array][self._place(array, register, own)]
        return result

    def set_registers(self, array: str, register: Array, own: dict[Sym, Any], made: Array) -> None:
        """Write elements of an array."""
        if self.in_flight[array] or self.read_in_flight[array]:
            raise self._in_flight(array, "writes")
        self.accumulators[array][self._place(array, register, own)] = made

    def _in_flight(self, array: str, how: str) -> InterpreterError:
        return InterpreterError(
            f"vector work {how} {array} while an MMA uses it",
            where=f"CTA {self.cta.number}, {self.role.name} {self.instance}",
            why="no wait_group before it covers that MMA",
            fix="wait for the group first",
        )

    def slot(self, ring: str, part: str, iteration: IntExpr) -> Array:
        """A part of a ring slot."""
        slot, _ = self._slot(ring, iteration)
        return self.cta.slots[ring, part, slot]

    def put(self, step: ops.VectorPut, places: tuple[Array, Array], made: Array) -> None:
        """Ordinary writes to a slot: MMAs see them after a proxy fence."""
        tile = self.slot(step.ring, step.part, step.iteration)
        check_inside(tile.shape, places, None, f"{step.ring}.{step.part}")
        tile[places] = np.nan if tile.dtype.kind == "f" else OUTSIDE

        def seen() -> None:
            tile[places] = made

        self.pending.append(seen)

    # The program.

    def steps(self) -> Step:
        """Everything the instance does."""
        sizes = {Sym(SymKind.SIZE, n): v for n, v in self.launch.sizes.items()}
        whole = {s.name for s in self.module.scalars if s.dtype is DType.I32}
        self.values = {
            **sizes,
            **{Sym(SymKind.SCALAR, n): int(self.launch.scalars[n]) for n in whole},
            CTA: self.cta.number,
            CTAS: self.launch.grid,
            INSTANCE: self.instance,
            END: 0,
        }
        for phase in self.role.earlier:
            yield from self._run(phase.setup)
        yield from self._run(self.role.setup)
        tiles = self.role.tiles
        for visit, _ in enumerate(self._tiles()):
            self.values[VISIT] = visit
            for bound in tiles.lets:
                self.values[bound.name] = self._number(bound.value)
            mine = not self.role.alternates or visit % self.role.instances == self.instance
            works = self.role.works
            self.rests = works is not None and not self._number(works)
            self.ended = False
            for n, phase in enumerate(self.role.earlier):
                rings = {r.name for r in self.module.earlier[n].rings}
                yield from self._phase(phase, rings, runs=mine)
            every = {r.name for r in self.module.storage.rings}
            before = {r.name for x in self.module.earlier for r in x.rings}
            yield from self._phase(tiles, every - before, runs=mine)
        for phase in self.role.earlier:
            yield from self._run(phase.finish)
        yield from self._run(self.role.finish)

    def _phase(self, phase: TileLoop | LoopPhase, rings: set[str], *, runs: bool) -> Step:
        """One loop of a tile, with what stands before and after it."""
        self.functions = self.known_functions(phase)
        for bound in phase.bounds:
            self.values[bound.name] = self._number(bound.value)
        self.values[TRIPS] = self._number(phase.trips)
        for bound in phase.ranges:
            self.values[bound.name] = self._number(bound.value)
        if runs:
            yield from self._run(phase.body)
        for name in rings:  # ring positions after a tile
            used = self.values[TRIPS] if self.module.ring(name).per is Per.ITERATION else 1
            self.base[name] = self.base[name] + used if self.role.carries_phase else 0

    def known_functions(self, phase: TileLoop | LoopPhase) -> Mapping[str, Function]:
        """The step functions of a loop, one mapping for all its tiles."""
        key = id(phase)
        if key not in self.functions_of:
            self.functions_of[key] = {f.name: f for f in phase.functions}
        return self.functions_of[key]

    def _tiles(self) -> Iterator[None]:
        """Bind the tiles that this CTA takes, one after the other."""
        schedule = self.role.tiles.schedule
        made = expand(schedule)
        for bound in (*made.counts, *made.start):
            self.values[bound.name] = self._number(bound.value)
        if schedule.groups is not None:
            yield from self._group_tiles(schedule)
            return
        first, total, stride = (self._number(x) for x in (made.first, made.total, made.stride))
        numbers: Iterable[int] = range(first, total, max(1, stride))
        if schedule.listed:
            numbers = self._listed()
        for number in numbers:
            tile = number
            if schedule.order:
                tile = self.read(schedule.order, (number,))
            self.values[TILE] = tile
            for bound in made.place:
                self.values[bound.name] = self._number(bound.value)
            for var, place in made.indices:
                self.values[Sym(SymKind.TILE, var)] = self._number(place)
            yield None

    def _listed(self) -> Iterator[int]:
        """The tiles that the list of the launch has for this CTA, up to a negative number."""
        visits = self.launch.visits
        if not visits:
            raise InterpreterError(
                "the list of tiles is not given", fix="visits=: where each CTA's begin, then tiles"
            )
        at = visits[self.cta.number]
        while visits[at] >= 0:
            yield visits[at]
            at += 1

    def _group_tiles(self, schedule: TileSchedule) -> Iterator[None]:
        """Row tiles of groups, in bands; groups lie one after the other."""
        groups = schedule.groups
        assert groups is not None
        count = self.launch.sizes[groups.group.axis]
        rest = [*schedule.units, *schedule.tiled]
        counts = {a.var: -(-self.launch.sizes[a.axis] // a.extent) for a in rest}
        across = int(np.prod(list(counts.values()))) if counts else 1
        number, before, group = self.cta.number, 0, 0
        while True:
            here = 0
            while group < count:
                first, last = (self.read(groups.starts, (group + n,)) for n in (0, 1))
                here = max(0, -(-(last - first) // groups.rows.extent))
                if number < (before + here) * across:
                    break
                before += here
                group += 1
            if group == count:
                return
            inside = number - before * across
            band = inside // (schedule.group * across) * schedule.group
            tall = min(here - band, schedule.group)
            place = inside - band * across
            self.values[Sym(SymKind.TILE, groups.group.var)] = group
            self.values[Sym(SymKind.TILE, groups.rows.var)] = band + place % tall
            left = place // tall
            for axis in reversed(self.grid_order(rest)):
                self.values[Sym(SymKind.TILE, axis.var)] = left % counts[axis.var]
                left //= counts[axis.var]
            yield None
            number += self.launch.grid

    def grid_order(self, axes: list[TileAxis]) -> list[TileAxis]:
        """Axes in the order of the grid's variables."""
        order = list(self.module.kernel.grid.vars)
        return sorted(axes, key=lambda a: order.index(a.var))

    def read(self, tensor: str, at: tuple[int, ...]) -> int:
        """An element of a tensor of integers."""
        found = elements_of(self.memory[tensor], tensor, tuple(np.asarray(n) for n in at))
        return int(found)

    def _run(self, body: tuple[Statement, ...]) -> Step:
        for op in body:
            if self.ended:
                return
            if isinstance(op, StepLoop):
                if not op.body:
                    continue
                for t in range(self._number(op.start), self._number(op.stop)):
                    self.values[T_STEP] = t
                    yield from self._run(op.body)
            elif self.rests and isinstance(op, _WORK):
                yield None
            else:
                yield from self._execute(op)
                yield None

    def _number(self, expr: IntExpr) -> int:
        return evaluate(expr, self.values, self.functions, self.read)

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
            case ops.ThreadCopy():
                self._thread_copy(op)
            case ops.Meet():
                self._join(op)
            case ops.Arrive():
                self._arrive(op)
            case ops.Mma():
                self._mma(op)
            case ops.Commit():
                self._commit()
            case ops.WaitGroup():
                self._wait_group(op.pending)
            case ops.Vector():
                turn = next((x.turn for x in op.body if isinstance(x, ops.VectorStore)), None)
                if turn is not None:
                    yield from self._take_turn(op, turn)
                self._vector(op)
                if turn is not None:
                    self._give_turn(op, turn)
            case ops.ProxyFence():
                for key, array in self.written.items():
                    self.visible[key][...] = array
                for write in self.pending:
                    write()
                self.pending = []
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
            end = None if box.end is None else self._number(box.end)

            def land(
                at: tuple[int, ...] = at, row: int = row, col: int = col, end: int | None = end
            ) -> None:
                tile = read_box(self.launch.memory[tensor_map.tensor], tensor_map, at, end)
                for cta in ctas:
                    target = cta.slots[op.ring, op.part, slot]
                    if row + rows > target.shape[0] or col + cols > target.shape[1]:
                        raise InterpreterError(
                            f"a copy past the end of {op.ring}.{op.part}", where=str(op.op)
                        )
                    target[row : row + rows, col : col + cols] = tile.reshape(rows, cols)
                    cta.barriers[op.ring, Side.FULL, slot].complete(size)

            self.launch.scheduler.add(land, may_be_early=True)

    def _thread_copy(self, op: ops.ThreadCopy) -> None:
        """All elements of a part, by ordinary copies that arrive when they have landed."""
        slot, _ = self._slot(op.ring, op.iteration)
        target = self.cta.slots[op.ring, op.part, slot]
        own: dict[Sym, Any] = {
            **self.values,
            ROW: np.arange(target.shape[0])[:, None],
            COL: np.arange(target.shape[1])[None, :],
        }
        memory = self.memory[op.tensor]

        def at(expr: IntExpr) -> Array:
            plain = self.fragments.inlined(expr, self.functions)
            return np.broadcast_to(index(plain, own, self.memory), target.shape)

        places = tuple(at(x) for x in op.at)
        inside = None if op.predicate is None else at(op.predicate).astype(bool)
        check_inside(memory.shape, places, inside, f"a copy of {op.tensor}")
        if inside is None:
            inside = np.ones(target.shape, bool)

        def land() -> None:
            held = tuple(np.where(inside, p, 0) for p in places)
            target[...] = np.where(inside, memory[held], 0) if memory.size else 0
            self.cta.barriers[op.ring, Side.FULL, slot].complete(op.bytes)

        self.launch.scheduler.add(land, may_be_early=True)

    def _join(self, op: ops.Meet) -> None:
        """Leave what this part summed; the last part to come takes all of it and goes on."""
        axes = self.role.tiles.schedule.axes
        tile = tuple(self.values[Sym(SymKind.TILE, a.var)] for a in axes)
        held = self.launch.parts.setdefault((tile, self.instance), [])
        names = (*op.sums, *([op.top] if op.top else []))
        busy = [n for n in names if self.in_flight[n]]
        if busy:
            raise self._in_flight(busy[0], "reads")
        held.append({n: self.accumulators[n].copy() for n in names})
        if len(held) < op.parts:
            self.ended = True
            return
        with np.errstate(all="ignore"):
            top = None
            if op.top:
                top = held[0][op.top]
                for part in held[1:]:
                    top = np.fmax(top, part[op.top])
                self.accumulators[op.top][...] = top
            for name in op.sums:
                total = np.zeros_like(self.accumulators[name])
                for part in held:
                    made = part[name]
                    if name in op.rescaled and top is not None:
                        made = made * self._factor(name, op.top, part[op.top], top)
                    total = total + made
                self.accumulators[name][...] = total
                if op.exists is not None and self.arrays[name].form == "tile":
                    self._forget(name, op.exists)
        del self.launch.parts[tile, self.instance]

    def _forget(self, name: str, exists: IntExpr) -> None:
        """Rows that do not exist need not meet: what is left of them is anything. A thread asks
        for the first of its two.
        """
        held = self.accumulators[name]
        own = 0 if self.role.alternates else held.shape[0] * self.instance
        for row in range(held.shape[0]):
            first = own + row - (8 if row % 16 >= 8 else 0)
            if not evaluate(exists, {**self.values, ROW: first}, self.functions, self.read):
                held[row] = np.nan

    def _factor(self, name: str, top: str, was: Array, now: Array) -> Array:
        """By what a part's sums are multiplied, for each of their elements."""
        scale: Array = np.exp2((was - now).astype(floating()))
        if self.arrays[name].form == "row":
            return scale
        rows = self.accumulators[name].shape[0]
        row = np.arange(rows)
        block, warp, inside = row // 64, row % 64 // 16, row % 16
        lane, half = inside % 8 * 4, inside // 8
        result: Array = scale[warp, lane, 2 * block + half][:, None]
        return result

    # Products.

    def _operand(self, x: ops.SlotOperand, slot: int) -> Array:
        tile = self.cta.slots[x.ring, x.part, slot]
        tile = tile.T if x.transposed else tile
        row = self._number(x.row)
        if row < 0 or row + x.rows > tile.shape[0]:
            raise InterpreterError(f"an operand past the end of {x.ring}.{x.part}")
        return tile[row : row + x.rows]

    def _mma(self, op: ops.Mma) -> None:
        slot_b, _ = self._slot(op.b.ring, op.iteration)
        right = self._operand(op.b, slot_b)
        held = op.a.array if isinstance(op.a, ops.RegisterOperand) else ""
        if isinstance(op.a, ops.RegisterOperand):
            if self.in_flight[held]:
                raise self._in_flight(held, "multiplies")
            left = self.accumulators[held]
            self.read_in_flight[held] += 1
        else:
            left = self._operand(op.a, self._slot(op.a.ring, op.iteration)[0])
        target = self.accumulators[op.accumulator]
        self.in_flight[op.accumulator] += 1
        begin, end = op.inner or (0, op.shape[2])
        if left.shape != (op.shape[0], op.shape[2]) or right.shape[0] != op.shape[1]:
            raise InterpreterError(f"{op.op}: operands of another shape than {op.shape}")

        def multiply() -> None:
            with np.errstate(all="ignore"):
                made = product(left[:, begin:end], right[:, begin:end])
                target[...] = target + made if op.accumulate else made
            self.in_flight[op.accumulator] -= 1
            if held:
                self.read_in_flight[held] -= 1

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

    def _turn_of(self, op: ops.Vector, turn: ops.Turn) -> tuple[Values, TurnKey | None]:
        """What expressions of a turn know, and what counts it; None where nobody does."""
        own: Values = {**self.values, T_STEP: self._number(op.iteration)}
        own = {**own, ops.TURN_ROW: evaluate(turn.first, own, self.functions, self.read)}
        if not evaluate(turn.exists, own, self.functions, self.read):
            return own, None
        at = tuple(evaluate(x, own, self.functions, self.read) for x in turn.at)
        return own, (turn.tensor, at, self.instance)

    def _take_turn(self, op: ops.Vector, turn: ops.Turn) -> Step:
        """Stand until as many tiles have added to the rows as come before this one, no more."""
        own, key = self._turn_of(op, turn)
        starts = turn.begins is None or evaluate(turn.begins, own, self.functions, self.read)
        if key is None or not starts:
            return
        before = evaluate(turn.before, own, self.functions, self.read)
        counted = self.launch.turns
        what = f"turn {before} of the rows at {turn.tensor}{list(key[1])}"
        while counted.get(key, 0) < before:
            yield Blocked(lambda: counted.get(key, 0) >= before, what)
        if counted.get(key, 0) != before:
            raise InterpreterError(
                f"{what} is taken when {counted[key]} tiles have added to them",
                where=f"CTA {self.cta.number}, {op.op}",
                why="two tiles have the same turn: the order of their sums depends on timing",
                fix="count all tiles that add to the rows before this one",
            )

    def _give_turn(self, op: ops.Vector, turn: ops.Turn) -> None:
        own, key = self._turn_of(op, turn)
        ends = turn.ends is None or evaluate(turn.ends, own, self.functions, self.read)
        if key is not None and ends:
            self.launch.turns[key] = self.launch.turns.get(key, 0) + 1

    def _bulk_store(self, op: ops.BulkStore) -> None:
        tensor_map = self.module.map(op.tensor_map)
        source = self.visible[op.source.buffer, op.source.copy]
        places = []
        for warp in range(source.shape[0]):
            own = {**self.values, Sym(SymKind.THREAD, "warp"): warp}
            places.append(tuple(evaluate(x, own, self.functions, self.read) for x in op.at))
        memory = self.launch.memory[tensor_map.tensor]
        end = None if op.end is None else self._number(op.end)

        def store() -> None:
            for warp, at in enumerate(places):
                write_box(memory, tensor_map, at, source[warp], add=op.add, end=end)

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


def _blank_array(array: RegisterArray, warps: int) -> Array:
    """Registers before the first write: NaN, or the least integer."""
    shape: tuple[int, ...] = (array.blocks * BLOCK_ROWS, array.cols)
    if array.form in ("row", "thread"):
        shape = (warps, WARP, array.registers if array.form == "thread" else 2 * array.blocks)
    return _blank(shape, array.dtype)


def _blank(shape: tuple[int, ...], dtype: DType) -> Array:
    """Elements that nobody wrote: NaN, or the least integer; whole numbers are kept exactly."""
    if dtype in WHOLE:
        return np.full(shape, OUTSIDE, np.int64)
    return np.full(shape, np.nan, floating())


def _ranges(
    shape: tuple[int, ...], tensor_map: TensorMap, at: tuple[int, ...], end: int | None
) -> Iterator[tuple[slice, slice]]:
    """By axis: what of the tensor a box covers, and where in the box that lies."""
    for n, (length, extent, start) in enumerate(zip(shape, tensor_map.box, at, strict=True)):
        stop = length if end is None or n != tensor_map.bounded else min(length, end)
        low, high = max(start, 0), min(start + extent, stop)
        high = max(low, high)
        yield slice(low, high), slice(low - start, high - start)


def read_box(
    memory: Array, tensor_map: TensorMap, at: tuple[int, ...], end: int | None = None
) -> Array:
    """A box of a tensor; elements outside, and from ``end`` on, are 0."""
    if tensor_map.outside is not Outside.ZERO:
        raise InterpreterError(f"{tensor_map.name} is a map of stores")
    tile = np.zeros(tensor_map.box, memory.dtype if memory.dtype.kind in "iu" else floating())
    pairs = list(_ranges(memory.shape, tensor_map, at, end))
    inside = tuple(b for _, b in pairs)
    tile[inside] = memory[tuple(a for a, _ in pairs)]
    return tile


def write_box(
    memory: Array,
    tensor_map: TensorMap,
    at: tuple[int, ...],
    tile: Array,
    *,
    add: bool,
    end: int | None = None,
) -> None:
    """A box to a tensor; elements outside, and from ``end`` on, are dropped."""
    pairs = list(_ranges(memory.shape, tensor_map, at, end))
    here = tuple(a for a, _ in pairs)
    cols = tensor_map.box[-1]
    whole = tile[:, :cols].reshape(tensor_map.box)
    values = whole[tuple(b for _, b in pairs)]
    memory[here] = memory[here] + values if add else values


ONE_THREAD = 64 * 64 * 64  # products of a matrix product that BLAS computes without threads


def product(left: Array, right: Array) -> Array:
    """``left @ right.T``, in parts that are computed by this thread: small products are many, and
    threads that wait for each other take longer than the work.
    """
    rows, inner = left.shape
    columns = max(1, ONE_THREAD // max(1, rows * inner))
    if columns >= len(right):
        return np.asarray(left @ right.T)
    parts = [left @ right[n : n + columns].T for n in range(0, len(right), columns)]
    return np.concatenate(parts, axis=1)
