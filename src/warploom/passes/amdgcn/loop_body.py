"""``LoopBody``: one iteration of a tile kernel's loop as ops of a schedule, and their values.

A tile that the loop loads goes to LDS by DMA, once an iteration, and from there into registers in
the layout that its user wants: operands of matrix instructions, or vectors beside accumulators.
Matrix instructions work on pieces of accumulators; vector work on the same pieces. What an op takes
and makes is read off the kernel, so that edges, storage and prices follow from it.

An operand that other products make and that does not lie in registers as matrix instructions take
it goes through LDS: every wave writes its part there, and reads the rows it needs. What the loop
stores is written from registers, whole tiles only.

A loop that has no such form (a reduction crosses waves, rows are chosen in it) is
``UnscheduledError``: it keeps the plain loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from warploom.ir import tile as ir
from warploom.ir.dataflow import SETUP, STORE, WAVE, Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.elementwise import functions
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, OpTag, ResourceKind
from warploom.ir.tile import DType, Fn, Line, Op, Walk, is_number, operands, results
from warploom.ir.types import short
from warploom.passes.amdgcn.layout import LANES, MFMA, AxisMap, Layout, count_of
from warploom.passes.amdgcn.numbers import PAIRED
from warploom.passes.amdgcn.plan import TilePlan, contracted
from warploom.targets.amdgcn import MatrixInstruction
from warploom.targets.mi355x import mi355x

CHUNK = 16  # bytes a lane moves at a time
WORD = 4
FIRST_CHANNEL = 2  # further channels carry their own counts
MOST_PRODUCTS = 32  # matrix instructions of an op, about
MOST_REGISTERS = 256  # that hold the values of an iteration, all of them at once
MOST_EXCHANGED = 320  # where operands go through LDS: few of those live at the same time
TEMPORARIES = 32  # registers that vector work takes on top; with fewer left, loops were spilled
MOST_HELD = 192  # accumulators of a lane
FEW_TILES = 4  # of a piece that vector work takes part by part
SWIZZLED = 8  # rows after which the order of chunks repeats
STORED = 4  # elements a lane writes to LDS at a time: a run of accumulators
MOVES = (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE)
_SLOW = functions(lambda row: row.cost.mufu)
_UNIT = {
    OpRole.GLOBAL_LOAD: ResourceKind.GLOBAL_MEM,
    OpRole.FRAGMENT_LOAD: ResourceKind.LDS,
    OpRole.SHARED_STORE: ResourceKind.LDS,
    OpRole.COMPUTE: ResourceKind.MMA_UNIT,
    OpRole.VALU_COMPUTE: ResourceKind.VALU,
}
Key = tuple[str, Layout]  # a value of the kernel in a layout


class UnscheduledError(Exception):
    """Why a loop has no pipelined form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A tile in LDS: rows of contiguous bytes, or one number a row, or one number (then ``row`` is
    empty).

    ``load`` brings it from memory; without one waves write what they have computed. ``per``:
    elements of the column's variable that share one element of memory. ``picked``: the number,
    loaded by the loop, too, that one of the load's indices is (the page of a tile).
    """

    channel: int
    value: ir.Value
    load: ir.Load | None
    row: str
    column: str
    rows: int
    row_bytes: int
    threads: int
    per: int = 1
    columns: int = 1  # elements of the column's variable
    picked: str = ""

    @property
    def wide(self) -> bool:
        """Whether a lane moves 16 bytes of a row; else one word."""
        return bool(self.column)

    @property
    def chunks(self) -> int:
        """Chunks of a row."""
        return self.row_bytes // CHUNK if self.wide else 1

    @property
    def moved(self) -> int:
        """Bytes a lane moves at a time."""
        return CHUNK if self.wide else WORD

    @property
    def instructions(self) -> int:
        """Loads of a thread for one tile."""
        return -(-self.rows * self.chunks // self.threads)

    @property
    def slot_bytes(self) -> int:
        """LDS of one copy; what lanes beyond the last chunk move is written after it."""
        if self.load is None:
            return self.rows * self.row_bytes
        return self.instructions * self.threads * self.moved

    @property
    def swizzle(self) -> tuple[int, int]:
        """Shift and mask of the row that exchanges its chunks (XOR)."""
        even = self.chunks & -self.chunks
        mask = min(even, SWIZZLED) - 1
        shift = max(0, (SWIZZLED // max(1, min(even, SWIZZLED))).bit_length() - 1)
        return shift, mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A value in a layout that an op needs, put together from some of what it takes."""

    key: Key
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyOp:
    """An op of one iteration.

    ``takes`` and ``makes`` are values of the schedule; ``taken`` and ``made`` say which value of
    the kernel each is, in which layout; ``wants`` what the op needs them as. Further: the
    ``transfer`` of a load, read or write of LDS, the ``store`` to memory, the number that one
    ``picks`` for addresses, the ``product`` of matrix instructions, the ``steps`` of vector
    work; ``count`` instructions, or ``cycles`` of a wave.
    """

    name: str
    index: int
    role: OpRole
    takes: tuple[FlowOperand, ...] = ()
    taken: tuple[Key, ...] = ()
    makes: tuple[str, ...] = ()
    made: tuple[Key, ...] = ()
    wants: tuple[Wanted, ...] = ()
    transfer: Transfer | None = None
    store: ir.Store | None = None
    picks: str = ""
    product: Product | None = None
    steps: tuple[Op, ...] = ()
    piece: Layout = ()
    count: int = 1
    cycles: int = 0
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of the loop: its instruction, the map of K, and both sides by variable."""

    dot: ir.Dot
    k: str
    matrix: MatrixInstruction
    lane: str
    register: str
    along: AxisMap
    sides: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedPieces:
    """The pieces of a carried value: their layouts and homes."""

    carried: ir.Carried
    keys: tuple[Key, ...]
    homes: tuple[str, ...]
    last: tuple[Key, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBody:
    """The ops of an iteration, in an order that computes it, and where values live."""

    ops: tuple[BodyOp, ...]
    flow: Flow
    homes: Mapping[str, str]  # by value
    sizes: Mapping[str, int]  # registers, by home
    static: int  # registers of what is the same in all iterations
    transfers: tuple[Transfer, ...]
    carried: tuple[CarriedPieces, ...]
    vectors: Mapping[str, AxisMap]

    @property
    def crowded(self) -> bool:
        """Whether vector work has few registers left beside the values: such loops mostly spill."""
        vector = any(op.role is OpRole.VALU_COMPUTE for op in self.ops)
        return vector and sum(self.sizes.values()) + self.static > MOST_REGISTERS - TEMPORARIES

    @property
    def exchanges(self) -> bool:
        """Whether operands that the loop computes go through LDS."""
        return any(t.load is None for t in self.transfers)

    def described(self) -> tuple[OpDesc, ...]:
        """The ops as a schedule has them."""
        tags = {n: OpTag(i, n) for i, n in enumerate(dict.fromkeys(op.name for op in self.ops))}
        return tuple(_described(op, tags[op.name], self) for op in self.ops)


def _described(op: BodyOp, tag: OpTag, body: LoopBody) -> OpDesc:
    homes = {body.homes[v] for v in op.makes}
    return OpDesc(
        tag=tag,
        subtile=op.index,
        role=op.role,
        resource=ResourceKind.GLOBAL_MEM if op.store else _UNIT[op.role],
        channel=op.transfer.channel if op.transfer else -1,
        vgpr_def=sum(body.sizes.get(h, 0) for h in homes),
        vm_cost=op.count if op.role is OpRole.GLOBAL_LOAD else 0,
        lgkm_cost=op.count if op.role in (OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE) else 0,
        k_offset=KOffsetKind.NONE,
    )


def operand_map(matrix: MatrixInstruction, extent: int) -> AxisMap:
    """Which K of an operand a lane holds: runs as wide as its reads from LDS."""
    run = matrix.k // (LANES // MFMA) // matrix.reads
    apart = matrix.k // matrix.reads
    offsets = tuple(t + i for t in range(0, extent, apart) for i in range(run))
    return AxisMap(offsets=offsets, lane=(MFMA, LANES // MFMA, run), run=run)


def operand_rows(axis: AxisMap, tiles: Iterable[int]) -> AxisMap:
    """Operand rows of some matrix instructions along an axis of accumulators."""
    return AxisMap(offsets=tuple(MFMA * t for t in tiles), lane=(1, MFMA, 1), wave=axis.wave)


def cut(axis: AxisMap, parts: int) -> tuple[AxisMap, ...]:
    """An axis in equal parts of its registers."""
    each = axis.count // parts
    return tuple(
        replace(axis, offsets=axis.offsets[i * each : (i + 1) * each]) for i in range(parts)
    )


def restricted(layout: Layout, variables: Iterable[str]) -> Layout:
    """The part of a layout that a value of fewer variables has."""
    own = set(variables)
    return tuple((v, m) for v, m in layout if v in own)


def loop_body(plan: TilePlan, loop: ir.Loop) -> LoopBody:
    """The ops of a loop. Raises ``UnscheduledError`` with the reason where it has no such form."""
    return _Builder(plan, loop).build()


class _Builder:
    """Reads a loop and collects its ops."""

    def __init__(self, plan: TilePlan, loop: ir.Loop) -> None:
        self.plan, self.loop = plan, loop
        self.made: dict[str, Op] = {v.name: op for op in loop.body for v in results(op)}
        self.inside = {c.inside.name: c for c in loop.carried}
        self.lasts = {c.last: c for c in loop.carried}
        self.ops: list[BodyOp] = []
        self.transfers: dict[str, Transfer] = {}
        self.exchanged: set[str] = set()  # operands that go through LDS
        self.read: dict[str, list[Key]] = {}  # what is read of those
        self.values: dict[Key, str] = {}
        self.by_name: dict[str, list[Key]] = {}
        self.homes: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.names: dict[str, int] = {}
        self.static: dict[Key, int] = {}
        self.products: dict[str, Product] = {}
        self.pieces: dict[frozenset[str], tuple[int, int]] = {}
        self.step_of: dict[str, tuple[object, ...]] = {}

    def build(self) -> LoopBody:
        """Everything, in the order of dependences."""
        self._check()
        self.products = {op.result.name: self._product(op) for op in self._dots()}
        self._group()
        units = self._units()
        for unit in units:
            if isinstance(unit, ir.Dot):
                self._multiply(self.products[unit.result.name])
            else:
                self._vector(unit)
        for op in self.loop.body:
            if isinstance(op, ir.Store):
                self._store(op)
        carried = tuple(self._carried(c) for c in self.loop.carried)
        if sum(self.sizes[home] for own in carried for home in set(own.homes)) > MOST_HELD:
            raise UnscheduledError("its accumulators do not fit registers")
        needed = sum(self.sizes.values()) + sum(self.static.values())
        if needed > (MOST_EXCHANGED if self.exchanged else MOST_REGISTERS):
            raise UnscheduledError(f"its values need {needed} registers of a lane")
        self._rename(carried)
        return LoopBody(
            ops=tuple(self.ops),
            flow=self._flow(carried),
            homes=self.homes,
            sizes=self.sizes,
            static=sum(self.static.values()),
            transfers=tuple(self.transfers.values()),
            carried=carried,
            vectors=self._vectors(carried),
        )

    def _check(self) -> None:
        loop = self.loop
        if loop.lists or loop.times != 1 or loop.stop:
            raise UnscheduledError("it walks a list of tiles, or ends by a condition")
        if any(isinstance(op, ir.Loop | ir.Whole | ir.Given | ir.Scan) for op in loop.body):
            raise UnscheduledError("a loop, or a running sum, stands in it")
        if not any(True for _ in self._dots()):
            raise UnscheduledError("it has no product")
        if len({c.last for c in loop.carried}) < len(loop.carried):
            raise UnscheduledError("two carried values end as one")
        for c in loop.carried:
            if not self._heavy(c.last) or c.last in self.inside:
                raise UnscheduledError(f"'{c.inside.name}' is carried on without work of its own")

    def _dots(self) -> Iterator[ir.Dot]:
        return (op for op in self.loop.body if isinstance(op, ir.Dot))

    # What a value depends on.

    def _leaves(self, name: str, seen: set[str] | None = None) -> set[str]:
        """Dots, loads and carried values of an iteration that a value is made of directly."""
        seen = set() if seen is None else seen
        if name in seen:
            return set()
        seen.add(name)
        if name in self.inside:
            return {name}
        op = self.made.get(name)
        if op is None:
            return set()
        if isinstance(op, ir.Dot | ir.Load):
            return {name}
        return {leaf for a in operands(op) for leaf in self._leaves(a, seen)}

    def _all_dots(self, name: str) -> frozenset[str]:
        """Products of the same iteration that a value depends on, however far."""
        found: set[str] = set()
        left = [name]
        while left:
            now = left.pop()
            for leaf in self._leaves(now):
                op = self.made.get(leaf)
                if isinstance(op, ir.Dot) and leaf not in found:
                    found.add(leaf)
                    left += operands(op)
        return frozenset(found)

    def _heavy(self, name: str) -> bool:
        """Whether a value depends on a product or on an iteration before."""
        return any(
            leaf in self.inside or isinstance(self.made.get(leaf), ir.Dot)
            for leaf in self._leaves(name)
        )

    def _source(self, name: str) -> str:
        """A value behind transpositions."""
        while isinstance(op := self.made.get(name) or self.plan.made.get(name), ir.Transpose):
            name = op.arg
        return name

    # Products.

    def _product(self, dot: ir.Dot) -> Product:
        plan = self.plan
        k = contracted(plan, dot)
        (lane, lanes), (register, _) = plan.layout(dot.result.vars)
        sides = {next(v for v in plan.values[n].vars if v != k): n for n in (dot.a, dot.b)}
        kinds = [plan.values[sides[v]].dtype for v in (register, lane)]
        matrix = plan.machine.instruction(kinds[0], kinds[1], plan.padded[k])
        if matrix is None or plan.padded[k] % matrix.k:
            raise UnscheduledError("no matrix instruction takes its operands")
        if any(plan.padded[v] != plan.extents[v] for v in (lane, register, k)):
            raise UnscheduledError("its tiles are no whole matrix instructions")
        if count_of(plan.layout(dot.result.vars)) > MOST_HELD:
            raise UnscheduledError("its accumulators do not fit registers")
        along = operand_map(matrix, plan.padded[k])
        for var, name in sides.items():
            if self._heavy(name) and not self._in_place(name, var, k, lane, lanes, matrix):
                self._exchange(name)
            elif self._heavy(name):
                along = dict(plan.layout(plan.values[name].vars))[k]
        return Product(
            dot=dot, k=k, matrix=matrix, lane=lane, register=register, along=along, sides=sides
        )

    def _in_place(
        self, name: str, var: str, k: str, lane: str, lanes: AxisMap, matrix: MatrixInstruction
    ) -> bool:
        """Whether a side that other products make lies in registers as an operand does."""
        own = dict(self.plan.layout(self.plan.values[name].vars))
        pair = frozenset((var, k))
        fits = self.plan.accumulated.get(pair) == (var, k) and var == lane and own[var] == lanes
        return fits and matrix.reads == 1 and matrix.k == 2 * MFMA and own[k].wave[1] <= 1

    def _exchange(self, name: str) -> None:
        """Let an operand go through LDS: tiles of accumulators, two bytes an element."""
        name = self._source(name)
        value = self.plan.values[name]
        pair = self.plan.accumulated.get(frozenset(value.vars))
        whole = pair is not None and self.plan.padded[pair[1]] * 2 % CHUNK == 0
        if not self.plan.exchange or value.dtype not in (DType.BF16, DType.F16) or not whole:
            raise UnscheduledError(
                "an operand computed in the loop does not lie as one in registers"
            )
        self.exchanged.add(name)

    def _pieces(self, pair: frozenset[str]) -> tuple[int, int]:
        """Pieces of accumulators along lanes and registers."""
        if pair in self.pieces:
            return self.pieces[pair]
        lane, register = self.plan.accumulated[pair]
        axes = dict(self.plan.layout((lane, register)))
        down, across = axes[lane].count, axes[register].count // 4
        reduced = {
            op.over
            for op in self.loop.body
            if isinstance(op, ir.Reduce) and frozenset(self.plan.values[op.arg].vars) == pair
        }
        parts = [1, 1]
        most = FEW_TILES if self._crowded() else MOST_PRODUCTS // 2
        while down * across // (parts[0] * parts[1]) > most:
            if lane not in reduced and down // parts[0] % 2 == 0 and down > parts[0]:
                parts[0] *= 2
            elif register not in reduced and across // parts[1] % 2 == 0 and across > parts[1]:
                parts[1] *= 2
            else:
                break
        self.pieces[pair] = parts[0], parts[1]
        return self.pieces[pair]

    def _crowded(self) -> bool:
        """Whether vector work stands between products: then pieces are small, so that waves of a
        SIMD do not keep each other waiting for long.
        """
        return any(isinstance(op, ir.Reduce) and self._heavy(op.arg) for op in self.loop.body)

    def _multiply(self, p: Product) -> None:  # noqa: C901 (three nested axes of pieces)
        plan, dot = self.plan, p.dot
        (_, lanes), (_, registers) = layout = plan.layout(dot.result.vars)
        down, across = self._pieces(frozenset(dot.result.vars))
        steps = plan.padded[p.k] // p.matrix.k
        tiles = lanes.count // down * (registers.count // 4 // across)
        deep = max(1, min(steps, steps * tiles // (MOST_PRODUCTS // 2)))
        while steps % deep:
            deep -= 1
        wide = max(lanes.count // down, registers.count // 4 // across)
        while wide * (steps // deep) * p.matrix.reads > 8 and deep < steps:
            deep += 1
            while steps % deep:
                deep += 1
        parts = cut(p.along, deep)
        name = f"MMA_{dot.result.name}"
        lane_parts, register_parts = cut(lanes, down), cut(registers, across)
        cycles = self._matrix_cycles(p)
        for part in range(deep):
            for i, rows in enumerate(lane_parts):
                for j, columns in enumerate(register_parts):
                    piece: Layout = ((p.lane, rows), (p.register, columns))
                    tiles_l = range(i * rows.count, (i + 1) * rows.count)
                    each = columns.count // 4
                    tiles_r = range(j * each, (j + 1) * each)
                    wants = [
                        (p.sides[v], ((v, operand_rows(axis, at)), (p.k, parts[part])))
                        for v, axis, at in (
                            (p.lane, lanes, tiles_l),
                            (p.register, registers, tiles_r),
                        )
                    ]
                    inputs = _Inputs()
                    for side, at in wants:
                        self._operand(inputs, p, self._source(side), at)
                    if part:
                        inputs.add((dot.result.name, piece), self._stage(dot, piece, part - 1), 0)
                    elif dot.into is not None:
                        self._take(inputs, dot.into, piece)
                    value = self._stage(dot, piece, part)
                    self._set_home(value, self._home_of(dot.result.name, piece, dot.into))
                    self.sizes.setdefault(self.homes[value], count_of(piece))
                    if part == deep - 1:
                        self._define((dot.result.name, piece), value)
                    count = rows.count * each * (steps // deep)
                    self._add(
                        BodyOp(
                            name=name, index=self._next(name), role=OpRole.COMPUTE,
                            takes=tuple(inputs.takes), taken=tuple(inputs.taken),
                            makes=(value,), made=((dot.result.name, piece),),
                            wants=tuple(inputs.wants), product=p, count=count,
                            cycles=count * cycles, line=_line(dot.result.line),
                        )
                    )  # fmt: skip
        assert layout

    def _stage(self, dot: ir.Dot, piece: Layout, part: int) -> str:
        """The name of a sum after so many parts of K."""
        number = self._number(dot.result.name, piece)
        return f"{dot.result.name}#{number}/{part}"

    def _number(self, name: str, piece: Layout) -> int:
        known = self.by_name.setdefault(f"piece {name}", [])
        key = (name, piece)
        if key not in known:
            known.append(key)
        return known.index(key)

    def _matrix_cycles(self, p: Product) -> int:
        bytes_ = self.plan.values[p.dot.a].dtype.bits == 8
        return mi355x().mfma_cycles(MFMA, MFMA, p.matrix.k, "fp8" if bytes_ else "bf16")

    def _operand(self, inputs: _Inputs, p: Product, name: str, layout: Layout) -> None:
        """One side of a product: loaded, made of loads, made of other products, or known before."""
        op = self.made.get(name)
        if op is None and name not in self.inside:
            size = count_of(layout) * self.plan.values[name].dtype.bits // 32
            self.static.setdefault((name, layout), max(1, size))
            inputs.wants.append(Wanted(key=(name, layout), sources=()))
        elif isinstance(op, ir.Load):
            self._take(inputs, name, layout)
        elif name in self.exchanged and not self._cover(name, layout):
            keys = self._cover(name, layout, self.read.get(name, []))
            keys = keys or self._read(name, layout, self._written(name))
            sources = tuple(inputs.add(k, self.values[k], 0) for k in keys)
            inputs.wants.append(Wanted(key=(name, layout), sources=sources))
        elif self._heavy(name):
            self._take(inputs, name, layout)
        else:
            key = (name, layout)
            if key not in self.values:
                self._made_of_loads(name, layout)
            self._take(inputs, name, layout)
        assert p

    def _made_of_loads(self, name: str, layout: Layout) -> None:
        """An operand computed from what was loaded, in the layout of operands."""
        steps = tuple(op for op in self.loop.body if self._in_closure(op, name))
        inputs = _Inputs()
        for leaf in sorted(self._leaves(name)):
            self._take(inputs, leaf, restricted(layout, self.plan.values[leaf].vars))
        label = f"MAKE_{name}"
        index = self._next(label)
        value = f"{name}#{index}"
        self._define((name, layout), value)
        home = f"{name}_{index}"
        self._set_home(value, home)
        self.sizes[home] = max(1, count_of(layout) * self.plan.values[name].dtype.bits // 32)
        self._add(
            BodyOp(
                name=label, index=index, role=OpRole.VALU_COMPUTE, takes=tuple(inputs.takes),
                taken=tuple(inputs.taken), makes=(value,), made=((name, layout),),
                wants=tuple(inputs.wants), steps=steps, piece=layout,
                cycles=sum(self._cost(op, layout) for op in steps),
                line=_line(self.plan.values[name].line),
            )
        )  # fmt: skip

    def _in_closure(self, op: Op, name: str) -> bool:
        left, seen = [name], set()
        while left:
            now = left.pop()
            made = self.made.get(now)
            if made is None or now in seen or isinstance(made, ir.Load | ir.Dot):
                continue
            seen.add(now)
            if made is op:
                return True
            left += operands(made)
        return False

    # Values that ops take.

    def _take(self, inputs: _Inputs, name: str, layout: Layout) -> None:
        """Note that an op needs a value in a layout: which pieces of it cover that."""
        op = self.made.get(name)
        if isinstance(op, ir.Load):
            keys = self._cover(name, layout) or self._read(name, layout, self._transfer(name))
            back = 0
        elif name in self.inside:
            last = self.inside[name].last
            inputs.late(name, layout, last)
            return
        else:
            keys, back = self._cover(name, layout), 0
            if not keys:
                raise UnscheduledError(f"'{name}' is needed in another layout than it is made in")
        sources = tuple(inputs.add(k, self.values[k], back) for k in keys)
        inputs.wants.append(Wanted(key=(name, layout), sources=sources))

    def _cover(self, name: str, layout: Layout, known: list[Key] | None = None) -> list[Key]:
        """Pieces of a value, or of those ``known``, that together have all of a layout."""
        wanted = {v: set(m.offsets) for v, m in layout}
        found, seen = [], 0
        for key in self.by_name.get(name, []) if known is None else known:
            own = dict(key[1])
            same = own.keys() == wanted.keys() and all(
                replace(own[v], offsets=(), run=1) == replace(m, offsets=(), run=1)
                for v, m in layout
            )
            if not same:
                continue
            count = 1
            for v, m in key[1]:
                count *= len(wanted[v] & set(m.offsets))
            if count:
                found.append(key)
                seen += count
        return found if seen == count_of(layout) else []

    def _define(self, key: Key, value: str) -> None:
        self.values[key] = value
        self.by_name.setdefault(key[0], []).append(key)

    def _next(self, name: str) -> int:
        self.names[name] = self.names.get(name, -1) + 1
        return self.names[name]

    def _add(self, op: BodyOp) -> None:
        self.ops.append(op)

    def _set_home(self, value: str, home: str) -> None:
        self.homes[value] = home

    # Tiles.

    def _read(self, name: str, layout: Layout, transfer: Transfer) -> list[Key]:
        """Read a tile in a layout, in pieces that the counter of LDS can hold."""
        label = f"READ_{self._label(transfer)}"
        keys = []
        for part in _small(transfer, layout):
            index = self._next(label)
            value = f"{name}:{index}"
            key = (name, part)
            if transfer.load is None:
                self.values[key] = value
                self.read.setdefault(name, []).append(key)
            else:
                self._define(key, value)
            place = f"{transfer.channel}:{index}"
            self._set_home(value, place)
            kind = self.plan.values[name].dtype
            self.sizes[place] = max(1, count_of(part) * kind.bits // 32 // transfer.per)
            keys.append(key)
            self._add(
                BodyOp(
                    name=label, index=index, role=OpRole.FRAGMENT_LOAD,
                    takes=(FlowOperand(value=_tile(transfer)),), taken=((name, ()),),
                    makes=(value,), made=(key,), transfer=transfer,
                    count=len(reads_of(transfer, part)),
                )
            )  # fmt: skip
        return keys

    def _label(self, transfer: Transfer) -> str:
        if transfer.load is None:
            return transfer.value.name
        tensor = transfer.load.tensor
        same = [t.value.name for t in self.transfers.values() if t.load and t.load.tensor == tensor]
        number = same.index(transfer.value.name)
        return tensor + (f"_{number}" if number else "")

    def _written(self, name: str) -> Transfer:
        """The tile in LDS that waves write a computed value to: whole, when all of it is there."""
        if name in self.transfers:
            return self.transfers[name]
        plan, value = self.plan, self.plan.values[name]
        (row, _), (column, _) = plan.layout(value.vars)
        columns = plan.padded[column]
        result = Transfer(
            channel=FIRST_CHANNEL + len(self.transfers), value=value, load=None, row=row,
            column=column, rows=plan.padded[row], row_bytes=2 * columns, threads=plan.threads,
            columns=columns,
        )  # fmt: skip
        self.transfers[name] = result
        self._set_home(_tile(result), f"{result.channel}.0")
        inputs = _Inputs()
        for key in self.by_name[name]:
            source = inputs.add(key, self.values[key], 0)
            inputs.wants.append(Wanted(key=key, sources=(source,)))
        self._add(
            BodyOp(
                name=f"WRITE_{name}", index=0, role=OpRole.SHARED_STORE, takes=tuple(inputs.takes),
                taken=tuple(inputs.taken), makes=(_tile(result),), made=((name, ()),),
                wants=tuple(inputs.wants), transfer=result, line=_line(value.line),
                count=sum(count_of(key[1]) // STORED for key in self.by_name[name]),
            )
        )  # fmt: skip
        return result

    def _store(self, op: ir.Store) -> None:
        """What the loop stores, piece by piece as it is made."""
        plan, tensor = self.plan, self.plan.kernel.tensor(op.tensor)
        added = op.add and (tensor.dtype is not DType.F32 or op.fn is not Fn.ADD)
        if added or op.when is not None or tensor.dtype is DType.I4:
            raise UnscheduledError(f"its store to '{op.tensor}' has a condition or another form")
        for a, axis in zip(op.at, tensor.axes, strict=True):
            if a.var is None or plan.kernel.var(a.var).axis != axis.name or axis.per > 1:
                raise UnscheduledError(f"rows of '{op.tensor}' are chosen, or other axes walked")
        pieces = self.by_name.get(op.value, [])
        pair = frozenset(plan.values[op.value].vars)
        if not pieces or pair not in plan.accumulated or {a.var for a in op.at} & pair != pair:
            raise UnscheduledError(f"what it stores to '{op.tensor}' is no tile of a product")
        size, last = tensor.dtype.bits // 8, op.at[-1].var
        for key in pieces:
            inputs = _Inputs()
            source = inputs.add(key, self.values[key], 0)
            inputs.wants.append(Wanted(key=key, sources=(source,)))
            run = key[1][-1][1].run if not op.add and last == key[1][-1][0] else 1
            run = min(run, CHUNK // size)
            label = f"STORE_{op.tensor}"
            self._add(
                BodyOp(
                    name=label, index=self._next(label), role=OpRole.VALU_COMPUTE, store=op,
                    takes=tuple(inputs.takes), taken=tuple(inputs.taken),
                    wants=tuple(inputs.wants), count=count_of(key[1]) // run,
                    line=_line(op.line),
                )
            )  # fmt: skip

    def _transfer(self, name: str) -> Transfer:
        if name in self.transfers:
            return self.transfers[name]
        op = self.made[name]
        assert isinstance(op, ir.Load)
        result = describe_transfer(self.plan, self.loop, op, FIRST_CHANNEL + len(self.transfers))
        self.transfers[name] = result
        self._set_home(_tile(result), f"{result.channel}.0")
        inputs = _Inputs()
        if result.picked:
            inputs.add((result.picked, ()), self._picked(result.picked), 0)
        self._add(
            BodyOp(
                name=f"LOAD_{self._label(result)}", index=0, role=OpRole.GLOBAL_LOAD,
                takes=tuple(inputs.takes), taken=tuple(inputs.taken), makes=(_tile(result),),
                made=((name, ()),), transfer=result, count=result.instructions,
                line=_line(op.result.line),
            )
        )  # fmt: skip
        return result

    def _picked(self, name: str) -> str:
        """A number that the loop loads, where all lanes have it for addresses."""
        value = f"{name}#picked"
        if value not in self.homes:
            inputs = _Inputs()
            self._take(inputs, name, ())
            self._set_home(value, f"{name}_picked")
            self._add(
                BodyOp(
                    name=f"PICK_{name}", index=0, role=OpRole.VALU_COMPUTE, picks=name,
                    takes=tuple(inputs.takes), taken=tuple(inputs.taken), makes=(value,),
                    made=((name, ()),), wants=tuple(inputs.wants),
                    line=_line(self.plan.values[name].line),
                )
            )  # fmt: skip
        return value

    # Vector work.

    def _group(self) -> None:
        """Which step each op of vector work belongs to."""
        for op in self.loop.body:
            if not isinstance(op, ir.Pointwise | ir.Reduce | ir.Broadcast):
                continue
            name = op.result.name
            if not self._heavy(name):
                continue
            dots = tuple(sorted(self._all_dots(name)))
            arg = self.plan.values[op.arg] if isinstance(op, ir.Reduce) else op.result
            if len(arg.vars) == 2:
                self.step_of[name] = (dots, frozenset(arg.vars))
                continue
            before = [self._step_behind(a, dots) for a in operands(op)]
            known = [s for s in before if s is not None]
            self.step_of[name] = known[-1] if known else (dots, frozenset(op.result.vars))

    def _step_behind(self, name: str, dots: tuple[str, ...]) -> tuple[object, ...] | None:
        """The step an operand of a vector op belongs to, through what is written out in place."""
        if name in self.step_of:
            return self.step_of[name] if self.step_of[name][0] == dots else None
        op = self.made.get(name)
        if isinstance(op, ir.Reduce):  # of what was loaded
            return dots, frozenset(self.plan.values[op.arg].vars)
        if op is None or isinstance(op, ir.Load | ir.Dot):
            return None
        found = [self._step_behind(a, dots) for a in operands(op)]
        return next((s for s in found if s is not None), None)

    def _units(self) -> list[ir.Dot | tuple[object, ...]]:  # noqa: C901 (a sort and its graph)
        """Products and steps, each after what it needs of the same iteration."""
        needs: dict[object, set[object]] = {}
        order: list[object] = []

        def unit_of(name: str) -> object | None:
            op = self.made.get(name)
            return op if isinstance(op, ir.Dot) else self.step_of.get(name)

        def behind(name: str, seen: set[str]) -> set[object]:
            if name in seen or name in self.inside:
                return set()
            seen.add(name)
            own = unit_of(name)
            if own is not None:
                return {own}
            op = self.made.get(name)
            return set() if op is None else {u for a in operands(op) for u in behind(a, seen)}

        for op in self.loop.body:
            for value in results(op):
                unit = unit_of(value.name)
                if unit is None:
                    continue
                if unit not in needs:
                    needs[unit] = set()
                    order.append(unit)
                needs[unit] |= {u for a in operands(op) for u in behind(a, set())} - {unit}
        done: list[object] = []
        while len(done) < len(order):
            ready = next((u for u in order if u not in done and needs[u] <= set(done)), None)
            if ready is None:
                raise UnscheduledError("its vector work and products depend on each other in turns")
            done.append(ready)
        return done  # type: ignore[return-value]

    def _vector(self, step: tuple[object, ...]) -> None:
        plan = self.plan
        ops = [
            op
            for op in self.loop.body
            if isinstance(op, ir.Pointwise | ir.Reduce | ir.Broadcast)
            and self.step_of.get(op.result.name) == step
        ]
        needed = self._needed_elsewhere({op.result.name for op in ops})
        variables = step[1]
        assert isinstance(variables, frozenset)
        results_of = [op.result.name for op in ops if op.result.name in needed]
        label = f"STEP_{results_of[0] if results_of else ops[0].result.name}"
        for piece in self._step_pieces(variables, ops[-1].result.name):
            inputs = _Inputs()
            steps: list[Op] = []
            leaves: set[str] = set()
            own = {op.result.name for op in ops}
            for each in self.loop.body:
                inside = each in ops or any(self._in_own_closure(each, o, own) for o in ops)
                if inside and not isinstance(each, ir.Load | ir.Dot):
                    steps.append(each)
            for op in ops:
                for a in operands(op):
                    leaves |= self._outer_leaves(a, own)
            for leaf in sorted(leaves):
                value = plan.values[leaf]
                at = restricted(piece, value.vars)
                if len(at) != len(value.vars):
                    raise UnscheduledError(f"'{leaf}' has an axis that its step does not have")
                self._take(inputs, leaf, at)
            index = self._next(label)
            makes: list[str] = []
            made: list[Key] = []
            for name in results_of:
                at = restricted(piece, plan.values[name].vars)
                if (name, at) in self.values:
                    continue  # made by another piece
                label_of = f"{name}#{self._number(name, at)}"
                self._define((name, at), label_of)
                home = self._home_of(name, at, None)
                self._set_home(label_of, home)
                bits = plan.values[name].dtype.bits if self._is_operand(name) else 32
                self.sizes.setdefault(home, max(1, count_of(at) * bits // 32))
                makes.append(label_of)
                made.append((name, at))
            self._add(
                BodyOp(
                    name=label, index=index, role=OpRole.VALU_COMPUTE, takes=tuple(inputs.takes),
                    taken=tuple(inputs.taken), makes=tuple(makes), made=tuple(made),
                    wants=tuple(inputs.wants), steps=tuple(steps), piece=piece,
                    cycles=sum(self._cost(op, piece) for op in steps),
                    line=_line(ops[0].result.line),
                )
            )  # fmt: skip

    def _step_pieces(self, variables: frozenset[str], name: str) -> list[Layout]:
        """The pieces vector work is cut into; ``name``: a value that it makes."""
        plan = self.plan
        if len(variables) < 2:
            return [plan.layout(tuple(variables), name)]
        if variables in plan.accumulated:
            (lane, lanes), (register, registers) = plan.layout(plan.accumulated[variables])
            down, across = self._pieces(variables)
            return [
                ((lane, rows), (register, columns))
                for rows in cut(lanes, down)
                for columns in cut(registers, across)
            ]
        for p in self.products.values():
            for var in (p.lane, p.register):
                if frozenset((var, p.k)) == variables:
                    axis = dict(plan.layout(p.dot.result.vars))[var]
                    tiles = axis.count if var == p.lane else axis.count // 4
                    return [((var, operand_rows(axis, (i,))), (p.k, p.along)) for i in range(tiles)]
        raise UnscheduledError("vector work on tiles that no product has")

    def _outer_leaves(self, name: str, own: set[str]) -> set[str]:
        """What a step takes from outside: loads, products, carried values, results of steps."""
        if name in own:
            return set()
        op = self.made.get(name)
        if name in self.inside or isinstance(op, ir.Load | ir.Dot) or name in self.step_of:
            return {name}
        if op is None:
            return set()
        return {leaf for a in operands(op) for leaf in self._outer_leaves(a, own)}

    def _in_own_closure(self, op: Op, of: Op, own: set[str]) -> bool:
        """Whether an op is written out in place for an op of a step."""
        left, seen = list(operands(of)), set()
        while left:
            now = left.pop()
            made = self.made.get(now)
            if made is None or now in seen or now in own or now in self.step_of:
                continue
            if isinstance(made, ir.Load | ir.Dot):
                continue
            seen.add(now)
            if made is op:
                return True
            left += operands(made)
        return False

    def _needed_elsewhere(self, own: set[str]) -> set[str]:
        """Results of a step that other ops, or the next iteration, take."""
        result = {n for n in own if n in self.lasts}
        for op in self.loop.body:
            if results(op) and results(op)[0].name in own:
                continue
            result |= own & set(operands(op))
        return result

    def _is_operand(self, name: str) -> bool:
        return any(
            self._source(s) == name for p in self.products.values() for s in p.sides.values()
        )

    def _home_of(self, name: str, piece: Layout, into: str | None) -> str:
        """Where a piece of a value lives: with the carried value or sum it becomes part of."""
        carried = self.lasts.get(name)
        if carried is None and into in self.inside:
            carried = self.inside[str(into)]
        if carried is None:
            for p in self.products.values():  # a sum that this value starts
                if p.dot.into == name:
                    return self._home_of(p.dot.result.name, piece, None)
        number = self._number(carried.inside.name if carried else name, piece)
        return f"{carried.inside.name if carried else name}_{number}"

    def _cost(self, op: Op, layout: Layout) -> int:
        """Cycles of one op of vector work on a piece."""
        if not isinstance(op, ir.Pointwise | ir.Reduce):
            return 0
        value = self.plan.values[op.arg] if isinstance(op, ir.Reduce) else op.result
        chip, count = mi355x(), count_of(restricted(layout, value.vars))
        if isinstance(op, ir.Pointwise) and op.fn in _SLOW:
            return count * chip.transcendental
        paired = op.fn in PAIRED if value.dtype is DType.F32 else op.fn is Fn.CAST
        return count * chip.issue // (2 if paired else 1)

    # Carried values, and the whole.

    def _carried(self, c: ir.Carried) -> CarriedPieces:
        keys = self.by_name.get(c.last, [])
        if not keys:
            raise UnscheduledError(f"'{c.last}' is not made in the loop")
        layout = self.plan.layout(c.inside.vars)
        if sum(count_of(k[1]) for k in keys) != (
            count_of(layout) if len(c.inside.vars) == 2 else sum(count_of(k[1]) for k in keys)
        ):
            raise UnscheduledError(f"pieces of '{c.last}' are not all of it")
        if self.plan.values[c.last].dtype is not c.inside.dtype:
            raise UnscheduledError(f"'{c.inside.name}' changes its type")
        return CarriedPieces(
            carried=c,
            keys=tuple((c.inside.name, k[1]) for k in keys),
            homes=tuple(self.homes[self.values[k]] for k in keys),
            last=tuple(keys),
        )

    def _rename(self, carried: tuple[CarriedPieces, ...]) -> None:
        """Fill in what ops take of the iteration before: values that came later in the walk."""
        pieces = {p.carried.inside.name: p for p in carried}
        finished = []
        for op in self.ops:
            takes, taken, wants = list(op.takes), list(op.taken), list(op.wants)
            for i, want in enumerate(wants):
                name, layout = want.key
                if name not in pieces or want.sources:
                    continue
                own = pieces[name]
                keys = self._cover(own.carried.last, layout)
                if not keys:
                    raise UnscheduledError(
                        f"'{name}' is taken in another layout than it is left in"
                    )
                sources = []
                for key in keys:
                    value = self.values[key]
                    takes.append(
                        FlowOperand(value=value, back=1, before=f"{self.homes[value]}#first")
                    )
                    taken.append((name, key[1]))
                    sources.append(len(takes) - 1)
                wants[i] = Wanted(key=want.key, sources=tuple(sources))
            finished.append(replace(op, takes=tuple(takes), taken=tuple(taken), wants=tuple(wants)))
        self.ops = finished

    def _vectors(self, carried: tuple[CarriedPieces, ...]) -> dict[str, AxisMap]:
        """Maps of carried values of one variable: all pieces together."""
        result: dict[str, AxisMap] = {}
        for own in carried:
            if len(own.carried.inside.vars) != 1:
                continue
            maps = [dict(key[1])[own.carried.inside.vars[0]] for key in own.keys]
            offsets = tuple(sorted(o for m in maps for o in m.offsets))
            whole = replace(maps[0], offsets=offsets)
            result[own.carried.inside.name] = result[own.carried.result.name] = whole
        return result

    def _flow(self, carried: tuple[CarriedPieces, ...]) -> Flow:
        firsts = [f"{home}#first" for own in carried for home in own.homes]
        for own in carried:
            for home in own.homes:
                self.homes[f"{home}#first"] = home
        ops = [FlowOp(name="start", role=SETUP, when=When.HEAD, results=tuple(firsts))]
        ops += [
            FlowOp(
                name=op.name, role=WAVE, args=(op.index,), operands=op.takes, results=op.makes,
                stores=op.store is not None, line=op.line,
            )
            for op in self.ops
        ]  # fmt: skip
        lasts = tuple(FlowOperand(value=self.values[k]) for own in carried for k in own.last)
        ops.append(FlowOp(name="store", role=STORE, when=When.TAIL, operands=lasts, stores=True))
        homes = tuple(Home(value=v, place=p) for v, p in self.homes.items())
        return Flow(ops=tuple(ops), homes=homes)


def _line(line: Line | None) -> str:
    return str(short(line) or "")


class _Inputs:
    """What one op takes, each value once."""

    def __init__(self) -> None:
        self.takes: list[FlowOperand] = []
        self.taken: list[Key] = []
        self.wants: list[Wanted] = []

    def add(self, key: Key, value: str, back: int) -> int:
        """Take a value; its number among those taken."""
        operand = FlowOperand(value=value, back=back)
        if operand in self.takes:
            return self.takes.index(operand)
        self.takes.append(operand)
        self.taken.append(key)
        return len(self.takes) - 1

    def late(self, name: str, layout: Layout, last: str) -> None:
        """Take a value of the iteration before; its pieces are known when all ops are."""
        assert last
        self.wants.append(Wanted(key=(name, layout), sources=()))


def _tile(transfer: Transfer) -> str:
    return f"{transfer.value.name}.tile"


def _small(transfer: Transfer, layout: Layout) -> list[Layout]:
    """A layout in parts of at most eight reads, cut along its first axis and then its second."""
    result = [layout]
    while any(len(reads_of(transfer, part)) > 8 for part in result):
        grown = []
        for part in result:
            at = 0 if part[0][1].count % 2 == 0 else len(part) - 1
            if part[at][1].count % 2 or part[at][1].count <= part[at][1].run:
                return result
            for half in cut(part[at][1], 2):
                grown.append((*part[:at], (part[at][0], half), *part[at + 1 :]))
        result = grown
    return result


def reads_of(transfer: Transfer, layout: Layout) -> list[tuple[int, int]]:
    """The reads of LDS that fill a layout: first element of each, and how many it brings."""
    if not layout:
        return [(0, 1)]
    if not transfer.wide:
        along = layout[0][1]
        run = along.run if along.run in (2, 4) else 1
        return [(i, run) for i in range(0, along.count, run)]
    (_, rows), (var, along) = layout
    run = along.run
    if var == transfer.column:
        return [
            (r * along.count + i, run)
            for r in range(rows.count)
            for i in range(0, along.count, run)
        ]
    return [(r * along.count + i, 4) for r in range(rows.count) for i in range(0, along.count, 4)]


def loop_step(plan: TilePlan, loop: ir.Loop) -> int:
    """Elements of a loop's axis that one step takes."""
    return 1 if is_number(plan.kernel.var(loop.var)) else plan.extents[loop.var]


