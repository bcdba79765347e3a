"""Random role programs, half of them edited, judged by the verifier and by every interleaving.

    python bench/role_oracle.py 0 20000 [results.json]

Prints each disagreement and a line of figures: how many programs, how many wrong by the model
checker, how many too large for it, how many missed, how many false alarms.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.modelcheck.checker import UNDECIDED
from tests.modelcheck.compare import compare

LIMIT = 1_200  # states of one run; beyond it stays undecided


def main(first: int, last: int, results: str | None = None) -> int:
    counts: Counter[str] = Counter(dict.fromkeys(("wrong", "undecided", "missed", "false"), 0))
    start = time.monotonic()
    for seed in range(first, last):
        found = compare(seed, limit=LIMIT)
        counts[found.verdict] += 1
        counts["edited"] += seed % 2
        counts["wrong"] += found.truth not in (None, UNDECIDED)
        counts["undecided"] += found.truth == UNDECIDED
        for name, bad in (("missed", found.missed), ("false", found.false_alarm)):
            counts[name] += bad
            if bad:
                print(name, found, flush=True)
    out = {
        "seeds": [first, last],
        "seconds": round(time.monotonic() - start),
        **dict(sorted(counts.items())),
    }
    print(json.dumps(out))
    if results:
        Path(results).write_text(json.dumps(out, indent=1) + "\n")
    return counts["missed"] + counts["false"]


if __name__ == "__main__":
    a, b, *rest = sys.argv[1:]
    raise SystemExit(bool(main(int(a), int(b), *rest)))
