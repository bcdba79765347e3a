#include "sync.h"
// A tile is written with stmatrix and sent by a bulk store.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) unsigned s[128];
  int t = threadIdx.x;
  unsigned v = __float_as_uint(x[t]);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(smem(s) + 16 * t), "r"(v) : "memory");
  IF_FIXED(proxy_fence();)
  __syncwarp();
  if (t == 0) { bulk_store(y, s, 512); bulk_commit(); bulk_wait_read(); }
}
