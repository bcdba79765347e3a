"""The HIP export compiles, says why it waits, and keeps the schedule through the optimiser."""

from __future__ import annotations

import re

import pytest

from warploom.codegen.amdgcn import plan_kernel
from warploom.codegen.amdgcn.emulate import LATE, TRAMPLED, emulate_gemm, integer_matrix
from warploom.codegen.amdgcn.hip import HipCompiler, check_hip, find_hip_compiler, hip_source
from warploom.errors import BackendError
from warploom.ir.schedule_ops import ScheduleOps

from .conftest import ready

needs_clang = pytest.mark.skipif(find_hip_compiler() is None, reason="no gfx950 clang here")


def source_of(name):
    kernel = ready(name)
    plan = plan_kernel(kernel.document, kernel.tile)
    return plan, hip_source(plan, kernel.reasons)


@needs_clang
@pytest.mark.parametrize(
    "name",
    [
        "pingpong",
        "fourwave",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("pingpong-fp8", "pingpong-fp16", "fourwave-fp8", "single-buffer")
        ),
    ],
)
def test_the_compiler_keeps_the_schedule(name):
    plan, source = source_of(name)
    check = check_hip(plan, source)
    assert check.gate.exact, check.gate.text()


@needs_clang
def test_the_compiled_export_computes():
    plan, source = source_of("fourwave-small")
    check = check_hip(plan, source)
    assert check.gate.exact
    for trips in (0, 1, 2):
        k = (2 + 2 * trips) * 32
        for timing in (LATE, TRAMPLED):
            result = emulate_gemm(
                check.assembly,
                integer_matrix(65, k, 1),
                integer_matrix(60, k, 2),
                dtype="bf16",
                block=(64, 64),
                timing=timing,
            )
            assert result.correct


def test_every_wait_says_why():
    plan, source = source_of("fourwave")
    waits = [line for line in source.splitlines() if "wait<0x" in line]
    document = plan.document
    entries = [*document.prologue, *document.kernel, *document.epilogue]
    count = sum(e.op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM) for e in entries)
    *scheduled, last = waits
    assert len(scheduled) == count
    reason = re.compile(r"// (vm|lgkm)cnt\(\d+\): .*must be complete before")
    assert all(reason.search(line) for line in scheduled)
    assert "reads no multiplication takes" in last


def test_waits_without_reasons_say_what_they_complete():
    _, source = source_of("pingpong")
    assert "vmcnt(6): completes LOAD_" in source
    assert "units may stay in flight" in source


def test_entries_stand_in_schedule_order():
    plan, source = source_of("pingpong")
    loop = source[source.index("---- loop") : source.index("---- epilogue")]
    calls = re.findall(r"w\.(load|read|multiply)_?([ab]?)<(\d), (\d)>", loop)
    data = [e.op for e in plan.document.kernel if e.op.tag < 128]
    assert [(int(s), int(j)) for _, _, s, j in calls] == [(op.stage, op.subtile) for op in data]


@needs_clang
def test_a_broken_source_is_a_typed_error():
    plan, source = source_of("fourwave-small")
    with pytest.raises(BackendError, match="refused the source"):
        check_hip(plan, source.replace("w.store();", "w.no_such();"))


def test_a_missing_compiler_says_what_to_install(monkeypatch):
    from warploom.codegen.amdgcn import hip as check

    monkeypatch.setattr(check, "find_hip_compiler", lambda: None)
    plan, source = source_of("fourwave-small")
    with pytest.raises(BackendError, match="no clang") as caught:
        check_hip(plan, source)
    assert "ziglang" in caught.value.fix


def test_a_compiler_that_only_fails_is_reported():
    plan, source = source_of("fourwave-small")
    with pytest.raises(BackendError, match="refused"):
        check_hip(plan, source, HipCompiler(("false",), "false"))
