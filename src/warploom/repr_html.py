"""Values that show themselves in notebooks, drawn by a package above theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

draw: Callable[[Any], str] | None = None  # filled in by the package, which knows all of them


class Pictured:
    """A value with a picture of itself."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return draw(self) if draw is not None else None
