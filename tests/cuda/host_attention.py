"""The emitted consumer of an attention kernel, run by a host compiler.

The loop over tiles, the role's program, the masks and the softmax are the emitted text as it is.
Waits, fences and barriers become nothing; the two products become loops that read K and V as the
copies would have brought them. Four lanes that share two rows run in lockstep at every exchange.
"""

from __future__ import annotations

import ctypes as c
import hashlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from warploom.document.roles import (
    Arrive,
    Commit,
    MmaFence,
    NamedArrive,
    NamedSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.emit.cuda import attention as emitter
from warploom.emit.cuda.attention_tiles import TILES, tile_loop
from warploom.emit.cuda.ptx import HELPERS
from warploom.emit.cuda.roles import role_tile
from warploom.emit.cuda.softmax import softmax_functions
from warploom.launch.attention_launch import visits_of_head
from warploom.launch.shipped import schedule_for

from .call_struct import Call, Divisor

SILENT = (Arrive, Commit, MmaFence, NamedArrive, NamedSync, WaitEmpty, WaitFull, WaitGroup)

HEAD = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
#include <vector>
#define DEVICE static inline
using std::min;
struct { int x; } threadIdx, blockIdx, gridDim;

// Four lanes take turns at every exchange; two buffers, since one lane may be an exchange ahead.
static ucontext_t lanes[4], home;
static int running, live;
static uint32_t exchanged[2][4];
static int count[4];

static void next_lane() {
  const int old = running;
  running = (old + 1) % 4;
  threadIdx.x = running;
  swapcontext(&lanes[old], &lanes[running]);
}

template <class T> static T __shfl_xor_sync(unsigned, T x, int distance) {
  uint32_t* slots = exchanged[count[running]++ % 2];
  memcpy(&slots[running], &x, 4);
  next_lane();
  T got;
  memcpy(&got, &slots[running ^ distance], 4);
  return got;
}

// Of four lanes instead of 32: a warp rescales when any lane must, which changes no value.
static bool __all_sync(unsigned, bool p) {
  int x = p;
  x &= __shfl_xor_sync(~0u, x, 1);
  return x & __shfl_xor_sync(~0u, x, 2);
}

static float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
static float exp2_approx(float x) { return exp2f(x); }
static float log2_approx(float x) { return log2f(x); }
static int opaque(int x) { return x; }
static uint32_t bf16(float x) {
  const uint32_t b = __float_as_int(x);
  return x != x ? 0x7fc0 : (b + 0x7fff + (b >> 16 & 1)) >> 16;
}
static uint32_t pack_bf16(float lo, float hi) { return bf16(lo) | bf16(hi) << 16; }
static float low(uint32_t x) { return __int_as_float(x << 16); }
static float high(uint32_t x) { return __int_as_float(x & 0xffff0000u); }
static void store_global4(void* at, const uint32_t (&x)[4]) { memcpy(at, x, 16); }
"""

PRODUCTS = r"""
// Operands of the call: [outer, heads, rows, HEAD_DIM], and how many rows exist in memory.
static const float *q_data, *k_data, *v_data;
static int q_rows, k_rows;

static float at(const float* data, int rows, int heads, const Tile& t, int head, int row, int d) {
  if (row < 0 || row >= rows) return 0.0f;  // copies bring zeros from outside
  return data[((t.outer * (long long)heads + head) * rows + row) * HEAD_DIM + d];
}

static void host_qk(float (&s)[S_REGS], const Call& call, const Tile& t, int row, int key) {
  const int head = t.head / call.share, kv_heads = (int)call.heads.value / call.share;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < TILE_K / 8; ++j)
      for (int c = 0; c < 2; ++c) {
        const int column = key + 8 * j + 2 * (threadIdx.x % 4) + c;
        float sum = 0.0f;
        for (int d = 0; d < HEAD_DIM; ++d)
          sum += at(q_data, q_rows, (int)call.heads.value, t, t.head, t.q_base + row + 8 * i, d) *
                 at(k_data, k_rows, kv_heads, t, head, t.k_base + column, d);
        s[4 * j + 2 * i + c] = sum;
      }
}

// A lane holds P of its own columns only: the sum over the four lanes is exchanged.
static void host_pv(float (&o)[O_REGS], const uint32_t (&p)[P_STEPS][4], const Call& call,
                    const Tile& t, int key) {
  const int head = t.head / call.share, kv_heads = (int)call.heads.value / call.share;
  for (int i = 0; i < 2; ++i)
    for (int d = 0; d < HEAD_DIM; ++d) {
      float sum = 0.0f;
      for (int step = 0; step < P_STEPS; ++step)
        for (int half = 0; half < 2; ++half)
          for (int c = 0; c < 2; ++c) {
            const uint32_t pair = p[step][2 * half + i];
            const int column = key + 16 * step + 8 * half + 2 * (threadIdx.x % 4) + c;
            sum += (c ? high(pair) : low(pair)) *
                   at(v_data, k_rows, kv_heads, t, head, t.k_base + column, d);
          }
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (d / 2 % 4 == threadIdx.x % 4) o[d / 8 * 4 + 2 * i + d % 2] += sum;
    }
}
"""

FOOT = r"""
static Call the_call;
static int the_instance, the_warp, the_quad;

static void lane_main() {
  const Call& call = the_call;
  const int instance = the_instance, warp_in_group = the_warp;
  const int lane = 4 * the_quad + running;
  consumer(call, instance, warp_in_group, lane);
  --live;
  while (live) next_lane();
}

