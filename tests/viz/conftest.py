"""Runs to look at, and golden files."""

from pathlib import Path

import pytest

from tests.recorded import recorded
from warploom.sim import MachineCosts, mi355x_costs, simulate

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def pingpong():
    """Two groups of four waves that take turns, three iterations, at the ops' own latencies."""
    doc = recorded("pingpong", "pingpong/grid_mg0_vm1x1_lgkm4x4_s0")
    return simulate(doc, MachineCosts(), trips=3)


@pytest.fixture(scope="session")
def fourwave():
    """One group of four waves, at the costs of the chip."""
    return simulate(recorded("fourwave", "fourwave/geom0_default"), mi355x_costs(), trips=6)


@pytest.fixture
def compare(request):
    """Compare text with a golden file, or rewrite the file with ``--update-golden``."""

    def check(name, text):
        path = FOLDER / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing. Did you forget to run with --update-golden?"
        assert path.read_text(encoding="utf-8") == text, (
            f"{name} differs. If the change is wanted, run with --update-golden and look at it."
        )

    return check
