"""Cost before count: barriers where they stall least, fewest on request or as a tie-break."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.sync.minimal import check_minimal
from warploom.errors import SyncError
from warploom.ir import read_schedule
from warploom.ir.schedule_ops import Phase
from warploom.sim import mi355x_costs, simulate
from warploom.sync.counters import CHIP, StallModel, count_sync, synthesise

from .golden_documents import fourwave, pingpong
from .naive_verifier import clean
from .verifiers import verified

MACHINE = mi355x_costs(mma_cycles=512)


def simulated(document):
    return simulate(document, MACHINE, trips=16, waves=1).ii


@pytest.fixture(scope="module")
def modulo_order():
    """An order of the exact scheduler without waits: the 4-wave body in chip cycles, least LDS."""
    return read_schedule((Path(__file__).parent / "modulo_4wave.json").read_text())


def test_the_reported_case_is_synchronised_at_its_cost(modulo_order):
    """With the fewest barriers a wait for everything stood right after a fresh load: 6696."""
    few = synthesise(modulo_order, barriers="fewest", cost=simulated)
    cheap = synthesise(modulo_order, cost=simulated)
    assert few.cost > 5000
    assert cheap.cost <= 4604
    assert cheap.kernel_barriers > few.kernel_barriers == cheap.fewest_barriers
    assert verified(cheap.document)
    assert not check_minimal(cheap.document, verified, barriers=cheap.derived_barriers)


def test_by_its_own_prices_too(modulo_order):
    """Without a cost the document's own latencies rank."""
    own = synthesise(modulo_order)
    assert own.cost == StallModel.of(modulo_order)(own.document)
    assert simulated(own.document) <= 4700


@pytest.mark.parametrize("document", [fourwave("geom0_default"), pingpong("strategy0_mg0")])
def test_the_cheapest_is_clean_and_never_dearer_than_the_fewest(document):
    few = synthesise(document, keep_barriers=False, barriers="fewest", cost=CHIP)
    cheap = synthesise(document, keep_barriers=False, cost=CHIP)
    assert cheap.cost <= few.cost
    assert cheap.fewest_barriers == few.kernel_barriers
    assert clean(cheap.document)


def test_barriers_that_suffice_are_kept_as_they_are():
    document = fourwave("geom0_default")
    done = synthesise(document)
    assert done.kernel_barriers == 0
    kernel = count_sync(done.document, Phase.KERNEL)
    assert kernel.barriers == count_sync(document, Phase.KERNEL).barriers


def test_equal_cost_takes_the_fewest():
    flat = synthesise(fourwave("geom0_default"), keep_barriers=False, cost=lambda d: 1.0)
    assert flat.kernel_barriers == flat.fewest_barriers


def test_prices_of_the_document_and_margins():
    model = StallModel.of(fourwave("geom0_default"))
    assert (model.mma, model.vm_latency, model.lgkm_latency) == (16, 200, 20)
    late = model.with_margins(vm=100, lgkm=7)
    assert (late.vm_latency, late.lgkm_latency) == (300, 27)


def test_lists_do_for_tuples_and_a_cost_is_asked_each_time_it_cannot_be_reported():
    given, asked = fourwave("geom0_default"), []

    class Counted(list):
        def __call__(self, document):
            asked.append(document)
            return CHIP(document)

    told = synthesise(given, cost=CHIP, limit=2)
    listed = replace(given, kernel=list(given.kernel))
    for _ in range(2):
        found = synthesise(listed, cost=Counted(), prices=CHIP, limit=2)
        assert (found.document.kernel, found.cost) == (told.document.kernel, told.cost)
    assert len(asked) >= 2


def test_an_unknown_choice_is_refused():
    with pytest.raises(SyncError):
        synthesise(fourwave("geom0_default"), barriers="most")
