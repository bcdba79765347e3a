"""Emitted kernels on disk, by content: the kernel's value, its tiling, the target and this code.

Solved orders are kept too, by their problem: a schedule takes seconds to solve and a moment to
read. An entry was proven before it was written; one that is missing or damaged is none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import get_args

import warploom
from warploom.emit.cuda.tile import signature
from warploom.emit.cuda.tile.source import Source
from warploom.emit.cuda.tile.stamps import StampedRole
from warploom.errors import SchedulingError, WarploomError
from warploom.kernel.values import DType, Kernel
from warploom.launch.build import default_cache, write_whole
from warploom.lower.tiling import Tiling
from warploom.order.check import check_result
from warploom.order.clock import WORK
from warploom.order.model import Goal, ModuloProblem
from warploom.order.result import GoalValue, Limit, LimitKind, ModuloResult
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
        data = json.loads(path.read_text())
        data |= {k: tuple(data[k]) for k in ("times", "depths", "roles", "log")}
        limit, goals = data.pop("limit"), data.pop("goals")
        limit |= {"kind": LimitKind(limit["kind"]), "culprits": tuple(limit["culprits"])}
        found = ModuloResult(
            problem=problem,
            limit=Limit(**limit),
            goals=tuple(GoalValue(**(g | {"goal": Goal(g["goal"])})) for g in goals),
            **data,
        )
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
        params = tuple(_param(p) for p in data["params"])
        if hashlib.sha256(data["text"].encode()).hexdigest() != data["sha256"]:
            return None
        return Source(
            text=data["text"],
            entry=data["entry"],
            params=params,
            threads=int(data["threads"]),
            shared_bytes=int(data["shared_bytes"]),
            work_bytes=int(data["work_bytes"]),
            stamps=tuple(
                StampedRole(**(r | {"labels": tuple(r["labels"])})) for r in data["stamps"]
            ),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep_source(kernel: Kernel, tiling: Tiling, target: HopperTarget, source: Source) -> None:
    """Keep a proven source; a cache that cannot be written costs time later, and nothing else."""
    path = _path(kernel, tiling, target, stamps=bool(source.stamps))
    data = {
        "text": source.text,
        "sha256": hashlib.sha256(source.text.encode()).hexdigest(),
        "entry": source.entry,
        "params": [{"kind": type(p).__name__, **asdict(p)} for p in source.params],
        "threads": source.threads,
        "shared_bytes": source.shared_bytes,
        "work_bytes": source.work_bytes,
        "stamps": [asdict(r) for r in source.stamps],
    }
    _keep(path, data)


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


def _param(data: dict[str, object]) -> signature.Param:
    values = {k: v for k, v in data.items() if k != "kind"}
    if "dtype" in values:
        values["dtype"] = DType(str(values["dtype"]))
    if "box" in values:
        values["box"] = tuple(values["box"])  # type: ignore[arg-type]
    made: signature.Param = PARAMS[str(data["kind"])](**values)
    return made
