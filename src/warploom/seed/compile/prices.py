"""In whose cycles a schedule is ordered: those of its target's machine, or its ops' own model.

A kernel of known shape on a chip is ordered, guarded and shown in the chip's cycles. Without a
shape nobody knows what an op stands for, and the latencies of the cost model count, under its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.document.counters import Counters
from warploom.document.kinds import OpRole
from warploom.document.machine import MachineCosts
from warploom.document.ops import OpDesc
from warploom.seed.compile.hooks import Hooks
from warploom.seed.compile.result import counters
from warploom.sim.chip import body_costs, is_chip
from warploom.target.mi355x import WAVE_BYTES
from warploom.target.occupancy import OccupancyModel
from warploom.target.seed_model import NAME as SEED


def own_machine(schedule: Hooks, body: Sequence[OpDesc]) -> MachineCosts | None:
    """The target's machine; the chip's costs for a kernel of known shape on it; else None."""
    if schedule.machine is not None:
        return schedule.machine
    if schedule.shape is None or not is_chip(schedule.target_name):
        return None
    config = schedule.config()
    units = counters(config, schedule.schedule_config())
    tiles = max(1, config.num_partitions)
    return body_costs(schedule.shape, body, tiles, waves_of(schedule), units)


def model_name(schedule: Hooks, machine: MachineCosts | None) -> str:
    """The name of the model a schedule is ordered in."""
    if machine is not None:
        return machine.name
    return SEED if is_chip(schedule.target_name) else f"{schedule.target_name} model"


def waves_of(schedule: Hooks) -> int:
    """Waves of a workgroup."""
    protocol = schedule.protocol(0)
    return protocol.groups * protocol.waves_per_group


def in_cycles_of(
    machine: MachineCosts | None, schedule: Hooks, body: Sequence[OpDesc]
) -> tuple[OpDesc, ...]:
    """The body with latencies of the machine; as it is without one."""
    if machine is None:
        return tuple(body)
    units = counters(schedule.config(), schedule.schedule_config())
    return priced(body, units, machine, waves_of(schedule))[0]


def priced(
    body: Sequence[OpDesc], units: Counters, machine: MachineCosts, waves: int
) -> tuple[tuple[OpDesc, ...], OccupancyModel]:
    """The body in the machine's cycles, and how long each op holds its unit and its stream.

    All waves run the same ops, so a unit they share is held once for each of them.
    """
    ops: list[OpDesc] = []
    hold: dict[int, int] = {}
    issue: dict[int, int] = {}
    sharing = -(-waves // machine.simds)
    for op in body:
        if op.role in (OpRole.SYNC, OpRole.FENCE, OpRole.NONE):
            ops.append(op)
            continue
        timing = machine.timing(op)
        count = max(1, _instructions(op, units))
        kind = machine.unit_kind(op)
        servers = waves if machine.unit(kind).shared else sharing
        hold[op.tag] = max(hold.get(op.tag, 0), count * timing.occupancy * servers)
        issue[op.tag] = max(issue.get(op.tag, 0), count * timing.issue)
        ops.append(replace(op, latency=timing.latency + (count * servers - 1) * timing.occupancy))
    bytes_ = max(units.vm_per_load) * waves * WAVE_BYTES
    model = OccupancyModel(by_tag=hold, issue_by_tag=issue, buffer_bytes=max(1, bytes_))
    return tuple(ops), model


def _instructions(op: OpDesc, units: Counters) -> int:
    channel = min(max(op.channel, 0), 1)
    if op.role is OpRole.GLOBAL_LOAD:
        return units.vm_per_load[channel]
    if op.role in (OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE):
        return units.lgkm_per_load[channel]
    return 1
