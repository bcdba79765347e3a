#include "sync.h"
// Two warpgroups multiply one shared operand; the next iteration's copy does not wait for both.
extern "C" __global__ void kernel(const uint4* x, float* y) {
  __shared__ alignas(128) uint4 a[128];
  __shared__ alignas(128) uint4 b[16];
  int t = threadIdx.x;
  float d[4] = {0, 0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    if (t < 128) a[t] = x[144 * k + t];
    else if (t < 144) b[t - 128] = x[144 * k + t];
    proxy_fence();
    __syncthreads();
    wg_fence(d);
    wgmma(d, a, b);
    wg_commit();
    wg_wait<0>();
    IF_FIXED(__syncthreads();)
  }
  for (int i = 0; i < 4; ++i) y[4 * t + i] = d[i];
}
