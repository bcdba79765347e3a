#include "sync.h"
// The producer runs two phases ahead: nobody tells it that the consumer has looked.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[4][32];
  __shared__ u64 full, empty;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&full, 1); bar_init(&empty, 1); init_fence(); }
  __syncthreads();
  if (t >= 32) {
    if (t == 32) for (int i = 0; i < 4; ++i) {
      IF_FIXED(if (i > 0) bar_wait(&empty, (i - 1) & 1);)
      IF_WRONG(if (i > 1) bar_wait(&empty, i & 1);)
      bar_expect(&full, 128);
      bulk_load(s[i], x + 32 * i, 128, &full);
    }
    return;
  }
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    bar_wait(&full, i & 1);
    sum += s[i][t];
    __syncwarp();
    if (t == 0) bar_arrive(&empty);
  }
  y[t] = sum;
}
