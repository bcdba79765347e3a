"""Reductions of a tile along one axis, and vectors moved from one layout to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warploom.codegen.amdgcn.tile_ir.errors import refuse
from warploom.codegen.amdgcn.tile_ir.layout import AxisMap, Layout, places
from warploom.codegen.amdgcn.tile_ir.numbers import WHOLE, number, pointwise, register_type
from warploom.codegen.amdgcn.tile_ir.state import Fragment, scalars
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Fn, Line

if TYPE_CHECKING:
    from warploom.codegen.amdgcn.tile_ir.lowering import Lowering

_LEAST = {False: (float("-inf"), float("inf")), True: (-(2**31), 2**31 - 1)}


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
    groups: dict[tuple[int, ...], list[str]] = {at: [] for at in places(rest)}
    per = next(d.per for d in arg.dims if d.var == op.over)
    for i, at in enumerate(places(layout)):
        value = low.as_type(low.element(frag, i), arg.dtype, kind)
        test = low.in_span(op.over, along, at[where])
        if per > 1 and op.fn is Fn.ADD:
            test = low.both(test, _first_of_block(low, op.over, along, at[where], per))
        if test is not None:
            form = register_type(kind)
            value = low.text.value(f"select i1 {test}, {form} {value}, {form} {none}")
        groups[tuple(x for n, x in enumerate(at) if n != where)].append(value)
    names = [_tree(low, op.fn, kind, values) for values in groups.values()]
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


def _identity(fn: Fn, kind: DType) -> str:
    if fn is Fn.ADD:
        return number(0, kind)
    least, most = _LEAST[kind is DType.I32]
    return number(least if fn is Fn.MAX else most, kind)


def _first_of_block(low: Lowering, var: str, along: AxisMap, register: int, per: int) -> str:
    """One element of a block stands for all of it: its first, or the first of the tile."""
    index = low.index(var, along, register)
    rest = low.text.value(f"urem i32 {index}, {per}")
    first = low.text.value(f"icmp eq i32 {rest}, 0")
    local = low.local(along, register)
    start = low.text.value(f"icmp eq i32 {local}, 0")
    return low.text.value(f"or i1 {first}, {start}")


def _join(low: Lowering, fn: Fn, kind: DType, a: str, b: str) -> str:
    return pointwise(low.text, fn, [a, b], [kind, kind], kind)


def _tree(low: Lowering, fn: Fn, kind: DType, values: list[str]) -> str:
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [p[0] if len(p) == 1 else _join(low, fn, kind, *p) for p in pairs]
    return values[0]


def _shuffled(low: Lowering, name: str, step: int, kind: DType) -> str:
    """The value of the lane whose number differs in one bit."""
    state = low.state
    other = state.at_entry(("other", step), f"xor i32 %lane, {step}")
    at = state.at_entry(("other byte", step), f"shl i32 {other}, 2")
    if kind is DType.I32:
        return low.text.value(f"call i32 @llvm.amdgcn.ds.bpermute(i32 {at}, i32 {name})")
    bits = low.text.value(f"bitcast float {name} to i32")
    moved = low.text.value(f"call i32 @llvm.amdgcn.ds.bpermute(i32 {at}, i32 {bits})")
    return low.text.value(f"bitcast i32 {moved} to float")


def _exchanged(low: Lowering, fn: Fn, name: str, step: int, kind: DType) -> str:
    """A value joined with that of the lanes whose number differs in one bit, without LDS.

    Below 16 lanes all lanes up to that bit hold equal values by then: a mirrored row will do.
    """
    text = low.text
    bits = name if kind is DType.I32 else text.value(f"bitcast float {name} to i32")
    if step < 16:
        control = {1: 0xB1, 2: 0x4E, 4: 0x141, 8: 0x140}[step]  # quads, mirrored rows
        words = [
            text.value(
                f"call i32 @llvm.amdgcn.update.dpp.i32(i32 {bits}, i32 {bits}, i32 {control}, "
                "i32 15, i32 15, i1 true)"
            )
        ]
    else:
        pair = text.value(
            f"call {{ i32, i32 }} @llvm.amdgcn.permlane{step}.swap(i32 {bits}, i32 {bits}, "
            "i1 false, i1 false)"
        )
        words = [text.value(f"extractvalue {{ i32, i32 }} {pair}, {i}") for i in (0, 1)]
    made = words if kind is DType.I32 else [text.value(f"bitcast i32 {w} to float") for w in words]
    return _join(low, fn, kind, *((name, made[0]) if step < 16 else made))


def _across_waves(
    low: Lowering, fn: Fn, kind: DType, names: list[str], rest: Layout, along: AxisMap
) -> list[str]:
    """Partial results of the waves, joined through LDS in the order of waves."""
    low.forbid("a reduction across waves")
    form = register_type(kind)
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
            place = low.text.value(
                f"getelementptr i8, ptr addrspace(3) {low.state.lds(region, str(4 * offset))}, "
                f"i32 {lane}"
            )
            low.text.add(f"store {form} {name}, ptr addrspace(3) {place}, align 4")

    low.when(low.owner(own), write)
    low.state.touch(region, write=False)
    at = low.lds_base(rest, {v: 4 for v, _ in rest})
    joined = []
    for offset in places_of:
        values = []
        for wave in range(waves):
            start = low.state.lds(region, str(4 * (wave * width + offset)))
            place = low.text.value(f"getelementptr i8, ptr addrspace(3) {start}, i32 {at}")
            values.append(low.text.value(f"load {form}, ptr addrspace(3) {place}, align 4"))
        joined.append(_tree(low, fn, kind, values))
    return joined


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
    form = register_type(kind)
    (_, source), (_, target) = frag.layout[0], layout[0]
    region = low.state.allocate(4 * max(source.extent, target.extent))
    low.state.touch(region, write=True)
    lane = low.lds_base(frag.layout, {frag.layout[0][0]: 4})
    names = [low.as_type(low.element(frag, i), frag.dtype, kind) for i in range(source.count)]

    def write() -> None:
        for name, offset in zip(names, source.offsets, strict=True):
            place = low.text.value(
                f"getelementptr i8, ptr addrspace(3) {low.state.lds(region, str(4 * offset))}, "
                f"i32 {lane}"
            )
            low.text.add(f"store {form} {name}, ptr addrspace(3) {place}, align 4")

    low.when(low.owner(frag.layout), write)
    low.state.touch(region, write=False)
    at = low.lds_base(layout, {layout[0][0]: 4})
    found = []
    for offset in target.offsets:
        start = low.state.lds(region, str(4 * offset))
        place = low.text.value(f"getelementptr i8, ptr addrspace(3) {start}, i32 {at}")
        value = low.text.value(f"load {form}, ptr addrspace(3) {place}, align 4")
        found.append(low.as_type(value, kind, frag.dtype))
    return scalars(layout, frag.dtype, found)
