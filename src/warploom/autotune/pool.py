"""Processes that score candidates."""

import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """A pool whose workers leave Ctrl-C to the process that made it, and print nothing."""
    known = multiprocessing.get_all_start_methods()
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("fork" if "fork" in known else "spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
