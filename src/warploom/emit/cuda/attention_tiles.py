"""Which query tiles a CTA of attention visits, and which key tiles each of them sees, as CUDA text.

Key tiles are visited from the last to the first: what a mask cuts lies in the first iterations of
a tile. Query tiles of a head are neighbours: CTAs at work share K and V in the L2. Causal tiles
differ in length: a CTA takes them in pairs, a long one and the short one that makes up for it, so
that all pairs are equal.

``TILES`` is plain C, so that a host compiler can judge it too.
"""

from __future__ import annotations

from warploom.emit.cuda.roles import indent

TILES = """\
// A number to divide by, with what stands in for the division of numbers below 2^31.
struct Divisor { unsigned value, multiplier, shift; };

DEVICE unsigned quotient(unsigned n, const Divisor& d) {
  return (unsigned)((unsigned long long)n * d.multiplier >> d.shift);
}

// One call. scale includes log2(e). `share` query heads read one head of K and V. Sequences lie in
// batches, or packed behind one another from q_starts[batch] and k_starts[batch] on; `queries` and
// `keys` are then the most of any of them. align_end: the last query sees the last key when causal;
// else the first query sees the first key. Strides count elements. `visits_of_head`: the tiles of a
// head, or when causal twice the pairs.
struct Call {
  uint16_t* out;
  float* lse;
  const int *q_starts, *k_starts;
  long long out_row, out_head, out_batch;
  int batches, share, queries, keys, align_end;
  float scale;
  Divisor visits_of_head, heads;
};

// A tile of queries: the sequence it belongs to and where that lies. `skip`: there is none.
struct Tile {
  int batch, head, q_first, queries, keys, q_base, k_base, outer, diagonal;
  bool skip;
};

DEVICE int visits_of(const Call& call) {
  return call.visits_of_head.value * call.heads.value * call.batches;
}

// Visits of a CTA: tile by tile, or pair by pair.
DEVICE int first_visit(int cta) { return CAUSAL ? 2 * cta : cta; }
DEVICE int next_visit(int visit, int ctas) {
  return CAUSAL ? (visit % 2 ? visit - 1 + 2 * ctas : visit + 1) : visit + ctas;
}

DEVICE Tile tile_of(const Call& call, unsigned visit) {
  const int q_tiles = (call.queries + TILE_Q - 1) / TILE_Q;
  const unsigned row = quotient(visit, call.visits_of_head);
  const int place = visit - row * call.visits_of_head.value;
  const int q_tile = !CAUSAL ? place : place % 2 ? place / 2 : q_tiles - 1 - place / 2;
  Tile t;
  t.batch = quotient(row, call.heads);
  t.head = row - t.batch * call.heads.value;
  t.q_first = q_tile * TILE_Q;
  const bool packed = call.q_starts != nullptr;
  t.outer = packed ? 0 : t.batch;
  t.q_base = packed ? call.q_starts[t.batch] : 0;
  t.k_base = packed ? call.k_starts[t.batch] : 0;
  t.queries = packed ? call.q_starts[t.batch + 1] - t.q_base : call.queries;
  t.keys = packed ? call.k_starts[t.batch + 1] - t.k_base : call.keys;
  t.diagonal = call.align_end ? t.keys - t.queries : 0;
  const bool again = CAUSAL && place % 2 && 2 * q_tile == q_tiles - 1;  // the middle tile, twice
  t.skip = again || t.q_first >= t.queries;
  return t;
}

// The key tiles a tile of queries sees: `count` of them, of which the first `masked` visited hold
// keys that not every query sees. Query i sees the keys below i + 1 + diagonal, if causal.
struct KeyRange { int count, masked; };

DEVICE KeyRange keys_of(const Tile& t) {
  int seen = t.keys, seen_by_all = t.keys;
  if (CAUSAL) {
    const int end = t.q_first + TILE_Q, last = (end < t.queries ? end : t.queries) + t.diagonal;
    const int least = t.q_first + 1 + t.diagonal;
    seen = last < t.keys ? last : t.keys;
    seen_by_all = least < 0 ? 0 : least < t.keys ? least : t.keys;
  }
  const int count = seen > TILE_K ? (seen + TILE_K - 1) / TILE_K : 1;
  return {count, count - seen_by_all / TILE_K};
}

// The first row of the tile's sequence in the result.
DEVICE uint16_t* out_of(const Call& call, const Tile& t) {
  return call.out + t.outer * call.out_batch + t.head * call.out_head + t.q_base * call.out_row;
}

DEVICE float* lse_of(const Call& call, const Tile& t) {
  if (call.lse == nullptr) return nullptr;
  if (call.q_starts != nullptr)
    return call.lse + (long long)t.head * call.q_starts[call.batches] + t.q_base;
  return call.lse + ((long long)t.batch * call.heads.value + t.head) * call.queries;
}
"""


def tile_loop(body: list[str]) -> list[str]:
    """A role's loop over its CTA's tiles."""
    return [
        "const int visits = visits_of(call);",
        "for (int visit = first_visit(blockIdx.x); visit < visits;",
        "     visit = next_visit(visit, gridDim.x)) {",
        "  const Tile tile = tile_of(call, visit);",
        "  if (tile.skip) continue;",
        "  const KeyRange range = keys_of(tile);",
        "  const int k_tiles = range.count;",
        *indent(body, 2),
        "}",
    ]
