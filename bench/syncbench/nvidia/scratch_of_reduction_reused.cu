#include "sync.h"
// Two reductions share their scratch; the second overwrites it while the first is still read.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[4];
  int t = threadIdx.x;
  float v = x[t], out = 0;
  for (int k = 0; k < 2; ++k) {
    float m = v * (k + 1);
    for (int i = 16; i; i >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, i));
    if (t % 32 == 0) s[t / 32] = m;
    __syncthreads();
    out += s[0] + s[1] + s[2] + s[3];
    IF_FIXED(__syncthreads();)
  }
  y[t] = out;
}
