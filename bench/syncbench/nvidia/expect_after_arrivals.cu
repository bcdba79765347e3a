#include "sync.h"
// One thread expects bytes, other threads arrive: nothing puts the expect before the arrivals.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[32];
  __shared__ u64 full;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&full, IF_WRONG(32) IF_FIXED(33)); init_fence(); }
  __syncthreads();
  if (t == 32) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 128;" ::"r"(smem(&full)) : "memory");
    bulk_load(s, x, 128, &full);
    IF_FIXED(bar_arrive(&full);)
  }
  if (t < 32) bar_arrive(&full);
  bar_wait(&full, 0);
  y[t] = s[t & 31];
}
