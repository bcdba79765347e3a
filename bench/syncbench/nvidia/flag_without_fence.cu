#include "sync.h"
// Parts of a sum meet through a counter; the writers do not publish their parts before they count.
extern "C" __global__ void kernel(const float* x, float* part, u32* count, float* y) {
  int t = threadIdx.x, n = gridDim.x;
  __shared__ u32 last;
  part[32 * blockIdx.x + t] = x[32 * blockIdx.x + t];
  IF_FIXED(__threadfence();)
  __syncthreads();
  if (t == 0) last = atomicAdd(count, 1u);
  __syncthreads();
  if (last != n - 1) return;
  __threadfence();
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += ((volatile float*)part)[32 * i + t];
  y[t] = sum;
}
