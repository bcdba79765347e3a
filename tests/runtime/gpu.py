"""The marks of tests that need a Hopper GPU."""

from __future__ import annotations

import pytest

from warploom.compiler import cuda_driver as driver
from warploom.errors import WarploomError


def hopper():
    """True where one can be used."""
    try:
        driver.library()
        driver.require_hopper(0)
    except WarploomError:
        return False
    return True


NEEDS_HOPPER = [
    pytest.mark.gpu,
    pytest.mark.skipif(not hopper(), reason="no Hopper GPU on this machine"),
]

# torch warns about its own future while it compiles graphs; warnings of this package are errors.
TORCH_WARNINGS = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error:::warploom"),
]
