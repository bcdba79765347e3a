"""CUDA C++ of flash-attention forward: the skeleton around the emitted role programs.

O = softmax(scale * Q K^T) V for every head. The skeleton holds what no schedule decides: the order
of the query tiles, tensor maps and the role branch. Loops, waits, barriers, loads, products and
softmax steps come from the document's entries through the lowering table.

Masked key tiles are visited first. The first iteration of a tile is peeled by the schedule; when
causal there may be more, so the loop is written twice: with the mask, and without.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.document.roles import Compute, Load, Mma, RoleEntry, RolesDocument
from warploom.emit.cuda import layout, ptx
from warploom.emit.cuda.attention_tiles import TILES, tile_loop
from warploom.emit.cuda.holds import held
from warploom.emit.cuda.lowering import Lowering, LoweringTable, Site, base_table
from warploom.emit.cuda.roles import barrier_setup, cursors, entry_lines, indent, role_tile
from warploom.emit.cuda.softmax import softmax_functions
from warploom.errors import BackendError
from warploom.hopper.attention import COLUMNS, AttentionKernel, part_name
from warploom.target.attention_costs import ROWS
from warploom.target.h200 import h200

ATTENTION_ENTRY = "warploom_attention"
SMEM_START = 1024  # behind what the system reserves; the kernel checks it
BLOCK_STEPS = COLUMNS // 16  # k-steps in one 128-byte row
WARP_ROW = f"{ROWS} * instance + 16 * warp_in_group + lane / 4"  # a thread's first row of a tile
# The tile once more, from its number: nothing of it is kept in registers during the loop.
TILE_AGAIN = "const Tile end = tile_of(call, opaque(visit));"


def attention_table(kernel: AttentionKernel, *, masked: bool = False) -> LoweringTable:
    """The lowering table of attention's ops; ``masked``: of the loop over masked key tiles."""

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
        first = site.phase == "prologue" and e.k == 0
        mask = _mask(kernel, site.iteration(e.k)) if masked or first else []
        return [*mask, "row_max(s, m, a, call.scale);"]

    def fetch(e: RoleEntry, site: Site) -> list[str]:
        rows = f"{site.part('Q', part_name(0), 0)} + instance * {ROWS * 128} + warp_in_group * 2048"
        return [f"fetch_q(q, {rows}, {kernel.tile_q * 128});"]

    blocks = [part_name(i) for i in range(kernel.blocks)]
    ops: dict[str, Lowering] = {
        **{f"{op}.{b}": load for op in ("load_q", "LOAD_K", "LOAD_V") for b in blocks},
        "qk": qk,
        "pv": pv,
        "fetch_q": fetch,
        "start_tile": _lines("start_rows(o, m, l);"),
        "max": row_max,
        "exp": _lines("exponentials(s, m, a, l, call.scale);"),
        "cvt": _lines("to_p(p, s);"),
        "rescale": _lines("rescale(o, a);"),
        "finish_rows": _lines(
            TILE_AGAIN,
            f"const int row = end.q_first + {WARP_ROW};",
            "finish_rows(l, m, call.scale, lse_of(call, end), row, end.queries);",
        ),
        "store_o": _lines("store_rows(o, l, out_of(call, end), call.out_row, row, end.queries);"),
    }
    table = base_table()
    for name, lowering in ops.items():
        table = table.with_op(name, lowering)
    return table


def _lines(*lines: str) -> Lowering:
    return lambda entry, site: list(lines)


def _mask(kernel: AttentionKernel, iteration: str) -> list[str]:
    """Hide what queries do not see of the key tile; without a causal mask, keys past the end."""
    lines = [
        f"  const int key = (k_tiles - 1 - ({iteration})) * TILE_K;",
        "  mask_keys(s, TILE_K, tile.keys - key);",
    ]
    if kernel.causal:
        lines[1:] = [
            f"  const int seen = tile.q_first + {WARP_ROW} + 1 + tile.diagonal;",
            "  mask_keys(s, seen - key, tile.keys - key);",
        ]
    return ["if (range.masked) {" if not kernel.causal else "{", *lines, "}"]


