"""The signature of a kernel: its tensors, scalars and compile-time choices."""

import ast
import builtins
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import KernelError
from warploom.frontend.builtins import Order, TensorNote
from warploom.frontend.source import Source
from warploom.ir.tile import Access, Axis, DType

RESERVED = frozenset(
    {"exact", "extents", "initial", "sizes", "types", "constants", "without", "stream"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorText:
    """A tensor as the source states it: ``dtype`` is None where the call decides."""

    name: str
    axes: tuple[Axis, ...]
    access: Access
    dtype: DType | None
    optional: bool
    blocked: bool = False
    captured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a kernel takes: tensors, run-time scalars, compile-time choices with their defaults.

    A scalar or choice without a default must be given; ``MISSING`` stands for that.
    """

    tensors: tuple[TensorText, ...]
    scalars: Mapping[str, DType]
    scalar_defaults: Mapping[str, float | int]
    choices: Mapping[str, object]

    @property
    def inputs(self) -> tuple[TensorText, ...]:
        """What a caller gives, in order."""
        return tuple(t for t in self.tensors if t.access is not Access.OUT)

    @property
    def outputs(self) -> tuple[TensorText, ...]:
        """What a kernel makes, in order."""
        return tuple(t for t in self.tensors if t.access is Access.OUT)


MISSING = object()


def read_signature(function: Callable[..., Any], source: Source) -> Signature:
    """Check the parameters of a kernel."""
    assert isinstance(source.tree, ast.FunctionDef)
    args = source.tree.args
    for unsupported in (args.vararg, args.kwarg):
        if unsupported is not None:
            source.wrong_type(
                unsupported,
                f"parameter '{unsupported.arg}' collects arguments",
                why="a kernel has a fixed list of tensors and scalars",
                fix="name every tensor and scalar",
            )
    notes = _annotations(function)
    tensors: list[TensorText] = []
    scalars: dict[str, DType] = {}
    defaults: dict[str, float | int] = {}
    choices: dict[str, object] = {}
    nodes = {a.arg: a for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    for name, given in inspect.signature(function).parameters.items():
        node, note = nodes[name], notes.get(name)
        if given.kind is not inspect.Parameter.KEYWORD_ONLY:
            tensors.append(_tensor(source, node, note, given.default))
            continue
        _check_keyword(source, node, note)
        if note in (float, int):
            scalars[name] = DType.F32 if note is float else DType.I32
            if given.default is not inspect.Parameter.empty:
                defaults[name] = given.default
        else:
            empty = given.default is inspect.Parameter.empty
            choices[name] = MISSING if empty else given.default
    _check_tensors(source, tensors, nodes)
    return Signature(
        tensors=tuple(tensors), scalars=scalars, scalar_defaults=defaults, choices=choices
    )


def _annotations(function: Callable[..., Any]) -> dict[str, object]:
    """Annotations as objects, also under ``from __future__ import annotations``.

    There axes may stand without quotes (formatters take them away): a name that means nothing else
    is an axis.
    """
    result: dict[str, object] = dict(getattr(function, "__annotations__", {}))
    for name, note in result.items():
        if isinstance(note, str):
            space = _Names(function, inspect.getclosurevars(function).nonlocals)
            try:
                result[name] = eval(note, function.__globals__, space)
            except Exception:
                result[name] = note
    return result


class _Names(dict[str, object]):
    """Names of an annotation: what the function knows, else an axis of that name."""

    def __init__(self, function: Callable[..., Any], known: Mapping[str, object]) -> None:
        super().__init__(known)
        self._globals = function.__globals__

    def __missing__(self, name: str) -> object:
        if name in self._globals or hasattr(builtins, name):
            raise KeyError(name)
        return _AxisName(name)


class _AxisName(str):
    """An axis without quotes; ``k / 128`` is ``"k/128"``."""

    __slots__ = ()

    def __truediv__(self, per: int) -> str:
        return f"{self}/{per}"


def _check_keyword(source: Source, node: ast.arg, note: object) -> None:
    if isinstance(note, TensorNote):
        source.wrong_type(
            node,
            f"tensor '{node.arg}' stands after the *",
            why="tensors come first, scalars and compile-time choices after the *",
            fix=f"move '{node.arg}' before the *",
        )
    if node.arg in RESERVED:
        source.fail(
            KernelError,
            node,
            f"parameter '{node.arg}' has a name that calls of kernels use themselves",
            fix=f"another name than {', '.join(sorted(RESERVED))}",
        )


def _tensor(source: Source, node: ast.arg, note: object, default: object) -> TensorText:
    if not isinstance(note, TensorNote):
        scalar = note in (float, int)
        source.wrong_type(
            node,
            f"parameter '{node.arg}' is not annotated as a tensor",
            why="every parameter before the * is a tensor with named axes",
            fix=f"move it after a *: (..., *, {node.arg}: {getattr(note, '__name__', '')})"
            if scalar
            else f'write {node.arg}: wl.In["m", "k"] or {node.arg}: wl.Out["m", "n"], '
            "or move it after a * if it is a scalar or a choice",
        )
    items = list(note.items)
    blocked = bool(items) and items[-1] is Order.BLOCKED
    items = items[: len(items) - blocked]
    dtype = items[-1] if items and isinstance(items[-1], DType) else None
    items = items[: len(items) - (dtype is not None)]
    axes = tuple(_axis(source, node, item) for item in items)
    if not axes:
        source.wrong_type(
            node,
            f"tensor '{node.arg}' has no axes",
            fix=f'name its axes: {node.arg}: wl.In["m", "k"]',
        )
    if default is not inspect.Parameter.empty and default is not None:
        source.wrong_type(
            node,
            f"tensor '{node.arg}' has a default that is not None",
            why="a tensor may only be left out (None)",
            fix=f"{node.arg} = None, or no default",
        )
    dtype = _own_type(source, node, note.access, axes, dtype)
    if blocked and (len(axes) < 2 or dtype is not DType.F32 or any(a.per > 1 for a in axes)):
        source.wrong_type(
            node,
            f"tensor '{node.arg}' cannot lie in blocks",
            why="blocks are of 16 rows and 8 columns of f32, as accumulators are held",
            fix=f'{node.arg}: wl.Out["m", "n", wl.f32, wl.blocked]',
        )
    return TensorText(
        name=node.arg,
        axes=axes,
        access=note.access,
        dtype=dtype,
        optional=default is None,
        blocked=blocked,
    )


def _own_type(
    source: Source, node: ast.arg, access: Access, axes: tuple[Axis, ...], dtype: DType | None
) -> DType | None:
    """The element type, where the kind of the tensor decides it."""
    if access is Access.STARTS and (len(axes) != 1 or dtype not in (None, DType.I32)):
        source.wrong_type(
            node,
            f"'{node.arg}' of wl.Starts needs exactly one axis and is i32",
            why="it holds the first row of each group, and the end of the last",
            fix=f'{node.arg}: wl.Starts["e"]',
        )
    if access is Access.TURNS and dtype not in (None, DType.F32):
        source.wrong_type(
            node,
            f"'{node.arg}' of wl.Turns is f32",
            why="what it holds is for the kernel alone, and zeros before every launch",
            fix=f'{node.arg}: wl.Turns["b", "s"]',
        )
    return {Access.STARTS: DType.I32, Access.TURNS: DType.F32}.get(access, dtype)


def _axis(source: Source, node: ast.arg, item: object) -> Axis:
    name, _, per = item.partition("/") if isinstance(item, str) else ("", "", "")
    bad = not name.isidentifier() or ("/" in str(item) and not (per.isdigit() and int(per) > 0))
    if bad:
        source.wrong_type(
            node,
            f"{item!r} is not the name of an axis of '{node.arg}'",
            why='an axis is named "k", or "k/128" with one element for each 128 of k',
            fix="a Python name in quotes; an element type may stand last (wl.f32)",
        )
    if name == "dtype":
        source.wrong_type(node, "an axis cannot be called 'dtype'", fix="another name")
    return Axis(name=name, per=int(per) if per else 1)


def _check_tensors(source: Source, tensors: list[TensorText], nodes: Mapping[str, ast.arg]) -> None:
    for tensor in tensors:
        names = [a.name for a in tensor.axes]
        for name in names:
            if names.count(name) > 1:
                source.wrong_type(
                    nodes[tensor.name],
                    f"tensor '{tensor.name}' has two axes called '{name}'",
                    why="axes are told apart by their names",
                    fix="give the second axis a name of its own",
                )
    full = {a.name for t in tensors for a in t.axes if a.per == 1}
    for tensor in tensors:
        for axis in tensor.axes:
            if axis.per > 1 and axis.name not in full:
                source.wrong_type(
                    nodes[tensor.name],
                    f"axis '{axis.name}/{axis.per}' of '{tensor.name}' has no axis "
                    f"'{axis.name}' to belong to",
                    why=f"its size follows from that of '{axis.name}'",
                    fix=f"name an axis '{axis.name}' in some tensor",
                )
    if not any(t.access is Access.OUT for t in tensors):
        source.wrong_type(
            source.tree,
            "the kernel has no output",
            why="a kernel is known by what it stores",
            fix='add a parameter such as out: wl.Out["m", "n"]',
        )
