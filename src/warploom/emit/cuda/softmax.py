"""Device functions of the softmax between attention's two products: 64 rows of a warpgroup.

They touch registers only (and the results' global memory at the end of a tile); which of them runs
when is the schedule's business. HEAD_DIM and TILE_K are constants of the source they stand in.
"""

from __future__ import annotations


def softmax_functions(dtype: str, *, q_registers: bool) -> str:
    """The functions, with conversions to ``dtype``; Q's fragments where asked for."""
    return _SOFTMAX.replace("PACK", f"pack_{dtype}") + (_FETCH_Q if q_registers else "")


_SOFTMAX = """\
// A consumer thread holds accumulators d[4j + 2i + c]: row 8i + lane / 4 of its warp's 16 rows,
// column 8j + 2 (lane % 4) + c. m, l and a have one value for each of its two rows i.

constexpr int S_REGS = TILE_K / 2, O_REGS = HEAD_DIM / 2, P_STEPS = TILE_K / 16;

// The score of a key that a query does not see; finite, so that differences of it are numbers.
constexpr float MASKED = -1e30f;

// The maximum that exponentials are taken with moves only when a score exceeds it by more than this
// (in powers of two): sums stay far below overflow, and most tiles leave the output as it is.
constexpr float MAX_LAG = 8.0f;

DEVICE void start_rows(float (&o)[O_REGS], float (&m)[2], float (&l)[2]) {
#pragma unroll
  for (int i = 0; i < O_REGS; ++i) o[i] = 0.0f;
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

// Keep the scores of the first `seen` keys of the tile for row 0, one more for each row below.
// `most` is how many keys of the tile exist.
DEVICE void mask_keys(float (&s)[S_REGS], int seen, int most) {
  const int column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int end = min(seen + 8 * i, most) - column;
#pragma unroll
    for (int j = 0; j < TILE_K / 8; ++j)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (8 * j + c >= end) s[4 * j + 2 * i + c] = MASKED;
  }
}

// The running maximum m, within MAX_LAG, and a: what exponentials taken with the old one are
// multiplied by.
DEVICE void row_max(const float (&s)[S_REGS], float (&m)[2], float (&a)[2], float scale) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float x = m[i];
#pragma unroll
    for (int j = 0; j < TILE_K / 8; ++j)
      x = fmaxf(x, fmaxf(s[4 * j + 2 * i], s[4 * j + 2 * i + 1]));
    x = quad_max(x);
    x = (x - m[i]) * scale <= MAX_LAG ? m[i] : x;
    a[i] = exp2_approx((m[i] - x) * scale);
    m[i] = x;
  }
}

// s = exp2(scale * (s - m)) in place, and the thread's part of the row sums. A row that saw no key
// yet has zeros.
DEVICE void exponentials(float (&s)[S_REGS], const float (&m)[2], const float (&a)[2],
                         float (&l)[2], float scale) {
  const float shift[2] = {m[0] > MASKED ? m[0] * scale : 0.0f, m[1] > MASKED ? m[1] * scale : 0.0f};
  float sum[2] = {0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < TILE_K / 8; ++j)
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
DEVICE void to_p(uint32_t (&p)[P_STEPS][4], const float (&s)[S_REGS]) {
#pragma unroll
  for (int i = 0; i < P_STEPS; ++i)
#pragma unroll
    for (int u = 0; u < 4; ++u) p[i][u] = PACK(s[8 * i + 2 * u], s[8 * i + 2 * u + 1]);
}

DEVICE void rescale(float (&o)[O_REGS], const float (&a)[2]) {
  if (__all_sync(~0u, a[0] == 1.0f && a[1] == 1.0f)) return;
#pragma unroll
  for (int j = 0; j < HEAD_DIM / 8; ++j) {
    o[4 * j] *= a[0];
    o[4 * j + 1] *= a[0];
    o[4 * j + 2] *= a[1];
    o[4 * j + 3] *= a[1];
  }
}

// The rows' sums over the four threads that share them, inverted (0 for a row that sees no key),
// and the logarithms of the sums of exponentials, where wanted: `row` is the thread's first one.
DEVICE void finish_rows(float (&l)[2], const float (&m)[2], float scale, float* lse, int row,
                        int rows) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = quad_sum(l[i]);
    const bool sees = m[i] > MASKED;
    l[i] = sees ? 1.0f / sum : 0.0f;
    if (lse != nullptr && threadIdx.x % 4 == 0 && row + 8 * i < rows)
      lse[row + 8 * i] = sees ? (m[i] * scale + log2_approx(sum)) * 0.6931471805599453f
                              : __int_as_float(0xff800000);
  }
}

// Four threads hold a row in pairs of columns; they exchange them, so that each writes 16 bytes.
DEVICE void store_rows(const float (&o)[O_REGS], const float (&l)[2], uint16_t* out,
                       long long stride, int row, int rows) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    uint16_t* at = out + (row + 8 * i) * stride + 8 * lane;
#pragma unroll
    for (int g = 0; g < HEAD_DIM / 32; ++g) {
      uint32_t x[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* d = &o[16 * g + 4 * j + 2 * i];
        x[j] = PACK(d[0] * l[i], d[1] * l[i]);
      }
      quad_transpose(x);
      if (row + 8 * i < rows) store_global4(at + 32 * g, x);
    }
  }
}

"""

_FETCH_Q = """\
// A warp's 16 rows of Q as A fragments: blocks of 64 columns, `block` bytes apart.
DEVICE void fetch_q(uint32_t (&q)[HEAD_DIM / 16][4], uint32_t address, uint32_t block) {
  const int lane = threadIdx.x % 32, row = lane % 16, half = lane / 16;
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 16; ++i)
    ldmatrix4(q[i], address + i / 4 * block + row * 128 + (((i % 4 * 2 + half) ^ (row % 8)) << 4));
}

"""
