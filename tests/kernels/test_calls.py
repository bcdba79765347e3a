"""Calls of texts against a driver that launches nothing: arguments, keys, plans, errors."""

from __future__ import annotations

import struct

import pytest

import warploom as wl
from tests.runtime.fake_driver import FakeTensor, install
from warploom.compiler import compiled, tuned
from warploom.compiler.cubin import Cubin, read_log
from warploom.compiler.layout import Layout
from warploom.errors import BackendError, ConfigError, KernelCallError
from warploom.ir.tile import DType
from warploom.kernels.attention import attention, packed
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import picked_rows
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.swiglu import swiglu
from warploom.runtime import kernel_calls as texts, launch_cache
from warploom.runtime.tensors import row_major


@pytest.fixture
def sources(monkeypatch, tmp_path):
    """The sources that were compiled; a cubin is its source's name."""
    found = []
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    texts._compiled.cache_clear()
    launch_cache.launchable.cache_clear()
    texts._CALLS.clear()

    def compile_source(source, *, name="kernel", **_):
        found.append(source)
        return Cubin(data=name.encode(), toolchain="none", report=read_log(""))

    monkeypatch.setattr(compiled, "compile_source", compile_source)
    return found


def launched(monkeypatch, sizes):
    return install(monkeypatch, parameters=sizes)


def sizes_of(made):
    return [128 if type(p).__name__ == "MapParam" else 8 for p in made.built.source.params]


def test_a_call_fills_the_parameters_of_its_source(monkeypatch, sources):
    made = gemm.compile("bf16", without={"bias", "residual"}, sizes={"m": 4096, "n": 256, "k": 128})
    driver = launched(monkeypatch, sizes_of(made))
    a, b = FakeTensor((4096, 128), pointer=1 << 20), FakeTensor((256, 128), pointer=1 << 21)
    out = FakeTensor((4096, 256), pointer=1 << 22)
    assert gemm(a, b, out=out, alpha=2.5) is out
    (launch,) = driver.launches
    values = dict(zip([p.name for p in made.built.source.params], launch.parameters, strict=True))
    assert struct.unpack("q", values["len_m"])[0] == 4096
    assert struct.unpack("q", values["len_k"])[0] == 128
    assert struct.unpack("f", values["arg_alpha"][:4])[0] == 2.5
    maps = {e[2]: e for e in driver.encoded}
    assert set(maps) == {1 << 20, 1 << 21, 1 << 22}
    assert maps[1 << 21][3] == [128, 256]  # innermost first
    assert launch.threads == made.built.source.threads


def test_later_calls_only_launch(monkeypatch, sources):
    driver = launched(monkeypatch, ())
    tensors = [FakeTensor((256, 128), pointer=p << 20) for p in (1, 2)]
    out = FakeTensor((256, 256), pointer=3 << 20)
    for _ in range(3):
        rms_gemm(*tensors, out=out, eps=1e-5)
    rms_gemm(*tensors, out=out, eps=1e-6)
    assert len(sources) == 1
    rms_gemm(*tensors, out=out, eps=0.0)  # no longer known to exceed 0
    assert len(driver.launches) == 5


def test_calls_of_tensors_alone_read_their_arguments_once(monkeypatch):
    call, read, launches = texts.Calls(gemm), [], []
    arguments = call.arguments
    monkeypatch.setattr(call, "arguments", lambda *a: read.append(a) or arguments(*a))
    monkeypatch.setattr(call, "launch", lambda *asked: launches.append(asked) or asked[0])
    for given in ({}, {}, {"alpha": 2.0}, {}):
        call(("a", "b"), given)
    assert len(read) == 2
    plain, again, scaled, last = launches
    assert plain == again == last
    assert plain[0][:2] == ["a", "b"]
    assert scaled[1:3] != plain[1:3]
    call(("a", "b", "bias"), {})
    assert launches[-1][0] != plain[0]
    with pytest.raises(KernelCallError, match="'b' is not given"):
        call(("a", None), {})


def test_a_measured_order_that_does_not_fit_leaves_its_tile(monkeypatch, sources):
    tile = (("m", 64), ("n", 64), ("consumer_warpgroups", 1))
    monkeypatch.setattr(tuned, "tuned_pins", lambda *_: (*tile, ("schedule", (100, 0, 1))))
    layouts = [Layout(s, row_major(s), DType.BF16) for s in ((256, 64), (128, 64))]
    given = (*layouts, None, None, None)
    made = texts.Calls(gemm).compiled_for(given, texts.Calls(gemm).arguments("ab", {})[2])
    assert (made.config.extent("m"), made.config.extent("n"), made.config.schedule) == (64, 64, "")


def test_a_text_without_a_loop_has_no_consumers(sources):
    rows, numbers, types = (512, 4, 256), (1024,), (DType.BF16, DType.I32)
    layouts = [Layout(s, row_major(s), t) for s, t in zip((rows, numbers), types, strict=True)]
    call = texts.Calls(picked_rows)
    made = call.compiled_for((*layouts, None), call.arguments("xt", {})[2])
    assert (made.config.consumer_warpgroups, len(sources)) == (0, 1)


