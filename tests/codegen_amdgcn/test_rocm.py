"""Commands on an AMD GPU, against a stand-in for HIP that executes launches from machine code."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.runner import warploom
from warploom.codegen.amdgcn.tile_ir.trial import random_case
from warploom.kernels.gemm import gemm
from warploom.runtime import hip, mi355x, rocm

pytest.importorskip("llvmlite")


@pytest.fixture
def standin(hip_standin, monkeypatch):
    """Code objects are objects here, with or without a linker, and the library knows them."""

    def image(made):
        data = made.program.object()
        hip_standin.knows(data, made.assembly)
        return data

    monkeypatch.setattr(mi355x.CompiledMi355x, "code_object", property(image))
    monkeypatch.setattr(rocm, "SLICE_MS", 1.0)
    return hip_standin


SMALL = ["--tile", "64x32x32", "--shape", "70x33x40"]


class FakeTorch:
    """What the commands ask of a ROCm build of torch, on NumPy arrays."""

    bfloat16, float16 = "bf16", "f16"
    float8_e4m3fn = "fp8"
    version = SimpleNamespace(hip="7.0")
    cuda = SimpleNamespace(is_available=lambda: True)

    class Tensor:
        def __init__(self, values, log):
            self.values, self.log, self.dtype = values, log, "f32"

        def to(self, what):
            return self

        @property
        def T(self):
            return FakeTorch.Tensor(self.values.T, self.log)

        def __matmul__(self, other):
            self.log.append(self.values.shape)
            return self

    def __init__(self):
        self.log = []

    def from_numpy(self, values):
        return FakeTorch.Tensor(values, self.log)


def test_run_launches_through_hip(standin):
    before = len(standin.launches)
    done = warploom("run", "gemm", "--on", "mi355x", *SMALL, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["why_not_gpu"] is None
    assert "through HIP" in found["where"]
    ((name, grid, threads),) = standin.launches[before:]
    assert (name, grid) == ("warploom_tile", 4)
    assert threads % 64 == 0
    assert standin.library.standin_live() == 0  # all memory was given back


def test_run_on_the_host_when_asked(standin):
    before = len(standin.launches)
    done = warploom("run", "gemm", "--on", "mi355x", "--host", *SMALL, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["why_not_gpu"] == "asked for"
    assert len(standin.launches) == before


def test_bench_without_torch(standin, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = warploom("bench", "gemm", "--on", "mi355x", *SMALL, "--rounds", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right" in done.stdout
    assert "no ROCm build of torch" in done.stdout


def test_bench_against_the_library_of_torch(standin, monkeypatch):
    torch = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    done = warploom(
        "bench", "gemm", "--on", "mi355x", *SMALL, "--set", "alpha=1", "--rounds", "1", "--json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert set(found["ms"]) == {"warploom", "library", "library again"}
    assert found["right"]
    assert set(torch.log) == {(70, 40)}


def test_a_build_of_torch_without_rocm_is_no_library(monkeypatch):
    torch = FakeTorch()
    monkeypatch.setattr(FakeTorch, "version", SimpleNamespace(hip=None))
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert rocm.rocm_torch() is None


def test_bench_without_a_device_says_what_is_missing(monkeypatch):
    monkeypatch.setenv(hip.VARIABLE, "/nowhere/libamdhip64.so")
    hip.library.cache_clear()
    done = warploom("bench", "gemm", "--on", "mi355x")
    assert done.returncode == 2
    assert "no HIP runtime" in done.stderr
    assert "warploom run gemm --on mi355x" in done.stderr
    hip.library.cache_clear()


def test_doctor_measures_on_rocm(standin, monkeypatch):
    small = {"m": 64, "n": 32, "k": 32}
    monkeypatch.setattr(
        "warploom.cli.doctor.self_benchmark", lambda: rocm.self_benchmark(40, small)
    )
    done = warploom("doctor", "--gpu", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [m["what"] for m in found["measured"]] == ["gemm 40^3, largest error", "gemm 40^3"]
    assert found["measured"][0]["good"]
    hip_line = next(c for c in found["checks"] if c["what"] == "HIP")
    assert hip_line["found"] == "2 device(s), stand-in for AMD Instinct MI355X"


def test_a_wrong_result_is_reported(standin, monkeypatch):
    """Of a kernel that is not what it was compiled from."""
    text = gemm.with_config(m=64, n=32, k=32)
    without = ["bias", "residual"]
    made = text.compile("f16", without=without, target="mi355x")
    other = text.compile("bf16", without=without, target="mi355x")
    image = other.program.object()
    standin.knows(image, other.assembly)
    monkeypatch.setattr(mi355x.CompiledMi355x, "code_object", image)
    case = random_case(made.simplified, made.sidecar, {"m": 65, "n": 33, "k": 32})
    with rocm.OnChip(made, case) as bound:
        errors = bound.errors()
    assert any(e > allowed for e, allowed in errors)
    assert np.isfinite(errors[0][1])
