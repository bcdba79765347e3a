"""Public calls with wrong arguments, without a GPU: each is told by an error that says what."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import warploom as wl
from tests.runtime import fake_driver
from tests.runtime.fake_driver import FakeTensor
from warploom.errors import KernelCallError, WarploomError
from warploom.kernels.gemm import gemm as gemm_tile_kernel
from warploom.runtime import attention_grad, fused, kernel_calls as texts, runner, tensors

I32, F32, E4M3, U8 = (f"torch.{t}" for t in ("int32", "float32", "float8_e4m3fn", "uint8"))
OTHERS = ("int64", "float32", "float8_e4m3fn", "int8", "float16", "int32", "float64", "bool")


class Reached(Exception):  # noqa: N818
    """The call was found right: a kernel would be chosen now."""


class Tensor(FakeTensor):
    """One that can be cut; it has a shape and strides, and no memory."""

    def __init__(self, *shape, dtype="torch.bfloat16", strides=None, device=0, kind="cuda"):
        super().__init__(tuple(shape), dtype, strides)
        self.device = type("Device", (), {"type": kind, "index": device})()

    def _like(self, change):
        base = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), self.shape, self.strides)
        made = change(base)
        of = self.device
        return Tensor(
            *made.shape, dtype=self.dtype, strides=made.strides, device=of.index, kind=of.type
        )

    def __getitem__(self, key):
        return self._like(lambda a: a[key])

    def reshape(self, *shape):
        return self._like(lambda a: np.zeros(a.shape, np.int8).reshape(*shape))

    def swapaxes(self, a, b):
        return self._like(lambda x: x.swapaxes(a, b))


def made(like, shape, dtype):
    return lambda: Tensor(*shape, dtype=f"torch.{tensors.torch_name(dtype)}")


def passing(monkeypatch, calls, results):
    """Calls that a second kernel follows."""
    launch = calls.launch

    def run(given, scalars, options, stream=None):
        with suppress(Reached):  # without elements nothing is launched
            launch(given, scalars, options, stream)
        return results(given)

    monkeypatch.setattr(calls, "launch", run)


def sums_of(rows):
    return Tensor(*rows.shape[:3], dtype=F32)


@pytest.fixture
def chip(monkeypatch):
    fake_driver.install(monkeypatch)

    def reached(*_):
        raise Reached

    monkeypatch.setattr(texts, "launchable", reached)
    for module in (runner, fused, attention_grad):
        monkeypatch.setattr(module, "allocator", made)
    passing(monkeypatch, fused.SCAN_PARTS, lambda given: given)
    passing(monkeypatch, attention_grad.PREPARED, lambda g: (*g[:2], sums_of(g[0]), g[3], None))
    passing(monkeypatch, fused.PICKED, lambda g: (*g[:2], Tensor(*g[1].shape, *g[0].shape[1:])))


def starts(n=5):
    return Tensor(n, dtype=I32)


X, W, GROUPS = Tensor(256, 512), Tensor(4, 384, 512), starts()
NARROW, SCALES = Tensor(256, 512, dtype=E4M3), Tensor(256, 4, dtype=F32)
WEIGHTS = {"a": NARROW, "scale_a": SCALES}
TOKENS = Tensor(256, dtype=I32)
HEADS = {"q": Tensor(1, 4, 256, 64), "k": Tensor(1, 2, 100, 64), "v": Tensor(1, 2, 100, 64)}
ROWS = {"q": Tensor(100, 4, 64), "k": Tensor(90, 2, 64), "v": Tensor(90, 2, 64)}
CALLS = {
    "swiglu": (wl.swiglu, {"x": X, "gate": Tensor(384, 512), "up": Tensor(384, 512)}),
    "rows in turn": (wl.swiglu, {"x": X, "gate": Tensor(768, 512)}),
    "groups": (wl.grouped_gemm, {"x": X, "w": W, "starts": GROUPS}),
    "gated groups": (wl.grouped_gemm, {"x": X, "w": W, "up": W, "starts": GROUPS}),
    "picked": (wl.grouped_gemm, {"x": X, "w": W, "starts": GROUPS, "tokens": TOKENS}),
    "many picked": (
        wl.grouped_gemm,
        {"x": X, "w": W, "starts": GROUPS, "tokens": Tensor(4096, dtype=I32)},
    ),
    "added": (
        wl.grouped_gemm,
        {"x": X, "w": W, "starts": GROUPS, "rows": TOKENS, "weight": Tensor(256, dtype=F32)}
        | {"out": Tensor(90, 384, dtype=F32)},
    ),
    "weights": (wl.grouped_gemm_weights, {"y": Tensor(256, 384), "x": X, "starts": GROUPS}),
    "scaled": (
        wl.gemm_block_scaled,
        WEIGHTS | {"b": Tensor(384, 512, dtype=E4M3), "scale_b": Tensor(3, 4, dtype=F32)},
    ),
    "scaled groups": (
        wl.gemm_block_scaled,
        WEIGHTS
        | {"b": Tensor(4, 384, 512, dtype=E4M3), "scale_b": Tensor(4, 3, 4, dtype=F32)}
        | {"starts": GROUPS},
    ),
    "4 bits": (
        wl.gemm_quantised,
        {"x": X, "w": Tensor(384, 256, dtype=U8), "scale": Tensor(384, 4, dtype=F32)},
    ),
    "8 bits": (
        wl.gemm_quantised,
        {"x": X, "w": Tensor(384, 512, dtype=E4M3), "scale": Tensor(384, 4, dtype=F32)},
    ),
    "scan": (
        wl.scan,
        {"q": Tensor(1, 2, 8, 64, 64), "k": Tensor(1, 2, 8, 64, 64)}
        | {"v": Tensor(1, 4, 8, 64, 128), "grown": Tensor(1, 4, 8, 64, dtype=F32)},
    ),
    "gemm": (wl.gemm, {"a": X, "b": Tensor(512, 128)}),
    "attention": (wl.attention, HEADS | {"lengths": Tensor(1, dtype=I32)}),
    "sinks": (wl.attention, HEADS | {"sinks": Tensor(4, dtype=F32)}),
    "packed": (
        wl.attention_packed,
        ROWS | {"q_starts": starts(3), "k_starts": starts(3), "most_queries": 60, "most_keys": 60},
    ),
    "backward": (
        wl.attention_backward,
        HEADS
        | {"grad": HEADS["q"], "out": HEADS["q"], "lse": Tensor(1, 4, 256, dtype=F32)},
    ),
    "packed backward": (
        wl.attention_packed_backward,
        ROWS
        | {"grad": ROWS["q"], "out": ROWS["q"], "lse": Tensor(4, 100, dtype=F32)}
        | {"q_starts": starts(3), "k_starts": starts(3)},
    ),
    "paged": (
        wl.attention,
        {"q": Tensor(2, 4, 3, 64), "k": Tensor(9, 2, 64, 64), "v": Tensor(9, 2, 64, 64)}
        | {"pages": Tensor(2, 4, dtype=I32), "lengths": Tensor(2, dtype=I32)},
    ),
}  # fmt: skip


def hostile(x):
    """Other things in the place of an argument."""
    yield from (None, [[1.0]], 3.5, "x", object(), np.zeros((4, 4), np.float32))
    if not isinstance(x, Tensor):
        return
    shape, dtype = x.shape, x.dtype
    for other in (
        *((0, *shape[1:]), (*shape[:-1], 0), (1, *shape), shape[1:], ()),
        *((shape[0] + 1, *shape[1:]), (*shape[:-1], shape[-1] + 1)),
    ):
        yield Tensor(*other, dtype=dtype)
    for kind in OTHERS:
        yield Tensor(*shape, dtype=f"torch.{kind}")
    yield Tensor(*shape, dtype=dtype, kind="cpu")
    yield Tensor(*shape, dtype=dtype, device=1)
    yield Tensor(*shape, dtype=dtype, strides=(0,) * len(shape))
    yield Tensor(*shape[::-1], dtype=dtype)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_wrong_with_a_tensor_is_reported(chip, name):
    call, given = CALLS[name]
    with pytest.raises(Reached):
        call(**given)
    told = []
    for argument in given:
        for other in hostile(given[argument]):
            try:
                call(**{**given, argument: other})
            except WarploomError as error:
                told.append(error)
            except Reached:  # right, though other
                continue
    assert all(error.fix for error in told)
    assert len(told) > 15 * len([x for x in given.values() if isinstance(x, Tensor)])


def spoken(call, **given):
    with pytest.raises(WarploomError) as found:
        call(**given)
    return str(found.value)


def test_errors_use_the_names_of_the_call(chip):
    call, given = CALLS["scaled groups"]
    said = spoken(call, **{**given, "scale_b": Tensor(4, 3, 5, dtype=F32)})
    assert "scale_b has shape (4, 3, 5)" in said
    assert "a has shape" in spoken(call, **{**given, "a": Tensor(512, dtype=E4M3)})
    assert "tensors are a i8, scale_a f32" in spoken(
        call, **{**given, "a": Tensor(256, 512, dtype="torch.int8")}
    )
    call, given = CALLS["gated groups"]
    assert "w has shape (384, 512)" in spoken(call, **{**given, "w": Tensor(384, 512)})
    assert "starts is a NoneType" in spoken(call, **{**given, "starts": None})
    said = spoken(call, **{**given, "starts": Tensor(5, dtype="torch.int64")})
    assert "int32 for offsets" in said


@pytest.mark.parametrize(
    ("name", "other", "says"),
    [
        ("rows in turn", {"gate": Tensor(767, 512)}, "rows in turn"),
        ("rows in turn", {"gate": Tensor()}, "gate has shape"),
        ("swiglu", {"activation": []}, "unknown activation"),
        ("gated groups", {"activation": None}, "unknown activation"),
        ("scan", {"v": Tensor(1, 5, 8, 64, 128)}, "equally many heads"),
        ("scan", {"v": Tensor(1, 1, 8, 64, 128)}, "equally many heads"),
        ("scan", {"v": Tensor(1, 4, 8, 64, 0)}, "nothing is empty"),
        ("scan", {"grown": Tensor(dtype=F32)}, "grown is"),
        ("scan", {"parts": 0}, "parts is 0"),
        ("scan", {"parts": "two"}, "parts is 'two'"),
        ("gemm", {"alpha": "much"}, "alpha is 'much'"),
        ("gemm", {"activation": {}}, "unknown activation"),
        ("gemm", {"out_dtype": []}, "unknown out_dtype"),
        ("gemm", {"choice": "quick"}, "choice is a str"),
        ("attention", {"causal": []}, "unknown causal"),
        ("attention", {"scale": "x"}, "scale is 'x'"),
        ("attention", {"kernel": []}, "kernel is a list"),
        ("sinks", {"sinks": Tensor(3, dtype=F32)}, "sinks are [3]"),
        ("sinks", {"sinks": [1.0]}, "sinks is a list"),
        ("packed", {"most_keys": None}, "most_keys is None"),
        ("packed", {"sinks": Tensor(2, dtype=F32)}, "sinks are [2]"),
        ("backward", {"kernel": 3}, "kernel is a int"),
        ("backward", {"scale": 1j}, "scale is 1j"),
    ],
)
def test_wrong_words_and_numbers_are_reported(chip, name, other, says):
    call, given = CALLS[name]
    assert says in spoken(call, **{**given, **other})


class Mask:
    """What FlexAttention's masks have."""

    BLOCK_SIZE, seq_lengths = (128, 128), (256, 100)
    full_kv_num_blocks = full_kv_indices = None

    def __init__(self, **other):
        self.kv_num_blocks, self.kv_indices = Tensor(1, 1, 2, dtype=I32), Tensor(1, 1, 2, 1)
        for name, value in other.items():
            setattr(self, name, value)
        for x in (self.kv_num_blocks, self.kv_indices):
            x._version = 0

    def mask_mod(self, b, h, i, j):
        return i >= j


