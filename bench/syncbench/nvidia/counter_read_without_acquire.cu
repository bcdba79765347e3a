#include "sync.h"
// The last CTA adds up what the others wrote; it does not fence after it has seen the count.
extern "C" __global__ void kernel(const float* x, float* part, u32* count, float* y) {
  int t = threadIdx.x, n = gridDim.x;
  __shared__ u32 last;
  part[32 * blockIdx.x + t] = x[32 * blockIdx.x + t];
  __syncthreads();
  if (t == 0) { __threadfence(); last = atomicAdd(count, 1u); IF_FIXED(__threadfence();) }
  __syncthreads();
  if (last != n - 1) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += part[32 * i + t];
  y[t] = sum;
}
