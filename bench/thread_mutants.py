"""Wrong programs of all threads, one thing changed in each: which does the verifier find?

    python bench/thread_mutants.py [KERNEL ...]        writes bench/results/thread_mutants.md

Kernels with products that no pipeline takes (``tests/kernels/block_kernels.py``), with sizes left
open where they may be. A mutant that what every compilation runs does not find is tried on all size
classes; what is left there computes the same on all of them, and is listed.
"""

import itertools
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.interp.thread_mutants import mutants  # noqa: E402
from tests.kernels.block_kernels import CASES  # noqa: E402

from warploom.compiler.compiled import block_form  # noqa: E402
from warploom.errors import WarploomError  # noqa: E402
from warploom.interp.dataflow import verify_dataflow  # noqa: E402
from warploom.passes.block_module import build_block_module  # noqa: E402
from warploom.passes.block_plan import block_plans  # noqa: E402

OUT = ROOT / "bench" / "results" / "thread_mutants.md"
SMALL = 3  # which plan: of smaller tiles


def module(name):
    case = CASES[name]
    sizes = {a: case.sizes[a] for a in case.text.whole_axes(case.types)}
    kernel = case.text.specialise(case.types, sizes=sizes)
    plans = itertools.islice(block_plans(block_form(kernel), sizes), SMALL + 1)
    return build_block_module(kernel, list(plans)[-1], sizes)


def found(made, classes):
    try:
        return verify_dataflow(made, classes=classes).verdict == "wrong"
    except WarploomError:
        return True


def main(names):
    rows, left = [], []
    for name in names:
        begun, tried, late = time.process_time(), 0, 0
        kept = Counter()
        for what, made in mutants(module(name)):
            tried += 1
            if found(made, 1):
                continue
            if found(made, 6):
                late += 1
                left.append((name, f"only in all classes: {what}"))
            else:
                kept[what.split(" at ")[0]] += 1
        left += [(name, f"{n} x {what}") for what, n in sorted(kept.items())]
        same = sum(kept.values())
        rows.append((name, tried, tried - late - same, late, same, time.process_time() - begun))
        print(rows[-1], flush=True)
    lines = [
        "# Mutants of programs that all threads run",
        "",
        "`python bench/thread_mutants.py`: a barrier, fence, wait, product, store or load left",
        "out, an index one further, a predicate dropped, a turn of a loop less or more.",
        "",
        "| kernel | mutants | found by every compilation | by all size classes alone |"
        " same on all of them | CPU s |",
        "|---|---|---|---|---|---|",
        *(f"| {n} | {t} | {f} | {a} | {s} | {c:.0f} |" for n, t, f, a, s, c in rows),
        "",
        "What is the same on all size classes is mostly what changes nothing: a fence or barrier"
        " behind another one, a condition that always holds where vectors begin, elements past the"
        " end of a fixed axis, a turn with nothing left.",
        "",
        *(f"- {name}: {what}" for name, what in left),
    ]
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
