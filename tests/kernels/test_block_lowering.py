"""What is not pipelined runs as one program of all threads: executed against NumPy among NaN."""

import pytest

import tests.host_cuda as hc
from tests.kernels.block_texts import CASES, attention_case
from tests.kernels.written import NAN

pytestmark = hc.NEEDS_COMPILER


@pytest.fixture(autouse=True)
def _nan_around(monkeypatch):
    monkeypatch.setattr(hc, "POISON", NAN)


@pytest.mark.parametrize("name", CASES)
def test_on_the_host(name):
    CASES[name].require(CASES[name].on_host())


@pytest.mark.parametrize("d", [8, 40, 72, 192, 512])
def test_heads_of_any_width(d):
    case = attention_case(d)
    case.require(case.on_host())


@pytest.mark.slow
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_other_tiles_and_warpgroups(name, nth):
    CASES[name].require(CASES[name].on_host(nth=nth, sizes={}))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["h200", "mi355x"])
@pytest.mark.parametrize("name", CASES)
def test_interpreted(name, target):
    CASES[name].require(CASES[name].interpreted(target))
