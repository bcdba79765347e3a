# ruff: noqa: F821 (axes are named by strings)
"""Kernels without a loop are printed from their module: edits of it are other code, or refused."""

from dataclasses import replace

import numpy as np
import pytest

import warploom as wl
from tests.ir.modules import edited
from tests.runtime.test_arithmetic_from_module import mutants, vectors
from warploom.codegen.cuda.tile.rows import emit_rows
from warploom.compiler.compiled import Compiled
from warploom.errors import BackendError
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import lift
from warploom.ir.serialize import from_json, to_json
from warploom.ir.tile import Kernel
from warploom.ir.types import DType
from warploom.kernels.attention_grad_ends import converted, prepared, summed


@wl.kernel
def normal_rows(
    x: wl.In["b", "m", "n"],
    weight: wl.In["n"],
    shift: wl.In["b2", "n", wl.f32],
    out: wl.Out["b", "m", "n"],
    mean: wl.Out["b", "m", wl.f32],
    *,
    eps: float,
):
    b, m = wl.tile(out, whole="n")
    v = x[b, m].to(wl.f32)
    mu = v.sum(axis=1) / x.n
    d = v - mu
    out[b, m] = d * wl.rsqrt((d * d).sum(axis=1) / x.n + eps) * weight[:] + shift[b // 2]
    mean[b, m] = mu


@wl.kernel
def known_names(x: wl.In["m", "n", wl.u32], out: wl.Out["m", "n", wl.u32]):
    m = wl.tile(out, whole="n")
    pos_m = x[m]
    out[m] = pos_m * 3 + (pos_m >> 1)


def module_of(name: str) -> KernelModule:
    types = {"bf16": DType.BF16}
    kernel = {
        "prepared": lambda: prepared.specialise(
            {"do": types["bf16"], "o": types["bf16"]}, sizes={"d": 128}
        ),
        "converted": lambda: converted.specialise({"out": types["bf16"]}, sizes={"d": 64}),
        "summed": lambda: summed.specialise(
            {"out": types["bf16"]}, sizes={"d": 256}, constants={"each": 3}
        ),
        "normal_rows": lambda: normal_rows.specialise(normal_rows.spell("bf16"), sizes={"n": 128}),
    }[name]()
    return Compiled(kernel).row_module


KERNELS = ("prepared", "converted", "summed", "normal_rows")


@pytest.mark.parametrize("name", KERNELS)
def test_every_edit_is_printed_or_refused(name: str) -> None:
    right = module_of(name)
    assert from_json(to_json(right)) == right
    text = emit_rows(right).text
    missed, tried = [], 0
    for vector in vectors(right):
        for n, op in enumerate(vector.body):
            for label, other in mutants(op):
                body = (*vector.body[:n], other, *vector.body[n + 1 :])
                tried += 1

                def edit(value: object, of: ops.Vector = vector, body=body) -> object:
                    if isinstance(value, Kernel):
                        return value
                    return replace(of, body=body) if value == of else None

                if other == op:  # 3.5 as a whole number
                    continue
                wrong = edited(right, edit)
                assert wrong != right
                try:
                    same = emit_rows(wrong).text == text
                except BackendError:
                    continue
                if same:
                    missed.append((vector.op, n, label))
    assert tried >= 5
    assert not missed


@pytest.mark.parametrize("name", KERNELS)
def test_rows_that_lie_elsewhere_are_refused(name: str) -> None:
    right = module_of(name)

    def shifted(value: object) -> object:
        if isinstance(value, Kernel):
            return value
        if isinstance(value, ops.FragmentLayout):
            return replace(value, col=lift(value.col + 8))
        return None

    with pytest.raises(BackendError, match="not printed"):
        emit_rows(edited(right, shifted))


def test_a_value_of_the_authors_is_no_position() -> None:
    """It had the name that positions of rows had: the interpreter stored to another row."""
    x = np.random.default_rng(0).integers(0, 2**32, (19, 128), dtype=np.uint32)
    found = known_names.interpret(x)
    assert np.array_equal(found, x * 3 + (x >> 1))
