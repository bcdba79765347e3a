"""What a schedule costs: a small in-order model of one wave, to rank solutions.

A wave issues entry after entry; a wait stalls until the operations it completes have returned, in
order, a fixed latency after issue. There is one wave and no contention: it ranks, it does not
predict. Anything callable on a ``ScheduleDocument`` can replace it, the simulator for one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Queue, ScheduleDocument
from warploom.ir.schedule_ops import OpRole, Phase
from warploom.sync.counters.program import kept_count
from warploom.sync.counters.reasons import Act, Item, Text, read_text
from warploom.targets.mi355x import mi355x
from warploom.targets.seed_model import seed_model

Cost = Callable[[ScheduleDocument], float]

_ITERATIONS = 16
_WARM_UP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StallModel:
    """Cycles of one MMA group, of a round trip per queue, to issue one unit, of a barrier."""

    mma: int
    vm_latency: int
    lgkm_latency: int
    issue: int
    barrier: int

    def __call__(self, document: ScheduleDocument) -> float:
        """Cycles of a steady-state iteration: an average, since patterns may span several."""
        wave = _run(self, read_text(document, keep_waits=True))
        marks = wave.marks
        return (marks[-1] - marks[_WARM_UP]) / (len(marks) - 1 - _WARM_UP)

    def slack(self, document: ScheduleDocument) -> dict[tuple[Phase, int], int]:
        """Per wait: the fewest cycles it comes after the data it waits for (negative: stalls)."""
        return _run(self, read_text(document, keep_waits=True)).slack

    def latency(self, queue: Queue) -> int:
        """A round trip of a queue."""
        return self.vm_latency if queue is Queue.VM else self.lgkm_latency

    def span(self, item: Item) -> int:
        """Cycles an item takes where nothing stalls."""
        if item.act is Act.MMA:
            return self.mma
        if item.act is Act.BARRIER:
            return self.barrier
        return self.issue * item.units if item.queue is not None else 0

    @classmethod
    def of(cls, document: ScheduleDocument) -> StallModel:
        """The model with the document's own prices, as its target gave them to its ops.

        Instructions issue in a cycle and a barrier costs four, as in the simulator's model of op
        latencies. Ops without a price fall back to ``REFERENCE``.
        """
        ops = [e.op for e in (*document.kernel, *document.prologue, *document.epilogue)]

        def price(usual: int, *roles: OpRole) -> int:
            return max((op.latency for op in ops if op.role in roles), default=0) or usual

        return cls(
            mma=price(REFERENCE.mma, OpRole.COMPUTE),
            vm_latency=price(REFERENCE.vm_latency, OpRole.GLOBAL_LOAD),
            lgkm_latency=price(REFERENCE.lgkm_latency, OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE),
            issue=REFERENCE.issue,
            barrier=REFERENCE.barrier,
        )

    def with_margins(self, *, vm: int = 0, lgkm: int = 0) -> StallModel:
        """Longer latencies: what is placed under them bears memory that is late by so much."""
        return replace(self, vm_latency=self.vm_latency + vm, lgkm_latency=self.lgkm_latency + lgkm)


def _chip() -> StallModel:
    chip = mi355x()
    return StallModel(
        mma=16 * chip.mfma_cycles(16, 16, 32, "bf16"),
        vm_latency=chip.memory_latency,
        lgkm_latency=chip.lds_latency,
        issue=chip.issue,
        barrier=chip.barrier,
    )


CHIP = _chip()
"""A large tile on an MI355X: 16 matrix instructions a quadrant, a memory round trip."""

_SEED = seed_model()
REFERENCE = StallModel(
    mma=_SEED.mma,
    vm_latency=_SEED.load,
    lgkm_latency=_SEED.fragment,
    issue=_SEED.issue,
    barrier=_SEED.barrier,
)
"""The seed's model."""


@dataclass(slots=True)
class _Wave:
    model: StallModel
    time: int = 0
    marks: list[int] = field(default_factory=list)
    slack: dict[tuple[Phase, int], int] = field(default_factory=dict)
    flight: dict[Queue, list[tuple[int, int]]] = field(
        default_factory=lambda: {q: [] for q in Queue}
    )
    issued: dict[Queue, int] = field(default_factory=lambda: dict.fromkeys(Queue, 0))

    def drain(self, queue: Queue, count: int) -> int | None:
        """Retire all but ``count`` units; the cycle at which the last of them returned."""
        flight, done = self.flight[queue], None
        while flight and self.issued[queue] - flight[0][0] >= count:
            done = flight.pop(0)[1]
        return done

    def step(self, place: tuple[Phase, int], item: Item) -> None:
        if item.act is Act.WAIT and item.queue is not None:
            count = kept_count(item)
            if count is not None:
                self._wait(place, item.queue, count)
        elif item.act is Act.BARRIER:
            for queue in Queue if item.drains else ():
                self._wait(None, queue, 0)
            self.time += self.model.barrier
        elif item.act is Act.MMA:
            self.time += self.model.mma
        elif item.queue is not None:
            self._issue(item.queue, item.units)

    def _wait(self, place: tuple[Phase, int] | None, queue: Queue, count: int) -> None:
        done = self.drain(queue, count)
        if done is None:
            return
        if place is not None:
            self.slack[place] = min(self.time - done, self.slack.get(place, self.time - done))
        self.time = max(self.time, done)

    def _issue(self, queue: Queue, units: int) -> None:
        latency = self.model.latency(queue)
        self.time += self.model.issue * units
        self.issued[queue] += units
        flight = self.flight[queue]
        last = flight[-1][1] if flight else 0
        flight.append((self.issued[queue], max(last, self.time + latency)))


def _run(model: StallModel, text: Text) -> _Wave:
    wave = _Wave(model)
    for item in text.prologue:
        wave.step((Phase.PROLOGUE, item.source), item)
    if text.protocol.barrier_after_prologue:
        wave.step((Phase.PROLOGUE, -1), Item(act=Act.BARRIER, drains=text.fencing))
    for _ in range(_ITERATIONS):
        wave.marks.append(wave.time)
        for item in text.kernel:
            wave.step((Phase.KERNEL, item.source), item)
    if text.protocol.epilogue_drain:
        wave.step((Phase.EPILOGUE, -1), Item(act=Act.BARRIER, drains=True))
    for item in text.epilogue:
        wave.step((Phase.EPILOGUE, item.source), item)
    return wave
