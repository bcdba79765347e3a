"""``compile_tile_kernel``: any tile kernel as gfx950 code, with everything a launcher needs.

Loops of products are pipelined where they have that form: a modulo schedule with rings of LDS
tiles, whose waits and barriers are derived and proven, and code that is exactly it. Every other
loop, and the steps that a pipelined one leaves over, is a plain one: a tile's operands are loaded,
written to LDS and multiplied. Where its loads depend on its variable alone they are issued one step
ahead, into registers. LLVM derives the waits of a plain loop from the uses of what it loads;
barriers stand where two accesses of LDS need one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from time import perf_counter
from typing import Any, TypeVar

from warploom.codegen.amdgcn.isa import Resources, read_resources
from warploom.codegen.amdgcn.isa_check import GateReport
from warploom.codegen.amdgcn.isa_check.regions import check_regions
from warploom.codegen.amdgcn.tile_ir.errors import BudgetError
from warploom.codegen.amdgcn.tile_ir.kernel import KERNEL_NAME, LoweredKernel, lower_kernel
from warploom.codegen.amdgcn.tile_ir.loop_body import UnscheduledError
from warploom.codegen.amdgcn.tile_ir.loop_schedule import (
    LoopSchedule,
    ScheduledKernel,
    gated_loop,
    loop_sidecar,
    pipelined_plans,
    schedule_kernel,
    why_plain,
    with_documents,
)
from warploom.codegen.amdgcn.tile_ir.machine import BYTES, HALVES, MI355X, AmdMachine
from warploom.codegen.amdgcn.tile_ir.plan import TilePlan, candidates
from warploom.codegen.amdgcn.tile_ir.signature import Argument
from warploom.codegen.amdgcn.toolchain import compile_ir, compile_object
from warploom.errors import BackendError, ConfigError
from warploom.frontend.simplify import simplify
from warploom.ir import ScheduleDocument, tile as ir
from warploom.ir.schedule_ops import OpRole, Phase
from warploom.ir.tile import Access, Kernel, is_number, walk
from warploom.passes.expand_products import float_i8_products, split_f32_products

SCHEMA = "warploom.tile_kernel.gfx950/1"
PLAIN = "single buffer, not pipelined"
AHEAD = "single buffer in LDS, the next step's tiles are loaded ahead into registers"
VARIANTS = (  # (reuse, prefetch), tried in order for each tile
    (False, True),
    (False, False),
    (True, False),
)
MOST_GROUPS = 2**31 - 1
REGISTER_BUDGETS = (None, 208)  # registers of a lane that may hold values
NEAR_BOUND = 0.1  # of what the busiest unit needs
MOST_TRIED = 8  # compilations
Seen = Callable[[str, float], None]
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class TileProgram:
    """A compiled kernel: LLVM IR, assembly, and how to launch it."""

    kernel: Kernel
    lowered: LoweredKernel
    assembly: str
    versions: Mapping[str, str]
    not_pipelined: tuple[str, ...] = ()

    @cached_property
    def resources(self) -> Resources:
        """Registers, spills and LDS of the compiled kernel."""
        return read_resources(self.assembly)

    @property
    def plan(self) -> TilePlan:
        """Extents and layouts."""
        return self.lowered.plan

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Arguments in order."""
        return self.lowered.signature.arguments

    @property
    def schedule(self) -> str:
        """How its loops are scheduled, in words."""
        if self.schedules:
            copies = max(n for s in self.schedules for n in s.copies.values())
            return f"pipelined, {copies} tiles deep in LDS; waits and barriers derived"
        return AHEAD if self.lowered.prefetched else PLAIN

    @property
    def schedules(self) -> tuple[LoopSchedule, ...]:
        """The schedules of its pipelined loops, in the order of the kernel."""
        return self.lowered.schedules

    @cached_property
    def gate(self) -> GateReport | None:
        """The code of pipelined loops against their schedules; None where none is pipelined."""
        if not self.schedules:
            return None
        return check_regions([gated_loop(s) for s in self.schedules], self.assembly)

    def grid(self, sizes: Mapping[str, int]) -> int:
        """Workgroups of a launch with these axis sizes."""
        return grid_of(self.sidecar()["grid"], sizes)

    def object(self) -> bytes:
        """The relocatable object."""
        return self._object

    @cached_property
    def _object(self) -> bytes:
        return compile_object(
            self.lowered.ir,
            self.assembly,
            self.plan.machine.cpu,
            written_out=self.lowered.written_out,
        )

    def sidecar(self) -> dict[str, Any]:
        """What a launcher needs, as JSON-ready values."""
        kernel, plan = self.kernel, self.plan
        # Numbers of 16 bits are added to the word they lie in: the last one's ends with the tensor.
        added = {op.tensor for op in walk(kernel.ops) if isinstance(op, ir.Store) and op.add}
        summed = {t.name for t in kernel.tensors if t.name in added and t.dtype in HALVES}
        found = self.resources
        return {
            "schema": SCHEMA,
            "kernel": KERNEL_NAME,
            "computes": kernel.name,
            "target": plan.machine.cpu,
            "schedule": self.schedule,
            "arguments": [a.to_json() for a in self.arguments],
            "tensors": [
                {
                    "name": t.name,
                    "dtype": t.dtype.value,
                    "access": t.access.value,
                    "axes": [{"name": a.name, "per": a.per} for a in t.axes],
                    **({"whole_words": True} if t.name in summed else {}),
                }
                for t in kernel.tensors
            ],
            "fixed_sizes": dict(self.lowered.signature.fixed),
            "grid": grid_rule(plan),
            "block_size": [plan.threads, 1, 1],
            "extents": dict(plan.extents),
            "lds_bytes": found.lds_bytes,
            "registers": {"vgprs": found.vgprs, "agprs": found.agprs, "sgprs": found.sgprs},
            "spills": {"vgpr": found.vgpr_spills, "sgpr": found.sgpr_spills},
            "scratch_bytes": found.scratch_bytes,
            "loops": [loop_sidecar(s) for s in self.schedules],
            "not_pipelined": list(self.not_pipelined),
            "made_with": dict(self.versions),
        }

    def sidecar_text(self) -> str:
        """Canonical text of the sidecar."""
        return json.dumps(self.sidecar(), indent=2) + "\n"

    def listing(self) -> str:
        """What was chosen, in words."""
        plan, found = self.plan, self.resources
        extents = ", ".join(f"{n} {e}" for n, e in plan.extents.items()) or "no tile"
        return "\n".join(
            [
                f"{self.kernel.name} on {plan.machine.cpu}: {self.schedule}",
                f"tile: {extents}; {plan.waves} waves, {self.lowered.barriers} barrier(s)",
                f"registers: {found.vgprs} (of them {found.agprs} AGPRs), {found.vgpr_spills} "
                f"spilled; LDS {found.lds_bytes} bytes",
                *(f"loop {s.document.name}: {s.pace_text()}; {s.status()}" for s in self.schedules),
                *([f"code against schedule: {self.gate.text()}"] if self.gate else []),
                *(f"not pipelined: {why}" for why in self.not_pipelined),
            ]
        )


