"""Clocks of the shipped kernels' loops on an H200, beside what the simulator predicts.

``run`` writes ``results/h200_stamps_NAME.json`` on an H200, ``report`` makes ``h200_stamps.md`` of
them anywhere. ``warploom timeline NAME --format html --stamps FILE`` draws one over its prediction.

    python bench/h200_stamps.py run gemm attention swiglu
    python bench/h200_stamps.py report
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from warploom.cli import gpu
from warploom.cli.kernels import kernel_named
from warploom.cli.problem import make_problem
from warploom.cli.source import load
from warploom.viz.measured import read_stamps

RESULTS = Path(__file__).parent / "results"


def run(names):
    for name in names or ("gemm", "attention", "swiglu"):
        problem = make_problem(kernel_named(name), None, [], timed=True)
        data = gpu.Bound(problem).stamps()
        (RESULTS / f"h200_stamps_{name}.json").write_text(json.dumps(data) + "\n")
        print(name, data["milliseconds"], data["milliseconds_stamped"], flush=True)


def report():
    """A table of intervals, then what each entry of the loops took."""
    rows, parts = [], []
    for path in sorted(RESULTS.glob("h200_stamps_*.json")):
        name, data = path.stem.removeprefix("h200_stamps_"), json.loads(path.read_text())
        stamps = read_stamps(path.read_text())
        subject = load(name)
        if subject.name != stamps.name:
            sys.exit(f"{path} is of {stamps.name}, the kernel is {subject.name} now: run it again")
        predicted = subject.pace().interval
        cost = data["milliseconds_stamped"] / data["milliseconds"] - 1
        rows.append(
            f"| {name} | `{stamps.name}` | {data['problem']} | {predicted:g} | "
            f"{stamps.interval:.0f} | {stamps.interval / predicted - 1:+.1%} | {cost:+.1%} |"
        )
        for role in stamps.roles:
            parts += [f"## {name}, {role.role}", "", "| entry | mean cycles |", "|---|---|"]
            lengths = zip(role.labels, role.lengths(), strict=True)
            parts += [f"| `{label}` | {cycles:.0f} |" for label, cycles in lengths]
            parts.append("")
    head = [
        "# Clocks of the loops on the H200, beside the prediction",
        "",
        f"Written by `bench/h200_stamps.py report` from `h200_stamps_*.json`, measured on "
        f"{data['device']}, {data['date']}. Cycles an iteration; the last column is what writing "
        "clocks costs the whole kernel. An entry's cycles are those from the end of the one before "
        "in its role, so waiting for others is part of them.",
        "",
        "| kernel | schedule | problem | predicted | measured | difference | with clocks |",
        "|---|---|---|---|---|---|---|",
    ]
    text = "\n".join([*head, *rows, "", *parts]).rstrip() + "\n"
    (RESULTS / "h200_stamps.md").write_text(text)


def main():
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif sys.argv[1:] == ["report"]:
        report()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
