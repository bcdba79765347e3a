"""``KernelConfig``: one point of the configuration space of a kernel, and the space itself.

A kernel's source names none of these choices. Each knob is declared once, with its default, the
values a search may try and what it does; heuristics, autotuner, tuned entries and ``with_config``
all read this declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from functools import cache
from math import prod
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints
from zlib import crc32

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, GeometryError
from warploom.ir.tile import Kernel, Load, walk

TileTerms = tuple[tuple[tuple[str, int], ...], ...]  # product of sums of (axis, elements a tile)
MOST = 1 << 16


def _no_more(_: Kernel) -> tuple[object, ...]:
    return ()


def _loaded_tensors(kernel: Kernel) -> tuple[object, ...]:
    return tuple(op.tensor for op in walk(kernel.ops) if isinstance(op, Load))


def _knob(
    default: object,
    doc: str,
    *search: object,
    least: int = 1,
    of_kernel: Callable[[Kernel], tuple[object, ...]] = _no_more,
) -> Any:  # noqa: ANN401
    """Declare a knob: its default, its meaning, the other values a search tries, its least number.

    ``of_kernel``: values that the kernel has besides (names of its tensors). Which of them are
    legal, heuristics and passes say.
    """
    about = {"doc": doc, "search": search, "least": least, "of_kernel": of_kernel}
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelConfig:
    """How one kernel is tiled, specialised over warpgroups, pipelined and scheduled.

    ``knobs()`` lists every field with its default, its meaning and the values a search tries.
    """

    tile: tuple[tuple[str, int], ...]
    consumer_warpgroups: int = _knob(2, "consumer warpgroups that split the rows of a tile", 1, 3)
    pingpong: int = _knob(
        1, "sets of consumers that take whole tiles in turn: one stores, another multiplies", 2
    )
    stages: int | None = _knob(
        None, "stages of every ring filled once an iteration; None: as many as fit", 2, 3, 4
    )
    a_in_registers: bool = _knob(
        True, "A operands loaded once a tile are kept in registers, not in shared memory", False
    )
    epilogue_stages: int = _knob(2, "copies of a store chunk that may be in flight", 1, 4)
    computed_tile_stages: int = _knob(
        1, "stages of a ring that consumers fill with computed tiles", 2
    )
    operands_from_smem: bool = _knob(
        False, "MMAs read computed operands from shared memory even where registers hold them", True
    )
    fuse_vector_chains: bool = _knob(False, "a chain of vector ops is scheduled as one op", True)
    zero_init_accumulators: bool = _knob(
        False, "accumulators are zeroed once a tile; else the first MMA of a tile overwrites", True
    )
    reserved_registers: int = _knob(
        28, "registers of a thread kept for anything but register tiles", 8, 16, least=0
    )
    mma_turns: bool | None = _knob(
        None,
        "consumers are ordered on the tensor cores; None: where vector work lies between MMAs",
        False,
        True,
    )
    l2_evict_last: str | None = _knob(
        None, "the tensor whose tiles the L2 should keep (evict_last)", of_kernel=_loaded_tensors
    )
    serpentine: bool = _knob(
        False, "serpentine rasterisation: loop and columns turn around at every tile", True
    )
    raster_group: int = _knob(8, "rows of tiles rasterised together", 4, 16, 32)
    store_from_registers: bool = _knob(
        False, "tiles are stored from registers, not through shared memory and TMA", True
    )
    reduce_from_registers: bool = _knob(
        False, "what the loop adds to a tensor goes to memory from registers", True
    )
    preload_vectors: int = _knob(
        0,
        "vectors beside a tile that are read before the tile's MMA is issued: later reads wait"
        " for it",
        1,
        least=0,
    )
    separate_full_waits: bool = _knob(
        False,
        "waits for full stages are ops of their own, and may precede the reductions to memory of"
        " the iteration before",
        True,
    )
    full_wait_after: int = _knob(
        0,
        "after so many elements of a thread the loop's last work on a fresh accumulator awaits the"
        " next iteration's stage (passes.hoist_full_wait); -1: MMA waits cover the whole tile and"
        " follow a branch, so that ptxas keeps the schedule's order",
        -1,
        16,
        24,
        least=-1,
    )
    deferred_mmas: int = _knob(
        0,
        "MMA instructions of an accumulation issued after the work that follows it"
        " (passes.split_mma)",
        1,
        least=0,
    )
    schedule: str | tuple[int, ...] = _knob(
        "",
        "the solver's own (empty), `source` (ops in source order), the name of a program at the"
        " least interval (passes.candidates), or the interval and the issue time of every op,"
        " checked like the solver's",
        "source",
    )
    tile_prefetch: int = _knob(
        1, "stages of a ring filled once a tile; with 2 the next tile's are loaded early", 2
    )
    split_k: int = _knob(
        1,
        "CTAs that share the loop of a tile; the last one adds the partial sums in their order, so"
        " that the bits are the same every time",
        2,
        4,
        8,
    )
    split_k_in_cluster: bool = _knob(
        False, "the CTAs of split-K are a cluster and reduce through its shared memory", True
    )
    cluster: int = _knob(1, "CTAs with neighbouring rows of tiles that share loads by multicast", 2)
    drain_mma: bool = _knob(
        False, "fewer MMAs in flight, where ptxas would serialise them (passes.drain_mma)", True
    )
    unroll: int = _knob(1, "steps of an iteration (passes.unroll)", 2, 4)
    one_barrier_per_stage: bool = _knob(
        False, "all tiles of an iteration share one stage and one full barrier", True
    )
    ctas_per_sm: int = _knob(
        1, "CTAs that share an SM, each with its part of memory and registers", 2
    )
    earlier_loop_stages: int = _knob(
        3, "stages of every ring of the loops before the last one", 1, 2
    )
    cta_sync_interval: int = _knob(
        0,
        "iterations after which CTAs wait for one another (0: never; a hint with a time limit), so"
        " that shared data is read from memory once",
        4,
        8,
        16,
        least=0,
    )

    def __post_init__(self) -> None:
        """Refuse configurations that mean nothing."""
        for name, kinds, least in _rules():
            value = getattr(self, name)
            if type(value) in kinds and (type(value) is not int or least <= value <= MOST):
                continue  # most often
            if (name, value) != ("consumer_warpgroups", 0):  # a kernel without a loop has none
                check_choices({name: value}, "KernelConfig")

    @property
    def pins(self) -> tuple[tuple[str, object], ...]:
        """All of it as choices that are not to be varied."""
        rest = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name != "tile")
        return (*self.tile, *rest)

    @property
    def issue_times(self) -> tuple[int, ...]:
        """Interval and issue times that are pinned; empty where the solver finds them."""
        return self.schedule if isinstance(self.schedule, tuple) else ()

    @property
    def schedule_name(self) -> str:
        """The name of the pinned schedule; empty where none is named."""
        return self.schedule if isinstance(self.schedule, str) else ""

    @property
    def warpgroups(self) -> int:
        """Consumer warpgroups of a CTA."""
        return self.consumer_warpgroups * self.pingpong

    @property
    def ctas(self) -> int:
        """CTAs that run as a cluster."""
        return self.split_k if self.split_k_in_cluster else self.cluster

    def extent(self, var: str) -> int:
        """Elements a variable covers at a time."""
        for name, size in self.tile:
            if name == var:
                return size
        raise GeometryError(
            f"no extent for variable {var!r}",
            where="KernelConfig.extents",
            fix=f"known: {', '.join(n for n, _ in self.tile)}",
        )

    @property
    def name(self) -> str:
        """A short name that tells choices apart."""
        sizes = "x".join(str(n) for _, n in self.tile if n > 1)
        tags = [f"w{self.consumer_warpgroups}", f"a{self.pingpong}" if self.pingpong > 1 else ""]
        tags += [f"s{self.stages}" if self.stages else ""]
        tags += [
            "" if self.a_in_registers else "smem",
            f"o{self.epilogue_stages}" if self.epilogue_stages != 2 else "",
        ]
        tags += [f"p{self.schedule_name}" if self.schedule_name else ""]
        tags += [f"given{_mark(self.issue_times)}" if self.issue_times else ""]
        tags += [
            f"k{self.split_k}" if self.split_k > 1 else "",
            "incluster" if self.split_k_in_cluster else "",
        ]
        tags += [f"c{self.cluster}" if self.cluster > 1 else ""]
        tags += [
            "drain" if self.drain_mma else "",
            f"u{self.unroll}" if self.unroll > 1 else "",
        ]
        tags += ["onebarrier" if self.one_barrier_per_stage else ""]
        tags += [f"r{self.ctas_per_sm}" if self.ctas_per_sm > 1 else ""]
        return "_".join([sizes, *(t for t in tags if t)])


def check_choices(given: Mapping[str, object], where: str) -> None:
    """Refuse choices of another type and numbers that mean nothing."""
    least_of = {name: least for name, _, least in _rules()}
    for name, value in given.items():
        kinds, least = _kinds()[name], least_of.get(name, 1)
        if type(value) not in kinds:
            said = " or ".join(sorted(k.__name__ for k in kinds))
            raise ConfigError(f"{name}={value!r}", where=where, fix=said)
        if type(value) is int and not least <= value <= MOST:
            raise ConfigError(f"{name}={value!r}", where=where, fix=f"{least} to {MOST}")


@cache
def _rules() -> tuple[tuple[str, tuple[type, ...], int], ...]:
    """Types and the least number of every knob."""
    return tuple((f.name, _kinds()[f.name], f.metadata["least"]) for f in fields(KernelConfig)[1:])


@cache
def _kinds() -> dict[str, tuple[type, ...]]:
    """Types of every knob's values."""
    hints = get_type_hints(KernelConfig).items()
    return {n: tuple(get_origin(k) or k for k in _members(h)) for n, h in hints}


