"""Configurations that were measured, found for a kernel by its content.

A shipped kernel is known by itself. Any other is compared, without names (``frontend.canonical``),
with the shipped ones it could be a copy of: what was measured for the one holds for the other, in
the other's names.

There are two keys. The first is the form of the whole kernel. The second is the form with functions
of the caller abstracted (a score of attention): those that were given as choices are replaced by
ones that stand for any, in the kernel and in the shipped one alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations, permutations, product
from types import FunctionType
from typing import NamedTuple

from warploom.compiler.similar import is_known
from warploom.errors import WarploomError
from warploom.frontend.canonical import Canonical
from warploom.frontend.simplify import simplify
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.tile import Kernel
from warploom.kernels.declaration import Shipped
from warploom.kernels.measured import Pins
from warploom.kernels.registry import declaration_of, shipped

MOST_OPTIONAL = 6  # optional tensors whose presence is tried


class Match(NamedTuple):
    """The shipped kernel that another is a copy of, and the copy's names by those of the shipped
    one: variables, axes, tensors.
    """

    shipped: Shipped
    choices: Mapping[str, object]
    vars: Mapping[str, str]
    axes: Mapping[str, str]
    tensors: Mapping[str, str]


def tuned_pins(
    tile_kernel: TileKernel | None,
    kernel: Kernel,
    choices: Mapping[str, object],
    sizes: Mapping[str, int],
) -> Pins:
    """What was measured best for a kernel on these sizes; nothing where nothing was."""
    choices = {**({} if tile_kernel is None else tile_kernel.given), **choices}
    own = None if tile_kernel is None else declaration_of(tile_kernel)
    if own is not None:
        return own.configuration(choices, sizes)
    found = match(kernel)
    if found is None and tile_kernel is not None:
        found = _match_with_functions(tile_kernel, kernel, tuple(choices.items()))
    if found is None:
        return ()
    theirs = {mine: sizes[yours] for mine, yours in found.axes.items() if yours in sizes}
    pins = []
    for name, value in found.shipped.configuration(found.choices, theirs):
        mine = found.tensors.get(str(value), value) if name == "l2_evict_last" else value
        pins.append((found.vars.get(name, name), mine))
    return tuple(pins)


@lru_cache(maxsize=256)
def match(kernel: Kernel) -> Match | None:
    """The shipped kernel with the same form, if there is one."""
    if not is_known(simplify(kernel)):  # no shipped kernel is loaded to find that out
        return None
    found = (_found(one, kernel, {}) for one in shipped().values() if one.measured is not None)
    return next((match for match in found if match is not None), None)


@lru_cache(maxsize=256)
def _match_with_functions(
    tile_kernel: TileKernel, kernel: Kernel, choices: tuple[tuple[str, object], ...]
) -> Match | None:
    """The shipped kernel with the same form but for functions that were given as choices."""
    given = {name: _arity(value) for name, value in choices if _arity(value) is not None}
    if not given:
        return None
    plain = TileKernel(tile_kernel.function)
    used = [t for t in kernel.tensors if not t.captured]
    types = {t.name: t.dtype for t in used}
    whole = {v.axis: v.extent for v in kernel.vars if v.extent is not None}
    without = [t.name for t in plain.signature.tensors if t.name not in types]
    for one in shipped().values():
        for names in permutations(one.functions, len(given)):
            if [_arity(one.functions[n]) for n in names] != list(given.values()):
                continue
            theirs = {n: one.functions[n] for n in names}
            mine = dict(zip(given, theirs.values(), strict=True))
            abstract = plain.value_for(types, whole, {**dict(choices), **mine}, without)
            result = _found(one, abstract, theirs)
            if result is not None:
                return result
    return None


def _arity(value: object) -> int | None:
    """How many arguments a function of the caller takes; None for all other choices."""
    function = getattr(value, "function", value)
    if not isinstance(function, FunctionType):
        return None
    return function.__code__.co_argcount


def _found(one: Shipped, kernel: Kernel, functions: Mapping[str, object]) -> Match | None:
    """The match of a kernel with any form of a shipped one."""
    wanted = Canonical(simplify(kernel))
    for without in _left_out(one.kernel, kernel):
        for choices in _choices(one):
            result = _compared(one, kernel, wanted, without, {**choices, **functions})
            if result is not None:
                return result
    return None


def _left_out(tile_kernel: TileKernel, kernel: Kernel) -> Iterator[frozenset[str]]:
    """Optional tensors without which a shipped kernel has the tensors of the kernel, by form."""
    given = kernel.tensors
    optional = [t.name for t in tile_kernel.signature.tensors if t.optional]
    missing = len(tile_kernel.signature.tensors) - len(given)
    if not 0 <= missing <= len(optional) <= MOST_OPTIONAL:
        return
    for some in combinations(optional, missing):
        rest = [t for t in tile_kernel.signature.tensors if t.name not in some]
        alike = (
            (len(t.axes), t.access) == (len(u.axes), u.access) and t.dtype in (None, u.dtype)
            for t, u in zip(rest, given, strict=True)
        )
        if all(alike):
            yield frozenset(some)


def _choices(one: Shipped) -> Iterator[dict[str, object]]:
    for values in product(*one.measured_choices.values()):
        yield dict(zip(one.measured_choices, values, strict=True))


def _compared(
    one: Shipped,
    kernel: Kernel,
    wanted: Canonical,
    without: frozenset[str],
    choices: dict[str, object],
) -> Match | None:
    """The match of a kernel with one form of a shipped kernel."""
    own = [t for t in one.kernel.signature.tensors if t.name not in without]
    pairs = list(zip(own, kernel.tensors, strict=True))
    axes = {a.name: b.name for t, u in pairs for a, b in zip(t.axes, u.axes, strict=True)}
    whole = {v.axis: v.extent for v in kernel.vars if v.extent is not None}
    sizes = {a: size for a, b in axes.items() if (size := whole.get(b)) is not None}
    types = {t.name: u.dtype for t, u in pairs}
    try:
        made = one.kernel.value_for(types, sizes, choices, without)
        found = Canonical(simplify(made))
    except WarploomError:  # not of these types or sizes
        return None
    if found.form != wanted.form:
        return None
    spaces = ("var", "axis", "tensor")
    maps = [dict(zip(found.names(s), wanted.names(s), strict=True)) for s in spaces]
    return Match(one, choices, *maps)
