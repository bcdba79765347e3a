#include "sync.h"
// A CTA ends while its neighbour may still arrive on its barrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* x, float* y) {
  __shared__ u64 b;
  int t = threadIdx.x;
  u32 rank, there;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) { bar_init(&b, 1); init_fence(); }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  y[32 * rank + t] = x[32 * rank + t];
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(&b)), "r"(rank ^ 1));
  if (t == 0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
#ifdef FIXED
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
