"""Execution of thread programs: all threads of several CTAs at once, on NumPy arrays.

A register is an array with one number for every thread; a statement is executed by the threads that
are there. What no run may do is an ``InterpreterError`` at the author's line: an element outside
its tensor, a vector at an address that is no multiple of its bytes, a barrier that some threads of
a CTA do not reach, a shuffle without all threads of a warp, shared memory that two threads touch
between two barriers, one of them writing, or that nobody wrote.

Loops whose turns have nothing to do with one another are executed at once: registers that differ
between turns are arrays with an axis for the turns in front of the threads (``turns``).

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
from warploom.interp.products import Products, bytes_of
from warploom.interp.shared_memory import SharedMemory
from warploom.interp.timing import TooLongError
from warploom.interp.turns import Turns
from warploom.interp.vector import FOLDS
from warploom.ir import threads as ir
from warploom.ir.expr import Binary, Const, Element, Op, Select, Sym, SymKind
from warploom.ir.module import KernelModule
from warploom.ir.thread_checks import check_threads
from warploom.ir.threads import Statement, Term
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import DType, Fn, Line

WARP, GROUP = 32, 128  # threads
WHOLE = frozenset((DType.I32, DType.I8, DType.I4, DType.U32))
MOST_LANES = 1 << 14  # threads that are executed together
MOST_AT_ONCE = 1 << 19  # numbers of a register, of all threads and turns that run together
BASE = 16  # bytes that every address of a tensor is a multiple of
CHUNK = 16  # bytes that a thread stores at once
NOBODY, SEVERAL = -1, -2

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
    touched: Array = field(init=False)  # the only thread that stored or joined it, or several
    read: Array = field(init=False)  # the only thread that read it, or several

    def __post_init__(self) -> None:
        self.touched = np.full_like(self.thread, NOBODY)
        self.read = np.full_like(self.thread, NOBODY)


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
        self.shape: tuple[int, ...] = (self.lanes,)  # turns that run together, and threads
        self.turns = Turns(module.threads)
        self.numbers_known: dict[object, Any] = {}  # of terms of threads and counters
        self.bounds: dict[int, tuple[Array, int, int]] = {}  # of these
        self.everybody: dict[tuple[int, ...], Array] = {}  # masks in which all threads are
        self.grid = grid
        self.registers: dict[str, Any] = {}
        self.kinds: dict[str, DType] = {}
        self.views: dict[str, _View] = {}
        self.addresses: dict[str, ir.Address] = {}
        unit = _smallest(module.threads)
        self.shared = SharedMemory(len(ctas), max(1, module.launch.shared_bytes), unit)
        self.products = Products(self.shared, self.threads)
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
                if self.everybody.get(mask.shape) is not mask and not mask.any():
                    return mask
                before = mask
            self.budget.spend()
            mask = self.step(statement, mask)
        return mask

    def full(self, mask: Array) -> bool:
        """Whether all threads are there; asked again and again of the same ones."""
        if self.everybody.get(mask.shape) is mask:
            return True
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
            case ir.Address():
                self.addresses[s.name] = s
                self.registers[s.name] = [self.term(x, mask) for x in s.at]
            case ir.FetchNearby():
                tensor = self.addresses[s.address].tensor
                self.fetch(s.into, 0, tensor, self.registers[s.address], s.width, mask)
            case ir.OperandTile():
                self.products.declare(s)
            case ir.PutTile():
                at = [self.term(x, mask) for x in (s.row, s.column)]
                self.put_tile(s.tile, at[0], at[1], self.term(s.value, mask), mask)
            case ir.PutChunk():
                self.put_chunk(s, mask)
            case ir.ClearTile():
                self.clear_tile(s, mask)
            case ir.ProxyFence():
                self.products.fence(self.cta_masks(mask))
            case ir.MmaFence():
                self.products.settle(s.registers)
            case ir.Mma():
                self.product(s, mask)
            case ir.MmaCommit():
                self.products.commit(self.groups(mask, "a commit of products"))
            case ir.MmaWait():
                self.products.wait(self.groups(mask, "a wait for products"), s.pending)
            case ir.Fetch():
                at = [self.term(x, mask) for x in s.at]
                self.fetch(s.into, self.term(s.index, mask), s.tensor, at, s.width, mask)
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

    def loop(self, s: ir.For, mask: Array) -> Array:  # noqa: C901 (one step after the other)
        if self.at_once(s, mask):
            return mask
        jumps = _Jumps(np.zeros_like(mask), np.zeros_like(mask))
        self.loops.append(jumps)
        if s.first is not None:
            self.kinds[s.counter] = DType.U32 if s.unsigned else DType.I32
            self.registers[s.counter] = self.term(s.first, mask)
        self.turns.count(s.counter, self.registers[s.counter])
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
            self.turns.count(s.counter, self.registers[s.counter])
        self.loops.pop()
        return done | jumps.left

    def at_once(self, s: ir.For, mask: Array) -> bool:
        """Execute all turns of a loop together, where that is what one after the other does."""
        if not self.turns.apart(s, self.registers):
            return False
        assert s.first is not None
        first, end, step = (self.term(t, mask) for t in (s.first, s.end, s.step))
        if not _one(step) or step <= 0:
            return False
        away = np.asarray(end) - np.asarray(first)
        if away.ndim:
            away = np.broadcast_to(away, mask.shape)[mask]
        count = int(-(-away.max(initial=0) // step))
        if count < 2 or count * mask.size > MOST_AT_ONCE:
            return False
        outer = self.shape
        numbers = np.arange(count).reshape(count, *([1] * len(outer))) * step
        counter = np.asarray(first) + numbers
        shape = (count, *outer)
        if not (_one(first) and _one(end)):
            inside = np.broadcast_to(mask, shape) & (counter < end)
        elif not self.full(mask):
            inside = np.ascontiguousarray(np.broadcast_to(mask, shape))
        else:
            inside = self.everybody.setdefault(shape, np.ones(shape, bool))
        self.kinds[s.counter] = DType.U32 if s.unsigned else DType.I32
        self.registers[s.counter] = counter
        self.shape = shape
        turns = (int(first), int(step), count) if _one(first) else None
        self.turns.enter(s.counter, counter, turns, len(outer))
        self.run(s.body, inside)
        self.turns.leave(s.counter)
        self.shape = outer
        return True

    def declare(self, s: ir.Declare, mask: Array) -> None:
        self.kinds[s.name] = s.dtype
        if s.count:
            empty = np.nan if s.dtype.is_float else OUTSIDE
            empty = empty if s.value is None else 0
            kind = floating() if s.dtype.is_float else np.int64
            self.registers[s.name] = np.full((s.count, *self.shape), empty, kind)
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
        self.untouched(name)
        self.products.written(name)
        self.check_register(name, index, array, mask)
        if _one(index):
            if full:
                array[int(index)] = value
            else:
                np.copyto(array[int(index)], value, where=mask, casting="unsafe")
            return
        same = self.same_turns(index, array)
        if same is not None and (full or self.is_inside(index, array) or _inside(index, array)):
            old = None if full else array[same]
            new = value if full else np.where(mask, value, old)
            array[same] = np.broadcast_to(new, self.shape).astype(array.dtype, copy=False)
            return
        where = np.nonzero(mask)
        places = np.broadcast_to(index, mask.shape)[where]
        held = len(where) - (array.ndim - 1)  # turns that the array has no axis for
        array[(places, *where[held:])] = np.broadcast_to(value, mask.shape)[where]

    def same_turns(self, index: Any, array: Array) -> Any:  # noqa: ANN401 (numbers or arrays)
        """An index of turns that began after the array was declared; None where it differs
        between threads or earlier turns.
        """
        own = array.ndim - 1
        shape = np.shape(index)
        if len(shape) <= own or any(n != 1 for n in shape[len(shape) - own :]):
            return None
        if (
            len(shape) != len(self.shape)
            or shape[: len(shape) - own] != self.shape[: len(self.shape) - own]
        ):
            return None
        return np.asarray(index).reshape(shape[: len(shape) - own])

    def is_inside(self, index: Any, array: Array) -> bool:  # noqa: ANN401 (numbers or arrays)
        """Whether an index is known to be one of an array, whatever threads are there."""
        if isinstance(index, int):
            return 0 <= index < len(array)
        known = self.bounds.get(id(index))
        return known is not None and known[0] is index and 0 <= known[1] <= known[2] < len(array)

    def check_register(self, name: str, index: Any, array: Array, mask: Array) -> None:  # noqa: ANN401
        if self.is_inside(index, array):
            return
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
        self.shared.met(np.asarray(whole))
        self.products.met(np.asarray(whole))

    def places(self, view: str, index: Any, mask: Array) -> tuple[Array, Array, Array]:  # noqa: ANN401
        """Threads, their CTAs and their bytes of a view."""
        found, where = self.views[view], self.there(mask)
        own = self.picked(index, where)
        if ((own < 0) | (own >= found.count)).any():
            raise self.fail(
                f"element {int(own.min())}..{int(own.max())} of a view of {found.count}",
                "the view has no such element",
                "the index in the module",
            )
        return where, self.slot[where % self.lanes], found.offset + own * found.size

    def put(self, s: ir.Put, mask: Array) -> None:
        where, slots, at = self.places(s.view, self.term(s.index, mask), mask)
        value = self.picked(self.term(s.value, mask), where)
        size = self.views[s.view].size
        self.put_bytes(s.view, slots, at, value, self.tid[where % self.lanes], size)

    def put_bytes(
        self,
        name: str,
        slots: Array,
        at: Array,
        value: Any,  # noqa: ANN401 (numbers or arrays)
        me: Array,
        size: int,
    ) -> None:
        self.race(self.shared.put(slots, at, value, me, size), name)
        wrong = self.products.put(slots, at, me, size)
        if wrong:
            raise self.fail(
                f"an element of {name} is written while a product reads it",
                "products read their operands until they were waited for",
                "a wait and a barrier before the store in the module",
            )

    def shared_at(self, t: ir.Shared, mask: Array) -> Array:
        where, slots, at = self.places(t.view, self.term(t.index, mask), mask)
        own, wrong = self.shared.get(
            slots, at, self.tid[where % self.lanes], self.views[t.view].size
        )
        self.unwritten(wrong == "nobody", t.view)
        self.race(wrong, t.view)
        dtype = self.views[t.view].dtype
        kind = floating() if dtype.is_float else bool if dtype is DType.BOOL else np.int64
        found = np.zeros(mask.size, kind)
        found[where] = own.astype(kind)
        return found.reshape(self.shape)

    def unwritten(self, wrong: bool, name: str) -> None:
        if wrong:
            raise self.fail(
                f"an element of {name} that nobody wrote",
                "shared memory holds anything at first",
                "the store before it in the module",
            )

    def race(self, how: str, view: str) -> None:
        if how:
            raise self.fail(
                f"an element of {view} is {how} by two threads without a barrier between them",
                "either may come first",
                "a barrier between the two in the module",
            )

    # Operand tiles and products.

    def tile_places(self, name: str, row: Any, column: Any, mask: Array) -> tuple[Array, Array]:  # noqa: ANN401
        """Threads that are there, and the bytes of a tile that they name."""
        where = self.there(mask)
        rows, columns = self.picked(row, where), self.picked(column, where)
        tile = self.products.tiles[name]
        outside = (rows < 0) | (rows >= tile.rows) | (columns < 0) | (columns >= tile.columns)
        if outside.any():
            n = int(np.nonzero(outside)[0][0])
            raise self.fail(
                f"element [{int(rows[n])}, {int(columns[n])}] of {name}, which has {tile.rows} x"
                f" {tile.columns}",
                "the tile has no such element",
                "the coordinates in the module",
            )
        shape = tile.rows, tile.columns, tile.dtype.bits // 8, tile.offset
        return where, bytes_of(shape, rows, columns)

    def put_tile(self, name: str, row: Any, column: Any, value: Any, mask: Array) -> None:  # noqa: ANN401
        where, at = self.tile_places(name, row, column, mask)
        lanes, size = where % self.lanes, self.products.tiles[name].dtype.bits // 8
        own = self.picked(value, where)
        self.put_bytes(name, self.slot[lanes], at, own, self.tid[lanes], size)

    def put_chunk(self, s: ir.PutChunk, mask: Array) -> None:
        """Neighbours from a multiple of 16 bytes on: they are swizzled as one."""
        row, column = self.term(s.row, mask), self.term(s.column, mask)
        per = CHUNK // (self.products.tiles[s.tile].dtype.bits // 8)
        odd = np.asarray(column) % per != 0
        if odd if _one(odd) else (odd & mask).any():
            raise self.fail(
                f"16 bytes of {s.tile} from column {int(np.max(column))} on",
                "they begin at a multiple of 16 bytes",
                "the column in the module",
            )
        for j in range(per):
            value = self.register(s.source, j, mask)
            self.put_tile(s.tile, row, column + j, value, mask)

    def clear_tile(self, s: ir.ClearTile, mask: Array) -> None:
        tile = self.products.tiles[s.tile]
        size = tile.dtype.bits // 8
        here = self.cta_masks(mask)
        if (here.any(axis=1) != here.all(axis=1)).any():
            raise self.fail(
                f"{s.tile} is cleared by some threads of a block",
                "each takes chunks of it in turn",
                "the condition around it in the module",
            )
        at = tile.offset + np.arange(tile.rows * tile.columns) * size
        for slot in np.nonzero(here.any(axis=1))[0]:
            slots = np.full(len(at), slot)
            me = (at - tile.offset) // CHUNK % self.threads
            self.put_bytes(s.tile, slots, at, 0.0, me, size)

    def cta_masks(self, mask: Array) -> Array:
        return np.asarray(mask.reshape(-1, self.threads))

    def groups(self, mask: Array, what: str) -> Array:
        """The warpgroups that are there, whole, by CTA."""
        there = mask.reshape(len(self.shared.epoch), -1, GROUP)
        whole, some = there.all(axis=2), there.any(axis=2)
        if (whole != some).any():
            raise self.fail(
                f"{what} without some threads of a warpgroup",
                "all 128 take part in it",
                "the condition around it in the module",
            )
        return np.asarray(whole)

    def product(self, s: ir.Mma, mask: Array) -> None:
        there = self.groups(mask, "a product")
        index = self.term(s.index, mask)
        numbers = [self.term(x, mask) for o in (s.a, s.b) for x in (o.first, o.step)]
        own = [np.broadcast_to(x, mask.shape).reshape(-1, GROUP) for x in (index, *numbers)]
        if any((x != x[:, :1])[there.reshape(-1)].any() for x in own):
            raise self.fail(
                "a product whose operands differ between threads of a warpgroup",
                "all 128 name the same ones",
                "the operands in the module",
            )
        places = [x[:, 0].reshape(there.shape) for x in own]
        array = self.registers[s.into]
        wrong = self.products.issue(s, there, places, array, self.kinds[s.into])
        if wrong:
            raise self.fail(*wrong)

    # Global memory.

    def elements(
        self, tensor: str, at: Sequence[Any], mask: Array
    ) -> tuple[Array, tuple[Array, ...]]:
        """The threads that are there, and the elements that they name."""
        where = self.there(mask)
        found = tuple(self.picked(x, where) for x in at)
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
        if tensor in self.stores and len(where):
            made, me = self.stores[tensor], self.numbers[where % self.lanes]
            self.noted(made.read, places, me)
            self.unordered(tensor, made.touched, places, me)
        if len(where) == mask.size:
            return np.asarray(memory[places]).reshape(self.shape)
        found = np.zeros(mask.size, memory.dtype)
        if len(where):
            found[where] = memory[places]
        return found.reshape(self.shape)

    def store(self, tensor: str, at: Sequence[Any], value: Any, mask: Array) -> None:  # noqa: ANN401
        where, places = self.elements(tensor, at, mask)
        if not len(where):
            return
        memory, made = self.memory[tensor], self.stores[tensor]
        memory[places] = self.picked(value, where)
        np.add.at(made.count, places, 1)
        me = self.numbers[where % self.lanes]
        other = (made.thread[places] != NOBODY) & (made.thread[places] != me)
        made.thread[places] = me
        other |= made.thread[places] != me
        self.noted(made.touched, places, me)
        self.unordered(tensor, made.read, places, me)
        made.shared[tuple(p[other] for p in places)] = True

    def noted(self, who: Array, places: tuple[Array, ...], me: Array) -> None:
        """These threads touch elements of an output."""
        before = who[places]
        who[places] = np.where((before == NOBODY) | (before == me), me, SEVERAL)
        last = who[places]
        mixed = (last != me) & (last != SEVERAL)
        if mixed.any():
            who[tuple(p[mixed] for p in places)] = SEVERAL

    def unordered(self, tensor: str, who: Array, places: tuple[Array, ...], me: Array) -> None:
        """Nothing orders what two threads do with an element of an output."""
        other = (who[places] != NOBODY) & (who[places] != me)
        if other.any():
            at = tuple(int(p[other][0]) for p in places)
            raise self.fail(
                f"element {at} of '{tensor}' is stored by one thread and read by another",
                "either may come first: nothing orders threads of a launch in global memory",
                "an input of another kernel, or the value that is stored",
            )

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

    def fetch(
        self,
        into: str,
        first: Any,  # noqa: ANN401 (numbers or arrays)
        tensor: str,
        at: Sequence[Any],
        width: int,
        mask: Array,
    ) -> None:
        self.vector(tensor, at, width, mask)
        for j in range(width):
            value = self.load(tensor, [*at[:-1], at[-1] + j], mask)
            self.assign(into, first + j, value, mask)

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
            lane = np.where(from_before, self.every[: self.lanes] - 1, self.every[: self.lanes])
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
        own = self.picked(value, where)
        if len(where):
            me = self.numbers[where % self.lanes]
            self.noted(self.stores[s.tensor].touched, places, me)
            self.unordered(s.tensor, self.stores[s.tensor].read, places, me)
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
        self.untouched(name)
        self.check_register(name, index, array, mask)
        if _one(index):
            return array[int(index)].copy()
        same = self.same_turns(index, array)
        if same is not None:
            inside = self.is_inside(index, array)
            return array[same if inside else np.clip(same, 0, len(array) - 1)]
        places = np.clip(np.broadcast_to(index, mask.shape), 0, len(array) - 1)
        grid = np.ogrid[tuple(slice(n) for n in array.shape[1:])]
        return array[(places, *grid)]

    def untouched(self, name: str) -> None:
        if self.products.is_written(name):
            raise self.fail(
                f"register {name} is touched while a product writes it",
                "products write accumulators until they were waited for",
                "a wait before it in the module",
            )

    def there(self, mask: Array) -> Array:
        """The numbers of the threads that are there, of every turn."""
        return self.everyone(mask.size) if self.full(mask) else np.nonzero(mask.reshape(-1))[0]

    def everyone(self, size: int) -> Array:
        if len(self.every) < size:
            self.every = np.arange(size)
        return self.every[:size]

    def picked(self, value: Any, where: Array) -> Array:  # noqa: ANN401 (numbers or arrays)
        """The numbers of some threads."""
        if _one(value):
            return np.broadcast_to(np.asarray(value), where.shape)
        own = np.broadcast_to(value, self.shape).reshape(-1)
        return own if len(where) == own.size else own[where]

    def term(self, t: Term, mask: Array) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912
        """A number for every thread, or one for all; of threads outside of the mask anything."""
        match t:
            case ir.Reg(index=None):
                return self.registers[t.name]
            case ir.Reg():
                assert t.index is not None
                return self.register(t.name, self.term(t.index, mask), mask)
            case Binary():
                return self.arith(t, mask)
            case Const():
                return t.value
            case ir.Number():
                return float(t.value) if t.dtype.is_float else (
                    bool(t.value) if t.dtype is DType.BOOL else int(t.value)
                )  # fmt: skip
            case Sym(kind=SymKind.SIZE):
                return self.lengths[t.name]
            case Sym():
                return {ir.TID: self.tid, CTA: self.cta, CTAS: self.grid}[t]
            case ir.Scalar():
                value = self.scalars[t.name]
                return float(round_to(np.asarray(value), t.dtype)) if t.dtype.is_float else int(
                    value
                )  # fmt: skip
            case ir.Not():
                return np.logical_not(self.term(t.arg, mask))
            case ir.Within():
                index, length = self.term(t.index, mask), self.term(t.length, mask)
                return (index >= 0) & (index < length)
            case Select():
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
            case ir.Nearby():
                places = list(self.registers[t.address])
                places[t.axis] = places[t.axis] + self.term(t.by, mask)
                return self.load(self.addresses[t.address].tensor, places, mask)
            case Element():
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

    def arith(self, t: Binary, mask: Array) -> Any:  # noqa: ANN401
        """Integer arithmetic; of threads and counters alone, what was computed before."""
        key = self.turns.key_of(t)
        if key is None:
            return self.computed(t, mask)
        if key not in self.numbers_known:
            made = self.numbers_known[key] = self.computed(t, mask)
            if np.ndim(made) and made.size:
                self.bounds[id(made)] = made, int(made.min()), int(made.max())
        return self.numbers_known[key]

    def computed(self, t: Binary, mask: Array) -> Any:  # noqa: ANN401, C901, PLR0911
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

    def choose(self, t: Select, mask: Array) -> Any:  # noqa: ANN401
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
        value = np.broadcast_to(self.term(t.value, mask), self.shape).reshape(-1, WARP)
        by = np.broadcast_to(self.term(t.by, mask), self.shape).reshape(-1, WARP)
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
        found = np.take_along_axis(value, np.clip(source, 0, WARP - 1), axis=1)
        return found.reshape(self.shape)


def _encoded(value: Array, dtype: DType) -> Array:
    """A number as an element of memory: of whole ones the lower byte."""
    if dtype is DType.I8:
        return (value.astype(np.int64) + 128 & 255) - 128
    return (value != 0).astype(np.int64) if dtype is DType.BOOL else round_to(value, dtype)


def _one(value: Any) -> bool:  # noqa: ANN401 (numbers or arrays)
    """Whether a number is the same for all threads."""
    return not isinstance(value, np.ndarray) or value.ndim == 0


def _inside(index: Any, array: Array) -> bool:  # noqa: ANN401 (numbers or arrays)
    """Whether all numbers of an index are registers of an array."""
    return bool((np.asarray(index) >= 0).all() and (np.asarray(index) < len(array)).all())


def _smallest(program: ir.ThreadProgram) -> int:
    """Bytes of the smallest element in shared memory."""
    kinds = (ir.View, ir.OperandTile)
    found = [s.dtype.bits // 8 for s in ir.statements(program.body) if isinstance(s, kinds)]
    return min([4, *(max(1, n) for n in found)])