def _members(hint: object) -> tuple[Any, ...]:
    """The types of a union, or the type itself."""
    return (hint,) if get_origin(hint) is tuple else get_args(hint) or (hint,)


class Knob(NamedTuple):
    """One knob of the configuration space."""

    name: str
    default: object
    search: tuple[object, ...]  # other values that a search tries
    least: int  # of numbers
    doc: str
    of_kernel: Callable[[Kernel], tuple[object, ...]]  # values that a kernel has besides

    def values(self, kernel: Kernel) -> tuple[object, ...]:
        """What a search may try for a kernel."""
        return tuple(dict.fromkeys((self.default, *self.search, *self.of_kernel(kernel))))


def knobs() -> tuple[Knob, ...]:
    """The configuration space: every knob beside the tile itself."""
    rest = fields(KernelConfig)[1:]
    return tuple(Knob(f.name, f.default, **f.metadata) for f in rest)


_NUMBERS = {
    "w": "consumer_warpgroups", "a": "pingpong", "s": "stages", "o": "epilogue_stages",
    "k": "split_k", "c": "cluster", "u": "unroll", "r": "ctas_per_sm",
}  # fmt: skip
_WORDS: dict[str, tuple[str, object]] = {
    "smem": ("a_in_registers", False),
    "drain": ("drain_mma", True),
    "onebarrier": ("one_barrier_per_stage", True),
    "incluster": ("split_k_in_cluster", True),
}


