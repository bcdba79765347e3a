"""A sample of the mutation table: damaged kernels are found by the gate or the emulator.

The whole table is made by bench/gfx950_mutants.py.
"""

from __future__ import annotations

import dataclasses

import pytest

from tests.codegen_amdgcn.assembly_mutants import text_mutants
from warploom.codegen.amdgcn import check_isa
from warploom.codegen.amdgcn.emulate import LATE, STARVED, TRAMPLED, EmulationError, Order

from .test_emulator import run

RUNS = [
    (1, STARVED, Order.FORWARD),
    (1, TRAMPLED, Order.FORWARD),
    (0, STARVED, Order.FORWARD),
    (1, TRAMPLED, Order.REVERSE),
    (2, LATE, Order.REVERSE),
]


def gate_finds(kernel, text):
    return not check_isa(kernel.plan, text).exact


def emulator_finds(kernel, text):
    broken = dataclasses.replace(kernel, assembly=text)
    try:
        return any(not run(broken, *what).correct for what in RUNS)
    except EmulationError:
        return True


def test_the_gate_finds_every_damaged_wait_and_barrier(kernel):
    emitted = kernel("fourwave-small")
    mutants = list(text_mutants(emitted.assembly))
    assert len(mutants) >= 50
    assert [m.what for m in mutants if not gate_finds(emitted, m.text)] == []


@pytest.mark.parametrize("part", range(5))
def test_the_emulator_finds_every_weakened_vm_wait(kernel, part):
    """The proven waits are as weak as can be: one more in flight is one too many."""
    emitted = kernel("fourwave-small")
    mutants = [m for m in text_mutants(emitted.assembly) if m.what.startswith("vmcnt")]
    for mutant in mutants[part::5]:
        assert emulator_finds(emitted, mutant.text), mutant.what


def test_the_emulator_finds_what_the_gate_leaves_to_it(kernel):
    """Waits the compiler put in are not the schedule's; only what they protect shows them."""
    emitted = kernel("single-buffer-small")
    left = [m for m in text_mutants(emitted.assembly) if not gate_finds(emitted, m.text)]
    assert left
    for mutant in left:
        assert emulator_finds(emitted, mutant.text), (mutant.line, mutant.what)


def test_the_undamaged_kernel_is_found_by_neither(kernel):
    for name in ("fourwave-small", "single-buffer-small"):
        emitted = kernel(name)
        assert not gate_finds(emitted, emitted.assembly)
        assert not emulator_finds(emitted, emitted.assembly)


def test_a_mutant_differs_in_one_line():
    text = "a:\n\ts_waitcnt vmcnt(4) lgkmcnt(14)\n\ts_barrier ; x\n\ts_endpgm"
    found = [(m.line, m.what) for m in text_mutants(text)]
    assert found == [
        (2, "vmcnt(4) -> 5"),
        (2, "vmcnt(4) dropped"),
        (2, "lgkmcnt(14) dropped"),
        (3, "barrier dropped"),
    ]
