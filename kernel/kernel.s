	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.amdhsa_code_object_version 5
	.text
	.globl	warploom_gemm
	.p2align	8
	.type	warploom_gemm,@function
warploom_gemm:
	s_load_dwordx4 s[8:11], s[0:1], 0x18
	s_load_dwordx4 s[16:19], s[0:1], 0x0
	s_load_dwordx2 s[20:21], s[0:1], 0x10
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s11, s2, 8
	v_lshrrev_b32_e32 v1, 6, v0
	s_sub_i32 s0, s8, s11
	v_readfirstlane_b32 s24, v1
	s_lshl_b32 s26, s10, 1
	s_min_u32 s8, s0, 0x100
	s_and_b32 s25, s24, 1
	s_add_i32 s2, s8, -1
	s_mul_i32 s1, s11, s26
	v_lshrrev_b32_e32 v1, 3, v0
	s_mul_hi_u32 s0, s11, s26
	s_add_u32 s4, s16, s1
	v_bitop3_b32 v2, v0, v1, 7 bitop3:0x28
	s_addc_u32 s0, s17, s0
	v_lshlrev_b32_e32 v30, 4, v2
	v_min_u32_e32 v2, s2, v1
	s_and_b32 s5, s0, 0xffff
	v_mad_u64_u32 v[2:3], s[0:1], v2, s26, v[30:31]
	v_or_b32_e32 v19, 32, v1
	v_min_u32_e32 v3, s2, v19
	v_mad_u64_u32 v[4:5], s[0:1], v3, s26, v[30:31]
	v_or_b32_e32 v5, 64, v1
	v_min_u32_e32 v3, s2, v5
	v_mad_u64_u32 v[6:7], s[0:1], v3, s26, v[30:31]
	v_or_b32_e32 v7, 0x60, v1
	v_min_u32_e32 v3, s2, v7
	v_mad_u64_u32 v[8:9], s[0:1], v3, s26, v[30:31]
	v_or_b32_e32 v9, 0x80, v1
	v_min_u32_e32 v3, s2, v9
	v_mad_u64_u32 v[10:11], s[0:1], v3, s26, v[30:31]
	v_or_b32_e32 v11, 0xa0, v1
	v_min_u32_e32 v3, s2, v11
	v_or_b32_e32 v28, 0xc0, v1
	v_mad_u64_u32 v[12:13], s[0:1], v3, s26, v[30:31]
	v_min_u32_e32 v3, s2, v28
	v_mad_u64_u32 v[14:15], s[0:1], v3, s26, v[30:31]
	v_or_b32_e32 v31, 0xe0, v1
	v_and_b32_e32 v18, 7, v0
	v_min_u32_e32 v3, s2, v31
	v_lshrrev_b32_e32 v13, 5, v0
	v_mad_u64_u32 v[16:17], s[0:1], v3, s26, v[30:31]
	v_bfe_u32 v3, v0, 5, 1
	v_bitop3_b32 v13, v13, v18, 1 bitop3:0x6c
	s_lshl_b32 s16, s24, 5
	v_lshlrev_b32_e32 v34, 4, v13
	v_bitop3_b32 v13, v3, v18, 2 bitop3:0x36
	s_lshl_b32 s17, s3, 8
	v_and_b32_e32 v33, 31, v0
	s_andn2_b32 s16, s16, 63
	v_lshlrev_b32_e32 v35, 4, v13
	v_bitop3_b32 v13, v3, v18, 4 bitop3:0x36
	s_sub_i32 s0, s9, s17
	v_or_b32_e32 v0, s16, v33
	v_lshlrev_b32_e32 v36, 4, v13
	v_bitop3_b32 v13, v3, v18, 6 bitop3:0x36
	s_min_u32 s0, s0, 0x100
	v_lshlrev_b32_e32 v0, 7, v0
	v_lshlrev_b32_e32 v37, 4, v13
	s_add_i32 s27, s0, -1
	s_mul_i32 s14, s0, s26
	s_mul_i32 s0, s17, s26
	v_or_b32_e32 v32, v0, v34
	v_or_b32_e32 v17, v0, v35
	v_or_b32_e32 v15, v0, v36
	v_or_b32_e32 v13, v0, v37
	s_mul_hi_u32 s1, s17, s26
	s_add_u32 s0, s18, s0
	v_min_u32_e32 v0, s27, v1
	s_addc_u32 s1, s19, s1
	v_mad_u64_u32 v[0:1], s[18:19], v0, s26, v[30:31]
	v_min_u32_e32 v1, s27, v19
	v_mad_u64_u32 v[18:19], s[18:19], v1, s26, v[30:31]
	v_min_u32_e32 v1, s27, v5
	v_mad_u64_u32 v[20:21], s[18:19], v1, s26, v[30:31]
	v_min_u32_e32 v1, s27, v7
	v_mad_u64_u32 v[22:23], s[18:19], v1, s26, v[30:31]
	v_min_u32_e32 v1, s27, v9
	v_mad_u64_u32 v[24:25], s[18:19], v1, s26, v[30:31]
	v_min_u32_e32 v1, s27, v11
	v_mad_u64_u32 v[26:27], s[18:19], v1, s26, v[30:31]
	v_min_u32_e32 v1, s27, v28
	v_mad_u64_u32 v[28:29], s[18:19], v1, s26, v[30:31]
	v_min_u32_e32 v1, s27, v31
	s_lshr_b32 s10, s10, 6
	v_mad_u64_u32 v[30:31], s[18:19], v1, s26, v[30:31]
	s_add_i32 s10, s10, -2
	v_lshl_or_b32 v1, s25, 6, v33
	s_lshr_b32 s19, s10, 31
	s_mov_b32 s7, 0x27000
	s_and_b32 s1, s1, 0xffff
	v_lshlrev_b32_e32 v5, 7, v1
	s_add_i32 s10, s10, s19
	s_movk_i32 s22, 0x100
	s_mul_i32 s6, s8, s26
	s_mov_b32 s23, 0
	s_mov_b32 s12, s0
	s_mov_b32 s13, s1
	s_mov_b32 s15, s7
	s_mov_b32 s2, s14
	v_or_b32_e32 v11, v5, v34
	v_or_b32_e32 v9, v5, v35
	v_or_b32_e32 v7, v5, v36
	v_or_b32_e32 v5, v5, v37
	s_lshl_b32 s18, s24, 10
	s_ashr_i32 s10, s10, 1
	s_movk_i32 s51, 0x80
	;;#ASMSTART
	;;#ASMEND
	s_mov_b32 m0, s18
	s_nop 0
	buffer_load_dwordx4 v2, s[4:7], 0 offen lds
	s_add_i32 s19, s18, 0x1000
	s_mov_b32 m0, s19
	s_nop 0
	buffer_load_dwordx4 v4, s[4:7], 0 offen lds
	s_add_i32 s24, s18, 0x2000
	s_mov_b32 m0, s24
	s_nop 0
	buffer_load_dwordx4 v6, s[4:7], 0 offen lds
	s_add_i32 s25, s18, 0x3000
	s_mov_b32 m0, s25
	s_nop 0
	buffer_load_dwordx4 v8, s[4:7], 0 offen lds
	s_add_i32 s26, s18, 0x10000
	s_mov_b32 m0, s26
	s_nop 0
	buffer_load_dwordx4 v0, s[12:15], 0 offen lds
	s_add_i32 s27, s18, 0x11000
	s_mov_b32 m0, s27
	s_nop 0
	buffer_load_dwordx4 v18, s[12:15], 0 offen lds
	s_add_i32 s28, s18, 0x12000
	s_mov_b32 m0, s28
	s_nop 0
	buffer_load_dwordx4 v20, s[12:15], 0 offen lds
	s_add_i32 s29, s18, 0x13000
	s_mov_b32 m0, s29
	s_nop 0
	buffer_load_dwordx4 v22, s[12:15], 0 offen lds
	s_add_i32 s30, s18, 0x14000
	s_mov_b32 m0, s30
	s_nop 0
	buffer_load_dwordx4 v24, s[12:15], 0 offen lds
	s_add_i32 s31, s18, 0x15000
	s_mov_b32 m0, s31
	s_nop 0
	buffer_load_dwordx4 v26, s[12:15], 0 offen lds
	s_add_i32 s33, s18, 0x16000
	s_mov_b32 m0, s33
	s_nop 0
	buffer_load_dwordx4 v28, s[12:15], 0 offen lds
	s_add_i32 s34, s18, 0x17000
	s_mov_b32 m0, s34
	s_nop 0
	buffer_load_dwordx4 v30, s[12:15], 0 offen lds
	s_add_i32 s35, s18, 0x4000
	s_mov_b32 m0, s35
	s_nop 0
	buffer_load_dwordx4 v10, s[4:7], 0 offen lds
	s_add_i32 s36, s18, 0x5000
	s_mov_b32 m0, s36
	s_nop 0
	buffer_load_dwordx4 v12, s[4:7], 0 offen lds
	s_add_i32 s37, s18, 0x6000
	s_mov_b32 m0, s37
	s_nop 0
	buffer_load_dwordx4 v14, s[4:7], 0 offen lds
	s_add_i32 s38, s18, 0x7000
	s_mov_b32 m0, s38
	s_nop 0
	buffer_load_dwordx4 v16, s[4:7], 0 offen lds
	s_add_i32 s39, s18, 0x8000
	s_mov_b32 m0, s39
	s_nop 0
	buffer_load_dwordx4 v2, s[4:7], s51 offen lds
	s_add_i32 s40, s18, 0x9000
	s_mov_b32 m0, s40
	s_nop 0
	buffer_load_dwordx4 v4, s[4:7], s51 offen lds
	s_add_i32 s41, s18, 0xa000
	s_mov_b32 m0, s41
	s_nop 0
	buffer_load_dwordx4 v6, s[4:7], s51 offen lds
	s_add_i32 s42, s18, 0xb000
	s_mov_b32 m0, s42
	s_nop 0
	buffer_load_dwordx4 v8, s[4:7], s51 offen lds
	s_add_i32 s43, s18, 0x18000
	s_mov_b32 m0, s43
	s_nop 0
	buffer_load_dwordx4 v0, s[12:15], s51 offen lds
	s_add_i32 s44, s18, 0x19000
	s_mov_b32 m0, s44
	s_nop 0
	buffer_load_dwordx4 v18, s[12:15], s51 offen lds
	s_add_i32 s45, s18, 0x1a000
	s_mov_b32 m0, s45
	s_nop 0
	buffer_load_dwordx4 v20, s[12:15], s51 offen lds
	s_add_i32 s46, s18, 0x1b000
	s_mov_b32 m0, s46
	s_nop 0
	buffer_load_dwordx4 v22, s[12:15], s51 offen lds
	s_add_i32 s47, s18, 0x1c000
	s_mov_b32 m0, s47
	s_nop 0
	buffer_load_dwordx4 v24, s[12:15], s51 offen lds
	s_add_i32 s48, s18, 0x1d000
	s_mov_b32 m0, s48
	s_nop 0
	buffer_load_dwordx4 v26, s[12:15], s51 offen lds
	s_add_i32 s49, s18, 0x1e000
	s_mov_b32 m0, s49
	s_nop 0
	buffer_load_dwordx4 v28, s[12:15], s51 offen lds
	s_add_i32 s50, s18, 0x1f000
	s_mov_b32 m0, s50
	s_nop 0
	buffer_load_dwordx4 v30, s[12:15], s51 offen lds
	s_add_i32 s12, s18, 0xc000
	s_mov_b32 m0, s12
	s_nop 0
	buffer_load_dwordx4 v10, s[4:7], s51 offen lds
	s_add_i32 s13, s18, 0xd000
	s_mov_b32 m0, s13
	s_nop 0
	buffer_load_dwordx4 v12, s[4:7], s51 offen lds
	s_add_i32 s14, s18, 0xe000
	s_mov_b32 m0, s14
	s_nop 0
	buffer_load_dwordx4 v14, s[4:7], s51 offen lds
	s_add_i32 s15, s18, 0xf000
	s_mov_b32 m0, s15
	v_accvgpr_write_b32 a0, 0
	buffer_load_dwordx4 v16, s[4:7], s51 offen lds
	v_accvgpr_mov_b32 a15, a0
	v_accvgpr_mov_b32 a1, a0
	v_accvgpr_mov_b32 a2, a0
	v_accvgpr_mov_b32 a3, a0
	v_accvgpr_mov_b32 a4, a0
	v_accvgpr_mov_b32 a5, a0
	v_accvgpr_mov_b32 a6, a0
	v_accvgpr_mov_b32 a7, a0
	v_accvgpr_mov_b32 a8, a0
	v_accvgpr_mov_b32 a9, a0
	v_accvgpr_mov_b32 a10, a0
	v_accvgpr_mov_b32 a11, a0
	v_accvgpr_mov_b32 a12, a0
	v_accvgpr_mov_b32 a13, a0
	v_accvgpr_mov_b32 a14, a0
	v_accvgpr_mov_b32 a255, a15
	v_accvgpr_mov_b32 a239, a15
	v_accvgpr_mov_b32 a223, a15
	v_accvgpr_mov_b32 a207, a15
	v_accvgpr_mov_b32 a191, a15
	v_accvgpr_mov_b32 a175, a15
	v_accvgpr_mov_b32 a159, a15
	v_accvgpr_mov_b32 a143, a15
	v_accvgpr_mov_b32 a127, a15
	v_accvgpr_mov_b32 a111, a15
	v_accvgpr_mov_b32 a95, a15
	v_accvgpr_mov_b32 a79, a15
	v_accvgpr_mov_b32 a63, a15
	v_accvgpr_mov_b32 a47, a15
	v_accvgpr_mov_b32 a31, a15
	v_accvgpr_mov_b32 a254, a14
	v_accvgpr_mov_b32 a253, a13
	v_accvgpr_mov_b32 a252, a12
	v_accvgpr_mov_b32 a251, a11
	v_accvgpr_mov_b32 a250, a10
	v_accvgpr_mov_b32 a249, a9
	v_accvgpr_mov_b32 a248, a8
	v_accvgpr_mov_b32 a247, a7
	v_accvgpr_mov_b32 a246, a6
	v_accvgpr_mov_b32 a245, a5
	v_accvgpr_mov_b32 a244, a4
	v_accvgpr_mov_b32 a243, a3
	v_accvgpr_mov_b32 a242, a2
	v_accvgpr_mov_b32 a241, a1
	v_accvgpr_mov_b32 a240, a0
	v_accvgpr_mov_b32 a238, a14
	v_accvgpr_mov_b32 a237, a13
	v_accvgpr_mov_b32 a236, a12
	v_accvgpr_mov_b32 a235, a11
	v_accvgpr_mov_b32 a234, a10
	v_accvgpr_mov_b32 a233, a9
	v_accvgpr_mov_b32 a232, a8
	v_accvgpr_mov_b32 a231, a7
	v_accvgpr_mov_b32 a230, a6
	v_accvgpr_mov_b32 a229, a5
	v_accvgpr_mov_b32 a228, a4
	v_accvgpr_mov_b32 a227, a3
	v_accvgpr_mov_b32 a226, a2
	v_accvgpr_mov_b32 a225, a1
	v_accvgpr_mov_b32 a224, a0
	v_accvgpr_mov_b32 a222, a14
	v_accvgpr_mov_b32 a221, a13
	v_accvgpr_mov_b32 a220, a12
	v_accvgpr_mov_b32 a219, a11
	v_accvgpr_mov_b32 a218, a10
	v_accvgpr_mov_b32 a217, a9
	v_accvgpr_mov_b32 a216, a8
	v_accvgpr_mov_b32 a215, a7
	v_accvgpr_mov_b32 a214, a6
	v_accvgpr_mov_b32 a213, a5
	v_accvgpr_mov_b32 a212, a4
	v_accvgpr_mov_b32 a211, a3
	v_accvgpr_mov_b32 a210, a2
	v_accvgpr_mov_b32 a209, a1
	v_accvgpr_mov_b32 a208, a0
	v_accvgpr_mov_b32 a206, a14
	v_accvgpr_mov_b32 a205, a13
	v_accvgpr_mov_b32 a204, a12
	v_accvgpr_mov_b32 a203, a11
	v_accvgpr_mov_b32 a202, a10
	v_accvgpr_mov_b32 a201, a9
	v_accvgpr_mov_b32 a200, a8
	v_accvgpr_mov_b32 a199, a7
	v_accvgpr_mov_b32 a198, a6
	v_accvgpr_mov_b32 a197, a5
	v_accvgpr_mov_b32 a196, a4
	v_accvgpr_mov_b32 a195, a3
	v_accvgpr_mov_b32 a194, a2
	v_accvgpr_mov_b32 a193, a1
	v_accvgpr_mov_b32 a192, a0
	v_accvgpr_mov_b32 a190, a14
	v_accvgpr_mov_b32 a189, a13
	v_accvgpr_mov_b32 a188, a12
	v_accvgpr_mov_b32 a187, a11
	v_accvgpr_mov_b32 a186, a10
	v_accvgpr_mov_b32 a185, a9
	v_accvgpr_mov_b32 a184, a8
	v_accvgpr_mov_b32 a183, a7
	v_accvgpr_mov_b32 a182, a6
	v_accvgpr_mov_b32 a181, a5
	v_accvgpr_mov_b32 a180, a4
	v_accvgpr_mov_b32 a179, a3
	v_accvgpr_mov_b32 a178, a2
	v_accvgpr_mov_b32 a177, a1
	v_accvgpr_mov_b32 a176, a0
	v_accvgpr_mov_b32 a174, a14
	v_accvgpr_mov_b32 a173, a13
	v_accvgpr_mov_b32 a172, a12
	v_accvgpr_mov_b32 a171, a11
	v_accvgpr_mov_b32 a170, a10
	v_accvgpr_mov_b32 a169, a9
	v_accvgpr_mov_b32 a168, a8
	v_accvgpr_mov_b32 a167, a7
	v_accvgpr_mov_b32 a166, a6
	v_accvgpr_mov_b32 a165, a5
	v_accvgpr_mov_b32 a164, a4
	v_accvgpr_mov_b32 a163, a3
	v_accvgpr_mov_b32 a162, a2
	v_accvgpr_mov_b32 a161, a1
	v_accvgpr_mov_b32 a160, a0
	v_accvgpr_mov_b32 a158, a14
	v_accvgpr_mov_b32 a157, a13
	v_accvgpr_mov_b32 a156, a12
	v_accvgpr_mov_b32 a155, a11
	v_accvgpr_mov_b32 a154, a10
	v_accvgpr_mov_b32 a153, a9
	v_accvgpr_mov_b32 a152, a8
	v_accvgpr_mov_b32 a151, a7
	v_accvgpr_mov_b32 a150, a6
	v_accvgpr_mov_b32 a149, a5
	v_accvgpr_mov_b32 a148, a4
	v_accvgpr_mov_b32 a147, a3
	v_accvgpr_mov_b32 a146, a2
	v_accvgpr_mov_b32 a145, a1
	v_accvgpr_mov_b32 a144, a0
	v_accvgpr_mov_b32 a142, a14
	v_accvgpr_mov_b32 a141, a13
	v_accvgpr_mov_b32 a140, a12
	v_accvgpr_mov_b32 a139, a11
	v_accvgpr_mov_b32 a138, a10
	v_accvgpr_mov_b32 a137, a9
	v_accvgpr_mov_b32 a136, a8
	v_accvgpr_mov_b32 a135, a7
	v_accvgpr_mov_b32 a134, a6
	v_accvgpr_mov_b32 a133, a5
	v_accvgpr_mov_b32 a132, a4
	v_accvgpr_mov_b32 a131, a3
	v_accvgpr_mov_b32 a130, a2
	v_accvgpr_mov_b32 a129, a1
	v_accvgpr_mov_b32 a128, a0
	v_accvgpr_mov_b32 a126, a14
	v_accvgpr_mov_b32 a125, a13
	v_accvgpr_mov_b32 a124, a12
	v_accvgpr_mov_b32 a123, a11
	v_accvgpr_mov_b32 a122, a10
	v_accvgpr_mov_b32 a121, a9
	v_accvgpr_mov_b32 a120, a8
	v_accvgpr_mov_b32 a119, a7
	v_accvgpr_mov_b32 a118, a6
	v_accvgpr_mov_b32 a117, a5
	v_accvgpr_mov_b32 a116, a4
	v_accvgpr_mov_b32 a115, a3
	v_accvgpr_mov_b32 a114, a2
	v_accvgpr_mov_b32 a113, a1
	v_accvgpr_mov_b32 a112, a0
	v_accvgpr_mov_b32 a110, a14
	v_accvgpr_mov_b32 a109, a13
	v_accvgpr_mov_b32 a108, a12
	v_accvgpr_mov_b32 a107, a11
	v_accvgpr_mov_b32 a106, a10
	v_accvgpr_mov_b32 a105, a9
	v_accvgpr_mov_b32 a104, a8
	v_accvgpr_mov_b32 a103, a7
	v_accvgpr_mov_b32 a102, a6
	v_accvgpr_mov_b32 a101, a5
	v_accvgpr_mov_b32 a100, a4
	v_accvgpr_mov_b32 a99, a3
	v_accvgpr_mov_b32 a98, a2
	v_accvgpr_mov_b32 a97, a1
	v_accvgpr_mov_b32 a96, a0
	v_accvgpr_mov_b32 a94, a14
	v_accvgpr_mov_b32 a93, a13
	v_accvgpr_mov_b32 a92, a12
	v_accvgpr_mov_b32 a91, a11
	v_accvgpr_mov_b32 a90, a10
	v_accvgpr_mov_b32 a89, a9
	v_accvgpr_mov_b32 a88, a8
	v_accvgpr_mov_b32 a87, a7
	v_accvgpr_mov_b32 a86, a6
	v_accvgpr_mov_b32 a85, a5
	v_accvgpr_mov_b32 a84, a4
	v_accvgpr_mov_b32 a83, a3
	v_accvgpr_mov_b32 a82, a2
	v_accvgpr_mov_b32 a81, a1
	v_accvgpr_mov_b32 a80, a0
	v_accvgpr_mov_b32 a78, a14
	v_accvgpr_mov_b32 a77, a13
	v_accvgpr_mov_b32 a76, a12
	v_accvgpr_mov_b32 a75, a11
	v_accvgpr_mov_b32 a74, a10
	v_accvgpr_mov_b32 a73, a9
	v_accvgpr_mov_b32 a72, a8
	v_accvgpr_mov_b32 a71, a7
	v_accvgpr_mov_b32 a70, a6
	v_accvgpr_mov_b32 a69, a5
	v_accvgpr_mov_b32 a68, a4
	v_accvgpr_mov_b32 a67, a3
	v_accvgpr_mov_b32 a66, a2
	v_accvgpr_mov_b32 a65, a1
	v_accvgpr_mov_b32 a64, a0
	v_accvgpr_mov_b32 a62, a14
	v_accvgpr_mov_b32 a61, a13
	v_accvgpr_mov_b32 a60, a12
	v_accvgpr_mov_b32 a59, a11
	v_accvgpr_mov_b32 a58, a10
	v_accvgpr_mov_b32 a57, a9
	v_accvgpr_mov_b32 a56, a8
	v_accvgpr_mov_b32 a55, a7
	v_accvgpr_mov_b32 a54, a6
	v_accvgpr_mov_b32 a53, a5
	v_accvgpr_mov_b32 a52, a4
	v_accvgpr_mov_b32 a51, a3
	v_accvgpr_mov_b32 a50, a2
	v_accvgpr_mov_b32 a49, a1
	v_accvgpr_mov_b32 a48, a0
	v_accvgpr_mov_b32 a46, a14
	v_accvgpr_mov_b32 a45, a13
	v_accvgpr_mov_b32 a44, a12
	v_accvgpr_mov_b32 a43, a11
	v_accvgpr_mov_b32 a42, a10
	v_accvgpr_mov_b32 a41, a9
	v_accvgpr_mov_b32 a40, a8
	v_accvgpr_mov_b32 a39, a7
	v_accvgpr_mov_b32 a38, a6
	v_accvgpr_mov_b32 a37, a5
	v_accvgpr_mov_b32 a36, a4
	v_accvgpr_mov_b32 a35, a3
	v_accvgpr_mov_b32 a34, a2
	v_accvgpr_mov_b32 a33, a1
	v_accvgpr_mov_b32 a32, a0
	v_accvgpr_mov_b32 a30, a14
	v_accvgpr_mov_b32 a29, a13
	v_accvgpr_mov_b32 a28, a12
	v_accvgpr_mov_b32 a27, a11
	v_accvgpr_mov_b32 a26, a10
	v_accvgpr_mov_b32 a25, a9
	v_accvgpr_mov_b32 a24, a8
	v_accvgpr_mov_b32 a23, a7
	v_accvgpr_mov_b32 a22, a6
	v_accvgpr_mov_b32 a21, a5
	v_accvgpr_mov_b32 a20, a4
	v_accvgpr_mov_b32 a19, a3
	v_accvgpr_mov_b32 a18, a2
	v_accvgpr_mov_b32 a17, a1
	v_accvgpr_mov_b32 a16, a0
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	s_waitcnt vmcnt(28)
	s_barrier
	ds_read_b128 v[118:121], v32
	ds_read_b128 v[114:117], v32 offset:4096
	ds_read_b128 v[110:113], v17
	ds_read_b128 v[106:109], v17 offset:4096
	ds_read_b128 v[102:105], v15
	ds_read_b128 v[98:101], v15 offset:4096
	ds_read_b128 v[94:97], v13
	ds_read_b128 v[90:93], v13 offset:4096
	s_waitcnt vmcnt(24)
	s_barrier
	v_or_b32_e32 v19, 0x10000, v11
	ds_read_b128 v[86:89], v19
	v_or_b32_e32 v21, 0x11000, v11
	ds_read_b128 v[82:85], v21
	v_or_b32_e32 v21, 0x10000, v9
	ds_read_b128 v[78:81], v21
	v_or_b32_e32 v23, 0x11000, v9
	ds_read_b128 v[74:77], v23
	v_or_b32_e32 v23, 0x10000, v7
	ds_read_b128 v[70:73], v23
	v_or_b32_e32 v25, 0x11000, v7
	ds_read_b128 v[66:69], v25
	v_or_b32_e32 v25, 0x10000, v5
	ds_read_b128 v[62:65], v25
	v_or_b32_e32 v27, 0x11000, v5
	ds_read_b128 v[58:61], v27
	s_cmp_lt_i32 s10, 1
	s_cbranch_scc1 .LBB0_3
	s_mov_b32 s3, s7
	v_or_b32_e32 v27, 0x14000, v11
	v_add_u32_e32 v29, 0x15000, v11
	v_or_b32_e32 v31, 0x14000, v9
	v_add_u32_e32 v33, 0x15000, v9
	v_or_b32_e32 v34, 0x14000, v7
	v_add_u32_e32 v35, 0x15000, v7
	v_or_b32_e32 v36, 0x14000, v5
	v_add_u32_e32 v37, 0x15000, v5
	v_or_b32_e32 v38, 0x18000, v11
	v_add_u32_e32 v39, 0x19000, v11
	v_or_b32_e32 v40, 0x18000, v9
	v_add_u32_e32 v41, 0x19000, v9
	v_or_b32_e32 v42, 0x18000, v7
	v_add_u32_e32 v43, 0x19000, v7
	v_or_b32_e32 v44, 0x18000, v5
	v_add_u32_e32 v45, 0x19000, v5
	v_or_b32_e32 v46, 0x1c000, v11
	v_add_u32_e32 v47, 0x1d000, v11
	v_or_b32_e32 v48, 0x1c000, v9
	v_add_u32_e32 v49, 0x1d000, v9
	v_or_b32_e32 v50, 0x1c000, v7
	v_add_u32_e32 v51, 0x1d000, v7
	v_or_b32_e32 v52, 0x1c000, v5
	v_add_u32_e32 v53, 0x1d000, v5
	v_add_u32_e32 v54, 0x11000, v11
	v_add_u32_e32 v55, 0x11000, v9
	v_add_u32_e32 v56, 0x11000, v7
	v_add_u32_e32 v57, 0x11000, v5
