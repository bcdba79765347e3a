"""Leave one out: what the model and the other measured configurations say of each measured one.

    python bench/tuned_knobs.py [--out bench/results/tuned_knobs.md]

For every entry of the tables of measured configurations, each knob is predicted twice: by the
model (the first configuration it ranks for these sizes, nothing pinned), and by the nearest other
entry of the same kernel (equal choices first, then equal whole axes), the entry itself left out. A
hit is an equal value. Issue times, which no model sets, are not predicted. Needs no GPU.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.compile_time import about  # noqa: E402

TYPES = {
    "block_scaled": {"a": "e4m3", "b": "e4m3", "out": "bf16"},
    "block_scaled_pair": {"a": "e4m3", "b": "e4m3", "out": "bf16"},
    "grouped_scaled": {"x": "e4m3", "w": "e4m3", "out": "bf16"},
    "int4_gemm": {"x": "bf16", "out": "bf16"},
    "fp8_gemm": {"x": "bf16", "w": "e4m3", "out": "bf16"},
}
FOLLOWS = (
    "What is done with it: a kernel that no table knows, but that does the same to tiles as a",
    "shipped one, takes the whole entry of that one first (`warploom.compiler.similar`),",
    "also knobs that no model predicts: `tile_prefetch`, `full_wait_after`, `deferred_mmas`,",
    "`cta_sync_interval`, `reserved_registers`, `zero_init_accumulators`. Issue times (`schedule`)",
    "are of one loop; another gets its own. Kernels that are like none get the model's choices:",
    "where the model has 0 hits, a few entries of one family are all there is to learn from.",
)
NOT_PREDICTED = {"schedule"}


def by_model(name, choices, sizes):
    """The knobs of the model's first configuration; None where it finds none."""
    from warploom.compiler.compiled import Compiled
    from warploom.errors import WarploomError
    from warploom.kernels.registry import shipped

    text = shipped()[name].kernel
    without = {t.name for t in text.signature.tensors if t.optional} - {"dq", "dv"}
    if "r" in sizes:
        without -= {"left", "gone"}
    axes = {a.name for t in text.signature.tensors for a in t.axes}
    whole = dict.fromkeys(axes, 4096) | {"b": 2, "h": 16, "g": 16, "c": 64, "p": 1, "e": 128}
    whole = {a: n for a, n in whole.items() if a in axes} | sizes
    whole |= {"j": sizes["t"]} if name == "scan" else {}
    try:
        types = text.spell(TYPES.get(name, "bf16"), without)
        kernel = text.value_for(types, whole, choices, without)
        made = Compiled(kernel, sizes=whole, positive=set(text.signature.scalars))
        return dict(made.choices[0].config.pins)
    except (WarploomError, IndexError, KeyError):
        return None


def nearest(entry, others):
    """The other entry of the kernel that shares most with this one."""
    name, choices, sizes, _ = entry
    mine = [o for o in others if o[0] == name and o is not entry]
    return max(
        mine,
        key=lambda o: (
            o[1] == choices,
            sum(o[2].get(a) == n for a, n in sizes.items()),
            -sum(abs(o[2].get(a, 0) - n) for a, n in sizes.items()),
        ),
        default=None,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    from tests.compiler.test_tuned import entries

    rows, known = Counter(), list(entries())
    models = {}
    for entry in known:
        name, choices, sizes, pins = entry
        key = (name, str(choices), str(sorted(sizes.items())))
        if key not in models:
            models[key] = by_model(name, choices, sizes)
        near = nearest(entry, known)
        for knob, value in pins.items():
            rows[knob, "entries"] += 1
            if knob in NOT_PREDICTED:
                continue
            rows[knob, "model"] += models[key] is not None and models[key].get(knob) == value
            rows[knob, "neighbour"] += near is not None and near[3].get(knob) == value
            either = models[key] is not None and models[key].get(knob) == value
            rows[knob, "either"] += either or (near is not None and near[3].get(knob) == value)
    knobs = sorted({k for k, _ in rows}, key=lambda k: -rows[k, "entries"])
    lines = ["# Measured configurations, one left out at a time", ""]
    lines += [", ".join(f"{k} {v}" for k, v in about(ROOT).items()), ""]
    lines += ["`python bench/tuned_knobs.py`; no GPU. " + f"{len(known)} entries.", ""]
    lines += ["| knob | entries | model | nearest entry | either |", "|---|---|---|---|---|"]
    for k in knobs:
        if k in NOT_PREDICTED:
            lines.append(f"| {k} | {rows[k, 'entries']} | not predicted | not predicted | |")
        else:
            found = (rows[k, s] for s in ("entries", "model", "neighbour", "either"))
            lines.append(f"| {k} | " + " | ".join(map(str, found)) + " |")
    lines += ["", *FOLLOWS]
    text = "\n".join(lines) + "\n"
    print(text)
    if args.out:
        args.out.write_text(text)


if __name__ == "__main__":
    main()
