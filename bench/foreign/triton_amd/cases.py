"""Cases: kernel, argument types, constants, launch and reference, as plain values.

``arguments`` maps each runtime argument to a tensor ``(shape, dtype, role[, more])`` or a scalar
``(kind, value)``. ``reference`` names a function of ``references.py``.
"""

BF16 = {"dtype": "bf16"}
NAMES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "i32": "int32", "f64": "float64"}


def tensor(*shape, dtype="f32", role="in", **more):
    return {"shape": list(shape), "dtype": dtype, "role": role, **more}


def i32(value):
    return {"kind": "i32", "value": value}


def f32(value):
    return {"kind": "f32", "value": value}


def case(name, kernel, arguments, constants, grid, reference, *, options=None, targets=None,
         environment=None, tolerance=None):  # fmt: skip
    grid = [*grid, 1, 1][:3]
    return {
        "name": name, "kernel": kernel, "arguments": arguments, "constants": constants,
        "grid": grid, "reference": reference, "options": options or {},
        "targets": targets or ["gfx942", "gfx950"], "environment": environment or {},
        "tolerance": tolerance,
    }  # fmt: skip


def matmul(name, m, n, k, bm, bn, bk, *, dtype="bf16", warps=4, stages=2, transposed=False,
           out="f32", even=False, acc="float32", instruction=0, environment=None, targets=None,
           tolerance=None):  # fmt: skip
    b = (n, k) if transposed else (k, n)
    return case(
        name, "matmul_even" if even else "matmul",
        {
            "a": tensor(m, k, dtype=dtype), "b": tensor(*b, dtype=dtype),
            "c": tensor(m, n, dtype=out, role="out"), "m": i32(m), "n": i32(n), "k": i32(k),
        },
        {"BM": bm, "BN": bn, "BK": bk, "TRANSPOSED": transposed, "STAGES": stages,
         "OUT": {"tl": NAMES[out]},
         "ACC": {"tl": acc}},
        (-(-m // bm), -(-n // bn)), "product_transposed" if transposed else "product",
        options={"num_warps": warps, "num_stages": stages, "matrix_instr_nonkdim": instruction},
        environment=environment, targets=targets, tolerance=tolerance,
    )  # fmt: skip


def attention(name, rows, d, bm, bn, *, causal=False, stages=2, warps=4, environment=None):
    return case(
        name, "attention",
        {"q": tensor(rows, d, **BF16), "k": tensor(rows, d, **BF16), "v": tensor(rows, d, **BF16),
         "out": tensor(rows, d, dtype="bf16", role="out"), "rows": i32(rows),
         "scale": f32(d**-0.5)},
        {"D": d, "BM": bm, "BN": bn, "CAUSAL": causal, "STAGES": stages}, (rows // bm,),
        "attention_causal" if causal else "attention",
        options={"num_warps": warps, "num_stages": stages}, environment=environment,
    )  # fmt: skip


ASYNC = {"TRITON_HIP_USE_ASYNC_COPY": "1"}
NO_ASYNC = {"TRITON_HIP_USE_ASYNC_COPY": "0"}
PINGPONG = {"TRITON_HIP_USE_BLOCK_PINGPONG": "1"}
FLAT = {"AMDGCN_USE_BUFFER_OPS": "0"}

CASES = [
    case("add", "add", {"x": tensor(1000), "y": tensor(1000), "out": tensor(1000, role="out"),
                        "n": i32(1000)}, {"BLOCK": 512}, (2,), "add"),
    case("add_bf16", "add", {"x": tensor(777, **BF16), "y": tensor(777, **BF16),
                             "out": tensor(777, dtype="bf16", role="out"), "n": i32(777)},
         {"BLOCK": 1024}, (1,), "add"),
    case("add_flat", "add", {"x": tensor(1000, dtype="f16"), "y": tensor(1000, dtype="f16"),
                             "out": tensor(1000, dtype="f16", role="out"), "n": i32(1000)},
         {"BLOCK": 1024}, (1,), "add", environment=FLAT),
    case("softmax", "softmax", {"x": tensor(3, 300), "out": tensor(3, 300, role="out"),
                                "columns": i32(300)}, {"BLOCK": 512}, (3,), "softmax"),
    case("softmax_wide", "softmax", {"x": tensor(2, 3000, **BF16),
                                     "out": tensor(2, 3000, role="out"), "columns": i32(3000)},
         {"BLOCK": 4096}, (2,), "softmax", options={"num_warps": 8}),
    case("layernorm", "layernorm",
         {"x": tensor(2, 900), "weight": tensor(900), "bias": tensor(900),
          "out": tensor(2, 900, role="out"), "columns": i32(900), "eps": f32(1e-5)},
         {"BLOCK": 512}, (2,), "layernorm"),
    matmul("matmul_bf16", 96, 64, 80, 64, 64, 32),
    matmul("matmul_f16_stages1", 64, 64, 160, 64, 64, 32, dtype="f16", stages=1),
    matmul("matmul_f16_stages3", 64, 128, 256, 64, 64, 32, dtype="f16", stages=3),
    matmul("matmul_bf16_stages4", 64, 64, 320, 64, 64, 32, stages=4, transposed=True),
    matmul("matmul_even", 128, 128, 256, 64, 64, 64, even=True, transposed=True),
    matmul("matmul_even_stages3", 64, 64, 256, 64, 64, 32, even=True, stages=3),
    matmul("matmul_32x32", 128, 128, 128, 128, 128, 32, even=True, instruction=32),
    matmul("matmul_128_8warps", 128, 128, 192, 128, 128, 64, even=True, warps=8, stages=2),
    matmul("matmul_async_stages2", 64, 64, 256, 64, 64, 64, even=True, transposed=True,
           environment=ASYNC, targets=["gfx950"]),
    matmul("matmul_async_stages3", 64, 64, 320, 64, 64, 32, even=True, transposed=True, stages=3,
           environment=ASYNC, targets=["gfx950"]),
    matmul("matmul_async_stages4", 128, 64, 512, 128, 64, 64, even=True, stages=4,
           environment=ASYNC, targets=["gfx950"]),
    matmul("matmul_no_async", 64, 64, 256, 64, 64, 64, even=True, transposed=True,
           environment=NO_ASYNC, targets=["gfx950"]),
    matmul("matmul_pingpong", 256, 256, 256, 256, 256, 64, even=True, warps=8, stages=2,
           dtype="f16", out="f16", transposed=True, environment=PINGPONG),
    matmul("matmul_pingpong_4warps", 128, 128, 256, 128, 128, 64, even=True, warps=4, stages=2,
           dtype="f16", out="f16", transposed=True, environment=PINGPONG),
    matmul("matmul_pingpong_medium", 256, 128, 320, 256, 128, 64, even=True, warps=8, stages=2,
           dtype="f16", out="f16", transposed=True, environment=PINGPONG),
    matmul("matmul_pingpong_medium_no_async", 256, 128, 320, 256, 128, 64, even=True, warps=8,
           stages=2, dtype="f16", out="f16", transposed=True,
           environment={**PINGPONG, **NO_ASYNC}),
    matmul("matmul_pingpong_medium_plain", 128, 256, 320, 128, 256, 64, even=True, warps=8,
           stages=2, dtype="bf16", environment={**PINGPONG, **NO_ASYNC}),
    matmul("matmul_pingpong_fp8", 256, 256, 512, 256, 256, 128, dtype="e4m3", even=True, warps=8,
           stages=2, transposed=True, environment=PINGPONG, targets=["gfx950"]),
    matmul("matmul_pingpong_stages3", 256, 128, 320, 256, 128, 32, even=True, warps=8, stages=3,
           dtype="f16", out="f16", transposed=True, environment=PINGPONG),
    matmul("matmul_f32", 64, 64, 64, 32, 32, 32, dtype="f32"),
    matmul("matmul_i8", 64, 64, 128, 64, 64, 64, dtype="i8", out="i32", even=True, acc="int32"),
    matmul("matmul_fp8", 64, 64, 256, 64, 64, 128, dtype="e4m3", even=True, transposed=True,
           targets=["gfx950"]),
    matmul("matmul_bf8", 64, 64, 128, 64, 64, 64, dtype="e5m2", even=True, transposed=True,
           targets=["gfx950"]),
    matmul("matmul_flat", 64, 64, 128, 64, 64, 32, environment=FLAT),
    case("matmul_split", "matmul_split",
         {"a": tensor(32, 128, **BF16), "b": tensor(128, 32, **BF16),
          "c": tensor(32, 32, role="inout", init="zero"), "m": i32(32), "n": i32(32),
          "k": i32(128)}, {"BM": 32, "BN": 32, "BK": 64}, (1, 2), "split_product"),
    attention("attention", 128, 64, 64, 32),
    attention("attention_causal", 128, 64, 64, 32, causal=True),
    attention("attention_128", 128, 128, 128, 64, stages=2, warps=4),
    attention("attention_stages1", 64, 64, 64, 32, stages=1),
    attention("attention_stages3", 256, 64, 64, 32, stages=3),
    case("row_sum", "row_sum", {"x": tensor(40, 200), "out": tensor(40, role="out"),
                                "rows": i32(40), "columns": i32(200)}, {"BM": 32, "BN": 256},
         (2,), "row_sum"),
    case("column_sum", "column_sum", {"x": tensor(70, 90), "out": tensor(90, role="out"),
                                      "rows": i32(70), "columns": i32(90)},
         {"BM": 32, "BN": 64}, (2,), "column_sum"),
    case("argmax", "argmax", {"x": tensor(3, 500), "out": tensor(3, dtype="i32", role="out"),
                              "columns": i32(500)}, {"BLOCK": 512}, (3,), "argmax"),
    case("scan", "scan", {"x": tensor(2, 900), "out": tensor(2, 900, role="out"),
                          "columns": i32(900)}, {"BLOCK": 1024}, (2,), "scan", tolerance=1e-3),
    case("histogram", "histogram",
         {"x": tensor(600, dtype="i32", range=[0, 32]),
          "out": tensor(32, dtype="i32", role="inout", init="zero"), "n": i32(600)},
         {"BLOCK": 256}, (3,), "histogram"),
    case("total", "total", {"x": tensor(900), "out": tensor(1, role="inout", init="zero"),
                            "n": i32(900)}, {"BLOCK": 256}, (4,), "total", tolerance=1e-3),
    case("largest", "largest",
         {"x": tensor(900, dtype="i32", range=[0, 9999]),
          "out": tensor(1, dtype="i32", role="inout", init="zero"), "n": i32(900)},
         {"BLOCK": 256}, (4,), "largest"),
    case("ticket", "ticket",
         {"x": tensor(900), "partial": tensor(4, role="inout"),
          "count": tensor(1, dtype="i32", role="inout", init="zero"),
          "out": tensor(1, role="out"), "n": i32(900)}, {"BLOCK": 256, "BLOCKS": 4}, (4,),
         "ticket", tolerance=1e-3),
    case("transpose", "transpose", {"x": tensor(100, 70), "out": tensor(70, 100, role="out"),
                                    "rows": i32(100), "columns": i32(70)}, {"BLOCK": 64}, (2, 2),
         "transpose"),
    case("sort", "sort_rows", {"x": tensor(2, 256), "out": tensor(2, 256, role="out")},
         {"BLOCK": 256}, (2,), "sort"),
    case("gelu", "gelu", {"x": tensor(500), "out": tensor(500, role="out"), "n": i32(500)},
         {"BLOCK": 512}, (1,), "gelu"),
    case("to_fp8", "to_fp8", {"x": tensor(500), "out": tensor(500, dtype="e4m3", role="out"),
                              "n": i32(500)},
         {"BLOCK": 512, "FP8": {"tl": "float8e4nv"}}, (1,), "identity"),
    case("to_bf8", "to_fp8", {"x": tensor(500), "out": tensor(500, dtype="e5m2", role="out"),
                              "n": i32(500)},
         {"BLOCK": 512, "FP8": {"tl": "float8e5"}}, (1,), "identity"),
    case("from_fp8", "from_fp8", {"x": tensor(500, dtype="e4m3"), "out": tensor(500, role="out"),
                                  "n": i32(500)}, {"BLOCK": 512}, (1,), "identity"),
    case("gather", "gather",
         {"x": tensor(50, 64, **BF16), "index": tensor(40, dtype="i32", range=[0, 50]),
          "out": tensor(40, 64, dtype="bf16", role="out"), "n": i32(40), "width": i32(64)},
         {"BLOCK": 32, "WIDTH": 64}, (2,), "gather"),
    case("scaled_fp8", "scaled_matmul",
         {"a": tensor(64, 256, dtype="e4m3"), "sa": tensor(64, 8, dtype="u8", range=[124, 130]),
          "b": tensor(64, 256, dtype="e4m3"), "sb": tensor(64, 8, dtype="u8", range=[124, 130]),
          "c": tensor(64, 64, role="out"), "m": i32(64), "n": i32(64), "k": i32(256)},
         {"BM": 64, "BN": 64, "BK": 128, "FORM": "e4m3", "PACK": 1}, (1, 1), "scaled_product"),
    case("scaled_fp8_16", "scaled_matmul",
         {"a": tensor(64, 256, dtype="e4m3"), "sa": tensor(64, 8, dtype="u8", range=[124, 130]),
          "b": tensor(64, 256, dtype="e4m3"), "sb": tensor(64, 8, dtype="u8", range=[124, 130]),
          "c": tensor(64, 64, role="out"), "m": i32(64), "n": i32(64), "k": i32(256)},
         {"BM": 64, "BN": 64, "BK": 128, "FORM": "e4m3", "PACK": 1}, (1, 1), "scaled_product",
         options={"matrix_instr_nonkdim": 16}),
    case("scaled_fp4", "scaled_matmul",
         {"a": tensor(64, 128, dtype="u8"), "sa": tensor(64, 8, dtype="u8", range=[124, 130]),
          "b": tensor(64, 128, dtype="u8"), "sb": tensor(64, 8, dtype="u8", range=[124, 130]),
          "c": tensor(64, 64, role="out"), "m": i32(64), "n": i32(64), "k": i32(256)},
         {"BM": 64, "BN": 64, "BK": 128, "FORM": "e2m1", "PACK": 2}, (1, 1), "scaled_product4"),
    case("dropout", "dropout", {"x": tensor(500), "out": tensor(500, role="out"), "n": i32(500),
                                "seed": i32(7)}, {"BLOCK": 512}, (1,), "identity"),
    case("functions", "functions", {"x": tensor(500), "out": tensor(500, role="out"),
                                    "n": i32(500)}, {"BLOCK": 512}, (1,), "functions"),
    case("wide_integers", "wide_integers",
         {"x": tensor(300, dtype="i32", range=[0, 100000]),
          "out": tensor(300, dtype="i32", role="out"), "n": i32(300)}, {"BLOCK": 512}, (1,),
         "wide_integers"),
    case("bin_counts", "bin_counts",
         {"x": tensor(500, dtype="i32", range=[0, 32]), "out": tensor(32, dtype="i32", role="out"),
          "n": i32(500)}, {"BLOCK": 512, "BINS": 32}, (1,), "bin_counts"),
    case("persistent", "persistent",
         {"a": tensor(128, 96, **BF16), "b": tensor(96, 128, **BF16),
          "c": tensor(128, 128, role="out"), "m": i32(128), "n": i32(128), "k": i32(96)},
         {"PROGRAMS": 3, "BM": 64, "BN": 64, "BK": 32}, (3,), "product"),
    case("locked_sum", "locked_sum",
         {"x": tensor(3, 128), "out": tensor(128, role="inout", init="zero"),
          "lock": tensor(1, dtype="i32", role="inout", init="zero"), "columns": i32(128)},
         {"BLOCK": 128}, (3,), "locked_sum"),
    case("running_maximum", "running_maximum",
         {"x": tensor(2, 300), "out": tensor(2, 300, role="out"), "columns": i32(300)},
         {"BLOCK": 512}, (2,), "running_maximum"),
    case("chained", "chained",
         {"a": tensor(64, 64, **BF16), "b": tensor(64, 64, **BF16), "c": tensor(64, 64, **BF16),
          "out": tensor(64, 64, role="out")}, {"BM": 64, "BN": 64, "BK": 64}, (1,), "chained",
         tolerance=1e-2),
    case("halves_softmax", "halves_softmax",
         {"x": tensor(2, 300, dtype="f16"), "out": tensor(2, 300, dtype="f16", role="out"),
          "columns": i32(300)}, {"BLOCK": 512}, (2,), "softmax"),
]  # fmt: skip
