"""Public functions that follow from declarations of kernels, as ``warploom.NAME``.

Each takes the kernel's inputs by place or name, then scalars and choices by name, results to write
to, and a CUDA ``stream``. ``scripts/gen_stubs`` writes ``functions.pyi`` from the declarations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from warploom.frontend.signature import MISSING
from warploom.ir.tile import DType
from warploom.kernels.declaration import Shipped
from warploom.kernels.registry import functions
from warploom.runtime.arguments import one_of
from warploom.runtime.declared_calls import calls_of

NAMED, POSITIONAL = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
REQUIRED = inspect.Parameter.empty


def parameters(one: Shipped) -> list[inspect.Parameter]:
    """What the function of a kernel takes."""
    signature = one.kernel.signature
    words = one.function.words if one.function is not None else {}
    found = [
        inspect.Parameter(
            t.name, POSITIONAL, default=None if t.optional else REQUIRED, annotation=Any
        )
        for t in signature.inputs
    ]
    for name, dtype in signature.scalars.items():
        usual = signature.scalar_defaults.get(name, REQUIRED)
        kind = float if dtype is DType.F32 else int
        found.append(inspect.Parameter(name, NAMED, default=usual, annotation=kind))
    for name, value in signature.choices.items():
        known = {meaning: word for word, meaning in words.get(name, {}).items()}
        default = REQUIRED if value is MISSING else known.get(value, value)
        kind = str if name in words else Any
        found.append(inspect.Parameter(name, NAMED, default=default, annotation=kind))
    for t in signature.outputs:
        found.append(inspect.Parameter(t.name, NAMED, default=None, annotation=Any))
    found.append(inspect.Parameter("stream", NAMED, default=None, annotation=int | None))
    order = sorted(found, key=lambda p: (p.kind, p.kind is POSITIONAL and p.default is None))
    return order


def documentation(one: Shipped) -> str:
    """The first line of the kernel's docstring, and the axes of its tensors."""
    said = inspect.getdoc(one.kernel.function) or inspect.getdoc(
        inspect.getmodule(one.kernel.function)
    )
    axes = {
        t.name: one.caller_axes.get(t.name)
        or tuple(f"{a.name}/{a.per}" if a.per > 1 else a.name for a in t.axes)
        for t in one.kernel.signature.tensors
    }
    tensors = ", ".join(f"``{name}`` [{', '.join(names)}]" for name, names in axes.items())
    return f"{(said or '').partition(chr(10))[0]}\n\n{tensors}."


def _function(one: Shipped) -> Callable[..., Any]:
    """The public function of a kernel."""
    calls = calls_of(one.kernel)
    assert one.function is not None
    words = one.function.words

    def call(*tensors: Any, **given: Any) -> Any:  # noqa: ANN401 (tensors of any library)
        for name, known in words.items():
            if name in given:
                given[name] = one_of(given[name], known, name)
        return calls(tensors, given)

    call.__name__ = call.__qualname__ = one.function.name
    call.__module__ = "warploom"
    call.__doc__ = documentation(one)
    call.__signature__ = inspect.Signature(parameters(one))  # type: ignore[attr-defined]
    return call


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of that name, made when it is first asked for."""
    function, kernels = functions().get(name, (None, ()))
    if function is None or not function.is_derived:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    result = globals()[name] = _function(kernels[0])
    return result
