"""Kernel modules as JSON, format 2, and back.

Readers follow the type hints of the frozen dataclasses, so a field is described once. A value of a
union carries its class under ``is``. Expressions are short lists: ``["+", a, b]``,
``["?", condition, a, b]``, ``["call", function, a]``, ``["at", tensor, i, j]``, ``["size", "m"]``;
a number is itself. Kinds that only thread programs have, and instructions of waves, are lists of
their class and fields: ``["Reg", name, index]``. Every error is a ``DocumentError`` that names the
path of what is wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from warploom.errors import DocumentError
from warploom.ir.expr import Apply, Binary, Const, Element, Expr, Op, Select, Sym, SymKind
from warploom.ir.module import KernelModule
from warploom.ir.records import MAX_INT, MAX_LIST, kind_of, mapping
from warploom.ir.thread_checks import check_threads
from warploom.ir.threads import TERMS
from warploom.ir.tile import Kernel
from warploom.ir.wave_checks import check_waves
from warploom.ir.waves import INSTRUCTIONS, Instruction

# ruff: noqa: ANN401  # the form is read off type hints, so values pass through untyped

FORMAT = 2
DEEPEST_TERM = 300  # a chain of elementwise functions that is one term
DEEPEST = 200  # nested expressions; deeper ones are refused instead of overflowing the stack
_EXPRESSIONS = (Const, Sym, Binary, Select, Apply, Element)
_TERMS: dict[str, type[Expr]] = {cls.__name__: cls for cls in TERMS}
_INSTRUCTIONS: dict[str, Any] = {cls.__name__: cls for cls in INSTRUCTIONS}
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_json(module: KernelModule) -> str:
    """The module as JSON text."""
    return json.dumps({"format": FORMAT, "module": _plain(module)}, indent=1)


def from_json(text: str | bytes) -> KernelModule:
    """The module that a JSON text holds; ``DocumentError`` says what is wrong and where."""
    data = _held(text, "module")
    try:
        module: KernelModule = _reader(KernelModule)(data, "$.module")
    except RecursionError:
        raise DocumentError("statements nested too deeply", path="$.module") from None
    check_threads(module)
    check_waves(module)
    return module


def _held(text: str | bytes, what: str) -> Any:
    """What a JSON text holds under a name."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            f"not JSON: {error}", path="$", fix="the output of to_json or --json"
        ) from None
    whole = mapping(data, "$", ("format", what))
    if whole["format"] != FORMAT:
        raise DocumentError(
            f"format {whole['format']!r} is no kernel module",
            path="$.format",
            fix="format 2 holds modules; documents of format 1 are read by RolesDocument",
        )
    return whole[what]


def kernel_to_json(kernel: Kernel) -> str:
    """A kernel of the tile language as JSON text, without a program."""
    return json.dumps({"format": FORMAT, "kernel": _plain(kernel)}, indent=1)


def kernel_from_json(text: str | bytes) -> Kernel:
    """The kernel that a JSON text holds; ``DocumentError`` says what is wrong and where."""
    kernel: Kernel = _reader(Kernel)(_held(text, "kernel"), "$.kernel")
    return kernel


def _plain(value: Any) -> Any:  # noqa: PLR0911 (one line a kind of value)
    if isinstance(value, Expr):
        return _plain_expression(value)
    if isinstance(value, Instruction):
        own = [_plain(getattr(value, f.name)) for f in fields(value)]  # type: ignore[arg-type]
        return [type(value).__name__, *own]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not is_dataclass(value):
        return value
    result: dict[str, Any] = {"is": type(value).__name__} if type(value) in _tagged() else {}
    for f in fields(value):
        own = getattr(value, f.name)
        if f.default is MISSING or own != f.default:
            result[f.name] = _plain(own)
    return result


def _plain_expression(value: Expr) -> Any:  # noqa: PLR0911 (one line a kind)
    match value:
        case Const():
            return value.value
        case Sym():
            return [value.kind.value, value.name]
        case Binary():
            return [value.op.value, _plain_expression(value.a), _plain_expression(value.b)]
        case Select():
            parts = (value.condition, value.then, value.otherwise)
            return ["?", *(_plain_expression(p) for p in parts)]
        case Apply():
            return ["call", value.function, _plain_expression(value.argument)]
        case Element():
            return ["at", value.tensor, *(_plain_expression(p) for p in value.at)]
        case _:
            own = [_plain(getattr(value, f.name)) for f in fields(value)]  # type: ignore[arg-type]
            return [type(value).__name__, *own]


@cache
def _tagged() -> frozenset[type]:
    """Classes that occur in a union of several, found from the module's own hints."""
    found: set[type] = set()
    seen: set[Any] = set()
    waiting: list[Any] = [KernelModule]
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        if get_origin(kind) in (Union, UnionType):
            members: list[Any] = [
                a for a in get_args(kind) if is_dataclass(a) and a not in _EXPRESSIONS
            ]
            found |= set(members) if len(members) > 1 else set()
        if isinstance(kind, type) and is_dataclass(kind):
            waiting += list(get_type_hints(kind).values())
        waiting += list(get_args(kind))
    return frozenset(found)


