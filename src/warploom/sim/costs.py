"""Costs of machines, and which of them a run uses.

Two sets are given. ``MachineCosts()`` takes every latency from the op itself, as the compiler
priced it; matrix and vector ops hold their unit for their whole latency. ``mi355x_costs()`` is in
real cycles of the chip; ``warploom.targets.mi355x`` says where each number comes from.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from warploom.errors import ConfigError
from warploom.ir.machine_costs import MachineCosts, OpTiming, UnitSpec
from warploom.ir.schedule_ops import OpRole, ResourceKind
from warploom.targets.mi355x import WAVE_BYTES, mi355x


@runtime_checkable
class TargetCosts(Protocol):
    """A target that knows what its machine costs, e.g. a ``TargetProfile``."""

    @property
    def name(self) -> str:
        """How outputs call it."""

    @property
    def machine(self) -> MachineCosts | None:
        """The machine's costs; None: the latencies of the ops themselves."""


def costs_of(given: MachineCosts | TargetCosts) -> MachineCosts:
    """Machine costs, of whatever was given; a target without its own has its ops' latencies."""
    if isinstance(given, MachineCosts):
        return given
    if isinstance(given, TargetCosts):
        return given.machine or MachineCosts(name=f"{given.name} model")
    raise ConfigError(
        f"a {type(given).__name__} has no costs",
        where="costs",
        fix="pass MachineCosts, a target with a machine, or nothing",
    )


def mi355x_costs(
    *,
    mma_cycles: int = 256,
    lds_bytes: int | None = None,
    memory_bytes: int | None = None,
    mfma_cycles: int | None = None,
) -> MachineCosts:
    """One compute unit of an MI355X, for tiles of 16-byte lanes; numbers of ``target.mi355x``.

    ``mma_cycles``: of one compute op, a block of matrix instructions (256 for a quadrant of
    ping-pong 256x256x64 in bf16, 512 for that of the 4-wave kernel). ``mfma_cycles``: of one of
    them, by default 16x16x32; the stream is free again once the last one of an op has issued.
    ``lds_bytes`` and ``memory_bytes`` a cycle replace the table's.
    """
    chip = mi355x()
    lds = chip.lds_rate if lds_bytes is None else lds_bytes
    memory = chip.memory_rate if memory_bytes is None else memory_bytes
    if min(mma_cycles, lds, memory) < 1:
        raise ConfigError("cycles and bytes per cycle must be positive", where="mi355x_costs")
    read = OpTiming(issue=chip.issue, occupancy=-(-WAVE_BYTES // lds), latency=chip.lds_latency)
    load = OpTiming(
        issue=chip.issue, occupancy=-(-WAVE_BYTES // memory), latency=chip.memory_latency
    )
    blocked = MachineCosts(
        name=chip.name,
        by_role=(
            (OpRole.GLOBAL_LOAD, load),
            (OpRole.SHARED_STORE, read),
            (OpRole.FRAGMENT_LOAD, read),
            (
                OpRole.COMPUTE,
                OpTiming(issue=mma_cycles, occupancy=mma_cycles, latency=mma_cycles),
            ),
        ),
        units=(
            (ResourceKind.GLOBAL_MEM, UnitSpec(shared=True)),
            (ResourceKind.LDS, UnitSpec(shared=True)),
            (ResourceKind.MMA_UNIT, UnitSpec(blocking=True)),
            (ResourceKind.VALU, UnitSpec(blocking=True)),
        ),
        simds=chip.simds,
        barrier=chip.barrier,
        sync_issue=chip.issue,
        vm_limit=chip.vm_limit,
        lgkm_limit=chip.lgkm_limit,
        storage=chip.lds_bytes,
        clock_hz=chip.clock_hz,
    )
    usual = min(mma_cycles, chip.mfma_cycles(*chip.usual_mfma("bf16"), "bf16"))
    return blocked.with_mfma(usual if mfma_cycles is None else mfma_cycles)
