"""Execution under one timing of the many that the counters allow.

``check`` reasons about order and gives every access the values of its issue. Here nothing is
reasoned: an access takes effect at a moment of the timing's choice, between its issue and the wait
that retires it, and its registers hold garbage until then. Hardware promises no more, so right code
gives the same result under every timing. What an execution gets wrong, ``check`` must report.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.findings import Findings
from warploom.check.amdgcn.launching import block_of, make_groups, pack_arguments, place_tensors
from warploom.check.amdgcn.machine import Group, Machine, Settings, half_loads
from warploom.check.amdgcn.memory import Addresses, Bytes, GlobalMemory
from warploom.check.amdgcn.reader import Kernel, Waits
from warploom.check.amdgcn.state import SGPR, FaultError, Lanes, Operation, Queue, Wave
from warploom.check.amdgcn.transfer import Brought, Moves
from warploom.check.launch import Launch
from warploom.errors import UnsupportedCodeError as UnsupportedError
from warploom.report import CodeFinding

GARBAGE = 0xFFFFFFFF  # a NaN in fp32, bf16, fp16 and fp8 alike
CHANCE = 0.3  # of an access in flight to take effect, whenever somebody had a turn


class Moment(Enum):
    """When one kind of access takes effect."""

    ISSUE = "issue"
    RETIRE = "retire"
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Moments of writes (LDS-DMA, stores, atomics) and of reads.

    ``stalls``: issuing beyond a counter's capacity waits for the oldest, as the chip does; without
    it the queues are unbounded, which allows more timings than the chip has. ``inside``: a buffer
    load out of range is a fault, for code whose waits count on the order of its loads.
    """

    name: str
    write: Moment
    read: Moment
    seed: int = 0
    stalls: bool = True
    inside: bool = False


LATE = Timing(name="late", write=Moment.RETIRE, read=Moment.RETIRE)
EARLY = Timing(name="early", write=Moment.ISSUE, read=Moment.ISSUE)
# The two mixed cases: data as late as possible under an eager reader, and the reverse.
STARVED = Timing(name="starved", write=Moment.RETIRE, read=Moment.ISSUE)
TRAMPLED = Timing(name="trampled", write=Moment.ISSUE, read=Moment.RETIRE)


def random_timing(seed: int) -> Timing:
    """Every access takes effect at a moment of its own."""
    return Timing(name=f"random-{seed}", write=Moment.RANDOM, read=Moment.RANDOM, seed=seed)


def timing_named(name: str) -> Timing | None:
    """``late``, ``early``, ``starved``, ``trampled`` or ``random[-SEED]``."""
    fixed = {t.name: t for t in (LATE, EARLY, STARVED, TRAMPLED)}
    if name in fixed:
        return fixed[name]
    word, _, seed = name.partition("-")
    if word == "random" and (not seed or seed.isdigit()):
        return random_timing(int(seed or 0))
    return None


_WRITES = (Moves.WRITES_LDS | Moves.WRITES_GLOBAL | Moves.WRITES_PRIVATE | Moves.LANDS_IN_LDS).value
# For every kind of write, what may overtake it no more than be overtaken, in one queue.
_ORDERED = {
    Moves.WRITES_LDS.value: Moves.UPDATES_LDS.value,
    Moves.WRITES_GLOBAL.value: Moves.UPDATES_GLOBAL.value,
    Moves.WRITES_PRIVATE.value: (Moves.READS_PRIVATE | Moves.WRITES_PRIVATE).value,
    Moves.LANDS_IN_LDS.value: Moves.LANDS_IN_LDS.value,
}


def _keep_order(a: int, b: int) -> bool:
    """Whether two accesses of one queue meet memory in order of issue."""
    return any(
        (a & write and b & touched) or (b & write and a & touched)
        for write, touched in _ORDERED.items()
    )


@dataclass(eq=False, slots=True)
class Work:
    """An access in flight. It takes effect once; its registers are written at retirement."""

    moves: int
    act: Callable[[], Any]
    put: Callable[[Any], None] | None
    scalar: bool
    acted: bool = False
    brought: Any = None

    def take_effect(self) -> None:
        """Touch memory, unless that has happened."""
        if not self.acted:
            self.acted = True
            self.brought = self.act()

    def retire(self) -> None:
        """The counter passes it."""
        self.take_effect()
        if self.put is not None:
            self.put(self.brought)


