// What an emitted kernel finds on the host in place of CUDA: declarations only, no other header,
// since the kernel's text names its own integer types.
#pragma once
#define __device__
#define __forceinline__ inline
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)

struct HostIndex { unsigned x; };
extern HostIndex* host_thread;
extern HostIndex *host_block, host_grid;
#define threadIdx (*host_thread)
#define blockIdx (*host_block)
#define __cluster_dims__(...)
#define gridDim host_grid

typedef unsigned host_u32;
typedef unsigned long long host_u64;
typedef unsigned short host_u16;

extern "C" {
float sqrtf(float) noexcept;
float tanhf(float) noexcept;
float copysignf(float, float) noexcept;
float sinf(float) noexcept;
float cosf(float) noexcept;
float floorf(float) noexcept;
float exp2f(float) noexcept;
float log2f(float) noexcept;
float fabsf(float) noexcept;
float fmaf(float, float, float) noexcept;
float fmaxf(float, float) noexcept;
float fminf(float, float) noexcept;
int abs(int) noexcept;
}
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __uint_as_float(host_u32 x) { return __builtin_bit_cast(float, x); }
inline float __int_as_float(host_u32 x) { return __builtin_bit_cast(float, x); }
inline host_u32 __float_as_uint(float x) { return __builtin_bit_cast(host_u32, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
template <class T> T __ldg(const T* p) { return *p; }
inline host_u32 __funnelshift_r(host_u32 low, host_u32 high, host_u32 by) {
  return (host_u32)(((host_u64)high << 32 | low) >> (by & 31));
}
inline host_u32 host_bits(float x) { return __builtin_bit_cast(host_u32, x); }

// The warp meets; every lane sees what all gave.
const host_u64* host_exchange(host_u32 mask, host_u64 mine);
inline float __shfl_xor_sync(host_u32 mask, float x, int other) {
  return __uint_as_float((host_u32)host_exchange(mask, host_bits(x))[threadIdx.x % 32 ^ other]);
}
inline host_u32 __shfl_xor_sync(host_u32 mask, host_u32 x, int other) {
  return (host_u32)host_exchange(mask, x)[threadIdx.x % 32 ^ other];
}
inline int __shfl_xor_sync(host_u32 mask, int x, int other) {
  return (int)__shfl_xor_sync(mask, (host_u32)x, other);
}
inline int __shfl_sync(host_u32 mask, int x, int lane) {
  return (int)host_exchange(mask, (host_u32)x)[lane];
}
inline host_u32 __shfl_sync(host_u32 mask, host_u32 x, int lane) {
  return (host_u32)host_exchange(mask, x)[lane];
}
inline float __shfl_sync(host_u32 mask, float x, int lane) {
  return __uint_as_float((host_u32)host_exchange(mask, host_bits(x))[lane]);
}
// A lane outside of the warp: its own value.
inline int host_other(int by) {
  const int me = threadIdx.x % 32, other = me + by;
  return other < 0 || other > 31 ? me : other;
}
template <class T> inline T __shfl_up_sync(host_u32 mask, T x, int by) {
  return __shfl_sync(mask, x, host_other(-by));
}
template <class T> inline T __shfl_down_sync(host_u32 mask, T x, int by) {
  return __shfl_sync(mask, x, host_other(by));
}
bool __all_sync(host_u32 mask, bool x);
inline bool __any_sync(host_u32 mask, bool x) { return !__all_sync(mask, !x); }
void __syncwarp(host_u32 mask = ~0u);
void __syncthreads();

// Global memory: a CTA's writes are seen by all that run after it.
struct uint2 { host_u32 x, y; };
struct uint4 { host_u32 x, y, z, w; };
inline uint4 make_uint4(host_u32 x, host_u32 y, host_u32 z, host_u32 w) { return {x, y, z, w}; }
// As cvt.rzi.s32.f32: towards zero, held to the range, 0 for NaN.
inline int __float2int_rz(float x) {
  if (x != x) return 0;
  return x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)x;
}
inline host_u32 __umulhi(host_u32 a, host_u32 b) { return (host_u32)((host_u64)a * b >> 32); }
template <class T> inline T atomicMax(T* at, T x) { T old = *at; if (x > old) *at = x; return old; }
template <class T> inline T atomicMin(T* at, T x) { T old = *at; if (x < old) *at = x; return old; }
inline int atomicAdd(int* at, int x) {
  const int old = *at;
  *at = (int)((host_u32)old + (host_u32)x);
  return old;
}
struct float4 { float x, y, z, w; };
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float4 __ldcg(const float4* at) { return *at; }
inline void __stcg(float4* at, float4 x) { *at = x; }
inline void __threadfence() {}
inline host_u32 atomicAdd(host_u32* at, host_u32 x) { return (*at += x) - x; }
inline host_u32 atomicOr(host_u32* at, host_u32 x) { const host_u32 old = *at; *at |= x; return old; }
inline float atomicAdd(float* at, float x) { return (*at += x) - x; }

unsigned char* host_shared();
host_u32 host_shared_address(const void* p);
#define __cvta_generic_to_shared(p) host_shared_address(p)

[[noreturn]] void host_trap();
host_u32 host_elect();
void host_mbar_init(host_u32 at, host_u32 count);
void host_mbar_expect(host_u32 at, host_u32 bytes);
void host_mbar_arrive(host_u32 at);
host_u32 host_mbar_wait(host_u32 at, host_u32 parity);
void host_bar_sync(host_u32 id, host_u32 threads);
void host_bar_arrive(host_u32 id, host_u32 threads);
bool host_bar_any(host_u32 id, bool x);
void host_cluster_sync();
void host_mbar_arrive_at(host_u32 at, host_u32 cta);
host_u32 host_at_cta(host_u32 at, host_u32 cta);
void host_send(host_u32 to, const float* x, host_u32 bar);
void host_proxy_fence();
void host_bulk_commit();
void host_bulk_wait(int pending);
void host_tma_load(host_u32 to, const void* map, host_u32 bar, int rank, const int* at,
                   host_u32 mask = 0);
void host_tma_store(const void* map, host_u32 from, int rank, const int* at, bool add);
void host_copy(host_u32 to, const void* from, int bytes);  // 16 bytes, zeros past ``bytes``
void host_copies_arrive(host_u32 bar);
void host_ldmatrix(host_u32* out, host_u32 at);
void host_stmatrix(host_u32 at, const host_u32* x);
void host_store_shared2(host_u32 at, float a, float b);
void host_store_shared(host_u32 at, const void* from, int bytes);
void host_load_shared2(host_u32 at, float* a, float* b);
void host_load_shared(host_u32 at, void* to, int bytes);
void host_pause();
inline void __nanosleep(unsigned) { host_pause(); }
void host_wgmma_commit();
void host_wgmma_wait(int pending);
void host_wgmma(int n, int kind, float* const* d, const host_u32* const* a, host_u64 a_at,
                host_u64 b_at, bool keeps, bool a_mn, bool b_mn);

host_u16 host_to_bf16(float x);
host_u16 host_to_f16(float x);
float host_from_f16(host_u16 x);

static inline host_u32 host_less_halves(host_u32 a, host_u32 b, bool f16) {
  host_u32 made = 0;
  for (int j = 0; j < 2; ++j) {
    const host_u16 x = (host_u16)(a >> 16 * j), y = (host_u16)(b >> 16 * j);
    const auto wide = [&](host_u16 h) {
      return f16 ? host_from_f16(h) : __builtin_bit_cast(float, (host_u32)h << 16);
    };
    const float less = wide(x) - wide(y);
    made |= (host_u32)(f16 ? host_to_f16(less) : host_to_bf16(less)) << 16 * j;
  }
  return made;
}

static inline void host_add_halves(void* at, host_u32 x, int count, bool f16) {
  host_u16* t = (host_u16*)at;
  for (int j = 0; j < count; ++j) {
    const host_u16 more = (host_u16)(x >> 16 * j);
    if (f16) { t[j] = host_to_f16(host_from_f16(t[j]) + host_from_f16(more)); continue; }
    const auto wide = [](host_u16 h) { return __builtin_bit_cast(float, (host_u32)h << 16); };
    t[j] = host_to_bf16(wide(t[j]) + wide(more));
  }
}
host_u32 host_from_two_bytes(host_u16 x, bool wide);
host_u16 host_to_two_bytes(float high, float low, bool wide);
