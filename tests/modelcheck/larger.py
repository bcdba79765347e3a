"""Programs too large to explore, edited, against random runs: deep rings, clusters, several edits.

Runs show defects, not their absence: what runs wrong must not be called clean.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

from tests.mbarrier.gemm_kernel import GemmKernel
from tests.mbarrier.samples import SHIPPED, gemm_document, lowered
from warploom.errors import DocumentError
from warploom.interp.executor.roles import first_fault
from warploom.ir.format1 import read_schedule
from warploom.ir.rings import Per
from warploom.verify.roles import verify_roles

from .edits import edited
from .programs import random_program

SEQUENCES, SEEDS = 6, range(6)


@cache
def clusters():
    shapes = ((1, 1), (2, 1), (1, 2))
    return tuple(gemm_document(GemmKernel(tile_m=128, tile_n=128, cluster=s)) for s in shapes)


def drawn(seed):
    """(intended, edited) with rings of up to 16 slots, or of CTAs that copy for one another."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        base = rng.choice(clusters())
        rings = tuple(replace(r, depth=rng.choice((1, 2, r.depth))) for r in base.rings)
    else:
        base = random_program(seed)
        deep = rng.randint(7, 16)
        rings = tuple(replace(r, depth=deep) if r.per is Per.ITERATION else r for r in base.rings)
    base = replace(base, rings=rings)
    document = base
    for n in range(rng.choice((1, 1, 2, 3))):
        document = edited(document, 800_001 + 2 * (seed * 7 + n))
    return base, document


@cache
def shipped(folder):
    """Schedules of the shipped texts; from a folder where no solver is."""
    if not folder:
        return tuple(lowered(name).document for name in SHIPPED)
    return tuple(read_schedule(p.read_text()) for p in sorted(Path(folder).glob("*.json")))


def drawn_of_shipped(seed, folder=""):
    """(intended, edited): a shipped schedule, edited one to three times anywhere."""
    rng = random.Random(f"shipped {seed}")
    base = document = rng.choice(shipped(folder))
    for n in range(rng.choice((1, 2, 2, 3))):
        document = edited(document, 900_001 + 2 * (seed * 7 + n))
    return base, document


def compare(seed):
    """Truth by random runs ("wrong", "unshown" or "missed"), and the verdict."""
    return compared(seed, *drawn(seed))


def compared(seed, intended, document):
    """The same, of given documents."""
    try:
        report = verify_roles(document)
    except DocumentError:
        return "refused", "malformed"
    rng, least = random.Random(seed), max(document.minimum_trips, intended.minimum_trips, 1)
    depth = max(r.depth for r in document.rings)
    runs = [f.tiles for f in report.races()[:2] if f.tiles and sum(f.tiles) < 60]
    runs += [
        tuple(
            least + rng.choice((0, 0, 1, rng.randrange(depth + 2)))
            for _ in range(rng.randint(1, 9))
        )
        for _ in range(SEQUENCES)
    ]
    for tiles in runs:
        if min(tiles) >= least and first_fault(document, tiles, SEEDS, intended=intended):
            return "missed" if report.verdict == "clean" else "wrong", report.verdict
    return "unshown", report.verdict
