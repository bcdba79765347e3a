"""Damage every wait, barrier and nop of checked kernels, one at a time, and compare judges.

    python mutants_amd.py CASE.json... [--table FILE]

A mutant that an adversarial execution shows wrong must be reported by ``check``. Mutants that are
neither shown wrong nor reported are listed: such a wait or barrier is redundant.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from warploom.check.amdgcn import check_amdgcn
from warploom.check.amdgcn.reader import read_kernel, read_waits
from warploom.check.amdgcn.timed import EARLY, execute, timings
from warploom.check.launch import Launch
from warploom.errors import WarploomError


def spelled(vm, lgkm):
    parts = [f"vmcnt({vm})"] * (vm < 63) + [f"lgkmcnt({lgkm})"] * (lgkm < 15)
    return f"\ts_waitcnt {' '.join(parts)}" if parts else "\t; deleted"


def changed(lines, by_line):
    new = list(lines)
    for line, text in by_line.items():
        new[line - 1] = text
    return "\n".join(new)


def mutants(kernel, lines):
    """(what, line, text) of every damaged form."""
    for at, i in enumerate(kernel.instructions):
        if i.mnemonic not in ("s_waitcnt", "s_barrier", "s_nop"):
            continue
        kind = i.mnemonic.removeprefix("s_")
        yield f"{kind} deleted", i.line, changed(lines, {i.line: "\t; deleted"})
        if i.mnemonic == "s_waitcnt":
            yield from weakened(i, lines)
        if i.mnemonic == "s_barrier":
            twice = changed(lines, {i.line: "\ts_barrier\n\ts_barrier"})
            yield "barrier doubled", i.line, twice
        if i.mnemonic != "s_nop":
            yield from moved(kernel.instructions, at, lines)


def weakened(i, lines):
    waits = read_waits(i)
    if waits.vm < 62:
        text = changed(lines, {i.line: spelled(waits.vm + 1, waits.lgkm)})
        yield "vmcnt weakened", i.line, text
    if waits.lgkm < 14:
        text = changed(lines, {i.line: spelled(waits.vm, waits.lgkm + 1)})
        yield "lgkmcnt weakened", i.line, text


def moved(code, at, lines):
    i = code[at]
    for step, where in ((1, "down"), (-1, "up")):
        if not 0 <= at + step < len(code):
            continue
        other = code[at + step]
        low, high = sorted((other.line, i.line))
        control = other.mnemonic.startswith(("s_branch", "s_cbranch", "s_endpgm"))
        if control or high - low > 3 or ":" in "".join(lines[low : high - 1]):
            continue
        both = {i.line: lines[other.line - 1], other.line: lines[i.line - 1]}
        yield f"{i.mnemonic[2:]} moved {where}", i.line, changed(lines, both)


def shown_wrong(text, launch, expected):
    """The first timing under which the result differs, or None."""
    kernel = read_kernel(text, launch.entry or None)
    for timing, order in timings(1):
        try:
            done = execute(kernel, launch, timing=timing, order=order, max_steps=400_000)
        except WarploomError as error:
            return f"{timing.name} {order}: {error.what}"
        if done.faults or any((done.tensors[n] != expected[n]).any() for n in expected):
            return f"{timing.name} {order}"
    return None


def measure(path, limit):
    described = json.loads(path.read_text())
    launch = Launch.from_json(described["launch"])
    file = path.parent / described.get("file", path.with_suffix(".s").name)
    text = file.read_text()
    kernel = read_kernel(text, launch.entry or None)
    expected = execute(kernel, launch, timing=EARLY).tensors
    counts, silent, missed = Counter(), [], []
    chosen = list(mutants(kernel, text.split("\n")))
    for what, line, mutant in chosen[:: max(1, len(chosen) // limit)]:
        report = check_amdgcn(mutant, launch)
        wrong = shown_wrong(mutant, launch, expected)
        counts[what, "all"] += 1
        counts[what, "found"] += report.verdict.value != "clean"
        counts[what, "wrong"] += wrong is not None
        if report.verdict.value == "clean" and wrong:
            missed.append(f"{path.stem}: line {line}: {what}: {wrong}")
        elif report.verdict.value == "clean":
            silent.append(f"{path.stem}: line {line}: {what}")
    return counts, silent, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--limit", type=int, default=60, help="mutants a kernel, at most")
    given = parser.parse_args()
    total, silent, missed = Counter(), [], []
    for path in given.cases:
        began = time.time()
        counts, quiet, bad = measure(path, given.limit)
        total += counts
        silent += quiet
        missed += bad
        every = sum(n for (_, k), n in counts.items() if k == "all")
        found = sum(n for (_, k), n in counts.items() if k == "found")
        print(path.stem, every, "mutants,", found, "found,", len(bad), "missed,",
              round(time.time() - began), "s", flush=True)  # fmt: skip
    print("\n".join(["missed:", *missed, "silent:", *silent]))
    if given.table:
        lines = ["| mutant | all | reported | shown wrong |", "|---|---|---|---|"]
        for what in sorted({w for w, _ in total}):
            row = [str(total[what, k]) for k in ("all", "found", "wrong")]
            lines.append(f"| {what} | {' | '.join(row)} |")
        lines += ["", f"Shown wrong and not reported: {len(missed)}."]
        given.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
