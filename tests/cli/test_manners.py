"""What every command keeps to: widths, colour, quiet ends, errors at the right place."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from warploom.cli import COMMANDS
from warploom.cli.screen import working

from .runner import warploom

WIDTHS = (60, 80, 120)
ESCAPE = "\x1b["


def process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "warploom", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_version():
    done = warploom("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"warploom \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), ("emit", "h200")])
def test_help_fits_and_cuts_nothing_off(command, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERMINAL_WIDTH", str(width))
    done = warploom(*command, "--help")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= width
    assert "…" not in done.stdout
    assert "..." not in done.stdout.partition("\nCommands:")[2]
    assert "--no-scheduling" not in done.stdout


def test_knobs_have_a_page_of_their_own(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    done = warploom("show", "--help-knobs")
    assert done.returncode == 0
    assert len(re.findall(r"^  --", done.stdout, re.M)) == 19
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert "--wait-vm-last" not in warploom("show", "--help").stdout


@pytest.mark.parametrize("width", WIDTHS)
def test_the_demo_is_one_screen(width, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", str(width))
    done = warploom("demo", "-o", tmp_path / "t.html")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert max(map(len, lines)) <= max(width, len(str(tmp_path)) + 20)
    assert len(lines) <= 50
    for part in ("What you write", "clean", "cycles/tile", "MMA_UNIT", "race", "wrong product"):
        assert part in done.stdout
    assert (tmp_path / "t.html").read_text().startswith("<!DOCTYPE html>")


def test_colour_only_where_it_is_wanted(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ESCAPE in warploom("show", "fourwave").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in warploom("show", "fourwave").stdout


def test_completion_knows_sources_and_commands():
    done = process(
        _WARPLOOM_COMPLETE="complete_bash", COMP_WORDS="warploom show rms", COMP_CWORD="2"
    )
    assert "rms_gemm" in done.stdout


def test_progress_is_said_on_a_terminal_only(monkeypatch, capsys):
    monkeypatch.setattr("warploom.cli.screen.PATIENCE", 0.01)
    with working("thinking"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with working("waking up") as change:
        change("thinking")
        subprocess.run(["sleep", "0.2"], check=True)
    told = capsys.readouterr().err
    assert "thinking ... 0 s" in told
    assert told.endswith("\r\x1b[2K")


# --- whose fault it is ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "what", "line"),
    [
        ("def make():\n    return 1 / 0\n", "make", "ZeroDivisionError", "mine.py:2: return 1 / 0"),
        ("def make():\n    return 3\n", "make", "is a int", ""),
        ("import nothing_of_this_name\n", "make", "ModuleNotFoundError", "mine.py:1"),
        ("def make(:\n", "make", "SyntaxError", "mine.py:1"),
        ("def make(a):\n    return a\n", "make", "TypeError", "mine.py:make"),
        ("raise SystemExit(7)\n", "make", "SystemExit", "mine.py:1"),
        (
            "from warploom import KernelGeometry\n\ndef make():\n"
            "    return KernelGeometry.four_wave((1, 1, 1))\n",
            "make",
            "GeometryError",
            "mine.py:4",
        ),
        ("schedule = 1\n", "shedule", "has no 'shedule'", "did you mean 'schedule'?"),
    ],
)
def test_an_authors_mistake_is_shown_at_the_authors_line(
    text, name, what, line, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(text)
    done = warploom("show", f"mine.py:{name}")
    assert done.returncode == 2
    assert what in done.stderr
    assert line in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["show", "simulate", "timeline", "graph", "repair", "run"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "broken.json"),
        (b"{", "broken.json"),
        (b"[]", "broken.json"),
        (b"\xff\xfe", "broken.json"),
        (b'{"schema": "warploom.schedule/1"}', "missing key"),
        (b'{"schema": "warploom.schedule/9"}', "broken.json"),
    ],
)
def test_broken_documents_are_named(command, content, message, tmp_path):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    done = warploom(command, path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "broken.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_sweep_says_why_something_was_refused(tmp_path):
    done = warploom("explore", "--tile", "64x64x32", "-j", "1", "--cache", tmp_path / "c")
    assert done.returncode == 0
    assert "refused: pingpong 64x64x32 bf16: a wave covers 16 of N" in done.stdout


def test_what_cannot_be_run_is_reported_without_a_gpu_too():
    for wrong in (("--shape", "3x"), ("--set", "nope=1")):
        done = warploom("run", "gemm", "--host", "--runs", "1", *wrong)
        assert done.returncode == 2
        assert wrong[0] in done.stderr
    done = warploom("run", "attention", "--host", "--runs", "1", "--set", "causal=True")
    assert done.returncode == 0
    assert "causal=True" in done.stdout
    assert "executed by the interpreter" in done.stdout


def test_an_axis_a_kernel_does_not_have_is_reported():
    done = warploom("show", "attention@q=64")
    assert done.returncode == 2
    assert "it has no 'q'" in done.stderr


def on_a_terminal(columns, *words):
    """What a terminal of that width is shown."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    hidden = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
    environment = {k: v for k, v in os.environ.items() if k not in hidden} | {"TERM": "xterm"}
    running = subprocess.Popen(
        [sys.executable, "-m", "warploom", *words],
        stdout=child,
        stderr=child,
        stdin=child,
        env=environment,
    )
    os.close(child)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone
        while part := os.read(parent, 65536):
            shown += part
    running.wait()
    os.close(parent)
    return shown.decode()


def test_a_terminal_has_its_width_and_colour():
    shown = on_a_terminal(66, "compile", "fourwave")
    assert ESCAPE in shown
    bare = re.sub(r"\x1b\[[0-9;]*[mK]", "", shown.replace("\r", "\n"))
    assert 40 < max(map(len, bare.splitlines())) <= 66
