"""Problems made from a kernel's signature: sizes, inputs, and the part that is checked."""

import numpy as np
import pytest

import warploom as wl
from warploom.cli import problem as problems
from warploom.cli.kernels import NamedKernel, kernel_named, kernel_names
from warploom.cli.problem import axes_of, distance, make_problem
from warploom.errors import ConfigError
from warploom.frontend.pointwise import rounded


@wl.kernel
def shifted(
    x: wl.In["m", "k"],  # noqa: F821
    w: wl.In["n", "k"],  # noqa: F821
    out: wl.Out["m", "n"],  # noqa: F821
    *,
    by: float,
    flip,
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    acc = acc + wl.index(m) * by
    out[m, n] = -acc if flip else acc


def arrays_of(problem, seed=0):
    rng = np.random.default_rng(seed)
    return {
        t.name: rounded(rng.normal(size=problem.shape(t.name)), problem.types[t.name])
        if problem.types[t.name].is_float
        else problem.whole_number_input(t.name)
        for t in problem.kernel.tile_kernel.signature.inputs
        if t.name in problem.types
    }


def small(name):
    """Sizes of a few tens, whatever the kernel's axes are called."""
    kernel = kernel_named(name)
    sizes = {"b": 3, "h": 2, "g": 2, "i": 2, "e": 2, "d": 64}
    sizes |= {"c": 5} if name == "scan" else {}
    usual = 256 if "scaled" in name else 96
    shape = ",".join(f"{a}={sizes.get(a, usual)}" for a in axes_of(kernel))
    return make_problem(kernel, shape, [], timed=False)


# Groups share rows out, and heads are counted, or blocks have scales: nothing can be cut.
WHOLE = ("packed", "packed_grad", "packed_values", "grouped_scaled")


@pytest.mark.parametrize("name", kernel_names())
def test_a_part_of_the_result_is_the_result_of_the_part(name, monkeypatch):
    monkeypatch.setattr(problems, "WHOLE_WORK", 0)
    problem = small(name)
    part = problem.part(np.random.default_rng(3))
    if not part:
        assert name in WHOLE
        return
    arrays = arrays_of(problem)
    whole = problem.meaning(arrays)
    cut = problem.meaning({n: problem.cut(n, x, part) for n, x in arrays.items()})
    outputs = [
        t.name for t in problem.kernel.tile_kernel.signature.outputs if t.name in problem.types
    ]
    for output, mine, right in zip(outputs, cut, whole, strict=True):
        wanted = problem.cut(output, right, part)
        assert mine.shape == wanted.shape != right.shape
        assert distance(mine, wanted) < 1e-12


def test_positions_are_kept_where_the_text_asks_for_them(monkeypatch):
    monkeypatch.setattr(problems, "WHOLE_WORK", 0)
    kernel = NamedKernel(shifted)
    problem = make_problem(kernel, "200x200x64", ["by=0.5", "flip=True"], timed=False)
    part = problem.part(np.random.default_rng(0))
    assert list(part["m"]) == list(range(64))
    assert list(part["n"]) != list(range(64))
    arrays = arrays_of(problem)
    (whole,) = problem.meaning(arrays)
    (cut,) = problem.meaning({n: problem.cut(n, x, part) for n, x in arrays.items()})
    assert distance(cut, problem.cut("out", whole, part)) < 1e-12
    assert whole[10].mean() < whole[0].mean()  # the settings arrived


def test_offsets_and_ends_lie_inside_their_axes():
    packed = small("packed")
    for name in ("q_starts", "k_starts"):
        starts = arrays_of(packed)[name]
        assert starts[0] == 0
        assert starts[-1] == 96
        assert (np.diff(starts) >= 0).all()
        assert len(starts) == packed.sizes["i"] + 1


def test_work_counts_every_product_once():
    gemm = make_problem(kernel_named("gemm"), "64x32x16", [], timed=False)
    assert gemm.flop == 2 * 64 * 32 * 16
    attention = make_problem(kernel_named("attention"), "2x3x64x128", [], timed=False)
    assert attention.flop == 4 * 2 * 3 * 64 * 64 * 128
    grouped = make_problem(kernel_named("grouped"), "t=64,n=32,k=16,e=4", [], timed=False)
    assert grouped.flop == 2 * 64 * 32 * 16


@pytest.mark.parametrize(
    ("shape", "settings", "said"),
    [
        ("64x64x64x64", ["flip=1"], "sizes of m, n, k"),
        ("q=64", ["flip=1"], "sizes of m, n, k"),
        ("m=0", ["flip=1"], "sizes of m, n, k"),
        (None, ["flip=1", "nothing=2"], "one of by, flip"),
        (None, ["by=0.5"], "--set flip=..."),
        (None, ["flip=1", "by=x"], "--set by=..."),
    ],
)
def test_what_is_no_size_or_setting_is_reported(shape, settings, said):
    with pytest.raises(ConfigError, match=said):
        make_problem(NamedKernel(shifted), shape, settings, timed=False)


def test_a_distance_sees_what_is_not_finite():
    right = np.array([1.0, -np.inf, np.nan])
    assert distance(right.copy(), right) == 0
    assert distance(np.array([1.0, -np.inf, 2.0]), right) == np.inf
    assert distance(np.array([np.nan, -np.inf, np.nan]), right) == np.inf
    assert distance(np.array([1.5, -np.inf, np.nan]), right) == 0.5


@pytest.mark.parametrize("name", ["attention_grad", "packed_grad"])
def test_sums_that_have_no_place_together_are_not_asked_for_together(name):
    """At head dimension 256 a kernel of its own makes the gradient of values, as calls have it."""
    kernel = kernel_named(f"{name}@d=256")
    assert "dv" not in kernel.types
    assert "dv" in kernel_named(name).types
    assert kernel.lowered.result.ii


def test_sums_that_are_rounded_after_every_addition_may_err_more():
    few, many = (
        make_problem(kernel_named("grouped_scattered"), f"t={t},s=1,e=2,n=16,k=16", [], timed=False)
        for t in (16, 64)
    )
    assert (few.additions("out"), many.additions("out")) == (16, 64)
    assert many.limit("out") == pytest.approx(1e-2 + 2**-8 * 8 / 2)
    assert few.limit("out") < many.limit("out")
    plain = make_problem(kernel_named("grouped"), "t=64,e=2,n=16,k=16", [], timed=False)
    assert plain.limit("out") == 1e-2
