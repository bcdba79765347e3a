#include "sync.h"
// Only the issuing thread fences, before the barrier: the other threads' stores are not covered.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  IF_WRONG(if (t == 0) proxy_fence();)
  __syncthreads();
  if (t == 0) { IF_FIXED(proxy_fence();) bulk_store(y, s, 512); bulk_commit(); bulk_wait_read(); }
}
