"""Calls of a layout that came before: what is written out for them launches what any plan does."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace
from types import SimpleNamespace

import hypothesis
import pytest
from hypothesis import strategies as st

import warploom
from warploom.codegen.cuda.tile.signature import WorkParam
from warploom.runtime import guarded_calls as module, runner as runners
from warploom.runtime.runner import Runner, torch_key

from .fake_driver import FakeTensor
from .test_plan import BINARY, SIZES, words
from .test_runner import NAMES, Family, cuda, operands  # noqa: F401 (a fixture)


def layouts_of(given):
    return [(t.shape, t.strides, t.dtype) for t in given]


def same_layouts(given):
    known = layouts_of(given)
    return lambda *now: layouts_of(now) == known


@pytest.fixture
def guarded(monkeypatch):
    """Runners that guard fake tensors; the keys they made."""
    keys = []
    monkeypatch.setattr(runners, "guard_of", same_layouts)

    def key(options, given):
        keys.append(options)
        return torch_key(options, given)

    def make(family, *rest):
        run = Runner(NAMES, family, *rest)
        run._key = key
        return run, keys

    return make


def moved(step, *, out=True, bias=True):
    """Operands of one layout at other addresses."""
    at = 0x10000000 * (step + 1)
    return (
        FakeTensor((300, 512), pointer=at),
        FakeTensor((512, 1000), strides=(1, 520), pointer=at + 0x1000000),
        FakeTensor((300, 1000), pointer=at + 0x2000000) if out else None,
        FakeTensor((1000,), pointer=at + 0x3000000) if bias else None,
    )


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("usual", [False, True])
@pytest.mark.parametrize(("out", "bias"), [(True, True), (True, False), (False, False)])
def test_new_addresses_need_no_key(cuda, guarded, out, bias, usual, devices):  # noqa: F811
    fake = cuda(devices=devices)
    run, keys = guarded(Family(), None, lambda _: (2.5, 7))
    scalars = None if usual else (-0.5, 9)
    for step in range(8):
        tensors = moved(step, out=out, bias=bias)
        done = run(tensors, scalars, "plain")
        assert [x is y for x, y in zip(done, tensors, strict=True)] == [True, True, out, True]
        seen = words(fake.launches[-1])
        assert seen["maps"] == [tensors[0].pointer, tensors[1].pointer]
        assert (seen["out"], seen["bias"]) == (done[2].pointer, bias and tensors[3].pointer)
        assert (seen["alpha"], seen["count"]) == ((2.5, 7) if usual else scalars)
        assert (fake.launches[-1].stream, fake.launches[-1].context) == (77, 1000)
    assert len(keys) == 3  # planned (looked for, then kept), then known
    (entry,) = run._entries.values()
    assert len(entry.plan.free) == 1


def test_usual_scalars_and_others_in_turn(cuda, guarded):  # noqa: F811
    fake = cuda()
    run, _ = guarded(Family(), None, lambda _: (2.5, 7))
    asked = (None, None, None, (-0.0, 9), (0.0, 9), None, None, (2.5, 8), (2.5, 9), None)
    for scalars in asked:
        run(moved(0), scalars, "plain")
    found = [words(w) for w in fake.launches]
    told = [(str(w["alpha"]), w["count"]) for w in found]
    assert told == [("2.5", 7) if s is None else (str(s[0]), s[1]) for s in asked]


def test_memory_to_work_in_is_asked_for_every_launch(cuda, guarded, monkeypatch):  # noqa: F811
    fake, asked = cuda(parameters=(*SIZES, 8)), []

    def work_memory(like, device, size):
        return lambda stream, named: asked.append((stream, named)) or (0x50000 + len(asked), None)

    monkeypatch.setattr(runners, "work_memory", work_memory)
    parameters = (*BINARY.parameters, WorkParam(name="work"))
    run, keys = guarded(Family(replace(BINARY, parameters=parameters, work=lambda sizes: 64)))
    for step in range(6):
        run(moved(step), (1.0, 0), "plain", stream=5 if step == 4 else None)
    held = [int.from_bytes(w.parameters[-1], "little") for w in fake.launches]
    assert held == [0x50001 + i for i in range(6)]
    assert asked == [(77, False)] * 4 + [(5, True), (77, False)]
    assert len(keys) == 4  # memory of a named stream is made elsewhere


@pytest.mark.parametrize("works", [False, True])
def test_no_tensor_is_kept(cuda, guarded, works):  # noqa: F811
    cuda()
    run, _ = guarded(Family(replace(BINARY, work=(lambda sizes: 64) if works else None)))
    tensors = moved(0)
    kept = [weakref.ref(t) for t in tensors]
    if works:
        assert run.plan(tensors, "plain").work_bytes == 64
    else:
        for _ in range(4):
            run(tensors, (1.0, 0), "plain")
    del tensors
    gc.collect()
    assert [k() for k in kept] == [None] * 4


def test_a_named_stream_is_launched_on(cuda, guarded):  # noqa: F811
    fake = cuda()
    run, keys = guarded(Family())
    for stream in (None, None, 5, 6, None):
        run(moved(0), (1.0, 0), "plain", stream=stream)
    assert [w.stream for w in fake.launches] == [77, 77, 5, 6, 77]
    assert len(keys) == 3


def test_addresses_that_copies_cannot_take_are_not_launched(cuda, guarded):  # noqa: F811
    fake, repaired = cuda(), []
    run, _ = guarded(
        Family(), None, lambda _: (), lambda *call: repaired.append(call[-1]) or call[0]
    )
    for step in range(4):
        a, *rest = moved(step)
        run((a, *rest), (1.0, 0), "plain")
        a.pointer += 8
        run((a, *rest), (1.0, 0), "plain")
    assert len(fake.launches) == 4
    assert len(repaired) == 4


def test_maps_that_only_the_driver_moves_are_not_written_out(cuda, guarded):  # noqa: F811
    fake = cuda(secret=True)
    run, keys = guarded(Family())
    for step in range(4):
        run(moved(step), (1.0, 0), "plain")
    assert [words(w)["maps"][0] for w in fake.launches] == [moved(i)[0].pointer for i in range(4)]
    assert len(keys) == 5


def test_calls_without_the_telling_tensor_go_by_their_key(cuda, guarded):  # noqa: F811
    """It may be a result that is made, or an optional tensor."""
    fake = cuda()
    run, keys = guarded(Family(), None, lambda _: (1.0, 0), None, 2)
    for step in range(4):
        done = run(moved(step, out=False), None, "plain")
        assert words(fake.launches[-1])["out"] == done[2].pointer
    assert len(keys) == 5
    for step in range(4):
        run(moved(step), None, "plain")
    assert len(keys) == 8


def test_a_tensor_given_twice_is_reported_from_two(cuda, guarded, monkeypatch):  # noqa: F811
    """Guards of torch refuse twins."""
    fake = cuda()

    def alone(given):
        known = same_layouts(given)
        return lambda *now: len({id(t) for t in now}) == len(now) and known(*now)

    monkeypatch.setattr(runners, "guard_of", alone)
    names = [replace(t, axes=BINARY.tensors[0].axes) for t in BINARY.tensors[:2]]
    tensors = (*names, *BINARY.tensors[2:])
    run, keys = guarded(Family(replace(BINARY, tensors=tensors, places={})))
    x, y = (FakeTensor((300, 512), pointer=0x1000000 * i) for i in (1, 2))
    out = FakeTensor((300, 1000), pointer=0x5000000)
    for a, b in [(x, x)] * 4 + [(x, y)] * 3 + [(y, y), (y, x)] * 2:
        run((a, b, out, None), (1.0, 0), "plain")
        assert words(fake.launches[-1])["maps"] == [a.pointer, b.pointer]
    assert len(keys) < 3 + 2 + 4


def test_words_that_a_block_holds_are_left(cuda, guarded):  # noqa: F811
    """Until any other launch of the plan has written there."""
    fake = cuda()
    run, _ = guarded(Family())
    for step in (0, 0, 0, 1, 1, 0):
        run(moved(step), (1.0, step), "plain")
    (entry,) = run._entries.values()
    entry.plan.launch(77, [t.pointer for t in moved(7)] + [2.0, 7])
    run(moved(0), (-0.0, 0), "plain")
    found = [(words(w)["maps"][0], words(w)["count"]) for w in fake.launches]
    assert found == [(moved(i)[0].pointer, i) for i in (0, 0, 0, 1, 1, 0, 7, 0)]


def test_threads_share_what_is_written_out(cuda, guarded):  # noqa: F811
    fake = cuda()
    run, _ = guarded(Family())
    for _ in range(2):
        run(moved(0), (1.0, 0), "plain")
    fake.launches.clear()

    def work(thread):
        for i in range(200):
            run(moved(200 * thread + i), (float(i), thread), "plain", stream=thread)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(fake.launches) == 8 * 200
    for launch in fake.launches:
        seen = words(launch)
        a, b, out, bias = moved(200 * launch.stream + int(seen["alpha"]))
        assert seen["maps"] == [a.pointer, b.pointer]
        assert (seen["out"], seen["bias"]) == (out.pointer, bias.pointer)
        assert seen["count"] == launch.stream


def test_other_layouts_and_options_find_their_own_plans(cuda, guarded):  # noqa: F811
    """At the same addresses as well: a guess is only a guess."""
    fake, family = cuda(), Family()
    run, keys = guarded(family)
    small, large = operands(m=128), operands(m=300)
    bias = FakeTensor((1000,), pointer=0x7000)
    for _ in range(4):
        for a, b in (small, large):
            for options in ("one", "other"):
                for last in (None, bias):
                    made = run((a, b, None, last), (1.0, 0), options)
                    assert made[2].shape == (a.shape[0], 1000)
                    seen = words(fake.launches[-1])
                    assert (seen["m"], seen["bias"]) == (a.shape[0], 0x7000 if last else 0)
    assert len(family.asked) == 8
    run((*operands(), None, None), (1.0, 0), "one")
    count = len(keys)
    run((*operands(), None, None), (1.0, 0), "one")
    assert len(keys) == count
    run.forget()
    run((*operands(), None, None), (1.0, 0), "one")
    assert len(keys) > count
    assert len(family.asked) == 9


def test_guesses_and_guards_are_bounded(cuda, monkeypatch):  # noqa: F811
    cuda()
    guards = []
    never = lambda given: guards.append(1) or (lambda *now: False)  # noqa: E731
    monkeypatch.setattr(runners, "guard_of", never)
    monkeypatch.setattr(module, "PLACES", 4)
    family = Family()
    run = Runner(NAMES, family)
    for i in range(60):
        run(moved(i), (1.0, 0), "plain")
        assert len(run.seen._guesses) <= 5
    assert len(guards) == module.GUARDS
    assert len(family.asked) == 1


def test_public_calls_that_come_again_launch_as_before(cuda, monkeypatch):  # noqa: F811
    fake = cuda(parameters=())
    gemms, attentions = warploom.runtime.gemm.CALLS, warploom.runtime.attention.CALLS
    for calls in (gemms, attentions):
        monkeypatch.setattr(calls.runner.seen, "_guard_of", same_layouts)
    a = FakeTensor((512, 256), pointer=0x1000000)
    b = FakeTensor((256, 384), strides=(1, 256), pointer=0x2000000)
    bias, out = FakeTensor((384,), pointer=0x3000000), FakeTensor((512, 384), pointer=0x4000000)
    cases = [{}, {"out": out}, {"bias": bias}, {"bias": bias, "out": out}, {"activation": "gelu"}]
    for given in [case for case in cases for _ in range(4)]:
        found = warploom.gemm(a, b, **given)
        assert found is out if "out" in given else found.shape == (512, 384)
    names = [w.cubin for w in fake.launches]
    assert names == [name for name in names[::4] for _ in range(4)]
    assert all(e.calls for e in gemms.runner._entries.values())
    assert warploom.gemm(a, b, out=out, stream=9) is out
    assert fake.launches[-1].stream == 9
    q, keys = FakeTensor((1, 2, 128, 64), pointer=0x1000000), FakeTensor((1, 2, 128, 64))
    fake.launches.clear()
    masks = [{}, {"causal": True}, {"scale": 0.5}, {"return_lse": True}]
    for given in [mask for mask in masks for _ in range(4)]:
        found = warploom.attention(q, keys, keys, **given)
        assert isinstance(found, tuple) == ("return_lse" in given)
    names = [w.cubin for w in fake.launches]
    assert names == [name for name in names[::4] for _ in range(4)]
    assert warploom.attention(q, keys, keys, out=q) is q


class Tensor(SimpleNamespace):
    def data_ptr(self):
        return self.at


@hypothesis.given(
    kinds=st.lists(st.sampled_from(["given", "made", "absent"]), max_size=6),
    scalars=st.lists(st.floats(width=32, allow_nan=False), max_size=3),
    named=st.booleans(),
    works=st.booleans(),
    several=st.booleans(),
    odd=st.booleans(),
)
def test_any_call_is_written_out(kinds, scalars, named, works, several, odd):
    """One word a value: addresses given and made, scalars, memory to work in."""
    kinds, done = ["given", "given", *kinds], []
    count = len(kinds)
    given = tuple(i for i, kind in enumerate(kinds) if kind == "given")
    made = tuple((i, lambda i=i: Tensor(at=16 * i)) for i, k in enumerate(kinds) if k == "made")
    values = count + len(scalars) + works
    views = {"Q": [0] * values, "f": [0.0] * values}
    block = SimpleNamespace(views=views, pointer="p", now=())
    forms = ["f" if count <= i < count + len(scalars) else "Q" for i in range(values)]

    def launched(*call):
        done.append((call, [block.views[form][i] for i, form in enumerate(forms)]))

    plan = SimpleNamespace(
        scalars=len(scalars),
        aligned=tuple(range(count)),
        words=tuple((form, i, i, 0) for i, form in enumerate(forms)),
        several=several,
        go=launched,
        launch_there=launched,
        function="f",
        again=None,
        block=lambda _: block,
        new_config=lambda at: (f"config of {at}", None),
        configs={},
        free=[],
    )
    entry = module.Entry(
        plan, given, made, lambda: 7, (lambda at, named: (9000 + at, None)) if works else None
    )
    here = [Tensor(at=1600 + 16 * i + (8 if odd and i == 0 else 0)) for i in given]
    tensors = [here[given.index(i)] if i in given else None for i in range(count)]
    call = module._call_of(entry, lambda *now: list(now) == here, {}, count, 1)
    found = call(tensors, tuple(scalars), 5 if named else None, tensors[1].at)
    if odd or (named and (made or works)):
        assert found is None
        assert not done
        return
    at = 5 if named else 7
    wanted = [0 if t is None else t.at for t in found] + scalars + [9000 + at] * works
    assert done == [(done[0][0], wanted)]
    assert done[0][0][0] == f"config of {at}"
    assert plan.free == [block]
    assert [t is not None for t in found] == [kind != "absent" for kind in kinds]
    for i, kind in enumerate(kinds):  # one more tensor is another call
        if kind != "given":
            more = [*tensors[:i], here[0], *tensors[i + 1 :]]
            assert call(more, tuple(scalars), None, tensors[1].at) is None
