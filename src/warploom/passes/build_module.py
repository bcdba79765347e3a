"""Build the kernel module of a scheduled kernel for Hopper.

Input: the author's kernel and what the passes made of it (``Lowered``). Output: ``KernelModule``
with the tile schedule, positions, trip counts, copy coordinates, fragment layouts, predicates and
stores as expressions. It follows the same facts as the code generator: role programs, layout of
values, steps of vector work. What has no expression is refused at the author's line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from warploom.ir import mbarrier_dialect as roles, operations as ops
from warploom.ir.expr import (
    Element,
    Expr,
    IntExpr,
    Select,
    conjunction,
    const,
    floor_div,
    least,
    lift,
    size,
)
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram
from warploom.ir.module import (
    Dialect,
    KernelModule,
    Launch,
    LoopFacts,
    LoopPhase,
    Outside,
    PartShape,
    RegisterArray,
    Role,
    StageShape,
    Storage,
    TensorMap,
    TileLoop,
    scalar_args,
    tensor_args,
)
from warploom.ir.operations import Operation, Statement, StepLoop, VectorKind
from warploom.ir.rings import NamedBarrier, Side
from warploom.ir.tile import Broadcast, Dot, DType, Indices, Kernel, Load, Loop, Pointwise, Store
from warploom.ir.tile_schedule import RANK, grid_of, let
from warploom.ir.types import relative, short
from warploom.passes.body import only_products, refusal
from warploom.passes.driver import Lowered
from warploom.passes.fuse import START, SUMS
from warploom.passes.hoist_full_wait import interrupted
from warploom.passes.layout import Form
from warploom.passes.loop_ops import CONSUMER, product_name, takes_turns
from warploom.passes.module_numbers import T_STEP, TRIPS, Numbers, refuse
from warploom.passes.module_vector import COL, INSTANCE, ROW, WARP, VectorWork
from warploom.passes.smem_budget import staged_stores
from warploom.passes.smem_layout import (
    LINE_BYTES,
    SlotRing,
    SlotTile,
    grouped_vars,
    list_of,
)
from warploom.passes.smem_ops import by_columns, early_array, early_vectors, puts, sees, share_of
from warploom.passes.split_k import MEET, inbox_bytes, meeting_of
from warploom.passes.split_mma import FIRST, REST, part_of
from warploom.passes.unroll import adds_products
from warploom.passes.warp_specialize import (
    LEAVE,
    SEE,
    TAKE,
    fetch_name,
    given_values,
    held_loads,
    part_arrays,
    part_name,
    started,
    store_name,
    stored,
)
from warploom.targets.h200 import WGMMA_ROWS

ROOMY = 176  # registers of arrays that leave some for numbers of the warp
ALIGNMENT = 16  # bytes: what copies need of addresses and rows
WARP_ROWS = 16
MMA_TYPES = (DType.BF16, DType.F16, DType.E4M3, DType.E5M2)
INSTRUCTION_BITS = 256  # of K that a matrix instruction takes
END = let("end")


def build_module(source: Kernel, lowered: Lowered) -> KernelModule:
    """The module of a kernel; ``source`` is the author's, before any pass."""
    parts = (*lowered.earlier, lowered)
    builders: list[_Builder] = []
    for part in parts:
        builders.append(_Builder(part, tuple(builders), last=part is lowered))
    return _assembled(source, lowered, builders)


def _assembled(source: Kernel, lowered: Lowered, builders: list[_Builder]) -> KernelModule:
    *before, last = builders
    programs = {p.name: p for p in last.document.programs}
    for builder in before:
        for program in builder.document.programs:
            if program.name not in programs:
                raise refuse(f"a role {program.name} of one loop alone", lowered.kernel.line)
    made = tuple(last.role(p, before) for p in last.document.programs)
    kernel = lowered.kernel
    return KernelModule(
        name=last.document.name,
        target=last.document.target,
        config=lowered.config.name,
        dialect=Dialect.MBARRIER,
        kernel=relative(source),
        tensors=tensor_args(kernel, ALIGNMENT),
        scalars=scalar_args(kernel),
        maps=tuple({n: m for b in builders for n, m in b.maps.items()}.values()),
        launch=Launch(
            grid=grid_of(last.numbers.schedule, lowered.config.ctas_per_sm),
            block=128 * (lowered.config.warpgroups + 1),
            cluster=last.document.cluster,
            shared_bytes=sum(b.shared_bytes() for b in builders),
            ctas_per_sm=lowered.config.ctas_per_sm,
        ),
        storage=_joined_storage([b.storage() for b in builders]),
        roles=made,
        strategy=last.document.strategy,
        dtype=last.document.dtype,
        tile=last.document.tile,
        flow=last.document.flow,
        proof=last.document.proof,
        exchanges=last.document.exchanges,
        unroll=last.document.unroll,
        least_trips=last.document.least_trips,
        registers=last.registers(),
        earlier=tuple(b.facts() for b in before),
    )


