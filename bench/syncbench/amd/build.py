"""Write the AMD cases: ``NAME/wrong.s``, ``NAME/fixed.s``, ``NAME/launch.json``, ``cases.json``.

Each case is one body of assembly in which a line that starts with ``wrong:`` or ``fixed:`` belongs
to that form only. The files are kept in the repository, so that running the cases needs nothing.

    python bench/syncbench/amd/build.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

FRAME = """\
; {title}
; {thread}
	.amdgcn_target "amdgcn-amd-amdhsa--{target}"
	.text
	.globl	kernel
	.p2align	8
	.type	kernel,@function
kernel:
	s_load_dwordx4 s[4:7], s[0:1], 0x0      ; x and y
	v_lshlrev_b32_e32 v1, 2, v0             ; four bytes a thread
	v_xor_b32_e32 v2, 0x100, v1             ; those of the other wave
	v_lshlrev_b32_e32 v3, 4, v0             ; sixteen bytes a thread
	v_xor_b32_e32 v4, 0x400, v3             ; those of the other wave
	v_readfirstlane_b32 s3, v0              ; first thread of the wave
	s_waitcnt lgkmcnt(0)
{body}
	s_endpgm
.Lfunc_end0:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel kernel
		.amdhsa_group_segment_fixed_size {lds}
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 128
		.amdhsa_next_free_sgpr 32
		.amdhsa_accum_offset 128
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .name: x
        .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .name: y
        .offset: 8
        .size: 8
        .value_kind: global_buffer
    .group_segment_fixed_size: {lds}
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 128
    .name: kernel
    .private_segment_fixed_size: 0
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--{target}
...
	.end_amdgpu_metadata
"""
BUFFER = """
s_mov_b32 s8, s4                        ; the resource of x
s_and_b32 s9, s5, 0xffff
s_mov_b32 s10, 0x4000
s_mov_b32 s11, 0x27000
"""
FILL = """
global_load_dwordx4 v[20:23], v3, s[4:5]
s_waitcnt vmcnt(0)
ds_write_b128 v3, v[20:23]
ds_write_b128 v3, v[20:23] offset:2048
s_waitcnt lgkmcnt(0)
s_barrier
"""
STORE = "\nglobal_store_dwordx4 v3, v[{0}:{1}], s[6:7]\n"


@dataclass(frozen=True)
class Case:
    name: str
    target: str
    kind: str
    thread: str
    why: str
    body: str
    expected: tuple[str, ...] = ("race",)
    grid: int = 1


CASES = [
    Case(
        "count_one_too_weak",
        "gfx950",
        "wait count",
        "https://github.com/ROCm/rocm-libraries/pull/3635",
        "Three younger LDS reads are in flight when the wait is executed, so a count of 4 lets the "
        "last fragment of A be in flight while the matrix instruction uses it.",
        FILL
        + """
ds_read_b128 v[24:27], v4               ; the last fragment of A
ds_read_b128 v[28:31], v4 offset:2048   ; three of B
ds_read_b128 v[32:35], v3
ds_read_b128 v[36:39], v3 offset:2048
wrong: s_waitcnt lgkmcnt(4)
fixed: s_waitcnt lgkmcnt(3)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[24:27], 0
s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[28:31], v[32:35], v[40:43]
v_mfma_f32_16x16x32_bf16 v[40:43], v[36:39], v[32:35], v[40:43]
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "wait_before_the_last_read",
        "gfx950",
        "wait placed too early",
        "https://github.com/ROCm/rocm-libraries/pull/3002",
        "The wait stands in front of the last read that it is meant for.",
        FILL
        + """
ds_read_b128 v[24:27], v4
wrong: s_waitcnt lgkmcnt(0)
ds_read_b128 v[28:31], v4 offset:2048
fixed: s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[28:31], 0
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "no_wait_at_the_loop_end",
        "gfx950",
        "missing wait over the back edge",
        "https://github.com/ROCm/rocm-libraries/pull/3003",
        "The reads for the next iteration are issued at the end of the body, and that iteration "
        "uses their registers before its first wait.",
        FILL
        + """
