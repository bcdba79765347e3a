"""Runners against a driver that launches nothing: keys, results made, bounds, threads."""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import nullcontext
from dataclasses import replace

import pytest

import warploom
from warploom.errors import BackendError
from warploom.ir.tile import DType
from warploom.runtime import guarded_calls as known, runner as module, tensors, tuning as tune
from warploom.runtime.plan import MisalignedError
from warploom.runtime.runner import RefusedError, Runner

from .fake_driver import FakeTensor, clear_caches, fake_compiler, install
from .test_plan import BINARY, SIZES, pointer, words

NAMES = ("a", "b", "out", "bias")


@pytest.fixture
def cuda(monkeypatch):
    """Results are made by counting addresses upwards."""
    fake_compiler(monkeypatch)
    made = []

    def allocator(like, shape, dtype):
        def make():
            made.append(FakeTensor(shape, pointer=0x100000 + 0x1000 * len(made)))
            return made[-1]

        return make

    monkeypatch.setattr(module, "allocator", allocator)
    monkeypatch.setattr(known, "on_stream", lambda like, stream: nullcontext())
    monkeypatch.setattr(tensors, "_torch_stream", lambda device: lambda: 77)
    yield lambda **o: install(monkeypatch, **{"parameters": SIZES, **o})
    monkeypatch.undo()
    clear_caches()


def operands(m=300, n=1000, k=512, **more):
    return FakeTensor((m, k), **more), FakeTensor((k, n), strides=(1, 520))


class Family:
    """Counts how often it is asked for a kernel."""

    def __init__(self, binary=BINARY):
        self.asked, self.binary = [], binary

    def __call__(self, layouts, options):
        self.asked.append(options)
        return self.binary


def test_a_key_is_planned_once(cuda):
    fake, family = cuda(), Family()
    run = Runner(NAMES, family)
    a, b = operands()
    for _ in range(3):
        run((a, b, None, None), (1.0, 0), "plain")
    run((a, b, None, None), (2.0, 5), "other")
    assert family.asked == ["plain", "other"]
    assert [words(w)["alpha"] for w in fake.launches] == [1.0, 1.0, 1.0, 2.0]


def test_every_part_of_a_layout_tells_keys_apart(cuda):
    cuda()
    family = Family()
    run = Runner(NAMES, family)
    a, b = operands()
    calls = [
        (a, b, None, None),
        (FakeTensor((301, 512)), b, None, None),
        (FakeTensor((300, 512), strides=(520, 1)), b, None, None),
        (a, b, FakeTensor((300, 1000), pointer=0x9000000), None),
        (a, b, None, FakeTensor((1000,))),
    ]
    for call in calls * 2:
        run(call, (1.0, 0))
    assert len(family.asked) == len(calls)
    with pytest.raises(BackendError, match="a is f16"):
        run((FakeTensor((300, 512), "torch.float16"), b, None, None), (1.0, 0))


def test_missing_outputs_are_made_for_every_call(cuda):
    fake = cuda()
    run = Runner(NAMES, Family())
    a, b = operands()
    found = [run((a, b, None, None), (1.0, 0))[2] for _ in range(3)]
    assert [t.shape for t in found] == [(300, 1000)] * 3
    assert [words(w)["out"] for w in fake.launches] == [t.pointer for t in found]
    assert len({t.pointer for t in found}) == 3
    assert [w.stream for w in fake.launches] == [77] * 3


def test_a_given_output_and_stream_are_used(cuda):
    fake = cuda()
    run = Runner(NAMES, Family())
    out = FakeTensor((300, 1000), pointer=0x9000000)
    for _ in range(2):
        assert run((*operands(), out, None), (1.0, 0), stream=5)[2] is out
    assert [(words(w)["out"], w.stream) for w in fake.launches] == [(0x9000000, 5)] * 2


def test_optional_tensors_may_be_given(cuda):
    fake = cuda()
    run = Runner(NAMES, Family())
    bias = FakeTensor((1000,), pointer=0x7000)
    for _ in range(2):
        run((*operands(), None, bias), (1.0, 0))
    assert [words(w)["bias"] for w in fake.launches] == [0x7000] * 2


def test_plans_are_bounded_and_can_be_forgotten(cuda, monkeypatch):
    cuda()
    monkeypatch.setattr(module, "ENTRIES", 4)
    family = Family()
    run = Runner(NAMES, family)
    a, b = operands()
    for option in range(10):
        run((a, b, None, None), (1.0, 0), option)
    assert len(run._entries) == 4
    run((a, b, None, None), (1.0, 0), 9)
    assert len(family.asked) == 10, "the newest are kept"
    run.forget()
    run((a, b, None, None), (1.0, 0), 9)
    assert len(family.asked) == 11


