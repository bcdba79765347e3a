"""One loop of a tile as code generation reads it: what follows from its part of the module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.dataflow import Flow, When
from warploom.ir.expr import Apply, Const, IntExpr, Sym, SymKind, evaluate, linear, nodes, symbols
from warploom.ir.module import KernelModule, LoopPhase, RegisterArray, Role, TileLoop
from warploom.ir.operations import Operation, Statement, StepLoop, VectorKind
from warploom.ir.tile_schedule import TileSchedule
from warploom.targets.h200 import ROOMY_REGISTERS

CONSUMER, PRODUCER, GATHERER = "consumer", "producer", "gatherer"
WARPS, LANES = 4, 32  # of a consumer, of a warp
INSTANCE = Sym(SymKind.THREAD, "instance")
TRIPS = Sym(SymKind.LET, "trips")
TRIED = (1, 2, 3, 5, 8, 13, 64, 1000)  # iterations


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Vector work that is printed as a function: where it runs, and the values it leaves."""

    name: str
    when: When
    results: tuple[str, ...]


@dataclass(frozen=True)
class LoopView:
    """Loop ``number`` of the tiles of a module: the last one, or one that runs before it."""

    module: KernelModule
    number: int

    @property
    def is_last(self) -> bool:
        """Whether it is the loop that ends a tile."""
        return self.number == len(self.module.earlier)

    @property
    def schedule(self) -> TileSchedule:
        """The order of tiles; roles were verified to agree on it."""
        return self.module.roles[0].tiles.schedule

    @property
    def bounds(self) -> TileLoop | LoopPhase:
        """Where its iterations begin and end; the same for all roles."""
        role = self.module.roles[0]
        return role.tiles if self.is_last else role.earlier[self.number]

    def body(self, role: str) -> tuple[Statement, ...]:
        """What a role does for a tile."""
        found = self.module.role(role)
        return found.tiles.body if self.is_last else found.earlier[self.number].body

    def operations(self, role: str) -> Iterator[tuple[When, Operation]]:
        """All of them, before the loop, in it and after it."""
        when = When.HEAD
        for statement in self.body(role):
            if isinstance(statement, StepLoop):
                yield from ((When.LOOP, x) for x in statement.body)
                when = When.TAIL
            else:
                yield when, statement

    # Consumers.

    @property
    def consumer(self) -> Role:
        """The role that multiplies."""
        return self.module.role(CONSUMER)

    @property
    def consumers(self) -> int:
        """Consumers that share a tile."""
        return 1 if self.consumer.alternates else self.consumer.instances

    @property
    def pace(self) -> int:
        """After so many iterations CTAs wait for one another; 0: never."""
        return self.module.role(PRODUCER).pace

    @property
    def unroll(self) -> int:
        """Steps of an iteration."""
        return self.module.unroll if self.is_last else self.module.earlier[self.number].unroll

    @property
    def hints(self) -> bool:
        """Whether copies say what the L2 is to keep."""
        return any(m.l2 for m in self.module.maps)

    @cached_property
    def arrays(self) -> tuple[RegisterArray, ...]:
        """Tiles and vectors of rows that live in registers along the loop."""
        facts = (
            self.module.registers if self.is_last else self.module.earlier[self.number].registers
        )
        named = {name for name, _ in dict(facts).get(CONSUMER, ())}
        return tuple(a for a in self.consumer.arrays if a.name in named and a.form != "thread")

    @cached_property
    def early(self) -> tuple[RegisterArray, ...]:
        """Vectors along the columns that are read before the product that lies with them."""
        found = {x.array for x in self._sets()}
        every = [a for a in self.consumer.arrays if a.name in found and a.form == "thread"]
        return tuple(a for a in every if a.registers > 1)

    @cached_property
    def read_ahead(self) -> tuple[RegisterArray, ...]:
        """What steps want read as their product is issued."""
        within = {x.array for op in self.within() for x in op.body if isinstance(x, ops.VectorSet)}
        within -= {a.name for a in (*self.arrays, *self.early)}
        return tuple(a for a in self.consumer.arrays if a.name in within)

    def within(self) -> list[ops.Vector]:
        """What is done as part of the operation that follows."""
        return [x for x in self.vectors() if x.within]

    def vectors(self, name: str | None = None) -> list[ops.Vector]:
        """Vector work (of that name), in the order of the program."""
        every = (x for _, x in self.operations(CONSUMER) if isinstance(x, ops.Vector))
        return [x for x in every if name is None or x.op == name]

    def _sets(self) -> Iterator[ops.VectorSet]:
        return (x for op in self.vectors() for x in op.body if isinstance(x, ops.VectorSet))

    @cached_property
    def registers(self) -> int:
        """Registers of a thread that arrays take."""
        return sum(a.registers for a in self.arrays)

    @property
    def crowded(self) -> bool:
        """Whether not all arrays fit in registers at once: then it matters when they live."""
        return self.registers > ROOMY_REGISTERS

    def starts_anew(self, array: str) -> bool:
        """Whether a product that does not accumulate has to say that its registers hold nothing.

        Where arrays live in turn, and where the tail of a tile writes into the accumulators: the
        compiler would carry what it left there into the next tile, and move it between products.
        """
        return self.crowded or array in self._left_in_tail

    @cached_property
    def _left_in_tail(self) -> frozenset[str]:
        every = (x for when, x in self.operations(CONSUMER) if when is When.TAIL)
        work = (x for x in every if isinstance(x, ops.Vector))
        return frozenset(y.array for x in work for y in x.body if isinstance(y, ops.VectorSet))

    @cached_property
    def blocks(self) -> int:
        """64-row blocks of a consumer, of the products' rows; where consumers share the columns of
        a product, each has all its rows.
        """
        shared = {x.accumulator for x in self.products if share_of(x.b.row)}
        return max((a.blocks for a in self.arrays if a.name not in shared), default=1)

    @cached_property
    def products(self) -> tuple[ops.Mma, ...]:
        """Matrix products, in the order of the kernel."""
        every = [x for _, x in self.operations(CONSUMER) if isinstance(x, ops.Mma)]
        return tuple(sorted(every, key=lambda x: self.order.get(x.op, len(self.order))))

    @cached_property
    def order(self) -> dict[str, int]:
        """The order of ops in the kernel, which is not that of a schedule."""
        flow = self.flow
        return {} if flow is None else {x.name: n for n, x in enumerate(flow.ops)}

    @property
    def deferred(self) -> bool:
        """Whether a part of a product is issued amid what follows it."""
        return any(x.inner is not None for x in self.products)

    @cached_property
    def meet(self) -> ops.Meet | None:
        """Where parts of a split loop meet."""
        every = (x for _, x in self.operations(CONSUMER))
        return next((x for x in every if isinstance(x, ops.Meet)), None)

    @cached_property
    def turn(self) -> ops.Turn | None:
        """How tiles add in turn to what they share."""
        return next((s.turn for s in self.stores() if s.turn is not None), None)

    def stores(self) -> Iterator[ops.VectorStore]:
        """Stores from registers."""
        return (x for op in self.vectors() for x in op.body if isinstance(x, ops.VectorStore))

    @cached_property
    def gathers(self) -> tuple[ops.ThreadCopy, ...]:
        """Copies of rows that a list picks, one a ring part."""
        found: dict[tuple[str, str], ops.ThreadCopy] = {}
        for role in (r for r in self.module.roles if r.name == GATHERER):
            for _, x in self.operations(role.name):
                if isinstance(x, ops.ThreadCopy):
                    found.setdefault((x.ring, x.part), x)
        return tuple(found.values())

    # Functions of the source.

    def named(self, kind: VectorKind) -> list[Named]:
        """Vector work of a kind that is called in several places, in the order of the kernel."""
        found: dict[str, Named] = {}
        flow = {} if self.flow is None else {x.name: x for x in self.flow.ops}
        places = self.places
        for op in self.vectors():
            if op.kind is kind and not op.within and op.op not in found:
                known = flow.get(op.op)
                own = tuple(x.value for x in op.body if isinstance(x, ops.VectorSet))
                found[op.op] = Named(
                    name=op.op,
                    when=places[op.op],
                    results=own if known is None else known.results,
                )
        order = self.order
        whens = list(When)
        return sorted(
            found.values(), key=lambda x: (whens.index(x.when), order.get(x.name, len(order)))
        )

    @cached_property
    def places(self) -> dict[str, When]:
        """Where vector work runs; that of the loop runs in iterations before and after it, too."""
        result: dict[str, When] = {}
        for when, x in self.operations(CONSUMER):
            if isinstance(x, ops.Vector) and (x.op not in result or when is When.LOOP):
                result[x.op] = when
        return result

    @property
    def flow(self) -> Flow | None:
        """The declared dataflow, in the order of the kernel."""
        return self.module.flow if self.is_last else self.module.earlier[self.number].flow

    @cached_property
    def interrupted(self) -> dict[str, int]:
        """Vector work in whose middle bytes are awaited, and after how many elements."""
        result: dict[str, int] = {}
        before: Operation | None = None
        for _, x in self.operations(CONSUMER):
            if isinstance(before, ops.Wait) and before.amid and isinstance(x, ops.Vector):
                result[x.op] = before.amid
            before = x
        return result

    # Iterations that hide elements.

    @cached_property
    def ranges(self) -> dict[str, IntExpr]:
        """Where iterations that hide nothing begin and end."""
        return {x.name.name: x.value for x in self.bounds.ranges}

    @property
    def hides_first(self) -> bool:
        """Whether the first iterations may hide elements."""
        return self.ranges.get("whole_from", Const(0)) != Const(0)

    @property
    def hides_last(self) -> bool:
        """Whether the last ones may."""
        return self._shown != TRIED

    @property
    def shows_some(self) -> bool:
        """Whether any may hide nothing."""
        return self._shown is None or any(self._shown)

    @property
    def _shown(self) -> tuple[int, ...] | None:
        """Of so many iterations as ``TRIED`` says, how many hide nothing, where these decide it."""
        to = self.ranges.get("whole_to", TRIPS)
        known = set(symbols(to)) <= {TRIPS}
        return tuple(evaluate(to, {TRIPS: n}) for n in TRIED) if known else None

    # Tiles.

    def extent(self, name: str, axis: Sym) -> int:
        """Rows or columns of the tile that vector work of that name goes over, all its pieces."""
        every = [op for op in self.vectors(name) if not op.within]
        return max(self._extent(op, axis) for op in every)

    def _extent(self, op: ops.Vector, axis: Sym) -> int:
        """Places rise with all they are made of, so the last one is that of the largest ones."""
        last: dict[Sym, int] = {
            Sym(SymKind.THREAD, "warp"): WARPS - 1,
            Sym(SymKind.THREAD, "lane"): LANES - 1,
            INSTANCE: self.consumer.instances - 1,
        }
        last |= {Sym(SymKind.FRAGMENT, i.name): i.extent - 1 for i in op.layout.indices}
        return evaluate(op.layout.row if axis.name == "row" else op.layout.col, last) + 1


def share_of(row: IntExpr) -> int:
    """Rows of an operand that lie between one instance's and the next one's."""
    form = linear(row)
    if form is None:
        raise BackendError(f"an operand from row {row} on", fix="a number of each instance")
    return form.factor(INSTANCE)


def moves(expr: IntExpr) -> bool:
    """Whether an index is where a step begins."""
    return any(isinstance(x, Apply) for x in nodes(expr))
