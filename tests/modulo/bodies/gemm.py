"""GEMM loop bodies of any shape: an m x n grid of MMAs fed through LDS, in K-partitions.

Each partition loads m + n tiles into LDS, reads m + n fragments and issues m * n MMAs. Storage is
a choice, since it decides what II and which depths are possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from warploom.errors import ConfigError
from warploom.modulo.model import (
    MAIN_ROLE,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Value,
)
from warploom.pipeline.modulo.bridge import Lds


class Fragments(StrEnum):
    """Fragment registers: one copy for all partitions, a ring of free depth, or renamed freely."""

    SHARED = "shared"
    RING = "ring"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmCosts:
    """Latency and occupancy of the three op kinds, and the registers of one fragment.

    The defaults are those of the MI355X scheduling model of this project (cycles).
    """

    load_latency: int = 200
    load_occupancy: int = 8
    read_latency: int = 20
    read_occupancy: int = 8
    mma_latency: int = 16
    mma_occupancy: int = 16
    fragment_registers: int = 8
    tile_bytes: int = 1


def gemm_body(
    m: int,
    n: int,
    *,
    partitions: int = 2,
    fragments: Fragments = Fragments.SHARED,
    lds: Lds = Lds.SLOT,
    costs: GemmCosts | None = None,
    smem_budget: int | None = None,
    register_budget: int | None = None,
    max_depth: int = 8,
    isolate: bool = False,
) -> ModuloProblem:
    """The body of an m x n grid; ops are loads, reads and MMAs, partition by partition."""
    if min(m, n, partitions, max_depth) < 1:
        raise ConfigError(
            f"a {m} x {n} grid in {partitions} partition(s) with depth up to {max_depth}",
            why="every one of these numbers must be at least 1",
        )
    grid = _Grid(m, n, partitions, costs or GemmCosts())
    rings = (*grid.lds_rings(lds, max_depth), *grid.fragment_rings(fragments))
    roles = (Role(name=MAIN_ROLE, register_budget=register_budget),) if register_budget else ()
    return ModuloProblem(
        name=f"gemm {m}x{n}x{partitions} {fragments} fragments, LDS {lds}",
        ops=grid.ops(),
        edges=grid.edges(),
        rings=rings,
        values=grid.fragment_values() if fragments is Fragments.RENAMED else (),
        roles=roles,
        smem_budget=smem_budget,
        isolate=isolate,
    )


@dataclass(frozen=True, slots=True)
class _Grid:
    """Index arithmetic: partition h holds its loads, then its reads, then its MMAs."""

    m: int
    n: int
    partitions: int
    costs: GemmCosts

    @property
    def _tiles(self) -> list[tuple[str, int]]:
        return [("A", i) for i in range(self.m)] + [("B", j) for j in range(self.n)]

    def _base(self, h: int) -> int:
        return h * (2 * (self.m + self.n) + self.m * self.n)

    def load(self, h: int, operand: str, i: int) -> int:
        return self._base(h) + (i if operand == "A" else self.m + i)

    def read(self, h: int, operand: str, i: int) -> int:
        return self.load(h, operand, i) + self.m + self.n

    def mma(self, h: int, i: int, j: int) -> int:
        return self._base(h) + 2 * (self.m + self.n) + i * self.n + j

    def users(self, h: int, operand: str, i: int) -> list[int]:
        if operand == "A":
            return [self.mma(h, i, j) for j in range(self.n)]
        return [self.mma(h, k, i) for k in range(self.m)]

    def ops(self) -> tuple[ModuloOp, ...]:
        c, out = self.costs, []
        for h in range(self.partitions):
            for kind, unit, cycles in (
                ("LOAD", "GLOBAL_MEM", c.load_occupancy),
                ("READ", "LDS", c.read_occupancy),
            ):
                out += [
                    ModuloOp(name=f"{kind}_{x}{h}.{i}", unit=unit, occupancy=cycles, partition=h)
                    for x, i in self._tiles
                ]
            out += [
                ModuloOp(name=f"MMA{h}.{i}.{j}", unit="MMA", occupancy=c.mma_occupancy, partition=h)
                for i in range(self.m)
                for j in range(self.n)
            ]
        return tuple(out)

    def edges(self) -> tuple[ModuloEdge, ...]:
        c, out = self.costs, []
        for h in range(self.partitions):
            for x, i in self._tiles:
                read = self.read(h, x, i)
                out.append(
                    ModuloEdge(src=self.load(h, x, i), dst=read, latency=c.load_latency, why="tile")
                )
                out += [
                    ModuloEdge(src=read, dst=u, latency=c.read_latency, why="fragment")
                    for u in self.users(h, x, i)
                ]
            wrap, following = divmod(h + 1, self.partitions)
            out += [
                ModuloEdge(
                    src=self.mma(h, i, j),
                    dst=self.mma(following, i, j),
                    latency=c.mma_latency,
                    distance=wrap,
                    why="accumulator",
                )
                for i in range(self.m)
                for j in range(self.n)
            ]
        return tuple(out)

    def lds_rings(self, lds: Lds, max_depth: int) -> list[Ring]:
        out = []
        all_partitions = list(range(self.partitions))
        groups = [[h] for h in all_partitions] if lds is Lds.SLOT else [all_partitions]
        for x, i in self._tiles:
            for group in groups:
                label = f"{group[0]}.{i}" if lds is Lds.SLOT else f".{i}"
                reads = [
                    (Read(op=self.read(h, x, i), hold=self.costs.read_latency),) for h in group
                ]
                out.append(
                    Ring(
                        name=f"lds {x}{label}",
                        kind=RingKind.SMEM,
                        size=self.costs.tile_bytes,
                        writers=tuple(self.load(h, x, i) for h in group),
                        readers=tuple(reads),
                        max_depth=max_depth * len(group),
                    )
                )
        return out

    def fragment_rings(self, fragments: Fragments) -> list[Ring]:
        if fragments is Fragments.RENAMED:
            return []
        return [
            Ring(
                name=f"fragment {x}.{i}",
                kind=RingKind.REG,
                size=self.costs.fragment_registers,
                writers=tuple(self.read(h, x, i) for h in range(self.partitions)),
                readers=tuple(
                    tuple(Read(op=u) for u in self.users(h, x, i)) for h in range(self.partitions)
                ),
                max_depth=1 if fragments is Fragments.SHARED else 2 * self.partitions,
            )
            for x, i in self._tiles
        ]

    def fragment_values(self) -> tuple[Value, ...]:
        return tuple(
            Value(
                name=f"fragment {x}{h}.{i}",
                size=self.costs.fragment_registers,
                src=self.read(h, x, i),
                uses=tuple(Read(op=u) for u in self.users(h, x, i)),
            )
            for h in range(self.partitions)
            for x, i in self._tiles
        )
