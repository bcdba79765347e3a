"""Operands as text to functions that read or write them on a wave.

A DMA may write LDS at any moment between its issue and the wait that retires it; a fragment read
may sample LDS in the same window. Hardware promises no more, so correct code gives the same result
for every choice. Registers are poisoned at issue and written at retirement in every timing: reading
one in between is wrong at any speed.
"""

import random
import re
import struct
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from warploom.codegen.amdgcn.isa import LGKM_CAPACITY, VM_CAPACITY
from warploom.errors import BackendError


class EmulationError(BackendError):
    """The emulated kernel faulted: a wild access, a barrier mismatch, an unknown instruction."""


class Moment(Enum):
    """When one kind of asynchronous work takes effect."""

    ISSUE = "issue"
    RETIRE = "retire"
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Moments for DMA writes and LDS reads.

    ``stalls``: issuing beyond a counter's capacity waits for the oldest, as the chip does; without
    it the queues are unbounded, which allows more timings than the chip has.
    """

    name: str
    dma: Moment
    read: Moment
    seed: int = 0
    stalls: bool = True


LATE = Timing(name="late", dma=Moment.RETIRE, read=Moment.RETIRE)
EARLY = Timing(name="early", dma=Moment.ISSUE, read=Moment.ISSUE)
# The two mixed cases: data as late as possible under an eager reader, and the reverse.
STARVED = Timing(name="starved", dma=Moment.RETIRE, read=Moment.ISSUE)
TRAMPLED = Timing(name="trampled", dma=Moment.ISSUE, read=Moment.RETIRE)


def random_timing(seed: int) -> Timing:
    """Every piece of work takes effect at a moment of its own."""
    return Timing(name=f"random-{seed}", dma=Moment.RANDOM, read=Moment.RANDOM, seed=seed)


def timing_named(name: str) -> Timing | None:
    """``late``, ``early``, ``starved``, ``trampled`` or ``random[-SEED]``."""
    fixed = {t.name: t for t in (LATE, EARLY, STARVED, TRAMPLED)}
    if name in fixed:
        return fixed[name]
    word, _, seed = name.partition("-")
    if word == "random" and (not seed or seed.isdigit()):
        return random_timing(int(seed or 0))
    return None


class Order(Enum):
    """How waves take turns between barriers."""

    FORWARD = "forward"  # wave 0 as far as it gets, then wave 1, ...
    REVERSE = "reverse"
    SHUFFLED = "shuffled"  # a fixed random priority
    MIXED = "mixed"  # random waves for random numbers of instructions


class Turns:
    """Chooses the next wave and for how many instructions it runs."""

    def __init__(self, order: Order, waves: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._mixed = order is Order.MIXED
        self._priority = list(range(waves))
        if order is Order.REVERSE:
            self._priority.reverse()
        if order is Order.SHUFFLED:
            self._random.shuffle(self._priority)

    def next(self, runnable: Sequence[int]) -> tuple[int, int]:
        """``(wave, instructions)``; 0 instructions means until it blocks."""
        if self._mixed:
            return self._random.choice(runnable), self._random.randint(1, 60)
        ready = set(runnable)
        return next(w for w in self._priority if w in ready), 0


LANES = 64
POISON = 0xFFFFFFFF  # a NaN in fp32, bf16, fp16 and fp8 alike
SCALAR_POISON = 0xDEAD_BEEF


@dataclass(eq=False, slots=True)
class Work:
    """Asynchronous work. ``act`` takes effect once; ``finish`` runs at retirement."""

    _act: Callable[[], None]
    _finish: Callable[[], None] | None = None
    scalar: bool = False
    writes_lds: bool = False
    _done: bool = False

    def act(self) -> None:
        """Take effect, unless that has happened."""
        if not self._done:
            self._done = True
            self._act()

    def retire(self) -> None:
        """The counter passes it: it has taken effect and its register is written."""
        self.act()
        if self._finish is not None:
            self._finish()


class Wave:
    """The state of 64 lanes."""

    def __init__(self, index: int, timing: Timing) -> None:
        self.index = index
        self.v: NDArray[np.uint32] = np.full((512, LANES), POISON, np.uint32)
        self.a: NDArray[np.uint32] = np.full((512, LANES), POISON, np.uint32)
        self.s = [SCALAR_POISON] * 128
        self.m0 = SCALAR_POISON
        self.vcc = 0
        self.exec = (1 << LANES) - 1
        self.scc = 0
        self.pc = 0
        self.ended = False
        self.at_barrier = False
        self.vm: deque[Work] = deque()
        self.lgkm: deque[Work] = deque()
        self.deepest = [0, 0]
        self._timing = timing
        self._random = random.Random(timing.seed * 1009 + index)

    def issue_dma(self, act: Callable[[], None]) -> None:
        """A load from memory to LDS: takes effect when the timing says."""
        self._issue(self.vm, Work(act), self._timing.dma)

    def issue_load(self, sample: Callable[[], None], finish: Callable[[], None]) -> None:
        """A load from memory to registers; memory is constant, so its moment does not matter."""
        self._issue(self.vm, Work(sample, finish), Moment.ISSUE)

    def issue_store(self, act: Callable[[], None]) -> None:
        """A store to memory; it counts in vmcnt like a load, but not in the statistics."""
        deepest = self.deepest[0]
        self._issue(self.vm, Work(act), Moment.ISSUE)
        self.deepest[0] = deepest

    def issue_read(self, sample: Callable[[], None], finish: Callable[[], None]) -> None:
        """An LDS read: samples when the timing says, writes its register at retirement."""
        self._issue(self.lgkm, Work(sample, finish), self._timing.read)

    def issue_lds_write(self, act: Callable[[], None]) -> None:
        """A write from registers to LDS."""
        self._issue(self.lgkm, Work(act, writes_lds=True), self._timing.dma)

    def issue_scalar(self, act: Callable[[], None]) -> None:
        """A scalar load; these retire out of order, so only a full wait proves one done."""
        self._issue(self.lgkm, Work(act, scalar=True), Moment.RETIRE)

    def wait(self, vm: int, lgkm: int) -> None:
        """Retire the oldest work until at most that much is left."""
        while len(self.vm) > vm:
            self.vm.popleft().retire()
        if lgkm > 0 and any(work.scalar for work in self.lgkm):
            return
        while len(self.lgkm) > lgkm:
            self.lgkm.popleft().retire()

    def stir(self) -> None:
        """Random timing: let some work in flight take effect, in any order."""
        for queue in (self.vm, self.lgkm):
            for work in queue:
                if not work.scalar and self._random.random() < 0.3:
                    self._take_effect(work)

    def _take_effect(self, work: Work) -> None:
        """LDS serves one wave in order: a write never overtakes, nor is it overtaken."""
        for earlier in self.lgkm if work in self.lgkm else ():
            if earlier is work:
                break
            if (work.writes_lds or earlier.writes_lds) and not earlier.scalar:
                earlier.act()
        work.act()

    def _issue(self, queue: deque[Work], work: Work, moment: Moment) -> None:
        number, capacity = (0, VM_CAPACITY) if queue is self.vm else (1, LGKM_CAPACITY)
        if self._timing.stalls and len(queue) >= capacity:
            queue.popleft().retire()
        queue.append(work)
        if moment is Moment.ISSUE or (moment is Moment.RANDOM and self._random.random() < 0.3):
            self._take_effect(work)
        self.deepest[number] = max(self.deepest[number], len(queue))


Words = NDArray[np.uint32]
ReadScalar = Callable[[Wave], int]
WriteScalar = Callable[[Wave, int], None]
ReadVector = Callable[[Wave], Words]

MASK32 = 0xFFFFFFFF
_REGISTER = re.compile(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])$")
_FLOAT = re.compile(r"-?\d+\.\d+$")


def register(text: str) -> tuple[str, int, int]:
    """``(file, first, count)`` of ``v7`` or ``s[4:7]``."""
    match = _REGISTER.match(text)
    if match is None:
        raise EmulationError(f"{text!r} is not a register")
    if match[2] is not None:
        return match[1], int(match[2]), 1
    first, last = int(match[3]), int(match[4])
    return match[1], first, last - first + 1


def literal(text: str) -> int | None:
    """The 32 bits of an inline constant or literal, or None."""
    if _FLOAT.match(text):
        bits: int = struct.unpack("<I", struct.pack("<f", float(text)))[0]
        return bits
    try:
        return int(text, 0) & MASK32
    except ValueError:
        return None


def read_scalar(text: str) -> ReadScalar:
    """A 32-bit scalar source."""
    value = literal(text)
    if value is not None:
        return lambda w: value
    if text == "m0":
        return lambda w: w.m0
    if text in ("vcc_lo", "vcc_hi"):
        shift = 32 * (text == "vcc_hi")
        return lambda w: (w.vcc >> shift) & MASK32
    file, first, _ = register(text)
    if file != "s":
        raise EmulationError(f"{text!r} is no scalar source")
    return lambda w: w.s[first]


def write_scalar(text: str) -> WriteScalar:
    """A 32-bit scalar destination."""
    if text == "m0":

        def write_m0(w: Wave, value: int) -> None:
            w.m0 = value & MASK32

        return write_m0
    file, first, _ = register(text)
    if file != "s":
        raise EmulationError(f"{text!r} is no scalar destination")

    def write(w: Wave, value: int) -> None:
        w.s[first] = value & MASK32

    return write


def read_pair(text: str) -> ReadScalar:
    """A 64-bit scalar source."""
    value = literal(text)
    if value is not None:
        signed = value - (1 << 32) if value >> 31 else value
        return lambda w: signed & 0xFFFFFFFFFFFFFFFF
    if text == "vcc":
        return lambda w: w.vcc
    if text == "exec":
        return lambda w: w.exec
    _, first, _ = register(text)
    return lambda w: w.s[first] | (w.s[first + 1] << 32)


def write_pair(text: str) -> WriteScalar:
    """A 64-bit scalar destination."""
    if text in ("vcc", "exec"):

        def write_named(w: Wave, value: int) -> None:
            setattr(w, text, value & 0xFFFFFFFFFFFFFFFF)

        return write_named
    _, first, _ = register(text)

    def write(w: Wave, value: int) -> None:
        w.s[first] = value & MASK32
        w.s[first + 1] = (value >> 32) & MASK32

    return write


def read_vector(text: str, word: int = 0) -> ReadVector:
    """Dword ``word`` of a vector source; scalars and constants come as one value for all lanes."""
    match = _REGISTER.match(text)
    if match is not None and match[1] in "va":
        file, first, _ = register(text)
        at = first + word
        return (lambda w: w.v[at]) if file == "v" else (lambda w: w.a[at])
    if word and literal(text) is not None:
        sign = 0xFFFFFFFF if (literal(text) or 0) >> 31 else 0
        constant = np.array([sign], np.uint32)
        return lambda w: constant
    scalar = read_scalar(text if not word else _later(text, word))
    return lambda w: np.array([scalar(w)], np.uint32)


def vector_rows(text: str) -> tuple[str, int, int]:
    """File, first row and count of a vector register tuple."""
    file, first, count = register(text)
    if file == "s":
        raise EmulationError(f"{text!r} is no vector register")
    return file, first, count


def _later(text: str, word: int) -> str:
    file, first, _ = register(text)
    return f"{file}{first + word}"
