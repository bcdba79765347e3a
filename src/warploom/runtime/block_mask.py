"""Lists of a FlexAttention ``BlockMask`` as the kernel walks them.

Blocks of 128 queries and 128 keys are taken as they lie; lists of larger ones are cut once a mask,
and those of keys, whose queries the backward pass walks, are made of them.
So is the order in which tiles are begun made once: the longest first, heads side by side whose keys
fit in the L2. All of it happens on the device, without waiting for it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from warploom.errors import KernelCallError

BLOCK, RANK = 128, 4
QUERIES = 64  # of a tile that the backward pass walks
NARROW, WIDE_HEAD = 64, 192  # keys of a tile where heads are wider: registers are short
L2_SHARE = 16 * 1024 * 1024  # bytes of keys and values that are walked side by side
Lists = tuple[Any, Any, Any, Any, Any]  # order, some, how many, full, how many


def is_block_mask(visible: object) -> bool:
    """Whether a mask lists its blocks."""
    lists = (getattr(visible, n, None) for n in ("kv_num_blocks", "kv_indices"))
    return all(x is not None for x in lists)


def tile_keys(k: Any) -> int:  # noqa: ANN401
    """Keys of a tile."""
    return NARROW if k.shape[-1] > WIDE_HEAD else BLOCK


def block_lists(mask: Any, q: Any, k: Any, *, turned: bool = False) -> Lists:  # noqa: ANN401
    """The lists for tensors of these shapes; those of a mask are kept as long as it lives.

    Of every block of queries, or ``turned`` of every block of keys.
    """
    for name, x in (("q", q), ("k", k)):
        if len(getattr(x, "shape", ())) != RANK:
            raise KernelCallError(
                f"{name} is {tuple(x.shape) if hasattr(x, 'shape') else type(x).__name__}",
                where=f"argument {name}",
                fix="a tensor [batch, heads, length, head dim]",
            )
    parts = [getattr(mask, n) for n in ("kv_num_blocks", "kv_indices")]
    parts += [getattr(mask, f"full_{n}", None) for n in ("kv_num_blocks", "kv_indices")]
    held = tuple(None if t is None else (t.data_ptr(), t._version) for t in parts)
    key = (tuple(q.shape), tuple(k.shape), held)
    kept = _LISTS.setdefault(mask, {})
    if turned not in kept or kept[turned][0] != key:
        kept[turned] = key, _made(mask, parts, q, k, turned)
    return kept[turned][1]


def _made(mask: Any, parts: list[Any], q: Any, k: Any, turned: bool) -> Lists:  # noqa: ANN401
    batch, heads, queries, _ = q.shape
    keys = k.shape[2]
    size = mask.BLOCK_SIZE
    sizes = tuple(size) if isinstance(size, tuple | list) else (size, size)
    whole = len(sizes) == 2 and all(isinstance(n, int) and n > 0 for n in sizes)
    if not whole or any(n % BLOCK for n in sizes):
        raise KernelCallError(
            f"a block mask with blocks of {sizes}",
            where="argument visible",
            why="a block is made of whole tiles, which have that many queries and keys",
            fix=f"BLOCK_SIZE={BLOCK}, or multiples of it",
        )
    lengths = tuple(getattr(mask, "seq_lengths", None) or (queries, keys))
    rows, units = -(-queries // sizes[0]), parts[0].shape[:2]
    fits = lengths == (queries, keys) and tuple(parts[0].shape[2:]) == (rows,)
    if not fits or any(m not in (1, n) for m, n in zip(units, (batch, heads), strict=True)):
        raise KernelCallError(
            f"a block mask of {tuple(units)} batches and heads, {lengths} queries and keys",
            where="argument visible",
            why=f"the tensors have {(batch, heads)} and {(queries, keys)}",
            fix="create_block_mask with these sizes, None for batches or heads that are alike",
        )
    count, tiles, full_count, full = parts
    pairs = [(count, tiles), *([(full_count, full)] if full is not None else [])]
    each, share = (queries, 1) if turned else (keys, heads // k.shape[1])
    tile = (QUERIES, BLOCK) if turned else (BLOCK, tile_keys(k))
    if turned or sizes != tile:
        pairs = [_cut(*pair, sizes, tile, (queries, keys), turned) for pair in pairs]
    pairs = [
        (n.int().expand(batch, heads, -1), listed.int().expand(batch, heads, -1, -1))
        for n, listed in pairs
    ]
    total = pairs[0][0] if len(pairs) == 1 else pairs[0][0] + pairs[1][0]
    lists = [x for n, listed in pairs for x in (listed, n)]
    order = _order(total, each * k.shape[3] * 2 * k.element_size(), share)
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


def _cut(
    count: Any,  # noqa: ANN401
    tiles: Any,  # noqa: ANN401
    sizes: tuple[int, int],
    tile: tuple[int, int],
    lengths: tuple[int, int],
    turned: bool,
) -> Any:  # noqa: ANN401
    """Lists of blocks as large as a tile, ``turned`` of each column of them."""
    wide = tiles.shape[-1]
    numbers = tiles.new_ones(wide).cumsum(0).sub(1)
    counted = numbers < count[..., None]
    dense = tiles.new_zeros((*tiles.shape[:-1], wide + 1)).bool()
    dense.scatter_(-1, tiles.masked_fill(~counted, wide).long(), True)
    dense = dense[..., :wide]
    for axis in (-2, -1):
        dense = dense.repeat_interleave(sizes[axis] // tile[axis], axis)
        dense = dense.narrow(axis, 0, -(-lengths[axis] // tile[axis]))
    dense = dense.transpose(-1, -2) if turned else dense
    return dense.sum(-1).int(), (~dense).int().argsort(dim=-1, stable=True).int()


_LISTS: WeakKeyDictionary[Any, dict[bool, tuple[Any, Lists]]] = WeakKeyDictionary()
