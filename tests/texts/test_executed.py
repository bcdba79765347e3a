"""Kernels whose emitted program once went wrong, or has a new shape, executed on the host."""

import ctypes
import inspect
import math
import re
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.host_cuda import NEEDS_COMPILER, built
from tests.kernel.random_kernels import RandomKernel
from tests.texts.test_random_kernels import Lowered, check
from warploom.emit.cuda import ptx
from warploom.emit.cuda.tile.helpers import helpers_for
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.errors import KernelError, SchedulingError
from warploom.kernel.values import Dot, Load, Store, walk
from warploom.kernels.measured import SCANS, SCANS_OF_PARTS, measured
from warploom.kernels.scan import scan, scan_parts
from warploom.lower.loops import each_loop
from warploom.verify import verify

pytestmark = NEEDS_COMPILER
GEMM = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], bias: wl.In["n", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc + bias[n]
"""
SOFTMAX = """
@wl.kernel
def kernel(q: wl.In["m", "d"], keys: wl.In["k", "d"], v: wl.In["k", "d"],
           tilt: wl.In["k", wl.f32], out: wl.Out["m", "d"], *, alpha: float):
    m = wl.tile(out, whole="d")
    qs = q[m]
    o, l, top = wl.zeros(m, q.d), wl.zeros(m), wl.full(m, -1.0e30)
    for k in wl.steps(keys.k):
        x = {score}
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(v.dtype) @ v[k]
        top = new
    out[m] = o / wl.where(l > 0, l, 1.0)
"""
ROW_NAMES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], side: wl.In["m", wl.f32],
           out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    h = wl.log(wl.abs(side[m]) + 1.0) - side[m]
    acc, rs, rm = wl.zeros(m, n), wl.zeros(m), wl.full(m, -8.0)
    for k in wl.steps(x.k):
        a = x[m, k]
        acc += a @ w[n, k].T
        rs += wl.exp(a * 0.5).sum(axis=1)
        rm = wl.maximum(rm, wl.exp(a).max(axis=1))
    out[m, n] = (acc + rs + rm) * 0.125 + wl.maximum(acc, h)
"""
TWO_STORES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"],
           out_b: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc, rs = wl.zeros(m, n), wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        acc += a @ w[n, k].T
        rs += (a.to(wl.f32) * a).sum(axis=1)
    out[m, n] = acc * wl.tanh(rs)
    out_b[m, n] = wl.maximum(acc, rs)
"""
NORM_THEN_PRODUCT = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, alpha: float):
    m, n = wl.tile(out)
    s = wl.zeros(m)
    for k in wl.steps(x.k):
        a = x[m, k]
        s += (a.to(wl.f32) * a).sum(axis=1)
    r = wl.rsqrt(s / x.k + alpha)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += (x[m, k] * r).to(x.dtype) @ w[n, k].T
    out[m, n] = acc
"""
TWO_SOURCES = """
@wl.kernel
def kernel(q: wl.In["m", "d"], k1: wl.In["s", "d"], v1: wl.In["s", "d"], k2: wl.In["t", "d"],
           v2: wl.In["t", "d"], out: wl.Out["m", "d"], lse: wl.Out["m", wl.f32], *, alpha: float):
    m = wl.tile(out, whole="d")
    qs = q[m]
    o, l, top = wl.zeros(m, q.d), wl.zeros(m), wl.full(m, -wl.inf)
    for s in wl.steps(k1.s):
        x = (qs @ k1[s].T) * alpha
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(q.dtype) @ v1[s]
        top = new
    for t in wl.steps(k2.t):
        x = (qs @ k2[t].T) * alpha
        new = wl.maximum(top, x.max(axis=1))
        keep, p = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + p.sum(axis=1)
        o = o * keep + p.to(q.dtype) @ v2[t]
        top = new
    out[m] = o / l
    lse[m] = top + wl.log(l)
"""
ROW_SOFTMAX = """
@wl.kernel
def kernel(x: wl.In["m", "k"], top: wl.Out["m", wl.f32], out_b: wl.Out["m", "k"]):
    m = wl.tile(top)
    t, s = wl.full(m, -8.0), wl.zeros(m)
    for k in wl.steps(x.k):
        t = wl.maximum(t, x[m, k].to(wl.f32).max(axis=1))
    top[m] = t
    for k in wl.steps(x.k):
        s += wl.exp(x[m, k] - t).sum(axis=1)
    for k in wl.steps(x.k):
        out_b[m, k] = wl.exp(x[m, k] - t) / s
"""
BLOCK_SCALES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], sx: wl.In["m", "k/64", wl.f32], w: wl.In["n", "k"],
           sw: wl.In["n/64", "k/64", wl.f32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc += (x[m, k] @ w[n, k].T) * sx[m, k] * sw[n, k]
    out[m, n] = acc
"""
HALVES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], sx: wl.In["m", "k/64", wl.f32], w: wl.In["h", "n", "k"],
           out: wl.Out["m", "h", "n"]):
    m, n = wl.tile("m", "n")
    left, right = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        left += (x[m, k] @ w[0, n, k].T) * sx[m, k]
        right += (x[m, k] @ w[1, n, k].T) * sx[m, k]
    out[m, 0, n] = left
    out[m, 1, n] = right
"""
DECAY = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], decay: wl.In["k/64", wl.f32],
           out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc = acc * wl.exp(decay[k] * 0.1) + {added}
    out[m, n] = acc
