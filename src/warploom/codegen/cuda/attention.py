"""CUDA C++ of flash-attention forward: the skeleton around the emitted role programs.

O = softmax(scale * Q K^T) V for every head. The skeleton holds what no schedule decides: the order
of the query tiles, tensor maps and the role branch. Loops, waits, barriers, loads, products and
softmax steps come from the document's entries through the lowering table.

Key tiles are visited from the last to the first: what a causal mask cuts lies in the first
iteration of a tile, which the schedule peels, so the loop itself has no mask.
"""

from __future__ import annotations

from warploom.codegen.cuda import layout, ptx
from warploom.codegen.cuda.lowering import Lowering, LoweringTable, Site, base_table
from warploom.codegen.cuda.roles import barrier_setup, cursors, entry_lines, indent, role_tile
from warploom.codegen.cuda.softmax import softmax_functions
from warploom.errors import BackendError
from warploom.interchange.roles import BulkStore, Compute, Load, Mma, RoleEntry, RolesDocument
from warploom.schedules.hopper.attention import (
    CONSUMERS,
    HEAD_DIM,
    ROWS,
    TILE_K,
    TILE_Q,
    AttentionKernel,
)
from warploom.target.h200 import h200

ATTENTION_ENTRY = "warploom_attention"
WIDTH = 64  # columns of one 128-byte row
K_STEPS = HEAD_DIM // 16
HALF_STEPS = WIDTH // 16


def attention_table(kernel: AttentionKernel) -> LoweringTable:
    """The lowering table of attention's ops."""

    def load(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Load)
        return _load(e, site)

    def qk(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Mma)
        return _qk(kernel, e, site)

    def pv(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Mma)
        return _pv(kernel, e, site)

    def row_max(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Compute)
        masked = kernel.causal and site.phase == "prologue" and e.k == 0
        mask = ["mask_diagonal(s, instance, warp_in_group);"] if masked else []
        return [*mask, "row_max(s, m, a, scale);"]

    def fetch(e: RoleEntry, site: Site) -> list[str]:
        rows = f"{site.part('Q', 'lo', 0)} + instance * {ROWS * 128} + warp_in_group * 2048"
        return [f"fetch_q(q, {rows}, {TILE_Q * 128});"]

    def convert(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, Compute)
        return [f"stage_o(o, {e.args[0]}, l, {_staging(e.fills[0].copy)});"]

    def store(e: RoleEntry, site: Site) -> list[str]:
        assert isinstance(e, BulkStore)
        at = f"{e.args[0]}, q_row + {ROWS} * instance + 16 * warp_in_group"
        return [f"if (lane == 0) tma_store(&map_o, {_staging(e.source.copy)}, {at});"]

    ops: dict[str, Lowering] = {
        **{f"{op}.{half}": load for op in ("load_q", "LOAD_K", "LOAD_V") for half in ("lo", "hi")},
        "qk": qk,
        "pv": pv,
        "fetch_q": fetch,
        "start_tile": _call("start_rows(o, m, l);"),
        "max": row_max,
        "exp": _call("exponentials(s, m, a, l, scale);"),
        "cvt": _call("to_p(p, s);"),
        "rescale": _call("rescale(o, a);"),
        "finish_rows": _call("finish_rows(l);"),
        "convert_o": convert,
        "store_o": store,
    }
    table = base_table()
    for name, lowering in ops.items():
        table = table.with_op(name, lowering)
    return table


def _call(line: str) -> Lowering:
    return lambda entry, site: [line]


def _staging(copy: int) -> str:
    return f"staging + {copy} * O_COPY" if copy else "staging"


def _load(e: Load, site: Site) -> list[str]:
    dst, bar = site.part(e.ring, e.part, e.k), site.barrier(e.ring, "full", e.k)
    x = 0 if e.part == "lo" else WIDTH
    row = (
        "q_row" if e.ring == "Q" else f"kv_row + (k_tiles - 1 - ({site.iteration(e.k)})) * {TILE_K}"
    )
    return [f"tma_load({dst}, &map_{e.ring.lower()}, {bar}, {x}, {row});"]