v_mov_b32_e32 v40, 0
v_mov_b32_e32 v41, 0
v_mov_b32_e32 v42, 0
v_mov_b32_e32 v43, 0
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
s_mov_b32 s12, 3
.Lloop:
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[24:27], v[40:43]
s_nop 7
ds_read_b128 v[24:27], v4 offset:2048
fixed: s_waitcnt lgkmcnt(0)
s_sub_u32 s12, s12, 1
s_cmp_lg_u32 s12, 0
s_cbranch_scc1 .Lloop
s_waitcnt lgkmcnt(0)
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "count_differs_by_code_path",
        "gfx950",
        "one count for two code paths",
        "https://github.com/ROCm/rocm-libraries/pull/3005",
        "One path has issued two younger reads at the wait, the other only one: the same count "
        "proves one fragment less there.",
        FILL
        + """
ds_read_b128 v[24:27], v4
s_cmp_lg_u32 s3, 0
s_cbranch_scc1 .Lother
ds_read_b128 v[28:31], v4 offset:2048
ds_read_b128 v[32:35], v3 offset:2048
s_branch .Lmeet
.Lother:
ds_read_b128 v[28:31], v4 offset:2048
.Lmeet:
wrong: s_waitcnt lgkmcnt(2)
fixed: s_waitcnt lgkmcnt(1)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[24:27], 0
s_waitcnt lgkmcnt(0)
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "second_fragment_not_covered",
        "gfx950",
        "missing wait",
        "https://github.com/ROCm/rocm-libraries/pull/3016",
        "A wait covers the first fragment only; the second is used without one.",
        FILL
        + """
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
s_waitcnt lgkmcnt(1)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[24:27], 0
fixed: s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[28:31], v[28:31], v[40:43]
s_waitcnt lgkmcnt(0)
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "epilogue_reads_before_dma",
        "gfx950",
        "missing vmcnt before LDS is read",
        "https://github.com/HazyResearch/HipKittens/pull/40",
        "In the epilogue the read of the last tile was moved up, in front of the only wait for its "
        "loads to LDS.",
        BUFFER
        + """
s_lshl_b32 s12, s3, 4
s_mov_b32 m0, s12
s_nop 0
buffer_load_dwordx4 v3, s[8:11], 0 offen lds
s_add_u32 m0, s12, 0x800
s_nop 0
buffer_load_dwordx4 v3, s[8:11], 0 offen lds
s_waitcnt vmcnt(1)
s_barrier
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
fixed: s_waitcnt vmcnt(0)
fixed: s_barrier
v_add_u32_e32 v5, 0x800, v4
ds_read_b128 v[28:31], v5
wrong: s_waitcnt vmcnt(0)
wrong: s_barrier
s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[28:31], 0
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "refill_before_reads_are_done",
        "gfx950",
        "missing lgkmcnt before LDS is overwritten",
        "https://github.com/HazyResearch/HipKittens/pull/67",
        "A slot is refilled by DMA while another wave's read of it may be in flight: the barrier "
        "waits for waves, not for their reads.",
        FILL
        + BUFFER
        + """
ds_read_b128 v[24:27], v4
fixed: s_waitcnt lgkmcnt(0)
s_barrier
s_lshl_b32 s12, s3, 4
s_mov_b32 m0, s12
s_nop 0
buffer_load_dwordx4 v3, s[8:11], 0 offen lds
s_waitcnt vmcnt(0) lgkmcnt(0)
"""
        + STORE.format(24, 27),
    ),
    Case(
        "dma_waited_with_lgkmcnt",
        "gfx950",
        "wrong counter",
        "https://github.com/llvm/llvm-project/pull/179305",
        "Loads to LDS count in vmcnt only; a wait on lgkmcnt in front of the barrier says nothing "
        "of them.",
        """
s_lshl_b32 s12, s3, 4
s_mov_b32 m0, s12
s_nop 0
global_load_lds_dwordx4 v3, s[4:5]
wrong: s_waitcnt lgkmcnt(0)
fixed: s_waitcnt vmcnt(0)
s_barrier
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
"""
        + STORE.format(24, 27),
    ),
    Case(
        "store_sunk_below_the_barrier",
        "gfx942",
        "LDS write behind the barrier",
        "https://github.com/ROCm/rocm-libraries/pull/10893",
        "The compiler moved an LDS store across a barrier that carried no memory order: the other "
        "wave reads before it is written.",
        """
