"""Repair of role programs: what one entry less breaks, it puts back."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from tests.mutation.role_mutants import role_mutants
from warploom.interp.executor.roles import first_fault
from warploom.ir.mbarrier_dialect import Compute, Load, Mma
from warploom.sync.mbarrier.repair import repair_roles
from warploom.verify.roles import verify_roles

from .gemm_kernel import GemmKernel
from .samples import SHIPPED, attention_document, gemm_document, lowered, meeting

GEMM = gemm_document()
KINDS = (
    *("WaitFull", "WaitEmpty", "Expect", "Arrive", "MmaFence", "Commit", "WaitGroup"),
    *(
        "ProxyFence",
        "ScopeSync",
        "BulkCommit",
        "BulkWait",
        "NamedSync",
        "NamedArrive",
        "ClusterSync",
    ),
)
RUNS = ((1, 1, 1), (2, 3), (5, 1, 4))


def broken(document, *kinds):
    """The mutants with one such entry left out."""
    names = {f"drop {k}" for k in kinds}
    found = (m for m in role_mutants(document) if m.operator in names)
    return list(islice((m for m in found if verify_roles(m.document).races()), 2))


def ops(document):
    return [
        (p.name, phase, e)
        for p in document.programs
        for phase, entries in p.phases()
        for e in entries
        if isinstance(e, Load | Mma | Compute)
    ]


def repaired(document, intended):
    done = repair_roles(document, verify_roles)
    assert done.done, (done.changes, [str(f) for f in done.left])
    assert done.changes
    assert ops(done.document) == ops(document)
    more = max(intended.minimum_trips, 1) - 1
    runs = [tuple(n + more for n in tiles) for tiles in RUNS]
    assert all(first_fault(done.document, t, range(8), intended=intended) is None for t in runs)
    return done


@pytest.mark.parametrize("kind", ["WaitFull", "WaitEmpty", "MmaFence", "Expect", "ProxyFence"])
def test_what_is_left_out_of_a_product_is_put_back(kind):
    repaired(broken(GEMM, kind)[0].document, GEMM)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["WaitGroup", "ScopeSync", "BulkWait", "Arrive", "Commit"])
def test_what_takes_longer_is_put_back_too(kind):
    for m in broken(GEMM, kind):
        repaired(m.document, GEMM)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["WaitFull", "MmaFence", "WaitGroup", "NamedSync", "NamedArrive"])
def test_what_is_left_out_of_attention_is_put_back(kind):
    document = attention_document()
    repaired(broken(document, kind)[0].document, document)


def test_ctas_of_a_cluster_leave_together_again():
    document = gemm_document(GemmKernel(cluster=(2, 1)))
    met = meeting(document)
    repaired(broken(met, "ClusterSync")[0].document, met)
    producer = replace(document.program("producer"), finish=())
    consumer = document.program("consumer")
    repaired(replace(document, programs=(producer, consumer)), document)


@pytest.mark.parametrize("kind", ["ProxyFence", pytest.param("Arrive", marks=pytest.mark.slow)])
def test_slots_that_roles_write_are_announced_again(kind):
    """The fence and the arrival on ``full`` after ordinary writes."""
    document = lowered("packed_grad").document
    repaired(broken(document, kind)[0].document, document)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", SHIPPED)
def test_every_kind_of_entry_is_put_back_in_every_text(name):
    """The first of each kind; ``bench/role_repair.py`` tells all of them."""
    document = lowered(name).document
    for kind in KINDS:
        for mutant in broken(document, kind)[:1]:
            repaired(mutant.document, document)


def test_a_turn_that_orders_waits_for_slots_is_put_back():
    document = lowered("alternating").document
    (mutant,) = broken(document, "NamedSync")
    repaired(mutant.document, document)


def test_a_right_document_is_left_alone():
    done = repair_roles(GEMM, verify_roles)
    assert done.done
    assert (done.document, done.changes) == (GEMM, ())


@pytest.mark.slow
def test_what_no_synchronisation_can_repair_is_said():
    mutant = next(m for m in broken(GEMM, "Mma") if m.where.startswith("consumer.kernel"))
    done = repair_roles(mutant.document, verify_roles)
    assert not done.done
    assert done.left


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("split_gemm", (3,)),  # what is left is published
        ("near_gemm", (0, 2, 3, 5)),
        pytest.param("split_gemm", range(2, 7), marks=pytest.mark.slow),
        pytest.param("decode", range(1, 4), marks=pytest.mark.slow),
        pytest.param("turns", (0, 1, 2, 3, 5, 6, 7, 8), marks=pytest.mark.slow),
    ],
)
def test_steps_of_ctas_that_meet_are_put_back(name, places):
    document = lowered(name).document
    (exchange,) = document.exchanges
    for at in places:
        steps = (*exchange.steps[:at], *exchange.steps[at + 1 :])
        broken = replace(document, exchanges=(replace(exchange, steps=steps),))
        assert verify_roles(broken).races()
        done = repair_roles(broken, verify_roles)
        assert done.done, (name, at, done.changes)
