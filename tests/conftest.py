"""Options of the whole test run."""

import gc


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
