"""The ISA gate: the instruction stream of the whole kernel against its schedule, step by step.

LLVM fills wait states with ``s_nop``, but not around instructions that are written out; they are
checked by the rules of ``check``.

Exact order, exact wait counts, nothing added, nothing lost, no spills. Outside the schedule stand
only the setup in front of the first load (kernel arguments) and the store of C. When the document
leaves register waits to the compiler, waits it added are allowed and counted; they can only order
more.
"""

from dataclasses import asdict, dataclass
from typing import Any

from warploom.check.amdgcn.hazards import wait_state_hazards
from warploom.codegen.amdgcn.isa import Resources, parse_assembly, read_resources, the_kernel
from warploom.codegen.amdgcn.isa_check.expected import (
    Expected,
    Gated,
    Step,
    expected_steps,
    observed_paths,
    side_by_side,
)
from warploom.errors import BackendError
from warploom.ir import RegisterWaits


def matrix_hazards(assembly_text: str) -> list[str]:
    """Every place where an instruction comes too early for the wait states of an earlier one."""
    return [
        f"line {h.second.line}: {h.second.mnemonic} uses {h.what} {h.states} wait states after "
        f"{h.first.mnemonic} of line {h.first.line}; {h.needed} are needed"
        for h in wait_state_hazards(the_kernel(assembly_text))
    ]


TRIPS = (0, 1, 2)  # what the walk over the text can tell apart
FIRST = ("dma", "load")  # a kernel's first scheduled instruction


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """The gate's verdict. ``differences`` are readable; ``compiler_waits`` are per path of n=1."""

    exact: bool
    differences: tuple[str, ...]
    steps: int
    kernel_steps: int
    compiler_waits: int
    resources: Resources

    def text(self) -> str:
        """The verdict as text, with schedule and code side by side where they differ."""
        r = self.resources
        head = (
            f"{'exact' if self.exact else 'DIFFERS'}: {self.steps} scheduled instructions, "
            f"{self.kernel_steps} in the loop, {r.vgprs} registers ({r.agprs} AGPR), "
            f"{r.spills} spills, {r.lds_bytes} bytes of LDS"
        )
        return "\n".join([head, *self.differences])

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON-ready values."""
        return asdict(self)

    def require(self) -> None:
        """Raise unless the code is exactly the schedule."""
        if not self.exact:
            raise BackendError(
                "the code is not the schedule",
                where=self.text(),
                why="waits and barriers were proven for the scheduled order only",
                fix="see the first differing line; spills and copies go away with a smaller tile, "
                "a larger matrix instruction or more waves",
            )


def check_isa(plan: Gated, assembly_text: str) -> GateReport:
    """Compare the assembly of a kernel with the schedule it was emitted from."""
    expected = expected_steps(plan)
    resources = read_resources(assembly_text)
    lenient = plan.document.protocol.register_waits is RegisterWaits.COMPILER
    reads = plan.tail_reads
    tail = ("store", *(("load",) if reads else ()), *(("wait",) if reads or lenient else ()))
    assembly = parse_assembly(assembly_text)
    paths = [_scheduled(p) for p in observed_paths(assembly)]
    differences = [d for path in paths for d in path.differences] + matrix_hazards(assembly_text)
    seen: dict[int, int] = {}
    for path in paths:
        trips, added = _match(expected, path.steps, lenient, tail)
        if trips is None:
            outside = (*tail, "wait")
            last = max((i for i, s in enumerate(path.steps) if s.kind not in outside), default=-1)
            got = path.steps[: last + 1]
            nearest = min(TRIPS, key=lambda n: abs(len(expected.run(n)) - len(got)))
            differences.append(side_by_side(expected.run(nearest), got, nearest))
        else:
            seen[trips] = added
    if not differences:
        differences += [f"no path runs the loop {n} time(s)" for n in TRIPS if n not in seen]
    if resources.spills:
        differences.append(
            f"{resources.vgpr_spills} vector and {resources.sgpr_spills} scalar registers spilled"
        )
    return GateReport(
        exact=not differences,
        differences=tuple(dict.fromkeys(differences)),
        steps=len(expected.run(1)),
        kernel_steps=len(expected.kernel),
        compiler_waits=seen.get(1, 0),
        resources=resources,
    )


@dataclass(frozen=True, slots=True)
class _Path:
    steps: tuple[Step, ...]
    differences: tuple[str, ...]


def _scheduled(path: tuple[Step, ...]) -> _Path:
    """Cut the setup off, naming what does not belong there."""
    first = next((i for i, s in enumerate(path) if s.kind in FIRST), len(path))
    setup, rest = path[:first], path[first:]
    wrong = [
        f"before the first load: {s.label()} ({s.source})"
        for s in setup
        if s.kind != "wait" and not s.kind.startswith("s_load")
    ]
    loads = [i for i, s in enumerate(setup) if s.kind.startswith("s_load")]
    waited = any(s.kind == "wait" and s.detail[1] == 0 for s in setup[max(loads, default=0) :])
    if loads and not waited:
        wrong.append("the kernel arguments are never waited for")
    return _Path(rest, tuple(wrong))


def _match(
    expected: Expected, steps: tuple[Step, ...], lenient: bool, tail: tuple[str, ...]
) -> tuple[int | None, int]:
    for trips in TRIPS:
        added = _follows(expected.run(trips), steps, lenient, tail)
        if added is not None:
            return trips, added
    return None, 0


def _follows(
    want: tuple[Step, ...], got: tuple[Step, ...], lenient: bool, tail: tuple[str, ...]
) -> int | None:
    """Waits the compiler added, or None when the code is not the schedule.

    After the last scheduled step C is stored, and what its tail needs is read.
    """
    at = added = 0
    for step in want:
        while at < len(got) and not _serves(step, got[at], lenient):
            if not (lenient and got[at].kind == "wait"):
                return None
            added += 1
            at += 1
        if at == len(got):
            return None
        at += 1
    return added if all(s.kind in tail for s in got[at:]) else None


def _serves(want: Step, got: Step, lenient: bool) -> bool:
    if want.same(got):
        return True
    stronger = want.kind == got.kind == "wait" and all(
        g <= w for g, w in zip(got.detail, want.detail, strict=True)
    )
    return lenient and stronger
