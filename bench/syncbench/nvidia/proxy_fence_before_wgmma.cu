#include "sync.h"
// An operand is stored by ordinary instructions and handed over with an mbarrier, then multiplied.
extern "C" __global__ void kernel(const uint4* x, float* y) {
  __shared__ alignas(128) uint4 a[128];
  __shared__ alignas(128) uint4 b[16];
  __shared__ u64 ready;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&ready, 128); init_fence(); }
  __syncthreads();
  if (t >= 128) {
    a[t - 128] = x[t - 128];
    if (t < 144) b[t - 128] = x[t];
    IF_FIXED(proxy_fence();)
    bar_arrive(&ready);
    return;
  }
  bar_wait(&ready, 0);
  float d[4] = {0, 0, 0, 0};
  wg_fence(d);
  wgmma(d, a, b);
  wg_commit();
  wg_wait<0>();
  for (int i = 0; i < 4; ++i) y[4 * t + i] = d[i];
}
