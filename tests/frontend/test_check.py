"""The judge of kernels passes what the reader makes and catches every changed op."""

from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.frontend.random_kernels import random_kernels
from tests.frontend.well_formed import check_kernel
from warploom import KernelError
from warploom.frontend.simplify import REWRITES, simplify
from warploom.ir.tile import Dim, DType, Fn, Loop, Pointwise, Store
from warploom.kernels.attention import attention, packed
from warploom.kernels.attention_grad import attention_grad
from warploom.kernels.block_scaled import block_scaled
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import grouped
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.swiglu import swiglu

SHIPPED = [
    attention, packed, attention_grad, block_scaled, gemm, grouped, rms_gemm, swiglu,
]  # fmt: skip
SETTINGS = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def shipped(text):
    types = {t.name: "bf16" for t in text.signature.tensors if t.dtype is None}
    return text.specialise(
        types, sizes={"d": 64} if "attention" in text.function.__module__ else {}
    )


@pytest.mark.parametrize("text", SHIPPED, ids=lambda t: t.name)
def test_shipped_kernels_are_well_formed(text):
    kernel = shipped(text)
    check_kernel(kernel)
    for rewrite in REWRITES.values():
        kernel = rewrite(kernel)
        check_kernel(kernel)


@SETTINGS
@given(random_kernels())
def test_random_kernels_are_well_formed(case):
    check_kernel(case.kernel)
    check_kernel(simplify(case.kernel))


def damaged(kernel):
    """Kernels with one op changed, each surely wrong."""
    for at, op in enumerate(kernel.ops):
        for new in _damaged_op(kernel, op):
            yield replace(kernel, ops=(*kernel.ops[:at], *new, *kernel.ops[at + 1 :]))


def _damaged_op(kernel, op):
    if isinstance(op, Loop):
        for i, inner in enumerate(op.body):
            for new in _damaged_op(kernel, inner):
                yield (replace(op, body=(*op.body[:i], *new, *op.body[i + 1 :])),)
        for i, c in enumerate(op.carried):
            wrong = replace(c, last="nothing")
            yield (replace(op, carried=(*op.carried[:i], wrong, *op.carried[i + 1 :])),)
        yield (replace(op, var=kernel.grid.vars[0]),)
        return
    for field in fields(op):
        value = getattr(op, field.name)
        if field.name in ("arg", "a", "b", "value") and isinstance(value, str):
            yield (replace(op, **{field.name: "nothing"}),)
        if field.name == "args":
            yield (replace(op, args=("nothing", *value[1:])),)
            yield (replace(op, args=(*value, value[0])),)
    if isinstance(op, Store):
        yield (replace(op, at=op.at[:-1]),)
        return
    yield (op, op)
    if not (isinstance(op, Pointwise) and op.fn is Fn.CAST):
        yield (replace(op, result=replace(op.result, dtype=DType.I8)),)
    yield (replace(op, result=replace(op.result, dims=(*op.result.dims, Dim("nowhere")))),)


@pytest.mark.parametrize("text", SHIPPED, ids=lambda t: t.name)
def test_damage_is_found(text):
    kernel = simplify(shipped(text))
    cases = list(damaged(kernel))
    assert len(cases) > 20
    missed = []
    for case in cases:
        try:
            check_kernel(case)
        except KernelError:
            continue
        missed.append(case)
    assert not missed, str(missed[0])


@SETTINGS
@given(random_kernels(), st.data())
def test_dropping_an_op_that_is_read_is_found(case, data):
    kernel = simplify(case.kernel)
    at = data.draw(st.integers(0, len(kernel.ops) - 1))
    if isinstance(kernel.ops[at], Store | Loop):
        return
    with pytest.raises(KernelError, match="read before it is made"):
        check_kernel(replace(kernel, ops=(*kernel.ops[:at], *kernel.ops[at + 1 :])))
