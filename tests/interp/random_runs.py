"""Random kernels of the language in the interpreter, against their NumPy meaning; resumable.

Nothing is rounded on either side, so that results agree to nine digits where a program is right.

    .venv/bin/python -m tests.interp.random_runs --seed 1 --count 300 [--out FILE]

Every kernel is drawn from its own seed, so that a range of seeds can be run in any order and a
failure is found again by its number. Refusals are counted by their text.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed as seeded, settings, strategies as st

from tests.frontend.random_kernels import FORMS, random_kernels
from tests.kernels.test_random_kernels import PINS, lowered_with
from warploom.errors import KernelError, WarploomError
from warploom.interp import run_module
from warploom.interp.arithmetic import unrounded
from warploom.ir.roles_document import roles_documents
from warploom.ir.tile import Access
from warploom.passes.build_module import build_module
from warploom.passes.tile_order import visit_list
from warploom.verify.roles import verify_roles

TIMINGS = ("adversarial", "random", "in_order")


def drawn(seed: int, forms: tuple[str, ...] = FORMS) -> tuple[Any, dict[str, object]]:
    """The kernel and the choices of a seed."""
    found: list[tuple[Any, dict[str, object]]] = []

    @seeded(seed)
    @settings(
        max_examples=8,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(random_kernels(forms=forms, hopper=True, largest=200), st.just({}) | PINS)
    def draw(case: Any, pins: dict[str, object]) -> None:
        found.append((case, pins))

    draw()
    return found[-1]


def check(case: Any, pins: dict[str, object], seed: int) -> str:
    """``right``, or why it was refused; raises for what is wrong."""
    try:
        made = lowered_with(case, pins)
    except WarploomError as error:
        return f"refused: {_words(error)}"
    if made.made is None:
        return "refused: no place on the target"
    lowered = made.made
    try:
        module = build_module(case.kernel, lowered)
    except KernelError as error:
        return f"no module: {_words(error)}"
    for mine, theirs in zip(roles_documents(module), lowered.documents, strict=True):
        assert mine == replace(theirs, costs=None, flow=mine.flow), "another document"
    inputs = [t.name for t in case.kernel.tensors if t.access is not Access.OUT]
    arrays = dict(zip(inputs, case.arrays(), strict=True))
    outputs = [t.name for t in case.kernel.tensors if t.access is Access.OUT]
    wanted = dict(zip(outputs, case.reference(), strict=True))
    own = {t.name: [a.name for a in t.axes] for t in case.kernel.tensors}
    theirs_axes = {t.name: [a.name for a in t.axes] for t in module.tensors}
    given = {n: _moved(a, own[n], theirs_axes[n]) for n, a in arrays.items() if n in theirs_axes}
    with unrounded(), np.errstate(all="ignore"):
        found = run_module(
            module,
            given,
            case.scalars,
            sizes=case.sizes,
            timing=TIMINGS[seed % 3],
            seed=seed,
            sms=(132, 1, 3)[seed // 3 % 3],
            visits=lambda ctas: visit_list(lowered.kernel, lowered.config, case.sizes, ctas),
        )
    for name, meant in wanted.items():
        got = _moved(np.asarray(found[name], np.float64), theirs_axes[name], own[name])
        right = np.asarray(meant, np.float64)
        size = max(1.0, float(np.abs(right[np.isfinite(right)]).max(initial=0.0)))
        np.testing.assert_allclose(got, right, rtol=1e-7, atol=1e-9 * size, err_msg=name)
    return "right"


def not_proven(case: Any, pins: dict[str, object]) -> bool:
    """Whether a compilation would be refused because a schedule is wrong."""
    try:
        lowered = lowered_with(case, pins).made
        return any(not verify_roles(d).clean for d in lowered.documents)
    except WarploomError:
        return True


def _moved(array: Any, axes: list[str], wanted: list[str]) -> Any:
    return np.asarray(array).transpose([axes.index(n) for n in wanted])


def _words(error: Exception) -> str:
    return re.sub(r"\d+", "N", str(error).split("\n")[0])[:90]


def main() -> None:
    """Run a range of seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[int] = []
    begin = time.time()
    last = given.seed
    for seed in range(given.seed, given.seed + given.count):
        if time.time() - begin > given.seconds:
            break
        last = seed
        case, pins = drawn(seed)
        try:
            counts[check(case, pins, seed)] += 1
        except Exception as error:
            if not_proven(case, pins):
                counts["refused: the verifier finds a race"] += 1
                continue
            wrong.append(seed)
            counts[f"WRONG {type(error).__name__}: {_words(error)}"] += 1
            print(seed, pins, type(error).__name__, str(error)[:500], flush=True)
    result = {"seeds": [given.seed, last], "counts": dict(counts.most_common()), "wrong": wrong}
    print(json.dumps(result, indent=1))
    if given.out:
        with given.out.open("a") as file:
            file.write(json.dumps(result) + "\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
