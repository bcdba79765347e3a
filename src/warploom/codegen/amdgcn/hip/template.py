"""The part of the HIP source that is the same for every schedule of a tile: types, moves, store."""

from warploom.codegen.amdgcn.lower.state import wants_agprs
from warploom.codegen.amdgcn.plan import KernelPlan, Movement
from warploom.codegen.amdgcn.tile import ElementType

_OPERAND = {
    ElementType.BF16: "__bf16 __attribute__((ext_vector_type(8)))",
    ElementType.FP16: "_Float16 __attribute__((ext_vector_type(8)))",
    ElementType.FP8: "int __attribute__((ext_vector_type(8)))",
}


def preamble(plan: KernelPlan) -> str:
    """Everything in front of the kernel."""
    parts = [_header(plan), _constants(plan), _LANGUAGE, _lds(plan), _STEPS, _wave(plan)]
    return "\n".join(parts)


def _header(plan: KernelPlan) -> str:
    document, protocol, tile = plan.document, plan.document.protocol, plan.tile
    k = (protocol.kernel_k_base * tile.block_k, protocol.k_tiles_per_iteration * tile.block_k)
    return f"""// {document.name} ({document.strategy}), {tile.label()}
// C[M,N] fp32 = A[M,K] x B[N,K]^T, row-major and dense; K = {k[0]} + {k[1]} n.
// Launch: {tile.threads} threads, grid (ceil(M/{tile.block_m}), ceil(N/{tile.block_n})).
// Build:  clang++ -x hip --offload-arch=gfx950 -O3 (hipcc does). Order and waits below are the
//         schedule's; compare the compiler's assembly with it before trusting a new compiler.
"""


def _constants(plan: KernelPlan) -> str:
    tile = plan.tile
    staged = plan.movement is Movement.STAGED
    fragments = (plan.k_parts, plan.k_parts) if staged else plan.subtiles
    shift, mask = tile.swizzle
    rows, columns = plan.grid
    return f"""constexpr unsigned BM = {tile.block_m}, BN = {tile.block_n}, BK = {tile.block_k};
constexpr unsigned MMA_M = {tile.mfma.m}, MMA_N = {tile.mfma.n};
constexpr unsigned WAVES_M = {tile.waves_m}, WAVES_N = {tile.waves_n};
constexpr unsigned THREADS = {tile.threads};
constexpr unsigned ELEMENT = {tile.element.size};        // bytes
constexpr unsigned ROW = {tile.row_bytes};           // bytes of a row of a K-tile
constexpr unsigned CHUNKS = {tile.chunks_per_row};          // 16-byte chunks of a row
constexpr unsigned STEP_ROWS = {tile.rows_per_step};      // rows one load of all threads covers
constexpr unsigned SUBTILES_A = {plan.subtiles[0]}, SUBTILES_B = {plan.subtiles[1]};  // row sub-tiles
constexpr unsigned K_STEPS = {plan.k_steps};         // matrix instructions along K a fragment serves
constexpr unsigned READS = {tile.reads_per_operand};           // 16-byte reads an operand takes
constexpr unsigned FRAGMENTS_A = {fragments[0]}, FRAGMENTS_B = {fragments[1]};
constexpr unsigned TILES_A = {plan.tiles(0)}, TILES_B = {plan.tiles(1)};  // MMA tiles of one fragment
constexpr unsigned LOADS_A = {plan.loads(0)}, LOADS_B = {plan.loads(1)};
constexpr unsigned GRID_M = {rows}, GRID_N = {columns};   // accumulator tiles of a wave
constexpr unsigned ACC = {tile.mfma.accumulator_registers};
__attribute__((unused)) constexpr unsigned SWIZZLE_SHIFT = {shift}, SWIZZLE_MASK = {mask};
constexpr unsigned WAVES_PER_GROUP = {plan.document.protocol.waves_per_group};
constexpr unsigned FIRST_TILES = {plan.document.protocol.kernel_k_base}, TILES_PER_TRIP = {plan.document.protocol.k_tiles_per_iteration};
typedef {_OPERAND[tile.element]} operand_t;
"""  # noqa: E501


_LANGUAGE = """#if __has_include(<hip/hip_runtime.h>)
#include <hip/hip_runtime.h>
#else  // a bare clang
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads, waves) \\
  __attribute__((amdgpu_flat_work_group_size(threads, threads), amdgpu_waves_per_eu(waves, waves)))
#endif
#define INLINE __device__ __attribute__((always_inline)) inline

typedef unsigned word4 __attribute__((ext_vector_type(4)));
typedef float acc_t __attribute__((ext_vector_type(ACC)));
typedef __attribute__((address_space(3))) char lds_char;
typedef __attribute__((address_space(3))) word4 lds_word4;
"""

