"""Kernels whose emitted program once went wrong, or has a new shape, executed on the host."""

import ctypes
import math
from contextlib import suppress
from dataclasses import fields, replace

import numpy as np
import pytest

from tests.frontend.random_kernels import RandomKernel
from tests.host_cuda import NEEDS_COMPILER, built, run_case
from tests.kernels.samples import (
    BLOCK_SCALES,
    DECAY,
    GEMM,
    GROUPED_WEIGHTS,
    ROW_NAMES,
    SCATTERED,
    SOFTMAX,
    SUMS_OF_GROUPS,
    TWO_STORES,
    case,
)
from tests.kernels.test_random_kernels import Lowered, check
from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.tile.helpers import definitions
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError, SchedulingError
from warploom.verify import verify

pytestmark = NEEDS_COMPILER


@pytest.mark.parametrize(("dtype", "n"), [("bf16", 109), ("f16", 104), ("bf16", 64)])
def test_tiles_that_the_tail_reads_come_in_pairs(dtype, n):
    """Of rows of an odd length, which begin anywhere, one by one; and what all rows share."""
    text = GEMM.replace("bias: wl", 'more: wl.In["m", "n"], less: wl.In["n"], bias: wl').replace(
        "acc + bias[n]", "wl.erf(acc) + bias[n] + more[m, n] - less[n]"
    )
    made = check(
        case(text, dtype=dtype, m=200, n=n), {"m": 64, "n": 64, "store_from_registers": False}
    )
    assert emit_kernel(made).text.count("load_pair(&ptr_") == 2


@pytest.mark.parametrize(("n", "consumers", "m"), [(200, 2, 128), (184, 2, 256), (72, 1, 64)])
def test_tiles_of_any_eight_columns(n, consumers, m):
    made = check(case(GEMM, n=333), {"m": m, "n": n, "consumer_warpgroups": consumers})
    assert dict(made.config.tile)["n"] == n


def test_lanes_meet_outside_of_conditions():
    score = (
        "wl.where(~(wl.index(m) >= wl.index(k) + 16), wl.tanh((qs @ keys[k].T) * alpha), -wl.inf)"
    )
    one = case(SOFTMAX.format(score=score), dtype="f16", m=36, k=45)
    made = check(one, {"consumer_warpgroups": 1})
    lines = [x for x in emit_kernel(made).text.splitlines() if "quad_" in x and "?" in x]
    assert not lines


def test_copies_out_begin_inside_the_tensor():
    score = "wl.where(wl.index(m) >= wl.index(k) + 35, (qs @ keys[k].T) * alpha, -wl.inf)"
    one = case(SOFTMAX.format(score=score), m=170, k=5)
    assert check(one, {"consumer_warpgroups": 1, "store_from_registers": False})


def test_turns_shorter_than_a_hand_over_are_scheduled_or_refused():
    one = case(SOFTMAX.format(score="(qs @ keys[k].T) * alpha"), k=16)
    made = Lowered(one, {"consumer_warpgroups": 2, "m": 128, "k": 16, "mma_turns": True}).compiled
    with suppress(SchedulingError):  # no other error: the next config is tried
        assert made.lower(made.choices[0].config).document.barriers


def test_conditions_on_columns_alone():
    score = "(qs @ keys[k].T) * alpha + wl.where(wl.index(k) % 3 != 1, tilt[k], -1.0 * tilt[k])"
    assert check(case(SOFTMAX.format(score=score)), {"consumer_warpgroups": 1})


LINES = {
    "a bias that falls": "(wl.index(k) - wl.index(m)) * 0.03",
    "of numbers": "(2.0 * wl.index(k) - wl.index(m) * 1.5 - 7) / 61.0",
    "turned round": "-(wl.index(m) - 3 * wl.index(k)).to(wl.f32) * 0.01",
    "a distance": "wl.abs(wl.index(k) - wl.index(m)) * -0.02",
    "with a number of the row": "((wl.index(k) - tilt[0]) + wl.index(m) * alpha) * 0.02",
}


@pytest.mark.parametrize("bias", LINES.values(), ids=list(LINES))
def test_numbers_that_rise_evenly_are_no_work_of_their_own(bias):
    one = case(SOFTMAX.format(score=f"(qs @ keys[k].T) * alpha + {bias}"), m=70, k=99)
    made = check(one, {"consumer_warpgroups": 1})
    text = emit_kernel(made).text
    assert "fmaf(slope_" in text
    assert text.count("auto make_") == 4


