#include "sync.h"
// The result of a product is stored before the product is waited for.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) unsigned short a[64 * 16], b[8 * 16];
  int t = threadIdx.x;
  for (int i = t; i < 1024; i += 128) a[i] = 0x3f80;
  if (t < 128) b[t] = 0x3f80;
  proxy_fence();
  __syncthreads();
  float d[4] = {0, 0, 0, 0};
  wg_fence(d);
  wgmma(d, a, b);
  wg_commit();
  IF_FIXED(wg_wait<0>();)
  asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]));
  y[t] = d[0] + d[1] + d[2] + d[3];
  IF_WRONG(wg_wait<0>();)
}
