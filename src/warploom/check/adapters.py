"""Launches of kernels that other compilers made, from what those compilers return.

The functions read plain attributes and mappings; no other compiler is imported (but for the IR
library of CuTe DSL, by ``cute_launch`` alone), so each can be used inside that compiler's own
environment. A result is the JSON form of a launch (docs/howto/check.md).
Tensors are given as in a launch file; a tensor descriptor as ``{"descriptor": {"tensor": name,
"block": [...]}, "of": tensor}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

SIZES = {
    "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "u8": 1, "i8": 1, "u16": 2, "i16": 2,
    "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f64": 8,
}  # fmt: skip
_TRITON_SCALARS = {
    "i1": "u8", "i8": "i8", "u8": "u8", "i16": "i16", "u16": "u16", "i32": "i32", "u32": "u32",
    "i64": "i64", "u64": "u64", "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64",
    "f32": "f32",
}  # fmt: skip
_TRITON_SWIZZLES = {0: "none", 1: "32B", 2: "64B", 3: "128B"}
SCRATCH = "global_scratch"


def tensor_map(
    name: str, tensor: Mapping[str, Any], box: Sequence[int], swizzle: str, *, oob: str = "zero"
) -> dict[str, Any]:
    """A tensor map over a whole contiguous tensor; ``box`` outermost first."""
    size = SIZES[tensor["dtype"]]
    shape = list(tensor["shape"])
    strides, step = [], size
    for extent in shape[::-1][:-1]:
        step *= extent
        strides.append(step)
    return {
        "kind": "tensormap",
        "tensor": name,
        "dims": shape[::-1],
        "strides": strides,
        "box": list(box)[::-1],
        "element": tensor["dtype"],
        "swizzle": swizzle,
        "interleave": "none",
        "oob": oob,
    }


def triton_launch(
    compiled: Any,  # noqa: ANN401 (Triton's CompiledKernel)
    *,
    grid: Sequence[int],
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """The launch of a Triton ``CompiledKernel``.

    ``grid`` in programs; ``arguments`` by parameter name: tensors, descriptors and numbers. The
    parameters are those of the signature that are no constants, then the scratch pointers.
    """
    metadata, source = compiled.metadata, compiled.src
    constants = {k if isinstance(k, str) else source.fn.arg_names[k[0]] for k in source.constants}
    descriptions = list(getattr(metadata, "tensordesc_meta", None) or [])
    params: list[dict[str, Any]] = []
    tensors: dict[str, Any] = {}
    for name, kind in source.signature.items():
        if name in constants or kind == "constexpr":
            continue
        given = arguments[name]
        if kind.startswith("tensordesc"):
            params += _triton_descriptor(given, descriptions.pop(0) if descriptions else None)
            tensors[given["descriptor"]["tensor"]] = dict(given["of"])
        elif kind.startswith("*"):
            tensors[name] = dict(given)
            params.append({"kind": "pointer", "tensor": name})
        else:
            params.append({"kind": _TRITON_SCALARS[kind], "value": given})
    ctas = int(getattr(metadata, "num_ctas", 1))
    programs = (*grid, 1, 1)[:3]
    scratch = int(getattr(metadata, "global_scratch_size", 0))
    if scratch:
        count = scratch * programs[0] * programs[1] * programs[2]
        tensors[SCRATCH] = {"shape": [count], "dtype": "u8", "role": "inout", "init": "nan"}
        params.append({"kind": "pointer", "tensor": SCRATCH})
    else:
        params.append({"kind": "u64", "value": 0})
    params.append({"kind": "u64", "value": 0})  # profile scratch
    warps = int(metadata.num_warps)
    return {
        "entry": metadata.name,
        "grid": [programs[0] * ctas, programs[1], programs[2]],
        "block": [32 * warps, 1, 1],
        "cluster": [ctas, 1, 1],
        "shared_bytes": int(metadata.shared),
        "params": params,
        "tensors": tensors,
    }


def _triton_descriptor(
    given: Mapping[str, Any], meta: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    name, tensor = given["descriptor"]["tensor"], given["of"]
    shape = list(tensor["shape"])
    strides = [1]
    for extent in shape[::-1][:-1]:
        strides.insert(0, strides[0] * extent)
    if meta is None:  # no descriptor on the device: base, shape, strides, padding and rounding
        sizes = [{"kind": "i64", "value": v} for v in (*shape, *strides)]
        return [
            {"kind": "pointer", "tensor": name},
            *sizes,
            {"kind": "u8", "value": 0},
            {"kind": "u8", "value": 0},
        ]
    swizzle = _TRITON_SWIZZLES[int(meta["swizzle"])]
    return [
        tensor_map(name, tensor, meta["block_size"], swizzle),
        *({"kind": "i32", "value": v} for v in shape),
        *({"kind": "i64", "value": v} for v in strides),
    ]


_DRIVER_ELEMENTS = {
    0: "u8", 1: "u16", 2: "u32", 3: "i32", 4: "u64", 5: "i64", 6: "f16", 7: "f32", 8: "f64",
    9: "bf16", 10: "f32", 11: "f32", 12: "f32",
}  # fmt: skip
_DRIVER_SWIZZLES = {0: "none", 1: "32B", 2: "64B", 3: "128B"}
_NUMPY_NAMES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int8": "i8",
    "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "int64": "i64", "uint64": "u64", "float8_e4m3": "e4m3", "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2", "bool": "u8",
}  # fmt: skip


def tilelang_launch(
    artifact: Any,  # noqa: ANN401 (TileLang's CompiledArtifact)
    *,
    names: Sequence[str],
    outputs: Sequence[str] | set[str],
    kernel: str = "",
) -> dict[str, Any]:
    """The launch of a TileLang ``CompiledArtifact`` of fixed shapes.

    ``names``: the buffers of the function in order; ``outputs``: those that it writes. Tensor maps
    are read from the arguments that the host code gives the driver.
    """
    tensors = {
        name: {
            "shape": [int(x) for x in p.shape],
            "dtype": _NUMPY_NAMES[str(p.dtype).removeprefix("torch.")],
            "role": "out" if name in outputs else "in",
        }
        for name, p in zip(names, artifact.params, strict=True)
    }
    maps: dict[str, Any] = {}
    for host in artifact.host_mod.functions.values():
        found = (host.attrs or {}).get("tma_descriptor_args")
        for key, values in found.items() if found is not None else ():
            maps[str(getattr(key, "name", key))] = _tilelang_map(list(values))
    functions = {str(f.attrs["global_symbol"]): f for f in artifact.device_mod.functions.values()}
    if kernel:
        function = functions[kernel]
    elif len(functions) == 1:
        kernel, function = next(iter(functions.items()))
    else:
        raise ValueError(f"several kernels, name one of {', '.join(functions)}")
    extents = {str(k): int(v) for k, v in function.attrs["thread_extent"].items()}
    params = []
    for p in function.params:
        name = str(p.name)
        params.append(maps.get(name, {"kind": "pointer", "tensor": name}))
    cluster = function.attrs.get("cluster_dims")
    return {
        "entry": kernel,
        "grid": [extents.get(f"blockIdx.{x}", 1) for x in "xyz"],
        "block": [extents.get(f"threadIdx.{x}", 1) for x in "xyz"],
        "cluster": [1, 1, 1] if cluster is None else [int(cluster[i]) for i in range(3)],
        "shared_bytes": int(function.attrs.get("dyn_shared_memory_buf") or 0),
        "params": params,
        "tensors": tensors,
    }


def _tilelang_map(values: Sequence[Any]) -> dict[str, Any]:
    """``create_tiled, map, type, rank, tensor, dims, strides, box, steps, interleave, ...``."""
    element, rank, tensor = _DRIVER_ELEMENTS[int(values[2])], int(values[3]), str(values[4].name)
    numbers = [int(v) for v in values[5:]]
    rows = [numbers[i * rank : (i + 1) * rank] for i in range(4)]
    interleave, swizzle, _, fill = numbers[4 * rank : 4 * rank + 4]
    result: dict[str, Any] = {
        "kind": "tensormap",
        "tensor": tensor,
        "dims": rows[0],
        "strides": rows[1][1:],
        "box": rows[2],
        "element": element,
        "swizzle": _DRIVER_SWIZZLES[swizzle],
        "interleave": ("none", "16B", "32B")[interleave],
        "oob": "nan" if fill else "zero",
    }
    if any(s != 1 for s in rows[3]):
        result["element_strides"] = rows[3]
    return result


_CUTE_SPANS = {0: "none", 1: "32B", 2: "64B", 3: "128B"}
_CUTE_SCALARS = {
    "i1": "u8", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "f16": "f16", "bf16": "bf16",
    "f32": "f32", "f64": "f64",
}  # fmt: skip
_CUTE_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": lambda a, b: int(a / b),
    "arith.divui": lambda a, b: a // b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.remsi": lambda a, b: a % b,
    "arith.minsi": min,
    "arith.maxsi": max,
}
_CONFIG = "(array<3 x i32>, array<3 x i32>, i64, ptr, ptr, i32)"  # of the runtime: how to launch


def cute_launch(
    compiled: Any,  # noqa: ANN401 (CuTe DSL's compiled function)
    *,
    arguments: Sequence[Any],
    grid: Sequence[int] | None = None,
) -> dict[str, Any]:
    """The launch of a CuTe DSL function that launches one kernel.

    It is read from the IR that the compiler keeps (``CUTE_DSL_KEEP=ptx,ir``). ``arguments``: those
    of the host function in order, a tensor as ``{"name": .., "shape": .., "dtype": .., "role":
    ..}`` (with ``"strides"`` in elements where it is not packed row by row), numbers as they are.
    ``grid``: where the host function computes it by more than arithmetic.
    """
    if not compiled.artifacts.MLIR:
        raise ValueError("the compiled function has no IR: set CUTE_DSL_KEEP=ptx,ir")
    ir = import_module("cutlass._mlir.ir")
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(compiled.artifacts.MLIR)
        text = module.operation.get_asm(print_generic_op_form=True)
    result = _CuteHost(text, arguments).launch(grid)
    lowered = compiled.ir_module.operation.get_asm(print_generic_op_form=True)
    result["shared_bytes"] = _cute_shared(list(_operations(lowered, {})))
    return result


class _Operation(NamedTuple):
    """An operation of MLIR's generic form: names of values, text of attributes and types."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: Mapping[str, str]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


