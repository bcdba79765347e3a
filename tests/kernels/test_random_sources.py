"""Random kernels as authors write them: in the interpreter and as emitted CUDA, against NumPy."""

import numpy as np
import pytest

import warploom as wl
from tests.frontend.random_sources import FORMS, random_source
from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.random_sources import line, near

GOOD = ("right", "refused")


@NEEDS_COMPILER
@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_kernels_of_every_form_are_right_or_refused(first):
    forms = {f.__name__: 1 if not first else 20 for f in FORMS}
    for seed in range(first, first + 1000):
        form = random_source(seed).form
        if forms[form]:
            found = line(seed)
            assert found["h200"].startswith(GOOD), found
            assert found["host"].startswith(GOOD), found
            forms[form] -= 1
    assert not any(forms.values())


def test_what_is_wrong_is_seen():
    case = random_source(0)
    case.exact = False
    x = np.array([1.0, 2.0])
    assert near(case, (x,), (x,)) == ""
    assert near(case, (x, x), (x,))
    assert near(case, (x[:1],), (x,))
    assert near(case, (x * 1.5,), (x,))
    assert near(case, (x * np.nan,), (x,))
    case.exact = True
    assert near(case, (x + 1e-6,), (x,))


@wl.kernel
def remainders(x: wl.In["m", "k", wl.i32], out: wl.Out["m", wl.i32]):
    m = wl.tile(out)
    a = wl.zeros(m, dtype=wl.i32)
    for k in wl.steps(x.k):
        a = a + (x[m, k] % 5).sum(axis=1)
    out[m] = a


def test_whole_numbers_are_exact_in_slots_of_the_interpreter():
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (33, 40)).astype(np.int32)
    found = remainders.interpret(x)
    assert (found == (x.astype(np.int64) % 5).sum(1)).all()
