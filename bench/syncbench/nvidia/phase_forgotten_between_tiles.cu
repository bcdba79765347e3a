#include "sync.h"
// Two tiles of three steps on a ring of two slots; the parity restarts with every tile.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float s[2][32];
  __shared__ u64 full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0) { for (int i = 0; i < 2; ++i) { bar_init(&full[i], 1); bar_init(&empty[i], 32); } init_fence(); }
  __syncthreads();
  int n = 0;
  for (int tile = 0; tile < 2; ++tile) {
    IF_WRONG(n = 0;)
    float sum = 0;
    for (int k = 0; k < 3; ++k, ++n) {
      if (t >= 32) {
        if (t == 32) {
          bar_wait(&empty[n & 1], ((n >> 1) & 1) ^ 1);
          bar_expect(&full[n & 1], 128);
          bulk_load(s[n & 1], x + 32 * (3 * tile + k), 128, &full[n & 1]);
        }
      } else {
        bar_wait(&full[n & 1], (n >> 1) & 1);
        sum += s[n & 1][t];
        bar_arrive(&empty[n & 1]);
      }
    }
    if (t < 32) y[32 * tile + t] = sum;
  }
}
