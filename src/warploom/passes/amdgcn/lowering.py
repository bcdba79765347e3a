"""``Lowering``: a tile kernel, op by op, as the program of the waves of one workgroup.

Loads, indices and pointwise work are computed where a consumer asks for them, in the layout it
asks for; products, reductions and loops are computed in place. Control flow is the same for all
waves of a workgroup, so a barrier may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from warploom.ir import tile as ir
from warploom.ir.tile import DType, Op, Tensor, Walk, is_number
from warploom.ir.waves import AddressBits, Chosen, If, Kept, Kind, Operand, While, Word
from warploom.passes.amdgcn import memory, pipelined, prefetching, products, reduce
from warploom.passes.amdgcn.builder import Body, Builder
from warploom.passes.amdgcn.errors import refuse
from warploom.passes.amdgcn.layout import LANES, MFMA, AxisMap, Layout, places, run_of
from warploom.passes.amdgcn.loop_body import UnscheduledError
from warploom.passes.amdgcn.loop_schedule import LoopSchedule
from warploom.passes.amdgcn.numbers import PAIRED, QUAD, WHOLE, memory_word, register_kind
from warploom.passes.amdgcn.plan import TilePlan
from warploom.passes.amdgcn.signature import Signature
from warploom.passes.amdgcn.state import (
    Fragment,
    Region,
    SavedState,
    State,
    packed,
    scalars,
)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a variable stands: its first element, and how many there are from it on."""

    position: Operand
    limit: Operand


@dataclass(frozen=True, slots=True)
class Saved:
    """Everything to which a lowering can go back."""

    state: SavedState
    fragments: dict[str, Fragment]
    spans: dict[str, Span]


