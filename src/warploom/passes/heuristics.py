"""Tile: extents, consumers, stages and staging of a kernel, ranked by what they should take.

Candidates follow from the shapes of the kernel's products and the chip's budgets of registers and
shared memory; each is laid out, and what has no place drops out. A candidate's time is the number
of rounds times the iterations of a tile times the interval the units allow, with head and tail of a
tile; long dense kernels run at the power cap, so joules of products and bytes count too.

What the author pins (``kernel.with_config(m=128, stages=4)``) is not varied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, GeometryError, KernelError
from warploom.ir.tile import Dot, Kernel, Load, Walk
from warploom.passes.body import Body, only_products
from warploom.passes.candidate_layout import CHOICES, again, pressure, subject_of
from warploom.passes.cost_model import GROUP_ROWS, Estimate, crosses_lines, estimate, trips_of
from warploom.passes.kernel_config import KernelConfig, check_choices
from warploom.passes.layout import Layout
from warploom.passes.legality import any_order, check_allowed, why_no_pace
from warploom.passes.loop_bounds import cut_of
from warploom.passes.multicast import check_cluster
from warploom.passes.shapes import MOST_SCORES, extents_of, shapes
from warploom.passes.smem_budget import less_memory, ring_depth
from warploom.passes.smem_layout import list_of
from warploom.passes.split_k import check_near, part_bytes
from warploom.passes.tile_order import differ, tiles_of
from warploom.targets.h200 import HopperTarget, h200

LEAST_TRIPS = 4  # iterations of a part of a loop that is worth a CTA
MOST_PARTS = 64
PACE = 16  # iterations after which CTAs wait for one another, where they share what they read
FAR = 1024  # iterations of a CTA in which they drift apart
SIDE = 4  # of the squares of tiles that neighbours take
SPLITS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
CLUSTERS = (2,)  # CTAs that fetch together: of four, a tenth of the SMs stays empty
ASSUMED, ASSUMED_UNITS = 4096, 16  # sizes of axes that are not stated
ROOMY = 128  # elements of an axis that leave all extents to choose from
ALTERNATE = 2  # consumers that take tiles in turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A config and what it should take. ``pressure``: of arrays on registers; more than another
    one's spills where that one's does.
    """

    config: KernelConfig
    estimate: Estimate
    pressure: int = 0


def choose(
    kernel: Kernel,
    sizes: Mapping[str, int] | None = None,
    *,
    pins: Mapping[str, object] | None = None,
    target: HopperTarget | None = None,
) -> tuple[Choice, ...]:
    """Configurations of a simplified kernel, the best first.

    ``sizes``: of named axes (4096 where not given). ``pins``: extents by variable and fields of
    ``KernelConfig`` that are not to be varied. Raises the first refusal where no config has a
    place.
    """
    check_pins(kernel, pins or {})  # before the cache, to which 128.0 is 128
    return _chosen(kernel, _items(sizes), _items(pins), target or h200())


