"""A kernel without its names: values, variables, tensors, axes and scalars by number.

Two kernels with the same form compute the same and are compiled alike, whatever their authors
called things and wherever the source lies. Numbers follow the order in which names are declared:
tensors with their axes, scalars, variables, then values as ops make them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from typing import Any

from warploom.ir.tile import Kernel
from warploom.ir.types import Line

# Which names a field holds; all other fields of names hold those of values.
_SPACES = {
    ("Axis", "name"): "axis",
    ("Var", "axis"): "axis",
    ("Size", "axis"): "axis",
    ("Tensor", "name"): "tensor",
    ("Size", "tensor"): "tensor",
    ("Load", "tensor"): "tensor",
    ("Store", "tensor"): "tensor",
    ("Tiles", "tensor"): "tensor",
    ("Tiles", "counts"): "tensor",
    ("Grid", "tensor"): "tensor",
    ("Grid", "starts"): "tensor",
    ("Grid", "order"): "tensor",
    ("Parameter", "name"): "scalar",
    ("Scalar", "parameter"): "scalar",
    ("Var", "name"): "var",
    ("Dim", "var"): "var",
    ("Position", "var"): "var",
    ("Indices", "var"): "var",
    ("Whole", "var"): "var",
    ("At", "var"): "var",
    ("Reduce", "over"): "var",
    ("Scan", "over"): "var",
    ("Loop", "var"): "var",
    ("Grid", "vars"): "var",
    ("Grid", "kind"): "",  # a word, not a name
    ("Kernel", "name"): "nothing",
    ("Tensor", "optional"): "nothing",  # those of a kernel's value are given
}


class Canonical:
    """The form of a kernel, and the number of every name by its kind."""

    def __init__(self, kernel: Kernel) -> None:
        self.numbers: dict[str, dict[str, int]] = {}
        self.form = self._walk(kernel, "")

    def names(self, space: str) -> list[str]:
        """Names of a kind (``var``, ``axis``, ``tensor``, ``scalar``, ``value``) by number."""
        return list(self.numbers.get(space, {}))

    def _walk(self, value: Any, space: str) -> str:  # noqa: ANN401 (any part of a kernel)
        if isinstance(value, Line):
            return ""
        if is_dataclass(value):
            kind, parts = type(value).__name__, []
            for field in fields(value):
                held = getattr(value, field.name)
                inner = _SPACES.get((kind, field.name), "value")
                parts.append("" if inner == "nothing" else self._walk(held, inner))
            return f"{kind}({','.join(parts)})"
        if isinstance(value, tuple):
            return f"[{';'.join(self._walk(v, space) for v in value)}]"
        if isinstance(value, str) and not isinstance(value, Enum) and space and value:
            known = self.numbers.setdefault(space, {})
            return f"{space}{known.setdefault(value, len(known))}"
        return f"{type(value).__name__}:{value!r}"


def canonical_hash(kernel: Kernel) -> str:
    """A digest of a kernel without its names."""
    return sha256(Canonical(kernel).form.encode()).hexdigest()[:40]
