"""Vector clocks: what each thread knows to have happened.

A *component* is something that makes progress in order: a thread (its epochs), an mbarrier or named
barrier (its phases), the bulk groups of a thread, the wgmma groups of a warp. A thread knows of a
component the largest value that happened before its present place. Every access carries one
component and value; it happened before a thread's access exactly if the thread knows that value.

Knowledge comes in planes:

- ``FULL``: ordered and visible to generic accesses.
- ``CONTROL``: done before, not necessarily visible; enough for overwriting what was only read.
- ``SHARED``, ``GLOBAL``: visible to the async proxy too (a proxy fence lay on the path).
- ``BLOCK``, ``CLUSTER``, ``DEVICE``: made visible by a fence of that scope (CTA, cluster, GPU);
  what a relaxed operation passes on.

- ``STEP``: executed before; lanes share it at instructions that they execute together. It decides
  which phase of a barrier a wait or an arrival belongs to, never what memory holds.

- ``SEEN``: published to a relaxed read; a fence that follows, here or behind a barrier, completes
  the acquire. ``SEEN_SHARED``, ``SEEN_GLOBAL``, ``SEEN_MAPS``: what was visible to the other
  proxies where it was published; the same fence passes that on.

- ``MAPS``: visible to the tensor map proxy (``fence.proxy.tensormap`` acquired it).

Components of one cluster live in one matrix. What is known of other clusters, through global
memory, is kept apart and only where something was acquired.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
FULL, CONTROL, SHARED, GLOBAL, CLUSTER, DEVICE, STEP, SEEN, MAPS, BLOCK = range(10)
SEEN_SHARED, SEEN_GLOBAL, SEEN_MAPS = range(10, 13)
PLANES = 13
ACQUIRED = ((FULL, SEEN), (SHARED, SEEN_SHARED), (GLOBAL, SEEN_GLOBAL), (MAPS, SEEN_MAPS))
CLUSTER_BITS = 18  # a component's number within its cluster; above it the cluster's number
LOCAL = (1 << CLUSTER_BITS) - 1

Stamp = dict[int, Array]  # cluster -> planes x components


def merge(into: Stamp, other: Stamp) -> None:
    """Join a stamp into another; arrays of ``into`` are its own."""
    for cluster, rows in other.items():
        have = into.get(cluster)
        if have is None:
            into[cluster] = rows.copy()
            continue
        if have.shape[1] < rows.shape[1]:
            wide = np.zeros_like(rows)
            wide[:, : have.shape[1]] = have
            have = into[cluster] = wide
        k = rows.shape[1]
        np.maximum(have[:, :k], rows, out=have[:, :k])


def relaxed_view(stamp: Stamp) -> Stamp:
    """What a relaxed read takes: order of control, and visibility from the next fence on."""
    result: Stamp = {}
    for cluster, rows in stamp.items():
        out = np.zeros_like(rows)
        out[CONTROL], out[STEP] = rows[CONTROL], rows[STEP]
        for plane, seen in ACQUIRED:
            out[seen] = rows[plane]
        result[cluster] = out
    return result


def control_only(stamp: Stamp, *, read_done: bool = True) -> Stamp:
    """The order of control that a stamp holds, and no visibility."""
    result: Stamp = {}
    for cluster, rows in stamp.items():
        out = np.zeros_like(rows)
        if read_done:
            out[CONTROL] = rows[CONTROL]
        out[STEP] = rows[STEP]
        result[cluster] = out
    return result


def weakened(stamp: Stamp, fenced: int, *, read_done: bool = True) -> Stamp:
    """What a relaxed operation passes on: what a fence published, and control order.

    ``read_done``: reads before it are over when it is seen (the axiom of that name).
    """
    result: Stamp = {}
    for cluster, rows in stamp.items():
        out = rows.copy()
        limit = rows[fenced]
        out[FULL] = limit
        if not read_done:
            out[CONTROL] = limit
        out[SHARED] = np.minimum(rows[SHARED], limit)
        out[GLOBAL] = np.minimum(rows[GLOBAL], limit)
        out[MAPS] = np.minimum(rows[MAPS], limit)
        result[cluster] = out
    return result


class Clocks:
    """What the threads of one cluster know."""

    def __init__(self, cluster: int, threads: int, *, writer_fence: bool = True) -> None:
        self.cluster, self.threads, self.count = cluster, threads, threads
        self.writer_fence = writer_fence  # a fence publishes for whoever it is handed on to
        self.known = np.zeros((PLANES, threads, threads + 64), np.int32)
        own = np.arange(threads)
        self.known[FULL, own, own] = 1
        self.known[CONTROL, own, own] = 1
        self.known[STEP, own, own] = 1
        self.foreign: dict[int, Array] = {}

    def component(self) -> int:
        """A new component."""
        if self.count == self.known.shape[2]:
            more = np.zeros((PLANES, self.threads, self.known.shape[2] + 128), np.int32)
            more[:, :, : self.count] = self.known[:, :, : self.count]
            self.known = more
        self.count += 1
        return self.count - 1

    def tick(self, threads: Array) -> None:
        """Later accesses of these threads are not covered by what was released."""
        self.known[FULL, threads, threads] += 1
        self.known[CONTROL, threads, threads] = self.known[FULL, threads, threads]
        self.known[STEP, threads, threads] = self.known[FULL, threads, threads]

    def together(self, threads: Array) -> None:
        """Lanes execute an instruction together: each knows what the others have executed."""
        part = self.known[STEP, threads, : self.count]
        self.known[STEP, threads, : self.count] = part.max(axis=0)
        self.tick(threads)

    def epochs(self, threads: Array) -> Array:
        """The present epoch of each thread."""
        result: Array = self.known[FULL, threads, threads]
        return result

    def stamp(self, threads: Array) -> Stamp:
        """Everything these threads know together."""
        part = self.known[:, threads, : self.count]
        result: Stamp = {self.cluster: part.max(axis=1)}
        for cluster, rows in self.foreign.items():
            result[cluster] = rows[:, threads].max(axis=1)
        return result

    def join(self, threads: Array, stamp: Stamp) -> None:
        """These threads learn what a stamp holds."""
        if not self.writer_fence:  # what others have fenced is to be fenced again
            stamp = {cluster: rows.copy() for cluster, rows in stamp.items()}
            for rows in stamp.values():
                rows[[BLOCK, CLUSTER, DEVICE]] = 0
        for cluster, rows in stamp.items():
            k = rows.shape[1]
            if cluster == self.cluster:
                part = self.known[:, threads, :k]
                self.known[:, threads, :k] = np.maximum(part, rows[:, None, :])
                continue
            have = self.foreign.get(cluster)
            if have is None or have.shape[2] < k:
                wide = np.zeros((PLANES, self.threads, k), np.int32)
                if have is not None:
                    wide[:, :, : have.shape[2]] = have
                have = self.foreign[cluster] = wide
            have[:, threads, :k] = np.maximum(have[:, threads, :k], rows[:, None, :])

    def learn(self, threads: Array, component: int, value: int) -> None:
        """Completion of something asynchronous: known in every plane."""
        part = self.known[:, threads, component]
        self.known[:, threads, component] = np.maximum(part, value)

    def fence_async(self, threads: Array, planes: tuple[int, ...]) -> None:
        """A proxy fence: what is known is visible to the async proxy."""
        for plane in planes:
            self.known[plane, threads] = np.maximum(
                self.known[plane, threads], self.known[FULL, threads]
            )
            for rows in self.foreign.values():
                rows[plane, threads] = np.maximum(rows[plane, threads], rows[FULL, threads])
        self.tick(threads)

    def fence_map(self, threads: Array) -> None:
        """An acquire of tensor maps: what is known is visible to copies that use a map."""
        for rows in (self.known, *self.foreign.values()):
            rows[MAPS, threads] = np.maximum(rows[MAPS, threads], rows[FULL, threads])
        self.tick(threads)

    def fence_scope(
        self, threads: Array, planes: tuple[int, ...], own: slice | None = None
    ) -> None:
        """A fence: what relaxed reads have seen is acquired; what is known is published.

        ``own``: for a fence of CTA scope, the threads of that CTA; of others nothing is acquired.
        """
        for plane, seen in ACQUIRED:
            if own is not None:
                part = self.known[plane, threads, own]
                self.known[plane, threads, own] = np.maximum(part, self.known[seen, threads, own])
                continue
            for rows in (self.known, *(self.foreign.values() if DEVICE in planes else ())):
                rows[plane, threads] = np.maximum(rows[plane, threads], rows[seen, threads])
        self.fence_async(threads, planes)

    def look(self, plane: int, threads: Array, components: Array) -> Array:
        """What each thread (a row) knows of components of any cluster (encoded)."""
        owner = components >> CLUSTER_BITS
        local = components & LOCAL
        if owner.size == 0 or (owner == self.cluster).all():
            own: Array = self.known[plane, threads[:, None], local]
            return own
        result = np.zeros(components.shape, np.int32)
        rows = np.broadcast_to(threads[:, None], components.shape)
        for cluster in np.unique(owner):
            at = owner == cluster
            if cluster == self.cluster:
                result[at] = self.known[plane, rows[at], local[at]]
                continue
            have = self.foreign.get(int(cluster))
            if have is not None:
                inside = local[at] < have.shape[2]
                value = have[plane, rows[at], np.where(inside, local[at], 0)]
                result[at] = np.where(inside, value, 0)
        return result

    def encoded(self, component: int) -> int:
        """A component's number in shadow memory."""
        return (self.cluster << CLUSTER_BITS) | component
