"""Functions given to a kernel: what they capture, when they are equal, what they mean."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import warploom as wl
from tests.frontend.test_shipped_kernels import normal
from warploom.errors import KernelError, KernelTypeError
from warploom.frontend.closures import Captured, held, lift
from warploom.kernels.attention import attention

B, H, S, T, D = 2, 2, 40, 70, 64
HALVES = dict.fromkeys(("q", "k", "v", "out"), "f32")


def weighed(x, v):
    p = np.exp(x - np.where(np.isfinite(x), x, -1e30).max(-1, keepdims=True))
    total = p.sum(-1, keepdims=True)
    return np.divide(p, total, where=total > 0, out=np.zeros_like(p)) @ v


def run(q, k, v, **functions):
    """The meaning of attention with functions, captured tensors given."""
    text, captured = attention.given_functions(**functions)
    kinds = {n: "i32" if t.dtype.kind in "iub" else "f32" for n, t in captured.items()}
    rest = [np.atleast_1d(t) for t in captured.values()]
    types = HALVES | kinds
    return text.reference(q, k, v, None, *rest, scale=0.1, types=types, without={"lse"})


def heads():
    return normal(B, H, S, D), normal(B, H, T, D), normal(B, H, T, D)


def test_tensors_numbers_and_functions_are_captured():
    q, k, v = heads()
    bias, relative, slopes = normal(H, S, T), normal(H, S + T), normal(H)
    document = np.sort(np.random.default_rng(1).integers(0, 3, (B, T)))

    def same(b, h, i, j):
        return document[b, i] == document[b, j]

    def score(x, b, h, i, j):
        x = x + bias[h, i, j] + relative[h, i - j + T - 1] + slopes[h] * (i - j)
        return 5.0 * np.tanh(x / 5.0)

    def visible(b, h, i, j):
        return np.logical_and(same(b, h, i, j), i + 20 >= j)

    i, j = np.arange(S)[:, None], np.arange(T)
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.1
    x = x + bias + relative[:, i - j + T - 1] + slopes[:, None, None] * (i - j)
    seen = (document[:, :S, None] == document[:, None, :]) & (i + 20 >= j)
    x = np.where(seen[:, None], 5 * np.tanh(x / 5), -np.inf)
    assert np.allclose(run(q, k, v, score=score, visible=visible), weighed(x, v))


def test_an_index_outside_a_captured_tensor_reads_zero():
    q, k, v = heads()
    few = normal(H, 5)
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.1
    x[..., :5] += few[:, None, :]
    assert np.allclose(run(q, k, v, score=lambda x, b, h, i, j: x + few[h, j]), weighed(x, v))


def test_sinks_join_the_sum_without_a_value():
    q, k, v = heads()
    sinks = normal(H) * 3
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.1
    wide = np.concatenate([x, np.broadcast_to(sinks[:, None, None], (B, H, S, 1))], -1)
    wanted = weighed(wide, np.concatenate([v, np.zeros((B, H, 1, D))], 2))
    assert np.allclose(run(q, k, v, sink=lambda h: sinks[h]), wanted)


def test_masks_joined_by_a_library_are_read():
    """``and_masks`` of FlexAttention begins with ``b.new_ones((), dtype=torch.bool)``."""
    torch = SimpleNamespace(bool="torch.bool")

    def joined(*masks):
        def mask(b, h, i, j):
            result = b.new_ones((), dtype=torch.bool)
            for one in masks:
                result = result & one(b, h, i, j)
            return result

        return mask

    q, k, v = heads()
    visible = joined(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j < 9)
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.1
    i, j = np.arange(S)[:, None], np.arange(T)
    x = np.where((i >= j) & (i - j < 9), x, -np.inf)
    assert np.allclose(run(q, k, v, visible=visible), weighed(x, v))


def make(bias, number):
    def score(x, b, h, i, j):
        return x + bias[h, i, j] * number

    return score


def test_equal_functions_are_equal_whatever_tensors_they_hold():
    one, two = lift({"score": make(normal(2, 3, 4), 2)}), lift({"score": make(normal(2, 9, 9), 2)})
    assert one[0] == two[0]
    assert hash(one[0]["score"]) == hash(two[0]["score"])
    assert list(one[1]) == ["given_bias"]
    assert one[0] != lift({"score": make(normal(2, 3, 4), 3)})[0]
    assert one[0] != lift({"score": make(normal(2, 3), 2)})[0]  # another number of axes
    assert Captured("given_bias", 3) in [
        c.cell_contents for c in one[0]["score"].function.__closure__
    ]


def test_one_tensor_in_two_functions_is_one_input():
    bias = normal(2, 3, 4)
    _, tensors = lift({"score": make(bias, 2), "visible": lambda b, h, i, j: bias[h, i, j] > 0})
    assert len(tensors) == 1


class Layer:
    """What modules do: a function that reads the tensors and numbers of its object."""

    def __init__(self, bias, slope):
        self.bias, self.inner = bias, SimpleNamespace(slope=slope)

    def score(self):
        return lambda x, b, h, i, j: x + self.bias[h, i, j] * self.inner.slope

    def __call__(self, x, b, h, i, j):
        return x + self.bias[h, i, j] * self.inner.slope

    def steep(self, x, b, h, i, j, by):
        return x + self.bias[h, i, j] * by


class Deeper(Layer):
    """What is called is inherited."""


def test_tensors_of_an_object_are_captured():
    q, k, v = heads()
    layer, other = Deeper(normal(H, S, T), 2.0), Layer(normal(H, S, T), 2.0)
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.1 + 2 * layer.bias
    for score in (layer.score(), layer, layer.__call__, partial(layer.steep, by=2.0)):
        assert np.allclose(run(q, k, v, score=score), weighed(x, v))
    one, two = (lift({"score": m.score()}) for m in (layer, other))
    assert one[0] == two[0]  # another layer of the same model: the same kernel
    assert two[1]["given_bias"] is other.bias
    assert one[0] != lift({"score": Layer(layer.bias, 3.0).score()})[0]
    held_before = [id(x) for x in held([layer.score()])]
    layer.inner.slope = 4.0
    assert held_before != [id(x) for x in held([layer.score()])]


def test_a_tensor_that_cannot_be_captured_is_an_error_at_its_line():
    holder = SimpleNamespace(bias=normal(2, 3, 4))

    def score(x, b, h, i, j):
        return x + holder.bias[h, i, j] * holder.bias.shape[0]  # here

    text, _ = attention.given_functions(score=score)
    with pytest.raises(KernelTypeError, match="is not a name of the function") as caught:
        text.specialise(dict.fromkeys(HALVES, "bf16"), sizes={"d": 64}, without={"lse", "lengths"})
    assert "test_functions.py" in str(caught.value)
    assert "# here" in str(caught.value)


TORCH = SimpleNamespace(float32="torch.float32")
KINDS_OF_SCORES = {
    "clamped": (
        lambda x, b, h, i, j: x + (i - j).clamp(-3, max=5).abs() * 0.1,
        lambda x, i, j: x + np.abs(np.clip(i - j, -3, 5)) * 0.1,
    ),
    "condition as a number": (
        lambda x, b, h, i, j: x + (i == j) * 2.0 + (j < 3).float(),
        lambda x, i, j: x + (i == j) * 2.0 + (j < 3),
    ),
    "power of a number": (
        lambda x, b, h, i, j: x * 0.9 ** (i - j).abs(),
        lambda x, i, j: x * 0.9 ** np.abs(i - j),
    ),
    "converted": (
        lambda x, b, h, i, j: x + (x * 3).to(TORCH.float32).int() - j.long() // 7,
        lambda x, i, j: x + np.trunc(x * 3) - j // 7,
    ),
    "library": (
        lambda x, b, h, i, j: np.square(x) + np.sign(x) * np.log1p(np.abs(i - j)),
        lambda x, i, j: np.square(x) + np.sign(x) * np.log1p(np.abs(i - j)),
    ),
    "bound": (partial(lambda by, x, b, h, i, j: x * by, 2.0), lambda x, i, j: x * 2.0),
}


@pytest.mark.parametrize("name", KINDS_OF_SCORES)
def test_functions_are_taken_as_they_are(name):
    score, meant = KINDS_OF_SCORES[name]
    q, k, v = heads()
    x = np.einsum("bhsd,bhtd->bhst", q, k) * 0.1
    x = meant(x, np.arange(S)[:, None], np.arange(T))
    assert np.allclose(run(q, k, v, score=score), weighed(x, v), atol=1e-6)


def test_a_mistake_in_a_library_function_is_reported_at_the_line_of_its_call():
    score = lambda x, b, h, i, j: x + np.clip(i > j, 1, 2).T  # here  # noqa: E731
    text, _ = attention.given_functions(score=score)
    with pytest.raises(KernelError) as caught:
        text.specialise(dict.fromkeys(HALVES, "bf16"), sizes={"d": 64}, without={"lse", "lengths"})
    assert "# here" in str(caught.value)


def test_what_is_no_function_is_refused():
    with pytest.raises(KernelTypeError, match="is a int"):
        attention.given_functions(score=3)
    with pytest.raises(KernelError, match="is no choice"):
        attention.given_functions(scores=lambda x, b, h, i, j: x)


def test_whole_numbers_have_bits():
    @wl.kernel
    def unpack(x: wl.In[m, k / 2, wl.i8], out: wl.Out[m, k]):
        m, k = wl.tile(out)
        out[m, k] = ((x[m, k] >> 4 * (wl.index(k) % 2)) & 15) - 8

    numbers = np.random.default_rng(2).integers(0, 16, (5, 12))
    packed = (numbers[:, ::2] | numbers[:, 1::2] << 4).astype(np.uint8).view(np.int8)
    got = unpack.specialise({"out": "f32"}).reference(packed, sizes={"k": 12})
    assert np.array_equal(got, numbers - 8)
