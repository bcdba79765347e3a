"""Compiled kernels executed on the CPU beside their NumPy meaning."""

from dataclasses import dataclass

import numpy as np

from warploom.codegen.amdgcn.tile_ir.execute import execute
from warploom.codegen.amdgcn.tile_ir.trial import ALLOWED, error_of, inner_error
from warploom.compiler.amd_tiles import compile_tile_kernel
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType


@dataclass(frozen=True)
class Trial:
    """One execution: the program, its results, what NumPy expects, and what is too far apart."""

    program: object
    outputs: dict
    wanted: dict
    wrong: list


def try_kernel(
    kernel, arrays, scalars=None, *, sizes=None, extents=None, padding=3, order="forward",
    program=None, pipelined=False,
):  # fmt: skip
    """Compile, execute and compare. ``arrays``: inputs by name."""
    program = program or compile_tile_kernel(kernel, extents=extents, pipelined=pipelined)
    given = [t for t in kernel.tensors if t.access is not Access.OUT]
    outputs = [t for t in kernel.tensors if t.access is Access.OUT]
    added = {t.name: np.zeros(1) for t in outputs}
    done = execute(
        program.assembly, program.sidecar(), arrays, scalars or {}, sizes=sizes or {},
        padding=padding, order=order, initial=added,
    )  # fmt: skip
    inside = {a.name for t in given for a in t.axes if a.per == 1}
    with np.errstate(all="ignore"):
        wanted = kernel.reference(
            *(arrays[t.name] for t in given),
            exact=False,
            extents=dict(program.plan.extents),
            sizes={n: s for n, s in (sizes or {}).items() if n not in inside},
            **(scalars or {}),
        )
    wanted = wanted if len(outputs) > 1 else (wanted,)
    wrong = []
    for tensor, want in zip(outputs, wanted, strict=True):
        rate = max(ALLOWED.get(tensor.dtype.value, 0.0), inner_error(kernel))
        error, allowed = error_of(done.outputs[tensor.name], want, rate)
        if error > allowed:
            wrong.append(f"{tensor.name}: {error:g}, allowed {allowed:g}")
    names = [t.name for t in outputs]
    return Trial(program, done.outputs, dict(zip(names, wanted, strict=True)), wrong)


def made_for(text, types, sizes, constants=None, without=()):
    """A kernel of a text, with its whole axes of these sizes."""
    kinds = dict(types) if isinstance(types, dict) else text.spell(types, without)
    constants = constants or {}
    whole = text.whole_axes(kinds, constants=constants, without=without)
    own = {a: sizes[a] for a in whole}
    return text.specialise(kinds, sizes=own, constants=constants, without=without)


def random_arrays(kernel, sizes, given=None, scale=0.5, seed=0):
    """Inputs of a kernel by name."""
    rng = np.random.default_rng(seed)
    found = {}
    for tensor in kernel.tensors:
        shape = [-(-sizes[a.name] // a.per) for a in tensor.axes]
        if tensor.name in (given or {}):
            found[tensor.name] = np.asarray(given[tensor.name])
        elif tensor.access is Access.OUT:
            continue
        elif tensor.dtype.is_float:
            found[tensor.name] = rounded(rng.normal(scale=scale, size=shape), tensor.dtype)
        elif tensor.dtype is DType.I8:
            found[tensor.name] = rng.integers(-128, 128, shape)
        else:
            found[tensor.name] = rng.integers(0, 4, shape)
    return found