def _load(e: Load, site: Site) -> list[str]:
    dst, bar = site.part(e.ring, e.part, e.k), site.barrier(e.ring, "full", e.k)
    x = int(e.part[1:]) * COLUMNS
    if e.ring == "Q":
        at = "tile.q_base + tile.q_first, tile.head"
    else:
        row = f"tile.k_base + (k_tiles - 1 - ({site.iteration(e.k)})) * TILE_K"
        at = f"{row}, tile.head / call.share"
    return [f"tma_load4({dst}, &map_{e.ring.lower()}, {bar}, {x}, {at}, tile.outer);"]


def _qk(kernel: AttentionKernel, e: Mma, site: Site) -> list[str]:
    call = ptx.wgmma_name(kernel.tile_k, kernel.dtype, a_in_registers=kernel.q_registers)
    block_q, block_k = kernel.tile_q * 128 >> 4, kernel.tile_k * 128 >> 4
    rows = f"{site.part('Q', part_name(0), 0)} + instance * {ROWS * 128}"
    queries = [] if kernel.q_registers else [f"  const uint64_t rows = operand_k_major({rows});"]
    at = f"rows + i / {BLOCK_STEPS} * {block_q} + i % {BLOCK_STEPS} * 2"
    a = "q[i]" if kernel.q_registers else at
    b = f"columns + i / {BLOCK_STEPS} * {block_k} + i % {BLOCK_STEPS} * 2"
    return [
        "{",
        *queries,
        f"  const uint64_t columns = operand_k_major({site.part('K', part_name(0), e.k)});",
        "#pragma unroll",
        f"  for (int i = 0; i < {kernel.head_dim // 16}; ++i)",
        f"    {call}(s, {a}, {b}, i != 0);",
        "}",
    ]


def _pv(kernel: AttentionKernel, e: Mma, site: Site) -> list[str]:
    call = ptx.wgmma_name(kernel.head_dim, kernel.dtype, a_in_registers=True, b_mn_major=True)
    first = "1" if e.accumulate else "i != 0"
    start = site.part("V", part_name(0), e.k)
    return [
        "{",
        f"  const uint64_t v = operand_mn_major({start}, {kernel.tile_k * 128});",
        "#pragma unroll",
        f"  for (int i = 0; i < {kernel.tile_k // 16}; ++i)",
        f"    {call}(o, p[i], v + i * {2048 >> 4}, {first});",
        "}",
    ]


def emit_attention(
    document: RolesDocument,
    kernel: AttentionKernel,
    table: LoweringTable | None = None,
    *,
    more: Mapping[str, Lowering] | None = None,
) -> str:
    """The whole CUDA source of a kernel: document plus skeleton, ready for nvcc or NVRTC.

    A ``table`` of the caller's serves all loops; its ``max`` must mask where ``attention_table``
    does. ``more`` are lowerings of further ops the document has.
    """
    _check_fits(document, kernel)
    held_text = ""
    if kernel.hold:
        extended = held(document)
        document, held_text = extended.document, extended.text
        more = {**(more or {}), **extended.ops}
    body = _kernel_text(document, kernel, table, more or {})
    functions = softmax_functions(kernel.dtype, q_registers=kernel.q_registers)
    dtype = kernel.dtype
    parts = [
        "\n".join(_head(document, kernel)),
        ptx.TYPES,
        *([held_text] if held_text else []),
        ptx.CURSOR,
        ptx.helpers_for("\n".join([functions, *body])),
        ptx.wgmma_function(kernel.tile_k, dtype, a_in_registers=kernel.q_registers),
        ptx.wgmma_function(kernel.head_dim, dtype, a_in_registers=True, b_mn_major=True),
        "\n".join([*layout.constants(document), *tile_constants(kernel)]) + "\n",
        TILES,
        functions,
        "\n".join(body) + "\n",
    ]
    return "\n".join(parts)