.LBB0_2:
	s_waitcnt vmcnt(16) lgkmcnt(0)
	s_barrier
	ds_read_b128 v[122:125], v27
	ds_read_b128 v[126:129], v29
	ds_read_b128 v[130:133], v31
	ds_read_b128 v[134:137], v33
	ds_read_b128 v[138:141], v34
	ds_read_b128 v[142:145], v35
	ds_read_b128 v[146:149], v36
	ds_read_b128 v[150:153], v37
	s_mov_b32 m0, s18
	s_nop 0
	buffer_load_dwordx4 v2, s[4:7], s22 offen lds
	s_mov_b32 m0, s19
	s_nop 0
	buffer_load_dwordx4 v4, s[4:7], s22 offen lds
	s_mov_b32 m0, s24
	s_nop 0
	buffer_load_dwordx4 v6, s[4:7], s22 offen lds
	s_mov_b32 m0, s25
	s_nop 0
	buffer_load_dwordx4 v8, s[4:7], s22 offen lds
	v_mfma_f32_32x32x16_bf16 a[240:255], v[118:121], v[86:89], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[118:121], v[82:85], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[114:117], v[86:89], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[114:117], v[82:85], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[110:113], v[78:81], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[110:113], v[74:77], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[106:109], v[78:81], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[106:109], v[74:77], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[102:105], v[70:73], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[102:105], v[66:69], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[98:101], v[70:73], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[98:101], v[66:69], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[94:97], v[62:65], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[94:97], v[58:61], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[90:93], v[62:65], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[90:93], v[58:61], a[160:175]
	ds_read_b128 v[154:157], v32 offset:16384
	ds_read_b128 v[158:161], v32 offset:20480
	ds_read_b128 v[162:165], v17 offset:16384
	ds_read_b128 v[166:169], v17 offset:20480
	ds_read_b128 v[170:173], v15 offset:16384
	ds_read_b128 v[174:177], v15 offset:20480
	ds_read_b128 v[178:181], v13 offset:16384
	ds_read_b128 v[182:185], v13 offset:20480
	s_mov_b32 m0, s26
	s_nop 0
	buffer_load_dwordx4 v0, s[0:3], s22 offen lds
	s_mov_b32 m0, s27
	s_nop 0
	buffer_load_dwordx4 v18, s[0:3], s22 offen lds
	s_mov_b32 m0, s28
	s_nop 0
	buffer_load_dwordx4 v20, s[0:3], s22 offen lds
	s_mov_b32 m0, s29
	s_nop 0
	buffer_load_dwordx4 v22, s[0:3], s22 offen lds
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[208:223], v[118:121], v[122:125], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[118:121], v[126:129], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[114:117], v[122:125], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[114:117], v[126:129], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[110:113], v[130:133], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[110:113], v[134:137], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[106:109], v[130:133], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[106:109], v[134:137], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[102:105], v[138:141], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[102:105], v[142:145], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[98:101], v[138:141], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[98:101], v[142:145], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[94:97], v[146:149], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[94:97], v[150:153], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[90:93], v[146:149], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[90:93], v[150:153], a[128:143]
	s_waitcnt vmcnt(16) lgkmcnt(0)
	s_barrier
	ds_read_b128 v[90:93], v32 offset:32768
	ds_read_b128 v[94:97], v32 offset:36864
	ds_read_b128 v[98:101], v17 offset:32768
	ds_read_b128 v[102:105], v17 offset:36864
	ds_read_b128 v[106:109], v15 offset:32768
	ds_read_b128 v[110:113], v15 offset:36864
	ds_read_b128 v[114:117], v13 offset:32768
	ds_read_b128 v[118:121], v13 offset:36864
	s_mov_b32 m0, s30
	s_nop 0
	buffer_load_dwordx4 v24, s[0:3], s22 offen lds
	s_mov_b32 m0, s31
	s_nop 0
	buffer_load_dwordx4 v26, s[0:3], s22 offen lds
	s_mov_b32 m0, s33
	s_nop 0
	buffer_load_dwordx4 v28, s[0:3], s22 offen lds
	s_mov_b32 m0, s34
	s_nop 0
	buffer_load_dwordx4 v30, s[0:3], s22 offen lds
	v_mfma_f32_32x32x16_bf16 a[112:127], v[154:157], v[86:89], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[154:157], v[82:85], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[158:161], v[86:89], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[158:161], v[82:85], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[162:165], v[78:81], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[162:165], v[74:77], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[166:169], v[78:81], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[166:169], v[74:77], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[170:173], v[70:73], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[170:173], v[66:69], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[174:177], v[70:73], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[174:177], v[66:69], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[178:181], v[62:65], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[178:181], v[58:61], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[182:185], v[62:65], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[182:185], v[58:61], a[32:47]
	ds_read_b128 v[58:61], v38
	ds_read_b128 v[62:65], v39
	ds_read_b128 v[66:69], v40
	ds_read_b128 v[70:73], v41
	ds_read_b128 v[74:77], v42
	ds_read_b128 v[78:81], v43
	ds_read_b128 v[82:85], v44
	ds_read_b128 v[86:89], v45
	s_mov_b32 m0, s35
	s_nop 0
	buffer_load_dwordx4 v10, s[4:7], s22 offen lds
	s_mov_b32 m0, s36
	s_nop 0
	buffer_load_dwordx4 v12, s[4:7], s22 offen lds
	s_mov_b32 m0, s37
	s_nop 0
	buffer_load_dwordx4 v14, s[4:7], s22 offen lds
	s_mov_b32 m0, s38
	s_nop 0
	buffer_load_dwordx4 v16, s[4:7], s22 offen lds
	v_mfma_f32_32x32x16_bf16 a[80:95], v[154:157], v[122:125], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[154:157], v[126:129], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[158:161], v[122:125], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[158:161], v[126:129], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[162:165], v[130:133], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[162:165], v[134:137], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[166:169], v[130:133], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[166:169], v[134:137], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[170:173], v[138:141], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[170:173], v[142:145], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[174:177], v[138:141], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[174:177], v[142:145], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[178:181], v[146:149], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[178:181], v[150:153], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[182:185], v[146:149], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[182:185], v[150:153], a[0:15]
	s_waitcnt vmcnt(16) lgkmcnt(0)
	s_barrier
	ds_read_b128 v[122:125], v46
	ds_read_b128 v[126:129], v47
	ds_read_b128 v[130:133], v48
	ds_read_b128 v[134:137], v49
	ds_read_b128 v[138:141], v50
	ds_read_b128 v[142:145], v51
	ds_read_b128 v[146:149], v52
	ds_read_b128 v[150:153], v53
	s_add_i32 s51, s22, 0x80
	s_mov_b32 m0, s39
	s_nop 0
	buffer_load_dwordx4 v2, s[4:7], s51 offen lds
	s_mov_b32 m0, s40
	s_nop 0
	buffer_load_dwordx4 v4, s[4:7], s51 offen lds
	s_mov_b32 m0, s41
	s_nop 0
	buffer_load_dwordx4 v6, s[4:7], s51 offen lds
	s_mov_b32 m0, s42
	s_nop 0
	buffer_load_dwordx4 v8, s[4:7], s51 offen lds
	v_mfma_f32_32x32x16_bf16 a[240:255], v[90:93], v[58:61], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[90:93], v[62:65], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[94:97], v[58:61], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[94:97], v[62:65], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[98:101], v[66:69], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[98:101], v[70:73], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[102:105], v[66:69], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[102:105], v[70:73], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[106:109], v[74:77], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[106:109], v[78:81], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[110:113], v[74:77], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[110:113], v[78:81], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[114:117], v[82:85], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[114:117], v[86:89], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[118:121], v[82:85], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[118:121], v[86:89], a[160:175]
	ds_read_b128 v[154:157], v32 offset:49152
	ds_read_b128 v[158:161], v32 offset:53248
	ds_read_b128 v[162:165], v17 offset:49152
	ds_read_b128 v[166:169], v17 offset:53248
	ds_read_b128 v[170:173], v15 offset:49152
	ds_read_b128 v[174:177], v15 offset:53248
	ds_read_b128 v[178:181], v13 offset:49152
	ds_read_b128 v[182:185], v13 offset:53248
	s_mov_b32 m0, s43
	s_nop 0
	buffer_load_dwordx4 v0, s[0:3], s51 offen lds
	s_mov_b32 m0, s44
	s_nop 0
	buffer_load_dwordx4 v18, s[0:3], s51 offen lds
	s_mov_b32 m0, s45
	s_nop 0
	buffer_load_dwordx4 v20, s[0:3], s51 offen lds
	s_mov_b32 m0, s46
	s_nop 0
	buffer_load_dwordx4 v22, s[0:3], s51 offen lds
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[208:223], v[90:93], v[122:125], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[90:93], v[126:129], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[94:97], v[122:125], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[94:97], v[126:129], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[98:101], v[130:133], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[98:101], v[134:137], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[102:105], v[130:133], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[102:105], v[134:137], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[106:109], v[138:141], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[106:109], v[142:145], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[110:113], v[138:141], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[110:113], v[142:145], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[114:117], v[146:149], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[114:117], v[150:153], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[118:121], v[146:149], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[118:121], v[150:153], a[128:143]
	s_waitcnt vmcnt(16) lgkmcnt(0)
	s_barrier
	ds_read_b128 v[118:121], v32
	ds_read_b128 v[114:117], v32 offset:4096
	ds_read_b128 v[110:113], v17
	ds_read_b128 v[106:109], v17 offset:4096
	ds_read_b128 v[102:105], v15
	ds_read_b128 v[98:101], v15 offset:4096
	ds_read_b128 v[94:97], v13
	ds_read_b128 v[90:93], v13 offset:4096
	s_mov_b32 m0, s47
	s_nop 0
	buffer_load_dwordx4 v24, s[0:3], s51 offen lds
	s_mov_b32 m0, s48
	s_nop 0
	buffer_load_dwordx4 v26, s[0:3], s51 offen lds
	s_mov_b32 m0, s49
	s_nop 0
	buffer_load_dwordx4 v28, s[0:3], s51 offen lds
	s_mov_b32 m0, s50
	s_nop 0
	buffer_load_dwordx4 v30, s[0:3], s51 offen lds
	v_mfma_f32_32x32x16_bf16 a[112:127], v[154:157], v[58:61], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[154:157], v[62:65], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[158:161], v[58:61], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[158:161], v[62:65], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[162:165], v[66:69], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[162:165], v[70:73], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[166:169], v[66:69], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[166:169], v[70:73], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[170:173], v[74:77], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[170:173], v[78:81], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[174:177], v[74:77], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[174:177], v[78:81], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[178:181], v[82:85], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[178:181], v[86:89], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[182:185], v[82:85], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[182:185], v[86:89], a[32:47]
	ds_read_b128 v[86:89], v19
	ds_read_b128 v[82:85], v54
	ds_read_b128 v[78:81], v21
	ds_read_b128 v[74:77], v55
	ds_read_b128 v[70:73], v23
	ds_read_b128 v[66:69], v56
	ds_read_b128 v[62:65], v25
	ds_read_b128 v[58:61], v57
	s_mov_b32 m0, s12
	s_nop 0
	buffer_load_dwordx4 v10, s[4:7], s51 offen lds
	s_mov_b32 m0, s13
	s_nop 0
	buffer_load_dwordx4 v12, s[4:7], s51 offen lds
	s_mov_b32 m0, s14
	s_nop 0
	buffer_load_dwordx4 v14, s[4:7], s51 offen lds
	s_mov_b32 m0, s15
	s_nop 0
	buffer_load_dwordx4 v16, s[4:7], s51 offen lds
	v_mfma_f32_32x32x16_bf16 a[80:95], v[154:157], v[122:125], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[154:157], v[126:129], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[158:161], v[122:125], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[158:161], v[126:129], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[162:165], v[130:133], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[162:165], v[134:137], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[166:169], v[130:133], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[166:169], v[134:137], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[170:173], v[138:141], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[170:173], v[142:145], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[174:177], v[138:141], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[174:177], v[142:145], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[178:181], v[146:149], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[178:181], v[150:153], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[182:185], v[146:149], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[182:185], v[150:153], a[0:15]
	s_add_i32 s23, s23, 1
	s_addk_i32 s22, 0x100
	s_cmp_lt_i32 s23, s10
	s_cbranch_scc1 .LBB0_2
