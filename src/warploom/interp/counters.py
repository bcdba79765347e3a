"""Execute a module of the counter dialect (AMD): waves of a workgroup, LDS, vm and lgkm counters.

Every wave is an agent. Copies into LDS and reads from LDS complete by themselves, in the order a
wave issued them, and at the latest when a wait forces them; a fragment is NaN from the issue of its
read until that completes. A barrier lets the waves go on when all of the workgroup have come to
one. So a count that is too high, or a missing barrier, gives a wrong value under some timing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.errors import InterpreterError
from warploom.interp.arithmetic import Array, floating, index
from warploom.interp.timing import Agent, Blocked, Event, Scheduler, Step
from warploom.interp.vector import Fragments, check_inside, run_body
from warploom.ir import BarrierKind, operations as ops
from warploom.ir.expr import Function, IntExpr, Sym, SymKind, evaluate, inlined
from warploom.ir.module import KernelModule, WaveFacts
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.rings import BufferCopy
from warploom.ir.tile_schedule import CTA, CTAS, TILE, expand

LANES = 64
T_STEP, TRIPS = Sym(SymKind.STEP, "t"), Sym(SymKind.LET, "trips")
TID, LANE, WAVE = (Sym(SymKind.THREAD, n) for n in ("tid", "lane", "wave"))


@dataclass
class Workgroup:
    """LDS and the barrier of a workgroup."""

    number: int
    waves: int
    lds: dict[tuple[int, int, int], Array] = field(default_factory=dict)
    came: int = 0
    opened: int = 0

    def arrive(self) -> None:
        """A wave comes to a barrier."""
        self.came += 1
        if self.came == self.waves:
            self.came = 0
            self.opened += 1


@dataclass
class Queue:
    """Operations in flight, oldest first; they complete in order of issue."""

    scheduler: Scheduler
    waiting: list[Event] = field(default_factory=list)

    def issue(self, work: Any) -> None:  # noqa: ANN401 (a function)
        """One more instruction in flight."""
        event: Event | None = None

        def run() -> None:
            if event is not None:
                self._older(event)
            work()

        if self.scheduler.timing == "in_order":
            work()
            return
        event = Event(run)
        self.waiting.append(event)
        self.scheduler.events.append(event)

    def _older(self, event: Event) -> None:
        for each in self.waiting:
            if each is event:
                return
            each.complete()

    def wait(self, most: int) -> None:
        """Until at most so many are in flight."""
        done = max(0, len(self.waiting) - most)
        for event in self.waiting[:done]:
            event.complete()
        self.waiting = self.waiting[done:]


def start(
    module: KernelModule,
    memory: dict[str, Array],
    sizes: Mapping[str, int],
    scalars: Mapping[str, float],
    scheduler: Scheduler,
    grid: int,
) -> None:
    """All waves of all workgroups."""
    role = module.roles[0]
    for number in range(grid):
        group = Workgroup(number, role.instances)
        for shape in module.storage.lds:
            for stage in range(shape.stages):
                for subtile in range(shape.subtiles):
                    blank = np.full((shape.rows, shape.cols), np.nan, floating())
                    group.lds[shape.channel, stage, subtile] = blank
        for wave in range(role.instances):
            run = WaveRun(module, memory, sizes, scalars, scheduler, grid, group, wave)
            scheduler.agents.append(Agent(f"workgroup {number} wave {wave}", run.steps()))


class WaveRun:
    """One wave."""

    def __init__(
        self,
        module: KernelModule,
        memory: dict[str, Array],
        sizes: Mapping[str, int],
        scalars: Mapping[str, float],
        scheduler: Scheduler,
        grid: int,
        group: Workgroup,
        wave: int,
    ) -> None:
        self.module, self.memory, self.scalars = module, memory, scalars
        self.sizes, self.group, self.wave, self.grid = sizes, group, wave, grid
        self.role = module.roles[0]
        assert module.waves is not None
        self.facts: WaveFacts = module.waves
        self.vm, self.lgkm = Queue(scheduler), Queue(scheduler)
        self.fragments = Fragments({WAVE: wave}, ((LANE, LANES),))
        self.functions: Mapping[str, Function] = {f.name: f for f in self.role.tiles.functions}
        self.values: dict[Sym, int] = {}
        self.operands: dict[tuple[int, int], tuple[Array, Array]] = {}
        m, n, _ = self.facts.mma
        array = self.role.arrays[0]
        self.accumulator = np.zeros((array.blocks * m, array.cols), floating())
        self.columns = array.cols // n

    def staging(self, target: BufferCopy) -> Array:
        """There are no staging copies in this dialect."""
        raise InterpreterError(f"staging copy {target.buffer} in a module of counters")

    def set_registers(self, array: str, register: Array, own: dict[Sym, Any], made: Array) -> None:
        """Vector work of this dialect writes no registers that outlive it."""
        raise InterpreterError(f"registers of {array} are written in a module of counters")

    def slot(self, ring: str, part: str, iteration: IntExpr) -> Array:
        """There are no rings in this dialect."""
        raise InterpreterError(f"ring {ring} in a module of counters")

    def put(self, step: ops.VectorPut, places: tuple[Array, Array], made: Array) -> None:
        """There are no rings in this dialect."""
        raise InterpreterError(f"ring {step.ring} in a module of counters")

    def registers(self, array: str, register: Array, own: dict[Sym, Any]) -> Array:
        """Elements of the accumulators, as matrix instructions leave them in registers."""
        m, n, _ = self.facts.mma
        each = m * n // LANES
        number, r, lane = register // each, register % each, own[LANE]
        row = number // self.columns * m
        down = 8 * (r // 4) + 4 * (lane // n) + r % 4 if m == 32 else 4 * (lane // n) + r
        col = number % self.columns * n + lane % n
        check_inside(self.accumulator.shape, (row + down, col), None, f"registers of {array}")
        result: Array = self.accumulator[row + down, col]
        return result

    def steps(self) -> Step:
        """Everything the wave does."""
        tiles = self.role.tiles
        self.values = {Sym(SymKind.SIZE, n): v for n, v in self.sizes.items()}
        self.values |= {CTA: self.group.number, CTAS: self.grid, WAVE: self.wave}
        schedule = expand(tiles.schedule)
        for bound in (*schedule.counts, *schedule.start):
            self.values[bound.name] = evaluate(bound.value, self.values)
        self.values[TILE] = self.group.number
        for bound in schedule.place:
            self.values[bound.name] = evaluate(bound.value, self.values)
        for var, place in schedule.indices:
            self.values[Sym(SymKind.TILE, var)] = evaluate(place, self.values)
        self.values[TRIPS] = evaluate(tiles.trips, self.values)
        for bound in tiles.lets:
            self.values[bound.name] = evaluate(bound.value, self.values)
        yield from self._run(tiles.body)

    def _run(self, body: tuple[Statement, ...]) -> Step:
        for op in body:
            if isinstance(op, StepLoop):
                if not op.body:
                    continue
                first, last = (evaluate(x, self.values) for x in (op.start, op.stop))
                for t in range(first, last):
                    self.values[T_STEP] = t
                    yield from self._run(op.body)
            else:
                yield from self._execute(op)
                yield None

    def _execute(self, op: Operation) -> Step:
        match op:
            case ops.LdsCopy():
                self._copy(op)
            case ops.FragmentRead():
                self._read(op)
            case ops.WaveMma():
                self._multiply(op)
            case ops.WaitCount():
                if op.vm is not None:
                    self.vm.wait(op.vm)
                if op.lgkm is not None:
                    self.lgkm.wait(op.lgkm)
            case ops.WorkgroupBarrier():
                yield from self._barrier(op)
            case ops.Vector():
                run_body(self, op)
            case ops.Hint():
                pass
            case _:
                raise InterpreterError(f"{type(op).__name__} is of another dialect")

    def _barrier(self, op: ops.WorkgroupBarrier) -> Step:
        mine = self.wave // self.facts.protocol.waves_per_group
        if op.groups and mine not in op.groups:
            return
        if self.facts.protocol.barrier is BarrierKind.FENCING:
            self.vm.wait(0)
            self.lgkm.wait(0)
        before = self.group.opened
        self.group.arrive()
        while self.group.opened == before:
            yield Blocked(lambda: self.group.opened != before, "a barrier")

    def _copy(self, op: ops.LdsCopy) -> None:
        tensor = self.memory[op.tensor]
        target = self.group.lds[op.channel, op.stage, op.subtile]
        values: dict[Sym, Any] = dict(self.values)
        values[TID] = self.wave * LANES + np.arange(LANES)
        along = np.arange(op.chunk)
        for i in range(op.count):
            values[Sym(SymKind.FRAGMENT, "i")] = i
            row, col, to_row, to_col = (
                np.broadcast_to(index(inlined(x, self.functions), values), (LANES,))[:, None]
                for x in (op.row, op.col, op.lds_row, op.lds_col)
            )
            from_, to = (row, col + along), (to_row, to_col + along)
            check_inside(tensor.shape, from_, None, f"a copy of {op.tensor}")
            check_inside(target.shape, to, None, "a copy into LDS")

            def land(from_: Any = from_, to: Any = to) -> None:  # noqa: ANN401
                target[to] = tensor[from_]

            self.vm.issue(land)

    def _read(self, op: ops.FragmentRead) -> None:
        """A fragment is a new value: products issued before keep the old one."""
        m, n, _ = self.facts.mma
        high = m if op.channel == 0 else n
        per = LANES // high
        source = self.group.lds[op.channel, op.stage, op.subtile]
        shape = (op.tiles * high, op.reads * per * op.chunk)
        made, places = np.full(shape, np.nan, floating()), np.zeros(shape, np.int64)
        self.operands[op.channel, op.subtile] = (made, places)
        lanes, along = np.arange(LANES), np.arange(op.chunk)
        values: dict[Sym, Any] = {**self.values, LANE: lanes}
        for q in range(op.reads):
            for t in range(op.tiles):
                values[Sym(SymKind.FRAGMENT, "tile")] = t
                values[Sym(SymKind.FRAGMENT, "read")] = q
                row, col, k = (
                    np.broadcast_to(index(x, values), (LANES,))[:, None]
                    for x in (op.lds_row, op.lds_col, op.col)
                )
                from_ = (row, col + along)
                check_inside(source.shape, from_, None, "a read of LDS")
                slot = (q * per + lanes // high)[:, None] * op.chunk + along
                to = ((t * high + lanes % high)[:, None], slot)
                places[to] = k + along

                def land(from_: Any = from_, to: Any = to) -> None:  # noqa: ANN401
                    made[to] = source[from_]

                self.lgkm.issue(land)

    def _multiply(self, op: ops.WaveMma) -> None:
        sides = []
        for channel, fragment in ((0, op.a), (1, op.b)):
            if (channel, fragment) not in self.operands:
                raise InterpreterError(f"an MMA of fragment {'ab'[channel]}{fragment}, never read")
            held, places = self.operands[channel, fragment]
            if op.valid is not None:
                held = np.where(places < evaluate(op.valid, self.values), held, floating()(0))
            sides.append(held)
        m, n, _ = op.shape
        rows = slice(op.a * op.rows * m, (op.a + 1) * op.rows * m)
        columns = slice(op.b * op.columns * n, (op.b + 1) * op.columns * n)
        with np.errstate(all="ignore"):
            self.accumulator[rows, columns] += sides[0] @ sides[1].T
