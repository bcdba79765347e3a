"""Small device functions on whole numbers, and conversions to types of 8 bits."""

from __future__ import annotations

NUMBER_HELPERS = {
    "quad_sum_i32": (
        "// Of the four threads of a row; whole numbers wrap.\n"
        "DEVICE int quad_sum_i32(int x) {\n"
        "  int y = __shfl_xor_sync(~0u, x, 1);\n  x = (int)((unsigned)x + (unsigned)y);\n"
        "  y = __shfl_xor_sync(~0u, x, 2);\n  return (int)((unsigned)x + (unsigned)y);\n}\n"
    ),
    "quad_max_i32": (
        "// Of the four threads of a row; whole numbers wrap.\n"
        "DEVICE int quad_max_i32(int x) {\n"
        "  int y = __shfl_xor_sync(~0u, x, 1);\n  x = max(x, y);\n"
        "  y = __shfl_xor_sync(~0u, x, 2);\n  return max(x, y);\n}\n"
    ),
    "quad_min_i32": (
        "// Of the four threads of a row; whole numbers wrap.\n"
        "DEVICE int quad_min_i32(int x) {\n"
        "  int y = __shfl_xor_sync(~0u, x, 1);\n  x = min(x, y);\n"
        "  y = __shfl_xor_sync(~0u, x, 2);\n  return min(x, y);\n}\n"
    ),
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
}
