"""Loops in which the two waves of a SIMD take turns: proven, exactly in the code, and right."""

import pytest
from hypothesis import given, settings, strategies as st

from tests.codegen_amdgcn.tile_cases import made_for, random_arrays, try_kernel
from warploom.codegen.amdgcn.isa_check.regions import check_regions
from warploom.codegen.amdgcn.tile_ir.gate import gated_loop
from warploom.compiler.amd_tiles import compile_tile_kernel
from warploom.errors import WarploomError
from warploom.frontend.simplify import simplify
from warploom.kernels import attention, gemm, rms_gemm
from warploom.passes.amdgcn import loop_schedule, ping_pong
from warploom.passes.amdgcn.loop_body import UnscheduledError, loop_body
from warploom.passes.amdgcn.plan import TilePlan
from warploom.sync.counters import synthesise
from warploom.verify import verify

pytest.importorskip("llvmlite")

PRODUCT = {"m": 136, "n": 72, "k": 456}
TILE = {"m": 128, "n": 128, "k": 64}
HEADS = {"b": 1, "h": 1, "g": 1, "s": 136, "t": 328, "d": 64}
CASES = {
    "gemm": (gemm.gemm, PRODUCT, {}, ["bias", "residual"], {}, TILE),
    "rms_gemm": (rms_gemm.rms_gemm, PRODUCT, {}, [], {}, TILE),
    "attention": (
        attention.attention, HEADS, {"causal": True}, ["lse"], {"lengths": [321]},
        {"s": 128, "t": 32},
    ),
}  # fmt: skip


def turned(name):
    """The first plan of a kernel with its loop in turns."""
    text, sizes, constants, without, _, extents = CASES[name]
    own = simplify(made_for(text, "bf16", sizes, constants, without))
    whole = {v.name: v.extent for v in own.vars if v.extent is not None}
    plan = TilePlan(kernel=own, extents=whole | extents, waves=8, across=1)
    (loop,) = own.loops
    return plan, loop_body(plan, loop)


@pytest.fixture(scope="module")
def programs():
    return {}


def compiled(name, programs):
    if name not in programs:
        text, sizes, constants, without, _, extents = CASES[name]
        kernel = made_for(text, "bf16", sizes, constants, without)
        programs[name] = kernel, compile_tile_kernel(kernel, extents=extents)
    return programs[name]


@pytest.mark.parametrize("name", CASES)
def test_waves_in_turns_are_proven_exact_and_right(name, programs):
    kernel, program = compiled(name, programs)
    (schedule,) = program.schedules
    document = schedule.document
    assert document.protocol.groups == 2
    assert document.protocol.stagger_index == len(document.prologue)
    assert program.gate.exact, program.gate.text()
    assert verify(document).clean
    _, sizes, _, _, arrays, _ = CASES[name]
    filled = random_arrays(kernel, sizes, arrays, scale=0.4)
    scalars = {p.name: 0.5 for p in kernel.parameters}
    for order in ("forward", "random"):
        done = try_kernel(kernel, filled, scalars, sizes=sizes, program=program, order=order)
        assert not done.wrong, (order, done.wrong)


def test_the_gate_wants_the_barrier_of_the_group_behind(programs):
    _, program = compiled("gemm", programs)
    gated = [gated_loop(loop, "mi355x") for loop in program.code.loops]
    lines = program.assembly.splitlines()
    loads = [i for i, line in enumerate(lines) if " lds" in line and "buffer_load" in line]
    at = next(i for i in range(loads[0], len(lines)) if guarded(lines, i))
    without = "\n".join([*lines[:at], *lines[at + 1 :]])
    assert check_regions(gated, program.assembly).exact
    assert not check_regions(gated, without).exact


def guarded(lines, i):
    """Whether a barrier stands alone in its block."""
    return "s_barrier" in lines[i] and "s_cbranch" in lines[i - 1] + lines[i - 2]


def test_waves_alone_on_their_simd_have_no_turns():
    plan, body = turned("gemm")
    alone = TilePlan(kernel=plan.kernel, extents=plan.extents, waves=4)
    with pytest.raises(UnscheduledError, match="no pairs"):
        loop_schedule.schedule_in_turns(alone, body, name="alone", lds=160 * 1024)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_every_order_that_is_arranged_is_proven(name, data):
    """Whatever order of reads is tried: what comes out is a schedule that ``verify`` accepts."""
    search = loop_schedule._InTurns(*turned(name), "drawn", 160 * 1024)
    parts = data.draw(st.sampled_from([1, 2]))
    parity = data.draw(st.sampled_from([ping_pong.MATRIX, ping_pong.VECTOR]))
    turns = ping_pong.first_turns(search.problem, search.timed, parts, parity)
    for _ in range(data.draw(st.integers(0, 3))):
        turns = data.draw(st.sampled_from(list(turns.moved())))
    ahead = data.draw(st.integers(2, 6))
    made = search.document(turns, ahead)
    if made is None:
        return
    try:
        guard = synthesise(made[1], limit=1)
    except WarploomError:  # it cannot be synchronised
        return
    assert verify(guard.document).clean
    assert sorted(turns.order) == list(range(len(search.problem.ops)))


def test_a_search_ends_and_never_gets_worse():
    plan, body = turned("rms_gemm")
    search = loop_schedule._InTurns(plan, body, "drawn", 160 * 1024)
    first = ping_pong.first_turns(search.problem, search.timed, 1, ping_pong.VECTOR)
    tried = []

    def cost(turns):
        tried.append(turns)
        return float(sum(i * o for i, o in enumerate(turns.order)))

    best, least = ping_pong.improved(first, cost, 20, 0.0)
    assert least <= cost(first)
    assert len(tried) <= 22
    assert sorted(best.order) == sorted(first.order)
