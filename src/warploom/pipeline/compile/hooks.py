"""What a schedule's hooks return, checked first, and in whose cycles it is ordered.

A kernel of known shape on a chip is ordered, guarded and shown in the chip's cycles. Without a
shape nobody knows what an op stands for, and the latencies of the cost model count, under its name.
"""

from collections.abc import Sequence
from dataclasses import replace

from warploom.errors import ConfigError
from warploom.ir.counter_dialect import Counters, KernelShape, Protocol
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, ScheduleEntry
from warploom.ir.validation import all_of, instance, member
from warploom.pipeline.amd_target.geometry import PLAIN
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.compile.result import counters
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import ScheduleConfig, warn_no_effect
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.sim.chip import body_costs, is_chip
from warploom.targets.mi355x import MICROSCALED, WAVE_BYTES
from warploom.targets.occupancy import OccupancyModel
from warploom.targets.seed_model import NAME as SEED

_OF_BLOCKS = ("build_explicit_blocks", "bootstrap_frags")
_SHIPPED = PipelineSchedule.__module__.partition(".")[0] + "."


class Hooks:
    """A schedule's hooks by their names; a value of the wrong type raises ``ConfigError``."""

    def __init__(self, schedule: PipelineSchedule) -> None:
        instance(schedule, PipelineSchedule, "schedule", "compile_schedule")
        self._schedule = schedule
        self._owner = type(schedule).__name__
        self.name, self.target_name = schedule.name, schedule.target_name
        instance(self.name, str, "name", self._owner)
        instance(self.target_name, str, "target_name", self._owner)
        self.shape: KernelShape | None = schedule.shape
        if self.shape is not None:
            instance(self.shape, KernelShape, "shape", self._owner)
        self.machine: MachineCosts | None = getattr(
            getattr(schedule, "target", None), "machine", None
        )
        self.forced_settings = tuple(schedule.forced_settings)

    def warn_of_unused(self, *, by_interval: bool) -> None:
        """Warn about hooks that a schedule overrides and that its path never calls."""
        deep = self.config().depth >= 2
        unused = {"transform_kernel": "phases come from the blocks; override build_explicit_blocks"}
        if by_interval:
            why = "this strategy derives its own phases"
            unused = dict.fromkeys(("transform_kernel", *_OF_BLOCKS), why)
        elif not deep:
            unused = dict.fromkeys(
                _OF_BLOCKS, "a single buffer has no blocks; override transform_kernel"
            )
        for name, reason in unused.items():
            hook = getattr(type(self._schedule), name)
            shipped = by_interval and hook.__module__.startswith(_SHIPPED)  # for its usual order
            if hook is not getattr(PipelineSchedule, name) and not shipped:
                warn_no_effect(f"{self._owner}.{name}()", reason)

    def config(self) -> PipelineConfig:
        """The pipeline structure; its buffers fit the target's storage."""
        config = self._schedule.config()
        instance(config, PipelineConfig, "config()", self._owner)
        if self.machine is not None and self.shape is not None:
            m, n, k = self.shape.tile
            bits = (PLAIN | MICROSCALED).get(self.shape.dtype, 16)
            need = config.depth * (m + n) * k * bits // 8
            self.machine.require_storage(need, f"{config.depth} buffer(s) of {m}x{n}x{k}")
        return config

    def schedule_config(self) -> ScheduleConfig:
        """The knobs."""
        config = self._schedule.schedule_config()
        instance(config, ScheduleConfig, "schedule_config()", self._owner)
        return config

    def sync_policy(self) -> SyncPolicy:
        """Who decides waits and barriers."""
        policy = self._schedule.sync_policy()
        member(policy, SyncPolicy, "sync_policy()", self._owner)
        return policy

    def build_body(self) -> tuple[OpDesc, ...]:
        """The body's ops."""
        body = self._schedule.build_body()
        all_of(body, OpDesc, "build_body()", self._owner)
        if not body:
            raise ConfigError(
                "the loop body has no op",
                where=f"{self._owner}.build_body()",
                fix="declare loads, fragment loads and MMAs",
            )
        return tuple(body)

    def derive_edges(self, body: Sequence[OpDesc]) -> tuple[DepEdge, ...]:
        """The dependence edges."""
        edges = self._schedule.derive_edges(body)
        all_of(edges, DepEdge, "derive_edges()", self._owner)
        return tuple(edges)

    def transform_kernel(
        self, kernel: Sequence[ScheduleEntry], body: Sequence[OpDesc]
    ) -> list[ScheduleEntry]:
        """The kernel's entries after the schedule has looked at them."""
        entries = self._schedule.transform_kernel(kernel, body)
        all_of(entries, ScheduleEntry, "transform_kernel()", self._owner)
        return list(entries)

    def build_explicit_blocks(
        self, body: Sequence[OpDesc], program: PipelineProgram
    ) -> list[list[OpDesc]]:
        """Explicit ops per block, or nothing."""
        blocks = self._schedule.build_explicit_blocks(body, program)
        instance(blocks, (list, tuple), "build_explicit_blocks()", self._owner)
        for b, ops in enumerate(blocks):
            all_of(ops, OpDesc, f"build_explicit_blocks()[{b}]", self._owner)
        return [list(ops) for ops in blocks]

    def bootstrap_frags(self) -> list[OpDesc]:
        """Fragment loads at the prologue's end."""
        fragments = self._schedule.bootstrap_frags()
        all_of(fragments, OpDesc, "bootstrap_frags()", self._owner)
        if fragments and not self.schedule_config().partial_prologue_drain:
            warn_no_effect(
                f"{self._owner}.bootstrap_frags()",
                "its fragments are loaded where partial_prologue_drain=True leaves prefetches in "
                "flight",
            )
        return list(fragments)

    def protocol(self, stagger_index: int) -> Protocol:
        """How the kernel consumes the phases."""
        protocol = self._schedule.protocol(stagger_index)
        instance(protocol, Protocol, "protocol()", self._owner)
        return protocol


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
