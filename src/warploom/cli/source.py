"""What a command works on, whatever it was given as: one ``Subject``.

A spec is a built-in schedule, a shipped kernel, ``file.py:object`` or ``module:object`` (a
schedule, a kernel, a document, a compiled schedule, or a function that returns one of them), a
document file, or ``-`` for a document on standard input.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from warploom.cli.author import called, find_target, hopper, machine, user_object
from warploom.cli.kernels import (
    Knobs,
    NamedKernel,
    built_in,
    kernel_named,
    kernel_names,
    parse_tile,
    split_spec,
    tile_extents,
    usual_tile,
    with_choices,
    with_tile,
)
from warploom.cli.knobs import Request
from warploom.cli.screen import working
from warploom.cli.subject import Document, Subject
from warploom.errors import ConfigError, DocumentError, FileError, KernelError, cannot_read
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir import ScheduleDocument, read_schedule
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.pipeline.compile import CompiledSchedule, OnRace, compile_schedule
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.shipped import SCHEDULES, tuned
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.targets.described import described
from warploom.targets.h200 import HopperTarget

STDIN = "-"
KINDS = "a schedule, a kernel, a document, or a function that returns one of them"


def load(spec: str, request: Request | None = None) -> Subject:
    """The subject a spec names."""
    return derived(look_up(spec, request or Request()), spec)


def derived(found: Subject | NamedKernel, spec: str) -> Subject:
    """What was found, a kernel with its schedule."""
    if isinstance(found, Subject):
        return found
    if not found.compiled.kernel.loops:
        raise ConfigError(
            f"{found.tile_kernel.name} has no loop, so there is no schedule",
            where=spec,
            why="its rows are worked on one after the other",
            fix=f"`warploom show {spec} --after rewrite` shows its ops; on a GPU run and bench "
            "execute it, without one .reference(...) in Python does",
        )
    with working(f"deriving {found.tile_kernel.name}"):
        try:
            document = found.lowered.document
        except KernelError as error:
            if next(iter(_blocks(found)), None) is None:
                raise
            raise ConfigError(
                f"{found.tile_kernel.name} has no pipelined loop, so there is no schedule",
                where=spec,
                why=f"all threads run one program: {error.what}",
                fix=f"`warploom show {spec} --after module` shows it; verify and emit take it",
            ) from error
    return Subject(spec=spec, document=document, kernel=found, dtype=found.dtype)


def _blocks(found: NamedKernel) -> Iterator[object]:
    """The programs of a kernel whose products cannot be pipelined; none where there are none."""
    with suppress(KernelError):
        yield from found.compiled.block_modules(KernelError("no products"))


def look_up(spec: str, request: Request) -> Subject | NamedKernel:
    """What a spec names; a kernel is not scheduled yet."""
    spec = with_settings(spec, request)
    found = _look_up(spec, request)
    if isinstance(found, NamedKernel) and request.changes_order:
        raise ConfigError(
            "knobs and --sync are of counter schedules", where=spec, fix="leave them out"
        )
    return found if request.target is None else _on_target(found, spec, request.target)


def with_settings(spec: str, request: Request) -> str:
    """The spec with what ``--set`` says of its kernel, as ``attention@causal=true`` says it."""
    if not request.settings:
        return spec
    name, at, _ = spec.partition("@")
    if name in SCHEDULES or name == STDIN or name.endswith(".json"):
        raise ConfigError(
            "--set is of tile kernels",
            where=spec,
            why="a document is compiled already, and a schedule has knobs",
            fix="leave it out; --help-knobs lists the knobs of schedules",
        )
    return f"{spec}{',' if at else '@'}{','.join(request.settings)}"


def _on_target(found: Subject | NamedKernel, spec: str, name: str) -> Subject | NamedKernel:
    """What was found, to be priced on another machine than its own."""
    target = find_target(name)
    if isinstance(found, NamedKernel) and target is None:
        return _on_mi355x(found, spec)
    if isinstance(found, NamedKernel):
        return replace(found, target=hopper(spec, target))
    if isinstance(found.document, RolesDocument):
        kernel = found.kernel and replace(found.kernel, target=hopper(spec, target))
        return replace(found, kernel=kernel, target_given=True)
    return replace(found, machine=machine(spec, target), target_given=True)


def _on_mi355x(found: NamedKernel, spec: str) -> Subject:
    """The schedule of a tile kernel's loop on MI355X: the one that its code is printed from."""
    from warploom.runtime.mi355x import CompiledMi355x

    tile = "x".join(str(n) for _, n in found.pins) or None
    made = CompiledMi355x(found.compiled.kernel, tile_extents(found, tile))
    with working(f"compiling {found.tile_kernel.name} for mi355x"):
        documents = made.documents
    if not documents:
        reasons = made.program.not_pipelined
        raise ConfigError(
            f"{found.tile_kernel.name} has no pipelined loop on mi355x",
            where=spec,
            why="; ".join(reasons) or "it has no loop of products",
            fix=f"warploom run {spec} --on mi355x executes its plain loops; "
            f"warploom show {spec} --target mi355x lists it",
        )
    return Subject(spec=spec, document=documents[0], dtype=found.dtype)


