"""``execute``: one launch of a compiled kernel on NumPy arrays, its machine code run on the CPU.

The machine of ``check`` runs every instruction with values and decides for every timing whether an
access of LDS or memory could see something else. A finding of it is an ``ExecutionError``.

Rows of tensors may be longer than their elements: the bytes between are NaN, and so is everything
that no kernel wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.findings import Findings
from warploom.check.amdgcn.launching import block_of, make_groups, pack_arguments, place_tensors
from warploom.check.amdgcn.machine import Machine, Settings
from warploom.check.amdgcn.reader import read_kernel
from warploom.check.formats import SIZES, decode, encode
from warploom.check.launch import Launch, Param, Tensor
from warploom.codegen.amdgcn.tile_ir.code import grid_of
from warploom.errors import CheckError, ConfigError, WarploomError

_KINDS = {"bool": "u8"}
FILL = 0xFF


class ExecutionError(WarploomError):
    """The machine code did something wrong, or something that depends on timing."""


class NotExecutedError(ExecutionError):
    """The machine does not know an instruction, or the launch is too long for it."""


MAX_STEPS = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """Results by output, and how many instructions ran."""

    outputs: dict[str, NDArray[Any]]
    instructions: int


def execute(
    assembly: str,
    sidecar: Mapping[str, Any],
    inputs: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, float] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    initial: Mapping[str, NDArray[Any]] | None = None,
    padding: int = 0,
    order: str = "forward",
    seed: int = 0,
    max_steps: int = MAX_STEPS,
) -> Executed:
    """Run a launch. ``padding``: elements between rows; ``order``: how waves take turns."""
    tensors = {t["name"]: t for t in sidecar["tensors"]}
    lengths = axis_lengths(sidecar, inputs, sizes or {})
    launch = launch_of(
        sidecar, inputs, scalars or {}, sizes=sizes or {}, initial=initial or {}, padding=padding
    )
    shapes = {n: shape_of(t, lengths) for n, t in tensors.items()}
    outputs = [n for n, t in tensors.items() if t["access"] == "out"]
    contents: Mapping[str, NDArray[np.uint8]] = {}
    steps = 0
    if launch is not None:
        contents, steps = run_launch(assembly, launch, order, seed, max_steps=max_steps)
    found = {}
    for name in outputs:
        strides, count = strides_of(shapes[name], padding)
        size = SIZES[_kind(tensors[name])]
        data = contents.get(name, np.full(max(1, count) * size, FILL, np.uint8))
        if launch is None and initial and name in initial and 0 not in shapes[name]:
            _put(data, np.broadcast_to(initial[name], shapes[name]), strides, _kind(tensors[name]))
        found[name] = _get(data, shapes[name], strides, _kind(tensors[name]))
    return Executed(outputs=found, instructions=steps)


def outputs_of(
    sidecar: Mapping[str, Any],
    inputs: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, int],
    contents: Mapping[str, NDArray[np.uint8]],
) -> dict[str, NDArray[Any]]:
    """Values of the outputs, from the bytes of dense tensors after a launch."""
    lengths = axis_lengths(sidecar, inputs, sizes)
    result = {}
    for tensor in sidecar["tensors"]:
        if tensor["access"] == "out":
            shape = shape_of(tensor, lengths)
            data = contents[tensor["name"]]
            result[tensor["name"]] = _get(data, shape, strides_of(shape, 0)[0], _kind(tensor))
    return result


def launch_of(
    sidecar: Mapping[str, Any],
    inputs: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, float],
    *,
    sizes: Mapping[str, int],
    initial: Mapping[str, NDArray[Any]],
    padding: int = 0,
) -> Launch | None:
    """The launch of a call as the checker takes it; None where there is no tile."""
    lengths = axis_lengths(sidecar, inputs, sizes)
    held: dict[str, Tensor] = {}
    contents: dict[str, NDArray[np.uint8]] = {}
    strides: dict[str, tuple[int, ...]] = {}
    for tensor in sidecar["tensors"]:
        name, kind = tensor["name"], _kind(tensor)
        shape = shape_of(tensor, lengths)
        strides[name], count = strides_of(shape, padding)
        # A tensor without elements has memory too: lanes without an element read its first bytes.
        count = count if 0 not in shape else max(count, 16)
        count += count % 2 if tensor.get("whole_words") else 0
        data = np.full(max(1, count) * SIZES[kind], FILL, np.uint8)
        values = inputs.get(name) if tensor["access"] != "out" else initial.get(name)
        if values is not None and 0 not in shape:
            _put(data, np.broadcast_to(np.asarray(values), shape), strides[name], kind)
        role = "in" if tensor["access"] != "out" else "inout"
        held[name] = Tensor(name=name, shape=(max(1, count),), dtype=kind, role=role)
        contents[name] = data
    params = tuple(_parameter(a, strides, lengths, scalars) for a in sidecar["arguments"])
    groups = grid_of(sidecar["grid"], lengths)
    x, y, z = sidecar["block_size"]
    if not groups:
        return None
    return Launch(
        grid=(groups, 1, 1), block=(x, y, z), params=params, tensors=held, contents=contents
    )


def _kind(tensor: Mapping[str, Any]) -> str:
    """The element type as the checker calls it."""
    dtype: str = tensor["dtype"]
    return _KINDS.get(dtype, dtype)


def run_launch(
    assembly: str,
    launch: Launch,
    order: str = "forward",
    seed: int = 0,
    *,
    max_steps: int = MAX_STEPS,
) -> tuple[dict[str, NDArray[np.uint8]], int]:
    """Memory after a launch, by tensor, and the instructions that ran."""
    try:
        kernel = read_kernel(assembly, None)
        memory, addresses = place_tensors(kernel, launch, seed)
        block = block_of(kernel, launch)
        arguments, _ = pack_arguments(kernel, launch, addresses, block)
        findings = Findings(launch.described())
        settings = Settings(axioms={}, order=order, seed=seed, max_steps=max_steps)
        machine = Machine(kernel, memory, settings, findings)
        machine.run(make_groups(kernel, launch, block, memory, arguments))
        machine.finish(machine.unordered(), dead=False)
    except CheckError as error:
        parts = {"where": error.where, "why": error.why, "fix": error.fix}
        raise NotExecutedError(error.what, **parts) from None
    bad = [f for f in findings.all() if not f.axiom]
    if bad:
        raise ExecutionError(f"{bad[0].kind.value}: {bad[0].code}", why=bad[0].why, fix=bad[0].fix)
    return {name: memory.contents(name) for name in launch.tensors}, machine.steps


def axis_lengths(
    sidecar: Mapping[str, Any], inputs: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Sizes of axes, from the inputs and what is given."""
    result = dict(sidecar["fixed_sizes"]) | dict(sizes)
    for tensor in sidecar["tensors"]:
        if tensor["name"] not in inputs:
            if tensor["access"] != "out":
                raise ConfigError(f"input '{tensor['name']}' is not given", where="execute")
            continue
        shape = np.shape(inputs[tensor["name"]])
        if len(shape) != len(tensor["axes"]):
            raise ConfigError(
                f"'{tensor['name']}' has {len(shape)} axes",
                where="execute",
                fix=f"an array of {len(tensor['axes'])} axes",
            )
        for axis, size in zip(tensor["axes"], shape, strict=True):
            own = size - (tensor["access"] == "starts")
            if axis["per"] == 1 and result.setdefault(axis["name"], own) != own:
                raise ConfigError(
                    f"axis '{axis['name']}' of '{tensor['name']}' has {own} elements, elsewhere "
                    f"{result[axis['name']]}",
                    where="execute",
                )
    return result


