"""Solve, verify and write the Hopper schedules that ship with the package.

python scripts/ship_hopper.py                     write all
python scripts/ship_hopper.py --only attention    write those whose names start so
python scripts/ship_hopper.py --check             say whether the shipped ones are still derived
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warploom.document.roles import RolesDocument
from warploom.document.roles_json import write_roles
from warploom.hopper import GemmKernel
from warploom.hopper.attention import AttentionKernel
from warploom.hopper.solve import derive_attention, derive_gemm
from warploom.launch.shipped import SHIPPED, SHIPPED_ATTENTION
from warploom.verify.roles import require_clean

DATA = Path(__file__).parent.parent / "src" / "warploom" / "launch" / "data"


def derive(kernel: GemmKernel | AttentionKernel) -> RolesDocument:
    """The document of a kernel."""
    if isinstance(kernel, AttentionKernel):
        return derive_attention(kernel)
    return derive_gemm(kernel)


def main() -> int:
    """Write or check every shipped schedule."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--only", default="", help="names that start so")
    arguments = parser.parse_args()
    changed = 0
    for kernel in (*SHIPPED, *SHIPPED_ATTENTION):
        if not kernel.name.startswith(arguments.only):
            continue
        document = derive(kernel)
        report = require_clean(document)
        text, path = write_roles(document), DATA / f"{kernel.name}.json"
        same = path.exists() and path.read_text() == text
        changed += not same
        proof = document.proof
        assert proof is not None
        print(
            f"{kernel.name}: II {proof.ii} (proven {proof.proven}), needs {proof.least_depths}, "
            f"{document.rings[0].depth} stages, {report.sequences} sequences, "
            f"{'unchanged' if same else 'changed'}"
        )
        if not arguments.check:
            path.write_text(text)
    return changed if arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
