"""A kernel's ops by section, with who defines and who uses each value.

*Free* ops cost nothing worth a place in a schedule: numbers, sizes, indices, comparisons and
whatever is computed once a tile from scalars. They are written out again wherever they are used.
Everything else is a load, a product, a store or vector work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir.dataflow import When
from warploom.ir.tile import (
    Broadcast,
    Carried,
    Const,
    Dot,
    DType,
    Fn,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Store,
    Transpose,
    Value,
    Walk,
    Whole,
    line_of as line_of,  # noqa: PLC0414 (a name of this module, too)
    merges_indices,
    operands,
    results,
)
from warploom.ir.types import refusal as refusal  # noqa: PLC0414 (a name of this module, too)

MOST_WRITTEN = 200  # ops of an expression that is written out as a whole


@dataclass(frozen=True)
class Body:
    """One pipelined loop with its head and tail."""

    kernel: Kernel
    head: tuple[Op, ...]
    loop: Loop
    tail: tuple[Op, ...]

    @cached_property
    def ops(self) -> dict[str, Op]:
        """The op that defines each value (carried values: the loop)."""
        return {v.name: op for _, op in self.placed for v in results(op)}

    @cached_property
    def values(self) -> dict[str, Value]:
        """All values by name."""
        found = {v.name: v for _, op in self.placed for v in results(op)}
        return found | {c.inside.name: c.inside for c in self.loop.carried}

    @cached_property
    def sections(self) -> dict[str, When]:
        """Where each value is defined; a loop's results count as the tail's."""
        found = {v.name: when for when, op in self.placed for v in results(op)}
        found |= {c.inside.name: When.LOOP for c in self.loop.carried}
        return found | {c.result.name: When.TAIL for c in self.loop.carried}

    @cached_property
    def inside(self) -> dict[str, Carried]:
        """Carried values by the name they have in the loop."""
        return {c.inside.name: c for c in self.loop.carried}

    @cached_property
    def after(self) -> dict[str, Carried]:
        """Carried values by the name they have after the loop."""
        return {c.result.name: c for c in self.loop.carried}

    @cached_property
    def users(self) -> dict[str, list[tuple[When, Op]]]:
        """Who reads each value."""
        result: dict[str, list[tuple[When, Op]]] = {name: [] for name in self.values}
        for when, op in self.placed:
            if not isinstance(op, Loop):
                for name in operands(op):
                    result[name].append((when, op))
        return result

    @cached_property
    def placed(self) -> tuple[tuple[When, Op], ...]:
        """All ops with their section; the loop itself between head and tail."""
        return (
            *((When.HEAD, op) for op in self.head),
            (When.LOOP, self.loop),
            *((When.LOOP, op) for op in self.loop.body),
            *((When.TAIL, op) for op in self.tail),
        )

    def section(self, when: When) -> tuple[Op, ...]:
        """The ops of a section."""
        return {When.HEAD: self.head, When.LOOP: self.loop.body, When.TAIL: self.tail}[when]

    def is_free(self, name: str) -> bool:
        """Whether a value is written out where it is used instead of being kept."""
        return self._known("free", name, self._is_free)

    @cached_property
    def _answers(self) -> dict[str, dict[str, bool]]:
        """What is known of values, by question. Values form a graph in which the same ones are
        reached on many paths: each question about a value is answered once.
        """
        return {}

    @cached_property
    def analyses(self) -> dict[Hashable, Any]:
        """Results of analyses of this body, each made once; by what asks for them."""
        return {}

    def _known(self, question: str, name: str, answer: Callable[[str], bool]) -> bool:
        """An answer; all values are asked in the order of the kernel, so that what an answer
        depends on is known and chains of any length need no deep recursion.
        """
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = {}
            for earlier in self.ops:
                if earlier not in known:
                    known[earlier] = answer(earlier)
        if name not in known:
            known[name] = answer(name)
        return known[name]

    def _is_free(self, name: str) -> bool:  # noqa: PLR0911 (one line a kind)
        op = self.ops.get(name)
        if name in self.inside or name in self.after or op is None:
            return False
        value = self.values[name]
        if isinstance(op, Const | Scalar | Size | Position | Indices | Whole | Transpose):
            return True
        if isinstance(op, Broadcast):
            return self.is_free(op.arg)
        if isinstance(op, Reduce):
            return is_end(op, self.ops.get(op.arg))
        if isinstance(op, Load):
            return len(value.dims) < 2 or self.is_picked(op)  # read from global memory where used
        if isinstance(op, Pointwise):
            whole = value.dtype in (DType.I32, DType.BOOL) or len(value.dims) < 2
            outer = op.fn is Fn.MUL and all(len(self.values[a].dims) < 2 for a in op.args)
            if (whole or outer) and all(self.is_free(a) for a in op.args):
                return True
            return self.is_line(name) or self.is_distance(name)
        return False

    @cached_property
    def _weights(self) -> dict[str, int]:
        result: dict[str, int] = {}
        for name, op in self.ops.items():
            inner = operands(op) if isinstance(op, Pointwise | Broadcast | Transpose) else ()
            result[name] = min(1 + sum(result.get(n, 1) for n in inner), 2 * MOST_WRITTEN)
        return result

    def is_heavy(self, name: str) -> bool:
        """Whether an expression would be too long, were all it is made of written out in it."""
        return self._weights.get(name, 1) > MOST_WRITTEN

    def is_line(self, name: str) -> bool:
        """A tile of numbers that rise evenly along its columns: one instruction an element."""
        value = self.values[name]
        if value.dtype is not DType.F32 or not value.dims:
            return False
        return len(value.dims) <= 2 and self._rises(name, value.vars[-1])

    def is_distance(self, name: str) -> bool:
        """The absolute value of such a tile, where whole numbers are converted."""
        op = self.ops.get(name)
        if not isinstance(op, Pointwise) or op.fn is not Fn.CAST or not self._is_loose(op):
            return False
        inner = self.ops.get(op.args[0])
        return (
            isinstance(inner, Pointwise)
            and inner.fn is Fn.ABS
            and self._rises(inner.args[0], op.result.vars[1])
        )

    def _is_loose(self, op: Pointwise) -> bool:
        return op.result.dtype is DType.F32 and len(op.result.dims) == 2

    def _rises(self, name: str, cols: str) -> bool:
        """Whether a value is a number of its row, plus a number of the tile times the column."""
        return self._known(f"rises along {cols}", name, lambda n: self._rises_there(n, cols))

    def _rises_there(self, name: str, cols: str) -> bool:  # noqa: PLR0911 (one line a kind)
        op, value = self.ops.get(name), self.values[name]
        if cols not in value.vars:
            return self.is_free(name)
        if isinstance(op, Indices):
            return True
        if isinstance(op, Broadcast):
            return self._rises(op.arg, cols)
        if not isinstance(op, Pointwise) or name in self.inside or name in self.after:
            return False
        if self.is_heavy(name) or value.dtype not in (DType.I32, DType.F32):
            return False
        if op.fn in (Fn.MUL, Fn.DIV):  # by a number of the tile
            moving = [a for a in op.args if cols in self.values[a].vars]
            rest = [a for a in op.args if not self.values[a].dims]
            if len(moving) + len(rest) != len(op.args) or len(moving) != 1:
                return False
            whole = value.dtype is DType.I32
            if op.fn is Fn.DIV and (whole or moving != [op.args[0]]):
                return False
        elif op.fn not in (Fn.ADD, Fn.SUB, Fn.NEG, Fn.CAST):
            return False
        return all(self._rises(a, cols) for a in op.args)

    def is_picked(self, op: Load) -> bool:
        """Whether elements of a tensor are read one by one: a function captured it, or several
        indices extend over one variable.
        """
        captured = self.kernel.tensor(op.tensor).captured
        return captured or merges_indices(op.at, {n: v.dims for n, v in self.values.items()})

    def is_inline(self, name: str) -> bool:
        """Whether a value is computed wherever it is used: free, or a tile times a scalar."""
        return self._known("inline", name, self._is_inline)

    def _is_inline(self, name: str) -> bool:
        return self.is_free(name) or self.is_cheap(name) or self.is_whole(name)

    def is_whole(self, name: str) -> bool:
        """Whole numbers made of loaded ones: unpacked anew wherever they are used."""
        op = self.ops.get(name)
        if not isinstance(op, Pointwise) or op.result.dtype is not DType.I32:
            return False
        return all(
            self.is_inline(a) or self.values[a].dtype in (DType.I8, DType.I4) for a in op.args
        )

    def is_cheap(self, name: str) -> bool:
        """A tile of the loop times a scalar: one instruction, often none beside an addition."""
        op = self.ops.get(name)
        if not (isinstance(op, Pointwise) and op.fn is Fn.MUL and len(op.result.dims) == 2):
            return False
        if name in self.inside or any(name in (c.first, c.last) for c in self.loop.carried):
            return False
        users = [u for _, u in self.users[name]]
        if not all(isinstance(u, Pointwise | Reduce) for u in users):
            return False
        return any(not self.values[a].dims and self.is_free(a) for a in op.args)

    def through(self, name: str) -> tuple[str, bool]:
        """The value a transposed view shows, and whether it is transposed."""
        op = self.ops.get(name)
        if isinstance(op, Transpose):
            inner, flipped = self.through(op.arg)
            return inner, not flipped
        return name, False

    def is_lowest(self, name: str) -> bool:
        """Whether a value is -inf."""
        op = self.ops.get(name)
        if isinstance(op, Broadcast):
            return self.is_lowest(op.arg)
        return isinstance(op, Const) and op.value == float("-inf")

    def varies(self, name: str) -> bool:
        """Whether elements of a value may differ: it is more than a number, spread."""
        op = self.ops.get(name)
        return self.varies(op.arg) if isinstance(op, Broadcast) else bool(self.values[name].dims)

    def is_zero(self, name: str) -> bool:
        """Whether a value is the constant 0."""
        op = self.ops.get(name)
        if isinstance(op, Broadcast):
            return self.is_zero(op.arg)
        return isinstance(op, Const) and op.value == 0

    def is_vector_work(self, op: Op) -> bool:
        """Whether an op is arithmetic that a step must do."""
        if isinstance(op, Pointwise | Reduce | Broadcast):
            return not self.is_inline(op.result.name)
        return False


def body_of(kernel: Kernel) -> Body:
    """The sections of a kernel with one loop."""
    loops = [i for i, op in enumerate(kernel.ops) if isinstance(op, Loop)]
    if len(loops) != 1:
        raise refusal(
            "a tile without a loop" if not loops else f"{len(loops)} loops in one tile",
            kernel.line,
            why="a tile has one pipelined loop on this target",
            fix="walk an axis by steps: for n in wl.steps(x.n):"
            if not loops
            else "one loop a kernel",
        )
    at = loops[0]
    loop = kernel.ops[at]
    assert isinstance(loop, Loop)
    if _is_whole(kernel, loop):
        loop = replace(loop, until=None)
    return Body(kernel=kernel, head=kernel.ops[:at], loop=loop, tail=kernel.ops[at + 1 :])


def _is_whole(kernel: Kernel, loop: Loop) -> bool:
    """Whether the loop's end is that of its axis."""
    found = next(
        (op for op in kernel.ops if isinstance(op, Size) and op.result.name == loop.until), None
    )
    return found is not None and found.axis == kernel.var(loop.var).axis


