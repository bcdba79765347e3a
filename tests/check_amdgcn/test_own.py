"""The project's own gfx950 kernels: machine code clean for every timing, results NumPy's."""

from functools import cache

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.codegen_amdgcn import test_gemm_tile_kernels as text_cases
from tests.codegen_amdgcn.assembly_mutants import text_mutants
from tests.codegen_amdgcn.conftest import KERNELS, _emitted
from warploom.codegen.amdgcn.isa_check.regions import check_regions
from warploom.codegen.amdgcn.sidecar import launch_plan
from warploom.codegen.amdgcn.tile_ir.execute import launch_of
from warploom.codegen.amdgcn.tile_ir.gate import gated_loop
from warploom.compiler.amd_tiles import compile_tile_kernel
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.report import Verdict

from .own import gemm_launch, judge, launch_for, product

QUICK = ["fourwave-small", "single-buffer-small", "pingpong"]
SLOW = [k for k in KERNELS if k not in QUICK and k != "fourwave-reference"]


def gemm_case(name, steps):
    _, block, element, *_ = KERNELS[name]
    assembly = _emitted(name).assembly
    return assembly, gemm_launch(
        assembly, block[0], block[1], steps * block[2], element.value, block
    )


def assert_clean(report):
    assert report.verdict is Verdict.CLEAN, report.text()
    assert not report.unsupported
    assert any(k.startswith("error ") for k in report.figures)


@pytest.mark.parametrize("name", QUICK)
def test_gemm_is_clean_and_right(name):
    for steps in (2, 6):
        assert_clean(judge(*gemm_case(name, steps), product))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_other_gemms_are_clean_and_right(name):
    for steps in (2, 4, 6, 8):
        assert_clean(judge(*gemm_case(name, steps), product))


def test_the_order_of_waves_changes_nothing():
    assembly, launch = gemm_case("fourwave-small", 6)
    for order in ("reverse", "random", "starve0", "starve3"):
        assert_clean(judge(assembly, launch, product, schedules=(order,)))


def test_proofs_rest_on_the_order_of_dma_and_the_report_says_so():
    report = judge(*gemm_case("fourwave-small", 6), product)
    (line,) = [a for a in report.assumes if a.startswith("vm_order=on")]
    assert line.endswith("Turned off, the verdict is race.")


def test_waits_as_the_reference_derives_them_race():
    report = judge(*gemm_case("fourwave-reference", 6))
    assert report.verdict is Verdict.RACE
    assert "WAR-LDS" in {f.code for f in report.defects()}


# What is left of all mutants is harmless, for the reason that stands here.
HARMLESS = {
    "fourwave-small": {"barrier dropped": 1, "lgkmcnt(0) -> 1": 1, "lgkmcnt(0) dropped": 1},
    "single-buffer-small": {"vmcnt(0) -> 1": 3, "vmcnt(0) dropped": 3},
}


@pytest.mark.parametrize("name", HARMLESS)
def test_every_damaged_wait_and_barrier_is_found(name):
    """The last barrier and wait of the first guard reads that nothing uses; in the second three
    waits for loads stand where none is in flight, or where none is used before the next wait."""
    assembly, _ = gemm_case(name, 2)
    launches = [gemm_case(name, steps)[1] for steps in (6, 4, 2)]
    left = {}
    for mutant in text_mutants(assembly):
        if all(judge(mutant.text, launch).clean for launch in launches):
            left[mutant.what] = left.get(mutant.what, 0) + 1
    assert left == HARMLESS[name]


