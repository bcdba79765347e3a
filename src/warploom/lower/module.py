"""Build the kernel module of a scheduled kernel for Hopper.

Input: the author's kernel and what the passes made of it (``Lowered``). Output: ``KernelModule``
with the tile schedule, positions, trip counts, copy coordinates, fragment layouts, predicates and
stores as expressions. Takes matrix products with a pointwise tail; other kernels are refused at the
author's line, and keep the path they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import PurePath
from typing import Any, TypeVar

from warploom.document import roles
from warploom.document.rings import Side
from warploom.document.roles import RoleEntry, RoleProgram
from warploom.errors import KernelError
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Apply,
    Expr,
    Function,
    IntExpr,
    Select,
    Sym,
    SymKind,
    ceil_div,
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
    Outside,
    PartShape,
    RegisterArray,
    Role,
    ScalarArg,
    StageShape,
    Storage,
    TensorArg,
    TensorMap,
    TileLoop,
)
from warploom.ir.operations import FragmentIndex, FragmentLayout, Operation, Statement, StepLoop
from warploom.ir.tile_schedule import (
    RANK,
    VISIT,
    Let,
    TileAxis,
    TileSchedule,
    grid_of,
    let,
    tile_index,
)
from warploom.kernel.types import Line
from warploom.kernel.values import (
    At,
    Const,
    Dot,
    DType,
    Fn,
    Indices,
    Kernel,
    Load,
    Pointwise,
    Position,
    Scalar,
    Size,
    Spread,
    Store,
    Walk,
)
from warploom.lower.body import Body, line_of, refusal
from warploom.lower.choose import SIDE
from warploom.lower.column import Lowered
from warploom.lower.edges import bounded_axis
from warploom.lower.hand_over import by_columns, share_of
from warploom.lower.layout import Array, Form
from warploom.lower.loop_ops import product_name
from warploom.lower.plan import part_name, store_name, stored
from warploom.lower.ranges import cut_of
from warploom.lower.slots import LINE_BYTES, SlotTile, list_of
from warploom.lower.storage import is_straight, scattered, staged_stores
from warploom.target.h200 import WGMMA_ROWS

T = TypeVar("T")
ALIGNMENT = 16  # bytes: what copies need of addresses and rows
START_STEP = 8  # elements at whose multiples tiles start, so that 16 bytes can be stored at once
WARP_ROWS = 16
MMA_TYPES = (DType.BF16, DType.F16, DType.E4M3, DType.E5M2)
ELEMENTS = 8  # of a thread in 16 columns of a 64-row block

T_STEP = Sym(SymKind.STEP, "t")
TRIPS = let("trips")
END = let("end")
BACKWARDS = let("backwards")
WARP = Sym(SymKind.THREAD, "warp")
LANE = Sym(SymKind.THREAD, "lane")
INSTANCE = Sym(SymKind.THREAD, "instance")
ROW = Sym(SymKind.ELEMENT, "row")
COL = Sym(SymKind.ELEMENT, "col")


def build_module(source: Kernel, lowered: Lowered) -> KernelModule:
    """The module of a kernel; ``source`` is the author's, before any pass."""
    _check(lowered)
    return _Builder(source, lowered).module()


def module_or_none(lowered: Lowered) -> KernelModule | None:
    """The module of a kernel, if it is one that has a module."""
    try:
        return build_module(lowered.kernel, lowered)
    except KernelError:
        return None


def _refuse(what: str, line: Line | None) -> KernelError:
    return refusal(
        f"{what}: not expressed as a kernel module",
        line,
        why="modules are built for matrix products with a pointwise tail",
        fix="compile it without asking for its module; listings and verdicts of roles remain",
    )


