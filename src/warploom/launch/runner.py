"""``Runner``: calls of a family of kernels. The first call with a key plans, later ones launch.

The key is the layout of every tensor and the options. Planning asks a function for the kernel, so
that this is all a family has to say: from layouts and options to a ``Binary``. Layouts that come
again are guessed by an address and known by torch's own guards: one call in place of a dozen to
make the key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from warploom.errors import BackendError
from warploom.kernel.values import Access
from warploom.launch.binary import Binary
from warploom.launch.known import Call, call_of
from warploom.launch.layout import Layout, bind
from warploom.launch.plan import MisalignedError, Plan, prepare
from warploom.launch.tensors import (
    allocator,
    alone,
    guard_of,
    is_torch,
    not_a_tensor,
    on_stream,
    row_major,
    stream_of,
    view_of,
)
from warploom.launch.work import Piece, work_memory

ENTRIES = 1024  # plans a runner keeps
PLACES = 4096  # addresses by which plans are guessed
KNOWN = 1024  # calls that come again with the same addresses
GUARDS = 8  # that are made for a plan or a place: tensors of one layout may differ in other things
Layouts = tuple[Layout | None, ...]
View = tuple[Layouts, dict[int, tuple[int, ...]]]


class RefusedError(BackendError):
    """A call that no plan can serve, whatever its addresses; remembered by its key."""


def _never(*_: object) -> bool:
    return False


@dataclass(slots=True, eq=False)
class _Entry:
    """A plan, what makes the tensors the caller left out, and what gives the current stream.

    ``work``: gives memory to work in, for a stream and whether the caller named it. ``scalars``:
    those of a call that names none. ``check`` tells tensors of its layout, which ``pick`` takes
    from a call's. ``absent`` are the places of those not given.
    """

    plan: Plan
    made: tuple[tuple[int, Callable[[], Any]], ...]
    stream: Callable[[], int]
    work: Callable[[int, bool], Piece] | None = None
    scalars: tuple[float, ...] = ()
    options: Hashable = None
    check: Callable[..., bool] = _never
    pick: Callable[[Sequence[Any]], Sequence[Any]] = tuple
    absent: tuple[int, ...] = ()
    guards: int = 0

    def launch(self, stream: int | None, values: list[float]) -> None:
        """Launch with addresses and scalars."""
        at = self.stream() if stream is None else stream
        if self.work is None:
            self.plan.launch(at, values)
            return
        address, held = self.work(at, stream is not None)
        self.plan.launch(at, [*values, address])
        del held  # the launch is queued: later users of its memory come after it

    def notice(self, tensors: Sequence[Any]) -> None:
        """Know the layout of these tensors again."""
        given = [t for t in tensors if t is not None]
        if self.guards < GUARDS and not self.check(*given):
            self.guards += 1
            self.check = guard_of(given) or _never


def torch_key(options: Hashable, tensors: Sequence[Any]) -> Hashable:
    """The key of a call with torch tensors: options, and all that a layout is made of."""
    found = [None if t is None else (t.shape, t.stride(), t.dtype, t.get_device()) for t in tensors]
    return (options, *found)


class Runner:
    """Calls of a family of kernels; safe to use from several threads.

    ``binary_of(layouts, options)`` gives the kernel; layouts of tensors not given are None.
    ``viewed`` gives the layouts as the kernel takes them, and shapes of results as callers do, by
    place, where these differ. ``usual`` gives the scalars of calls that name none (None instead of
    a tuple). ``mend``: what answers calls that are refused or misaligned, with the same arguments
    and the reason.
    """

    _key = staticmethod(torch_key)

    def __init__(
        self,
        names: Sequence[str],
        binary_of: Callable[[Layouts, Any], Binary],
        viewed: Callable[[Layouts, Any], View] | None = None,
        usual: Callable[[Layouts], tuple[float, ...]] = lambda _: (),
        mend: Callable[..., Sequence[Any]] | None = None,
    ) -> None:
        self._names, self._binary_of, self._viewed = tuple(names), binary_of, viewed
        self._usual, self._mend = usual, mend
        self._entries: dict[Hashable, _Entry | RefusedError] = {}
        self._teller = min(1, len(self._names) - 1)  # of the tensors: weights, keys
        self._guesses: dict[int, _Entry] = {}
        self._last: _Entry | None = None
        self._seen: dict[int, int] = {}  # how often a place came, by its hash
        self.known: dict[Hashable, Call] = {}
        self._lock = threading.Lock()

    def launch(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None = (),
        options: Hashable = None,
        stream: int | None = None,
        mended: bool = False,
    ) -> Sequence[Any]:
        """Launch; the tensors in order, with outputs that were None made now.

        Tensors that are None are outputs to be made, or optional ones that are not given; which,
        the kernel's declaration says. ``mended``: a refusal is raised.
        """
        try:
            try:  # torch tensors of a known layout
                values = [0 if t is None else t.data_ptr() for t in tensors]
                place = id(options) + values[self._teller]
                entry = self._guesses.get(place) or self._last
                if (
                    entry is None
                    or entry.options is not options
                    or not entry.check(*entry.pick(tensors))
                ):
                    entry = self._found(place, tensors, options)
                else:
                    for i in entry.absent:
                        if tensors[i] is not None:
                            entry = self._found(place, tensors, options)
                            break
            except (KeyError, AttributeError, TypeError, ValueError, IndexError):
                return self._first(tensors, scalars, options, stream)
            return _run(entry, tensors, values, scalars, stream)
        except (RefusedError, MisalignedError) as reason:
            if mended or self._mend is None:
                raise
            return self._mend(tensors, scalars, options, stream, reason)

    __call__ = launch

    def comes_again(self, place: Hashable) -> bool:
        """Whether a call that was not known should be: from its second time on, without end not."""
        seen, mark = self._seen, hash(place)
        times = seen.get(mark, 0)
        if times > GUARDS:
            return False
        if len(seen) >= PLACES:
            seen.clear()
        seen[mark] = times + 1
        return times > 0

    def learn(
        self,
        place: Hashable,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None,
        options: Hashable,
        *,
        unseen: bool = False,
    ) -> None:
        """Know a call by its place from now on (``known``).

        ``unseen``: what is kept serves calls only on which nothing of torch looks. Tensors of
        another layout in the same place are learnt in their stead.
        """
        found = self._entries.get(self._key(options, tensors))
        given = [t for t in tensors if t is not None]
        check = guard_of(given)
        if unseen and check is not None:
            check = alone(check, given)
        if not isinstance(found, _Entry) or found.work is not None or check is None:
            return
        values = [0 if t is None else t.data_ptr() for t in tensors]
        values += found.scalars if scalars is None else scalars
        try:
            call = call_of(found.plan, check, found.stream, values, found.made)
        except MisalignedError:  # copies are made for such calls
            return
        if call is not None:
            with self._lock:
                if len(self.known) >= KNOWN:
                    self.known.clear()
                self.known[place] = call

    def _found(self, place: int, tensors: Sequence[Any], options: Hashable) -> _Entry:
        """The entry by its key; from now on it is what these addresses make one guess."""
        found = self._entries[self._key(options, tensors)]
        if isinstance(found, RefusedError):
            raise found.with_traceback(None)
        if found.options is options:
            found.notice(tensors)
            with self._lock:
                if len(self._guesses) >= PLACES:
                    self._guesses.clear()
                self._guesses[place] = self._last = found
        return found

    def plan(self, tensors: Sequence[Any], options: Hashable = None) -> Plan:
        """The plan of a call, made now where there is none; nothing is launched."""
        return self._entry(tensors, options)[0].plan

    def layouts(self, tensors: Sequence[Any]) -> Layouts:
        """The layouts of a call's tensors."""
        return tuple(
            None if t is None else view_of(t, name).layout
            for t, name in zip(tensors, self._names, strict=True)
        )

    def forget(self) -> None:
        """Drop every plan, so that the next calls choose anew."""
        with self._lock:
            self._entries.clear()
            self._guesses.clear()
            self._seen.clear()
            self.known.clear()
            self._last = None

    def _first(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None,
        options: Hashable,
        stream: int | None,
    ) -> Sequence[Any]:
        """A call whose plan is missing, or with tensors of another library than torch."""
        entry, views = self._entry(tensors, options)
        tensors = _complete(entry, tensors, stream)
        made = {i for i, _ in entry.made}
        pointers = [
            view_of(t, n).pointer if i in made else (0 if v is None else v.pointer)
            for i, (t, n, v) in enumerate(zip(tensors, self._names, views, strict=True))
        ]
        entry.launch(stream, [*pointers, *(entry.scalars if scalars is None else scalars)])
        return tensors

    def _entry(self, tensors: Sequence[Any], options: Hashable) -> tuple[_Entry, list[Any]]:
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
                entry = refused
            with self._lock:
                self._entries[key] = entry
                while len(self._entries) > ENTRIES:  # the oldest goes
                    del self._entries[next(iter(self._entries))]
        if isinstance(entry, RefusedError):
            raise entry.with_traceback(None)
        return entry, views

    def _make(self, tensors: Sequence[Any], layouts: Layouts, options: Hashable) -> _Entry:
        scalars = self._usual(layouts)
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
        here = [i for i, t in enumerate(tensors) if t is not None]
        return _Entry(
            plan,
            tuple(made),
            stream_of(like),
            work,
            scalars,
            options,
            pick=itemgetter(*here) if len(here) > 1 else tuple,
            absent=tuple(i for i, t in enumerate(tensors) if t is None),
        )


