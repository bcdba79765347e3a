"""The launch that ``check`` runs: grid, block, parameters, tensors with contents by seed.

A launch file is JSON (docs/howto/check.md). ``Launch.read`` validates it completely: whatever is
wrong is a ``CheckError`` that names the place. ``dims`` and ``box`` of a tensor map are innermost
first and ``strides`` are the bytes of the outer dimensions, as the driver takes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from warploom.check.formats import SIZES, Array, encode
from warploom.errors import CheckError, cannot_read

SCALARS = {
    "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f32": 4, "f16": 2, "bf16": 2, "u8": 1, "f64": 8,
    "i8": 1, "u16": 2, "i16": 2,
}  # fmt: skip
"""Bytes of each scalar kind of parameter."""
SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
ROLES = ("in", "out", "inout")
MAP_BYTES = 128
MAX_FILE = 64 << 20
MAX_TENSOR = 1 << 30
MAX_THREADS = 1024
_DTYPES = tuple(SIZES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor in global memory, contiguous, last axis fastest.

    ``init``: ``random`` (small numbers), ``zero``, ``nan``, or ``values``. ``low`` and ``high``
    bound random integers (``high`` excluded). ``strides`` in elements where not contiguous;
    ``base`` (bytes) moves the address from its 256-byte alignment.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: str = "in"
    init: str = ""
    values: tuple[float, ...] | None = None
    low: int = 0
    high: int = 0

    @property
    def count(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.count * SIZES[self.dtype]

    def contents(self, seed: int) -> Array:
        """The bytes before the launch: by ``init``, else random for inputs and NaN for outputs."""
        init = self.init or ("nan" if self.role == "out" else "random")
        if self.values is not None:
            given = np.asarray(self.values)
            return encode(np.resize(given, self.count), self.dtype)
        if init == "zero":
            return np.zeros(self.nbytes, np.uint8)
        if init == "nan":
            return np.full(self.nbytes, 0xFF, np.uint8)
        rng = np.random.default_rng([seed, *self.name.encode()])
        return encode(self._random(rng), self.dtype)

    def _random(self, rng: np.random.Generator) -> Array:
        if self.dtype[0] in "ui" and self.dtype not in ("u8", "i8"):
            return rng.integers(self.low, self.high or self.low + 128, self.count)
        if self.dtype == "u8":
            return rng.integers(self.low, self.high or 256, self.count)
        if self.dtype == "i8":
            return rng.integers(self.low or -128, self.high or 128, self.count)
        return rng.standard_normal(self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """A tensor map as ``cuTensorMapEncodeTiled`` makes it."""

    tensor: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element: str
    swizzle: str = "none"
    interleave: str = "none"
    oob: str = "zero"
    element_strides: tuple[int, ...] = ()
    offset: int = 0

    @property
    def box_bytes(self) -> int:
        """Bytes that a copy of the whole box moves and credits."""
        return math.prod(self.box) * SIZES[self.element]


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter: ``pointer``, ``tensormap``, a scalar kind or ``struct`` with fields."""

    kind: str
    value: int | float = 0
    tensor: str = ""
    offset: int = 0
    map: TensorMap | None = None
    bytes: int = 0
    at: int = 0
    fields: tuple[Param, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes in the parameter buffer."""
        if self.kind == "pointer":
            return 8
        if self.kind == "tensormap":
            return MAP_BYTES
        return self.bytes if self.kind == "struct" else SCALARS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of one entry point."""

    entry: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    params: tuple[Param, ...] = ()
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    registers: int | None = None
    name: str = ""
    contents: Mapping[str, Array] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return math.prod(self.block)

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return math.prod(self.grid)

    def initial(self, seed: int = 0) -> dict[str, Array]:
        """The bytes of every tensor before the launch; ``contents`` wins over random numbers."""
        return {
            name: (
                np.frombuffer(np.ascontiguousarray(self.contents[name]).tobytes(), np.uint8).copy()
                if name in self.contents
                else tensor.contents(seed)
            )
            for name, tensor in self.tensors.items()
        }

    def described(self) -> str:
        """One line for a report."""
        sizes = ", ".join(f"{t.name} {'x'.join(map(str, t.shape))}" for t in self.tensors.values())
        grid, block = ("x".join(map(str, v)) for v in (self.grid, self.block))
        cluster = (
            "" if self.cluster == (1, 1, 1) else f", cluster {'x'.join(map(str, self.cluster))}"
        )
        name = f"{self.name}: " if self.name else ""
        return f"{name}grid {grid}, block {block}{cluster}; {sizes}"

    @classmethod
    def read(cls, path: str | Path) -> Launch:
        """A launch file."""
        found = Path(path)
        try:
            if found.stat().st_size > MAX_FILE:
                raise CheckError(
                    f"the launch file is larger than {MAX_FILE} bytes", where=str(path)
                )
            text = found.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckError(cannot_read(path, error)) from None
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Launch:
        """The text of a launch file."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckError(f"the launch is no JSON: {error}", where="launch") from None
        return cls.from_json(value)

    @classmethod
    def from_json(cls, value: object) -> Launch:
        """A launch from JSON values."""
        return _Reader().launch(value)

    def to_json(self) -> dict[str, Any]:
        """The launch as JSON values; what ``from_json`` reads."""
        result: dict[str, Any] = {
            "entry": self.entry,
            "grid": list(self.grid),
            "block": list(self.block),
            "cluster": list(self.cluster),
            "shared_bytes": self.shared_bytes,
            "params": [_param_json(p) for p in self.params],
            "tensors": {n: _tensor_json(t) for n, t in self.tensors.items()},
        }
        if self.registers is not None:
            result["registers"] = self.registers
        if self.name:
            result["name"] = self.name
        return result


def _param_json(param: Param, *, inside: bool = False) -> dict[str, Any]:
    result: dict[str, Any] = {"kind": param.kind}
    if inside:
        result["offset"] = param.at
    if param.kind == "pointer":
        result["tensor"] = param.tensor
        if param.offset:
            result["byte_offset"] = param.offset
    elif param.map is not None:
        m = param.map
        result |= {
            "tensor": m.tensor,
            "dims": list(m.dims),
            "strides": list(m.strides),
            "box": list(m.box),
            "element": m.element,
            "swizzle": m.swizzle,
            "interleave": m.interleave,
            "oob": m.oob,
        }
        if m.element_strides:
            result["element_strides"] = list(m.element_strides)
        if m.offset:
            result["byte_offset"] = m.offset
    elif param.kind == "struct":
        result["bytes"] = param.bytes
        result["fields"] = [_param_json(f, inside=True) for f in param.fields]
    else:
        result["value"] = param.value
    return result


def _tensor_json(tensor: Tensor) -> dict[str, Any]:
    result: dict[str, Any] = {
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "role": tensor.role,
    }
    if tensor.init:
        result["init"] = tensor.init
    if tensor.values is not None:
        result["values"] = list(tensor.values)
    if tensor.high:
        result["range"] = [tensor.low, tensor.high]
    return result


class _Reader:
    """Validates JSON values; every refusal names the place."""

    def launch(self, value: object) -> Launch:
        top = self._object(value, "launch")
        known = {
            "entry", "grid", "block", "cluster", "shared_bytes", "params", "tensors", "registers",
            "name",
        }  # fmt: skip
        self._only(top, known, "launch")
        tensors = {
            str(name): self._tensor(str(name), t)
            for name, t in self._object(top.get("tensors", {}), "tensors").items()
        }
        params = tuple(
            self._param(p, f"params[{i}]", tensors)
            for i, p in enumerate(self._list(top.get("params", []), "params"))
        )
        grid = self._dim3(top.get("grid", [1, 1, 1]), "grid")
        block = self._dim3(top.get("block", [1, 1, 1]), "block")
        cluster = self._dim3(top.get("cluster", [1, 1, 1]), "cluster")
        if math.prod(block) > MAX_THREADS:
            raise CheckError(f"a block of {math.prod(block)} threads", where="block", fix="<= 1024")
        if math.prod(cluster) > 16:
            raise CheckError("more than 16 CTAs in a cluster", where="cluster", fix="at most 16")
        if any(g % c for g, c in zip(grid, cluster, strict=True)):
            raise CheckError(
                f"the grid {grid} is no multiple of the cluster {cluster}", where="grid, cluster"
            )
        registers = top.get("registers")
        return Launch(
            entry=self._string(top.get("entry", ""), "entry"),
            grid=grid,
            block=block,
            cluster=cluster,
            shared_bytes=self._int(top.get("shared_bytes", 0), "shared_bytes", 0, 1 << 20),
            params=params,
            tensors=tensors,
            registers=None if registers is None else self._int(registers, "registers", 1, 512),
            name=self._string(top.get("name", ""), "name"),
        )

    def _tensor(self, name: str, value: object) -> Tensor:
        at = f"tensors.{name}"
        found = self._object(value, at)
        self._only(found, {"shape", "dtype", "role", "init", "values", "range"}, at)
        shape = self._ints(found.get("shape"), f"{at}.shape", 0)
        dtype = self._choice(found.get("dtype"), _DTYPES, f"{at}.dtype")
        values = found.get("values")
        numbers: tuple[float, ...] | None = None
        if values is not None:
            given = self._list(values, f"{at}.values")
            numbers = tuple(self._number(v, f"{at}.values[{i}]") for i, v in enumerate(given))
            if not numbers:
                raise CheckError("an empty list of values", where=f"{at}.values")
        low, high = 0, 0
        if "range" in found:
            bounds = self._list(found["range"], f"{at}.range")
            if len(bounds) != 2:
                raise CheckError("a range is [low, high]", where=f"{at}.range")
            low, high = (self._int(b, f"{at}.range", -(1 << 63), 1 << 63) for b in bounds)
            if low >= high:
                raise CheckError(f"the range {low}..{high} is empty", where=f"{at}.range")
        tensor = Tensor(
            name=name,
            shape=shape,
            dtype=dtype,
            role=self._choice(found.get("role", "in"), ROLES, f"{at}.role"),
            init=self._choice(found.get("init", ""), ("", "random", "zero", "nan"), f"{at}.init"),
            values=numbers,
            low=low,
            high=high,
        )
        if tensor.nbytes > MAX_TENSOR:
            raise CheckError(
                f"a tensor of {tensor.nbytes} bytes",
                where=at,
                fix="choose a small launch: a few tiles show every order",
            )
        return tensor

    def _param(
        self, value: object, at: str, tensors: Mapping[str, Tensor], *, inside: bool = False
    ) -> Param:
        found = self._object(value, at)
        kind = self._string(found.get("kind"), f"{at}.kind")
        place = self._int(found.get("offset", 0), f"{at}.offset", 0, 1 << 16) if inside else 0
        if kind == "pointer":
            self._only(found, {"kind", "tensor", "byte_offset", "offset"}, at)
            return Param(
                kind=kind,
                tensor=self._known(found.get("tensor"), tensors, f"{at}.tensor"),
                offset=self._int(found.get("byte_offset", 0), f"{at}.byte_offset", 0, 1 << 40),
                at=place,
            )
        if kind == "tensormap":
            return Param(kind=kind, map=self._map(found, at, tensors), at=place)
        if kind == "struct":
            self._only(found, {"kind", "bytes", "fields", "offset"}, at)
            size = self._int(found.get("bytes"), f"{at}.bytes", 1, 1 << 16)
            fields = tuple(
                self._param(f, f"{at}.fields[{i}]", tensors, inside=True)
                for i, f in enumerate(self._list(found.get("fields", []), f"{at}.fields"))
            )
            for i, f in enumerate(fields):
                if f.at + f.nbytes > size:
                    raise CheckError(
                        f"the field ends at byte {f.at + f.nbytes} of a struct of {size}",
                        where=f"{at}.fields[{i}]",
                    )
            return Param(kind=kind, bytes=size, fields=fields, at=place)
        if kind in SCALARS:
            self._only(found, {"kind", "value", "offset"}, at)
            number = self._number(found.get("value"), f"{at}.value")
            if kind[0] in "ui":
                number = self._whole(number, kind, f"{at}.value")
            return Param(kind=kind, value=number, at=place)
        raise CheckError(
            f"no kind of parameter {kind[:40]!r}",
            where=f"{at}.kind",
            fix=f"pointer, tensormap, struct, {', '.join(SCALARS)}",
        )

    def _map(
        self, found: Mapping[str, object], at: str, tensors: Mapping[str, Tensor]
    ) -> TensorMap:
        known = {
            "kind", "tensor", "dims", "strides", "box", "element", "swizzle", "interleave", "oob",
            "element_strides", "byte_offset", "offset",
        }  # fmt: skip
        self._only(found, known, at)
        dims = self._ints(found.get("dims"), f"{at}.dims", 1)
        box = self._ints(found.get("box"), f"{at}.box", 1)
        strides = self._ints(found.get("strides", []), f"{at}.strides", 0)
        element = self._choice(found.get("element"), _DTYPES, f"{at}.element")
        swizzle = self._choice(found.get("swizzle", "none"), tuple(SWIZZLES), f"{at}.swizzle")
        if not 1 <= len(dims) <= 5 or len(box) != len(dims) or len(strides) != len(dims) - 1:
            raise CheckError(
                f"{len(dims)} dims, {len(box)} box sides, {len(strides)} strides",
                where=at,
                why="a map of rank r has r dims and box sides (innermost first), r - 1 strides",
            )
        if any(b > 256 for b in box):
            raise CheckError("a box side above 256", where=f"{at}.box", fix="at most 256")
        inner = box[0] * SIZES[element]
        if inner % 16:
            raise CheckError(
                f"an inner box side of {inner} bytes",
                where=f"{at}.box",
                fix="a multiple of 16 bytes",
            )
        if SWIZZLES[swizzle] and inner > SWIZZLES[swizzle]:
            raise CheckError(
                f"an inner box side of {inner} bytes with swizzle {swizzle}",
                where=f"{at}.box",
                fix=f"at most {SWIZZLES[swizzle]} bytes",
            )
        if any(s % 16 for s in strides):
            raise CheckError("a stride that is no multiple of 16 bytes", where=f"{at}.strides")
        steps = self._ints(found.get("element_strides", []), f"{at}.element_strides", 1)
        return TensorMap(
            tensor=self._known(found.get("tensor"), tensors, f"{at}.tensor"),
            dims=dims,
            strides=strides,
            box=box,
            element=element,
            swizzle=swizzle,
            interleave=self._choice(
                found.get("interleave", "none"), ("none", "16B", "32B"), f"{at}.interleave"
            ),
            oob=self._choice(found.get("oob", "zero"), ("zero", "nan"), f"{at}.oob"),
            element_strides=() if all(s == 1 for s in steps) else steps,
            offset=self._int(found.get("byte_offset", 0), f"{at}.byte_offset", 0, 1 << 40),
        )

    def _known(self, value: object, tensors: Mapping[str, Tensor], at: str) -> str:
        name = self._string(value, at)
        if name not in tensors:
            raise CheckError(
                f"no tensor {name[:40]!r}", where=at, fix=f"one of {', '.join(sorted(tensors))}"
            )
        return name

    @staticmethod
    def _only(found: Mapping[str, object], known: set[str], at: str) -> None:
        extra = sorted(set(found) - known)
        if extra:
            raise CheckError(
                f"unknown key {extra[0][:40]!r}",
                where=at,
                fix=f"keys are {', '.join(sorted(known))}",
            )

    @staticmethod
    def _object(value: object, at: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise CheckError(f"{type(value).__name__} where an object is expected", where=at)
        return value

    @staticmethod
    def _list(value: object, at: str) -> Sequence[object]:
        if not isinstance(value, list):
            raise CheckError(f"{type(value).__name__} where a list is expected", where=at)
        return value

    @staticmethod
    def _string(value: object, at: str) -> str:
        if not isinstance(value, str):
            raise CheckError(f"{type(value).__name__} where a string is expected", where=at)
        return value

    @staticmethod
    def _int(value: object, at: str, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise CheckError(f"{value!r:.40} is no integer in {low}..{high}", where=at)
        return value

    @staticmethod
    def _number(value: object, at: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise CheckError(f"{value!r:.40} is no number", where=at)
        return value

    @staticmethod
    def _whole(number: float, kind: str, at: str) -> int:
        """A number as an integer of a kind; all bits set may be written as -1 or as unsigned."""
        bits = 8 * SCALARS[kind]
        if not math.isfinite(number) or number != int(number):
            raise CheckError(f"{number} is no integer", where=at)
        if not -(1 << bits - 1) <= number < 1 << bits:
            raise CheckError(f"{int(number)} does not fit in {kind}", where=at)
        return int(number)

    def _ints(self, value: object, at: str, low: int) -> tuple[int, ...]:
        found = self._list(value, at)
        if len(found) > 8:
            raise CheckError(f"{len(found)} numbers", where=at, fix="at most 8")
        return tuple(self._int(v, f"{at}[{i}]", low, 1 << 40) for i, v in enumerate(found))

    def _dim3(self, value: object, at: str) -> tuple[int, int, int]:
        found = self._ints(value, at, 1)
        if not 1 <= len(found) <= 3:
            raise CheckError("a size is [x, y, z]", where=at)
        x, y, z = (*found, 1, 1)[:3]
        return x, y, z

    @staticmethod
    def _choice(value: object, of: Sequence[str], at: str) -> str:
        if not isinstance(value, str) or value not in of:
            raise CheckError(f"{value!r:.40} is not known", where=at, fix=f"one of {', '.join(of)}")
        return value
