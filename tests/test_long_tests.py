"""The list of long tests names tests that are there."""

from pathlib import Path

HERE = Path(__file__).parent


def test_every_file_and_test_of_the_list_is_there():
    lines = (HERE / "long_tests.txt").read_text().splitlines()
    for line in (x for x in lines if not x.startswith("#")):
        file, _, name = line.partition("::")
        text = (HERE.parent / file).read_text()
        assert f"def {name.partition('[')[0]}(" in text, line
