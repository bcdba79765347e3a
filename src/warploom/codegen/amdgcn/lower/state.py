"""``Machine``: which value stands in which register while a kernel is being lowered.

Loads stay inside the matrix: outside its buffer a load would return at once and could overtake
older ones, and the waits of a schedule count on their order (A1). A lane past the end of its row
fetches the row's first chunk instead, a tile past the end is the last one again. Only the epilogue
multiplies such tiles, so only there the fragments' chunks past K are made zero, on both sides: what
was fetched instead may be infinite.

Fragments are keyed ``(channel, fragment, tile, read)``, accumulators ``(row, column)``, staged
loads ``(channel, load)``. The values are SSA names, so a register that the schedule overwrites
while it is still read is simply another name; LLVM assigns the registers.

With few registers a wave the zeros are plain constants. When the accumulators need the upper half
of the register file (AGPRs) LLVM has to be told: left alone it keeps them in the lower half, copies
and spills. An empty assembly statement with an AGPR operand says so and emits nothing. And a matrix
instruction of 16x16, whose result LLVM may put elsewhere, is written out with its accumulator in
place where there is no register left for an elsewhere: when accumulators fill all AGPRs (256x256).
"""

from collections import Counter
from collections.abc import Callable

from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.plan import KernelPlan, Movement
from warploom.codegen.amdgcn.tile import CHUNK
from warploom.errors import BackendError
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase
from warploom.targets.mi355x import LANES

Quadrant = tuple[int, int]


def emit_ends(text: IrText, plan: KernelPlan) -> None:
    """``%trips``, ``%k_end`` (bytes covered), ``%k_last`` (start of the last tile), ``%part``."""
    protocol, tile = plan.document.protocol, plan.tile
    per, base = (n * tile.block_k for n in (protocol.k_tiles_per_iteration, protocol.kernel_k_base))
    left = text.value(f"sub i32 %dim_k, {base}")
    left = text.value(f"call i32 @llvm.smax.i32(i32 {left}, i32 0)")
    left = text.value(f"add i32 {left}, {per - 1}")
    text.add(f"%trips = udiv i32 {left}, {per}")
    done = text.times("%trips", protocol.k_tiles_per_iteration * tile.row_bytes)
    text.add(f"%k_end = add i32 {done}, {protocol.kernel_k_base * tile.row_bytes}")
    last = text.over(text.value("sub i32 %row_pitch, 1"), tile.row_bytes)
    text.add(f"%k_last = mul i32 {last}, {tile.row_bytes}")
    part = text.over("%lane", tile.mfma.m)
    text.add(f"%part = mul i32 {part}, {CHUNK}")


def check_ragged(plan: KernelPlan) -> None:
    """Refuse a schedule that multiplies a tile past the end outside its epilogue."""
    protocol = plan.document.protocol
    need = max(protocol.k_tiles_per_iteration, protocol.kernel_k_base)
    if min(_last_tiles(plan).values(), default=0) < need:
        raise BackendError(
            "the schedule multiplies its last K-tiles in the loop, so K must fill whole iterations",
            where=f"schedule {plan.document.name!r}",
            why=f"the last {need} K-tile(s) can reach past K, and only the epilogue masks them",
            fix="pad K with zeros and emit without ragged_k, or use a schedule that drains later",
        )


