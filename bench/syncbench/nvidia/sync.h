// Thin wrappers over the PTX that the cases are about.
#pragma once
typedef unsigned int u32;
typedef unsigned long long u64;
__device__ inline u32 smem(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ inline void bar_init(u64* b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(b)), "r"(n) : "memory"); }
__device__ inline void init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void bar_arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(b)) : "memory"); }
__device__ inline void bar_expect(u64* b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(b)), "r"(n) : "memory"); }
__device__ inline void bar_wait(u64* b, u32 parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra WAIT;\n}" ::"r"(smem(b)), "r"(parity) : "memory");
}
__device__ inline void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void proxy_fence_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
__device__ inline void bulk_load(void* dst, const void* src, u32 n, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(smem(dst)), "l"(src), "r"(n), "r"(smem(b)) : "memory");
}
__device__ inline void bulk_store(void* dst, const void* src, u32 n) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(smem(src)), "r"(n) : "memory");
}
__device__ inline void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ inline void named_sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ inline void named_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ inline void copy16(void* dst, const void* src) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(dst)), "l"(src) : "memory"); }
__device__ inline void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ inline void copy_wait0() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
// Tied to the registers of the product, so that nothing sets them behind the fence.
__device__ inline void wg_fence(float (&d)[4]) { asm volatile("wgmma.fence.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory"); }
__device__ inline void tie(u32 (&a)[4]) { asm volatile("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3])::"memory"); }
__device__ inline void wg_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ inline void wg_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// m64n8k16: K-major tiles without swizzle; 8x8 blocks of 128 bytes, K neighbours 128 bytes apart.
__device__ inline u64 tile(const void* p) { return (u64)((smem(p) & 0x3FFFF) >> 4) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32; }
__device__ inline void wgmma(float (&d)[4], const void* a, const void* b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(tile(a)), "l"(tile(b)) : "memory");
}
__device__ inline void wgmma_reg(float (&d)[4], u32 (&a)[4], const void* b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(tile(b)) : "memory");
}
__device__ inline void touch(u32& x) { asm volatile("xor.b32 %0, %0, 1;" : "+r"(x)); }
#ifdef FIXED
#define IF_FIXED(x) x
#define IF_WRONG(x)
#else
#define IF_FIXED(x)
#define IF_WRONG(x) x
#endif
