"""Fewer runs of the garbage collector while a compiler makes many values that live.

A compile makes some hundred thousand values, nearly all of which stay until its end and next to
none of which is part of a cycle. At Python's usual threshold the collector walks them again and
again: a tenth of a command's time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 500_000  # containers made since the last run: some 50 MB
_LOCK = threading.Lock()
_inside: list[tuple[int, int, int]] = []  # thresholds that were found, one a block under way


@contextmanager
def few_collections() -> Iterator[None]:
    """Raise the threshold inside; what the caller had set is back when the last block ends."""
    with _LOCK:
        found = gc.get_threshold()
        _inside.append(_inside[0] if _inside else found)
        if 0 < found[0] < MANY:
            gc.set_threshold(MANY, *found[1:])
    try:
        yield
    finally:
        with _LOCK:
            before = _inside.pop()
            if not _inside and gc.get_threshold() == (MANY, *before[1:]):
                gc.set_threshold(*before)
