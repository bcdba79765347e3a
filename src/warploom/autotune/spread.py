"""Work spread over processes or a cluster: each piece is done once, and kept by whoever did it.

A worker keeps what it found in the content-addressed cache before anybody hears of it. A cluster
that loses a worker begins what that one had not finished again, elsewhere; what it had finished is
read, whether its result had arrived or not. So a worker killed midway loses nothing but what it was
at, nothing is measured twice, and a search that is started again goes on where it was. Workers on
several machines share the cache through ``WARPLOOM_CACHE_REMOTE``, or a folder that all see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import Any

from warploom.compiler.disk_cache import disk_cache

KIND = "trial"
Work = Callable[[Any], Any]  # of a picklable task; what it gives is JSON


def once(work: Work, task: object, key: str, folder: str) -> Any:  # noqa: ANN401 (JSON)
    """What is kept under a key; else the work, kept. In any process."""
    kept = disk_cache(Path(folder))
    known = kept.get(KIND, key)
    if known is not None:
        return json.loads(known)
    found = work(task)
    kept.put(KIND, key, json.dumps(found).encode())
    return found


def spread(
    work: Work,
    tasks: Mapping[str, object],
    *,
    executor: Executor | None = None,
    folder: Path | str | None = None,
) -> Iterator[tuple[str, Any]]:
    """What work makes of tasks by key, as it is done; without a folder nothing is kept."""

    def submit(key: str, task: object) -> Future[Any]:
        assert executor is not None
        if folder is None:
            return executor.submit(work, task)
        return executor.submit(once, work, task, key, str(folder))

    if executor is None:
        for key, task in tasks.items():
            yield key, work(task) if folder is None else once(work, task, key, str(folder))
        return
    futures = {submit(key, task): key for key, task in tasks.items()}
    try:
        for future in _completed(list(futures)):
            yield futures[future], future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _completed(futures: Sequence[Future[Any]]) -> Iterable[Future[Any]]:
    """Futures as they finish; other executors' futures may only be waited for in order."""
    return as_completed(futures) if all(isinstance(f, Future) for f in futures) else futures
