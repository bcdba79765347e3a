#include "sync.h"
// wait_group.read frees the source; the result may not have been written when the flag is released.
extern "C" __global__ void kernel(const float* x, float* part, u32* flag, float* y) {
  __shared__ alignas(128) float s[32];
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    s[t] = x[t];
    proxy_fence();
    __syncthreads();
    if (t == 0) {
      bulk_store(part, s, 128);
      bulk_commit();
#ifdef FIXED
      bulk_wait();
#else
      bulk_wait_read();
#endif
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    }
  } else {
    if (t == 0) {
      u32 seen;
      do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); while (!seen);
    }
    __syncthreads();
    y[t] = part[31 - t];
  }
}
