#include "sync.h"
// st.async to the neighbour; the reader does not wait for the barrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* x, float* y) {
  __shared__ alignas(16) float s[32];
  __shared__ u64 full;
  int t = threadIdx.x;
  u32 rank, there, bar;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) { bar_init(&full, 1); init_fence(); bar_expect(&full, 128); }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(&s[t])), "r"(rank ^ 1));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar) : "r"(smem(&full)), "r"(rank ^ 1));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(there), "f"(x[32 * rank + t]), "r"(bar) : "memory");
  IF_FIXED(bar_wait(&full, 0);)
  y[32 * rank + t] = s[t];
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  IF_WRONG(bar_wait(&full, 0);)
}
