"""Mutants of the shipped texts' programs: run in the operational model, judged by the verifier.

    python bench/attention_mutants.py [NAME ...]     about 2 minutes a schedule on one core

Writes bench/results/attention_mutants.{md,json}.
"""

import json
import platform
import sys
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.mutation.role_mutants import role_mutants
from tests.mutation.role_score import MORE_SEEDS, QUICK, SEEDS, judge_mutant

from warploom.cli.kernels import TEXTS, TileKernel

RESULTS = Path(__file__).parent / "results"
VERDICTS = ("found", "missed", "reported only", "passed")
WHY = {
    "turn": "turns order the products in time, not data: values stay right",
    "threads of a barrier": "turns order the products in time, not data: values stay right",
    "source_read flipped": "the store has read its data but may still write; not modelled",
}
PASSED = {
    "swap": "neighbours that do not depend on one another",
    "pending -1": "a stronger wait",
    "scope warpgroup": "a wider barrier",
    "source_read flipped": "a stronger wait",
    "one slot less": "a slower kernel, still right",
    "NamedSync instead": "waits where arriving is enough: slower",
    "NamedArrive instead": "the last turn of all, which nobody needs",
    "drop NamedSync": "the last turn of all, which nobody needs",
    "drop MmaFence": "no ordinary access since the fence before",
    "k +1": "a wait for a later use, which implies this one",
    "k -1": "a wait for an earlier use where the next wait covers this one",
}


def judged(name):
    """One row per mutant of a schedule."""
    document = TileKernel(TEXTS[name]).lowered.document
    rows = []
    for mutant in role_mutants(document):
        outcome = judge_mutant(mutant, document)
        rows.append(
            {
                "operator": mutant.operator,
                "where": mutant.where,
                "work": mutant.work,
                "verdict": outcome.verdict.value,
                "fault": outcome.fault,
                "codes": [str(c) for c in outcome.codes],
            }
        )
    return rows


def counts(rows, work=False):
    found = Counter(r["verdict"] for r in rows if r["work"] is work)
    return {v: found[v] for v in VERDICTS}


def table(subjects, work):
    lines = [
        "| schedule | mutants | run wrong | of these found | missed | reported only | passed |",
        "|---|---|---|---|---|---|---|",
    ]
    total = Counter()
    for name, rows in subjects.items():
        c = counts(rows, work)
        total.update(c)
        lines.append(line(name, c))
    return [*lines, line("all", total)]


def line(name, c):
    wrong = c["found"] + c["missed"]
    cells = [sum(c.values()), wrong, c["found"], c["missed"], c["reported only"], c["passed"]]
    return f"| {name} | " + " | ".join(map(str, cells)) + " |"


def classes(subjects, verdict, why):
    """How many mutants of each operator have a verdict, and what explains it."""
    found, examples = Counter(), defaultdict(str)
    for name, rows in subjects.items():
        for r in rows:
            if r["verdict"] == verdict and not r["work"]:
                found[r["operator"]] += 1
                examples[r["operator"]] = examples[r["operator"]] or f"{name}: {r['where']}"
    lines = ["| operator | mutants | why | for example |", "|---|---|---|---|"]
    for operator, n in found.most_common():
        lines.append(f"| {operator} | {n} | {why.get(operator, '')} | {examples[operator]} |")
    return lines


def faults(subjects):
    seen, codes = Counter(), defaultdict(Counter)
    for rows in subjects.values():
        for r in rows:
            if r["verdict"] == "found" and not r["work"]:
                seen[r["fault"]] += 1
                codes[r["fault"]].update(r["codes"])
    lines = ["| what goes wrong | mutants | reported as |", "|---|---|---|"]
    for fault, n in seen.most_common():
        named = ", ".join(c for c, _ in codes[fault].most_common(5))
        lines.append(f"| {fault} | {n} | {named} |")
    return lines


def page(report):
    s = report["subjects"]
    runs, tiles = len(QUICK) * SEEDS, ", ".join(map(str, QUICK))
    return "\n".join(
        [
            "# Mutants of the attention schedules",
            "",
            f"Made by `bench/attention_mutants.py` on {report['date']}, Python {report['python']}, "
            f"in {report['seconds']} s; every mutant in `attention_mutants.json`.",
            "",
            "Every single edit of every entry, ring and barrier. Each mutant runs in the "
            f"operational model up to {runs} times in random order (tiles {tiles}), and "
            f"{MORE_SEEDS} more times a sequence if only the verifier reports it; stored values "
            "are compared with those the unchanged schedule means. The verifier judges the mutant "
            "without running it.",
            "",
            "## Edits of the protocol",
            "",
            *table(s, False),
            "",
            "What went wrong in the runs, and what the verifier says (its five commonest codes):",
            "",
            *faults(s),
            "",
            "Reported by the verifier only:",
            "",
            *classes(s, "reported only", WHY),
            "",
            "Passed by both, which are programs as right as the unchanged one:",
            "",
            *classes(s, "passed", PASSED),
            "",
            "## Edits of the work",
            "",
            "Ordinary ops left out or swapped, and products that sum instead of replace, or the "
            "other way round. The protocol stays as it is, so the verifier need not see them: a "
            "document does not say what its ops compute. The values of the runs show all of them.",
            "",
            *table(s, True),
            "",
        ]
    )


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "source tree"


def main(names):
    start = time.perf_counter()
    subjects = {}
    for name in names or list(TEXTS):
        subjects[name] = judged(name)
        print(name, counts(subjects[name]), "work", counts(subjects[name], True), flush=True)
    report = {
        "script": "bench/attention_mutants.py",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "warploom": installed("warploom"),
        "seconds": round(time.perf_counter() - start),
        "subjects": subjects,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "attention_mutants.json").write_text(json.dumps(report, indent=1) + "\n")
    (RESULTS / "attention_mutants.md").write_text(page(report))
    return any(counts(rows)["missed"] for rows in subjects.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
