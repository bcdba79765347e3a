!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(64,448):(448,1)">
!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">
!memref_gmem_f32_1 = !cute.memref<f32, gmem, align<8>, "((2,2,8),1,1):((1,512,8),0,0)">
!memref_gmem_f32_2 = !cute.memref<f32, gmem, align<8>, "(2,(2,8)):(1,(512,8))">
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
    cuda.kernel @kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0(%arg0: !mma_f16_f16_f32_64x64x16, %arg1: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg2: !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, %arg3: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg4: !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, %arg5: !memref_gmem_f32, %arg6: !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, %arg7: !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, %arg8: !cute.layout<"(1,1,1):(0,0,0)">) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = true, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_cluster_dim = array<i64: 1, 1, 1>, exact_grid_dim = array<i64: 1, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %c7_i32 = arith.constant 7 : i32
      %c16384_i32 = arith.constant 16384 : i32
      %c10000000_i32 = arith.constant 10000000 : i32
      %c3_i32 = arith.constant 3 : i32
      %c128_i32 = arith.constant 128 : i32
      %true = arith.constant true
      %false = arith.constant false
      %c4_i32 = arith.constant 4 : i32
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
      %17 = arith.cmpi eq, %14, %c0_i32 : i32
      scf.if %17 {
        %26 = nvvm.elect.sync -> i1
        scf.if %26 {
          %27 = builtin.unrealized_conversion_cast %iter_0 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %27, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_26 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
          %ptr_27 = cute.add_offset(%iter_0, %int_tuple_26) : (!cute.ptr<i64, smem>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
          %28 = builtin.unrealized_conversion_cast %ptr_27 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %28, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_28 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
          %ptr_29 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
          %29 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %29, %c1_i32 : !llvm.ptr<3>, i32
        }
      }
      %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
      %ptr = cute.add_offset(%iter_0, %int_tuple) : (!cute.ptr<i64, smem>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
      scf.if %17 {
        %26 = nvvm.elect.sync -> i1
        scf.if %26 {
          %27 = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %27, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_26 = cute.make_int_tuple() : () -> !cute.int_tuple<"4">
          %ptr_27 = cute.add_offset(%iter_0, %int_tuple_26) : (!cute.ptr<i64, smem>, !cute.int_tuple<"4">) -> !cute.ptr<i64, smem>
          %28 = builtin.unrealized_conversion_cast %ptr_27 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %28, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_28 = cute.make_int_tuple() : () -> !cute.int_tuple<"5">
          %ptr_29 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"5">) -> !cute.ptr<i64, smem>
          %29 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %29, %c4_i32 : !llvm.ptr<3>, i32
        }
      }
      %18 = arith.remsi %0, %c32_i32 : i32
      %19 = arith.cmpi slt, %18, %c1_i32 : i32
      nvvm.fence.mbarrier.init
      nvvm.barrier
      nvvm.barrier
      %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
      %coord = cute.make_coord(%1) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view = cute.local_tile(%arg2, %tile, %coord) : (!cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">
      %coord_8 = cute.make_coord(%2) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view_9 = cute.local_tile(%arg4, %tile, %coord_8) : (!cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">
      %coord_10 = cute.make_coord(%1, %2) : (i32, i32) -> !cute.coord<"(?,?)">
      %tiled_view_11 = cute.local_tile(%arg5, %tile, %coord_10) : (!memref_gmem_f32, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,?)">) -> !memref_gmem_f32
      %shape = cute.make_shape() : () -> !cute.shape<"(1)">
      %lay = cute.make_layout(%shape) : !cute.layout<"(1):(0)">
      %grouped = cute.group_modes(%view) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %grouped_12 = cute.group_modes(%tiled_view) <0, 2> : (!cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">
      %coord_13 = cute.make_coord() : () -> !cute.coord<"0">
      %res_smem_tensor, %res_target_tensors = cute_nvgpu.atom.tma_partition(%arg1, %coord_13, %lay, %grouped, %grouped_12) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"(1):(0)">, !memref_smem_f16_1, !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">)
      %grouped_14 = cute.group_modes(%view_7) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %grouped_15 = cute.group_modes(%tiled_view_9) <0, 2> : (!cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">
      %res_smem_tensor_16, %res_target_tensors_17 = cute_nvgpu.atom.tma_partition(%arg3, %coord_13, %lay, %grouped_14, %grouped_15) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"(1):(0)">, !memref_smem_f16_1, !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">)
      %20 = arith.remsi %0, %c128_i32 : i32
      %coord_18 = cute.make_coord(%20) : (i32) -> !cute.coord<"?">
      %ptn_A = cute.tiled.mma.partition A (%arg0, %view, %coord_18) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_3
      %frg_A = cute.mma.make_fragment A (%arg0, %ptn_A) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16_3) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">
      %ptn_B = cute.tiled.mma.partition B (%arg0, %view_7, %coord_18) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_3
      %frg_B = cute.mma.make_fragment B (%arg0, %ptn_B) : (!mma_f16_f16_f32_64x64x16, !memref_smem_f16_3) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">
      %rmem = cute.memref.alloca() : !memref_rmem_f32
      %21:3 = scf.if %17 -> (i32, i32, i32) {
        %26:3 = scf.for %arg9 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %c1_i32) -> (i32, i32, i32)  : i32 {
          %int_tuple_26 = cute.make_int_tuple(%arg11) : (i32) -> !cute.int_tuple<"?">
          %ptr_27 = cute.add_offset(%ptr, %int_tuple_26) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %27 = builtin.unrealized_conversion_cast %ptr_27 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %27, %arg12, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %28 = nvvm.elect.sync -> i1
          scf.if %28 {
            %ptr_61 = cute.add_offset(%iter_0, %int_tuple_26) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %38 = builtin.unrealized_conversion_cast %ptr_61 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            %39 = nvvm.mbarrier.arrive.expect_tx %38, %c16384_i32 : !llvm.ptr<3>, i32 -> i64
          }
          %ptr_28 = cute.add_offset(%iter_0, %int_tuple_26) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %coord_29 = cute.make_coord(%arg9) : (i32) -> !cute.coord<"(_,?)">
          %slice = cute.slice(%res_target_tensors, %coord_29) : !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_30 = cute.get_iter(%slice) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
          %tup = cute.deref_arith_tuple_iter(%iter_30) : !cute.arith_tuple_iter<"(?{div=64},0)">
          %e0, %e1 = cute.get_leaves(%tup) : !cute.int_tuple<"(?{div=64},0)">
          %coord_31 = cute.make_coord(%arg11) : (i32) -> !cute.coord<"(_,?)">
          %slice_32 = cute.slice(%res_smem_tensor, %coord_31) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_33 = cute.get_iter(%slice_32) : !memref_smem_f16_4
          %lay_34 = cute.get_layout(%slice) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
          %lay_35 = cute.get_layout(%slice_32) : !memref_smem_f16_4
          %shape_36 = cute.make_shape() : () -> !cute.shape<"1">
          %lay_37 = cute.make_layout(%shape_36) : !cute.layout<"1:0">
          %append = cute.append_to_rank<2> (%lay_34, %lay_37) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_38 = cute.make_int_tuple(%e0) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},0)">
          %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple_38) : (!cute.int_tuple<"(?{div=64},0)">) -> !cute.arith_tuple_iter<"(?{div=64},0)">
          %view_39 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">
          %grouped_40 = cute.group_modes(%view_39) <1, 2> : (!cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
          %append_41 = cute.append_to_rank<2> (%lay_35, %lay_37) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
          %view_42 = cute.make_view(%iter_33, %append_41) : !memref_smem_f16_5
          %grouped_43 = cute.group_modes(%view_42) <1, 2> : (!memref_smem_f16_5) -> !memref_smem_f16_6
          %29 = cute_nvgpu.atom.make_exec_tma(%arg1) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
          %30 = cute_nvgpu.atom.set_value<tma_bar>(%29, %ptr_28) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%30, %grouped_40, %grouped_43) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_6)
          %slice_44 = cute.slice(%res_target_tensors_17, %coord_29) : !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_45 = cute.get_iter(%slice_44) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
          %tup_46 = cute.deref_arith_tuple_iter(%iter_45) : !cute.arith_tuple_iter<"(?{div=64},0)">
          %e0_47, %e1_48 = cute.get_leaves(%tup_46) : !cute.int_tuple<"(?{div=64},0)">
          %slice_49 = cute.slice(%res_smem_tensor_16, %coord_31) : !memref_smem_f16_2, !cute.coord<"(_,?)">
          %iter_50 = cute.get_iter(%slice_49) : !memref_smem_f16_4
          %lay_51 = cute.get_layout(%slice_44) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
          %lay_52 = cute.get_layout(%slice_49) : !memref_smem_f16_4
          %append_53 = cute.append_to_rank<2> (%lay_51, %lay_37) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_54 = cute.make_int_tuple(%e0_47) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},0)">
          %int_tup_iter_55 = cute.make_arith_tuple_iter(%int_tuple_54) : (!cute.int_tuple<"(?{div=64},0)">) -> !cute.arith_tuple_iter<"(?{div=64},0)">
          %view_56 = cute.make_view(%int_tup_iter_55, %append_53) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">
          %grouped_57 = cute.group_modes(%view_56) <1, 2> : (!cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
          %append_58 = cute.append_to_rank<2> (%lay_52, %lay_37) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
          %view_59 = cute.make_view(%iter_50, %append_58) : !memref_smem_f16_5
          %grouped_60 = cute.group_modes(%view_59) <1, 2> : (!memref_smem_f16_5) -> !memref_smem_f16_6
          %31 = cute_nvgpu.atom.make_exec_tma(%arg3) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
          %32 = cute_nvgpu.atom.set_value<tma_bar>(%31, %ptr_28) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%32, %grouped_57, %grouped_60) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_6)
          %33 = arith.addi %arg11, %c1_i32 : i32
          %34 = arith.addi %arg10, %c1_i32 : i32
          %35 = arith.cmpi eq, %33, %c3_i32 : i32
          %36 = arith.select %35, %c0_i32, %33 : i32
          %37 = scf.if %35 -> (i32) {
            %38 = arith.xori %arg12, %c1_i32 : i32
            scf.yield %38 : i32
          } else {
            scf.yield %arg12 : i32
          }
          scf.yield %34, %36, %37 : i32, i32, i32
        } {loop_annotation = #loop_annotation}
        scf.yield %26#0, %26#1, %26#2 : i32, i32, i32
      } else {
        scf.yield %c0_i32, %c0_i32, %c1_i32 : i32, i32, i32
      }
      %22 = cute_nvgpu.atom.set_value<accum_c>(%arg0, %false) : (!mma_f16_f16_f32_64x64x16, i1)
      %23:10 = scf.for %arg9 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg10 = %22, %arg11 = %c0_i32, %arg12 = %c0_i32, %arg13 = %c0_i32, %arg14 = %21#0, %arg15 = %21#1, %arg16 = %21#2, %arg17 = %c0_i32, %arg18 = %c0_i32, %arg19 = %c0_i32) -> (!mma_f16_f16_f32_64x64x16, i32, i32, i32, i32, i32, i32, i32, i32, i32)  : i32 {
        %int_tuple_26 = cute.make_int_tuple(%arg18) : (i32) -> !cute.int_tuple<"?">
        %ptr_27 = cute.add_offset(%iter_0, %int_tuple_26) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %26 = builtin.unrealized_conversion_cast %ptr_27 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %26, %arg19, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        nvvm.wgmma.fence.aligned
        %coord_28 = cute.make_coord(%arg18) : (i32) -> !cute.coord<"(_,_,0,?)">
        %slice = cute.slice(%frg_A, %coord_28) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,0,?)">
        %slice_29 = cute.slice(%frg_B, %coord_28) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,0,?)">
        cute.gemm(%arg10, %rmem, %slice, %slice_29, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %27 = cute_nvgpu.atom.set_value<accum_c>(%arg10, %true) : (!mma_f16_f16_f32_64x64x16, i1)
        %coord_30 = cute.make_coord(%arg18) : (i32) -> !cute.coord<"(_,_,1,?)">
        %slice_31 = cute.slice(%frg_A, %coord_30) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,1,?)">
        %slice_32 = cute.slice(%frg_B, %coord_30) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,1,?)">
        cute.gemm(%27, %rmem, %slice_31, %slice_32, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %28 = cute_nvgpu.atom.set_value<accum_c>(%27, %true) : (!mma_f16_f16_f32_64x64x16, i1)
        %coord_33 = cute.make_coord(%arg18) : (i32) -> !cute.coord<"(_,_,2,?)">
        %slice_34 = cute.slice(%frg_A, %coord_33) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,2,?)">
        %slice_35 = cute.slice(%frg_B, %coord_33) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,2,?)">
        cute.gemm(%28, %rmem, %slice_34, %slice_35, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %29 = cute_nvgpu.atom.set_value<accum_c>(%28, %true) : (!mma_f16_f16_f32_64x64x16, i1)
        %coord_36 = cute.make_coord(%arg18) : (i32) -> !cute.coord<"(_,_,3,?)">
        %slice_37 = cute.slice(%frg_A, %coord_36) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,3,?)">
        %slice_38 = cute.slice(%frg_B, %coord_36) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,3,?)">
        cute.gemm(%29, %rmem, %slice_37, %slice_38, %rmem) : (!mma_f16_f16_f32_64x64x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
        %30 = cute_nvgpu.atom.set_value<accum_c>(%29, %true) : (!mma_f16_f16_f32_64x64x16, i1)
        nvvm.wgmma.commit.group.sync.aligned
        nvvm.wgmma.wait.group.sync.aligned 1
        %31 = arith.cmpi sgt, %arg9, %c0_i32 : i32
        %32:6 = scf.if %31 -> (i32, i32, i32, i32, i32, i32) {
          scf.if %19 {
            %int_tuple_39 = cute.make_int_tuple(%arg12) : (i32) -> !cute.int_tuple<"?">
            %ptr_40 = cute.add_offset(%ptr, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %44 = builtin.unrealized_conversion_cast %ptr_40 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            %45 = nvvm.mbarrier.arrive %44, %c1_i32 : !llvm.ptr<3> -> i64
          }
          %38 = arith.addi %arg12, %c1_i32 : i32
          %39 = arith.addi %arg11, %c1_i32 : i32
          %40 = arith.cmpi eq, %38, %c3_i32 : i32
          %41 = arith.select %40, %c0_i32, %38 : i32
          %42 = scf.if %40 -> (i32) {
            %44 = arith.xori %arg13, %c1_i32 : i32
            scf.yield %44 : i32
          } else {
            scf.yield %arg13 : i32
          }
          %43:3 = scf.if %17 -> (i32, i32, i32) {
            %44 = arith.addi %arg9, %c2_i32 : i32
            %45 = arith.cmpi slt, %44, %c7_i32 : i32
            %46:3 = scf.if %45 -> (i32, i32, i32) {
              %int_tuple_39 = cute.make_int_tuple(%arg15) : (i32) -> !cute.int_tuple<"?">
              %ptr_40 = cute.add_offset(%ptr, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
              %47 = builtin.unrealized_conversion_cast %ptr_40 : !cute.ptr<i64, smem> to !llvm.ptr<3>
              nvvm.mbarrier.try_wait.parity %47, %arg16, %c10000000_i32 : !llvm.ptr<3>, i32, i32
              %48 = nvvm.elect.sync -> i1
              scf.if %48 {
                %ptr_75 = cute.add_offset(%iter_0, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
                %58 = builtin.unrealized_conversion_cast %ptr_75 : !cute.ptr<i64, smem> to !llvm.ptr<3>
                %59 = nvvm.mbarrier.arrive.expect_tx %58, %c16384_i32 : !llvm.ptr<3>, i32 -> i64
              }
              %ptr_41 = cute.add_offset(%iter_0, %int_tuple_39) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
              %coord_42 = cute.make_coord(%44) : (i32) -> !cute.coord<"(_,?)">
              %slice_43 = cute.slice(%res_target_tensors, %coord_42) : !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
              %iter_44 = cute.get_iter(%slice_43) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
              %tup = cute.deref_arith_tuple_iter(%iter_44) : !cute.arith_tuple_iter<"(?{div=64},0)">
              %e0, %e1 = cute.get_leaves(%tup) : !cute.int_tuple<"(?{div=64},0)">
              %coord_45 = cute.make_coord(%arg15) : (i32) -> !cute.coord<"(_,?)">
              %slice_46 = cute.slice(%res_smem_tensor, %coord_45) : !memref_smem_f16_2, !cute.coord<"(_,?)">
              %iter_47 = cute.get_iter(%slice_46) : !memref_smem_f16_4
              %lay_48 = cute.get_layout(%slice_43) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
              %lay_49 = cute.get_layout(%slice_46) : !memref_smem_f16_4
              %shape_50 = cute.make_shape() : () -> !cute.shape<"1">
              %lay_51 = cute.make_layout(%shape_50) : !cute.layout<"1:0">
              %append = cute.append_to_rank<2> (%lay_48, %lay_51) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
              %int_tuple_52 = cute.make_int_tuple(%e0) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},0)">
              %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple_52) : (!cute.int_tuple<"(?{div=64},0)">) -> !cute.arith_tuple_iter<"(?{div=64},0)">
              %view_53 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">
              %grouped_54 = cute.group_modes(%view_53) <1, 2> : (!cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
              %append_55 = cute.append_to_rank<2> (%lay_49, %lay_51) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
              %view_56 = cute.make_view(%iter_47, %append_55) : !memref_smem_f16_5
              %grouped_57 = cute.group_modes(%view_56) <1, 2> : (!memref_smem_f16_5) -> !memref_smem_f16_6
              %49 = cute_nvgpu.atom.make_exec_tma(%arg1) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
              %50 = cute_nvgpu.atom.set_value<tma_bar>(%49, %ptr_41) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
              cute.copy(%50, %grouped_54, %grouped_57) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_6)
              %slice_58 = cute.slice(%res_target_tensors_17, %coord_42) : !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
              %iter_59 = cute.get_iter(%slice_58) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
              %tup_60 = cute.deref_arith_tuple_iter(%iter_59) : !cute.arith_tuple_iter<"(?{div=64},0)">
              %e0_61, %e1_62 = cute.get_leaves(%tup_60) : !cute.int_tuple<"(?{div=64},0)">
              %slice_63 = cute.slice(%res_smem_tensor_16, %coord_45) : !memref_smem_f16_2, !cute.coord<"(_,?)">
              %iter_64 = cute.get_iter(%slice_63) : !memref_smem_f16_4
              %lay_65 = cute.get_layout(%slice_58) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
              %lay_66 = cute.get_layout(%slice_63) : !memref_smem_f16_4
              %append_67 = cute.append_to_rank<2> (%lay_65, %lay_51) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
              %int_tuple_68 = cute.make_int_tuple(%e0_61) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},0)">
              %int_tup_iter_69 = cute.make_arith_tuple_iter(%int_tuple_68) : (!cute.int_tuple<"(?{div=64},0)">) -> !cute.arith_tuple_iter<"(?{div=64},0)">
              %view_70 = cute.make_view(%int_tup_iter_69, %append_67) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">
              %grouped_71 = cute.group_modes(%view_70) <1, 2> : (!cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
              %append_72 = cute.append_to_rank<2> (%lay_66, %lay_51) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
              %view_73 = cute.make_view(%iter_64, %append_72) : !memref_smem_f16_5
              %grouped_74 = cute.group_modes(%view_73) <1, 2> : (!memref_smem_f16_5) -> !memref_smem_f16_6
              %51 = cute_nvgpu.atom.make_exec_tma(%arg3) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
              %52 = cute_nvgpu.atom.set_value<tma_bar>(%51, %ptr_41) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
              cute.copy(%52, %grouped_71, %grouped_74) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_6)
              %53 = arith.addi %arg15, %c1_i32 : i32
              %54 = arith.addi %arg14, %c1_i32 : i32
              %55 = arith.cmpi eq, %53, %c3_i32 : i32
              %56 = arith.select %55, %c0_i32, %53 : i32
              %57 = scf.if %55 -> (i32) {
                %58 = arith.xori %arg16, %c1_i32 : i32
                scf.yield %58 : i32
              } else {
                scf.yield %arg16 : i32
              }
              scf.yield %54, %56, %57 : i32, i32, i32
            } else {
              scf.yield %arg14, %arg15, %arg16 : i32, i32, i32
            }
            scf.yield %46#0, %46#1, %46#2 : i32, i32, i32
          } else {
            scf.yield %arg14, %arg15, %arg16 : i32, i32, i32
          }
          scf.yield %39, %41, %42, %43#0, %43#1, %43#2 : i32, i32, i32, i32, i32, i32
        } else {
          scf.yield %arg11, %arg12, %arg13, %arg14, %arg15, %arg16 : i32, i32, i32, i32, i32, i32
        }
        %33 = arith.addi %arg18, %c1_i32 : i32
        %34 = arith.addi %arg17, %c1_i32 : i32
        %35 = arith.cmpi eq, %33, %c3_i32 : i32
        %36 = arith.select %35, %c0_i32, %33 : i32
        %37 = scf.if %35 -> (i32) {
          %38 = arith.xori %arg19, %c1_i32 : i32
          scf.yield %38 : i32
        } else {
          scf.yield %arg19 : i32
        }
        scf.yield %30, %32#0, %32#1, %32#2, %32#3, %32#4, %32#5, %34, %36, %37 : !mma_f16_f16_f32_64x64x16, i32, i32, i32, i32, i32, i32, i32, i32, i32
      } {loop_annotation = #loop_annotation}
      nvvm.wgmma.wait.group.sync.aligned 0
      %ptn_C = cute.tiled.mma.partition C (%22, %tiled_view_11, %coord_18) : (!mma_f16_f16_f32_64x64x16, !memref_gmem_f32, !cute.coord<"?">) -> !memref_gmem_f32_1
      %lay_19 = cute.get_layout(%rmem) : !memref_rmem_f32
      %lay_20 = cute.get_layout(%ptn_C) : !memref_gmem_f32_1
      %rinv = cute.right_inverse(%lay_20) : (!cute.layout<"((2,2,8),1,1):((1,512,8),0,0)">) -> !cute.layout<"2:1">
      %24 = cute.composition(%lay_19, %rinv) : (!cute.layout<"((2,2,8),1,1):((1,2,4),0,0)">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
      %coalesce = cute.coalesce(%24) : (!cute.layout<"2:1">) -> !cute.layout<"2:1">
      %25 = cute.composition(%rinv, %coalesce) : (!cute.layout<"2:1">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
      %div = cute.logical_divide(%rmem, %25) : !memref_rmem_f32, !cute.layout<"2:1">
      %div_21 = cute.logical_divide(%ptn_C, %25) : !memref_gmem_f32_1, !cute.layout<"2:1">
      %shape_22 = cute.make_shape() : () -> !cute.shape<"2">
      %lay_23 = cute.make_layout(%shape_22) : !cute.layout<"2:1">
      %div_24 = cute.logical_divide(%div, %lay_23) : !memref_rmem_f32_1, !cute.layout<"2:1">
      %div_25 = cute.logical_divide(%div_21, %lay_23) : !memref_gmem_f32_2, !cute.layout<"2:1">
      %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 64 b>
      cute.copy(%atom, %div_24, %div_25) : (!cute_nvgpu.atom.universal_copy<f32, 64 b>, !memref_rmem_f32_1, !memref_gmem_f32_2)
      return
    }
  }
  func.func @cutlass_gemm_tma_host_FakeTensorFloat16644484481_FakeTensorFloat16644484481_FakeTensorFloat326464641(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16, %arg2: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
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
    %shape_3 = cute.make_shape() : () -> !cute.shape<"(64,448)">
    %2 = cute.make_identity_layout(%shape_3) : !cute.layout<"(64,448):(1@0,1@1)">
    %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
    %3 = cute.composition(%2, %tile) : (!cute.layout<"(64,448):(1@0,1@1)">, !cute.tile<"[64:1;64:1]">) -> !cute.layout<"(64,64):(1@0,1@1)">
    %non_exec_atom, %tma_tensor = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg0, %slice, %3) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">)
    %non_exec_atom_4, %tma_tensor_5 = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg1, %slice, %3) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">)
    %shape_6 = cute.make_shape() : () -> !cute.shape<"(1,1,1)">
    %lay_7 = cute.make_layout(%shape_6) : !cute.layout<"(1,1,1):(0,0,0)">
    %4 = cute.kernel_smem_size @kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0 : i64
    %5 = arith.cmpi sgt, %4, %c232448_i64 : i64
    scf.if %5 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %4) : i64
    }
    %6 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %7 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %4, gridDim = (%c1_i32, %c1_i32, %c1_i32), stream = %6) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%7] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cluster_dim[%7] (%c1_i32, %c1_i32, %c1_i32) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
    cuda.launch_cfg.cooperative[%7] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %8 = cuda.launch_ex @kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK646416_TVLayoutA12864160164_TVLayoutB12864160164_TVLayoutC484228128116648512__0<%7> (%1, %non_exec_atom, %tma_tensor, %non_exec_atom_4, %tma_tensor_5, %arg2, %tile_to_shape, %tile_to_shape, %lay_7) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!mma_f16_f16_f32_64x64x16, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !memref_gmem_f32, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.layout<"(1,1,1):(0,0,0)">) -> !cuda.result
    %9 = cuda.cast %8 : !cuda.result -> i32
    cuda.return_if_error %9 : i32
    return %c0_i32 : i32
  }
}

