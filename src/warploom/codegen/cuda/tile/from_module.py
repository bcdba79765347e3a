"""CUDA source of a module's expressions: tile schedule, trip counts, coordinates, predicates.

These facts are printed from the module and computed nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.tile.context import MOST_BOUNDED, Context
from warploom.codegen.cuda.tile.loop_view import PRODUCER
from warploom.codegen.cuda.tile.signature import WRAP
from warploom.codegen.cuda.tile.work import (
    COL,
    INSTANCE,
    LANE,
    ROW,
    B,
    G,
    J,
    P,
    Q,
    Work,
    axes_of,
    row_register,
    rows_of,
    running,
)
from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.dataflow import When
from warploom.ir.expr import (
    Apply,
    Binary,
    Const,
    Element,
    Function,
    IntExpr,
    Op,
    Select,
    Sym,
    SymKind,
    conjuncts,
    elements,
    floor_div,
    lift,
    linear,
    nodes,
    rewrite,
    show,
    substitute,
    symbols,
)
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.ir.module import KernelModule, LoopPhase, Role, TensorMap, TileLoop
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.tile_schedule import RANK, TILE, VISIT, Expansion, Let, TileSchedule, expand

_NAMES = {
    Sym(SymKind.LAUNCH, "cta"): "blockIdx.x",
    Sym(SymKind.LAUNCH, "ctas"): "gridDim.x",
    Sym(SymKind.LET, "trips"): "k_tiles",
    Sym(SymKind.LET, "trips_of_all"): "k_all",
    Sym(SymKind.LET, "trips_of_part"): "k_share",
    Sym(SymKind.STEP, "t"): "k",
    Sym(SymKind.THREAD, "warp"): "warp_in_group",
    Sym(SymKind.ELEMENT, "row"): "row_of(b, i)",
    Sym(SymKind.ELEMENT, "col"): "column_of(h, e)",
}
BACKWARDS = Sym(SymKind.LET, "backwards")
TURNED = Sym(SymKind.LET, "turned")
EVERY_OTHER = Binary(Op.NE, Binary(Op.MOD, VISIT, Const(2)), Const(0))


@dataclass(frozen=True, slots=True)
class ModulePrinter:
    """Prints the facts of a module in the names of a context; of one loop of its tiles."""

    context: Context
    values: Callable[[str], str] | None = None  # what vector work computed before, by name

    @property
    def module(self) -> KernelModule:
        """What is printed."""
        return self.context.module

    def text(self, expr: IntExpr) -> str:
        """An expression in CUDA; sizes, scalars and tensors become parameters as they are met."""
        return show(rewrite(expr, _turned), self._name, self._spelt)

    def knowing(self, values: Callable[[str], str]) -> ModulePrinter:
        """The printer where values of vector work have names."""
        return replace(self, values=values)

    def _name(self, symbol: Sym) -> str:
        if symbol.kind is SymKind.SIZE:
            return self.context.size(symbol.name)
        if symbol.kind is SymKind.SCALAR:
            return self.context.scalar(symbol.name)
        if symbol.kind is SymKind.VISIT:
            raise BackendError(
                f"an expression of {symbol.name} other than its parity", where=self.module.name
            )
        if symbol.kind is SymKind.VALUE and self.values is not None:
            return self.values(symbol.name)
        if symbol == TILE and self.schedule.split > 1:
            return "unit"
        return _NAMES.get(symbol, symbol.name)

    def _spelt(self, node: IntExpr) -> str | None:  # noqa: PLR0911 (one line a form)
        """Elements of memory, and quotients that are rounded down."""
        if isinstance(node, Element):
            return self.context.element(node.tensor, [self.text(x) for x in node.at])
        if not isinstance(node, Binary):
            return None
        whole, by = node.a, node.b.value if isinstance(node.b, Const) else 0
        two = by > 0 and not by & (by - 1)
        rest = _remainder(node)
        if rest is not None:
            return f"({self.text(rest[0])} & {rest[1] - 1})"
        rounds = isinstance(whole, Binary) and (whole.op, whole.b) == (Op.FLOOR_DIV, node.b)
        if node.op is Op.MUL and two and isinstance(whole, Binary) and rounds:
            return f"(({self.text(whole.a)}) & ~{by - 1})"
        if node.op is Op.FLOOR_DIV and two:
            return f"({self.text(whole)} >> {by.bit_length() - 1})"
        if node.op is Op.FLOOR_DIV:
            return f"{device.divided_down}({self.text(whole)}, {self.text(node.b)})"
        return None

    # Tiles and steps.

    @property
    def tiles(self) -> TileLoop:
        """The tile loop; roles were verified to agree on it."""
        return self.module.roles[0].tiles

    @property
    def schedule(self) -> TileSchedule:
        """The order of tiles."""
        return self.tiles.schedule

    @property
    def loop(self) -> TileLoop | LoopPhase:
        """The loop of a tile that is printed: the last one, or one that runs before it."""
        return self.context.loop.bounds

    @property
    def expansion(self) -> Expansion:
        """What the schedule means."""
        return expand(self.schedule)

    def let_line(self, bound: Let, value: IntExpr | None = None, *, const: bool = True) -> str:
        """A name for an expression."""
        kind = "const int" if const else "int"
        return f"{kind} {self._name(bound.name)} = {self.text(value or bound.value)};"

    def let(self, name: str) -> IntExpr:
        """What a name of the tile loop stands for."""
        return next(x.value for x in self.tiles.lets if x.name.name == name)

    def direction_line(self) -> str:
        """Whether a tile walks its loop backwards."""
        return f"const bool backwards = {self.text(self.let(BACKWARDS.name))};"

    def reread(self, expr: IntExpr) -> IntExpr:
        """An expression of sizes that are read anew: they do not wait in registers."""
        anew = {x: Sym(SymKind.LET, f"{device.opaque}({self._name(x)})") for x in symbols(expr)}
        return substitute(expr, {x: new for x, new in anew.items() if x.kind is SymKind.SIZE})

    def count_trips(self) -> list[str]:
        """How many iterations a tile has.

        Bounds are not ``const``: the qualifier alone makes ptxas number other registers, and the
        kernels were measured without it.
        """
        lines: list[str] = []
        self.context.size(self.loop.axis)  # a parameter of all roles
        names = [x.name for x in self.loop.bounds]
        for n, x in enumerate(self.loop.bounds):
            if x.name in names[:n]:
                lines.append(self._again(x))
            else:
                lines.append(self.let_line(x, const=x.name in _NAMES))
        return [*lines, f"const int k_tiles = {self.text(self.loop.trips)};"]

    def _again(self, bound: Let) -> str:
        """A name that is bound again."""
        name, value = self._name(bound.name), bound.value
        if isinstance(value, Select) and value.otherwise == bound.name:
            return f"if ({self.text(value.condition)}) {name} = {self.text(value.then)};"
        return f"{name} = {self.text(value)};"

    def trip_lines(self) -> list[str]:
        """How many iterations a tile has, which of them hide nothing, and where each begins."""
        lines = self.count_trips()
        lines += [f"int {x.name.name} = {self._range(x.value)};" for x in self.loop.ranges]
        for f in self.loop.functions:
            lines += self._function(f)
        return lines

    def _function(self, function: Function) -> list[str]:
        """Where iterations begin; of a list of tiles its first entry is found once."""
        lists: dict[IntExpr, str] = {}
        lines: list[str] = []
        for n, found in enumerate(e for e in elements(function.value) if _walks(e, function)):
            name = f"tiles_{n}_{function.name}"
            (at,) = (i for i, x in enumerate(found.at) if function.parameter in symbols(x))
            first = [self.text(Const(0) if i == at else x) for i, x in enumerate(found.at)]
            place = self.context.place(found.tensor, first)
            stride = self.context.stride(found.tensor, at)
            along = self.text(found.at[at])
            along = along if stride == "1" else f"({along}) * {stride}"
            lines.append(f"const int* const {name} = &{place};")
            lists[found] = f"{device.tile_number}({name} + {along})"
        value = show(function.value, self._name, lambda x: lists.get(x) or self._spelt(x))
        return [*lines, f"auto {function.name} = [&](int k) {{ return {value}; }};"]

    def _range(self, expr: IntExpr) -> str:
        """Ranges may begin before the loop does: a quotient of a number that may be below 0."""

        def spelt(node: IntExpr) -> str | None:
            if isinstance(node, Binary) and node.op is Op.FLOOR_DIV:
                return f"{device.floor_div}({self._range(node.a)}, {self._range(node.b)})"
            return self._spelt(node)

        return show(expr, self._name, spelt)

    # Operations.

    def operation(self, entry: RoleEntry, site: Site) -> Operation:
        """The operation of the module that an entry of a role program is."""
        entries: tuple[RoleEntry, ...] = getattr(site.program, site.phase)
        return self.entries(site)[entries.index(entry)]

    def entries(self, site: Site) -> list[Operation]:
        """The operations that are entries of a list of a role program."""
        return [
            s
            for s in self._listed(site)
            if not isinstance(s, StepLoop) and not (isinstance(s, ops.Vector) and s.within)
        ]

    def _listed(self, site: Site) -> tuple[Statement, ...]:
        """The statements of a list of a role program."""
        role, loop = self.module.role(site.program.name), self.context.loop
        mine = role if loop.is_last else role.earlier[loop.number]
        body = loop.body(role.name)
        at = next(i for i, s in enumerate(body) if isinstance(s, StepLoop))
        steps = body[at]
        assert isinstance(steps, StepLoop)
        lists: dict[str, tuple[Statement, ...]] = {
            "setup": mine.setup,
            "prologue": body[:at],
            "kernel": steps.body,
            "epilogue": body[at + 1 :],
            "finish": mine.finish,
        }
        return lists[site.phase]

    def copy_boxes(
        self, op: ops.Copy, part_rows: int, line_bytes: int
    ) -> list[tuple[str, list[str]]]:
        """Of every box: what is added to the part's address, and its coordinates, innermost first.

        Blocks of columns lie one after the other in shared memory, rows ``line_bytes`` apart.
        """
        result, found = [], self.module.map(op.tensor_map)
        for box in op.boxes:
            rows = linear(box.row)
            assert rows is not None
            share = rows.factor(RANK)
            offset = f" + rank * {share * line_bytes}" if share else ""
            block = box.col // found.box[-1] * part_rows * line_bytes
            offset += f" + {block}" if block else ""
            result.append((offset, self.coordinates(box.at, found, box.end)))
        return result

    def coordinates(
        self, at: tuple[IntExpr, ...], found: TensorMap, end: IntExpr | None
    ) -> list[str]:
        """Coordinates of a copy, innermost first.

        Of a bounded one rows are counted from the end, as the last coordinates say: two that go
        once around the addresses, or one where no more fit, of a map that begins before its tensor.
        """
        texts = [self._hoisted(x) for x in at]
        if found.bounded is None or end is None:
            return texts[::-1]
        axis = self.module.tensor(found.tensor).axes[found.bounded]
        stop = self.text(end)
        less = f"({self.context.size_of(found.tensor, axis.name)} - {stop})"
        texts[found.bounded] = f"{less} + {texts[found.bounded]}"
        last = [less, f"{WRAP} - {less}"] if len(at) <= MOST_BOUNDED else [stop]
        return [*texts[::-1], *last]

    def _hoisted(self, expr: IntExpr) -> str:
        """A coordinate; of quotients the name they have before the loop."""
        name = self.quotients().get(expr)
        return name if name is not None else self.text(expr)

    def quotients(self) -> dict[IntExpr, str]:
        """What places copies of the loop and is computed before it, with names. The assembler would
        leave divisions in the loop, where each keeps the copying thread 200 cycles.
        """
        result: dict[IntExpr, str] = {}
        every = self.context.loop.operations(PRODUCER)
        for op in (x for when, x in every if when is When.LOOP and isinstance(x, ops.Copy)):
            axes = self.module.tensor(self.module.map(op.tensor_map).tensor).axes
            for axis, expr in (
                (a.name, x) for box in op.boxes for a, x in zip(axes, box.at, strict=True)
            ):
                if _is_quotient(expr) and expr not in result:
                    name = f"at_{axis}"
                    result[expr] = name if name not in result.values() else f"{name}_{len(result)}"
        return result

    def quotient_lines(self) -> list[str]:
        """Those names."""
        return [f"const int {name} = {self.text(x)};" for x, name in self.quotients().items()]

    # Vector work.

    def _role(self) -> Role:
        return self.context.loop.consumer

    def work(self, name: str) -> Work:
        """Vector work that is printed once and called in several places of the program: all of them
        must say the same of their iteration.
        """
        every = [self.one(op) for op in self.context.loop.vectors(name)]
        if not every:
            raise BackendError(f"no vector work {name} in the module", where=self.module.name)
        first, *others = every
        for other in others:
            if _shape(other) != _shape(first):
                raise BackendError(
                    f"{name} says different things in different places of the program",
                    where=self.module.name,
                    why="one function is printed for all of them",
                    fix="give it the operands that passes derive everywhere",
                )
        return first

    def one(self, op: ops.Vector, *, here: bool = False) -> Work:
        """One operation of vector work, of elements as the printed loops have them; in terms of the
        running iteration, or, where it is printed ``here``, of its own.
        """
        role = self._role()
        block = op.args[0] if op.fills and op.args else None
        arrays = {a.name: a for a in role.arrays}
        work = Work(self.module, arrays, op if here else running(op), block)
        self.refuse_elsewhere(work, (x for x in op.body if not isinstance(x, _ENDS)))
        return work

    def refuse_elsewhere(self, work: Work, made: Iterable[ops.VectorOp]) -> None:
        """``BackendError`` where operations speak of rows and columns that are not those that
        ``row_of`` and ``column_of`` of the source compute.
        """
        if not any(axes_of(x) for op in made for x in expressions(op)):
            return
        layout, role, block = work.op.layout, self._role(), work.block
        instance = Const(0) if role.alternates else INSTANCE
        row = rows_of(self.context.loop.blocks, B if block is None else Const(block), instance)
        first = lift(16 * G if block is None else work.op.args[1] + 16 * J)
        col = lift(first + 8 * P + LANE % 4 * 2 + Q)
        if work.extent("p") == 1:  # rows alone
            col = layout.col
        if work.extent("i") == 1:  # columns alone
            row = layout.row
        only: dict[Sym, IntExpr] = {INSTANCE: Const(0)} if role.instances == 1 else {}
        places = [substitute(x, only) for x in (layout.row, layout.col, row, col)]
        if places[:2] != places[2:]:
            raise work.refused(f"elements at [{layout.row}, {layout.col}]")

    def before(self, entry: RoleEntry, site: Site) -> list[ops.Vector]:
        """What is read as a product is issued."""
        product = self.operation(entry, site)
        result: list[ops.Vector] = []
        for statement in self._listed(site):
            if isinstance(statement, ops.Vector) and statement.within:
                result.append(statement)
            elif statement is product:
                return result
            else:
                result = []
        return []

    def past_start(self, slot: ops.VectorSlot) -> str:
        """Bytes between where a vector's copy begins and the vector does; '' where none lie."""
        begin = substitute(slot.col, {ROW: Const(0), COL: Const(0)})
        return "" if begin == Const(0) else f" + 4 * {self.text(begin)}"

    def loaded(self, load: ops.VectorLoad) -> tuple[list[str], list[str]]:
        """Indices of a load of vector work and the conditions under which it is made."""
        at = [_bracketed(x, self.text(x)) for x in load.at]
        return at, self.conditions(conjuncts(load.predicate))

    def limits(self, load: ops.VectorLoad) -> tuple[list[str], list[str], list[str]]:
        """Indices of a load of vector work, by axis the element it must lie before, and conditions
        of numbers.
        """
        parts = conjuncts(load.predicate)
        ends = {p.a: p.b for p in parts if isinstance(p, Binary) and p.op is Op.LT}
        if any(at not in ends for at in load.at if _of_element(at)):
            raise BackendError(
                f"a load of {load.tensor} without a predicate for each axis of its tile",
                where=self.module.name,
            )
        axes = self.module.tensor(load.tensor).axes
        limits = [
            self.text(ends[at]) if at in ends else self.context.size_of(load.tensor, axis.name)
            for at, axis in zip(load.at, axes, strict=True)
        ]
        there = self.conditions([p for p in parts if not _of_element(p)])
        return [_bracketed(x, self.text(x)) for x in load.at], limits, there

    def from_zero(self, load: ops.VectorLoad, at: IntExpr) -> bool:
        """Whether an index may lie before its tensor: it is asked to be 0 or more."""
        return Binary(Op.GE, at, Const(0)) in conjuncts(load.predicate)

    def named_places(
        self, load: ops.VectorLoad, named: Mapping[Sym, IntExpr]
    ) -> tuple[list[str], str]:
        """Indices of a load and its conditions, where row and column have other names."""
        at = [substitute(x, named) for x in load.at]
        parts = [substitute(x, named) for x in conjuncts(load.predicate)]
        return [_bracketed(x, self.text(x)) for x in at], " && ".join(self.conditions(parts))

    def conditions(self, parts: list[IntExpr]) -> list[str]:
        """Conditions as text; from 0 on and below a limit is one comparison without sign."""
        result: list[str] = []
        for n, part in enumerate(parts):
            assert isinstance(part, Binary)
            later = parts[n + 1] if n + 1 < len(parts) else None
            before = parts[n - 1] if n else None
            if _from_zero(part, later):
                continue
            if _from_zero(before, part):
                result.append(f"(unsigned)({self.text(part.a)}) < (unsigned)({self.text(part.b)})")
            else:
                result.append(
                    f"{_bracketed(part.a, self.text(part.a))} {part.op} {self.text(part.b)}"
                )
        return result

    def direct_store(self, store: ops.VectorStore) -> tuple[list[str], str, str, str]:
        """Indices of a store from registers with ``first`` along the columns, whether its row
        exists, where columns end, and where those of the tile begin.
        """
        indices, column = [], ""
        for at in store.at:
            form = linear(inlined_column(at))
            if form is not None and form.factor(COL) == 1:
                column = self.text(substitute(at, {COL: Const(0)}))
                indices.append("first")
            else:
                indices.append(
                    f"({self.text(at)})" if _of_element(at) else _bracketed(at, self.text(at))
                )
        exists: list[IntExpr] = []
        limit = ""
        for part in conjuncts(store.predicate):
            assert isinstance(part, Binary)
            if COL not in symbols(part):
                exists.append(part)
            elif part.op is Op.LT:
                limit = self.text(part.b)
        if not column or not limit:
            raise BackendError(
                f"a store to {store.tensor} without a predicate for each axis of its tile",
                where=self.module.name,
            )
        return indices, " && ".join(self.conditions(exists)) or "true", limit, column

    def places(self, store: ops.VectorStore, named: Mapping[Sym, str]) -> tuple[list[str], str]:
        """Indices of a store and its conditions, where some symbols have names of their own."""
        new: dict[Sym, IntExpr] = {x: Sym(SymKind.LET, name) for x, name in named.items()}
        at = [substitute(x, new) for x in store.at]
        parts = [substitute(x, new) for x in conjuncts(store.predicate)]
        texts = [_bracketed(x, self.text(x)) for x in at]
        return texts, " && ".join(self.conditions(parts))


