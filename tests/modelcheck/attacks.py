"""Hand-made documents of every class that was once judged wrongly, edited at random.

The bases are the right twins of ``tests/verify/test_document_classes.py``: deep rings, hand-over
and release through another ring or a named barrier, waits in ``setup``, parts of warps, staging
under two scopes, turns. Each is edited up to three times, also by what no other generator changes:
threads, peels, uses a whole ring away, barriers of other rings. Runs with one step held back show
what is wrong; they share no code with the verifier.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from warploom.errors import DocumentError
from warploom.ir.mbarrier_dialect import Arrive, WaitEmpty, WaitFull
from warploom.ir.rings import Per, Side
from warploom.verify.roles import verify_roles

from .edits import edited
from .held_back import first_fault

POINTS = 60
ALL_POINTS = 600


@cache
def bases():
    from tests.verify import test_document_classes as classes

    rights = [d for group in classes.CLASSES.values() for d in group["right"]]
    turns = [classes.in_turn(depth, whole=False) for depth in (2, 3, 5)]
    return tuple(d for d in (*rights, *turns) if max(r.depth for r in d.rings) <= 16)


def drawn(seed):
    """(intended, document)."""
    rng = random.Random(f"attacks {seed}")
    base = rng.choice(bases())
    document = base
    for n in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.5:
            document = edited(document, 1_000_001 + 2 * (seed * 7 + n))
        else:
            document = rng.choice(EDITS)(rng, document)
    return base, document


def _any_entry(rng, document, wanted):
    places = [
        (i, phase, at)
        for i, program in enumerate(document.programs)
        for phase, row in program.phases()
        for at, entry in enumerate(row)
        if wanted(entry)
    ]
    return rng.choice(places) if places else None


def _replaced(document, place, make):
    i, phase, at = place
    programs = list(document.programs)
    row = list(getattr(programs[i], phase))
    row[at : at + 1] = make(row[at])
    programs[i] = replace(programs[i], **{phase: tuple(row)})
    return replace(document, programs=tuple(programs))


def other_threads(rng, document):
    i = rng.randrange(len(document.programs))
    programs = list(document.programs)
    threads = max(1, programs[i].threads + rng.choice((-96, -64, -32, -16, 1, 16, 32, 128)))
    programs[i] = replace(programs[i], threads=threads)
    return replace(document, programs=tuple(programs))


def other_peel(rng, document):
    i = rng.randrange(len(document.programs))
    programs = list(document.programs)
    programs[i] = replace(programs[i], peel=max(0, programs[i].peel + rng.choice((-1, 1, 2))))
    return replace(document, programs=tuple(programs))


def ring_away(rng, document):
    """A wait for the use a whole ring before or behind: another phase of the same barrier.

    An arrival for that use would be the same arrival; the verifier goes by the use that is named.
    """
    place = _any_entry(rng, document, lambda e: isinstance(e, WaitFull | WaitEmpty))
    if place is None:
        return document
    by = rng.choice((-1, 1))
    return _replaced(
        document, place, lambda e: [replace(e, k=e.k + by * document.ring(e.ring).depth)]
    )


def other_ring(rng, document):
    """A wait or an arrival at the barrier of another ring."""
    place = _any_entry(rng, document, lambda e: isinstance(e, WaitFull | WaitEmpty | Arrive))
    if place is None:
        return document
    name = rng.choice(document.rings).name
    return _replaced(document, place, lambda e: [replace(e, ring=name)])


def other_side(rng, document):
    place = _any_entry(rng, document, lambda e: isinstance(e, Arrive))
    if place is None:
        return document
    flip = {Side.FULL: Side.EMPTY, Side.EMPTY: Side.FULL}
    return _replaced(document, place, lambda e: [replace(e, side=flip[e.side])])


def twice(rng, document):
    place = _any_entry(rng, document, lambda _: True)
    return _replaced(document, place, lambda e: [e, e])


def least_trips(rng, document):
    return replace(document, least_trips=rng.choice((0, 1, 2)))


def per_tile(rng, document):
    i = rng.randrange(len(document.rings))
    rings = list(document.rings)
    flip = {Per.ITERATION: Per.TILE, Per.TILE: Per.ITERATION}
    rings[i] = replace(rings[i], per=flip[rings[i].per])
    return replace(document, rings=tuple(rings))


EDITS = (other_threads, other_peel, ring_away, ring_away, other_ring, other_ring, other_side, twice,
         least_trips, per_tile)  # fmt: skip


def sequences(rng, least, depth):
    """Tile lengths: none, few, and such that end anywhere inside of a ring."""
    yield (least,) * 3
    yield (least + 1, least, least + 1, least + 1)
    yield (least + depth + 1, least + 2)
    for _ in range(2):
        lengths = (least, least + 1, least + rng.randrange(2 * depth + 3))
        yield tuple(rng.choice(lengths) for _ in range(rng.randint(1, 5)))


def compare(seed):
    """What runs show (``right`` as far as tried, ``wrong``, ``missed``, ``false``), the verdict."""
    base, document = drawn(seed)
    try:
        report = verify_roles(document)
    except DocumentError:
        return "refused", "malformed"
    rng = random.Random(f"tiles {seed}")
    least = max(document.minimum_trips, base.minimum_trips)
    depth = max((r.depth for r in document.rings), default=1)
    named = [f.tiles for f in report.races() if f.tiles and min(f.tiles) >= least][:3]
    for tiles in (t for t in named if sum(t) < 60):
        if first_fault(document, base, tiles, most=ALL_POINTS, seed=seed):
            return "wrong", report.verdict
    for n, tiles in enumerate(sequences(rng, least, depth)):
        if first_fault(document, base, tiles, most=POINTS, seed=f"{seed} {n}"):
            missed = report.verdict in ("clean", "timing")
            return "missed" if missed else "wrong", report.verdict
    if report.verdict == "race":
        most = max(max(r.full_arrivals, r.empty_arrivals) for r in document.rings)
        for tiles in (
            (least + max(5, min(most + 2, 12)) * depth,),
            (least,) * 9,
            (least + 1,) * (depth + 3),
        ):
            if first_fault(document, base, tiles, most=ALL_POINTS, seed=seed):
                return "wrong", report.verdict
        return "false", "race " + ",".join(sorted({f.code.value for f in report.races()}))
    return "right", report.verdict
