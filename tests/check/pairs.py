# ruff: noqa: E501 (CUDA texts)
"""Right and wrong forms of small CUDA kernels: one text, ``FIXED`` chooses. Launches with it."""

from __future__ import annotations

from typing import Any

K = """extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x;
"""
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {}


def pair(name: str, code: str, **launch: Any) -> None:
    """Keep a pair."""
    PAIRS[name] = (code, launch)


pair(
    "shfl_divergent",
    K
    + """
  float v = x[t];
  IF_WRONG(if (t % 32 < 16) v += __shfl_xor_sync(0xffffffffu, v, 16);)
  IF_FIXED(float o = __shfl_xor_sync(0xffffffffu, v, 16); if (t % 32 < 16) v += o;)
  y[t] = v; }""",
)
pair(
    "shfl_mask_without_self",
    K
    + """
  float v = x[t];
  IF_WRONG(v += __shfl_sync(0x0000ffffu, v, 0);)
  IF_FIXED(v += __shfl_sync(0xffffffffu, v, 0);)
  y[t] = v; }""",
)
pair(
    "syncwarp_mask_short",
    K
    + """
  __shared__ float s[64];
  s[t] = x[t];
  IF_WRONG(if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);)
  IF_FIXED(__syncwarp();)
  y[t] = s[t ^ 31]; }""",
)
pair(
    "ballot_compact",
    K
    + """
  __shared__ float s[64]; __shared__ int n;
  if (t == 0) n = 0;
  __syncthreads();
  bool keep = x[t] > 0;
  unsigned m = __ballot_sync(~0u, keep);
  int base = 0;
  if (t % 32 == 0) base = atomicAdd(&n, __popc(m));
  base = __shfl_sync(~0u, base, 0);
  if (keep) s[base + __popc(m & ((1u << (t % 32)) - 1))] = x[t];
  IF_FIXED(__syncthreads();)
  if (t < n) y[t] = s[t]; }""",
)
pair(
    "bar_counts_short",
    K
    + """
  __shared__ float s[96];
  s[t] = x[t];
  IF_WRONG(if (t < 64) named_sync(1, 64); else named_arrive(1, 64);)
  IF_FIXED(if (t < 64) named_sync(1, 96); else named_arrive(1, 96);)
  if (t < 64) y[t] = s[t] + s[64 + t % 32]; }""",
    block=96,
)
pair(
    "bar_arrive_pingpong",
    K
    + """
  __shared__ float s[64];
  if (t < 64) { for (int i = 0; i < 4; ++i) { IF_FIXED(if (i) named_sync(2, 128);) s[t] = x[t + 64 * i]; named_arrive(1, 128); } }
  else for (int i = 0; i < 4; ++i) { named_sync(1, 128); y[t - 64 + 64 * i] = s[t - 64]; IF_FIXED(if (i < 3) named_arrive(2, 128);) } }""",
    block=128,
)
pair(
    "cp_async_groups",
    K
    + """
  __shared__ alignas(16) float s[3][256];
  for (int i = 0; i < 2; ++i) { copy16(&s[i][4 * t], x + 256 * i + 4 * t); copy_commit(); }
  for (int i = 0; i < 5; ++i) {
    IF_FIXED(asm volatile("cp.async.wait_group 1;" ::: "memory");)
    IF_WRONG(asm volatile("cp.async.wait_group 2;" ::: "memory");)
    __syncthreads();
    if (i + 2 < 5) copy16(&s[(i + 2) % 3][4 * t], x + 256 * (i + 2) + 4 * t);
    copy_commit();
    y[256 * i + t] = s[i % 3][255 - t];
  } }""",
    x=1280,
    y=1280,
)
pair(
    "cp_async_tail_group",
    K
    + """
  __shared__ alignas(16) float s[3][256];
  for (int i = 0; i < 2; ++i) { copy16(&s[i][4 * t], x + 256 * i + 4 * t); copy_commit(); }
  for (int i = 0; i < 5; ++i) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (i + 2 < 5) { copy16(&s[(i + 2) % 3][4 * t], x + 256 * (i + 2) + 4 * t); IF_WRONG(copy_commit();) }
    IF_FIXED(copy_commit();)
    y[256 * i + t] = s[i % 3][255 - t];
  } }""",
    x=1280,
    y=1280,
)
pair(
    "cp_async_mbar_noinc",
    K
    + """
  __shared__ alignas(16) float s[256]; __shared__ u64 b;
  if (t == 0) { IF_FIXED(bar_init(&b, 64);) IF_WRONG(bar_init(&b, 64);) }
  __syncthreads();
  copy16(&s[4 * t], x + 4 * t);
  IF_FIXED(asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(smem(&b)) : "memory");)
  IF_WRONG(asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(smem(&b)) : "memory");)
  bar_wait(&b, 0);
  y[t] = s[255 - t]; }""",
)
pair(
    "cp_async_mbar_inc",
    K
    + """
  __shared__ alignas(16) float s[256]; __shared__ u64 b;
  if (t == 0) bar_init(&b, 64);
  __syncthreads();
  copy16(&s[4 * t], x + 4 * t);
  IF_FIXED(asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(smem(&b)) : "memory");)
  bar_arrive(&b);
  bar_wait(&b, 0);
  y[t] = s[255 - t]; }""",
)
pair(
    "expect_too_large",
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t == 0) { bar_init(&b, 1); init_fence(); }
  __syncthreads();
  if (t == 0) { bar_expect(&b, IF_FIXED(256) IF_WRONG(512)); bulk_load(s, x, 256, &b); }
  bar_wait(&b, 0);
  y[t] = s[63 - t]; }""",
)
pair(
    "expect_by_two_copies",
    K
    + """
  __shared__ alignas(128) float s[2][64]; __shared__ u64 b;
  if (t == 0) { bar_init(&b, 1); init_fence(); }
  __syncthreads();
  if (t == 0) { bar_expect(&b, IF_FIXED(512) IF_WRONG(256)); bulk_load(s[0], x, 256, &b); bulk_load(s[1], x + 64, 256, &b); }
  bar_wait(&b, 0);
  y[t] = s[0][63 - t] + s[1][t]; }""",
)
pair(
    "parity_wrap",
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 f, e;
  if (t == 0) { bar_init(&f, 1); bar_init(&e, 64); init_fence(); }
  __syncthreads();
  for (int i = 0; i < 5; ++i) {
    if (t == 0) { if (i) bar_wait(&e, (i - 1) & 1); bar_expect(&f, 256); bulk_load(s, x + 64 * i, 256, &f); }
    bar_wait(&f, IF_FIXED(i & 1) IF_WRONG((i >> 1) & 1));
    y[64 * i + t] = s[63 - t];
    bar_arrive(&e);
  } }""",
    x=320,
    y=320,
)
pair(
    "slot_not_released",
    K
    + """
  __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2], e[2];
  if (t == 0) { for (int i = 0; i < 2; ++i) { bar_init(&f[i], 1); bar_init(&e[i], 64); } init_fence(); }
  __syncthreads();
  for (int i = 0; i < 6; ++i) {
    int k = i & 1;
    if (t == 0) { IF_FIXED(if (i >= 2)) IF_WRONG(if (i > 2)) bar_wait(&e[k], ((i >> 1) - 1) & 1); bar_expect(&f[k], 256); bulk_load(s[k], x + 64 * i, 256, &f[k]); }
    bar_wait(&f[k], (i >> 1) & 1);
    y[64 * i + t] = s[k][63 - t];
    bar_arrive(&e[k]);
  } }""",
    x=384,
    y=384,
)
pair(
    "init_no_sync",
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t == 0) { bar_init(&b, 1); init_fence(); bar_expect(&b, 256); bulk_load(s, x, 256, &b); }
  IF_FIXED(__syncthreads();)
  bar_wait(&b, 0);
  y[t] = s[63 - t]; }""",
)
pair(
    "proxy_war_store_then_load",
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t == 0) { bar_init(&b, 1); init_fence(); }
  s[t] = 1.0f;
  float v = s[t];
  IF_FIXED(proxy_fence();)
  __syncthreads();
  if (t == 0) { bar_expect(&b, 256); bulk_load(s, x, 256, &b); }
  bar_wait(&b, 0);
  y[t] = s[63 - t] + v; }""",
)
pair(
    "bulk_store_then_generic_write",
    K
    + """
  __shared__ alignas(128) float s[64];
  for (int i = 0; i < 3; ++i) {
    s[t] = x[t + 64 * i];
    proxy_fence();
    __syncthreads();
    if (t == 0) { bulk_store(y + 64 * i, s, 256); bulk_commit(); IF_FIXED(bulk_wait_read();) }
    __syncthreads();
  }
  if (t == 0) bulk_wait_read(); }""",
)
pair(
    "bulk_store_wait_behind",
    K
    + """
  __shared__ alignas(128) float s[2][64];
  for (int i = 0; i < 5; ++i) {
    if (t == 0) { IF_FIXED(asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");) IF_WRONG(asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");) }
    __syncthreads();
    s[i & 1][t] = x[t + 64 * i];
    proxy_fence();
    __syncthreads();
    if (t == 0) { bulk_store(y + 64 * i, s[i & 1], 256); bulk_commit(); }
  }
  if (t == 0) bulk_wait_read(); }""",
    x=320,
    y=320,
)
pair(
    "red_async_like_bulk_reduce",
    K
    + """
  __shared__ alignas(128) float s[64];
  s[t] = x[t];
  IF_FIXED(proxy_fence();)
  __syncthreads();
  if (t == 0) { asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" ::"l"(y), "r"(smem(s)) : "memory"); bulk_commit(); bulk_wait_read(); } }""",
)
pair(
    "two_ctas_add_same",
    K
    + """
  __shared__ alignas(128) float s[64];
  s[t] = x[t];
  proxy_fence();
  __syncthreads();
  if (t == 0) {
    IF_FIXED(asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" ::"l"(y), "r"(smem(s)) : "memory");)
    IF_WRONG(s[0] += blockIdx.x; proxy_fence(); bulk_store(y, s, 256);)
    bulk_commit(); bulk_wait_read(); } }""",
    grid=2,
)
pair(
    "split_k_semaphore",
    K
    + """
  __shared__ int last;
  float v = x[t + 64 * blockIdx.x];
  y[64 + t + 64 * blockIdx.x] = v;
  IF_FIXED(__threadfence();)
  __syncthreads();
  if (t == 0) last = atomicAdd((unsigned*)y, 1u) == gridDim.x - 1;
  __syncthreads();
  if (last) { IF_FIXED(__threadfence();) float a = 0; for (int i = 0; i < gridDim.x; ++i) a += ((volatile float*)y)[64 + 64 * i + t]; y[1024 + t] = a; } }""",
    grid=3,
    y=2048,
)
pair(
    "queue_ticket",
    K
    + """
  __shared__ int n;
  for (;;) {
    if (t == 0) n = atomicAdd((int*)y, 1);
    __syncthreads();
    int k = n;
    IF_FIXED(__syncthreads();)
    if (k >= 4) break;
    y[64 + 64 * k + t] = x[64 * k + t];
  } }""",
    grid=2,
    y=512,
)
pair(
    "flag_spin_volatile",
    K
    + """
  volatile int* f = (volatile int*)y;
  if (blockIdx.x == 0) { y[64 + t] = x[t]; IF_FIXED(__threadfence();) __syncthreads(); if (t == 0) { *f = 1; } }
  else { if (t == 0) { while (*f == 0); IF_FIXED(__threadfence();) } __syncthreads(); y[128 + t] = y[64 + t]; } }""",
    grid=2,
)
pair(
    "smem_phases_overlap",
    K
    + """
  extern __shared__ float s[];
  s[t] = x[t];
  __syncthreads();
  float a = s[63 - t];
  IF_FIXED(__syncthreads();)
  int* z = (int*)s;
  z[t] = t;
  __syncthreads();
  y[t] = a + z[63 - t]; }""",
    shared=256,
)
pair(
    "early_return_named",
    K
    + """
  __shared__ float s[64];
  s[t] = x[t];
  IF_WRONG(if (t >= 32) return;)
  named_sync(1, 64);
  if (t < 32) y[t] = s[63 - t] + s[t]; }""",
)

