"""A scheduled loop as instructions: guard, prologue, loop, epilogue, and what remains.

The pipelined part runs whole tiles only, as many as the schedule covers exactly. It is entered
where all of its memory accesses are aligned and inside of the tensors; otherwise, and for the
steps that are left over, the plain loop runs.

Every machine instruction of a scheduled op is pinned in its place, vector work between two pins. A
home of the schedule is a list of registers; phis carry the homes that a phase reads before it
writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.ir import BarrierKind, tile as ir
from warploom.ir.dataflow import STORE
from warploom.ir.schedule_ops import OpDesc, OpRole, ScheduleEntry, ScheduleOps
from warploom.ir.tile import DType
from warploom.ir.waves import (
    WAVE,
    Barrier,
    Chosen,
    CopyToLds,
    If,
    Instruction,
    Kept,
    Kind,
    Operand,
    Pipeline,
    Priority,
    Ring,
    Settle,
    Step,
    Wait,
    Word,
    WriteLds,
)
from warploom.passes.amdgcn import memory, reduce, transfers
from warploom.passes.amdgcn.builder import Builder
from warploom.passes.amdgcn.layout import Layout, count_of, places, run_of
from warploom.passes.amdgcn.loop_body import (
    STORED,
    BodyOp,
    CarriedPieces,
    Key,
    Wanted,
    restricted,
)
from warploom.passes.amdgcn.loop_schedule import SYNCHRONISING, LoopSchedule
from warploom.passes.amdgcn.numbers import QUAD, memory_word, register_kind
from warploom.passes.amdgcn.state import Fragment, Region, packed, scalars

if TYPE_CHECKING:
    from warploom.passes.amdgcn.lowering import Lowering, Span

REACH = 65536  # bytes an LDS access can add to its address
NARROW = (DType.BF16, DType.F16, DType.E4M3, DType.E5M2, DType.I8)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What must hold where whole tiles are stored, and the spans of their variables then."""

    conditions: list[Operand]
    spans: dict[str, Span]


@dataclass(frozen=True, slots=True)
class Held:
    """Registers that hold a value: ``parts`` of so many elements each, from ``starts`` on.

    Elements narrower than a register lie packed in words as in memory (``per``: elements of the
    layout that share one in memory); others in vectors of four, or one by one.
    """

    layout: Layout
    dtype: DType
    kinds: tuple[Kind, ...]
    names: tuple[Operand, ...]
    each: int
    per: int = 1

    def renamed(self, names: Sequence[Operand]) -> Held:
        """The same in other registers."""
        return Held(self.layout, self.dtype, self.kinds, tuple(names), self.each, self.per)


def emit_pipelined(
    low: Lowering, op: ir.Loop, schedule: LoopSchedule, now: dict[str, Fragment],
    first: Operand, end: Operand, step: int,
) -> tuple[dict[str, Fragment], Operand]:  # fmt: skip
    """The pipelined steps of a loop: carried values after them, and where the rest begins."""
    return _Pipelined(low, op, schedule, first, step).emit(now, end)


