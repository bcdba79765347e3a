"""The correct schedules that the harness mutates, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.mutation.random_bodies import random_schedule
from warploom.ir import read_schedule
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.pipeline.amd_target.cost import mi355x_target
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.pipeline.schedules.single_buffer import build_default_matmul_schedule
from warploom.pipeline.sync.marks import SyncPolicy

RANDOM_BODIES = 12
FOUND = Path(__file__).parents[1] / "explore"


def subjects() -> dict[str, Callable[[], ScheduleDocument]]:
    """Builders by name; the IDENTITY order needs proven waits, under the reference's it races."""
    s, p = SchedulingStrategy, SyncPolicy
    return {
        "4-wave, weakest": partial(_four_wave, p.PROVEN_WEAKEST),
        "4-wave, fewest": partial(_four_wave, p.PROVEN_FEWEST),
        "single buffer, 1 slice": partial(_single_buffer, 1),
        "single buffer, 2 slices": partial(_single_buffer, 2),
        "single buffer, 4 slices": partial(_single_buffer, 4),
        **{f"random body {i}": partial(random_schedule, i) for i in range(RANDOM_BODIES)},
        "ping-pong CSP, 0 globals": partial(_ping_pong, s.CSP, 0, (8, 4)),
        "ping-pong CSP, 1 global": partial(_ping_pong, s.CSP, 1, (8, 4)),
        "ping-pong GREEDY, 0 globals": partial(_ping_pong, s.GREEDY, 0, (8, 8)),
        "ping-pong GREEDY, 1 global": partial(_ping_pong, s.GREEDY, 1, (8, 8)),
        "ping-pong CSP, 2 globals": partial(_ping_pong, s.CSP, 2, (8, 4)),
        "ping-pong GREEDY, 2 globals": partial(_ping_pong, s.GREEDY, 2, (8, 8)),
        "ping-pong CSP, 1 global, weakest": partial(
            _ping_pong, s.CSP, 1, (8, 4), sync=p.PROVEN_WEAKEST
        ),
        "ping-pong CSP, 1 global, fewest": partial(
            _ping_pong, s.CSP, 1, (8, 4), sync=p.PROVEN_FEWEST
        ),
        "ping-pong IDENTITY, 2 globals, weakest": partial(
            _ping_pong, s.IDENTITY, 2, (8, 4), sync=p.PROVEN_WEAKEST
        ),
        "8-wave, found by search": partial(_found, "best_8wave"),
        "4-wave of fine ops, found by search": partial(_found, "best_4wave_fine"),
    }


def subject(name: str) -> ScheduleDocument:
    """Build one subject; the document carries the subject's name."""
    return replace(subjects()[name](), name=name)


def _ping_pong(
    strategy: SchedulingStrategy,
    max_globals: int,
    lgkm: tuple[int, int],
    *,
    sync: SyncPolicy = SyncPolicy.REFERENCE,
) -> ScheduleDocument:
    schedule = DeclarativeSchedule(
        lgkm_a=lgkm[0],
        lgkm_b=lgkm[1],
        config=ScheduleConfig(scheduling=strategy),
        target=mi355x_target(max_globals=max_globals),
    )
    return compile_schedule(schedule, sync=sync).document()


def _found(name: str) -> ScheduleDocument:
    return read_schedule((FOUND / f"{name}.json").read_bytes())


def _four_wave(sync: SyncPolicy) -> ScheduleDocument:
    geometry = KernelGeometry.four_wave((256, 256, 64))
    return compile_schedule(Pipeline4Wave(geometry), sync=sync).document()


def _single_buffer(slices: int) -> ScheduleDocument:
    return build_default_matmul_schedule(slices, 4, 4, 2, 16, 16, 2, 2).document()
