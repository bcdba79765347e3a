"""On a Hopper GPU: loops split over CTAs, few rows, ragged edges, few queries of shared heads."""

from __future__ import annotations

import pytest

import warploom

from .gpu import NEEDS_HOPPER, TORCH_WARNINGS

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
RUNS = 200
# Few tiles (split), few rows (columns of products), a last tile that is pulled inside.
PRODUCTS = [(128, 4096, 4096), (1024, 1024, 16384), (24, 2048, 4096), (64, 256, 4096)]
RAGGED = [(1000, 1496, 776), (333, 136, 72), (2112, 8192, 520)]  # the last one by clusters
RAGGED += [(2711, 544, 1608), (626, 3688, 8696)]  # parts of an odd number of eight columns
# queries, head dimension: 32 heads share 4 heads of 5000 keys
FEW = [(1, 64), (1, 128), (3, 128)]


def matrix(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def far(found, want):
    return ((found.double() - want).norm() / want.norm()).item()


@pytest.mark.parametrize("shape", [*PRODUCTS, *RAGGED], ids=str)
def test_products_are_right_and_the_same_every_time(shape):
    m, n, k = shape
    a, b = matrix(m, k), matrix(n, k)
    first, out = warploom.gemm(a, b.T), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    assert far(first, a.double() @ b.double().T) < 4e-3
    for _ in range(RUNS):
        out.fill_(float("nan"))
        assert torch.equal(warploom.gemm(a, b.T, out=out), first)


def test_epilogues_of_few_rows():
    a, b, bias = matrix(24, 4096), matrix(2048, 4096), matrix(2048)
    found = warploom.gemm(a, b.T, bias=bias, activation="gelu", alpha=0.5)
    want = torch.nn.functional.gelu(0.5 * a.double() @ b.double().T + bias.double())
    assert far(found, want) < 4e-3


def test_a_residual_may_be_the_result():
    """Ragged edges, in place: no element is added twice."""
    a, b, x = matrix(1000, 776), matrix(1496, 776), matrix(1000, 1496)
    want = a.double() @ b.double().T + x.double()
    warploom.gemm(a, b.T, residual=x, out=x)
    assert far(x, want) < 4e-3


@pytest.mark.parametrize(("queries", "dim"), FEW)
def test_few_queries_of_shared_heads(queries, dim):
    q = matrix(2, 32, queries, dim)
    k, v = matrix(2, 4, 5000, dim), matrix(2, 4, 5000, dim)
    wide = [t.double().repeat_interleave(8, 1) for t in (k, v)]
    scores = q.double() @ wide[0].transpose(-1, -2) * dim**-0.5
    out, lse = warploom.attention(q, k, v, return_lse=True)
    assert out.shape == q.shape
    assert far(out, scores.softmax(-1) @ wide[1]) < 5e-3
    torch.testing.assert_close(lse.double(), scores.logsumexp(-1), rtol=1e-4, atol=2e-3)
    for _ in range(RUNS):
        again, sums = warploom.attention(q, k, v, return_lse=True)
        assert torch.equal(again, out)
        assert torch.equal(sums, lse)


def test_graphs_of_split_products_run_beside_each_other():
    """Two graphs on two streams, and a third product on the current one, none in another's way."""
    problems = [(matrix(128, 4096), matrix(4096, 4096)) for _ in range(3)]
    wants = [warploom.gemm(a, b.T) for a, b in problems]
    torch.cuda.synchronize()
    graphs, outs = [], []
    for a, b in problems[:2]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outs.append(warploom.gemm(a, b.T))
        graphs.append(graph)
    streams = [torch.cuda.Stream() for _ in range(2)]
    for _ in range(50):
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
        found = warploom.gemm(problems[2][0], problems[2][1].T)
        torch.cuda.synchronize()
        assert torch.equal(found, wants[2])
        assert all(torch.equal(o, w) for o, w in zip(outs, wants, strict=False))


@pytest.mark.parametrize(("page", "queries", "causal"), [(64, 1, False), (128, 3, "lower_right")])
def test_keys_in_pages(page, queries, causal):
    """Sequences of different lengths, pages in any order, the rest of the table unused."""
    lengths = [700, 1, 2048, 0]
    most, heads, kv, dim = 2048 // page, 16, 4, 128
    k, v = (matrix(4 * most + 3, page, kv, dim).transpose(1, 2) for _ in "kv")  # as servers store
    table = torch.randperm(4 * most)[: 4 * most].view(4, most).to(torch.int32).cuda()
    for i, n in enumerate(lengths):
        table[i, -(-n // page) :] = -1
    q, ends = (
        matrix(4, heads, queries, dim),
        torch.tensor(lengths, dtype=torch.int32, device="cuda"),
    )
    out, lse = warploom.attention(q, k, v, causal, pages=table, lengths=ends, return_lse=True)
    for i, n in enumerate(lengths):
        if n == 0:
            assert not out[i].any()
            assert (lse[i] == -float("inf")).all()
            continue
        used = table[i, : -(-n // page)].long()
        keys, values = (
            t[used].transpose(0, 1).reshape(kv, -1, dim)[:, :n].double().repeat_interleave(4, 0)
            for t in (k, v)
        )
        scores = q[i].double() @ keys.transpose(-1, -2) * dim**-0.5
        if causal:
            seen = torch.ones(queries, n, dtype=torch.bool, device="cuda").tril(n - queries)
            scores = scores.masked_fill(~seen, -float("inf"))
        want = torch.nan_to_num(scores.softmax(-1)) @ values
        assert far(out[i], want) < 5e-3
        torch.testing.assert_close(lse[i].double(), scores.logsumexp(-1), rtol=1e-4, atol=2e-3)
