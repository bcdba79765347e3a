"""Runs all workgroups of a launch and orders every access against the earlier ones."""

import dataclasses
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.findings import Findings
from warploom.check.amdgcn.matrix import make_mfma
from warploom.check.amdgcn.memory import (
    Access,
    Addresses,
    Bytes,
    GlobalMemory,
    Journal,
    Lds,
    snapshot_of,
)
from warploom.check.amdgcn.operands import (
    has_dpp,
    is_vector,
    read_pair,
    read_scalar,
    rows,
    write_pair,
    write_scalar,
)
from warploom.check.amdgcn.rare_transfer import make_rare_transfer
from warploom.check.amdgcn.reader import Instruction, Kernel, Waits, evaluate, read_waits
from warploom.check.amdgcn.scalar import SCALAR
from warploom.check.amdgcn.state import (
    INFINITE,
    Clock,
    FaultError,
    Lanes,
    Operation,
    Queue,
    Wave,
    merge,
)
from warploom.check.amdgcn.transfer import Brought, Moves, make_transfer
from warploom.check.amdgcn.uses import (
    EXEC_IDS,
    Uses,
    has_result,
    is_dma,
    is_vector_memory,
    uses_of,
)
from warploom.check.amdgcn.vector import make_vector
from warploom.errors import CheckError, UnsupportedCodeError as UnsupportedError
from warploom.report import AddressRange

Effect = Callable[[Wave], None]
CODE = 0x0000_7B00_0000_0000  # where the code stands, for those who ask
CODE_STEP = 4  # bytes an instruction, whatever its encoding
COMPLETE = -1  # minus a wave: its marks of operations that are complete, written back or not
_ORDER = re.compile(r"(forward|reverse|shuffled|random|starve\d{0,4})$")
SLICE = 20_000  # instructions a workgroup runs before others get their turn
MOST_ROUNDS = 4  # in which everybody polls and nothing changes, until it counts as a deadlock


@dataclass(slots=True)
class Settings:
    """How a launch is run.

    ``order`` is how the waves of a workgroup take turns: ``forward``, ``reverse``, ``shuffled`` (a
    fixed order by chance), ``random`` (turns of some instructions), ``starve0`` (wave 0 last) ...
    """

    axioms: dict[str, bool]
    order: str = "forward"
    seed: int = 0
    max_steps: int = 20_000_000
    max_accesses: int = 10_000_000  # to global memory; each is kept until the end


@dataclass(slots=True)
class Group:
    """One workgroup."""

    index: int
    waves: list[Wave]
    lds: Lds
    steps: int = 0
    barriers: int = 0
    marks: dict[int, set[int]] = field(default_factory=dict)
    passed: tuple[list[Wave], list[Wave], list[int]] | None = None  # a barrier without ended waves

    @property
    def done(self) -> bool:
        """Every wave has ended."""
        return all(w.ended for w in self.waves)


