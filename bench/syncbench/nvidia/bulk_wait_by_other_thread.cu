#include "sync.h"
// Bulk groups belong to the issuing thread; here another thread waits for them.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[128];
  int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    s[t] = x[128 * i + t];
    proxy_fence();
    __syncthreads();
    if (t == 0) { bulk_store(y + 128 * i, s, 512); bulk_commit(); }
#ifdef FIXED
    if (t == 0) bulk_wait_read();
#else
    if (t == 32) bulk_wait_read();
#endif
    __syncthreads();
  }
  if (t == 0) bulk_wait();
}
