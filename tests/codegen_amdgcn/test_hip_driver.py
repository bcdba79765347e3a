"""Launches through HIP, against a stand-in library that executes them from machine code."""

import ctypes as c

import numpy as np
import pytest

from tests.codegen_amdgcn import tile_kernels as own
from tests.codegen_amdgcn.hip_standin import RocmArray, compiled
from warploom.codegen.amdgcn.tile_ir.host import host_source
from warploom.codegen.amdgcn.toolchain import find_linker
from warploom.errors import BackendError, KernelCallError
from warploom.kernels.gemm import gemm
from warploom.runtime import hip

pytest.importorskip("llvmlite")


@pytest.fixture(scope="module")
def standin(hip_standin):
    return hip_standin


@pytest.fixture(scope="module")
def product(standin):
    types = {"a": "f16", "b": "f16", "out": "f32"}
    text = gemm.with_config(m=64, n=32, k=32)
    made = text.compile(types, without=["bias", "residual"], target="mi355x")
    image = made.program.object() if find_linker() is None else made.code_object
    vars(made)["code_object"] = image  # where no linker is at hand, the object stands for it
    standin.knows(image, made.assembly)
    return made


def arrays(standin, m=70, n=33, k=41, device=0):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((m, k + 3), (n, k)))
    out = np.full((m, n), np.nan, np.float32)
    a = a[:, :k]  # rows that lie apart
    return a, b, out, [RocmArray(standin, x, device) for x in (a, b, out)]


def test_a_launch_through_dlpack(standin, product):
    a, b, out, (ra, rb, ro) = arrays(standin)
    assert product.run(ra, rb, out=ro, alpha=0.5) is ro
    assert np.array_equal(out, 0.5 * a.astype(np.float32) @ b.T.astype(np.float32))
    assert standin.launches[-1] == ("warploom_tile", 2 * 2, product.sidecar["block_size"][0])


def test_another_device_and_stream(standin, product):
    _, _, out, (ra, rb, ro) = arrays(standin, m=3, device=1)
    product.run(ra, rb, out=ro, alpha=1.0, stream=77)
    assert not np.isnan(out).any()
    current = c.c_int()
    hip.call("hipGetDevice", c.byref(current))
    assert current.value == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, b, out: (a, b, out[:, :-1]), "axis 'n' of 'out'"),
        (lambda a, b, out: (a, b[:, :-1], out), "axis 'k'"),
        (lambda a, b, out: (a.astype(np.float32), b, out), "is f32"),
        (lambda a, b, out: (a, np.asfortranarray(b), out), "last axis of 'b'"),
        (lambda a, b, out: (a[0], b, out), "has 1 axes"),
    ],
)
def test_refused(standin, product, change, words):
    a, b, out, _ = arrays(standin)
    ra, rb, ro = (RocmArray(standin, x) for x in change(a, b, out))
    with pytest.raises(KernelCallError, match=words):
        product.run(ra, rb, out=ro, alpha=1.0)


def test_refused_without_a_scalar_or_on_the_host(standin, product):
    a, b, _, (ra, rb, ro) = arrays(standin)
    with pytest.raises(KernelCallError, match="alpha"):
        product.run(ra, rb, out=ro)
    with pytest.raises(BackendError, match="host memory"):
        product.run(a, b, out=ro, alpha=1.0)
    with pytest.raises(KernelCallError, match="'b' is not given"):
        product.run(ra, out=ro, alpha=1.0)


def test_no_tiles_no_launch(standin, product):
    before = len(standin.launches)
    _, _, _, (ra, rb, ro) = arrays(standin, m=0)
    product.run(ra, rb, out=ro, alpha=1.0)
    assert len(standin.launches) == before


def test_unknown_code_says_so(standin):
    with pytest.raises(BackendError, match="HIP error 209") as error:
        hip.HipKernel(b"\x7fELF" + bytes(60), "k")
    assert "gfx950" in error.value.fix


def test_memory_timer_and_devices(standin):
    live = standin.library.standin_live()
    with hip.DeviceMemory(8) as memory:
        memory.put(b"12345678")
        assert memory.get() == b"12345678"
        assert standin.library.standin_live() == live + 1
        with pytest.raises(BackendError, match="9 bytes"):
            memory.put(bytes(9))
    assert standin.library.standin_live() == live
    timer = hip.Timer()
    timer.mark(0)
    timer.mark(1)
    assert timer.milliseconds() == 1.0
    assert hip.device_count() == 2
    hip.synchronize()


def test_no_runtime_is_an_error_with_a_fix(monkeypatch):
    monkeypatch.setenv(hip.VARIABLE, "/nowhere/libamdhip64.so")
    hip.library.cache_clear()
    with pytest.raises(BackendError, match="no HIP runtime"):
        hip.device_count()
    hip.library.cache_clear()


def test_the_folder_runs_without_the_package(standin, product, tmp_path, monkeypatch):
    """The C++ host program, compiled and run: it reads and writes files."""
    paths = product.write(tmp_path)
    assert {p.name for p in paths} >= {"kernel.s", "kernel.o", "kernel.json", "host.cpp"}
    words = ["-DWARPLOOM_HOST_LIBRARY", "-Wall", "-Werror", str(tmp_path / "host.cpp")]
    host = c.CDLL(str(compiled(tmp_path, "host.so", *words)))
    image = tmp_path / "image"
    image.write_bytes(product.code_object)
    a, b, _, _ = arrays(standin)
    (tmp_path / "a.bin").write_bytes(np.ascontiguousarray(a).tobytes())
    (tmp_path / "b.bin").write_bytes(b.tobytes())
    monkeypatch.chdir(tmp_path)

    def main(*given):
        argv = [b"host", *(str(g).encode() for g in given)]
        return host.host_main(len(argv), (c.c_char_p * len(argv))(*argv))

    assert main(image, "m=70", "n=33", "k=41", "alpha=2") == 0, standin.fault
    out = np.frombuffer((tmp_path / "out.bin").read_bytes(), np.float32).reshape(70, 33)
    assert np.array_equal(out, 2 * a.astype(np.float32) @ b.T.astype(np.float32))
    assert main(image, "m=70", "n=33", "alpha=2") == 2  # no k
    assert main(image, "m=71", "n=33", "k=41", "alpha=2") == 2  # a.bin is too short


def test_host_source_of_groups():
    from warploom.compiler.amd_tiles import compile_tile_kernel
    from warploom.kernels.grouped import grouped

    kernel = grouped.specialise({"x": "bf16", "w": "bf16", "out": "bf16"})
    sidecar = compile_tile_kernel(kernel).sidecar()
    extent = sidecar["grid"]["rows"]["extent"]
    assert f"groups *= n0 ? n0 / {extent} + " in host_source(sidecar)


def test_compile_listing_and_check():
    made = own.add.compile("f32", target="mi355x")
    assert "not pipelined" in made.after("tile")
    assert "v_" in made.after("emit")
    report = made.check({"x": np.ones((3, 5)), "y": np.ones((3, 5))})
    assert report.clean, str(report)
