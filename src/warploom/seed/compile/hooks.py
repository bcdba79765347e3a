"""What a schedule's hooks return, judged before anything is made of it."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.counters import KernelShape, Protocol
from warploom.document.fields import all_of, instance, member
from warploom.document.machine import MachineCosts
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.errors import ConfigError
from warploom.seed.blocks.program import PipelineProgram
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.sync.policy import SyncPolicy


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

    def config(self) -> PipelineConfig:
        """The pipeline structure; its buffers fit the target's storage."""
        config = self._schedule.config()
        instance(config, PipelineConfig, "config()", self._owner)
        if self.machine is not None and self.shape is not None:
            m, n, k = self.shape.tile
            need = config.depth * (m + n) * k * (1 if self.shape.dtype == "fp8" else 2)
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
        return list(fragments)

    def protocol(self, stagger_index: int) -> Protocol:
        """How the kernel consumes the phases."""
        protocol = self._schedule.protocol(stagger_index)
        instance(protocol, Protocol, "protocol()", self._owner)
        return protocol