"""
SUMS_OF_GROUPS = """
@wl.kernel
def kernel(x: wl.In["m", "k"], y: wl.In["m", "n"], starts: wl.Starts["e"],
           out: wl.Out["e", "n", "k"]):
    e, n, k = wl.tile(out)
    acc = wl.zeros(n, k)
    for m in wl.steps(x.m, start=starts[e], until=starts[e + 1]):
        acc += y[m, n].T @ {right}
    out[e, n, k] = acc
"""
SCATTERED = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"],
           weight: wl.In["m", wl.f32], out: wl.Out["s", "n"]):
    e, m, n = wl.tile("m", "n", groups=starts)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[e, n, k].T
    out[wl.index(m) // 3 * 2 - 1, n] += acc * weight[m]
"""
SUMS = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] += acc
"""
HALF_BYTES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k/2", wl.i8], scale: wl.In["k/128", "n", wl.f32],
           out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(n, m)
    for k in wl.steps(x.k, 128):
        number = (w[n, k] >> 4 * (wl.index(k) % 2)) & 15
        acc += ((number{less}).to(x.dtype) @ x[m, k].T) * scale[k, n]
    out[m, n] = acc.T
"""
GROUPED_SCALES = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["e", "n", "k"], side: wl.In["k/64", "m", wl.f32],
           starts: wl.Starts["e"], out: wl.Out["m", "n"]):
    e, m, n = wl.tile(out, groups=starts)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc += (x[m, k] @ w[e, n, k].T) * side[k, m]
    out[m, n] = acc
"""
GROUPED_WEIGHTS = """
@wl.kernel
def kernel(q: wl.In["m", "d"], keys: wl.In["k", "d"], v: wl.In["k", "d"],
           tilt: wl.In["k", wl.f32], starts: wl.Starts["e"], out: wl.Out["m", "d"]):
    e, m = wl.tile(out, whole="d", groups=starts)
    qs = q[m]
    o = wl.zeros(m, q.d)
    for k in wl.steps(keys.k, start=starts[e], until=starts[e + 1]):
        p = wl.exp((qs @ keys[k].T) * 0.05 - wl.abs(tilt[k]))
        o += p.to(v.dtype) @ v[k]
    out[m] = o
