"""Small device functions that only tile kernels call, beside those of ``ptx``."""

from __future__ import annotations

from collections.abc import Collection

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.tile.number_helpers import NUMBER_HELPERS
from warploom.ir.elementwise import REDUCTIONS

_COORDINATES = "xyzvw"
_MOVE = "cp.async.bulk.tensor.{rank}d"


def _load(rank: int, *, hint: bool, cast: bool = False) -> str:
    """A copy in; ``cast``: into all CTAs of the cluster that ``ctas`` has a bit for."""
    names = _COORDINATES[:rank]
    places = ", ".join(f"%{3 + n}" for n in range(rank))
    inputs = "".join(f', "r"({c})' for c in names) + (', "h"(ctas)' if cast else "")
    tail = (".multicast::cluster" if cast else "") + (".L2::cache_hint" if hint else "")
    policy = (f", %{3 + rank}" if cast else "") + (f", %{3 + rank + cast}" if hint else "")
    return (
        f"DEVICE void tma_{'cast' if cast else 'load'}_{rank}d{'_hint' if hint else ''}"
        f"(uint32_t dst, const TensorMap* map,"
        f" uint32_t bar, {', '.join(f'int {c}' for c in names)}"
        f"{', uint16_t ctas' if cast else ''}{', uint64_t policy' if hint else ''}) {{\n"
        f'  asm volatile("{_MOVE.format(rank=rank)}.shared::cluster.global'
        f'.mbarrier::complete_tx::bytes{tail} [%0], [%1, {{{places}}}], [%2]{policy};"\n'
        f'               :: "r"(dst), "l"(map), "r"(bar){inputs}'
        f'{", " + chr(34) + "l" + chr(34) + "(policy)" if hint else ""} : "memory");\n}}\n'
    )


def _store(rank: int, how: str) -> str:
    """A copy out; ``stream``: of what is the first to leave the L2."""
    names, add = _COORDINATES[:rank], how == "add"
    hint, policy = ("", "") if how != "stream" else (".L2::cache_hint", f", %{2 + rank}")
    places = ", ".join(f"%{2 + n}" for n in range(rank))
    inputs = "".join(f', "r"({c})' for c in names)
    inputs += ', "l"(policy_evict_first())' if hint else ""
    move = _MOVE.format(rank=rank)
    move = move.replace("cp.async", "cp.reduce.async") if add else move
    return (
        f"DEVICE void tma_{how}_{rank}d(const TensorMap* map, uint32_t src,"
        f" {', '.join(f'int {c}' for c in names)}) {{\n"
        f'  asm volatile("{move}.global.shared::cta{".add" if add else ""}.bulk_group{hint}'
        f' [%0, {{{places}}}], [%1]{policy};"\n'
        f'               :: "l"(map), "r"(src){inputs} : "memory");\n}}\n'
    )


def _line(how: str) -> str:
    return (
        "// Eight elements of 16 bits, of which the first `left` exist.\n"
        f"DEVICE void {how}_line(uint16_t* at, const uint32_t (&x)[4], int left) {{\n"
        f"  if (left >= 8) {{ {how}_global4(at, x); return; }}\n"
        "#pragma unroll\n"
        "  for (int j = 0; j < 8; ++j)\n"
        "    if (j < left) at[j] = (uint16_t)(x[j / 2] >> (j % 2 * 16));\n}\n"
    )


