"""Plans and runners against a driver that launches nothing: blocks, caches, threads, devices."""

from __future__ import annotations

import struct
import threading
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
)
from warploom.compiler.binary import Binary, Grid
from warploom.compiler.layout import Layout, bind, map_geometry
from warploom.errors import BackendError
from warploom.ir.tile import Access, Axis, DType, Parameter, Tensor
from warploom.runtime import plan
from warploom.runtime.plan import prepare

from .fake_driver import FakeDriver, clear_caches, install


def axes(names):
    return tuple(Axis(name=n) for n in names)


def tensor(name, names, dtype=DType.BF16, **more):
    return Tensor(name=name, axes=axes(names), dtype=dtype, **more)


def mapped(tensor, box, **more):
    return MapParam(name=f"{tensor}_map", tensor=tensor, box=box, dtype=DType.BF16, **more)


def pointer(tensor):
    return PointerParam(name=tensor, tensor=tensor, dtype=DType.BF16)


ALPHA = Parameter(name="alpha", dtype=DType.F32)
COUNT = Parameter(name="count", dtype=DType.I32)
BINARY = Binary(
    cubin=b"cubin",
    entry="kernel",
    threads=384,
    shared_bytes=200_000,
    tensors=(
        tensor("a", "mk"),
        tensor("b", "kn"),
        tensor("out", "mn", access=Access.OUT),
        tensor("bias", "n", optional=True),
    ),
    scalars=(ALPHA, COUNT),
    parameters=(
        mapped("a", (128, 64)),
        SizeParam(name="m", axis="m"),
        mapped("b", (64, 64)),
        pointer("bias"),
        StrideParam(name="b_n", tensor="b", axis=0),
        ScalarParam(name="alpha", parameter="alpha", dtype=DType.F32),
        ScalarParam(name="count", parameter="count", dtype=DType.I32),
        pointer("out"),
    ),
    places={"b": (1, 0)},  # the kernel's is [n, k]
    grid=Grid(tiles=lambda z: -(-z["m"] // 128) * -(-z["n"] // 256)),
)
SIZES = (128, 8, 128, 8, 8, 4, 8, 8)
LAYOUTS = (
    Layout((300, 512), (512, 1), DType.BF16),
    Layout((512, 1000), (1, 520), DType.BF16),
    Layout((300, 1000), (1000, 1), DType.BF16),
    None,
)


@pytest.fixture
def cuda(monkeypatch):
    yield lambda **options: install(monkeypatch, **{"parameters": SIZES, **options})
    monkeypatch.undo()
    clear_caches()


def words(launch):
    _, m, _, bias, step, alpha, count, out = launch.parameters
    return {
        "m": struct.unpack("q", m)[0],
        "bias": struct.unpack("Q", bias)[0],
        "step": struct.unpack("q", step)[0],
        "alpha": struct.unpack("f", alpha)[0],
        "count": struct.unpack("q", count)[0],
        "out": struct.unpack("Q", out)[0],
        "maps": [struct.unpack("Q", launch.parameters[i][:8])[0] for i in (0, 2)],
    }


def test_numbers_lie_on_the_device_once(cuda):
    fake = cuda(parameters=(8,))
    order = (OrderParam(name="order"),)
    binary = replace(BINARY, parameters=order, visits=lambda z, ctas: (z["m"], ctas))
    for _ in range(2):
        prepare(binary, LAYOUTS)(17, 0x1000, 0x2000, 0x3000, 0, 2.5, -3)
    assert fake.memory == {0x70000: struct.pack("2i", 300, 12)}
    assert [struct.unpack("Q", r.parameters[0])[0] for r in fake.launches] == [0x70000] * 2
    assert fake.capture_mode.endswith("GLOBAL")


def test_the_kernel_reads_its_parameters(cuda):
    fake = cuda()
    prepare(BINARY, LAYOUTS)(17, 0x1000, 0x2000, 0x3000, 0, 2.5, -3)
    (launch,) = fake.launches
    assert (launch.grid, launch.threads, launch.stream) == (3 * 4, 384, 17)
    assert words(launch) == {
        "m": 300,
        "bias": 0,
        "step": 520,
        "alpha": 2.5,
        "count": -3,
        "out": 0x3000,
        "maps": [0x1000, 0x2000],
    }


def test_maps_are_described_to_the_driver(cuda):
    fake = cuda()
    prepare(BINARY, LAYOUTS)(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    (kind, rank, address, shape, strides, box, *_), b = fake.encoded
    assert (kind, rank, address) == ("CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", 2, 0x1000)
    assert (shape, strides, box) == ([512, 300], [1024], [64, 128])
    assert b[3:6] == ([512, 1000], [1040], [64, 64])


@pytest.mark.parametrize("secret", [False, True])
def test_maps_are_encoded_once_and_moved(cuda, secret):
    """By writing the address where the driver shows that nothing else changes, else by it."""
    fake = cuda(secret=secret)
    go = prepare(BINARY, LAYOUTS)
    for at in (0x1000, 0x5000, 0x1000, 0x5000):
        go(0, at, 0x2000, 0x3000, 0, 1.0, 0)
    assert len(fake.encoded) == 2
    assert (0x5000 in fake.replaced) is secret
    assert [words(w)["maps"][0] for w in fake.launches] == [0x1000, 0x5000] * 2


def test_one_block_serves_launches_that_follow_one_another(cuda):
    cuda()
    go = prepare(BINARY, LAYOUTS)
    for i in range(100):
        go(0, 0x1000 + 16 * i, 0x2000, 0x3000, 0, 1.0, 0)
    assert len(go.free) == 1


def test_a_launch_that_is_refused_leaves_no_words(cuda):
    fake = cuda()
    go = prepare(BINARY, LAYOUTS)
    for alpha in (2.5, 0.0, -0.0):
        go.launch(0, [0x1000, 0x2000, 0x3000, 0, alpha, 1])
    signs = [struct.pack("f", words(w)["alpha"]) for w in fake.launches]
    assert signs == [struct.pack("f", x) for x in (2.5, 0.0, -0.0)]
    with pytest.raises(BackendError, match="misaligned"):
        go.launch(0, [0x1008, 0x2000, 0x3000, 0, 2.5, 1])
    go.launch(0, [0x1000, 0x2000, 0x3000, 0, 2.5, 1])
    assert words(fake.launches[-1])["maps"] == [0x1000, 0x2000]


def test_ctas_come_while_the_kernel_before_ends(cuda):
    """The emitted kernels wait for it before they touch memory."""
    fake = cuda()
    prepare(BINARY, LAYOUTS)(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    assert [w.early for w in fake.launches] == [True]


def test_threads_launch_what_they_asked_for(cuda):
    fake = cuda()
    go = prepare(BINARY, LAYOUTS)

    def work(thread):
        for i in range(400):
            at = 0x10000 * (thread + 1) + 16 * (i % 50)
            go(thread, at, at + 0x100, at + 0x200, 0, float(i), i)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(fake.launches) == 8 * 400
    for launch in fake.launches:
        seen = words(launch)
        at = seen["maps"][0]
        assert at // 0x10000 == launch.stream + 1
        assert (seen["maps"][1], seen["out"]) == (at + 0x100, at + 0x200)
        assert seen["alpha"] == seen["count"]
        assert (at - 0x10000 * (launch.stream + 1)) // 16 == seen["count"] % 50


def test_a_launch_within_a_launch_has_a_block_of_its_own(cuda, monkeypatch):
    """A finalizer may call while the words of another call are written."""
    fake = cuda()
    go = prepare(BINARY, LAYOUTS)
    launch, inner = go.go, iter([True])

    def crowded(*arguments):
        if next(inner, False):
            go(0, 0x7000, 0x8000, 0x9000, 0, 1.0, 1)
        return launch(*arguments)

    monkeypatch.setattr(go, "go", crowded)
    go(0, 0x1000, 0x2000, 0x3000, 0, 2.5, 4)
    assert [words(w)["maps"] for w in fake.launches] == [[0x7000, 0x8000], [0x1000, 0x2000]]
    assert len(go.free) == 2


def test_a_new_thread_gets_a_context(cuda):
    fake = cuda()
    go = prepare(BINARY, LAYOUTS)
    thread = threading.Thread(target=go, args=(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0))
    thread.start()
    thread.join()
    assert [w.context for w in fake.launches] == [1000]


def test_each_device_has_its_own_kernel(cuda):
    fake = cuda(devices=2)
    there = [None if w is None else replace(w, device=1) for w in LAYOUTS]
    prepare(BINARY, LAYOUTS)(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    prepare(BINARY, there)(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    prepare(replace(BINARY, grid=Grid(tiles=lambda z: z["m"])), there)
    assert [w.context for w in fake.launches] == [1000, 1001]
    assert fake.loaded == [(1000, b"cubin"), (1001, b"cubin")]
    assert fake.context == 1000, "what was current stays current"


def test_clusters(cuda):
    pair = replace(BINARY, cluster=2, grid=Grid(tiles=lambda z: z["m"]))
    fake = cuda()
    go = prepare(pair, LAYOUTS)
    for stream in (3, 4):
        go(stream, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    assert [(w.grid, w.cluster, w.stream) for w in fake.launches] == [(130, 2, 3), (130, 2, 4)]
    fake = cuda(cluster=2)  # the kernel says it itself
    prepare(pair, LAYOUTS)(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    assert [(w.grid, w.cluster) for w in fake.launches] == [(130, 1)]


def test_grids(cuda):
    cuda()

    def grid(**options):
        return prepare(replace(BINARY, grid=Grid(**options)), LAYOUTS).grid

    assert grid(tiles=lambda z: z["m"] * z["n"]) == 132
    assert grid(tiles=lambda z: z["m"] * z["n"], resident=None) == 3 * 132
    assert grid(tiles=lambda z: z["m"] // 100) == 3


def test_misaligned_addresses_are_refused(cuda):
    cuda()
    with pytest.raises(BackendError, match="b is misaligned: address 0x2008"):
        prepare(BINARY, LAYOUTS)(0, 0x1000, 0x2008, 0x3000, 0, 1.0, 0)


def test_the_driver_s_words_are_repeated(cuda, monkeypatch):
    fake = cuda()
    go = prepare(BINARY, LAYOUTS)
    monkeypatch.setattr(FakeDriver, "cuLaunchKernelEx", lambda *_: (700,))
    go = prepare(BINARY, LAYOUTS)
    with pytest.raises(BackendError, match="error 700: said the driver") as error:
        go(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    assert error.value.where == "launch of kernel"
    assert not fake.launches


REFUSED = [
    (0, Layout((300, 511), (512, 1), DType.BF16), "b has shape|a has shape"),
    (0, Layout((300,), (1,), DType.BF16), "a has shape"),
    (0, Layout((300, 512), (512, 1), DType.F16), "a is f16"),
    (0, Layout((0, 512), (512, 1), DType.BF16), "a is empty"),
    (1, Layout((512, 1000), (1, 520), DType.BF16, 1), "several devices"),
    (1, None, "b is missing"),
]


@pytest.mark.parametrize(("index", "layout", "says"), REFUSED, ids=[r[2] for r in REFUSED])
def test_layouts_are_held_against_the_declaration(index, layout, says):
    layouts = list(LAYOUTS)
    layouts[index] = layout
    with pytest.raises(BackendError, match=says):
        bind(BINARY.tensors, layouts)


def test_block_scales_are_counted():
    scale = Tensor(name="s", axes=(Axis(name="k", per=128),), dtype=DType.F32)
    x = tensor("x", "k")
    line = Layout((300,), (1,), DType.BF16)
    assert bind((x, scale), (line, Layout((3,), (1,), DType.F32))) == {"k": 300}
    with pytest.raises(BackendError, match="2 blocks of 128 along k = 300"):
        bind((x, scale), (line, Layout((2,), (1,), DType.F32)))


BAD_MAPS = [
    (mapped("x", (8, 72)), ((64, 64), (64, 1)), "144 bytes"),
    (mapped("x", (8, 4)), ((64, 64), (64, 1)), "8 bytes"),
    (mapped("x", (300, 64)), ((64, 64), (64, 1)), "box"),
    (mapped("x", (8,)), ((64, 64), (64, 1)), "a box of 1 axes"),
    (mapped("x", (8, 64)), ((64, 64), (1, 64)), "innermost"),
    (mapped("x", (8, 64)), ((64, 64), (60, 1)), "multiples of 16"),
    (mapped("x", (8, 64)), ((64, 64), (0, 1)), "multiples of 16"),
]


@pytest.mark.parametrize(("parameter", "layout", "says"), BAD_MAPS, ids=[b[2] for b in BAD_MAPS])
def test_maps_that_no_copy_can_walk(parameter, layout, says):
    with pytest.raises(BackendError) as error:
        map_geometry(parameter, Layout(*layout, DType.BF16))
    assert says in str(error.value)


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    columns=st.sampled_from((8, 64, 200)),
    order=st.randoms(),
)
def test_geometry_follows_the_axes(shape, columns, order):
    """Whatever order memory has, the map lists axes from the contiguous one outwards."""
    axes_in_memory = list(range(len(shape)))
    order.shuffle(axes_in_memory)
    strides, step = [0] * len(shape), columns
    for axis in reversed(axes_in_memory):
        strides[axis], step = step, step * shape[axis]
    layout = Layout((*shape, columns), (*strides, 1), DType.BF16)
    box = (1,) * len(shape) + (8,)
    found = map_geometry(mapped("x", box, span=0), layout)
    assert found.shape == tuple(reversed(layout.shape))
    for n, got, had in zip(reversed(shape), found.strides, reversed(strides), strict=True):
        assert got == had * 2 if n > 1 else got % 16 == 0 < got
    assert found.box == (8,) + (1,) * len(shape)


def test_axes_may_lie_in_another_order():
    parameter = mapped("x", (1, 16, 64))
    found = map_geometry(parameter, Layout((100, 4, 128), (512, 128, 1), DType.BF16), (1, 0, 2))
    assert found.shape == (128, 100, 4)
    assert found.strides == (1024, 256)


def test_plans_keep_no_reference(cuda):
    """A plan holds numbers and nothing of the caller."""
    cuda()
    go = prepare(BINARY, LAYOUTS)
    go(0, 0x1000, 0x2000, 0x3000, 0, 1.0, 0)
    assert isinstance(go._source, bytes)
    assert plan.load(BINARY, 0) is go.kernel
