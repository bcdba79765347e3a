"""Code blocks of the docs run, and generated pages are up to date."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
WITH_CODE = [p for p in PAGES if "```python\n" in p.read_text()]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: p.stem)
def test_python_blocks_run(page, capsys):
    """Blocks keep their places in the page: kernels are read from where they stand."""
    namespace = {}
    text = page.read_text()
    for block in re.finditer(r"```python\n(.*?)```", text, re.S):
        above = text.count("\n", 0, block.start(1))
        exec(compile("\n" * above + block.group(1), str(page), "exec"), namespace)


WITH_COMMANDS = [p for p in PAGES if re.search(r"^warploom ", p.read_text(), re.M)]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda p: p.stem)
def test_commands_run(page, tmp_path):
    """Commands of a page run one after the other; 1 means findings or differences."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.S):
        for line in block.splitlines():
            if not line.startswith("warploom "):
                continue
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(line, comments=True)],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
            )
            assert done.returncode in (0, 1), f"{line}\n{done.stderr}"
            assert "Error" not in done.stderr, f"{line}\n{done.stderr}"


def test_generated_reference_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "gen_reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_shows_real_output():
    shown = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    done = subprocess.run(
        [sys.executable, "-m", "warploom", "show", "fourwave"],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in shown.splitlines():
        assert line == "..." or line.removesuffix("...") in done.stdout
