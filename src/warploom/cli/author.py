"""Objects of the user's own (``file.py:object``), targets among them, and ``warploom costs``.

An author's file may fail to import, its factory may raise: that is an error at the author's line,
never a traceback of ours.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from warploom.cli.screen import Answer, wrapped
from warploom.errors import ConfigError, FileError, WarploomError, cannot_read
from warploom.ir.machine_costs import MachineCosts
from warploom.pipeline.config.target import TargetProfile
from warploom.targets.figures import Figure, figures_of
from warploom.targets.h200 import HOPPER, HopperTarget
from warploom.targets.mi300x import mi300x
from warploom.targets.mi355x import mi355x
from warploom.targets.seed_model import seed_model


def user_object(spec: str) -> Any:  # noqa: ANN401 (the user's own object)
    """The object a spec names, not called."""
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise ConfigError(
            f"{spec!r} names no object of a file",
            where=spec,
            fix="file.py:name, or package.module:name",
        )
    if place.endswith(".py") and not Path(place).is_file():
        missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise FileError(cannot_read(place, missing))
    module = _guarded(
        lambda: _import_file(Path(place)) if place.endswith(".py") else _import_module(place),
        f"{place} cannot be imported",
        spec,
        place,
    )
    if not name or not hasattr(module, name):
        near = get_close_matches(name, dir(module), 1)
        raise ConfigError(
            f"{place} has no {name!r}", where=spec, fix=f"did you mean {near[0]!r}?" if near else ""
        )
    return getattr(module, name)


def called(factory: Callable[[], Any], spec: str) -> Any:  # noqa: ANN401 (the user's own object)
    """What a factory returns; an exception becomes an error that names the author's line."""
    place = spec.rpartition(":")[0]
    return _guarded(factory, f"{spec} cannot be made", spec, place)


def _guarded(action: Callable[[], Any], what: str, spec: str, place: str) -> Any:  # noqa: ANN401
    try:
        return action()
    except (Exception, SystemExit) as error:
        why = str(error) if isinstance(error, WarploomError) else ""
        raise ConfigError(
            f"{what}: {type(error).__name__}" + ("" if why else f": {error}"),
            where=_line(error, place) or spec,
            why=why.replace("\n", "; "),
        ) from error


def _line(error: BaseException, place: str) -> str:
    """The deepest line of the author's file that led to the error, with its text."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    own = Path(place).resolve() if place.endswith(".py") else None
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        inside = Path(frame.filename)
        if (own is not None and inside.resolve() == own) or (
            own is None and inside.stem == place.rpartition(".")[2]
        ):
            return f"{place if own else frame.filename}:{frame.lineno}: {frame.line}"
    return ""


def _import_module(name: str) -> ModuleType:
    with _importable(""):
        return import_module(name)


@contextmanager
def _importable(*folders: str) -> Iterator[None]:
    """Modules of these folders are found first, as Python finds those beside a script; what is
    imported later, inside of a function, finds them after everything else.
    """
    sys.path[:0] = folders
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(folder)
        sys.path += [folder for folder in folders if folder not in sys.path]


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses and pickles look their module up
    with _importable(str(path.resolve().parent), ""):
        spec.loader.exec_module(module)
    return module


Target = HopperTarget | TargetProfile | MachineCosts
CHIP = "mi355x"


def find_target(spec: str) -> Target | None:
    """The target a spec names; None stands for the chip itself, priced by tile."""
    if spec == CHIP:
        return None
    if spec in HOPPER:
        return HOPPER[spec]()
    if ":" not in spec:
        raise ConfigError(
            f"there is no target {spec!r}",
            where="--target",
            fix=f"{', '.join((*HOPPER, CHIP))}, or file.py:object",
        )
    result = user_object(spec)
    if not isinstance(result, Target):
        result = called(result, spec) if callable(result) else result
    if not isinstance(result, Target):
        raise ConfigError(
            f"{spec} is a {type(result).__name__}",
            where="--target",
            fix="a HopperTarget, a TargetProfile or MachineCosts, or a function that returns one",
        )
    return result


def hopper(spec: str, target: Target | None) -> HopperTarget:
    """The target for a Hopper kernel; refuses machines with counters."""
    if isinstance(target, HopperTarget):
        return target
    raise ConfigError(
        f"{spec} is a Hopper kernel, the target is {getattr(target, 'name', CHIP)}",
        where="--target",
        why="role programs are priced by a HopperTarget",
        fix=f"{', '.join(HOPPER)}, or one made with dataclasses.replace in a file of yours",
    )


def machine(spec: str, target: Target | None) -> MachineCosts | None:
    """The machine for a counter schedule; refuses Hopper parts."""
    if isinstance(target, HopperTarget):
        raise ConfigError(
            f"{spec} is a counter schedule, the target is {target.name}",
            where="--target",
            why="Hopper parts have no wait counters",
            fix="mi355x, or a TargetProfile or MachineCosts in a file of yours",
        )
    if isinstance(target, TargetProfile):
        return target.machine or MachineCosts(name=f"{target.name} model")
    return target


TARGETS = {**HOPPER, "mi355x": mi355x, "mi300x": mi300x, "seed": seed_model}


def costs_command(
    target: Annotated[
        str,
        typer.Argument(help="h200, h100, mi355x, mi300x, seed (relative prices), or yours."),
    ] = "h200",
) -> Answer:
    """List the numbers of a target with their origins: document, measurement, fit, assumption."""
    if target not in TARGETS and ":" not in target:
        raise ConfigError(f"no target {target!r}", fix=f"{', '.join(TARGETS)}, or file.py:object")
    found = TARGETS[target]() if target in TARGETS else hopper(target, find_target(target))
    figures = list(figures_of(found))
    wide = min(28, max(len(f.name) for f in figures))
    lines = (line for f in figures for line in wrapped(f"{f.name:<{wide}}  ", _words(f)))
    return Answer(lambda: "\n".join(lines), lambda: [asdict(f) for f in figures])


def _words(f: Figure) -> str:
    if isinstance(f.value, tuple):
        value = ", ".join(":".join(str(x) for x in pair) for pair in f.value)
    else:
        value = f"{f.value:g}" if isinstance(f.value, float) else str(f.value)
    what = f"{value} {f.unit}".strip()
    return f"{what} [{f.origin}]{' ' + f.note if f.note else ''}"
