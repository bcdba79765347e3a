"""A plugin for mypy: names of axes in annotations of kernels are no types.

In ``pyproject.toml``::

    [tool.mypy]
    plugins = ["warploom.mypy_plugin"]

Pyright and editors that use it need none.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import AnyType, Type, TypeOfAny, UnboundType

# The stub of the language tells mypy that these are ``Literal``: nothing else may hold strings that
# are no types.
ANNOTATIONS = ("In", "Out", "Starts", "Turns")
LITERALS = ("typing.Literal", "typing_extensions.Literal")


class KernelPlugin(Plugin):
    """Takes ``wl.In["m", "k"]`` for Any without looking at its axes."""

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """The hook of an annotation of a tensor."""
        return _tensor if fullname in LITERALS else None


def _tensor(context: AnalyzeTypeContext) -> Type:
    found = context.type
    if isinstance(found, UnboundType) and found.name.rpartition(".")[2] in ANNOTATIONS:
        return AnyType(TypeOfAny.explicit)
    result: Type = context.api.analyze_literal_type(found)  # type: ignore[attr-defined]
    return result


def plugin(_: str) -> type[Plugin]:
    """What mypy asks for."""
    return KernelPlugin
