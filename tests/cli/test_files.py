"""Files that commands read and write: one message for one that is missing, endings that fit."""

import shlex
import subprocess
import sys

import pytest

from .runner import warploom

MISSING = [
    ("verify", "none.json"),
    ("show", "none.json"),
    ("repair", "none.json"),
    ("timeline", "none.json"),
    ("diff", "none.json", "fourwave"),
    ("check-isa", "none.s"),
    ("emulate", "none.s"),
    ("run", "none.py:x"),
    ("check", "none.ptx"),
]


@pytest.mark.parametrize("words", MISSING, ids=lambda w: w[0])
def test_a_missing_file_is_reported_alike(words, tmp_path):
    done = warploom(*words, cwd=tmp_path)
    said = done.stdout + done.stderr
    file = words[1].partition(":")[0]
    assert done.returncode == 2
    assert f"cannot read {file}: No such file or directory" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("compile", "fourwave", "-o", "x.txt"),
        ("repair", "fourwave", "-o", "x.svg"),
        ("timeline", "fourwave", "-o", "x.pdf"),
        ("graph", "fourwave", "-o", "x.png"),
        ("diff", "fourwave", "fourwave", "-o", "x.pdf"),
        ("search", "fourwave", "-o", "x.txt"),
        ("explore", "--csv", "x.json"),
        ("demo", "-o", "x.pdf"),
    ],
    ids=lambda w: w[0],
)
def test_an_ending_that_is_not_written_is_refused(words, tmp_path):
    done = warploom(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "end" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_choice_of_a_kernel_is_set_alike_in_every_command():
    said = warploom("show", "attention", "--set", "causal=true", "--after", "parse").stdout
    assert said == warploom("show", "attention@causal=true", "--after", "parse").stdout
    for words, why in (
        (("show", "fourwave", "--set", "causal=true"), "--set is of tile kernels"),
        (("timeline", "attention", "--set", "cause=true"), "it has no 'cause'"),
        (("graph", "gemm", "--set", "act"), "says nothing"),
    ):
        done = warploom(*words)
        assert done.returncode == 2
        assert why in done.stderr


def test_types_have_their_usual_names_in_every_command():
    for words in (
        ("show", "fourwave", "--dtype", "bfloat16"),
        ("explore", "fourwave", "--dtype", "float8_e4m3fn"),
    ):
        assert warploom(*words).returncode == 0
    assert warploom("explore", "--dtype", "int7").returncode == 2


def test_what_the_demo_ends_with_can_be_typed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "warploom", "demo", "-o", str(tmp_path / "page.html")],
        capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    after = done.stdout.partition("Next (")[2].splitlines()[1:]
    command = next(line for line in after if " show gemm" in line)
    words = shlex.split(command)[:3]
    assert words[0].endswith("warploom")
    shown = subprocess.run(words, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "page.html").stat().st_size > 10_000
