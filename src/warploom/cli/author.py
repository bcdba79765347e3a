"""Objects of the user's own: ``file.py:object`` and ``module:object``, and whose fault it is.

An author's file may fail to import, its factory may raise: that is an error at the author's line,
never a traceback of ours.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from warploom.errors import ConfigError, WarploomError


def user_object(spec: str) -> Any:  # noqa: ANN401 (the user's own object)
    """The object a spec names, not called."""
    place, _, name = spec.rpartition(":")
    if place.endswith(".py") and not Path(place).is_file():
        raise ConfigError(f"there is no file {place}", where=spec)
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
    sys.modules.setdefault(path.stem, module)  # dataclasses and pickles look their module up
    spec.loader.exec_module(module)
    return module
