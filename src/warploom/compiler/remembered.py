"""What was measured on this machine and kept for later calls of the same kernel on the same sizes.

A table in the content-addressed cache, and no search: ``warploom search --keep`` and
``gemm(tune=True)`` write it; calls and ``compile`` read it, before what ships (``tuned``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warploom.compiler.disk_cache import digest, disk_cache
from warploom.ir.tile import Kernel

if TYPE_CHECKING:  # the first call of a process loads no pass
    from warploom.passes.kernel_config import KernelConfig

Pins = tuple[tuple[str, Any], ...]


def remember(
    kernel: Kernel, sizes: Mapping[str, int], config: KernelConfig, folder: Path | None = None
) -> None:
    """Keep a config for later calls of the same kernel on the same sizes."""
    data = json.dumps({"kernel": kernel.name, "sizes": dict(sizes), "config": dict(config.pins)})
    disk_cache(folder).put("tuned", _key(kernel, sizes), data.encode())


def recall(kernel: Kernel, sizes: Mapping[str, int], folder: Path | None = None) -> Pins:
    """What is remembered, as pins; nothing if there is none."""
    data = disk_cache(folder).get("tuned", _key(kernel, sizes))
    try:
        kept = json.loads(data or b"{}").get("config", {})
        return tuple((n, tuple(v) if isinstance(v, list) else v) for n, v in kept.items())
    except (ValueError, AttributeError):
        return ()


def _key(kernel: Kernel, sizes: Mapping[str, int]) -> str:
    return digest(str(kernel), kernel.name, *sorted(sizes.items()))
