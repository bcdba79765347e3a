"""Mutants of small kernels: does ``check`` find all that an exhaustive explorer calls wrong?

    python bench/check_mutants.py [FOLDER...] [--pairs] [--json results.json] [--seconds N]
                                  [--states N] [--write]

A kernel is a folder with ``kernel.ptx`` (or ``fixed.ptx``) and ``launch.json``; without a folder,
the fixed forms of SyncBench; ``--pairs``: the right forms of ``tests/check/pairs.py``. Every
synchronising instruction is deleted, weakened, moved and doubled; each mutant is explored (every
interleaving, no happens-before) and checked. Results are written after every kernel, and a second
run goes on where the first one stopped. ``--write``: bench/results/check_mutants.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench" / "syncbench")]

from mutants import mutants  # noqa: E402 (SyncBench's generator)
from tests.check.explorer import explore  # noqa: E402

from warploom.check import check  # noqa: E402
from warploom.check.launch import Launch  # noqa: E402
from warploom.errors import WarploomError  # noqa: E402


def kernels(folders: list[Path]) -> list[tuple[str, str, Launch]]:
    """Name, text and launch of every kernel."""
    found = []
    for top in folders or [ROOT / "bench" / "syncbench" / "cases"]:
        for path in sorted(p for p in (top, *top.iterdir()) if p.is_dir()):
            text = next(
                (path / n for n in ("kernel.ptx", "fixed.ptx") if (path / n).exists()), None
            )
            if text is not None and (path / "launch.json").exists():
                found.append((path.name, text.read_text(), Launch.read(path / "launch.json")))
    return found


def pairs() -> list[tuple[str, str, Launch]]:
    """The right forms of the tests' pairs, by the CUDA compiler that is installed."""
    from tests.check.test_pairs import PAIRS, SYNC, launch_of

    from warploom.compiler.cubin import ptx_of

    head = "#define FIXED\n" + SYNC.read_text().replace("#pragma once", "")
    return [
        (f"pair_{n}", ptx_of(f"{head}\n{code}"), Launch.from_json(launch_of(o)))
        for n, (code, o) in PAIRS.items()
        if "wgmma" not in code
    ]


def judge(text: str, launch: Launch, states: int, good: set) -> tuple[str, str]:
    """What the explorer and the checker say of a mutant."""
    try:
        seen = explore(text, launch, most=states)
        bad = seen.wrong or (seen.outcomes and seen.outcomes != good)
        explored = "wrong" if bad else "single" if seen.complete else "bounded"
    except WarploomError:
        explored = "unsupported"
    return explored, check(text, launch).verdict.value


def campaign(name: str, text: str, launch: Launch, states: int, seconds: float) -> list[dict]:
    """One row a mutant; none where the explorer does not know the kernel."""
    try:
        base = explore(text, launch, most=states)
    except WarploomError:
        return []
    if not base.single:
        return []
    never = {
        int(x.split()[1].rstrip(":")) for x in check(text, launch).never_run if x[5:6].isdigit()
    }
    rows, began = [], time.monotonic()
    for line, kind, lines in mutants(text.split("\n")):
        if line in never or time.monotonic() - began > seconds:
            continue
        explored, checked = judge("\n".join(lines), launch, states, base.outcomes)
        rows.append(
            {"kernel": name, "line": line, "kind": kind, "explored": explored, "checked": checked}
        )
    return rows


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("folders", nargs="*", type=Path)
    reader.add_argument("--json", type=Path)
    reader.add_argument("--seconds", type=float, default=60.0, help="of a kernel's mutants")
    reader.add_argument("--states", type=int, default=1500)
    reader.add_argument("--pairs", action="store_true")
    reader.add_argument("--write", action="store_true")
    given = reader.parse_args()
    done = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    for name, text, launch in pairs() if given.pairs else kernels(given.folders):
        if name in done:
            continue
        done[name] = campaign(name, text, launch, given.states, given.seconds)
        if given.json:
            given.json.write_text(json.dumps(done) + "\n")
        missed = [r for r in done[name] if r["explored"] == "wrong" and r["checked"] == "clean"]
        print(f"{name:40} {len(done[name]):4} mutants, {len(missed)} missed", flush=True)
        for r in missed:
            print(f"    line {r['line']}: {r['kind']}", flush=True)
    rows = [r for found in done.values() for r in found]
    table = Counter((r["explored"], r["checked"]) for r in rows)
    print(f"{len(rows)} mutants of {sum(bool(v) for v in done.values())} kernels")
    for (explored, checked), n in sorted(table.items()):
        print(f"  explorer {explored:12} check {checked:12} {n}")
    if given.write:
        (ROOT / "bench" / "results" / "check_mutants.md").write_text(page(done))


VERDICTS = ("clean", "race", "deadlock", "invalid", "unsupported")
NAMES = {
    "wrong": "wrong: ends differ, or none, or broken",
    "single": "one end, all states seen",
    "bounded": "one end so far, more states than the limit",
    "unsupported": "not known to the explorer",
}


def page(done: dict[str, list[dict]]) -> str:
    """The results as a page."""
    rows = [r for found in done.values() for r in found]
    table = Counter((r["explored"], r["checked"]) for r in rows)
    kinds = Counter((r["kind"], r["checked"] != "clean") for r in rows if r["explored"] == "wrong")
    missed = [r for r in rows if r["explored"] == "wrong" and r["checked"] == "clean"]
    lines = [
        "# Mutants of small PTX kernels: explorer and checker",
        "",
        "`python bench/check_mutants.py`, once for SyncBench, with `--pairs`, and for CuTe DSL",
        "kernels (`bench/foreign/cute_kernels.py`), into one file of results; `--write` for this",
        f"page. {len(rows)} mutants of {sum(bool(v) for v in done.values())} kernels: each",
        "synchronising instruction deleted, weakened, moved or doubled. The explorer tries every",
        "interleaving and every moment at which an asynchronous copy can land; it knows no relaxed",
        "memory and no wgmma, so what it does not call wrong may still be.",
        "",
        "| explorer | " + " | ".join(VERDICTS) + " |",
        "|---|" + "---|" * len(VERDICTS),
    ]
    for explored, title in NAMES.items():
        counts = " | ".join(str(table[explored, v]) for v in VERDICTS)
        lines.append(f"| {title} | {counts} |")
    lines += ["", f"Wrong by the explorer and clean by the checker: {len(missed)}.", ""]
    lines += ["| kind | wrong, found | wrong, missed |", "|---|---|---|"]
    for kind in sorted({k for k, _ in kinds}):
        lines.append(f"| {kind} | {kinds[kind, True]} | {kinds[kind, False]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
