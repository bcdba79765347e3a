"""The worked examples of the contributor's map: applied to a copy of the package, counted, run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "contribute.md").read_text()
BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```', re.S | re.M)
EXAMPLES = {
    section.splitlines()[0]: section
    for section in PAGE.split("\n### ")[1:]
    if BLOCK.search(section)
}
MOST_FILES = {
    "A pointwise function": 2,
    "A reduction": 2,
    "A pass": 2,
    "A kernel": 1,
    "A target": 1,
    "A command": 2,
    "An operation of the module": 8,
}


def edits(section):
    """Hunks by file."""
    return {file: text for kind, file, text in BLOCK.findall(section) if kind == "diff"}


def apply(path, diff):
    """Put added lines after the context above them; a new file is all added lines."""
    hunks = [h.splitlines() for h in re.split(r"(?m)^@@.*\n", diff)]
    if not path.exists():
        assert all(line.startswith("+") for hunk in hunks for line in hunk), path
        path.write_text("".join(line[1:] + "\n" for hunk in hunks for line in hunk))
        return
    text = path.read_text()
    for hunk in hunks:
        old = "".join(line[1:] + "\n" for line in hunk if not line.startswith("+"))
        new = "".join(line[1:] + "\n" for line in hunk if not line.startswith("-"))
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    path.write_text(text)


def test_every_example_is_here():
    assert {name.partition(" (")[0] for name in EXAMPLES} >= set(MOST_FILES)


@pytest.mark.parametrize("name", EXAMPLES, ids=lambda n: n.partition(" (")[0].replace(" ", "_"))
def test_a_worked_example_works_in_a_copy(name, tmp_path):
    section = EXAMPLES[name]
    # Bytecode comes along: only what the edits touch is compiled again.
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    changed = edits(section)
    for file, diff in changed.items():
        apply(tmp_path / file, diff)
    (claimed,) = re.findall(r", (\d+) files?$", name)
    assert len(changed) == int(claimed) <= MOST_FILES[name.partition(" (")[0]]
    stubs = [sys.executable, ROOT / "scripts" / "gen_stubs", "--source", tmp_path / "src/warploom"]
    subprocess.run(stubs, check=True)
    (shown,) = (text for kind, _, text in BLOCK.findall(section) if kind == "python")
    (tmp_path / "check.py").write_text(shown)
    assert check(tmp_path, tmp_path / "src") == ""
    assert check(tmp_path, ROOT / "src") != ""  # what it shows is not there without the edits


def check(folder, package):
    """What the check says on stderr where it fails."""
    env = os.environ | {
        "PYTHONPATH": str(package),
        "WARPLOOM_CACHE": str(folder / "cache"),
    }
    words = [sys.executable, "check.py"]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def test_stubs_are_what_the_code_says():
    subprocess.run([sys.executable, ROOT / "scripts" / "gen_stubs", "--check"], check=True)
