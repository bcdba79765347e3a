#include "sync.h"
// Each CTA reads its neighbour's shared memory and leaves.
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  u32 rank, there;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  s[t] = x[32 * rank + t];
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(&s[t])), "r"(rank ^ 1));
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
  y[32 * rank + t] = v;
  IF_FIXED(asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");)
}
