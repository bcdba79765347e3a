// gemm_128x256_w2: C[M, N] bf16 = A[M, K] bf16 * B[N, K]^T,
// tile 128x256x64, 2 consumer warpgroup(s), cluster 1x1, 4 stages.
// Written by warploom from a derived and verified schedule.
// Initiation interval 1024 cycles a stage (proven least: unit 'tensor' is held 1024 cycles an iteration).

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define DEVICE __device__ __forceinline__

// An opaque tensor map of the driver (cuTensorMapEncodeTiled), passed by value.
struct alignas(64) TensorMap { uint64_t opaque[16]; };

// Position in a ring of D slots: the slot, and the phase bit its barriers are in.
template <int D> struct Cursor {
  int slot = 0;
  uint32_t phase = 0;
  DEVICE void advance() {
    if (++slot == D) { slot = 0; phase ^= 1; }
  }
  // The position J uses away (-D <= J <= D).
  template <int J> DEVICE Cursor at() const {
    Cursor c = *this;
    c.slot += J;
    if (J < 0 && c.slot < 0) { c.slot += D; c.phase ^= 1; }
    if (J > 0 && c.slot >= D) { c.slot -= D; c.phase ^= 1; }
    return c;
  }
};

DEVICE uint32_t shared_address(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

// One lane of a converged warp.
DEVICE bool elect_one() {
  uint32_t p;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(p));
  return p;
}

DEVICE void mbar_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

DEVICE void mbar_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void mbar_expect(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

DEVICE void mbar_arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

DEVICE void mbar_wait(uint32_t bar, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  } while (!done);
}

DEVICE void tma_load_hint(uint32_t dst, const TensorMap* map, uint32_t bar, int x, int y, uint64_t policy) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(dst), "l"(map), "r"(bar), "r"(x), "r"(y), "l"(policy) : "memory");
}

DEVICE uint64_t policy_evict_last() {
  uint64_t p;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(p));
  return p;
}

DEVICE uint64_t policy_evict_first() {
  uint64_t p;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
  return p;
}

DEVICE void tma_store(const TensorMap* map, uint32_t src, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(src), "r"(x), "r"(y) : "memory");
}

DEVICE void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int N> DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

template <int N> DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

DEVICE void proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

DEVICE void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

template <int R> DEVICE void registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(R));
}

template <int R> DEVICE void registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(R));
}

// wgmma descriptor of a K-major operand tile, 128-byte rows, 128-byte swizzle.
DEVICE uint64_t operand_k_major(uint32_t address) {
  return (uint64_t)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

DEVICE void stmatrix4(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

DEVICE uint32_t pack_bf16(float lo, float hi) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}

DEVICE void wgmma_m64n256_bf16(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, p, 1, 1, 0, 0;\n}"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
    : "l"(a), "l"(b), "r"(accumulate));
}

// Shared memory, in bytes from its aligned start.
constexpr int AB_DEPTH = 4;
constexpr uint32_t AB_SLOT = 49152;
constexpr uint32_t AB_A = 0;
constexpr uint32_t AB_B = 16384;
constexpr uint32_t AB_FULL = 229376;
constexpr uint32_t AB_EMPTY = 229408;
constexpr uint32_t C_STAGING = 196608;
constexpr uint32_t C_COPY = 8192;
constexpr uint32_t C_INSTANCE = 16384;

// Accumulators d[4j + 2i + c] are row 8i + lane / 4, column 8j + 2 (lane % 4) + c.
DEVICE void stage_c(const float (&d)[128], int column, uint32_t buffer) {
  const int lane = threadIdx.x % 32;
  auto value = [&](int q) {
    float x = d[column / 2 + q];
    return x;
  };
  const int row = lane % 16, half = lane / 16;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int q = 8 * j;
    const uint32_t address = buffer + row * 128 + (((2 * j + half) ^ (row % 8)) << 4);
    stmatrix4(address, pack_bf16(value(q + 0), value(q + 1)), pack_bf16(value(q + 2), value(q + 3)), pack_bf16(value(q + 4), value(q + 5)), pack_bf16(value(q + 6), value(q + 7)));
  }
}

// Tiles in groups of `group` rows, columns outside: neighbours share A and B in the L2.
DEVICE void tile_at(int tile, int tiles_m, int tiles_n, int group, int& m, int& n) {
  const int whole = group * tiles_n, first = tile / whole * group;
  const int rows = min(tiles_m - first, group), rest = tile % whole;
  m = first + rest % rows;
  n = rest / rows;
}

