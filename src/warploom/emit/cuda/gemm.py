"""CUDA C++ of a Hopper GEMM: the skeleton around the emitted role programs.

The skeleton holds what no schedule decides: the tile order, tensor maps, the role branch, and how
one store chunk is converted. Loops, waits, barriers, loads, products and stores come from the
document's entries through the lowering table.
"""

from __future__ import annotations

from warploom.document.roles import BulkStore, Compute, Load, Mma, RoleEntry, RolesDocument
from warploom.emit.cuda import layout, ptx
from warploom.emit.cuda.lowering import LoweringTable, Site, base_table
from warploom.emit.cuda.roles import barrier_setup, cursors, entry_lines, indent, role_tile
from warploom.errors import BackendError
from warploom.hopper.kernel import Activation, Dtype, GemmKernel, L2Hints
from warploom.target.h200 import h200

ENTRY = "warploom_gemm"


def gemm_table(kernel: GemmKernel) -> LoweringTable:
    """The lowering table of the GEMM's ops."""

    def load(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Load)
        return _load(kernel, e, site)

    def mma(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Mma)
        return _mma(kernel, e, site)

    def convert(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Compute)
        block, column = e.args
        return [f"stage_c(acc[{block}], {column}, {_staging(e.fills[0].copy)}{_extra(kernel)});"]

    def store(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, BulkStore)
        block, column = e.args
        at = f"col + {column}, row + {64 * block} + 16 * warp_in_group"
        return [f"if (lane == 0) tma_store(&map_c, {_staging(e.source.copy)}, {at});"]

    ops = {"load.A": load, "load.B": load, "mma": mma, "convert_c": convert, "store_c": store}
    table = base_table()
    for name, lowering in ops.items():
        table = table.with_op(name, lowering)
    return table


def _staging(copy: int) -> str:
    return f"staging + {copy} * C_COPY" if copy else "staging"


def _extra(kernel: GemmKernel) -> str:
    parts = [", alpha"] if kernel.epilogue.scale else []
    parts += [", bias, col, N"] if kernel.epilogue.bias else []
    return "".join(parts)


def _load(kernel: GemmKernel, e: Load, site: Site) -> list[str]:
    a = e.part == "A"
    first = "row" if a else "col"
    dst, y = site.part(e.ring, e.part, e.k), first
    if e.multicast > 1:
        share = (kernel.tile_m if a else kernel.tile_n) // e.multicast
        dst += f" + rank * {e.bytes}"
        y = f"{first} + rank * {share}"
    bar = site.barrier(e.ring, "full", e.k)
    k = site.iteration(e.k)
    x = f"(backwards ? k_tiles - 1 - ({k}) : {k})" if kernel.serpentine else k
    call, tail = "tma_load", ""
    if e.multicast > 1:
        call, tail = call + "_multicast", f", {(1 << e.multicast) - 1}"
    if kernel.hints is L2Hints.KEEP_A:
        call, tail = call + "_hint", f"{tail}, policy_{e.part.lower()}"
    return [f"{call}({dst}, &map_{e.part.lower()}, {bar}, {x} * {kernel.block_k}, {y}{tail});"]


def _mma(kernel: GemmKernel, e: Mma, site: Site) -> list[str]:
    call = ptx.wgmma_name(kernel.tile_n, kernel.dtype)
    a = site.part("ab", "A", e.k) + f" + instance * {kernel.a_bytes // kernel.consumers}"
    b = site.part("ab", "B", e.k)
    accumulate = "1" if e.accumulate else "step != 0"
    return [
        "{",
        f"  const uint64_t a = operand_k_major({a});",
        f"  const uint64_t b = operand_k_major({b});",
        "#pragma unroll",
        f"  for (int step = 0; step < {kernel.k_steps}; ++step)",
        "#pragma unroll",
        f"    for (int i = 0; i < {kernel.blocks_m}; ++i)",
        f"      {call}(acc[i], a + 512 * i + 2 * step, b + 2 * step, {accumulate});",
        "}",
    ]


