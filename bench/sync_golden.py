"""Every golden schedule synthesised and repaired, every derived wait and barrier tried weaker.

Writes bench/results/sync_golden.md. Run from the repository root: ``python bench/sync_golden.py``
(ten minutes or more). The judge is the verifier, for all trip counts.
"""

import datetime
import platform
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.sync.golden_documents import cases, fourwave, pingpong, single_buffer  # noqa: E402
from tests.sync.minimal import check_minimal  # noqa: E402

from warploom import OrderError, Phase, WarploomError, __version__  # noqa: E402
from warploom.sync.counters import repair, synthesise  # noqa: E402
from warploom.verify import Severity, verify  # noqa: E402

OUT = ROOT / "bench" / "results" / "sync_golden.md"
MAKERS = {"pingpong": pingpong, "fourwave": fourwave, "single_buffer": single_buffer}
ROWS = (
    "documents",
    "reference clean",
    "reference racy or malformed",
    "refused orders",
    "synthesised",
    "of them clean",
    "waits and barriers tried weaker",
    "of them loose",
    "repaired documents",
    "of them clean after repair",
    "changes made",
    "changed waits and barriers tried weaker",
    "of these loose",
)


def clean(document):
    return all(f.severity is Severity.INFO for f in verify(document).findings)


def judge_reference(document, tally):
    try:
        good = clean(document)
    except WarploomError:
        good = False
    tally["documents"] += 1
    tally["reference clean" if good else "reference racy or malformed"] += 1


def try_synthesis(document, tally):
    for keep in (True, False):
        for mode in ("weakest", "fewest"):
            result = synthesise(document, keep_barriers=keep, mode=mode, limit=8)
            tally["synthesised"] += 1
            tally["of them clean"] += clean(result.document)
            counts = [result.counts(p) for p in Phase]
            waits = sum(c.vm + c.lgkm for c in counts)
            tally["waits and barriers tried weaker"] += waits + len(result.derived_barriers)
            loose = check_minimal(result.document, clean, barriers=result.derived_barriers)
            tally["of them loose"] += len(loose)
            for one in loose:
                print(document.name, keep, mode, one.text)


def try_repair(document, tally):
    done = repair(document)
    tally["repaired documents"] += bool(done.changes)
    tally["of them clean after repair"] += bool(done.changes) and clean(done.document)
    tally["changes made"] += len(done.changes)
    made = [c for c in done.changes if c.reason is not None]
    waits = [(c.phase, c.index) for c in made if c.reason.queue is not None]
    barriers = [(c.phase, c.index) for c in made if c.reason.queue is None]
    tally["changed waits and barriers tried weaker"] += len(made)
    loose = check_minimal(done.document, clean, waits=waits, barriers=barriers)
    tally["of these loose"] += len(loose)
    for one in loose:
        print(document.name, "repair", one.text)


def main():
    tallies, start = {}, time.perf_counter()
    for family, make in MAKERS.items():
        tally = tallies[family] = Counter()
        for name in cases(family):
            document = make(name.partition("/")[2])
            judge_reference(document, tally)
            try:
                try_synthesis(document, tally)
                try_repair(document, tally)
            except OrderError:
                tally["refused orders"] += 1
        print(family, dict(tally), flush=True)
    lines = [
        "# Golden schedules: synthesised, repaired, and every wait tried weaker",
        "",
        f"Made by `bench/sync_golden.py` on {datetime.date.today()}, warploom {__version__}, "
        f"Python {platform.python_version()}, {time.perf_counter() - start:.0f} s. Each document "
        "is synthesised with kept barriers and from none, weakest and fewest.",
        "",
        "| | " + " | ".join(MAKERS) + " |",
        "|---|" + "---|" * len(MAKERS),
        *(f"| {row} | " + " | ".join(str(tallies[f][row]) for f in MAKERS) + " |" for row in ROWS),
        "",
    ]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
