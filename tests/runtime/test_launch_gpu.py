"""On a Hopper GPU: many threads and streams, graphs, new addresses, the same bits every time."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import warploom

from .gpu import NEEDS_HOPPER, TORCH_WARNINGS

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
THREADS, STREAMS, CALLS = 8, 4, 10_000


def matrix(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def problems():
    """(call, right result) of products and attentions of several shapes."""
    found = []
    shapes = ((128, 256, 64), (200, 512, 128), (64, 128, 256), (333, 136, 72), (64, 256, 4096))
    for m, n, k in shapes:  # the last is split over CTAs
        a, b = matrix(m, k), matrix(n, k)
        found.append((lambda a=a, b=b, **o: warploom.gemm(a, b.T, **o), warploom.gemm(a, b.T)))
    for heads, length, dim in ((4, 200, 64), (2, 333, 128)):
        q, k, v = (matrix(1, heads, length, dim) for _ in "qkv")
        found.append(
            (
                lambda q=q, k=k, v=v, **o: warploom.attention(q, k, v, True, **o),
                warploom.attention(q, k, v, True),
            )
        )
    torch.cuda.synchronize()
    return found


def test_many_threads_and_streams_get_their_own_results():
    """10,000 calls; half make their result, half write one given, every result is looked at."""
    work = problems()
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    wrong, raised = [0] * THREADS, []

    def run(thread):
        try:
            stream = streams[thread % STREAMS]
            outs = [torch.empty_like(want) for _, want in work]
            with torch.cuda.stream(stream):
                differ = torch.zeros((), device="cuda", dtype=torch.int64)
                for i in range(CALLS // THREADS):
                    which = (i * 7 + thread) % len(work)
                    call, want = work[which]
                    found = call() if i % 2 else call(out=outs[which])
                    differ += (found != want).any()
            stream.synchronize()
            wrong[thread] = int(differ)
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(t,)) for t in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not raised
    assert wrong == [0] * THREADS


@pytest.mark.parametrize("before", [1, 3])
def test_calls_are_captured_by_a_graph(before):
    """Those that are known by their addresses, too."""
    a, b = matrix(256, 512), matrix(384, 512)
    q, k, v = (matrix(2, 4, 300, 64) for _ in "qkv")
    for _ in range(before):  # kernels are loaded before a capture
        warploom.gemm(a, b.T), warploom.attention(q, k, v)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = warploom.gemm(a, b.T)
        o = warploom.attention(q, k, v)
    for _ in range(3):
        for t in (a, b, q, k, v):
            t.normal_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(c, warploom.gemm(a, b.T))
        assert torch.equal(o, warploom.attention(q, k, v))


def test_addresses_never_seen_before_are_right():
    """More addresses than a plan keeps blocks for."""
    pool, weight = matrix(700 * 16 + 64 * 64), matrix(128, 64)
    for i in range(700):
        a = pool[16 * i : 16 * i + 64 * 64].view(64, 64)
        out = torch.empty(64, 128, device="cuda", dtype=torch.bfloat16)
        warploom.gemm(a, weight.T, out=out)
        if i % 50 == 0:
            want = a.double() @ weight.double().T
            assert ((out.double() - want).norm() / want.norm()).item() < 5e-3


def test_no_reference_to_the_callers_tensors_is_kept():
    a, b = matrix(128, 64), matrix(128, 64)
    for _ in range(4):  # known by their addresses
        out = warploom.gemm(a, b.T)
    kept = [weakref.ref(t) for t in (a, b, out)]
    del a, b, out
    gc.collect()
    assert [r() for r in kept] == [None] * 3


@pytest.mark.parametrize("shape", [(2048, 2048, 2048), (1000, 1496, 776), (16, 8192, 8192)])
def test_products_give_the_same_bits(shape):
    m, n, k = shape
    a, b = matrix(m, k), matrix(n, k)
    first, out = warploom.gemm(a, b.T), matrix(m, n)
    for _ in range(200):
        out.fill_(float("nan"))
        assert torch.equal(warploom.gemm(a, b.T, out=out), first)


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_gives_the_same_bits(dim, causal):
    q, k, v = (matrix(2, 4, 777, dim) for _ in "qkv")
    first, out = warploom.attention(q, k, v, causal), torch.empty_like(q)
    for _ in range(200):
        out.fill_(float("nan"))
        assert torch.equal(warploom.attention(q, k, v, causal, out=out), first)


class Exported:
    """A tensor of a library that is known by DLPack alone, JAX's like."""

    def __init__(self, tensor):
        self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__


