"""Random kernels (``tests/frontend/random_sources.py``) in the interpreter and as emitted CUDA."""

from __future__ import annotations

import numpy as np

from tests import host_cuda
from tests.frontend.random_sources import random_source
from tests.kernels.written import executed
from warploom.errors import WarploomError

TIMINGS = ("adversarial", "random", "in_order")
NAN = 0xFF
TARGETS = ("h200", "mi355x")


def near(case, found, wanted):
    """What is wrong with results, or nothing."""
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
        got, right = np.asarray(one, float), np.asarray(other, float)
        if got.shape != right.shape:
            return f"result {i} is {got.shape}, not {right.shape}"
        if case.exact:
            if not np.array_equal(got, right):
                return f"result {i}: {int((got != right).sum())} of {right.size} differ"
            continue
        size = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
        same = np.isclose(got, right, atol=2e-2 * size, rtol=2e-2, equal_nan=True)
        if not same.all():
            return f"result {i}: {int((~same).sum())} of {right.size} differ"
    return ""


def interpreted(case, kernel, seed, target="h200"):
    """Its results in the interpreter; elements that nobody writes stay 0."""
    known = {a.name for t in kernel.signature.inputs for a in t.axes}
    initial = {
        t.name: np.zeros([-(-case.sizes[a.name] // a.per) for a in t.axes])
        for t in kernel.signature.outputs
    }
    made = kernel.interpret(
        **case.arrays,
        **case.scalars,
        types=case.types,
        sizes={a: n for a, n in case.sizes.items() if a not in known},
        target=target,
        timing=TIMINGS[seed % 3],
        seed=seed,
        initial=initial,
    )
    return made if isinstance(made, tuple) else (made,)


def on_host(case, kernel, seed):
    """Its results as emitted CUDA, with NaN around every tensor."""
    kept, host_cuda.POISON = host_cuda.POISON, NAN
    try:
        return executed(kernel, case.types, case.sizes, case.arrays, case.scalars, seed + 1)[0]
    finally:
        host_cuda.POISON = kept


def judged(way, case, kernel, seed, wanted):
    """``right``, ``refused`` with the reason, ``wrong`` or ``raw`` with what is."""
    try:
        found = (
            on_host(case, kernel, seed) if way == "host" else interpreted(case, kernel, seed, way)
        )
    except WarploomError as error:
        return "refused: " + str(error).partition("\n")[0]
    except AssertionError as error:
        return f"wrong: {error}"[:300]
    except Exception as error:
        return f"raw {type(error).__name__}: {error}"[:300]
    wrong = near(case, found, wanted)
    return f"wrong: {wrong}" if wrong else "right"


def line(seed, ways=("h200", "host")):
    """One kernel: its line of results."""
    case = random_source(seed)
    said = {"seed": seed, "form": case.form, "text": case.text, "sizes": case.sizes}
    try:
        kernel = case.kernel()
        wanted = case.reference(kernel)
    except WarploomError as error:
        return said | dict.fromkeys(ways, "refused: " + str(error).partition("\n")[0])
    return said | {way: judged(way, case, kernel, seed, wanted) for way in ways}
