"""Functions of elements in the code of a target: as declared in NumPy, on both targets."""

import math
import pickle

import numpy as np
import pytest

import tests.host_cuda as hc
import warploom as wl
from tests.frontend.memory_bound import executed


@wl.inline(ptx="ex2.approx.ftz.f32 {out}, {x};", amdgcn="v_exp_f32 {out}, {x}")
def power(x: wl.f32) -> wl.f32:
    return np.exp2(x)


@wl.inline(
    ptx="{{.reg .b32 t; and.b32 t, {x}, {mask}; popc.b32 {out}, t;}}",
    amdgcn="v_and_b32 {out}, {x}, {mask}\nv_bcnt_u32_b32 {out}, {out}, 0",
)
def bits_of(x: wl.i32, mask: wl.i32) -> wl.i32:
    return np.vectorize(lambda v: bin(int(v) & 0xFFFFFFFF).count("1"))(
        np.bitwise_and(x, mask).astype(np.int64)
    )


@wl.inline(c="fmaf({x}, {y}, 1.0f)")
def fused(x: wl.f32, y: wl.f32) -> wl.f32:
    return x * y + 1


@wl.kernel
def powers(x: wl.In["m", "n"], out: wl.Out["m", "n"], total: wl.Out["m", wl.f32]):
    m = wl.tile(out, whole="n")
    p = power(x[m] * 0.5)
    out[m] = p
    total[m] = power(x[m, 0].to(wl.f32)) + p.sum(axis=1)


@wl.kernel
def counted(x: wl.In["n", wl.i32], out: wl.Out["n", wl.i32]):
    n = wl.tile(out)
    out[n] = bits_of(x[n], 0xFFF) * 100 + bits_of(x[n] * 3, -1)


@pytest.mark.parametrize("target", [None, "h200", "mi355x"])
@pytest.mark.parametrize("shape", [(3, 40), (1, 1), (5, 333)])
def test_floats(target, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    how = powers.reference if target is None else powers.interpret
    out, total = how(x, **({} if target is None else {"target": target}))
    np.testing.assert_allclose(out, np.exp2(x * 0.5), rtol=1e-5)
    np.testing.assert_allclose(total, np.exp2(x[:, 0]) + np.exp2(x * 0.5).sum(1), rtol=1e-4)


@pytest.mark.parametrize("target", [None, "h200", "mi355x"])
def test_whole_numbers_and_several_instructions(target):
    x = np.random.default_rng(1).integers(-(2**31), 2**31, 300)
    found = counted.reference(x) if target is None else counted.interpret(x, target=target)
    wrapped = (x * 3 + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(found, bits_of(x, 0xFFF) * 100 + bits_of(wrapped, -1))


@wl.kernel
def in_c(x: wl.In["n"], out: wl.Out["n"]):
    n = wl.tile(out)
    out[n] = fused(x[n], 2.0)


@hc.NEEDS_COMPILER
def test_c_runs_on_the_host():
    x = np.arange(-5, 6)
    got = executed(in_c, "f32", {"n": len(x)}, {"x": x})
    np.testing.assert_array_equal(got, x * 2 + 1)


@wl.kernel
def beside_a_product(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = power(acc)


@pytest.mark.parametrize(
    "target",
    ["h200", pytest.param("mi355x", marks=pytest.mark.slow)],  # its loop is scheduled
)
def test_beside_a_product(target):
    rng = np.random.default_rng(2)
    a, b = rng.integers(-2, 3, (37, 72)) / 8, rng.integers(-2, 3, (40, 72)) / 8
    found = beside_a_product.interpret(a, b, types="bf16", target=target)
    np.testing.assert_allclose(found, np.exp2(a @ b.T), rtol=2e-2)


def test_the_listing_names_it_and_equal_calls_are_one():
    @wl.kernel
    def twice(x: wl.In["n"], out: wl.Out["n"]):
        n = wl.tile(out)
        out[n] = power(x[n]) + power(x[n])

    from warploom.frontend.simplify import simplify

    text = str(simplify(twice.specialise({"x": "f32", "out": "f32"})))
    assert text.count("power(") == 3  # two in the author's line
    assert pickle.loads(pickle.dumps(power)) is power
    assert math.isclose(float(power(3.0)), 8.0)


def test_no_code_for_a_target():
    with pytest.raises(wl.WarploomError, match="'fused' without code for it") as found:
        in_c.interpret(np.ones(3), target="mi355x")
    assert "test_inline.py" in str(found.value)


def refusal(kind, match, text):
    with pytest.raises(kind, match=match) as found:
        text()
    assert found.value.fix
    assert found.value.where


def test_refusals():
    def no_types():
        @wl.inline(ptx="mov.f32 {out}, {x};")
        def plain(x):
            return x

    def no_code():
        @wl.inline()
        def plain(x: wl.f32) -> wl.f32:
            return x

    def other_name():
        @wl.inline(ptx="mov.f32 {out}, {y};")
        def plain(x: wl.f32) -> wl.f32:
            return x

    def no_result():
        @wl.inline(ptx="mov.f32 {x}, {x};")
        def plain(x: wl.f32) -> wl.f32:
            return x

    refusal(wl.KernelTypeError, "signature of inline function 'plain'", no_types)
    refusal(wl.KernelSyntaxError, "has no code", no_code)
    refusal(wl.KernelSyntaxError, "no 'y'", other_name)
    refusal(wl.KernelSyntaxError, "gives no", no_result)

    @wl.kernel
    def wrong_type(x: wl.In["n", wl.i32], out: wl.Out["n", wl.f32]):
        n = wl.tile(out)
        out[n] = power(x[n])

    @wl.kernel
    def wrong_count(x: wl.In["n", wl.f32], out: wl.Out["n", wl.f32]):
        n = wl.tile(out)
        out[n] = power(x[n], 1.0)

    @wl.kernel
    def derived(x: wl.In["n", wl.f32], out: wl.Out["n", wl.f32]):
        n = wl.tile(out)
        v = x[n]
        out[n] = wl.grad(power(v), v)

    refusal(
        wl.KernelTypeError, "'x' of 'power' is f32, given is i32", lambda: wrong_type.specialise({})
    )
    refusal(
        wl.KernelTypeError, "takes 1 arguments, 2 are given", lambda: wrong_count.specialise({})
    )
    with pytest.raises(wl.KernelTypeError, match=r"wl\.grad through 'inline'"):
        derived.specialise({})


@wl.kernel
def without(x: wl.In["n"], out: wl.Out["n"]):
    n = wl.tile(out)
    out[n] = wl.exp2(x[n])


@pytest.mark.parametrize(
    ("kernel", "types", "written"),
    [
        (counted, "f32", True),
        pytest.param(beside_a_product, "bf16", True, marks=pytest.mark.slow),
        (without, "f32", False),
    ],
)
def test_who_writes_instructions_says_that_an_assembler_is_needed(kernel, types, written):
    """LLVM's own objects hold none; empty ones, which only pin a value, need no assembler."""
    lowered = kernel.compile(types, target="mi355x").program.code
    stands = [x for x in lowered.ir.splitlines() if ' asm "' in x and ' asm ""' not in x]
    assert lowered.written_out is bool(stands)
    assert lowered.written_out is written