def _joined_storage(every: list[Storage]) -> Storage:
    return Storage(
        rings=tuple(r for s in every for r in s.rings),
        parts=tuple(p for s in every for p in s.parts),
        buffers=tuple(b for s in every for b in s.buffers),
        staging=tuple(b for s in every for b in s.staging),
        barriers=tuple(b for s in every for b in s.barriers),
    )


class _Builder:
    """One loop on its way; ``maps`` collects tensor maps as copies ask for them."""

    def __init__(self, lowered: Lowered, before: tuple[_Builder, ...], *, last: bool) -> None:
        self.lowered, self.before, self.last = lowered, before, last
        self.layout, self.document = lowered.layout, lowered.document
        self.body = lowered.layout.body
        self.kernel = self.body.kernel
        self.config = lowered.layout.config
        self.loop: Loop = self.body.loop
        self.maps: dict[str, TensorMap] = {}
        self.numbers = Numbers(lowered, alone=last and not before)
        self.number = len(before)
        consumer = next(p for p in self.document.programs if p.threads > 1 and p.name == "consumer")
        self.instance: Expr = const(0) if consumer.alternates else INSTANCE
        self.vectors = VectorWork(self.numbers, self.instance)
        self.loads = {
            part_name(op.result.name): op
            for _, op in self.body.placed
            if isinstance(op, Load) and self.layout.slot_of(op.result.name) is not None
        }
        self.dots = {product_name(op): op for _, op in self.body.placed if isinstance(op, Dot)}
        self.stores = [op for _, op in self.body.placed if isinstance(op, Store)]
        self.steps = {s.name: s for s in self.layout.steps}
        self._find_hidden()

    def _find_hidden(self) -> None:
        """What products read for steps is known once all steps were written."""
        for step in self.layout.steps:
            if step.when == "loop":
                for _ in self.vectors.step(step, T_STEP, looping=True):
                    pass

    def shared_bytes(self) -> int:
        """Rings and staging copies in whole kilobytes, then the barriers."""
        atom, total = 1024, inbox_bytes(self.layout)
        for ring in self.document.rings:
            total += ring.depth * (-(-ring.slot_bytes // atom) * atom + 16)
        for b in self.document.buffers:
            total += self.document.program(b.role).instances * b.copies * b.bytes
        return total

    def registers(self) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
        """The register arrays that entries of a role program speak of."""
        return tuple((p.name, p.registers) for p in self.document.programs)

    def facts(self) -> LoopFacts:
        """What is known of this loop, where others follow it."""
        document = self.document
        return LoopFacts(
            name=document.name,
            rings=document.rings,
            barriers=document.barriers,
            flow=document.flow,
            proof=document.proof,
            exchanges=document.exchanges,
            registers=self.registers(),
            dtype=document.dtype,
            tile=document.tile,
            strategy=document.strategy,
            unroll=document.unroll,
            least_trips=document.least_trips,
        )

    # Roles.

    def role(self, program: RoleProgram, before: list[_Builder]) -> Role:
        """A role with all its loops."""
        numbers = self.numbers
        return Role(
            name=program.name,
            instances=program.instances,
            threads=program.threads,
            peel=program.peel,
            arrays=tuple(a for b in (*before, self) for a in b._arrays(program.name)),
            setup=tuple(self._operations(program, "setup")),
            tiles=TileLoop(
                schedule=numbers.schedule,
                lets=numbers.lets(),
                functions=numbers.functions(),
                bounds=numbers.bounds(),
                ranges=numbers.ranges(),
                trips=numbers.trips(),
                least_trips=numbers.fewest,
                axis=self.kernel.var(self.loop.var).axis,
                body=self._body(program),
            ),
            finish=tuple(self._operations(program, "finish")),
            carries_phase=program.carries_phase,
            most_registers=program.most_registers,
            alternates=program.alternates,
            pace=self.config.cta_sync_interval if program.name == "producer" else 0,
            earlier=tuple(b.phase(program.name) for b in before),
            uniform=program.name == CONSUMER and self._is_uniform((*before, self)),
            finds_next=program.name == CONSUMER and self._finds_next(),
            works=self._works() if program.name == CONSUMER else None,
        )

    def _is_uniform(self, every: tuple[_Builder, ...]) -> bool:
        """Whether the instance is read from one lane: addresses of products are then computed once
        a warp. Where loops do more than multiply, if registers allow it.
        """
        registers = max(sum(a.registers for a in b.layout.arrays) for b in every)
        roomy = registers <= ROOMY or self.numbers.schedule.listed
        found = takes_turns(self.layout) and roomy
        several = sum(isinstance(op, Dot) for op in self.loop.body) > 1
        several = self.loop.times > 1 or (several and adds_products(self.loop))
        found |= several and not self.layout.crowded
        return found or all(only_products(b.body) for b in every)

    def _works(self) -> IntExpr | None:
        """Where CTAs keep one pace, a consumer whose rows lie past a group's end rests: else they
        come apart and read again what they share.
        """
        config = self.config
        if not config.cta_sync_interval or config.consumer_warpgroups == 1:
            return None
        if not self._finds_next():
            return None
        rows = grouped_vars(self.kernel)[1]
        first = self.numbers.position(rows, None) + 64 * self.layout.blocks * self.instance
        return lift(first < self.numbers.end_of(rows))

    def _finds_next(self) -> bool:
        """Whether consumers look for their next tile while the first product of one runs."""
        shared = self.config.pingpong == 1
        return self.kernel.grid.kind == "groups" and only_products(self.body) and shared

    def phase(self, name: str) -> LoopPhase:
        """This loop of a role, where others follow it."""
        program = next((p for p in self.document.programs if p.name == name), None)
        if program is None:
            raise refuse(f"a loop without the role {name}", self.loop.line)
        numbers = self.numbers
        return LoopPhase(
            functions=numbers.functions(),
            bounds=numbers.bounds(),
            ranges=numbers.ranges(),
            trips=numbers.trips(),
            least_trips=numbers.fewest,
            axis=self.kernel.var(self.loop.var).axis,
            peel=program.peel,
            setup=tuple(self._operations(program, "setup")),
            body=self._body(program),
            finish=tuple(self._operations(program, "finish")),
        )

    def _body(self, program: RoleProgram) -> tuple[Statement, ...]:
        loop = StepLoop(
            start=const(program.peel),
            stop=TRIPS,
            body=tuple(self._operations(program, "kernel")),
        )
        return (
            *self._operations(program, "prologue"),
            loop,
            *self._operations(program, "epilogue"),
        )

    def _arrays(self, role: str) -> Iterator[RegisterArray]:
        counts = dict(self.document.program(role).registers)
        forms = {Form.TILE: "tile", Form.PACKED: "packed", Form.ROW: "row", Form.PART: "row"}
        own = {a.name for a in self.layout.arrays}
        for a in self.layout.arrays:
            if a.name in counts:
                yield RegisterArray(
                    name=a.name,
                    blocks=a.blocks,
                    cols=a.cols,
                    registers=counts[a.name],
                    form=forms[a.form],
                    dtype=a.dtype,
                )
        for name, count in counts.items():
            if name not in own:
                yield RegisterArray(name=name, blocks=0, cols=0, registers=count, form="thread")
        if role == "consumer":
            for value, (_, columns) in early_vectors(self.layout).items():
                if early_array(value) not in counts:
                    yield RegisterArray(
                        name=early_array(value),
                        blocks=0,
                        cols=0,
                        registers=columns // 4,
                        form="thread",
                    )
            for reads in self.vectors.hidden.values():
                for read in reads.values():
                    count = 2 * read.blocks if read.form == "row" else 1
                    yield RegisterArray(
                        name=read.array,
                        blocks=read.blocks if read.form == "row" else 0,
                        cols=0,
                        registers=count,
                        form=read.form,
                        dtype=read.dtype,
                    )

    def _operations(self, program: RoleProgram, phase: str) -> Iterator[Operation]:
        entries = getattr(program, phase)
        amid = interrupted(program) if self.config.full_wait_after > 0 else None
        for n, entry in enumerate(entries):
            within = isinstance(entry, roles.WaitFull) and any(
                isinstance(e, roles.Compute) and e.op == amid for e in entries[n + 1 : n + 2]
            )
            for op in self._operation(entry, phase):
                if within and isinstance(op, ops.Wait):
                    yield replace(op, amid=self.config.full_wait_after)
                else:
                    yield op

    def _iteration(self, k: int, phase: str) -> IntExpr:
        base: Expr = {"kernel": T_STEP, "epilogue": TRIPS, "finish": END}.get(phase, const(0))
        return lift(base + k if k >= 0 else base - -k)

    def _operation(  # noqa: PLR0912, C901 (one line a kind of entry)
        self, e: RoleEntry, phase: str
    ) -> Iterator[Operation]:
        def at(k: int) -> IntExpr:
            return self._iteration(k, phase)

        match e:
            case roles.WaitFull() | roles.WaitEmpty():
                side = Side.FULL if isinstance(e, roles.WaitFull) else Side.EMPTY
                yield ops.Wait(
                    side=side, ring=e.ring, iteration=at(e.k), parity=e.parity, reason=e.reason
                )
            case roles.Expect():
                yield ops.Expect(ring=e.ring, iteration=at(e.k), bytes=e.bytes, reason=e.reason)
            case roles.Load():
                yield self._copy(e, at(e.k))
            case roles.Arrive():
                yield ops.Arrive(
                    ring=e.ring,
                    iteration=at(e.k),
                    scope=e.scope,
                    ctas=e.ctas,
                    side=e.side,
                    reason=e.reason,
                )
            case roles.MmaFence():
                yield ops.MmaFence(reason=e.reason, all_sums=self.config.drain_mma)
            case roles.Mma():
                yield from self._mma(e, at(e.k))
            case roles.Commit():
                yield ops.Commit(reason=e.reason)
            case roles.WaitGroup():
                ordered = self.config.full_wait_after < 0 and phase == "kernel"
                yield ops.WaitGroup(pending=e.pending, reason=e.reason, ordered=ordered)
            case roles.Compute():
                yield from self._compute(e, at(e.k), phase)
            case roles.ProxyFence():
                yield ops.ProxyFence(reason=e.reason)
            case roles.ScopeSync():
                yield ops.ScopeSync(scope=e.scope, reason=e.reason)
            case roles.NamedSync() | roles.NamedArrive():
                yield ops.NamedBarrierOp(
                    barrier=self._barrier(e.barrier),
                    waits=isinstance(e, roles.NamedSync),
                    turn=e.turn,
                    instance=e.instance,
                    reason=e.reason,
                )
            case roles.BulkStore():
                yield self._bulk_store(e, at(e.k))
            case roles.BulkCommit():
                yield ops.BulkCommit(reason=e.reason)
            case roles.BulkWait():
                yield ops.BulkWait(pending=e.pending, source_read=e.source_read, reason=e.reason)
            case roles.ClusterSync():
                yield ops.ClusterSync(reason=e.reason)

    def _barrier(self, name: str) -> str:
        """Named barriers of several loops are told apart by the loop."""
        return name if self.last else f"{name}_loop{self.number + 1}"

    def _barriers(self) -> tuple[NamedBarrier, ...]:
        return tuple(replace(b, name=self._barrier(b.name)) for b in self.document.barriers)

    # Copies and products.

    def _copy(self, e: roles.Load, iteration: IntExpr) -> Operation:
        op, (ring, tile) = self.loads[e.part], self._slot(e.part)
        place = None if ring.per_tile else iteration
        if e.by_threads:
            return self._thread_copy(e, op, tile, iteration)
        numbers = self.numbers
        dims = op.result.vars
        rows, cols = (dims[0] if not tile.vector else "", dims[-1])
        share = tile.rows // e.multicast
        width = min(tile.cols, tile.block_cols)
        box = tuple({rows: share, cols: width}.get(a.var or "", 1) for a in op.at)
        if tile.vector:
            box = (*(1 for _ in op.at[1:]), tile.fetched)
        bound = numbers.bounded(op)
        name = self._map(op.tensor, box, tile.span, Outside.ZERO, bound)
        own: Expr = RANK * share if e.multicast > 1 else const(0)
        end = None if bound is None else lift(numbers.bound_of(op, bound, place))
        boxes = []
        for block in range(1 if tile.vector else tile.blocks):
            at = []
            for n, a in enumerate(op.at):
                index = numbers.index(op, n, place)
                if a.var == rows and a.var is not None:
                    index = index + own
                elif a.var == cols and not tile.vector:
                    index = index + block * tile.block_cols
                if tile.loose and n == len(op.at) - 1:
                    index = floor_div(index, 4) * 4
                at.append(lift(index))
            boxes.append(ops.Box(at=tuple(at), row=lift(own), col=block * tile.block_cols, end=end))
        return ops.Copy(
            op=e.op,
            tensor_map=name,
            ring=e.ring,
            part=e.part,
            iteration=iteration,
            boxes=tuple(boxes),
            bytes=e.bytes,
            multicast=e.multicast,
            line=short(op.result.line),
            reason=e.reason,
        )

    def _thread_copy(
        self, e: roles.Load, op: Load, tile: SlotTile, iteration: IntExpr
    ) -> Operation:
        """Rows that a list picks."""
        numbers = self.numbers
        rows, cols = op.result.vars
        listed = list_of(self.body, op)
        place = numbers.position(rows, None) + ROW
        inside: list[IntExpr] = [lift(place < numbers.end_of(rows))]
        if self.kernel.grid.kind == "groups":
            place, inside = least(place, numbers.end_of(rows) - 1), []
        at: list[IntExpr] = []
        for n, a in enumerate(op.at):
            axis = self.kernel.tensor(op.tensor).axes[n]
            if a.value is not None and a.value == listed:
                number = lift(self._picked(a.value, rows, place))
                inside += [lift(number >= 0), lift(number < numbers.length(op.tensor, axis))]
                at.append(number)
            elif a.var == cols:
                at.append(lift(numbers.index(op, n, iteration) + COL))
                inside.append(lift(at[-1] < numbers.end_of(cols)))
            else:
                at.append(lift(numbers.index(op, n, iteration)))
        inside += numbers.within(op, at)
        return ops.ThreadCopy(
            op=e.op,
            tensor=op.tensor,
            ring=e.ring,
            part=e.part,
            iteration=iteration,
            at=tuple(at),
            predicate=conjunction(inside),
            bytes=e.bytes,
            line=short(op.result.line),
            reason=e.reason,
        )

    def _picked(self, name: str, rows: str, place: Expr) -> Expr:
        """A value of rows at the row at hand, as an expression."""
        return _RowNumbers(self.numbers, rows, place).value(name)

    def _map(
        self,
        tensor: str,
        box: tuple[int, ...],
        span: int,
        outside: Outside,
        bounded: int | None = None,
    ) -> str:
        tag = "x".join(str(n) for n in box if n > 1) + ("" if bounded is None else "_bounded")
        name, keep = f"map_{tensor}_{tag}", self.config.l2_evict_last
        policy = "" if keep is None else "evict_last" if tensor == keep else "evict_first"
        found = TensorMap(
            name=name,
            tensor=tensor,
            box=box,
            swizzle=span,
            outside=outside,
            l2=policy if outside is Outside.ZERO else "",
            bounded=bounded,
        )
        if self._known(name, found) != found:
            found = replace(found, name=f"{name}_{outside}_{span}")
        self.maps.setdefault(found.name, found)
        return found.name

    def _known(self, name: str, default: TensorMap) -> TensorMap:
        for builder in (*self.before, self):
            if name in builder.maps:
                return builder.maps[name]
        return default

    def _slot(self, part: str) -> tuple[SlotRing, SlotTile]:
        for ring in self.layout.rings:
            for tile in ring.tiles:
                if part_name(tile.value) == part:
                    return ring, tile
        raise refuse(f"the part {part!r}", self.loop.line)

    def _mma(self, e: roles.Mma, iteration: IntExpr) -> Iterator[Operation]:
        parts = {part_of(n, part): (n, part) for n in self.dots for part in (FIRST, REST)}
        name, part = parts.get(e.op, (e.op, ""))
        op = self.dots.get(name)
        if op is None:
            raise refuse(f"the product {e.op!r}", self.loop.line)
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
        left: ops.SlotOperand | ops.RegisterOperand
        if self.layout.left_in_registers(op):
            left = ops.RegisterOperand(array=self.layout.array_of(a).name)
        else:
            left = ops.SlotOperand(
                ring=slots[part_name(a)],
                part=part_name(a),
                row=const(0) if by_column else lift(self.instance * rows),
                rows=rows,
                transposed=a_flipped,
            )
        if part != REST:
            for read in self.vectors.before(op, iteration):
                yield replace(read, within=e.op)
        yield ops.Mma(
            op=e.op,
            iteration=iteration,
            a=left,
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
            line=short(op.result.line),
            reason=e.reason,
            inner=self._inner(part, inner, dtype) if part else None,
        )

    def _inner(self, part: str, inner: int, dtype: DType) -> tuple[int, int]:
        """What part of K an entry multiplies."""
        each = INSTRUCTION_BITS // dtype.bits
        late, steps = self.config.deferred_mmas, inner // each
        if not 0 < late < steps:
            raise refusal(
                f"deferred_mmas={late} with a product of {steps} instructions",
                None,
                why="both its parts have some",
                fix=f"0 to {steps - 1}",
            )
        cut = inner - self.config.deferred_mmas * each
        return (0, cut) if part == FIRST else (cut, inner)

    # Vector work and stores.

    def _compute(self, e: roles.Compute, iteration: IntExpr, phase: str) -> Iterator[Operation]:
        if e.op == MEET:
            yield self._meet(e, iteration)
            return
        kind, made = self._vector(e, iteration, phase)
        *first, last = list(made) or [
            ops.Vector(op=e.op, iteration=iteration, layout=_NO_LAYOUT, body=())
        ]
        for op in first:
            yield replace(op, op=e.op, within=e.op, kind=kind)
        yield replace(
            last,
            op=e.op,
            iteration=iteration,
            reads=e.reads,
            writes=e.writes,
            slots=e.slots,
            fills=e.fills,
            fills_slots=e.fills_slots,
            args=e.args,
            reason=e.reason,
            kind=kind,
        )

    def _vector(  # noqa: C901, PLR0911, PLR0912 (one line a kind of op)
        self, e: roles.Compute, iteration: IntExpr, phase: str
    ) -> tuple[VectorKind, Iterable[ops.Vector]]:
        work, layout = self.vectors, self.layout
        if e.op in self.steps:
            looping = phase == "kernel"
            return VectorKind.STEP, work.step(self.steps[e.op], iteration, looping=looping)
        if e.op == START:
            return VectorKind.START, work.start(started(layout), iteration)
        if e.op == SUMS:
            return VectorKind.SUMS, work.sums(part_arrays(layout), iteration)
        if e.op == TAKE:
            return VectorKind.TAKE, work.take(list(self._given()), iteration)
        if e.op == SEE:
            return VectorKind.SEE, ()
        if e.op == LEAVE:
            return VectorKind.LEAVE, ()
        for load in held_loads(layout):
            if e.op == fetch_name(load):
                return VectorKind.FETCH, work.fetch(load, iteration)
        for see in sees(layout):
            if e.op == see.name:
                return VectorKind.SEE, work.see(see.early, iteration)
        for put in puts(layout):
            if e.op == put.name:
                ring = put.ring
                return VectorKind.PUT, [work.put(put.value, ring.name, ring.tiles[0], iteration)]
        op, fills = self._store_of(e.op)
        at = iteration if op in self.loop.body else None
        if fills:
            block, column = e.args
            where, body = work.fill(op, block, column, e.fills[0], at)
        else:
            where, body = work.store(op, at)
        kind = VectorKind.FILL if fills else VectorKind.STORE
        return kind, [
            ops.Vector(op=e.op, iteration=iteration, layout=where, body=body, line=short(op.line))
        ]

    def _given(self) -> Iterator[tuple[str, Any, Any]]:
        for op in given_values(self.layout):
            array = self.layout.array_of(op.result.name)
            source = next(
                b.layout.array_of(op.of) for b in self.before if op.of in dict(b.layout.homes)
            )
            yield op.result.name, source, array

    def _meet(self, e: roles.Compute, iteration: IntExpr) -> Operation:
        homes, meeting = dict(self.layout.homes), meeting_of(self.body)
        return ops.Meet(
            op=e.op,
            iteration=iteration,
            parts=self.config.split_k,
            sums=tuple(homes[c.result.name] for c, _ in meeting.sums),
            top="" if meeting.top is None else homes[meeting.top.result.name],
            rescaled=tuple(homes[c.result.name] for c, scaled in meeting.sums if scaled),
            near=bool(self.config.split_k_in_cluster),
            reads=e.reads,
            writes=e.writes,
            reason=e.reason,
            exists=self._met_rows(),
        )

    def _met_rows(self) -> IntExpr | None:
        """Whether a row of the tiles that parts sum exists."""
        sums = [c.result.vars[0] for c in self.loop.carried if len(c.result.dims) == 2]
        if not sums:
            return None
        rows = sums[0]
        place = self.numbers.position(rows, None) + ROW
        return lift(place < size(self.kernel.var(rows).axis))

    def _store_of(self, name: str) -> tuple[Store, bool]:
        """The store that an op of a role program belongs to, and whether it fills staging."""
        for op in self.stores:
            if op in staged_stores(self.layout) and name == f"fill_{stored(self.layout, op)}":
                return op, True
            if name == store_name(self.layout, op):
                return op, False
        raise refuse(f"the op {name!r}", self.loop.line)

    def _bulk_store(self, e: roles.BulkStore, iteration: IntExpr) -> Operation:
        op, _ = self._store_of(e.op)
        numbers, block, column = self.numbers, *e.args
        value = self.body.values[op.value]
        blocks, columns = share_of(self.layout, op)
        apart = by_columns(self.layout, op)
        dtype = self.kernel.tensor(op.tensor).dtype
        width = min(LINE_BYTES * 8 // dtype.bits, columns)
        box = tuple(
            {value.vars[0]: WARP_ROWS, value.vars[1]: width}.get(a.var or "", 1) for a in op.at
        )
        looping = op in self.loop.body
        place_of = iteration if looping else None
        bound = numbers.bounded(op)
        at = []
        for n, a in enumerate(op.at):
            place = numbers.index(op, n, place_of)
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
            tensor_map=self._map(op.tensor, box, LINE_BYTES, Outside.DROP, bound),
            source=e.source,
            at=tuple(at),
            scope=e.scope,
            args=e.args,
            add=e.reduce,
            iteration=iteration if looping else None,
            line=short(op.line),
            reason=e.reason,
            end=None if bound is None else lift(numbers.bound_of(op, bound, place_of)),
        )

    def storage(self) -> Storage:
        """Shared memory of this loop."""
        parts = []
        for ring in self.document.rings:
            for part in ring.parts:
                tile = self._slot(part.name)[1]
                parts.append(
                    PartShape(
                        ring=ring.name,
                        part=part.name,
                        rows=tile.rows,
                        cols=tile.fetched if tile.vector else tile.cols,
                        dtype=tile.dtype,
                        swizzle=tile.span,
                    )
                )
        staging = []
        for buffer in self.document.buffers:
            every = staged_stores(self.layout)
            widths = [self._staged_width(op) for op in every]
            kinds = {self.kernel.tensor(op.tensor).dtype for op in every}
            dtype = next(iter(kinds)) if len(kinds) == 1 else DType.F32
            staging.append(
                StageShape(buffer=buffer.name, rows=WARP_ROWS, cols=max(widths), dtype=dtype)
            )
        return Storage(
            rings=self.document.rings,
            parts=tuple(parts),
            buffers=self.document.buffers,
            staging=tuple(staging),
            barriers=self._barriers(),
        )

    def _staged_width(self, op: Store) -> int:
        dtype = self.kernel.tensor(op.tensor).dtype
        return min(LINE_BYTES * 8 // dtype.bits, share_of(self.layout, op)[1])


_NO_LAYOUT = ops.FragmentLayout(indices=(), register=const(0), row=const(0), col=const(0))


class _RowNumbers(Numbers):
    """Values of rows at one row, as expressions of its number."""

    def __init__(self, numbers: Numbers, rows: str, place: Expr) -> None:
        super().__init__(numbers.lowered)
        self.rows, self.place = rows, place

    def value(self, name: str) -> Expr:
        """The value's element at the row."""
        op = self.body.ops[name]
        if not self.body.values[name].dims:
            return self.number(name, None)
        match op:
            case Indices():
                return self.place
            case Broadcast():
                return self.value(op.arg)
            case Load():
                places = [
                    lift(self.place) if a.var == self.rows else lift(self.index(op, n, None))
                    for n, a in enumerate(op.at)
                ]
                found = Element(op.tensor, tuple(places))
                there = conjunction(self.within(op, places))
                return found if there is None else Select(there, found, const(0))
            case Pointwise():
                return self._pointwise(op, [self.value(a) for a in op.args])
            case _:
                raise refuse("this value picks no rows", self.body.values[name].line)
