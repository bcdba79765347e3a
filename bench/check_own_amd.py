"""Machine code of the shipped kernels for an AMD chip: clean for every timing, and right?

    python bench/check_own_amd.py [NAME...] [--chip mi355x] [--json FILE] [--write]

Every kernel is compiled for the chip as ``warploom check KERNEL --on CHIP`` does; one launch with
ragged ends and enough steps for its pipelined loops is checked and compared with the reference.
Results are kept after every kernel; a second run goes on where the first one stopped. ``--write``:
bench/results/check_own_amd.md. Nothing of this runs on a chip.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from warploom.axioms import resolve
from warploom.check.amdgcn import check_amdgcn
from warploom.cli.kernels import kernel_names
from warploom.cli.knobs import Request
from warploom.cli.run import for_chip
from warploom.codegen.amdgcn.tile_ir.execute import launch_of
from warploom.codegen.amdgcn.tile_ir.trial import PADDING, compare
from warploom.errors import WarploomError
from warploom.ir.tile import Access

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "bench" / "results" / "check_own_amd.md"


def measure(name: str, chip: str) -> dict[str, object]:
    """One row."""
    began = time.process_time()
    try:
        _, made, case = for_chip(name, Request(), None, [], chip)
        kernel = made.simplified
        zeros = {t.name: np.zeros(1) for t in kernel.tensors if t.access is Access.OUT}
        padding = PADDING[-1]
        launch = launch_of(
            made.sidecar, case.inputs, case.scalars, sizes=case.sizes, initial=zeros,
            padding=padding,
        )  # fmt: skip
        assert launch is not None
        report = check_amdgcn(made.assembly, launch, axioms=resolve(None), file=name)
        errors = compare(kernel, made.assembly, made.sidecar, case, padding=padding)
    except WarploomError as error:
        return {"verdict": "refused", "why": error.what}
    worst = max(errors, key=lambda e: e[0] / e[1] if e[1] else e[0])
    return {
        "verdict": report.verdict.value,
        "right": all(e <= a for e, a in errors),
        "error": worst[0],
        "allowed": worst[1],
        "sizes": dict(case.sizes),
        "pipelined": len(made.program.schedules),
        "assumes": [a.split(":")[0] for a in report.assumes if "=" in a.split(":")[0]],
        "off": next(
            (a.rpartition("the verdict is ")[2].rstrip(".") for a in report.assumes
             if a.startswith("vm_order")), "",
        ),
        "instructions": report.figures.get("instructions", 0),
        "why": (report.unsupported or report.error or "; ".join(f.code for f in report.defects())),
        "seconds": round(time.process_time() - began, 1),
    }  # fmt: skip


def written(found: dict[str, dict[str, object]], chip: str) -> str:
    """The page."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True,
        cwd=ROOT,
    ).stdout.strip()  # fmt: skip
    good = sum(r["verdict"] == "clean" and bool(r["right"]) for r in found.values())
    lines = [
        f"# Machine code of the shipped kernels for {chip}, checked",
        "",
        f"`bench/check_own_amd.py` at {commit}, {datetime.now(UTC).date()}: {good} of {len(found)} "
        "kernels clean for every timing of the launch and equal to",
        "`reference` within rounding, by the machine of `check`. Nothing here ran on a chip.",
        "",
        "| kernel | sizes | verdict | without `vm_order` | error (allowed) | pipelined loops | "
        "wave instructions | axioms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, r in found.items():
        if r["verdict"] == "refused":
            lines.append(f"| {name} | | {r['why']} | | | | | |")
            continue
        sizes = ", ".join(f"{a} {n}" for a, n in r["sizes"].items())  # type: ignore[attr-defined]
        verdict = f"{r['verdict']}{'' if r['right'] else ', WRONG'} {r['why']}".strip()
        lines.append(
            f"| {name} | {sizes} | {verdict} | {r['off']} | {r['error']:.2e} ({r['allowed']:.2e}) "
            f"| {r['pipelined']} | {r['instructions']} | {', '.join(r['assumes'])} |"  # type: ignore[arg-type]
        )
    lines += [
        "",
        "`grouped_scattered` adds rows to rows that the random case names several times: without",
        "atomics of bf16 this is a race of the launch, not of the schedule; distinct rows were not",
        "tried here.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--chip", default="mi355x")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    for name in given.names or kernel_names():
        if name not in found:
            found[name] = measure(name, given.chip)
            print(name, found[name], flush=True)
            if given.json:
                given.json.write_text(json.dumps(found))
    if given.write:
        TABLE.write_text(written(found, given.chip))


if __name__ == "__main__":
    main()
