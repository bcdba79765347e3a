"""Kernels without matrix products as thread programs: threads hold elements of a tile in registers.

Row statistics, elementwise work, transposes, reductions along either axis, gathers and scatters.
``simt_layout`` says which thread holds what. Reductions meet by shuffles and through shared memory,
in a fixed order; loads and stores move 16 bytes where addresses allow it, and single elements else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from warploom.ir import threads as ir
from warploom.ir.expr import Op as Int, binary, const, element_of
from warploom.ir.threads import (
    ArgumentKind,
    Assign,
    Convert,
    Declare,
    Decode,
    For,
    If,
    Number,
    Reg,
    Scope,
    Statement,
    Term,
    ThreadProgram,
)
from warploom.ir.tile import (
    Broadcast,
    Carried,
    Const,
    DType,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Scan,
    Size,
    Store,
    Tensor,
    Tiles,
    Transpose,
    Var,
    Walk,
    Whole,
    operands,
    results,
    walk,
)
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import short
from warploom.passes.body import refusal
from warploom.passes.simt_layout import (
    ThreadAxis,
    layout_threads,
    partial_sums,
    used_outside,
)
from warploom.passes.simt_loads import Loads
from warploom.passes.simt_reductions import Reductions
from warploom.passes.simt_stores import Stores
from warploom.passes.simt_terms import (
    GROUP,
    LANE,
    NEXT,
    THREAD,
    Body,
    constant,
    line_of,
    number,
    pos,
    unsigned,
)

MOST_NESTED = 100  # functions of one expression: readers and compilers recurse into it


def build_thread_program(
    kernel: Kernel, sizes: Mapping[str, int], pins: Mapping[str, object] | None = None
) -> tuple[ThreadProgram, int]:
    """The program of every thread for a kernel without matrix products, and the bytes of shared
    memory that it needs.
    """
    layout = layout_threads(kernel, sizes, pins)
    writer = _Writer(kernel, layout, dict(sizes))
    return writer.program(), writer.shared_bytes


class _Writer(Reductions, Loads, Stores):
    """The program of every thread: tiles, ops in their order, passes over long axes, loops."""

    def program(self) -> ThreadProgram:
        body = self.scope(self.kernel.ops)
        count, places = self.tiles()
        lanes, threads = self.layout.lanes, self.layout.threads
        tiled = [v.name for v in self.kernel.vars if v.walk in (Walk.TILE, Walk.STEP)]
        extents = {n: self.layout.axes[n].extent for n in tiled if n in self.layout.axes}
        extents |= {n: 1 for n in self.kernel.grid.vars if n in tiled and n not in extents}
        return ThreadProgram(
            threads=threads,
            lanes=lanes,
            arguments=tuple(self.arguments),
            body=(
                ir.AwaitKernelBefore(),
                number("lane", THREAD % lanes),
                number("group", THREAD // lanes),
                Declare(name="tiles", dtype=DType.U32, value=count),
                For(
                    counter="tile",
                    first=CTA,
                    end=Reg("tiles"),
                    step=CTAS,
                    unsigned=True,
                    body=(*places, *body),
                ),
            ),
            rereads=self.layout.chunked is not None,
            extents=tuple(extents.items()),
        )

    def tiles(self) -> tuple[Term, Body]:
        """How many tiles there are, and where a tile stands on every axis of the grid."""
        grid, grouped = self.kernel.grid, self.grouped
        places: Body = []
        total: Term = Number(1, DType.U32)
        rest = Reg("rest")
        for name in reversed(grid.vars):
            var = self.kernel.var(name)
            count: Term = self.length(var.axis)
            if grid.kind == "groups" and name == grid.vars[0]:
                continue
            extent = self.extent(var)
            count = count if extent == 1 else (count + (extent - 1)) // extent
            if name == grouped:
                count = count + self.length(self.kernel.var(grid.vars[0]).axis)
                at = f"at_{name}"
                places.append(number(at, Convert(rest % unsigned(count), DType.I32)))
            else:
                own = Convert(rest % unsigned(count), DType.I32) * extent
                places.append(number(f"pos_{name}", own))
            places.append(Assign(name="rest", value=rest // unsigned(count)))
            total = unsigned(count) if isinstance(total, Number) else total * unsigned(count)
        if grouped is not None:
            places += self.group_lines(grid.vars[0], grouped)
        for name in grid.vars:
            places += self.axis_lines(self.kernel.var(name))
        for v in self.kernel.vars:
            if v.walk is Walk.WHOLE and v.name in self.layout.axes:
                places += self.whole_lines(v)
        tile: Term = Reg("tile")
        if grid.order:
            self.add(ArgumentKind.POINTER, grid.order)
            tile = unsigned(Decode(element_of(grid.order, (tile,)), DType.I32))
        return total, [Declare(name="rest", dtype=DType.U32, value=tile), *places]

    def group_lines(self, group: str, rows: str) -> Body:
        """The group a tile belongs to: their sizes are known on the device alone."""
        starts = self.kernel.tensor(self.kernel.grid.starts[0])
        self.add(ArgumentKind.POINTER, starts.name)
        extent = self.extent(self.kernel.var(rows))
        count = self.length(self.kernel.var(group).axis)
        pos, at, more = Reg(f"pos_{group}"), Reg(f"at_{rows}"), Reg("more")

        def start(n: Term) -> Term:
            return Decode(element_of(starts.name, (n,)), DType.I32)

        return [
            number(pos.name, const(0)),
            For(
                counter=pos.name,
                first=None,
                end=count,
                step=const(1),
                body=(
                    number(more.name, (start(pos + 1) - start(pos) + (extent - 1)) // extent),
                    If(condition=at < more, body=(ir.Break(),)),
                    Assign(name=at.name, value=at - more),
                ),
            ),
            # More tiles were reserved than there are.
            If(condition=pos.eq(count), body=(ir.Continue(),)),
            number(f"pos_{rows}", start(pos) + at * extent),
            number(f"last_{rows}", start(pos + 1)),
        ]

    def axis_lines(self, var: Var) -> Body:
        """The first element of a thread along an axis, and where the axis ends."""
        axis = self.layout.axes.get(var.name)
        if axis is None:
            return []
        grouped = var.name == self.grouped
        last: Term = Reg(f"last_{var.name}") if grouped else self.length(var.axis)
        return [self.end_line(axis, last), self.first_line(axis)]

    def end_line(self, axis: ThreadAxis, last: Term) -> Statement:
        """Where the elements of a tile or step end."""
        share = self.layout.lanes if axis.columns else self.layout.groups
        if axis.extent < share * axis.elements:
            last = binary(Int.MIN, pos(axis.var) + axis.extent, last)
        return number(f"end_{axis.var}", last)

    def first_line(self, axis: ThreadAxis) -> Statement:
        own = LANE * axis.vector if axis.columns else GROUP
        return number(f"own_{axis.var}", pos(axis.var) + own)

    def whole_lines(self, var: Var) -> Body:
        axis = self.layout.axes[var.name]
        end = number(f"end_{var.name}", const(var.extent or 0))
        if axis.chunked:
            return [end]
        return [end, number(f"pos_{var.name}", const(0)), self.first_line(axis)]

    def scope(self, ops: Sequence[Op]) -> Body:
        chunked = self.layout.chunked
        self.inlined |= self.single_uses(ops)
        if ops is self.kernel.ops:
            return self.ended_early(self.kernel.ops)
        if chunked is None:
            return [line for op in ops for line in self.lines(op)]
        return self.passes(ops, chunked)

    def ended_early(self, ops: tuple[Op, ...]) -> Body:
        """The ops of a tile; where all it stores hangs on one condition, that is asked first."""
        stores = [op for op in walk(ops) if isinstance(op, Store)]
        asked = {op.when for op in stores}
        first: list[Op] = []
        condition = asked.pop() if len(asked) == 1 else None
        if condition is not None:
            needed = {condition}
            for op in reversed(ops):
                if not isinstance(op, Loop | Store) and op.result.name in needed:
                    needed |= set(operands(op))
                    first.insert(0, op)
            if any(op.result.dims for op in first if not isinstance(op, Loop | Store)):
                first = []  # its own sums are made with the others
        rest = [op for op in ops if op not in first]
        chunked = self.layout.chunked
        made = [line for op in first for line in self.lines(op)]
        if first and condition:
            made.append(If(condition=ir.Not(self.at(condition)), body=(ir.Continue(),)))
        if chunked is None:
            return [*made, *(line for op in rest for line in self.lines(op))]
        return [*made, *self.passes(rest, chunked)]

    def single_uses(self, ops: Iterable[Op]) -> set[str]:
        """Elementwise values that one elementwise op reads: written into its expression, unless
        that is nested too deep.
        """
        result = set()
        nested: dict[str, int] = {}
        last = {c.last for op in walk(self.kernel.ops) if isinstance(op, Loop) for c in op.carried}
        here = [op for op in ops if not isinstance(op, Loop)]
        defined = {op.result.name: op for op in here if not isinstance(op, Store)}
        for op in here:
            if not isinstance(op, Pointwise | Reduce | Scan | Store):
                continue
            read = (op.value,) if isinstance(op, Store) else operands(op)
            for name in read:
                made = defined.get(name)
                if not isinstance(made, Pointwise) or not made.result.dims:
                    continue
                same = not isinstance(op, Pointwise) or made.result.dims == op.result.dims
                shallow = nested.get(name, 0) < MOST_NESTED
                if same and shallow and self.uses.get(name) == 1 and name not in last:
                    result.add(name)
            if not isinstance(op, Store):
                nested[op.result.name] = 1 + max(
                    (nested[n] for n in read if n in result), default=0
                )
        return result

    def passes(self, ops: Sequence[Op], chunked: str) -> Body:  # noqa: C901 (kinds of op)
        """Flat values once; values along the axis once for every level of reductions."""
        level: dict[str, int] = {}
        flat: list[tuple[int, Op]] = []
        targets: list[tuple[int, Reduce | Store]] = []
        for op in ops:
            names = used_outside(op) if isinstance(op, Loop) else operands(op)
            at = max((level.get(n, 0) for n in names), default=0)
            if isinstance(op, Loop):
                self.refuse_carried(op)
                flat.append((at, op))
                level |= {c.result.name: at for c in op.carried}
            elif isinstance(op, Store):
                along = any(self.is_chunked(n) for n in operands(op)) or any(
                    index.var == chunked for index in op.at
                )
                if along:
                    targets.append((at, op))
                else:
                    flat.append((at, op))
            elif isinstance(op, Reduce) and op.over == chunked:
                targets.append((at, op))
                level[op.result.name] = at + 1
            else:
                level[op.result.name] = at
                if chunked not in op.result.vars:
                    flat.append((at, op))
        last = max([*(n for n, _ in flat), *(n for n, _ in targets)], default=0)
        lines: Body = []
        for number_of_pass in range(last + 1):
            for at, op in flat:
                if at == number_of_pass:
                    lines += self.lines(op)
            now = [op for at, op in targets if at == number_of_pass]
            if now:
                lines += self.one_pass(now, chunked)
        return lines

    def refuse_carried(self, loop: Loop) -> None:
        for c in loop.carried:
            if self.layout.chunked in c.inside.vars:
                var = self.kernel.var(self.layout.chunked or "")
                raise refusal(
                    f"a value over all {var.extent} elements of '{var.axis}' is carried by a loop",
                    loop.line,
                    why="it does not fit in the registers of a CTA",
                    fix=f"walk axis '{var.axis}' by tiles: name it in wl.tile without whole=",
                )

    def one_pass(self, targets: Sequence[Reduce | Store], chunked: str) -> Body:
        axis = self.layout.axes[chunked]
        closure = self.closure([n for op in targets for n in operands(op)])
        sums = [op for op in targets if isinstance(op, Reduce)]
        inside: Body = [self.first_line(axis)]
        for op in closure:
            inside += self.lines(op)
        for op in targets:
            inside += self.local_sum(op) if isinstance(op, Reduce) else self.lines(op)
        before = [line for op in sums for line in self.sum_array(op)]
        before += [line for op in closure if isinstance(op, Scan) for line in self.carry(op)]
        after = [line for op in sums for line in self.meet(op)]
        loop = For(
            counter=f"pos_{chunked}",
            first=const(0),
            end=Reg(f"end_{chunked}"),
            step=const(axis.extent),
            body=tuple(inside),
        )
        return [*before, loop, *after]

    def closure(self, names: Iterable[str]) -> list[Op]:
        """The ops along the chunked axis that values are made of, in their order."""
        found: dict[str, Op] = {}
        todo = [n for n in names if self.is_chunked(n)]
        while todo:
            name = todo.pop()
            if name in found:
                continue
            op = self.made[name]
            found[name] = op
            todo += [n for n in operands(op) if self.is_chunked(n)]
        return [found[n] for n in sorted(found, key=lambda n: self.order[n])]

    def lines(self, op: Op) -> Body:
        """The statements of an op, after the line of the author's that it stands in."""
        made = self.own_lines(op)
        line = short(line_of(op))
        return [ir.Author(line=line), *made] if made and line is not None else made

    def own_lines(self, op: Op) -> Body:  # noqa: C901, PLR0911, PLR0912 (one line a kind)
        match op:
            case Const():
                return [self.scalar(op.result, constant(op))]
            case Scalar():
                dtype = next(p.dtype for p in self.kernel.parameters if p.name == op.parameter)
                self.add(ArgumentKind.SCALAR, op.parameter)
                return [self.scalar(op.result, ir.Scalar(op.parameter, dtype))]
            case Size():
                per = self.kernel.tensor(op.tensor).axis(op.axis).per
                return [self.scalar(op.result, self.blocks(op.axis, per))]
            case Position():
                return [self.scalar(op.result, pos(op.var))]
            case Whole():
                return [self.scalar(op.result, Reg(f"whole_{op.var}"))]
            case Indices() | Broadcast() | Transpose():
                return []  # read where they are used
            case Load():
                return self.load(op)
            case Pointwise():
                if op.result.name in self.inlined or self.is_same(op):
                    return []
                return self.each(op.result, self.expression(op))
            case Reduce():
                return [*self.sum_array(op), *self.local_sum(op), *self.meet(op)]
            case Scan():
                carried = () if self.is_chunked(op.result.name) else self.carry(op)
                return [*carried, *self.scan(op)]
            case Store():
                return self.store(op)
            case Loop():
                return self.loop(op)
            case _:
                raise AssertionError(op)

    def loop(self, op: Loop) -> Body:
        var = self.kernel.var(op.var)
        axis = self.layout.axes.get(op.var)
        step = axis.extent if axis is not None else var.extent or 1
        collected = {c.inside.name: partial_sums(op, c, self.uses) for c in op.carried}
        collected = {n: s for n, s in collected.items() if s and self.same_kind(s)}
        before: Body = []
        after: Body = []
        for c in op.carried:
            sums = collected.get(c.inside.name)
            if sums:
                before += self.sum_array(sums[0], c.inside.name)
                after += self.finished(c, sums[0])
            else:
                before += self.carried_lines(c)
        skipped = self.collected_ops(op, collected)
        body = self.scope([o for o in op.body if _name(o) not in skipped])
        for name, sums in collected.items():
            for reduce in sums:
                body += self.local_sum(reduce, name)
        body += self.renewed([c for c in op.carried if c.inside.name not in collected])
        stopped = f"stopped_{op.var}"
        if op.stop is not None:
            no = Number(False, DType.BOOL)
            before.append(Declare(name=stopped, dtype=DType.BOOL, value=no))
            yes = Assign(name=stopped, value=Number(True, DType.BOOL))
            body.append(If(condition=Reg(f"v_{op.stop}"), body=(yes, ir.Break())))
        places = self.step_lines(op, axis)
        if op.lists:
            walked = self.listed(op, step, [*places, *body])
        else:
            zero_ = const(0)
            first = binary(Int.MAX, zero_, Reg(f"v_{op.start}")) if op.start else zero_
            end = self.length(var.axis)
            end = binary(Int.MIN, end, Reg(f"v_{op.until}")) if op.until else end
            walked = [
                number(f"last_{op.var}", end),
                For(
                    counter=f"pos_{op.var}",
                    first=first,
                    end=Reg(f"last_{op.var}"),
                    step=const(step),
                    body=(*places, *body),
                ),
            ]
        ends = [line for c in op.carried if c.inside.name not in collected
                for line in self.result_lines(c)]  # fmt: skip
        results_ = [self.array(c.result) for c in op.carried]
        return [*results_, Scope(body=(*before, *walked, *after, *ends))]

    def same_kind(self, sums: tuple[Reduce, ...]) -> bool:
        """Whether all of them are shared by the same threads, and made in this scope."""
        kinds = {self.layout.axes[s.over].columns for s in sums}
        chunked = self.layout.chunked
        return len(kinds) == 1 and not any(
            s.over == chunked or self.is_chunked(s.arg) for s in sums
        )

    def collected_ops(self, op: Loop, collected: Mapping[str, tuple[Reduce, ...]]) -> set[str]:
        """Ops that only combine what threads collect: the reductions, and their sums."""
        result = {s.result.name for sums in collected.values() for s in sums}
        for c in op.carried:
            at = c.last
            while c.inside.name in collected and at != c.inside.name:
                result.add(at)
                made = self.made[at]
                assert isinstance(made, Pointwise)
                at = next(a for a in made.args if a not in result)
        return result

    def carried_lines(self, c: Carried) -> Body:
        first = self.at(c.first)
        if not c.inside.dims:
            return [replace(self.array(c.inside), value=first)]
        return [self.array(c.inside), *self.over(c.inside.vars, [self.put(c.inside, first)])]

    def renewed(self, carried: Sequence[Carried]) -> Body:
        """All carried values at once: one may be made of another."""
        copies: Body = []
        lines: Body = []
        renewed = {c.inside.name for c in carried}
        for c in carried:
            made_of_others = bool(self.reads(c.last) & (renewed - {c.inside.name}))
            if made_of_others:
                copies += self.each(c.inside, self.at(c.last), NEXT)
                term: Term = self.place(c.inside, NEXT)
            else:
                term = self.at(c.last)
            lines += self.over(c.inside.vars, [self.put(c.inside, term)])
        return [*copies, *lines]

    def reads(self, name: str) -> set[str]:
        """The arrays that the expression of a value reads."""
        op = self.made.get(name)
        if isinstance(op, Broadcast | Transpose):
            return self.reads(op.arg)
        if isinstance(op, Pointwise) and self.is_same(op):
            return self.reads(op.args[0])
        if isinstance(op, Pointwise) and name in self.inlined:
            return set().union(*(self.reads(a) for a in op.args))
        return {name}

    def result_lines(self, c: Carried) -> Body:
        return self.over(c.result.vars, [self.put(c.result, self.place(c.inside))])

    def finished(self, c: Carried, reduce: Reduce) -> Body:
        """After the loop: threads meet, and what the value began with is added."""
        how = ir.Join(reduce.fn, self.at(c.first), self.place(c.inside), c.inside.dtype)
        return [
            *self.meet(reduce, c.inside.name),
            *self.over(c.result.vars, [self.put(c.result, how)]),
        ]

    def step_lines(self, op: Loop, axis: ThreadAxis | None) -> Body:
        if axis is None:
            return []
        return [self.end_line(axis, Reg(f"last_{op.var}")), self.first_line(axis)]

    def listed(self, op: Loop, step: int, body: Body) -> Body:
        """The tiles of one list after the other."""
        return [line for tiles in op.lists for line in self.one_list(op, tiles, step, body)]

    def one_list(self, op: Loop, tiles: Tiles, step: int, body: Body) -> Body:
        counts, numbers = self.kernel.tensor(tiles.counts), self.kernel.tensor(tiles.tensor)
        walked = {self.kernel.var(n).axis: n for n in self.kernel.grid.vars}
        places = [pos(walked[a.name]) // a.per for a in counts.axes]

        def element(tensor: Tensor, *more: Term) -> Term:
            at = (*places, *more)
            self.strides(tensor, len(at))
            self.add(ArgumentKind.POINTER, tensor.name)
            return Decode(element_of(tensor.name, at), tensor.dtype)

        axis = self.length(self.kernel.var(op.var).axis)
        entry, here = Reg(f"entry_{op.var}"), pos(op.var)
        end = number(f"last_{op.var}", binary(Int.MIN, here + step, axis))
        first: Term = const(0)
        last = element(counts)
        if op.share is not None:
            part, parts = (Reg(f"v_{name}") for name in op.share)
            each = (binary(Int.MAX, const(0), last) + parts - 1) // parts
            first = binary(Int.MUL, part, each)
            last = binary(Int.MIN, last, (part + 1) * each)
        outside = (here < 0) | (here >= axis)
        running = ir.Not(Reg(f"stopped_{op.var}")) if op.stop is not None else None
        return [
            For(
                counter=entry.name,
                first=first,
                end=last,
                step=const(1),
                running=running,
                body=(
                    number(here.name, element(numbers, entry) * step),
                    If(condition=outside, body=(ir.Continue(),)),
                    Declare(
                        name=f"whole_{op.var}",
                        dtype=DType.BOOL,
                        value=Number(tiles.whole, DType.BOOL),
                    ),
                    end,
                    *body,
                ),
            )
        ]


def _name(op: Op) -> str | None:
    found = results(op)
    return found[0].name if len(found) == 1 and not isinstance(op, Loop) else None
