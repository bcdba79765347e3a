"""Tiny schedules whose timing can be worked out on paper."""

from fractions import Fraction

import pytest

from warploom.errors import ConfigError, CostModelError, SimulationError
from warploom.ir import BarrierKind, RegisterWaits
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, OpTag, ResourceKind
from warploom.sim import MachineCosts, OpTiming, StallKind, UnitSpec, mi355x_costs, simulate

from .documents import document, frag, load, mma

wait_vm, wait_lgkm, barrier = OpDesc.wait_vm, OpDesc.wait_lgkm, OpDesc.barrier


def test_a_load_that_is_waited_for_at_once_costs_its_whole_latency():
    # Load at 0, data at 200; the wait holds from 1 to 200; MMA 200..216; next iteration at 216.
    sim = simulate(document(kernel=[load(), wait_vm(0), mma()]), trips=4)
    assert (sim.ii, sim.cycles, sim.steady) == (216, 4 * 216, True)
    first = sim.stalls[0]
    assert (first.start, first.end, first.cause.kind) == (1, 200, StallKind.QUEUE)
    assert first.cause.op == 0
    assert first.cause.text == "LOAD_A[0,0] K0 (kernel 0, iteration 0) must complete"
    assert sim.sites[0].label == "WAIT_VM(0)"
    assert sim.sites[0].cycles == 4 * 199
    assert [use.steady_utilisation for use in sim.units] == [1 / 216, 16 / 216]


def test_units_retire_in_order_even_when_data_comes_early():
    # The second load has its data at 11 but retires after the first, at 200.
    sim = simulate(document(prologue=[load(), load(latency=10), wait_vm(1), wait_vm(0)]), trips=0)
    assert [op.done for op in sim.ops] == [200, 200]
    assert [(s.start, s.end, s.cause.op) for s in sim.stalls] == [(2, 200, 0)]


def test_a_wait_may_cut_through_an_op_of_several_units():
    # Four instructions at 0, 1, 2, 3; leaving two in flight needs the second, done at 1 + 200.
    sim = simulate(document(prologue=[load(), wait_vm(2)], vm=(4, 4)), trips=0)
    assert (sim.stalls[0].start, sim.stalls[0].end) == (4, 201)
    assert sim.ops[0].done == 203


def test_an_op_without_units_is_complete_only_when_nothing_may_stay():
    kernel = [frag(), wait_lgkm(0)]
    assert simulate(document(prologue=kernel, lgkm=(0, 0)), trips=0).stalls[0].end == 20
    kernel = [frag(), wait_lgkm(1)]
    assert simulate(document(prologue=kernel, lgkm=(0, 0)), trips=0).stalls == ()


def test_the_matrix_unit_is_held_for_the_whole_op_and_reads_are_queued():
    sim = simulate(document(prologue=[mma(), frag(), frag(subtile=1), mma(0, 1)]), trips=0)
    assert [(op.lane, op.issue, op.start, op.end) for op in sim.ops] == [
        ("MMA_UNIT", 0, 0, 16),
        ("LDS", 16, 16, 17),
        ("LDS", 17, 17, 18),
        ("MMA_UNIT", 18, 18, 34),
    ]


def test_a_busy_queue_delays_data_and_not_the_wave():
    slow = MachineCosts(
        by_role=((OpRole.FRAGMENT_LOAD, OpTiming(issue=1, occupancy=10, latency=20)),)
    )
    sim = simulate(document(prologue=[frag(), frag(subtile=1), mma()]), slow, trips=0)
    assert [(op.issue, op.start, op.done) for op in sim.ops[:2]] == [(0, 0, 20), (1, 10, 30)]
    assert sim.ops[2].start == 2
    assert sim.stalls == ()


def test_accumulators_chain_in_hardware():
    deep = MachineCosts(by_role=((OpRole.COMPUTE, OpTiming(issue=4, occupancy=8, latency=20)),))
    sim = simulate(document(prologue=[mma(0, 0), mma(0, 1), mma(0, 0)]), deep, trips=0)
    assert [op.start for op in sim.ops] == [0, 8, 20]
    assert [s.cause.kind for s in sim.stalls] == [StallKind.UNIT, StallKind.REGISTER]


def test_a_full_counter_stalls_the_next_load():
    # Room for two units: the third load waits for the first to retire at 200.
    tight = MachineCosts(vm_limit=2)
    sim = simulate(document(prologue=[load(), load(), load()]), tight, trips=0)
    assert [op.issue for op in sim.ops] == [0, 1, 200]
    assert sim.stalls[0].cause.kind is StallKind.CAPACITY
    assert "vm is full" in sim.stalls[0].cause.text


