"""What the ops of role programs become: one lowering for every name the plan uses."""

from __future__ import annotations

from typing import TypeVar

from warploom.codegen.cuda.lowering import Lowering, LoweringTable, Site, base_table
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.dsmem import near_lines
from warploom.codegen.cuda.tile.from_module import ModulePrinter, printer
from warploom.codegen.cuda.tile.operands import early_read, load_lines, product_lines
from warploom.codegen.cuda.tile.split_k import meet_lines
from warploom.codegen.cuda.tile.steps import QUAD, start_text
from warploom.codegen.cuda.tile.stores import bulk_store, direct_text, straight_text
from warploom.codegen.cuda.tile.work import COL, ROW, Work, row_register
from warploom.ir import operations as ops
from warploom.ir.dataflow import When
from warploom.ir.mbarrier_dialect import (
    BulkStore,
    Compute,
    Expect,
    Load as LoadEntry,
    Mma,
    RoleEntry,
    WaitFull,
)
from warploom.ir.tile import Dot, DType, Fn, Load, Store
from warploom.passes.fuse import Step
from warploom.passes.loop_ops import load_name, product_name
from warploom.passes.smem_budget import is_straight, staged_stores
from warploom.passes.smem_ops import Put, puts, sees
from warploom.passes.split_k import MEET
from warploom.passes.split_mma import FIRST, REST
from warploom.passes.warp_specialize import (
    LEAVE,
    SEE,
    START,
    SUMS,
    TAKE,
    fetch_name,
    held_loads,
    part_name,
    store_name,
    stored,
)


