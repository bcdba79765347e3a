"""What a process loads: a command, an import or a kernel from the cache needs few modules."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")

HEAVY = ("numpy", "ortools", "warploom.modulo", "warploom.verify", "warploom.sync", "warploom.sim")
PASSES = ("warploom.passes.driver", "warploom.passes.layout", "warploom.compiler.compiled")
GEMM = """
from warploom.ir.tile import DType
from warploom.runtime.gemm import CALLS, PLAIN
from warploom.compiler.layout import Layout
a = Layout((256, 128), (128, 1), DType.BF16)
b = Layout((128, 192), (1, 128), DType.BF16)
found = CALLS.binary_for((a, b, None, None, None), PLAIN)
print(found.grid.tiles({"m": 256, "n": 192, "k": 128}), found.cubin[:4] == b"\\x7fELF")
"""


def loaded(code, *, environment=None):
    """Modules that are loaded after some code, and what it printed."""
    more = "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code + more],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    *said, modules = done.stdout.splitlines()
    return set(json.loads(modules)), said


def none_of(modules, *names):
    assert not {n for n in names if n in modules}


def test_the_public_functions_load_no_pass_and_no_numpy():
    modules, _ = loaded("import warploom; warploom.gemm; warploom.attention; warploom.swiglu")
    none_of(modules, *HEAVY, *PASSES, "importlib.metadata")
    assert len({m for m in modules if m.startswith("warploom")}) <= 110


def test_importing_the_package_loads_next_to_nothing():
    modules, _ = loaded("import warploom")
    assert len({m for m in modules if m.startswith("warploom")}) <= 5


def test_a_kernel_from_the_cache_runs_no_pass(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    first, said = loaded(GEMM)
    assert set(PASSES) <= first
    monkeypatch.setenv("PYTHONHASHSEED", "2")  # keys do not depend on the order of sets
    again, same = loaded(GEMM)
    none_of(again, *HEAVY, *PASSES)
    assert said == same


def test_compiling_for_hopper_loads_nothing_of_other_targets(tmp_path, monkeypatch):
    """Nor drawings, the simulator, or the checker of machine code: 200 modules of dataclasses."""
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    modules, _ = loaded(GEMM)
    others = ("codegen.amdgcn", "viz", "sim", "check", "pipeline", "passes.block_program", "cli")
    none_of(modules, *(f"warploom.{name}" for name in others), "typer", "ortools")
    assert len({m for m in modules if m.startswith("warploom")}) <= 280


SHOW = """
import contextlib, io, sys
from warploom.cli import main
sys.argv = ["warploom", "show", "gemm"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""


def test_showing_a_kernel_loads_no_code_generator_of_another_target(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    modules, _ = loaded(SHOW)
    none_of(modules, "warploom.codegen.amdgcn", "warploom.check", "ortools")


def test_a_damaged_kernel_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    _, said = loaded(GEMM)
    for path in tmp_path.glob("cubin/??/*"):
        path.write_bytes(path.read_bytes()[:-1])
    again, same = loaded(GEMM)
    assert set(PASSES) <= again
    assert said == same


SOURCES = """
import hashlib
from warploom.compiler.emit_cuda import emit_kernel
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
made = [
    gemm.compile("bf16", without=("bias", "residual"), sizes={"m": 512, "n": 512, "k": 512}),
    attention.compile("bf16", without=("lse", "lengths"), sizes={"d": 64}, positive={"scale"}),
]
for one in made:
    source = emit_kernel(one.lower(one.choices[0].config), one.target)
    print(one.choices[0].config.name, hashlib.sha256(source.text.encode()).hexdigest())
"""


def test_the_same_source_in_every_process(tmp_path, monkeypatch):
    said = []
    for seed in ("0", "12345"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / seed))
        said.append(loaded(SOURCES)[1])
    assert len(said[0]) == 2
    assert said[0] == said[1]


def test_the_solver_s_version_is_that_of_its_metadata():
    from importlib.metadata import version

    from warploom.compiler.compile_cache import _solver

    pytest.importorskip("ortools")
    assert _solver() == version("ortools")