def pins_of_name(tags: str) -> dict[str, object] | None:
    """The choices that the tags of ``KernelConfig.name`` say, for ``with_config``; None for other
    words.

    Issue times have but a mark in a name: ``given`` is that mark, and no choice.
    """
    pins: dict[str, object] = {"a_in_registers": True, "epilogue_stages": 2}
    for tag in tags.split("_"):
        if tag in _WORDS:
            name, value = _WORDS[tag]
            pins[name] = value
        elif tag[:1] in _NUMBERS and tag[1:].isdigit():
            pins[_NUMBERS[tag[0]]] = int(tag[1:])
        elif tag.startswith("given") or (tag.startswith("p") and tag[1:]):
            name = "given" if tag.startswith("given") else "schedule"
            pins[name] = tag[5:] if name == "given" else tag[1:]
        else:
            return None
    return pins


def _mark(times: tuple[int, ...]) -> str:
    """A short word for issue times, the same in every process."""
    return f"{crc32(repr(times).encode()) & 0xFFFF:04x}"


def part_config(part: Kernel, config: KernelConfig, *, last: bool = False) -> KernelConfig:
    """The choices for one loop of a tile: those of the last one, fewer slots for those before."""
    walked = {v.name for v in part.vars}
    extents = tuple((n, size) for n, size in config.tile if n in walked)
    if last:
        return replace(config, tile=extents) if extents != config.tile else config
    return KernelConfig(
        tile=extents,
        consumer_warpgroups=config.consumer_warpgroups,
        stages=config.earlier_loop_stages,
        a_in_registers=config.a_in_registers,
        store_from_registers=True,
        l2_evict_last=config.l2_evict_last,
        serpentine=config.serpentine,
    )


def count_tiles(terms: TileTerms, sizes: Mapping[str, int]) -> int:
    """Tiles of a grid: the product of the terms, each a sum of axes cut into so many elements."""
    return prod(sum(-(-sizes[axis] // extent) for axis, extent in term) for term in terms)


def config_of(kernel: Kernel, consumer_warpgroups: int = 2, **sizes: int) -> KernelConfig:
    """A configuration with this tile; units, whole axes and fixed steps follow."""
    known = {v.name: v.extent for v in kernel.vars if v.extent is not None}
    return KernelConfig(
        tile=tuple((known | sizes).items()), consumer_warpgroups=consumer_warpgroups
    )
