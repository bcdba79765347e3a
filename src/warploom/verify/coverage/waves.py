"""Coverage of modules of the counter dialect: elements followed through LDS and fragments.

All waves of a workgroup are followed operation by operation. That later copies do not overtake
earlier reads is the verification of synchronisation; here it is decided which elements meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.errors import WarploomError
from warploom.ir import operations as ops
from warploom.ir.expr import Function, IntExpr, Sym, SymKind, evaluate, size
from warploom.ir.module import KernelModule, WaveFacts
from warploom.ir.operations import StepLoop
from warploom.ir.tile_schedule import let, tile_index
from warploom.verify.coverage.enumerate import NOWHERE, Tile, WrongError, tiles_of, walk
from warploom.verify.coverage.induction import covers_axis
from warploom.verify.coverage.reads import verify_reads
from warploom.verify.coverage.report import Claim, CoverageReport, Finding, How
from warploom.verify.coverage.schedules import kind_of, visits_every_tile
from warploom.verify.coverage.values import value_of

LANES = 64
TID, LANE, WAVE = (Sym(SymKind.THREAD, n) for n in ("tid", "lane", "wave"))
ROW, COL = (Sym(SymKind.ELEMENT, n) for n in ("row", "col"))


def verify_waves(module: KernelModule) -> CoverageReport:
    """The verdict on a module of the counter dialect."""
    claims: list[Claim] = []
    findings: list[Finding] = []
    every = (_schedule, _positions, _counts, verify_reads)
    for made in (x for check in every for x in check(module)):
        (claims if isinstance(made, Claim) else findings).append(made)  # type: ignore[arg-type]
    classes = list(_classes(module))
    for sizes in classes if not findings else ():
        found = _wrong(module, sizes)
        if found is not None:
            findings.append(found)
            break
    if not findings:
        claims.append(
            Claim(
                what="each output element is stored once, from its own sum of every reduction"
                " element once; accesses are in bounds",
                how=How.CLASSES,
                argument=f"{len(classes)} classes of sizes at the edges of tiles and of K",
            )
        )
    return CoverageReport(module=module.name, claims=tuple(claims), findings=tuple(findings))


def _schedule(module: KernelModule) -> Iterator[Claim | Finding]:
    schedule = module.roles[0].tiles.schedule
    wrong, tried = visits_every_tile(kind_of(schedule))
    if wrong:
        yield Finding(what=wrong, where="tile schedule")
        return
    yield Claim(
        what=f"tile schedule '{schedule.name}' visits every tile once",
        how=How.ALL,
        argument=f"proven per kind, its expressions compared in {tried} cases",
    )


def _positions(module: KernelModule) -> Iterator[Claim | Finding]:
    tiles = module.roles[0].tiles
    lets = {x.name: x.value for x in tiles.lets}
    for axis in tiles.schedule.tiled:
        value = lets[let(f"pos_{axis.var}")]
        holds, why = covers_axis(
            value, tile_index(axis.var), size(axis.axis), axis.extent, axis.extent
        )
        if holds:
            yield Claim(what=f"tiles cover axis '{axis.axis}'", how=How.ALL, argument=why)
        else:
            yield Finding(what=why, where=f"pos_{axis.var} = {value}")


def _counts(module: KernelModule) -> Iterator[Claim | Finding]:
    """Waits count instructions: what an op issues is what the schedule's counters say."""
    facts = module.waves
    assert facts is not None
    for statement in module.roles[0].tiles.body:
        for op in statement.body if isinstance(statement, StepLoop) else (statement,):
            if isinstance(op, ops.LdsCopy):
                issued, said = op.count, facts.counters.vm_per_load[op.channel]
            elif isinstance(op, ops.FragmentRead):
                issued, said = op.tiles * op.reads, facts.counters.lgkm_per_load[op.channel]
            else:
                continue
            if issued != said:
                yield Finding(
                    what=f"{issued} instructions where the counters count {said}",
                    where=type(op).__name__,
                )
                return
    yield Claim(
        what="waits count the instructions that are issued", how=How.ALL, argument="counted"
    )


