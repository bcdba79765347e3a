"""Mutants of the shipped kernels' programs: run in the operational model, examined by the verifier.

    python bench/role_mutants.py [NAME ...] [--jobs 8] [--documents FOLDER] [--every N]
    python bench/role_mutants.py [NAME ...] --write FOLDER   schedules, for where no solver is

Edits of the protocol (waits, counts, barriers, how CTAs meet) and of the dataflow (ops dropped,
doubled, swapped, moved, operands and iterations retargeted). Writes bench/results/role_mutants.md
and .json.
"""

import argparse
import json
import platform
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.mutation.exchange_mutants import exchange_mutants
from tests.mutation.flow_mutants import flow_mutants, judge_flow
from tests.mutation.role_mutants import role_mutants
from tests.mutation.role_score import MORE_SEEDS, QUICK, SEEDS, judge_mutant

from warploom.ir.format1 import read_schedule, write_schedule

RESULTS = Path(__file__).parent / "results"
VERDICTS = ("found", "missed", "reported only", "passed")
MEETING = " at a meeting"
APART = "a role reads what it wrote itself: needs warps that run apart, which the model has not"
WHY = {
    "turn": "turns order the products in time, not data: values stay right",
    "threads of a barrier": "turns order the products in time, not data: values stay right",
    "source_read flipped": "the store has read its data but may still write; not modelled",
    "k -1": "one slot: the arrival reaches the same barrier, but names another use",
    "k +1": "one slot: the arrival reaches the same barrier, but names another use",
    "drop ScopeSync": APART,
    "swap": APART,
    "swap at a meeting": "parts but the last never come there; the model runs one part",
    "drop WaitFull": APART,
    "drop WaitEmpty": APART,
    "instance": "turns order the products in time, not data: values stay right",
    "NamedArrive instead": "turns order the products in time, not data: values stay right",
}
UNREAD = "a declared result that nobody reads later (the running maximum, after parts have met)"
WHY_FLOW = {"retarget writes": UNREAD, "less writes": UNREAD}
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
    "drop WaitEmpty": "a wait for another ring, or of a tile before, implies it",
    "pending +1": "another wait stands before the first use",
    "drop WaitGroup": "another wait stands before the first use",
    "drop Commit": "the products are closed with the next group, which is waited for",
    "drop ScopeSync": "another sync stands between",
    "drop WaitFull": "a wait before implies it",
    "drop ProxyFence": "another fence stands between",
    "drop BulkWait": "another wait of stores stands between",
    "swap steps": "steps of different threads, or that do not depend on one another",
    "step first": "steps of different threads, or that do not depend on one another",
    "step last": "steps of different threads, or that do not depend on one another",
    "step twice": "the second changes nothing",
    "another reach": "further than needed, or a step that makes nothing known",
    "step by others": "by more than need it, or before the draw, when nobody is last",
}


@cache
def document_of(name, folder):
    """A shipped kernel's schedule."""
    if folder:
        return read_schedule((Path(folder) / f"{name}.json").read_text())
    from tests.mbarrier.samples import lowered

    return lowered(name).document


@cache
def mutants_of(name, folder):
    document = document_of(name, folder)
    protocol = [m for m in role_mutants(document) if not m.work]
    return document, (*protocol, *exchange_mutants(document), *flow_mutants(document))


def judged(job):
    """The row of one mutant."""
    name, folder, i = job
    document, mutants = mutants_of(name, folder)
    judge = judge_flow if mutants[i].work else judge_mutant
    outcome = judge(mutants[i], document)
    return name, {
        "operator": mutants[i].operator,
        "where": mutants[i].where,
        "work": mutants[i].work,
        "verdict": outcome.verdict.value,
        "fault": outcome.fault,
        "codes": [str(c) for c in outcome.codes],
    }


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


