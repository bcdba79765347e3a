"""What a kernel of the gallery is tried with."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel, small inputs at odd sizes, and what they give in float64.

    ``types``: of tensors whose annotation names none. ``sizes``: of axes that only outputs have.
    ``initial``: what outputs hold that are added to. ``trial``: its number in a list of kernels
    that authors were asked to write.
    """

    kernel: Any
    make: Callable[[np.random.Generator], Arrays]
    wanted: Callable[..., Any]
    types: Mapping[str, str] | str = "bf16"
    scalars: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    initial: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 2e-2
    memory_bound: bool = False
    trial: int | None = None

    @property
    def name(self) -> str:
        """The kernel's."""
        return str(self.kernel.name)

    @property
    def lines(self) -> int:
        """Lines of its source that are neither empty, comments nor docstrings."""
        return lines_of(self.kernel.function)


def lines_of(function: Callable[..., Any]) -> int:
    """Lines of code of a function, decorators included, as a formatter leaves them."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return counted(tree)


def counted(tree: ast.AST) -> int:
    """Lines of code of parsed source: those that statements cover, docstrings left out."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines |= set(range(first, node.body[0].lineno))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            last = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno
            lines |= set(range(node.lineno, (last or node.lineno) + 1))
    return len(lines)


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> Any:
    """Numbers that bf16 has exactly."""
    wide = (rng.normal(size=shape) * scale).astype(np.float32)
    bits = wide.view(np.uint32) + 0x8000 & 0xFFFF0000
    return bits.view(np.float32).astype(np.float64)