def test_public_products_take_b_as_columns(monkeypatch, sources):
    driver = launched(monkeypatch, ())
    a, w = FakeTensor((512, 128), pointer=1 << 20), (256, 128)
    b = FakeTensor((128, 256), strides=(1, 128), pointer=1 << 21)
    out = FakeTensor((512, 256), pointer=1 << 22)
    wl.gemm(a, b, out=out)
    maps = {e[2]: e for e in driver.encoded}
    assert maps[1 << 21][3] == [w[1], w[0]]
    assert maps[1 << 21][4] == [256]  # bytes of a row of w


def test_packed_rows_lie_between_heads(monkeypatch, sources):
    driver = launched(monkeypatch, ())
    q = FakeTensor((300, 8, 128), pointer=1 << 20)
    k, v = (FakeTensor((400, 2, 128), pointer=p << 20) for p in (2, 3))
    starts = FakeTensor((4,), "torch.int32", pointer=4 << 20)
    out = FakeTensor((300, 8, 128), pointer=5 << 20)
    wl.attention_packed(q, k, v, starts, starts, 100, 200, True, out=out)
    maps = {e[2]: e for e in driver.encoded}
    assert maps[1 << 20][3] == [128, 300, 8]
    assert maps[1 << 20][4] == [8 * 256, 256]
    assert driver.launches[0].grid == (-(-300 // 64) + 3) * 8


def test_pins_win(monkeypatch, sources):
    pinned = gemm.with_config(m=256, n=128, consumer_warpgroups=2, stages=2)
    made = pinned.compile("bf16", without={"bias", "residual"}, sizes={"m": 64, "n": 64, "k": 64})
    config = made.config
    assert (config.extent("m"), config.extent("n"), config.stages) == (256, 128, 2)
    with pytest.raises(ConfigError, match="cannot be pinned"):
        _ = gemm.with_config(rows=3).compile("bf16", without={"bias", "residual"}).built


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (gemm, "'b' is not given"),
        (lambda t: gemm(t, t, t, t, t, t), "6 tensors given"),
        (lambda t: gemm(t, t, beta=1.0), "no parameter 'beta'"),
        (lambda t: gemm(t, t, alpha="much"), "scalar 'alpha'"),
        (lambda t: rms_gemm(t, t), "scalar 'eps' is not given"),
        (lambda t: gemm(t, t, activation=[]), "hashable"),
    ],
)
def test_wrong_arguments_are_named(monkeypatch, sources, call, match):
    launched(monkeypatch, ())
    with pytest.raises(KernelCallError, match=match):
        call(FakeTensor((128, 128)))


def test_tensors_that_do_not_fit_are_refused_before_compiling(monkeypatch, sources):
    launched(monkeypatch, ())
    x, w = FakeTensor((128, 64)), FakeTensor((128, 96))
    with pytest.raises(BackendError, match="k = 64"):
        swiglu(x, x, w)
    with pytest.raises(BackendError, match="a has k = 64"):
        wl.gemm(x, w)
    with pytest.raises(BackendError, match="head dimension"):
        wl.attention(*(FakeTensor((1, 2, 64, 80)) for _ in "qkv"))
    assert not sources


def test_optional_outputs_are_made_when_asked_for():
    made = attention.compile("bf16", without={"lse", "lengths"}, sizes={"d": 64})
    assert "lse" not in {t.name for t in made.kernel.tensors}
    made = packed.compile("bf16", sizes={"d": 64})
    assert "lse" in {t.name for t in made.kernel.tensors}


def sloped(slopes):
    def score(x, b, h, i, j):
        return x - slopes[h] * (i - j)

    return score


@pytest.mark.slow
def test_functions_of_one_text_share_a_kernel(monkeypatch, sources):
    driver = launched(monkeypatch, ())
    q, k, v = (FakeTensor((1, 2, 128, 64), pointer=p << 20) for p in (1, 2, 3))
    out = FakeTensor((1, 2, 128, 64), pointer=4 << 20)
    for place in (5, 6, 6):
        slopes = FakeTensor((2,), "torch.float32", pointer=place << 20)
        wl.attention(q, k, v, score=sloped(slopes), out=out)
    assert len(driver.launches) == 3
    assert len({s for s in sources if "ptr_given_slopes" in s}) == len(set(sources))
    assert sources.count(sources[-1]) == 1  # the later calls compile nothing


def test_a_mask_that_is_no_function_is_refused(monkeypatch, sources):
    q = FakeTensor((1, 2, 128, 64))
    with pytest.raises(KernelCallError, match="visible is a int"):
        wl.attention(q, q, q, visible=3)


def test_weights_in_turn_are_two_views(monkeypatch, sources):
    driver = launched(monkeypatch, ())

    class Rows(FakeTensor):
        def __getitem__(self, rows):
            (n, k), at = self.shape, self.pointer + 2 * self.shape[1] * rows.start
            return FakeTensor((n // 2, k), strides=(2 * k, 1), pointer=at)

    x, w = FakeTensor((256, 128), pointer=1 << 20), Rows((512, 128), pointer=2 << 20)
    wl.swiglu(x, w, out=FakeTensor((256, 256), pointer=3 << 20))
    maps = {e[2]: e for e in driver.encoded}
    assert {2 << 20, (2 << 20) + 256} <= set(maps)
    with pytest.raises(BackendError, match="unknown activation"):
        wl.swiglu(x, w, activation="elu")
