#include "sync.h"
// __syncthreads by half of a warp.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  float v = 0;
  IF_WRONG(if (t & 1) { __syncthreads(); v = s[t ^ 32]; } else { v = s[t]; })
  IF_FIXED(__syncthreads(); if (t & 1) { v = s[t ^ 32]; } else { v = s[t]; })
  v += __shfl_xor_sync(~0u, v, 1);
  y[t] = v;
}
