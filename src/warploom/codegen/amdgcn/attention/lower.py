"""The whole attention kernel as LLVM IR text: prologue, loop, epilogue, stores.

What a home of the document's flow holds is a list of SSA values; the loop's phis carry the homes
that are read before they are written. Every instruction of a scheduled op is pinned in its place,
and the vector work of a step between two pins.
"""

from collections import Counter

from warploom.codegen.amdgcn.attention.addresses import (
    early_values,
    emit_entry,
    emit_stores,
    rest_of,
)
from warploom.codegen.amdgcn.attention.plan import MMA, AttentionPlan, K, Q, V
from warploom.codegen.amdgcn.attention.work import WIDE, Registers, Work
from warploom.codegen.amdgcn.lower.function import module_text
from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.lower.table import DMA_SCOPE, READ_SCOPE, SYNC
from warploom.codegen.amdgcn.tile import CHUNK
from warploom.ir.dataflow import STORE, FlowOp, When
from warploom.ir.schedule_ops import OpDesc, OpRole, ScheduleEntry
from warploom.ir.tile import Fn, Reduce
from warploom.passes.fuse import Step

Held = dict[str, Registers]


def attention_ir(plan: AttentionPlan) -> str:
    """LLVM IR of the kernel."""
    text = IrText()
    lowering = _Lowering(text, plan)
    lowering.kernel()
    channels = tuple(plan.channel_lds_bytes(c) for c in (K, V, Q))
    return module_text(
        plan.arguments, channels, plan.tile, text.lines, agprs=False, grid=3, name=plan.name
    )


