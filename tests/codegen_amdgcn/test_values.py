"""The machine code of a kernel against the kernel, for enumerated size classes."""

import re

import pytest

pytest.importorskip("llvmlite")

from tests.codegen_amdgcn import tile_kernels as own
from warploom.codegen.amdgcn.tile_ir.values import value_classes, verify_values
from warploom.kernels.rms_gemm import rms_gemm


@pytest.fixture(scope="module")
def made():
    return rms_gemm.with_config(m=64, n=32, k=32).compile("bf16", target="mi355x")


def test_a_pipelined_kernel_computes_what_was_written(made):
    report = made.dataflow
    assert report.verdict == "clean", str(report)
    assert len(report.tried) == 4
    assert all(r.clean for r in made.reports)
    assert "never on the chip" in str(report)


def test_classes_reach_every_phase_and_the_plain_loop(made):
    (loop,) = made.sidecar["loops"]
    classes = list(value_classes(made.kernel, made.sidecar))
    walked = [sizes.get("k") for sizes, _ in classes]
    assert loop["steps"] * 32 in walked
    assert 1 in walked
    assert {padding % 8 for _, padding in classes} == {0, 3}


def test_a_kernel_without_a_loop():
    made = own.add.compile("f32", target="mi355x")
    assert made.dataflow.verdict == "clean"
    assert made.reports == ()


@pytest.mark.parametrize("op", ["v_add_f32", "v_pk_mul_f32", "v_rsq_f32"])
def test_code_that_computes_something_else_is_found(made, op):
    """Another operation in place of one of the tail's."""
    other = {"v_add_f32": "v_sub_f32", "v_rsq_f32": "v_sqrt_f32", "v_pk_mul_f32": "v_pk_add_f32"}
    lines = made.assembly.splitlines()
    at = [i for i, line in enumerate(lines) if re.match(rf"\s{op}(_e32|_e64)?\s", line)]
    if not at:
        pytest.skip(f"no {op} in this code")
    lines[at[-1]] = lines[at[-1]].replace(op, other[op])
    report = verify_values(made.kernel, "\n".join(lines), made.sidecar)
    assert report.verdict == "wrong"
    assert report.findings


def test_a_store_left_out_is_found(made):
    lines = made.assembly.splitlines()
    at = [i for i, line in enumerate(lines) if "_store_" in line and "scratch" not in line]
    report = verify_values(
        made.kernel, "\n".join(lines[: at[-1]] + lines[at[-1] + 1 :]), made.sidecar
    )
    assert report.verdict == "wrong"