"""
SIZES = {"m": 136, "n": 109, "k": 145, "s": 209, "t": 145, "d": 64}


def case(text, *, dtype="bf16", **sizes):
    names = dict.fromkeys(re.findall(r"(\w+): wl\.(?:In|Out)\[", text))
    typed = set(re.findall(r"(\w+): wl\.(?:In|Out)\[[^\]]*wl\.(?:f32|i8)\]", text))
    return RandomKernel(
        text=text,
        types={n: dtype for n in names if n not in typed},
        sizes=SIZES | sizes,
        whole={"d": SIZES["d"]} if '"d"' in text else {},
        scalars={"alpha": 0.25} if "alpha" in text else {},
        seed=3,
    )


@pytest.mark.parametrize(("dtype", "n"), [("bf16", 109), ("f16", 104), ("bf16", 64)])
def test_tiles_that_the_tail_reads_come_in_pairs(dtype, n):
    """Of rows of an odd length, which begin anywhere, one by one; and what all rows share."""
    text = GEMM.replace("bias: wl", 'more: wl.In["m", "n"], less: wl.In["n"], bias: wl').replace(
        "acc + bias[n]", "wl.erf(acc) + bias[n] + more[m, n] - less[n]"
    )
    made = check(case(text, dtype=dtype, m=200, n=n), {"m": 64, "n": 64, "direct": False})
    assert emit_kernel(made).text.count("load_pair(&ptr_") == 2


@pytest.mark.parametrize(("n", "consumers", "m"), [(200, 2, 128), (184, 2, 256), (72, 1, 64)])
def test_tiles_of_any_eight_columns(n, consumers, m):
    made = check(case(GEMM, n=333), {"m": m, "n": n, "consumers": consumers})
    assert dict(made.tiling.extents)["n"] == n


def test_lanes_meet_outside_of_conditions():
    score = (
        "wl.where(~(wl.index(m) >= wl.index(k) + 16), wl.tanh((qs @ keys[k].T) * alpha), -wl.inf)"
    )
    one = case(SOFTMAX.format(score=score), dtype="f16", m=36, k=45)
    made = check(one, {"consumers": 1})
    lines = [x for x in emit_kernel(made).text.splitlines() if "quad_" in x and "?" in x]
    assert not lines


def test_copies_out_begin_inside_the_tensor():
    score = "wl.where(wl.index(m) >= wl.index(k) + 35, (qs @ keys[k].T) * alpha, -wl.inf)"
    one = case(SOFTMAX.format(score=score), m=170, k=5)
    assert check(one, {"consumers": 1, "direct": False})


def test_turns_shorter_than_a_hand_over_are_scheduled_or_refused():
    one = case(SOFTMAX.format(score="(qs @ keys[k].T) * alpha"), k=16)
    made = Lowered(one, {"consumers": 2, "m": 128, "k": 16, "turns": True}).compiled
    with suppress(SchedulingError):  # no other error: the next tiling is tried
        assert made.lower(made.choices[0].tiling).document.barriers


def test_conditions_on_columns_alone():
    score = "(qs @ keys[k].T) * alpha + wl.where(wl.index(k) % 3 != 1, tilt[k], -1.0 * tilt[k])"
    assert check(case(SOFTMAX.format(score=score)), {"consumers": 1})


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
    made = check(one, {"consumers": 1})
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
    made = check(one, {"consumers": 1, "m": 64, "k": 48})
    assert "/ 48 * 48" not in emit_kernel(made).text


@pytest.mark.parametrize("after", [-75, 3])
def test_a_window_with_a_vector_and_rows_past_its_end(after):
    """Copies of the vector begin at whole 16 bytes; a tile that sees few keys runs no more."""
    score = f"wl.where(wl.index(k) > wl.index(m) + {after}, (qs @ keys[k].T) + tilt[k], -wl.inf)"
    assert check(case(SOFTMAX.format(score=score), m=130, k=150), {"consumers": 1})


@pytest.mark.parametrize(
    "one",
    [case(GROUPED_SCALES, e=4, m=333, n=72, k=200), case(GROUPED_WEIGHTS, e=3, m=201, k=201)],
    ids=["rows", "columns"],
)
def test_vectors_of_groups_begin_anywhere(one):
    """Their copies begin at the 16 bytes before: the chip takes others for illegal instructions."""
    assert "& ~3" in emit_kernel(check(one)).text


@pytest.mark.parametrize(
    "pins",
    [
        {"m": 128, "n": 48, "consumers": 1, "alternate": 2},
        {"m": 128, "n": 64, "consumers": 2},
        {"m": 256, "n": 80, "consumers": 2},
    ],
    ids=["in turn", "shared", "large"],
)
def test_copies_of_rows_end_where_their_group_does(pins):
    """Past it they bring zeros, in tiles of any columns, which leave by 16 bytes."""
    text = SCATTERED.replace('"s", "n"', '"m", "n"')
    text = text.replace("out[wl.index(m) // 3 * 2 - 1, n] +=", "out[m, n] =")
    made = emit_kernel(check(case(text, m=700, e=5, k=100, n=200), pins, 0, 1)).text
    assert "_bounded" in made
    assert "store_line(" in made


def test_columns_that_begin_anywhere_are_refused_at_their_line():
    text = GROUPED_SCALES.replace('x: wl.In["m", "k"]', 'x: wl.In["k", "m"]')
    with pytest.raises(KernelError, match="may begin anywhere") as found:
        Lowered(case(text.replace("x[m, k]", "x[k, m].T"), e=3)).compiled.choices  # noqa: B018
    assert "x[k, m].T" in found.value.where


def test_a_condition_used_twice_and_rows_called_h():
    assert check(case(ROW_NAMES))


def test_tiles_with_a_scale_of_their_own_begin_where_blocks_do():
    assert check(case(BLOCK_SCALES, m=17, n=88, k=143), {"n": 32})


@pytest.mark.parametrize(
    ("added", "early"),
    [
        ("x[m, k] @ w[n, k].T", "step_k(k + 1)"),  # kept for the step's next iteration
        ("(x[m, k] @ w[n, k].T) * decay[k]", "float ahead_make"),  # read as the product is issued
    ],
)
def test_a_number_of_every_iteration_is_read_before_it_is_needed(added, early):
    for k in (40, 64, 300):
        made = check(case(DECAY.replace("{added}", added), k=k), {"joined": False})
        assert early in emit_kernel(made).text


@pytest.mark.parametrize(("groups", "rows"), [(1, 136), (4, 200), (9, 30)])
def test_products_sum_over_a_group_alone(groups, rows):
    made = check(case(SUMS_OF_GROUPS.format(right="x[m, k]"), e=groups, m=rows, k=70))
    assert "bounded" in emit_kernel(made).text


def test_a_computed_right_operand_meets_zeros_past_the_end():
    right = "(x[m, k] * 0.5).to(x.dtype)"
    assert check(case(SUMS_OF_GROUPS.format(right=right), e=3, m=90, k=70), {"consumers": 1})


def test_a_sum_along_columns_past_the_end_is_refused_at_its_line():
    text = SUMS_OF_GROUPS.format(right="x[m, k]").replace('["m", "n"]', '["n", "m"]')
    text = text.replace("y[m, n].T", "y[n, m]")
    with pytest.raises(KernelError, match="past the end of this loop") as found:
        Lowered(case(text, e=3)).compiled.choices  # noqa: B018
    assert "y[n, m]" in found.value.where


@pytest.mark.parametrize(
    ("dtype", "out", "n"), [("bf16", "f32", 37), ("bf16", "bf16", 64), ("f16", "f16", 37)]
)
def test_rows_are_scattered_and_added(dtype, out, n):
    one = case(SCATTERED, dtype=dtype, e=3, m=150, s=70, n=n, k=64)
    assert check(replace(one, types={**one.types, "out": out}))


@pytest.mark.parametrize("direct", [False, True])
def test_a_sum_in_memory_is_a_sum_however_it_leaves(direct):
    assert check(case(SUMS, n=100, k=64), {"direct": direct, "n": 64})


@pytest.mark.parametrize(
    ("text", "row", "dtype", "pins"),
    [
        (GEMM, "m", "bf16", {"m": 64, "n": 64, "consumers": 1, "stages": 2}),
        (GEMM, "n", "bf16", {"m": 64, "n": 64, "consumers": 1}),
        (SCATTERED, "m", "f16", {"m": 128, "n": 64, "consumers": 2}),
    ],
)
def test_rows_are_gathered_by_a_list(text, row, dtype, pins):
    name = {"m": "x", "n": "w"}[row]
    text = text.replace(f'{name}: wl.In["{row}", "k"]', f'{name}: wl.In["r", "k"]')
    text = text.replace(f"{name}[{row}, k]", f"{name}[wl.index({row}) * 2 - 9, k]")  # some outside
    one = case(text, dtype=dtype, m=150, n=64, k=100, r=200, e=3, s=70)
    made = check(replace(one, types={**one.types, "out": "f32"}), pins)
    assert "copy_row(" in emit_kernel(made).text


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("x[m, k]", "x[m, wl.index(k) * 2]", "begin anywhere"),
        ("x[m, k]", "x[wl.index(k) * 2, m].T", "read once a tile"),
    ],
)
def test_other_lists_are_refused_at_their_line(old, new, why):
    axes = '"m", "r"' if new.startswith("x[m") else '"r", "m"'
    text = GEMM.replace('x: wl.In["m", "k"]', f"x: wl.In[{axes}]")
    text = text.replace(old, new).replace("x.k", "w.k")
    with pytest.raises(KernelError, match=why) as found:
        Lowered(case(text, r=100)).compiled.choices  # noqa: B018
    assert "wl.index(k) * 2" in found.value.where


def test_settled_programs_wait_for_all_products():
    score = "(qs @ keys[k].T) * alpha"
    made = check(case(SOFTMAX.format(score=score)), {"settled": True, "consumers": 1})
    text = emit_kernel(made).text
    assert "wgmma_wait<1>" not in text
    assert "wait_group.sync.aligned 1" not in text
    assert "wgmma_fence_1x" in text  # sums that go on are written before their fence


MASKED_SCORE = "wl.where(wl.index(k) <= wl.index(m), (qs @ keys[k].T) * alpha, -wl.inf)"


@pytest.mark.parametrize(("stages", "tie"), [(2, 8), (3, 16)])
def test_bytes_of_the_next_product_are_awaited_amid_vector_work(stages, tie):
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    made = check(one, {"tie": tie, "consumers": 2, "k": 64, "stages": stages})
    text = emit_kernel(made).text
    assert f"8 * g == {tie}) {{ computed(" in text
    assert text.count(", [&] { mbar_wait(") == 3  # before the loop, in it, and in its masked copy
    assert verify(made.document).clean


def test_of_a_single_slot_nothing_is_awaited_early():
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    made = check(one, {"tie": 8, "consumers": 2, "k": 64, "stages": 1})
    assert "computed(" not in emit_kernel(made).text


@pytest.mark.parametrize(("late", "tie"), [(1, 0), (3, 8)])
def test_the_rest_of_a_product_is_issued_after_vector_work(late, tie):
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    made = check(one, {"late": late, "tie": tie, "consumers": 2, "k": 64, "stages": 2})
    ops = [getattr(e, "op", "") for e in made.document.program("consumer").kernel]
    first, rest = (next(i for i, n in enumerate(ops) if n.endswith(x)) for x in (".first", ".rest"))
    assert any(n.startswith("make_") for n in ops[first:rest])
    lines = emit_kernel(made).text
    assert f"step = {4 - late}; step < 4" in lines
    assert verify(made.document).clean


@pytest.mark.parametrize("pins", [{"tie": 12}, {"tie": 32}, {"late": 4}])
def test_parts_that_do_not_exist_are_refused(pins):
    one = case(SOFTMAX.format(score=MASKED_SCORE), m=130, k=260)
    with pytest.raises(KernelError, match=r"tie=|late="):
        check(one, {**pins, "consumers": 2, "k": 64, "stages": 2})


def test_a_wait_that_is_tied_to_everything_is_after_a_branch():
    """The assembler moves waits up, but not across one; the other branch waits as well."""
    score = "(qs @ keys[k].T) * alpha"
    made = check(case(SOFTMAX.format(score=score)), {"tie": -1, "consumers": 1})
    lines = [x.strip() for x in emit_kernel(made).text.splitlines()]
    found = [x for x in lines if x.startswith("if (__all_sync") and "wgmma_wait_0" in x]
    assert found
    assert all(x.count("wgmma_wait_0") == 2 for x in found)


@pytest.mark.parametrize(("dtype", "less"), [("bf16", " - 8"), ("f16", " - 8"), ("bf16", "")])
def test_half_bytes_are_converted_in_pairs(dtype, less):
    made = check(case(HALF_BYTES.format(less=less), dtype=dtype, m=20, n=70, k=270))
    assert f"nibbles_{dtype}(" in emit_kernel(made).text


def test_other_bits_of_a_byte_are_converted_one_by_one():
    text = HALF_BYTES.format(less=" - 100")
    assert "nibbles_" not in emit_kernel(check(case(text, m=20, n=70, k=270))).text


@pytest.mark.parametrize("k", [512, 540])
def test_one_copy_brings_several_steps(k):
    pins = {"n": 64, "unroll": 4, "together": True, "joined": True, "program": "text"}
    made = check(case(HALF_BYTES.format(less=" - 8"), m=20, n=70, k=k), pins)
    text = emit_kernel(made).text
    assert "_stack4" in text  # 64 bytes of weights of every step
    assert "_stack8" in text  # two blocks of columns of every step


@pytest.mark.parametrize("k", [270])
def test_half_bytes_of_several_steps(k):
    made = check(case(HALF_BYTES.format(less=" - 8"), m=20, n=70, k=k), {"n": 64, "unroll": 2})
    loaded = [s for s in made.layout.steps if s.loads and s.name.startswith("make_v")]
    assert len(loaded) == 2  # each step converts by itself, so that products of others run


@pytest.mark.parametrize(
    "rows",
    [
        {"n": 64, "consumers": 1},
        pytest.param({"n": 128, "consumers": 2, "turns": True}, marks=pytest.mark.slow),
    ],
)
def test_products_of_several_steps_follow_one_another_where_registers_are_few(rows):
    pins = {"m": 128, "unroll": 2, **rows}
    made = check(case(HALF_BYTES.format(less=" - 8"), m=140, n=70, k=270), pins)
    products = [op for op in made.layout.body.loop.body if isinstance(op, Dot)]
    assert len({dict(made.layout.homes)[op.result.name] for op in products}) == 1
    assert sum(a.registers for a in made.layout.arrays) == 192


@pytest.mark.parametrize(("text", "sizes"), [(BLOCK_SCALES, {"n": 88}), (HALF_BYTES, {"n": 70})])
def test_one_slot_for_all_tiles_of_an_iteration(text, sizes):
    one = case(text.format(less=" - 8"), k=270, m=20, **sizes)
    pins = {"n": 64, "unroll": 2, "together": True}
    made = check(one, pins)
    (ring,) = made.document.rings
    loads = [op for op in made.layout.body.loop.body if isinstance(op, Load)]
    assert len(ring.parts) == len(loads) - (text is BLOCK_SCALES) * 2  # scales of rows lie apart


@pytest.mark.parametrize(("k", "backwards"), [(40, False), (128, False), (320, False), (320, True)])
def test_several_steps_of_an_iteration(k, backwards):
    pins = {"n": 32, "unroll": 2, "serpentine": backwards}
    made = check(case(BLOCK_SCALES, n=88, k=k), pins)
    assert made.tiling.unroll == 2
    assert sum(a.name.startswith("kept_") for a in made.layout.arrays) == 2  # a product each


@pytest.mark.parametrize(("columns", "direct"), [(64, True), (128, True), (128, False)])
def test_a_tensor_is_stored_in_parts_whose_products_share_registers(columns, direct):
    """Two sums and both their products, of 128 columns each, are more registers than there are."""
    pins = {"m": 64, "n": columns, "consumers": 1, "alternate": 1, "direct": direct}
    made = check(case(HALVES, m=72, h=2, n=136, k=136), pins)
    stores = {op.name for op in made.document.flow.ops if op.name.startswith("store_out")}
    assert stores == {"store_out_0", "store_out_1"}
    assert sum(a.name.startswith("kept_") for a in made.layout.arrays) == (1 + (columns == 64))


@pytest.mark.parametrize("text", [GEMM, DECAY.replace("{added}", "x[m, k] @ w[n, k].T")])
def test_only_scaled_products_are_unrolled(text):
    with pytest.raises(KernelError, match="several steps of this loop"):
        Lowered(case(text), {"unroll": 2}).compiled.rewritten  # noqa: B018


def test_what_a_second_store_reads_stays():
    assert check(case(TWO_STORES))


@pytest.mark.parametrize(
    ("text", "loops", "sizes"),
    [
        (NORM_THEN_PRODUCT, 2, {}),
        (TWO_SOURCES, 2, {}),
        (ROW_SOFTMAX, 3, {}),
    ],
)
def test_several_loops_in_a_tile(text, loops, sizes):
    made = check(case(text, **sizes), {"consumers": 1}, 0, 1)
    assert len(made.documents) == loops


@pytest.mark.slow
def test_two_consumers_with_turns_in_both_loops():
    made = check(case(TWO_SOURCES), {"consumers": 2, "m": 128})
    first, second = (d.barriers for d in made.documents)
    assert {b.id for b in first}.isdisjoint({b.id + i for b in second for i in range(b.count)})


def test_each_loop_is_a_kernel_of_its_own():
    kernel = Lowered(case(ROW_SOFTMAX)).compiled.rewritten
    parts = each_loop(kernel)
    assert [len(p.loops) for p in parts] == [1, 1, 1]
    assert "t_out_loop1 of an earlier loop" in str(parts[2])
    stored = [[op.tensor for op in walk(p.ops) if isinstance(op, Store)] for p in parts]
    assert stored == [[], [], ["out_b", "top"]]  # stores follow the last loop


RECURRENCE = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        acc = acc * 0.5 + wl.abs(acc) * 0.25 + x[m, k] @ w[n, k].T
    out[m, n] = acc
"""


