"""Warp roles: who runs what is part of the answer."""

from dataclasses import replace

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from warploom.errors import SchedulingError
from warploom.modulo import (
    Goal,
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Role,
    check_result,
    solve_modulo,
)

CUTS = ModuloOptions(goals=(Goal.CUTS,))


def test_tiles_are_dealt_whole_to_the_consumers():
    shape = AttentionShape(consumers=2, open_roles=True, register_budget=208, handoff=43)
    result = solve_modulo(attention_body(shape), CUTS)
    assert (result.ii, result.proven) == (2048, True)
    roles = {op.name: r for op, r in zip(result.problem.ops, result.roles, strict=True)}
    assert roles["LOAD_K"] == roles["LOAD_V"] == "producer"
    for tile in "01":
        assert len({r for name, r in roles.items() if name.endswith(tile)}) == 1
    assert roles["QK0"] != roles["QK1"]
    cuts = result.goal(Goal.CUTS)
    assert (cuts.value, cuts.bound) == (8, 8)
    check_result(result)


def test_one_consumer_cannot_hold_both_tiles_in_its_registers():
    shape = AttentionShape(consumers=2, roles=1, open_roles=True, register_budget=208)
    with pytest.raises(SchedulingError):
        solve_modulo(attention_body(shape), ModuloOptions(goals=()))


def test_handoffs_are_paid_only_across_roles():
    ops = tuple(ModuloOp(name=n, unit=n, occupancy=2, issue=2) for n in ("a", "b"))
    edges = (
        ModuloEdge(src=0, dst=1, latency=4),
        ModuloEdge(src=1, dst=0, latency=4, distance=1),
    )
    roles = (Role(name="one"), Role(name="two"))
    body = ModuloProblem(name="pair", ops=ops, edges=edges, roles=roles, handoff=50)
    free = solve_modulo(body, CUTS)
    assert (free.ii, len(set(free.roles)), free.goal(Goal.CUTS).value) == (8, 1, 0)
    split = solve_modulo(body.with_roles(("one", "two")), CUTS)
    assert (split.ii, split.proven) == (108, True)


def test_two_streams_beat_one_when_the_stream_is_the_limit():
    ops = tuple(ModuloOp(name=f"op{i}", unit=f"u{i}", occupancy=1, issue=10) for i in range(4))
    roles = (Role(name="one"), Role(name="two"))
    body = ModuloProblem(name="streams", ops=ops, roles=roles)
    both = solve_modulo(body, ModuloOptions(goals=()))
    assert (both.ii, both.proven) == (20, True)
    alone = solve_modulo(body.with_roles(("one",) * 4), ModuloOptions(goals=()))
    assert alone.ii == 40


def test_ties_keep_ops_together():
    ops = tuple(ModuloOp(name=f"op{i}", unit=f"u{i}", occupancy=1, issue=10) for i in range(2))
    tie = ModuloEdge(src=0, dst=1, latency=1, tie=True)
    roles = (Role(name="one"), Role(name="two"))
    body = ModuloProblem(name="tied", ops=ops, edges=(tie,), roles=roles)
    result = solve_modulo(body, ModuloOptions(goals=()))
    assert len(set(result.roles)) == 1
    assert result.ii == 20
    broken = replace(result, roles=("one", "two"))
    with pytest.raises(SchedulingError, match="tied"):
        check_result(broken)
