"""``kernel.interpret(...)``: from the arguments of a call to an execution of its module.

The module is built as for a call with these sizes: what the author pinned, else what measuring
found, else the first choice of the model that can be scheduled and is proven. A GPU build may step
to a later choice where the assembler spills registers of the first; that needs a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NoReturn

import numpy as np

from warploom.codegen.amdgcn.module import module_of_kernel
from warploom.codegen.amdgcn.tile_kernel import gemm_tile_kernel
from warploom.codegen.cuda.tile.source import Source
from warploom.compiler.check_launch import executed
from warploom.compiler.compiled import MOST_TRIED, Compiled
from warploom.compiler.remembered import recall
from warploom.compiler.similar import similar_pins
from warploom.compiler.tuned import tuned_pins
from warploom.errors import (
    BackendError,
    ConfigError,
    GeometryError,
    KernelCallError,
    KernelError,
    OrderError,
    SchedulingError,
)
from warploom.frontend.pointwise import as_declared, as_stored
from warploom.frontend.printing import Printed, printing
from warploom.frontend.signature import MISSING
from warploom.frontend.simplify import simplify
from warploom.frontend.tile_kernel import TileKernel, Types
from warploom.interp import TIMINGS, run_module
from warploom.ir.module import KernelModule
from warploom.ir.tile import Access, DType, Kernel, Store, walk
from warploom.kernels.measured import ORDER
from warploom.kernels.registry import is_shipped
from warploom.passes.build_module import build_module
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.row_module import build_row_module
from warploom.passes.simt_layout import has_products
from warploom.passes.tile_order import visit_list
from warploom.runtime.interpreting import KINDS, TARGETS, Interpreting
from warploom.runtime.mi355x import CompiledMi355x, extents_of

_ORDERS = {"in_order": "forward", "random": "random", "adversarial": "reverse"}


def interpret(
    tile_kernel: TileKernel,
    arrays: Sequence[Any],
    given: Mapping[str, Any],
    *,
    types: Types | None,
    target: str,
    config: object,
    timing: str,
    seed: int,
    sizes: Mapping[str, int],
    scalars: Mapping[str, float],
    initial: Mapping[str, Any],
) -> Any:  # noqa: ANN401 (arrays of the caller's library)
    """``TileKernel.interpret``."""
    if timing not in TIMINGS:
        raise ConfigError(f"timing={timing!r}", where="interpret", fix=", ".join(TIMINGS))
    if target not in TARGETS:
        raise ConfigError(f"target={target!r}", where="interpret", fix=", ".join(TARGETS))
    if config is not None and target == "h200":
        _pins(config)
    tile_kernel.check_arguments(sizes, initial, types)
    tile_kernel.check_names(
        "scalars", scalars, tile_kernel.signature.scalars, "scalars of the kernel"
    )
    named = dict(given)
    inputs, wanted = _inputs(tile_kernel, arrays, named)
    numbers, choices = _numbers(tile_kernel, named, scalars)
    held = {n: _array(x) for n, x in inputs.items()}
    without = frozenset(
        t.name
        for t in tile_kernel.signature.tensors
        if t.name not in held and (t.access is not Access.OUT or t.name not in wanted)
    )
    kinds = _types(tile_kernel, held, types, without)
    lengths = _lengths(tile_kernel, held, sizes)
    built_in = {
        n: v
        for n, v in numbers.items()
        if tile_kernel.signature.scalar_defaults.get(n, MISSING) == v
    }
    positive = [n for n, v in numbers.items() if n not in built_in and v > 0]
    with printing() as shown:
        kernel = tile_kernel.value_for(kinds, lengths, choices | built_in, without)
    key = tuple((a, n) for a, n in lengths.items() if a in {v.axis for v in kernel.vars})
    axes = {t.name: tuple(a.name for a in t.axes) for t in tile_kernel.signature.tensors}
    meant = {n: DType(k) for n, k in kinds.items()}
    arrays_of = {n: Named(as_stored(np.asarray(v), meant[n]), axes[n]) for n, v in held.items()}
    before = {
        n: Named(as_stored(np.asarray(v), meant[n]), axes[n])
        for n, v in initial.items()
        if n in axes
    }
    if config is None or target == "mi355x":
        known = dict(tile_kernel.pins) or dict(recall(kernel, dict(key)) or ())
        pins = [known] if known else tried_pins(tile_kernel, kernel, choices, dict(key))
    else:
        pins = [_pins(config)]
    made = execute(
        kernel,
        key,
        pins,
        frozenset(positive),
        arrays_of | before,
        numbers,
        lengths,
        Interpreting(target, None, timing, seed),
        config if target == "mi355x" else None,
    )
    show(shown, made)
    outputs = [
        _like(inputs, as_declared(made[t.name].in_order(axes[t.name]), meant[t.name]))
        for t in tile_kernel.signature.outputs
        if t.name in made
    ]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


@dataclass(frozen=True, slots=True)
class Named:
    """An array whose axes have names."""

    array: Any
    axes: tuple[str, ...]

    def in_order(self, axes: tuple[str, ...]) -> Any:  # noqa: ANN401 (a NumPy array)
        """The array with its axes in another order."""
        if axes == self.axes:
            return self.array
        return self.array.transpose([self.axes.index(n) for n in axes])


def show(shown: Mapping[str, Printed], made: Mapping[str, Named]) -> None:
    """Print the tiles that a kernel shows, whole."""
    for name, note in shown.items():
        if name in made:
            found = made[name]
            axes = ", ".join(f"{a}={n}" for a, n in zip(found.axes, found.array.shape, strict=True))
            where = f"line {note.line.number}: " if note.line is not None else ""
            print(f"{where}{note.label} [{axes}]\n{np.array2string(found.array)}")


Visits = Callable[[Mapping[str, int], int], tuple[int, ...]]
Pins = Sequence[Mapping[str, object]]


def tried_pins(
    tile_kernel: TileKernel,
    kernel: Kernel,
    choices: Mapping[str, object],
    sizes: Mapping[str, int],
) -> list[Any]:
    """What a call tries in turn: what was measured, without its order of ops; of an author's
    kernel what was measured for one like it; or nothing of it.
    """
    every = dict(tuned_pins(tile_kernel, kernel, choices, sizes))
    tried = [every, {n: v for n, v in every.items() if n not in ORDER}]
    if not every and not is_shipped(tile_kernel):
        tried = [dict(pins) for pins in similar_pins(simplify(kernel), sizes)]
    result: list[Any] = []
    for pins in (*tried, {}):
        result += [pins] if pins not in result else []
    return result


def execute(
    kernel: Kernel,
    sizes: Sequence[tuple[str, int]],
    pins: Pins,
    positive: frozenset[str],
    arrays: Mapping[str, Named],
    scalars: Mapping[str, float],
    lengths: Mapping[str, int],
    state: Interpreting,
    config: object = None,
) -> dict[str, Named]:
    """The outputs of a kernel, by name; ``arrays`` has inputs, and what outputs hold before."""
    visits: Visits | None = None
    known = dict(lengths)
    if state.target == "mi355x" and not _has_wave_module(kernel, config):
        return _by_itself(kernel, pins, arrays, scalars, lengths, state, config)
    if state.target == "mi355x":
        module = _wave_module(kernel, config)
        arrays, known = _padded(module, arrays, known)
    else:
        try:
            module, visits = module_for(kernel, sizes, pins, positive)
        except (GeometryError, KernelError, SchedulingError) as error:
            module, visits = _block_module(kernel, tuple(sizes), _frozen(pins), error), None
    own = {t.name: tuple(a.name for a in t.axes) for t in module.tensors}
    held = {n: x.in_order(own[n]) for n, x in arrays.items() if n in own}
    inputs = {t.name for t in module.tensors if t.access != "out"}
    with np.errstate(all="ignore"):
        made = run_module(
            module,
            {n: x for n, x in held.items() if n in inputs},
            {p.name: scalars[p.name] for p in module.scalars},
            sizes=known,
            timing=state.timing,
            seed=state.seed,
            initial={n: x for n, x in held.items() if n not in inputs},
            visits=None if visits is None else partial(visits, known),
        )
    return {n: Named(x, own[n]) for n, x in made.items()}


def module_for(
    kernel: Kernel, sizes: Sequence[tuple[str, int]], pins: Pins, positive: frozenset[str]
) -> tuple[KernelModule, Visits | None]:
    """The module that a call with these sizes would run, and what lists its tiles for a launch."""
    return _module_for(kernel, tuple(sizes), _frozen(pins), positive)


def _frozen(pins: Pins) -> tuple[tuple[tuple[str, object], ...], ...]:
    return tuple(tuple(sorted(p.items(), key=str)) for p in pins)


def _block_module(
    kernel: Kernel,
    sizes: tuple[tuple[str, int], ...],
    pins: tuple[tuple[tuple[str, object], ...], ...],
    refused: Exception,
) -> KernelModule:
    """The module of a kernel with products that cannot be pipelined: that of its largest tiles."""
    chosen = {a: max(1, n) for a, n in sizes}
    made = Compiled(kernel, sizes=chosen, pins=dict(pins[-1]) if pins else {})
    return next(made.block_modules(refused))


def _ptx(
    kernel: Kernel,
    emitted: tuple[Kernel, Source, KernelConfig],
    arrays: Mapping[str, Named],
    scalars: Mapping[str, float],
    lengths: Mapping[str, int],
    state: Interpreting,
) -> dict[str, Named]:
    """What the CUDA of a kernel without a pipeline computes: its PTX, executed warp by warp."""
    own = {t.name: tuple(a.name for a in t.axes) for t in kernel.tensors}
    held = {n: np.asarray(x.in_order(own[n])) for n, x in arrays.items() if n in own}
    order = _ORDERS[state.timing]
    made = executed(kernel, emitted, held, scalars, lengths, order=order, seed=state.seed)
    return {n: Named(x, own[n]) for n, x in made.items()}


@lru_cache(maxsize=64)
def _module_for(
    kernel: Kernel,
    sizes: tuple[tuple[str, int], ...],
    pins: tuple[tuple[tuple[str, object], ...], ...],
    positive: frozenset[str],
) -> tuple[KernelModule, Visits | None]:
    chosen = {a: max(1, n) for a, n in sizes}
    last: Exception | None = None
    if not has_products(kernel):  # its threads share tiles by themselves: it has no pipeline
        made = Compiled(kernel, sizes=chosen, pins=dict(pins[-1]) if pins else {})
        found = made.without_products()
        if found is not None and found[0].any_alignment:
            return made.thread_module, None
    for some in pins:
        compiled = Compiled(kernel, sizes=chosen, pins=dict(some), positive=positive)
        try:
            if not compiled.loops:
                return build_row_module(kernel, compiled.rewritten), None
            choices = compiled.choices[:MOST_TRIED]
        except (BackendError, GeometryError, KernelError, SchedulingError) as error:
            last = error
            continue
        for choice in choices:
            try:
                lowered = compiled.lower(choice.config)
            except (GeometryError, SchedulingError, KernelError, OrderError) as error:
                last = error
                continue
            module = build_module(kernel, lowered)
            return module, partial(
                visit_list, lowered.kernel, choice.config, target=compiled.target
            )
    raise last or GeometryError(f"no config of kernel {kernel.name}", fix="pin smaller extents")


def _has_wave_module(kernel: Kernel, config: object) -> bool:
    """Whether MI355X runs a pipelined product: it is one, and no tiles are pinned."""
    if isinstance(config, Mapping) and set(config) & {"schedule", "block"}:
        return True
    if config is not None:
        return False
    try:
        gemm_tile_kernel(kernel)
    except BackendError:
        return False
    return True


def _by_itself(
    kernel: Kernel,
    pins: Pins,
    arrays: Mapping[str, Named],
    scalars: Mapping[str, float],
    lengths: Mapping[str, int],
    state: Interpreting,
    config: object,
) -> dict[str, Named]:
    """A kernel whose loops MI355X schedules by themselves: its module, executed."""
    pinned = _pins(config) if config is not None else dict(pins[-1]) if pins else {}
    made = CompiledMi355x(kernel, extents_of(kernel, pinned))
    own = {t.name: tuple(a.name for a in t.axes) for t in kernel.tensors}
    held = {n: np.asarray(x.in_order(own[n])) for n, x in arrays.items() if n in own}
    inputs = {t.name for t in kernel.tensors if t.access is not Access.OUT}
    added = {op.tensor: np.zeros(1) for op in walk(kernel.ops) if isinstance(op, Store) and op.add}
    given = {n: x for n, x in held.items() if n in inputs}
    numbers = {p.name: scalars[p.name] for p in kernel.parameters}
    before = added | {n: x for n, x in held.items() if n not in inputs}
    found = run_module(
        made.module,
        given,
        numbers,
        sizes=lengths,
        timing=state.timing,
        seed=state.seed,
        initial=before,
    )
    return {n: Named(x, own[n]) for n, x in found.items()}


def _wave_module(kernel: Kernel, config: object) -> KernelModule:
    """The module for MI355X; ``config`` names a schedule and a block."""
    chosen = {} if config is None else config
    if not isinstance(chosen, Mapping) or set(chosen) - {"schedule", "block"}:
        raise ConfigError(
            f"config={config!r}",
            where="interpret",
            fix="{'schedule': 'fourwave', 'block': (256, 256, 64)}",
        )
    return module_of_kernel(kernel, **dict(chosen))


def _padded(
    module: KernelModule, held: Mapping[str, Named], lengths: Mapping[str, int]
) -> tuple[dict[str, Named], dict[str, int]]:
    """Inputs with the reduced axis filled up with zeros to whole 16-byte chunks, which is what the
    kernel takes; zeros add nothing to a product.
    """
    made, sizes = dict(held), dict(lengths)
    lds = module.storage.lds[0]
    axis = module.tensor(lds.tensor).axes[-1].name
    longer = max(lds.chunk, -(-lengths[axis] // lds.chunk) * lds.chunk)
    for name, given in held.items():
        if axis in given.axes:
            by = [(0, longer - lengths[axis] if a == axis else 0) for a in given.axes]
            made[name] = Named(np.pad(np.asarray(given.array), by), given.axes)
    sizes[axis] = longer
    return made, sizes


def _pins(config: object) -> dict[str, object]:
    if isinstance(config, KernelConfig):
        return dict(config.pins)
    if isinstance(config, Mapping):
        return dict(config)
    raise ConfigError(
        f"config={config!r}", where="interpret", fix="a KernelConfig, or pins such as {'m': 128}"
    )


def _fail(tile_kernel: TileKernel, what: str, fix: str) -> NoReturn:
    where = str(tile_kernel.source.line(tile_kernel.source.tree))
    raise KernelCallError(f"interpret of kernel '{tile_kernel.name}': {what}", where=where, fix=fix)


def _inputs(
    tile_kernel: TileKernel, arrays: Sequence[Any], named: dict[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Arrays by tensor, and the outputs that are wanted."""
    tensors = tile_kernel.signature.inputs
    if len(arrays) > len(tensors):
        _fail(
            tile_kernel,
            f"{len(arrays)} arrays for {len(tensors)} inputs",
            ", ".join(t.name for t in tensors),
        )
    found = {t.name: a for t, a in zip(tensors, arrays, strict=False) if a is not None}
    for t in tensors:
        if t.name in named:
            value = named.pop(t.name)
            found |= {} if value is None else {t.name: value}
    for t in tensors:
        if t.name not in found and not t.optional:
            _fail(
                tile_kernel,
                f"'{t.name}' is not given",
                "inputs in order: " + ", ".join(x.name for x in tensors),
            )
    wanted = {t.name for t in tile_kernel.signature.outputs if not t.optional}
    for t in tile_kernel.signature.outputs:
        if t.name in named:
            wanted = wanted | {t.name} if named.pop(t.name) else wanted - {t.name}
    return found, wanted


