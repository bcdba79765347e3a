!memref_gmem_i32 = !cute.memref<i32, gmem, align<16>, "(4,32):(32,1)">
!memref_gmem_i32_1 = !cute.memref<i32, gmem, align<16>, "(2):(1)">
!memref_smem_i32 = !cute.memref<i32, smem, align<16>, "4:1">
!memref_smem_i8 = !cute.memref<i8, smem, align<16>, "16:1">
!memref_smem_i8_1 = !cute.memref<i8, smem, align<8>, "8:1">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_cluster_sum_kernel_tensorptri32gmemalign16o432321_tensorptri32gmemalign16o21_0(%arg0: !memref_gmem_i32, %arg1: !memref_gmem_i32_1) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = true, cooperative_launch = false, exact_block_dim = array<i64: 32, 1, 1>, exact_cluster_dim = array<i64: 2, 1, 1>, exact_grid_dim = array<i64: 4, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c10000000_i32 = arith.constant 10000000 : i32
      %c2_i32 = arith.constant 2 : i32
      %c4_i32 = arith.constant 4 : i32
      %c31_i32 = arith.constant 31 : i32
      %c16_i32 = arith.constant 16 : i32
      %c-1_i32 = arith.constant -1 : i32
      %c8_i32 = arith.constant 8 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %2 = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %shape = cute.make_shape() : () -> !cute.shape<"4">
      %lay = cute.make_layout(%shape) : !cute.layout<"4:1">
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<16>> to !cute.ptr<i32, smem, align<16>>
      %view = cute.make_view(%iter_0, %lay) : !memref_smem_i32
      %smem_1 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_2 = cute.get_iter(%smem_1) : !memref_smem_i8_1
      %iter_3 = cute.recast_iter(%iter_2) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
      %3 = arith.cmpi eq, %0, %c0_i32 : i32
      scf.if %3 {
        %16 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.init %16, %c1_i32 : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
        %17 = nvvm.mbarrier.arrive.expect_tx %16, %c8_i32 : !llvm.ptr<3>, i32 -> i64
      }
      %coord = cute.make_coord(%1, %0) : (i32, i32) -> !cute.coord<"(?,?)">
      %4 = cute.memref.load(%arg0, %coord) : (!memref_gmem_i32, !cute.coord<"(?,?)">) -> i32
      %5 = nvvm.shfl.sync bfly %c-1_i32, %4, %c16_i32, %c31_i32 : i32 -> i32
      %6 = arith.addi %4, %5 : i32
      %7 = nvvm.shfl.sync bfly %c-1_i32, %6, %c8_i32, %c31_i32 : i32 -> i32
      %8 = arith.addi %6, %7 : i32
      %9 = nvvm.shfl.sync bfly %c-1_i32, %8, %c4_i32, %c31_i32 : i32 -> i32
      %10 = arith.addi %8, %9 : i32
      %11 = nvvm.shfl.sync bfly %c-1_i32, %10, %c2_i32, %c31_i32 : i32 -> i32
      %12 = arith.addi %10, %11 : i32
      %13 = nvvm.shfl.sync bfly %c-1_i32, %12, %c1_i32, %c31_i32 : i32 -> i32
      %14 = arith.addi %12, %13 : i32
      nvvm.cluster.arrive
      nvvm.cluster.wait
      scf.if %3 {
        %int_tuple = cute.make_int_tuple(%2) : (i32) -> !cute.int_tuple<"?">
        %ptr = cute.add_offset(%iter_0, %int_tuple) : (!cute.ptr<i32, smem, align<16>>, !cute.int_tuple<"?">) -> !cute.ptr<i32, smem>
        %16 = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i32, smem> to !llvm.ptr<3>
        %17 = nvvm.mapa %16, %c0_i32 : !llvm.ptr<3> -> !llvm.ptr<7>
        %18 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        %19 = nvvm.mapa %18, %c0_i32 : !llvm.ptr<3> -> !llvm.ptr<7>
        nvvm.store.async %17, %14, mbarrier = %19 : <7>, i32, <7>
      }
      %15 = arith.cmpi eq, %2, %c0_i32 : i32
      scf.if %15 {
        %16 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %16, %c0_i32, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        scf.if %3 {
          %coord_4 = cute.make_coord() : () -> !cute.coord<"0">
          %17 = cute.memref.load(%view, %coord_4) : (!memref_smem_i32, !cute.coord<"0">) -> i32
          %coord_5 = cute.make_coord() : () -> !cute.coord<"1">
          %18 = cute.memref.load(%view, %coord_5) : (!memref_smem_i32, !cute.coord<"1">) -> i32
          %19 = arith.addi %17, %18 : i32
          %20 = arith.floordivsi %1, %c2_i32 : i32
          %coord_6 = cute.make_coord(%20) : (i32) -> !cute.coord<"?">
          cute.memref.store(%arg1, %coord_6, %19) : (!memref_gmem_i32_1, !cute.coord<"?">, i32) -> ()
        }
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      return
    }
  }
  func.func @cutlass_cluster_sum_host_FakeTensorInt32432321_FakeTensorInt3221(%arg0: !memref_gmem_i32, %arg1: !memref_gmem_i32_1) -> i32 attributes {llvm.emit_c_interface} {
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c32_i32 = arith.constant 32 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.kernel_smem_size @kernels::@kernel_cutlass_cluster_sum_kernel_tensorptri32gmemalign16o432321_tensorptri32gmemalign16o21_0 : i64
    %1 = arith.cmpi sgt, %0, %c232448_i64 : i64
    scf.if %1 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_cluster_sum_kernel_tensorptri32gmemalign16o432321_tensorptri32gmemalign16o21_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %0) : i64
    }
    %2 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %3 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c32_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %0, gridDim = (%c4_i32, %c1_i32, %c1_i32), stream = %2) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cluster_dim[%3] (%c2_i32, %c1_i32, %c1_i32) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
    cuda.launch_cfg.cooperative[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %4 = cuda.launch_ex @kernels::@kernel_cutlass_cluster_sum_kernel_tensorptri32gmemalign16o432321_tensorptri32gmemalign16o21_0<%3> (%arg0, %arg1) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_i32, !memref_gmem_i32_1) -> !cuda.result
    %5 = cuda.cast %4 : !cuda.result -> i32
    cuda.return_if_error %5 : i32
    return %c0_i32 : i32
  }
}

