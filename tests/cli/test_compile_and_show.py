"""``warploom compile`` and ``warploom show``: good input, bad input, JSON."""

import json
import sys
from pathlib import Path

import pytest

from warploom.cli.author import user_object
from warploom.ir import read_schedule

from .runner import warploom


def test_compile_writes_a_document_that_verifies(tmp_path):
    path = tmp_path / "fourwave.json"
    done = warploom("compile", "fourwave", "-o", str(path))
    assert done.returncode == 0
    assert "proven for all trip counts" in done.stdout
    assert read_schedule(path.read_text()).name == "fourwave"
    assert warploom("verify", str(path)).returncode == 0


def test_compile_to_json_and_back():
    done = warploom("compile", "pingpong", "--json", "--dtype", "fp8")
    assert done.returncode == 0
    assert json.loads(done.stdout)["schema"] == "warploom.schedule/1"


def test_a_racy_schedule_is_refused_or_marked(tmp_path):
    racy = ("compile", "pingpong", "--scheduling", "identity", "--sync", "reference")
    done = warploom(*racy)
    assert done.returncode == 1
    assert "VerificationError" in done.stderr
    path = tmp_path / "racy.json"
    done = warploom(*racy, "--allow-races", "-o", str(path))
    assert done.returncode == 1
    assert "WAR-LDS" in done.stdout
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pingpog"], "did you mean 'pingpong'?"),
        (["pingpong", "--tile", "256"], "is no tile"),
        (["pingpong", "--tile", "64x256x32"], "vm_per_load_a would be 0"),
        (["nowhere:thing"], "cannot be imported"),
        (["warploom.errors:ConfigErrr"], "did you mean 'ConfigError'?"),
        (["single_buffer", "--wait-vm-last", "3"], "has no knobs"),
        (["pingpong", "--tile", "192x256x64"], "vm_per_load_a would be 1.5"),
    ],
)
def test_mistakes_exit_2_with_a_message(arguments, message):
    done = warploom("compile", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_register_budget_is_a_hint():
    done = warploom("compile", "pingpong", "--max-vgpr", "10")
    assert done.returncode == 0
    assert "as few as 10 registers" in done.stderr


def test_a_race_of_the_documented_waits_is_repaired():
    done = warploom("compile", "pingpong", "--scheduling", "identity")
    assert done.returncode == 0, done.stderr
    assert "proven for all trip counts" in done.stdout


def test_show_names_blocks_waits_and_reasons():
    done = warploom("show", "fourwave")
    assert done.returncode == 0
    assert "block 7" in done.stdout
    assert "must be complete" in done.stdout
    assert "BARRIER       all waves" in done.stdout
    assert "4 vmcnt, 6 lgkmcnt, 4 barriers" in done.stdout


def test_show_json_and_documents(tmp_path):
    path = tmp_path / "p.json"
    warploom("compile", "pingpong", "-o", str(path))
    done = warploom("show", str(path), "--json")
    assert json.loads(done.stdout)["schedule"]["name"] == "pingpong"
    assert warploom("show", str(tmp_path / "none.json")).returncode == 2
    assert warploom("show", str(path), "--wait-vm-last", "3").returncode == 2


def test_a_user_schedule_from_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from warploom import DeclarativeSchedule\n"
        "def make():\n    return DeclarativeSchedule(lgkm_a=8, lgkm_b=4)\n"
    )
    done = warploom("show", "mine.py:make", "--scheduling", "greedy")
    assert done.returncode == 0, done.stderr
    assert "greedy, waits by" in done.stdout
    assert warploom("show", f"{Path('mine.py')}:nothing").returncode == 2


def test_a_file_imports_what_lies_beside_it(tmp_path, monkeypatch):
    """As `python kernels/mine.py` would: modules of its folder, and of the folder one stands in."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "sizes_beside.py").write_text("HALF = 0.5\n")
    (tmp_path / "sizes_here.py").write_text("TWICE = 2.0\n")
    (folder / "mine.py").write_text(
        "import warploom as wl\nfrom sizes_beside import HALF\nfrom sizes_here import TWICE\n\n"
        "@wl.kernel\n"
        "def scaled(x: wl.In['m', 'n'], out: wl.Out['m', 'n']):\n"
        "    m, n = wl.tile(out)\n"
        "    out[m, n] = x[m, n] * (HALF * TWICE)\n"
    )
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    try:
        assert user_object("kernels/mine.py:scaled").name == "scaled"
    finally:
        sys.path[:] = path


def test_show_says_what_blocks_an_interval_that_search_refuted():
    said = " ".join(warploom("show", "fp8_gemm").stdout.split())
    assert "units 'tensor', 'stream consumer0', 'stream consumer1' with the recurrences" in said
    assert "exhaustive search" not in said
