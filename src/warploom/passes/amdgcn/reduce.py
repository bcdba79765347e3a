"""Reductions of a tile along one axis, and vectors moved from one layout to another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from warploom.ir import tile as ir
from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.tile import DType, Fn, Line
from warploom.ir.waves import LANE, Operand, WriteLds
from warploom.passes.amdgcn.errors import refuse
from warploom.passes.amdgcn.layout import AxisMap, Layout, places
from warploom.passes.amdgcn.numbers import WHOLE, register_kind, register_word
from warploom.passes.amdgcn.state import Fragment, scalars

if TYPE_CHECKING:
    from warploom.passes.amdgcn.lowering import Lowering


def reduced(low: Lowering, op: ir.Reduce, layout: Layout | None = None) -> Fragment:
    """``ADD``, ``MAX`` or ``MIN`` along a variable: in a lane, among lanes, among waves."""
    arg = low.plan.values[op.arg]
    layout = layout or low.plan.layout(arg.vars, op.arg)
    frag = low.get(op.arg, layout)
    where = next(i for i, (v, _) in enumerate(layout) if v == op.over)
    along = layout[where][1]
    rest = tuple(part for i, part in enumerate(layout) if i != where)
    dtype = op.result.dtype
    kind = DType.I32 if dtype in WHOLE else DType.F32
    none = _identity(op.fn, kind)
    groups: dict[tuple[int, ...], list[Operand]] = {at: [] for at in places(rest)}
    per = next(d.per for d in arg.dims if d.var == op.over)
    for i, at in enumerate(places(layout)):
        value = low.as_type(low.element(frag, i), arg.dtype, kind)
        test = low.in_span(op.over, along, at[where])
        if per > 1 and op.fn is Fn.ADD:
            test = low.both(test, _first_of_block(low, op.over, along, at[where], per))
        if test is not None:
            value = low.text.select(test, register_word(kind), value, none)
        groups[tuple(x for n, x in enumerate(at) if n != where)].append(value)
    paired = op.fn is Fn.ADD and kind is DType.F32
    names = [(_summed if paired else _tree)(low, op.fn, kind, v) for v in groups.values()]
    divisor, modulus, factor = along.lane
    if modulus > 1 and factor:
        step = divisor
        while step < divisor * modulus:
            if low.plan.machine.swaps and (step >= 16 or divisor == 1):
                names = [_exchanged(low, op.fn, n, step, kind) for n in names]
            else:
                low.forbid("a reduction among lanes through LDS")
                names = [_join(low, op.fn, kind, n, _shuffled(low, n, step, kind)) for n in names]
            step *= 2
    if along.wave[1] > 1 and along.wave[2]:
        names = _across_waves(low, op.fn, kind, names, rest, along)
    return scalars(rest, dtype, [low.as_type(n, kind, dtype) for n in names])


def scanned(low: Lowering, op: ir.Scan) -> Fragment:
    """A running sum along a variable: neighbours in a lane, then lanes or waves, by their stride.

    The registers, lanes and waves along an axis are the digits of an index. From the least to the
    most significant one, runs of elements are joined: each knows its sum so far, and its own whole.
    """
    arg = low.plan.values[op.arg]
    layout = low.plan.layout(arg.vars, op.arg)
    frag = low.get(op.arg, layout)
    where = next(i for i, (v, _) in enumerate(layout) if v == op.over)
    along = layout[where][1]
    rest = tuple(part for i, part in enumerate(layout) if i != where)
    dtype = op.result.dtype
    kind = DType.I32 if dtype in WHOLE else DType.F32
    none, word = _identity(op.fn, kind), register_word(kind)
    sums: dict[tuple[int, ...], list[Operand]] = {at: [] for at in places(rest)}
    for i, at in enumerate(places(layout)):
        value = low.as_type(low.element(frag, i), arg.dtype, kind)
        test = low.in_span(op.over, along, at[where])
        if test is not None:
            value = low.text.select(test, word, value, none)
        sums[tuple(x for n, x in enumerate(at) if n != where)].append(value)
    order = sorted(range(along.count), key=lambda i: along.offsets[i], reverse=op.reverse)
    runs = [[i] for i in order]  # registers of each run, and what each of them sums to
    wholes = [[sums[at][i] for at in sums] for i in order]
    digits = [(part[2], part, name) for name, part in (("lane", along.lane), ("wave", along.wave))]
    for stride, part, name in sorted(d for d in digits if d[0] and d[1][1] > 1):
        runs, wholes = _joined(low, op.fn, kind, sums, along, runs, wholes, stride)
        for n, run in enumerate(runs):
            over = _over_lanes if name == "lane" else partial(_over_waves, rest=rest)
            before, wholes[n] = over(low, op, kind, wholes[n], part)
            for own, first in zip(sums.values(), before, strict=True):
                for i in run:
                    own[i] = _join(low, op.fn, kind, first, own[i])
    _joined(low, op.fn, kind, sums, along, runs, wholes, None)
    made = [sums[tuple(x for n, x in enumerate(at) if n != where)][at[where]]
            for at in places(layout)]  # fmt: skip
    return scalars(layout, dtype, [low.as_type(n, kind, dtype) for n in made])


def _joined(
    low: Lowering,
    fn: Fn,
    kind: DType,
    sums: dict[tuple[int, ...], list[Operand]],
    along: AxisMap,
    runs: list[list[int]],
    wholes: list[list[Operand]],
    stride: int | None,
) -> tuple[list[list[int]], list[list[Operand]]]:
    """Runs that lie below one step of the next digit follow one another (all: without one)."""
    new: list[list[int]] = []
    made: list[list[Operand]] = []
    last: int | None = None
    for run, whole in zip(runs, wholes, strict=True):
        key = 0 if stride is None else along.offsets[run[0]] // stride
        if key != last:
            new.append(list(run))
            made.append(list(whole))
        else:
            for n, own in enumerate(sums.values()):
                for i in run:
                    own[i] = _join(low, fn, kind, made[-1][n], own[i])
            made[-1] = [_join(low, fn, kind, a, b) for a, b in zip(made[-1], whole, strict=True)]
            new[-1] += run
        last = key
    return new, made


def _over_lanes(
    low: Lowering, op: ir.Scan, kind: DType, names: list[Operand], part: tuple[int, int, int]
) -> tuple[list[Operand], list[Operand]]:
    """What the lanes before this one along a digit sum to, and what all of them do."""
    divisor, modulus, _ = part
    text, word, none = low.text, register_word(kind), _identity(op.fn, kind)
    place = low.local(AxisMap(offsets=(0,), lane=(divisor, modulus, 1)), 0)
    place = text.integer("sub", modulus - 1, place) if op.reverse else place

    def moved(name: Operand, by: int) -> Operand:
        """The value of the lane so many before it."""
        return _from_lane(low, name, by if op.reverse else -by, kind)

    sums = list(names)
    step = 1
    while step < modulus:
        there = text.compare("uge", place, step)
        others = [moved(n, step * divisor) for n in sums]
        sums = [
            text.select(there, word, _join(low, op.fn, kind, o, n), n)
            for o, n in zip(others, sums, strict=True)
        ]
        step *= 2
    first = text.compare("eq", place, 0)
    before: list[Operand] = [text.select(first, word, none, moved(n, divisor)) for n in sums]
    ahead = text.integer("sub", modulus - 1, place)
    ahead = text.integer("mul", ahead, -divisor if op.reverse else divisor)
    other = text.integer("add", LANE, ahead)
    at = text.integer("shl", other, 2)
    return before, [_permuted(low, n, at, kind) for n in sums]


def _from_lane(low: Lowering, name: Operand, by: int, kind: DType) -> Operand:
    """The value of the lane so many after this one, around the wave."""
    state = low.state
    other = state.at_entry(("lane after", by), "add", LANE, by)
    at = state.at_entry(("lane after, byte", by), "shl", other, 2)
    return _permuted(low, name, at, kind)


def _over_waves(
    low: Lowering,
    op: ir.Scan,
    kind: DType,
    names: list[Operand],
    part: tuple[int, int, int],
    *,
    rest: Layout,
) -> tuple[list[Operand], list[Operand]]:
    """The same for waves, through LDS."""
    text, word, none = low.text, register_word(kind), _identity(op.fn, kind)
    along = AxisMap(offsets=(0,), wave=part)
    every = _of_waves(low, kind, names, rest, along)
    place = low.local(AxisMap(offsets=(0,), wave=(part[0], part[1], 1)), 0)
    before, wholes = [none] * len(names), [none] * len(names)
    numbers = range(part[1])
    for wave in reversed(numbers) if op.reverse else numbers:
        sign = "ult" if op.reverse else "ugt"  # this wave comes after that one
        later = text.compare(sign, place, wave)
        for n in range(len(names)):
            joined = _join(low, op.fn, kind, before[n], every[n][wave])
            before[n] = text.select(later, word, joined, before[n])
            wholes[n] = _join(low, op.fn, kind, wholes[n], every[n][wave])
    return before, wholes


def _identity(fn: Fn, kind: DType) -> Operand:
    row = REDUCTIONS[fn]
    return row.identity_int if kind is DType.I32 else float(row.identity)


def _first_of_block(low: Lowering, var: str, along: AxisMap, register: int, per: int) -> Operand:
    """One element of a block stands for all of it: its first, or the first of the tile."""
    index = low.index(var, along, register)
    rest = low.text.integer("urem", index, per)
    first = low.text.compare("eq", rest, 0)
    local = low.local(along, register)
    start = low.text.compare("eq", local, 0)
    return low.text.truth("or", first, start)


def _join(low: Lowering, fn: Fn, kind: DType, a: Operand, b: Operand) -> Operand:
    return low.text.function(fn, (a, b), (kind, kind), kind)


def _tree(low: Lowering, fn: Fn, kind: DType, values: list[Operand]) -> Operand:
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [p[0] if len(p) == 1 else _join(low, fn, kind, *p) for p in pairs]
    return values[0]


def _shuffled(low: Lowering, name: Operand, step: int, kind: DType) -> Operand:
    """The value of the lane whose number differs in one bit."""
    state = low.state
    other = state.at_entry(("other", step), "xor", state.lane, step)
    at = state.at_entry(("other byte", step), "shl", other, 2)
    return _permuted(low, name, at, kind)


def _permuted(low: Lowering, name: Operand, at: Operand, kind: DType) -> Operand:
    """The value of the lane that a quarter of ``at`` names."""
    return low.text.permute(at, name, register_word(kind))


def _summed(low: Lowering, fn: Fn, kind: DType, values: list[Operand]) -> Operand:
    """A sum, two at a time."""
    if len(values) < 4 or len(values) % 2:
        return _tree(low, fn, kind, values)
    word = register_word(kind)
    pairs = [low.text.vector(values[i : i + 2], word) for i in range(0, len(values), 2)]
    while len(pairs) > 1:
        last = pairs[-1:] if len(pairs) % 2 else []
        pairs = [
            low.text.pair(fn, pairs[i], pairs[i + 1]) for i in range(0, len(pairs) - 1, 2)
        ] + last
    return _join(low, fn, kind, *low.text.halves(pairs[0]))


def _exchanged(low: Lowering, fn: Fn, name: Operand, step: int, kind: DType) -> Operand:
    """A value joined with that of the lanes whose number differs in one bit, without LDS.

    Below 16 lanes all lanes up to that bit hold equal values by then: a mirrored row will do.
    """
    count = 1 if step < 16 else 2
    made = low.text.neighbours(name, step, register_word(kind), count)
    return _join(low, fn, kind, *((name, made[0]) if step < 16 else made))


def _across_waves(
    low: Lowering, fn: Fn, kind: DType, names: list[Operand], rest: Layout, along: AxisMap
) -> list[Operand]:
    """Partial results of the waves, joined through LDS in the order of waves."""
    every = _of_waves(low, kind, names, rest, along)
    return [_tree(low, fn, kind, values) for values in every]


def _of_waves(
    low: Lowering, kind: DType, names: list[Operand], rest: Layout, along: AxisMap
) -> list[list[Operand]]:
    """What every wave has of each value, through LDS."""
    low.forbid("a reduction across waves")
    form = register_kind(kind)
    width = rest[0][1].extent if rest else 1
    waves = along.wave[1]
    region = low.state.allocate(4 * width * waves)
    low.state.touch(region, write=True)
    share = AxisMap(offsets=(0,), wave=(along.wave[0], waves, 1))
    own = (*rest, ("wave", share))
    lane = low.lds_base(own, {**{v: 4 for v, _ in rest}, "wave": 4 * width})
    places_of = [rest[0][1].offsets[at[0]] if at else 0 for at in places(rest)]

    def write() -> None:
        for name, offset in zip(names, places_of, strict=True):
            low.text.add(WriteLds(name, form, lane, region.start + 4 * offset, 4))

    low.when(low.owner(own), write)
    low.state.touch(region, write=False)
    at = low.lds_base(rest, {v: 4 for v, _ in rest})
    result = []
    for offset in places_of:
        values: list[Operand] = []
        for wave in range(waves):
            start = region.start + 4 * (wave * width + offset)
            values.append(low.text.read(form, at, start, 4))
        result.append(values)
    return result


def converted(low: Lowering, frag: Fragment, layout: Layout, line: Line | None) -> Fragment:
    """A vector in another layout of its axis, through LDS."""
    if len(layout) != 1 or len(frag.layout) != 1:
        refuse(
            line,
            "a tile in two layouts",
            why="only vectors are moved between layouts",
            fix="another form of the kernel",
        )
    low.forbid("a vector in two layouts")
    kind = DType.I32 if frag.dtype in WHOLE or frag.dtype is DType.BOOL else DType.F32
    form = register_kind(kind)
    (_, source), (_, target) = frag.layout[0], layout[0]
    region = low.state.allocate(4 * max(source.extent, target.extent))
    low.state.touch(region, write=True)
    lane = low.lds_base(frag.layout, {frag.layout[0][0]: 4})
    names = [low.as_type(low.element(frag, i), frag.dtype, kind) for i in range(source.count)]

    def write() -> None:
        for name, offset in zip(names, source.offsets, strict=True):
            low.text.add(WriteLds(name, form, lane, region.start + 4 * offset, 4))

    low.when(low.owner(frag.layout), write)
    low.state.touch(region, write=False)
    at = low.lds_base(layout, {layout[0][0]: 4})
    found = []
    for offset in target.offsets:
        value = low.text.read(form, at, region.start + 4 * offset, 4)
        found.append(low.as_type(value, kind, frag.dtype))
    return scalars(layout, frag.dtype, found)
