"""Barriers and fences: mbarriers, named barriers, cluster barriers, scopes, setmaxnreg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.ptx.alu import LANES, refuse, setter
from warploom.check.ptx.clocks import (
    BLOCK as BLOCK_FENCE,
    CLUSTER,
    CONTROL,
    DEVICE,
    FULL,
    GLOBAL,
    SHARED,
    STEP,
    Clocks,
    Stamp,
    control_only,
    merge,
    relaxed_view,
    weakened,
)
from warploom.check.ptx.loads import Loads, WaitLanes
from warploom.check.ptx.machine import BLOCK, WINDOW, Cta, Lanes, Warp
from warploom.check.ptx.parse import Addr, Imm, Instr, Operand, Reg, Sink, Vec
from warploom.check.ptx.results import place
from warploom.report import CodeEvent, Verdict

Array = NDArray[Any]
Run = Callable[[Any], Any]
MOST_PENDING = (1 << 20) - 1
MOST_TRIES = 40  # failures in a row of a wait that nothing repeats until it ends


class MBarrier:
    """An mbarrier: phases are counted from 0; phase -1 is complete from the start."""

    def __init__(self, clocks: Clocks, cta: Cta, at: int, count: int) -> None:
        self.cta, self.at, self.count, self.pending, self.tx = cta, at, count, count, 0
        self.phase = 0
        self.component = clocks.component()
        self.near: Stamp = {}  # arrivals of this CTA in the present phase
        self.far: Stamp = {}  # arrivals from other CTAs
        self.done: dict[int, tuple[Stamp, Stamp]] = {-1: ({}, {})}
        self.arrivals: list[tuple[Array, Array]] = []
        self.before: tuple[list[tuple[Array, Array]], bool] = ([], False)
        self.bytes = False
        self.expects: list[tuple[int, int, CodeEvent]] = []  # expect_tx without an arrival
        self.looks: dict[int, list[tuple[Array, Array, CodeEvent]]] = {}
        self.maker: tuple[int, int] = (0, 0)
        self.fence = 0  # number of the fence.mbarrier_init that covers the init
        self.origin: CodeEvent | None = None

    @property
    def name(self) -> str:
        """For listings."""
        return f"mbarrier at {self.at % self.cta.cluster.stride:#x} of CTA {self.cta.number}"


class WaitPhase:
    """Waits for a phase of an mbarrier."""

    polls, aligned = True, False

    def __init__(self, waits: list[tuple[MBarrier, int]]) -> None:
        self.waits = waits  # barrier and parity, or ~phase for a state

    def ready(self, g: Lanes) -> bool:
        """All lanes' phases are complete."""
        return all(_complete(b, p) for b, p in self.waits)

    def describe(self) -> str:
        """For a deadlock's listing."""
        b, parity = next(((b, p) for b, p in self.waits if not _complete(b, p)), self.waits[0])
        which = f"parity {parity}" if parity >= 0 else f"phase {~parity}"
        lacks = []
        if b.pending:
            lacks.append(f"{b.pending} of {b.count} arrivals missing")
        if b.tx:
            lacks.append(f"{b.tx} bytes missing")
        return (
            f"waits for {which} of {b.name}, which is in phase {b.phase} "
            f"({', '.join(lacks) or 'fresh'})"
        )


def _phase(number: int) -> str:
    """A phase by its number; a wait for parity 1 of a fresh barrier is for the one before."""
    return f"phase {number}" if number >= 0 else "the phase before the first"


def _complete(b: MBarrier, parity: int) -> bool:
    if parity < 0:
        return b.phase > ~parity
    return b.phase % 2 != parity


class Named:
    """A named barrier of a CTA."""

    def __init__(self, clocks: Clocks, cta: Cta, number: int) -> None:
        self.cta, self.number = cta, number
        self.component = clocks.component()
        self.generation, self.expected, self.threads = 0, 0, 0
        self.here: set[int] = set()
        self.stamp: Stamp = {}
        self.done: dict[int, Stamp] = {}
        self.arrivals: list[tuple[Array, Array]] = []
        self.before: list[tuple[Array, Array]] = []
        self.votes: list[bool] = []
        self.results: dict[int, tuple[int, bool, bool]] = {}
        self.open = False  # counts all live threads


class WaitNamed:
    """Waits for a generation of a named or cluster barrier."""

    polls, aligned = False, False

    def __init__(self, barrier: Any, generation: int) -> None:  # noqa: ANN401
        self.barrier, self.generation = barrier, generation

    def ready(self, g: Lanes) -> bool:
        """The generation is complete."""
        return bool(self.barrier.generation > self.generation)

    def describe(self) -> str:
        """For a deadlock's listing."""
        b = self.barrier
        return f"waits at {b.title()}: {b.threads} of {b.wanted()} threads have arrived"


class Meeting:
    """The barrier of a cluster."""

    def __init__(self, cluster: Any) -> None:  # noqa: ANN401
        self.cluster = cluster
        self.generation = 0
        self.here: set[int] = set()
        self.of: dict[int, int] = {}  # generation of each thread's last arrival
        self.stamp: Stamp = {}
        self.done: dict[int, Stamp] = {}

    @property
    def threads(self) -> int:
        """Arrived."""
        return len(self.here)

    def title(self) -> str:
        """For listings."""
        return "barrier.cluster"

    def wanted(self) -> int:
        """Live threads of the cluster."""
        return sum(int(w.live.sum()) for t in self.cluster.ctas for w in t.warps)


