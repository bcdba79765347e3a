"""Programs of warp roles: a producer and a consumer that meet at counted signals."""

import pytest

from warploom.errors import SimulationError
from warploom.sim import (
    Await,
    Issue,
    OpTiming,
    Place,
    Priority,
    Program,
    Row,
    Signal,
    Slot,
    StallKind,
    Unit,
    WaitQueue,
    Workload,
    simulate_workload,
)


def at(label, i, index=0):
    return Place(phase="kernel", index=index, iteration=i, label=label)


def ring(depth, trips, *, load=100, mma=40):
    """A producer that fills ``depth`` buffers and a consumer that empties them."""
    producer, consumer = [], []
    for i in range(trips):
        slot, turn = i % depth, i // depth
        if turn:
            producer.append(
                Await(place=at(f"await empty[{slot}]", i), signal=f"empty[{slot}]", count=turn)
            )
        producer.append(
            Issue(
                place=at("LOAD", i, 1),
                kind="load",
                unit="tma",
                timing=OpTiming(issue=1, occupancy=1, latency=load),
                signals=(f"full[{slot}]",),
                writes=Slot(f"smem {slot}", shared=True),
            )
        )
        consumer += [
            Await(place=at(f"await full[{slot}]", i), signal=f"full[{slot}]", count=turn + 1),
            Issue(
                place=at("WGMMA", i, 1),
                kind="mma",
                unit="tensor",
                timing=OpTiming(issue=1, occupancy=mma, latency=mma),
                queue="wgmma",
                count=1,
            ),
            WaitQueue(place=at("wait_group(0)", i, 2), queue="wgmma", leave=0),
            Signal(place=at(f"arrive empty[{slot}]", i, 3), signal=f"empty[{slot}]"),
        ]
    return Workload(
        name=f"ring of {depth}",
        programs=(
            Program(row=Row(name="producer", role="producer"), steps=tuple(producer)),
            Program(row=Row(name="consumer", role="consumer"), steps=tuple(consumer)),
        ),
        units=(Unit(name="tma", lane="TMA"), Unit(name="tensor", lane="TENSOR", blocking=True)),
    )


@pytest.mark.parametrize(
    ("depth", "interval"),
    # One buffer: load 100, then MMA 40, then again. Two buffers: half of that. Four: MMA-bound.
    [(1, 140), (2, 70), (4, 40)],
)
def test_a_deeper_ring_hides_the_load(depth, interval):
    sim = simulate_workload(ring(depth, 32))
    last, before = (
        sim.ops[-1].done,
        next(op.done for op in sim.ops if op.kind == "mma" and op.place.iteration == 31 - 8),
    )
    assert (last - before) / 8 == interval


def test_a_wait_for_a_signal_names_who_gives_it():
    sim = simulate_workload(ring(1, 3))
    consumer = [s for s in sim.stalls if s.cause.kind is StallKind.SIGNAL and s.row == 1]
    assert (consumer[0].start, consumer[0].end) == (0, 100)
    assert consumer[0].cause.text == ("full[0]: LOAD (kernel 1, iteration 0) of producer completes")
    producer = [s for s in sim.stalls if s.row == 0]
    assert "arrive empty[0]" in producer[0].cause.text
    assert producer[0].cause.row == 1


@pytest.mark.parametrize(("given", "goes_on"), [(0, 102), (60, 102), (300, 300)])
def test_a_wait_takes_what_the_barrier_takes_to_answer(given, goes_on):
    """SelfBenchmark still until the signal comes counts for it."""
    slow = OpTiming(issue=given, occupancy=0, latency=given)
    work = OpTiming(issue=1, occupancy=1, latency=1)
    op = Issue(place=at("LOAD", 0), kind="GLOBAL_LOAD", unit="u", timing=slow)
    gives = Program(row=Row(name="p"), steps=(op, Signal(place=at("give", 0), signal="x")))
    wait = Await(place=at("wait", 0), signal="x", count=1, cost=102)
    used = Issue(place=at("MMA", 0), kind="COMPUTE", unit="u", timing=work)
    taker = Program(row=Row(name="c", wave=1), steps=(wait, used))
    units = (Unit(name="u", lane="u"),)
    sim = simulate_workload(Workload(name="asks", programs=(gives, taker), units=units))
    assert next(o.issue for o in sim.ops if o.place.label == "MMA") == goes_on


def test_a_signal_that_never_comes_is_a_deadlock():
    workload = Workload(
        name="stuck",
        programs=(
            Program(
                row=Row(name="consumer"), steps=(Await(place=at("wait", 0), signal="x", count=1),)
            ),
        ),
        units=(),
    )
    with pytest.raises(SimulationError, match="consumer waits for ever at wait"):
        simulate_workload(workload)


def _contender(name, priority, delay):
    timing = OpTiming(issue=delay, occupancy=0, latency=0)
    use = OpTiming(issue=10, occupancy=10, latency=10)
    return Program(
        row=Row(name=name),
        steps=(
            Priority(place=at("prio", 0), value=priority),
            Issue(place=at("delay", 0), kind="delay", unit="own", timing=timing),
            Issue(place=at("use", 0), kind="use", unit="mma", timing=use),
        ),
    )


@pytest.mark.parametrize(("priority", "order"), [(0, [0, 1, 2]), (1, [0, 2, 1])])
def test_priority_decides_who_takes_a_unit_that_becomes_free(priority, order):
    # Row 0 takes the unit at 0; rows 1 (since 1) and 2 (since 5) both want it at 10.
    workload = Workload(
        name="contention",
        programs=(
            _contender("a", 0, 0),
            _contender("b", 0, 1),
            _contender("c", priority, 5),
        ),
        units=(Unit(name="own", lane="own"), Unit(name="mma", lane="mma", blocking=True)),
    )
    sim = simulate_workload(workload)
    uses = sorted((op.start, op.row) for op in sim.ops if op.kind == "use")
    assert [row for _, row in uses] == order
    assert [start for start, _ in uses] == [0, 10, 20]
