"""A config's name says its choices, and they can be read back from it."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from tests.frontend.sources import run_source
from warploom.cli.kernels import kernel_named, kernel_names
from warploom.errors import DocumentError
from warploom.ir import read_schedule, write_schedule
from warploom.passes.kernel_config import KernelConfig, pins_of_name

READ = (
    *("consumer_warpgroups", "stages", "a_in_registers", "epilogue_stages", "schedule_name"),
    *("split_k", "cluster", "split_k_in_cluster", "drain_mma", "unroll"),
    *("one_barrier_per_stage", "ctas_per_sm"),
)


@given(
    st.builds(
        KernelConfig,
        tile=st.just((("m", 128), ("n", 64))),
        consumer_warpgroups=st.integers(1, 4),
        stages=st.none() | st.integers(1, 9),
        a_in_registers=st.booleans(),
        epilogue_stages=st.integers(1, 4),
        split_k=st.integers(1, 4),
        split_k_in_cluster=st.booleans(),
        cluster=st.integers(1, 4),
        drain_mma=st.booleans(),
        unroll=st.integers(1, 4),
        one_barrier_per_stage=st.booleans(),
        ctas_per_sm=st.integers(1, 2),
        schedule=st.sampled_from(("", "source", "48a1baec85", (1, 2, 3))),
    )
)
def test_what_a_name_says_can_be_read(config):
    pins = pins_of_name(config.name.partition("_")[2])
    assert (pins.pop("given", None) is None) == (not config.issue_times)
    again = KernelConfig(tile=config.tile, **{"consumer_warpgroups": 1, **pins})
    assert all(getattr(again, name) == getattr(config, name) for name in READ)


@pytest.mark.parametrize("tags", ["w2_nothing", "w2_", "w", "w2_s", "w2_9", "x3"])
def test_other_words_are_no_tags(tags):
    assert pins_of_name(tags) is None


@pytest.mark.parametrize("name", kernel_names())
def test_a_document_of_a_shipped_kernel_is_recognised_by_its_name(name):
    kernel = kernel_named(name)
    again = kernel_named(kernel.name, None, kernel.dtype)
    assert again is not None
    assert again.config == kernel.config


def product(name, **pins):
    text = f"""
import warploom as wl

@wl.kernel
def {name}(x: wl.In["m", "k"], s: wl.In["k/64", wl.f32], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc += (x[m, k] @ w[n, k].T) * s[k]
    out[m, n] = acc
"""
    kernel = run_source(text)[name].with_config(m=64, n=64, consumer_warpgroups=1, **pins)
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    return kernel.compile(types, sizes={"m": 256, "n": 256, "k": 512}).document


def test_how_far_an_iteration_goes_is_no_matter_of_the_name():
    assert product("proj_u4").tiles_per_iteration == 1
    unrolled = product("proj", unroll=2)
    assert unrolled.tiles_per_iteration == 2
    assert replace(unrolled, name="other").tiles_per_iteration == 2
    assert read_schedule(write_schedule(unrolled)) == unrolled
    text = write_schedule(unrolled).replace('"unroll": 2', '"unroll": 0')
    with pytest.raises(DocumentError, match="steps of the loop"):
        read_schedule(text)
