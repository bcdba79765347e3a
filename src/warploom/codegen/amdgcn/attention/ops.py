"""The ops of one iteration of two products around vector work, and the values between them.

All is read off the text and its steps: which values an op takes and makes, of which iteration, in
which home each lives, and how many registers it has there.
"""

from dataclasses import dataclass, replace

from warploom.codegen.amdgcn.attention.plan import MMA, READS_V, AttentionPlan, K, Q, V
from warploom.codegen.amdgcn.attention.tile_kernel import AttentionTileKernel
from warploom.codegen.amdgcn.isa import Resources
from warploom.codegen.amdgcn.lower.state import ARCH_REGISTERS
from warploom.codegen.amdgcn.sidecar import most_live
from warploom.codegen.amdgcn.tile import GemmTile, waves_per_simd
from warploom.errors import BackendError
from warploom.ir import Counters
from warploom.ir.dataflow import SETUP, STORE, WAVE, Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.elementwise import functions
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, OpTag, ResourceKind
from warploom.ir.tile import Carried, Fn, Op, Pointwise, Reduce, operands, results
from warploom.passes.fuse import Step
from warploom.targets.mi355x import LANES, mi355x

_SLOW = functions(lambda row: row.cost.mufu)
_PAIRED = frozenset({Fn.ADD, Fn.SUB, Fn.MUL, Fn.CAST})
_UNIT = {
    OpRole.GLOBAL_LOAD: ResourceKind.GLOBAL_MEM,
    OpRole.FRAGMENT_LOAD: ResourceKind.LDS,
    OpRole.COMPUTE: ResourceKind.MMA_UNIT,
    OpRole.VALU_COMPUTE: ResourceKind.VALU,
}


