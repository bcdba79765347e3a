"""Random loop bodies, reproducible by seed: for tests, growth measurements and fuzzing."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

from warploom.modulo.model import (
    MAIN_ROLE,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomShape:
    """What a random body looks like; ``tight`` closes one recurrence of that share of ResMII."""

    ops: int
    units: int = 3
    occupancies: tuple[int, ...] = (4, 8, 16)
    latencies: tuple[int, int] = (4, 40)
    density: float = 0.3
    carried: float = 0.15
    rings: int = 0
    two_writer_rings: int = 0
    ring_depth: int = 3
    values: int = 0
    smem_budget: int | None = None
    register_budget: int | None = None
    capacity: int = 1
    tight: float = 0.0


def random_body(shape: RandomShape, seed: int) -> ModuloProblem:
    """A body of that shape; equal seeds give equal bodies."""
    rng = random.Random(seed)
    ops = tuple(
        ModuloOp(
            name=f"op{i}",
            unit=f"U{rng.randrange(shape.units)}",
            occupancy=rng.choice(shape.occupancies),
        )
        for i in range(shape.ops)
    )
    edges = _edges(shape, rng)
    if shape.tight:
        edges += _tight_cycle(shape, ops, edges, rng)
    rings = _rings(shape, edges, rng) + _two_writer_rings(shape, edges, rng)
    budget = shape.register_budget
    return ModuloProblem(
        name=f"random {shape.ops} ops, seed {seed}",
        ops=ops,
        edges=tuple(edges),
        rings=tuple(rings),
        values=tuple(_values(shape, edges, rng)),
        capacities=tuple(Unit(name=f"U{u}", capacity=shape.capacity) for u in range(shape.units)),
        roles=(Role(name=MAIN_ROLE, register_budget=budget),) if budget is not None else (),
        smem_budget=shape.smem_budget if rings else None,
    )


def _edges(shape: RandomShape, rng: random.Random) -> list[ModuloEdge]:
    out, n = [], shape.ops
    for j in range(n):
        for i in range(j):
            if rng.random() < shape.density * min(1.0, 6 / n):
                distance = 0 if rng.random() < 0.9 else 1
                latency = rng.randint(*shape.latencies)
                out.append(ModuloEdge(src=i, dst=j, latency=latency, distance=distance))
        if rng.random() < shape.carried:
            out.append(
                ModuloEdge(
                    src=rng.randrange(j, n),
                    dst=j,
                    latency=rng.randint(*shape.latencies),
                    distance=rng.randint(1, 2),
                )
            )
    return out


def _tight_cycle(
    shape: RandomShape, ops: tuple[ModuloOp, ...], edges: list[ModuloEdge], rng: random.Random
) -> list[ModuloEdge]:
    """A chain through some ops, closed over one iteration, as long as a share of ResMII."""
    load: dict[str, int] = {}
    for op in ops:
        assert op.unit is not None
        load[op.unit] = load.get(op.unit, 0) + op.occupancy
    span = int(shape.tight * max(load.values()) / shape.capacity)
    count = max(2, min(shape.ops // 4, 12))
    chain = sorted(rng.sample(range(shape.ops), count))
    step = span // count
    out = [ModuloEdge(src=a, dst=b, latency=step, why="tight") for a, b in pairwise(chain)]
    last = span - step * (count - 1)
    return [*out, ModuloEdge(src=chain[-1], dst=chain[0], latency=last, distance=1, why="tight")]


def _rings(shape: RandomShape, edges: list[ModuloEdge], rng: random.Random) -> list[Ring]:
    flows = [e for e in edges if e.src != e.dst and e.distance == 0]
    out = []
    for index in range(shape.rings if flows else 0):
        e = rng.choice(flows)
        out.append(
            Ring(
                name=f"ring{index}",
                kind=RingKind.SMEM,
                size=rng.randint(1, 2),
                writers=(e.src,),
                readers=((Read(op=e.dst, hold=rng.randint(0, 2)),),),
                max_depth=shape.ring_depth,
            )
        )
    return out


def _two_writer_rings(
    shape: RandomShape, edges: list[ModuloEdge], rng: random.Random
) -> list[Ring]:
    flows = [e for e in edges if e.src != e.dst and e.distance == 0]
    out = []
    for index in range(shape.two_writer_rings):
        first = rng.choice(flows) if flows else None
        later = [e for e in flows if first is not None and e.src > first.src]
        if first is None or not later:
            continue
        second = rng.choice(later)
        out.append(
            Ring(
                name=f"pair{index}",
                kind=RingKind.SMEM,
                size=1,
                writers=(first.src, second.src),
                readers=(
                    (Read(op=first.dst, hold=rng.randint(0, 2)),),
                    (Read(op=second.dst, hold=rng.randint(0, 2)),),
                ),
                max_depth=shape.ring_depth + 1,
            )
        )
    return out


def _values(shape: RandomShape, edges: list[ModuloEdge], rng: random.Random) -> list[Value]:
    flows = [e for e in edges if e.src != e.dst]
    return [
        Value(
            name=f"value{index}",
            size=rng.randint(1, 2),
            src=(e := rng.choice(flows)).src,
            uses=(Read(op=e.dst, distance=e.distance),),
        )
        for index in range(shape.values if flows else 0)
    ]
