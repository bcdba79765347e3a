"""The changelog: dated releases, one version, fragments that fold."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import warploom

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "changelog"


def run(*words):
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False
    )


def test_every_release_is_dated_and_the_newest_is_this_one():
    heads = re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text())
    assert heads
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", head) for head in heads)
    assert heads[0].startswith(f"{warploom.__version__} - ")
    assert f"version: {warploom.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert "version" not in re.search(
        r"(?s)\[project\](.*?)\n\[", (ROOT / "pyproject.toml").read_text()
    )[1].replace('dynamic = ["version"]', "").replace("requires-python", "")


def test_fragments_can_be_read():
    assert run("check").returncode == 0


def test_fragments_fold_into_a_version(tmp_path):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 0.1.0 - 2026-01-01\n\n### Added\n\n- Old.\n"
    )
    (tmp_path / "changelog.d" / "a.md").write_text(
        "## Fixed\n\n- One\n  more.\n\n### Added\n- Two.\n"
    )
    assert run("fold", "0.2.0", "--date", "2026-02-02", "--root", tmp_path).returncode == 0
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert text == (
        "# Changelog\n\n## 0.2.0 - 2026-02-02\n\n### Added\n\n- Two.\n\n"
        "### Fixed\n\n- One\n  more.\n\n"
        "## 0.1.0 - 2026-01-01\n\n### Added\n\n- Old.\n"
    )
    assert list((tmp_path / "changelog.d").iterdir()) == []
    (tmp_path / "changelog.d" / "b.md").write_text("### Fixed\n\n- Three.\n")
    assert run("fold", "0.2.0", "--date", "2026-02-03", "--root", tmp_path).returncode == 0
    assert "- Three.\n- One\n" in (tmp_path / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("text", ["## Mended\n\n- x\n", "- x\n", "### Added\n\nx\n"])
def test_a_fragment_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "bad.md").write_text(text)
    done = run("check", "--root", tmp_path)
    assert done.returncode == 1
    assert "bad.md" in done.stderr


def test_no_file_has_a_path_of_a_machine():
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    if not files[0]:
        pytest.skip("not a clone")
    bad = re.compile(rb"/(?:home|Users)/[A-Za-z][\w.-]*/")
    wrong = []
    for name in filter(None, files):
        path = ROOT / name
        if (
            path.is_file()
            and name != "tests/docs/test_changelog.py"
            and bad.search(path.read_bytes())
        ):
            wrong.append(name)
    assert wrong == []