class Ops:
    """Lowerings of a kernel's ops; ``masked`` are the steps that hide elements."""

    def __init__(self, context: Context, masked: frozenset[str]) -> None:
        self.context, self.masked = context, masked
        self.layout = context.layout

    def producer_table(self) -> LoweringTable:
        """The producer's copies."""
        table = base_table()
        for when in (When.HEAD, When.LOOP):
            for op in self.layout.body.section(when):
                if not isinstance(op, Load):
                    continue
                found = self.layout.slot_of(op.result.name)
                if found is None:
                    continue
                name = f"load_{found[0].name}.{part_name(op.result.name)}"

                def load(e: RoleEntry, site: Site, op: Load = op) -> list[str]:
                    assert isinstance(e, LoadEntry)
                    return load_lines(self.context, op, e, site)

                table = table.with_op(name, load)
        return table

    def gatherer_table(self) -> LoweringTable:
        """Rows that a list picks."""

        def announced(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, Expect)  # bytes come with arrivals of their own, of every thread
            return [f"if (threadIdx.x == 32) mbar_arrive({site.barrier(e.ring, 'full', e.k)});"]

        table = base_table().with_kind(Expect, announced)
        for ring in (r for r in self.layout.rings if r.gathered):

            def load(e: RoleEntry, site: Site, name: str = load_name(ring)) -> list[str]:
                assert isinstance(e, LoadEntry)
                slot, full = site.part(e.ring, e.part, e.k), site.barrier(e.ring, "full", e.k)
                return [f"{name}({site.iteration(e.k)}, {slot}, {full});"]

            table = table.with_op(f"{load_name(ring)}.{part_name(ring.tiles[0].value)}", load)
        return table

    def consumer_table(self, masked: str) -> LoweringTable:
        """The consumers' products, steps, moves and stores."""
        table = self._with_fences(base_table())
        for step in self.layout.steps:
            table = table.with_op(step.name, self._step_lowering(step, masked))
        table = self._with_moves(self._with_products(table))
        table = table.with_op(SEE, lambda e, s: [])
        table = table.with_op(TAKE, lambda e, s: self.take_lines())
        table = table.with_op(LEAVE, lambda e, s: [])
        table = table.with_op(START, lambda e, s: self.start_lines())
        table = table.with_op(SUMS, lambda e, s: self.sum_lines())
        meet = near_lines if self.context.layout.config.split_k_in_cluster else meet_lines
        table = table.with_op(MEET, lambda e, s: meet(self.context, s))
        staged = staged_stores(self.layout)
        for op in (*self.layout.body.loop.body, *self.layout.body.tail):
            if isinstance(op, Store):
                table = self._with_store(table, op, staged=op in staged)
        return table

    def _with_fences(self, table: LoweringTable) -> LoweringTable:
        """Rows that threads copied are ordinary writes: fenced where products wait for them."""
        gathered, wait = {r.name for r in self.layout.rings if r.gathered}, table.kinds[WaitFull]

        def fenced(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, WaitFull)
            every = (x for _, row in site.program.phases() for x in row if isinstance(x, Mma))
            reads = e.ring in gathered and any(s.ring == e.ring for x in every for s in x.slots)
            return [*wait(e, site), *(["proxy_fence();"] if reads else [])]

        return table.with_kind(WaitFull, fenced)

    def _with_products(self, table: LoweringTable) -> LoweringTable:
        for _, op in self.layout.body.placed:
            if isinstance(op, Dot):

                def dot(e: RoleEntry, site: Site, op: Dot = op) -> list[str]:
                    assert isinstance(e, Mma)
                    return product_lines(self.context, op, e, site)

                for part in ("", f".{FIRST}", f".{REST}"):
                    table = table.with_op(f"{product_name(op)}{part}", dot)
        return table

    def _with_moves(self, table: LoweringTable) -> LoweringTable:
        """Tiles into registers, and from registers into slots."""
        for op in held_loads(self.layout):

            def fetch(e: RoleEntry, site: Site) -> list[str]:
                assert isinstance(e, Compute)
                return self.fetch_lines(e, site)

            table = table.with_op(fetch_name(op), fetch)
        for put in puts(self.layout):

            def put_lines(e: RoleEntry, site: Site, put: Put = put) -> list[str]:
                assert isinstance(e, Compute)
                place = site.part(put.ring.name, part_name(put.value), e.k)
                return [f"{put.name}({place}, {site.iteration(e.k)});"]

            table = table.with_op(put.name, put_lines)
        for see in sees(self.layout):

            def see_lines(e: RoleEntry, site: Site) -> list[str]:
                assert isinstance(e, Compute)
                pieces = [*self.printed.before(e, site), self.printed.operation(e, site)]
                every = [x for x in pieces if isinstance(x, ops.Vector) and x.body]
                return [y for x in every for y in early_read(self.printed, x, site, e.k)]

            table = table.with_op(see.name, see_lines)
        return table

    def _step_lowering(self, step: Step, masked: str) -> Lowering:
        def lowering(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, Compute)
            at = site.iteration(e.k) if step.when is When.LOOP else "0"
            made = self.printed
            found = made.operation(e, site)
            assert isinstance(found, ops.Vector)
            places = [
                f", {site.part(x.ring, x.part, e.k)}{made.past_start(x)}"
                for x in made.one(found, here=True).slots
            ]
            call = f"{step.name}({{}}, {at}{''.join(places)});"
            fixed = site.phase == "kernel" and not self.layout.crowded
            if step.name not in self.masked or fixed:
                return [call.format(masked)]
            return [
                f"if ({at} >= whole_from && {at} < whole_to) {call.format('No{}')}",
                f"else {call.format('Yes{}')}",
            ]

        return lowering

    def _with_store(self, table: LoweringTable, op: Store, *, staged: bool) -> LoweringTable:
        name = store_name(self.layout, op)
        if is_straight(self.layout, op):

            def add(e: RoleEntry, site: Site) -> list[str]:
                assert isinstance(e, Compute)
                if not op.add:
                    return ["{", *indent(direct_text(self.context, op, e, site), 2), "}"]
                return straight_text(self.context, site, op, e, site.iteration(e.k))

            return table.with_op(name, add)
        if not staged:
            return table.with_op(
                name,
                lambda e, s: ["{", *indent(direct_text(self.context, op, e, s), 2), "}"],
            )

        def fill(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, Compute)
            block, column = e.args
            return [f"fill_{stored(self.layout, op)}({block}, {column}, {_copy(e.fills[0].copy)});"]

        def store(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, BulkStore)
            return bulk_store(self.context, op, e, site, _copy(e.source.copy))

        return table.with_op(f"fill_{stored(self.layout, op)}", fill).with_op(name, store)

    def fetch_lines(self, entry: Compute, site: Site) -> list[str]:
        """A loaded tile into registers, as left operand."""
        lines: list[str] = []
        for work in self._works(entry.op):
            slot, made = _moved(work, ops.VectorSlot)
            array, part = work.array(made.array), self.printed.module.part(slot.ring, slot.part)
            place = site.part(slot.ring, slot.part, entry.k)
            work.refuse_register(array, made.register)
            if array.form != "packed" or (slot.row, slot.col) != (ROW, COL):
                raise work.refused(f"[{slot.row}, {slot.col}] of the tile {slot.part}")
            lines += [
                "#pragma unroll",
                f"for (int b = 0; b < {array.blocks}; ++b)",
                "#pragma unroll",
                f"  for (int g = 0; g < {array.cols // 16}; ++g)",
                f"    ldmatrix4({array.name}[b][g], slot_element({place}, {part.rows}, b, g));",
            ]
        return lines

    @property
    def printed(self) -> ModulePrinter:
        """What prints the module."""
        return printer(self.context)

    def _works(self, name: str) -> list[Work]:
        """The pieces of an op that is done once a tile."""
        return [self.printed.one(x) for x in self.printed.vectors(name) if x.body]

    def start_lines(self) -> list[str]:
        """Carried values as a tile begins."""
        return [x for work in self._works(START) for x in start_text(self.context, work)]

    def take_lines(self) -> list[str]:
        """What earlier loops of the tile left, into arrays of this one."""
        lines = []
        for work in self._works(TAKE):
            source, made = _moved(work, ops.VectorRegister)
            array, other = work.array(made.array), work.array(source.array)
            count = array.cols // 2 if array.form == "tile" else 2
            alike = (array.form, array.blocks, array.cols) == (other.form, other.blocks, other.cols)
            if source.register != made.register or not alike:
                raise work.refused(f"{other.name} into {array.name}")
            lines += [
                "#pragma unroll",
                f"for (int b = 0; b < {array.blocks}; ++b)",
                "#pragma unroll",
                f"  for (int j = 0; j < {count}; ++j) {array.name}[b][j] = {other.name}[b][j];",
            ]
        return lines

    def sum_lines(self) -> list[str]:
        """Row sums over the threads of a row."""
        lines: list[str] = []
        for work in self._works(SUMS):
            for made in work.sets:
                lines += [
                    "#pragma unroll",
                    f"for (int b = 0; b < {work.extent('b')}; ++b)",
                    "#pragma unroll",
                    f"  for (int i = 0; i < 2; ++i) {made.array}[b][i] ="
                    f" {_across(work, made)}({made.array}[b][i]);",
                ]
        return lines


