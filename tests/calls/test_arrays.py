"""Public calls on the CPU without torch: NaN in every byte that must not count, equal bits."""

from __future__ import annotations

import numpy as np
import pytest

import warploom
from tests.calls.arrays import empty, padded, same_bits, tensor
from tests.calls.executing import executing
from tests.host_cuda import NEEDS_COMPILER
from warploom.errors import BackendError, WarploomError
from warploom.runtime import fused
from warploom.runtime.overlap import OverlapError

pytestmark = NEEDS_COMPILER
PLACES = [{}, {"pad": 8}, {"pad": 3}, {"pad": 8, "first": 1}, {"pad": 5, "first": 3}]


def normal(rng, *shape):
    return tensor(rng.normal(size=shape)).values()


def close(found, wanted, limit=6e-3):
    error = np.linalg.norm(found.values() - wanted) / max(np.linalg.norm(wanted), 1e-30)
    assert error < limit, error


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attended(q, k, v, lengths):
    out = np.zeros(q.shape)
    share = q.shape[1] // k.shape[1]
    for b, h in np.ndindex(q.shape[:2]):
        n = min(lengths[b], k.shape[2])
        if n > 0:
            x = q[b, h] @ k[b, h // share, :n].T / q.shape[3] ** 0.5
            out[b, h] = softmax(x) @ v[b, h // share, :n]
    return out


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_product_wherever_its_operands_lie(rng, place):
    a, b = normal(rng, 70, 136), normal(rng, 72, 136)
    with executing() as driver:
        wanted = a @ b.T
        kept = warploom.gemm(tensor(a), tensor(b).T)
        for _ in range(2):  # planned, then known
            found = warploom.gemm(padded(a, **place), padded(b, **place).T)
            assert same_bits(found, kept)
        assert not driver.refused
    close(kept, wanted)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("sms", [1, 3, 132])
def test_ctas_in_any_order(rng, seed, sms):
    a, b = normal(rng, 300, 64), normal(rng, 264, 64)
    with executing(sms=sms, seed=seed):
        close(warploom.gemm(tensor(a), tensor(b).T), a @ b.T)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 200, 7), (63, 65, 129), (0, 8, 16), (8, 0, 16)])
def test_products_of_any_size(rng, sizes):
    m, n, k = sizes
    a, b = normal(rng, m, k), normal(rng, n, k)
    with executing():
        close(warploom.gemm(padded(a, pad=3), padded(b, pad=5, first=1).T), a @ b.T)


def test_a_sum_of_nothing(rng):
    with executing():
        found = warploom.gemm(tensor(normal(rng, 8, 0)), tensor(normal(rng, 16, 0)).T)
    assert found.shape == (8, 16)
    assert not found.bits.any()


def test_outputs_that_overlap(rng):
    a, b = tensor(normal(rng, 256, 256)), tensor(normal(rng, 256, 256))
    buffer = empty((256, 520), "bfloat16")
    left, right = buffer[:, :256].copy_(a), buffer[:, 256:512]
    wanted = a.values() @ b.values().T
    with executing():
        for _ in range(2):
            assert warploom.gemm(left, b.T, out=right) is right
            close(right, wanted)
        for out in (a, b):
            with pytest.raises(OverlapError, match="out overlaps"):
                warploom.gemm(a, b.T, out=out)
        with pytest.raises(OverlapError, match="out overlaps a"):
            warploom.gemm(left, b.T, out=buffer[:, 8:264])
        close(warploom.gemm(a, b.T, out=a.clone()), wanted)  # the fix that is proposed


@pytest.mark.parametrize("lengths", [(77, 130), (0, 200), (201, 1 << 30)])
def test_keys_past_the_length(rng, lengths):
    q, k, v = normal(rng, 2, 2, 70, 64), normal(rng, 2, 1, 200, 64), normal(rng, 2, 1, 200, 64)
    counts = tensor(lengths, "int32")
    dirty = tensor(k), tensor(v)
    for x in dirty:
        for i, n in enumerate(lengths):
            x.spoil((i, slice(None), slice(n, None)))
    with executing():
        clean = warploom.attention(tensor(q), tensor(k), tensor(v), lengths=counts)
        for _ in range(2):
            assert same_bits(warploom.attention(tensor(q), *dirty, lengths=counts), clean)
    close(clean, attended(q, k, v, lengths))


