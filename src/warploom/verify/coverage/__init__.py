"""Verify coverage: every output element stored, every reduction element used once, all in bounds.

``verify_coverage(module)`` says for every claim whether it holds for all sizes, by an argument over
the module's expressions, or for enumerated size classes; see ``CoverageReport``. It reads the
module and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from warploom.errors import VerificationError, WarploomError
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Apply,
    Binary,
    Const,
    Element,
    IntExpr,
    Select,
    Sym,
    SymKind,
    inlined,
    linear,
    nodes,
    rewrite,
    size,
    substitute,
)
from warploom.ir.module import Dialect, KernelModule, Role
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.rings import Per
from warploom.ir.tile_schedule import let
from warploom.verify.coverage.effects import verify_effects
from warploom.verify.coverage.enumerate import Layouts, find_wrong, size_classes
from warploom.verify.coverage.induction import trips_cover
from warploom.verify.coverage.reads import verify_reads
from warploom.verify.coverage.report import Claim, CoverageReport, Finding, How
from warploom.verify.coverage.schedules import kind_of, visits_every_tile
from warploom.verify.coverage.stores import verify_loads, verify_positions, verify_stores
from warploom.verify.coverage.trips import verify_trips
from warploom.verify.coverage.values import NotFollowedError

__all__ = ["Claim", "CoverageReport", "Finding", "How", "require_covered", "verify_coverage"]

TRIPS, T_STEP = let("trips"), Sym(SymKind.STEP, "t")


@lru_cache(maxsize=64)
def verify_coverage(module: KernelModule) -> CoverageReport:
    """The verdict on a module."""
    if module.threads is not None:
        from warploom.verify.coverage.threads import verify_thread_coverage  # noqa: PLC0415

        return verify_thread_coverage(module)
    if module.program is not None:
        from warploom.verify.coverage.wave_programs import verify_wave_coverage  # noqa: PLC0415

        return verify_wave_coverage(module)
    if module.dialect is Dialect.COUNTER:
        from warploom.verify.coverage.waves import verify_waves  # noqa: PLC0415 (one dialect)

        return verify_waves(module)
    claims: list[Claim] = []
    findings: list[Finding] = []
    product = is_product(module)
    every = (_schedules, _agreement, verify_positions, verify_trips, verify_stores, verify_loads)
    for check in (*every, verify_reads, verify_effects, _bytes, *((_steps,) if product else ())):
        for made in _followed(check, module):
            (claims if isinstance(made, Claim) else findings).append(made)  # type: ignore[arg-type]
    if not product:
        claims.append(
            Claim(
                what="which value a store writes is not followed here",
                how=How.NOT,
                argument="verified by verify_dataflow, which compares results with the author's"
                " kernel; sums are followed for products with a pointwise tail",
            )
        )
    elif not findings:
        claims += list(_elements(module, findings))
    return CoverageReport(module=module.name, claims=tuple(claims), findings=tuple(findings))


def _followed(check: Callable[[KernelModule], Made], module: KernelModule) -> Made:
    """What a check says; of what it cannot follow, that it does not."""
    try:
        yield from check(module)
    except (NotFollowedError, LookupError, StopIteration, RuntimeError) as error:
        yield Claim(
            what=f"{check.__name__.lstrip('_').replace('_', ' ')}: not followed here",
            how=How.NOT,
            argument=f"{type(error).__name__}: {error}; executed by verify_dataflow",
        )


_POINTWISE = (
    ops.VectorConst,
    ops.VectorScalar,
    ops.VectorIndex,
    ops.VectorRegister,
    ops.VectorLoad,
    ops.VectorPointwise,
    ops.VectorStage,
    ops.VectorStore,
)


def is_product(module: KernelModule) -> bool:  # noqa: C901, PLR0911, PLR0912 (one line a form)
    """Whether a module is a product with a pointwise tail, whose elements can be followed."""
    schedule = module.roles[0].tiles.schedule
    if module.earlier or schedule.groups or schedule.listed or schedule.order or schedule.rows:
        return False
    if schedule.split > 1 or any(len(r.tiles.functions) != 1 for r in module.roles):
        return False
    if any(x for r in module.roles for x in r.tiles.ranges):
        return False
    loops = [r.tiles for r in module.roles]
    if any(isinstance(n, Element) for t in loops for f in t.functions for n in nodes(f.value)):
        return False  # steps that a list names
    if any([x.value == Const(0) for x in t.bounds] != [True, False] for t in loops):
        return False  # a loop of a part of its axis
    if any(not isinstance(t.bounds[1].value, Sym) for t in loops):
        return False
    if any(a.form != "tile" for r in module.roles for a in r.arrays):
        return False
    for _, op in operations(module):
        if isinstance(op, ops.Meet | ops.ThreadCopy):
            return False
        if isinstance(op, ops.Mma) and isinstance(op.a, ops.RegisterOperand):
            return False
        if isinstance(op, ops.BulkStore) and (op.add or op.end is not None):
            return False
        if isinstance(op, ops.Copy) and any(b.end is not None for b in op.boxes):
            return False
        if isinstance(op, ops.Copy) and any(_is_data(x) for b in op.boxes for x in b.at):
            return False
        if isinstance(op, ops.Vector):
            if op.within or op.writes or not all(isinstance(x, _POINTWISE) for x in op.body):
                return False
            if any(isinstance(x, ops.VectorStore) and x.add for x in op.body):
                return False
            places = [x for x in op.body if isinstance(x, ops.VectorLoad | ops.VectorStore)]
            if any(_is_data(at) for x in places for at in x.at):
                return False
    return not any(r.per is Per.TILE for r in module.storage.rings)


def _is_data(expr: IntExpr) -> bool:
    """Whether data of the call decides an index."""
    kinds = (SymKind.VALUE, SymKind.SCALAR)
    return any(
        isinstance(x, Element) or (isinstance(x, Sym) and x.kind in kinds) for x in nodes(expr)
    )


def require_covered(module: KernelModule | None) -> None:
    """``VerificationError`` for a module that is wrong; kernels without one are not judged here."""
    if module is None:
        return
    report = verify_coverage(module)
    if report.findings:
        raise VerificationError(
            f"the module of {module.kernel.name} is wrong: {report.findings[0]}",
            where=module.name,
            why="an index, predicate, trip count or store would compute something else",
            fix="report it with the listing: str(compiled.module)",
            report=report,
        )


Made = Iterator[Claim | Finding]


def _schedules(module: KernelModule) -> Made:
    tried, first = 0, module.roles[0].tiles.schedule
    if first.groups or first.listed or first.order or first.rows:
        yield Claim(
            what=f"tile schedule '{first.name}' visits every tile once",
            how=How.CLASSES,
            argument="data of the launch decides it; executed by verify_dataflow",
        )
        return
    for role in module.roles:
        wrong, tried = visits_every_tile(kind_of(role.tiles.schedule))
        if wrong:
            yield Finding(what=wrong, where=f"tile schedule of {role.name}")
            return
    yield Claim(
        what=f"tile schedule '{module.roles[0].tiles.schedule.name}' visits every tile once",
        how=How.ALL,
        argument=f"proven per kind, its expressions compared in {tried} cases",
    )


def _agreement(module: KernelModule) -> Made:
    """Roles run the same tiles, bindings and trip counts."""
    first, *rest = (r.tiles for r in module.roles)
    for role, other in zip(module.roles[1:], rest, strict=True):
        for name in ("schedule", "lets", "bounds", "functions", "trips", "ranges"):
            if getattr(first, name) != getattr(other, name):
                yield Finding(
                    what=f"{name} differ from those of {module.roles[0].name}",
                    where=f"role {role.name}",
                )
                return
        loops = [(p.functions, p.bounds, p.trips, p.ranges) for p in role.earlier]
        if loops != [(p.functions, p.bounds, p.trips, p.ranges) for p in module.roles[0].earlier]:
            yield Finding(what="earlier loops differ", where=f"role {role.name}")
            return
    yield Claim(
        what="roles agree on tiles and trip counts",
        how=How.ALL,
        argument="the same expressions in every role",
    )


def _steps(module: KernelModule) -> Made:
    """Every step of the reduction is taken once."""
    tiles = module.roles[0].tiles
    functions = {f.name: f for f in tiles.functions}
    bounds = {x.name: x.value for x in tiles.bounds}
    loops = [s for r in module.roles for s in r.tiles.body if isinstance(s, StepLoop)]
    for loop, role in zip(loops, module.roles, strict=False):
        form = linear(loop.start)
        if loop.stop != TRIPS or form is None or form.factors or form.constant != role.peel:
            yield Finding(what=f"steps {loop.start} .. {loop.stop}", where=f"role {role.name}")
            return
    for function in tiles.functions:
        extents = set()
        for backwards in (0, 1):
            value = inlined(function.value, functions)
            fixed = substitute(value, bounds | {let("backwards"): Const(backwards)})
            fixed = _decided(fixed)
            form = linear(fixed)
            if form is None:
                yield Finding(what="not an even step", where=f"{function.name} = {function.value}")
                return
            per = form.factor(function.parameter)
            forwards = per > 0 and form.constant == 0 and len(form.factors) == 1
            back = per < 0 and form.factor(TRIPS) == -per == -form.constant
            if not forwards and not back:
                yield Finding(
                    what="steps that are not 0, 1, .. trips - 1 in some order",
                    where=f"{function.name} = {function.value}",
                )
                return
            extents.add(abs(per))
        if len(extents) != 1:
            yield Finding(what="steps of two lengths", where=function.name)
            return
        (extent,) = extents
        axis = next((a for a in _walked(module, function.name)), None)
        if axis is None:
            continue
        holds, why = trips_cover(
            substitute(tiles.trips, bounds), size(axis), extent, tiles.least_trips
        )
        if holds:
            yield Claim(
                what=f"steps of {extent} cover axis '{axis}' once", how=How.ALL, argument=why
            )
        else:
            yield Finding(what=why, where=f"trips = {tiles.trips}")


def _decided(expr: IntExpr) -> IntExpr:
    """The expression where conditions that are numbers are taken."""

    def change(node: IntExpr) -> IntExpr | None:
        if isinstance(node, Select) and isinstance(node.condition, Const):
            return _decided(node.then if node.condition.value else node.otherwise)
        return None

    return rewrite(expr, change)


def _applies(expr: IntExpr, function: str) -> bool:
    if isinstance(expr, Apply):
        return expr.function == function
    return isinstance(expr, Binary) and any(_applies(e, function) for e in (expr.a, expr.b))


def _walked(module: KernelModule, function: str) -> Iterator[str]:
    """The axes that copies walk by a step function."""
    for _, op in operations(module):
        if isinstance(op, ops.Copy):
            tensor = module.tensor(module.map(op.tensor_map).tensor)
            for axis, at in zip(tensor.axes, op.boxes[0].at, strict=True):
                if _applies(at, function):
                    yield axis.name


def operations(module: KernelModule) -> Iterator[tuple[Role, Operation]]:
    """All operations of all roles, in order."""
    for role in module.roles:
        for statement in (*role.setup, *role.tiles.body, *role.finish):
            for op in statement.body if isinstance(statement, StepLoop) else (statement,):
                yield role, op


def _rows(body: tuple[Statement, ...]) -> Iterator[tuple[Operation, ...]]:
    """What stands before the loop of a tile, in it, and after it."""
    at = next((i for i in range(len(body)) if isinstance(body[i], StepLoop)), len(body))
    before, after = body[:at], body[at + 1 :]
    yield tuple(s for s in before if not isinstance(s, StepLoop))
    if at < len(body):
        loop = body[at]
        assert isinstance(loop, StepLoop)
        yield loop.body
    yield tuple(s for s in after if not isinstance(s, StepLoop))


def _bytes(module: KernelModule) -> Made:  # noqa: C901 (one line a kind)
    """Copies fill a slot whole, and announce as many bytes as they bring."""
    for role in module.roles:
        bodies = [role.tiles.body, *(p.body for p in role.earlier)]
        for row in (r for body in bodies for r in _rows(body)):
            expected: dict[tuple[str, object], int] = {}
            brought: dict[tuple[str, object], int] = {}
            for op in row:
                if isinstance(op, ops.Expect):
                    key = (op.ring, op.iteration)
                    expected[key] = expected.get(key, 0) + op.bytes
                elif isinstance(op, ops.Copy):
                    part, found = module.part(op.ring, op.part), module.map(op.tensor_map)
                    each = int(np.prod(found.box)) * part.dtype.bits // 8 * len(op.boxes)
                    if each != op.bytes:
                        yield Finding(
                            what=f"boxes of {each} bytes for a copy of {op.bytes}", where=op.op
                        )
                        return
                    if each * op.multicast != part.rows * part.cols * part.dtype.bits // 8:
                        yield Finding(what="boxes that do not fill their part", where=op.op)
                        return
                    if found.swizzle != part.swizzle:
                        yield Finding(what="a swizzle that the part does not have", where=op.op)
                        return
                    key = (op.ring, op.iteration)
                    brought[key] = brought.get(key, 0) + each * op.multicast
                elif isinstance(op, ops.ThreadCopy):
                    key = (op.ring, op.iteration)
                    brought[key] = brought.get(key, 0) + op.bytes
            if expected != brought:
                yield Finding(
                    what=f"{sum(brought.values())} bytes copied,"
                    f" {sum(expected.values())} announced",
                    where=f"role {role.name}",
                )
                return
    yield Claim(
        what="copied bytes equal announced bytes", how=How.ALL, argument="counted; boxes are fixed"
    )


def _elements(module: KernelModule, findings: list[Finding]) -> Iterator[Claim]:
    """Elements followed from copies to stores, for sizes of every class."""
    classes, layouts = size_classes(module), Layouts()
    for sizes in classes:
        found = _found(module, sizes, layouts)
        if found is not None:
            findings.append(found)
            return
    axes = [a.axis for a in module.roles[0].tiles.schedule.tiled]
    yield Claim(
        what="each output element is stored, from its own sum of every reduction element once;"
        " accesses are in bounds",
        how=How.CLASSES,
        argument=f"{len(classes)} classes: 0, 1, one off a tile, a tile, several of"
        f" {', '.join(axes)} and of the reduction",
    )


def _found(module: KernelModule, sizes: Mapping[str, int], layouts: Layouts) -> Finding | None:
    try:
        return find_wrong(module, sizes, layouts)
    except (WarploomError, KeyError, ZeroDivisionError, StopIteration) as error:
        return Finding(
            what=f"the module cannot be followed: {error}",
            where=module.name,
            sizes=tuple(sorted(sizes.items())),
        )
