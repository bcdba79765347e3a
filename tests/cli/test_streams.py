"""Commands on closed and full output streams, and which modules a command loads."""

import subprocess
import sys

import pytest

from warploom.cli import COMMANDS, needed_commands
from warploom.ir.types import DType

from .runner import warploom

COMMAND = [sys.executable, "-m", "warploom"]
CALLS = (
    ["--version"],
    ["--help"],
    ["show", "--list"],
    ["show", "pingpong"],
    ["verify", "pingpong"],
    ["costs", "h200"],
    ["doctor"],
    ["no-such-command"],
)
OTHERS = (  # with those above every command
    ["demo"],
    ["compile", "fourwave"],
    ["check", "none.ptx"],
    ["repair", "fourwave"],
    ["simulate", "fourwave"],
    ["timeline", "fourwave"],
    ["graph", "fourwave"],
    ["diff", "fourwave", "pingpong"],
    ["explore", "fourwave"],
    ["search", "fourwave", "--evaluations", "1", "--no-build"],
    ["emit", "h200", "--help"],
    ["run", "fourwave", "--runs", "1"],
    ["bench", "gemm"],
    ["check-isa", "none.s"],
    ["emulate", "none.s"],
    ["mcp", "--help"],
    ["cache", "--help"],
)
CALLS += tuple(pytest.param(c, marks=pytest.mark.slow) for c in OTHERS)


def test_every_command_is_tried_on_a_closed_output():
    named = {c[0] for c in OTHERS} | {c[0] for c in CALLS if isinstance(c, list)}
    assert set(COMMANDS) <= named


def run_in_shell(arguments, redirection):
    line = " ".join([*COMMAND, *arguments, redirection])
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_a_closed_output_gives_no_traceback(arguments):
    done = run_in_shell(arguments, ">&-")
    assert "Traceback" not in done.stderr
    usual = {"no-such-command": 2, "check": 2, "check-isa": 2, "emulate": 2, "diff": 1, "bench": 2}
    if arguments[0] != "bench" or done.returncode:  # it needs a GPU
        assert done.returncode == usual.get(arguments[0], 0)


def test_all_streams_closed():
    done = run_in_shell(["show", "--list"], "<&- >&- 2>&-")
    assert done.returncode == 0


def test_a_full_output_is_an_error_without_a_traceback():
    done = run_in_shell(["show", "--list"], ">/dev/full")
    assert done.returncode == 2
    assert "cannot write the output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def loaded_modules(*arguments):
    """The modules in memory after a command."""
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"sys.argv = ['warploom', *{list(arguments)!r}]\n"
        "from warploom.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_and_version_load_no_compiler():
    for argument in ("--help", "--version"):
        loaded = loaded_modules(argument)
        assert "numpy" not in loaded
        assert not {m for m in loaded if m.startswith(("warploom.passes", "warploom.verify"))}


def test_verifying_a_file_loads_neither_numpy_nor_a_compiler(tmp_path):
    document = tmp_path / "p.json"
    made = subprocess.run(
        [*COMMAND, "compile", "pingpong", "-o", str(document)], capture_output=True, check=False
    )
    assert made.returncode == 0
    loaded = loaded_modules("verify", str(document))
    assert not loaded & {"numpy", "ortools", "llvmlite", "warploom.cli.kernels"}


def test_only_the_command_that_is_asked_for_loads(monkeypatch):
    monkeypatch.delenv("_WARPLOOM_COMPLETE", raising=False)
    assert needed_commands(["show", "gemm"]) == ("show",)
    assert needed_commands(["--help"]) == ()
    monkeypatch.setenv("_WARPLOOM_COMPLETE", "complete_bash")
    assert needed_commands([]) == tuple(COMMANDS)


def test_an_unknown_ending_is_refused(tmp_path):
    done = subprocess.run(
        [*COMMAND, "timeline", "pingpong", "-o", str(tmp_path / "x.pdf")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "no output format ends in .pdf" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "kind"),
    [("fp32", DType.F32), ("float16", DType.F16), ("BFloat16", DType.BF16), ("fp8", DType.E4M3)],
)
def test_types_under_their_usual_names(name, kind):
    assert DType(name) is kind


def test_emit_h100_takes_the_other_target(tmp_path):
    done = warploom(
        "emit", "h100", "gemm", "--dtype", "bfloat16", "--no-build", "-o", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert " on h100," in done.stdout
