#include "sync.h"
// CTA 0 copies into both CTAs of its cluster; it waits for its own readers only.
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[32];
  __shared__ u64 full, empty;
  int t = threadIdx.x;
  u32 rank, there;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) { bar_init(&full, 1); bar_init(&empty, IF_WRONG(1) IF_FIXED(2)); init_fence(); }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(smem(&empty)));
  float sum = 0;
  for (int i = 0; i < 3; ++i) {
    if (t == 0) {
      if (rank == 0 && i) bar_wait(&empty, (i - 1) & 1);
      bar_expect(&full, 128);
      if (rank == 0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], %3;" ::"r"(smem(s)), "l"(x + 32 * i), "r"(smem(&full)), "h"((unsigned short)3) : "memory");
    }
    __syncwarp();
    bar_wait(&full, i & 1);
    sum += s[t];
    __syncwarp();
    if (t == 0 IF_WRONG(&& rank == 0)) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
  }
  y[32 * rank + t] = sum;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
