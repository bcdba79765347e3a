"""Mutants of a PTX file: delete, weaken, move or double each synchronising instruction.

    python bench/syncbench/mutants.py kernel.ptx launch.json [--seconds N]

Instructions that the launch never executes are left out. Prints one line for each mutant that is
still called clean, and a summary. A mutant may be right
(a fence that something else covers); what is printed has to be argued, not counted.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path

from warploom.check import check
from warploom.check.launch import Launch
from warploom.check.ptx.parse import parse
from warploom.check.ptx.program import link

SYNC = re.compile(
    r"^\s*(@!?[\w$%]+\s+)?"
    r"(bar\.|barrier\.|fence\.|membar\.|mbarrier\.(?:arrive|expect_tx|inval|try_wait|test_wait)"
    r"|wgmma\.(?:fence|commit_group|wait_group)|cp\.async\.(?:wait|commit|mbarrier)"
    r"|cp\.async\.bulk\.(?:wait|commit))"
)
WAIT = re.compile(r"mbarrier\.(?:try|test)_wait[^\s]*\s+([\w$%]+)\s*,")


def mutants(  # noqa: C901, PLR0912 (one case a kind of mutant)
    lines: list[str],
) -> list[tuple[int, str, list[str]]]:
    """Line, kind and text of every mutant."""
    found = []
    for at, line in enumerate(lines):
        if not SYNC.match(line):
            continue
        ways: dict[str, str] = {}
        wait = WAIT.search(line)
        if wait:
            ways["delete"] = f"setp.eq.u32 {wait[1]}, 0, 0;"
            last = re.search(r",\s*([\w%$]+)\s*(,\s*[\w%$]+\s*)?;", line)
            if last and last[1] in ("0", "1"):
                ways["parity"] = line[: last.start(1)] + str(1 - int(last[1])) + line[last.end(1) :]
        else:
            ways["delete"] = ""
            if not re.search(r"wait|inval", line):
                ways["double"] = line + "\n" + line
        count = re.search(r"wait_group(?:\.\w+)*\s+(\d+)", line)
        if count:
            ways["weaken"] = line[: count.start(1)] + str(int(count[1]) + 1) + line[count.end(1) :]
        for strong in (".release", ".acquire", ".acq_rel"):
            if strong in line and ("mbarrier." in line or "barrier.cluster" in line):
                ways["relax"] = line.replace(strong, ".relaxed")
        for kind, text in ways.items():
            found.append((at + 1, kind, [*lines[:at], text, *lines[at + 1 :]]))
        if not wait:
            for step, kind in ((1, "later"), (-1, "earlier")):
                to = at + step
                while 0 < to < len(lines) - 1 and (
                    not lines[to].strip() or lines[to].strip().startswith((".loc", "//"))
                ):
                    to += step
                for _ in range(12):  # past arithmetic, to the next access or synchronisation
                    if re.search(r"ld\.|st\.|cp\.|mma|atom|red\.|:$|bra|[{}]", lines[to]):
                        break
                    to += step
                if re.search(r":\s*$|bra|[{}]", lines[to]) or SYNC.match(lines[to]):
                    continue
                rest = [*lines[:at], "", *lines[at + 1 :]]
                rest.insert(to + (step > 0), line)
                found.append((at + 1, kind, rest))
    return found


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("ptx", type=Path)
    reader.add_argument("launch", type=Path)
    reader.add_argument("--seconds", type=float, default=240)
    reader.add_argument("--kinds", default="delete,weaken,relax,parity,double,earlier,later")
    given = reader.parse_args()
    lines = given.ptx.read_text().split("\n")
    launch = Launch.read(given.launch)
    began, seen, missed = time.perf_counter(), Counter(), Counter()
    before = check("\n".join(lines), launch, orders=("forward",))
    program = link(parse("\n".join(lines)), launch.entry)
    ran = {i.line for i in program.instrs}
    ran -= {int(re.match(r"line (\d+)", n)[1]) for n in before.never_run}
    todo = mutants(lines)
    for line, kind, text in todo:
        if kind not in given.kinds.split(",") or line not in ran:
            continue
        if time.perf_counter() - began > given.seconds:
            print("stopped: time is up")
            break
        report = check("\n".join(text), launch, orders=("forward",))
        seen[kind] += 1
        if report.verdict.value == "clean":
            missed[kind] += 1
            print(f"{kind:8} line {line}: {lines[line - 1].strip()[:100]}")
    total, left = sum(seen.values()), sum(missed.values())
    parts = ", ".join(f"{k} {seen[k] - missed[k]}/{seen[k]}" for k in sorted(seen))
    unchanged = before.verdict.value
    print(f"{given.ptx}: {total - left} of {total} noticed ({parts}); unchanged: {unchanged}")


if __name__ == "__main__":
    main()