def shape_of(tensor: Mapping[str, Any], lengths: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor for these sizes."""
    missing = [a["name"] for a in tensor["axes"] if a["name"] not in lengths]
    if missing:
        raise ConfigError(
            f"the size of axis '{missing[0]}' is not known",
            where=tensor["name"],
            fix=f"sizes={{'{missing[0]}': ...}}",
        )
    more = int(tensor["access"] == "starts")
    return tuple(-(-lengths[a["name"]] // a["per"]) + more for a in tensor["axes"])


def strides_of(shape: tuple[int, ...], padding: int) -> tuple[tuple[int, ...], int]:
    """Strides in elements of rows with padding between them, and elements in all."""
    strides, step = [], 1
    for i, size in enumerate(reversed(shape)):
        strides.append(step)
        step *= max(1, size)
        step += padding if i == 0 and len(shape) > 1 else 0
    return tuple(reversed(strides)), step


def _places(shape: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[np.int64]:
    at = np.zeros(shape, np.int64)
    for i, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        along = [1] * len(shape)
        along[i] = size
        at = at + (np.arange(size) * stride).reshape(along)
    return at


def _put(
    data: NDArray[np.uint8], values: NDArray[Any], strides: tuple[int, ...], kind: str
) -> None:
    at = _places(values.shape, strides).ravel()
    size = SIZES[kind]
    raw = encode(np.ascontiguousarray(values).ravel(), kind).view(np.uint8).reshape(-1, size)
    data.reshape(-1, size)[at] = raw


def _get(
    data: NDArray[np.uint8], shape: tuple[int, ...], strides: tuple[int, ...], kind: str
) -> NDArray[Any]:
    at = _places(shape, strides).ravel()
    raw = np.ascontiguousarray(data.reshape(-1, SIZES[kind])[at]).ravel()
    return decode(raw, kind).reshape(shape)


def _parameter(
    argument: Mapping[str, Any], strides: Mapping[str, tuple[int, ...]],
    lengths: Mapping[str, int], scalars: Mapping[str, float],
) -> Param:  # fmt: skip
    kind, of = argument["kind"], argument["of"]
    match argument["what"]:
        case "tensor":
            return Param(kind="pointer", tensor=of)
        case "stride":
            return Param(kind=kind, value=strides[of][argument["axis"]])
        case "size":
            if of not in lengths:
                raise ConfigError(
                    f"the size of axis '{of}' is not known", where="execute", fix="sizes={...}"
                )
            return Param(kind=kind, value=lengths[of])
        case _:
            if of not in scalars:
                raise ConfigError(f"scalar '{of}' is not given", where="execute")
            return Param(kind=kind, value=scalars[of])