def tile_launch(kernel, made, sizes, scalars):
    text = made.plan.text
    tensors, named = {}, {}
    for tensor in kernel.tensors:
        spelled = {text.a: "mat_a", text.b: "mat_b"}.get(tensor.name, f"mat_{tensor.name}")
        shape = tuple(sizes[a.name] for a in tensor.axes)
        named[spelled] = tensor
        tensors[spelled] = (
            shape,
            str(tensor.dtype.value),
            "in" if tensor.access == "in" else "out",
        )
    numbers = {f"dim_{axis}": sizes[axis] for axis in "mnk"}
    numbers |= {f"scalar_{name}": float(value) for name, value in scalars.items()}
    plan = launch_plan(made.sidecar, sizes["m"], sizes["n"], sizes["k"])

    def want(**inputs):
        values = [inputs[s] for s, t in named.items() if t.access == "in"]
        result = kernel.reference(*values, **scalars)
        outputs = [s for s, t in named.items() if t.access == "out"]
        return dict(zip(outputs, result if isinstance(result, tuple) else (result,), strict=True))

    return launch_for(made.assembly, tensors, numbers, plan.grid), want


TILES = {
    "bf16, bias, residual, gelu": (text_cases.PLAIN, text_cases.gelu, (70, 90, 136)),
    "fp8 to fp8": ({"a": "e4m3", "b": "e4m3", "out": "e4m3"}, None, (33, 130, 400)),
    "bf16 to f16": ({"a": "bf16", "b": "bf16", "out": "f16"}, None, (2, 120, 16)),
}


@pytest.mark.parametrize("case", TILES)
def test_gemm_with_its_tail(case):
    types, activation, (m, n, k) = TILES[case]
    constants = {"activation": activation} if activation else {}
    kernel = gemm.specialise(types, constants=constants, without={"bias", "residual"} - set(types))
    made = text_cases.emitted(kernel, types["a"])
    launch, want = tile_launch(kernel, made, {"m": m, "n": n, "k": k}, {"alpha": 0.5})
    assert_clean(judge(made.assembly, launch, want))


@cache
def attention_case(causal, s, t):
    """Attention of a tile kernel, rows at multiples of 16 bytes: its pipelined loop runs."""
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    kernel = attention.specialise(
        types, sizes={"d": 64}, constants={"causal": causal}, without={"lengths", "lse"}
    )
    program = compile_tile_kernel(kernel, extents={"s": 64, "t": 32})
    assert program.schedules, program.not_pipelined
    rng = np.random.default_rng(0)
    rows = {"q": (1, 2, s, 64), "k": (1, 1, t, 64), "v": (1, 1, t, 64)}
    arrays = {n: rng.standard_normal(shape) for n, shape in rows.items()}
    launch = launch_of(program.sidecar(), arrays, {"scale": 0.2}, sizes={}, initial={})
    return program, launch


@pytest.mark.parametrize("causal", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_attention_is_clean(causal):
    program, launch = attention_case(causal, 70, 330)
    report = judge(program.assembly, launch)
    assert report.verdict is Verdict.CLEAN, report.text()


TYPES = [
    {"a": a, "b": b, "out": out}
    for a, b in (("bf16", "bf16"), ("f16", "f16"), ("e4m3", "e4m3"))
    for out in ("f32", "bf16", "f16", "e4m3")
]


@pytest.mark.slow
@pytest.mark.parametrize("types", TYPES, ids=lambda t: "-".join(t.values()))
def test_products_of_every_type_are_clean_and_right(types):
    kernel = gemm.specialise(types, without={"bias", "residual"})
    made = text_cases.emitted(kernel, types["a"])
    for m, n, k in ((1, 8, 16), (70, 90, 128), (130, 40, 272)):
        launch, want = tile_launch(kernel, made, {"m": m, "n": n, "k": k}, {"alpha": 0.5})
        assert_clean(judge(made.assembly, launch, want))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_damaged_waits_of_attention_are_found():
    """Every wait and barrier of the scheduled part that is weakened or left out."""
    program, launch = attention_case(False, 40, 330)
    plans = [gated_loop(each, "mi355x") for each in program.code.loops]
    mutants = [m for m in text_mutants(program.assembly) if not check_regions(plans, m.text).exact]
    assert len(mutants) > 10
    for mutant in mutants:
        # What a full counter proves needs no wait: such a one is found where nothing stalls.
        if judge(mutant.text, launch).clean:
            bare = judge(mutant.text, launch, axioms={"counter_stall": False})
            assert not bare.clean, (mutant.line, mutant.what)