TILE_HELPERS: dict[str, str] = {
    "divided_down": (
        "// Rounded down; by 0 as by 1.\n"
        "DEVICE int divided_down(int a, int b) {\n  if (b == 0) return a;\n"
        "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n"
    ),
    "remainder_of": (
        "DEVICE int remainder_of(int a, int b) {\n"
        "  return b == 0 ? 0 : a - divided_down(a, b) * b;\n}\n"
    ),
    "from_bf16": (
        "DEVICE float from_bf16(uint16_t x) { return __uint_as_float((uint32_t)x << 16); }\n"
    ),
    "from_f16": (
        "DEVICE float from_f16(uint16_t x) {\n  float y;\n"
        '  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));\n  return y;\n}\n'
    ),
    "to_bf16": (
        "DEVICE uint16_t to_bf16(float x) {\n  uint16_t y;\n"
        '  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));\n  return y;\n}\n'
    ),
    "to_f16": (
        "DEVICE uint16_t to_f16(float x) {\n  uint16_t y;\n"
        '  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));\n  return y;\n}\n'
    ),
    "round_bf16": "DEVICE float round_bf16(float x) { return from_bf16(to_bf16(x)); }\n",
    "round_f16": "DEVICE float round_f16(float x) { return from_f16(to_f16(x)); }\n",
    "unpack_bf16": (
        "DEVICE float unpack_bf16(uint32_t x, int half) {\n"
        "  return __uint_as_float(half ? x & 0xffff0000u : x << 16);\n}\n"
    ),
    "unpack_f16": (
        "DEVICE float unpack_f16(uint32_t x, int half) {\n"
        "  return from_f16((uint16_t)(half ? x >> 16 : x));\n}\n"
    ),
    "pack_f16": (
        "DEVICE uint32_t pack_f16(float lo, float hi) {\n  uint32_t r;\n"
        '  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));\n  return r;\n}\n'
    ),
    **{
        f"quad_{name}": (
            f"// Of the four threads that share a row.\nDEVICE {kind} quad_{name}({kind} x) {{\n"
            f"  x = {text.format('__shfl_xor_sync(~0u, x, 1)')};\n"
            f"  return {text.format('__shfl_xor_sync(~0u, x, 2)')};\n}}\n"
        )
        for name, kind, text in (
            *((row.name, "float", row.cuda.format("x", "{}")) for row in REDUCTIONS.values()),
            ("most", "int", "max(x, {})"),
            ("least", "int", "min(x, {})"),
        )
    },
    "load_pair": (
        "// Two elements of a row with so many left, if they may be read at once; 0 past its end.\n"
        "DEVICE uint32_t load_pair(const uint16_t* at, int left, bool even) {\n"
        "  if (even && left > 1) return *(const uint32_t*)at;\n"
        "  return left > 0 ? at[0] | (left > 1 ? (uint32_t)at[1] << 16 : 0u) : 0u;\n"
        "}\n"
    ),
    "row_maxima": (
        "// Of both rows of a thread. Whole numbers order floats from 0 on as floats do, three at\n"
        "// once; of negative ones the largest is the least whole number.\n"
        "template <int N> DEVICE void row_maxima(const float (&x)[N], float (&top)[2]) {\n"
        "  int most[2] = {~0x7fffffff, ~0x7fffffff};\n"
        "#pragma unroll\n"
        "  for (int n = 0; n < N; ++n)"
        " most[n / 2 % 2] = max(most[n / 2 % 2], __float_as_int(x[n]));\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 2; ++i) most[i] = quad_most(most[i]);\n"
        "  if (__any_sync(~0u, (most[0] | most[1]) < 0)) {\n"
        "    int least[2] = {0x7fffffff, 0x7fffffff};\n"
        "#pragma unroll\n"
        "    for (int n = 0; n < N; ++n)"
        " least[n / 2 % 2] = min(least[n / 2 % 2], __float_as_int(x[n]));\n"
        "#pragma unroll\n"
        "    for (int i = 0; i < 2; ++i) {\n"
        "      const int largest = quad_least(least[i]);\n"
        "      most[i] = most[i] < 0 ? largest : most[i];\n"
        "    }\n"
        "  }\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 2; ++i) top[i] = __int_as_float(most[i]);\n}\n"
    ),
    "scale_rows": (
        "// Both rows of a thread; where all of a warp's factors are 1, nothing changes.\n"
        "template <int N> DEVICE void scale_rows(float (&x)[N], const float (&factor)[2]) {\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 2; ++i) {\n"
        "    if (__all_sync(~0u, factor[i] == 1.0f)) continue;\n"
        "#pragma unroll\n"
        "    for (int n = 2 * i; n < N; n += 4) { x[n] *= factor[i]; x[n + 1] *= factor[i]; }\n"
        "  }\n}\n"
    ),
    "computed": (
        "// The first elements of a thread: computed before what follows.\n"
        "template <int N> DEVICE void computed(float (&x)[N], int count) {\n"
        "#pragma unroll\n"
        '  for (int n = 0; n < count; ++n) asm volatile("" : "+f"(x[n]));\n}\n'
    ),
    "go_past": (
        "template <int D> DEVICE void go_past(Cursor<D>& ring, int uses) {\n"
        "  const int to = ring.slot + uses;\n"
        "  ring.phase ^= to / D & 1;\n"
        "  ring.slot = to % D;\n"
        "}\n"
    ),
    "floor_div": (
        "DEVICE int floor_div(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }\n"
    ),
    "store_line": _line("store"),
    "stream_line": _line("stream"),  # it need not stay in the L2
    "add_pair_f32": (
        "// Two neighbours added to memory, the second if it exists.\n"
        "DEVICE void add_pair_f32(float* at, float a, float b, int left) {\n"
        "  if (left > 1) {\n"
        '    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};"\n'
        '                 :: "l"(at), "f"(a), "f"(b) : "memory");\n'
        "  } else {\n"
        '    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;"\n'
        '                 :: "l"(at), "f"(a) : "memory");\n  }\n}\n'
    ),
    **{
        f"add_pair_{kind}": (
            "// Two neighbours added to memory, the second if it exists.\n"
            f"DEVICE void add_pair_{kind}(uint16_t* at, float a, float b, int left) {{\n"
            "  if (left > 1) {\n"
            f'    asm volatile("red.relaxed.gpu.global.add.noftz.{kind}x2 [%0], %1;"\n'
            f'                 :: "l"(at), "r"(pack_{kind}(a, b)) : "memory");\n'
            "  } else {\n"
            f'    asm volatile("red.relaxed.gpu.global.add.noftz.{kind} [%0], %1;"\n'
            f'                 :: "l"(at), "h"(to_{kind}(a)) : "memory");\n  }}\n}}\n'
        )
        for kind in ("bf16", "f16")
    },
    **{f"tma_load_{r}d": _load(r, hint=False) for r in range(1, 6)},
    **{f"tma_load_{r}d_hint": _load(r, hint=True) for r in range(1, 6)},
    **{f"tma_cast_{r}d": _load(r, hint=False, cast=True) for r in range(1, 6)},
    **{f"tma_cast_{r}d_hint": _load(r, hint=True, cast=True) for r in range(1, 6)},
    **{f"tma_{h}_{r}d": _store(r, h) for h in ("store", "add", "stream") for r in range(1, 6)},
    "stamp": (
        "// The clock into memory, where asked for; no branch, so that products stay in flight.\n"
        "DEVICE void stamp(int* at, bool on) {\n"
        '  asm volatile("{ .reg .pred p; .reg .u32 t; setp.ne.u32 p, %1, 0;"\n'
        '               " mov.u32 t, %%clock; @p st.global.u32 [%0], t; }"\n'
        '               :: "l"(at), "r"((unsigned)on) : "memory");\n}\n'
    ),
    "tile_number": (
        "// An entry of a list of tiles: read once where it is used twice.\n"
        "DEVICE int tile_number(const int* at) {\n  int x;\n"
        '  asm("ld.global.nc.s32 %0, [%1];" : "=r"(x) : "l"(at));\n'
        "  return x;\n}\n"
    ),
    "listed": (
        "// An entry of a list, read anew every time: it need not stay in a register.\n"
        "DEVICE int listed(const int* at) {\n  int x;\n"
        '  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(x) : "l"(at));\n  return x;\n}\n'
    ),
    "copy_row": (
        "// 16 bytes of a row, of which ``left`` elements exist; zeros for the others.\n"
        "DEVICE void copy_row(uint32_t to, const uint16_t* at, int left) {\n"
        "  const int bytes = 2 * max(0, min(left, 8));\n"
        '  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"\n'
        '               :: "r"(to), "l"(at), "r"(bytes) : "memory");\n}\n'
    ),
    "copy_line": (
        "// 16 bytes of a row, all of which exist.\n"
        "DEVICE void copy_line(uint32_t to, const uint16_t* at) {\n"
        '  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"\n'
        '               :: "r"(to), "l"(at), "n"(16) : "memory");\n}\n'
    ),
    "copies_arrive": (
        "// An arrival when all copies of this thread have landed.\n"
        "DEVICE void copies_arrive(uint32_t bar) {\n"
        '  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"\n'
        '               :: "r"(bar) : "memory");\n}\n'
    ),
    "move_elements": (
        "// Eight elements of a row one by one, of which ``left`` exist.\n"
        "DEVICE void move_elements(uint32_t to, const uint16_t* at, int left) {\n"
        "  uint32_t x[4];\n"
        "#pragma unroll\n"
        "  for (int j = 0; j < 4; ++j) {\n"
        "    x[j] = 2 * j < left ? at[2 * j] : 0u;\n"
        "    if (2 * j + 1 < left) x[j] |= (uint32_t)at[2 * j + 1] << 16;\n"
        "  }\n"
        '  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]),\n'
        '               "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");\n'
        "}\n"
    ),
    "load_global4": (
        "DEVICE void load_global4(uint32_t* x, const uint32_t* at) {\n"
        '  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"\n'
        '               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "l"(at));\n}\n'
    ),
    "slot_byte": (
        "// A byte of a tile in shared memory: rows of ``pitch`` bytes, swizzled. ``own``\n"
        "// is the lane's place in 16 bytes: all but ``slot`` is computed once a kernel.\n"
        "DEVICE uint32_t slot_byte(uint32_t slot, int rows, int pitch, int row, int byte,\n"
        "                          int own) {\n"
        "  const int turn = byte % pitch / 16 ^ (row * pitch >> 7 & pitch / 16 - 1);\n"
        "  return slot + (row * pitch + own + (turn << 4))"
        " + (byte / pitch * rows * pitch + byte % 16);\n}\n"
    ),
    "load_shared_u8": (
        "DEVICE uint32_t load_shared_u8(uint32_t address) {\n  uint32_t a;\n"
        '  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(a) : "r"(address));\n  return a;\n}\n'
    ),
    "load_shared_u16": (
        "DEVICE uint32_t load_shared_u16(uint32_t address) {\n  uint16_t a;\n"
        '  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(a) : "r"(address));\n  return a;\n}\n'
    ),
    "small_to_float": (
        "// A whole number of few bits as a float: added to one whose last digit counts ones.\n"
        "DEVICE float small_to_float(int x) {\n"
        "  return __int_as_float(0x4b400000 + x) - 12582912.0f;\n}\n"
    ),
    **{
        f"nibbles_{kind}": (
            "// Both halves of a byte, each added to a float whose last digit counts ones.\n"
            f"DEVICE uint32_t nibbles_{kind}(uint32_t x, float least) {{\n  uint32_t r;\n"
            "  uint32_t y;\n"
            '  asm("lop3.b32 %0, %1, %2, %3, 0xEA;"\n'
            f'      : "=r"(y) : "r"(x * 0x1001u), "n"(0x000f000f), "r"({ones}));\n'
            f'  asm("sub.rn.{kind}x2 %0, %1, %2;"'
            f' : "=r"(r) : "r"(y), "r"(pack_{kind}(least, least)));\n  return r;\n}}\n'
        )
        for kind, ones in (("bf16", "0x43004300u"), ("f16", "0x64006400u"))
    },
    "unpack_e4m3": (
        "DEVICE float unpack_e4m3(uint32_t x, int half) {\n  uint32_t r;\n"
        '  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((uint16_t)x));\n'
        "  return from_f16((uint16_t)(half ? r >> 16 : r));\n}\n"
    ),
    "unpack_e5m2": (
        "DEVICE float unpack_e5m2(uint32_t x, int half) {\n  uint32_t r;\n"
        '  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"((uint16_t)x));\n'
        "  return from_f16((uint16_t)(half ? r >> 16 : r));\n}\n"
    ),
    **NUMBER_HELPERS,
    "load_shared1": (
        "// An element of a vector in shared memory.\n"
        "DEVICE float load_shared1(uint32_t address) {\n  float a;\n"
        '  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(address));\n  return a;\n}\n'
    ),
    "any_of_group": (
        "// Whether any of a warpgroup says so; all of them know afterwards.\n"
        "DEVICE bool any_of_group(uint32_t id, bool x) {\n  uint32_t r;\n"
        '  asm volatile("{\\n.reg .pred p, q;\\nsetp.ne.u32 p, %1, 0;\\n"\n'
        '               "bar.red.or.pred q, %2, 128, p;\\nselp.u32 %0, 1, 0, q;\\n}"\n'
        '               : "=r"(r) : "r"((uint32_t)x), "r"(id) : "memory");\n'
        "  return r != 0;\n}\n"
    ),
    "in_order": (
        "// A sum over parts, of which one is at hand.\n"
        "template <int N, int M>\n"
        "DEVICE float4 in_order(const float4 (&x)[N][M], int at, int part, float4 own) {\n"
        "  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);\n"
        "#pragma unroll\n"
        "  for (int p = 0; p < N; ++p) {\n"
        "    sum.x += p == part ? own.x : x[p][at].x;\n"
        "    sum.y += p == part ? own.y : x[p][at].y;\n"
        "    sum.z += p == part ? own.z : x[p][at].z;\n"
        "    sum.w += p == part ? own.w : x[p][at].w;\n"
        "  }\n"
        "  return sum;\n}\n"
    ),
    "at_cta": (
        "// The place of one's own shared memory in that of another CTA of the cluster.\n"
        "DEVICE uint32_t at_cta(uint32_t address, uint32_t cta) {\n  uint32_t r;\n"
        '  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(cta));\n'
        "  return r;\n}\n"
    ),
    "send_shared4": (
        "// 16 bytes into another CTA, which its barrier counts.\n"
        "DEVICE void send_shared4(uint32_t to, uint32_t bar, float a, float b, float c,"
        " float d) {\n"
        '  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"\n'
        '               " [%0], {%1, %2, %3, %4}, [%5];"\n'
        '               :: "r"(to), "f"(a), "f"(b), "f"(c), "f"(d), "r"(bar) : "memory");\n}\n'
    ),
    "load_shared4": (
        "DEVICE float4 load_shared4(uint32_t address) {\n  float4 x;\n"
        '  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"\n'
        '               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(address));\n'
        "  return x;\n}\n"
    ),
    "load_acquire": (
        "DEVICE uint32_t load_acquire(const unsigned* at) {\n  uint32_t r;\n"
        '  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(at) : "memory");\n'
        "  return r;\n}\n"
    ),
    "keep_pace": (
        "// All CTAs but some have come as far. Only a hint: whoever has waited long lets all of\n"
        "// them go on alone.\n"
        "DEVICE void keep_pace(unsigned* at, unsigned nth, unsigned late) {\n"
        "  atomicAdd(at, 1u);\n"
        "  for (int asked = 0; asked < 512; ++asked) {\n"
        "    if (load_acquire(at) + late >= gridDim.x * nth) return;\n"
        "    __nanosleep(20);\n  }\n"
        "  atomicOr(at, 1u << 31);\n}\n"
    ),
    "leave_pace": (
        "// Nobody waits for this CTA from here on; the last one leaves zeros.\n"
        "DEVICE void leave_pace(unsigned* at) {\n"
        "  atomicOr(at, 1u << 31);\n  __threadfence();\n"
        "  if (atomicAdd(at + 1, 1u) == gridDim.x - 1) at[0] = at[1] = 0;\n}\n"
    ),
    "load_acquire_near": (
        "DEVICE uint32_t load_acquire_near(const unsigned* at) {\n  uint32_t r;\n"
        '  asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(r) : "l"(at) : "memory");\n'
        "  return r;\n}\n"
    ),
    "load_shared2": (
        "// Two neighbours of a vector in shared memory.\n"
        "DEVICE void load_shared2(uint32_t address, float& a, float& b) {\n"
        '  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(address));\n'
        "}\n"
    ),
}


