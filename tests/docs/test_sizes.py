"""Files one reads in one sitting."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES, MOST_OF_A_FUNCTION = 400, 60


def files(folder):
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("folder", ["src/warploom", "tests"])
def test_no_file_is_long(folder):
    long = {f: n for f in files(folder) if (n := len(f.read_text().splitlines())) > MOST_LINES}
    assert {str(f.relative_to(ROOT)): n for f, n in long.items()} == {}, "split it by subject"


def test_no_function_is_long():
    long = {
        f"{f.relative_to(ROOT)}:{node.lineno} {node.name}"
        for f in files("src/warploom")
        for node in ast.walk(ast.parse(f.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > MOST_OF_A_FUNCTION
    }
    assert long == set()