def _numbers(
    tile_kernel: TileKernel, named: dict[str, Any], scalars: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Any]]:
    signature = tile_kernel.signature
    numbers: dict[str, float] = {}
    for name, dtype in signature.scalars.items():
        value = scalars.get(name, named.pop(name, signature.scalar_defaults.get(name)))
        if value is None:
            _fail(tile_kernel, f"scalar '{name}' is not given", f"{name}=...")
        numbers[name] = float(value) if dtype is DType.F32 else int(value)
    choices = {n: named.pop(n, d) for n, d in signature.choices.items()}
    missing = [n for n, v in choices.items() if v is MISSING]
    if missing or named:
        what = f"choice '{missing[0]}' is not given" if missing else f"no '{next(iter(named))}'"
        known = [*signature.scalars, *signature.choices, *(t.name for t in signature.tensors)]
        _fail(tile_kernel, what, ", ".join(known))
    return numbers, choices


def _is_torch(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"


def _array(value: Any) -> Any:  # noqa: ANN401 (a NumPy array)
    """The values of an argument; its element type is asked of the argument itself."""
    if _is_torch(value):
        if value.device.type != "cpu":
            raise KernelCallError(
                f"a tensor on {value.device}", where="interpret", fix="tensors on the CPU: x.cpu()"
            )
        kind = str(value.dtype).rpartition(".")[2]
        whole = value.detach().to(dtype=value.float().dtype) if "int" not in kind else value
        return _Typed(whole.detach().numpy(), KINDS.get(kind))
    made = np.asarray(value)
    return _Typed(made if made.dtype.kind in "iub" else made.astype(np.float32), _kind(made))


def _kind(array: Any) -> DType | None:  # noqa: ANN401
    return KINDS.get(array.dtype.name)


class _Typed(np.ndarray):
    """An array that remembers the element type its caller gave."""

    kind: DType | None

    def __new__(cls, array: Any, kind: DType | None) -> _Typed:  # noqa: ANN401
        result = np.asarray(array).view(cls)
        result.kind = kind
        return result

    def __array_finalize__(self, other: Any) -> None:  # noqa: ANN401
        self.kind = getattr(other, "kind", None)


def _types(
    tile_kernel: TileKernel,
    held: Mapping[str, _Typed],
    types: Types | None,
    without: frozenset[str],
) -> dict[str, str | DType]:
    """Element types: stated, of the arrays, or for outputs that of the first input."""
    stated = tile_kernel.spell(types or {}, without)
    kinds: dict[str, str | DType] = {}
    for t in tile_kernel.signature.tensors:
        if t.name in without:
            continue
        own = held[t.name].kind if t.name in held else None
        found = t.dtype or stated.get(t.name) or own
        if found is not None:
            kinds[t.name] = found
    first = DType(next(iter(kinds.values()), DType.F32))
    for t in tile_kernel.signature.outputs:
        if t.name not in without and t.name not in kinds:
            kinds[t.name] = DType.BF16 if first.bits == 8 else first
    return kinds


def _lengths(
    tile_kernel: TileKernel, held: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, int]:
    lengths = dict(sizes)
    for t in tile_kernel.signature.tensors:
        if t.name not in held:
            continue
        shape = held[t.name].shape
        if len(shape) != len(t.axes):
            axes = ", ".join(a.name for a in t.axes)
            _fail(tile_kernel, f"'{t.name}' has {len(shape)} axes", f"an array [{axes}]")
        for axis, count in zip(t.axes, shape, strict=True):
            if axis.per != 1:
                continue
            length = count - (t.access is Access.STARTS)  # one more than groups
            if lengths.setdefault(axis.name, length) != length:
                _fail(
                    tile_kernel,
                    f"axis '{axis.name}' of '{t.name}' has {length} elements,"
                    f" elsewhere {lengths[axis.name]}",
                    "arrays whose axes of the same name agree",
                )
    return lengths


def _like(inputs: Mapping[str, Any], made: Any) -> Any:  # noqa: ANN401
    """Torch in, torch out."""
    given = next((x for x in inputs.values() if _is_torch(x)), None)
    if given is None:
        return made
    with suppress(ImportError):
        import torch  # noqa: PLC0415 (only where the caller uses it)

        return torch.from_numpy(np.ascontiguousarray(made))
    return made
