!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(2,512):(512,1)">
!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(512):(1)">
!memref_rmem_f32 = !cute.memref<f32, rmem, align<32>, "4:1">
!memref_smem_f32 = !cute.memref<f32, smem, align<16>, "4:1">
!memref_smem_i8 = !cute.memref<i8, smem, align<16>, "16:1">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_layernorm_kernel_tensorptrf16gmemalign16o25125121_tensorptrf32gmemalign16o5121_tensorptrf16gmemalign16o25125121_0(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f32, %arg2: !memref_gmem_f16) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 2, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %cst = arith.constant 9.99999974E-6 : f32
      %cst_0 = arith.constant 0.000000e+00 : f32
      %cst_1 = arith.constant 5.120000e+02 : f32
      %c32_i32 = arith.constant 32 : i32
      %c1_i32 = arith.constant 1 : i32
      %c2_i32 = arith.constant 2 : i32
      %c4_i32 = arith.constant 4 : i32
      %c8_i32 = arith.constant 8 : i32
      %c31_i32 = arith.constant 31 : i32
      %c16_i32 = arith.constant 16 : i32
      %c-1_i32 = arith.constant -1 : i32
      %c384_i32 = arith.constant 384 : i32
      %c256_i32 = arith.constant 256 : i32
      %c128_i32 = arith.constant 128 : i32
      %c0_i32 = arith.constant 0 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %shape = cute.make_shape() : () -> !cute.shape<"4">
      %lay = cute.make_layout(%shape) : !cute.layout<"4:1">
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_2 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<16>> to !cute.ptr<f32, smem, align<16>>
      %view = cute.make_view(%iter_2, %lay) : !memref_smem_f32
      %rmem = cute.memref.alloca() : !memref_rmem_f32
      %coord = cute.make_coord(%1, %0) : (i32, i32) -> !cute.coord<"(?,?)">
      %2 = cute.memref.load(%arg0, %coord) : (!memref_gmem_f16, !cute.coord<"(?,?)">) -> f16
      %3 = arith.extf %2 : f16 to f32
      %coord_3 = cute.make_coord() : () -> !cute.coord<"0">
      cute.memref.store(%rmem, %coord_3, %3) : (!memref_rmem_f32, !cute.coord<"0">, f32) -> ()
      %4 = arith.addi %0, %c128_i32 : i32
      %coord_4 = cute.make_coord(%1, %4) : (i32, i32) -> !cute.coord<"(?,?)">
      %5 = cute.memref.load(%arg0, %coord_4) : (!memref_gmem_f16, !cute.coord<"(?,?)">) -> f16
      %6 = arith.extf %5 : f16 to f32
      %coord_5 = cute.make_coord() : () -> !cute.coord<"1">
      cute.memref.store(%rmem, %coord_5, %6) : (!memref_rmem_f32, !cute.coord<"1">, f32) -> ()
      %7 = arith.addi %0, %c256_i32 : i32
      %coord_6 = cute.make_coord(%1, %7) : (i32, i32) -> !cute.coord<"(?,?)">
      %8 = cute.memref.load(%arg0, %coord_6) : (!memref_gmem_f16, !cute.coord<"(?,?)">) -> f16
      %9 = arith.extf %8 : f16 to f32
      %coord_7 = cute.make_coord() : () -> !cute.coord<"2">
      cute.memref.store(%rmem, %coord_7, %9) : (!memref_rmem_f32, !cute.coord<"2">, f32) -> ()
      %10 = arith.addi %0, %c384_i32 : i32
      %coord_8 = cute.make_coord(%1, %10) : (i32, i32) -> !cute.coord<"(?,?)">
      %11 = cute.memref.load(%arg0, %coord_8) : (!memref_gmem_f16, !cute.coord<"(?,?)">) -> f16
      %12 = arith.extf %11 : f16 to f32
      %coord_9 = cute.make_coord() : () -> !cute.coord<"3">
      cute.memref.store(%rmem, %coord_9, %12) : (!memref_rmem_f32, !cute.coord<"3">, f32) -> ()
      %13 = cute.memref.load(%rmem, %coord_3) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %14 = cute.memref.load(%rmem, %coord_5) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %15 = arith.addf %13, %14 : f32
      %16 = cute.memref.load(%rmem, %coord_7) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %17 = arith.addf %15, %16 : f32
      %18 = cute.memref.load(%rmem, %coord_9) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %19 = arith.addf %17, %18 : f32
      %20 = nvvm.shfl.sync bfly %c-1_i32, %19, %c16_i32, %c31_i32 : f32 -> f32
      %21 = arith.addf %19, %20 : f32
      %22 = nvvm.shfl.sync bfly %c-1_i32, %21, %c8_i32, %c31_i32 : f32 -> f32
      %23 = arith.addf %21, %22 : f32
      %24 = nvvm.shfl.sync bfly %c-1_i32, %23, %c4_i32, %c31_i32 : f32 -> f32
      %25 = arith.addf %23, %24 : f32
      %26 = nvvm.shfl.sync bfly %c-1_i32, %25, %c2_i32, %c31_i32 : f32 -> f32
      %27 = arith.addf %25, %26 : f32
      %28 = nvvm.shfl.sync bfly %c-1_i32, %27, %c1_i32, %c31_i32 : f32 -> f32
      %29 = arith.addf %27, %28 : f32
      %30 = arith.remsi %0, %c32_i32 : i32
      %31 = arith.cmpi eq, %30, %c0_i32 : i32
      scf.if %31 {
        %100 = arith.floordivsi %0, %c32_i32 : i32
        %coord_14 = cute.make_coord(%100) : (i32) -> !cute.coord<"?">
        cute.memref.store(%view, %coord_14, %29) : (!memref_smem_f32, !cute.coord<"?">, f32) -> ()
      }
      nvvm.barrier
      %32 = cute.memref.load(%view, %coord_3) : (!memref_smem_f32, !cute.coord<"0">) -> f32
      %33 = cute.memref.load(%view, %coord_5) : (!memref_smem_f32, !cute.coord<"1">) -> f32
      %34 = arith.addf %32, %33 : f32
      %35 = cute.memref.load(%view, %coord_7) : (!memref_smem_f32, !cute.coord<"2">) -> f32
      %36 = arith.addf %34, %35 : f32
      %37 = cute.memref.load(%view, %coord_9) : (!memref_smem_f32, !cute.coord<"3">) -> f32
      %38 = arith.addf %36, %37 : f32
      %39 = arith.divf %38, %cst_1 : f32
      nvvm.barrier
      %40 = cute.memref.load(%rmem, %coord_3) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %41 = arith.subf %40, %39 : f32
      cute.memref.store(%rmem, %coord_3, %41) : (!memref_rmem_f32, !cute.coord<"0">, f32) -> ()
      %42 = cute.memref.load(%rmem, %coord_3) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %43 = arith.mulf %42, %42 : f32
      %44 = arith.addf %43, %cst_0 : f32
      %45 = cute.memref.load(%rmem, %coord_5) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %46 = arith.subf %45, %39 : f32
      cute.memref.store(%rmem, %coord_5, %46) : (!memref_rmem_f32, !cute.coord<"1">, f32) -> ()
      %47 = cute.memref.load(%rmem, %coord_5) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %48 = arith.mulf %47, %47 : f32
      %49 = arith.addf %44, %48 : f32
      %50 = cute.memref.load(%rmem, %coord_7) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %51 = arith.subf %50, %39 : f32
      cute.memref.store(%rmem, %coord_7, %51) : (!memref_rmem_f32, !cute.coord<"2">, f32) -> ()
      %52 = cute.memref.load(%rmem, %coord_7) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %53 = arith.mulf %52, %52 : f32
      %54 = arith.addf %49, %53 : f32
      %55 = cute.memref.load(%rmem, %coord_9) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %56 = arith.subf %55, %39 : f32
      cute.memref.store(%rmem, %coord_9, %56) : (!memref_rmem_f32, !cute.coord<"3">, f32) -> ()
      %57 = cute.memref.load(%rmem, %coord_9) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %58 = arith.mulf %57, %57 : f32
      %59 = arith.addf %54, %58 : f32
      %60 = nvvm.shfl.sync bfly %c-1_i32, %59, %c16_i32, %c31_i32 : f32 -> f32
      %61 = arith.addf %59, %60 : f32
      %62 = nvvm.shfl.sync bfly %c-1_i32, %61, %c8_i32, %c31_i32 : f32 -> f32
      %63 = arith.addf %61, %62 : f32
      %64 = nvvm.shfl.sync bfly %c-1_i32, %63, %c4_i32, %c31_i32 : f32 -> f32
      %65 = arith.addf %63, %64 : f32
      %66 = nvvm.shfl.sync bfly %c-1_i32, %65, %c2_i32, %c31_i32 : f32 -> f32
      %67 = arith.addf %65, %66 : f32
      %68 = nvvm.shfl.sync bfly %c-1_i32, %67, %c1_i32, %c31_i32 : f32 -> f32
      %69 = arith.addf %67, %68 : f32
      scf.if %31 {
        %100 = arith.floordivsi %0, %c32_i32 : i32
        %coord_14 = cute.make_coord(%100) : (i32) -> !cute.coord<"?">
        cute.memref.store(%view, %coord_14, %69) : (!memref_smem_f32, !cute.coord<"?">, f32) -> ()
      }
      nvvm.barrier
      %70 = cute.memref.load(%view, %coord_3) : (!memref_smem_f32, !cute.coord<"0">) -> f32
      %71 = cute.memref.load(%view, %coord_5) : (!memref_smem_f32, !cute.coord<"1">) -> f32
      %72 = arith.addf %70, %71 : f32
      %73 = cute.memref.load(%view, %coord_7) : (!memref_smem_f32, !cute.coord<"2">) -> f32
      %74 = arith.addf %72, %73 : f32
      %75 = cute.memref.load(%view, %coord_9) : (!memref_smem_f32, !cute.coord<"3">) -> f32
      %76 = arith.addf %74, %75 : f32
      %77 = arith.divf %76, %cst_1 : f32
      %78 = arith.addf %77, %cst : f32
      %79 = math.rsqrt %78 : f32
      %80 = cute.memref.load(%rmem, %coord_3) : (!memref_rmem_f32, !cute.coord<"0">) -> f32
      %81 = arith.mulf %80, %79 : f32
      %coord_10 = cute.make_coord(%0) : (i32) -> !cute.coord<"?">
      %82 = cute.memref.load(%arg1, %coord_10) : (!memref_gmem_f32, !cute.coord<"?">) -> f32
      %83 = arith.mulf %81, %82 : f32
      %84 = arith.truncf %83 : f32 to f16
      cute.memref.store(%arg2, %coord, %84) : (!memref_gmem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %85 = cute.memref.load(%rmem, %coord_5) : (!memref_rmem_f32, !cute.coord<"1">) -> f32
      %86 = arith.mulf %85, %79 : f32
      %coord_11 = cute.make_coord(%4) : (i32) -> !cute.coord<"?">
      %87 = cute.memref.load(%arg1, %coord_11) : (!memref_gmem_f32, !cute.coord<"?">) -> f32
      %88 = arith.mulf %86, %87 : f32
      %89 = arith.truncf %88 : f32 to f16
      cute.memref.store(%arg2, %coord_4, %89) : (!memref_gmem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %90 = cute.memref.load(%rmem, %coord_7) : (!memref_rmem_f32, !cute.coord<"2">) -> f32
      %91 = arith.mulf %90, %79 : f32
      %coord_12 = cute.make_coord(%7) : (i32) -> !cute.coord<"?">
      %92 = cute.memref.load(%arg1, %coord_12) : (!memref_gmem_f32, !cute.coord<"?">) -> f32
      %93 = arith.mulf %91, %92 : f32
      %94 = arith.truncf %93 : f32 to f16
      cute.memref.store(%arg2, %coord_6, %94) : (!memref_gmem_f16, !cute.coord<"(?,?)">, f16) -> ()
      %95 = cute.memref.load(%rmem, %coord_9) : (!memref_rmem_f32, !cute.coord<"3">) -> f32
      %96 = arith.mulf %95, %79 : f32
      %coord_13 = cute.make_coord(%10) : (i32) -> !cute.coord<"?">
      %97 = cute.memref.load(%arg1, %coord_13) : (!memref_gmem_f32, !cute.coord<"?">) -> f32
      %98 = arith.mulf %96, %97 : f32
      %99 = arith.truncf %98 : f32 to f16
      cute.memref.store(%arg2, %coord_8, %99) : (!memref_gmem_f16, !cute.coord<"(?,?)">, f16) -> ()
      return
    }
  }
  func.func @cutlass_layernorm_host_FakeTensorFloat1625125121_FakeTensorFloat325121_FakeTensorFloat1625125121(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f32, %arg2: !memref_gmem_f16) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.kernel_smem_size @kernels::@kernel_cutlass_layernorm_kernel_tensorptrf16gmemalign16o25125121_tensorptrf32gmemalign16o5121_tensorptrf16gmemalign16o25125121_0 : i64
    %1 = arith.cmpi sgt, %0, %c232448_i64 : i64
    scf.if %1 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_layernorm_kernel_tensorptrf16gmemalign16o25125121_tensorptrf32gmemalign16o5121_tensorptrf16gmemalign16o25125121_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %0) : i64
    }
    %2 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %3 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %0, gridDim = (%c2_i32, %c1_i32, %c1_i32), stream = %2) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %4 = cuda.launch_ex @kernels::@kernel_cutlass_layernorm_kernel_tensorptrf16gmemalign16o25125121_tensorptrf32gmemalign16o5121_tensorptrf16gmemalign16o25125121_0<%3> (%arg0, %arg1, %arg2) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_f16, !memref_gmem_f32, !memref_gmem_f16) -> !cuda.result
    %5 = cuda.cast %4 : !cuda.result -> i32
    cuda.return_if_error %5 : i32
    return %c0_i32 : i32
  }
}

