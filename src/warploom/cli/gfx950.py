"""``warploom check-isa`` and ``emulate``: an assembly file, compared and run on the CPU."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.cli.screen import Answer, read_text
from warploom.cli.source import kernel_of_spec
from warploom.codegen.amdgcn import check_isa, launch_plan, read_sidecar
from warploom.codegen.amdgcn.emulate import (
    EmulationError,
    Floats,
    Order,
    Timing,
    emulate_gemm,
    integer_matrix,
    normal_matrix,
    timing_named,
)
from warploom.codegen.amdgcn.isa_check.regions import check_regions
from warploom.codegen.amdgcn.sidecar import plan_of_sidecar
from warploom.codegen.amdgcn.tile_ir.code import is_tile_sidecar
from warploom.codegen.amdgcn.tile_ir.execute import ExecutionError
from warploom.codegen.amdgcn.tile_ir.gate import gated_from
from warploom.codegen.amdgcn.tile_ir.trial import PADDING, compare, random_case
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.codegen.amdgcn.trial import try_product
from warploom.errors import ConfigError
from warploom.frontend.simplify import simplify
from warploom.ir.format1 import counter_document_of, read_schedule
from warploom.ir.tile import Kernel

AssemblyArgument = Annotated[
    Path,
    typer.Argument(
        metavar="KERNEL.s", help="Assembly `warploom emit gfx950` wrote, or its folder."
    ),
]
SidecarOption = Annotated[
    Path | None, typer.Option(help="The kernel's JSON; default: KERNEL.json beside it.")
]


def check_isa_command(
    assembly: AssemblyArgument,
    schedule: Annotated[
        Path | None,
        typer.Option(help="The schedule document; default: KERNEL.schedule.json beside it."),
    ] = None,
    sidecar: SidecarOption = None,
) -> Answer:
    """Compare the instruction stream of the whole kernel with its schedule, entry by entry.

    Exit code 0: exact order, exact waits, nothing added or lost, no spills. 1: they differ; the
    two are shown side by side.

    Example: warploom check-isa out/kernel.s
    """
    assembly = _in_folder(assembly)
    text = read_text(assembly)
    beside = sidecar or assembly.with_suffix(".json")
    if is_tile_sidecar(read_text(beside)):
        loops = json.loads(read_text(beside)).get("loops")
        if loops:
            return _check_loops(assembly, schedule, loops, text)
    if schedule is None and is_tile_sidecar(read_text(beside)):
        raise ConfigError(
            "this kernel has no schedule to compare with",
            where=str(beside),
            why="it was compiled without a pipelined schedule: LLVM derives its waits",
            fix=f"warploom emulate {assembly} executes it and decides for every timing",
        )
    document = counter_document_of(
        read_schedule(read_text(schedule or assembly.with_suffix(".schedule.json")))
    )
    values = read_sidecar(read_text(sidecar or assembly.with_suffix(".json")))
    report = check_isa(plan_of_sidecar(document, values), text)
    return Answer(report.text, report.to_json, 0 if report.exact else 1)


def _in_folder(assembly: Path) -> Path:
    """The assembly of a folder that ``emit`` wrote."""
    return assembly / "kernel.s" if os.path.isdir(assembly) else assembly


def _check_loops(
    assembly: Path, schedule: Path | None, loops: Sequence[dict[str, Any]], text: str
) -> Answer:
    """The pipelined loops of a tile kernel, each against its schedule."""
    first = schedule or assembly.with_suffix(".schedule.json")
    plans = []
    for number, loop in enumerate(loops):
        name = first.name if not number else first.name.replace(".json", f".{number}.json")
        document = counter_document_of(read_schedule(read_text(first.with_name(name))))
        plans.append(gated_from(document, loop))
    report = check_regions(plans, text)
    return Answer(report.text, report.to_json, 0 if report.exact else 1)


class Data(StrEnum):
    """What the matrices hold."""

    INTEGER = "integer"
    NORMAL = "normal"


def emulate_command(
    assembly: AssemblyArgument,
    m: Annotated[int | None, typer.Option(help="Rows of C (queries); default: one tile.")] = None,
    n: Annotated[int | None, typer.Option(help="Columns of C (keys); default: one tile.")] = None,
    k: Annotated[int | None, typer.Option(help="Default: three loop iterations.")] = None,
    timing: Annotated[
        list[str] | None,
        typer.Option(help="late, early, starved, trampled or random-SEED; repeat for several."),
    ] = None,
    order: Annotated[
        list[Order] | None, typer.Option(help="Order of waves; repeat for several.")
    ] = None,
    data: Annotated[Data, typer.Option(help="integer: C must be exact.")] = Data.INTEGER,
    size: Annotated[
        list[str] | None, typer.Option(metavar="AXIS=N", help="Of any tile kernel; repeat.")
    ] = None,
    sidecar: SidecarOption = None,
) -> Answer:
    """Run a kernel from its assembly text and compare its results with NumPy.

    Exit code 0: right under every timing and order asked for. 1: wrong under some, or a fault.

    Example: warploom emulate out/kernel.s --timing late --timing random-3 --order reverse
    """
    assembly = _in_folder(assembly)
    text = read_text(assembly)
    beside = read_text(sidecar or assembly.with_suffix(".json"))
    if is_tile_sidecar(beside):
        given = {n: s for n, s in (("m", m), ("n", n), ("k", k)) if s is not None}
        return _execute(text, json.loads(beside), given | _sizes(size or ()), order)
    values = read_sidecar(beside)
    names = timing or ["late", "early", "random-0"]
    turns = [(_timing(name), by) for name in names for by in order or [Order.FORWARD]]
    tile, rule = values["tile"], values["k"]
    m, n = m or tile["block"][0], n or tile["block"][1]
    usual = rule["base"] + 3 * rule["per"] if "text" in values else None
    k = k if k is not None else usual or rule["minimum"] + 3 * rule["multiple"]
    plan = launch_plan(values, m, n, k)
    head = f"M, N, K = {m}, {n}, {k}: grid {plan.grid[:2]}, {plan.trips} loop iteration(s)"
    sizes = {"m": m, "n": n, "k": k, "trips": plan.trips}
    if "text" in values:
        runs = [_try_product(text, values, (m, n, k), *turn) for turn in turns]
        return _answer(runs, f"{head}, outputs compared after their rounding", sizes)
    make = integer_matrix if data is Data.INTEGER else normal_matrix
    a, b = make(m, k, 1), make(n, k, 2)
    return _answer([_run(text, (a, b), tile, *turn) for turn in turns], head, sizes)


def _sizes(said: Sequence[str]) -> dict[str, int]:
    result = {}
    for word in said:
        name, equals, number = word.partition("=")
        if not (name and equals and number.isascii() and number.isdigit()):
            raise ConfigError(f"{word!r} is no size", where="--size", fix="AXIS=N")
        result[name] = int(number)
    return result


def _execute(
    text: str, values: dict[str, Any], sizes: dict[str, int], order: Sequence[Order] | None
) -> Answer:
    """Launches of a kernel without a pipelined schedule; each is checked for every timing."""
    kernel = simplify(_kernel(values))
    case = random_case(kernel, values, sizes)
    runs = []
    # Rows at multiples of 16 bytes take the pipelined loops, odd ones the plain loops.
    orders = order or [Order.FORWARD, Order.REVERSE]
    for by, padding in (
        product(orders, reversed(PADDING)) if order else zip(orders, reversed(PADDING), strict=True)
    ):
        found: dict[str, Any] = {"timing": "every", "order": by.value, "padding": padding}
        try:
            errors = compare(kernel, text, values, case, order=by.turns, padding=padding)
        except ExecutionError as fault:
            runs.append(found | {"right": False, "fault": str(fault)})
            continue
        error, allowed = max(errors, key=lambda e: e[0] / e[1] if e[1] else e[0])
        finite = error if math.isfinite(error) else None
        right = all(e <= a for e, a in errors)
        runs.append(found | {"right": right, "error": finite, "allowed": allowed})
    head = ", ".join(f"{n} {s}" for n, s in case.sizes.items())
    return _answer(runs, f"{values['computes']} with {head}", case.sizes)


def _answer(runs: list[dict[str, Any]], head: str, sizes: dict[str, int]) -> Answer:
    """The runs and their verdict."""
    lines = [f"{run['timing']:>10} {run['order']:<9} {_words(run)}" for run in runs]
    code = 0 if all(run["right"] for run in runs) else 1
    return Answer(lambda: "\n".join([head, *lines]), lambda: {**sizes, "runs": runs}, code)


def _kernel(values: dict[str, Any]) -> Kernel:
    """The tile kernel a sidecar names, with its choices."""
    source = values["text"]
    named = kernel_of_spec(source["spec"], source["dtype"])
    if named is None:
        raise ConfigError(
            f"the sidecar names {source['spec']!r}, which is no kernel",
            fix="run it where the kernel was emitted",
        )
    return replace(named, choices=tuple(source["choices"].items())).compiled.kernel


def _try_product(
    text: str, values: dict[str, Any], sizes: tuple[int, int, int], timing: Timing, order: Order
) -> dict[str, Any]:
    """One emulated launch of a tile kernel that is a product with a tail."""
    own = gemm_tile_kernel(_kernel(values))
    scalars = dict.fromkeys(own.scalars, 0.5)

    def launch() -> tuple[float, float]:
        done = try_product(own, text, values, sizes, scalars, timing=timing, order=order)
        return done.error, done.allowed

    return {"timing": timing.name, "order": order.value} | _checked(launch)


def _run(
    text: str, matrices: tuple[Floats, Floats], tile: dict[str, Any], timing: Timing, order: Order
) -> dict[str, Any]:
    """One emulated launch of a product."""
    given = {"dtype": tile["dtype"], "block": tuple(tile["block"][:2])}
    found: dict[str, Any] = {"timing": timing.name, "order": order.value}

    def launch() -> tuple[float, float]:
        done = emulate_gemm(text, *matrices, timing=timing, order=order, **given)
        return done.error, done.tolerance

    return found | _checked(launch)


def _checked(launch: Callable[[], tuple[float, float]]) -> dict[str, Any]:
    """The error of a launch and what is allowed, as JSON-ready values: JSON knows no infinity."""
    try:
        error, allowed = launch()
    except EmulationError as fault:
        return {"right": False, "fault": str(fault)}
    finite = error if math.isfinite(error) else None
    return {"right": error <= allowed, "error": finite, "allowed": allowed}


def _words(run: dict[str, Any]) -> str:
    if "fault" in run:
        return f"FAULT {run['fault']}"
    error = "not a number" if run["error"] is None else f"{run['error']:g}"
    verdict = "right" if run["right"] else "WRONG"
    return f"{verdict}  largest error {error} (allowed {run['allowed']:g})"


def _timing(name: str) -> Timing:
    result = timing_named(name)
    if result is None:
        raise ConfigError(
            f"no timing {name!r}",
            where="--timing",
            fix="late, early, starved, trampled, random or random-SEED",
        )
    return result
