"""Complete enumeration of programs, against all issue times of small bodies tried one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.modulo.bodies.attention import AttentionShape, attention_body
from warploom.errors import SchedulingError
from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Unit,
    check_schedule,
)
from warploom.modulo.enumerate import enumerate_programs
from warploom.modulo.programs import Programs, Space, program_of, programs_of, turns_of

PAIR = Space(
    roles=(("load",), ("left", "right")),
    names={"A0": "a", "A1": "a", "B0": "b", "B1": "b"},
    rings=("K",),
    unit="t",
)
ALONE = Space(roles=(("main",),), rings=())


def pair_body(*, occ=2, use=2, there=2, back=1, hold=3, landing=3):
    """A load and two alike roles of two ops: A on a shared unit, B on another."""
    ops = [ModuloOp(name="L", unit="m", occupancy=1, role="load")]
    edges = []
    for c, role in enumerate(("left", "right")):
        a = len(ops)
        ops += [
            ModuloOp(name=f"A{c}", unit="t", occupancy=occ, issue=1, role=role),
            ModuloOp(name=f"B{c}", unit="v", occupancy=use, issue=use, role=role),
        ]
        edges += [
            ModuloEdge(src=0, dst=a, latency=landing),
            ModuloEdge(src=a, dst=a + 1, latency=there),
            ModuloEdge(src=a + 1, dst=a, latency=back, distance=2),
        ]
    ring = Ring(
        name="K",
        kind=RingKind.SMEM,
        size=1,
        writers=(0,),
        readers=((Read(op=1, hold=hold), Read(op=3, hold=hold)),),
        max_depth=2,
    )
    return ModuloProblem(
        name="pair",
        ops=tuple(ops),
        edges=tuple(edges),
        rings=(ring,),
        roles=tuple(Role(name=n) for n in ("load", "left", "right")),
    )


def chain_body(latencies, back, occ):
    """Four ops of one role in a recurrence."""
    ops = tuple(
        ModuloOp(name=n, unit="u" if i % 2 else "w", occupancy=occ, issue=1, role="main")
        for i, n in enumerate("ABCD")
    )
    edges = [ModuloEdge(src=i, dst=i + 1, latency=x) for i, x in enumerate(latencies)]
    edges.append(ModuloEdge(src=3, dst=0, latency=back, distance=3))
    return ModuloProblem(name="chain", ops=ops, edges=tuple(edges), roles=(Role(name="main"),))


def all_times(problem, ii, depth, reach):
    """Every issue time vector up to ``reach`` after op 0 that meets edges, units, rings."""
    span = np.arange(0, reach + 1)
    grid = np.stack(np.meshgrid(*[span] * (len(problem.ops) - 1), indexing="ij"), -1)
    t = np.concatenate([np.zeros((*grid.shape[:-1], 1), int), grid], -1).reshape(
        -1, len(problem.ops)
    )
    for e in problem.edges:
        t = t[t[:, e.dst] + e.distance * ii >= t[:, e.src] + e.latency]
    for ring in problem.rings:
        for u in ring.readers[0]:
            t = t[t[:, ring.writers[0]] + depth * ii >= t[:, u.op] + u.hold]
    for a, b in combinations(range(len(problem.ops)), 2):
        x, y = problem.ops[a], problem.ops[b]
        pairs = [(x.occupancy, y.occupancy)] if x.unit == y.unit else []
        pairs += [(x.issue, y.issue)] if x.role == y.role and x.issue and y.issue else []
        for p, q in pairs:
            gap = (t[:, b] - t[:, a]) % ii
            t = t[(gap >= p) & (gap <= ii - q)]
    return t


def by_trial(problem, space, ii, depth, reach):
    found = set()
    for row in all_times(problem, ii, depth, reach):
        programs = programs_of(problem, space, row.tolist(), ii)
        if programs is not None:
            found.add(programs)
    return found


@settings(max_examples=30, deadline=None)
@given(
    ii=st.integers(4, 6),
    occ=st.integers(1, 3),
    use=st.integers(1, 3),
    there=st.integers(1, 6),
    back=st.integers(0, 3),
    hold=st.integers(0, 4),
    landing=st.integers(0, 4),
)
def test_two_alike_roles_are_enumerated_completely(ii, occ, use, there, back, hold, landing):
    body = pair_body(occ=occ, use=use, there=there, back=back, hold=hold, landing=landing)
    result = enumerate_programs(body, PAIR, ii, (2,))
    assert result.complete
    assert {f.programs for f in result.found} == by_trial(body, PAIR, ii, 2, reach=4 * ii)


@settings(max_examples=30, deadline=None)
@given(
    ii=st.integers(4, 6),
    latencies=st.tuples(*[st.integers(0, 4)] * 3),
    back=st.integers(0, 5),
    occ=st.integers(1, 2),
)
def test_the_orders_of_one_role_are_enumerated_completely(ii, latencies, back, occ):
    body = chain_body(latencies, back, occ)
    result = enumerate_programs(body, ALONE, ii, ())
    assert result.complete
    assert {f.programs for f in result.found} == by_trial(body, ALONE, ii, 1, reach=3 * ii)


def test_the_trial_finds_something_to_agree_on():
    assert len(by_trial(pair_body(), PAIR, 6, 2, reach=24)) > 3
    assert len(by_trial(chain_body((1, 1, 1), 1, 1), ALONE, 5, 1, reach=15)) > 3


def attention_space():
    steps = ("QK", "MAX", "RESCALE", "EXP", "CVT", "PV")
    return Space(
        roles=(("producer",), ("consumer0", "consumer1")),
        names={f"{s}{c}": s for s in steps for c in range(2)},
        rings=("K", "V"),
        unit="tensor",
    )


@pytest.fixture(scope="module")
def attention():
    shape = AttentionShape(consumers=2, in_place=True, max_depth=2, handoff=156, release=156)
    body = attention_body(shape)
    return body, tuple(r.max_depth for r in body.rings)


def test_attention_at_the_least_interval(attention):
    body, depths = attention
    result = enumerate_programs(body, attention_space(), 2048, depths)
    assert result.complete
    orders = {
        tuple(c for c in f.programs.roles[1] if not c[0].startswith("release"))
        for f in result.found
    }
    assert (len(result.found), len(orders)) == (85, 10)
    assert not enumerate_programs(body, attention_space(), 2047, depths).found
    for f in result.found:
        assert not check_schedule(body, 2048, f.times, depths).errors
        assert programs_of(body, attention_space(), f.times, 2048) == f.programs
    assert enumerate_programs(body, attention_space(), 2048, depths) == result


def test_a_work_limit_ends_the_claim(attention):
    body, depths = attention
    result = enumerate_programs(body, attention_space(), 2048, depths, work=500)
    assert not result.complete
    assert len(result.found) < 85


def test_ops_without_an_order_are_refused():
    ops = tuple(ModuloOp(name=n, unit=n, role="main") for n in "AB")
    tied = (ModuloEdge(src=0, dst=1, latency=1), ModuloEdge(src=1, dst=0, latency=1, distance=1))
    body = ModuloProblem(name="free", ops=ops, edges=tied, roles=(Role(name="main"),))
    with pytest.raises(SchedulingError, match="may issue in one cycle"):
        enumerate_programs(body, ALONE, 4, ())


def test_an_open_body_has_no_end():
    ops = tuple(ModuloOp(name=n, unit="u", role="main") for n in "AB")
    body = ModuloProblem(
        name="open",
        ops=ops,
        edges=(ModuloEdge(src=0, dst=1, latency=1),),
        roles=(Role(name="main"),),
    )
    with pytest.raises(SchedulingError, match="any number of iterations"):
        enumerate_programs(body, ALONE, 4, ())


def test_units_of_more_capacity_are_refused():
    body = chain_body((1, 1, 1), 1, 1)
    wide = ModuloProblem(
        name="wide",
        ops=body.ops,
        edges=body.edges,
        roles=body.roles,
        capacities=(Unit(name="u", capacity=2),),
    )
    with pytest.raises(SchedulingError, match="at once"):
        enumerate_programs(wide, ALONE, 4, ())
    with pytest.raises(SchedulingError, match="no program is asked for"):
        enumerate_programs(body, Space(roles=()), 4, ())


def test_turns_that_differ_are_no_program(attention):
    """QK0 QK1 PV1 PV0: consumer 0 would keep PV and QK together, consumer 1 QK and PV."""
    body, _ = attention
    times = [0] * len(body.ops)
    for at, name in enumerate(("QK0", "QK1", "PV1", "PV0")):
        times[body.index(name)] = 512 * at
    assert turns_of(body, attention_space(), times, 2048) is None
    times[body.index("PV0")], times[body.index("PV1")] = 1024, 1536
    assert turns_of(body, attention_space(), times, 2048) == ()
    times[body.index("PV0")], times[body.index("QK1")] = 512, 1024
    assert turns_of(body, attention_space(), times, 2048) == (("QK", "PV", 0),)


def test_a_program_reads_from_the_first_op_on():
    space = attention_space()
    programs = Programs(roles=((("a", 0), ("b", 1)),), turns=(("a", "b", 1),))
    assert programs.text() == "a b(-1); together: a>b"
    assert space.alike == ("consumer0", "consumer1")
    assert program_of((), (), 4) == ()
