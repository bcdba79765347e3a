"""Attention on Hopper: one program for all consumers, its turns, its proof, planted defects."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from warploom.document.roles import (
    Arrive,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.document.roles_json import read_roles, write_roles
from warploom.errors import ConfigError, GeometryError, SchedulingError
from warploom.hopper import Dtype
from warploom.hopper.attention import (
    AttentionKernel,
    attention_costs,
    attention_problem,
    attention_roles,
)
from warploom.launch.shipped import SHIPPED_ATTENTION, shipped_schedule
from warploom.order import Limit, LimitKind, ModuloResult, check_schedule
from warploom.order.alike import solve_alike, tied
from warploom.order.bodies.attention import AttentionShape, attention_body
from warploom.run.roles import first_fault
from warploom.target.h200 import h200
from warploom.verify.roles import Code, require_clean, verify_roles

from .attention_numbers import consumer_output

NAMES = [k.name for k in SHIPPED_ATTENTION]
PLAIN = AttentionKernel(margin=0, q_registers=False)
# One schedule of least interval, as the solver may leave it: the consumers' programs differ.
UNLIKE = {
    "LOAD_K": 0,
    "LOAD_V": 1156,
    "QK0": 1156,
    "MAX0": 1730,
    "EXP0": 1918,
    "CVT0": 2544,
    "RESCALE0": 2608,
    "PV0": 2692,
    "QK1": 2180,
    "MAX1": 2754,
    "RESCALE1": 2942,
    "EXP1": 3080,
    "CVT1": 3632,
    "PV1": 3716,
}


def document():
    return shipped_schedule(AttentionKernel(q_registers=False).name)


@cache
def derived(**choices):
    pytest.importorskip("ortools")
    from warploom.hopper.solve import derive_attention

    return derive_attention(AttentionKernel(**choices))


def placed(times, margin=0):
    problem = attention_problem(AttentionKernel(margin=margin), h200())
    depths = tuple(2 if r.name in "KV" else 1 for r in problem.rings)
    return ModuloResult(
        problem=problem,
        ii=2048,
        lower_bound=2048,
        proven=True,
        times=tuple(times[op.name] for op in problem.ops),
        depths=depths,
        roles=tuple(op.role for op in problem.ops),
        limit=Limit(kind=LimitKind.UNIT, text="the tensor unit is full"),
        res_mii=2048,
        rec_mii=1,
        rec_mii_at_depths=1,
    )


def products_and_turns(entries):
    short = {NamedSync: "take", NamedArrive: "give"}
    return [
        e.op if isinstance(e, Mma) else short[type(e)]
        for e in entries
        if isinstance(e, Mma | NamedSync | NamedArrive)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_shipped_schedules_are_proven_least_and_clean(name):
    found = shipped_schedule(name)
    kernel = next(k for k in SHIPPED_ATTENTION if k.name == name)
    costs = attention_costs(kernel)
    full = kernel.consumers * (costs.qk.occupancy + costs.pv.occupancy)
    assert (found.proof.ii, found.proof.lower_bound, found.proof.proven) == (full, full, True)
    assert 2 <= dict(found.proof.least_depths)["K"] <= kernel.stages
    report = require_clean(found)
    assert report.verdict == "clean"
    assert report.trips_proven == "all"
    assert read_roles(write_roles(found)) == found


def enumerated_for_long(kernel):
    return kernel.program and kernel.head_dim != 128


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(k, marks=[pytest.mark.slow] if enumerated_for_long(k) else [])
        for k in SHIPPED_ATTENTION
    ],
    ids=lambda k: k.name,
)
def test_shipped_schedules_are_what_the_solver_finds(kernel):
    pytest.importorskip("ortools")
    from warploom.hopper.solve import derive_attention

    assert derive_attention(kernel) == shipped_schedule(kernel.name)


def test_without_margin_a_turn_is_pv_of_this_tile_and_qk_of_the_next():
    consumer = derived(margin=0, q_registers=False).program("consumer")
    assert products_and_turns(consumer.prologue) == ["take", "qk", "give", "take", "pv"]
    assert products_and_turns(consumer.kernel) == ["qk", "give", "take", "pv"]
    assert products_and_turns(consumer.epilogue) == ["give"]
    assert [e.pending for e in consumer.kernel if isinstance(e, WaitGroup)] == [1, 0]


def test_with_a_wide_margin_qk_of_the_next_tile_runs_in_front_of_pv():
    consumer = document().program("consumer")
    assert products_and_turns(consumer.prologue) == ["take", "qk", "give"]
    assert products_and_turns(consumer.kernel) == ["take", "qk", "pv", "give"]
    assert products_and_turns(consumer.epilogue) == ["take", "pv", "give"]
    assert [(e.op, e.k) for e in consumer.kernel if isinstance(e, Mma)] == [("qk", 0), ("pv", -1)]
    assert [e.pending for e in consumer.kernel if isinstance(e, WaitGroup)] == [1, 0]
    works = [e.op for e in consumer.kernel if isinstance(e, Compute)]
    assert works.index("exp") < works.index("cvt")


def test_data_is_waited_for_before_a_turn_not_in_it():
    for name in NAMES:
        for _, entries in shipped_schedule(name).program("consumer").phases():
            for a, b in pairwise(entries):
                assert not (isinstance(a, NamedSync) and isinstance(b, WaitFull | WaitGroup))


def test_queries_in_registers_are_fetched_once_and_not_overwritten_in_flight():
    found = shipped_schedule(AttentionKernel().name)
    consumer = found.program("consumer")
    [fetch] = [e for e in consumer.prologue if isinstance(e, Compute) and e.op == "fetch_q"]
    assert (fetch.writes, {s.ring for s in fetch.slots}) == (("q",), {"Q"})
    early = edited(found, "consumer", "prologue", dropped(WaitFull, ring="Q"))
    assert Code.RAW_SLOT in verify_roles(early).codes()
    again = edited(
        found, "consumer", "kernel", lambda e: (e, fetch) if isinstance(e, Commit) else (e,)
    )
    assert Code.WAR_REG in verify_roles(again).codes()


def test_counts_follow_from_the_programs():
    found = document()
    assert {r.name: (r.depth, r.full_arrivals, r.empty_arrivals) for r in found.rings} == {
        "Q": (1, 1, 8),
        "K": (2, 1, 8),
        "V": (2, 1, 8),
    }
    expected = [e.bytes for e in found.program("producer").kernel if isinstance(e, Expect)]
    assert expected == [32768, 32768]
    assert found.program("consumer").setup[0].instance == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("trips", [1, 2, 3, 6])
def test_the_order_of_the_ops_computes_attention(name, trips):
    got, exact = consumer_output(shipped_schedule(name), trips)
    np.testing.assert_allclose(got, exact, rtol=1e-12)


def edited(found, role, phase, change):
    program = found.program(role)
    entries = tuple(x for e in getattr(program, phase) for x in change(e))
    assert entries != getattr(program, phase), "the mutation changes nothing"
    new = replace(program, **{phase: entries})
    return replace(found, programs=tuple(new if p.name == role else p for p in found.programs))


def dropped(kind, **fields):
    def change(e):
        hit = isinstance(e, kind) and all(getattr(e, n) == v for n, v in fields.items())
        return () if hit else (e,)

    return change


def changed(kind, new, **fields):
    def change(e):
        hit = isinstance(e, kind) and all(getattr(e, n) == v for n, v in fields.items())
        return (replace(e, **new(e)),) if hit else (e,)

    return change


def weaker(e):
    return {"pending": e.pending + 1}


DEFECTS = {
    "s read before qk retired": ("consumer", "kernel", changed(WaitGroup, weaker, pending=1)),
    "v released before pv retired": ("consumer", "kernel", changed(WaitGroup, weaker, pending=0)),
    "no wait for s": ("consumer", "kernel", dropped(WaitGroup, pending=1)),
    "last pv not waited for": ("consumer", "epilogue", dropped(WaitGroup)),
    "first qk not waited for": ("consumer", "prologue", dropped(WaitGroup)),
    "no wait for K": ("consumer", "kernel", dropped(WaitFull, ring="K")),
    "no wait for V": ("consumer", "kernel", dropped(WaitFull, ring="V")),
    "no wait for Q": ("consumer", "prologue", dropped(WaitFull, ring="Q")),
    "K never released": ("consumer", "kernel", dropped(Arrive, ring="K")),
    "V never released": ("consumer", "kernel", dropped(Arrive, ring="V")),
    "Q never released": ("consumer", "epilogue", dropped(Arrive, ring="Q")),
    "V of the wrong tile": ("consumer", "kernel", changed(Mma, lambda e: {"k": 0}, op="pv")),
    "K released for the wrong use": (
        "consumer",
        "kernel",
        changed(Arrive, lambda e: {"k": -1}, ring="K"),
    ),
    "wrong phase of K": (
        "consumer",
        "kernel",
        changed(WaitFull, lambda e: {"parity": 1}, ring="K"),
    ),
    "wrong phase of empty V": (
        "producer",
        "kernel",
        changed(WaitEmpty, lambda e: {"parity": 0}, ring="V"),
    ),
    "K filled without asking": ("producer", "kernel", dropped(WaitEmpty, ring="K")),
    "Q filled without asking": ("producer", "prologue", dropped(WaitEmpty, ring="Q")),
    "bytes off": ("producer", "kernel", changed(Expect, lambda e: {"bytes": e.bytes - 128})),
    "half of Q missing": ("producer", "prologue", dropped(Load, part="c1")),
    "turn not taken": ("consumer", "kernel", dropped(NamedSync)),
    "turn not given": ("consumer", "kernel", dropped(NamedArrive)),
    "turn given to itself": ("consumer", "kernel", changed(NamedArrive, lambda e: {"turn": 0})),
    "no first turn": ("consumer", "setup", dropped(NamedArrive)),
    "two first turns": ("consumer", "setup", changed(NamedArrive, lambda e: {"instance": None})),
    "no fence": ("consumer", "kernel", dropped(MmaFence)),
    "one group for both products": ("consumer", "kernel", dropped(Commit)),
    "O accumulates what was there": ("consumer", "prologue", dropped(Compute, op="start_tile")),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_planted_defects_are_found(name):
    role, phase, change = DEFECTS[name]
    assert not verify_roles(edited(document(), role, phase, change)).clean


@pytest.mark.parametrize("name", NAMES)
def test_the_operational_model_runs_them_in_any_order(name):
    for tiles in ((1, 1, 1), (1, 2, 3), (5, 1, 4)):
        assert first_fault(shipped_schedule(name), tiles, range(6)) is None


@pytest.mark.parametrize("name", DEFECTS)
def test_the_operational_model_fails_on_planted_defects(name):
    role, phase, change = DEFECTS[name]
    wrong = edited(document(), role, phase, change)
    runs = ((1, 2, 3), (5, 4), (9, 7), (1, 1, 1, 1))
    assert any(first_fault(wrong, tiles, range(40), intended=document()) for tiles in runs)


def test_a_last_hand_over_that_nobody_takes_is_harmless():
    assert verify_roles(edited(document(), "consumer", "finish", dropped(NamedSync))).clean


def test_a_missing_first_turn_is_a_deadlock():
    role, phase, change = DEFECTS["no first turn"]
    codes = verify_roles(edited(document(), role, phase, change)).codes()
    assert codes & {Code.DEADLOCK, Code.BARRIER}


@pytest.mark.parametrize("op", ["rescale", "max", "exp", "cvt"])
def test_an_op_left_out_no_longer_computes_attention(op):
    wrong = edited(document(), "consumer", "kernel", dropped(Compute, op=op))
    got, exact = consumer_output(wrong, 4)
    assert not np.allclose(got, exact, rtol=1e-6)


def test_programs_that_differ_are_refused():
    result = placed(UNLIKE)
    assert not check_schedule(
        result.problem, result.ii, result.times, result.depths, roles=result.roles
    ).errors
    with pytest.raises(SchedulingError, match="different programs"):
        attention_roles(result, PLAIN)


def spread(result, steps=("QK", "MAX", "RESCALE", "EXP", "CVT", "PV")):
    """How far each consumer's ops are behind those of the one before."""
    times = {op.name: t for op, t in zip(result.problem.ops, result.times, strict=True)}
    count = sum(name.startswith("QK") for name in times)
    return {times[f"{s}{c + 1}"] - times[f"{s}{c}"] for s in steps for c in range(count - 1)}


