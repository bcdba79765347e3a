"""Code blocks of the docs run, and generated pages are up to date."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.runner import warploom
from warploom.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.S | re.M)
LONG = (
    "howto/best_schedule.md",
    "howto/gfx950.md",
    "explain/gfx950_tiles.md",
)  # searches and whole kernels: the slow run
WITH_CODE = [
    pytest.param(p, marks=pytest.mark.slow if p.as_posix().endswith(LONG) else ())
    for p in PAGES
    if BLOCK.search(p.read_text())
]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: p.stem)
def test_a_page_works_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    """Python and commands in one folder; kernels are read from where they stand in the page."""
    monkeypatch.chdir(tmp_path)
    namespace, text = {}, page.read_text()
    for block in BLOCK.finditer(text):
        if block[1] == "sh":
            commands_run(block[2])
            continue
        above = text.count("\n", 0, block.start(2))
        exec(compile("\n" * above + block[2], str(page), "exec"), namespace)


def commands_run(block):
    """1 means findings or differences."""
    for line in block.splitlines():
        if line.startswith("warploom "):
            done = warploom(*shlex.split(line, comments=True)[1:])
            assert done.returncode in (0, 1), f"{line}\n{done.stderr}"
            assert "Error" not in done.stderr, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("script", ["gen_reference", "gen_results"])
def test_generated_pages_are_up_to_date(script):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_results_page_has_every_file_and_what_made_it():
    text = (ROOT / "docs" / "reference" / "results.md").read_text()
    for path in (ROOT / "bench" / "results").iterdir():
        assert f"`{path.name}`" in text or f"results/{path.name}`" in text, path.name
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        assert re.search(r"`bench/[\w/]+\.py|scripts/|tests/\w+|`warploom ", section), section[:200]


@pytest.mark.slow
def test_pictures_are_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "gen_pictures", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_shows_real_output(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text().partition("What `scripts/demo` prints")[2]
    shown = re.search(r"```text\n(.*?)```", text, re.S).group(1)
    monkeypatch.setenv("COLUMNS", "80")
    done = warploom("demo", "-o", tmp_path / "t.html")
    lines = done.stdout.splitlines()
    for line in shown.splitlines():
        assert line in lines


def links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    return [t for t in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in t]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_and_pictures_are_in_the_clone(page):
    for target in links(page):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_reached_from_the_index():
    reached, todo = set(), [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        todo += [(page.parent / target).resolve() for target in links(page)]
    pages = {p for p in PAGES if p.parent != ROOT}
    assert pages - reached == set()


def test_the_index_is_in_the_order_of_learning():
    text = (ROOT / "docs" / "index.md").read_text()
    heads = re.findall(r"^## (\w+)", text, re.M)
    assert heads == ["Tutorial", "How", "Explanation", "Reference"]


def test_the_command_page_names_every_command():
    text = (ROOT / "docs" / "reference" / "cli.md").read_text()
    for name in COMMANDS:
        assert f"| `{name}" in text


def test_the_bench_page_names_every_script():
    text = (ROOT / "bench" / "README.md").read_text()
    for path in (ROOT / "bench").glob("*.py"):
        assert f"`{path.name}`" in text, path.name


@pytest.mark.parametrize("page", sorted((ROOT / "docs/kernels").glob("*.md")), ids=lambda p: p.stem)
def test_pages_of_kernels_show_the_kernels_that_ship(page):
    shown = re.findall(r"(?ms)^@wl\.kernel\ndef .*?(?=\n\n\n|\n```)", page.read_text())
    shipped = "".join(p.read_text() for p in (ROOT / "src/warploom/kernels").glob("*.py"))
    assert shown
    assert all(text in shipped for text in shown)
