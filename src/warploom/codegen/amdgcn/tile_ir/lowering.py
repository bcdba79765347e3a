"""``Lowering``: a tile kernel, op by op, as LLVM IR of one workgroup.

Loads, indices and pointwise work are computed where a consumer asks for them, in the layout it
asks for; products, reductions and loops are computed in place. Control flow is the same for all
waves of a workgroup, so a barrier may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.tile_ir import memory, pipelined, prefetching, products, reduce
from warploom.codegen.amdgcn.tile_ir.errors import refuse
from warploom.codegen.amdgcn.tile_ir.layout import LANES, MFMA, AxisMap, Layout, places, run_of
from warploom.codegen.amdgcn.tile_ir.loop_body import UnscheduledError
from warploom.codegen.amdgcn.tile_ir.loop_schedule import LoopSchedule
from warploom.codegen.amdgcn.tile_ir.numbers import (
    PAIRED,
    WHOLE,
    build_vector,
    convert,
    inline,
    memory_type,
    narrow_vector,
    number,
    pair,
    pointwise,
    register_type,
    widen,
)
from warploom.codegen.amdgcn.tile_ir.plan import TilePlan
from warploom.codegen.amdgcn.tile_ir.signature import Signature
from warploom.codegen.amdgcn.tile_ir.state import (
    Fragment,
    Region,
    SavedState,
    State,
    packed,
    scalars,
)
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Op, Tensor, Walk, is_number


@dataclass(frozen=True, slots=True)
class Span:
    """Where a variable stands: its first element, and how many there are from it on."""

    position: str
    limit: str


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
        self.stopped = ""  # whether the list of steps before went on to its end
        self.schedules = schedules or {}  # by the place of a loop among the kernel's ops
        self.pipelining = False  # nothing but scheduled accesses may be emitted
        self.prefetch = prefetch
        self.prefetched = 0  # tiles that are loaded one step ahead
        self.pipelined = 0  # loops with a schedule
        self.requests: dict[tuple[int, str, str, str], None] = {}
        self.state = State(plan, reuse=reuse)
        self.spans: dict[str, Span] = {}
        self.fragments: dict[str, Fragment] = {}
        self.whole = "false"

    @property
    def text(self) -> IrText:
        """The IR at the present place."""
        return self.state.text

    # Values.

    def get(self, name: str, layout: Layout) -> Fragment:
        """A value in a layout of its own variables."""
        found = self.state.find((name, layout))
        if isinstance(found, Fragment):
            return found
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

    def operand_words(self, name: str, layout: Layout) -> list[tuple[int, int, tuple[str, str]]]:
        """A value as an operand of matrix instructions: first element, count, type and name."""
        key = ("words", name, layout)
        found = self.state.find(key)
        if isinstance(found, list):
            return found
        self.demand("words", name, layout)
        frag, dtype = self.get(name, layout), self.plan.values[name].dtype
        run = run_of(layout)
        made = []
        for start in range(0, len(places(layout)), run):
            bits = self.stored_vector(frag, start, run, dtype)
            if bits is None:
                values = [self.element(frag, start + i) for i in range(run)]
                bits = narrow_vector(self.text, values, dtype)
            kind = f"<{run * dtype.bits // 32} x i32>"
            word = self.text.value(f"bitcast <{run} x {memory_type(dtype)}> {bits} to {kind}")
            made.append((start, run, (kind, word)))
        self.state.keep(key, made)
        return made

    def whole_span(self, place: str, extent: int) -> Span:
        """The span of a tile all of whose elements exist."""
        return Span(place, str(extent))

    def element(self, frag: Fragment, i: int) -> str:
        """One element of a fragment, in a register."""
        own = frag.elements[i]
        if own is not None:
            return own
        found = self.state.find((frag, i))
        if isinstance(found, str):
            return found
        start = next(s for s, (_, n, _) in frag.vectors.items() if s <= i < s + n)
        vector, count, kind = frag.vectors[start]
        form = memory_type(kind)
        bits = self.text.value(f"extractelement <{count} x {form}> {vector}, i32 {i - start}")
        made = self.widened(bits, kind)
        self.state.keep((frag, i), made)
        return made

    def widened(self, bits: str, kind: DType) -> str:
        """The register value of an element of memory."""
        return widen(self.text, bits, kind)

    def as_type(self, value: str, source: DType, to: DType) -> str:
        """A register value converted."""
        return convert(self.text, value, source, to)

    def vector(self, frag: Fragment, start: int, count: int) -> str:
        """Neighbouring f32 elements as one vector."""
        ready = self.stored_vector(frag, start, count, DType.F32)
        if ready is not None:
            return ready
        return build_vector(
            self.text, [self.element(frag, start + i) for i in range(count)], "float"
        )

    def stored_vector(self, frag: Fragment, start: int, count: int, kind: DType) -> str | None:
        """Neighbours as they lie in memory, where the fragment has just them."""
        begin = next((s for s, v in frag.vectors.items() if s <= start < s + v[1]), None)
        if begin is None or count == 1:
            return None
        name, have, own = frag.vectors[begin]
        if begin + have < start + count or own is not kind:
            return None
        if have == count:
            return name
        form = memory_type(kind)
        chosen = ", ".join(f"i32 {start - begin + i}" for i in range(count))
        return self.text.value(
            f"shufflevector <{have} x {form}> {name}, <{have} x {form}> poison, "
            f"<{count} x i32> <{chosen}>"
        )

    def _compute(self, op: Op, layout: Layout) -> Fragment:  # noqa: C901, PLR0911 (one a kind)
        match op:
            case ir.Const():
                return scalars(layout, op.result.dtype, [number(op.value, op.result.dtype)])
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
            pairs = {
                i: (pair(self.text, op.fn, *(self.vector(a, i, 2) for a in args)), 2, DType.F32)
                for i in range(0, count, 2)
            }
            return packed(layout, DType.F32, pairs)
        if op.code is not None:
            made = [
                inline(self.text, op, [self.element(a, i) for a in args], kinds)
                for i in range(count)
            ]
            return scalars(layout, op.result.dtype, made)
        names = [
            pointwise(self.text, op.fn, [self.element(a, i) for a in args], kinds, op.result.dtype)
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
        self.stopped = ""
        if op.lists:
            for tiles in op.lists:
                self.whole = "true" if tiles.whole else "false"
                now = self._listed(op, tiles, step, length, now)
        else:
            first, end = "0", length
            if op.start is not None:
                first = self._smax(self.uniform(op.start), "0")
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

    def _seen(self, op: ir.Loop, first: str, end: str, step: int) -> tuple[str, str]:
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
            most = str(bound.constant)
            if bound.rows and cut.row is not None:
                far = self.plan.extents[cut.row] - 1 if bound.rows > 0 else 0
                place = text.value(f"add i32 {self.spans[cut.row].position}, {far}")
                most = text.value(f"mul i32 {place}, {bound.rows}")
                most = text.value(f"add i32 {most}, {bound.constant}")
            for factor, name in bound.rest:
                part = text.value(f"mul i32 {self.uniform(name)}, {factor}")
                most = text.value(f"add i32 {most}, {part}")
            if bound.loop < 0:
                past = text.value(f"sub i32 {most}, {first}")  # steps up to that one
                past = self._smax(past, "-1")
                past = text.value(f"add i32 {past}, {step}")
                steps = text.value(f"udiv i32 {past}, {step}")
                end = self._smin(end, text.value(
                    f"add i32 {first}, {text.value(f'mul i32 {steps}, {step}')}"
                ))  # fmt: skip
            else:
                least = text.value(f"sub i32 0, {most}")
                skipped = text.value(f"sub i32 {least}, {first}")
                skipped = self._smax(skipped, "0")
                steps = text.value(f"udiv i32 {skipped}, {step}")
                first = text.value(f"add i32 {first}, {text.value(f'mul i32 {steps}, {step}')}")
        return first, end

    def _listed(
        self, op: ir.Loop, tiles: ir.Tiles, step: int, length: str, now: dict[str, Fragment]
    ) -> dict[str, Fragment]:
        """Iterations over the tiles that a list names."""
        counts = self.plan.kernel.tensor(tiles.counts)
        at = tuple(ir.At(var=self._walks(a.name, op)) for a in counts.axes)
        count = self._loaded(tiles.counts, at)

        def span(i: str) -> Span:
            tile = self._loaded(tiles.tensor, at, i)
            below = self.text.value(f"icmp slt i32 {tile}, 0")
            place = self.text.value(f"mul i32 {tile}, {step}")
            place = self.text.value(f"select i1 {below}, i32 {length}, i32 {place}")
            return Span(place, self._limit(place, length, step))

        first = "0"
        if op.share is not None:
            first, count = self._share(op.share, count)
        return self._steps(op, now, first, count, 1, span)

    def _share(self, share: tuple[str, str], count: str) -> tuple[str, str]:
        """The entries of a list that one of equal parts has: the first, and one after the last."""
        part, parts = (self.uniform(name) for name in share)
        more = self.text.value(f"add i32 {self._smax(count, '0')}, {parts}")
        less = self.text.value(f"sub i32 {more}, 1")
        each = self.text.value(f"udiv i32 {less}, {parts}")
        first = self.text.value(f"mul i32 {part}, {each}")
        end = self.text.value(f"add i32 {first}, {each}")
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

    def _loaded(self, name: str, at: tuple[ir.At, ...], more: str | None = None) -> str:
        """One whole number of a tensor, the same for all lanes."""
        tensor = self.plan.kernel.tensor(name)
        total = "0"
        for i, (a, axis) in enumerate(zip(at, tensor.axes, strict=False)):
            index = self.floor_div(self.spans[str(a.var)].position, axis.per)
            total = self.sum64(total, self.scaled(index, self.stride(name, i)))
        if more is not None:
            total = self.sum64(total, self.scaled(more, self.stride(name, len(at))))
        at_byte = self.text.value(f"shl i64 {total}, 2")
        place = self.text.value(
            f"getelementptr i8, ptr addrspace(1) {self.pointer(name)}, i64 {at_byte}"
        )
        value = self.text.value(f"load i32, ptr addrspace(1) {place}, align 4")
        return self.first_lane(value)

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
        self, op: ir.Loop, now: dict[str, Fragment], first: str, end: str, step: int,
        span: Callable[[str], Span],
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
            made = self._emit_loop(op, now, first, end, step, span, ahead)
            if state.touched <= head:
                state.touched = head
                state.section = saved.state.section  # what one inside computed is not known here
                return made
            head |= state.touched
            self._restore(saved)

    def _pipelined(
        self, op: ir.Loop, schedule: LoopSchedule, now: dict[str, Fragment], first: str, end: str,
        step: int,
    ) -> tuple[dict[str, Fragment], str]:  # fmt: skip
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
        made = self._emit_pipelined(op, schedule, now, first, end, step)
        self.pipelined += 1
        return made

    def _emit_pipelined(
        self, op: ir.Loop, schedule: LoopSchedule, now: dict[str, Fragment], first: str, end: str,
        step: int,
    ) -> tuple[dict[str, Fragment], str]:  # fmt: skip
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

    def _emit_loop(  # noqa: PLR0915 (one loop)
        self, op: ir.Loop, now: dict[str, Fragment], first: str, end: str, step: int,
        span: Callable[[str], Span], ahead: prefetching.Prefetch | None,
    ) -> dict[str, Fragment]:  # fmt: skip
        state, text = self.state, self.state.text
        head, body, out = (state.new_label(n) for n in ("head", "body", "out"))
        parts = {c.inside.name: self._parts(now[c.inside.name]) for c in op.carried}
        loaded = prefetching.load_step(self, op, ahead, first, end, span) if ahead else []
        before = text.block
        text.add(f"br label %{head}")
        text.label(head)
        phis_at = len(text.lines)
        counter = f"%{head}_i"
        inside: dict[str, Fragment] = {}
        names: dict[str, list[str]] = {}
        for key, (frag, part) in parts.items():
            names[key] = [f"%{head}_c{len(names)}_{i}" for i in range(len(part))]
            inside[key] = _from_parts(frag, names[key])
        fetched = [(f"%{head}_p{i}", kind, value) for i, (kind, value) in enumerate(loaded)]
        again = text.value(f"icmp slt i32 {counter}, {end}")
        going, start, stays = f"%{head}_going", self.stopped or "true", ""
        if op.stop is not None:
            again = text.value(f"and i1 {again}, {going}")
        text.add(f"br i1 {again}, label %{body}, label %{out}")
        text.label(body)
        state.loop_depth += 1
        saved = dict(self.fragments), dict(self.spans)
        with state.scope():
            for c in op.carried:
                self.fragments[c.inside.name] = inside[c.inside.name]
                state.depths[c.inside.name] = state.loop_depth
            self.spans[op.var] = span(counter)
            for value in (v for inner in op.body for v in ir.results(inner)):
                state.depths[value.name] = state.loop_depth
            following: list[tuple[str, str]] = []
            if ahead:
                prefetching.take(self, ahead, [name for name, _, _ in fetched])
                after = text.value(f"add i32 {counter}, {step}")
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
        after = text.value(f"add i32 {counter}, {step}")
        latch = text.block
        text.add(f"br label %{head}")
        phis = [f"  {counter} = phi i32 [ {first}, %{before} ], [ {after}, %{latch} ]"]
        if op.stop is not None:
            phis.append(f"  {going} = phi i1 [ {start}, %{before} ], [ {stays}, %{latch} ]")
            self.stopped = going
        for key, (frag, part) in parts.items():
            kinds = _part_types(frag)
            phis += [
                f"  {name} = phi {kind} [ {a}, %{before} ], [ {b}, %{latch} ]"
                for name, kind, a, b in zip(names[key], kinds, part, lasts[key], strict=True)
            ]
        phis += [
            f"  {name} = phi {kind} [ {value}, %{before} ], [ {more}, %{latch} ]"
            for (name, kind, value), (_, more) in zip(fetched, following, strict=True)
        ]
        text.lines[phis_at:phis_at] = phis
        text.label(out)
        return inside

    def _goes_on(self, stop: str) -> str:
        """Whether a loop has another step, the same for all lanes."""
        held = self.text.value(f"zext i1 {self.element(self.get(stop, ()), 0)} to i32")
        return self.text.value(f"icmp eq i32 {self.first_lane(held)}, 0")

    def _parts(self, frag: Fragment) -> tuple[Fragment, list[str]]:
        """The SSA values a loop carries for a fragment: vectors of accumulators stay whole."""
        return frag, self._parts_like(frag, frag, frag.dtype)

    def parts_of(self, frag: Fragment) -> list[str]:
        """The SSA values that stand for a carried fragment."""
        return self._parts_like(frag, frag, frag.dtype)

    def parts_like(self, frag: Fragment, like: Fragment) -> list[str]:
        """The same of another fragment of that layout."""
        return self._parts_like(frag, like, frag.dtype)

    def part_types(self, frag: Fragment) -> list[str]:
        """Their types."""
        return _part_types(frag)

    def from_parts(self, frag: Fragment, names: list[str]) -> Fragment:
        """A fragment like this one, of other SSA values."""
        return _from_parts(frag, names)

    def _parts_like(self, frag: Fragment, like: Fragment, source: DType) -> list[str]:
        count = len(places(like.layout))
        if _is_packed(like):
            if source is like.dtype:
                return [self.vector(frag, s, 4) for s in range(0, count, 4)]
            values = [self.as_type(self.element(frag, i), source, like.dtype) for i in range(count)]
            return [build_vector(self.text, values[s : s + 4], "float") for s in range(0, count, 4)]
        return [self.as_type(self.element(frag, i), source, like.dtype) for i in range(count)]

    # Numbers that are the same for all lanes, and tests of lanes.

    def uniform(self, name: str) -> str:
        """A value without variables, in a scalar register."""
        return self.first_lane(self.element(self.get(name, ()), 0))

    def first_lane(self, value: str) -> str:
        """A value that all lanes have, in a scalar register."""
        if value.lstrip("-").isdigit():
            return value
        return self.text.value(f"call i32 @llvm.amdgcn.readfirstlane.i32(i32 {value})")

    def _smin(self, a: str, b: str) -> str:
        return self.text.value(f"call i32 @llvm.smin.i32(i32 {a}, i32 {b})")

    def _smax(self, a: str, b: str) -> str:
        return self.text.value(f"call i32 @llvm.smax.i32(i32 {a}, i32 {b})")

    def _limit(self, position: str, end: str, extent: int) -> str:
        """Elements from a position on: up to the end, and no more than a tile has."""
        left = self.text.value(f"sub i32 {end}, {position}")
        return self._smin(left, str(extent))

    def span_of(self, position: str, end: str, extent: int) -> Span:
        """The span of a tile."""
        return Span(position, self._limit(position, end, extent))

    def is_number(self, var: str) -> bool:
        """Whether a variable stands for one element at a time."""
        return is_number(self.plan.kernel.var(var))

    def index(self, var: str, along: AxisMap, register: int) -> str:
        """The element number along a variable that a register holds."""
        key = ("index", self.spans[var], along, register)
        found = self.state.find(key)
        if isinstance(found, str):
            return found
        local = self.local(along, register)
        place = self.spans[var].position
        made = local if place == "0" else self.text.value(f"add i32 {place}, {local}")
        self.state.keep(key, made)
        return made

    def local(self, along: AxisMap, register: int) -> str:
        """The number inside the tile that a register holds."""
        base, offset = self.base(along), along.offsets[register]
        if not offset:
            return base
        if base == "0":
            return str(offset)
        return self.state.at_entry(("local", base, offset), f"add i32 {base}, {offset}")

    def in_span(self, var: str, along: AxisMap, register: int) -> str | None:
        """Whether a register's element exists; None where it does whatever the sizes are."""
        walk = self.plan.kernel.var(var)
        if walk.walk is Walk.WHOLE and along.extent <= self.plan.extents[var]:
            return None
        limit = self.spans[var].limit
        if limit.isdigit() and along.extent <= int(limit):
            return None
        key = ("in span", self.spans[var], along, register)
        found = self.state.find(key)
        if isinstance(found, str):
            return found
        limit, offset = self.spans[var].limit, along.offsets[register]
        left = limit if not offset else self.text.value(f"sub i32 {limit}, {offset}")
        made = self.text.value(f"icmp slt i32 {self.base(along)}, {left}")
        self.state.keep(key, made)
        return made

    def base(self, along: AxisMap) -> str:
        """A lane's first index along an axis."""
        return self.state.base(along)

    def owner(self, layout: Layout) -> str | None:
        """Whether a lane holds the first copy of its elements."""
        return self.state.owner(layout)

    def both(self, a: str | None, b: str | None) -> str | None:
        """Both tests; None holds always."""
        if a is None or b is None or a == b:
            return a or b
        key = ("both", a, b)
        found = self.state.find(key)
        if isinstance(found, str):
            return found
        made = self.text.value(f"and i1 {a}, {b}")
        self.state.keep(key, made)
        return made

    def below(self, index: str, size: str) -> str:
        """Whether an index is inside an axis; a negative one is not."""
        return self.text.value(f"icmp ult i32 {index}, {size}")

    def floor_div(self, index: str, per: int) -> str:
        """A number that is not negative, divided."""
        if per == 1:
            return index
        if per & (per - 1) == 0:
            return self.text.value(f"ashr i32 {index}, {per.bit_length() - 1}")
        return self.text.value(f"udiv i32 {index}, {per}")

    # Addresses.

    def pointer(self, tensor: str) -> str:
        """The argument with a tensor's address."""
        return self.signature.pointer(tensor)

    def stride(self, tensor: str, axis: int) -> str:
        """The stride of an axis in elements."""
        return self.signature.stride(tensor, axis)

    def axis_size(self, tensor: Tensor, axis: int) -> str:
        """How many elements a tensor has along an axis."""
        own = tensor.axes[axis]
        size = self.signature.tensor_size(tensor, axis)
        if own.per == 1 or size.isdigit():
            return size
        more = self.state.at_entry(("up", size, own.per), f"add i32 {size}, {own.per - 1}")
        return self.state.at_entry(("over", size, own.per), f"udiv i32 {more}, {own.per}")

    def scaled(self, index: str, stride: str) -> str:
        """Index times stride with 64 bits."""
        if index == "0":
            return "0"
        if index.isdigit() and stride == "1":
            return index
        wide = index if index.isdigit() else self.text.value(f"sext i32 {index} to i64")
        return wide if stride == "1" else self.text.value(f"mul i64 {wide}, {stride}")

    def entry_scaled(self, index: str, stride: str) -> str:
        """The same for what is known at entry."""
        if index == "0":
            return "0"
        at_entry = self.state.at_entry
        wide = index
        if not index.isdigit():
            wide = at_entry(("wide", index), f"sext i32 {index} to i64")
        if stride == "1":
            return wide
        return at_entry(("times", wide, stride), f"mul i64 {wide}, {stride}")

    def sum64(self, a: str, b: str) -> str:
        """A sum with 64 bits."""
        if a == "0" or b == "0":
            return b if a == "0" else a
        if a.isdigit() and b.isdigit():
            return str(int(a) + int(b))
        key = ("sum64", a, b)
        found = self.state.find(key)
        if isinstance(found, str):
            return found
        made = self.text.value(f"add i64 {a}, {b}")
        self.state.keep(key, made)
        return made

    def aligned(self, tensor: Tensor, size: int) -> str:
        """Whether rows of a tensor start at multiples of so many bytes."""
        at_entry = self.state.at_entry
        bits = at_entry(
            ("address", tensor.name),
            f"ptrtoint ptr addrspace(1) {self.pointer(tensor.name)} to i64",
        )
        for i in range(len(tensor.axes) - 1):
            step = self.entry_scaled_bytes(self.stride(tensor.name, i), tensor.dtype.bits // 8)
            bits = at_entry(("or", bits, step), f"or i64 {bits}, {step}")
        low = at_entry(("low", bits, size), f"and i64 {bits}, {size - 1}")
        return at_entry(("even", low), f"icmp eq i64 {low}, 0")

    def entry_scaled_bytes(self, stride: str, size: int) -> str:
        """A stride in bytes."""
        if size == 1:
            return stride
        return self.state.at_entry(("bytes", stride, size), f"mul i64 {stride}, {size}")

    def lds_base(self, layout: Layout, pitches: dict[str, int]) -> str:
        """A lane's first byte of a tile in LDS."""
        total = "0"
        for var, along in layout:
            base, pitch = self.base(along), pitches[var]
            if base == "0":
                continue
            part = self.state.at_entry(("lds", base, pitch), f"mul i32 {base}, {pitch}")
            total = (
                part
                if total == "0"
                else self.state.at_entry(("lds+", total, part), f"add i32 {total}, {part}")
            )
        return total

    def operand_base(self, pitch: int, chunk: int, rows: AxisMap) -> str:
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
        test: str,
        first: Callable[[], list[str]],
        second: Callable[[], list[str]],
        kind: str | Callable[[], list[str]],
    ) -> list[str]:
        """Values made in one of two ways; ``kind``: their type, or what gives the type of each."""
        made: list[tuple[str, list[str]]] = []
        labels = [self.state.new_label(n) for n in ("wide", "narrow", "join")]
        self.text.add(f"br i1 {test}, label %{labels[0]}, label %{labels[1]}")
        for label, make in zip(labels, (first, second), strict=False):
            self.text.label(label)
            with self.state.scope():
                names = make()
            made.append((self.text.block, names))
            self.text.add(f"br label %{labels[2]}")
        self.text.label(labels[2])
        (left, a), (right, b) = made
        kinds = [kind] * len(a) if isinstance(kind, str) else kind()
        return [
            self.text.value(f"phi {form} [ {x}, %{left} ], [ {y}, %{right} ]")
            for form, x, y in zip(kinds, a, b, strict=True)
        ]

    def choose(self, test: str, first: Callable[[], object], second: Callable[[], object]) -> None:
        """One of two ways to do something."""

        def done(act: Callable[[], object]) -> Callable[[], list[str]]:
            def run() -> list[str]:
                act()
                return []

            return run

        self.either(test, done(first), done(second), "i32")

    def when(self, test: str | None, act: Callable[[], None]) -> None:
        """Something that only some lanes do."""
        if test is None:
            act()
            return
        label, after = self.state.new_label("some"), self.state.new_label("after")
        self.text.add(f"br i1 {test}, label %{label}, label %{after}")
        self.text.label(label)
        act()
        self.text.add(f"br label %{after}")
        self.text.label(after)


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


def _part_types(frag: Fragment) -> list[str]:
    count = len(places(frag.layout))
    if _is_packed(frag):
        return ["<4 x float>"] * (count // 4)
    return [register_type(frag.dtype)] * count


def _from_parts(frag: Fragment, names: list[str]) -> Fragment:
    if _is_packed(frag):
        return packed(
            frag.layout, frag.dtype, {4 * i: (n, 4, DType.F32) for i, n in enumerate(names)}
        )
    return scalars(frag.layout, frag.dtype, names)


__all__ = ["WHOLE", "Lowering", "Span"]