Reader = Callable[[Any, str], Any]


@cache
def _reader(kind: Any) -> Reader:  # noqa: C901, PLR0911 (one line a kind of type)
    if kind is int:
        return _int
    if kind is bool:
        return _bool
    if kind is str:
        return _str
    if kind is float:
        return _number
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda data, path: _member(kind, data, path)
    origin = get_origin(kind)
    if origin is tuple:
        return _tuple_reader(get_args(kind))
    if origin in (Union, UnionType):
        return _union_reader(get_args(kind))
    if kind is Expr:
        return lambda data, path: _expression(data, path, 0, typed=True)
    if kind is Instruction:
        return _instruction
    if kind in _EXPRESSIONS:
        return lambda data, path: _expression_of(kind, data, path)
    if isinstance(kind, type) and is_dataclass(kind):
        return lambda data, path: _record(kind, data, path)
    raise AssertionError(kind)


@cache
def _shape(cls: Any) -> tuple[dict[str, Reader], frozenset[str], tuple[str, ...]]:
    """How each field of a class is read, which may be missing, and the keys that tell it apart."""
    hints = get_type_hints(cls)
    readers = {f.name: _reader(hints[f.name]) for f in fields(cls)}
    optional = frozenset(f.name for f in fields(cls) if f.default is not MISSING)
    return readers, optional, ("is",) if cls in _tagged() else ()


def _expression_of(kind: Any, data: Any, path: str) -> Any:
    result = _expression(data, path, 0)
    if not isinstance(result, kind):
        raise DocumentError(f"expected a {kind.__name__.lower()}, found {result}", path=path)
    return result


def _record(cls: Any, data: Any, path: str) -> Any:
    readers, optional, tag = _shape(cls)
    found = mapping(data, path, (*tag, *readers), optional)
    if tag and found["is"] != cls.__name__:
        raise DocumentError(f"expected {cls.__name__}", path=f"{path}.is", fix=f'"{cls.__name__}"')
    return cls(**{n: r(found[n], f"{path}.{n}") for n, r in readers.items() if n in found})


def _union_reader(options: tuple[Any, ...]) -> Reader:
    records: list[Any] = [o for o in options if is_dataclass(o) and o not in _EXPRESSIONS]
    classes = {o.__name__: o for o in records}
    expressions = any(o in _EXPRESSIONS for o in options)
    plain = [o for o in options if not is_dataclass(o) and o not in (NoneType, Expr)]
    typed = Expr in options

    def read(data: Any, path: str) -> Any:  # noqa: PLR0911 (one line a kind of option)
        if data is None and NoneType in options:
            return None
        if expressions or typed:
            return _expression(data, path, 0, typed=typed)
        if len(classes) == 1 and not plain:
            return _record(next(iter(classes.values())), data, path)
        if classes and isinstance(data, dict):
            name = data.get("is")
            if not isinstance(name, str) or name not in classes:
                known = ", ".join(sorted(classes))
                raise DocumentError(
                    f"unknown operation {str(name)[:40]!r}",
                    path=f"{path}.is",
                    fix=f"known: {known}",
                )
            return _record(classes[name], data, path)
        if str in plain and isinstance(data, str) and data.startswith("%"):
            return _str(data, path)
        if set(plain) >= {float, int, bool}:
            return data if isinstance(data, bool | int) else _number(data, path)
        if len(plain) == 1:
            return _reader(plain[0])(data, path)
        raise DocumentError(f"unexpected {kind_of(data)}", path=path)

    return read


def _tuple_reader(kinds: tuple[Any, ...]) -> Reader:
    repeated = len(kinds) == 2 and kinds[1] is Ellipsis

    def read(data: Any, path: str) -> Any:
        if not isinstance(data, list):
            raise DocumentError(f"expected a list, found {kind_of(data)}", path=path)
        if len(data) > MAX_LIST or (not repeated and len(data) != len(kinds)):
            raise DocumentError(f"a list of {len(data)} elements", path=path)
        each = [kinds[0]] * len(data) if repeated else kinds
        pairs = zip(each, data, strict=True)
        return tuple(_reader(k)(v, f"{path}[{i}]") for i, (k, v) in enumerate(pairs))

    return read


