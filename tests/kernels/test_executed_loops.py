"""Loops of several steps an iteration, several loops in a tile, and scans, executed on the host."""

import inspect
import re

import pytest

from tests.frontend.random_kernels import RandomKernel
from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.samples import (
    BLOCK_SCALES,
    DECAY,
    GEMM,
    HALF_BYTES,
    HALVES,
    NORM_THEN_PRODUCT,
    ROW_SOFTMAX,
    TWO_SOURCES,
    case,
)
from tests.kernels.test_random_kernels import Lowered, check
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError
from warploom.ir.tile import Dot, Load, Store, walk
from warploom.kernels.measured import SCANS, SCANS_OF_PARTS
from warploom.kernels.registry import measured
from warploom.kernels.scan import scan, scan_parts
from warploom.passes.loops import each_loop

pytestmark = NEEDS_COMPILER


@pytest.mark.parametrize(("dtype", "less"), [("bf16", " - 8"), ("f16", " - 8"), ("bf16", "")])
def test_half_bytes_are_converted_in_pairs(dtype, less):
    made = check(case(HALF_BYTES.format(less=less), dtype=dtype, m=20, n=70, k=270))
    assert f"nibbles_{dtype}(" in emit_kernel(made).text


def test_other_bits_of_a_byte_are_converted_one_by_one():
    text = HALF_BYTES.format(less=" - 100")
    assert "nibbles_" not in emit_kernel(check(case(text, m=20, n=70, k=270))).text


@pytest.mark.parametrize("k", [512, 540])
def test_one_copy_brings_several_steps(k):
    pins = {
        "n": 64,
        "unroll": 4,
        "one_barrier_per_stage": True,
        "fuse_vector_chains": True,
        "schedule": "source",
    }
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
        {"n": 64, "consumer_warpgroups": 1},
        pytest.param(
            {"n": 128, "consumer_warpgroups": 2, "mma_turns": True}, marks=pytest.mark.slow
        ),
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
    pins = {"n": 64, "unroll": 2, "one_barrier_per_stage": True}
    made = check(one, pins)
    (ring,) = made.document.rings
    loads = [op for op in made.layout.body.loop.body if isinstance(op, Load)]
    assert len(ring.parts) == len(loads) - (text is BLOCK_SCALES) * 2  # scales of rows lie apart


@pytest.mark.parametrize(("k", "backwards"), [(40, False), (128, False), (320, False), (320, True)])
def test_several_steps_of_an_iteration(k, backwards):
    pins = {"n": 32, "unroll": 2, "serpentine": backwards}
    made = check(case(BLOCK_SCALES, n=88, k=k), pins)
    assert made.config.unroll == 2
    assert sum(a.name.startswith("kept_") for a in made.layout.arrays) == 2  # a product each


@pytest.mark.parametrize(("columns", "direct"), [(64, True), (128, True), (128, False)])
def test_a_tensor_is_stored_in_parts_whose_products_share_registers(columns, direct):
    """Two sums and both their products, of 128 columns each, are more registers than there are."""
    pins = {
        "m": 64,
        "n": columns,
        "consumer_warpgroups": 1,
        "pingpong": 1,
        "store_from_registers": direct,
    }
    made = check(case(HALVES, m=72, h=2, n=136, k=136), pins)
    stores = {op.name for op in made.document.flow.ops if op.name.startswith("store_out")}
    assert stores == {"store_out_0", "store_out_1"}
    assert sum(a.name.startswith("kept_") for a in made.layout.arrays) == (1 + (columns == 64))


@pytest.mark.parametrize("text", [GEMM, DECAY.replace("{added}", "x[m, k] @ w[n, k].T")])
def test_only_scaled_products_are_unrolled(text):
    with pytest.raises(KernelError, match="several steps of this loop"):
        Lowered(case(text), {"unroll": 2}).compiled.rewritten  # noqa: B018


@pytest.mark.parametrize(
    ("text", "loops", "sizes"),
    [
        (NORM_THEN_PRODUCT, 2, {}),
        (TWO_SOURCES, 2, {}),
        (ROW_SOFTMAX, 3, {}),
    ],
)
def test_several_loops_in_a_tile(text, loops, sizes):
    made = check(case(text, **sizes), {"consumer_warpgroups": 1}, 0, 1)
    assert len(made.documents) == loops


