"""Convolution and split K as functions: NumPy arrays (machine code on the CPU), and through HIP."""

import json

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.cli.runner import warploom
from tests.codegen_amdgcn.hip_standin import RocmArray
from warploom.errors import ConfigError, KernelCallError
from warploom.gfx950 import conv2d, split_k_gemm
from warploom.runtime import amd_functions, mi355x
from warploom.targets.amdgcn import MI300X, MI355X

SMALL = {"q": 64, "o": 32}
TILE = {"m": 64, "n": 32, "k": 32}


def pictures(n=1, h=6, w=5, c=16, o=7, r=3, s=3, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-3, 4, (n, h, w, c)).astype(np.float32),
        rng.integers(-2, 3, (o, r, s, c)).astype(np.float32),
    )


def direct(x, w, stride, padding, dilation):
    """Convolution pixel by pixel."""
    n, h, wide, _ = x.shape
    o, r, s, _ = w.shape
    rows, columns = (
        (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        for size, taps in ((h, r), (wide, s))
    )
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    wider = np.pad(x, around)
    out = np.zeros((n, rows, columns, o), np.float32)
    for i in range(r):
        for j in range(s):
            down, right = i * dilation, j * dilation
            part = wider[
                :,
                down : down + (rows - 1) * stride + 1 : stride,
                right : right + (columns - 1) * stride + 1 : stride,
            ]
            out += part @ w[:, i, j].T
    return out


@pytest.mark.parametrize(
    ("shape", "stride", "padding", "dilation"),
    [
        ({}, 1, 1, 1),
        ({"n": 2, "h": 7, "r": 2, "s": 3}, 2, 0, 1),
        ({"h": 9, "w": 8, "r": 3, "s": 2}, 1, 2, 2),
        ({"r": 1, "s": 1}, 1, 0, 1),
    ],
)
def test_convolution(shape, stride, padding, dilation):
    x, w = pictures(**shape)
    want = direct(x, w, stride, padding, dilation)
    settings = {"stride": stride, "padding": padding, "dilation": dilation}
    got = conv2d(x, w, types="f16", config=SMALL, **settings)
    assert np.array_equal(got, want)
    more = np.ones(want.shape, np.float32)
    got = conv2d(x, w, residual=more, types="f16", config=SMALL, **settings)
    assert np.array_equal(got, want + 1)


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_split_k(parts):
    rng = np.random.default_rng(parts)
    a, b = (rng.integers(-3, 4, (rows, 100)).astype(np.float32) for rows in (20, 9))
    got = split_k_gemm(a, b, parts=parts, types="f16", config=TILE)
    assert np.array_equal(got, (a @ b.T).astype(np.float16))


def test_through_hip(hip_standin, monkeypatch):
    def image(made):
        data = made.program.object()
        hip_standin.knows(data, made.assembly)
        return data

    class Tensor(RocmArray):
        """What the function asks of a tensor: a shape, a type, another shape."""

        @property
        def shape(self):
            return self.array.shape

        @property
        def dtype(self):
            return f"torch.{self.array.dtype}"

        def reshape(self, *shape):
            return Tensor(hip_standin, self.array.reshape(*shape))

    monkeypatch.setattr(mi355x.CompiledMi355x, "code_object", property(image))
    made = []

    def allocated(like, shape, dtype):
        made.append(np.full(shape, np.nan, np.float16))
        return lambda: Tensor(hip_standin, made[-1])

    monkeypatch.setattr(mi355x, "allocator", allocated)
    amd_functions._compiled.cache_clear()
    x, w = pictures()
    given = [Tensor(hip_standin, np.ascontiguousarray(t.astype(np.float16))) for t in (x, w)]
    out = conv2d(*given, padding=1, config=SMALL, stream=5)
    assert np.array_equal(out.array, direct(x, w, 1, 1, 1))
    amd_functions._compiled.cache_clear()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"w": np.ones((7, 3, 3, 15), np.float32)}, "channels"),
        ({"stride": 0}, "stride"),
        ({"padding": -1}, "padding"),
        ({"dilation": 4}, "does not fit"),
        ({"x": np.ones((6, 5, 16), np.float32)}, "'x' of shape"),
        ({"residual": np.ones((1, 4, 3, 8), np.float32)}, "residual"),
        ({"stride": True}, "stride"),
    ],
)
def test_calls_that_do_not_fit(change, words):
    x, w = pictures()
    with pytest.raises(KernelCallError, match=words):
        conv2d(**{"x": x, "w": w, **change})


def test_other_mistakes():
    a = np.ones((4, 8), np.float32)
    with pytest.raises(KernelCallError, match="columns"):
        split_k_gemm(a, a[:, :7], parts=2)
    with pytest.raises(KernelCallError, match="parts"):
        split_k_gemm(a, a, parts=0)
    with pytest.raises(ConfigError, match="no AMD chip"):
        split_k_gemm(a, a, parts=2, target="h200")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("conv2d@c=16", ["--tile", "64x32"]),
        ("split_product", ["--tile", "64x32x32"]),
        ("summed_parts", ["--tile", "8x64"]),
    ],
)
def test_the_commands_know_the_kernels(name, more, tmp_path):
    done = warploom("emit", "gfx950", name, *more, "-o", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "host.cpp").exists()
    done = warploom("run", name, "--on", "mi355x", "--host", *more, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["right"]


def test_mi300x_from_the_command_line(tmp_path):
    """Another chip is another value: the same kernel, its assembly, its LDS."""
    tile = ["--tile", "64x32x32"]
    done = warploom("emit", "gfx942", "gemm", *tile, "-o", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    sidecar = json.loads((tmp_path / "kernel.json").read_text())
    assert sidecar["target"] == "gfx942"
    assert "v_mfma_f32_16x16x16" in (tmp_path / "kernel.s").read_text()
    done = warploom("emulate", str(tmp_path / "kernel.s"), "--m", "70", "--json")
    assert done.returncode == 0, done.stdout
    done = warploom("emit", "gfx942", "pingpong", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "no tile kernel" in done.stderr
    done = warploom("emit", "gfx942", "gemm", "--dtype", "fp8", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "another bias" in done.stderr


def test_figures_of_mi300x():
    found = {
        f["name"]: f["value"] for f in json.loads(warploom("costs", "mi300x", "--json").stdout)
    }
    assert found["lds_bytes"] == MI300X.lds_bytes == 65536
    assert found["compute_units"] == 304
    assert MI355X.lds_bytes == 163840