SUMS_ON_THE_WAY = """
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["k", "n"], out: wl.Out["k", "m", "n", wl.f32]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 1):
        acc = acc + 1.0
        out[k, m, n] = acc
"""


@pytest.mark.parametrize(
    ("text", "pins", "said"),
    [
        (RECURRENCE, {"serpentine": True}, "depends on the order"),
        (SUMS_ON_THE_WAY, {"serpentine": True}, "depends on the order"),
        (GEMM, {"direct": False, "n": 32}, "move 128 bytes of a row"),
    ],
)
def test_choices_that_change_the_meaning_are_refused(text, pins, said):
    with pytest.raises(KernelError) as found:
        Lowered(case(text), pins).compiled.choices  # noqa: B018
    assert said in str(found.value)


def test_a_store_before_the_last_loop_is_refused_at_its_line():
    text = """
@wl.kernel
def kernel(x: wl.In["m", "k"], out: wl.Out["m", wl.f32], out_b: wl.Out["m", "k"]):
    m = wl.tile(out)
    s = wl.zeros(m)
    for k in wl.steps(x.k):
        out_b[m, k] = wl.exp(x[m, k])
    for k in wl.steps(x.k):
        s += x[m, k].to(wl.f32).sum(axis=1)
    out[m] = s
"""
    with pytest.raises(KernelError, match="another loop follows") as found:
        each_loop(Lowered(case(text)).compiled.rewritten)
    assert "out_b[m, k]" in found.value.where


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