def _classes(module: KernelModule) -> Iterator[dict[str, int]]:
    """Sizes at the edges of tiles and of K that the kernel takes."""
    schedule = module.roles[0].tiles.schedule
    axes = {a.name for t in module.tensors for a in t.axes}
    (rows, cols), lds = schedule.tiled, module.storage.lds[0]
    (inner,) = axes - {rows.axis, cols.axis}
    deep = [lds.cols * n for n in (1, 2, 4, 6)]
    ragged = [1, lds.chunk, lds.cols - lds.chunk, 3 * lds.cols + 8, 5 * lds.cols + lds.chunk]
    depths = [
        n
        for n in (*ragged, *deep)
        if all(evaluate(c, {size(inner): n}) for c in module.launch.requires)
    ]
    edges = [(1, 1), (rows.extent, cols.extent), (rows.extent - 1, cols.extent + 1)]
    for m, n in edges:
        yield {rows.axis: m, cols.axis: n, inner: depths[-1]}
    for depth in depths:
        yield {rows.axis: rows.extent + 1, cols.axis: 7, inner: depth}
    yield {rows.axis: 0, cols.axis: 7, inner: depths[0]}


def _wrong(module: KernelModule, sizes: Mapping[str, int]) -> Finding | None:
    try:
        _Run(module, sizes).check()
    except WrongError as wrong:
        return Finding(what=wrong.what, where=wrong.where, sizes=tuple(sorted(sizes.items())))
    except (WarploomError, KeyError, ZeroDivisionError) as error:
        return Finding(
            what=f"the module cannot be followed: {error}",
            where=module.name,
            sizes=tuple(sorted(sizes.items())),
        )
    return None