class Barriers(Loads):
    """Instructions that order."""

    # -- mbarrier

    def _barrier(self, g: Lanes, pc: int, address: int) -> tuple[int, Cta]:
        """The bytes of an mbarrier."""
        cta = g.warp.cta
        where = np.array([address & WINDOW], np.int64)
        if address % 8:
            self.fault(g, pc, "MISALIGNED", f"an mbarrier at {address:#x}", "8-byte alignment")
        index = int(self.shared_index(g, pc, where, 8, cta)[0])
        return index, cta.cluster.ctas[index // cta.cluster.stride]

    def _found(self, g: Lanes, pc: int, address: int, threads: Array) -> MBarrier:
        """The mbarrier at an address, whose init is visible to these threads."""
        index, owner = self._barrier(g, pc, address)
        cluster = g.warp.cta.cluster
        barrier: MBarrier | None = cluster.barriers.get(index)
        if barrier is None:
            self.fault(
                g,
                pc,
                "NO-INIT",
                f"an mbarrier operation on {address & 0xFFFFFF:#x} of CTA {owner.number}, where no "
                "mbarrier was initialised before (in this order of execution)",
                "mbarrier.init, then a fence and a barrier, before the first use",
                kind=Verdict.RACE,
            )
            raise AssertionError
        self._visible(g, pc, barrier, threads)
        return barrier

    def _visible(self, g: Lanes, pc: int, barrier: MBarrier, threads: Array) -> None:
        clocks = g.warp.cta.cluster.clocks
        thread, epoch = barrier.maker
        known = clocks.known[CONTROL if barrier.cta is g.warp.cta else FULL, threads, thread]
        bad = known < epoch
        if bad.any() and barrier.fence:
            column = self.init_fences.get((clocks.cluster, thread))
            if column is not None:
                bad &= clocks.known[CONTROL, threads, column] < barrier.fence
        if bad.any() and barrier.origin is not None:
            far = barrier.cta is not g.warp.cta
            self.findings.between(
                self,
                "INIT",
                barrier.origin,
                g,
                pc,
                "the mbarrier is used by a thread that does not know it to be initialised",
                "fence.mbarrier_init.release.cluster and a cluster barrier after the init"
                if far
                else "a barrier of the CTA (bar.sync) between the init and the first use",
                witness=(
                    f"1. CTA {g.warp.cta.number} warp {g.warp.index} comes to the second line "
                    "first",
                    "2. the barrier's bytes are not yet those of an mbarrier",
                ),
            )

    def op_mbarrier(self, instr: Instr, pc: int) -> Run:
        """``mbarrier.*``."""
        what = instr.parts[1]
        maker = {
            "init": self._mb_init, "inval": self._mb_inval, "arrive": self._mb_arrive,
            "arrive_drop": self._mb_arrive, "expect_tx": self._mb_expect,
            "complete_tx": self._mb_expect, "test_wait": self._mb_wait, "try_wait": self._mb_wait,
            "pending_count": self._mb_pending,
        }.get(what)  # fmt: skip
        if maker is None:
            raise refuse(instr)
        return maker(instr, pc)

    def _mb_init(self, instr: Instr, pc: int) -> Run:
        address = self.address(instr.operands[0], instr)
        count = self.get(instr.operands[1], "u32", instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            where, counts = address(g), count(g)
            cluster = g.warp.cta.cluster
            for i, lane in enumerate(g.lanes.tolist()):
                at, n = int(where[lane]), int(counts[lane])
                index, owner = self._barrier(g, pc, at)
                if not 1 <= n <= MOST_PENDING:
                    self.fault(g, pc, "COUNT", f"an arrival count of {n}", f"1..{MOST_PENDING}")
                thread = g.threads[i : i + 1]
                self._bytes(g, instr, pc, lane, thread, index, write=True)
                old = cluster.barriers.get(index)
                if old is not None:
                    self._visible(g, pc, old, thread)
                    self.fault(
                        g,
                        pc,
                        "REINIT",
                        f"mbarrier.init of a live mbarrier at {at & 0xFFFFFF:#x}",
                        "mbarrier.inval first, or initialise it once",
                        stop=False,
                        lane=lane,
                    )
                made = MBarrier(cluster.clocks, owner, index, n)
                made.maker = (int(thread[0]), int(cluster.clocks.epochs(thread)[0]))
                made.origin = place(self, g.warp, pc, lane, g.lanes)
                cluster.barriers[index] = made
                self.inits.setdefault((cluster.number, int(thread[0])), []).append(made)
            self.changes += 1

        return run

    def _bytes(
        self, g: Lanes, instr: Instr, pc: int, lane: int, thread: Array, index: int, *, write: bool
    ) -> None:
        """An mbarrier's own bytes as an access."""
        cluster = g.warp.cta.cluster
        start = np.array([index])
        event = self.event(
            g,
            instr,
            pc,
            write=write,
            starts=start,
            width=8,
            components=thread + (cluster.clocks.cluster << 18),
            values=cluster.clocks.epochs(thread),
            what="mbarrier",
        )
        event.lanes = np.array([lane])
        cluster.shared.access(
            cluster.clocks,
            thread,
            start[:, None] + np.arange(8),
            event,
            lambda c: self.conflict(c, "shared", g.warp.cta),
        )

    def not_a_barrier(self, g: Lanes, pc: int, start: Array, width: int) -> None:
        """An ordinary store over a live mbarrier."""
        barriers = g.warp.cta.cluster.barriers
        if not barriers:
            return
        for s in start.tolist():
            low = s - s % 8
            for at in range(low, s + width, 8):
                if at in barriers:
                    self.fault(
                        g,
                        pc,
                        "BARRIER-BYTES",
                        "a store to the bytes of a live mbarrier",
                        "keep data and barriers apart, or mbarrier.inval first",
                    )

    def covers_barrier(self, g: Lanes, pc: int, index: Array) -> None:
        """An asynchronous copy over a live mbarrier."""
        barriers = g.warp.cta.cluster.barriers
        low, high = int(index.min()), int(index.max())
        if any(low <= at <= high and (index == at).any() for at in barriers):
            self.fault(
                g,
                pc,
                "BARRIER-BYTES",
                "a copy lands on the bytes of a live mbarrier",
                "keep data and barriers apart, or mbarrier.inval first",
            )

    def _mb_inval(self, instr: Instr, pc: int) -> Run:
        address = self.address(instr.operands[0], instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            where = address(g)
            cluster = g.warp.cta.cluster
            for i, lane in enumerate(g.lanes.tolist()):
                thread = g.threads[i : i + 1]
                barrier = self._found(g, pc, int(where[lane]), thread)
                clocks = cluster.clocks
                for threads, epochs in (*barrier.arrivals, *barrier.before[0]):
                    if (clocks.known[STEP, thread[0], threads] < epochs).any():
                        self._inval_race(g, pc, barrier)
                for looks in barrier.looks.values():
                    for threads, epochs, _ in looks:
                        if (clocks.known[STEP, thread[0], threads] < epochs).any():
                            self._inval_race(g, pc, barrier)
                self._bytes(g, instr, pc, lane, thread, barrier.at, write=True)
                del cluster.barriers[barrier.at]

        return run

    def _inval_race(self, g: Lanes, pc: int, barrier: MBarrier) -> None:
        assert barrier.origin is not None
        self.findings.between(
            self,
            "INVAL",
            barrier.origin,
            g,
            pc,
            "mbarrier.inval while another thread may still arrive on the barrier or wait at it",
            "a barrier between the last use and mbarrier.inval",
        )

    def _scope(self, instr: Instr) -> tuple[str, str]:
        """Meaning and scope of an mbarrier operation."""
        sem = next((p for p in instr.parts if p in ("relaxed", "release", "acquire")), "")
        scope = next((p for p in instr.parts if p in ("cta", "cluster")), "cta")
        return sem, scope

    def _mb_arrive(self, instr: Instr, pc: int) -> Run:
        operands = list(instr.operands)
        d: Operand = Sink()
        if not isinstance(operands[0], Addr):
            d = operands.pop(0)
        address = self.address(operands[0], instr)
        expects = "expect_tx" in instr.parts
        drop = instr.parts[1] == "arrive_drop"
        number = self.get(operands[1], "u32", instr) if len(operands) > 1 else None
        store = setter(d, "b64", instr)
        sem, scope = self._scope(instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            where = address(g)
            numbers = number(g) if number is not None else None
            state = np.zeros(LANES, np.uint64)
            for at, rows in _by_value(where[g.lanes]):
                threads = g.threads[rows]
                barrier = self._found(g, pc, at, threads)
                lanes = g.lanes[rows]
                given = None if numbers is None else numbers[lanes].astype(np.int64)
                amounts = np.ones(len(lanes), np.int64) if expects or given is None else given
                extra = given if expects and given is not None else np.zeros(len(lanes), np.int64)
                if int(amounts.sum()) <= barrier.pending or len(lanes) == 1:
                    batches = [np.arange(len(lanes))]
                else:
                    batches = [np.array([i]) for i in range(len(lanes))]
                for batch in batches:
                    state[lanes[batch]] = barrier.phase
                    self.arrive(
                        g,
                        pc,
                        barrier,
                        threads[batch],
                        int(amounts[batch].sum()),
                        int(extra[batch].sum()),
                        sem,
                        scope,
                        drop=drop,
                    )
            store(g, state)
            g.warp.cta.cluster.clocks.tick(g.threads)
            self.changes += 1

        return run

    def arrive(
        self,
        g: Lanes,
        pc: int,
        barrier: MBarrier,
        threads: Array,
        amount: int,
        tx: int,
        sem: str,
        scope: str,
        *,
        drop: bool = False,
        stamp: Stamp | None = None,
    ) -> None:
        """Arrivals of threads in the present phase."""
        clocks = g.warp.cta.cluster.clocks
        self._in_phase(g, pc, barrier, threads, "an arrival")
        if amount > barrier.pending:
            self.fault(
                g,
                pc,
                "ARRIVALS",
                f"{amount} arrivals on {barrier.name} in a phase that expects "
                f"{barrier.pending} more "
                f"of {barrier.count}",
                "an arrival count at mbarrier.init that equals the arrivals of a phase",
            )
        held = stamp if stamp is not None else clocks.stamp(threads)
        remote = barrier.cta is not g.warp.cta
        if sem == "relaxed" or (remote and scope == "cta"):
            fenced = CLUSTER if remote else BLOCK_FENCE
            held = weakened(held, fenced, read_done=self.axioms["read_done"])
            self.used.add("read_done")
        merge(barrier.far if remote else barrier.near, held)
        epochs = clocks.epochs(threads)
        barrier.arrivals.append((threads, epochs))
        if remote:
            for t, e in zip(threads.tolist(), epochs.tolist(), strict=True):
                self.remember(barrier.cta, t, e, g, pc)
        barrier.pending -= amount
        if drop:
            barrier.count -= amount
        if tx:
            self._expect(g, pc, barrier, tx)
        self.settle(g, pc, barrier)

    def _in_phase(self, g: Lanes, pc: int, barrier: MBarrier, threads: Array, what: str) -> None:
        """An arrival in phase k has to know that phase k - 1 is complete."""
        if barrier.phase == 0:
            return
        clocks = g.warp.cta.cluster.clocks
        known = clocks.known[STEP, threads, barrier.component]
        behind = threads[known < barrier.phase]
        for thread in behind.tolist():
            earlier, bytes_ = barrier.before
            sure = not bytes_ and all(
                (clocks.known[STEP, thread, others] >= epochs).all() for others, epochs in earlier
            )
            if sure:
                clocks.known[STEP, thread, barrier.component] = barrier.phase
                continue
            assert barrier.origin is not None
            self.findings.between(
                self,
                "EARLY",
                barrier.origin,
                g,
                pc,
                f"{what} in phase {barrier.phase} of {barrier.name} by a thread that does not know "
                f"phase {barrier.phase - 1} to be complete: under another timing it counts for the "
                "earlier phase",
                "wait for the earlier phase before arriving again",
                witness=(
                    f"1. thread {thread % (LANES * g.warp.cta.warp_count)} of CTA "
                    f"{g.warp.cta.number} "
                    f"runs ahead to the second line while phase {barrier.phase - 1} is open",
                    "2. the phase completes too early, and whoever waits for it goes on",
                ),
            )
            return

    def _expect(self, g: Lanes, pc: int, barrier: MBarrier, tx: int) -> None:
        barrier.tx += tx
        barrier.bytes = True
        if abs(barrier.tx) > MOST_PENDING:
            self.fault(
                g,
                pc,
                "BYTES",
                f"{barrier.tx} pending bytes on {barrier.name}",
                f"at most {MOST_PENDING} bytes in a phase",
                stop=False,
            )

    def _mb_expect(self, instr: Instr, pc: int) -> Run:
        address = self.address(instr.operands[0], instr)
        number = self.get(instr.operands[1], "u32", instr)
        sign = -1 if instr.parts[1] == "complete_tx" else 1

        def run(g: Lanes) -> Any:  # noqa: ANN401
            where, numbers = address(g), number(g)
            for i, lane in enumerate(g.lanes.tolist()):
                thread = g.threads[i : i + 1]
                barrier = self._found(g, pc, int(where[lane]), thread)
                self._in_phase(g, pc, barrier, thread, "an expect_tx")
                self._expect(g, pc, barrier, sign * int(numbers[lane]))
                if sign > 0:
                    clocks = g.warp.cta.cluster.clocks
                    clocks.tick(thread)
                    epoch = int(clocks.epochs(thread)[0])
                    barrier.expects.append(
                        (int(thread[0]), epoch, place(self, g.warp, pc, lane, g.lanes))
                    )
                self.settle(g, pc, barrier)
            self.changes += 1

        return run

    def land(self, g: Lanes, pc: int, barrier: MBarrier, thread: Array, count: int) -> None:
        """Bytes of a copy that completes on a barrier, in its present phase."""
        self._in_phase(g, pc, barrier, thread, "bytes of a copy")
        barrier.tx -= count
        barrier.bytes = True
        merge(barrier.near, control_only(g.warp.cta.cluster.clocks.stamp(thread)))

    def settle(self, g: Lanes, pc: int, barrier: MBarrier) -> None:
        """Complete the phase where nothing is pending."""
        if barrier.pending or barrier.tx:
            return
        last = barrier.phase
        near, far = (dict(s) for s in barrier.done[last - 1])
        near = {k: v.copy() for k, v in near.items()}
        far = {k: v.copy() for k, v in far.items()}
        merge(near, barrier.near)
        merge(far, barrier.far)
        self._lapped(g, pc, barrier, near, far)
        self._expected(g, pc, barrier)
        barrier.done[last] = (near, far)
        barrier.done.pop(last - 6, None)
        barrier.looks.pop(last - 2, None)
        barrier.near, barrier.far = {}, {}
        barrier.before = (barrier.arrivals, barrier.bytes)
        barrier.arrivals, barrier.bytes = [], False
        barrier.phase += 1
        barrier.pending = barrier.count
        self.changes += 1

    def _expected(self, g: Lanes, pc: int, barrier: MBarrier) -> None:
        """A phase completes: every expect_tx of it must be before one of its arrivals."""
        cluster = g.warp.cta.cluster.clocks.cluster
        for thread, epoch, event in barrier.expects:
            known = 0
            for stamp in (barrier.near, barrier.far):
                rows = stamp.get(cluster)
                if rows is not None and thread < rows.shape[1]:
                    known = max(known, int(rows[STEP, thread]))
            if known < epoch:
                self.findings.between(
                    self,
                    "EXPECT-LATE",
                    event,
                    g,
                    pc,
                    f"no arrival of phase {barrier.phase} of {barrier.name} comes after this "
                    "expect_tx: when all arrivals are there first, the phase completes without "
                    "waiting for the bytes",
                    "mbarrier.arrive.expect_tx, or an arrival of the same thread after its "
                    "expect_tx",
                    witness=(
                        "1. all arrivals of the phase come before the expect_tx",
                        "2. no bytes are pending, so the phase completes; waiters read too early",
                    ),
                )
        barrier.expects = []

    def _lapped(self, g: Lanes, pc: int, barrier: MBarrier, near: Stamp, far: Stamp) -> None:
        """Phase q + 1 completes: every wait for phase q must have looked before."""
        clocks = g.warp.cta.cluster.clocks
        for threads, epochs, look in barrier.looks.get(barrier.phase - 1, ()):
            known = np.zeros(len(threads), np.int32)
            for stamp in (near, far):
                rows = stamp.get(clocks.cluster)
                if rows is not None:
                    inside = threads < rows.shape[1]
                    seen = rows[STEP, np.where(inside, threads, 0)]
                    known = np.maximum(known, np.where(inside, seen, 0))
            if (known < epochs).any() and self.axioms["late_waiters"]:
                if look.warp is not None:
                    self.findings.lapped.add(look.warp)
                self.findings.between(
                    self,
                    "LAPPED",
                    look,
                    g,
                    pc,
                    f"phase {barrier.phase} of {barrier.name} can complete before a waiter "
                    f"has looked for {_phase(barrier.phase - 1)}: a parity tells two phases apart "
                    "only, so the waiter then waits for a phase it was not meant to wait for",
                    "let the waiter signal (arrive) after its wait, and wait for that before "
                    "completing the next phase; a thread that does nothing with what it waited "
                    "for need not wait",
                    witness=(
                        "1. the waiter is held up in front of its wait",
                        f"2. {_phase(barrier.phase - 1)} and phase {barrier.phase} complete",
                        "3. the waiter finds the parity of the phase before and waits on",
                    ),
                    axiom="late_waiters",
                )

    def _mb_wait(self, instr: Instr, pc: int) -> Run:
        p, a, phase = instr.operands[:3]
        parity = "parity" in instr.parts
        address = self.address(a, instr)
        number = self.get(phase, "u32" if parity else "u64", instr)
        store = setter(p, "pred", instr)
        sem, scope = self._scope(instr)
        hasty = pc in self.program.hasty

        def run(g: Lanes) -> Any:  # noqa: ANN401
            where, numbers = address(g), number(g)
            keys = [
                (int(where[lane]), (int(numbers[lane]) & 1) if parity else ~int(numbers[lane]))
                for lane in g.lanes
            ]
            ways: dict[tuple[int, int], list[int]] = {}
            for i, key in enumerate(keys):
                ways.setdefault(key, []).append(i)
            found = [
                (self._found(g, pc, at, g.threads[rows]), which, np.array(rows))
                for (at, which), rows in ways.items()
            ]
            open_ = [(b, w) for b, w, _ in found if not _complete(b, w)]
            early = self.spin and hasty and g.tries < MOST_TRIES and self._may_fail(g, found)
            if open_ or early:
                if g.refuse or early or (self.spin and g.refused != self.changes):
                    g.refuse, g.refused, g.wait = False, self.changes, None
                    g.tries += 1
                    for b, w, rows in found:
                        self._meant(g, pc, b, w, g.threads[rows])
                    store(g, np.zeros(LANES, np.bool_))
                    return None
                g.wait = WaitPhase(open_)
                return BLOCK
            g.wait, g.refuse, g.tries = None, False, 0
            for b, w, rows in found:
                self._passed(g, pc, b, w, g.threads[rows], sem, scope)
            store(g, np.ones(LANES, np.bool_))
            return None

        return run

    @staticmethod
    def _may_fail(g: Lanes, found: list[tuple[MBarrier, int, Array]]) -> bool:
        """Whether a wait may come before its phase is complete, as far as the threads know."""
        known = g.warp.cta.cluster.clocks.known[STEP]
        for b, which, rows in found:
            last = known[g.threads[rows], b.component] - 1
            if ((last % 2 != which) if which >= 0 else (last < ~which)).any():
                return True
        return False

    def _meant(self, g: Lanes, pc: int, barrier: MBarrier, parity: int, threads: Array) -> Array:
        """The phase that each thread waits for, by what it knows."""
        clocks = g.warp.cta.cluster.clocks
        if parity < 0:
            return np.full(len(threads), ~parity)
        last = clocks.known[STEP, threads, barrier.component] - 1
        meant = np.where(last % 2 == parity, last, last + 1)
        if (meant < barrier.phase - 1).any() and self.axioms["late_waiters"]:
            self.findings.lapped.add(g.warp.index)
            self.findings.between(
                self,
                "LAPPED",
                barrier.origin or place(self, g.warp, pc, None, g.lanes),
                g,
                pc,
                f"the wait for {_phase(int(meant.min()))} of {barrier.name} comes when phase "
                f"{barrier.phase - 1} is already complete: the parity tells two phases apart only",
                "let the waiter signal after its wait before the next phase can complete",
                witness=(
                    f"1. phases {int(meant.min())}..{barrier.phase - 1} complete",
                    "2. the waiter looks only now",
                ),
                axiom="late_waiters",
            )
        return meant

    def _passed(
        self,
        g: Lanes,
        pc: int,
        barrier: MBarrier,
        parity: int,
        threads: Array,
        sem: str,
        scope: str,
    ) -> None:
        clocks = g.warp.cta.cluster.clocks
        meant = self._meant(g, pc, barrier, parity, threads)
        phase = int(min(max(int(meant.max()), -1), barrier.phase - 1))
        near, far = barrier.done.get(phase) or barrier.done[barrier.phase - 1]
        if not self.axioms["warp_wait"]:
            threads = g.warp.threads
        clocks.join(threads, relaxed_view(near) if sem == "relaxed" else near)
        if far:
            if scope != "cluster" or sem == "relaxed":
                far = weakened(far, CLUSTER, read_done=self.axioms["read_done"])
            clocks.join(threads, far)
        clocks.learn(threads, barrier.component, phase + 1)
        visits = g.warp.visits
        visits[pc] = visits.get(pc, 0) + 1
        look = place(self, g.warp, pc, None, g.lanes)
        g.warp.looked = True
        epochs = clocks.epochs(threads).copy()
        if phase == barrier.phase - 1:
            barrier.looks.setdefault(phase, []).append((threads, epochs, look))

    def _mb_pending(self, instr: Instr, pc: int) -> Run:
        raise refuse(instr)

    # -- named barriers

    def op_bar(self, instr: Instr, pc: int) -> Run:
        """``bar.sync``, ``bar.arrive``, ``bar.red``, ``bar.warp.sync``."""
        if instr.parts[1] == "warp":
            return self._warp_sync(instr, pc)
        return self._named(instr, pc, aligned=True)

    def op_barrier(self, instr: Instr, pc: int) -> Run:
        """``barrier.*``, ``barrier.cluster.*``."""
        if "cluster" in instr.parts:
            return self._cluster_barrier(instr, pc)
        return self._named(instr, pc, aligned="aligned" in instr.parts)

    def _warp_sync(self, instr: Instr, pc: int) -> Run:
        mask = self._mask_of(instr.operands[0], instr, pc)
        given = self.get(instr.operands[0], "u32", instr)

        def masks(g: Lanes) -> list[Array]:
            bits = np.unique(given(g)[g.lanes]).tolist()
            return [np.array([b >> i & 1 for i in range(LANES)], np.bool_) for b in bits]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            need = mask(g) & g.warp.live
            if isinstance(g.wait, WaitLanes) and g.wait.go:  # others of the mask came elsewhere
                g.wait = None
                return None
            mates = [
                h for h in g.warp.groups
                if h is not g
                and isinstance(h.wait, WaitLanes)
                and h.wait.what.endswith("bar.warp.sync")
            ]  # fmt: skip
            have = g.mask.copy()
            for h in mates:
                have |= h.mask
            if (need & ~have).any():
                g.wait = WaitLanes(
                    self, "waits for the other lanes of its warp at bar.warp.sync", aligned=False
                )
                late = need & ~have
                g.warp.awaited[pc] = late | g.warp.awaited.get(pc, late)
                return BLOCK
            self.never_came(g, pc, "bar.warp.sync")
            clocks = g.warp.cta.cluster.clocks
            for named in masks(g):  # lanes of different masks do not meet
                threads = g.warp.threads[named & have & need]
                clocks.join(threads, clocks.stamp(threads))
                clocks.tick(threads)
            for h in mates:
                assert h.wait is not None
                h.wait.go = True
            g.wait = None
            self.changes += 1
            return None

        return run

    def _named(self, instr: Instr, pc: int, *, aligned: bool) -> Run:  # noqa: C901
        what = next((p for p in instr.parts if p in ("sync", "arrive", "red")), "sync")
        operands = list(instr.operands)
        result = operands.pop(0) if what == "red" else None
        vote = None
        if what == "red":
            vote = self.get(operands.pop(), "pred", instr)
        reduce = next((p for p in instr.parts if p in ("popc", "and", "or")), "")
        number = self.get(operands[0], "u32", instr)
        count = self.get(operands[1], "u32", instr) if len(operands) > 1 else None
        store = None
        if result is not None:
            store = setter(result, "u32" if reduce == "popc" else "pred", instr)
        name = ".".join(instr.parts[:2])

        def run(g: Lanes) -> Any:  # noqa: ANN401
            clocks = g.warp.cta.cluster.clocks
            if isinstance(g.wait, WaitNamed):
                barrier, generation = g.wait.barrier, g.wait.generation
                if barrier.generation <= generation:
                    return BLOCK
                g.wait = None
                clocks.join(g.threads, barrier.done[generation])
                clocks.learn(g.threads, barrier.component, generation + 1)
                if store is not None:
                    total, every, some = barrier.results[generation]
                    value = {"popc": total, "and": every, "or": some}[reduce]
                    dtype = np.uint32 if reduce == "popc" else np.bool_
                    store(g, np.full(LANES, value, dtype))
                return None
            if aligned and not self.converged(
                g, pc, g.warp.live, f"{name} (aligned)", aligned=True
            ):
                return BLOCK
            which = int(number(g)[g.lanes[0]])
            wanted = None if count is None else int(count(g)[g.lanes[0]])
            barrier = self._arrive_named(g, pc, which, wanted, what, vote, aligned)
            visits = g.warp.visits
            visits[pc] = visits.get(pc, 0) + 1
            generation = barrier.here_generation
            clocks.tick(g.threads)
            self._settle_named(barrier)
            self.changes += 1
            if what == "arrive":
                return None
            g.wait = WaitNamed(barrier, generation)
            return run(g)

        return run

    def _arrive_named(
        self, g: Lanes, pc: int, which: int, wanted: int | None, what: str, vote: Any, aligned: bool
    ) -> Any:  # noqa: ANN401
        cta = g.warp.cta
        clocks = cta.cluster.clocks
        if not 0 <= which <= 15:
            self.fault(g, pc, "BARRIER", f"named barrier {which}", "0..15")
        if wanted is not None and (wanted % LANES or not 0 < wanted <= 1024):
            self.fault(g, pc, "BARRIER", f"a named barrier of {wanted} threads", "a multiple of 32")
        if what == "arrive" and wanted is None:
            self.fault(g, pc, "BARRIER", "bar.arrive without a count", "bar.arrive id, threads")
        barrier = cta.named.get(which)
        if barrier is None:
            barrier = cta.named[which] = _NamedBarrier(clocks, cta, which)
        if barrier.threads and barrier.fixed != wanted:
            self.fault(
                g,
                pc,
                "BARRIER",
                f"named barrier {which} with {wanted or 'all'} threads, while others of the same "
                f"generation gave {barrier.fixed or 'all'}",
                "the same count at every use",
            )
        barrier.fixed = wanted
        if barrier.generation:
            known = clocks.known[STEP, g.threads, barrier.component]
            for thread in g.threads[known < barrier.generation].tolist():
                if all((clocks.known[STEP, thread, o] >= e).all() for o, e in barrier.before):
                    continue
                self.findings.fault(
                    self,
                    g,
                    pc,
                    "BARRIER-AHEAD",
                    f"an arrival at named barrier {which} by a thread that does not know the "
                    "generation before to be complete: under another timing it counts for that one",
                    "let the arriver wait for the earlier generation",
                    kind=Verdict.RACE,
                )
                break
        twice = barrier.here.intersection(g.threads.tolist())
        if twice:
            self.fault(
                g,
                pc,
                "BARRIER-TWICE",
                f"threads of warp {g.warp.index} arrive twice in one generation of named "
                f"barrier {which}",
                "one arrival a thread and generation",
                kind=Verdict.RACE,
            )
        barrier.here.update(g.threads.tolist())
        lanes = LANES if aligned else len(g.lanes)
        barrier.threads += lanes
        merge(barrier.stamp, clocks.stamp(g.threads))
        barrier.arrivals.append((g.threads, clocks.epochs(g.threads)))
        if vote is not None:
            barrier.votes += [bool(v) for v in vote(g)[g.lanes]]
        barrier.here_generation = barrier.generation
        if wanted is not None and barrier.threads > wanted:
            self.fault(
                g,
                pc,
                "BARRIER",
                f"{barrier.threads} threads at named barrier {which} of {wanted}",
                "as many threads as the count says",
            )
        return barrier

    def _settle_named(self, barrier: Any) -> None:  # noqa: ANN401
        if not barrier.threads or barrier.threads < barrier.wanted():
            return
        generation = barrier.generation
        barrier.done[generation] = barrier.stamp
        barrier.done.pop(generation - 4, None)
        votes = barrier.votes
        barrier.results[generation] = (sum(votes), all(votes), any(votes))
        barrier.results.pop(generation - 4, None)
        barrier.before = barrier.arrivals
        barrier.stamp, barrier.arrivals, barrier.votes = {}, [], []
        barrier.here, barrier.threads = set(), 0
        barrier.generation += 1
        self.changes += 1

    # -- cluster barrier

    def _cluster_barrier(self, instr: Instr, pc: int) -> Run:
        arrives = "arrive" in instr.parts
        aligned = "aligned" in instr.parts
        relaxed = "relaxed" in instr.parts

        def run(g: Lanes) -> Any:  # noqa: ANN401
            cluster = g.warp.cta.cluster
            clocks = cluster.clocks
            if cluster.meeting is None:
                cluster.meeting = Meeting(cluster)
            meeting: Meeting = cluster.meeting
            if (
                aligned
                and not isinstance(g.wait, WaitNamed)
                and not self.converged(
                    g, pc, g.warp.live, "barrier.cluster (aligned)", aligned=True
                )
            ):
                return BLOCK
            if arrives:
                twice = meeting.here.intersection(g.threads.tolist())
                ahead = [t for t in g.threads.tolist() if meeting.of.get(t, -1) >= 0]
                if twice or ahead:
                    self.fault(
                        g,
                        pc,
                        "CLUSTER-TWICE",
                        "barrier.cluster.arrive twice without a wait between",
                        "barrier.cluster.wait after every arrive",
                    )
                stamp = clocks.stamp(g.threads)
                merge(meeting.stamp, self._init_only(stamp) if relaxed else stamp)
                for t in g.threads.tolist():
                    meeting.here.add(t)
                    meeting.of[t] = meeting.generation
                clocks.tick(g.threads)
                self.changes += 1
                self._settle_meeting(meeting)
                return None
            missing = [t for t in g.threads.tolist() if meeting.of.get(t, -1) < 0]
            if missing:
                self.fault(
                    g,
                    pc,
                    "CLUSTER-WAIT",
                    "barrier.cluster.wait without an arrive before",
                    "barrier.cluster.arrive first",
                )
            generation = max(meeting.of[t] for t in g.threads.tolist())
            if meeting.generation <= generation:
                g.wait = WaitNamed(meeting, generation)
                return BLOCK
            g.wait = None
            clocks.join(g.threads, meeting.done[generation])
            for t in g.threads.tolist():
                meeting.of[t] = -1
            return None

        return run

    def _init_only(self, stamp: Stamp) -> Stamp:
        """What a relaxed arrival at the cluster barrier passes on."""
        return weakened(stamp, CLUSTER, read_done=self.axioms["read_done"])

    def _settle_meeting(self, meeting: Meeting) -> None:
        live = {int(t) for c in meeting.cluster.ctas for w in c.warps for t in w.threads[w.live]}
        if not live or live - meeting.here:
            return
        meeting.done[meeting.generation] = meeting.stamp
        meeting.done.pop(meeting.generation - 3, None)
        meeting.stamp, meeting.here = {}, set()
        meeting.generation += 1
        self.changes += 1

    # -- fences

    def op_fence(self, instr: Instr, pc: int) -> Run:
        """``fence.*``."""
        parts = instr.parts
        if "proxy" in parts:
            if "alias" in parts or any(p.split("::")[0] == "async" for p in parts):
                planes: tuple[int, ...] = (SHARED, GLOBAL)
                if any("shared" in p for p in parts if "sync_restrict" in p):
                    planes = (SHARED,)
                if any(p.startswith("shared") for p in parts):
                    planes = (SHARED,)
                elif "global" in parts:
                    planes = (GLOBAL,)
                return lambda g: g.warp.cta.cluster.clocks.fence_async(g.threads, planes)
            if any(p.startswith("tensormap") for p in parts):
                return self.map_fence(instr, pc)
            raise refuse(instr)
        if "mbarrier_init" in parts:
            return self._init_fence
        scope = next((p for p in parts if p in ("cta", "cluster", "gpu", "sys")), "sys")
        return self._scoped(scope)

    def map_fence(self, instr: Instr, pc: int) -> Run:
        """``fence.proxy.tensormap``; with the tensor maps."""
        raise refuse(instr)

    def op_membar(self, instr: Instr, pc: int) -> Run:
        """``membar.cta``, ``.gl``, ``.sys``."""
        return self._scoped({"cta": "cta", "gl": "gpu", "sys": "sys"}[instr.parts[1]])

    def _scoped(self, scope: str) -> Run:
        planes = {"cta": (BLOCK_FENCE,), "cluster": (BLOCK_FENCE, CLUSTER)}.get(
            scope, (BLOCK_FENCE, CLUSTER, DEVICE)
        )

        def run(g: Lanes) -> Any:  # noqa: ANN401
            cta = g.warp.cta
            own = slice(cta.base, cta.base + LANES * cta.warp_count) if scope == "cta" else None
            cta.cluster.clocks.fence_scope(g.threads, planes, own)

        return run

    def _init_fence(self, g: Lanes) -> None:
        """``fence.mbarrier_init``: inits of these threads are published by a relaxed arrival."""
        clocks = g.warp.cta.cluster.clocks
        for t in g.threads.tolist():
            made = self.inits.get((clocks.cluster, t), ())
            key = (clocks.cluster, t)
            if key not in self.init_fences:
                self.init_fences[key] = clocks.component()
            column = self.init_fences[key]
            number = int(clocks.known[CONTROL, t, column]) + 1
            for b in made:
                if not b.fence:
                    b.fence = number
            clocks.known[:, t, column] = number
        clocks.tick(g.threads)

    def op_griddepcontrol(self, instr: Instr, pc: int) -> Run:
        """``griddepcontrol.wait``: the grids before this one are complete and visible."""
        if "wait" not in instr.parts:
            return lambda g: None

        def run(g: Lanes) -> Any:  # noqa: ANN401
            cta = g.warp.cta
            if cta.grid_component < 0:
                cta.grid_component = cta.cluster.clocks.component()
            cta.cluster.clocks.learn(g.threads, cta.grid_component, 1)

        return run

    def before_grid_wait(self, g: Lanes, pc: int, threads: Array, *, write: bool) -> None:
        """Global memory touched by a kernel that waits for earlier grids, before that wait."""
        if not self.grid_waits or not self.axioms["grid_wait"]:
            return
        cta = g.warp.cta
        if cta.grid_component >= 0:
            known = cta.cluster.clocks.known[CONTROL, threads, cta.grid_component]
            if (known > 0).all():
                return
        waits = [i for i in self.program.instrs if i.parts[0] == "griddepcontrol"]
        lines = ", ".join(str(i.line) for i in waits if "wait" in i.parts)
        self.used.add("grid_wait")
        self.findings.fault(
            self,
            g,
            pc,
            "GRID-WAIT",
            f"global memory is {'written' if write else 'read'} by a thread that is not behind the "
            f"kernel's griddepcontrol.wait (line {lines}): the grid before may still "
            + ("read or write it" if write else "write it"),
            "griddepcontrol.wait before the access; --axiom grid_wait=off where the memory has "
            "nothing to do with earlier grids",
            kind=Verdict.RACE,
        )

    # -- registers

    def op_setmaxnreg(self, instr: Instr, pc: int) -> Run:
        """``setmaxnreg``: registers move between the warps of a CTA."""
        (n,) = instr.operands
        wanted = int(n.value) if isinstance(n, Imm) else -1
        more = "inc" in instr.parts

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "setmaxnreg (aligned)", aligned=True):
                return BLOCK
            if wanted % 8 or not 24 <= wanted <= 256:
                self.fault(g, pc, "REGISTERS", f"setmaxnreg {wanted}", "a multiple of 8, 24..256")
            cta, warp = g.warp.cta, g.warp
            if cta.pool is None:
                warp.register_changes.append(pc)
                self.used.add("registers")
                return None
            have = warp.registers or 0
            if (more and wanted < have) or (not more and wanted > have):
                self.fault(
                    g,
                    pc,
                    "REGISTERS",
                    f"setmaxnreg.{'inc' if more else 'dec'} to {wanted} with {have} registers",
                    stop=False,
                )
            if more and wanted - have > cta.pool:
                g.wait = WaitPool(cta, wanted - have)
                return BLOCK
            g.wait = None
            warp.register_changes.append(pc)
            cta.pool -= wanted - have
            warp.registers = wanted
            self.changes += 1
            return None

        return run

    def admitted(self, cta: Cta) -> None:
        """Registers at the start of a CTA, where they are known."""
        known = self.launch.registers or (self.program.directives.get("maxnreg") or (0,))[0]
        if known:
            cta.pool = 0
            for w in cta.warps:
                w.registers = known

    def left(self, warp: Warp) -> None:
        """Barriers that count live threads look again."""
        cta = warp.cta
        for barrier in cta.named.values():
            if barrier.fixed is None:
                self._settle_named(barrier)
        if cta.cluster.meeting is not None:
            self._settle_meeting(cta.cluster.meeting)
        if not any(w.live.any() for w in cta.warps) and not cta.done:
            cta.done = True
            self.cta_left(cta)

    def cta_left(self, cta: Cta) -> None:
        """A CTA is over: nothing may still arrive on it or write to it."""
        clocks = cta.cluster.clocks
        threads = np.concatenate([w.threads for w in cta.warps])
        for component, (value, (warp, pc)) in cta.remote.items():
            if int(clocks.known[CONTROL, threads, component].max()) < value:
                old = place(self, warp, pc, None, np.arange(LANES))
                last = cta.warps[0]
                ends = [
                    i for i, x in enumerate(self.program.instrs) if x.parts[0] in ("ret", "exit")
                ]
                g = Lanes(last, 0, np.ones(LANES, np.bool_), None)
                self.findings.between(
                    self,
                    "EXIT",
                    old,
                    g,
                    ends[-1] if ends else 0,
                    f"CTA {cta.number} can exit while this copy, store or arrival to its "
                    "shared memory "
                    "is still under way",
                    "a cluster barrier, or a wait for it, before the exit",
                    kind=Verdict.INVALID,
                )


class WaitPool:
    """Waits for registers that other warps give back."""

    polls, aligned = False, False

    def __init__(self, cta: Cta, wanted: int) -> None:
        self.cta, self.wanted = cta, wanted

    def ready(self, g: Lanes) -> bool:
        """Enough were given back."""
        return self.cta.pool is not None and self.cta.pool >= self.wanted

    def describe(self) -> str:
        """For a deadlock's listing."""
        return f"waits for {self.wanted} registers a thread; {self.cta.pool} were given back"


class _NamedBarrier(Named):
    """A named barrier with the count of its present generation."""

    def __init__(self, clocks: Clocks, cta: Cta, number: int) -> None:
        super().__init__(clocks, cta, number)
        self.fixed: int | None = None
        self.here_generation = 0

    def title(self) -> str:
        """For listings."""
        return f"named barrier {self.number} of CTA {self.cta.number}"

    def wanted(self) -> int:
        """Threads of a generation."""
        if self.fixed is not None:
            return self.fixed
        return LANES * sum(bool(w.live.any()) for w in self.cta.warps)


def _by_value(values: Array) -> list[tuple[int, Array]]:
    """Rows of equal values."""
    first = int(values[0])
    if (values == first).all():
        return [(first, np.arange(len(values)))]
    return [(int(v), np.nonzero(values == v)[0]) for v in np.unique(values)]


_ = (Reg, Vec)
