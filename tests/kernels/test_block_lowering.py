"""What is not pipelined runs as one program of all threads: executed against NumPy among NaN."""

import numpy as np
import pytest

import tests.host_cuda as hc
import warploom as wl
from tests.kernels.block_kernels import CASES, attention_case, grad_case, sought
from tests.kernels.written import NAN
from warploom.errors import KernelError, KernelShapeError, KernelSyntaxError

pytestmark = hc.NEEDS_COMPILER


@pytest.fixture(autouse=True)
def _nan_around(monkeypatch):
    monkeypatch.setattr(hc, "POISON", NAN)


@pytest.mark.parametrize("name", CASES)
def test_on_the_host(name):
    CASES[name].require(CASES[name].on_host())


@pytest.mark.parametrize("d", [8, 40, 72, 192, 512])
def test_heads_of_any_width(d):
    case = attention_case(d)
    case.require(case.on_host())


@pytest.mark.parametrize("d", [40, 192])
def test_heads_of_any_width_backwards(d):
    case = grad_case(d)
    case.require(case.on_host())


@pytest.mark.slow
@pytest.mark.parametrize("d", [72, 80, 96, 160, 256])
def test_more_heads_backwards(d):
    case = grad_case(d)
    case.require(case.on_host())


@pytest.mark.slow
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_other_tiles_and_warpgroups(name, nth):
    CASES[name].require(CASES[name].on_host(nth=nth, sizes={}))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["h200", "mi355x"])
@pytest.mark.parametrize("name", CASES)
def test_interpreted(name, target):
    CASES[name].require(CASES[name].interpreted(target))


def test_a_loop_without_products_ends_early():
    x = np.random.default_rng(0).normal(size=(7, 200)).astype(np.float32)
    x[3] = -1
    kernel = sought.specialise({"x": "f32", "found": "i32"})
    wanted = kernel.reference(x, limit=2.2)
    assert 0 < wanted.max() < 150  # found before the end
    assert (sought.interpret(x, types={"x": "f32"}, limit=2.2) == wanted).all()


@wl.kernel
def beside(x: wl.In["m", "n"], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    total = wl.zeros(m)
    for n in wl.steps(x.n):
        total += x[m, n].sum(axis=1)
        if total.max() > 1.0:
            total = total * 2.0
            break
    out[m] = total


@wl.kernel
def by_rows(x: wl.In["m", "n"], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    total = wl.zeros(m)
    for n in wl.steps(x.n):
        total += x[m, n].sum(axis=1)
        if total > 1.0:
            break
    out[m] = total


@wl.kernel
def no_loop(x: wl.In["m", "n"], out: wl.Out["m", wl.f32]):
    m = wl.tile(out)
    total = x[m, 0] * 2.0
    for _ in range(2):
        if total.max() > 1.0:
            break
    out[m] = total


@pytest.mark.parametrize(
    ("text", "said"),
    [(beside, "beside other"), (by_rows, "more than one condition"), (no_loop, "no loop of steps")],
)
def test_what_a_break_cannot_be(text, said):
    with pytest.raises(KernelSyntaxError, match=said) as caught:
        text.specialise({"x": "f32", "out": "f32"})
    assert "break" in str(caught.value)


def test_i4_tensors_are_refused_with_what_works():
    @wl.kernel
    def i4(x: wl.In["m", "k"], w: wl.In["n", "k", wl.i4], out: wl.Out["m", "n"]):
        m, n = wl.tile(out)
        acc = wl.zeros(m, n)
        for k in wl.steps(x.k):
            acc += x[m, k] @ w[n, k].to(x.dtype).T
        out[m, n] = acc

    x = np.ones((4, 8), np.float32)
    with pytest.raises(KernelError, match="two elements of i4 as one of i8"):
        i4.interpret(x, x.astype(np.int32), types={"x": "bf16", "w": "i4"})


def test_rows_of_groups_are_no_blocks():
    """Groups begin anywhere: tiles of 64 rows are not blocks of 64."""

    @wl.kernel
    def grouped(
        x: wl.In["t", "k"],
        w: wl.In["e", "n", "k"],
        starts: wl.Starts["e"],
        out: wl.Out["t", "n"],
        most: wl.Out["t/64", "n", wl.f32],
    ):
        e, t, n = wl.tile(out, groups=starts, rows=64)
        acc = wl.zeros(t, n)
        for k in wl.steps(x.k):
            acc += x[t, k] @ w[e, n, k].T
        out[t, n] = acc
        most[t, n] = acc.max(axis=0)

    types = dict.fromkeys(("x", "w", "out"), "bf16") | {"most": "f32"}
    with pytest.raises(KernelShapeError, match="stored by tiles"):
        grouped.specialise(types)