@dataclass
class _Run:
    module: KernelModule
    sizes: Mapping[str, int]
    stored: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.module.waves is not None
        self.facts: WaveFacts = self.module.waves
        self.role = self.module.roles[0]
        self.axes = {s.channel: self._names(s.tensor) for s in self.module.storage.lds}

    def _names(self, tensor: str) -> tuple[str, ...]:
        return tuple(a.name for a in self.module.tensor(tensor).axes)

    def check(self) -> None:
        for t in self.module.tensors:
            if t.access == "out":
                self.stored[t.name] = np.zeros([self.sizes[a.name] for a in t.axes], np.int64)
        symbols = {Sym(SymKind.SIZE, n): v for n, v in self.sizes.items()}
        grid = evaluate(self.module.launch.grid, symbols)
        for group in range(grid):
            for tile in tiles_of(self.role, symbols, group, grid):
                self._workgroup(tile)
        for name, counted in self.stored.items():
            if np.any(counted != 1):
                where = tuple(int(x[0]) for x in np.nonzero(counted != 1))
                raise WrongError(
                    f"element {where} of '{name}' is stored {int(counted[where])} times",
                    f"output {name}",
                )

    def _workgroup(self, tile: Tile) -> None:
        waves = self.role.instances
        self.lds: dict[tuple[int, int, int], tuple[Any, Any]] = {}
        self.held: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
        self.sums: dict[tuple[int, int], dict[str, Any]] = {}
        for op in walk(self.role.tiles.body, tile):
            match op:
                case ops.LdsCopy():
                    self._copy(op, tile)
                case ops.FragmentRead():
                    self._read(op, tile, waves)
                case ops.WaveMma():
                    self._multiply(op, tile)
                case ops.Vector():
                    self._store(op, tile, waves)

    def _at(self, expr: IntExpr, values: dict[Sym, Any], tile: Tile, shape: Any) -> Any:  # noqa: ANN401
        functions: Mapping[str, Function] = tile.functions
        return np.broadcast_to(value_of(expr, values, functions), shape)

    def _copy(self, op: ops.LdsCopy, tile: Tile) -> None:
        shape = next(s for s in self.module.storage.lds if s.channel == op.channel)
        if op.tensor != shape.tensor:
            raise WrongError(f"a copy of '{op.tensor}' into slots of '{shape.tensor}'", "copy")
        key = (op.channel, op.stage, op.subtile)
        if key not in self.lds:
            blank = (shape.rows, shape.cols)
            self.lds[key] = (np.full(blank, NOWHERE), np.full(blank, NOWHERE))
        rows, cols = self.lds[key]
        threads = self.role.instances * LANES
        values: dict[Sym, Any] = dict(tile.values)
        values[TID] = np.arange(threads)[:, None, None]
        values[Sym(SymKind.FRAGMENT, "i")] = np.arange(op.count)[None, :, None]
        full = (threads, op.count, op.chunk)
        along = np.arange(op.chunk)
        row, col, to_row, to_col = (
            self._at(x, values, tile, full) for x in (op.row, op.col, op.lds_row, op.lds_col)
        )
        lengths = [self.sizes[n] for n in self._names(op.tensor)]
        col, to_col = col + along, to_col + along
        if np.any((row < 0) | (row >= lengths[0]) | (col < 0) | (col >= lengths[1])):
            raise WrongError(f"a copy outside of '{op.tensor}'", f"copy of {op.tensor}")
        if np.any((to_row < 0) | (to_row >= shape.rows) | (to_col < 0) | (to_col >= shape.cols)):
            raise WrongError("a copy past the end of its slot", f"copy of {op.tensor}")
        rows[to_row, to_col], cols[to_row, to_col] = row, col

    def _read(self, op: ops.FragmentRead, tile: Tile, waves: int) -> None:
        key = (op.channel, op.stage, op.subtile)
        if key not in self.lds:
            raise WrongError("a fragment of a slot that nothing filled", "read")
        m, n, _ = self.facts.mma
        high = m if op.channel == 0 else n
        values: dict[Sym, Any] = dict(tile.values)
        ranges = (
            (WAVE, waves), (Sym(SymKind.FRAGMENT, "tile"), op.tiles),
            (Sym(SymKind.FRAGMENT, "read"), op.reads), (LANE, LANES),
        )  # fmt: skip
        for at, (symbol, extent) in enumerate(ranges):
            shape = [1] * 5
            shape[at] = extent
            values[symbol] = np.arange(extent).reshape(shape)
        full = (waves, op.tiles, op.reads, LANES, op.chunk)
        along = np.arange(op.chunk)
        row = self._at(op.lds_row, values, tile, full)
        col = self._at(op.lds_col, values, tile, full) + along
        rows, cols = self.lds[key]
        if np.any((row < 0) | (row >= rows.shape[0]) | (col < 0) | (col >= rows.shape[1])):
            raise WrongError("a read past the end of its slot", "read")
        # by the hardware: lane l has row l mod m and part l / m of K
        lane, read = values[LANE], values[Sym(SymKind.FRAGMENT, "read")]
        target = np.broadcast_to(values[Sym(SymKind.FRAGMENT, "tile")] * high + lane % high, full)
        slot = np.broadcast_to((read * (LANES // high) + lane // high) * op.chunk, full) + along
        wave = np.broadcast_to(values[WAVE], full)
        extents = (waves, op.tiles * high, op.reads * (LANES // high) * op.chunk)
        made = [np.full(extents, NOWHERE) for _ in range(3)]
        stated = self._at(op.col, values, tile, full) + along
        for array, value in zip(made, (rows[row, col], cols[row, col], stated), strict=True):
            array[wave, target, slot] = value
        self.held[op.channel, op.subtile] = (made[0], made[1], made[2])

    def _multiply(self, op: ops.WaveMma, tile: Tile) -> None:
        sides = [self.held.get((0, op.a)), self.held.get((1, op.b))]
        if sides[0] is None or sides[1] is None:
            raise WrongError("an MMA of a fragment that was never read", "mma")
        (a_rows, a_cols, a_said), (b_rows, b_cols, b_said) = sides[0], sides[1]
        valid = None if op.valid is None else tile.number(op.valid)
        length = self.sizes[self.axes[0][1]]
        found = self.sums.setdefault(
            (op.a, op.b),
            {
                "rows": np.full(a_rows.shape[:2], NOWHERE),
                "cols": np.full(b_rows.shape[:2], NOWHERE),
                "used": np.zeros((a_rows.shape[0], length), np.int64),
            },
        )
        for name, rows in (("rows", a_rows), ("cols", b_rows)):
            if np.any(rows != rows[:, :, :1]):
                raise WrongError("a fragment whose row is not one row of its tensor", "mma")
            before = found[name]
            if np.any((before != NOWHERE) & (before != rows[:, :, 0])):
                raise WrongError("an MMA adds another tile to a sum", "mma")
            found[name] = rows[:, :, 0]
        counts = np.ones(a_said.shape, bool) if valid is None else a_said < valid
        other = np.ones(b_said.shape, bool) if valid is None else b_said < valid
        along_a, along_b = a_cols[:, :1], b_cols[:, :1]
        if np.any(a_cols != along_a) or np.any(b_cols != along_b):
            raise WrongError("rows of a fragment hold different parts of K", "mma")
        if np.any(counts[:, :1] != other[:, :1]) or np.any(counts != counts[:, :1]):
            raise WrongError("both sides of a product end at different elements of K", "mma")
        keep = counts[:, 0]
        if np.any(keep & (along_a[:, 0] != along_b[:, 0])):
            raise WrongError("an MMA multiplies different elements of K", "mma")
        for wave in range(a_rows.shape[0]):
            np.add.at(found["used"][wave], along_a[wave, 0][keep[wave]], 1)

    def _store(self, op: ops.Vector, tile: Tile, waves: int) -> None:
        for (a, b), found in self.sums.items():
            if np.any(found["used"] != 1):
                wave, k = (int(x[0]) for x in np.nonzero(found["used"] != 1))
                raise WrongError(
                    f"element {k} of the reduction is used {int(found['used'][wave, k])} times",
                    f"quadrant {a}, {b}",
                )
        values: dict[Sym, Any] = dict(tile.values)
        names = [Sym(SymKind.FRAGMENT, i.name) for i in op.layout.indices]
        ranges = [(WAVE, waves), (LANE, LANES)]
        ranges += [(n, i.extent) for n, i in zip(names, op.layout.indices, strict=True)]
        for at, (symbol, extent) in enumerate(ranges):
            shape = [1] * len(ranges)
            shape[at] = extent
            values[symbol] = np.arange(extent).reshape(shape)
        full = tuple(extent for _, extent in ranges)
        for symbol, expr in ((ROW, op.layout.row), (COL, op.layout.col)):
            values[symbol] = self._at(expr, values, tile, full)
        places = self._places(op, values, tile, full)
        for step in op.body:
            if isinstance(step, ops.VectorLoad):
                self._load(step, values, tile, full, places)
            elif isinstance(step, ops.VectorStore):
                self._put(step, values, tile, full, places)

    def _places(
        self, op: ops.Vector, values: dict[Sym, Any], tile: Tile, full: tuple[int, ...]
    ) -> dict[str, Any]:
        """Row and column of the output that each register's sum belongs to, by the hardware."""
        m, n, _ = self.facts.mma
        each = m * n // LANES
        columns = self.role.arrays[0].cols // n
        register = self._at(op.layout.register, values, tile, full)
        number, r, lane = register // each, register % each, values[LANE]
        down = 8 * (r // 4) + 4 * (lane // n) + r % 4 if m == 32 else 4 * (lane // n) + r
        row_tiles = {a: v["rows"] for (a, _), v in self.sums.items()}
        col_tiles = {b: v["cols"] for (_, b), v in self.sums.items()}
        rows = np.concatenate([row_tiles[a] for a in sorted(row_tiles)], axis=1)
        cols = np.concatenate([col_tiles[b] for b in sorted(col_tiles)], axis=1)
        at_row, at_col = number // columns * m + down, number % columns * n + lane % n
        if np.any(at_row >= rows.shape[1]) or np.any(at_col >= cols.shape[1]):
            raise WrongError("a register past the end of the accumulators", "store")
        wave = values[WAVE]
        return {self.axes[0][0]: rows[wave, at_row], self.axes[1][0]: cols[wave, at_col]}

    def _load(
        self,
        step: ops.VectorLoad,
        values: dict[Sym, Any],
        tile: Tile,
        full: tuple[int, ...],
        places: dict[str, Any],
    ) -> None:
        axes = self.module.tensor(step.tensor).axes
        for axis, expr in zip(axes, step.at, strict=True):
            at, length = self._at(expr, values, tile, full), self.sizes[axis.name]
            if np.any((at < 0) | (at >= length)):
                raise WrongError(f"a load of '{step.tensor}' outside of '{axis.name}'", "store")
            begins = let(f"pos_{self._var(axis.name)}")
            here = values[ROW] if axis.name == self.axes[0][0] else values[COL]
            exists = values[begins] + here < length
            if axis.name in places and np.any(exists & (at != places[axis.name])):
                raise WrongError(
                    f"a load of '{step.tensor}' takes another element of '{axis.name}' than the"
                    " sum it goes with",
                    "store",
                )

    def _var(self, axis: str) -> str:
        return next(a.var for a in self.role.tiles.schedule.tiled if a.axis == axis)

    def _put(
        self,
        step: ops.VectorStore,
        values: dict[Sym, Any],
        tile: Tile,
        full: tuple[int, ...],
        places: dict[str, Any],
    ) -> None:
        inside = np.ones(full, bool)
        if step.predicate is not None:
            inside = self._at(step.predicate, values, tile, full).astype(bool)
        index = []
        for axis, expr in zip(self.module.tensor(step.tensor).axes, step.at, strict=True):
            at = self._at(expr, values, tile, full)[inside]
            if np.any((at < 0) | (at >= self.sizes[axis.name])):
                raise WrongError(f"a store to '{step.tensor}' outside of '{axis.name}'", "store")
            if np.any(np.broadcast_to(places[axis.name], full)[inside] != at):
                raise WrongError(
                    f"a store to '{step.tensor}' puts a sum at another place of '{axis.name}' than"
                    " it was computed for",
                    "store",
                )
            index.append(at)
        np.add.at(self.stored[step.tensor], tuple(index), 1)
