"""Thread layout of kernels without matrix products: which threads hold which elements of a tile.

Every variable that values extend over is mapped to the *rows* or to the *columns* of the thread
block, so that no value has two axes of one kind. ``lanes`` neighbouring threads share the columns:
each holds ``vector`` neighbouring elements, ``repeat`` times. ``groups`` sets of lanes share the
rows. Columns are those along which most accesses are contiguous in memory.

A whole axis that is too long for registers is *chunked*: the kernel passes over it once for every
level of reductions along it, and computes its values again in each pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.ir.tile import (
    Access,
    At,
    Carried,
    Dot,
    DType,
    Kernel,
    Line,
    Load,
    Loop,
    Op,
    Reduce,
    Store,
    Value,
    Var,
    Walk,
    is_number,
    operands,
    results,
    walk,
)
from warploom.passes.body import refusal

WARP = 32
THREADS = 256
# Elements that the live values of a thread may have together, by threads of a CTA: a thread of 256
# has up to 255 registers, one of 1024 up to 64.
REGISTER_ELEMENTS = {32: 96, 64: 96, 128: 96, 256: 96, 512: 64, 1024: 24}
VECTOR_BYTES = 16
MOST_ELEMENTS = 64  # of an axis in one thread
TRANSPOSED_LANES = 8
STREAMED_ROWS = 4  # rows of a thread in a loop along rows: loads in flight


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadAxis:
    """How threads share one variable.

    ``extent``: elements of a tile, step or chunk. ``vector`` neighbours of a thread, ``repeat``
    times. ``chunked``: the extent is a part of a whole axis.
    """

    var: str
    columns: bool
    extent: int
    vector: int
    repeat: int
    chunked: bool = False

    @property
    def elements(self) -> int:
        """Elements of a thread."""
        return self.vector * self.repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadLayout:
    """The threads of a CTA and the axes they share."""

    threads: int
    lanes: int
    axes: Mapping[str, ThreadAxis]

    @property
    def groups(self) -> int:
        """Sets of lanes, which share the rows."""
        return self.threads // self.lanes

    @property
    def chunked(self) -> str | None:
        """The axis that several passes go over."""
        return next((a.var for a in self.axes.values() if a.chunked), None)


def has_products(kernel: Kernel) -> bool:
    """Whether a kernel multiplies matrices."""
    return any(isinstance(op, Dot) for op in walk(kernel.ops))


def every_value(kernel: Kernel) -> list[Value]:
    """All values of a kernel, those carried by loops included."""
    result = []
    for op in walk(kernel.ops):
        if isinstance(op, Loop):
            result += [v for c in op.carried for v in (c.inside, c.result)]
        else:
            result += results(op)
    return result


def _vars_of(index: At, values: Mapping[str, Value]) -> tuple[str, ...]:
    if index.value is not None:
        return values[index.value].vars
    return (index.var,) if index.var else ()


def layout_threads(
    kernel: Kernel, sizes: Mapping[str, int], pins: Mapping[str, object] | None = None
) -> ThreadLayout:
    """The layout for a kernel; ``sizes`` of axes steer it, ``pins`` name extents."""
    _check(kernel)
    return _Planner(kernel, sizes, dict(pins or {})).layout()


def _check(kernel: Kernel) -> None:
    for tensor in kernel.tensors:
        if tensor.blocked or tensor.access is Access.TURNS:
            raise refusal(
                f"'{tensor.name}' is {'in blocks' if tensor.blocked else 'a counter of turns'}, in "
                "a kernel without matrix products",
                kernel.line,
                why="its threads move rows of elements; blocks and turns belong to accumulators",
                fix=f"{tensor.name}: a tensor that lies row by row",
            )
    used = {op.tensor for op in walk(kernel.ops) if isinstance(op, Load | Store)}
    for tensor in kernel.tensors:
        if tensor.dtype is DType.I4 and tensor.name in used:
            raise refusal(
                f"'{tensor.name}' of type i4 in a kernel without matrix products",
                kernel.line,
                why="threads address whole bytes",
                fix="two elements of i4 as one of i8: low nibble (b << 28) >> 28, high b >> 4",
            )


class _Planner:
    def __init__(self, kernel: Kernel, sizes: Mapping[str, int], pins: dict[str, object]) -> None:
        self.kernel, self.sizes, self.pins = kernel, sizes, pins
        self.ops = tuple(walk(kernel.ops))
        self.values = {v.name: v for v in every_value(kernel)}
        self.accesses = [op for op in self.ops if isinstance(op, Load | Store)]
        extending = {d.var for v in self.values.values() for d in v.dims}
        extending |= {n for op in self.accesses for index in op.at for n in self.index_vars(index)}
        self.vars = [v for v in kernel.vars if v.name in extending and not is_number(v)]

    def index_vars(self, index: At) -> tuple[str, ...]:
        return _vars_of(index, self.values)

    # ---- rows and columns ----------------------------------------------------------------------

    def layout(self) -> ThreadLayout:
        columns = self.columns()
        threads, lanes, repeats = self.threads(columns)
        axes = {}
        for var in self.vars:
            mine = var.name in columns
            share = lanes if mine else threads // lanes
            vector = self.vector(var) if mine else 1
            extent = self.extent(var)
            chunked = False
            if extent is None:
                repeat = repeats.get(var.name, 1)
                extent = self.pinned(var) or share * vector * repeat
            elif mine and var.name in repeats:
                repeat, chunked = repeats[var.name], True
                extent = share * vector * repeat
            repeat = -(-extent // (share * vector))
            if repeat * vector > MOST_ELEMENTS:
                raise self.too_long(var, extent)
            axes[var.name] = ThreadAxis(
                var=var.name,
                columns=mine,
                extent=extent,
                vector=vector,
                repeat=repeat,
                chunked=chunked,
            )
        return ThreadLayout(threads=threads, lanes=lanes, axes=axes)

    def columns(self) -> frozenset[str]:
        """The variables that lanes share: a colouring of the variables that meet in a value."""
        names = [v.name for v in self.vars]
        beside: dict[str, set[str]] = {n: set() for n in names}
        lines: dict[frozenset[str], Line | None] = {}
        shapes = [(tuple(n for n in v.vars if n in beside), v.line) for v in self.values.values()]
        shapes += [(self.shape(op), _line(op)) for op in self.accesses]
        for shape, line in shapes:
            for a in shape:
                beside[a] |= set(shape) - {a}
                for b in shape:
                    lines.setdefault(frozenset((a, b)), line)
        votes = self.votes()
        found: set[str] = set()
        seen: dict[str, int] = {}
        for first in names:
            if first in seen:
                continue
            sides: tuple[list[str], list[str]] = ([], [])
            self.colour(first, 0, beside, seen, sides, lines)
            weight = [sum(votes.get(n, 0) for n in side) for side in sides]
            # Of equal votes the axis that stands last in its values.
            later = max(sides[0] + sides[1], key=names.index) in sides[1]
            found |= set(sides[weight[1] > weight[0] or (weight[0] == weight[1] and later)])
        return frozenset(found)

    def colour(
        self,
        name: str,
        side: int,
        beside: Mapping[str, set[str]],
        seen: dict[str, int],
        sides: tuple[list[str], list[str]],
        lines: Mapping[frozenset[str], Line | None],
    ) -> None:
        seen[name] = side
        sides[side].append(name)
        for other in sorted(beside[name]):
            if other not in seen:
                self.colour(other, 1 - side, beside, seen, sides, lines)
            elif seen[other] == side:
                raise refusal(
                    f"a value over '{name}' and '{other}' in a kernel without matrix products",
                    lines.get(frozenset((name, other))) or self.kernel.line,
                    why="each axis of a tile lies along rows or along columns of the threads, and "
                    "through other values of this kernel these two lie the same way",
                    fix=f"walk one of the axes by steps of one element: for {other} in "
                    f"wl.steps(x.{self.kernel.var(other).axis}, 1):",
                )

    def shape(self, op: Load | Store) -> tuple[str, ...]:
        every = {n for index in op.at for n in self.index_vars(index)}
        return tuple(v.name for v in self.vars if v.name in every)

    def votes(self) -> dict[str, int]:
        """How many bytes of accesses are contiguous along a variable, in a rough scale."""
        result: dict[str, int] = {}
        for op in self.accesses:
            last = op.at[-1]
            if last.var is None:
                continue
            many = 8 if len(self.shape(op)) > 1 else 1
            result[last.var] = result.get(last.var, 0) + many + isinstance(op, Store) * (many > 1)
        return result

    # ---- extents -------------------------------------------------------------------------------

    def extent(self, var: Var) -> int | None:
        return var.extent

    def pinned(self, var: Var) -> int | None:
        found = self.pins.get(var.name)
        return found if isinstance(found, int) else None

    def size(self, var: Var) -> int | None:
        return var.extent or self.pinned(var) or self.sizes.get(var.axis)

    def vector(self, var: Var) -> int:
        """Neighbouring elements of a thread: 16 bytes of the narrowest tensor, if they exist."""
        bits = [
            self.kernel.tensor(op.tensor).dtype.bits
            for op in self.accesses
            if op.at[-1].var == var.name
        ]
        vector = VECTOR_BYTES * 8 // max(8, min(bits, default=32))
        limit = self.size(var)
        while limit is not None and vector > 1 and vector // 2 >= limit:
            vector //= 2
        fixed = var.extent if var.walk is not Walk.WHOLE else self.pinned(var)
        while fixed is not None and fixed % vector:
            vector //= 2
        return vector

    def live(self, name: str) -> int:
        """Values along a variable that are alive at once, if operations run in order."""
        last: dict[str, int] = {}
        for i, op in enumerate(self.ops):
            for operand in operands(op):
                last[operand] = i
        alive: dict[str, int] = {}
        most = 1
        for i, op in enumerate(self.ops):
            for value in results(op):
                if name in value.vars and not isinstance(op, Loop):
                    alive[value.name] = last.get(value.name, i)
            most = max(most, len(alive))
            alive = {n: end for n, end in alive.items() if end > i}
        carried = [c for op in self.ops if isinstance(op, Loop) for c in op.carried]
        return most + sum(name in c.inside.vars for c in carried)

    def threads(self, columns: frozenset[str]) -> tuple[int, int, dict[str, int]]:
        """Threads of a CTA, lanes of a row, and repeats of axes whose extent is free or cut."""
        mine = [v for v in self.vars if v.name in columns]
        rows = [v for v in self.vars if v.name not in columns]
        fixed = [v for v in mine if v.extent is not None]
        repeats = self.row_repeats(rows)
        if not fixed:
            return *self.free(mine, rows), repeats
        wide = max(fixed, key=lambda v: -(-(v.extent or 1) // self.vector(v)))
        vector, extent = self.vector(wide), wide.extent or 1
        live = self.live(wide.name) * max([1, *repeats.values()])
        needed = -(-extent // vector)
        # Where there are no rows, no thread has the elements of another.
        shared = [(THREADS, 1 << n) for n in range(9)] if rows else []
        tried = shared or [(1 << n, 1 << n) for n in range(5, 9)]
        tried += [(512, 512), (1024, 1024)]
        for threads, lanes in tried:
            elements = -(-needed // lanes) * vector
            least = lanes <= WARP and lanes >= needed
            if elements <= vector * 2 and elements * live <= REGISTER_ELEMENTS[threads]:
                return threads, lanes, repeats
            if least:
                return threads, lanes, repeats
        for threads, lanes in tried:
            elements = -(-needed // lanes) * vector
            if elements * live <= REGISTER_ELEMENTS[threads] and elements <= MOST_ELEMENTS:
                return threads, lanes, repeats
        if wide.walk is not Walk.WHOLE:
            return 1024, 1024, repeats
        return 512, 512, {**repeats, wide.name: 1}

    def row_repeats(self, rows: list[Var]) -> dict[str, int]:
        """Rows of a thread where a loop goes along rows: their loads are in flight together."""
        return {v.name: STREAMED_ROWS for v in rows if v.walk is Walk.STEP and v.extent is None}

    def free(self, mine: list[Var], rows: list[Var]) -> tuple[int, int]:
        """Threads and lanes where every extent of the columns may be chosen."""
        if not mine:
            return THREADS, 1
        needed = [-(-s // self.vector(v)) for v in mine if (s := self.size(v)) is not None]
        most = 1
        while needed and most < min(THREADS, max(needed)):
            most *= 2
        most = most if needed else THREADS
        if not rows:  # no thread has the elements of another
            lanes = max(WARP, min(THREADS, most))
            return lanes, lanes
        sums = any(isinstance(op, Reduce) and op.over in {v.name for v in rows} for op in self.ops)
        streamed = any(v.walk is Walk.STEP for v in rows)
        turned = any(
            op.at[-1].var in {v.name for v in rows} and len(self.shape(op)) > 1
            for op in self.accesses
        )
        lanes = TRANSPOSED_LANES if turned or sums or streamed else WARP
        return THREADS, min(lanes, most)

    def too_long(self, var: Var, extent: int) -> Exception:
        fixed = self.pinned(var)
        if fixed is not None:
            return ConfigError(
                f"extent {var.name}={fixed}",
                where=f"kernel {self.kernel.name}",
                why=f"a thread holds at most {MOST_ELEMENTS} elements of an axis",
                fix=f"a smaller extent of {var.name}",
            )
        how = {
            Walk.WHOLE: f"all {extent} elements of axis '{var.axis}' across the contiguous one",
            Walk.STEP: f"steps of {extent} elements along '{var.name}'",
        }.get(var.walk, f"tiles of {extent} elements of '{var.name}'")
        return refusal(
            f"{how}, in a kernel without matrix products",
            self.line_of(var),
            why=f"a thread holds at most {MOST_ELEMENTS} elements of an axis in registers",
            fix=f"for {var.axis} in wl.steps(x.{var.axis}):"
            if var.walk is Walk.WHOLE
            else f"steps of at most {MOST_ELEMENTS * 64} elements",
        )

    def line_of(self, var: Var) -> Line | None:
        lines = (v.line for v in self.values.values() if var.name in v.vars)
        return next(lines, None) or self.kernel.line


def _line(op: Load | Store) -> Line | None:
    return op.line if isinstance(op, Store) else op.result.line


def used_outside(loop: Loop) -> frozenset[str]:
    """Names that a loop reads and does not make itself."""
    made: set[str] = {c.inside.name for c in loop.carried}
    used: set[str] = set(operands(loop))
    for op in walk(loop.body):
        used |= set(operands(op))
        if isinstance(op, Loop):
            made |= {v.name for c in op.carried for v in (c.inside, c.result)}
            used |= {c.last for c in op.carried} | ({op.stop} if op.stop else set())
        else:
            made |= {v.name for v in results(op)}
    used |= {c.last for c in loop.carried} | ({loop.stop} if loop.stop else set())
    return frozenset(used - made)


def partial_sums(loop: Loop, carried: Carried, uses: Mapping[str, int]) -> tuple[Reduce, ...]:
    """The reductions that a carried value only collects: ``acc += x.sum(axis=0)``.

    Each thread then collects its own elements, and threads meet after the loop.
    """
    made = {v.name: op for op in loop.body if not isinstance(op, Loop) for v in results(op)}
    found: list[Reduce] = []
    at = carried.last
    while at != carried.inside.name:
        op = made.get(at)
        fn = getattr(op, "fn", None)
        args: tuple[str, ...] = getattr(op, "args", ())
        if len(args) != 2 or (found and fn is not found[0].fn) or uses.get(at, 0) != 1:
            return ()
        sums = [made.get(a) for a in args]
        which = [isinstance(s, Reduce) and s.fn is fn and uses.get(a) == 1
                 for s, a in zip(sums, args, strict=True)]  # fmt: skip
        if sum(which) != 1:
            return ()
        reduce = sums[which.index(True)]
        assert isinstance(reduce, Reduce)
        if reduce.result.dims != carried.inside.dims:
            return ()
        found.append(reduce)
        at = args[which.index(False)]
    if uses.get(carried.inside.name, 0) != 1:
        return ()
    return tuple(found)


def count_uses(ops: Iterable[Op]) -> dict[str, int]:
    """How often each value is read."""
    result: dict[str, int] = {}
    for op in walk(tuple(ops)):
        names = list(operands(op))
        if isinstance(op, Loop):
            names += [c.last for c in op.carried]
            names += [op.stop] if op.stop else []
        for name in names:
            result[name] = result.get(name, 0) + 1
    return result
