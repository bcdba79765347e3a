"""How tiles of a candidate lie, with the choices made that sizes leave alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache

from warploom.errors import GeometryError, KernelError
from warploom.ir.tile import Kernel
from warploom.passes.body import Body, body_of
from warploom.passes.fuse import Step, fuse
from warploom.passes.fuse_chains import join
from warploom.passes.gather import gather_registers
from warploom.passes.kernel_config import KernelConfig, config_of, part_config
from warploom.passes.layout import Layout, lay_out
from warploom.passes.legality import is_narrow
from warploom.passes.loop_ops import takes_turns
from warploom.passes.loops import each_loop
from warploom.passes.smem_budget import (
    ALIGNMENT,
    BARRIER_BYTES,
    STAGING_BYTES,
    ring_depth,
    staged_stores,
)
from warploom.passes.smem_ops import chunks_of
from warploom.targets.h200 import HopperTarget

SPARE_REGISTERS = 24  # addresses, counters and temporaries of a consumer thread
SPARE_TO_HOLD = 40  # what must be left where an operand is to stay in registers
MOST_TOGETHER = 2  # consumers, where they do not take turns
LEAST_STAGES, GOOD_STAGES = 3, 4
GOOD_COPIES = 2  # of a store chunk
IN_FLIGHT = 128 * 1024  # bytes of slots that hide a load where consumers take turns
CHOICES = frozenset(f.name for f in fields(KernelConfig)) - {"tile"}


class Subject:
    """A kernel's loops, and how tiles of the last one lie: whatever the sizes are, so that the
    next ones are chosen for quickly.
    """

    def __init__(self, kernel: Kernel, target: HopperTarget) -> None:
        *self.before, self.body = map(body_of, each_loop(kernel))
        self.target = target
        self.steps = fuse(self.body)
        self.chains = join(self.body, self.steps)  # keep less: for tiles that have no place else
        self._known: dict[tuple[object, ...], Layout | KernelError | GeometryError] = {}
        self._earlier: dict[tuple[object, ...], Layout] = {}

    def settled(
        self,
        extents: dict[str, int],
        consumers: int,
        pins: Mapping[str, object],
        target: HopperTarget,
        *,
        joined: bool,
    ) -> Layout:
        """``_settled`` of a candidate, once."""
        memory = target.limits.smem_per_block  # all that the chip may lack
        key = (*extents.items(), consumers, *pins.items(), memory, joined)
        if key not in self._known:
            steps, pins = (
                (self.chains, {**pins, "fuse_vector_chains": True})
                if joined
                else (self.steps, pins)
            )
            try:
                self._known[key] = _settled(self.body, steps, extents, consumers, pins, target)
            except (KernelError, GeometryError) as error:
                self._known[key] = error.anew()
        result = self._known[key]
        if isinstance(result, Layout):
            return result
        raise result.anew()

    def earlier(
        self,
        body: Body,
        extents: dict[str, int],
        consumers: int,
        pins: Mapping[str, object],
        target: HopperTarget,
    ) -> Layout:
        """A loop before the last one, laid out with the rows and consumers of that one."""
        slots = pins.get("earlier_loop_stages")
        memory = target.limits.smem_per_block
        key = (*extents.items(), consumers, slots, memory, id(body))
        if key not in self._earlier:
            config = config_of(body.kernel, consumer_warpgroups=consumers, **extents)
            if isinstance(slots, int):
                config = replace(config, earlier_loop_stages=slots)
            layout = lay_out(body, part_config(body.kernel, config), fuse(body))
            if layout.rings:
                ring_depth(layout, layout.rings[0], target)
            self._earlier[key] = layout
        return self._earlier[key]


subject_of = lru_cache(maxsize=16)(Subject)


def _settled(
    body: Body,
    steps: tuple[Step, ...],
    extents: dict[str, int],
    consumers: int,
    pins: Mapping[str, object],
    target: HopperTarget,
) -> Layout:
    """The layout of a candidate with the choices made that sizes leave alone; refuses what does
    not fit.
    """
    fixed = {n: v for n, v in pins.items() if n in CHOICES and n != "consumer_warpgroups"}
    config = config_of(body.kernel, consumer_warpgroups=consumers, **extents)
    config = replace(config, **fixed)  # type: ignore[arg-type]
    layout = lay_out(body, config, steps)
    most = _registers(target, config.warpgroups, gather_registers(layout.rings))
    if "a_in_registers" not in pins and _used(layout) + SPARE_TO_HOLD > most:
        layout = again(layout, a_in_registers=False)
    # Where registers are short by choice, or issue times are given, the schedule counts lives.
    if (
        not config.issue_times
        and "reserved_registers" not in pins
        and _used(layout) + SPARE_REGISTERS > most
    ):
        raise GeometryError(
            f"{_used(layout)} registers of values in a thread",
            where=f"config {config.name}",
            why=f"a consumer thread has {most}, of which {SPARE_REGISTERS} are for the rest",
            fix="smaller extents, or more consumers",
        )
    turns, grouped = takes_turns(layout), body.kernel.grid.kind != "tiles"
    if consumers > MOST_TOGETHER and not turns and "consumer_warpgroups" not in pins:
        raise GeometryError(
            f"{consumers} consumers on the tensor cores together",
            where=f"config {config.name}",
            why="two keep them busy, and have more registers each",
            fix="two consumers",
        )
    if "store_from_registers" not in pins and (turns or grouped or _is_narrow(layout)):
        layout = again(layout, store_from_registers=True)
    if "epilogue_stages" not in pins:
        layout = again(layout, epilogue_stages=_staging(layout, target))
    if "stages" not in pins and turns and layout.rings:
        slot = sum(r.bytes for r in layout.rings if not r.per_tile)
        fit = ring_depth(layout, layout.rings[0], target)
        layout = again(layout, stages=min(fit, max(2, IN_FLIGHT // max(1, slot))))
        if layout.config.stages == 1:
            raise GeometryError("one stage hides no load", where=f"config {config.name}")
    if layout.rings:
        ring_depth(layout, layout.rings[0], target)
    return layout


def _is_narrow(layout: Layout) -> bool:
    """Whether some tile is too narrow for copies out."""
    kernel = layout.body.kernel
    return any(
        is_narrow(layout, op.value, kernel.tensor(op.tensor).dtype.bits)
        for op in staged_stores(layout)
    )


def again(layout: Layout, **changes: object) -> Layout:
    """The layout with other choices; of those made late, two change how values lie."""
    config = replace(layout.config, **changes)  # type: ignore[arg-type]
    if changes.keys() & {"a_in_registers", "store_from_registers"}:
        return lay_out(layout.body, config, layout.steps)
    return replace(layout, config=config)


def _registers(target: HopperTarget, consumers: int, low: int) -> int:
    split = target.register_split(consumers, producer=low)  # clusters: less, the schedule counts
    return split[1] if split else target.entry_registers(128 * (consumers + 1))


def pressure(layout: Layout, target: HopperTarget) -> int:
    """Registers of a thread's arrays, less those that a consumer thread has."""
    low = gather_registers(layout.rings)
    return _used(layout) - _registers(target, layout.config.warpgroups, low)


def _used(layout: Layout) -> int:
    return sum(a.registers for a in layout.arrays)


def _staging(layout: Layout, target: HopperTarget) -> int:
    """Copies of a store chunk: two where four stages are left, else all of a tile where three are.

    A fourth stage was worth more than a third copy wherever both were measured.
    """
    stores = staged_stores(layout)
    if not stores:
        return layout.config.epilogue_stages
    chunks = sum(len(chunks_of(layout, op)) for op in stores)
    every = sum(r.bytes + BARRIER_BYTES for r in layout.rings if not r.per_tile)
    once = sum(r.bytes + BARRIER_BYTES for r in layout.rings if r.per_tile)
    left = target.limits.smem_per_block - ALIGNMENT - once
    copy = STAGING_BYTES * layout.config.warpgroups
    if layout.config.pingpong > 1 and every:  # nobody waits for stores: what slots leave
        return max(1, min(GOOD_COPIES, (left - (left - copy) // every * every) // copy))
    fit = [(left - stages * every) // copy for stages in (GOOD_STAGES, LEAST_STAGES)]
    return max(1, min(4, chunks, fit[0] if fit[0] >= GOOD_COPIES else fit[1]))
