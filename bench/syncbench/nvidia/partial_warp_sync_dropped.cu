#include "sync.h"
// 48 of 64 threads exchange values; their barrier was dropped because 48 is no multiple of 32.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < 48) s[t] = x[t];
  IF_FIXED(__syncthreads();)
  if (t < 48) y[t] = s[47 - t];
}
