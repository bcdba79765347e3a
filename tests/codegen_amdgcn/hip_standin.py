"""A stand-in for ``libamdhip64``: the same symbols, launches executed from machine code on the CPU.

A code object is known by its bytes: whoever made it says which assembly it was assembled from.
"""

import ctypes as c
import hashlib
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from warploom.check.amdgcn.reader import read_kernel
from warploom.check.launch import Launch, Param, Tensor
from warploom.codegen.amdgcn.tile_ir.execute import ExecutionError, run_launch

HERE = Path(__file__).parent
_LOAD = c.CFUNCTYPE(c.c_int, c.c_void_p)
_LAUNCH = c.CFUNCTYPE(c.c_int, c.c_int, c.c_char_p, c.c_uint, c.c_uint, c.c_void_p, c.c_size_t)
_MEMORY = c.CFUNCTYPE(None, c.c_void_p, c.c_size_t)


def compiled(folder, name, *words):
    """A shared library of the tests, or a skip where there is no compiler."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    path = folder / name
    command = [compiler, "-std=c++17", "-shared", "-fPIC", f"-I{HERE / 'hip_include'}", *words]
    subprocess.run([*command, "-o", str(path)], check=True, timeout=120)
    return path


class StandIn:
    """The library, the code objects it knows, and the memory that launches may touch."""

    def __init__(self, folder):
        self.path = compiled(folder, "libamdhip64.so", str(HERE / "hip_standin.cpp"))
        self.library = c.CDLL(str(self.path), mode=c.RTLD_GLOBAL)
        self.code = {}  # digest of a code object: assembly
        self.modules = []
        self.memory = {}  # address: size
        self.launches = []
        self.fault = ""
        self._kept = _LOAD(self._load), _LAUNCH(self._launch), _MEMORY(self._allocated)
        self.library.standin_callbacks(*self._kept)

    def knows(self, image, assembly):
        """What a code object was assembled from."""
        self.code[hashlib.sha256(image).digest()] = assembly

    def lends(self, array):
        """An array whose memory launches may touch."""
        self._hold(array.ctypes.data, array.nbytes)

    def _hold(self, start, size):
        """Memory that is in use now; what lay there before is gone."""
        old = [a for a, s in self.memory.items() if a < start + size and start < a + s]
        for address in old:
            del self.memory[address]
        self.memory[start] = size

    def _allocated(self, place, size):
        if size:
            self._hold(place, size)
        else:
            self.memory.pop(place, None)

    def _load(self, image):
        head = c.string_at(image, 64)
        at, size, count = (
            struct.unpack_from("<Q", head, 40)[0],
            *struct.unpack_from("<HH", head, 58),
        )
        data = c.string_at(image, at + size * count)
        assembly = self.code.get(hashlib.sha256(data).digest())
        if assembly is None:
            return 0
        self.modules.append(assembly)
        return len(self.modules)

    def _launch(self, module, name, grid, block, arguments, size):
        try:
            self._run(
                self.modules[module - 1], name.decode(), grid, block, c.string_at(arguments, size)
            )
        except (ExecutionError, LookupError) as error:
            self.fault = str(error)
            return 1
        return 0

    def _run(self, assembly, name, grid, block, arguments):
        kernel = read_kernel(assembly, name)
        params, tensors, contents = [], {}, {}
        for argument in kernel.arguments:
            raw = arguments[argument.offset : argument.offset + argument.size]
            value = int.from_bytes(raw, "little")
            if argument.kind == "global_buffer":
                start = next(
                    (a for a, s in self.memory.items() if a <= value < a + max(1, s)), None
                )
                if start is None:
                    raise LookupError(f"argument {argument.name} points to no memory")
                region = f"m{start:x}"
                data = c.string_at(start, self.memory[start])
                tensors[region] = Tensor(name=region, shape=(len(data),), dtype="u8", role="inout")
                contents[region] = np.frombuffer(data, np.uint8)
                params.append(Param(kind="pointer", tensor=region, offset=value - start))
            else:
                params.append(Param(kind="u64" if argument.size == 8 else "u32", value=value))
        launch = Launch(
            grid=(grid, 1, 1), block=(block, 1, 1), params=tuple(params), tensors=tensors,
            contents=contents,
        )  # fmt: skip
        after, _ = run_launch(assembly, launch)
        for region, data in after.items():
            c.memmove(int(region[1:], 16), data.tobytes(), data.size)
        self.launches.append((name, grid, block))


class RocmArray:
    """A NumPy array that says it lies on a ROCm device."""

    def __init__(self, standin, array, device=0):
        self.array, self.device = array, device
        standin.lends(array if array.base is None else array.base)

    def __dlpack_device__(self):
        return 10, self.device

    def __dlpack__(self, stream=None):
        assert stream == 0  # the default stream of ROCm
        return self.array.__dlpack__()