def test_other_tensors_at_known_addresses_are_told_apart():
    """Views of one memory: shapes, strides and types that come and go where others were."""
    pool = matrix(1, 4, 256, 64)
    views = [pool, pool.view(1, 2, 512, 64), pool.view(1, 4, 128, 128), pool.view(torch.float16)]
    views += [torch.nn.Parameter(pool), pool.as_strided((1, 4, 128, 64), (65536, 16384, 128, 1))]
    keys = [torch.randn_like(x) for x in views]
    wanted = [warploom.attention(x.clone(), k, k) for x, k in zip(views, keys, strict=True)]
    for i in [0, 0, 0, *range(6), 1, 1, 1, *range(6), *range(6)]:
        assert torch.equal(warploom.attention(views[i], keys[i], keys[i]), wanted[i])


def test_tensors_of_other_libraries_by_dlpack():
    a, w = matrix(200, 256), matrix(136, 256)
    want, out = warploom.gemm(a, w.T), torch.zeros(200, 136, device="cuda", dtype=torch.bfloat16)
    with torch.cuda.stream(torch.cuda.default_stream()):
        warploom.gemm(Exported(a), Exported(w.T), out=Exported(out))
    assert torch.equal(torch.from_dlpack(out), want)


def test_a_kernel_waits_for_the_one_before():
    """Launched while it ends: what it reads is written by then, in graphs as well."""
    weights = [matrix(512, 512) / 22 for _ in range(6)]

    def chain(x, *, apart):
        for i, w in enumerate(weights):
            x = warploom.gemm(x, w.T)
            x = x * 1.5 if i % 2 else x
            if apart:
                torch.cuda.synchronize()
        return x

    for rows in (16, 64, 300, 2048):
        x = matrix(rows, 512)
        want = chain(x, apart=True)
        assert all(torch.equal(chain(x, apart=False), want) for _ in range(100))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = chain(x, apart=False)
        for _ in range(20):
            out.zero_()
            graph.replay()
            assert torch.equal(out, want)


def test_events_of_other_streams_are_waited_for():
    """Coming early means early for the kernel before in the stream, and for nothing else."""
    x, w = matrix(2048, 512), matrix(512, 512) / 22
    there, here = torch.cuda.Stream(), torch.cuda.Stream()
    want = warploom.gemm(x * 3, w.T)
    torch.cuda.synchronize()
    for _ in range(50):
        with torch.cuda.stream(here):
            warploom.gemm(x, w.T)
        with torch.cuda.stream(there):
            y = torch.zeros_like(x)
            torch.cuda._sleep(300_000)
            y.copy_(x * 3)
            done = there.record_event()
        here.wait_event(done)
        with torch.cuda.stream(here):
            out = warploom.gemm(y, w.T)
        torch.cuda.synchronize()
        assert torch.equal(out, want)


def test_a_stream_given_by_handle():
    a, b = matrix(256, 512), matrix(384, 512)
    want = warploom.gemm(a, b.T)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    found = warploom.gemm(a, b.T, stream=stream.cuda_stream)
    stream.synchronize()
    assert torch.equal(found, want)
    assert torch.equal(warploom.gemm(a, b.T, stream=0), want)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU only")
def test_other_devices_than_the_current_one():
    a, b = matrix(256, 512), matrix(384, 512)
    want = warploom.gemm(a, b.T).cpu()
    assert torch.equal(warploom.gemm(a.to("cuda:1"), b.to("cuda:1").T).cpu(), want)
    assert torch.cuda.current_device() == 0


def test_where_the_machine_stands():
    from warploom.torch.self_benchmark import standing

    rows = {r.what: r for r in standing()}
    assert rows["gemm 4096^3, distance"].good
    assert rows["attention 4096 causal, distance"].good
    assert all(r.ours > 0 for r in rows.values() if r.unit)  # a distance may be none
