"""Every example script runs."""

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_jax_arrays():
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("jax", reason="JAX is not installed")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "jax_arrays.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    far = [float(line.split()[-4]) for line in done.stdout.splitlines()]
    assert len(far) == 3
    assert max(far) < 5e-3