class AttentionOps:
    """The ops of one iteration and the values between them."""

    def __init__(self, text: AttentionTileKernel, tile: GemmTile) -> None:
        self.text, self.tile = text, tile
        self.scores = tile.block_m // MMA[0]
        self.heads = tile.block_k // MMA[0]
        self.key_steps = tile.block_m // MMA[2]
        loads = tile.loads(0, 1)
        self.counters = Counters(
            vm_per_load=(loads, loads), lgkm_per_load=(tile.k_steps, self.key_steps * READS_V)
        )
        self._body: list[OpDesc] = []
        self._flow: list[FlowOp] = []
        self._homes: dict[str, str] = {}
        self.sizes: dict[str, int] = {}  # registers of each home
        self._tags: dict[str, OpTag] = {}
        self._instructions: dict[str, int] = {}
        self._declare()

    @property
    def body(self) -> tuple[OpDesc, ...]:
        """The ops of the loop, in the order of the text."""
        return tuple(op for op in self._body if op.channel != Q)

    @property
    def queries(self) -> tuple[OpDesc, ...]:
        """The ops that bring the queries, once a tile."""
        return tuple(op for op in self._body if op.channel == Q)

    @property
    def flow(self) -> Flow:
        """What the ops compute."""
        homes = tuple(Home(value=v, place=p) for v, p in self._homes.items())
        return Flow(ops=tuple(self._flow), homes=homes)

    def flow_of(self, op: OpDesc) -> FlowOp:
        """The declaration of an op."""
        return next(f for f in self._flow if (f.name, f.args) == (op.name, (op.subtile,)))

    def cycles(self, op: OpDesc) -> int:
        """Cycles of a vector op of one wave."""
        return self._instructions[op.name]

    def _declare(self) -> None:
        text = self.text
        q, k, v = (load.tensor for load in (text.q, text.k, text.v))
        starts = [value for c in text.body.loop.carried for value in self._start(c)]
        self._flow.append(FlowOp(name="start", role=SETUP, when=When.HEAD, results=tuple(starts)))
        self._move(q, Q, 1, when=When.HEAD)
        self._move(k, K, self.scores)
        self._move(v, V, self.heads)
        for i in range(self.scores):
            name = f"{text.scores.result.name}_{i}"
            factors: tuple[FlowOperand, ...] = (_of(f"{k}_{i}"), _of(f"{q}_0"))
            self._add((q + k).upper(), OpRole.COMPUTE, factors, ((name, name),), i, 16, text.scores)
        for step in text.steps:
            self._step(step)
        for j in range(self.heads):
            into = [text.output.into] if text.output.into else []
            taken = tuple(o for n in (text.output.a, *into) for o in self._operand(n, j))
            name, inside = f"{text.output.result.name}_{j}", self._sum()
            result = ((name, f"{inside.inside.name}_{j}"),)
            factors = (_of(f"{v}_{j}"), *taken)
            self._add(f"P{v}".upper(), OpRole.COMPUTE, factors, result, j, 16, text.output)
        lasts = [
            self._operand(c.inside.name, j) for c in text.body.loop.carried for j in self._at(c)
        ]
        taken = tuple(replace(o, back=0, before=None) for found in lasts for o in found)
        self._flow.append(
            FlowOp(name="store", role=STORE, when=When.TAIL, operands=taken, stores=True)
        )

    def _sum(self) -> Carried:
        """The carried sum of the second product."""
        last = self.text.output.result.name
        return next(c for c in self.text.body.loop.carried if c.last == last)

    def _at(self, carried: Carried) -> range:
        """The pieces of a carried value: tiles along the head, or one."""
        wide = any(d.var == self.text.head for d in carried.inside.dims)
        return range(self.heads if wide else 1)

    def _start(self, carried: Carried) -> list[str]:
        """The values a carried one starts from."""
        values = []
        for j in self._at(carried):
            home = self._name(carried.inside.name, j)
            values.append(f"{home}_first")
            self._homes[f"{home}_first"] = home
        return values

    def _name(self, value: str, piece: int) -> str:
        dims = [d.var for d in self.text.body.values[value].dims]
        return f"{value}_{piece}" if self.text.head in dims else value

    def _operand(self, value: str, piece: int) -> tuple[FlowOperand, ...]:
        """A value of the text as operands: scores come in pieces, carried ones from before."""
        body = self.text.body
        if value == self.text.scores.result.name:
            return tuple(_of(f"{value}_{i}") for i in range(self.scores))
        if value in body.inside:
            last = self._name(body.inside[value].last, piece)
            first = f"{self._name(value, piece)}_first"
            return (FlowOperand(value=last, back=1, before=first),)
        return (_of(self._name(value, piece)),)

    def _move(self, tensor: str, channel: int, pieces: int, when: When = When.LOOP) -> None:
        tile = f"{tensor}_tile"
        self._add(
            f"LOAD_{tensor.upper()}",
            OpRole.GLOBAL_LOAD,
            (),
            ((tile, f"{channel}.0"),),
            0,
            0,
            None,
            channel,
            when,
        )
        width = 4 * (self.tile.k_steps if channel != V else self.key_steps)
        for i in range(pieces):
            value = ((f"{tensor}_{i}", f"{channel}:{i}"),)
            name = f"READ_{tensor.upper()}"
            self._add(
                name, OpRole.FRAGMENT_LOAD, (_of(tile),), value, i, width, None, channel, when
            )

    def _step(self, step: Step) -> None:
        text, body = self.text, self.text.body
        wide = step.cols == text.head
        carried = {c.last: c for c in body.loop.carried}
        for j in range(self.heads if wide else 1):
            taken = [o for r in step.reads for o in self._operand(r, j)]
            made = []
            for value in step.results:
                name, home = self._name(value, j), self._name(value, j)
                if value in carried:
                    home = self._name(carried[value].inside.name, j)
                elif value == text.output.into:
                    home = f"{self._sum().inside.name}_{j}"
                made.append((name, home))
            pieces = self.heads if wide else 1
            for value, (_, home) in zip(step.results, made, strict=True):
                self.sizes[home] = self._registers(value) // pieces
            size = sum(self._registers(v) for v in step.results) // pieces
            self._instructions[step.name] = self._cycles(step) // pieces
            self._add(
                step.name,
                OpRole.VALU_COMPUTE,
                tuple(dict.fromkeys(taken)),
                tuple(made),
                j,
                size,
                step.ops[0],
            )

    def _registers(self, value: str) -> int:
        dims = [d.var for d in self.text.body.values[value].dims]
        if self.text.key in dims:
            return self.tile.block_m * MMA[1] // LANES
        return self.tile.block_k * MMA[1] // LANES if self.text.head in dims else 1

    def _cycles(self, step: Step) -> int:
        """Cycles of a step: instructions of a wave; sums, products, conversions two at once."""
        chip, body, total = mi355x(), self.text.body, 0
        for op in step.ops:
            over = op.arg if isinstance(op, Reduce) else op.result.name
            price = chip.issue
            if isinstance(op, Reduce) or (isinstance(op, Pointwise) and op.fn in _PAIRED):
                price = chip.issue // 2
            elif isinstance(op, Pointwise) and op.fn in _SLOW:
                price = chip.transcendental
            total += self._registers(over) * price
            cheap = [a for a in operands(op) if body.is_cheap(a)]
            total += sum(self._registers(a) for a in cheap) * chip.issue // 2
        return total

    def _add(
        self,
        name: str,
        role: OpRole,
        taken: tuple[FlowOperand, ...],
        made: tuple[tuple[str, str], ...],
        piece: int,
        size: int,
        op: Op | None,
        channel: int = -1,
        when: When = When.LOOP,
    ) -> None:
        tag = self._tags.setdefault(name, OpTag(len(self._tags), name))
        line = next((v.line for v in results(op)), None) if op is not None else None
        self._homes.update(made)
        for _, home in made:
            self.sizes.setdefault(home, size)
        self._flow.append(
            FlowOp(
                name=name,
                role=WAVE,
                args=(piece,),
                when=when,
                operands=taken,
                results=tuple(v for v, _ in made),
                line=str(line) if line else "",
            )
        )
        queries = channel == Q
        self._body.append(
            OpDesc(
                tag=tag,
                subtile=piece,
                role=role,
                resource=_UNIT[role],
                channel=channel,
                vgpr_def=size,
                vm_cost=self.tile.loads(1, 1) if queries and role is OpRole.GLOBAL_LOAD else 0,
                lgkm_cost=self.tile.k_steps if queries and role is OpRole.FRAGMENT_LOAD else 0,
                k_offset=KOffsetKind.K0
                if queries and role is OpRole.GLOBAL_LOAD
                else KOffsetKind.NONE,
            )
        )


