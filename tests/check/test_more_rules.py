"""Further rules: scopes, polls, dependent grids, tensor maps, matrix instructions, adapters."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.check.code import LOADS, kernel, launch
from tests.check.test_rules import OWN, SHARED, codes, verdict
from warploom.axioms import page
from warploom.check import check
from warploom.check.adapters import tensor_map, tilelang_launch, triton_launch
from warploom.check.launch import Launch, TensorMap
from warploom.check.ptx.machine import GLOBAL_AT
from warploom.check.ptx.maps import decode_map, encode_map
from warploom.check.ptx.parse import parse
from warploom.check.ptx.program import link

FLAG = """ setp.ge.u32 %p1, %r1, 32;
 @%p1 bra READ;
 setp.ne.u32 %p2, %r1, 0;
 @%p2 bra DONE;
 st.shared.u32 [s], %r2;
 {release}
 st.volatile.shared.u32 [s+512], 1;
 bra DONE;
READ:
 setp.ne.u32 %p3, %r1, 32;
 @%p3 bra DONE;
POLL:
 ld.volatile.shared.u32 %r30, [s+512];
 setp.ne.u32 %p4, %r30, 1;
 @%p4 bra POLL;
 {acquire}
 ld.shared.u32 %r31, [s];
 st.global.u32 [%d5], %r31;
DONE:"""
ZERO = " mov.u32 %r40, 0; st.shared.u32 [s+512], %r40; bar.sync 0;\n"


@pytest.mark.parametrize(
    ("release", "acquire", "clean"),
    [("membar.cta;", "membar.cta;", True), ("", "membar.cta;", False), ("membar.cta;", "", False)],
)
def test_a_flag_in_shared_memory_needs_fences_of_the_block_on_both_sides(release, acquire, clean):
    body = ZERO + FLAG.format(release=release, acquire=acquire)
    assert verdict(body).clean is clean


def test_a_volatile_read_counts_as_a_poll_only_where_a_loop_depends_on_it():
    body = ZERO + FLAG.format(release="membar.cta;", acquire="membar.cta;")
    program = link(parse(kernel(SHARED + LOADS + OWN + body)), "kernel")
    (at,) = program.polled
    assert program.instrs[at].op == "ld.volatile.shared.u32"
    once = " st.volatile.shared.u32 [%r22], %r2; xor.b32 %r23, %r21, 124; add.s32 %r23, %r20, %r23;"
    once += " {} ld.volatile.shared.u32 %r10, [%r23]; st.global.u32 [%d5], %r10;"
    assert "RAW-LANES" in codes(verdict(once.format("")))
    assert verdict(once.format("bar.warp.sync -1;")).clean


def test_atomics_of_block_scope_race_between_blocks():
    text = " mov.u32 %r10, 1; red.relaxed.{}.global.add.u32 [%d2], %r10;"
    given = {"y": {"role": "inout", "init": "zero"}, "grid": [2, 1, 1]}
    assert verdict(text.format("gpu"), given=given).clean
    assert "WAW" in codes(verdict(text.format("cta"), given=given))
    alone = {**given, "grid": [1, 1, 1]}
    assert verdict(text.format("cta"), given=alone).clean


def test_memory_before_the_wait_for_earlier_grids_may_be_theirs():
    body = " st.global.u32 [%d5], %r2; griddepcontrol.wait;"
    assert "GRID-WAIT" in codes(verdict(body))
    assert verdict(body, axioms={"grid_wait": False}).clean
    late = kernel(" griddepcontrol.wait;\n" + LOADS + " st.global.u32 [%d5], %r2;")
    assert check(late, launch(64, y={"shape": [64]})).clean


def test_variables_in_local_memory_are_read():
    text = " .local .align 4 .b8 depot[8];\n mov.u32 %r40, depot; st.local.u32 [%r40], %r2;"
    text += " ld.local.u32 %r10, [%r40]; st.global.u32 [%d5], %r10;"
    assert verdict(text).clean


def test_alignment_of_what_a_pointer_points_to_is_not_the_parameters():
    head = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 .ptr .global .align 1 x, .param .u32 n,
 .param .u64 .ptr .global .align 16 y)
{ .reg .b32 %r<4>; .reg .b64 %d<4>;
 ld.param.u64 %d1, [y]; ld.param.u32 %r1, [n]; st.global.u32 [%d1], %r1; ret; }
"""
    given = launch(1)
    given["params"].insert(1, {"kind": "u32", "value": 7})
    assert check(head, given).clean


def test_a_launch_has_to_fit_what_the_file_demands():
    text = kernel("").replace(".param .u64 y)", ".param .u64 y)\n.reqntid 64")
    assert check(text, launch(64)).clean
    assert check(text, launch(32)).verdict.value == "malformed"


def test_tensor_maps_keep_what_they_are():
    found = TensorMap(
        tensor="a", dims=(64, 32), strides=(128,), box=(32, 8), element="bf16", swizzle="64B"
    )
    again = decode_map(encode_map(found, GLOBAL_AT + 512))
    assert again is not None
    assert again.offset == 512
    assert (again.dims, again.strides, again.box) == (found.dims, found.strides, found.box)
    assert (again.element, again.swizzle) == ("bf16", "64B")
    assert decode_map(bytes(128)) is None