Moved = TypeVar("Moved", ops.VectorSlot, ops.VectorRegister)


def _moved(work: Work, kind: type[Moved]) -> tuple[Moved, ops.VectorSet]:
    """Work that only moves elements: where from, and where to."""
    if len(work.body) != 2:
        raise work.refused("more than a move of elements")
    source, made = work.body
    if not isinstance(source, kind) or not isinstance(made, ops.VectorSet):
        raise work.refused("another move of elements")
    if made.value != source.result:
        raise work.refused(f"another value than {source.result}")
    return source, made


def _across(work: Work, made: ops.VectorSet) -> str:
    """The sum over the threads of a row, of an array in its place."""
    op = work.makers[made.value]
    source = work.makers.get(op.arg) if isinstance(op, ops.VectorReduce) else None
    if not isinstance(op, ops.VectorReduce) or not isinstance(source, ops.VectorRegister):
        raise work.refused(f"a sum {made.value}")
    same = (source.array, source.register) == (made.array, made.register)
    if (op.fn, op.over, op.lanes) != (Fn.ADD, (), QUAD) or not same:
        raise work.refused(f"a sum {made.value} of {source.array}")
    if made.register != row_register(None):
        raise work.refused(f"register {made.register} of {made.array}")
    return "quad_sum_i32" if op.dtype is DType.I32 else "quad_sum"


def _copy(copy: int) -> str:
    return f"staging + {copy} * OUT_COPY" if copy else "staging"
