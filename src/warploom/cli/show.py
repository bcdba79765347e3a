"""``warploom show`` and ``compile``: a schedule with its reasons, and as a document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warploom.cli.arguments import SpecArgument, complete_source
from warploom.cli.kernels import NamedKernel, described, hopper_kernels, kernel_names, tile_extents
from warploom.cli.knobs import Request, with_request
from warploom.cli.screen import (
    Answer,
    columns,
    one_or_all,
    paint,
    require_ending,
    working,
    wrapped,
    write_file,
)
from warploom.cli.source import kernel_of_spec, load, look_up, with_settings
from warploom.cli.subject import Subject
from warploom.errors import ConfigError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.schedule_ops import Phase
from warploom.pipeline.compile import CompiledSchedule, OnRace
from warploom.pipeline.listing import WaitCounts
from warploom.pipeline.schedules.shipped import SCHEDULES
from warploom.viz.listing import legend, listing_text, sections

if TYPE_CHECKING:  # of another target than most commands are for
    from warploom.runtime.mi355x import CompiledMi355x

OptionalSpec = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE", help="As of every command; left out with --list.",
        autocompletion=complete_source,
    ),
]  # fmt: skip


@with_request()
def show_command(
    source: OptionalSpec = None,
    names: Annotated[
        bool, typer.Option("--list", help="List every built-in schedule and shipped kernel.")
    ] = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="PASS", help="A tile kernel after a pass; --passes lists them."),
    ] = None,
    passes: Annotated[
        bool,
        typer.Option("--passes", help="List every pass of a tile kernel for --target, in order."),
    ] = False,
    dump_passes: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a tile kernel after every pass; `emit h200 DIR`, or `emit gfx950 DIR` of "
            "one with --target mi355x, goes on from there.",
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Whole reasons: what may stay in flight, which trip.")
    ] = False,
    *,
    request: Request,
) -> Answer:
    """Show every entry with its reason: phases of a schedule, programs of a kernel's roles.

    Example: warploom show pingpong --sync proven_weakest
    """
    if names:
        found = {"schedules": list(SCHEDULES), "kernels": list(kernel_names())}
        return Answer(_list, lambda: found)
    if passes:
        from warploom.compiler import pass_list

        of = request.target or "h200"
        names_of = [row.name for row in pass_list.passes_of(of)]
        return Answer(lambda: pass_list.screen(of), lambda: names_of, raw=True)
    if source is None:
        raise ConfigError("nothing to show", fix="name a source, or --list to see those there are")
    if request.target is not None and (
        answer := _on_amd(source, request, after, dump_passes, details)
    ):
        return answer
    if dump_passes is not None:
        table = _dumped(look_up(source, request), dump_passes)
        return Answer(lambda: table, lambda: {"folder": str(dump_passes)}, raw=True)
    if after is not None:
        text = _after(look_up(source, request), after)
        return Answer(lambda: text, lambda: {"pass": after, "text": text}, raw=True)
    subject = load(source, request)
    return Answer(
        lambda: "\n\n".join([*(_text(x, details) for x in subject.loops), _legend(subject)]),
        lambda: one_or_all([_as_json(part) for part in subject.loops]),
    )


def _on_amd(
    source: str, request: Request, after: str | None, folder: Path | None, details: bool
) -> Answer | None:
    """A tile kernel on an AMD chip; None for other targets and sources."""
    from warploom.runtime.mi355x import CompiledMi355x
    from warploom.targets.amdgcn import MACHINES

    machine = MACHINES.get(str(request.target))
    if machine is None:
        return None
    source = with_settings(source, request)
    named = kernel_of_spec(source, str(request.dtype or "bf16"))
    if named is None:
        return None
    made = CompiledMi355x(named.compiled.kernel, tile_extents(named, request.tile), machine)
    with working(f"compiling {named.tile_kernel.name}"):
        if folder is not None:
            table = made.dump_passes(folder)
            return Answer(lambda: table, lambda: {"folder": str(folder)}, raw=True)
        shown = made.after(after) if after else _compiled_text(made, source, details)
    return Answer(lambda: shown, lambda: {"pass": after or "sync", "text": shown}, raw=True)


def _compiled_text(made: CompiledMi355x, source: str, details: bool) -> str:
    """A kernel on an AMD chip: what was chosen, its pipelined loops entry by entry, its ops."""
    loops = [_text(Subject(spec=source, document=document), details) for document in made.documents]
    return "\n\n".join([made.listing(), *loops, str(made.simplified)])


def _as_json(part: Subject) -> dict[str, Any]:
    reasons = {f"{name}[{i}]": text for (name, i), text in part.reasons().items()}
    return {"schedule": part.to_json(), "reasons": reasons}


def _text(part: Subject, details: bool) -> str:
    """One loop: a few facts, every entry, and what its waits and barriers are."""
    entries = sections(part.document, part.reasons())
    listing = listing_text(entries, width=columns(), details=details, paint=paint)
    return "\n".join([_facts(part), "", listing, "", *_synchronisation(part)])


def _tile_kernel(found: Subject | NamedKernel, where: str) -> NamedKernel:
    kernel = found.kernel if isinstance(found, Subject) else found
    if kernel is None:
        raise ConfigError(
            "only kernels of the tile language have passes",
            where=where,
            fix=f"one of {', '.join(kernel_names())}, or file.py:kernel",
        )
    return kernel


def _after(found: Subject | NamedKernel, name: str) -> str:
    kernel = _tile_kernel(found, "--after")
    with working(f"deriving {kernel.tile_kernel.name}"):
        return kernel.after(name)


def _dumped(found: Subject | NamedKernel, folder: Path) -> str:
    kernel = _tile_kernel(found, "--dump-passes")
    with working(f"deriving {kernel.tile_kernel.name}"):
        from warploom.cli.kernels import runs_threads
        from warploom.compiler import pass_list

        config = None if runs_threads(kernel) else kernel.config
        return pass_list.dump(kernel.compiled, folder, config)


def _list() -> str:
    """Every schedule and kernel with one line about it."""
    schedules = {
        "pingpong": "8 waves in two groups that alternate between loads and MMAs",
        "fourwave": "4 waves, double buffer, every wait derived",
        "single_buffer": "one buffer, loads and MMAs separated by barriers",
    }
    rows = [(name, schedules[name]) for name in SCHEDULES]
    lines = ["counter schedules (MI355X):", *_rows(rows), "kernels (H200):"]
    kernels = [(name, described(one.kernel)) for name, one in hopper_kernels().items()]
    return "\n".join([*lines, *_rows(kernels)])


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [line for name, text in rows for line in wrapped(f"  {name:<{width}}  ", text)]


def summary(subject: Subject) -> str:
    """A few lines a loop: name and tile, order and what is proven of it, size, verdict, pace."""
    return "\n".join(_facts(part) for part in subject.loops)


def _facts(subject: Subject) -> str:
    lines = [paint(line, "title") for line in wrapped("", subject.title)]
    rows = [("order", text) for text in _order(subject)]
    sizes = ", ".join(f"{name} {len(entries)}" for name, entries in subject.phases())
    rows.append(("entries", sizes))
    rows.append(("verdict", _verdict(subject)))
    rows.append(("pace", subject.pace_text()))
    for name, text in rows:
        lines += wrapped(f"  {name:<8}", text)
    report = subject.report()
    lines += [f"    {f.code.value}: {f.why}" for f in report.findings[:3]]
    return "\n".join(lines)


def _order(subject: Subject) -> list[str]:
    """How the order was found. A makespan is of the order's cost model, never of the chip."""
    document = subject.document
    if isinstance(document, RolesDocument):
        proof = document.proof
        if proof is None:
            return []
        least = "proven least" if proof.proven else f"at least {proof.lower_bound}"
        origin = "an order on record, " if "_given" in document.name else ""
        return [
            f"{origin}at {proof.ii} in the ordering model ({least}), limited by {subject.limit}"
        ]
    compiled = subject.compiled
    if compiled is None:
        return [f"{document.strategy.lower()}, as recorded in the document"]
    return _compiled_order(compiled)


