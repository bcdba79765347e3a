#include "sync.h"
// Three groups of cp.async in flight; the wait leaves one too many.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[3][128];
  int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) { copy16(&s[i][4 * t], x + 128 * i + 4 * t); copy_commit(); }
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    if (i + 2 < 6) copy16(&s[(i + 2) % 3][4 * t], x + 128 * (i + 2) + 4 * t);
    copy_commit();
    asm volatile(IF_WRONG("cp.async.wait_group 3;") IF_FIXED("cp.async.wait_group 2;") ::: "memory");
    __syncthreads();
    sum += s[i % 3][4 * t ^ 64];
    __syncthreads();
  }
  y[t] = sum;
}