def emit_gemm(
    document: RolesDocument, kernel: GemmKernel, table: LoweringTable | None = None
) -> str:
    """The whole CUDA source of a kernel: document plus skeleton, ready for nvcc or NVRTC."""
    _check_fits(document, kernel)
    table = table or gemm_table(kernel)
    body = _kernel_text(document, kernel, table)
    functions = [_stage_function(kernel), _TILE_ORDER]
    calls = "\n".join([*functions, *body])
    parts = [
        "\n".join(_head(document, kernel)),
        ptx.TYPES,
        ptx.CURSOR,
        ptx.helpers_for(calls),
        ptx.wgmma_function(kernel.tile_n, kernel.dtype),
        "\n".join(layout.constants(document)) + "\n",
        *functions,
        "\n".join(body) + "\n",
    ]
    return "\n".join(parts)


def _check_fits(document: RolesDocument, kernel: GemmKernel) -> None:
    """The document is one of this kernel's: same tile, consumers and cluster."""
    parts = {p.name: p.bytes for p in document.rings[0].parts}
    consumer = document.program("consumer")
    stored = tuple(e.args for e in consumer.epilogue if isinstance(e, BulkStore))
    found = (parts.get("A"), parts.get("B"), consumer.instances, document.cluster, stored)
    cm, cn = kernel.cluster
    want = (kernel.a_bytes, kernel.b_bytes, kernel.consumers, cm * cn, kernel.chunks())
    if found != want:
        raise BackendError(
            f"schedule {document.name!r} is not one of kernel {kernel.name!r}",
            where="emit_gemm",
            why=f"(A bytes, B bytes, consumers, cluster, stores) are {found}, not {want}",
            fix="derive the schedule from the same GemmKernel",
        )


def _head(document: RolesDocument, kernel: GemmKernel) -> list[str]:
    proof = document.proof
    cm, cn = kernel.cluster
    lines = [
        f"// {document.name}: C[M, N] {kernel.out} = A[M, K] {kernel.dtype} * B[N, K]^T,",
        f"// tile {kernel.tile_m}x{kernel.tile_n}x{kernel.block_k}, {kernel.consumers} consumer "
        f"warpgroup(s), cluster {cm}x{cn}, {document.rings[0].depth} stages.",
        "// Written by warploom from a derived and verified schedule.",
    ]
    if proof is not None:
        word = "proven least" if proof.proven else f"proven >= {proof.lower_bound}"
        lines.append(f"// Initiation interval {proof.ii} cycles a stage ({word}: {proof.limit}).")
    return [*lines, ""]


_TILE_ORDER = """\
// Tiles in groups of `group` rows, columns outside: neighbours share A and B in the L2.
DEVICE void tile_at(int tile, int tiles_m, int tiles_n, int group, int& m, int& n) {
  const int whole = group * tiles_n, first = tile / whole * group;
  const int rows = min(tiles_m - first, group), rest = tile % whole;
  m = first + rest % rows;
  n = rest / rows;
}
"""

_ACTIVATIONS = {
    Activation.RELU: "fmaxf(x, 0.0f)",
    Activation.GELU: "0.5f * x * (1.0f + erff(x * 0.70710678f))",
    Activation.SILU: "x / (1.0f + __expf(-x))",
}


def _stage_function(kernel: GemmKernel) -> str:
    """One store chunk: 16 rows of a warp, 128 bytes wide, into its swizzled staging copy."""
    arguments = f"const float (&d)[{kernel.tile_n // 2}], int column, uint32_t buffer"
    arguments += ", float alpha" if kernel.epilogue.scale else ""
    arguments += ", const BIAS_T* bias, int col, int N" if kernel.epilogue.bias else ""
    value = _value_lines(kernel)
    body = _stage_fp32() if kernel.out is Dtype.FP32 else _stage_16bit(kernel)
    head = _bias_type(kernel)
    return "\n".join(
        [
            *head,
            "// Accumulators d[4j + 2i + c] are row 8i + lane / 4, column 8j + 2 (lane % 4) + c.",
            f"DEVICE void stage_c({arguments}) {{",
            "  const int lane = threadIdx.x % 32;",
            *indent(value, 2),
            *indent(body, 2),
            "}",
            "",
        ]
    )


