!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(64,448):(448,1)">
!memref_gmem_f16_1 = !cute.memref<f16, gmem, align<16>, "(128,448):(448,1)">
!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(64,128):(128,1)">
!memref_gmem_f32_1 = !cute.memref<f32, gmem, align<8>, "((2,2,16),1,1):((1,1024,8),0,0)">
!memref_gmem_f32_2 = !cute.memref<f32, gmem, align<8>, "(2,(2,16)):(1,(1024,8))">
!memref_rmem_f32 = !cute.memref<f32, rmem, align<32>, "((2,2,16),1,1):((1,2,4),0,0)">
!memref_rmem_f32_1 = !cute.memref<f32, rmem, align<32>, "(2,32):(1,2)">
!memref_smem_f16 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">
!memref_smem_f16_1 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">
!memref_smem_f16_2 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "(((8,8),(64,1)),(1,3)):(((64,512),(1,0)),(0,4096))">
!memref_smem_f16_3 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1,3)):((1,0),(0,4096))">
!memref_smem_f16_4 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "(((8,16),(64,1)),(1,3)):(((64,512),(1,0)),(0,8192))">
!memref_smem_f16_5 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1),(1,3)):((1,0),(0,8192))">
!memref_smem_f16_6 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,16),1,4,(1,3)):((64,1),0,16,(0,4096))">
!memref_smem_f16_7 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((128,16),1,4,(1,3)):((64,1),0,16,(0,8192))">
!memref_smem_f16_8 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1)):((1,0))">
!memref_smem_f16_9 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),1):((1,0),0)">
!memref_smem_f16_10 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!memref_smem_f16_11 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1)):((1,0))">
!memref_smem_f16_12 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1),1):((1,0),0)">
!memref_smem_f16_13 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8192,1),(1)):((1,0),(0))">
!memref_smem_i8 = !cute.memref<i8, smem, align<8>, "48:1">
!memref_smem_i8_1 = !cute.memref<i8, smem, align<1024>, "24576:1">
!memref_smem_i8_2 = !cute.memref<i8, smem, align<1024>, "49152:1">
!mma_f16_f16_f32_64x128x16 = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
#loop_unroll = #llvm.loop_unroll<disable = true, count = 1 : i32>
#loop_annotation = #llvm.loop_annotation<unroll = #loop_unroll>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648_0(%arg0: !mma_f16_f16_f32_64x128x16, %arg1: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg2: !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, %arg3: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg4: !cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">, %arg5: !memref_gmem_f32, %arg6: !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, %arg7: !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">, %arg8: !cute.layout<"(1,1,1):(0,0,0)">) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = true, cooperative_launch = false, exact_block_dim = array<i64: 160, 1, 1>, exact_cluster_dim = array<i64: 1, 1, 1>, exact_grid_dim = array<i64: 1, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 160, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c3_i32 = arith.constant 3 : i32
      %c24576_i32 = arith.constant 24576 : i32
      %c10000000_i32 = arith.constant 10000000 : i32
      %c7_i32 = arith.constant 7 : i32
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
      %16 = cute.composed_get_outer(%arg7) : (!cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">) -> !cute.layout<"((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">
      %smem_4 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_2
      %iter_5 = cute.get_iter(%smem_4) : !memref_smem_i8_2
      %iter_6 = cute.recast_iter(%iter_5) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
      %view_7 = cute.make_view(%iter_6, %16) : !memref_smem_f16_1
      %17 = arith.cmpi eq, %14, %c0_i32 : i32
      scf.if %17 {
        %22 = nvvm.elect.sync -> i1
        scf.if %22 {
          %23 = builtin.unrealized_conversion_cast %iter_0 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %23, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_21 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
          %ptr_22 = cute.add_offset(%iter_0, %int_tuple_21) : (!cute.ptr<i64, smem>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
          %24 = builtin.unrealized_conversion_cast %ptr_22 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %24, %c1_i32 : !llvm.ptr<3>, i32
          %int_tuple_23 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
          %ptr_24 = cute.add_offset(%iter_0, %int_tuple_23) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
          %25 = builtin.unrealized_conversion_cast %ptr_24 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %25, %c1_i32 : !llvm.ptr<3>, i32
        }
      }
      %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
      %ptr = cute.add_offset(%iter_0, %int_tuple) : (!cute.ptr<i64, smem>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
      scf.if %17 {
        %22 = nvvm.elect.sync -> i1
        scf.if %22 {
          %23 = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %23, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_21 = cute.make_int_tuple() : () -> !cute.int_tuple<"4">
          %ptr_22 = cute.add_offset(%iter_0, %int_tuple_21) : (!cute.ptr<i64, smem>, !cute.int_tuple<"4">) -> !cute.ptr<i64, smem>
          %24 = builtin.unrealized_conversion_cast %ptr_22 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %24, %c4_i32 : !llvm.ptr<3>, i32
          %int_tuple_23 = cute.make_int_tuple() : () -> !cute.int_tuple<"5">
          %ptr_24 = cute.add_offset(%iter_0, %int_tuple_23) : (!cute.ptr<i64, smem>, !cute.int_tuple<"5">) -> !cute.ptr<i64, smem>
          %25 = builtin.unrealized_conversion_cast %ptr_24 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %25, %c4_i32 : !llvm.ptr<3>, i32
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
      %tile_8 = cute.make_tile() : () -> !cute.tile<"[128:1;64:1]">
      %coord_9 = cute.make_coord(%2) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view_10 = cute.local_tile(%arg4, %tile_8, %coord_9) : (!cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">, !cute.tile<"[128:1;64:1]">, !cute.coord<"(?,_)">) -> !cute.coord_tensor<"(0,0)", "(128,64,7):(1@1,1@0,64@0)">
      %tile_11 = cute.make_tile() : () -> !cute.tile<"[64:1;128:1]">
      %coord_12 = cute.make_coord(%1, %2) : (i32, i32) -> !cute.coord<"(?,?)">
      %tiled_view_13 = cute.local_tile(%arg5, %tile_11, %coord_12) : (!memref_gmem_f32, !cute.tile<"[64:1;128:1]">, !cute.coord<"(?,?)">) -> !memref_gmem_f32
      %shape = cute.make_shape() : () -> !cute.shape<"(1)">
      %lay = cute.make_layout(%shape) : !cute.layout<"(1):(0)">
      %grouped = cute.group_modes(%view) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_2
      %grouped_14 = cute.group_modes(%tiled_view) <0, 2> : (!cute.coord_tensor<"(0,0)", "(64,64,7):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">
      %coord_15 = cute.make_coord() : () -> !cute.coord<"0">
      %res_smem_tensor, %res_target_tensors = cute_nvgpu.atom.tma_partition(%arg1, %coord_15, %lay, %grouped, %grouped_14) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"(1):(0)">, !memref_smem_f16_2, !cute.coord_tensor<"(0,0)", "((64,64),7):((1@1,1@0),64@0)">) -> (!memref_smem_f16_3, !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">)
      %grouped_16 = cute.group_modes(%view_7) <0, 2> : (!memref_smem_f16_1) -> !memref_smem_f16_4
      %grouped_17 = cute.group_modes(%tiled_view_10) <0, 2> : (!cute.coord_tensor<"(0,0)", "(128,64,7):(1@1,1@0,64@0)">) -> !cute.coord_tensor<"(0,0)", "((128,64),7):((1@1,1@0),64@0)">
      %res_smem_tensor_18, %res_target_tensors_19 = cute_nvgpu.atom.tma_partition(%arg3, %coord_15, %lay, %grouped_16, %grouped_17) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"(1):(0)">, !memref_smem_f16_4, !cute.coord_tensor<"(0,0)", "((128,64),7):((1@1,1@0),64@0)">) -> (!memref_smem_f16_5, !cute.coord_tensor<"(0,0)", "(((64,128),1),7):(((1@0,1@1),0),64@0)">)
      %20 = arith.remsi %0, %c128_i32 : i32
      %coord_20 = cute.make_coord(%20) : (i32) -> !cute.coord<"?">
      %ptn_A = cute.tiled.mma.partition A (%arg0, %view, %coord_20) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_6
      %frg_A = cute.mma.make_fragment A (%arg0, %ptn_A) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16_6) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">
      %ptn_B = cute.tiled.mma.partition B (%arg0, %view_7, %coord_20) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16_1, !cute.coord<"?">) -> !memref_smem_f16_7
      %frg_B = cute.mma.make_fragment B (%arg0, %ptn_B) : (!mma_f16_f16_f32_64x128x16, !memref_smem_f16_7) -> !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,1024))">
      %rmem = cute.memref.alloca() : !memref_rmem_f32
      %21 = arith.cmpi eq, %14, %c4_i32 : i32
      scf.if %21 {
        %22:3 = scf.for %arg9 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg10 = %c0_i32, %arg11 = %c0_i32, %arg12 = %c1_i32) -> (i32, i32, i32)  : i32 {
          %int_tuple_27 = cute.make_int_tuple(%arg11) : (i32) -> !cute.int_tuple<"?">
          %ptr_28 = cute.add_offset(%ptr, %int_tuple_27) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %34 = builtin.unrealized_conversion_cast %ptr_28 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %34, %arg12, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %35 = nvvm.elect.sync -> i1
          scf.if %35 {
            %ptr_62 = cute.add_offset(%iter_0, %int_tuple_27) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %45 = builtin.unrealized_conversion_cast %ptr_62 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            %46 = nvvm.mbarrier.arrive.expect_tx %45, %c24576_i32 : !llvm.ptr<3>, i32 -> i64
          }
          %ptr_29 = cute.add_offset(%iter_0, %int_tuple_27) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %coord_30 = cute.make_coord(%arg9) : (i32) -> !cute.coord<"(_,?)">
          %slice = cute.slice(%res_target_tensors, %coord_30) : !cute.coord_tensor<"(0,0)", "(((64,64),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_31 = cute.get_iter(%slice) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
          %tup = cute.deref_arith_tuple_iter(%iter_31) : !cute.arith_tuple_iter<"(?{div=64},0)">
          %e0, %e1 = cute.get_leaves(%tup) : !cute.int_tuple<"(?{div=64},0)">
          %coord_32 = cute.make_coord(%arg11) : (i32) -> !cute.coord<"(_,?)">
          %slice_33 = cute.slice(%res_smem_tensor, %coord_32) : !memref_smem_f16_3, !cute.coord<"(_,?)">
          %iter_34 = cute.get_iter(%slice_33) : !memref_smem_f16_8
          %lay_35 = cute.get_layout(%slice) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1)):(((1@0,1@1),0))">
          %lay_36 = cute.get_layout(%slice_33) : !memref_smem_f16_8
          %shape_37 = cute.make_shape() : () -> !cute.shape<"1">
          %lay_38 = cute.make_layout(%shape_37) : !cute.layout<"1:0">
          %append = cute.append_to_rank<2> (%lay_35, %lay_38) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_39 = cute.make_int_tuple(%e0) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},0)">
          %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple_39) : (!cute.int_tuple<"(?{div=64},0)">) -> !cute.arith_tuple_iter<"(?{div=64},0)">
          %view_40 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">
          %grouped_41 = cute.group_modes(%view_40) <1, 2> : (!cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
          %append_42 = cute.append_to_rank<2> (%lay_36, %lay_38) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
          %view_43 = cute.make_view(%iter_34, %append_42) : !memref_smem_f16_9
          %grouped_44 = cute.group_modes(%view_43) <1, 2> : (!memref_smem_f16_9) -> !memref_smem_f16_10
          %36 = cute_nvgpu.atom.make_exec_tma(%arg1) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
          %37 = cute_nvgpu.atom.set_value<tma_bar>(%36, %ptr_29) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%37, %grouped_41, %grouped_44) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},0)", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_10)
          %slice_45 = cute.slice(%res_target_tensors_19, %coord_30) : !cute.coord_tensor<"(0,0)", "(((64,128),1),7):(((1@0,1@1),0),64@0)">, !cute.coord<"(_,?)">
          %iter_46 = cute.get_iter(%slice_45) : !cute.coord_tensor<"(?{div=64},0)", "(((64,128),1)):(((1@0,1@1),0))">
          %tup_47 = cute.deref_arith_tuple_iter(%iter_46) : !cute.arith_tuple_iter<"(?{div=64},0)">
          %e0_48, %e1_49 = cute.get_leaves(%tup_47) : !cute.int_tuple<"(?{div=64},0)">
          %slice_50 = cute.slice(%res_smem_tensor_18, %coord_32) : !memref_smem_f16_5, !cute.coord<"(_,?)">
          %iter_51 = cute.get_iter(%slice_50) : !memref_smem_f16_11
          %lay_52 = cute.get_layout(%slice_45) : !cute.coord_tensor<"(?{div=64},0)", "(((64,128),1)):(((1@0,1@1),0))">
          %lay_53 = cute.get_layout(%slice_50) : !memref_smem_f16_11
          %append_54 = cute.append_to_rank<2> (%lay_52, %lay_38) : !cute.layout<"(((64,128),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
          %int_tuple_55 = cute.make_int_tuple(%e0_48) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(?{div=64},0)">
          %int_tup_iter_56 = cute.make_arith_tuple_iter(%int_tuple_55) : (!cute.int_tuple<"(?{div=64},0)">) -> !cute.arith_tuple_iter<"(?{div=64},0)">
          %view_57 = cute.make_view(%int_tup_iter_56, %append_54) : !cute.coord_tensor<"(?{div=64},0)", "(((64,128),1),1):(((1@0,1@1),0),0)">
          %grouped_58 = cute.group_modes(%view_57) <1, 2> : (!cute.coord_tensor<"(?{div=64},0)", "(((64,128),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(?{div=64},0)", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">
          %append_59 = cute.append_to_rank<2> (%lay_53, %lay_38) : !cute.layout<"((8192,1)):((1,0))">, !cute.layout<"1:0">
          %view_60 = cute.make_view(%iter_51, %append_59) : !memref_smem_f16_12
          %grouped_61 = cute.group_modes(%view_60) <1, 2> : (!memref_smem_f16_12) -> !memref_smem_f16_13
          %38 = cute_nvgpu.atom.make_exec_tma(%arg3) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>
          %39 = cute_nvgpu.atom.set_value<tma_bar>(%38, %ptr_29) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.ptr<i64, smem>)
          cute.copy(%39, %grouped_58, %grouped_61) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 131072, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,128):(1@1,1@0)">>, !cute.coord_tensor<"(?{div=64},0)", "(((64,128),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_13)
          %40 = arith.addi %arg11, %c1_i32 : i32
          %41 = arith.addi %arg10, %c1_i32 : i32
          %42 = arith.cmpi eq, %40, %c3_i32 : i32
          %43 = arith.select %42, %c0_i32, %40 : i32
          %44 = scf.if %42 -> (i32) {
            %45 = arith.xori %arg12, %c1_i32 : i32
            scf.yield %45 : i32
          } else {
            scf.yield %arg12 : i32
          }
          scf.yield %41, %43, %44 : i32, i32, i32
        } {loop_annotation = #loop_annotation}
        %int_tuple_21 = cute.make_int_tuple(%22#1) : (i32) -> !cute.int_tuple<"?">
        %ptr_22 = cute.add_offset(%ptr, %int_tuple_21) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %23 = builtin.unrealized_conversion_cast %ptr_22 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %23, %22#2, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %24 = arith.addi %22#1, %c1_i32 : i32
        %25 = arith.cmpi eq, %24, %c3_i32 : i32
        %26 = arith.select %25, %c0_i32, %24 : i32
        %27 = scf.if %25 -> (i32) {
          %34 = arith.xori %22#2, %c1_i32 : i32
          scf.yield %34 : i32
        } else {
          scf.yield %22#2 : i32
        }
        %int_tuple_23 = cute.make_int_tuple(%26) : (i32) -> !cute.int_tuple<"?">
        %ptr_24 = cute.add_offset(%ptr, %int_tuple_23) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %28 = builtin.unrealized_conversion_cast %ptr_24 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %28, %27, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %29 = arith.addi %26, %c1_i32 : i32
        %30 = arith.cmpi eq, %29, %c3_i32 : i32
        %31 = arith.select %30, %c0_i32, %29 : i32
        %32 = scf.if %30 -> (i32) {
          %34 = arith.xori %27, %c1_i32 : i32
          scf.yield %34 : i32
        } else {
          scf.yield %27 : i32
        }
        %int_tuple_25 = cute.make_int_tuple(%31) : (i32) -> !cute.int_tuple<"?">
        %ptr_26 = cute.add_offset(%ptr, %int_tuple_25) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %33 = builtin.unrealized_conversion_cast %ptr_26 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %33, %32, %c10000000_i32 : !llvm.ptr<3>, i32, i32
      } else {
        %22 = arith.cmpi slt, %14, %c4_i32 : i32
        scf.if %22 {
          %23 = cute_nvgpu.atom.set_value<accum_c>(%arg0, %false) : (!mma_f16_f16_f32_64x128x16, i1)
          %24:4 = scf.for %arg9 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg10 = %23, %arg11 = %c0_i32, %arg12 = %c0_i32, %arg13 = %c0_i32) -> (!mma_f16_f16_f32_64x128x16, i32, i32, i32)  : i32 {
            %int_tuple_28 = cute.make_int_tuple(%arg12) : (i32) -> !cute.int_tuple<"?">
            %ptr_29 = cute.add_offset(%iter_0, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
            %27 = builtin.unrealized_conversion_cast %ptr_29 : !cute.ptr<i64, smem> to !llvm.ptr<3>
            nvvm.mbarrier.try_wait.parity %27, %arg13, %c10000000_i32 : !llvm.ptr<3>, i32, i32
            nvvm.wgmma.fence.aligned
            %coord_30 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,0,?)">
            %slice = cute.slice(%frg_A, %coord_30) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,0,?)">
            %slice_31 = cute.slice(%frg_B, %coord_30) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,0,?)">
            cute.gemm(%arg10, %rmem, %slice, %slice_31, %rmem) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %28 = cute_nvgpu.atom.set_value<accum_c>(%arg10, %true) : (!mma_f16_f16_f32_64x128x16, i1)
            %coord_32 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,1,?)">
            %slice_33 = cute.slice(%frg_A, %coord_32) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,1,?)">
            %slice_34 = cute.slice(%frg_B, %coord_32) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,1,?)">
            cute.gemm(%28, %rmem, %slice_33, %slice_34, %rmem) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %29 = cute_nvgpu.atom.set_value<accum_c>(%28, %true) : (!mma_f16_f16_f32_64x128x16, i1)
            %coord_35 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,2,?)">
            %slice_36 = cute.slice(%frg_A, %coord_35) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,2,?)">
            %slice_37 = cute.slice(%frg_B, %coord_35) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,2,?)">
            cute.gemm(%29, %rmem, %slice_36, %slice_37, %rmem) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %30 = cute_nvgpu.atom.set_value<accum_c>(%29, %true) : (!mma_f16_f16_f32_64x128x16, i1)
            %coord_38 = cute.make_coord(%arg12) : (i32) -> !cute.coord<"(_,_,3,?)">
            %slice_39 = cute.slice(%frg_A, %coord_38) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,512))">, !cute.coord<"(_,_,3,?)">
            %slice_40 = cute.slice(%frg_B, %coord_38) : !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,4,(1,3)):(0,0,2,(0,1024))">, !cute.coord<"(_,_,3,?)">
            cute.gemm(%30, %rmem, %slice_39, %slice_40, %rmem) : (!mma_f16_f16_f32_64x128x16, !memref_rmem_f32, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1):(0,0)">, !memref_rmem_f32)
            %31 = cute_nvgpu.atom.set_value<accum_c>(%30, %true) : (!mma_f16_f16_f32_64x128x16, i1)
            nvvm.wgmma.commit.group.sync.aligned
            nvvm.wgmma.wait.group.sync.aligned 0
            scf.if %19 {
              %ptr_41 = cute.add_offset(%ptr, %int_tuple_28) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
              %37 = builtin.unrealized_conversion_cast %ptr_41 : !cute.ptr<i64, smem> to !llvm.ptr<3>
              %38 = nvvm.mbarrier.arrive %37, %c1_i32 : !llvm.ptr<3> -> i64
            }
            %32 = arith.addi %arg12, %c1_i32 : i32
            %33 = arith.addi %arg11, %c1_i32 : i32
            %34 = arith.cmpi eq, %32, %c3_i32 : i32
            %35 = arith.select %34, %c0_i32, %32 : i32
            %36 = scf.if %34 -> (i32) {
              %37 = arith.xori %arg13, %c1_i32 : i32
              scf.yield %37 : i32
            } else {
              scf.yield %arg13 : i32
            }
            scf.yield %31, %33, %35, %36 : !mma_f16_f16_f32_64x128x16, i32, i32, i32
          } {loop_annotation = #loop_annotation}
          %ptn_C = cute.tiled.mma.partition C (%arg0, %tiled_view_13, %coord_20) : (!mma_f16_f16_f32_64x128x16, !memref_gmem_f32, !cute.coord<"?">) -> !memref_gmem_f32_1
          %lay_21 = cute.get_layout(%rmem) : !memref_rmem_f32
          %lay_22 = cute.get_layout(%ptn_C) : !memref_gmem_f32_1
          %rinv = cute.right_inverse(%lay_22) : (!cute.layout<"((2,2,16),1,1):((1,1024,8),0,0)">) -> !cute.layout<"2:1">
          %25 = cute.composition(%lay_21, %rinv) : (!cute.layout<"((2,2,16),1,1):((1,2,4),0,0)">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
          %coalesce = cute.coalesce(%25) : (!cute.layout<"2:1">) -> !cute.layout<"2:1">
          %26 = cute.composition(%rinv, %coalesce) : (!cute.layout<"2:1">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
          %div = cute.logical_divide(%rmem, %26) : !memref_rmem_f32, !cute.layout<"2:1">
          %div_23 = cute.logical_divide(%ptn_C, %26) : !memref_gmem_f32_1, !cute.layout<"2:1">
          %shape_24 = cute.make_shape() : () -> !cute.shape<"2">
          %lay_25 = cute.make_layout(%shape_24) : !cute.layout<"2:1">
          %div_26 = cute.logical_divide(%div, %lay_25) : !memref_rmem_f32_1, !cute.layout<"2:1">
          %div_27 = cute.logical_divide(%div_23, %lay_25) : !memref_gmem_f32_2, !cute.layout<"2:1">
          %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 64 b>
          cute.copy(%atom, %div_26, %div_27) : (!cute_nvgpu.atom.universal_copy<f32, 64 b>, !memref_rmem_f32_1, !memref_gmem_f32_2)
        }
      }
      return
    }
  }
  func.func @cutlass_gemm_special_host_FakeTensorFloat16644484481_FakeTensorFloat161284484481_FakeTensorFloat32641281281(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16_1, %arg2: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c160_i32 = arith.constant 160 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.static : !cute.swizzle<"S<3,4,3>">
    %false = arith.constant false
    %atom = cute.make_atom(%false) : (i1) -> !cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>
    %1 = cute.make_tiled_mma(%atom) : !mma_f16_f16_f32_64x128x16
    %shape = cute.make_shape() : () -> !cute.shape<"(8,64)">
    %stride = cute.make_stride() : () -> !cute.stride<"(64,1)">
    %lay = cute.make_layout(%shape, %stride) : !cute.layout<"(8,64):(64,1)">
    %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
    %lay_0 = cute.make_composed_layout(%0, %int_tuple, %lay) : !cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">
    %shape_1 = cute.make_shape() : () -> !cute.shape<"(64,64,3)">
    %int_tuple_2 = cute.make_int_tuple() : () -> !cute.int_tuple<"(0,1,2)">
    %tile_to_shape = cute.tile_to_shape(%lay_0, %shape_1, %int_tuple_2) : (!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">, !cute.shape<"(64,64,3)">, !cute.int_tuple<"(0,1,2)">) -> !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">
    %shape_3 = cute.make_shape() : () -> !cute.shape<"(128,64,3)">
    %tile_to_shape_4 = cute.tile_to_shape(%lay_0, %shape_3, %int_tuple_2) : (!cute.composed_layout<"S<3,4,3> o 0 o (8,64):(64,1)">, !cute.shape<"(128,64,3)">, !cute.int_tuple<"(0,1,2)">) -> !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">
    %coord = cute.make_coord() : () -> !cute.coord<"(_,_,0)">
    %slice = cute.slice(%tile_to_shape, %coord) : !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.coord<"(_,_,0)">
    %shape_5 = cute.make_shape() : () -> !cute.shape<"(64,448)">
    %2 = cute.make_identity_layout(%shape_5) : !cute.layout<"(64,448):(1@0,1@1)">
    %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
    %3 = cute.composition(%2, %tile) : (!cute.layout<"(64,448):(1@0,1@1)">, !cute.tile<"[64:1;64:1]">) -> !cute.layout<"(64,64):(1@0,1@1)">
    %non_exec_atom, %tma_tensor = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg0, %slice, %3) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">)
    %slice_6 = cute.slice(%tile_to_shape_4, %coord) : !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">, !cute.coord<"(_,_,0)">
    %shape_7 = cute.make_shape() : () -> !cute.shape<"(128,448)">
    %4 = cute.make_identity_layout(%shape_7) : !cute.layout<"(128,448):(1@0,1@1)">
    %tile_8 = cute.make_tile() : () -> !cute.tile<"[128:1;64:1]">
    %5 = cute.composition(%4, %tile_8) : (!cute.layout<"(128,448):(1@0,1@1)">, !cute.tile<"[128:1;64:1]">) -> !cute.layout<"(128,64):(1@0,1@1)">
    %non_exec_atom_9, %tma_tensor_10 = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg1, %slice_6, %5) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16_1, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))">, !cute.layout<"(128,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">)
    %shape_11 = cute.make_shape() : () -> !cute.shape<"(1,1,1)">
    %lay_12 = cute.make_layout(%shape_11) : !cute.layout<"(1,1,1):(0,0,0)">
    %6 = cute.kernel_smem_size @kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648_0 : i64
    %7 = arith.cmpi sgt, %6, %c232448_i64 : i64
    scf.if %7 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %6) : i64
    }
    %8 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %9 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c160_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %6, gridDim = (%c1_i32, %c1_i32, %c1_i32), stream = %8) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%9] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cluster_dim[%9] (%c1_i32, %c1_i32, %c1_i32) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
    cuda.launch_cfg.cooperative[%9] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %10 = cuda.launch_ex @kernels::@kernel_cutlass_gemm_wgmma_kernel_TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK6412816_TVLayoutA12864160164_TVLayoutB1281281601128_TVLayoutC4842216128116648_0<%9> (%1, %non_exec_atom, %tma_tensor, %non_exec_atom_9, %tma_tensor_10, %arg2, %tile_to_shape, %tile_to_shape_4, %lay_12) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!mma_f16_f16_f32_64x128x16, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(64,448):(1@1,1@0)">, !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 131072, tma_gbasis = <"(64,128):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,448):(1@1,1@0)">, !memref_gmem_f32, !cute.composed_layout<"S<3,4,3> o 0 o ((8,8),(64,1),(1,3)):((64,512),(1,0),(0,4096))">, !cute.composed_layout<"S<3,4,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))">, !cute.layout<"(1,1,1):(0,0,0)">) -> !cuda.result
    %11 = cuda.cast %10 : !cuda.result -> i32
    cuda.return_if_error %11 : i32
    return %c0_i32 : i32
  }
}