@pytest.mark.parametrize(
    ("mask", "other", "says"),
    [
        (Mask(BLOCK_SIZE=(0, 0)), {}, r"blocks of \(0, 0\)"),
        (Mask(BLOCK_SIZE="x"), {}, "blocks of"),
        (Mask(BLOCK_SIZE=(128,)), {}, "blocks of"),
        (Mask(seq_lengths=(1, 2)), {}, "a block mask of"),
        (Mask(kv_num_blocks=Tensor(2)), {}, "a block mask of"),
        (Mask(), {"q": Tensor(4, 64)}, r"q is \(4, 64\)"),
        (Mask(), {"q": None}, "q is NoneType"),
        (Mask(), {"k": Tensor()}, r"k is \(\)"),
    ],
)
def test_masks_that_do_not_fit_are_reported(chip, mask, other, says):
    with pytest.raises(KernelCallError, match=says):
        wl.attention(**HEADS | other, visible=mask)


def test_a_mask_without_lists_is_its_function(chip):
    bare = type("Bare", (), {"kv_num_blocks": None, "kv_indices": None, "mask_mod": None})()
    bare.mask_mod = lambda b, h, i, j: i >= j
    with pytest.raises(Reached):
        wl.attention(**HEADS, visible=bare)


def test_types_of_results_are_reported(chip):
    for types, says in (({"out": "bf17"}, "types="), (5, "types=5"), ({"x": "bf16"}, "no output")):
        with pytest.raises(KernelCallError, match=says):
            gemm_tile_kernel(X, Tensor(128, 512), types=types)
