"""Repair of missing waits, barriers and wait states: the least insertion, shown clean.

Each finding proposes a few insertions, smallest first. Every one is tried on the whole file and
kept only if fewer defects remain; the result is what ``check`` calls clean, or nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from warploom.check.amdgcn.check import check_amdgcn
from warploom.check.amdgcn.findings import counter_of
from warploom.check.amdgcn.reader import read_kernel
from warploom.check.launch import Launch
from warploom.report import CodeFinding, CodeReport, Verdict

ROUNDS = 24
Edit = tuple[tuple[int, str], ...]  # lines to insert, each before the line of that number


@dataclass(frozen=True, slots=True)
class Repair:
    """A repaired file: what was inserted (line of the original file, text), and its report."""

    text: str
    inserted: Edit
    report: CodeReport

    @property
    def clean(self) -> bool:
        """Whether nothing is left to report."""
        return self.report.verdict is Verdict.CLEAN


def repair(text: str, launch: Launch, *, axioms: dict[str, bool] | None = None) -> Repair:
    """Insert waits, barriers and nops until the launch is clean, or nothing helps any more."""
    lines = text.split("\n")
    edits: list[tuple[int, str]] = []
    report = check_amdgcn(text, launch, axioms=axioms)
    for _ in range(ROUNDS):
        defects = report.defects()
        if not defects or report.unsupported or report.error:
            break
        best: tuple[int, CodeReport, Edit] | None = None
        for edit in _candidates(defects[0], text, _places(lines, edits)):
            trial = check_amdgcn(_applied(lines, [*edits, *edit]), launch, axioms=axioms)
            if trial.unsupported or trial.error:
                continue
            left = _weight(trial)
            if best is None or left < best[0]:
                best = (left, trial, edit)
            if left == 0:
                break
        if best is None or best[0] >= _weight(report):
            break
        _, report, edit = best
        edits += edit
    return Repair(_applied(lines, edits), tuple(sorted(edits)), report)


def _weight(report: CodeReport) -> int:
    """How much is wrong: pairs of lines, each with the number of times it was seen."""
    return sum(1000 + min(f.count, 999) for f in report.defects())


def _applied(lines: list[str], edits: list[tuple[int, str]]) -> str:
    before: dict[int, list[str]] = {}
    for line, inserted in edits:
        before.setdefault(line, []).append(f"\t{inserted}")
    found: list[str] = []
    for number, written in enumerate(lines, 1):
        found += before.get(number, [])
        found.append(written)
    return "\n".join(found)


def _places(lines: list[str], edits: list[tuple[int, str]]) -> list[int]:
    """Line of the original for every line of the edited file; inserted ones point to the next."""
    before: dict[int, int] = {}
    for line, _ in edits:
        before[line] = before.get(line, 0) + 1
    places = [0]
    for number in range(1, len(lines) + 1):
        places += [number] * (before.get(number, 0) + 1)
    return places


def _candidates(finding: CodeFinding, text: str, places: list[int]) -> Iterator[Edit]:
    lines = [places[e.line] for e in finding.events if e.line < len(places)]
    if finding.code in ("register", "wait-states") and len(lines) == 2:
        yield ((lines[1], finding.fix.split(" before line")[0]),)
        return
    if finding.code == "race-global" and len(lines) == 2:
        for place in dict.fromkeys(reversed(lines)):
            yield ((place, "buffer_inv sc1"),)
        return
    if len(lines) != 2 or not finding.code.endswith("-LDS"):
        return
    counter = counter_of(finding.events[0].instruction)
    wait = f"s_waitcnt {counter}(0)"
    if finding.events[0].warp == finding.events[1].warp:
        yield ((lines[1], wait),)
        return
    barriers = [i.line for i in read_kernel(text).instructions if i.mnemonic == "s_barrier"]
    for line in sorted(barriers, key=lambda b: (b > lines[1], abs(b - lines[1])))[:6]:
        yield ((line, wait),)
    earlier, later = sorted(lines)
    first = finding.events[lines.index(earlier)].instruction
    for place in dict.fromkeys((lines[1], later, earlier)):
        yield ((place, "s_barrier"),)
        yield ((place, wait), (place, "s_barrier"))
    wait = f"s_waitcnt {counter_of(first)}(0)"
    yield ((later, wait), (later, "s_barrier"))
    yield ((earlier + 1, wait), (earlier + 1, "s_barrier"))
