"""``warploom emit TARGET``: one sub-command per back end; here that of Hopper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.cli.emit_gfx950 import emit_gfx950_command
from warploom.cli.knobs import Request, SpecArgument, with_request
from warploom.cli.screen import Answer, one_or_all, spoken, working, write_file
from warploom.cli.source import load
from warploom.cli.subject import Subject
from warploom.document.roles import RolesDocument
from warploom.errors import BackendError
from warploom.launch.build import compile_source, find_toolchain


@with_request(without=("sync", "knobs"))
def emit_h200_command(
    source: SpecArgument = "gemm",
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path(
        "kernel"
    ),
    build: Annotated[
        bool, typer.Option("--build/--no-build", help="Compile it where nvcc or NVRTC is.")
    ] = True,
    races: Annotated[
        bool, typer.Option("--allow-races", help="Emit programs that were not proven race-free.")
    ] = False,
    *,
    request: Request,
) -> Answer:
    """Emit a kernel as one self-contained CUDA text, with its schedule and, if possible, its cubin.

    A cubin is kept only when ptxas kept the schedule: no spills, no serialised products.

    Example: warploom emit h200 gemm --tile 128x256x64 -o out
    """
    subject = load(source, request)
    text = cuda_text(subject, races=races)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None
    *earlier, last = subject.loops
    files: dict[str, str | bytes] = {"kernel.cu": text, "kernel.schedule.json": last.text()}
    files |= {f"kernel.loop{part.loop}.schedule.json": part.text() for part in earlier}
    built: dict[str, Any] = {"compiler": None, "note": "not compiled, as asked"}
    if build:
        built, cubin = _built(text)
        files |= {"kernel.cubin": cubin} if cubin is not None else {}
    for name, content in files.items():
        write_file(output / name, content)
    paths = [str(output / name) for name in files]
    paces = [part.pace() for part in subject.loops]
    report = {
        "name": subject.name,
        "target": subject.document.target,
        "files": paths,
        "pace": one_or_all([pace.to_json() if pace else None for pace in paces]),
        "build": built,
    }
    lines = [f"{subject.title}: {len(text.splitlines())} lines of CUDA"]
    for part in subject.loops:
        lines.append(f"pace{f' of loop {part.loop}' if part.loop else ''}: {part.pace_text()}")
    lines += [f"build: {_words(built)}", "wrote " + ", ".join(paths)]
    return Answer(lambda: "\n".join(lines), lambda: report)


def cuda_text(subject: Subject, *, races: bool = False) -> str:
    """The CUDA text of a subject that is a Hopper kernel; anything else says what it is."""
    if not isinstance(subject.document, RolesDocument):
        raise BackendError(
            f"{subject.name} is no Hopper kernel",
            where=subject.spec,
            why="it is a counter schedule",
            fix=f"warploom emit gfx950 {subject.spec}; `warploom show --list` names kernels",
        )
    if subject.kernel is None:
        raise BackendError(
            f"{subject.name} is a document of no shipped kernel",
            where=subject.spec,
            why="a document says when ops run, not what they compute",
            fix="emit the kernel itself: warploom emit h200 file.py:kernel",
        )
    if not races:
        subject.require_proof("warploom repair, or --allow-races to emit it all the same")
    return subject.kernel.source(subject.document)


def _built(text: str) -> tuple[dict[str, Any], bytes | None]:
    try:
        compiler = find_toolchain()
    except BackendError as error:
        return {"compiler": None, "note": f"not compiled: {error.what}"}, None
    with working("compiling CUDA"):
        cubin = compile_source(text)
    report = cubin.report
    facts = {
        "compiler": compiler,
        "registers": report.registers,
        "spilled": report.spill_bytes,
    }
    return facts, cubin.data


def _words(built: dict[str, Any]) -> str:
    if built["compiler"] is None:
        return str(built["note"])
    return (
        f"{built['compiler']} kept the schedule: {built['registers']} registers at entry, "
        f"{built['spilled']} bytes spilled"
    )


group = typer.Typer(
    name="emit",
    help="Emit a kernel for a target.",
    short_help="A kernel for a target",
    no_args_is_help=True,
)
group.command("gfx950", short_help="A checked MI355X kernel")(spoken(emit_gfx950_command))
group.command("h200", short_help="A Hopper kernel: CUDA text, cubin")(spoken(emit_h200_command))
