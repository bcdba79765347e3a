"""Pipelined loops whose operands are exchanged through LDS, that store, or that walk numbers.

Backward passes and scans: what one product makes another takes along its other axis, so waves write
it to LDS and read what they need; gradients and chunks are stored in the loop. Pages of a cache are
picked by numbers that the loop loads itself.
"""

from dataclasses import replace

import numpy as np
import pytest
from examples.gallery.matmul import chain

from tests.codegen_amdgcn.tile_cases import made_for, random_arrays, try_kernel
from tests.codegen_amdgcn.tile_kernels import running
from warploom.codegen.amdgcn.tile_ir.code import compile_module
from warploom.compiler.amd_tiles import TileProgram, compile_tile_kernel, expanded
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleOps
from warploom.kernels import attention, attention_grad, scan
from warploom.passes.amdgcn.kernel import lower_kernel
from warploom.passes.amdgcn.loop_body import loop_body
from warploom.passes.amdgcn.loop_schedule import pipelined_plans, schedule_kernel
from warploom.passes.amdgcn.plan import TilePlan
from warploom.passes.amdgcn.wave_module import build_wave_module
from warploom.targets.amdgcn import MI355X
from warploom.verify import verify

pytest.importorskip("llvmlite")

HEADS = {"b": 1, "h": 2, "g": 1, "t": 72, "s": 232, "d": 64}
CHUNKS = {"b": 1, "h": 2, "g": 1, "c": 7, "t": 64, "j": 64, "d": 64, "e": 72, "p": 1, "r": 1}
PACKED = {"h": 2, "g": 1, "t": 200, "s": 300, "d": 64, "i": 3, "i+1": 4}
PAGES = {"b": 2, "h": 2, "g": 1, "s": 72, "u": 32, "d": 64, "j": 9, "p": 20}
STARTS = {"q_starts": [0, 168, 171, 300], "k_starts": [0, 130, 137, 200]}
# text, types, sizes, constants, without, arrays, extents, waves and those of them across
CASES = {
    "attention_grad": (
        attention_grad.attention_grad, "bf16", HEADS, {}, ["lengths", "turns"], {},
        {"t": 64, "s": 32, "d": 64}, (4, 2),
    ),
    "causal": (
        attention_grad.attention_grad, "f16", HEADS, {"causal": True}, ["turns"],
        {"lengths": [70]}, {"t": 64, "s": 32, "d": 64}, (4, 2),
    ),
    "packed_grad": (
        attention_grad.packed_grad, "bf16", PACKED, {"causal": True}, [], STARTS,
        {"t": 64, "s": 32, "d": 64}, (4, 2),
    ),
    "scan": (
        scan.scan, "bf16", CHUNKS, {}, ["left", "gone"], {},
        {"t": 64, "j": 64, "d": 64, "e": 64}, (4, 2),
    ),
    "paged": (
        attention.paged, "bf16", PAGES, {}, ["lse"],
        {"table": np.arange(18).reshape(2, 9)[::-1, ::-1] + 1, "lengths": [281, 162]},
        {"s": 64, "u": 32, "d": 64}, (4, 1),
    ),
    "scan_parts": (
        scan.scan_parts, "bf16", CHUNKS, {}, [], {}, {"j": 64, "d": 64, "e": 64}, (4, 2),
    ),
}  # fmt: skip
QUICK: tuple[str, ...] = ()  # a loop takes seconds to schedule; pages are tried by default, below


def compiled(name):
    text, types, sizes, constants, without, given, extents, (waves, across) = CASES[name]
    kernel = made_for(text, types, sizes, constants, without)
    own = expanded(kernel)
    plan = TilePlan(
        kernel=own, extents=extents, waves=waves, machine=MI355X, across=across, exchange=True
    )
    scheduled = schedule_kernel(plan)
    lowered = lower_kernel(scheduled.plan, schedules=scheduled.by_loop)
    code = compile_module(build_wave_module(kernel, lowered))
    program = TileProgram(kernel=own, lowered=lowered, code=code)
    return kernel, program, random_arrays(kernel, sizes, given, scale=0.3), sizes


@pytest.fixture(scope="module")
def programs():
    made = {}

    def get(name):
        if name not in made:
            made[name] = compiled(name)
        return made[name]

    return get


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in CASES]
)
def test_right_and_proven(name, programs):
    kernel, program, arrays, sizes = programs(name)
    (schedule,) = program.schedules
    assert verify(schedule.document).clean
    assert program.gate.exact, program.gate.text()
    scalars = {p.name: 0.125 for p in kernel.parameters}
    for padding, order in ((16, "forward"), (0, "random"), (3, "reverse")):
        done = try_kernel(
            kernel, arrays, scalars, sizes=sizes, program=program, padding=padding, order=order
        )
        assert not done.wrong, (order, done.wrong)


