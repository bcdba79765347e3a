"""One wave: registers, program counter, and the two queues of work in flight."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from warploom.emit.gfx950.emulator.timing import Moment, Timing

LANES = 64
POISON = 0xFFFFFFFF  # a NaN in fp32, bf16, fp16 and fp8 alike
SCALAR_POISON = 0xDEAD_BEEF
VM_CAPACITY = 63
LGKM_CAPACITY = 15


class Work:
    """Asynchronous work. ``act`` takes effect once; ``finish`` runs at retirement."""

    __slots__ = ("_act", "_done", "_finish", "scalar", "writes_lds")

    def __init__(
        self,
        act: Callable[[], None],
        finish: Callable[[], None] | None = None,
        *,
        scalar: bool = False,
        writes_lds: bool = False,
    ) -> None:
        self._act = act
        self._finish = finish
        self._done = False
        self.scalar = scalar
        self.writes_lds = writes_lds

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
        self.deepest = (0, 0)
        self._timing = timing
        self._random = random.Random(timing.seed * 1009 + index)

    def issue_dma(self, act: Callable[[], None]) -> None:
        """A load from memory to LDS: takes effect when the timing says."""
        self._issue_vm(Work(act), self._timing.dma)

    def issue_load(self, sample: Callable[[], None], finish: Callable[[], None]) -> None:
        """A load from memory to registers; memory is constant, so its moment does not matter."""
        self._issue_vm(Work(sample, finish), Moment.ISSUE)

    def issue_store(self, act: Callable[[], None]) -> None:
        """A store to memory; it counts in vmcnt like a load, but not in the statistics."""
        deepest = self.deepest
        self._issue_vm(Work(act), Moment.ISSUE)
        self.deepest = deepest

    def issue_read(self, sample: Callable[[], None], finish: Callable[[], None]) -> None:
        """An LDS read: samples when the timing says, writes its register at retirement."""
        self._issue_lgkm(Work(sample, finish), self._timing.read)

    def issue_lds_write(self, act: Callable[[], None]) -> None:
        """A write from registers to LDS."""
        self._issue_lgkm(Work(act, writes_lds=True), self._timing.dma)

    def issue_scalar(self, act: Callable[[], None]) -> None:
        """A scalar load; these retire out of order, so only a full wait proves one done."""
        self._issue_lgkm(Work(act, scalar=True), Moment.RETIRE)

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

    def _issue_vm(self, work: Work, moment: Moment) -> None:
        if self._timing.stalls and len(self.vm) >= VM_CAPACITY:
            self.vm.popleft().retire()
        self.vm.append(work)
        self._start(work, moment)
        self.deepest = (max(self.deepest[0], len(self.vm)), self.deepest[1])

    def _issue_lgkm(self, work: Work, moment: Moment) -> None:
        if self._timing.stalls and len(self.lgkm) >= LGKM_CAPACITY:
            self.lgkm.popleft().retire()
        self.lgkm.append(work)
        self._start(work, moment)
        self.deepest = (self.deepest[0], max(self.deepest[1], len(self.lgkm)))

    def _start(self, work: Work, moment: Moment) -> None:
        if moment is Moment.ISSUE or (moment is Moment.RANDOM and self._random.random() < 0.3):
            self._take_effect(work)
