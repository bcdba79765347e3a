"""All random campaigns, in parallel over ranges of seeds; resumable.

    python bench/campaigns.py run --jobs 16 --seconds 540 --out FOLDER [--only roles,calls]
    python bench/campaigns.py table FOLDER

``run`` judges seeds of every campaign until the time is over or each has as many as it wants, and
appends a line a range to ``FOLDER/<campaign>.jsonl``: seeds, commit, counts (refusals by reason),
and every failure with its seed. Ranges that a file holds are left out, so a second run goes on
where the first one ended. ``table`` writes ``FOLDER/table.md``, ``FOLDER/table.json`` and
``FOLDER/all.tar.gz``, which holds all of the folder; ``run`` ends with it.

| campaign | what | against |
|---|---|---|
| roles, counters | small programs, half of them edited | every interleaving |
| sequences | tile sequences on rings of up to 24 slots | runs with one step held back |
| attacks | hand-made documents of every known class, edited | runs with one step held back |
| larger | deep rings and clusters, edited | random runs |
| exchanges | CTAs that meet in global memory, edited | every interleaving |
| modules | indices, predicates, coordinates, tile schedules edited | executions at other sizes |
| kernels | random kernels of nine forms | NumPy, in the interpreter |
| kernels_host | the same generator, other seeds | NumPy, emitted CUDA compiled for the host |
| texts | lists, groups, parts, indices, i32, no loop, several and nested loops | NumPy, both ways |
| texts_mi355x | the same generator, other seeds | NumPy, machine code for gfx950 executed |
| calls | public calls, NaN in bytes that do not count, any alignment, twice | float64, host |
| calls_interpreter | the same generator | float64, in the interpreter |

Needs NumPy, OR-Tools, Hypothesis and g++ (gfx950 also LLVM, from the extra ``amdgpu``).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "bench")]


class NoPytest(ModuleType):
    """What modules of tests ask of pytest while they are imported, where there is none."""

    def __getattr__(self, name: str) -> NoPytest:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *given: object, **_: object) -> object:
        return given[0] if len(given) == 1 and callable(given[0]) else self


if find_spec("pytest") is None:
    sys.modules["pytest"] = NoPytest("pytest")

SAMPLED = ("sequences", "attacks", "larger")
"""Campaigns whose runs are some of all: what they do not show may be wrong all the same."""
HANG = 60  # seconds of one seed, after which it counts as skipped; the solver stops before
WORK = {"find_work": 0.6, "prove_work": 0.1, "optimise_work": 0.1, "gap_work": 0.1, "work": 1.5}
"""What the solver may spend on an order, in its own units, the same on every machine: an order
need not be the best one to be right or wrong."""
MARGIN = 45  # seconds before the end, after which nobody is waited for
TELL = 60  # seconds between lines of progress
SPENT = 20  # seconds of a range, after which the rest of it is another range


class Hung(BaseException):
    """A seed took too long."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def over(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def script(name: str) -> ModuleType:
    """A script of this folder as a module."""
    return __import__(name)


def oracle(kind: str) -> Callable[[int], list[str]]:
    def one(seed: int) -> list[str]:
        truth, verdict = script("oracles").KINDS[kind](seed)
        if truth == "false" and kind in SAMPLED:
            codes = verdict.partition(" ")[2]
            return [f"reported, not shown by runs: {codes}"]
        bad = {"missed": f"MISSED with verdict {verdict}", "false": f"FALSE ALARM: {verdict}"}
        return [bad.get(truth, f"{truth}, verdict {verdict.partition(' ')[0]}")]

    return one


def worded(found: str) -> str:
    """A line of results, as it is counted: failures whole, refusals without numbers."""
    wrong = "does not compute it" in found or "is wrong:" in found or "is not proven" in found
    if found.startswith("refused") and wrong:  # a verifier stopped what a pass made
        return f"WRONG {found}"
    if found.startswith("refused"):
        return re.sub(r"'[^']*'|\d+", "_", found)[:90]
    return found if found == "right" else "WRONG " + found


def kernels(seed: int) -> list[str]:
    from tests.interp import random_runs

    case, pins = random_runs.drawn(seed)
    try:
        return [random_runs.check(case, pins, seed)]
    except (AssertionError, Exception) as error:
        said = "verifier refuses what passes made" if random_runs.not_proven(case, pins) else ""
        return [f"WRONG {said} {type(error).__name__}: {error}"[:400]]


