// Kernels in plain C for clang's amdgcn target: x and y are given, the result goes to out.
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define SHARED LOCAL __attribute__((loader_uninitialized))
#define KERNEL __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(1, 256)))
typedef _Float16 half;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef int int2v __attribute__((ext_vector_type(2)));
typedef unsigned u32;
typedef unsigned long u64;

static inline u32 lane_id(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
static inline u32 thread(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline u32 group(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static SHARED float tile[256];
static SHARED u32 bins[64];
static SHARED float pad[16][17];

// 256 threads: sum of x over a group, halving
KERNEL void tree_sum(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  tile[t] = x[group() * 256 + t];
  for (u32 s = 128; s; s >>= 1) {
    barrier();
    if (t < s) tile[t] += tile[t + s];
  }
  if (t == 0) out[group()] = tile[0];
}

KERNEL void reverse_block(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  tile[t] = x[t];
  barrier();
  out[t] = tile[255 - t];
}

KERNEL void transpose16(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  pad[t / 16][t % 16] = x[t];
  barrier();
  out[t] = pad[t % 16][t / 16];
}

KERNEL void histogram(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread();
  if (t < 64) bins[t] = 0;
  barrier();
  __atomic_fetch_add(&bins[x[t] & 63], 1, __ATOMIC_RELAXED);
  barrier();
  if (t < 64) __scoped_atomic_fetch_add(&out[t], bins[t], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// inclusive scan over a block, double buffered by parity
KERNEL void block_scan(const float GLOBAL *x, float GLOBAL *out) {
  static SHARED float two[2][256];
  u32 t = thread(), at = 0;
  two[0][t] = x[t];
  for (u32 d = 1; d < 256; d <<= 1) {
    barrier();
    float v = two[at][t];
    if (t >= d) v += two[at][t - d];
    at ^= 1;
    two[at][t] = v;
  }
  barrier();
  out[t] = two[at][t];
}

KERNEL void collatz(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), v = x[t] + 1, n = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    ++n;
  }
  out[t] = n;
}

KERNEL void choose(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), v = x[t], r;
  switch (v & 7) {
    case 0: r = v * 3; break;
    case 1: r = v / 7; break;
    case 2: r = v % 11; break;
    case 3: r = v << (v & 15); break;
    case 4: r = __builtin_popcount(v); break;
    case 5: r = v ? __builtin_clz(v) : 32; break;
    case 6: r = __builtin_bitreverse32(v); break;
    default: r = __builtin_bswap32(v);
  }
  out[t] = r;
}

KERNEL void wide(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread();
  u64 a = ((u64)x[t] << 32) | x[t ^ 1], b = x[t ^ 2] + 3ul;
  u64 q = a / b, r = a % b, p = a * b + (a >> 7) - (b << 9);
  out[4 * t] = (u32)q, out[4 * t + 1] = (u32)(q >> 32);
  out[4 * t + 2] = (u32)r, out[4 * t + 3] = (u32)p ^ (u32)(p >> 32);
}

KERNEL void divisions(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  out[t] = x[t] / (x[t ^ 5] * x[t ^ 5] + 1.0f) + __builtin_sqrtf(x[t] * x[t]);
}

KERNEL void doubles(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  double a = x[t], b = x[t ^ 3];
  double c = __builtin_fma(a, b, a / (b * b + 2.0)) + __builtin_floor(a * 8) * 0.125;
  out[t] = (float)(c > 0.5 ? __builtin_sqrt(c) : c + (double)(int)(b * 100));
}

KERNEL void halves(const half2 GLOBAL *x, half2 GLOBAL *out) {
  u32 t = thread();
  half2 a = x[t], b = x[t ^ 1];
  out[t] = __builtin_elementwise_max(a * b + a, b - a);
}

KERNEL void private_array(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread();
  volatile u32 held[16];
  for (int i = 0; i < 16; ++i) held[(i * 5 + x[t]) & 15] = x[(t + i) & 255];
  u32 s = 0;
  for (int i = 0; i < 16; ++i) s = s * 31 + held[(x[t ^ i] + i) & 15];
  out[t] = s;
}

__attribute__((noinline)) static u32 mix(u32 a, u32 b) {
  u32 r = a ^ (b >> 3);
  return r * 2654435761u + b;
}
KERNEL void calls(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), v = x[t];
  for (u32 i = 0; i < (x[0] & 7) + 2; ++i) v = mix(v, x[(t + i) & 255]);
  out[t] = v;
}

static const u32 primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
KERNEL void table(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread();
  out[t] = primes[x[t] & 15] * primes[group() & 15];
}

KERNEL void bpermute(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), l = lane_id(), v = x[t];
  u32 a = __builtin_amdgcn_ds_bpermute(((l * 7 + 3) & 63) * 4, v);
  u32 b = __builtin_amdgcn_ds_permute(((l + 5) & 63) * 4, v);
  u32 c = __builtin_amdgcn_ds_swizzle(v, 0x041f);
  out[t] = a + 3 * b + 5 * c;
}

