"""Complete exploration: every interleaving and every landing of a small schedule.

Issuing, waiting for nothing, arriving at a barrier and multiplying settled registers change nothing
that another transition could see differently, so they are taken at once. What remains to choose is
which operation in flight lands next (share by share for fragment reads), and whether a product is
formed before its fragments have arrived. States are hashed; the work limit is a number of states.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from warploom.interp.executor.machine import Flight, Machine, Names, Product
from warploom.interp.executor.program import Kind, lower
from warploom.interp.executor.run import coverage, faulty_products
from warploom.interp.executor.timing import Early, drive
from warploom.ir.counter_dialect import ScheduleDocument

_ProductKey = tuple[int, int, int, int]


class Truth(StrEnum):
    """What is known about a schedule and a trip count after all runs were tried."""

    CORRECT = "correct"
    WRONG = "wrong"
    DEADLOCK = "deadlock"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """The truth, how many states it took, and one run (in words) that goes wrong."""

    truth: Truth
    states: int
    path: tuple[str, ...] = ()


def explore(
    document: ScheduleDocument,
    *,
    trips: int = 1,
    limit: int = 20_000,
    group_of: tuple[int, ...] | None = None,
) -> Exploration:
    """Try everything that can happen; ``UNDECIDED`` when more than ``limit`` states exist."""
    program = lower(document, trips, group_of=group_of)
    plain = Machine(program, Names(program))
    if not drive(plain, Early()):
        return Exploration(truth=Truth.DEADLOCK, states=1, path=("all data lands at once",))
    if faulty_products(plain.products) or coverage(program, plain.products):
        return Exploration(truth=Truth.WRONG, states=1, path=("all data lands at once",))
    right = {(p.wave, *_place(p)): p.tile for p in plain.products}
    return _search(Machine(program, Names(program)), right, limit)


def _search(start: Machine, right: dict[_ProductKey, int | None], limit: int) -> Exploration:
    stack: list[tuple[Machine, tuple[str, ...]]] = [(start, ())]
    seen: set[Hashable] = set()
    while stack:
        machine, path = stack.pop()
        _settle(machine)
        if any(right.get((p.wave, *_place(p))) != p.tile for p in machine.products):
            return Exploration(truth=Truth.WRONG, states=len(seen), path=path)
        machine.products.clear()
        key = _key(machine)
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > limit:
            return Exploration(truth=Truth.UNDECIDED, states=limit)
        choices = list(_choices(machine))
        if not choices and not machine.finished():
            return Exploration(truth=Truth.DEADLOCK, states=len(seen), path=path)
        stack += [(fork, (*path, words)) for fork, words in choices]
    return Exploration(truth=Truth.CORRECT, states=len(seen))


def _settle(machine: Machine) -> None:
    """Take every step that no other transition can interfere with."""
    moved = True
    while moved:
        moved = False
        for wave in range(machine.program.waves):
            while machine.can_step(wave) and not machine.due(wave) and not _hasty(machine, wave):
                machine.step(wave)
                moved = True


def _hasty(machine: Machine, wave: int) -> bool:
    """Whether the next step uses registers that are still being filled."""
    step = machine.steps[wave][machine.at[wave]]
    if step.kind is Kind.MMA:
        return any(f.step.register in step.operands for f in machine.lgkm[wave])
    if step.kind is Kind.STORE:
        return any(f.step.staging == step.staging for f in machine.vm[wave])
    return False


def _choices(machine: Machine) -> Iterator[tuple[Machine, str]]:
    for wave in range(machine.program.waves):
        if machine.can_step(wave) and not machine.due(wave):
            step = machine.steps[wave][machine.at[wave]]
            fork = _fork(machine)
            fork.step(wave)
            yield fork, f"wave {wave} goes on: {step.place}"
        for queue in (0, 1):
            for i, flight in enumerate((machine.vm, machine.lgkm)[queue][wave]):
                yield from _landings(machine, flight, queue, i)


def _landings(
    machine: Machine, flight: Flight, queue: int, position: int
) -> Iterator[tuple[Machine, str]]:
    shares: list[int | None] = [*flight.shares] or [None]
    for share in shares:
        fork = _fork(machine)
        twin = (fork.vm, fork.lgkm)[queue][flight.wave][position]
        fork.land(twin, share)
        verb = "lands" if share is None else f"reads the share of wave {share}"
        yield fork, f"wave {flight.wave}: {flight.step.place} {verb}"


def _place(product: Product) -> tuple[int, int, int]:
    place = product.place
    return (-1 if place.phase is None else place.phase.value, place.iteration, place.index)


def _fork(machine: Machine) -> Machine:
    """An independent copy of the state."""
    twin, memory, held = object.__new__(Machine), object.__new__(Names), machine.memory
    twin.program, twin.capacity_stalls = machine.program, machine.capacity_stalls
    twin.memory, twin.steps = memory, machine.steps
    twin.at, twin.arrived = machine.at[:], machine.arrived[:]
    twin.vm = [[replace(f, shares=f.shares[:]) for f in queue] for queue in machine.vm]
    twin.lgkm = [[replace(f, shares=f.shares[:]) for f in queue] for queue in machine.lgkm]
    twin.issued = [counts[:] for counts in machine.issued]
    twin.newest = [{r: x[:] for r, x in n.items()} for n in machine.newest]
    twin.products = list(machine.products)
    memory.tiles, memory.blank = held.tiles, held.blank
    memory.lds = {slot: x[:] for slot, x in held.lds.items()}
    memory.registers = [{r: x[:] for r, x in regs.items()} for regs in held.registers]
    memory.staging = [dict(s) for s in held.staging]
    return twin


def _key(machine: Machine) -> Hashable:
    """What decides all further behaviour, for telling states apart."""
    flights = tuple(
        (wave, f.order, tuple(f.shares), f.payload)
        for wave in range(machine.program.waves)
        for f in machine.in_flight(wave)
    )
    newest = tuple(tuple((r, *n[r]) for r in sorted(n)) for n in machine.newest)
    held = machine.memory
    registers = tuple(
        tuple(sorted((r, tuple(x)) for r, x in regs.items())) for regs in held.registers
    )
    staging = tuple(tuple(sorted(s.items())) for s in held.staging)
    where = (tuple(map(tuple, held.lds.values())), registers, staging)
    return (tuple(machine.at), tuple(machine.arrived), flights, newest, where)
