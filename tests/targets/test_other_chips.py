"""Passes take every figure of the chip from the target that they are given."""

import sys
from dataclasses import replace

import pytest

from tests.frontend.two_loops import two_loops
from warploom.kernels.attention import attention
from warploom.kernels.swiglu import swiglu
from warploom.passes.tile_order import visit_list
from warploom.targets.h200 import h200

SIZES = {"m": 1000, "n": 1000, "k": 512}


def chip(**limits):
    return replace(h200(), limits=replace(h200().limits, **limits))


@pytest.fixture
def no_other_chip(monkeypatch):
    """Asking for the H200 in a pass or a code generator is an error."""

    def refuse():
        raise AssertionError("the H200 instead of the target")

    swiglu.compile("bf16", sizes=SIZES).cuda  # noqa: B018 (all passes are loaded)
    for name, module in list(sys.modules.items()):
        if name.startswith(("warploom.passes", "warploom.codegen.cuda")) and hasattr(
            module, "h200"
        ):
            monkeypatch.setattr(module, "h200", refuse)


@pytest.mark.parametrize("kernel", [swiglu, two_loops], ids=lambda k: k.name)
def test_a_smaller_chip_is_asked_in_every_pass(kernel, no_other_chip):
    small = chip(sms=114, smem_per_block=101_376)
    made = kernel.compile("bf16", sizes=SIZES, target=small)
    assert made.cuda
    assert made.shared_bytes <= small.limits.smem_per_block
    assert made.report.verdict == "clean"


def test_rounds_are_counted_in_the_chips_own_sms():
    found = {}
    for sms in (132, 114):
        made = swiglu.compile(
            "bf16", sizes={"m": 128 * 120, "n": 256, "k": 512}, target=chip(sms=sms)
        )
        found[sms] = {c.config.name: c.estimate.rounds for c in made.choices}
    same = found[132].keys() & found[114].keys()
    assert any(found[132][name] < found[114][name] for name in same)


def test_an_order_of_tiles_follows_the_chips_l2():
    made = attention.compile(
        "bf16",
        sizes={"b": 4, "h": 8, "g": 8, "s": 2048, "t": 2048, "d": 128},
        constants={"causal": True},
        without=["lengths", "lse"],
    )
    sizes = {"b": 4, "h": 8, "g": 8, "s": 2048, "t": 2048, "d": 128, "r": 1}
    target = h200()
    little = replace(target, memory=replace(target.memory, band_bytes=1))
    lists = {
        visit_list(made.rewritten, made.choices[0].config, sizes, 16, which)
        for which in (target, little)
    }
    assert len(lists) == 2
