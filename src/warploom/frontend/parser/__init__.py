"""From a kernel's source to its value: names to values, shapes and types checked."""

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from warploom.frontend.parser.state import Builder, Frame, ScalarOf
from warploom.frontend.parser.statements import inline, run
from warploom.frontend.rewrite import titled
from warploom.frontend.signature import Signature
from warploom.frontend.source import Source
from warploom.frontend.tile_reductions import check_tile_reductions
from warploom.ir.tile import Access, DType, Kernel, Loop, Parameter, Store, Tensor, operands, walk


def read(
    function: Callable[..., Any],
    source: Source,
    signature: Signature,
    *,
    tensors: Mapping[str, Tensor],
    sizes: Mapping[str, int],
    constants: Mapping[str, object],
    without: Collection[str] = (),
    assumed: set[str] | None = None,
) -> Kernel:
    """The kernel for given tensors. ``assumed``: collects whole axes whose size is not given."""
    build = Builder(tensors=dict(tensors), sizes=dict(sizes), assumed=assumed, inline=inline)
    build.names.update(tensors)
    build.without = frozenset(without)
    env: dict[str, Any] = dict(tensors)
    scalars = {n: d for n, d in signature.scalars.items() if n not in constants}
    build.names.update(scalars)
    env.update({n: ScalarOf(n, d) for n, d in scalars.items()})
    env.update(constants)
    inputs = {t.name for t in signature.inputs}
    env.update({n: None for n in without if n in inputs})
    frame = Frame(build, source, function, env)
    assert isinstance(source.tree, ast.FunctionDef)
    run(frame, source.tree.body)
    _check_end(frame)
    names = build.final_names()
    ops = tuple(titled(op, names) for op in build.scopes[0])
    kernel = Kernel(
        name=source.tree.name,
        tensors=tuple(_sized(t, build.sizes) for n, t in build.tensors.items() if n not in without),
        parameters=tuple(Parameter(name=n, dtype=d) for n, d in scalars.items()),
        vars=tuple(build.vars.values()),
        grid=build.grid,
        ops=ops,
        line=source.line(source.tree),
    )
    check_tile_reductions(kernel)
    return kernel


def _sized(tensor: Tensor, sizes: Mapping[str, int]) -> Tensor:
    tensor = replace(tensor, dtype=tensor.dtype.stored)  # loads and stores have made it so
    axes = tuple(
        replace(a, size=-(-sizes[a.name] // a.per)) if a.name in sizes else a for a in tensor.axes
    )
    return replace(tensor, axes=axes)


def _check_end(frame: Frame) -> None:
    build, tree = frame.build, frame.source.tree
    if build.grid is None:
        frame.wrong_syntax(
            tree,
            "the kernel never uses wl.tile",
            why="it says which tile of the output is computed",
            fix="begin with m, n = wl.tile(out)",
        )
    assert isinstance(tree, ast.FunctionDef)
    nodes = {a.arg: a for a in (*tree.args.posonlyargs, *tree.args.args)}
    for name, tensor in build.tensors.items():
        if tensor.access is Access.OUT and name not in build.stores and name not in build.without:
            frame.wrong_memory(
                nodes[name],
                f"output '{name}' is never stored",
                why="its memory would be left as it was",
                fix=f"{name}[...] = ..., or remove it from the parameters",
            )
    if build.grid.tensor in build.without:
        frame.wrong_memory(
            nodes[build.grid.tensor],
            f"output '{build.grid.tensor}' makes the grid and cannot be left out",
            fix="leave out other outputs only",
        )
    _check_loops(frame)


def _check_loops(frame: Frame) -> None:
    """Every loop must reach a store."""
    live: set[str] = set()
    for op in reversed(frame.build.scopes[0]):
        if isinstance(op, Loop):
            stores = any(isinstance(o, Store) for o in walk(op.body))
            if not stores and not any(c.result.name in live for c in op.carried):
                if frame.build.without:
                    continue
                assert op.line is not None
                node = next(
                    n
                    for n in ast.walk(frame.source.tree)
                    if isinstance(n, ast.For) and n.lineno == op.line.number
                )
                frame.wrong_syntax(
                    node,
                    "the loop has no effect",
                    why="nothing that is stored depends on what it computes",
                    fix="store a value it carries, or remove the loop",
                )
            live |= {o for inner in walk((op,)) for o in operands(inner)}
        elif isinstance(op, Store) or op.result.name in live:
            live |= set(operands(op))
