#include "sync.h"
// Accumulators are set by ordinary instructions and multiplied into without wgmma.fence.
extern "C" __global__ void kernel(const uint4* x, float* y) {
  __shared__ alignas(128) uint4 a[128];
  __shared__ alignas(128) uint4 b[16];
  int t = threadIdx.x;
  a[t] = x[t];
  if (t < 16) b[t] = x[128 + t];
  proxy_fence();
  __syncthreads();
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = y[4 * t + i];
  IF_FIXED(wg_fence(d);)
  wgmma(d, a, b);
  wg_commit();
  wg_wait<0>();
  for (int i = 0; i < 4; ++i) y[4 * t + i] = d[i];
}
