#include "sync.h"
// One warp releases for both warps of its partition before the other has looked at the barrier.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ u64 ready, empty;
  int t = threadIdx.x;
  if (t == 0) { bar_init(&ready, 1); bar_init(&empty, 1); init_fence(); }
  __syncthreads();
  if (t < 64) {
    for (int i = 0; i < 3; ++i) {
      bar_wait(&ready, i & 1);
      IF_FIXED(named_sync(1, 64);)
      if (t == 0) bar_arrive(&empty);
    }
    y[t] = x[t];
  } else if (t == 64) {
    for (int i = 0; i < 3; ++i) {
      bar_wait(&empty, (i & 1) ^ 1);
      bar_arrive(&ready);
    }
  }
}
