"""The verifier on the reference's schedules: verdicts, time, and what its witnesses do.

Writes bench/results/verify.md. Run: ``python bench/verify.py`` in the repository root (a minute or
two: every race finding's witness is executed). ``python bench/verify.py FOLDER`` measures the times
of the kernels again, of schedules that ``bench/role_mutants.py --write FOLDER`` wrote: no solver.
``python bench/verify.py --modules`` writes bench/results/verify_modules.md: CPU time of the three
verifications that every compilation runs, of every shipped kernel, each in its own process.
"""

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.executor.exploration import Truth, explore  # noqa: E402
from tests.mbarrier.samples import SHIPPED, compiled, lowered  # noqa: E402
from tests.verify.documents import golden_cases, golden_document, pingpong_named  # noqa: E402
from tests.verify.random_documents import random_document  # noqa: E402
from tests.verify.test_golden import verify_exactly  # noqa: E402

from warploom import KernelGeometry, Pipeline4Wave, __version__, compile_schedule  # noqa: E402
from warploom.errors import WarploomError  # noqa: E402
from warploom.garbage import few_collections  # noqa: E402
from warploom.interp.dataflow import compile_sizes, verify_dataflow  # noqa: E402
from warploom.interp.executor import Scripted, execute  # noqa: E402
from warploom.ir.format1 import read_schedule  # noqa: E402
from warploom.passes.build_module import build_module  # noqa: E402
from warploom.verify import verify, witness  # noqa: E402
from warploom.verify.coverage import verify_coverage  # noqa: E402
from warploom.verify.roles import verify_roles  # noqa: E402
from warploom.verify.roles.composition import check_loops  # noqa: E402

KERNELS = "## Time for all runs of the shipped kernels"
OUT = ROOT / "bench" / "results" / "verify.md"
MODULES = OUT.with_name("verify_modules.md")
MOST_SECONDS = 0.3
FAMILIES = ("pingpong", "fourwave", "single_buffer")
AGREEMENT_DOCUMENTS = 1500


def timings():
    proven = compile_schedule(Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64)))).document()
    subjects = {
        "ping-pong CSP, max_globals 1": pingpong_named("CSP", 1),
        "ping-pong IDENTITY, max_globals 1": pingpong_named("IDENTITY", 1),
        "4-wave, reference waits": golden_document("fourwave", "geom0_default"),
        "4-wave, proven waits": proven,
        "single buffer": golden_document("single_buffer", "T1_h0"),
    }
    yield "| schedule | verdict | trip counts unrolled | depth | CPU ms, median of 15 |"
    yield "|---|---|---|---|---|"
    for name, document in subjects.items():
        report = verify(document)
        taken = []
        for _ in range(15):
            start = time.process_time()
            verify(document)
            taken.append((time.process_time() - start) * 1000)
        checked = ", ".join(map(str, report.trips_checked))
        milliseconds = statistics.median(taken)
        yield f"| {name} | {report.verdict} | {checked} | {report.depth} | {milliseconds:.1f} |"


def role_timings(folder=None):
    yield f"Python {platform.python_version()}, {platform.machine()}, one core."
    yield ""
    yield "| kernel | schedule | verdict | tile sequences | CPU ms, best of 7 |"
    yield "|---|---|---|---|---|"
    for name in SHIPPED if folder is None else sorted(p.stem for p in folder.glob("*.json")):
        document = (
            read_schedule((folder / f"{name}.json").read_text())
            if folder
            else lowered(name).document
        )
        taken = []
        for _ in range(7):
            start = time.process_time()
            report = verify_roles(document)
            taken.append((time.process_time() - start) * 1000)
        row = f"{name} | {document.name} | {report.verdict} | {report.sequences}"
        yield f"| {row} | {min(taken):.0f} |"


