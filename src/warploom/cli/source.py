"""What a command works on: a built-in schedule, a user's schedule, or a document file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from warploom.document import ScheduleDocument, read_schedule
from warploom.errors import ConfigError, DocumentError
from warploom.seed.compile import CompiledSchedule, OnRace, compile_schedule
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.modulo.bridge import ModuloRequest
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.fourwave import Pipeline4Wave
from warploom.seed.schedules.pingpong import DeclarativeSchedule
from warploom.seed.schedules.single_buffer import SingleBufferSchedule
from warploom.seed.sync.policy import SyncPolicy
from warploom.seed.target.geometry import KernelGeometry
from warploom.seed.target.mi355x import AMDScheduleHints, mi355x_target

Knobs = dict[str, Any]
FP8_MMA = (16, 16, 128)
TILES = {"bf16": (256, 256, 64), "fp8": (256, 256, 128)}


def parse_tile(text: str | None, dtype: str) -> tuple[int, int, int]:
    """``256x256x64`` as numbers; by default the shipped tile of the dtype."""
    if text is None:
        return TILES["fp8" if dtype == "fp8" else "bf16"]
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(p.isdigit() for p in parts):
        raise ConfigError(f"{text!r} is no tile", where="--tile", fix="write it as 256x256x64")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _geometry_args(tile: str | None, dtype: str) -> dict[str, Any]:
    fp8 = dtype == "fp8"
    return {
        "tile": parse_tile(tile, dtype),
        "mma": FP8_MMA if fp8 else (16, 16, 32),
        "elem_bytes": 1 if fp8 else 2,
        "is_fp8": fp8,
    }


def pingpong(knobs: Knobs, tile: str | None, dtype: str) -> PipelineSchedule:
    """The ping-pong schedule of a tile."""
    g = KernelGeometry.ping_pong(**_geometry_args(tile, dtype))
    wave = (g.BM // 2, g.BN // 4)
    target = mi355x_target(g.vm_per_load_a, g.vm_per_load_b, g.max_globals(wave=wave))
    config = replace(ScheduleConfig(scheduling=SchedulingStrategy.CSP), **knobs)
    return DeclarativeSchedule(config, target, geometry=g)


def fourwave(knobs: Knobs, tile: str | None, dtype: str) -> PipelineSchedule:
    """The 4-wave schedule of a tile."""
    g = KernelGeometry.four_wave(**_geometry_args(tile, dtype))
    target = mi355x_target(g.vm_per_load_a, g.vm_per_load_b, g.max_globals())
    config = replace(Pipeline4Wave._default_schedule_config(), **knobs)
    return Pipeline4Wave(g, config, target)


def single_buffer(knobs: Knobs, tile: str | None, dtype: str) -> PipelineSchedule:
    """The single-buffer schedule; the tile does not enter it."""
    if knobs:
        raise ConfigError(
            f"single_buffer has no knobs, {', '.join(knobs)} given",
            why="its order and waits come from its barriers and the code generator",
        )
    return SingleBufferSchedule(2, AMDScheduleHints(4, 4, 2, 16, 16, 2, 2))


BUILT_IN: dict[str, Callable[[Knobs, str | None, str], PipelineSchedule]] = {
    "pingpong": pingpong,
    "fourwave": fourwave,
    "single_buffer": single_buffer,
}


def load_schedule(
    spec: str, knobs: Knobs, tile: str | None = None, dtype: str = "bf16"
) -> PipelineSchedule:
    """The schedule a spec names: built-in, ``module:object`` or ``file.py:object``."""
    if spec in BUILT_IN:
        return BUILT_IN[spec](knobs, tile, dtype)
    if ":" not in spec:
        near = get_close_matches(spec, BUILT_IN, 1)
        raise ConfigError(
            f"there is no schedule {spec!r}",
            fix=f"did you mean {near[0]!r}?"
            if near
            else f"one of {', '.join(BUILT_IN)}, module:object, file.py:object or FILE.json",
        )
    found = _user_object(spec)
    schedule = found() if isinstance(found, type) or _is_factory(found) else found
    if not isinstance(schedule, PipelineSchedule):
        raise ConfigError(
            f"{spec} is no PipelineSchedule but {type(schedule).__name__}",
            fix="name a PipelineSchedule object, its class, or a function that returns one",
        )
    return _Tuned(schedule, knobs) if knobs else schedule


def _is_factory(found: object) -> bool:
    return callable(found) and not isinstance(found, PipelineSchedule)


def _user_object(spec: str) -> Any:  # noqa: ANN401 (the user's own object)
    place, _, name = spec.rpartition(":")
    try:
        module = _import_file(Path(place)) if place.endswith(".py") else _import_module(place)
    except Exception as error:
        raise ConfigError(
            f"{place} cannot be imported: {type(error).__name__}: {error}", where=spec
        ) from error
    if not hasattr(module, name):
        near = get_close_matches(name, dir(module), 1)
        raise ConfigError(
            f"{place} has no {name!r}", where=spec, fix=f"did you mean {near[0]!r}?" if near else ""
        )
    return getattr(module, name)


def _import_module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return import_module(name)
    finally:
        sys.path.remove("")


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Tuned(PipelineSchedule):
    """A user's schedule with knobs of the command line on top of its own."""

    def __init__(self, inner: PipelineSchedule, knobs: Knobs) -> None:
        self._inner, self._knobs = inner, knobs

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 (whatever the schedule has)
        if name in ("_inner", "_knobs", "schedule_config", "__class__"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_inner"), name)

    def config(self) -> Any:  # noqa: ANN401
        """The inner schedule's."""
        return self._inner.config()

    def build_body(self) -> Any:  # noqa: ANN401
        """The inner schedule's."""
        return self._inner.build_body()

    def schedule_config(self) -> ScheduleConfig:
        """The inner schedule's knobs with the given ones on top."""
        return replace(self._inner.schedule_config(), **self._knobs)


def load_compiled(
    spec: str,
    knobs: Knobs,
    *,
    tile: str | None = None,
    dtype: str = "bf16",
    sync: SyncPolicy | None = None,
    on_race: OnRace = "report",
) -> CompiledSchedule:
    """Compile what a spec names; the modulo strategy overrides a schedule's own order."""
    by_interval = knobs.get("scheduling") is SchedulingStrategy.MODULO
    own = {k: v for k, v in knobs.items() if not (by_interval and k == "scheduling")}
    schedule = load_schedule(spec, own, tile, dtype)
    return compile_schedule(
        schedule,
        sync=sync,
        on_race=on_race,
        modulo=ModuloRequest() if by_interval else None,
    )


def load_document(
    spec: str,
    knobs: Knobs,
    *,
    tile: str | None = None,
    dtype: str = "bf16",
    sync: SyncPolicy | None = None,
) -> tuple[ScheduleDocument, CompiledSchedule | None]:
    """The document a spec names: a JSON file, or a schedule compiled now."""
    if not spec.endswith(".json"):
        compiled = load_compiled(spec, knobs, tile=tile, dtype=dtype, sync=sync)
        return compiled.document(), compiled
    if knobs or sync or tile:
        raise ConfigError(
            "a document is already compiled; knobs, --sync and --tile do not apply", where=spec
        )
    try:
        return read_schedule(Path(spec).read_bytes()), None
    except OSError as error:
        raise DocumentError(f"cannot read {spec}: {error.strerror}") from None
