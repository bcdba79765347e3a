"""Random programs, examined by the verifier and by an exploration that shares nothing with it.

    python bench/oracles.py roles 0 20000 [--jobs 8] [--seconds 600] [--json FILE]
    python bench/oracles.py counters 0 20000
    python bench/oracles.py sequences 0 20000
    python bench/oracles.py attacks 0 20000
    python bench/oracles.py larger 0 5000
    python bench/oracles.py exchanges 0 5000
    DOCUMENTS=FOLDER python bench/oracles.py shipped 0 5000
    python bench/oracles.py structure 0 3000
    python bench/oracles.py modules 0 3000
    python bench/oracles.py modulo 1000 3000
    python bench/oracles.py roles 2000000 2020000 --resume bench/results/oracles_roles.jsonl

``roles``: small role programs, every second one edited, against every interleaving
(``tests/modelcheck``). ``counters``: counter schedules, every second one with loads written twice,
against the executor's complete exploration. ``sequences``: rings of up to 24 slots and random
sequences of tiles, against runs with one step after the other held back. ``attacks``: the
hand-made right documents of every class that was once judged wrongly, edited up to three times,
against the same runs. ``larger``: deep rings and clusters, edited up to three times, against random
runs. ``exchanges``: how CTAs meet in global memory, edited up to four times, against every
interleaving. ``shipped``: schedules of the shipped kernels (of
`bench/role_mutants.py --write FOLDER`), edited up to three times, against random runs.
``structure``: shipped schedules with consistent edits of several places (``tests/mutation``).
``modules``: kernel modules whose indices, predicates, coordinates and tile schedules are edited, in
one place or in all, against executions. ``modulo``: bodies with distances, values, budgets, roles
and isolation, solved and enumerated (``tests/modulo/full_oracle.py``). Prints each disagreement,
and the figures.

With ``--resume FILE`` every finished range of seeds is a line of the file, with the commit that was
judged; ranges that it holds are not judged again, and the figures are those of all its lines.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

LIMIT = 8_000  # states of one run of a role program; beyond it stays undecided
CHUNK = 50


def roles(seed: int) -> tuple[str, str]:
    from tests.modelcheck.checker import UNDECIDED
    from tests.modelcheck.compare import MIXED, compare

    found = compare(seed, limit=LIMIT if seed < MIXED else 1_000)
    if found.missed or found.false_alarm:
        return "missed" if found.missed else "false", found.verdict
    kinds = {None: "right", UNDECIDED: "undecided"}
    return kinds.get(found.truth, "wrong"), found.verdict


def counters(seed: int) -> tuple[str, str]:
    from tests.verify.test_duplicates import compare

    return compare(seed)


def larger(seed: int) -> tuple[str, str]:
    from tests.modelcheck.larger import compare

    return compare(seed)


def modulo(seed: int) -> tuple[str, str]:
    from tests.modulo.test_full_oracle import judge

    try:
        return "right", judge(seed) or "means nothing"
    except AssertionError as error:
        return "missed", str(error)


def shipped(seed: int) -> tuple[str, str]:
    from tests.modelcheck.larger import compared, drawn_of_shipped

    return compared(seed, *drawn_of_shipped(seed, os.environ.get("DOCUMENTS", "")))


def exchanges(seed: int) -> tuple[str, str]:
    from tests.modelcheck.exchanges import compare

    return compare(seed, LIMIT)


def sequences(seed: int) -> tuple[str, str]:
    from tests.modelcheck.sequences import compare

    return compare(seed)


def attacks(seed: int) -> tuple[str, str]:
    from tests.modelcheck.attacks import compare

    return compare(seed)


def structure(seed: int) -> tuple[str, str]:
    from tests.mutation.structure_mutants import compare

    return compare(seed)


def modules(seed: int) -> tuple[str, str]:
    from tests.ir.random_mutants import compare

    return compare(seed)


KINDS = {
    "modules": modules,
    "structure": structure,
    "sequences": sequences,
    "attacks": attacks,
    "shipped": shipped,
    "exchanges": exchanges,
    "roles": roles,
    "counters": counters,
    "larger": larger,
    "modulo": modulo,
}


def judged(kind: str, seeds: range, until: float) -> tuple[Counter[str], list[str]]:
    """The figures of some seeds; those after the deadline are not judged."""
    counts: Counter[str] = Counter()
    disputes = []
    for seed in seeds:
        if time.time() > until:
            break
        truth, verdict = KINDS[kind](seed)
        counts.update(("judged", f"{truth} by exploration", f"verdict {verdict}"))
        counts["edited or doubled"] += seed % 2
        if truth in ("missed", "false"):
            disputes.append(f"{truth}: {kind} seed {seed}, verdict {verdict}")
    return counts, disputes


def commit() -> str:
    """The commit that is judged; with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    root = Path(__file__).resolve().parent.parent
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    ).stdout.strip()


def kept(path: str, kind: str) -> list[dict]:
    """The ranges that a file of results holds already."""
    if not path or not Path(path).exists():
        return []
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def told_so_far(given, start, counts, disputes):
    return {
        "script": "bench/oracles.py",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "kind": given.kind,
        "seeds": [given.first, given.last],
        "limit": LIMIT,
        "seconds": round(time.time() - start),
        "counts": dict(sorted(counts.items())),
        "disputes": disputes,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=86_400)
    parser.add_argument("--json", default="")
    parser.add_argument("--resume", default="")
    given = parser.parse_args()
    start, judging = time.time(), commit()
    counts: Counter[str] = Counter()
    disputes: list[str] = []
    done = kept(given.resume, given.kind)
    for line in done:
        counts.update(line["counts"])
        disputes += line["disputes"]
    held = {(line["first"], line["last"]) for line in done}
    ranges = [
        range(first, min(first + CHUNK, given.last))
        for first in range(given.first, given.last, CHUNK)
    ]
    out = told_so_far(given, start, counts, disputes)
    with ProcessPoolExecutor(given.jobs) as pool:
        parts = {
            pool.submit(judged, given.kind, seeds, start + given.seconds): seeds
            for seeds in ranges
            if (seeds.start, seeds.stop) not in held
        }
        for part in as_completed(parts):
            more, told = part.result()
            counts += more
            disputes += told
            if given.resume and more["judged"] == len(parts[part]):
                line = {"kind": given.kind, "first": parts[part].start, "last": parts[part].stop}
                line |= {"commit": judging, "counts": dict(more), "disputes": told}
                with Path(given.resume).open("a") as file:
                    file.write(json.dumps(line) + "\n")
            print("\n".join(told), end="\n" if told else "", flush=True)
            out = told_so_far(given, start, counts, disputes)
            if given.json:
                Path(given.json).write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))
    return bool(disputes)


if __name__ == "__main__":
    raise SystemExit(main())
