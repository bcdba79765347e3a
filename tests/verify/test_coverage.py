"""Coverage: shipped modules are clean, edited ones are not, and the report says how it knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.interp.cases import two_products
from tests.ir.modules import KERNELS, module
from tests.ir.mutants import ALONE, EDITS, mutants
from warploom.ir.expr import Sym, SymKind, least, lift, most, size
from warploom.ir.tile_schedule import TileAxis, TileSchedule, tile_index
from warploom.verify.coverage import How, verify_coverage
from warploom.verify.coverage.induction import covers_axis, trips_cover
from warploom.verify.coverage.schedules import visits_every_tile


@pytest.mark.parametrize("name", KERNELS)
def test_shipped_modules_are_clean(name: str) -> None:
    report = verify_coverage(module(name))
    assert report.verdict == "clean", str(report)
    by_size = {c.what.split(" ")[0]: c.how for c in report.claims}
    assert by_size["tiles"] is How.ALL
    assert by_size["steps"] is How.ALL
    assert by_size["copied"] is How.ALL
    assert by_size["each"] is How.CLASSES
    assert "enumerated size classes" in str(report)


@pytest.mark.parametrize("name", KERNELS)
def test_every_mutant_is_found(name: str) -> None:
    found = dict(mutants(module(name)))
    assert len(found) >= 15
    missed = [n for n, m in found.items() if verify_coverage(m).verdict == "clean"]
    assert missed == []


def test_every_edit_is_tried_somewhere() -> None:
    tried = {n for name in KERNELS for n, _ in mutants(module(name))}
    assert tried == set(EDITS) | set(ALONE)


ROWS, COLS = (TileAxis(var=v, axis=v, extent=1) for v in "mn")
BATCH = TileAxis(var="b", axis="b", extent=1)


@pytest.mark.parametrize(
    "schedule",
    [
        TileSchedule(tiled=(ROWS,)),
        TileSchedule(tiled=(ROWS,), units=(BATCH,)),
        TileSchedule(tiled=(ROWS, COLS), group=1),
        TileSchedule(tiled=(ROWS, COLS), group=8, units=(BATCH,)),
        TileSchedule(tiled=(ROWS, COLS), group=16, serpentine=True, neighbours=4),
        TileSchedule(tiled=(ROWS, COLS), group=4, cluster=2),
        TileSchedule(tiled=(ROWS, COLS), group=4, split=3),
        TileSchedule(tiled=(ROWS, COLS), launched=True),
    ],
)
def test_schedules_visit_every_tile_once(schedule: TileSchedule) -> None:
    wrong, tried = visits_every_tile(schedule)
    assert wrong == ""
    assert tried >= 21


def test_neighbours_that_do_not_fit_their_band_are_found() -> None:
    wrong, _ = visits_every_tile(
        TileSchedule(tiled=(ROWS, COLS), group=6, serpentine=True, neighbours=4)
    )
    assert wrong


def test_a_sum_of_several_products_takes_each_of_their_elements_once() -> None:
    made = two_products.with_config(m=64, n=32, k=64).compile("bf16")
    report = verify_coverage(made.module_of(made.choices[0].config))
    assert report.verdict == "clean", str(report)


TILE, LENGTH = tile_index("m"), size("m")


def test_positions_of_all_sizes() -> None:
    clamped = least(TILE * 128, most((LENGTH - 128 + 7) // 8 * 8, 0))
    assert covers_axis(clamped, TILE, LENGTH, 128, 128)[0]
    assert covers_axis(lift(TILE * 200), TILE, LENGTH, 200, 200)[0]
    # moved back too far, too little, not at all, or only for sizes nobody would enumerate
    for wrong in (
        least(TILE * 128, most((LENGTH - 144 + 7) // 8 * 8, 0)),
        least(TILE * 128, LENGTH - 128),
        lift(TILE * 129),
        least(TILE * 128, 100_000),
    ):
        holds, why = covers_axis(wrong, TILE, LENGTH, 128, 128)
        assert not holds
        assert why


def test_trip_counts_of_all_sizes() -> None:
    k = Sym(SymKind.SIZE, "k")
    assert trips_cover(most((k + 63) // 64, 1), k, 64, 1)[0]
    for wrong in (
        most(k // 64, 1),
        most((k + 64) // 64, 1),
        least(most((k + 63) // 64, 1), 5000),
        lift((k + 63) // 64),
    ):
        assert not trips_cover(wrong, k, 64, 1)[0]


def test_a_tile_that_differs_only_above_every_enumerated_size_is_found() -> None:
    found = module("cooperative")
    tiles = [
        replace(
            r,
            tiles=replace(
                r.tiles,
                lets=tuple(
                    replace(x, value=least(x.value, 1 << 20)) if x.name.name == "pos_m" else x
                    for x in r.tiles.lets
                ),
            ),
        )
        for r in found.roles
    ]
    assert verify_coverage(replace(found, roles=tuple(tiles))).verdict == "wrong"
