"""``Runner``: calls of a family of kernels. The first call with a key plans, later ones launch.

The key is the layout of every tensor and the options. Planning asks a function for the kernel, so
that this is all a family has to say: from layouts and options to a ``Binary``. Layouts that come
again are known without their key (``warploom.runtime.guarded_calls``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from warploom.compiler.binary import Binary
from warploom.compiler.layout import Layout, bind, is_empty
from warploom.errors import BackendError
from warploom.ir.tile import Access, Tensor
from warploom.runtime.guarded_calls import Entry, GuardedCalls
from warploom.runtime.interpreting import active
from warploom.runtime.overlap import pairs_of
from warploom.runtime.plan import MisalignedError, Plan, prepare
from warploom.runtime.tensors import (
    allocator,
    guard_of,
    guard_of_unseen,
    is_torch,
    not_a_tensor,
    row_major,
    stream_of,
    view_of,
)
from warploom.runtime.workspace import work_memory

ENTRIES = 1024  # plans a runner keeps
Layouts = tuple[Layout | None, ...]
View = tuple[Layouts, dict[int, tuple[int, ...]]]


class RefusedError(BackendError):
    """A call that no plan can serve, whatever its addresses; remembered by its key."""


def torch_key(options: Hashable, tensors: Sequence[Any]) -> Hashable:
    """The key of a call with torch tensors: options, and all that a layout is made of."""
    found = [None if t is None else (t.shape, t.stride(), t.dtype, t.get_device()) for t in tensors]
    return (options, *found)


class Runner:
    """Calls of a family of kernels; safe to use from several threads.

    ``binary_of(layouts, options)`` gives the kernel; layouts of tensors not given are None.
    ``viewed`` gives the layouts as the kernel takes them, and shapes of results as callers do, by
    place, where these differ. ``usual`` gives the scalars of calls that name none (None instead of
    a tuple). ``refit``: what answers calls that are refused or misaligned, with the same arguments
    and the reason. ``probe``: the input by whose address calls are guessed. Calls that came before
    are known by ``seen``, which serves all calls, and by ``unseen``, which gives None for others
    and where a part of torch looks on. ``interpreter`` executes calls on the CPU, where they are
    interpreted.
    """

    _key = staticmethod(torch_key)

    def __init__(
        self,
        names: Sequence[str],
        binary_of: Callable[[Layouts, Any], Binary],
        viewed: Callable[[Layouts, Any], View] | None = None,
        usual: Callable[[Layouts], tuple[float, ...]] = lambda _: (),
        refit: Callable[..., Sequence[Any]] | None = None,
        probe: int = 0,
    ) -> None:
        self._names, self._binary_of, self._viewed = tuple(names), binary_of, viewed
        self._usual, self._refit = usual, refit
        self.interpreter: Callable[..., Sequence[Any]] | None = None
        self.hollow: Callable[[Layouts, Any], Sequence[Tensor]] | None = None
        self._entries: dict[Hashable, Entry | RefusedError] = {}
        self.seen = GuardedCalls(probe, guard_of, self.by_key)
        self.unseen = GuardedCalls(probe, guard_of_unseen, lambda *_: None)
        self.launch: Callable[..., Sequence[Any]] = self.seen.launch
        self._lock = threading.Lock()

    def __call__(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None = (),
        options: Hashable = None,
        stream: int | None = None,
    ) -> Sequence[Any]:
        """``GuardedCalls.launch``."""
        return self.launch(tensors, scalars, options, stream)

    def by_key(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None,
        options: Hashable,
        stream: int | None = None,
        repaired: bool = False,
        known: GuardedCalls | None = None,
    ) -> Sequence[Any]:
        """Launch a call that is not known, but is from now on; ``known`` keeps it.

        ``repaired``: a refusal is raised.
        """
        state = active()
        if state is not None and self.interpreter is not None:
            return self.interpreter(tensors, scalars, options, state)
        try:
            try:  # torch tensors of a layout that came before
                entry = self._entries.get(self._key(options, tensors))
            except (AttributeError, TypeError, ValueError, IndexError):
                entry = None
            if entry is None:  # outside of a handler: errors of planning know no tensors
                return self._first(tensors, scalars, options, stream)
            if isinstance(entry, RefusedError):
                raise entry.anew()
            done = entry.run(tensors, scalars, stream)
        except (RefusedError, MisalignedError) as reason:
            if repaired or self._refit is None:
                raise
            return self._refit(tensors, scalars, options, stream, reason)
        (known or self.seen).learn(entry, tensors, options)
        return done

    def plan(self, tensors: Sequence[Any], options: Hashable = None) -> Plan:
        """The plan of a call, made now where there is none; nothing is launched."""
        plan = self._entry(tensors, options)[0].plan
        if plan is None:
            raise BackendError("a call without elements has no plan", fix="tensors with elements")
        return plan

    def layouts(self, tensors: Sequence[Any]) -> Layouts:
        """The layouts of a call's tensors."""
        return tuple(
            None if t is None else view_of(t, name).layout
            for t, name in zip(tensors, self._names, strict=True)
        )

    def scalars_of(self, layouts: Layouts) -> tuple[float, ...]:
        """The scalars of a call that names none."""
        return self._usual(layouts)

    def forget(self) -> None:
        """Drop every plan, so that the next calls choose anew."""
        with self._lock:
            self._entries.clear()
        self.seen.forget()
        self.unseen.forget()

    def _first(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None,
        options: Hashable,
        stream: int | None,
    ) -> Sequence[Any]:
        """A call whose plan is missing, or with tensors of another library than torch."""
        entry, views = self._entry(tensors, options)
        tensors = entry.complete(tensors, stream)
        made = {i for i, _ in entry.made}
        pointers = [
            view_of(t, n).pointer if i in made else (0 if v is None else v.pointer)
            for i, (t, n, v) in enumerate(zip(tensors, self._names, views, strict=True))
        ]
        entry.launch(stream, [*pointers, *(entry.scalars if scalars is None else scalars)])
        return tensors

    def _entry(self, tensors: Sequence[Any], options: Hashable) -> tuple[Entry, list[Any]]:
        if len(tensors) != len(self._names):
            raise BackendError(
                f"{len(tensors)} tensors for {len(self._names)}", fix=", ".join(self._names)
            )
        views = [
            None if t is None else view_of(t, name)
            for t, name in zip(tensors, self._names, strict=True)
        ]
        torch = all(t is None or is_torch(t) for t in tensors)
        layouts = tuple(None if v is None else v.layout for v in views)
        try:
            key = self._key(options, tensors) if torch else (options, layouts)
        except AttributeError:  # None has no shape
            lacking = (n for n, t in zip(self._names, tensors, strict=True) if t is None)
            raise not_a_tensor(None, next(lacking)) from None
        entry = self._entries.get(key)
        if entry is None:
            try:
                entry = self._make(tensors, layouts, options)
            except RefusedError as refused:
                entry = refused.anew()
            with self._lock:
                self._entries[key] = entry
                while len(self._entries) > ENTRIES:  # the oldest goes
                    del self._entries[next(iter(self._entries))]
        if isinstance(entry, RefusedError):
            raise entry.anew()
        return entry, views

    def _make(self, tensors: Sequence[Any], layouts: Layouts, options: Hashable) -> Entry:
        scalars = self._usual(layouts)
        if self.hollow is not None and is_empty(layouts):
            return self._nothing(tensors, layouts, options, self.hollow(layouts, options))
        layouts, shapes = self._viewed(layouts, options) if self._viewed else (layouts, {})
        binary = self._binary_of(layouts, options)
        like, device = _first_given(tensors, layouts)
        absent = [
            i
            for i, (t, w) in enumerate(zip(binary.tensors, layouts, strict=True))
            if w is None and t.access is Access.OUT and not t.optional
        ]
        known = [t for i, t in enumerate(binary.tensors) if i not in absent]
        sizes = bind(known, [w for i, w in enumerate(layouts) if i not in absent])
        complete, made = list(layouts), []
        for i in absent:
            tensor = binary.tensors[i]
            shape = tuple(-(-sizes[a.name] // a.per) for a in tensor.axes)
            complete[i] = Layout(shape, row_major(shape), tensor.dtype, device)
            made.append((i, allocator(like, shapes.get(i, shape), tensor.dtype)))
        plan = prepare(binary, complete)
        work = work_memory(like, device, plan.work_bytes) if plan.work_bytes else None
        here = tuple(i for i, t in enumerate(tensors) if t is not None)
        apart = pairs_of(binary.tensors, self._names, complete, here, binary.in_place)
        return Entry(plan, here, tuple(made), stream_of(like), work, scalars, options, apart)

    def _nothing(
        self,
        tensors: Sequence[Any],
        layouts: Layouts,
        options: Hashable,
        declared: Sequence[Tensor],
    ) -> Entry:
        """Of a call whose results have no elements: they are made, and nothing is launched."""
        like, _ = _first_given(tensors, layouts)
        given = [(t, w) for t, w in zip(declared, layouts, strict=True) if w is not None]
        sizes = bind([t for t, _ in given], [w for _, w in given], empty=True)
        made = []
        for i, (t, w) in enumerate(zip(declared, layouts, strict=True)):
            if w is None and t.access is Access.OUT and not t.optional:
                shape = tuple(-(-sizes[a.name] // a.per) for a in t.axes)
                made.append((i, allocator(like, shape, t.dtype)))
        here = tuple(i for i, t in enumerate(tensors) if t is not None)
        return Entry(None, here, tuple(made), stream_of(like), None, (), options)


def _first_given(tensors: Sequence[Any], layouts: Layouts) -> tuple[Any, int]:
    for tensor, layout in zip(tensors, layouts, strict=True):
        if layout is not None:
            return tensor, layout.device
    raise BackendError("no tensor is given")
