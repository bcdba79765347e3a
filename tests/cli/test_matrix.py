"""Every command on every kind of source: a result, or a message that says why not."""

import inspect
import json

import pytest

from tests.frontend import two_loops
from warploom.cli.kernels import kernel_names

from .runner import warploom

MINE = """
from dataclasses import replace

from warploom import DeclarativeSchedule, KernelGeometry, compile_schedule
import warploom as wl
from warploom.targets.h200 import h200


def schedule():
    return DeclarativeSchedule(lgkm_a=8, lgkm_b=4)


def of_a_tile():
    return DeclarativeSchedule(geometry=KernelGeometry.ping_pong((256, 256, 64)))


compiled = compile_schedule(schedule())
document = compiled.document()


@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = wl.relu(acc)


slow = replace(h200(), name="slow", l2_bytes_per_cycle=20.0)
"""
SOURCES = (
    "pingpong",
    "fourwave",
    "single_buffer",
    "gemm",
    "attention",
    "attention@causal=True",
    "gemm_256x192x64_w2_o3",
    "counters.json",
    "roles.json",
    "own.json",
    "slow.json",
    "mine.py:schedule",
    "mine.py:compiled",
    "mine.py:document",
    "mine.py:kernel",
    "mine.py:two_loops",
    "-",
)
COMMANDS = (
    ("show",),
    ("compile",),
    ("simulate", "--trips", "4"),
    ("timeline", "--trips", "2"),
    ("timeline", "--trips", "2", "--format", "html"),
    ("timeline", "--trips", "2", "--format", "svg"),
    ("timeline", "--trips", "2", "--json"),
    ("graph",),
    ("graph", "--format", "svg"),
    ("verify",),
    ("repair",),
    ("run", "--host", "--runs", "1"),
    ("explore",),
)
QUICK = ("pingpong", "counters.json", "gemm", "own.json", "mine.py:two_loops", "-")
ALL = [s if s in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in SOURCES]
ROLES = (
    *("gemm", "attention", "attention@causal=True", "gemm_256x192x64_w2_o3", "roles.json"),
    *("slow.json", "mine.py:kernel", "mine.py:two_loops", "-"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    (folder / "mine.py").write_text(MINE + inspect.getsource(two_loops))
    assert warploom("compile", "pingpong", "-o", folder / "counters.json").returncode == 0
    assert warploom("compile", "gemm", "-o", folder / "roles.json").returncode == 0
    mine = f"{folder}/mine.py"
    assert warploom("compile", f"{mine}:kernel", "-o", folder / "own.json").returncode == 0
    own = ("gemm", "--target", f"{mine}:slow")
    assert warploom("compile", *own, "-o", folder / "slow.json").returncode == 0
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def given(folder, source):
    return (folder / "roles.json").read_text() if source == "-" else ""


@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_takes_every_source(folder, command, source):
    done = warploom(command[0], source, *command[1:], stdin=given(folder, source))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("source", ALL)
def test_every_source_can_be_compared(folder, source):
    done = warploom("diff", source, "fourwave", "--json", stdin=given(folder, source))
    assert done.returncode == (0 if source == "fourwave" else 1), done.stderr
    assert json.loads(done.stdout)["facts"][1]["name"] == "fourwave"


@pytest.mark.parametrize("source", ALL)
def test_every_source_is_emitted_for_its_machine_and_for_no_other(folder, source, tmp_path):
    roles = source in ROLES
    done = warploom(
        "emit", "h200", source, "--no-build", "-o", tmp_path, stdin=given(folder, source)
    )
    assert done.returncode == (0 if roles else 2)
    assert (tmp_path / "kernel.cu").exists() is roles
    if source == "own.json":
        assert "emit the kernel itself" in done.stderr
    elif not roles:
        assert "is no Hopper kernel" in done.stderr
        assert "emit gfx950" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", kernel_names())
def test_every_shipped_kernel_goes_through_every_command(name, tmp_path):
    for command in COMMANDS:
        done = warploom(command[0], name, *command[1:])
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout.strip()
    assert warploom("compile", name, "-o", tmp_path / "x.json").returncode == 0
    dtype = ("--dtype", "fp8") if "scaled" in name else ()
    for command in (("simulate",), ("verify",), ("emit", "h200", "--no-build", "-o", tmp_path)):
        more = dtype if command[0] == "emit" else ()
        done = warploom(*command[:2], *command[2:], tmp_path / "x.json", *more)
        assert done.returncode == 0, f"{command}: {done.stderr}"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("roles.json", "warploom emit h200 roles.json"),
        ("mine.py:schedule", "with other counts they would be wrong"),
    ],
)
def test_what_gfx950_cannot_run_is_reported(source, said, tmp_path):
    pytest.importorskip("llvmlite")
    done = warploom("emit", "gfx950", source, "-o", tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", ["pingpong", "counters.json", "mine.py:of_a_tile", "gemm", "mine.py:kernel"]
)
def test_counter_sources_and_products_become_gfx950_kernels(source, tmp_path):
    pytest.importorskip("llvmlite")
    done = warploom("emit", "gfx950", source, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernel.s").exists()


@pytest.mark.parametrize("source", ["pingpong", "gemm"])
def test_bench_without_a_gpu_says_what_is_missing(source):
    done = warploom("bench", source)
    if done.returncode != 0:
        assert done.returncode == 2
        assert "warploom simulate" in done.stderr


def test_a_broken_role_document_is_found_and_repaired(folder, tmp_path):
    data = json.loads((folder / "roles.json").read_text())
    consumer = next(p for p in data["programs"] if p["name"] == "consumer")
    wait = next(e for e in consumer["kernel"] if "pending" in e)
    wait["pending"] += 1
    racy = tmp_path / "racy.json"
    racy.write_text(json.dumps(data))
    assert warploom("verify", racy).returncode == 1
    done = warploom("repair", racy, "-o", tmp_path / "repaired.json")
    assert done.returncode == 0, done.stderr
    assert "WaitGroup(2) -> WaitGroup(1)" in done.stdout
    assert warploom("verify", tmp_path / "repaired.json").returncode == 0
    assert warploom("emit", "h200", racy, "--no-build", "-o", tmp_path / "x").returncode == 1
