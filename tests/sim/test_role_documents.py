"""Warp-specialised documents: by hand, and the shipped GEMMs against their proven intervals."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.mbarrier.samples import lowered
from warploom.cli.kernels import kernel_named
from warploom.compiler.pricing import role_costs
from warploom.errors import ConfigError, CostModelError, DocumentError, SimulationError
from warploom.ir.mbarrier_dialect import (
    Arrive,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    NamedArrive,
    NamedSync,
    RoleProgram,
    RolesDocument,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import NamedBarrier, Part, RoleRing, Side, SlotRead
from warploom.sim import OpTiming, RoleCosts, RoleOpCost, StallKind, simulate_roles


def ring_document(depth, pending=0):
    """One producer, one consumer; the slot is released once its product has retired."""
    late = pending  # iterations between a product and its release
    return RolesDocument(
        name="ring",
        target="test",
        strategy="hand",
        rings=(
            RoleRing(
                name="ab",
                depth=depth,
                parts=(Part(name="A", offset=0, bytes=64),),
                full_arrivals=1,
                empty_arrivals=1,
            ),
        ),
        programs=(
            RoleProgram(
                name="producer",
                instances=1,
                threads=1,
                peel=0,
                prologue=(),
                kernel=(
                    WaitEmpty(ring="ab"),
                    Expect(ring="ab", bytes=64),
                    Load(op="load", ring="ab", part="A", bytes=64),
                ),
                epilogue=(),
            ),
            RoleProgram(
                name="consumer",
                instances=1,
                threads=128,
                peel=late,
                prologue=(WaitFull(ring="ab"), product(), Commit()) if late else (),
                kernel=(
                    WaitFull(ring="ab"),
                    product(),
                    Commit(),
                    WaitGroup(pending=pending),
                    Arrive(ring="ab", k=-late),
                ),
                epilogue=(WaitGroup(pending=0), Arrive(ring="ab", k=-1)) if late else (),
            ),
        ),
    )


def product():
    return Mma(op="mma", slots=(SlotRead(ring="ab", part="A"),), accumulator="acc")


def costs(load=100, mma=40, handoff=0):
    return RoleCosts(
        name="test",
        ops=(
            ("load", RoleOpCost(unit="copy", timing=OpTiming(issue=1, occupancy=1, latency=load))),
            (
                "mma",
                RoleOpCost(unit="tensor", timing=OpTiming(issue=1, occupancy=mma, latency=mma)),
            ),
        ),
        handoff=handoff,
    )


@pytest.mark.parametrize(
    ("depth", "handoff", "interval"),
    # One slot: load 100, product 40, hand-over; two share it; four are bound by the tensor unit
    # and by the consumer, which retires each product before it looks for the next.
    [(1, 0, 140), (1, 10, 150), (2, 0, 70), (4, 0, 40)],
)
def test_rings_by_hand(depth, handoff, interval):
    sim = simulate_roles(ring_document(depth), costs(handoff=handoff), trips=24)
    assert (sim.ii, sim.steady) == (interval, True)


def test_a_product_may_stay_in_flight_while_the_next_is_issued():
    # The tensor unit is busy without a gap: the release comes one iteration later.
    sim = simulate_roles(ring_document(4, pending=1), costs(), trips=24)
    assert (sim.ii, sim.bound.unit) == (40, "tensor")
    products = [op for op in sim.ops if op.kind == "COMPUTE"][-10:]
    assert all(b.start == a.end for a, b in pairwise(products))


def test_slots_and_their_contents_are_seen():
    sim = simulate_roles(ring_document(2), costs(), trips=4)
    slots = [(s.slot, s.content) for s in sorted(sim.slots, key=lambda s: s.start)]
    assert slots == [
        ("smem ab[0].A", "use 0"),
        ("smem ab[1].A", "use 1"),
        ("smem ab[0].A", "use 2"),
        ("smem ab[1].A", "use 3"),
    ]
    assert all(len(s.readers) == 1 for s in sim.slots)
    assert "mma" in sim.links[0].text


def test_the_wait_for_a_slot_names_the_role_that_frees_it():
    sim = simulate_roles(ring_document(1), costs(), trips=3)
    wait = next(s for s in sim.stalls if s.place.label == "WaitEmpty(ab)")
    assert wait.cause.kind is StallKind.SIGNAL
    assert wait.cause.text == (
        "ab empty, use 0: Arrive(ab) (kernel 4, iteration 0) of consumer arrives"
    )


def ordered():
    """Two consumers that hand the unit to each other through named barriers."""
    kernel = (
        NamedSync(barrier="order", turn=0),
        Compute(op="work"),
        NamedArrive(barrier="order", turn=1),
    )
    return RolesDocument(
        name="order",
        target="test",
        strategy="hand",
        rings=(),
        programs=(
            RoleProgram(
                name="consumer",
                instances=2,
                threads=128,
                peel=0,
                setup=(NamedArrive(barrier="order", turn=1, instance=1),),
                prologue=(),
                kernel=kernel,
                epilogue=(),
            ),
        ),
        barriers=(NamedBarrier(name="order", id=1, threads=256, count=2),),
    )


def test_named_barriers_let_consumers_take_turns():
    timing = OpTiming(issue=50, occupancy=50, latency=50)
    prices = RoleCosts(name="test", ops=(("work", RoleOpCost(unit="own", timing=timing)),))
    sim = simulate_roles(ordered(), prices, trips=4)
    work = sorted((op.start, op.row) for op in sim.ops)
    assert work == [(50 * i, i % 2) for i in range(8)]


TILES = [{"m": 128, "n": 256}, {"m": 128, "n": 192}, {"m": 256, "n": 160}]


@pytest.mark.parametrize("tiles", TILES, ids=str)
def test_products_reach_their_proven_interval(tiles):
    made = lowered("gemm", **tiles, consumer_warpgroups=2)
    sim = simulate_roles(made.document, role_costs(made), trips=24)
    assert sim.steady
    assert made.document.proof.proven
    # The model of the solver and the simulator's agree on what bounds the loop; the solver
    # rounds the copies of a stage together, the simulator one by one.
    assert sim.ii == sim.bound.bound
    assert sim.ii == pytest.approx(made.document.proof.ii, abs=1)
    assert f"unit '{sim.bound.unit}'" in made.document.proof.limit


def test_fewer_slots_than_needed_cost_time():
    made = lowered("gemm", m=128, n=256)
    document = made.document
    shallow = replace(document, rings=(replace(document.rings[0], depth=1),))
    with pytest.raises(SimulationError, match="waits for ever"):
        simulate_roles(shallow, role_costs(made), trips=8)  # released one iteration too late
    two = replace(document, rings=(replace(document.rings[0], depth=2),))
    slow = simulate_roles(two, role_costs(made), trips=24)
    assert slow.ii > document.proof.ii


def test_several_tiles_run_on():
    made = lowered("gemm", m=128, n=256)
    one = simulate_roles(made.document, role_costs(made), trips=8)
    three = simulate_roles(made.document, role_costs(made), trips=8, tiles=3)
    assert one.cycles < three.cycles < 3 * one.cycles  # loads of a tile hide the store before it
    assert three.ii is not None


def test_what_cannot_be_run_is_refused():
    with pytest.raises(CostModelError, match="no price for op 'mma'"):
        simulate_roles(ring_document(1), replace(costs(), ops=costs().ops[:1]))
    with pytest.raises(ConfigError, match="at least 1 iterations"):
        simulate_roles(ring_document(2, pending=1), costs(), trips=0)
    document = ring_document(1)
    producer = document.programs[0]
    wrong = replace(producer, kernel=(replace(producer.kernel[0], parity=0), *producer.kernel[1:]))
    with pytest.raises(DocumentError, match="other parity"):
        simulate_roles(replace(document, programs=(wrong, document.programs[1])), costs())
    consumer = document.programs[1]
    silent = replace(consumer, kernel=consumer.kernel[:-1])
    with pytest.raises(SimulationError, match="producer waits for ever at WaitEmpty"):
        simulate_roles(replace(document, programs=(producer, silent)), costs())


def test_slots_that_consumers_fill_are_handed_over():
    """Arrivals on a slot's full barrier say that a share is written: they give no slot back."""
    kernel = kernel_named("scan")
    document = kernel.lowered.document
    sides = {e.side for p in document.programs for e in p.kernel if isinstance(e, Arrive)}
    assert sides == {Side.FULL, Side.EMPTY}
    run = simulate_roles(document, kernel.costs(document), trips=12)
    assert run.ii >= run.bound.bound


def test_who_stores_leaves_the_tensor_cores_to_the_next_in_turn():
    def cycles(alternate):
        made = lowered("alternating", pingpong=alternate)
        return simulate_roles(made.document, role_costs(made), trips=4, tiles=8).cycles

    assert cycles(2) < cycles(1)
