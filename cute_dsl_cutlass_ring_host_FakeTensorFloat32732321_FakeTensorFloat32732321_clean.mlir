!memref_gmem_f32 = !cute.memref<f32, gmem, align<16>, "(7,32):(32,1)">
!memref_smem_f32 = !cute.memref<f32, smem, align<16>, "(32,3):(1,32)">
!memref_smem_i8 = !cute.memref<i8, smem, align<16>, "384:1">
!memref_smem_i8_1 = !cute.memref<i8, smem, align<8>, "48:1">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_ring_kernel_tensorptrf32gmemalign16o732321_tensorptrf32gmemalign16o732321_3_0(%arg0: !memref_gmem_f32, %arg1: !memref_gmem_f32) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 64, 1, 1>, exact_grid_dim = array<i64: 1, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %c63_i32 = arith.constant 63 : i32
      %c3_i32 = arith.constant 3 : i32
      %cst = arith.constant 3.000000e+00 : f32
      %c10000000_i32 = arith.constant 10000000 : i32
      %c7_i32 = arith.constant 7 : i32
      %c1_i32 = arith.constant 1 : i32
      %c0_i32 = arith.constant 0 : i32
      %c32_i32 = arith.constant 32 : i32
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %shape = cute.make_shape() : () -> !cute.shape<"(32,3)">
      %lay = cute.make_layout(%shape) : !cute.layout<"(32,3):(1,32)">
      %smem = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8
      %iter = cute.get_iter(%smem) : !memref_smem_i8
      %iter_0 = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<16>> to !cute.ptr<f32, smem, align<16>>
      %view = cute.make_view(%iter_0, %lay) : !memref_smem_f32
      %smem_1 = cute.memref.alloca() {smem.partition_id = 1 : i32} : !memref_smem_i8_1
      %iter_2 = cute.get_iter(%smem_1) : !memref_smem_i8_1
      %iter_3 = cute.recast_iter(%iter_2) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
      %1 = nvvm.read.ptx.sreg.tid.y : i32
      %2 = nvvm.read.ptx.sreg.tid.z : i32
      %3 = nvvm.read.ptx.sreg.ntid.x : i32
      %4 = nvvm.read.ptx.sreg.ntid.y : i32
      %5 = arith.muli %1, %3 : i32
      %6 = arith.addi %0, %5 : i32
      %7 = arith.muli %2, %3 : i32
      %8 = arith.muli %7, %4 : i32
      %9 = arith.addi %6, %8 : i32
      %10 = arith.floordivsi %9, %c32_i32 : i32
      %11 = cute_nvgpu.arch.make_warp_uniform(%10) : i32
      %12 = cute_nvgpu.arch.make_warp_uniform(%11) : i32
      %13 = arith.cmpi eq, %12, %c0_i32 : i32
      scf.if %13 {
        %15 = nvvm.elect.sync -> i1
        scf.if %15 {
          %16 = builtin.unrealized_conversion_cast %iter_3 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %16, %c32_i32 : !llvm.ptr<3>, i32
          %int_tuple_4 = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
          %ptr_5 = cute.add_offset(%iter_3, %int_tuple_4) : (!cute.ptr<i64, smem>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
          %17 = builtin.unrealized_conversion_cast %ptr_5 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %17, %c32_i32 : !llvm.ptr<3>, i32
          %int_tuple_6 = cute.make_int_tuple() : () -> !cute.int_tuple<"2">
          %ptr_7 = cute.add_offset(%iter_3, %int_tuple_6) : (!cute.ptr<i64, smem>, !cute.int_tuple<"2">) -> !cute.ptr<i64, smem>
          %18 = builtin.unrealized_conversion_cast %ptr_7 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %18, %c32_i32 : !llvm.ptr<3>, i32
        }
      }
      %int_tuple = cute.make_int_tuple() : () -> !cute.int_tuple<"3">
      %ptr = cute.add_offset(%iter_3, %int_tuple) : (!cute.ptr<i64, smem>, !cute.int_tuple<"3">) -> !cute.ptr<i64, smem>
      scf.if %13 {
        %15 = nvvm.elect.sync -> i1
        scf.if %15 {
          %16 = builtin.unrealized_conversion_cast %ptr : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %16, %c32_i32 : !llvm.ptr<3>, i32
          %int_tuple_4 = cute.make_int_tuple() : () -> !cute.int_tuple<"4">
          %ptr_5 = cute.add_offset(%iter_3, %int_tuple_4) : (!cute.ptr<i64, smem>, !cute.int_tuple<"4">) -> !cute.ptr<i64, smem>
          %17 = builtin.unrealized_conversion_cast %ptr_5 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %17, %c32_i32 : !llvm.ptr<3>, i32
          %int_tuple_6 = cute.make_int_tuple() : () -> !cute.int_tuple<"5">
          %ptr_7 = cute.add_offset(%iter_3, %int_tuple_6) : (!cute.ptr<i64, smem>, !cute.int_tuple<"5">) -> !cute.ptr<i64, smem>
          %18 = builtin.unrealized_conversion_cast %ptr_7 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.init %18, %c32_i32 : !llvm.ptr<3>, i32
        }
      }
      nvvm.fence.mbarrier.init
      nvvm.barrier
      nvvm.barrier
      %14 = arith.cmpi slt, %0, %c32_i32 : i32
      scf.if %14 {
        %15:3 = scf.for %arg2 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg3 = %c0_i32, %arg4 = %c0_i32, %arg5 = %c1_i32) -> (i32, i32, i32)  : i32 {
          %int_tuple_10 = cute.make_int_tuple(%arg4) : (i32) -> !cute.int_tuple<"?">
          %ptr_11 = cute.add_offset(%ptr, %int_tuple_10) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %27 = builtin.unrealized_conversion_cast %ptr_11 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %27, %arg5, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %coord = cute.make_coord(%arg2, %0) : (i32, i32) -> !cute.coord<"(?,?)">
          %28 = cute.memref.load(%arg0, %coord) : (!memref_gmem_f32, !cute.coord<"(?,?)">) -> f32
          %29 = arith.mulf %28, %cst : f32
          %coord_12 = cute.make_coord(%0, %arg4) : (i32, i32) -> !cute.coord<"(?,?)">
          cute.memref.store(%view, %coord_12, %29) : (!memref_smem_f32, !cute.coord<"(?,?)">, f32) -> ()
          %ptr_13 = cute.add_offset(%iter_3, %int_tuple_10) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %30 = builtin.unrealized_conversion_cast %ptr_13 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          %31 = nvvm.mbarrier.arrive %30, %c1_i32 : !llvm.ptr<3> -> i64
          %32 = arith.addi %arg4, %c1_i32 : i32
          %33 = arith.addi %arg3, %c1_i32 : i32
          %34 = arith.cmpi eq, %32, %c3_i32 : i32
          %35 = arith.select %34, %c0_i32, %32 : i32
          %36 = scf.if %34 -> (i32) {
            %37 = arith.xori %arg5, %c1_i32 : i32
            scf.yield %37 : i32
          } else {
            scf.yield %arg5 : i32
          }
          scf.yield %33, %35, %36 : i32, i32, i32
        }
        %int_tuple_4 = cute.make_int_tuple(%15#1) : (i32) -> !cute.int_tuple<"?">
        %ptr_5 = cute.add_offset(%ptr, %int_tuple_4) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %16 = builtin.unrealized_conversion_cast %ptr_5 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %16, %15#2, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %17 = arith.addi %15#1, %c1_i32 : i32
        %18 = arith.cmpi eq, %17, %c3_i32 : i32
        %19 = arith.select %18, %c0_i32, %17 : i32
        %20 = scf.if %18 -> (i32) {
          %27 = arith.xori %15#2, %c1_i32 : i32
          scf.yield %27 : i32
        } else {
          scf.yield %15#2 : i32
        }
        %int_tuple_6 = cute.make_int_tuple(%19) : (i32) -> !cute.int_tuple<"?">
        %ptr_7 = cute.add_offset(%ptr, %int_tuple_6) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %21 = builtin.unrealized_conversion_cast %ptr_7 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %21, %20, %c10000000_i32 : !llvm.ptr<3>, i32, i32
        %22 = arith.addi %19, %c1_i32 : i32
        %23 = arith.cmpi eq, %22, %c3_i32 : i32
        %24 = arith.select %23, %c0_i32, %22 : i32
        %25 = scf.if %23 -> (i32) {
          %27 = arith.xori %20, %c1_i32 : i32
          scf.yield %27 : i32
        } else {
          scf.yield %20 : i32
        }
        %int_tuple_8 = cute.make_int_tuple(%24) : (i32) -> !cute.int_tuple<"?">
        %ptr_9 = cute.add_offset(%ptr, %int_tuple_8) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
        %26 = builtin.unrealized_conversion_cast %ptr_9 : !cute.ptr<i64, smem> to !llvm.ptr<3>
        nvvm.mbarrier.try_wait.parity %26, %25, %c10000000_i32 : !llvm.ptr<3>, i32, i32
      } else {
        %15:3 = scf.for %arg2 = %c0_i32 to %c7_i32 step %c1_i32 iter_args(%arg3 = %c0_i32, %arg4 = %c0_i32, %arg5 = %c0_i32) -> (i32, i32, i32)  : i32 {
          %int_tuple_4 = cute.make_int_tuple(%arg4) : (i32) -> !cute.int_tuple<"?">
          %ptr_5 = cute.add_offset(%iter_3, %int_tuple_4) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %16 = builtin.unrealized_conversion_cast %ptr_5 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          nvvm.mbarrier.try_wait.parity %16, %arg5, %c10000000_i32 : !llvm.ptr<3>, i32, i32
          %17 = arith.subi %c63_i32, %0 : i32
          %coord = cute.make_coord(%17, %arg4) : (i32, i32) -> !cute.coord<"(?,?)">
          %18 = cute.memref.load(%view, %coord) : (!memref_smem_f32, !cute.coord<"(?,?)">) -> f32
          %19 = arith.subi %0, %c32_i32 : i32
          %coord_6 = cute.make_coord(%arg2, %19) : (i32, i32) -> !cute.coord<"(?,?)">
          cute.memref.store(%arg1, %coord_6, %18) : (!memref_gmem_f32, !cute.coord<"(?,?)">, f32) -> ()
          %ptr_7 = cute.add_offset(%ptr, %int_tuple_4) : (!cute.ptr<i64, smem>, !cute.int_tuple<"?">) -> !cute.ptr<i64, smem>
          %20 = builtin.unrealized_conversion_cast %ptr_7 : !cute.ptr<i64, smem> to !llvm.ptr<3>
          %21 = nvvm.mbarrier.arrive %20, %c1_i32 : !llvm.ptr<3> -> i64
          %22 = arith.addi %arg4, %c1_i32 : i32
          %23 = arith.addi %arg3, %c1_i32 : i32
          %24 = arith.cmpi eq, %22, %c3_i32 : i32
          %25 = arith.select %24, %c0_i32, %22 : i32
          %26 = scf.if %24 -> (i32) {
            %27 = arith.xori %arg5, %c1_i32 : i32
            scf.yield %27 : i32
          } else {
            scf.yield %arg5 : i32
          }
          scf.yield %23, %25, %26 : i32, i32, i32
        }
      }
      return
    }
  }
  func.func @cutlass_ring_host_FakeTensorFloat32732321_FakeTensorFloat32732321(%arg0: !memref_gmem_f32, %arg1: !memref_gmem_f32) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c64_i32 = arith.constant 64 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %0 = cute.kernel_smem_size @kernels::@kernel_cutlass_ring_kernel_tensorptrf32gmemalign16o732321_tensorptrf32gmemalign16o732321_3_0 : i64
    %1 = arith.cmpi sgt, %0, %c232448_i64 : i64
    scf.if %1 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_ring_kernel_tensorptrf32gmemalign16o732321_tensorptrf32gmemalign16o732321_3_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %0) : i64
    }
    %2 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %3 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c64_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %0, gridDim = (%c1_i32, %c1_i32, %c1_i32), stream = %2) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%3] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %4 = cuda.launch_ex @kernels::@kernel_cutlass_ring_kernel_tensorptrf32gmemalign16o732321_tensorptrf32gmemalign16o732321_3_0<%3> (%arg0, %arg1) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_f32, !memref_gmem_f32) -> !cuda.result
    %5 = cuda.cast %4 : !cuda.result -> i32
    cuda.return_if_error %5 : i32
    return %c0_i32 : i32
  }
}

