#include "sync.h"
// All warps look whether they are the first CTA; one thread then says that one was here.
extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x, *lock = (int*)(y + 128), *count = lock + 1;
  if (t == 0) while (atomicCAS(lock, 0, 1) != 0);
  __threadfence();
  __syncthreads();
  bool first = *count == 0;
  IF_FIXED(__syncthreads();)
  if (first && t == 0) atomicExch(count, 1);
  float v = x[t + 64 * blockIdx.x];
  if (!first) v += __ldcg(y + t);
  y[t] = v;
  __threadfence();
  __syncthreads();
  if (t == 0) atomicExch(lock, 0);
}