def test_stagger_puts_the_second_group_one_barrier_behind():
    # Group 1 starts with a barrier that meets group 0's first one, after its MMA: 16, +4 = 20.
    # Both want the one matrix unit at 20; group 0 takes it, group 1 follows at 36.
    doc = document(
        kernel=[mma(), barrier()],
        groups=2,
        stagger_index=0,
        tail_barriers=(1, 0),
    )
    sim = simulate(doc, MachineCosts(simds=1), trips=3)
    mmas = [(op.row, op.start) for op in sim.ops]
    assert mmas[:3] == [(0, 0), (0, 20), (1, 36)]
    assert [b.release for b in sim.barriers] == [20, 56, 92, 112]
    assert [len(b.arrivals) for b in sim.barriers] == [2, 2, 2, 2]
    waits = [s for s in sim.stalls if s.cause.kind is StallKind.UNIT]
    assert (waits[0].row, waits[0].start, waits[0].end) == (1, 20, 36)
    assert "group 0 wave 0" in waits[0].cause.text


def test_groups_on_their_own_simd_do_not_contend():
    doc = document(kernel=[mma()], groups=2)
    assert simulate(doc, MachineCosts(simds=2), trips=4).ii == 16
    assert simulate(doc, MachineCosts(simds=1), trips=4).ii == 32


def test_shared_units_serve_all_waves_in_turn():
    shared = MachineCosts(units=((ResourceKind.LDS, UnitSpec(shared=True)),))
    doc = document(prologue=[frag()], lgkm=(8, 8), waves_per_group=4)
    assert [op.start for op in simulate(doc, shared, trips=0).ops] == [0, 8, 16, 24]
    one = simulate(doc, shared, trips=0, waves=1)
    assert [(op.start, op.end) for op in one.ops] == [(0, 32)]


def test_two_servers_serve_two_ops_at_once():
    wide = MachineCosts(units=((ResourceKind.MMA_UNIT, UnitSpec(capacity=2, blocking=True)),))
    doc = document(kernel=[mma()], waves_per_group=2)
    assert simulate(doc, MachineCosts(simds=1), trips=4).ii == 32
    costs = MachineCosts(simds=1, units=wide.units)
    sim = simulate(doc, costs, trips=4)
    assert (sim.ii, sim.bound.bound) == (16, Fraction(16))


def test_a_fencing_barrier_drains_first():
    doc = document(prologue=[load(), barrier(), mma()], barrier=BarrierKind.FENCING)
    sim = simulate(doc, trips=0)
    assert sim.ops[1].start == 204
    assert sim.stalls[0].cause.kind is StallKind.QUEUE
    plain = simulate(document(prologue=[load(), barrier(), mma()]), trips=0)
    assert plain.ops[1].start == 5


def test_the_epilogue_drain_waits_for_everything():
    doc = document(kernel=[load(), frag()], epilogue=[mma()], epilogue_drain=True)
    assert simulate(doc, trips=1).ops[-1].start == 204
    assert [s.place.phase for s in simulate(doc, trips=1).stalls] == ["protocol"]


def test_the_code_generator_waits_for_registers_where_the_protocol_says_so():
    ops = [frag(), mma()]
    waits = {"register_waits": RegisterWaits.COMPILER}
    assert simulate(document(prologue=ops, **waits), trips=0).ops[1].start == 20
    assert simulate(document(prologue=ops), trips=0).ops[1].start == 1


def test_a_store_waits_for_the_load_that_fills_its_registers():
    store = OpDesc.op(OpTag(1, "STORE"), ResourceKind.LDS, 20, OpRole.SHARED_STORE, channel=0)
    ops = [load(), store, barrier(), frag(), mma()]
    doc = document(prologue=ops, register_waits=RegisterWaits.COMPILER, barrier=BarrierKind.FENCING)
    sim = simulate(doc, trips=0)
    # load 0..200, store 200..220, barrier +4, fragment 224..244, MMA 244..260
    assert [op.start for op in sim.ops] == [0, 200, 224, 244]
    assert sim.cycles == 260
    lds = next(s for s in sim.slots if s.slot == "LDS A[0]")
    assert (lds.start, lds.ready, lds.end, lds.content) == (200, 220, 244, "tile 0")