def is_end(op: Reduce, of: Op | None) -> bool:
    """Whether a reduction is the first or last element a tile has: a number of the tile."""
    return isinstance(of, Indices) and op.fn in (Fn.MAX, Fn.MIN)


def other_extent(kernel: Kernel, var: str, step: int, most: int | None = None) -> str:
    """How an author gets another extent: pinned, or of a padded axis where all of it is a tile."""
    found = kernel.var(var)
    upto = f" up to {most}" if most else ""
    if found.walk is not Walk.WHOLE or found.extent is None:
        return f"an extent of {var} that is a multiple of {step}{upto}: .with_config({var}={step})"
    padded = -(-found.extent // step) * step
    if most and padded > most:
        return (
            f"tiles of '{found.axis}' instead of all {found.extent} elements: wl.tile or wl.steps"
            f" over it, a multiple of {step}{upto} at a time"
        )
    return f"pad axis '{found.axis}' to {padded} elements with zeros"


def made_by(op: Op) -> str | None:
    """The name of the value an op defines; None for stores and loops."""
    return None if isinstance(op, Loop | Store) else op.result.name


def only_products(body: Body) -> bool:
    """Whether the loop does nothing but load tiles and multiply them."""
    return all(isinstance(op, Load | Transpose | Dot) for op in body.loop.body)
