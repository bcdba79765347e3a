"""Attention on gfx950: scheduled from its text, proven, gated, and right in the emulator."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import warploom as wl
from tests.codegen_amdgcn.text_mutants import text_mutants
from warploom.codegen.amdgcn import check_isa
from warploom.codegen.amdgcn.attention import (
    AttentionShape,
    attention_tile,
    attention_tile_kernel,
    fit_attention,
    held_registers,
    try_kernel,
)
from warploom.codegen.amdgcn.emulator import EARLY, LATE, STARVED, TRAMPLED, Order, random_timing
from warploom.codegen.amdgcn.emulator.operands import Wave
from warploom.codegen.amdgcn.emulator.transfer import Devices, make_transfer
from warploom.codegen.amdgcn.emulator.vector import VECTOR
from warploom.errors import BackendError, DocumentError
from warploom.ir import read_schedule, write_schedule
from warploom.kernels.attention import attention, packed
from warploom.kernels.swiglu import swiglu
from warploom.verify import Code, verify

TIMINGS = [LATE, EARLY, STARVED, TRAMPLED, random_timing(1)]


def capped(x, b, h, s, t):
    return 20.0 * wl.tanh(x * 0.05) - 0.01 * wl.abs(s - t).to(wl.f32)


def window(b, h, s, t):
    return (t <= s) & (s - t < 70)


# dtype, head, keys a step, waves, choices
CASES = {
    "full": ("bf16", 64, 64, 4, {}),
    "causal": ("bf16", 64, 64, 4, {"causal": "end"}),
    "functions": ("f16", 64, 64, 4, {"score": capped, "visible": window}),
    "wide": ("bf16", 128, 64, 4, {}),
    "wide causal": ("bf16", 128, 64, 4, {"causal": True}),
    "wide, 8 waves": ("bf16", 128, 64, 8, {}),
    "f16, 8 waves": ("f16", 64, 64, 8, {"causal": True}),
    "few keys": ("bf16", 128, 32, 4, {}),
}
QUICK = ["full", "causal", "functions"]
SLOW = [c for c in CASES if c not in QUICK]


@cache
def text_of(case):
    dtype, head, _, _, choices = CASES[case]
    types = dict.fromkeys(("q", "k", "v", "out"), dtype)
    kernel = attention.specialise(types, sizes={"d": head}, constants=choices, without={"lengths"})
    return kernel, attention_tile_kernel(kernel)


@cache
def made(case):
    _, _, keys, waves, _ = CASES[case]
    text = text_of(case)[1]
    return fit_attention(text, attention_tile(text, keys=keys, waves=waves))


def run(case, timing, order=Order.FORWARD, *, b=1, h=2, g=1, s=70, t=130):
    kernel, emitted = text_of(case)[0], made(case)[1]
    sizes = {"b": b, "h": h, "g": g, "s": s, "t": t}
    found = try_kernel(
        kernel, emitted.assembly, emitted.sidecar, sizes, {"scale": 0.2}, timing=timing, order=order
    )
    assert found.right, (found.error, found.allowed)
    return found


@pytest.mark.parametrize("case", QUICK)
def test_the_schedule_is_proven_and_the_code_is_the_schedule(case):
    schedule, emitted = made(case)
    report = verify(schedule.document)
    assert report.clean
    assert report.trips_proven == "all"
    assert not report.not_judged
    text = write_schedule(schedule.document)
    assert read_schedule(text) == schedule.document
    assert write_schedule(read_schedule(text)) == text
    assert emitted.gate.exact
    assert emitted.gate.resources.spills == 0


@pytest.mark.parametrize("case", QUICK)
def test_results_are_numpys_and_the_same_under_every_timing(case):
    first = run(case, TIMINGS[0])
    others = TIMINGS[1:] if case == "full" else TIMINGS[-1:]
    for timing, order in zip(others, (*Order, Order.FORWARD), strict=False):
        again = run(case, timing, order)
        for name, values in first.results.items():
            assert np.array_equal(values, again.results[name]), (timing.name, order)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("case", SLOW)
def test_wider_and_longer_kernels(case):
    assert made(case)[1].gate.exact
    for timing in TIMINGS:
        run(case, timing, Order.MIXED, b=2, h=2, g=1, s=70, t=333)


@pytest.mark.parametrize(("s", "t"), [(1, 1), (129, 64), (3, 65)])
def test_any_number_of_queries_and_keys(s, t):
    run("full", STARVED, s=s, t=t)


def test_groups_batches_and_rows_that_see_nothing():
    run("full", TRAMPLED, b=2, h=4, g=2, s=40, t=70)
    found = run("causal", LATE, s=80, t=33)  # the first 47 queries see no key
    assert np.all(found.results["out"][:, :, :47] == 0)
    assert np.all(np.isneginf(found.results["lse"][:, :, :47]))


def test_tiles_nobody_sees_are_not_visited(monkeypatch):
    """Of 300 keys in five tiles, blocks of 128 queries need two, four and five when causal."""
    loads = {}
    for case in ("full", "causal"):
        count = iter(range(10**6))
        monkeypatch.setattr(Wave, "issue_dma", lambda w, act, n=count: (next(n), act()))
        run(case, EARLY, h=1, s=300, t=300)
        loads[case] = next(count)
        monkeypatch.undo()
    assert loads["causal"] < 0.85 * loads["full"]


def test_registers_of_the_model_and_of_the_code():
    for case in QUICK:
        emitted = made(case)[1]
        held = held_registers(emitted.plan, emitted.gate.resources)
        assert held.real <= held.budget
        assert held.real - held.peak >= -16, held.text()
        assert "hold values at the peak" in held.text()


def without(document, phase, index):
    entries = list(getattr(document, phase))
    del entries[index]
    return replace(document, **{phase: tuple(entries)})


def test_every_entry_that_is_dropped_is_missed():
    document = made("full")[0].document
    for phase in ("prologue", "kernel", "epilogue"):
        for index, entry in enumerate(getattr(document, phase)):
            report = verify(without(document, phase, index))
            assert not report.clean, (phase, index, entry.op.label())
            if entry.op.tag < 128:
                assert any(f.code is Code.FLOW for f in report.findings)


def test_every_vector_op_that_moves_past_its_neighbour_in_the_flow_is_found():
    document = made("full")[0].document
    flow = {(op.name, op.args): op for op in document.flow.ops}
    in_registers = {h.value for h in document.flow.homes if "." not in h.place}
    moved = 0
    for at in range(len(document.kernel) - 1):
        one, other = (flow.get((e.op.name, (e.op.subtile,))) for e in document.kernel[at : at + 2])
        if one is None or other is None:
            continue
        if not in_registers & set(one.results) & {o.value for o in other.operands}:
            continue
        entries = list(document.kernel)
        entries[at : at + 2] = entries[at + 1], entries[at]
        assert not verify(replace(document, kernel=tuple(entries))).clean
        moved += 1
    assert moved >= 2


def test_an_op_nobody_declared_and_a_flow_of_nothing_are_refused():
    document = made("full")[0].document
    flow = document.flow
    fewer = replace(flow, ops=tuple(op for op in flow.ops if op.name != "make_p"))
    text = write_schedule(replace(document, flow=fewer))
    with pytest.raises(DocumentError, match="no op defines the value"):
        read_schedule(text)
    report = verify(replace(document, kernel=document.kernel * 2))
    assert any(f.code is Code.FLOW for f in report.findings)


def test_weakened_waits_and_dropped_barriers_are_seen_by_the_gate():
    schedule, emitted = made("full")
    plan = AttentionShape(schedule.document, emitted.plan.tile)
    assert check_isa(plan, emitted.assembly).exact
    setup = emitted.assembly[: emitted.assembly.index(" lds")].count("\n")
    mutants = [m for m in text_mutants(emitted.assembly) if m.line > setup]
    assert mutants
    for mutant in mutants:
        assert not check_isa(plan, mutant.text).exact, (mutant.line, mutant.what)


def test_a_missing_wait_for_a_tile_makes_results_wrong():
    kernel, emitted = text_of("full")[0], made("full")[1]
    sizes = {"b": 1, "h": 1, "g": 1, "s": 64, "t": 260}
    wrong = 0
    for mutant in text_mutants(emitted.assembly):
        if "vmcnt" not in mutant.what or "dropped" not in mutant.what:
            continue
        found = try_kernel(
            kernel, mutant.text, emitted.sidecar, sizes, {"scale": 0.2}, timing=STARVED
        )
        wrong += not found.right
    assert wrong


def specialised(text, **kwargs):
    left_out = kwargs.pop("without", set())
    types = {t.name: t.dtype or "bf16" for t in text.signature.tensors if t.name not in left_out}
    types = {n: d for n, d in types.items() if isinstance(d, str)}
    return text.specialise(types, without=left_out, **kwargs)


@wl.kernel
def biased(
    q: wl.In["s", "d"],
    k: wl.In["t", "d"],
    v: wl.In["t", "d"],
    bias: wl.In["t", wl.f32],
    out: wl.Out["s", "d"],
):
    s = wl.tile(out, whole="d")
    qs = q[s]
    o = wl.zeros(s, q.d)
    for t in wl.steps(k.t):
        x = qs @ k[t].T + bias[t]
        o += x.to(wl.bf16) @ v[t]
    out[s] = o


REFUSED = {
    "lengths": (lambda: specialised(attention, sizes={"d": 64}, without={"lse"}), "bounded by"),
    "short rows": (
        lambda: specialised(attention, sizes={"d": 32}, without={"lse", "lengths"}),
        "rows of 32",
    ),
    "packed": (
        lambda: specialised(packed, sizes={"d": 64}, without={"lse"}),
        "anything but batches",
    ),
    "swiglu": (lambda: specialised(swiglu), "anything but batches"),
    "bias": (lambda: specialised(biased, sizes={"d": 64}), "load of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_kernels_are_refused_at_the_authors_line(name):
    kernel, words = REFUSED[name]
    with pytest.raises(BackendError, match=words) as error:
        attention_tile_kernel(kernel())
    assert ".py:" in error.value.where


@pytest.mark.slow
def test_no_softmax_at_all_and_no_heads():
    """A kernel without maxima: weights are scores squared, one matrix a call."""
    kernel = squared.specialise(dict.fromkeys(("q", "k", "v", "out"), "bf16"), sizes={"d": 64})
    text = attention_tile_kernel(kernel)
    schedule, emitted = fit_attention(text, attention_tile(text))
    assert verify(schedule.document).clean
    found = try_kernel(
        kernel, emitted.assembly, emitted.sidecar, {"s": 40, "t": 90}, {}, timing=STARVED
    )
    assert found.right, (found.error, found.allowed)


@wl.kernel
def squared(q: wl.In["s", "d"], k: wl.In["t", "d"], v: wl.In["t", "d"], out: wl.Out["s", "d"]):
    s = wl.tile(out, whole="d")
    qs = q[s]
    o = wl.zeros(s, q.d)
    for t in wl.steps(k.t):
        x = qs @ k[t].T
        o += (x * x * 0.001).to(wl.bf16) @ v[t]
    out[s] = o


def test_the_emulators_transposed_read_and_exchange():
    lds = np.arange(1024, dtype=np.uint16).view(np.uint8)
    wave = Wave(0, EARLY)
    lanes = np.arange(64)
    # Rows of 16 elements; sixteen lanes read four rows, four lanes a row.
    wave.v[0] = (lanes // 16 * 4 + lanes % 16 // 4) * 32 + lanes % 4 * 8
    read = make_transfer(
        "ds_read_b64_tr_b16", ["v[2:3]", "v0"], ["offset:64"], Devices(lds, None, b"")
    )
    read(wave)
    wave.wait(0, 0)
    got = wave.v[2:4].T.copy().view(np.uint16)
    for lane in range(64):
        rows = lane // 16 * 4 + np.arange(4) + 2
        assert np.array_equal(got[lane], rows * 16 + lane % 16)
    wave.v[4], wave.v[5] = lanes, lanes + 100
    VECTOR["v_permlane32_swap_b32"](["v4", "v5"], [])(wave)
    assert np.array_equal(wave.v[4], np.concatenate([lanes[:32], lanes[:32] + 100]))
    assert np.array_equal(wave.v[5], np.concatenate([lanes[32:], lanes[32:] + 100]))