def kernels_host(seed: int) -> list[str]:
    from tests.frontend.random_kernels import FORMS

    return [worded(script("random_kernels").host_line(seed, FORMS)["found"])]


def texts(seed: int) -> list[str]:
    from tests.frontend.random_sources import random_source
    from tests.kernels.random_sources import line

    # Programs of a whole CTA are executed as PTX; the host runtime has no matrix instructions.
    ways = ("h200",) if random_source(seed).form == "nested" else ("h200", "host")
    made = line(seed, ways)
    found = [f"{way}, {made['form']}: {worded(made[way])}" for way in ways]
    return [f"WRONG {f}" if "WRONG" in f else f for f in found]


def texts_mi355x(seed: int) -> list[str]:
    from tests.kernels.random_sources import line

    made = line(seed, ("mi355x",))
    found = worded(made["mi355x"])
    return [f"WRONG {made['form']}: {found}" if "WRONG" in found else f"{made['form']}: {found}"]


def calls(way: str) -> Callable[[int], list[str]]:
    def one(seed: int) -> list[str]:
        made = script("random_calls").run(seed, way)
        found = worded(made["found"])
        kind = made["call"].partition(" ")[0]
        return [f"{found} ({made['call']})" if "WRONG" in found else f"{kind}: {found}"]

    return one


# name: (one seed's judge, seeds wanted, seeds of a range)
CAMPAIGNS: dict[str, tuple[Callable[[int], list[str]], int, int]] = {
    "roles": (oracle("roles"), 20_000, 50),
    "counters": (oracle("counters"), 20_000, 100),
    "sequences": (oracle("sequences"), 20_000, 100),
    "attacks": (oracle("attacks"), 10_000, 50),
    "larger": (oracle("larger"), 5_000, 100),
    "exchanges": (oracle("exchanges"), 5_000, 100),
    "modules": (oracle("modules"), 3_000, 50),
    "kernels": (kernels, 5_000, 20),
    "kernels_host": (kernels_host, 2_500, 20),
    "texts": (texts, 5_000, 20),
    "texts_mi355x": (texts_mi355x, 1_000, 10),
    "calls": (calls("host"), 5_000, 20),
    "calls_interpreter": (calls("interpreter"), 5_000, 20),
}
LATER = ("larger", "exchanges", "kernels_host", "texts_mi355x", "calls")
"""Campaigns that get a third of the seeds of the others while time is short."""
FIRST = 32_000_000  # seeds that no earlier campaign used


def judge_range(name: str, first: int, last: int, until: float) -> dict[str, object]:
    """The counts of a range; ``last`` is where it ended."""
    judge = CAMPAIGNS[name][0]
    counts: Counter[str] = Counter()
    failures: list[list[object]] = []
    start, seed = time.time(), first
    note = Path(tempfile.gettempdir()) / f"campaign-{os.getpid()}"
    while seed < last and time.time() < min(until, start + SPENT):
        note.write_text(f"{name} {seed}")
        try:
            with limited(HANG):
                found = judge(seed)
        except Hung:  # the solver's, mostly; another run gives it another chance
            found = [f"skipped: no answer in {HANG} s"]
        except Exception as error:
            found = [f"RAW {type(error).__name__}: {error}"[:400]]
        for one in found:
            failed = re.match(r"WRONG|MISSED|FALSE|RAW", one)
            failures += [[seed, one]] if failed else []
            counts[one.partition(":")[0][:40] if failed else one] += 1
        seed += 1
    note.unlink(missing_ok=True)
    return {
        "campaign": name,
        "first": first,
        "last": seed,
        "seconds": round(time.time() - start, 1),
        "counts": dict(counts),
        "failures": failures,
    }


def quiet() -> None:
    """Workers print nothing, keep what they schedule for one another, and search orders briefly."""
    from warploom.compiler import compiled

    os.environ["WARPLOOM_QUIET"] = "1"
    compiled.SOLVE = replace(compiled.SOLVE, **WORK)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 2)


