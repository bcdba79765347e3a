"""Device functions of the softmax between attention's two products: 64 rows, 128 keys a warpgroup.

They touch registers only; which of them runs when is the schedule's business.
"""

from __future__ import annotations


def softmax_functions(dtype: str, *, causal: bool, q_registers: bool) -> str:
    """The functions, with conversions to ``dtype``; mask and Q's fragments where asked for."""
    extra = (_MASK if causal else "") + (_FETCH_Q if q_registers else "")
    return _SOFTMAX.replace("PACK", f"pack_{dtype}") + extra


_SOFTMAX = """\
// A consumer thread holds accumulators d[4j + 2i + c]: row 8i + lane / 4 of its warp's 16 rows,
// column 8j + 2 (lane % 4) + c. m, l and a have one value for each of its two rows i.

DEVICE void start_rows(float (&o)[64], float (&m)[2], float (&l)[2]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) o[i] = 0.0f;
  m[0] = m[1] = __int_as_float(0xff800000);
  l[0] = l[1] = 0.0f;
}

DEVICE float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

DEVICE float quad_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

// The running maximum m, and a: what exponentials taken with the old maximum are multiplied by.
DEVICE void row_max(const float (&s)[64], float (&m)[2], float (&a)[2], float scale) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float x = m[i];
#pragma unroll
    for (int j = 0; j < 16; ++j) x = fmaxf(x, fmaxf(s[4 * j + 2 * i], s[4 * j + 2 * i + 1]));
    x = quad_max(x);
    a[i] = exp2_approx((m[i] - x) * scale);
    m[i] = x;
  }
}

// s = exp2(scale * (s - m)) in place, and the thread's part of the row sums.
DEVICE void exponentials(float (&s)[64], const float (&m)[2], const float (&a)[2], float (&l)[2],
                         float scale) {
  const float shift[2] = {m[0] * scale, m[1] * scale};
  float sum[2] = {0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < 16; ++j)
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& x = s[4 * j + 2 * i + c];
        x = exp2_approx(fmaf(x, scale, -shift[i]));
        sum[i] += x;
      }
  l[0] = fmaf(l[0], a[0], sum[0]);
  l[1] = fmaf(l[1], a[1], sum[1]);
}

// Eight accumulators, packed in pairs, are the A fragment of one k-step.
DEVICE void to_p(uint32_t (&p)[8][4], const float (&s)[64]) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int u = 0; u < 4; ++u) p[i][u] = PACK(s[8 * i + 2 * u], s[8 * i + 2 * u + 1]);
}

DEVICE void rescale(float (&o)[64], const float (&a)[2]) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    o[4 * j] *= a[0];
    o[4 * j + 1] *= a[0];
    o[4 * j + 2] *= a[1];
    o[4 * j + 3] *= a[1];
  }
}

// The rows' sums over the four threads that share them, inverted.
DEVICE void finish_rows(float (&l)[2]) {
  l[0] = 1.0f / quad_sum(l[0]);
  l[1] = 1.0f / quad_sum(l[1]);
}

// 64 columns of a warp's 16 rows, normalised, into its swizzled staging copy.
DEVICE void stage_o(const float (&o)[64], int column, const float (&l)[2], uint32_t buffer) {
  const int lane = threadIdx.x % 32, row = lane % 16, half = lane / 16;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float* d = &o[column / 2 + 8 * j];
    const uint32_t address = buffer + row * 128 + (((2 * j + half) ^ (row % 8)) << 4);
    stmatrix4(address, PACK(d[0] * l[0], d[1] * l[0]), PACK(d[2] * l[1], d[3] * l[1]),
              PACK(d[4] * l[0], d[5] * l[0]), PACK(d[6] * l[1], d[7] * l[1]));
  }
}

"""

_MASK = """\
// Keys behind a query of the tile on the diagonal: weight zero.
DEVICE void mask_diagonal(float (&s)[64], int instance, int warp_in_group) {
  const int lane = threadIdx.x % 32, first = 64 * instance + 16 * warp_in_group + lane / 4;
#pragma unroll
  for (int j = 0; j < 16; ++j)
#pragma unroll
    for (int q = 0; q < 4; ++q)
      if (8 * j + lane % 4 * 2 + q % 2 > first + q / 2 * 8)
        s[4 * j + q] = __int_as_float(0xff800000);
}

"""

_FETCH_Q = """\
// A warp's 16 rows of Q as A fragments: two blocks of 64 columns, `block` bytes apart.
DEVICE void fetch_q(uint32_t (&q)[8][4], uint32_t address, uint32_t block) {
  const int lane = threadIdx.x % 32, row = lane % 16, half = lane / 16;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    ldmatrix4(q[i], address + i / 4 * block + row * 128 + (((i % 4 * 2 + half) ^ (row % 8)) << 4));
}

"""