SLOW = pytest.mark.slow


CHUNKS = [(64, 64), pytest.param(64, 128, marks=SLOW), pytest.param(128, 128, marks=SLOW)]


def a_scan(text, t, d, chunks, parts=0):
    """A scan as a case; of so many parts of the sequence, each of which begins where others end."""
    text = inspect.getsource(text.function).replace(f"def {text.name}(", "def kernel(")
    if text.count("left") and not parts:  # tensors that may be left out
        text = re.sub(r"(?m)^    (left|gone): wl.In.*\n", "", text).replace("left is not None", "0")
    sizes = {"b": 1, "h": 2, "g": 1, "c": chunks, "t": t, "j": t, "d": d, "e": 64, "p": parts or 1}
    types, whole = dict.fromkeys(("q", "k", "v", "out"), "bf16"), {a: sizes[a] for a in "tjd"}
    types = {n: x for n, x in types.items() if f"    {n}: wl" in text}
    sizes |= {"r": parts} if parts else {}
    whole = {a: n for a, n in whole.items() if f'"{a}"' in text}
    return RandomKernel(text=text, types=types, sizes=sizes, whole=whole, scalars={}, seed=0)


@pytest.mark.parametrize(("t", "d"), CHUNKS)
def test_a_scan_with_its_measured_choices(t, d):
    made = check(a_scan(scan, t, d, 3), dict(SCANS[t, d]))
    assert made.tiling.resident == SCANS[t, d].get("resident", 1)
    assert "__launch_bounds__(256, 2)" in emit_kernel(made).text or t == 128