_OPEN, _CLOSE = "(<[{", ")>]}"


def _parts(text: str, separator: str = ",") -> list[str]:
    """Text at separators that no bracket or quote encloses; an arrow is no bracket."""
    found, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"' and text[i - 1 : i] != "\\":
            quoted = not quoted
        elif quoted or text[i - 1 : i + 1] == "->":
            continue
        elif c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
        elif c == separator and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
    return [*found, text[start:].strip()] if text[start:].strip() else found


def _enclosed(text: str, at: int) -> int:
    """One past the bracket that closes the one at ``at``."""
    depth, quoted = 0, False
    for i in range(at, len(text)):
        c = text[i]
        if c == '"' and text[i - 1 : i] != "\\":
            quoted = not quoted
        elif quoted or text[i - 1 : i + 1] == "->":
            continue
        elif c in _OPEN:
            depth += 1
        elif c in _CLOSE:
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def _types(text: str, named: Mapping[str, str]) -> tuple[str, ...]:
    text = text.strip()
    inner = text[1:-1] if text.startswith("(") and _enclosed(text, 0) == len(text) else text
    return tuple(named.get(t, t) for t in _parts(inner))


def _operations(text: str, named: dict[str, str]) -> Iterator[_Operation]:
    """The operations of one line each; ``named`` is filled with the names of types.

    A function is an operation without a type at the end, and so are its blocks' arguments.
    """
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("!"):
            name, _, kind = line.partition(" = ")
            named[name] = kind
            continue
        if line.startswith("^bb"):
            pairs = [p.partition(":") for p in _parts(line[line.find("(") + 1 : line.rfind(")")])]
            kinds = tuple(named.get(k.strip(), k.strip()) for _, _, k in pairs)
            yield _Operation("block", tuple(n.strip() for n, _, _ in pairs), (), {}, (), kinds)
            continue
        results, equals, rest = line.partition(" = ") if line.startswith("%") else ("", "", line)
        if not rest.startswith('"'):
            continue
        name, at = rest[1 : rest.index('"', 1)], rest.index("(")
        end = _enclosed(rest, at)
        operands = tuple(_parts(rest[at + 1 : end - 1]))
        attributes: dict[str, str] = {}
        after = rest[end:].lstrip()
        if after.startswith("<{"):
            close = _enclosed(after, 0)
            for part in _parts(after[2 : close - 2]):
                key, _, value = part.partition(" = ")
                attributes[key] = value
            after = after[close:].lstrip()
        if after.startswith("{"):
            after = after[_enclosed(after, 0) :].lstrip()
        takes: tuple[str, ...] = ()
        gives: tuple[str, ...] = ()
        if after.startswith(":"):
            end = _enclosed(after, after.index("("))
            takes = _types(after[after.index("(") : end], named)
            gives = _types(after[end:].partition("->")[2], named)
        base, _, count = results.partition(":")
        if equals and count:
            names: tuple[str, ...] = tuple(f"{base}#{i}" for i in range(int(count)))
        else:
            names = (base,) if equals else ()
        yield _Operation(name, names, operands, attributes, takes, gives)


