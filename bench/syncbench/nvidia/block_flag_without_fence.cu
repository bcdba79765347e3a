#include "sync.h"
// One warp hands a value to the other through a flag in shared memory.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ int flag;
  int t = threadIdx.x;
  if (t == 0) *(volatile int*)&flag = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    __syncwarp();
    if (t == 0) { IF_FIXED(__threadfence_block();) *(volatile int*)&flag = 1; }
  } else {
    while (*(volatile int*)&flag == 0) {}
    __threadfence_block();
    y[t] = s[t - 32];
  }
}
