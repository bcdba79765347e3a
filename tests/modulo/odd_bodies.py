"""Random small bodies of odd shapes: zero latencies, far uses, many roles, queues, long holds."""

from __future__ import annotations

import random

from warploom.modulo.model import (
    Hold,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Unit,
    Value,
)


def odd_body(seed):
    rng = random.Random(f"odd {seed}")
    n = rng.choice((1, 2, 3, 3, 4))
    roles = tuple(
        Role(
            name=f"r{i}",
            register_budget=rng.choice((None, 1, 2, 4, 6)),
            static_registers=rng.choice((0, 0, 0, 1)),
        )
        for i in range(rng.choice((0, 1, 2, 3, 3)))
    )
    names = [r.name for r in roles]
    ops = tuple(_op(rng, i, names) for i in range(n))
    edges = tuple(_edges(rng, n, names))
    return ModuloProblem(
        name=f"odd {seed}",
        ops=ops,
        edges=edges,
        capacities=(
            Unit(name="Q", capacity=rng.choice((1, 1, 2)), queue=rng.choice((None, 1, 2))),
            Unit(name="V", capacity=rng.choice((1, 2, 3))),
        ),
        rings=tuple(_rings(rng, n, edges, names)),
        values=tuple(_values(rng, n, names)),
        roles=roles,
        smem_budget=rng.choice((None, None, 1, 2, 5)),
        handoff=rng.choice((0, 1, 7)) if len(roles) > 1 else 0,
        release=rng.choice((0, 3)) if len(roles) > 1 else 0,
    )


def _op(rng, i, names):
    unit = rng.choice(("Q", "Q", "U", "V", None))
    fixed = rng.choice(names) if names and rng.random() < 0.3 else None
    some = tuple(rng.sample(names, 2)) if len(names) > 2 and rng.random() < 0.4 else ()
    also = (Hold(unit="V", cycles=rng.choice((0, 1, 2))),) if unit != "V" else ()
    return ModuloOp(
        name=f"op{i}",
        unit=unit,
        occupancy=rng.choice((0, 1, 1, 2, 4)),
        also=also if rng.random() < 0.3 else (),
        issue=rng.choice((0, 1, 2)) if names else 0,
        pieces=rng.choice((0, 2, 3, 4)),
        role=fixed,
        may_run_on=() if fixed else some,
    )


def _edges(rng, n, names):
    still = rng.random() < 0.3  # all latencies zero
    for _ in range(rng.choice((0, 1, n, 2 * n))):
        i, j = rng.randrange(n), rng.randrange(n)
        distance = rng.choice((0, 0, 1, 2, 9)) if i < j else rng.choice((1, 1, 2, 3, 12))
        if i > j and rng.random() < 0.1:
            distance = 0
        yield ModuloEdge(
            src=i,
            dst=j,
            latency=0 if still or (i > j and not distance) else rng.choice((0, 1, 3, 8)),
            distance=distance,
            handoff=rng.choice((None, 0, 4)) if names else None,
            tie=bool(names) and rng.random() < 0.08,
        )


def _rings(rng, n, edges, names):
    for index in range(rng.choice((0, 0, 1, 2))):
        writers = rng.sample(range(n), min(n, rng.choice((1, 1, 2, 3))))
        reads = []
        for w in writers:
            flows = [e for e in edges if e.src == w] or [None]
            e = rng.choice(flows)
            if e is None or rng.random() < 0.15:
                reads.append(())
            else:
                reads.append((Read(op=e.dst, distance=e.distance, hold=rng.choice((0, 1, 3))),))
        low = rng.choice((1, 1, 2))
        yield Ring(
            name=f"ring{index}",
            kind=rng.choice((RingKind.SMEM, RingKind.REG)),
            size=rng.choice((0, 1, 1, 2)),
            writers=tuple(writers),
            readers=tuple(reads),
            min_depth=low,
            max_depth=low + rng.choice((0, 1, 2)),
            role=rng.choice((None, None, *names)) if names else None,
        )


def _values(rng, n, names):
    for index in range(rng.choice((0, 0, 1, 2))):
        yield Value(
            name=f"value{index}",
            size=rng.choice((0, 1, 1, 3)),
            src=rng.randrange(n),
            uses=tuple(
                Read(
                    op=rng.randrange(n),
                    distance=rng.choice((0, 1, 2, 11)),
                    hold=rng.choice((0, 0, 1, 5)),
                )
                for _ in range(rng.choice((0, 1, 2)))
            ),
            late=rng.choice((0, 0, 0, 0, 0, 1, 3)),
            role=rng.choice((None, None, *names)) if names else None,
        )