_STEPS = """
// Nothing moves across a fence: not in the optimiser (memory), not in the scheduler.
INLINE void fence() {
  asm volatile("" ::: "memory");
  __builtin_amdgcn_sched_barrier(0);
}
INLINE void barrier() { fence(); __builtin_amdgcn_s_barrier(); fence(); }
template <int COUNTS> INLINE void wait() { fence(); __builtin_amdgcn_s_waitcnt(COUNTS); fence(); }
template <int LEVEL> INLINE void priority() { fence(); __builtin_amdgcn_s_setprio(LEVEL); fence(); }
INLINE unsigned swizzle(unsigned row) { return row >> SWIZZLE_SHIFT & SWIZZLE_MASK; }
"""


def _lds(plan: KernelPlan) -> str:
    """One array per slot, and a function that names it."""
    lines = []
    for channel, name in enumerate("ab"):
        size = plan.tile.slot_bytes(channel, plan.subtiles[channel])
        slots = [(s, j) for s in range(plan.stages) for j in range(plan.subtiles[channel])]
        lines += [
            f"__shared__ __attribute__((aligned(1024))) char lds_{name}{s}{j}[{size}];"
            for s, j in slots
        ]
        lines.append(f"template <int STAGE, int SUB> INLINE lds_char *slot_{name}() {{")
        which = [f"if constexpr (STAGE == {s} && SUB == {j}) " for s, j in slots[:-1]] + [""]
        named = [f"return (lds_char *)lds_{name}{s}{j};" for s, j in slots]
        choice = "\n  else ".join(map("".join, zip(which, named, strict=True)))
        lines += [f"  {choice}", "}"]
    return "\n".join(lines)


def _wave(plan: KernelPlan) -> str:
    moves = _DMA_MOVES if plan.movement is Movement.DMA else _STAGED_MOVES
    return (
        _WAVE_HEAD
        + _zero(plan)
        + _READ_PART
        + moves
        + (_KEEP if plan.unused_reads else "")
        + _multiply(plan)
        + _STORE
        + "};\n"
    )


_WAVE_HEAD = """
// What one wave holds: addresses, fragments, accumulators.
struct Wave {
  __amdgpu_buffer_rsrc_t rsrc_a, rsrc_b, rsrc_c;
  unsigned tid, lane, wave, wave_m, wave_n, group;
  unsigned m, n, k, row_pitch, first_m, first_n, next;
  int trips;
  unsigned load_at_a[SUBTILES_A][LOADS_A], load_at_b[SUBTILES_B][LOADS_B];
  unsigned read_at_a[BK * ELEMENT / 16 * MMA_M / 64], read_at_b[BK * ELEMENT / 16 * MMA_N / 64];
  word4 frag_a[FRAGMENTS_A][TILES_A][K_STEPS * READS];
  word4 frag_b[FRAGMENTS_B][TILES_B][K_STEPS * READS];
  acc_t acc[GRID_M][GRID_N];

  // Buffers end with the last row of the matrix: stores after it are dropped. Loads take that row
  // instead: outside the buffer they would return at once and overtake those inside.
  INLINE unsigned inside(unsigned row, unsigned left) { return row < left ? row : left - 1; }
  INLINE __amdgpu_buffer_rsrc_t rows_of(const void *base, unsigned first, unsigned left,
                                        unsigned rows, unsigned pitch) {
    unsigned count = left < rows ? left : rows;
    return __builtin_amdgcn_make_buffer_rsrc((char *)base + (unsigned long)first * pitch, 0,
                                             count * pitch, 0x27000);
  }

  INLINE void setup(const void *mat_a, const void *mat_b, void *mat_c, unsigned dim_m,
                    unsigned dim_n, unsigned dim_k) {
    m = dim_m, n = dim_n, k = dim_k, next = 0;
    tid = __builtin_amdgcn_workitem_id_x(), lane = tid % 64;
    wave = __builtin_amdgcn_readfirstlane(tid / 64);
    wave_m = wave / WAVES_N, wave_n = wave % WAVES_N, group = wave / WAVES_PER_GROUP;
    first_m = __builtin_amdgcn_workgroup_id_x() * BM;
    first_n = __builtin_amdgcn_workgroup_id_y() * BN;
    row_pitch = k * ELEMENT;
    trips = (int)(k / BK - FIRST_TILES) / (int)TILES_PER_TRIP;
    rsrc_a = rows_of(mat_a, first_m, m - first_m, BM, row_pitch);
    rsrc_b = rows_of(mat_b, first_n, n - first_n, BN, row_pitch);
    rsrc_c = rows_of(mat_c, first_m, m - first_m, BM, n * 4);
    unsigned row = tid / CHUNKS, column = ((tid % CHUNKS) ^ swizzle(row)) * 16;
#pragma unroll
    for (unsigned sub = 0; sub < SUBTILES_A; ++sub)
#pragma unroll
      for (unsigned i = 0; i < LOADS_A; ++i)
        load_at_a[sub][i] =
            inside(sub * (BM / SUBTILES_A) + i * STEP_ROWS + row, m - first_m) * row_pitch + column;
#pragma unroll
    for (unsigned sub = 0; sub < SUBTILES_B; ++sub)
#pragma unroll
      for (unsigned i = 0; i < LOADS_B; ++i)
        load_at_b[sub][i] =
            inside(sub * (BN / SUBTILES_B) + i * STEP_ROWS + row, n - first_n) * row_pitch + column;
    read_bases<MMA_M>(read_at_a, wave_m * (BM / SUBTILES_A / WAVES_M));
    read_bases<MMA_N>(read_at_b, wave_n * (BN / SUBTILES_B / WAVES_N));
  }

  template <unsigned MMA, unsigned COUNT>
  INLINE void read_bases(unsigned (&at)[COUNT], unsigned share) {
    unsigned row = lane % MMA, part = lane / MMA;
#pragma unroll
    for (unsigned q = 0; q < COUNT; ++q)
      at[q] = (share + row) * ROW + ((part + q * (64 / MMA)) ^ swizzle(row)) * 16;
  }
"""


