"""The runtime without a GPU: choices, shipped schedules, tensor views and clear errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warploom
from warploom.document.roles_json import write_roles
from warploom.errors import BackendError, MissingExtraError
from warploom.hopper import Dtype, Epilogue, GemmKernel
from warploom.hopper.energy import Shape
from warploom.hopper.solve import derive_gemm
from warploom.kernel.values import DType
from warploom.launch import driver
from warploom.launch.choose import candidates, choose, estimate, group_for
from warploom.launch.gemm import check_operands, check_result
from warploom.launch.layout import Layout
from warploom.launch.shipped import (
    SHIPPED,
    is_shipped,
    schedule_for,
    shipped_schedule,
    solved_schedule,
)
from warploom.launch.tensors import view_of
from warploom.verify.roles import verify_roles


@pytest.mark.parametrize("kernel", SHIPPED, ids=lambda k: k.name)
def test_shipped_schedules_carry_a_proof(kernel):
    document = shipped_schedule(kernel.name)
    assert document.proof is not None
    assert document.proof.proven
    assert document.proof.ii == document.proof.lower_bound


@pytest.mark.parametrize("kernel", SHIPPED[:6], ids=lambda k: k.name)
def test_shipped_schedules_are_verified_again(kernel):
    assert verify_roles(shipped_schedule(kernel.name)).clean


@pytest.mark.parametrize("kernel", [SHIPPED[0], SHIPPED[-1]], ids=lambda k: k.name)
def test_shipped_schedules_are_what_the_solver_derives(kernel):
    assert write_roles(derive_gemm(kernel)) == write_roles(shipped_schedule(kernel.name))


def test_other_tiles_are_solved_and_verified_on_request():
    kernel = GemmKernel(tile_m=256, tile_n=152)
    assert not is_shipped(kernel)
    document = schedule_for(kernel)
    assert document.proof.proven
    assert document.proof.ii == 4 * 4 * 76
    assert write_roles(solved_schedule(SHIPPED[0])) == write_roles(schedule_for(SHIPPED[0]))


def test_unknown_schedules_are_refused_with_the_known_ones():
    with pytest.raises(BackendError, match="no solved schedule") as error:
        shipped_schedule("gemm_1x1")
    assert "gemm_128x256_w2" in error.value.fix


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 20000),
    n=st.integers(1, 20000),
    k=st.integers(1, 20000),
    dtype=st.sampled_from([Dtype.BF16, Dtype.FP16, Dtype.E4M3]),
)
def test_every_shape_gets_a_shipped_kernel(m, n, k, dtype):
    choice = choose(Shape(m=m, n=n, k=k, dtype=dtype))
    assert is_shipped(choice.kernel)
    assert choice.kernel.dtype is dtype
    assert choice.group >= 1


def test_every_candidate_ships():
    for kernel in candidates(Dtype.BF16, Dtype.BF16, Epilogue()):
        assert is_shipped(kernel), kernel.name
        assert group_for(kernel) * kernel.tile_m <= 2048


def test_estimates_punish_bad_wave_counts():
    shape = Shape(m=4096, n=4096, k=4096)
    wide = estimate(GemmKernel(tile_m=256, tile_n=200), shape)
    fit = estimate(GemmKernel(tile_m=128, tile_n=256), shape)
    assert wide.waves * 256 * 200 > fit.waves * 128 * 256
    assert wide.seconds > fit.seconds


def test_an_empty_product_is_refused():
    with pytest.raises(BackendError, match="empty"):
        choose(Shape(m=0, n=8, k=8))


def matrix(rows, columns, dtype=DType.BF16, *, stride=None):
    return Layout((rows, columns), (stride or columns, 1), dtype)


def turned(layout):
    return replace(layout, shape=layout.shape[::-1], strides=layout.strides[::-1])


BAD_OPERANDS = [
    (matrix(8, 64), matrix(8, 32), "inner sizes differ"),
    (matrix(8, 64), matrix(8, 64, DType.F16), "operands are"),
    (matrix(8, 64, DType.F32), matrix(8, 64, DType.F32), "operands are"),
    (matrix(0, 64), matrix(8, 64), "empty"),
    (Layout((8, 64, 1), (64, 1, 1), DType.BF16), matrix(8, 64), "matrices"),
]


@pytest.mark.parametrize(("a", "b", "what"), BAD_OPERANDS, ids=[b[2] for b in BAD_OPERANDS])
def test_operands_that_cannot_run_are_refused(a, b, what):
    with pytest.raises(BackendError, match=what):
        check_operands(a, turned(b))


def test_results_and_bias_are_checked():
    a, b = matrix(8, 64), turned(matrix(16, 64))
    check_result(a, b, matrix(8, 16), None)
    check_result(a, b, None, Layout((16,), (1,), DType.F32))
    with pytest.raises(BackendError, match="the product is"):
        check_result(a, b, matrix(8, 8), None)
    with pytest.raises(BackendError, match="out cannot be e4m3"):
        check_result(a, b, matrix(8, 16, DType.E4M3), None)
    with pytest.raises(BackendError, match="out_dtype is f32"):
        check_result(a, b, matrix(8, 16), None, DType.F32)
    with pytest.raises(BackendError, match="bias is") as error:
        check_result(a, b, matrix(8, 16), Layout((4,), (1,), DType.BF16))
    assert "16 elements" in error.value.fix


class FakeTorch:
    """Just the attributes of a torch tensor that the view reads."""

    def __init__(self, dtype="torch.bfloat16", kind="cuda"):
        self.dtype, self.shape = dtype, (8, 8)
        self.device = type("Device", (), {"type": kind, "index": 1})()

    def get_device(self):
        return self.device.index

    def data_ptr(self):
        return 4096

    def stride(self):
        return (8, 1)


class Transposed(FakeTorch):
    """The same bytes as a matrix with contiguous columns."""

    def __init__(self):
        super().__init__()
        self.shape = (8, 8)

    def stride(self):
        return (1, 8)


def test_torch_tensors_are_read_by_their_attributes():
    view = view_of(FakeTorch(), "a")
    assert view.pointer == 4096
    assert view.layout == Layout((8, 8), (8, 1), DType.BF16, 1)
    with pytest.raises(BackendError, match=r"dtype torch\.int16"):
        view_of(FakeTorch("torch.int16"), "a")
    with pytest.raises(BackendError, match="argument a"):
        view_of(FakeTorch(kind="cpu"), "a")


def test_array_interface_and_strangers():
    class Array:
        @property
        def __cuda_array_interface__(self):
            return {"data": (4096, False), "shape": (4, 8), "typestr": "<f2", "strides": None}

    view = view_of(Array(), "a")
    assert view.layout == Layout((4, 8), (8, 1), DType.F16)
    with pytest.raises(BackendError, match="not a CUDA tensor"):
        view_of([[1.0]], "a")
    with pytest.raises(BackendError, match="DLPack device"):
        view_of(numpy.zeros((2, 2), dtype=numpy.float32), "a")


def test_without_a_driver_the_error_says_so(monkeypatch):
    class Missing:
        def cuInit(self, flags):
            raise RuntimeError("libcuda.so.1 was not found")

    driver.library.cache_clear()
    monkeypatch.setattr(driver, "bindings", lambda part="driver": Missing())
    with pytest.raises(BackendError, match="no NVIDIA driver"):
        driver.library()
    driver.library.cache_clear()


def test_without_the_bindings_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    driver.bindings.cache_clear()
    with pytest.raises(MissingExtraError, match=r"warploom\[cuda\]"):
        driver.bindings()
    driver.bindings.cache_clear()


def test_gemm_without_a_gpu_is_a_clear_error():
    try:
        driver.library()
    except BackendError:
        with pytest.raises(BackendError, match=r"NVIDIA driver|compute capability"):
            warploom.gemm(FakeTorch(), Transposed())
    else:
        pytest.skip("this machine has a GPU driver")


def test_the_runtime_imports_without_a_solver():
    code = (
        "import sys; sys.modules['ortools'] = None\n"
        "import warploom\n"
        "from warploom.launch.shipped import shipped_schedule\n"
        "assert shipped_schedule('gemm_128x256_w2').proof.proven"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_the_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    import warploom.torch\n"
        "except Exception as e:\n    print(type(e).__name__, e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtraError")
    assert "warploom[torch]" in done.stdout
