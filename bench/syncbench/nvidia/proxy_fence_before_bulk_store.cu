#include "sync.h"
// Ordinary stores fill a tile, a bulk store sends it.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) float tile_[128];
  tile_[threadIdx.x] = x[threadIdx.x] * 2;
  IF_FIXED(proxy_fence();)
  __syncthreads();
  if (threadIdx.x == 0) { bulk_store(y, tile_, 512); bulk_commit(); bulk_wait(); }
}
