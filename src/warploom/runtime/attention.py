"""``attention`` and ``attention_packed`` on a Hopper GPU, for tensors of any library.

They run the kernels of ``warploom.kernels.attention``; the kernel is scheduled, proven and compiled
on first use and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from warploom.compiler.layout import Layout
from warploom.errors import ConfigError
from warploom.kernels.attention import (
    attention as attention_kernel,
    blocked,
    packed,
    paged,
)
from warploom.passes.kernel_config import KernelConfig
from warploom.runtime.arguments import count, tiles
from warploom.runtime.attention_checks import (
    causal_choice,
    check_heads,
    check_pages,
    check_sinks,
    checked_scale,
    usual_scale,
)
from warploom.runtime.block_mask import block_lists, is_block_mask, tile_keys
from warploom.runtime.declared_calls import calls_of
from warploom.runtime.flexible import flexible
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.runner import Layouts, View
from warploom.runtime.tensors import Foreign

HEADS_RANK = 4
BOTH = (False, True)
FEW_ROWS = 64  # of a tile that one consumer holds


def attention(
    q: Foreign,
    k: Foreign,
    v: Foreign,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    score: Callable[..., Any] | None = None,
    visible: object | None = None,
    sinks: object | None = None,
    lengths: object | None = None,
    pages: object | None = None,
    return_lse: bool = False,
    out: Foreign = None,
    kernel: KernelConfig | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """``softmax(scale * q @ k^T) @ v`` for every head; returns ``out``.

    ``q`` is [batch, heads, queries, head dim], ``k`` and ``v`` are [batch, kv heads, keys, head
    dim], bf16 or fp16; head dim is a multiple of 64 up to 256, kv heads divide heads, lengths are
    any. Rows are contiguous, the other axes may have any strides (others than multiples of 16 bytes
    cost a copy). ``causal``: query i sees keys 0..i; with ``"lower_right"`` the last query sees the
    last key. ``scale`` is 1 / sqrt(head dim) unless given. ``lengths``, int32 [batch] on the GPU:
    keys from there on do not count, whatever lies there; lengths beyond the keys stand for all of
    them. A query that sees no key gives zeros. ``out`` may be ``q``, but must not overlap ``k`` and
    ``v``.

    ``pages``, int32 [batch, most pages] on the GPU: keys and values lie in pages, ``k`` and ``v``
    are [pages of all, kv heads, page size, head dim] (a view of what a server stores), page sizes
    are 64 and 128, and ``lengths`` must be given. Sequence i has its keys in pages
    ``pages[i, 0]``, ``pages[i, 1]`` and so on. What lies in a page past the length does not count.

    ``score(x, batch, head, query, key)`` changes scaled scores, ``visible(batch, head, query,
    key)`` says which keys count: Python functions, read from their source like a kernel's. Tensors
    they capture are read on the GPU. FlexAttention's score_mod and mask_mod are taken as they are,
    and so is its BlockMask: its blocks alone are walked, full ones without a mask.
    ``sinks``, float32 [heads]: scores of a key without a value that every query sees.

    ``return_lse``: returns (out, lse), with the natural logarithm of each row's sum of
    exponentials, float32 [batch, heads, queries]. ``kernel`` fixes the tiles; ``stream`` is CUDA's.
    """
    tensors = q, k, v, out, None, lengths
    if scale is None and kernel is None and (causal is False or causal is True):  # most calls
        options, factor = PLAIN[1 if return_lse else 0][causal], None
    else:
        options, factor = asked(q, causal, scale, return_lse, kernel)
    if score is None and visible is None and sinks is None and pages is None:
        done = CALLS.launch(tensors, factor, options, stream)
    else:
        own = score, visible, sinks, pages
        done = _launched(tensors, factor, options, own, stream)
    return (done[3], done[4]) if return_lse else done[3]


def _launched(
    tensors: tuple[Any, ...],
    factor: tuple[float] | None,
    options: tuple[Any, ...],
    own: tuple[Any, ...],
    stream: int | None,
) -> Sequence[Any]:
    """The tensors of a call, launched, results made; ``own``: score, visible, sinks, pages."""
    (q, k, v, out, _, lengths), (score, visible, sinks, pages) = tensors, own
    if pages is not None:
        _check_plain(score is not None or visible is not None or sinks is not None)
        return PAGED.launch((q, k, v, pages, lengths, out, None), factor, options, stream)[2:]
    if sinks is not None:
        check_sinks(sinks, q)
    calls = CALLS
    if is_block_mask(visible):
        calls, tensors = BLOCKED, tensors + block_lists(visible, q, k)
        options = _wide(options, tile_keys(k))
    calls, options, given = flexible(calls, score, visible, options, sinks)
    return calls.launch(tensors + given, factor, options, stream)


def asked(
    q: object,
    causal: bool | str,
    scale: float | None,
    return_lse: bool,
    kernel: KernelConfig | None = None,
) -> tuple[tuple[Any, ...], tuple[float] | None]:
    """Options and scalars of a call; with one query the last one sees every key."""
    mask = False if causal == "lower_right" and _queries(q) == 1 else causal
    options = _options(causal_choice(mask), bool(return_lse), tiles(kernel, "kernel"))
    return options, None if scale is None else (checked_scale(scale),)


def _check_plain(own: bool) -> None:
    if own:
        raise ConfigError(
            "pages together with score, visible or sinks",
            where="warploom.attention",
            why="keys in pages are read by a kernel of its own, which has none of them",
            fix="gather the pages into one tensor first, or leave them out",
        )


def attention_packed(
    q: object,
    k: object,
    v: object,
    q_starts: object,
    k_starts: object,
    most_queries: int,
    most_keys: int,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    score: Callable[..., Any] | None = None,
    visible: Callable[..., Any] | None = None,
    sinks: object | None = None,
    return_lse: bool = False,
    out: object | None = None,
    kernel: KernelConfig | None = None,
    stream: int | None = None,
) -> Any:  # noqa: ANN401 (the caller's own tensor type)
    """Attention of sequences of different lengths, packed one after another.

    ``q`` is [rows, heads, head dim], ``k`` and ``v`` are [rows, kv heads, head dim]. Sequence i is
    rows ``q_starts[i]`` to ``q_starts[i + 1]`` of q, and likewise of k and v: int32 on the GPU, one
    entry more than sequences, rising from 0 to the rows. ``most_queries`` and ``most_keys`` are the
    longest lengths. ``lse`` is [heads, rows]. ``score`` and ``visible`` are given the number of the
    sequence as batch, and query and key as counted in it. All else as in ``attention``.
    """
    count(most_queries, "most_queries")
    count(most_keys, "most_keys")
    if is_block_mask(visible):
        raise ConfigError(
            "a block mask for packed sequences",
            where="warploom.attention_packed",
            why="its blocks are those of one sequence",
            fix="the function of the mask, of query and key in their sequence",
        )
    calls: Calls = PACKED
    (options, factor), given = asked(None, causal, scale, return_lse, kernel), ()
    if score is not None or visible is not None or sinks is not None:
        if sinks is not None:
            check_sinks(sinks, q)
        calls, options, given = flexible(calls, score, visible, options, sinks)
    tensors = q, k, v, q_starts, k_starts, out, None, *given
    done = calls.launch(tensors, factor, options, stream)
    return (done[5], done[6]) if return_lse else done[5]


@lru_cache(maxsize=256)
def _options(mask: bool | str, return_lse: bool, kernel: KernelConfig | None) -> tuple[Any, ...]:
    return (
        (),
        (("causal", mask),),
        frozenset({"scale"}),
        frozenset({"out", "lse"} if return_lse else {"out"}),
        kernel.pins if kernel is not None else (),
    )


def _wide(options: tuple[Any, ...], keys: int) -> tuple[Any, ...]:
    """The options with tiles as wide as a mask's blocks allow."""
    types, choices, *rest = options
    return (types, (*choices, ("wide", keys)), *rest)


