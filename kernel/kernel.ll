target triple = "amdgcn-amd-amdhsa"
@lds_a = internal addrspace(3) global [65536 x i8] poison, align 1024
@lds_b = internal addrspace(3) global [65536 x i8] poison, align 1024
define amdgpu_kernel void @warploom_gemm(ptr addrspace(1) noalias %mat_a, ptr addrspace(1) noalias %mat_b, ptr addrspace(1) noalias %mat_c, i32 %dim_m, i32 %dim_n, i32 %dim_k) #0 {
entry:
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %block0 = call i32 @llvm.amdgcn.workgroup.id.x()
  %block1 = call i32 @llvm.amdgcn.workgroup.id.y()
  %v1 = lshr i32 %tid, 6
  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %v1)
  %lane = and i32 %tid, 63
  %wave0 = udiv i32 %wave, 2
  %wave1 = urem i32 %wave, 2
  %group = udiv i32 %wave, 4
  %row_pitch = mul i32 %dim_k, 2
  %first_row0 = mul i32 %block0, 256
  %v2 = sub i32 %dim_m, %first_row0
  %rows0 = call i32 @llvm.umin.i32(i32 %v2, i32 256)
  %last_row0 = sub i32 %rows0, 1
  %v3 = mul i32 %rows0, %row_pitch
  %v4 = zext i32 %v3 to i64
  %v5 = zext i32 %first_row0 to i64
  %v6 = zext i32 %row_pitch to i64
  %v7 = mul i64 %v5, %v6
  %v8 = getelementptr i8, ptr addrspace(1) %mat_a, i64 %v7
  %rsrc0 = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v8, i16 0, i64 %v4, i32 159744)
  %v9 = lshr i32 %tid, 3
  %v10 = and i32 %tid, 7
  %v11 = and i32 %v9, 7
  %v12 = xor i32 %v10, %v11
  %v13 = shl i32 %v12, 4
  %load_column = add i32 %v13, 0
  %v14 = call i32 @llvm.umin.i32(i32 %v9, i32 %last_row0)
  %v15 = mul i32 %v14, %row_pitch
  %load_0_0_0 = add i32 %v15, %v13
  %v16 = add i32 %v9, 32
  %v17 = call i32 @llvm.umin.i32(i32 %v16, i32 %last_row0)
  %v18 = mul i32 %v17, %row_pitch
  %load_0_0_1 = add i32 %v18, %v13
  %v19 = add i32 %v9, 64
  %v20 = call i32 @llvm.umin.i32(i32 %v19, i32 %last_row0)
  %v21 = mul i32 %v20, %row_pitch
  %load_0_0_2 = add i32 %v21, %v13
  %v22 = add i32 %v9, 96
  %v23 = call i32 @llvm.umin.i32(i32 %v22, i32 %last_row0)
  %v24 = mul i32 %v23, %row_pitch
  %load_0_0_3 = add i32 %v24, %v13
  %v25 = add i32 %v9, 128
  %v26 = call i32 @llvm.umin.i32(i32 %v25, i32 %last_row0)
  %v27 = mul i32 %v26, %row_pitch
  %load_0_1_0 = add i32 %v27, %v13
  %v28 = add i32 %v9, 160
  %v29 = call i32 @llvm.umin.i32(i32 %v28, i32 %last_row0)
  %v30 = mul i32 %v29, %row_pitch
  %load_0_1_1 = add i32 %v30, %v13
  %v31 = add i32 %v9, 192
  %v32 = call i32 @llvm.umin.i32(i32 %v31, i32 %last_row0)
  %v33 = mul i32 %v32, %row_pitch
  %load_0_1_2 = add i32 %v33, %v13
  %v34 = add i32 %v9, 224
  %v35 = call i32 @llvm.umin.i32(i32 %v34, i32 %last_row0)
  %v36 = mul i32 %v35, %row_pitch
  %load_0_1_3 = add i32 %v36, %v13
  %v37 = and i32 %lane, 31
  %v38 = lshr i32 %lane, 5
  %v39 = and i32 %v37, 7
  %v40 = shl i32 %wave0, 6
  %v41 = add i32 %v40, %v37
  %v42 = shl i32 %v41, 7
  %v43 = xor i32 %v38, %v39
  %v44 = shl i32 %v43, 4
  %frag_0_0 = add i32 %v42, %v44
  %v45 = add i32 %v38, 2
  %v46 = xor i32 %v45, %v39
  %v47 = shl i32 %v46, 4
  %frag_0_1 = add i32 %v42, %v47
  %v48 = add i32 %v38, 4
  %v49 = xor i32 %v48, %v39
  %v50 = shl i32 %v49, 4
  %frag_0_2 = add i32 %v42, %v50
  %v51 = add i32 %v38, 6
  %v52 = xor i32 %v51, %v39
  %v53 = shl i32 %v52, 4
  %frag_0_3 = add i32 %v42, %v53
  %first_row1 = mul i32 %block1, 256
  %v54 = sub i32 %dim_n, %first_row1
  %rows1 = call i32 @llvm.umin.i32(i32 %v54, i32 256)
  %last_row1 = sub i32 %rows1, 1
  %v55 = mul i32 %rows1, %row_pitch
  %v56 = zext i32 %v55 to i64
  %v57 = zext i32 %first_row1 to i64
  %v58 = zext i32 %row_pitch to i64
  %v59 = mul i64 %v57, %v58
  %v60 = getelementptr i8, ptr addrspace(1) %mat_b, i64 %v59
  %rsrc1 = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v60, i16 0, i64 %v56, i32 159744)
  %v61 = lshr i32 %tid, 3
  %v62 = and i32 %tid, 7
  %v63 = and i32 %v61, 7
  %v64 = xor i32 %v62, %v63
  %v65 = shl i32 %v64, 4
  %v66 = call i32 @llvm.umin.i32(i32 %v61, i32 %last_row1)
  %v67 = mul i32 %v66, %row_pitch
  %load_1_0_0 = add i32 %v67, %v65
  %v68 = add i32 %v61, 32
  %v69 = call i32 @llvm.umin.i32(i32 %v68, i32 %last_row1)
  %v70 = mul i32 %v69, %row_pitch
  %load_1_0_1 = add i32 %v70, %v65
  %v71 = add i32 %v61, 64
  %v72 = call i32 @llvm.umin.i32(i32 %v71, i32 %last_row1)
  %v73 = mul i32 %v72, %row_pitch
  %load_1_0_2 = add i32 %v73, %v65
  %v74 = add i32 %v61, 96
  %v75 = call i32 @llvm.umin.i32(i32 %v74, i32 %last_row1)
  %v76 = mul i32 %v75, %row_pitch
  %load_1_0_3 = add i32 %v76, %v65
  %v77 = add i32 %v61, 128
  %v78 = call i32 @llvm.umin.i32(i32 %v77, i32 %last_row1)
  %v79 = mul i32 %v78, %row_pitch
  %load_1_1_0 = add i32 %v79, %v65
  %v80 = add i32 %v61, 160
  %v81 = call i32 @llvm.umin.i32(i32 %v80, i32 %last_row1)
  %v82 = mul i32 %v81, %row_pitch
  %load_1_1_1 = add i32 %v82, %v65
  %v83 = add i32 %v61, 192
  %v84 = call i32 @llvm.umin.i32(i32 %v83, i32 %last_row1)
  %v85 = mul i32 %v84, %row_pitch
  %load_1_1_2 = add i32 %v85, %v65
  %v86 = add i32 %v61, 224
  %v87 = call i32 @llvm.umin.i32(i32 %v86, i32 %last_row1)
  %v88 = mul i32 %v87, %row_pitch
  %load_1_1_3 = add i32 %v88, %v65
  %v89 = and i32 %lane, 31
  %v90 = lshr i32 %lane, 5
  %v91 = and i32 %v89, 7
  %v92 = shl i32 %wave1, 6
  %v93 = add i32 %v92, %v89
  %v94 = shl i32 %v93, 7
  %v95 = xor i32 %v90, %v91
  %v96 = shl i32 %v95, 4
  %frag_1_0 = add i32 %v94, %v96
  %v97 = add i32 %v90, 2
  %v98 = xor i32 %v97, %v91
  %v99 = shl i32 %v98, 4
  %frag_1_1 = add i32 %v94, %v99
  %v100 = add i32 %v90, 4
  %v101 = xor i32 %v100, %v91
  %v102 = shl i32 %v101, 4
  %frag_1_2 = add i32 %v94, %v102
  %v103 = add i32 %v90, 6
  %v104 = xor i32 %v103, %v91
  %v105 = shl i32 %v104, 4
  %frag_1_3 = add i32 %v94, %v105
  %share = mul i32 %wave, 1024
  %thread_share = mul i32 %tid, 16
  %v106 = udiv i32 %dim_k, 64
  %v107 = sub i32 %v106, 2
  %trips = sdiv i32 %v107, 2
  %k_end = add i32 %row_pitch, 0
  call void asm sideeffect "", "s"(ptr addrspace(1) %mat_c)
  ; LOAD_A[0,0] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v108 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v108, i32 16, i32 %load_0_0_0, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v109 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v109, i32 16, i32 %load_0_0_1, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v110 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 8192), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v110, i32 16, i32 %load_0_0_2, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v111 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 12288), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v111, i32 16, i32 %load_0_0_3, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_B[0,0] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v112 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v112, i32 16, i32 %load_1_0_0, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v113 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v113, i32 16, i32 %load_1_0_1, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v114 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 8192), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v114, i32 16, i32 %load_1_0_2, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v115 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 12288), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v115, i32 16, i32 %load_1_0_3, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_B[0,1] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v116 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v116, i32 16, i32 %load_1_1_0, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v117 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v117, i32 16, i32 %load_1_1_1, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v118 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 24576), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v118, i32 16, i32 %load_1_1_2, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v119 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 28672), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v119, i32 16, i32 %load_1_1_3, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_A[0,1] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v120 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v120, i32 16, i32 %load_0_1_0, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v121 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v121, i32 16, i32 %load_0_1_1, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v122 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 24576), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v122, i32 16, i32 %load_0_1_2, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v123 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 28672), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v123, i32 16, i32 %load_0_1_3, i32 0, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_A[1,0] K1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v124 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v124, i32 16, i32 %load_0_0_0, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v125 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v125, i32 16, i32 %load_0_0_1, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v126 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 40960), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v126, i32 16, i32 %load_0_0_2, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v127 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 45056), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v127, i32 16, i32 %load_0_0_3, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_B[1,0] K1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v128 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v128, i32 16, i32 %load_1_0_0, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v129 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v129, i32 16, i32 %load_1_0_1, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v130 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 40960), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v130, i32 16, i32 %load_1_0_2, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v131 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 45056), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v131, i32 16, i32 %load_1_0_3, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_B[1,1] K1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v132 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v132, i32 16, i32 %load_1_1_0, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v133 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v133, i32 16, i32 %load_1_1_1, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v134 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 57344), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v134, i32 16, i32 %load_1_1_2, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v135 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 61440), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v135, i32 16, i32 %load_1_1_3, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; LOAD_A[1,1] K1
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v136 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v136, i32 16, i32 %load_0_1_0, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v137 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v137, i32 16, i32 %load_0_1_1, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v138 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 57344), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v138, i32 16, i32 %load_0_1_2, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v139 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 61440), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v139, i32 16, i32 %load_0_1_3, i32 128, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; zero the accumulators
  %v140 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v141 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v142 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v143 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v144 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v145 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v146 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v147 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v148 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v149 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v150 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v151 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v152 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v153 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v154 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  %v155 = call <16 x float> asm sideeffect "", "=a,0"(<16 x float> zeroinitializer)
  ; WAIT_VM(28)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 20348)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_A[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v156 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_0
  %v157 = load <8 x bfloat>, ptr addrspace(3) %v156, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v158 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_0
  %v159 = load <8 x bfloat>, ptr addrspace(3) %v158, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v160 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_1
  %v161 = load <8 x bfloat>, ptr addrspace(3) %v160, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v162 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_1
  %v163 = load <8 x bfloat>, ptr addrspace(3) %v162, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v164 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_2
  %v165 = load <8 x bfloat>, ptr addrspace(3) %v164, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v166 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_2
  %v167 = load <8 x bfloat>, ptr addrspace(3) %v166, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v168 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_3
  %v169 = load <8 x bfloat>, ptr addrspace(3) %v168, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v170 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_3
  %v171 = load <8 x bfloat>, ptr addrspace(3) %v170, align 16, !alias.scope !4, !noalias !3
  ; WAIT_VM(24)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 20344)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_B[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v172 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_0
  %v173 = load <8 x bfloat>, ptr addrspace(3) %v172, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v174 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_0
  %v175 = load <8 x bfloat>, ptr addrspace(3) %v174, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v176 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_1
  %v177 = load <8 x bfloat>, ptr addrspace(3) %v176, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v178 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_1
  %v179 = load <8 x bfloat>, ptr addrspace(3) %v178, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v180 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_2
  %v181 = load <8 x bfloat>, ptr addrspace(3) %v180, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v182 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_2
  %v183 = load <8 x bfloat>, ptr addrspace(3) %v182, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v184 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_3
  %v185 = load <8 x bfloat>, ptr addrspace(3) %v184, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v186 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_3
  %v187 = load <8 x bfloat>, ptr addrspace(3) %v186, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  br label %guard
guard:
  %enter = icmp sgt i32 %trips, 0
  br i1 %enter, label %loop, label %drain
loop:
  %k_now = phi i32 [ 256, %guard ], [ %k_next, %loop ]
  %trip = phi i32 [ 0, %guard ], [ %trip_next, %loop ]
  %loop_accumulator_0_0 = phi <16 x float> [ %v140, %guard ], [ %v365, %loop ]
  %loop_accumulator_0_1 = phi <16 x float> [ %v141, %guard ], [ %v366, %loop ]
  %loop_accumulator_0_2 = phi <16 x float> [ %v142, %guard ], [ %v402, %loop ]
  %loop_accumulator_0_3 = phi <16 x float> [ %v143, %guard ], [ %v403, %loop ]
  %loop_accumulator_1_0 = phi <16 x float> [ %v144, %guard ], [ %v367, %loop ]
  %loop_accumulator_1_1 = phi <16 x float> [ %v145, %guard ], [ %v368, %loop ]
  %loop_accumulator_1_2 = phi <16 x float> [ %v146, %guard ], [ %v404, %loop ]
  %loop_accumulator_1_3 = phi <16 x float> [ %v147, %guard ], [ %v405, %loop ]
  %loop_accumulator_2_0 = phi <16 x float> [ %v148, %guard ], [ %v439, %loop ]
  %loop_accumulator_2_1 = phi <16 x float> [ %v149, %guard ], [ %v440, %loop ]
  %loop_accumulator_2_2 = phi <16 x float> [ %v150, %guard ], [ %v476, %loop ]
  %loop_accumulator_2_3 = phi <16 x float> [ %v151, %guard ], [ %v477, %loop ]
  %loop_accumulator_3_0 = phi <16 x float> [ %v152, %guard ], [ %v441, %loop ]
  %loop_accumulator_3_1 = phi <16 x float> [ %v153, %guard ], [ %v442, %loop ]
  %loop_accumulator_3_2 = phi <16 x float> [ %v154, %guard ], [ %v478, %loop ]
  %loop_accumulator_3_3 = phi <16 x float> [ %v155, %guard ], [ %v479, %loop ]
  %loop_fragment_0_0_0_0 = phi <8 x bfloat> [ %v157, %guard ], [ %v407, %loop ]
  %loop_fragment_0_0_1_0 = phi <8 x bfloat> [ %v159, %guard ], [ %v409, %loop ]
  %loop_fragment_0_0_0_1 = phi <8 x bfloat> [ %v161, %guard ], [ %v411, %loop ]
  %loop_fragment_0_0_1_1 = phi <8 x bfloat> [ %v163, %guard ], [ %v413, %loop ]
  %loop_fragment_0_0_0_2 = phi <8 x bfloat> [ %v165, %guard ], [ %v415, %loop ]
  %loop_fragment_0_0_1_2 = phi <8 x bfloat> [ %v167, %guard ], [ %v417, %loop ]
  %loop_fragment_0_0_0_3 = phi <8 x bfloat> [ %v169, %guard ], [ %v419, %loop ]
  %loop_fragment_0_0_1_3 = phi <8 x bfloat> [ %v171, %guard ], [ %v421, %loop ]
  %loop_fragment_1_0_0_0 = phi <8 x bfloat> [ %v173, %guard ], [ %v444, %loop ]
  %loop_fragment_1_0_1_0 = phi <8 x bfloat> [ %v175, %guard ], [ %v446, %loop ]
  %loop_fragment_1_0_0_1 = phi <8 x bfloat> [ %v177, %guard ], [ %v448, %loop ]
  %loop_fragment_1_0_1_1 = phi <8 x bfloat> [ %v179, %guard ], [ %v450, %loop ]
  %loop_fragment_1_0_0_2 = phi <8 x bfloat> [ %v181, %guard ], [ %v452, %loop ]
  %loop_fragment_1_0_1_2 = phi <8 x bfloat> [ %v183, %guard ], [ %v454, %loop ]
  %loop_fragment_1_0_0_3 = phi <8 x bfloat> [ %v185, %guard ], [ %v456, %loop ]
  %loop_fragment_1_0_1_3 = phi <8 x bfloat> [ %v187, %guard ], [ %v458, %loop ]
  ; WAIT_VM(16)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 20336)
  ; WAIT_LGKM(0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_B[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v188 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_0
  %v189 = load <8 x bfloat>, ptr addrspace(3) %v188, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v190 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_0
  %v191 = load <8 x bfloat>, ptr addrspace(3) %v190, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v192 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_1
  %v193 = load <8 x bfloat>, ptr addrspace(3) %v192, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v194 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_1
  %v195 = load <8 x bfloat>, ptr addrspace(3) %v194, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v196 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_2
  %v197 = load <8 x bfloat>, ptr addrspace(3) %v196, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v198 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_2
  %v199 = load <8 x bfloat>, ptr addrspace(3) %v198, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v200 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_3
  %v201 = load <8 x bfloat>, ptr addrspace(3) %v200, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v202 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_3
  %v203 = load <8 x bfloat>, ptr addrspace(3) %v202, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_A[0,0] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v204 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v204, i32 16, i32 %load_0_0_0, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v205 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v205, i32 16, i32 %load_0_0_1, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v206 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 8192), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v206, i32 16, i32 %load_0_0_2, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v207 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 12288), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v207, i32 16, i32 %load_0_0_3, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; MMA[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v208 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_0, <8 x bfloat> %loop_fragment_1_0_0_0, <16 x float> %loop_accumulator_0_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v209 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_0, <8 x bfloat> %loop_fragment_1_0_1_0, <16 x float> %loop_accumulator_0_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v210 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_0, <8 x bfloat> %loop_fragment_1_0_0_0, <16 x float> %loop_accumulator_1_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v211 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_0, <8 x bfloat> %loop_fragment_1_0_1_0, <16 x float> %loop_accumulator_1_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v212 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_1, <8 x bfloat> %loop_fragment_1_0_0_1, <16 x float> %v208, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v213 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_1, <8 x bfloat> %loop_fragment_1_0_1_1, <16 x float> %v209, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v214 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_1, <8 x bfloat> %loop_fragment_1_0_0_1, <16 x float> %v210, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v215 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_1, <8 x bfloat> %loop_fragment_1_0_1_1, <16 x float> %v211, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v216 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_2, <8 x bfloat> %loop_fragment_1_0_0_2, <16 x float> %v212, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v217 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_2, <8 x bfloat> %loop_fragment_1_0_1_2, <16 x float> %v213, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v218 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_2, <8 x bfloat> %loop_fragment_1_0_0_2, <16 x float> %v214, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v219 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_2, <8 x bfloat> %loop_fragment_1_0_1_2, <16 x float> %v215, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v220 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_3, <8 x bfloat> %loop_fragment_1_0_0_3, <16 x float> %v216, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v221 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_3, <8 x bfloat> %loop_fragment_1_0_1_3, <16 x float> %v217, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v222 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_3, <8 x bfloat> %loop_fragment_1_0_0_3, <16 x float> %v218, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v223 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_3, <8 x bfloat> %loop_fragment_1_0_1_3, <16 x float> %v219, i32 0, i32 0, i32 0)
  ; MMA_LOAD_A[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v224 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_0
  %v225 = load <8 x bfloat>, ptr addrspace(3) %v224, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v226 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_0
  %v227 = load <8 x bfloat>, ptr addrspace(3) %v226, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v228 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_1
  %v229 = load <8 x bfloat>, ptr addrspace(3) %v228, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v230 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_1
  %v231 = load <8 x bfloat>, ptr addrspace(3) %v230, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v232 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_2
  %v233 = load <8 x bfloat>, ptr addrspace(3) %v232, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v234 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_2
  %v235 = load <8 x bfloat>, ptr addrspace(3) %v234, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v236 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_3
  %v237 = load <8 x bfloat>, ptr addrspace(3) %v236, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v238 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_3
  %v239 = load <8 x bfloat>, ptr addrspace(3) %v238, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_B[0,0] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v240 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v240, i32 16, i32 %load_1_0_0, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v241 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v241, i32 16, i32 %load_1_0_1, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v242 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 8192), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v242, i32 16, i32 %load_1_0_2, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v243 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 12288), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v243, i32 16, i32 %load_1_0_3, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v244 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_0, <8 x bfloat> %v189, <16 x float> %loop_accumulator_0_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v245 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_0, <8 x bfloat> %v191, <16 x float> %loop_accumulator_0_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v246 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_0, <8 x bfloat> %v189, <16 x float> %loop_accumulator_1_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v247 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_0, <8 x bfloat> %v191, <16 x float> %loop_accumulator_1_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v248 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_1, <8 x bfloat> %v193, <16 x float> %v244, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v249 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_1, <8 x bfloat> %v195, <16 x float> %v245, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v250 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_1, <8 x bfloat> %v193, <16 x float> %v246, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v251 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_1, <8 x bfloat> %v195, <16 x float> %v247, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v252 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_2, <8 x bfloat> %v197, <16 x float> %v248, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v253 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_2, <8 x bfloat> %v199, <16 x float> %v249, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v254 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_2, <8 x bfloat> %v197, <16 x float> %v250, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v255 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_2, <8 x bfloat> %v199, <16 x float> %v251, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v256 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_3, <8 x bfloat> %v201, <16 x float> %v252, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v257 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_0_3, <8 x bfloat> %v203, <16 x float> %v253, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v258 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_3, <8 x bfloat> %v201, <16 x float> %v254, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v259 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %loop_fragment_0_0_1_3, <8 x bfloat> %v203, <16 x float> %v255, i32 0, i32 0, i32 0)
  ; WAIT_VM(16)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 20336)
  ; WAIT_LGKM(0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_A[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v260 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_0
  %v261 = load <8 x bfloat>, ptr addrspace(3) %v260, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v262 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_0
  %v263 = load <8 x bfloat>, ptr addrspace(3) %v262, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v264 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_1
  %v265 = load <8 x bfloat>, ptr addrspace(3) %v264, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v266 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_1
  %v267 = load <8 x bfloat>, ptr addrspace(3) %v266, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v268 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_2
  %v269 = load <8 x bfloat>, ptr addrspace(3) %v268, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v270 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_2
  %v271 = load <8 x bfloat>, ptr addrspace(3) %v270, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v272 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_3
  %v273 = load <8 x bfloat>, ptr addrspace(3) %v272, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v274 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_3
  %v275 = load <8 x bfloat>, ptr addrspace(3) %v274, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_B[0,1] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v276 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v276, i32 16, i32 %load_1_1_0, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v277 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v277, i32 16, i32 %load_1_1_1, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v278 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 24576), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v278, i32 16, i32 %load_1_1_2, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v279 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 28672), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v279, i32 16, i32 %load_1_1_3, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; MMA[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v280 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v225, <8 x bfloat> %loop_fragment_1_0_0_0, <16 x float> %loop_accumulator_2_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v281 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v225, <8 x bfloat> %loop_fragment_1_0_1_0, <16 x float> %loop_accumulator_2_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v282 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v227, <8 x bfloat> %loop_fragment_1_0_0_0, <16 x float> %loop_accumulator_3_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v283 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v227, <8 x bfloat> %loop_fragment_1_0_1_0, <16 x float> %loop_accumulator_3_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v284 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v229, <8 x bfloat> %loop_fragment_1_0_0_1, <16 x float> %v280, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v285 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v229, <8 x bfloat> %loop_fragment_1_0_1_1, <16 x float> %v281, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v286 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v231, <8 x bfloat> %loop_fragment_1_0_0_1, <16 x float> %v282, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v287 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v231, <8 x bfloat> %loop_fragment_1_0_1_1, <16 x float> %v283, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v288 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v233, <8 x bfloat> %loop_fragment_1_0_0_2, <16 x float> %v284, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v289 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v233, <8 x bfloat> %loop_fragment_1_0_1_2, <16 x float> %v285, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v290 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v235, <8 x bfloat> %loop_fragment_1_0_0_2, <16 x float> %v286, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v291 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v235, <8 x bfloat> %loop_fragment_1_0_1_2, <16 x float> %v287, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v292 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v237, <8 x bfloat> %loop_fragment_1_0_0_3, <16 x float> %v288, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v293 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v237, <8 x bfloat> %loop_fragment_1_0_1_3, <16 x float> %v289, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v294 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v239, <8 x bfloat> %loop_fragment_1_0_0_3, <16 x float> %v290, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v295 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v239, <8 x bfloat> %loop_fragment_1_0_1_3, <16 x float> %v291, i32 0, i32 0, i32 0)
  ; MMA_LOAD_B[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v296 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_0
  %v297 = load <8 x bfloat>, ptr addrspace(3) %v296, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v298 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_0
  %v299 = load <8 x bfloat>, ptr addrspace(3) %v298, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v300 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_1
  %v301 = load <8 x bfloat>, ptr addrspace(3) %v300, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v302 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_1
  %v303 = load <8 x bfloat>, ptr addrspace(3) %v302, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v304 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_2
  %v305 = load <8 x bfloat>, ptr addrspace(3) %v304, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v306 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_2
  %v307 = load <8 x bfloat>, ptr addrspace(3) %v306, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v308 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_3
  %v309 = load <8 x bfloat>, ptr addrspace(3) %v308, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v310 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_3
  %v311 = load <8 x bfloat>, ptr addrspace(3) %v310, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_A[0,1] K0
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v312 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v312, i32 16, i32 %load_0_1_0, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v313 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v313, i32 16, i32 %load_0_1_1, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v314 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 24576), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v314, i32 16, i32 %load_0_1_2, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v315 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 28672), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v315, i32 16, i32 %load_0_1_3, i32 %k_now, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; MMA[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v316 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v225, <8 x bfloat> %v189, <16 x float> %loop_accumulator_2_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v317 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v225, <8 x bfloat> %v191, <16 x float> %loop_accumulator_2_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v318 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v227, <8 x bfloat> %v189, <16 x float> %loop_accumulator_3_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v319 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v227, <8 x bfloat> %v191, <16 x float> %loop_accumulator_3_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v320 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v229, <8 x bfloat> %v193, <16 x float> %v316, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v321 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v229, <8 x bfloat> %v195, <16 x float> %v317, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v322 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v231, <8 x bfloat> %v193, <16 x float> %v318, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v323 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v231, <8 x bfloat> %v195, <16 x float> %v319, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v324 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v233, <8 x bfloat> %v197, <16 x float> %v320, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v325 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v233, <8 x bfloat> %v199, <16 x float> %v321, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v326 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v235, <8 x bfloat> %v197, <16 x float> %v322, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v327 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v235, <8 x bfloat> %v199, <16 x float> %v323, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v328 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v237, <8 x bfloat> %v201, <16 x float> %v324, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v329 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v237, <8 x bfloat> %v203, <16 x float> %v325, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v330 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v239, <8 x bfloat> %v201, <16 x float> %v326, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v331 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v239, <8 x bfloat> %v203, <16 x float> %v327, i32 0, i32 0, i32 0)
  ; WAIT_VM(16)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 20336)
  ; WAIT_LGKM(0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_B[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v332 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_0
  %v333 = load <8 x bfloat>, ptr addrspace(3) %v332, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v334 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_0
  %v335 = load <8 x bfloat>, ptr addrspace(3) %v334, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v336 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_1
  %v337 = load <8 x bfloat>, ptr addrspace(3) %v336, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v338 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_1
  %v339 = load <8 x bfloat>, ptr addrspace(3) %v338, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v340 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_2
  %v341 = load <8 x bfloat>, ptr addrspace(3) %v340, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v342 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_2
  %v343 = load <8 x bfloat>, ptr addrspace(3) %v342, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v344 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_3
  %v345 = load <8 x bfloat>, ptr addrspace(3) %v344, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v346 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_3
  %v347 = load <8 x bfloat>, ptr addrspace(3) %v346, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_A[1,0] K1
  %v348 = add i32 %k_now, 128
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v349 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v349, i32 16, i32 %load_0_0_0, i32 %v348, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v350 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v350, i32 16, i32 %load_0_0_1, i32 %v348, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v351 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 40960), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v351, i32 16, i32 %load_0_0_2, i32 %v348, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v352 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 45056), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v352, i32 16, i32 %load_0_0_3, i32 %v348, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; MMA[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v353 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v261, <8 x bfloat> %v297, <16 x float> %v220, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v354 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v261, <8 x bfloat> %v299, <16 x float> %v221, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v355 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v263, <8 x bfloat> %v297, <16 x float> %v222, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v356 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v263, <8 x bfloat> %v299, <16 x float> %v223, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v357 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v265, <8 x bfloat> %v301, <16 x float> %v353, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v358 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v265, <8 x bfloat> %v303, <16 x float> %v354, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v359 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v267, <8 x bfloat> %v301, <16 x float> %v355, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v360 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v267, <8 x bfloat> %v303, <16 x float> %v356, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v361 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v269, <8 x bfloat> %v305, <16 x float> %v357, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v362 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v269, <8 x bfloat> %v307, <16 x float> %v358, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v363 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v271, <8 x bfloat> %v305, <16 x float> %v359, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v364 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v271, <8 x bfloat> %v307, <16 x float> %v360, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v365 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v273, <8 x bfloat> %v309, <16 x float> %v361, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v366 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v273, <8 x bfloat> %v311, <16 x float> %v362, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v367 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v275, <8 x bfloat> %v309, <16 x float> %v363, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v368 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v275, <8 x bfloat> %v311, <16 x float> %v364, i32 0, i32 0, i32 0)
  ; MMA_LOAD_A[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v369 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_0
  %v370 = load <8 x bfloat>, ptr addrspace(3) %v369, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v371 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_0
  %v372 = load <8 x bfloat>, ptr addrspace(3) %v371, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v373 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_1
  %v374 = load <8 x bfloat>, ptr addrspace(3) %v373, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v375 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_1
  %v376 = load <8 x bfloat>, ptr addrspace(3) %v375, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v377 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_2
  %v378 = load <8 x bfloat>, ptr addrspace(3) %v377, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v379 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_2
  %v380 = load <8 x bfloat>, ptr addrspace(3) %v379, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v381 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_3
  %v382 = load <8 x bfloat>, ptr addrspace(3) %v381, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v383 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_3
  %v384 = load <8 x bfloat>, ptr addrspace(3) %v383, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_B[1,0] K1
  %v385 = add i32 %k_now, 128
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v386 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v386, i32 16, i32 %load_1_0_0, i32 %v385, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v387 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v387, i32 16, i32 %load_1_0_1, i32 %v385, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v388 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 40960), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v388, i32 16, i32 %load_1_0_2, i32 %v385, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v389 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 45056), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v389, i32 16, i32 %load_1_0_3, i32 %v385, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v390 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v261, <8 x bfloat> %v333, <16 x float> %v256, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v391 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v261, <8 x bfloat> %v335, <16 x float> %v257, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v392 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v263, <8 x bfloat> %v333, <16 x float> %v258, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v393 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v263, <8 x bfloat> %v335, <16 x float> %v259, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v394 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v265, <8 x bfloat> %v337, <16 x float> %v390, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v395 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v265, <8 x bfloat> %v339, <16 x float> %v391, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v396 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v267, <8 x bfloat> %v337, <16 x float> %v392, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v397 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v267, <8 x bfloat> %v339, <16 x float> %v393, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v398 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v269, <8 x bfloat> %v341, <16 x float> %v394, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v399 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v269, <8 x bfloat> %v343, <16 x float> %v395, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v400 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v271, <8 x bfloat> %v341, <16 x float> %v396, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v401 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v271, <8 x bfloat> %v343, <16 x float> %v397, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v402 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v273, <8 x bfloat> %v345, <16 x float> %v398, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v403 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v273, <8 x bfloat> %v347, <16 x float> %v399, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v404 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v275, <8 x bfloat> %v345, <16 x float> %v400, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v405 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v275, <8 x bfloat> %v347, <16 x float> %v401, i32 0, i32 0, i32 0)
  ; WAIT_VM(16)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 20336)
  ; WAIT_LGKM(0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_A[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v406 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_0
  %v407 = load <8 x bfloat>, ptr addrspace(3) %v406, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v408 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_0
  %v409 = load <8 x bfloat>, ptr addrspace(3) %v408, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v410 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_1
  %v411 = load <8 x bfloat>, ptr addrspace(3) %v410, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v412 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_1
  %v413 = load <8 x bfloat>, ptr addrspace(3) %v412, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v414 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_2
  %v415 = load <8 x bfloat>, ptr addrspace(3) %v414, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v416 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_2
  %v417 = load <8 x bfloat>, ptr addrspace(3) %v416, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v418 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_3
  %v419 = load <8 x bfloat>, ptr addrspace(3) %v418, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v420 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_3
  %v421 = load <8 x bfloat>, ptr addrspace(3) %v420, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_B[1,1] K1
  %v422 = add i32 %k_now, 128
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v423 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v423, i32 16, i32 %load_1_1_0, i32 %v422, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v424 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v424, i32 16, i32 %load_1_1_1, i32 %v422, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v425 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 57344), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v425, i32 16, i32 %load_1_1_2, i32 %v422, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v426 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 61440), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc1, ptr addrspace(3) %v426, i32 16, i32 %load_1_1_3, i32 %v422, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; MMA[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v427 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v370, <8 x bfloat> %v297, <16 x float> %v292, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v428 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v370, <8 x bfloat> %v299, <16 x float> %v293, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v429 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v372, <8 x bfloat> %v297, <16 x float> %v294, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v430 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v372, <8 x bfloat> %v299, <16 x float> %v295, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v431 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v374, <8 x bfloat> %v301, <16 x float> %v427, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v432 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v374, <8 x bfloat> %v303, <16 x float> %v428, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v433 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v376, <8 x bfloat> %v301, <16 x float> %v429, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v434 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v376, <8 x bfloat> %v303, <16 x float> %v430, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v435 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v378, <8 x bfloat> %v305, <16 x float> %v431, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v436 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v378, <8 x bfloat> %v307, <16 x float> %v432, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v437 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v380, <8 x bfloat> %v305, <16 x float> %v433, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v438 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v380, <8 x bfloat> %v307, <16 x float> %v434, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v439 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v382, <8 x bfloat> %v309, <16 x float> %v435, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v440 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v382, <8 x bfloat> %v311, <16 x float> %v436, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v441 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v384, <8 x bfloat> %v309, <16 x float> %v437, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v442 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v384, <8 x bfloat> %v311, <16 x float> %v438, i32 0, i32 0, i32 0)
  ; MMA_LOAD_B[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v443 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_0
  %v444 = load <8 x bfloat>, ptr addrspace(3) %v443, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v445 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_0
  %v446 = load <8 x bfloat>, ptr addrspace(3) %v445, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v447 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_1
  %v448 = load <8 x bfloat>, ptr addrspace(3) %v447, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v449 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_1
  %v450 = load <8 x bfloat>, ptr addrspace(3) %v449, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v451 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_2
  %v452 = load <8 x bfloat>, ptr addrspace(3) %v451, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v453 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_2
  %v454 = load <8 x bfloat>, ptr addrspace(3) %v453, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v455 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_3
  %v456 = load <8 x bfloat>, ptr addrspace(3) %v455, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v457 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_3
  %v458 = load <8 x bfloat>, ptr addrspace(3) %v457, align 16, !alias.scope !4, !noalias !3
  ; SCHEDULE_BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; LOAD_A[1,1] K1
  %v459 = add i32 %k_now, 128
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v460 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v460, i32 16, i32 %load_0_1_0, i32 %v459, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v461 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v461, i32 16, i32 %load_0_1_1, i32 %v459, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v462 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 57344), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v462, i32 16, i32 %load_0_1_2, i32 %v459, i32 0, i32 0), !alias.scope !3, !noalias !4
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v463 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 61440), i32 %share
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %rsrc0, ptr addrspace(3) %v463, i32 16, i32 %load_0_1_3, i32 %v459, i32 0, i32 0), !alias.scope !3, !noalias !4
  ; MMA[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v464 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v370, <8 x bfloat> %v333, <16 x float> %v328, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v465 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v370, <8 x bfloat> %v335, <16 x float> %v329, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v466 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v372, <8 x bfloat> %v333, <16 x float> %v330, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v467 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v372, <8 x bfloat> %v335, <16 x float> %v331, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v468 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v374, <8 x bfloat> %v337, <16 x float> %v464, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v469 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v374, <8 x bfloat> %v339, <16 x float> %v465, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v470 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v376, <8 x bfloat> %v337, <16 x float> %v466, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v471 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v376, <8 x bfloat> %v339, <16 x float> %v467, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v472 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v378, <8 x bfloat> %v341, <16 x float> %v468, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v473 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v378, <8 x bfloat> %v343, <16 x float> %v469, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v474 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v380, <8 x bfloat> %v341, <16 x float> %v470, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v475 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v380, <8 x bfloat> %v343, <16 x float> %v471, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v476 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v382, <8 x bfloat> %v345, <16 x float> %v472, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v477 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v382, <8 x bfloat> %v347, <16 x float> %v473, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v478 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v384, <8 x bfloat> %v345, <16 x float> %v474, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v479 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v384, <8 x bfloat> %v347, <16 x float> %v475, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %k_next = add i32 %k_now, 256
  %trip_next = add i32 %trip, 1
  %again = icmp slt i32 %trip_next, %trips
  br i1 %again, label %loop, label %drain
drain:
  %end_accumulator_0_0 = phi <16 x float> [ %v140, %guard ], [ %v365, %loop ]
  %end_accumulator_0_1 = phi <16 x float> [ %v141, %guard ], [ %v366, %loop ]
  %end_accumulator_0_2 = phi <16 x float> [ %v142, %guard ], [ %v402, %loop ]
  %end_accumulator_0_3 = phi <16 x float> [ %v143, %guard ], [ %v403, %loop ]
  %end_accumulator_1_0 = phi <16 x float> [ %v144, %guard ], [ %v367, %loop ]
  %end_accumulator_1_1 = phi <16 x float> [ %v145, %guard ], [ %v368, %loop ]
  %end_accumulator_1_2 = phi <16 x float> [ %v146, %guard ], [ %v404, %loop ]
  %end_accumulator_1_3 = phi <16 x float> [ %v147, %guard ], [ %v405, %loop ]
  %end_accumulator_2_0 = phi <16 x float> [ %v148, %guard ], [ %v439, %loop ]
  %end_accumulator_2_1 = phi <16 x float> [ %v149, %guard ], [ %v440, %loop ]
  %end_accumulator_2_2 = phi <16 x float> [ %v150, %guard ], [ %v476, %loop ]
  %end_accumulator_2_3 = phi <16 x float> [ %v151, %guard ], [ %v477, %loop ]
  %end_accumulator_3_0 = phi <16 x float> [ %v152, %guard ], [ %v441, %loop ]
  %end_accumulator_3_1 = phi <16 x float> [ %v153, %guard ], [ %v442, %loop ]
  %end_accumulator_3_2 = phi <16 x float> [ %v154, %guard ], [ %v478, %loop ]
  %end_accumulator_3_3 = phi <16 x float> [ %v155, %guard ], [ %v479, %loop ]
  %end_fragment_0_0_0_0 = phi <8 x bfloat> [ %v157, %guard ], [ %v407, %loop ]
  %end_fragment_0_0_1_0 = phi <8 x bfloat> [ %v159, %guard ], [ %v409, %loop ]
  %end_fragment_0_0_0_1 = phi <8 x bfloat> [ %v161, %guard ], [ %v411, %loop ]
  %end_fragment_0_0_1_1 = phi <8 x bfloat> [ %v163, %guard ], [ %v413, %loop ]
  %end_fragment_0_0_0_2 = phi <8 x bfloat> [ %v165, %guard ], [ %v415, %loop ]
  %end_fragment_0_0_1_2 = phi <8 x bfloat> [ %v167, %guard ], [ %v417, %loop ]
  %end_fragment_0_0_0_3 = phi <8 x bfloat> [ %v169, %guard ], [ %v419, %loop ]
  %end_fragment_0_0_1_3 = phi <8 x bfloat> [ %v171, %guard ], [ %v421, %loop ]
  %end_fragment_1_0_0_0 = phi <8 x bfloat> [ %v173, %guard ], [ %v444, %loop ]
  %end_fragment_1_0_1_0 = phi <8 x bfloat> [ %v175, %guard ], [ %v446, %loop ]
  %end_fragment_1_0_0_1 = phi <8 x bfloat> [ %v177, %guard ], [ %v448, %loop ]
  %end_fragment_1_0_1_1 = phi <8 x bfloat> [ %v179, %guard ], [ %v450, %loop ]
  %end_fragment_1_0_0_2 = phi <8 x bfloat> [ %v181, %guard ], [ %v452, %loop ]
  %end_fragment_1_0_1_2 = phi <8 x bfloat> [ %v183, %guard ], [ %v454, %loop ]
  %end_fragment_1_0_0_3 = phi <8 x bfloat> [ %v185, %guard ], [ %v456, %loop ]
  %end_fragment_1_0_1_3 = phi <8 x bfloat> [ %v187, %guard ], [ %v458, %loop ]
  ; WAIT_VM(0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  ; MMA_LOAD_B[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v480 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_0
  %v481 = load <8 x bfloat>, ptr addrspace(3) %v480, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v482 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_0
  %v483 = load <8 x bfloat>, ptr addrspace(3) %v482, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v484 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_1
  %v485 = load <8 x bfloat>, ptr addrspace(3) %v484, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v486 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_1
  %v487 = load <8 x bfloat>, ptr addrspace(3) %v486, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v488 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_2
  %v489 = load <8 x bfloat>, ptr addrspace(3) %v488, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v490 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_2
  %v491 = load <8 x bfloat>, ptr addrspace(3) %v490, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v492 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 16384), i32 %frag_1_3
  %v493 = load <8 x bfloat>, ptr addrspace(3) %v492, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v494 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 20480), i32 %frag_1_3
  %v495 = load <8 x bfloat>, ptr addrspace(3) %v494, align 16, !alias.scope !4, !noalias !3
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v496 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_0, <8 x bfloat> %end_fragment_1_0_0_0, <16 x float> %end_accumulator_0_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v497 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_0, <8 x bfloat> %end_fragment_1_0_1_0, <16 x float> %end_accumulator_0_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v498 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_0, <8 x bfloat> %end_fragment_1_0_0_0, <16 x float> %end_accumulator_1_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v499 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_0, <8 x bfloat> %end_fragment_1_0_1_0, <16 x float> %end_accumulator_1_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v500 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_1, <8 x bfloat> %end_fragment_1_0_0_1, <16 x float> %v496, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v501 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_1, <8 x bfloat> %end_fragment_1_0_1_1, <16 x float> %v497, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v502 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_1, <8 x bfloat> %end_fragment_1_0_0_1, <16 x float> %v498, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v503 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_1, <8 x bfloat> %end_fragment_1_0_1_1, <16 x float> %v499, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v504 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_2, <8 x bfloat> %end_fragment_1_0_0_2, <16 x float> %v500, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v505 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_2, <8 x bfloat> %end_fragment_1_0_1_2, <16 x float> %v501, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v506 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_2, <8 x bfloat> %end_fragment_1_0_0_2, <16 x float> %v502, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v507 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_2, <8 x bfloat> %end_fragment_1_0_1_2, <16 x float> %v503, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v508 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_3, <8 x bfloat> %end_fragment_1_0_0_3, <16 x float> %v504, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v509 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_3, <8 x bfloat> %end_fragment_1_0_1_3, <16 x float> %v505, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v510 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_3, <8 x bfloat> %end_fragment_1_0_0_3, <16 x float> %v506, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v511 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_3, <8 x bfloat> %end_fragment_1_0_1_3, <16 x float> %v507, i32 0, i32 0, i32 0)
  ; MMA_LOAD_A[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v512 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_0
  %v513 = load <8 x bfloat>, ptr addrspace(3) %v512, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v514 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_0
  %v515 = load <8 x bfloat>, ptr addrspace(3) %v514, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v516 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_1
  %v517 = load <8 x bfloat>, ptr addrspace(3) %v516, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v518 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_1
  %v519 = load <8 x bfloat>, ptr addrspace(3) %v518, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v520 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_2
  %v521 = load <8 x bfloat>, ptr addrspace(3) %v520, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v522 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_2
  %v523 = load <8 x bfloat>, ptr addrspace(3) %v522, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v524 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 16384), i32 %frag_0_3
  %v525 = load <8 x bfloat>, ptr addrspace(3) %v524, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v526 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 20480), i32 %frag_0_3
  %v527 = load <8 x bfloat>, ptr addrspace(3) %v526, align 16, !alias.scope !4, !noalias !3
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v528 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_0, <8 x bfloat> %v481, <16 x float> %end_accumulator_0_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v529 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_0, <8 x bfloat> %v483, <16 x float> %end_accumulator_0_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v530 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_0, <8 x bfloat> %v481, <16 x float> %end_accumulator_1_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v531 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_0, <8 x bfloat> %v483, <16 x float> %end_accumulator_1_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v532 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_1, <8 x bfloat> %v485, <16 x float> %v528, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v533 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_1, <8 x bfloat> %v487, <16 x float> %v529, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v534 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_1, <8 x bfloat> %v485, <16 x float> %v530, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v535 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_1, <8 x bfloat> %v487, <16 x float> %v531, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v536 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_2, <8 x bfloat> %v489, <16 x float> %v532, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v537 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_2, <8 x bfloat> %v491, <16 x float> %v533, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v538 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_2, <8 x bfloat> %v489, <16 x float> %v534, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v539 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_2, <8 x bfloat> %v491, <16 x float> %v535, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v540 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_3, <8 x bfloat> %v493, <16 x float> %v536, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v541 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_0_3, <8 x bfloat> %v495, <16 x float> %v537, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v542 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_3, <8 x bfloat> %v493, <16 x float> %v538, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v543 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %end_fragment_0_0_1_3, <8 x bfloat> %v495, <16 x float> %v539, i32 0, i32 0, i32 0)
  ; MMA_LOAD_A[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v544 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_0
  %v545 = load <8 x bfloat>, ptr addrspace(3) %v544, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v546 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_0
  %v547 = load <8 x bfloat>, ptr addrspace(3) %v546, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v548 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_1
  %v549 = load <8 x bfloat>, ptr addrspace(3) %v548, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v550 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_1
  %v551 = load <8 x bfloat>, ptr addrspace(3) %v550, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v552 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_2
  %v553 = load <8 x bfloat>, ptr addrspace(3) %v552, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v554 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_2
  %v555 = load <8 x bfloat>, ptr addrspace(3) %v554, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v556 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 32768), i32 %frag_0_3
  %v557 = load <8 x bfloat>, ptr addrspace(3) %v556, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v558 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 36864), i32 %frag_0_3
  %v559 = load <8 x bfloat>, ptr addrspace(3) %v558, align 16, !alias.scope !4, !noalias !3
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v560 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v513, <8 x bfloat> %end_fragment_1_0_0_0, <16 x float> %end_accumulator_2_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v561 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v513, <8 x bfloat> %end_fragment_1_0_1_0, <16 x float> %end_accumulator_2_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v562 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v515, <8 x bfloat> %end_fragment_1_0_0_0, <16 x float> %end_accumulator_3_0, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v563 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v515, <8 x bfloat> %end_fragment_1_0_1_0, <16 x float> %end_accumulator_3_1, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v564 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v517, <8 x bfloat> %end_fragment_1_0_0_1, <16 x float> %v560, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v565 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v517, <8 x bfloat> %end_fragment_1_0_1_1, <16 x float> %v561, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v566 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v519, <8 x bfloat> %end_fragment_1_0_0_1, <16 x float> %v562, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v567 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v519, <8 x bfloat> %end_fragment_1_0_1_1, <16 x float> %v563, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v568 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v521, <8 x bfloat> %end_fragment_1_0_0_2, <16 x float> %v564, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v569 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v521, <8 x bfloat> %end_fragment_1_0_1_2, <16 x float> %v565, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v570 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v523, <8 x bfloat> %end_fragment_1_0_0_2, <16 x float> %v566, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v571 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v523, <8 x bfloat> %end_fragment_1_0_1_2, <16 x float> %v567, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v572 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v525, <8 x bfloat> %end_fragment_1_0_0_3, <16 x float> %v568, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v573 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v525, <8 x bfloat> %end_fragment_1_0_1_3, <16 x float> %v569, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v574 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v527, <8 x bfloat> %end_fragment_1_0_0_3, <16 x float> %v570, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v575 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v527, <8 x bfloat> %end_fragment_1_0_1_3, <16 x float> %v571, i32 0, i32 0, i32 0)
  ; MMA_LOAD_B[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v576 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_0
  %v577 = load <8 x bfloat>, ptr addrspace(3) %v576, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v578 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_0
  %v579 = load <8 x bfloat>, ptr addrspace(3) %v578, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v580 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_1
  %v581 = load <8 x bfloat>, ptr addrspace(3) %v580, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v582 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_1
  %v583 = load <8 x bfloat>, ptr addrspace(3) %v582, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v584 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_2
  %v585 = load <8 x bfloat>, ptr addrspace(3) %v584, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v586 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_2
  %v587 = load <8 x bfloat>, ptr addrspace(3) %v586, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v588 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 32768), i32 %frag_1_3
  %v589 = load <8 x bfloat>, ptr addrspace(3) %v588, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v590 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 36864), i32 %frag_1_3
  %v591 = load <8 x bfloat>, ptr addrspace(3) %v590, align 16, !alias.scope !4, !noalias !3
  ; MMA[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v592 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v513, <8 x bfloat> %v481, <16 x float> %end_accumulator_2_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v593 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v513, <8 x bfloat> %v483, <16 x float> %end_accumulator_2_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v594 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v515, <8 x bfloat> %v481, <16 x float> %end_accumulator_3_2, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v595 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v515, <8 x bfloat> %v483, <16 x float> %end_accumulator_3_3, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v596 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v517, <8 x bfloat> %v485, <16 x float> %v592, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v597 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v517, <8 x bfloat> %v487, <16 x float> %v593, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v598 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v519, <8 x bfloat> %v485, <16 x float> %v594, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v599 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v519, <8 x bfloat> %v487, <16 x float> %v595, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v600 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v521, <8 x bfloat> %v489, <16 x float> %v596, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v601 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v521, <8 x bfloat> %v491, <16 x float> %v597, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v602 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v523, <8 x bfloat> %v489, <16 x float> %v598, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v603 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v523, <8 x bfloat> %v491, <16 x float> %v599, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v604 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v525, <8 x bfloat> %v493, <16 x float> %v600, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v605 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v525, <8 x bfloat> %v495, <16 x float> %v601, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v606 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v527, <8 x bfloat> %v493, <16 x float> %v602, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v607 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v527, <8 x bfloat> %v495, <16 x float> %v603, i32 0, i32 0, i32 0)
  ; MMA_LOAD_B[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v608 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_0
  %v609 = load <8 x bfloat>, ptr addrspace(3) %v608, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v610 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_0
  %v611 = load <8 x bfloat>, ptr addrspace(3) %v610, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v612 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_1
  %v613 = load <8 x bfloat>, ptr addrspace(3) %v612, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v614 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_1
  %v615 = load <8 x bfloat>, ptr addrspace(3) %v614, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v616 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_2
  %v617 = load <8 x bfloat>, ptr addrspace(3) %v616, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v618 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_2
  %v619 = load <8 x bfloat>, ptr addrspace(3) %v618, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v620 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 49152), i32 %frag_1_3
  %v621 = load <8 x bfloat>, ptr addrspace(3) %v620, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v622 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 53248), i32 %frag_1_3
  %v623 = load <8 x bfloat>, ptr addrspace(3) %v622, align 16, !alias.scope !4, !noalias !3
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v624 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v545, <8 x bfloat> %v577, <16 x float> %v508, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v625 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v545, <8 x bfloat> %v579, <16 x float> %v509, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v626 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v547, <8 x bfloat> %v577, <16 x float> %v510, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v627 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v547, <8 x bfloat> %v579, <16 x float> %v511, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v628 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v549, <8 x bfloat> %v581, <16 x float> %v624, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v629 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v549, <8 x bfloat> %v583, <16 x float> %v625, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v630 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v551, <8 x bfloat> %v581, <16 x float> %v626, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v631 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v551, <8 x bfloat> %v583, <16 x float> %v627, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v632 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v553, <8 x bfloat> %v585, <16 x float> %v628, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v633 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v553, <8 x bfloat> %v587, <16 x float> %v629, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v634 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v555, <8 x bfloat> %v585, <16 x float> %v630, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v635 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v555, <8 x bfloat> %v587, <16 x float> %v631, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v636 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v557, <8 x bfloat> %v589, <16 x float> %v632, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v637 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v557, <8 x bfloat> %v591, <16 x float> %v633, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v638 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v559, <8 x bfloat> %v589, <16 x float> %v634, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v639 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v559, <8 x bfloat> %v591, <16 x float> %v635, i32 0, i32 0, i32 0)
  ; MMA_LOAD_A[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v640 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_0
  %v641 = load <8 x bfloat>, ptr addrspace(3) %v640, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v642 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_0
  %v643 = load <8 x bfloat>, ptr addrspace(3) %v642, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v644 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_1
  %v645 = load <8 x bfloat>, ptr addrspace(3) %v644, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v646 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_1
  %v647 = load <8 x bfloat>, ptr addrspace(3) %v646, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v648 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_2
  %v649 = load <8 x bfloat>, ptr addrspace(3) %v648, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v650 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_2
  %v651 = load <8 x bfloat>, ptr addrspace(3) %v650, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v652 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 49152), i32 %frag_0_3
  %v653 = load <8 x bfloat>, ptr addrspace(3) %v652, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v654 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 53248), i32 %frag_0_3
  %v655 = load <8 x bfloat>, ptr addrspace(3) %v654, align 16, !alias.scope !4, !noalias !3
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[0,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v656 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v545, <8 x bfloat> %v609, <16 x float> %v540, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v657 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v545, <8 x bfloat> %v611, <16 x float> %v541, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v658 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v547, <8 x bfloat> %v609, <16 x float> %v542, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v659 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v547, <8 x bfloat> %v611, <16 x float> %v543, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v660 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v549, <8 x bfloat> %v613, <16 x float> %v656, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v661 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v549, <8 x bfloat> %v615, <16 x float> %v657, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v662 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v551, <8 x bfloat> %v613, <16 x float> %v658, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v663 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v551, <8 x bfloat> %v615, <16 x float> %v659, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v664 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v553, <8 x bfloat> %v617, <16 x float> %v660, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v665 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v553, <8 x bfloat> %v619, <16 x float> %v661, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v666 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v555, <8 x bfloat> %v617, <16 x float> %v662, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v667 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v555, <8 x bfloat> %v619, <16 x float> %v663, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v668 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v557, <8 x bfloat> %v621, <16 x float> %v664, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v669 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v557, <8 x bfloat> %v623, <16 x float> %v665, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v670 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v559, <8 x bfloat> %v621, <16 x float> %v666, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v671 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v559, <8 x bfloat> %v623, <16 x float> %v667, i32 0, i32 0, i32 0)
  ; MMA_LOAD_A[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v672 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_0
  %v673 = load <8 x bfloat>, ptr addrspace(3) %v672, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v674 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_0
  %v675 = load <8 x bfloat>, ptr addrspace(3) %v674, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v676 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_1
  %v677 = load <8 x bfloat>, ptr addrspace(3) %v676, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v678 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_1
  %v679 = load <8 x bfloat>, ptr addrspace(3) %v678, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v680 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_2
  %v681 = load <8 x bfloat>, ptr addrspace(3) %v680, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v682 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_2
  %v683 = load <8 x bfloat>, ptr addrspace(3) %v682, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v684 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 0), i32 %frag_0_3
  %v685 = load <8 x bfloat>, ptr addrspace(3) %v684, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v686 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_a, i32 4096), i32 %frag_0_3
  %v687 = load <8 x bfloat>, ptr addrspace(3) %v686, align 16, !alias.scope !4, !noalias !3
  ; WAIT_LGKM(8)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 51327)
  ; MMA[1,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v688 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v641, <8 x bfloat> %v577, <16 x float> %v572, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v689 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v641, <8 x bfloat> %v579, <16 x float> %v573, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v690 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v643, <8 x bfloat> %v577, <16 x float> %v574, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v691 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v643, <8 x bfloat> %v579, <16 x float> %v575, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v692 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v645, <8 x bfloat> %v581, <16 x float> %v688, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v693 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v645, <8 x bfloat> %v583, <16 x float> %v689, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v694 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v647, <8 x bfloat> %v581, <16 x float> %v690, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v695 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v647, <8 x bfloat> %v583, <16 x float> %v691, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v696 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v649, <8 x bfloat> %v585, <16 x float> %v692, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v697 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v649, <8 x bfloat> %v587, <16 x float> %v693, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v698 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v651, <8 x bfloat> %v585, <16 x float> %v694, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v699 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v651, <8 x bfloat> %v587, <16 x float> %v695, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v700 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v653, <8 x bfloat> %v589, <16 x float> %v696, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v701 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v653, <8 x bfloat> %v591, <16 x float> %v697, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v702 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v655, <8 x bfloat> %v589, <16 x float> %v698, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v703 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v655, <8 x bfloat> %v591, <16 x float> %v699, i32 0, i32 0, i32 0)
  ; MMA_LOAD_B[0,0]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v704 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_0
  %v705 = load <8 x bfloat>, ptr addrspace(3) %v704, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v706 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_0
  %v707 = load <8 x bfloat>, ptr addrspace(3) %v706, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v708 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_1
  %v709 = load <8 x bfloat>, ptr addrspace(3) %v708, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v710 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_1
  %v711 = load <8 x bfloat>, ptr addrspace(3) %v710, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v712 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_2
  %v713 = load <8 x bfloat>, ptr addrspace(3) %v712, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v714 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_2
  %v715 = load <8 x bfloat>, ptr addrspace(3) %v714, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v716 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 0), i32 %frag_1_3
  %v717 = load <8 x bfloat>, ptr addrspace(3) %v716, align 16, !alias.scope !4, !noalias !3
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v718 = getelementptr inbounds i8, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @lds_b, i32 4096), i32 %frag_1_3
  %v719 = load <8 x bfloat>, ptr addrspace(3) %v718, align 16, !alias.scope !4, !noalias !3
  ; MMA[1,1]
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v720 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v641, <8 x bfloat> %v609, <16 x float> %v604, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v721 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v641, <8 x bfloat> %v611, <16 x float> %v605, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v722 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v643, <8 x bfloat> %v609, <16 x float> %v606, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v723 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v643, <8 x bfloat> %v611, <16 x float> %v607, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v724 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v645, <8 x bfloat> %v613, <16 x float> %v720, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v725 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v645, <8 x bfloat> %v615, <16 x float> %v721, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v726 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v647, <8 x bfloat> %v613, <16 x float> %v722, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v727 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v647, <8 x bfloat> %v615, <16 x float> %v723, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v728 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v649, <8 x bfloat> %v617, <16 x float> %v724, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v729 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v649, <8 x bfloat> %v619, <16 x float> %v725, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v730 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v651, <8 x bfloat> %v617, <16 x float> %v726, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v731 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v651, <8 x bfloat> %v619, <16 x float> %v727, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v732 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v653, <8 x bfloat> %v621, <16 x float> %v728, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v733 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v653, <8 x bfloat> %v623, <16 x float> %v729, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v734 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v655, <8 x bfloat> %v621, <16 x float> %v730, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v735 = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %v655, <8 x bfloat> %v623, <16 x float> %v731, i32 0, i32 0, i32 0)
  ; BARRIER
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.barrier()
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  call void asm sideeffect "", "v"(<8 x bfloat> %v673)
  call void asm sideeffect "", "v"(<8 x bfloat> %v675)
  call void asm sideeffect "", "v"(<8 x bfloat> %v677)
  call void asm sideeffect "", "v"(<8 x bfloat> %v679)
  call void asm sideeffect "", "v"(<8 x bfloat> %v681)
  call void asm sideeffect "", "v"(<8 x bfloat> %v683)
  call void asm sideeffect "", "v"(<8 x bfloat> %v685)
  call void asm sideeffect "", "v"(<8 x bfloat> %v687)
  call void asm sideeffect "", "v"(<8 x bfloat> %v705)
  call void asm sideeffect "", "v"(<8 x bfloat> %v707)
  call void asm sideeffect "", "v"(<8 x bfloat> %v709)
  call void asm sideeffect "", "v"(<8 x bfloat> %v711)
  call void asm sideeffect "", "v"(<8 x bfloat> %v713)
  call void asm sideeffect "", "v"(<8 x bfloat> %v715)
  call void asm sideeffect "", "v"(<8 x bfloat> %v717)
  call void asm sideeffect "", "v"(<8 x bfloat> %v719)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  ; store C
  %lane_group = lshr i32 %lane, 5
  %lane_column = and i32 %lane, 31
  %c_pitch = shl i32 %dim_n, 2
  %v736 = mul i32 %rows0, %c_pitch
  %v737 = zext i32 %v736 to i64
  %v738 = zext i32 %first_row0 to i64
  %v739 = zext i32 %c_pitch to i64
  %v740 = mul i64 %v738, %v739
  %v741 = getelementptr i8, ptr addrspace(1) %mat_c, i64 %v740
  %rsrc_c = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %v741, i16 0, i64 %v737, i32 159744)
  %v742 = shl i32 %wave1, 6
  %v743 = add i32 %v742, %lane_column
  %v744 = add i32 %v743, %first_row1
  %v745 = icmp ult i32 %v744, %dim_n
  %v746 = shl i32 %v744, 2
  %v747 = shl i32 %wave1, 6
  %v748 = add i32 %v747, 32
  %v749 = add i32 %v748, %lane_column
  %v750 = add i32 %v749, %first_row1
  %v751 = icmp ult i32 %v750, %dim_n
  %v752 = shl i32 %v750, 2
  %v753 = shl i32 %wave1, 6
  %v754 = add i32 %v753, 128
  %v755 = add i32 %v754, %lane_column
  %v756 = add i32 %v755, %first_row1
  %v757 = icmp ult i32 %v756, %dim_n
  %v758 = shl i32 %v756, 2
  %v759 = shl i32 %wave1, 6
  %v760 = add i32 %v759, 160
  %v761 = add i32 %v760, %lane_column
  %v762 = add i32 %v761, %first_row1
  %v763 = icmp ult i32 %v762, %dim_n
  %v764 = shl i32 %v762, 2
  %v765 = shl i32 %lane_group, 2
  %v766 = shl i32 %wave0, 6
  %v767 = add i32 %v766, %v765
  %v768 = mul i32 %v767, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v769 = extractelement <16 x float> %v636, i32 0
  %v770 = add i32 %v768, %v746
  %v771 = select i1 %v745, i32 %v770, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v769, ptr addrspace(8) %rsrc_c, i32 %v771, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v772 = extractelement <16 x float> %v637, i32 0
  %v773 = add i32 %v768, %v752
  %v774 = select i1 %v751, i32 %v773, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v772, ptr addrspace(8) %rsrc_c, i32 %v774, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v775 = extractelement <16 x float> %v668, i32 0
  %v776 = add i32 %v768, %v758
  %v777 = select i1 %v757, i32 %v776, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v775, ptr addrspace(8) %rsrc_c, i32 %v777, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v778 = extractelement <16 x float> %v669, i32 0
  %v779 = add i32 %v768, %v764
  %v780 = select i1 %v763, i32 %v779, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v778, ptr addrspace(8) %rsrc_c, i32 %v780, i32 0, i32 0)
  %v781 = add i32 %v767, 1
  %v782 = mul i32 %v781, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v783 = extractelement <16 x float> %v636, i32 1
  %v784 = add i32 %v782, %v746
  %v785 = select i1 %v745, i32 %v784, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v783, ptr addrspace(8) %rsrc_c, i32 %v785, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v786 = extractelement <16 x float> %v637, i32 1
  %v787 = add i32 %v782, %v752
  %v788 = select i1 %v751, i32 %v787, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v786, ptr addrspace(8) %rsrc_c, i32 %v788, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v789 = extractelement <16 x float> %v668, i32 1
  %v790 = add i32 %v782, %v758
  %v791 = select i1 %v757, i32 %v790, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v789, ptr addrspace(8) %rsrc_c, i32 %v791, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v792 = extractelement <16 x float> %v669, i32 1
  %v793 = add i32 %v782, %v764
  %v794 = select i1 %v763, i32 %v793, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v792, ptr addrspace(8) %rsrc_c, i32 %v794, i32 0, i32 0)
  %v795 = add i32 %v767, 2
  %v796 = mul i32 %v795, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v797 = extractelement <16 x float> %v636, i32 2
  %v798 = add i32 %v796, %v746
  %v799 = select i1 %v745, i32 %v798, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v797, ptr addrspace(8) %rsrc_c, i32 %v799, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v800 = extractelement <16 x float> %v637, i32 2
  %v801 = add i32 %v796, %v752
  %v802 = select i1 %v751, i32 %v801, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v800, ptr addrspace(8) %rsrc_c, i32 %v802, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v803 = extractelement <16 x float> %v668, i32 2
  %v804 = add i32 %v796, %v758
  %v805 = select i1 %v757, i32 %v804, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v803, ptr addrspace(8) %rsrc_c, i32 %v805, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v806 = extractelement <16 x float> %v669, i32 2
  %v807 = add i32 %v796, %v764
  %v808 = select i1 %v763, i32 %v807, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v806, ptr addrspace(8) %rsrc_c, i32 %v808, i32 0, i32 0)
  %v809 = add i32 %v767, 3
  %v810 = mul i32 %v809, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v811 = extractelement <16 x float> %v636, i32 3
  %v812 = add i32 %v810, %v746
  %v813 = select i1 %v745, i32 %v812, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v811, ptr addrspace(8) %rsrc_c, i32 %v813, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v814 = extractelement <16 x float> %v637, i32 3
  %v815 = add i32 %v810, %v752
  %v816 = select i1 %v751, i32 %v815, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v814, ptr addrspace(8) %rsrc_c, i32 %v816, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v817 = extractelement <16 x float> %v668, i32 3
  %v818 = add i32 %v810, %v758
  %v819 = select i1 %v757, i32 %v818, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v817, ptr addrspace(8) %rsrc_c, i32 %v819, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v820 = extractelement <16 x float> %v669, i32 3
  %v821 = add i32 %v810, %v764
  %v822 = select i1 %v763, i32 %v821, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v820, ptr addrspace(8) %rsrc_c, i32 %v822, i32 0, i32 0)
  %v823 = add i32 %v767, 8
  %v824 = mul i32 %v823, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v825 = extractelement <16 x float> %v636, i32 4
  %v826 = add i32 %v824, %v746
  %v827 = select i1 %v745, i32 %v826, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v825, ptr addrspace(8) %rsrc_c, i32 %v827, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v828 = extractelement <16 x float> %v637, i32 4
  %v829 = add i32 %v824, %v752
  %v830 = select i1 %v751, i32 %v829, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v828, ptr addrspace(8) %rsrc_c, i32 %v830, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v831 = extractelement <16 x float> %v668, i32 4
  %v832 = add i32 %v824, %v758
  %v833 = select i1 %v757, i32 %v832, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v831, ptr addrspace(8) %rsrc_c, i32 %v833, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v834 = extractelement <16 x float> %v669, i32 4
  %v835 = add i32 %v824, %v764
  %v836 = select i1 %v763, i32 %v835, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v834, ptr addrspace(8) %rsrc_c, i32 %v836, i32 0, i32 0)
  %v837 = add i32 %v767, 9
  %v838 = mul i32 %v837, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v839 = extractelement <16 x float> %v636, i32 5
  %v840 = add i32 %v838, %v746
  %v841 = select i1 %v745, i32 %v840, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v839, ptr addrspace(8) %rsrc_c, i32 %v841, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v842 = extractelement <16 x float> %v637, i32 5
  %v843 = add i32 %v838, %v752
  %v844 = select i1 %v751, i32 %v843, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v842, ptr addrspace(8) %rsrc_c, i32 %v844, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v845 = extractelement <16 x float> %v668, i32 5
  %v846 = add i32 %v838, %v758
  %v847 = select i1 %v757, i32 %v846, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v845, ptr addrspace(8) %rsrc_c, i32 %v847, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v848 = extractelement <16 x float> %v669, i32 5
  %v849 = add i32 %v838, %v764
  %v850 = select i1 %v763, i32 %v849, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v848, ptr addrspace(8) %rsrc_c, i32 %v850, i32 0, i32 0)
  %v851 = add i32 %v767, 10
  %v852 = mul i32 %v851, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v853 = extractelement <16 x float> %v636, i32 6
  %v854 = add i32 %v852, %v746
  %v855 = select i1 %v745, i32 %v854, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v853, ptr addrspace(8) %rsrc_c, i32 %v855, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v856 = extractelement <16 x float> %v637, i32 6
  %v857 = add i32 %v852, %v752
  %v858 = select i1 %v751, i32 %v857, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v856, ptr addrspace(8) %rsrc_c, i32 %v858, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v859 = extractelement <16 x float> %v668, i32 6
  %v860 = add i32 %v852, %v758
  %v861 = select i1 %v757, i32 %v860, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v859, ptr addrspace(8) %rsrc_c, i32 %v861, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v862 = extractelement <16 x float> %v669, i32 6
  %v863 = add i32 %v852, %v764
  %v864 = select i1 %v763, i32 %v863, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v862, ptr addrspace(8) %rsrc_c, i32 %v864, i32 0, i32 0)
  %v865 = add i32 %v767, 11
  %v866 = mul i32 %v865, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v867 = extractelement <16 x float> %v636, i32 7
  %v868 = add i32 %v866, %v746
  %v869 = select i1 %v745, i32 %v868, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v867, ptr addrspace(8) %rsrc_c, i32 %v869, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v870 = extractelement <16 x float> %v637, i32 7
  %v871 = add i32 %v866, %v752
  %v872 = select i1 %v751, i32 %v871, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v870, ptr addrspace(8) %rsrc_c, i32 %v872, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v873 = extractelement <16 x float> %v668, i32 7
  %v874 = add i32 %v866, %v758
  %v875 = select i1 %v757, i32 %v874, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v873, ptr addrspace(8) %rsrc_c, i32 %v875, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v876 = extractelement <16 x float> %v669, i32 7
  %v877 = add i32 %v866, %v764
  %v878 = select i1 %v763, i32 %v877, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v876, ptr addrspace(8) %rsrc_c, i32 %v878, i32 0, i32 0)
  %v879 = add i32 %v767, 16
  %v880 = mul i32 %v879, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v881 = extractelement <16 x float> %v636, i32 8
  %v882 = add i32 %v880, %v746
  %v883 = select i1 %v745, i32 %v882, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v881, ptr addrspace(8) %rsrc_c, i32 %v883, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v884 = extractelement <16 x float> %v637, i32 8
  %v885 = add i32 %v880, %v752
  %v886 = select i1 %v751, i32 %v885, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v884, ptr addrspace(8) %rsrc_c, i32 %v886, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v887 = extractelement <16 x float> %v668, i32 8
  %v888 = add i32 %v880, %v758
  %v889 = select i1 %v757, i32 %v888, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v887, ptr addrspace(8) %rsrc_c, i32 %v889, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v890 = extractelement <16 x float> %v669, i32 8
  %v891 = add i32 %v880, %v764
  %v892 = select i1 %v763, i32 %v891, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v890, ptr addrspace(8) %rsrc_c, i32 %v892, i32 0, i32 0)
  %v893 = add i32 %v767, 17
  %v894 = mul i32 %v893, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v895 = extractelement <16 x float> %v636, i32 9
  %v896 = add i32 %v894, %v746
  %v897 = select i1 %v745, i32 %v896, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v895, ptr addrspace(8) %rsrc_c, i32 %v897, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v898 = extractelement <16 x float> %v637, i32 9
  %v899 = add i32 %v894, %v752
  %v900 = select i1 %v751, i32 %v899, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v898, ptr addrspace(8) %rsrc_c, i32 %v900, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v901 = extractelement <16 x float> %v668, i32 9
  %v902 = add i32 %v894, %v758
  %v903 = select i1 %v757, i32 %v902, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v901, ptr addrspace(8) %rsrc_c, i32 %v903, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v904 = extractelement <16 x float> %v669, i32 9
  %v905 = add i32 %v894, %v764
  %v906 = select i1 %v763, i32 %v905, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v904, ptr addrspace(8) %rsrc_c, i32 %v906, i32 0, i32 0)
  %v907 = add i32 %v767, 18
  %v908 = mul i32 %v907, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v909 = extractelement <16 x float> %v636, i32 10
  %v910 = add i32 %v908, %v746
  %v911 = select i1 %v745, i32 %v910, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v909, ptr addrspace(8) %rsrc_c, i32 %v911, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v912 = extractelement <16 x float> %v637, i32 10
  %v913 = add i32 %v908, %v752
  %v914 = select i1 %v751, i32 %v913, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v912, ptr addrspace(8) %rsrc_c, i32 %v914, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v915 = extractelement <16 x float> %v668, i32 10
  %v916 = add i32 %v908, %v758
  %v917 = select i1 %v757, i32 %v916, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v915, ptr addrspace(8) %rsrc_c, i32 %v917, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v918 = extractelement <16 x float> %v669, i32 10
  %v919 = add i32 %v908, %v764
  %v920 = select i1 %v763, i32 %v919, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v918, ptr addrspace(8) %rsrc_c, i32 %v920, i32 0, i32 0)
  %v921 = add i32 %v767, 19
  %v922 = mul i32 %v921, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v923 = extractelement <16 x float> %v636, i32 11
  %v924 = add i32 %v922, %v746
  %v925 = select i1 %v745, i32 %v924, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v923, ptr addrspace(8) %rsrc_c, i32 %v925, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v926 = extractelement <16 x float> %v637, i32 11
  %v927 = add i32 %v922, %v752
  %v928 = select i1 %v751, i32 %v927, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v926, ptr addrspace(8) %rsrc_c, i32 %v928, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v929 = extractelement <16 x float> %v668, i32 11
  %v930 = add i32 %v922, %v758
  %v931 = select i1 %v757, i32 %v930, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v929, ptr addrspace(8) %rsrc_c, i32 %v931, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v932 = extractelement <16 x float> %v669, i32 11
  %v933 = add i32 %v922, %v764
  %v934 = select i1 %v763, i32 %v933, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v932, ptr addrspace(8) %rsrc_c, i32 %v934, i32 0, i32 0)
  %v935 = add i32 %v767, 24
  %v936 = mul i32 %v935, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v937 = extractelement <16 x float> %v636, i32 12
  %v938 = add i32 %v936, %v746
  %v939 = select i1 %v745, i32 %v938, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v937, ptr addrspace(8) %rsrc_c, i32 %v939, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v940 = extractelement <16 x float> %v637, i32 12
  %v941 = add i32 %v936, %v752
  %v942 = select i1 %v751, i32 %v941, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v940, ptr addrspace(8) %rsrc_c, i32 %v942, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v943 = extractelement <16 x float> %v668, i32 12
  %v944 = add i32 %v936, %v758
  %v945 = select i1 %v757, i32 %v944, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v943, ptr addrspace(8) %rsrc_c, i32 %v945, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v946 = extractelement <16 x float> %v669, i32 12
  %v947 = add i32 %v936, %v764
  %v948 = select i1 %v763, i32 %v947, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v946, ptr addrspace(8) %rsrc_c, i32 %v948, i32 0, i32 0)
  %v949 = add i32 %v767, 25
  %v950 = mul i32 %v949, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v951 = extractelement <16 x float> %v636, i32 13
  %v952 = add i32 %v950, %v746
  %v953 = select i1 %v745, i32 %v952, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v951, ptr addrspace(8) %rsrc_c, i32 %v953, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v954 = extractelement <16 x float> %v637, i32 13
  %v955 = add i32 %v950, %v752
  %v956 = select i1 %v751, i32 %v955, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v954, ptr addrspace(8) %rsrc_c, i32 %v956, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v957 = extractelement <16 x float> %v668, i32 13
  %v958 = add i32 %v950, %v758
  %v959 = select i1 %v757, i32 %v958, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v957, ptr addrspace(8) %rsrc_c, i32 %v959, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v960 = extractelement <16 x float> %v669, i32 13
  %v961 = add i32 %v950, %v764
  %v962 = select i1 %v763, i32 %v961, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v960, ptr addrspace(8) %rsrc_c, i32 %v962, i32 0, i32 0)
  %v963 = add i32 %v767, 26
  %v964 = mul i32 %v963, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v965 = extractelement <16 x float> %v636, i32 14
  %v966 = add i32 %v964, %v746
  %v967 = select i1 %v745, i32 %v966, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v965, ptr addrspace(8) %rsrc_c, i32 %v967, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v968 = extractelement <16 x float> %v637, i32 14
  %v969 = add i32 %v964, %v752
  %v970 = select i1 %v751, i32 %v969, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v968, ptr addrspace(8) %rsrc_c, i32 %v970, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v971 = extractelement <16 x float> %v668, i32 14
  %v972 = add i32 %v964, %v758
  %v973 = select i1 %v757, i32 %v972, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v971, ptr addrspace(8) %rsrc_c, i32 %v973, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v974 = extractelement <16 x float> %v669, i32 14
  %v975 = add i32 %v964, %v764
  %v976 = select i1 %v763, i32 %v975, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v974, ptr addrspace(8) %rsrc_c, i32 %v976, i32 0, i32 0)
  %v977 = add i32 %v767, 27
  %v978 = mul i32 %v977, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v979 = extractelement <16 x float> %v636, i32 15
  %v980 = add i32 %v978, %v746
  %v981 = select i1 %v745, i32 %v980, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v979, ptr addrspace(8) %rsrc_c, i32 %v981, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v982 = extractelement <16 x float> %v637, i32 15
  %v983 = add i32 %v978, %v752
  %v984 = select i1 %v751, i32 %v983, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v982, ptr addrspace(8) %rsrc_c, i32 %v984, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v985 = extractelement <16 x float> %v668, i32 15
  %v986 = add i32 %v978, %v758
  %v987 = select i1 %v757, i32 %v986, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v985, ptr addrspace(8) %rsrc_c, i32 %v987, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v988 = extractelement <16 x float> %v669, i32 15
  %v989 = add i32 %v978, %v764
  %v990 = select i1 %v763, i32 %v989, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v988, ptr addrspace(8) %rsrc_c, i32 %v990, i32 0, i32 0)
  %v991 = shl i32 %wave0, 6
  %v992 = add i32 %v991, 32
  %v993 = add i32 %v992, %v765
  %v994 = mul i32 %v993, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v995 = extractelement <16 x float> %v638, i32 0
  %v996 = add i32 %v994, %v746
  %v997 = select i1 %v745, i32 %v996, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v995, ptr addrspace(8) %rsrc_c, i32 %v997, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v998 = extractelement <16 x float> %v639, i32 0
  %v999 = add i32 %v994, %v752
  %v1000 = select i1 %v751, i32 %v999, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v998, ptr addrspace(8) %rsrc_c, i32 %v1000, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1001 = extractelement <16 x float> %v670, i32 0
  %v1002 = add i32 %v994, %v758
  %v1003 = select i1 %v757, i32 %v1002, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1001, ptr addrspace(8) %rsrc_c, i32 %v1003, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1004 = extractelement <16 x float> %v671, i32 0
  %v1005 = add i32 %v994, %v764
  %v1006 = select i1 %v763, i32 %v1005, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1004, ptr addrspace(8) %rsrc_c, i32 %v1006, i32 0, i32 0)
  %v1007 = add i32 %v993, 1
  %v1008 = mul i32 %v1007, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1009 = extractelement <16 x float> %v638, i32 1
  %v1010 = add i32 %v1008, %v746
  %v1011 = select i1 %v745, i32 %v1010, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1009, ptr addrspace(8) %rsrc_c, i32 %v1011, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1012 = extractelement <16 x float> %v639, i32 1
  %v1013 = add i32 %v1008, %v752
  %v1014 = select i1 %v751, i32 %v1013, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1012, ptr addrspace(8) %rsrc_c, i32 %v1014, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1015 = extractelement <16 x float> %v670, i32 1
  %v1016 = add i32 %v1008, %v758
  %v1017 = select i1 %v757, i32 %v1016, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1015, ptr addrspace(8) %rsrc_c, i32 %v1017, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1018 = extractelement <16 x float> %v671, i32 1
  %v1019 = add i32 %v1008, %v764
  %v1020 = select i1 %v763, i32 %v1019, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1018, ptr addrspace(8) %rsrc_c, i32 %v1020, i32 0, i32 0)
  %v1021 = add i32 %v993, 2
  %v1022 = mul i32 %v1021, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1023 = extractelement <16 x float> %v638, i32 2
  %v1024 = add i32 %v1022, %v746
  %v1025 = select i1 %v745, i32 %v1024, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1023, ptr addrspace(8) %rsrc_c, i32 %v1025, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1026 = extractelement <16 x float> %v639, i32 2
  %v1027 = add i32 %v1022, %v752
  %v1028 = select i1 %v751, i32 %v1027, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1026, ptr addrspace(8) %rsrc_c, i32 %v1028, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1029 = extractelement <16 x float> %v670, i32 2
  %v1030 = add i32 %v1022, %v758
  %v1031 = select i1 %v757, i32 %v1030, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1029, ptr addrspace(8) %rsrc_c, i32 %v1031, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1032 = extractelement <16 x float> %v671, i32 2
  %v1033 = add i32 %v1022, %v764
  %v1034 = select i1 %v763, i32 %v1033, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1032, ptr addrspace(8) %rsrc_c, i32 %v1034, i32 0, i32 0)
  %v1035 = add i32 %v993, 3
  %v1036 = mul i32 %v1035, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1037 = extractelement <16 x float> %v638, i32 3
  %v1038 = add i32 %v1036, %v746
  %v1039 = select i1 %v745, i32 %v1038, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1037, ptr addrspace(8) %rsrc_c, i32 %v1039, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1040 = extractelement <16 x float> %v639, i32 3
  %v1041 = add i32 %v1036, %v752
  %v1042 = select i1 %v751, i32 %v1041, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1040, ptr addrspace(8) %rsrc_c, i32 %v1042, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1043 = extractelement <16 x float> %v670, i32 3
  %v1044 = add i32 %v1036, %v758
  %v1045 = select i1 %v757, i32 %v1044, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1043, ptr addrspace(8) %rsrc_c, i32 %v1045, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1046 = extractelement <16 x float> %v671, i32 3
  %v1047 = add i32 %v1036, %v764
  %v1048 = select i1 %v763, i32 %v1047, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1046, ptr addrspace(8) %rsrc_c, i32 %v1048, i32 0, i32 0)
  %v1049 = add i32 %v993, 8
  %v1050 = mul i32 %v1049, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1051 = extractelement <16 x float> %v638, i32 4
  %v1052 = add i32 %v1050, %v746
  %v1053 = select i1 %v745, i32 %v1052, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1051, ptr addrspace(8) %rsrc_c, i32 %v1053, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1054 = extractelement <16 x float> %v639, i32 4
  %v1055 = add i32 %v1050, %v752
  %v1056 = select i1 %v751, i32 %v1055, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1054, ptr addrspace(8) %rsrc_c, i32 %v1056, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1057 = extractelement <16 x float> %v670, i32 4
  %v1058 = add i32 %v1050, %v758
  %v1059 = select i1 %v757, i32 %v1058, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1057, ptr addrspace(8) %rsrc_c, i32 %v1059, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1060 = extractelement <16 x float> %v671, i32 4
  %v1061 = add i32 %v1050, %v764
  %v1062 = select i1 %v763, i32 %v1061, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1060, ptr addrspace(8) %rsrc_c, i32 %v1062, i32 0, i32 0)
  %v1063 = add i32 %v993, 9
  %v1064 = mul i32 %v1063, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1065 = extractelement <16 x float> %v638, i32 5
  %v1066 = add i32 %v1064, %v746
  %v1067 = select i1 %v745, i32 %v1066, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1065, ptr addrspace(8) %rsrc_c, i32 %v1067, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1068 = extractelement <16 x float> %v639, i32 5
  %v1069 = add i32 %v1064, %v752
  %v1070 = select i1 %v751, i32 %v1069, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1068, ptr addrspace(8) %rsrc_c, i32 %v1070, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1071 = extractelement <16 x float> %v670, i32 5
  %v1072 = add i32 %v1064, %v758
  %v1073 = select i1 %v757, i32 %v1072, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1071, ptr addrspace(8) %rsrc_c, i32 %v1073, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1074 = extractelement <16 x float> %v671, i32 5
  %v1075 = add i32 %v1064, %v764
  %v1076 = select i1 %v763, i32 %v1075, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1074, ptr addrspace(8) %rsrc_c, i32 %v1076, i32 0, i32 0)
  %v1077 = add i32 %v993, 10
  %v1078 = mul i32 %v1077, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1079 = extractelement <16 x float> %v638, i32 6
  %v1080 = add i32 %v1078, %v746
  %v1081 = select i1 %v745, i32 %v1080, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1079, ptr addrspace(8) %rsrc_c, i32 %v1081, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1082 = extractelement <16 x float> %v639, i32 6
  %v1083 = add i32 %v1078, %v752
  %v1084 = select i1 %v751, i32 %v1083, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1082, ptr addrspace(8) %rsrc_c, i32 %v1084, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1085 = extractelement <16 x float> %v670, i32 6
  %v1086 = add i32 %v1078, %v758
  %v1087 = select i1 %v757, i32 %v1086, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1085, ptr addrspace(8) %rsrc_c, i32 %v1087, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1088 = extractelement <16 x float> %v671, i32 6
  %v1089 = add i32 %v1078, %v764
  %v1090 = select i1 %v763, i32 %v1089, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1088, ptr addrspace(8) %rsrc_c, i32 %v1090, i32 0, i32 0)
  %v1091 = add i32 %v993, 11
  %v1092 = mul i32 %v1091, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1093 = extractelement <16 x float> %v638, i32 7
  %v1094 = add i32 %v1092, %v746
  %v1095 = select i1 %v745, i32 %v1094, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1093, ptr addrspace(8) %rsrc_c, i32 %v1095, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1096 = extractelement <16 x float> %v639, i32 7
  %v1097 = add i32 %v1092, %v752
  %v1098 = select i1 %v751, i32 %v1097, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1096, ptr addrspace(8) %rsrc_c, i32 %v1098, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1099 = extractelement <16 x float> %v670, i32 7
  %v1100 = add i32 %v1092, %v758
  %v1101 = select i1 %v757, i32 %v1100, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1099, ptr addrspace(8) %rsrc_c, i32 %v1101, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1102 = extractelement <16 x float> %v671, i32 7
  %v1103 = add i32 %v1092, %v764
  %v1104 = select i1 %v763, i32 %v1103, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1102, ptr addrspace(8) %rsrc_c, i32 %v1104, i32 0, i32 0)
  %v1105 = add i32 %v993, 16
  %v1106 = mul i32 %v1105, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1107 = extractelement <16 x float> %v638, i32 8
  %v1108 = add i32 %v1106, %v746
  %v1109 = select i1 %v745, i32 %v1108, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1107, ptr addrspace(8) %rsrc_c, i32 %v1109, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1110 = extractelement <16 x float> %v639, i32 8
  %v1111 = add i32 %v1106, %v752
  %v1112 = select i1 %v751, i32 %v1111, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1110, ptr addrspace(8) %rsrc_c, i32 %v1112, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1113 = extractelement <16 x float> %v670, i32 8
  %v1114 = add i32 %v1106, %v758
  %v1115 = select i1 %v757, i32 %v1114, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1113, ptr addrspace(8) %rsrc_c, i32 %v1115, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1116 = extractelement <16 x float> %v671, i32 8
  %v1117 = add i32 %v1106, %v764
  %v1118 = select i1 %v763, i32 %v1117, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1116, ptr addrspace(8) %rsrc_c, i32 %v1118, i32 0, i32 0)
  %v1119 = add i32 %v993, 17
  %v1120 = mul i32 %v1119, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1121 = extractelement <16 x float> %v638, i32 9
  %v1122 = add i32 %v1120, %v746
  %v1123 = select i1 %v745, i32 %v1122, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1121, ptr addrspace(8) %rsrc_c, i32 %v1123, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1124 = extractelement <16 x float> %v639, i32 9
  %v1125 = add i32 %v1120, %v752
  %v1126 = select i1 %v751, i32 %v1125, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1124, ptr addrspace(8) %rsrc_c, i32 %v1126, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1127 = extractelement <16 x float> %v670, i32 9
  %v1128 = add i32 %v1120, %v758
  %v1129 = select i1 %v757, i32 %v1128, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1127, ptr addrspace(8) %rsrc_c, i32 %v1129, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1130 = extractelement <16 x float> %v671, i32 9
  %v1131 = add i32 %v1120, %v764
  %v1132 = select i1 %v763, i32 %v1131, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1130, ptr addrspace(8) %rsrc_c, i32 %v1132, i32 0, i32 0)
  %v1133 = add i32 %v993, 18
  %v1134 = mul i32 %v1133, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1135 = extractelement <16 x float> %v638, i32 10
  %v1136 = add i32 %v1134, %v746
  %v1137 = select i1 %v745, i32 %v1136, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1135, ptr addrspace(8) %rsrc_c, i32 %v1137, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1138 = extractelement <16 x float> %v639, i32 10
  %v1139 = add i32 %v1134, %v752
  %v1140 = select i1 %v751, i32 %v1139, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1138, ptr addrspace(8) %rsrc_c, i32 %v1140, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1141 = extractelement <16 x float> %v670, i32 10
  %v1142 = add i32 %v1134, %v758
  %v1143 = select i1 %v757, i32 %v1142, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1141, ptr addrspace(8) %rsrc_c, i32 %v1143, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1144 = extractelement <16 x float> %v671, i32 10
  %v1145 = add i32 %v1134, %v764
  %v1146 = select i1 %v763, i32 %v1145, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1144, ptr addrspace(8) %rsrc_c, i32 %v1146, i32 0, i32 0)
  %v1147 = add i32 %v993, 19
  %v1148 = mul i32 %v1147, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1149 = extractelement <16 x float> %v638, i32 11
  %v1150 = add i32 %v1148, %v746
  %v1151 = select i1 %v745, i32 %v1150, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1149, ptr addrspace(8) %rsrc_c, i32 %v1151, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1152 = extractelement <16 x float> %v639, i32 11
  %v1153 = add i32 %v1148, %v752
  %v1154 = select i1 %v751, i32 %v1153, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1152, ptr addrspace(8) %rsrc_c, i32 %v1154, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1155 = extractelement <16 x float> %v670, i32 11
  %v1156 = add i32 %v1148, %v758
  %v1157 = select i1 %v757, i32 %v1156, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1155, ptr addrspace(8) %rsrc_c, i32 %v1157, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1158 = extractelement <16 x float> %v671, i32 11
  %v1159 = add i32 %v1148, %v764
  %v1160 = select i1 %v763, i32 %v1159, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1158, ptr addrspace(8) %rsrc_c, i32 %v1160, i32 0, i32 0)
  %v1161 = add i32 %v993, 24
  %v1162 = mul i32 %v1161, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1163 = extractelement <16 x float> %v638, i32 12
  %v1164 = add i32 %v1162, %v746
  %v1165 = select i1 %v745, i32 %v1164, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1163, ptr addrspace(8) %rsrc_c, i32 %v1165, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1166 = extractelement <16 x float> %v639, i32 12
  %v1167 = add i32 %v1162, %v752
  %v1168 = select i1 %v751, i32 %v1167, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1166, ptr addrspace(8) %rsrc_c, i32 %v1168, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1169 = extractelement <16 x float> %v670, i32 12
  %v1170 = add i32 %v1162, %v758
  %v1171 = select i1 %v757, i32 %v1170, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1169, ptr addrspace(8) %rsrc_c, i32 %v1171, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1172 = extractelement <16 x float> %v671, i32 12
  %v1173 = add i32 %v1162, %v764
  %v1174 = select i1 %v763, i32 %v1173, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1172, ptr addrspace(8) %rsrc_c, i32 %v1174, i32 0, i32 0)
  %v1175 = add i32 %v993, 25
  %v1176 = mul i32 %v1175, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1177 = extractelement <16 x float> %v638, i32 13
  %v1178 = add i32 %v1176, %v746
  %v1179 = select i1 %v745, i32 %v1178, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1177, ptr addrspace(8) %rsrc_c, i32 %v1179, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1180 = extractelement <16 x float> %v639, i32 13
  %v1181 = add i32 %v1176, %v752
  %v1182 = select i1 %v751, i32 %v1181, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1180, ptr addrspace(8) %rsrc_c, i32 %v1182, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1183 = extractelement <16 x float> %v670, i32 13
  %v1184 = add i32 %v1176, %v758
  %v1185 = select i1 %v757, i32 %v1184, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1183, ptr addrspace(8) %rsrc_c, i32 %v1185, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1186 = extractelement <16 x float> %v671, i32 13
  %v1187 = add i32 %v1176, %v764
  %v1188 = select i1 %v763, i32 %v1187, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1186, ptr addrspace(8) %rsrc_c, i32 %v1188, i32 0, i32 0)
  %v1189 = add i32 %v993, 26
  %v1190 = mul i32 %v1189, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1191 = extractelement <16 x float> %v638, i32 14
  %v1192 = add i32 %v1190, %v746
  %v1193 = select i1 %v745, i32 %v1192, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1191, ptr addrspace(8) %rsrc_c, i32 %v1193, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1194 = extractelement <16 x float> %v639, i32 14
  %v1195 = add i32 %v1190, %v752
  %v1196 = select i1 %v751, i32 %v1195, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1194, ptr addrspace(8) %rsrc_c, i32 %v1196, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1197 = extractelement <16 x float> %v670, i32 14
  %v1198 = add i32 %v1190, %v758
  %v1199 = select i1 %v757, i32 %v1198, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1197, ptr addrspace(8) %rsrc_c, i32 %v1199, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1200 = extractelement <16 x float> %v671, i32 14
  %v1201 = add i32 %v1190, %v764
  %v1202 = select i1 %v763, i32 %v1201, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1200, ptr addrspace(8) %rsrc_c, i32 %v1202, i32 0, i32 0)
  %v1203 = add i32 %v993, 27
  %v1204 = mul i32 %v1203, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1205 = extractelement <16 x float> %v638, i32 15
  %v1206 = add i32 %v1204, %v746
  %v1207 = select i1 %v745, i32 %v1206, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1205, ptr addrspace(8) %rsrc_c, i32 %v1207, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1208 = extractelement <16 x float> %v639, i32 15
  %v1209 = add i32 %v1204, %v752
  %v1210 = select i1 %v751, i32 %v1209, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1208, ptr addrspace(8) %rsrc_c, i32 %v1210, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1211 = extractelement <16 x float> %v670, i32 15
  %v1212 = add i32 %v1204, %v758
  %v1213 = select i1 %v757, i32 %v1212, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1211, ptr addrspace(8) %rsrc_c, i32 %v1213, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1214 = extractelement <16 x float> %v671, i32 15
  %v1215 = add i32 %v1204, %v764
  %v1216 = select i1 %v763, i32 %v1215, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1214, ptr addrspace(8) %rsrc_c, i32 %v1216, i32 0, i32 0)
  %v1217 = shl i32 %wave0, 6
  %v1218 = add i32 %v1217, 128
  %v1219 = add i32 %v1218, %v765
  %v1220 = mul i32 %v1219, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1221 = extractelement <16 x float> %v700, i32 0
  %v1222 = add i32 %v1220, %v746
  %v1223 = select i1 %v745, i32 %v1222, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1221, ptr addrspace(8) %rsrc_c, i32 %v1223, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1224 = extractelement <16 x float> %v701, i32 0
  %v1225 = add i32 %v1220, %v752
  %v1226 = select i1 %v751, i32 %v1225, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1224, ptr addrspace(8) %rsrc_c, i32 %v1226, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1227 = extractelement <16 x float> %v732, i32 0
  %v1228 = add i32 %v1220, %v758
  %v1229 = select i1 %v757, i32 %v1228, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1227, ptr addrspace(8) %rsrc_c, i32 %v1229, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1230 = extractelement <16 x float> %v733, i32 0
  %v1231 = add i32 %v1220, %v764
  %v1232 = select i1 %v763, i32 %v1231, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1230, ptr addrspace(8) %rsrc_c, i32 %v1232, i32 0, i32 0)
  %v1233 = add i32 %v1219, 1
  %v1234 = mul i32 %v1233, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1235 = extractelement <16 x float> %v700, i32 1
  %v1236 = add i32 %v1234, %v746
  %v1237 = select i1 %v745, i32 %v1236, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1235, ptr addrspace(8) %rsrc_c, i32 %v1237, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1238 = extractelement <16 x float> %v701, i32 1
  %v1239 = add i32 %v1234, %v752
  %v1240 = select i1 %v751, i32 %v1239, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1238, ptr addrspace(8) %rsrc_c, i32 %v1240, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1241 = extractelement <16 x float> %v732, i32 1
  %v1242 = add i32 %v1234, %v758
  %v1243 = select i1 %v757, i32 %v1242, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1241, ptr addrspace(8) %rsrc_c, i32 %v1243, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1244 = extractelement <16 x float> %v733, i32 1
  %v1245 = add i32 %v1234, %v764
  %v1246 = select i1 %v763, i32 %v1245, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1244, ptr addrspace(8) %rsrc_c, i32 %v1246, i32 0, i32 0)
  %v1247 = add i32 %v1219, 2
  %v1248 = mul i32 %v1247, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1249 = extractelement <16 x float> %v700, i32 2
  %v1250 = add i32 %v1248, %v746
  %v1251 = select i1 %v745, i32 %v1250, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1249, ptr addrspace(8) %rsrc_c, i32 %v1251, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1252 = extractelement <16 x float> %v701, i32 2
  %v1253 = add i32 %v1248, %v752
  %v1254 = select i1 %v751, i32 %v1253, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1252, ptr addrspace(8) %rsrc_c, i32 %v1254, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1255 = extractelement <16 x float> %v732, i32 2
  %v1256 = add i32 %v1248, %v758
  %v1257 = select i1 %v757, i32 %v1256, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1255, ptr addrspace(8) %rsrc_c, i32 %v1257, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1258 = extractelement <16 x float> %v733, i32 2
  %v1259 = add i32 %v1248, %v764
  %v1260 = select i1 %v763, i32 %v1259, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1258, ptr addrspace(8) %rsrc_c, i32 %v1260, i32 0, i32 0)
  %v1261 = add i32 %v1219, 3
  %v1262 = mul i32 %v1261, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1263 = extractelement <16 x float> %v700, i32 3
  %v1264 = add i32 %v1262, %v746
  %v1265 = select i1 %v745, i32 %v1264, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1263, ptr addrspace(8) %rsrc_c, i32 %v1265, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1266 = extractelement <16 x float> %v701, i32 3
  %v1267 = add i32 %v1262, %v752
  %v1268 = select i1 %v751, i32 %v1267, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1266, ptr addrspace(8) %rsrc_c, i32 %v1268, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1269 = extractelement <16 x float> %v732, i32 3
  %v1270 = add i32 %v1262, %v758
  %v1271 = select i1 %v757, i32 %v1270, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1269, ptr addrspace(8) %rsrc_c, i32 %v1271, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1272 = extractelement <16 x float> %v733, i32 3
  %v1273 = add i32 %v1262, %v764
  %v1274 = select i1 %v763, i32 %v1273, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1272, ptr addrspace(8) %rsrc_c, i32 %v1274, i32 0, i32 0)
  %v1275 = add i32 %v1219, 8
  %v1276 = mul i32 %v1275, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1277 = extractelement <16 x float> %v700, i32 4
  %v1278 = add i32 %v1276, %v746
  %v1279 = select i1 %v745, i32 %v1278, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1277, ptr addrspace(8) %rsrc_c, i32 %v1279, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1280 = extractelement <16 x float> %v701, i32 4
  %v1281 = add i32 %v1276, %v752
  %v1282 = select i1 %v751, i32 %v1281, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1280, ptr addrspace(8) %rsrc_c, i32 %v1282, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1283 = extractelement <16 x float> %v732, i32 4
  %v1284 = add i32 %v1276, %v758
  %v1285 = select i1 %v757, i32 %v1284, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1283, ptr addrspace(8) %rsrc_c, i32 %v1285, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1286 = extractelement <16 x float> %v733, i32 4
  %v1287 = add i32 %v1276, %v764
  %v1288 = select i1 %v763, i32 %v1287, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1286, ptr addrspace(8) %rsrc_c, i32 %v1288, i32 0, i32 0)
  %v1289 = add i32 %v1219, 9
  %v1290 = mul i32 %v1289, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1291 = extractelement <16 x float> %v700, i32 5
  %v1292 = add i32 %v1290, %v746
  %v1293 = select i1 %v745, i32 %v1292, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1291, ptr addrspace(8) %rsrc_c, i32 %v1293, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1294 = extractelement <16 x float> %v701, i32 5
  %v1295 = add i32 %v1290, %v752
  %v1296 = select i1 %v751, i32 %v1295, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1294, ptr addrspace(8) %rsrc_c, i32 %v1296, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1297 = extractelement <16 x float> %v732, i32 5
  %v1298 = add i32 %v1290, %v758
  %v1299 = select i1 %v757, i32 %v1298, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1297, ptr addrspace(8) %rsrc_c, i32 %v1299, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1300 = extractelement <16 x float> %v733, i32 5
  %v1301 = add i32 %v1290, %v764
  %v1302 = select i1 %v763, i32 %v1301, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1300, ptr addrspace(8) %rsrc_c, i32 %v1302, i32 0, i32 0)
  %v1303 = add i32 %v1219, 10
  %v1304 = mul i32 %v1303, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1305 = extractelement <16 x float> %v700, i32 6
  %v1306 = add i32 %v1304, %v746
  %v1307 = select i1 %v745, i32 %v1306, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1305, ptr addrspace(8) %rsrc_c, i32 %v1307, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1308 = extractelement <16 x float> %v701, i32 6
  %v1309 = add i32 %v1304, %v752
  %v1310 = select i1 %v751, i32 %v1309, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1308, ptr addrspace(8) %rsrc_c, i32 %v1310, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1311 = extractelement <16 x float> %v732, i32 6
  %v1312 = add i32 %v1304, %v758
  %v1313 = select i1 %v757, i32 %v1312, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1311, ptr addrspace(8) %rsrc_c, i32 %v1313, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1314 = extractelement <16 x float> %v733, i32 6
  %v1315 = add i32 %v1304, %v764
  %v1316 = select i1 %v763, i32 %v1315, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1314, ptr addrspace(8) %rsrc_c, i32 %v1316, i32 0, i32 0)
  %v1317 = add i32 %v1219, 11
  %v1318 = mul i32 %v1317, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1319 = extractelement <16 x float> %v700, i32 7
  %v1320 = add i32 %v1318, %v746
  %v1321 = select i1 %v745, i32 %v1320, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1319, ptr addrspace(8) %rsrc_c, i32 %v1321, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1322 = extractelement <16 x float> %v701, i32 7
  %v1323 = add i32 %v1318, %v752
  %v1324 = select i1 %v751, i32 %v1323, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1322, ptr addrspace(8) %rsrc_c, i32 %v1324, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1325 = extractelement <16 x float> %v732, i32 7
  %v1326 = add i32 %v1318, %v758
  %v1327 = select i1 %v757, i32 %v1326, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1325, ptr addrspace(8) %rsrc_c, i32 %v1327, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1328 = extractelement <16 x float> %v733, i32 7
  %v1329 = add i32 %v1318, %v764
  %v1330 = select i1 %v763, i32 %v1329, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1328, ptr addrspace(8) %rsrc_c, i32 %v1330, i32 0, i32 0)
  %v1331 = add i32 %v1219, 16
  %v1332 = mul i32 %v1331, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1333 = extractelement <16 x float> %v700, i32 8
  %v1334 = add i32 %v1332, %v746
  %v1335 = select i1 %v745, i32 %v1334, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1333, ptr addrspace(8) %rsrc_c, i32 %v1335, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1336 = extractelement <16 x float> %v701, i32 8
  %v1337 = add i32 %v1332, %v752
  %v1338 = select i1 %v751, i32 %v1337, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1336, ptr addrspace(8) %rsrc_c, i32 %v1338, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1339 = extractelement <16 x float> %v732, i32 8
  %v1340 = add i32 %v1332, %v758
  %v1341 = select i1 %v757, i32 %v1340, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1339, ptr addrspace(8) %rsrc_c, i32 %v1341, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1342 = extractelement <16 x float> %v733, i32 8
  %v1343 = add i32 %v1332, %v764
  %v1344 = select i1 %v763, i32 %v1343, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1342, ptr addrspace(8) %rsrc_c, i32 %v1344, i32 0, i32 0)
  %v1345 = add i32 %v1219, 17
  %v1346 = mul i32 %v1345, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1347 = extractelement <16 x float> %v700, i32 9
  %v1348 = add i32 %v1346, %v746
  %v1349 = select i1 %v745, i32 %v1348, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1347, ptr addrspace(8) %rsrc_c, i32 %v1349, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1350 = extractelement <16 x float> %v701, i32 9
  %v1351 = add i32 %v1346, %v752
  %v1352 = select i1 %v751, i32 %v1351, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1350, ptr addrspace(8) %rsrc_c, i32 %v1352, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1353 = extractelement <16 x float> %v732, i32 9
  %v1354 = add i32 %v1346, %v758
  %v1355 = select i1 %v757, i32 %v1354, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1353, ptr addrspace(8) %rsrc_c, i32 %v1355, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1356 = extractelement <16 x float> %v733, i32 9
  %v1357 = add i32 %v1346, %v764
  %v1358 = select i1 %v763, i32 %v1357, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1356, ptr addrspace(8) %rsrc_c, i32 %v1358, i32 0, i32 0)
  %v1359 = add i32 %v1219, 18
  %v1360 = mul i32 %v1359, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1361 = extractelement <16 x float> %v700, i32 10
  %v1362 = add i32 %v1360, %v746
  %v1363 = select i1 %v745, i32 %v1362, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1361, ptr addrspace(8) %rsrc_c, i32 %v1363, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1364 = extractelement <16 x float> %v701, i32 10
  %v1365 = add i32 %v1360, %v752
  %v1366 = select i1 %v751, i32 %v1365, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1364, ptr addrspace(8) %rsrc_c, i32 %v1366, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1367 = extractelement <16 x float> %v732, i32 10
  %v1368 = add i32 %v1360, %v758
  %v1369 = select i1 %v757, i32 %v1368, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1367, ptr addrspace(8) %rsrc_c, i32 %v1369, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1370 = extractelement <16 x float> %v733, i32 10
  %v1371 = add i32 %v1360, %v764
  %v1372 = select i1 %v763, i32 %v1371, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1370, ptr addrspace(8) %rsrc_c, i32 %v1372, i32 0, i32 0)
  %v1373 = add i32 %v1219, 19
  %v1374 = mul i32 %v1373, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1375 = extractelement <16 x float> %v700, i32 11
  %v1376 = add i32 %v1374, %v746
  %v1377 = select i1 %v745, i32 %v1376, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1375, ptr addrspace(8) %rsrc_c, i32 %v1377, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1378 = extractelement <16 x float> %v701, i32 11
  %v1379 = add i32 %v1374, %v752
  %v1380 = select i1 %v751, i32 %v1379, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1378, ptr addrspace(8) %rsrc_c, i32 %v1380, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1381 = extractelement <16 x float> %v732, i32 11
  %v1382 = add i32 %v1374, %v758
  %v1383 = select i1 %v757, i32 %v1382, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1381, ptr addrspace(8) %rsrc_c, i32 %v1383, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1384 = extractelement <16 x float> %v733, i32 11
  %v1385 = add i32 %v1374, %v764
  %v1386 = select i1 %v763, i32 %v1385, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1384, ptr addrspace(8) %rsrc_c, i32 %v1386, i32 0, i32 0)
  %v1387 = add i32 %v1219, 24
  %v1388 = mul i32 %v1387, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1389 = extractelement <16 x float> %v700, i32 12
  %v1390 = add i32 %v1388, %v746
  %v1391 = select i1 %v745, i32 %v1390, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1389, ptr addrspace(8) %rsrc_c, i32 %v1391, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1392 = extractelement <16 x float> %v701, i32 12
  %v1393 = add i32 %v1388, %v752
  %v1394 = select i1 %v751, i32 %v1393, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1392, ptr addrspace(8) %rsrc_c, i32 %v1394, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1395 = extractelement <16 x float> %v732, i32 12
  %v1396 = add i32 %v1388, %v758
  %v1397 = select i1 %v757, i32 %v1396, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1395, ptr addrspace(8) %rsrc_c, i32 %v1397, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1398 = extractelement <16 x float> %v733, i32 12
  %v1399 = add i32 %v1388, %v764
  %v1400 = select i1 %v763, i32 %v1399, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1398, ptr addrspace(8) %rsrc_c, i32 %v1400, i32 0, i32 0)
  %v1401 = add i32 %v1219, 25
  %v1402 = mul i32 %v1401, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1403 = extractelement <16 x float> %v700, i32 13
  %v1404 = add i32 %v1402, %v746
  %v1405 = select i1 %v745, i32 %v1404, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1403, ptr addrspace(8) %rsrc_c, i32 %v1405, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1406 = extractelement <16 x float> %v701, i32 13
  %v1407 = add i32 %v1402, %v752
  %v1408 = select i1 %v751, i32 %v1407, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1406, ptr addrspace(8) %rsrc_c, i32 %v1408, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1409 = extractelement <16 x float> %v732, i32 13
  %v1410 = add i32 %v1402, %v758
  %v1411 = select i1 %v757, i32 %v1410, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1409, ptr addrspace(8) %rsrc_c, i32 %v1411, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1412 = extractelement <16 x float> %v733, i32 13
  %v1413 = add i32 %v1402, %v764
  %v1414 = select i1 %v763, i32 %v1413, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1412, ptr addrspace(8) %rsrc_c, i32 %v1414, i32 0, i32 0)
  %v1415 = add i32 %v1219, 26
  %v1416 = mul i32 %v1415, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1417 = extractelement <16 x float> %v700, i32 14
  %v1418 = add i32 %v1416, %v746
  %v1419 = select i1 %v745, i32 %v1418, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1417, ptr addrspace(8) %rsrc_c, i32 %v1419, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1420 = extractelement <16 x float> %v701, i32 14
  %v1421 = add i32 %v1416, %v752
  %v1422 = select i1 %v751, i32 %v1421, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1420, ptr addrspace(8) %rsrc_c, i32 %v1422, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1423 = extractelement <16 x float> %v732, i32 14
  %v1424 = add i32 %v1416, %v758
  %v1425 = select i1 %v757, i32 %v1424, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1423, ptr addrspace(8) %rsrc_c, i32 %v1425, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1426 = extractelement <16 x float> %v733, i32 14
  %v1427 = add i32 %v1416, %v764
  %v1428 = select i1 %v763, i32 %v1427, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1426, ptr addrspace(8) %rsrc_c, i32 %v1428, i32 0, i32 0)
  %v1429 = add i32 %v1219, 27
  %v1430 = mul i32 %v1429, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1431 = extractelement <16 x float> %v700, i32 15
  %v1432 = add i32 %v1430, %v746
  %v1433 = select i1 %v745, i32 %v1432, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1431, ptr addrspace(8) %rsrc_c, i32 %v1433, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1434 = extractelement <16 x float> %v701, i32 15
  %v1435 = add i32 %v1430, %v752
  %v1436 = select i1 %v751, i32 %v1435, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1434, ptr addrspace(8) %rsrc_c, i32 %v1436, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1437 = extractelement <16 x float> %v732, i32 15
  %v1438 = add i32 %v1430, %v758
  %v1439 = select i1 %v757, i32 %v1438, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1437, ptr addrspace(8) %rsrc_c, i32 %v1439, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1440 = extractelement <16 x float> %v733, i32 15
  %v1441 = add i32 %v1430, %v764
  %v1442 = select i1 %v763, i32 %v1441, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1440, ptr addrspace(8) %rsrc_c, i32 %v1442, i32 0, i32 0)
  %v1443 = shl i32 %wave0, 6
  %v1444 = add i32 %v1443, 160
  %v1445 = add i32 %v1444, %v765
  %v1446 = mul i32 %v1445, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1447 = extractelement <16 x float> %v702, i32 0
  %v1448 = add i32 %v1446, %v746
  %v1449 = select i1 %v745, i32 %v1448, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1447, ptr addrspace(8) %rsrc_c, i32 %v1449, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1450 = extractelement <16 x float> %v703, i32 0
  %v1451 = add i32 %v1446, %v752
  %v1452 = select i1 %v751, i32 %v1451, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1450, ptr addrspace(8) %rsrc_c, i32 %v1452, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1453 = extractelement <16 x float> %v734, i32 0
  %v1454 = add i32 %v1446, %v758
  %v1455 = select i1 %v757, i32 %v1454, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1453, ptr addrspace(8) %rsrc_c, i32 %v1455, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1456 = extractelement <16 x float> %v735, i32 0
  %v1457 = add i32 %v1446, %v764
  %v1458 = select i1 %v763, i32 %v1457, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1456, ptr addrspace(8) %rsrc_c, i32 %v1458, i32 0, i32 0)
  %v1459 = add i32 %v1445, 1
  %v1460 = mul i32 %v1459, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1461 = extractelement <16 x float> %v702, i32 1
  %v1462 = add i32 %v1460, %v746
  %v1463 = select i1 %v745, i32 %v1462, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1461, ptr addrspace(8) %rsrc_c, i32 %v1463, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1464 = extractelement <16 x float> %v703, i32 1
  %v1465 = add i32 %v1460, %v752
  %v1466 = select i1 %v751, i32 %v1465, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1464, ptr addrspace(8) %rsrc_c, i32 %v1466, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1467 = extractelement <16 x float> %v734, i32 1
  %v1468 = add i32 %v1460, %v758
  %v1469 = select i1 %v757, i32 %v1468, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1467, ptr addrspace(8) %rsrc_c, i32 %v1469, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1470 = extractelement <16 x float> %v735, i32 1
  %v1471 = add i32 %v1460, %v764
  %v1472 = select i1 %v763, i32 %v1471, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1470, ptr addrspace(8) %rsrc_c, i32 %v1472, i32 0, i32 0)
  %v1473 = add i32 %v1445, 2
  %v1474 = mul i32 %v1473, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1475 = extractelement <16 x float> %v702, i32 2
  %v1476 = add i32 %v1474, %v746
  %v1477 = select i1 %v745, i32 %v1476, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1475, ptr addrspace(8) %rsrc_c, i32 %v1477, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1478 = extractelement <16 x float> %v703, i32 2
  %v1479 = add i32 %v1474, %v752
  %v1480 = select i1 %v751, i32 %v1479, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1478, ptr addrspace(8) %rsrc_c, i32 %v1480, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1481 = extractelement <16 x float> %v734, i32 2
  %v1482 = add i32 %v1474, %v758
  %v1483 = select i1 %v757, i32 %v1482, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1481, ptr addrspace(8) %rsrc_c, i32 %v1483, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1484 = extractelement <16 x float> %v735, i32 2
  %v1485 = add i32 %v1474, %v764
  %v1486 = select i1 %v763, i32 %v1485, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1484, ptr addrspace(8) %rsrc_c, i32 %v1486, i32 0, i32 0)
  %v1487 = add i32 %v1445, 3
  %v1488 = mul i32 %v1487, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1489 = extractelement <16 x float> %v702, i32 3
  %v1490 = add i32 %v1488, %v746
  %v1491 = select i1 %v745, i32 %v1490, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1489, ptr addrspace(8) %rsrc_c, i32 %v1491, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1492 = extractelement <16 x float> %v703, i32 3
  %v1493 = add i32 %v1488, %v752
  %v1494 = select i1 %v751, i32 %v1493, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1492, ptr addrspace(8) %rsrc_c, i32 %v1494, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1495 = extractelement <16 x float> %v734, i32 3
  %v1496 = add i32 %v1488, %v758
  %v1497 = select i1 %v757, i32 %v1496, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1495, ptr addrspace(8) %rsrc_c, i32 %v1497, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1498 = extractelement <16 x float> %v735, i32 3
  %v1499 = add i32 %v1488, %v764
  %v1500 = select i1 %v763, i32 %v1499, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1498, ptr addrspace(8) %rsrc_c, i32 %v1500, i32 0, i32 0)
  %v1501 = add i32 %v1445, 8
  %v1502 = mul i32 %v1501, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1503 = extractelement <16 x float> %v702, i32 4
  %v1504 = add i32 %v1502, %v746
  %v1505 = select i1 %v745, i32 %v1504, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1503, ptr addrspace(8) %rsrc_c, i32 %v1505, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1506 = extractelement <16 x float> %v703, i32 4
  %v1507 = add i32 %v1502, %v752
  %v1508 = select i1 %v751, i32 %v1507, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1506, ptr addrspace(8) %rsrc_c, i32 %v1508, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1509 = extractelement <16 x float> %v734, i32 4
  %v1510 = add i32 %v1502, %v758
  %v1511 = select i1 %v757, i32 %v1510, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1509, ptr addrspace(8) %rsrc_c, i32 %v1511, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1512 = extractelement <16 x float> %v735, i32 4
  %v1513 = add i32 %v1502, %v764
  %v1514 = select i1 %v763, i32 %v1513, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1512, ptr addrspace(8) %rsrc_c, i32 %v1514, i32 0, i32 0)
  %v1515 = add i32 %v1445, 9
  %v1516 = mul i32 %v1515, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1517 = extractelement <16 x float> %v702, i32 5
  %v1518 = add i32 %v1516, %v746
  %v1519 = select i1 %v745, i32 %v1518, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1517, ptr addrspace(8) %rsrc_c, i32 %v1519, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1520 = extractelement <16 x float> %v703, i32 5
  %v1521 = add i32 %v1516, %v752
  %v1522 = select i1 %v751, i32 %v1521, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1520, ptr addrspace(8) %rsrc_c, i32 %v1522, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1523 = extractelement <16 x float> %v734, i32 5
  %v1524 = add i32 %v1516, %v758
  %v1525 = select i1 %v757, i32 %v1524, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1523, ptr addrspace(8) %rsrc_c, i32 %v1525, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1526 = extractelement <16 x float> %v735, i32 5
  %v1527 = add i32 %v1516, %v764
  %v1528 = select i1 %v763, i32 %v1527, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1526, ptr addrspace(8) %rsrc_c, i32 %v1528, i32 0, i32 0)
  %v1529 = add i32 %v1445, 10
  %v1530 = mul i32 %v1529, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1531 = extractelement <16 x float> %v702, i32 6
  %v1532 = add i32 %v1530, %v746
  %v1533 = select i1 %v745, i32 %v1532, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1531, ptr addrspace(8) %rsrc_c, i32 %v1533, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1534 = extractelement <16 x float> %v703, i32 6
  %v1535 = add i32 %v1530, %v752
  %v1536 = select i1 %v751, i32 %v1535, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1534, ptr addrspace(8) %rsrc_c, i32 %v1536, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1537 = extractelement <16 x float> %v734, i32 6
  %v1538 = add i32 %v1530, %v758
  %v1539 = select i1 %v757, i32 %v1538, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1537, ptr addrspace(8) %rsrc_c, i32 %v1539, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1540 = extractelement <16 x float> %v735, i32 6
  %v1541 = add i32 %v1530, %v764
  %v1542 = select i1 %v763, i32 %v1541, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1540, ptr addrspace(8) %rsrc_c, i32 %v1542, i32 0, i32 0)
  %v1543 = add i32 %v1445, 11
  %v1544 = mul i32 %v1543, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1545 = extractelement <16 x float> %v702, i32 7
  %v1546 = add i32 %v1544, %v746
  %v1547 = select i1 %v745, i32 %v1546, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1545, ptr addrspace(8) %rsrc_c, i32 %v1547, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1548 = extractelement <16 x float> %v703, i32 7
  %v1549 = add i32 %v1544, %v752
  %v1550 = select i1 %v751, i32 %v1549, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1548, ptr addrspace(8) %rsrc_c, i32 %v1550, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1551 = extractelement <16 x float> %v734, i32 7
  %v1552 = add i32 %v1544, %v758
  %v1553 = select i1 %v757, i32 %v1552, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1551, ptr addrspace(8) %rsrc_c, i32 %v1553, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1554 = extractelement <16 x float> %v735, i32 7
  %v1555 = add i32 %v1544, %v764
  %v1556 = select i1 %v763, i32 %v1555, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1554, ptr addrspace(8) %rsrc_c, i32 %v1556, i32 0, i32 0)
  %v1557 = add i32 %v1445, 16
  %v1558 = mul i32 %v1557, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1559 = extractelement <16 x float> %v702, i32 8
  %v1560 = add i32 %v1558, %v746
  %v1561 = select i1 %v745, i32 %v1560, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1559, ptr addrspace(8) %rsrc_c, i32 %v1561, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1562 = extractelement <16 x float> %v703, i32 8
  %v1563 = add i32 %v1558, %v752
  %v1564 = select i1 %v751, i32 %v1563, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1562, ptr addrspace(8) %rsrc_c, i32 %v1564, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1565 = extractelement <16 x float> %v734, i32 8
  %v1566 = add i32 %v1558, %v758
  %v1567 = select i1 %v757, i32 %v1566, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1565, ptr addrspace(8) %rsrc_c, i32 %v1567, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1568 = extractelement <16 x float> %v735, i32 8
  %v1569 = add i32 %v1558, %v764
  %v1570 = select i1 %v763, i32 %v1569, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1568, ptr addrspace(8) %rsrc_c, i32 %v1570, i32 0, i32 0)
  %v1571 = add i32 %v1445, 17
  %v1572 = mul i32 %v1571, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1573 = extractelement <16 x float> %v702, i32 9
  %v1574 = add i32 %v1572, %v746
  %v1575 = select i1 %v745, i32 %v1574, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1573, ptr addrspace(8) %rsrc_c, i32 %v1575, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1576 = extractelement <16 x float> %v703, i32 9
  %v1577 = add i32 %v1572, %v752
  %v1578 = select i1 %v751, i32 %v1577, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1576, ptr addrspace(8) %rsrc_c, i32 %v1578, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1579 = extractelement <16 x float> %v734, i32 9
  %v1580 = add i32 %v1572, %v758
  %v1581 = select i1 %v757, i32 %v1580, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1579, ptr addrspace(8) %rsrc_c, i32 %v1581, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1582 = extractelement <16 x float> %v735, i32 9
  %v1583 = add i32 %v1572, %v764
  %v1584 = select i1 %v763, i32 %v1583, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1582, ptr addrspace(8) %rsrc_c, i32 %v1584, i32 0, i32 0)
  %v1585 = add i32 %v1445, 18
  %v1586 = mul i32 %v1585, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1587 = extractelement <16 x float> %v702, i32 10
  %v1588 = add i32 %v1586, %v746
  %v1589 = select i1 %v745, i32 %v1588, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1587, ptr addrspace(8) %rsrc_c, i32 %v1589, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1590 = extractelement <16 x float> %v703, i32 10
  %v1591 = add i32 %v1586, %v752
  %v1592 = select i1 %v751, i32 %v1591, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1590, ptr addrspace(8) %rsrc_c, i32 %v1592, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1593 = extractelement <16 x float> %v734, i32 10
  %v1594 = add i32 %v1586, %v758
  %v1595 = select i1 %v757, i32 %v1594, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1593, ptr addrspace(8) %rsrc_c, i32 %v1595, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1596 = extractelement <16 x float> %v735, i32 10
  %v1597 = add i32 %v1586, %v764
  %v1598 = select i1 %v763, i32 %v1597, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1596, ptr addrspace(8) %rsrc_c, i32 %v1598, i32 0, i32 0)
  %v1599 = add i32 %v1445, 19
  %v1600 = mul i32 %v1599, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1601 = extractelement <16 x float> %v702, i32 11
  %v1602 = add i32 %v1600, %v746
  %v1603 = select i1 %v745, i32 %v1602, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1601, ptr addrspace(8) %rsrc_c, i32 %v1603, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1604 = extractelement <16 x float> %v703, i32 11
  %v1605 = add i32 %v1600, %v752
  %v1606 = select i1 %v751, i32 %v1605, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1604, ptr addrspace(8) %rsrc_c, i32 %v1606, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1607 = extractelement <16 x float> %v734, i32 11
  %v1608 = add i32 %v1600, %v758
  %v1609 = select i1 %v757, i32 %v1608, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1607, ptr addrspace(8) %rsrc_c, i32 %v1609, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1610 = extractelement <16 x float> %v735, i32 11
  %v1611 = add i32 %v1600, %v764
  %v1612 = select i1 %v763, i32 %v1611, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1610, ptr addrspace(8) %rsrc_c, i32 %v1612, i32 0, i32 0)
  %v1613 = add i32 %v1445, 24
  %v1614 = mul i32 %v1613, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1615 = extractelement <16 x float> %v702, i32 12
  %v1616 = add i32 %v1614, %v746
  %v1617 = select i1 %v745, i32 %v1616, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1615, ptr addrspace(8) %rsrc_c, i32 %v1617, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1618 = extractelement <16 x float> %v703, i32 12
  %v1619 = add i32 %v1614, %v752
  %v1620 = select i1 %v751, i32 %v1619, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1618, ptr addrspace(8) %rsrc_c, i32 %v1620, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1621 = extractelement <16 x float> %v734, i32 12
  %v1622 = add i32 %v1614, %v758
  %v1623 = select i1 %v757, i32 %v1622, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1621, ptr addrspace(8) %rsrc_c, i32 %v1623, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1624 = extractelement <16 x float> %v735, i32 12
  %v1625 = add i32 %v1614, %v764
  %v1626 = select i1 %v763, i32 %v1625, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1624, ptr addrspace(8) %rsrc_c, i32 %v1626, i32 0, i32 0)
  %v1627 = add i32 %v1445, 25
  %v1628 = mul i32 %v1627, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1629 = extractelement <16 x float> %v702, i32 13
  %v1630 = add i32 %v1628, %v746
  %v1631 = select i1 %v745, i32 %v1630, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1629, ptr addrspace(8) %rsrc_c, i32 %v1631, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1632 = extractelement <16 x float> %v703, i32 13
  %v1633 = add i32 %v1628, %v752
  %v1634 = select i1 %v751, i32 %v1633, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1632, ptr addrspace(8) %rsrc_c, i32 %v1634, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1635 = extractelement <16 x float> %v734, i32 13
  %v1636 = add i32 %v1628, %v758
  %v1637 = select i1 %v757, i32 %v1636, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1635, ptr addrspace(8) %rsrc_c, i32 %v1637, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1638 = extractelement <16 x float> %v735, i32 13
  %v1639 = add i32 %v1628, %v764
  %v1640 = select i1 %v763, i32 %v1639, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1638, ptr addrspace(8) %rsrc_c, i32 %v1640, i32 0, i32 0)
  %v1641 = add i32 %v1445, 26
  %v1642 = mul i32 %v1641, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1643 = extractelement <16 x float> %v702, i32 14
  %v1644 = add i32 %v1642, %v746
  %v1645 = select i1 %v745, i32 %v1644, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1643, ptr addrspace(8) %rsrc_c, i32 %v1645, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1646 = extractelement <16 x float> %v703, i32 14
  %v1647 = add i32 %v1642, %v752
  %v1648 = select i1 %v751, i32 %v1647, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1646, ptr addrspace(8) %rsrc_c, i32 %v1648, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1649 = extractelement <16 x float> %v734, i32 14
  %v1650 = add i32 %v1642, %v758
  %v1651 = select i1 %v757, i32 %v1650, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1649, ptr addrspace(8) %rsrc_c, i32 %v1651, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1652 = extractelement <16 x float> %v735, i32 14
  %v1653 = add i32 %v1642, %v764
  %v1654 = select i1 %v763, i32 %v1653, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1652, ptr addrspace(8) %rsrc_c, i32 %v1654, i32 0, i32 0)
  %v1655 = add i32 %v1445, 27
  %v1656 = mul i32 %v1655, %c_pitch
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1657 = extractelement <16 x float> %v702, i32 15
  %v1658 = add i32 %v1656, %v746
  %v1659 = select i1 %v745, i32 %v1658, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1657, ptr addrspace(8) %rsrc_c, i32 %v1659, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1660 = extractelement <16 x float> %v703, i32 15
  %v1661 = add i32 %v1656, %v752
  %v1662 = select i1 %v751, i32 %v1661, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1660, ptr addrspace(8) %rsrc_c, i32 %v1662, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1663 = extractelement <16 x float> %v734, i32 15
  %v1664 = add i32 %v1656, %v758
  %v1665 = select i1 %v757, i32 %v1664, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1663, ptr addrspace(8) %rsrc_c, i32 %v1665, i32 0, i32 0)
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %v1666 = extractelement <16 x float> %v735, i32 15
  %v1667 = add i32 %v1656, %v764
  %v1668 = select i1 %v763, i32 %v1667, i32 2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v1666, ptr addrspace(8) %rsrc_c, i32 %v1668, i32 0, i32 0)
  ret void
}
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "amdgpu-waves-per-eu"="1,1" "uniform-work-group-size"="true" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-implicitarg-ptr" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-lds-kernel-id" "amdgpu-no-hostcall-ptr" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-heap-ptr" "amdgpu-no-default-queue" "amdgpu-no-completion-action" "amdgpu-no-flat-scratch-init" "amdgpu-no-workgroup-id-z" }
!llvm.module.flags = !{!9}
!9 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!0 = distinct !{!0, !"lds"}
!1 = distinct !{!1, !0, !"written by dma"}
!2 = distinct !{!2, !0, !"read as fragments"}
!3 = !{!1}
!4 = !{!2}
