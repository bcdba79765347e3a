"""Attention backward from its text: lowered, proven, compiled."""

import dataclasses
import shutil
import subprocess
from itertools import product

import numpy as np
import pytest

from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.tile.rows import emit_rows
from warploom.compiler.compile_cache import cached_schedule
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError
from warploom.frontend.simplify import simplify
from warploom.ir.mbarrier_dialect import Arrive, BulkStore, Compute, ProxyFence, WaitFull
from warploom.ir.rings import Side
from warploom.ir.tile import DType
from warploom.kernels.attention_grad import attention_grad
from warploom.kernels.attention_grad_ends import converted, prepared, summed
from warploom.kernels.block_scaled import block_scaled
from warploom.kernels.grouped import picked_rows
from warploom.kernels.registry import measured
from warploom.modulo import ModuloOptions
from warploom.passes.body import body_of
from warploom.passes.driver import lower
from warploom.passes.fuse import fuse
from warploom.passes.fuse_chains import join
from warploom.passes.heuristics import choose
from warploom.passes.kernel_config import config_of
from warploom.passes.layout import lay_out
from warploom.passes.loop_bounds import cut_of
from warploom.passes.predication import leaves_no_trace
from warploom.passes.rewrites import rewrite
from warploom.passes.row_module import build_row_module
from warploom.passes.tile_order import visit_list
from warploom.verify.roles import verify_roles
from warploom.verify.roles.capacity import live_registers

HALF = dict.fromkeys(("q", "k", "v", "do", "dk", "dv"), DType.BF16)
QUICK = ModuloOptions(find_work=4, prove_work=1, optimise_work=1, seconds=40.0)
NVCC = ["nvcc", "-std=c++17", "-O3", "-cubin", "-gencode=arch=compute_90a,code=sm_90a"]


def grad(size=64, *, causal=False):
    kernel = attention_grad.specialise(
        HALF, sizes={"d": size}, constants={"causal": causal}, without={"lengths", "turns"}
    )
    return rewrite(simplify(kernel), positive=frozenset({"scale"}))


def tiled(kernel, **choices):
    config = config_of(kernel, consumer_warpgroups=2, s=choices.pop("s", 64), t=128)
    return dataclasses.replace(config, a_in_registers=False, **choices)


@pytest.fixture(scope="module")
def lowered():
    kernel = grad()
    return lower(
        kernel,
        tiled(
            kernel,
            fuse_vector_chains=True,
            operands_from_smem=True,
            zero_init_accumulators=True,
            computed_tile_stages=2,
        ),
        options=QUICK,
        keep=cached_schedule,
    )