def _look_up(spec: str, request: Request) -> Subject | NamedKernel:
    tile, dtype = request.tile, request.dtype
    if request.mma is not None and spec not in SCHEDULES:
        raise ConfigError(
            "--mma is of built-in schedules",
            where=spec,
            why="an author's schedule or a document states its own matrix instruction",
            fix=f"leave it out, or name one of {', '.join(SCHEDULES)}",
        )
    if spec == STDIN or spec.endswith(".json"):
        return _from_document(read_document(spec), spec, request)
    if spec in SCHEDULES:
        knobs = tuple(sorted(request.knobs.items()))
        kind = dtype or "bf16"
        return _built_in(spec, knobs, tile, kind, request.mma, request.sync, request.on_race)
    kernel = kernel_named(spec, tile, dtype)
    if kernel is not None:
        return kernel
    name = spec.partition("@")[0]
    if ":" in name:
        return _from_object(user_object(name), spec, request)
    raise _unknown(spec)


@lru_cache(maxsize=64)  # of names and numbers alone
def _built_in(
    spec: str,
    knobs: tuple[tuple[str, Any], ...],
    tile: str | None,
    dtype: str,
    mma: str | None,
    sync: SyncPolicy | None,
    on_race: OnRace,
) -> Subject:
    request = Request(knobs=dict(knobs), tile=tile, dtype=dtype, sync=sync, on_race=on_race)
    made = built_in(spec, _own_knobs(request.knobs), tile, dtype, mma)
    subject = _compiled(made, spec, request)
    return replace(subject, tile=parse_tile(tile, dtype, usual_tile(spec, dtype)), dtype=dtype)


def kernel_of_spec(spec: str, dtype: str) -> NamedKernel | None:
    """The tile kernel a spec names, not lowered; None for schedules and documents."""
    name, said = split_spec(spec)
    if name in SCHEDULES or name == STDIN or name.endswith(".json"):
        return None
    kernel = kernel_named(spec, None, dtype)
    if kernel is not None or ":" not in name:
        return kernel
    found = user_object(name)
    return (
        with_choices(NamedKernel(found, dtype), said, spec)
        if isinstance(found, TileKernel)
        else None
    )


def _unknown(spec: str) -> ConfigError:
    names = (*SCHEDULES, *kernel_names())
    near = get_close_matches(spec.strip().lower(), names, 1)
    if os.path.isfile(spec):
        fix = "a document's name ends in .json, an object of a file is named file.py:object"
    elif near:
        fix = f"did you mean {near[0]!r}?"
    else:
        fix = (
            f"one of {', '.join(SCHEDULES)}, a shipped kernel such as gemm "
            "(`warploom show --list`), file.py:object, FILE.json, or - for standard input"
        )
    return ConfigError(f"there is no schedule or kernel {spec!r}", fix=fix)