class Machine:
    """The chip, as far as one launch sees it."""

    def __init__(
        self, kernel: Kernel, memory: GlobalMemory, settings: Settings, findings: Findings
    ) -> None:
        self.kernel, self.memory, self.settings = kernel, memory, settings
        self.findings = findings
        self.journal = Journal(memory)
        self.lds = Lds(0, 1, 4, dma=False, atomics=False)
        self.steps = 0
        self.used: set[str] = set()  # axioms that a verdict rests on
        self.draws: set[str] = set()
        self.ran = np.zeros(len(kernel.instructions), np.bool_)
        self._code = kernel.instructions
        self._uses = [uses_of(i) for i in self._code]
        self._touched = [u.all for u in self._uses]
        self._reads = [u.reads for u in self._uses]
        self._loads = [_returns_in_order(i) for i in self._code]
        self._counted = [_counter_of(i.mnemonic) for i in self._code]
        self._program: list[Effect | None] = [None] * len(self._code)
        self._group: Group | None = None
        self._messages: dict[int, dict[int, int]] = {}  # what a location hands to its readers
        self._constants: dict[str, int] = {}
        self.disturbed: dict[tuple[int, int, int], NDArray[np.int64]] = {}
        self.disturbance = 0
        self._changes = 0
        self._random = random.Random(settings.seed)
        if not _ORDER.match(settings.order):
            raise CheckError(
                f"no order of waves {settings.order!r}",
                where="order",
                fix="forward, reverse, shuffled, random or starveN",
            )
        self._ranks = [self._random.random() for _ in range(64)]
        self._has_dma = any(is_dma(i) for i in self._code)
        self.deciding: set[int] = set()  # loads whose values decide where a wave goes on
        self._polls = any(_is_poll(i) for i in self._code)
        self._halves = {} if kernel.keeps_halves else half_loads(self._code)
        self.unwritten: tuple[int, Wave, int] | None = None  # a read of LDS that nobody wrote
        self._flows = [_Flow.of(i, u) for i, u in zip(self._code, self._uses, strict=True)]
        self._in_order = settings.axioms.get("vm_order", True)
        self._stalls = settings.axioms.get("counter_stall", True)

    # Running.

    def run(self, groups: Iterator[Group]) -> None:
        """Run every workgroup; those that wait for others let them run."""
        active: list[Group] = []
        with np.errstate(all="ignore"):
            for group in groups:
                active.append(group)
                self._slice(group)
                if self.findings.stopped:
                    return
                active = [g for g in active if not g.done]
                if len(active) > 64:
                    self._round(active)
                    active = [g for g in active if not g.done]
            while active and not self.findings.stopped:
                before = self._changes
                self._round(active)
                active = [g for g in active if not g.done]
                if active and self._changes == before and self._stuck(active):
                    return

    def _round(self, active: list[Group]) -> None:
        for group in active:
            if not self.findings.stopped:
                self._slice(group)

    def _stuck(self, active: list[Group]) -> bool:
        """Nothing in memory changed for a whole round: run once more and look for repetition."""
        for group in active:
            group.marks = {w.uid: set() for w in group.waves}
        before = self._changes
        for _ in range(MOST_ROUNDS):
            self._round(active)
            if self._changes != before or any(g.done for g in active):
                return False
        spinning = [w for g in active for w in g.waves if not w.ended and not w.at_barrier]
        repeats = all(
            -1 in g.marks.get(w.uid, ()) for g in active for w in g.waves if w in spinning
        )
        for group in active:
            group.marks = {}
        if repeats and spinning:
            wave = spinning[0]
            self.findings.deadlock(
                self._code, wave, self._group_of(wave, active),
                "it polls memory that nobody changes any more: every state it can reach repeats",
                "the store or atomic that the loop waits for must be reached by somebody",
            )  # fmt: skip
            return True
        return False

    @staticmethod
    def _group_of(wave: Wave, active: list[Group]) -> int:
        return next((g.index for g in active if wave in g.waves), 0)

    def _slice(self, group: Group) -> None:
        """Run one workgroup until it ends or has used its turn."""
        self._group, self.lds = group, group.lds
        budget = SLICE * len(group.waves)
        turn = 0
        while not group.done and budget > 0:
            ready = [w for w in group.waves if not w.ended and not w.at_barrier]
            if not ready:
                self._barrier(group)
                if self.findings.stopped:
                    return
                continue
            for wave in self._ordered(ready, turn):
                limit = max(1, min(self._limit(), self.settings.max_steps - self.steps + 1))
                ran = self._advance(wave, limit)
                budget -= ran
                self.steps += ran
                group.steps += ran
            turn += 1
            idle = not group.done and all(w.yields for w in ready)
            for wave in ready:
                wave.yields = False
            if idle:
                return
            if group.done and group.passed is not None:
                self._without_ended(group, *group.passed)
            if self.steps > self.settings.max_steps:
                raise UnsupportedError(
                    f"the launch does not end within {self.settings.max_steps} instructions",
                    fix="a smaller launch, or a larger max_steps",
                )

    def _ordered(self, ready: list[Wave], turn: int) -> list[Wave]:
        order = self.settings.order
        if order == "reverse":
            return ready[::-1]
        if order == "random":
            self._random.shuffle(ready)
        elif order == "shuffled":
            return sorted(ready, key=lambda w: self._ranks[w.index % 64])
        elif order.startswith("starve"):
            last = int(order.removeprefix("starve") or 0)
            return [w for w in ready if w.index != last] or ready
        return ready

    def _limit(self) -> int:
        return self._random.randint(1, 200) if self.settings.order == "random" else SLICE

    def _barrier(self, group: Group) -> None:
        waiting = [w for w in group.waves if w.at_barrier]
        ended = [w for w in group.waves if w.ended]
        exits = self.settings.axioms.get("exited_waves", True)
        skipped = [w for w in ended if w.accesses > w.accesses_at_barrier or not exits]
        if ended and not skipped:
            group.passed = group.passed or (waiting, ended, [w.accesses for w in waiting])
        if skipped:
            self.findings.barrier(self._code, waiting, skipped, group.index)
            if self.findings.stopped:
                return
        for wave in waiting:
            wave.at_barrier = False
        waiting[0].join(waiting)
        group.barriers += 1

    def _without_ended(
        self, group: Group, waiting: list[Wave], ended: list[Wave], before: list[int]
    ) -> None:
        """A barrier that waves passed while others had ended: what for, if nothing follows it?"""
        if any(w.accesses > count for w, count in zip(waiting, before, strict=True)):
            self.used.add("exited_waves")
        else:
            self.findings.barrier(self._code, waiting, ended, group.index)

    def _advance(self, w: Wave, limit: int) -> int:
        """Run one wave until it blocks, ends, or has used its turn."""
        program, code, ran = self._program, self._code, self.ran
        touched = self._touched
        steps = 0
        count = len(code)
        while steps < limit:
            at = w.pc
            if at >= count:
                self._past_the_end()
            effect = program[at]
            if effect is None:
                effect = program[at] = self._decode(at)
            ran[at] = True
            if w.flying or w.flying_off:
                self._in_flight(w, at, touched[at])
            if w.tainted:
                self._taint(w, at)
            if self._polls:
                self._follow(w, at)
            if self._halves:
                self._half(w, at)
            w.pc = at + 1
            w.steps += 1
            steps += 1
            self._execute(w, at, effect)
            if w.ended or w.at_barrier or w.yields:
                break
        return steps

    def _past_the_end(self) -> NoReturn:
        last = self._code[-1].line
        raise UnsupportedError("the code ends without s_endpgm", where=f"line {last}", line=last)

    def _execute(self, w: Wave, at: int, effect: Effect) -> None:
        instruction = self._code[at]
        try:
            effect(w)
        except FaultError as fault:
            self.findings.fault(instruction, at, w, self._group_index(), fault)
            w.ended = True
        except UnsupportedError as error:
            raise self._located(error, instruction) from None
        except (IndexError, ValueError, OverflowError, TypeError, KeyError) as error:
            raise self._located(
                UnsupportedError(f"{instruction.mnemonic} cannot be executed: {error}"), instruction
            ) from None

    def _group_index(self) -> int:
        return self._group.index if self._group else 0

    @staticmethod
    def _located(error: UnsupportedError, instruction: Instruction) -> UnsupportedError:
        return UnsupportedError(
            error.what,
            line=instruction.line,
            where=f"line {instruction.line}: {instruction.text}",
            why=error.why,
            fix=error.fix,
        )

    # Decoding.

    def _decode(self, at: int) -> Effect:
        instruction = self._code[at]
        try:
            return self._effect(instruction, at)
        except UnsupportedError as error:
            raise self._located(error, instruction) from None
        except (IndexError, KeyError, ValueError, TypeError, OverflowError) as error:
            raise UnsupportedError(
                f"the operands of {instruction.mnemonic} are not understood: {error}",
                line=instruction.line,
                where=f"line {instruction.line}: {instruction.text}",
            ) from None

    def _effect(self, instruction: Instruction, at: int) -> Effect:
        instruction = self._resolved(instruction, at)
        name, symbols, target = instruction.mnemonic, self.kernel.symbols, self.kernel.target
        control = self._control(instruction, at)
        if control is not None:
            return control
        if name in SCALAR:
            return SCALAR[name](instruction, symbols)
        effect = (
            make_mfma(instruction, target)
            or make_rare_transfer(instruction, at, self, symbols)
            or make_transfer(instruction, at, self, symbols)
            or make_vector(instruction, target, symbols)
        )
        if effect is None:
            raise UnsupportedError(f"the instruction {name!r} is not modelled")
        return effect

    def _resolved(self, instruction: Instruction, at: int) -> Instruction:
        """Operands that name code or data relative to the program counter as numbers."""
        if instruction.mnemonic in ("s_add_i32", "s_add_u32"):
            instruction = self._from_here(instruction, at)
        if not any("@rel32" in t or "@gotpcrel32" in t or "-.L" in t for t in instruction.operands):
            return instruction
        found = tuple(self._relative(text, at) for text in instruction.operands)
        return dataclasses.replace(instruction, operands=found)

    def _from_here(self, instruction: Instruction, at: int) -> Instruction:
        """A label as a number is its distance from the literal, four bytes behind ``s_getpc``."""
        to, *sources = instruction.operands
        labels = self.kernel.labels
        if not any(t in labels for t in sources):
            return instruction
        if at == 0 or self._code[at - 1].mnemonic != "s_getpc_b64":
            raise UnsupportedError("a label as a number that does not follow s_getpc_b64")
        found = tuple(
            str((CODE_STEP * (labels[t] - at) - 4) & 0xFFFFFFFF) if t in labels else t
            for t in sources
        )
        return dataclasses.replace(instruction, operands=(to, *found))

    def _relative(self, text: str, at: int) -> str:
        match = re.match(r"([\w.$]+)@(rel32|gotpcrel32)@(lo|hi)(?:\+\d+)?$", text)
        if match is None:
            if "-.L" not in text:
                return text
            places = {name: CODE_STEP * index for name, index in self.kernel.labels.items()}
            return str(evaluate(text, places, self._code[at].line) & 0xFFFFFFFF)
        base = next(
            (i for i in range(at, max(-1, at - 64), -1)
             if self._code[i].mnemonic == "s_getpc_b64"), None,
        )  # fmt: skip
        if base is None:
            raise UnsupportedError(f"{text} without s_getpc_b64 before it")
        place = self._address(match[1])
        if match[2] == "gotpcrel32":
            pointer = np.frombuffer(place.to_bytes(8, "little"), np.uint8).copy()
            place = self._constant(f"address of {match[1]}", pointer)
        distance = place - (CODE + CODE_STEP * (base + 1))
        return str((distance if match[3] == "lo" else distance >> 32) & 0xFFFFFFFF)

    def _address(self, name: str) -> int:
        if name in self.kernel.labels:
            return CODE + CODE_STEP * self.kernel.labels[name]
        if name in self.kernel.data:
            return self._constant(name, np.frombuffer(self.kernel.data[name], np.uint8).copy())
        raise UnsupportedError(f"the symbol {name!r}, which the file does not define")

    def _constant(self, name: str, data: Bytes) -> int:
        """Constant data of the code object."""
        if name not in self._constants:
            self._constants[name] = self.memory.allocate(name, data, writable=False)
        return self._constants[name]

    def _call(self, instruction: Instruction, at: int) -> Effect:
        """``s_getpc``, ``s_setpc``, ``s_swappc`` and ``s_call``."""
        name, operands = instruction.mnemonic, instruction.operands
        back = CODE + CODE_STEP * (at + 1)
        if name == "s_getpc_b64":
            write = write_pair(operands[0])
            return lambda w: write(w, back)
        link = write_pair(operands[0]) if name != "s_setpc_b64" else None
        if name == "s_call_b64":
            fixed = CODE + CODE_STEP * self.kernel.labels[operands[1]]
            read: Callable[[Wave], int] = lambda w: fixed  # noqa: E731
        else:
            read = read_pair(operands[-1])

        def jump(w: Wave) -> None:
            place, rest = divmod(read(w) - CODE, CODE_STEP)
            if rest or not 0 <= place < len(self._code):
                raise UnsupportedError(f"{name} to an address outside of the file's code")
            if link is not None:
                link(w, back)
            w.pc = place

        return jump

    def _control(self, instruction: Instruction, at: int) -> Effect | None:
        name = instruction.mnemonic
        if name in ("s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"):
            return self._call(instruction, at)
        if name == "s_waitcnt":
            waits = read_waits(instruction)
            return lambda w: self.wait(w, waits)
        fixed = {
            "s_barrier": self._at_barrier, "s_endpgm": self._end, "s_endpgm_saved": self._end,
            "s_dcache_inv": self._invalidate_scalar, "s_dcache_inv_vol": self._invalidate_scalar,
        }.get(name)  # fmt: skip
        if fixed is not None:
            return fixed
        if name.startswith(("s_branch", "s_cbranch")):
            test = _BRANCHES.get(name)
            if test is None:
                raise UnsupportedError(f"the branch {name}")
            return self._jump(self.kernel.target_of(instruction), at, test)
        if name.startswith(("s_set_gpr_idx", "v_mov_b32")):
            return self._indexed(instruction, at)
        special = ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_sendmsg", "s_trap")
        return self._special(instruction) if name in special else None

    def _indexed(self, instruction: Instruction, at: int) -> Effect | None:
        """Moves between registers whose numbers are computed (``s_set_gpr_idx_on``)."""
        name = instruction.mnemonic
        if name == "s_set_gpr_idx_off":
            return lambda w: None
        if name in ("s_set_gpr_idx_on", "s_set_gpr_idx_idx"):
            number = read_scalar(instruction.operands[0])

            def switch(w: Wave) -> None:
                w.register_index = number(w) & 0xFF

            return switch
        if name != "v_mov_b32" or has_dpp(instruction):
            return None
        mode = next(
            (i for i in reversed(self._code[max(0, at - 8) : at])
             if i.mnemonic in ("s_set_gpr_idx_on", "s_set_gpr_idx_off")), None,
        )  # fmt: skip
        if mode is None or mode.mnemonic == "s_set_gpr_idx_off":
            return None
        chosen = mode.operands[1]
        to = rows(instruction.operands[0])[0]
        source = instruction.operands[1]
        if not is_vector(source):
            raise UnsupportedError("an indexed move of a scalar")
        start = rows(source)[0]
        by_source, by_target = "SRC0" in chosen, "DST" in chosen

        def move(w: Wave) -> None:
            a = start + (w.register_index if by_source else 0)
            b = to + (w.register_index if by_target else 0)
            if w.flying:
                self._in_flight(w, at, frozenset((a, b)))
            w.put(b, w.v[a].copy())

        return move

    def _special(self, instruction: Instruction) -> Effect:
        name, body = instruction.mnemonic, instruction.operands[0] if instruction.operands else ""
        if name == "s_getreg_b32":
            write = write_scalar(body.split(",")[0].strip())
            self.draws.add("hardware registers read with s_getreg_b32 are taken as 0")
            return lambda w: write(w, 0)
        if name == "s_trap":
            return self._trap
        if name == "s_sendmsg" and not re.search("dealloc|interrupt", body, re.IGNORECASE):
            raise UnsupportedError(f"s_sendmsg {body}")
        if name.startswith("s_setreg"):
            self.draws.add("modes set with s_setreg (rounding, denormals) are not modelled")
        return lambda w: None

    @staticmethod
    def _trap(w: Wave) -> None:
        raise FaultError("trap", "the kernel reaches s_trap: an assertion of it failed")

    def _jump(self, target: int, at: int, test: Callable[[Wave], bool]) -> Effect:
        if target > at:

            def forward(w: Wave) -> None:
                if test(w):
                    w.pc = target

            return forward

        def backward(w: Wave) -> None:
            if test(w):
                w.pc = target
                group = self._group
                if group is not None and group.marks:
                    self._mark(group, w)
                if w.polls:  # nothing has changed since the last time round: others go on first
                    w.polls, w.yields = False, w.changes == self._changes
                    w.changes = self._changes

        return backward

    @staticmethod
    def _mark(group: Group, w: Wave) -> None:
        """Remember the state of a wave that goes round; -1 says that one came back."""
        marks = group.marks.setdefault(w.uid, set())
        state = hash((w.pc, tuple(w.s), w.exec, w.scc, w.v.tobytes()))
        if state in marks:
            marks.add(-1)
        elif len(marks) < 4096:
            marks.add(state)

    def _invalidate_scalar(self, w: Wave) -> None:
        w.scalar_fresh = len(self.journal.accesses)

    def _at_barrier(self, w: Wave) -> None:
        if w.vm.stalled or w.lgkm.stalled:
            self.used.add("counter_stall")
        w.at_barrier = True
        w.barriers += 1
        w.accesses_at_barrier = w.accesses

    def _end(self, w: Wave) -> None:
        if w.vm.dmas:
            self.findings.dma_at_end(self._code, w, self._group_index())
        for access in w.cached[:1]:
            if isinstance(access, Access):
                self.findings.not_written_back(self._code[access.pc], w, self._group_index())
        w.ended = True
        self._changes += 1

    # Counters.

    def issue_vm(
        self, w: Wave, at: int, registers: tuple[int, ...], *, dma: bool = False, flat: bool = False
    ) -> int:
        """Count one vector access; its number."""
        queue = w.vm
        self._make_room(w, queue)
        operation = self._append(w, queue, at, registers)
        operation.dma, operation.flat = dma, flat
        queue.scalars += flat
        queue.dmas += dma
        if self._has_dma and not dma:
            w.loads_off.append(operation)
            for register in registers:
                w.flying_off[register] = operation
        return operation.number

    def issue_lgkm(
        self, w: Wave, at: int, registers: tuple[int, ...], *, scalar: bool = False,
        flat: bool = False,
    ) -> int:  # fmt: skip
        """Count one LDS or scalar access; its number."""
        queue = w.lgkm
        self._make_room(w, queue)
        operation = self._append(w, queue, at, registers)
        operation.scalar, operation.flat = scalar, flat
        if flat and w.vm.items and w.vm.items[-1].at == at:
            operation.twin = w.vm.items[-1]
        queue.scalars += scalar or flat
        return operation.number

    def _append(self, w: Wave, queue: Queue, at: int, registers: tuple[int, ...]) -> Operation:
        queue.issued += 1
        visit = w.visit(at)
        operation = Operation(at, queue.issued, registers, visit=visit)
        queue.items.append(operation)
        queue.log.append((at, visit))
        for register in registers:
            w.flying[register] = operation
        return operation

    def carry(
        self, w: Wave, queue: Queue, moves: Moves, act: Callable[[], Brought],
        put: Callable[[Brought], None] | None = None,
    ) -> None:  # fmt: skip
        """Values are those of an access at issue; order is judged beside them."""
        brought = act()
        if put is not None:
            put(brought)

    def require_inside(self, w: Wave, inside: Lanes, always: Lanes) -> None:
        """Buffer loads may be out of range: they read zero."""

    def _make_room(self, w: Wave, queue: Queue) -> None:
        """A full counter: the oldest retires before the next can issue."""
        if len(queue.items) < queue.capacity:
            return
        ordered = not queue.scalars and (self._in_order or not queue.dmas)
        if self._stalls and ordered:
            queue.stalled += list(queue.items)[: len(queue.items) - queue.capacity + 1]
            self._retire(w, queue, queue.capacity - 1)
            self._publish(w)

    def wait(self, w: Wave, waits: Waits) -> None:
        """``s_waitcnt``: what the counts prove complete is complete."""
        self._wait_queue(w, w.vm, waits.vm)
        self._wait_queue(w, w.lgkm, waits.lgkm)
        self._publish(w)

    def _wait_queue(self, w: Wave, queue: Queue, count: int) -> None:
        if count >= queue.capacity:
            return
        if queue.stalled:
            queue.stalled = [o for o in queue.stalled if o.number > queue.issued - count]
        if queue is w.vm and w.loads_off:
            self._retire_off(w, count)
        if count and queue.scalars and len(queue.items) > count:
            return  # out of order: a partial count proves nothing
        if queue is w.vm and queue.dmas and count and len(queue.items) > count:
            if not self._in_order:
                self._retire_loads(w, queue, count)
                return
            if any(o.dma for o in list(queue.items)[: len(queue.items) - count]):
                self.used.add("vm_order")
        elif queue is w.lgkm and count and len(queue.items) > count:
            self.used.add("lds_order")
        self._retire(w, queue, count)

    @staticmethod
    def _retire(w: Wave, queue: Queue, count: int) -> None:
        items = queue.items
        while len(items) > count:
            operation = items.popleft()
            queue.scalars -= operation.scalar or operation.flat
            queue.dmas -= operation.dma
            operation.retired = True
            twin = operation.twin
            for register in operation.registers:
                if w.flying.get(register) is operation:
                    if twin is not None and not twin.retired:
                        w.flying[register] = twin
                    else:
                        del w.flying[register]
            if operation.done is not None:
                operation.done()

    @staticmethod
    def _retire_off(w: Wave, count: int) -> None:
        """The same where LDS-DMA may complete in any order: only loads count against loads."""
        items = w.loads_off
        while len(items) > count:
            operation = items.popleft()
            for register in operation.registers:
                if w.flying_off.get(register) is operation:
                    del w.flying_off[register]

    def _retire_loads(self, w: Wave, queue: Queue, count: int) -> None:
        """DMA out of order: a partial count proves older loads to registers only."""
        loads = [o for o in queue.items if not o.dma]
        for operation in loads[: max(0, len(loads) - count)]:
            queue.items.remove(operation)
            for register in operation.registers:
                if w.flying.get(register) is operation:
                    del w.flying[register]

    @staticmethod
    def _publish(w: Wave) -> None:
        """Keep the wave's own clock entries."""
        vm, lgkm = w.vm, w.lgkm
        first = vm.items[0].number if vm.items else vm.issued + 1
        w.know_vm[w.index] = first - 1
        if not vm.items:
            w.know_off[w.index] = vm.issued
        first = lgkm.items[0].number if lgkm.items else lgkm.issued + 1
        w.know_lgkm[w.index] = first - 1
        w.snapshot = None

    def _in_flight(self, w: Wave, at: int, registers: frozenset[int]) -> None:
        """Registers that an instruction names while a load is on its way to them."""
        if self._stalls and self._counted[at]:  # it is held back before it reads its operands
            self._make_room(w, w.vm if self._counted[at] == "vm" else w.lgkm)
        for queue in (w.vm, w.lgkm):
            if queue.stalled and any(r in registers for o in queue.stalled for r in o.registers):
                self.used.add("counter_stall")
        hit = [r for r in registers if r in w.flying]
        for register in hit:
            operation = w.flying[register]
            if self._written_in_order(at, operation, register):
                continue
            self.findings.in_flight(self._code, w, at, operation, register, self._group_index(), "")
            w.flying.pop(register, None)
            w.flying_off.pop(register, None)
        if w.flying_off:
            for register in registers:
                late = w.flying_off.get(register)
                if late is None or register in w.flying:
                    continue
                if self._written_in_order(at, late, register):
                    continue
                self.findings.in_flight(
                    self._code, w, at, late, register, self._group_index(), "vm_order"
                )
                del w.flying_off[register]

    def _written_in_order(self, at: int, operation: Operation, register: int) -> bool:
        """A load over the result of an older one of the same queue: they return in order."""
        queue = self._loads[at]
        return (
            bool(queue)
            and queue == self._loads[operation.at]
            and not operation.flat
            and register not in self._reads[at]
        )

    def _taint(self, w: Wave, at: int) -> None:
        """A racing read counts when something uses what it read."""
        for register in self._reads[at]:
            for late in w.tainted.pop(register, ()):
                self.findings.confirm(late)
        for register in self._touched[at]:
            w.tainted.pop(register, None)

    def _half(self, w: Wave, at: int) -> None:
        """A load of half a register destroys the other half: what another load left there too."""
        for register in self._reads[at]:
            w.halves.pop(register, None)
        found = self._halves.get(at)
        for register in self._uses[at].writes:
            before = w.halves.pop(register, None)
            if found is None:
                continue
            if before is not None and before[1] != found:
                self.findings.half(self._code, w, before[0], at, register, self._group_index())
            w.halves[register] = (at, found)

    def _follow(self, w: Wave, at: int) -> None:
        """Follow what loads of device scope bring: does it decide a branch or the active lanes?"""
        flow, brought = self._flows[at], w.brought
        if flow.poll:
            for register in flow.writes:
                brought[register] = frozenset((at,))
            return
        found: frozenset[int] = frozenset()
        for register in flow.reads:
            found |= brought.get(register, NO_LOADS)
        if found and flow.decides:
            self.deciding |= found
        for register in flow.writes:
            if found:
                brought[register] = found
            else:
                brought.pop(register, None)

    # Order.

    def touch_lds(
        self, w: Wave, at: int, addresses: Addresses, width: int, kind: str, number: int,
        data: Bytes | Callable[[], Bytes] | None = None, registers: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """Order one access to LDS against the earlier ones."""
        lds = self.lds
        if not addresses.size:
            return
        w.accesses += 1
        cells = lds.cells(addresses, width)
        if kind in ("r", "a") and self.unwritten is None and not lds.written[cells].all():
            self.unwritten = at, w, int(cells[~lds.written[cells]][0]) * lds.grain
        for earlier, axiom, part, clock in lds.clashes(w, cells, kind):
            bad = np.argwhere(part > clock)
            cell, wave = int(bad[0][0]), int(bad[0][1])
            same = data is not None and earlier != "r" and self._same(lds, addresses, data, bad)
            pending = self.findings.lds(
                self._code, w, at, kind, earlier, self._other(wave), int(part[cell, wave]),
                int(cells[cell]) * lds.grain, lds.grain, axiom, same=same,
                group=self._group_index(),
            )  # fmt: skip
            if pending is not None:
                for register in registers:
                    w.tainted.setdefault(register, []).append(pending)
        if kind == "w" and isinstance(data, np.ndarray) and addresses.size > 1:
            self._lanes_clash(w, at, addresses, width, data)
        lds.record(w, cells, kind, number)

    def _other(self, index: int) -> Wave:
        assert self._group is not None
        return self._group.waves[index]

    @staticmethod
    def _same(
        lds: Lds, addresses: Addresses, given: Bytes | Callable[[], Bytes], bad: NDArray[np.int64]
    ) -> bool:
        """Whether the bytes to be written are there already, where the accesses clash."""
        data = given() if callable(given) else given
        per = max(1, data.shape[1] // lds.grain)
        lanes = np.unique(bad[:, 0] // per)
        old = lds.bytes[addresses[lanes][:, None] + np.arange(data.shape[1])]
        return bool((old == data[lanes]).all())

    def _lanes_clash(
        self, w: Wave, at: int, addresses: Addresses, width: int, data: Bytes, space: str = "LDS"
    ) -> None:
        """Two lanes of one instruction that write different values to the same place."""
        order = np.argsort(addresses, kind="stable")
        sorted_at = addresses[order]
        near = np.flatnonzero(np.diff(sorted_at) < width)
        for place in near.tolist():
            a, b = int(order[place]), int(order[place + 1])
            gap = int(sorted_at[place + 1] - sorted_at[place])
            if (data[a][gap:] != data[b][: width - gap]).any():
                byte, name = int(sorted_at[place + 1]), ""
                if space == "global" and (region := self.memory.region_of(byte)) is not None:
                    byte, name = byte - region.start, region.name
                self.findings.lanes(
                    self._code, w, at, (a, b), AddressRange(
                        space=space, start=byte, stop=byte + 1, name=name,
                        cta=self._group_index() if space == "LDS" else None,
                    ), self._group_index(),
                )  # fmt: skip
                return

    def touch_global(
        self, w: Wave, at: int, offsets: Addresses, size: int, kind: str, number: int,
        data: Bytes | None = None, *, scalar: bool = False, bypass: bool = False,
    ) -> None:  # fmt: skip
        """Record one access to global memory."""
        if kind == "w":
            self._changes += 1
        if len(self.journal.accesses) >= self.settings.max_accesses:
            raise UnsupportedError(
                f"the launch makes more than {self.settings.max_accesses} accesses to memory",
                fix="a smaller launch",
            )
        w.accesses += not scalar
        known = w.vm.log if not scalar else w.lgkm.log
        access = Access(
            kind, offsets, size, w, self._group_index(), number, at, known[number][1],
            snapshot_of(w), data, scalar, bypass, fresh=w.scalar_fresh,
        )  # fmt: skip
        if scalar and kind == "w" and not bypass:
            access.number = INFINITE
            w.cached.append(access)
        self.journal.add(access)
        if kind == "w" and data is not None and offsets.size > 1:
            self._lanes_clash(w, at, offsets, size, data, space="global")

    def updated(self, place: Addresses, old: Bytes) -> None:
        """An atomic was executed: one that leaves its word as it is (a poll) changes nothing."""
        self._changes += bool((self.memory.gather(place, old.shape[1]) != old).any())

    def write_back(self, w: Wave, number: int) -> None:
        """Scalar stores of the wave are in memory when this operation is complete."""
        for access in w.cached:
            if isinstance(access, Access):
                access.number = number
        w.cached = []

    def synchronise(self, w: Wave, offsets: Addresses, kind: str, *, scalar: bool = False) -> None:
        """An access that can carry order from workgroup to workgroup.

        A release hands on what its wave knows to be complete and written back; an acquire is of
        use once it was waited for, and for later reads through caches once these are invalidated.
        """
        if kind == "writeback":
            written = self._gone_out(w)
            written[w.index] = w.vm.issued - 1

            def reached(w: Wave = w, written: Clock = written) -> None:
                np.maximum(w.released, written, out=w.released)

            w.vm.items[-1].done = reached
            return
        if kind == "invalidate":
            if w.acquired:
                merge(w.known, w.acquired)
                w.acquired = {}
                w.snapshot = None
            return
        if not kind:
            return
        w.polls |= kind != "w"
        for place in np.unique(offsets).tolist():
            message = self._messages.get(place)
            if message and kind in ("r", "a"):
                self._receive(w, w.lgkm if scalar else w.vm, dict(message))
            if kind in ("w", "a"):
                sent = self._messages.setdefault(place, {})
                merge(sent, w.known)
                merge(sent, w.acquired)
                assert self._group is not None
                out = np.maximum(w.know_vm, w.released)
                for other in self._group.waves:
                    marks = {
                        other.uid: int(w.released[other.index]),
                        COMPLETE - other.uid: int(out[other.index]),
                    }
                    merge(sent, {key: number for key, number in marks.items() if number})

    @staticmethod
    def _receive(w: Wave, queue: Queue, message: dict[int, int]) -> None:
        """What a location hands on is known when the access that reads it has come back."""
        operation = queue.items[-1]
        before = operation.done

        def back() -> None:
            if before is not None:
                before()
            merge(w.acquired, message)
            w.snapshot = None

        operation.done = back

    def _gone_out(self, w: Wave) -> Clock:
        """Operations of the workgroup that come before what the wave does next, for everybody."""
        out = w.know_vm.copy()
        if self.settings.axioms.get("cu_order", True):
            others = w.know_issued.copy()
            others[w.index] = 0
            if (others > out).any():
                self.used.add("cu_order")
            np.maximum(out, others, out=out)
        return out

    def unordered(self) -> list[tuple[Access, Access, int]]:
        """Pairs of accesses to the same global memory that nothing orders, each with a place."""
        relaxed = self.settings.axioms.get("cu_order", True)
        result = []
        for a, b, at in self.journal.conflicts():
            if _ordered_pair(a, b) or _ordered_pair(b, a) or self._flag(a, b):
                if self._stale(a, b):
                    result.append((a, b, at))
                continue
            together = relaxed and a.wave is not b.wave and a.group == b.group
            if together and (_issued_before(a, b) or _issued_before(b, a)):
                self.used.add("cu_order")
                continue
            result.append((a, b, at))
        return result

    def _stale(self, a: Access, b: Access) -> bool:
        """A scalar load behind a vector store, of a line that the scalar cache may still hold."""
        if not (b.scalar and b.kind == "r" and not b.bypass) or a.scalar or a.kind == "r":
            return False
        return any(not _ordered_pair(a, earlier) for earlier in self.journal.cached(b))

    def _flag(self, a: Access, b: Access) -> bool:
        """A location that is polled: whoever reads it looks at the value and acts on it."""
        if not (a.atomic and b.atomic):
            return False
        return all(x.pc in self.deciding for x in (a, b) if x.kind == "r")

    def finish(self, pairs: list[tuple[Access, Access, int]], *, dead: bool) -> None:
        """Report unordered pairs; ``dead``: no result depends on the reads among them."""
        for a, b, at in pairs:
            same = a.data is not None and b.data is not None and _same_values(a, b)
            unused = dead and "r" in (a.kind, b.kind) and not (a.scalar or b.scalar)
            region = self.memory.region_of(at)
            self.findings.memory(
                self._code, a, b, region.name if region else "?",
                at - (region.start if region else 0), same=same, dead=unused,
                stale=self._stale(a, b),
            )  # fmt: skip

    def disturb(self, w: Wave, at: int, number: int, where: Addresses, data: Bytes) -> Bytes:
        """Bytes of a load, changed where a trial asks whether they matter."""
        if not self.disturbed:
            return data
        racing = self.disturbed.get((w.uid, at, w.vm.log[number][1]))
        if racing is None:
            return data
        hit = np.isin(where[:, None] + np.arange(data.shape[1]), racing)
        return data ^ np.where(hit, np.uint8(self.disturbance), np.uint8(0))


def half_loads(code: tuple[Instruction, ...]) -> dict[int, str]:
    """Loads of one half of a register, and which."""
    return {
        at: "hi" if i.mnemonic.endswith("_hi") else "lo"
        for at, i in enumerate(code)
        if "_d16" in i.mnemonic and has_result(i)
    }


NO_LOADS: frozenset[int] = frozenset()
_SCC = -1
_READS_SCC = re.compile(r"s_(cbranch_scc|cselect|cmov|addc|subb)")
_KEEPS_SCC = re.compile(r"s_(mov|cmov|cselect|load|buffer|mul|pack|ff[01]|flbit|sext|brev|bfm)")


@dataclass(frozen=True, slots=True)
class _Flow:
    """How a value goes through an instruction, condition code included."""

    reads: frozenset[int]
    writes: frozenset[int]
    poll: bool
    decides: bool

    @classmethod
    def of(cls, i: Instruction, uses: Uses) -> "_Flow":
        """The flow of one instruction; what memory returns does not come from its address."""
        name = i.mnemonic
        reads, writes = uses.reads, uses.writes
        memory = is_vector_memory(name) or name.startswith(
            ("ds_", "s_load", "s_buffer_load", "s_atomic", "s_buffer_atomic")
        )
        if memory:
            reads = frozenset()
        elif name.startswith("s_"):
            if _READS_SCC.match(name):
                reads |= {_SCC}
            if writes or name.startswith(("s_cmp", "s_bitcmp")):
                writes = writes if _KEEPS_SCC.match(name) else writes | {_SCC}
        decides = name.startswith("s_cbranch") or bool(writes & EXEC_IDS)
        return cls(reads, writes, _is_poll(i), decides)


def _is_poll(instruction: Instruction) -> bool:
    """A load of device scope that brings a value to registers."""
    if instruction.mnemonic.startswith(("s_load_", "s_buffer_load_")):
        return instruction.flag("glc")
    return (
        "_load_" in instruction.mnemonic
        and is_vector_memory(instruction.mnemonic)
        and instruction.flag("sc1")
        and not is_dma(instruction)
    )


def racing_bytes(
    pairs: list[tuple[Access, Access, int]],
) -> dict[tuple[int, int, int], NDArray[np.int64]]:
    """Bytes of vector loads that a store races with, by wave, instruction and visit."""
    result: dict[tuple[int, int, int], NDArray[np.int64]] = {}
    for a, b, _ in pairs:
        for read, write in ((a, b), (b, a)):
            if read.kind != "r" or read.scalar or write.kind == "r":
                continue
            places = [(x.at[:, None] + np.arange(x.size)).ravel() for x in (read, write)]
            key = (read.wave.uid, read.pc, read.visit)
            both = np.intersect1d(places[0], places[1])
            result[key] = np.union1d(result[key], both) if key in result else both
    return result


def _ordered_pair(a: Access, b: Access) -> bool:
    """Whether ``a`` is known to be complete when ``b`` is issued."""
    if a.group == b.group:
        clock = b.snapshot.lgkm if a.scalar else b.snapshot.vm
        return bool(clock[a.wave.index] >= a.number)
    if a.scalar:
        return False
    through = a.bypass or a.kind != "w"  # nothing waits in a cache to be written back
    key = COMPLETE - a.wave.uid if through else a.wave.uid
    if b.snapshot.known.get(key, 0) >= a.number:
        return True
    # Writes, and reads that pass the caches by, do not depend on an invalidation.
    return (b.kind != "r" or b.bypass) and b.snapshot.acquired.get(key, 0) >= a.number


def _issued_before(a: Access, b: Access) -> bool:
    return bool(b.snapshot.issued[a.wave.index] >= a.number) and not (a.scalar or b.scalar)


def _same_values(a: Access, b: Access) -> bool:
    """Whether two stores write the same values wherever they overlap."""
    assert a.data is not None
    assert b.data is not None
    first = dict(
        zip(
            (a.at[:, None] + np.arange(a.size)).ravel().tolist(),
            a.data.ravel().tolist(),
            strict=True,
        )
    )
    second = zip(
        (b.at[:, None] + np.arange(b.size)).ravel().tolist(), b.data.ravel().tolist(), strict=True
    )
    return all(first.get(at, value) == value for at, value in second)


_BRANCHES: dict[str, Callable[[Wave], bool]] = {
    "s_branch": lambda w: True,
    "s_cbranch_scc0": lambda w: not w.scc,
    "s_cbranch_scc1": lambda w: bool(w.scc),
    "s_cbranch_vccz": lambda w: not (w.s[106] | w.s[107]),
    "s_cbranch_vccnz": lambda w: bool(w.s[106] | w.s[107]),
    "s_cbranch_execz": lambda w: not w.exec,
    "s_cbranch_execnz": lambda w: bool(w.exec),
    "s_cbranch_cdbgsys": lambda w: False,
    "s_cbranch_cdbguser": lambda w: False,
}


def _counter_of(mnemonic: str) -> str:
    """The counter that counts an instruction of vector memory or LDS; flat ones count twice."""
    if is_vector_memory(mnemonic):
        uncounted = mnemonic.startswith(("flat_", "buffer_inv", "buffer_wb"))
        return "" if uncounted else "vm"
    return "lgkm" if mnemonic.startswith("ds_") and mnemonic != "ds_nop" else ""


def _returns_in_order(instruction: Instruction) -> str:
    """The queue through which a load writes its registers in order of issue, or nothing."""
    name = instruction.mnemonic
    if not has_result(instruction):
        return ""
    if is_vector_memory(name):
        return "" if name.startswith("flat_") else "vm"
    return "lgkm" if name.startswith("ds_") else ""
