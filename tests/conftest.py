"""Options of the whole test run."""


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        default=False,
        help="rewrite the golden pictures and texts with what the code gives now",
    )