@pytest.mark.slow
def test_what_a_product_makes_goes_through_lds(programs):
    _, program, _, _ = programs("attention_grad")
    (schedule,) = program.schedules
    roles = {op.role for op in schedule.body.described()}
    assert OpRole.SHARED_STORE in roles
    written = {t.value.name for t in schedule.body.transfers if t.load is None}
    assert "ds" in written  # of scores: rows of keys in one product, of queries in the other
    assert all(schedule.copies[t.channel] for t in schedule.body.transfers)
    text = program.assembly
    assert "ds_write_b64" in text
    assert "global_atomic_add_f32" in text


@pytest.mark.slow
def test_nothing_that_guards_an_exchanged_tile_can_be_left_out(programs):
    """Every barrier and every wait of the loop, one at a time."""
    _, program, _, _ = programs("attention_grad")
    document = program.schedules[0].document
    tags = {ScheduleOps.WAIT_LGKM: OpDesc.wait_lgkm(15), ScheduleOps.WAIT_VM: OpDesc.wait_vm(63)}
    left_out = 0
    for i, entry in enumerate(document.kernel):
        if entry.op.tag == ScheduleOps.BARRIER:
            kernel = (*document.kernel[:i], *document.kernel[i + 1 :])
        elif entry.op.tag in tags:
            weak = replace(entry, op=tags[ScheduleOps(entry.op.tag)])
            kernel = (*document.kernel[:i], weak, *document.kernel[i + 1 :])
        else:
            continue
        left_out += 1
        assert verify(replace(document, kernel=kernel)).verdict == "race", entry.op.label()
    assert left_out >= 4


@pytest.mark.slow
def test_a_tile_that_is_written_late_is_found(programs):
    """The write of a tile after the reads of it: they find the tile of the step before."""
    _, program, _, _ = programs("attention_grad")
    document = program.schedules[0].document
    at = next(i for i, e in enumerate(document.kernel) if e.op.role is OpRole.SHARED_STORE)
    moved = document.kernel[at]
    kernel = (*document.kernel[:at], *document.kernel[at + 1 :], moved)
    assert not verify(replace(document, kernel=kernel)).clean


@pytest.mark.slow
def test_loads_are_waited_for_without_counting_stores(programs):
    """Stores are in no count: waits hold whether they complete in order with loads or not."""
    _, program, _, _ = programs("attention_grad")
    document = program.schedules[0].document
    ops = [e.op for p in Phase for e in document.phase(p) if e.op.name.startswith("STORE_")]
    assert ops
    assert all(op.vm_cost == 0 for op in ops)


def test_tiles_without_an_exchange_come_first():
    kernel = expanded(made_for(attention.attention, "bf16", {"d": 64}, {}, ["lengths", "lse"]))
    (loop,) = kernel.loops
    found = [loop_body(p, loop).exchanges for p in pipelined_plans(kernel, {}, MI355X)]
    assert not found[0]
    assert found == sorted(found)


def test_a_running_sum_stays_plain():
    sizes = {"c": 6, "t": 64, "j": 64, "d": 64}
    kernel = made_for(running, "bf16", sizes)
    program = compile_tile_kernel(kernel, extents={"t": 64, "d": 64})
    assert not program.schedules
    assert any("running sum" in why for why in program.not_pipelined)
    done = try_kernel(kernel, random_arrays(kernel, sizes), sizes=sizes, program=program)
    assert not done.wrong


@pytest.mark.slow
def test_loops_that_do_not_fit_one_plan_are_tried_in_another():
    """Two products in a row, the second of what the first leaves: a tile in two layouts."""
    sizes = {"m": 70, "k": 96, "r": 64, "n": 80}
    kernel = made_for(chain, "bf16", sizes)
    done = try_kernel(
        kernel, random_arrays(kernel, sizes), sizes=sizes, pipelined=True,
        extents={"m": 64, "n": 64, "k": 32},
    )  # fmt: skip
    assert not done.wrong


@pytest.fixture(scope="module")
def pages(programs):
    return programs("paged")


def run_pages(pages, **changed):
    kernel, program, arrays, sizes = pages
    return try_kernel(
        kernel, arrays | changed, {"scale": 0.125}, sizes=sizes, program=program, padding=0
    )


def test_pages_are_picked_a_step_ahead(pages):
    _, program, _, _ = pages
    (schedule,) = program.schedules
    names = [e.op.name for e in schedule.document.kernel]
    (number,) = [n.removeprefix("PICK_") for n in names if n.startswith("PICK_")][:1]
    assert {t.picked for t in schedule.body.transfers} == {"", number}
    assert not run_pages(pages).wrong


def test_numbers_past_the_length_pick_nothing(pages):
    table = np.array(pages[2]["table"])
    table[1, 5:] = 2**31 - 1
    assert not run_pages(pages, table=table, lengths=[281, 130]).wrong


def test_a_page_that_does_not_exist_is_read_as_zeros(pages):
    table = np.array(pages[2]["table"])
    table[0, 3], table[1, 1] = 20, -1
    assert not run_pages(pages, table=table).wrong
