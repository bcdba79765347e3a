"""Attention: emitted source, its compilation, and what the runtime refuses."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

import warploom
from warploom.document.roles import Arrive, NamedSync, WaitEmpty, WaitFull, WaitGroup
from warploom.emit.cuda import attention_table, emit_attention, layout_of
from warploom.errors import BackendError, GeometryError
from warploom.hopper import Dtype
from warploom.hopper.attention import AttentionKernel
from warploom.launch import build
from warploom.launch.shipped import SHIPPED_ATTENTION, shipped_schedule
from warploom.target.h200 import h200

from .fake_driver import FakeTensor as Fake
from .test_cuda_compile import disassembler

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
KERNEL = AttentionKernel()


def source(kernel=KERNEL):
    return emit_attention(shipped_schedule(kernel.name), kernel)


def loop_of(text, bound="k_tiles"):
    """The lines of the consumer's key-tile loop up to a bound."""
    part = text.split("\n  } else {\n")[-1]
    start = part.index(f"k < {bound}; ++k)")
    return part[start : part.index("\n      }\n", start)]


def test_every_wait_is_emitted_with_its_reason():
    text = source()
    for program in shipped_schedule(KERNEL.name).programs:
        for _, entries in program.phases():
            for e in entries:
                if isinstance(e, WaitFull | WaitEmpty | WaitGroup | Arrive | NamedSync):
                    assert f"// {e.reason}" in text


def test_the_loop_is_the_schedule():
    loop = loop_of(source())
    calls = re.findall(
        r"(named_sync|named_arrive|wgmma_wait<\d>|wgmma_m64n128_bf16\w*|row_max|exponentials"
        r"|to_p|rescale|mbar_arrive)\(",
        loop,
    )
    assert calls == [
        "named_sync",
        "wgmma_m64n128_bf16_rs",
        "wgmma_m64n128_bf16_rs_tb",
        "named_arrive",
        "wgmma_wait<1>",
        "row_max",
        "mbar_arrive",
        "exponentials",
        "wgmma_wait<0>",
        "mbar_arrive",
        "to_p",
        "rescale",
    ]


def test_a_causal_mask_is_in_a_loop_of_its_own():
    text = source(AttentionKernel(causal=True))
    assert text.count("mask_keys(s, seen") == 2  # the peeled iteration, and the masked loop
    assert "mask_keys" in loop_of(text, "range.masked")
    assert "mask_keys" not in loop_of(text)
    assert loop_of(source()) == loop_of(text).replace("for (; k", "for (int k = 1; k")


def test_without_a_causal_mask_only_a_ragged_tile_is_masked():
    text = source()
    assert text.count("mask_keys(s, TILE_K, tile.keys - key);") == 1
    assert "mask_keys" not in loop_of(text)


def test_users_can_replace_an_op():
    table = attention_table(KERNEL).with_op("cvt", lambda e, s: ["to_my_p(p, s);"])
    text = emit_attention(shipped_schedule(KERNEL.name), KERNEL, table)
    assert "to_my_p(p, s);" in loop_of(text)


@pytest.mark.parametrize("kernel", SHIPPED_ATTENTION, ids=lambda k: k.name)
def test_shared_memory_is_what_the_kernel_says(kernel):
    assert layout_of(shipped_schedule(kernel.name)).bytes == kernel.smem_bytes <= 232_448


def test_a_schedule_of_another_kernel_is_refused():
    with pytest.raises(BackendError, match="not one of kernel"):
        emit_attention(shipped_schedule("gemm_128x256_w2"), KERNEL)
    with pytest.raises(BackendError, match="not one of kernel"):
        emit_attention(shipped_schedule(KERNEL.name), replace(KERNEL, margin=0))


