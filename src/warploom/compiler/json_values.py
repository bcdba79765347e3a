"""Frozen values as JSON and back, by their declared types; what does not fit them is refused."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from warploom.codegen.cuda.tile import signature

PARAMS = {kind.__name__: kind for kind in get_args(signature.Param)}


def params_data(params: tuple[signature.Param, ...]) -> list[dict[str, Any]]:
    """Parameters of a kernel, each with the name of its kind."""
    return [{"kind": type(p).__name__, **asdict(p)} for p in params]


def read_value(kind: Any, data: Any, **known: object) -> Any:  # noqa: ANN401 (by its type)
    """A value as ``asdict`` and JSON keep it; of several kinds the one it names. ``known``: fields
    that are not kept.
    """
    if kind == signature.Param:
        kind = PARAMS[data.pop("kind")]
    if isinstance(kind, UnionType):
        return None if data is None else read_value(get_args(kind)[0], data)
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        kinds = [inner[0]] * len(data) if inner[-1] is Ellipsis else inner
        return tuple(read_value(k, item) for k, item in zip(kinds, data, strict=True))
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        read = {name: read_value(hints[name], item) for name, item in dict(data).items()}
        return kind(**read, **known)  # type: ignore[operator]
    result = kind(data) if issubclass(kind, Enum) else data
    if not isinstance(result, (kind, int) if kind is float else kind):
        raise TypeError(f"{result!r} is no {kind.__name__}")
    return result
