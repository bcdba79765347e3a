"""CUDA text of a kernel module's expressions: tile schedule, trip counts, coordinates, predicates.

These facts are printed from the module and computed nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.tile.context import Context
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Binary,
    Const,
    Element,
    Function,
    IntExpr,
    Op,
    Select,
    Sym,
    SymKind,
    elements,
    linear,
    rewrite,
    show,
    substitute,
    symbols,
)
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.ir.module import KernelModule, LoopPhase, TileLoop
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
ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
INSTANCE = Sym(SymKind.THREAD, "instance")
BACKWARDS = Sym(SymKind.LET, "backwards")
TURNED = Sym(SymKind.LET, "turned")
EVERY_OTHER = Binary(Op.NE, Binary(Op.MOD, VISIT, Const(2)), Const(0))


@dataclass(frozen=True, slots=True)
class ModulePrinter:
    """Prints the facts of a module in the names of a context; of loop ``number`` of its tiles."""

    module: KernelModule
    context: Context
    number: int

    def text(self, expr: IntExpr) -> str:
        """An expression in CUDA; sizes, scalars and tensors become parameters as they are met."""
        return show(rewrite(expr, _turned), self._name, self._spelt)

    def _name(self, symbol: Sym) -> str:
        if symbol.kind is SymKind.SIZE:
            return self.context.size(symbol.name)
        if symbol.kind is SymKind.SCALAR:
            return self.context.scalar(symbol.name)
        if symbol.kind is SymKind.VISIT:
            raise BackendError(
                f"an expression of {symbol.name} other than its parity", where=self.module.name
            )
        if symbol == TILE and self.schedule.split > 1:
            return "unit"
        return _NAMES.get(symbol, symbol.name)

    def _spelt(self, node: IntExpr) -> str | None:
        """Elements of memory, and quotients that are rounded down."""
        if isinstance(node, Element):
            return self.context.element(node.tensor, [self.text(x) for x in node.at])
        if isinstance(node, Binary) and node.op is Op.FLOOR_DIV:
            by = node.b.value if isinstance(node.b, Const) else 0
            shift = by > 0 and not by & (by - 1)
            if shift:
                return f"({self.text(node.a)} >> {by.bit_length() - 1})"
            return f"divided_down({self.text(node.a)}, {self.text(node.b)})"
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
        earlier = self.module.roles[0].earlier
        return earlier[self.number] if self.number < len(earlier) else self.tiles

    @property
    def expansion(self) -> Expansion:
        """What the schedule means."""
        return expand(self.schedule)

    def let_line(self, bound: Let, value: IntExpr | None = None) -> str:
        """A name for an expression."""
        return f"const int {self._name(bound.name)} = {self.text(value or bound.value)};"

    def let(self, name: str) -> IntExpr:
        """What a name of the tile loop stands for."""
        return next(x.value for x in self.tiles.lets if x.name.name == name)

    def direction_line(self) -> str:
        """Whether a tile walks its loop backwards."""
        return f"const bool backwards = {self.text(self.let(BACKWARDS.name))};"

    def reread(self, expr: IntExpr) -> IntExpr:
        """An expression of sizes that are read anew: they do not wait in registers."""
        anew = {x: Sym(SymKind.LET, f"opaque({self._name(x)})") for x in symbols(expr)}
        return substitute(expr, {x: new for x, new in anew.items() if x.kind is SymKind.SIZE})

    def count_trips(self) -> list[str]:
        """How many iterations a tile has."""
        lines: list[str] = []
        names = [x.name for x in self.loop.bounds]
        for n, x in enumerate(self.loop.bounds):
            if x.name in names[:n]:
                lines.append(self._again(x))
            else:
                again = x.name in names[n + 1 :]
                lines.append(self.let_line(x).removeprefix("const " if again else ""))
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
        lines += [f"const int {x.name.name} = {self._range(x.value)};" for x in self.loop.ranges]
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
            lists[found] = f"tile_number({name} + {along})"
        value = show(function.value, self._name, lambda x: lists.get(x) or self._spelt(x))
        return [*lines, f"auto {function.name} = [&](int k) {{ return {value}; }};"]

    def _range(self, expr: IntExpr) -> str:
        """Ranges may begin before the loop does: a quotient of a number that may be below 0."""

        def spelt(node: IntExpr) -> str | None:
            if isinstance(node, Binary) and node.op is Op.FLOOR_DIV:
                return f"floor_div({self._range(node.a)}, {self._range(node.b)})"
            return self._spelt(node)

        return show(expr, self._name, spelt)

    # Operations.

    def operation(self, entry: RoleEntry, site: Site) -> Operation:
        """The operation of the module that an entry of a role program is."""
        role = self.module.role(site.program.name)
        earlier = self.number < len(role.earlier)
        mine = role.earlier[self.number] if earlier else role
        body = role.earlier[self.number].body if earlier else role.tiles.body
        at = next(i for i, s in enumerate(body) if isinstance(s, StepLoop))
        loop = body[at]
        assert isinstance(loop, StepLoop)
        lists: dict[str, tuple[Statement, ...]] = {
            "setup": mine.setup,
            "prologue": body[:at],
            "kernel": loop.body,
            "epilogue": body[at + 1 :],
            "finish": mine.finish,
        }
        entries: tuple[RoleEntry, ...] = getattr(site.program, site.phase)
        own = [s for s in lists[site.phase] if not isinstance(s, ops.Vector) or not s.within]
        found = own[entries.index(entry)]
        assert not isinstance(found, StepLoop)
        return found

    def copy_boxes(self, op: ops.Copy, part_rows: int, line_bytes: int) -> list[tuple[str, str]]:
        """Of every box: what is added to the part's address, and its coordinates, innermost first.

        Blocks of columns lie one after the other in shared memory, rows ``line_bytes`` apart.
        """
        made = []
        width = self.module.map(op.tensor_map).box[-1]
        for box in op.boxes:
            rows = linear(box.row)
            assert rows is not None
            share = rows.factor(RANK)
            offset = f" + rank * {share * line_bytes}" if share else ""
            block = box.col // width * part_rows * line_bytes
            offset += f" + {block}" if block else ""
            made.append((offset, ", ".join(self.text(x) for x in reversed(box.at))))
        return made

    def operand_share(self, operand: ops.SlotOperand) -> int:
        """Rows of an operand that lie between one instance's and the next one's."""
        form = linear(operand.row)
        assert form is not None
        return form.factor(INSTANCE)

    def store_coordinates(self, op: ops.BulkStore) -> str:
        """Coordinates of a bulk store, innermost first."""
        return ", ".join(self.text(x) for x in reversed(op.at))

    def _load_of(self, name: str) -> ops.VectorLoad | None:
        for role in self.module.roles:
            for op in role.tiles.body:
                for load in op.body if isinstance(op, ops.Vector) else ():
                    if isinstance(load, ops.VectorLoad) and load.result == name:
                        return load
        return None

    def tail_load(self, name: str) -> tuple[list[str], list[str]] | None:
        """Indices of a load of the tail and its conditions; None where the module has no such."""
        load = self._load_of(name)
        if load is None:
            return None
        inside = [self._condition(x) for x in _conjuncts(load.predicate) if _of_element(x)]
        return [_bracketed(x, self.text(x)) for x in load.at], inside

    def tail_limits(self, name: str) -> tuple[list[str], list[str]] | None:
        """Indices of a load of the tail, and by axis the element it must lie before."""
        load = self._load_of(name)
        if load is None:
            return None
        ends = {
            p.a: p.b for p in _conjuncts(load.predicate) if isinstance(p, Binary) and p.op is Op.LT
        }
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
        return [_bracketed(x, self.text(x)) for x in load.at], limits

    def _condition(self, part: IntExpr) -> str:
        assert isinstance(part, Binary)
        return f"{_bracketed(part.a, self.text(part.a))} {part.op} {self.text(part.b)}"

    def direct_store(self, op: ops.Vector) -> tuple[list[str], str, str, str]:
        """Indices of a store from registers with ``first`` along the columns, whether its row
        exists, where columns end, and where those of the tile begin.
        """
        store = next(x for x in op.body if isinstance(x, ops.VectorStore))
        indices, column = [], ""
        for at in store.at:
            form = linear(at)
            if form is not None and form.factor(COL) == 1:
                column = self.text(substitute(at, {COL: Const(0)}))
                indices.append("first")
            elif form is not None and form.factor(ROW) == 1:
                indices.append(f"({self.text(at)})")
            else:
                indices.append(_bracketed(at, self.text(at)))
        exists, limit = [], ""
        for part in _conjuncts(store.predicate):
            if not _of_element(part):
                continue  # a number: whoever prints the store asks for it
            assert isinstance(part, Binary)
            form = linear(part.a)
            if part.op is Op.LT and form is not None and form.factor(COL) == 1:
                limit = self.text(part.b)
            else:
                exists.append(f"({self.text(part.a)}) {part.op} {self.text(part.b)}")
        if not column or not limit or not exists:
            raise BackendError(
                f"a store to {store.tensor} without a predicate for each axis of its tile",
                where=self.module.name,
            )
        return indices, " && ".join(exists), limit, column


def printer(context: Context) -> ModulePrinter:
    """The printer of the loop that a context is of."""
    assert context.module is not None
    return ModulePrinter(context.module, context, context.number)


def printed(context: Context) -> ModulePrinter | None:
    """The printer, where operations of vectors are printed from the module too."""
    return printer(context) if context.printed else None


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


def _conjuncts(expr: IntExpr | None) -> list[IntExpr]:
    if isinstance(expr, Binary) and expr.op is Op.AND:
        return [*_conjuncts(expr.a), *_conjuncts(expr.b)]
    return [] if expr is None else [expr]
