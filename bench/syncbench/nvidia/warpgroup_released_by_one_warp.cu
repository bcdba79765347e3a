#include "sync.h"
// One warp of a warpgroup releases an operand after its own wait; the other warps may still read.
extern "C" __global__ void kernel(const uint4* x, float* y) {
  __shared__ alignas(128) uint4 a[128];
  __shared__ alignas(128) uint4 b[16];
  __shared__ u64 full, empty;
  int t = threadIdx.x;
  if (t == 0) {
    bar_init(&full, 1);
#ifdef FIXED
    bar_init(&empty, 4);
#else
    bar_init(&empty, 1);
#endif
    init_fence();
  }
  __syncthreads();
  if (t >= 128) {
    if (t == 128) for (int i = 0; i < 3; ++i) {
      if (i) bar_wait(&empty, (i - 1) & 1);
      bar_expect(&full, 2304);
      bulk_load(a, x + 144 * i, 2048, &full);
      bulk_load(b, x + 144 * i + 128, 256, &full);
    }
    return;
  }
  float d[4] = {0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    bar_wait(&full, i & 1);
    wg_fence(d);
    wgmma(d, a, b);
    wg_commit();
    wg_wait<0>();
#ifdef FIXED
    if (t % 32 == 0) bar_arrive(&empty);
#else
    if (t == 0) bar_arrive(&empty);
#endif
  }
  for (int i = 0; i < 4; ++i) y[4 * t + i] = d[i];
}
