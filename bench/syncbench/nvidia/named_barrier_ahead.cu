#include "sync.h"
// An arriver of a named barrier may run into the next generation before the first is complete.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[2][32];
  int t = threadIdx.x;
  if (t < 32) {
    for (int i = 0; i < 2; ++i) {
      s[i][t] = x[32 * i + t];
      named_arrive(1, 64);
      IF_FIXED(named_sync(2, 64);)
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      named_sync(1, 64);
      y[32 * i + t - 32] = s[i][63 - t];
      IF_FIXED(named_arrive(2, 64);)
    }
  }
}