global_load_dwordx4 v[20:23], v3, s[4:5]
s_waitcnt vmcnt(0)
fixed: ds_write_b128 v3, v[20:23]
fixed: s_waitcnt lgkmcnt(0)
s_barrier
wrong: ds_write_b128 v3, v[20:23]
wrong: s_waitcnt lgkmcnt(0)
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
"""
        + STORE.format(24, 27),
    ),
    Case(
        "wait_sunk_below_the_barrier",
        "gfx942",
        "readers' wait behind the barrier",
        "https://github.com/ROCm/rocm-libraries/pull/10653",
        "The wait for the reads stands behind the barrier, where it serves the reader's registers "
        "only; the slot is overwritten while reads of other waves are in flight.",
        FILL
        + """
ds_read_b128 v[24:27], v4
fixed: s_waitcnt lgkmcnt(0)
s_barrier
ds_write_b128 v3, v[0:3]
wrong: s_waitcnt lgkmcnt(0)
s_waitcnt lgkmcnt(0)
"""
        + STORE.format(24, 27),
    ),
    Case(
        "bias_used_before_its_load",
        "gfx942",
        "missing vmcnt before a register is used",
        "https://github.com/ROCm/hipBLASLt/pull/916",
        "A bias is loaded to registers and added without a wait.",
        """
global_load_dwordx4 v[24:27], v3, s[4:5]
s_waitcnt vmcnt(0)
global_load_dword v28, v1, s[4:5] offset:1024
fixed: s_waitcnt vmcnt(0)
v_add_f32_e32 v24, v24, v28
"""
        + STORE.format(24, 27),
    ),
    Case(
        "arguments_used_before_their_load",
        "gfx942",
        "missing lgkmcnt before a scalar register is used",
        "https://github.com/ROCm/hipBLASLt/pull/559",
        "Arguments that lie in memory are loaded to scalar registers and used without a wait; "
        "scalar loads return out of order, so only a count of 0 proves one done.",
        """
s_load_dwordx2 s[12:13], s[4:5], 0x0
s_load_dword s14, s[4:5], 0x8
fixed: s_waitcnt lgkmcnt(0)
wrong: s_waitcnt lgkmcnt(1)
v_mov_b32_e32 v24, s12
v_mov_b32_e32 v25, s13
s_waitcnt lgkmcnt(0)
v_mov_b32_e32 v26, s14
v_mov_b32_e32 v27, 0
"""
        + STORE.format(24, 27),
    ),
    Case(
        "no_barrier_after_the_fill",
        "gfx942",
        "missing barrier",
        "https://github.com/ROCm/rccl/pull/1551",
        "One wave fills LDS and waits for its own stores; the others start to read without a "
        "barrier.",
        """
global_load_dwordx4 v[20:23], v3, s[4:5]
s_waitcnt vmcnt(0)
ds_write_b128 v3, v[20:23]
s_waitcnt lgkmcnt(0)
fixed: s_barrier
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
"""
        + STORE.format(24, 27),
    ),
    Case(
        "reuse_after_a_broadcast_read",
        "gfx942",
        "missing barrier before LDS is reused",
        "https://github.com/warpfront/hipfire/pull/575",
        "Every wave reads the sum from LDS, then LDS is reused for other values: a slow wave reads "
        "the new value as its sum.",
        FILL
        + """
v_mov_b32_e32 v5, 0
ds_read_b32 v24, v5
s_waitcnt lgkmcnt(0)
fixed: s_barrier
ds_write_b128 v3, v[0:3]
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b128 v[28:31], v4
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v28, v28, v24
"""
        + STORE.format(28, 31),
    ),
    Case(
        "no_barrier_before_the_refill",
        "gfx950",
        "missing barrier before LDS is overwritten",
        "https://github.com/ROCm/rocm-libraries/pull/2970",
        "Every wave waits for its own reads, but no barrier stands between them and the loads that "
        "refill the slot: a fast wave overwrites what a slow one has yet to read.",
        FILL
        + BUFFER
        + """
