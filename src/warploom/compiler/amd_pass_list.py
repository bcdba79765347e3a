"""All passes of a kernel for AMD GPUs, in order, on one screen; and the kernel after each of them.

``KERNEL_PASSES`` run once a kernel, ``LOOP_PASSES`` once for every loop that is pipelined,
``CODE_PASSES`` on the result. ``warploom show KERNEL --target mi355x --after PASS`` prints any of
them, ``--dump-passes DIR`` writes all of them with their times, and ``resume(DIR)`` goes on from
what was written: from edited schedules, if somebody edited them. Nothing has run on the chip.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from warploom.compiler.amd_tiles import (
    TileProgram,
    compile_scheduled,
    compile_tile_kernel,
    expanded,
)
from warploom.compiler.pass_list import schema_of
from warploom.errors import ConfigError, DocumentError, VerificationError
from warploom.frontend.simplify import simplify
from warploom.ir import ScheduleDocument, read_schedule, write_schedule
from warploom.ir.serialize import kernel_from_json, kernel_to_json, to_json
from warploom.ir.tile import Kernel
from warploom.passes.amdgcn.loop_schedule import LoopSchedule, pipelined_plans, unit_table
from warploom.targets.amdgcn import MACHINES, AmdMachine
from warploom.verify import verify
from warploom.viz.listing import listing_text, sections

SCHEMA = "warploom.passes.amd/1"


class Made(NamedTuple):
    """A kernel on its way: the author's value, the chip, extents that were asked for, the code."""

    kernel: Kernel
    machine: AmdMachine
    extents: dict[str, int]
    program: Callable[[], TileProgram]


class Pass(NamedTuple):
    """A pass: how to print what it leaves, and what it does."""

    name: str
    after: Callable[[Made], str]
    what: str


def _tiles(made: Made) -> str:
    """What was chosen, and tiles that are tried for pipelined loops: what each unit needs."""
    program = made.program()
    taken = (dict(program.plan.extents), program.plan.waves, program.plan.across)
    lines = [program.listing()]
    for plan in pipelined_plans(expanded(made.kernel), made.extents, made.machine):
        mark = "*" if (dict(plan.extents), plan.waves, plan.across) == taken else " "
        extents = " ".join(f"{n} {e}" for n, e in plan.extents.items())
        shared = f"{plan.waves} waves, {plan.across} across"
        lines.append(f"{mark} {extents}, {shared}: {unit_table(plan)}")
    return "\n".join(lines)


def _layouts(made: Made) -> str:
    """Which lane and register has which element of every value of two variables."""
    plan = made.program().plan
    lines = []
    for variables in dict.fromkeys(v.vars for v in plan.values.values() if len(v.vars) == 2):
        lines.append(f"[{', '.join(variables)}]")
        for name, axis in plan.layout(variables):
            lines.append(f"  {name}: {axis}")
    return "\n".join(lines or ["no value of two variables"])


def _of_loops(text: Callable[[LoopSchedule], str]) -> Callable[[Made], str]:
    def found(made: Made) -> str:
        schedules = made.program().schedules
        if not schedules:
            raise ConfigError(
                f"kernel {made.kernel.name} has no pipelined loop",
                where="after",
                why="; ".join(made.program().not_pipelined),
                fix="the pass 'codegen', or another kernel",
            )
        return "\n\n".join(f"{s.document.name}\n{text(s)}" for s in schedules)

    return found


def _body(schedule: LoopSchedule) -> str:
    lines = []
    for op in schedule.body.ops:
        taken = ", ".join(f"{t.value}{f' (-{t.back})' if t.back else ''}" for t in op.takes)
        size = f"{op.cycles} cycles" if op.cycles else f"{op.count} instruction(s)"
        made = ", ".join(op.makes)
        lines.append(f"  {op.name}[{op.index}]  {made} = {taken or 'memory'}   {size}")
    homes = ", ".join(f"{place} {n}" for place, n in schedule.body.sizes.items())
    return "\n".join([*lines, f"  registers by home: {homes}"])


def _listing(schedule: LoopSchedule) -> str:
    return listing_text(sections(schedule.document)).strip("\n")


def _code(made: Made) -> str:
    return made.program().assembly


def _gate(made: Made) -> str:
    program = made.program()
    if program.gate is None:
        found = program.resources
        return f"no schedule to compare with; {found.vgprs} registers, {found.spills} spilled"
    return program.gate.text()