.LBB0_3:
	s_waitcnt vmcnt(0)
	s_barrier
	v_or_b32_e32 v0, 0x14000, v11
	ds_read_b128 v[18:21], v0
	v_or_b32_e32 v0, 0x10000, v11
	v_add_u32_e32 v2, 0x15000, v11
	ds_read_b128 v[22:25], v2
	v_or_b32_e32 v2, 0x14000, v9
	ds_read_b128 v[26:29], v2
	v_or_b32_e32 v2, 0x10000, v9
	v_add_u32_e32 v4, 0x15000, v9
	ds_read_b128 v[34:37], v4
	v_or_b32_e32 v4, 0x14000, v7
	ds_read_b128 v[38:41], v4
	v_or_b32_e32 v4, 0x10000, v7
	v_add_u32_e32 v6, 0x15000, v7
	ds_read_b128 v[42:45], v6
	v_or_b32_e32 v6, 0x14000, v5
	ds_read_b128 v[46:49], v6
	v_or_b32_e32 v122, 0x10000, v5
	v_add_u32_e32 v6, 0x15000, v5
	ds_read_b128 v[50:53], v6
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[240:255], v[118:121], v[86:89], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[118:121], v[82:85], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[114:117], v[86:89], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[114:117], v[82:85], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[110:113], v[78:81], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[110:113], v[74:77], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[106:109], v[78:81], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[106:109], v[74:77], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[102:105], v[70:73], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[102:105], v[66:69], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[98:101], v[70:73], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[98:101], v[66:69], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[94:97], v[62:65], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[94:97], v[58:61], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[90:93], v[62:65], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[90:93], v[58:61], a[160:175]
	ds_read_b128 v[54:57], v32 offset:16384
	ds_read_b128 v[124:127], v32 offset:20480
	ds_read_b128 v[128:131], v17 offset:16384
	ds_read_b128 v[132:135], v17 offset:20480
	ds_read_b128 v[136:139], v15 offset:16384
	ds_read_b128 v[140:143], v15 offset:20480
	ds_read_b128 v[144:147], v13 offset:16384
	ds_read_b128 v[148:151], v13 offset:20480
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[208:223], v[118:121], v[18:21], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[118:121], v[22:25], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[114:117], v[18:21], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[114:117], v[22:25], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[110:113], v[26:29], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[110:113], v[34:37], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[106:109], v[26:29], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[106:109], v[34:37], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[102:105], v[38:41], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[102:105], v[42:45], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[98:101], v[38:41], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[98:101], v[42:45], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[94:97], v[46:49], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[94:97], v[50:53], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[90:93], v[46:49], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[90:93], v[50:53], a[128:143]
	ds_read_b128 v[90:93], v32 offset:32768
	ds_read_b128 v[94:97], v32 offset:36864
	ds_read_b128 v[98:101], v17 offset:32768
	ds_read_b128 v[102:105], v17 offset:36864
	ds_read_b128 v[106:109], v15 offset:32768
	ds_read_b128 v[110:113], v15 offset:36864
	ds_read_b128 v[114:117], v13 offset:32768
	ds_read_b128 v[118:121], v13 offset:36864
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[112:127], v[54:57], v[86:89], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[54:57], v[82:85], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[124:127], v[86:89], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[124:127], v[82:85], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[128:131], v[78:81], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[128:131], v[74:77], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[132:135], v[78:81], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[132:135], v[74:77], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[136:139], v[70:73], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[136:139], v[66:69], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[140:143], v[70:73], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[140:143], v[66:69], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[144:147], v[62:65], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[144:147], v[58:61], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[148:151], v[62:65], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[148:151], v[58:61], a[32:47]
	v_or_b32_e32 v6, 0x18000, v11
	ds_read_b128 v[58:61], v6
	v_add_u32_e32 v6, 0x19000, v11
	ds_read_b128 v[62:65], v6
	v_or_b32_e32 v6, 0x18000, v9
	ds_read_b128 v[66:69], v6
	v_add_u32_e32 v6, 0x19000, v9
	ds_read_b128 v[70:73], v6
	v_or_b32_e32 v6, 0x18000, v7
	ds_read_b128 v[74:77], v6
	v_add_u32_e32 v6, 0x19000, v7
	ds_read_b128 v[78:81], v6
	v_or_b32_e32 v6, 0x18000, v5
	ds_read_b128 v[82:85], v6
	v_add_u32_e32 v6, 0x19000, v5
	ds_read_b128 v[86:89], v6
	v_mfma_f32_32x32x16_bf16 a[80:95], v[54:57], v[18:21], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[54:57], v[22:25], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[124:127], v[18:21], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[124:127], v[22:25], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[128:131], v[26:29], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[128:131], v[34:37], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[132:135], v[26:29], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[132:135], v[34:37], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[136:139], v[38:41], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[136:139], v[42:45], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[140:143], v[38:41], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[140:143], v[42:45], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[144:147], v[46:49], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[144:147], v[50:53], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[148:151], v[46:49], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[148:151], v[50:53], a[0:15]
	v_or_b32_e32 v6, 0x1c000, v11
	ds_read_b128 v[124:127], v6
	v_add_u32_e32 v6, 0x1d000, v11
	ds_read_b128 v[128:131], v6
	v_or_b32_e32 v6, 0x1c000, v9
	ds_read_b128 v[132:135], v6
	v_add_u32_e32 v6, 0x1d000, v9
	ds_read_b128 v[136:139], v6
	v_or_b32_e32 v6, 0x1c000, v7
	ds_read_b128 v[140:143], v6
	v_add_u32_e32 v6, 0x1d000, v7
	ds_read_b128 v[144:147], v6
	v_or_b32_e32 v6, 0x1c000, v5
	ds_read_b128 v[148:151], v6
	v_add_u32_e32 v6, 0x1d000, v5
	ds_read_b128 v[152:155], v6
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[240:255], v[90:93], v[58:61], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[90:93], v[62:65], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[94:97], v[58:61], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[94:97], v[62:65], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[98:101], v[66:69], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[98:101], v[70:73], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[102:105], v[66:69], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[102:105], v[70:73], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[106:109], v[74:77], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[106:109], v[78:81], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[110:113], v[74:77], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[110:113], v[78:81], a[160:175]
	v_mfma_f32_32x32x16_bf16 a[240:255], v[114:117], v[82:85], a[240:255]
	v_mfma_f32_32x32x16_bf16 a[224:239], v[114:117], v[86:89], a[224:239]
	v_mfma_f32_32x32x16_bf16 a[176:191], v[118:121], v[82:85], a[176:191]
	v_mfma_f32_32x32x16_bf16 a[160:175], v[118:121], v[86:89], a[160:175]
	ds_read_b128 v[156:159], v32 offset:49152
	ds_read_b128 v[160:163], v32 offset:53248
	ds_read_b128 v[164:167], v17 offset:49152
	ds_read_b128 v[168:171], v17 offset:53248
	ds_read_b128 v[172:175], v15 offset:49152
	ds_read_b128 v[176:179], v15 offset:53248
	ds_read_b128 v[180:183], v13 offset:49152
	ds_read_b128 v[184:187], v13 offset:53248
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[208:223], v[90:93], v[124:127], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[90:93], v[128:131], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[94:97], v[124:127], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[94:97], v[128:131], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[98:101], v[132:135], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[98:101], v[136:139], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[102:105], v[132:135], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[102:105], v[136:139], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[106:109], v[140:143], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[106:109], v[144:147], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[110:113], v[140:143], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[110:113], v[144:147], a[128:143]
	v_mfma_f32_32x32x16_bf16 a[208:223], v[114:117], v[148:151], a[208:223]
	v_mfma_f32_32x32x16_bf16 a[192:207], v[114:117], v[152:155], a[192:207]
	v_mfma_f32_32x32x16_bf16 a[144:159], v[118:121], v[148:151], a[144:159]
	v_mfma_f32_32x32x16_bf16 a[128:143], v[118:121], v[152:155], a[128:143]
	ds_read_b128 v[18:21], v32
	ds_read_b128 v[22:25], v32 offset:4096
	ds_read_b128 v[26:29], v17
	ds_read_b128 v[30:33], v17 offset:4096
	ds_read_b128 v[34:37], v15
	ds_read_b128 v[14:17], v15 offset:4096
	ds_read_b128 v[38:41], v13
	ds_read_b128 v[42:45], v13 offset:4096
	s_waitcnt lgkmcnt(8)
	v_mfma_f32_32x32x16_bf16 a[112:127], v[156:159], v[58:61], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[156:159], v[62:65], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[160:163], v[58:61], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[160:163], v[62:65], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[164:167], v[66:69], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[164:167], v[70:73], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[168:171], v[66:69], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[168:171], v[70:73], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[172:175], v[74:77], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[172:175], v[78:81], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[176:179], v[74:77], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[176:179], v[78:81], a[32:47]
	v_mfma_f32_32x32x16_bf16 a[112:127], v[180:183], v[82:85], a[112:127]
	v_mfma_f32_32x32x16_bf16 a[96:111], v[180:183], v[86:89], a[96:111]
	v_mfma_f32_32x32x16_bf16 a[48:63], v[184:187], v[82:85], a[48:63]
	v_mfma_f32_32x32x16_bf16 a[32:47], v[184:187], v[86:89], a[32:47]
	ds_read_b128 v[46:49], v0
	v_add_u32_e32 v0, 0x11000, v11
	ds_read_b128 v[10:13], v0
	ds_read_b128 v[50:53], v2
	v_add_u32_e32 v0, 0x11000, v9
	ds_read_b128 v[54:57], v0
	ds_read_b128 v[58:61], v4
	v_add_u32_e32 v0, 0x11000, v7
	ds_read_b128 v[6:9], v0
	ds_read_b128 v[62:65], v122
	v_add_u32_e32 v0, 0x11000, v5
	ds_read_b128 v[66:69], v0
	v_mfma_f32_32x32x16_bf16 a[80:95], v[156:159], v[124:127], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[156:159], v[128:131], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[160:163], v[124:127], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[160:163], v[128:131], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[164:167], v[132:135], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[164:167], v[136:139], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[168:171], v[132:135], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[168:171], v[136:139], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[172:175], v[140:143], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[172:175], v[144:147], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[176:179], v[140:143], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[176:179], v[144:147], a[0:15]
	v_mfma_f32_32x32x16_bf16 a[80:95], v[180:183], v[148:151], a[80:95]
	v_mfma_f32_32x32x16_bf16 a[64:79], v[180:183], v[152:155], a[64:79]
	v_mfma_f32_32x32x16_bf16 a[16:31], v[184:187], v[148:151], a[16:31]
	v_mfma_f32_32x32x16_bf16 a[0:15], v[184:187], v[152:155], a[0:15]
	s_barrier
	s_waitcnt lgkmcnt(0)
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	;;#ASMSTART
	;;#ASMEND
	s_lshl_b32 s6, s9, 2
	s_mul_i32 s1, s11, s6
	v_add_u32_e32 v1, s17, v1
	s_mul_hi_u32 s0, s11, s6
	s_add_u32 s12, s20, s1
	v_add_u32_e32 v2, 32, v1
	s_addc_u32 s0, s21, s0
	v_cmp_gt_u32_e64 s[4:5], s9, v1
	v_lshlrev_b32_e32 v0, 2, v1
	v_cmp_gt_u32_e64 s[2:3], s9, v2
	v_add_u32_e32 v2, 0x80, v1
	v_add_u32_e32 v1, 0xa0, v1
	s_mul_i32 s14, s8, s6
	s_and_b32 s13, s0, 0xffff
	s_mov_b32 s15, 0x27000
	v_cmp_gt_u32_e64 s[0:1], s9, v2
	v_cmp_gt_u32_e32 vcc, s9, v1
	v_lshl_add_u32 v2, v3, 2, s16
	v_mad_u64_u32 v[4:5], s[10:11], v2, s6, v[0:1]
	v_bfrev_b32_e32 v1, 1
	v_cndmask_b32_e64 v3, v1, v4, s[4:5]
	buffer_store_dword a240, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v4
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a224, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v4
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a208, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v4
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a192, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v4
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a241, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a225, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a209, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v3
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a193, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a242, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a226, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a210, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v3
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a194, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a243, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a227, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a211, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v3
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a195, v3, s[12:15], 0 offen
	s_mul_i32 s7, s9, 24
	s_add_i32 s7, s7, s6
	s_add_i32 s7, s7, s6
	v_add_u32_e32 v3, s7, v4
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a244, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a228, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a212, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a196, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v3
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a245, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a229, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a213, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a197, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a246, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a230, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a214, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a198, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a247, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a231, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a215, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v4
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a199, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a248, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a232, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a216, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a200, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v3
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a249, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a233, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a217, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a201, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a250, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a234, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a218, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a202, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a251, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a235, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a219, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v4
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a203, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a252, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a236, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a220, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a204, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a253, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a237, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a221, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a205, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a254, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a238, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a222, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a206, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a255, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a239, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a223, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v3
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a207, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 32, v2
	v_mad_u64_u32 v[4:5], s[8:9], v3, s6, v[0:1]
	v_cndmask_b32_e64 v3, v1, v4, s[4:5]
	buffer_store_dword a176, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v4
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a160, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v4
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a144, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v4
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a128, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v4
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a177, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a161, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a145, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v3
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a129, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a178, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a162, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a146, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v3
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a130, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a179, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a163, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a147, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v3
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a131, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v4
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a180, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a164, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a148, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a132, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v3
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a181, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a165, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a149, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a133, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a182, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a166, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a150, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a134, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a183, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a167, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a151, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v4
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a135, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a184, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a168, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a152, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a136, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v3
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a185, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a169, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a153, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a137, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a186, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a170, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a154, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a138, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a187, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a171, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a155, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v4
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a139, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a188, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a172, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a156, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a140, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a189, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a173, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a157, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a141, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a190, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a174, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a158, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a142, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a191, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a175, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a159, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v3
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a143, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_mad_u64_u32 v[4:5], s[8:9], v3, s6, v[0:1]
	v_cndmask_b32_e64 v3, v1, v4, s[4:5]
	buffer_store_dword a112, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v4
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a96, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v4
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a80, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v4
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a64, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v4
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a113, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a97, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a81, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v3
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a65, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a114, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a98, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a82, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v3
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a66, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v5, v1, v3, s[4:5]
	buffer_store_dword a115, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v3
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a99, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v3
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a83, v5, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v3
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a67, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v4
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a116, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a100, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a84, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a68, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v3
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a117, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a101, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a85, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a69, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a118, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a102, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a86, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a70, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a119, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a103, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a87, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v4
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a71, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a120, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a104, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a88, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a72, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v3
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a121, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a105, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a89, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a73, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a122, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a106, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a90, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x280, v4
	v_cndmask_b32_e32 v5, v1, v5, vcc
	buffer_store_dword a74, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, s6, v4
	v_cndmask_b32_e64 v5, v1, v4, s[4:5]
	buffer_store_dword a123, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x80, v4
	v_cndmask_b32_e64 v5, v1, v5, s[2:3]
	buffer_store_dword a107, v5, s[12:15], 0 offen
	v_add_u32_e32 v5, 0x200, v4
	v_cndmask_b32_e64 v5, v1, v5, s[0:1]
	buffer_store_dword a91, v5, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v4
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a75, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s7, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a124, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a108, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a92, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a76, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a125, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a109, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a93, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a77, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a126, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a110, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a94, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x280, v3
	v_cndmask_b32_e32 v4, v1, v4, vcc
	buffer_store_dword a78, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, s6, v3
	v_cndmask_b32_e64 v4, v1, v3, s[4:5]
	buffer_store_dword a127, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x80, v3
	v_cndmask_b32_e64 v4, v1, v4, s[2:3]
	buffer_store_dword a111, v4, s[12:15], 0 offen
	v_add_u32_e32 v4, 0x200, v3
	v_cndmask_b32_e64 v4, v1, v4, s[0:1]
	buffer_store_dword a95, v4, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v3
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a79, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, 0xa0, v2
	v_mad_u64_u32 v[2:3], s[8:9], v2, s6, v[0:1]
	v_cndmask_b32_e64 v0, v1, v2, s[4:5]
	buffer_store_dword a48, v0, s[12:15], 0 offen
	v_add_u32_e32 v0, 0x80, v2
	v_cndmask_b32_e64 v0, v1, v0, s[2:3]
	buffer_store_dword a32, v0, s[12:15], 0 offen
	v_add_u32_e32 v0, 0x200, v2
	v_cndmask_b32_e64 v0, v1, v0, s[0:1]
	buffer_store_dword a16, v0, s[12:15], 0 offen
	v_add_u32_e32 v0, 0x280, v2
	v_cndmask_b32_e32 v0, v1, v0, vcc
	buffer_store_dword a0, v0, s[12:15], 0 offen
	v_add_u32_e32 v0, s6, v2
	v_cndmask_b32_e64 v3, v1, v0, s[4:5]
	buffer_store_dword a49, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v0
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a33, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v0
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a17, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v0
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a1, v3, s[12:15], 0 offen
	v_add_u32_e32 v0, s6, v0
	v_cndmask_b32_e64 v3, v1, v0, s[4:5]
	buffer_store_dword a50, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v0
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a34, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v0
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a18, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v0
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a2, v3, s[12:15], 0 offen
	v_add_u32_e32 v0, s6, v0
	v_cndmask_b32_e64 v3, v1, v0, s[4:5]
	buffer_store_dword a51, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v0
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a35, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v0
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a19, v3, s[12:15], 0 offen
	v_add_u32_e32 v0, 0x280, v0
	v_cndmask_b32_e32 v0, v1, v0, vcc
	buffer_store_dword a3, v0, s[12:15], 0 offen
	v_add_u32_e32 v0, s7, v2
	v_cndmask_b32_e64 v2, v1, v0, s[4:5]
	buffer_store_dword a52, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x80, v0
	v_cndmask_b32_e64 v2, v1, v2, s[2:3]
	buffer_store_dword a36, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x200, v0
	v_cndmask_b32_e64 v2, v1, v2, s[0:1]
	buffer_store_dword a20, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v0
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a4, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, s6, v0
	v_cndmask_b32_e64 v3, v1, v2, s[4:5]
	buffer_store_dword a53, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a37, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v2
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a21, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v2
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a5, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, s6, v2
	v_cndmask_b32_e64 v3, v1, v2, s[4:5]
	buffer_store_dword a54, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a38, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v2
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a22, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v2
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a6, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, s6, v2
	v_cndmask_b32_e64 v3, v1, v2, s[4:5]
	buffer_store_dword a55, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a39, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v2
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a23, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v2
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a7, v2, s[12:15], 0 offen
	v_add_u32_e32 v0, s7, v0
	v_cndmask_b32_e64 v2, v1, v0, s[4:5]
	buffer_store_dword a56, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x80, v0
	v_cndmask_b32_e64 v2, v1, v2, s[2:3]
	buffer_store_dword a40, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x200, v0
	v_cndmask_b32_e64 v2, v1, v2, s[0:1]
	buffer_store_dword a24, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v0
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a8, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, s6, v0
	v_cndmask_b32_e64 v3, v1, v2, s[4:5]
	buffer_store_dword a57, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a41, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v2
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a25, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v2
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a9, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, s6, v2
	v_cndmask_b32_e64 v3, v1, v2, s[4:5]
	buffer_store_dword a58, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a42, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v2
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a26, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x280, v2
	v_cndmask_b32_e32 v3, v1, v3, vcc
	buffer_store_dword a10, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, s6, v2
	v_cndmask_b32_e64 v3, v1, v2, s[4:5]
	buffer_store_dword a59, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x80, v2
	v_cndmask_b32_e64 v3, v1, v3, s[2:3]
	buffer_store_dword a43, v3, s[12:15], 0 offen
	v_add_u32_e32 v3, 0x200, v2
	v_cndmask_b32_e64 v3, v1, v3, s[0:1]
	buffer_store_dword a27, v3, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v2
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a11, v2, s[12:15], 0 offen
	v_add_u32_e32 v0, s7, v0
	v_cndmask_b32_e64 v2, v1, v0, s[4:5]
	buffer_store_dword a60, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x80, v0
	v_cndmask_b32_e64 v2, v1, v2, s[2:3]
	buffer_store_dword a44, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x200, v0
	v_cndmask_b32_e64 v2, v1, v2, s[0:1]
	buffer_store_dword a28, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v0
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a12, v2, s[12:15], 0 offen
	v_add_u32_e32 v0, s6, v0
	v_cndmask_b32_e64 v2, v1, v0, s[4:5]
	buffer_store_dword a61, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x80, v0
	v_cndmask_b32_e64 v2, v1, v2, s[2:3]
	buffer_store_dword a45, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x200, v0
	v_cndmask_b32_e64 v2, v1, v2, s[0:1]
	buffer_store_dword a29, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v0
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a13, v2, s[12:15], 0 offen
	v_add_u32_e32 v0, s6, v0
	v_cndmask_b32_e64 v2, v1, v0, s[4:5]
	buffer_store_dword a62, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x80, v0
	v_cndmask_b32_e64 v2, v1, v2, s[2:3]
	buffer_store_dword a46, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x200, v0
	v_cndmask_b32_e64 v2, v1, v2, s[0:1]
	buffer_store_dword a30, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x280, v0
	v_cndmask_b32_e32 v2, v1, v2, vcc
	buffer_store_dword a14, v2, s[12:15], 0 offen
	v_add_u32_e32 v0, s6, v0
	v_cndmask_b32_e64 v2, v1, v0, s[4:5]
	buffer_store_dword a63, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x80, v0
	v_cndmask_b32_e64 v2, v1, v2, s[2:3]
	buffer_store_dword a47, v2, s[12:15], 0 offen
	v_add_u32_e32 v2, 0x200, v0
	v_cndmask_b32_e64 v2, v1, v2, s[0:1]
	buffer_store_dword a31, v2, s[12:15], 0 offen
	v_add_u32_e32 v0, 0x280, v0
	v_cndmask_b32_e32 v0, v1, v0, vcc
	buffer_store_dword a15, v0, s[12:15], 0 offen
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel warploom_gemm
		.amdhsa_group_segment_fixed_size 131072
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 36
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 444
		.amdhsa_next_free_sgpr 96
		.amdhsa_accum_offset 188
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_xnack_mask 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	warploom_gemm, .Lfunc_end0-warploom_gemm

	.set warploom_gemm.num_vgpr, 188
	.set warploom_gemm.num_agpr, 256
	.set warploom_gemm.numbered_sgpr, 52
	.set warploom_gemm.num_named_barrier, 0
	.set warploom_gemm.private_seg_size, 0
	.set warploom_gemm.uses_vcc, 1
	.set warploom_gemm.uses_flat_scratch, 0
	.set warploom_gemm.has_dyn_sized_stack, 0
	.set warploom_gemm.has_recursion, 0
	.set warploom_gemm.has_indirect_call, 0
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 0
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 0
	.set amdgpu.max_num_named_barrier, 0
	.text
	.section	".note.GNU-stack","",@progbits
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     256
    .args:
      - .address_space:  global
        .name:           mat_a
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           mat_b
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .address_space:  global
        .name:           mat_c
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
      - .name:           dim_m
        .offset:         24
        .size:           4
        .value_kind:     by_value
      - .name:           dim_n
        .offset:         28
        .size:           4
        .value_kind:     by_value
      - .name:           dim_k
        .offset:         32
        .size:           4
        .value_kind:     by_value
    .group_segment_fixed_size: 131072
    .kernarg_segment_align: 8
    .kernarg_segment_size: 36
    .max_flat_workgroup_size: 256
    .name:           warploom_gemm
    .private_segment_fixed_size: 0
    .sgpr_count:     58
    .sgpr_spill_count: 0
    .symbol:         warploom_gemm.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     444
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx950
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
