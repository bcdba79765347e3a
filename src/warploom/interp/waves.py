"""Execution of wave programs: lanes of waves on NumPy arrays, LDS, copies in flight, counters.

``in_order`` runs all waves of a workgroup together and completes every copy at once. Under
``random`` and ``adversarial`` timing every wave runs by itself; copies to LDS and accesses of rings
complete when they like, in the order in which a wave issued them, and at the latest when a wait
forces them. A register that a ring fills must not be read before.

What no run may do is an ``InterpreterError``: an element outside of its tensor or between its rows,
an address that is no multiple of what an access needs, an access outside of its ring's stage,
LDS that two waves touch between two barriers, one of them writing, a condition that should be
the same for a workgroup and is not, a barrier that some waves do not reach.

Numbers are rounded as their types say. LDS begins as bytes of ones, which are NaN in every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.errors import InterpreterError
from warploom.interp.arithmetic import Array, pointwise
from warploom.interp.counters import Queue
from warploom.interp.threads import NOBODY, Stores
from warploom.interp.timing import Agent, Blocked, Scheduler, Step, TooLongError
from warploom.interp.wave_values import (
    STORED,
    UNSIGNED,
    blank,
    constant,
    decoded,
    encoded,
    recast,
    stored_word,
)
from warploom.ir import waves as ir
from warploom.ir.module import KernelModule, TensorArg
from warploom.ir.types import DType, Fn
from warploom.ir.wave_checks import check_waves
from warploom.ir.waves import Instruction, IntOp, Kind, Merging, Operand, Order, Word

LANES = 64
BASE = 1 << 20  # between the addresses of tensors
SEVERAL = -2
SPARE = 16  # bytes that every tensor has at least
ODD, EVEN = 3, 16  # elements between rows; rows begin at multiples of so many, or nowhere
FAR = 2**31  # bytes of a buffer


@dataclass
class Memory:
    """A tensor as bytes: rows with elements of nobody between them."""

    tensor: TensorArg
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    bytes: Array
    address: int

    def places(self) -> Array:
        """The offset of every element."""
        at = np.zeros(self.shape, np.int64)
        for i, (length, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            along = [1] * len(self.shape)
            along[i] = length
            at = at + (np.arange(length) * stride).reshape(along)
        return at

    def coordinates(self, offsets: Array) -> tuple[tuple[Array, ...], Array]:
        """Which elements offsets are of; and whether there is one."""
        left, found = offsets, []
        inside = offsets >= 0
        for length, stride in zip(self.shape, self.strides, strict=True):
            at = left // stride
            left = left - at * stride
            inside = inside & (at < length)
            found.append(at)
        return tuple(found), inside


def place_tensors(
    module: KernelModule, arrays: Mapping[str, Array], padding: int
) -> dict[str, Memory]:
    """Tensors in memory; what lies between rows is NaN. ``padding``: elements between rows; where
    it is ``EVEN``, so many and what is missing to a multiple of it.
    """
    result = {}
    for n, tensor in enumerate(module.tensors):
        values = arrays[tensor.name]
        strides, step = [], 1
        for i, length in enumerate(reversed(values.shape)):
            strides.append(step)
            step *= max(1, length)
            if i == 0 and values.ndim > 1:
                step += padding + (-step % EVEN if padding == EVEN else 0)
        word = np.dtype(stored_word(tensor.dtype))
        count = step if values.size else 0
        memory = Memory(
            tensor,
            values.shape,
            tuple(reversed(strides)),
            word.itemsize,
            np.full(max(count * word.itemsize, SPARE), 0xFF, np.uint8),
            (n + 1) * BASE * BASE,
        )
        if values.size:
            end = count * word.itemsize
            memory.bytes[:end].view(word)[memory.places()] = encoded(values, tensor.dtype)
        result[tensor.name] = memory
    return result


def contents(memory: Memory) -> Array:
    """The elements of a tensor, as numbers."""
    word = np.dtype(stored_word(memory.tensor.dtype))
    if 0 in memory.shape:
        return np.zeros(memory.shape, np.float32)
    whole = memory.bytes[: memory.bytes.size // word.itemsize * word.itemsize].view(word)
    made = decoded(whole[memory.places()], memory.tensor.dtype)
    return made if memory.tensor.dtype.is_float else made.astype(np.int64)


@dataclass
class Place:
    """Addresses in a tensor: bytes from its first one."""

    memory: Memory
    bytes: Any


@dataclass
class Pending:
    """A register that is being filled."""

    value: Any = None
    ready: bool = False


@dataclass
class Workgroup:
    """LDS of a workgroup, who touched it since the last barrier, and the barrier."""

    number: int
    agents: int
    lds: Array
    writer: Array = field(init=False)
    reader: Array = field(init=False)
    came: int = 0
    opened: int = 0

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """From here on nothing was touched."""
        self.writer = np.full(self.lds.size, NOBODY, np.int16)
        self.reader = np.full(self.lds.size, NOBODY, np.int16)

    def arrive(self) -> None:
        """A wave comes to a barrier."""
        self.came += 1
        if self.came == self.agents:
            self.came = 0
            self.opened += 1
            self.forget()


def run_waves(
    module: KernelModule,
    arrays: Mapping[str, Array],
    lengths: Mapping[str, int],
    scalars: Mapping[str, float],
    scheduler: Scheduler,
    grid: int,
    *,
    rows: bool | None = None,
) -> tuple[dict[str, Array], dict[str, Stores]]:
    """Execute a launch; outputs, and who stored their elements. ``rows``: whether rows of tensors
    begin at whole vectors.
    """
    check_waves(module)
    program = module.program
    assert program is not None
    even = rows if rows is not None else scheduler.seed % 2 == 0
    memory = place_tensors(module, arrays, EVEN if even else ODD)
    stores = {
        t.name: Stores(
            np.zeros(memory[t.name].shape, np.int64),
            np.full(memory[t.name].shape, NOBODY, np.int64),
            np.zeros(memory[t.name].shape, bool),
        )
        for t in module.tensors
        if t.access == "out"
    }
    launch = Launched(module, program, memory, lengths, scalars, scheduler, stores)
    together = scheduler.timing == "in_order"
    waves = list(range(program.waves))
    for number in range(grid):
        lds = np.full(max(16, program.lds_bytes), 0xFF, np.uint8)
        group = Workgroup(number, 1 if together else len(waves), lds)
        for own in [waves] if together else [[w] for w in waves]:
            run = WaveRun(launch, group, own)
            scheduler.agents.append(Agent(f"workgroup {number} wave {own[0]}", run.steps()))
        if together:  # one workgroup after the other: fewer agents to ask
            with np.errstate(all="ignore"):
                scheduler.run()
            scheduler.agents.clear()
    if not together:
        with np.errstate(all="ignore"):
            scheduler.run()
    outputs = {t.name: contents(memory[t.name]) for t in module.tensors if t.access == "out"}
    return outputs, stores


@dataclass
class Launched:
    """What all waves of a launch share."""

    module: KernelModule
    program: ir.WaveProgram
    memory: dict[str, Memory]
    lengths: Mapping[str, int]
    scalars: Mapping[str, float]
    scheduler: Scheduler
    stores: dict[str, Stores]

    def arguments(self) -> dict[str, Any]:
        """What every register of an argument holds; addresses have none."""
        result: dict[str, Any] = {}
        for a in self.program.arguments:
            match a.what:
                case ir.ArgumentKind.STRIDE:
                    result[a.name] = np.int64(self.memory[a.of].strides[a.axis])
                case ir.ArgumentKind.SIZE:
                    result[a.name] = np.int32(self.lengths[a.of])
                case ir.ArgumentKind.SCALAR:
                    word = Word.F32 if a.kind == "f32" else Word.I32
                    result[a.name] = constant(self.scalars[a.of], word)
        return result


class _EndedError(Exception):
    """The workgroup has no tile."""


class WaveRun:
    """Some waves of a workgroup that run together."""

    def __init__(self, launch: Launched, group: Workgroup, waves: Sequence[int]) -> None:
        self.launch, self.group, self.program = launch, group, launch.program
        self.count = len(waves)
        self.lanes = LANES * self.count
        self.mask: Array | None = None
        self.vm, self.lgkm = Queue(launch.scheduler), Queue(launch.scheduler)
        self.rings: dict[int, ir.Ring] = {}
        self.lane = np.tile(np.arange(LANES, dtype=np.int32), self.count)
        numbers = np.asarray(waves, np.int32)
        self.waves = np.repeat(numbers, LANES)
        self.thread = self.waves * LANES + self.lane
        alone = self.count == 1
        self.registers: dict[str, Any] = launch.arguments() | {
            ir.TID: self.thread,
            ir.LANE: self.lane,
            ir.WAVE: np.int32(waves[0]) if alone else self.waves,
            ir.GROUP: np.int32(group.number),
        }

    def steps(self) -> Step:
        """The whole program."""
        try:
            yield from self.run(self.program.entry)
            yield from self.run(self.program.body)
        except _EndedError:
            return
        self.vm.wait(0)
        self.lgkm.wait(0)

    # Operands.

    def fail(self, what: str, why: str, fix: str) -> InterpreterError:
        """An error of this run."""
        where = f"{self.launch.module.name}, workgroup {self.group.number}"
        return InterpreterError(what, where=where, why=why, fix=fix)

    def get(self, operand: Operand, kind: Kind | Word = Word.I32) -> Any:  # noqa: ANN401
        """What an operand is."""
        if isinstance(operand, str):
            result = self.registers[operand]
            if type(result) is Pending:
                if not result.ready:
                    raise self.fail(
                        f"register {operand} is read while it is being filled",
                        "no wait stands between the read of LDS and this use",
                        "the count of the wait before it in the module",
                    )
                result = self.registers[operand] = result.value
            return result
        kind = kind if isinstance(kind, Kind) else Kind(kind)
        if operand is None:
            return blank(kind)
        one = constant(operand, kind.word)
        return np.full((kind.count,), one, STORED[kind.word]) if kind.count > 1 else one

    def over_lanes(self, value: Any) -> Array:  # noqa: ANN401
        """A number for every lane."""
        return (
            np.broadcast_to(value, (*np.shape(value)[:-1], self.lanes))
            if np.ndim(value)
            else np.broadcast_to(value, (self.lanes,))
        )

    def vector_over_lanes(self, value: Any, kind: Kind) -> Array:  # noqa: ANN401
        """A vector for every lane: its elements along the first axis."""
        value = np.asarray(value)
        if kind.count == 1:
            return self.over_lanes(value)
        value = value if value.ndim == 2 else value[:, None]
        return np.broadcast_to(value, (kind.count, self.lanes))

    def one_truth(self, value: Any, what: str) -> bool:  # noqa: ANN401
        """A condition that is the same for all lanes."""
        if np.ndim(value) == 0:
            return bool(value)
        if value.all() or not value.any():
            return bool(value[0])
        raise self.fail(
            f"{what} differs from lane to lane",
            "all waves of a workgroup take the same way",
            "the condition in the module",
        )

    # Bodies.

    def run(self, body: Sequence[Instruction]) -> Iterator[Blocked | None]:
        """Instructions in order."""
        scheduler = self.launch.scheduler
        for one in body:
            simple = SIMPLE.get(type(one))
            if simple is not None:
                scheduler.taken += 1
                simple(self, one)
                continue
            if scheduler.most is not None and scheduler.taken > scheduler.most:
                raise TooLongError(f"more than {scheduler.most} operations")
            yield from STRUCTURED[type(one)](self, one)

    def choose(self, one: ir.If) -> Iterator[Blocked | None]:
        """A condition of lanes, or of the workgroup."""
        test = self.get(one.condition, Word.I1)
        if one.otherwise is None and not one.results:
            outer = self.mask
            active = self.over_lanes(test)
            active = active if outer is None else outer & active
            if active.any():
                self.mask = active
                yield from self.run(one.body)
                self.mask = outer
            return
        taken = self.one_truth(test, "a condition")
        yield from self.run(one.body if taken else one.otherwise or ())
        made = [self.get(c.then if taken else c.otherwise, c.kind) for c in one.results]
        for c, value in zip(one.results, made, strict=True):
            self.registers[c.name] = value

    def turns(self, one: ir.While) -> Iterator[Blocked | None]:
        """A loop."""
        counter = (
            np.int32(self.get(one.first))
            if np.ndim(self.get(one.first)) == 0
            else (self.get(one.first))
        )
        carried = list(one.carried) + ([one.going] if one.going is not None else [])
        made = [self.get(k.first, k.kind) for k in carried]
        while True:
            self.launch.scheduler.taken += 1
            for k, value in zip(carried, made, strict=True):
                self.registers[k.name] = value
            self.registers[one.counter] = counter
            again = counter < self.get(one.end)
            if one.going is not None:
                again = again & self.get(one.going.name)
            if not self.one_truth(again, "the end of a loop"):
                return
            yield from self.run(one.body)
            made = [self.get(k.last, k.kind) for k in carried]
            counter = counter + np.int32(one.step)

    def step(self, one: ir.Step) -> Iterator[Blocked | None]:
        """An entry of a schedule."""
        if self.launch.scheduler.timing != "in_order":
            yield None
        yield from self.run(one.body)

    def pipeline(self, one: ir.Pipeline) -> Iterator[Blocked | None]:
        """A loop with a schedule."""
        self.rings = {r.channel: r for r in one.rings}
        yield from self.run(one.prologue)
        made = [self.lazily(k.first, k.kind) for k in one.carried]
        after = [self.lazily(c.otherwise, c.kind) for c in one.results]
        trips = int(np.asarray(self.get(one.trips)).flat[0])
        for turn in range(max(0, trips)):
            self.launch.scheduler.taken += 1
            self.registers[one.counter] = np.int32(turn)
            for k, value in zip(one.carried, made, strict=True):
                self.registers[k.name] = value
            yield from self.run(one.kernel)
            made = [self.lazily(k.last, k.kind) for k in one.carried]
            after = [self.lazily(c.then, c.kind) for c in one.results]
        for c, value in zip(one.results, after, strict=True):
            self.registers[c.name] = value
        yield from self.run(one.epilogue)
        self.vm.wait(0)
        self.lgkm.wait(0)

    def lazily(self, operand: Operand, kind: Kind) -> Any:  # noqa: ANN401
        """What an operand is, or will be: a register may be carried on while it is being filled."""
        if isinstance(operand, str):
            return self.registers[operand]
        return self.get(operand, kind)

    def barrier(self, one: ir.Barrier) -> Iterator[Blocked | None]:
        """All waves of the workgroup."""
        if self.count > 1:  # all of them run together
            self.group.forget()
            return
        seen = self.group.opened
        self.group.arrive()
        yield Blocked(lambda: self.group.opened > seen, "a barrier")

    def wait(self, one: ir.Wait) -> Iterator[Blocked | None]:
        """Until so many are in flight."""
        if one.vm is not None:
            self.vm.wait(one.vm)
        if one.lgkm is not None:
            self.lgkm.wait(one.lgkm)
        if self.launch.scheduler.timing != "in_order":
            yield None

    def nothing(self, one: Instruction) -> None:
        """What changes no value."""

    # Numbers.

    def integer(self, one: ir.Integer) -> None:
        """Arithmetic of whole numbers."""
        word = Word(f"i{one.bits}")
        a, b = self.get(one.a, word), self.get(one.b, word)
        if one.bits == 1:
            made = {IntOp.AND: np.logical_and, IntOp.OR: np.logical_or}.get(one.op, np.logical_xor)(
                a, b
            )
        elif one.op in _SIGNED:
            made = _SIGNED[one.op](a, b)
        else:
            kind = UNSIGNED[one.bits]
            x, y = np.asarray(a).astype(kind), np.asarray(b).astype(kind)
            if one.op in (IntOp.UDIV, IntOp.UREM) and np.any(y == 0):
                raise self.fail(f"{one.to}: a division by 0", "", "the divisor in the module")
            made = _UNSIGNED[one.op](x, y).astype(STORED[word])
        self.registers[one.to] = made

    def compare(self, one: ir.Compare) -> None:
        """A truth about two numbers."""
        word = Word(f"i{one.bits}")
        a, b = self.get(one.a, word), self.get(one.b, word)
        if one.op in _WITHOUT_SIGN:
            kind = UNSIGNED[one.bits]
            a, b = np.asarray(a).astype(kind), np.asarray(b).astype(kind)
        self.registers[one.to] = _ORDERS[one.op](a, b)

    def select(self, one: ir.Select) -> None:
        """One of two."""
        test = self.get(one.condition, Word.I1)
        a, b = self.get(one.a, one.kind), self.get(one.b, one.kind)
        if np.ndim(test) == 0:
            self.registers[one.to] = a if test else b
            return
        if one.kind.count > 1:
            a, b = self.vector_over_lanes(a, one.kind), self.vector_over_lanes(b, one.kind)
        self.registers[one.to] = np.where(test, a, b)

    def resize(self, one: ir.Resize) -> None:
        """Other bits."""
        value = np.asarray(self.get(one.value, one.source))
        if one.source is Word.I32 and not one.signed:
            value = value.view(np.uint32)
        self.registers[one.to] = value.astype(STORED[one.word])[()]

    def cast(self, one: ir.Cast) -> None:
        """The same bits."""
        value = self.get(one.value, one.source)
        self.registers[one.to] = recast(value, one.source, one.kind)

    def number(self, operand: Operand, dtype: DType) -> Any:  # noqa: ANN401
        """An operand that is a number of a type."""
        word = Word.I1 if dtype is DType.BOOL else Word.F32 if dtype.is_float else Word.I32
        return self.get(operand, word)

    def function(self, one: ir.Function) -> None:
        """A function of the table."""
        args = [self.number(a, t) for a, t in zip(one.args, one.types, strict=True)]
        if one.code is not None:
            wanted = [kind for _, kind in one.code.params]
            given = [self.converted(a, w) for a, w in zip(args, wanted, strict=True)]
            made = np.asarray(one.code.meaning(*given))
        elif one.fn is Fn.CAST:
            made = self.converted(args[0], one.dtype)
        else:
            own = args[1:] if one.fn is Fn.WHERE else args
            if len({np.asarray(x).dtype for x in own}) > 1:
                args = [np.asarray(x, np.float32) if x is not args[0] or one.fn is not Fn.WHERE
                        else x for x in args]  # fmt: skip
            made = pointwise(one.fn, args, one.dtype)
        self.registers[one.to] = _held(made, one.dtype)

    def converted(self, value: Any, dtype: DType) -> Any:  # noqa: ANN401
        """A number of another type."""
        return pointwise(Fn.CAST, [value], dtype)

    def pairwise(self, one: ir.Pairwise) -> None:
        """Two at once."""
        two = Kind(Word.F32, 2)
        a = self.vector_over_lanes(self.get(one.a, two), two)
        b = self.vector_over_lanes(self.get(one.b, two), two)
        self.registers[one.to] = pointwise(one.fn, [a, b], DType.F32)

    def convert(self, one: ir.Convert) -> None:
        """A number as one of another type."""
        value = self.number(one.value, one.source)
        self.registers[one.to] = _held(self.converted(value, one.dtype), one.dtype)

    def decode(self, one: ir.Decode) -> None:
        """An element of memory as a number."""
        word = Word.I16 if one.dtype.bits == 16 else Word.I8
        self.registers[one.to] = decoded(self.get(one.value, word), one.dtype)

    def encode(self, one: ir.Encode) -> None:
        """Numbers as elements of memory."""
        values = [self.number(v, one.dtype) for v in one.values]
        if one.many:
            held = np.stack([self.over_lanes(v) for v in values])
            self.registers[one.to] = encoded(held, one.dtype)
        else:
            self.registers[one.to] = encoded(values[0], one.dtype)

    def round(self, one: ir.Round) -> None:
        """A 16-bit float."""
        dtype = DType.BF16 if one.word is Word.BF16 else DType.F16
        self.registers[one.to] = encoded(self.get(one.value, Word.F32), dtype)

    def is_number(self, one: ir.IsNumber) -> None:
        """Not NaN."""
        self.registers[one.to] = ~np.isnan(self.get(one.value, Word.F32))

    # Vectors.

    def vector(self, one: ir.Vector) -> None:
        """A vector of values."""
        values = [self.over_lanes(self.get(v, one.word)) for v in one.values]
        self.registers[one.to] = np.stack(values)

    def insert(self, one: ir.Insert) -> None:
        """Another element at one place."""
        vector = self.vector_over_lanes(self.get(one.vector, one.kind), one.kind).copy()
        vector[one.at] = self.get(one.value, one.kind.word)
        self.registers[one.to] = vector

    def extract(self, one: ir.Extract) -> None:
        """An element."""
        self.registers[one.to] = self.get(one.vector, one.kind)[one.at]

    def shuffle(self, one: ir.Shuffle) -> None:
        """Some elements of two vectors."""
        parts = [self.vector_over_lanes(self.get(one.a, one.a_kind), one.a_kind)]
        if one.b is not None:
            parts.append(self.vector_over_lanes(self.get(one.b, one.b_kind), one.b_kind))
        whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
        picked = one.picked
        if picked == tuple(range(picked[0], picked[0] + len(picked))):
            self.registers[one.to] = whole[picked[0] : picked[0] + len(picked)]
        else:
            self.registers[one.to] = whole[list(picked)]

    # Memory.

    def address_bits(self, one: ir.AddressBits) -> None:
        """An address as a number."""
        self.registers[one.to] = np.int64(self.launch.memory[one.tensor].address)

    def address(self, one: ir.Address) -> None:
        """A place in memory."""
        memory = self.launch.memory[one.tensor]
        far = self.get(one.offset, Word.I64) << np.int64(one.scale)
        if one.start:
            far = far + self.registers[one.start].bytes
        self.registers[one.to] = Place(memory, far)

    def taken(self, place: Place, size: int, align: int, what: str) -> Array:
        """The bytes of every lane, checked for those that are there."""
        at = self.over_lanes(place.bytes)
        memory = place.memory
        wrong = (at < 0) | (at + size > memory.bytes.size)
        odd = (at % min(align, EVEN)) != 0
        for there, why in ((wrong, "outside of"), (odd, f"at no multiple of {align} bytes of")):
            bad = there if self.mask is None else there & self.mask
            if bad.any():
                lane = int(np.nonzero(bad)[0][0])
                raise self.fail(
                    f"{what} {why} '{memory.tensor.name}'",
                    f"thread {int(self.thread[lane])}: byte {int(at[lane])} of"
                    f" {memory.bytes.size}, {size} bytes",
                    "the offset or the condition in the module",
                )
        return at

    def loaded(self, place: Place, size: int, align: int) -> Array:
        """Bytes of every lane, as rows."""
        at = self.taken(place, size, align, "a load")
        if self.mask is not None:
            at = np.where(self.mask, at, 0)
        bytes_of: Array = place.memory.bytes[at[:, None] + np.arange(size)]
        return bytes_of

    def load(self, one: ir.Load) -> None:
        """Neighbours in memory."""
        raw = self.loaded(self.registers[one.address], one.kind.bits // 8, one.align)
        self.registers[one.to] = _from_bytes(raw, one.kind)

    def whole_number(self, memory: Memory, at: int) -> int:
        """One element of a tensor of whole numbers."""
        if at < 0 or (at + 1) * 4 > memory.bytes.size:
            raise self.fail(
                f"a load outside of '{memory.tensor.name}'", f"element {at}", "its index"
            )
        return int(memory.bytes[at * 4 : at * 4 + 4].view(np.int32)[0])

    def one_number(self, one: ir.Number) -> None:
        """One whole number for all lanes."""
        memory = self.launch.memory[one.tensor]
        at = int(np.asarray(self.get(one.index)).flat[0])
        self.registers[one.to] = np.int32(self.whole_number(memory, at))

    def active(self) -> Array:
        """Lanes that take part."""
        return np.arange(self.lanes) if self.mask is None else np.nonzero(self.mask)[0]

    def note(self, memory: Memory, at: Array, count: int, *, add: bool) -> None:
        """Who stores which elements."""
        stores = self.launch.stores.get(memory.tensor.name)
        first = at // memory.size
        for i in range(count):
            where, inside = memory.coordinates(first + i)
            if not inside.all():
                raise self.fail(
                    f"a store between the rows of '{memory.tensor.name}'",
                    f"element {int((first + i)[~inside][0])} of no row",
                    "the offset or the condition in the module",
                )
            if stores is None or add:
                continue
            thread = self.group.number * 4096 + self.thread[self.active()]
            before = stores.thread[where]
            stores.shared[where] |= (before != NOBODY) & (before != thread)
            stores.thread[where] = thread
            np.add.at(stores.count, where, 1)

    def store(self, one: ir.Store) -> None:
        """Neighbours to memory."""
        place = self.registers[one.address]
        memory, size = place.memory, one.kind.bits // 8
        at = self.taken(place, size, one.align, "a store")
        lanes = self.active()
        value = self.vector_over_lanes(self.get(one.value, one.kind), one.kind)
        raw = _to_bytes(value, one.kind)[lanes]
        memory.bytes[at[lanes][:, None] + np.arange(size)] = raw
        self.note(memory, at[lanes], one.kind.count, add=False)

    def merge(self, one: ir.Merge) -> None:
        """One operation of memory for every lane."""
        place = self.registers[one.address]
        memory, size = place.memory, one.word.bits // 8
        at = self.taken(place, size, size, "an atomic operation")
        lanes = self.active()
        value = self.over_lanes(self.get(one.value, one.word))
        self.note(memory, at[lanes], 1, add=True)
        word = memory.bytes[: memory.bytes.size // size * size].view(STORED[one.word])
        for lane in lanes:
            i = int(at[lane]) // size
            word[i] = merged(one.how, one.word, word[i], value[lane])

    def buffer(self, one: ir.Buffer) -> None:
        """Memory from an address on."""
        self.registers[one.to] = self.registers[one.address]

    # LDS.

    def stage(self, one: ir.CopyToLds | ir.ReadLds | ir.WriteLds, at: Array, size: int) -> None:
        """An access of a ring stays in its stage."""
        ring = self.rings[one.ring]
        first = ring.at + one.stage * ring.bytes
        bad = (at < first) | (at + size > first + ring.bytes)
        if self.mask is not None:
            bad = bad & self.mask
        if bad.any():
            raise self.fail(
                f"an access outside of stage {one.stage} of the ring of '{ring.name}'",
                f"byte {int(at[bad][0])}, the stage has {first} to {first + ring.bytes}",
                "its byte or its stage in the module",
            )

    def copy(self, one: ir.CopyToLds) -> None:
        """Memory to LDS, in flight."""
        buffer = self.registers[one.buffer]
        far = self.over_lanes(self.get(one.lane)).astype(np.int64) + self.get(one.along)
        if np.any(far >= FAR):
            raise self.fail("a copy past the end of its buffer", "", "smaller tensors")
        raw = self.loaded(Place(buffer.memory, buffer.bytes + far), one.bytes, one.bytes)
        to = self.over_lanes(self.get(one.share)).astype(np.int64) + one.at
        to = to + self.lane * one.bytes
        self.stage(one, to, one.bytes)
        lds, where = self.group.lds, to[:, None] + np.arange(one.bytes)

        def land() -> None:
            lds[where] = raw

        self.vm.issue(land)

    def in_lds(self, one: ir.ReadLds | ir.WriteLds) -> Array:
        """The first byte of every lane."""
        at = self.over_lanes(self.get(one.lane)).astype(np.int64) + one.at
        size = one.kind.bits // 8
        bad = (at < 0) | (at + size > self.group.lds.size) | (at % min(one.align, EVEN) != 0)
        if self.mask is not None:
            bad = bad & self.mask
        if bad.any():
            raise self.fail(
                f"an access of LDS at byte {int(at[bad][0])}",
                f"{size} bytes at a multiple of {one.align}, of {self.group.lds.size}",
                "its byte in the module",
            )
        if one.ring >= 0:
            self.stage(one, at, size)
        return at

    def read(self, one: ir.ReadLds) -> None:
        """LDS to registers; of a ring in flight."""
        at, size = self.in_lds(one), one.kind.bits // 8
        where = at[:, None] + np.arange(size)
        if one.ring < 0:
            self.touch(where, write=False)
            self.registers[one.to] = _from_bytes(self.group.lds[where], one.kind)
            return
        pending = Pending()

        def arrive() -> None:
            raw = self.group.lds[where]
            raw = self.turned(raw) if one.turned else raw
            pending.value, pending.ready = _from_bytes(raw, one.kind), True

        self.registers[one.to] = pending
        self.lgkm.issue(arrive)

    def turned(self, raw: Array) -> Array:
        """Of 16 lanes, four times four read four rows of 16 elements: lane ``i`` gets element
        ``i`` of every row.
        """
        four = raw.view(np.uint16).reshape(-1, 4, 4, 4)  # sixteens, row, lane of the row, element
        rows = four.reshape(-1, 4, 16)
        return np.ascontiguousarray(rows.transpose(0, 2, 1)).reshape(-1, 4).view(np.uint8)

    def write(self, one: ir.WriteLds) -> None:
        """Registers to LDS; to a ring in flight."""
        at, size = self.in_lds(one), one.kind.bits // 8
        lanes = self.active()
        value = self.vector_over_lanes(self.get(one.value, one.kind), one.kind)
        raw = _to_bytes(value, one.kind)[lanes]
        where = at[lanes][:, None] + np.arange(size)
        if one.ring < 0:
            self.touch(where, write=True)
            self.group.lds[where] = raw
            return
        lds = self.group.lds

        def land() -> None:
            lds[where] = raw

        self.lgkm.issue(land)

    def touch(self, where: Array, *, write: bool) -> None:
        """Between two barriers no two waves touch the same bytes, one of them writing."""
        group = self.group
        lanes = self.active() if len(where) != self.lanes else np.arange(self.lanes)
        own = np.broadcast_to(self.waves[lanes][:, None], where.shape).astype(np.int16)
        wrote = group.writer[where]
        bad = (wrote != NOBODY) & (wrote != own)
        if write:
            read = group.reader[where]
            bad |= (read != NOBODY) & (read != own)
        if bad.any():
            raise self.fail(
                f"two waves touch byte {int(where[bad][0])} of LDS between two barriers",
                "one of them writes it, and nothing orders them",
                "a barrier between the two accesses in the module",
            )
        if write:
            group.writer[where] = own
        else:
            read = group.reader[where]
            group.reader[where] = np.where((read != NOBODY) & (read != own), SEVERAL, own)

    # The matrix unit.

    def mfma(self, one: ir.Mfma) -> None:
        """Sixteen rows times sixteen columns for every wave."""
        a, b = (
            self.elements(x, t) for x, t in ((one.a, one.matrix.left), (one.b, one.matrix.right))
        )
        waves = self.count
        left = a.reshape(-1, waves, 4, 16).transpose(1, 3, 2, 0).reshape(waves, 16, -1)
        right = b.reshape(-1, waves, 4, 16).transpose(1, 2, 0, 3).reshape(waves, -1, 16)
        made = np.matmul(left, right).reshape(waves, 4, 4, 16)  # row / 4, row % 4, column
        found = made.transpose(2, 0, 1, 3).reshape(4, self.lanes)
        if one.total != 0:
            four = Kind(Word.F32, 4)
            found = found + self.vector_over_lanes(self.get(one.total, four), four)
        self.registers[one.to] = found

    def elements(self, operand: Operand, dtype: DType) -> Array:
        """The elements that lanes hold of an operand."""
        held = np.asarray(self.get(operand))
        if held.dtype == np.int64:
            held = recast(self.over_lanes(held), Kind(Word.I64), Kind(Word.I8, 8))
        elif held.dtype == np.int32:
            held = recast(held, Kind(Word.I32, len(held)), Kind(Word.I8, 4 * len(held)))
        return decoded(np.broadcast_to(held, (len(held), self.lanes)), dtype)

    # Lanes.

    def by_wave(self, value: Any) -> Array:  # noqa: ANN401
        """One row for every wave."""
        return self.over_lanes(value).reshape(self.count, LANES)

    def of_waves(self, values: Array) -> Any:  # noqa: ANN401
        """A number of every wave; one for all where they are the same."""
        return values[0] if (values == values[0]).all() else np.repeat(values, LANES)

    def first_lane(self, one: ir.FirstLane) -> None:
        """The first lane's number."""
        value = self.get(one.value)
        self.registers[one.to] = (
            value if np.ndim(value) == 0 else self.of_waves(self.by_wave(value)[:, 0])
        )

    def permute(self, one: ir.Permute) -> None:
        """Another lane's number."""
        value = self.over_lanes(self.get(one.value, one.word))
        source = (self.over_lanes(self.get(one.at)) >> 2) & (LANES - 1)
        self.registers[one.to] = value[np.arange(self.lanes) // LANES * LANES + source]

    def neighbours(self, one: ir.Neighbours) -> None:
        """Two halves."""
        value = self.over_lanes(self.get(one.value, one.word))
        every = np.arange(self.lanes)
        if len(one.to) == 1:
            self.registers[one.to[0]] = value[every ^ _MIRRORS[one.step]]
            return
        low, high = one.to
        self.registers[low] = value[every & ~one.step]
        self.registers[high] = value[every | one.step]

    def no_lane(self, one: ir.NoLane) -> None:
        """Whether it holds nowhere in the wave."""
        some = np.any(self.by_wave(self.get(one.value, Word.I1)), axis=1)
        self.registers[one.to] = self.of_waves(~some)

    def anew(self, one: ir.Anew) -> None:
        """The same number."""
        self.registers[one.to] = self.get(one.value)

    # Tiles.

    def find_group(self, one: ir.FindGroup) -> None:
        """The group whose rows a tile has."""
        memory = self.launch.memory[one.tensor]
        left = int(self.get(one.number))
        length = int(self.get(one.length))
        for group in range(int(self.get(one.groups))):
            first, end = (min(max(self.whole_number(memory, group + i), 0), length) for i in (0, 1))
            tiles = -(-max(0, end - first) // one.extent)
            if left < tiles:
                found = (group, left, first, end)
                for name, value in zip((one.group, one.left, *one.bounds), found, strict=True):
                    self.registers[name] = np.int32(value)
                return
            left -= tiles
        raise _EndedError

    def all_indices(self, one: ir.AllIndices) -> None:
        """Whether numbers of a list are indices."""
        memory = self.launch.memory[one.tensor]
        first, stride = int(self.get(one.first, Word.I64)), int(self.get(one.stride, Word.I64))
        count, limit = int(self.get(one.count)), int(self.get(one.limit))
        numbers = [self.whole_number(memory, first + i * stride) for i in range(count)]
        self.registers[one.to] = np.bool_(all(0 <= n < limit for n in numbers))


def _held(value: Any, dtype: DType) -> Any:  # noqa: ANN401 (numbers or arrays)
    """A number as a register holds it."""
    if dtype is DType.BOOL:
        return np.asarray(value, np.bool_)[()]
    return np.asarray(value).astype(np.float32 if dtype.is_float else np.int32)[()]


def _from_bytes(raw: Array, kind: Kind) -> Array:
    """Rows of bytes as a register."""
    made: Array = np.ascontiguousarray(raw).view(STORED[kind.word])
    return made.T if kind.count > 1 else np.asarray(made[:, 0])


def _to_bytes(value: Array, kind: Kind) -> Array:
    """A register as rows of bytes."""
    held = np.asarray(value, STORED[kind.word])
    rows = np.ascontiguousarray(held.T if kind.count > 1 else held[:, None])
    return rows.view(np.uint8)


def merged(how: Merging, word: Word, before: Any, value: Any) -> Any:  # noqa: ANN401
    """An element of memory as it is after an atomic operation."""
    match how:
        case Merging.FADD if word in (Word.BF16, Word.F16):
            dtype = DType.BF16 if word is Word.BF16 else DType.F16
            total = decoded(np.asarray([before, value]), dtype).sum(dtype=np.float32)
            return encoded(np.asarray([total]), dtype)[0]
        case Merging.FADD | Merging.ADD:
            return before + value
        case Merging.MAX:
            return max(before, value)
        case Merging.MIN:
            return min(before, value)
        case Merging.UMAX:
            return before if np.uint32(before) > np.uint32(value) else value
        case _:
            return before if np.uint32(before) < np.uint32(value) else value


_MIRRORS = {1: 1, 2: 2, 4: 7, 8: 15}
_SIGNED: Mapping[IntOp, Callable[..., Any]] = {
    IntOp.ADD: lambda a, b: a + b,
    IntOp.SUB: lambda a, b: a - b,
    IntOp.MUL: lambda a, b: a * b,
    IntOp.AND: lambda a, b: a & b,
    IntOp.OR: lambda a, b: a | b,
    IntOp.XOR: lambda a, b: a ^ b,
    IntOp.SHL: lambda a, b: a << b,
    IntOp.ASHR: lambda a, b: a >> b,
    IntOp.SMIN: np.minimum,
    IntOp.SMAX: np.maximum,
}
_UNSIGNED: Mapping[IntOp, Callable[..., Any]] = {
    IntOp.UDIV: lambda a, b: a // b,
    IntOp.UREM: lambda a, b: a % b,
    IntOp.LSHR: lambda a, b: a >> b,
    IntOp.UMIN: np.minimum,
}
_WITHOUT_SIGN = (Order.ULT, Order.UGT, Order.UGE)
_ORDERS: Mapping[Order, Callable[..., Any]] = {
    Order.EQ: np.equal,
    Order.NE: np.not_equal,
    Order.SLT: np.less,
    Order.SGE: np.greater_equal,
    Order.SGT: np.greater,
    Order.ULT: np.less,
    Order.UGT: np.greater,
    Order.UGE: np.greater_equal,
}
SIMPLE: Mapping[type, Callable[[WaveRun, Any], None]] = {
    ir.Integer: WaveRun.integer, ir.Compare: WaveRun.compare, ir.Select: WaveRun.select,
    ir.Resize: WaveRun.resize, ir.Cast: WaveRun.cast, ir.Function: WaveRun.function,
    ir.Pairwise: WaveRun.pairwise, ir.Convert: WaveRun.convert, ir.Decode: WaveRun.decode,
    ir.Encode: WaveRun.encode, ir.Round: WaveRun.round, ir.IsNumber: WaveRun.is_number,
    ir.Vector: WaveRun.vector, ir.Insert: WaveRun.insert, ir.Extract: WaveRun.extract,
    ir.Shuffle: WaveRun.shuffle, ir.AddressBits: WaveRun.address_bits,
    ir.Address: WaveRun.address, ir.Load: WaveRun.load, ir.Number: WaveRun.one_number,
    ir.Store: WaveRun.store, ir.Merge: WaveRun.merge, ir.Buffer: WaveRun.buffer,
    ir.CopyToLds: WaveRun.copy, ir.ReadLds: WaveRun.read, ir.WriteLds: WaveRun.write,
    ir.Mfma: WaveRun.mfma, ir.FirstLane: WaveRun.first_lane, ir.Permute: WaveRun.permute,
    ir.Neighbours: WaveRun.neighbours, ir.NoLane: WaveRun.no_lane, ir.Anew: WaveRun.anew,
    ir.Priority: WaveRun.nothing, ir.Pin: WaveRun.nothing, ir.Settle: WaveRun.nothing,
    ir.FindGroup: WaveRun.find_group, ir.AllIndices: WaveRun.all_indices,
}  # fmt: skip
STRUCTURED: Mapping[type, Callable[[WaveRun, Any], Iterator[Blocked | None]]] = {
    ir.If: WaveRun.choose, ir.While: WaveRun.turns, ir.Step: WaveRun.step,
    ir.Pipeline: WaveRun.pipeline, ir.Barrier: WaveRun.barrier, ir.Wait: WaveRun.wait,
}  # fmt: skip
