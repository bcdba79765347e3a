!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(3,512):(512,1)">
!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(3):(1)">
!memref_smem_f32 = !cute.memref<f32, smem, align<16>, "4:1">
!memref_smem_i8 = !cute.memref<i8, smem, align<16>, "16:1">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_row_sum_kernel_tensorptrf16gmemalign16o35125121_tensorptrf32gmemalign16o31_0(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f32) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 3, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c32_i32 = arith.constant 32 : i32
      %c2_i32 = arith.constant 2 : i32
      %c8_i32 = arith.constant 8 : i32
      %c31_i32 = arith.constant 31 : i32
      %c16_i32 = arith.constant 16 : i32
      %c-1_i32 = arith.constant -1 : i32
      %c128_i32 = arith.constant 128 : i32
      %c1_i32 = arith.constant 1 : i32
      %c4_i32 = arith.constant 4 : i32
      %c0_i32 = arith.constant 0 : i32
      %cst = arith.constant 0.000000e+00 : f32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %shape = cute.make_shape() : () -> !cute.shape<"4">
      %lay = cute.make_layout(%shape) : !cute.layout<"4:1">
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<16>> to !cute.ptr<f32, smem, align<16>>
      %view = cute.make_view(%iter_0, %lay) : !memref_smem_f32
      %2 = scf.for %arg2 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg3 = %cst) -> (f32)  : i32 {
        %16 = arith.muli %arg2, %c128_i32 : i32
        %17 = arith.addi %0, %16 : i32
        %coord = cute.make_coord(%1, %17) : (i32, i32) -> !cute.coord<"(?,?)">
        %18 = cute.memref.load(%arg0, %coord) : (!memref_gmem_f16, !cute.coord<"(?,?)">) -> f16
        %19 = arith.extf %18 : f16 to f32
        %20 = arith.addf %arg3, %19 : f32
        scf.yield %20 : f32
      }
      %3 = nvvm.shfl.sync bfly %c-1_i32, %2, %c16_i32, %c31_i32 : f32 -> f32
      %4 = arith.addf %2, %3 : f32
      %5 = nvvm.shfl.sync bfly %c-1_i32, %4, %c8_i32, %c31_i32 : f32 -> f32
      %6 = arith.addf %4, %5 : f32
      %7 = nvvm.shfl.sync bfly %c-1_i32, %6, %c4_i32, %c31_i32 : f32 -> f32
      %8 = arith.addf %6, %7 : f32
      %9 = nvvm.shfl.sync bfly %c-1_i32, %8, %c2_i32, %c31_i32 : f32 -> f32
      %10 = arith.addf %8, %9 : f32
      %11 = nvvm.shfl.sync bfly %c-1_i32, %10, %c1_i32, %c31_i32 : f32 -> f32
      %12 = arith.addf %10, %11 : f32
      %13 = arith.remsi %0, %c32_i32 : i32
      %14 = arith.cmpi eq, %13, %c0_i32 : i32
      scf.if %14 {
        %16 = arith.floordivsi %0, %c32_i32 : i32
        %coord = cute.make_coord(%16) : (i32) -> !cute.coord<"?">
        cute.memref.store(%view, %coord, %12) : (!memref_smem_f32, !cute.coord<"?">, f32) -> ()
      }
      nvvm.barrier
      %15 = arith.cmpi eq, %0, %c0_i32 : i32
      scf.if %15 {
        %coord = cute.make_coord() : () -> !cute.coord<"0">
        %16 = cute.memref.load(%view, %coord) : (!memref_smem_f32, !cute.coord<"0">) -> f32
        %coord_1 = cute.make_coord() : () -> !cute.coord<"1">
        %17 = cute.memref.load(%view, %coord_1) : (!memref_smem_f32, !cute.coord<"1">) -> f32
        %18 = arith.addf %16, %17 : f32
        %coord_2 = cute.make_coord() : () -> !cute.coord<"2">
        %19 = cute.memref.load(%view, %coord_2) : (!memref_smem_f32, !cute.coord<"2">) -> f32
        %20 = arith.addf %18, %19 : f32
        %coord_3 = cute.make_coord() : () -> !cute.coord<"3">
        %21 = cute.memref.load(%view, %coord_3) : (!memref_smem_f32, !cute.coord<"3">) -> f32
        %22 = arith.addf %20, %21 : f32
        %coord_4 = cute.make_coord(%1) : (i32) -> !cute.coord<"?">
        cute.memref.store(%arg1, %coord_4, %22) : (!memref_gmem_f32, !cute.coord<"?">, f32) -> ()
      }
      return
    }
  }
  func.func @cutlass_row_sum_host_FakeTensorFloat1635125121_FakeTensorFloat3231(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c3_i32 = arith.constant 3 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.kernel_smem_size @kernels::@kernel_cutlass_row_sum_kernel_tensorptrf16gmemalign16o35125121_tensorptrf32gmemalign16o31_0 : i64
    %1 = arith.cmpi sgt, %0, %c232448_i64 : i64
    scf.if %1 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_row_sum_kernel_tensorptrf16gmemalign16o35125121_tensorptrf32gmemalign16o31_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %0) : i64
    }
    %2 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %3 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %0, gridDim = (%c3_i32, %c1_i32, %c1_i32), stream = %2) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %4 = cuda.launch_ex @kernels::@kernel_cutlass_row_sum_kernel_tensorptrf16gmemalign16o35125121_tensorptrf32gmemalign16o31_0<%3> (%arg0, %arg1) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_f16, !memref_gmem_f32) -> !cuda.result
    %5 = cuda.cast %4 : !cuda.result -> i32
    cuda.return_if_error %5 : i32
    return %c0_i32 : i32
  }
}

