#include "sync.h"
// The CTA ends while its bulk store may still read shared memory.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  proxy_fence();
  __syncthreads();
  if (t == 0) { bulk_store(y, s, 512); bulk_commit(); IF_FIXED(bulk_wait_read();) }
}