def _items(given: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    return tuple((given or {}).items())


@lru_cache(maxsize=64)
def _chosen(
    kernel: Kernel,
    sizes: tuple[tuple[str, int], ...],
    given: tuple[tuple[str, object], ...],
    chip: HopperTarget,
) -> tuple[Choice, ...]:
    pins = dict(given)
    target = chip.shared_by(int(str(pins.get("ctas_per_sm", 1))))
    subject = subject_of(kernel, target)
    before, body = subject.before, subject.body
    known = {v.axis: ASSUMED_UNITS if v.walk is Walk.UNIT else ASSUMED for v in kernel.vars}
    known |= dict(sizes)
    found: dict[KernelConfig, Choice] = {}
    refused: KernelError | GeometryError | None = None

    def candidates() -> Iterator[tuple[dict[str, int], int, Mapping[str, object]]]:
        yield from _sharings(body, known, pins, alone=not before)
        if not found:  # tiles of short axes are small: where none has a place, larger ones may
            roomy = {a: max(n, ROOMY) for a, n in known.items()}
            yield from _sharings(body, roomy, pins, alone=not before)

    for extents, consumers, turns in candidates():
        for joined in (
            (False, True)
            if "fuse_vector_chains" not in pins
            else (bool(pins["fuse_vector_chains"]),)
        ):
            try:
                earlier = [
                    subject.earlier(
                        b, _shared_extents(b, extents, pins, known), consumers, pins, target
                    )
                    for b in before
                ]
                left = less_memory(target, [(r, x) for x in earlier for r in x.rings])
                layout = subject.settled(extents, consumers, turns, left, joined=joined)
                hints = {n: v for n, v in _walk(layout, left, known).items() if n not in pins}
                layout = again(layout, **hints)
                check_allowed(layout)
            except (KernelError, GeometryError) as error:
                refused = refused or error
                continue
            best = (
                _best_split(layout, known, pins, target)
                if not before
                else _apart(layout, earlier, known, target)
            )
            held = max(pressure(x, target) for x in (layout, *earlier))
            found.setdefault(best.config, replace(best, pressure=held))
            break
    if not found:
        raise refused or GeometryError(
            "no config has a place on the chip",
            where=f"kernel {kernel.name}",
            fix="pin fewer extents, or smaller ones",
        )
    depth = body.loop.var  # of equals, fewer iterations
    return tuple(
        sorted(
            found.values(),
            key=lambda c: (c.estimate.seconds, -c.config.extent(depth), c.config.name),
        )
    )


def _sharings(
    body: Body, sizes: Mapping[str, int], pins: Mapping[str, object], *, alone: bool
) -> Iterator[tuple[dict[str, int], int, Mapping[str, object]]]:
    """Shapes and who takes them: consumers together or, where the loop is nothing but products of
    what copies bring, in turn one by one.
    """
    copied = not any(isinstance(op, Load) and list_of(body, op) for op in body.loop.body)
    offered = alone and only_products(body) and copied and "pingpong" not in pins
    for extents, consumers in shapes(body, sizes, pins):
        yield extents, consumers, pins
        if consumers == 1 and offered:
            yield extents, consumers, {**pins, "pingpong": ALTERNATE}


def _shared_extents(
    body: Body, extents: Mapping[str, int], pins: Mapping[str, object], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Extents of a loop before the last one: the rows of that one, and its own steps."""
    mine = {v.name: extents[v.name] for v in body.kernel.vars if v.name in extents}
    for var in body.kernel.vars:
        if var.extent is None and var.name not in mine:
            pinned = pins.get(var.name)
            options = extents_of(body, var.name, sizes[var.axis])
            fit = [n for n in options if n <= MOST_SCORES] or [options[-1]]
            mine[var.name] = pinned if isinstance(pinned, int) else fit[0]
    return mine


def _apart(
    layout: Layout, earlier: list[Layout], sizes: Mapping[str, int], target: HopperTarget
) -> Choice:
    """A tile of several loops: what all of them should take."""
    cost = estimate(layout, sizes, target)
    more = sum(estimate(x, sizes, target).seconds for x in earlier)
    every = dict(e for x in (layout, *earlier) for e in x.config.tile)
    return Choice(
        config=replace(layout.config, tile=tuple(every.items())),
        estimate=replace(cost, seconds=cost.seconds + more),
    )


def _splits(
    layout: Layout, sizes: Mapping[str, int], pins: Mapping[str, object], target: HopperTarget
) -> tuple[int, ...]:
    """How many CTAs may share the loop of a tile: more than one where tiles leave SMs idle."""
    kernel = layout.body.kernel
    if "split_k" in pins or kernel.grid.kind != "tiles":
        return (layout.config.split_k,)
    if (
        layout.config.pingpong > 1
        or layout.body.loop.lists
        or kernel.grid.order
        or differ(kernel, cut_of(layout.body, layout.steps))
    ):
        return (1,)
    free = target.limits.sms // tiles_of(kernel, layout.config, sizes)
    most = min(free, trips_of(layout, sizes) // LEAST_TRIPS, MOST_PARTS)
    if most < 2 or not _comes_apart(layout):
        return (1,)
    return (1, *(n for n in SPLITS if n < most), most)


def _comes_apart(layout: Layout) -> bool:
    try:
        part_bytes(layout)
    except (KernelError, GeometryError):
        return False
    return True


def _best_split(
    layout: Layout, sizes: Mapping[str, int], pins: Mapping[str, object], target: HopperTarget
) -> Choice:
    """The layout with its loop in as many parts, or in clusters, as should be quickest."""
    options = []
    few = tiles_of(layout.body.kernel, layout.config, sizes) <= target.limits.sms
    across = crosses_lines(layout, sizes)
    if (
        few and across and "epilogue_stages" not in pins
    ):  # loads take long, and tiles are stored once
        layout = replace(layout, config=replace(layout.config, epilogue_stages=1))
    configs = [replace(layout.config, split_k=n) for n in _splits(layout, sizes, pins, target)]
    if "cluster" not in pins and not layout.config.split_k_in_cluster and (few or across):
        sizes_of = [n for n in CLUSTERS if _clusters(layout, n)]
        configs += [replace(t, cluster=n) for t in tuple(configs) for n in sizes_of]
    if "split_k_in_cluster" not in pins:
        configs += [
            replace(t, split_k_in_cluster=True) for t in configs if _meets_near(layout, t, target)
        ]
    for config in configs:
        cost = estimate(replace(layout, config=config), sizes, target)
        options.append(Choice(config=config, estimate=cost))
    return min(options, key=lambda c: c.estimate.seconds)


def _meets_near(layout: Layout, config: KernelConfig, target: HopperTarget) -> bool:
    """Whether parts may meet in shared memory, beside the slots that the loop has; of four, a
    tenth of the SMs stays empty.
    """
    if config.split_k not in CLUSTERS:
        return False
    near = replace(layout, config=replace(config, split_k_in_cluster=True))
    try:
        check_near(near)
        for ring in near.rings:
            if not ring.per_tile:
                ring_depth(near, ring, target)
    except (KernelError, GeometryError):
        return False
    return True


def _clusters(layout: Layout, size: int) -> bool:
    """Whether CTAs may fetch together what their rows share."""
    try:
        check_cluster(replace(layout, config=replace(layout.config, cluster=size)))
    except (KernelError, GeometryError):
        return False
    return True


def check_pins(kernel: Kernel, pins: Mapping[str, object]) -> None:
    """Refuse pins of unknown names, other types and numbers that mean nothing."""
    names = {v.name for v in kernel.vars}
    fixed = {v.name: v.extent for v in kernel.vars if v.extent is not None}
    for name, value in pins.items():
        if name in fixed and value != fixed[name]:
            raise ConfigError(
                f"extent {name}={value!r}",
                where=f"kernel {kernel.name}",
                why=f"it is {fixed[name]}: a unit, a whole axis, or what the text says",
            )
        if name not in names and name not in CHOICES:
            raise unknown_pin(name, names, kernel.name)
        if name in names and (type(value) is not int or value < 1):
            raise ConfigError(f"extent {name}={value!r}", where=f"kernel {kernel.name}")
    check_choices({n: v for n, v in pins.items() if n in CHOICES}, f"kernel {kernel.name}")


def unknown_pin(name: str, extents: Collection[str], kernel: str) -> ConfigError:
    """What is said of a pin that is neither an extent nor a knob."""
    known = sorted(extents)
    near = get_close_matches(name, [*known, *sorted(CHOICES)], n=1, cutoff=0.0)
    return ConfigError(
        f"'{name}' cannot be pinned",
        where=f"kernel {kernel}",
        fix=f"did you mean '{near[0]}'? Known: extents of {', '.join(known)}, or "
        + ", ".join(sorted(CHOICES)),
    )


def _walk(layout: Layout, target: HopperTarget, sizes: Mapping[str, int]) -> dict[str, object]:
    """How tiles follow one another: rows in groups; serpentine, or their operand kept in the L2."""
    kernel = layout.body.kernel
    tiled = [n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE]
    if len(tiled) != 2:
        return {}
    rows, together, keep = tiled[0], GROUP_ROWS, None
    for op in layout.body.loop.body:
        if isinstance(op, Load) and len(op.result.dims) == 2 and rows in op.result.vars:
            long = sizes[kernel.var(layout.body.loop.var).axis] * op.result.dtype.bits / 8
            fit = target.memory.l2_share * target.limits.l2_bytes / long
            together, keep = min(together, int(fit)), op.tensor
            break
    group = max(1, together // layout.extent(rows))
    walk: dict[str, object] = {"raster_group": group, "l2_evict_last": keep}
    rounds = -(-tiles_of(kernel, layout.config, sizes) // target.limits.sms)
    if rounds > 1 and _to_and_fro(layout):
        far = rounds * trips_of(layout, sizes) >= FAR and not why_no_pace(layout)
        squares = group - group % SIDE if group > SIDE else group
        walk = {
            "raster_group": squares,
            "serpentine": True,
            "l2_evict_last": None,
            "cta_sync_interval": PACE if far else 0,
        }
    return walk


def _to_and_fro(layout: Layout) -> bool:
    """Whether a CTA's tiles walk the loop forwards and backwards: what the tile before read last is
    in the L2. Measured for one product; to ask the L2 to keep rows as well makes it worse.
    """
    kernel, body, loop = layout.body.kernel, layout.body, layout.body.loop
    alike = not (loop.until or loop.start or loop.lists) and layout.config.split_k == 1
    products = sum(isinstance(op, Dot) for op in loop.body)
    alone = only_products(body) and any_order(body) and products == 1
    return kernel.grid.kind == "tiles" and alike and alone
