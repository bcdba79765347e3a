"""A sweep: a grid of choices of counter schedules, all of it evaluated; as CSV and plot."""

import csv
import hashlib
import html
import io
import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, fields, replace
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any

from warploom.autotune.store import Journal, SharedStore, space_key
from warploom.compiler.disk_cache import digest
from warploom.dataclass import dataclass
from warploom.errors import WarploomError, WarploomWarning
from warploom.ir.schedule_ops import OpRole
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.pipeline.compile import CompiledSchedule, compile_schedule
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.shipped import shipped
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.search_engine import Engine, Objective
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
        return point | {k: v for k, v in asdict(self).items() if k != "point"}


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
        names = [field.name for field in fields(Point)]  # in the order of the grid's
        grid = itertools.product(*(getattr(self, field.name) for field in fields(self)))
        points = (Point(**dict(zip(names, values, strict=True))) for values in grid)
        yield from dict.fromkeys(map(_canonical, points))


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
    """Compile, verify and simulate a point; mistakes become outcomes, never exceptions."""
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


Progress = Callable[[int, int], None]
_RANK = {"clean": 0, "timing": 1, "race": 2, "refused": 3}


def outcome_from_json(data: dict[str, Any]) -> Outcome:
    """An outcome from its JSON form."""
    point = data["point"] | {"tile": tuple(data["point"]["tile"])}
    return Outcome(**(data | {"point": Point(**point)}))


def explore(
    sweep: Sweep | Sequence[Point],
    *,
    executor: Executor | None = None,
    cache: Journal | None = None,
    progress: Progress | None = None,
    store: Path | str | None = None,
) -> list[Outcome]:
    """Evaluate every point, cached ones without work; the result is in the sweep's order.

    ``store``: a folder of the content-addressed cache in which workers keep what they find.
    """
    points = list(sweep.points() if isinstance(sweep, Sweep) else sweep)
    tell = progress or (lambda done, total: None)
    total = len(set(points))
    space = space_key("sweep", scheduling=True)
    engine: Engine[Point, Outcome] = Engine(
        Objective(
            each=evaluate,
            score=_score,
            key=lambda point: digest(space, point.key()),
            encode=asdict,
            decode=outcome_from_json,
        ),
        store=cache,
        shared=None if store is None else SharedStore(Path(store)),
        executor=executor,
        progress=lambda engine, _: tell(len(engine.values), total),
    )
    tell(0, total)
    engine.evaluate(points)
    return [engine.values[p] for p in points]


def _score(_: Point, outcome: Outcome) -> float:
    """Cycles of a multiplication and addition."""
    bm, bn, bk = outcome.point.tile
    if outcome.cycles_per_tile is None:
        return inf
    return outcome.cycles_per_tile / (bm * bn * bk)


def ranked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Clean first, then by cycles per K-tile of equal work, then by waits; ties by key."""

    def order(outcome: Outcome) -> tuple[float, float, int, str]:
        return (
            _RANK.get(outcome.verdict, 9),
            _score(outcome.point, outcome),
            outcome.waits or 0,
            outcome.point.key(),
        )

    return sorted(outcomes, key=order)


def refusals(outcomes: Sequence[Outcome]) -> list[str]:
    """Why configurations could not be compiled, one line for each reason and schedule."""
    found: dict[tuple[str, str], list[str]] = {}
    for o in outcomes:
        if o.error is not None:
            tile = "x".join(map(str, o.point.tile))
            found.setdefault((o.point.schedule, o.error), []).append(f"{tile} {o.point.dtype}")
    return [
        f"refused: {schedule} {', '.join(dict.fromkeys(where))}: {error}"
        for (schedule, error), where in found.items()
    ]


def to_csv(outcomes: Sequence[Outcome]) -> str:
    """All columns as CSV."""
    rows = [o.row() for o in outcomes]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def scatter_html(outcomes: Sequence[Outcome], title: str = "warploom explore") -> str:
    """A standalone page: interval against waits and barriers, coloured by verdict."""
    data = json.dumps([o.row() for o in outcomes]).replace("<", "\\u003c")
    page = files("warploom.autotune").joinpath("scatter.html").read_text(encoding="utf-8")
    return page.replace("__TITLE__", html.escape(title)).replace("__DATA__", data)
