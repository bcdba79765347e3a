"""A scheduled loop as LLVM IR: guard, prologue, loop, epilogue, and what remains.

The pipelined part runs whole tiles only, as many as the schedule covers exactly. It is entered
where all of its memory accesses are aligned and inside of the tensors; otherwise, and for the
steps that are left over, the plain loop runs.

Every machine instruction of a scheduled op is pinned in its place, vector work between two pins. A
home of the schedule is a list of registers; phis carry the homes that a phase reads before it
writes them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.lower.table import (
    DMA_SCOPE,
    READ_SCOPE,
    SYNC,
    emit_stagger,
    emit_tail_barriers,
)
from warploom.codegen.amdgcn.tile_ir import memory, reduce, transfers
from warploom.codegen.amdgcn.tile_ir.layout import Layout, count_of, places, run_of
from warploom.codegen.amdgcn.tile_ir.loop_body import (
    STORED,
    BodyOp,
    CarriedPieces,
    Key,
    Wanted,
    restricted,
)
from warploom.codegen.amdgcn.tile_ir.loop_schedule import LoopSchedule
from warploom.codegen.amdgcn.tile_ir.numbers import (
    build_vector,
    memory_type,
    narrow_vector,
    register_type,
)
from warploom.codegen.amdgcn.tile_ir.state import Fragment, Region, packed, scalars
from warploom.ir import ScheduleDocument, tile as ir
from warploom.ir.dataflow import STORE
from warploom.ir.schedule_ops import OpDesc, OpRole, ScheduleEntry
from warploom.ir.tile import DType

if TYPE_CHECKING:
    from warploom.codegen.amdgcn.tile_ir.lowering import Lowering, Span

REACH = 65536  # bytes an LDS access can add to its address
NARROW = (DType.BF16, DType.F16, DType.E4M3, DType.E5M2, DType.I8)


@dataclass(frozen=True, slots=True)
class _Planned:
    """What the lowering of synchronisation asks of a plan."""

    document: ScheduleDocument


@dataclass(frozen=True, slots=True)
class _Stored:
    """What must hold where whole tiles are stored, and the spans of their variables then."""

    conditions: list[str]
    spans: dict[str, Span]


@dataclass(frozen=True, slots=True)
class Held:
    """Registers that hold a value: ``parts`` of so many elements each, from ``starts`` on.

    Elements narrower than a register lie packed in words as in memory (``per``: elements of the
    layout that share one in memory); others in vectors of four, or one by one.
    """

    layout: Layout
    dtype: DType
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    each: int
    per: int = 1

    def renamed(self, names: list[str]) -> Held:
        """The same in other registers."""
        return Held(self.layout, self.dtype, self.kinds, tuple(names), self.each, self.per)


def emit_pipelined(
    low: Lowering, op: ir.Loop, schedule: LoopSchedule, now: dict[str, Fragment],
    first: str, end: str, step: int,
) -> tuple[dict[str, Fragment], str]:  # fmt: skip
    """The pipelined steps of a loop: carried values after them, and where the rest begins."""
    return _Pipelined(low, op, schedule, first, step).emit(now, end)


class _Pipelined:
    """Walks the phases of a document; a mirror of what every home holds."""

    def __init__(
        self, low: Lowering, op: ir.Loop, schedule: LoopSchedule, first: str, step: int
    ) -> None:
        self.low, self.op, self.schedule = low, op, schedule
        self.strict, low.pipelining = low.pipelining, False
        self.first, self.step = first, step
        self.body = schedule.body
        self.text: IrText = low.text
        self.plan = _Planned(schedule.document)
        self.by_key = {(o.name, o.index): o for o in self.body.ops}
        self.held: dict[str, Held] = {}
        self.runs: Counter[tuple[str, int]] = Counter()
        self.turn = ""
        self.sources: dict[int, transfers.Source] = {}
        self.regions: dict[int, Region] = {}

    # The whole.

    def emit(self, now: dict[str, Fragment], end: str) -> tuple[dict[str, Fragment], str]:
        """Guarded by what must hold for it; carried values and position join after it."""
        low, text, state = self.low, self.text, self.low.state
        protocol = self.plan.document.protocol
        pipe, rest = state.new_label("pipe"), state.new_label("rest")
        starts = {c.inside.name: low.parts_of(now[c.inside.name]) for c in self.op.carried}
        length = text.value(f"sub i32 {end}, {self.first}")
        length = text.value(f"call i32 @llvm.smax.i32(i32 {length}, i32 0)")
        tiles = text.value(f"udiv i32 {length}, {self.step}")
        with state.scope():
            copies = self.schedule.copies
            for transfer in self.body.transfers:
                region = state.allocate(copies[transfer.channel] * transfer.slot_bytes)
                self.regions[transfer.channel] = region
            stored = self._stored()
            test = self._test(tiles, stored)
            before = text.block
            text.add(f"br i1 {test}, label %{pipe}, label %{rest}")
            text.label(pipe)
            spans = dict(low.spans)
            low.spans |= stored.spans
            touched = state.touched
            state.touch(*self.regions.values(), write=True)
            for source in self.sources.values():
                source.prepare()
            left = text.value(f"sub i32 {tiles}, {protocol.kernel_k_base}")
            trips = text.value(f"udiv i32 {left}, {protocol.k_tiles_per_iteration}")
            self._settle()
            self._start(now)
            state.loop_depth += 1
            low.pipelining = self.strict
            self._phases(trips)
            state.loop_depth -= 1
            low.pipelining = False
            done = text.value(f"mul i32 {trips}, {protocol.k_tiles_per_iteration}")
            done = text.value(f"add i32 {done}, {protocol.kernel_k_base}")
            done = text.value(f"mul i32 {done}, {self.step}")
            position = text.value(f"add i32 {self.first}, {done}")
            ends = {}
            for own in self.body.carried:
                name = own.carried.inside.name
                made = self._whole(own, now[name].layout)
                ends[name] = low.parts_like(made, now[name])
            low.spans = spans
            after = text.block
            text.add(f"br label %{rest}")
            text.label(rest)
        state.touched = touched | {(r.start, r.start + r.size, True) for r in self.regions.values()}
        joined = {}
        for name, begin in starts.items():
            rows = zip(low.part_types(now[name]), begin, ends[name], strict=True)
            names = [
                text.value(f"phi {kind} [ {a}, %{before} ], [ {b}, %{after} ]")
                for kind, a, b in rows
            ]
            joined[name] = low.from_parts(now[name], names)
        at = text.value(f"phi i32 [ {self.first}, %{before} ], [ {position}, %{after} ]")
        state.new_section()
        return joined, at

    def _test(self, tiles: str, stored: _Stored) -> str:
        """Whether the pipelined part may run for so many steps."""
        text = self.text
        least = self.plan.document.protocol.kernel_k_base
        test = text.value(f"icmp uge i32 {tiles}, {least}")
        for transfer in self.body.transfers:
            if transfer.load is None:
                continue
            source = transfers.Source(self.low, self.op, transfer, self.first, self.step)
            self.sources[transfer.channel] = source
            for condition in source.conditions(tiles):
                test = text.value(f"and i1 {test}, {condition}")
        for condition in stored.conditions:
            test = text.value(f"and i1 {test}, {condition}")
        return test

    def _stored(self) -> _Stored:
        """Stores of the loop write whole tiles: what must hold for that."""
        low, found = self.low, _Stored([], {})
        for store in (op for op in self.op.body if isinstance(op, ir.Store)):
            for at in store.at:
                if at.var is None or low.is_number(at.var) or at.var == self.op.var:
                    continue
                span, extent = low.spans[at.var], low.plan.extents[at.var]
                if at.var not in found.spans and span.limit != str(extent):
                    test = self.text.value(f"icmp eq i32 {span.limit}, {extent}")
                    found.conditions.append(test)
                found.spans[at.var] = low.whole_span(span.position, extent)
            if not store.add:
                last = store.at[-1].var
                place = self.first if last == self.op.var else low.spans[str(last)].position
                found.conditions.extend(memory.wide_enough(low, store, place))
        return found

    def _settle(self) -> None:
        """Arguments are fetched by now and not where they are used: a scalar load in flight would
        make every count of LDS accesses meaningless.
        """
        forms = {"pointer": "ptr addrspace(1)", "i64": "i64", "i32": "i32", "f32": "float"}
        for argument in self.low.signature.arguments:
            self.text.add(
                f'call void asm sideeffect "", "s"({forms[argument.kind]} %{argument.name})'
            )

    def _start(self, now: dict[str, Fragment]) -> None:
        """Pieces of what carried values are before the first step."""
        for own in self.body.carried:
            whole = now[own.carried.inside.name]
            for key, home in zip(own.keys, own.homes, strict=True):
                self.held[home] = self._kept(self._slice([whole], key[1], whole.dtype))

    def _whole(self, own: CarriedPieces, layout: Layout) -> Fragment:
        """A carried value of its pieces."""
        pieces = [self._fragment(self.held[h]) for h in own.homes]
        return self._slice(pieces, layout, own.carried.inside.dtype)

    # Phases.

    def pin(self) -> None:
        """Nothing moves across this point."""
        self.text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")

    def _phases(self, trips: str) -> None:
        text, state, document = self.text, self.low.state, self.plan.document
        guard, loop, drain = (state.new_label(n) for n in ("guard", "loop", "drain"))
        self._prologue()
        before, filled = dict(self.held), Counter(self.runs)
        self.pin()
        text.add(f"br label %{guard}")
        text.label(guard)
        enter = text.value(f"icmp sgt i32 {trips}, 0")
        text.add(f"br i1 {enter}, label %{loop}, label %{drain}")
        text.label(loop)
        self.turn = f"%{loop}_turn"
        at = len(text.lines)
        carried = [h for h in self._read_first(document.kernel) if h in before]
        for n, home in enumerate(carried):
            own = before[home]
            self.held[home] = own.renamed([f"%{loop}_h{n}_{i}" for i in range(len(own.names))])
        inner = {h: self.held[h] for h in carried}
        self._phase(document.kernel)
        self.pin()
        following = text.value(f"add i32 {self.turn}, 1")
        again = text.value(f"icmp slt i32 {following}, {trips}")
        after = text.block
        text.add(f"br i1 {again}, label %{loop}, label %{drain}")
        phis = [f"  {self.turn} = phi i32 [ 0, %{guard} ], [ {following}, %{after} ]"]
        for home in carried:
            rows = zip(
                inner[home].names, before[home].kinds, before[home].names, self.held[home].names,
                strict=True,
            )  # fmt: skip
            phis += [
                f"  {name} = phi {kind} [ {a}, %{guard} ], [ {b}, %{after} ]"
                for name, kind, a, b in rows
            ]
        text.lines[at:at] = phis
        text.label(drain)
        lasts = {
            self.body.homes[o.value]
            for op in self.body.flow.ops
            if op.role == STORE
            for o in op.operands
        }
        for home in sorted(self._read_first(document.epilogue) | lasts):
            own, first = self.held[home], before.get(home)
            if first is not None and first.names == own.names:
                continue
            old = first.names if first is not None else ("poison",) * len(own.names)
            self.held[home] = own.renamed(
                [
                    text.value(f"phi {kind} [ {a}, %{guard} ], [ {b}, %{after} ]")
                    for kind, a, b in zip(own.kinds, old, own.names, strict=True)
                ]
            )
        self.runs = filled
        self.turn = trips
        self._phase(document.epilogue)
        emit_tail_barriers(self, self._group())  # type: ignore[arg-type]
        self.pin()

    def _prologue(self) -> None:
        """Where groups of waves take turns the later ones fall behind in it."""
        document = self.plan.document
        at = document.protocol.stagger_index
        self._phase(document.prologue[:at])
        if at is not None:
            emit_stagger(self, self._group())  # type: ignore[arg-type]
            self._phase(document.prologue[at:])

    def _group(self) -> str:
        """Which group of waves one's own is."""
        each = self.plan.document.protocol.waves_per_group
        return self.low.state.at_entry(("wave group", each), f"udiv i32 %wave, {each}")

    def _read_first(self, entries: tuple[ScheduleEntry, ...]) -> set[str]:
        """Homes of registers that a phase reads before it writes them."""
        found: dict[str, None] = {}
        written: set[str] = set()
        slots = {f"{t.channel}.0" for t in self.body.transfers}
        for entry in entries:
            op = self.by_key.get((entry.op.name, entry.op.subtile))
            if op is not None:
                for taken in op.takes:
                    home = self.body.homes[taken.value]
                    if home not in written and home not in slots:
                        found[home] = None
                written |= {self.body.homes[v] for v in op.makes}
        return set(found)

    def _phase(self, entries: tuple[ScheduleEntry, ...]) -> None:
        for entry in entries:
            self.text.comment(entry.op.label())
            sync = SYNC.get(int(entry.op.tag))
            if sync is not None:
                sync(self, entry.op)  # type: ignore[arg-type]
                continue
            with self.low.state.scope():
                self._data(self.by_key[entry.op.name, entry.op.subtile], entry.op)

    def _data(self, op: BodyOp, desc: OpDesc) -> None:
        number = self._iteration(op)
        match op.role:
            case OpRole.GLOBAL_LOAD:
                self._load(op, desc, number)
            case OpRole.FRAGMENT_LOAD:
                self._read(op, desc)
            case OpRole.COMPUTE:
                self._multiply(op)
            case OpRole.SHARED_STORE:
                self._write(op, desc)
            case _ if op.store is not None:
                self._store(op, number)
            case _ if op.picks:
                self._pick(op)
            case _:
                self._vector(op, number)

    def _iteration(self, op: BodyOp) -> str:
        """Which step of the loop this run of an op belongs to."""
        number = self.runs[op.name, op.index]
        self.runs[op.name, op.index] += 1
        if not self.turn:
            return str(number)
        per = self.plan.document.protocol.k_tiles_per_iteration
        return self.text.sum(self.text.times(self.turn, per), number)

    # Tiles.

    def _load(self, op: BodyOp, desc: OpDesc, number: str) -> None:
        transfer, text = op.transfer, self.text
        assert transfer is not None
        source = self.sources[transfer.channel]
        along, resource = source.at_step(number), source.resource
        if transfer.picked:
            (taken,) = op.takes
            resource = source.picked(self.held[self.body.homes[taken.value]].names[0])
        share = self.low.state.at_entry(
            ("share", transfer.moved), f"mul i32 %wave, {64 * transfer.moved}"
        )
        for i in range(transfer.instructions):
            offset, more = source.place(i)
            total = text.value(f"add i32 {along}, {more}") if more != "0" else along
            self.pin()
            start = desc.stage * transfer.slot_bytes + i * transfer.threads * transfer.moved
            slot = self.low.state.lds(self.regions[transfer.channel], str(start))
            to = text.value(f"getelementptr inbounds i8, ptr addrspace(3) {slot}, i32 {share}")
            text.add(
                "call void @llvm.amdgcn.raw.ptr.buffer.load.lds("
                f"ptr addrspace(8) {resource}, ptr addrspace(3) {to}, "
                f"i32 {transfer.moved}, i32 {offset}, i32 {total}, i32 0, i32 0){DMA_SCOPE}"
            )

    def _read(self, op: BodyOp, desc: OpDesc) -> None:
        transfer, text = op.transfer, self.text
        assert transfer is not None
        ((name, layout),) = op.made
        dtype = self.low.plan.values[name].dtype
        kinds, names, each = [], [], 1
        for read in transfers.reads(self.low, transfer, layout):
            self.pin()
            start = desc.stage * transfer.slot_bytes + read.offset
            at = self._in_lds(self.regions[transfer.channel], read.lane, start)
            if read.turned:
                four = text.value(
                    f"call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3) {at})"
                    f"{READ_SCOPE}"
                )
                kind, made = "<2 x i32>", text.value(f"bitcast <4 x i16> {four} to <2 x i32>")
            else:
                kind = read.kind
                made = text.value(
                    f"load {kind}, ptr addrspace(3) {at}, align {read.size}{READ_SCOPE}"
                )
            kinds.append(kind)
            names.append(made)
            each = read.elements
        per = transfer.per if transfer.wide else 1
        self.held[self.body.homes[op.makes[0]]] = Held(
            layout, dtype, tuple(kinds), tuple(names), each, per
        )

    def _write(self, op: BodyOp, desc: OpDesc) -> None:
        """A computed tile to LDS, each wave its part, runs of accumulators at a time."""
        low, text, transfer = self.low, self.text, op.transfer
        assert transfer is not None
        form = f"<{STORED} x {memory_type(transfer.value.dtype)}>"
        for taken in op.takes:
            held = self.held[self.body.homes[taken.value]]
            frag = self._fragment(held)
            (_, rows), (_, columns) = held.layout
            for start in range(0, count_of(held.layout), STORED):
                r, c = divmod(start, columns.count)
                bits = low.stored_vector(frag, start, STORED, transfer.value.dtype)
                if bits is None:
                    values = [low.element(frag, start + i) for i in range(STORED)]
                    bits = narrow_vector(text, values, transfer.value.dtype)
                lane, more = transfers.written_at(
                    low, transfer, held.layout, rows.offsets[r], columns.offsets[c]
                )
                more += desc.stage * transfer.slot_bytes
                self.pin()
                at = self._in_lds(self.regions[transfer.channel], lane, more)
                text.add(
                    f"store {form} {bits}, ptr addrspace(3) {at}, align {2 * STORED}{READ_SCOPE}"
                )

    def _pick(self, op: BodyOp) -> None:
        """A number that lanes have read, in a scalar register."""
        self.pin()
        (taken,) = op.takes
        held = self.held[self.body.homes[taken.value]]
        name = self.low.first_lane(held.names[0])
        self.held[self.body.homes[op.makes[0]]] = Held((), held.dtype, ("i32",), (name,), 1)
        self.pin()

    def _in_lds(self, region: Region, lane: str, start: int) -> str:
        """A lane's address. What an instruction can add itself is left to it."""
        far = region.start + start - start % REACH
        if far:
            lane = self.low.state.at_entry(("far", lane, far), f"add i32 {lane}, {far}")
        at = self.text.value(f"getelementptr i8, ptr addrspace(3) @lds, i32 {lane}")
        return self.text.value(
            f"getelementptr inbounds i8, ptr addrspace(3) {at}, i32 {start % REACH}"
        )

    def _store(self, op: BodyOp, number: str) -> None:
        """A piece of a tile to memory."""
        assert op.store is not None
        self.pin()
        self._at_step(number)
        (taken,) = op.takes
        held = self.held[self.body.homes[taken.value]]
        memory.store_piece(self.low, op.store, self._fragment(held), self.pin)
        self.pin()

    # Products.

    def _multiply(self, op: BodyOp) -> None:
        product, text = op.product, self.text
        assert product is not None
        matrix = product.matrix
        ((name, piece),) = op.made
        (_, lanes), (_, registers) = piece
        sides: dict[str, Wanted] = {}
        start: Held | None = None
        for want in op.wants:
            rows = want.key[1][0][0]
            if want.key[1] == piece:
                start = self.held[self.body.homes[op.takes[want.sources[0]].value]]
            else:
                sides[rows] = want
        own = self.held.get(self.body.homes[op.makes[0]])
        chained = [t for t in op.takes if self.body.homes[t.value] == self.body.homes[op.makes[0]]]
        if start is None and chained:
            start = own
        across = registers.count // 4
        sums = list(start.names) if start is not None else []
        sums = sums or ["zeroinitializer"] * (lanes.count * across)
        count = matrix.k // 4
        along = sides[product.lane].key[1][1][1]
        kind = matrix.cast or matrix.operand
        operands: dict[tuple[str, int, int], str] = {}

        def operand(var: str, tile: int, step: int) -> str:
            if (var, tile, step) not in operands:
                operands[var, tile, step] = self._operand(op, sides[var], tile, step * count, count)
            return operands[var, tile, step]

        for step in range(along.count // count):
            for i in range(lanes.count):
                for j in range(across):
                    left, right = operand(product.register, j, step), operand(product.lane, i, step)
                    self.pin()
                    at = i * across + j
                    sums[at] = text.value(
                        f"call <4 x float> @{matrix.intrinsic}({kind} {left}, {kind} {right}, "
                        f"<4 x float> {sums[at]}, {matrix.last})"
                    )
        kinds = ("<4 x float>",) * len(sums)
        self.held[self.body.homes[op.makes[0]]] = Held(piece, DType.F32, kinds, tuple(sums), 4)
        assert name

    def _operand(self, op: BodyOp, want: Wanted, tile: int, at: int, count: int) -> str:
        """So many elements of K of one matrix instruction's rows, as the instruction takes them."""
        assert op.product is not None
        (row, rows), (k, along) = want.key[1]
        matrix = op.product.matrix
        words: list[tuple[str, str]] = []
        wanted = along.offsets[at : at + count]
        if not want.sources:
            start = tile * along.count + at
            words = [
                w
                for first, n, w in self.low.operand_words(*want.key)
                if start <= first < start + count and n
            ]
        else:
            for source in want.sources:
                taken = op.takes[source]
                held = self.held[self.body.homes[taken.value]]
                maps = dict(held.layout)
                if rows.offsets[tile] not in maps[row].offsets:
                    continue
                r, columns = maps[row].offsets.index(rows.offsets[tile]), maps[k].offsets
                for n, kind, name in zip(range(10**6), held.kinds, held.names, strict=False):
                    element = n * held.each
                    if element // len(columns) == r and columns[element % len(columns)] in wanted:
                        words.append((kind, name))
        return self._as_operand(words, matrix.operand, matrix.cast)

    def _as_operand(self, words: list[tuple[str, str]], form: str, cast: str) -> str:
        text = self.text
        kind, made = words[0]
        for more, name in words[1:]:
            have, add = _width(kind), _width(more)
            if have != add:
                message = f"operands of {have} and {add} words"
                raise AssertionError(message)
            order = ", ".join(f"i32 {i}" for i in range(have + add))
            made = text.value(
                f"shufflevector {kind} {made}, {more} {name}, <{have + add} x i32> <{order}>"
            )
            kind = f"<{have + add} x i32>"
        if kind != form:
            made = text.value(f"bitcast {kind} {made} to {form}")
        return text.value(f"bitcast {form} {made} to {cast}") if cast else made

    # Vector work.

    def _at_step(self, number: str) -> None:
        """The loop's variable stands at a step."""
        text = self.text
        if number.isdigit() and self.first.isdigit():
            place = str(int(self.first) + int(number) * self.step)
        else:
            place = text.value(f"add i32 {self.first}, {text.times(number, self.step)}")
        self.low.spans[self.op.var] = self.low.whole_span(place, self.step)

    def _vector(self, op: BodyOp, number: str) -> None:
        low = self.low
        self.pin()
        self._at_step(number)
        for want in op.wants:
            if want.sources:
                pieces = [
                    self._fragment(self.held[self.body.homes[op.takes[s].value]])
                    for s in want.sources
                ]
                name, layout = want.key
                dtype = low.plan.values[name].dtype
                low.state.keep(want.key, self._slice(pieces, layout, dtype))
        for step in op.steps:
            if isinstance(step, ir.Reduce):
                layout = restricted(op.piece, low.plan.values[step.arg].vars)
                made = reduce.reduced(low, step, layout)
                low.state.keep((step.result.name, made.layout), made)
        found = {}
        for value, (name, layout) in zip(op.makes, op.made, strict=True):
            frag = low.get(name, layout)
            found[self.body.homes[value]] = self._kept(frag, low.plan.values[name].dtype)
        self.held |= found
        self.pin()

    # Registers.

    def _kept(self, frag: Fragment, dtype: DType | None = None) -> Held:
        """A value in registers that a loop can carry."""
        low, text = self.low, self.text
        dtype = frag.dtype if dtype is None else dtype
        count, run = count_of(frag.layout), run_of(frag.layout)
        if dtype in NARROW and len(frag.layout) == 2:
            each = min(32 // dtype.bits * 4, run if run >= 8 else 8)
            kind = f"<{each * dtype.bits // 32} x i32>"
            names = []
            for start in range(0, count, each):
                values = [low.element(frag, start + i) for i in range(each)]
                made = narrow_vector(text, values, dtype)
                names.append(
                    text.value(f"bitcast <{each} x {memory_type(dtype)}> {made} to {kind}")
                )
            return Held(frag.layout, dtype, (kind,) * len(names), tuple(names), each)
        if dtype is DType.F32 and run % 4 == 0 and len(frag.layout) == 2:
            names = [low.vector(frag, s, 4) for s in range(0, count, 4)]
            return Held(frag.layout, dtype, ("<4 x float>",) * len(names), tuple(names), 4)
        names = [low.element(frag, i) for i in range(count)]
        return Held(frag.layout, dtype, (register_type(dtype),) * count, tuple(names), 1)

    def _fragment(self, held: Held) -> Fragment:
        """Registers as the elements of a value."""
        text, low = self.text, self.low
        if held.dtype in NARROW:
            if held.per > 1:
                return self._shared(held)
            form = memory_type(held.dtype)
            vectors = {}
            for i, (kind, name) in enumerate(zip(held.kinds, held.names, strict=True)):
                bits = text.value(f"bitcast {kind} {name} to <{held.each} x {form}>")
                vectors[i * held.each] = (bits, held.each, held.dtype)
            return packed(held.layout, held.dtype, vectors)
        if held.each == 1:
            return scalars(held.layout, held.dtype, list(held.names))
        assert low
        return packed(
            held.layout,
            held.dtype,
            {i * held.each: (n, held.each, held.dtype) for i, n in enumerate(held.names)},
        )

    def _shared(self, held: Held) -> Fragment:
        """Elements of which several neighbours are one in memory."""
        text, form = self.text, memory_type(held.dtype)
        found = []
        for kind, name in zip(held.kinds, held.names, strict=True):
            count = held.each // held.per
            bits = text.value(f"bitcast {kind} {name} to <{count} x {form}>")
            for i in range(count):
                one = text.value(f"extractelement <{count} x {form}> {bits}, i32 {i}")
                found += [self.low.widened(one, held.dtype)] * held.per
        return scalars(held.layout, held.dtype, found)

    def _slice(self, pieces: list[Fragment], layout: Layout, dtype: DType) -> Fragment:
        """A value in a layout whose elements several pieces hold."""
        if len(pieces) == 1 and pieces[0].layout == layout:
            return pieces[0]
        where: dict[tuple[int, ...], tuple[Fragment, int]] = {}
        names = [v for v, _ in layout]
        for piece in pieces:
            maps = dict(piece.layout)
            order = [v for v, _ in piece.layout]
            for n, at in enumerate(places(piece.layout)):
                offsets = {v: maps[v].offsets[i] for v, i in zip(order, at, strict=True)}
                where[tuple(offsets[v] for v in names)] = piece, n
        wanted = [
            where[tuple(m.offsets[i] for (_, m), i in zip(layout, at, strict=True))]
            for at in places(layout)
        ]
        if dtype is DType.F32 and len(layout) == 2 and run_of(layout) % 4 == 0:
            vectors = {}
            for start in range(0, len(wanted), 4):
                piece, n = wanted[start]
                made = self.low.stored_vector(piece, n, 4, DType.F32)
                if made is None:
                    values = [self.low.element(f, i) for f, i in wanted[start : start + 4]]
                    made = build_vector(self.text, values, "float")
                vectors[start] = made, 4, DType.F32
            return packed(layout, dtype, vectors)
        return scalars(layout, dtype, [self.low.element(f, i) for f, i in wanted])


def _width(kind: str) -> int:
    """Words of a register group's type."""
    return int(kind[1:].split(" ", maxsplit=1)[0]) if kind.startswith("<") else 1


__all__ = ["Key", "emit_pipelined"]