def compiled(source, tmp_path):
    path = tmp_path / "kernel.cu"
    path.write_text(source.text)
    done = subprocess.run(
        [*NVCC, "-Xptxas", "-v", "-o", str(tmp_path / "kernel.cubin"), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")


def test_the_programs_are_proven(lowered):
    assert verify_roles(lowered.document).clean


def test_consumers_fill_a_ring_for_one_another(lowered):
    ring = lowered.document.ring("ring_ds")
    assert ring.full_arrivals == ring.empty_arrivals == 8  # every warp of both consumers
    entries = lowered.document.program("consumer").kernel
    at = next(i for i, e in enumerate(entries) if isinstance(e, Compute) and e.fills_slots)
    assert isinstance(entries[at + 1], ProxyFence)
    assert isinstance(entries[at + 3], Arrive)
    assert entries[at + 3].side is Side.FULL


def test_a_ring_nobody_announces_is_found(lowered):
    program = lowered.document.program("consumer")
    kernel = tuple(e for e in program.kernel if not (isinstance(e, Arrive) and e.side is Side.FULL))
    programs = tuple(
        dataclasses.replace(p, kernel=kernel) if p.name == "consumer" else p
        for p in lowered.document.programs
    )
    assert not verify_roles(dataclasses.replace(lowered.document, programs=programs)).clean


def test_sums_in_memory_are_reducing_copies(lowered):
    stores = [e for e in lowered.document.program("consumer").kernel if isinstance(e, BulkStore)]
    assert stores
    assert all(e.reduce for e in stores)
    tail = [e for e in lowered.document.program("consumer").epilogue if isinstance(e, BulkStore)]
    assert {e.reduce for e in tail if e.op in ("store_dk", "store_dv")} == {False}


def test_vectors_arrive_with_their_tiles(lowered):
    parts = {r.name: [p.name for p in r.parts] for r in lowered.document.rings}
    assert len(parts["ring_qs"]) == 2
    assert len(parts["ring_dos"]) == 2
    assert {p.bytes for r in lowered.document.rings for p in r.parts[1:]} == {64 * 4}
    text = emit_kernel(lowered).text
    assert "bulk_add(" in text  # sums lie in blocks: a warp's are one copy
    assert "load_shared2" in text


def test_sums_go_to_memory_from_registers_where_asked():
    kernel = grad()
    choices = tiled(
        kernel,
        fuse_vector_chains=True,
        operands_from_smem=True,
        zero_init_accumulators=True,
        reduce_from_registers=True,
        computed_tile_stages=2,
    )
    made = lower(kernel, choices, options=QUICK, keep=cached_schedule)
    assert verify_roles(made.document).clean
    entries = made.document.program("consumer").kernel
    assert any(isinstance(e, Compute) and e.op == "store_dq" for e in entries)
    assert not any(isinstance(e, BulkStore) for e in entries)
    assert "add_global4(to" in emit_kernel(made).text


@needs_nvcc
def test_it_compiles_without_spills(lowered, tmp_path):
    said = compiled(emit_kernel(lowered), tmp_path)
    assert "0 bytes spill stores" in said
    assert "C75" not in said


def test_registers_are_counted_while_they_live():
    kernel = grad(128)
    body = body_of(kernel)
    choices = tiled(
        kernel,
        fuse_vector_chains=True,
        operands_from_smem=True,
        zero_init_accumulators=True,
        reserved_registers=48,
    )
    layout = lay_out(body, choices, join(body, fuse(body)))
    assert layout.crowded
    assert sum(a.registers for a in layout.arrays) == 256


@pytest.mark.slow
def test_the_wide_head_fits():
    kernel = grad(128)
    choices = tiled(
        kernel,
        fuse_vector_chains=True,
        operands_from_smem=True,
        zero_init_accumulators=True,
        reserved_registers=48,
    )
    made = lower(kernel, choices, options=QUICK, keep=cached_schedule)
    assert verify_roles(made.document).clean
    assert live_registers(made.document.program("consumer")) <= 208


def test_joined_steps_keep_all_work():
    body = body_of(grad())
    apart, together = fuse(body), join(body, fuse(body))
    assert len(together) < len(apart)
    names = [sorted(op.result.name for s in steps for op in s.ops) for steps in (apart, together)]
    assert names[0] == names[1]


def test_a_causal_loop_starts_late():
    body = body_of(grad(causal=True))
    cut = cut_of(body, fuse(body))
    assert cut is not None
    assert cut.known
    assert len(cut.below) == 1


def test_a_maximum_of_zeros_is_a_trace():
    body = body_of(grad())
    assert not leaves_no_trace(body, "v8")


@needs_nvcc
def test_block_scales(tmp_path):
    kernel = block_scaled.specialise({"a": DType.E4M3, "b": DType.E4M3, "out": DType.BF16})
    kernel = rewrite(simplify(kernel))
    made = lower(
        kernel,
        config_of(kernel, consumer_warpgroups=2, m=128, n=128),
        options=QUICK,
        keep=cached_schedule,
    )
    assert verify_roles(made.document).clean
    source = emit_kernel(made)
    # Scales of rows arrive by copies.
    assert "load_shared1(smem + PART_RING_V2_V3_V6" in source.text
    assert "read_make_acc_1_v7 = load_shared1(" in source.text  # that of the weights too
    said = compiled(source, tmp_path)
    assert "0 bytes spill stores" in said
    assert "C75" not in said


def rows_of(kernel):
    """The source of a kernel without a loop."""
    return emit_rows(build_row_module(kernel, simplify(kernel)))


ENDS = {
    "prepared": (prepared, {"do": DType.BF16, "o": DType.BF16}, {}),
    "converted": (converted, {"out": DType.F16}, {}),
    "summed": (summed, {"out": DType.BF16}, {"each": 3}),
}


@pytest.mark.parametrize("size", [64, 256])
@pytest.mark.parametrize("name", ENDS)
@needs_nvcc
def test_kernels_without_a_loop(name, size, tmp_path):
    text, types, choices = ENDS[name]
    source = rows_of(text.specialise(types, sizes={"d": size}, constants=choices))
    body = source.text[source.text.index("__global__") :]
    assert body.count("await_kernel_before();") == 1
    said = compiled(source, tmp_path)
    assert "0 bytes spill stores" in said
    assert source.shared_bytes == 0


@needs_nvcc
def test_rows_of_a_list_without_a_loop(tmp_path):
    types = {"x": DType.F16, "out": DType.F16}
    source = rows_of(picked_rows.specialise(types, sizes={"u": 128}))
    assert "if ((unsigned)v_v0 < (unsigned)len_s) {" in source.text  # others are zeros
    assert "0 bytes spill stores" in compiled(source, tmp_path)
    x, tokens = np.arange(12.0).reshape(3, 2, 2), np.array([2, -1, 0, 3])
    found = picked_rows.reference(x, tokens)
    assert np.array_equal(found, np.stack([x[2], 0 * x[0], x[0], 0 * x[0]]))


def test_rows_of_other_lengths_are_refused():
    kernel = converted.specialise({"out": DType.BF16}, sizes={"d": 96})
    with pytest.raises(KernelError, match="64, 128 or 256"):
        rows_of(kernel)


def test_the_ends_mean_what_they_say():
    x, y = np.arange(24.0).reshape(1, 2, 3, 4), np.full((1, 2, 3, 4), 2.0)
    types = {"do": DType.F32, "o": DType.F32}
    kernel = prepared.specialise(types, sizes={"d": 4}, without={"turns"})
    delta, dq = kernel.reference(x, y)
    np.testing.assert_allclose(delta, 2 * x.sum(3))
    assert not dq.any()
    kernel = summed.specialise({"out": DType.F32}, sizes={"d": 4}, constants={"each": 2})
    found = kernel.reference(x, sizes={"g": 1}, scale=1.0)
    np.testing.assert_allclose(found, x.sum(1, keepdims=True))


def test_tiles_that_start_late_are_listed():
    kernel = grad(causal=True)
    config = tiled(
        kernel,
        fuse_vector_chains=True,
        operands_from_smem=True,
        zero_init_accumulators=True,
        computed_tile_stages=2,
    )
    sizes = {"b": 1, "h": 3, "g": 3, "s": 1024, "t": 1024, "d": 64}
    starts, *rest = visit_list(kernel, config, sizes, 1)
    assert starts == 1
    assert rest[:3] == [0, 8, 16]  # the longest: the first keys of each head
    assert sorted(rest[:-1]) == list(range(24))
    assert (
        "listed(order + visit)"
        in emit_kernel(lower(kernel, config, options=QUICK, keep=cached_schedule)).text
    )


def shipped(size, mask, without=("lengths", "turns")):
    without = {*without} | ({"dv"} if size == 256 else set())
    types = {n: t for n, t in HALF.items() if n not in without}
    constants = {"causal": mask}
    kernel = attention_grad.specialise(
        types, sizes={"d": size}, constants=constants, without=without
    )
    kernel = rewrite(simplify(kernel), positive=frozenset({"scale"}))
    pins = dict(measured("attention_grad", {"causal": mask}, {"d": size}))
    sizes = {"b": 1, "h": 8, "g": 8, "s": 1024, "t": 1024}
    return lower(kernel, choose(kernel, sizes, pins=pins)[0].config, keep=cached_schedule)


def test_copies_are_seen_before_sums_go_out():
    made = shipped(128, False)
    assert verify_roles(made.document).clean
    program = made.document.program("consumer")
    loop = [type(e).__name__ for e in program.kernel]
    out = next(
        i for i, e in enumerate(program.kernel) if isinstance(e, Compute) and e.op == "store_dq"
    )
    waits = [e for e in program.kernel if isinstance(e, WaitFull)]
    assert {e.ring for e in waits[1:]} == {"ring_qs", "ring_dos"}  # the first is for dS
    assert not any(name == "WaitFull" for name in loop[out:])
    assert {e.ring for e in program.prologue if isinstance(e, WaitFull)} >= {"ring_ks", "ring_vs"}


def test_positions_many_uses_away_are_those_of_one_round():
    document = shipped(128, False).document
    ring = next(r for r in document.rings if r.name == "ring_qs")
    for depth, k in product((1, 2, 3), range(-7, 8)):
        held = dataclasses.replace(document, rings=(dataclasses.replace(ring, depth=depth),))
        site = Site(document=held, program=document.program("consumer"), phase="kernel")
        text = site.cursor("ring_qs", k)
        away = int(text.partition("<")[2].partition(">")[0] or 0)
        assert abs(away) <= depth
        assert (away - k) % (2 * depth) == 0  # the same slot in the same phase


def test_a_copy_that_is_seen_too_late_is_found():
    made = shipped(128, False)
    program = made.document.program("consumer")
    late = tuple(e for e in program.kernel if not (isinstance(e, WaitFull) and e.ring == "ring_qs"))
    programs = tuple(
        dataclasses.replace(p, kernel=late) if p.name == "consumer" else p
        for p in made.document.programs
    )
    assert not verify_roles(dataclasses.replace(made.document, programs=programs)).clean


@pytest.mark.parametrize("mask", [False, True])
def test_tiles_in_turn_are_listed_and_wait_for_those_after(mask):
    made = shipped(64, mask, without=("lengths",))
    assert verify_roles(made.document).clean
    text = emit_kernel(made).text
    assert text.count("mbar_wait(smem + TURNS") == 3  # a consumer, the clerk, the usher
    assert text.count("mbar_arrive(smem + TURNS") == 3
    asked, done = text.rindex("mbar_wait(smem + TURNS"), text.index("which store_dq uses")
    assert (
        asked < done
    ) == mask  # a turn of one iteration is asked for before its product is there
    assert text.count("add_relaxed(") == 2  # its definition, and the clerk's call
    assert text.count("load_acquire(") == 2  # and the usher's
    sizes = {"b": 1, "h": 3, "g": 3, "s": 1024, "t": 1024, "d": 64}
    ctas = 4
    order = visit_list(made.kernel, made.config, sizes, ctas)
    ends = [*order[1:ctas], len(order)]
    lists = [order[a : b - 1] for a, b in zip(order[:ctas], ends, strict=True)]
    assert sorted(t for own in lists for t in own) == list(range(24))
    done: set[int] = set()
    left = [list(own) for own in lists]
    while any(left):  # a tile may run once the row after it is done: somebody always can
        ready = [own for own in left if own and (own[0] % 8 == 7 or own[0] + 1 in done)]
        assert ready
        done.add(ready[0].pop(0))
