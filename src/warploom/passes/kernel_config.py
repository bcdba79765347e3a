"""``KernelConfig``: the choices a schedule is derived for; the text says none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from math import prod
from typing import get_args, get_origin, get_type_hints
from zlib import crc32

from warploom.errors import ConfigError, GeometryError
from warploom.ir.tile import Kernel

TileTerms = tuple[tuple[tuple[str, int], ...], ...]  # product of sums of (axis, elements a tile)
BLOCK_ROWS, BLOCK_COLUMNS = 16, 8  # of tensors in blocks
LEAST = {"spare": 0, "early": 0, "late": 0, "pace": 0, "tie": -1}  # of other numbers 1
MOST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelConfig:
    """Extents of the variables and how the SM's warpgroups share a tile.

    ``consumers`` warpgroups split the rows of a tile. ``alternate``: so many warpgroups take whole
    tiles in turn: one stores while another multiplies. ``stages``: slots of every ring filled once
    an iteration (None: as many as fit). ``hold``: tiles loaded once a tile that are A operands stay
    in registers. ``staging`` copies of a store chunk are on their way out at once. ``turns``:
    consumers take turns on the tensor cores (None: where vector work lies between products).
    ``keep`` and ``serpentine`` help the L2: the tensor whose tiles it should keep, and a walk of
    the loop that turns around at every tile, through columns at every band of rows; neighbours take
    squares of tiles. ``group`` rows of tiles are visited together.
    ``handed``: slots of a ring that consumers fill with computed tiles. ``shared``: products take
    what lies there from there, also where registers have it. ``joined``: chains of vector work are
    one step each. ``cleared``: sums begin as zeros written once a tile, not with a product apart
    from the loop that discards what was there. ``spare`` registers of a thread are kept for
    anything but arrays. ``direct``: tiles are
    stored from registers, not through shared memory. ``straight``: what the loop adds to tensors
    goes to memory from registers. ``early``: of so many vectors that lie with a tile the
    elements are read before the tile's product is issued: what is read after it waits until its
    instructions have begun. ``seen``: that copies have landed is asked by
    ops of their own, once a tile and in the loop, which may come before what the iteration before
    adds to memory: memory instructions of a warp run in order, and those take long.
    ``tie``: after so many elements of a thread the loop's last work on a fresh product awaits the
    bytes of a product of the next iteration (``lower.landed``); -1: waits for products take along
    all of the tile made before them, and are after a branch, so that the assembler leaves that
    work where the schedule put it. ``late``: instructions of a product into a sum that are issued
    after the work that follows it (``lower.parted``).
    ``program``: the name of one of all programs at the least interval (``candidates_of``), where
    measuring found a better one than the solver's, or ``text``: ops in the order of the text, for
    loops that leave no registers for another.
    ``times``: the interval and the issue times of such a program, so that nothing is searched; they
    are checked like a solver's.
    ``ahead``: slots of a ring that is filled once a tile: with two, the next tile is loaded early.
    ``split``: CTAs that share the loop of a tile; the last to finish puts together what all of them
    left in memory, in the order of the parts: the same bits every time.
    ``near``: they are a cluster, and meet in its shared memory.
    ``cluster``: CTAs with neighbouring rows of tiles that fetch what they share once.
    ``settled``: fewer products are in flight, where the assembler would let none be
    (``lower.settle``). ``unroll``: steps of an iteration (``lower.unroll``).
    ``together``: all tiles of an iteration lie in one slot, so that one wait is for all of them.
    ``resident``: CTAs that share an SM, each with its part of the memory and registers: where one
    waits, another works.
    ``earlier``: slots of every ring of the loops before the last one.
    ``pace``: after so many iterations CTAs wait for one another (0: never; a while at most: it is a
    hint), so that what several of them read comes from memory once, and is asked of the L2
    together. Tiles stored are the first to leave the L2, too; by copies, where ``keep`` names one.
    """

    extents: tuple[tuple[str, int], ...]
    consumers: int = 2
    alternate: int = 1
    stages: int | None = None
    hold: bool = True
    staging: int = 2
    handed: int = 1
    shared: bool = False
    joined: bool = False
    cleared: bool = False
    spare: int = 28
    turns: bool | None = None
    keep: str | None = None
    serpentine: bool = False
    group: int = 8
    direct: bool = False
    straight: bool = False
    early: int = 0
    seen: bool = False
    tie: int = 0
    late: int = 0
    program: str = ""
    times: tuple[int, ...] = ()
    ahead: int = 1
    split: int = 1
    near: bool = False
    cluster: int = 1
    settled: bool = False
    unroll: int = 1
    together: bool = False
    resident: int = 1
    earlier: int = 3
    pace: int = 0

    def __post_init__(self) -> None:
        """Tilings that mean nothing do not exist."""
        for name, kinds, least in _rules():
            value = getattr(self, name)
            if type(value) in kinds and (type(value) is not int or least <= value <= MOST):
                continue  # most often
            if (name, value) != ("consumers", 0):  # a text without a loop has none
                check_choices({name: value}, "KernelConfig")

    @property
    def pins(self) -> tuple[tuple[str, object], ...]:
        """All of it as choices that are not to be varied."""
        rest = ((f.name, getattr(self, f.name)) for f in fields(self) if f.name != "extents")
        return (*self.extents, *rest)

    @property
    def warpgroups(self) -> int:
        """Consumer warpgroups of a CTA."""
        return self.consumers * self.alternate

    @property
    def ctas(self) -> int:
        """CTAs that run as a cluster."""
        return self.split if self.near else self.cluster

    def extent(self, var: str) -> int:
        """Elements a variable covers at a time."""
        for name, size in self.extents:
            if name == var:
                return size
        raise GeometryError(
            f"no extent for variable {var!r}",
            where="KernelConfig.extents",
            fix=f"known: {', '.join(n for n, _ in self.extents)}",
        )

    @property
    def name(self) -> str:
        """A short name that tells choices apart."""
        sizes = "x".join(str(n) for _, n in self.extents if n > 1)
        tags = [f"w{self.consumers}", f"a{self.alternate}" if self.alternate > 1 else ""]
        tags += [f"s{self.stages}" if self.stages else ""]
        tags += ["" if self.hold else "smem", f"o{self.staging}" if self.staging != 2 else ""]
        tags += [f"p{self.program}" if self.program else ""]
        tags += [f"given{_mark(self.times)}" if self.times else ""]
        tags += [
            f"k{self.split}" if self.split > 1 else "",
            "near" if self.near else "",
        ]
        tags += [f"c{self.cluster}" if self.cluster > 1 else ""]
        tags += ["settled" if self.settled else "", f"u{self.unroll}" if self.unroll > 1 else ""]
        tags += ["together" if self.together else ""]
        tags += [f"r{self.resident}" if self.resident > 1 else ""]
        return "_".join([sizes, *(t for t in tags if t)])


def check_choices(given: Mapping[str, object], where: str) -> None:
    """Refuse choices of another type and numbers that mean nothing."""
    for name, value in given.items():
        kinds, least = _kinds()[name], LEAST.get(name, 1)
        if type(value) not in kinds:
            said = " or ".join(sorted(k.__name__ for k in kinds))
            raise ConfigError(f"{name}={value!r}", where=where, fix=said)
        if type(value) is int and not least <= value <= MOST:
            raise ConfigError(f"{name}={value!r}", where=where, fix=f"{least} to {MOST}")


@cache
def _rules() -> tuple[tuple[str, tuple[type, ...], int], ...]:
    """Types and the least number of every choice."""
    return tuple((f.name, _kinds()[f.name], LEAST.get(f.name, 1)) for f in fields(KernelConfig)[1:])


@cache
def _kinds() -> dict[str, tuple[type, ...]]:
    """Types of a tiling's choices."""
    hints = get_type_hints(KernelConfig).items()
    return {n: tuple(get_origin(k) or k for k in get_args(h) or (h,)) for n, h in hints} | {
        "times": (tuple,)
    }