def test_runners_are_safe_to_share(cuda):
    fake, family = cuda(), Family()
    run = Runner(NAMES, family)

    def work(thread):
        for i in range(200):
            at = 0x1000000 * (thread + 1)
            a = FakeTensor((300, 512), pointer=at)
            b = FakeTensor((512, 1000), strides=(1, 520), pointer=at + 0x100000)
            out = FakeTensor((300, 1000), pointer=at + 0x400000)
            run((a, b, out, None), (float(i), thread), i % 3, stream=thread)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(fake.launches) == 8 * 200
    for launch in fake.launches:
        seen, at = words(launch), 0x1000000 * (launch.stream + 1)
        assert (seen["maps"], seen["out"]) == ([at, at + 0x100000], at + 0x400000)
        assert seen["count"] == launch.stream


def test_tensors_of_other_libraries_share_plans(cuda):
    class Array:
        def __init__(self, shape, strides, at=0x5000000):
            self.__cuda_array_interface__ = {
                "data": (at, False),
                "shape": shape,
                "typestr": "<f2",
                "strides": strides,
            }

    fake = cuda()
    kinds = tuple(replace(t, dtype=DType.F16) for t in BINARY.tensors)
    family = Family(replace(BINARY, tensors=kinds))
    run = Runner(NAMES, family)
    for _ in range(3):
        a, b = Array((300, 512), None), Array((512, 1000), (2, 1040))
        run((a, b, Array((300, 1000), None, 0x9000000), None), (1.0, 0))
    assert len(family.asked) == 1
    assert [w.stream for w in fake.launches] == [0] * 3


def test_too_few_tensors_are_refused(cuda):
    cuda()
    with pytest.raises(BackendError, match="2 tensors for 4") as error:
        Runner(NAMES, Family())(operands())
    assert error.value.fix == "a, b, out, bias"


def test_gemm_reaches_its_kernel(cuda):
    """The whole column but ptxas and the driver: scheduled, proven, planned once, launched."""
    fake = cuda(parameters=())
    a = FakeTensor((512, 256), pointer=0x1000000)
    b = FakeTensor((256, 384), strides=(1, 256), pointer=0x2000000)
    outs = [warploom.gemm(a, b) for _ in range(3)]
    warploom.gemm(a, b, out=outs[0], stream=9)
    assert [t.shape for t in outs] == [(512, 384)] * 3
    assert [w.stream for w in fake.launches] == [77, 77, 77, 9]
    assert len(fake.loaded) == 1
    assert fake.loaded[0][1].startswith(b"gemm ")
    maps = {tuple(e[3]): e[4] for e in fake.encoded}
    assert maps[256, 512] == [512]  # A, innermost first, and the bytes of a row
    assert maps[256, 384] == [512]  # B as its caller stored it


class Clock:
    """Events of a stream on which only launches take time."""

    now = 0.0

    def __init__(self):
        self.marks = [0.0, 0.0]

    def mark(self, which, stream):
        self.marks[which] = Clock.now

    def milliseconds(self):
        return self.marks[1] - self.marks[0]


def test_measuring_takes_turns_and_takes_the_quickest(monkeypatch):
    monkeypatch.setattr(tune, "Timer", Clock)

    def costs(ms):
        def launch():
            Clock.now += ms

        return launch

    found = tune.timed({0: costs(3.0), 1: costs(1.0), 2: costs(2.0)}, tune.rotated)
    assert found.values == pytest.approx({0: 3.0, 1: 1.0, 2: 2.0})
    assert found.best == 1


def test_misaligned_and_odd_tensors_are_known_without_planning_again(cuda, monkeypatch):
    """What does not fit is copied by the caller of the runner; asking again costs a look-up."""
    cuda()
    asked = []

    def refuse(layouts, options):
        asked.append(options)
        raise RefusedError("rows of 14 bytes")

    run, kept = Runner(NAMES, refuse), []
    for _ in range(3):
        tensors = operands()
        kept += map(weakref.ref, tensors)
        with pytest.raises(RefusedError, match="14 bytes"):
            run((*tensors, None, None), (1.0, 0))
    assert len(asked) == 1
    del tensors
    gc.collect()
    assert [k() for k in kept] == [None] * 6  # the refusal is remembered, not who was refused


def test_addresses_are_as_aligned_as_the_kernel_wants(cuda):
    fake = cuda(parameters=(8,))
    words = (pointer("out"),)
    run = Runner(NAMES, Family(replace(BINARY, parameters=words, aligned=frozenset({"out"}))))
    a, b = operands()
    run((a, b, FakeTensor((300, 1000), pointer=0x9000010), None), (1.0, 0), stream=1)
    for _ in range(2):
        with pytest.raises(MisalignedError, match="out is misaligned: address 0x9000008"):
            run((a, b, FakeTensor((300, 1000), pointer=0x9000008), None), (1.0, 0), stream=1)
    assert len(fake.launches) == 1
