"""A compiled kernel as what a launch needs: parameters, grid, and memory to work in."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from warploom.codegen.cuda.tile.signature import MapParam, PointerParam, WorkParam
from warploom.codegen.cuda.tile.source import Source
from warploom.compiler.binary import Binary, LaunchFacts
from warploom.compiler.compiled import Built, Compiled
from warploom.ir.tile import Kernel, Load, Store, Tensor, results, walk
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.tile_order import tile_terms, visit_list
from warploom.targets.h200 import HopperTarget

MATRIX = 2


def binary_of(
    made: Compiled, tensors: tuple[Tensor, ...] | None = None, built: Built | None = None
) -> Binary:
    """A compiled kernel as what a launch needs.

    ``tensors``: in the order of the call. ``built``: another build of it than its own choice.
    """
    built = built or made.built
    kernel = made.launched(built)
    return described(
        kernel, built.source, built.config, built.cubin.data, tensors, target=made.target
    )


def described(
    kernel: Kernel,
    source: Source,
    config: KernelConfig,
    cubin: bytes,
    tensors: tuple[Tensor, ...] | None = None,
    *,
    target: HopperTarget | None = None,
) -> Binary:
    """An emitted kernel as what a launch needs."""
    facts = launch_facts(kernel, source, config)
    visits = partial(visit_list, kernel, config, target=target)
    return facts.binary(cubin, tensors or kernel.tensors, visits)


def facts_of(made: Compiled, built: Built | None = None) -> LaunchFacts:
    """What a launch has to know of a compiled kernel."""
    built = built or made.built
    facts = launch_facts(made.launched(built), built.source, built.config)
    return replace(facts, moved=tuple(sorted(moved(built.source, made.kernel))))


def launch_facts(kernel: Kernel, source: Source, config: KernelConfig) -> LaunchFacts:
    """What a launch has to know of an emitted kernel, as data."""
    meets = any(isinstance(p, WorkParam) for p in source.params)
    return LaunchFacts(
        entry=source.entry,
        threads=source.threads,
        shared_bytes=source.shared_bytes,
        parameters=source.params,
        scalars=kernel.parameters,
        axes=tuple((t.name, tuple(a.name for a in t.axes)) for t in kernel.tensors),
        aligned=tuple(sorted(_aligned(kernel, source))),
        moved=tuple(sorted(moved(source, kernel))),
        in_place=() if source.passes else tuple(sorted(_in_place(kernel))),
        tiles=tile_terms(kernel, config),
        split=config.split_k,
        near=config.split_k_in_cluster,
        cluster=config.cluster,
        consumers=config.consumer_warpgroups,
        resident=config.ctas_per_sm,
        work_bytes=source.work_bytes if meets else None,
        config=config.name,
    )


def _aligned(kernel: Kernel, source: Source) -> frozenset[str]:
    """Tensors of several axes that are moved by address; loops read single elements so."""
    if source.any_alignment:
        return frozenset()
    wide = {t.name for t in kernel.tensors if len(t.axes) > 1} - _by_element(kernel)
    pointers = [p for p in source.params if isinstance(p, PointerParam)]
    return frozenset(p.tensor for p in pointers if p.written or not kernel.loops) & wide


def _in_place(kernel: Kernel) -> frozenset[tuple[str, str]]:
    """Outputs and inputs of which a tile reads, once and before it writes, what it writes."""
    outside = [op for op in kernel.ops if isinstance(op, Load | Store)]
    stores = [op for op in outside if isinstance(op, Store) and not op.add]
    loads = [op for op in walk(kernel.ops) if isinstance(op, Load)]
    found = set()
    for store in stores:
        for name in {op.tensor for op in loads}:
            mine = [op for op in loads if op.tensor == name]
            if all(op in outside and op.at == store.at for op in mine):
                found.add((store.tensor, name))
    several = {op.tensor for op in walk(kernel.ops) if isinstance(op, Store)} - {
        s.tensor for s in stores
    }
    return frozenset(pair for pair in found if pair[0] not in several)


def _by_element(kernel: Kernel) -> frozenset[str]:
    """Outputs that are vectors of a tile: kernels with a loop write them element by element."""
    if not kernel.loops:
        return frozenset()
    ops = tuple(walk(kernel.ops))
    ranks = {value.name: len(value.dims) for op in ops for value in results(op)}
    ranks |= {c.result.name: len(c.result.dims) for x in kernel.loops for c in x.carried}
    stores = [op for op in ops if isinstance(op, Store)]
    tiles = {op.tensor for op in stores if ranks.get(op.value, MATRIX) >= MATRIX}
    return frozenset(op.tensor for op in stores) - tiles


def moved(source: Source, kernel: Kernel) -> frozenset[str]:
    """Tensors that are moved 16 bytes at a time, and have to lie so."""
    if source.any_alignment:
        return frozenset()
    wide = {t.name for t in kernel.tensors if len(t.axes) > 1} - _by_element(kernel)
    maps = {p.tensor for p in source.params if isinstance(p, MapParam)}
    stored = {p.tensor for p in source.params if isinstance(p, PointerParam) and p.written}
    return frozenset(maps | (stored & wide))