def _is_entry(plan: TilePlan, loop: ir.Loop, name: str) -> bool:
    """Whether a value is one number of a tensor, the loop's own or the next of a list."""
    op = next((op for op in loop.body for v in results(op) if v.name == name), None)
    if not isinstance(op, ir.Load) or op.result.vars or op.result.dtype is not DType.I32:
        return False
    kernel, tensor = plan.kernel, plan.kernel.tensor(op.tensor)
    own = all(
        a.var is not None and kernel.var(a.var).axis == axis.name and axis.per == 1
        for a, axis in zip(op.at, tensor.axes, strict=True)
    )
    return own and is_number(kernel.var(loop.var)) and loop.var in {a.var for a in op.at}


def describe_transfer(  # noqa: C901, PLR0912 (one test a reason)
    plan: TilePlan, loop: ir.Loop, load: ir.Load, channel: int
) -> Transfer:
    """How a load of a loop goes to LDS; ``UnscheduledError`` where it cannot."""
    kernel = plan.kernel
    tensor, value = kernel.tensor(load.tensor), load.result
    body = {v.name for op in loop.body for v in results(op)} | {c.inside.name for c in loop.carried}
    inner = [a.value for a in load.at if a.value is not None and a.value in body]
    if load.end is not None or len(inner) > 1 or not all(_is_entry(plan, loop, v) for v in inner):
        raise UnscheduledError(f"rows of '{load.tensor}' are chosen in the loop")
    walked = 0
    for i, at in enumerate(load.at):
        axis = tensor.axes[i]
        if at.var is not None and kernel.var(at.var).axis != axis.name:
            raise UnscheduledError(f"'{load.tensor}' is walked along another axis than its own")
        if at.var == loop.var:
            walked += 1
            if loop_step(plan, loop) % axis.per:
                raise UnscheduledError(f"a step is no whole number of blocks of '{load.tensor}'")
        if at.value is not None and len(plan.values[at.value].vars) > 1:
            raise UnscheduledError(f"'{load.tensor}' is indexed by a tile")
    if walked > 1 or tensor.dtype is DType.I4:
        raise UnscheduledError(f"'{load.tensor}' is walked along two axes at once")
    threads, size = plan.threads, tensor.dtype.bits // 8
    if len(value.vars) < 2:
        if inner:
            raise UnscheduledError(f"rows of '{load.tensor}' are chosen in the loop")
        if size != WORD or any(a.value and plan.values[a.value].vars for a in load.at):
            raise UnscheduledError(
                f"'{load.tensor}' has elements of {size} byte(s), or gathered ones"
            )
        row = value.vars[0] if value.vars else ""
        return Transfer(
            channel=channel, value=value, load=load, row=row, column="",
            rows=plan.padded[row] if row else 1, row_bytes=WORD, threads=threads,
        )  # fmt: skip
    last = load.at[-1].var
    if len(value.vars) != 2 or last not in value.vars or last is None:
        raise UnscheduledError(f"tiles of '{load.tensor}' do not lie in rows")
    row = next(v for v in value.vars if v != last)
    per = tensor.axes[-1].per
    if inner and load.at[-1].value in inner:
        raise UnscheduledError(f"tiles of '{load.tensor}' do not lie in rows")
    placed = [a for i, a in enumerate(load.at[:-1]) if a.var == row and tensor.axes[i].per == 1]
    gathered = [a for a in load.at[:-1] if a.value and plan.values[a.value].vars == (row,)]
    if len(placed) + len(gathered) != 1:
        raise UnscheduledError(f"tiles of '{load.tensor}' do not lie in rows")
    columns = plan.padded[last]
    if columns * size % (CHUNK * per) or (kernel.var(last).walk is Walk.STEP and last != loop.var):
        raise UnscheduledError(f"rows of '{load.tensor}' are no whole chunks of {CHUNK} bytes")
    result = Transfer(
        channel=channel, value=value, load=load, row=row, column=last, rows=plan.padded[row],
        row_bytes=columns * size // per, threads=threads, per=per, columns=columns,
        picked=inner[0] if inner else "",
    )  # fmt: skip
    if result.slot_bytes > plan.machine.lds_bytes:
        raise UnscheduledError(f"a tile of '{load.tensor}' does not fit LDS")
    if gathered and (LANES % result.chunks or result.chunks & (result.chunks - 1)):
        raise UnscheduledError(f"gathered rows of '{load.tensor}' are too long")
    return result
