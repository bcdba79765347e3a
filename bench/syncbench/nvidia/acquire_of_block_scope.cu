#include "sync.h"
// CTA 1 waits for a flag of CTA 0 with an acquire of CTA scope.
extern "C" __global__ void kernel(const float* x, float* part, u32* flag, float* y) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    part[t] = x[t];
    __syncthreads();
    if (t == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    if (t == 0) {
      u32 v = 0;
      while (!v) asm volatile(IF_WRONG("ld.acquire.cta.global.u32 %0, [%1];") IF_FIXED("ld.acquire.gpu.global.u32 %0, [%1];") : "=r"(v) : "l"(flag) : "memory");
    }
    __syncthreads();
    y[t] = part[t];
  }
}
