#include "sync.h"
// The consumers ask for more registers than the producers gave back.
extern "C" __global__ void __launch_bounds__(256, 1) kernel(const float* x, float* y) {
  int t = threadIdx.x;
  if (t < 128) {
    asm volatile(IF_WRONG("setmaxnreg.dec.sync.aligned.u32 120;") IF_FIXED("setmaxnreg.dec.sync.aligned.u32 40;"));
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
    y[t] = x[t];
  }
}
