; next_tile_over_a_slow_wave, fixed form: missing barrier over the back edge
; https://github.com/ROCm/rocMLIR/pull/1853
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
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
	s_barrier
	s_sub_u32 s12, s12, 1
	s_cmp_lg_u32 s12, 0
	s_cbranch_scc1 .Lloop
	global_store_dword v1, v24, s[6:7]
	s_endpgm
.Lfunc_end0:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel kernel
		.amdhsa_group_segment_fixed_size 8192
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
    .group_segment_fixed_size: 8192
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 128
    .name: kernel
    .private_segment_fixed_size: 0
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--gfx942
...
	.end_amdgpu_metadata
