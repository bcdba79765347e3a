#include "sync.h"
// Only the else branch exchanges values, and its partial barrier was removed with the other branch's.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  if (t < 64) {
    y[t] = x[t];
  } else {
    s[t] = x[t];
    IF_FIXED(named_sync(1, 64);)
    y[t] = s[191 - t];
  }
}
