"""The role programs of a module for the verifier of synchronisation (mbarrier dialect).

``roles_document`` drops what decides values (indices, predicates, layouts) and keeps every wait,
arrival, copy, product and touch of storage, in order. It is derived from the module: what the
verifier proves is what the code generator prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import DocumentError
from warploom.ir import mbarrier_dialect as roles, operations as ops
from warploom.ir.expr import IntExpr, Sym, SymKind, linear
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram, RolesDocument
from warploom.ir.module import Dialect, KernelModule, Role
from warploom.ir.operation_table import OPERATIONS
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.rings import NamedBarrier

_BASES = {
    "setup": None,
    "prologue": None,
    "kernel": Sym(SymKind.STEP, "t"),
    "epilogue": Sym(SymKind.LET, "trips"),
    "finish": Sym(SymKind.LET, "end"),
}


def roles_document(module: KernelModule) -> RolesDocument:
    """The document the verifier of synchronisation reads."""
    if module.dialect is not Dialect.MBARRIER:
        raise DocumentError(
            f"a module of the {module.dialect} dialect has no roles document",
            path="$.module.dialect",
            fix="its counter document: warploom.ir.counter_document",
        )
    before = {r.name for loop in module.earlier for r in loop.rings}
    numbers = {b.id for loop in module.earlier for b in loop.barriers}
    last = LoopPhaseView(
        registers=module.registers,
        phases=tuple((r.setup, r.tiles.body, r.finish) for r in module.roles),
        barriers=tuple(b for b in module.storage.barriers if b.id not in numbers),
        named={},
    )
    return RolesDocument(
        name=module.name,
        target=module.target,
        strategy=module.strategy,
        rings=tuple(r for r in module.storage.rings if r.name not in before),
        programs=_programs(module, last),
        buffers=module.storage.buffers,
        barriers=last.barriers,
        cluster=module.launch.cluster,
        proof=module.proof,
        tile=module.tile,
        dtype=module.dtype,
        flow=module.flow,
        exchanges=module.exchanges,
        least_trips=module.least_trips,
        unroll=module.unroll,
    )


def roles_documents(module: KernelModule) -> tuple[RolesDocument, ...]:
    """The documents of all loops of a tile, in order."""
    made = []
    for n, loop in enumerate(module.earlier):
        numbers = {b.id: b.name for b in loop.barriers}
        view = LoopPhaseView(
            registers=loop.registers,
            phases=tuple(
                (p.setup, p.body, p.finish) for r in module.roles for p in (r.earlier[n],)
            ),
            barriers=loop.barriers,
            named={b.name: numbers[b.id] for b in module.storage.barriers if b.id in numbers},
        )
        made.append(
            RolesDocument(
                name=loop.name,
                target=module.target,
                strategy=loop.strategy,
                rings=loop.rings,
                programs=_programs(module, view),
                barriers=loop.barriers,
                cluster=module.launch.cluster,
                proof=loop.proof,
                tile=loop.tile,
                dtype=loop.dtype,
                flow=loop.flow,
                exchanges=loop.exchanges,
                least_trips=loop.least_trips,
                unroll=loop.unroll,
            )
        )
    return (*made, roles_document(module))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPhaseView:
    """One loop of all roles: setup, body and finish of each, and what it is called by."""

    registers: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    phases: tuple[tuple[tuple[Statement, ...], tuple[Statement, ...], tuple[Statement, ...]], ...]
    barriers: tuple[NamedBarrier, ...]
    named: Mapping[str, str]


def _programs(module: KernelModule, view: LoopPhaseView) -> tuple[RoleProgram, ...]:
    registers = dict(view.registers)
    made = []
    for role, phases in zip(module.roles, view.phases, strict=True):
        program = _program(role, *phases, registers.get(role.name))
        made.append(_renamed(program, view.named))
    return tuple(made)


def _renamed(program: RoleProgram, named: Mapping[str, str]) -> RoleProgram:
    """Named barriers by the names that the loop's own document has for them."""

    def change(e: RoleEntry) -> RoleEntry:
        if isinstance(e, roles.NamedSync | roles.NamedArrive):
            return replace(e, barrier=named.get(e.barrier, e.barrier))
        return e

    if not named:
        return program
    return replace(
        program,
        setup=tuple(map(change, program.setup)),
        prologue=tuple(map(change, program.prologue)),
        kernel=tuple(map(change, program.kernel)),
        epilogue=tuple(map(change, program.epilogue)),
        finish=tuple(map(change, program.finish)),
    )


def _program(
    role: Role,
    setup: tuple[Statement, ...],
    body: tuple[Statement, ...],
    finish: tuple[Statement, ...],
    registers: tuple[tuple[str, int], ...] | None,
) -> RoleProgram:
    loops = [i for i, s in enumerate(body) if isinstance(s, StepLoop)]
    if len(loops) != 1:
        raise DocumentError(
            f"{len(loops)} step loops in a tile", path=f"$.module.roles.{role.name}", fix="one"
        )
    at = loops[0]
    loop = body[at]
    assert isinstance(loop, StepLoop)
    peel = linear(loop.start)
    if peel is None or peel.factors or loop.stop != _BASES["epilogue"]:
        raise DocumentError(
            f"a step loop from {loop.start} to {loop.stop}",
            path=f"$.module.roles.{role.name}",
            fix="from a number to trips: another trip count cannot be compared with other roles'",
        )
    before, after = body[:at], body[at + 1 :]
    lists: dict[str, tuple[Statement, ...]] = {
        "setup": setup,
        "prologue": before,
        "kernel": loop.body,
        "epilogue": after,
        "finish": finish,
    }
    return RoleProgram(
        name=role.name,
        instances=role.instances,
        threads=role.threads,
        peel=peel.constant,
        registers=tuple((a.name, a.registers) for a in role.arrays)
        if registers is None
        else registers,
        carries_phase=role.carries_phase,
        most_registers=role.most_registers,
        alternates=role.alternates,
        **{name: _entries(role, name, row) for name, row in lists.items()},
    )


def _entries(role: Role, phase: str, row: tuple[Statement, ...]) -> tuple[RoleEntry, ...]:
    made = []
    for i, op in enumerate(row):
        assert not isinstance(op, StepLoop)
        if isinstance(op, ops.Vector) and op.within:
            continue  # part of the operation that follows
        made.append(_entry(op, phase, f"$.module.roles.{role.name}.{phase}[{i}]"))
    return tuple(made)


def _k(iteration: IntExpr, phase: str, path: str) -> int:
    """How far an iteration is from the one its list speaks of."""
    form, base = linear(iteration), _BASES[phase]
    if form is None or form.factors != (() if base is None else ((base, 1),)):
        raise DocumentError(
            f"iteration {iteration} in the {phase}",
            path=path,
            fix=f"{base if base is not None else 'a number'} plus a number",
        )
    return form.constant


def _entry(op: Operation, phase: str, path: str) -> RoleEntry:
    row = OPERATIONS.get(type(op))
    if row is None or row.entry is None:
        raise DocumentError(f"{type(op).__name__} is no operation of this dialect", path=path)
    return row.entry(op, lambda iteration: _k(iteration, phase, path))
