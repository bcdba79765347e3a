"""Kernels as objects of Python: found again by name, and what is no kernel."""

import pickle

import pytest

import warploom as wl
from warploom.errors import KernelCallError, KernelTypeError
from warploom.kernels.gemm import gemm


def test_a_kernel_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(gemm)) is gemm


def test_choices_that_were_made_go_with_it():
    pinned = gemm.with_config(m=128, n=64)
    again = pickle.loads(pickle.dumps(pinned))
    assert again.pins == {"m": 128, "n": 64}
    assert again.function is gemm.function


def test_a_kernel_that_cannot_be_found_again_says_so():
    @wl.kernel
    def local(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
        m = wl.tile(out, whole="n")
        out[m] = x[m]

    with pytest.raises(KernelCallError, match="cannot be pickled"):
        pickle.dumps(local)


def test_a_lambda_is_no_kernel():
    with pytest.raises(KernelTypeError, match="a lambda is no kernel") as found:
        wl.kernel(lambda x, out: None)
    assert "test_pickled.py" in str(found.value)
