"""Random schedules that lost a random part of their synchronisation: both verdicts are common."""

import random
from dataclasses import replace

from tests.mutation.random_bodies import serialised_schedule
from warploom.ir import BarrierKind, RegisterWaits
from warploom.ir.schedule_ops import ScheduleOps

from .notation import written

WAITS = (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)


def thinned(seed):
    """A random order with waits and barriers dropped, weakened and swapped with neighbours."""
    rng = random.Random(seed)
    document = staged(rng) if rng.random() < 0.3 else serialised_schedule(rng)
    document = replace(document, protocol=protocol(rng, document))
    loss = rng.choice((0.02, 0.05, 0.1, 0.3, 0.6))
    return replace(
        document,
        prologue=thin(rng, document.prologue, loss),
        kernel=thin(rng, document.kernel, loss),
        epilogue=thin(rng, document.epilogue, loss),
    )


def protocol(rng, document):
    p = document.protocol
    if rng.random() < 0.2:
        p = replace(p, groups=3, tail_barriers=(2, 1, 0), waves_per_group=1, stagger_index=0)
    if p.stagger_index is not None:
        p = replace(p, stagger_index=rng.randint(0, len(document.prologue)))
    return replace(p, barrier_after_prologue=rng.random() < 0.5, epilogue_drain=rng.random() < 0.2)


def thin(rng, entries, loss):
    out = []
    for entry in entries:
        if entry.op.tag >= ScheduleOps.BARRIER and rng.random() < loss:
            continue
        weaken = entry.op.tag in WAITS and rng.random() < loss
        count = rng.choice((1, 2, 3, 4, 6, 8, 15, 63)) if weaken else entry.op.wait_value
        out.append(replace(entry, op=replace(entry.op, wait_value=count)))
    for _ in range(rng.choice((0, 0, 1, 2))):
        i = rng.randrange(len(out) - 1)
        out[i], out[i + 1] = out[i + 1], out[i]
    return tuple(out)


def staged(rng):
    """A single buffer: loads to registers, stores, slices of a K-tile, next-tile loads."""
    slices = rng.choice((1, 2))
    reads = [f"FA[0,{t}]" for t in range(slices)]
    products = [f"M[0,{t}]" for t in range(slices)]
    fenced = rng.random() < 0.5
    between = " B " if fenced else " W0 L0 B B "

    def joined(*words):
        return between.join([*words, ""])

    return written(
        joined("D[0,0]", "ST[0,0]", "D[0,0]"),
        joined(*reads, *products, "ST[0,0]", "D[0,0]"),
        joined(*reads, *products, "ST[0,0]", *reads, *products),
        name="staged",
        vm=(rng.randint(1, 3), 1),
        lgkm=(rng.randint(1, 3), 1),
        kernel_k_base=2,
        barrier=BarrierKind.FENCING if fenced else BarrierKind.EXECUTION,
        register_waits=rng.choice((RegisterWaits.COMPILER, RegisterWaits.EXPLICIT)),
    )
