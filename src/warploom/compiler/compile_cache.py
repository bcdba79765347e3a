"""Emitted kernels on disk, by content: the kernel's value, its config, the target and this code.

Solved orders are kept too, by their problem: a schedule takes seconds to solve and a moment to
read. An entry was proven before it was written; one that is missing or damaged is none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from warploom.codegen.cuda.tile.source import Source
from warploom.compiler.code_digest import EXECUTING, fingerprint
from warploom.compiler.disk_cache import digest, disk_cache
from warploom.compiler.json_values import params_data, read_value
from warploom.errors import SchedulingError, WarploomError
from warploom.interp.dataflow import DataflowReport
from warploom.ir.tile import Kernel
from warploom.modulo.check import check_result
from warploom.modulo.clock import WORK
from warploom.modulo.model import ModuloProblem
from warploom.modulo.options import ModuloOptions
from warploom.modulo.result import LimitKind, ModuloResult
from warploom.modulo.search import what_blocks
from warploom.passes.kernel_config import KernelConfig
from warploom.targets.h200 import HopperTarget


def cached_schedule(
    problem: ModuloProblem, asked: str, solve: Callable[[], ModuloResult]
) -> ModuloResult:
    """The order of a problem: solved before by the same code, or now; it is checked either way."""
    kept, code = disk_cache(), fingerprint("warploom.modulo")
    solvers = dict.fromkeys((_solver(), ""))  # without a solver what any found is taken
    content = repr(replace(problem, name=""))
    keys = [digest(code, solver, content, asked) for solver in solvers]
    result = _recall_order(problem, kept.get("order", keys[0]))
    left = keys if result is None else [k for k in keys[1:] if kept.get("order", k) is None]
    if result is None:
        result = solve()
    if left and result.stopped in (
        "",
        WORK,
    ):  # not by the clock: another machine may do better then
        data = {k: v for k, v in asdict(result).items() if k != "problem"}
        for key in left:
            kept.put("order", key, json.dumps(data).encode())
    return result


def cached_limit(result: ModuloResult, options: ModuloOptions) -> str:
    """What blocks a lesser interval, in words: asked before by the same code, or now."""
    if not result.proven or result.limit.kind is not LimitKind.SEARCH:
        return result.limit.text
    content = repr((replace(result.problem, name=""), result.ii, options))
    kept, key = disk_cache(), digest(fingerprint("warploom.modulo"), _solver(), content)
    found = kept.get("limit", key)
    if found is not None:
        return found.decode(errors="replace")
    text = what_blocks(result, options).text
    kept.put("limit", key, text.encode())
    return text


@cache
def _solver() -> str:
    """The version of the solver; "" where it is not there, or was unpacked by hand.

    Read from the package's metadata, where ``importlib.metadata`` would load a parser of mail.
    """
    found = find_spec("ortools")
    places = (found.submodule_search_locations if found else None) or ()
    for place in places:
        for about in sorted(Path(place).parent.glob("ortools-*.dist-info/METADATA")):
            for line in about.read_text(errors="replace").splitlines():
                key, _, value = line.partition(": ")
                if key == "Version":
                    return value
    return ""


def _recall_order(problem: ModuloProblem, data: bytes | None) -> ModuloResult | None:
    if data is None:
        return None
    try:
        result: ModuloResult = read_value(ModuloResult, json.loads(data), problem=problem)
        check_result(result)
    except (ValueError, KeyError, TypeError, WarploomError):
        return None
    return result


def recall_source(
    kernel: Kernel, config: KernelConfig, target: HopperTarget, *, stamps: bool = False
) -> Source | None:
    """The source kept for a kernel and config."""
    data = disk_cache().get("source", _key(kernel, config, target, stamps=stamps))
    try:
        return None if data is None else source_from(json.loads(data))
    except (ValueError, KeyError, TypeError):
        return None


def keep_source(kernel: Kernel, config: KernelConfig, target: HopperTarget, source: Source) -> None:
    """Keep a proven source."""
    key = _key(kernel, config, target, stamps=bool(source.stamps))
    disk_cache().put("source", key, json.dumps(source_data(source)).encode())


def source_data(source: Source) -> dict[str, Any]:
    """A source as JSON takes it."""
    return asdict(source) | {"params": params_data(source.params)}


def source_from(data: Any) -> Source:  # noqa: ANN401 (JSON)
    """A source as ``source_data`` wrote it."""
    result: Source = read_value(Source, data)
    return result


def keep_refusal(
    kernel: Kernel, config: KernelConfig, target: HopperTarget, error: SchedulingError
) -> None:
    """Keep that a config has no schedule: finding that out takes as long as finding one."""
    said = {"what": error.what, "where": error.where, "why": error.why, "fix": error.fix}
    key = _key(kernel, config, target, stamps=False)
    disk_cache().put("refusal", key, json.dumps(said).encode())


def recall_refusal(
    kernel: Kernel, config: KernelConfig, target: HopperTarget
) -> SchedulingError | None:
    """The refusal kept for a config."""
    data = disk_cache().get("refusal", _key(kernel, config, target, stamps=False))
    try:
        said = json.loads(data or b"null")
        parts = {part: said[part] for part in ("where", "why", "fix")} if said else {}
        return SchedulingError(said["what"], **parts) if said else None
    except (ValueError, KeyError, TypeError):
        return None


def verdict_of(
    kernel: Kernel, code: str, sizes: object, decide: Callable[[], DataflowReport]
) -> DataflowReport:
    """Whether code computes a kernel: decided before by the same verifier, or now.

    What is wrong is never kept: whoever asks again sees it happen again.
    """
    key = digest(fingerprint(*EXECUTING), repr(kernel), code, sizes)
    data = disk_cache().get("executed", key)
    try:
        if data is not None:
            result: DataflowReport = read_value(DataflowReport, json.loads(data))
            return result
    except (ValueError, KeyError, TypeError):
        pass  # damaged: decided again
    report = decide()
    if not report.findings:
        disk_cache().put("executed", key, json.dumps(asdict(report)).encode())
    return report


def _key(kernel: Kernel, config: KernelConfig, target: HopperTarget, *, stamps: bool) -> str:
    return digest(fingerprint(), repr(kernel), repr(config), repr(target), stamps)
