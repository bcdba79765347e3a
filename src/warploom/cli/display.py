"""What a page shows beyond the run itself: names of the source, the three linked panels."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warploom.cli.machine_code import assembly, ptx, sass
from warploom.cli.subject import ROLE_TILES, Subject
from warploom.codegen.cuda.tile.mma_slices import MARK
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import ConfigError, WarploomError
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.mbarrier_dialect import Compute, Mma, RolesDocument
from warploom.ir.rings import Per
from warploom.ir.schedule_ops import ScheduleEntry
from warploom.passes.loops import names_in_loop
from warploom.pipeline.schedules.shipped import SCHEDULES
from warploom.sim import Simulation, simulate_roles
from warploom.sim.roles import entry_label as role_label
from warploom.viz.listing import entry_label
from warploom.viz.measured import Stamps
from warploom.viz.names import SourceNames, relabelled, relabelled_costs, source_names
from warploom.viz.panels import Code, EntryLine, Panels, SourceLine, marked_code

SINGLE = "single_buffer"  # whose waits are the code generator's
NO_NAMES = SourceNames(ops={}, rings={}, parts={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """A subject as pictures show it, under the names of its source where it has one."""

    subject: Subject
    names: SourceNames

    @property
    def title(self) -> str:
        """The headline: the kernel, its target and tile, in words."""
        subject = self.subject
        document = subject.document
        if subject.kernel is None or not isinstance(document, RolesDocument):
            return subject.title
        work = f"{subject.kernel.tile_kernel.name} on {document.target}, {subject.work()}"
        kinds = {type(e) for p in document.programs for e in p.kernel}
        work_by = Mma if Mma in kinds else Compute  # a loop without products has vector work
        busy = [p for p in document.programs if any(isinstance(e, work_by) for e in p.kernel)]
        groups = sum(p.instances for p in busy)
        stages = max((r.depth for r in document.rings if r.per is Per.ITERATION), default=1)
        loop = f", loop {subject.loop} of its tile" if subject.loop else ""
        plural = "" if groups == 1 else "s"
        return f"{work}, {groups} consumer warpgroup{plural}, {stages} stages{loop}"

    def simulate(self, trips: int, *, model: bool = False) -> Simulation:
        """A run under these names; it takes the cycles that the subject's takes."""
        subject = self.subject
        tiles = ROLE_TILES if subject.is_roles else 1
        if not self.names.rings or not isinstance(subject.document, RolesDocument):
            return subject.simulate(trips, model=model, tiles=tiles)
        document = relabelled(subject.document, self.names, self.title)
        costs = relabelled_costs(subject.prices(), self.names)
        return simulate_roles(document, costs, trips=trips, tiles=tiles)

    def lines(self) -> dict[str, str]:
        """The author's line of each op by its name here."""
        return {self.names.op(op): line for op, line in self.subject.lines().items()}

    def codes(self) -> dict[str, str]:
        """The name of an op in generated code by its name here."""
        return {shown: op for op, shown in self.names.ops.items()}

    def stamps(self, stamps: Stamps | None) -> Stamps | None:
        """Clocks of a GPU under these names."""
        if stamps is None:
            return None
        roles = tuple(
            replace(r, labels=tuple(self._label(label) for label in r.labels)) for r in stamps.roles
        )
        return replace(stamps, roles=roles)

    def _label(self, label: str) -> str:
        shown = {**self.names.ops}
        for ring, name in self.names.rings.items():
            for kind in ("WaitFull", "WaitEmpty", "Expect", "Arrive"):
                shown[f"{kind}({ring})"] = f"{kind}({name})"
        return shown.get(label, label)

    def panels(self, *, machine_code: bool = False) -> Panels:
        """Source, schedule and code, as far as there are any; with ``machine_code`` compiled."""
        entries = self._entries()
        codes = self._codes(entries)
        if machine_code and codes:
            codes = (*codes, ptx(codes[0]), *sass(codes[0]))
        elif machine_code and self.subject.spec in SCHEDULES and self.subject.spec != SINGLE:
            codes = (assembly(self.subject, entries),)
        elif machine_code:
            raise ConfigError(
                f"no machine code of {self.subject.spec} to show beside its schedule",
                where="--machine-code",
                why="kernels of the tile language and double-buffered schedules that ship have it",
                fix="leave it out, or write it to a folder: warploom emit",
            )
        return Panels(source=self._source(entries), entries=entries, codes=codes)

    def _entries(self) -> tuple[EntryLine, ...]:
        document = self.subject.document
        shown = document
        if self.names.rings and isinstance(document, RolesDocument):
            shown = relabelled(document, self.names, self.title)
        reasons = self.subject.reasons()
        flow = document.flow.ops if document.flow is not None else ()
        lines = {op.name: op.line for op in flow if op.line}
        found = []
        labelled = replace(self.subject, document=shown).phases()
        for (name, entries), (_, named) in zip(self.subject.phases(), labelled, strict=True):
            for i, (entry, other) in enumerate(zip(entries, named, strict=True)):
                op = getattr(entry, "op", "")
                op = op if isinstance(op, str) else op.label()
                found.append(
                    EntryLine(
                        list=name,
                        index=i,
                        label=_entry_text(other),
                        reason=reasons.get((name, i), ""),
                        op=op,
                        source=lines.get(op, ""),
                    )
                )
        return tuple(found)

    def _source(self, entries: tuple[EntryLine, ...]) -> tuple[SourceLine, ...]:
        kernel = self.subject.kernel
        if kernel is None:
            return ()
        try:
            lines, first = inspect.getsourcelines(kernel.tile_kernel.function)
            file = Path(inspect.getsourcefile(kernel.tile_kernel.function) or "").name
        except (OSError, TypeError):
            return ()
        own = [
            SourceLine(key=f"{file}:{n}", number=n, text=line.rstrip("\n"))
            for n, line in enumerate(lines, first)
        ]
        known = {line.key for line in own}
        inlined = {e.source for e in entries if e.source and e.source not in known}
        folder = Path(inspect.getsourcefile(kernel.tile_kernel.function) or "").parent
        return (*_lines_at(sorted(inlined), folder), *own)

    def _codes(self, entries: tuple[EntryLine, ...]) -> tuple[Code, ...]:
        kernel, document = self.subject.kernel, self.subject.document
        if kernel is None or isinstance(document, ScheduleDocument):
            return ()
        lowered = kernel.lowered
        loop = next((n for n, d in enumerate(lowered.documents) if d == document), None)
        if loop is None:  # read from a file, and another
            return ()
        try:
            marked = emit_kernel(lowered, kernel.target, marks=True).text
            plain = emit_kernel(lowered, kernel.target).text
        except WarploomError:
            return ()
        return (marked_code("CUDA", marked, MARK, entries, plain, loop),)


