; part_of_a_result_as_an_addend, wrong form: wait states between matrix instructions
; https://github.com/llvm/llvm-project/pull/117263
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
	global_load_dwordx4 v[20:23], v3, s[4:5]
	s_waitcnt vmcnt(0)
	ds_write_b128 v3, v[20:23]
	ds_write_b128 v3, v[20:23] offset:2048
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b128 v[24:27], v4
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x16_bf16 v[40:55], v[24:27], v[24:27], 0
	s_nop 8
	v_mfma_f32_16x16x32_bf16 v[60:63], v[24:27], v[24:27], v[40:43]
	s_nop 10
	global_store_dwordx4 v3, v[60:63], s[6:7]
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
