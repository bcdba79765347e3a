"""Candidates of an attention kernel: distinct, verified, complete, named stably."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.document.roles_json import read_roles, write_roles
from warploom.errors import ConfigError, SchedulingError
from warploom.hopper.attention import (
    AttentionKernel,
    attention_roles,
)
from warploom.hopper.candidates import (
    attention_candidates,
    document_digest,
    free_body,
    program_space,
)
from warploom.hopper.solve import derive_attention
from warploom.launch.shipped import SHIPPED_ATTENTION, shipped_schedule
from warploom.order import ModuloOptions, check_result, solve_modulo
from warploom.order.alike import tied
from warploom.order.enumerate import enumerate_programs
from warploom.order.kbest import k_best
from warploom.verify.roles import verify_roles

KERNEL = AttentionKernel(q_registers=False)


@pytest.fixture(scope="module")
def candidates():
    return attention_candidates(KERNEL, slacks=(0.0,))


def without_reasons(document):
    def bare(entries):
        return tuple(replace(e, reason="") if e.reason else e for e in entries)

    return tuple((p.name, *(bare(entries) for _, entries in p.phases())) for p in document.programs)


def test_every_program_at_the_least_interval(candidates):
    assert candidates.complete
    assert len(candidates.found) == 85
    assert "interval 2048: 85 programs, all there are" in candidates.text()
    assert {c.result.ii for c in candidates.found} == {2048}
    assert all(c.result.proven for c in candidates.found)


def test_candidates_are_distinct_programs_under_distinct_names(candidates):
    assert len({c.name for c in candidates.found}) == len(candidates.found)
    assert len({without_reasons(c.document) for c in candidates.found}) == len(candidates.found)


def test_candidates_are_verified_and_checked(candidates):
    for c in candidates.found[::7]:
        assert verify_roles(c.document).clean
        check_result(c.result)
        assert document_digest(read_roles(write_roles(c.document))) == c.name


def test_what_the_solver_chose_is_among_them(candidates):
    names = {c.name for c in candidates.found}
    shipped = [k for k in SHIPPED_ATTENTION if k == replace(KERNEL, margin=k.margin)]
    assert shipped
    assert all(document_digest(shipped_schedule(k.name)) in names for k in shipped)


def test_what_other_seeds_find_is_among_them(candidates):
    """The heuristic's schedules know nothing of the enumeration."""
    names = {c.name for c in candidates.found}
    body = free_body(KERNEL)
    ties = tied(body, KERNEL.roles(), KERNEL.op_names(), 2048)
    best = solve_modulo(ties, ModuloOptions(goals=()))
    assert best.ii == 2048
    alike = [replace(result, problem=body) for result in k_best(best, 12)]
    found = {document_digest(attention_roles(result, KERNEL)) for result in alike}
    assert len(found) >= 2
    assert found <= names


COUNTS = {(128, 128, 2): (2048, 85), (64, 128, 3): (1536, 56), (256, 80, 2): (2560, 223)}


@pytest.mark.parametrize("shape", COUNTS)
def test_how_many_programs_there_are(shape):
    head_dim, tile_k, consumers = shape
    kernel = AttentionKernel(
        head_dim=head_dim, tile_k=tile_k, consumers=consumers, q_registers=False
    )
    body = free_body(kernel)
    ii, count = COUNTS[shape]
    depths = tuple(r.max_depth for r in body.rings)
    found = enumerate_programs(body, program_space(kernel), ii, depths)
    assert found.complete
    assert len(found.found) == count
    assert not enumerate_programs(body, program_space(kernel), ii - 1, depths).found


def test_reasons_do_not_make_another_candidate(candidates):
    document = candidates.found[0].document
    assert document_digest(replace(document, name="other", proof=None)) == candidates.found[0].name
    consumer = document.program("consumer")
    spoken = replace(
        consumer, kernel=(replace(consumer.kernel[0], reason="x"), *consumer.kernel[1:])
    )
    same = replace(document, programs=(document.program("producer"), spoken))
    assert document_digest(same) == candidates.found[0].name
    shorter = replace(document, programs=(replace(consumer, kernel=consumer.kernel[1:]),))
    assert document_digest(shorter) != candidates.found[0].name


@pytest.mark.slow
def test_programs_come_once_and_what_is_dropped_is_counted(candidates):
    """Each slack repeats the programs of the one before it."""
    more = attention_candidates(KERNEL, slacks=(0.0, 0.05))
    names = [c.name for c in more.found]
    assert len(set(names)) == len(names)
    assert {c.name for c in candidates.found} <= set(names)
    assert dict(more.dropped)["the same program at a smaller interval"] == 85
    longer = [c for c in more.found if c.result.ii > 2048]
    assert longer
    assert not any(c.result.proven for c in longer)
    assert names[: len(candidates.found)] == [c.name for c in candidates.found]


def test_a_kernel_can_name_its_program(candidates):
    chosen = candidates.found[5]
    kernel = replace(KERNEL, program=chosen.name)
    document = derive_attention(kernel)
    assert kernel.name in (document.name, f"attention_128x128_w2_s2_p{chosen.name}")
    assert document_digest(document) == chosen.name
    assert without_reasons(document) == without_reasons(chosen.document)
    assert (document.proof.ii, document.proof.proven) == (2048, True)
    with pytest.raises(SchedulingError, match="no program 'nonesuch'"):
        derive_attention(replace(KERNEL, program="nonesuch"))


def test_a_work_limit_is_said():
    few = attention_candidates(KERNEL, slacks=(0.0,), work=500)
    assert not few.complete
    assert "search ended" in few.text()


def test_bad_slacks_are_refused():
    with pytest.raises(ConfigError):
        attention_candidates(KERNEL, slacks=(-0.1,))