class _CuteHost:
    """The host function of a module: its values, and what it launches."""

    def __init__(self, text: str, arguments: Sequence[Any]) -> None:
        every = list(_operations(text, {}))
        starts = [i for i, op in enumerate(every) if op.name == "func.func"]
        launches = [i for i, op in enumerate(every) if op.name == "cuda.launch_ex"]
        if len(launches) != 1:
            raise ValueError(f"the host function launches {len(launches)} kernels, not one")
        begin = max(i for i in starts if i < launches[0])
        self.launched, self.inside = every[launches[0]], every[begin : launches[0]]
        block = self.inside[1]
        self.arguments = dict(zip(block.results, arguments, strict=True))
        self.makers = {r: op for op in self.inside[2:] for r in op.results}

    def launch(self, grid: Sequence[int] | None) -> dict[str, Any]:
        """The launch but for shared memory."""
        config, *values = self.launched.operands
        made = [self._number(v) for v in self.makers[config].operands]
        block, given = made[:3], made[4:7] if grid is None else list(grid)  # 3: shared memory
        if any(n is None for n in (*block, *given)):
            raise ValueError("the host function computes its grid: give grid=")
        cluster = [1, 1, 1]
        for op in self.inside:
            if op.name == "cuda.launch_cfg.cluster_dim" and op.operands[0] == config:
                cluster = [self._number(v) or 1 for v in op.operands[1:4]]
        kinds = self.launched.takes[1:]
        tensors = {
            a["name"]: {k: v for k, v in a.items() if k in ("shape", "dtype", "role", "init")}
            for a in self.arguments.values()
            if isinstance(a, Mapping)
        }
        return {
            "entry": self.launched.attributes["callee"].rsplit("@", 1)[-1].strip('"'),
            "grid": given,
            "block": block,
            "cluster": cluster,
            "params": [p for v, k in zip(values, kinds, strict=True) for p in self._params(v, k)],
            "tensors": tensors,
        }

    def _argument(self, value: str) -> Any:  # noqa: ANN401 (a tensor or a number)
        """The argument of the host function behind a value."""
        for _ in range(64):
            if value in self.arguments:
                return self.arguments[value]
            maker = self.makers.get(value)
            if maker is None or not maker.operands:
                break
            value = maker.operands[0]
        raise ValueError(f"the kernel argument {value} is no argument of the host function")

    def _number(self, value: str) -> int | None:
        if value in self.arguments:
            found = self.arguments[value]
            return found if isinstance(found, int) else None
        maker = self.makers.get(value)
        return None if maker is None else self._computed(maker)

    def _computed(self, maker: _Operation) -> int | None:
        """The number that an operation makes, where it is one of the launch."""
        if maker.name == "arith.constant":
            text = maker.attributes["value"].partition(":")[0].strip()
            return int(text) if text.lstrip("-").isdigit() else None
        if maker.name in ("cute.get_scalars", "cute.get_leaves") and len(maker.operands) == 1:
            return self._number(maker.operands[0])
        if maker.name == "cute.size" and maker.operands[0] in self.arguments:
            return self._size(maker)
        operation = _CUTE_INTEGERS.get(maker.name)
        inner = [self._number(v) for v in maker.operands]
        numbers = [n for n in inner if n is not None]
        if operation is None or len(numbers) != len(inner):
            return None
        return int(operation(*numbers))

    def _size(self, op: _Operation) -> int | None:
        """Elements of a tensor, or of one of its modes."""
        given = self.arguments[op.operands[0]]
        if not isinstance(given, Mapping) or len(_layout(op.takes[0])[0]) != len(given["shape"]):
            return None
        chosen = op.attributes.get("mode", "").strip("[]")
        chosen = chosen.removeprefix("array<i32:").removesuffix(">").partition(":")[0].strip()
        if not chosen:
            return math.prod(given["shape"])
        return int(given["shape"][int(chosen)]) if chosen.isdigit() else None

    def _params(self, value: str, kind: str) -> Iterator[dict[str, Any]]:
        if kind.startswith("!cute_nvgpu.atom.non_exec"):
            yield self._map(value, kind)
        elif kind.startswith(("!cute.memref<", "!cute.ptr<")):
            yield self._tensor(value, kind)
        elif kind in _CUTE_SCALARS:
            found = self._number(value)
            yield {
                "kind": _CUTE_SCALARS[kind],
                "value": self._argument(value) if found is None else found,
            }
        elif kind == "!cute.fast_divmod_divisor<32>":
            yield _divisor(self._number(self.makers[value].operands[0]))
        elif "sm90.mma<" in kind:
            yield {"kind": "u8", "value": 0}  # whether products add, before anything sets it
        elif "?" in kind:
            raise ValueError(f"a kernel argument with numbers of the launch: {kind}")

    def _tensor(self, value: str, kind: str) -> dict[str, Any]:
        given = self._argument(value)
        pointer = {"kind": "pointer", "tensor": given["name"]}
        if "?" not in kind or kind.startswith("!cute.ptr<"):
            return pointer
        shape, stride = _layout(kind)
        pairs = [*zip(shape, given["shape"], strict=True), *zip(stride, _steps(given), strict=True)]
        fields, at = [pointer | {"offset": 0}], 8
        for text, number in pairs:
            if "?" in text:
                wide = "i64" in text
                at += -at % (8 if wide else 4)
                fields.append({"offset": at, "kind": "i64" if wide else "i32", "value": number})
                at += 8 if wide else 4
        return {"kind": "struct", "bytes": at + -at % 8, "fields": fields}

    def _map(self, atom: str, kind: str) -> dict[str, Any]:
        """The tensor map of a copy atom; the basis of one instruction is the box, inside first."""
        made = self.makers[atom]
        given = self._argument(made.operands[0])
        if len(_layout(made.takes[0])[0]) != len(given["shape"]):
            raise ValueError(f"a tensor map over modes within modes: {made.takes[0]}")
        # Of each mode; a mode of one element has no coordinate of its own.
        coordinate = [-1 if b == "0" else _axis(b) for b in _layout(made.gives[1])[1]]
        if any(at < 0 and n != 1 for at, n in zip(coordinate, given["shape"], strict=True)):
            raise ValueError(f"a tensor map that does not step along a mode: {made.gives[1]}")
        rank = 1 + max(coordinate)
        size = SIZES[given["dtype"]]
        dims, strides, box = [1] * rank, [size] * rank, [1] * rank
        for extent, step, at in zip(given["shape"], _steps(given), coordinate, strict=True):
            if at >= 0:
                dims[at], strides[at] = extent, step * size
        basis = kind[kind.index("tma_gbasis") :].split('"')[1]
        for side, mode in zip(*_sides(basis), strict=True):
            box[coordinate[_axis(mode)]] *= int(side)
        many = int(made.attributes.get("num_multicast", "1").partition(":")[0])
        for i in reversed(range(rank)):  # every CTA fetches its part of the outermost sides
            if many > 1 and (box[i] % many == 0 or many % box[i] == 0):
                box[i], many = -(-box[i] // many), -(-many // box[i])
        composed = made.takes[1]
        span = int(composed.split("S<")[1].split(",")[0]) if "S<" in composed else 0
        return {
            "kind": "tensormap",
            "tensor": given["name"],
            "dims": dims,
            "strides": strides[1:],
            "box": box,
            "element": given["dtype"],
            "swizzle": _CUTE_SPANS[span],
            "interleave": "none",
            "oob": "zero",
        }


def _divisor(number: int | None) -> dict[str, Any]:
    """A divisor that the host prepares: quotients by a high product, a sum and two shifts."""
    if number is None or number < 1:
        raise ValueError(f"a divisor of {number}")
    bits = (number - 1).bit_length()
    factor = (1 << 32) * ((1 << bits) - number) // number + 1
    fields = [
        {"offset": 0, "kind": "u32", "value": number},
        {"offset": 4, "kind": "u32", "value": factor & 0xFFFFFFFF},
        {"offset": 8, "kind": "u8", "value": min(bits, 1)},
        {"offset": 9, "kind": "u8", "value": max(bits - 1, 0)},
    ]
    return {"kind": "struct", "bytes": 12, "fields": fields}


def _steps(given: Mapping[str, Any]) -> list[int]:
    """Strides of a tensor in elements."""
    if "strides" in given:
        return list(given["strides"])
    steps = [1]
    for extent in list(given["shape"])[::-1][:-1]:
        steps.insert(0, steps[0] * extent)
    return steps


def _layout(kind: str) -> tuple[list[str], list[str]]:
    """The leaves of a type's shape and stride."""
    return _sides(kind.split('"')[-2])


def _sides(layout: str) -> tuple[list[str], list[str]]:
    shape, _, stride = layout.rpartition(":")
    leaves = [
        [x for x in side.replace("(", "").replace(")", "").split(",") if x]
        for side in (shape, stride)
    ]
    return leaves[0], leaves[1]


def _axis(basis: str) -> int:
    """The axis that a stride ``1@i`` counts."""
    scale, _, at = basis.partition("@")
    if scale != "1" or not at.isdigit():
        raise ValueError(f"a tensor map with the stride {basis}")
    return int(at)


def _cute_shared(lowered: Sequence[_Operation]) -> int:
    """Bytes of shared memory, from the constant that lowered code writes to the configuration."""
    makers: dict[str, _Operation] = {}  # every function has names of its own
    for op in lowered:
        makers |= dict.fromkeys(op.results, op)
        if op.name != "llvm.store":
            continue
        what, where = (makers.get(v) for v in op.operands[:2])
        if where is None or what is None or where.name != "llvm.getelementptr":
            continue
        place = where.attributes.get("rawConstantIndices", "")
        inside = _CONFIG in where.attributes.get("elem_type", "")
        if inside and place == "array<i32: 0, 2>" and what.name == "llvm.mlir.constant":
            return int(what.attributes["value"].partition(":")[0])
    raise ValueError("the lowered host function does not say its shared memory")
