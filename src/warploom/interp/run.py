"""``run_module``: execute a kernel module on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warploom.errors import InterpreterError
from warploom.interp.arithmetic import Array, floating, round_to
from warploom.interp.hopper import Launch
from warploom.interp.timing import Scheduler
from warploom.ir import operations as ops
from warploom.ir.expr import Sym, SymKind, evaluate
from warploom.ir.module import Dialect, KernelModule, TensorArg
from warploom.ir.operations import StepLoop
from warploom.ir.threads import Merge, statements
from warploom.ir.tile_schedule import SMS, expand
from warploom.ir.types import DType
from warploom.ir.waves import Merge as Combine, instructions

if TYPE_CHECKING:
    from warploom.interp.threads import Stores

LEAST = -(2**31)
BLOCK_ROWS = 16


def run_module(  # noqa: C901, PLR0912 (one check after the other)
    module: KernelModule,
    arrays: Mapping[str, Any],
    scalars: Mapping[str, float] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    timing: str = "adversarial",
    seed: int = 0,
    sms: int = 132,
    initial: Mapping[str, Any] | None = None,
    visits: Callable[[int], tuple[int, ...]] | None = None,
    most: int | None = None,
    observe: Callable[[Mapping[str, Stores], int], None] | None = None,
    rows: bool | None = None,
) -> dict[str, Array]:
    """The outputs of a launch, by name.

    Args:
        module: what is executed, and nothing beside it.
        arrays: its inputs, by name; they are rounded to their types.
        scalars: its scalars, by name.
        sizes: sizes of axes that no input has.
        timing: ``in_order``, ``random`` or ``adversarial``.
        seed: of the timing.
        sms: what the device runs at once: SMs, of clusters the clusters.
        initial: what outputs that are added to hold before; 0 where not given.
        visits: of a listed tile schedule, the list of a launch with so many CTAs; else CTAs take
            tiles in turn.
        most: operations of all agents; ``TooLongError`` beyond.
        observe: gets, of a program of threads or waves, who stored the elements of every output,
            and how many statements were executed.
        rows: of a program of threads or waves, whether rows of all tensors begin at whole vectors,
            or of none.
    """
    memory, lengths = bind(module, arrays, sizes or {})
    for tensor in module.tensors:
        if tensor.access == "out":
            shape = tuple(-(-lengths[a.name] // a.per) for a in tensor.axes)
            before = (initial or {}).get(tensor.name)
            if before is None and tensor.name in _added(module):
                before = 0
            memory[tensor.name] = _in_blocks(blank(shape, tensor.dtype, before), tensor)
    given = dict(scalars or {})
    missing = {s.name for s in module.scalars} - set(given)
    if missing:
        raise InterpreterError(
            f"scalars {', '.join(sorted(missing))} are not given", fix="give each by name"
        )
    scheduler = Scheduler(timing, seed, most=most)
    values = {Sym(SymKind.SIZE, n): v for n, v in lengths.items()}
    for condition in module.launch.requires:
        if not evaluate(condition, values):
            raise InterpreterError(
                f"sizes that the kernel does not take: {condition} does not hold",
                where=", ".join(f"{n}={v}" for n, v in sorted(lengths.items())),
                fix="pad that axis with zeros",
            )
    grid = evaluate(module.launch.grid, {**values, SMS: sms})
    if module.program is not None:
        from warploom.interp.waves import run_waves  # noqa: PLC0415 (one dialect at a time)

        result, waves = run_waves(module, memory, lengths, given, scheduler, grid, rows=rows)
        if observe is not None:
            observe(waves, scheduler.taken)
        return result
    if module.threads is not None:
        from warploom.interp.threads import run_threads  # noqa: PLC0415 (one form at a time)

        stores, executed = run_threads(
            module, memory, lengths, given, grid, timing=timing, seed=seed, most=most, rows=rows
        )
        if observe is not None:
            observe(stores, executed)
        return {t.name: memory[t.name] for t in module.tensors if t.access == "out"}
    if module.dialect is Dialect.MBARRIER:
        listed = any(r.tiles.schedule.listed for r in module.roles)
        order: tuple[int, ...] = ()
        if listed and grid:
            total = evaluate(expand(module.roles[0].tiles.schedule).total, _counted(module, values))
            order = visits(grid) if visits is not None else in_turn(total, grid)
        Launch(module, memory, lengths, given, scheduler, grid, visits=order).start()
    else:
        from warploom.interp.counters import start  # noqa: PLC0415 (one dialect at a time)

        start(module, memory, lengths, given, scheduler, grid)
    try:
        scheduler.run()
    except KeyError as error:
        raise InterpreterError(
            f"the module names {error}, which nothing binds there",
            where=module.name,
            fix="report it with the module's listing",
        ) from error
    return {
        t.name: _cropped(memory[t.name], t, lengths) for t in module.tensors if t.access == "out"
    }


def _in_blocks(array: Array, tensor: TensorArg) -> Array:
    """A tensor in blocks has whole blocks of rows; what lies past its end is NaN."""
    if not tensor.blocked:
        return array
    more = [(0, 0)] * array.ndim
    more[-2] = (0, -array.shape[-2] % BLOCK_ROWS)
    return np.pad(array, more, constant_values=np.nan)


def _cropped(array: Array, tensor: TensorArg, lengths: Mapping[str, int]) -> Array:
    return array[..., : lengths[tensor.axes[-2].name], :] if tensor.blocked else array


def _counted(module: KernelModule, values: dict[Sym, int]) -> dict[Sym, int]:
    """Sizes, and how many tiles there are along every variable."""
    result = dict(values)
    for bound in expand(module.roles[0].tiles.schedule).counts:
        result[bound.name] = evaluate(bound.value, result)
    return result


def in_turn(tiles: int, ctas: int) -> tuple[int, ...]:
    """A list of tiles for a listed schedule: CTAs take them in turn, the last ones first."""
    own = [list(range(tiles - 1 - n, -1, -ctas)) for n in range(ctas)]
    starts, flat = [], list[int]()
    for numbers in own:
        starts.append(ctas + len(flat))
        flat += [*numbers, -1]
    return (*starts, *flat)


def _added(module: KernelModule) -> set[str]:
    """Tensors that the kernel adds to."""
    maps = {m.name: m.tensor for m in module.maps}
    result: set[str] = set()
    if module.program is not None:
        every = instructions(module.program.body)
        result |= {x.tensor for x in every if isinstance(x, Combine)}
    if module.threads is not None:
        result |= {s.tensor for s in statements(module.threads.body) if isinstance(s, Merge)}
    for role in module.roles:
        bodies = [role.tiles.body, *(p.body for p in role.earlier)]
        for statement in (s for body in bodies for s in body):
            inner = statement.body if isinstance(statement, StepLoop) else (statement,)
            for op in inner:
                if isinstance(op, ops.BulkStore) and op.add:
                    result.add(maps[op.tensor_map])
                elif isinstance(op, ops.Vector):
                    result |= {
                        x.tensor for x in op.body if isinstance(x, ops.VectorStore) and x.add
                    }
    return result


def blank(shape: tuple[int, ...], dtype: DType, given: object) -> Array:
    """An output before the first store: NaN, or the least integer, where nobody has written."""
    if given is not None:
        return np.array(np.broadcast_to(round_to(np.asarray(given), dtype), shape))
    if dtype.is_float:
        return np.full(shape, np.nan, floating())
    return np.full(shape, LEAST, np.int64)


def bind(  # noqa: C901 (one check after the other)
    module: KernelModule, arrays: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, int]]:
    """Inputs rounded to their types, and the size of every axis."""
    memory: dict[str, Array] = {}
    lengths = dict(sizes)
    for tensor in module.tensors:
        if tensor.access == "out":
            continue
        if tensor.name not in arrays:
            raise InterpreterError(
                f"'{tensor.name}' is not given",
                fix="inputs: " + ", ".join(t.name for t in module.tensors if t.access != "out"),
            )
        array = np.asarray(arrays[tensor.name])
        if array.ndim != len(tensor.axes):
            raise InterpreterError(
                f"'{tensor.name}' has {array.ndim} axes, the kernel names {len(tensor.axes)}",
                fix=f"an array [{', '.join(a.name for a in tensor.axes)}]",
            )
        if not tensor.dtype.is_float:
            array = array.astype(np.int64)
        made = np.ascontiguousarray(round_to(array, tensor.dtype))
        memory[tensor.name] = _in_blocks(made, tensor)
        for axis, given in zip(tensor.axes, array.shape, strict=True):
            length = given
            if tensor.access == "starts":
                length -= 1  # offsets of groups: one more than groups
            if axis.per == 1 and lengths.setdefault(axis.name, length) != length:
                raise InterpreterError(
                    f"axis '{axis.name}' has {length} elements in '{tensor.name}',"
                    f" elsewhere {lengths[axis.name]}",
                    fix="arrays whose axes of the same name agree",
                )
    for tensor in module.tensors:
        for axis in tensor.axes:
            if axis.name not in lengths:
                raise InterpreterError(
                    f"the size of axis '{axis.name}' is not known",
                    fix=f"sizes={{'{axis.name}': ...}}",
                )
    return memory, lengths
