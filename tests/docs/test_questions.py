"""Ten questions about a package: files and names in the answers are there, imports are as said."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explain" / "questions.md").read_text()
PACKAGES = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")[1:]}
BEFORE = re.compile(r"`(\w+)` in `(src/[\w/.]+)`")
BEHIND = re.compile(r"`(\w+)` \([^)`]*`(src/[\w/.]+)`\)")
OF = re.compile(r"`(\w+)` of `(src/[\w/.]+)`")


def bound(path):
    """Names that a module binds at its top."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def imported(package):
    """Packages of warploom that the files of one import."""
    found = set()
    for path in (ROOT / "src" / "warploom" / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            if isinstance(node, ast.ImportFrom) and node.module == "warploom":
                names = [f"warploom.{a.name}" for a in node.names]
            found |= {n.split(".")[1] for n in names if n.startswith("warploom.")}
    return found - {package}


def answers(text):
    return dict(re.findall(r"(?m)^(\d+)\. (.*)$", text))


def test_every_file_is_there():
    for name in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", PAGE):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("package", PACKAGES)
def test_ten_answers_whose_names_are_there(package):
    text = PACKAGES[package]
    assert [*answers(text)] == [str(i) for i in range(1, 11)]
    pairs = [*BEFORE.findall(text), *BEHIND.findall(text), *OF.findall(text)]
    assert len(pairs) >= 6
    for name, path in pairs:
        assert name in bound(ROOT / path), (name, path)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_are_as_said(package):
    assert set(re.findall(r"`(\w+)`", answers(PACKAGES[package])["2"])) == imported(package)
