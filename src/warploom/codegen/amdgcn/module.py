"""Build the kernel module of a matrix product for MI355X from a schedule and a tile.

The module states what ``lower`` prints as LLVM IR: which elements every copy brings where, where
fragments lie in LDS, what each matrix instruction multiplies, and where sums are stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import PurePath

from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.plan import KernelPlan, Movement, plan_kernel
from warploom.codegen.amdgcn.tile import CHUNK, Operand
from warploom.codegen.amdgcn.tile_kernel import GemmTileKernel, gemm_tile_kernel
from warploom.errors import BackendError
from warploom.ir import operations as ops, tile as ir
from warploom.ir.counter_document import assemble
from warploom.ir.expr import (
    Apply,
    Expr,
    Function,
    IntExpr,
    Select,
    Sym,
    SymKind,
    conjunction,
    const,
    least,
    lift,
    most,
    size,
)
from warploom.ir.module import (
    Dialect,
    KernelModule,
    Launch,
    LdsShape,
    RegisterArray,
    Role,
    ScalarArg,
    Storage,
    TensorArg,
    TileLoop,
    WaveFacts,
)
from warploom.ir.operations import FragmentIndex, FragmentLayout, Operation, Scheduled
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase, ScheduleEntry, ScheduleOps
from warploom.ir.tile_schedule import Let, TileAxis, TileSchedule, grid_of, let, tile_index
from warploom.ir.types import Line, relative
from warploom.targets.mi355x import LANES

TRIPS, STEP = let("trips"), Sym(SymKind.STEP, "t")
TID, LANE, WAVE = (Sym(SymKind.THREAD, n) for n in ("tid", "lane", "wave"))
ROW, COL = (Sym(SymKind.ELEMENT, n) for n in ("row", "col"))
ACCUMULATOR = "acc"


def gemm_module(plan: KernelPlan, source: ir.Kernel | None = None) -> KernelModule:
    """The module of a plan with a tile kernel; ``source`` is the author's, before any pass."""
    if plan.text is None:
        raise BackendError(
            "a schedule without a tile kernel has no module",
            fix="plan_kernel(document, tile, text=gemm_tile_kernel(kernel))",
        )
    if plan.movement is not Movement.DMA:
        raise BackendError(
            "tiles that go through registers are not expressed as a kernel module",
            where=plan.tile.label(),
            fix="the fourwave or pingpong schedule, which copy straight into LDS",
        )
    return _Builder(plan, plan.text, source or plan.text.kernel).module()


def module_of_kernel(
    kernel: ir.Kernel,
    *,
    schedule: str = "fourwave",
    block: tuple[int, int, int] | None = None,
) -> KernelModule:
    """The module of a tile kernel that is a product with a pointwise tail.

    ``schedule`` is ``fourwave`` or ``pingpong``; ``block`` the tile of a workgroup. K may be any
    whole number of 16-byte chunks.
    """
    text = gemm_tile_kernel(kernel)
    depth = 128 // text.element.size
    ready = ready_kernel(schedule, block or (256, 256, depth), text.element)
    plan = plan_kernel(ready.document, ready.tile, text=text, ragged_k=True)
    return gemm_module(plan, kernel)


