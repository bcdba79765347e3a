"""Calls of the small device functions that emitted kernels are written in.

Who prints a call names the function through ``device``, and the source that is being written gets
its definition: ``f"{device.mbar_arrive}({bar});"``, or ``device["tma_load_2d"]`` where the name is
put together. Nothing looks for calls in what was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from warploom.codegen.cuda.tile.helpers import FUNCTIONS
from warploom.errors import BackendError

_CALLED: ContextVar[set[str] | None] = ContextVar("called", default=None)


class _Device:
    """Device functions by name: an attribute or an item is that name, and is noted."""

    def __getattr__(self, name: str) -> str:
        if name not in FUNCTIONS:
            raise AttributeError(f"no device function {name}")
        return self[name]

    def __getitem__(self, name: str) -> str:
        self.note(name)
        return name

    def note(self, *names: str) -> None:
        """Functions that stand in a text which is made elsewhere."""
        for name in names:
            if name not in FUNCTIONS:
                raise BackendError(
                    f"no device function {name}",
                    why="a call of it is printed",
                    fix="define it in ptx.HELPERS or TILE_HELPERS",
                )
        called = _CALLED.get()
        if called is not None:
            called.update(names)


device = _Device()


@contextmanager
def noted() -> Iterator[set[str]]:
    """The functions whose calls are printed within."""
    called: set[str] = set()
    token = _CALLED.set(called)
    try:
        yield called
    finally:
        _CALLED.reset(token)
