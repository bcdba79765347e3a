"""From a compiler body to a modulo problem: who writes and reads which storage, for any shape.

A body is read by what its ops *are* (role, channel, stage, subtile), not by the reference's edge
rules, whose distances encode one particular pipeline. K-partition h of iteration i is K-tile
``i * P + h``. Loads of a channel that has shared stores go to staging registers, others straight to
LDS. Vector ops and anything else keep the edges the schedule declares for them.
"""

from collections.abc import Sequence
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, CostModelError, ProgramError
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, DepKind, OpDesc, OpRole, ResourceKind
from warploom.modulo import model
from warploom.modulo.options import ModuloOptions
from warploom.targets.occupancy import OccupancyModel

_DATA = (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD, OpRole.COMPUTE)
_DROPPED = (OpRole.SYNC, OpRole.FENCE)


class Lds(StrEnum):
    """LDS tiles: a slot per partition, or one ring over all partitions."""

    SLOT = "slot"
    RING = "ring"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloRequest:
    """What a compilation with ``SchedulingStrategy.MODULO`` takes beyond its configs.

    ``lds``: a slot per K-partition, or one ring over all partitions (more depths are possible).
    ``smem_budget`` counts in units of ``occupancies.buffer_bytes``. ``peeled`` iterations beyond
    the pipeline fill run in the prologue, for trip counts that the unrolled kernel does not divide.
    ``machine``: what waits and barriers are priced by (the simulator under these costs); without it
    the latencies of the body's own ops rank them.
    """

    options: ModuloOptions | None = None
    occupancies: OccupancyModel | None = None
    lds: Lds = Lds.SLOT
    max_depth: int = 8
    smem_budget: int | None = None
    isolate: bool = False
    peeled: int = 0
    machine: MachineCosts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyProblem:
    """A modulo problem and what each of its ops was in the body.

    ``partition[v]`` is the K-partition op v works on; ``slot_rings[v]`` the LDS ring an op writes
    or reads, with the index of the write within one iteration.
    """

    problem: model.ModuloProblem
    ops: tuple[OpDesc, ...]
    partitions: int
    partition: tuple[int, ...]
    slot_rings: tuple[tuple[int, int] | None, ...]


def body_problem(
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge] = (),
    *,
    name: str = "body",
    request: ModuloRequest | None = None,
    register_budget: int | None = None,
) -> BodyProblem:
    """The modulo problem of a priced body; sync ops are left out, they are derived at the end."""
    request = request or ModuloRequest()
    reader = _Reader(body, request)
    flow = reader.flow_edges() + reader.declared_edges(edges)
    rings = reader.rings()
    role = model.Role(
        name=model.MAIN_ROLE,
        register_budget=register_budget,
        static_registers=reader.accumulators(),
    )
    problem = model.ModuloProblem(
        name=name,
        ops=reader.modulo_ops(),
        edges=tuple(flow),
        capacities=reader.capacities(),
        rings=tuple(r for r, _ in rings),
        values=reader.values(edges),
        roles=(role,),
        smem_budget=request.smem_budget,
        isolate=request.isolate,
    )
    return BodyProblem(
        problem=problem,
        ops=reader.ops,
        partitions=reader.partitions,
        partition=tuple(reader.partition),
        slot_rings=reader.slot_rings(rings),
    )