s_lshl_b32 s12, s3, 4
s_mov_b32 m0, s12
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
fixed: s_barrier
buffer_load_dwordx4 v3, s[8:11], 0 offen lds
s_waitcnt vmcnt(0)
"""
        + STORE.format(24, 27),
    ),
    Case(
        "raw_barrier_between_clusters",
        "gfx942",
        "readers' wait missing before the barrier",
        "https://github.com/triton-lang/triton/pull/11765",
        "Two groups of waves alternate over one slot. The barrier after the reads carries no wait, "
        "so the other group overwrites the slot while reads are in flight.",
        FILL
        + """
s_mov_b32 s13, 0
.Lloop:
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
fixed: s_waitcnt lgkmcnt(0)
s_barrier
ds_write_b128 v3, v[20:23]
ds_write_b128 v3, v[20:23] offset:2048
s_waitcnt lgkmcnt(0)
s_barrier
v_add_u32_e32 v20, v24, v28
s_add_i32 s13, s13, 1
s_cmp_lt_u32 s13, 3
s_cbranch_scc1 .Lloop
"""
        + STORE.format(24, 27),
    ),
    Case(
        "dma_with_no_alias_in_sight",
        "gfx950",
        "missing vmcnt before LDS is read",
        "https://github.com/llvm/llvm-project/pull/170660",
        "The compiler tracked only some of the loads to LDS; the read of a slot that it did not "
        "track got no wait at all.",
        BUFFER
        + """
