"""``warploom run`` and ``bench``: execute, compare with what it should give, and time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from warploom.cli import gpu
from warploom.cli.arguments import SpecArgument
from warploom.cli.author import user_object
from warploom.cli.kernels import NamedKernel, tile_extents
from warploom.cli.knobs import Request, SetOption, ShapeOption, with_request
from warploom.cli.problem import INTERPRETED, Problem, distance, make_problem
from warploom.cli.screen import Answer, paint, working, wrapped, write_file
from warploom.cli.source import derived, kernel_of_spec, look_up
from warploom.cli.subject import Subject
from warploom.errors import BackendError, ConfigError, InterpreterError
from warploom.frontend.tile_kernel import TileKernel
from warploom.interp.arithmetic import round_to
from warploom.interp.executor import Early, Late, Random, Timing, execute
from warploom.interp.executor.roles import first_fault
from warploom.ir.mbarrier_dialect import RolesDocument

if TYPE_CHECKING:
    from warploom.codegen.amdgcn.tile_ir.trial import Case
    from warploom.runtime.mi355x import CompiledMi355x

TRIPS = 3


@with_request(without=("target", "set"))
def run_command(
    source: SpecArgument,
    shape: ShapeOption = None,
    setting: SetOption = [],  # noqa: B006 (typer's own way)
    host: Annotated[
        bool, typer.Option("--host", help="Run on the CPU, also where a GPU is.")
    ] = False,
    stamps: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write clocks of the loop's entries here (needs a GPU)."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=1000, help="Random timings on the CPU.")] = 8,
    on: Annotated[
        str | None,
        typer.Option(metavar="CHIP", help="The machine code for mi355x or mi300x."),
    ] = None,
    *,
    request: Request,
) -> Answer:
    """Run on the GPU at hand against NumPy; without one, on the CPU under many timings.

    Without a GPU a kernel's module is executed by the interpreter and compared with NumPy; the
    programs of a document are executed without a kernel, by the numeric executor. Inputs are made
    from the kernel's signature. --stamps writes what `timeline --stamps` draws over
    its prediction. --on runs the code for an AMD chip: through HIP where a device is, else from its
    machine code on the CPU, for every timing. Exit code 0: right. 1: wrong under some timing, or
    beyond the error limit.

    Example: warploom run swiglu --shape 512x1024x256
    """
    if on is not None:
        return _on_chip(source, request, shape, setting, on, host=host)
    found = look_up(source, request)
    missing = "asked for" if host else why_host(found)
    if stamps is not None and missing:
        raise BackendError(
            f"no clocks without a Hopper GPU: {missing}",
            where="--stamps",
            fix="use a machine with an H100 or H200",
        )
    if missing:
        if isinstance(found, NamedKernel):
            problem = make_problem(found, shape, setting, timed=False, usual=INTERPRETED)
            result = _interpreted(problem, runs)
        else:
            result = on_host(derived(found, source), runs)
    else:
        problem, document = ready(found, shape, setting, timed=stamps is not None)
        result = _on_gpu(gpu.Bound(problem, document), stamps)
    result |= {"why_not_gpu": missing or None}
    return Answer(lambda: _text(result), lambda: result, 0 if result["right"] else 1)


def for_chip(
    source: str, request: Request, shape: str | None, settings: Sequence[str], chip: str
) -> tuple[NamedKernel, CompiledMi355x, Case]:
    """A tile kernel compiled for an AMD chip, and random inputs of the sizes that are said."""
    from warploom.codegen.amdgcn.tile_ir.trial import random_case
    from warploom.runtime.mi355x import CompiledMi355x
    from warploom.targets.amdgcn import MACHINES

    named = kernel_of_spec(source, str(request.dtype or "bf16"))
    if named is None or chip not in MACHINES:
        what = f"{source} is no tile kernel" if named is None else f"no chip {chip!r}"
        raise ConfigError(what, where="--on", fix=f"a tile kernel on {' or '.join(MACHINES)}")
    sizes: dict[str, int] = {}
    scalars: dict[str, Any] = {}
    if shape or settings:
        problem = make_problem(named, shape, settings, timed=False)
        named, sizes, scalars = problem.kernel, dict(problem.sizes), dict(problem.scalars)
    kernel = named.compiled.kernel
    made = CompiledMi355x(kernel, tile_extents(named, request.tile), MACHINES[chip])
    with working(f"compiling {named.tile_kernel.name}"):
        kernel = made.simplified
        axes = {a.name for t in kernel.tensors for a in t.axes}
        case = random_case(kernel, made.sidecar, {n: s for n, s in sizes.items() if n in axes})
    given = {n: v for n, v in scalars.items() if n in case.scalars}
    return named, made, replace(case, scalars=case.scalars | given)


def _on_chip(
    source: str,
    request: Request,
    shape: str | None,
    settings: Sequence[str],
    chip: str,
    *,
    host: bool,
) -> Answer:
    """The code of a tile kernel for an AMD chip: launched through HIP, or executed on the CPU."""
    from warploom.codegen.amdgcn.tile_ir.execute import ExecutionError
    from warploom.codegen.amdgcn.tile_ir.trial import PADDING, compare
    from warploom.runtime.rocm import OnChip, why_no_rocm

    named, made, case = for_chip(source, request, shape, settings, chip)
    missing = "asked for" if host else why_no_rocm()
    words = ", ".join(f"{n}={s}" for n, s in case.sizes.items())
    where = f"machine code for {made.machine.cpu} on the host, every timing: {words}"
    rows: list[dict[str, Any]] = []
    if not missing:
        with working(f"running {named.tile_kernel.name}"), OnChip(made, case) as bound:
            errors = bound.errors()
        where = f"{made.machine.cpu} through HIP: {words}"
        right, worst = all(e <= a for e, a in errors), max(e for e, _ in errors)
        rows.append({"timing": "as it came", "right": right, "note": f"{worst:.2e}"})
    with working(f"executing {named.tile_kernel.name}"):
        kernel = made.simplified
        # Rows at multiples of 16 bytes take the pipelined loops, odd ones the plain loops.
        odd, whole = PADDING
        ways = (("forward", whole), ("reverse", odd), ("random", whole)) if missing else ()
        for order, padding in ways:
            name = f"waves {order}"
            try:
                errors = compare(
                    kernel, made.assembly, made.sidecar, case, order=order, padding=padding
                )
            except ExecutionError as fault:
                rows.append({"timing": name, "right": False, "note": str(fault)})
                continue
            right = all(e <= a for e, a in errors)
            worst = max(e for e, _ in errors)
            rows.append({"timing": name, "right": right, "note": f"{worst:.2e}"})
    result = {
        "name": named.tile_kernel.name,
        "where": where,
        "right": all(r["right"] for r in rows),
        "runs": rows,
        "why_not_gpu": missing or None,
    }
    return Answer(lambda: _text(result), lambda: result, 0 if result["right"] else 1)


def why_host(found: Subject | NamedKernel) -> str:
    """Why something cannot run on a GPU here; empty where it can."""
    if isinstance(found, Subject) and found.kernel is None:
        if found.is_roles:
            return (
                f"{found.name} is a document of no shipped kernel; run its source: file.py:kernel"
            )
        return f"{found.document.target} code does not run on a Hopper GPU"
    return gpu.why_no_gpu()


def ready(
    found: Subject | NamedKernel, shape: str | None, settings: Sequence[str], *, timed: bool
) -> tuple[Problem, RolesDocument | None]:
    """The problem of what was found, and the document whose own programs are to run."""
    if isinstance(found, NamedKernel):
        return make_problem(found, shape, settings, timed=timed), None
    assert found.kernel is not None
    assert isinstance(found.document, RolesDocument)
    fix = "warploom repair, or --host to run it on the CPU"
    found.require_proof(fix, why="it could hang the GPU")
    return make_problem(found.kernel, shape, settings, timed=timed), found.document


def _on_gpu(bound: gpu.Bound, stamps: Path | None) -> dict[str, Any]:
    problem = bound.problem
    errors, same = bound.check()
    rows = [
        {
            "timing": f"error of {name}",
            "right": error <= problem.limit(name),
            "note": f"{error:.2e}, limit {problem.limit(name):.0e}",
        }
        for name, error in errors.items()
    ]
    if not problem.added:
        note = "bitwise equal" if same else "differs"
        rows.append({"timing": "run again", "right": same, "note": note})
    if stamps is not None:
        data = bound.stamps()
        write_file(stamps, json.dumps(data))
        with_them, without = data["milliseconds_stamped"], data["milliseconds"]
        note = f"{stamps}; {with_them / without - 1:+.1%} time with clocks"
        rows.append({"timing": "clocks", "right": True, "note": note})
    return {
        "name": problem.kernel.tile_kernel.name if bound.document is None else bound.document.name,
        "where": f"GPU, {problem.words}",
        "right": all(r["right"] for r in rows),
        "runs": rows,
    }


def _interpreted(problem: Problem, runs: int) -> dict[str, Any]:
    """The kernel's module executed on the CPU, under several timings, against NumPy."""
    tile_kernel, rng = problem.kernel.pinned, np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    for t in tile_kernel.signature.inputs:
        dtype = problem.types.get(t.name)
        if dtype is None:
            continue
        if dtype.is_float:
            made = round_to(rng.standard_normal(problem.shape(t.name)), dtype)
            arrays[t.name] = -abs(made) if t.name in problem.kernel.decays else made
        else:
            arrays[t.name] = np.asarray(problem.whole_number_input(t.name), np.int32)
    outputs = [t.name for t in tile_kernel.signature.outputs if t.name in problem.types]
    known = {a.name for t in tile_kernel.signature.inputs if t.name in arrays for a in t.axes}
    given: dict[str, Any] = {
        **arrays,
        **problem.choices,
        **{t.name: True for t in tile_kernel.signature.outputs if t.optional and t.name in outputs},
        "types": dict(problem.types),
        "sizes": {a: n for a, n in problem.sizes.items() if a not in known},
        "scalars": dict(problem.scalars),
    }
    with working(f"running {tile_kernel.name}"):
        wanted = dict(zip(outputs, problem.meaning(arrays), strict=True))
        timings = [("in_order", 0), ("adversarial", 0), *(("random", s) for s in range(runs))]
        rows = []
        for timing, seed in timings:
            rows += _interpreted_once(problem, tile_kernel, given, wanted, timing, seed)
    return {
        "name": tile_kernel.name,
        "where": f"module for h200 executed by the interpreter on the CPU, {problem.words}",
        "right": all(r["right"] for r in rows),
        "runs": rows,
    }


