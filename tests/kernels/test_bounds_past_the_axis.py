"""A loop's bound that callers give may lie past the axis, or before its beginning."""

from dataclasses import replace

import numpy as np
import pytest
from examples.gallery import CASES

import tests.host_cuda as hc
from tests.kernels import gallery

CASE = next(c for c in CASES if c.name == "decode_append")


def bounded(keys, lengths):
    """Decoding with so many keys, of which so many are said to count."""

    def make(rng):
        made = CASE.make(rng)
        made |= {n: made[n][:, :keys] for n in ("k", "v")}
        return made | {"length": np.array(lengths)}

    def wanted(length, **given):
        return CASE.wanted(length=np.clip(length, 0, keys), **given)

    return replace(CASE, make=make, wanted=wanted)


@pytest.mark.parametrize("lengths", [(500, -3), (71, 70), (69, 2**31 - 1)])
@pytest.mark.parametrize("keys", [0, 1, 33, 70])
def test_interpreted(keys, lengths):
    case = bounded(keys, lengths)
    assert gallery.near(case, gallery.by_reference(case)) == ""
    assert gallery.near(case, gallery.interpreted(case)) == ""


@hc.NEEDS_COMPILER
@pytest.mark.parametrize("keys", [1, 70])
def test_emitted_cuda(keys):
    case = bounded(keys, (500, 3))
    assert gallery.near(case, gallery.on_host(case)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("keys", [1, 70])
def test_on_mi355x(keys):
    case = bounded(keys, (500, 3))
    assert gallery.near(case, gallery.interpreted(case, "mi355x")) == ""
