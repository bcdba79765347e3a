"""Loops split over CTAs: what comes apart, what each part runs, and that the result is proven."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

import warploom as wl
from warploom.compiler.compiled import Compiled
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import BackendError, KernelError
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.swiglu import swiglu
from warploom.passes.body import body_of
from warploom.passes.driver import lower
from warploom.passes.heuristics import choose
from warploom.passes.split_k import meeting_of
from warploom.verify.roles import verify_roles


def product(**pins):
    types = {"a": "bf16", "b": "bf16", "out": "bf16"}
    made = gemm.compile(types, without={"bias", "residual"})
    return Compiled(made.kernel, sizes={"m": 128, "n": 4096, "k": 4096}, pins=pins)


def scores(**more):
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    return attention.compile(
        types, sizes={"d": 64}, without={"lengths", "lse"}, positive=frozenset({"scale"}), **more
    )


def test_a_sum_comes_apart():
    found = meeting_of(body_of(product().rewritten))
    assert found.top is None
    assert [(c.result.name, scaled) for c, scaled in found.sums] == [("acc_out", False)]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_meets_at_the_highest_maximum(causal):
    found = meeting_of(body_of(scores(constants={"causal": causal}).rewritten))
    assert found.top is not None
    assert found.top.result.name == "top_out"
    assert {(c.result.name, scaled) for c, scaled in found.sums} == {
        ("l_out", True),
        ("o_out", True),
    }


@pytest.mark.parametrize("text", [swiglu, rms_gemm])
def test_several_sums_come_apart(text):
    names = [t.name for t in text.signature.tensors]
    kernel = text.compile(dict.fromkeys(names, "bf16")).rewritten
    assert all(not scaled for _, scaled in meeting_of(body_of(kernel)).sums)


@wl.kernel
def decayed(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc = acc * 0.5 + a[m, k] @ b[n, k].T
    out[m, n] = acc


@wl.kernel
def offset(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc, worst = wl.zeros(m, n), wl.full(m, -1.0e30)
    for k in wl.steps(a.k):
        x = a[m, k] @ b[n, k].T
        worst = wl.maximum(worst, a[m, k].to(wl.f32).max(axis=1))
        acc += x
    out[m, n] = acc + worst


@pytest.mark.parametrize("text", [decayed, offset])
def test_what_depends_on_the_order_is_refused_at_the_loop(text):
    kernel = text.compile(dict.fromkeys(("a", "b", "out"), "bf16")).rewritten
    with pytest.raises(KernelError, match="split over CTAs") as refused:
        meeting_of(body_of(kernel))
    assert "for k in wl.steps(a.k)" in str(refused.value)
    assert all(c.config.split_k == 1 for c in choose(kernel, {"m": 64, "n": 64, "k": 8192})[:4])


@given(st.integers(-3, 5000), st.integers(2, 64), st.integers(1, 4))
def test_parts_cover_every_iteration_once(count, split, fewest):
    """The lines of the emitted kernel, computed here: nothing twice, the rest past the end."""
    seen = []
    for part in range(split):
        share = max((count + split - 1) // split if count > 0 else 0, fewest)
        tiles = max(min(count - part * share, share), fewest)
        seen += range(part * share, part * share + tiles)
    assert [i for i in sorted(seen) if i < count] == list(range(max(count, 0)))
    assert len(set(seen)) == len(seen) or max(seen) >= count


def test_the_emitted_lines_are_those():
    made = product(m=128, n=128, consumer_warpgroups=2, split_k=4)
    tiles = made.module.role("producer").tiles
    bound = [(x.name.name, str(x.value)) for x in tiles.bounds]
    assert ("trips_of_part", "max((trips_of_all + 3) / 4, 1)") in bound
    assert bound[-1] == ("first_k", "first_k + part * trips_of_part * 64")
    assert str(tiles.trips) == "max(min(trips_of_all - part * trips_of_part, trips_of_part), 1)"
    assert "const int k_share = max((k_all + 3) / 4, 1);" in made.cuda
    assert "const int k_tiles = max(min(k_all - part * k_share, k_share), 1);" in made.cuda
    assert "first_k = first_k + part * k_share * 64;" in made.cuda


def test_idle_sms_get_parts_of_a_loop():
    found = choose(product().rewritten, {"m": 1024, "n": 1024, "k": 16384})[0].config
    assert found.split_k > 1
    tiles = -(-1024 // dict(found.tile)["n"]) * -(-1024 // dict(found.tile)["m"])
    assert tiles * found.split_k <= 132


def test_two_parts_meet_in_shared_memory():
    """Each CTA of the cluster ends one consumer's rows and sends those of the other."""
    made = product(m=128, n=128, consumer_warpgroups=2, split_k=2, split_k_in_cluster=True)
    found = lower(made.rewritten, made.choices[0].config)
    assert found.document.cluster == 2
    assert found.document.exchanges[0].across == "near"
    assert verify_roles(found.document).clean
    source = emit_kernel(found)
    assert "const bool is_last = part == instance % 2;" in source.text
    assert source.text.count("send_shared4(to") == 16  # 64 floats of a thread
    assert source.shared_bytes <= 232_448
    assert "work" not in {p.name for p in source.params}
    other = replace(found.document.exchanges[0], steps=found.document.exchanges[0].steps[:-1])
    with pytest.raises(BackendError, match="cannot be emitted as it is judged"):
        emit_kernel(replace(found, document=replace(found.document, exchanges=(other,))))


