"""The space of a kernel on Hopper: all choices of a ``KernelConfig``, with bounds and predictions.

Tile sizes, consumers, stages, what stays in registers, how far loads run ahead, ties and the order
of the loop's ops are one space. A *shape* (sizes, consumers, storage) has a lower bound: the
busiest unit, over the iterations of the CTA with most of them. A *trial* has a schedule: it is
predicted by simulating the role programs of two tiles, for that many iterations. A shape whose
bound exceeds the best prediction by more than the model's own error is not scheduled at all.

Every declared knob (``kernel_config.knobs``) is a *move* of a trial: one knob to another of its
values. A move that leaves the kernel module as it is, is none: equal modules are equal code.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, Self

from warploom.compiler.pricing import role_costs
from warploom.dataclass import dataclass
from warploom.errors import GeometryError, KernelError, SchedulingError
from warploom.ir.module import KernelModule
from warploom.ir.tile import Kernel
from warploom.modulo import ModuloOptions
from warploom.passes.body import body_of
from warploom.passes.build_module import build_module
from warploom.passes.candidates import candidates_of
from warploom.passes.driver import Lowered, lower
from warploom.passes.fuse import fuse
from warploom.passes.heuristics import Choice, choose
from warploom.passes.kernel_config import KernelConfig, knobs, part_config
from warploom.passes.layout import lay_out
from warploom.passes.loop_bounds import cut_of
from warploom.passes.loop_ops import loop_ops, takes_turns
from warploom.passes.loops import each_loop
from warploom.passes.shapes import COLUMNS
from warploom.passes.tile_order import differ, row_trips, tiles_of, visit_list
from warploom.passes.unroll import unrolled
from warploom.sim import simulate_roles
from warploom.targets.h200 import HopperTarget

WIDEST = 192  # columns of scores a thread's registers can take
TRIPS = 12  # iterations of a simulated tile
HOLDS = ((0, 0), (24, 0), (16, 1))  # tie and late of a config, where consumers take turns
PROGRAMS = 6  # of one shape, the best by simulation
WORK = 2_000_000  # of enumerating the programs of a shape
LONGER = 0.06  # than the least interval: prices are less sure than that
SOLVE = ModuloOptions(find_work=4.0, prove_work=1.0, optimise_work=1.0)
Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Choices apart from the order of ops, with the least cycles and the tile pass' seconds."""

    config: KernelConfig
    bound: float
    estimate: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A knob at another value than a trial has it, with the tile pass' estimate in seconds."""

    knob: str
    value: object
    config: KernelConfig
    estimate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate with its schedule, its bound and what the simulator expects of it.

    ``moves``: the knobs that were moved one by one, away from what the heuristics chose.
    """

    config: KernelConfig
    bound: float
    predicted: float
    moves: tuple[tuple[str, object], ...] = ()

    @property
    def name(self) -> str:
        """A name that tells trials of one search apart."""
        name = _name(self.config)
        unseen = [m for m in self.moves if _name(_moved(self.config, m[0])) == name]
        return name + "".join(f"+{knob}={value}" for knob, value in unseen)

    def to_json(self) -> dict[str, Any]:
        """Its form in a file."""
        return {
            "config": dict(self.config.pins),
            "bound": self.bound,
            "predicted": self.predicted,
            "moves": list(self.moves),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The trial of such a form."""
        return cls(
            config=config_of_pins(data["config"]),
            bound=float(data["bound"]),
            predicted=float(data["predicted"]),
            moves=tuple((name, value) for name, value in data["moves"]),
        )


def _name(config: KernelConfig) -> str:
    tags = [
        f"a{config.tile_prefetch}" if config.tile_prefetch != 1 else "",
        f"t{config.full_wait_after}" if config.full_wait_after else "",
        f"l{config.deferred_mmas}" if config.deferred_mmas else "",
        f"{hash_of(config.issue_times):06x}" if config.issue_times else "",
    ]
    whole = replace(config, schedule=config.schedule_name).name
    return "_".join([whole, *(t for t in tags if t)])


def _moved(config: KernelConfig, knob: str, *value: object) -> KernelConfig:
    """With a knob at a value, or at its default."""
    default = KernelConfig.__dataclass_fields__[knob].default
    choice: dict[str, Any] = {knob: value[0] if value else default}
    return replace(config, **choice)


