"""Warps of a role run apart: what one thread does for all, and what others have not done yet."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.mbarrier.samples import lowered
from tests.modelcheck.checker import check
from tests.modelcheck.compare import compare
from tests.modelcheck.programs import handed, many_threads, own, random_program
from warploom.ir.mbarrier_dialect import Arrive, Load, ProxyFence, ScopeSync, WaitEmpty
from warploom.ir.rings import Scope
from warploom.verify.roles import Code, verify_roles

TILES = (2, 2)


def wide_maker():
    """A role of 128 threads that fills slots and tells it with one arrival."""
    for seed in range(100):
        document = handed(random.Random(seed))
        maker = document.programs[0]
        alone = maker.threads == 128 and maker.kernel[-1].scope is not Scope.WARP
        if alone and document.rings[0].depth == 2:
            return document
    raise AssertionError


def with_kernel(document, kernel):
    maker = replace(document.programs[0], kernel=tuple(kernel))
    return replace(document, programs=(maker, *document.programs[1:]))


def codes(document):
    return {f.code for f in verify_roles(document).races()}


def test_a_wait_of_the_other_warps_can_be_lapped():
    document = wide_maker()
    kernel = document.programs[0].kernel
    assert verify_roles(document).clean
    again = with_kernel(document, [*kernel[:-1], WaitEmpty(ring="h"), kernel[-1]])
    assert Code.LAPPED in codes(again)
    assert check(again, document, TILES) == "deadlock"
    met = with_kernel(
        document, [*kernel[:-1], WaitEmpty(ring="h"), ScopeSync(scope=Scope.WARPGROUP), kernel[-1]]
    )
    assert verify_roles(met).clean
    assert check(met, document, TILES) is None


def test_a_fence_counts_for_the_others_when_they_have_met_since():
    document = wide_maker()
    kernel = document.programs[0].kernel
    fence = next(i for i, e in enumerate(kernel) if isinstance(e, ProxyFence))
    swapped = [*kernel]
    swapped[fence], swapped[fence + 1] = swapped[fence + 1], swapped[fence]
    late = with_kernel(document, swapped)
    assert Code.SCOPE in codes(late)
    assert check(late, document, TILES) is not None


def loading(threads):
    """A matrix product whose loads one thread of ``threads`` issues."""
    for seed in range(300):
        document = random_program(seed)
        wide = many_threads(random.Random(seed), document)
        loads = any(isinstance(e, Load) for e in wide.programs[0].kernel)
        if loads and wide.programs[0].threads == threads and len(document.rings) == 1:
            return wide
    raise AssertionError


@pytest.mark.parametrize("threads", [32, 128])
def test_one_thread_of_many_loads(threads):
    document = loading(threads)
    assert verify_roles(document).clean
    kernel = [e for e in document.programs[0].kernel if not isinstance(e, ScopeSync)]
    apart = with_kernel(document, kernel)
    wrong = check(apart, document, (3, 3))
    assert (Code.LAPPED in codes(apart)) == (wrong is not None) == (threads > 32)


def test_an_arrival_of_every_warp_takes_the_others_along():
    document = wide_maker()
    kernel = [
        replace(e, scope=Scope.WARP) if isinstance(e, Arrive) else e
        for e in document.programs[0].kernel
    ]
    kernel.insert(-1, WaitEmpty(ring="h"))
    rings = tuple(replace(r, full_arrivals=4) for r in document.rings)
    each = replace(with_kernel(document, kernel), rings=rings)
    assert verify_roles(each).clean
    assert check(each, document, TILES) is None


def test_both_agree_on_a_program_that_was_missed():
    found = compare(11071)
    assert not found.missed
    assert not found.false_alarm


# -- registers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("producer", "consumer", "clean"),
    [(0, 0, True), (24, 240, True), (40, 240, False), (24, 248, False), (20, 240, False)],
)
def test_roles_share_the_registers_of_the_cta(producer, consumer, clean):
    document = lowered("gemm").document
    shares = {"producer": producer, "consumer": consumer}
    programs = tuple(replace(p, most_registers=shares[p.name]) for p in document.programs)
    report = verify_roles(replace(document, programs=programs))
    assert report.clean is clean, report.text()
    assert clean or {f.code for f in report.races()} == {Code.CAPACITY}


def test_arrays_stay_below_what_a_role_asks_for():
    document = lowered("attention").document
    programs = tuple(
        replace(p, most_registers=104 if p.name == "consumer" else 24) for p in document.programs
    )
    assert Code.CAPACITY in codes(replace(document, programs=programs))


def owner(depth, wide):
    """A role that multiplies what it wrote to slots itself."""
    for seed in range(400):
        document = own(random.Random(seed))
        syncs = [e for e in document.programs[0].kernel if isinstance(e, ScopeSync)]
        alone = document.programs[0].instances == 1
        if alone and document.rings[0].depth == depth and (len(syncs) == 2) == wide:
            return document
    raise AssertionError


@pytest.mark.parametrize("wide", [False, True])
def test_slots_that_their_writer_multiplies(wide):
    """Where all have met, a lap is over though nobody waited; products alone are no proof."""
    document = owner(1, wide)
    assert verify_roles(document).verdict == "clean"
    first = document.programs[0].prologue
    dropped = tuple(e for e in first if not isinstance(e, WaitEmpty))
    program = replace(document.programs[0], prologue=dropped)
    apart = replace(document, programs=(program,))
    assert verify_roles(apart).verdict == ("clean" if wide else "timing")
    assert check(apart, document, (2, 2)) is None


def test_a_writer_that_arrives_before_the_others_fenced():
    document = owner(1, False)
    kernel = [e for e in document.programs[0].kernel if not isinstance(e, ScopeSync)]
    alone = with_kernel(document, kernel)
    assert verify_roles(alone).verdict == "timing"
    assert check(alone, document, (2, 2)) is None
    two = replace(
        alone,
        programs=(replace(alone.programs[0], instances=2),),
        rings=(replace(alone.rings[0], full_arrivals=8, empty_arrivals=8),),
    )
    assert verify_roles(two).verdict == "race"  # the other instance multiplies it too
