"""Further Triton kernels for AMD targets: backward passes, flags between programs, rare shapes."""

import triton
import triton.language as tl


@triton.jit
def rmsnorm_residual(x, residual, weight, out, kept, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(residual + row + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(kept + row + at, value, mask=inside)
    scale = tl.rsqrt(tl.sum(value * value, 0) / columns + eps)
    value = value * scale * tl.load(weight + at, mask=inside, other=0.0)
    tl.store(out + row + at, value, mask=inside)


@triton.jit
def layernorm_backward(x, weight, dout, dx, dw, lock, columns, eps, BLOCK: tl.constexpr):
    """Partial sums of the weights' gradient are added up under a lock."""
    row = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row + at, mask=inside, other=0.0)
    given = tl.load(dout + row + at, mask=inside, other=0.0)
    w = tl.load(weight + at, mask=inside, other=0.0)
    mean = tl.sum(value, 0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / columns + eps)
    normal = centred * scale
    g = given * w
    first = tl.sum(tl.where(inside, normal * g, 0.0), 0) / columns
    second = tl.sum(tl.where(inside, g, 0.0), 0) / columns
    tl.store(dx + row + at, (g - (normal * first + second)) * scale, mask=inside)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    old = tl.load(dw + at, mask=inside, other=0.0, cache_modifier=".cv")
    tl.store(dw + at, old + normal * given, mask=inside, cache_modifier=".wt")
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention_with_lse(q, k, v, out, lse, rows, scale, D: tl.constexpr, BM: tl.constexpr,
                       BN: tl.constexpr, GROUPS: tl.constexpr):  # fmt: skip
    """Grouped queries: program 1 is the query head, its key head is that over GROUPS."""
    head = tl.program_id(1)
    q += head * rows * D
    out += head * rows * D
    k += head // GROUPS * rows * D
    v += head // GROUPS * rows * D
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + at[:, None] * D + d[None, :], mask=at[:, None] < rows, other=0.0)
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, rows, BN):
        key = start + tl.arange(0, BN)
        inside = key < rows
        kk = tl.load(k + key[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        score = tl.where(inside[None, :], tl.dot(query, kk) * scale, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        keep = tl.exp(top - higher)
        total = total * keep + tl.sum(p, 1)
        vv = tl.load(v + key[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(vv.dtype), vv, acc * keep[:, None])
        top = higher
    done = at < rows
    tl.store(out + at[:, None] * D + d[None, :], acc / total[:, None], mask=done[:, None])
    tl.store(lse + head * rows + at, top + tl.log(total), mask=done)


@triton.jit
def attention_dkdv(q, k, v, dout, lse, delta, dk, dv, rows, scale, D: tl.constexpr,
                   BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    key = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    kk = tl.load(k + key[:, None] * D + d[None, :])
    vv = tl.load(v + key[:, None] * D + d[None, :])
    for_k = tl.zeros((BN, D), tl.float32)
    for_v = tl.zeros((BN, D), tl.float32)
    for start in range(0, rows, BM):
        at = start + tl.arange(0, BM)
        qq = tl.load(q + at[:, None] * D + d[None, :])
        do = tl.load(dout + at[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(kk, tl.trans(qq)) * scale - tl.load(lse + at)[None, :])
        for_v = tl.dot(p.to(do.dtype), do, for_v)
        dp = tl.dot(vv, tl.trans(do))
        ds = p * (dp - tl.load(delta + at)[None, :]) * scale
        for_k = tl.dot(ds.to(qq.dtype), qq, for_k)
    tl.store(dk + key[:, None] * D + d[None, :], for_k)
    tl.store(dv + key[:, None] * D + d[None, :], for_v)


@triton.jit
def attention_dq(q, k, v, dout, lse, delta, dq, rows, scale, D: tl.constexpr, BM: tl.constexpr,
                 BN: tl.constexpr):  # fmt: skip
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    qq = tl.load(q + at[:, None] * D + d[None, :])
    do = tl.load(dout + at[:, None] * D + d[None, :])
    high, low = tl.load(lse + at), tl.load(delta + at)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, rows, BN):
        key = start + tl.arange(0, BN)
        kk = tl.load(k + key[:, None] * D + d[None, :])
        vv = tl.load(v + key[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(qq, tl.trans(kk)) * scale - high[:, None])
        ds = p * (tl.dot(do, tl.trans(vv)) - low[:, None]) * scale
        acc = tl.dot(ds.to(kk.dtype), kk, acc)
    tl.store(dq + at[:, None] * D + d[None, :], acc)


@triton.jit
def decode_paged(q, k, v, pages, out, keys, scale, D: tl.constexpr, PAGE: tl.constexpr,
                 HEADS: tl.constexpr):  # fmt: skip
    head = tl.arange(0, HEADS)
    d = tl.arange(0, D)
    query = tl.load(q + head[:, None] * D + d[None, :])
    top = tl.full((HEADS,), -1e30, tl.float32)
    total = tl.zeros((HEADS,), tl.float32)
    acc = tl.zeros((HEADS, D), tl.float32)
    for number in range(tl.cdiv(keys, PAGE)):
        page = tl.load(pages + number)
        inside = number * PAGE + tl.arange(0, PAGE) < keys
        row = page * PAGE + tl.arange(0, PAGE)
        kk = tl.load(k + row[None, :] * D + d[:, None])
        score = tl.where(inside[None, :], tl.dot(query, kk) * scale, -1e30)
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        keep = tl.exp(top - higher)
        total = total * keep + tl.sum(p, 1)
        vv = tl.load(v + row[:, None] * D + d[None, :])
        acc = tl.dot(p.to(vv.dtype), vv, acc * keep[:, None])
        top = higher
    tl.store(out + head[:, None] * D + d[None, :], acc / total[:, None])


@triton.jit
def split_k_semaphore(a, b, c, partial, count, m, n, k, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr, SPLITS: tl.constexpr):  # fmt: skip
    """The last program to arrive adds up what the others left in memory."""
    part = tl.program_id(0)
    row, column = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    each = k // SPLITS
    for start in range(part * each, part * each + each, BK):
        along = start + tl.arange(0, BK)
        x = tl.load(a + row[:, None] * k + along[None, :])
        y = tl.load(b + along[:, None] * n + column[None, :])
        acc = tl.dot(x, y, acc)
    here = row[:, None] * BN + column[None, :]
    tl.store(partial + part * BM * BN + here, acc)
    tl.debug_barrier()
    arrived = tl.atomic_add(count, 1, sem="acq_rel")
    if arrived == SPLITS - 1:
        total = tl.zeros((BM, BN), tl.float32)
        for other in range(SPLITS):
            total += tl.load(partial + other * BM * BN + here)
        tl.store(c + row[:, None] * n + column[None, :], total)


@triton.jit
def grid_turns(x, out, turn, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """Programs add to the same place in order of their numbers."""
    me = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + me * BLOCK + at)
    while tl.atomic_add(turn, 0, sem="acquire") != me:
        pass
    tl.store(out + at, tl.load(out + at) * 2 + value)
    tl.debug_barrier()
    tl.atomic_xchg(turn, me + 1, sem="release")


@triton.jit
def look_back(x, out, sums, flags, BLOCK: tl.constexpr):
    """A scan over the whole array: each program waits for the sum of the one before."""
    me = tl.program_id(0)
    at = me * BLOCK + tl.arange(0, BLOCK)
    running = tl.cumsum(tl.load(x + at), 0)
    own = tl.sum(tl.load(x + at), 0)
    before = 0.0
    if me > 0:
        while tl.atomic_add(flags + me - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + me - 1)
    tl.store(sums + me, before + own)
    tl.debug_barrier()
    tl.atomic_xchg(flags + me, 1, sem="release")
    tl.store(out + at, running + before)


@triton.jit
def grouped_gemm(a, b, c, starts, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    group = tl.program_id(0)
    first, last = tl.load(starts + group), tl.load(starts + group + 1)
    column = tl.arange(0, BN)
    for tile in range(first, last, BM):
        row = tile + tl.arange(0, BM)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            along = start + tl.arange(0, BK)
            x = tl.load(a + row[:, None] * k + along[None, :], mask=row[:, None] < last, other=0.0)
            y = tl.load(b + group * k * n + along[:, None] * n + column[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + row[:, None] * n + column[None, :], acc, mask=row[:, None] < last)


@triton.jit
def int4_gemm(a, b, scale, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two weights a byte along K; a scale for every column and 64 rows."""
    row, column = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        half = start // 2 + tl.arange(0, BK // 2)
        packed = tl.load(b + half[:, None] * n + column[None, :])
        low = (packed & 15).to(tl.int8) - 8
        high = (packed >> 4).to(tl.int8) - 8
        both = tl.join(low, high).permute(0, 2, 1).reshape(BK, BN)
        s = tl.load(scale + start // 64 * n + column)
        y = (both.to(tl.float32) * s[None, :]).to(tl.bfloat16)
        along = start + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + row[:, None] * k + along[None, :]), y, acc)
    tl.store(c + row[:, None] * n + column[None, :], acc)


@triton.jit
def gemm_bias_gelu(a, b, bias, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   GROUP: tl.constexpr):  # fmt: skip
    number = tl.program_id(0)
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    band = number // (GROUP * columns)
    high = min(rows - band * GROUP, GROUP)
    r = band * GROUP + number % (GROUP * columns) % high
    q = number % (GROUP * columns) // high
    row, column = r * BM + tl.arange(0, BM), q * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        along = start + tl.arange(0, BK)
        x = tl.load(a + row[:, None] * k + along[None, :], mask=row[:, None] < m, other=0.0)
        y = tl.load(b + along[:, None] * n + column[None, :], mask=column[None, :] < n, other=0.0)
        acc = tl.dot(x, y, acc)
    acc += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    acc = acc * 0.5 * (1 + tl.erf(acc * 0.7071067811865476))
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(c + row[:, None] * n + column[None, :], acc.to(tl.bfloat16), mask=inside)


@triton.jit
def swiglu(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    gate = tl.load(x + row * 2 * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    up = tl.load(x + row * 2 * columns + columns + at, mask=at < columns, other=0.0)
    value = gate * tl.sigmoid(gate) * up.to(tl.float32)
    tl.store(out + row * columns + at, value, mask=at < columns)


@triton.jit
def rope(x, cos, sin, out, HALF: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    pair = tl.load(x + row * 2 * HALF + tl.arange(0, 2 * HALF)).reshape(HALF, 2)
    a, b = tl.split(pair)
    c, s = tl.load(cos + row * HALF + at), tl.load(sin + row * HALF + at)
    turned = tl.join(a * c - b * s, a * s + b * c).reshape(2 * HALF)
    tl.store(out + row * 2 * HALF + tl.arange(0, 2 * HALF), turned)


@triton.jit
def cross_entropy(x, target, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top, total = -1e30, 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + at, mask=at < columns, other=-1e30)
        higher = tl.maximum(top, tl.max(value, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(value - higher), 0)
        top = higher
    picked = tl.load(x + row * columns + tl.load(target + row))
    tl.store(out + row, top + tl.log(total) - picked)


@triton.jit
def quantize_rows(x, out, scale, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    s = tl.max(tl.abs(value), 0) / 127.0
    tl.store(out + row * columns + at, (value / s + 128.5).to(tl.uint8), mask=at < columns)
    tl.store(scale + row, s)


@triton.jit
def _welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    share = tl.where(count == 0, 0.0, count_b / count)
    step = mean_b - mean_a
    return mean_a + step * share, m2_a + m2_b + step * step * count_a * share, count


@triton.jit
def welford(x, mean, variance, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=0.0)
    count = tl.where(inside, 1.0, 0.0)
    m, s, c = tl.reduce((value, tl.zeros_like(value), count), 0, _welford)
    tl.store(mean + row, m)
    tl.store(variance + row, s / c)


@triton.jit
def _recur(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def recurrence(a, b, out, columns, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    row = tl.program_id(0)
    at = row * columns + tl.arange(0, BLOCK)
    _, y = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 0, _recur, reverse=REVERSE)
    tl.store(out + at, y)


@triton.jit
def scan_columns(x, out, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def top_four(x, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * BLOCK + tl.arange(0, BLOCK))
    best = tl.topk(value, 4)
    tl.store(out + row * 4 + tl.arange(0, 4), best)


@triton.jit
def smallest(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("inf"))
    tl.store(out + row, tl.argmin(value, 0))


@triton.jit
def shuffled(x, index, out, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 1))


@triton.jit
def reversed_rows(x, out, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    at = tl.arange(0, BLOCK)
    tl.store(out + row + at, tl.flip(tl.load(x + row + at), 0))


@triton.jit
def batched_dot(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch = tl.arange(0, B)[:, None, None]
    row, column, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + batch * M * K + row[None, :, None] * K + along[None, None, :])
    y = tl.load(b + batch * K * N + along[None, :, None] * N + column[None, None, :])
    place = batch * M * N + row[None, :, None] * N + column[None, None, :]
    tl.store(c + place, tl.dot(x, y))


@triton.jit
def depthwise(x, weight, out, columns, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for tap in tl.static_range(TAPS):
        where = at + tap - (TAPS - 1)
        value = tl.load(x + row * columns + where, mask=(where >= 0) & (at < columns), other=0.0)
        acc += value * tl.load(weight + row * TAPS + tap)
    tl.store(out + row * columns + at, acc, mask=at < columns)


@triton.jit
def escape(x, out, n, BLOCK: tl.constexpr):
    """A loop whose length depends on data."""
    at = tl.arange(0, BLOCK)
    c = tl.load(x + at, mask=at < n, other=0.0)
    z = tl.zeros((BLOCK,), tl.float32)
    steps = tl.zeros((BLOCK,), tl.int32)
    left = 20
    while (left > 0) & (tl.max(tl.where(tl.abs(z) < 2.0, 1, 0), 0) > 0):
        alive = tl.abs(z) < 2.0
        z = tl.where(alive, z * z + c, z)
        steps += alive.to(tl.int32)
        left -= 1
    tl.store(out + at, steps, mask=at < n)


@triton.jit
def histogram_private(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    total = tl.zeros((BINS,), tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, BLOCK * tl.num_programs(0)):
        at = start + tl.arange(0, BLOCK)
        total += tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), total)


@triton.jit
def scatter_add(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    tl.atomic_add(out + tl.load(index + at, mask=inside, other=0), value, mask=inside)


@triton.jit
def extremes(x, low, high, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_min(low + at % 16, value, mask=at < n)
    tl.atomic_max(high + at % 16, value, mask=at < n)


@triton.jit
def block_pointers(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    r, q = tl.program_id(0), tl.program_id(1)
    x = tl.make_tensor_descriptor(a, (m, k), (k, 1), (BM, BK))
    y = tl.make_tensor_descriptor(b, (k, n), (n, 1), (BK, BN))
    z = tl.make_tensor_descriptor(c, (m, n), (n, 1), (BM, BN))
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        acc = tl.dot(x.load([r * BM, start]), y.load([start, q * BN]), acc)
    z.store([r * BM, q * BN], acc)


@triton.jit
def dot_of_three(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        along = start + tl.arange(0, BK)
        x = tl.load(a + row[:, None] * k + along[None, :])
        y = tl.load(b + along[:, None] * n + column[None, :])
        acc = tl.dot(x, y, acc, input_precision="bf16x3")
    tl.store(c + row[:, None] * n + column[None, :], acc)


@triton.jit
def scaled_mixed(a, sa, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Scaled fp4 times bf16."""
    row, column = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        half = start // 2 + tl.arange(0, BK // 2)
        x = tl.load(a + row[:, None] * (k // 2) + half[None, :])
        s = tl.load(sa + row[:, None] * (k // 32) + (start // 32 + tl.arange(0, BK // 32))[None, :])
        along = start + tl.arange(0, BK)
        y = tl.load(b + along[:, None] * n + column[None, :])
        acc = tl.dot_scaled(x, s, "e2m1", y, None, "bf16", acc)
    tl.store(c + row[:, None] * n + column[None, :], acc)


@triton.jit
def variance_two_pass(x, out, columns, BM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.arange(0, BLOCK)
    inside = at[None, :] < columns
    value = tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0)
    value = value.to(tl.float64)
    mean = tl.sum(value, 1) / columns
    apart = tl.where(inside, value - mean[:, None], 0.0)
    tl.store(out + row, (tl.sum(apart * apart, 1) / columns).to(tl.float32))


@triton.jit
def xor_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(out + row, tl.xor_sum(value, 0))
