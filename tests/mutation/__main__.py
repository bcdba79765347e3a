"""``python -m tests.mutation``: mutate schedules, run and judge every mutant, print the score.

Exit status 0 when every defective mutant is found and no harmless one is reported, else 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.mutation.harness import Score, score, table
from tests.mutation.judging import judge_by_verifier
from tests.mutation.subjects import subject, subjects
from warploom.ir import read_schedule, write_schedule
from warploom.ir.counter_dialect import ScheduleDocument


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the harness from the command line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = [n for n in subjects() if any(part in n for part in options.only or [""])]
    if not names or options.every < 1:
        parser.error("nothing to do; subjects: " + "; ".join(subjects()))
    if options.write:
        return _write(Path(options.write), names)
    scores: list[Score] = []
    seen: set[int] = set()
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in names:
            start = time.perf_counter()
            result = score(
                _read(options.documents, name) if options.documents else subject(name),
                judge_by_verifier,
                every=options.every,
                seen=seen,
                explore_limit=options.explore,
                show_witnesses=options.witnesses,
                pool=pool if options.jobs > 1 else None,
            )
            scores.append(result)
            took = f"{time.perf_counter() - start:.0f} s"
            print(f"{name}: {result.distinct} mutants, {took}", file=sys.stderr, flush=True)
            if options.json:
                text = json.dumps([s.to_json() for s in scores], indent=1)
                Path(options.json).write_text(text + "\n", encoding="utf-8")
    print(table(scores))
    for outcome in (o for s in scores for o in s.suspects):
        print(
            f"{outcome.kind}: {outcome.subject}: {outcome.mutant.operator}, {outcome.mutant.where}"
        )
    return int(any(s.suspects for s in scores))


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace(', ', '_').replace(' ', '_')}.json"


def _read(folder: str, name: str) -> ScheduleDocument:
    return read_schedule(_file(Path(folder), name).read_text())


def _write(folder: Path, names: Sequence[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        _file(folder, name).write_text(write_schedule(subject(name)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", action="append", help="subjects whose name contains this text")
    parser.add_argument("--every", type=int, default=1, help="take every n-th mutant")
    parser.add_argument("--explore", type=int, default=0, help="states to explore per mutant")
    parser.add_argument("--witnesses", action="store_true", help="run witnesses of all findings")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work")
    parser.add_argument("--write", help="write the subjects' schedules to this folder, and end")
    parser.add_argument("--documents", help="take the schedules from that folder: no solver")
    parser.add_argument("--json", help="write the figures to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
