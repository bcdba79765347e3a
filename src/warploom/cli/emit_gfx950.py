"""``warploom emit gfx950``: a schedule becomes a checked MI355X kernel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.knobs import (
    Dtype,
    DtypeOption,
    JsonOption,
    SyncOption,
    TileOption,
    sync_policy,
)
from warploom.cli.source import load_document, parse_tile
from warploom.emit.gfx950 import (
    KernelPlan,
    emit_kernel,
    estimate_loop,
    gemm_tile,
    register_truth,
    write_kernel,
)
from warploom.emit.gfx950.hip import check_hip, find_hip_compiler, hip_source
from warploom.emit.gfx950.kernels import ReadyKernel, ready_kernel
from warploom.emit.gfx950.mfma import ElementType, element_type
from warploom.errors import BackendError
from warploom.seed.compile import OnRace

SMALLER = {"single_buffer": "128x128x64"}  # default tiles other than the double-buffer kernels


def register(group: typer.Typer) -> None:
    """Add the command to the group of back ends."""
    group.command(name="gfx950")(_emit)


def _emit(
    schedule: Annotated[
        str, typer.Option(help="pingpong, fourwave, single_buffer or a document FILE.json.")
    ] = "pingpong",
    tile: TileOption = None,
    dtype: DtypeOption = Dtype.BF16,
    mma: Annotated[
        str | None, typer.Option(metavar="MxNxK", help="Matrix instruction; default by schedule.")
    ] = None,
    sync: SyncOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path(
        "kernel"
    ),
    hip: Annotated[bool, typer.Option("--hip", help="Also write the HIP C++ source.")] = False,
    races: Annotated[
        bool, typer.Option("--allow-races", help="Emit a schedule that was not proven race-free.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Emit, compile and check a kernel; write assembly, object, sidecar and schedule.

    The ISA gate must find exactly the schedule in the code, with no spills; otherwise nothing is
    written and the differences are shown.

    Example: warploom emit gfx950 --schedule pingpong --tile 256x256x64 --dtype bf16 -o out
    """
    element = element_type(dtype.value)
    shape = None if mma is None else parse_tile(mma, dtype.value)
    block = parse_tile(tile or SMALLER.get(schedule), dtype.value)
    if schedule.endswith(".json"):
        ready = _from_document(schedule, block, element, shape)
    else:
        on_race: OnRace = "skip" if races else "raise"
        ready = ready_kernel(
            schedule, block, element, mma=shape, sync=sync_policy(sync), on_race=on_race
        )
    kernel = emit_kernel(ready.document, ready.tile)
    exported = _hip(kernel.plan, ready) if hip else None
    try:
        paths = [str(p) for p in write_kernel(kernel, output)]
        if exported is not None:
            output.joinpath("kernel.hip").write_text(exported.source)
            paths.append(str(output / "kernel.hip"))
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None
    if as_json:
        report = {"files": paths, "gate": kernel.gate.to_json(), "sidecar": kernel.sidecar}
        typer.echo(json.dumps(report | ({"hip": exported.verdict} if exported else {})))
        return
    typer.echo(f"{ready.document.name}: {ready.tile.label()}")
    typer.echo(kernel.gate.text())
    typer.echo(register_truth(kernel.plan, kernel.gate.resources).text())
    typer.echo(estimate_loop(ready.tile, kernel.assembly).text())
    if exported is not None:
        typer.echo(f"HIP source: {exported.verdict}")
    typer.echo("wrote " + ", ".join(paths))


@dataclass(frozen=True, slots=True)
class _Exported:
    source: str
    verdict: str


def _hip(plan: KernelPlan, ready: ReadyKernel) -> _Exported:
    """The HIP source, and what a compiler at hand made of it."""
    source = hip_source(plan, ready.reasons)
    compiler = find_hip_compiler()
    if compiler is None:
        return _Exported(source, "not compiled, no gfx950 clang found")
    check = check_hip(plan, source, compiler)
    return _Exported(source, f"through {check.compiler}: {check.gate.text()}")


def _from_document(
    path: str,
    block: tuple[int, int, int],
    element: ElementType,
    mma: tuple[int, int, int] | None,
) -> ReadyKernel:
    document, _ = load_document(path, {})
    waves = document.protocol.groups * document.protocol.waves_per_group
    grid = (2, waves // 2) if waves % 2 == 0 else (1, waves)
    tile = gemm_tile(*block, element, mma=mma, waves=grid)
    return ReadyKernel(document=document, tile=tile, reasons=())
