"""Rounding to element types, against NumPy's own types and against all values of small ones."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from warploom.frontend.pointwise import rounded
from warploom.ir.tile import DType

floats = st.floats(width=64, allow_nan=True)


@given(st.lists(floats, min_size=1, max_size=20))
def test_f16_and_f32_are_numpys(values):
    array = np.array(values)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(rounded(array, DType.F16), array.astype(np.float16))
        np.testing.assert_array_equal(rounded(array, DType.F32), array.astype(np.float32))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=20))
def test_bf16_is_the_upper_half_of_f32(values):
    array = np.array(values, np.float32)
    bits = array.view(np.uint32).astype(np.uint64)
    near = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    wanted = np.where(np.isfinite(array), near, array)
    np.testing.assert_array_equal(rounded(array, DType.BF16), wanted)


def all_values(bits, bias, largest):
    """Every finite value of an 8-bit format."""
    found = []
    for code in range(128):
        exponent, fraction = code >> bits, code & ((1 << bits) - 1)
        if exponent:
            found.append((1 + fraction / 2**bits) * 2.0 ** (exponent - bias))
        else:
            found.append(fraction / 2**bits * 2.0 ** (1 - bias))
    return np.array([v for v in found if v <= largest])


@pytest.mark.parametrize(
    ("dtype", "known"),
    [(DType.E4M3, all_values(3, 7, 448.0)), (DType.E5M2, all_values(2, 15, 57344.0))],
)
def test_fp8_is_the_nearest_value(dtype, known):
    np.testing.assert_array_equal(rounded(known, dtype), known)
    np.testing.assert_array_equal(rounded(-known, dtype), -known)
    between = (known[1:] + known[:-1]) / 2
    for shift, wanted in ((1 - 1e-9, known[:-1]), (1 + 1e-9, known[1:])):
        np.testing.assert_array_equal(rounded(between * shift, dtype), wanted)
    even = np.where(np.arange(len(between)) % 2 == 0, known[:-1], known[1:])
    np.testing.assert_array_equal(rounded(between, dtype), even)
    edge = rounded(np.array([1e9, np.inf, -np.inf]), dtype)
    np.testing.assert_array_equal(edge, [known[-1], known[-1], -known[-1]])
    assert np.isnan(rounded(np.array([np.nan]), dtype)).all()


def test_integers_go_towards_zero_and_stay_in_range():
    values = np.array([-1.7, 1.7, 300.0, -300.0, np.nan])
    np.testing.assert_array_equal(rounded(values, DType.I32), [-1, 1, 300, -300, 0])
    np.testing.assert_array_equal(rounded(values, DType.I8), [-1, 1, 127, -128, 0])
    np.testing.assert_array_equal(rounded(values, DType.I4), [-1, 1, 7, -8, 0])