def _bias_type(kernel: GemmKernel) -> list[str]:
    if not kernel.epilogue.bias:
        return []
    if kernel.out is Dtype.FP32:
        convert = "return b;"
    elif kernel.out is Dtype.BF16:
        convert = "return __uint_as_float((uint32_t)b << 16);"
    else:
        convert = 'float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(b)); return f;'
    kind = "float" if kernel.out is Dtype.FP32 else "uint16_t"
    return [f"typedef {kind} BIAS_T;", f"DEVICE float bias_value(BIAS_T b) {{ {convert} }}"]


def _value_lines(kernel: GemmKernel) -> list[str]:
    """A lambda ``value(q)``: accumulator q of the chunk behind scale, bias and activation."""
    lines = ["auto value = [&](int q) {", "  float x = d[column / 2 + q];"]
    if kernel.epilogue.scale:
        lines.append("  x *= alpha;")
    if kernel.epilogue.bias:
        lines += [
            "  const int at = col + column + q / 4 * 8 + lane % 4 * 2 + q % 2;",
            "  if (at < N) x += bias_value(bias[at]);",
        ]
    if kernel.epilogue.activation is not Activation.NONE:
        lines.append(f"  x = {_ACTIVATIONS[kernel.epilogue.activation]};")
    return [*lines, "  return x;", "};"]


def _stage_16bit(kernel: GemmKernel) -> list[str]:
    pack = f"pack_{kernel.out}"
    pairs = ", ".join(f"{pack}(value(q + {i}), value(q + {i + 1}))" for i in (0, 2, 4, 6))
    return [
        "const int row = lane % 16, half = lane / 16;",
        "#pragma unroll",
        "for (int j = 0; j < 4; ++j) {",
        "  const int q = 8 * j;",
        "  const uint32_t address = buffer + row * 128 + (((2 * j + half) ^ (row % 8)) << 4);",
        f"  stmatrix4(address, {pairs});",
        "}",
    ]


def _stage_fp32() -> list[str]:
    return [
        "const int row = lane / 4, pair = lane % 4;",
        "#pragma unroll",
        "for (int j = 0; j < 4; ++j)",
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i) {",
        "    const int q = 4 * j + 2 * i, chunk = 2 * j + pair / 2;",
        "    const uint32_t address = buffer + (row + 8 * i) * 128"
        " + ((chunk ^ (row % 8)) << 4) + pair % 2 * 8;",
        "    store_shared2(address, value(q), value(q + 1));",
        "  }",
    ]


def _kernel_text(document: RolesDocument, kernel: GemmKernel, table: LoweringTable) -> list[str]:
    cm, cn = kernel.cluster
    size = cm * cn
    return [
        f'extern "C" __global__ void __launch_bounds__({kernel.threads}, 1)',
        *([f"__cluster_dims__({size}, 1, 1)"] if size > 1 else []),
        f"{ENTRY}(const __grid_constant__ TensorMap map_a,",
        *indent(_parameters(kernel), len(ENTRY) + 1),
        "  extern __shared__ uint8_t dynamic_smem[];",
        "  const uint32_t smem = (shared_address(dynamic_smem) + 1023) & ~1023u;",
        "  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group_of_warps = warp / 4;",
        *(["  const int rank = cluster_rank();"] if size > 1 else []),
        f"  const int tiles_m = (M + {kernel.tile_m * cm - 1}) / {kernel.tile_m * cm};",
        f"  const int tiles_n = (N + {kernel.tile_n * cn - 1}) / {kernel.tile_n * cn};",
        f"  const int tiles = tiles_m * tiles_n, k_tiles = (K + {kernel.block_k - 1})"
        f" / {kernel.block_k};",
        f"  const int first_tile = blockIdx.x / {size}, tile_step = gridDim.x / {size};",
        "  if (threadIdx.x == 0) {",
        *indent(barrier_setup(document), 4),
        "  }",
        "  cluster_sync();" if size > 1 else "  __syncthreads();",
        "",
        "  if (group_of_warps == 0) {",
        *indent(_producer(document, kernel, table), 4),
        "  } else {",
        *indent(_consumer(document, kernel, table), 4),
        "  }",
        *(["  __syncwarp();", "  cluster_sync();"] if size > 1 else []),
        "}",
    ]