@pytest.mark.parametrize("which", [1, 2])
def test_other_sequences_of_a_batch(rng, which):
    starts = tensor((0, 37, 70, 140), "int32"), tensor((0, 61, 67, 150), "int32")
    given = [tensor(normal(rng, n, 1, 64)) for n in (140, 150, 150)]
    with executing():
        clean = warploom.attention_packed(*given, *starts, 70, 83)
        given[which] = given[which].clone().spoil(slice(61, 67))
        found = warploom.attention_packed(*given, *starts, 70, 83)
    assert same_bits(found[:37], clean[:37])
    assert same_bits(found[70:], clean[70:])
    assert np.isnan(found[37:70].values()).all()


def test_pages_of_nobody(rng):
    q, k, v = normal(rng, 2, 2, 3, 64), normal(rng, 5, 1, 64, 64), normal(rng, 5, 1, 64, 64)
    table = tensor([[3, 1, 4], [0, -7, 1 << 30]], "int32")
    pages, lengths = np.array([[3, 1, 4], [0, 0, 0]]), (150, 10)
    wanted = attended(q, *(x[pages, 0].reshape(2, 1, 192, 64) for x in (k, v)), lengths)
    dirty = tensor(k), tensor(v)
    for x in dirty:
        for at in (2, (4, slice(None), slice(22, None)), (0, slice(None), slice(10, None))):
            x.spoil(at)
    with executing():
        counts = tensor(lengths, "int32")
        close(warploom.attention(tensor(q), *dirty, pages=table, lengths=counts), wanted)


def test_rows_of_other_groups(rng):
    ends = (0, 37, 37, 120, 140)
    x, w = tensor(normal(rng, 168, 136)), tensor(normal(rng, 4, 72, 136))
    with executing():
        starts = tensor(ends, "int32")
        clean = fused.grouped_gemm(x, w, starts)
        for _ in range(2):
            dirty = x.clone().spoil(slice(140, None))
            dirty.spoil(slice(37, 120))
            found = fused.grouped_gemm(dirty, w, starts)
            assert same_bits(found[:37], clean[:37])
            assert same_bits(found[120:140], clean[120:140])
            assert np.isnan(found[37:120].values()).all()
    for e in range(4):
        rows = slice(ends[e], ends[e + 1])
        if ends[e] < ends[e + 1]:
            close(clean[rows], x[rows].values() @ w[e].values().T)


def test_the_driver_refuses_what_the_real_one_does():
    with executing() as driver:
        given = ["TYPE_BFLOAT16", 2, 4096, [64, 8], [128], [64, 8], [1, 1], 0, 3]
        assert driver.cuTensorMapEncodeTiled(*given)[0] == 0
        for at, other in ((2, 4104), (4, [120]), (5, [128, 8]), (5, [64, 257]), (3, [64, 0])):
            wrong = [other if i == at else x for i, x in enumerate(given)]
            assert driver.cuTensorMapEncodeTiled(*wrong)[0] != 0


@pytest.mark.parametrize(
    "call",
    [
        warploom.gemm,
        lambda a, b: warploom.gemm(a, b.T[:, :8], out=a),
        lambda a, b: warploom.gemm(a, None),
        lambda a, b: warploom.gemm(a.values(), b.T),
        lambda a, b: warploom.attention(a, a, a),
        lambda a, b: warploom.gemm(a, tensor(b.values(), "float32").T),
    ],
)
def test_refusals_are_typed_and_say_what_to_do(rng, call):
    a, b = tensor(normal(rng, 64, 72)), tensor(normal(rng, 64, 72))
    with executing(), pytest.raises(WarploomError) as raised:
        call(a, b)
    assert isinstance(raised.value, BackendError)
    assert raised.value.fix


class Long(type(empty((1,), "bfloat16"))):
    """A tensor of any shape that has no memory."""

    def __init__(self, *shape):
        super().__init__(np.broadcast_to(np.zeros((), np.uint16), shape), "bfloat16")

    def stride(self):
        return (self.shape[1], 1)


@pytest.mark.parametrize("shape", [(1 << 31, 64), (64, (1 << 32) + 16)])
def test_axes_that_indices_of_32_bits_cannot_count(shape):
    with executing(), pytest.raises(BackendError, match="shape") as raised:
        warploom.gemm(Long(*shape), Long(shape[1], 64))
    assert "slice along" in raised.value.fix