def _queries(q: Any) -> int:  # noqa: ANN401
    shape: tuple[int, ...] = getattr(q, "shape", ())
    return int(shape[2]) if len(shape) == HEADS_RANK else 0


def _viewed(layouts: Layouts, options: tuple[Any, ...], results: int = 3) -> View:
    """Few queries of heads that share keys, as rows of one tile: keys are read once for all.

    ``results``: where out and lse stand.
    """
    q, k = layouts[:2]
    out, lse = layouts[results : results + 2]
    same: View = (layouts, {})
    if q is None or k is None or len(q.shape) != HEADS_RANK or len(k.shape) != HEADS_RANK:
        return same
    _, heads, queries, _ = q.shape
    groups = k.shape[1]
    if dict(options[1])["causal"] or not 0 < groups < heads or heads % groups:
        return same
    if heads // groups * queries > FEW_ROWS:
        return same
    whole: tuple[int, ...] = tuple(q.shape)
    for given, shape in ((q, whole), (out, whole), (lse, whole[:3])):
        if given is not None and (given.shape != shape or not _has_rows(given)):
            return same
    seen = [_rows(q, groups), *layouts[1:]]
    seen[results : results + 2] = [_rows(out, groups), _rows(lse, groups)]
    return tuple(seen), {results: whole, results + 1: whole[:3]}


def _has_rows(layout: Layout) -> bool:
    """Whether one step leads from query to query, and from the last to the next head's first."""
    queries = layout.shape[2]
    return queries == 1 or layout.strides[1] == queries * layout.strides[2]


def _rows(layout: Layout | None, groups: int) -> Layout | None:
    """Heads of a group and their queries as one axis."""
    if layout is None:
        return None
    (b, heads, queries, *rest), (sb, sh, ss, *steps) = layout.shape, layout.strides
    share = heads // groups
    shape = (b, groups, share * queries, *rest)
    strides = (sb, share * sh, ss if queries > 1 else sh, *steps)
    return Layout(shape, strides, layout.dtype, layout.device)


def _check(layouts: Layouts, options: tuple[Any, ...], results: int = 3) -> None:
    check_heads(layouts, results)


def _check_paged(layouts: Layouts, options: tuple[Any, ...]) -> None:
    check_heads(layouts, 5)
    assert layouts[1] is not None
    check_pages(layouts[1])


PLAIN = tuple(tuple(_options(causal, sums, None) for causal in BOTH) for sums in BOTH)
CALLS = calls_of(attention_kernel, check=_check, viewed=_viewed, usual=usual_scale)
BLOCKED = calls_of(blocked, check=_check, usual=usual_scale)
PAGED = calls_of(paged, check=_check_paged, viewed=partial(_viewed, results=5), usual=usual_scale)
PACKED = calls_of(packed, check=partial(_check, results=5), usual=usual_scale)
