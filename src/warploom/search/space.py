"""The space of choices, and what one choice is worth."""

from __future__ import annotations

import hashlib
import itertools
import json
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from warploom.document.kinds import OpRole
from warploom.errors import WarploomError, WarploomWarning
from warploom.seed.compile import CompiledSchedule, compile_schedule
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.shipped import shipped
from warploom.seed.sync.policy import SyncPolicy
from warploom.seed.target.geometry import KernelGeometry
from warploom.sim import simulate
from warploom.sim.chip import chip_costs
from warploom.sim.pace import find_pace

REVISION = 2  # part of every cache key: raise it when outcomes change their meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One configuration."""

    schedule: str
    tile: tuple[int, int, int]
    dtype: str = "bf16"
    strategy: str = "CSP"
    sync: str = "PROVEN_WEAKEST"
    max_globals: int | None = None
    lds_penalty: int = 0

    def key(self) -> str:
        """A content hash: equal points have equal keys, in every process and on every machine."""
        text = json.dumps([REVISION, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a point is worth. ``error`` says why it could not be compiled."""

    point: Point
    verdict: str
    interval: float | None = None
    cycles_per_tile: float | None = None
    mma_utilisation: float | None = None
    waits: int | None = None
    barriers: int | None = None
    registers: int | None = None
    lds_bytes: int | None = None
    error: str | None = None

    def row(self) -> dict[str, Any]:
        """A flat row for tables and files."""
        point = asdict(self.point)
        point["tile"] = "x".join(map(str, self.point.tile))
        rest = {k: v for k, v in asdict(self).items() if k != "point"}
        return point | rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A grid of choices."""

    schedules: tuple[str, ...] = ("pingpong", "fourwave")
    tiles: tuple[tuple[int, int, int], ...] = ((256, 256, 64),)
    dtypes: tuple[str, ...] = ("bf16",)
    strategies: tuple[str, ...] = ("CSP", "GREEDY", "IDENTITY")
    syncs: tuple[str, ...] = ("REFERENCE", "PROVEN_WEAKEST", "PROVEN_FEWEST")
    max_globals: tuple[int | None, ...] = (None,)
    lds_penalties: tuple[int, ...] = (0,)

    def points(self) -> Iterator[Point]:
        """Every distinct point, in a fixed order."""
        grid = itertools.product(
            self.schedules,
            self.tiles,
            self.dtypes,
            self.strategies,
            self.syncs,
            self.max_globals,
            self.lds_penalties,
        )
        seen = set()
        for schedule, tile, dtype, strategy, sync, max_globals, penalty in grid:
            point = _canonical(
                Point(
                    schedule=schedule,
                    tile=tile,
                    dtype=dtype,
                    strategy=strategy,
                    sync=sync,
                    max_globals=max_globals,
                    lds_penalty=penalty,
                )
            )
            if point not in seen:
                seen.add(point)
                yield point


def _canonical(point: Point) -> Point:
    """Choices without effect are folded, so that equal schedules are run once."""
    if point.schedule == "fourwave":
        return replace(point, strategy="IDENTITY", lds_penalty=0)
    return point if point.strategy == "CSP" else replace(point, lds_penalty=0)


def schedule_of(point: Point) -> tuple[PipelineSchedule, KernelGeometry]:
    """The schedule a point stands for."""
    knobs: dict[str, Any] = {}
    if point.schedule != "fourwave":  # which has its own order
        knobs["scheduling"] = SchedulingStrategy[point.strategy]
        knobs["lds_contention_penalty"] = point.lds_penalty
    most = point.max_globals
    return shipped(point.schedule, point.tile, point.dtype, max_globals=most, **knobs)


def evaluate(point: Point) -> Outcome:
    """Compile, judge and simulate a point; mistakes become outcomes, never exceptions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WarploomWarning)
            schedule, geometry = schedule_of(point)
            compiled = compile_schedule(schedule, sync=SyncPolicy[point.sync], on_race="report")
        return _measured(point, compiled, geometry)
    except WarploomError as error:
        return Outcome(point=point, verdict="refused", error=error.what)


def _measured(point: Point, compiled: CompiledSchedule, g: KernelGeometry) -> Outcome:
    document = compiled.document()
    costs = chip_costs(document, point.tile, point.dtype)
    per_iteration = document.protocol.k_tiles_per_iteration
    pace = find_pace(lambda trips: simulate(document, costs, trips=trips), per_iteration)
    sync = [e.op for e in compiled.kernel if e.op.role is OpRole.SYNC]
    return Outcome(
        point=point,
        verdict=compiled.report.verdict if compiled.report else "unjudged",
        interval=pace.interval if pace else None,
        cycles_per_tile=pace.per_tile if pace else None,
        mma_utilisation=pace.matrix if pace else None,
        waits=sum(op.name.startswith("WAIT") for op in sync),
        barriers=sum(op.name == "BARRIER" for op in sync),
        registers=compiled.order.vgpr_peak if compiled.order else None,
        lds_bytes=2 * (g.BM + g.BN) * g.BK * g.elem_bytes,
    )