def printer(context: Context) -> ModulePrinter:
    """The printer of the loop that a context is of."""
    return ModulePrinter(context)


_ENDS = (ops.VectorStore, ops.VectorStage, ops.VectorPut)  # printed with places of their own


def expressions(op: ops.VectorOp) -> Iterator[IntExpr]:
    """The integer expressions of a vector operation."""
    match op:
        case ops.VectorIndex():
            yield op.value
        case ops.VectorSlot() | ops.VectorPut() | ops.VectorStage():
            yield from (op.row, op.col)
        case ops.VectorLoad() | ops.VectorStore():
            yield from op.at
        case _:
            return


def _shape(work: Work) -> object:
    """What must be the same wherever vector work is done: all but the chunk of a tile, the staging
    copy, and what schedules say of it.
    """

    def anywhere(op: ops.VectorOp) -> ops.VectorOp:
        if isinstance(op, ops.VectorStage):
            return replace(op, target=replace(op.target, copy=0))
        if isinstance(op, ops.VectorRegister) and op.register == row_register(work.block):
            return replace(op, register=row_register(None))
        return op

    return work.op.layout.indices, tuple(anywhere(x) for x in work.body)


def inlined_column(expr: IntExpr) -> IntExpr:
    """An index in which where a step begins is a symbol."""
    return rewrite(expr, lambda x: Sym(SymKind.LET, x.function) if isinstance(x, Apply) else None)