def _interpreted_once(
    problem: Problem,
    tile_kernel: TileKernel,
    given: dict[str, Any],
    wanted: dict[str, Any],
    timing: str,
    seed: int,
) -> list[dict[str, Any]]:
    name = f"{timing} {seed}" if timing == "random" else timing
    try:
        made = tile_kernel.interpret(timing=timing, seed=seed, **given)
    except InterpreterError as error:
        return [{"timing": name, "right": False, "note": str(error).replace("\n", "; ")}]
    found = made if isinstance(made, tuple) else (made,)
    errors = {
        n: distance(np.asarray(x, np.float64), np.asarray(w, np.float64))
        for (n, w), x in zip(wanted.items(), found, strict=True)
    }
    right = all(e <= problem.limit(n) for n, e in errors.items())
    note = ", ".join(f"error of {n} {e:.1e}" for n, e in errors.items())
    return [{"timing": name, "right": right, "note": note}]


def on_host(subject: Subject, runs: int) -> dict[str, Any]:
    """Execute a subject without a GPU, under ``runs`` random timings, and compare."""
    with working(f"running {subject.name}"):
        one = _roles if subject.is_roles else _counters
        found = [row for part in subject.loops for row in one(part, runs)]
    return {
        "name": subject.name,
        "where": "numeric executor on the host",
        "right": all(r["right"] for r in found),
        "runs": found,
    }


