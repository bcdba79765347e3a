"""The runtime without a GPU: choices, tensor views and clear errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy
import pytest

import warploom
from warploom.compiler import cuda_driver as driver
from warploom.compiler.layout import Layout
from warploom.errors import BackendError, MissingExtraError
from warploom.ir.tile import DType
from warploom.runtime.gemm import CALLS, PLAIN, _options
from warploom.runtime.tensors import view_of


def matrix(rows, columns, dtype=DType.BF16, *, stride=None):
    return Layout((rows, columns), (stride or columns, 1), dtype)


def turned(layout):
    return replace(layout, shape=layout.shape[::-1], strides=layout.strides[::-1])


BAD_OPERANDS = [
    (matrix(8, 64), matrix(8, 32), "a has k = 64"),
    (matrix(8, 64), matrix(8, 64, DType.F16), "operands are"),
    (matrix(8, 64, DType.F32), matrix(8, 64, DType.F32), "operands are"),
    (matrix(0, 64), matrix(8, 64), "empty"),
    (Layout((8, 64, 1), (64, 1, 1), DType.BF16), matrix(8, 64), "2 axes are declared"),
]


@pytest.mark.parametrize(("a", "b", "what"), BAD_OPERANDS, ids=[b[2] for b in BAD_OPERANDS])
def test_operands_that_cannot_run_are_refused(a, b, what):
    with pytest.raises(BackendError, match=what):
        CALLS.compiled_for((a, turned(b), None, None, None), PLAIN)


def test_results_and_bias_are_checked():
    a, b = matrix(8, 64), turned(matrix(16, 64))

    def made(out, bias, options=PLAIN):
        return CALLS.compiled_for((a, b, out, bias, None), options)

    made(matrix(8, 16), None)
    made(None, Layout((16,), (1,), DType.F32))
    with pytest.raises(BackendError, match=r"out has shape \(8, 8\)"):
        made(matrix(8, 8), None)
    with pytest.raises(BackendError, match="out cannot be e4m3"):
        made(matrix(8, 16, DType.E4M3), None)
    with pytest.raises(BackendError, match="out cannot be bf16") as error:
        made(matrix(8, 16), None, _options("none", "fp32", True, None))
    assert error.value.fix == "f32"
    with pytest.raises(BackendError, match=r"bias has shape \(4,\)") as error:
        made(matrix(8, 16), Layout((4,), (1,), DType.BF16))
    assert "n = 16" in error.value.why


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
    with pytest.raises(BackendError, match="lies in host memory"):
        view_of(numpy.zeros((2, 2), dtype=numpy.float32), "a")


class Exported:
    """An array of a library that is known by DLPack alone, JAX's like; its memory passes for a
    GPU's.
    """

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream):
        assert stream == 1, "ordered after the producer's work on the default stream"
        return self.array.__dlpack__()


def test_dlpack_tells_address_and_layout():
    array = numpy.zeros((6, 16), dtype=numpy.float16)[1:5, 8:]
    view = view_of(Exported(array), "a")
    assert view.layout == Layout((4, 8), (16, 1), DType.F16)
    assert view.pointer == array.ctypes.data
    with pytest.raises(BackendError, match="dtype"):
        view_of(Exported(array.astype(numpy.float64)), "a")


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
    with pytest.raises(MissingExtraError, match=r"pip install cuda-bindings.*\[cuda\]"):
        driver.bindings()
    driver.bindings.cache_clear()


def test_gemm_without_a_gpu_is_a_clear_error():
    try:
        driver.library()
    except (BackendError, MissingExtraError):
        said = r"NVIDIA driver|compute capability|cuda-bindings"
        with pytest.raises((BackendError, MissingExtraError), match=said):
            warploom.gemm(FakeTorch(), Transposed())
    else:
        pytest.skip("this machine has a GPU driver")


def test_the_runtime_imports_without_a_solver():
    code = (
        "import sys; sys.modules['ortools'] = None\n"
        "import warploom\n"
        "from warploom.kernels.gemm import gemm\n"
        "made = gemm.compile('bf16', without={'bias', 'residual'})\n"
        "assert made.lower(made.choices[0].config).document.proof.proven"
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
    assert "pip install torch" in done.stdout


@pytest.mark.parametrize("given", [None, "a word"])
@pytest.mark.parametrize(
    ("call", "tensors", "first"),
    [
        (warploom.gemm, 2, "a"),
        (warploom.attention, 3, "q"),
        (warploom.attention_backward, 6, "q"),
        (warploom.swiglu, 2, "gate"),
        (warploom.grouped_gemm, 3, "x"),
        (warploom.gemm_quantised, 3, "x"),
        (warploom.scan, 4, "grown"),
    ],
)
def test_what_is_no_tensor_is_reported(call, tensors, first, given):
    with pytest.raises(BackendError, match=f"{first} is a .*, not a CUDA tensor"):
        call(*[given] * tensors)
