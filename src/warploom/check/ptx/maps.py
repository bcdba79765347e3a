"""Tensor maps: as parameters, and made or edited by the kernel itself.

A map is 128 bytes of memory in a layout of the checker's own, so that copies of a map are maps. A
kernel that edits one (``tensormap.replace``) has to publish it with ``tensormap.cp_fenceproxy`` or
``fence.proxy.tensormap`` before a copy uses it, and may not edit it while a copy may still read it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.formats import SIZES
from warploom.check.launch import MAP_BYTES, TensorMap
from warploom.check.ptx.alu import refuse
from warploom.check.ptx.barriers import Barriers
from warploom.check.ptx.machine import BLOCK, GLOBAL_AT, PARAM_AT, SHARED_AT, WINDOW, Lanes
from warploom.check.ptx.memory import Event
from warploom.check.ptx.parse import Imm, Instr
from warploom.report import Verdict

Array = NDArray[Any]
Run = Callable[[Any], Any]
_HEAD = struct.Struct("<QBBBBBxxx")  # address, rank - 1, element, interleave, swizzle, fill
_BODY = struct.Struct("<5I5I4Q5I")  # box, dims, strides, element strides
ELEMENTS = (
    "u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32",
)  # fmt: skip
"""Element types by their number in ``tensormap.replace``."""
_SWIZZLES = ("none", "32B", "64B", "128B")
_INTERLEAVES = ("none", "16B", "32B")
_FIELDS = {
    # field: offset, bytes, entries
    "global_address": (0, 8, 1), "rank": (8, 1, 1), "elemtype": (9, 1, 1),
    "interleave_layout": (10, 1, 1), "swizzle_mode": (11, 1, 1), "fill_mode": (12, 1, 1),
    "box_dim": (16, 4, 5), "global_dim": (36, 4, 5), "global_stride": (56, 8, 4),
    "element_stride": (88, 4, 5),
}  # fmt: skip
MARK = 110  # a byte that says which parameter's element type a map of 8-bit floats has


def encode_map(found: TensorMap, address: int) -> bytes:
    """The bytes of a map over memory at ``address``."""
    names = {"e4m3": "u8", "e5m2": "u8", "i8": "u8", "i16": "u16"}
    element = ELEMENTS.index(names.get(found.element, found.element))
    rank = len(found.dims)

    def row(values: tuple[int, ...], n: int) -> tuple[int, ...]:
        return (*values, *(0,) * (n - len(values)))

    head = _HEAD.pack(
        address,
        rank - 1,
        element,
        _INTERLEAVES.index(found.interleave),
        _SWIZZLES.index(found.swizzle),
        int(found.oob == "nan"),
    )
    body = _BODY.pack(
        *row(found.box, 5),
        *row(found.dims, 5),
        *row(found.strides, 4),
        *row(found.element_strides or (1,) * rank, 5),
    )
    return (head + body).ljust(MAP_BYTES, b"\0")


def decode_map(raw: bytes) -> TensorMap | None:
    """The map in 128 bytes, over memory at its own address; None where the bytes are no map."""
    address, rank, element, interleave, swizzle, fill = _HEAD.unpack_from(raw)
    values = _BODY.unpack_from(raw, _HEAD.size)
    rank += 1
    if rank > 5 or element >= len(ELEMENTS) or interleave > 2 or swizzle > 3 or fill > 1:
        return None
    box, dims, strides, steps = values[:5], values[5:10], values[10:14], values[14:19]
    size = SIZES[ELEMENTS[element]]
    bad = any(not 0 < b <= 256 for b in box[:rank]) or any(d == 0 for d in dims[:rank])
    inner = box[0] * size
    if bad or address < GLOBAL_AT or inner % 16 or any(s % 16 for s in strides[: rank - 1]):
        return None
    used = steps[:rank]
    return TensorMap(
        tensor="",
        dims=dims[:rank],
        strides=strides[: rank - 1],
        box=box[:rank],
        element=ELEMENTS[element],
        swizzle=_SWIZZLES[swizzle],
        interleave=_INTERLEAVES[interleave],
        oob="nan" if fill else "zero",
        element_strides=() if all(s == 1 for s in used) else used,
        offset=address - GLOBAL_AT,
    )


class Maps(Barriers):
    """Instructions on tensor maps."""

    def map_at(
        self, g: Lanes, instr: Instr, pc: int, lane: int, thread: Array, address: int
    ) -> tuple[TensorMap, Array | None]:
        """The map at a generic address, and its bytes where it lies in global memory."""
        window = address >> 40
        raw, index = b"", None
        if window == PARAM_AT >> 40 or (window == 0 and address < GLOBAL_AT):
            at = address & WINDOW
            raw = self.params[at : at + MAP_BYTES].tobytes() if at >= 0 else b""
        elif window == 0:
            first = int(self.global_index(g, pc, np.array([address]), MAP_BYTES)[0])
            index = first + np.arange(MAP_BYTES)
            raw = self.memory.data[index].tobytes()
        found = self.known_maps.get(raw)
        if found is None and len(raw) == MAP_BYTES:
            found = decode_map(raw)
            if found is not None:
                self.known_maps[raw] = found
        if found is None or address % 64:
            self.fault(
                g,
                pc,
                "NO-MAP",
                f"no tensor map at address {address:#x}",
                "give the parameter the kind tensormap in the launch",
                kind=Verdict.UNSUPPORTED,
                lane=lane,
            )
            raise AssertionError
        return found, index

    def use_map(
        self,
        g: Lanes,
        instr: Instr,
        pc: int,
        lane: int,
        thread: Array,
        index: Array | None,
        component: int,
        value: int,
    ) -> None:
        """A copy reads a map in global memory until the copy itself is complete."""
        if index is None:
            return
        cta = g.warp.cta
        clocks = cta.cluster.clocks
        event = self.event(
            g,
            instr,
            pc,
            write=False,
            proxy="tensormap",
            components=np.array([clocks.encoded(component)]),
            values=np.array([value]),
            what="tensor map",
        )
        g.warp.visits[pc] -= 1
        event.lanes = np.array([lane])
        self.memory.access(
            clocks, thread, index[None, :], event, lambda c: self.conflict(c, "global", cta)
        )

    def op_tensormap(self, instr: Instr, pc: int) -> Run:
        """``tensormap.replace`` and ``tensormap.cp_fenceproxy``."""
        if instr.parts[1] == "replace":
            return self._replace(instr, pc)
        if instr.parts[1] == "cp_fenceproxy":
            return self._publish(instr, pc)
        raise refuse(instr)

    def _replace(self, instr: Instr, pc: int) -> Run:
        name = instr.parts[3]
        if instr.parts[2] != "tile" or name not in _FIELDS:
            raise refuse(instr)
        offset, size, entries = _FIELDS[name]
        address = self.address(instr.operands[0], instr)
        rest = list(instr.operands[1:])
        ordinal = 0
        if entries > 1:
            first = rest.pop(0)
            if not isinstance(first, Imm) or not 0 <= int(first.value) < entries:
                raise refuse(instr, "ordinal")
            ordinal = int(first.value)
        value = self.get(rest[0], "u64" if size == 8 else "u32", instr)
        space = self.space_of(instr)
        start_at = offset + ordinal * size

        def run(g: Lanes) -> Any:  # noqa: ANN401
            lanes, cta = g.lanes, g.warp.cta
            where = address(g)[lanes]
            kind, where = self.place(g, pc, space, where, 0, lanes)
            if (where % 128).any():
                self.fault(g, pc, "MISALIGNED", "a tensor map off 128-byte alignment")
            whole = self._map_bytes(g, pc, kind, where)
            memory = cta.cluster.shared if kind == "shared" else self.memory
            given = value(g)[lanes]
            width = max(size, 4) if size > 1 else 1
            start = whole + start_at
            event = self.event(g, instr, pc, write=True, starts=start, width=width)
            index = start[:, None] + np.arange(width)
            raw = given.astype(f"<u{width}").reshape(-1, 1).view(np.uint8)
            memory.access(
                cta.cluster.clocks,
                g.threads,
                index,
                event,
                lambda c: self.conflict(c, memory.name, cta),
                new=raw,
            )
            memory.data[index] = raw
            self.changes += 1

        return run

    def _map_bytes(self, g: Lanes, pc: int, kind: str, where: Array) -> Array:
        if kind == "shared":
            return self.shared_index(g, pc, where, MAP_BYTES, g.warp.cta)
        return self.global_index(g, pc, where, MAP_BYTES)

    def _publish(self, instr: Instr, pc: int) -> Run:
        """``tensormap.cp_fenceproxy``: copies a map to global memory and releases it."""
        to, source = (self.address(o, instr) for o in instr.operands[:2])
        count = instr.operands[2]
        if not isinstance(count, Imm) or int(count.value) != MAP_BYTES:
            raise refuse(instr, "size")
        scope = next((p for p in instr.parts if p in ("cta", "cluster", "gpu", "sys")), "gpu")
        span = np.arange(MAP_BYTES)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "tensormap.cp_fenceproxy", aligned=True):
                return BLOCK
            cta = g.warp.cta
            clocks = cta.cluster.clocks
            one = g.lanes[:1]
            at = to(g)[one]
            start = self.shared_index(g, pc, source(g)[one] & WINDOW, MAP_BYTES, cta)
            first = self.global_index(g, pc, at, MAP_BYTES)
            # All lanes' earlier edits count: the instruction is the warp's.
            view = _Together(clocks, g.threads)
            read = self._whole(g, instr, pc, start, write=False)
            cta.cluster.shared.access(
                view, g.threads[:1], start[:, None] + span, read,
                lambda c: self.conflict(c, "shared", cta),
            )  # fmt: skip
            raw = cta.cluster.shared.data[start[:, None] + span]
            write = self._whole(g, instr, pc, first, write=True)
            self._writable(g, pc, first)
            self.memory.access(
                view, g.threads[:1], first[:, None] + span, write,
                lambda c: self.conflict(c, "global", cta), new=raw,
            )  # fmt: skip
            self.memory.data[first[:, None] + span] = raw
            self.changes += 1
            self.flags["global", int(first[0])] = [(cta, scope, "release", clocks.stamp(g.threads))]
            clocks.tick(g.threads)
            return None

        return run

    def _whole(self, g: Lanes, instr: Instr, pc: int, start: Array, *, write: bool) -> Event:
        clocks = g.warp.cta.cluster.clocks
        event = self.event(
            g,
            instr,
            pc,
            write=write,
            starts=start,
            width=MAP_BYTES,
            components=g.threads[:1] + (clocks.cluster << 18),
            values=clocks.epochs(g.threads[:1]),
        )
        event.lanes = g.lanes[:1]
        return event

    def map_fence(self, instr: Instr, pc: int) -> Run:
        """``fence.proxy.tensormap::generic``: acquire at an address, or release."""
        scope = next((p for p in instr.parts if p in ("cta", "cluster", "gpu", "sys")), "gpu")
        if "acquire" not in instr.parts:
            return self._scoped(scope)
        address = self.address(instr.operands[0], instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            lanes = g.lanes
            where = address(g)[lanes]
            clocks = g.warp.cta.cluster.clocks
            inside = (where >= GLOBAL_AT) & (where < SHARED_AT)
            if inside.all():
                start = self.global_index(g, pc, where, MAP_BYTES)
                self.acquire(g, instr, self.memory, start, "acquire", scope)
            clocks.fence_map(g.threads)

        return run


class _Together:
    """What the threads of a warp know together."""

    def __init__(self, clocks: Any, threads: Array) -> None:  # noqa: ANN401
        self.clocks, self.threads = clocks, threads

    def look(self, plane: int, threads: Array, components: Array) -> Array:
        """As ``Clocks.look``, the same for every row."""
        every = np.broadcast_to(components[:1], (len(self.threads), components.shape[1]))
        found: Array = self.clocks.look(plane, self.threads, every).max(axis=0, keepdims=True)
        return np.broadcast_to(found, components.shape)
