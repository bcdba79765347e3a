"""``warploom emit TARGET``: one sub-command per back end."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warploom.cli.arguments import SpecArgument, complete_source
from warploom.cli.kernels import (
    NamedKernel,
    assignments,
    parse_tile,
    runs_threads,
    tile_extents,
    usual_tile,
)
from warploom.cli.knobs import Request, with_request
from warploom.cli.screen import (
    Answer,
    Command,
    one_or_all,
    spoken,
    with_options,
    working,
    write_file,
)
from warploom.cli.source import derived, kernel_of_spec, load, look_up
from warploom.cli.subject import Subject
from warploom.codegen import amdgcn as gfx950
from warploom.codegen.amdgcn.emit import ReadyKernel, ready_kernel
from warploom.codegen.amdgcn.hip import check_hip, find_hip_compiler, hip_source
from warploom.codegen.amdgcn.tile import ElementType, element_type
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.errors import BackendError, ConfigError, GeometryError
from warploom.ir import KernelShape
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.schedule_ops import OpRole, Phase
from warploom.ir.serialize import to_json
from warploom.pipeline.compile import OnRace
from warploom.pipeline.schedules.shipped import SCHEDULES
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.targets.amdgcn import MI300X, MI355X, AmdMachine

if TYPE_CHECKING:
    from warploom.runtime.mi355x import CompiledMi355x


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
    """Emit a kernel as one self-contained CUDA source, with its schedule and, if possible, a cubin.

    A cubin is kept only when ptxas kept the schedule: no spills, no serialised products.

    A folder that `show KERNEL --dump-passes DIR` wrote is a source too: emission goes on from the
    role programs there, after they are verified. So is the `module.json` in it, or any file that
    `warploom.ir.to_json` wrote: the code is that of the kernel itself.

    Example: warploom emit h200 gemm --tile 128x256x64 -o out
    """
    from warploom.compiler import module_source, pass_list

    if pass_list.is_dump(source):
        return _resumed(Path(source), output, build=build)
    if module_source.is_module(source):
        return _from_module(Path(source), output, build=build)
    found = look_up(source, request)
    if isinstance(found, NamedKernel) and runs_threads(found):
        return _threads(source, found, output, build=build)
    subject = derived(found, source)
    text = cuda_text(subject, races=races)
    _make_folder(output)
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


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None


def _resumed(folder: Path, output: Path, *, build: bool) -> Answer:
    """Emit what was dumped, from its role programs as they are there now."""
    from warploom.compiler import pass_list

    with working(f"resuming from {folder}"):
        text = pass_list.resume(folder)
    return _written(folder, text, output, build=build)


def _from_module(path: Path, output: Path, *, build: bool) -> Answer:
    """Emit a kernel module."""
    from warploom.compiler import module_source

    with working(f"verifying {path}"):
        _, text = module_source.emit_module(path.read_text())
    return _written(path, text, output, build=build)


def _threads(source: str, found: NamedKernel, output: Path, *, build: bool) -> Answer:
    """Emit a kernel whose threads run one program: there is a module and no schedule."""
    from warploom.compiler import module_source

    module = found.compiled.module
    with working(f"verifying {module.name}"):
        text = module_source.emit_verified(module)
    return _written(Path(source), text, output, build=build, module=to_json(module))


def _written(source: Path, text: str, output: Path, *, build: bool, module: str = "") -> Answer:
    """Write a source, and its cubin if one is asked for."""
    _make_folder(output)
    built: dict[str, Any] = {"compiler": None, "note": "not compiled, as asked"}
    files: dict[str, str | bytes] = {"kernel.cu": text}
    files |= {"module.json": module} if module else {}
    if build:
        built, cubin = _built(text)
        files |= {"kernel.cubin": cubin} if cubin is not None else {}
    for name, content in files.items():
        write_file(output / name, content)
    paths = [str(output / name) for name in files]
    lines = [f"{source}: {len(text.splitlines())} lines of CUDA", f"build: {_words(built)}"]
    report = {"files": paths, "build": built}
    return Answer(lambda: "\n".join([*lines, "wrote " + ", ".join(paths)]), lambda: report)


def _for_h100() -> Command:
    """``emit h100``: the command for the H200 with the other target unless one is named."""
    own = inspect.signature(emit_h200_command)

    def call(values: dict[str, Any]) -> Any:  # noqa: ANN401 (what the command answers)
        return emit_h200_command(**(values | {"target": values.get("target") or "h100"}))

    return with_options(emit_h200_command, list(own.parameters.values()), call)


def cuda_text(subject: Subject, *, races: bool = False) -> str:
    """The CUDA source of a subject that is a Hopper kernel; anything else says what it is."""
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
    from warploom.compiler.cubin import compile_source, find_toolchain

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


FOLDER = Path("kernel")


@with_request(without=("target", "set", "knobs"))
def emit_gfx950_command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="pingpong, fourwave, single_buffer, gemm, attention, file.py:object, FILE.json, -",
            show_default="pingpong",
            autocompletion=complete_source,
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="The schedule of a tile kernel's loop.", show_default="fourwave"),
    ] = None,
    mma: Annotated[str | None, typer.Option(metavar="MxNxK", help="Matrix instruction.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = FOLDER,
    hip: Annotated[bool, typer.Option("--hip", help="Also write the HIP C++ source.")] = False,
    choose: Annotated[
        list[str] | None, typer.Option("--set", "--choose", help="A choice, as causal=true.")
    ] = None,
    races: Annotated[bool, typer.Option("--allow-races", help="Emit unproven ones too.")] = False,
    *,
    request: Request,
) -> Answer:
    """Emit, compile and check a kernel; write assembly, object, sidecar and schedule.

    The ISA gate must find exactly the schedule in the code, with no spills; otherwise nothing is
    written and the differences are shown. The loops of a tile kernel (gemm, attention,
    file.py:kernel) are scheduled by themselves; one that is a product with a pointwise tail takes
    the loop of --schedule instead, where one is named. A loop that cannot be pipelined stays a
    plain one, which the answer says. A folder that `show KERNEL --target mi355x --dump-passes DIR`
    wrote is a source too: emission goes on from the schedules there, after they are verified. So
    is a `module.json`, whose program of the waves is verified and printed as it is.

    Example: warploom emit gfx950 pingpong --tile 256x256x64 --dtype bf16 -o out
    """
    if source is not None and os.path.isfile(Path(source, "passes.json")):  # dumped, of some target
        from warploom.compiler import amd_pass_list
        from warploom.runtime.mi355x import CompiledMi355x

        if amd_pass_list.is_dump(source):
            with working(f"resuming from {source}"):
                made = CompiledMi355x.resumed(source)
            return _emit_compiled(made, source, str(request.dtype or "bf16"), output)
    if source is not None and source.endswith(".json"):
        from warploom.compiler import module_source

        if module_source.is_module(source):
            return _wave_module(Path(source), output)
    spec = asked = source if source is not None else schedule or "pingpong"
    kind = str(request.dtype or "bf16")
    named = _named(spec, kind, choose)
    wanted = {"--schedule": schedule, "--mma": mma, "--sync": request.sync, "--hip": hip}
    if named is not None and not any(wanted.values()):
        return emit_tile_kernel(named, spec, request.tile, output)
    text = None if named is None else gemm_tile_kernel(named.compiled.kernel)
    spec = (schedule or "fourwave") if text else spec
    block = parse_tile(request.tile, kind, usual_tile(spec, kind))
    said = request.tile is not None
    ready = _ready(
        spec, block, kind, mma, request.sync, races=races, said=said, typed=bool(request.dtype)
    )
    tile = ready.tile
    kind = tile.mfma.element.value
    block = (tile.block_m, tile.block_n, tile.block_k)
    subject = Subject(spec=spec, document=ready.document, tile=block, dtype=kind)
    with working(f"emitting {subject.name}"):
        kernel = gfx950.emit_kernel(
            ready.document, tile, text=text, ragged_k=text is not None, to_object=True
        )
    if named is not None:
        kernel = replace(kernel, sidecar=kernel.sidecar | {"text": _source(named, asked)})
    truth = gfx950.register_truth(kernel.plan, kernel.gate.resources).text()
    lines = [truth, gfx950.estimate_loop(tile, kernel.assembly).text()]
    source, verdict = _hip(kernel.plan, ready) if hip else ("", "")
    lines += [f"HIP source: {verdict}"] if hip else []
    head = f"{subject.name}: {tile.label()}, scheduled for {ready.document.target}"
    answer = emitted(subject, kernel, output, [head, *lines], {"kernel.hip": source} if hip else {})
    return replace(answer, data=lambda: answer.data() | {"hip": verdict}) if hip else answer


@with_request(without=("target", "sync", "set", "knobs"))
def emit_gfx942_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="KERNEL",
            help="A tile kernel by name, or file.py:kernel.",
            autocompletion=complete_source,
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = FOLDER,
    choose: Annotated[
        list[str] | None, typer.Option("--set", "--choose", help="A choice, as causal=true.")
    ] = None,
    *,
    request: Request,
) -> Answer:
    """Compile a tile kernel for MI300X; write assembly, object, sidecar and a host program.

    Example: warploom emit gfx942 swiglu --tile 64x32x32 -o out
    """
    named = _named(source, str(request.dtype or "bf16"), choose)
    if named is None:
        raise ConfigError(
            f"{source} is no tile kernel",
            where="emit gfx942",
            why="the shipped schedules load 16 bytes a lane straight to LDS, which gfx942 cannot",
            fix="a tile kernel, or warploom emit gfx950",
        )
    return emit_tile_kernel(named, source, request.tile, output, MI300X)


def emit_tile_kernel(
    kernel: NamedKernel, spec: str, tile: str | None, output: Path, machine: AmdMachine = MI355X
) -> Answer:
    """Compile a kernel, prove the schedules of its loops, and write it."""
    from warploom.runtime.mi355x import CompiledMi355x

    made = CompiledMi355x(kernel.compiled.kernel, tile_extents(kernel, tile), machine)
    with working(f"compiling {kernel.tile_kernel.name}"):
        made.listing()
    made.sidecar["text"] = _source(kernel, spec)
    return _emit_compiled(made, spec, kernel.dtype, output)


def _emit_compiled(made: CompiledMi355x, spec: str, dtype: str, output: Path) -> Answer:
    """Write a compiled kernel whose schedules are proven."""
    listing = made.listing()
    subjects = [Subject(spec=spec, document=d, dtype=dtype) for d in made.documents]
    for subject in subjects:
        subject.require_proof("")
    try:
        paths = [str(p) for p in made.write(output)]
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None
    gate, paces = made.program.gate, [subject.pace() for subject in subjects]
    data = {
        "files": paths,
        "sidecar": made.sidecar,
        "gate": gate.to_json() if gate else None,
        "pace": [pace.to_json() for pace in paces if pace],
        "not_pipelined": list(made.program.not_pipelined),
    }
    proven = [f"{subject.name}: proven" for subject in subjects]
    lines = [listing, *proven, "wrote " + ", ".join(paths)]
    return Answer(lambda: "\n".join(lines), lambda: data)


def _wave_module(path: Path, output: Path) -> Answer:
    """Emit a module as it is."""
    from warploom.codegen.amdgcn.toolchain import find_linker, link_code_object
    from warploom.compiler import module_source
    from warploom.ir.wave_documents import wave_documents
    from warploom.runtime.mi355x import write_code

    with working(f"verifying {path}"):
        code = module_source.emit_waves(path.read_text())
    linked = link_code_object(code.object()) if find_linker() is not None else None
    try:
        paths = write_code(code, wave_documents(code.module), output, linked)
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None
    files = [str(p) for p in paths]
    gate = code.gate
    data = {
        "files": files,
        "sidecar": code.sidecar(),
        "gate": gate.to_json() if gate else None,
        "not_pipelined": list(code.program.plain),
    }
    lines = [f"{code.module.name} for {code.module.target}: {code.schedule}", "verified as it is"]
    lines += [f"code against steps: {gate.text()}"] if gate else []
    lines.append("wrote " + ", ".join(files))
    return Answer(lambda: "\n".join(lines), lambda: data)


def _source(kernel: NamedKernel, spec: str) -> dict[str, Any]:
    """Which tile kernel an emitted one was made from, for its sidecar."""
    return {"spec": spec, "dtype": kernel.dtype, "choices": dict(kernel.choices)}


def emitted(
    subject: Subject,
    kernel: gfx950.EmittedKernel[Any],
    output: Path,
    lines: list[str],
    more: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    """Write a kernel's files, and say what came out."""
    try:
        paths = [str(p) for p in gfx950.write_kernel(kernel, output)]
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None
    for name, text in more.items():
        write_file(output / name, text)
        paths.append(str(output / name))
    head, *rest = lines
    shown = [head, f"pace: {subject.pace_text()}", kernel.gate.text(), *rest]
    pace = subject.pace()
    data = {
        "files": paths,
        "gate": kernel.gate.to_json(),
        "sidecar": kernel.sidecar,
        "pace": pace.to_json() if pace else None,
    }
    return Answer(lambda: "\n".join([*shown, "wrote " + ", ".join(paths)]), lambda: data)