def test_a_window_begins_where_its_first_row_does():
    """Not at a multiple of the step: one tile less is visited."""
    score = (
        "wl.where((wl.index(m) >= wl.index(k)) & (wl.index(m) - wl.index(k) <= 40),"
        " (qs @ keys[k].T) * alpha, -wl.inf)"
    )
    one = case(SOFTMAX.format(score=score), m=300, k=290)
    made = check(one, {"consumer_warpgroups": 1, "m": 64, "k": 48})
    assert "/ 48 * 48" not in emit_kernel(made).text


@pytest.mark.parametrize("after", [-75, 3])
def test_a_window_with_a_vector_and_rows_past_its_end(after):
    """Copies of the vector begin at whole 16 bytes; a tile that sees few keys runs no more."""
    score = f"wl.where(wl.index(k) > wl.index(m) + {after}, (qs @ keys[k].T) + tilt[k], -wl.inf)"
    assert check(case(SOFTMAX.format(score=score), m=130, k=150), {"consumer_warpgroups": 1})


def test_a_condition_used_twice_and_rows_called_h():
    assert check(case(ROW_NAMES))


def test_tiles_with_a_scale_of_their_own_begin_where_blocks_do():
    assert check(case(BLOCK_SCALES, m=17, n=88, k=143), {"n": 32})


@pytest.mark.parametrize(
    ("added", "early"),
    [
        ("x[m, k] @ w[n, k].T", "step_k(k + 1)"),  # kept for the step's next iteration
        ("(x[m, k] @ w[n, k].T) * decay[k]", "float read_make"),  # read as the product is issued
    ],
)
def test_a_number_of_every_iteration_is_read_before_it_is_needed(added, early):
    for k in (40, 64, 300):
        made = check(case(DECAY.replace("{added}", added), k=k), {"fuse_vector_chains": False})
        assert early in emit_kernel(made).text


def test_settled_programs_wait_for_all_products():
    score = "(qs @ keys[k].T) * alpha"
    made = check(case(SOFTMAX.format(score=score)), {"drain_mma": True, "consumer_warpgroups": 1})
    text = emit_kernel(made).text
    assert "wgmma_wait<1>" not in text
    assert "wait_group.sync.aligned 1" not in text
    assert "wgmma_fence_1x" in text  # sums that go on are written before their fence


MASKED_SCORE = "wl.where(wl.index(k) <= wl.index(m), (qs @ keys[k].T) * alpha, -wl.inf)"


@pytest.mark.parametrize(("stages", "tie"), [(2, 8), (3, 16)])
def test_bytes_of_the_next_product_are_awaited_amid_vector_work(stages, tie):
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    made = check(one, {"full_wait_after": tie, "consumer_warpgroups": 2, "k": 64, "stages": stages})
    text = emit_kernel(made).text
    assert f"8 * g == {tie}) {{ computed(" in text
    assert text.count(", [&] { mbar_wait(") == 3  # before the loop, in it, and in its masked copy
    assert verify(made.document).clean


def test_of_a_single_slot_nothing_is_awaited_early():
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    made = check(
        one,
        {"full_wait_after": 8, "consumer_warpgroups": 2, "k": 64, "stages": 1, "mma_turns": False},
    )
    assert (made.config.stages, made.config.full_wait_after) == (1, 8)
    assert "computed(" not in emit_kernel(made).text


@pytest.mark.parametrize(("late", "tie"), [(1, 0), (3, 8)])
def test_the_rest_of_a_product_is_issued_after_vector_work(late, tie):
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    made = check(
        one,
        {
            "deferred_mmas": late,
            "full_wait_after": tie,
            "consumer_warpgroups": 2,
            "k": 64,
            "stages": 2,
        },
    )
    ops = [getattr(e, "op", "") for e in made.document.program("consumer").kernel]
    first, rest = (next(i for i, n in enumerate(ops) if n.endswith(x)) for x in (".first", ".rest"))
    assert any(n.startswith("make_") for n in ops[first:rest])
    lines = emit_kernel(made).text
    assert f"step = {4 - late}; step < 4" in lines
    assert verify(made.document).clean


@pytest.mark.parametrize(
    "pins", [{"full_wait_after": 12}, {"full_wait_after": 32}, {"deferred_mmas": 4}]
)
def test_parts_that_do_not_exist_are_refused(pins):
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    with pytest.raises(KernelError, match=r"full_wait_after=|deferred_mmas="):
        check(one, {**pins, "consumer_warpgroups": 2, "k": 64, "stages": 2})


def test_a_wait_that_is_tied_to_everything_is_after_a_branch():
    """The assembler moves waits up, but not across one; the other branch waits as well."""
    score = "(qs @ keys[k].T) * alpha"
    made = check(
        case(SOFTMAX.format(score=score)), {"full_wait_after": -1, "consumer_warpgroups": 1}
    )
    lines = [x.strip() for x in emit_kernel(made).text.splitlines()]
    found = [x for x in lines if x.startswith("if (__all_sync") and "wgmma_wait_0" in x]
    assert found
    assert all(x.count("wgmma_wait_0") == 2 for x in found)