def held(folder: Path, name: str) -> list[dict]:
    path = folder / f"{name}.jsonl"
    return [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []


def missing(done: list[dict], wanted: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of seeds that no line of the results covers."""
    covered = sorted((x["first"], x["last"]) for x in done)
    at, end = FIRST, FIRST + wanted
    for first, last in [*covered, (end, end)]:
        while at < first:
            stop = min(at + size, first)
            yield at, stop
            at = stop
        at = max(at, last)


class Queue:
    """Ranges of all campaigns, so that each has its share of the seeds it wants."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self.ranges = {n: missing(held(folder, n), *CAMPAIGNS[n][1:]) for n in names}
        self.shares = dict.fromkeys(self.ranges, 0.0)

    def next(self) -> tuple[str, tuple[int, int]] | None:
        while self.ranges:
            name = min(self.ranges, key=lambda n: self.shares[n])
            span = next(self.ranges[name], None)
            if span is not None:
                weight = 3 if name in LATER else 1
                self.shares[name] += weight * (span[1] - span[0]) / CAMPAIGNS[name][1]
                return name, span
            del self.ranges[name]
        return None


Span = tuple[str, int, int]


class Pool:
    """Workers; where one dies, its seed is a failure and all ranges go on with others."""

    def __init__(self, jobs: int, until: float) -> None:
        self.jobs, self.until = jobs, until
        self.running: dict[Future[dict[str, object]], Span] = {}
        self.again: list[Span] = []
        self.dead: list[tuple[Span, dict[str, object]]] = []
        self.made = ProcessPoolExecutor(jobs, initializer=quiet)

    def submit(self, span: Span) -> None:
        try:
            self.running[self.made.submit(judge_range, *span, self.until)] = span
        except BrokenProcessPool:
            self.broken(span)

    def finished(self, seconds: float) -> list[tuple[Span, dict[str, object]]]:
        """What is done; empty where nobody is at work any more, or is given up."""
        done, _ = wait(self.running, timeout=max(0.0, seconds), return_when=FIRST_COMPLETED)
        found = []
        for future in done:
            if future in self.running:  # else of workers that are gone
                span = self.running.pop(future)
                try:
                    found.append((span, future.result()))
                except BrokenProcessPool:
                    self.broken(span)
        found += self.dead
        self.dead = []
        return found

    def broken(self, span: Span) -> None:
        """New workers; who died had noted its seed."""
        spans = [span, *self.running.values()]
        workers = list((self.made._processes or {}).values())
        lost = set()
        for process in workers:  # the others are told to end
            process.join(2)
            note = noted(process.pid or 0)
            if process.exitcode not in (None, 0, -signal.SIGTERM) and note:
                lost.add(note)
        self.close()
        self.running.clear()
        self.made = ProcessPoolExecutor(self.jobs, initializer=quiet)
        for name, first, last in spans:
            at = next((s for n, s in lost if n == name and first <= s < last), None)
            parts = [(first, last)] if at is None else [(first, at), (at + 1, last)]
            self.again += [(name, *p) for p in parts if p[0] < p[1]]
            if at is not None:
                self.dead.append(((name, at, at + 1), died(name, at)))

    def close(self) -> None:
        workers = list((self.made._processes or {}).values())
        self.made.shutdown(wait=False, cancel_futures=True)
        for process in workers:
            process.kill()


def noted(pid: int) -> tuple[str, int] | None:
    """The seed that a worker was at."""
    try:
        name, seed = (Path(tempfile.gettempdir()) / f"campaign-{pid}").read_text().split()
    except (OSError, ValueError):
        return None
    return name, int(seed)


def died(name: str, seed: int) -> dict[str, object]:
    said = "RAW worker died"
    counts, failures = {said: 1}, [[seed, said]]
    return {
        "campaign": name,
        "first": seed,
        "last": seed + 1,
        "seconds": 0,
        "counts": counts,
        "failures": failures,
    }


def run(folder: Path, jobs: int, seconds: float, only: list[str], commit: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    until = time.time() + max(1.0, seconds - MARGIN)
    queue, pool = Queue(folder, only or CAMPAIGNS), Pool(jobs, until)
    told, seeds, failed = time.time(), 0, 0
    try:
        while True:
            while len(pool.running) < 2 * jobs and time.time() < until:
                if pool.again:
                    pool.submit(pool.again.pop())
                    continue
                more = queue.next()
                if more is None:
                    break
                pool.submit((more[0], *more[1]))
            done = pool.finished(until + MARGIN / 2 - time.time())
            if not done and not (pool.again and time.time() < until):
                break  # nothing is left, or who is still at work is given up
            for (name, _, last), line in done:
                keep(folder, line | {"commit": commit})
                seeds += line["last"] - line["first"]
                failed += len(line["failures"])
                if line["last"] < last and line["last"] > line["first"] and time.time() < until:
                    pool.submit((name, line["last"], last))
            if time.time() - told > TELL:
                told = time.time()
                print(f"{seeds:,} seeds, {failed} failures, {until - told:.0f} s left", flush=True)
    finally:
        pool.close()
    table(folder)


def keep(folder: Path, line: dict) -> None:
    """A finished range; failures are printed, too."""
    if line["last"] > line["first"]:
        with (folder / f"{line['campaign']}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
    for seed, said in line["failures"]:
        print(f"{line['campaign']} seed {seed}: {said}", flush=True)


NOT_SHOWN = (
    "Reported, but not shown by the runs that were tried, by code:",
    "",
    "- ARRIVALS, BYTES: a barrier is initialised for, or told of, something else than comes. It"
    " shows when the difference has gone round, or never, where nobody waits for that phase.",
    "- LAPPED, PHASE, DEADLOCK: a wait names a use that is over, or has the parity of another"
    " one. The documents say which use is meant; the hardware sees a parity that may be the same.",
    "- RAW-SLOT, WAR-SLOT, DRAIN: the order rests on such a wait.",
    "- SCOPE: a product of less than a warpgroup, which the runs do not know about.",
    "",
)


def table(folder: Path) -> None:
    """What all lines of results say."""
    rows, every = [], {}
    for name in CAMPAIGNS:
        lines = held(folder, name)
        if not lines:
            continue
        counts: Counter[str] = Counter()
        for x in lines:
            counts.update(x["counts"])
        seeds = sum(x["last"] - x["first"] for x in lines)
        failures = [f for x in lines for f in x["failures"]]
        seconds = sum(x["seconds"] for x in lines)
        refused = sum(n for c, n in counts.items() if "refused" in c)
        ends = f"{min(x['first'] for x in lines)} to {max(x['last'] for x in lines) - 1}"
        hours = f"{seconds / 3600:.2f}"
        rows.append(f"| {name} | {seeds:,} | {ends} | {len(failures)} | {refused:,} | {hours} |")
        every[name] = {
            "seeds": seeds,
            "range": ends,
            "commits": sorted({x["commit"] for x in lines}),
            "core_seconds": round(seconds),
            "counts": dict(counts.most_common()),
            "failures": failures,
        }
    head = [
        "| campaign | seeds | range | failures | refused | core hours |",
        "|---|---|---|---|---|---|",
    ]
    more = []
    for name, said in every.items():
        more += ["", f"## {name}", "", f"Commits {', '.join(said['commits'])}.", ""]
        more += [f"- {n:,} {what}" for what, n in said["counts"].items()]
        if any("not shown" in what for what in said["counts"]):
            more += ["", *NOT_SHOWN]
        more += [f"- seed {seed}: {what[:200]}" for seed, what in said["failures"][:30]]
    text = "\n".join(["# Random campaigns", "", *head, *rows, *more]) + "\n"
    (folder / "table.md").write_text(text)
    (folder / "table.json").write_text(json.dumps(every, indent=1) + "\n")
    print("\n".join([*head, *rows]))
    packed = folder / "all.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        for path in sorted(folder.iterdir()):
            if path != packed:
                archive.add(path, path.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="what", required=True)
    doing = parts.add_parser("run")
    doing.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    doing.add_argument("--seconds", type=float, default=540)
    doing.add_argument("--out", type=Path, required=True)
    doing.add_argument("--only", default="", help="campaigns, by commas")
    doing.add_argument("--commit", default="", help="of the tree, where git does not know it")
    telling = parts.add_parser("table")
    telling.add_argument("out", type=Path)
    given = parser.parse_args()
    if given.what == "table":
        table(given.out)
        return 0
    commit = given.commit or script("oracles").commit() or "unknown"
    run(given.out, given.jobs, given.seconds, [x for x in given.only.split(",") if x], commit)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
