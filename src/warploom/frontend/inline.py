"""``wl.inline``: functions of elements in the code of a target, with their meaning in NumPy."""

from __future__ import annotations

import functools
import inspect
import string
from collections.abc import Callable
from importlib import import_module
from typing import Any

from warploom.errors import KernelSyntaxError, KernelTypeError
from warploom.ir.tile import DType, Inline

KINDS = (DType.F32, DType.I32)


class InlineFunction:
    """A function that kernels call element by element; called outside it is its NumPy meaning."""

    def __init__(self, code: Inline) -> None:
        self.code = code
        functools.update_wrapper(self, code.meaning)

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401 (arrays)
        """The meaning of arrays or numbers."""
        return self.code.meaning(*args)

    def __repr__(self) -> str:
        return f"<inline function {self.code.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.code.meaning.__module__, self.code.meaning.__qualname__)


def _by_name(module: str, name: str) -> Any:  # noqa: ANN401
    result: Any = import_module(module)
    for part in name.split("."):
        result = getattr(result, part)
    return result


def inline(
    *, ptx: str = "", c: str = "", amdgcn: str = ""
) -> Callable[[Callable[..., Any]], InlineFunction]:
    """A function of elements, written for the targets; what it decorates is its meaning in NumPy.

    Args:
        ptx: instructions, with the names of the arguments and ``out`` in braces:
            ``"tanh.approx.f32 {out}, {x};"``.
        c: an expression of CUDA C++, for Hopper where no ``ptx`` is given: ``"tanhf({x})"``.
        amdgcn: instructions of gfx950: ``"v_exp_f32 {out}, {x}"``.

    Arguments and result are annotated as ``wl.f32`` or ``wl.i32``.
    """

    def decorate(meaning: Callable[..., Any]) -> InlineFunction:
        return InlineFunction(_code(meaning, {"ptx": ptx, "c": c, "amdgcn": amdgcn}))

    return decorate


def _annotations(meaning: Callable[..., Any]) -> dict[str, Any]:
    """Annotations as objects, also under ``from __future__ import annotations``."""
    result: dict[str, Any] = dict(meaning.__annotations__)
    for name, note in result.items():
        if type(note) is str:
            try:
                result[name] = eval(note, meaning.__globals__)
            except Exception:
                result[name] = None
    return result


def _code(meaning: Callable[..., Any], texts: dict[str, str]) -> Inline:
    name = meaning.__name__
    where = f"{meaning.__code__.co_filename}:{meaning.__code__.co_firstlineno}"
    notes = _annotations(meaning)
    params = tuple((n, notes.get(n)) for n in inspect.signature(meaning).parameters)
    kinds = [*(k for _, k in params), notes.get("return")]
    if not params or any(k not in KINDS for k in kinds):
        raise KernelTypeError(
            f"the signature of inline function '{name}'",
            where=where,
            why="registers of f32 and i32 go in, one comes out",
            fix=f"def {name}(x: wl.f32) -> wl.f32:",
        )
    if not any(texts.values()):
        raise KernelSyntaxError(
            f"inline function '{name}' has no code",
            where=where,
            why="it is code for a target",
            fix='@wl.inline(ptx="tanh.approx.f32 {out}, {x};"), or a plain function of the words',
        )
    for target, text in texts.items():
        known = {n for n, _ in params} | ({"out"} if target != "c" else set())
        try:
            used = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
        except ValueError:
            used = {"{"}
        if used - known or (text and target != "c" and "out" not in used):
            raise KernelSyntaxError(
                f"{target} of inline function '{name}': "
                + (f"no '{min(used - known)}'" if used - known else "it gives no {out}"),
                where=where,
                why="names in braces are its arguments and the result",
                fix="{out}, " + ", ".join(f"{{{n}}}" for n, _ in params) + "; {{ for a brace",
            )
    return Inline(
        name=name,
        params=tuple((n, DType(k)) for n, k in params if k is not None),
        result=DType(notes["return"]),
        meaning=meaning,
        **texts,
    )
