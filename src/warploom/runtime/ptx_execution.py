"""Kernels that have no module, executed as machine code: their PTX, by the checker's machine.

What is executed is what NVRTC or nvcc makes of the emitted CUDA, with the values of a call. The
machine looks for races and broken rules on the way; a launch that is not clean is an
``InterpreterError``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.check.axioms import resolve
from warploom.check.formats import encode
from warploom.check.ptx.check import check_ptx
from warploom.codegen.cuda.block import block_plans, emit_block
from warploom.codegen.cuda.tile.simt import emit_simt
from warploom.codegen.cuda.tile.simt_layout import has_products
from warploom.codegen.cuda.tile.source import Source
from warploom.compiler.compiled import Compiled, block_form
from warploom.compiler.described import described
from warploom.errors import InterpreterError
from warploom.ir.tile import Access, DType, Kernel
from warploom.passes.kernel_config import KernelConfig, config_of
from warploom.runtime.check_launch import launch_of_binary, ptx_of

Array = Any  # NumPy's own
BUDGET = 200_000_000  # warp instructions
_ORDERS = {"in_order": "forward", "random": "random", "adversarial": "reverse"}
_BYTES = {DType.BOOL: "u8", DType.I4: "u8"}


def unpipelined(compiled: Compiled) -> tuple[Kernel, Source, KernelConfig]:
    """The CUDA source of a kernel that is not pipelined; ``KernelError`` where there is none."""
    kernel = block_form(compiled.kernel)
    if has_products(kernel):
        source, extents = emit_block(next(block_plans(kernel, compiled.sizes, compiled.pins)))
    else:
        kernel = compiled.simplified
        source, extents = emit_simt(kernel, compiled.sizes, compiled.pins)
    return kernel, source, config_of(kernel, consumers=0, **extents)


def execute_ptx(
    made: tuple[Kernel, Source, KernelConfig],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, float],
    sizes: Mapping[str, int],
    *,
    timing: str,
    seed: int,
) -> dict[str, Array]:
    """The outputs by name; ``arrays`` holds inputs, and what outputs hold before."""
    kernel, source, config = made
    outputs = [t for t in kernel.tensors if t.access is Access.OUT]
    if any(0 in _shape(t, sizes) for t in outputs):
        return {t.name: _before(t, arrays, sizes) for t in outputs}
    binary = described(kernel, source, config, b"")
    contents = {}
    for tensor in kernel.tensors:
        if tensor.name in arrays:
            held = np.asarray(arrays[tensor.name])
            contents[tensor.name] = encode(held, _BYTES.get(tensor.dtype, tensor.dtype.value))
        elif tensor.access is Access.OUT and not tensor.dtype.is_float:
            contents[tensor.name] = _nobody_wrote(tensor, sizes)
    launch = launch_of_binary(binary, sizes, scalars=scalars, contents=contents, ctas=None)
    found: dict[str, Array] = {}
    report = check_ptx(
        ptx_of(source.text),
        launch,
        axioms=resolve(None),
        orders=(_ORDERS[timing],),
        seed=seed,
        budget=BUDGET,
        outputs=found,
    )
    if not report.clean:
        raise InterpreterError(
            f"the machine code of kernel {kernel.name} is {report.verdict.value}",
            where=f"sizes {dict(sizes)}",
            why=report.text()[:2000],
            fix="warploom check shows the whole report; this is a defect of the compiler",
        )
    return {t.name: _decoded(found[t.name], t.dtype) for t in outputs}


def _shape(tensor: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:  # noqa: ANN401
    return tuple(-(-sizes[a.name] // a.per) for a in tensor.axes)


def _before(tensor: Any, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:  # noqa: ANN401
    kind = np.float32 if tensor.dtype.is_float else np.int32
    return np.asarray(arrays.get(tensor.name, np.zeros(_shape(tensor, sizes), kind)))


def _nobody_wrote(tensor: Any, sizes: Mapping[str, int]) -> Array:  # noqa: ANN401
    """The least integer, as for other kernels."""
    bits = tensor.dtype.bits
    many = int(np.prod(_shape(tensor, sizes)))
    least = np.int32(-(2**31)) if bits == 32 else np.int8(-128)
    return np.frombuffer(np.full(many, least).tobytes(), np.uint8)


def _decoded(array: Array, dtype: DType) -> Array:
    if dtype is DType.BOOL:
        return array != 0
    return array.astype(np.float32) if dtype.is_float else array.astype(np.int32)