def _zero(plan: KernelPlan) -> str:
    if not wants_agprs(plan):
        return """
  INLINE void zero() {
#pragma unroll
    for (unsigned i = 0; i < GRID_M; ++i)
#pragma unroll
      for (unsigned j = 0; j < GRID_N; ++j)
        acc[i][j] = acc_t(0.0f);
  }
"""
    return """
  // The accumulators fill the upper half of the register file ("a"): said here, or the compiler
  // keeps them below, copies and spills.
  INLINE void zero() {
#pragma unroll
    for (unsigned i = 0; i < GRID_M; ++i)
#pragma unroll
      for (unsigned j = 0; j < GRID_N; ++j) {
        acc[i][j] = acc_t(0.0f);
        asm volatile("" : "+a"(acc[i][j]));
      }
    fence();
  }
"""


_READ_PART = """
  template <unsigned MMA, unsigned TILES, unsigned COUNT>
  INLINE void read_part(word4 (&frag)[TILES][COUNT], lds_char *slot, const unsigned *at) {
#pragma unroll
    for (unsigned q = 0; q < COUNT; ++q)
#pragma unroll
      for (unsigned t = 0; t < TILES; ++t) {
        fence();
        frag[t][q] = *(lds_word4 *)(slot + t * MMA * ROW + at[q]);
      }
    fence();
  }
"""

_DMA_MOVES = """
  template <unsigned LOADS>
  INLINE void dma(__amdgpu_buffer_rsrc_t rsrc, lds_char *slot, const unsigned (&at)[LOADS],
                  unsigned along_k) {
#pragma unroll
    for (unsigned i = 0; i < LOADS; ++i) {
      fence();
      __builtin_amdgcn_raw_ptr_buffer_load_lds(rsrc, slot + i * THREADS * 16 + wave * 1024, 16,
                                               at[i], along_k, 0, 0);
    }
    fence();
  }
  template <int STAGE, int SUB> INLINE void load_a(unsigned along_k) {
    dma(rsrc_a, slot_a<STAGE, SUB>(), load_at_a[SUB], along_k);
  }
  template <int STAGE, int SUB> INLINE void load_b(unsigned along_k) {
    dma(rsrc_b, slot_b<STAGE, SUB>(), load_at_b[SUB], along_k);
  }

  template <int STAGE, int SUB> INLINE void read_a() {
    read_part<MMA_M>(frag_a[SUB], slot_a<STAGE, SUB>(), read_at_a);
  }
  template <int STAGE, int SUB> INLINE void read_b() {
    read_part<MMA_N>(frag_b[SUB], slot_b<STAGE, SUB>(), read_at_b);
  }
  template <int I, int J> INLINE void multiply() {
    multiply_at(frag_a[I], frag_b[J], I * TILES_A, J * TILES_B);
  }
"""

_KEEP = """
  // A read no multiplication takes still counts in the waits, so it must stay in the code.
  template <unsigned TILES, unsigned COUNT> INLINE void keep(const word4 (&frag)[TILES][COUNT]) {
#pragma unroll
    for (unsigned t = 0; t < TILES; ++t)
#pragma unroll
      for (unsigned q = 0; q < COUNT; ++q)
        asm volatile("" ::"v"(frag[t][q]));
  }
"""