def config_of_pins(pins: Mapping[str, Any]) -> KernelConfig:
    """A config from all of its pins, as JSON has them: extents first."""
    names = {k.name for k in knobs()}
    extents = tuple((n, int(v)) for n, v in pins.items() if n not in names)
    rest: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in pins.items() if n in names
    }
    return KernelConfig(tile=extents, **rest)


@lru_cache(maxsize=8)
def _lowered(kernel: Kernel, config: KernelConfig, target: HopperTarget) -> Lowered:
    """In the order of the config, where that is one of the kernel, else in the solver's."""
    try:
        return lower(kernel, config, target=target, options=SOLVE)
    except SchedulingError:
        if not config.issue_times:
            raise
        return lower(kernel, replace(config, schedule=""), target=target, options=SOLVE)


def _code(lowered: Lowered) -> KernelModule:
    """What code is printed from; names apart."""
    return replace(build_module(lowered.kernel, lowered), name="", config="")


@dataclass(frozen=True)
class KernelSpace:
    """What may be chosen for a rewritten kernel, its sizes and a chip; ``pins`` are not varied.

    ``kernel``: with one step an iteration; one with several is another kernel.
    """

    kernel: Kernel
    sizes: Sizes
    pins: Mapping[str, object]
    target: HopperTarget

    def shapes(self, late: Callable[[], bool] = lambda: False) -> tuple[Shape, ...]:
        """All shapes that have a place on the chip, those with the least estimate first."""
        kernel = unrolled(self.kernel, int(str(self.pins.get("unroll", 1))))
        return shapes(kernel, self.sizes, self.pins, self.target, late)

    def schedule(
        self, shape: Shape, programs: int = PROGRAMS, seconds: float | None = None
    ) -> Iterator[Trial]:
        """The trials of a shape."""
        kernel = self._kernel(shape.config)
        return schedule(kernel, shape, self.sizes, self.target, programs=programs, seconds=seconds)

    def moves(self, trial: Trial) -> list[Move]:
        """Single knobs moved, where that has a place on the chip; the least estimate first."""
        found = []
        for knob in knobs():
            for value in () if knob.name in self.pins else knob.values(self.kernel):
                if value == getattr(trial.config, knob.name):
                    continue
                config = _moved(trial.config, knob.name, value)
                try:
                    (choice, *_) = self._choices(config)
                except (KernelError, GeometryError):
                    continue
                if choice.config == config:
                    seconds = choice.estimate.seconds
                    found.append(Move(knob=knob.name, value=value, config=config, estimate=seconds))
        return sorted(found, key=lambda m: m.estimate)

    def moved(self, trial: Trial, move: Move) -> Trial | None:
        """A trial with a knob moved, in its own order where that still is one, else in the
        solver's; None where it has none, or where the same code comes out.
        """
        config, kernel = move.config, self._kernel(move.config)
        try:
            lowered = _lowered(kernel, config, self.target)
            before = _lowered(self._kernel(trial.config), trial.config, self.target)
            if _code(lowered) == _code(before):
                return None
        except (SchedulingError, GeometryError, KernelError):
            return None
        config = replace(config, schedule=(lowered.result.ii, *lowered.result.times))
        if config == trial.config:
            return None
        bound = bound_of(kernel, config, self.sizes, self.target)
        found = trial_of(kernel, config, lowered, bound, self.sizes, self.target)
        moves = dict(trial.moves) | {move.knob: move.value}
        return replace(found, moves=tuple(moves.items()))

    def _choices(self, config: KernelConfig) -> tuple[Choice, ...]:
        pins = dict(config.pins)
        return choose(self._kernel(config), self.sizes, pins=pins, target=self.target)

    def _kernel(self, config: KernelConfig) -> Kernel:
        return unrolled(self.kernel, config.unroll)


def hash_of(times: tuple[int, ...]) -> int:
    """A short number for issue times; the same in every process."""
    out = 0
    for n in times:
        out = (out * 1000003 + n) % 0xFFFFFF
    return out


