"""Few queries, pages and memory to work in, without a GPU: views, checks, pieces a stream."""

from __future__ import annotations

import pytest

from warploom.compiler.layout import Layout
from warploom.errors import BackendError, GeometryError
from warploom.ir.tile import DType
from warploom.runtime import attention, workspace as work
from warploom.runtime.gemm import CALLS as GEMM, _options as gemm_options
from warploom.runtime.tensors import row_major

from .fake_driver import FakeTensor, clear_caches, fake_compiler, install


def tensor(*shape, dtype=DType.BF16, strides=None):
    return Layout(shape, strides or row_major(shape), dtype)


def viewed(q, k, out=None, causal=False):
    layouts = (q, k, k, out, None, None)
    return attention._viewed(layouts, attention._options(causal, False, None), 3)


def test_heads_that_share_keys_are_rows():
    seen, shapes = viewed(tensor(2, 32, 1, 64), tensor(2, 4, 500, 64))
    assert (seen[0].shape, seen[0].strides) == ((2, 4, 8, 64), (2048, 512, 64, 1))
    assert shapes == {3: (2, 32, 1, 64), 4: (2, 32, 1)}


def test_queries_of_a_head_follow_one_another():
    seen, _ = viewed(tensor(2, 8, 3, 64), tensor(2, 4, 500, 64))
    assert (seen[0].shape, seen[0].strides) == ((2, 4, 6, 64), (1536, 384, 64, 1))


@pytest.mark.parametrize(
    ("q", "k", "out", "causal"),
    [
        (tensor(2, 8, 3, 64), tensor(2, 4, 500, 64), None, True),
        (tensor(2, 8, 3, 64), tensor(2, 8, 500, 64), None, False),
        (tensor(2, 8, 60, 64), tensor(2, 4, 500, 64), None, False),
        (tensor(2, 8, 3, 64, strides=(1536, 64, 512, 1)), tensor(2, 4, 9, 64), None, False),
        (tensor(2, 8, 3, 64), tensor(2, 4, 9, 64), tensor(2, 8, 3, 128), False),
        (tensor(2, 8, 64), tensor(2, 4, 9, 64), None, False),
    ],
    ids=["causal", "own keys", "many", "apart", "another result", "rank"],
)
def test_others_are_left_as_they_are(q, k, out, causal):
    assert viewed(q, k, out, causal) == ((q, k, k, out, None, None), {})


NUMBERS = {"dtype": DType.I32}
BAD = [
    ({"k": tensor(9, 4, 16, 64)}, "pages of 16 keys"),
    ({"k": tensor(9, 3, 64, 64)}, "q is"),
    ({"table": tensor(2, 7)}, "table is bf16"),
    ({"lengths": None}, "lengths is a NoneType"),
    ({"lengths": tensor(3, **NUMBERS)}, "lengths has shape"),
]


@pytest.mark.parametrize(("change", "says"), BAD, ids=[b[1] for b in BAD])
def test_pages_that_cannot_be_read_are_refused(change, says):
    given = {
        "k": tensor(9, 4, 64, 64),
        "table": tensor(2, 7, **NUMBERS),
        "lengths": tensor(2, **NUMBERS),
        **change,
    }
    k, options = given["k"], attention._options(False, False, None)
    layouts = (tensor(2, 8, 1, 64), k, k, given["table"], given["lengths"], None, None)
    with pytest.raises(BackendError, match=says) as refused:
        attention.PAGED.compiled_for(layouts, options)
    assert refused.value.fix


STARTS = tensor(3, **NUMBERS)
BAD_PACKED = [
    ({"k": tensor(9, 3, 64)}, "q is"),
    ({"v": tensor(8, 2, 64)}, "k has t = 9"),
    ({"k_starts": tensor(4, **NUMBERS)}, "q_starts has i = 2"),
    ({"k_starts": tensor(3)}, "k_starts is bf16"),
    ({"q_starts": tensor(1, **NUMBERS)}, "one entry more"),
    ({"out": tensor(5, 4, 64, dtype=DType.F16)}, "all bf16 or all fp16"),
]


@pytest.mark.parametrize(("change", "says"), BAD_PACKED, ids=[b[1] for b in BAD_PACKED])
def test_sequences_that_do_not_fit_are_refused(change, says):
    given = {"q": tensor(5, 4, 64), "k": tensor(9, 2, 64), "v": tensor(9, 2, 64)}
    given |= {"q_starts": STARTS, "k_starts": STARTS, "out": None, **change}
    if "k" in change:
        given["v"] = given["k"]
    options = attention._options(False, False, None)
    with pytest.raises(BackendError, match=says):
        attention.PACKED.compiled_for((*given.values(), None), options)


def test_rows_that_are_few_are_columns_of_the_products():
    def kernel(rows, **pins):
        layouts = (tensor(rows, 64), tensor(64, 4096, strides=(1, 64)), None, None, None)
        options = (*gemm_options("none", None, True, None)[:4], tuple(pins.items()))
        return GEMM.compiled_for(layouts, options).kernel.name

    assert [kernel(m) for m in (16, 32, 33)] == ["turned", "turned", "gemm"]
    assert kernel(16, m=64, n=64) == "gemm"
    assert kernel(64, m=16, n=64) == "turned"


@pytest.fixture
def cuda(monkeypatch):
    fake_compiler(monkeypatch)
    fake = install(monkeypatch)
    monkeypatch.setattr(work, "_KEPT", {})
    made = []

    def piece(like, device, stream, size, *, named, kept):
        made.append((stream, size, kept))
        return 0x1000 * len(made), object()

    monkeypatch.setattr(work, "_torch_piece", piece)
    fake.capturing = set()
    monkeypatch.setattr(
        type(fake), "cuStreamIsCapturing", lambda self, s: (0, s in self.capturing), raising=False
    )
    yield fake, made
    monkeypatch.undo()
    clear_caches()


def test_a_stream_has_one_piece_that_grows(cuda):
    _, made = cuda
    small, large = (work.work_memory(FakeTensor((8, 8)), 0, n) for n in (1000, 1 << 23))
    first = small(5, False)
    assert small(5, False) == first
    assert small(6, False) != first
    assert large(5, False) != first
    assert small(5, False) == large(5, False)
    assert [(s, n) for s, n, _ in made] == [(5, 1 << 22), (6, 1 << 22), (5, 1 << 23)]


def test_graphs_have_pieces_of_their_own(cuda):
    fake, made = cuda
    give = work.work_memory(FakeTensor((8, 8)), 0, 1000)
    fake.capturing.add(5)
    assert give(5, False) != give(5, False)
    assert [kept for *_, kept in made] == [False, False]
    assert not work._KEPT


def test_pieces_are_bounded(cuda, monkeypatch):
    monkeypatch.setattr(work, "PIECES", 4)
    give = work.work_memory(FakeTensor((8, 8)), 0, 1000)
    for stream in range(10):
        give(stream, False)
    assert [s for _, s, _ in work._KEPT] == [6, 7, 8, 9]


def test_a_split_of_many_tiles_is_refused():
    from warploom.compiler.described import binary_of

    layouts = (tensor(65536, 64), tensor(64, 65536, strides=(1, 64)), None, None, None)
    pins = (
        ("m", 128),
        ("n", 128),
        ("consumer_warpgroups", 2),
        ("split_k", 2),
        ("split_k_in_cluster", False),
    )
    made = GEMM.compiled_for(layouts, (*gemm_options("none", None, True, None)[:4], pins))
    with pytest.raises(GeometryError, match="tiles with a split loop"):
        binary_of(made).work({"m": 65536, "n": 65536, "k": 64})
