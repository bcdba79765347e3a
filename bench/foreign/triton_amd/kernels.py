"""Triton kernels to compile for AMD targets: usual kernels, written here, in Triton's language."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=float("-inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * columns + at, value / tl.sum(value, 0), mask=inside)


@triton.jit
def layernorm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        value = tl.where(at < columns, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        w, b = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
        value = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row * columns + at, (value - mean) * scale * w + b, mask=inside)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           TRANSPOSED: tl.constexpr, STAGES: tl.constexpr, OUT: tl.constexpr,
           ACC: tl.constexpr):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    along = tl.arange(0, BK)
    left = a + (row % m)[:, None] * k + along[None, :]
    if TRANSPOSED:
        right = b + (column % n)[None, :] * k + along[:, None]
    else:
        right = b + along[:, None] * n + (column % n)[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for start in tl.range(0, k, BK, num_stages=STAGES):
        x = tl.load(left, mask=along[None, :] < k - start, other=0.0)
        y = tl.load(right, mask=along[:, None] < k - start, other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=ACC)
        left += BK
        right += BK if TRANSPOSED else BK * n
    where = c + row[:, None] * n + column[None, :]
    tl.store(where, acc.to(OUT), mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def matmul_even(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                TRANSPOSED: tl.constexpr, STAGES: tl.constexpr, OUT: tl.constexpr,
                ACC: tl.constexpr):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    along = tl.arange(0, BK)
    left = a + row[:, None] * k + along[None, :]
    if TRANSPOSED:
        right = b + column[None, :] * k + along[:, None]
    else:
        right = b + along[:, None] * n + column[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for _ in tl.range(0, k, BK, num_stages=STAGES):
        x = tl.load(left)
        y = tl.load(right)
        acc = tl.dot(x, y, acc, out_dtype=ACC)
        left += BK
        right += BK if TRANSPOSED else BK * n
    tl.store(c + row[:, None] * n + column[None, :], acc.to(OUT))


@triton.jit
def matmul_split(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.arange(0, BN)
    along = tl.program_id(1) * BK + tl.arange(0, BK)
    x = tl.load(a + row[:, None] * k + along[None, :])
    y = tl.load(b + along[:, None] * n + column[None, :])
    tl.atomic_add(c + row[:, None] * n + column[None, :], tl.dot(x, y))


@triton.jit
def attention(q, k, v, out, rows, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              CAUSAL: tl.constexpr, STAGES: tl.constexpr):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + row[:, None] * D + d[None, :])
    best = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else rows
    for start in tl.range(0, end, BN, num_stages=STAGES):
        column = start + tl.arange(0, BN)
        key = tl.load(k + column[None, :] * D + d[:, None])
        score = tl.dot(query, key) * scale
        if CAUSAL:
            score = tl.where(row[:, None] >= column[None, :], score, float("-inf"))
        new = tl.maximum(best, tl.max(score, 1))
        p = tl.exp2((score - new[:, None]) * 1.44269504)
        alpha = tl.exp2((best - new) * 1.44269504)
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        value = tl.load(v + column[:, None] * D + d[None, :])
        acc = tl.dot(p.to(value.dtype), value, acc)
        best = new
    tl.store(out + row[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.bfloat16))


@triton.jit
def row_sum(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.arange(0, BN)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
    tl.store(out + row, tl.sum(value, 1), mask=row < rows)


@triton.jit
def column_sum(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros([BN], tl.float32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        value = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
        total += tl.sum(value, 0)
    tl.store(out + column, total, mask=column < columns)


@triton.jit
def argmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
    tl.store(out + row, tl.argmax(value, 0).to(tl.int32))


@triton.jit
def scan(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out + row * columns + at, tl.cumsum(value, 0), mask=at < columns)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(out + value, 1, mask=inside)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_add(out, tl.sum(value, 0))


@triton.jit
def largest(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=-1)
    tl.atomic_max(out, tl.max(value, 0))


@triton.jit
def ticket(x, partial, count, out, n, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    me = tl.program_id(0)
    at = me * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(partial + me, tl.sum(value, 0))
    tl.debug_barrier()
    arrived = tl.atomic_add(count, 1, sem="acq_rel")
    if arrived == BLOCKS - 1:
        each = tl.load(partial + tl.arange(0, BLOCKS), cache_modifier=".cv")
        tl.store(out, tl.sum(each, 0))


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + row[:, None] * columns + column[None, :], mask=inside)
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(value), mask=tl.trans(inside))


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    value = 0.5 * value * (1 + tl.erf(value * 0.70710678))
    tl.store(out + at, value, mask=at < n)


@triton.jit
def to_fp8(x, out, n, BLOCK: tl.constexpr, FP8: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value.to(FP8), mask=at < n)


@triton.jit
def from_fp8(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(tl.float32), mask=at < n)


@triton.jit
def gather(x, index, out, n, width, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index + at, mask=at < n, other=0)
    column = tl.arange(0, WIDTH)
    value = tl.load(x + row[:, None] * width + column[None, :])
    tl.store(out + at[:, None] * width + column[None, :], value, mask=(at < n)[:, None])


@triton.jit
def scaled_matmul(a, sa, b, sb, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr, FORM: tl.constexpr, PACK: tl.constexpr):  # fmt: skip
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    along = tl.arange(0, BK // PACK)
    groups = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + row[:, None] * (k // PACK) + (start // PACK + along)[None, :])
        y = tl.load(b + column[None, :] * (k // PACK) + (start // PACK + along)[:, None])
        ex = tl.load(sa + row[:, None] * (k // 32) + (start // 32 + groups)[None, :])
        ey = tl.load(sb + column[:, None] * (k // 32) + (start // 32 + groups)[None, :])
        acc = tl.dot_scaled(x, ex, FORM, y, ey, FORM, acc)
    tl.store(c + row[:, None] * n + column[None, :], acc)


@triton.jit
def dropout(x, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > 0.5
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.where(keep, 2 * value, 0.0) * 0 + value, mask=at < n)


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    value = tl.sin(value) + tl.cos(3 * value) + tl.log(1 + value * value) + tl.sqrt(tl.abs(value))
    value += tl.rsqrt(1 + value * value) + tl.floor(value * 4) + tl.ceil(value) + tl.exp2(value)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def wide_integers(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1)
    big = value.to(tl.int64) * 1000003 + 12345678901
    tl.store(out + at, ((big // (value + 7)) % 1000).to(tl.int32) + (value // 3) % 5, mask=at < n)


@triton.jit
def bin_counts(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + tl.arange(0, BINS), tl.histogram(value, BINS, mask=at < n))


@triton.jit
def persistent(a, b, c, m, n, k, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
               BK: tl.constexpr):  # fmt: skip
    along = tl.arange(0, BK)
    columns = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BM) * columns, PROGRAMS, flatten=False):
        row = (tile // columns) * BM + tl.arange(0, BM)
        column = (tile % columns) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in tl.range(0, k, BK):
            x = tl.load(a + row[:, None] * k + (start + along)[None, :])
            y = tl.load(b + (start + along)[:, None] * n + column[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + row[:, None] * n + column[None, :], acc)


@triton.jit
def locked_sum(x, out, lock, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    old = tl.load(out + at, mask=at < columns, cache_modifier=".cv")
    tl.store(out + at, old + value, mask=at < columns, cache_modifier=".wt")
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_maximum(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-1e30)
    best = tl.associative_scan(value, 0, _larger)
    tl.store(out + tl.program_id(0) * columns + at, best, mask=at < columns)


@triton.jit
def chained(a, b, c, out, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x = tl.load(a + m[:, None] * BK + k[None, :])
    y = tl.load(b + k[:, None] * BN + n[None, :])
    z = tl.load(c + n[:, None] * BK + k[None, :])
    first = tl.dot(x, y)
    first = (first * 0.125).to(tl.bfloat16)
    tl.store(out + m[:, None] * BK + k[None, :], tl.dot(first, z))


@triton.jit
def halves_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
    value = value - tl.max(value, 0)
    top = tl.exp(value.to(tl.float32))
    tl.store(out + row * columns + at, (top / tl.sum(top, 0)).to(tl.float16), mask=at < columns)
