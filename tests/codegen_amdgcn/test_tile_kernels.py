"""Any tile kernel on gfx950 with plain loops: compiled, executed with values for every timing,
against NumPy. Pipelined loops have tests of their own.

Sizes are odd and rows lie apart with NaN between them, so that every mask counts; a second case of
a few kernels has whole runs, which takes the wide accesses.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.codegen_amdgcn import tile_kernels as own
from tests.codegen_amdgcn.tile_cases import made_for, random_arrays, try_kernel
from tests.frontend.random_kernels import random_kernels
from warploom.codegen.amdgcn.tile_ir.printer import print_waves
from warploom.compiler.amd_tiles import compile_tile_kernel
from warploom.errors import BackendError, ConfigError
from warploom.frontend import language as wl
from warploom.frontend.simplify import simplify
from warploom.ir.tile import Access
from warploom.kernels import (
    attention,
    attention_grad,
    attention_grad_ends,
    block_scaled,
    conv2d,
    gemm,
    grouped,
    int4_gemm,
    rms_gemm,
    scan,
    split_k,
    swiglu,
)
from warploom.passes.amdgcn.kernel import lower_kernel
from warploom.passes.amdgcn.layout import (
    lane_axis,
    linear_axis,
    places,
    register_axis,
    vector_axes,
)
from warploom.passes.amdgcn.plan import TilePlan
from warploom.targets.amdgcn import MI300X

pytest.importorskip("llvmlite")

ODD = {"m": 70, "n": 45, "k": 77}
EVEN = {"m": 72, "n": 48, "k": 80}
GROUPS = {"t": 150, "k": 40, "n": 37, "e": 4, "s": 60}
STARTS = {"starts": [0, 70, 70, 75, 150]}
TOKENS = np.random.default_rng(1).integers(-2, 62, 150)  # rows that do not exist among them
HEADS = {"b": 1, "h": 2, "g": 1, "s": 70, "t": 90, "d": 64}
PACKED = {"h": 2, "g": 1, "s": 150, "t": 130, "d": 64, "i": 3}
BOUNDS = {"q_starts": [0, 70, 75, 150], "k_starts": [0, 60, 60, 130]}
LISTS = {
    "some": [[[[0, 2, 9], [1, 0, 0]], [[2, 1, 0], [0, 0, 0]]]],
    "some_count": [[[2, 1], [3, 0]]],
    "full": [[[[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [2, 1, 0]]]],
    "full_count": [[[1, 0], [0, 2]]],
    "order": [3, 0, 2, 1],
    "lengths": [270],
}
BLOCKS = {"b": 1, "h": 2, "g": 1, "s": 150, "t": 290, "d": 64, "n": 4, "c": 3}
SCAN = {"b": 1, "h": 2, "g": 1, "c": 4, "t": 33, "j": 33, "d": 64, "e": 40, "p": 2, "r": 2}
FP8 = {"x": "bf16", "w": "e4m3", "out": "bf16"}


def case(text, types, sizes, *, constants=None, without=(), given=None, **options):
    """One row of the table."""
    return text, types, sizes, constants or {}, without, given or {}, options


CASES = {
    "gemm": case(gemm.gemm, "bf16", ODD, without=["bias", "residual"]),
    "swiglu": case(swiglu.swiglu, "f16", ODD),
    "rms_gemm": case(rms_gemm.rms_gemm, "bf16", ODD),
    "both_ways": case(own.product_both_ways, "bf16", ODD),
    "grouped_gathered": case(
        grouped.grouped_gathered, "bf16", GROUPS, given=STARTS | {"tokens": TOKENS}
    ),
    "int4": case(int4_gemm.int4_gemm, "bf16", {"m": 33, "n": 70, "k": 140}, extents={"n": 64}),
    "block_scaled": case(
        block_scaled.block_scaled,
        {"a": "e4m3", "b": "e5m2", "out": "bf16"},
        {"m": 70, "n": 140, "k": 200},
    ),
    "attention": case(
        attention.attention, "bf16", HEADS, constants={"causal": True}, given={"lengths": [67]}
    ),
    "softmax": case(own.softmax, "bf16", {"m": 7, "n": 200}),
    "rms_norm": case(own.rms_norm, "f32", {"m": 3, "n": 1300}),
    "column_sum": case(own.column_sum, "bf16", {"m": 75, "n": 300}),
    "listed": case(
        own.listed,
        "bf16",
        {"m": 200, "n": 45, "k": 300, "c": 3},
        given={"some": [[0, 4, 2], [3, 1, -1]], "count": [3, 3]},
    ),
    "summed_into": case(own.summed_into, "bf16", ODD),
    "add": case(own.add, {"x": "bf16", "y": "f32", "out": "e4m3"}, ODD),
    "scattered": case(
        own.scattered,
        "f16",
        {"s": 20, "m": 9, "n": 10},
        given={"row": [1, -1, 20, 19, 3, 4, 5, 2**31 - 1, -(2**31)]},
    ),
}
MORE = {
    "outside": case(own.outside, "bf16", {"b": 3, "m": 9, "n": 10, "k": 20}),
    "columns_apart": case(
        own.columns_apart, "f32", {"m": 9, "n": 10, "c": 3},
        given={"x": np.where(np.arange(90).reshape(9, 10) % 7 == 0, np.nan, -1.0)},
    ),
    "odd_names": case(own.lds, "f32", {"tile": 9, "n": 10}),
    "picked_pairs": case(
        own.picked_pairs, "f16", {"s": 20, "c": 15, "m": 9, "n": 10},
        given={
            "row": [0, -1, 20, 19, 3, 4, 5, 2**31 - 1, -(2**31)],
            "column": np.arange(10) * 2 - 3,
        },
    ),
    "turned": case(gemm.turned, "f16", ODD, without=["bias", "residual"]),
    "gemm_bias": case(gemm.gemm, {"a": "bf16", "b": "bf16", "out": "f32", "bias": "f32",
                                  "residual": "bf16"}, ODD),
    "grouped": case(grouped.grouped, "bf16", GROUPS, given=STARTS),
    "picked_rows": case(
        grouped.picked_rows, "bf16", {"s": 60, "j": 5, "u": 64, "t": 20},
        given={"tokens": TOKENS[:20]},
    ),
    "grouped_input": case(grouped.grouped_input, "bf16", GROUPS, given=STARTS),
    "grouped_weights": case(grouped.grouped_weights, "bf16", GROUPS, given=STARTS),
    "grouped_scattered": case(
        grouped.grouped_scattered, {"x": "bf16", "w": "bf16", "out": "f32"}, GROUPS,
        given=STARTS | {"rows": TOKENS},
    ),
    "grouped_swiglu": case(grouped.grouped_swiglu, "bf16", GROUPS, given=STARTS),
    "gathered_swiglu": case(
        grouped.gathered_swiglu, "bf16", GROUPS, given=STARTS | {"tokens": TOKENS}
    ),
    "grouped_scaled": case(
        grouped.grouped_scaled, {"x": "e4m3", "w": "e4m3", "out": "bf16"},
        {"t": 150, "k": 300, "n": 140, "e": 4}, given=STARTS,
    ),
    "fp8_weights": case(int4_gemm.fp8_gemm, FP8, {"m": 33, "n": 70, "k": 300}),
    "block_scaled_pair": case(
        block_scaled.block_scaled_pair, {"a": "e4m3", "b": "e4m3", "out": "bf16"},
        {"m": 70, "n": 140, "k": 300, "half": 2},
    ),
    "zero_points": case(own.zero_points, "bf16", ODD),
    "chained": case(own.chained, "bf16", ODD | {"r": 72}),
    "batched": case(own.batched, "bf16", ODD | {"b": 3}),
    "quantised": case(
        own.quantised, {"a": "bf16", "b": "bf16", "out": "e4m3"}, {"m": 70, "n": 100, "k": 77}
    ),
    "two_outputs": case(own.two_outputs, "bf16", {"m": 70, "n": 100, "k": 77}),
    "layer_norm": case(own.layer_norm, "f16", {"m": 19, "n": 200}),
    "row_sum": case(own.row_sum, "bf16", {"m": 75, "n": 300}),
    "transpose": case(own.transpose, "bf16", {"m": 75, "n": 130}),
    "integers": case(
        own.integers, {}, {"m": 9, "n": 100},
        given={"x": np.random.default_rng(0).integers(-(2**31), 2**31, (9, 100))},
    ),
    "rotated": case(own.rotated, "f32", {"m": 30, "n": 300}),
    "attention_80": case(attention.attention, "bf16", HEADS | {"d": 80}, without=["lengths"]),
    "attention_128": case(
        attention.attention, "bf16", HEADS | {"d": 128}, constants={"causal": "end"},
        without=["lengths", "lse"],
    ),
    "attention_256": case(attention.attention, "bf16", HEADS | {"d": 256}, without=["lengths"]),
    "packed": case(attention.packed, "bf16", PACKED, given=BOUNDS, constants={"causal": True}),
    "paged": case(
        attention.paged, "bf16",
        {"b": 2, "h": 2, "g": 1, "s": 10, "p": 6, "u": 16, "d": 64, "j": 4},
        given={"table": [[5, 1, 2, 0], [3, 4, 0, 0]], "lengths": [50, 17]},
    ),
    "blocked": case(attention.blocked, "bf16", BLOCKS, given=LISTS),
    "scan": case(scan.scan, "bf16", SCAN),
    "scan_parts": case(scan.scan_parts, "bf16", SCAN),
    "attention_grad": case(
        attention_grad.attention_grad, "bf16", HEADS, without=["turns"], given={"lengths": [67]}
    ),
    "attention_grad_128": case(
        attention_grad.attention_grad, "bf16", HEADS | {"d": 128}, without=["turns", "lengths"],
        constants={"causal": True},
    ),
    "values_grad": case(attention_grad.values_grad, "bf16", HEADS, without=["lengths"]),
    "packed_grad": case(attention_grad.packed_grad, "bf16", PACKED, given=BOUNDS),
    "packed_values": case(attention_grad.packed_values, "bf16", PACKED, given=BOUNDS),
    "blocked_grad": case(
        attention_grad.blocked_grad, "bf16", BLOCKS | {"s": 290, "t": 150}, given=LISTS
    ),
    "prepared": case(attention_grad_ends.prepared, "bf16", HEADS, without=["turns"]),
    "converted": case(attention_grad_ends.converted, "bf16", HEADS),
    "summed": case(
        attention_grad_ends.summed, "bf16", {"b": 1, "h": 4, "g": 2, "t": 33, "d": 40},
        constants={"each": 2},
    ),
}  # fmt: skip


def tried(row, **more):
    text, types, sizes, constants, without, given_arrays, options = row
    kernel = made_for(text, types, sizes, constants, without)
    arrays = random_arrays(kernel, sizes, given_arrays, scale=0.4)
    scalars = {p.name: 0.5 for p in kernel.parameters}
    return try_kernel(kernel, arrays, scalars, sizes=sizes, **(options | more))


QUICK = {
    "rms_gemm",
    "grouped_gathered",
    "attention",
    "softmax",
    "column_sum",
    "listed",
    "scattered",
}


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_right(name):
    done = tried(CASES[name])
    assert not done.wrong
    assert done.program.resources.vgpr_spills == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_right_too(name):
    done = tried(MORE[name])
    assert not done.wrong
    assert done.program.resources.vgpr_spills == 0


@pytest.mark.slow
@pytest.mark.parametrize("padding", [0, 8])
@pytest.mark.parametrize("order", ["reverse", "random"])
@pytest.mark.parametrize("name", ["gemm", "swiglu", "rms_gemm", "both_ways"])
def test_wide_accesses(name, padding, order):
    """Sizes of whole runs: the same kernels by accesses of 16 bytes, waves in other orders."""
    text, types, _, *rest = CASES[name]
    assert not tried((text, types, EVEN, *rest), padding=padding, order=order).wrong


def test_wide_access_is_taken():
    """Whole runs take fewer instructions than single elements."""
    text, types, *_ = CASES["both_ways"]
    kernel = made_for(text, types, EVEN)
    program = compile_tile_kernel(kernel, extents={"m": 64, "n": 64}, pipelined=False)
    arrays = random_arrays(kernel, EVEN)
    from warploom.codegen.amdgcn.tile_ir.execute import execute

    def steps(padding):
        return execute(program.assembly, program.sidecar(), arrays, padding=padding).instructions

    assert steps(0) < steps(1)


@pytest.mark.parametrize("sizes", [(0, 5, 7), (5, 0, 7), (5, 7, 0), (1, 1, 1), (129, 1, 65)])
def test_least_sizes(sizes, program_of_gemm):
    kernel, program = program_of_gemm
    m, n, k = sizes
    rng = np.random.default_rng(3)
    arrays = {"a": rng.integers(-3, 4, (m, k)), "b": rng.integers(-3, 4, (n, k))}
    done = try_kernel(kernel, arrays, {"alpha": 2.0}, program=program)
    assert not done.wrong
    assert np.array_equal(done.outputs["out"], 2.0 * arrays["a"] @ arrays["b"].T)


@pytest.fixture(scope="module")
def program_of_gemm():
    kernel = gemm.gemm.specialise(
        {"a": "bf16", "b": "bf16", "out": "f32"}, without=["bias", "residual"]
    )
    extents = {"m": 64, "n": 32, "k": 32}
    return kernel, compile_tile_kernel(kernel, extents=extents, pipelined=False)


def test_nan_stays_in_its_row(program_of_gemm):
    kernel, program = program_of_gemm
    arrays = {"a": np.ones((70, 33)), "b": np.ones((20, 33))}
    arrays["a"][5, 3] = np.nan
    out = try_kernel(kernel, arrays, {"alpha": 1.0}, program=program).outputs["out"]
    assert np.isnan(out[5]).all()
    assert (np.delete(out, 5, axis=0) == 33).all()


def test_steps_of_the_authors_extents(program_of_gemm):
    """Tiles that are no multiple of an instruction: what follows belongs to the next tile."""
    kernel, _ = program_of_gemm
    rng = np.random.default_rng(4)
    arrays = {"a": rng.integers(-3, 4, (101, 90)), "b": rng.integers(-3, 4, (60, 90))}
    extents = {"m": 50, "n": 20, "k": 40}
    done = try_kernel(kernel, arrays, {"alpha": 1.0}, extents=extents)
    assert not done.wrong
    assert dict(done.program.plan.extents) == extents


def test_rows_of_nothing():
    """Rows gathered from a tensor without any are 0."""
    kernel = made_for(own.picked_pairs, "f16", {})
    arrays = {"x": np.zeros((0, 8)), "row": np.arange(5), "column": np.arange(9)}
    done = try_kernel(kernel, arrays, extents={"m": 16, "n": 16}, padding=0)
    assert (done.outputs["out"] == 0).all()


@wl.kernel
def narrow_sum(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] += acc


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_sums_of_16_bits_in_memory(kind):
    """Neighbours of an element share its word; the last one of an odd number has none."""
    kernel = narrow_sum.specialise(dict.fromkeys(("a", "b", "out"), kind))
    program = compile_tile_kernel(kernel, extents={"m": 64, "n": 16, "k": 32})
    for m, n, padding in ((20, 7, 3), (3, 8, 0), (1, 7, 0), (1, 1, 0)):
        sizes = {"m": m, "n": n, "k": 40}
        arrays = {x: np.round(4 * v) for x, v in random_arrays(kernel, sizes).items()}
        done = try_kernel(kernel, arrays, sizes=sizes, padding=padding, program=program)
        assert np.array_equal(done.outputs["out"], done.wanted["out"])


def test_extents_that_are_none(program_of_gemm):
    with pytest.raises(ConfigError, match="extent"):
        compile_tile_kernel(program_of_gemm[0], extents={"z": 4})


def test_whole_axis_too_long():
    kernel = made_for(own.quantised, "bf16", {"n": 70000})
    with pytest.raises(BackendError, match="does not fit"):
        compile_tile_kernel(kernel)


@pytest.mark.parametrize(
    "layout",
    [
        (("m", lane_axis(128, 4)), ("n", register_axis(64))),
        tuple(zip("mn", vector_axes(50, 200, 8, 4), strict=True)),
        tuple(zip("mn", vector_axes(3, 5000, 8, 4), strict=True)),
        tuple(zip("mn", vector_axes(64, 1, 8, 4), strict=True)),
        (("n", linear_axis(300, 4)),),
    ],
)
def test_layouts_hold_every_element_once(layout):
    """Every index pair is held by one register of one lane; a vector's copies are equal."""
    found = [
        tuple(m.index(lane, wave, i) for (_, m), i in zip(layout, at, strict=True))
        for wave in range(4)
        for lane in range(64)
        for at in places(layout)
    ]
    assert len(found) == len(set(found))
    full = np.prod([m.extent for _, m in layout])
    assert len(found) == full