extern "C" __global__ void __launch_bounds__(384, 1)
warploom_gemm(const __grid_constant__ TensorMap map_a,
              const __grid_constant__ TensorMap map_b,
              const __grid_constant__ TensorMap map_c,
              int M, int N, int K, int group) {
  extern __shared__ uint8_t dynamic_smem[];
  const uint32_t smem = (shared_address(dynamic_smem) + 1023) & ~1023u;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group_of_warps = warp / 4;
  const int tiles_m = (M + 127) / 128;
  const int tiles_n = (N + 255) / 256;
  const int tiles = tiles_m * tiles_n, k_tiles = (K + 63) / 64;
  const int first_tile = blockIdx.x / 1, tile_step = gridDim.x / 1;
  if (threadIdx.x == 0) {
    for (int i = 0; i < AB_DEPTH; ++i) {
      mbar_init(smem + AB_FULL + 8 * i, 1);
      mbar_init(smem + AB_EMPTY + 8 * i, 8);
    }
    mbar_init_fence();
  }
  __syncthreads();

  if (group_of_warps == 0) {
    registers_down<24>();
    if (warp == 0 && elect_one()) {
      prefetch_map(&map_a);
      prefetch_map(&map_b);
      prefetch_map(&map_c);
      const uint64_t policy_a = policy_evict_last(), policy_b = policy_evict_first();
      Cursor<AB_DEPTH> ab;
      for (int tile = first_tile; tile < tiles; tile += tile_step) {
        int m, n;
        tile_at(tile, tiles_m, tiles_n, group, m, n);
        const int row = m * 128, col = n * 256;
        for (int k = 0; k < k_tiles; ++k) {
          // its readers released the slot
          mbar_wait(smem + AB_EMPTY + 8 * ab.slot, ab.phase ^ 1);
          // all parts of the slot
          mbar_expect(smem + AB_FULL + 8 * ab.slot, 49152);
          tma_load_hint(smem + AB_A + ab.slot * AB_SLOT, &map_a, smem + AB_FULL + 8 * ab.slot, k * 64, row, policy_a);
          tma_load_hint(smem + AB_B + ab.slot * AB_SLOT, &map_b, smem + AB_FULL + 8 * ab.slot, k * 64, col, policy_b);
          ab.advance();
        }
      }
    }
  } else {
    registers_up<240>();
    const int instance = group_of_warps - 1, warp_in_group = warp % 4;
    const uint32_t staging = smem + C_STAGING + instance * C_INSTANCE + warp_in_group * 2048;
    float acc[1][128];
    Cursor<AB_DEPTH> ab;
    for (int tile = first_tile; tile < tiles; tile += tile_step) {
      int m, n;
      tile_at(tile, tiles_m, tiles_n, group, m, n);
      const int row = m * 128 + instance * 64, col = n * 256;
      // Prologue.
      // mma reads ab: its bytes landed
      mbar_wait(smem + AB_FULL + 8 * ab.slot, ab.phase);
      // registers written before are ordered before the products
      wgmma_fence();
      // first product of the tile
      {
        const uint64_t a = operand_k_major(smem + AB_A + ab.slot * AB_SLOT + instance * 8192);
        const uint64_t b = operand_k_major(smem + AB_B + ab.slot * AB_SLOT);
#pragma unroll
        for (int step = 0; step < 4; ++step)
#pragma unroll
          for (int i = 0; i < 1; ++i)
            wgmma_m64n256_bf16(acc[i], a + 512 * i + 2 * step, b + 2 * step, step != 0);
      }
      // mma is one group
      wgmma_commit();
      ab.advance();
      for (int k = 1; k < k_tiles; ++k) {
        // mma reads ab: its bytes landed
        mbar_wait(smem + AB_FULL + 8 * ab.slot, ab.phase);
        // registers written before are ordered before the products
        wgmma_fence();
        {
          const uint64_t a = operand_k_major(smem + AB_A + ab.slot * AB_SLOT + instance * 8192);
          const uint64_t b = operand_k_major(smem + AB_B + ab.slot * AB_SLOT);
#pragma unroll
          for (int step = 0; step < 4; ++step)
#pragma unroll
            for (int i = 0; i < 1; ++i)
              wgmma_m64n256_bf16(acc[i], a + 512 * i + 2 * step, b + 2 * step, 1);
        }
        // mma is one group
        wgmma_commit();
        // mma must have read A/B before the slot is released; 1 younger group(s) stay in flight
        wgmma_wait<1>();
        // the slot of ab may be filled again
        if (lane == 0) mbar_arrive(smem + AB_EMPTY + 8 * ab.at<-1>().slot);
        ab.advance();
      }
      // Epilogue.
      // mma must have read A/B before the slot is released
      wgmma_wait<0>();
      // the slot of ab may be filled again
      if (lane == 0) mbar_arrive(smem + AB_EMPTY + 8 * ab.at<-1>().slot);
      // the store that read copy 0 is over
      if (lane == 0) bulk_wait_read<1>();
      // known to all threads that refill it
      __syncwarp();
      stage_c(acc[0], 0, staging);
      // ordinary writes become visible to the copy engine
      proxy_fence();
      // all writers have fenced
      __syncwarp();
      if (lane == 0) tma_store(&map_c, staging, col + 0, row + 0 + 16 * warp_in_group);
      if (lane == 0) bulk_commit();
      // the store that read copy 1 is over
      if (lane == 0) bulk_wait_read<1>();
      // known to all threads that refill it
      __syncwarp();
      stage_c(acc[0], 64, staging + 1 * C_COPY);
      // ordinary writes become visible to the copy engine
      proxy_fence();
      // all writers have fenced
      __syncwarp();
      if (lane == 0) tma_store(&map_c, staging + 1 * C_COPY, col + 64, row + 0 + 16 * warp_in_group);
      if (lane == 0) bulk_commit();
      // the store that read copy 0 is over
      if (lane == 0) bulk_wait_read<1>();
      // known to all threads that refill it
      __syncwarp();
      stage_c(acc[0], 128, staging);
      // ordinary writes become visible to the copy engine
      proxy_fence();
      // all writers have fenced
      __syncwarp();
      if (lane == 0) tma_store(&map_c, staging, col + 128, row + 0 + 16 * warp_in_group);
      if (lane == 0) bulk_commit();
      // the store that read copy 1 is over
      if (lane == 0) bulk_wait_read<1>();
      // known to all threads that refill it
      __syncwarp();
      stage_c(acc[0], 192, staging + 1 * C_COPY);
      // ordinary writes become visible to the copy engine
      proxy_fence();
      // all writers have fenced
      __syncwarp();
      if (lane == 0) tma_store(&map_c, staging + 1 * C_COPY, col + 192, row + 0 + 16 * warp_in_group);
      if (lane == 0) bulk_commit();
    }
    // stores end before the CTA does
    if (lane == 0) bulk_wait<0>();
  }
}
