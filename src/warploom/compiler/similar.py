"""Kernels that do the same to tiles: what was measured for one is tried first for the other.

A ``Skeleton`` is what is left of a kernel without its vector work: which tiles are loaded where,
which of them meet in products, what is reduced, which loops there are. Kernels that differ in an
activation, a score function, a bias or one more vector have the same skeleton, and the choices that
were measured for a shipped kernel (tiles, stages, prefetch, waits, rasterisation) are as good for
them as anything a model knows. They are candidates, no pins: one that has no schedule, or for whose
vector work registers do not suffice, gives way to the model's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from hashlib import sha256

from warploom.compiler.skeletons import SKELETONS
from warploom.dataclass import dataclass
from warploom.ir.tile import (
    Carried,
    Dot,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Scan,
    Store,
    Transpose,
    operands,
)
from warploom.ir.types import Dim, Fn, Walk
from warploom.kernels.measured import ORDER, Pins
from warploom.kernels.registry import shipped

DIGITS = 16
TILE_RANK = 2  # axes of what products and stores take


@dataclass
class Skeleton:
    """The form of a kernel's work on tiles, and its names by number."""

    form: str = ""
    vars: list[str] = field(default_factory=list)
    tensors: list[str] = field(default_factory=list)  # of loaded tiles
    bits: tuple[int, ...] = ()  # of the element types of those

    @property
    def digest(self) -> str:
        """A short name of the form."""
        return sha256(self.form.encode()).hexdigest()[:DIGITS]


def skeleton_of(kernel: Kernel) -> Skeleton:
    """The skeleton of a simplified kernel."""
    return _Reader(kernel).read()


class _Reader:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.found = kernel, Skeleton()
        self.makers: dict[str, Op | Carried] = {}
        self.named: dict[str, str] = {}  # tiles and products by the value that holds them
        self.lines: list[str] = []
        self.vectors: dict[str, bool] = {}  # whether a value extends over anything
        self.products = 0

    def read(self) -> Skeleton:
        """Walk over the ops in order."""
        grid = self.kernel.grid
        walks = [self.kernel.var(v).walk for v in grid.vars]
        tiled = [v for v, w in zip(grid.vars, walks, strict=True) if w is not Walk.UNIT]
        self.lines.append(f"grid {grid.kind} {bool(grid.order)} {self._vars(tiled)}")
        self._ops(self.kernel.ops, "")
        tensors = {t.name: t for t in self.kernel.tensors}
        self.found.bits = tuple(tensors[t].dtype.bits for t in self.found.tensors)
        self.found.form = "\n".join(dict.fromkeys(self.lines))
        return self.found

    def _var(self, name: str) -> str:
        known = self.found.vars
        if name not in known:
            known.append(name)
        return f"v{known.index(name)}"

    def _vars(self, names: list[str]) -> str:
        return ",".join(self._var(n) for n in names)

    def _dims(self, dims: tuple[Dim, ...]) -> str:
        return ",".join(f"{self._var(d.var)}/{d.per}" for d in dims)

    def _ops(self, ops: tuple[Op, ...], inside: str) -> None:
        for op in ops:
            if isinstance(op, Loop):
                self._loop(op, inside)
                continue
            if isinstance(op, Store):
                if inside:  # what a tile leaves at its end is vector work
                    tiles = ",".join(self._tiles(op.value))
                    self.lines.append(f"{inside}store {op.add} {tiles}")
                continue
            self.makers[op.result.name] = op
            self.vectors[op.result.name] = bool(op.result.dims)
            if isinstance(op, Load) and len(op.result.dims) == TILE_RANK:
                self._load(op, inside)
            elif isinstance(op, Transpose) and op.arg in self.named:
                self.named[op.result.name] = f"{self.named[op.arg]}.T"
            elif isinstance(op, Dot):
                self._dot(op, inside)
            elif isinstance(op, Pointwise) and op.fn is Fn.WHERE and inside:
                self._mask(op, inside)
            elif isinstance(op, Reduce | Scan) and inside:
                tiles = ",".join(self._tiles(op.arg))
                kind = type(op).__name__
                self.lines.append(f"{inside}{kind} {op.fn.value} {self._var(op.over)} {tiles}")

    def _mask(self, op: Pointwise, inside: str) -> None:
        """Elements that positions hide: loops end earlier then, and orders differ."""
        if not self._tiles(op.args[0]):
            self.lines.append(f"{inside}mask {','.join(self._tiles(op.args[1]))}")

    def _loop(self, loop: Loop, inside: str) -> None:
        ends = (loop.start, loop.until, loop.lists, loop.stop, loop.share)
        self.lines.append(f"{inside}loop {self._var(loop.var)} {[bool(x) for x in ends]}")
        for carried in loop.carried:
            self.makers[carried.inside.name] = carried
        self._ops(loop.body, inside + "  ")
        for carried in loop.carried:
            self.makers[carried.result.name] = carried
            if carried.last in self.named:  # a sum is what its last product made
                self.named[carried.result.name] = self.named[carried.last]

    def _load(self, op: Load, inside: str) -> None:
        if op.tensor not in self.found.tensors:
            self.found.tensors.append(op.tensor)
        number = self.found.tensors.index(op.tensor)
        name = f"t{number}"
        self.named[op.result.name] = name
        gathered = any(self.vectors.get(i.value or "", False) for i in op.at)
        self.lines.append(f"{inside}load {name} {self._dims(op.result.dims)} {gathered}")

    def _dot(self, op: Dot, inside: str) -> None:
        sides = []
        for side in (op.a, op.b):
            direct = self.named.get(side)
            sides.append(direct or f"made({','.join(self._tiles(side))})")
        into = "" if op.into is None else "into"
        name = f"p{self.products}"
        self.products += 1
        self.named[op.result.name] = name
        shape = self._dims(op.result.dims)
        self.lines.append(f"{inside}{name} = {' @ '.join(sides)} {shape} {into}")

    def _tiles(self, value: str) -> list[str]:
        """The loaded tiles and products that a value is made of, by vector work."""
        found: set[str] = set()
        seen: set[str] = set()
        left = [value]
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self.named:
                found.add(self.named[name])
                continue
            maker = self.makers.get(name)
            if maker is not None and not isinstance(maker, Carried):
                left += operands(maker)
        return sorted(found)


