!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(128,448):(448,1)">
!memref_gmem_f16_1 = !cute.memref<f16, gmem, align<16>, "(64,448):(448,1)">
!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(128,64):(64,1)">
!memref_gmem_f32_1 = !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">
!memref_gmem_f32_2 = !cute.memref<f32, gmem, align<8>, "((2,2,8),1,1):((1,512,8),0,0)">
!memref_gmem_f32_3 = !cute.memref<f32, gmem, align<8>, "(2,(2,8)):(1,(512,8))">
!memref_rmem_f32 = !cute.memref<f32, rmem, align<32>, "((2,2,8),1,1):((1,2,4),0,0)">
!memref_rmem_f32_1 = !cute.memref<f32, rmem, align<32>, "(2,16):(1,2)">
!memref_smem_f16 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">
!memref_smem_f16_1 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "(((8,8),(64,1)),(1,3)):(((64,512),(1,0)),(0,4096))">
!memref_smem_f16_2 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1,3)):((1,0),(0,4096))">
!memref_smem_f16_3 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4,(1,3)):((64,1),0,16,(0,4096))">
!memref_smem_f16_4 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1)):((1,0))">
!memref_smem_f16_5 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),1):((1,0),0)">
!memref_smem_f16_6 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!memref_smem_i8 = !cute.memref<i8, smem, align<8>, "48:1">
!memref_smem_i8_1 = !cute.memref<i8, smem, align<1024>, "24576:1">
!mma_f16_f16_f32_64x64x16 = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
#loop_unroll = #llvm.loop_unroll<disable = true, count = 1 : i32>
#loop_annotation = #llvm.loop_annotation<unroll = #loop_unroll>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0(%arg0: !mma_f16_f16_f32_64x64x16, %arg1: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg2: !cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">, %arg3: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg4: !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, %arg5: !memref_gmem_f32, %arg6: !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, %arg7: !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, %arg8: !cute.layout<"(2,1,1):(1,0,0)">) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = true, cooperative_launch = false, exact_block_dim = array<i64: 160, 1, 1>, exact_cluster_dim = array<i64: 2, 1, 1>, exact_grid_dim = array<i64: 2, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 160, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c3_i32 = arith.constant 3 : i32
      %c3_i16 = arith.constant 3 : i16
      %c16384_i32 = arith.constant 16384 : i32
      %c10000000_i32 = arith.constant 10000000 : i32
      %c7_i32 = arith.constant 7 : i32
      %c4_i32 = arith.constant 4 : i32
      %c128_i32 = arith.constant 128 : i32
      %false = arith.constant false
      %true = arith.constant true
      %c2_i32 = arith.constant 2 : i32
      %c8_i32 = arith.constant 8 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %c32_i32 = arith.constant 32 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %2 = nvvm.read.ptx.sreg.ctaid.y : i32
      %3 = nvvm.read.ptx.sreg.tid.y : i32
      %4 = nvvm.read.ptx.sreg.tid.z : i32
      %5 = nvvm.read.ptx.sreg.ntid.x : i32
      %6 = nvvm.read.ptx.sreg.ntid.y : i32
      %7 = arith.muli %3, %5 : i32
      %8 = arith.addi %0, %7 : i32
      %9 = arith.muli %4, %5 : i32
      %10 = arith.muli %9, %6 : i32
      %11 = arith.addi %8, %10 : i32
      %12 = arith.floordivsi %11, %c32_i32 : i32
      %13 = cute_nvgpu.arch.make_warp_uniform(%12) : i32
      %14 = cute_nvgpu.arch.make_warp_uniform(%13) : i32
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
      %15 = cute.composed_get_outer(%arg6) : (!cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">) -> !cute.layout<"((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">
      %smem_1 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_2 = cute.get_iter(%smem_1) : !memref_smem_i8_1
      %iter_3 = cute.recast_iter(%iter_2) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
      %view = cute.make_view(%iter_3, %15) : !memref_smem_f16
      %16 = cute.composed_get_outer(%arg7) : (!cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">) -> !cute.layout<"((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">
      %smem_4 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_5 = cute.get_iter(%smem_4) : !memref_smem_i8_1
      %iter_6 = cute.recast_iter(%iter_5) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
      %view_7 = cute.make_view(%iter_6, %16) : !memref_smem_f16
      %17 = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %18 = cute_nvgpu.arch.make_warp_uniform(%17) : i32
      %shape = cute.make_shape() : () -> !cute.shape<"(1,2,1,1)">
      %lay = cute.make_layout(%shape) : !cute.layout<"(1,2,1,1):(0,1,0,0)">
      %19 = arith.cmpi eq, %14, %c0_i32 : i32
      scf.if %19 {
        %35 = nvvm.elect.sync -> i1
        scf.if %35 {
          %36 = builtin.unrealized_conversion_cast %iter_0 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %36, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_33 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
          %ptr_34 = cute.add_offset(%iter_0, %int_tuple_33) : (!cute.ptr<i64, smem>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
          %37 = builtin.unrealized_conversion_cast %ptr_34 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %37, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_35 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
          %ptr_36 = cute.add_offset(%iter_0, %int_tuple_35) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
          %38 = builtin.unrealized_conversion_cast %ptr_36 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %38, %c1_i32 : !llvm.ptr<3>, i32
        }
      }
      %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
      %ptr = cute.add_offset(%iter_0, %int_tuple) : (!cute.ptr<i64, smem>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
      scf.if %19 {
        %35 = nvvm.elect.sync -> i1
        scf.if %35 {
          %36 = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %36, %c8_i32 : !llvm.ptr<3>, i32
          %int_tuple_33 = cute.make_int_tuple() : () -> !cute.int_tuple<"4">
          %ptr_34 = cute.add_offset(%iter_0, %int_tuple_33) : (!cute.ptr<i64, smem>, !cute.int_tuple<"4">) -> !cute.ptr<i64, smem>
          %37 = builtin.unrealized_conversion_cast %ptr_34 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %37, %c8_i32 : !llvm.ptr<3>, i32
          %int_tuple_35 = cute.make_int_tuple() : () -> !cute.int_tuple<"5">
          %ptr_36 = cute.add_offset(%iter_0, %int_tuple_35) : (!cute.ptr<i64, smem>, !cute.int_tuple<"5">) -> !cute.ptr<i64, smem>
          %38 = builtin.unrealized_conversion_cast %ptr_36 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %38, %c8_i32 : !llvm.ptr<3>, i32
        }
      }
      %20 = arith.remsi %0, %c32_i32 : i32
      %21 = arith.cmpi slt, %20, %c2_i32 : i32
      %22 = arith.remsi %20, %c2_i32 : i32
      %23 = cute.get_hier_coord(%22, %lay) : (i32, !cute.layout<"(1,2,1,1):(0,1,0,0)">) -> !cute.coord<"(0,?,0,0)">
      %e0, %e1, %e2, %e3 = cute.get_leaves(%23) : !cute.coord<"(0,?,0,0)">
      %itup = cute.to_int_tuple(%e1) : !cute.coord<"?"> to !cute.int_tuple<"?">
      %24 = cute.get_scalars(%itup) : !cute.int_tuple<"?">
      %25 = cute.get_hier_coord(%18, %lay) : (i32, !cute.layout<"(1,2,1,1):(0,1,0,0)">) -> !cute.coord<"(0,?,0,0)">
      %e0_8, %e1_9, %e2_10, %e3_11 = cute.get_leaves(%25) : !cute.coord<"(0,?,0,0)">
      %itup_12 = cute.to_int_tuple(%e1_9) : !cute.coord<"?"> to !cute.int_tuple<"?">
      %26 = cute.get_scalars(%itup_12) : !cute.int_tuple<"?">
      %27 = arith.cmpi eq, %24, %26 : i32
      %28 = arith.extui %27 : i1 to i32
      %29 = arith.select %27, %28, %c1_i32 : i32
      %30 = arith.cmpi ne, %29, %c0_i32 : i32
      %31 = arith.andi %21, %30 : i1
      nvvm.fence.mbarrier.init
      nvvm.cluster.arrive.relaxed
      nvvm.cluster.wait
      nvvm.cluster.arrive.relaxed
      nvvm.cluster.wait
      %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
      %coord = cute.make_coord(%1) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view = cute.local_tile(%arg2, %tile, %coord) : (!cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,?{div=64})", "(64,64,7):(1@1,1@0,64@0)">
      %coord_13 = cute.make_coord(%2) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view_14 = cute.local_tile(%arg4, %tile, %coord_13) : (!cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">
      %coord_15 = cute.make_coord(%1, %2) : (i32, i32) -> !cute.coord<"(?,?)">
      %tiled_view_16 = cute.local_tile(%arg5, %tile, %coord_15) : (!memref_gmem_f32, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,?)">) -> !memref_gmem_f32_1
      %32 = cute.get_flat_coord(%18, %arg8) : (i32, !cute.layout<"(2,1,1):(1,0,0)">) -> !cute.coord<"(?,0,0)">
      %e0_17, %e1_18, %e2_19 = cute.get_leaves(%32) : !cute.coord<"(?,0,0)">
      %itup_20 = cute.to_int_tuple(%e0_17) : !cute.coord<"?"> to !cute.int_tuple<"?">
      %shape_21 = cute.make_shape() : () -> !cute.shape<"(1)">
      %lay_22 = cute.make_layout(%shape_21) : !cute.layout<"(1):(0)">
      %grouped = cute.group_modes(%view) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %grouped_23 = cute.group_modes(%tiled_view) <0, 2> : (!cute.coord_tensor<"(0,?{div=64})", "(64,64,7):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,?{div=64})", "((64,64),7):((1@1,1@0),64@0)">
      %coord_24 = cute.make_coord() : () -> !cute.coord<"0">
      %res_smem_tensor, %res_target_tensors = cute_nvgpu.atom.tma_partition(%arg1, %coord_24, %lay_22, %grouped, %grouped_23) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"(1):(0)">, !memref_smem_f16_1, !cute.coord_tensor<"(0,?{div=64})", "((64,64),7):((1@1,1@0),64@0)">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),7):(((1@0,1@1),0),64@0)">)
      %shape_25 = cute.make_shape() : () -> !cute.shape<"(2)">
      %lay_26 = cute.make_layout(%shape_25) : !cute.layout<"(2):(1)">
      %grouped_27 = cute.group_modes(%view_7) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %grouped_28 = cute.group_modes(%tiled_view_14) <0, 2> : (!cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">
      %coord_29 = cute.make_coord(%itup_20) : (!cute.int_tuple<"?">) -> !cute.coord<"?">
      %res_smem_tensor_30, %res_target_tensors_31 = cute_nvgpu.atom.tma_partition(%arg3, %coord_29, %lay_26, %grouped_27, %grouped_28) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"?">, !cute.layout<"(2):(1)">, !memref_smem_f16_1, !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,?{div=32})", "(((64,64),1),7):(((1@0,1@1),0),64@0)">)
      %33 = arith.remsi %0, %c128_i32 : i32
      %coord_32 = cute.make_coord(%33) : (i32) -> !cute.coord<"?">
      %ptn_A = cute.tiled.mma.partition A (%arg0, %view, %coord_32) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_3
      %frg_A = cute.mma.make_fragment A (%arg0, %ptn_A) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16_3) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">
      %ptn_B = cute.tiled.mma.partition B (%arg0, %view_7, %coord_32) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_3
      %frg_B = cute.mma.make_fragment B (%arg0, %ptn_B) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16_3) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">
      %rmem = cute.memref.alloca() : !memref_rmem_f32
      %34 = arith.cmpi eq, %14, %c4_i32 : i32
      scf.if %34 {
        %35:3 = scf.for %arg9 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %c1_i32) -> (i32, i32, i32)  : i32 {
          %int_tuple_39 = cute.make_int_tuple(%arg11) : (i32) -> !cute.int_tuple<"?">
          %ptr_40 = cute.add_offset(%ptr, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %47 = builtin.unrealized_conversion_cast %ptr_40 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %47, %arg12, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %48 = nvvm.elect.sync -> i1
          scf.if %48 {
            %ptr_76 = cute.add_offset(%iter_0, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %59 = builtin.unrealized_conversion_cast %ptr_76 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            %60 = nvvm.mbarrier.arrive.expect_tx %59, %c16384_i32 : !llvm.ptr<3>, i32 -> i64
          }
          %ptr_41 = cute.add_offset(%iter_0, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %coord_42 = cute.make_coord(%arg9) : (i32) -> !cute.coord<"(_,?)">
          %slice = cute.slice(%res_target_tensors, %coord_42) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_43 = cute.get_iter(%slice) : !cute.coord_tensor<"(?{div=64},?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">
          %tup = cute.deref_arith_tuple_iter(%iter_43) : !cute.arith_tuple_iter<"(?{div=64},?{div=64})">
          %e0_44, %e1_45 = cute.get_leaves(%tup) : !cute.int_tuple<"(?{div=64},?{div=64})">
          %coord_46 = cute.make_coord(%arg11) : (i32) -> !cute.coord<"(_,?)">
          %slice_47 = cute.slice(%res_smem_tensor, %coord_46) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_48 = cute.get_iter(%slice_47) : !memref_smem_f16_4
          %lay_49 = cute.get_layout(%slice) : !cute.coord_tensor<"(?{div=64},?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">
          %lay_50 = cute.get_layout(%slice_47) : !memref_smem_f16_4
          %shape_51 = cute.make_shape() : () -> !cute.shape<"1">
          %lay_52 = cute.make_layout(%shape_51) : !cute.layout<"1:0">
          %append = cute.append_to_rank<2> (%lay_49, %lay_52) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_53 = cute.make_int_tuple(%e0_44, %e1_45) : (!cute.int_tuple<"?{div=64}">, !cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},?{div=64})">
          %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple_53) : (!cute.int_tuple<"(?{div=64},?{div=64})">) -> !cute.arith_tuple_iter<"(?{div=64},?{div=64})">
          %view_54 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(?{div=64},?{div=64})", "(((64,64),1),1):(((1@0,1@1),0),0)">
          %grouped_55 = cute.group_modes(%view_54) <1, 2> : (!cute.coord_tensor<"(?{div=64},?{div=64})", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},?{div=64})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
          %append_56 = cute.append_to_rank<2> (%lay_50, %lay_52) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
          %view_57 = cute.make_view(%iter_48, %append_56) : !memref_smem_f16_5
          %grouped_58 = cute.group_modes(%view_57) <1, 2> : (!memref_smem_f16_5) -> !memref_smem_f16_6
          %49 = cute_nvgpu.atom.make_exec_tma(%arg1) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
          %50 = cute_nvgpu.atom.set_value<tma_bar>(%49, %ptr_41) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%50, %grouped_55, %grouped_58) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},?{div=64})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_6)
          %slice_59 = cute.slice(%res_target_tensors_31, %coord_42) : !cute.coord_tensor<"(0,?{div=32})", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_60 = cute.get_iter(%slice_59) : !cute.coord_tensor<"(?{div=64},?{div=32})", "(((64,64),1)):(((1@0,1@1),0))">
          %tup_61 = cute.deref_arith_tuple_iter(%iter_60) : !cute.arith_tuple_iter<"(?{div=64},?{div=32})">
          %e0_62, %e1_63 = cute.get_leaves(%tup_61) : !cute.int_tuple<"(?{div=64},?{div=32})">
          %slice_64 = cute.slice(%res_smem_tensor_30, %coord_46) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_65 = cute.get_iter(%slice_64) : !memref_smem_f16_4
          %lay_66 = cute.get_layout(%slice_59) : !cute.coord_tensor<"(?{div=64},?{div=32})", "(((64,64),1)):(((1@0,1@1),0))">
          %lay_67 = cute.get_layout(%slice_64) : !memref_smem_f16_4
          %append_68 = cute.append_to_rank<2> (%lay_66, %lay_52) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_69 = cute.make_int_tuple(%e0_62, %e1_63) : (!cute.int_tuple<"?{div=64}">, !cute.int_tuple<"?{div=32}">) -> !cute.int_tuple<"(?{div=64},?{div=32})">
          %int_tup_iter_70 = cute.make_arith_tuple_iter(%int_tuple_69) : (!cute.int_tuple<"(?{div=64},?{div=32})">) -> !cute.arith_tuple_iter<"(?{div=64},?{div=32})">
          %view_71 = cute.make_view(%int_tup_iter_70, %append_68) : !cute.coord_tensor<"(?{div=64},?{div=32})", "(((64,64),1),1):(((1@0,1@1),0),0)">
          %grouped_72 = cute.group_modes(%view_71) <1, 2> : (!cute.coord_tensor<"(?{div=64},?{div=32})", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},?{div=32})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
          %append_73 = cute.append_to_rank<2> (%lay_67, %lay_52) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
          %view_74 = cute.make_view(%iter_65, %append_73) : !memref_smem_f16_5
          %grouped_75 = cute.group_modes(%view_74) <1, 2> : (!memref_smem_f16_5) -> !memref_smem_f16_6
          %51 = cute_nvgpu.atom.make_exec_tma(%arg3) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> mcast = true tma_gbasis = <"(64,64):(1@1,1@0)">>
          %52 = cute_nvgpu.atom.set_value<mcast_mask>(%51, %c3_i16) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> mcast = true tma_gbasis = <"(64,64):(1@1,1@0)">>, i16)
          %53 = cute_nvgpu.atom.set_value<tma_bar>(%52, %ptr_41) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> mcast = true tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%53, %grouped_72, %grouped_75) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> mcast = true tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},?{div=32})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_6)
          %54 = arith.addi %arg11, %c1_i32 : i32
          %55 = arith.addi %arg10, %c1_i32 : i32
          %56 = arith.cmpi eq, %54, %c3_i32 : i32
          %57 = arith.select %56, %c0_i32, %54 : i32
          %58 = scf.if %56 -> (i32) {
            %59 = arith.xori %arg12, %c1_i32 : i32
            scf.yield %59 : i32
          } else {
            scf.yield %arg12 : i32
          }
          scf.yield %55, %57, %58 : i32, i32, i32
        } {loop_annotation = #loop_annotation}
        %int_tuple_33 = cute.make_int_tuple(%35#1) : (i32) -> !cute.int_tuple<"?">
        %ptr_34 = cute.add_offset(%ptr, %int_tuple_33) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %36 = builtin.unrealized_conversion_cast %ptr_34 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %36, %35#2, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %37 = arith.addi %35#1, %c1_i32 : i32
        %38 = arith.cmpi eq, %37, %c3_i32 : i32
        %39 = arith.select %38, %c0_i32, %37 : i32
        %40 = scf.if %38 -> (i32) {
          %47 = arith.xori %35#2, %c1_i32 : i32
          scf.yield %47 : i32
        } else {
          scf.yield %35#2 : i32
        }
        %int_tuple_35 = cute.make_int_tuple(%39) : (i32) -> !cute.int_tuple<"?">
        %ptr_36 = cute.add_offset(%ptr, %int_tuple_35) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %41 = builtin.unrealized_conversion_cast %ptr_36 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %41, %40, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %42 = arith.addi %39, %c1_i32 : i32
        %43 = arith.cmpi eq, %42, %c3_i32 : i32
        %44 = arith.select %43, %c0_i32, %42 : i32
        %45 = scf.if %43 -> (i32) {
          %47 = arith.xori %40, %c1_i32 : i32
          scf.yield %47 : i32
        } else {
          scf.yield %40 : i32
        }
        %int_tuple_37 = cute.make_int_tuple(%44) : (i32) -> !cute.int_tuple<"?">
        %ptr_38 = cute.add_offset(%ptr, %int_tuple_37) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %46 = builtin.unrealized_conversion_cast %ptr_38 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %46, %45, %c10000000_i32 : !llvm.ptr<3>, i32, i32
      } else {
        %35 = arith.cmpi slt, %14, %c4_i32 : i32
        scf.if %35 {
          %36 = cute_nvgpu.atom.set_value<accum_c>(%arg0, %false) : (!mma_f16_f16_f32_64x64x16, i1)
          %37:4 = scf.for %arg9 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg10 = %36, %arg11 = %c0_i32, %arg12 = %c0_i32, %arg13 = %c0_i32) -> (!mma_f16_f16_f32_64x64x16, i32, i32, i32)  : i32 {
            %int_tuple_40 = cute.make_int_tuple(%arg12) : (i32) -> !cute.int_tuple<"?">
            %ptr_41 = cute.add_offset(%iter_0, %int_tuple_40) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %40 = builtin.unrealized_conversion_cast %ptr_41 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            nvvm.mbarrier.try_wait.parity %40, %arg13, %c10000000_i32 : !llvm.ptr<3>, i32, i32
            nvvm.wgmma.fence.aligned
            %coord_42 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,0,?)">
            %slice = cute.slice(%frg_A, %coord_42) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,0,?)">
            %slice_43 = cute.slice(%frg_B, %coord_42) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,0,?)">
            cute.gemm(%arg10, %rmem, %slice, %slice_43, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %41 = cute_nvgpu.atom.set_value<accum_c>(%arg10, %true) : (!mma_f16_f16_f32_64x64x16, i1)
            %coord_44 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,1,?)">
            %slice_45 = cute.slice(%frg_A, %coord_44) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,1,?)">
            %slice_46 = cute.slice(%frg_B, %coord_44) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,1,?)">
            cute.gemm(%41, %rmem, %slice_45, %slice_46, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %42 = cute_nvgpu.atom.set_value<accum_c>(%41, %true) : (!mma_f16_f16_f32_64x64x16, i1)
            %coord_47 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,2,?)">
            %slice_48 = cute.slice(%frg_A, %coord_47) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,2,?)">
            %slice_49 = cute.slice(%frg_B, %coord_47) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,2,?)">
            cute.gemm(%42, %rmem, %slice_48, %slice_49, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %43 = cute_nvgpu.atom.set_value<accum_c>(%42, %true) : (!mma_f16_f16_f32_64x64x16, i1)
            %coord_50 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,3,?)">
            %slice_51 = cute.slice(%frg_A, %coord_50) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,3,?)">
            %slice_52 = cute.slice(%frg_B, %coord_50) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,3,?)">
            cute.gemm(%43, %rmem, %slice_51, %slice_52, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %44 = cute_nvgpu.atom.set_value<accum_c>(%43, %true) : (!mma_f16_f16_f32_64x64x16, i1)
            nvvm.wgmma.commit.group.sync.aligned
            nvvm.wgmma.wait.group.sync.aligned 0
            scf.if %31 {
              %ptr_53 = cute.add_offset(%ptr, %int_tuple_40) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
              %50 = builtin.unrealized_conversion_cast %ptr_53 : !cute.ptr<i64, smem> to !llvm.ptr<3>
              %51 = nvvm.mapa %50, %22 : !llvm.ptr<3> -> !llvm.ptr<7>
              nvvm.mbarrier.arrive %51, %c1_i32 : !llvm.ptr<7>
            }
            %45 = arith.addi %arg12, %c1_i32 : i32
            %46 = arith.addi %arg11, %c1_i32 : i32
            %47 = arith.cmpi eq, %45, %c3_i32 : i32
            %48 = arith.select %47, %c0_i32, %45 : i32
            %49 = scf.if %47 -> (i32) {
              %50 = arith.xori %arg13, %c1_i32 : i32
              scf.yield %50 : i32
            } else {
              scf.yield %arg13 : i32
            }
            scf.yield %44, %46, %48, %49 : !mma_f16_f16_f32_64x64x16, i32, i32, i32
          } {loop_annotation = #loop_annotation}
          %ptn_C = cute.tiled.mma.partition C (%arg0, %tiled_view_16, %coord_32) : (!mma_f16_f16_f32_64x64x16, !memref_gmem_f32_1, !cute.coord<"?">) -> !memref_gmem_f32_2
          %lay_33 = cute.get_layout(%rmem) : !memref_rmem_f32
          %lay_34 = cute.get_layout(%ptn_C) : !memref_gmem_f32_2
          %rinv = cute.right_inverse(%lay_34) : (!cute.layout<"((2,2,8),1,1):((1,512,8),0,0)">) -> !cute.layout<"2:1">
          %38 = cute.composition(%lay_33, %rinv) : (!cute.layout<"((2,2,8),1,1):((1,2,4),0,0)">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
          %coalesce = cute.coalesce(%38) : (!cute.layout<"2:1">) -> !cute.layout<"2:1">
          %39 = cute.composition(%rinv, %coalesce) : (!cute.layout<"2:1">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
          %div = cute.logical_divide(%rmem, %39) : !memref_rmem_f32, !cute.layout<"2:1">
          %div_35 = cute.logical_divide(%ptn_C, %39) : !memref_gmem_f32_2, !cute.layout<"2:1">
          %shape_36 = cute.make_shape() : () -> !cute.shape<"2">
          %lay_37 = cute.make_layout(%shape_36) : !cute.layout<"2:1">
          %div_38 = cute.logical_divide(%div, %lay_37) : !memref_rmem_f32_1, !cute.layout<"2:1">
          %div_39 = cute.logical_divide(%div_35, %lay_37) : !memref_gmem_f32_3, !cute.layout<"2:1">
          %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 64 b>
          cute.copy(%atom, %div_38, %div_39) : (!cute_nvgpu.atom.universal_copy<f32, 64 b>, !memref_rmem_f32_1, !memref_gmem_f32_3)
        }
      }
      return
    }
  }
  func.func @cutlass_gemm_cluster_host_FakeTensorFloat161284484481_FakeTensorFloat16644484481_FakeTensorFloat3212864641(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16_1, %arg2: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c160_i32 = arith.constant 160 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.static : !cute.swizzle<"S<3,4,3>">
    %false = arith.constant false
    %atom = cute.make_atom(%false) : (i1) -> !cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>
    %1 = cute.make_tiled_mma(%atom) : !mma_f16_f16_f32_64x64x16
    %shape = cute.make_shape() : () -> !cute.shape<"(8,64)">
    %stride = cute.make_stride() : () -> !cute.stride<"(64,1)">
    %lay = cute.make_layout(%shape, %stride) : !cute.layout<"(8,64):(64,1)">
    %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
    %lay_0 = cute.make_composed_layout(%0, %int_tuple, %lay) : !cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">
    %shape_1 = cute.make_shape() : () -> !cute.shape<"(64,64,3)">
    %int_tuple_2 = cute.make_int_tuple() : () -> !cute.int_tuple<"(0,1,2)">
    %tile_to_shape = cute.tile_to_shape(%lay_0, %shape_1, %int_tuple_2) : (!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">, !cute.shape<"(64,64,3)">, !cute.int_tuple<"(0,1,2)">) -> !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">
    %coord = cute.make_coord() : () -> !cute.coord<"(_,_,0)">
    %slice = cute.slice(%tile_to_shape, %coord) : !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.coord<"(_,_,0)">
    %shape_3 = cute.make_shape() : () -> !cute.shape<"(128,448)">
    %2 = cute.make_identity_layout(%shape_3) : !cute.layout<"(128,448):(1@0,1@1)">
    %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
    %3 = cute.composition(%2, %tile) : (!cute.layout<"(128,448):(1@0,1@1)">, !cute.tile<"[64:1;64:1]">) -> !cute.layout<"(64,64):(1@0,1@1)">
    %non_exec_atom, %tma_tensor = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg0, %slice, %3) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">)
    %shape_4 = cute.make_shape() : () -> !cute.shape<"(64,448)">
    %4 = cute.make_identity_layout(%shape_4) : !cute.layout<"(64,448):(1@0,1@1)">
    %5 = cute.composition(%4, %tile) : (!cute.layout<"(64,448):(1@0,1@1)">, !cute.tile<"[64:1;64:1]">) -> !cute.layout<"(64,64):(1@0,1@1)">
    %non_exec_atom_5, %tma_tensor_6 = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg1, %slice, %5) <{kind = <sm_90_multicast> num_multicast = 2}> : (!memref_gmem_f16_1, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">)
    %shape_7 = cute.make_shape() : () -> !cute.shape<"(2,1,1)">
    %lay_8 = cute.make_layout(%shape_7) : !cute.layout<"(2,1,1):(1,0,0)">
    %6 = cute.kernel_smem_size @kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0 : i64
    %7 = arith.cmpi sgt, %6, %c232448_i64 : i64
    scf.if %7 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %6) : i64
    }
    %8 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %9 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c160_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %6, gridDim = (%c2_i32, %c1_i32, %c1_i32), stream = %8) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%9] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cluster_dim[%9] (%c2_i32, %c1_i32, %c1_i32) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
    cuda.launch_cfg.cooperative[%9] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %10 = cuda.launch_ex @kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0<%9> (%1, %non_exec_atom, %tma_tensor, %non_exec_atom_5, %tma_tensor_6, %arg2, %tile_to_shape, %tile_to_shape, %lay_8) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!mma_f16_f16_f32_64x64x16, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90_multicast, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !memref_gmem_f32, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.layout<"(2,1,1):(1,0,0)">) -> !cuda.result
    %11 = cuda.cast %10 : !cuda.result -> i32
    cuda.return_if_error %11 : i32
    return %c0_i32 : i32
  }
}