def verdicts():
    yield "| family | clean | race | malformed | witnesses run | of them wrong numbers |"
    yield "|---|---|---|---|---|---|"
    for family in FAMILIES:
        counts, run, wrong = Counter(), 0, 0
        for name in golden_cases(family):
            try:
                document = golden_document(family, name)
                report = verify(document)
            except WarploomError:  # a count below 0, for one
                counts["malformed"] += 1
                continue
            counts[report.verdict] += 1
            for finding in report.races():
                run += 1
                timing = Scripted(witness(document, finding))
                wrong += not execute(document, timing=timing).correct
        shown = " | ".join(str(counts[v]) for v in ("clean", "race", "malformed"))
        yield f"| {family} | {shown} | {run} | {wrong} |"


def agreement():
    counts = Counter()
    for seed in range(AGREEMENT_DOCUMENTS):
        document = random_document(seed)
        for trips in range(3):
            truth = explore(document, trips=trips, limit=6000).truth
            counts[truth, bool(verify_exactly(document, trips))] += 1
    yield "| truth by complete exploration | judged clean | judged racy |"
    yield "|---|---|---|"
    for truth in Truth:
        yield f"| {truth.value} | {counts[truth, False]} | {counts[truth, True]} |"


def again(folder):
    """The section of the kernels anew; the others stay."""
    before, _, rest = OUT.read_text().partition(f"{KERNELS}\n")
    after = rest[rest.index("\n## ") :]
    OUT.write_text(f"{before}{KERNELS}\n\n" + "\n".join(role_timings(folder)) + f"\n{after}")


def cpu(work):
    """Seconds of CPU, and what came out."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def verified(name, documents, module):
    """The three verifications, timed; nothing is remembered of other kernels."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with few_collections():  # as in a compilation
            sync, reports = cpu(lambda: [*map(verify_roles, documents), *check_loops(documents)])
            cover, covered = cpu(lambda: verify_coverage(module))
            data, flow = cpu(lambda: verify_dataflow(module, sizes_tried=[compile_sizes(module)]))
        said = [r.verdict for r in reports] + [covered.verdict, flow.verdict]
        os.write(writing, json.dumps([sync, cover, data, said]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        *seconds, said = json.load(file)
    os.waitpid(child, 0)
    worst = sorted(said, key=lambda v: (v == "clean", v))[0]
    return name, seconds, worst


def modules():
    rows = []
    for name in SHIPPED:
        module = build_module(compiled(name).kernel, lowered(name))
        rows.append(min((verified(name, lowered(name).documents, module) for _ in range(2)),
                        key=lambda row: sum(row[1])))  # fmt: skip
    over = [name for name, seconds, _ in rows if sum(seconds) > MOST_SECONDS]
    git = ("git", "rev-parse", "--short=8", "HEAD")
    commit = subprocess.run(git, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    lines = [
        "# The three verifications of every compilation",
        "",
        f"Made by `bench/verify.py --modules` on {datetime.datetime.now(tz=datetime.UTC).date()}, "
        f"commit {commit.strip()}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}. CPU seconds, the better of two, "
        "each in a process that has verified nothing before. "
        f"Above {MOST_SECONDS} s: {', '.join(over) or 'none'} of {len(rows)}.",
        "",
        "| kernel | synchronisation | coverage | dataflow | together | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for name, seconds, worst in rows:
        shown = " | ".join(f"{s:.3f}" for s in (*seconds, sum(seconds)))
        lines.append(f"| {name} | {shown} | {worst} |")
    MODULES.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main():
    if sys.argv[1:] == ["--modules"]:
        return modules()
    if sys.argv[1:]:
        return again(Path(sys.argv[1]))
    today = datetime.datetime.now(tz=datetime.UTC).date()
    lines = [
        "# The verifier: verdicts, time, witnesses",
        "",
        f"Made by `bench/verify.py` on {today}, warploom {__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}.",
        "",
        "## Time for all trip counts",
        "",
        *timings(),
        "",
        KERNELS,
        "",
        *role_timings(),
        "",
        "## The reference's schedules (golden cases)",
        "",
        *verdicts(),
        "",
        f"## {AGREEMENT_DOCUMENTS} random tiny schedules, 0, 1 and 2 iterations each",
        "",
        *agreement(),
    ]
    OUT.write_text("\n".join(lines) + "\n")
    return print(OUT.read_text())


if __name__ == "__main__":
    main()
