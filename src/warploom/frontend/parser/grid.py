"""``wl.tile``: the grid of a kernel and its variables."""

import ast
from dataclasses import replace

from warploom.frontend.parser.memory import whole_axis
from warploom.frontend.parser.state import Frame, Symbol, nearest
from warploom.ir.tile import Access, Axis, DType, Grid, Tensor, Var, Walk


def tile(
    frame: Frame, node: ast.Call, tiled: Symbol | list[Symbol], options: dict[str, Symbol]
) -> Symbol:
    """The variables of one tile: units, then rows and columns (whole axes are not named).

    ``tiled``: an output, an input whose elements are scattered or added up, or the names of axes
    where no tensor has all of them.
    """
    build = frame.build
    if build.grid is not None or build.loop is not None:
        frame.wrong_syntax(
            node,
            "wl.tile stands inside a loop" if build.grid is None else "wl.tile is used twice",
            why="a kernel computes the tiles of one grid",
            fix="use its variables throughout; further outputs are indexed by them",
        )
    tensor = _of_axes(frame, node, tiled) if isinstance(tiled, list) else tiled
    if not isinstance(tensor, Tensor) or tensor.access is Access.STARTS:
        frame.wrong_type(
            node,
            "wl.tile takes a tensor of the kernel, or names of axes",
            why="the grid is made of the tiles of its axes",
            fix="m, n = wl.tile(out)",
        )
    whole = options.get("whole", ())
    whole = tuple(whole) if isinstance(whole, tuple | list) else (whole,)
    _check_whole(frame, node, tensor, whole)
    variables = _variables(frame, node, tensor, whole, _units(frame, node, tensor, options))
    _set_extents(frame, node, tensor, variables, options)
    groups = _groups(frame, node, options.get("groups"))
    order = _order(frame, node, variables, options.get("order"), groups)
    if groups is not None:
        axis = groups.axes[0].name
        variables = [Var(name=axis, axis=axis, walk=Walk.UNIT, extent=1), *variables]
    named = _named(frame, variables)
    for var in named:
        build.vars[var.name] = var
    for axis in whole:
        whole_axis(frame, node, axis, f"axis '{axis}' is whole")
    build.grid = Grid(
        tensor=tensor.name if tensor.access is Access.OUT else "",
        vars=tuple(v.name for v in named),
        kind="tiles" if groups is None else "groups",
        starts=() if groups is None else (groups.name,),
        order=order,
    )
    return named[0] if len(named) == 1 else tuple(named)


def _units(
    frame: Frame, node: ast.Call, tensor: Tensor, options: dict[str, Symbol]
) -> tuple[Symbol, ...]:
    """``unit="b"``: axes among the last two that are walked one element at a time, too."""
    unit = options.get("unit", ())
    units = tuple(unit) if isinstance(unit, tuple | list) else (unit,)
    names = [a.name for a in tensor.axes]
    for name in units:
        if name not in names:
            frame.wrong_name(
                node,
                f"unit={name!r} is no axis of the grid",
                why="an axis that is walked one element at a time is one of the grid's",
                fix=nearest(str(name), names) or f'unit="{names[0]}"',
            )
    return units


def _set_extents(
    frame: Frame,
    node: ast.Call,
    tensor: Tensor,
    variables: list[Var],
    options: dict[str, Symbol],
) -> None:
    """``rows=`` and ``cols=``: of the last two axes, where those are cut into tiles."""
    for word, back in (("rows", 2), ("cols", 1)):
        extent = options.get(word)
        if extent is None:
            continue
        if type(extent) is not int or extent < 1:
            frame.wrong_type(node, f"{word}={extent!r}", fix=f"a number: {word}=128")
        tiled = [i for i, v in enumerate(variables) if v.walk is Walk.TILE]
        axis = tensor.axes[-back].name if len(tensor.axes) >= back else ""
        own = [i for i in tiled if variables[i].axis == axis]
        own = own or (tiled[:1] if word == "rows" else [])
        if not own:
            frame.wrong_shape(
                node,
                f"{word}={extent} where no {'rows' if word == 'rows' else 'columns'} are cut into "
                "tiles",
                why=f"axis '{axis}' is whole, or walked one element at a time",
                fix="rows=, or no extent",
            )
        variables[own[0]] = replace(variables[own[0]], extent=extent)


def _groups(frame: Frame, node: ast.Call, group: Symbol) -> Tensor | None:
    if group is None or (isinstance(group, Tensor) and group.access is Access.STARTS):
        return group
    frame.wrong_type(
        node,
        "groups= takes the offsets of the groups",
        why="they say which rows belong to which group",
        fix='a parameter starts: wl.Starts["e"]',
    )


def _order(
    frame: Frame, node: ast.Call, variables: list[Var], order: Symbol, groups: Tensor | None
) -> str:
    if order is None:
        return ""
    fixed = groups is None and all(v.extent is not None for v in variables)
    if isinstance(order, Tensor) and len(order.axes) == 1 and fixed:
        return order.name
    frame.wrong_type(
        node,
        "order= takes the numbers of all tiles",
        why="they say which tile is begun when, so the text must say how large tiles are",
        fix='a parameter order: wl.In["n", wl.i32], and rows=128',
    )


def _of_axes(frame: Frame, node: ast.Call, names: list[Symbol]) -> Tensor:
    """What has the named axes, and no place in memory."""
    known = {a.name for t in frame.build.tensors.values() for a in t.axes if a.per == 1}
    for name in names:
        if name not in known:
            frame.wrong_name(
                node,
                f"no tensor has an axis {name!r}",
                why="tiles are cut from axes of the kernel's tensors",
                fix="known: " + ", ".join(sorted(known)),
            )
    axes = tuple(Axis(name=str(n)) for n in names)
    return Tensor(name="", axes=axes, dtype=DType.F32, access=Access.OUT)


def _check_whole(frame: Frame, node: ast.Call, tensor: Tensor, whole: tuple[Symbol, ...]) -> None:
    last_two = [a.name for a in tensor.axes[-2:]]
    every = sorted({a.name for t in frame.build.tensors.values() for a in t.axes if a.per == 1})
    for name in whole:
        if name in last_two:
            continue
        if name in (a.name for a in tensor.axes):
            fix = "name the axes that are walked: wl.tile("
            fix += ", ".join(f'"{n}"' for n in last_two) + f"), and index '{name}' with ':'"
        elif name in every:
            fix = "leave it out: an axis that no variable walks is whole where ':' stands for it"
        else:
            fix = nearest(str(name), last_two) or f'whole="{last_two[-1]}"'
        frame.wrong_shape(
            node,
            f"axis {name!r} of '{tensor.name}' cannot be whole"
            if tensor.name
            else f"axis {name!r} cannot be whole",
            why="rows and columns of a tile are the last two axes: " + ", ".join(last_two),
            fix=fix,
        )
    if len(whole) == len(tensor.axes):
        frame.wrong_shape(
            node,
            f"all axes of '{tensor.name}' are whole",
            why="no axis is left to make tiles of",
            fix=f'whole="{last_two[-1]}"',
        )


def _variables(
    frame: Frame,
    node: ast.Call,
    tensor: Tensor,
    whole: tuple[Symbol, ...],
    units: tuple[Symbol, ...],
) -> list[Var]:
    result = []
    for i, axis in enumerate(tensor.axes):
        if axis.per != 1:
            frame.wrong_shape(
                node,
                f"axis '{axis.name}/{axis.per}' of '{tensor.name}' makes no tiles",
                why="a grid walks elements, not blocks of them",
                fix="wl.tile of an output with plain axes",
            )
        if axis.name in whole:
            continue
        unit = i < len(tensor.axes) - 2 or axis.name in units
        walk = Walk.UNIT if unit else Walk.TILE
        result.append(Var(name=axis.name, axis=axis.name, walk=walk, extent=1 if unit else None))
    return result


def _named(frame: Frame, variables: list[Var]) -> list[Var]:
    """The author's names, where there are as many; the axes' names else."""
    hints = frame.hints if len(frame.hints) == len(variables) else tuple(v.name for v in variables)
    return [replace(v, name=frame.build.fresh(h)) for v, h in zip(variables, hints, strict=True)]
