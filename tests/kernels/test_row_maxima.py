"""What row maxima by integers and rescaling by rows do with odd numbers, executed on the host."""

import ctypes

import numpy as np
from hypothesis import given, settings, strategies as st

from tests.host_cuda import NEEDS_COMPILER, built, host_run
from warploom.codegen.cuda.tile.helpers import definitions

pytestmark = NEEDS_COMPILER
ROWS, COLUMNS = 16, 64
TEXT = """
#define DEVICE __device__ __forceinline__
{helpers}
extern "C" __global__ void __launch_bounds__(32)
rows(const float* x, const float* by, float* out) {{
  const int lane = threadIdx.x % 32;
  auto at = [&](int n) {{
    return (lane / 4 + n / 2 % 2 * 8) * 64 + n / 4 * 8 + lane % 4 * 2 + n % 2;
  }};
  float mine[32], top[2];
  for (int n = 0; n < 32; ++n) mine[n] = x[at(n)];
  row_maxima(mine, top);
  const float factor[2] = {{by[lane / 4], by[lane / 4 + 8]}};
  scale_rows(mine, factor);
  for (int n = 0; n < 32; ++n) out[16 + at(n)] = mine[n];
  for (int i = 0; i < 2; ++i) out[lane / 4 + 8 * i] = top[i];
}}
"""
NUMBERS = (0.0, -0.0, 1.0, -1.0, 3e38, -3e38, 1e-45, -1e-45, 1e-39, -1e-39, np.inf, -np.inf)
KINDS = ("one", "few", "below", "above", "any")


def row(kind, rng):
    """A row of one number, of few, of negative ones, of none, or of any."""
    if kind in ("one", "few"):
        some = rng.choice((*NUMBERS, np.nan) if kind == "one" else NUMBERS, rng.integers(1, 4))
        return rng.choice(some[:1] if kind == "one" else some, COLUMNS)
    x = rng.standard_normal(COLUMNS) * 10.0 ** rng.integers(-44, 37)
    return {"below": -abs(x), "above": abs(x), "any": x}[kind]


def run(x, by):
    """Maxima of rows, and rows times their factors."""
    text = TEXT.format(helpers=definitions({"row_maxima", "scale_rows"}))
    library, out = built(text, "rows"), np.full(ROWS * (COLUMNS + 1), 7, np.float32)
    given_to = [ctypes.c_void_p(a.ctypes.data) for a in (x, by, out)]
    table = (ctypes.c_void_p * 3)(*(ctypes.addressof(p) for p in given_to))
    assert host_run(library, table, 1, 32, 0, 1, 1) is None
    return out[:ROWS], out[ROWS:].reshape(ROWS, COLUMNS)


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=ROWS, max_size=ROWS),
    by=st.lists(st.sampled_from((1.0, 1.0, 1.0, 0.5, 0.0)), min_size=ROWS, max_size=ROWS),
    seed=st.integers(0, 2**32 - 1),
)
def test_maxima_and_factors_are_those_of_numpy(kinds, by, seed):
    rng = np.random.default_rng(seed)
    x, by = np.array([row(k, rng) for k in kinds], np.float32), np.array(by, np.float32)
    top, scaled = run(x, by)
    np.testing.assert_array_equal(top, x.max(axis=1))
    zero = top == 0  # 0 if there is one, else -0
    assert (np.signbit(top) == ~((x == 0) & ~np.signbit(x)).any(axis=1))[zero].all()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(scaled, x * by[:, None])


def test_a_number_that_is_none_is_found_among_others():
    x = np.ones((ROWS, COLUMNS), np.float32)
    x[3, 17], x[9, 63] = np.nan, np.inf
    top, _ = run(x, np.ones(ROWS, np.float32))
    assert np.isnan(top[3])
    assert np.isposinf(top[9])
    assert (np.delete(top, [3, 9]) == 1).all()