def shapes(
    kernel: Kernel,
    sizes: Sizes,
    pins: Mapping[str, object],
    target: HopperTarget,
    late: Callable[[], bool] = lambda: False,
) -> tuple[Shape, ...]:
    """All shapes that have a place on the chip, those with the least estimate first.

    ``late``: no further ones, once there is one.
    """
    found: dict[KernelConfig, Shape] = {}
    for choice in _choices(kernel, sizes, pins, target):
        for config in _storage(choice.config, pins):
            if found and late():
                break
            if config in found:
                continue
            for settled in _settled(kernel, sizes, config, target):
                found[settled.config] = Shape(
                    config=settled.config,
                    bound=bound_of(kernel, settled.config, sizes, target),
                    estimate=settled.estimate.seconds,
                )
    return tuple(sorted(found.values(), key=lambda s: (s.estimate, s.config.name)))


def _choices(
    kernel: Kernel, sizes: Sizes, pins: Mapping[str, object], target: HopperTarget
) -> Iterator[Choice]:
    """What the tile pass considers, and wider steps of the loop than it does."""
    yield from choose(kernel, sizes, pins=pins, target=target)
    loop = kernel.loops[-1].var
    if loop in pins or kernel.var(loop).extent is not None:
        return
    for columns in COLUMNS:
        if columns > WIDEST:
            continue
        try:
            yield from choose(kernel, sizes, pins={**pins, loop: columns}, target=target)
        except (KernelError, GeometryError):
            continue


def _storage(config: KernelConfig, pins: Mapping[str, object]) -> Iterator[KernelConfig]:
    """The same tile with operands kept elsewhere, in more slots."""
    options: dict[str, tuple[object, ...]] = {
        "a_in_registers": (config.a_in_registers, not config.a_in_registers),
        "stages": (config.stages, *(n for n in (2, 3, 4) if config.stages is not None)),
    }
    found = [config]
    for name, values in options.items():
        if name not in pins:
            found = [
                replace(t, **{name: v})  # type: ignore[arg-type]
                for t in found
                for v in dict.fromkeys(values)
            ]
    yield from dict.fromkeys(found)


def _settled(
    kernel: Kernel, sizes: Sizes, config: KernelConfig, target: HopperTarget
) -> Iterator[Choice]:
    try:
        yield from choose(kernel, sizes, pins=dict(config.pins), target=target)
    except (KernelError, GeometryError):
        return


def bound_of(kernel: Kernel, config: KernelConfig, sizes: Sizes, target: HopperTarget) -> float:
    """Cycles no order can go below: the busiest unit over the most iterations of a CTA; of several
    loops in a tile, one after the other.
    """
    bound = 0.0
    for part, own in parts_of(kernel, config):
        body = body_of(part)
        layout = lay_out(body, own, fuse(body))
        busy: dict[str, int] = {}
        for op in loop_ops(layout, target, own.consumer_warpgroups):
            for unit, cycles in ((op.cost.unit, op.cost.occupancy), *op.cost.also):
                busy[unit] = busy.get(unit, 0) + cycles
        iterations, _ = work_of(part, own, sizes, target)
        bound += iterations * max(busy.values(), default=1)
    return bound


def parts_of(kernel: Kernel, config: KernelConfig) -> list[tuple[Kernel, KernelConfig]]:
    """The loops of a tile, each as a kernel with its choices."""
    *before, last = each_loop(kernel)
    parts = [(part, part_config(part, config)) for part in before]
    return [*parts, (last, part_config(last, config, last=True))]


@lru_cache(maxsize=256)
def _work(
    kernel: Kernel, config: KernelConfig, sizes: tuple[tuple[str, int], ...], target: HopperTarget
) -> tuple[int, int]:
    return _counted(kernel, config, dict(sizes), target)


def work_of(
    kernel: Kernel, config: KernelConfig, sizes: Sizes, target: HopperTarget
) -> tuple[int, int]:
    """Iterations and tiles of the CTA that has most iterations; only the extents matter."""
    bare = KernelConfig(tile=config.tile)
    return _work(kernel, bare, tuple(sorted(sizes.items())), target)


