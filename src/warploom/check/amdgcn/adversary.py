"""Execution with the latest timing that the counters allow, to show a wrong result.

``check`` reasons about order and runs every access at issue. Here nothing is reasoned: in the late
timing a memory operation reads its operands at issue and takes effect only when a wait forces it,
and its destination holds garbage until then. What this execution gets wrong, ``check`` must report.
"""

import copy
import random
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.findings import Findings
from warploom.check.amdgcn.launching import block_of, make_groups, pack_arguments, place_tensors
from warploom.check.amdgcn.machine import Effect, Machine, Settings
from warploom.check.amdgcn.memory import Addresses, Bytes
from warploom.check.amdgcn.reader import Kernel
from warploom.check.amdgcn.state import SGPR, Wave
from warploom.check.amdgcn.uses import has_result, is_vector_memory
from warploom.check.launch import Launch

GARBAGE = 0x7FC0DEAD
TIMINGS = ("early", "late", "mixed")


class TimedMachine(Machine):
    """The machine with operations that take effect early, late, or by chance."""

    timing = "late"

    def prepare(self, timing: str, seed: int) -> None:
        """Choose the timing."""
        self.timing = timing
        self._chance = random.Random(seed)
        self._replaying = False
        self._delayed = [
            is_vector_memory(i.mnemonic)
            or i.mnemonic.startswith(("ds_", "s_load", "s_buffer_load"))
            for i in self.kernel.instructions
        ]

    def _execute(self, w: Wave, at: int, effect: Effect) -> None:
        late = self._delayed[at] and self.timing != "early"
        if late and self.timing == "mixed":
            late = self._chance.random() < 0.5
        if not late:
            if self._delayed[at]:
                self._catch_up(w, at)
            self._replay(w, at, effect, count=True)
            return
        ghost = _copy_of(w)
        instruction = self.kernel.instructions[at]
        name = instruction.mnemonic
        results = (
            sorted(self._uses[at].writes)
            if name.startswith("s_") or has_result(instruction)
            else []
        )
        self._count(w, at)
        queues = [w.vm] if is_vector_memory(name) else [w.lgkm]
        if name.startswith("flat_"):
            queues = [w.vm, w.lgkm]

        def perform() -> None:
            self._replay(ghost, at, effect, count=False)
            _copy_results(ghost, w, results)

        for register in results:
            if register >= SGPR:
                w.s[register - SGPR] = GARBAGE
            else:
                w.v[register, w.active()] = GARBAGE
        queues[0].items[-1].done = perform

    def _catch_up(self, w: Wave, at: int) -> None:
        """What is older in the same queue takes effect first."""
        name = self.kernel.instructions[at].mnemonic
        queues = [w.vm] if is_vector_memory(name) else [w.lgkm]
        for queue in [w.vm, w.lgkm] if name.startswith("flat_") else queues:
            for operation in queue.items:
                if operation.done is not None:
                    operation.done()
                    operation.done = None

    def _count(self, w: Wave, at: int) -> None:
        """Put the operation into its queues."""
        name = self.kernel.instructions[at].mnemonic
        if is_vector_memory(name):
            super().issue_vm(w, at, ())
        if not is_vector_memory(name) or name.startswith("flat_"):
            super().issue_lgkm(w, at, (), scalar=name.startswith("s_"))

    def _replay(self, w: Wave, at: int, effect: Effect, *, count: bool) -> None:
        saved, self._replaying = self._replaying, not count
        try:
            super()._execute(w, at, effect)
        finally:
            self._replaying = saved

    def issue_vm(
        self, w: Wave, at: int, registers: tuple[int, ...], *, dma: bool = False, flat: bool = False
    ) -> int:
        """Count it, unless it was counted at issue."""
        if self._replaying:
            return 0
        return super().issue_vm(w, at, (), flat=flat)

    def issue_lgkm(
        self, w: Wave, at: int, registers: tuple[int, ...], *, scalar: bool = False,
        flat: bool = False,
    ) -> int:  # fmt: skip
        """The same for LDS and scalar accesses."""
        if self._replaying:
            return 0
        return super().issue_lgkm(w, at, (), scalar=scalar, flat=flat)

    def touch_lds(
        self, w: Wave, at: int, addresses: Addresses, width: int, kind: str, number: int,
        data: Bytes | None = None, registers: tuple[int, ...] = (),
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

    def _end(self, w: Wave) -> None:
        self._retire(w, w.vm, 0)
        self._retire(w, w.lgkm, 0)
        super()._end(w)


def _copy_of(w: Wave) -> Wave:
    """The wave as an operation sees it at issue."""
    ghost = copy.copy(w)
    ghost.v = w.v.copy()
    ghost.f, ghost.i = ghost.v.view(np.float32), ghost.v.view(np.int32)
    ghost.s = list(w.s)
    return ghost


def _copy_results(ghost: Wave, w: Wave, results: list[int]) -> None:
    for register in results:
        if register >= SGPR:
            w.s[register - SGPR] = ghost.s[register - SGPR]
        elif ghost.mask is None:
            w.v[register] = ghost.v[register]
        else:
            np.copyto(w.v[register], ghost.v[register], where=ghost.mask)


def execute(
    kernel: Kernel, launch: Launch, *, timing: str = "late", order: str = "forward", seed: int = 0,
    chance: int = 0, max_steps: int = 2_000_000,
) -> tuple[Mapping[str, NDArray[np.uint8]], bool]:  # fmt: skip
    """Run a launch under one timing: the tensors after it, and whether it ended without a fault.

    ``seed`` chooses the tensors' contents, ``chance`` the random turns and delays.
    """
    memory, addresses = place_tensors(kernel, launch, seed)
    block = block_of(kernel, launch)
    arguments, _ = pack_arguments(kernel, launch, addresses, block)
    findings = Findings()
    settings = Settings(axioms={}, order=order, seed=chance, max_steps=max_steps)
    machine = TimedMachine(kernel, memory, settings, findings)
    machine.prepare(timing, chance)
    machine.run(make_groups(kernel, launch, block, memory, arguments))
    return {name: memory.contents(name) for name in launch.tensors}, not findings.stopped


def timings(seeds: int = 2) -> Iterator[tuple[str, str, int]]:
    """Timings and orders worth trying: (timing, order of waves, seed of the chance)."""
    for timing in ("late", "early"):
        for order in ("forward", "reverse", "random"):
            yield timing, order, 0
    for seed in range(seeds):
        yield "mixed", "random", seed
