"""Launches of CuTe DSL kernels, from the generic form of the compiler's IR."""

from __future__ import annotations

import pytest

from warploom.check import adapters
from warploom.check.launch import Launch

LOAD = (
    "!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 131072, "
    'tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>'
)
COORDINATES = '!cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">'
HOST = f"""
!memory = !cute.memref<f16, gmem, align<16>, "(128,448):(448,1)">
!open = !cute.memref<f32, gmem, align<16>, "(?,?{{div=4}}):(?{{i64 div=4}},1)">
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, frag_kind = ss>>
"builtin.module"() ({{
  "func.func"() <{{function_type = (!memory, !open, i32) -> i32, sym_name = "host"}}> ({{
  ^bb0(%arg0: !memory, %arg1: !open, %arg2: i32):
    %0 = "arith.constant"() <{{value = 160 : i32}}> : () -> i32
    %1 = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
    %2 = "arith.constant"() <{{value = 2 : i32}}> : () -> i32
    %3 = "arith.muli"(%arg2, %2) : (i32, i32) -> i32
    %4 = "cute.make"() : () -> !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))">
    %5:2 = "cute_nvgpu.atom.make_non_exec_tiled_tma_load"(%arg0, %4) <{{num_multicast = 2 : i32}}> : (!memory, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))">) -> ({LOAD}, {COORDINATES})
    %6 = "cute.kernel_smem_size"() : () -> i64
    %7 = "cuda.cast"(%1) : (i32) -> !cuda.stream
    %8 = "cuda.launch_cfg.create"(%0, %1, %1, %6, %3, %1, %1, %7) <{{maxNumAttrs = 17 : i32}}> : (i32, i32, i32, i64, i32, i32, i32, !cuda.stream) -> !cuda.launch_cfg
    "cuda.launch_cfg.cluster_dim"(%8, %2, %1, %1) : (!cuda.launch_cfg, i32, i32, i32) -> ()
    %9 = "cute.mma"() : () -> !mma
    %10 = "cuda.launch_ex"(%8, %9, %5#0, %5#1, %arg1, %arg2) <{{callee = @kernels::@kernel_0}}> : (!cuda.launch_cfg, !mma, {LOAD}, {COORDINATES}, !open, i32) -> !cuda.result
    "func.return"(%1) : (i32) -> ()
  }}) : () -> ()
}}) : () -> ()
"""  # noqa: E501
LOWERED = """
  "llvm.func"() <{sym_name = "host"}> ({
  ^bb0(%arg0: !llvm.ptr):
    %0 = "llvm.mlir.constant"() <{value = 50176 : i64}> : () -> i64
    %1 = "llvm.getelementptr"(%arg0) <{elem_type = !llvm.struct<(array<3 x i32>, array<3 x i32>, i64, ptr, ptr, i32)>, rawConstantIndices = array<i32: 0, 2>}> : (!llvm.ptr) -> !llvm.ptr
    "llvm.store"(%0, %1) <{ordering = 0 : i64}> : (i64, !llvm.ptr) -> ()
  }) : () -> ()
"""  # noqa: E501
ARGUMENTS = [
    {"name": "a", "shape": [128, 448], "dtype": "f16", "role": "in"},
    {"name": "c", "shape": [5, 12], "dtype": "f32", "role": "out"},
    3,
]


def test_a_launch_is_read_from_the_host_function():
    found = adapters._CuteHost(HOST, ARGUMENTS).launch(None)
    found["shared_bytes"] = adapters._cute_shared(list(adapters._operations(LOWERED, {})))
    made = Launch.from_json(found)
    assert (made.entry, made.grid, made.block, made.cluster) == (
        "kernel_0",
        (6, 1, 1),
        (160, 1, 1),
        (2, 1, 1),
    )
    assert made.shared_bytes == 50176
    flag, tile, out, number = made.params
    assert flag.kind == "u8"
    assert number.value == 3
    assert tile.map.dims == (448, 128)
    assert tile.map.strides == (896,)
    assert tile.map.box == (64, 64)
    assert tile.map.swizzle == "128B"
    assert [(f.at, f.kind, f.value) for f in out.fields[1:]] == [
        (8, "i32", 5), (12, "i32", 12), (16, "i64", 12)
    ]  # fmt: skip


def test_a_grid_that_is_not_arithmetic_is_asked_for():
    text = HOST.replace('"arith.muli"', '"func.call"')
    with pytest.raises(ValueError, match="grid="):
        adapters._CuteHost(text, ARGUMENTS).launch(None)
    assert adapters._CuteHost(text, ARGUMENTS).launch([4, 1, 1])["grid"] == [4, 1, 1]


def test_a_grid_of_a_tensor_s_sizes():
    for mode, rows in (("<{mode = [0]}> ", 5), ("<{mode = [1]}> ", 12), ("", 60)):
        made = f'"cute.size"(%arg1) {mode}: (!open) -> !cute.int_tuple<"?">'
        text = HOST.replace(
            '%3 = "arith.muli"(%arg2, %2) : (i32, i32) -> i32',
            f'%20 = {made}\n    %3 = "cute.get_scalars"(%20) : (!cute.int_tuple<"?">) -> i32',
        )
        assert adapters._CuteHost(text, ARGUMENTS).launch(None)["grid"] == [rows, 1, 1]


def test_two_launches_are_refused():
    with pytest.raises(ValueError, match="2 kernels"):
        adapters._CuteHost(HOST + HOST, ARGUMENTS)
