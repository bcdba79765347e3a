"""CTAs that wait for one another, a while at most: what they share comes from memory once."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from tests.frontend.two_loops import two_loops
from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.compiler.compiled import Compiled
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import grouped, grouped_weights

SIZES = {"t": 400, "n": 100, "k": 300, "e": 4}
PINS = {"t": 64, "n": 64, "consumer_warpgroups": 1, "cta_sync_interval": 2}


@cache
def lowered(**pins):
    kernel = grouped.compile(dict.fromkeys(("x", "w", "out"), "bf16")).kernel
    made = Compiled(kernel, sizes=SIZES, pins={**PINS, **pins})
    return made.lower(made.choices[0].config)


def executed(made, source, seed):
    rng = np.random.default_rng(seed)
    x, w = rng.integers(-4, 5, (400, 300)), rng.integers(-4, 5, (4, 100, 300))
    starts = np.array([0, 65, 65, 130, 400])  # one group has no rows, two have one too many
    arrays = [x.astype(float), w.astype(float), starts]
    case = SimpleNamespace(sizes=SIZES, scalars={}, arrays=lambda: arrays)
    (out,), fault = run_case(case, made.kernel, source, made.config, grid=3, seed=seed)
    wanted = np.concatenate([x[a:b] @ w[i].T for i, (a, b) in enumerate(pairwise(starts))])
    return fault, np.abs(out - wanted).max() / np.abs(wanted).max()


def test_only_the_producer_keeps_pace_and_leaves():
    text = emit_kernel(lowered()).text
    producer, consumer = text.split("registers_up<")
    assert producer.count("if (k % 2 == 0) keep_pace((unsigned*)work, ++paces, ") == 1
    assert producer.count("leave_pace((unsigned*)work);") == 1
    assert "pace" not in consumer
    assert "pace" not in emit_kernel(lowered(cta_sync_interval=0)).text


def test_copies_out_leave_the_l2_first_where_a_tensor_is_to_stay():
    kernel = gemm.compile(dict.fromkeys(("a", "b", "out"), "bf16"), without={"bias", "residual"})
    pins = {
        "m": 64,
        "n": 64,
        "consumer_warpgroups": 1,
        "store_from_registers": False,
        "cta_sync_interval": 2,
    }
    for keep, pace, call in (("a", 2, "stream"), (None, 2, "store"), ("a", 0, "store")):
        own = {**pins, "l2_evict_last": keep, "cta_sync_interval": pace}
        made = Compiled(kernel.kernel, sizes={"m": 512, "n": 512, "k": 256}, pins=own)
        text = emit_kernel(made.lower(made.choices[0].config)).text
        assert f"tma_{call}_2d(&map_out" in text
        assert ("bulk_group.L2::cache_hint" in text) == (call == "stream")


def test_consumers_that_share_a_tile_look_for_the_next_one_while_its_first_product_runs():
    made = lowered(t=128, consumer_warpgroups=2, pingpong=1, cta_sync_interval=0)
    consumer = emit_kernel(made).text.split("registers_up<")[1]
    assert consumer.count("find(next += gridDim.x)") == 1
    first, again = consumer.index("// first product"), consumer.index("for (; k < k_tiles")
    assert first < consumer.index("find(next += gridDim.x)") < again
    assert "find(" not in emit_kernel(lowered(pingpong=2)).text  # the other one multiplies


def test_a_consumer_that_has_no_rows_runs_what_others_wait_for_and_no_op():
    shared = {"t": 128, "consumer_warpgroups": 2, "pingpong": 1}
    consumer = emit_kernel(lowered(**shared)).text.split("registers_up<")[1]
    works, rests = consumer.split("} else {  // the group has no rows here")
    for wait in ("mbar_wait(", "mbar_arrive(", "wgmma_wait<1>", ".advance()", "find(next +="):
        assert works.count(wait) == rests.count(wait)
    for op in ("wgmma_m64", "ptr_out"):
        assert op in works
        assert op not in rests
    for other in (
        {"cta_sync_interval": 0},
        {"consumer_warpgroups": 1},
        {"consumer_warpgroups": 1, "pingpong": 2},
    ):
        assert "has no rows here" not in emit_kernel(lowered(**{**shared, **other})).text


@NEEDS_COMPILER
@pytest.mark.parametrize("group", [1, 2, 16])
@pytest.mark.parametrize(
    "pins", [{"pingpong": 1}, {"pingpong": 2}, {"t": 128, "consumer_warpgroups": 2}]
)
def test_groups_at_one_pace_are_right_and_leave_zeros(pins, group):
    made = lowered(**{"pingpong": 1, **pins}, raster_group=group)
    for seed in (0, 1):
        fault, error = executed(made, emit_kernel(made), seed)
        assert fault is None
        assert error < 4e-3


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("right", "wrong", "what"),
    [
        ("gridDim.x * nth", "(gridDim.x + 1) * nth", None),  # one never comes: all go on
        ("at[0] = at[1] = 0", "at[0] = 0", "counters"),
        ("== gridDim.x - 1) at", "== gridDim.x) at", "counters"),
    ],
)
def test_nobody_waits_for_ever_and_zeros_are_missed(right, wrong, what):
    made = lowered()
    source = emit_kernel(made)
    assert source.text.count(right) == 1
    changed = replace(source, text=source.text.replace(right, wrong))
    fault, error = executed(made, changed, 0)
    assert (fault is None) if what is None else (what in fault)
    assert error < 4e-3


@pytest.mark.parametrize(
    ("text", "pins", "why"),
    [
        (gemm, {"m": 64, "n": 64, "split_k": 2}, "parts"),
        (grouped_weights, {"n": 64, "k": 64}, "differ in length"),
    ],
)
def test_loops_that_differ_cannot_keep_pace(text, pins, why):
    names = ("a", "b", "out") if text is gemm else ("y", "x", "out")
    without = {"bias", "residual"} if text is gemm else set()
    kernel = text.compile(dict.fromkeys(names, "bf16"), without=without).kernel
    made = Compiled(kernel, sizes={**SIZES, "m": 100}, pins=pins)
    config = replace(made.choices[0].config, cta_sync_interval=2)
    with pytest.raises(KernelError, match=why):
        made.lower(config)


def test_a_loop_after_another_is_chosen_without_a_pace():
    made = two_loops.compile("bf16")
    config = made.choices[0].config
    assert config.cta_sync_interval == 0
    assert len(made.lower(config).documents) == 2
