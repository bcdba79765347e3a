"""Mutants of AMD kernels: does ``check`` find all that an exhaustive explorer calls wrong?

    python bench/foreign/mutants_amd.py [CASE.json...] [--own] [--limit N] [--json FILE] [--write]

Without a case: the fixed forms of SyncBench. ``--own``: small kernels that the project emits. A
case is what ``triton_amd/compile.py`` and ``clang_amd/compile.py`` write. Every synchronising
instruction is deleted, weakened, moved and doubled. Each mutant is explored (every interleaving of
waves and of landing accesses; no happens-before), executed under adversarial timings where the
explorer does not get to the end, and checked (with the results of the undamaged kernel as
``against``). A run goes on behind the kernels that are in ``--json``; ``--write`` makes
bench/results/check_mutants_amd.md of it.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.check_amdgcn.explorer import explore  # noqa: E402
from tests.check_amdgcn.mutants import mutants  # noqa: E402

from warploom.check.amdgcn import check_amdgcn  # noqa: E402
from warploom.check.amdgcn.reader import read_kernel  # noqa: E402
from warploom.check.amdgcn.timed import EARLY, execute, timings  # noqa: E402
from warploom.check.formats import decode  # noqa: E402
from warploom.check.launch import Launch  # noqa: E402
from warploom.errors import WarploomError  # noqa: E402

SYNCBENCH = ROOT / "bench" / "syncbench" / "amd"
TABLE = ROOT / "bench" / "results" / "check_mutants_amd.md"
VERDICTS = ("clean", "race", "deadlock", "invalid", "wrong", "unsupported", "error")


def given_cases(paths):
    """(name, text, launch) of compiled kernels."""
    for path in paths:
        described = json.loads(path.read_text())
        launch = Launch.from_json(described["launch"])
        file = path.parent / described.get("file", path.with_suffix(".s").name)
        yield f"{path.parent.name}/{path.stem}", file.read_text(), launch


def syncbench_cases():
    for case in json.loads((SYNCBENCH / "cases.json").read_text()):
        folder = SYNCBENCH / case["name"]
        yield case["name"], (folder / "fixed.s").read_text(), Launch.read(folder / "launch.json")


def own_cases():
    from tests.check_amdgcn.own import mutant_cases

    yield from mutant_cases()


def shown_wrong(text, launch, expected):
    """The first timing under which the result differs, or nothing."""
    kernel = read_kernel(text, launch.entry or None)
    for timing, order in timings(1):
        try:
            done = execute(kernel, launch, timing=timing, order=order, max_steps=400_000)
        except WarploomError as error:
            return f"{timing.name} {order}: {error.what}"
        if done.faults or any((done.tensors[n] != expected[n]).any() for n in expected):
            return f"{timing.name} {order}"
    return ""


def measure(name, text, launch, limit, seconds):
    """One row a mutant: (what, line, explorer, timings, check)."""
    kernel = read_kernel(text, launch.entry or None)
    tensors = execute(kernel, launch, timing=EARLY).tensors
    outputs = [t.name for t in launch.tensors.values() if t.role != "in"]
    results = b"".join(tensors[n].tobytes() for n in outputs)
    wanted = {
        n: decode(tensors[n], launch.tensors[n].dtype).reshape(launch.tensors[n].shape)
        for n in outputs
    }
    right = explore(text, launch, expected=results, seconds=seconds)
    if right.verdict not in ("right", "bounded"):
        raise SystemExit(f"{name}: the kernel itself is {right.verdict}: {right.why}")
    chosen = list(mutants(text, launch.entry or None))
    rows = []
    for mutant in chosen[:: max(1, -(-len(chosen) // limit))]:
        explored = explore(mutant.text, launch, expected=results, seconds=seconds)
        timed = ""
        if explored.verdict == "bounded":
            timed = shown_wrong(mutant.text, launch, {n: tensors[n] for n in outputs})
        checked = check_amdgcn(mutant.text, launch, against=lambda **_: wanted).verdict.value
        rows.append([mutant.what, mutant.line, explored.verdict, timed, checked])
    return rows


def written(found):
    """The page."""
    wrong = lambda r: r[2] == "wrong" or bool(r[3])  # noqa: E731
    rows = [(name, *row) for name, rows in found.items() for row in rows]
    missed = [r for r in rows if (r[3] == "wrong" or r[4]) and r[5] == "clean"]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout.strip()
    lines = [
        "# Mutants of AMD kernels: explorer and checker",
        "",
        f"`bench/foreign/mutants_amd.py` at {commit}, {datetime.now(UTC).date()}. {len(rows)} "
        f"mutants of {len(found)} kernels: each wait, barrier, nop,",
        "write of M0, cache control and scope bit deleted, weakened, moved, doubled. The explorer",
        "tries every interleaving of waves and of landing accesses that the counters allow, and",
        "reasons about nothing; where it did not get to the end (`bounded`), thirteen adversarial",
        "executions were added. Nothing here ran on a chip.",
        "",
        "| explorer | " + " | ".join(VERDICTS) + " |",
        "|---|" + "---|" * len(VERDICTS),
    ]
    for label, chosen in (
        ("wrong", [r for r in rows if r[3] == "wrong"]),
        ("bounded, wrong under a timing", [r for r in rows if r[3] == "bounded" and r[4]]),
        (
            "bounded, right under all timings tried",
            [r for r in rows if r[3] == "bounded" and not r[4]],
        ),
        ("right", [r for r in rows if r[3] == "right"]),
    ):
        counts = Counter(r[5] for r in chosen)
        lines.append(f"| {label} | " + " | ".join(str(counts[v]) for v in VERDICTS) + " |")
    lines += ["", f"Wrong by the explorer or a timing and clean by the checker: {len(missed)}.", ""]
    lines += [f"- {r[0]}, line {r[2]}: {r[1]}" for r in missed]
    lines += [
        "## Reported, and right by the explorer",
        "",
        "| mutant | reported | of |",
        "|---|---|---|",
    ]
    kinds = sorted({r[1] for r in rows})
    for kind in kinds:
        right = [r for r in rows if r[1] == kind and r[3] == "right"]
        reported = sum(r[5] != "clean" for r in right)
        if reported:
            lines.append(f"| {kind} | {reported} | {len(right)} |")
    lines += ["", *EXPLAINED, "", "## By kernel", ""]
    lines += ["| kernel | mutants | wrong | reported | missed |", "|---|---|---|---|---|"]
    for name, own in found.items():
        bad = sum(1 for r in own if wrong(r) and r[4] == "clean")
        reported = sum(r[4] != "clean" for r in own)
        lines.append(f"| {name} | {len(own)} | {sum(map(wrong, own))} | {reported} | {bad} |")
    return "\n".join(lines) + "\n"


EXPLAINED = (
    "Why these are right by the explorer:",
    "",
    "- *invalid*: wait states (`s_nop`, M0 or waits moved away). The explorer has no pipelines;",
    "  these rules are compared with LLVM (`wait_states_amd.py`).",
    "- *race*, scope bits and cache controls: the explorer has no caches; every store is seen",
    "  where it lands.",
    "- *race*, waits and barriers: in this launch the racing write brings the bytes that are there",
    "  (refills with the same tile), or what it garbles is not used for a result.",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", type=Path)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--limit", type=int, default=1000, help="mutants a kernel, at most")
    parser.add_argument("--seconds", type=float, default=5.0, help="of exploring a mutant")
    given = parser.parse_args()
    found = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    cases = given_cases(given.cases) if given.cases else syncbench_cases()
    for name, text, launch in own_cases() if given.own else cases:
        if name in found:
            continue
        began = time.time()
        rows = found[name] = measure(name, text, launch, given.limit, given.seconds)
        counts = Counter((r[2] if not r[3] else "wrong", r[4]) for r in rows)
        told = ", ".join(f"{e}/{c} {n}" for (e, c), n in sorted(counts.items()))
        print(f"{name}: {len(rows)} mutants, {told}, {time.time() - began:.0f} s", flush=True)
        if given.json:
            given.json.write_text(json.dumps(found))
    missed = [
        f"{n}: line {r[1]}: {r[0]}: {r[3]}"
        for n, rows in found.items()
        for r in rows
        if (r[2] == "wrong" or r[3]) and r[4] == "clean"
    ]
    print("\n".join(["missed:", *missed]))
    if given.write:
        TABLE.write_text(written(found))


if __name__ == "__main__":
    main()
