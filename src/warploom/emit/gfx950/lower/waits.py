"""The 16-bit operand of ``s_waitcnt`` on gfx9: vmcnt 6 bits (split), expcnt 3, lgkmcnt 4."""

from __future__ import annotations

from warploom.emit.gfx950.plan import MAX_LGKM_WAIT, MAX_VM_WAIT
from warploom.errors import BackendError

NO_VM = 63
NO_LGKM = 15
NO_EXP = 7


def encode_wait(*, vm: int | None = None, lgkm: int | None = None) -> int:
    """Encode a wait; ``None`` leaves a counter alone. A count that would not wait is refused."""
    for value, limit, name in ((vm, MAX_VM_WAIT, "vmcnt"), (lgkm, MAX_LGKM_WAIT, "lgkmcnt")):
        if value is not None and not 0 <= value <= limit:
            raise BackendError(
                f"{name}({value}) cannot be encoded", fix=f"use a count of 0 to {limit}"
            )
    v = NO_VM if vm is None else vm
    lg = NO_LGKM if lgkm is None else lgkm
    return (v & 15) | (NO_EXP << 4) | (lg << 8) | ((v >> 4) << 14)
