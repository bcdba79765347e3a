#include "sync.h"
// The staging tile is written again while the bulk store may still read it.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  for (int i = 0; i < 3; ++i) {
    s[t] = x[128 * i + t];
    proxy_fence();
    __syncthreads();
    if (t == 0) { bulk_store(y + 128 * i, s, 512); bulk_commit(); IF_FIXED(bulk_wait_read();) }
    __syncthreads();
  }
  if (t == 0) bulk_wait();
}
