"""Emitted CUDA executed on the host, thread by thread, under random timing."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.host_cuda.translate import to_host
from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.codegen.cuda.tile.split_k import COUNTER_BYTES
from warploom.compiler.described import described
from warploom.compiler.layout import Layout, bind, map_geometry
from warploom.ir.tile import Access, DType

NEEDS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
HERE = Path(__file__).parent
ELEMENTS = {DType.F32: 0, DType.BF16: 1, DType.F16: 2, DType.I32: 4}
POISON = 0xA5  # bytes around tensors, which nobody may change


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="host_cuda_"))


def _compile(*words: str) -> None:
    command = ["g++", "-std=c++20", "-fPIC", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


@cache
def _runtime() -> ctypes.CDLL:
    """Compiled once for all workers, and for the runs after this one; kernels find it loaded."""
    text = b"".join((HERE / name).read_bytes() for name in ("runtime.cpp", "host.h"))
    name = f"host_cuda_{os.getuid()}_{hashlib.sha256(text).hexdigest()[:16]}.so"
    made = Path(tempfile.gettempdir()) / name
    if not made.exists():
        own = _folder() / name
        _compile("-O2", "-shared", str(HERE / "runtime.cpp"), "-o", str(own))
        own.replace(made)
    library = ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)
    library.host_run.restype = ctypes.c_char_p
    return library


def host_run(library: ctypes.CDLL, *given) -> bytes | None:
    """Run the kernel of a library; the fault, if there was one."""
    said: bytes | None = _runtime().host_run(library.launch, *given)
    return said


def shuffle(seed: int) -> None:
    """The order in which CTAs of later runs are executed; 0: as they are numbered."""
    _runtime().host_shuffle(seed)


def together(ctas: int) -> None:
    """How many CTAs of later runs are executed at a time, interleaved; 0: one cluster."""
    _runtime().host_resident(ctas)


@cache
def built(text: str, entry: str) -> ctypes.CDLL:
    """The library of an emitted kernel."""
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    code, made = _folder() / f"{name}.cpp", _folder() / f"{name}.so"
    code.write_text(to_host(text, entry))
    flags = ("-O0", "-w", "-fno-strict-aliasing", f"-I{HERE}", "-shared", "-nostdlib")
    _compile(*flags, str(code), "-o", str(made))
    _runtime()
    return ctypes.CDLL(str(made))


class Memory:
    """A tensor in memory, rows padded to 16 bytes, with poisoned bytes around and between.

    ``dense``: rows beside one another; ``away``: elements from a multiple of 16 bytes.
    """

    def __init__(self, tensor, shape, array=None, *, dense=False, away=0):
        self.dtype, self.shape = tensor.dtype, tuple(shape)
        self.size = max(1, tensor.dtype.bits // 8)
        per = 1 if dense else 16 // self.size
        row = -(-shape[-1] // per) * per
        strides = [1]
        for n in reversed((*shape[1:-1], row) if len(shape) > 1 else ()):
            strides.insert(0, strides[0] * n)
        self.strides = tuple(strides)
        total = max(1, strides[0] * shape[0] if len(shape) > 1 else row) * self.size
        self.bytes = np.full(total + 4096, POISON, np.uint8)
        start = (-self.bytes.ctypes.data) % 1024 + 1024 + away * self.size
        self.start = start
        self.address = self.bytes.ctypes.data + start
        steps = tuple(s * self.size for s in self.strides)
        kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[self.size]
        self.raw = np.ndarray(self.shape, kind, self.bytes.data, start, steps)
        self.raw[...] = 0 if array is None else encode(array, tensor.dtype)

    @property
    def layout(self):
        """As a call describes it."""
        return Layout(self.shape, self.strides, self.dtype)

    def values(self):
        """Its elements as numbers."""
        return decode(self.raw, self.dtype)

    def untouched(self):
        """Whether all bytes outside the elements are as they were."""
        mask = np.ones(self.bytes.shape, bool)
        steps = (*(s * self.size for s in self.strides), 1)
        inside = np.ndarray((*self.shape, self.size), bool, mask.data, self.start, steps)
        inside[...] = False
        return bool((self.bytes[mask] == POISON).all())


def encode(array, dtype):
    """The bits of values of a type."""
    wide = np.ascontiguousarray(np.asarray(array, np.float64).astype(np.float32))
    if dtype is DType.F32:
        return wide.view(np.uint32)
    if dtype in (DType.I32, DType.I8):
        kind, bits = (np.int32, np.uint32) if dtype is DType.I32 else (np.int8, np.uint8)
        return np.ascontiguousarray(array, kind).view(bits)
    if dtype is DType.F16:
        return wide.astype(np.float16).view(np.uint16)
    if dtype is DType.BF16:
        return (wide.view(np.uint32) >> 16).astype(np.uint16)  # values of the type already
    if dtype in BYTES:
        near = np.abs(BYTES[dtype][None, :] - np.asarray(array, np.float64).reshape(-1, 1))
        return np.nanargmin(near, axis=1).astype(np.uint8).reshape(np.shape(array))
    raise NotImplementedError(dtype)


def _bytes(exponents, bias):
    """The value of every byte: a sign, so many bits of an exponent, the rest a fraction."""
    x, bits = np.arange(256), 7 - exponents
    exponent, fraction = x >> bits & (1 << exponents) - 1, (x & (1 << bits) - 1) / (1 << bits)
    found = np.where(exponent > 0, np.exp2(exponent - bias) * (1 + fraction), 0.0)
    found = np.where(exponent > 0, found, np.exp2(1 - bias) * fraction)
    return np.where(x >> 7, -found, found)


BYTES = {DType.E4M3: _bytes(4, 7), DType.E5M2: _bytes(5, 15)}
BYTES[DType.E4M3][[0x7F, 0xFF]] = np.nan
BYTES[DType.E5M2][[0x7C, 0xFC]] = [np.inf, -np.inf]
BYTES[DType.E5M2][[0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]] = np.nan


def decode(raw, dtype):
    """Values of bits."""
    raw = np.ascontiguousarray(raw)
    if dtype is DType.F32:
        return raw.view(np.float32).astype(np.float64)
    if dtype is DType.F16:
        return raw.view(np.float16).astype(np.float64)
    if dtype in (DType.I32, DType.I8):
        return raw.view(np.int32 if dtype is DType.I32 else np.int8).astype(np.float64)
    if dtype in (DType.E4M3, DType.E5M2):
        return BYTES[dtype][raw]
    return (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def map_bytes(parameter, memory):
    """What ``runtime.cpp`` takes in place of a tensor map."""
    found = map_geometry(parameter, memory.layout)
    rank, pad = len(found.shape), lambda x, n: (*x, *([n] * (5 - len(x))))
    strides = (memory.size, *found.strides)
    data = struct.pack(
        "<Qii5i5iii5q",
        memory.address - found.ahead,
        rank,
        ELEMENTS.get(memory.dtype, 3),
        *pad(found.shape, 1),
        *pad(found.box, 1),
        parameter.span,
        0,
        *pad(strides, 0),
    )
    return data.ljust(128, b"\0")


def execute(binary, source, memories, scalars, *, grid, seed):
    """Run an emitted kernel on tensors in memory; the fault as a text, or None.

    With an odd seed all CTAs run at the same time, else one after the other.
    """
    by_name = dict(zip((t.name for t in binary.tensors), memories, strict=True))
    sizes = bind(binary.tensors, [m.layout for m in memories])
    cluster = binary.cluster
    ctas = cluster * min(-(-grid // cluster), binary.grid.tiles(sizes))
    words, lists, counters = [], [], []
    for p in binary.parameters:
        match p:
            case MapParam():
                words.append(map_bytes(p, by_name[p.tensor]))
            case PointerParam():
                words.append(struct.pack("<Q", by_name[p.tensor].address))
            case StrideParam():
                words.append(struct.pack("<q", by_name[p.tensor].strides[p.axis]))
            case SizeParam():
                words.append(struct.pack("<q", sizes[p.axis]))
            case ScalarParam():
                kind = "<f4x" if p.dtype is DType.F32 else "<q"
                words.append(struct.pack(kind, scalars[p.parameter]))
            case WorkParam():
                lists.append(np.zeros(binary.work(sizes) + 16, np.uint8))
                first = -lists[-1].ctypes.data % 16
                counters.append(lists[-1][first : first + COUNTER_BYTES])
                words.append(struct.pack("<Q", lists[-1].ctypes.data + first))
            case OrderParam():
                lists.append(np.array(binary.visits(sizes, ctas), np.int32))
                words.append(struct.pack("<Q", lists[-1].ctypes.data))
            case _:
                raise NotImplementedError(p)
    # tensor maps are copied with 64-byte alignment
    held = [ctypes.create_string_buffer(len(w) + 64) for w in words]
    addresses = [ctypes.addressof(h) + (-ctypes.addressof(h)) % 64 for h in held]
    for address, word in zip(addresses, words, strict=True):
        ctypes.memmove(address, word, len(word))
    table = (ctypes.c_void_p * len(words))(*addresses)
    library = built(source.text, source.entry)
    given = (ctas, source.threads, source.shared_bytes, cluster, seed)
    together(ctas if seed % 2 else 0)
    said = host_run(library, table, *given)
    if not said and any(counted.any() for counted in counters):
        return "counters are not 0 after the launch"
    return said.decode() if said else None


def run_case(case, kernel, source, config, *, grid=2, seed=0):
    """Outputs of a random kernel's emitted program, and the fault if there was one."""
    arrays = iter(case.arrays())
    memories = []
    for t in kernel.tensors:
        shape = [-(-case.sizes[a.name] // a.per) for a in t.axes]
        given = None if t.access is Access.OUT else next(arrays)
        memories.append(Memory(t, shape if given is None else given.shape, given))
    binary = described(kernel, source, config, b"")
    fault = execute(binary, source, memories, case.scalars, grid=grid, seed=seed)
    outs = [
        m.values() for t, m in zip(kernel.tensors, memories, strict=True) if t.access is Access.OUT
    ]
    if fault is None and not all(m.untouched() for m in memories):
        fault = "bytes outside the tensors were written"
    return outs, fault
