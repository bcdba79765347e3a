#include "sync.h"
// A slot is handed back after the product on it was issued, not after it was waited for.
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ alignas(128) unsigned short a[64 * 16], b[2][8 * 16];
  __shared__ u64 full[2], empty[2];
  int t = threadIdx.x;
  for (int i = t; i < 1024; i += 160) a[i] = 0x3f80;
  proxy_fence();
  if (t == 0) { for (int i = 0; i < 2; ++i) { bar_init(&full[i], 1); bar_init(&empty[i], 128); } init_fence(); }
  __syncthreads();
  if (t >= 128) {
    if (t == 128) for (int i = 0; i < 6; ++i) {
      if (i >= 2) bar_wait(&empty[i & 1], ((i >> 1) & 1) ^ 1);
      bar_expect(&full[i & 1], 256);
      bulk_load(b[i & 1], x + 64 * (i & 1), 256, &full[i & 1]);
    }
    return;
  }
  float d[4] = {0, 0, 0, 0};
  for (int i = 0; i < 6; ++i) {
    bar_wait(&full[i & 1], (i >> 1) & 1);
    wg_fence(d);
    wgmma(d, a, b[i & 1]);
    wg_commit();
    IF_FIXED(wg_wait<0>();)
    bar_arrive(&empty[i & 1]);
    IF_WRONG(wg_wait<0>();)
  }
  asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]));
  y[t] = d[0] + d[1] + d[2] + d[3];
}
