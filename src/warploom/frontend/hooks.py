"""What a text needs of rooms above its own: filled in by the package, which knows all rooms."""

from collections.abc import Callable
from typing import Any

launcher: Callable[..., Any] | None = None  # (text, args, keywords) -> outputs, on a GPU
interpreter: Callable[..., Any] | None = None  # (text, arrays, ...) -> outputs, on the CPU
compiler: Callable[..., Any] | None = None  # (text, types, ...) -> what every pass makes of it
