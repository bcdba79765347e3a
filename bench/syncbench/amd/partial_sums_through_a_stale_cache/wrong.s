; partial_sums_through_a_stale_cache, wrong form: missing cache bypass between workgroups
; https://github.com/ROCm/rocm-libraries/pull/11691
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
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
	global_load_dword v20, v2, s[6:7] offset:1024
	s_waitcnt vmcnt(0)
	global_store_dword v1, v20, s[6:7] offset:1536
.Lend:
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
amdhsa.target: amdgcn-amd-amdhsa--gfx950
...
	.end_amdgpu_metadata
