"""``warploom cache``: what the disk cache holds, and how to empty it."""

from __future__ import annotations

import os
from collections import Counter
from typing import Annotated

import typer

from warploom.cli.screen import Answer
from warploom.compiler.disk_cache import KINDS, REMOTE, disk_cache, usable
from warploom.errors import ConfigError

MEANING = {
    "binary": "what a launch needs of a built kernel",
    "cubin": "machine code",
    "executed": "verdicts on machine code that was executed",
    "limit": "what blocks a lesser interval of a schedule",
    "order": "solved schedules",
    "refusal": "configurations without a schedule",
    "source": "emitted and proven CUDA sources",
    "trial": "measurements of a search",
    "tuned": "configurations you measured",
    "visits": "lists of tiles of masked kernels",
}


def cache_command(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove the entries; of --kind, those alone.")
    ] = False,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Entries of this kind; repeatable.")
    ] = None,
) -> Answer:
    """List or clear the disk cache: kernels, schedules and measurements kept by content.

    The folder is WARPLOOM_CACHE, or ~/.cache/warploom; a place shared by machines is never cleared.
    Example: warploom cache --clear --kind cubin --kind source
    """
    chosen = tuple(kind or KINDS)
    for name in chosen:
        if name not in KINDS:
            raise ConfigError(f"no kind {name!r} of entries", where="--kind", fix=", ".join(KINDS))
    kept = disk_cache()
    about = {
        "folder": str(kept.folder),
        "remote": os.environ.get(REMOTE) or None,
        "used": usable(kept.folder) or not kept.folder.exists(),
    }
    if clear:
        count, size = kept.clear(chosen)
        return Answer(
            lambda: f"removed {count} entries, {size:,} bytes, from {kept.folder}",
            lambda: about | {"removed": count, "bytes": size},
        )
    counts, sizes = Counter[str](), Counter[str]()
    for entry in kept.entries(chosen):
        counts[entry.kind] += 1
        sizes[entry.kind] += entry.size
    found = {n: {"entries": counts[n], "bytes": sizes[n]} for n in chosen}

    def text() -> str:
        rows = [(n, counts[n], sizes[n], MEANING[n]) for n in chosen]
        rows.append(("all", sum(counts.values()), sum(sizes.values()), ""))
        head = [f"folder {kept.folder}"]
        head += [f"shared {about['remote']}"] if about["remote"] else []
        head += [] if about["used"] else ["not used: other users may write to it"]
        lines = (f"{n:8} {count:9,} {size:15,}  {what}".rstrip() for n, count, size, what in rows)
        return "\n".join([*head, f"{'kind':8} {'entries':>9} {'bytes':>15}", *lines])

    return Answer(text, lambda: about | {"kinds": found})