def _qk(kernel: AttentionKernel, e: Mma, site: Site) -> list[str]:
    call = ptx.wgmma_name(TILE_K, kernel.dtype, a_in_registers=kernel.q_registers)
    half_q, half_k = TILE_Q * 128 >> 4, TILE_K * 128 >> 4
    rows = f"{site.part('Q', 'lo', 0)} + instance * {ROWS * 128}"
    queries = [] if kernel.q_registers else [f"  const uint64_t queries = operand_k_major({rows});"]
    at = f"queries + i / {HALF_STEPS} * {half_q} + i % {HALF_STEPS} * 2"
    a = "q[i]" if kernel.q_registers else at
    return [
        "{",
        *queries,
        f"  const uint64_t keys = operand_k_major({site.part('K', 'lo', e.k)});",
        "#pragma unroll",
        f"  for (int i = 0; i < {K_STEPS}; ++i)",
        f"    {call}(s, {a}, keys + i / {HALF_STEPS} * {half_k} + i % {HALF_STEPS} * 2, i != 0);",
        "}",
    ]


def _pv(kernel: AttentionKernel, e: Mma, site: Site) -> list[str]:
    call = ptx.wgmma_name(HEAD_DIM, kernel.dtype, a_in_registers=True, b_mn_major=True)
    first = "1" if e.accumulate else "i != 0"
    return [
        "{",
        f"  const uint64_t v = operand_mn_major({site.part('V', 'lo', e.k)}, {TILE_K * 128});",
        "#pragma unroll",
        f"  for (int i = 0; i < {TILE_K // 16}; ++i)",
        f"    {call}(o, p[i], v + i * {2048 >> 4}, {first});",
        "}",
    ]


def emit_attention(
    document: RolesDocument, kernel: AttentionKernel, table: LoweringTable | None = None
) -> str:
    """The whole CUDA source of a kernel: document plus skeleton, ready for nvcc or NVRTC."""
    _check_fits(document, kernel)
    table = table or attention_table(kernel)
    body = _kernel_text(document, kernel, table)
    functions = softmax_functions(
        kernel.dtype, causal=kernel.causal, q_registers=kernel.q_registers
    )
    dtype = kernel.dtype
    parts = [
        "\n".join(_head(document, kernel)),
        ptx.TYPES,
        ptx.CURSOR,
        ptx.helpers_for("\n".join([functions, *body])),
        ptx.wgmma_function(TILE_K, dtype, a_in_registers=kernel.q_registers),
        ptx.wgmma_function(HEAD_DIM, dtype, a_in_registers=True, b_mn_major=True),
        "\n".join(layout.constants(document)) + "\n",
        functions,
        "\n".join(body) + "\n",
    ]
    return "\n".join(parts)


def _check_fits(document: RolesDocument, kernel: AttentionKernel) -> None:
    if document.name != kernel.name:
        raise BackendError(
            f"schedule {document.name!r} is not one of kernel {kernel.name!r}",
            where="emit_attention",
            fix="derive the schedule from the same AttentionKernel",
        )


def _head(document: RolesDocument, kernel: AttentionKernel) -> list[str]:
    proof = document.proof
    lines = [
        f"// {document.name}: O = softmax(scale * Q K^T) V, {kernel.dtype}, head dimension"
        f" {HEAD_DIM}{', causal' if kernel.causal else ''};",
        f"// {CONSUMERS} consumer warpgroups of {ROWS} query rows, tiles of {TILE_K} keys.",
        "// Written by warploom from a derived and verified schedule.",
    ]
    if proof is not None:
        word = "proven least" if proof.proven else f"proven >= {proof.lower_bound}"
        lines.append(
            f"// Initiation interval {proof.ii} cycles a key tile ({word}: {proof.limit})."
        )
    return [*lines, ""]