FUNCTIONS = {**ptx.HELPERS, **TILE_HELPERS}
NEEDS: dict[str, tuple[str, ...]] = {  # what functions call themselves
    "erf_smooth": ("exp2_once",),
    "remainder_of": ("divided_down",),
    "round_bf16": ("from_bf16", "to_bf16"),
    "round_f16": ("from_f16", "to_f16"),
    "unpack_f16": ("from_f16",),
    "unpack_e4m3": ("from_f16",),
    "unpack_e5m2": ("from_f16",),
    "row_maxima": ("quad_most", "quad_least"),
    "store_line": ("store_global4",),
    "stream_line": ("stream_global4",),
    "store_bytes": ("load_bytes",),
    "store_shifted": ("shift_cover", "store_bytes"),
    "keep_pace": ("load_acquire",),
    **{f"add_pair_{kind}": (f"pack_{kind}", f"to_{kind}") for kind in ("bf16", "f16")},
    **{f"add_element_{kind}": (f"add_pair_{kind}",) for kind in ("f32", "bf16", "f16")},
    **{f"nibbles_{kind}": (f"pack_{kind}",) for kind in ("bf16", "f16")},
    **{f"tma_stream_{r}d": ("policy_evict_first",) for r in range(1, 6)},
}


def definitions(called: Collection[str]) -> str:
    """Device functions, and those they call, in a fixed order."""
    wanted: set[str] = set()
    more = set(called)
    while more:
        wanted |= more
        more = {c for name in more for c in NEEDS.get(name, ())} - wanted
    return "\n".join(FUNCTIONS[name] for name in FUNCTIONS if name in wanted)