def _counted(
    kernel: Kernel, config: KernelConfig, sizes: Sizes, target: HopperTarget
) -> tuple[int, int]:
    body, sms = body_of(kernel), target.limits.sms
    loop = kernel.var(body.loop.var)
    trips = max(1, -(-sizes[loop.axis] // config.extent(loop.name)))
    tiles = tiles_of(kernel, config, sizes)
    cut = cut_of(body, fuse(body))
    if cut is None or not differ(kernel, cut):
        most = -(-tiles // sms)
        return most * trips, most
    ctas = min(tiles, sms)
    rows = row_trips(body, cut, config, sizes)
    found = visit_list(kernel, config, sizes, ctas, target)
    loads = []
    for cta in range(ctas):
        end = found[cta + 1] - 1 if cta + 1 < ctas else len(found) - 1
        own = found[found[cta] : end]
        loads.append((sum(rows[t % len(rows)] for t in own), len(own)))
    return max(loads)


def schedule(
    kernel: Kernel,
    shape: Shape,
    sizes: Sizes,
    target: HopperTarget,
    *,
    programs: int = PROGRAMS,
    seconds: float | None = None,
) -> Iterator[Trial]:
    """The solver's order of a shape and the best others by simulation, each with every tie and
    with tiles loaded ahead. ``seconds`` limit the solver; no others are looked at after them.
    """
    begun, options = time.monotonic(), replace(SOLVE, seconds=seconds)

    def late() -> bool:
        return seconds is not None and time.monotonic() - begun > seconds

    try:
        first = lower(kernel, shape.config, target=target, options=options)
    except (SchedulingError, GeometryError, KernelError):
        return
    orders = {(first.result.ii, *first.result.times): first}
    if programs and takes_turns(first.layout) and not late():
        for lowered in _others(first, late):
            orders.setdefault((lowered.result.ii, *lowered.result.times), lowered)
    ranked: list[Trial] = []
    for times, lowered in orders.items():
        if ranked and late():
            break
        config = replace(shape.config, schedule=times)
        ranked.append(trial_of(kernel, config, lowered, shape.bound, sizes, target))
    ranked.sort(key=lambda t: t.predicted)
    chosen = [t for t in ranked if t.config.schedule == next(iter(orders))]
    chosen += [t for t in ranked[:programs] if t not in chosen]
    turns = takes_turns(first.layout)
    depths = [
        d
        for d in (1, 2)
        if any(_settled(kernel, sizes, replace(shape.config, tile_prefetch=d), target))
    ]
    for trial in chosen:
        mine = ((shape.config.full_wait_after, shape.config.deferred_mmas),)
        for (tie, rest), ahead in product(HOLDS if turns else mine, depths):
            config = replace(
                trial.config, full_wait_after=tie, deferred_mmas=rest, tile_prefetch=ahead
            )
            yield replace(trial, config=config)


def _others(first: Lowered, late: Callable[[], bool]) -> Iterator[Lowered]:
    """Other programs at an interval a little longer than the least one found."""
    try:
        found = candidates_of(
            first.problem, first.plan, longer=LONGER, work=WORK, best=first.result, late=late
        )
    except SchedulingError:
        return
    for candidate in found.found:
        known = first.document
        document = replace(candidate.document, flow=known.flow, exchanges=known.exchanges)
        yield replace(first, result=candidate.result, document=document)


def trial_of(
    kernel: Kernel,
    config: KernelConfig,
    lowered: Lowered,
    bound: float,
    sizes: Sizes,
    target: HopperTarget,
) -> Trial:
    """A schedule with its prediction: simulated, then extended to the launch's iterations."""
    predicted = 0.0
    parts = (*lowered.earlier, lowered)
    for made, (part, own) in zip(parts, parts_of(kernel, config), strict=True):
        costs = role_costs(made, target)
        trips = max(TRIPS, made.document.minimum_trips)
        one = simulate_roles(made.document, costs, trips=trips)
        two = simulate_roles(made.document, costs, trips=trips, tiles=2)
        interval = one.ii or float(made.result.ii)
        ends = max(0.0, two.cycles - one.cycles - trips * interval)
        iterations, tiles = work_of(part, own, sizes, target)
        predicted += iterations * interval + tiles * ends
    return Trial(config=config, bound=bound, predicted=predicted)
