"""Tile kernels on gfx950: a product with a pointwise tail, gated and emulated."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import warploom as wl
from warploom.codegen.amdgcn import ElementType, emit_kernel, gemm_tile
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.emulate import (
    FP8,
    STARVED,
    emulate_gemm,
    emulate_launch,
    encode,
    integer_matrix,
    random_timing,
)
from warploom.codegen.amdgcn.sidecar import launch_plan
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.errors import BackendError
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import grouped
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.swiglu import swiglu

SMALL = {
    "bf16": ("fourwave", (64, 64, 32), (16, 16, 32)),
    "f16": ("fourwave", (64, 64, 32), (16, 16, 32)),
    "e4m3": ("fourwave", (64, 64, 128), (16, 16, 128)),
}
NAMES = {"bf16": "bf16", "f16": "fp16", "e4m3": "fp8"}
ROUNDING = {"f32": 2e-6, "bf16": 2.0**-8, "f16": 2.0**-11, "e4m3": 2.0**-4}


@wl.kernel
def two_outputs(
    a: wl.In["m", "k"],
    b: wl.In["n", "k"],
    rows: wl.In["m", wl.f32],
    out: wl.Out["m", "n"],
    kept: wl.Out["m", "n"],
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    kept[m, n] = wl.tanh(acc * 0.05) + rows[m]
    lower = wl.index(n) <= wl.index(m)
    out[m, n] = wl.where(lower, wl.exp(-wl.abs(acc) * 0.01), wl.maximum(acc, 0.0))


def gelu(x):
    return 0.5 * x * (1.0 + wl.erf(x * 0.70710678))


def silu(x):
    return x / (1.0 + wl.exp(-x))


def emitted(kernel, dtype, schedule=None):
    name, block, mma = schedule or SMALL[dtype]
    ready = ready_kernel(name, block, ElementType(NAMES[dtype]), mma=mma)
    return emit_kernel(ready.document, ready.tile, text=gemm_tile_kernel(kernel), ragged_k=True)


def stored(array, dtype):
    """Bytes of an array in memory, and the values they stand for."""
    if dtype == "f32":
        return np.ascontiguousarray(array, np.float32).view(np.uint8).ravel(), array
    data, values = encode(np.ascontiguousarray(array, np.float32), NAMES[dtype])
    return data.ravel(), values


def loaded(data, dtype, shape):
    if dtype == "f32":
        return data.view(np.float32).reshape(shape)
    if dtype == "e4m3":
        return FP8[data].reshape(shape)
    if dtype == "f16":
        return data.view(np.float16).astype(np.float32).reshape(shape)
    return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)


def run(kernel, made, sizes, timing=STARVED, **scalars):
    """The outputs of an emulated launch beside those of the NumPy meaning."""
    rng = np.random.default_rng(sum(sizes.values()))
    plan = launch_plan(made.sidecar, sizes["m"], sizes["n"], sizes["k"])
    inputs, tensors = [], {}
    text = made.plan.text
    for tensor in kernel.tensors:
        shape = tuple(sizes[a.name] for a in tensor.axes)
        spelled = {text.a: "mat_a", text.b: "mat_b"}.get(tensor.name, f"mat_{tensor.name}")
        if tensor.access == "in":
            data, values = stored(rng.standard_normal(shape).astype(np.float32), tensor.dtype)
            inputs.append(values)
        else:
            data = np.full(int(np.prod(shape)) * tensor.dtype.bits // 8, 0x7F, np.uint8)
        tensors[spelled] = data
    numbers = {f"dim_{axis}": sizes[axis] for axis in "mnk"}
    numbers |= {f"scalar_{name}": value for name, value in scalars.items()}
    after = emulate_launch(made.assembly, tensors, numbers, grid=plan.grid[:2], timing=timing)
    want = kernel.reference(*inputs, **scalars)
    outputs = [t for t in kernel.tensors if t.access == "out"]
    want = want if isinstance(want, tuple) else (want,)
    for tensor, expected in zip(outputs, want, strict=True):
        shape = tuple(sizes[a.name] for a in tensor.axes)
        got = loaded(after[f"mat_{tensor.name}"], tensor.dtype, shape)
        scale = max(1.0, float(np.abs(expected).max()))
        error = np.abs(got - np.asarray(expected, np.float32)).max() / scale
        assert error < 2 * ROUNDING[tensor.dtype] + 1e-5, (tensor.name, error)


PLAIN = {"a": "bf16", "b": "bf16", "out": "bf16", "bias": "f32", "residual": "f16"}
CASES = {
    "bf16, bias, residual, gelu": (PLAIN, gelu, (70, 90, 136)),
    "f16 to f32, silu": ({"a": "f16", "b": "f16", "out": "f32"}, silu, (64, 65, 8)),
    "fp8 to fp8": ({"a": "e4m3", "b": "e4m3", "out": "e4m3"}, None, (33, 130, 400)),
    "bf16 to f16, mixed precision": ({"a": "bf16", "b": "bf16", "out": "f16"}, None, (2, 120, 16)),
    "bf16 to bf16, one row": ({"a": "bf16", "b": "bf16", "out": "bf16"}, None, (1, 64, 1000)),
}


@pytest.mark.parametrize("case", CASES)
def test_gemm_with_its_tail_is_exact_in_the_gate_and_right_in_the_emulator(case):
    types, activation, (m, n, k) = CASES[case]
    left_out = {"bias", "residual"} - set(types)
    constants = {"activation": activation} if activation else {}
    kernel = gemm.specialise(types, constants=constants, without=left_out)
    made = emitted(kernel, types["a"])
    assert made.gate.exact
    assert made.gate.resources.spills == 0
    for timing in (STARVED, random_timing(3)):
        run(kernel, made, {"m": m, "n": n, "k": k}, timing, alpha=0.5)


def test_several_outputs_rows_and_indices():
    types = {"a": "bf16", "b": "bf16", "out": "f16", "kept": "f32"}
    kernel = two_outputs.specialise(types)
    made = emitted(kernel, "bf16")
    run(kernel, made, {"m": 100, "n": 70, "k": 72})


@pytest.mark.parametrize("k", [8, 24, 64, 72, 128, 200, 256, 320])
def test_any_k_of_whole_chunks(k):
    kernel = gemm.specialise({"a": "bf16", "b": "bf16", "out": "f32"}, without={"bias", "residual"})
    run(kernel, _plain_f32(kernel), {"m": 64, "n": 64, "k": k}, alpha=1.0)


_MADE = {}


def _plain_f32(kernel):
    if "plain" not in _MADE:
        _MADE["plain"] = emitted(kernel, "bf16")
    return _MADE["plain"]


@pytest.mark.parametrize("schedule", ["single_buffer", "pingpong"])
def test_other_schedules_take_a_text_and_any_k(schedule):
    block = (128, 128, 64) if schedule == "single_buffer" else (256, 256, 64)
    types = {"a": "bf16", "b": "bf16", "out": "bf16", "bias": "bf16"}
    kernel = gemm.specialise(types, without={"residual"})
    made = emitted(kernel, "bf16", (schedule, block, None))
    assert made.gate.exact
    run(kernel, made, {"m": 40, "n": 50, "k": 264}, alpha=2.0)


def test_a_k_that_no_chunk_divides_is_refused_with_the_size_to_pad_to():
    kernel = gemm.specialise({"a": "bf16", "b": "bf16", "out": "f32"}, without={"bias", "residual"})
    made = _plain_f32(kernel)
    with pytest.raises(BackendError, match="pad K with zeros to 24"):
        launch_plan(made.sidecar, 64, 64, 20)


BF16 = {"q": "bf16", "k": "bf16", "v": "bf16", "x": "bf16", "w": "bf16", "out": "bf16"}
REFUSED = {
    "attention": (attention, "grid of groups, batches"),
    "grouped": (grouped, "grid of groups, batches"),
    "swiglu": (swiglu, "several carried values"),
    "rms_gemm": (rms_gemm, "several carried values"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_kernels_are_refused_at_the_authors_line(name):
    text, words = REFUSED[name]
    signature = text.signature
    without = {t.name for t in signature.tensors if t.optional}
    types = {t.name: "bf16" for t in signature.tensors if t.dtype is None and t.name not in without}
    whole = text.whole_axes(types, without=without)
    kernel = text.specialise(types, sizes=dict.fromkeys(whole, 128), without=without)
    with pytest.raises(BackendError, match=words) as error:
        gemm_tile_kernel(kernel)
    assert ".py:" in error.value.where


def test_a_tile_of_another_type_is_refused():
    kernel = gemm.specialise({"a": "bf16", "b": "bf16", "out": "f32"}, without={"bias", "residual"})
    ready = ready_kernel("fourwave", (64, 64, 32), ElementType.FP16, mma=(16, 16, 32))
    with pytest.raises(BackendError, match="multiplies bf16"):
        emit_kernel(ready.document, ready.tile, text=gemm_tile_kernel(kernel))
    assert gemm_tile(64, 64, 32, ElementType.FP16).element is ElementType.FP16


def test_a_grid_of_two_by_four_sub_tiles():
    """The schedule of the first tutorial: B in four sub-tiles, A in two."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "wide_kernel.py"))
    document = wl.compile_schedule(example["Wide"](), sync=wl.SyncPolicy.PROVEN_WEAKEST).document()
    made = emit_kernel(document, gemm_tile(256, 256, 64, ElementType.BF16, waves=(2, 4)))
    assert made.plan.subtiles == (2, 4)
    assert made.gate.exact
    result = emulate_gemm(
        made.assembly,
        integer_matrix(40, 256, 0),
        integer_matrix(50, 256, 1),
        dtype="bf16",
        block=(256, 256),
        timing=STARVED,
    )
    assert result.correct
