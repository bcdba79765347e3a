"""``compile_tile_kernel``: any tile kernel as gfx950 code, with everything a launcher needs.

Loops of products are pipelined where they have that form: a modulo schedule with rings of LDS
tiles, whose waits and barriers are derived and proven, and code that is exactly it. Every other
loop, and the steps that a pipelined one leaves over, is a plain one: a tile's operands are loaded,
written to LDS and multiplied. Where its loads depend on its variable alone they are issued one step
ahead, into registers. LLVM derives the waits of a plain loop from the uses of what it loads;
barriers stand where two accesses of LDS need one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from warploom.codegen.amdgcn.isa import Resources
from warploom.codegen.amdgcn.isa_check import GateReport
from warploom.codegen.amdgcn.tile_ir.code import ModuleCode, compile_module
from warploom.errors import BackendError, ConfigError
from warploom.frontend.simplify import simplify
from warploom.ir import ScheduleDocument
from warploom.ir.module import KernelModule
from warploom.ir.schedule_ops import OpRole, Phase
from warploom.ir.tile import Access, Kernel
from warploom.ir.waves import Barrier, instructions
from warploom.passes.amdgcn.errors import BudgetError
from warploom.passes.amdgcn.kernel import LoweredKernel, lower_kernel
from warploom.passes.amdgcn.loop_body import UnscheduledError
from warploom.passes.amdgcn.loop_schedule import (
    LoopSchedule,
    ScheduledKernel,
    pipelined_plans,
    schedule_kernel,
    why_plain,
    with_documents,
)
from warploom.passes.amdgcn.plan import TilePlan, candidates
from warploom.passes.amdgcn.wave_module import build_wave_module
from warploom.passes.expand_products import float_i8_products, split_f32_products
from warploom.targets.amdgcn import BYTES, MI355X, AmdMachine

VARIANTS = (  # (reuse, prefetch), tried in order for each tile
    (False, True),
    (False, False),
    (True, False),
)
REGISTER_BUDGETS = (None, 208)  # registers of a lane that may hold values
NEAR_BOUND = 0.1  # of what the busiest unit needs
MOST_TRIED = 8  # compilations
Seen = Callable[[str, float], None]
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class TileProgram:
    """A compiled kernel: the machine code of its module, and what passes chose on the way."""

    kernel: Kernel
    lowered: LoweredKernel
    code: ModuleCode

    @property
    def module(self) -> KernelModule:
        """What is verified, executed and printed."""
        return self.code.module

    @property
    def assembly(self) -> str:
        """The machine code as text."""
        return self.code.assembly

    @property
    def resources(self) -> Resources:
        """Registers, spills and LDS of the compiled kernel."""
        return self.code.resources

    @property
    def plan(self) -> TilePlan:
        """Extents and layouts."""
        return self.lowered.plan

    @property
    def schedule(self) -> str:
        """How its loops are scheduled, in words."""
        return self.code.schedule

    @property
    def schedules(self) -> tuple[LoopSchedule, ...]:
        """The schedules of its pipelined loops, in the order of the kernel."""
        return self.lowered.schedules

    @property
    def not_pipelined(self) -> tuple[str, ...]:
        """Why loops are not pipelined."""
        return self.lowered.program.plain

    @property
    def gate(self) -> GateReport | None:
        """The code of pipelined loops against their schedules; None where none is pipelined."""
        return self.code.gate

    def grid(self, sizes: Mapping[str, int]) -> int:
        """Workgroups of a launch with these axis sizes."""
        return self.code.grid(sizes)

    def object(self) -> bytes:
        """The relocatable object."""
        return self.code.object()

    def sidecar(self) -> dict[str, Any]:
        """What a launcher needs, as JSON-ready values."""
        return self.code.sidecar()

    def sidecar_text(self) -> str:
        """Canonical text of the sidecar."""
        return self.code.sidecar_text()

    def listing(self) -> str:
        """What was chosen, in words."""
        plan, found = self.plan, self.resources
        extents = ", ".join(f"{n} {e}" for n, e in plan.extents.items()) or "no tile"
        body = instructions(self.lowered.program.body)
        barriers = sum(isinstance(x, Barrier) and x.fenced for x in body)
        return "\n".join(
            [
                f"{self.kernel.name} on {plan.machine.cpu}: {self.schedule}",
                f"tile: {extents}; {plan.waves} waves, {barriers} barrier(s)",
                f"registers: {found.vgprs} (of them {found.agprs} AGPRs), {found.vgpr_spills} "
                f"spilled; LDS {found.lds_bytes} bytes",
                *(f"loop {s.document.name}: {s.pace_text()}; {s.status()}" for s in self.schedules),
                *([f"code against schedule: {self.gate.text()}"] if self.gate else []),
                *(f"not pipelined: {why}" for why in self.not_pipelined),
            ]
        )


def compile_tile_kernel(  # noqa: C901 (tiles and their variants)
    kernel: Kernel,
    *,
    extents: Mapping[str, int] | None = None,
    waves: int = 4,
    machine: AmdMachine = MI355X,
    pipelined: bool = True,
    seen: Seen | None = None,
) -> TileProgram:
    """Compile a kernel with the largest tile that fits registers and LDS.

    ``extents`` fixes tiles and steps by variable or axis. ``pipelined=False`` keeps plain loops.
    ``seen`` hears the name and the seconds of every pass that ran.
    """
    clock = _Clock(seen)
    with clock.of("expand"):
        own = expanded(kernel)
    _require(own, machine)
    why: tuple[str, ...] = ()
    if pipelined and machine.wide_dma:
        result = _pipelined(kernel, own, _checked(own, extents or {}), machine, clock)
        if isinstance(result, TileProgram):
            return result
        why = result
    best: TileProgram | None = None
    last: BudgetError | None = None
    for tile in candidates(own, _checked(own, extents or {})):
        plan = TilePlan(kernel=own, extents=tile, waves=waves, machine=machine)
        for reuse, prefetch in VARIANTS:
            try:
                with clock.of("lower"):
                    lowered = lower_kernel(plan, reuse=reuse, prefetch=prefetch, plain=why)
            except BudgetError as error:
                last = error
                continue
            if prefetch and not lowered.program.prefetched:
                continue  # the same as the next variant
            with clock.of("codegen"):
                program = _compiled(kernel, lowered)
            if not program.resources.vgpr_spills and not program.resources.scratch_bytes:
                return program
            if best is None or program.resources.vgpr_spills < best.resources.vgpr_spills:
                best = program
            if not prefetch:
                break
    if best is not None:
        return best
    assert last is not None
    raise BackendError(
        f"kernel '{own.name}' does not fit a compute unit: {last.what}",
        where=str(own.line or ""),
        why="the smallest tiles were tried",
        fix="shorter whole axes, or a loop over one of them",
    )


def _compiled(source: Kernel, lowered: LoweredKernel) -> TileProgram:
    """The machine code of a lowered kernel; ``source``: as it was written."""
    code = compile_module(build_wave_module(source, lowered))
    return TileProgram(kernel=lowered.plan.kernel, lowered=lowered, code=code)


def expanded(kernel: Kernel) -> Kernel:
    """The kernel with products of f32 and i8 as products of bf16, folded and shared."""
    return simplify(float_i8_products(split_f32_products(kernel)))


def compile_scheduled(
    kernel: Kernel, documents: Sequence[ScheduleDocument], *, extents: Mapping[str, int],
    waves: int, across: int, machine: AmdMachine = MI355X,
) -> TileProgram:  # fmt: skip
    """Compile a kernel with given schedules of its pipelined loops, in their order.

    Raises ``BackendError`` where a schedule is not one of its loop, or the code is not exactly it.
    """
    entries = [e for document in documents for p in Phase for e in document.phase(p)]
    plan = TilePlan(
        kernel=expanded(kernel), extents=dict(extents), waves=waves, across=across, machine=machine,
        exchange=any(e.op.role is OpRole.SHARED_STORE for e in entries),
    )  # fmt: skip
    scheduled = with_documents(plan, documents)
    lowered = lower_kernel(scheduled.plan, schedules=scheduled.by_loop, plain=scheduled.plain)
    program = _compiled(kernel, lowered)
    if program.gate is not None:
        program.gate.require()
    return program


def _pipelined(
    source: Kernel, own: Kernel, pinned: Mapping[str, int], machine: AmdMachine, clock: _Clock
) -> TileProgram | tuple[str, ...]:
    """The first configuration whose code is exactly its schedules; else why there is none.

    How many registers addresses and temporaries take only the compiler knows: where the code
    spills, the same loop is scheduled with fewer registers for values, then for a smaller tile.
    """
    why: dict[str, None] = {}
    tried = 0
    for plan in clock.each("tiles", pipelined_plans(own, pinned, machine)):
        for scheduled in clock.each("order", _orders(plan, why)):
            try:
                with clock.of("lower"):
                    lowered = lower_kernel(
                        scheduled.plan, schedules=scheduled.by_loop, plain=scheduled.plain
                    )
            except (UnscheduledError, BackendError) as error:
                why[str(getattr(error, "what", "") or error)] = None
                continue
            try:
                with clock.of("codegen"):
                    program = _compiled(source, lowered)
            except BackendError as error:
                return (*why, str(error).splitlines()[0])  # it is lowered without a pipeline
            with clock.of("gate"):
                assert program.gate is not None
            if program.gate.exact:
                return program
            tried += 1
            why[f"the code of {dict(plan.extents)} is not its schedule"] = None
            if tried == MOST_TRIED:
                return tuple(why)
    return tuple(why) or why_plain(own, pinned, machine)


class _Clock:
    """Tells somebody how long passes took."""

    def __init__(self, seen: Seen | None) -> None:
        self.seen = seen or (lambda _, __: None)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """A pass."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seen(name, perf_counter() - begun)

    def each(self, name: str, values: Iterator[_T]) -> Iterator[_T]:
        """A pass whose results come one after the other; what is done with them is not counted."""
        while True:
            with self.of(name):
                found = next(values, None)
            if found is None:
                return
            yield found


