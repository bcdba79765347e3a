#include "sync.h"
// Threads write global memory by ordinary stores, then a bulk copy reads it back.
extern "C" __global__ void kernel(const float* x, float* work, float* y) {
  __shared__ alignas(128) float s[128];
  __shared__ u64 full;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&full, 1); init_fence(); }
  work[t] = x[t] + 1;
  IF_FIXED(proxy_fence_global();)
  __syncthreads();
  if (t == 0) { bar_expect(&full, 512); bulk_load(s, work, 512, &full); }
  bar_wait(&full, 0);
  y[t] = s[127 - t];
}
