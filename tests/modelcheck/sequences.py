"""Long sequences of tiles on deep rings: the verdict for all of them against runs of some.

Programs with rings of 2 to 24 slots, two of three edited. What goes wrong in a run with something
held back must not be called clean. Where a race is reported, the run that the report names is tried
with every step held back: what then goes right is a false alarm, or rests on values alone.
"""

from __future__ import annotations

import random
from dataclasses import replace

from warploom.errors import DocumentError
from warploom.ir.rings import Per
from warploom.verify.roles import verify_roles

from .edits import edited
from .held_back import first_fault
from .programs import MIXED, random_program

SEQUENCES, POINTS = 4, 25
ALL_POINTS = 400  # of a run that a report names


def drawn(seed):
    """(intended, document)."""
    rng = random.Random(f"sequences {seed}")
    base = random_program(MIXED + seed)
    depth = rng.choice((2, 3, 4, 5, 7, 9, 11, 12, 16, 20, 24))
    rings = tuple(replace(r, depth=depth) if r.per is Per.ITERATION else r for r in base.rings)
    base = replace(base, rings=rings)
    document = base
    for n in range(seed % 3):
        document = edited(document, 800_001 + 2 * (seed * 7 + n))
    return base, document


def random_tiles(rng, least, depth):
    """Tile lengths: short ones in a row, and such that end anywhere inside of a ring."""
    lengths = (least, least, least + 1, least + rng.randrange(depth + 3))
    return tuple(rng.choice(lengths) for _ in range(rng.randint(1, 5)))


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
    short = [t for t in named if sum(t) < 40]
    for tiles in short:
        if first_fault(document, base, tiles, most=ALL_POINTS, seed=seed):
            return "wrong", report.verdict
    for n in range(SEQUENCES):
        tiles = random_tiles(rng, least, depth)
        if first_fault(document, base, tiles, most=POINTS, seed=f"{seed} {n}"):
            missed = report.verdict in ("clean", "timing")
            return "missed" if missed else "wrong", report.verdict
    if report.verdict == "race" and short:
        # Counts that are off by one show when a ring, or a barrier, has gone round a few times.
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