pair(
    "match_groups",
    K
    + """
  int k = (int)(x[t] * 3) & 3;
  unsigned m = __match_any_sync(~0u, k);
  int lead = __ffs(m) - 1;
  int n = __reduce_add_sync(m, 1);
  IF_WRONG(float v = __shfl_sync(k == 0 ? ~0u : m, x[t], lead);)
  IF_FIXED(float v = __shfl_sync(m, x[t], lead);)
  y[t] = v + n; }""",
)
pair(
    "elect_store",
    K
    + """
  __shared__ float s;
  unsigned p;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(p));
  if (p IF_FIXED(&& t < 32)) s = x[t];
  __syncthreads();
  y[t] = s; }""",
)
pair(
    "cluster_dsmem",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ float s[64]; u32 r, a; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  s[t] = x[t + 64 * r];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[63 - t])), "r"(r ^ 1));
  float v; asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(a) : "memory");
  y[t + 64 * r] = v;
  IF_FIXED(asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");)
}""",
    grid=2,
    cluster=2,
)
pair(
    "cluster_relaxed_arrive",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ float s[64]; u32 r, a; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  s[t] = x[t + 64 * r];
  IF_WRONG(asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");)
  IF_FIXED(asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");)
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[63 - t])), "r"(r ^ 1));
  float v; asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(a) : "memory");
  y[t + 64 * r] = v;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}""",
    grid=2,
    cluster=2,
)
MC = """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ alignas(128) float s[128]; __shared__ u64 b; u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  if (t == 0) { bar_init(&b, 1); init_fence(); }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (t == 0) {
    bar_expect(&b, EXPECT);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(smem(s + 64 * r)), "l"(x + 64 * r), "r"(256), "r"(smem(&b)), "h"((unsigned short)MASK) : "memory");
  }
  bar_wait(&b, 0);
  y[t + 64 * r] = s[63 - t] + s[64 + t];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}"""