_NUMBERS = {
    "w": "consumers", "a": "alternate", "s": "stages", "o": "staging",
    "k": "split", "c": "cluster", "u": "unroll", "r": "resident",
}  # fmt: skip
_WORDS: dict[str, tuple[str, object]] = {
    "smem": ("hold", False),
    "settled": ("settled", True),
    "together": ("together", True),
    "near": ("near", True),
}


def pins_of_name(tags: str) -> dict[str, object] | None:
    """The choices that the tags of ``KernelConfig.name`` say, for ``with_config``; None for other
    words.

    Issue times have but a mark in a name: ``given`` is that mark, and no choice.
    """
    pins: dict[str, object] = {"hold": True, "staging": 2}
    for tag in tags.split("_"):
        if tag in _WORDS:
            name, value = _WORDS[tag]
            pins[name] = value
        elif tag[:1] in _NUMBERS and tag[1:].isdigit():
            pins[_NUMBERS[tag[0]]] = int(tag[1:])
        elif tag.startswith("given") or (tag.startswith("p") and tag[1:]):
            name = "given" if tag.startswith("given") else "program"
            pins[name] = tag[5:] if name == "given" else tag[1:]
        else:
            return None
    return pins


def _mark(times: tuple[int, ...]) -> str:
    """A short word for issue times, the same in every process."""
    return f"{crc32(repr(times).encode()) & 0xFFFF:04x}"


def part_tiling(part: Kernel, tiling: KernelConfig, *, last: bool = False) -> KernelConfig:
    """The choices for one loop of a tile: those of the last one, fewer slots for those before."""
    walked = {v.name for v in part.vars}
    extents = tuple((n, size) for n, size in tiling.extents if n in walked)
    if last:
        return replace(tiling, extents=extents) if extents != tiling.extents else tiling
    return KernelConfig(
        extents=extents,
        consumers=tiling.consumers,
        stages=tiling.earlier,
        hold=tiling.hold,
        direct=True,
        keep=tiling.keep,
        serpentine=tiling.serpentine,
    )


def count_tiles(terms: TileTerms, sizes: Mapping[str, int]) -> int:
    """Tiles of a grid: the product of the terms, each a sum of axes cut into so many elements."""
    return prod(sum(-(-sizes[axis] // extent) for axis, extent in term) for term in terms)


def tiling_of(kernel: Kernel, consumers: int = 2, **sizes: int) -> KernelConfig:
    """A tiling with the extents given by variable; units, whole axes and fixed steps follow."""
    known = {v.name: v.extent for v in kernel.vars if v.extent is not None}
    return KernelConfig(extents=tuple((known | sizes).items()), consumers=consumers)
