"""Which query tiles a CTA of attention visits, and which key tiles each of them sees, as CUDA text.

Key tiles are visited from the last to the first: what a mask cuts lies in the first iterations of
a tile. ``KEY_RANGE`` is plain C, so that a host compiler can judge it too.
"""

from __future__ import annotations

from warploom.codegen.cuda.roles import indent
from warploom.schedules.hopper.attention import AttentionKernel

KEY_RANGE = """\
// The key tiles a tile of queries sees: `count` of them, of which the first `masked` visited hold
// keys that not every query sees. Query i sees the keys below i + 1 + diagonal, if causal.
struct KeyRange { int count, masked; };

DEVICE KeyRange key_range(int first, int queries, int keys, int diagonal) {
  int seen = keys, seen_by_all = keys;
  if (CAUSAL) {
    const int last = (first + TILE_Q < queries ? first + TILE_Q : queries) + diagonal;
    const int least = first + 1 + diagonal;
    seen = last < keys ? last : keys;
    seen_by_all = least < 0 ? 0 : least < keys ? least : keys;
  }
  const int count = seen > TILE_K ? (seen + TILE_K - 1) / TILE_K : 1;
  return {count, count - seen_by_all / TILE_K};
}
"""


def tile_loop(body: list[str], kernel: AttentionKernel) -> list[str]:
    """Query tiles of a head are neighbours: CTAs at work share K and V in the L2.

    Causal tiles differ in length: a CTA takes them in pairs, a long one and the short one that
    makes up for it, so that all pairs are equal.
    """
    if not kernel.causal:
        return [
            "const int tiles = q_tiles * heads * batches;",
            "for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            "  const int head = tile / q_tiles, q_first = tile % q_tiles * TILE_Q;",
            *indent(_sequence(), 2),
            "  if (q_first >= queries) continue;",
            *indent(_tile(body), 2),
            "}",
        ]
    return [
        "const int pairs_of_head = (q_tiles + 1) / 2, pairs = pairs_of_head * heads * batches;",
        "for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {",
        "  const int head = pair / pairs_of_head, short_tile = pair % pairs_of_head;",
        "  const int long_tile = q_tiles - 1 - short_tile;",
        *indent(_sequence(), 2),
        "  for (int part = 0; part < (short_tile == long_tile ? 1 : 2); ++part) {",
        "    const int q_first = (part == 0 ? long_tile : short_tile) * TILE_Q;",
        "    if (q_first >= queries) continue;",
        *indent(_tile(body), 4),
        "  }",
        "}",
    ]


def _sequence() -> list[str]:
    """Where the sequence lies: rows of its batch, or a part of the packed rows of all."""
    return [
        "const int batch = head / heads, of_batch = head % heads;",
        "const bool packed = q_starts != nullptr;",
        "const int q_base = packed ? q_starts[batch] : 0, k_base = packed ? k_starts[batch] : 0;",
        "const int queries = packed ? q_starts[batch + 1] - q_base : most_queries;",
        "const int keys = packed ? k_starts[batch + 1] - k_base : most_keys;",
        "const int outer = packed ? 0 : batch;",
        "const int diagonal = align_end ? keys - queries : 0;",
    ]


def _tile(body: list[str]) -> list[str]:
    return [
        "const KeyRange range = key_range(q_first, queries, keys, diagonal);",
        "const int k_tiles = range.count;",
        *body,
    ]