def _kernel_text(
    document: RolesDocument, kernel: AttentionKernel, table: LoweringTable
) -> list[str]:
    return [
        f'extern "C" __global__ void __launch_bounds__({kernel.threads}, 1)',
        f"{ATTENTION_ENTRY}(const __grid_constant__ TensorMap map_q,",
        *indent(
            [
                "const __grid_constant__ TensorMap map_k,",
                "const __grid_constant__ TensorMap map_v,",
                "const __grid_constant__ TensorMap map_o,",
                "int heads, int queries, int keys_of_head, int share, int batches, float scale) {",
            ],
            len(ATTENTION_ENTRY) + 1,
        ),
        "  // scale includes log2(e); `share` query heads read one head of K and V.",
        "  extern __shared__ uint8_t dynamic_smem[];",
        "  const uint32_t smem = (shared_address(dynamic_smem) + 1023) & ~1023u;",
        "  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group_of_warps = warp / 4;",
        f"  const int q_tiles = queries / {TILE_Q};",
        "  if (threadIdx.x == 0) {",
        *indent(barrier_setup(document), 4),
        "  }",
        "  __syncthreads();",
        "",
        "  if (group_of_warps == 0) {",
        *indent(_producer(document, table, kernel), 4),
        "  } else {",
        *indent(_consumer(document, table, kernel), 4),
        "  }",
        "}",
    ]


def _tile_loop(body: list[str], kernel: AttentionKernel) -> list[str]:
    """Query tiles of a head are neighbours: CTAs at work share K and V in the L2.

    Causal tiles differ in length: a CTA takes them in pairs, a long one and the short one that
    makes up for it, so that all pairs are equal.
    """
    if not kernel.causal:
        return [
            "const int tiles = q_tiles * heads * batches;",
            "for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            "  const int head = tile / q_tiles, q_tile = tile % q_tiles;",
            f"  const int k_tiles = keys_of_head / {TILE_K};",
            *_tile_body(body),
            "}",
        ]
    return [
        "const int pairs_of_head = (q_tiles + 1) / 2, pairs = pairs_of_head * heads * batches;",
        "for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {",
        "  const int head = pair / pairs_of_head, short_tile = pair % pairs_of_head;",
        "  const int long_tile = q_tiles - 1 - short_tile;",
        "  for (int part = 0; part < (short_tile == long_tile ? 1 : 2); ++part) {",
        "    const int q_tile = part == 0 ? long_tile : short_tile;",
        "    const int k_tiles = q_tile + 1;",
        *indent(_tile_body(body), 2),
        "  }",
        "}",
    ]


def _tile_body(body: list[str]) -> list[str]:
    return indent([f"const int q_row = head * queries + q_tile * {TILE_Q};", *body], 2)


def _registers(which: int) -> list[str]:
    split = h200().register_split(CONSUMERS)
    assert split is not None
    return [f"registers_{'down' if which == 0 else 'up'}<{split[which]}>();"]


def _producer(document: RolesDocument, table: LoweringTable, kernel: AttentionKernel) -> list[str]:
    program = document.program("producer")
    tile = [
        "const int kv_row = head / share * keys_of_head;",
        *role_tile(document, program, table),
    ]
    return [
        *_registers(0),
        "if (warp == 0 && elect_one()) {",
        *(f"  prefetch_map(&map_{name});" for name in "qkvo"),
        *indent(cursors(document, program), 2),
        *indent(_tile_loop(tile, kernel), 2),
        "}",
    ]


def _consumer(document: RolesDocument, table: LoweringTable, kernel: AttentionKernel) -> list[str]:
    program = document.program("consumer")
    return [
        *_registers(1),
        "const int instance = group_of_warps - 1, warp_in_group = warp % 4;",
        "const uint32_t staging = smem + O_STAGING + instance * O_INSTANCE + warp_in_group * 2048;",
        "float s[64], o[64], m[2], l[2], a[2];",
        "uint32_t p[8][4], q[8][4];" if kernel.q_registers else "uint32_t p[8][4];",
        *cursors(document, program),
        *entry_lines(document, program, "setup", table),
        *_tile_loop(role_tile(document, program, table), kernel),
        *entry_lines(document, program, "finish", table),
    ]