@dataclass(slots=True)
class Depths:
    """The deepest queues of any wave; stores are not counted."""

    vm: int = 0
    lgkm: int = 0


class TimedMachine(Machine):
    """The machine without reasoning about order, and with accesses that take their time."""

    def __init__(
        self, kernel: Kernel, memory: GlobalMemory, settings: Settings, findings: Findings,
        timing: Timing,
    ) -> None:  # fmt: skip
        super().__init__(kernel, memory, settings, findings)
        self.timing = timing
        self.depths = Depths()
        self.barriers = 0
        self._stalls = timing.stalls
        self._has_dma = False  # nothing is kept beside the queues
        self._kept_halves = half_loads(self._code) if kernel.keeps_halves else {}
        self._chance = random.Random(timing.seed)
        self._stirred = Moment.RANDOM in (timing.write, timing.read)
        self._stores = [
            "_store_" in i.mnemonic and not i.mnemonic.startswith("s_") for i in self._code
        ]

    def _advance(self, w: Wave, limit: int) -> int:
        steps = self._turn(w, limit)
        if self._stirred and self._group is not None:
            for wave in self._group.waves:
                self._stir(wave)
        return steps

    def _turn(self, w: Wave, limit: int) -> int:
        """Run one wave until it blocks, ends, or has used its turn."""
        program, count = self._program, len(self._code)
        steps, at = 0, w.pc
        try:
            while steps < limit and not (w.ended or w.at_barrier):
                at = w.pc
                if at >= count:
                    self._past_the_end()
                effect = program[at]
                if effect is None:
                    effect = program[at] = self._decode(at)
                w.pc = at + 1
                steps += 1
                effect(w)
        except FaultError as fault:
            self.findings.fault(self._code[at], at, w, self._group_index(), fault)
            w.ended = True
        except UnsupportedError as error:
            raise self._located(error, self._code[min(at, count - 1)]) from None
        except (IndexError, ValueError, OverflowError, TypeError, KeyError) as error:
            raise self._located(
                UnsupportedError(f"{self._code[at].mnemonic} cannot be executed: {error}"),
                self._code[at],
            ) from None
        w.steps += steps
        return steps

    def carry(
        self, w: Wave, queue: Queue, moves: Moves, act: Callable[[], Brought],
        put: Callable[[Brought], None] | None = None,
    ) -> None:  # fmt: skip
        """Let the access that was issued last take effect when the timing says."""
        operation = queue.items[-1]
        does = moves.value
        work = Work(does, act, put, operation.scalar)
        operation.works = (*operation.works, work)
        if operation.done is None:
            operation.done = _retirement(operation)
        self._spoil(w, operation)
        moment = self.timing.write if does & _WRITES else self.timing.read
        if work.scalar:
            return  # scalar accesses come back in any order
        if moment is Moment.ISSUE or (moment is Moment.RANDOM and self._chance.random() < CHANCE):
            self._take_effect(queue, work)

    def _spoil(self, w: Wave, operation: Operation) -> None:
        """Destinations hold garbage until the access retires."""
        half = self._kept_halves.get(operation.at)
        for register in operation.registers:
            if register >= SGPR:
                w.s[register - SGPR] = GARBAGE
            elif half is not None:
                w.put(register, w.v[register] | np.uint32(0xFFFF0000 if half == "hi" else 0xFFFF))
            elif w.mask is None:
                w.v[register] = GARBAGE
            else:
                w.v[register, w.mask] = GARBAGE

    @staticmethod
    def _take_effect(queue: Queue, work: Work) -> None:
        """Memory serves one queue of a wave in order: writes neither overtake nor are overtaken."""
        for operation in queue.items:
            for earlier in operation.works:
                if earlier is work:
                    work.take_effect()
                    return
                waits = not (earlier.acted or earlier.scalar)
                if waits and _keep_order(earlier.moves, work.moves):
                    earlier.take_effect()

    def _stir(self, w: Wave) -> None:
        """Random timing: let some accesses in flight take effect."""
        for queue in (w.vm, w.lgkm):
            for operation in queue.items:
                for work in operation.works:
                    if not (work.scalar or work.acted) and self._chance.random() < CHANCE:
                        self._take_effect(queue, work)

    def _append(self, w: Wave, queue: Queue, at: int, registers: tuple[int, ...]) -> Operation:
        operation = Operation(at, 0, registers)
        queue.items.append(operation)
        if queue is w.lgkm:
            self.depths.lgkm = max(self.depths.lgkm, len(queue.items))
        elif not self._stores[at]:
            self.depths.vm = max(self.depths.vm, len(queue.items))
        return operation

    def _make_room(self, w: Wave, queue: Queue) -> None:
        if self._stalls and len(queue.items) >= queue.capacity and not queue.scalars:
            self._retire(w, queue, queue.capacity - 1)

    def wait(self, w: Wave, waits: Waits) -> None:
        """Retire what the counts ask for; with an access out of order, only 0 asks for anything."""
        for queue, count in ((w.vm, waits.vm), (w.lgkm, waits.lgkm)):
            if count < queue.capacity and not (count and queue.scalars):
                self._retire(w, queue, count)

    def require_inside(self, w: Wave, inside: Lanes, always: Lanes) -> None:
        """A fault where the timing asks for loads inside of their buffers."""
        if not self.timing.inside:
            return
        if (inside != always).any():
            raise FaultError(
                "range", "whether an access is in range depends on its scalar offset: sources "
                "differ on whether the hardware's range check includes it",
            )  # fmt: skip
        if (inside != w.active()).any():
            raise FaultError(
                "outside",
                "a load outside its buffer returns at once and may overtake older loads; the "
                "waits count on their order",
                "clamp the row to the last of the matrix",
            )

    def touch_lds(
        self, w: Wave, at: int, addresses: Addresses, width: int, kind: str, number: int,
        data: Bytes | Callable[[], Bytes] | None = None, registers: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """Order is not asked here."""
        w.accesses += 1

    def touch_global(
        self, w: Wave, at: int, offsets: Addresses, size: int, kind: str, number: int,
        data: Bytes | None = None, *, scalar: bool = False, bypass: bool = False,
    ) -> None:  # fmt: skip
        """Order is not asked here."""
        w.accesses += 1
        self._changes += kind != "r"

    def synchronise(self, w: Wave, offsets: Addresses, kind: str, *, scalar: bool = False) -> None:
        """Order is not asked here."""

    def _barrier(self, group: Group) -> None:
        super()._barrier(group)
        self.barriers += 1

    def _end(self, w: Wave) -> None:
        self._retire(w, w.vm, 0)
        self._retire(w, w.lgkm, 0)
        super()._end(w)


def _retirement(operation: Operation) -> Callable[[], None]:
    def retire() -> None:
        for work in operation.works:
            work.retire()

    return retire


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """Tensors after a launch, its faults, and what it took."""

    tensors: Mapping[str, NDArray[np.uint8]]
    faults: tuple[CodeFinding, ...]
    instructions: int
    barriers: int
    depths: Depths


def execute(
    kernel: Kernel,
    launch: Launch,
    *,
    timing: Timing = LATE,
    order: str = "forward",
    seed: int = 0,
    axioms: Mapping[str, bool] | None = None,
    max_steps: int = 20_000_000,
) -> Executed:
    """Run a launch under one timing; ``seed`` chooses what tensors hold that are not given."""
    memory, addresses = place_tensors(kernel, launch, seed)
    block = block_of(kernel, launch)
    arguments, _ = pack_arguments(kernel, launch, addresses, block)
    findings = Findings()
    settings = Settings(
        axioms=dict(axioms or {}), order=order, seed=timing.seed, max_steps=max_steps
    )
    machine = TimedMachine(kernel, memory, settings, findings, timing)
    machine.run(make_groups(kernel, launch, block, memory, arguments))
    return Executed(
        tensors={name: memory.contents(name) for name in launch.tensors},
        faults=findings.all() if findings.stopped else (),
        instructions=machine.steps,
        barriers=machine.barriers,
        depths=machine.depths,
    )


def timings(seeds: int = 2) -> Iterator[tuple[Timing, str]]:
    """Timings and orders of waves worth trying."""
    for timing in (LATE, EARLY, STARVED, TRAMPLED):
        for order in ("forward", "reverse", "random"):
            yield timing, order
    for seed in range(seeds):
        yield random_timing(seed), "random"
