"""``warploom verify`` and ``repair``: verify schedules, and the nearest one without races."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warploom.cli.arguments import SpecArgument, complete_source
from warploom.cli.screen import (
    Answer,
    JsonOption,
    OutputOption,
    require_ending,
    say,
    working,
    write,
    write_file,
)
from warploom.errors import (
    ConfigError,
    DocumentError,
    SyncError,
    TooLargeError,
    WarploomError,
)
from warploom.ir import read_schedule
from warploom.ir.format1 import MAX_TEXT
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.targets import AMD
from warploom.verify import Report, witness
from warploom.verify.report import (
    FileVerdict,
    exit_code,
    parse_trips,
    render,
    verify_document,
    verify_file,
)
from warploom.verify.roles import verify_roles

if TYPE_CHECKING:
    from warploom.cli.kernels import NamedKernel
    from warploom.cli.subject import Document, Subject
    from warploom.interp.module_report import ModuleReport
    from warploom.sync.counters import Repair

MODULE = re.compile(rb'\s*\{\s*"format"\s*:')  # documents of format 1 begin otherwise
LONGEST = 24  # iterations of a run that a witness is looked for in


class Form(StrEnum):
    """How verdicts are written."""

    TEXT = "text"
    JSON = "json"


def verify_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Documents, schedules, kernels; - is standard input.",
            autocompletion=complete_source,
        ),
    ],
    trips: Annotated[
        str | None, typer.Option(metavar="N..M", help="Verify these trip counts only.")
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="text, or json: one report a line.")
    ] = Form.TEXT,
    as_json: JsonOption = False,
    shown: Annotated[
        bool, typer.Option("--witness", help="Show a run that goes wrong, where one is found.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a tile kernel: h200 or mi355x.")
    ] = None,
    tile: Annotated[
        str | None, typer.Option(metavar="MxNxK", help="Of a tile kernel: its tile.")
    ] = None,
) -> None:  # fmt: skip
    """Verify schedules for every timing and trip count; kernels and modules also for what they
    compute.

    Exit code 0: all are clean. 1: findings. 2: some document is malformed or not judged.

    Example: warploom verify fourwave mine.json
    """
    try:
        wanted = None if trips is None else parse_trips(trips)
    except ConfigError as error:
        raise typer.BadParameter(str(error), param_hint="--trips") from None
    form = Form.JSON if as_json else form
    verdicts = []
    for source in sources:
        with working(f"verifying {source}"):
            verified = list(verdicts_of(source, wanted, target, tile, shown=shown))
        for verdict, document in verified:
            if form is Form.JSON:
                write(render(verdict, form.value))
                if verdict.report is None:
                    say(f"{verdict.file}: {verdict.error}", err=True)
                continue
            say(render(verdict, form.value))
            if shown and isinstance(verdict.report, Report) and document is not None:
                say(_witness(document, verdict.report))
        verdicts += [verdict for verdict, _ in verified]
    raise typer.Exit(exit_code(verdicts))


def verdicts_of(
    source: str,
    trips: range | None = None,
    target: str | None = None,
    tile: str | None = None,
    *,
    shown: bool = False,
) -> Iterator[tuple[FileVerdict, Document | None]]:
    """A verdict a loop, then one on what a kernel computes; with it the document of a witness."""
    if source.endswith(".json"):
        module = _module_file(source)
        if module is not None:
            yield module, None
            return
        found = verify_file(source, trips)
        again = shown and found.report is not None
        yield found, read_schedule(Path(source).read_bytes()) if again else None
        return
    from warploom.cli.kernels import NamedKernel
    from warploom.cli.knobs import Request
    from warploom.cli.source import derived, look_up  # a document needs no compiler

    request = Request(target=target, tile=tile)
    try:
        if target in AMD:
            named = look_up(source, replace(request, target=None, tile=None))
            if isinstance(named, NamedKernel):
                yield from _on_amd(named, source, target, tile, trips)
                return
        named = look_up(source, request)
        if isinstance(named, NamedKernel) and not _pipelined(named):
            yield FileVerdict(file=source, report=_executed(named)), None
            return
        loops = derived(named, source).loops
    except DocumentError as error:
        yield FileVerdict(file=source, error=str(error)), None
        return
    for part in loops:
        name = f"{source}, loop {part.loop}" if part.loop else source
        yield FileVerdict(file=name, report=verify_document(part.document, trips)), part.document
    if isinstance(named, NamedKernel) and trips is None:
        yield FileVerdict(file=f"{source}, module", report=_module_report(named)), None


def _on_amd(
    named: NamedKernel, source: str, chip: str, tile: str | None, trips: range | None
) -> Iterator[tuple[FileVerdict, Document | None]]:
    """The schedules of pipelined loops, and what the machine code computes."""
    from warploom.cli.kernels import tile_extents
    from warploom.interp.module_report import ModuleReport, verify_module
    from warploom.runtime.mi355x import CompiledMi355x
    from warploom.targets.amdgcn import MACHINES

    made = CompiledMi355x(named.compiled.kernel, tile_extents(named, tile), MACHINES[chip])
    for n, document in enumerate(made.documents, 1):
        name = f"{source}, loop {n}" if len(made.documents) > 1 else source
        yield FileVerdict(file=name, report=verify_document(document, trips)), document
    if trips is None:
        yield FileVerdict(file=f"{source}, module", report=verify_module(made.module)), None
    report = ModuleReport(name=f"{made.kernel.name} on {chip}", dataflow=made.executed)
    yield FileVerdict(file=f"{source}, code", report=report), None


def _module_file(source: str) -> FileVerdict | None:
    """The verdict on a file that holds a module; None for any other file."""
    try:
        data = Path(source).read_bytes()
    except (OSError, ValueError):
        return None
    if len(data) > MAX_TEXT or MODULE.match(data[:80]) is None:
        return None
    from warploom.interp.module_report import verify_module
    from warploom.ir.serialize import from_json

    try:
        return FileVerdict(file=source, report=verify_module(from_json(data)))
    except WarploomError as error:
        large = isinstance(error, TooLargeError)
        return FileVerdict(file=source, error=str(error), too_large=large)
    except (MemoryError, RecursionError):
        return FileVerdict(file=source, error="the module is too large to judge", too_large=True)


def _module_report(named: NamedKernel) -> ModuleReport:
    """Indices, trip counts, stores and values of the module that is printed."""
    from warploom.interp.dataflow import compile_sizes, verify_dataflow
    from warploom.interp.module_report import ModuleReport
    from warploom.passes.build_module import build_module
    from warploom.verify.coverage import verify_coverage

    module = build_module(named.compiled.kernel, named.lowered)
    return ModuleReport(
        name=module.name,
        coverage=verify_coverage(module),
        dataflow=verify_dataflow(module, sizes_tried=[compile_sizes(module)]),
    )


def _pipelined(named: NamedKernel) -> bool:
    """Whether a kernel has a schedule: it has products, and they can be pipelined."""
    made = named.compiled
    if made.without_products() is not None:
        return False
    from warploom.cli.kernels import runs_threads

    return not runs_threads(named)


def _executed(named: NamedKernel) -> ModuleReport:
    """A kernel without a schedule: its code is executed and compared."""
    from warploom.interp.module_report import ModuleReport

    made = named.compiled
    from warploom.cli.kernels import runs_threads

    if runs_threads(named):
        from warploom.interp.module_report import verify_module

        return verify_module(made.module)
    return ModuleReport(name=made.kernel.name, dataflow=made.dataflow)


def _witness(document: Document, report: Report) -> str:
    """A run in which the first finding, or any, shows."""
    races = report.races()
    if not races:
        return "witness: none, nothing goes wrong"
    if isinstance(document, RolesDocument):
        from warploom.interp.executor.roles import role_witness

        runs = dict.fromkeys(f.tiles for f in races[:6] if f.tiles and sum(f.tiles) <= LONGEST)
        found = role_witness(document, [*runs, (2, 2), (3, 1, 3)])
        if found is not None:
            return found.text()
    else:
        for race in races:
            with suppress(WarploomError):
                return witness(document, race).text()
    return "witness: none found in the runs tried; the findings say what can happen"


def repair_command(source: SpecArgument, output: OutputOption = None) -> Answer:
    """Add and tighten as few waits and barriers as leave no race, and say why.

    Role programs are derived anew from their kernel; what differs is listed.
    Exit code 0: nothing to repair, or repaired and proven. 2: the order itself is wrong, which no
    wait can repair.

    Example: warploom repair racy.json -o clean.json
    """
    from warploom.cli.source import load

    require_ending(output, ".json")
    subject = load(source)
    with working(f"repairing {subject.name}"):
        repaired, text, found = _roles(subject) if subject.is_roles else _counters(subject)
    if output is not None:
        write_file(output, repaired.text())
    return Answer(lambda: text, lambda: found, 0 if repaired.report().clean else 1)


def _counters(subject: Subject) -> tuple[Subject, str, dict[str, Any]]:
    from warploom.sync.counters import repair

    assert not isinstance(subject.document, RolesDocument)
    done = repair(subject.document)
    return replace(subject, document=done.document, compiled=None), done.text, _as_json(done)


def _roles(subject: Subject) -> tuple[Subject, str, dict[str, Any]]:
    from warploom.viz.compare import changes

    if subject.report().verdict != "race":
        found: dict[str, Any] = {"name": subject.name, "changes": []}
        return subject, f"{subject.name}: nothing to repair", found
    if subject.kernel is None:
        return _patched(subject)
    repaired = replace(subject, document=subject.kernel.lowered.document)
    lines = changes(subject.document, repaired.document)
    text = f"{subject.name}: {len(lines)} entries differ from the derived programs"
    return repaired, "\n".join([text, *lines]), {"name": subject.name, "changes": lines}


def _patched(subject: Subject) -> tuple[Subject, str, dict[str, Any]]:
    """A document whose kernel is not known: what is missing is put in, one entry at a time."""
    from warploom.sync.mbarrier.repair import repair_roles

    assert isinstance(subject.document, RolesDocument)
    done = repair_roles(subject.document, verify_roles)
    if not done.done:
        raise SyncError(
            f"{subject.name} races, and no fence, wait, release or turn repairs it",
            where=subject.spec,
            why=str(done.left[0]),
            fix="its ops are wrong or out of order; derive it anew from its kernel",
        )
    text = f"{subject.name}: {len(done.changes)} change(s)"
    repaired = replace(subject, document=done.document)
    found = {"name": subject.name, "changes": list(done.changes)}
    return repaired, "\n".join([text, *done.changes]), found


def _as_json(done: Repair) -> dict[str, Any]:
    return {
        "name": done.document.name,
        "trips": list(done.trips),
        "changes": [
            {
                "kind": c.kind.value,
                "phase": c.phase.name,
                "index": c.index,
                "before": c.before,
                "after": c.after,
                "why": c.because,
            }
            for c in done.changes
        ],
    }