def tile_constants(kernel: AttentionKernel) -> list[str]:
    """The sizes the emitted functions speak of."""
    return [
        f"constexpr int HEAD_DIM = {kernel.head_dim}, TILE_Q = {kernel.tile_q}, "
        f"TILE_K = {kernel.tile_k};",
        f"constexpr bool CAUSAL = {'true' if kernel.causal else 'false'};",
    ]


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
        f" {kernel.head_dim}{', causal' if kernel.causal else ''};",
        f"// {kernel.consumers} consumer warpgroups of {ROWS} query rows, tiles of {kernel.tile_k}"
        " keys.",
        "// Written by warploom from a derived and verified schedule.",
    ]
    if proof is not None:
        word = "proven least" if proof.proven else f"proven >= {proof.lower_bound}"
        lines.append(
            f"// Initiation interval {proof.ii} cycles a key tile ({word}: {proof.limit})."
        )
    return [*lines, ""]


_PARAMETERS = (
    "const __grid_constant__ TensorMap map_k,",
    "const __grid_constant__ TensorMap map_v,",
    "const __grid_constant__ Call call) {",
)


def _kernel_text(
    document: RolesDocument,
    kernel: AttentionKernel,
    table: LoweringTable | None,
    more: Mapping[str, Lowering],
) -> list[str]:
    plain = (table or attention_table(kernel)).with_ops(more)
    masked = (table or attention_table(kernel, masked=True)).with_ops(more)
    return [
        f'extern "C" __global__ void __launch_bounds__({kernel.threads}, 1)',
        f"{ATTENTION_ENTRY}(const __grid_constant__ TensorMap map_q,",
        *indent(_PARAMETERS, len(ATTENTION_ENTRY) + 1),
        "  extern __shared__ uint8_t dynamic_smem[];",
        f"  constexpr uint32_t smem = {SMEM_START};  // known here, so that no loop computes it",
        '  if (shared_address(dynamic_smem) != smem) asm volatile("trap;");',
        "  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group_of_warps = warp / 4;",
        "  if (threadIdx.x == 0) {",
        *indent(barrier_setup(document), 4),
        "  }",
        "  __syncthreads();",
        "",
        "  if (group_of_warps == 0) {",
        *indent(_producer(document, plain, kernel), 4),
        "  } else {",
        *indent(_consumer(document, plain, masked, kernel), 4),
        "  }",
        "}",
    ]


def _registers(kernel: AttentionKernel, which: int) -> list[str]:
    split = h200().register_split(kernel.consumers)
    return [f"registers_{'down' if which == 0 else 'up'}<{split[which]}>();"] if split else []


def _producer(document: RolesDocument, table: LoweringTable, kernel: AttentionKernel) -> list[str]:
    program = document.program("producer")
    return [
        *_registers(kernel, 0),
        "if (warp == 0 && elect_one()) {",
        *(f"  prefetch_map(&map_{name});" for name in "qkv"),
        *indent(cursors(document, program), 2),
        *indent(tile_loop(role_tile(document, program, table)), 2),
        "}",
    ]


def _consumer(
    document: RolesDocument, plain: LoweringTable, masked: LoweringTable, kernel: AttentionKernel
) -> list[str]:
    program = document.program("consumer")
    first = [("range.masked", masked)] if kernel.causal else []
    held = f", q[{kernel.head_dim // 16}][4]" if kernel.q_registers else ""
    return [
        *_registers(kernel, 1),
        "const int instance = group_of_warps - 1, warp_in_group = warp % 4;",
        "float s[S_REGS], o[O_REGS], m[2], l[2], a[2];",
        f"uint32_t p[P_STEPS][4]{held};",
        *cursors(document, program),
        *entry_lines(document, program, "setup", plain),
        *tile_loop(role_tile(document, program, plain, first)),
        *entry_lines(document, program, "finish", plain),
    ]
