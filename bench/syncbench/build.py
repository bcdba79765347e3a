"""Compile the cases: each ``nvidia/NAME.cu`` to ``cases/NAME/wrong.ptx`` and ``fixed.ptx``.

Needs nvcc. The PTX is kept in the repository, so that running the cases needs no compiler.

    python bench/syncbench/build.py [NAME...]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def compile_case(name: str, fixed: bool) -> str:
    source = HERE / "nvidia" / f"{name}.cu"
    out = HERE / "cases" / name / f"{'fixed' if fixed else 'wrong'}.ptx"
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "nvcc", "-std=c++17", "-O3", "-ptx", "-lineinfo", f"-I{HERE / 'nvidia'}",
        "-gencode=arch=compute_90a,code=compute_90a", "-o", str(out), str(source),
    ]  # fmt: skip
    if fixed:
        command.append("-DFIXED")
    subprocess.run(command, check=True, capture_output=True)
    text = out.read_text()
    # Only what a reader of the case needs: no debug sections, file names without folders.
    text = re.sub(r'(\.file\s+\d+ )"[^"]*/([^"/]+)"[^\n]*', r'\1"\2"', text)
    text = re.sub(r"\n\t?\.section[^{]*\{.*?\n\t?\}", "", text, flags=re.DOTALL)
    out.write_text(text)
    return text


def main() -> None:
    cases = json.loads((HERE / "cases.json").read_text())
    for case in cases:
        if case["target"] != "sm_90a" or (sys.argv[1:] and case["name"] not in sys.argv[1:]):
            continue
        for fixed in (False, True):
            compile_case(case["name"], fixed)
        launch = HERE / "cases" / case["name"] / "launch.json"
        launch.write_text(json.dumps(case["launch"], indent=1) + "\n")


if __name__ == "__main__":
    main()