def test_slots_live_from_the_first_load_to_the_last_read_of_any_wave():
    kernel = [load(), wait_vm(0), barrier(), frag(), wait_lgkm(0), barrier(), mma()]
    sim = simulate(document(kernel=kernel, waves_per_group=2), trips=2)
    slots = [s for s in sim.slots if s.slot == "LDS A[0,0]"]
    # Load 0, data 200, barrier 204, read until 224, barrier 228, MMA until 244.
    assert [(s.start, s.ready, s.end) for s in slots] == [(0, 200, 224), (244, 444, 468)]
    assert [s.content for s in slots] == ["tile 2", "tile 4"]
    assert [len(s.writers) for s in slots] == [2, 2]
    link = next(link for link in sim.links if link.via == "LDS A[0,0]")
    assert "reads LDS A[0,0] (tile 2) written by LOAD_A" in link.text


def test_loads_without_an_offset_take_the_next_tile_of_their_subtile():
    none = KOffsetKind.NONE
    ops = [load(0, 0, k=none), load(0, 1, k=none), load(1, 0, k=none), load(1, 1, k=none)]
    sim = simulate(document(prologue=ops), trips=0)
    assert [dict(op.detail)["content"] for op in sim.ops] == [
        "tile 0",
        "tile 0",
        "tile 1",
        "tile 1",
    ]


def test_bootstrap_ops_take_price_and_channel_from_their_tag():
    bare = OpDesc(tag=OpTag(3, "MMA_LOAD_A"), role=OpRole.FRAGMENT_LOAD)
    sim = simulate(document(prologue=[bare], kernel=[frag()]), trips=1)
    assert sim.ops[0].done - sim.ops[0].start == 20
    assert sim.ops[0].lane == "LDS"


def test_phases_and_iterations_have_their_spans():
    sim = simulate(document(prologue=[mma()], kernel=[mma()], epilogue=[mma()]), trips=2)
    spans = [(s.phase, s.iteration, s.start, s.end) for s in sim.spans]
    assert spans == [
        ("prologue", None, 0, 16),
        ("kernel", 0, 16, 32),
        ("kernel", 1, 32, 48),
        ("epilogue", None, 48, 64),
    ]


@pytest.mark.parametrize("trips", [0, 1])
def test_too_few_trips_have_no_interval(trips):
    sim = simulate(document(kernel=[mma()]), trips=trips)
    assert (sim.ii, sim.steady, sim.cycles) == (None, False, 16 * trips)


def test_an_empty_schedule_takes_no_time():
    sim = simulate(document(), trips=3)
    assert (sim.cycles, sim.ops, sim.bound, sim.ii) == (0, (), None, None)


# --- what cannot be run ----------------------------------------------------------------------


def test_unequal_barriers_are_a_deadlock_that_names_the_wave():
    doc = document(kernel=[barrier()], groups=2, tail_barriers=(0, 1))
    with pytest.raises(SimulationError, match="group 1 wave 0 waits for ever at BARRIER"):
        simulate(doc, trips=1)


def test_a_run_that_is_too_long_is_refused():
    with pytest.raises(SimulationError, match="limit"):
        simulate(document(kernel=[mma()] * 1000), trips=10_000)


def test_negative_trips_and_odd_wave_counts_are_refused():
    with pytest.raises(ConfigError, match="-1 loop iterations"):
        simulate(document(kernel=[mma()]), trips=-1)
    with pytest.raises(ConfigError, match="3 waves"):
        simulate(document(kernel=[mma()], waves_per_group=4), waves=3)


def test_an_op_without_price_is_refused():
    with pytest.raises(CostModelError, match="no price for X"):
        simulate(document(kernel=[OpDesc.logical(OpTag(9, "X"))]), trips=1)


def test_a_negative_wait_is_refused():
    with pytest.raises(ConfigError, match="wait_value"):
        simulate(document(kernel=[mma(), wait_vm(-1)]), trips=1)


def test_the_chip_s_bandwidths_can_be_chosen():
    costs = dict(mi355x_costs(lds_bytes=256, memory_bytes=100).by_role)
    assert costs[OpRole.FRAGMENT_LOAD].occupancy == 4
    assert costs[OpRole.GLOBAL_LOAD].occupancy == 11  # 1024 bytes, rounded up
    with pytest.raises(ConfigError, match="must be positive"):
        mi355x_costs(lds_bytes=0)


def test_impossible_machines_are_refused():
    with pytest.raises(ConfigError, match="capacity 0"):
        MachineCosts(units=((ResourceKind.LDS, UnitSpec(capacity=0)),))
    with pytest.raises(ConfigError, match="'simds' is 0"):
        MachineCosts(simds=0)
    bad = MachineCosts(by_name=(("MMA", OpTiming(issue=-1, occupancy=1, latency=1)),))
    with pytest.raises(CostModelError, match="negative"):
        simulate(document(kernel=[mma()]), bad, trips=1)
