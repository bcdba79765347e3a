#include "sync.h"
// A loop of copies and products; the last product stands behind the loop, without the fence.
extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x;
  __shared__ alignas(1024) unsigned short a[2][1024], b[2][128];
  const char* from = (const char*)x;
  auto load = [&](int k, int i) {
    copy16((char*)a[k] + 16 * t, from + 16 * t + 64 * i);
    if (t < 16) copy16((char*)b[k] + 16 * t, from + 16 * t);
    copy_commit();
  };
  float d[4] = {0, 0, 0, 0};
  load(0, 0);
  for (int i = 0; i < 3; ++i) {
    load((i + 1) & 1, i + 1);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    proxy_fence();
    __syncthreads();
    wg_fence(d);
    wgmma(d, a[i & 1], b[i & 1]);
    wg_commit();
    wg_wait<0>();
    wg_fence(d);
    __syncthreads();
  }
  copy_wait0();
  IF_FIXED(proxy_fence();)
  __syncthreads();
  wg_fence(d);
  wgmma(d, a[1], b[1]);
  wg_commit();
  wg_wait<0>();
  wg_fence(d);
  for (int i = 0; i < 4; ++i) y[4 * t + i] = d[i];
}
