"""Choices that measuring found better than the model's, by kernel, head dimension and mask.

Each was the quickest of a search over tiles and over all programs at the least interval on an H200
(``bench/results``). They hold for long sequences; elsewhere the model chooses.
"""

from __future__ import annotations

from collections.abc import Mapping

Pins = tuple[tuple[str, object], ...]
LONG = 1024  # queries and keys from which on the choices hold

_TILE_128 = {
    "s": 128,
    "t": 128,
    "consumers": 2,
    "stages": 2,
    "hold": False,
    "direct": True,
    "slack": 0,
}
_TILE_64 = {
    "s": 192,
    "t": 128,
    "consumers": 3,
    "stages": 4,
    "hold": False,
    "direct": True,
    "slack": 0,
}
_TILE_256 = {"s": 128, "t": 80, "consumers": 2, "stages": 2, "hold": False, "direct": True}

# Interval and issue times: K, V, then for both consumers QK, maximum, exponentials, rescaling of
# the iteration before (between QK and PV), conversion, PV. Programs 48a1baec85,
# 18eefde95b, and with three consumers 41c6a0bd37.
# fmt: off
_FULL_128 = (2048, 0, 996, 1802, 778, 2376, 1352, 2709, 1685, 3870, 2846, 3241, 2217, 4362, 3338)
_CAUSAL_128 = (2048, 0, 2594, 1836, 812, 2411, 1387, 2744, 1720, 3905, 2881, 3276, 2252, 4396, 3372)
_ROWS_64 = (1614, 0, 1887, 4932, 628, 1166, 5250, 946, 1484, 5583, 1279, 1817,
            6599, 2295, 2833, 6258, 1954, 2492, 6802, 2515, 3036)
# fmt: on

ATTENTION: Mapping[tuple[int, bool], Mapping[str, object]] = {
    (64, False): {**_TILE_64, "times": _ROWS_64},
    (64, True): {**_TILE_64, "times": _ROWS_64},
    (128, False): {**_TILE_128, "times": _FULL_128, "tie": 16},
    (128, True): {**_TILE_128, "times": _CAUSAL_128},
    (256, False): {**_TILE_256, "slack": 1024},
    (256, True): {**_TILE_256, "slack": 1024},
}

# Where a search over tiles would solve schedules for many minutes, the tile that was measured.
SHORT: Mapping[int, Mapping[str, object]] = {256: {**_TILE_256, "slack": 1024}}


def measured(name: str, choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
    """What was measured best for a kernel of that name; nothing where nothing was measured."""
    plain = all(choices.get(f) is None for f in ("score", "visible"))
    if name != "attention" or not plain:
        return ()
    if min(sizes.get("s", 0), sizes.get("t", 0)) < LONG:
        return tuple(SHORT.get(sizes.get("d", 0), {}).items())
    return tuple(ATTENTION.get((sizes.get("d", 0), bool(choices.get("causal"))), {}).items())