class Lowering:
    """One kernel being lowered. Mutable; lives for one emission."""

    def __init__(
        self, plan: TilePlan, signature: Signature, *, reuse: bool, prefetch: bool,
        schedules: Mapping[int, LoopSchedule] | None = None,
    ) -> None:  # fmt: skip
        self.plan, self.signature = plan, signature
        self.stopped: Operand = None  # whether the list of steps before went on to its end
        self.schedules = schedules or {}  # by the place of a loop among the kernel's ops
        self.pipelining = False  # nothing but scheduled accesses may be emitted
        self.prefetch = prefetch
        self.prefetched = 0  # tiles that are loaded one step ahead
        self.pipelined = 0  # loops with a schedule
        self.requests: dict[tuple[int, str, str, str], None] = {}
        self.state = State(plan, reuse=reuse)
        self.spans: dict[str, Span] = {}
        self.fragments: dict[str, Fragment] = {}
        self.whole = False

    @property
    def text(self) -> Builder:
        """The program at the present place."""
        return self.state.text

    # Values.

    def get(self, name: str, layout: Layout) -> Fragment:
        """A value in a layout of its own variables."""
        result = self.state.find((name, layout))
        if isinstance(result, Fragment):
            return result
        self.demand("value", name, layout)
        own = self.fragments.get(name)
        if own is None:
            made = self._compute(self.plan.made[name], layout)
        elif own.layout == layout:
            made = own
        else:
            made = reduce.converted(self, own, layout, self.plan.values[name].line)
        self.state.keep((name, layout), made)
        return made

    def get_over(self, name: str, layout: Layout) -> Fragment:
        """A value spread over a layout of more variables."""
        own = self.plan.values[name].vars
        part = tuple((v, m) for v, m in layout if v in own)
        frag = self.get(name, part)
        if part == layout:
            return frag
        where = [i for i, (v, _) in enumerate(layout) if v in own]
        numbers = {p: n for n, p in enumerate(places(part))}
        names = [self.element(frag, numbers[tuple(at[w] for w in where)]) for at in places(layout)]
        return scalars(layout, frag.dtype, names)

    def demand(self, *what: object) -> None:
        """Note what a loop asks of values outside it."""
        if self.state.depths.get(str(what[1]), 0) < self.state.loop_depth:
            self.state.demands[what] = None

    def satisfy(self, what: tuple[object, ...]) -> None:
        """Compute at the present place what a loop will ask for."""
        if what[0] == "value":
            self.get(str(what[1]), what[2])  # type: ignore[arg-type]
        elif what[0] == "words":
            self.operand_words(str(what[1]), what[2])  # type: ignore[arg-type]
        else:
            products.operand(self, str(what[1]), str(what[2]), str(what[3]))

    def forbid(self, what: str) -> None:
        """What a pipelined loop must not contain."""
        if self.pipelining:
            raise UnscheduledError(f"{what} stands in it")

    def operand_words(
        self, name: str, layout: Layout
    ) -> list[tuple[int, int, tuple[Kind, Operand]]]:
        """A value as an operand of matrix instructions: first element, count, type and name."""
        key = ("words", name, layout)
        result = self.state.find(key)
        if isinstance(result, list):
            return result
        self.demand("words", name, layout)
        frag, dtype = self.get(name, layout), self.plan.values[name].dtype
        run = run_of(layout)
        made: list[tuple[int, int, tuple[Kind, Operand]]] = []
        for start in range(0, len(places(layout)), run):
            bits = self.stored_vector(frag, start, run, dtype)
            if bits is None:
                values = [self.element(frag, start + i) for i in range(run)]
                bits = self.text.encode_all(values, dtype)
            kind = Kind(Word.I32, run * dtype.bits // 32)
            word = self.text.cast(bits, Kind(memory_word(dtype), run), kind)
            made.append((start, run, (kind, word)))
        self.state.keep(key, made)
        return made

    def whole_span(self, place: Operand, extent: int) -> Span:
        """The span of a tile all of whose elements exist."""
        return Span(place, extent)

    def element(self, frag: Fragment, i: int) -> Operand:
        """One element of a fragment, in a register."""
        own = frag.elements[i]
        if own is not None:
            return own
        result = self.state.find((frag, i))
        if isinstance(result, str):
            return result
        start = next(s for s, (_, n, _) in frag.vectors.items() if s <= i < s + n)
        vector, count, kind = frag.vectors[start]
        bits = self.text.extract(vector, Kind(memory_word(kind), count), i - start)
        made = self.widened(bits, kind)
        self.state.keep((frag, i), made)
        return made

    def widened(self, bits: Operand, kind: DType) -> Operand:
        """The register value of an element of memory."""
        return self.text.decode(bits, kind)

    def as_type(self, value: Operand, source: DType, to: DType) -> Operand:
        """A register value converted."""
        return self.text.convert(value, source, to)

    def vector(self, frag: Fragment, start: int, count: int) -> Operand:
        """Neighbouring f32 elements as one vector."""
        ready = self.stored_vector(frag, start, count, DType.F32)
        if ready is not None:
            return ready
        return self.text.vector([self.element(frag, start + i) for i in range(count)], Word.F32)

    def stored_vector(self, frag: Fragment, start: int, count: int, kind: DType) -> Operand:
        """Neighbours as they lie in memory, where the fragment has just them."""
        begin = next((s for s, v in frag.vectors.items() if s <= start < s + v[1]), None)
        if begin is None or count == 1:
            return None
        name, have, own = frag.vectors[begin]
        if begin + have < start + count or own is not kind:
            return None
        if have == count:
            return name
        return self.text.slice(name, Kind(memory_word(kind), have), start - begin, count)

    def _compute(self, op: Op, layout: Layout) -> Fragment:  # noqa: C901, PLR0911 (one a kind)
        match op:
            case ir.Const():
                return scalars(layout, op.result.dtype, [op.value])
            case ir.Scalar():
                return scalars(layout, op.result.dtype, [self.signature.scalar(op.parameter)])
            case ir.Size():
                tensor = self.plan.kernel.tensor(op.tensor)
                i = next(i for i, a in enumerate(tensor.axes) if a.name == op.axis)
                return scalars(layout, DType.I32, [self.axis_size(tensor, i)])
            case ir.Position():
                return scalars(layout, DType.I32, [self.spans[op.var].position])
            case ir.Whole():
                return scalars(layout, DType.BOOL, [self.whole])
            case ir.Indices():
                along = layout[0][1]
                names = [self.index(op.var, along, i) for i in range(along.count)]
                return scalars(layout, DType.I32, names)
            case ir.Broadcast():
                frag = self.get_over(op.arg, layout)
                names = [self.element(frag, i) for i in range(len(places(layout)))]
                source = self.plan.values[op.arg].dtype
                return scalars(
                    layout,
                    op.result.dtype,
                    [self.as_type(n, source, op.result.dtype) for n in names],
                )
            case ir.Transpose():
                return self.get(op.arg, layout)
            case ir.Load():
                return memory.load(self, op, layout)
            case ir.Pointwise():
                return self._pointwise(op, layout)
            case _:
                refuse(
                    getattr(getattr(op, "result", None), "line", None),
                    f"{type(op).__name__.lower()} here",
                    why="it has no lowering",
                    fix="another form of the kernel",
                )

    def _pointwise(self, op: ir.Pointwise, layout: Layout) -> Fragment:
        args = [self.get_over(a, layout) for a in op.args]
        kinds = [self.plan.values[a].dtype for a in op.args]
        count = len(places(layout))
        if op.fn in PAIRED and count % 2 == 0 and {op.result.dtype, *kinds} == {DType.F32}:
            pairs: dict[int, tuple[Operand, int, DType]] = {
                i: (self.text.pair(op.fn, *(self.vector(a, i, 2) for a in args)), 2, DType.F32)
                for i in range(0, count, 2)
            }
            return packed(layout, DType.F32, pairs)
        if op.code is not None:
            if not op.code.amdgcn:
                refuse(
                    op.result.line,
                    f"inline function '{op.code.name}' without code for it",
                    why="it is written for other targets alone",
                    fix='@wl.inline(ptx="...", amdgcn="v_exp_f32 {out}, {x}")',
                )
            made = [
                self.text.inline(op, [self.element(a, i) for a in args], kinds)
                for i in range(count)
            ]
            return scalars(layout, op.result.dtype, made)
        names = [
            self.text.function(op.fn, [self.element(a, i) for a in args], kinds, op.result.dtype)
            for i in range(len(places(layout)))
        ]
        return scalars(layout, op.result.dtype, names)

    # Ops in place.

    def ops(self, ops: tuple[Op, ...]) -> None:
        """Lower ops in order."""
        for op in ops:
            for value in ir.results(op):
                self.state.depths[value.name] = self.state.loop_depth
                _check_value(value)
            match op:
                case ir.Loop():
                    self._loop(op)
                case ir.Store():
                    memory.store(self, op)
                case ir.Dot():
                    self.fragments[op.result.name] = products.dot(self, op)
                case ir.Reduce():
                    self.fragments[op.result.name] = reduce.reduced(self, op)
                case ir.Scan():
                    self.fragments[op.result.name] = reduce.scanned(self, op)

    def _loop(self, op: ir.Loop) -> None:
        var = self.plan.kernel.var(op.var)
        step = 1 if is_number(var) else self.plan.extents[op.var]
        length = self.signature.size(var.axis)
        now = {c.inside.name: self._started(c) for c in op.carried}
        self.stopped = None
        if op.lists:
            for tiles in op.lists:
                self.whole = tiles.whole
                now = self._listed(op, tiles, step, length, now)
        else:
            first: Operand = 0
            end = length
            if op.start is not None:
                first = self._smax(self.uniform(op.start), 0)
            if op.until is not None:
                end = self._smin(self.uniform(op.until), length)
            first, end = self._seen(op, first, end, step)
            schedule = self.schedules.get(id(op))
            if schedule is not None:
                now, first = self._pipelined(op, schedule, now, first, end, step)
            now = self._steps(
                op, now, first, end, step, lambda at: Span(at, self._limit(at, end, step))
            )
        for c in op.carried:
            self.fragments[c.result.name] = now[c.inside.name]

    def _seen(
        self, op: ir.Loop, first: Operand, end: Operand, step: int
    ) -> tuple[Operand, Operand]:
        """The steps of a loop in which a tile sees anything: whole ones, so that conditions that
        hide elements need not be looked at to leave a step out.
        """
        cut = self.plan.seen.get(id(op))
        if cut is None:
            return first, end
        text = self.text
        for bound in cut.bounds:
            if abs(bound.loop) != 1:
                continue
            most: Operand = bound.constant
            if bound.rows and cut.row is not None:
                far = self.plan.extents[cut.row] - 1 if bound.rows > 0 else 0
                place = text.integer("add", self.spans[cut.row].position, far)
                most = text.integer("mul", place, bound.rows)
                most = text.integer("add", most, bound.constant)
            for factor, name in bound.rest:
                part = text.integer("mul", self.uniform(name), factor)
                most = text.integer("add", most, part)
            if bound.loop < 0:
                past = text.integer("sub", most, first)  # steps up to that one
                past = text.integer("smax", past, -1)
                past = text.integer("add", past, step)
                steps = text.integer("udiv", past, step)
                last = text.integer("add", first, text.integer("mul", steps, step))
                end = self._smin(end, last)
            else:
                least = text.integer("sub", 0, most)
                skipped = text.integer("sub", least, first)
                skipped = text.integer("smax", skipped, 0)
                steps = text.integer("udiv", skipped, step)
                first = text.integer("add", first, text.integer("mul", steps, step))
        return first, end

    def _listed(
        self, op: ir.Loop, tiles: ir.Tiles, step: int, length: Operand, now: dict[str, Fragment]
    ) -> dict[str, Fragment]:
        """Iterations over the tiles that a list names."""
        counts = self.plan.kernel.tensor(tiles.counts)
        at = tuple(ir.At(var=self._walks(a.name, op)) for a in counts.axes)
        count = self._loaded(tiles.counts, at)

        def span(i: Operand) -> Span:
            tile = self._loaded(tiles.tensor, at, i)
            below = self.text.compare("slt", tile, 0)
            place = self.text.integer("mul", tile, step)
            place = self.text.select(below, Word.I32, length, place)
            return Span(place, self._limit(place, length, step))

        first: Operand = 0
        if op.share is not None:
            first, count = self._share(op.share, count)
        return self._steps(op, now, first, count, 1, span)

    def _share(self, share: tuple[str, str], count: Operand) -> tuple[Operand, Operand]:
        """The entries of a list that one of equal parts has: the first, and one after the last."""
        part, parts = (self.uniform(name) for name in share)
        more = self.text.integer("add", self._smax(count, 0), parts)
        less = self.text.integer("sub", more, 1)
        each = self.text.integer("udiv", less, parts)
        first = self.text.integer("mul", part, each)
        end = self.text.integer("add", first, each)
        return first, self._smin(end, count)

    def _walks(self, axis: str, op: ir.Loop) -> str:
        for name in self.plan.kernel.grid.vars:
            if self.plan.kernel.var(name).axis == axis:
                return name
        refuse(
            op.line,
            f"a list of tiles by axis '{axis}'",
            why="a list is chosen by the tile of the grid",
            fix="axes of the grid",
        )

    def _loaded(self, name: str, at: tuple[ir.At, ...], more: Operand = None) -> Operand:
        """One whole number of a tensor, the same for all lanes."""
        tensor = self.plan.kernel.tensor(name)
        total: Operand = 0
        for i, (a, axis) in enumerate(zip(at, tensor.axes, strict=False)):
            index = self.floor_div(self.spans[str(a.var)].position, axis.per)
            total = self.sum64(total, self.scaled(index, self.stride(name, i)))
        if more is not None:
            total = self.sum64(total, self.scaled(more, self.stride(name, len(at))))
        place = self.text.address(name, total, 2)
        return self.first_lane(self.text.load(Kind(Word.I32), name, place, 4))

    def _started(self, carried: ir.Carried) -> Fragment:
        inside = carried.inside
        layout = self.plan.layout(inside.vars, inside.name)
        frag = self.get_over(carried.first, layout)
        source = self.plan.values[carried.first].dtype
        if source is inside.dtype:
            return frag
        names = [
            self.as_type(self.element(frag, i), source, inside.dtype)
            for i in range(len(places(layout)))
        ]
        return scalars(layout, inside.dtype, names)

    def _steps(
        self, op: ir.Loop, now: dict[str, Fragment], first: Operand, end: Operand, step: int,
        span: Callable[[Operand], Span],
    ) -> dict[str, Fragment]:  # fmt: skip
        """A loop: once for nothing, to learn what it needs, then until both ways into its head
        agree.

        What LDS was touched at its end counts at its head. Where that is not what its body was
        lowered for, it is lowered again.
        """
        state = self.state
        saved, before, asked = self._save(), state.demands, self.requests
        stopped = self.stopped
        state.demands, self.requests = {}, {}
        self._emit_loop(op, now, first, end, step, span, None)
        wanted = state.demands
        ahead = prefetching.plan_prefetch(self, op, self.requests) if self.prefetch else None
        state.demands, self.requests = before, asked
        self._restore(saved)
        for what in wanted:
            self.satisfy(what)
        head = state.touched
        while True:
            saved = self._save()
            self.stopped = stopped
            state.touched = head
            result = self._emit_loop(op, now, first, end, step, span, ahead)
            if state.touched <= head:
                state.touched = head
                state.section = saved.state.section  # what one inside computed is not known here
                return result
            head |= state.touched
            self._restore(saved)

    def _pipelined(
        self, op: ir.Loop, schedule: LoopSchedule, now: dict[str, Fragment],
        first: Operand, end: Operand, step: int,
    ) -> tuple[dict[str, Fragment], Operand]:  # fmt: skip
        """The pipelined part: once for nothing, to learn what it needs of values before it."""
        state = self.state
        saved, before = self._save(), state.demands
        state.demands = {}
        self._emit_pipelined(op, schedule, now, first, end, step)
        wanted = state.demands
        state.demands = before
        self._restore(saved)
        for what in wanted:
            self.satisfy(what)
        self.pipelining = True
        result = self._emit_pipelined(op, schedule, now, first, end, step)
        self.pipelined += 1
        return result

    def _emit_pipelined(
        self, op: ir.Loop, schedule: LoopSchedule, now: dict[str, Fragment],
        first: Operand, end: Operand, step: int,
    ) -> tuple[dict[str, Fragment], Operand]:  # fmt: skip
        fragments, spans = dict(self.fragments), dict(self.spans)
        for value in (v for inner in op.body for v in ir.results(inner)):
            self.state.depths[value.name] = self.state.loop_depth + 1
        for c in op.carried:
            self.state.depths[c.inside.name] = self.state.loop_depth + 1
        try:
            return pipelined.emit_pipelined(self, op, schedule, now, first, end, step)
        finally:
            self.pipelining = False
            self.fragments, self.spans = fragments, spans

    def _save(self) -> Saved:
        return Saved(self.state.save(), dict(self.fragments), dict(self.spans))

    def _restore(self, saved: Saved) -> None:
        self.state.restore(saved.state)
        self.fragments, self.spans = saved.fragments, saved.spans

    def _emit_loop(
        self, op: ir.Loop, now: dict[str, Fragment], first: Operand, end: Operand, step: int,
        span: Callable[[Operand], Span], ahead: prefetching.Prefetch | None,
    ) -> dict[str, Fragment]:  # fmt: skip
        state, text = self.state, self.state.text
        head = text.name()
        parts = {c.inside.name: self._parts(now[c.inside.name]) for c in op.carried}
        loaded = prefetching.load_step(self, op, ahead, first, end, span) if ahead else []
        counter = f"{head}_i"
        inside: dict[str, Fragment] = {}
        names: dict[str, list[Operand]] = {}
        for key, (frag, part) in parts.items():
            names[key] = [f"{head}_c{len(names)}_{i}" for i in range(len(part))]
            inside[key] = _from_parts(frag, names[key])
        fetched = [(f"{head}_p{i}", kind, value) for i, (kind, value) in enumerate(loaded)]
        going, start = f"{head}_going", True if self.stopped is None else self.stopped
        stays: Operand = None
        outer = text.open()
        state.loop_depth += 1
        saved = dict(self.fragments), dict(self.spans)
        with state.scope():
            for c in op.carried:
                self.fragments[c.inside.name] = inside[c.inside.name]
                state.depths[c.inside.name] = state.loop_depth
            self.spans[op.var] = span(counter)
            for value in (v for inner in op.body for v in ir.results(inner)):
                state.depths[value.name] = state.loop_depth
            following: list[tuple[Kind, Operand]] = []
            if ahead:
                prefetching.take(self, ahead, [name for name, _, _ in fetched])
                after = text.integer("add", counter, step)
                following = prefetching.load_step(self, op, ahead, after, end, span)
            self.ops(op.body)
            lasts = {}
            for c in op.carried:
                frag = inside[c.inside.name]
                made = self.get_over(c.last, frag.layout)
                source = self.plan.values[c.last].dtype
                lasts[c.inside.name] = self._parts_like(made, frag, source)
            if op.stop is not None:
                stays = self._goes_on(op.stop)
        state.loop_depth -= 1
        self.fragments, self.spans = saved
        body = text.close(outer)
        carried = []
        for key, (frag, part) in parts.items():
            rows = zip(names[key], _part_types(frag), part, lasts[key], strict=True)
            carried += [Kept(str(name), kind, a, b) for name, kind, a, b in rows]
        carried += [
            Kept(name, kind, value, more)
            for (name, kind, value), (_, more) in zip(fetched, following, strict=True)
        ]
        last = None
        if op.stop is not None:
            last = Kept(going, Kind(Word.I1), start, stays)
            self.stopped = going
        text.add(While(counter, first, end, step, tuple(carried), tuple(body), last))
        return inside

    def _goes_on(self, stop: str) -> Operand:
        """Whether a loop has another step, the same for all lanes."""
        return self.text.compare("eq", self._agreed(stop), 0)

    def _agreed(self, stop: str) -> Operand:
        """A truth as a number that all lanes have."""
        truth = self.element(self.get(stop, ()), 0)
        held = self.text.resized(truth, Word.I1, Word.I32)
        return self.first_lane(held)

    def _parts(self, frag: Fragment) -> tuple[Fragment, list[Operand]]:
        """The registers a loop carries for a fragment: vectors of accumulators stay whole."""
        return frag, self._parts_like(frag, frag, frag.dtype)

    def parts_of(self, frag: Fragment) -> list[Operand]:
        """The registers that stand for a carried fragment."""
        return self._parts_like(frag, frag, frag.dtype)

    def parts_like(self, frag: Fragment, like: Fragment) -> list[Operand]:
        """The same of another fragment of that layout."""
        return self._parts_like(frag, like, frag.dtype)

    def part_types(self, frag: Fragment) -> list[Kind]:
        """Their types."""
        return _part_types(frag)

    def from_parts(self, frag: Fragment, names: Sequence[Operand]) -> Fragment:
        """A fragment like this one, of other registers."""
        return _from_parts(frag, names)

    def _parts_like(self, frag: Fragment, like: Fragment, source: DType) -> list[Operand]:
        count = len(places(like.layout))
        if _is_packed(like):
            if source is like.dtype:
                return [self.vector(frag, s, 4) for s in range(0, count, 4)]
            values = [self.as_type(self.element(frag, i), source, like.dtype) for i in range(count)]
            return [self.text.vector(values[s : s + 4], Word.F32) for s in range(0, count, 4)]
        return [self.as_type(self.element(frag, i), source, like.dtype) for i in range(count)]

    # Numbers that are the same for all lanes, and tests of lanes.

    def uniform(self, name: str) -> Operand:
        """A value without variables, in a scalar register."""
        return self.first_lane(self.element(self.get(name, ()), 0))

    def first_lane(self, value: Operand) -> Operand:
        """A value that all lanes have, in a scalar register."""
        return value if isinstance(value, int) else self.text.first_lane(value)

    def _smin(self, a: Operand, b: Operand) -> Operand:
        return self.text.integer("smin", a, b)

    def _smax(self, a: Operand, b: Operand) -> Operand:
        return self.text.integer("smax", a, b)

    def _limit(self, position: Operand, end: Operand, extent: int) -> Operand:
        """Elements from a position on: up to the end, and no more than a tile has."""
        return self._smin(self.text.integer("sub", end, position), extent)

    def span_of(self, position: Operand, end: Operand, extent: int) -> Span:
        """The span of a tile."""
        return Span(position, self._limit(position, end, extent))

    def is_number(self, var: str) -> bool:
        """Whether a variable stands for one element at a time."""
        return is_number(self.plan.kernel.var(var))

    def index(self, var: str, along: AxisMap, register: int) -> Operand:
        """The element number along a variable that a register holds."""
        key = ("index", self.spans[var], along, register)
        result = self.state.find(key)
        if isinstance(result, str | int):
            return result
        local = self.local(along, register)
        place = self.spans[var].position
        made = local if place == 0 else self.text.integer("add", place, local)
        self.state.keep(key, made)
        return made

    def local(self, along: AxisMap, register: int) -> Operand:
        """The number inside the tile that a register holds."""
        base, offset = self.base(along), along.offsets[register]
        if not offset:
            return base
        if base == 0:
            return offset
        return self.state.at_entry(("local", base, offset), "add", base, offset)

    def in_span(self, var: str, along: AxisMap, register: int) -> Operand:
        """Whether a register's element exists; None where it does whatever the sizes are."""
        walk = self.plan.kernel.var(var)
        if walk.walk is Walk.WHOLE and along.extent <= self.plan.extents[var]:
            return None
        limit = self.spans[var].limit
        if isinstance(limit, int) and along.extent <= limit:
            return None
        key = ("in span", self.spans[var], along, register)
        result = self.state.find(key)
        if isinstance(result, str):
            return result
        limit, offset = self.spans[var].limit, along.offsets[register]
        left = limit if not offset else self.text.integer("sub", limit, offset)
        made = self.text.compare("slt", self.base(along), left)
        self.state.keep(key, made)
        return made

    def base(self, along: AxisMap) -> Operand:
        """A lane's first index along an axis."""
        return self.state.base(along)

    def owner(self, layout: Layout) -> Operand:
        """Whether a lane holds the first copy of its elements."""
        return self.state.owner(layout)

    def both(self, a: Operand, b: Operand) -> Operand:
        """Both tests; None holds always."""
        if a is None or b is None or a == b:
            return b if a is None else a
        key = ("both", a, b)
        result = self.state.find(key)
        if isinstance(result, str):
            return result
        made = self.text.truth("and", a, b)
        self.state.keep(key, made)
        return made

    def below(self, index: Operand, size: Operand) -> Operand:
        """Whether an index is inside an axis; a negative one is not."""
        return self.text.compare("ult", index, size)

    def floor_div(self, index: Operand, per: int) -> Operand:
        """A number that is not negative, divided."""
        if per == 1:
            return index
        if per & (per - 1) == 0:
            return self.text.integer("ashr", index, per.bit_length() - 1)
        return self.text.integer("udiv", index, per)

    # Addresses.

    def stride(self, tensor: str, axis: int) -> Operand:
        """The stride of an axis in elements."""
        return self.signature.stride(tensor, axis)

    def axis_size(self, tensor: Tensor, axis: int) -> Operand:
        """How many elements a tensor has along an axis."""
        own = tensor.axes[axis]
        size = self.signature.tensor_size(tensor, axis)
        if own.per == 1 or isinstance(size, int):
            return size
        more = self.state.at_entry(("up", size, own.per), "add", size, own.per - 1)
        return self.state.at_entry(("over", size, own.per), "udiv", more, own.per)

    def scaled(self, index: Operand, stride: Operand) -> Operand:
        """Index times stride with 64 bits."""
        if index == 0:
            return 0
        known = isinstance(index, int) and index > 0
        if known and stride == 1:
            return index
        wide = index if known else self.text.widened(index, signed=True)
        return wide if stride == 1 else self.text.wide("mul", wide, stride)

    def entry_scaled(self, index: Operand, stride: Operand) -> Operand:
        """The same for what is known at entry."""
        if index == 0:
            return 0
        wide = index
        if not isinstance(index, int):
            wide = self.state.once(("wide", index), lambda text: text.widened(index, signed=True))
        if stride == 1:
            return wide
        return self.state.at_entry(("times", wide, stride), "mul", wide, stride, 64)

    def sum64(self, a: Operand, b: Operand) -> Operand:
        """A sum with 64 bits."""
        if a == 0 or b == 0:
            return b if a == 0 else a
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        key = ("sum64", a, b)
        result = self.state.find(key)
        if isinstance(result, str):
            return result
        made = self.text.wide("add", a, b)
        self.state.keep(key, made)
        return made

    def aligned(self, tensor: Tensor, size: int) -> Operand:
        """Whether rows of a tensor start at multiples of so many bytes."""
        at_entry = self.state.at_entry
        bits = self.state.once(("address", tensor.name), partial(_address, tensor.name))
        for i in range(len(tensor.axes) - 1):
            step = self.entry_scaled_bytes(self.stride(tensor.name, i), tensor.dtype.bits // 8)
            bits = at_entry(("or", bits, step), "or", bits, step, 64)
        low = at_entry(("low", bits, size), "and", bits, size - 1, 64)
        return self.state.once(("even", low), lambda text: text.compare("eq", low, 0, 64))

    def entry_scaled_bytes(self, stride: Operand, size: int) -> Operand:
        """A stride in bytes."""
        if size == 1:
            return stride
        return self.state.at_entry(("bytes", stride, size), "mul", stride, size, 64)

    def lds_base(self, layout: Layout, pitches: dict[str, int]) -> Operand:
        """A lane's first byte of a tile in LDS."""
        total: Operand = 0
        for var, along in layout:
            base, pitch = self.base(along), pitches[var]
            if base == 0:
                continue
            part = self.state.at_entry(("lds", base, pitch), "mul", base, pitch)
            total = (
                part
                if total == 0
                else self.state.at_entry(("lds+", total, part), "add", total, part)
            )
        return total

    def operand_base(self, pitch: int, chunk: int, rows: AxisMap) -> Operand:
        """A lane's first byte of a matrix operand in LDS; ``rows``: the axis of accumulators."""
        row = AxisMap(offsets=(0,), lane=(1, MFMA, 1), wave=rows.wave)
        part = AxisMap(offsets=(0,), lane=(MFMA, LANES // MFMA, 1))
        return self.lds_base((("row", row), ("k", part)), {"row": pitch, "k": chunk})

    def drop_operand(self, name: str, k: str) -> None:
        """Give the LDS of an operand back, where this scope made it."""
        key = ("operand", name, k)
        region = self.state.scopes[-1].pop(key, None)
        if isinstance(region, Region):
            self.state.free(region)

    # Control flow that is the same for a whole workgroup, and stores of some lanes.

    def either(
        self,
        test: Operand,
        first: Callable[[], Sequence[Operand]],
        second: Callable[[], Sequence[Operand]],
        kind: Kind | Callable[[], list[Kind]],
    ) -> list[Operand]:
        """Values made in one of two ways; ``kind``: their type, or what gives the type of each."""
        made: list[tuple[Body, Sequence[Operand]]] = []
        for make in (first, second):
            outer = self.text.open()
            with self.state.scope():
                names = make()
            made.append((self.text.close(outer), names))
        (left, a), (right, b) = made
        kinds = [kind] * len(a) if isinstance(kind, Kind) else kind()
        results = tuple(
            Chosen(self.text.name(), form, x, y) for form, x, y in zip(kinds, a, b, strict=True)
        )
        self.text.add(If(test, tuple(left), tuple(right), results))
        return [r.name for r in results]

    def choose(
        self, test: Operand, first: Callable[[], object], second: Callable[[], object]
    ) -> None:
        """One of two ways to do something."""

        def done(act: Callable[[], object]) -> Callable[[], list[Operand]]:
            def run() -> list[Operand]:
                act()
                return []

            return run

        self.either(test, done(first), done(second), Kind(Word.I32))

    def when(self, test: Operand, act: Callable[[], None]) -> None:
        """Something that only some lanes do."""
        if test is None:
            act()
            return
        outer = self.text.open()
        act()
        body = self.text.close(outer)
        self.text.add(If(test, tuple(body)))


def _address(tensor: str, text: Builder) -> Operand:
    name = text.name()
    text.add(AddressBits(name, tensor))
    return name


def _check_value(value: ir.Value) -> None:
    if len(value.dims) > 2 or len(set(value.vars)) != len(value.dims):
        refuse(
            value.line,
            f"a value of {len(value.dims)} axes ({', '.join(value.vars)})",
            why="tiles have rows and columns",
            fix="index the other axes one element at a time",
        )


def _is_packed(frag: Fragment) -> bool:
    return frag.dtype is DType.F32 and run_of(frag.layout) % 4 == 0 and len(frag.layout) == 2


def _part_types(frag: Fragment) -> list[Kind]:
    count = len(places(frag.layout))
    if _is_packed(frag):
        return [QUAD] * (count // 4)
    return [register_kind(frag.dtype)] * count


def _from_parts(frag: Fragment, names: Sequence[Operand]) -> Fragment:
    if _is_packed(frag):
        return packed(
            frag.layout, frag.dtype, {4 * i: (n, 4, DType.F32) for i, n in enumerate(names)}
        )
    return scalars(frag.layout, frag.dtype, names)


__all__ = ["WHOLE", "Lowering", "Span"]