def classes(subjects, verdict, why, work=False):
    """How many mutants of each operator have a verdict, and what explains it."""
    found, examples = Counter(), defaultdict(str)
    for name, rows in subjects.items():
        for r in rows:
            if r["verdict"] == verdict and r["work"] is work:
                operator = r["operator"] + MEETING * (r["codes"] == ["EXCHANGE"])
                found[operator] += 1
                examples[operator] = examples[operator] or f"{name}: {r['where']}"
    lines = ["| operator | mutants | why | for example |", "|---|---|---|---|"]
    for operator, n in found.most_common():
        lines.append(f"| {operator} | {n} | {why.get(operator, '')} | {examples[operator]} |")
    return lines


def operators(subjects):
    """How the edits of the dataflow fare, by operator."""
    rows = defaultdict(Counter)
    for found in subjects.values():
        for r in found:
            if r["work"]:
                rows[r["operator"]][r["verdict"]] += 1
    lines = ["| operator | mutants | wrong | found | missed | reported only | harmless, clean |"]
    lines.append("|---|---|---|---|---|---|---|")
    return [*lines, *(line(name, c) for name, c in sorted(rows.items()))]


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
            "# Mutants of the shipped kernels' schedules",
            "",
            f"Made by `bench/role_mutants.py` on {report['date']}, Python {report['python']}, "
            f"in {report['seconds']} s.",
            "",
            *([report["note"], ""] if report.get("note") else []),
            f"{_taken(report)}single edits of entries, rings, barriers and exchanges. Each mutant "
            f"runs in the operational model up to {runs} times in random order (tiles {tiles}), "
            f"and {MORE_SEEDS} more times a sequence if only the verifier reports it; stored "
            "values are compared with those the unchanged schedule means. The verifier judges the "
            "mutant without running it.",
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
            "## Edits of the dataflow",
            "",
            "Ops (vector ops too) left out, doubled, swapped, moved; operands, accumulators and "
            "iterations retargeted. What a mutant computes is decided by running every agent alone "
            "in program order; one that computes the same and is reported must run wrong in the "
            "model (a race).",
            "",
            *table(s, True),
            "",
            "By operator:",
            "",
            *operators(s),
            "",
            "Reported by the verifier only:",
            "",
            *classes(s, "reported only", WHY_FLOW, work=True),
            "",
        ]
    )


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "source tree"


def _taken(report):
    return "All " if report["every"] == 1 else f"Every {report['every']}th of all "


def publish(folder, subjects, start, every):
    report = {
        "script": "bench/role_mutants.py",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "warploom": installed("warploom"),
        "seconds": round(time.perf_counter() - start),
        "every": every,
        "subjects": subjects,
    }
    folder.mkdir(exist_ok=True)
    (folder / "role_mutants.json").write_text(json.dumps(report, separators=(",", ":")) + "\n")
    (folder / "role_mutants.md").write_text(page(report))


def write_documents(folder, names):
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or shipped():
        (Path(folder) / f"{name}.json").write_text(write_schedule(document_of(name, "")))


def shipped():
    from tests.mbarrier.samples import MEASURED, SHIPPED

    return [*SHIPPED, *MEASURED]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--documents", default="")
    parser.add_argument("--write", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--results", default=str(RESULTS))
    given = parser.parse_args()
    if given.write:
        return write_documents(given.write, given.names)
    start = time.perf_counter()
    names = given.names or (
        sorted(p.stem for p in Path(given.documents).glob("*.json"))
        if given.documents
        else shipped()
    )
    folder = given.documents
    jobs = [(n, folder, i) for n in names for i in range(len(mutants_of(n, folder)[1]))]
    subjects = {name: [] for name in names}
    done = 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for name, row in pool.map(judged, jobs[:: given.every], chunksize=4):
            subjects[name].append(row)
            done += 1
            if row["verdict"] in ("missed", "reported only"):
                print(name, row, flush=True)
            if done % 100 == 0:
                publish(Path(given.results), subjects, start, given.every)
    publish(Path(given.results), subjects, start, given.every)
    for name, rows in subjects.items():
        print(name, counts(rows), "dataflow", counts(rows, True), flush=True)
    return any(counts(rows, w)["missed"] for rows in subjects.values() for w in (False, True))


if __name__ == "__main__":
    sys.exit(main())
