"""Emitted CUDA: golden text, what it contains, and what the back end refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from warploom.document.roles import Compute, WaitGroup
from warploom.emit.cuda import base_table, emit_gemm, gemm_table, layout_of
from warploom.emit.cuda.ptx import HELPERS, wgmma_function
from warploom.errors import BackendError
from warploom.hopper import Activation, Dtype, Epilogue, GemmKernel, L2Hints
from warploom.launch.shipped import SHIPPED, shipped_schedule

GOLDEN = Path(__file__).parent / "golden"
GOLDENS = (
    GemmKernel(),
    GemmKernel(tile_m=256, tile_n=200, dtype=Dtype.E4M3),
    GemmKernel(
        tile_m=128,
        tile_n=256,
        cluster=(2, 1),
        dtype=Dtype.FP16,
        out=Dtype.FP16,
        serpentine=True,
        hints=L2Hints.NONE,
        epilogue=Epilogue(scale=True, bias=True, activation=Activation.GELU),
    ),
)


def source(kernel):
    return emit_gemm(shipped_schedule(kernel.name), kernel)


@pytest.mark.parametrize("kernel", GOLDENS, ids=lambda k: f"{k.name}_{k.dtype}")
def test_golden_source(kernel, pytestconfig):
    path = GOLDEN / f"{kernel.name}_{kernel.dtype}.cu"
    text = source(kernel)
    if pytestconfig.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, "emitted CUDA changed; --update-golden if that is meant"


def test_waits_and_barriers_follow_the_entries():
    text = source(GemmKernel())
    kernel = text[text.index("extern") :]
    wanted = [
        "mbar_wait",
        "mbar_expect",
        "tma_load_hint",
        "tma_load_hint",
        "mbar_wait",
        "wgmma_fence",
        "wgmma_m64n256_bf16",
        "wgmma_commit",
        "mbar_wait",
        "wgmma_fence",
        "wgmma_m64n256_bf16",
        "wgmma_commit",
        "wgmma_wait<1>",
        "mbar_arrive",
        "wgmma_wait<0>",
        "mbar_arrive",
    ]
    names = r"mbar_wait|mbar_expect|tma_load_hint|wgmma_\w+(?:<\d>)?|mbar_arrive"
    assert re.findall(rf"\b({names})\(", kernel)[: len(wanted)] == wanted


def test_every_derived_wait_carries_its_reason():
    lines = source(GemmKernel()).splitlines()
    inside = lines[next(i for i, line in enumerate(lines) if line.startswith("extern")) :]
    for before, line in pairwise(inside):
        if re.search(r"\b(mbar_wait|wgmma_wait|bulk_wait)", line):
            assert before.strip().startswith("//"), line


def test_a_mutated_schedule_changes_the_text():
    document = shipped_schedule(GemmKernel().name)
    consumer = document.program("consumer")
    kernel = tuple(
        replace(e, pending=0) if isinstance(e, WaitGroup) else e for e in consumer.kernel
    )
    programs = (document.program("producer"), replace(consumer, kernel=kernel))
    text = emit_gemm(replace(document, programs=programs), GemmKernel())
    assert "wgmma_wait<1>" not in text


@pytest.mark.parametrize("kernel", SHIPPED, ids=lambda k: k.name)
def test_layout_is_what_the_launch_asks_for(kernel):
    document = shipped_schedule(kernel.name)
    layout = layout_of(document)
    assert layout.bytes == kernel.smem_bytes(document.rings[0].depth)
    assert layout.bytes <= 232_448
    assert all(at % 1024 == 0 for _, at in (*layout.rings, *layout.buffers))
    assert all(at % 8 == 0 for _, at in layout.barriers)


def test_only_called_helpers_are_written():
    text = source(GemmKernel())
    assert "mapa.shared::cluster" not in text
    assert "DEVICE void mbar_wait(" in text
    cluster = source(GemmKernel(cluster=(2, 1)))
    assert "mapa.shared::cluster" in cluster
    assert "release.cluster.shared" not in cluster, "that form costs a device-wide fence"


def test_helpers_are_self_contained():
    for name, text in HELPERS.items():
        assert re.search(rf"\b{name}\(", text), name
        assert "#include" not in text


def test_a_user_lowers_an_op_of_their_own():
    document = shipped_schedule(GemmKernel().name)
    consumer = document.program("consumer")
    own = Compute(op="clamp", reads=("acc",), writes=("acc",))
    spot = next(i for i, e in enumerate(consumer.epilogue) if isinstance(e, Compute))
    epilogue = (*consumer.epilogue[: spot - 2], own, *consumer.epilogue[spot - 2 :])
    programs = (document.program("producer"), replace(consumer, epilogue=epilogue))
    changed = replace(document, programs=programs)
    with pytest.raises(BackendError, match="no lowering for op 'clamp'"):
        emit_gemm(changed, GemmKernel())
    table = gemm_table(GemmKernel()).with_op("clamp", lambda e, s: ["clamp_all(acc);"])
    assert "clamp_all(acc);" in emit_gemm(changed, GemmKernel(), table)


def test_near_names_are_suggested():
    table = base_table().with_op("convert_c", lambda e, s: [])
    with pytest.raises(BackendError, match="did you mean 'convert_c'"):
        table.lower(Compute(op="convert_d"), None)


def test_a_schedule_of_another_kernel_is_refused():
    with pytest.raises(BackendError, match="not one of kernel"):
        emit_gemm(shipped_schedule("gemm_128x256_w2"), GemmKernel(tile_m=256, tile_n=192))


def test_a_schedule_whose_stores_do_not_cover_the_result_is_refused():
    """fp32 chunks are half as wide: the 16-bit schedule would leave columns unwritten."""
    sixteen = shipped_schedule("gemm_128x256_w2")
    with pytest.raises(BackendError, match="not one of kernel"):
        emit_gemm(sixteen, GemmKernel(out=Dtype.FP32))
    assert GemmKernel(out=Dtype.FP32).name != GemmKernel(out=Dtype.FP16).name


def test_wgmma_wrappers():
    bf16 = wgmma_function(200, "bf16")
    assert "m64n200k16.f32.bf16.bf16" in bf16
    assert bf16.count('"+f"') == 100
    assert "k32.f32.e4m3.e4m3" in wgmma_function(64, "e4m3")
    assert "uint32_t (&a)[4]" in wgmma_function(64, "fp16", a_in_registers=True)
    with pytest.raises(BackendError, match="K-major only"):
        wgmma_function(64, "e4m3", b_mn_major=True)
    with pytest.raises(BackendError, match="fp64"):
        wgmma_function(64, "fp64")