def _orders(plan: TilePlan, why: dict[str, None]) -> Iterator[ScheduledKernel]:
    """Schedules of a plan, the fastest first. Those that waves of a SIMD run in turns come at once
    where they are near what the busiest unit needs: nothing could be much faster.
    """
    found = []
    with suppress(UnscheduledError):
        turned = schedule_kernel(plan, in_turns=True)
        if turned.cycles <= turned.bound * (1 + NEAR_BOUND):
            yield turned
        else:
            found.append(turned)
    for registers in REGISTER_BUDGETS:
        try:
            made = schedule_kernel(plan, registers)
        except UnscheduledError as error:
            why[str(error)] = None
            continue
        if plan.exchange:  # bodies of many ops: the next budget takes a solver its time
            yield made
        else:
            found.append(made)
    yield from sorted(found, key=lambda each: each.cycles)


def _require(own: Kernel, machine: AmdMachine) -> None:
    """Refuse tensors that a machine has no code for."""
    if any(t.access is Access.TURNS for t in own.tensors):
        raise BackendError(
            "the gfx950 back end does not take sums in a fixed order of tiles",
            where=str(own.line or ""),
            why="tiles would wait for one another's turn",
            fix="leave the 'turns' tensor out: sums are then atomic",
        )
    floats = [t for t in own.tensors if t.dtype in BYTES]
    if floats and not machine.byte_k:
        raise BackendError(
            f"{machine.name} does not take tensor '{floats[0].name}' of {floats[0].dtype.value}",
            where=str(own.line or ""),
            why="its 8-bit floats have another bias than OCP's",
            fix="bf16 or f16 tensors, or mi355x",
        )


def _checked(kernel: Kernel, extents: Mapping[str, int]) -> dict[str, int]:
    known = {v.name for v in kernel.vars} | {v.axis for v in kernel.vars}
    for name, extent in extents.items():
        if name not in known or type(extent) is not int or extent < 1:
            raise ConfigError(
                f"extent {extent!r} of {name!r}",
                where=kernel.name,
                fix=f"positive numbers for {', '.join(sorted(known))}",
            )
    return dict(extents)