def is_tile_sidecar(text: str) -> bool:
    """Whether a sidecar is one of this lowering."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("schema") == SCHEMA


def grid_rule(plan: TilePlan) -> dict[str, Any]:
    """How many workgroups a launch has: a product over axes, for groups at most so many."""
    kernel = plan.kernel
    names = list(kernel.grid.vars)
    rule: dict[str, Any] = {"kind": kernel.grid.kind}
    if kernel.grid.kind == "groups":
        group = kernel.var(names[0])
        row = next(n for n in names[1:] if not is_number(kernel.var(n)))
        names = [n for n in names[1:] if n != row]
        rule |= {
            "groups": group.axis,
            "rows": {"axis": kernel.var(row).axis, "extent": plan.extents[row]},
        }
    rule["tiles"] = [
        {"axis": kernel.var(n).axis, "extent": 1 if is_number(kernel.var(n)) else plan.extents[n]}
        for n in names
    ]
    return rule


def grid_of(rule: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    """Workgroups by a grid rule."""
    total: int = prod(-(-sizes[t["axis"]] // t["extent"]) for t in rule["tiles"])
    if rule["kind"] == "groups":
        rows = sizes[rule["rows"]["axis"]]
        some = rows // rule["rows"]["extent"] + sizes[rule["groups"]] if rows else 0
        total *= some
    if total > MOST_GROUPS:
        raise ConfigError(
            f"a launch of {total} workgroups", where="grid", fix="split it into several launches"
        )
    return total


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
        found = _pipelined(own, _checked(own, extents or {}), machine, clock)
        if isinstance(found, TileProgram):
            return found
        why = found
    best: TileProgram | None = None
    last: BudgetError | None = None
    for tile in candidates(own, _checked(own, extents or {})):
        plan = TilePlan(kernel=own, extents=tile, waves=waves, machine=machine)
        for reuse, prefetch in VARIANTS:
            try:
                with clock.of("lower"):
                    lowered = lower_kernel(plan, reuse=reuse, prefetch=prefetch)
            except BudgetError as error:
                last = error
                continue
            if prefetch and not lowered.prefetched:
                continue  # the same as the next variant
            with clock.of("codegen"):
                program = _compiled(own, lowered, why)
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


def _compiled(kernel: Kernel, lowered: LoweredKernel, plain: tuple[str, ...]) -> TileProgram:
    """The machine code of a lowered kernel; ``plain``: why loops of it are not pipelined."""
    made = compile_ir(lowered.ir, lowered.plan.machine.cpu)
    return TileProgram(
        kernel=kernel,
        lowered=lowered,
        assembly=made.assembly,
        versions={"llvm": made.llvm, "llvmlite": made.llvmlite},
        not_pipelined=plain,
    )


def expanded(kernel: Kernel) -> Kernel:
    """The kernel with products of f32 and i8 as products of bf16, folded and shared."""
    return simplify(float_i8_products(split_f32_products(kernel)))


def compile_scheduled(
    kernel: Kernel, documents: Sequence[ScheduleDocument], *, extents: Mapping[str, int],
    waves: int, across: int, machine: AmdMachine = MI355X,
) -> TileProgram:  # fmt: skip
    """Compile an expanded kernel with given schedules of its pipelined loops, in their order.

    Raises ``BackendError`` where a schedule is not one of its loop, or the code is not exactly it.
    """
    entries = [e for document in documents for p in Phase for e in document.phase(p)]
    plan = TilePlan(
        kernel=kernel, extents=dict(extents), waves=waves, across=across, machine=machine,
        exchange=any(e.op.role is OpRole.SHARED_STORE for e in entries),
    )  # fmt: skip
    scheduled = with_documents(plan, documents)
    lowered = lower_kernel(scheduled.plan, schedules=scheduled.by_loop)
    program = _compiled(kernel, lowered, scheduled.plain)
    if program.gate is not None:
        program.gate.require()
    return program


def _pipelined(
    own: Kernel, pinned: Mapping[str, int], machine: AmdMachine, clock: _Clock
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
                    lowered = lower_kernel(scheduled.plan, schedules=scheduled.by_loop)
            except (UnscheduledError, BackendError) as error:
                why[str(getattr(error, "what", "") or error)] = None
                continue
            try:
                with clock.of("codegen"):
                    program = _compiled(own, lowered, scheduled.plain)
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
