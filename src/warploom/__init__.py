"""warploom: a compiler for GPU software-pipeline schedules.

Declare the ops of one loop iteration, name a target, and get prologue, kernel and epilogue with
derived waits and barriers:

    >>> from warploom import DeclarativeSchedule, compile_schedule
    >>> compiled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    >>> len(compiled.prologue), len(compiled.kernel), len(compiled.epilogue)
    (10, 70, 58)

This module is the public API: the names in its stub ``__init__.pyi`` are stable, the rest is not.
"""

from __future__ import annotations

import ast as _ast
import builtins as _builtins
import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any as _Any

__version__ = "0.2.0"


def _homes() -> dict[str, str]:
    """Where each public name lives, read off the stub.

    Packages load when a name is first asked for, so that importing warploom costs nothing and a
    tool that only verifies never loads a solver.
    """
    with open(__file__.removesuffix("c") + "i", encoding="utf-8") as stub:
        tree = _ast.parse(stub.read())
    return {
        alias.name: statement.module
        for statement in tree.body
        if isinstance(statement, _ast.ImportFrom) and statement.module
        for alias in statement.names
    }


_HOMES = _homes()


class _PublicPackage(_ModuleType):
    """The package as a module whose public names win over packages of the same name.

    Importing the package ``warploom.verify`` would otherwise replace the function ``verify``.
    """

    def __getattr__(self, name: str) -> _Any:  # noqa: ANN401 (whatever the package exports)
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(_import_module(_HOMES[name]), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted([*_HOMES, "__version__"])


_sys.modules[__name__].__class__ = _PublicPackage

# ``from warploom import *`` leaves ``print`` and ``abs`` what they are in Python.
__all__ = [n for n in dir(_sys.modules[__name__]) if not hasattr(_builtins, n)]


def _on_demand(module: str, name: str) -> _Any:  # noqa: ANN401 (a function of that module)
    def call(*args: _Any, **given: _Any) -> _Any:  # noqa: ANN401
        return getattr(_import_module(module), name)(*args, **given)

    return call


from warploom import repr_html as _pictured  # noqa: E402 (names resolve now; modules may be wired)
from warploom.frontend import hooks as _hooks  # noqa: E402

_pictured.draw = _on_demand("warploom.viz.notebook", "picture_of")
_hooks.launcher = _on_demand("warploom.runtime.kernel_calls", "run")
_hooks.interpreter = _on_demand("warploom.runtime.interpret", "interpret")
_hooks.benchmark = _on_demand("warploom.runtime.tuning", "benchmark")
_hooks.compiler = _on_demand("warploom.compiler.compiled", "compile_kernel")
_hooks.amd_compiler = _on_demand("warploom.runtime.mi355x", "compile_for_amd")
_hooks.check_pins = _on_demand("warploom.compiler.compiled", "check_pin_names")
