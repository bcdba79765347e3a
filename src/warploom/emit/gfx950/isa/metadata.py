"""Register, LDS and spill numbers from the metadata LLVM writes after a kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warploom.errors import BackendError

_FIELDS = {
    "vgprs": "vgpr_count",
    "agprs": "agpr_count",
    "sgprs": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "lds_bytes": "group_segment_fixed_size",
    "scratch_bytes": "private_segment_fixed_size",
    "kernarg_bytes": "kernarg_segment_size",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What the compiled kernel really takes. ``vgprs`` counts AGPRs in, as the hardware does."""

    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int

    @property
    def spills(self) -> int:
        """Spilled registers of both kinds."""
        return self.vgpr_spills + self.sgpr_spills


def read_resources(text: str) -> Resources:
    """Read the metadata of an assembly file with one kernel."""
    found: dict[str, int] = {}
    for field, key in _FIELDS.items():
        match = re.search(rf"\.{key}:\s+(\d+)", text)
        if match is None:
            raise BackendError(
                f"the assembly has no .{key}",
                fix="give the whole file LLVM wrote, with its .amdgpu_metadata section",
            )
        found[field] = int(match[1])
    return Resources(**found)
