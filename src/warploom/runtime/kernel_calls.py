"""Calls of tile kernels: from arguments to a plan, and from then on only launches.

The key of a plan is the layout of every tensor, element types of outputs that are made, choices,
scalars that have their default value (they are built in), which others exceed 0, and what the
author pinned. Tensors that copies cannot walk (an innermost
stride that is not 1, other strides or addresses that are no multiples of 16 bytes) are copied to
padded ones for the call, and outputs back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from warploom.compiler.binary import Binary
from warploom.compiler.cuda_driver import require_hopper
from warploom.compiler.layout import EmptyError, Layout, bind, is_empty
from warploom.compiler.remembered import recall
from warploom.errors import (
    BackendError,
    GeometryError,
    KernelCallError,
    KernelError,
    SchedulingError,
)
from warploom.frontend.printing import printing
from warploom.frontend.signature import MISSING, TensorText
from warploom.frontend.tile_kernel import TileKernel
from warploom.garbage import few_collections
from warploom.ir.tile import Access, DType, Kernel, Tensor
from warploom.kernels.registry import is_shipped
from warploom.runtime.interpreting import Interpreting, made_like, values_of, write_back
from warploom.runtime.launch_cache import KERNELS, Origin, Request, launchable
from warploom.runtime.overlap import check_itself
from warploom.runtime.plan import MisalignedError
from warploom.runtime.realign import UnfitError, check_fit, fitted
from warploom.runtime.runner import Layouts, RefusedError, Runner, View
from warploom.runtime.tensors import is_numpy, is_torch, not_a_tensor, row_major

if TYPE_CHECKING:
    from warploom.compiler.compiled import Compiled

FILLED = 8  # zeros in place of an empty axis


class HollowError(RefusedError):
    """A call with an empty axis that is summed over; nobody outside a launch sees it."""


def run(tile_kernel: TileKernel, args: Sequence[Any], given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """``TileKernel.__call__``."""
    call = _CALLS.get(tile_kernel)
    if call is None:
        call = _CALLS[tile_kernel] = Calls(tile_kernel)
    return call(args, given)


class Calls:
    """Calls of one kernel.

    ``spelled``: axes of tensors that callers order otherwise than the kernel does, by tensor.
    ``check``: examines layouts, which fit together, and options of a first call. ``viewed``: how
    the kernel takes tensors of a call, where that differs. ``usual`` scalars of one that names
    none (``Runner``). ``pick``: another kernel of the same signature. ``called``: what callers call
    tensors that have other names in the kernel; errors use theirs. ``summed``: an axis that
    may be empty: zeros stand for it, which sums do not see, or of which the input ``counted`` says
    that none counts.
    """

    def __init__(
        self,
        tile_kernel: TileKernel,
        spelled: Mapping[str, Sequence[str]] | None = None,
        check: Callable[[Layouts, tuple[Any, ...]], None] | None = None,
        viewed: Callable[[Layouts, tuple[Any, ...]], View] | None = None,
        usual: Callable[[Layouts], tuple[float, ...]] = lambda _: (),
        pick: Callable[[Layouts, tuple[Any, ...]], TileKernel] | None = None,
        called: Mapping[str, str] | None = None,
        summed: str | None = None,
        counted: str | None = None,
    ) -> None:
        self.summed, self.counted = summed, counted
        self.tile_kernel, self.check, self.viewed, self.pick = tile_kernel, check, viewed, pick
        self.spelled = spelled
        signature = tile_kernel.signature
        self.tensors = tuple(_spelled(t, (spelled or {}).get(t.name)) for t in signature.tensors)
        self.inner = {
            t.name: [a.name for a in mine.axes].index(t.axes[-1].name)
            for t, mine in zip(signature.tensors, self.tensors, strict=True)
        }
        self.places = {t.name: i for i, t in enumerate(self.tensors)}
        self.inputs = [i for i, t in enumerate(self.tensors) if t.access is not Access.OUT]
        self.outputs = [i for i, t in enumerate(self.tensors) if t.access is Access.OUT]
        self.pins = tuple(sorted(tile_kernel.pins.items(), key=str))
        # Scalars and options of calls that name nothing, by which tensors they leave out.
        self.bare: dict[tuple[bool, ...], tuple[tuple[float, ...], tuple[Any, ...]]] = {}
        self.names = [(called or {}).get(t.name, t.name) for t in self.tensors]
        probe = self.inputs[min(1, len(self.inputs) - 1)]  # weights, keys
        self.runner = Runner(self.names, self._binary, viewed, usual, self._refitted, probe)
        self.runner.hollow = self._hollow
        self.runner.interpreter = self._interpreted
        self.launch = self.runner.launch  # tensors that do not fit are copied for the call

    def __call__(self, args: Sequence[Any], given: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Launch with a call's arguments; the outputs."""
        which = tuple([a is None for a in args])
        if not given and which in self.bare:  # nothing but tensors: the rest is as it was before
            tensors, (scalars, options), stream = [None] * len(self.tensors), self.bare[which], None
            for i, tensor in zip(self.inputs, args, strict=False):
                tensors[i] = tensor
        else:
            tensors, scalars, options, stream = self.arguments(args, given)
            if not given:
                self.bare[which] = scalars, options
        done = self.launch(tensors, scalars, options, stream)
        wanted = options[3]
        made = [done[i] for i in self.outputs if self.tensors[i].name in wanted]
        return made[0] if len(made) == 1 else tuple(made)

    def arguments(
        self, args: Sequence[Any], given: Mapping[str, Any]
    ) -> tuple[list[Any], tuple[float, ...], tuple[Any, ...], int | None]:
        """Tensors in order, scalars in order, the options of the plan, and the stream."""
        tensors: list[Any] = [None] * len(self.tensors)
        if len(args) > len(self.inputs):
            raise self._wrong(
                f"{len(args)} tensors given",
                fix="inputs in order: " + ", ".join(self.tensors[i].name for i in self.inputs),
            )
        for i, tensor in zip(self.inputs, args, strict=False):
            tensors[i] = tensor
        wanted = {self.tensors[i].name for i in self.outputs if not self.tensors[i].optional}
        named: dict[str, Any] = {}
        stream, types = None, {}
        for name, value in given.items():
            place = self.places.get(name)
            if place is None:
                if name == "stream":
                    stream = value
                elif name == "types":
                    types = value
                else:
                    named[name] = value
            elif place in self.outputs and (value is True or value is False or value is None):
                wanted = wanted | {name} if value else wanted - {name} if value is False else wanted
            elif value is not None:
                tensors[place] = value
                if place in self.outputs:
                    wanted = wanted | {name}
        self._check_given(tensors)
        scalars, choices = self._numbers(named)
        usual = self.tile_kernel.signature.scalar_defaults
        built_in = {n: v for n, v in scalars.items() if n in usual and v == usual[n]}
        scalars = {n: v for n, v in scalars.items() if n not in built_in}
        choices |= built_in
        positive = frozenset(n for n, v in scalars.items() if v > 0)
        options = (
            self._stated(types),
            tuple(choices.items()),
            positive,
            frozenset(wanted),
            self.pins,
        )
        return tensors, tuple(scalars.values()), options, stream

    def _stated(self, types: object) -> tuple[tuple[str, DType], ...]:
        """Element types of outputs, by name."""
        outs = [self.tensors[i].name for i in self.outputs]
        try:
            kinds = dict(types)  # type: ignore[call-overload]
            result = tuple(sorted((str(n), DType(k)) for n, k in kinds.items()))
        except (TypeError, ValueError):
            raise self._wrong(f"types={types!r}", fix=f'types={{"{outs[0]}": "bf16"}}') from None
        for name, _ in result:
            if name not in outs:
                raise self._wrong(f"types={types!r}: no output {name!r}", fix=", ".join(outs))
        return result

    def _check_given(self, tensors: list[Any]) -> None:
        for i in self.inputs:
            if tensors[i] is None and not self.tensors[i].optional:
                raise self._wrong(
                    f"'{self.tensors[i].name}' is not given",
                    fix="inputs in order: " + ", ".join(self.tensors[j].name for j in self.inputs),
                )

    def _numbers(self, named: dict[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
        signature = self.tile_kernel.signature
        scalars: dict[str, float] = {}
        for name, dtype in signature.scalars.items():
            value = named.pop(name, signature.scalar_defaults.get(name))
            if value is None:
                raise self._wrong(f"scalar '{name}' is not given", fix=f"{name}=...")
            try:
                scalars[name] = float(value) if dtype is DType.F32 else int(value)
            except (TypeError, ValueError):
                raise self._wrong(f"scalar '{name}' is {value!r}", fix="a number") from None
        choices = {n: named.pop(n, d) for n, d in signature.choices.items()}
        for name, value in choices.items():
            if value is MISSING:
                raise self._wrong(f"choice '{name}' is not given", fix=f"{name}=...")
            if not isinstance(value, Hashable):
                raise self._wrong(f"choice '{name}' is {value!r}", fix="something hashable")
        if named:
            known = [*signature.scalars, *signature.choices, *self.places, "stream", "types"]
            raise self._wrong(f"no parameter '{next(iter(named))}'", fix=", ".join(known))
        return scalars, choices

    def _refitted(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None,
        options: tuple[Any, ...],
        stream: int | None,
        reason: BackendError,
    ) -> Sequence[Any]:
        """A launch with copies in place of tensors that do not fit."""
        if isinstance(reason, HollowError):
            return self.launch(self._with_zeros(tensors), scalars, options, stream)
        if not isinstance(reason, UnfitError):
            if not isinstance(reason, MisalignedError):
                raise reason
            reason = UnfitError(())
        fit = fitted(self.inner, tensors, reason, stream)
        try:
            done = self.runner.by_key(fit.complete, scalars, options, stream, True)
        except UnfitError as found:  # strides besides addresses
            fit = fitted(self.inner, tensors, found, stream)
            done = self.runner.by_key(fit.complete, scalars, options, stream, True)
        return fit.finish(done, self.outputs, stream)

    def _as_declared(self, tensors: Sequence[Any], layouts: Layouts) -> Layouts:
        """Layouts in which floats of NumPy have the type that the kernel states for them, where it
        does: what such arrays stand for elsewhere is the caller's word.
        """
        return tuple(
            replace(layout, dtype=declared.dtype)
            if layout is not None
            and declared.dtype is not None
            and declared.dtype.is_float
            and layout.dtype.is_float
            and is_numpy(tensor)
            and tensor.dtype.name in ("float32", "float64")
            else layout
            for tensor, layout, declared in zip(tensors, layouts, self.tensors, strict=True)
        )

    def _interpreted(
        self,
        tensors: Sequence[Any],
        scalars: tuple[float, ...] | None,
        options: tuple[Any, ...],
        state: Interpreting,
    ) -> Sequence[Any]:
        """The call executed on the CPU, by the module that a GPU would run."""
        from warploom.runtime.interpret import (  # noqa: PLC0415 (passes, NumPy)
            Named,
            execute,
            show,
        )

        layouts = self._as_declared(tensors, self.runner.layouts(tensors))
        numbers = self.runner.scalars_of(layouts) if scalars is None else scalars
        if is_empty(layouts):
            try:
                declared = self._hollow(layouts, options)
            except HollowError:
                filled = self._with_zeros(tensors)
                return self._interpreted(filled, scalars, options, state)
            return self._made_empty(tensors, layouts, declared)
        shapes: Mapping[int, tuple[int, ...]] = {}
        if self.viewed is not None:
            layouts, shapes = self.viewed(layouts, options)
        tensors_of, sizes = self._bound(layouts, options)
        with printing() as shown:
            kernel, pins, positive = self._kernel(layouts, options)
        key = _size_key(kernel, sizes)
        done = list(tensors)
        like = next(t for t in tensors if t is not None)
        held: dict[str, Any] = {}
        complete = list(layouts)
        for i, (t, layout) in enumerate(zip(tensors_of, layouts, strict=True)):
            if layout is None and t.access is Access.OUT and not t.optional:
                shape = tuple(-(-sizes[a.name] // a.per) for a in t.axes)
                complete[i] = Layout(shape, row_major(shape), t.dtype, 0)
                done[i] = made_like(like, shapes.get(i, shape), t.dtype)
            elif layout is not None:
                held[t.name] = Named(values_of(tensors[i], layout), tuple(a.name for a in t.axes))
        given = dict(zip((p.name for p in kernel.parameters), numbers, strict=True))
        made = execute(kernel, key, pins, positive, held, given, sizes, state)
        show(shown, made)
        for i, (t, layout) in enumerate(zip(tensors_of, complete, strict=True)):
            if t.access is Access.OUT and layout is not None and t.name in made:
                own = made[t.name].in_order(tuple(a.name for a in t.axes))
                write_back(done[i], layout, own.astype("float32") if own.dtype.kind == "f" else own)
        return done

    def _made_empty(
        self, tensors: Sequence[Any], layouts: Layouts, declared: Sequence[Tensor]
    ) -> list[Any]:
        """The results of a call without elements."""
        given = [(t, w) for t, w in zip(declared, layouts, strict=True) if w is not None]
        sizes = bind([t for t, _ in given], [w for _, w in given], empty=True)
        like = next(t for t in tensors if t is not None)
        done = list(tensors)
        for i, (t, w) in enumerate(zip(declared, layouts, strict=True)):
            if w is None and t.access is Access.OUT and not t.optional:
                shape = tuple(-(-sizes[a.name] // a.per) for a in t.axes)
                done[i] = made_like(like, shape, t.dtype)
        return done

    def _kernel(
        self, layouts: Layouts, options: tuple[Any, ...]
    ) -> tuple[Kernel, list[dict[str, object]], frozenset[str]]:
        """The kernel of a call, the choices that a call tries for it in turn, and what is > 0."""
        from warploom.runtime.interpret import tried_pins  # noqa: PLC0415 (passes, NumPy)

        types, choices, positive, wanted, pins = options
        _, sizes = self._bound(layouts, options)
        without = self._left_out(layouts, wanted)
        kinds = self._types(layouts, dict(types), without)
        if self.check is not None:
            self.check(layouts, options)
        tile_kernel = self.pick(layouts, options) if self.pick else self.tile_kernel
        kernel = tile_kernel.value_for(kinds, sizes, dict(choices), without)
        known = pins or recall(kernel, dict(_size_key(kernel, sizes)))
        if known:
            return kernel, [dict(known)], positive
        return kernel, tried_pins(tile_kernel, kernel, dict(choices), sizes), positive

    def _hollow(self, layouts: Layouts, options: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """The tensors of a call one of which is empty, if so are all results.

        ``HollowError`` where an axis is empty that is summed over: zeros stand for it.
        """
        tensors, sizes = self._bound(layouts, options, empty=True)
        if self.check is not None:
            self.check(layouts, options)
        wanted = [t for t in tensors if t.access is Access.OUT and not t.optional]
        if all(0 in (sizes.get(a.name, 1) for a in t.axes) for t in wanted):
            return tensors
        if self.summed is not None and sizes.get(self.summed) == 0:
            raise HollowError(f"axis {self.summed} is empty", fix="torch tensors")
        self._bound(layouts, options)  # tells which tensor it is
        raise AssertionError

    def _with_zeros(self, tensors: Sequence[Any]) -> list[Any]:
        """Zeros in place of tensors that are empty along the axis that is summed over."""
        import numpy as np  # noqa: PLC0415 (calls on a GPU need none)

        out = list(tensors)
        for i, (t, given) in enumerate(zip(self.tensors, tensors, strict=True)):
            names = [a.name for a in t.axes]
            if given is None or self.summed not in names:
                continue
            interpreted = isinstance(given, np.ndarray)
            if not is_torch(given) and not interpreted:
                raise EmptyError(f"{self.names[i]} is empty", fix="torch tensors, or none at all")
            at, shape = names.index(self.summed), list(given.shape)
            shape[at] = 1 if t.axes[at].per > 1 else FILLED
            out[i] = np.zeros(shape, given.dtype) if interpreted else given.new_zeros(shape)
            if self.counted is not None:
                none = np.zeros(shape[:1], np.int32) if interpreted else None
                none = given.new_zeros(shape[:1]).int() if none is None else none
                out[self.places[self.counted]] = none
        return out

    def _binary(self, layouts: Layouts, options: tuple[Any, ...]) -> Binary:
        """The kernel of a call."""
        for t, name, layout in zip(self.tensors, self.names, layouts, strict=True):
            if t.access is Access.OUT and layout is not None:
                check_itself(name, layout)
        request, tensors, sizes = self._asked(layouts, options)
        require_hopper(next(w.device for w in layouts if w))  # before compiling anything
        found = launchable(request)
        check_fit(tensors, layouts, sizes, self.inner, frozenset(found.facts.moved))
        return found.binary(tensors)

    def binary_for(self, layouts: Layouts, options: tuple[Any, ...]) -> Binary:
        """The kernel of a call with tensors of these layouts, kept or compiled; needs no GPU."""
        if self.viewed is not None:
            layouts, _ = self.viewed(layouts, options)
        request, tensors, _ = self._asked(layouts, options)
        return launchable(request).binary(tensors)

    def compiled(self, tensors: Sequence[Any], options: tuple[Any, ...]) -> Compiled:
        """The compilation of a call."""
        return self.compiled_for(self.runner.layouts(tensors), options)

    def compiled_for(self, layouts: Layouts, options: tuple[Any, ...]) -> Compiled:
        """The compilation of a call with tensors of these layouts; needs no GPU."""
        if self.viewed is not None:
            layouts, _ = self.viewed(layouts, options)
        return compiled_or_chosen(self._asked(layouts, options)[0])

    def forget(self) -> None:
        """Drop every plan, so that the next calls choose anew."""
        self.runner.forget()

    def _asked(
        self, layouts: Layouts, options: tuple[Any, ...]
    ) -> tuple[Request, tuple[Tensor, ...], dict[str, int]]:
        """What a call asks for, its tensors as declared, and the sizes of its axes."""
        types, choices, positive, wanted, pins = options
        tensors, sizes = self._bound(layouts, options)
        without = self._left_out(layouts, wanted)
        kinds = self._types(layouts, dict(types), without)
        if self.check is not None:
            self.check(layouts, options)
        tile_kernel = self.pick(layouts, options) if self.pick else self.tile_kernel
        kernel = tile_kernel.value_for(kinds, sizes, dict(choices), without)
        key = _size_key(kernel, sizes)
        known = pins or recall(kernel, dict(key))
        ask = Request(
            kernel, key, known, positive, Origin(tile_kernel, choices, tuple(sizes.items()))
        )
        return ask, tensors, sizes

    def _bound(
        self, layouts: Layouts, options: tuple[Any, ...], *, empty: bool = False
    ) -> tuple[tuple[Tensor, ...], dict[str, int]]:
        """The tensors of a call, declared, and the sizes of its axes."""
        for t, name, layout in zip(self.tensors, self.names, layouts, strict=True):
            if layout is None and t.access is not Access.OUT and not t.optional:
                raise not_a_tensor(None, name)
        types, _, _, wanted, _ = options
        without = self._left_out(layouts, wanted)
        tensors = self._declared(self._types(layouts, dict(types), without), without)
        named = (replace(t, name=n) for t, n in zip(tensors, self.names, strict=True))
        given = [(t, w) for t, w in zip(named, layouts, strict=True) if w is not None]
        return tensors, bind([t for t, _ in given], [w for _, w in given], empty=empty)

    def _left_out(self, layouts: Layouts, wanted: frozenset[str]) -> frozenset[str]:
        left = set()
        for t, layout in zip(self.tensors, layouts, strict=True):
            is_out = t.access is Access.OUT
            if (is_out and t.name not in wanted) or (not is_out and layout is None):
                left.add(t.name)
        return frozenset(left)

    def _types(
        self, layouts: Layouts, stated: dict[str, DType], without: frozenset[str]
    ) -> dict[str, DType]:
        """Element types: of tensors given, stated, in the kernel, or that of the first input."""
        kinds = {
            t.name: t.dtype or w.dtype for t, w in zip(self.tensors, layouts, strict=True) if w
        }
        first = next(iter(kinds.values()))
        usual = DType.BF16 if first.bits == 8 else first
        for t in self.tensors:
            if t.name not in kinds and t.name not in without:
                kinds[t.name] = stated.get(t.name) or t.dtype or usual
        return kinds

    def _declared(self, kinds: Mapping[str, DType], without: frozenset[str]) -> tuple[Tensor, ...]:
        """All tensors of the kernel, in order; those left out are optional ones not given."""
        return tuple(
            Tensor(
                name=t.name,
                axes=t.axes,
                dtype=kinds.get(t.name, t.dtype or DType.F32),
                access=t.access,
                optional=t.name in without,
                blocked=t.blocked,
                captured=t.captured,
            )
            for t in self.tensors
        )

    def _wrong(self, what: str, *, fix: str) -> KernelCallError:
        return KernelCallError(f"call of kernel '{self.tile_kernel.name}': {what}", fix=fix)


_CALLS: WeakKeyDictionary[TileKernel, Calls] = WeakKeyDictionary()


def _spelled(tensor: TensorText, names: Sequence[str] | None) -> TensorText:
    """The tensor with its axes in another order."""
    if names is None:
        return tensor
    return replace(tensor, axes=tuple(next(a for a in tensor.axes if a.name == n) for n in names))


def _size_key(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The sizes a choice of tiles depends on: those of the axes variables walk."""
    axes = {v.axis for v in kernel.vars}
    return tuple(sorted((a, n) for a, n in sizes.items() if a in axes))


@lru_cache(maxsize=KERNELS)
def _compiled(
    kernel: Kernel,
    sizes: tuple[tuple[str, int], ...],
    pins: tuple[tuple[str, object], ...],
    positive: frozenset[str],
    warns: bool,
) -> Compiled:
    from warploom.compiler.compiled import Compiled  # noqa: PLC0415 (loads every pass)

    return Compiled(
        kernel,
        sizes=dict(sizes),
        pins=dict(pins),
        positive=positive,
        warns=warns,
        liken=warns and not pins,  # an author's
    )


def compiled_or_chosen(request: Request) -> Compiled:
    """With what is pinned; with what was measured for kernels of its kind, unless this one has no
    place for it: then with another order of its own, or with nothing of it. Nor where it spills
    with its loop in parts or with functions of the caller, which nobody measured.
    """
    kernel, sizes, pins, positive = request.kernel, request.sizes, request.pins, request.positive
    warns = not is_shipped(request.origin.tile_kernel)
    if pins:
        return _compiled(kernel, sizes, pins, positive, warns)
    theirs = any(isinstance(value, FunctionType) for _, value in request.origin.choices)
    with few_collections():
        from warploom.compiler.compiled import alternatives  # noqa: PLC0415 (loads every pass)

    for mine in alternatives(request.measured()):
        result = _compiled(kernel, sizes, mine, positive, warns)
        with suppress(BackendError, GeometryError, KernelError, SchedulingError):
            if not (result.spills_in_parts or (theirs and result.spill_bytes)):
                return result
            own = _compiled(kernel, sizes, (), positive, warns)
            return own if own.spill_bytes < result.spill_bytes else result
    return _compiled(kernel, sizes, (), positive, warns)
