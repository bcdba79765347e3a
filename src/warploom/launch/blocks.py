"""Lists of a FlexAttention ``BlockMask`` as the kernel walks them.

Blocks of 128 queries and 128 keys are taken as they lie; lists of larger ones are cut once a mask.
So is the order in which tiles are begun made once: the longest first, heads side by side whose keys
fit in the L2. All of it happens on the device, without waiting for it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from warploom.errors import KernelCallError

BLOCK = 128
NARROW, WIDE_HEAD = 64, 192  # keys of a tile where heads are wider: registers are short
L2_SHARE = 16 * 1024 * 1024  # bytes of keys and values that are walked side by side
Lists = tuple[Any, Any, Any, Any, Any]  # order, some, how many, full, how many


def is_block_mask(visible: object) -> bool:
    """Whether a mask lists its blocks."""
    return hasattr(visible, "kv_num_blocks") and hasattr(visible, "kv_indices")


def tile_keys(k: Any) -> int:  # noqa: ANN401
    """Keys of a tile."""
    return NARROW if k.shape[-1] > WIDE_HEAD else BLOCK


def block_lists(mask: Any, q: Any, k: Any) -> Lists:  # noqa: ANN401 (torch's own)
    """The lists for tensors of these shapes; those of a mask are kept as long as it lives."""
    parts = [getattr(mask, n) for n in ("kv_num_blocks", "kv_indices")]
    parts += [getattr(mask, f"full_{n}", None) for n in ("kv_num_blocks", "kv_indices")]
    held = tuple(None if t is None else (t.data_ptr(), t._version) for t in parts)
    key = (tuple(q.shape), tuple(k.shape), held)
    kept = _LISTS.setdefault(mask, {})
    if key not in kept:
        kept.clear()
        kept[key] = _made(mask, parts, q, k)
    return kept[key]


def _made(mask: Any, parts: list[Any], q: Any, k: Any) -> Lists:  # noqa: ANN401
    batch, heads, queries, _ = q.shape
    keys = k.shape[2]
    size = mask.BLOCK_SIZE
    sizes = tuple(size) if isinstance(size, tuple | list) else (size, size)
    lengths = tuple(getattr(mask, "seq_lengths", (queries, keys)))
    rows, units = -(-queries // sizes[0]), parts[0].shape[:2]
    fits = lengths == (queries, keys) and parts[0].shape[2] == rows
    if not fits or any(m not in (1, n) for m, n in zip(units, (batch, heads), strict=True)):
        raise KernelCallError(
            f"a block mask of {tuple(units)} batches and heads, {lengths} queries and keys",
            where="argument visible",
            why=f"the tensors have {(batch, heads)} and {(queries, keys)}",
            fix="create_block_mask with these sizes, None for batches or heads that are alike",
        )
    if any(n % BLOCK for n in sizes):
        raise KernelCallError(
            f"a block mask with blocks of {sizes}",
            where="argument visible",
            why="a block is made of whole tiles, which have that many queries and keys",
            fix=f"BLOCK_SIZE={BLOCK}, or multiples of it",
        )
    count, tiles, full_count, full = parts
    pairs = [(count, tiles), *([(full_count, full)] if full is not None else [])]
    width = tile_keys(k)
    if sizes != (BLOCK, width):
        factors = (sizes[0] // BLOCK, sizes[1] // width)
        tall, wide = -(-queries // BLOCK), -(-keys // width)
        pairs = [_cut(n, listed, factors, (tall, wide)) for n, listed in pairs]
    pairs = [
        (n.int().expand(batch, heads, -1), listed.int().expand(batch, heads, -1, -1))
        for n, listed in pairs
    ]
    total = pairs[0][0] if len(pairs) == 1 else pairs[0][0] + pairs[1][0]
    lists = [x for n, listed in pairs for x in (listed, n)]
    order = _order(total, keys * k.shape[3] * 2 * k.element_size(), heads // k.shape[1])
    return (order, *lists, *([None] * (4 - len(lists))))


def _order(counts: Any, each: int, share: int) -> Any:  # noqa: ANN401
    """Numbers of tiles: by bands of heads, then those with most blocks first.

    ``each``: bytes of a head's keys and values, which ``share`` heads have together.
    """
    batch, heads, rows = counts.shape
    band = max(1, L2_SHARE // max(1, each)) * share
    bands = -(-batch * heads // band)
    band = -(-batch * heads // bands)  # equally wide
    unit = counts.new_ones(batch * heads * rows).cumsum(0).sub(1) // rows
    most = counts.max() + 1
    return (unit // band * most - counts.reshape(-1)).argsort(stable=True).int()


def _cut(count: Any, tiles: Any, factors: tuple[int, int], most: tuple[int, int]) -> Any:  # noqa: ANN401
    """Lists of smaller blocks: every block is ``factors`` of them, of which ``most`` exist."""
    wide = tiles.shape[-1]
    numbers = tiles.new_ones(wide).cumsum(0).sub(1)
    counted = numbers < count[..., None]
    dense = tiles.new_zeros((*tiles.shape[:-1], wide + 1)).bool()
    dense.scatter_(-1, tiles.masked_fill(~counted, wide).long(), True)
    dense = dense[..., :wide].repeat_interleave(factors[0], -2).repeat_interleave(factors[1], -1)
    dense = dense[..., : most[0], : most[1]]
    return dense.sum(-1).int(), (~dense).int().argsort(dim=-1, stable=True).int()


_LISTS: WeakKeyDictionary[Any, dict[Any, Lists]] = WeakKeyDictionary()