def _check(lowered: Lowered) -> None:  # noqa: C901 (one refusal after the other)
    layout, kernel, loop = lowered.layout, lowered.kernel, lowered.layout.body.loop
    body, tiling = layout.body, layout.tiling
    if lowered.earlier:
        raise _refuse("several loops in a tile", kernel.line)
    if kernel.grid.kind != "tiles" or kernel.grid.order:
        raise _refuse(f"a grid of {kernel.grid.kind}", kernel.line)
    if loop.start or loop.until or loop.lists or cut_of(body, layout.steps) is not None:
        raise _refuse("a loop with bounds of its own", loop.line)
    if tiling.split > 1:
        raise _refuse("a reduction that CTAs share", loop.line)
    if loop.times > 1:
        raise _refuse("an unrolled loop", loop.line)
    if layout.steps:
        raise _refuse("vector work beside the products", loop.line)
    if any(r.filled or r.gathered or r.per_tile for r in layout.rings):
        raise _refuse("tiles that are not copied every iteration", loop.line)
    for _, op in body.placed:
        if isinstance(op, Load) and (list_of(body, op) or bounded_axis(body, op) is not None):
            raise _refuse("rows picked by a list", op.result.line)
        if isinstance(op, Store) and (
            op.add or is_straight(layout, op) or scattered(layout, op) or op in loop.body
        ):
            raise _refuse("a store that adds, scatters or stands in the loop", op.line)
        if isinstance(op, Store) and len(body.values[op.value].dims) != 2:
            raise _refuse("a vector that is stored", op.line)
    if any(a.form is not Form.TILE for a in layout.arrays):
        raise _refuse("values of rows in registers", loop.line)