def test_fp8_takes_the_wide_matrix_instruction():
    kernel = made_for(block_scaled.block_scaled, CASES["block_scaled"][1], {})
    small = {"m": 64, "n": 16}
    program = compile_tile_kernel(kernel, extents=small, pipelined=False)
    assert "16x16x128_f8f6f4" in program.assembly


@pytest.mark.parametrize("name", ["gemm", pytest.param("attention", marks=pytest.mark.slow)])
def test_mi300x(name):
    """The same lowering for another chip: it is a value."""
    text, types, sizes, constants, without, given_arrays, _ = CASES[name]
    kernel = made_for(text, types, sizes, constants, without)
    extents = {"m": 64, "n": 32} if name == "gemm" else None
    program = compile_tile_kernel(kernel, machine=MI300X, extents=extents)
    assert 'amdgcn_target "amdgcn-amd-amdhsa--gfx942"' in program.assembly
    assert program.resources.lds_bytes <= 65536
    arrays = random_arrays(kernel, sizes, given_arrays, scale=0.4)
    scalars = {p.name: 0.5 for p in kernel.parameters}
    assert not try_kernel(kernel, arrays, scalars, sizes=sizes, program=program).wrong


def test_mi300x_has_no_ocp_floats():
    kernel = made_for(own.add, CASES["add"][1], ODD)
    with pytest.raises(BackendError, match="'out' of e4m3"):
        compile_tile_kernel(kernel, machine=MI300X)