def _counters(subject: Subject, runs: int) -> list[dict[str, Any]]:
    document = subject.document
    assert not isinstance(document, RolesDocument)
    timings: list[tuple[str, Timing]] = [
        ("everything early", Early()),
        ("everything late", Late()),
        ("youngest first", Late(youngest_first=True)),
        *((f"random {seed}", Random(seed)) for seed in range(runs)),
    ]
    out = []
    for name, timing in timings:
        done = execute(document, timing=timing, trips=TRIPS)
        out.append({"timing": name, "right": done.correct, "note": "A @ B" if done.correct else ""})
    return out


def _roles(subject: Subject, runs: int) -> list[dict[str, Any]]:
    document = subject.document
    assert isinstance(document, RolesDocument)
    least = subject.least_trips
    loop = f"loop {subject.loop}, " if subject.loop else ""
    out = []
    for seed in range(runs):
        fault = first_fault(document, (least, least + 2, least + 1), [seed])
        row = {"timing": f"{loop}random {seed}", "right": fault is None, "note": fault or "stored"}
        out.append(row)
    return out


def _text(result: dict[str, Any]) -> str:
    kind = "good" if result["right"] else "bad"
    word = paint("right" if result["right"] else "WRONG", kind)
    lines = [f"{result['name']}: {word} ({result['where']})"]
    if result["why_not_gpu"] and result["why_not_gpu"] != "asked for":
        lines += wrapped("  not on a GPU: ", result["why_not_gpu"])
    for r in result["runs"]:
        head = f"  {r['timing']:<18} {'right' if r['right'] else 'WRONG'}  "
        lines += wrapped(head, r["note"])
    return "\n".join(lines)


