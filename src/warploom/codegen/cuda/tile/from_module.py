"""CUDA text of a kernel module's expressions: tile schedule, trip counts, coordinates, predicates.

Where a kernel has a module, these facts are printed from it and computed nowhere else.
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
    IntExpr,
    Op,
    Sym,
    SymKind,
    linear,
    rewrite,
    show,
    substitute,
    symbols,
)
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.ir.module import KernelModule, TileLoop
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.tile_schedule import RANK, VISIT, Expansion, expand

_NAMES = {
    Sym(SymKind.LAUNCH, "cta"): "blockIdx.x",
    Sym(SymKind.LAUNCH, "ctas"): "gridDim.x",
    Sym(SymKind.LET, "trips"): "k_tiles",
    Sym(SymKind.STEP, "t"): "k",
    Sym(SymKind.THREAD, "warp"): "warp_in_group",
    Sym(SymKind.ELEMENT, "row"): "row_of(b, i)",
    Sym(SymKind.ELEMENT, "col"): "column_of(h, e)",
}
ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
INSTANCE = Sym(SymKind.THREAD, "instance")
TURNED = Sym(SymKind.LET, "turned")
EVERY_OTHER = Binary(Op.NE, Binary(Op.MOD, VISIT, Const(2)), Const(0))


@dataclass(frozen=True, slots=True)
class ModulePrinter:
    """Prints the facts of a module in the names of a context."""

    module: KernelModule
    context: Context

    def text(self, expr: IntExpr) -> str:
        """An expression in CUDA; sizes become parameters as they are met."""
        return show(rewrite(expr, _turned), self._name)

    def _name(self, symbol: Sym) -> str:
        if symbol.kind is SymKind.SIZE:
            return self.context.size(symbol.name)
        if symbol.kind is SymKind.VISIT:
            raise BackendError(
                f"an expression of {symbol.name} other than its parity", where=self.module.name
            )
        return _NAMES.get(symbol, symbol.name)

    # Tiles and steps.

    @property
    def tiles(self) -> TileLoop:
        """The tile loop; roles were verified to agree on it."""
        return self.module.roles[0].tiles

    @property
    def _expansion(self) -> Expansion:
        return expand(self.tiles.schedule)

    def count_lines(self) -> list[str]:
        """How many tiles there are."""
        return [f"const int {x.name.name} = {self.text(x.value)};" for x in self._expansion.counts]

    def walk_lines(self) -> list[str]:
        """The head of a role's loop over its CTA's tiles."""
        made = self._expansion
        *before, last = [f"{x.name.name} = {self.text(x.value)}" for x in made.start] or [""]
        lines = [f"const int {', '.join(before)};"] if before else []
        lines += [f"const int {last};"] if last else []
        first, total, stride = (self.text(x) for x in (made.first, made.total, made.stride))
        return [*lines, f"for (int tile = {first}; tile < {total}; tile += {stride}) {{"]

    def place_lines(self) -> list[str]:
        """Where tile number ``tile`` lies."""
        made = self._expansion
        lines = [f"const int {x.name.name} = {self.text(x.value)};" for x in made.place]
        indices = {Sym(SymKind.TILE, var): value for var, value in made.indices}
        for bound in self.tiles.lets:
            if bound.name.name != "backwards":
                value = self.text(substitute(bound.value, indices))
                lines.append(f"const int {bound.name.name} = {value};")
        return lines

    def direction_line(self) -> str:
        """Whether a tile walks its loop backwards."""
        bound = next(x for x in self.tiles.lets if x.name.name == "backwards")
        return f"const bool backwards = {self.text(bound.value)};"

    def trip_lines(self) -> list[str]:
        """How many iterations a tile has, and where each begins."""
        lines = [f"int {x.name.name} = {self.text(x.value)};" for x in self.tiles.bounds]
        lines.append(f"const int k_tiles = {self.text(self.tiles.trips)};")
        for f in self.tiles.functions:
            lines.append(f"auto {f.name} = [&](int k) {{ return {self.text(f.value)}; }};")
        return lines

    # Operations.

    def operation(self, entry: RoleEntry, site: Site) -> Operation:
        """The operation of the module that an entry of a role program is."""
        role = self.module.role(site.program.name)
        at = next(i for i, s in enumerate(role.tiles.body) if isinstance(s, StepLoop))
        loop = role.tiles.body[at]
        assert isinstance(loop, StepLoop)
        lists: dict[str, tuple[Statement, ...]] = {
            "setup": role.setup,
            "prologue": role.tiles.body[:at],
            "kernel": loop.body,
            "epilogue": role.tiles.body[at + 1 :],
            "finish": role.finish,
        }
        entries: tuple[RoleEntry, ...] = getattr(site.program, site.phase)
        found: Statement = lists[site.phase][entries.index(entry)]
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


def printer(context: Context) -> ModulePrinter | None:
    """The printer of a kernel that has a module."""
    return None if context.module is None else ModulePrinter(context.module, context)


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
