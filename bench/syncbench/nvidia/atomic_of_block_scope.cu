#include "sync.h"
// CTAs count in global memory with an atomic of CTA scope.
extern "C" __global__ void kernel(const float* x, u32* count) {
  if (threadIdx.x == 0) { IF_WRONG(atomicAdd_block(count, 1u);) IF_FIXED(atomicAdd(count, 1u);) }
}
