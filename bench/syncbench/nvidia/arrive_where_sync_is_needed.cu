#include "sync.h"
// A warp without work only arrives at a named barrier and comes round to it again.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  for (int i = 0; i < 3; ++i) {
    if (t < 32) {
      IF_WRONG(named_arrive(1, 64);) IF_FIXED(named_sync(1, 64);)
    } else {
      s[t - 32] = x[32 * i + t - 32];
      named_sync(1, 64);
      y[32 * i + t - 32] = s[t - 32];
    }
  }
}
