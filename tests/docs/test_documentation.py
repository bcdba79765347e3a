"""Code blocks of the docs run, and generated pages are up to date."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
WITH_CODE = [p for p in PAGES if "```python\n" in p.read_text()]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: p.stem)
def test_python_blocks_run(page, capsys):
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, str(page), "exec"), namespace)


def test_generated_reference_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "gen_reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