@pytest.mark.parametrize(("t", "d"), CHUNKS)
def test_a_scan_of_parts_with_its_measured_choices(t, d):
    """Five chunks in three parts: the last is shorter, the first has none before it."""
    made = check(a_scan(scan, t, d, 5, 3), dict(SCANS_OF_PARTS[t, d]))
    assert made.tiling.earlier == 1
    check(a_scan(scan_parts, t, d, 5, 3), dict(measured("scan_parts", {}, {})))


@pytest.mark.parametrize(
    "keep",
    [
        "acc * wl.exp(-wl.abs(gate[c]))",
        pytest.param("acc * 0.5", marks=SLOW),
        pytest.param("wl.maximum(acc, 1.0)", marks=SLOW),
    ],
)
def test_parts_without_a_step_leave_what_was_there(keep):
    """Two steps in four parts: the last two have none."""
    text = f"""
@wl.kernel
def kernel(x: wl.In["c", "m", "d"], w: wl.In["c", "n", "d"], gate: wl.In["c", wl.f32],
           out: wl.Out["p", "m", "n"]):
    p, m, n = wl.tile(out)
    acc = wl.zeros(m, n) + 0.5
    for c in wl.steps(x.c, 1, part=p):
        acc = {keep} + x[c, m] @ w[c, n].T
    out[p, m, n] = acc
"""
    sizes = {"c": 2, "m": 5, "n": 40, "d": 64, "p": 4}
    types = {"x": "f16", "w": "f16", "out": "f32"}
    assert check(
        RandomKernel(text=text, types=types, sizes=sizes, whole={"d": 64}, scalars={}, seed=2)
    )