s_lshl_b32 s12, s3, 4
s_mov_b32 m0, s12
s_nop 0
buffer_load_dwordx4 v3, s[8:11], 0 offen lds
buffer_load_dwordx4 v3, s[8:11], 0 offen offset:2048 lds
s_waitcnt vmcnt(1)
ds_read_b128 v[24:27], v3
fixed: s_waitcnt vmcnt(0)
ds_read_b128 v[28:31], v3 offset:2048
s_waitcnt vmcnt(0) lgkmcnt(0)
v_add_u32_e32 v24, v24, v28
"""
        + STORE.format(24, 27),
    ),
    Case(
        "count_that_waits_for_nothing",
        "gfx950",
        "wait count at the counter's capacity",
        "https://github.com/ROCm/rocm-libraries/pull/3159",
        "lgkmcnt(15) is the largest operand of the counter and waits for nothing.",
        FILL
        + """
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
wrong: s_waitcnt lgkmcnt(15)
fixed: s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[28:31], 0
s_waitcnt lgkmcnt(0)
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "data_of_a_store_overwritten",
        "gfx950",
        "wait states after a wide store",
        "https://github.com/llvm/llvm-project/issues/202333",
        "A store of 16 bytes reads its data over several cycles; behind the end of a branch the "
        "next vector instruction overwrites them one state too early.",
        FILL
        + """
v_cmp_gt_u32_e32 vcc, 64, v0
s_and_saveexec_b64 s[14:15], vcc
s_cbranch_execz .Lskip
global_store_dwordx4 v3, v[20:23], s[6:7]
.Lskip:
s_or_b64 exec, exec, s[14:15]
fixed: s_nop 0
v_add_u32_e32 v21, v21, v20
s_nop 1
v_mov_b32_e32 v24, v21
v_mov_b32_e32 v25, v21
v_mov_b32_e32 v26, v21
v_mov_b32_e32 v27, v21
global_store_dwordx4 v3, v[24:27], s[6:7]
""",
        expected=("invalid",),
    ),
    Case(
        "data_of_a_buffer_store_overwritten",
        "gfx950",
        "wait states after a wide buffer store with an offset register",
        "https://github.com/llvm/llvm-project/pull/197267",
        "With the offset in a scalar register the data of a wide buffer store are still being read "
        "when the next instruction is issued.",
        FILL
        + """
s_mov_b32 s8, s6
s_and_b32 s9, s7, 0xffff
s_mov_b32 s10, 0x800
s_mov_b32 s11, 0x27000
s_mov_b32 s12, 0
buffer_store_dwordx4 v[20:23], v3, s[8:11], s12 offen
fixed: s_nop 0
v_mov_b32_e32 v21, 0
s_nop 1
v_mov_b32_e32 v22, v21
""",
        expected=("invalid",),
    ),
    Case(
        "matrix_result_twenty_states_later",
        "gfx950",
        "wait states after a matrix instruction",
        "https://github.com/llvm/llvm-project/pull/222040",
        "A matrix instruction of 16 passes needs 20 wait states on gfx950 before its result is "
        "read; a search that looks back 19 instructions misses the last one.",
        FILL
        + """
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
s_waitcnt lgkmcnt(0)
v_mfma_f32_32x32x64_f8f6f4 v[40:55], v[24:31], v[24:31], 0
s_nop 15
wrong: s_nop 2
fixed: s_nop 3
v_add_f32_e32 v40, v40, v41
s_nop 1
"""
        + STORE.format(40, 43),
        expected=("invalid",),
    ),
    Case(
        "matrix_instruction_written_inline",
        "gfx950",
        "wait states around inline assembly",
        "https://github.com/facebookexperimental/triton/pull/3168",
        "The compiler does not look into inline assembly, so it puts no distance between a matrix "
        "instruction there and the instruction that reads its accumulator.",
        FILL
        + """
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 a[0:3], v[24:27], v[28:31], 0
fixed: s_nop 7
v_accvgpr_read_b32 v40, a0
v_accvgpr_read_b32 v41, a1
v_accvgpr_read_b32 v42, a2
v_accvgpr_read_b32 v43, a3
"""
        + STORE.format(40, 43),
        expected=("invalid",),
    ),
    Case(
        "matrix_result_overwritten_too_early",
        "gfx950",
        "wait states before a matrix result is overwritten",
        "https://github.com/llvm/llvm-project/pull/126132",
        "gfx950 needs one wait state more than gfx942 before vector arithmetic overwrites what a "
        "matrix instruction is about to write.",
        FILL
        + """
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[28:31], 0
wrong: s_nop 6
fixed: s_nop 7
v_mov_b32_e32 v40, 0
s_nop 1
"""
        + STORE.format(40, 43),
        expected=("invalid",),
    ),
    Case(
        "wait_for_one_code_path_only",
        "gfx950",
        "wait count",
        "https://github.com/ROCm/rocm-libraries/pull/3017",
        "On one of two code paths a read is issued behind the wait instead of before it, so the "
        "count proves one fragment less there.",
        FILL
        + """
s_cmp_eq_u32 s3, 0
ds_read_b128 v[24:27], v4
ds_read_b128 v[28:31], v4 offset:2048
s_cbranch_scc1 .Lother
ds_read_b128 v[32:35], v3
s_waitcnt lgkmcnt(1)
s_branch .Lboth
.Lother:
wrong: s_waitcnt lgkmcnt(1)
ds_read_b128 v[32:35], v3
fixed: s_waitcnt lgkmcnt(1)
.Lboth:
v_mfma_f32_16x16x32_bf16 v[40:43], v[24:27], v[28:31], 0
s_waitcnt lgkmcnt(0)
v_mfma_f32_16x16x32_bf16 v[40:43], v[32:35], v[32:35], v[40:43]
s_nop 10
"""
        + STORE.format(40, 43),
    ),
    Case(
        "count_at_the_loop_start",
        "gfx950",
        "wait count",
        "https://github.com/ROCm/rocm-libraries/pull/3021",
        "Fourteen reads may still be in flight behind the wait at the start of the loop, and the "
        "first product needs the second of fifteen.",
        FILL
        + "".join(
            f"ds_read_b128 v[{24 + 4 * i}:{27 + 4 * i}], v4{' offset:2048' if i % 2 else ''}\n"
            for i in range(15)
        )
        + """
wrong: s_waitcnt lgkmcnt(14)
fixed: s_waitcnt lgkmcnt(13)
v_mfma_f32_16x16x32_bf16 v[84:87], v[24:27], v[28:31], 0
s_waitcnt lgkmcnt(0)
s_nop 10
"""
        + STORE.format(84, 87),
    ),
    Case(
        "scales_read_without_a_barrier",
        "gfx950",
        "missing barrier",
        "https://github.com/ROCm/aiter/pull/4995",
        "Every wave writes the scales of its rows to LDS, and the others read them without a "
        "barrier between.",
        """
global_load_dword v20, v1, s[4:5]
s_waitcnt vmcnt(0)
v_mul_f32_e32 v20, 0.5, v20
ds_write_b32 v1, v20                    ; scales of this wave's rows
fixed: s_waitcnt lgkmcnt(0)
fixed: s_barrier
ds_read_b32 v21, v2                     ; scales of the other wave's
s_waitcnt lgkmcnt(0)
v_mul_f32_e32 v21, 2.0, v21
global_store_dword v1, v21, s[6:7]
""",
    ),
    Case(
        "next_tile_over_a_slow_wave",
        "gfx942",
        "missing barrier over the back edge",
        "https://github.com/ROCm/rocMLIR/pull/1853",
        "With more than one tile a fast wave writes the next one to LDS while a slow wave still "
        "reads the last.",
        """
v_mov_b32_e32 v24, 0
s_mov_b32 s12, 3
.Lloop:
global_load_dword v20, v1, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32_e32 v20, s12, v20
ds_write_b32 v1, v20
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v21, v2
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v24, v24, v21
fixed: s_barrier
s_sub_u32 s12, s12, 1
s_cmp_lg_u32 s12, 0
s_cbranch_scc1 .Lloop
global_store_dword v1, v24, s[6:7]
""",
    ),
    Case(
        "third_buffer_filled_too_early",
        "gfx950",
        "missing barrier before LDS is overwritten",
        "https://github.com/ROCm/rocm-libraries/pull/11779",
        "A ring of three: the fill of the third buffer follows the reads of its last contents "
        "with no barrier between, so a fast wave overwrites what a slow one still reads.",
        BUFFER
        + """
s_lshl_b32 s13, s3, 2
s_mov_b32 m0, s13
v_mov_b32_e32 v24, 0
buffer_load_dword v1, s[8:11], 0 offen lds
s_mov_b32 s12, 3
.Lloop:
s_waitcnt vmcnt(0)
s_barrier                               ; the buffer is filled
ds_read_b32 v21, v2
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v24, v24, v21
fixed: s_barrier
buffer_load_dword v1, s[8:11], 0 offen lds
s_sub_u32 s12, s12, 1
s_cmp_lg_u32 s12, 0
s_cbranch_scc1 .Lloop
s_waitcnt vmcnt(0)
global_store_dword v1, v24, s[6:7]
""",
    ),
    Case(
        "partial_sums_through_a_stale_cache",
        "gfx950",
        "missing cache bypass between workgroups",
        "https://github.com/ROCm/rocm-libraries/pull/11691",
        "Partial sums are stored past the caches and announced by a flag, but loaded through the "
        "cache of the other die, which may hold old lines of the workspace.",
        """
v_mov_b32_e32 v5, 0
v_mov_b32_e32 v6, 1
s_cmp_eq_u32 s2, 0
s_cbranch_scc0 .Lread
global_store_dword v1, v1, s[6:7] offset:1024 sc0 sc1
s_waitcnt vmcnt(0)
s_barrier
s_cmp_eq_u32 s3, 0
s_cbranch_scc0 .Lend
global_store_dword v5, v6, s[6:7] sc0 sc1
s_branch .Lend
.Lread:
global_load_dword v7, v5, s[6:7] sc0 sc1
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s12, v7
s_cmp_eq_u32 s12, 1
s_cbranch_scc0 .Lread
wrong: global_load_dword v20, v2, s[6:7] offset:1024
fixed: global_load_dword v20, v2, s[6:7] offset:1024 sc0 sc1
s_waitcnt vmcnt(0)
global_store_dword v1, v20, s[6:7] offset:1536
.Lend:
""",
        grid=2,
    ),
    Case(
        "halves_of_one_register",
        "gfx942",
        "load of half a register",
        "https://github.com/ROCm/rocm-systems/pull/10445",
        "With ECC of registers a load of one half writes the whole register: the half that was "
        "loaded before is gone.",
        """
global_load_short_d16 v20, v1, s[4:5]
s_waitcnt vmcnt(0)
wrong: global_load_short_d16_hi v20, v1, s[4:5] offset:2
fixed: global_load_short_d16_hi v21, v1, s[4:5] offset:2
s_waitcnt vmcnt(0)
fixed: v_or_b32_e32 v20, v20, v21
global_store_dword v1, v20, s[6:7]
""",
        expected=("invalid",),
    ),
    Case(
        "part_of_a_result_as_an_addend",
        "gfx950",
        "wait states between matrix instructions",
        "https://github.com/llvm/llvm-project/pull/117263",
        "gfx950 needs one state more than gfx942 before a matrix instruction adds to a part of a "
        "result.",
        FILL
        + """
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
v_mfma_f32_32x32x16_bf16 v[40:55], v[24:27], v[24:27], 0
wrong: s_nop 8
fixed: s_nop 9
v_mfma_f32_16x16x32_bf16 v[60:63], v[24:27], v[24:27], v[40:43]
s_nop 10
"""
        + STORE.format(60, 63),
        ("invalid",),
    ),
    Case(
        "double_precision_result_as_an_addend",
        "gfx950",
        "wait states between matrix instructions",
        "https://github.com/llvm/llvm-project/pull/117283",
        "On gfx950 a result in double precision may be a part of another's addend after 17 "
        "states, not after 9.",
        FILL
        + """
ds_read_b128 v[24:27], v4
s_waitcnt lgkmcnt(0)
v_mfma_f64_16x16x4_f64 v[40:47], v[24:25], v[26:27], 0
wrong: s_nop 8
fixed: s_nop 15
fixed: s_nop 0
v_mfma_f64_4x4x4_4b_f64 v[60:61], v[24:25], v[26:27], v[42:43]
s_nop 15
s_nop 3
global_store_dwordx2 v3, v[60:61], s[6:7]
""",
        ("invalid",),
    ),
    Case(
        "scalar_loads_counted_one_by_one",
        "gfx950",
        "partial count with loads out of order",
        "https://github.com/ROCm/rocm-libraries/pull/10929",
        "Scalar loads return out of order: a count of 1 does not say that the first has come back.",
        """
s_load_dwordx2 s[12:13], s[4:5], 0x0
s_load_dwordx2 s[14:15], s[4:5], 0x40
wrong: s_waitcnt lgkmcnt(1)
fixed: s_waitcnt lgkmcnt(0)
s_add_u32 s16, s12, 1
v_mov_b32_e32 v20, s16
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v20, s14, v20
global_store_dword v1, v20, s[6:7]
""",
    ),
]


