"""Costs of machines, and which of them a run uses.

Two sets are given. ``MachineCosts()`` takes every latency from the op itself, as the compiler
priced it; matrix and vector ops hold their unit for their whole latency. ``mi355x_costs()`` is in
real cycles of the chip, with the source of each number beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from warploom.document.counters import ScheduleDocument
from warploom.document.kinds import OpRole, ResourceKind
from warploom.document.machine import MachineCosts, OpTiming, UnitSpec
from warploom.errors import ConfigError, CostModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOpCost:
    """What an op of a role costs: the unit it holds and for how long."""

    unit: str
    timing: OpTiming


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCosts:
    """Prices of a warp-specialised schedule, by op name.

    The latency of a copy reaches until a waiting role goes on; ``handoff`` is the same for an
    arrival, ``arrive`` what an arrival or announcement costs the role that does it. Units named
    in ``waiting`` make a role that finds them busy stand still; others queue.
    """

    name: str
    ops: tuple[tuple[str, RoleOpCost], ...]
    handoff: int = 0
    arrive: int = 0
    barrier_handoff: int = 0
    waiting: tuple[str, ...] = ()

    def of(self, op: str) -> RoleOpCost:
        """The price of an op."""
        cost = dict(self.ops).get(op)
        if cost is None:
            known = ", ".join(sorted(name for name, _ in self.ops))
            raise CostModelError(
                f"no price for op {op!r}", where=f"RoleCosts({self.name!r})", fix=f"known: {known}"
            )
        return cost


@runtime_checkable
class TargetCosts(Protocol):
    """A target that knows what its machine costs, e.g. a ``TargetProfile``."""

    @property
    def name(self) -> str:
        """How outputs call it."""

    @property
    def machine(self) -> MachineCosts | None:
        """The machine's costs; None: the latencies of the ops themselves."""


def costs_of(
    given: MachineCosts | TargetCosts | None, document: ScheduleDocument | None = None
) -> MachineCosts:
    """Machine costs, of whatever was given; a target without its own has its ops' latencies.

    Where nothing is given, those a document was compiled for.
    """
    if given is None:
        return (document.machine if document else None) or MachineCosts()
    if isinstance(given, MachineCosts):
        return given
    if isinstance(given, TargetCosts):
        return given.machine or MachineCosts(name=f"{given.name} model")
    raise ConfigError(
        f"a {type(given).__name__} has no costs",
        where="costs",
        fix="pass MachineCosts, a target with a machine, or nothing",
    )


_KIB = 1024


def mi355x_costs(
    *,
    mma_cycles: int = 256,
    lds_bytes: int = 128,
    memory_bytes: int = 64,
    mfma_cycles: int | None = None,
) -> MachineCosts:
    """One compute unit of an MI355X in real cycles, for bf16 tiles of 16-byte lanes.

    Nothing here was timed on the chip. What each number rests on:

    - ``mma_cycles``, a quadrant of MFMAs: derived. 2.5 PFLOP/s dense bf16 over 256 compute units
      of 4 SIMDs at 2.4 GHz are 1024 FLOP a clock and SIMD, so ``16x16x32`` takes 16 cycles. The
      ping-pong kernel 256x256x64 has 16 of them in a quadrant of a wave, hence 256; the 4-wave
      kernel of the same tile has 32: pass 512.
    - ``lds_bytes`` a clock read from LDS: assumed as in this project's unit tables; public
      accounts of the chip name 128 and 256. One 64-lane ``ds_read_b128`` moves 1 KiB: 8 cycles.
    - ``memory_bytes`` a clock from the caches into a compute unit: assumed; 16 cycles for 1 KiB.
    - latencies, 128 cycles for LDS and 900 for a loaded memory system: round figures of stall
      models for this family.
    - a wave issues one instruction in 4 cycles (a wave of 64 on 16 lanes); a barrier costs 16,
      assumed.
    - ``mfma_cycles``, of one matrix instruction (16 for ``16x16x32``, 32 for ``32x32x16`` in bf16):
      the stream is free again once the last one of an op has issued, so other instructions issue
      in its shadow. Without it an op holds the stream for all its cycles: a stricter model.
    - vmcnt has 6 bits and lgkmcnt 4 (gfx9 ISA): issuing past 63 and 15 units stalls.
    - 160 KB of LDS, 2.4 GHz: the vendor's documents.
    """
    if min(mma_cycles, lds_bytes, memory_bytes) < 1:
        raise ConfigError("cycles and bytes per cycle must be positive", where="mi355x_costs")
    read = OpTiming(issue=4, occupancy=-(-_KIB // lds_bytes), latency=128)
    load = OpTiming(issue=4, occupancy=-(-_KIB // memory_bytes), latency=900)
    blocked = MachineCosts(
        name="mi355x",
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
        barrier=16,
        sync_issue=4,
        vm_limit=63,
        lgkm_limit=15,
        storage=160 * _KIB,
        clock_hz=2.4e9,
    )
    return blocked if mfma_cycles is None else blocked.with_mfma(mfma_cycles)