KERNEL_PASSES = (
    Pass("parse", lambda made: str(made.kernel), "Python source to typed tile IR"),
    Pass("simplify", lambda made: str(simplify(made.kernel)), "fold, share, drop what is not used"),
    Pass("expand", lambda made: str(expanded(made.kernel)), "f32 and i8 products as bf16 ones"),
    Pass("tiles", _tiles, "candidate tiles, with what each unit needs for a step"),
    Pass("layout", _layouts, "which lane and register has which element"),
)
LOOP_PASSES = (
    Pass("body", _of_loops(_body), "one iteration as ops, their values and homes"),
    Pass("order", _of_loops(lambda s: s.order_text()), "modulo order, or waves of a SIMD in turns"),
    Pass("sync", _of_loops(_listing), "waits and barriers, derived"),
    Pass("verify", _of_loops(lambda s: str(verify(s.document))), "races, dataflow: every timing"),
)
CODE_PASSES = (
    Pass("module", lambda made: str(made.program().module), "the program of the waves"),
    Pass("lower", lambda made: made.program().code.ir, "LLVM IR, every instruction pinned"),
    Pass("codegen", _code, "gfx950 assembly"),
    Pass("gate", _gate, "code against schedule: order, waits, registers, spills"),
)
PASSES = (*KERNEL_PASSES, *LOOP_PASSES, *CODE_PASSES)
NAMES = tuple(p.name for p in PASSES)
ALIASES = {
    "read": "parse",
    "tile": "tiles",
    "schedule": "order",
    "ir": "lower",
    "llvm": "lower",
    "emit": "codegen",
}


def rows() -> list[tuple[str, str, str]]:
    """How often each pass runs, its name, what it does."""
    groups = (("kernel", KERNEL_PASSES), ("loop", LOOP_PASSES), ("code", CODE_PASSES))
    return [(group, p.name, p.what) for group, passes in groups for p in passes]


def after(made: Made, name: str) -> str:
    """What a kernel is after a pass, as text."""
    name = ALIASES.get(name, name)
    for each in PASSES:
        if each.name == name:
            return each.after(made)
    raise ConfigError(f"no pass {name!r}", where="after", fix=", ".join(NAMES))


def dump(made: Made, folder: Path) -> str:
    """Write the kernel after every pass into a folder, and what ``resume`` needs.

    The kernel is compiled anew, with the time of each pass; all tiles that were tried count.
    Returns the table of passes with their times.
    """
    spent: dict[str, float] = dict.fromkeys(NAMES, 0.0)

    def seen(name: str, seconds: float) -> None:
        spent[name] += seconds

    program = compile_tile_kernel(
        made.kernel, extents=made.extents, machine=made.machine, seen=seen
    )
    made = made._replace(program=lambda: program)
    folder.mkdir(parents=True, exist_ok=True)
    shown = [p for p in PASSES if p not in LOOP_PASSES or program.schedules]
    for number, each in enumerate(shown):
        (folder / f"{number:02}_{each.name}.txt").write_text(each.after(made) + "\n")
    for number, schedule in enumerate(program.schedules):
        text = write_schedule(schedule.document)
        (folder / f"schedule.loop{number}.json").write_text(text + "\n")
    (folder / "kernel.json").write_text(kernel_to_json(made.kernel) + "\n")
    (folder / "module.json").write_text(to_json(program.module) + "\n")
    plan = program.plan
    state = {
        "schema": SCHEMA,
        "target": made.machine.name,
        "extents": dict(plan.extents),
        "waves": plan.waves,
        "across": plan.across,
        "seconds": {p.name: round(spent[p.name], 6) for p in shown},
    }
    (folder / "passes.json").write_text(json.dumps(state, indent=1) + "\n")
    inside = {"body", "sync", "verify", "module"}  # of the passes that try many
    return "\n".join(
        f"{i:02}  {p.name:12} "
        + ("in order" if p.name in inside else f"{spent[p.name] * 1e3:9.2f} ms")
        for i, p in enumerate(shown)
    )


def is_dump(source: str) -> bool:
    """Whether a source names a folder that ``dump`` wrote."""
    return schema_of(source) == SCHEMA


def resume(folder: Path) -> TileProgram:
    """The code of a dumped kernel, from its schedules as they are there now.

    They are verified first (``VerificationError``), must compute what the loop does, and the code
    must be exactly them: nothing unproven is emitted.
    """
    try:
        state = json.loads((folder / "passes.json").read_text())
        kernel = kernel_from_json((folder / "kernel.json").read_text())
        machine = MACHINES[state["target"]]
        texts = [p.read_text() for p in sorted(folder.glob("schedule.loop*.json"))]
    except (OSError, ValueError, KeyError) as error:
        raise DocumentError(
            f"no dumped passes in {folder.name}",
            path=folder.name,
            why=str(error).replace(str(folder), folder.name),
            fix="warploom show KERNEL --target mi355x --dump-passes DIR writes them",
        ) from error
    documents = []
    for text in texts:
        document = read_schedule(text)
        if not isinstance(document, ScheduleDocument):
            raise DocumentError("no schedule of counters", path=folder.name, fix="as it was dumped")
        report = verify(document)
        if not report.clean:
            raise VerificationError(
                f"schedule {document.name} can race",
                report=report,
                where=folder.name,
                why=report.trouble,
                fix="the schedule as it was dumped, or another edit of it",
            )
        documents.append(document)
    return compile_scheduled(
        kernel, documents, extents=state["extents"], waves=state["waves"], across=state["across"],
        machine=machine,
    )  # fmt: skip
