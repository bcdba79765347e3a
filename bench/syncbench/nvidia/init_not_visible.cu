#include "sync.h"
// The barrier is used by other threads before its initialisation is known to them.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[64];
  __shared__ u64 full;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&full, 1); init_fence(); }
  IF_FIXED(__syncthreads();)
  if (t == 0) { bar_expect(&full, 256); bulk_load(s, x, 256, &full); }
  bar_wait(&full, 0);
  y[t] = s[t];
}
