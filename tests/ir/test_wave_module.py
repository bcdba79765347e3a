"""Modules for MI355X: JSON, listing, document, coverage and execution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ir.modules import edited, wave_module
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.module import gemm_module, module_of_kernel
from warploom.codegen.amdgcn.plan import plan_kernel
from warploom.codegen.amdgcn.tile import ElementType
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.errors import BackendError, DocumentError, InterpreterError, WarploomError
from warploom.frontend import builtins as words
from warploom.interp import TIMINGS, run_module
from warploom.ir import KernelModule, from_json, operations as ops, to_json
from warploom.ir.counter_document import schedule_document
from warploom.ir.expr import Function, lift
from warploom.ir.tile_schedule import Let
from warploom.kernels.gemm import gemm
from warploom.verify import verify
from warploom.verify.coverage import verify_coverage

GOLDEN = Path(__file__).parent / "golden"
BLOCK = (128, 128, 64)


def test_listing() -> None:
    found = str(wave_module("fourwave", (256, 256, 64)))
    assert found == (GOLDEN / "mi355x_fourwave.txt").read_text()


@pytest.mark.parametrize("schedule", ["fourwave", "pingpong"])
def test_json_and_the_verified_document(schedule: str) -> None:
    block = BLOCK if schedule == "fourwave" else (256, 256, 64)
    made = wave_module(schedule, block)
    assert from_json(to_json(made)) == made
    ready = ready_kernel(schedule, block, ElementType.BF16)
    derived = schedule_document(made)
    for phase in ("prologue", "kernel", "epilogue", "protocol", "counters"):
        assert getattr(derived, phase) == getattr(ready.document, phase)
    assert verify(derived).verdict == verify(ready.document).verdict == "clean"


@pytest.mark.parametrize("schedule", ["fourwave", "pingpong"])
def test_coverage_is_clean(schedule: str) -> None:
    block = BLOCK if schedule == "fourwave" else (256, 256, 64)
    report = verify_coverage(wave_module(schedule, block))
    assert report.verdict == "clean", str(report)


def problem(m: int, n: int, k: int) -> tuple[dict[str, Any], Any]:
    random = np.random.default_rng(m * n + k)
    a, b = (np.rint(random.standard_normal((x, k)) * 16) / 16 for x in (m, n))
    bias = np.rint(random.standard_normal(n) * 16) / 16
    return {"a": a, "b": b, "bias": bias}, a @ b.T + bias


SIZES = [(1, 1, 8), (0, 3, 64), (130, 127, 64), (129, 200, 136), (64, 128, 456)]


@pytest.mark.parametrize("timing", TIMINGS)
def test_against_numpy(timing: str) -> None:
    for seed, (m, n, k) in enumerate(SIZES):
        given, wanted = problem(m, n, k)
        found = run_module(
            wave_module("fourwave"), given, {"alpha": 1.0}, timing=timing, seed=seed
        )["out"]
        assert not np.isnan(found).any()
        size = max(1.0, np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=2**-8 * size)


def test_pingpong_waves_are_staggered_and_right() -> None:
    given, wanted = problem(70, 258, 200)
    made = wave_module("pingpong", (256, 256, 64))
    for timing in TIMINGS:
        found = run_module(made, given, {"alpha": 1.0}, timing=timing)["out"]
        np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=0.2)


def test_the_public_call() -> None:
    a = np.random.default_rng(0).standard_normal((33, 70)).astype(np.float32)
    config = {"schedule": "fourwave", "block": BLOCK}
    for k in (70, 1, 0):
        found = gemm.interpret(
            a[:, :k], a[:20, :k], types="bf16", target="mi355x", config=config, alpha=0.5,
            activation=words.gelu,
        )  # fmt: skip
        wanted = gemm.reference(
            a[:, :k], a[:20, :k], types="bf16", alpha=0.5, activation=words.gelu
        )
        np.testing.assert_allclose(found, wanted, rtol=2**-6, atol=0.05)


def test_sizes_the_kernel_does_not_take_are_refused() -> None:
    given, _ = problem(5, 5, 12)
    with pytest.raises(InterpreterError, match="k % 8 == 0"):
        run_module(wave_module("fourwave"), given, {"alpha": 1.0})


def test_kernels_and_schedules_without_a_module() -> None:
    kernel = gemm.specialise(
        {"a": "bf16", "b": "bf16", "out": "bf16"}, without=("bias", "residual")
    )
    ready = ready_kernel("single_buffer", (128, 128, 64), ElementType.BF16)
    with pytest.raises(BackendError, match="through registers"):
        gemm_module(plan_kernel(ready.document, ready.tile, text=gemm_tile_kernel(kernel)))
    with pytest.raises(WarploomError):
        module_of_kernel(kernel, schedule="nothing")


def _of(kind: Any, change: Any) -> Any:
    return lambda value: change(value) if isinstance(value, kind) else None


MUTANTS: dict[str, Any] = {
    "copies one row further": _of(ops.LdsCopy, lambda x: replace(x, row=lift(x.row + 1))),
    "copies of another tile": _of(Function, lambda x: replace(x, value=lift(x.value + 64))),
    "no swizzle in the copies": _of(
        ops.LdsCopy, lambda x: replace(x, lds_col=lift((x.lds_col + 8) % 64))
    ),
    "another swizzle in the reads": _of(
        ops.FragmentRead, lambda x: replace(x, lds_col=lift((x.lds_col + 8) % 64))
    ),
    "reads of another wave's rows": _of(
        ops.FragmentRead, lambda x: replace(x, lds_row=lift((x.lds_row + 32) % 64))
    ),
    "nothing masked past K": _of(
        ops.WaveMma, lambda x: None if x.valid is None else replace(x, valid=None)
    ),
    "a chunk too many past K": _of(
        ops.WaveMma, lambda x: None if x.valid is None else replace(x, valid=lift(x.valid + 8))
    ),
    "registers exchanged": _of(ops.FragmentLayout, lambda x: replace(x, row=lift(x.row + 1))),
    "a store one column further": _of(
        ops.VectorStore, lambda x: replace(x, at=(x.at[0], lift(x.at[1] + 1)))
    ),
    "a store without a predicate": _of(ops.VectorStore, lambda x: replace(x, predicate=None)),
    "a load that is not clamped": _of(
        ops.VectorLoad, lambda x: replace(x, at=tuple(a.a for a in x.at))
    ),
    "tiles one further": _of(
        Let, lambda x: replace(x, value=lift(x.value + 1)) if x.name.name == "pos_m" else None
    ),
    "one trip less": _of(ops.StepLoop, lambda x: replace(x, stop=lift(x.stop - 1))),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name: str) -> None:
    made: KernelModule = edited(wave_module("fourwave"), MUTANTS[name])
    assert made != wave_module("fourwave")
    assert verify_coverage(made).verdict == "wrong"


@pytest.mark.parametrize("kind", [ops.WaitCount, ops.WorkgroupBarrier])
def test_missing_synchronisation_gives_another_result(kind: type) -> None:
    def dropped(value: Any) -> Any:
        if not isinstance(value, tuple) or not any(isinstance(v, kind) for v in value):
            return None
        return tuple(edited(v, dropped) for v in value if not isinstance(v, kind))

    made: KernelModule = edited(wave_module("fourwave"), dropped)
    given, wanted = problem(64, 128, 456)
    right = []
    for seed in range(4):
        for timing in ("random", "adversarial"):
            found = run_module(made, given, {"alpha": 1.0}, timing=timing, seed=seed)["out"]
            right.append(np.allclose(found, wanted, rtol=2**-7, atol=0.2))
    assert not all(right)


def test_a_barrier_beside_the_protocol_is_refused_by_the_document() -> None:
    made = wave_module("fourwave")
    role = made.roles[0]
    body = (ops.WorkgroupBarrier(), *role.tiles.body)
    broken = replace(made, roles=(replace(role, tiles=replace(role.tiles, body=body)),))
    with pytest.raises(DocumentError, match="protocol"):
        schedule_document(broken)
