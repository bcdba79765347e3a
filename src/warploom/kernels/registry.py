"""Which kernels the package ships: every declaration of every module beside this one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from warploom import kernels
from warploom.frontend.tile_kernel import TileKernel
from warploom.kernels.declaration import Function, Shipped
from warploom.kernels.measured import Pins


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Shipped]:
    """All declarations by the name of their kernel: module by module, in the order they stand."""
    found: dict[str, Shipped] = {}
    for module in sorted(m.name for m in iter_modules(kernels.__path__)):
        for one in getattr(import_module(f"{kernels.__name__}.{module}"), "SHIPPED", ()):
            assert one.name not in found, f"two kernels are called {one.name}"
            found[one.name] = one
    return found


def functions() -> Mapping[str, tuple[Function, tuple[Shipped, ...]]]:
    """The public functions by name, with the kernels that each may launch."""
    found: dict[str, tuple[Function, tuple[Shipped, ...]]] = {}
    for one in shipped().values():
        if one.function is not None:
            name = one.function.name
            found[name] = one.function, (*found.get(name, (None, ()))[1], one)
    return found


def declaration_of(tile_kernel: TileKernel) -> Shipped | None:
    """The declaration of a kernel, whatever is pinned of it: by identity, never by name."""
    module = sys.modules.get(tile_kernel.function.__module__)
    if getattr(module, "__package__", "") != kernels.__name__:
        return None
    declared: tuple[Shipped, ...] = getattr(module, "SHIPPED", ())
    return next((one for one in declared if one.kernel.function is tile_kernel.function), None)


def declared(tile_kernel: TileKernel) -> Shipped:
    """The declaration of a kernel that ships."""
    found = declaration_of(tile_kernel)
    assert found is not None, f"{tile_kernel.name} is not declared"
    return found


def is_shipped(tile_kernel: TileKernel) -> bool:
    """Whether a kernel is one that the package ships."""
    return declaration_of(tile_kernel) is not None


def measured(name: str, choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
    """What was measured best for the kernel of that name."""
    return shipped()[name].configuration(choices, sizes)