def lines(body: str, form: str) -> str:
    found = []
    for raw in body.strip().splitlines():
        line = raw.strip()
        for other in ("wrong", "fixed"):
            if line.startswith(f"{other}:"):
                line = line.removeprefix(f"{other}:").strip() if other == form else ""
        if line:
            found.append(line if line.startswith(".") else f"\t{line}")
    return "\n".join(found)


def launch(grid: int) -> dict:
    flags = {"init": "zero"} if grid > 1 else {}
    return {
        "entry": "kernel",
        "grid": [grid, 1, 1],
        "block": [128, 1, 1],
        "params": [{"kind": "pointer", "tensor": "x"}, {"kind": "pointer", "tensor": "y"}],
        "tensors": {
            "x": {"shape": [4096], "dtype": "u32", "role": "in"},
            "y": {"shape": [512], "dtype": "u32", "role": "inout" if flags else "out", **flags},
        },
    }


def main() -> None:
    described = []
    for case in CASES:
        folder = HERE / case.name
        folder.mkdir(exist_ok=True)
        for form in ("wrong", "fixed"):
            text = FRAME.format(
                title=f"{case.name}, {form} form: {case.kind}",
                thread=case.thread,
                target=case.target,
                body=lines(case.body, form),
                lds=8192,
            )
            (folder / f"{form}.s").write_text(text)
        (folder / "launch.json").write_text(json.dumps(launch(case.grid), indent=1) + "\n")
        described.append(
            {
                "name": case.name,
                "target": case.target,
                "expected": list(case.expected),
                "class": case.kind,
                "thread": case.thread,
                "why": case.why,
            }
        )
    (HERE / "cases.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main()
