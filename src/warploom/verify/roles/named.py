"""Named barriers, cluster barriers and the end of a CTA."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import Arrive, NamedArrive
from warploom.verify.agents import describe
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.barriers import places
from warploom.verify.roles.order import Generation, Order, reached


def check_named(order: Order) -> Iterator[Finding]:
    """Every generation of a named barrier gets its threads, and none comes too early.

    An agent's n-th entry on a barrier means generation n. That it falls there, the generation
    before must be over when the entry starts: a sync sees to that for the next entry of its own
    agent, an arrival does not. Arrivals after the last generation that anyone waits for wake
    nobody; they harm nobody unless they come before it is over.
    """
    for key, nodes in order.generations.items():
        if key[0] > 0:
            continue
        last = (*key[:3], key[3] + 1) not in order.generations
        wakes = not (last and all(isinstance(order.event[n].entry, NamedArrive) for n in nodes))
        found, needed = _threads(order, key, nodes)
        if wakes and found != needed:
            yield Finding(
                code=Code.BARRIER,
                why=f"generation {key[3]} of barrier {_name(key)} gets {found} of {needed}",
                fix="the same number of arrivals by every participant",
                where=places(order, [(n, 0) for n in nodes]),
                tiles=order.tiles,
            )
        yield from _early(order, key, nodes)


def _threads(order: Order, key: Generation, nodes: list[int]) -> tuple[int, int]:
    if key[0] < 0:
        return len(nodes), len(order.programs)
    threads = next(b.threads for b in order.document.barriers if b.name == key[1])
    return sum(-(-order.event[n].agent.threads // 32) * 32 for n in nodes), threads


def _early(order: Order, key: Generation, nodes: list[int]) -> Iterator[Finding]:
    older = order.met.get((*key[:3], key[3] - 1))
    if older is None:
        return
    for node in nodes:
        if not order.before_start(older, node):
            yield Finding(
                code=Code.BARRIER,
                why=f"{describe(order.event[node].entry)} can come to {_name(key)} before its "
                "generation: it fills the one before, or its own arrival does",
                fix="wait for the other side before coming again",
                where=places(order, [(node, 0)]),
                tiles=order.tiles,
            )


def _name(key: Generation) -> str:
    return f"{key[1]}[{key[2]}]"


def check_exit(order: Order) -> Iterator[Finding]:
    """Nothing lands in, or arrives at, a CTA whose last thread may have left."""
    ends = order.last_nodes(0)
    for load, landings in order.landed.items():
        if 0 in landings and not any(order.before(landings[0], end) for end in ends):
            yield _left(order, load, "may still copy into a CTA that has left")
    if order.document.cluster == 1:
        return
    for node, event in order.event.items():
        if isinstance(event.entry, Arrive) and event.entry.ctas > 1:
            here = 0 in reached(order.document, event.agent.cta, event.entry.ctas)
            if here and not any(order.before(node, end) for end in ends):
                yield _left(order, node, "may arrive at a CTA that has left")


def _left(order: Order, node: int, why: str) -> Finding:
    return Finding(
        code=Code.DRAIN,
        why=f"{describe(order.event[node].entry)} {why}",
        fix="wait for the copy; in finish for all slots to be free, or ClusterSync in all roles",
        where=places(order, [(node, 0)]),
        tiles=order.tiles,
    )
