"""What must hold for every schedule: a second opinion on timing, bounds, order and determinism."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from tests.recorded import recorded as golden
from warploom.ir import Counters
from warploom.ir.schedule_ops import OpDesc, OpRole, ResourceKind, ScheduleOps
from warploom.sim import MachineCosts, OpTiming, UnitSpec, mi355x_costs, simulate

from .documents import case_names, document, entries, frag, load, mma

timings = st.builds(
    OpTiming,
    issue=st.integers(0, 4),
    occupancy=st.integers(0, 6),
    latency=st.integers(0, 60),
)
ops = st.one_of(
    st.builds(load, stage=st.integers(0, 1), channel=st.integers(0, 1)),
    st.builds(frag, subtile=st.integers(0, 1), channel=st.integers(0, 1)),
    st.builds(mma, row=st.integers(0, 1), col=st.integers(0, 1)),
    st.builds(OpDesc.wait_vm, st.integers(0, 8)),
    st.builds(OpDesc.wait_lgkm, st.integers(0, 8)),
    st.just(OpDesc.barrier()),
    st.builds(OpDesc.set_prio, st.integers(0, 3)),
)
bodies = st.lists(ops, min_size=1, max_size=12)
units = st.tuples(st.integers(1, 4), st.integers(1, 4))


@st.composite
def machines(draw, *, shared=False, limits=True):
    kinds = (ResourceKind.GLOBAL_MEM, ResourceKind.LDS, ResourceKind.MMA_UNIT)
    roles = (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD, OpRole.COMPUTE)
    limit = st.one_of(st.none(), st.integers(1, 12)) if limits else st.none()
    return MachineCosts(
        by_role=tuple((role, draw(timings)) for role in roles),
        units=tuple(
            (
                kind,
                UnitSpec(
                    shared=shared and draw(st.booleans()),
                    blocking=kind is ResourceKind.MMA_UNIT,
                ),
            )
            for kind in kinds
        ),
        simds=draw(st.integers(1, 4)),
        barrier=draw(st.integers(0, 8)),
        sync_issue=draw(st.integers(0, 4)),
        vm_limit=draw(limit),
        lgkm_limit=draw(limit),
    )


def one_wave(document, costs, trips):
    """A second opinion for one wave: a straight walk over the text, instruction by instruction.

    It keeps for every queue the flat list of retirement times of its units, oldest first.
    """
    roles = dict(costs.by_role)
    queues = {"vm": [], "lgkm": []}
    last = {"vm": 0, "lgkm": 0}
    free = dict.fromkeys(roles, 0)
    ready, now, starts = {}, 0, []
    text = [e.op for e in document.prologue]
    text += [e.op for _ in range(trips) for e in document.kernel]
    text += [e.op for e in document.epilogue]
    for op in text:
        if op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
            queue = queues["vm" if op.tag == ScheduleOps.WAIT_VM else "lgkm"]
            must = queue[: max(0, len(queue) - op.wait_value)]
            now = max([now, *must]) + costs.sync_issue
        elif op.tag == ScheduleOps.BARRIER:
            now += costs.barrier
        elif op.tag == ScheduleOps.SET_PRIO:
            now += costs.sync_issue
        else:
            timing = roles[op.role]
            pace = max(timing.issue, timing.occupancy)
            name = {OpRole.GLOBAL_LOAD: "vm", OpRole.FRAGMENT_LOAD: "lgkm"}.get(op.role)
            if name is None:
                key = (op.stage, op.subtile)
                now = max(now, free[op.role], ready.get(key, 0))
                starts.append(now)
                ready[key] = now + timing.latency
                free[op.role] = now + timing.occupancy
                now += timing.issue
                continue
            counts = document.counters
            count = (counts.vm_per_load if name == "vm" else counts.lgkm_per_load)[op.channel]
            limit = costs.vm_limit if name == "vm" else costs.lgkm_limit
            if limit is not None:
                queue = queues[name]
                now = max([now, *queue[: max(0, len(queue) - max(0, limit - count))]])
            start = max(now, free[op.role])
            starts.append(start)
            for j in range(count):
                last[name] = max(last[name], start + j * pace + timing.latency)
                queues[name].append(last[name])
            free[op.role] = max(free[op.role], start + count * timing.occupancy)
            now += count * timing.issue
    return now, starts


@given(bodies, bodies, bodies, units, units, machines(), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_one_wave_agrees_with_the_second_opinion(first, body, last, vm, lgkm, costs, trips):
    doc = document(prologue=first, kernel=body, epilogue=last, vm=vm, lgkm=lgkm)
    sim = simulate(doc, costs, trips=trips)
    end, starts = one_wave(doc, costs, trips)
    assert [op.start for op in sim.ops] == starts
    leave = max((span.end for span in sim.spans), default=0)
    assert leave == end


@given(bodies, units, units, machines(shared=True), st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=50, deadline=None)
def test_the_interval_is_never_below_the_resource_bound(body, vm, lgkm, costs, waves, groups):
    doc = document(kernel=body, vm=vm, lgkm=lgkm, waves_per_group=waves, groups=groups)
    sim = simulate(doc, costs, trips=12)
    if sim.steady and sim.bound is not None:
        assert sim.state.interval >= sim.bound.bound
        assert all((use.steady_utilisation or 0) <= 1 for use in sim.units)


@given(bodies, units, units, machines(shared=True), st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=50, deadline=None)
def test_a_unit_serves_one_op_at_a_time_and_rows_issue_in_order(
    body, vm, lgkm, costs, waves, groups
):
    doc = document(kernel=body, vm=vm, lgkm=lgkm, waves_per_group=waves, groups=groups)
    sim = simulate(doc, costs, trips=3)
    for unit in {op.unit for op in sim.ops}:
        held = sorted((op.start, op.end) for op in sim.ops if op.unit == unit and op.end > op.start)
        assert all(a[1] <= b[0] for a, b in pairwise(held))
    for row in range(len(sim.rows)):
        mine = [op for op in sim.ops if op.row == row]
        assert all(a.issued <= b.issue for a, b in pairwise(mine))
        for queue in ("vm", "lgkm"):
            done = [op.done for op in mine if op.queue == queue]
            assert done == sorted(done)
        busy = sorted(
            [(op.issue, op.issued) for op in mine]
            + [(s.start, s.end) for s in sim.stalls if s.row == row]
        )
        assert all(a[1] <= b[0] for a, b in pairwise(busy))


def _without(doc, phase, index):
    kept = [e.op for i, e in enumerate(doc.phase(phase)) if i != index]
    return replace(doc, **{phase.name.lower(): entries(kept, phase)})


def _waits(doc):
    return [
        (phase, i)
        for phase in {e.phase for e in (*doc.prologue, *doc.kernel, *doc.epilogue)}
        for i, entry in enumerate(doc.phase(phase))
        if entry.op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)
    ]


@given(bodies, bodies, bodies, units, units, machines(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_lone_wave_never_gets_slower_by_dropping_a_wait(first, body, last, vm, lgkm, costs, data):
    doc = document(prologue=first, kernel=body, epilogue=last, vm=vm, lgkm=lgkm)
    waits = _waits(doc)
    if not waits:
        return
    phase, index = data.draw(st.sampled_from(sorted(waits, key=lambda w: (w[0].value, w[1]))))
    assert simulate(_without(doc, phase, index), costs, trips=5).cycles <= (
        simulate(doc, costs, trips=5).cycles
    )


PICKS = [
    ("pingpong", case_names("pingpong")[0]),
    ("fourwave", case_names("fourwave")[0]),
]


@pytest.mark.parametrize(("family", "name"), PICKS)
@pytest.mark.parametrize("costs", [MachineCosts(), mi355x_costs()], ids=lambda c: c.name)
def test_recorded_schedules_never_get_slower_by_dropping_a_kernel_wait(family, name, costs):
    doc = golden(family, name)
    whole = simulate(doc, costs, trips=8, waves=1)
    for phase, index in sorted(_waits(doc), key=lambda w: (w[0].value, w[1])):
        part = simulate(_without(doc, phase, index), costs, trips=8, waves=1)
        assert part.cycles <= whole.cycles, (phase, index)


@pytest.mark.parametrize("family", ["pingpong", "fourwave", "single_buffer"])
@pytest.mark.parametrize("costs", [MachineCosts(), mi355x_costs()], ids=lambda c: c.name)
def test_recorded_schedules_become_steady_above_their_bound(family, costs):
    for name in case_names(family)[::12]:
        doc = golden(family, name)
        if not any(e.op.tag == ScheduleOps.BARRIER for e in doc.kernel):
            continue  # nothing keeps the groups together: one runs after the other
        sim = simulate(doc, costs, trips=12, waves=1)
        assert sim.steady, name
        assert sim.state.interval >= sim.bound.bound, name
        assert sim.state.period <= 4


def test_runs_are_deterministic():
    family, name = PICKS[0]
    first = simulate(golden(family, name), mi355x_costs(), trips=4)
    assert simulate(golden(family, name), mi355x_costs(), trips=4) == first


def _free_memory(barrier, issue, vm, lgkm, mma_cycles):
    """Memory units without contention: latency counts from the end of the issue."""
    free = UnitSpec(capacity=64)
    return MachineCosts(
        by_role=(
            (OpRole.GLOBAL_LOAD, OpTiming(issue=issue, occupancy=0, latency=vm + issue)),
            (OpRole.FRAGMENT_LOAD, OpTiming(issue=issue, occupancy=0, latency=lgkm + issue)),
            (
                OpRole.COMPUTE,
                OpTiming(issue=mma_cycles, occupancy=mma_cycles, latency=mma_cycles),
            ),
        ),
        units=((ResourceKind.GLOBAL_MEM, free), (ResourceKind.LDS, free)),
        barrier=barrier,
    )


@pytest.mark.parametrize(
    ("family", "costs", "cycles"),
    # Published figures of a one-wave in-order stall model for the default orders, vm 4/4.
    [
        ("fourwave", _free_memory(16, 4, 900, 128, 256), 2496),
        ("fourwave", _free_memory(4, 1, 200, 20, 16), 336),
        ("pingpong", _free_memory(16, 4, 900, 128, 256), 3200),
        ("pingpong", _free_memory(4, 1, 200, 20, 16), 480),
    ],
)
def test_one_wave_figures_known_from_elsewhere(family, costs, cycles):
    if family == "fourwave":
        doc = golden(family, "fourwave/geom0_default")
    else:
        doc = pingpong_default()
        doc = replace(doc, protocol=replace(doc.protocol, groups=1, stagger_index=None))
    assert doc.counters == Counters(vm_per_load=(4, 4), lgkm_per_load=doc.counters.lgkm_per_load)
    sim = simulate(doc, costs, trips=16, waves=1)
    assert round(sim.ii) == cycles


def pingpong_default():
    """The default schedule among the recorded ones."""
    return next(
        doc
        for doc in (golden("pingpong", name) for name in case_names("pingpong"))
        if doc.strategy == "CSP"
        and doc.counters == Counters(vm_per_load=(4, 4), lgkm_per_load=(8, 4))
        and len(doc.epilogue) == 58
    )