pair(
    "multicast_mask",
    "#ifdef FIXED\n#define MASK 3\n#else\n#define MASK (1 << r)\n#endif\n#define EXPECT 512\n" + MC,
    grid=2,
    cluster=2,
)
pair(
    "multicast_expect",
    "#ifdef FIXED\n#define EXPECT 512\n#else\n#define EXPECT 256\n#endif\n#define MASK 3\n" + MC,
    grid=2,
    cluster=2,
)
pair(
    "st_async",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ float s[64]; __shared__ u64 b; u32 r, a, rb; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  if (t == 0) { bar_init(&b, 1); init_fence(); bar_expect(&b, 256); }
  IF_FIXED(asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");)
  IF_WRONG(__syncthreads();)
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[63 - t])), "r"(r ^ 1));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(rb) : "r"(smem(&b)), "r"(r ^ 1));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(a), "f"(x[t + 64 * r]), "r"(rb) : "memory");
  bar_wait(&b, 0);
  y[t + 64 * r] = s[t];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}""",
    grid=2,
    cluster=2,
)
pair(
    "red_async",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const int* x, int* y) {
  int t = threadIdx.x; __shared__ int s[4]; __shared__ u64 b; u32 r, a, rb; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  if (t == 0) { bar_init(&b, 1); init_fence(); bar_expect(&b, IF_FIXED(64 * 4) IF_WRONG(32 * 4)); s[0] = 0; }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[0])), "r"(r ^ 1));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(rb) : "r"(smem(&b)), "r"(r ^ 1));
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];" ::"r"(a), "r"(x[t + 64 * r]), "r"(rb) : "memory");
  bar_wait(&b, 0);
  if (t == 0) y[r] = s[0];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}""",
    grid=2,
    cluster=2,
    xd="i32",
    yd="i32",
)
pair(
    "griddep",
    K
    + """
  IF_WRONG(float v = x[t];)
  asm volatile("griddepcontrol.wait;" ::: "memory");
  IF_FIXED(float v = x[t];)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  y[t] = v; }""",
)
pair(
    "griddep_uniform_pointer_math",
    K
    + """
  float* out = y + t; int z = t * 3;
  IF_FIXED(asm volatile("griddepcontrol.wait;" ::: "memory");)
  IF_WRONG(if (t < 32) asm volatile("griddepcontrol.wait;" ::: "memory");)
  *out = x[t] + z; }""",
)
pair(
    "setmaxnreg_one_warp",
    K
    + """
  if (t IF_FIXED(< 128) IF_WRONG(< 96)) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); 
  y[t] = x[t]; }""",
    block=256,
)
WG = """extern "C" __global__ void __launch_bounds__(128) kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ alignas(1024) unsigned short a[64*16], b[2][8*16];
  for (int i = t; i < 1024; i += 128) a[i] = 0x3f80;
  for (int i = t; i < 256; i += 128) b[0][i] = 0x3f80;
"""
pair(
    "wg_no_proxy_fence",
    WG
    + """
  IF_FIXED(proxy_fence();)
  __syncthreads();
  float d[4] = {0, 0, 0, 0};
  wg_fence(d); wgmma(d, a, b[0]); wg_commit(); wg_wait<0>(); wg_fence(d);
  y[t] = d[0] + d[3]; }""",
    block=128,
)
pair(
    "wg_wait_count",
    WG
    + """
  proxy_fence(); __syncthreads();
  float d[4] = {0, 0, 0, 0}, e[4] = {0, 0, 0, 0};
  wg_fence(d); wg_fence(e); wgmma(d, a, b[0]); wg_commit(); wgmma(e, a, b[1]); wg_commit();
  IF_FIXED(wg_wait<1>();) IF_WRONG(wg_wait<2>();)
  asm volatile("" : "+f"(d[0]), "+f"(d[3]) :: "memory");
  y[t] = d[0] + d[3];
  wg_wait<0>(); asm volatile("" : "+f"(e[0]) :: "memory"); y[t + 128] = e[0]; }""",
    block=128,
)
pair(
    "wg_uncommitted",
    WG
    + """
  proxy_fence(); __syncthreads();
  float d[4] = {0, 0, 0, 0};
  wg_fence(d); wgmma(d, a, b[0]); IF_FIXED(wg_commit();) wg_wait<0>();
  asm volatile("" : "+f"(d[0]), "+f"(d[3]) :: "memory");
  y[t] = d[0] + d[3]; IF_WRONG(wg_commit(); wg_wait<0>();) }""",
    block=128,
)
pair(
    "wg_smem_reuse",
    WG
    + """
  proxy_fence(); __syncthreads();
  float d[4] = {0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    wg_fence(d); wgmma(d, a, b[0]); wg_commit();
    IF_FIXED(wg_wait<0>(); __syncthreads();)
    IF_WRONG(__syncthreads();)
    b[0][t] = (unsigned short)(0x3f80 + i);
    proxy_fence(); __syncthreads();
  }
  wg_wait<0>(); asm volatile("" : "+f"(d[0]) :: "memory"); y[t] = d[0]; }""",
    block=128,
)
pair(
    "wg_smem_reuse_nosync",
    WG
    + """
  proxy_fence(); __syncthreads();
  float d[4] = {0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    wg_fence(d); wgmma(d, a, b[0]); wg_commit();
    wg_wait<0>(); IF_FIXED(__syncthreads();)
    b[0][t] = (unsigned short)(0x3f80 + i);
    proxy_fence(); __syncthreads();
  }
  asm volatile("" : "+f"(d[0]) :: "memory"); y[t] = d[0]; }""",
    block=128,
)
pair(
    "wg_first_fence_only",
    WG
    + """
  proxy_fence(); __syncthreads();
  float d[4] = {0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    if (IF_FIXED(true) IF_WRONG(i == 0)) wg_fence(d);
    wgmma(d, a, b[0]); wg_commit(); wg_wait<0>();
    asm volatile("mul.f32 %0, %0, 0f3F000000;" : "+f"(d[0]));
  }
  y[t] = d[0]; }""",
    block=128,
)
pair(
    "stmatrix_race",
    K
    + """
  __shared__ alignas(128) unsigned short s[2][64 * 8];
  u32 v = __float_as_uint(x[t]); int w = t / 32, l = t % 32;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(smem(&s[w][8 * (l % 8)])), "r"(v) : "memory");
  IF_FIXED(__syncthreads();) IF_WRONG(__syncwarp();)
  u32 o; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(o) : "r"(smem(&s[w ^ 1][8 * (l % 8)])) : "memory");
  y[t] = __uint_as_float(o); }""",
)
pair(
    "relaxed_flag",
    """extern "C" __global__ void kernel(const int* x, int* y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) { if (t == 0) { y[1] = x[0];
    IF_FIXED(asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(y) : "memory");)
    IF_WRONG(asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(y) : "memory");) } }
  else if (t == 0) { int v; do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(y) : "memory"); } while (!v); y[2] = y[1]; } }""",
    grid=2,
    xd="i32",
    yd="i32",
    block=32,
)
pair(
    "release_cta_scope",
    """extern "C" __global__ void kernel(const int* x, int* y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) { if (t == 0) { y[1] = x[0];
    IF_FIXED(asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(y) : "memory");)
    IF_WRONG(asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(y) : "memory");) } }
  else if (t == 0) { int v; do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(y) : "memory"); } while (!v); y[2] = y[1]; } }""",
    grid=2,
    xd="i32",
    yd="i32",
    block=32,
)
pair(
    "grid_barrier",
    K
    + """
  for (int r = 0; r < 2; ++r) {
    y[64 + 64 * blockIdx.x + t] = x[t] + r;
    __syncthreads();
    if (t == 0) { IF_FIXED(__threadfence();) atomicAdd((unsigned*)y, 1); while (((volatile unsigned*)y)[0] < gridDim.x * (r + 1)); IF_FIXED(__threadfence();) }
    __syncthreads();
    float v = y[64 + 64 * ((blockIdx.x + 1) % gridDim.x) + t];
    __syncthreads();
    if (t == 0) { IF_FIXED(__threadfence();) atomicAdd((unsigned*)y + 1, 1); while (((volatile unsigned*)y)[1] < gridDim.x * (r + 1)); IF_FIXED(__threadfence();) }
    __syncthreads();
    y[512 + 64 * blockIdx.x + t] = v;
  } }""",
    grid=2,
    y=1024,
)
pair(
    "producer_exit_before_consumed",
    K
    + """
  __shared__ alignas(128) float s[64]; __shared__ u64 b;
  if (t == 0) { bar_init(&b, 1); init_fence(); }
  __syncthreads();
  if (t >= 32) { if (t == 32) { bar_expect(&b, 128); bulk_load(s, x, 128, &b); } return; }
  IF_FIXED(bar_wait(&b, 0);) 
  IF_WRONG(if (t < 16) bar_wait(&b, 0);)
  y[t] = s[t]; }""",
)
pair(
    "atomic_then_plain_read",
    K
    + """
  __shared__ int n;
  if (t == 0) n = 0;
  __syncthreads();
  if (x[t] > 0) atomicAdd(&n, 1);
  IF_FIXED(__syncthreads();)
  y[t] = n; }""",
)
pair(
    "persistent_tiles",
    K
    + """
  __shared__ alignas(128) float s[2][64]; __shared__ u64 f[2], e[2];
  if (t == 0) { for (int i = 0; i < 2; ++i) { bar_init(&f[i], 1); bar_init(&e[i], 32); } init_fence(); }
  __syncthreads();
  if (t < 32) { if (t == 0) { int i = 0; for (int tile = blockIdx.x; tile < 5; tile += gridDim.x) for (int k = 0; k < 3; ++k, ++i) { int j = i & 1;
      if (i >= 2) bar_wait(&e[j], ((i >> 1) - 1) & 1); bar_expect(&f[j], 256); bulk_load(s[j], x + 64 * (tile * 3 + k), 256, &f[j]); } } }
  else { int i = 0; for (int tile = blockIdx.x; tile < 5; tile += gridDim.x) { IF_WRONG(i = 0;) float a = 0; for (int k = 0; k < 3; ++k, ++i) { int j = i & 1; bar_wait(&f[j], (i >> 1) & 1); a += s[j][t - 32] + s[j][t]; __syncwarp(); bar_arrive(&e[j]); } y[tile * 32 + t - 32] = a; } } }""",
    grid=2,
    x=1024,
)