def _from_object(found: object, spec: str, request: Request) -> Subject | NamedKernel:
    """One case for each kind of value an author may name."""
    kinds = PipelineSchedule | CompiledSchedule | ScheduleDocument | RolesDocument | TileKernel
    if isinstance(found, type) or (callable(found) and not isinstance(found, kinds)):
        found = called(found, spec)
    match found:
        case PipelineSchedule():
            return _compiled(tuned(found, **_own_knobs(request.knobs)), spec, request)
        case CompiledSchedule():
            return replace(_from_document(found.document(), spec, request), compiled=found)
        case ScheduleDocument() | RolesDocument():
            return _from_document(found, spec, request)
        case TileKernel():
            plain = with_choices(
                NamedKernel(found, request.dtype or "bf16"), split_spec(spec)[1], spec
            )
            return with_tile(plain, request.tile)
    raise ConfigError(
        f"{spec} is a {type(found).__name__}", why=f"commands work on {KINDS}", fix=f"name {KINDS}"
    )


def _compiled(schedule: PipelineSchedule, spec: str, request: Request) -> Subject:
    """Compile; the modulo strategy overrides a schedule's own order."""
    by_interval = request.knobs.get("scheduling") is SchedulingStrategy.MODULO
    with working(f"compiling {spec}") as change:

        def heard(step: str, value: Any) -> None:  # noqa: ANN401 (of any step)
            if step == "search":
                best = f", best {value.best:.0f} cycles" if isfinite(value.best) else ""
                change(f"compiling {spec}: {value.evaluations} orders scored{best}")

        compiled = compile_schedule(
            schedule,
            sync=request.sync,
            on_race=request.on_race,
            modulo=ModuloRequest() if by_interval else None,
            observer=heard,
        )
    shape = parse_tile(request.tile, request.dtype or "bf16") if request.tile else None
    return Subject(
        spec=spec,
        document=compiled.document(),
        compiled=compiled,
        tile=shape,
        dtype=request.dtype or "bf16",
    )


def _own_knobs(knobs: Knobs) -> Knobs:
    by_interval = knobs.get("scheduling") is SchedulingStrategy.MODULO
    return {k: v for k, v in knobs.items() if not (by_interval and k == "scheduling")}


def _from_document(document: Document, spec: str, request: Request) -> Subject:
    if request.changes_order:
        raise ConfigError(
            "a document is already compiled; knobs and --sync do not apply", where=spec
        )
    if isinstance(document, RolesDocument):
        kernel = kernel_named(document.name, None, request.dtype)
        target = _target_of(document, spec)
        if kernel is not None and target is not None:
            kernel = replace(kernel, target=target)
        return Subject(spec=spec, document=document, kernel=kernel, dtype=request.dtype or "bf16")
    shape = parse_tile(request.tile, request.dtype or "bf16") if request.tile else None
    return Subject(spec=spec, document=document, tile=shape, dtype=request.dtype or "bf16")


def _target_of(document: RolesDocument, spec: str) -> HopperTarget | None:
    """The target a document was made for, where it is shipped or the document carries it."""
    try:
        return described(document.target, document.machine)
    except ConfigError as error:
        raise DocumentError(f"{spec}: {error.what}", path="$.machine", fix=error.fix) from None


def read_document(spec: str) -> Document:
    """A document from a file or from standard input; errors name the file."""
    name = "standard input" if spec == STDIN else spec
    try:
        text = sys.stdin.buffer.read() if spec == STDIN else Path(spec).read_bytes()
    except OSError as error:
        raise FileError(cannot_read(name, error)) from None
    try:
        return read_schedule(text)
    except DocumentError as error:
        raise DocumentError(
            f"{name}: {error.what}", path=error.path, why=error.why, fix=error.fix
        ) from None