def test_what_a_second_store_reads_stays():
    assert check(case(TWO_STORES))


def test_a_loaded_tile_stored_as_it_is_is_refused_at_its_line():
    text = """
@wl.kernel
def kernel(x: wl.In["m", "k"], out: wl.Out["m", wl.f32], out_b: wl.Out["m", "k"]):
    m = wl.tile(out)
    s = wl.zeros(m)
    for k in wl.steps(x.k):
        out_b[m, k] = x[m, k]
        s += x[m, k].to(wl.f32).sum(axis=1)
    out[m] = s
"""
    with pytest.raises(KernelError, match="stored inside the loop as it is"):
        Lowered(case(text)).compiled.choices  # noqa: B018


@pytest.mark.parametrize(
    ("one", "pins"),
    [
        (case(GEMM, m=500, n=333, k=200), {"m": 128, "n": 64}),
        (case(GEMM, m=500, n=200, k=30), {"m": 64, "n": 72, "epilogue_stages": 1}),
        (case(TWO_STORES, m=300), {"m": 64, "n": 64}),
        (case(SCATTERED, m=333, e=4, s=300, k=100), {"m": 64, "n": 64}),
        (case(SUMS_OF_GROUPS.format(right="x[m, k]"), e=4, m=400, k=70), {"n": 64, "k": 64}),
        (case(SOFTMAX.format(score="(qs @ keys[k].T) * alpha"), m=500, k=99), {"m": 64}),
        (case(GROUPED_WEIGHTS, e=3, m=401, k=401), {"m": 64}),
    ],
    ids=["product", "short", "rows", "groups", "lengths", "softmax", "ring of tiles"],
)
def test_consumers_take_tiles_in_turn(one, pins):
    """Tiles of other lengths too, which each goes past as the other walks them."""
    made = check(one, {"consumer_warpgroups": 1, "pingpong": 2, **pins}, 0, 1, 2)
    assert made.document.program("consumer").alternates
    assert "go_past(" in emit_kernel(made).text


def test_erf_as_kernels_compute_it():
    """Near the value everywhere, exactly 1 far out; what is no number stays none."""
    calls = 'extern "C" float erf_here(float x) { return erf_smooth(x); }\n'
    entry = 'extern "C" __global__ void __launch_bounds__(32, 1)\nerf_kernel(int n) {\n}\n'
    text = "\n".join([ptx.TYPES, definitions({"erf_smooth"}), calls, entry])
    erf = built(text, "erf_kernel").erf_here
    erf.restype, erf.argtypes = ctypes.c_float, [ctypes.c_float]
    for i in range(-6000, 6001):
        x = ctypes.c_float(i / 1000).value
        assert erf(x) == pytest.approx(math.erf(x), rel=0, abs=1e-6)
    far = (5.0, -9.0, 1e30, -1e30, math.inf, -math.inf)
    assert [erf(x) for x in far] == [1.0, -1.0] * 3
    assert math.isnan(erf(math.nan))


ADDED = """
@wl.kernel
def kernel(
    q: wl.In["s", "d"], k: wl.In["t", "d"], dk: wl.Out["t", "d"], dq: wl.Out["s", "d", wl.f32]
):
    t = wl.tile(dk, whole="d")
    ks, acc = k[t], wl.zeros(t, k.d)
    for s in wl.steps(q.s):
        qs = q[s]
        p = ((ks @ qs.T) * 0.1).to(q.dtype)
        acc += p @ qs
        dq[s] += p.T @ ks
    dk[t] = acc
"""


class WithNan(RandomKernel):
    """Row 5 of the first input is NaN."""

    def arrays(self):
        q, *rest = super().arrays()
        q[5] = np.nan
        return (q, *rest)


@pytest.mark.parametrize("columns", [40, 64, 72])
def test_the_loop_adds_columns_that_exist_alone(columns):
    """A whole axis is padded to the tile of products: what lies past a row is another row's, and
    0 * NaN is no 0.
    """
    plain = replace(case(ADDED, s=100, t=150, d=columns), whole={"d": columns})
    pins = {"s": 64, "t": 128, "reduce_from_registers": True, "consumer_warpgroups": 2}
    made = check(plain, pins)
    one = WithNan(**{f.name: getattr(plain, f.name) for f in fields(plain)})
    (_, found), fault = run_case(one, made.kernel, emit_kernel(made), made.config, seed=0)
    assert fault is None
    assert np.isnan(found[5]).all()
    assert np.isfinite(np.delete(found, 5, 0)).all()
