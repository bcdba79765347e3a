#include "sync.h"
// The barrier expects one arrival a thread, but only one thread of every warp arrives.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[64];
  __shared__ u64 b;
  int t = threadIdx.x;
#ifdef FIXED
  if (t == 0) { bar_init(&b, 2); init_fence(); }
#else
  if (t == 0) { bar_init(&b, 64); init_fence(); }
#endif
  __syncthreads();
  s[t] = x[t];
  __syncwarp();
  if (t % 32 == 0) bar_arrive(&b);
  bar_wait(&b, 0);
  y[t] = s[63 - t];
}
