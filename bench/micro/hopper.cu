// What single steps of a warp-specialised kernel take on an SM, by its own clock.
// Built by bench/h200_micro.py, which writes the wrappers of the matrix instructions (products.h).
// Prints one line of JSON for each figure: {"what": ..., "cycles": ...}. Every block runs the same,
// so that the chip is as busy as in a real kernel; block 0 reports.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include "products.h"

constexpr int ROUNDS = 60;
constexpr int BUSY_ROUNDS = 200;
constexpr int BLOCKS = 132;
constexpr int SHARED = 100 * 1024;

FN void named_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
FN void named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
FN void barrier_init(uint32_t at, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count)); }
FN void barrier_arrive(uint32_t at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
FN void barrier_wait(uint32_t at, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(at), "r"(parity) : "memory");
}
FN long long now() { long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }
FN float exponential(float x) { float y; asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
FN uint32_t packed(float a, float b) { uint32_t r; asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a)); return r; }
FN float larger(float a, float b) { float y; asm volatile("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
FN int largest(int a, float b, float c) { return max(max(a, __float_as_int(b)), __float_as_int(c)); }
FN float scaled(float a, float b) { float y; asm volatile("mul.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
FN float fused(float a, float b, float c) { float y; asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(a), "f"(b), "f"(c)); return y; }

// Issue of COUNT products: until all are issued, until all are done.
template <int N, bool REG, int COUNT> __global__ void __launch_bounds__(256, 1)
issue(long long* out, int groups, float* sink) {
  extern __shared__ __align__(1024) uint8_t raw[];
  const uint32_t smem = shared_address(raw);
  const int group = threadIdx.x / 128;
  if (group >= groups) return;
  float d[N / 2];
  uint32_t a[4][4];
  for (int i = 0; i < N / 2; ++i) d[i] = 0.f;
  for (int i = 0; i < 16; ++i) a[i / 4][i % 4] = threadIdx.x * 0;
  const uint64_t da = operand(smem), db = operand(smem + 32768);
  long long issued = 0, done = 0;
  for (int r = 0; r < ROUNDS; ++r) {
    named_sync(1, 128 * groups);
    const long long t0 = now();
    products_fence();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) product<N, REG>(d, da + 2 * (i % 4), a[i % 4], db + 2 * (i % 4));
    products_commit();
    const long long t1 = now();
    products_wait<0>();
    const long long t2 = now();
    if (r) { issued += t1 - t0; done += t2 - t0; }
  }
  float s = 0;
  for (int i = 0; i < N / 2; ++i) s += d[i];
  if (s == 12345.f) sink[0] = s;
  if (threadIdx.x % 128 == 0 && blockIdx.x == 0) { out[2 * group] = issued / (ROUNDS - 1); out[2 * group + 1] = done / (ROUNDS - 1); }
}

template <int COUNT> FN void held_rounds(long long* out, int delay, float* sink) {
  extern __shared__ __align__(1024) uint8_t raw[];
  const uint32_t smem = shared_address(raw);
  float d[64];
  uint32_t a[4] = {0, 0, 0, 0};
  for (int i = 0; i < 64; ++i) d[i] = 0.f;
  const uint64_t da = operand(smem), db = operand(smem + 32768);
  long long issued = 0, done = 0;
  for (int r = 0; r < ROUNDS; ++r) {
    named_sync(1, 256);
    const long long t = now();
    while (now() - t < delay) {}
    const long long t0 = now();
    products_fence();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) product<128, false>(d, da + 2 * (i % 4), a, db + 2 * (i % 4));
    products_commit();
    const long long t1 = now();
    products_wait<0>();
    const long long t2 = now();
    if (r) { issued += t1 - t0; done += t2 - t0; }
  }
  float s = 0;
  for (int i = 0; i < 64; ++i) s += d[i];
  if (s == 12345.f) sink[0] = s;
  if (threadIdx.x % 128 == 0 && blockIdx.x == 0) { out[0] = issued / (ROUNDS - 1); out[1] = done / (ROUNDS - 1); }
}
// Group 1 issues FIRST products (n 128); group 0 follows `delay` cycles later with LATER: how long it is held.
template <int FIRST, int LATER> __global__ void __launch_bounds__(256, 1) held(long long* out, int delay, float* sink) {
  if (threadIdx.x / 128 == 1) held_rounds<FIRST>(out + 2, 0, sink);
  else held_rounds<LATER>(out, delay, sink);
}

// Vector work of one warpgroup on 64 values a thread, alone or while `busy` other groups keep the tensor
// cores full. WORK 0: row maxima, 1: multiply-add and exponential, 2: conversion, 3: rescaling, 4: sums,
// 5: row maxima in four chains a row instead of one, 6 and 7: by integers, three operands at once, in one
// chain a row and in two, 8: half of them so, half as 0.
template <int WORK> __global__ void __launch_bounds__(384, 1) vector(long long* out, int busy, float* sink) {
  extern __shared__ __align__(1024) uint8_t raw[];
  const uint32_t smem = shared_address(raw);
  const int group = threadIdx.x / 128;
  float d[64];
  for (int i = 0; i < 64; ++i) d[i] = 0.001f * (threadIdx.x + i);
  __syncthreads();
  if (group > 0) {
    if (group > busy) return;
    uint32_t a[4] = {0, 0, 0, 0};
    const uint64_t da = operand(smem), db = operand(smem + 32768);
    for (int r = 0; r < BUSY_ROUNDS; ++r) {  // long enough; a flag would split the warps
      products_fence();
#pragma unroll
      for (int i = 0; i < 8; ++i) product<128, false>(d, da + 2 * (i % 4), a, db + 2 * (i % 4));
      products_commit();
      products_wait<0>();
    }
    float s = 0;
    for (int i = 0; i < 64; ++i) s += d[i];
    if (s == 12345.f) sink[1] = s;
    return;
  }
  long long total = 0;
  float top[2] = {-1e30f, -1e30f}, sum[2] = {0.f, 0.f};
  uint32_t p[32];
  for (int r = 0; r < ROUNDS; ++r) {
    named_sync(2, 128);
    const long long t0 = now();
    if constexpr (WORK == 0) {
#pragma unroll
      for (int i = 0; i < 64; ++i) top[i / 2 % 2] = larger(top[i / 2 % 2], d[i]);
      for (int row = 0; row < 2; ++row)
        for (int step = 1; step < 4; step *= 2) top[row] = larger(top[row], __shfl_xor_sync(~0u, top[row], step));
    }
    if constexpr (WORK == 5) {
      float part[8];
      for (int i = 0; i < 8; ++i) part[i] = top[i % 2];
#pragma unroll
      for (int i = 0; i < 64; ++i) part[(i / 4 % 4) * 2 + i / 2 % 2] = larger(part[(i / 4 % 4) * 2 + i / 2 % 2], d[i]);
      for (int row = 0; row < 2; ++row) {
        top[row] = larger(larger(part[row], part[row + 2]), larger(part[row + 4], part[row + 6]));
        for (int step = 1; step < 4; step *= 2) top[row] = larger(top[row], __shfl_xor_sync(~0u, top[row], step));
      }
    }
    if constexpr (WORK == 6 || WORK == 7) {
      constexpr int CHAINS = WORK - 5;
      int part[2 * CHAINS];
      for (int i = 0; i < 2 * CHAINS; ++i) part[i] = __float_as_int(top[i % 2]);
#pragma unroll
      for (int i = 0; i < 64; i += 2) part[(i / 4 % CHAINS) * 2 + i / 2 % 2] = largest(part[(i / 4 % CHAINS) * 2 + i / 2 % 2], d[i], d[i + 1]);
      for (int row = 0; row < 2; ++row) {
        if (CHAINS == 2) part[row] = max(part[row], part[2 * CHAINS - 2 + row]);
        for (int step = 1; step < 4; step *= 2) part[row] = max(part[row], __shfl_xor_sync(~0u, part[row], step));
        top[row] = __int_as_float(part[row]);
      }
    }
    if constexpr (WORK == 8) {
      int part[2] = {__float_as_int(top[0]), __float_as_int(top[1])};
#pragma unroll
      for (int i = 0; i < 64; i += 8) {
        for (int j = 0; j < 2; ++j) part[j] = largest(part[j], d[i + 2 * j], d[i + 2 * j + 1]);
        for (int j = 4; j < 8; ++j) top[j / 2 % 2] = larger(top[j / 2 % 2], d[i + j]);
      }
      for (int row = 0; row < 2; ++row) {
        top[row] = larger(top[row], __int_as_float(part[row]));
        for (int step = 1; step < 4; step *= 2) top[row] = larger(top[row], __shfl_xor_sync(~0u, top[row], step));
      }
    }
    if constexpr (WORK == 1) {
#pragma unroll
      for (int i = 0; i < 64; ++i) d[i] = exponential(fused(d[i], 0.5f, -0.25f));
    }
    if constexpr (WORK == 2) {
#pragma unroll
      for (int i = 0; i < 32; ++i) p[i] = packed(d[2 * i], d[2 * i + 1]);
    }
    if constexpr (WORK == 3) {
#pragma unroll
      for (int i = 0; i < 64; ++i) d[i] = scaled(d[i], 0.999f);
    }
    if constexpr (WORK == 4) {
#pragma unroll
      for (int i = 0; i < 64; ++i) sum[i / 2 % 2] = fused(d[i], 1.0f, sum[i / 2 % 2]);
    }
    const long long t1 = now();
    if (r) total += t1 - t0;
  }
  float s = top[0] + top[1] + sum[0] + sum[1];
  for (int i = 0; i < 64; ++i) s += d[i];
  if constexpr (WORK == 2) for (int i = 0; i < 32; ++i) s += __uint_as_float(p[i]);
  if (s == 12345.f) sink[0] = s;
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = total / (ROUNDS - 1);
}

// A turn: 8 products, WAITS waits on a barrier whose phase is complete, 8 products; and the wait alone.
template <int WAITS> __global__ void __launch_bounds__(128, 1) turn(long long* out, float* sink) {
  extern __shared__ __align__(1024) uint8_t raw[];
  __shared__ __align__(8) uint64_t bars[4];
  const uint32_t smem = shared_address(raw);
  if (threadIdx.x == 0) for (int i = 0; i < 4; ++i) { barrier_init(shared_address(&bars[i]), 1); }
  __syncthreads();
  if (threadIdx.x == 0) for (int i = 0; i < 4; ++i) barrier_arrive(shared_address(&bars[i]));
  __syncthreads();
  float d[64], e[64];
  uint32_t a[4] = {0, 0, 0, 0};
  for (int i = 0; i < 64; ++i) d[i] = e[i] = 0.f;
  const uint64_t da = operand(smem), db = operand(smem + 32768);
  long long whole = 0, waits = 0;
  for (int r = 0; r < ROUNDS; ++r) {
    named_sync(1, 128);
    const long long t0 = now();
    products_fence();
#pragma unroll
    for (int i = 0; i < 8; ++i) product<128, false>(d, da + 2 * (i % 4), a, db + 2 * (i % 4));
    products_commit();
    const long long t1 = now();
#pragma unroll
    for (int w = 0; w < WAITS; ++w) barrier_wait(shared_address(&bars[w]), 0);
    const long long t2 = now();
    products_fence();
#pragma unroll
    for (int i = 0; i < 8; ++i) product<128, false>(e, da + 2 * (i % 4), a, db + 2 * (i % 4));
    products_commit();
    products_wait<0>();
    const long long t3 = now();
    if (r) { whole += t3 - t0; waits += t2 - t1; }
  }
  float s = 0;
  for (int i = 0; i < 64; ++i) s += d[i] + e[i];
  if (s == 12345.f) sink[0] = s;
  if (threadIdx.x == 0 && blockIdx.x == 0) { out[0] = waits / (ROUNDS - 1); out[1] = whole / (ROUNDS - 1); }
}

// From an arrival of one warpgroup to the next instruction of another: half of a round trip.
// KIND 0: named barrier of 256 threads; 1: mbarrier, all 128 threads arrive; 2: mbarrier, one thread a warp.
template <int KIND> __global__ void __launch_bounds__(256, 1) hand_over(long long* out) {
  __shared__ __align__(8) uint64_t bars[2];
  const int group = threadIdx.x / 128;
  const uint32_t mine = shared_address(&bars[group]), other = shared_address(&bars[1 - group]);
  if (threadIdx.x == 0) for (int i = 0; i < 2; ++i) barrier_init(shared_address(&bars[i]), KIND == 1 ? 128 : 4);
  __syncthreads();
  const long long t0 = now();
  for (int r = 0; r < ROUNDS; ++r) {
    if (KIND == 0) {
      if (group == 0) { named_arrive(3, 256); named_sync(4, 256); } else { named_sync(3, 256); named_arrive(4, 256); }
    } else {
      if (group == 1) barrier_wait(mine, r & 1);
      if (KIND == 1 || threadIdx.x % 32 == 0) barrier_arrive(other);
      if (group == 0) barrier_wait(mine, r & 1);
    }
  }
  const long long t1 = now();
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = (t1 - t0) / ROUNDS / 2;
}

long long *device_out;
float* device_sink;
long long host_out[8];

template <typename... A> void run(void (*kernel)(A...), int threads, A... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  for (int again = 0; again < 2; ++again) kernel<<<BLOCKS, threads, SHARED>>>(arguments...);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error) { printf("{\"error\": \"%s\"}\n", cudaGetErrorString(error)); fflush(stdout); exit(1); }
  cudaMemcpy(host_out, device_out, 64, cudaMemcpyDeviceToHost);
}

