"""What the emulator raises when the code does something no timing makes right."""

from __future__ import annotations

from warploom.errors import BackendError


class EmulationError(BackendError):
    """The emulated kernel faulted: a wild access, a barrier mismatch, an unknown instruction."""
