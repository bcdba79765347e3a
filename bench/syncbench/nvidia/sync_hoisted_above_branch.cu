#include "sync.h"
// The barrier between write and read stands in front of the branch that holds both.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  IF_WRONG(__syncthreads();)
  if (t % 4 == 0) s[t] = x[t];
  IF_FIXED(__syncthreads();)
  if (t % 4 == 0) y[t] = s[124 - t];
}