def _compiled_order(compiled: CompiledSchedule) -> list[str]:
    strategy = compiled.schedule_config.scheduling.name.lower()
    lines = [f"{strategy}, waits by {compiled.sync.name.lower()}"]
    if compiled.order is not None:
        order = compiled.order
        proof = "least" if order.proven else f"at least {order.lower_bound}"
        lines[0] += (
            f"; makespan {order.makespan} {compiled.ordered_in} cycles ({proof} for one pass of "
            f"the body), {order.vgpr_peak} registers"
        )
    if compiled.modulo is not None:
        found = compiled.modulo
        proof = "proven least" if found.proven else f"at least {found.lower_bound}"
        lines.append(
            f"interval {found.ii} {compiled.ordered_in} cycles ({proof} for the ops' prices), "
            f"limited by {found.limit}"
        )
    return lines


def _verdict(subject: Subject) -> str:
    report = subject.report()
    found = len(report.findings)
    tail = f"{found} finding(s)" if found else f"proven for {report.trips_proven} trip counts"
    kind = "good" if report.verdict == "clean" else "bad"
    return f"{paint(report.verdict, kind)}, {tail}"


def _synchronisation(subject: Subject) -> list[str]:
    lines = [paint("waits and barriers", "title")]
    document = subject.document
    if isinstance(document, RolesDocument):
        for ring in document.rings:
            parts = "+".join(p.name for p in ring.parts)
            lines.append(f"  ring {ring.name}: {ring.depth} slots of {ring.slot_bytes} B ({parts})")
        return lines
    for phase in Phase:
        c = WaitCounts.of(document.phase(phase))
        lines.append(
            f"  {phase.name.lower()}: {c.n_vm} vmcnt, {c.n_lgkm} lgkmcnt, {c.n_barrier} barriers"
        )
    vm, lgkm = document.counters.vm_per_load, document.counters.lgkm_per_load
    lines.append(f"  a load of A takes {vm[0]} vm units, of B {vm[1]}")
    lines.append(f"  a fragment read of A takes {lgkm[0]} lgkm units, of B {lgkm[1]}")
    return lines


