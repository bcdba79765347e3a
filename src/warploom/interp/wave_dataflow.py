"""Verify dataflow of wave programs: executed on drawn inputs, and who stores what.

The program is executed as it is printed, with numbers rounded as their types say, and compared with
the author's kernel as it was written. While it runs every access, ring, barrier and condition is
checked (``interp.waves``), and of outputs that the kernel stores once, that no element is stored
twice. Size classes take all phases of pipelined loops and steps that are left over, edges of tiles,
and single elements; rows that begin at whole vectors and rows that do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from warploom.interp.dataflow import DataflowReport, NotJudgedError
from warploom.interp.executed import executed_sizes, verify_executed
from warploom.interp.run import run_module
from warploom.interp.thread_dataflow import check_stores, stored_once
from warploom.interp.threads import Stores
from warploom.interp.timing import TooLongError
from warploom.ir.module import KernelModule
from warploom.ir.tile import Store, walk
from warploom.ir.waves import pipelines

HOW = "on drawn inputs; every access, ring, barrier and store of the waves checked"
MOST = 400_000  # instructions of all waves
LEFT = 8  # elements of a step that is left over


class WaveClass(NamedTuple):
    """Sizes to execute (the first that are not too large), and how: whether rows begin at whole
    vectors, under which timing.
    """

    sizes: list[dict[str, int]]
    rows: bool
    timing: str


def verify_wave_program(
    module: KernelModule,
    *,
    classes: int,
    timing: str = "in_order",
    seed: int = 0,
    sizes_tried: Sequence[Mapping[str, int]] = (),
) -> DataflowReport:
    """Whether a wave program computes its tile IR, for enumerated size classes."""
    kernel, program = module.kernel, module.program
    assert program is not None
    once = stored_once(kernel)
    zeros = {op.tensor: np.zeros(1) for op in walk(kernel.ops) if isinstance(op, Store) and op.add}
    chosen = [WaveClass([dict(s)], rows=True, timing=timing) for s in sizes_tried] or list(
        wave_classes(module, timing)
    )
    tried: list[tuple[tuple[str, int], ...]] = []
    why = "no sizes to execute"
    for number, each in enumerate(chosen[:classes]):

        def run(
            arrays: Mapping[str, Any],
            scalars: Mapping[str, float],
            lengths: Mapping[str, int],
            each: WaveClass = each,
            number: int = number,
        ) -> Mapping[str, Any]:
            def observe(stores: Mapping[str, Stores], executed: int) -> None:
                for name, several in once.items():
                    check_stores(name, stores[name], several=several)

            try:
                return run_module(
                    module, arrays, scalars, sizes=lengths, timing=each.timing,
                    seed=seed + number, initial=zeros, most=MOST, observe=observe, rows=each.rows,
                )  # fmt: skip
            except TooLongError as error:
                raise NotJudgedError(str(error)) from error

        report = verify_executed(
            kernel, module.name, run, each.sizes, dict(program.extents), how=HOW
        )
        tried += report.tried
        why = report.not_judged or why
        if report.findings:
            return report
    return DataflowReport(
        module=module.name, tried=tuple(tried), findings=(), not_judged="" if tried else why,
        how=HOW,
    )  # fmt: skip


def wave_classes(module: KernelModule, timing: str = "in_order") -> Iterator[WaveClass]:
    """Sizes that differ in what happens at edges; the first is what every compilation tries: all
    phases of pipelined loops and some steps more, ragged rows and columns.
    """
    program, kernel = module.program, module.kernel
    assert program is not None
    extents, fixed = dict(program.extents), dict(program.fixed)
    ragged, whole, one = executed_sizes(kernel, extents, fixed)
    steps: dict[str, int] = {}
    for loop in pipelines(program):
        protocol = loop.protocol
        covered = protocol.kernel_k_base + 2 * protocol.k_tiles_per_iteration + 1
        steps[loop.axis] = max(steps.get(loop.axis, 0), covered)
    by_axis = {kernel.var(n).axis: e for n, e in extents.items()}
    phases = {
        a: by_axis.get(a, 1) * steps[a] + (LEFT if by_axis.get(a, 1) > 1 else 0)
        for a in steps
        if a not in fixed
    }
    pers = {a.name: a.per for t in kernel.tensors for a in t.axes if a.per > 1}
    phases = {a: -(-n // pers.get(a, 1)) * pers.get(a, 1) for a, n in phases.items()}
    every = [ragged | phases, one | phases]
    yield WaveClass(every, rows=True, timing=timing)
    yield WaveClass([ragged, one], rows=False, timing=timing)
    yield WaveClass([ragged, one], rows=True, timing=timing)
    yield WaveClass([whole, one], rows=True, timing=timing)
    yield WaveClass([one], rows=False, timing="adversarial")
    if phases:
        yield WaveClass(every, rows=True, timing="adversarial")
