"""Who visits which tile: every tile once, the work shared evenly, trips as the loop makes them."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from warploom.frontend.simplify import simplify
from warploom.kernels.attention import attention
from warploom.passes.body import body_of
from warploom.passes.fuse import fuse
from warploom.passes.kernel_config import config_of
from warploom.passes.layout import part_sums
from warploom.passes.loop_bounds import cut_of
from warploom.passes.rewrites import rewrite
from warploom.passes.tile_order import (
    STOP,
    differ,
    hand_out,
    row_trips,
    starts_early,
    visit_list,
)
from warploom.targets.h200 import h200

TYPES = dict.fromkeys(("q", "k", "v", "out"), "bf16")


def kernel(**constants):
    made = attention.specialise(TYPES, sizes={"d": 64}, without={"lengths"}, constants=constants)
    return rewrite(simplify(made), frozenset({"scale"}))


CAUSAL = kernel(causal=True)


def window(b, h, i, j):
    return (j <= i) & (i - j < 100)


def sizes(units, queries, keys):
    return {"b": 1, "h": units, "g": units, "s": queries, "t": keys, "d": 64}


def longest_first(costs):
    return sorted(range(len(costs)), key=lambda r: -costs[r])


def lists(found, ctas):
    """The tiles of every CTA, as the kernel reads them."""
    out = []
    for cta in range(ctas):
        at, own = found[cta], []
        while found[at] != STOP:
            own.append(found[at])
            at += 1
        out.append(own)
    return out


@given(st.integers(1, 9), st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 140))
def test_every_tile_is_visited_once(units, queries, keys, ctas):
    config = config_of(CAUSAL, consumer_warpgroups=2, s=128, t=128)
    found = lists(visit_list(CAUSAL, config, sizes(units, queries, keys), ctas), ctas)
    counts = Counter(t for own in found for t in own)
    assert counts == Counter(range(units * -(-queries // 128)))


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.integers(1, 20),
    st.integers(1, 33),
    st.integers(1, 8),
)
def test_nobody_works_longer_than_the_share_and_one_tile(trips, units, ctas, band):
    costs = [n + h200().tiles.ends for n in trips]
    own = hand_out(costs, units, ctas, band, longest_first(costs))
    loads = [sum(costs[t % len(costs)] for t in tiles) for tiles in own]
    assert max(loads) <= units * sum(costs) / ctas + max(costs)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 33), st.integers(1, 8))
def test_tiles_in_turn_never_wait_for_ever(rows, units, ctas, band):
    """Even if a tile waited until the row after it is done: CTAs go on one at a time."""
    costs = [rows - r + h200().tiles.ends for r in range(rows)]
    left = [list(x) for x in hand_out(costs, units, ctas, band, range(rows)[::-1])]
    done: set[int] = set()
    while any(left):
        ready = [x for x in left if x and (x[0] % rows == rows - 1 or x[0] + 1 in done)]
        assert ready
        done.add(ready[-1].pop(0))


@pytest.mark.parametrize(("rows", "units", "band"), [(32, 128, 8), (64, 64, 4), (128, 32, 2)])
@pytest.mark.parametrize("causal", [False, True])
def test_tiles_in_turn_hardly_wait(rows, units, band, causal):
    """Tiles and turns of 128 rows of equal time, and a fifth of it until a turn is seen."""
    costs = [(rows - r if causal else rows) + h200().tiles.ends for r in range(rows)]
    own = hand_out(costs, units, 132, band, range(rows)[::-1])
    place = {t: cta for cta, tiles in enumerate(own) for t in tiles}
    free, given = [0.0] * 132, {}
    tiles = [u * rows + r for f in range(0, units, band) for r in range(rows)[::-1]
             for u in range(f, f + band)]  # fmt: skip
    for tile in tiles:
        unit, row = divmod(tile, rows)
        cta = place[tile]
        now = free[cta]
        for turn in range(row if causal else 0, rows):
            now = max(now, given.get((unit, turn), 0.0) + 0.2) + 1
            given[unit, turn] = now
        free[cta] = now + h200().tiles.ends
    assert max(free) < 1.05 * units * sum(costs) / 132


def test_causal_heads_end_together():
    costs = [r + 1 + h200().tiles.ends for r in range(32)]
    own = hand_out(costs, 128, 132, 16, longest_first(costs))
    loads = [sum(costs[t % 32] for t in tiles) for tiles in own]
    assert max(loads) < 1.006 * sum(loads) / 132


@pytest.mark.parametrize(
    ("choice", "sees"),
    [
        ({"causal": True}, lambda i, j, q, k: j <= i),
        ({"causal": "end"}, lambda i, j, q, k: j <= i + k - q),
        ({"visible": window}, lambda i, j, q, k: j <= i and i - j < 100),
    ],
)
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(300, 300), (129, 500), (500, 200), (1, 77)])
def test_trips_are_those_that_see_something(choice, sees, queries, keys, direct):
    made = kernel(**choice)
    body = body_of(made)
    cut = cut_of(body, fuse(body))
    rows, step = 128, 64
    config = replace(config_of(made, s=rows, t=step), store_from_registers=direct)
    found = row_trips(body, cut, config, sizes(1, queries, keys))
    count = -(-queries // rows)
    early = starts_early(body, cut, config)
    assert early == direct  # copies out cannot begin before the tensor
    first = queries - count * rows if early else 0  # a ragged tile begins before the first row
    for n, trips in enumerate(found):
        tile = range(first + n * rows, first + (n + 1) * rows)
        seen = [j for j in range(keys) if any(sees(i, j, queries, keys) for i in tile)]
        low = min(seen, default=0) // 4 * 4  # whole 16 bytes of vectors, no multiple of the step
        high = max(seen, default=0) + 1
        assert trips == max(1, -(-(high - low) // step))


def test_only_tiles_that_differ_are_listed():
    assert differ(CAUSAL, _cut(CAUSAL))
    plain = kernel()
    assert not differ(plain, _cut(plain))


def test_the_sum_of_weights_stays_a_part_of_each_thread():
    body = body_of(CAUSAL)
    sums = {c.inside.name for c in body.loop.carried if c.inside.name in part_sums(body)}
    assert len(sums) == 1  # l; the maximum is whole in every thread


def _cut(made):
    body = body_of(made)
    return cut_of(body, fuse(body))
