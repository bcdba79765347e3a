"""Wrong modules in the interpreter: a wrong result, a fault or a deadlock, never the right bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interp.test_gemm import inputs
from tests.ir.modules import edited, module
from tests.ir.mutants import mutants
from warploom.errors import InterpreterError, WarploomError
from warploom.interp import run_module
from warploom.ir import KernelModule, operations as ops
from warploom.ir.rings import Side

# Staged stores name staging coordinates: rows and columns of the layout are for loads and stores
# from registers. Coverage compares them with the hardware's all the same.
FRAGMENTS = {"cooperative": {"fragment rows exchanged", "fragment columns doubled"}}
SIZES = [(70, 90, 130), (129, 417, 300), (1, 1, 1), (200, 40, 64)]


def is_right(made: KernelModule, name: str, timing: str, seed: int) -> bool:
    """Whether every size gives what NumPy gives."""
    for m, n, k in SIZES:
        given, wanted = inputs(name, m, n, k)
        scalars = {s.name: 1.0 for s in made.scalars}
        try:
            found = run_module(made, given, scalars, timing=timing, seed=seed, sms=2)["out"]
        except WarploomError:
            return False
        size = max(1.0, np.abs(wanted).max(initial=0.0))
        if not np.allclose(found, wanted, rtol=2**-7, atol=2**-6 * size):
            return False
    return True


@pytest.mark.parametrize("name", ["small", "cooperative", "gelu"])
def test_mutants_of_indices_give_other_results(name: str) -> None:
    assert is_right(module(name), name, "adversarial", 0)
    # with so few tiles there is one band, which every role walks alike
    harmless = {"another direction in one role", "another band in one role"}
    missed = [n for n, m in mutants(module(name)) if is_right(m, name, "in_order", 0)]
    assert set(missed) - harmless == FRAGMENTS.get(name, set())


def without(module: KernelModule, kind: type, **fields: object) -> KernelModule:
    """The module without operations of a kind (with these fields)."""

    def dropped(value: object) -> object | None:
        if not isinstance(value, tuple):
            return None
        kept = tuple(
            v
            for v in value
            if not (isinstance(v, kind) and all(getattr(v, n) == x for n, x in fields.items()))
        )
        return edited_tuple(kept) if len(kept) != len(value) else None

    def edited_tuple(value: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(edited(v, dropped) for v in value)

    return edited(module, dropped)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("cooperative", ops.Wait, {"side": Side.FULL}),
        ("cooperative", ops.Wait, {"side": Side.EMPTY}),
        ("cooperative", ops.WaitGroup, {}),
        ("cooperative", ops.BulkWait, {}),
        ("cooperative", ops.ProxyFence, {}),
        ("cooperative", ops.Arrive, {}),
        ("large", ops.NamedBarrierOp, {"waits": False}),
    ],
)
def test_missing_synchronisation_is_seen_under_some_timing(
    name: str, kind: type, fields: dict[str, object]
) -> None:
    made = without(module(name), kind, **fields)
    assert made != module(name)
    runs = [(t, s) for t in ("adversarial", "random") for s in range(4)]
    assert not all(is_right(made, name, t, s) for t, s in runs)


def test_a_deadlock_says_who_waits_for_what() -> None:
    made = without(module("small"), ops.Copy)
    given, _ = inputs("small", 5, 5, 5)
    with pytest.raises(InterpreterError, match="deadlock") as error:
        run_module(made, given, {"alpha": 1.0})
    assert "full of ring" in error.value.where


def test_registers_in_flight_are_not_read() -> None:
    made = without(module("small"), ops.WaitGroup)
    given, _ = inputs("small", 5, 5, 5)
    with pytest.raises(InterpreterError, match="while an MMA writes it"):
        run_module(made, given, {"alpha": 1.0})
