"""Reductions and running sums of thread programs: shuffles in a warp, shared memory across."""

from __future__ import annotations

from collections.abc import Callable

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import conjunction, const, select
from warploom.ir.threads import (
    Assign,
    Declare,
    For,
    If,
    Put,
    Reg,
    Scope,
    Shared,
    Statement,
    Term,
)
from warploom.ir.tile import (
    Reduce,
    Scan,
    Value,
)
from warploom.passes.body import refusal
from warploom.passes.simt_layout import (
    WARP,
)
from warploom.passes.simt_terms import (
    BEFORE,
    GROUP,
    LANE,
    MEET,
    THREAD,
    Body,
    J,
    identity,
    kind_of,
    number,
    renamed,
    unrolled,
)
from warploom.passes.simt_values import Values


@dataclass
class Reductions(Values):
    """Sums over elements of threads, in a fixed order."""

    def sum_array(self, op: Reduce, name: str | None = None) -> Body:
        """What a thread collects in, before its elements."""
        value = renamed(op.result, name)
        return self.each(value, identity(op.fn, value.dtype))

    def local_sum(self, op: Reduce, name: str | None = None) -> Body:
        """The elements of a thread that exist, collected."""
        arg = self.values[op.arg]
        made = renamed(op.result, name)
        how = ir.Join(op.fn, self.place(made), self.at(op.arg), made.dtype)
        condition = self.counts(op, arg)
        line: Statement = self.put(made, how)
        return self.over(arg.vars, [If(condition=condition, body=(line,)) if condition else line])

    def counts(self, op: Reduce, arg: Value) -> Term | None:
        """Which elements of a thread count; None where all do."""
        axis = self.layout.axes[op.over]
        per = next(d.per for d in arg.dims if d.var == op.over)
        terms = [] if self.is_full(axis) else [self.exists(op.over)]
        if per > 1:
            terms.append((self.index(op.over) % per).eq(0))
        return conjunction(terms)

    def meet(self, op: Reduce, name: str | None = None) -> Body:
        """What all threads that share the value have collected, known to each of them."""
        axis, made = self.layout.axes[op.over], renamed(op.result, name)
        place = self.place(made)
        lanes, threads = self.layout.lanes, self.layout.threads

        def joined(a: Term, b: Term) -> Term:
            return ir.Join(op.fn, a, b, made.dtype)

        first, end = (1, min(lanes, WARP)) if axis.columns else (lanes, WARP)
        shuffles: Body = []
        while first < end:
            other = ir.Shuffle(ir.Exchange.XOR, place, const(first))
            shuffles.append(self.put(made, joined(place, other)))
            first *= 2
        lines = self.over(made.vars, shuffles) if shuffles else []
        parts = lanes // WARP if axis.columns else threads // max(lanes, WARP)
        if parts <= 1:
            return lines
        # One thread of each set that knows the same writes; rows of partial results are read by
        # all that share the value.
        count, at = self.count(made.vars), Reg("at")
        again: Callable[[Term], Term]
        if axis.columns:
            sets = self.layout.groups
            mine = GROUP * parts
            writes: Term = (LANE % WARP).eq(0)
            address = (mine + LANE // WARP) * count + at
            again = lambda part: (mine + part) * count + at  # noqa: E731
        else:
            sets = min(lanes, threads)
            row = THREAD // max(lanes, WARP)
            writes = THREAD % max(lanes, WARP) < lanes
            address = (row * lanes + LANE) * count + at
            again = lambda part: (part * lanes + LANE) * count + at  # noqa: E731
        view = self.shared(kind_of(made.dtype), sets * parts * count)
        here = number("at", self.flat_index(made))
        total, part = Reg("sum"), Reg("part")
        return [
            *lines,
            Scope(
                body=(
                    view,
                    ir.Barrier(),
                    If(
                        condition=writes,
                        body=tuple(
                            self.over(made.vars, [here, Put(view=MEET, index=address, value=place)])
                        ),
                    ),
                    ir.Barrier(),
                    *self.over(
                        made.vars,
                        [
                            here,
                            Declare(
                                name="sum", dtype=made.dtype, value=Shared(MEET, again(const(0)))
                            ),
                            For(
                                counter="part",
                                first=const(1),
                                end=const(parts),
                                step=const(1),
                                body=(
                                    Assign(
                                        name="sum",
                                        value=joined(total, Shared(MEET, again(part))),
                                    ),
                                ),
                            ),
                            self.put(made, total),
                        ],
                    ),
                )
            ),
        ]

    def carry(self, op: Scan) -> Body:
        """What comes before a thread's next elements: of the parts of an axis that are done."""
        value = self.without(op.result, op.over)
        return self.each(value, identity(op.fn, value.dtype), BEFORE)

    def scan(self, op: Scan) -> Body:
        """Each thread sums its neighbours, threads exchange what they have, parts follow in order.

        A *part* of the axis is what all threads hold of it at a time: ``vector`` neighbours of
        each along columns, one element of each along rows.
        """
        value, axis = op.result, self.layout.axes[op.over]
        if axis.chunked and op.reverse:
            self.refuse_reverse(op)
        lanes, threads = self.layout.lanes, self.layout.threads
        members = lanes if axis.columns else threads // lanes  # threads that share the axis
        apart = 1 if axis.columns else lanes  # and how far they are from one another
        near = min(members, max(1, WARP // apart))  # those of them in a warp
        me = LANE if axis.columns else GROUP
        order = (near - 1) - me % near if op.reverse else me % near
        kind, empty = value.dtype, identity(op.fn, value.dtype)
        vector = axis.vector if axis.columns else 1
        before = self.place(self.without(value, op.over), BEFORE)
        index = "e" if axis.columns else "u"
        step_, part = Reg("step"), Reg("part") if op.reverse else Reg("step")
        j = (vector - 1) - J if op.reverse else J
        there = None if self.is_full(axis) else self.exists(op.over)
        element = select(there, self.at(op.arg), empty) if there is not None else self.at(op.arg)
        move = ir.Exchange.DOWN if op.reverse else ir.Exchange.UP
        total, running, first, other = Reg("sum"), Reg("whole"), Reg("first"), Reg("other")

        def joined(a: Term, b: Term) -> Term:
            return ir.Join(op.fn, a, b, kind)

        def register(name: str, term: Term) -> Statement:
            return Declare(name=name, dtype=kind, value=term)

        lines: Body = []
        if op.reverse:
            lines.append(number("part", (axis.repeat - 1) - step_))
        lines += [
            register("sum", empty),
            unrolled(
                "j",
                vector,
                [
                    number(index, part * vector + j),
                    register("x", element),
                    Assign(name="sum", value=joined(total, Reg("x"))),
                    self.put(value, total),
                ],
            ),
            register("whole", total),  # of the threads up to this one, in its warp
        ]
        step = 1
        while step < near:
            more = Assign(name="whole", value=joined(other, running))
            shuffled = ir.Shuffle(move, running, const(step * apart))
            asked = If(condition=order >= step, body=(more,))
            lines.append(Scope(body=(register("other", shuffled), asked)))
            step *= 2
        if near > 1:
            lines.append(register("first", ir.Shuffle(move, running, const(apart))))
            start = Assign(name="first", value=empty)
            lines.append(If(condition=order.eq(0), body=(start,)))
        else:
            lines.append(register("first", empty))
        parts = members // near
        if parts > 1:
            lines += self.scan_across(op, parts, near, order, me)
        elif near > 1:
            last = 0 if op.reverse else (near - 1) * apart
            own = THREAD % WARP // (near * apart) * (near * apart) + last
            own = own + THREAD % apart if apart > 1 else own
            lines.append(Assign(name="whole", value=ir.Shuffle(ir.Exchange.LANE, running, own)))
        lines += [
            Assign(name="first", value=joined(before, first)),
            unrolled(
                "j",
                vector,
                [
                    number(index, part * vector + J),
                    self.put(value, joined(first, self.place(value))),
                ],
            ),
            Assign(name=before.name, index=before.index, value=joined(before, running)),
        ]
        # Parts one after the other inside, the elements of the other axis around them.
        lines = [unrolled("step", axis.repeat, lines)]
        other_names = tuple(n for n in value.vars if n != op.over)
        return [self.array(value), *self.over(other_names, lines)]

    def scan_across(self, op: Scan, parts: int, near: int, order: Term, me: Term) -> Body:
        """Warps that share an axis tell one another their sums through shared memory."""
        value, axis = op.result, self.layout.axes[op.over]
        lanes, threads = self.layout.lanes, self.layout.threads
        empty = identity(op.fn, value.dtype)
        # Threads with the same place along the other axis share a line of sums.
        line = GROUP if axis.columns else LANE
        count = threads // lanes if axis.columns else lanes
        view = self.shared(kind_of(value.dtype), parts * count)
        mine = (parts - 1) - me // near if op.reverse else me // near
        running, first, earlier, warp = Reg("whole"), Reg("first"), Reg("earlier"), Reg("warp")

        def joined(a: Term, b: Term) -> Term:
            return ir.Join(op.fn, a, b, value.dtype)

        mine_first = Assign(name="earlier", value=running)
        return [
            Scope(
                body=(
                    view,
                    ir.Barrier(),
                    If(
                        condition=order.eq(near - 1),
                        body=(Put(view=MEET, index=mine * count + line, value=running),),
                    ),
                    ir.Barrier(),
                    Declare(name="earlier", dtype=value.dtype, value=empty),
                    Assign(name="whole", value=empty),
                    For(
                        counter="warp",
                        first=const(0),
                        end=const(parts),
                        step=const(1),
                        body=(
                            If(condition=warp.eq(mine), body=(mine_first,)),
                            Assign(
                                name="whole",
                                value=joined(running, Shared(MEET, warp * count + line)),
                            ),
                        ),
                    ),
                    Assign(name="first", value=joined(earlier, first)),
                )
            )
        ]

    def refuse_reverse(self, op: Scan) -> None:
        """Parts of an axis follow one another from its beginning."""
        var = self.kernel.var(op.over)
        raise refusal(
            f"a running sum from the end of all {var.extent} elements of '{var.axis}'",
            op.result.line,
            why="the axis does not fit in the registers of a CTA and is read from its beginning",
            fix="for sums: x.sum(axis=1) - wl.cumsum(x, axis=1) + x",
        )
