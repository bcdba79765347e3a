#include "sync.h"
// Registers of an A operand are written while the product may still read them.
extern "C" __global__ void kernel(const uint4* x, float* y) {
  __shared__ alignas(128) uint4 b[16];
  int t = threadIdx.x;
  if (t < 16) b[t] = x[t];
  proxy_fence();
  __syncthreads();
  uint4 v = x[16 + t];
  u32 a[4] = {v.x, v.y, v.z, v.w};
  float d[4] = {0, 0, 0, 0};
  tie(a);
  wg_fence(d);
  wgmma_reg(d, a, b);
  wg_commit();
  IF_FIXED(wg_wait<0>();)
  touch(a[0]);
  touch(a[2]);
  wg_wait<0>();
  tie(a);
  wg_fence(d);
  wgmma_reg(d, a, b);
  wg_commit();
  wg_wait<0>();
  for (int i = 0; i < 4; ++i) y[4 * t + i] = d[i];
}
