"""Emitted kernels on disk, by content: the kernel's value, its tiling, the target and this code.

Solved orders are kept too, by their problem: a schedule takes seconds to solve and a moment to
read. An entry was proven before it was written; one that is missing or damaged is none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import warploom
from warploom.emit.cuda.tile import signature
from warploom.emit.cuda.tile.source import Source
from warploom.errors import SchedulingError, WarploomError
from warploom.kernel.values import Kernel
from warploom.launch.build import default_cache, write_whole
from warploom.lower.tiling import Tiling
from warploom.order.check import check_result
from warploom.order.clock import WORK
from warploom.order.model import ModuloProblem
from warploom.order.result import ModuloResult
from warploom.target.h200 import HopperTarget

ROOMS = ("kernel", "lower", "order", "guard", "document", "target", "emit/cuda")
CHOOSING = ("choose.py", "estimate.py")  # which tiling, and nothing of what becomes of one
PARAMS = {kind.__name__: kind for kind in get_args(signature.Param)}


@cache
def fingerprint(*rooms: str) -> str:
    """A digest of the code that turns kernels into sources, or of some rooms."""
    root = Path(warploom.__file__).parent
    digest = hashlib.sha256()
    for room in rooms or ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            if path.name not in CHOOSING:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def kept_order(
    problem: ModuloProblem, asked: str, solve: Callable[[], ModuloResult]
) -> ModuloResult:
    """The order of a problem: solved before by the same code, or now; it is checked either way."""
    paths = []
    for solver in dict.fromkeys((_solver(), "")):  # without a solver what any found is taken
        text = f"{fingerprint('order')}\0{solver}\0{problem!r}\0{asked}"
        name = f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
        paths.append(default_cache() / "orders" / name)
    found = _recall_order(problem, paths[0])
    left = [path for path in paths if found is None or not path.exists()]
    if found is None:
        found = solve()
    if left and found.stopped in ("", WORK):  # not by the clock: another machine may do better then
        data = {k: v for k, v in asdict(found).items() if k != "problem"}
        for path in left:
            _keep(path, data)
    return found


@cache
def _solver() -> str:
    try:
        return version("ortools")
    except PackageNotFoundError:  # not there, or unpacked by hand
        return ""


def _recall_order(problem: ModuloProblem, path: Path) -> ModuloResult | None:
    try:
        found: ModuloResult = _read(ModuloResult, json.loads(path.read_text()), problem=problem)
        check_result(found)
    except (OSError, ValueError, KeyError, TypeError, WarploomError):
        return None
    return found


def recall_source(
    kernel: Kernel, tiling: Tiling, target: HopperTarget, *, stamps: bool = False
) -> Source | None:
    """The source kept for a kernel and tiling."""
    try:
        data = json.loads(_path(kernel, tiling, target, stamps=stamps).read_text())
        whole = hashlib.sha256(data["text"].encode()).hexdigest() == data.pop("sha256")
        found: Source | None = _read(Source, data) if whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def keep_source(kernel: Kernel, tiling: Tiling, target: HopperTarget, source: Source) -> None:
    """Keep a proven source; a cache that cannot be written costs time later, and nothing else."""
    path = _path(kernel, tiling, target, stamps=bool(source.stamps))
    params = [{"kind": type(p).__name__, **asdict(p)} for p in source.params]
    digest = hashlib.sha256(source.text.encode()).hexdigest()
    _keep(path, asdict(source) | {"params": params, "sha256": digest})


def _keep(path: Path, data: object) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(data).encode())
    except OSError:
        return


def keep_refusal(
    kernel: Kernel, tiling: Tiling, target: HopperTarget, error: SchedulingError
) -> None:
    """Keep that a tiling has no schedule: finding that out takes as long as finding one."""
    path = _path(kernel, tiling, target, stamps=False).with_suffix(".no")
    _keep(path, {"what": error.what, "where": error.where, "why": error.why, "fix": error.fix})


def recall_refusal(kernel: Kernel, tiling: Tiling, target: HopperTarget) -> SchedulingError | None:
    """The refusal kept for a tiling."""
    try:
        said = json.loads(
            _path(kernel, tiling, target, stamps=False).with_suffix(".no").read_text()
        )
        return SchedulingError(said["what"], where=said["where"], why=said["why"], fix=said["fix"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(kernel: Kernel, tiling: Tiling, target: HopperTarget, *, stamps: bool) -> Path:
    text = f"{fingerprint()}\0{kernel!r}\0{tiling!r}\0{target!r}\0{stamps}"
    return default_cache() / "sources" / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"


def _read(kind: Any, data: Any, **known: object) -> Any:  # noqa: ANN401 (by its type)
    """A value as ``asdict`` and JSON keep it; of several kinds the one it names. ``known``: fields
    that are not kept.
    """
    if kind == signature.Param:
        kind = PARAMS[data.pop("kind")]
    if isinstance(kind, UnionType):
        return None if data is None else _read(get_args(kind)[0], data)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], item) for item in data)
    if is_dataclass(kind):
        kinds = get_type_hints(kind)
        read = {name: _read(kinds[name], item) for name, item in dict(data).items()}
        return kind(**read, **known)  # type: ignore[operator]
    made = kind(data) if issubclass(kind, Enum) else data
    if not isinstance(made, (kind, int) if kind is float else kind):
        raise TypeError(f"{made!r} is no {kind.__name__}")
    return made