def test_double_precision_products_and_transposed_matrices():
    a, b = np.arange(32, dtype=np.float64), np.ones(32)
    body = """ ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %tid.x;
 mul.wide.u32 %d3, %r1, 8; add.s64 %d4, %d1, %d3; mul.wide.u32 %d5, %r1, 16; add.s64 %d5, %d2, %d5;
 ld.global.f64 %g1, [%d4]; ld.global.f64 %g2, [%d4+256]; mov.f64 %g3, 0d0000000000000000;
 mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g4, %g5}, {%g1}, {%g2}, {%g3, %g3};
 st.global.v2.f64 [%d5], {%g4, %g5};"""
    out: dict[str, np.ndarray] = {}
    values = [float(v) for v in np.concatenate([a, b])]
    tensors = launch(
        x={"shape": [64], "dtype": "f64", "values": values}, y={"shape": [64], "dtype": "f64"}
    )
    assert check(kernel(body), tensors, outputs=out).clean
    want = a.reshape(8, 4) @ b.reshape(8, 4).T
    assert (out["y"].reshape(8, 4, 2).reshape(8, 8) == want).all()


def test_triton_metadata_becomes_a_launch():
    source = SimpleNamespace(
        signature={"x": "*fp16", "d": "tensordesc<fp16[64,64]>", "n": "i32", "B": "constexpr"},
        constants={(3,): 64},
        fn=SimpleNamespace(arg_names=["x", "d", "n", "B"]),
    )
    metadata = SimpleNamespace(
        name="k", num_warps=8, num_ctas=2, shared=4096, global_scratch_size=256,
        tensordesc_meta=[{"swizzle": 3, "block_size": [64, 64]}],
    )  # fmt: skip
    half = {"shape": [128, 64], "dtype": "f16", "role": "in"}
    given = triton_launch(
        SimpleNamespace(src=source, metadata=metadata),
        grid=(3,),
        arguments={"x": half, "d": {"descriptor": {"tensor": "d"}, "of": half}, "n": 5},
    )
    made = Launch.from_json(given)
    assert (made.grid, made.cluster, made.threads) == ((6, 1, 1), (2, 1, 1), 256)
    kinds = [p.kind for p in made.params]
    assert kinds == ["pointer", "tensormap", *["i32"] * 2, *["i64"] * 2, "i32", "pointer", "u64"]
    assert made.tensors["global_scratch"].nbytes == 3 * 256


def test_tilelang_host_code_becomes_a_launch():
    name = SimpleNamespace(name="a")
    host = SimpleNamespace(
        attrs={
            "tma_descriptor_args": {
                "a_desc": (
                    "create", "a_desc", 6, 2, name, 64, 128, 2, 128, 32, 16, 1, 1, 0, 2, 2, 0,
                )
            }
        }
    )  # fmt: skip
    device = SimpleNamespace(
        attrs={"global_symbol": "main", "thread_extent": {"blockIdx.x": 2, "threadIdx.x": 128},
               "dyn_shared_memory_buf": 1024},
        params=[SimpleNamespace(name="a_desc"), SimpleNamespace(name="c")],
    )  # fmt: skip
    artifact = SimpleNamespace(
        host_mod=SimpleNamespace(functions={"h": host}),
        device_mod=SimpleNamespace(functions={"d": device}),
        params=[SimpleNamespace(shape=[128, 64], dtype="float16")] * 2,
    )
    made = Launch.from_json(tilelang_launch(artifact, names=["a", "c"], outputs={"c"}))
    assert made.params[0].map is not None
    assert made.params[0].map.swizzle == "64B"
    assert made.tensors["c"].role == "out"


def test_maps_over_whole_tensors_have_inner_dimensions_first():
    found = tensor_map("a", {"shape": [8, 4, 32], "dtype": "f32"}, [1, 2, 32], "128B")
    assert (found["dims"], found["strides"], found["box"]) == ([32, 4, 8], [128, 512], [32, 2, 1])


def test_the_page_of_axioms_is_the_table():
    here = Path(__file__).parents[2] / "docs" / "reference" / "axioms.md"
    assert here.read_text() == page()


GRID = """ ld.param.u64 %d1, [x];
 ld.param.u64 %d2, [y];
 mov.u32 %r1, %ctaid.x;
 mul.wide.u32 %d3, %r1, 4;
 add.s64 %d4, %d2, %d3;
 st.global.u32 [%d4], %r1;
 mov.u32 %r2, %envreg2;
 mov.u32 %r3, %envreg1;
 mov.b64 %d5, {%r2, %r3};
 atom.add.release.gpu.global.u32 %r4, [%d5+4], 1;
LOOP:
 ld.acquire.gpu.global.u32 %r5, [%d5+4];
 setp.lt.u32 %p1, %r5, 2;
 @%p1 bra LOOP;
 ld.global.u32 %r6, [%d2];
"""


def test_the_workspace_of_a_grid():
    shape = {"grid": [2, 1, 1], "block": [1, 1, 1]}
    made = launch() | shape
    assert check(kernel(GRID), made).clean
    broken = GRID.replace("mov.u32 %r2, %envreg2;", "mov.u32 %r2, %envreg7;")
    assert "envreg7" in check(kernel(broken), made).unsupported
