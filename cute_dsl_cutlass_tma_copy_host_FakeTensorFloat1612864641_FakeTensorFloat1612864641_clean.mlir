!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(128,64):(64,1)">
!memref_smem_f16 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">
!memref_smem_f16_1 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((64,64)):((64,1))">
!memref_smem_f16_2 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1)):((1,0))">
!memref_smem_f16_3 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),1):((1,0),0)">
!memref_smem_f16_4 = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!memref_smem_i8 = !cute.memref<i8, smem, align<1024>, "8192:1">
!memref_smem_i8_1 = !cute.memref<i8, smem, align<8>, "8:1">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_tma_copy_kernel_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_tensor00o128641110_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_t_0(%arg0: !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg1: !cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">, %arg2: !cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN> {cute_nvgpu.grid_constant}, %arg3: !cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">, %arg4: !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 2, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c62_i32 = arith.constant 62 : i32
      %c60_i32 = arith.constant 60 : i32
      %c58_i32 = arith.constant 58 : i32
      %c56_i32 = arith.constant 56 : i32
      %c54_i32 = arith.constant 54 : i32
      %c52_i32 = arith.constant 52 : i32
      %c50_i32 = arith.constant 50 : i32
      %c48_i32 = arith.constant 48 : i32
      %c46_i32 = arith.constant 46 : i32
      %c44_i32 = arith.constant 44 : i32
      %c42_i32 = arith.constant 42 : i32
      %c40_i32 = arith.constant 40 : i32
      %c38_i32 = arith.constant 38 : i32
      %c36_i32 = arith.constant 36 : i32
      %c34_i32 = arith.constant 34 : i32
      %c30_i32 = arith.constant 30 : i32
      %c28_i32 = arith.constant 28 : i32
      %c26_i32 = arith.constant 26 : i32
      %c24_i32 = arith.constant 24 : i32
      %c22_i32 = arith.constant 22 : i32
      %c20_i32 = arith.constant 20 : i32
      %c18_i32 = arith.constant 18 : i32
      %c16_i32 = arith.constant 16 : i32
      %c14_i32 = arith.constant 14 : i32
      %c12_i32 = arith.constant 12 : i32
      %c10_i32 = arith.constant 10 : i32
      %c8_i32 = arith.constant 8 : i32
      %c6_i32 = arith.constant 6 : i32
      %c4_i32 = arith.constant 4 : i32
      %c2_i32 = arith.constant 2 : i32
      %cst = arith.constant 1.000000e+00 : f32
      %c64_i32 = arith.constant 64 : i32
      %c10000000_i32 = arith.constant 10000000 : i32
      %c8192_i32 = arith.constant 8192 : i32
      %c32_i32 = arith.constant 32 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %2 = cute.composed_get_outer(%arg4) : (!cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">) -> !cute.layout<"(64,64):(64,1)">
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
      %view = cute.make_view(%iter_0, %2) : !memref_smem_f16
      %smem_1 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_2 = cute.get_iter(%smem_1) : !memref_smem_i8_1
      %iter_3 = cute.recast_iter(%iter_2) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
      %3 = arith.cmpi eq, %0, %c0_i32 : i32
      scf.if %3 {
        %167 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.init %167, %c1_i32 : !llvm.ptr<3>, i32
      }
      nvvm.fence.mbarrier.init
      nvvm.barrier
      %shape = cute.make_shape() : () -> !cute.shape<"1">
      %lay = cute.make_layout(%shape) : !cute.layout<"1:0">
      %grouped = cute.group_modes(%view) <0, 2> : (!memref_smem_f16) -> !memref_smem_f16_1
      %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
      %coord = cute.make_coord(%1) : (i32) -> !cute.coord<"(?,0)">
      %tiled_view = cute.local_tile(%arg1, %tile, %coord) : (!cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,0)">) -> !cute.coord_tensor<"(0,?{div=64})", "(64,64):(1@1,1@0)">
      %grouped_4 = cute.group_modes(%tiled_view) <0, 2> : (!cute.coord_tensor<"(0,?{div=64})", "(64,64):(1@1,1@0)">) -> !cute.coord_tensor<"(0,?{div=64})", "((64,64)):((1@1,1@0))">
      %coord_5 = cute.make_coord() : () -> !cute.coord<"0">
      %res_smem_tensor, %res_target_tensors = cute_nvgpu.atom.tma_partition(%arg0, %coord_5, %lay, %grouped, %grouped_4) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"1:0">, !memref_smem_f16_1, !cute.coord_tensor<"(0,?{div=64})", "((64,64)):((1@1,1@0))">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">)
      %iter_6 = cute.get_iter(%res_smem_tensor) : !memref_smem_f16_2
      %iter_7 = cute.get_iter(%res_target_tensors) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">
      %tup = cute.deref_arith_tuple_iter(%iter_7) : !cute.arith_tuple_iter<"(0,?{div=64})">
      %e0, %e1 = cute.get_leaves(%tup) : !cute.int_tuple<"(0,?{div=64})">
      %tiled_view_8 = cute.local_tile(%arg3, %tile, %coord) : (!cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">, !cute.tile<"[64:1;64:1]">, !cute.coord<"(?,0)">) -> !cute.coord_tensor<"(0,?{div=64})", "(64,64):(1@1,1@0)">
      %grouped_9 = cute.group_modes(%tiled_view_8) <0, 2> : (!cute.coord_tensor<"(0,?{div=64})", "(64,64):(1@1,1@0)">) -> !cute.coord_tensor<"(0,?{div=64})", "((64,64)):((1@1,1@0))">
      %res_smem_tensor_10, %res_target_tensors_11 = cute_nvgpu.atom.tma_partition(%arg2, %coord_5, %lay, %grouped, %grouped_9) : (!cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord<"0">, !cute.layout<"1:0">, !memref_smem_f16_1, !cute.coord_tensor<"(0,?{div=64})", "((64,64)):((1@1,1@0))">) -> (!memref_smem_f16_2, !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">)
      %iter_12 = cute.get_iter(%res_smem_tensor_10) : !memref_smem_f16_2
      %iter_13 = cute.get_iter(%res_target_tensors_11) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">
      %tup_14 = cute.deref_arith_tuple_iter(%iter_13) : !cute.arith_tuple_iter<"(0,?{div=64})">
      %e0_15, %e1_16 = cute.get_leaves(%tup_14) : !cute.int_tuple<"(0,?{div=64})">
      %4 = arith.cmpi slt, %0, %c32_i32 : i32
      scf.if %4 {
        %167 = nvvm.elect.sync -> i1
        scf.if %167 {
          %170 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          %171 = nvvm.mbarrier.arrive.expect_tx %170, %c8192_i32 : !llvm.ptr<3>, i32 -> i64
        }
        %lay_49 = cute.get_layout(%res_target_tensors) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">
        %lay_50 = cute.get_layout(%res_smem_tensor) : !memref_smem_f16_2
        %append = cute.append_to_rank<2> (%lay_49, %lay) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
        %int_tuple = cute.make_int_tuple(%e1) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(0,?{div=64})">
        %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple) : (!cute.int_tuple<"(0,?{div=64})">) -> !cute.arith_tuple_iter<"(0,?{div=64})">
        %view_51 = cute.make_view(%int_tup_iter, %append) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),1):(((1@0,1@1),0),0)">
        %grouped_52 = cute.group_modes(%view_51) <1, 2> : (!cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
        %append_53 = cute.append_to_rank<2> (%lay_50, %lay) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
        %view_54 = cute.make_view(%iter_6, %append_53) : !memref_smem_f16_3
        %grouped_55 = cute.group_modes(%view_54) <1, 2> : (!memref_smem_f16_3) -> !memref_smem_f16_4
        %168 = cute_nvgpu.atom.make_exec_tma(%arg0) : (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
        %169 = cute_nvgpu.atom.set_value<tma_bar>(%168, %iter_3) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.ptr<i64, smem>)
        cute.copy(%169, %grouped_52, %grouped_55) : (!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">, !memref_smem_f16_4)
      }
      %5 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
      nvvm.mbarrier.try_wait.parity %5, %c0_i32, %c10000000_i32 : !llvm.ptr<3>, i32, i32
      %6 = arith.remsi %0, %c64_i32 : i32
      %7 = arith.floordivsi %0, %c64_i32 : i32
      %coord_17 = cute.make_coord(%6, %7) : (i32, i32) -> !cute.coord<"(?,?)">
      %8 = cute.memref.load(%view, %coord_17) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %9 = arith.extf %8 : f16 to f32
      %10 = arith.addf %9, %cst : f32
      %11 = arith.truncf %10 : f32 to f16
      cute.memref.store(%view, %coord_17, %11) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %12 = arith.addi %7, %c2_i32 : i32
      %coord_18 = cute.make_coord(%6, %12) : (i32, i32) -> !cute.coord<"(?,?)">
      %13 = cute.memref.load(%view, %coord_18) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %14 = arith.extf %13 : f16 to f32
      %15 = arith.addf %14, %cst : f32
      %16 = arith.truncf %15 : f32 to f16
      cute.memref.store(%view, %coord_18, %16) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %17 = arith.addi %7, %c4_i32 : i32
      %coord_19 = cute.make_coord(%6, %17) : (i32, i32) -> !cute.coord<"(?,?)">
      %18 = cute.memref.load(%view, %coord_19) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %19 = arith.extf %18 : f16 to f32
      %20 = arith.addf %19, %cst : f32
      %21 = arith.truncf %20 : f32 to f16
      cute.memref.store(%view, %coord_19, %21) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %22 = arith.addi %7, %c6_i32 : i32
      %coord_20 = cute.make_coord(%6, %22) : (i32, i32) -> !cute.coord<"(?,?)">
      %23 = cute.memref.load(%view, %coord_20) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %24 = arith.extf %23 : f16 to f32
      %25 = arith.addf %24, %cst : f32
      %26 = arith.truncf %25 : f32 to f16
      cute.memref.store(%view, %coord_20, %26) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %27 = arith.addi %7, %c8_i32 : i32
      %coord_21 = cute.make_coord(%6, %27) : (i32, i32) -> !cute.coord<"(?,?)">
      %28 = cute.memref.load(%view, %coord_21) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %29 = arith.extf %28 : f16 to f32
      %30 = arith.addf %29, %cst : f32
      %31 = arith.truncf %30 : f32 to f16
      cute.memref.store(%view, %coord_21, %31) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %32 = arith.addi %7, %c10_i32 : i32
      %coord_22 = cute.make_coord(%6, %32) : (i32, i32) -> !cute.coord<"(?,?)">
      %33 = cute.memref.load(%view, %coord_22) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %34 = arith.extf %33 : f16 to f32
      %35 = arith.addf %34, %cst : f32
      %36 = arith.truncf %35 : f32 to f16
      cute.memref.store(%view, %coord_22, %36) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %37 = arith.addi %7, %c12_i32 : i32
      %coord_23 = cute.make_coord(%6, %37) : (i32, i32) -> !cute.coord<"(?,?)">
      %38 = cute.memref.load(%view, %coord_23) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %39 = arith.extf %38 : f16 to f32
      %40 = arith.addf %39, %cst : f32
      %41 = arith.truncf %40 : f32 to f16
      cute.memref.store(%view, %coord_23, %41) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %42 = arith.addi %7, %c14_i32 : i32
      %coord_24 = cute.make_coord(%6, %42) : (i32, i32) -> !cute.coord<"(?,?)">
      %43 = cute.memref.load(%view, %coord_24) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %44 = arith.extf %43 : f16 to f32
      %45 = arith.addf %44, %cst : f32
      %46 = arith.truncf %45 : f32 to f16
      cute.memref.store(%view, %coord_24, %46) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %47 = arith.addi %7, %c16_i32 : i32
      %coord_25 = cute.make_coord(%6, %47) : (i32, i32) -> !cute.coord<"(?,?)">
      %48 = cute.memref.load(%view, %coord_25) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %49 = arith.extf %48 : f16 to f32
      %50 = arith.addf %49, %cst : f32
      %51 = arith.truncf %50 : f32 to f16
      cute.memref.store(%view, %coord_25, %51) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %52 = arith.addi %7, %c18_i32 : i32
      %coord_26 = cute.make_coord(%6, %52) : (i32, i32) -> !cute.coord<"(?,?)">
      %53 = cute.memref.load(%view, %coord_26) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %54 = arith.extf %53 : f16 to f32
      %55 = arith.addf %54, %cst : f32
      %56 = arith.truncf %55 : f32 to f16
      cute.memref.store(%view, %coord_26, %56) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %57 = arith.addi %7, %c20_i32 : i32
      %coord_27 = cute.make_coord(%6, %57) : (i32, i32) -> !cute.coord<"(?,?)">
      %58 = cute.memref.load(%view, %coord_27) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %59 = arith.extf %58 : f16 to f32
      %60 = arith.addf %59, %cst : f32
      %61 = arith.truncf %60 : f32 to f16
      cute.memref.store(%view, %coord_27, %61) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %62 = arith.addi %7, %c22_i32 : i32
      %coord_28 = cute.make_coord(%6, %62) : (i32, i32) -> !cute.coord<"(?,?)">
      %63 = cute.memref.load(%view, %coord_28) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %64 = arith.extf %63 : f16 to f32
      %65 = arith.addf %64, %cst : f32
      %66 = arith.truncf %65 : f32 to f16
      cute.memref.store(%view, %coord_28, %66) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %67 = arith.addi %7, %c24_i32 : i32
      %coord_29 = cute.make_coord(%6, %67) : (i32, i32) -> !cute.coord<"(?,?)">
      %68 = cute.memref.load(%view, %coord_29) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %69 = arith.extf %68 : f16 to f32
      %70 = arith.addf %69, %cst : f32
      %71 = arith.truncf %70 : f32 to f16
      cute.memref.store(%view, %coord_29, %71) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %72 = arith.addi %7, %c26_i32 : i32
      %coord_30 = cute.make_coord(%6, %72) : (i32, i32) -> !cute.coord<"(?,?)">
      %73 = cute.memref.load(%view, %coord_30) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %74 = arith.extf %73 : f16 to f32
      %75 = arith.addf %74, %cst : f32
      %76 = arith.truncf %75 : f32 to f16
      cute.memref.store(%view, %coord_30, %76) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %77 = arith.addi %7, %c28_i32 : i32
      %coord_31 = cute.make_coord(%6, %77) : (i32, i32) -> !cute.coord<"(?,?)">
      %78 = cute.memref.load(%view, %coord_31) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %79 = arith.extf %78 : f16 to f32
      %80 = arith.addf %79, %cst : f32
      %81 = arith.truncf %80 : f32 to f16
      cute.memref.store(%view, %coord_31, %81) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %82 = arith.addi %7, %c30_i32 : i32
      %coord_32 = cute.make_coord(%6, %82) : (i32, i32) -> !cute.coord<"(?,?)">
      %83 = cute.memref.load(%view, %coord_32) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %84 = arith.extf %83 : f16 to f32
      %85 = arith.addf %84, %cst : f32
      %86 = arith.truncf %85 : f32 to f16
      cute.memref.store(%view, %coord_32, %86) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %87 = arith.addi %7, %c32_i32 : i32
      %coord_33 = cute.make_coord(%6, %87) : (i32, i32) -> !cute.coord<"(?,?)">
      %88 = cute.memref.load(%view, %coord_33) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %89 = arith.extf %88 : f16 to f32
      %90 = arith.addf %89, %cst : f32
      %91 = arith.truncf %90 : f32 to f16
      cute.memref.store(%view, %coord_33, %91) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %92 = arith.addi %7, %c34_i32 : i32
      %coord_34 = cute.make_coord(%6, %92) : (i32, i32) -> !cute.coord<"(?,?)">
      %93 = cute.memref.load(%view, %coord_34) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %94 = arith.extf %93 : f16 to f32
      %95 = arith.addf %94, %cst : f32
      %96 = arith.truncf %95 : f32 to f16
      cute.memref.store(%view, %coord_34, %96) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %97 = arith.addi %7, %c36_i32 : i32
      %coord_35 = cute.make_coord(%6, %97) : (i32, i32) -> !cute.coord<"(?,?)">
      %98 = cute.memref.load(%view, %coord_35) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %99 = arith.extf %98 : f16 to f32
      %100 = arith.addf %99, %cst : f32
      %101 = arith.truncf %100 : f32 to f16
      cute.memref.store(%view, %coord_35, %101) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %102 = arith.addi %7, %c38_i32 : i32
      %coord_36 = cute.make_coord(%6, %102) : (i32, i32) -> !cute.coord<"(?,?)">
      %103 = cute.memref.load(%view, %coord_36) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %104 = arith.extf %103 : f16 to f32
      %105 = arith.addf %104, %cst : f32
      %106 = arith.truncf %105 : f32 to f16
      cute.memref.store(%view, %coord_36, %106) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %107 = arith.addi %7, %c40_i32 : i32
      %coord_37 = cute.make_coord(%6, %107) : (i32, i32) -> !cute.coord<"(?,?)">
      %108 = cute.memref.load(%view, %coord_37) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %109 = arith.extf %108 : f16 to f32
      %110 = arith.addf %109, %cst : f32
      %111 = arith.truncf %110 : f32 to f16
      cute.memref.store(%view, %coord_37, %111) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %112 = arith.addi %7, %c42_i32 : i32
      %coord_38 = cute.make_coord(%6, %112) : (i32, i32) -> !cute.coord<"(?,?)">
      %113 = cute.memref.load(%view, %coord_38) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %114 = arith.extf %113 : f16 to f32
      %115 = arith.addf %114, %cst : f32
      %116 = arith.truncf %115 : f32 to f16
      cute.memref.store(%view, %coord_38, %116) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %117 = arith.addi %7, %c44_i32 : i32
      %coord_39 = cute.make_coord(%6, %117) : (i32, i32) -> !cute.coord<"(?,?)">
      %118 = cute.memref.load(%view, %coord_39) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %119 = arith.extf %118 : f16 to f32
      %120 = arith.addf %119, %cst : f32
      %121 = arith.truncf %120 : f32 to f16
      cute.memref.store(%view, %coord_39, %121) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %122 = arith.addi %7, %c46_i32 : i32
      %coord_40 = cute.make_coord(%6, %122) : (i32, i32) -> !cute.coord<"(?,?)">
      %123 = cute.memref.load(%view, %coord_40) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %124 = arith.extf %123 : f16 to f32
      %125 = arith.addf %124, %cst : f32
      %126 = arith.truncf %125 : f32 to f16
      cute.memref.store(%view, %coord_40, %126) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %127 = arith.addi %7, %c48_i32 : i32
      %coord_41 = cute.make_coord(%6, %127) : (i32, i32) -> !cute.coord<"(?,?)">
      %128 = cute.memref.load(%view, %coord_41) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %129 = arith.extf %128 : f16 to f32
      %130 = arith.addf %129, %cst : f32
      %131 = arith.truncf %130 : f32 to f16
      cute.memref.store(%view, %coord_41, %131) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %132 = arith.addi %7, %c50_i32 : i32
      %coord_42 = cute.make_coord(%6, %132) : (i32, i32) -> !cute.coord<"(?,?)">
      %133 = cute.memref.load(%view, %coord_42) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %134 = arith.extf %133 : f16 to f32
      %135 = arith.addf %134, %cst : f32
      %136 = arith.truncf %135 : f32 to f16
      cute.memref.store(%view, %coord_42, %136) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %137 = arith.addi %7, %c52_i32 : i32
      %coord_43 = cute.make_coord(%6, %137) : (i32, i32) -> !cute.coord<"(?,?)">
      %138 = cute.memref.load(%view, %coord_43) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %139 = arith.extf %138 : f16 to f32
      %140 = arith.addf %139, %cst : f32
      %141 = arith.truncf %140 : f32 to f16
      cute.memref.store(%view, %coord_43, %141) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %142 = arith.addi %7, %c54_i32 : i32
      %coord_44 = cute.make_coord(%6, %142) : (i32, i32) -> !cute.coord<"(?,?)">
      %143 = cute.memref.load(%view, %coord_44) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %144 = arith.extf %143 : f16 to f32
      %145 = arith.addf %144, %cst : f32
      %146 = arith.truncf %145 : f32 to f16
      cute.memref.store(%view, %coord_44, %146) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %147 = arith.addi %7, %c56_i32 : i32
      %coord_45 = cute.make_coord(%6, %147) : (i32, i32) -> !cute.coord<"(?,?)">
      %148 = cute.memref.load(%view, %coord_45) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %149 = arith.extf %148 : f16 to f32
      %150 = arith.addf %149, %cst : f32
      %151 = arith.truncf %150 : f32 to f16
      cute.memref.store(%view, %coord_45, %151) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %152 = arith.addi %7, %c58_i32 : i32
      %coord_46 = cute.make_coord(%6, %152) : (i32, i32) -> !cute.coord<"(?,?)">
      %153 = cute.memref.load(%view, %coord_46) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %154 = arith.extf %153 : f16 to f32
      %155 = arith.addf %154, %cst : f32
      %156 = arith.truncf %155 : f32 to f16
      cute.memref.store(%view, %coord_46, %156) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %157 = arith.addi %7, %c60_i32 : i32
      %coord_47 = cute.make_coord(%6, %157) : (i32, i32) -> !cute.coord<"(?,?)">
      %158 = cute.memref.load(%view, %coord_47) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %159 = arith.extf %158 : f16 to f32
      %160 = arith.addf %159, %cst : f32
      %161 = arith.truncf %160 : f32 to f16
      cute.memref.store(%view, %coord_47, %161) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %162 = arith.addi %7, %c62_i32 : i32
      %coord_48 = cute.make_coord(%6, %162) : (i32, i32) -> !cute.coord<"(?,?)">
      %163 = cute.memref.load(%view, %coord_48) : (!memref_smem_f16, !cute.coord<"(?,?)">) -> f16
      %164 = arith.extf %163 : f16 to f32
      %165 = arith.addf %164, %cst : f32
      %166 = arith.truncf %165 : f32 to f16
      cute.memref.store(%view, %coord_48, %166) : (!memref_smem_f16, !cute.coord<"(?,?)">, f16) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier
      scf.if %4 {
        %lay_49 = cute.get_layout(%res_smem_tensor_10) : !memref_smem_f16_2
        %lay_50 = cute.get_layout(%res_target_tensors_11) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1)):(((1@0,1@1),0))">
        %append = cute.append_to_rank<2> (%lay_49, %lay) : !cute.layout<"((4096,1)):((1,0))">, !cute.layout<"1:0">
        %view_51 = cute.make_view(%iter_12, %append) : !memref_smem_f16_3
        %grouped_52 = cute.group_modes(%view_51) <1, 2> : (!memref_smem_f16_3) -> !memref_smem_f16_4
        %append_53 = cute.append_to_rank<2> (%lay_50, %lay) : !cute.layout<"(((64,64),1)):(((1@0,1@1),0))">, !cute.layout<"1:0">
        %int_tuple = cute.make_int_tuple(%e1_16) : (!cute.int_tuple<"?{div=64}">) -> !cute.int_tuple<"(0,?{div=64})">
        %int_tup_iter = cute.make_arith_tuple_iter(%int_tuple) : (!cute.int_tuple<"(0,?{div=64})">) -> !cute.arith_tuple_iter<"(0,?{div=64})">
        %view_54 = cute.make_view(%int_tup_iter, %append_53) : !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),1):(((1@0,1@1),0),0)">
        %grouped_55 = cute.group_modes(%view_54) <1, 2> : (!cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),1):(((1@0,1@1),0),0)">) -> !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">
        %167 = cute_nvgpu.atom.make_exec_tma(%arg2) : (!cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>) -> !cute_nvgpu.atom.tma_store<f16, copy_bits = 65536, mode = tiled, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
        cute.copy(%167, %grouped_52, %grouped_55) : (!cute_nvgpu.atom.tma_store<f16, copy_bits = 65536, mode = tiled, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>, !memref_smem_f16_4, !cute.coord_tensor<"(0,?{div=64})", "(((64,64),1),(1)):(((1@0,1@1),0),(0))">)
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0 {read}
      }
      return
    }
  }
  func.func @cutlass_tma_copy_host_FakeTensorFloat1612864641_FakeTensorFloat1612864641(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.static : !cute.swizzle<"S<3,4,3>">
    %shape = cute.make_shape() : () -> !cute.shape<"(64,64)">
    %stride = cute.make_stride() : () -> !cute.stride<"(64,1)">
    %lay = cute.make_layout(%shape, %stride) : !cute.layout<"(64,64):(64,1)">
    %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"0">
    %lay_0 = cute.make_composed_layout(%0, %int_tuple, %lay) : !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">
    %shape_1 = cute.make_shape() : () -> !cute.shape<"(128,64)">
    %1 = cute.make_identity_layout(%shape_1) : !cute.layout<"(128,64):(1@0,1@1)">
    %tile = cute.make_tile() : () -> !cute.tile<"[64:1;64:1]">
    %2 = cute.composition(%1, %tile) : (!cute.layout<"(128,64):(1@0,1@1)">, !cute.tile<"[64:1;64:1]">) -> !cute.layout<"(64,64):(1@0,1@1)">
    %non_exec_atom, %tma_tensor = cute_nvgpu.atom.make_non_exec_tiled_tma_load(%arg0, %lay_0, %2) <{kind = <sm_90> num_multicast = 1}> : (!memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">)
    %non_exec_atom_2, %tma_tensor_3 = cute_nvgpu.atom.make_non_exec_tiled_tma_store(%arg1, %lay_0, %2) : (!memref_gmem_f16, !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">, !cute.layout<"(64,64):(1@0,1@1)">) -> (!cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">)
    %3 = cute.kernel_smem_size @kernels::@kernel_cutlass_tma_copy_kernel_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_tensor00o128641110_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_t_0 : i64
    %4 = arith.cmpi sgt, %3, %c232448_i64 : i64
    scf.if %4 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_tma_copy_kernel_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_tensor00o128641110_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_t_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %3) : i64
    }
    %5 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %6 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %3, gridDim = (%c2_i32, %c1_i32, %c1_i32), stream = %5) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%6] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%6] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %7 = cuda.launch_ex @kernels::@kernel_cutlass_tma_copy_kernel_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_tensor00o128641110_CopyAtom_ThrID10_TVLayoutSrc1409601_TVLayoutDst1409601_Valuetypef16_t_0<%6> (%non_exec_atom, %tma_tensor, %non_exec_atom_2, %tma_tensor_3, %lay_0) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">, !cute_nvgpu.atom.non_exec_tiled_tma_store<f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>, !cute.coord_tensor<"(0,0)", "(128,64):(1@1,1@0)">, !cute.composed_layout<"S<3,4,3> o 0 o (64,64):(64,1)">) -> !cuda.result
    %8 = cuda.cast %7 : !cuda.result -> i32
    cuda.return_if_error %8 : i32
    return %c0_i32 : i32
  }
}