@pytest.mark.parametrize(
    "kernel",
    [AttentionKernel(margin=0), SHIPPED_ATTENTION[0], *SHIPPED_ATTENTION[2:]],
    ids=lambda k: k.name,
)
def test_alike_consumers_follow_one_another_evenly(kernel):
    pytest.importorskip("ortools")
    problem = attention_problem(kernel, h200())
    result = solve_alike(problem, kernel.roles(), kernel.op_names())
    assert spread(result) == {result.ii // kernel.consumers}
    assert result.problem == problem
    assert verify_roles(attention_roles(result, kernel)).clean


def test_alike_consumers_may_need_a_longer_interval():
    """Both units are nearly full: an alike schedule is found above the bound, and says so."""
    pytest.importorskip("ortools")
    kernel = AttentionKernel(head_dim=64, margin=256)
    result = solve_alike(attention_problem(kernel, h200()), kernel.roles(), kernel.op_names())
    assert spread(result) == {result.ii // 2}
    assert result.ii > result.lower_bound
    assert not result.proven


def test_alike_refuses_roles_of_different_ops():
    problem = placed(UNLIKE).problem
    with pytest.raises(SchedulingError, match="different ops"):
        tied(problem, ("producer", "consumer0"), PLAIN.op_names(), 2048)


def test_bad_choices_are_refused():
    with pytest.raises(GeometryError, match="e4m3"):
        AttentionKernel(dtype=Dtype.E4M3)
    with pytest.raises(GeometryError, match="margin"):
        AttentionKernel(margin=-1)
    with pytest.raises(ConfigError, match="margin"):
        attention_body(AttentionShape(margin=-1))


@pytest.mark.parametrize(
    ("choices", "match"),
    [
        ({"head_dim": 96}, "head dimension 96"),
        ({"tile_k": 100}, "100 keys"),
        ({"tile_k": 272}, "272 keys"),
        ({"consumers": 4}, "4 consumers"),
        ({"stages": 0}, "0 stages"),
        ({"stages": 4}, "bytes of shared memory"),
        ({"consumers": 3}, "registers a thread"),
        ({"tile_k": 176}, "registers a thread"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(choices, match):
    with pytest.raises(GeometryError, match=match):
        AttentionKernel(**choices)


def test_q_goes_back_as_soon_as_nothing_reads_it():
    held = shipped_schedule(AttentionKernel().name).program("consumer")
    assert [e.ring for e in held.prologue if isinstance(e, Arrive)] == ["Q", "K"]
    read = document().program("consumer")
    first = next(e for e in read.epilogue if isinstance(e, Arrive | Mma))
    assert isinstance(first, Arrive)
    assert first.ring == "Q"
