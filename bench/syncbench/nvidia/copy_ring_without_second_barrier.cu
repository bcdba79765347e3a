#include "sync.h"
// A ring of cp.async slots: the next copy into a slot is issued while others still read it.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[2][256];
  int t = threadIdx.x;
  copy16(&s[0][4 * t], x + 4 * t); copy_commit();
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (i + 1 < 4) { copy16(&s[(i + 1) & 1][4 * t], x + 256 * (i + 1) + 4 * t); }
    copy_commit();
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    sum += s[i & 1][(4 * t + 128) & 255];
    IF_FIXED(__syncthreads();)
  }
  y[t] = sum;
}
