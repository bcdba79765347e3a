"""Random small bodies with everything a body may have, reproducible by seed."""

from __future__ import annotations

import random

from warploom.modulo.model import (
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


def mixed_body(seed):
    rng = random.Random(seed)
    n = rng.choice((2, 3, 3, 4))
    roles = _roles(rng)
    names = [r.name for r in roles]
    isolate = rng.random() < 0.1
    ops = tuple(
        ModuloOp(
            name=f"op{i}",
            unit=rng.choice(("U", "V", None)),
            occupancy=rng.choice((0, 1, 1, 2, 3)),
            issue=rng.choice((0, 1, 2)) if roles else 0,
            role=rng.choice(names) if len(names) > 1 and rng.random() < 0.4 else None,
            partition=i % 2 if isolate else None,
        )
        for i in range(n)
    )
    edges = tuple(_edges(rng, n, bool(roles)))
    return ModuloProblem(
        name=f"mixed {seed}",
        ops=ops,
        edges=edges,
        capacities=(Unit(name="V", capacity=rng.choice((1, 1, 2))),),
        rings=tuple(_rings(rng, n, edges)),
        values=tuple(_values(rng, n, names)) if rng.random() < 0.6 else (),
        roles=roles,
        smem_budget=rng.choice((None, 2, 3, 4)),
        handoff=rng.choice((0, 1, 3)) if len(roles) > 1 else 0,
        release=rng.choice((0, 2)) if len(roles) > 1 else 0,
        isolate=isolate,
    )


def _roles(rng):
    kind = rng.random()
    if kind < 0.35:
        return ()
    budget = rng.choice((None, 1, 2, 3, 4))
    first = Role(name="r0", register_budget=budget, static_registers=rng.choice((0, 0, 1)))
    if kind < 0.7:
        return (first,)
    return (first, Role(name="r1", register_budget=rng.choice((None, 1, 2, 3))))


def _edges(rng, n, roles):
    for j in range(n):
        for i in range(n):
            if rng.random() > (0.45 if i < j else 0.25):
                continue
            forward = i < j
            distance = rng.choice((0, 0, 0, 1, 2)) if forward else rng.choice((1, 1, 2, 4, 0))
            latency = rng.randint(0, 4) if forward or distance else 0
            if i == j and not distance:
                continue
            yield ModuloEdge(
                src=i,
                dst=j,
                latency=latency,
                distance=distance,
                handoff=rng.choice((None, None, 5)) if roles else None,
                tie=roles and rng.random() < 0.1,
            )


def _rings(rng, n, edges):
    flows = [e for e in edges if e.src != e.dst]
    for index in range(rng.choice((0, 0, 1, 1, 2)) if flows else 0):
        first = rng.choice(flows)
        others = [e for e in flows if e.src not in (first.src,)]
        pair = rng.random() < 0.3 and others
        chosen = [first, rng.choice(others)] if pair else [first]
        yield Ring(
            name=f"ring{index}",
            kind=rng.choice((RingKind.SMEM, RingKind.REG)),
            size=rng.choice((1, 1, 2)),
            writers=tuple(e.src for e in chosen),
            readers=tuple(
                (Read(op=e.dst, distance=e.distance, hold=rng.randint(0, 2)),) for e in chosen
            ),
            max_depth=rng.choice((1, 2, 3)),
        )


def _values(rng, n, names):
    for index in range(rng.choice((1, 1, 2))):
        yield Value(
            name=f"value{index}",
            size=rng.choice((1, 1, 2)),
            src=rng.randrange(n),
            uses=tuple(
                Read(
                    op=rng.randrange(n),
                    distance=rng.choice((0, 0, 1, 3, 6)),
                    hold=rng.choice((0, 0, 1, 2)),
                )
                for _ in range(rng.choice((1, 1, 2)))
            ),
            late=rng.choice((0, 0, 0, 0, 2)),
            role=rng.choice((None, None, names[0])) if names else None,
        )
