#include "sync.h"
// Every thread waits for its own copies, but after the barrier: others' copies may be missing.
extern "C" __global__ void kernel(const uint4* x, uint4* y) {
  __shared__ uint4 s[64];
  int t = threadIdx.x;
  copy16(&s[t], &x[t]);
  copy_commit();
  IF_FIXED(copy_wait0();)
  __syncthreads();
  IF_WRONG(copy_wait0();)
  y[t] = s[63 - t];
}
