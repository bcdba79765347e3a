#include "sync.h"
// A CTA writes to its neighbour's shared memory and arrives there with CTA scope.
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ u64 full;
  int t = threadIdx.x;
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) { bar_init(&full, 32); init_fence(); }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  u32 there, bar;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(&s[t])), "r"(rank ^ 1));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar) : "r"(smem(&full)), "r"(rank ^ 1));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(x[32 * rank + t]) : "memory");
#ifdef FIXED
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
  asm volatile("{\n.reg .pred p;\nW:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n@!p bra W;\n}" ::"r"(smem(&full)) : "memory");
#else
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
  asm volatile("{\n.reg .pred p;\nW:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra W;\n}" ::"r"(smem(&full)) : "memory");
#endif
  y[32 * rank + t] = s[t];
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
