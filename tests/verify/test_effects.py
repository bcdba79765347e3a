"""What operations of a module say of themselves is what they do, or it is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.ir.modules import edited
from tests.mbarrier.samples import lowered
from warploom.codegen.cuda.tile.source import emit_pipelined
from warploom.errors import BackendError
from warploom.interp.dataflow import verify_dataflow
from warploom.ir import KernelModule, operations as ops
from warploom.ir.expr import lift
from warploom.ir.module import TileLoop
from warploom.ir.operations import VectorKind
from warploom.ir.tile import Kernel
from warploom.kernels.grouped import grouped
from warploom.passes.stated_module import stated_module
from warploom.verify.coverage.effects import verify_effects
from warploom.verify.coverage.report import Finding

OUTWARD = (VectorKind.PUT, VectorKind.FILL, VectorKind.STORE, VectorKind.LEAVE)


def changed(found: KernelModule, kind: type, change: Any) -> KernelModule:
    def edit(value: Any) -> Any:
        if isinstance(value, Kernel):
            return value
        return change(value) if isinstance(value, kind) else None

    made: KernelModule = edited(found, edit)
    return made


def module(name: str) -> KernelModule:
    made = lowered(name)
    return stated_module(made.kernel, made)


def wrong(found: KernelModule) -> list[Finding]:
    return [x for x in verify_effects(found) if isinstance(x, Finding)]


@pytest.mark.parametrize("name", ["gemm", "attention", "attention_grad", "rms_gemm"])
def test_vector_work_of_another_kind_is_found_refused_or_printed(name: str) -> None:
    """What leaves registers, or does not, is the verifier's business; how registers are made is
    printed one way or another from the same operations. Nothing is left out in silence.
    """
    right = module(name)
    assert not wrong(right)
    kinds: dict[str, tuple[VectorKind, bool]] = {}
    changed(right, ops.Vector, lambda x: kinds.setdefault(x.op, (x.kind, bool(x.body))) and None)
    assert kinds
    for op, (kind, body) in kinds.items():
        for other in VectorKind:

            def edit(x: ops.Vector, op: str = op, other: VectorKind = other) -> ops.Vector:
                return replace(x, kind=other) if x.op == op else x

            made = changed(right, ops.Vector, edit)
            if other is kind:
                continue
            if body and (other in OUTWARD or kind in OUTWARD):
                assert wrong(made), (op, other)
                continue
            try:
                emit_pipelined(made)
            except BackendError:
                continue


def test_a_wait_amid_work_that_touches_the_slot_is_found() -> None:
    right = module("attention")
    found = changed(right, ops.Wait, lambda x: replace(x, amid=16) if x.side == "full" else x)
    assert found != right
    assert any("amid" in x.what for x in wrong(found))


def test_rows_that_exist_and_do_not_meet_are_missing() -> None:
    """What is left of a row that does not meet is anything, so whoever stores it is found."""
    right = module("split_gemm")
    assert verify_dataflow(right).verdict == "clean"
    less = changed(
        right, ops.Meet, lambda x: replace(x, exists=replace(x.exists, b=lift(x.exists.b - 9)))
    )
    assert less != right
    assert verify_dataflow(less).verdict == "wrong"


def test_who_rests_in_a_tile_has_no_rows_there() -> None:
    """Consumers whose rows lie past the end of a group only synchronise; others must not."""
    pins = {"t": 128, "n": 64, "k": 64, "cta_sync_interval": 8, "consumer_warpgroups": 2}
    made = grouped.with_config(**pins).compile("bf16")
    right = made.module_of(made.choices[0].config)
    consumer = right.role("consumer")
    assert consumer.works is not None
    assert "only synchronise" in str(right)
    assert verify_dataflow(right, classes=2).verdict == "clean"
    less = replace(consumer, works=replace(consumer.works, b=lift(consumer.works.b - 64)))
    roles = tuple(less if r is consumer else r for r in right.roles)
    assert verify_dataflow(replace(right, roles=roles), classes=2).verdict == "wrong"


def test_a_loop_along_an_axis_that_no_tensor_has_is_found() -> None:
    right = module("gemm")
    for axis in ("", "nowhere"):
        found = changed(right, TileLoop, lambda x, axis=axis: replace(x, axis=axis))
        assert any("along the axis" in x.what for x in wrong(found))