pair(
    "warp_local_then_block",
    K
    + """
  __shared__ float s[64];
  s[t] = x[t]; __syncwarp();
  float v = s[t ^ 1];
  IF_WRONG(__syncwarp();) IF_FIXED(__syncthreads();)
  s[63 - t] = v; __syncthreads(); y[t] = s[t]; }""",
)
pair(
    "red_sync_count",
    K
    + """
  __shared__ int n; if (t == 0) n = 0; __syncthreads();
  int c = __syncthreads_count(x[t] > 0);
  IF_WRONG(n = t;) IF_FIXED(if (t == 0) n = c;)
  __syncthreads(); y[t] = n + c; }""",
)
pair(
    "double_buffer_one_sync",
    K
    + """
  __shared__ float s[2][64];
  float a = 0;
  for (int i = 0; i < 6; ++i) { s[IF_FIXED(i & 1) IF_WRONG(0)][t] = x[t + i]; __syncthreads(); a += s[IF_FIXED(i & 1) IF_WRONG(0)][63 - t]; }
  y[t] = a; }""",
)
pair(
    "tree_reduce",
    K
    + """
  __shared__ float s[128]; s[t] = x[t]; __syncthreads();
  for (int o = 64; o > IF_FIXED(0) IF_WRONG(0); o >>= 1) { if (t < o) s[t] += s[t + o]; IF_FIXED(__syncthreads();) IF_WRONG(if (o > 32) __syncthreads();) }
  if (t == 0) y[0] = s[0]; }""",
    block=128,
)
pair(
    "warp_reduce_volatile",
    K
    + """
  __shared__ volatile float s[64]; s[t] = x[t]; __syncthreads();
  if (t < 32) { float v = s[t] + s[t + 32]; IF_FIXED(__syncwarp();) s[t] = v; IF_FIXED(__syncwarp();)
    for (int o = 16; o; o >>= 1) { v = s[t] + s[(t + o) & 31]; IF_FIXED(__syncwarp();) s[t] = v; IF_FIXED(__syncwarp();) } if (t == 0) y[0] = v; } }""",
)
pair(
    "scan_two_arrays",
    K
    + """
  __shared__ float a[2][64]; int p = 0; a[0][t] = x[t]; __syncthreads();
  for (int o = 1; o < 64; o *= 2) { float v = a[p][t]; if (t >= o) v += a[p][t - o]; IF_FIXED(p ^= 1;) a[p][t] = v; __syncthreads(); }
  y[t] = a[p][t]; }""",
)
pair(
    "histogram_shared",
    K
    + """
  __shared__ int h[16]; if (t < 16) h[t] = 0; IF_FIXED(__syncthreads();)
  atomicAdd(&h[((int)(x[t] * 100)) & 15], 1); __syncthreads(); if (t < 16) y[t] = h[t]; }""",
)
pair(
    "histogram_nonatomic",
    K
    + """
  __shared__ int h[16]; if (t < 16) h[t] = 0; __syncthreads();
  int b = ((int)(x[t] * 100)) & 15;
  IF_FIXED(atomicAdd(&h[b], 1);) IF_WRONG(h[b]++;)
  __syncthreads(); if (t < 16) y[t] = h[t]; }""",
)
pair(
    "global_nonatomic_add",
    K
    + """
  IF_FIXED(atomicAdd(&y[t % 8], x[t]);) IF_WRONG(y[t % 8] += x[t];) }""",
    grid=2,
)
pair(
    "stencil_in_place",
    K
    + """
  __shared__ float s[66]; s[t + 1] = x[t]; if (t == 0) { s[0] = 0; s[65] = 0; } __syncthreads();
  for (int i = 0; i < 3; ++i) { float v = s[t] + s[t + 2]; IF_FIXED(__syncthreads();) s[t + 1] = v; __syncthreads(); }
  y[t] = s[t + 1]; }""",
)
pair(
    "mbar_token",
    K
    + """
  __shared__ u64 b; __shared__ float s[64];
  if (t == 0) bar_init(&b, 64); __syncthreads();
  for (int i = 0; i < 3; ++i) {
    s[t] = x[t + i]; u64 k;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(k) : "r"(smem(&b)) : "memory");
    u32 done = 0;
    do { asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(smem(&b)), "l"(k) : "memory"); } while (!done);
    y[64 * i + t] = s[63 - t];
    IF_FIXED(__syncthreads();) } }""",
)
pair(
    "mbar_count_init",
    K
    + """
  __shared__ u64 b; __shared__ float s[64];
  if (t == 0) bar_init(&b, IF_FIXED(64) IF_WRONG(32)); __syncthreads();
  s[t] = x[t]; bar_arrive(&b); bar_wait(&b, 0); y[t] = s[63 - t]; }""",
)
pair(
    "mbar_one_per_warp",
    K
    + """
  __shared__ u64 b; __shared__ float s[64];
  if (t == 0) bar_init(&b, 2); __syncthreads();
  s[t] = x[t]; IF_FIXED(__syncwarp();) if (t % 32 == 0) bar_arrive(&b); bar_wait(&b, 0); y[t] = s[63 - t]; }""",
)
pair(
    "mbar_relaxed_arrive",
    K
    + """
  __shared__ u64 b; __shared__ float s[64];
  if (t == 0) bar_init(&b, 64); __syncthreads();
  s[t] = x[t];
  IF_FIXED(asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(smem(&b)) : "memory");)
  IF_WRONG(asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(smem(&b)) : "memory");)
  bar_wait(&b, 0); y[t] = s[63 - t]; }""",
)
pair(
    "remote_arrive_scope",
    """extern "C" __global__ void __cluster_dims__(2,1,1) kernel(const float* x, float* y) {
  int t = threadIdx.x; __shared__ float s[64]; __shared__ u64 b; u32 r, a, rb; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  if (t == 0) { bar_init(&b, 64); init_fence(); }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(smem(&s[63 - t])), "r"(r ^ 1));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(rb) : "r"(smem(&b)), "r"(r ^ 1));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(a), "f"(x[t + 64 * r]) : "memory");
  IF_FIXED(asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(rb) : "memory");)
  IF_WRONG(asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(rb) : "memory");)
  asm volatile("{\\n.reg .pred p;\\nWAIT:\\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n@!p bra WAIT;\\n}" ::"r"(smem(&b)) : "memory");
  y[t + 64 * r] = s[t];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}""",
    grid=2,
    cluster=2,
)
TM = [
    {
        "kind": "tensormap",
        "tensor": "x",
        "dims": [64, 64],
        "strides": [256],
        "box": [32, 16],
        "element": "f32",
        "swizzle": "128B",
        "interleave": "none",
        "oob": "zero",
    },
    {
        "kind": "tensormap",
        "tensor": "y",
        "dims": [64, 64],
        "strides": [256],
        "box": [32, 16],
        "element": "f32",
        "swizzle": "128B",
        "interleave": "none",
        "oob": "zero",
    },
]
TT = {
    "x": {"shape": [64, 64], "dtype": "f32", "role": "in"},
    "y": {"shape": [64, 64], "dtype": "f32", "role": "out"},
}
TK = """struct __align__(64) Map { char b[128]; };
__device__ void tload(void* d, const Map* m, int cx, int cy, u64* b) { asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem(d)), "l"(m), "r"(cx), "r"(cy), "r"(smem(b)) : "memory"); }
__device__ void tstore(const Map* m, int cx, int cy, void* s) { asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(m), "r"(cx), "r"(cy), "r"(smem(s)) : "memory"); }
extern "C" __global__ void kernel(const __grid_constant__ Map mx, const __grid_constant__ Map my) {
  int t = threadIdx.x; __shared__ alignas(1024) float s[2][512]; __shared__ u64 f[2];
  if (t == 0) { bar_init(&f[0], 1); bar_init(&f[1], 1); init_fence(); }
  __syncthreads();
"""
pair(
    "tma_pipeline_store",
    TK
    + """
  for (int i = 0; i < 6; ++i) { int k = i & 1;
    if (t == 0) { IF_FIXED(asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");) bar_expect(&f[k], 2048); tload(s[k], &mx, 32 * (i & 1), 16 * (i / 2), &f[k]); }
    bar_wait(&f[k], (i >> 1) & 1);
    for (int j = t; j < 512; j += 64) s[k][j] *= 2;
    proxy_fence(); __syncthreads();
    if (t == 0) { tstore(&my, 32 * (i & 1), 16 * (i / 2), s[k]); bulk_commit(); }
  }
  if (t == 0) bulk_wait_read(); }""",
    params=TM,
    tensors=TT,
)
pair(
    "tma_store_no_fence",
    TK
    + """
  if (t == 0) { bar_expect(&f[0], 2048); tload(s[0], &mx, 0, 0, &f[0]); }
  bar_wait(&f[0], 0);
  for (int j = t; j < 512; j += 64) s[1][j] = s[0][j] * 2;
  IF_FIXED(proxy_fence();) __syncthreads();
  if (t == 0) { tstore(&my, 0, 0, s[1]); bulk_commit(); bulk_wait_read(); } }""",
    params=TM,
    tensors=TT,
)
pair(
    "tma_expect_box",
    TK
    + """
  if (t == 0) { bar_expect(&f[0], IF_FIXED(2048) IF_WRONG(4096)); tload(s[0], &mx, 48, 56, &f[0]); }
  bar_wait(&f[0], 0);
  proxy_fence(); __syncthreads();
  if (t == 0) { tstore(&my, 0, 0, s[0]); bulk_commit(); bulk_wait_read(); } }""",
    params=TM,
    tensors=TT,
)
pair(
    "tma_wait_other_slot",
    TK
    + """
  if (t == 0) for (int k = 0; k < 2; ++k) { bar_expect(&f[k], 2048); tload(s[k], &mx, 32 * k, 0, &f[k]); }
  bar_wait(&f[0], 0); IF_FIXED(bar_wait(&f[1], 0);)
  float v = s[0][t] + s[1][t]; __syncthreads(); s[0][t] = v; proxy_fence(); __syncthreads();
  if (t == 0) { tstore(&my, 0, 0, s[0]); bulk_commit(); bulk_wait_read(); IF_WRONG(bar_wait(&f[1], 0);) } }""",
    params=TM,
    tensors=TT,
)
pair(
    "map_in_global",
    """struct __align__(128) Map { char b[128]; };
extern "C" __global__ void kernel(const __grid_constant__ Map mx, Map* g, float* y) {
  int t = threadIdx.x; __shared__ alignas(1024) float s[512]; __shared__ u64 f;
  if (t == 0) { bar_init(&f, 1); init_fence(); }
  if (t < 32) ((u32*)g)[t] = ((const u32*)&mx)[t];
  IF_FIXED(asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");)
  __syncthreads();
  if (t == 0) {
    IF_FIXED(asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(g) : "memory");)
    bar_expect(&f, 2048); asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(smem(s)), "l"(g), "r"(0), "r"(0), "r"(smem(&f)) : "memory"); }
  bar_wait(&f, 0); y[t] = s[t]; }""",
    params=[TM[0], {"kind": "pointer", "tensor": "g"}, {"kind": "pointer", "tensor": "y"}],
    tensors={
        "x": TT["x"],
        "g": {"shape": [128], "dtype": "u8", "role": "inout", "init": "zero"},
        "y": {"shape": [64], "dtype": "f32", "role": "out"},
    },
)
pair(
    "named_pingpong_two_groups",
    K
    + """
  __shared__ float s[128]; int w = t / 64;
  for (int i = 0; i < 3; ++i) {
    if (w == 0) { if (i) named_sync(1, 128); s[t] = x[t + i]; named_arrive(2, 128); }
    else { named_sync(2, 128); float v = s[t - 64]; IF_FIXED(if (i < 2) named_arrive(1, 128);) IF_WRONG(if (i < 2) named_arrive(1, 128); v += s[t - 64];) y[t - 64 + 64 * i] = v; }
  } }""",
    block=128,
)
pair(
    "barrier_ids_shared",
    K
    + """
  __shared__ float s[128];
  s[t] = x[t];
  if (t < 64) { named_sync(IF_FIXED(1) IF_WRONG(3), 64); y[t] = s[63 - t]; } else { named_sync(IF_FIXED(2) IF_WRONG(3), 64); y[t] = s[191 - t]; } }""",
    block=128,
)
pair(
    "exit_then_count_all",
    K
    + """
  __shared__ float s[128]; s[t] = x[t];
  if (t >= 96) return;
  asm volatile("bar.sync 1, %0;" ::"r"(IF_FIXED(96) IF_WRONG(128)) : "memory");
  y[t] = s[95 - t]; }""",
    block=128,
)
pair(
    "spin_in_same_warp",
    K
    + """
  __shared__ volatile int f; if (t == 0) f = 0; __syncthreads();
  IF_FIXED(if (t == 32) f = 1; if (t < 32) while (!f);)
  IF_WRONG(if (t < 32) while (f != 2);)
  y[t] = 1; }""",
)
pair(
    "lock_per_block",
    K
    + """
  int* l = (int*)y;
  if (t == 0) { while (atomicCAS(l, 0, 1) != 0); IF_FIXED(__threadfence();) ((volatile float*)y)[1] = ((volatile float*)y)[1] + 1; IF_FIXED(__threadfence();) atomicExch(l, 0); } }""",
    grid=3,
)
pair(
    "last_block_flag_reset",
    K
    + """
  __shared__ bool last; unsigned* c = (unsigned*)y;
  y[64 * (1 + blockIdx.x) + t] = x[t]; __threadfence(); IF_FIXED(__syncthreads();)
  if (t == 0) last = atomicInc(c, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { __threadfence(); float a = 0; for (int i = 0; i < gridDim.x; ++i) a += __ldcg(&y[64 * (1 + i) + t]); y[512 + t] = a; } }""",
    grid=3,
    y=1024,
)