def _of(value: str) -> FlowOperand:
    return FlowOperand(value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRegisters:
    """Modelled and real registers of one wave.

    ``peak``: most registers whose values are still to be used, over a steady iteration, by the
    sizes the scheduler knows; ``real``: the compiler's count.
    """

    peak: int
    real: int
    budget: int

    def text(self) -> str:
        """One line for reports."""
        return (
            f"{self.real} of {self.budget} registers: {self.peak} hold values at the peak of the "
            f"schedule, {self.real - self.peak} addresses, copies and temporaries"
        )


def held_registers(plan: AttentionPlan, resources: Resources) -> HeldRegisters:
    """Set the schedule's numbers beside the compiler's."""
    budget = min(ARCH_REGISTERS, mi355x().registers // waves_per_simd(plan.tile))
    return HeldRegisters(peak=live_peak(plan), real=resources.vgprs, budget=budget)


def live_peak(plan: AttentionPlan) -> int:
    """Most registers that hold values at once: fragments, scores, weights, sums and queries."""
    flow = plan.document.flow
    assert flow is not None
    home = {h.value: h.place for h in flow.homes}
    ops = {(op.name, op.args[0] if op.args else 0): op for op in flow.ops}
    sizes = AttentionOps(plan.text, plan.tile).sizes
    loop = [ops[e.op.name, e.op.subtile] for e in plan.document.kernel if e.op.tag < 128]
    steps = [({home[r] for r in op.results}, {home[o.value] for o in op.operands}) for op in loop]
    queries = 4 * plan.tile.k_steps
    return queries + most_live(steps, lambda p: 0 if "." in p else sizes.get(p, 0))


def require_registers(plan: AttentionPlan, resources: Resources) -> None:
    """Refuse a kernel that spills, saying what would make it fit."""
    if resources.spills == 0 and resources.scratch_bytes == 0:
        return
    held = held_registers(plan, resources)
    raise BackendError(
        f"the kernel spills {resources.vgpr_spills} vector and {resources.sgpr_spills} scalar "
        f"registers ({resources.scratch_bytes} bytes of scratch)",
        where=plan.tile.label(),
        why=f"a wave has {held.budget} registers; this schedule holds {held.peak} at its peak",
        fix="fewer keys a step, or an order of less overlap",
    )
