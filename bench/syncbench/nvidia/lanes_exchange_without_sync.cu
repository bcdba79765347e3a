#include "sync.h"
// Lanes of one warp exchange values through shared memory.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ volatile float s[32];
  int t = threadIdx.x;
  s[t] = x[t];
  IF_FIXED(__syncwarp();)
  y[t] = s[31 - t];
}