@needs_nvcc
@pytest.mark.parametrize(
    "kernel",
    [
        *SHIPPED_ATTENTION,
        *(replace(k, causal=True, dtype=Dtype.FP16) for k in SHIPPED_ATTENTION),
    ],
    ids=lambda k: f"{k.name} {k.dtype}",
)
def test_kernels_compile_without_spills_or_serialisation(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_COMPILER", "nvcc")
    build.find_toolchain.cache_clear()
    try:
        report = build.compile_source(source(kernel), cache_dir=tmp_path).report
    finally:
        build.find_toolchain.cache_clear()
    entry = h200().entry_registers(kernel.threads)
    assert (report.spill_bytes, report.messages, report.registers) == (0, (), entry)


@needs_nvcc
@pytest.mark.skipif(disassembler() is None, reason="no cuobjdump (CUDA toolkit or Triton's wheel)")
def test_turns_products_and_waits_keep_their_order_in_sass(tmp_path, monkeypatch):
    """The consumer's loop: wait for K, take the turn, QK, wait for V, PV, give the turn, wait."""
    monkeypatch.setenv("WARPLOOM_COMPILER", "nvcc")
    build.find_toolchain.cache_clear()
    path = tmp_path / "kernel.cubin"
    path.write_bytes(build.compile_source(source(), cache_dir=tmp_path).data)
    build.find_toolchain.cache_clear()
    done = subprocess.run(
        [disassembler(), "--dump-sass", str(path)], capture_output=True, text=True, check=True
    )
    names = (
        r"SYNCS\.PHASECHK|HGMMA|WARPGROUP\.DEPBAR\.LE gsb0, 0x\d|SYNCS\.ARRIVE|BAR\.SYNC|BAR\.ARV"
    )
    order = re.findall(names, done.stdout)
    wait = order.index("WARPGROUP.DEPBAR.LE gsb0, 0x1")
    assert order[wait - 20 : wait] == [
        "SYNCS.PHASECHK",
        "BAR.SYNC",
        *["HGMMA"] * 8,
        "SYNCS.PHASECHK",
        *["HGMMA"] * 8,
        "BAR.ARV",
    ]
    behind = order[wait + 1 : wait + 4]
    assert [b.split(".")[1] for b in behind] == ["ARRIVE", "DEPBAR", "ARRIVE"]


GOOD = (2, 4, 256, 128)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"q": Fake((2, 4, 256, 96))}, "shape"),
        ({"q": Fake((4, 256, 128))}, "shape"),
        ({"q": Fake((2, 4, 256, 64))}, "one head dimension"),
        ({"k": Fake((2, 3, 256, 128)), "v": Fake((2, 3, 256, 128))}, "q is"),
        ({"v": Fake((2, 4, 128, 128))}, "q is"),
        ({"q": Fake(GOOD, "torch.float16")}, "q, k, v are"),
        ({"q": Fake((2, 4, 0, 128))}, "empty"),
        ({"q": 3}, "not a CUDA tensor"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_the_kernel_cannot_do_is_refused(change, match):
    arguments = {"q": Fake(GOOD), "k": Fake(GOOD), "v": Fake(GOOD), **change}
    with pytest.raises(BackendError, match=match):
        warploom.attention(**arguments)


def starts(count, dtype="torch.int32"):
    return Fake((count,), dtype)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"q_starts": starts(5, "torch.float32")}, "q_starts is f32"),
        ({"k_starts": starts(1)}, "k_starts is i32"),
        ({"q_starts": starts(4)}, "4 and 5"),
        ({"most_queries": 0}, "longest"),
        ({"q": Fake((700, 8, 80))}, "shape"),
        ({"k": Fake((900, 3, 64)), "v": Fake((900, 3, 64))}, "kv heads"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_packed_sequences_that_do_not_fit_are_refused(change, match):
    kv = Fake((900, 2, 64))
    good = {"q": Fake((700, 8, 64)), "k": kv, "v": kv}
    good |= {"q_starts": starts(5), "k_starts": starts(5), "most_queries": 300, "most_keys": 400}
    with pytest.raises(BackendError, match=match):
        warploom.attention_packed(**(good | change))


def test_a_mask_by_another_name_is_refused():
    t = Fake(GOOD)
    with pytest.raises(BackendError, match="'lower-left'"):
        warploom.attention(t, t, t, "lower-left", out=t)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_no_positive_number_is_refused(scale):
    t = Fake(GOOD)
    with pytest.raises(BackendError, match="scale"):
        warploom.attention(t, t, t, scale=scale, out=t)


def test_a_wrong_result_tensor_is_refused():
    t = Fake(GOOD)
    with pytest.raises(BackendError, match="out is"):
        warploom.attention(t, t, t, out=Fake((2, 4, 128, 128)))
    with pytest.raises(GeometryError, match="margin"):
        AttentionKernel(margin=-5)
