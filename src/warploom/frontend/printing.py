"""``wl.print(x)``: tiles that are printed where a kernel is interpreted, and nothing elsewhere.

Where printing is asked for, a printed tile is one more output of the kernel, so that what is shown
is what the program computed. Compilations for a device read the text without its prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from warploom.dataclass import dataclass
from warploom.ir.types import Line


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed tile: the output it is, what the author calls it, and where."""

    tensor: str
    label: str
    line: Line | None


_PRINTED: ContextVar[dict[str, Printed] | None] = ContextVar("warploom_printed", default=None)


def printed() -> dict[str, Printed] | None:
    """Where printed tiles are noted; None where a kernel is read without them."""
    return _PRINTED.get()


@contextmanager
def printing() -> Iterator[dict[str, Printed]]:
    """Read kernels with their prints; gives what was printed, by the name of its output."""
    found: dict[str, Printed] = {}
    token = _PRINTED.set(found)
    try:
        yield found
    finally:
        _PRINTED.reset(token)
