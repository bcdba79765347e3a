"""Kernels as authors write them, all the way: executed as emitted, or refused at their line."""

from __future__ import annotations

import pytest

from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.authored import CHEAP, case_of
from tests.kernels.authored_long import LONG, REFUSED
from tests.kernels.test_random_kernels import Lowered, check
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError


@NEEDS_COMPILER
@pytest.mark.parametrize("name", [*CHEAP, *(pytest.param(n, marks=pytest.mark.slow) for n in LONG)])
def test_what_authors_write_computes_its_reference(name):
    assert check(case_of((CHEAP | LONG)[name])) is not None


@NEEDS_COMPILER
def test_tiles_and_vectors_go_on_from_memory():
    """In the order of the text, which is soon scheduled."""
    assert check(case_of(LONG["carry_in"]), {"schedule": "source", "t": 64}) is not None


def emitted(case):
    made = Lowered(case).compiled
    return emit_kernel(made.lower(made.choices[0].config))


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_refused_at_its_line(name):
    with pytest.raises(KernelError, match=REFUSED[name].says) as found:
        emitted(case_of(REFUSED[name]))
    assert "<text" in str(found.value)
