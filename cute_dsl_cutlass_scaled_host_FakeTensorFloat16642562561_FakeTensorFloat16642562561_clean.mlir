!memref_gmem_f16 = !cute.memref<f16, gmem, align<16>, "(64,256):(256,1)">
!memref_gmem_f16_1 = !cute.memref<f16, gmem, align<16>, "((16,256),(4,1)):((256,1),(4096,0))">
!memref_gmem_f16_2 = !cute.memref<f16, gmem, align<16>, "(16,256):(256,1)">
!memref_gmem_f16_3 = !cute.memref<f16, gmem, align<16>, "((32,4),(8,4)):((8,1024),(1,256))">
!memref_gmem_f16_4 = !cute.memref<f16, gmem, align<16>, "((8,4)):((1,256))">
!memref_gmem_f16_5 = !cute.memref<f16, gmem, align<16>, "(8,4):(1,256)">
!memref_rmem_f16 = !cute.memref<f16, rmem, align<32>, "((8,4)):((1,8))">
!memref_rmem_f16_1 = !cute.memref<f16, rmem, align<32>, "(8,4):(1,8)">
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel_cutlass_scaled_kernel_tensorptrf16gmemalign16o642562561_tensorptrf16gmemalign16o642562561_16_256_0(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16, %arg2: !cute.layout<"((32,4),(8,4)):((128,4),(16,1))">) attributes {cu_attrs = {max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin, non_portable_cluster_size_allowed = 1 : i32}, cute.kernel, cutlass_launch_facts = {cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 128, 1, 1>, exact_grid_dim = array<i64: 4, 1, 1>, schema_version = 1 : i64}, gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, smem.hint_smem_base_uniform, smem.partition_num = 2 : i32} {
      %cst = arith.constant dense<5.000000e-01> : vector<32xf32>
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %1 = nvvm.read.ptx.sreg.ctaid.x : i32
      %tile = cute.make_tile() : () -> !cute.tile<"[16:1;256:1]">
      %div = cute.zipped_divide(%arg0, %tile) : !memref_gmem_f16, !cute.tile<"[16:1;256:1]">
      %div_0 = cute.zipped_divide(%arg1, %tile) : !memref_gmem_f16, !cute.tile<"[16:1;256:1]">
      %coord = cute.make_coord(%1) : (i32) -> !cute.coord<"((_,_),?)">
      %slice = cute.slice(%div, %coord) : !memref_gmem_f16_1, !cute.coord<"((_,_),?)">
      %2 = cute.composition(%slice, %arg2) : (!memref_gmem_f16_2, !cute.layout<"((32,4),(8,4)):((128,4),(16,1))">) -> !memref_gmem_f16_3
      %coord_1 = cute.make_coord(%0) : (i32) -> !cute.coord<"(?,_)">
      %slice_2 = cute.slice(%2, %coord_1) : !memref_gmem_f16_3, !cute.coord<"(?,_)">
      %slice_3 = cute.slice(%div_0, %coord) : !memref_gmem_f16_1, !cute.coord<"((_,_),?)">
      %3 = cute.composition(%slice_3, %arg2) : (!memref_gmem_f16_2, !cute.layout<"((32,4),(8,4)):((128,4),(16,1))">) -> !memref_gmem_f16_3
      %slice_4 = cute.slice(%3, %coord_1) : !memref_gmem_f16_3, !cute.coord<"(?,_)">
      %lay = cute.get_layout(%slice_2) : !memref_gmem_f16_4
      %rmem = cute.memref.alloca() : !memref_rmem_f16
      %lay_5 = cute.get_layout(%rmem) : !memref_rmem_f16
      %rinv = cute.right_inverse(%lay_5) : (!cute.layout<"((8,4)):((1,8))">) -> !cute.layout<"32:1">
      %4 = cute.composition(%lay, %rinv) : (!cute.layout<"((8,4)):((1,256))">, !cute.layout<"32:1">) -> !cute.layout<"(8,4):(1,256)">
      %coalesce = cute.coalesce(%4) : (!cute.layout<"(8,4):(1,256)">) -> !cute.layout<"(8,4):(1,256)">
      %5 = cute.get(%coalesce) <{mode = [0]}> : !cute.layout<"(8,4):(1,256)"> -> !cute.layout<"8:1">
      %6 = cute.composition(%rinv, %5) : (!cute.layout<"32:1">, !cute.layout<"8:1">) -> !cute.layout<"8:1">
      %div_6 = cute.logical_divide(%slice_2, %6) : !memref_gmem_f16_4, !cute.layout<"8:1">
      %div_7 = cute.logical_divide(%rmem, %6) : !memref_rmem_f16, !cute.layout<"8:1">
      %shape = cute.make_shape() : () -> !cute.shape<"8">
      %lay_8 = cute.make_layout(%shape) : !cute.layout<"8:1">
      %div_9 = cute.logical_divide(%div_6, %lay_8) : !memref_gmem_f16_5, !cute.layout<"8:1">
      %div_10 = cute.logical_divide(%div_7, %lay_8) : !memref_rmem_f16_1, !cute.layout<"8:1">
      %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f16, 128 b>
      cute.copy(%atom, %div_9, %div_10) : (!cute_nvgpu.atom.universal_copy<f16, 128 b>, !memref_gmem_f16_5, !memref_rmem_f16_1)
      %7 = cute.memref.load_vec(%rmem) : (!memref_rmem_f16) -> vector<32xf16>
      %8 = arith.extf %7 : vector<32xf16> to vector<32xf32>
      %9 = math.exp %8 : vector<32xf32>
      %10 = arith.mulf %9, %cst : vector<32xf32>
      %11 = arith.truncf %10 : vector<32xf32> to vector<32xf16>
      %lay_11 = cute.get_layout(%slice_4) : !memref_gmem_f16_4
      %rmem_12 = cute.memref.alloca() : !memref_rmem_f16
      %12 = vector.extract %11[0] : f16 from vector<32xf16>
      %coord_13 = cute.make_coord() : () -> !cute.coord<"0">
      cute.memref.store(%rmem_12, %coord_13, %12) : (!memref_rmem_f16, !cute.coord<"0">, f16) -> ()
      %13 = vector.extract %11[1] : f16 from vector<32xf16>
      %coord_14 = cute.make_coord() : () -> !cute.coord<"1">
      cute.memref.store(%rmem_12, %coord_14, %13) : (!memref_rmem_f16, !cute.coord<"1">, f16) -> ()
      %14 = vector.extract %11[2] : f16 from vector<32xf16>
      %coord_15 = cute.make_coord() : () -> !cute.coord<"2">
      cute.memref.store(%rmem_12, %coord_15, %14) : (!memref_rmem_f16, !cute.coord<"2">, f16) -> ()
      %15 = vector.extract %11[3] : f16 from vector<32xf16>
      %coord_16 = cute.make_coord() : () -> !cute.coord<"3">
      cute.memref.store(%rmem_12, %coord_16, %15) : (!memref_rmem_f16, !cute.coord<"3">, f16) -> ()
      %16 = vector.extract %11[4] : f16 from vector<32xf16>
      %coord_17 = cute.make_coord() : () -> !cute.coord<"4">
      cute.memref.store(%rmem_12, %coord_17, %16) : (!memref_rmem_f16, !cute.coord<"4">, f16) -> ()
      %17 = vector.extract %11[5] : f16 from vector<32xf16>
      %coord_18 = cute.make_coord() : () -> !cute.coord<"5">
      cute.memref.store(%rmem_12, %coord_18, %17) : (!memref_rmem_f16, !cute.coord<"5">, f16) -> ()
      %18 = vector.extract %11[6] : f16 from vector<32xf16>
      %coord_19 = cute.make_coord() : () -> !cute.coord<"6">
      cute.memref.store(%rmem_12, %coord_19, %18) : (!memref_rmem_f16, !cute.coord<"6">, f16) -> ()
      %19 = vector.extract %11[7] : f16 from vector<32xf16>
      %coord_20 = cute.make_coord() : () -> !cute.coord<"7">
      cute.memref.store(%rmem_12, %coord_20, %19) : (!memref_rmem_f16, !cute.coord<"7">, f16) -> ()
      %20 = vector.extract %11[8] : f16 from vector<32xf16>
      %coord_21 = cute.make_coord() : () -> !cute.coord<"8">
      cute.memref.store(%rmem_12, %coord_21, %20) : (!memref_rmem_f16, !cute.coord<"8">, f16) -> ()
      %21 = vector.extract %11[9] : f16 from vector<32xf16>
      %coord_22 = cute.make_coord() : () -> !cute.coord<"9">
      cute.memref.store(%rmem_12, %coord_22, %21) : (!memref_rmem_f16, !cute.coord<"9">, f16) -> ()
      %22 = vector.extract %11[10] : f16 from vector<32xf16>
      %coord_23 = cute.make_coord() : () -> !cute.coord<"10">
      cute.memref.store(%rmem_12, %coord_23, %22) : (!memref_rmem_f16, !cute.coord<"10">, f16) -> ()
      %23 = vector.extract %11[11] : f16 from vector<32xf16>
      %coord_24 = cute.make_coord() : () -> !cute.coord<"11">
      cute.memref.store(%rmem_12, %coord_24, %23) : (!memref_rmem_f16, !cute.coord<"11">, f16) -> ()
      %24 = vector.extract %11[12] : f16 from vector<32xf16>
      %coord_25 = cute.make_coord() : () -> !cute.coord<"12">
      cute.memref.store(%rmem_12, %coord_25, %24) : (!memref_rmem_f16, !cute.coord<"12">, f16) -> ()
      %25 = vector.extract %11[13] : f16 from vector<32xf16>
      %coord_26 = cute.make_coord() : () -> !cute.coord<"13">
      cute.memref.store(%rmem_12, %coord_26, %25) : (!memref_rmem_f16, !cute.coord<"13">, f16) -> ()
      %26 = vector.extract %11[14] : f16 from vector<32xf16>
      %coord_27 = cute.make_coord() : () -> !cute.coord<"14">
      cute.memref.store(%rmem_12, %coord_27, %26) : (!memref_rmem_f16, !cute.coord<"14">, f16) -> ()
      %27 = vector.extract %11[15] : f16 from vector<32xf16>
      %coord_28 = cute.make_coord() : () -> !cute.coord<"15">
      cute.memref.store(%rmem_12, %coord_28, %27) : (!memref_rmem_f16, !cute.coord<"15">, f16) -> ()
      %28 = vector.extract %11[16] : f16 from vector<32xf16>
      %coord_29 = cute.make_coord() : () -> !cute.coord<"16">
      cute.memref.store(%rmem_12, %coord_29, %28) : (!memref_rmem_f16, !cute.coord<"16">, f16) -> ()
      %29 = vector.extract %11[17] : f16 from vector<32xf16>
      %coord_30 = cute.make_coord() : () -> !cute.coord<"17">
      cute.memref.store(%rmem_12, %coord_30, %29) : (!memref_rmem_f16, !cute.coord<"17">, f16) -> ()
      %30 = vector.extract %11[18] : f16 from vector<32xf16>
      %coord_31 = cute.make_coord() : () -> !cute.coord<"18">
      cute.memref.store(%rmem_12, %coord_31, %30) : (!memref_rmem_f16, !cute.coord<"18">, f16) -> ()
      %31 = vector.extract %11[19] : f16 from vector<32xf16>
      %coord_32 = cute.make_coord() : () -> !cute.coord<"19">
      cute.memref.store(%rmem_12, %coord_32, %31) : (!memref_rmem_f16, !cute.coord<"19">, f16) -> ()
      %32 = vector.extract %11[20] : f16 from vector<32xf16>
      %coord_33 = cute.make_coord() : () -> !cute.coord<"20">
      cute.memref.store(%rmem_12, %coord_33, %32) : (!memref_rmem_f16, !cute.coord<"20">, f16) -> ()
      %33 = vector.extract %11[21] : f16 from vector<32xf16>
      %coord_34 = cute.make_coord() : () -> !cute.coord<"21">
      cute.memref.store(%rmem_12, %coord_34, %33) : (!memref_rmem_f16, !cute.coord<"21">, f16) -> ()
      %34 = vector.extract %11[22] : f16 from vector<32xf16>
      %coord_35 = cute.make_coord() : () -> !cute.coord<"22">
      cute.memref.store(%rmem_12, %coord_35, %34) : (!memref_rmem_f16, !cute.coord<"22">, f16) -> ()
      %35 = vector.extract %11[23] : f16 from vector<32xf16>
      %coord_36 = cute.make_coord() : () -> !cute.coord<"23">
      cute.memref.store(%rmem_12, %coord_36, %35) : (!memref_rmem_f16, !cute.coord<"23">, f16) -> ()
      %36 = vector.extract %11[24] : f16 from vector<32xf16>
      %coord_37 = cute.make_coord() : () -> !cute.coord<"24">
      cute.memref.store(%rmem_12, %coord_37, %36) : (!memref_rmem_f16, !cute.coord<"24">, f16) -> ()
      %37 = vector.extract %11[25] : f16 from vector<32xf16>
      %coord_38 = cute.make_coord() : () -> !cute.coord<"25">
      cute.memref.store(%rmem_12, %coord_38, %37) : (!memref_rmem_f16, !cute.coord<"25">, f16) -> ()
      %38 = vector.extract %11[26] : f16 from vector<32xf16>
      %coord_39 = cute.make_coord() : () -> !cute.coord<"26">
      cute.memref.store(%rmem_12, %coord_39, %38) : (!memref_rmem_f16, !cute.coord<"26">, f16) -> ()
      %39 = vector.extract %11[27] : f16 from vector<32xf16>
      %coord_40 = cute.make_coord() : () -> !cute.coord<"27">
      cute.memref.store(%rmem_12, %coord_40, %39) : (!memref_rmem_f16, !cute.coord<"27">, f16) -> ()
      %40 = vector.extract %11[28] : f16 from vector<32xf16>
      %coord_41 = cute.make_coord() : () -> !cute.coord<"28">
      cute.memref.store(%rmem_12, %coord_41, %40) : (!memref_rmem_f16, !cute.coord<"28">, f16) -> ()
      %41 = vector.extract %11[29] : f16 from vector<32xf16>
      %coord_42 = cute.make_coord() : () -> !cute.coord<"29">
      cute.memref.store(%rmem_12, %coord_42, %41) : (!memref_rmem_f16, !cute.coord<"29">, f16) -> ()
      %42 = vector.extract %11[30] : f16 from vector<32xf16>
      %coord_43 = cute.make_coord() : () -> !cute.coord<"30">
      cute.memref.store(%rmem_12, %coord_43, %42) : (!memref_rmem_f16, !cute.coord<"30">, f16) -> ()
      %43 = vector.extract %11[31] : f16 from vector<32xf16>
      %coord_44 = cute.make_coord() : () -> !cute.coord<"31">
      cute.memref.store(%rmem_12, %coord_44, %43) : (!memref_rmem_f16, !cute.coord<"31">, f16) -> ()
      %lay_45 = cute.get_layout(%rmem_12) : !memref_rmem_f16
      %rinv_46 = cute.right_inverse(%lay_11) : (!cute.layout<"((8,4)):((1,256))">) -> !cute.layout<"8:1">
      %44 = cute.composition(%lay_45, %rinv_46) : (!cute.layout<"((8,4)):((1,8))">, !cute.layout<"8:1">) -> !cute.layout<"8:1">
      %coalesce_47 = cute.coalesce(%44) : (!cute.layout<"8:1">) -> !cute.layout<"8:1">
      %45 = cute.composition(%rinv_46, %coalesce_47) : (!cute.layout<"8:1">, !cute.layout<"8:1">) -> !cute.layout<"8:1">
      %div_48 = cute.logical_divide(%rmem_12, %45) : !memref_rmem_f16, !cute.layout<"8:1">
      %div_49 = cute.logical_divide(%slice_4, %45) : !memref_gmem_f16_4, !cute.layout<"8:1">
      %div_50 = cute.logical_divide(%div_48, %lay_8) : !memref_rmem_f16_1, !cute.layout<"8:1">
      %div_51 = cute.logical_divide(%div_49, %lay_8) : !memref_gmem_f16_5, !cute.layout<"8:1">
      cute.copy(%atom, %div_50, %div_51) : (!cute_nvgpu.atom.universal_copy<f16, 128 b>, !memref_rmem_f16_1, !memref_gmem_f16_5)
      return
    }
  }
  func.func @cutlass_scaled_host_FakeTensorFloat16642562561_FakeTensorFloat16642562561(%arg0: !memref_gmem_f16, %arg1: !memref_gmem_f16) -> i32 attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %c0_i64 = arith.constant 0 : i64
    %c232448_i64 = arith.constant 232448 : i64
    %shape = cute.make_shape() : () -> !cute.shape<"(4,32)">
    %stride = cute.make_stride() : () -> !cute.stride<"(32,1)">
    %lay = cute.make_layout(%shape, %stride) : !cute.layout<"(4,32):(32,1)">
    %shape_0 = cute.make_shape() : () -> !cute.shape<"(4,8)">
    %stride_1 = cute.make_stride() : () -> !cute.stride<"(8,1)">
    %lay_2 = cute.make_layout(%shape_0, %stride_1) : !cute.layout<"(4,8):(8,1)">
    %prod = cute.raked_product(%lay, %lay_2) : (!cute.layout<"(4,32):(32,1)">, !cute.layout<"(4,8):(8,1)">) -> !cute.layout<"((4,4),(8,32)):((1024,32),(128,1))">
    %shape_3 = cute.make_shape() : () -> !cute.shape<"(128,32)">
    %lay_4 = cute.make_layout(%shape_3) : !cute.layout<"(128,32):(1,128)">
    %rinv = cute.right_inverse(%prod) : (!cute.layout<"((4,4),(8,32)):((1024,32),(128,1))">) -> !cute.layout<"(32,32,4):(128,4,1)">
    %0 = cute.composition(%rinv, %lay_4) : (!cute.layout<"(32,32,4):(128,4,1)">, !cute.layout<"(128,32):(1,128)">) -> !cute.layout<"((32,4),(8,4)):((128,4),(16,1))">
    %1 = cute.kernel_smem_size @kernels::@kernel_cutlass_scaled_kernel_tensorptrf16gmemalign16o642562561_tensorptrf16gmemalign16o642562561_16_256_0 : i64
    %2 = arith.cmpi sgt, %1, %c232448_i64 : i64
    scf.if %2 {
      cute.print("\0AError: kernel '@kernels::@kernel_cutlass_scaled_kernel_tensorptrf16gmemalign16o642562561_tensorptrf16gmemalign16o642562561_16_256_0' launch shared memory exceeds current GPU arch sm_90a allowed. Allocated: {} bytes. Max: 232448 bytes.\0A\0A", %1) : i64
    }
    %3 = cuda.cast %c0_i64 : i64 -> !cuda.stream
    %4 = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c128_i32, %c1_i32, %c1_i32), dynamicSmemBytes = %1, gridDim = (%c4_i32, %c1_i32, %c1_i32), stream = %3) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.programmatic_stream_serialization_allowed[%4] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    cuda.launch_cfg.cooperative[%4] %c0_i32 : !cuda.launch_cfg<max_attrs = 17>, i32
    %5 = cuda.launch_ex @kernels::@kernel_cutlass_scaled_kernel_tensorptrf16gmemalign16o642562561_tensorptrf16gmemalign16o642562561_16_256_0<%4> (%arg0, %arg1, %0) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (!memref_gmem_f16, !memref_gmem_f16, !cute.layout<"((32,4),(8,4)):((128,4),(16,1))">) -> !cuda.result
    %6 = cuda.cast %5 : !cuda.result -> i32
    cuda.return_if_error %6 : i32
    return %c0_i32 : i32
  }
}

