"""One agent of a role program alone: its steps in order, and the values it computes."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ir.mbarrier_dialect import BulkStore, Commit, Compute, Load, Mma, MmaFence, WaitGroup
from warploom.ir.rings import Per


@dataclass(frozen=True)
class Step:
    entry: object
    tile: int
    at: int  # iteration of the tile
    base: int  # iterations before the tile


def steps(program, instance, tiles):
    out = [Step(e, 0, getattr(e, "k", 0), 0) for e in program.setup]
    base = 0
    for tile, n in enumerate(tiles):
        if program.alternates and (tile - instance) % program.instances:
            base += n
            continue
        for e in program.prologue:
            out.append(Step(e, tile, getattr(e, "k", 0), base))
        for i in range(program.peel, n):
            out += [Step(e, tile, i + getattr(e, "k", 0), base) for e in program.kernel]
        for e in program.epilogue:
            out.append(Step(e, tile, n + getattr(e, "k", 0), base))
        base += n
    out += [Step(e, len(tiles), getattr(e, "k", 0), base) for e in program.finish]
    return [s for s in out if getattr(s.entry, "instance", None) in (None, instance)]


def alone(document, tiles):
    """Stored values and op counts of every agent in program order; or the word for a fault."""
    stored, counts = {}, {}
    for program in document.programs:
        for instance in range(program.instances):
            fault = _alone(document, program, instance, tiles, stored, counts)
            if fault:
                return fault
    return stored, counts


def _alone(document, program, instance, tiles, stored, counts):
    rings = {r.name: r for r in document.rings}
    holds, unsettled, fenced = {}, set(), False
    groups, open_ = [], []
    staged = {}

    def flying():
        return [m for g in groups for m in g] + open_

    def slot(s, step):
        index = step.tile if rings[s.ring].per is Per.TILE else step.base + step.at
        return ("slot", s.ring, s.part, index)

    for step in steps(program, instance, tiles):
        e = step.entry
        if isinstance(e, Load | Mma | Compute | BulkStore):
            key = (program.name, instance, step.tile, e.op, getattr(e, "args", ()))
            once = isinstance(e, Load) and rings[e.ring].per is Per.TILE
            counts.setdefault(key, []).append(0 if once else step.at)
        if isinstance(e, Mma):
            used = {e.accumulator, *e.registers}
            if not fenced or used & unsettled:
                return "a product without a fence"
            for m in flying():
                if m.accumulator in e.registers or e.accumulator in m.registers:
                    return "products in flight share registers"
            if e.accumulator in e.registers:
                return "a product overwrites its operand"
            old = holds.get(e.accumulator) if e.accumulate else None
            if e.accumulate and old is None:
                return "an accumulator without a value"
            operands = tuple(holds.get(r) for r in e.registers)
            holds[e.accumulator] = (
                "mma",
                e.op,
                tuple(slot(s, step) for s in e.slots),
                operands,
                old,
            )
            open_.append(e)
        elif isinstance(e, Commit):
            groups.append(open_)
            open_ = []
        elif isinstance(e, WaitGroup):
            while len(groups) > e.pending:
                groups.pop(0)
        elif isinstance(e, MmaFence):
            unsettled, fenced = set(), True
        elif isinstance(e, Compute):
            for m in flying():
                if m.accumulator in (*e.reads, *e.writes) or set(m.registers) & set(e.writes):
                    return "a register is touched in flight"
            taken = tuple(holds.get(r) for r in e.reads)
            made = (e.op, e.args, taken, tuple(slot(s, step) for s in e.slots))
            for name in e.writes:
                holds[name] = (name, made)
            for c in e.fills:
                staged[c] = made
            if not (e.writes or e.fills or e.fills_slots):
                stored[program.name, instance, step.tile, step.at, e.op, e.args] = made
            for s in e.fills_slots:
                stored[program.name, instance, slot(s, step)] = made
            unsettled |= {*e.reads, *e.writes}
        elif isinstance(e, BulkStore):
            key = (program.name, instance, step.tile, step.at, e.op, e.args, e.reduce)
            stored[key] = staged.get(e.source)
    if open_ or any(groups):
        return "products in flight at the end"
    return None
