"""Machine code beside a schedule: PTX and SASS for Hopper, gfx950 assembly for the MI355X.

PTX carries the line of CUDA it comes from (``.loc``), so does SASS by nvdisasm, and CUDA knows its
entry. The gfx950 assembly
was compared with the schedule instruction by instruction; the same order says which entry an
instruction belongs to, and where it does not hold no line is linked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from warploom.cli.subject import Subject
from warploom.codegen import amdgcn as gfx950
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.isa import parse_assembly
from warploom.codegen.amdgcn.isa_check.expected import (
    Step,
    expected_steps,
    join_waits,
    scheduled_step,
)
from warploom.codegen.amdgcn.tile import element_type
from warploom.compiler.cubin import compile_source, find_nvdisasm, ptx_of, sass_of
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.schedule_ops import Phase
from warploom.viz.panels import Code, EntryLine, located_code

_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)\s")  # of the compiler that wrote it
_CALLED = re.compile(r"inlined_at \d+ (\d+)")
_DISASSEMBLED = re.compile(r'//## File "[^"]*", line (\d+)')  # by nvdisasm
LINES = "-lineinfo"
SPLIT = "+"


def ptx(cuda: Code) -> Code:
    """The PTX of CUDA code; every instruction belongs to what its line of CUDA belongs to."""
    lines = ptx_of("\n".join(cuda.lines), options=(LINES,)).splitlines()
    origin: dict[int, int] = {}
    kept: list[str] = []
    at: int | None = None
    for line in lines:
        if found := _LOC.match(line):
            at = _owned(cuda, [int(found[1]), *map(int, _CALLED.findall(line))])
            continue
        if line.startswith(("\t.section", ".section")):
            break
        if at is not None and line.strip() and not line.startswith("$"):
            origin[len(kept)] = at
        kept.append(line.replace("\t", "    "))
    return located_code(cuda, "PTX", kept, origin)


def sass(cuda: Code) -> tuple[Code, ...]:
    """The machine code of CUDA code, linked by the lines that nvdisasm prints; nothing without it.

    Line information changes no instruction: the code sections of the cubin are those without it.
    """
    if find_nvdisasm() is None:
        return ()
    cubin = compile_source("\n".join(cuda.lines), options=(LINES,), checked=False)
    origin: dict[int, int] = {}
    kept: list[str] = []
    at: int | None = None
    places: list[int] = []  # where inlined code stands, innermost first
    for line in sass_of(cubin.data, lines=True).splitlines():
        if numbers := _DISASSEMBLED.findall(line):
            places += [int(n) for n in numbers]
            continue
        if line.startswith(("\t.", ".section")) or not line.strip():
            continue
        if places:
            at, places = _owned(cuda, places), []
        if at is not None and not line.startswith("."):
            origin[len(kept)] = at
        kept.append(line.replace("\t", "    "))
    return (located_code(cuda, "SASS", kept, origin),)


def _owned(cuda: Code, lines: Sequence[int]) -> int:
    """Of the lines of CUDA (from 1) that inlined code comes from, the first that has an owner."""
    owned = (n - 1 for n in lines if n <= len(cuda.owners) and cuda.owners[n - 1])
    return next(owned, lines[0] - 1)


def assembly(subject: Subject, entries: Sequence[EntryLine]) -> Code:
    """The gfx950 assembly of a built-in counter schedule, each instruction with its entry."""
    document = subject.document
    assert isinstance(document, ScheduleDocument)
    block = subject.tile or (256, 256, 64)
    ready = ready_kernel(subject.spec, block, element_type(subject.dtype))
    kernel = gfx950.emit_kernel(ready.document, ready.tile)
    lines = kernel.assembly.splitlines()
    owners: list[tuple[int, ...]] = [()] * len(lines)
    if all(ready.document.phase(p) == document.phase(p) for p in Phase):
        owner = {(e.list, e.index): n for n, e in enumerate(entries)}
        for line, found in _owners(kernel.plan, kernel.assembly, owner):
            owners[line - 1] = found
    return Code(
        name="gfx950", lines=tuple(x.replace("\t", "    ") for x in lines), owners=tuple(owners)
    )


def _owners(
    plan: Any,  # noqa: ANN401 (a plan as the comparison takes it)
    text: str,
    owner: dict[tuple[str, int], int],
) -> list[tuple[int, tuple[int, ...]]]:
    """Lines with the entries they belong to; none where the order is not the schedule's."""
    wanted: list[Step] = []
    expected = expected_steps(plan)
    numbered = [(p.name.lower(), i) for p in Phase for i in range(len(plan.document.phase(p)))]
    by_source = {
        f"{phase[0].upper()}[{i}] {plan.document.phase(Phase[phase.upper()])[i].op.label()}": (
            owner.get((phase, i))
        )
        for phase, i in numbered
    }
    for step in (*expected.prologue, *expected.kernel, *expected.epilogue):
        found = by_source.get(step.source)
        wanted.append(replace(step, source="" if found is None else str(found)))
    steps = [s for s in join_waits(tuple(wanted)) if s.kind != "guarded barrier"]
    seen = []
    for instruction in parse_assembly(text).instructions:
        got = scheduled_step(instruction)
        if got is not None and got.kind != "store":
            seen.append((instruction.line, got))
    at, out = 0, []
    for line, step in seen:
        while at < len(steps) and steps[at].kind == "wait" and step.kind != "wait":
            at += 1  # a wait that another one covers
        if at < len(steps) and steps[at].kind == step.kind:
            names = [n for n in steps[at].source.replace(" ", "").split(SPLIT) if n]
            out.append((line, tuple(int(n) for n in names)))
            at += 1
    return out if at == len(steps) else []
