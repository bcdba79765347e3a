"""Small hand-written kernels: the frame around a few lines of assembly, and its launch."""

from warploom.axioms import resolve
from warploom.check.amdgcn import check_amdgcn
from warploom.check.launch import Launch

FRAME = """
	.amdgcn_target "amdgcn-amd-amdhsa--{target}"
	.text
	.globl	k
	.p2align	8
	.type	k,@function
k:
{body}
	s_endpgm
.Lfunc_end0:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size {lds}
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
    .group_segment_fixed_size: {lds}
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: {threads}
    .name: k
    .private_segment_fixed_size: {private}
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--{target}
...
	.end_amdgpu_metadata
"""
# s[4:5] is x, s[6:7] is y; v1 four bytes a thread, v2 those of the other wave, v3 sixteen a thread
SETUP = """
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	v_xor_b32_e32 v2, 0x100, v1
	v_lshlrev_b32_e32 v3, 4, v0
	v_readfirstlane_b32 s3, v0
	s_waitcnt lgkmcnt(0)
"""
# s[8:11] describes x for buffer instructions
BUFFER = """
	s_mov_b32 s8, s4
	s_and_b32 s9, s5, 0xffff
	s_mov_b32 s10, 0x10000
	s_mov_b32 s11, 0x27000
"""


def assembled(body, *, target="gfx950", lds=8192, threads=128, setup=SETUP, private=0):
    return FRAME.format(target=target, body=setup + body, lds=lds, threads=threads, private=private)


def small_launch(*, grid=1, threads=128, words=4096, dtype="u32", init="zero"):
    return Launch.from_json(
        {
            "grid": [grid, 1, 1],
            "block": [threads, 1, 1],
            "params": [{"kind": "pointer", "tensor": "x"}, {"kind": "pointer", "tensor": "y"}],
            "tensors": {
                "x": {"shape": [words], "dtype": dtype, "role": "in"},
                "y": {"shape": [words], "dtype": dtype, "role": "inout", "init": init},
            },
        }
    )


def verdict_of(body, *, axioms=None, against=None, grid=1, threads=128, dtype="u32", **frame):
    return check_amdgcn(
        assembled(body, threads=threads, **frame),
        small_launch(grid=grid, threads=threads, dtype=dtype),
        axioms=resolve(axioms),
        against=against,
    )