class Ends:
    """Where K ends, as the lowering of one kernel goes on."""

    def __init__(self, text: IrText, plan: KernelPlan) -> None:
        self._text = text
        self._plan = plan
        self._left = _last_tiles(plan)
        self._inside: dict[tuple[int, int], str] = {}
        self._zeroed: set[str] = set()

    def load_at(self, along_k: str) -> tuple[str, str]:
        """The scalar offset of a load op, and whether a lane's chunk is inside its row."""
        text = self._text
        start = text.value(f"call i32 @llvm.smin.i32(i32 {along_k}, i32 %k_last)")
        left = text.value(f"sub i32 %row_pitch, {start}")
        return start, text.value(f"icmp slt i32 %load_column, {left}")

    def lane_offset(self, offset: str, inside: str) -> str:
        """A lane's byte offset: its chunk, or the first of its row."""
        first = self._text.value(f"sub i32 {offset}, %load_column")
        return self._text.value(f"select i1 {inside}, i32 {offset}, i32 {first}")

    def next_tile(self, op: OpDesc) -> int:
        """Tiles from the end of the one an epilogue's MMA multiplies: 1 for the last."""
        quadrant = _quadrant(op)
        self._left[quadrant] -= 1
        return self._left[quadrant] + 1

    def zeroed(self, name: str, kind: str, read: int, from_end: int) -> str:
        """A fragment's chunk, zero past K; ``read``: its place along K, in reads."""
        if name in self._zeroed:
            return name
        inside = self._inside.get((read, from_end)) or self._chunk_inside(read, from_end)
        self._inside[read, from_end] = inside
        result = self._text.value(f"select i1 {inside}, {kind} {name}, {kind} zeroinitializer")
        self._zeroed.add(result)
        return result

    def _chunk_inside(self, read: int, from_end: int) -> str:
        text, tile = self._text, self._plan.tile
        start = text.value(f"sub i32 %k_end, {from_end * tile.row_bytes}")
        left = text.value(f"sub i32 %row_pitch, {start}")
        column = text.sum("%part", read * (LANES // tile.mfma.m) * CHUNK)
        return text.value(f"icmp slt i32 {column}, {left}")


def _last_tiles(plan: KernelPlan) -> Counter[Quadrant]:
    """How many tiles the epilogue multiplies, for each quadrant (or part of K)."""
    ops = (e.op for e in plan.document.epilogue if e.op.role is OpRole.COMPUTE)
    result = Counter(_quadrant(op) for op in ops)
    if not plan.joint:
        rows, columns = plan.subtiles
        result.update({(i, j): 0 for i in range(rows) for j in range(columns)})
    return result


def _quadrant(op: OpDesc) -> Quadrant:
    return op.stage, op.subtile


FragmentKey = tuple[int, int, int, int]


class Machine:
    """The lowering state of one kernel: text, register values, position along K."""

    def __init__(self, text: IrText, plan: KernelPlan) -> None:
        self.text = text
        self.plan = plan
        self.phase = Phase.PROLOGUE
        self.ends = Ends(text, plan) if plan.ragged_k else None
        self.k_base = "0"
        self.fragments: dict[FragmentKey, str] = {}
        self.staged: dict[tuple[int, int], str] = {}
        self.accumulators: dict[tuple[int, int], str] = {}
        self.in_place = False
        self.unused: dict[str, str] = {}  # name: LLVM type
        self._next_loads: dict[tuple[int, int], int] = {}

    @property
    def chunk_type(self) -> str:
        """LLVM type of one 16-byte LDS read."""
        tile = self.plan.tile
        return f"<{tile.read_bytes // 4} x i32>" if tile.element.bits <= 8 else tile.mfma.operand_ir

    def fragment_type(self, key: FragmentKey) -> str:
        """LLVM type of a fragment's register: what one LDS read gives, or a scale."""
        reads = self.plan.k_steps * self.plan.tile.reads_per_operand
        return self.chunk_type if key[3] < reads else "i32"

    @property
    def accumulator_type(self) -> str:
        """LLVM type of one accumulator tile."""
        return f"<{self.plan.tile.mfma.accumulator_registers} x float>"

    def pin(self) -> None:
        """Nothing moves across this point."""
        self.text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")

    def slot(self, channel: int, stage: int, subtile: int, offset: int) -> str:
        """Address of byte ``offset`` of an LDS slot."""
        plan = self.plan
        slot = stage * plan.subtiles[channel] + subtile
        at = slot * plan.tile.slot_bytes(channel, plan.subtiles[channel]) + offset
        return f"getelementptr (i8, ptr addrspace(3) @lds_{'ab'[channel]}, i32 {at})"

    def scale_slot(self, channel: int, stage: int, subtile: int, offset: int) -> str:
        """Address of byte ``offset`` of the scales of an LDS slot: they lie behind the elements."""
        plan, subtiles = self.plan, self.plan.subtiles[channel]
        behind = plan.stages * subtiles * plan.tile.slot_bytes(channel, subtiles)
        slot = (stage * subtiles + subtile) * plan.tile.scale_slot_bytes(channel, subtiles)
        at = behind + slot + offset
        return f"getelementptr (i8, ptr addrspace(3) @lds_{'ab'[channel]}, i32 {at})"

    def scale_k_offset(self, along_k: str) -> str:
        """Where a load's scales lie along K, from where its elements lie (in bytes)."""
        tile = self.plan.tile
        per = tile.row_bytes // (4 * tile.scale_words)
        return str(int(along_k) // per) if along_k.isdigit() else self.text.over(along_k, per)

    def scale(self, channel: int, fragment: int, tile: int, step: int, op: OpDesc) -> str:
        """The scales of an operand of a matrix instruction, one a lane."""
        reads = self.plan.k_steps * self.plan.tile.reads_per_operand
        name = self.fragments.get((channel, fragment, tile, reads + step))
        if name is None:
            raise self._never("an MMA reads scales before their load", op)
        self.unused.pop(name, None)
        return name

    def enter(self, phase: Phase, k_base: str) -> None:
        """Start a phase; ``k_base`` is the byte offset along K its loads count from."""
        self.phase = phase
        self.k_base = k_base
        self._next_loads = {}

    def k_offset(self, op: OpDesc) -> str:
        """Byte offset along K of the tile an op loads."""
        tiles = self._tile_offset(op)
        if self.k_base == "0":
            return str(tiles * self.plan.tile.row_bytes)
        return self.text.sum(self.k_base, tiles * self.plan.tile.row_bytes)

    def load_offsets(self, op: OpDesc) -> tuple[str, Callable[[int, int, int], str]]:
        """The scalar offset of a load op, and a lane's own by (channel, sub-tile, load)."""
        along_k = self.k_offset(op)
        ends = self.ends
        if ends is None:
            return along_k, lambda channel, subtile, i: f"%load_{channel}_{subtile}_{i}"
        start, inside = ends.load_at(along_k)
        return start, lambda channel, subtile, i: ends.lane_offset(
            f"%load_{channel}_{subtile}_{i}", inside
        )

    def _tile_offset(self, op: OpDesc) -> int:
        if op.k_offset is not KOffsetKind.NONE:
            return op.k_offset.signed_bk_multiple()
        # Loads without a k-offset take the next tile in order of execution, each slot its own.
        document = self.plan.document
        loader = self._loader(op)
        loads = (e.op for e in document.prologue if e.op.role is OpRole.GLOBAL_LOAD)
        before = sum(self._loader(load) == loader for load in loads)
        ahead = self._next_loads.get(loader, 0)
        self._next_loads[loader] = ahead + 1
        if self.phase is Phase.PROLOGUE:
            return ahead
        return before - document.protocol.kernel_k_base + ahead

    def _loader(self, op: OpDesc) -> tuple[int, int]:
        return self.plan.channel(op), op.subtile

    def staged_value(self, channel: int, load: int, op: OpDesc) -> str:
        """The register a store writes to LDS."""
        value = self.staged.get((channel, load))
        if value is None:
            raise self._never("a store before any load", op)
        return value

    def define_fragment(self, key: FragmentKey, name: str) -> None:
        """A read fills a fragment register; until an MMA takes it, it counts as unused."""
        self.fragments[key] = name
        self.unused[name] = self.fragment_type(key)

    def tiles_from_end(self, op: OpDesc) -> int:
        """How far the tile of an MMA is from the last, where it may reach past K; else 0."""
        if self.ends is None or self.phase is not Phase.EPILOGUE:
            return 0
        return self.ends.next_tile(op)

    def operand(
        self, channel: int, fragment: int, tile: int, step: int, op: OpDesc, from_end: int = 0
    ) -> str:
        """The A or B operand of a matrix instruction, joined from its LDS reads."""
        count = self.plan.tile.reads_per_operand
        keys = [(channel, fragment, tile, step * count + c) for c in range(count)]
        parts = [self.fragments.get(key) for key in keys]
        names = [p for p in parts if p is not None]
        if len(names) != count:
            raise self._never(
                f"an MMA reads fragment {'AB'[channel]}{fragment} before its load", op
            )
        for name in names:
            self.unused.pop(name, None)
        if from_end and self.ends is not None:
            first = fragment * self.plan.k_steps * count if self.plan.k_parts > 1 else 0
            for at, key in enumerate(keys):
                made = self.ends.zeroed(names[at], self.chunk_type, first + key[3], from_end)
                self.fragments[key] = names[at] = made
        if count == 1:
            return names[0]
        held = self.plan.tile.read_bytes // 4
        whole = self._shuffled(held, names[0], names[1], 2 * held)
        if count == 3:  # a block of 32 elements of 6 bits
            last = self._shuffled(held, names[2], "poison", 2 * held)
            whole = self._shuffled(2 * held, whole, last, 3 * held)
        return whole

    def _shuffled(self, held: int, one: str, other: str, count: int) -> str:
        """The first ``count`` dwords of two values of ``held`` dwords."""
        mask = ", ".join(f"i32 {i}" for i in range(count))
        return self.text.value(
            f"shufflevector <{held} x i32> {one}, <{held} x i32> {other}, <{count} x i32> <{mask}>"
        )

    def multiply(
        self, row: int, column: int, left: str, right: str, scales: tuple[str, str] | None = None
    ) -> None:
        """One matrix instruction into accumulator ``(row, column)``; ``scales`` of A and B."""
        mfma, kind = self.plan.tile.mfma, self.accumulator_type
        self.pin()
        into = self.accumulators.get((row, column), "zeroinitializer")
        last = mfma.tail_ir
        if scales is not None:
            last = last.format(scale_a=scales[0], scale_b=scales[1])
        call, tail = f"@{mfma.intrinsic}", f", {last}"
        if self.in_place and scales is not None:
            words = f"op_sel_hi:[0,0,0] cbsz:{mfma.element.format} blgp:{mfma.element.format}"
            order = f"{mfma.mnemonic} $0, $1, $2, $0, $4, $5 {words}"
            call = f'asm sideeffect "{order}", "=a,v,v,0,v,v"'
            tail = f", i32 {scales[0]}, i32 {scales[1]}"
        elif self.in_place:
            call, tail = f'asm sideeffect "{mfma.mnemonic} $0, $1, $2, $0", "=a,v,v,0"', ""
        self.accumulators[row, column] = self.text.value(
            f"call {kind} {call}({mfma.operand_ir} {left}, {mfma.operand_ir} {right}, "
            f"{kind} {into}{tail})"
        )

    def settle(self, *states: int) -> None:
        """Wait states around matrix instructions, where LLVM does not know that they are some."""
        for most in states if self.in_place else ():
            self.pin()
            self.text.add(f'call void asm sideeffect "s_nop {most - 1}", ""()')

    def _never(self, what: str, op: OpDesc) -> BackendError:
        return BackendError(
            what,
            where=f"{self.phase.name.lower()}: {op.label()}",
            why="the register has no value on some path to this op",
            fix="verify the schedule; it uses data that was never loaded",
        )


ARCH_REGISTERS = 256  # what one instruction can name without AGPRs
ADDRESSES = 48  # measured: offsets, bases and temporaries of the emitted kernels


def registers_wanted(plan: KernelPlan) -> int:
    """Registers a wave needs at least: accumulators, fragments, staged loads, addresses."""
    staged = plan.movement is Movement.STAGED
    fragments = sum(
        plan.fragment_registers(c) * (plan.k_parts if plan.joint else plan.subtiles[c])
        for c in (0, 1)
    )
    waiting = sum(4 * plan.loads(c) * plan.subtiles[c] for c in (0, 1)) if staged else 0
    return _accumulators(plan) + fragments + waiting + ADDRESSES


def wants_agprs(plan: KernelPlan) -> bool:
    """True when the kernel cannot live in the lower half of the register file."""
    return plan.tile.waves <= 4 and registers_wanted(plan) > ARCH_REGISTERS


def may_write_out(plan: KernelPlan) -> bool:
    """Whether LLVM may put a product elsewhere than its accumulator, and AGPRs hold them all."""
    held = _accumulators(plan) <= ARCH_REGISTERS
    return wants_agprs(plan) and plan.tile.mfma.m == 16 and held


def writes_out(plan: KernelPlan) -> bool:
    """Whether matrix instructions are written out: no AGPR is left, or the plan says so."""
    full = _accumulators(plan) == ARCH_REGISTERS
    return may_write_out(plan) and (full or plan.written_out)


def _accumulators(plan: KernelPlan) -> int:
    rows, columns = plan.grid
    return rows * columns * plan.tile.mfma.accumulator_registers


def start_accumulators(machine: Machine) -> None:
    """Give every accumulator its starting value."""
    rows, columns = machine.plan.grid
    kind = machine.accumulator_type
    upper = wants_agprs(machine.plan)
    machine.in_place = writes_out(machine.plan)
    machine.text.comment("zero the accumulators")
    for row in range(rows):
        for column in range(columns):
            zero = "zeroinitializer"
            if upper:
                zero = machine.text.value(f'call {kind} asm sideeffect "", "=a,0"({kind} {zero})')
            machine.accumulators[row, column] = zero
