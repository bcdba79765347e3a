"""All passes of a kernel, in order, on one screen, a list a target; and the kernel after each.

For Hopper ``KERNEL_PASSES`` run once a kernel, ``LOOP_PASSES`` (``passes.driver``) once for every
loop of a tile, ``MODULE_PASSES`` on the result. ``warploom show KERNEL --after PASS`` prints any of
them, ``warploom show KERNEL --dump-passes DIR`` writes all of them, with their times, and
``resume(DIR)`` goes on from what was written: from edited role programs, if somebody edited them.
The passes of a kernel without a loop are ``KERNEL_PASSES`` and ``MODULE_PASSES``. Those for AMD
chips are in ``amd_pass_list``, with the same commands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from warploom.errors import ConfigError, DocumentError
from warploom.ir import read_schedule, write_schedule
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.module import KernelModule
from warploom.ir.serialize import from_json, to_json
from warploom.passes.driver import LOOP_PASSES, LoopPass, LoopState, Lowered
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.simt_layout import has_products
from warploom.targets import AMD
from warploom.verify.roles import require_clean
from warploom.verify.roles.composition import require_composed
from warploom.viz.listing import listing_text, sections

if TYPE_CHECKING:
    from warploom.compiler.compiled import Compiled

SCHEMA = "warploom.passes/1"
NO_LOOP = "has no loop that is pipelined"
SHOWN = 8  # candidate configurations that are listed


class Pass(NamedTuple):
    """A pass over a whole kernel: how to print what it leaves, and what it does."""

    name: str
    after: Callable[[Compiled, KernelConfig | None], str]
    what: str


def _pipelined(made: Compiled) -> bool:
    """Whether threads have roles."""
    return made.program is None and made.loops


def _rewritten(made: Compiled, _: KernelConfig | None) -> str:
    blocks = made.program is not None and has_products(made.kernel)
    return str(made.blocks if blocks else made.rewritten)


def _candidates(made: Compiled, _: KernelConfig | None) -> str:
    if not _pipelined(made):
        return f"kernel {made.kernel.name} {NO_LOOP}: its tile is {made.config.name}"
    return "\n".join(
        f"{c.config.name:28} {c.estimate.seconds * 1e6:10.1f} us,"
        f" {c.estimate.rounds} rounds, {c.estimate.joules * 1e3:.2f} mJ"
        for c in made.choices[:SHOWN]
    )


def _module(made: Compiled, config: KernelConfig | None) -> KernelModule:
    return made.module if config is None else made.module_of(config)


def _verdict(made: Compiled, _: KernelConfig | None) -> str:
    if _pipelined(made):
        return str(made.report)
    return str(made.coverage if made.module.threads is None else made.dataflow)


KERNEL_PASSES = (
    Pass("parse", lambda made, _: str(made.kernel), "Python source to typed tile IR"),
    Pass("simplify", lambda made, _: str(made.simplified), "fold, share, drop what is not used"),
    Pass("rewrite", _rewritten, "pad, base-2 exponentials, unroll"),
    Pass("heuristics", _candidates, "candidate configurations, ranked by the cost model"),
)
MODULE_PASSES = (
    Pass("module", lambda made, config: str(_module(made, config)), "KernelModule of all loops"),
    Pass("verify", _verdict, "races, deadlocks, dataflow: every timing"),
    Pass("coverage", lambda made, _: str(made.coverage), "indices, trips, stores: every size"),
    Pass("codegen", lambda made, _: made.cuda, "CUDA source"),
    Pass("ptxas", lambda made, _: repr(made), "cubin: registers, spills, occupancy"),
)


ALIASES = {"read": "parse", "tile": "heuristics", "schedule": "modulo", "emit": "codegen"}
NAMES = tuple(p.name for p in (*KERNEL_PASSES, *LOOP_PASSES, *MODULE_PASSES))


class Row(NamedTuple):
    """A pass as lists show it: how often it runs, its name, what it does."""

    group: str
    name: str
    what: str


def passes_of(target: str) -> tuple[Row, ...]:
    """The list of a target: ``h200`` (and ``h100``), ``mi355x`` (and ``mi300x``)."""
    if target in AMD:
        from warploom.compiler import amd_pass_list  # noqa: PLC0415 (Hopper loads nothing of it)

        return tuple(Row(*row) for row in amd_pass_list.rows())
    groups: tuple[tuple[str, Sequence[Pass | LoopPass]], ...] = (
        ("kernel", KERNEL_PASSES),
        ("loop", LOOP_PASSES),
        ("module", MODULE_PASSES),
    )
    return tuple(Row(group, p.name, p.what) for group, passes in groups for p in passes)


def screen(target: str = "h200") -> str:
    """The whole list of a target, a line each."""
    rows = passes_of(target)
    width = max(len(r.name) for r in rows)
    return "\n".join(f"{r.group:6}  {r.name:{width}}  {r.what}" for r in rows)


class Record(NamedTuple):
    """One pass over one loop: what it left, and the seconds it took."""

    of: LoopPass
    state: LoopState
    seconds: float


def trace(made: Compiled, config: KernelConfig) -> tuple[Lowered, list[Record]]:
    """A kernel through the passes of its loops, with the state after each."""
    records: list[Record] = []
    return made.lower(config, lambda *seen: records.append(Record(*seen))), records


def after(made: Compiled, name: str, config: KernelConfig | None = None) -> str:
    """What a kernel is after a pass, as text; of every loop of its tile."""
    name = ALIASES.get(name, name)
    if name not in NAMES:
        raise ConfigError(f"no pass {name!r}", where="after", fix=", ".join(NAMES))
    for each in (*KERNEL_PASSES, *MODULE_PASSES):
        if each.name == name:
            return each.after(made, config)
    if not _pipelined(made):
        raise ConfigError(
            f"kernel {made.kernel.name} {NO_LOOP}", where=f"after {name!r}", fix="another pass"
        )
    _, records = trace(made, config or made.config)
    return "\n\n".join(printed(r) for r in records if r.of.name == name)


def printed(record: Record) -> str:
    """The state after a pass, as far as that pass made it."""
    value = getattr(record.state, record.of.made)
    if isinstance(value, RolesDocument):
        return listing_text(sections(value)).strip("\n")
    return f"{record.state.name}\n{_text(value)}" if record.of.made != "result" else str(value)


def _text(value: object, indent: str = "  ") -> str:
    """A value of a pass, a field or an element a line."""
    if is_dataclass(value) and not isinstance(value, type):
        lines = []
        for f in fields(value):
            if f.name in ("kernel", "body", "config") or not f.repr:
                continue
            own = getattr(value, f.name)
            many = isinstance(own, Sequence) and not isinstance(own, str) and own
            lines.append(f"{indent}{f.name}:" + ("" if many else f" {own}"))
            lines += [f"{indent}  {x}" for x in own] if many else []
        return "\n".join(lines)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(f"{indent}{x}" for x in value)
    return f"{indent}{value}"


def dump(made: Compiled, folder: Path, config: KernelConfig | None = None) -> str:
    """Write the kernel after every pass into a folder, and what ``resume`` needs.

    Returns the table of passes with their times.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, float]] = []

    def write(name: str, text: Callable[[], str]) -> None:
        begun = perf_counter()
        said = text()
        (folder / f"{len(rows):02}_{name}.txt").write_text(said + "\n")
        rows.append((name, perf_counter() - begun))

    for each in KERNEL_PASSES:
        write(each.name, lambda each=each: each.after(made, None))  # type: ignore[misc]
    if _pipelined(made):
        config = config or made.config
        lowered, records = trace(made, config)
        several = len(lowered.documents) > 1
        for record in records:
            loop = f".loop{record.state.number}" if several else ""
            write(record.of.name + loop, lambda record=record: printed(record))  # type: ignore[misc]
            rows[-1] = (rows[-1][0], record.seconds)
        for number, document in enumerate(lowered.documents):
            (folder / f"programs.loop{number}.json").write_text(write_schedule(document) + "\n")
    for each in MODULE_PASSES:
        write(each.name, lambda each=each: each.after(made, config))  # type: ignore[misc]
    (folder / "module.json").write_text(to_json(_module(made, config)) + "\n")
    state = {
        "schema": SCHEMA,
        "target": made.target.name,
        "sizes": made.sizes,
        "positive": sorted(made.positive),
        "config": dict((config or made.config).pins),
        "seconds": {f"{i:02}_{name}": round(s, 6) for i, (name, s) in enumerate(rows)},
    }
    (folder / "passes.json").write_text(json.dumps(state, indent=1) + "\n")
    return "\n".join(f"{i:02}  {name:24} {s * 1e3:9.2f} ms" for i, (name, s) in enumerate(rows))


