"""Role programs with one thing changed at random."""

from __future__ import annotations

import random
from dataclasses import fields, replace

from tests.modelcheck.families import BYTES
from warploom.ir.mbarrier_dialect import Arrive, BulkStore, Compute, Expect, Load, Mma
from warploom.ir.rings import Scope, Side, SlotRead

# Seeds from here on move entries from list to list, too; from there on they name other things; and
# from the last on instances take tiles in turn.
ACROSS, NAMED, ALTERNATING = 800_000, 900_000, 1_000_000


def edited(document, seed):
    """The document with one or two random edits of any entry, ring or barrier."""
    rng = random.Random(seed)
    # Rings first: what an arrival for another use means depends on how many slots there are.
    for kind in sorted(rng.random() for _ in range(rng.choice((1, 1, 1, 2)))):
        document = _edit(rng, document, kind, across=seed >= ACROSS)
    return _named_anew(rng, document) if seed >= NAMED and rng.random() < 0.5 else document


def _edit(rng, document, kind, *, across):
    if kind < 0.1:
        return _edit_ring(rng, document)
    if kind < 0.15 and document.barriers:
        i = rng.randrange(len(document.barriers))
        b = document.barriers[i]
        change = rng.choice(({"threads": b.threads + rng.choice((-32, 32, 128))}, {"count": 1}))
        listed = list(document.barriers)
        listed[i] = replace(b, **change)
        return replace(document, barriers=tuple(listed))
    i = rng.randrange(len(document.programs))
    program = document.programs[i]
    if kind < 0.18:
        shared = program.instances > 1 and rng.random() < 0.5
        field = "alternates" if shared else "carries_phase"
        program = replace(program, **{field: not getattr(program, field)})
    else:
        program = (_across if across and rng.random() < 0.2 else _edit_list)(rng, document, program)
    programs = list(document.programs)
    programs[i] = program
    return replace(document, programs=tuple(programs))


def _edit_ring(rng, document):
    i = rng.randrange(len(document.rings))
    r = document.rings[i]
    change = rng.choice(
        (
            {"depth": max(1, r.depth - 1)},
            {"depth": r.depth + 1},
            {"full_arrivals": r.full_arrivals + 1},
            {"empty_arrivals": max(1, r.empty_arrivals - 1)},
            {"empty_arrivals": r.empty_arrivals + 1},
        )
    )
    listed = list(document.rings)
    listed[i] = replace(r, **change)
    return replace(document, rings=tuple(listed))


def _edit_list(rng, document, program):
    phases = [name for name, entries in program.phases() if entries]
    if not phases:
        return program
    phase = rng.choice(phases)
    entries = list(getattr(program, phase))
    i = rng.randrange(len(entries))
    kind = rng.random()
    if kind < 0.3:
        entries.pop(i)
    elif kind < 0.4:
        entries.insert(rng.randint(0, len(entries)), entries[i])
    elif kind < 0.6 and i + 1 < len(entries):
        entries[i], entries[i + 1] = entries[i + 1], entries[i]
    elif kind < 0.7:
        entries.insert(rng.randint(0, len(entries) - 1), entries.pop(i))
    else:
        entries[i] = _edit_entry(rng, entries[i], document, phase)
    return replace(program, **{phase: tuple(entries)})


def _across(rng, document, program):
    """An entry moved or copied to another list, before the first tile and after the last too; or
    the slots of a product exchanged.
    """
    source = rng.choice([name for name, entries in program.phases() if entries])
    target = rng.choice([name for name, _ in program.phases() if name != source])
    entries, others = list(getattr(program, source)), list(getattr(program, target))
    i = rng.randrange(len(entries))
    if isinstance(entries[i], Mma) and rng.random() < 0.5:
        entries[i] = replace(entries[i], slots=entries[i].slots[::-1])
        return replace(program, **{source: tuple(entries)})
    others.insert(rng.randint(0, len(others)), entries[i])
    if rng.random() < 0.5:
        entries.pop(i)
    return replace(program, **{source: tuple(entries), target: tuple(others)})


def _named_anew(rng, document):
    """An entry that names another ring, part, array or staging copy."""
    i = rng.randrange(len(document.programs))
    program = document.programs[i]
    places = [(n, j) for n, row in program.phases() for j in range(len(row))]
    if not places:  # an earlier edit took the last entry
        return document
    phase, at = rng.choice(places)
    row = list(getattr(program, phase))
    row[at] = _renamed(rng, row[at], document, program)
    programs = list(document.programs)
    programs[i] = replace(program, **{phase: tuple(row)})
    return replace(document, programs=tuple(programs))


def _renamed(rng, entry, document, program):
    arrays = [n for n, _ in program.registers]
    slots = [SlotRead(ring=r.name, part=p.name) for r in document.rings for p in r.parts]
    held = {f.name for f in fields(entry) if getattr(entry, f.name) not in ((), "", None)}
    found = sorted(held & {"ring", "accumulator", "registers", "reads", "writes", "slots"})
    if not found:
        return entry
    name = rng.choice(found)
    if name == "ring":
        slot = rng.choice(slots)
        part = {"part": slot.part} if isinstance(entry, Load) else {}
        return replace(entry, ring=slot.ring, **part)
    if name == "accumulator":
        return replace(entry, accumulator=rng.choice(arrays))
    row = list(getattr(entry, name))
    row[rng.randrange(len(row))] = rng.choice(slots if name == "slots" else arrays)
    return replace(entry, **{name: tuple(row)})


def _edit_entry(rng, entry, document, phase):
    names = [f.name for f in fields(entry) if f.name not in ("op", "reason", "args", "instance")]
    if not names:
        return entry
    name = rng.choice(names)
    old = getattr(entry, name)
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, Scope | Side):
        new = rng.choice(list(type(old)))
    elif name == "parity":
        new = 1 - old
    elif name == "bytes":
        new = rng.choice((old // 2, old + BYTES))
    elif name in ("pending", "turn"):
        new = max(0, old + rng.choice((-1, 1)))
    elif name == "k":
        new = old + rng.choice((-1, 1))
        # On a single slot an arrival for another use is the same arrival: the verifier goes by the
        # use that is named.
        if isinstance(entry, Compute | BulkStore) and phase != "kernel":
            return entry  # outside the loop it means nothing
        if isinstance(entry, Expect | Arrive) and document.ring(entry.ring).depth == 1:
            return entry
    else:
        return entry
    return replace(entry, **{name: new})
