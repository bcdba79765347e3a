"""The three verifications of a module in one report: synchronisation, coverage, dataflow."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from warploom.errors import DocumentError, TooLargeError
from warploom.interp.dataflow import DataflowReport, compile_sizes, verify_dataflow
from warploom.ir.counter_document import schedule_document
from warploom.ir.module import Dialect, KernelModule
from warploom.ir.roles_document import roles_documents
from warploom.verify.coverage import verify_coverage
from warploom.verify.coverage.report import CoverageReport
from warploom.verify.findings import FLOW_DECLARED, Finding, Report, finding_to_json
from warploom.verify.judge import verify
from warploom.verify.roles import verify_roles
from warploom.verify.roles.composition import check_loops

MOST_EXTENT, MOST_NUMBER = 1 << 12, 1 << 32
_ORDER = ("race", "wrong", "not judged", "timing", "clean")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleReport:
    """What was verified of a module. ``synchronisation``: one report a loop; ``together``: what is
    wrong with several loops of a tile. What stands behind something wrong is not asked any more.
    """

    name: str
    synchronisation: tuple[Report, ...] = ()
    together: tuple[Finding, ...] = ()
    coverage: CoverageReport | None = None
    dataflow: DataflowReport | None = None

    @property
    def verdict(self) -> str:
        """The worst of all."""
        found = [r.verdict for r in self.synchronisation] + ["race"] * bool(self.together)
        found += [r.verdict for r in (self.coverage, self.dataflow) if r is not None]
        return min(found, key=_ORDER.index, default="not judged")

    @property
    def assumes(self) -> tuple[str, ...]:
        """What it rests on: a declared dataflow does not count where the kernel was compared."""
        judged = self.dataflow is not None and self.dataflow.verdict == "clean"
        found = dict.fromkeys(a for r in self.synchronisation for a in r.assumes)
        return tuple(a for a in found if not (judged and a == FLOW_DECLARED))

    def text(self) -> str:
        """The report as readable lines."""
        lines = [f"module {self.name}: {self.verdict}"]
        lines += [r.text() for r in self.synchronisation]
        lines += [f.text() for f in self.together]
        lines += [str(r) for r in (self.coverage, self.dataflow) if r is not None]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values, with the keys that reports of schedules have."""
        proven = [r.trips_proven for r in self.synchronisation]
        found = [finding_to_json(f) for r in self.synchronisation for f in r.findings]
        found += [finding_to_json(f) for f in self.together]
        more: dict[str, Any] = {}
        if self.coverage is not None:
            found += [{"code": "COVERAGE", "why": str(f)} for f in self.coverage.findings]
            more["coverage"] = [f"{c.what}: {c.how}" for c in self.coverage.claims]
        if self.dataflow is not None:
            found += [{"code": "DATAFLOW", "why": f} for f in self.dataflow.findings]
            sizes = [dict(s) for s in self.dataflow.tried]
            more["dataflow"] = {"how": self.dataflow.how, "sizes": sizes}
            if self.dataflow.not_judged:
                more["not_judged"] = [self.dataflow.not_judged]
        return {
            "verdict": self.verdict,
            "trips_proven": ", ".join(dict.fromkeys(proven)) or None,
            "assumes": list(self.assumes),
            "findings": found,
            **more,
        }


def verify_module(module: KernelModule) -> ModuleReport:
    """All three verifications of a module, wherever it comes from.

    ``DocumentError`` for one that has no meaning or is too large to judge.
    """
    _check_numbers(module)
    try:
        return _verified(module)
    except (KeyError, LookupError, StopIteration, ArithmeticError, ValueError) as error:
        raise DocumentError(
            f"the module cannot be followed: {type(error).__name__} {error}",
            path="$.module",
            fix="a module as warploom.ir.to_json writes it",
        ) from error


def _verified(module: KernelModule) -> ModuleReport:
    together: tuple[Finding, ...] = ()
    loops: tuple[Report, ...] = ()
    if module.dialect is Dialect.COUNTER:
        loops = (verify(schedule_document(module)),)
    elif module.storage.rings:
        documents = roles_documents(module)
        loops = tuple(verify_roles(d) for d in documents)
        together = tuple(check_loops(documents)) if all(r.clean for r in loops) else ()
    made = ModuleReport(name=module.name, synchronisation=loops, together=together)
    if loops and made.verdict not in ("clean", "timing"):
        return made
    covered = verify_coverage(module)
    made = ModuleReport(
        name=module.name, synchronisation=loops, together=together, coverage=covered
    )
    if covered.findings:
        return made
    return ModuleReport(
        name=module.name,
        synchronisation=loops,
        together=together,
        coverage=covered,
        dataflow=verify_dataflow(module, sizes_tried=[compile_sizes(module)]),
    )


def _check_numbers(module: KernelModule) -> None:
    """Numbers that no module has; what they would ask for is not even counted."""
    for axis in module.roles[0].tiles.schedule.axes if module.roles else ():
        if axis.extent > MOST_EXTENT:
            raise TooLargeError(
                f"tiles of {axis.extent} elements", path="$.module.roles", fix=f"{MOST_EXTENT}"
            )
    if not module.roles:
        raise DocumentError("a module without roles", path="$.module.roles")
    large = next((n for n in _numbers(module) if abs(n) > MOST_NUMBER), None)
    if large is not None:
        raise DocumentError(f"the number {large}", path="$.module", fix="numbers below 2^32")


def _numbers(value: Any) -> Any:  # noqa: ANN401 (any part of a module)
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            yield from _numbers(getattr(value, f.name))


__all__ = ["ModuleReport", "verify_module"]