template <int N, bool REG, int COUNT> void issue_row() {
  for (int groups = 1; groups <= 2; ++groups) {
    run(issue<N, REG, COUNT>, 256, device_out, groups, device_sink);
    printf("{\"what\": \"issue\", \"n\": %d, \"a\": \"%s\", \"products\": %d, \"groups\": %d, \"issued\": %lld, \"done\": %lld}\n",
           N, REG ? "registers" : "shared", COUNT, groups, host_out[0], host_out[1]);
  }
}
template <int N, bool REG> void issue_rows() { issue_row<N, REG, 4>(); issue_row<N, REG, 8>(); issue_row<N, REG, 12>(); issue_row<N, REG, 16>(); }

template <int FIRST, int LATER> void held_rows() {
  for (int delay = 0; delay <= 600; delay += 100) {
    run(held<FIRST, LATER>, 256, device_out, delay, device_sink);
    printf("{\"what\": \"held\", \"first\": %d, \"later\": %d, \"delay\": %d, \"issued\": %lld, \"done\": %lld, \"first_issued\": %lld, \"first_done\": %lld}\n",
           FIRST, LATER, delay, host_out[0], host_out[1], host_out[2], host_out[3]);
  }
}
template <int WORK> void vector_rows(const char* name, int instructions) {
  for (int busy = 0; busy <= 2; ++busy) {
    run(vector<WORK>, 384, device_out, busy, device_sink);
    printf("{\"what\": \"vector\", \"work\": \"%s\", \"busy_groups\": %d, \"cycles\": %lld, \"a_warp_instruction\": %.2f}\n", name, busy, host_out[0],
           (double)host_out[0] / instructions);
  }
}
template <int WAITS> void turn_row() {
  run(turn<WAITS>, 128, device_out, device_sink);
  printf("{\"what\": \"turn\", \"waits\": %d, \"cycles_of_waits\": %lld, \"whole\": %lld}\n", WAITS, host_out[0], host_out[1]);
}
template <int KIND> void hand_over_row(const char* name) {
  run(hand_over<KIND>, 256, device_out);
  printf("{\"what\": \"hand-over\", \"by\": \"%s\", \"cycles\": %lld}\n", name, host_out[0]);
}

int main() {
  cudaMalloc(&device_out, 64);
  cudaMalloc(&device_sink, 64);
  turn_row<0>(); turn_row<1>(); turn_row<2>();
  hand_over_row<0>("named barrier"); hand_over_row<1>("mbarrier, 128 arrivals"); hand_over_row<2>("mbarrier, 4 arrivals");
  vector_rows<0>("row maxima", 64 + 8); vector_rows<5>("row maxima, four chains a row", 64 + 14); vector_rows<1>("multiply-add, exponential", 128); vector_rows<2>("conversion", 32);
  vector_rows<6>("row maxima by three", 32 + 8); vector_rows<7>("row maxima by three, two chains a row", 32 + 10);
  vector_rows<8>("row maxima, half by three", 48 + 10);
  vector_rows<3>("rescaling", 64); vector_rows<4>("row sums", 64);
  held_rows<8, 8>(); held_rows<16, 8>();
  fflush(stdout);
  issue_rows<64, false>(); issue_rows<128, false>(); issue_rows<176, false>(); issue_rows<256, false>();
  issue_rows<64, true>(); issue_rows<128, true>(); issue_rows<256, true>();
  fflush(stdout);
}
