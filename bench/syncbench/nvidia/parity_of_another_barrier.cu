#include "sync.h"
// Four barriers, each used once; the waits take the parity of the loop's iteration.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[4][32];
  __shared__ u64 full[4];
  int t = threadIdx.x;
  if (t == 0) { for (int i = 0; i < 4; ++i) bar_init(&full[i], 1); init_fence(); }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (t == 0) { bar_expect(&full[i], 128); bulk_load(s[i], x + 32 * i, 128, &full[i]); }
    bar_wait(&full[i], IF_WRONG(i & 1) IF_FIXED(0));
    sum += s[i][t & 31];
  }
  y[t] = sum;
}
