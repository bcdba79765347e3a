"""Launches of kernels that other compilers made, from what those compilers return.

The functions read plain attributes and mappings; no other compiler is imported, so each can be used
inside that compiler's own environment. A result is the JSON form of a launch (docs/howto/check.md).
Tensors are given as in a launch file; a tensor descriptor as ``{"descriptor": {"tensor": name,
"block": [...]}, "of": tensor}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    found: dict[str, Any] = {
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
        found["element_strides"] = rows[3]
    return found