@pytest.mark.slow
def test_two_consumers_with_turns_in_both_loops():
    made = check(case(TWO_SOURCES), {"consumer_warpgroups": 2, "m": 128})
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

HANDED_OVER = """
@wl.kernel
def kernel(x: wl.In["m", "d"], q: wl.In["k", "d"], out: wl.Out["m", "d"],
           sums: wl.Out["k", "d", wl.f32]):
    m = wl.tile(out, whole="d")
    xs = x[m]
    acc = wl.zeros(m, q.d)
    for k in wl.steps(q.k):
        qs = q[k]
        p = wl.exp(xs @ qs.T).to(q.dtype)
        acc += p @ qs
        sums[k] += p.T @ xs
    out[m] = acc
"""


@pytest.mark.parametrize(
    ("text", "pins", "said"),
    [
        (
            HANDED_OVER,
            {"consumer_warpgroups": 2, "m": 128, "mma_turns": True},
            "what others hand over",
        ),
        (RECURRENCE, {"serpentine": True}, "depends on the order"),
        (SUMS_ON_THE_WAY, {"serpentine": True}, "depends on the order"),
        (GEMM, {"store_from_registers": False, "n": 32}, "move 128 bytes of a row"),
        (
            ROW_SOFTMAX,
            {"consumer_warpgroups": 2, "m": 128, "mma_turns": True},
            "this loop has no product",
        ),
    ],
)
def test_choices_that_change_the_result_are_refused(text, pins, said):
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
    assert made.config.ctas_per_sm == SCANS[t, d].get("ctas_per_sm", 1)
    assert "__launch_bounds__(256, 2)" in emit_kernel(made).text or t == 128


@pytest.mark.parametrize(("t", "d"), CHUNKS)
def test_a_scan_of_parts_with_its_measured_choices(t, d):
    """Five chunks in three parts: the last is shorter, the first has none before it."""
    made = check(a_scan(scan, t, d, 5, 3), dict(SCANS_OF_PARTS[t, d]))
    assert made.config.earlier_loop_stages == 1
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


PARTS = """
@wl.kernel
def kernel(x: wl.In["c", "m", "d"], w: wl.In["c", "n", "d"], v: wl.In["c", "n", "d"],
           out: wl.Out["p", "m", "d", wl.f32], total: wl.Out["p", "m", wl.f32]):
    p, m = wl.tile(out, whole="d")
    acc, l, top = wl.zeros(m, x.d), wl.zeros(m), wl.full(m, -1.0e30)
    for c in wl.steps(x.c, 1, part=p):
        y = (x[c, m] @ w[c].T) * 0.1
        {steps}
    out[p, m] = acc
    total[p, m] = l + top
"""
SUMS_OF_PARTS = ("e = wl.exp(y)", "l += e.sum(axis=1)", "acc += e.to(x.dtype) @ v[c]")
SOFTMAX_OF_PARTS = (
    "new = wl.maximum(top, y.max(axis=1))",
    "keep, e = wl.exp(top - new), wl.exp(y - new)",
    "l = l * keep + e.sum(axis=1)",
    "acc = acc * keep + e.to(x.dtype) @ v[c]",
    "top = new",
)


@pytest.mark.parametrize("steps", [SUMS_OF_PARTS, SOFTMAX_OF_PARTS], ids=["sums", "softmax"])
@pytest.mark.parametrize(("c", "p"), [(2, 2), (5, 3), (2, 3)])
def test_parts_with_fewer_steps_than_a_schedule_begins(c, p, steps):
    """Steps beyond a part's own lie past the end, not in the next part."""
    text = PARTS.replace("{steps}", "\n        ".join(steps))
    sizes = {"c": c, "m": 100, "n": 64, "d": 64, "p": p}
    types = dict.fromkeys(("x", "w", "v"), "bf16")
    whole = {"d": 64, "n": 64}
    made = check(RandomKernel(text, types, sizes, whole=whole, scalars={}, seed=0), {"m": 64})
    assert made.document.minimum_trips == 2