def _from_zero(part: IntExpr | None, later: IntExpr | None) -> bool:
    """Whether two conditions are that a number lies from 0 on and below a limit."""
    if not isinstance(part, Binary) or not isinstance(later, Binary):
        return False
    return part.op is Op.GE and part.b == Const(0) and later.op is Op.LT and later.a == part.a


def _remainder(node: Binary) -> tuple[IntExpr, int] | None:
    """Of ``a - floor_div(a, n) * n`` with a power of two: a and n."""
    last = node.b
    if node.op is not Op.SUB or not isinstance(last, Binary) or last.op is not Op.MUL:
        return None
    by = last.b.value if isinstance(last.b, Const) else 0
    two = by > 1 and not by & (by - 1)
    return (node.a, by) if two and last.a == floor_div(node.a, by) else None


def _is_quotient(expr: IntExpr) -> bool:
    """Whether an expression is the same in every iteration, and no sum of symbols."""
    moves = any(isinstance(x, Apply) or _is_step(x) for x in nodes(expr))
    divides = any(isinstance(x, Binary) and x.op is Op.FLOOR_DIV for x in nodes(expr))
    return not moves and (divides or any(isinstance(x, Element | Select) for x in nodes(expr)))


def _is_step(node: IntExpr) -> bool:
    return isinstance(node, Sym) and node.kind is SymKind.STEP


def _walks(element: Element, function: Function) -> bool:
    """Whether an element of memory is another one in every iteration."""
    return any(function.parameter in symbols(x) for x in element.at)


def _of_element(part: IntExpr) -> bool:
    """Whether a condition is one of the element at hand, and not of a number of the tile, which
    ``Context.within`` prints.
    """
    return any(s in (ROW, COL) for s in symbols(part))


def _bracketed(expr: IntExpr, text: str) -> str:
    return f"({text})" if isinstance(expr, Binary) and expr.op in (Op.ADD, Op.SUB) else text


def _turned(node: IntExpr) -> IntExpr | None:
    return TURNED if node == EVERY_OTHER else None
