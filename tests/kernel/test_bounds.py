"""Bounds of conditions over indices, against all elements of random tiles."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warploom as wl
from tests.kernel.random_kernels import random_kernels
from tests.kernel.sources import run_source
from warploom.kernel.bounds import (
    Certainty,
    Place,
    Spelling,
    condition_in_c,
    decide,
    holds_at,
    may,
    must,
    reach,
    term_at,
    term_in_c,
)
from warploom.kernel.idle import idle_conditions
from warploom.kernel.pointwise import FUNCTIONS
from warploom.kernel.simplify import simplify
from warploom.kernel.values import Const, DType, Fn, Pointwise, Scalar, Size, Value, walk
from warploom.kernels.attention import attention
from warploom.kernels.attention_grad import attention_grad

SIZE = 14
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

numbers = st.integers(-9, 20)
atoms = st.sampled_from(["i", "j", "c", "i", "j", "x.m", "(x.m // 3)"])


def sums(inner):
    return st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} - {})".format, inner, inner),
        st.builds("({} * {})".format, inner, st.integers(-3, 3)),
        st.builds("({} // {})".format, inner, st.integers(1, 5)),
        st.builds("({} % {})".format, inner, st.integers(1, 5)),
        st.builds("wl.minimum({}, {})".format, inner, inner),
        st.builds("wl.maximum({}, {})".format, inner, inner),
        st.builds("wl.abs({})".format, inner),
        st.builds("({} + {})".format, inner, numbers),
    )


terms = st.recursive(atoms, sums, max_leaves=4)
compared = st.builds(
    "({} {} {})".format, terms, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), terms
)
windows = st.builds("(0 <= i - j + {} < {})".format, numbers, st.integers(1, 9))
conditions = st.recursive(
    st.one_of(compared, windows, st.sampled_from(["(i >= j)", "(j <= i + c)"])),
    lambda inner: st.one_of(
        st.builds("({} & {})".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
        st.builds("(~{})".format, inner),
    ),
    max_leaves=3,
)


def made(condition):
    """A kernel that stores where a condition is true, and the name of the condition."""
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, c: int):\n'
        "    m, n = wl.tile(out)\n"
        "    i, j = wl.index(m), wl.index(n)\n"
        f"    out[m, n] = wl.where({condition}, 1.0, 0.0)\n"
    )
    kernel = run_source(text, wl=wl)["kernel"].specialise({"x": "f32", "out": "f32"})
    wheres = [o for o in kernel.ops if isinstance(o, Pointwise) and o.fn is Fn.WHERE]
    return kernel, wheres[-1].args[0]


def scalars(kernel, c):
    """The scalar values of a kernel: sizes, parameters, and what is made of them."""
    found = {}
    for op in walk(kernel.ops):
        name = getattr(op, "result", None) and op.result.name
        if isinstance(op, Const):
            found[name] = op.value
        elif isinstance(op, Scalar):
            found[name] = c
        elif isinstance(op, Size):
            found[name] = SIZE
        elif isinstance(op, Pointwise) and not op.result.dims and all(a in found for a in op.args):
            found[name] = FUNCTIONS[op.fn](*(np.asarray(found[a]) for a in op.args)).item()
    return found


spans = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)).map(
    lambda p: (min(p), max(p))
)


@SETTINGS
@given(conditions, numbers, spans, spans)
def test_bounds_hold_for_all_elements(condition, c, rows, columns):
    kernel, name = made(condition)
    truth = kernel.reference(np.zeros((SIZE, SIZE)), c=c) > 0
    part = truth[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1]
    place = Place(spans={"m": rows, "n": columns}, scalars=scalars(kernel, c))
    if part.any():
        assert holds_at(may(kernel, name), place)
    if holds_at(must(kernel, name), place):
        assert part.all()
    for var, axis in (("m", 0), ("n", 1)):
        other = truth[:, columns[0] : columns[1] + 1] if axis == 0 else truth[rows[0] : rows[1] + 1]
        some, every = other.any(1 - axis), other.all(1 - axis)
        wide, sure = reach(kernel, name, var), reach(kernel, name, var, certain=True)
        for at in range(SIZE):
            inside = _within(wide, at, place)
            assert inside or not some[at], f"{var}={at} is outside {wide}"
            if _within(sure, at, place):
                assert every[at], f"{var}={at} is inside {sure}"


def _within(stretch, at, place):
    below = stretch.first is not None and at < term_at(stretch.first, place)
    above = stretch.last is not None and at > term_at(stretch.last, place)
    return not below and not above


AFFINE = ["(i >= j)", "(j <= i + c)", "(0 <= i - j < 4)", "(2 * i + 3 <= j)", "((i > 3) | (j > 5))"]


@pytest.mark.parametrize("condition", AFFINE)
@pytest.mark.parametrize("c", [-3, 0, 5])
def test_bounds_of_sums_are_tight(condition, c):
    """One comparison of a sum is decided exactly; and, or are exact when their parts say so."""
    kernel, name = made(condition)
    truth = kernel.reference(np.zeros((SIZE, SIZE)), c=c) > 0
    for first in range(SIZE):
        for last in range(first, SIZE):
            for n in range(SIZE):
                part = truth[first : last + 1, n]
                place = Place(spans={"m": (first, last), "n": (n, n)}, scalars=scalars(kernel, c))
                got = decide(kernel, name, place)
                if part.all():
                    wanted = Certainty.ALWAYS
                else:
                    wanted = Certainty.MIXED if part.any() else Certainty.NEVER
                if "&" not in condition and "-" not in condition and "|" not in condition:
                    assert got is wanted
                else:
                    assert got in (wanted, Certainty.MIXED)


@settings(parent=SETTINGS, max_examples=6)
@given(st.lists(st.tuples(conditions, numbers, spans, spans), min_size=15, max_size=15))
def test_c_means_the_same(tmp_path_factory, cases):
    """Conditions and terms printed as C give what they give here."""
    lines, wanted = [], []
    spell = Spelling(low=lambda v: f"{v}_low", high=lambda v: f"{v}_high", named=lambda v: f"s_{v}")
    for condition, c, rows, columns in cases:
        kernel, name = made(condition)
        place = Place(spans={"m": rows, "n": columns}, scalars=scalars(kernel, c))
        given_names = "".join(
            f"int s_{n} = {int(v)};" for n, v in place.scalars.items() if isinstance(v, int)
        )
        parts = [condition_in_c(f(kernel, name), spell) for f in (may, must)]
        wanted += [int(holds_at(f(kernel, name), place)) for f in (may, must)]
        for end in (reach(kernel, name, "n").first, reach(kernel, name, "n").last):
            if end is not None:
                parts.append(term_in_c(end, spell))
                wanted.append(term_at(end, place))
        prints = "".join(f'printf("%d\\n", (int)({p}));' for p in parts)
        lines.append(
            f"{{ int m_low={rows[0]}, m_high={rows[1]}, n_low={columns[0]}, n_high={columns[1]};"
            f"(void)m_low;(void)m_high;(void)n_low;(void)n_high; {given_names} {prints} }}"
        )
    folder = tmp_path_factory.mktemp("c")
    text = (
        "#include <stdio.h>\n#include <stdbool.h>\n"
        "static int min(int a, int b) { return a < b ? a : b; }\n"
        "static int max(int a, int b) { return a > b ? a : b; }\n"
        "int main(void) { (void)min; (void)max;\n" + "\n".join(lines) + "\nreturn 0; }\n"
    )
    (folder / "t.c").write_text(text)
    subprocess.run(["gcc", "-w", "-o", folder / "t", folder / "t.c"], check=True)
    got = subprocess.run([folder / "t"], capture_output=True, text=True, check=True).stdout.split()
    assert [int(g) for g in got] == wanted


def attention_of(**constants):
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    return attention.specialise(types, sizes={"d": 64}, without={"lengths"}, constants=constants)


@pytest.mark.parametrize("rewritten", [False, True])
def test_invisible_steps_of_attention_are_idle(rewritten):
    window = {"visible": lambda b, h, i, j: i - j < 128}
    kernel = attention_of(causal=True, **window)
    kernel = simplify(kernel) if rewritten else kernel
    (loop,) = kernel.loops
    masks = idle_conditions(kernel, loop)
    assert len(masks) == 2
    place = Place(spans={"s": (256, 383)}, scalars={})
    stretches = [reach(kernel, m, "t") for m in masks]
    ends = [term_at(x.last, place) for x in stretches if x.last is not None]
    firsts = [term_at(x.first, place) for x in stretches if x.first is not None]
    assert ends == [383]
    assert firsts == [256 - 127]
    sure = [reach(kernel, m, "t", certain=True) for m in masks]
    assert [term_at(x.last, place) for x in sure if x.last is not None] == [256]


def test_causal_steps_of_the_backward_pass_are_idle():
    types = dict.fromkeys(("q", "k", "v", "do", "dk", "dv"), "bf16")
    kernel = simplify(attention_grad.specialise(types, sizes={"d": 64}, constants={"causal": True}))
    (loop,) = kernel.loops
    (mask,) = idle_conditions(kernel, loop)
    stretch = reach(kernel, mask, "s")
    assert stretch.last is None
    assert term_at(stretch.first, Place(spans={"t": (128, 255)}, scalars={})) == 128


def test_a_sum_of_ones_is_no_one():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "k"], out: wl.Out["m"]):\n'
        "    m = wl.tile(out)\n"
        "    s = wl.full(m, 1.0)\n"
        "    for k in wl.steps(x.k, 8):\n"
        "        s *= wl.where(wl.index(k) <= wl.index(m), x[m, k], 1.0).FN(axis=1)\n"
        "    out[m] = s\n"
    )
    for fn, idle in (("max", 1), ("sum", 0)):
        made = run_source(text.replace("FN", fn), wl=wl)["kernel"]
        kernel = made.specialise({"x": "f32", "out": "f32"})
        assert len(idle_conditions(kernel, kernel.loops[0])) == idle


def test_steps_that_count_are_not_idle():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "k"], out: wl.Out["m"]):\n'
        "    m = wl.tile(out)\n"
        "    s, n = wl.zeros(m), 0\n"
        "    for k in wl.steps(x.k):\n"
        "        s += wl.where(wl.index(k) <= wl.index(m), x[m, k], 0.0).sum(axis=1)\n"
        "        n += 1\n"
        "    out[m] = s NEXT\n"
    )
    for end, idle in (("* 1.0", 1), ("* n", 0)):
        source = text.replace("NEXT", end)
        kernel = run_source(source, wl=wl)["kernel"].specialise({"x": "f32", "out": "f32"})
        kernel = simplify(kernel)
        assert len(idle_conditions(kernel, kernel.loops[0])) == idle


@settings(parent=SETTINGS, max_examples=60)
@given(random_kernels(forms=("softmax",), largest=40), st.integers(0, 39), st.integers(0, 39))
def test_steps_out_of_reach_change_nothing(case, one, two):
    """Rows of a tile are the same when only the steps in reach of its masks are made."""
    kernel = simplify(case.kernel)
    (loop,) = kernel.loops
    last = case.sizes["m"] - 1
    first, last = sorted((min(one, last), min(two, last)))
    place = Place(spans={"m": (first, last)}, scalars={})
    begin, end = 0, case.sizes["k"]
    for mask in idle_conditions(kernel, loop):
        stretch = reach(kernel, mask, "k")
        begin = max(begin, term_at(stretch.first, place)) if stretch.first else begin
        end = min(end, term_at(stretch.last, place) + 1) if stretch.last else end
    ends = [
        Const(result=Value(name=n, dims=(), dtype=DType.I32), value=v)
        for n, v in (("begin", begin), ("end", end))
    ]
    ops = [replace(o, start="begin", until="end") if o is loop else o for o in kernel.ops]
    short = replace(kernel, ops=(*ends, *ops))
    for whole, part in zip(case.reference(), case.reference(short), strict=True):
        rows = slice(first, last + 1)
        np.testing.assert_allclose(part[rows], whole[rows], rtol=1e-9, atol=1e-9)
