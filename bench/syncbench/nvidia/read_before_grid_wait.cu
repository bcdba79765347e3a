#include "sync.h"
// A kernel of a programmatic launch reads its input before it waits for the grid that writes it.
extern "C" __global__ void kernel(const float* x, float* y) {
  int t = threadIdx.x;
  IF_FIXED(asm volatile("griddepcontrol.wait;" ::: "memory");)
  float v = *(const volatile float*)(x + t);
  IF_WRONG(asm volatile("griddepcontrol.wait;" ::: "memory");)
  y[t] = v;
}