def _legend(subject: Subject) -> str:
    return "\n".join([paint("legend", "title"), *(f"  {x}" for x in legend(subject.document))])


@with_request()
def compile_command(
    source: SpecArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the document here.")
    ] = None,
    allow_races: Annotated[
        bool, typer.Option("--allow-races", help="Write a racy schedule too; exit 1.")
    ] = False,
    mma: Annotated[
        str | None,
        typer.Option(metavar="MxNxK", help="Matrix instruction of a built-in schedule."),
    ] = None,
    *,
    request: Request,
) -> Answer:
    """Compile a schedule or kernel, prove it, and write its document.

    Exit code 0: compiled and proven. 1: it can race. 2: it cannot be compiled.

    Example: warploom compile fourwave --tile 256x256x64 -o fourwave.json
    """
    require_ending(output, ".json")
    on_race: OnRace = "report" if allow_races else "raise"
    subject = load(source, replace(request, on_race=on_race, mma=mma))
    *earlier, last = subject.loops
    files: dict[Path, str] = {}
    if output is not None:  # a document is of one loop
        files = {output.with_suffix(f".loop{x.loop}{output.suffix}"): x.text() for x in earlier}
        files[output] = last.text()
    for path, text in files.items():
        write_file(path, text)
    wrote = f"\nwrote {', '.join(map(str, files))}" if files else ""
    code = 0 if subject.report().clean else 1
    return Answer(lambda: summary(subject) + wrote, subject.text, code)