_STAGED_MOVES = """
  word4 staged_a[LOADS_A], staged_b[LOADS_B];
  INLINE unsigned next_tile() { unsigned at = next; next += ROW; return at; }

  INLINE void load(unsigned along_k) {
#pragma unroll
    for (unsigned i = 0; i < LOADS_A; ++i) {
      fence();
      staged_a[i] = __builtin_amdgcn_raw_buffer_load_b128(rsrc_a, load_at_a[0][i], along_k, 0);
    }
#pragma unroll
    for (unsigned i = 0; i < LOADS_B; ++i) {
      fence();
      staged_b[i] = __builtin_amdgcn_raw_buffer_load_b128(rsrc_b, load_at_b[0][i], along_k, 0);
    }
    fence();
  }
  INLINE void store_to_lds() {
#pragma unroll
    for (unsigned i = 0; i < LOADS_A; ++i) {
      fence();
      *(lds_word4 *)(slot_a<0, 0>() + (i * THREADS + tid) * 16) = staged_a[i];
    }
#pragma unroll
    for (unsigned i = 0; i < LOADS_B; ++i) {
      fence();
      *(lds_word4 *)(slot_b<0, 0>() + (i * THREADS + tid) * 16) = staged_b[i];
    }
    fence();
  }
  template <int PART> INLINE void read() {
    read_part<MMA_M>(frag_a[PART], slot_a<0, 0>(), read_at_a + PART * K_STEPS * READS);
    read_part<MMA_N>(frag_b[PART], slot_b<0, 0>(), read_at_b + PART * K_STEPS * READS);
  }
  template <int PART> INLINE void multiply() { multiply_at(frag_a[PART], frag_b[PART], 0, 0); }
"""


def _multiply(plan: KernelPlan) -> str:
    mfma = plan.tile.mfma
    if mfma.element is ElementType.FP8:
        builtin = f"__builtin_amdgcn_mfma_scale_f32_{mfma.m}x{mfma.n}x{mfma.k}_f8f6f4"
        tail = "0, 0, 0, 0, 0, 0"
    else:
        name = "bf16" if mfma.element is ElementType.BF16 else "f16"
        builtin = f"__builtin_amdgcn_mfma_f32_{mfma.m}x{mfma.n}x{mfma.k}_{name}"
        tail = "0, 0, 0"
    joined = (
        "__builtin_bit_cast(operand_t, frag[step])"
        if plan.tile.reads_per_operand == 1
        else "__builtin_bit_cast(operand_t, __builtin_shufflevector(frag[2 * step], "
        "frag[2 * step + 1], 0, 1, 2, 3, 4, 5, 6, 7))"
    )
    return f"""
  INLINE acc_t mma(operand_t a, operand_t b, acc_t c) {{
    return {builtin}(a, b, c, {tail});
  }}
  INLINE operand_t operand(const word4 *frag, unsigned step) {{
    return {joined};
  }}
  INLINE void multiply_at(const word4 (&a)[TILES_A][K_STEPS * READS],
                          const word4 (&b)[TILES_B][K_STEPS * READS], unsigned i0, unsigned j0) {{
#pragma unroll
    for (unsigned step = 0; step < K_STEPS; ++step)
#pragma unroll
      for (unsigned i = 0; i < TILES_A; ++i)
#pragma unroll
        for (unsigned j = 0; j < TILES_B; ++j) {{
          fence();
          acc[i0 + i][j0 + j] = mma(operand(a[i], step), operand(b[j], step), acc[i0 + i][j0 + j]);
        }}
    fence();
  }}
"""


_STORE = """
  INLINE void store() {
    unsigned lane_row = lane / MMA_N * 4, lane_column = lane % MMA_N;
#pragma unroll
    for (unsigned i = 0; i < GRID_M; ++i)
#pragma unroll
      for (unsigned r = 0; r < ACC; ++r)
#pragma unroll
        for (unsigned j = 0; j < GRID_N; ++j) {
          unsigned row = i / TILES_A * (BM / SUBTILES_A) + wave_m * (TILES_A * MMA_M) +
                         i % TILES_A * MMA_M + r / 4 * (256 / MMA_N) + r % 4 + lane_row;
          unsigned column = first_n + j / TILES_B * (BN / SUBTILES_B) + wave_n * (TILES_B * MMA_N) +
                            j % TILES_B * MMA_N + lane_column;
          unsigned at = column < n ? (row * n + column) * 4 : 0x80000000u;
          float value = acc[i][j][r];  // clang's bit cast of a vector element takes element 0
          __builtin_amdgcn_sched_barrier(0);
          __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(unsigned, value), rsrc_c, at, 0,
                                                0);
        }
  }
"""
