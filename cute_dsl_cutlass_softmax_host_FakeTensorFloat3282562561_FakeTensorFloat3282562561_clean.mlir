!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(8,256):(256,1)">
!memref_rmem_f32 = !cute.memref<f32, rmem, align<32>, "8:1">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_softmax_kernel_tensorptrf32gmemalign16o82562561_tensorptrf32gmemalign16o82562561_0(%arg0: !memref_gmem_f32, %arg1: !memref_gmem_f32) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 2, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %cst = arith.constant 0.000000e+00 : f32
      %cst_0 = arith.constant 1.44269502 : f32
      %c1_i32 = arith.constant 1 : i32
      %c2_i32 = arith.constant 2 : i32
      %c8_i32 = arith.constant 8 : i32
      %c31_i32 = arith.constant 31 : i32
      %c16_i32 = arith.constant 16 : i32
      %c-1_i32 = arith.constant -1 : i32
      %cst_1 = arith.constant -1.000000e+30 : f32
      %c224_i32 = arith.constant 224 : i32
      %c192_i32 = arith.constant 192 : i32
      %c160_i32 = arith.constant 160 : i32
      %c128_i32 = arith.constant 128 : i32
      %c96_i32 = arith.constant 96 : i32
      %c64_i32 = arith.constant 64 : i32
      %c32_i32 = arith.constant 32 : i32
      %c4_i32 = arith.constant 4 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %2 = arith.muli %1, %c4_i32 : i32
      %3 = arith.floordivsi %0, %c32_i32 : i32
      %4 = arith.addi %2, %3 : i32
      %5 = arith.remsi %0, %c32_i32 : i32
      %rmem = cute.memref.alloca() : !memref_rmem_f32
      %coord = cute.make_coord(%4, %5) : (i32, i32) -> !cute.coord<"(?,?)">
      %6 = cute.memref.load(%arg0, %coord) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_2 = cute.make_coord() : () -> !cute.coord<"0">
      cute.memref.store(%rmem, %coord_2, %6) : (!memref_rmem_f32, !cute.coord<"0">, f32) -> ()
      %7 = arith.addi %5, %c32_i32 : i32
      %coord_3 = cute.make_coord(%4, %7) : (i32, i32) -> !cute.coord<"(?,?)">
      %8 = cute.memref.load(%arg0, %coord_3) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_4 = cute.make_coord() : () -> !cute.coord<"1">
      cute.memref.store(%rmem, %coord_4, %8) : (!memref_rmem_f32, !cute.coord<"1">, f32) -> ()
      %9 = arith.addi %5, %c64_i32 : i32
      %coord_5 = cute.make_coord(%4, %9) : (i32, i32) -> !cute.coord<"(?,?)">
      %10 = cute.memref.load(%arg0, %coord_5) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_6 = cute.make_coord() : () -> !cute.coord<"2">
      cute.memref.store(%rmem, %coord_6, %10) : (!memref_rmem_f32, !cute.coord<"2">, f32) -> ()
      %11 = arith.addi %5, %c96_i32 : i32
      %coord_7 = cute.make_coord(%4, %11) : (i32, i32) -> !cute.coord<"(?,?)">
      %12 = cute.memref.load(%arg0, %coord_7) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_8 = cute.make_coord() : () -> !cute.coord<"3">
      cute.memref.store(%rmem, %coord_8, %12) : (!memref_rmem_f32, !cute.coord<"3">, f32) -> ()
      %13 = arith.addi %5, %c128_i32 : i32
      %coord_9 = cute.make_coord(%4, %13) : (i32, i32) -> !cute.coord<"(?,?)">
      %14 = cute.memref.load(%arg0, %coord_9) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_10 = cute.make_coord() : () -> !cute.coord<"4">
      cute.memref.store(%rmem, %coord_10, %14) : (!memref_rmem_f32, !cute.coord<"4">, f32) -> ()
      %15 = arith.addi %5, %c160_i32 : i32
      %coord_11 = cute.make_coord(%4, %15) : (i32, i32) -> !cute.coord<"(?,?)">
      %16 = cute.memref.load(%arg0, %coord_11) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_12 = cute.make_coord() : () -> !cute.coord<"5">
      cute.memref.store(%rmem, %coord_12, %16) : (!memref_rmem_f32, !cute.coord<"5">, f32) -> ()
      %17 = arith.addi %5, %c192_i32 : i32
      %coord_13 = cute.make_coord(%4, %17) : (i32, i32) -> !cute.coord<"(?,?)">
      %18 = cute.memref.load(%arg0, %coord_13) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_14 = cute.make_coord() : () -> !cute.coord<"6">
      cute.memref.store(%rmem, %coord_14, %18) : (!memref_rmem_f32, !cute.coord<"6">, f32) -> ()
      %19 = arith.addi %5, %c224_i32 : i32
      %coord_15 = cute.make_coord(%4, %19) : (i32, i32) -> !cute.coord<"(?,?)">
      %20 = cute.memref.load(%arg0, %coord_15) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
      %coord_16 = cute.make_coord() : () -> !cute.coord<"7">
      cute.memref.store(%rmem, %coord_16, %20) : (!memref_rmem_f32, !cute.coord<"7">, f32) -> ()
      %21 = cute.memref.load_vec(%rmem) : (!memref_rmem_f32) -> vector<8xf32>
      %22 = vector.reduction <maximumf>, %21, %cst_1 : vector<8xf32> into f32
      %23 = nvvm.shfl.sync bfly %c-1_i32, %22, %c16_i32, %c31_i32 : f32 -> f32
      %24 = arith.maximumf %22, %23 : f32
      %25 = nvvm.shfl.sync bfly %c-1_i32, %24, %c8_i32, %c31_i32 : f32 -> f32
      %26 = nvvm.fmax %24, %25
      %27 = nvvm.shfl.sync bfly %c-1_i32, %26, %c4_i32, %c31_i32 : f32 -> f32
      %28 = nvvm.fmax %26, %27
      %29 = nvvm.shfl.sync bfly %c-1_i32, %28, %c2_i32, %c31_i32 : f32 -> f32
      %30 = nvvm.fmax %28, %29
      %31 = nvvm.shfl.sync bfly %c-1_i32, %30, %c1_i32, %c31_i32 : f32 -> f32
      %32 = nvvm.fmax %30, %31
      %33 = cute.memref.load(%rmem, %coord_2) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %34 = arith.subf %33, %32 : f32
      %35 = arith.mulf %34, %cst_0 : f32
      %36 = math.exp2 %35 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_2, %36) : (!memref_rmem_f32, !cute.coord<"0">, f32) -> ()
      %37 = cute.memref.load(%rmem, %coord_2) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %38 = arith.addf %37, %cst : f32
      %39 = cute.memref.load(%rmem, %coord_4) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %40 = arith.subf %39, %32 : f32
      %41 = arith.mulf %40, %cst_0 : f32
      %42 = math.exp2 %41 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_4, %42) : (!memref_rmem_f32, !cute.coord<"1">, f32) -> ()
      %43 = cute.memref.load(%rmem, %coord_4) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %44 = arith.addf %38, %43 : f32
      %45 = cute.memref.load(%rmem, %coord_6) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %46 = arith.subf %45, %32 : f32
      %47 = arith.mulf %46, %cst_0 : f32
      %48 = math.exp2 %47 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_6, %48) : (!memref_rmem_f32, !cute.coord<"2">, f32) -> ()
      %49 = cute.memref.load(%rmem, %coord_6) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %50 = arith.addf %44, %49 : f32
      %51 = cute.memref.load(%rmem, %coord_8) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %52 = arith.subf %51, %32 : f32
      %53 = arith.mulf %52, %cst_0 : f32
      %54 = math.exp2 %53 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_8, %54) : (!memref_rmem_f32, !cute.coord<"3">, f32) -> ()
      %55 = cute.memref.load(%rmem, %coord_8) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %56 = arith.addf %50, %55 : f32
      %57 = cute.memref.load(%rmem, %coord_10) : (!memref_rmem_f32, !cute.coord<"4">) -> f32
      %58 = arith.subf %57, %32 : f32
      %59 = arith.mulf %58, %cst_0 : f32
      %60 = math.exp2 %59 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_10, %60) : (!memref_rmem_f32, !cute.coord<"4">, f32) -> ()
      %61 = cute.memref.load(%rmem, %coord_10) : (!memref_rmem_f32, !cute.coord<"4">) -> f32
      %62 = arith.addf %56, %61 : f32
      %63 = cute.memref.load(%rmem, %coord_12) : (!memref_rmem_f32, !cute.coord<"5">) -> f32
      %64 = arith.subf %63, %32 : f32
      %65 = arith.mulf %64, %cst_0 : f32
      %66 = math.exp2 %65 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_12, %66) : (!memref_rmem_f32, !cute.coord<"5">, f32) -> ()
      %67 = cute.memref.load(%rmem, %coord_12) : (!memref_rmem_f32, !cute.coord<"5">) -> f32
      %68 = arith.addf %62, %67 : f32
      %69 = cute.memref.load(%rmem, %coord_14) : (!memref_rmem_f32, !cute.coord<"6">) -> f32
      %70 = arith.subf %69, %32 : f32
      %71 = arith.mulf %70, %cst_0 : f32
      %72 = math.exp2 %71 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_14, %72) : (!memref_rmem_f32, !cute.coord<"6">, f32) -> ()
      %73 = cute.memref.load(%rmem, %coord_14) : (!memref_rmem_f32, !cute.coord<"6">) -> f32
      %74 = arith.addf %68, %73 : f32
      %75 = cute.memref.load(%rmem, %coord_16) : (!memref_rmem_f32, !cute.coord<"7">) -> f32
      %76 = arith.subf %75, %32 : f32
      %77 = arith.mulf %76, %cst_0 : f32
      %78 = math.exp2 %77 fastmath<fast> : f32
      cute.memref.store(%rmem, %coord_16, %78) : (!memref_rmem_f32, !cute.coord<"7">, f32) -> ()
      %79 = cute.memref.load(%rmem, %coord_16) : (!memref_rmem_f32, !cute.coord<"7">) -> f32
      %80 = arith.addf %74, %79 : f32
      %81 = nvvm.shfl.sync bfly %c-1_i32, %80, %c16_i32, %c31_i32 : f32 -> f32
      %82 = arith.addf %80, %81 : f32
      %83 = nvvm.shfl.sync bfly %c-1_i32, %82, %c8_i32, %c31_i32 : f32 -> f32
      %84 = arith.addf %82, %83 : f32
      %85 = nvvm.shfl.sync bfly %c-1_i32, %84, %c4_i32, %c31_i32 : f32 -> f32
      %86 = arith.addf %84, %85 : f32
      %87 = nvvm.shfl.sync bfly %c-1_i32, %86, %c2_i32, %c31_i32 : f32 -> f32
      %88 = arith.addf %86, %87 : f32
      %89 = nvvm.shfl.sync bfly %c-1_i32, %88, %c1_i32, %c31_i32 : f32 -> f32
      %90 = arith.addf %88, %89 : f32
      %91 = cute.memref.load(%rmem, %coord_2) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %92 = arith.divf %91, %90 : f32
      cute.memref.store(%arg1, %coord, %92) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %93 = cute.memref.load(%rmem, %coord_4) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %94 = arith.divf %93, %90 : f32
      cute.memref.store(%arg1, %coord_3, %94) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %95 = cute.memref.load(%rmem, %coord_6) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %96 = arith.divf %95, %90 : f32
      cute.memref.store(%arg1, %coord_5, %96) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %97 = cute.memref.load(%rmem, %coord_8) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %98 = arith.divf %97, %90 : f32
      cute.memref.store(%arg1, %coord_7, %98) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %99 = cute.memref.load(%rmem, %coord_10) : (!memref_rmem_f32, !cute.coord<"4">) -> f32
      %100 = arith.divf %99, %90 : f32
      cute.memref.store(%arg1, %coord_9, %100) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %101 = cute.memref.load(%rmem, %coord_12) : (!memref_rmem_f32, !cute.coord<"5">) -> f32
      %102 = arith.divf %101, %90 : f32
      cute.memref.store(%arg1, %coord_11, %102) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %103 = cute.memref.load(%rmem, %coord_14) : (!memref_rmem_f32, !cute.coord<"6">) -> f32
      %104 = arith.divf %103, %90 : f32
      cute.memref.store(%arg1, %coord_13, %104) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      %105 = cute.memref.load(%rmem, %coord_16) : (!memref_rmem_f32, !cute.coord<"7">) -> f32
      %106 = arith.divf %105, %90 : f32
      cute.memref.store(%arg1, %coord_15, %106) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
      return
    }
  }
  func.func @cutlass_softmax_host_FakeTensorFloat3282562561_FakeTensorFloat3282562561(%arg0: !memref_gmem_f32, %arg1: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.kernel_smem_size @kernels::@kernel_cutlass_softmax_kernel_tensorptrf32gmemalign16o82562561_tensorptrf32gmemalign16o82562561_0 : i64
    %1 = arith.cmpi sgt, %0, %c232448_i64 : i64
    scf.if %1 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_softmax_kernel_tensorptrf32gmemalign16o82562561_tensorptrf32gmemalign16o82562561_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %0) : i64
    }
    %2 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %3 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %0, gridDim = (%c2_i32, %c1_i32, %c1_i32), stream = %2) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %4 = cuda.launch_ex @kernels::@kernel_cutlass_softmax_kernel_tensorptrf32gmemalign16o82562561_tensorptrf32gmemalign16o82562561_0<%3> (%arg0, %arg1) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_f32, !memref_gmem_f32) -> !cuda.result
    %5 = cuda.cast %4 : !cuda.result -> i32
    cuda.return_if_error %5 : i32
    return %c0_i32 : i32
  }
}