def display(subject: Subject) -> Display:
    """A subject under the names of its source."""
    kernel, document = subject.kernel, subject.document
    if kernel is None or not isinstance(document, RolesDocument):
        return Display(subject=subject, names=NO_NAMES)
    parts = (*kernel.lowered.earlier, kernel.lowered)
    at = next((n for n, p in enumerate(parts) if p.document == document), None)
    if at is None:  # read from a file, and another
        return Display(subject=subject, names=NO_NAMES)
    part = parts[at]
    names = source_names(
        document,
        kernel.compiled.kernel,
        kernel.tile_kernel.function.__code__.co_varnames,
        part.layout.body.ops,
        {} if part is kernel.lowered else names_in_loop(kernel.compiled.kernel, at),
    )
    return Display(subject=subject, names=names)


def _entry_text(entry: Any) -> str:  # noqa: ANN401 (an entry of either dialect)
    """An entry in a few characters; of another iteration than the running one it says which."""
    if isinstance(entry, ScheduleEntry):
        return entry_label(entry)
    k = getattr(entry, "k", 0)
    return role_label(entry) + (f"  of iteration {k:+d}" if k else "")


def _lines_at(keys: list[str], folder: Path) -> list[SourceLine]:
    """Lines of functions that the kernel calls, from files beside its own."""
    result = []
    for key in keys:
        name, _, number = key.rpartition(":")
        try:
            text = (folder / name).read_text(encoding="utf-8").splitlines()[int(number) - 1]
        except (OSError, ValueError, IndexError):
            continue
        result.append(SourceLine(key=key, number=int(number), text=text))
    return result
