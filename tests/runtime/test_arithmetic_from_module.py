"""Vector arithmetic is printed from the module: every single edit of it changes the source, or is
refused because the printed loops cannot express it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.ir.modules import edited
from tests.mbarrier.samples import lowered
from warploom.codegen.cuda.tile.source import emit_pipelined
from warploom.errors import BackendError
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import lift
from warploom.ir.operations import StepLoop
from warploom.ir.tile import Kernel
from warploom.ir.types import DType, Fn
from warploom.passes.stated_module import stated_module

KERNELS = (
    "gemm", "swiglu", "rms_gemm", "attention", "attention_grad", "packed", "paged", "scan",
    "grouped", "block_scaled", "int4_gemm",
)  # fmt: skip
COMMUTE = (Fn.ADD, Fn.MUL, Fn.MAX, Fn.MIN, Fn.AND, Fn.OR)
OTHER = {DType.F32: DType.I32, DType.I32: DType.F32, DType.BF16: DType.F16, DType.F16: DType.BF16}


def vectors(module: KernelModule) -> Iterator[ops.Vector]:
    for role in module.roles:
        for body in (*(x.body for x in role.earlier), role.tiles.body):
            for statement in body:
                for op in statement.body if isinstance(statement, StepLoop) else (statement,):
                    if isinstance(op, ops.Vector):
                        yield op


def mutants(op: ops.VectorOp) -> Iterator[tuple[str, ops.VectorOp]]:
    """Wrong versions of one operation."""
    match op:
        case ops.VectorConst():
            wrong = not op.value if op.dtype is DType.BOOL else 3.5 if op.value != 3.5 else 4.5
            yield "number", replace(op, value=int(wrong) if op.dtype is DType.I32 else wrong)
        case ops.VectorScalar():
            return
        case ops.VectorIndex():
            yield "index", replace(op, value=lift(op.value + 3))
        case ops.VectorRegister():
            yield (
                "register",
                replace(op, register=lift(5 if op.register is None else op.register + 1)),
            )
        case ops.VectorSlot():
            yield "column of a slot", replace(op, col=lift(op.col + 1))
            yield "row of a slot", replace(op, row=lift(op.row + 1))
        case ops.VectorLoad():
            yield "load", replace(op, at=(*op.at[:-1], lift(op.at[-1] + 3)))
            if op.predicate is not None:
                yield "mask", replace(op, predicate=None)
        case ops.VectorPointwise():
            if len(op.args) == 2:
                yield "function", replace(op, fn=Fn.SUB if op.fn is not Fn.SUB else Fn.ADD)
            if len(set(op.args)) > 1 and op.fn not in COMMUTE:
                yield "order", replace(op, args=(*op.args[:-2], op.args[-1], op.args[-2]))
            if op.fn is Fn.CAST and op.dtype in OTHER:
                yield "conversion", replace(op, dtype=OTHER[op.dtype])
            if len(op.args) == 1 and op.fn is not Fn.CAST:
                yield "function", replace(op, fn=Fn.ABS if op.fn is not Fn.ABS else Fn.NEG)
        case ops.VectorReduce():
            yield "reduction", replace(op, fn=Fn.MIN if op.fn is not Fn.MIN else Fn.MAX)
            yield "lanes", replace(op, lanes=(1,))
            yield "over", replace(op, over=op.over[1:] if op.over else ("g",))
        case ops.VectorSet():
            yield "register that is set", replace(op, register=lift(1))
        case ops.VectorStage():
            yield "staged type", replace(op, dtype=OTHER[op.dtype])
            yield "staged row", replace(op, row=lift(op.row + 1))
            yield "staged column", replace(op, col=lift(op.col + 2))
        case ops.VectorStore():
            yield "stored type", replace(op, dtype=OTHER[op.dtype])
            yield "place", replace(op, at=(*op.at[:-1], lift(op.at[-1] + 8)))
            yield "mask", replace(op, predicate=None)
        case ops.VectorPut():
            yield "place in a slot", replace(op, row=lift(op.row + 1))
            yield "mask", replace(op, predicate=lift(op.predicate & op.predicate))


@pytest.mark.parametrize("name", KERNELS)
def test_every_edit_of_arithmetic_is_printed_or_refused(name: str) -> None:
    made = lowered(name)
    right = stated_module(made.kernel, made)
    text = emit_pipelined(right).text
    tried: dict[tuple[str, str, str], ops.VectorOp] = {}
    for vector in vectors(right):
        for op in vector.body:
            for label, _ in mutants(op):
                key = getattr(op, "result", None) or f"-> {getattr(op, 'value', '')}"
                tried.setdefault((vector.op, key, label), op)
    missed = []
    for (work, key, label), _ in list(tried.items())[:: max(1, len(tried) // 60)]:

        def edit(value: object, work: str = work, key: str = key, label: str = label) -> object:
            if isinstance(value, Kernel):
                return value
            if not isinstance(value, ops.Vector) or value.op != work:
                return None
            body = []
            for op in value.body:
                mine = getattr(op, "result", None) or f"-> {getattr(op, 'value', '')}"
                body.append(dict(mutants(op)).get(label, op) if mine == key else op)
            return replace(value, body=tuple(body))

        wrong = edited(right, edit)
        assert wrong != right
        try:
            same = emit_pipelined(wrong).text == text
        except BackendError:
            continue
        if same:
            missed.append((work, key, label))
    assert not missed
