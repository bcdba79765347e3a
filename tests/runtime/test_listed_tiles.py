"""Tiles a list names: where a ragged one lies, by how tiles leave the chip."""

from dataclasses import replace

import pytest

from warploom.compiler.emit_cuda import emit_kernel
from warploom.frontend.simplify import simplify
from warploom.kernels.attention import attention
from warploom.modulo import ModuloOptions
from warploom.passes.driver import lower
from warploom.passes.kernel_config import config_of
from warploom.passes.rewrites import rewrite

TYPES = dict.fromkeys(("q", "k", "v", "out"), "bf16")


@pytest.mark.parametrize("direct", [True, False])
def test_copies_out_never_begin_before_the_tensor(direct):
    made = attention.specialise(
        TYPES, sizes={"d": 64}, without={"lengths", "lse"}, constants={"causal": True}
    )
    kernel = rewrite(simplify(made), frozenset({"scale"}))
    config = replace(
        config_of(kernel, consumer_warpgroups=1, s=64, t=64), store_from_registers=direct, stages=2
    )
    options = ModuloOptions(goals=(), find_work=1.0, prove_work=0.0)
    text = emit_kernel(lower(kernel, config, options=options)).text
    assert "listed(order + visit)" in text
    assert ("- (count_s * 64 - len_s)" in text) == direct
    assert ("tma_store_4d" in text) != direct
    assert ("(unsigned)(" in text) == direct


def test_small_tiles_that_take_turns_leave_room_to_hand_over():
    made = attention.specialise(
        TYPES, sizes={"d": 64}, without={"lengths", "lse"}, constants={"causal": True}
    )
    kernel = rewrite(simplify(made), frozenset({"scale"}))
    config = replace(
        config_of(kernel, consumer_warpgroups=2, s=128, t=16), store_from_registers=True, stages=4
    )
    made = lower(kernel, config, options=ModuloOptions(goals=(), find_work=1.0, prove_work=0.0))
    assert made.result.ii >= 2 * made.problem.handoff