class _Builder:
    """One kernel on its way; ``maps`` collects tensor maps as copies ask for them."""

    def __init__(self, source: Kernel, lowered: Lowered) -> None:
        self.source, self.lowered = source, lowered
        self.layout, self.document = lowered.layout, lowered.document
        self.body: Body = lowered.layout.body
        self.kernel = self.body.kernel
        self.tiling = lowered.tiling
        self.loop = self.body.loop
        self.maps: dict[str, TensorMap] = {}
        self.schedule = self._schedule()
        self.loads = {
            part_name(op.result.name): op for op in self.loop.body if isinstance(op, Load)
        }
        self.dots = {product_name(op): op for op in self.loop.body if isinstance(op, Dot)}
        self.stores = [op for op in self.body.tail if isinstance(op, Store)]

    @property
    def instance(self) -> Expr:
        """Which share of a tile an instance has: of instances that alternate each has all."""
        consumer = next(p for p in self.document.programs if p.threads > 1)
        return const(0) if consumer.alternates else INSTANCE

    def module(self) -> KernelModule:
        """All of it."""
        programs = tuple(self._role(p) for p in self.document.programs)
        storage = self._storage()
        threads = 128 * (self.tiling.warpgroups + 1)
        used = {t.name for t in self.kernel.tensors}
        return KernelModule(
            name=self.document.name,
            target=self.document.target,
            config=self.tiling.name,
            dialect=Dialect.MBARRIER,
            kernel=relative(self.source),
            tensors=tuple(
                TensorArg(
                    name=t.name,
                    axes=t.axes,
                    dtype=t.dtype,
                    access=t.access.value,
                    alignment=ALIGNMENT,
                )
                for t in self.kernel.tensors
                if t.name in used
            ),
            scalars=tuple(ScalarArg(name=p.name, dtype=p.dtype) for p in self.kernel.parameters),
            maps=tuple(self.maps.values()),
            launch=Launch(
                grid=grid_of(self.schedule, self.tiling.resident),
                block=threads,
                cluster=self.document.cluster,
                shared_bytes=self._shared_bytes(),
                ctas_per_sm=self.tiling.resident,
            ),
            storage=storage,
            roles=programs,
            strategy=self.document.strategy,
            dtype=self.document.dtype,
            tile=self.document.tile,
            flow=_relative_flow(self.document.flow),
            proof=self.document.proof,
        )

    def _shared_bytes(self) -> int:
        """Rings and staging copies in whole kilobytes, then the barriers."""
        atom, total = 1024, 0
        for ring in self.document.rings:
            total += ring.depth * (-(-ring.slot_bytes // atom) * atom + 16)
        for b in self.document.buffers:
            total += self.document.program(b.role).instances * b.copies * b.bytes
        return total

    def _schedule(self) -> TileSchedule:
        tiled: list[TileAxis] = []
        units: list[TileAxis] = []
        for name in self.kernel.grid.vars:
            var = self.kernel.var(name)
            walks = var.walk is Walk.TILE
            extent = self.layout.extent(name) if walks else 1
            axis = TileAxis(var=name, axis=var.axis, extent=extent)
            (tiled if walks else units).append(axis)
        plane = len(tiled) == 2
        if len(tiled) > 2:
            raise _refuse("tiles of three variables", self.kernel.line)
        group = max(1, self.tiling.group // self.tiling.cluster) if plane else 0
        square = plane and self.tiling.serpentine and self.tiling.cluster == 1
        square = square and self.tiling.group % SIDE == 0 and self.tiling.group != SIDE
        return TileSchedule(
            tiled=tuple(tiled),
            units=tuple(units),
            group=group,
            serpentine=plane and self.tiling.serpentine,
            neighbours=SIDE if square else 0,
            cluster=self.tiling.cluster,
        )

    # What is bound for every tile.

    def _lets(self) -> tuple[Let, ...]:
        lets = []
        for axis in (*self.schedule.tiled, *reversed(self.schedule.units)):
            tile: Expr = tile_index(axis.var)
            place: IntExpr = lift(tile * axis.extent)
            if axis in self.schedule.tiled and self._is_clamped(axis.var):
                step = START_STEP
                last = (size(axis.axis) - axis.extent + (step - 1)) // step * step
                place = least(place, most(last, 0))
            lets.append(Let(name=let(f"pos_{axis.var}"), value=place))
        if self.tiling.serpentine:
            lets.append(Let(name=BACKWARDS, value=self._backwards()))
        return tuple(lets)

    def _is_clamped(self, var: str) -> bool:
        """Whether the last tile is moved back inside: copies of rows that do not exist take long.

        What it shares with its neighbour is computed twice, to the same bits; so not where the tail
        reads tiles, which may be what is stored, and not where blocks of elements share a number.
        """
        if len(self.schedule.tiled) != 2:
            return False
        loads = [op for _, op in self.body.placed if isinstance(op, Load)]
        return not (
            any(d.var == var and d.per > 1 for op in loads for d in op.result.dims)
            or any(isinstance(op, Load) and len(op.result.dims) == 2 for op in self.body.tail)
        )

    def _backwards(self) -> IntExpr:
        """Every other tile of a CTA walks its loop from the end, unless it shares elements with
        another one: those all go forwards, so that both store the same bits.
        """
        conditions: list[IntExpr] = [lift((VISIT % 2).ne(0))]
        ctas = self.tiling.cluster
        for axis in self.schedule.tiled if len(self.schedule.tiled) == 2 else ():
            if not self._is_clamped(axis.var):
                continue
            length, extent = size(axis.axis), axis.extent
            end: Expr = let(f"pos_{axis.var}") + 2 * extent
            if ctas > 1 and axis == self.schedule.tiled[0]:
                below = (let("band") + let("inside") % let("tall")) * ctas + (ctas + 1)
                end = below * extent
            conditions.append(lift((length % extent).eq(0) | (end <= length)))
        found = conjunction(conditions)
        assert found is not None
        return found

    @property
    def _step(self) -> int:
        return self.layout.extent(self.loop.var)

    def _functions(self) -> tuple[Function, ...]:
        along: Expr = T_STEP
        if self.tiling.serpentine:
            along = Select(BACKWARDS, lift(TRIPS - 1 - T_STEP), T_STEP)
        place = lift(self._first + self._step * along)
        return (Function(name=f"step_{self.loop.var}", parameter=T_STEP, value=place),)

    @property
    def _first(self) -> Sym:
        return let(f"first_{self.loop.var}")

    def _bounds(self) -> tuple[Let, ...]:
        length = size(self.kernel.var(self.loop.var).axis)
        end = let(f"end_{self.loop.var}")
        return Let(name=self._first, value=const(0)), Let(name=end, value=length)

    def _trips(self) -> IntExpr:
        elements = let(f"end_{self.loop.var}") - self._first
        return most(ceil_div(elements, self._step), max(self.document.minimum_trips, 1))

    # Roles.

    def _role(self, program: RoleProgram) -> Role:
        peel = program.peel
        loop = StepLoop(
            start=const(peel),
            stop=TRIPS,
            body=tuple(self._operations(program, "kernel")),
        )
        body: tuple[Statement, ...] = (
            *self._operations(program, "prologue"),
            loop,
            *self._operations(program, "epilogue"),
        )
        arrays = dict(program.registers)
        return Role(
            name=program.name,
            instances=program.instances,
            threads=program.threads,
            peel=peel,
            arrays=tuple(
                RegisterArray(
                    name=a.name, blocks=a.blocks, cols=a.cols, registers=arrays.get(a.name, 0)
                )
                for a in self.layout.arrays
                if a.name in arrays
            ),
            setup=tuple(self._operations(program, "setup")),
            tiles=TileLoop(
                schedule=self.schedule,
                lets=self._lets(),
                functions=self._functions(),
                bounds=self._bounds(),
                trips=self._trips(),
                least_trips=max(self.document.minimum_trips, 1),
                body=body,
            ),
            finish=tuple(self._operations(program, "finish")),
            carries_phase=program.carries_phase,
            most_registers=program.most_registers,
            alternates=program.alternates,
            pace=self.tiling.pace if program.name == "producer" else 0,
        )

    def _operations(self, program: RoleProgram, phase: str) -> Iterator[Operation]:
        for entry in getattr(program, phase):
            yield self._operation(entry, phase)

    def _iteration(self, k: int, phase: str) -> IntExpr:
        base: Expr = {"kernel": T_STEP, "epilogue": TRIPS, "finish": END}.get(phase, const(0))
        return lift(base + k if k >= 0 else base - -k)

    def _operation(  # noqa: PLR0911, PLR0912, C901 (one line a kind of entry)
        self, e: RoleEntry, phase: str
    ) -> Operation:
        def at(k: int) -> IntExpr:
            return self._iteration(k, phase)

        match e:
            case roles.WaitFull() | roles.WaitEmpty():
                side = Side.FULL if isinstance(e, roles.WaitFull) else Side.EMPTY
                return ops.Wait(
                    side=side, ring=e.ring, iteration=at(e.k), parity=e.parity, reason=e.reason
                )
            case roles.Expect():
                return ops.Expect(ring=e.ring, iteration=at(e.k), bytes=e.bytes, reason=e.reason)
            case roles.Load():
                return self._copy(e, at(e.k))
            case roles.Arrive():
                return ops.Arrive(
                    ring=e.ring,
                    iteration=at(e.k),
                    scope=e.scope,
                    ctas=e.ctas,
                    side=e.side,
                    reason=e.reason,
                )
            case roles.MmaFence():
                return ops.MmaFence(reason=e.reason)
            case roles.Mma():
                return self._mma(e, at(e.k))
            case roles.Commit():
                return ops.Commit(reason=e.reason)
            case roles.WaitGroup():
                return ops.WaitGroup(pending=e.pending, reason=e.reason)
            case roles.Compute():
                return self._compute(e, at(e.k))
            case roles.ProxyFence():
                return ops.ProxyFence(reason=e.reason)
            case roles.ScopeSync():
                return ops.ScopeSync(scope=e.scope, reason=e.reason)
            case roles.NamedSync() | roles.NamedArrive():
                return ops.NamedBarrierOp(
                    barrier=e.barrier,
                    waits=isinstance(e, roles.NamedSync),
                    turn=e.turn,
                    instance=e.instance,
                    reason=e.reason,
                )
            case roles.BulkStore():
                return self._bulk_store(e)
            case roles.BulkCommit():
                return ops.BulkCommit(reason=e.reason)
            case roles.BulkWait():
                return ops.BulkWait(pending=e.pending, source_read=e.source_read, reason=e.reason)
            case roles.ClusterSync():
                return ops.ClusterSync(reason=e.reason)

    # Copies and products.

    def _copy(self, e: roles.Load, iteration: IntExpr) -> Operation:
        op, tile = self.loads[e.part], self._tile(e.part)
        if e.by_threads or tile.vector or tile.loose or tile.narrow:
            raise _refuse("a copy of a vector, or by threads", op.result.line)
        rows, cols = op.result.vars
        share = tile.rows // e.multicast
        width = min(tile.cols, tile.block_cols)
        box = tuple({rows: share, cols: width}.get(a.var or "", 1) for a in op.at)
        name = self._map(op.tensor, box, tile.span, Outside.ZERO)
        own: Expr = RANK * share if e.multicast > 1 else const(0)
        boxes = []
        for block in range(tile.blocks):
            at = []
            for n, a in enumerate(op.at):
                index = self.index(op.tensor, n, a, iteration)
                if a.var == rows:
                    index = index + own
                elif a.var == cols:
                    index = index + block * tile.block_cols
                at.append(lift(index))
            boxes.append(ops.Box(at=tuple(at), row=lift(own), col=block * tile.block_cols))
        return ops.Copy(
            op=e.op,
            tensor_map=name,
            ring=e.ring,
            part=e.part,
            iteration=iteration,
            boxes=tuple(boxes),
            bytes=e.bytes,
            multicast=e.multicast,
            line=_short(op.result.line),
            reason=e.reason,
        )

    def _map(self, tensor: str, box: tuple[int, ...], span: int, outside: Outside) -> str:
        tag = "x".join(str(n) for n in box if n > 1)
        name, keep = f"map_{tensor}_{tag}", self.tiling.keep
        policy = "" if keep is None else "evict_last" if tensor == keep else "evict_first"
        self.maps.setdefault(
            name,
            TensorMap(
                name=name,
                tensor=tensor,
                box=box,
                swizzle=span,
                outside=outside,
                l2=policy if outside is Outside.ZERO else "",
            ),
        )
        return name

    def _tile(self, part: str) -> SlotTile:
        found = self.layout.slot_of(self.loads[part].result.name)
        assert found is not None
        return found[1]

    def index(self, tensor: str, n: int, at: At, iteration: IntExpr | None) -> Expr:
        """The first element of an axis that an index covers."""
        if at.var is None:
            return self.number(at.value or "", iteration)
        per = self.kernel.tensor(tensor).axes[n].per
        return self.position(at.var, iteration) // per

    def position(self, var: str, iteration: IntExpr | None) -> Expr:
        if var == self.loop.var:
            if iteration is None:
                raise _refuse("a step of the loop outside of it", self.loop.line)
            return Apply(f"step_{var}", iteration)
        if self.kernel.var(var).walk is Walk.WHOLE:
            return const(0)
        return let(f"pos_{var}")

    def number(self, name: str, iteration: IntExpr | None) -> Expr:
        """A scalar whole number of the kernel as an expression."""
        op = self.body.ops[name]
        match op:
            case Const():
                return const(int(op.value))
            case Size():
                found = self.kernel.tensor(op.tensor).axis(op.axis)
                return ceil_div(size(op.axis), found.per)
            case Position():
                return self.position(op.var, iteration)
            case Spread():
                return self.number(op.arg, iteration)
            case Pointwise() if op.fn in (Fn.ADD, Fn.SUB, Fn.MUL, Fn.MIN, Fn.MAX):
                a, b = (self.number(x, iteration) for x in op.args)
                by = {Fn.ADD: a + b, Fn.SUB: a - b, Fn.MUL: a * b}
                found_by = {Fn.MIN: least(a, b), Fn.MAX: most(a, b)}
                return by.get(op.fn) or found_by[op.fn]
            case _:
                raise _refuse("this index", line_of(op))

    def _mma(self, e: roles.Mma, iteration: IntExpr) -> Operation:
        op = self.dots.get(e.op)
        if op is None or e.registers:
            raise _refuse("a product of registers, or a part of one", self.loop.line)
        array = self.layout.array_of(op.result.name)
        a, a_flipped = self.body.through(op.a)
        b, b_flipped = self.body.through(op.b)
        dtype = self.body.values[b].dtype
        if dtype not in MMA_TYPES:
            raise refusal(
                f"a product of {dtype}",
                op.result.line,
                why="the tensor cores of Hopper multiply bf16, f16, e4m3 and e5m2 here",
                fix="convert the operands, or types={...} that name one of these",
            )
        inner = self.layout.extent(self.body.values[op.a].dims[1].var)
        rows = array.blocks * WGMMA_ROWS
        slots = {s.part: s.ring for s in e.slots}
        by_column = array.by_columns
        return ops.Mma(
            op=e.op,
            iteration=iteration,
            a=ops.SlotOperand(
                ring=slots[part_name(a)],
                part=part_name(a),
                row=const(0) if by_column else lift(self.instance * rows),
                rows=rows,
                transposed=a_flipped,
            ),
            b=ops.SlotOperand(
                ring=slots[part_name(b)],
                part=part_name(b),
                row=lift(self.instance * array.cols) if by_column else const(0),
                rows=array.cols,
                transposed=not b_flipped,
            ),
            accumulator=e.accumulator,
            accumulate=e.accumulate,
            shape=(rows, array.cols, inner),
            line=_short(op.result.line),
            reason=e.reason,
        )

    # Vector work and stores.

    def _store_of(self, name: str) -> tuple[Store, bool]:
        """The store that an op of a role program belongs to, and whether it fills staging."""
        for op in self.stores:
            if op in staged_stores(self.layout) and name == f"fill_{stored(self.layout, op)}":
                return op, True
            if name == store_name(self.layout, op):
                return op, False
        raise _refuse(f"the op {name!r}", self.loop.line)

    def _compute(self, e: roles.Compute, iteration: IntExpr) -> Operation:
        if e.fills_slots or e.slots:
            raise _refuse("vector work on slots", self.loop.line)
        op, fills = self._store_of(e.op)
        body = _Vector(self, op)
        layout = body.layout_of(*e.args) if fills else body.layout_of_all()
        made = body.staged(op, e.fills[0]) if fills else body.direct(op)
        return ops.Vector(
            op=e.op,
            iteration=iteration,
            layout=layout,
            body=made,
            reads=e.reads,
            writes=e.writes,
            slots=e.slots,
            fills=e.fills,
            args=e.args,
            line=_short(op.line),
            reason=e.reason,
        )

    def _bulk_store(self, e: roles.BulkStore) -> Operation:
        op, _ = self._store_of(e.op)
        block, column = e.args
        value = self.body.values[op.value]
        blocks, columns = share_of(self.layout, op)
        apart = by_columns(self.layout, op)
        dtype = self.kernel.tensor(op.tensor).dtype
        width = min(LINE_BYTES * 8 // dtype.bits, columns)
        box = tuple(
            {value.vars[0]: WARP_ROWS, value.vars[1]: width}.get(a.var or "", 1) for a in op.at
        )
        at = []
        for n, a in enumerate(op.at):
            place = self.index(op.tensor, n, a, None)
            if a.var == value.vars[0]:
                place = place + 64 * block
                place = place if apart else place + 64 * blocks * self.instance
                place = place + WARP_ROWS * WARP
            elif a.var == value.vars[1]:
                place = place + column
                place = place + columns * self.instance if apart else place
            at.append(lift(place))
        return ops.BulkStore(
            op=e.op,
            tensor_map=self._map(op.tensor, box, LINE_BYTES, Outside.DROP),
            source=e.source,
            at=tuple(at),
            scope=e.scope,
            args=e.args,
            add=e.reduce,
            line=_short(op.line),
            reason=e.reason,
        )

    def _storage(self) -> Storage:
        parts = []
        for ring in self.document.rings:
            for part in ring.parts:
                tile = self._tile(part.name)
                parts.append(
                    PartShape(
                        ring=ring.name,
                        part=part.name,
                        rows=tile.rows,
                        cols=tile.cols,
                        dtype=tile.dtype,
                        swizzle=tile.span,
                    )
                )
        staging = []
        for buffer in self.document.buffers:
            op = staged_stores(self.layout)[0]
            dtype = self.kernel.tensor(op.tensor).dtype
            width = min(LINE_BYTES * 8 // dtype.bits, share_of(self.layout, op)[1])
            staging.append(StageShape(buffer=buffer.name, rows=WARP_ROWS, cols=width, dtype=dtype))
        return Storage(
            rings=self.document.rings,
            parts=tuple(parts),
            buffers=self.document.buffers,
            staging=tuple(staging),
            barriers=self.document.barriers,
        )


class _Vector:
    """The tail of a kernel as vector operations on one fragment."""

    def __init__(self, builder: _Builder, op: Store) -> None:
        self.builder, self.body = builder, builder.body
        value = self.body.values[op.value]
        self.rows, self.cols = value.vars
        self.made: list[ops.VectorOp] = []
        self.names: dict[str, str] = {}
        inner = [a for a in builder.layout.arrays if a.form is Form.TILE]
        shapes = {(a.blocks, a.cols, a.by_columns) for a in inner}
        if len(shapes) != 1:
            raise _refuse("accumulators of several shapes", op.line)
        self.array: Array = inner[0]

    def _element(self, block: Expr, first: Expr) -> FragmentLayout:
        """16 columns from ``first`` on of a 64-row block: a thread's eight elements ``e``."""
        e = Sym(SymKind.FRAGMENT, "e")
        array, instance = self.array, self.builder.instance
        blocks: Expr = block if array.by_columns else array.blocks * instance + block
        row = 64 * blocks + 16 * WARP + LANE // 4 + 8 * (e // 2 % 2)
        col = first + e // 4 * 8 + LANE % 4 * 2 + e % 2
        col = col + array.cols * instance if array.by_columns else col
        register = block * (array.cols // 2) + first // 2 + e
        return FragmentLayout(
            indices=(FragmentIndex(name="e", extent=ELEMENTS),),
            register=lift(register),
            row=lift(row),
            col=lift(col),
        )

    def layout_of_all(self) -> FragmentLayout:
        """All elements of a thread."""
        b, g = (Sym(SymKind.FRAGMENT, n) for n in "bg")
        made = self._element(b, 16 * g)
        indices = (
            FragmentIndex(name="b", extent=self.array.blocks),
            FragmentIndex(name="g", extent=self.array.cols // 16),
            *made.indices,
        )
        return replace(made, indices=indices)

    def layout_of(self, block: int, column: int) -> FragmentLayout:
        """One chunk: 64 rows, 128 bytes of columns."""
        j = Sym(SymKind.FRAGMENT, "j")
        made = self._element(const(block), column + 16 * j)
        return replace(
            made, indices=(FragmentIndex(name="j", extent=self._groups()), *made.indices)
        )

    def _groups(self) -> int:
        op = next(o for o in self.builder.stores)
        dtype = self.builder.kernel.tensor(op.tensor).dtype
        columns = share_of(self.builder.layout, op)[1]
        return min(LINE_BYTES * 8 // dtype.bits // 16, columns // 16)

    def staged(self, op: Store, target: Any) -> tuple[ops.VectorOp, ...]:  # noqa: ANN401
        """The value of a chunk into a staging copy."""
        value = self.value(op.value)
        e, j = (Sym(SymKind.FRAGMENT, n) for n in "ej")
        dtype = self.builder.kernel.tensor(op.tensor).dtype
        row = LANE // 4 + 8 * (e // 2 % 2)
        col = 16 * j + e // 4 * 8 + LANE % 4 * 2 + e % 2
        self.made.append(
            ops.VectorStage(value=value, target=target, row=lift(row), col=lift(col), dtype=dtype)
        )
        return tuple(self.made)

    def direct(self, op: Store) -> tuple[ops.VectorOp, ...]:
        """The value from registers to memory."""
        value = self.value(op.value)
        at, inside = self._place(op.tensor, op.at)
        dtype = self.builder.kernel.tensor(op.tensor).dtype
        self.made.append(
            ops.VectorStore(
                value=value,
                tensor=op.tensor,
                at=at,
                predicate=conjunction(inside),
                dtype=dtype,
                line=_short(op.line),
            )
        )
        return tuple(self.made)

    def _place(
        self, tensor: str, indices: tuple[At, ...]
    ) -> tuple[tuple[IntExpr, ...], list[IntExpr]]:
        """The element at hand, and the conditions under which it exists."""
        at, inside = [], []
        for n, a in enumerate(indices):
            axis = self.builder.kernel.tensor(tensor).axes[n]
            place = self.builder.index(tensor, n, a, None)
            length = ceil_div(size(axis.name), axis.per)
            if a.var in (self.rows, self.cols):
                place = self._along(a.var) // axis.per
                inside.append(lift(place < length))
            at.append(lift(place))
        return tuple(at), inside

    def _along(self, var: str) -> Expr:
        here = ROW if var == self.rows else COL
        return self.builder.position(var, None) + here

    def value(self, name: str) -> str:
        """The name of a value in the body, with what makes it before it."""
        for inner in self._needed(name):
            self.names[inner] = self._made(inner)
        return self.names[self.body.through(name)[0]]

    def _needed(self, name: str) -> Iterator[str]:
        """Values without a name yet, operands first; a chain may be longer than Python's stack."""
        homes, stack = dict(self.builder.layout.homes), [(name, False)]
        while stack:
            inner, ready = self.body.through(stack[-1][0])[0], stack.pop()[1]
            if inner in self.names:
                continue
            op = None if inner in homes else self.body.ops[inner]
            if ready or not isinstance(op, Pointwise | Spread):
                yield inner
                continue
            stack.append((inner, True))
            args = op.args if isinstance(op, Pointwise) else (op.arg,)
            stack += [(a, False) for a in reversed(args)]

    def _made(self, name: str) -> str:
        homes = dict(self.builder.layout.homes)
        if name in homes:
            self.made.append(ops.VectorRegister(result=name, array=homes[name]))
            return name
        op, value = self.body.ops[name], self.body.values[name]
        match op:
            case Const():
                self.made.append(ops.VectorConst(result=name, value=op.value, dtype=value.dtype))
            case Scalar():
                self.made.append(
                    ops.VectorScalar(result=name, parameter=op.parameter, dtype=value.dtype)
                )
            case Spread():
                return self.value(op.arg)
            case Size() | Position():
                number = self.builder.number(name, None)
                self.made.append(ops.VectorIndex(result=name, value=lift(number)))
            case Indices() if op.var in (self.rows, self.cols):
                self.made.append(ops.VectorIndex(result=name, value=lift(self._along(op.var))))
            case Load():
                at, inside = self._place(op.tensor, op.at)
                self.made.append(
                    ops.VectorLoad(
                        result=name,
                        tensor=op.tensor,
                        at=at,
                        predicate=conjunction(inside),
                        dtype=self.builder.kernel.tensor(op.tensor).dtype,
                    )
                )
            case Pointwise():
                args = tuple(self.value(a) for a in op.args)
                self.made.append(
                    ops.VectorPointwise(result=name, fn=op.fn, args=args, dtype=value.dtype)
                )
            case _:
                raise _refuse("this value", line_of(op))
        return name


def _short(line: Line | None) -> Line | None:
    """A line without the folder of its file: modules do not name places of a machine."""
    return None if line is None else replace(line, file=PurePath(line.file).name)


def relative(value: T) -> T:
    """A value with every line in it relative to the author's file."""
    if isinstance(value, Line):
        return _short(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(relative(v) for v in value)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: relative(getattr(value, f.name)) for f in fields(value)}
        return replace(value, **changed)
    return value


def _relative_flow(flow: Any) -> Any:  # noqa: ANN401 (None, or a flow)
    """Flow lines are ``file.py:12`` as strings."""
    if flow is None:
        return None
    return replace(
        flow, ops=tuple(replace(o, line=PurePath(o.line).name if o.line else "") for o in flow.ops)
    )
