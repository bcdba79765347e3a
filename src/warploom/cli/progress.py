"""A sign of life on anything that takes longer than two seconds, on a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0
_busy = threading.Lock()


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Say ``what`` goes on, with seconds, once it takes long; what is yielded changes the words.

    Nested calls keep the outer word.
    """
    words = [what]

    def change(text: str) -> None:
        words[0] = text

    if not sys.stderr.isatty() or not _busy.acquire(blocking=False):
        yield change
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(words, done), daemon=True)
    teller.start()
    try:
        yield change
    finally:
        done.set()
        teller.join()
        _busy.release()


def _tell(words: list[str], done: threading.Event) -> None:
    start = time.monotonic()
    wait = PATIENCE
    told = False
    while not done.wait(wait):
        sys.stderr.write(f"\r\x1b[2K{words[0]} ... {time.monotonic() - start:.0f} s")
        sys.stderr.flush()
        wait, told = 1.0, True
    if told:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