KERNEL void dpp_sum(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), v = x[t];
  v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, 0);
  v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, 0);
  v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xf, 0);
  v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xf, 0);
  v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, 0);
  v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, 0);
  out[t] = v;
}

KERNEL void ballot(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), v = x[t];
  u64 m = __builtin_amdgcn_ballot_w64(v & 1);
  u32 first = __builtin_amdgcn_readfirstlane(v);
  u32 some = __builtin_amdgcn_readlane(v, 17);
  out[t] = (u32)__builtin_popcountl(m) + __builtin_amdgcn_mbcnt_hi((u32)(m >> 32), __builtin_amdgcn_mbcnt_lo((u32)m, 0)) * 100 + first * 7 + some;
}

KERNEL void bits(const u32 GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread(), a = x[t], b = x[t ^ 1], c = x[t ^ 2];
  u32 r = __builtin_amdgcn_perm(a, b, 0x07020500u) + __builtin_amdgcn_alignbit(a, b, c & 31);
  r ^= __builtin_amdgcn_ubfe(a, 5, 9) + __builtin_amdgcn_sbfe(b, 3, 7) + __builtin_amdgcn_lerp(a, b, c);
  r += __builtin_amdgcn_sad_u8(a, b, c) + (a & b | c) + (a ^ b ^ c) + ((a << 4) + b) + (a + b + c);
  out[t] = r;
}

KERNEL void mfma_chain(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  float4 c = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) c = __builtin_amdgcn_mfma_f32_16x16x4f32(x[i * 64 + t], x[256 + i * 64 + t], c, 0, 0, 0);
  for (int i = 0; i < 4; ++i) out[(4 * (t / 16) + i) * 16 + t % 16] = c[i];
}

KERNEL void to_lds(const u32 GLOBAL *x, u32 GLOBAL *out) {
  static SHARED u32 landed[256];
  u32 t = thread(), wave = __builtin_amdgcn_readfirstlane(t / 64);
  __builtin_amdgcn_global_load_lds((u32 GLOBAL *)x + (t ^ 21), landed + wave * 64, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  barrier();
  out[t] = landed[255 - t];
}

KERNEL void bytes(const unsigned char GLOBAL *x, unsigned char GLOBAL *out) {
  u32 t = thread();
  short s = (short)(x[t] * 3 - 200);
  out[t] = (unsigned char)(s < 0 ? -s : s) + (signed char)x[t] / 3;
}

KERNEL void fp8(const float GLOBAL *x, u32 GLOBAL *out) {
  u32 t = thread();
  u32 p = __builtin_amdgcn_cvt_pk_fp8_f32(x[2 * t], x[2 * t + 1], 0, 0);
  p = __builtin_amdgcn_cvt_pk_bf8_f32(x[2 * t], x[2 * t + 1], p, 1);
  float2 f = __builtin_amdgcn_cvt_pk_f32_fp8(p, 0);
  out[t] = p + (u32)(int)((f.x + f.y) * 16);
}

// last group to arrive adds the partial sums
KERNEL void last_group(const float GLOBAL *x, float GLOBAL *part, u32 GLOBAL *count, float GLOBAL *out) {
  static SHARED u32 last;
  u32 t = thread();
  if (t == 0) {
    float s = 0;
    for (int i = 0; i < 64; ++i) s += x[group() * 64 + i];
    part[group()] = s;
    last = __scoped_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) == 3;
  }
  barrier();
  if (last && t == 0) out[0] = part[0] + part[1] + part[2] + part[3];
}

KERNEL void early_exit(const float GLOBAL *x, float GLOBAL *out) {
  u32 t = thread();
  if (t >= 128) return;
  tile[t] = x[t];
  barrier();
  out[t] = tile[t ^ 64];
}