def _first_given(tensors: Sequence[Any], layouts: Layouts) -> tuple[Any, int]:
    for tensor, layout in zip(tensors, layouts, strict=True):
        if layout is not None:
            return tensor, layout.device
    raise BackendError("no tensor is given")


def _run(
    entry: _Entry,
    tensors: Sequence[Any],
    values: list[Any],
    scalars: tuple[float, ...] | None,
    stream: int | None,
) -> Sequence[Any]:
    """Launch with torch tensors and their addresses; they, with the missing outputs made."""
    if entry.made:
        tensors = _complete(entry, tensors, stream)
        for i, _ in entry.made:
            values[i] = tensors[i].data_ptr()
    values += entry.scalars if scalars is None else scalars
    if stream is None and entry.work is None:
        entry.plan.launch(entry.stream(), values)
    else:
        entry.launch(stream, values)
    return tensors


def _complete(entry: _Entry, tensors: Sequence[Any], stream: int | None) -> list[Any]:
    """The tensors with the missing outputs made, on the stream that will write them."""
    complete = list(tensors)
    if stream is None or not entry.made:
        for i, make in entry.made:
            complete[i] = make()
        return complete
    with on_stream(next(t for t in tensors if t is not None), stream):
        for i, make in entry.made:
            complete[i] = make()
    return complete
