"""Solve, verify and write the Hopper schedules that ship with the package.

python scripts/ship_hopper.py            write all
python scripts/ship_hopper.py --check    only say whether the shipped ones are still derived
"""

from __future__ import annotations

import sys
from pathlib import Path

from warploom.interchange.roles import RolesDocument
from warploom.interchange.roles_json import write_roles
from warploom.runtime.shipped import SHIPPED, SHIPPED_ATTENTION
from warploom.schedules.hopper import GemmKernel
from warploom.schedules.hopper.attention import AttentionKernel
from warploom.schedules.hopper.solve import derive_attention, derive_gemm
from warploom.verify.roles import require_clean

DATA = Path(__file__).parent.parent / "src" / "warploom" / "runtime" / "data"


def derive(kernel: GemmKernel | AttentionKernel) -> RolesDocument:
    """The document of a kernel."""
    if isinstance(kernel, AttentionKernel):
        return derive_attention(kernel)
    return derive_gemm(kernel)


def main() -> int:
    """Write or check every shipped schedule."""
    changed = 0
    for kernel in (*SHIPPED, *SHIPPED_ATTENTION):
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
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
    return changed if "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