class _Builder:
    """One kernel on its way to a module."""

    def __init__(self, plan: KernelPlan, text: GemmTileKernel, source: ir.Kernel) -> None:
        self.plan, self.text, self.source = plan, text, source
        self.tile, self.kernel = plan.tile, text.kernel
        self.protocol = plan.document.protocol
        self.inner = self.kernel.var(self.kernel.loops[0].var).axis
        self.chunk = CHUNK // self.tile.element.size
        self.vars = (text.row, text.column)
        self.axes = tuple(self.kernel.var(v).axis for v in self.vars)
        self.left: Counter[tuple[int, int]] = Counter()
        self.next_loads: Counter[tuple[int, int]] = Counter()

    def module(self) -> KernelModule:
        """All of it."""
        plan, tile = self.plan, self.tile
        facts = WaveFacts(
            protocol=self.protocol,
            counters=plan.document.counters,
            shape=plan.document.shape,
            waves_m=tile.waves_m,
            waves_n=tile.waves_n,
            mma=(tile.mfma.m, tile.mfma.n, tile.mfma.k),
            stagger_index=plan.document.warp_stagger_index,
        )
        schedule = TileSchedule(
            tiled=tuple(
                TileAxis(var=v, axis=a, extent=n)
                for v, a, n in zip(self.vars, self.axes, (tile.block_m, tile.block_n), strict=True)
            ),
            launched=True,
        )
        phases = [self._phase(p) for p in Phase]
        rows, columns = plan.grid
        registers = tile.mfma.accumulator_registers
        role = Role(
            name="wave",
            instances=tile.waves,
            threads=LANES,
            peel=0,
            arrays=(
                RegisterArray(
                    name=ACCUMULATOR,
                    blocks=rows,
                    cols=columns * tile.mfma.n,
                    registers=rows * columns * registers,
                ),
            ),
            setup=(),
            tiles=TileLoop(
                schedule=schedule,
                lets=(
                    *(
                        Let(name=let(f"pos_{a.var}"), value=lift(tile_index(a.var) * a.extent))
                        for a in schedule.tiled
                    ),
                    *(self._last_row(a) for a in schedule.tiled),
                ),
                functions=(self._copy_col(),),
                trips=self._trips(),
                least_trips=0,
                body=(*assemble(facts, *phases), self._store()),
            ),
            finish=(),
        )
        tensors = tuple(
            TensorArg(
                name=t.name, axes=t.axes, dtype=t.dtype, access=t.access.value, alignment=CHUNK
            )
            for t in self.kernel.tensors
        )
        used = set(self.text.scalars)
        return KernelModule(
            name=plan.document.name,
            target="mi355x",
            config=f"{tile.label()}, {plan.stages} stages",
            dialect=Dialect.COUNTER,
            kernel=relative(self.source),
            tensors=tensors,
            scalars=tuple(
                ScalarArg(name=p.name, dtype=p.dtype)
                for p in self.kernel.parameters
                if p.name in used
            ),
            maps=(),
            launch=Launch(
                grid=grid_of(schedule),
                block=tile.threads,
                cluster=1,
                shared_bytes=plan.lds_bytes,
                requires=self._requires(),
            ),
            storage=Storage(lds=tuple(self._lds(o) for o in tile.operands)),
            roles=(role,),
            strategy=plan.document.strategy,
            dtype=tile.element.value,
            tile=(tile.block_m, tile.block_n, tile.block_k),
            flow=plan.document.flow,
            waves=facts,
        )

    def _lds(self, operand: Operand) -> LdsShape:
        tile, subtiles = self.tile, self.plan.subtiles[operand.channel]
        shift, mask = tile.swizzle
        return LdsShape(
            channel=operand.channel,
            tensor=(self.text.a, self.text.b)[operand.channel],
            stages=self.plan.stages,
            subtiles=subtiles,
            rows=self.plan.loads(operand.channel) * tile.rows_per_step,
            cols=tile.block_k,
            chunk=self.chunk,
            shift=shift,
            mask=mask,
            dtype=self.kernel.tensor(self.text.a).dtype,
        )

    # Trip counts and the place along K.

    def _requires(self) -> tuple[IntExpr, ...]:
        """What the caller guarantees of K: whole chunks, or whole iterations."""
        length, tile = size(self.inner), self.tile
        if self.plan.ragged_k:
            return lift(length >= 1), lift((length % self.chunk).eq(0))
        base = self.protocol.kernel_k_base * tile.block_k
        per = self.protocol.k_tiles_per_iteration * tile.block_k
        return lift(length >= base), lift(((length - base) % per).eq(0))

    def _trips(self) -> IntExpr:
        per = self.protocol.k_tiles_per_iteration * self.tile.block_k
        base = self.protocol.kernel_k_base * self.tile.block_k
        length = size(self.inner)
        if self.plan.ragged_k:
            return lift((most(length - base, 0) + (per - 1)) // per)
        tiles = length // self.tile.block_k - self.protocol.kernel_k_base
        return lift(tiles // self.protocol.k_tiles_per_iteration)

    def _k_tile(self, phase: Phase, offset: int) -> Expr:
        """The number of the K-tile that an op of a phase means."""
        if phase is Phase.PROLOGUE:
            return const(offset)
        trip: Expr = STEP if phase is Phase.KERNEL else TRIPS
        at = trip * self.protocol.k_tiles_per_iteration
        return at + (self.protocol.kernel_k_base + offset)

    # Operations.

    def _phase(self, phase: Phase) -> list[Operation]:
        self.next_loads = Counter()
        entries = self.plan.document.phase(phase)
        if phase is Phase.EPILOGUE:
            found = (e.op for e in entries if e.op.role is OpRole.COMPUTE)
            self.left = Counter((op.stage, op.subtile) for op in found)
        return [self._operation(e, phase) for e in entries]

    def _operation(self, entry: ScheduleEntry, phase: Phase) -> Operation:  # noqa: PLR0911
        op, said = entry.op, _scheduled(entry)
        match op.role:
            case OpRole.GLOBAL_LOAD:
                return self._copy(op, phase, said)
            case OpRole.FRAGMENT_LOAD:
                return self._read(op, said)
            case OpRole.COMPUTE:
                return self._mma(op, phase, said)
        if op.tag == ScheduleOps.WAIT_VM:
            return ops.WaitCount(vm=op.wait_value, scheduled=said)
        if op.tag == ScheduleOps.WAIT_LGKM:
            return ops.WaitCount(lgkm=op.wait_value, scheduled=said)
        if op.tag == ScheduleOps.BARRIER:
            return ops.WorkgroupBarrier(scheduled=said)
        return ops.Hint(value=op.wait_value, subtile=op.subtile, scheduled=said)

    def _offset(self, op: OpDesc, phase: Phase) -> int:
        """Loads without a K offset take the next tile in order of execution, each slot its own."""
        if op.k_offset is not KOffsetKind.NONE:
            return op.k_offset.signed_bk_multiple()
        document = self.plan.document
        loader = (self.plan.channel(op), op.subtile)
        loads = (e.op for e in document.prologue if e.op.role is OpRole.GLOBAL_LOAD)
        before = sum((self.plan.channel(x), x.subtile) == loader for x in loads)
        ahead = self.next_loads[loader]
        self.next_loads[loader] += 1
        if phase is Phase.PROLOGUE:
            return ahead
        return before - self.protocol.kernel_k_base + ahead

    def _swizzle(self, row: Expr) -> Expr:
        shift, mask = self.tile.swizzle
        return row // (1 << shift) % (mask + 1)

    def _copy(self, op: OpDesc, phase: Phase, said: Scheduled) -> Operation:
        tile, channel = self.tile, self.plan.channel(op)
        operand, subtiles = tile.operands[channel], self.plan.subtiles[channel]
        per_row, i = tile.chunks_per_row, Sym(SymKind.FRAGMENT, "i")
        down = TID // per_row
        first = op.subtile * (operand.rows // subtiles)
        begin = let(f"pos_{self.vars[channel]}")
        last = let(f"last_{self.vars[channel]}")
        row = begin + least(down + i * tile.rows_per_step + first, last)
        col = Apply("copy_col", lift(self._k_tile(phase, self._offset(op, phase))))
        return ops.LdsCopy(
            tensor=(self.text.a, self.text.b)[channel],
            channel=channel,
            stage=op.stage,
            subtile=op.subtile,
            count=self.plan.loads(channel),
            chunk=self.chunk,
            row=lift(row),
            col=lift(col),
            lds_row=lift(i * tile.rows_per_step + down),
            lds_col=lift(TID % per_row * self.chunk),
            scheduled=said,
        )

    def _copy_col(self) -> Function:
        """The column a thread copies of a K-tile: its chunk, exchanged as LDS wants it.

        Where K may end inside of a tile, threads past the end fetch the first chunk of their row
        and tiles past the end are the last one again: a load outside of its buffer would return at
        once and overtake older ones. What was fetched instead is not multiplied.
        """
        tile, number = self.tile, Sym(SymKind.FRAGMENT, "k_tile")
        per_row = tile.chunks_per_row
        across = ((TID % per_row) ^ self._swizzle(TID // per_row)) * self.chunk
        at: Expr = number * tile.block_k
        value = at + across
        if self.plan.ragged_k:
            length = size(self.inner)
            at = least(at, (length - 1) // tile.block_k * tile.block_k)
            value = at + Select(lift(across < length - at), lift(across), const(0))
        return Function(name="copy_col", parameter=number, value=lift(value))

    def _last_row(self, axis: TileAxis) -> Let:
        """The last row of a tile that exists: copies of rows past it take that one."""
        begin = let(f"pos_{axis.var}")
        last = least(size(axis.axis) - begin, axis.extent) - 1
        return Let(name=let(f"last_{axis.var}"), value=lift(last))

    def _wave(self, channel: int) -> Expr:
        return WAVE // self.tile.waves_n if channel == 0 else WAVE % self.tile.waves_n

    def _read(self, op: OpDesc, said: Scheduled) -> Operation:
        tile, channel = self.tile, self.plan.channel(op)
        operand = tile.operands[channel]
        t, q = (Sym(SymKind.FRAGMENT, n) for n in ("tile", "read"))
        share = operand.rows // self.plan.subtiles[channel] // operand.waves
        inside = LANE % operand.mma_rows
        chunk = LANE // operand.mma_rows + q * (LANES // operand.mma_rows)
        row = t * operand.mma_rows + inside
        return ops.FragmentRead(
            channel=channel,
            stage=op.stage,
            subtile=op.subtile,
            chunk=self.chunk,
            tiles=self.plan.tiles(channel),
            reads=self.plan.k_steps * tile.reads_per_operand,
            lds_row=lift(self._wave(channel) * share + row),
            lds_col=lift((chunk ^ self._swizzle(inside)) * self.chunk),
            row=lift(row),
            col=lift(chunk * self.chunk),
            scheduled=said,
        )

    def _mma(self, op: OpDesc, phase: Phase, said: Scheduled) -> Operation:
        valid: IntExpr | None = None
        if self.plan.ragged_k and phase is Phase.EPILOGUE:
            from_end = self.left[op.stage, op.subtile]
            self.left[op.stage, op.subtile] -= 1
            begin = self._k_tile(Phase.EPILOGUE, -from_end) * self.tile.block_k
            valid = lift(size(self.inner) - begin)
        mfma = self.tile.mfma
        return ops.WaveMma(
            a=op.stage,
            b=op.subtile,
            rows=self.plan.tiles(0),
            columns=self.plan.tiles(1),
            shape=(mfma.m, mfma.n, mfma.k),
            valid=valid,
            scheduled=said,
        )

    # The tail.

    def _layout(self) -> FragmentLayout:
        """Accumulator register ``r`` of instruction tile (``i``, ``j``) of a wave."""
        tile, plan = self.tile, self.plan
        mfma, (rows, columns) = tile.mfma, plan.grid
        i, j, r = (Sym(SymKind.FRAGMENT, n) for n in "ijr")
        places = []
        for channel, number in enumerate((i, j)):
            operand, per = tile.operands[channel], plan.tiles(channel)
            apart = operand.rows // plan.subtiles[channel]
            first = number // per * apart + number % per * operand.mma_rows
            places.append(self._wave(channel) * (per * operand.mma_rows) + first)
        group = LANE // mfma.n
        inside = r // 4 * 8 + group * 4 + r % 4 if mfma.m == 32 else group * 4 + r
        registers = mfma.accumulator_registers
        return FragmentLayout(
            indices=(
                FragmentIndex(name="i", extent=rows),
                FragmentIndex(name="j", extent=columns),
                FragmentIndex(name="r", extent=registers),
            ),
            register=lift((i * columns + j) * registers + r),
            row=lift(places[0] + inside),
            col=lift(places[1] + LANE % mfma.n),
        )

    def _store(self) -> Operation:
        made: list[ops.VectorOp] = []
        names: dict[str, str] = {}
        made.append(ops.VectorRegister(result=self.text.accumulator, array=ACCUMULATOR))
        for op in self.text.tail:
            self._tail(op, made, names)
        return ops.Vector(
            op="store_tile",
            iteration=TRIPS,
            layout=self._layout(),
            body=tuple(made),
            reads=(ACCUMULATOR,),
            kind=ops.VectorKind.STORE,
        )

    def _along(self, var: str | None) -> Expr:
        return let(f"pos_{var}") + (ROW if var == self.text.row else COL)

    def _tail(  # noqa: C901 (one line a kind of op)
        self, op: ir.Op, made: list[ops.VectorOp], names: dict[str, str]
    ) -> None:
        def named(value: str) -> str:
            return names.get(value, value)

        match op:
            case ir.Const():
                made.append(
                    ops.VectorConst(result=op.result.name, value=op.value, dtype=op.result.dtype)
                )
            case ir.Scalar():
                made.append(
                    ops.VectorScalar(
                        result=op.result.name, parameter=op.parameter, dtype=op.result.dtype
                    )
                )
            case ir.Broadcast():
                names[op.result.name] = named(op.arg)
            case ir.Size():
                made.append(ops.VectorIndex(result=op.result.name, value=size(op.axis)))
            case ir.Indices():
                made.append(ops.VectorIndex(result=op.result.name, value=lift(self._along(op.var))))
            case ir.Pointwise():
                args = tuple(named(a) for a in op.args)
                made.append(
                    ops.VectorPointwise(
                        result=op.result.name, fn=op.fn, args=args, dtype=op.result.dtype
                    )
                )
            case ir.Load():
                # Clamped, not predicated: a load outside its buffer could overtake older ones.
                at = []
                for a in op.at:
                    axis = self.axes[self.vars.index(a.var or "")]
                    at.append(least(self._along(a.var), size(axis) - 1))
                made.append(
                    ops.VectorLoad(
                        result=op.result.name,
                        tensor=op.tensor,
                        at=tuple(at),
                        predicate=None,
                        dtype=self.kernel.tensor(op.tensor).dtype,
                    )
                )
            case ir.Store():
                places = [lift(self._along(a.var)) for a in op.at]
                inside = [
                    lift(p < size(self.axes[self.vars.index(a.var or "")]))
                    for p, a in zip(places, op.at, strict=True)
                ]
                made.append(
                    ops.VectorStore(
                        value=named(op.value),
                        tensor=op.tensor,
                        at=tuple(places),
                        predicate=conjunction(inside),
                        dtype=self.kernel.tensor(op.tensor).dtype,
                        line=_short(op.line),
                    )
                )
            case _:
                raise BackendError(f"{type(op).__name__} in the tail is not expressed in a module")


def _short(line: Line | None) -> Line | None:
    return None if line is None else replace(line, file=PurePath(line.file).name)


def _scheduled(entry: ScheduleEntry) -> Scheduled:
    op = entry.op
    return Scheduled(
        tag=int(op.tag),
        name=op.name,
        role=op.role,
        resource=op.resource,
        k_offset=op.k_offset,
        channel=op.channel,
        time_slot=entry.time_slot,
        vm_cost=op.vm_cost,
        lgkm_cost=op.lgkm_cost,
        latency=op.latency,
        vgpr_def=op.vgpr_def,
        vgpr_kill=op.vgpr_kill,
        is_prefetch=entry.is_prefetch,
        reason=entry.reason,
    )