@with_request(without=("target", "sync", "set", "knobs"))
def bench_command(
    source: SpecArgument,
    shape: ShapeOption = None,
    setting: SetOption = [],  # noqa: B006 (typer's own way)
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE.py:F", help="A torch function of the same inputs, in order."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds, order rotated.")] = 5,
    on: Annotated[
        str | None,
        typer.Option(metavar="CHIP", help="The code for mi355x or mi300x, through HIP."),
    ] = None,
    *,
    request: Request,
) -> Answer:
    """Time a kernel on the GPU at hand against the library, which enters twice.

    The library is torch's call for a shipped kernel, or your own by --against; its second entry
    shows the noise. --on times the code for an AMD chip through HIP; the library is that of a ROCm
    build of torch (hipBLASLt), if there is one. Without a GPU the command ends with 2 and says what
    is missing.

    Example: warploom bench gemm --shape 8192x8192x8192
    """
    if on is not None:
        return _bench_on_chip(source, request, shape, setting, on, rounds)
    found = look_up(source, request)
    missing = why_host(found)
    if missing:
        word = found.name if isinstance(found, Subject) else found.tile_kernel.name
        raise BackendError(
            f"{word} cannot be timed here: {missing}",
            where=source,
            why="only Hopper kernels are run, on an H100 or H200",
            fix=f"`warploom simulate {source}` predicts what it should take",
        )
    problem, document = ready(found, shape, setting, timed=True)
    bound = gpu.Bound(problem, document)
    errors, _ = bound.check()
    right = all(e <= problem.limit(n) for n, e in errors.items())
    middle = bound.race(_theirs(bound, against), rounds)
    name = document.name if document else problem.kernel.tile_kernel.name
    lines = [f"{name}: {problem.words}"]
    worst = max(errors.values())
    lines.append(f"  error {worst:.1e} against NumPy: {'right' if right else 'WRONG'}")
    for who, ms in middle.items():
        ratio = f"{middle['library'] / ms:7.3f} x library" if "library" in middle else ""
        rate = f"{problem.flop / ms / 1e9:8.1f} TFLOP/s" if problem.flop else ""
        moved = "" if problem.flop else f"{problem.bytes / ms / 1e6:8.1f} GB/s"
        lines.append(f"  {who:<14} {ms:9.4f} ms {rate}{moved} {ratio}".rstrip())
    if "library" not in middle:
        lines.append("  no library call is known for it: --against file.py:function names one")
    data = {"name": name, "problem": problem.words, "error": errors, "ms": middle}
    return Answer(lambda: "\n".join(lines), lambda: data, 0 if right else 1)


def _bench_on_chip(
    source: str,
    request: Request,
    shape: str | None,
    settings: Sequence[str],
    chip: str,
    rounds: int,
) -> Answer:
    """Time the code for an AMD chip, beside torch's call where a ROCm build of it is."""
    from warploom.runtime.rocm import OnChip, library_tensors, rocm_torch, why_no_rocm

    missing = why_no_rocm()
    if missing:
        raise BackendError(
            f"{source} cannot be timed here: {missing}",
            where="--on",
            fix=f"`warploom run {source} --on {chip}` executes its machine code on the CPU",
        )
    named, made, case = for_chip(source, request, shape, settings, chip)
    kernel, torch, others = made.simplified, rocm_torch(), {}
    if torch is not None:
        said = {**named.tile_kernel.signature.choices, **dict(named.choices), **case.scalars}
        given = library_tensors(torch, kernel.tensors, case)
        theirs = gpu.library_for(named.tile_kernel.name, given, said)
        others = {} if theirs is None else {"library": theirs, "library again": theirs}
    with OnChip(made, case) as bound:
        errors = bound.errors()
        middle = bound.times(others, rounds=rounds)
    right, worst = all(e <= a for e, a in errors), max(e for e, _ in errors)
    words = ", ".join(f"{n}={s}" for n, s in case.sizes.items())
    lines = [f"{named.tile_kernel.name} on {made.machine.cpu}: {words}"]
    lines.append(f"  error {worst:.1e} against NumPy: {'right' if right else 'WRONG'}")
    for who, ms in middle.items():
        ratio = f"{middle['library'] / ms:7.3f} x library" if "library" in middle else ""
        lines.append(f"  {who:<14} {ms:9.4f} ms {ratio}".rstrip())
    if "library" not in middle:
        why = "no ROCm build of torch is here" if torch is None else "no library call is known"
        lines.append(f"  {why}: nothing to compare with")
    data: dict[str, Any] = {"name": named.tile_kernel.name, "chip": made.machine.cpu, "ms": middle}
    data |= {"sizes": case.sizes, "error": worst, "right": right}
    return Answer(lambda: "\n".join(lines), lambda: data, 0 if right else 1)


def _theirs(bound: gpu.Bound, against: str | None) -> Callable[[], Any] | None:
    if against is None:
        return None
    given = user_object(against)
    if not callable(given):
        raise ConfigError(f"{against} is no function", where="--against")
    inputs = list(bound.inputs.values())
    return lambda: given(*inputs)
