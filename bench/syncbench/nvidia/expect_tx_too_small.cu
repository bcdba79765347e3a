#include "sync.h"
// Two copies land on a barrier that was told the bytes of one.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[2][32];
  __shared__ u64 full;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&full, 1); init_fence(); }
  __syncthreads();
  if (t == 0) {
#ifdef FIXED
    bar_expect(&full, 256);
#else
    bar_expect(&full, 128);
#endif
    bulk_load(s[0], x, 128, &full);
    bulk_load(s[1], x + 32, 128, &full);
  }
  bar_wait(&full, 0);
  y[t] = s[0][t] + s[1][t];
}
