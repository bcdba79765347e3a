!copy_ldgsts = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<f16, cache = always, 128 b>, layout_copy_tv = <"((4,32),8):((256,1),32)">, tiler_mn = <"[32:1;32:1]">>
!copy_ldsm_4 = !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n>, layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, tiler_mn = <"[32:1;16:1]">>
!copy_ldsm_4_1 = !cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n>, layout_copy_tv = <"((4,8,2,2),((2,2),(2,1))):((64,1,0,8),((32,256),(16,0)))">, tiler_mn = <"[32:1;16:1]">>
!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(64,160):(160,1)">
!memref_gmem_f16_1 = !cute.memref<f16, gmem, align<16>, "(128,160):(160,1)">
!memref_gmem_f16_2 = !cute.memref<f16, gmem, align<16>, "(64,32,5):(160,1,32)">
!memref_gmem_f16_3 = !cute.memref<f16, gmem, align<16>, "((8,1),2,1,5):((1,0),5120,0,32)">
!memref_gmem_f16_4 = !cute.memref<f16, gmem, align<16>, "((8,1),2,1):((1,0),5120,0)">
!memref_gmem_f16_5 = !cute.memref<f16, gmem, align<16>, "((8,1),(2,1)):((1,0),(5120,0))">
!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(64,128):(128,1)">
!memref_gmem_f32_1 = !cute.memref<f32, gmem, align<16>, "(64,64):(128,1)">
!memref_gmem_f32_2 = !cute.memref<f32, gmem, align<8>, "((2,2),2,4):((1,1024),4096,16)">
!memref_gmem_f32_3 = !cute.memref<f32, gmem, align<8>, "(2,(2,2,4)):(1,(1024,4096,16))">
!memref_rmem_f16 = !cute.memref<f16, rmem, align<16>, "((2,2,2),2,2):((1,2,4),16,8)">
!memref_rmem_f16_1 = !cute.memref<f16, rmem, align<8>, "((2,2),4,2):((1,2),8,4)">
!memref_rmem_f16_2 = !cute.memref<f16, rmem, align<16>, "((8,1),2,2):((1,0),16,8)">
!memref_rmem_f16_3 = !cute.memref<f16, rmem, align<8>, "(((4,2),1),2,2):(((1,8),0),16,4)">
!memref_rmem_f16_4 = !cute.memref<f16, rmem, align<16>, "((8,1),(2,2)):((1,0),(16,8))">
!memref_rmem_f16_5 = !cute.memref<f16, rmem, align<8>, "(((4,2),1),(2,2)):(((1,8),0),(16,4))">
!memref_rmem_f32 = !cute.memref<f32, rmem, align<16>, "((2,2),2,4):((1,2),4,8)">
!memref_rmem_f32_1 = !cute.memref<f32, rmem, align<32>, "((2,2),2,4):((1,2),4,8)">
!memref_rmem_f32_2 = !cute.memref<f32, rmem, align<32>, "(2,16):(1,2)">
!memref_smem_f16 = !cute.memref<f16, smem, align<128>, S<2,4,3>, "((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">
!memref_smem_f16_1 = !cute.memref<f16, smem, align<16>, S<2,4,3>, "((8,1),2,1,(1,3)):((1,0),1024,0,(0,2048))">
!memref_smem_f16_2 = !cute.memref<f16, smem, align<16>, S<2,4,3>, "((8,1),2,1):((1,0),1024,0)">
!memref_smem_f16_3 = !cute.memref<f16, smem, align<16>, S<2,4,3>, "((8,1),(2,1)):((1,0),(1024,0))">
!memref_smem_f16_4 = !cute.memref<f16, smem, align<4>, S<2,4,3>, "((2,2,2),2,2,(1,3)):((1,256,8),1024,16,(0,2048))">
!memref_smem_f16_5 = !cute.memref<f16, smem, align<4>, S<2,4,3>, "((2,2,2),2,2):((1,256,8),1024,16)">
!memref_smem_f16_6 = !cute.memref<f16, smem, align<4>, S<2,4,3>, "((2,2),4,2,(1,3)):((1,8),512,16,(0,2048))">
!memref_smem_f16_7 = !cute.memref<f16, smem, align<4>, S<2,4,3>, "((2,2),4,2):((1,8),512,16)">
!memref_smem_f16_8 = !cute.memref<f16, smem, align<16>, S<2,4,3>, "((8,1),2,2,(1,3)):((1,0),1024,16,(0,2048))">
!memref_smem_f16_9 = !cute.memref<f16, smem, align<16>, S<2,4,3>, "((8,1),2,2):((1,0),1024,16)">
!memref_smem_f16_10 = !cute.memref<f16, smem, align<16>, S<2,4,3>, "((8,1),(2,2)):((1,0),(1024,16))">
!memref_smem_i8 = !cute.memref<i8, smem, align<128>, "12288:1">
!mma_f16_f16_f32_16x8x16 = !cute.tiled_mma<!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >, atom_layout_MNK = <"(2,2,1):(1,2,0)">, permutation_MNK = <"[32:1;32:1;16:1]">>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_gemm_cp_async_kernel_tensorptrf16gmemalign16o641601601_tensorptrf16gmemalign16o1281601601_tensorptrf32gmemalign16o641281281_S243o0o8832113322561002048_S243o0o88321133225610_0(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16_1, %arg2: !memref_gmem_f32, %arg3: !cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">, %arg4: !cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">, %arg5: !copy_ldgsts, %arg6: !mma_f16_f16_f32_16x8x16) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 2, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c2_i32 = arith.constant 2 : i32
      %cst = arith.constant dense<0.000000e+00> : vector<32xf32>
      %c3_i32 = arith.constant 3 : i32
      %c1_i32 = arith.constant 1 : i32
      %c5_i32 = arith.constant 5 : i32
      %c0_i32 = arith.constant 0 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %2 = nvvm.read.ptx.sreg.ctaid.y : i32
      %3 = cute.composed_get_outer(%arg3) : (!cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">) -> !cute.layout<"((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<128>> to !cute.ptr<f16, smem, align<128>, S<2,4,3>>
      %view = cute.make_view(%iter_0, %3) : !memref_smem_f16
      %4 = cute.composed_get_outer(%arg4) : (!cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">) -> !cute.layout<"((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">
      %smem_1 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter_2 = cute.get_iter(%smem_1) : !memref_smem_i8
      %iter_3 = cute.recast_iter(%iter_2) : !cute.ptr<i8, smem, align<128>> to !cute.ptr<f16, smem, align<128>, S<2,4,3>>
      %view_4 = cute.make_view(%iter_3, %4) : !memref_smem_f16
      %tile = cute.make_tile() : () -> !cute.tile<"[64:1;32:1]">
      %coord = cute.make_coord(%2) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view = cute.local_tile(%arg0, %tile, %coord) : (!memref_gmem_f16, !cute.tile<"[64:1;32:1]">, !cute.coord<"(?,_)">) -> !memref_gmem_f16_2
      %coord_5 = cute.make_coord(%1) : (i32) -> !cute.coord<"(?,_)">
      %tiled_view_6 = cute.local_tile(%arg1, %tile, %coord_5) : (!memref_gmem_f16_1, !cute.tile<"[64:1;32:1]">, !cute.coord<"(?,_)">) -> !memref_gmem_f16_2
      %tile_7 = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
      %coord_8 = cute.make_coord(%2, %1) : (i32, i32) -> !cute.coord<"(?,?)">
      %tiled_view_9 = cute.local_tile(%arg2, %tile_7, %coord_8) : (!memref_gmem_f32, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,?)">) -> !memref_gmem_f32_1
      %coord_10 = cute.make_coord(%0) : (i32) -> !cute.coord<"?">
      %src_partitioned = cute.tiled.copy.partition_S(%arg5, %tiled_view, %coord_10) : (!copy_ldgsts, !memref_gmem_f16_2, !cute.coord<"?">) -> !memref_gmem_f16_3
      %dst_partitioned = cute.tiled.copy.partition_D(%arg5, %view, %coord_10) : (!copy_ldgsts, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_1
      %src_partitioned_11 = cute.tiled.copy.partition_S(%arg5, %tiled_view_6, %coord_10) : (!copy_ldgsts, !memref_gmem_f16_2, !cute.coord<"?">) -> !memref_gmem_f16_3
      %dst_partitioned_12 = cute.tiled.copy.partition_D(%arg5, %view_4, %coord_10) : (!copy_ldgsts, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_1
      %coord_13 = cute.make_coord() : () -> !cute.coord<"(_,_,_,0)">
      %slice = cute.slice(%src_partitioned, %coord_13) : !memref_gmem_f16_3, !cute.coord<"(_,_,_,0)">
      %iter_14 = cute.get_iter(%slice) : !memref_gmem_f16_4
      %slice_15 = cute.slice(%dst_partitioned, %coord_13) : !memref_smem_f16_1, !cute.coord<"(_,_,_,0)">
      %iter_16 = cute.get_iter(%slice_15) : !memref_smem_f16_2
      %lay = cute.get_layout(%slice) : !memref_gmem_f16_4
      %lay_17 = cute.get_layout(%slice_15) : !memref_smem_f16_2
      %shape = cute.make_shape() : () -> !cute.shape<"1">
      %lay_18 = cute.make_layout(%shape) : !cute.layout<"1:0">
      %append = cute.append_to_rank<2> (%lay, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),5120,0)">, !cute.layout<"1:0">
      %view_19 = cute.make_view(%iter_14, %append) : !memref_gmem_f16_4
      %grouped = cute.group_modes(%view_19) <1, 3> : (!memref_gmem_f16_4) -> !memref_gmem_f16_5
      %append_20 = cute.append_to_rank<2> (%lay_17, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),1024,0)">, !cute.layout<"1:0">
      %view_21 = cute.make_view(%iter_16, %append_20) : !memref_smem_f16_2
      %grouped_22 = cute.group_modes(%view_21) <1, 3> : (!memref_smem_f16_2) -> !memref_smem_f16_3
      cute.copy(%arg5, %grouped, %grouped_22) : (!copy_ldgsts, !memref_gmem_f16_5, !memref_smem_f16_3)
      %slice_23 = cute.slice(%src_partitioned_11, %coord_13) : !memref_gmem_f16_3, !cute.coord<"(_,_,_,0)">
      %iter_24 = cute.get_iter(%slice_23) : !memref_gmem_f16_4
      %slice_25 = cute.slice(%dst_partitioned_12, %coord_13) : !memref_smem_f16_1, !cute.coord<"(_,_,_,0)">
      %iter_26 = cute.get_iter(%slice_25) : !memref_smem_f16_2
      %lay_27 = cute.get_layout(%slice_23) : !memref_gmem_f16_4
      %lay_28 = cute.get_layout(%slice_25) : !memref_smem_f16_2
      %append_29 = cute.append_to_rank<2> (%lay_27, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),5120,0)">, !cute.layout<"1:0">
      %view_30 = cute.make_view(%iter_24, %append_29) : !memref_gmem_f16_4
      %grouped_31 = cute.group_modes(%view_30) <1, 3> : (!memref_gmem_f16_4) -> !memref_gmem_f16_5
      %append_32 = cute.append_to_rank<2> (%lay_28, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),1024,0)">, !cute.layout<"1:0">
      %view_33 = cute.make_view(%iter_26, %append_32) : !memref_smem_f16_2
      %grouped_34 = cute.group_modes(%view_33) <1, 3> : (!memref_smem_f16_2) -> !memref_smem_f16_3
      cute.copy(%arg5, %grouped_31, %grouped_34) : (!copy_ldgsts, !memref_gmem_f16_5, !memref_smem_f16_3)
      nvvm.cp.async.commit.group
      %coord_35 = cute.make_coord() : () -> !cute.coord<"(_,_,_,1)">
      %slice_36 = cute.slice(%src_partitioned, %coord_35) : !memref_gmem_f16_3, !cute.coord<"(_,_,_,1)">
      %iter_37 = cute.get_iter(%slice_36) : !memref_gmem_f16_4
      %slice_38 = cute.slice(%dst_partitioned, %coord_35) : !memref_smem_f16_1, !cute.coord<"(_,_,_,1)">
      %iter_39 = cute.get_iter(%slice_38) : !memref_smem_f16_2
      %lay_40 = cute.get_layout(%slice_36) : !memref_gmem_f16_4
      %lay_41 = cute.get_layout(%slice_38) : !memref_smem_f16_2
      %append_42 = cute.append_to_rank<2> (%lay_40, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),5120,0)">, !cute.layout<"1:0">
      %view_43 = cute.make_view(%iter_37, %append_42) : !memref_gmem_f16_4
      %grouped_44 = cute.group_modes(%view_43) <1, 3> : (!memref_gmem_f16_4) -> !memref_gmem_f16_5
      %append_45 = cute.append_to_rank<2> (%lay_41, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),1024,0)">, !cute.layout<"1:0">
      %view_46 = cute.make_view(%iter_39, %append_45) : !memref_smem_f16_2
      %grouped_47 = cute.group_modes(%view_46) <1, 3> : (!memref_smem_f16_2) -> !memref_smem_f16_3
      cute.copy(%arg5, %grouped_44, %grouped_47) : (!copy_ldgsts, !memref_gmem_f16_5, !memref_smem_f16_3)
      %slice_48 = cute.slice(%src_partitioned_11, %coord_35) : !memref_gmem_f16_3, !cute.coord<"(_,_,_,1)">
      %iter_49 = cute.get_iter(%slice_48) : !memref_gmem_f16_4
      %slice_50 = cute.slice(%dst_partitioned_12, %coord_35) : !memref_smem_f16_1, !cute.coord<"(_,_,_,1)">
      %iter_51 = cute.get_iter(%slice_50) : !memref_smem_f16_2
      %lay_52 = cute.get_layout(%slice_48) : !memref_gmem_f16_4
      %lay_53 = cute.get_layout(%slice_50) : !memref_smem_f16_2
      %append_54 = cute.append_to_rank<2> (%lay_52, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),5120,0)">, !cute.layout<"1:0">
      %view_55 = cute.make_view(%iter_49, %append_54) : !memref_gmem_f16_4
      %grouped_56 = cute.group_modes(%view_55) <1, 3> : (!memref_gmem_f16_4) -> !memref_gmem_f16_5
      %append_57 = cute.append_to_rank<2> (%lay_53, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),1024,0)">, !cute.layout<"1:0">
      %view_58 = cute.make_view(%iter_51, %append_57) : !memref_smem_f16_2
      %grouped_59 = cute.group_modes(%view_58) <1, 3> : (!memref_smem_f16_2) -> !memref_smem_f16_3
      cute.copy(%arg5, %grouped_56, %grouped_59) : (!copy_ldgsts, !memref_gmem_f16_5, !memref_smem_f16_3)
      nvvm.cp.async.commit.group
      %shape_60 = cute.make_shape() : () -> !cute.shape<"((2,2),2,4)">
      %frg_C = cute.mma.make_fragment C (%arg6, %shape_60) : (!mma_f16_f16_f32_16x8x16, !cute.shape<"((2,2),2,4)">) -> !memref_rmem_f32
      cute.memref.store_vec(%cst, %frg_C) : (vector<32xf32>, !memref_rmem_f32) -> ()
      %ptn_A = cute.tiled.mma.partition A (%arg6, %view, %coord_10) : (!mma_f16_f16_f32_16x8x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_4
      %slice_61 = cute.slice(%ptn_A, %coord_13) : !memref_smem_f16_4, !cute.coord<"(_,_,_,0)">
      %frg_A = cute.mma.make_fragment A (%arg6, %slice_61) : (!mma_f16_f16_f32_16x8x16, !memref_smem_f16_5) -> !memref_rmem_f16
      %ptn_B = cute.tiled.mma.partition B (%arg6, %view_4, %coord_10) : (!mma_f16_f16_f32_16x8x16, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_6
      %slice_62 = cute.slice(%ptn_B, %coord_13) : !memref_smem_f16_6, !cute.coord<"(_,_,_,0)">
      %frg_B = cute.mma.make_fragment B (%arg6, %slice_62) : (!mma_f16_f16_f32_16x8x16, !memref_smem_f16_7) -> !memref_rmem_f16_1
      %atom = cute.make_atom() : () -> !cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n>
      %5 = cute.make_tiled_copy(%atom) : !copy_ldsm_4
      %6 = cute.make_tiled_copy(%atom) : !copy_ldsm_4_1
      %src_partitioned_63 = cute.tiled.copy.partition_S(%5, %view, %coord_10) : (!copy_ldsm_4, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_8
      %retiled = cute.tiled.copy.retile(%5, %frg_A) : (!copy_ldsm_4, !memref_rmem_f16) -> !memref_rmem_f16_2
      %iter_64 = cute.get_iter(%retiled) : !memref_rmem_f16_2
      %src_partitioned_65 = cute.tiled.copy.partition_S(%6, %view_4, %coord_10) : (!copy_ldsm_4_1, !memref_smem_f16, !cute.coord<"?">) -> !memref_smem_f16_8
      %retiled_66 = cute.tiled.copy.retile(%6, %frg_B) : (!copy_ldsm_4_1, !memref_rmem_f16_1) -> !memref_rmem_f16_3
      %iter_67 = cute.get_iter(%retiled_66) : !memref_rmem_f16_3
      scf.for %arg7 = %c0_i32 to %c5_i32 step %c1_i32  : i32 {
        nvvm.cp.async.wait.group 1
        nvvm.barrier
        %10 = arith.remsi %arg7, %c3_i32 : i32
        %11 = arith.addi %arg7, %c2_i32 : i32
        %12 = arith.cmpi slt, %11, %c5_i32 : i32
        scf.if %12 {
          %coord_97 = cute.make_coord(%11) : (i32) -> !cute.coord<"(_,_,_,?)">
          %slice_98 = cute.slice(%src_partitioned, %coord_97) : !memref_gmem_f16_3, !cute.coord<"(_,_,_,?)">
          %iter_99 = cute.get_iter(%slice_98) : !memref_gmem_f16_4
          %13 = arith.remsi %11, %c3_i32 : i32
          %coord_100 = cute.make_coord(%13) : (i32) -> !cute.coord<"(_,_,_,?)">
          %slice_101 = cute.slice(%dst_partitioned, %coord_100) : !memref_smem_f16_1, !cute.coord<"(_,_,_,?)">
          %iter_102 = cute.get_iter(%slice_101) : !memref_smem_f16_2
          %lay_103 = cute.get_layout(%slice_98) : !memref_gmem_f16_4
          %lay_104 = cute.get_layout(%slice_101) : !memref_smem_f16_2
          %append_105 = cute.append_to_rank<2> (%lay_103, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),5120,0)">, !cute.layout<"1:0">
          %view_106 = cute.make_view(%iter_99, %append_105) : !memref_gmem_f16_4
          %grouped_107 = cute.group_modes(%view_106) <1, 3> : (!memref_gmem_f16_4) -> !memref_gmem_f16_5
          %append_108 = cute.append_to_rank<2> (%lay_104, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),1024,0)">, !cute.layout<"1:0">
          %view_109 = cute.make_view(%iter_102, %append_108) : !memref_smem_f16_2
          %grouped_110 = cute.group_modes(%view_109) <1, 3> : (!memref_smem_f16_2) -> !memref_smem_f16_3
          cute.copy(%arg5, %grouped_107, %grouped_110) : (!copy_ldgsts, !memref_gmem_f16_5, !memref_smem_f16_3)
          %slice_111 = cute.slice(%src_partitioned_11, %coord_97) : !memref_gmem_f16_3, !cute.coord<"(_,_,_,?)">
          %iter_112 = cute.get_iter(%slice_111) : !memref_gmem_f16_4
          %slice_113 = cute.slice(%dst_partitioned_12, %coord_100) : !memref_smem_f16_1, !cute.coord<"(_,_,_,?)">
          %iter_114 = cute.get_iter(%slice_113) : !memref_smem_f16_2
          %lay_115 = cute.get_layout(%slice_111) : !memref_gmem_f16_4
          %lay_116 = cute.get_layout(%slice_113) : !memref_smem_f16_2
          %append_117 = cute.append_to_rank<2> (%lay_115, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),5120,0)">, !cute.layout<"1:0">
          %view_118 = cute.make_view(%iter_112, %append_117) : !memref_gmem_f16_4
          %grouped_119 = cute.group_modes(%view_118) <1, 3> : (!memref_gmem_f16_4) -> !memref_gmem_f16_5
          %append_120 = cute.append_to_rank<2> (%lay_116, %lay_18) : !cute.layout<"((8,1),2,1):((1,0),1024,0)">, !cute.layout<"1:0">
          %view_121 = cute.make_view(%iter_114, %append_120) : !memref_smem_f16_2
          %grouped_122 = cute.group_modes(%view_121) <1, 3> : (!memref_smem_f16_2) -> !memref_smem_f16_3
          cute.copy(%arg5, %grouped_119, %grouped_122) : (!copy_ldgsts, !memref_gmem_f16_5, !memref_smem_f16_3)
        }
        nvvm.cp.async.commit.group
        %coord_76 = cute.make_coord(%10) : (i32) -> !cute.coord<"(_,_,_,?)">
        %slice_77 = cute.slice(%src_partitioned_63, %coord_76) : !memref_smem_f16_8, !cute.coord<"(_,_,_,?)">
        %iter_78 = cute.get_iter(%slice_77) : !memref_smem_f16_9
        %lay_79 = cute.get_layout(%slice_77) : !memref_smem_f16_9
        %lay_80 = cute.get_layout(%retiled) : !memref_rmem_f16_2
        %append_81 = cute.append_to_rank<2> (%lay_79, %lay_18) : !cute.layout<"((8,1),2,2):((1,0),1024,16)">, !cute.layout<"1:0">
        %view_82 = cute.make_view(%iter_78, %append_81) : !memref_smem_f16_9
        %grouped_83 = cute.group_modes(%view_82) <1, 3> : (!memref_smem_f16_9) -> !memref_smem_f16_10
        %append_84 = cute.append_to_rank<2> (%lay_80, %lay_18) : !cute.layout<"((8,1),2,2):((1,0),16,8)">, !cute.layout<"1:0">
        %view_85 = cute.make_view(%iter_64, %append_84) : !memref_rmem_f16_2
        %grouped_86 = cute.group_modes(%view_85) <1, 3> : (!memref_rmem_f16_2) -> !memref_rmem_f16_4
        cute.copy(%5, %grouped_83, %grouped_86) : (!copy_ldsm_4, !memref_smem_f16_10, !memref_rmem_f16_4)
        %slice_87 = cute.slice(%src_partitioned_65, %coord_76) : !memref_smem_f16_8, !cute.coord<"(_,_,_,?)">
        %iter_88 = cute.get_iter(%slice_87) : !memref_smem_f16_9
        %lay_89 = cute.get_layout(%slice_87) : !memref_smem_f16_9
        %lay_90 = cute.get_layout(%retiled_66) : !memref_rmem_f16_3
        %append_91 = cute.append_to_rank<2> (%lay_89, %lay_18) : !cute.layout<"((8,1),2,2):((1,0),1024,16)">, !cute.layout<"1:0">
        %view_92 = cute.make_view(%iter_88, %append_91) : !memref_smem_f16_9
        %grouped_93 = cute.group_modes(%view_92) <1, 3> : (!memref_smem_f16_9) -> !memref_smem_f16_10
        %append_94 = cute.append_to_rank<2> (%lay_90, %lay_18) : !cute.layout<"(((4,2),1),2,2):(((1,8),0),16,4)">, !cute.layout<"1:0">
        %view_95 = cute.make_view(%iter_67, %append_94) : !memref_rmem_f16_3
        %grouped_96 = cute.group_modes(%view_95) <1, 3> : (!memref_rmem_f16_3) -> !memref_rmem_f16_5
        cute.copy(%6, %grouped_93, %grouped_96) : (!copy_ldsm_4_1, !memref_smem_f16_10, !memref_rmem_f16_5)
        cute.gemm(%arg6, %frg_C, %frg_A, %frg_B, %frg_C) : (!mma_f16_f16_f32_16x8x16, !memref_rmem_f32, !memref_rmem_f16, !memref_rmem_f16_1, !memref_rmem_f32)
      }
      %rmem = cute.memref.alloca() : !memref_rmem_f32_1
      %7 = cute.memref.load_vec(%frg_C) : (!memref_rmem_f32) -> vector<32xf32>
      %lay_68 = cute.get_layout(%rmem) : !memref_rmem_f32_1
      cute.memref.store_vec(%7, %rmem) : (vector<32xf32>, !memref_rmem_f32_1) -> ()
      %ptn_C = cute.tiled.mma.partition C (%arg6, %tiled_view_9, %coord_10) : (!mma_f16_f16_f32_16x8x16, !memref_gmem_f32_1, !cute.coord<"?">) -> !memref_gmem_f32_2
      %lay_69 = cute.get_layout(%ptn_C) : !memref_gmem_f32_2
      %rinv = cute.right_inverse(%lay_69) : (!cute.layout<"((2,2),2,4):((1,1024),4096,16)">) -> !cute.layout<"2:1">
      %8 = cute.composition(%lay_68, %rinv) : (!cute.layout<"((2,2),2,4):((1,2),4,8)">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
      %coalesce = cute.coalesce(%8) : (!cute.layout<"2:1">) -> !cute.layout<"2:1">
      %9 = cute.composition(%rinv, %coalesce) : (!cute.layout<"2:1">, !cute.layout<"2:1">) -> !cute.layout<"2:1">
      %div = cute.logical_divide(%rmem, %9) : !memref_rmem_f32_1, !cute.layout<"2:1">
      %div_70 = cute.logical_divide(%ptn_C, %9) : !memref_gmem_f32_2, !cute.layout<"2:1">
      %shape_71 = cute.make_shape() : () -> !cute.shape<"2">
      %lay_72 = cute.make_layout(%shape_71) : !cute.layout<"2:1">
      %div_73 = cute.logical_divide(%div, %lay_72) : !memref_rmem_f32_2, !cute.layout<"2:1">
      %div_74 = cute.logical_divide(%div_70, %lay_72) : !memref_gmem_f32_3, !cute.layout<"2:1">
      %atom_75 = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 64 b>
      cute.copy(%atom_75, %div_73, %div_74) : (!cute_nvgpu.atom.universal_copy<f32, 64 b>, !memref_rmem_f32_2, !memref_gmem_f32_3)
      return
    }
  }
  func.func @cutlass_gemm_cp_async_host_FakeTensorFloat16641601601_FakeTensorFloat161281601601_FakeTensorFloat32641281281(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16_1, %arg2: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.static : !cute.swizzle<"S<2,4,3>">
    %shape = cute.make_shape() : () -> !cute.shape<"(8,32)">
    %stride = cute.make_stride() : () -> !cute.stride<"(32,1)">
    %lay = cute.make_layout(%shape, %stride) : !cute.layout<"(8,32):(32,1)">
    %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
    %lay_0 = cute.make_composed_layout(%0, %int_tuple, %lay) : !cute.composed_layout<"S<2,4,3> o 0 o (8,32):(32,1)">
    %shape_1 = cute.make_shape() : () -> !cute.shape<"(64,32,3)">
    %int_tuple_2 = cute.make_int_tuple() : () -> !cute.int_tuple<"(0,1,2)">
    %tile_to_shape = cute.tile_to_shape(%lay_0, %shape_1, %int_tuple_2) : (!cute.composed_layout<"S<2,4,3> o 0 o (8,32):(32,1)">, !cute.shape<"(64,32,3)">, !cute.int_tuple<"(0,1,2)">) -> !cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">
    %atom = cute.make_atom() : () -> !cute_nvgpu.atom.simt_async_copy<f16, cache = always, 128 b>
    %1 = cute.make_tiled_copy(%atom) : !copy_ldgsts
    %atom_3 = cute.make_atom() : () -> !cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >
    %2 = cute.make_tiled_mma(%atom_3) : !mma_f16_f16_f32_16x8x16
    %3 = cute.kernel_smem_size @kernels::@kernel_cutlass_gemm_cp_async_kernel_tensorptrf16gmemalign16o641601601_tensorptrf16gmemalign16o1281601601_tensorptrf32gmemalign16o641281281_S243o0o8832113322561002048_S243o0o88321133225610_0 : i64
    %4 = arith.cmpi sgt, %3, %c232448_i64 : i64
    scf.if %4 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_gemm_cp_async_kernel_tensorptrf16gmemalign16o641601601_tensorptrf16gmemalign16o1281601601_tensorptrf32gmemalign16o641281281_S243o0o8832113322561002048_S243o0o88321133225610_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %3) : i64
    }
    %5 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %6 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %3, gridDim = (%c2_i32, %c1_i32, %c1_i32), stream = %5) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%6] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%6] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %7 = cuda.launch_ex @kernels::@kernel_cutlass_gemm_cp_async_kernel_tensorptrf16gmemalign16o641601601_tensorptrf16gmemalign16o1281601601_tensorptrf32gmemalign16o641281281_S243o0o8832113322561002048_S243o0o88321133225610_0<%6> (%arg0, %arg1, %arg2, %tile_to_shape, %tile_to_shape, %1, %2) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_f16, !memref_gmem_f16_1, !memref_gmem_f32, !cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">, !cute.composed_layout<"S<2,4,3> o 0 o ((8,8),(32,1),(1,3)):((32,256),(1,0),(0,2048))">, !copy_ldgsts, !mma_f16_f16_f32_16x8x16) -> !cuda.result
    %8 = cuda.cast %7 : !cuda.result -> i32
    cuda.return_if_error %8 : i32
    return %c0_i32 : i32
  }
}