class _Reader:
    """The body's ops sorted by what they touch."""

    def __init__(self, body: Sequence[OpDesc], request: ModuloRequest) -> None:
        self.kept = [v for v, op in enumerate(body) if op.role not in _DROPPED]
        self.index = {old: new for new, old in enumerate(self.kept)}
        self.ops = tuple(body[v] for v in self.kept)
        self.occupancies = request.occupancies or OccupancyModel()
        self.lds, self.max_depth = request.lds, request.max_depth
        for op in self.ops:
            if op.role is OpRole.NONE:
                raise CostModelError(
                    f"{op.label()} has no role", fix="price the body first (annotate_ops)"
                )
        self.staged = {op.channel for op in self.ops if op.role is OpRole.SHARED_STORE}
        self.loads = self._tiles(OpRole.GLOBAL_LOAD)
        self.stores = self._tiles(OpRole.SHARED_STORE)
        self.frags = self._tiles(OpRole.FRAGMENT_LOAD)
        self.mmas = self._accumulators()
        groups = {**_named("load", self.loads), **_named("store", self.stores)}
        groups |= {**_named("fragment", self.frags), **_named("MMA", self.mmas)}
        counts = {len(ops) for ops in groups.values()}
        if len(counts) > 1 or not self.mmas:
            detail = ", ".join(f"{n}: {len(ops)}" for n, ops in sorted(groups.items())[:8])
            raise ProgramError(
                "the ops do not form whole K-partitions",
                where=detail or "no MMA at all",
                why="each slot, fragment and accumulator must occur once per K-partition",
                fix="declare one load, one fragment load and one MMA per tile and partition",
            )
        self.partitions = counts.pop()
        self.partition = self._partition_of()

    def _tiles(self, role: OpRole) -> dict[tuple[int, int], list[int]]:
        """Ops of a role by (channel, subtile), in order of stage: one per K-partition."""
        out: dict[tuple[int, int], list[int]] = {}
        for v, op in enumerate(self.ops):
            if op.role is role:
                whole = op.channel in self.staged and role is not OpRole.FRAGMENT_LOAD
                out.setdefault((op.channel, 0 if whole else op.subtile), []).append(v)
        for found in out.values():
            found.sort(key=lambda v: self.ops[v].stage)
        return out

    def _accumulators(self) -> dict[tuple[int, int], list[int]]:
        out: dict[tuple[int, int], list[int]] = {}
        for v, op in enumerate(self.ops):
            if op.role is OpRole.COMPUTE:
                out.setdefault((op.stage, op.subtile), []).append(v)
        return out

    def _partition_of(self) -> list[int]:
        out = [0] * len(self.ops)
        for group in (self.loads, self.stores, self.frags, self.mmas):
            for ops in group.values():
                for h, v in enumerate(ops):
                    out[v] = h
        return out

    def modulo_ops(self) -> tuple[model.ModuloOp, ...]:
        """One modulo op per kept op, named by its place and label."""
        return tuple(
            model.ModuloOp(
                name=f"{v}:{op.label()}",
                unit=None if op.resource is ResourceKind.NONE else op.resource.name,
                occupancy=self.occupancies.occupancy(op),
                issue=self.occupancies.stream(op),
                partition=self.partition[v],
            )
            for v, op in enumerate(self.ops)
        )

    def accumulators(self) -> int:
        """Registers of all accumulators: live for the whole loop."""
        return sum(max(self.ops[v].vgpr_def for v in chain) for chain in self.mmas.values())

    def capacities(self) -> tuple[model.Unit, ...]:
        """Declared unit capacities."""
        table = self.occupancies.capacities
        return tuple(model.Unit(name=u.name, capacity=c) for u, c in table.items())

    def fragment_uses(self, channel: int, subtile: int, h: int) -> list[int]:
        """The MMAs that read a fragment register in one partition."""
        channels = {c for c, _ in self.frags}
        if len(channels) == 1 and channels <= self.staged:
            keys = [k for k in self.mmas if k[1] == subtile]
        else:
            keys = [k for k in self.mmas if k[channel] == subtile]
        return [self.mmas[k][h] for k in keys]

    def flow_edges(self) -> list[model.ModuloEdge]:
        """Loads to (stores to) fragments to MMAs, accumulator chains, loads in tile order."""
        out = []
        for (channel, subtile), frags in self.frags.items():
            source = self.stores if channel in self.staged else self.loads
            writers = source.get((channel, 0 if channel in self.staged else subtile))
            if writers is None:
                raise ProgramError(
                    f"{self.ops[frags[0]].label()} reads a slot that nothing writes",
                    fix="declare the load of that channel and subtile",
                )
            for h, frag in enumerate(frags):
                out.append(self._flow(writers[h], frag, "tile"))
                out += [
                    self._flow(frag, m, "fragment") for m in self.fragment_uses(channel, subtile, h)
                ]
        for (channel, _), stores in self.stores.items():
            fetched = self.loads.get((channel, 0), [])
            if len(fetched) != len(stores):
                raise ProgramError(f"stores of channel {channel} without as many loads")
            out += [self._flow(a, b, "staging") for a, b in zip(fetched, stores, strict=True)]
        for chain in self.mmas.values():
            out += self._cycle(chain, [self.ops[v].latency for v in chain], "accumulator")
        for chain in self.loads.values():
            out += self._cycle(chain, [0] * len(chain), "tile order")
        return out

    def _flow(self, src: int, dst: int, why: str) -> model.ModuloEdge:
        return model.ModuloEdge(src=src, dst=dst, latency=self.ops[src].latency, why=why)

    @staticmethod
    def _cycle(chain: list[int], latencies: list[int], why: str) -> list[model.ModuloEdge]:
        out = []
        for k, v in enumerate(chain):
            wrap, nxt = divmod(k + 1, len(chain))
            if v != chain[nxt] or latencies[k]:
                out.append(
                    model.ModuloEdge(
                        src=v, dst=chain[nxt], latency=latencies[k], distance=wrap, why=why
                    )
                )
        return out

    def declared_edges(self, edges: Sequence[DepEdge]) -> list[model.ModuloEdge]:
        """The schedule's own edges of ops that move no tiles (vector ops)."""
        out = []
        for e in edges:
            if e.producer_idx in self.index and e.consumer_idx in self.index:
                a, b = self.index[e.producer_idx], self.index[e.consumer_idx]
                if self.ops[a].role not in _DATA or self.ops[b].role not in _DATA:
                    latency = self.ops[a].latency if e.dep_kind is DepKind.FLOW else 0
                    out.append(
                        model.ModuloEdge(
                            src=a,
                            dst=b,
                            latency=latency,
                            distance=max(e.loop_distance, 0),
                            why=e.dep_kind.name.lower(),
                        )
                    )
        return out

    def rings(self) -> list[tuple[model.Ring, bool]]:
        """All storage as rings; True marks LDS rings, whose copies become slot indices."""
        lds = [(r, True) for key in self._lds_keys() for r in self._lds_rings(*key)]
        return lds + [(r, False) for r in self._staging() + self._fragments()]

    def _lds_keys(self) -> list[tuple[int, int]]:
        return sorted({(c, 0 if c in self.staged else s) for c, s in self.frags})

    def _lds_rings(self, channel: int, subtile: int) -> list[model.Ring]:
        source = self.stores if channel in self.staged else self.loads
        writers = source[channel, subtile]
        reads = []
        for h in range(self.partitions):
            reads.append(
                tuple(
                    model.Read(op=frags[h], hold=self.ops[frags[h]].latency)
                    for (c, s), frags in self.frags.items()
                    if c == channel and (c in self.staged or s == subtile)
                )
            )
        groups = [list(range(self.partitions))]
        if self.lds is Lds.SLOT:
            groups = [[h] for h in range(self.partitions)]
        return [
            model.Ring(
                name=f"lds {'AB'[channel] if channel < 2 else channel}.{subtile}"
                + (f" part {group[0]}" if self.lds is Lds.SLOT else ""),
                kind=model.RingKind.SMEM,
                size=self.occupancies.buffer_bytes,
                writers=tuple(writers[h] for h in group),
                readers=tuple(reads[h] for h in group),
                max_depth=self.max_depth * len(group),
            )
            for group in groups
        ]

    def _staging(self) -> list[model.Ring]:
        return [
            model.Ring(
                name=f"staging {channel}",
                kind=model.RingKind.REG,
                size=max(self.ops[v].vgpr_def for v in self.loads[channel, 0]),
                writers=tuple(self.loads[channel, 0]),
                readers=tuple(
                    (model.Read(op=s, hold=self.ops[s].latency),) for s in self.stores[channel, 0]
                ),
                max_depth=1,
            )
            for channel in sorted(self.staged)
        ]

    def _fragments(self) -> list[model.Ring]:
        """One register per (channel, subtile): the document form cannot name more copies."""
        return [
            model.Ring(
                name=f"fragment {channel}.{subtile}",
                kind=model.RingKind.REG,
                size=max(self.ops[v].vgpr_def for v in frags),
                writers=tuple(frags),
                readers=tuple(
                    tuple(model.Read(op=m) for m in self.fragment_uses(channel, subtile, h))
                    for h in range(self.partitions)
                ),
                max_depth=1,
            )
            for (channel, subtile), frags in self.frags.items()
        ]

    def values(self, edges: Sequence[DepEdge]) -> tuple[model.Value, ...]:
        """Results of vector ops that define registers: freely renamed."""
        out = []
        for v, op in enumerate(self.ops):
            if op.role in _DATA or not op.vgpr_def:
                continue
            uses = [
                model.Read(op=self.index[e.consumer_idx], distance=max(e.loop_distance, 0))
                for e in edges
                if e.dep_kind is DepKind.FLOW
                and self.index.get(e.producer_idx) == v
                and e.consumer_idx in self.index
            ]
            if uses:
                out.append(
                    model.Value(name=f"{v}:{op.label()}", size=op.vgpr_def, src=v, uses=tuple(uses))
                )
        return tuple(out)

    def slot_rings(
        self, rings: list[tuple[model.Ring, bool]]
    ) -> tuple[tuple[int, int] | None, ...]:
        """Per op the LDS ring it touches and which of the iteration's writes it concerns."""
        out: list[tuple[int, int] | None] = [None] * len(self.ops)
        for index, (ring, is_lds) in enumerate(rings):
            if not is_lds:
                continue
            for k, (writer, reads) in enumerate(zip(ring.writers, ring.readers, strict=True)):
                out[writer] = (index, k)
                for read in reads:
                    out[read.op] = (index, k)
        return tuple(out)


def _named(what: str, groups: dict[tuple[int, int], list[int]]) -> dict[str, list[int]]:
    return {f"{what} {key}": ops for key, ops in groups.items()}


def check_match_fields(ch0: int, ch1: int) -> None:
    """MMA rows take channel 0 and columns channel 1; documents know no other way."""
    if (ch0, ch1) != (0, 1):
        raise ConfigError(
            f"match fields ({ch0}, {ch1})",
            where="PipelineConfig.ch0_match_field, ch1_match_field",
            why="modulo schedules are emitted as documents, in which an MMA's row names the "
            "fragment of A and its column that of B",
            fix="use ch0_match_field=0 and ch1_match_field=1",
        )