class _Lowering:
    """Walks the phases; a mirror of what every home holds."""

    def __init__(self, text: IrText, plan: AttentionPlan) -> None:
        self.text, self.plan = text, plan
        self.element = "bfloat" if plan.text.element.value == "bf16" else "half"
        flow = plan.document.flow
        assert flow is not None
        self.flow = {(op.name, op.args[0] if op.args else 0): op for op in flow.ops}
        self.home = {h.value: h.place for h in flow.homes}
        self.steps: dict[str, Step] = {s.name: s for s in plan.text.steps}
        ops = [op for s in plan.text.steps for op in s.ops]
        # What was summed is zero where a key does not exist.
        self.summed = {op.arg for op in ops if isinstance(op, Reduce) and op.fn is Fn.ADD}
        self.held: Held = {}
        self.early: dict[str, Registers] = {}
        self.turn = ""
        self.runs: Counter[tuple[str, int]] = Counter()

    def kernel(self) -> None:
        """Emit everything."""
        text, document = self.text, self.plan.document
        emit_entry(text, self.plan, Work(text, self.plan, {}))
        self.early = early_values(self.plan, Work(text, self.plan, {}))
        self._start()
        self._phase(document.prologue)
        before = dict(self.held)
        filled = Counter(self.runs)
        self._loop(before, filled)
        self._epilogue(before)
        emit_stores(text, self.plan, self._after())

    def _start(self) -> None:
        for carried in self.plan.text.body.loop.carried:
            first = Work(self.text, self.plan, self.early).at(carried.first)
            wide = any(d.var == self.plan.text.head for d in carried.inside.dims)
            for j in range(self.plan.head_tiles if wide else 1):
                home = f"{carried.inside.name}_{j}" if wide else carried.inside.name
                kind = WIDE if wide else "float"
                self.held[home] = [(kind, f"splat (float {first})" if wide else first)]

    def _phase(self, entries: tuple[ScheduleEntry, ...]) -> None:
        for entry in entries:
            self.text.comment(entry.op.label())
            sync = SYNC.get(int(entry.op.tag))
            if sync is not None:
                sync(self, entry.op)
            else:
                self._data(entry.op)

    # What the lowering of synchronisation asks of a machine.

    def pin(self) -> None:
        """Nothing moves across this point."""
        self.text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")

    def _loop(self, before: Held, filled: Counter[tuple[str, int]]) -> None:
        text, document = self.text, self.plan.document
        self.pin()
        text.add("br label %guard")
        text.label("guard")
        text.add("%enter = icmp sgt i32 %trips, 0")
        text.add("br i1 %enter, label %loop, label %drain")
        text.label("loop")
        self.turn = "%turn"
        at = len(text.lines)
        carried = {h: v for h, v in before.items() if h in self._read_first(document.kernel)}
        for home, values in carried.items():
            self.held[home] = [
                (kind, f"%loop_{_word(home)}_{i}") for i, (kind, _) in enumerate(values)
            ]
        self._phase(document.kernel)
        self.pin()
        text.add("%turn_next = add i32 %turn, 1")
        text.add("%again = icmp slt i32 %turn_next, %trips")
        text.add("br i1 %again, label %loop, label %drain")
        end = text.block
        phis = [f"  %turn = phi i32 [ 0, %guard ], [ %turn_next, %{end} ]"]
        for home, values in carried.items():
            for i, (kind, first) in enumerate(values):
                again = self.held[home][i][1]
                phis.append(
                    f"  %loop_{_word(home)}_{i} = phi {kind} [ {first}, %guard ], "
                    f"[ {again}, %{end} ]"
                )
        text.lines[at:at] = phis
        self.runs = filled

    def _epilogue(self, before: Held) -> None:
        text, document = self.text, self.plan.document
        end = text.block
        text.label("drain")
        last = {
            self.home[o.value] for op in self.flow.values() if op.role == STORE for o in op.operands
        }
        wanted = self._read_first(document.epilogue) | last
        for home in sorted(wanted):
            after, first = self.held[home], before.get(home)
            if first == after:
                continue
            self.held[home] = [
                (
                    kind,
                    text.value(
                        f"phi {kind} [ {first[i][1] if first else 'poison'}, %guard ], "
                        f"[ {name}, %{end} ]"
                    ),
                )
                for i, (kind, name) in enumerate(after)
            ]
        self.turn = "%trips"
        self._phase(document.epilogue)
        self.pin()

    def _read_first(self, entries: tuple[ScheduleEntry, ...]) -> set[str]:
        """Homes that a phase reads before it writes them."""
        found: set[str] = set()
        written: set[str] = set()
        for entry in entries:
            op = self.flow.get((entry.op.name, entry.op.subtile))
            if op is not None:
                found |= {self.home[o.value] for o in op.operands} - written
                written |= {self.home[r] for r in op.results}
        return {h for h in found if "." not in h}

    def _data(self, op: OpDesc) -> None:
        declared = self.flow[op.name, op.subtile]
        number = self._iteration(op, declared)
        if op.role is OpRole.GLOBAL_LOAD:
            self._load(op, number)
        elif op.role is OpRole.FRAGMENT_LOAD:
            place = self.home[declared.results[0]]
            self.held[place] = self._turned(op) if op.channel == V else self._fragment(op)
        elif op.role is OpRole.COMPUTE:
            self._multiply(declared)
        else:
            self._vector(self.steps[op.name], op.subtile, declared, number)

    def _iteration(self, op: OpDesc, declared: FlowOp) -> str:
        """Which iteration of the loop this run of an op belongs to."""
        if declared.when is not When.LOOP:
            return "0"
        number = self.runs[op.name, op.subtile]
        self.runs[op.name, op.subtile] += 1
        if not self.turn:
            return str(number)
        per = self.plan.document.protocol.k_tiles_per_iteration
        return self.text.sum(self.text.times(self.turn, per), number)

    def _slot(self, op: OpDesc, offset: int) -> str:
        at = op.stage * self.plan.slot_bytes(op.channel) + offset
        return f"getelementptr (i8, ptr addrspace(3) @lds_{'abc'[op.channel]}, i32 {at})"

    def _load(self, op: OpDesc, number: str) -> None:
        """A tile of keys, values or queries; rows past the last are the last one again."""
        text, tile = self.text, self.plan.tile
        if op.channel == Q:
            axis = self.plan.text.kernel.var(self.plan.text.row).axis
            first, last = f"%at_{self.plan.text.row}", text.value(f"sub i32 %dim_{axis}, 1")
        else:
            first, last = self._first_key(number), "%last_key"
        for i in range(self.plan.loads(op.channel)):
            row = text.sum(text.value(f"add i32 %load_row, {first}"), i * tile.rows_per_step)
            row = text.value(f"call i32 @llvm.umin.i32(i32 {row}, i32 {last})")
            at = text.value(f"add i32 {text.times(row, tile.row_bytes)}, %load_column")
            self.pin()
            slot = self._slot(op, i * tile.threads * CHUNK)
            to = text.value(f"getelementptr inbounds i8, ptr addrspace(3) {slot}, i32 %share")
            text.add(
                "call void @llvm.amdgcn.raw.ptr.buffer.load.lds("
                f"ptr addrspace(8) %rsrc{op.channel}, ptr addrspace(3) {to}, i32 16, "
                f"i32 {at}, i32 0, i32 0, i32 0){DMA_SCOPE}"
            )

    def _first_key(self, number: str) -> str:
        tile = self.text.value(f"add i32 %first_tile, {number}")
        return self.text.times(tile, self.plan.keys)

    def _fragment(self, op: OpDesc) -> Registers:
        text, kind = self.text, f"<8 x {self.element}>"
        found = []
        for step in range(self.plan.tile.k_steps):
            self.pin()
            below = op.subtile * MMA[0] * self.plan.tile.row_bytes
            # Chunks of a row are exchanged by XOR, so the next two of them are one XOR away.
            lane = text.value(f"xor i32 %frag_{op.channel}, {2 * CHUNK * step}")
            at = text.value(
                f"getelementptr inbounds i8, ptr addrspace(3) {self._slot(op, below)}, i32 {lane}"
            )
            name = text.value(f"load {kind}, ptr addrspace(3) {at}, align 16{READ_SCOPE}")
            found.append((kind, name))
        return found

    def _turned(self, op: OpDesc) -> Registers:
        """Columns of V: eight keys of a lane by two transposed reads of four."""
        text, kind = self.text, f"<4 x {self.element}>"
        suffix = "v4bf16" if self.element == "bfloat" else "v4f16"
        found = []
        for part in range(2 * self.plan.key_steps):
            self.pin()
            below = 8 * part * self.plan.tile.row_bytes
            at = text.value(
                f"getelementptr inbounds i8, ptr addrspace(3) {self._slot(op, below)}, "
                f"i32 %frag_{V}_{op.subtile}"
            )
            name = text.value(
                f"call {kind} @llvm.amdgcn.ds.read.tr16.b64.{suffix}("
                f"ptr addrspace(3) {at}){READ_SCOPE}"
            )
            found.append((kind, name))
        return found

    def _multiply(self, declared: FlowOp) -> None:
        """S^T = K Q^T, or O^T += V^T P^T: rows along keys or the head, columns along queries."""
        text, mfma = self.text, self.plan.tile.mfma
        left, right = (self.held[self.home[o.value]] for o in declared.operands[:2])
        into = [self.held[self.home[o.value]][0][1] for o in declared.operands[2:]]
        total = into[0] if into else "zeroinitializer"
        if left[0][0].startswith("<4"):
            left = [
                (f"<8 x {self.element}>", self._joined(left[i : i + 2]))
                for i in range(0, len(left), 2)
            ]
        for (kind, a), (_, b) in zip(left, right, strict=True):
            self.pin()
            total = text.value(
                f"call {WIDE} @{mfma.intrinsic}({kind} {a}, {kind} {b}, "
                f"{WIDE} {total}, {mfma.tail_ir})"
            )
        self.held[self.home[declared.results[0]]] = [(WIDE, total)]

    def _joined(self, pair: Registers) -> str:
        (kind, low), (_, high) = pair
        order = ", ".join(f"i32 {i}" for i in range(8))
        return self.text.value(f"shufflevector {kind} {low}, {kind} {high}, <8 x i32> <{order}>")

    # Vector work.

    def _vector(self, step: Step, piece: int, declared: FlowOp, number: str) -> None:
        self.pin()
        first = whole = ""
        if step.cols == self.plan.text.key:
            start, cut = self._first_key(number), self.plan.text.cut
            first = self.text.value(f"add i32 {start}, %half_rows")
            whole = self._whole(start) if cut is None or cut.known else ""
        made = self._run(step, piece, first, whole)
        for value, name in zip(step.results, declared.results, strict=True):
            self.held[self.home[name]] = made[value]
        self.pin()

    def _whole(self, first: str) -> str:
        """Whether all keys of a tile exist and all queries of the wave see them."""
        text, keys = self.text, self.plan.keys
        last = text.value(f"add i32 {first}, {keys - 1}")
        whole = text.value(f"icmp slt i32 {last}, %limit")
        work = Work(text, self.plan, self.early)
        for bound in self.plan.text.cut.bounds if self.plan.text.cut else ():
            rows = text.sum("%wave_row", MMA[1] - 1 if bound.rows < 0 else 0)
            least = rest_of(text, work, bound, rows)
            if bound.loop:
                part = last if bound.loop < 0 else first
                fn = "sub" if bound.loop < 0 else "add"
                least = text.value(f"{fn} i32 {least}, {part}")
            seen = text.value(f"icmp sge i32 {least}, 0")
            whole = text.value(f"and i1 {whole}, {seen}")
        return whole

    def _run(self, step: Step, piece: int, first_key: str, whole: str) -> dict[str, Registers]:
        given = self.early | {r: self._registers(r, piece) for r in step.reads}
        work = Work(self.text, self.plan, given, first_key=first_key, whole=whole)
        weights = self.plan.text.output.a
        made: dict[str, Registers] = {}
        for op in step.ops:
            if op.result.name == weights:
                source = op.args[0]  # type: ignore[union-attr]
                tiles = work.tiles(source)
                made[weights] = self._packed(
                    tiles if source in self.summed else work.inside(tiles, 0.0)
                )
                continue
            made[op.result.name] = work.run(op)
            if isinstance(op, Reduce) and op.arg in made:  # masked by now
                made[op.arg] = work.tiles(op.arg)
        if step.cols == self.plan.text.head:
            return {v: work.tiles(v) for v in step.results}
        return made

    def _registers(self, value: str, piece: int) -> Registers:
        """The registers of a lane that hold a value (of one tile along the head)."""
        body, text = self.plan.text.body, self.plan.text
        if value == text.scores.result.name:
            return [r for i in range(self.plan.score_tiles) for r in self.held[f"{value}_{i}"]]
        wide = any(d.var == text.head for d in body.values[value].dims)
        name = f"{value}_{piece}" if wide else value
        return self.held[name if value in body.inside else self.home[name]]

    def _packed(self, tiles: Registers) -> Registers:
        """Weights as operands of the second product: eight a register group, converted."""
        text, kind, found = self.text, f"<8 x {self.element}>", []
        for _, tile in tiles:
            for first in (0, 8):
                order = ", ".join(f"i32 {first + i}" for i in range(8))
                wide = text.value(
                    f"shufflevector {WIDE} {tile}, {WIDE} poison, <8 x i32> <{order}>"
                )
                found.append((kind, text.value(f"fptrunc <8 x float> {wide} to {kind}")))
        return found

    def _after(self) -> dict[str, list[Registers]]:
        """Carried values after the loop, by tile along the head."""
        found = {}
        for carried in self.plan.text.body.loop.carried:
            wide = any(d.var == self.plan.text.head for d in carried.inside.dims)
            pieces = range(self.plan.head_tiles if wide else 1)
            found[carried.result.name] = [self._registers(carried.inside.name, j) for j in pieces]
        return found


def _word(home: str) -> str:
    return home.replace(":", "_")
