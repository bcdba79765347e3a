#include "sync.h"
// The proxy fence stands in front of the store that it should publish.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  IF_WRONG(proxy_fence();)
  s[t] = x[t];
  IF_FIXED(proxy_fence();)
  __syncthreads();
  if (t == 0) { bulk_store(y, s, 512); bulk_commit(); bulk_wait_read(); }
}
