"""Calls of shipped kernels, with the checks and names that their declarations state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warploom.errors import BackendError
from warploom.frontend.tile_kernel import TileKernel
from warploom.kernels.declaration import Shipped
from warploom.kernels.registry import declared
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.runner import Layouts, View


def calls_of(
    tile_kernel: TileKernel,
    *,
    check: Callable[[Layouts, tuple[Any, ...]], None] | None = None,
    viewed: Callable[[Layouts, tuple[Any, ...]], View] | None = None,
    usual: Callable[[Layouts], tuple[float, ...]] = lambda _: (),
    pick: Callable[[Layouts, tuple[Any, ...]], TileKernel] | None = None,
) -> Calls:
    """Calls of a shipped kernel as its public function makes them.

    ``check``, ``viewed``, ``usual``, ``pick``: what that function adds to the declaration.
    """
    one = declared(tile_kernel)
    return Calls(
        tile_kernel,
        one.caller_axes,
        check=check or _check_of(one),
        viewed=viewed,
        usual=usual,
        pick=pick,
        called=one.called,
        summed=one.summed,
        counted=one.counted,
    )


def _check_of(one: Shipped) -> Callable[[Layouts, tuple[Any, ...]], None] | None:
    """Refuses element types that the declaration does not take."""
    rule, signature = one.element_types, one.kernel.signature
    if rule is None:
        return None
    names = [t.name for t in signature.tensors]

    def check(layouts: Layouts, options: tuple[Any, ...]) -> None:
        given = {n: w.dtype for n, w in zip(names, layouts, strict=True) if w is not None}
        wrong = rule(signature, given)
        if wrong:
            said = ", ".join(f"{one.called.get(n, n)} {d}" for n, d in given.items())
            raise BackendError(f"tensors are {said}", where=one.name, fix=wrong)

    return check