def _ready(
    spec: str,
    block: tuple[int, int, int],
    kind: str,
    mma: str | None,
    sync: SyncPolicy | None,
    *,
    races: bool,
    said: bool,
    typed: bool,
) -> ReadyKernel:
    """The schedule a spec names, for a tile; ``said``, ``typed``: the tile and its type are the
    caller's.
    """
    element = element_type(kind)
    shape = None if mma is None else parse_tile(mma, kind)
    if spec not in SCHEDULES:
        return _from_source(spec, block, element, shape, races=races, said=said, typed=typed)
    on_race: OnRace = "skip" if races else "raise"
    return ready_kernel(spec, block, element, mma=shape, sync=sync, on_race=on_race)


def _named(spec: str, dtype: str, choose: list[str] | None) -> NamedKernel | None:
    """The tile kernel a spec names, with its choices."""
    kernel = kernel_of_spec(spec, dtype)
    chosen = assignments(choose or (), "--set")
    if chosen and kernel is None:
        raise ConfigError(f"{spec} is no tile kernel", where="--set", fix="leave it out")
    return replace(kernel, choices=tuple(chosen.items())) if kernel and chosen else kernel


def _hip(plan: gfx950.KernelPlan, ready: ReadyKernel) -> tuple[str, str]:
    """The HIP source, and what a compiler at hand made of it."""
    source, compiler = hip_source(plan, ready.reasons), find_hip_compiler()
    if compiler is None:
        return source, "not compiled, no gfx950 clang found"
    check = check_hip(plan, source, compiler)
    return source, f"through {check.compiler}: {check.gate.text()}"


