#include "sync.h"
// The barrier's bytes are given up while other threads may still poll it.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[32];
  __shared__ u64 full;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&full, 1); init_fence(); }
  __syncthreads();
  if (t == 0) { bar_expect(&full, 128); bulk_load(s, x, 128, &full); }
  bar_wait(&full, 0);
  float v = s[t & 31];
  IF_FIXED(__syncthreads();)
  if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(smem(&full)) : "memory");
  y[t] = v;
}
