"""Execution of thread programs: all threads of several CTAs at once, on NumPy arrays.

A register is an array with one number for every thread; a statement is executed by the threads that
are there. What no run may do is an ``InterpreterError`` at the author's line: an element outside
its tensor, a vector at an address that is no multiple of its bytes, a barrier that some threads of
a CTA do not reach, a shuffle without all threads of a warp, shared memory that two threads touch
between two barriers, one of them writing, or that nobody wrote.

``in_order`` runs CTAs by their numbers, ``random`` in a random order, ``adversarial`` all together.
Rows begin at whole vectors, with elements of nobody between them; where the timing is not
``in_order``, those of some tensors do not, so that both ways of moving them are executed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.errors import InterpreterError
from warploom.interp.arithmetic import OUTSIDE, Array, floating, pointwise, round_to, wrapped
from warploom.interp.timing import TooLongError
from warploom.interp.vector import FOLDS
from warploom.ir import threads as ir
from warploom.ir.expr import Op
from warploom.ir.module import KernelModule
from warploom.ir.thread_checks import check_threads
from warploom.ir.threads import Statement, Term
from warploom.ir.types import DType, Fn, Line

WARP = 32
WHOLE = frozenset((DType.I32, DType.I8, DType.I4, DType.U32))
MOST_LANES = 1 << 14  # threads that are executed together
BASE = 16  # bytes that every address of a tensor is a multiple of
NOBODY, SEVERAL = -1, -2
WORD = 4

_ARITH: Mapping[Op, Any] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.XOR: lambda a, b: a ^ b,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GE: lambda a, b: a >= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
}


@dataclass
class Stores:
    """Who stored the elements of an output, and how often."""

    count: Array
    thread: Array  # the last thread that did, counted over the launch
    shared: Array  # whether several threads did


def run_threads(
    module: KernelModule,
    memory: dict[str, Array],
    lengths: Mapping[str, int],
    scalars: Mapping[str, float],
    grid: int,
    *,
    timing: str = "in_order",
    seed: int = 0,
    most: int | None = None,
    rows: bool | None = None,
) -> tuple[dict[str, Stores], int]:
    """Execute a launch of ``grid`` CTAs on ``memory``; who stored what, and how many statements
    that took. ``rows``: whether rows of
    tensors begin at whole vectors (with elements of nobody between them), or nowhere.
    """
    check_threads(module)
    program = module.threads
    assert program is not None
    rng = random.Random(seed)
    ctas = list(range(grid))
    together = max(1, MOST_LANES // program.threads)
    if timing == "random":
        rng.shuffle(ctas)
        together = rng.randint(1, together)
    even = {
        t.name: rows if rows is not None else timing == "in_order" or rng.random() < 0.5
        for t in module.tensors
    }
    stores = {
        t.name: Stores(
            np.zeros(memory[t.name].shape, np.int64),
            np.full(memory[t.name].shape, NOBODY, np.int64),
            np.zeros(memory[t.name].shape, bool),
        )
        for t in module.tensors
        if t.access == "out"
    }
    budget = _Budget(most)
    for n in range(0, grid, together):
        batch = ctas[n : n + together]
        state = _Threads(module, memory, lengths, scalars, batch, grid, even, stores, budget)
        with np.errstate(all="ignore"):
            state.run(program.body, np.ones(state.lanes, bool))
    return stores, budget.done


@dataclass
class _Budget:
    most: int | None
    done: int = 0

    def spend(self) -> None:
        self.done += 1
        if self.most is not None and self.done > self.most:
            raise TooLongError(f"more than {self.most} operations")


@dataclass
class _Jumps:
    """Threads that left a loop, and those that left its turn."""

    left: Array
    turned: Array
    jumps: bool = False


@dataclass
class _View:
    offset: int
    size: int
    count: int
    dtype: DType


@dataclass
class _SharedMemory:
    """Shared memory by byte: what begins there, and who touched it since the last barrier."""

    ctas: int
    bytes: int
    values: Array = field(init=False)
    wrote: Array = field(init=False)  # in which epoch it was written last, and by whom
    writer: Array = field(init=False)
    read: Array = field(init=False)
    reader: Array = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.ctas, self.bytes)
        self.values = np.full(shape, np.nan, np.float64)
        self.wrote, self.read = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        self.writer, self.reader = np.full(shape, NOBODY), np.full(shape, NOBODY)
        self.epoch = np.zeros(self.ctas, np.int64)


class _Threads:
    """The threads of some CTAs."""

    def __init__(
        self,
        module: KernelModule,
        memory: dict[str, Array],
        lengths: Mapping[str, int],
        scalars: Mapping[str, float],
        ctas: Sequence[int],
        grid: int,
        even: Mapping[str, bool],
        stores: dict[str, Stores],
        budget: _Budget,
    ) -> None:
        assert module.threads is not None
        self.module, self.memory, self.lengths = module, memory, lengths
        self.scalars, self.even, self.stores, self.budget = scalars, even, stores, budget
        self.threads = module.threads.threads
        self.lanes = len(ctas) * self.threads
        self.types = {t.name: t.dtype for t in module.tensors}
        self.tid = np.tile(np.arange(self.threads), len(ctas))
        self.cta = np.repeat(np.asarray(ctas, np.int64), self.threads)
        self.slot = np.repeat(np.arange(len(ctas)), self.threads)  # of shared memory
        self.numbers = self.cta * self.threads + self.tid  # of the threads in the launch
        self.every = np.arange(self.lanes)
        self.grid = grid
        self.registers: dict[str, Any] = {}
        self.kinds: dict[str, DType] = {}
        self.views: dict[str, _View] = {}
        self.shared = _SharedMemory(len(ctas), max(1, module.launch.shared_bytes))
        self.loops: list[_Jumps] = []
        self.line: Line | None = None
        self.asked: Array | None = None
        self.answer = False

    def fail(self, what: str, why: str, fix: str) -> InterpreterError:
        where = str(self.line) if self.line is not None else self.module.name
        return InterpreterError(what, where=where, why=why, fix=fix)

    # Statements.

    def run(self, body: Sequence[Statement], mask: Array) -> Array:
        """Execute statements; the threads that come to their end."""
        before = None
        for statement in body:
            if mask is not before:
                if not mask.any():
                    return mask
                before = mask
            self.budget.spend()
            mask = self.step(statement, mask)
        return mask

    def full(self, mask: Array) -> bool:
        """Whether all threads are there; asked again and again of the same ones."""
        if mask is not self.asked:
            self.asked, self.answer = mask, bool(mask.all())
        return self.answer

    def step(self, s: Statement, mask: Array) -> Array:  # noqa: C901, PLR0912, PLR0915 (a case a kind)
        match s:
            case ir.Author():
                self.line = s.line
            case ir.Declare():
                self.declare(s, mask)
            case ir.View():
                size = max(1, s.dtype.bits // 8)
                self.views[s.name] = _View(s.offset, size, s.count, s.dtype)
            case ir.Assign():
                value = self.held(self.term(s.value, mask), s.name)
                index = None if s.index is None else self.term(s.index, mask)
                self.assign(s.name, index, value, mask)
            case ir.Put():
                self.put(s, mask)
            case ir.Fetch():
                self.fetch(s, mask)
            case ir.Send():
                self.send(s, mask)
            case ir.Covers():
                self.registers[s.name] = np.full((s.count, s.width, self.lanes), np.nan)
            case ir.FetchCover():
                self.fetch_cover(s, mask)
            case ir.TakeCovered():
                self.take_covered(s, mask)
            case ir.SendShifted():
                self.send_shifted(s, mask)
            case ir.Write():
                at = [self.term(x, mask) for x in s.at]
                self.store(s.tensor, at, self.term(s.value, mask), mask)
            case ir.Merge():
                self.merge(s, mask)
            case ir.Barrier():
                self.barrier(mask)
            case ir.AwaitKernelBefore():
                pass
            case ir.Break():
                self.loops[-1].left |= mask
                self.loops[-1].jumps = True
                mask = np.zeros_like(mask)
            case ir.Continue():
                self.loops[-1].turned |= mask
                self.loops[-1].jumps = True
                mask = np.zeros_like(mask)
            case ir.Scope():
                mask = self.run(s.body, mask)
            case ir.If():
                taken = self.term(s.condition, mask)
                if _one(taken):
                    mask = self.run(s.body if taken else s.otherwise, mask)
                else:
                    yes, no = mask & taken, mask & ~taken
                    mask = self.run(s.body, yes) | self.run(s.otherwise, no)
            case ir.For():
                mask = self.loop(s, mask)
        return mask

    def loop(self, s: ir.For, mask: Array) -> Array:
        jumps = _Jumps(np.zeros_like(mask), np.zeros_like(mask))
        self.loops.append(jumps)
        if s.first is not None:
            self.kinds[s.counter] = DType.U32 if s.unsigned else DType.I32
            self.registers[s.counter] = self.term(s.first, mask)
        done, active = np.zeros_like(mask), mask
        while True:
            self.budget.spend()
            goes: Any = True
            if s.running is not None:
                goes = self.term(s.running, active)
            inside = active & goes if not _one(goes) else active if goes else active & False
            if inside.any():
                goes = self.registers[s.counter] < self.term(s.end, inside)
                inside = inside & goes if not _one(goes) else inside if goes else inside & False
            if inside is not active:
                done, active = done | (active & ~inside), inside
            if not active.any():
                break
            active = self.run(s.body, active)
            if jumps.jumps:
                active = active | jumps.turned
                jumps.turned[:] = False
                if not active.any():
                    break
            step = self.term(s.step, active)
            still = step <= 0
            if still if _one(still) else (still & active).any():
                raise self.fail(
                    f"a loop over {s.counter} that does not go on",
                    "its step is not above 0",
                    "the step of the loop in the module",
                )
            later = self.registers[s.counter] + step
            whole = active is mask or not (mask & ~active).any()
            before = self.registers[s.counter]
            self.registers[s.counter] = later if whole else np.where(active, later, before)
        self.loops.pop()
        return done | jumps.left

    def declare(self, s: ir.Declare, mask: Array) -> None:
        self.kinds[s.name] = s.dtype
        if s.count:
            empty = np.nan if s.dtype.is_float else OUTSIDE
            kind = floating() if s.dtype.is_float else np.int64
            self.registers[s.name] = np.full((s.count, self.lanes), empty, kind)
        elif s.value is None:
            self.registers[s.name] = np.nan if s.dtype.is_float else OUTSIDE
        else:
            self.registers[s.name] = self.held(self.term(s.value, mask), s.name)

    def held(self, value: Any, name: str) -> Any:  # noqa: ANN401 (numbers or arrays)
        """A number as a register of its type takes it."""
        dtype = self.kinds[name]
        if dtype.is_float and np.asarray(value).dtype.kind in "iub":
            return round_to(np.asarray(value), DType.F32)
        return value

    def assign(self, name: str, index: Any, value: Any, mask: Array) -> None:  # noqa: ANN401
        full = self.full(mask)
        if index is None:
            before = self.registers[name]
            self.registers[name] = value if full else np.where(mask, value, before)
            return
        array = self.registers[name]
        self.check_register(name, index, array, mask)
        if _one(index):
            if full:
                array[int(index)] = value
            else:
                np.copyto(array[int(index)], value, where=mask, casting="unsafe")
        else:
            where = np.nonzero(mask)[0]
            array[np.broadcast_to(index, mask.shape)[where], where] = _picked(value, where)

    def check_register(self, name: str, index: Any, array: Array, mask: Array) -> None:  # noqa: ANN401
        outside = (index < 0) | (index >= len(array))
        if outside if _one(outside) else (outside & mask).any():
            raise self.fail(
                f"register {name}[{int(np.max(index))}] of {len(array)}",
                "registers are numbered from 0 to their count",
                "the index in the module",
            )

    # Shared memory.

    def barrier(self, mask: Array) -> None:
        there = mask.reshape(-1, self.threads)
        whole, some = there.all(axis=1), there.any(axis=1)
        if (whole != some).any():
            cta = int(np.nonzero(whole != some)[0][0])
            missing = int(np.nonzero(~there[cta])[0][0])
            raise self.fail(
                f"a barrier that thread {missing} does not reach",
                "all threads of a block meet at a barrier; the others would wait for ever",
                "the condition around the barrier in the module",
            )
        self.shared.epoch[whole] += 1

    def places(self, view: str, index: Any, mask: Array) -> tuple[Array, Array, Array]:  # noqa: ANN401
        """Threads, their CTAs and their bytes of a view."""
        found, where = self.views[view], np.nonzero(mask)[0]
        own = _picked(index, where)
        if ((own < 0) | (own >= found.count)).any():
            raise self.fail(
                f"element {int(own.min())}..{int(own.max())} of a view of {found.count}",
                "the view has no such element",
                "the index in the module",
            )
        return where, self.slot[where], found.offset + own * found.size

    def put(self, s: ir.Put, mask: Array) -> None:
        where, slots, at = self.places(s.view, self.term(s.index, mask), mask)
        value = _picked(self.term(s.value, mask), where)
        memory, epoch, me = self.shared, self.shared.epoch[slots], self.tid[where]
        again = (memory.wrote[slots, at] == epoch) & (memory.writer[slots, at] != me)
        seen = (memory.read[slots, at] == epoch) & (memory.reader[slots, at] != me)
        self.race(again | seen, s.view, "written twice" if again.any() else "read and written")
        memory.wrote[slots, at], memory.writer[slots, at] = epoch, me
        self.race(memory.writer[slots, at] != me, s.view, "written twice")
        memory.values[slots, at] = value
        if self.views[s.view].size == WORD:  # what began inside of it is gone
            for more in range(1, WORD):
                memory.wrote[slots, at + more] = -1

    def shared_at(self, t: ir.Shared, mask: Array) -> Array:
        where, slots, at = self.places(t.view, self.term(t.index, mask), mask)
        memory, epoch, me = self.shared, self.shared.epoch[slots], self.tid[where]
        wrote = memory.wrote[slots, at]
        if (wrote < 0).any():
            raise self.fail(
                f"an element of {t.view} that nobody wrote",
                "shared memory holds anything at first",
                "the store before it in the module",
            )
        self.race((wrote == epoch) & (memory.writer[slots, at] != me), t.view, "written and read")
        before = memory.reader[slots, at]
        new = memory.read[slots, at] != epoch
        memory.reader[slots, at] = np.where(new | (before == me), me, SEVERAL)
        memory.read[slots, at] = epoch
        last = memory.reader[slots, at]
        mixed = (last != me) & (last != SEVERAL)
        if mixed.any():
            memory.reader[slots[mixed], at[mixed]] = SEVERAL
        dtype = self.views[t.view].dtype
        kind = floating() if dtype.is_float else bool if dtype is DType.BOOL else np.int64
        found = np.zeros(self.lanes, kind)
        found[where] = memory.values[slots, at].astype(kind)
        return found

    def race(self, wrong: Array, view: str, how: str) -> None:
        if wrong.any():
            raise self.fail(
                f"an element of {view} is {how} by two threads without a barrier between them",
                "either may come first",
                "a barrier between the two in the module",
            )

    # Global memory.

    def elements(
        self, tensor: str, at: Sequence[Any], mask: Array
    ) -> tuple[Array, tuple[Array, ...]]:
        """The threads that are there, and the elements that they name."""
        where = np.nonzero(mask)[0]
        found = tuple(_picked(x, where) for x in at)
        shape = self.memory[tensor].shape
        for n, (x, length) in enumerate(zip(found, shape, strict=True)):
            wrong = (x < 0) | (x >= length)
            if wrong.any():
                axis = self.module.tensor(tensor).axes[n].name
                raise self.fail(
                    f"'{tensor}' is accessed at {int(x[wrong][0])} along {axis}",
                    f"the tensor has {length} elements there",
                    "the coordinate or the predicate of the access in the module",
                )
        return where, found

    def load(self, tensor: str, at: Sequence[Any], mask: Array) -> Array:
        where, places = self.elements(tensor, at, mask)
        memory = self.memory[tensor]
        found = np.zeros(self.lanes, memory.dtype)
        if len(where):
            found[where] = memory[places]
        return found

    def store(self, tensor: str, at: Sequence[Any], value: Any, mask: Array) -> None:  # noqa: ANN401
        where, places = self.elements(tensor, at, mask)
        if not len(where):
            return
        memory, made = self.memory[tensor], self.stores[tensor]
        memory[places] = _picked(value, where)
        np.add.at(made.count, places, 1)
        me = self.numbers[where]
        other = (made.thread[places] != NOBODY) & (made.thread[places] != me)
        made.thread[places] = me
        other |= made.thread[places] != me
        made.shared[tuple(p[other] for p in places)] = True

    def vector(self, tensor: str, at: Sequence[Any], width: int, mask: Array) -> None:
        """A vector lies at a multiple of its bytes."""
        where, places = self.elements(tensor, at, mask)
        size = max(1, self.types[tensor].bits // 8)
        odd = (places[-1] * size % min(BASE, width * size)).any() if len(where) else False
        if odd or (len(where) and not self.even[tensor] and width * size > 1):
            raise self.fail(
                f"{width} elements of '{tensor}' at an address that is no multiple of their bytes",
                "the hardware moves vectors at such addresses alone",
                "the condition before the access in the module",
            )

    def fetch(self, s: ir.Fetch, mask: Array) -> None:
        at = [self.term(x, mask) for x in s.at]
        first = self.term(s.index, mask)
        self.vector(s.tensor, at, s.width, mask)
        for j in range(s.width):
            value = self.load(s.tensor, [*at[:-1], at[-1] + j], mask)
            self.assign(s.into, first + j, value, mask)

    def send(self, s: ir.Send, mask: Array) -> None:
        at = [self.term(x, mask) for x in s.at]
        first = self.term(s.index, mask)
        self.vector(s.tensor, at, s.width, mask)
        for j in range(s.width):
            value = self.register(s.source, first + j, mask)
            self.store(s.tensor, [*at[:-1], at[-1] + j], value, mask)

    def shift(self, tensor: str, at: Sequence[Any]) -> Any:  # noqa: ANN401 (numbers or arrays)
        """How many bytes after a multiple of 16 an element lies, and where its row begins, where
        rows follow one another without gaps.
        """
        shape, size = self.memory[tensor].shape, max(1, self.types[tensor].bits // 8)
        row: Any = 0
        for place, length in zip(at[:-1], shape[:-1], strict=True):
            row = row * length + place
        first = row * shape[-1] * size
        return (first + at[-1] * size) % BASE, first

    def covered(self, t: ir.Covered, mask: Array) -> Any:  # noqa: ANN401
        at = [self.term(x, mask) for x in t.at]
        size = max(1, self.types[t.tensor].bits // 8)
        shift, first = self.shift(t.tensor, at)
        begin = first + at[-1] * size - shift
        end = begin + t.width * size + np.where(shift > 0, BASE, 0)
        return (begin >= first) & (end <= first + self.term(t.end, mask) * size)

    def fetch_cover(self, s: ir.FetchCover, mask: Array) -> None:
        """All of what is around lies in the row, too."""
        at, number = [self.term(x, mask) for x in s.at], self.term(s.index, mask)
        covers = self.registers[s.into]
        self.check_register(s.into, number, covers, mask)
        size = max(1, self.types[s.tensor].bits // 8)
        shift = self.shift(s.tensor, at)[0]
        self.elements(s.tensor, [*at[:-1], at[-1] - shift // size], mask)
        more = np.where(shift > 0, BASE // size, 0)
        last = at[-1] - shift // size + covers.shape[1] + more - 1
        self.elements(s.tensor, [*at[:-1], last], mask)
        for j in range(covers.shape[1]):
            value = self.load(s.tensor, [*at[:-1], at[-1] + j], mask)
            np.copyto(covers[int(number), j], value, where=mask, casting="unsafe")

    def take_covered(self, s: ir.TakeCovered, mask: Array) -> None:
        number, first = self.term(s.number, mask), self.term(s.index, mask)
        covers = self.registers[s.cover]
        self.check_register(s.cover, number, covers, mask)
        kind = self.registers[s.into].dtype
        for j in range(covers.shape[1]):
            value = covers[int(number), j]
            known = value if kind.kind == "f" else np.nan_to_num(value, nan=OUTSIDE)
            self.assign(s.into, first + j, known.astype(kind), mask)

    def send_shifted(self, s: ir.SendShifted, mask: Array) -> None:
        """What each lane stores: of a multiple of 16 bytes the last elements of the lane before."""
        self.whole_warps(mask)
        at = [self.term(x, mask) for x in s.at]
        here, before, after = (
            np.broadcast_to(self.term(x, mask), mask.shape) for x in (s.here, s.before, s.after)
        )
        here = mask & here
        size = max(1, self.types[s.tensor].bits // 8)
        moved = np.broadcast_to(self.shift(s.tensor, at)[0], mask.shape) // size
        own = self.registers[s.source]
        there = here & ((moved == 0) | before)
        for j in range(s.width):
            from_before = j < moved
            number = np.where(from_before, s.width - moved + j, j - moved) % s.width
            lane = np.where(from_before, self.every - 1, self.every)
            value = own[number, np.clip(lane, 0, self.lanes - 1)]
            self.store(s.tensor, [*at[:-1], at[-1] - moved + j], value, there)
        for j in range(s.width):
            last = j >= s.width - moved
            alone = here & (moved != 0) & np.where(last, ~after, ~before)
            self.store(s.tensor, [*at[:-1], at[-1] + j], own[j], alone)

    def merge(self, s: ir.Merge, mask: Array) -> None:
        """One thread after the other, in the order of their numbers."""
        value = self.term(s.value, mask)
        where, places = self.elements(s.tensor, [self.term(x, mask) for x in s.at], mask)
        memory, dtype = self.memory[s.tensor], self.types[s.tensor]
        own = _picked(value, where)
        if dtype in (DType.F32, DType.I32):
            FOLDS[s.fn].at(memory, places, own.astype(memory.dtype))
            if dtype is DType.I32:
                memory[places] = wrapped(memory[places])
            return
        for n in range(len(where)):  # every sum is rounded
            place = tuple(p[n] for p in places)
            memory[place] = round_to(FOLDS[s.fn](memory[place], own[n]), dtype)

    # Terms.

    def register(self, name: str, index: Any, mask: Array) -> Any:  # noqa: ANN401
        array = self.registers[name]
        self.check_register(name, index, array, mask)
        if _one(index):
            return array[int(index)].copy()
        return array[np.clip(np.broadcast_to(index, mask.shape), 0, len(array) - 1), self.every]

    def term(self, t: Term, mask: Array) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912
        """A number for every thread, or one for all; of threads outside of the mask anything."""
        match t:
            case ir.Number():
                return float(t.value) if t.dtype.is_float else (
                    bool(t.value) if t.dtype is DType.BOOL else int(t.value)
                )  # fmt: skip
            case ir.Length():
                return self.lengths[t.axis]
            case ir.Given():
                value = self.scalars[t.name]
                return float(round_to(np.asarray(value), t.dtype)) if t.dtype.is_float else int(
                    value
                )  # fmt: skip
            case ir.Place():
                return {ir.Here.THREAD: self.tid, ir.Here.CTA: self.cta}.get(t.of, self.grid)
            case ir.Reg() if t.index is None:
                return self.registers[t.name]
            case ir.Reg():
                assert t.index is not None
                return self.register(t.name, self.term(t.index, mask), mask)
            case ir.Arith():
                return self.arith(t, mask)
            case ir.Not():
                return np.logical_not(self.term(t.arg, mask))
            case ir.Within():
                index, length = self.term(t.index, mask), self.term(t.length, mask)
                return (index >= 0) & (index < length)
            case ir.Choose():
                return self.choose(t, mask)
            case ir.Function():
                args = [self.term(a, mask) for a in t.args]
                if t.code is not None:
                    return np.asarray(t.code.meaning(*args))
                if t.dtype.is_float and t.fn is not Fn.WHERE:
                    args = [np.asarray(a, floating()) for a in args]
                return pointwise(t.fn, args, t.dtype)
            case ir.Join():
                a, b = self.term(t.a, mask), self.term(t.b, mask)
                if t.dtype in WHOLE:
                    return wrapped(FOLDS[t.fn](a, b))
                made = FOLDS[t.fn](np.asarray(a, floating()), np.asarray(b, floating()))
                return round_to(made, DType.F32)
            case ir.Convert():
                value = self.term(t.arg, mask)
                if t.dtype is DType.U32:
                    return value & 0xFFFFFFFF
                return round_to(np.asarray(value), t.dtype)
            case ir.Decode():
                value = self.term(t.arg, mask)
                return value != 0 if t.dtype is DType.BOOL else value
            case ir.Encode():
                return _encoded(np.asarray(self.term(t.arg, mask)), t.dtype)
            case ir.Memory():
                return self.load(t.tensor, [self.term(x, mask) for x in t.at], mask)
            case ir.Shared():
                return self.shared_at(t, mask)
            case ir.Shuffle():
                return self.shuffle(t, mask)
            case ir.Aligned():
                return self.even[t.tensor]
            case ir.Contiguous():
                return True
            case ir.Covered():
                return self.covered(t, mask)
            case _:
                raise AssertionError(t)

    def arith(self, t: ir.Arith, mask: Array) -> Any:  # noqa: ANN401, C901, PLR0911
        a = self.term(t.a, mask)
        if t.op in (Op.AND, Op.OR):
            if _one(a):
                if bool(a) is (t.op is Op.OR):
                    return bool(a)
                return self.term(t.b, mask)
            asked = mask & (a if t.op is Op.AND else ~a)
            if not asked.any():
                return a
            b = self.term(t.b, asked)
            return a & b if t.op is Op.AND else a | (b & asked)
        b = self.term(t.b, mask)
        if t.op in _ARITH:
            return _ARITH[t.op](a, b)
        zero = b == 0
        if zero if _one(zero) else (zero & mask).any():
            raise self.fail("a division by zero", "an index has no value", "the divisor")
        if not _one(b):
            b = np.where(zero, 1, b)
        if t.op is Op.FLOOR_DIV:
            return np.floor_divide(a, b)
        if _one(a) and _one(b):
            quotient: Any = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
        else:
            quotient = np.abs(a) // np.abs(b)
            if np.any(np.less(a, 0)) or np.any(np.less(b, 0)):
                quotient = quotient * np.where((np.asarray(a) < 0) != (np.asarray(b) < 0), -1, 1)
        return quotient if t.op is Op.DIV else a - b * quotient

    def choose(self, t: ir.Choose, mask: Array) -> Any:  # noqa: ANN401
        taken = self.term(t.condition, mask)
        if _one(taken):
            return self.term(t.then if taken else t.otherwise, mask)
        yes, no = mask & taken, mask & ~taken
        then = self.term(t.then, yes) if yes.any() else None
        if not no.any() and then is not None:
            return then
        otherwise = self.term(t.otherwise, no)
        return otherwise if then is None else np.where(taken, then, otherwise)

    def whole_warps(self, mask: Array) -> None:
        there = mask.reshape(-1, WARP)
        if (there.any(axis=1) != there.all(axis=1)).any():
            raise self.fail(
                "a shuffle without some threads of the warp",
                "all 32 threads take part in it",
                "the condition around the shuffle in the module",
            )

    def shuffle(self, t: ir.Shuffle, mask: Array) -> Array:
        self.whole_warps(mask)
        value = np.broadcast_to(self.term(t.value, mask), (self.lanes,)).reshape(-1, WARP)
        by = np.broadcast_to(self.term(t.by, mask), (self.lanes,)).reshape(-1, WARP)
        lane = np.broadcast_to(np.arange(WARP), value.shape)
        match t.how:
            case ir.Exchange.XOR:
                source = lane ^ by
            case ir.Exchange.UP:
                source = np.where(lane >= by, lane - by, lane)
            case ir.Exchange.DOWN:
                source = np.where(lane + by < WARP, lane + by, lane)
            case ir.Exchange.LANE:
                source = by % WARP
        return np.take_along_axis(value, np.clip(source, 0, WARP - 1), axis=1).reshape(-1)


def _encoded(value: Array, dtype: DType) -> Array:
    """A number as an element of memory: of whole ones the lower byte."""
    if dtype is DType.I8:
        return (value.astype(np.int64) + 128 & 255) - 128
    return (value != 0).astype(np.int64) if dtype is DType.BOOL else round_to(value, dtype)


def _one(value: Any) -> bool:  # noqa: ANN401 (numbers or arrays)
    """Whether a number is the same for all threads."""
    return not isinstance(value, np.ndarray) or value.ndim == 0


def _picked(value: Any, where: Array) -> Array:  # noqa: ANN401 (numbers or arrays)
    """The numbers of some threads."""
    made = np.asarray(value)
    found: Array = np.broadcast_to(made, where.shape) if made.ndim == 0 else made[where]
    return found
