"""What a compiled kernel shows of itself, and names that a kernel has not."""

import functools

import pytest

import warploom as wl
from tests.frontend.memory_bound import emitted, softmax
from warploom.compiler import cubin
from warploom.compiler.cubin import find_nvdisasm, find_toolchain
from warploom.errors import BackendError, ConfigError, KernelCallError

try:
    find_toolchain()
    COMPILER = True
except Exception:  # whatever keeps the compiler away
    COMPILER = False
NEEDS_NVRTC = pytest.mark.skipif(not COMPILER, reason="needs NVRTC or nvcc")
SIZES = {"m": 64, "n": 1000}


@NEEDS_NVRTC
def test_a_compiled_kernel_shows_its_code_and_what_it_takes():
    made = softmax.compile("bf16", sizes=SIZES)
    assert "not built yet" in repr(made)
    assert ".visible .entry warploom_kernel" in made.ptx
    assert "ld.global.v4" in made.ptx  # 16 bytes at once, in the machine's words
    assert "st.global.v4" in made.ptx
    assert made.cuda.count("warploom_kernel") >= 1
    assert 1 <= made.occupancy <= 8
    assert made.spill_bytes == 0
    said = repr(made)
    for word in (f"{made.registers} registers", "0 bytes spilled", "256 threads", "CTAs"):
        assert word in said


@NEEDS_NVRTC
def test_machine_code_needs_its_disassembler(monkeypatch):
    made = softmax.compile("bf16", sizes=SIZES)
    if find_nvdisasm():
        assert "EXIT" in made.sass
    monkeypatch.setattr(cubin, "find_nvdisasm", lambda: None)
    with pytest.raises(BackendError, match="pip install nvidia-cuda-nvdisasm"):
        made.sass  # noqa: B018


def test_unknown_names_are_errors_with_the_nearest_one():
    with pytest.raises(KernelCallError, match="did you mean 'm'"):
        softmax.compile("bf16", sizes={"M": 64, "n": 128})
    with pytest.raises(KernelCallError, match=r"positive= names 'zzz'"):
        softmax.compile("bf16", sizes=SIZES, positive={"zzz"})
    with pytest.raises(ConfigError, match="did you mean 'stages'"):
        softmax.with_config(stagess=3).compile("bf16", sizes=SIZES).built  # noqa: B018


def plain(function):
    @functools.wraps(function)
    def inner(*args, **given):
        return function(*args, **given)

    return inner


def made_with(factor, activation):
    @wl.kernel
    def closed(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
        m, n = wl.tile(out)
        out[m, n] = activation(x[m, n]) * factor

    return closed


@wl.kernel
@plain
def stacked(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * 2.0


def test_closures_lambdas_and_stacked_decorators_are_read():
    closed = made_with(3.0, lambda v: wl.relu(v) + 1)
    _, source, _ = emitted(closed, "f32", SIZES)
    assert "3.0f" in source.text
    _, source, _ = emitted(stacked, "f32", SIZES)
    assert "2.0f" in source.text