@pytest.mark.parametrize(("c", "split"), [(2, 2), (4, 3)])
def test_a_part_of_a_loop_is_split_once_more(c, split):
    text = """
@wl.kernel
def kernel(x: wl.In["c", "m", "d"], w: wl.In["c", "n", "d"], out: wl.Out["p", "m", "n"]):
    p, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for c in wl.steps(x.c, 1, part=p):
        acc += x[c, m] @ w[c, n].T
    out[p, m, n] = acc
"""
    sizes = {"c": c, "m": 5, "n": 40, "d": 64, "p": 2}
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    one = RandomKernel(text, types, sizes, whole={"d": 64}, scalars={}, seed=0)
    made = check(one, {"split_k": split, "mma_turns": False}, 0, 1)
    assert made.config.split_k == split


@pytest.mark.parametrize(("k", "p"), [(100, 3), (20, 2)])
def test_a_loop_may_be_reported_to_end_past_its_axis(k, p):
    text = """
@wl.kernel
def kernel(x: wl.In["p", "m", "d"], w: wl.In["k", "d"], out: wl.Out["p", "m", "d", wl.f32],
           total: wl.Out["p", "m", wl.f32]):
    p, m = wl.tile(out, whole="d")
    acc, l = wl.zeros(m, x.d), wl.zeros(m)
    for k in wl.steps(w.k, until=p * 70 + 30):
        e = wl.exp((x[p, m] @ w[k].T) * 0.1)
        l += e.sum(axis=1)
        acc += e.to(x.dtype) @ w[k]
    out[p, m] = acc
    total[p, m] = l
"""
    sizes = {"p": p, "m": 5, "d": 64, "k": k}
    types = dict.fromkeys(("x", "w"), "bf16")
    assert check(RandomKernel(text, types, sizes, whole={"d": 64}, scalars={}, seed=0))


STEP_BY_STEP = """
@wl.kernel
def kernel(x: wl.In["c", "m", "d"], w: wl.In["c", "f", "d"], gate: wl.In["c", wl.f32],
           out: wl.Out["m", "d", wl.f32], sums: wl.Out["m", wl.f32]):
    m = wl.tile(out, whole="d")
    acc, l = wl.zeros(m, x.d), wl.zeros(m)
    for c in wl.steps(x.c, 1):
        y = (x[c, m] @ w[c].T) * 0.1
        e = wl.exp(y)
        l = {l}
        acc += e.to(x.dtype) @ w[c]
    out[m] = acc
    sums[m] = l
"""


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize(
    "l",
    [
        *("l + gate[c]", "l + 1.0"),  # iterations that are not there do not count
        "wl.maximum(l, y.max(axis=1))",  # of what its exponentials overwrite
        "wl.where(l > -5.0, l + e.sum(axis=1) * 0.1, l)",  # a sum of all lanes, though scaled
    ],
)
def test_rows_carried_beside_products(c, l):
    sizes, whole = {"c": c, "m": 5, "f": 64, "d": 64}, {"d": 64, "f": 64}
    types = {"x": "bf16", "w": "bf16"}
    text = STEP_BY_STEP.replace("{l}", l)
    assert check(RandomKernel(text, types, sizes, whole=whole, scalars={}, seed=0))


@pytest.mark.parametrize("k", [10, 100])
def test_iterations_are_counted(k):
    text = """
@wl.kernel
def kernel(q: wl.In["m", "d"], keys: wl.In["k", "d"], out: wl.Out["m", "d", wl.f32],
           count: wl.Out["m", wl.f32]):
    m = wl.tile(out, whole="d")
    qs = q[m]
    acc, n = wl.zeros(m, q.d), wl.zeros(m)
    for k in wl.steps(keys.k, 64):
        n = n + 1.0
        acc += wl.exp((qs @ keys[k].T) * 0.1).to(q.dtype) @ keys[k]
    out[m] = acc
    count[m] = n
"""
    types, sizes = {"q": "bf16", "keys": "bf16"}, {"m": 5, "k": k, "d": 64}
    assert check(RandomKernel(text, types, sizes, whole={"d": 64}, scalars={}, seed=0))