def is_dump(source: str) -> bool:
    """Whether a source names a folder that ``dump`` wrote."""
    return schema_of(source) == SCHEMA


def schema_of(source: str) -> str | None:
    """The schema of the dumped passes that a source names; None where it names none."""
    try:
        state = json.loads((Path(source) / "passes.json").read_text())
    except (OSError, ValueError):  # no such folder, too long for a path, or something else
        return None
    return str(state.get("schema")) if isinstance(state, dict) else None


def resume(folder: Path) -> str:
    """CUDA of a dumped kernel, from its role programs as they are there now.

    They are verified first (``VerificationError``): nothing unproven is printed.
    """
    from warploom.compiler.compiled import Compiled  # noqa: PLC0415 (it lists these passes)
    from warploom.targets.h200 import HOPPER  # noqa: PLC0415

    try:
        state = json.loads((folder / "passes.json").read_text())
        module = from_json((folder / "module.json").read_text())
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"no dumped passes in {folder.name}",
            path=folder.name,
            why=str(error).replace(str(folder), folder.name),
            fix="warploom show KERNEL --dump-passes DIR writes them",
        ) from error
    if module.threads is not None:
        from warploom.compiler.module_source import emit_verified  # noqa: PLC0415

        return emit_verified(module)
    if not (folder / "programs.loop0.json").is_file():
        raise DocumentError(
            f"{folder.name} holds no role programs",
            path=folder.name,
            why="its kernel has no loop, so nothing was scheduled",
            fix=f"warploom emit h200 {module.name}",
        )
    if state.get("schema") != SCHEMA:
        raise DocumentError(f"schema {state.get('schema')!r}", path="passes.json", fix=SCHEMA)
    if state["target"] not in HOPPER:
        raise DocumentError(
            f"target {state['target']!r} is none that ships",
            path="passes.json",
            why="figures of a target of your own are not in a dump",
            fix=f"dump it again for one of {', '.join(HOPPER)}",
        )
    target = HOPPER[state["target"]]()
    pins = {n: tuple(v) if isinstance(v, list) else v for n, v in state["config"].items()}
    made = Compiled(
        module.kernel,
        sizes=state["sizes"],
        pins=pins,
        positive=state["positive"],
        target=target,
    )
    lowered = made.lower(made.choices[0].config)
    names = [folder / f"programs.loop{i}.json" for i in range(len(lowered.documents))]
    documents = [read_schedule(path.read_text()) for path in names]
    roles = [d for d in documents if isinstance(d, RolesDocument)]
    for document in roles:
        require_clean(document)
    require_composed(tuple(roles))
    return made.source_from(tuple(roles))
