"""The three verifications of a module in one report: synchronisation, coverage, dataflow."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from math import prod
from typing import Any

from warploom.errors import DocumentError, TooLargeError
from warploom.interp.dataflow import DataflowReport, compile_sizes, verify_dataflow
from warploom.ir.counter_document import schedule_document
from warploom.ir.limits import COPY_UNIT
from warploom.ir.module import Dialect, KernelModule
from warploom.ir.operations import StepLoop
from warploom.ir.roles_document import roles_documents
from warploom.ir.tile import Kernel, results, walk
from warploom.ir.types import Access
from warploom.ir.wave_documents import wave_documents
from warploom.verify.counter_schedules import verify
from warploom.verify.coverage import verify_coverage
from warploom.verify.coverage.report import CoverageReport
from warploom.verify.findings import FLOW_DECLARED, Finding, Report, finding_to_json
from warploom.verify.roles import verify_roles
from warploom.verify.roles.capacity import SHARED_BYTES
from warploom.verify.roles.composition import check_loops

MOST_EXTENT, MOST_NUMBER, MOST_THREADS = 1 << 12, 1 << 32, 1024
LANES = 64  # of a wave
BARRIERS = 16  # bytes of a slot's two
_LOST = (LookupError, RuntimeError, StopIteration)
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
    except (*_LOST, ArithmeticError, TypeError, ValueError) as error:
        raise DocumentError(
            f"the module cannot be followed: {type(error).__name__} {error}",
            path="$.module",
            fix="a module as warploom.ir.to_json writes it",
        ) from error


def _verified(module: KernelModule) -> ModuleReport:
    together: tuple[Finding, ...] = ()
    loops: tuple[Report, ...] = ()
    if module.program is not None:
        loops = tuple(verify(d) for d in wave_documents(module))
    elif module.dialect is Dialect.COUNTER:
        loops = (verify(schedule_document(module)),)
    elif module.storage.rings:
        documents = roles_documents(module)
        loops = tuple(verify_roles(d) for d in documents)
        together = tuple(check_loops(documents)) if all(r.clean for r in loops) else ()
    result = ModuleReport(name=module.name, synchronisation=loops, together=together)
    if loops and result.verdict not in ("clean", "timing"):
        return result
    covered = verify_coverage(module)
    result = ModuleReport(
        name=module.name, synchronisation=loops, together=together, coverage=covered
    )
    if covered.findings:
        return result
    tried = [compile_sizes(module)] if module.roles else []
    return ModuleReport(
        name=module.name,
        synchronisation=loops,
        together=together,
        coverage=covered,
        dataflow=verify_dataflow(module, sizes_tried=tried),
    )


def _check_numbers(module: KernelModule) -> None:
    """Numbers that no module has; what they would ask for is not even counted."""
    if module.threads is not None or module.program is not None:
        _check_signature(module)
        return
    if not module.roles:
        raise DocumentError("a module without roles", path="$.module.roles")
    large = next((n for n in _numbers(module) if abs(n) > MOST_NUMBER), None)
    if large is not None:
        raise DocumentError(f"the number {large}", path="$.module", fix="numbers below 2^32")
    extents = [a.extent for r in module.roles for a in r.tiles.schedule.axes]
    extents += [n for r in module.roles for a in r.arrays for n in (a.blocks, a.cols, a.registers)]
    extents += [n for p in module.storage.parts for n in (p.rows, p.cols)]
    extents += [n for p in module.storage.staging for n in (p.rows, p.cols)]
    extents += [r.instances for r in module.roles] + [r.threads for r in module.roles]
    bodies = [r.tiles.body for r in module.roles]
    bodies += [p.body for r in module.roles for p in r.earlier]
    for op in (o for body in bodies for s in body for o in _operations(s)):
        layout = getattr(op, "layout", None)
        if layout is not None:
            extents.append(prod(max(i.extent, 0) for i in layout.indices))
    most = max(extents)
    if most > MOST_EXTENT:
        raise TooLargeError(f"{most} elements in one place", path="$.module", fix=f"{MOST_EXTENT}")
    _check_signature(module)


def _operations(statement: Any) -> tuple[Any, ...]:  # noqa: ANN401 (any statement)
    return statement.body if isinstance(statement, StepLoop) else (statement,)


def _check_signature(module: KernelModule) -> None:
    """Accesses are of the kinds there are, and values have axes that exist."""
    known = {a.value for a in Access}
    for n, tensor in enumerate(module.tensors):
        if tensor.access not in known:
            raise DocumentError(
                f"access {tensor.access!r}",
                path=f"$.module.tensors[{n}].access",
                fix=", ".join(sorted(known)),
            )
    for m in module.maps:
        at = next(n for n, t in enumerate(module.tensors) if t.name == m.tensor)
        if module.tensors[at].alignment % COPY_UNIT:
            raise DocumentError(
                f"a tensor map of {m.tensor!r}, at {module.tensors[at].alignment} bytes",
                path=f"$.module.tensors[{at}].alignment",
                fix=f"a multiple of {COPY_UNIT}",
            )
    axes = {a.name for t in module.kernel.tensors for a in t.axes}
    foreign = next((v.axis for v in module.kernel.vars if v.axis not in axes), None)
    if foreign is not None:
        raise DocumentError(f"no tensor has an axis {foreign!r}", path="$.module.kernel.vars")
    _check_values(module.kernel)
    if module.program is not None and module.launch.block != LANES * module.program.waves:
        raise DocumentError(
            f"a block of {module.launch.block} threads for {module.program.waves} waves",
            path="$.module.launch.block",
        )
    block = sum(-(-r.threads // 32) * 32 * r.instances for r in module.roles)
    if not block <= module.launch.block <= MOST_THREADS:
        raise DocumentError(
            f"a block of {module.launch.block} threads for roles of {block}",
            path="$.module.launch.block",
        )
    instances = {r.name: r.instances for r in module.roles}
    storage = module.storage
    held = sum(r.depth * (r.slot_stride + BARRIERS) for r in storage.rings)
    held += sum(b.copies * b.bytes * instances.get(b.role, 1) for b in storage.buffers)
    if (
        module.dialect is Dialect.MBARRIER
        and not held <= module.launch.shared_bytes <= SHARED_BYTES
    ):
        raise DocumentError(
            f"{module.launch.shared_bytes} bytes of shared memory for {held}",
            path="$.module.launch.shared_bytes",
            fix=f"{held} to {SHARED_BYTES}",
        )


def _check_values(kernel: Kernel) -> None:
    """Values have axes of variables that exist."""
    named = {v.name for v in kernel.vars}
    for op in walk(kernel.ops):
        for value in results(op):
            lost = next((d.var for d in value.dims if d.var not in named), None)
            if lost is not None:
                raise DocumentError(
                    f"the value {value.name!r} has an axis of no variable: {lost!r}",
                    path="$.kernel.ops",
                )


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
