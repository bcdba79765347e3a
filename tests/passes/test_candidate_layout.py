"""Refusals of tiles are remembered, and nothing of who asked."""

import gc
import weakref

from warploom.compiler.compiled import Compiled
from warploom.kernels.gemm import gemm
from warploom.passes.candidate_layout import subject_of
from warploom.passes.heuristics import _chosen, choose
from warploom.targets.h200 import h200

SIZES = {"m": 128, "n": 128, "k": 64}


class Held:
    """Something of the caller's."""


def asked_in_a_handler(kernel, held):
    """As a call does whose plan is missing: choose while its key's absence is handled."""
    kept = weakref.ref(held)
    try:
        {}[held]
    except KeyError:
        assert choose(kernel, SIZES)
    return kept


def test_refusals_that_are_kept_keep_no_values():
    _chosen.cache_clear()
    subject_of.cache_clear()
    made = gemm.compile({"a": "bf16", "b": "bf16", "out": "bf16"}, without={"bias", "residual"})
    kernel = Compiled(made.kernel, sizes=SIZES).rewritten
    kept = asked_in_a_handler(kernel, Held())
    again = asked_in_a_handler(kernel, Held())
    refused = [x for x in subject_of(kernel, h200())._known.values() if isinstance(x, Exception)]
    assert refused
    assert all(x.__traceback__ is None and x.__context__ is None for x in refused)
    gc.collect()
    assert (kept(), again()) == (None, None)
