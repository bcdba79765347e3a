"""What the ops of role programs become: one lowering for every name the plan uses."""

from __future__ import annotations

from typing import TypeVar

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.lowering import LoweringTable, Site, base_table
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.dsmem import near_lines
from warploom.codegen.cuda.tile.from_module import ModulePrinter, printer
from warploom.codegen.cuda.tile.gathered import function_of
from warploom.codegen.cuda.tile.operands import early_read, load_lines, product_lines
from warploom.codegen.cuda.tile.split_k import meet_lines
from warploom.codegen.cuda.tile.steps import QUAD, start_text
from warploom.codegen.cuda.tile.stores import bulk_store, store_text
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
from warploom.ir.operations import VectorKind
from warploom.ir.types import DType, Fn


class Ops:
    """Lowerings of what entries do; ``masked`` are the steps that hide elements."""

    def __init__(self, context: Context, masked: frozenset[str]) -> None:
        self.context, self.masked = context, masked
        self.loop = context.loop

    def producer_table(self) -> LoweringTable:
        """The producer's copies."""

        def load(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, LoadEntry)
            return load_lines(self.context, e, site)

        return base_table().with_kind(LoadEntry, load)

    def gatherer_table(self) -> LoweringTable:
        """Rows that a list picks."""

        def announced(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, Expect)  # bytes come with arrivals of their own, of every thread
            return [
                f"if (threadIdx.x == 32) {device.mbar_arrive}({site.barrier(e.ring, 'full', e.k)});"
            ]

        def load(e: RoleEntry, site: Site) -> list[str]:
            copy = self.printed.operation(e, site)
            assert isinstance(e, LoadEntry)
            assert isinstance(copy, ops.ThreadCopy)
            slot, full = site.part(e.ring, e.part, e.k), site.barrier(e.ring, "full", e.k)
            return [f"{function_of(copy)}({site.iteration(e.k)}, {slot}, {full});"]

        return base_table().with_kind(Expect, announced).with_kind(LoadEntry, load)

    def consumer_table(self, masked: str) -> LoweringTable:
        """The consumers' products, vector work, moves and stores."""

        def product(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, Mma)
            return product_lines(self.context, e, site)

        def store(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, BulkStore)
            return bulk_store(self.context, e, site, _copy(e.source.copy))

        table = self._with_fences(base_table())
        table = table.with_kind(Mma, product).with_kind(BulkStore, store)
        return table.with_kind(Compute, lambda e, s: self._computed(e, s, masked))

    def _with_fences(self, table: LoweringTable) -> LoweringTable:
        """Rows that threads copied are ordinary writes: fenced where products wait for them."""
        gathered, wait = {x.ring for x in self.loop.gathers}, table.kinds[WaitFull]

        def fenced(e: RoleEntry, site: Site) -> list[str]:
            assert isinstance(e, WaitFull)
            every = (x for _, row in site.program.phases() for x in row if isinstance(x, Mma))
            reads = e.ring in gathered and any(s.ring == e.ring for x in every for s in x.slots)
            return [*wait(e, site), *([f"{device.proxy_fence}();"] if reads else [])]

        return table.with_kind(WaitFull, fenced)

    def _computed(  # noqa: C901, PLR0911 (one line a kind)
        self, e: RoleEntry, site: Site, masked: str
    ) -> list[str]:
        """Vector work and meetings, by what the operation is for."""
        assert isinstance(e, Compute)
        op = self.printed.operation(e, site)
        if isinstance(op, ops.Meet):
            return (near_lines if op.near else meet_lines)(self.context, site)
        assert isinstance(op, ops.Vector)
        match op.kind:
            case VectorKind.STEP:
                return self._step(op, e, site, masked)
            case VectorKind.START:
                return self.start_lines(op.op)
            case VectorKind.SUMS:
                return self.sum_lines(op.op)
            case VectorKind.TAKE:
                return self.take_lines(op.op)
            case VectorKind.FETCH:
                return self.fetch_lines(e, site)
            case VectorKind.SEE:
                pieces = [x for x in (*self.printed.before(e, site), op) if x.body]
                return [y for x in pieces for y in early_read(self.printed, x, site, e.k)]
            case VectorKind.LEAVE:
                return []
            case VectorKind.PUT:
                return self._put(op, e, site)
            case VectorKind.FILL:
                block, column = op.args
                return [f"{op.op}({block}, {column}, {_copy(op.fills[0].copy)});"]
            case VectorKind.STORE:
                return store_text(self.context, e, site)

    def _put(self, op: ops.Vector, e: Compute, site: Site) -> list[str]:
        put = op.body[-1] if op.body else None
        if not isinstance(put, ops.VectorPut):
            raise self.printed.one(op).refused("nothing for a slot")
        return [f"{op.op}({site.part(put.ring, put.part, e.k)}, {site.iteration(e.k)});"]

    def _step(self, op: ops.Vector, e: Compute, site: Site, masked: str) -> list[str]:
        """The call of a step's function; outside the loop, of the form that its iteration wants."""
        made = self.printed
        at = site.iteration(e.k) if self.loop.places[op.op] is When.LOOP else "0"
        places = [
            f", {site.part(x.ring, x.part, e.k)}{made.past_start(x)}"
            for x in made.one(op, here=True).slots
        ]
        rest = "".join(places) + (f", [&] {{ {' '.join(site.amid)} }}" if site.amid else "")
        fixed = site.phase == "kernel" and not self.loop.crowded
        if op.op not in self.masked or fixed:
            return [f"{op.op}({masked}, {at}{rest});"]
        return [
            f"if ({at} >= whole_from && {at} < whole_to) {op.op}(No{{}}, {at}{rest});",
            f"else {op.op}(Yes{{}}, {at}{rest});",
        ]

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
                f"    {device.ldmatrix4}({array.name}[b][g],"
                f" slot_element({place}, {part.rows}, b, g));",
            ]
        return lines

    @property
    def printed(self) -> ModulePrinter:
        """What prints the module."""
        return printer(self.context)

    def _works(self, name: str) -> list[Work]:
        """The pieces of an op that is done once a tile."""
        return [self.printed.one(x) for x in self.loop.vectors(name) if x.body]

    def start_lines(self, name: str) -> list[str]:
        """Carried values as a tile begins."""
        return [x for work in self._works(name) for x in start_text(self.context, work)]

    def take_lines(self, name: str) -> list[str]:
        """What earlier loops of the tile left, into arrays of this one."""
        lines = []
        for work in self._works(name):
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

    def sum_lines(self, name: str) -> list[str]:
        """Row sums over the threads of a row."""
        lines: list[str] = []
        for work in self._works(name):
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
    return device.quad_sum_i32 if op.dtype is DType.I32 else device.quad_sum


def _copy(copy: int) -> str:
    return f"staging + {copy} * OUT_COPY" if copy else "staging"