static void run_quad() {
  static std::vector<char> stacks[4];
  live = 4;
  for (int i = 0; i < 4; ++i) {
    stacks[i].resize(1 << 18);
    count[i] = 0;
    getcontext(&lanes[i]);
    lanes[i].uc_stack.ss_sp = stacks[i].data();
    lanes[i].uc_stack.ss_size = stacks[i].size();
    lanes[i].uc_link = &home;
    makecontext(&lanes[i], lane_main, 0);
  }
  running = 0;
  threadIdx.x = 0;
  swapcontext(&home, &lanes[0]);
}

extern "C" void attention(const Call* call, const float* q, const float* k, const float* v, int qn,
                          int kn, int ctas) {
  the_call = *call;
  q_data = q; k_data = k; v_data = v;
  q_rows = qn; k_rows = kn;
  gridDim.x = ctas;
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x)
    for (the_instance = 0; the_instance < TILE_Q / 64; ++the_instance)
      for (the_warp = 0; the_warp < 4; ++the_warp)
        for (the_quad = 0; the_quad < 8; ++the_quad) run_quad();
}
"""


@dataclass(frozen=True)
class Host:
    kernel: object
    library: c.CDLL

    def run(self, q, k, v, *, kv_heads, align_end=False, starts=None, most=None, ctas=3):
        """(out, lse) of float32 arrays [outer, heads, rows, head dim]; packed with ``starts``."""
        outer, heads, rows, dim = q.shape
        q, k, v = (np.ascontiguousarray(t, dtype=np.float32) for t in (q, k, v))
        out = np.zeros(q.shape, dtype=np.uint16)
        out[:] = 0x7FC0  # NaN: rows that nobody writes are seen
        shape = (outer, heads, rows) if starts is None else (heads, rows)
        lse = np.full(shape, np.nan, dtype=np.float32)
        held = [np.asarray(s, dtype=np.int32) for s in starts or ()]
        where = [s.ctypes.data for s in held] or [None, None]
        queries, keys = most or (rows, k.shape[2])
        call = Call(
            out=out.ctypes.data,
            lse=lse.ctypes.data,
            q_starts=where[0],
            k_starts=where[1],
            out_row=dim,
            out_head=rows * dim,
            out_batch=heads * rows * dim,
            batches=len(held[0]) - 1 if held else outer,
            heads=Divisor.of(heads),
            visits_of_head=Divisor.of(
                visits_of_head(queries, self.kernel.tile_q, causal=self.kernel.causal)
            ),
            share=heads // kv_heads,
            queries=queries,
            keys=keys,
            align_end=int(align_end),
            scale=dim**-0.5 * np.log2(np.e),
        )
        arrays = [t.ctypes.data_as(c.c_void_p) for t in (q, k, v)]
        self.library.attention(c.byref(call), *arrays, rows, k.shape[2], ctas)
        wide = out.astype(np.uint32) << 16
        return wide.view(np.float32), lse


def host_source(kernel):
    """The text a host compiler takes."""
    document = schedule_for(kernel)
    program = document.program("consumer")
    plain = _on_host(emitter.attention_table(kernel))
    masked = _on_host(emitter.attention_table(kernel, masked=True))
    first = [("range.masked", masked)] if kernel.causal else []
    held = f", q[{kernel.head_dim // 16}][4]" if kernel.q_registers else ""
    body = [
        "static void consumer(const Call& call, int instance, int warp_in_group, int lane) {",
        "float s[S_REGS], o[O_REGS], m[2], l[2], a[2];",
        f"uint32_t p[P_STEPS][4]{held};",
        *(f"struct {{ void advance() {{}} }} {r.name};" for r in document.rings),
        *tile_loop(role_tile(document, program, plain, first)),
        "}",
    ]
    functions = softmax_functions(kernel.dtype, q_registers=False)
    sizes = "\n".join(emitter.tile_constants(kernel))
    return "\n".join(
        [HEAD, HELPERS["quad_transpose"], sizes, TILES, functions, PRODUCTS, *body, FOOT]
    )


def _on_host(table):
    row = emitter.WARP_ROW
    for kind in SILENT:
        table = table.with_kind(kind, lambda e, site: [])
    key = "(k_tiles - 1 - ({})) * TILE_K"
    return (
        table.with_op("fetch_q", lambda e, site: [])
        .with_op(
            "qk",
            lambda e, site: [
                f"host_qk(s, call, tile, tile.q_first + {row}, {key.format(site.iteration(e.k))});"
            ],
        )
        .with_op(
            "pv",
            lambda e, site: [f"host_pv(o, p, call, tile, {key.format(site.iteration(e.k))});"],
        )
    )


def compiler():
    """A C++ compiler's command, or None."""
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return [name]
    try:
        import ziglang  # noqa: F401
    except ImportError:
        return None
    return [sys.executable, "-m", "ziglang", "c++"]


@cache
def _folder():
    return tempfile.TemporaryDirectory()


@cache
def host_of(kernel):
    """The kernel's consumer as a library; skips the test where there is no compiler."""
    return Host(kernel, build(host_source(kernel)))


def build(source):
    command = compiler()
    if command is None:
        pytest.skip("no C++ compiler")
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    text, library = (Path(_folder().name) / f"{name}.{end}" for end in ("cpp", "so"))
    text.write_text(source)
    flags = ["-std=c++17", "-O2", "-ffp-contract=on", "-w", "-fPIC", "-shared"]
    done = subprocess.run(
        [*command, *flags, "-o", str(library), str(text)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    return c.CDLL(str(library))
