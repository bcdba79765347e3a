"""``warploom check``: machine code of any compiler, or of a kernel of ours, without a GPU."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from warploom.axioms import parse_axiom, resolve
from warploom.check.api import KINDS, check, read_source
from warploom.check.formats import decode, encode
from warploom.check.launch import Launch
from warploom.cli.arguments import complete_source
from warploom.cli.author import user_object
from warploom.cli.kernels import NamedKernel
from warploom.cli.knobs import Request, SetOption
from warploom.cli.problem import Problem, axes_of, distance, in_rows, make_problem
from warploom.cli.screen import JsonOption, say, working, write
from warploom.cli.source import look_up
from warploom.compiler.check_launch import launch_of
from warploom.errors import BackendError, CheckError, ConfigError, WarploomError
from warploom.ir.tile import Access, DType, Walk
from warploom.report import CodeFinding, CodeReport, Verdict, exit_code

STEPS = 5  # of every loop in a launch that is chosen here: past the period of usual rings


class Form(StrEnum):
    """How reports are written."""

    TEXT = "text"
    JSON = "json"


def check_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="PTX (.ptx), AMDGCN (.s, .amdgcn), kernels, file.py:kernel.",
            autocompletion=complete_source,
        ),
    ],
    launch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The launch: grid, block, parameters (JSON)."),
    ] = None,
    entry: Annotated[str, typer.Option(metavar="NAME", help="The entry point.")] = "",
    sizes: Annotated[
        str | None, typer.Option(metavar="m=..,n=..", help="Sizes of a kernel's axes.")
    ] = None,
    axiom: Annotated[
        list[str], typer.Option(metavar="NAME=on|off", help="Set an axiom; repeatable.")
    ] = [],  # noqa: B006 (typer's own way)
    against: Annotated[
        str | None,
        typer.Option(metavar="file.py:function", help="Compare outputs with this function."),
    ] = None,
    repaired: Annotated[
        Path | None,
        typer.Option(
            "--repair",
            metavar="FILE",
            help="Write the file with the fewest waits, barriers and fences that make it clean.",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="CHIP", help="Of kernels, the machine code for mi355x or mi300x."),
    ] = None,
    setting: SetOption = [],  # noqa: B006 (typer's own way)
    form: Annotated[
        Form, typer.Option("--format", help="text, or json: one report a line.")
    ] = Form.TEXT,
    as_json: JsonOption = False,
) -> None:
    """Check machine code for races, deadlocks and broken rules, for every timing of a launch.

    Exit code 0: clean. 1: findings. 2: something is unsupported or cannot be read.

    Example: warploom check kernel.ptx --launch launch.json
    """
    form = Form.JSON if as_json else form
    reports = []
    try:
        axioms = dict(parse_axiom(a) for a in axiom)
    except CheckError as error:
        raise typer.BadParameter(str(error), param_hint="--axiom") from None
    function = user_object(against) if against else None
    for file in files:
        with working(f"checking {file}"):
            reports += _reports(file, launch, entry, sizes, axioms, function, setting, on)
    for report in reports:
        if form is Form.JSON:
            write(json.dumps(report.to_json()))
        else:
            say(_printable(report.text()))
    if repaired is not None:
        say(_repair(files, launch, axioms, entry, repaired))
    raise typer.Exit(exit_code(reports))


def _repair(
    files: list[str], launch: Path | None, axioms: Mapping[str, bool], entry: str, to: Path
) -> str:
    """Write the repaired file and say what was inserted; the exit code stays that of the file."""
    from warploom.check.amdgcn.repair import repair
    from warploom.check.ptx.repair import repair_ptx

    if len(files) != 1 or Path(files[0]).suffix.lower() not in KINDS or launch is None:
        raise typer.BadParameter("takes one .ptx or .s file and --launch", param_hint="--repair")
    nothing = "repair: no few insertions of waits, barriers or fences make it clean"
    try:
        made = Launch.read(launch)
        made = replace(made, entry=entry) if entry else made
        text, name = read_source(Path(files[0])), files[0]
        if Path(files[0]).suffix.lower() == ".ptx":
            fixed = repair_ptx(text, made, axioms=resolve(axioms), file=name)
            if fixed is None:
                return nothing
            repaired, report, insertions = fixed.text, fixed.report, fixed.insertions
        else:
            found = repair(text, made, axioms=dict(resolve(axioms)))
            if not found.clean:
                return nothing
            repaired, report, insertions = found.text, found.report, found.inserted
        to.write_text(repaired)
    except (WarploomError, OSError) as error:
        return f"repair: {error}"
    lines = [f"repair: line {at}: {what.strip()}" for at, what in insertions]
    return "\n".join([*lines, f"repair: {to}: {report.verdict.value}"])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _reports(
    file: str,
    launch: Path | None,
    entry: str,
    sizes: str | None,
    axioms: Mapping[str, bool],
    against: Callable[..., Any] | None,
    settings: list[str],
    chip: str | None,
) -> list[CodeReport]:
    if Path(file).suffix.lower() in KINDS or launch is not None:
        return [check(Path(file), launch, against=against, axioms=axioms, entry=entry)]
    try:
        if chip is not None:
            return check_on_chip(file, sizes, settings, axioms, chip)
        found = look_up(file, Request())
        if not isinstance(found, NamedKernel):
            if found.kernel is None:
                raise ConfigError(f"{file} is no kernel", fix="a .ptx or .s file, or a tile kernel")
            found = found.kernel
        return check_kernel(found, file, sizes, settings, axioms)
    except WarploomError as error:
        return [CodeReport(file=file, error=str(error))]


def check_kernel(
    kernel: NamedKernel,
    name: str,
    sizes: str | None,
    settings: list[str],
    axioms: Mapping[str, bool],
) -> list[CodeReport]:
    """Our own kernel: compiled, and its PTX checked and compared with its reference."""
    if sizes is not None:
        problem = make_problem(kernel, sizes, settings, timed=False)
        return [_check_problem(problem, name, axioms)]
    reports = []
    for members in _family(kernel):
        for i, member in enumerate(members):
            try:
                problem = make_problem(kernel, member, settings, timed=False)
                reports.append(_check_problem(problem, name, axioms))
                break
            except BackendError:  # rows that no tensor map can describe
                if i == len(members) - 1:
                    raise
    return reports


def check_on_chip(
    source: str, sizes: str | None, settings: list[str], axioms: Mapping[str, bool], chip: str
) -> list[CodeReport]:
    """Our own kernel for an AMD chip: its machine code checked, its results the reference's.

    Rows at multiples of 16 bytes take the pipelined loops, odd ones the plain loops.
    """
    from warploom.check.amdgcn import check_amdgcn
    from warploom.cli.run import for_chip
    from warploom.codegen.amdgcn.tile_ir.execute import launch_of as amd_launch
    from warploom.codegen.amdgcn.tile_ir.trial import PADDING, compare

    _, made, case = for_chip(source, Request(), sizes, settings, chip)
    kernel = made.simplified
    zeros = {t.name: np.zeros(1) for t in kernel.tensors if t.access is Access.OUT}
    reports = []
    for padding in reversed(PADDING):
        launch = amd_launch(
            made.sidecar, case.inputs, case.scalars, sizes=case.sizes, initial=zeros,
            padding=padding,
        )  # fmt: skip
        if launch is None:
            raise ConfigError("a launch without tiles", where="--sizes", fix="one at least")
        report = check_amdgcn(made.assembly, launch, axioms=resolve(axioms), file=source)
        wrong = []
        if report.verdict is Verdict.CLEAN:
            errors = compare(kernel, made.assembly, made.sidecar, case, padding=padding)
            wrong = [
                CodeFinding(
                    kind=Verdict.WRONG, code="WRONG",
                    why=f"an error of {error:.2e} against the kernel's reference; {allowed:.2e} is "
                    "allowed",
                )
                for error, allowed in errors
                if not error <= allowed
            ]  # fmt: skip
        reports.append(replace(report, findings=(*report.findings, *wrong)))
    return reports


def _family(kernel: NamedKernel) -> list[list[str]]:
    """Sizes that fill one tile with several steps, and sizes with ragged ends and few steps.

    Each member of the family with others in its place, where tensors cannot have such rows.
    """
    made = kernel.compiled
    extents = dict(made.config.tile)
    walked: dict[str, tuple[int, Walk]] = {}
    for v in made.rewritten.vars:
        if v.walk in (Walk.TILE, Walk.STEP):
            walked[v.axis] = (extents.get(v.name, 1), v.walk)
    whole = kernel.whole_sizes(axes_of(kernel))
    least = min((t.bits for t in kernel.types.values()), default=16)
    rest = max(8, 128 // max(least, 4))  # rows stay multiples of 16 bytes
    known = {v.axis for v in made.rewritten.vars if v.walk is Walk.WHOLE}

    def member(tiles: int, steps: int, more: int) -> str:
        found = {}
        for axis in axes_of(kernel):
            extent, walk = walked.get(axis, (0, Walk.UNIT))
            if not extent:
                found[axis] = whole[axis] if axis in dict(kernel.whole) else 1
            else:
                found[axis] = extent * (steps if walk is Walk.STEP else tiles) + more
        return ",".join(f"{a}={n}" for a, n in found.items() if a not in known)

    return [
        [member(1, STEPS, 0)],
        [member(1, 2, rest), member(1, 2, 2 * rest), member(2, 4, 0)],
    ]


def _check_problem(problem: Problem, name: str, axioms: Mapping[str, bool]) -> CodeReport:
    made = problem.kernel.compiled
    contents = {}
    for tensor in problem.whole_numbers:
        if problem.types.get(tensor) is DType.I32:
            values = np.asarray(problem.whole_number_input(tensor))
            contents[tensor] = encode(values, "i32")
    launch = launch_of(made, problem.sizes, scalars=problem.scalars, contents=contents)
    zeros = {
        t: replace(launch.tensors[t], shape=problem.allocated(t), role="inout", init="zero")
        for t in problem.added
    }
    launch = replace(launch, tensors={**launch.tensors, **zeros})
    outputs: dict[str, Any] = {}
    report = check(made.ptx_with_lines, launch, axioms=axioms, outputs=outputs)
    report = replace(report, file=name)
    if report.verdict is not Verdict.CLEAN:
        return report
    return compared(problem, launch, outputs, report)


def compared(
    problem: Problem, launch: Launch, outputs: Mapping[str, Any], report: CodeReport
) -> CodeReport:
    """The report, with a finding where outputs are not the reference's."""
    inputs = {t.name for t in problem.kernel.tile_kernel.signature.inputs}
    before = launch.initial(0)
    arrays = {
        n: decode(before[n], t.dtype).reshape(t.shape)
        for n, t in launch.tensors.items()
        if n in inputs
    }
    expected = problem.meaning(arrays)
    names = [
        t.name for t in problem.kernel.tile_kernel.signature.outputs if t.name in problem.types
    ]
    found = []
    for n, want in zip(names, expected, strict=True):
        have = np.asarray(outputs[n], np.float64)
        if n in problem.blocked:
            have = in_rows(have)[..., : np.shape(want)[-2], :]
        error = distance(have, np.asarray(want, np.float64))
        if error > problem.limit(n):
            found.append(
                CodeFinding(
                    kind=Verdict.WRONG,
                    code="WRONG",
                    why=(
                        f"{n} has a relative error of {error:.2e} against the kernel's "
                        "reference; the "
                        f"limit is {problem.limit(n):.0e}"
                    ),
                )
            )
    return replace(report, findings=(*report.findings, *found))