@pytest.mark.parametrize(
    ("pins", "why"),
    [({"split_k": 3}, "are a cluster"), ({"split_k": 2, "cluster": 2}, "fetches rows together")],
)
def test_parts_that_cannot_meet_near_are_refused(pins, why):
    made = product(m=128, n=128, consumer_warpgroups=2, split_k_in_cluster=True, **pins)
    with pytest.raises(KernelError, match=why):
        lower(made.rewritten, made.choices[0].config)


def test_maxima_meet_far():
    made = Compiled(
        scores().kernel, pins={"s": 64, "t": 64, "consumer_warpgroups": 1, "split_k": 2}
    )
    with pytest.raises(KernelError, match="depend on a maximum"):
        lower(made.rewritten, replace(made.choices[0].config, split_k_in_cluster=True))


def test_full_waves_are_not_split():
    kernel = product().rewritten
    assert choose(kernel, {"m": 8192, "n": 8192, "k": 8192})[0].config.split_k == 1


@pytest.fixture(scope="module")
def lowered():
    made = product(m=128, n=128, consumer_warpgroups=2, split_k=4)
    return lower(made.rewritten, made.choices[0].config)


def test_a_split_program_is_proven(lowered):
    assert verify_roles(lowered.document).clean


def test_a_tile_that_ends_without_its_parts_is_found(lowered):
    """The store reads what all parts left together: without the meeting there is no such value."""
    programs = tuple(
        replace(p, epilogue=tuple(e for e in p.epilogue if getattr(e, "op", "") != "meet"))
        for p in lowered.document.programs
    )
    assert not verify_roles(replace(lowered.document, programs=programs)).clean


def test_only_the_last_part_ends_the_tile(lowered):
    text = emit_kernel(lowered).text
    after = text[text.index("if (is_last) {\n        //") :]
    assert "tma_store" in after
    before = text[: text.index("bool is_last = false;")]
    assert "tma_store" not in before.rpartition("for (int unit")[2]
    assert "atomicAdd(counted, 1u) == 3" in text
    assert "counted[0] = counted[1] = 0;" in text


def test_a_residual_keeps_ragged_tiles_where_they_are():
    """It may be the result itself, which no element may be added to twice."""
    types = dict.fromkeys(("a", "b", "out", "residual"), "bf16")
    made = gemm.compile(types, without={"bias"})
    pins = {"m": 128, "n": 128, "consumer_warpgroups": 2}
    text = Compiled(made.kernel, sizes={"m": 999, "n": 999, "k": 64}, pins=pins).cuda
    assert "const int pos_m = (band + inside % tall) * 128;" in text


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_pulled_tiles_cover_every_element(emitted, rows, columns):
    """The emitted places of tiles, computed here: all elements, from multiples of 16 bytes."""
    for axis, extent, size in (("m", 128, rows), ("n", 128, columns)):
        line = re.search(rf"const int pos_{axis} = (.*);", emitted)[1]
        number = re.search(r"min\((.*?) \* 128,", line)[1]
        text = line.replace(number, "number").replace("/", "//").replace(f"len_{axis}", "size")
        starts = [
            eval(text, {"number": i, "size": size, "min": min, "max": max})
            for i in range(-(-size // extent))
        ]
        assert all(s % 8 == 0 and s >= 0 for s in starts)
        seen = {e for s in starts for e in range(s, s + extent) if e < size}
        assert seen == set(range(size))
        assert all(s + extent < size + 8 for s in starts) or size < extent


@pytest.fixture(scope="module")
def emitted():
    return product(m=128, n=128, consumer_warpgroups=2, split_k=1).cuda
