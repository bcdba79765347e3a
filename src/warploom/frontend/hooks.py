"""What a kernel needs of packages above this one: filled in by the top-level package."""

from collections.abc import Callable
from typing import Any

launcher: Callable[..., Any] | None = None  # (text, args, keywords) -> outputs, on a GPU
interpreter: Callable[..., Any] | None = None  # (text, arrays, ...) -> outputs, on the CPU
compiler: Callable[..., Any] | None = None  # (text, types, ...) -> what every pass makes of it
amd_compiler: Callable[..., Any] | None = None  # the same for chips of AMD
benchmark: Callable[..., Any] | None = None  # (text, args, keywords, ...) -> times, on a GPU
check_pins: Callable[..., Any] | None = None  # (text, pins): an error for names of no knob