@pytest.mark.parametrize(
    ("one", "pins"),
    [
        (case(GEMM, m=500, n=333, k=200), {"m": 128, "n": 64}),
        (case(GEMM, m=500, n=200, k=30), {"m": 64, "n": 72, "staging": 1}),
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
    made = check(one, {"consumers": 1, "alternate": 2, **pins}, 0, 1, 2)
    assert made.document.program("consumer").alternates
    assert "go_past(" in emit_kernel(made).text


def test_erf_as_kernels_compute_it():
    """Near the value everywhere, exactly 1 far out; what is no number stays none."""
    calls = 'extern "C" float erf_here(float x) { return erf_smooth(x); }\n'
    entry = 'extern "C" __global__ void __launch_bounds__(32, 1)\nerf_kernel(int n) {\n}\n'
    erf = built("\n".join([ptx.TYPES, helpers_for(calls), calls, entry]), "erf_kernel").erf_here
    erf.restype, erf.argtypes = ctypes.c_float, [ctypes.c_float]
    for i in range(-6000, 6001):
        x = ctypes.c_float(i / 1000).value
        assert erf(x) == pytest.approx(math.erf(x), rel=0, abs=1e-6)
    far = (5.0, -9.0, 1e30, -1e30, math.inf, -math.inf)
    assert [erf(x) for x in far] == [1.0, -1.0] * 3
    assert math.isnan(erf(math.nan))
