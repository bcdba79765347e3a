"""What an author does beside calling a kernel: names mistyped, notebooks, pickles, targets."""

import pickle

import numpy as np
import pytest

import warploom as wl
from warploom.errors import BackendError, ConfigError, KernelCallError


@wl.kernel
def product(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"], *, act=None):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = acc if act is None else act(acc)


@wl.kernel
def doubled(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * 2.0


@wl.autotune(configs=[{"m": 64, "n": 64}, {"m": 128, "n": 64}])
@wl.kernel
def tuned(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * 2.0


BF16 = dict.fromkeys(("x", "w", "out"), "bf16")
MISTYPED = [
    (lambda: product.compile({"aa": "bf16"}), "did you mean 'a'"),
    (lambda: product.compile("bf16", without=["ot"]), "did you mean 'out'"),
    (lambda: product.compile("bf16", constants={"at": 1}), "did you mean 'act'"),
    (lambda: product.compile("bf16", target="mi355"), "did you mean 'mi355x'"),
    (lambda: product.with_config(stage=3), "did you mean 'stages'"),
    (lambda: product.with_config(kk=64), "did you mean 'k'"),
]


@pytest.mark.parametrize("made", [m for m, _ in MISTYPED], ids=[s for _, s in MISTYPED])
def test_the_nearest_name_is_told(made):
    hint = next(s for m, s in MISTYPED if m is made)
    with pytest.raises((ConfigError, KernelCallError)) as caught:
        made()
    assert hint in str(caught.value)


def test_pins_of_a_second_walk_are_no_mistake():
    assert product.with_config(k_1=64).pins == {"k_1": 64}


@pytest.mark.parametrize("target", ["h200", "mi355x"])
@pytest.mark.parametrize("kernel", [product, doubled])
def test_compiled_kernels_pickle_and_show_themselves(kernel, target):
    sizes = dict.fromkeys(kernel.axes, 256)
    made = kernel.compile("bf16", sizes=sizes, target=target)
    assert "not built yet" in repr(made)
    assert kernel.name in made._repr_html_()
    again = pickle.loads(pickle.dumps(made))
    assert again.kernel == made.kernel
    if kernel is product and target == "h200":
        assert again.pins == made.pins
    if target == "mi355x" and kernel is doubled:
        assert made.assembly
        assert "VGPRs" in repr(made)
        assert 1 <= made.occupancy <= 8
        assert "assembly" in made._repr_html_()


def test_code_of_the_other_vendor_is_a_typed_error():
    made = doubled.compile("bf16", target="mi355x")
    for name in ("ptx", "sass", "cuda"):
        with pytest.raises(BackendError, match="no "):
            getattr(made, name)


def test_a_notebook_shows_the_source():
    assert "wl.tile(out)" in product._repr_html_()


def test_autotune_takes_configs_by_name_and_pickles():
    assert len(tuned.configs) == 2
    assert pickle.loads(pickle.dumps(tuned)) is tuned
    own = wl.autotune(doubled, configs=[{"m": 64}])
    assert pickle.loads(pickle.dumps(own)).configs == own.configs
    for wrong in ("bf16", {"m": 64}, [64], []):
        with pytest.raises(ConfigError, match="without configurations"):
            wl.autotune(doubled, wrong)


def test_a_mistyped_knob_is_not_passed_over_by_autotune():
    own = wl.autotune(doubled, [{"m": 64}, {"stage": 3}], measure=lambda calls: [0.0] * len(calls))
    with pytest.raises(ConfigError, match="'stage' cannot be pinned"):
        own._quickest((), {"x": np.zeros(3)})


@wl.kernel
def with_exponents(
    x: wl.In["m", "k"], w: wl.In["n", "k"], s: wl.In["n", "k/32", wl.u8], out: wl.Out["m", "n"]
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        b = w[n, k].to(wl.f32) * wl.exp2((s[n, k] - 127).to(wl.f32))
        acc += x[m, k] @ b.to(x.dtype).T
    out[m, n] = acc


def test_bytes_are_taken_without_sign_by_a_value():
    """A kernel's value holds u8 as i8: arrays of uint8 count by their bits, not held to 127."""
    x, w = np.ones((2, 64)), np.ones((3, 64))
    s = np.full((3, 2), 130, np.uint8)
    value = with_exponents.specialise(BF16)
    assert (value.reference(x, w, s) == 512.0).all()
    with pytest.raises(KernelCallError, match="holds 130"):
        value.reference(x, w, s.astype(np.int64))


def test_exponents_that_overflow_when_drawn_are_no_wrong_code():
    """Bytes from 248 on as exponents: sums are infinite in one order and not in another."""
    from warploom.interp.executed import executed_sizes, verify_executed

    value = with_exponents.specialise(BF16)
    drawn = []

    def run(arrays, scalars, sizes):
        drawn.append(arrays["s"])
        made = value.reference(*arrays.values(), exact=False, extents={"k": 32})
        return {"out": np.where(np.isfinite(made), made, np.nan)}

    report = verify_executed(value, "k", run, executed_sizes(value, {"m": 16, "n": 16}, {}))
    assert not report.findings
    assert drawn[0].min() >= 120


@wl.kernel
def triangle(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    if wl.index(m).max() < wl.index(n).min():
        return
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    out[m, n] = wl.where(wl.index(m) >= wl.index(n), acc, 0.0)


def test_two_numbers_are_reduced_in_one_scope_of_a_block_kernel():
    """Their partial results had one name in the emitted CUDA."""
    assert triangle.compile("bf16", sizes={"m": 130, "n": 130, "k": 64}).cubin