class _Pipelined:
    """Walks the phases of a document; a mirror of what every home holds."""

    def __init__(
        self, low: Lowering, op: ir.Loop, schedule: LoopSchedule, first: Operand, step: int
    ) -> None:
        self.low, self.op, self.schedule = low, op, schedule
        self.strict, low.pipelining = low.pipelining, False
        self.first, self.step = first, step
        self.body = schedule.body
        self.text: Builder = low.text
        self.document = schedule.document
        self.by_key = {(o.name, o.index): o for o in self.body.ops}
        self.held: dict[str, Held] = {}
        self.runs: Counter[tuple[str, int]] = Counter()
        self.turn: Operand = None
        self.sources: dict[int, transfers.Source] = {}
        self.regions: dict[int, Region] = {}

    # The whole.

    def emit(self, now: dict[str, Fragment], end: Operand) -> tuple[dict[str, Fragment], Operand]:
        """Guarded by what must hold for it; carried values and position join after it."""
        low, text, state = self.low, self.text, self.low.state
        protocol = self.document.protocol
        starts = {c.inside.name: low.parts_of(now[c.inside.name]) for c in self.op.carried}
        length = text.integer("sub", end, self.first)
        length = text.integer("smax", length, 0)
        tiles = text.integer("udiv", length, self.step)
        with state.scope():
            copies = self.schedule.copies
            for transfer in self.body.transfers:
                region = state.allocate(copies[transfer.channel] * transfer.slot_bytes)
                self.regions[transfer.channel] = region
            stored = self._stored()
            test = self._test(tiles, stored)
            outer = text.open()
            spans = dict(low.spans)
            low.spans |= stored.spans
            touched = state.touched
            state.touch(*self.regions.values(), write=True)
            for source in self.sources.values():
                source.prepare()
            left = text.integer("sub", tiles, protocol.kernel_k_base)
            trips = text.integer("udiv", left, protocol.k_tiles_per_iteration)
            # Arguments are fetched by now and not where they are used: a scalar load in flight
            # would make every count of LDS accesses meaningless.
            text.add(Settle())
            self._start(now)
            state.loop_depth += 1
            low.pipelining = self.strict
            self._phases(trips)
            state.loop_depth -= 1
            low.pipelining = False
            done = text.integer("mul", trips, protocol.k_tiles_per_iteration)
            done = text.integer("add", done, protocol.kernel_k_base)
            done = text.integer("mul", done, self.step)
            position = text.integer("add", self.first, done)
            ends = {}
            for own in self.body.carried:
                name = own.carried.inside.name
                made = self._whole(own, now[name].layout)
                ends[name] = low.parts_like(made, now[name])
            low.spans = spans
            inner = text.close(outer)
        state.touched = touched | {(r.start, r.start + r.size, True) for r in self.regions.values()}
        joined, results = {}, []
        for name, begin in starts.items():
            rows = zip(low.part_types(now[name]), begin, ends[name], strict=True)
            own_results = [Chosen(text.name(), kind, b, a) for kind, a, b in rows]
            results += own_results
            joined[name] = low.from_parts(now[name], [r.name for r in own_results])
        at = Chosen(text.name(), Kind(Word.I32), position, self.first)
        text.add(If(test, tuple(inner), None, (*results, at)))
        state.new_section()
        return joined, at.name

    def _test(self, tiles: Operand, stored: _Stored) -> Operand:
        """Whether the pipelined part may run for so many steps."""
        text = self.text
        test = text.compare("uge", tiles, self.document.protocol.kernel_k_base)
        for transfer in self.body.transfers:
            if transfer.load is None:
                continue
            source = transfers.Source(self.low, self.op, transfer, self.first, self.step)
            self.sources[transfer.channel] = source
            for condition in source.conditions(tiles):
                test = text.truth("and", test, condition)
        for condition in stored.conditions:
            test = text.truth("and", test, condition)
        return test

    def _stored(self) -> _Stored:
        """Stores of the loop write whole tiles: what must hold for that."""
        low, result = self.low, _Stored([], {})
        for store in (op for op in self.op.body if isinstance(op, ir.Store)):
            for at in store.at:
                if at.var is None or low.is_number(at.var) or at.var == self.op.var:
                    continue
                span, extent = low.spans[at.var], low.plan.extents[at.var]
                if at.var not in result.spans and span.limit != extent:
                    result.conditions.append(self.text.compare("eq", span.limit, extent))
                result.spans[at.var] = low.whole_span(span.position, extent)
            if not store.add:
                last = store.at[-1].var
                place = self.first if last == self.op.var else low.spans[str(last)].position
                result.conditions.extend(memory.wide_enough(low, store, place))
        return result

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
        self.text.pin()

    def _phases(self, trips: Operand) -> None:
        text, document = self.text, self.document
        loop = text.name()
        outer = text.open()
        self._prologue()
        before, filled = dict(self.held), Counter(self.runs)
        self.pin()
        prologue = text.close(outer)
        self.turn = f"{loop}_turn"
        counter = self.turn
        carried = [h for h in self._read_first(document.kernel) if h in before]
        for n, home in enumerate(carried):
            own = before[home]
            self.held[home] = own.renamed([f"{loop}_h{n}_{i}" for i in range(len(own.names))])
        inner = {h: self.held[h] for h in carried}
        outer = text.open()
        self._phase(document.kernel)
        self.pin()
        kernel = text.close(outer)
        kept = []
        for home in carried:
            rows = zip(
                inner[home].names, before[home].kinds, before[home].names, self.held[home].names,
                strict=True,
            )  # fmt: skip
            kept += [Kept(str(name), kind, a, b) for name, kind, a, b in rows]
        lasts = {
            self.body.homes[o.value]
            for op in self.body.flow.ops
            if op.role == STORE
            for o in op.operands
        }
        results: list[Chosen] = []
        for home in sorted(set(self._read_first(document.epilogue)) | lasts):
            own, first = self.held[home], before.get(home)
            if first is not None and first.names == own.names:
                continue
            old = first.names if first is not None else (None,) * len(own.names)
            made = [
                Chosen(text.name(), kind, b, a)
                for kind, a, b in zip(own.kinds, old, own.names, strict=True)
            ]
            results += made
            self.held[home] = own.renamed([r.name for r in made])
        self.runs = filled
        self.turn = trips
        outer = text.open()
        self._phase(document.epilogue)
        self._behind()
        self.pin()
        epilogue = text.close(outer)
        text.add(
            Pipeline(
                name=document.name,
                axis=self.schedule.axis,
                strategy=document.strategy,
                trips=trips,
                counter=counter,
                rings=self._rings(),
                prologue=tuple(prologue),
                carried=tuple(kept),
                kernel=tuple(kernel),
                results=tuple(results),
                epilogue=tuple(epilogue),
                protocol=document.protocol,
                counters=document.counters,
                shape=document.shape,
                flow=document.flow,
                machine=document.machine,
            )
        )

    def _rings(self) -> tuple[Ring, ...]:
        return tuple(
            Ring(
                channel=t.channel,
                name=t.value.name,
                at=self.regions[t.channel].start,
                bytes=t.slot_bytes,
                stages=self.schedule.copies[t.channel],
            )
            for t in self.body.transfers
        )

    def _prologue(self) -> None:
        """Where groups of waves take turns the later ones fall behind in it."""
        document = self.document
        at = document.protocol.stagger_index
        self._phase(document.prologue[:at])
        if at is not None:
            groups = document.protocol.groups
            for extra in range(1, groups):
                self._barrier_of({g for g in range(groups) if g >= extra})
            self._phase(document.prologue[at:])

    def _behind(self) -> None:
        """The groups in front wait for those behind."""
        tail = self.document.protocol.tail_barriers
        for extra in range(1, max(tail) + 1):
            self._barrier_of({g for g, t in enumerate(tail) if t >= extra})

    def _barrier_of(self, groups: set[int]) -> None:
        """A barrier that only the waves of some groups execute."""
        text, each = self.text, self.document.protocol.waves_per_group
        own = self.low.state.at_entry(("wave group", each), "udiv", WAVE, each)
        bit = text.integer("lshr", sum(1 << g for g in groups), own)
        bit = text.integer("and", bit, 1)
        test = text.compare("ne", bit, 0)
        self.pin()
        outer = text.open()
        self._barrier()
        text.add(If(test, tuple(text.close(outer))))

    def _barrier(self) -> None:
        """A barrier of the workgroup; a fencing one drains the wave's own queues first."""
        if self.document.protocol.barrier is BarrierKind.FENCING:
            self.pin()
            self.text.add(Wait(0, 0))
        self.pin()
        self.text.add(Barrier())

    def _synchronise(self, op: OpDesc) -> None:
        match op.tag:
            case ScheduleOps.BARRIER:
                self._barrier()
            case ScheduleOps.WAIT_VM:
                self.pin()
                self.text.add(Wait(vm=op.wait_value))
            case ScheduleOps.WAIT_LGKM:
                self.pin()
                self.text.add(Wait(lgkm=op.wait_value))
            case ScheduleOps.SET_PRIO:
                self.pin()
                self.text.add(Priority(op.wait_value))
            case ScheduleOps.SCHEDULE_BARRIER:
                self.pin()
            case _:  # a hint to a scheduler that may not move anything
                pass

    def _read_first(self, entries: tuple[ScheduleEntry, ...]) -> list[str]:
        """Homes of registers that a phase reads before it writes them."""
        found: set[str] = set()
        written: set[str] = set()
        slots = {f"{t.channel}.0" for t in self.body.transfers}
        for entry in entries:
            op = self.by_key.get((entry.op.name, entry.op.subtile))
            if op is not None:
                for taken in op.takes:
                    home = self.body.homes[taken.value]
                    if home not in written and home not in slots:
                        found.add(home)
                written |= {self.body.homes[v] for v in op.makes}
        return sorted(found)

    def _phase(self, entries: tuple[ScheduleEntry, ...]) -> None:
        for entry in entries:
            outer = self.text.open()
            if entry.op.role in SYNCHRONISING:
                self._synchronise(entry.op)
            else:
                with self.low.state.scope():
                    self._data(self.by_key[entry.op.name, entry.op.subtile], entry.op)
            self.text.add(_step(entry, self.text.close(outer)))

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

    def _iteration(self, op: BodyOp) -> Operand:
        """Which step of the loop this run of an op belongs to."""
        number = self.runs[op.name, op.index]
        self.runs[op.name, op.index] += 1
        if self.turn is None:
            return number
        per = self.document.protocol.k_tiles_per_iteration
        return self.text.sum(self.text.times(self.turn, per), number)

    # Tiles.

    def _load(self, op: BodyOp, desc: OpDesc, number: Operand) -> None:
        transfer, text = op.transfer, self.text
        assert transfer is not None
        source = self.sources[transfer.channel]
        along, buffer = source.at_step(number), source.resource
        if transfer.picked:
            (taken,) = op.takes
            buffer = source.picked(self.held[self.body.homes[taken.value]].names[0])
        share = self.low.state.at_entry(("share", transfer.moved), "mul", WAVE, 64 * transfer.moved)
        for i in range(transfer.instructions):
            offset, more = source.place(i)
            total = text.integer("add", along, more) if more != 0 else along
            self.pin()
            start = desc.stage * transfer.slot_bytes + i * transfer.threads * transfer.moved
            start += self.regions[transfer.channel].start
            text.add(
                CopyToLds(
                    buffer, source.tensor.name, transfer.moved, offset, total, transfer.channel,
                    desc.stage, start, share,
                )
            )  # fmt: skip

    def _read(self, op: BodyOp, desc: OpDesc) -> None:
        transfer, text = op.transfer, self.text
        assert transfer is not None
        ((name, layout),) = op.made
        dtype = self.low.plan.values[name].dtype
        kinds: list[Kind] = []
        names: list[Operand] = []
        each = 1
        for read in transfers.reads(self.low, transfer, layout):
            self.pin()
            start = desc.stage * transfer.slot_bytes + read.offset
            lane, at = self._in_lds(self.regions[transfer.channel], read.lane, start)
            made = text.read(
                read.kind, lane, at, read.size, ring=transfer.channel, stage=desc.stage,
                turned=read.turned,
            )  # fmt: skip
            kinds.append(read.kind)
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
        form = Kind(memory_word(transfer.value.dtype), STORED)
        for taken in op.takes:
            held = self.held[self.body.homes[taken.value]]
            frag = self._fragment(held)
            (_, rows), (_, columns) = held.layout
            for start in range(0, count_of(held.layout), STORED):
                r, c = divmod(start, columns.count)
                bits = low.stored_vector(frag, start, STORED, transfer.value.dtype)
                if bits is None:
                    values = [low.element(frag, start + i) for i in range(STORED)]
                    bits = text.encode_all(values, transfer.value.dtype)
                lane, more = transfers.written_at(
                    low, transfer, held.layout, rows.offsets[r], columns.offsets[c]
                )
                more += desc.stage * transfer.slot_bytes
                self.pin()
                far, at = self._in_lds(self.regions[transfer.channel], lane, more)
                text.add(WriteLds(bits, form, far, at, 2 * STORED, transfer.channel, desc.stage))

    def _pick(self, op: BodyOp) -> None:
        """A number that lanes have read, in a scalar register."""
        self.pin()
        (taken,) = op.takes
        held = self.held[self.body.homes[taken.value]]
        name = self.low.first_lane(held.names[0])
        self.held[self.body.homes[op.makes[0]]] = Held(
            (), held.dtype, (Kind(Word.I32),), (name,), 1
        )
        self.pin()

    def _in_lds(self, region: Region, lane: Operand, start: int) -> tuple[Operand, int]:
        """A lane's byte. What an instruction can add itself is left to it."""
        far = region.start + start - start % REACH
        if far:
            lane = self.low.state.at_entry(("far", lane, far), "add", lane, far)
        return lane, start % REACH

    def _store(self, op: BodyOp, number: Operand) -> None:
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
        sums: list[Operand] = list(start.names) if start is not None else []
        sums = sums or [0] * (lanes.count * across)
        count = matrix.k // 4
        along = sides[product.lane].key[1][1][1]
        operands: dict[tuple[str, int, int], Operand] = {}

        def operand(var: str, tile: int, step: int) -> Operand:
            if (var, tile, step) not in operands:
                operands[var, tile, step] = self._operand(op, sides[var], tile, step * count, count)
            return operands[var, tile, step]

        for step in range(along.count // count):
            for i in range(lanes.count):
                for j in range(across):
                    left, right = operand(product.register, j, step), operand(product.lane, i, step)
                    self.pin()
                    at = i * across + j
                    sums[at] = text.multiply(matrix.op, left, right, sums[at])
        kinds = (QUAD,) * len(sums)
        self.held[self.body.homes[op.makes[0]]] = Held(piece, DType.F32, kinds, tuple(sums), 4)
        assert name

    def _operand(self, op: BodyOp, want: Wanted, tile: int, at: int, count: int) -> Operand:
        """So many elements of K of one matrix instruction's rows, as the instruction takes them."""
        assert op.product is not None
        (row, rows), (k, along) = want.key[1]
        matrix = op.product.matrix
        words: list[tuple[Kind, Operand]] = []
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

    def _as_operand(
        self, words: list[tuple[Kind, Operand]], form: Kind, cast: Kind | None
    ) -> Operand:
        text = self.text
        kind, made = words[0]
        for more, name in words[1:]:
            if kind.count != more.count:
                message = f"operands of {kind.count} and {more.count} words"
                raise AssertionError(message)
            made = text.joined(made, name, kind, more)
            kind = Kind(Word.I32, kind.count + more.count)
        if kind != form:
            made = text.cast(made, kind, form)
        return made if cast is None else text.cast(made, form, cast)

    # Vector work.

    def _at_step(self, number: Operand) -> None:
        """The loop's variable stands at a step."""
        text = self.text
        place: Operand
        if isinstance(number, int) and isinstance(self.first, int):
            place = self.first + number * self.step
        else:
            place = text.integer("add", self.first, text.times(number, self.step))
        self.low.spans[self.op.var] = self.low.whole_span(place, self.step)

    def _vector(self, op: BodyOp, number: Operand) -> None:
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
            kind = Kind(Word.I32, each * dtype.bits // 32)
            names: list[Operand] = []
            for start in range(0, count, each):
                values = [low.element(frag, start + i) for i in range(each)]
                made = text.encode_all(values, dtype)
                names.append(text.cast(made, Kind(memory_word(dtype), each), kind))
            return Held(frag.layout, dtype, (kind,) * len(names), tuple(names), each)
        if dtype is DType.F32 and run % 4 == 0 and len(frag.layout) == 2:
            names = [low.vector(frag, s, 4) for s in range(0, count, 4)]
            return Held(frag.layout, dtype, (QUAD,) * len(names), tuple(names), 4)
        names = [low.element(frag, i) for i in range(count)]
        return Held(frag.layout, dtype, (register_kind(dtype),) * count, tuple(names), 1)

    def _fragment(self, held: Held) -> Fragment:
        """Registers as the elements of a value."""
        text, low = self.text, self.low
        if held.dtype in NARROW:
            if held.per > 1:
                return self._shared(held)
            form = Kind(memory_word(held.dtype), held.each)
            vectors: dict[int, tuple[Operand, int, DType]] = {}
            for i, (kind, name) in enumerate(zip(held.kinds, held.names, strict=True)):
                bits = text.cast(name, kind, form)
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
        text = self.text
        found = []
        for kind, name in zip(held.kinds, held.names, strict=True):
            form = Kind(memory_word(held.dtype), held.each // held.per)
            bits = text.cast(name, kind, form)
            for i in range(form.count):
                one = text.extract(bits, form, i)
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
            vectors: dict[int, tuple[Operand, int, DType]] = {}
            for start in range(0, len(wanted), 4):
                piece, n = wanted[start]
                made = self.low.stored_vector(piece, n, 4, DType.F32)
                if made is None:
                    values = [self.low.element(f, i) for f, i in wanted[start : start + 4]]
                    made = self.text.vector(values, Word.F32)
                vectors[start] = made, 4, DType.F32
            return packed(layout, dtype, vectors)
        return scalars(layout, dtype, [self.low.element(f, i) for f, i in wanted])


def _step(entry: ScheduleEntry, body: Sequence[Instruction]) -> Step:
    """An entry of a schedule with its instructions."""
    op = entry.op
    return Step(
        tag=int(op.tag),
        name=op.name,
        role=op.role,
        resource=op.resource,
        number=op.subtile,
        channel=op.channel,
        time_slot=entry.time_slot,
        body=tuple(body),
        stage=op.stage,
        wait=op.wait_value,
        latency=op.latency,
        vgpr_def=op.vgpr_def,
        vgpr_kill=op.vgpr_kill,
        k_offset=op.k_offset,
        is_prefetch=entry.is_prefetch,
        reason=entry.reason,
    )


__all__ = ["Key", "emit_pipelined"]
