"""Small device functions on whole numbers, and conversions to types of 8 bits."""

from __future__ import annotations

from warploom.ir.elementwise import REDUCTIONS

NUMBER_HELPERS = {
    **{
        f"quad_{row.name}_i32": (
            "// Of the four threads of a row; whole numbers wrap.\n"
            f"DEVICE int quad_{row.name}_i32(int x) {{\n"
            f"  int y = __shfl_xor_sync(~0u, x, 1);\n  x = {row.cuda_int.format('x', 'y')};\n"
            "  y = __shfl_xor_sync(~0u, x, 2);\n"
            f"  return {row.cuda_int.format('x', 'y')};\n}}\n"
        )
        for row in REDUCTIONS.values()
    },
    "to_e4m3": (
        "DEVICE uint8_t to_e4m3(float x) {\n  uint16_t r;\n"
        '  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));\n'
        "  return (uint8_t)r;\n}\n"
    ),
    "to_e5m2": (
        "DEVICE uint8_t to_e5m2(float x) {\n  uint16_t r;\n"
        '  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));\n'
        "  return (uint8_t)r;\n}\n"
    ),
    "shifted_left": (
        "// Bits are gone from 32 on, and for negative numbers.\n"
        "DEVICE int shifted_left(int a, int b) {\n"
        "  return (unsigned)b < 32u ? (int)((unsigned)a << b) : 0;\n}\n"
    ),
    "shifted_right": (
        "DEVICE int shifted_right(int a, int b) { return a >> ((unsigned)b < 32u ? b : 31); }\n"
    ),
    "load_bytes": (
        "// B neighbouring bytes, 16 at once where there are as many; both sides lie so.\n"
        "template <int B> DEVICE void load_bytes(void* to, const void* from) {\n"
        "  if constexpr (B >= 16) {\n"
        "#pragma unroll\n"
        "    for (int i = 0; i < B / 16; ++i) ((uint4*)to)[i] = ((const uint4*)from)[i];\n"
        "  } else if constexpr (B == 8) {\n    *(uint2*)to = *(const uint2*)from;\n"
        "  } else if constexpr (B == 4) {\n    *(uint32_t*)to = *(const uint32_t*)from;\n"
        "  } else {\n    *(uint16_t*)to = *(const uint16_t*)from;\n  }\n}\n"
    ),
    "store_bytes": (
        "template <int B> DEVICE void store_bytes(void* to, const void* from) {\n"
        "  load_bytes<B>(to, from);\n}\n"
    ),
    "covered": (
        "// Whether the multiples of 16 that some bytes lie in are bytes of their row.\n"
        "DEVICE bool covered(const void* at, int bytes, const void* first, const void* end) {\n"
        "  const int shift = (int)((long long)at & 15);\n"
        "  return (long long)at - shift >= (long long)first &&\n"
        "         (long long)at - shift + bytes + (shift ? 16 : 0) <= (long long)end;\n}\n"
    ),
    "load_cover": (
        "// What B bytes at any address lie in, 16 at once.\n"
        "template <int B> DEVICE void load_cover(uint32_t* to, const void* at) {\n"
        "  const int shift = (int)((long long)at & 15);\n"
        "  const uint4* const from = (const uint4*)((long long)at - shift);\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < B / 16; ++i) ((uint4*)to)[i] = from[i];\n"
        "  ((uint4*)to)[B / 16] = make_uint4(0u, 0u, 0u, 0u);\n"
        "  if (shift) ((uint4*)to)[B / 16] = from[B / 16];\n}\n"
    ),
    "shift_cover": (
        "// The B bytes that begin there after a shift, from 0 to 15.\n"
        "template <int B> DEVICE void shift_cover(void* to, const uint32_t* given, int shift) {\n"
        "  uint32_t w[B / 4 + 4];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < B / 4 + 4; ++i) w[i] = given[i];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < B / 4 + 2; ++i) w[i] = shift & 8 ? w[i + 2] : w[i];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < B / 4 + 1; ++i) w[i] = shift & 4 ? w[i + 1] : w[i];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < B / 4; ++i)\n"
        "    ((uint32_t*)to)[i] = __funnelshift_r(w[i], w[i + 1], shift % 4 * 8);\n}\n"
    ),
    "store_shifted": (
        "// B bytes of each lane, beside those of the next: from multiples of 16 on at once, with\n"
        "// the last bytes of the lane before; at both ends of a warp's bytes by elements. Every\n"
        "// lane of the warp comes here; here: the lane's bytes exist.\n"
        "template <int B, class T>\n"
        "DEVICE void store_shifted(T* at, const T* from, bool here, bool before, bool after) {\n"
        "  uint32_t w[B / 4 + 4];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < B / 4; ++i) w[i + 4] = ((const uint32_t*)from)[i];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < 4; ++i) w[i] = __shfl_up_sync(~0u, w[i + B / 4], 1);\n"
        "  if (!here) return;\n"
        "  const int shift = (int)((long long)at & 15);\n"
        "  if (shift == 0) {\n    store_bytes<B>(at, from);\n    return;\n  }\n"
        "  if (before) {\n"
        "    alignas(16) uint32_t made[B / 4];\n"
        "    shift_cover<B>(made, w, 16 - shift);\n"
        "    store_bytes<B>((void*)((long long)at - shift), made);\n  }\n"
        "#pragma unroll\n"
        "  for (int j = 0; j < B / (int)sizeof(T); ++j) {\n"
        "    const bool last = j * (int)sizeof(T) >= B - shift;\n"
        "    if (last ? !after : !before) at[j] = from[j];\n  }\n}\n"
    ),
    "add_element_f32": (
        "DEVICE void add_element_f32(float* at, float x) { add_pair_f32(at, x, 0.0f, 1); }\n"
    ),
    "add_element_bf16": (
        "DEVICE void add_element_bf16(uint16_t* at, float x) { add_pair_bf16(at, x, 0.0f, 1); }\n"
    ),
    "add_element_f16": (
        "DEVICE void add_element_f16(uint16_t* at, float x) { add_pair_f16(at, x, 0.0f, 1); }\n"
    ),
    "add_element_i32": "DEVICE void add_element_i32(int* at, int x) { atomicAdd(at, x); }\n",
    **{
        f"store_shared_{bits}": (
            f"DEVICE void store_shared_{bits}(uint32_t address, uint32_t x) {{\n"
            f'  asm volatile("st.shared.{kind} [%0], %1;" ::"r"(address), "{code}"({cast}x)'
            ' : "memory");\n}\n'
        )
        for bits, kind, code, cast in (
            (8, "u8", "r", ""),
            (16, "u16", "h", "(uint16_t)"),
            (32, "u32", "r", ""),
        )
    },
    "store_shared_v4": (
        "DEVICE void store_shared_v4(uint32_t address, const void* from) {\n"
        "  const uint4 x = *(const uint4*)from;\n"
        '  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x),\n'
        '               "r"(x.y), "r"(x.z), "r"(x.w) : "memory");\n}\n'
    ),
    **{
        name: (
            "// Accumulators lie in registers of their own before the fence of the products.\n"
            f"template <int N> DEVICE void {name}({kind} (&x)[N]) {{\n"
            "#pragma unroll\n"
            f'  for (int i = 0; i < N; ++i) asm volatile("" : "+{code}"(x[i]));\n}}\n'
        )
        for name, kind, code in (
            ("settle_floats", "float", "f"),
            ("settle_integers", "int", "r"),
        )
    },
    "tile_byte": (
        "// The byte of an element of an operand: slabs of 128 bytes a row, swizzled.\n"
        "template <int SIZE, int SLAB_BYTES> DEVICE uint32_t tile_byte(int row, int column) {\n"
        "  const uint32_t byte = column * SIZE;\n"
        "  return byte / 128 * SLAB_BYTES + row * 128 + ((byte % 128) ^ ((row & 7) << 4));\n}\n"
    ),
    "max_element_i32": "DEVICE void max_element_i32(int* at, int x) { atomicMax(at, x); }\n",
    "min_element_i32": "DEVICE void min_element_i32(int* at, int x) { atomicMin(at, x); }\n",
    # Numbers without a sign are ordered as integers, those with one the other way round.
    "max_element_f32": (
        "DEVICE void max_element_f32(float* at, float x) {\n"
        "  const int bits = __float_as_int(x);\n"
        "  if (bits >= 0 && x == x) atomicMax((int*)at, bits);\n"
        "  if (bits < 0 && x == x) atomicMin((unsigned*)at, (unsigned)bits);\n}\n"
    ),
    "min_element_f32": (
        "DEVICE void min_element_f32(float* at, float x) {\n"
        "  const int bits = __float_as_int(x);\n"
        "  if (bits >= 0 && x == x) atomicMin((int*)at, bits);\n"
        "  if (bits < 0 && x == x) atomicMax((unsigned*)at, (unsigned)bits);\n}\n"
    ),
}
