"""Op tags of the shipped kernels, as enums with names."""

from __future__ import annotations

from enum import IntEnum


class PingPongOps(IntEnum):
    """Ops of the ping-pong kernel."""

    LOAD_A = 0
    LOAD_B = 1
    COMPUTE = 2
    MMA_LOAD_A = 3
    MMA_LOAD_B = 4
    MMA = 5


class FourWaveOps(IntEnum):
    """Ops of the 4-wave kernel; the same numbers as ping-pong."""

    LOAD_A = 0
    LOAD_B = 1
    COMPUTE = 2
    MMA_LOAD_A = 3
    MMA_LOAD_B = 4
    MMA = 5


class DefaultMatmulOps(IntEnum):
    """Ops of the single-buffer kernel."""

    LOAD_DRAM = 0
    STORE_SMEM = 1
    LOAD_FRAG = 2
    COMPUTE = 3
