"""Every example script runs."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_wide_kernel(tmp_path):
    out = tmp_path / "wide.json"
    done = subprocess.run(
        [sys.executable, EXAMPLES / "wide_kernel.py", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "verdict: clean, trip counts all" in done.stdout
    judged = subprocess.run(
        [sys.executable, "-m", "warploom", "verify", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout
