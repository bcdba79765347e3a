"""Loads and stores: what an index may be, and which stores can be meant."""

import ast
from collections.abc import Sequence
from typing import NoReturn, cast as typed

from warploom.errors import KernelCallError
from warploom.frontend.parser.arith import cast, known, pointwise, value_of
from warploom.frontend.parser.state import Frame, SizeOf, Symbol, nearest, shape
from warploom.ir import tile as ir
from warploom.ir.tile import Access, DType, Fn, Walk, is_number, operands

MANY_TO_ONE = {
    Fn.FLOORDIV, Fn.MOD, Fn.SHR, Fn.SHL, Fn.BITS, Fn.BITOR, Fn.MULHI, Fn.MIN, Fn.MAX, Fn.ABS,
    Fn.WHERE,
}  # fmt: skip


def load(
    frame: Frame, node: ast.Subscript, tensor: ir.Tensor, indices: tuple[Symbol, ...]
) -> ir.Value:
    """``x[m, k]``."""
    if tensor.access is Access.OUT:
        frame.wrong_memory(
            node,
            f"'{tensor.name}' is an output and cannot be loaded",
            why="other tiles may store it at the same time, so what would be read is not defined",
            fix="use the value that is stored, or make it an input of another kernel",
        )
    at, dims = places(frame, node, tensor, indices)
    result = frame.build.new(
        ir.Load, dims, tensor.dtype.stored, frame.line(node), tensor=tensor.name, at=at
    )
    match tensor.dtype:
        case DType.BOOL:  # a byte that is not 0
            return pointwise(frame, node, Fn.NE, result, 0)
        case DType.U8:
            return pointwise(frame, node, Fn.BITS, result, 255)
        case DType.U32:
            return frame.build.without_sign(result)
    return result


def _written_out(
    rank: int, indices: tuple[Symbol, ...], nodes: Sequence[ast.expr]
) -> tuple[tuple[Symbol, ...], list[ast.expr]]:
    """Indices one by one: ``x[mn]`` of a tuple is ``x[m, n]``, ``...`` the axes between."""
    found = list(indices)
    where = [nodes[min(i, len(nodes) - 1)] for i in range(len(found))]
    if len(found) == 1 and isinstance(found[0], tuple):
        found, where = list(found[0]), where * len(found[0])
    at = next((i for i, index in enumerate(found) if index is Ellipsis), None)
    if at is not None:
        count = max(0, rank - len(found) + 1)
        found[at : at + 1] = [slice(None)] * count
        where[at : at + 1] = [where[at]] * count
    return tuple(found), where


def places(
    frame: Frame, node: ast.Subscript, tensor: ir.Tensor, indices: tuple[Symbol, ...]
) -> tuple[tuple[ir.At, ...], tuple[ir.Dim, ...]]:
    """The places of an access and the shape it has. Trailing whole axes may be left out."""
    axes = tensor.axes
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    indices, nodes = _written_out(len(axes), indices, nodes)
    if len(indices) > len(axes):
        named = ", ".join(a.name for a in axes)
        frame.wrong_shape(
            node,
            f"'{tensor.name}' has {len(axes)} axes ({named}), {len(indices)} indices are given",
            why="each index belongs to one axis, in order",
            fix=f"{tensor.name}[{named}]",
        )
    rest: tuple[Symbol, ...] = tuple(slice(None) for _ in axes[len(indices) :])
    at: list[ir.At] = []
    dims: list[ir.Dim] = []
    for i, (axis, index) in enumerate(zip(axes, (*indices, *rest), strict=True)):
        here = nodes[i] if i < len(nodes) else node
        place, dim = _place(frame, here, tensor, axis, index, missing=i >= len(indices))
        at.append(place)
        dims += dim
    if tensor.captured or len({d.var for d in dims}) < len(dims):  # each says where it varies
        dims = sorted(set(dims), key=lambda d: list(frame.build.vars).index(d.var))
    names = [d.var for d in dims]
    if len(dims) > 2 or len(set(names)) < len(names):
        frame.wrong_shape(
            node,
            f"a tile of '{tensor.name}' over ({', '.join(names)})",
            why="a tile has at most two axes, all different; the last two of wl.tile are cut into "
            "tiles, those before them and units are walked one element at a time",
            fix=_fewer_axes(frame, names),
        )
    return tuple(at), tuple(dims)


def _fewer_axes(frame: Frame, names: list[str]) -> str:
    """How an access of too many axes loses one: tiles of the grid become units."""
    walked = [frame.build.vars[n] for n in names]
    tiled = [v.axis for v in walked if v.walk is Walk.TILE]
    if tiled:
        return f"walk '{tiled[0]}' one element at a time: wl.tile(..., unit='{tiled[0]}')"
    steps = [v.axis for v in walked if v.walk is Walk.STEP]
    axis = (steps or [v.axis for v in walked])[0]
    return f"walk '{axis}' one element at a time: for {axis} in wl.steps(x.{axis}, 1):"


def _place(
    frame: Frame, node: ast.AST, tensor: ir.Tensor, axis: ir.Axis, index: Symbol, *, missing: bool
) -> tuple[ir.At, list[ir.Dim]]:
    if isinstance(index, slice):
        return _whole(frame, node, tensor, axis, index, missing=missing)
    if isinstance(index, ir.Var) and not tensor.captured:
        return _by_variable(frame, node, tensor, axis, index)
    if isinstance(known(frame, index), float) or isinstance(index, ir.Tensor | tuple | str):
        index = (
            value_of(frame, node, index) if isinstance(index, ir.Tensor | tuple | str) else index
        )
        frame.wrong_type(
            node,
            f"axis '{axis.name}' of '{tensor.name}' is indexed by a float",
            why="indices count elements",
            fix="use // for whole quotients, or .to(wl.i32)",
        )
    if type(index) is int and index < 0 and not tensor.captured:
        frame.wrong_memory(
            node,
            f"axis '{axis.name}' of '{tensor.name}' is indexed by {index}",
            why="places count from the beginning; what lies before it reads as 0",
            fix=f"{tensor.name}.{axis.name} - {-index}, which counts from the end",
        )
    value = value_of(frame, node, index)
    if value.dtype is not DType.I32:
        frame.wrong_type(
            node,
            f"axis '{axis.name}' of '{tensor.name}' is indexed by a value of type {value.dtype}",
            why="indices are whole numbers: variables, and integer arithmetic on them",
            fix="use // for whole quotients, or .to(wl.i32)",
        )
    made = frame.build.made.get(value.name)
    if tensor.captured and isinstance(made, ir.Indices):
        return ir.At(var=made.var), [ir.Dim(made.var)]
    return ir.At(value=value.name), list(value.dims)


def _whole(
    frame: Frame, node: ast.AST, tensor: ir.Tensor, axis: ir.Axis, index: slice, *, missing: bool
) -> tuple[ir.At, list[ir.Dim]]:
    if index != slice(None):
        frame.wrong_type(
            node,
            "a slice with bounds",
            why="tiles are cut by variables; only ':' (a whole axis) is a slice of the language",
            fix="use a variable of wl.tile or wl.steps, or ':'",
        )
    var = whole_axis(
        frame,
        node,
        axis.name,
        f"'{tensor.name}' is indexed without its axis '{axis.name}'"
        if missing
        else f"all of axis '{axis.name}' of '{tensor.name}' is asked for",
    )
    return ir.At(var=var.name), [ir.Dim(var.name, axis.per)]


def whole_axis(frame: Frame, node: ast.AST, axis: str, what: str) -> ir.Var:
    """The variable of a whole axis, whose size must be known."""
    build = frame.build
    if axis not in build.sizes and axis not in build.whole:
        if build.assumed is None:
            frame.fail(
                KernelCallError,
                node,
                f"{what}, whose size is not known",
                why="a whole axis is part of a tile, so its size shapes the kernel",
                fix=f'specialise(..., sizes={{"{axis}": 128}}), or give an index for it',
            )
        build.assumed.add(axis)
        typed("dict[str, int]", build.sizes)[axis] = 64
    return build.whole_var(axis)


def _by_variable(
    frame: Frame, node: ast.AST, tensor: ir.Tensor, axis: ir.Axis, var: ir.Var
) -> tuple[ir.At, list[ir.Dim]]:
    if var.axis != axis.name:
        called = node.id if isinstance(node, ast.Name) else var.name
        frame.wrong_shape(
            node,
            f"'{called}' walks axis '{var.axis}', but stands for axis '{axis.name}' "
            f"of '{tensor.name}'",
            why="axes of different names may have different sizes",
            fix=f"check the order of the indices, call both axes alike, "
            f"or index with wl.index({called})",
        )
    if var.walk is Walk.UNIT or (is_number(var) and axis.per == 1):
        return ir.At(var=var.name), []
    if var.walk is Walk.STEP and axis.per > 1 and frame.build.shifted:
        frame.wrong_shape(
            node,
            f"the loop over '{var.name}' begins at a start of its own, which may cut blocks",
            why=f"axis '{axis.name}/{axis.per}' has one element for {axis.per} of them, from 0 on",
            fix="a loop without start=, and a condition that hides what comes before",
        )
    if var.extent is not None and var.walk is Walk.STEP and axis.per > 1:
        large, small = max(var.extent, axis.per), min(var.extent, axis.per)
        if large % small:
            frame.wrong_shape(
                node,
                f"steps of {var.extent} along '{var.name}' cut blocks of {axis.per}",
                why=f"axis '{axis.name}/{axis.per}' has one element for {axis.per} of them",
                fix=f"wl.steps(..., {axis.per})",
            )
        if axis.per >= var.extent:
            return ir.At(var=var.name), []
    return ir.At(var=var.name), [ir.Dim(var.name, axis.per)]


def store(
    frame: Frame,
    node: ast.Subscript,
    tensor: ir.Tensor,
    indices: tuple[Symbol, ...],
    given: Symbol,
    *,
    add: bool,
    fn: Fn = Fn.ADD,
) -> None:
    """``out[m, n] = value`` or ``+=``; ``fn``: another function in memory than a sum."""
    if tensor.access is not Access.OUT:
        frame.wrong_memory(
            node,
            f"'{tensor.name}' is an input and cannot be stored to",
            why="inputs are only read",
            fix=f"declare it as {tensor.name}: wl.Out[...]",
        )
    indices = tuple(_of_blocks(frame, node, tensor, i, x) for i, x in enumerate(indices))
    at, dims = places(frame, node, tensor, indices)
    for place, axis in zip(at, tensor.axes, strict=True):
        if place.var and axis.per > 1:
            _refuse_blocks(frame, node, tensor, axis, place.var)
    stored = value_of(frame, node, given)
    if tensor.dtype is DType.BOOL:
        seen = stored if stored.dtype is DType.BOOL else pointwise(frame, node, Fn.NE, stored, 0)
        stored = pointwise(frame, node, Fn.WHERE, seen, 1, 0)
    elif stored.dtype is not DType.BOOL:
        stored = _unsigned(frame, node, tensor, stored)
    value = _shaped(frame, node, tensor, dims, stored)
    if value.dtype is DType.BOOL:
        frame.wrong_type(
            node,
            f"a condition cannot be stored to '{tensor.name}' of type {tensor.dtype}",
            why="conditions are not 0 and 1",
            fix="wl.where(condition, 1.0, 0.0), or an output of type wl.bool_",
        )
    _check_store(frame, node, tensor, at, add=add, fn=fn)
    line = frame.line(node)
    when = frame.build.running.name if frame.build.running is not None else None
    made = ir.Store(
        tensor=tensor.name, at=at, value=value.name, add=add, line=line, fn=fn, when=when
    )
    frame.build.stores.setdefault(tensor.name, []).append(made)
    if tensor.name not in frame.build.without:
        frame.build.emit(made)


def _unsigned(frame: Frame, node: ast.AST, tensor: ir.Tensor, value: ir.Value) -> ir.Value:
    """What is stored to a tensor without sign, or of a value without one: signed, of those bits."""
    if tensor.dtype is DType.U8:
        held = cast(frame, node, value, DType.U8)
        return pointwise(frame, node, Fn.SHR, pointwise(frame, node, Fn.SHL, held, 24), 24)
    if tensor.dtype is DType.U32:
        return cast(frame, node, value, DType.U32)
    if value.name in frame.build.unsigned:
        return cast(frame, node, value, tensor.dtype)
    return value


def _of_blocks(
    frame: Frame, node: ast.AST, tensor: ir.Tensor, number: int, index: Symbol
) -> Symbol:
    """Where tiles of a stated size are the blocks of an axis: the number of the block."""
    axis = tensor.axes[number] if number < len(tensor.axes) else None
    if not isinstance(index, ir.Var) or axis is None or axis.per == 1:
        return index
    if index.axis != axis.name or index.extent != axis.per:
        return index
    grid = frame.build.grid
    grouped = grid is not None and grid.kind != "tiles" and index.walk is Walk.TILE
    if grouped or (index.walk is Walk.STEP and frame.build.shifted):
        return index  # which begin anywhere
    first = frame.build.once(
        ir.Position, index.name, (), DType.I32, frame.line(node), var=index.name
    )
    return pointwise(frame, node, Fn.FLOORDIV, first, axis.per)


def _refuse_blocks(
    frame: Frame, node: ast.AST, tensor: ir.Tensor, axis: ir.Axis, var: str
) -> NoReturn:
    frame.wrong_shape(
        node,
        f"'{tensor.name}' has one element for {axis.per} of '{axis.name}', and is stored by tiles "
        f"of '{var}'",
        why="how many blocks a tile covers is chosen later: the result would depend on it",
        fix=f"state that tiles are blocks: wl.tile(..., cols={axis.per}) or rows={axis.per}, "
        f"wl.steps(x.{axis.name}, {axis.per}); or split the axis into blocks 'b' of {axis.per} "
        f"elements '{axis.name}': tensors of "
        f"[..., 'b', '{axis.name}'], b, m = wl.tile('b', 'm', '{axis.name}', "
        f"whole='{axis.name}') and {tensor.name}: wl.Out[..., 'b']",
    )


def _shaped(
    frame: Frame, node: ast.AST, tensor: ir.Tensor, dims: tuple[ir.Dim, ...], value: ir.Value
) -> ir.Value:
    if set(value.dims) < set(dims):
        return frame.build.new(ir.Broadcast, dims, value.dtype, frame.line(node), arg=value.name)
    if set(value.dims) == set(dims) and value.name in frame.build.free:
        return frame.turned(value, tuple(d.var for d in dims))
    if value.dims != dims:
        turned = set(value.dims) == set(dims)
        asked = shape(ir.Value(name="", dims=dims, dtype=value.dtype))
        frame.wrong_shape(
            node,
            f"a value of shape {shape(value)} is stored to a tile of '{tensor.name}' "
            f"of shape {asked}",
            why="the axes stand in the other order" if turned else "the shapes differ",
            fix="transpose it with .T" if turned else "sum or contract the axes it has too many",
        )
    return value


def _check_store(
    frame: Frame,
    node: ast.Subscript,
    tensor: ir.Tensor,
    at: tuple[ir.At, ...],
    *,
    add: bool,
    fn: Fn,
) -> None:
    for other in frame.build.stores.get(tensor.name, []):
        if other.add != add or other.fn is not fn:
            ways = [
                "stored (=)" if not a else "added to (+=)" if f is Fn.ADD else f"given a {f}imum"
                for a, f in ((other.add, other.fn), (add, fn))
            ]
            frame.wrong_memory(
                node,
                f"'{tensor.name}' is both {' and '.join(ways)}",
                why="the order of the two in memory is not defined between tiles",
                fix="use one of them",
            )
        running = frame.build.running
        if other.at == at and not add and other.when == (running.name if running else None):
            frame.wrong_memory(
                node,
                f"the same tile of '{tensor.name}' is stored twice",
                why=f"what was stored at {other.line} would be lost",
                fix="store the final value once",
            )
    if add and fn is not Fn.ADD and tensor.dtype not in (DType.F32, DType.I32):
        frame.wrong_type(
            node,
            f"an extreme in memory of '{tensor.name}' of type {tensor.dtype}",
            why="extremes in memory are made in f32 and i32",
            fix="an output of type f32, converted by a second kernel",
        )
    if add:
        if tensor.dtype.bits < 16:
            frame.wrong_type(
                node,
                f"'{tensor.name}' of type {tensor.dtype} cannot be added to",
                why="sums in memory are made in f32, f16, bf16, i32 or u32",
                fix="an output of type f32",
            )
        return
    _check_own_place(frame, node, tensor, at)


def _check_own_place(frame: Frame, node: ast.AST, tensor: ir.Tensor, at: tuple[ir.At, ...]) -> None:
    """A plain store needs a place of its own in every tile and iteration."""
    build = frame.build
    grid = build.grid
    group = grid.vars[0] if grid.kind == "groups" else None
    needed = [v for v in grid.vars if v != group]
    if build.loop is not None:
        needed += [v.name for v in (*build.outer, build.loop)]
    used: set[str] = {a.var for a in at if a.var}
    if build.loop is not None and build.part and build.loop.name in used:
        used.add(build.part)
    for place in at:
        if place.value:
            used |= build.depends.get(place.value, frozenset())
            if not _has_its_other_half(frame, place, at):
                _check_one_to_one(frame, node, tensor, place.value)
    for name in needed:
        if name not in used:
            looped = any(v.name == name for v in (*build.outer, build.loop) if v is not None)
            each = "every step of the loop" if looped else f"every tile along '{name}'"
            frame.wrong_memory(
                node,
                f"{each} stores the same elements of '{tensor.name}'",
                why=f"the index does not name '{name}', so one store overwrites the other",
                fix="store after the loop"
                if looped
                else f"keep its axis whole, wl.tile(..., whole={build.vars[name].axis!r}), "
                f"index '{tensor.name}' by '{name}' too, or add with +="
                if build.vars[name].walk is Walk.TILE
                else f"index '{tensor.name}' by '{name}' too, or add with +=",
            )


def _parts_of(frame: Frame, place: ir.At) -> tuple[Fn, str, object] | None:
    """``x // 16`` and ``x % 16``: the function, what is divided, and by what."""
    op = frame.build.made.get(place.value or "")
    if not isinstance(op, ir.Pointwise) or op.fn not in (Fn.FLOORDIV, Fn.MOD):
        return None
    by = frame.build.made.get(op.args[1])
    return op.fn, op.args[0], by.value if isinstance(by, ir.Const) else op.args[1]


def _has_its_other_half(frame: Frame, place: ir.At, at: tuple[ir.At, ...]) -> bool:
    """Whether ``x // 16`` stands beside ``x % 16``: together they are x."""
    mine = _parts_of(frame, place)
    others = [_parts_of(frame, a) for a in at if a is not place]
    return mine is not None and any(o and o[1:] == mine[1:] and o[0] != mine[0] for o in others)


def _is_loaded(frame: Frame, name: str) -> bool:
    """Whether memory decides on a value: which tiles it leads to the author alone knows."""
    op = frame.build.made.get(name)
    if op is None or isinstance(op, ir.Load):
        return op is not None
    return any(_is_loaded(frame, operand) for operand in operands(op))


def _counts_blocks(frame: Frame, op: ir.Pointwise) -> bool:
    """Whether it numbers tiles by their stated size: each its own number."""
    first, by = (frame.build.made.get(a) for a in (*op.args, "", "")[:2])
    if op.fn is not Fn.FLOORDIV or not isinstance(first, ir.Position):
        return False
    return isinstance(by, ir.Const) and frame.build.vars[first.var].extent == by.value


def _check_one_to_one(frame: Frame, node: ast.AST, tensor: ir.Tensor, name: str) -> None:
    op = frame.build.made.get(name)
    if not isinstance(op, ir.Pointwise):
        return
    if _counts_blocks(frame, op):
        return
    if op.fn in MANY_TO_ONE and not op.result.dims and not _is_loaded(frame, name):
        frame.wrong_memory(
            node,
            f"several tiles may store the same elements of '{tensor.name}'",
            why=f"the index goes through '{op.fn}', which gives equal results for different tiles",
            fix="store at an index of its own for each tile, or add with +=",
        )
    for operand in operands(op):
        _check_one_to_one(frame, node, tensor, operand)


def size_of(frame: Frame, node: ast.Attribute, tensor: ir.Tensor) -> SizeOf:
    """``x.k``."""
    names = [a.name for a in tensor.axes]
    if node.attr not in names:
        frame.wrong_name(
            node,
            f"'{tensor.name}' has no axis '{node.attr}'",
            why=f"its axes are {', '.join(names)}",
            fix=nearest(node.attr, names) or f"one of {', '.join(names)}, or dtype",
        )
    return SizeOf(tensor.name, node.attr)
