"""A dozen further documents of every class of defect that was once called clean, at random."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from tests.mbarrier.gemm_kernel import GemmKernel
from tests.mbarrier.samples import gemm_document, lowered
from warploom.errors import DocumentError
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkStore,
    BulkWait,
    Commit,
    Compute,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ScopeSync,
    WaitGroup,
)
from warploom.ir.rings import NamedBarrier, Part
from warploom.verify.roles import verify_roles

DOZEN = 12


@cache
def bases():
    shapes = [(128, 256), (256, 192), (256, 200), (64, 64)]
    kernels = [GemmKernel(tile_m=m, tile_n=n, consumers=1 if m == 64 else 2) for m, n in shapes]
    made = [gemm_document(k) for k in kernels]
    return [*made, *(lowered(n).document for n in ("gemm", "swiglu", "rms_gemm", "attention"))]


def change(document, role, phase, entries):
    program = replace(document.program(role), **{phase: tuple(entries)})
    return replace(
        document, programs=tuple(program if p.name == role else p for p in document.programs)
    )


def places(document, *kinds, role="consumer", phases=("prologue", "kernel", "epilogue")):
    """(phase, index) of entries of some kinds."""
    program = document.program(role)
    return [
        (phase, i)
        for phase in phases
        for i, e in enumerate(getattr(program, phase))
        if isinstance(e, kinds)
    ]


def edited(rng, document, found, make, role="consumer"):
    """One of the places found, its entry replaced by what ``make`` gives."""
    if not found:
        return None
    phase, i = rng.choice(found)
    entries = list(getattr(document.program(role), phase))
    entries[i : i + 1] = make(entries[i])
    return change(document, role, phase, entries)


def releases_skipped(rng, document):
    return edited(rng, document, places(document, Arrive, phases=("epilogue",)), lambda e: ())


def positions_restart(rng, document):
    name = rng.choice(("producer", "consumer"))
    programs = [replace(p, carries_phase=p.name != name) for p in document.programs]
    return replace(document, programs=tuple(programs))


def wait_above_the_groups(rng, document):
    more = rng.randint(1, 40)
    found = places(document, WaitGroup)
    return edited(rng, document, found, lambda e: (replace(e, pending=e.pending + more),))


def a_store_wait_without_sync(rng, document):
    program = document.program("consumer")
    pairs = [
        i
        for i, e in enumerate(program.epilogue[:-1])
        if isinstance(e, BulkWait) and isinstance(program.epilogue[i + 1], ScopeSync)
    ]
    if not pairs:
        return None
    i = rng.choice(pairs)
    entries = list(program.epilogue)
    entries[i : i + 2] = [replace(entries[i], source_read=False)]
    return change(document, "consumer", "epilogue", entries)


def accumulator_over_an_operand(rng, document):
    names = [n for n, _ in document.program("consumer").registers]

    def make(e):
        other = rng.choice([n for n in names if n != e.accumulator] or names)
        return (replace(e, registers=(*e.registers, e.accumulator, other)),)

    return edited(rng, document, places(document, Mma), make)


def no_products(rng, document):
    program = document.program("consumer")
    ops = sorted({e.op for _, row in program.phases() for e in row if isinstance(e, Mma)})
    gone = rng.choice(ops)
    gone_kinds = rng.choice(((), (MmaFence,), (MmaFence, Commit)))
    phases = {
        name: tuple(
            e
            for e in row
            if not (isinstance(e, Mma) and e.op == gone)
            and not (len(ops) == 1 and gone_kinds and isinstance(e, gone_kinds))
        )
        for name, row in program.phases()
    }
    changed = replace(program, **phases)
    return replace(
        document, programs=tuple(changed if p.name == "consumer" else p for p in document.programs)
    )


def values_of_another_op(rng, document):
    found = places(document, Compute, Mma, BulkStore)
    phase, i = rng.choice(found)
    entries = list(getattr(document.program("consumer"), phase))
    return change(document, "consumer", phase, [*entries[:i], *entries[i + 1 :]])


def turns_counted_wrong(rng, document):
    if not document.barriers or not places(document, NamedSync):
        return None
    if rng.random() < 0.5:
        return edited(rng, document, places(document, NamedSync, NamedArrive), lambda e: ())
    b = rng.choice(document.barriers)
    changes = ({"count": 1}, {"threads": b.threads + 32}, {"threads": b.threads - 32})
    made = replace(b, **rng.choice(changes))
    return replace(document, barriers=tuple(made if x is b else x for x in document.barriers))


RACES = (
    releases_skipped,
    positions_restart,
    wait_above_the_groups,
    a_store_wait_without_sync,
    accumulator_over_an_operand,
    no_products,
    values_of_another_op,
    turns_counted_wrong,
)


def overlapping_parts(rng, document):
    ring = rng.choice(document.rings)
    first = ring.parts[0]
    extra = Part(name="more", offset=rng.randrange(first.offset, first.offset + 64), bytes=128)
    made = replace(ring, parts=(*ring.parts, extra))
    return replace(document, rings=tuple(made if r is ring else r for r in document.rings))


def colliding_ids(rng, document):
    wrong = rng.choice((0, -1, 16, 15))
    count = 2 if wrong == 15 else 1
    extra = NamedBarrier(name="extra", id=wrong, threads=128, count=count)
    return replace(document, barriers=(*document.barriers, extra))


def copies_beyond_the_cluster(rng, document):
    found = places(document, Load, role="producer")
    many = rng.choice((2, 3, 8))
    return edited(rng, document, found, lambda e: (replace(e, multicast=many),), role="producer")


def buffers_of_others(rng, document):
    if not document.buffers:
        return None
    owner = rng.choice(("producer", "nobody"))
    return replace(document, buffers=tuple(replace(b, role=owner) for b in document.buffers))


def sizes_that_cannot_be(rng, document):
    program = document.program("consumer")
    names = [(n, rng.choice((-5, 0, -1))) for n, _ in program.registers]
    changed = replace(program, registers=tuple(names))
    return replace(
        document, programs=tuple(changed if p.name == "consumer" else p for p in document.programs)
    )


def nobody_at_all(rng, document):
    kept = rng.choice(((), document.programs[:1] * 2))
    return replace(document, programs=tuple(kept))


MALFORMED = (
    overlapping_parts,
    colliding_ids,
    copies_beyond_the_cluster,
    buffers_of_others,
    sizes_that_cannot_be,
    nobody_at_all,
)


def drawn(make):
    """A dozen different documents of a class."""
    rng, found = random.Random(make.__name__), {}
    for _ in range(400):
        document = rng.choice(bases())
        made = make(rng, document)
        if made is not None and made != document:
            found[made] = document
        if len(found) == DOZEN:
            break
    return list(found)


@pytest.mark.parametrize("make", RACES, ids=lambda f: f.__name__)
def test_a_race_of_the_class_is_found(make):
    documents = drawn(make)
    assert len(documents) >= 4
    for document in documents:
        report = verify_roles(document)
        assert report.verdict == "race", (document.name, report.text())
        assert all(f.why and f.fix for f in report.findings)


@pytest.mark.parametrize("make", MALFORMED, ids=lambda f: f.__name__)
def test_what_cannot_be_is_malformed(make):
    documents = drawn(make)
    assert len(documents) >= 2
    for document in documents:
        with pytest.raises(DocumentError):
            verify_roles(document)
