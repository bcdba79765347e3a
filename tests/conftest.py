"""Options of the whole test run."""

import gc

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        default=False,
        help="rewrite the golden pictures and texts with what the code gives now",
    )


def pytest_collection_finish():
    """What was imported stays: the collector need not walk it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, obj):
    """Tests of the slow run need not be made to be left out."""
    left_out = collector.config.option.markexpr == "not slow"
    if left_out and any(m.name == "slow" for m in getattr(obj, "pytestmark", ())):
        return []
    return None