@pytest.mark.parametrize("total", [1, 7, 8, 9, 63, 100])
def test_tiles_of_dies_are_a_permutation(total):
    """What `_near_tiles` computes, on numbers."""
    dies, (share, more) = 8, divmod(total, 8)
    taken = [i % dies * share + min(i % dies, more) + i // dies for i in range(total)]
    assert sorted(taken) == list(range(total))


@pytest.mark.parametrize(
    ("stride", "dilation", "padding"),
    [(2, 1, 1)]
    + [pytest.param(*p, marks=pytest.mark.slow) for p in ((1, 2, 2), (1, 1, 0), (3, 1, 2))],
)
def test_convolution(stride, dilation, padding):
    """Against a convolution written as loops over taps."""
    rng = np.random.default_rng(1)
    x, w = rng.integers(-3, 4, (2, 9, 7, 16)), rng.integers(-2, 3, (20, 3, 3, 16))
    rows, columns = ((n + 2 * padding - 2 * dilation - 1) // stride + 1 for n in (9, 7))
    residual = rng.integers(-9, 9, (2, rows, columns, 20))
    around = np.zeros((2, 9 + 2 * padding, 7 + 2 * padding, 16))
    around[:, padding : padding + 9, padding : padding + 7] = x
    want = residual.astype(np.float64)
    for r in range(3):
        for s in range(3):
            ends = (n * stride for n in (rows, columns))
            down, right = (
                slice(o * dilation, o * dilation + e, stride)
                for o, e in zip((r, s), ends, strict=True)
            )
            want += around[:, down, right] @ w[:, r, s].T
    numbers = {
        "height": 9, "width": 7, "rows": rows, "columns": columns, "across": 3, "stride": stride,
        "dilation": dilation, "padding": padding,
    }  # fmt: skip
    types = {"x": "f16", "w": "f16", "out": "f32", "residual": "f32"}
    kernel = made_for(conv2d.conv2d, types, {"c": 16})
    arrays = {
        "x": x.reshape(-1, 16),
        "w": w.reshape(20, 9, 16),
        "residual": residual.reshape(-1, 20),
    }
    done = try_kernel(kernel, arrays, numbers, extents={"q": 64, "o": 32})
    assert np.array_equal(done.outputs["out"].reshape(want.shape), want)


@pytest.mark.slow
def test_split_k_is_the_same_every_time():
    """Parts of K added in order: the same bits in every order of waves."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(70, 200)), rng.normal(size=(45, 200))
    first = made_for(split_k.split_product, "bf16", {})
    second = made_for(split_k.summed_parts, "bf16", {})
    programs = (
        compile_tile_kernel(first, pipelined=False),
        compile_tile_kernel(second, pipelined=False),
    )
    made = []
    for order in ("forward", "random"):
        parts = try_kernel(
            first, {"a": a, "b": b}, {"share": 72}, sizes={"p": 3}, program=programs[0], order=order
        )
        assert not parts.wrong
        done = try_kernel(
            second, {"parts": parts.outputs["parts"]}, program=programs[1], order=order
        )
        assert not done.wrong
        made.append(done.outputs["out"])
    assert np.array_equal(*made)


@pytest.mark.slow
def test_interpreted():
    """``interpret`` of a kernel without a pipelined schedule executes its machine code."""
    rng = np.random.default_rng(0)
    x, gate, up = (rng.normal(size=s).astype(np.float32) for s in ((9, 40), (5, 40), (5, 40)))
    for timing in ("in_order", "adversarial"):
        got = swiglu.swiglu.interpret(
            x, gate, up, types="f16", target="mi355x", timing=timing, config={"m": 64, "n": 32}
        )
        want = swiglu.swiglu.reference(x, gate, up, types="f16", exact=False)
        assert np.abs(got - want).max() < 0.02
    out = own.summed_into.interpret(
        x, gate, types="bf16", target="mi355x", initial={"out": np.ones((9, 5))}
    )
    want = own.summed_into.reference(
        x, gate, types="bf16", exact=False, initial={"out": np.ones((9, 5))}
    )
    assert np.abs(out - want).max() < 1e-4
    assert (
        np.isnan(
            own.listed.interpret(
                x, gate, np.zeros((1, 1), int), np.zeros(1, int), types="bf16", target="mi355x"
            )
        ).sum()
        == 0
    )


def test_listing_says_what_it_is(program_of_gemm):
    assert "loaded ahead into registers" in program_of_gemm[1].listing()
    plain = compile_tile_kernel(made_for(own.add, "f32", ODD))
    assert plain.sidecar()["schedule"] == "single buffer, not pipelined"


def test_loads_of_the_next_step_stand_before_the_products(program_of_gemm):
    """In the loop: operands to LDS, a barrier, loads of the next step, then the products."""
    kernel, _ = program_of_gemm
    plain = lower_kernel(TilePlan(kernel=simplify(kernel), extents={"m": 64, "n": 64, "k": 32}))
    ahead = lower_kernel(plain.plan, prefetch=True)
    assert (plain.program.prefetched, ahead.program.prefetched) == (0, 2)
    body = print_waves(ahead.program).ir.partition("body")[2]
    stored = body.index("store <8 x i16>")
    loaded = body.index("load <8 x i16>, ptr addrspace(1)")
    assert stored < loaded < body.index("@llvm.amdgcn.mfma")
    plain_body = print_waves(plain.program).ir.partition("body")[2]
    assert plain_body.index("load <8 x i16>, ptr addrspace(1)") < plain_body.index("store <8")


@pytest.mark.slow
@seed(20)
@settings(
    max_examples=40, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(random_kernels())
def test_random_kernels(row):
    kernel = row.kernel
    names = [t.name for t in kernel.tensors if t.access is not Access.OUT]
    arrays = dict(zip(names, row.arrays(), strict=True))
    assert not try_kernel(kernel, arrays, row.scalars, sizes=row.sizes).wrong
