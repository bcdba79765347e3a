"""Memory that kernels work in: one piece a device and stream, kept and grown.

Launches of one stream follow one another, so they share a piece; its counters are 0 between them.
A launch that a graph captures has a piece of its own inside the graph, zeroed by every replay:
graphs may run on any stream, beside anything.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import cast

from warploom.codegen.cuda.tile.signature import COUNTER_BYTES
from warploom.compiler.cuda_driver import check, ensure_context, library
from warploom.errors import BackendError
from warploom.runtime.tensors import is_torch, stream_at

PIECES = 64  # of devices and streams that are kept
LEAST_BYTES = 1 << 22
PER_THREAD = 2  # the driver's handle of the calling thread's default stream

Piece = tuple[int, object]  # an address, and what keeps its memory alive


def work_memory(like: object, device: int, size: int) -> Callable[[int, bool], Piece]:
    """Gives memory of ``size`` bytes for a launch on a stream (and whether it was named)."""
    make, captures, place = _driver_piece, None, None  # no tensor is kept, only where one lies
    if is_torch(like):
        make, place = _torch_piece, getattr(like, "device", None)
        captures = _current_captures() if getattr(place, "type", "cuda") == "cuda" else None

    def found(stream: int, named: bool) -> Piece:
        if _captures(stream) if named or captures is None else captures():
            return make(place, device, stream, size, named=named, kept=False)
        thread = threading.get_ident() if stream == PER_THREAD else 0
        held = _KEPT.get((device, stream, thread))
        if held is None or held[0] < size:
            held = _grown(make, place, (device, stream, thread), size, named=named)
        return held[1], held[2]

    return found


def _captures(stream: int) -> bool:
    """Whether a graph is being captured from the stream."""
    return bool(int(check(library().cuStreamIsCapturing(stream), "cuStreamIsCapturing")))


def _current_captures() -> Callable[[], bool] | None:
    """The same of torch's current stream, in a tenth of the time."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return cast("Callable[[], bool]", torch.cuda.is_current_stream_capturing)


Place = tuple[int, int, int]  # device, stream, and thread where a stream's handle means its own
_KEPT: dict[Place, tuple[int, int, object]] = {}
_LOCK = threading.Lock()


def _grown(
    make: Callable[..., Piece], at: object, place: Place, size: int, *, named: bool
) -> tuple[int, int, object]:
    device, stream, _ = place
    with _LOCK:
        held = _KEPT.get(place)
        if held is None or held[0] < size:
            whole = max(LEAST_BYTES, 1 << (size - 1).bit_length())
            held = (whole, *make(at, device, stream, whole, named=named, kept=True))
            _KEPT[place] = held
            while len(_KEPT) > PIECES:  # the oldest goes
                del _KEPT[next(iter(_KEPT))]
        return held


def _torch_piece(
    place: object, device: int, stream: int, size: int, *, named: bool, kept: bool
) -> Piece:
    torch = import_module("torch")
    with stream_at(place, stream) if named else nullcontext():
        made = torch.empty(size, dtype=torch.uint8, device=place)
        made[:COUNTER_BYTES].zero_()
    return made.data_ptr(), made


class _Held:
    """Memory of the driver, freed with its last use."""

    def __init__(self, address: int, device: int) -> None:
        self.address, self.device = address, device

    def __del__(self) -> None:
        ensure_context(self.device)
        library().cuMemFree(self.address)  # waits for the device


def _driver_piece(
    place: object, device: int, stream: int, size: int, *, named: bool, kept: bool
) -> Piece:
    if not kept:
        raise BackendError(
            "a graph captures a kernel that works in memory of its own",
            why="memory inside a graph comes from the tensors' library",
            fix="torch tensors, or a configuration with split_k=1 and cta_sync_interval=0",
        )
    ensure_context(device)
    address = int(check(library().cuMemAlloc(size), f"{size} bytes of GPU memory"))
    held = _Held(address, device)
    check(library().cuMemsetD8Async(address, 0, COUNTER_BYTES, stream), "cuMemsetD8Async")
    return address, held