def _parameters(kernel: GemmKernel) -> list[str]:
    extra = [", float alpha"] if kernel.epilogue.scale else []
    extra += [", const BIAS_T* bias"] if kernel.epilogue.bias else []
    return [
        "const __grid_constant__ TensorMap map_b,",
        "const __grid_constant__ TensorMap map_c,",
        f"int M, int N, int K, int group{''.join(extra)}) {{",
    ]


def _registers(kernel: GemmKernel, which: int) -> list[str]:
    split = h200().register_split(kernel.consumers)
    if split is None:
        return []
    return [f"registers_{'down' if which == 0 else 'up'}<{split[which]}>();"]


def _tile_loop(kernel: GemmKernel, body: list[str], within: str = "") -> list[str]:
    cm, cn = kernel.cluster
    m = f"(m * {cm} + rank)" if cm > 1 else "m"
    n = f"(n * {cn} + rank)" if cn > 1 else "n"
    return [
        "for (int tile = first_tile; tile < tiles; tile += tile_step) {",
        "  int m, n;",
        "  tile_at(tile, tiles_m, tiles_n, group, m, n);",
        f"  const int row = {m} * {kernel.tile_m}{within}, col = {n} * {kernel.tile_n};",
        *indent(body, 2),
        "}",
    ]


def _producer(document: RolesDocument, kernel: GemmKernel, table: LoweringTable) -> list[str]:
    program = document.program("producer")
    tile = role_tile(document, program, table)
    policies: list[str] = []
    if kernel.hints is L2Hints.KEEP_A:
        policies = [
            "const uint64_t policy_a = policy_evict_last(), policy_b = policy_evict_first();"
        ]
    if kernel.serpentine:
        policies.append("bool backwards = true;")
        tile = [
            "// Every other tile walks K backwards: the L2 still holds the slices just read.",
            "backwards = !backwards;",
            *tile,
        ]
    return [
        *_registers(kernel, 0),
        "if (warp == 0 && elect_one()) {",
        "  prefetch_map(&map_a);",
        "  prefetch_map(&map_b);",
        "  prefetch_map(&map_c);",
        *indent([*policies, *cursors(document, program)], 2),
        *indent(_tile_loop(kernel, tile), 2),
        *indent(entry_lines(document, program, "finish", table), 2),
        "}",
    ]


def _consumer(document: RolesDocument, kernel: GemmKernel, table: LoweringTable) -> list[str]:
    program = document.program("consumer")
    tile = role_tile(document, program, table)
    rows = kernel.tile_m // kernel.consumers
    loop = _tile_loop(kernel, tile, f" + instance * {rows}")
    return [
        *_registers(kernel, 1),
        "const int instance = group_of_warps - 1, warp_in_group = warp % 4;",
        "const uint32_t staging = smem + C_STAGING + instance * C_INSTANCE + warp_in_group * 2048;",
        f"float acc[{kernel.blocks_m}][{kernel.tile_n // 2}];",
        *cursors(document, program),
        *entry_lines(document, program, "setup", table),
        *loop,
        *entry_lines(document, program, "finish", table),
    ]
