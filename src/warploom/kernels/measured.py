"""Choices that measuring found better than the model's, by kernel, head dimension and mask.

Each was the quickest of a search over tiles and over all programs at the least interval on an H200
(``bench/results``). They hold for long sequences; elsewhere the model chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Pins = tuple[tuple[str, object], ...]
Measured = Callable[[Mapping[str, object], Mapping[str, int]], Pins]
"""The configuration that was measured best for choices and sizes; nothing where nothing was."""
ORDER = ("schedule", "full_wait_after", "deferred_mmas")  # pins of an order, which fits one loop
LONG = 1024  # queries and keys from which on the choices hold

_TILE_128 = {
    "s": 128,
    "t": 128,
    "consumer_warpgroups": 2,
    "stages": 2,
    "a_in_registers": False,
    "store_from_registers": True,
}
_TILE_64 = {
    "s": 192,
    "t": 128,
    "consumer_warpgroups": 3,
    "stages": 4,
    "a_in_registers": False,
    "store_from_registers": True,
}
_TILE_256 = {
    "s": 128,
    "t": 80,
    "consumer_warpgroups": 2,
    "stages": 2,
    "a_in_registers": False,
    "store_from_registers": True,
}

# Interval and issue times: K, V, then for both consumers QK, maximum, exponentials, rescaling of
# the iteration before (between QK and PV; with 256 columns before the conversion, since it takes
# long, and all else while PV of the iteration before runs), conversion, PV.
# fmt: off
_FULL_128 = (2242, 0, 899, 778, 1899, 1394, 2515, 1843, 2964, 3124, 4245, 2891, 4012, 3532, 4653)
_CAUSAL_128 = (2048, 0, 2594, 1836, 812, 2411, 1387, 2744, 1720, 3905, 2881, 3276, 2252, 4396, 3372)
_ROWS_64 = (1614, 0, 1887, 4932, 628, 1166, 5250, 946, 1484, 5583, 1279, 1817,
            6599, 2295, 2833, 6258, 1954, 2492, 6802, 2515, 3036)
_ROWS_256 = (2560, 0, 1878, 914, 2194, 1620, 2900, 2010, 3290, 2540, 3820, 2690, 3970, 4114, 5394)
# fmt: on

ATTENTION: Mapping[tuple[int, bool], Mapping[str, object]] = {
    (64, False): {**_TILE_64, "schedule": _ROWS_64, "tile_prefetch": 2, "full_wait_after": 24},
    (64, True): {**_TILE_64, "schedule": _ROWS_64, "tile_prefetch": 2, "full_wait_after": 24},
    (128, False): {**_TILE_128, "schedule": _FULL_128, "full_wait_after": 16, "deferred_mmas": 1},
    (128, True): {**_TILE_128, "schedule": _CAUSAL_128, "full_wait_after": 16, "deferred_mmas": 1},
    (256, False): {**_TILE_256, "schedule": _ROWS_256, "full_wait_after": -1},
    (256, True): {**_TILE_256, "schedule": _ROWS_256, "full_wait_after": -1},
}

# Where a search over tiles would solve schedules for many minutes, the tile that was measured.
SHORT: Mapping[int, Mapping[str, object]] = {256: {**_TILE_256, "t": 64, "deferred_mmas": 1}}
# Of short sequences with at least so many keys and so many rows of tiles of 128 queries.
MEDIUM, MANY = 512, 528  # four of them for each SM of the chip that was measured
_ENDS = {
    "tile_prefetch": 2,
    "store_from_registers": False,
}  # a tile's ends count: queries early, results by copies
MANY_HEADS: Mapping[tuple[int, bool], Mapping[str, object]] = {
    (64, False): ATTENTION[64, False],
    (64, True): {
        **_TILE_64,
        "s": 128,
        "consumer_warpgroups": 2,
        "stages": 3,
        "a_in_registers": True,
    }
    | {"full_wait_after": 24, "deferred_mmas": 1, **_ENDS},
    (128, False): {**ATTENTION[128, True], **_ENDS, "epilogue_stages": 1, "full_wait_after": 24},
    (128, True): {**ATTENTION[128, True], **_ENDS, "epilogue_stages": 1, "full_wait_after": 24},
}

_GRAD = {
    "split_k": 1,
    "t": 128,
    "consumer_warpgroups": 2,
    "stages": 2,
    "computed_tile_stages": 2,
    "a_in_registers": False,
    "fuse_vector_chains": True,
    "zero_init_accumulators": True,
    "operands_from_smem": False,
    "store_from_registers": False,
    "reduce_from_registers": True,
    "epilogue_stages": 2,
    "l2_evict_last": None,
    "serpentine": False,
}
# Interval and issue times: queries, their gradients, (that both have landed,) QK, dP, exponentials,
# dS, dK, conversion, dV, dS to shared memory, dQ, and dQ out.
_GRAD_64 = (4096, 0, 290, 628, 1140, 1202, 2419, 4023, 2246, 2403, 2849, 3321, 3895)
_GRAD_128 = (3296, 0, 290, 628, 918, 1634, 2146, 2208, 2740, 4350, 3093, 3821, 2965, 3309, 4222)
_CAUSAL_GRAD_128 = (3776, 0, 290, 1430, 918, 2004, 2536, 4001, 2889, 2977, 2761, 3489, 4063)
_GRAD_256 = (5060, 0, 1024, 830, 1854, 1916, 2940, 3028, 3116, 3268, 3204, 4292, 5378)
_WIDE = {
    "s": 64,
    "stages": 1,
    "computed_tile_stages": 1,
    "fuse_vector_chains": False,
    "store_from_registers": True,
    "reserved_registers": 20,
}
_GRADS_64 = {**_GRAD, "s": 128, "reserved_registers": 8, "schedule": _GRAD_64}
_SEEN = {"separate_full_waits": True, "preload_vectors": 1}

ATTENTION_GRAD: Mapping[tuple[int, bool], Mapping[str, object]] = {
    (64, False): _GRADS_64,
    (64, True): _GRADS_64,
    (128, False): {**_GRAD, **_SEEN, "s": 64, "reserved_registers": 8, "schedule": _GRAD_128},
    (128, True): {**_GRAD, "s": 64, "reserved_registers": 8, "schedule": _CAUSAL_GRAD_128},
    (256, False): {**_GRAD, **_WIDE, "schedule": _GRAD_256},
    (256, True): {**_GRAD, **_WIDE, "schedule": _GRAD_256},
}
# Gradients with kernels of their own. Consumers are ordered.
_ALONE = {
    "split_k": 1,
    "t": 128,
    "s": 64,
    "consumer_warpgroups": 2,
    "stages": 2,
    "a_in_registers": False,
    "fuse_vector_chains": True,
    "zero_init_accumulators": True,
    "store_from_registers": True,
    "l2_evict_last": None,
    "serpentine": False,
}
_VALUES_256 = (2048, 0, 1502, 778, 1802, 1352, 2376, 2314, 3338)


_VALUES_GRAD = {
    (256, m): {
        **_ALONE,
        "store_from_registers": False,
        "epilogue_stages": 1,
        "schedule": _VALUES_256,
    }
    for m in (False, True)
}
_IN_SOURCE_ORDER = {
    "schedule": "source",
    "reserved_registers": 8,
}  # compiled without a spill, not searched

GRADS: Mapping[str, Mapping[tuple[int, bool], Mapping[str, object]]] = {
    "attention_grad": ATTENTION_GRAD,
    "blocked_grad": ATTENTION_GRAD,
    "values_grad": _VALUES_GRAD,
    "blocked_values": _VALUES_GRAD,
    "packed_grad": {
        (d, m): {
            **_GRAD,
            "s": 64,
            "store_from_registers": True,
            "reduce_from_registers": False,
            **_IN_SOURCE_ORDER,
        }
        for d in (64, 128)
        for m in (False, True)
    }
    | {(256, m): {**_GRAD, **_WIDE, **_IN_SOURCE_ORDER} for m in (False, True)},
    "packed_values": {(256, m): {**_ALONE, "schedule": _VALUES_256} for m in (False, True)},
}


# By steps of a chunk and d, for tiles of 64 columns. With 64 steps two CTAs share an SM, hiding one
# another's waits, with 128 two consumers share a chunk. With few slots in the order of the source;
# the other order is the least interval of d = 128, proven, which takes minutes to find.
_ORDER = (928, 136, 0, 1173, 1293, 1845, 1361, 764, 1445, 1829, 2187, 2357, 1189, 1573, 2547)
_ORDER_128 = (3400, 0, 1109, 778, 0, 2158, 216, 1737, 88, 1874, 2841, 3202, 2030, 2670, 3776)
_SCAN = {
    "a_in_registers": False,
    "fuse_vector_chains": True,
    "drain_mma": True,
    "e": 64,
    "store_from_registers": True,
}
_TWO_HEADS = {**_SCAN, "consumer_warpgroups": 1, "ctas_per_sm": 2, "reserved_registers": 8}
SCANS: Mapping[tuple[int, int], Mapping[str, object]] = {
    (64, 64): {**_TWO_HEADS, "schedule": _ORDER},
    (64, 128): {**_TWO_HEADS, "schedule": "source"},
    (128, 128): {
        **_SCAN,
        "consumer_warpgroups": 2,
        "schedule": "source",
        "reserved_registers": 16,
    },
}
# Of parts of a sequence: stages are left for what the parts before leave.
SCANS_OF_PARTS: Mapping[tuple[int, int], Mapping[str, object]] = {
    (64, 64): {**_TWO_HEADS, "schedule": "source", "earlier_loop_stages": 1},
    (64, 128): {**SCANS[64, 128], "ctas_per_sm": 1, "earlier_loop_stages": 1},
    (128, 128): {
        **_SCAN,
        "consumer_warpgroups": 2,
        "reserved_registers": 16,
        "earlier_loop_stages": 1,
        "schedule": _ORDER_128,
    },
}
_PARTS = {"e": 64, "consumer_warpgroups": 1, "store_from_registers": True}

# Products: least sizes from which on a tile was the quickest, and the tile; the first that fits.
_TWO_PRODUCTS = {
    "n": 128,
    "consumer_warpgroups": 2,
    "mma_turns": False,
    "stages": 3,
    "unroll": 2,
    "one_barrier_per_stage": True,
    "store_from_registers": True,
}
_COPIED = {"store_from_registers": False, "epilogue_stages": 1}
_FEW_STEPS = {
    "m": 128,
    "n": 128,
    "consumer_warpgroups": 2,
    "mma_turns": False,
    "unroll": 2,
    **_COPIED,
}
_WALKED = {"serpentine": True, "l2_evict_last": None}  # as one product's tiles follow one another
_HALVES = {
    "m": 128,
    "n": 128,
    "consumer_warpgroups": 2,
    "mma_turns": False,
    "store_from_registers": True,
}
_HALVES |= {"l2_evict_last": None, "raster_group": 32}
_IN_TURNS = {
    "m": 192,
    "n": 128,
    "consumer_warpgroups": 3,
    "mma_turns": True,
    "stages": 4,
    "store_from_registers": True,
}
_FEW = {"n": 64, "consumer_warpgroups": 1, "one_barrier_per_stage": True}
_BOTH = {"consumer_warpgroups": 2, "mma_turns": True}
_TWO_STEPS = (699, 0, 628, 901, 1259, 917, 1157, 1532)  # a copy, then for each step: convert,
# multiply, scale. The quickest order that was measured; others ptxas serialises.
_CONVERTED_UNDER = (1422, 0, 778, 1120, 1694, 1422, 1831, 2405)  # the product before
_QUANTISED = (
    ({"m": 129}, {"m": 128, "n": 128, "unroll": 2, **_BOTH}),
    ({"m": 65, "n": 4096}, {"m": 128, "unroll": 2, **_FEW, "schedule": _CONVERTED_UNDER}),
    ({"m": 33, "n": 4096}, {"m": 64, "unroll": 2, **_FEW, "schedule": _TWO_STEPS}),
    ({"n": 4096}, {"unroll": 4, **_FEW, "fuse_vector_chains": True, "schedule": "source"}),
)
_IN_TURN = {"consumer_warpgroups": 1, "pingpong": 2}
# Weights come from memory, so wide tiles, which move fewest bytes, and CTAs that keep one pace:
# else they drift apart, and what they share is read again.
_PACED = {"cta_sync_interval": 16, "split_k": 1}
_OFTEN = {
    **_PACED,
    "cta_sync_interval": 4,
}  # consumers without rows rest, so that CTAs are not alike
_BY_GROUPS = (
    ({"t": 4096, "n": 8192}, {"t": 128, "n": 256, **_OFTEN}),
    (
        {"t": 4096, "n": 2048, "k": 4096},
        {"t": 128, "n": 208, **_IN_TURN, **_PACED, "cta_sync_interval": 8},
    ),
    ({"t": 4096, "n": 1024}, {"t": 128, "n": 256, **_OFTEN}),
)
_SERPENTINE = {
    "serpentine": True,
    "cta_sync_interval": 4,
}  # what is left of x in the L2 is read first
PRODUCTS: Mapping[str, tuple[tuple[Mapping[str, int], Mapping[str, object]], ...]] = {
    "swiglu": (
        ({"m": 4096, "n": 8192, "k": 8192}, {"m": 128, "n": 192, **_PACED, **_SERPENTINE}),
        ({"m": 4096, "n": 8192}, {"m": 128, "n": 176, **_PACED}),
    ),
    "block_scaled": (
        ({"m": 8192, "n": 8192}, {**_IN_TURNS, "cta_sync_interval": 16}),
        (
            {"m": 1024, "n": 1024, "k": 4096},
            {"m": 128, **_TWO_PRODUCTS, "mma_turns": True, **_COPIED},
        ),
        ({"m": 2048, "n": 4096}, {**_FEW_STEPS, **_WALKED, "epilogue_stages": 2}),
        ({"m": 1024, "n": 1024}, _FEW_STEPS),
    ),
    "block_scaled_pair": (({"m": 2048, "n": 2048}, _HALVES),),  # n: half of the columns
    "grouped": _BY_GROUPS,
    "grouped_scattered": _BY_GROUPS,
    "grouped_input": _BY_GROUPS[2:],
    "grouped_weights": (({"n": 1024, "k": 1024}, {"n": 128, "k": 192, **_IN_TURN}),),
    "grouped_gathered": (({"t": 4096, "n": 1024}, {"t": 128, "n": 256}),),
    "grouped_scaled": (({"t": 1024, "n": 1024}, {"t": 128, **_TWO_PRODUCTS}),),
    "int4_gemm": _QUANTISED,
    "fp8_gemm": (
        ({"m": 129}, {"m": 128, "n": 128, **_BOTH}),
        ({"m": 65, "n": 4096}, {"m": 128, **_FEW}),
        ({"m": 33, "n": 4096}, {"m": 64, "unroll": 2, **_FEW}),
        _QUANTISED[3],
    ),
}


def by_sizes(rows: tuple[tuple[Mapping[str, int], Mapping[str, object]], ...]) -> Measured:
    """The first row whose least sizes a call reaches."""

    def measured(choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
        for least, pins in rows:
            if all(sizes.get(axis, 0) >= size for axis, size in least.items()):
                return tuple(pins.items())
        return ()

    return measured


def gradients(
    table: Mapping[tuple[int, bool], Mapping[str, object]], *, listed: bool = False
) -> Measured:
    """By head dimension and mask, for all lengths: nothing else was built.

    ``listed``: blocks are walked by lists, which is another loop; so are loops with functions.
    """

    def measured(choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
        pins = dict(table.get((sizes.get("d", 0), bool(choices.get("causal"))), {}))
        if (listed or not _is_plain(choices)) and pins:
            pins = {n: v for n, v in pins.items() if n not in ("schedule", *_SEEN)}
            pins |= {"s": 64, **_IN_SOURCE_ORDER}
        return tuple(pins.items())

    return measured


def scans(choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
    """By steps of a chunk and d; parts of a sequence have their own."""
    table = SCANS_OF_PARTS if "r" in sizes else SCANS
    return tuple(table.get((sizes.get("t", 0), sizes.get("d", 0)), {}).items())


def scan_parts(choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
    """Of what a part adds to the state."""
    return tuple({**_PARTS, "ctas_per_sm": 1 if sizes.get("j", 0) > 64 else 2}.items())


def attention(choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
    """By lengths, head dimension and mask; with functions the tile of a causal mask."""
    if _is_plain(choices):
        return tuple(_of_lengths(sizes, mask=bool(choices.get("causal"))).items())
    long = min(sizes.get("s", 0), sizes.get("t", 0)) >= LONG
    pins = dict(ATTENTION.get((sizes.get("d", 0), True), {}))
    if sizes.get("d") == 128 and choices.get("visible") is not None:  # few steps a tile
        pins |= {**_ENDS, "epilogue_stages": 1}
        return tuple(pins.items()) if long else ()
    return _without_order(pins, choices) if long else ()


def blocked(choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
    """The tile of a causal mask, where the stated one is as wide."""
    pins = ATTENTION.get((sizes.get("d", 0), True), {})
    fits = (pins.get("s"), pins.get("t")) == (128, choices.get("wide"))
    return _without_order(pins, choices) if fits else ()


def _is_plain(choices: Mapping[str, object]) -> bool:
    """Whether no function of the caller stands in the loop."""
    return all(choices.get(f) is None for f in ("score", "visible", "sink"))


def _without_order(pins: Mapping[str, object], choices: Mapping[str, object]) -> Pins:
    """The order too, where scores stay as they are: dear ones have no place in it, and get one of
    their own.
    """
    order = ORDER if choices.get("score") is not None else ()
    return tuple((n, v) for n, v in pins.items() if n not in order)


def _of_lengths(sizes: Mapping[str, int], *, mask: bool) -> Mapping[str, object]:
    """Of attention by lengths: short sequences of many heads take other tiles than of few."""
    shortest, size = min(sizes.get("s", 0), sizes.get("t", 0)), sizes.get("d", 0)
    rows = sizes.get("b", 1) * sizes.get("h", 1) * (sizes.get("s", 0) // 128)
    if shortest >= LONG:
        return ATTENTION.get((size, mask), {})
    if size in SHORT or shortest < MEDIUM or rows < MANY:
        return SHORT.get(size, {})
    return MANY_HEADS.get((size, mask), {})
