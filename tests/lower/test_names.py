"""A tiling's name says its choices, and they can be read back from it."""

import pytest
from hypothesis import given, strategies as st

from warploom.cli.kernels import kernel_named, kernel_names
from warploom.lower.tiling import Tiling, pins_of_name

READ = (
    *("consumers", "stages", "hold", "staging", "program", "split", "cluster"),
    *("near", "settled", "unroll", "together", "resident"),
)


@given(
    st.builds(
        Tiling,
        extents=st.just((("m", 128), ("n", 64))),
        consumers=st.integers(1, 4),
        stages=st.none() | st.integers(1, 9),
        hold=st.booleans(),
        staging=st.integers(1, 4),
        program=st.sampled_from(("", "text", "48a1baec85")),
        split=st.integers(1, 4),
        near=st.booleans(),
        cluster=st.integers(1, 4),
        settled=st.booleans(),
        unroll=st.integers(1, 4),
        together=st.booleans(),
        resident=st.integers(1, 2),
        times=st.sampled_from(((), (1, 2, 3))),
    )
)
def test_what_a_name_says_can_be_read(tiling):
    pins = pins_of_name(tiling.name.partition("_")[2])
    assert (pins.pop("given", None) is None) == (not tiling.times)
    again = Tiling(extents=tiling.extents, **{"consumers": 1, **pins})
    assert all(getattr(again, name) == getattr(tiling, name) for name in READ)


@pytest.mark.parametrize("tags", ["w2_nothing", "w2_", "w", "w2_s", "w2_9", "x3"])
def test_other_words_are_no_tags(tags):
    assert pins_of_name(tags) is None


@pytest.mark.parametrize("name", kernel_names())
def test_a_document_of_a_shipped_kernel_is_recognised_by_its_name(name):
    kernel = kernel_named(name)
    again = kernel_named(kernel.name, None, kernel.dtype)
    assert again is not None
    assert again.tiling == kernel.tiling
