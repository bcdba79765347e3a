"""Whatever a command is given to work on, it ends with a message: no traceback, no hang."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from .runner import warploom

FILES = {
    "empty.json": b"",
    "binary.json": bytes(range(256)) * 9,
    "zeros.json": b"\0" * 99,
    "surrogate.json": b'{"schema": "warploom.schedule/1", "name": "\\ud800 \\u202e"}',
    "deep.json": b"[" * 100_000,
    "number.json": b"1" * 5_000,
    "nan.json": b'{"schema": NaN}',
    "own.py": b"import sys\nnumber = 1\nclass Thing: pass\ndef nothing(): return None\n"
    b"def again(): return again()\ndef leave(): sys.exit(3)\n",
    "\u00fcmlaut.py": "def make():\n    raise RuntimeError('\u00df \u2192 \u221e')\n".encode(),
}
SOURCES = (
    *(name for name in FILES if name.endswith(".json")),
    *("missing.json", "folder.json", "folder.py:x", "/dev/null", "-"),
    *("own.py", "own.py:", "own.py:number", "own.py:Thing", "own.py:nothing", "own.py:again"),
    *("own.py:leave", "\u00fcmlaut.py:make", "os:path", "json:dumps", ":", "::", "", "@", "\x00"),
    *("gemm@", "gemm@m", "gemm@m=", "gemm@m=0", "gemm@m=-1", "gemm@x=1", "attention@d=1000"),
    *("attention@causal=maybe", "pingpong@d=1", "GEMM", " gemm", "\u65e5\u672c", "a" * 5_000),
    *("gemm_0x0x0_w0", "gemm_128x256x64_w9"),
)
COMMANDS = (
    *(("show",), ("compile",), ("verify",), ("repair",), ("simulate",), ("timeline",), ("graph",)),
    *(("diff", "fourwave"), ("explore", "--shape", "8x8x8"), ("search", "--seconds", "0.1")),
    *(("emit", "h200", "--no-build", "-o", "out"), ("emit", "gfx950", "-o", "out")),
    *(("run", "--host"), ("bench",), ("check-isa",), ("emulate",), ("costs",)),
)
BUILT = ("gemm_0x0x0_w0", "gemm_128x256x64_w9")  # of which gfx950 takes the text alone


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    for name in ("folder.json", "folder.py"):
        (folder / name).mkdir()
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_odd_sources_end_in_a_message(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for source in SOURCES:
        if command[1:2] == ("gfx950",) and source in BUILT:
            continue
        done = warploom(*command, source)
        assert done.returncode == 2 or "refused" in done.stdout, (source[:40], done)
        assert "Traceback" not in done.stderr, source
        assert (done.stderr + done.stdout).strip(), source


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "pingpong", "--trips", "99999999999999999999"),
        ("simulate", "pingpong", "--trips", "1e3"),
        ("timeline", "pingpong", "--trips", "\u0663\u0663\u0663\u0663\u0663"),
        ("timeline", "pingpong", "-o", "no/such/folder/x.svg"),
        ("timeline", "pingpong", "-o", "folder.json"),
        ("verify", "gemm", "--trips", "\u00b2..5"),
        ("show", "pingpong", "--max-vgpr", "-5"),
        ("show", "pingpong", "--tile", "256x256x64x64"),
        ("show", "pingpong", "--width", "5"),
        ("show", "gemm", "--tile", "0x0"),
        ("show", "gemm", "--tile", "99999999999999x1"),
        ("run", "gemm", "--shape", "99999999999999999999x1x1", "--host", "--runs", "0"),
        ("explore", "gemm", "--shape", "x".join(["1"] * 99)),
        ("explore", "gemm", "--shape", "-1x-1x-1"),
        ("compile", "gemm", "-o", "/dev/full"),
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_odd_numbers_end_in_a_message(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = warploom(*words)
    assert done.returncode in (1, 2)
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def process(*words, **more):
    command = [sys.executable, "-m", "warploom", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **more)


def seconds_of(pid):
    """CPU time of a process so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_an_interrupt_ends_it_with_130():
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # else as of the tests
    words = ("simulate", "pingpong", "--trips", "3500")
    running = process(*words, start_new_session=True, preexec_fn=heard)
    while seconds_of(running.pid) < 2.5:  # all is imported, and it works
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said


@pytest.mark.parametrize("words", ["show fourwave", "costs"])
def test_a_closed_pipe_is_no_error(words):
    shell = f"set -o pipefail; {sys.executable} -m warploom {words} | head -c 20"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert len(done.stdout) == 20
    assert done.stderr == ""