def _from_source(
    spec: str,
    block: tuple[int, int, int],
    element: ElementType,
    mma: tuple[int, int, int] | None,
    *,
    races: bool,
    said: bool,
    typed: bool,
) -> ReadyKernel:
    """A document or an author's schedule, with its own tile and element type by default."""
    subject = load(spec)
    if isinstance(subject.document, RolesDocument):
        raise BackendError(
            f"{subject.name} is a program of Hopper roles",
            where=spec,
            why="gfx950 has waves with counters, no mbarriers",
            fix=f"warploom emit h200 {spec}",
        )
    if not races:
        mend = f"warploom repair {spec} -o clean.json"
        subject.require_proof(f"{mend}, or --allow-races to emit it all the same")
    document = subject.document
    waves = document.protocol.groups * document.protocol.waves_per_group
    grid = (2, waves // 2) if waves % 2 == 0 else (1, waves)
    own = document.shape
    if own is None and not said and any(e.op.role is OpRole.SHARED_STORE for e in document.kernel):
        block = usual_tile("single_buffer", element.value) or block
    if own is not None:
        element = _element_of(own, element, typed, spec)
    if own is not None and (not said or own.tile == block):
        block, mma = own.tile, mma or own.mma
    tile = gfx950.gemm_tile(*block, element, mma=mma, waves=grid)
    reasons = tuple((Phase[name.upper()], i, text) for (name, i), text in subject.reasons().items())
    return ReadyKernel(document=document, tile=tile, reasons=reasons)


def _element_of(own: KernelShape, asked: ElementType, typed: bool, spec: str) -> ElementType:
    """The element type of a schedule's own shape; what the caller names must have its size."""
    known = {t.value: t for t in ElementType}
    if own.dtype not in known:  # "16-bit": bf16, or fp16 where the caller says so
        same = asked.bits == 16 or own.dtype != "16-bit"
    else:
        same = asked is known[own.dtype] or not typed
        asked = known[own.dtype]
    if not same:
        raise GeometryError(
            f"the schedule is for {own.dtype} elements",
            where=spec,
            why="its waits count the loads of such tiles",
            fix="leave --dtype out, or compile the schedule anew with it",
        )
    return asked


group = typer.Typer(
    name="emit",
    help="Emit a kernel for a target.",
    short_help="A kernel for a target",
    no_args_is_help=True,
)
group.command("gfx950", short_help="A checked MI355X kernel")(spoken(emit_gfx950_command))
group.command("gfx942", short_help="A tile kernel for MI300X")(spoken(emit_gfx942_command))
group.command("h100", short_help="The same for the H100")(spoken(_for_h100()))
group.command("h200", short_help="A Hopper kernel: CUDA source, cubin")(spoken(emit_h200_command))