def _expression(  # noqa: C901, PLR0911 (one line a kind)
    data: Any, path: str, depth: int, *, typed: bool = False
) -> Any:
    """An expression; ``typed``: of a thread program, which has more kinds."""
    if depth > (DEEPEST_TERM if typed else DEEPEST):
        raise DocumentError("an expression nested too deeply", path=path)
    if isinstance(data, int) and not isinstance(data, bool):
        return Const(_int(data, path))
    if not isinstance(data, list) or len(data) < 2 or not isinstance(data[0], str):
        raise DocumentError(
            f"expected an expression, found {kind_of(data)}", path=path, fix='["+", a, b]'
        )
    head, *rest = data

    def part(i: int) -> Any:
        return _expression(rest[i], f"{path}[{i + 1}]", depth + 1, typed=typed)

    if head == "call" and len(rest) == 2:
        return Apply(_str(rest[0], f"{path}[1]"), part(1))
    if head == "at" and len(rest) > 1:
        return Element(_str(rest[0], f"{path}[1]"), tuple(part(i) for i in range(1, len(rest))))
    if head == "?" and len(rest) == 3:
        return Select(part(0), part(1), part(2))
    if head in {o.value for o in Op} and len(rest) == 2:
        return Binary(Op(head), part(0), part(1))
    if head in {k.value for k in SymKind} and len(rest) == 1:
        return Sym(SymKind(head), _str(rest[0], f"{path}[1]"))
    if typed and head in _TERMS:
        return _term(_TERMS[head], rest, path, depth)
    raise DocumentError(f"no expression {head[:20]!r} of {len(rest)} operand(s)", path=path)


def _term(cls: Any, rest: list[Any], path: str, depth: int) -> Any:
    """A kind of thread programs: its fields one after the other."""
    readers = _term_fields(cls)
    if len(readers) != len(rest):
        raise DocumentError(
            f"{cls.__name__} of {len(rest)} fields", path=path, fix=f"{len(readers)}"
        )
    made = [
        reader(value, f"{path}[{i}]", depth + 1)
        for i, (reader, value) in enumerate(zip(readers, rest, strict=True), 1)
    ]
    return cls(*made)


@cache
def _term_fields(cls: Any) -> tuple[Callable[[Any, str, int], Any], ...]:
    """How each field of a kind is read, at a depth."""
    hints = get_type_hints(cls)
    return tuple(_deeper(hints[f.name]) for f in fields(cls))


def _instruction(data: Any, path: str) -> Instruction:
    if not isinstance(data, list) or not data or data[0] not in _INSTRUCTIONS:
        raise DocumentError(
            "expected an instruction", path=path, fix=f"one of {', '.join(_INSTRUCTIONS)}"
        )
    cls = _INSTRUCTIONS[data[0]]
    readers, _, _ = _shape(cls)
    if len(data) != len(readers) + 1:
        raise DocumentError(
            f"{data[0]} with {len(data) - 1} fields", path=path, fix=f"{', '.join(readers)}"
        )
    pairs = zip(readers.items(), data[1:], strict=True)
    result: Instruction = cls(**{n: r(value, f"{path}.{n}") for (n, r), value in pairs})
    return result


def _deeper(kind: Any) -> Callable[[Any, str, int], Any]:
    """The reader of a field of an expression: expressions in it are nested more deeply."""

    def one(data: Any, path: str, depth: int) -> Any:
        return _expression(data, path, depth, typed=True)

    def optional(data: Any, path: str, depth: int) -> Any:
        return None if data is None else one(data, path, depth)

    def several(data: Any, path: str, depth: int) -> Any:
        if not isinstance(data, list) or len(data) > MAX_LIST:
            raise DocumentError(f"expected a list, found {kind_of(data)}", path=path)
        return tuple([one(v, f"{path}[{i}]", depth) for i, v in enumerate(data)])

    if kind is Expr:
        return one
    if Expr in get_args(kind):
        return several if get_origin(kind) is tuple else optional
    plain = _reader(kind)
    return lambda data, path, _: plain(data, path)


def _int(data: Any, path: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise DocumentError(f"expected a whole number, found {kind_of(data)}", path=path)
    if abs(data) > MAX_INT:
        raise DocumentError(f"a number outside -{MAX_INT}..{MAX_INT}", path=path)
    return data


def _bool(data: Any, path: str) -> bool:
    if not isinstance(data, bool):
        raise DocumentError(f"expected true or false, found {kind_of(data)}", path=path)
    return data


def _str(data: Any, path: str) -> str:
    if not isinstance(data, str) or len(data) > 10_000:
        raise DocumentError(f"expected a string, found {kind_of(data)}", path=path)
    return data


def _number(data: Any, path: str) -> float:
    if isinstance(data, str) and data in _NOT_FINITE:
        return _NOT_FINITE[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise DocumentError(f"expected a number, found {kind_of(data)}", path=path)
    return float(data)


def _member(kind: type[Enum], data: Any, path: str) -> Any:
    try:
        return kind(data)
    except ValueError:
        known = ", ".join(str(m.value) for m in kind)
        raise DocumentError(f"{str(data)[:40]!r}", path=path, fix=f"one of {known}") from None
