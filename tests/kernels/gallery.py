"""The kernels of ``examples/gallery`` executed in each of the ways there are."""

from __future__ import annotations

import numpy as np

import tests.host_cuda as hc
from warploom.check import check
from warploom.check.formats import encode
from warploom.compiler.check_launch import launch_of_binary
from warploom.compiler.cubin import ptx_of
from warploom.compiler.described import binary_of
from warploom.frontend.pointwise import as_declared, rounded
from warploom.ir.tile import Access, DType


def inputs(case, seed=0):
    """Arrays by name, of the values that their types have."""
    made = case.make(np.random.default_rng(seed))
    kinds = types_of(case)
    return {
        n: rounded(np.asarray(x), DType(kinds[n])) if n in kinds else np.asarray(x)
        for n, x in made.items()
    }


def types_of(case):
    text = case.kernel
    stated = {t.name: t.dtype for t in text.signature.tensors if t.dtype is not None}
    return stated | {n: DType(d) for n, d in text.spell(case.types).items()}


def sizes_of(case, arrays):
    found = dict(case.sizes)
    for t in case.kernel.signature.tensors:
        if t.name in arrays:
            less = t.access is Access.STARTS
            for axis, n in zip(t.axes, np.shape(arrays[t.name]), strict=True):
                if axis.per == 1:
                    found.setdefault(axis.name, n - less)
    return found


def initial_of(case, sizes):
    found = {}
    for t in case.kernel.signature.outputs:
        if t.name in case.initial:
            shape = [-(-sizes[a.name] // a.per) for a in t.axes]
            found[t.name] = np.full(shape, case.initial[t.name])
    return found


def wanted(case, arrays):
    made = case.wanted(**arrays, **case.scalars)
    return made if isinstance(made, tuple) else (made,)


def near(case, found):
    """What differs, in words; '' where nothing does."""
    arrays = inputs(case)
    outputs = case.kernel.signature.outputs
    for t, one, other in zip(outputs, found, wanted(case, arrays), strict=True):
        got, want = np.asarray(one, np.float64), np.asarray(other, np.float64)
        if got.shape != want.shape:
            return f"{t.name} has shape {got.shape}, not {want.shape}"
        written = ~np.isnan(want)
        size = max(1e-6, np.abs(want[written]).max(initial=0.0))
        bad = ~(np.abs(got - want)[written] <= case.tolerance * size)
        if bad.any():
            worst = np.abs(got - want)[written].max()
            return f"{t.name}: {bad.sum()} of {bad.size} differ, up to {worst:.3g} of {size:.3g}"
    return ""


def tuple_of(made):
    return made if isinstance(made, tuple) else (made,)


def by_reference(case):
    arrays = inputs(case)
    sizes = sizes_of(case, arrays)
    known = {a.name for t in case.kernel.signature.inputs for a in t.axes if a.per == 1}
    made = case.kernel.reference(
        **arrays,
        types=types_of(case),
        sizes={a: n for a, n in sizes.items() if a not in known},
        initial=initial_of(case, sizes),
        **case.scalars,
        **case.choices,
    )
    return tuple_of(made)


def compiled(case, target=None):
    arrays = inputs(case)
    positive = {n for n, v in case.scalars.items() if v > 0}
    return case.kernel.compile(
        types_of(case),
        sizes=sizes_of(case, arrays),
        constants=case.choices,
        positive=positive,
        target=target,
    )


def on_host(case, seed=1):
    """The emitted CUDA, thread by thread on the host, beside poisoned bytes."""
    arrays = inputs(case)
    sizes = sizes_of(case, arrays)
    made = compiled(case)
    binary = binary_of(made)
    initial = initial_of(case, sizes)
    memories = []
    for t in binary.tensors:
        shape = [-(-sizes[a.name] // a.per) for a in t.axes]
        shape[0] += t.access is Access.STARTS
        if t.access is Access.OUT:
            memory = hc.Memory(t, shape, None)
            if t.name in initial:
                memory.raw[...] = hc.Memory(t, shape, initial[t.name]).raw
            else:
                memory.raw[...] = np.iinfo(memory.raw.dtype).max  # NaN, or -1
        else:
            memory = hc.Memory(t, shape, arrays[t.name])
        memories.append(memory)
    fault = hc.execute(binary, made.built.source, memories, case.scalars, grid=3, seed=seed)
    assert fault is None, fault
    assert all(m.untouched() for m in memories), "bytes outside the tensors were written"
    order = {t.name: m for t, m in zip(binary.tensors, memories, strict=True)}
    kinds = types_of(case)
    return tuple(
        as_declared(order[t.name].values(), kinds[t.name]) for t in case.kernel.signature.outputs
    )


def interpreted(case, target="h200"):
    """The module, or for MI355X the machine code, executed on the CPU."""
    arrays = inputs(case)
    sizes = sizes_of(case, arrays)
    known = {a.name for t in case.kernel.signature.inputs for a in t.axes if a.per == 1}
    made = case.kernel.interpret(
        **arrays,
        types=types_of(case),
        target=target,
        sizes={a: n for a, n in sizes.items() if a not in known},
        initial=initial_of(case, sizes),
        scalars=case.scalars,
        **case.choices,
    )
    return tuple_of(made)


def checked(case, **options):
    """The report on the PTX of the case's own launch, with the case's inputs."""
    made = compiled(case)
    arrays = inputs(case)
    sizes = sizes_of(case, arrays)
    binary = binary_of(made)
    held = arrays | initial_of(case, sizes)
    contents = {
        t.name: encode(held[t.name], "u8" if t.dtype is DType.BOOL else t.dtype.value)
        for t in binary.tensors
        if t.name in held
    }
    launch = launch_of_binary(
        binary, sizes, scalars=case.scalars, contents=contents, registers=made.registers
    )
    return check(ptx_of(made.cuda), launch, **options)