@dataclass(frozen=True)
class Similar:
    """A shipped kernel of the same skeleton."""

    name: str
    choices: Mapping[str, object]
    vars: Mapping[str, str]  # the kernel's by the shipped one's
    axes: Mapping[str, str]
    tensors: Mapping[str, str]


@lru_cache(maxsize=256)
def similar(kernel: Kernel) -> tuple[Similar, ...]:
    """Shipped kernels that have the skeleton of a simplified one, of element types as wide."""
    own = skeleton_of(kernel)
    axes = {v.name: v.axis for v in kernel.vars}
    found = []
    for entry in SKELETONS.get(own.digest, ()):
        if entry.bits != own.bits or len(entry.vars) != len(own.vars):
            continue
        variables = dict(zip(entry.vars, own.vars, strict=True))
        found.append(
            Similar(
                name=entry.name,
                choices=dict(entry.choices),
                vars=variables,
                axes={a: axes[variables[v]] for v, a in zip(entry.vars, entry.axes, strict=True)},
                tensors=dict(zip(entry.tensors, own.tensors, strict=True)),
            )
        )
    return tuple(found)


def is_known(kernel: Kernel) -> bool:
    """Whether some shipped kernel has this skeleton: only then can it be a copy of one."""
    return skeleton_of(kernel).digest in SKELETONS


def similar_pins(kernel: Kernel, sizes: Mapping[str, int]) -> Iterator[Pins]:
    """What was measured for kernels of the same skeleton, the whole of it first; then without its
    order, which fits one loop.
    """
    whole = {v.axis: v.extent for v in kernel.vars if v.extent is not None}
    tried: set[Pins] = set()
    for found in similar(kernel):
        theirs = {
            a: n for a, b in found.axes.items() if (n := sizes.get(b, whole.get(b))) is not None
        }
        pins = []
        for name, value in shipped()[found.name].configuration(found.choices, theirs):
            own = found.tensors.get(str(value), value) if name == "l2_evict_last" else value
            pins.append((found.vars.get(name, name), own))
        for left_out in ((), ORDER[:1], ORDER):
            mine = tuple(p for p in pins if p[0] not in left_out)
            if mine and mine not in tried:
                tried.add(mine)
                yield mine
