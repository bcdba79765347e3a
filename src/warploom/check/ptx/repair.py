"""Repair: the fewest insertions of waits, barriers and fences after which a file is clean.

For the first findings, every insertion that their kind suggests is tried at the places that can
matter: in front of the second access, behind the first, and in front of the synchronising
instructions around them. The one that leaves the fewest findings is kept, until none are left. The
edited file is then checked as any file is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warploom.check.launch import Launch
from warploom.check.ptx.check import check_ptx
from warploom.errors import WarploomError
from warploom.report import CodeFinding, CodeReport

MOST_INSERTIONS = 4
MOST_PLACES = 8
BRANCH_WITHIN = 12  # lines
MOST_STEPS = 200_000  # of a candidate: some never end
_SYNC = re.compile(
    r"^\s*(@!?[\w$%]+\s+)?(bar\.|barrier\.|mbarrier\.arrive|wgmma\.(fence|commit)|atom|red\.|ret;"
    r"|cp\.async\.bulk|st\.(release|relaxed|volatile))"
)
_BRANCH = re.compile(r"^\s*@!?[\w$%]+\s+bra\b")
_FENCE, _WARP, _BLOCK = "fence.proxy.async;", "bar.warp.sync -1;", "bar.sync 0;"
_GROUP = "bar.sync 15, 128;"  # of a warpgroup; compilers take low numbers
_DEVICE = "fence.acq_rel.gpu;"
_PRODUCTS = "wgmma.wait_group.sync.aligned 0;"
_READ, _DONE = "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"
_CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The edited text, what was inserted (line of the new text, instruction), and its report."""

    text: str
    insertions: tuple[tuple[int, str], ...]
    report: CodeReport


def _remedies(finding: CodeFinding) -> tuple[str, ...]:  # noqa: PLR0911 (one case a kind)
    code = finding.code
    if code == "PROXY":
        return (_FENCE,)
    if code.endswith("-LANES"):
        return (_WARP, _BLOCK)
    if code == "REGISTER-IN-FLIGHT":
        return (_PRODUCTS,)
    if code.endswith("-WGMMA"):
        return (_PRODUCTS, _BLOCK, _GROUP)
    if code == "WGMMA-FENCE":
        return ("wgmma.fence.sync.aligned;",)
    if code.endswith("-CP-ASYNC"):
        return ("cp.async.wait_all;", f"cp.async.wait_all; {_BLOCK}")
    if code in ("BULK-EXIT", "WAR-BULK"):
        return (_READ, _DONE)
    if code.endswith("-BULK"):
        return (_DONE,)
    if code == "GRID-WAIT":
        return ("griddepcontrol.wait;",)
    if code in ("EXIT", "EXITED"):
        return (_CLUSTER,)
    if code == "INVAL":
        return (_BLOCK,)
    if code in ("RAW", "WAR", "WAW", "INIT"):
        return (_BLOCK, _DEVICE, _WARP, _CLUSTER)
    return ()


def _places(lines: list[str], finding: CodeFinding) -> list[int]:
    """Where something may be inserted, as indices of lines that it comes before."""
    first, last = finding.events[0].line, finding.events[-1].line
    sync = [i for i, line in enumerate(lines) if _SYNC.match(line)]
    # A loop may bring the second access before the first in the file: both ways around each.
    behind = [i for i in sync if i >= first][:MOST_PLACES]
    before = [i for i in sync if i < last][-MOST_PLACES:]
    found = [last - 1, first, *behind, *reversed(before)]
    # In front of the branch that leads one thread there: what all have to execute goes before it.
    for at in found[: 2 + MOST_PLACES]:
        near = [i for i in range(max(at - BRANCH_WITHIN, 0), at) if _BRANCH.match(lines[i])]
        found += near[-1:]
    ends = [i for i, line in enumerate(lines) if re.match(r"\s*ret;", line)]
    if finding.code in ("EXIT", "EXITED", "BULK-EXIT"):
        found = [*ends[:4], *found]
    return list(dict.fromkeys(p for p in found if 0 <= p <= len(lines)))


def repair_ptx(
    text: str, launch: Launch, *, axioms: Mapping[str, bool], file: str = "<source>"
) -> Repair | None:
    """A repaired file, or None where no few insertions make it clean."""
    lines = text.split("\n")
    insertions: list[tuple[int, str]] = []

    def judge(candidate: list[str]) -> CodeReport | None:
        try:
            return check_ptx(
                "\n".join(candidate),
                launch,
                axioms=axioms,
                file=file,
                orders=("forward", "reverse"),
                budget=MOST_STEPS,
            )
        except WarploomError:
            return None

    report = judge(lines)
    for _ in range(MOST_INSERTIONS):
        if report is None or report.unsupported:
            return None
        defects = report.defects()
        if not defects:
            break
        have = (len(defects), sum(f.count for f in defects))
        best: tuple[tuple[int, int], int, str, list[str], CodeReport] | None = None
        for finding in defects[:2]:
            for what in _remedies(finding):
                for at in _places(lines, finding):
                    edited = [*lines[:at], f"\t{what}", *lines[at:]]
                    found = judge(edited)
                    if found is None or found.unsupported:
                        continue
                    rest = found.defects()
                    left = (len(rest), sum(f.count for f in rest))
                    if best is None or left < best[0]:
                        best = (left, at, what, edited, found)
                if best is not None and best[0][0] == 0:
                    break
            if best is not None and best[0][0] == 0:
                break
        if best is None or best[0] >= have:
            return None
        _, at, what, lines, report = best
        insertions = [(n + (n > at), w) for n, w in insertions] + [(at + 1, what)]
    whole = check_ptx("\n".join(lines), launch, axioms=axioms, file=file)
    if not whole.clean:
        return None
    return Repair(text="\n".join(lines), insertions=tuple(sorted(insertions)), report=whole)
