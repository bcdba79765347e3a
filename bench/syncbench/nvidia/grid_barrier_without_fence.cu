#include "sync.h"
// A hand-written barrier of the grid between two steps of a stencil.
extern "C" __global__ void kernel(const float* x, float* mid, u32* count, float* y) {
  int t = threadIdx.x, g = 32 * blockIdx.x + t, n = 32 * gridDim.x;
  mid[g] = x[g];
  __syncthreads();
  if (t == 0) {
    IF_FIXED(__threadfence();)
    atomicAdd(count, 1u);
    while (atomicAdd(count, 0u) < gridDim.x) {}
    IF_FIXED(__threadfence();)
  }
  __syncthreads();
  y[g] = mid[(g + 32) % n];
}
