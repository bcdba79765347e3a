"""Named barriers, cluster barriers and the end of a CTA."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import NamedArrive
from warploom.verify.agents import describe
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.barriers import places
from warploom.verify.roles.order import CLUSTER, Generation, Order


def check_named(order: Order) -> Iterator[Finding]:
    """Every generation of a named barrier gets its threads, and none comes too early.

    An agent's n-th entry on a barrier means generation n. That it falls there, the generation
    before must be over when the entry starts: a sync sees to that for the next entry of its own
    agent, an arrival does not. Arrivals after the last generation that anyone waits for wake
    nobody; they harm nobody unless they come before it is over.
    """
    for key, nodes in order.generations.items():
        last = (*key[:2], key[2] + 1) not in order.generations
        wakes = not (last and all(isinstance(order.entry(n), NamedArrive) for n in nodes))
        found, needed = _threads(order, key, nodes)
        if wakes and found != needed:
            yield Finding(
                code=Code.BARRIER,
                why=f"generation {key[2]} of barrier {_name(key)} gets {found} of {needed}",
                fix="the same number of arrivals by every participant",
                where=places(order, [(n, 0) for n in nodes]),
                tiles=order.tiles,
            )
        yield from _early(order, key, nodes)


def _threads(order: Order, key: Generation, nodes: list[int]) -> tuple[int, int]:
    if key[0] == CLUSTER:
        return len(nodes), len(order.programs) * order.document.cluster
    threads = next(b.threads for b in order.document.barriers if b.name == key[0])
    return sum(-(-order.event[n].agent.threads // 32) * 32 for n in nodes), threads


def _early(order: Order, key: Generation, nodes: list[int]) -> Iterator[Finding]:
    older = order.met.get((*key[:2], key[2] - 1))
    if older is None:
        return
    for node in nodes:
        if not order.before_start(older, node):
            yield Finding(
                code=Code.BARRIER,
                why=f"{describe(order.entry(node))} can come to {_name(key)} before its "
                "generation: it fills the one before, or its own arrival does",
                fix="wait for the other side before coming again",
                where=places(order, [(node, 0)]),
                tiles=order.tiles,
            )


def _name(key: Generation) -> str:
    return f"{key[0] or 'cluster'}[{key[1]}]"


def check_exit(order: Order) -> Iterator[Finding]:
    """Nothing lands in, or arrives at, a CTA whose last thread may have left."""
    outlasts, phases = order.outlasts(), order.phases.values()
    for load in sorted(n for p in phases if outlasts(p.over) for n, _ in p.landed):
        yield _left(order, load, "may still copy into a CTA that has left")
    away = (n for p in phases for n, _ in p.arrivals if n >= order.size)
    for node in sorted(filter(outlasts, away)):
        yield _left(order, node, "may arrive at a CTA that has left")


def _left(order: Order, node: int, why: str) -> Finding:
    return Finding(
        code=Code.DRAIN,
        why=f"{describe(order.entry(node))} {why}",
        fix="wait for the copy; in finish for all slots to be free, or ClusterSync in all roles",
        where=places(order, [(node, 0)]),
        tiles=order.tiles,
    )
