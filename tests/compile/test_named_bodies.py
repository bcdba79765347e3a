"""Random single-buffer bodies that name their values: what is compiled computes the recurrence.

An interpreter of its own runs the phases in order, with values as nested tuples: it knows homes
(LDS slots, fragment registers, a register a value) and nothing of lags, flows or the verifier.
"""

import random
from dataclasses import replace

import pytest

from tests.compile.test_single_buffer import (
    ATTENTION_COSTS,
    GEMM_COSTS,
    Gemm,
    SingleBufferAttention,
)
from warploom import (
    ConfigError,
    OpDesc,
    OpRole,
    PipelineBody,
    PipelineSchedule,
    SyncPolicy,
    VerificationError,
    annotate_ops,
    compile_schedule,
    mi355x_single_buffer,
    previous,
    verify,
)
from warploom.ir.counter_dialect import BarrierKind, Protocol, RegisterWaits


class Ordered(PipelineSchedule):
    """A body in a given order, all ops apart by barriers."""

    def __init__(self, ops):
        self.ops = ops

    def config(self):
        return mi355x_single_buffer()

    def build_body(self):
        return [op for one in self.ops for op in (one, OpDesc.barrier())]


def home(op, name):
    """Where an op's value is written: each LDS slot and fragment register holds one."""
    if op.role is OpRole.SHARED_STORE:
        return "lds", op.channel, op.subtile
    if op.role is OpRole.FRAGMENT_LOAD:
        return "fragment", op.channel, op.subtile
    return "register", name


def interpreted(compiled, trips):
    """All homes after a run in order; loads bring the next tile."""
    makers = {name: op for op in compiled.body for name in op.makes}
    held, loaded = {}, {}
    entries = (*compiled.prologue, *(compiled.kernel * trips), *compiled.epilogue)
    for entry in entries:
        op = entry.op
        if op.tag > 127:
            continue
        if op.role is OpRole.GLOBAL_LOAD:
            loaded[op.makes[0]] = loaded.get(op.makes[0], -1) + 1
            held[home(op, op.makes[0])] = (op.makes[0], loaded[op.makes[0]])
            continue
        taken = tuple(
            held.get(home(makers[t.value], t.value), t.before) if t.value in makers else t.value
            for t in op.takes
        )
        for name in op.makes:
            held[home(op, name)] = (name, taken)
    return held


def expected(ops, tiles):
    """The values of the last tile, by the declaration alone."""
    declared = {name: op for op in ops for name in op.makes}
    made = {}

    def value(name, tile):
        if (name, tile) not in made:
            op = declared[name]
            if op.role is OpRole.GLOBAL_LOAD:
                made[name, tile] = (name, tile)
            else:
                taken = tuple(operand(t, tile) for t in op.takes)
                made[name, tile] = (name, taken)
        return made[name, tile]

    def operand(taken, tile):
        if taken.value not in declared:
            return taken.value
        if tile - taken.back < 0:
            return taken.before
        return value(taken.value, tile - taken.back)

    return {name: value(name, tiles - 1) for name in declared}


def bodies():
    attention = annotate_ops(SingleBufferAttention().declare_ops(), ATTENTION_COSTS)
    with PipelineBody() as body:
        for c, (load, store, read) in enumerate(
            ((Gemm.LOAD_A, Gemm.STORE_A, Gemm.READ_A), (Gemm.LOAD_B, Gemm.STORE_B, Gemm.READ_B))
        ):
            body.load(load, ch=c, makes=[f"in{c}"])
            body.store(store, ch=c, takes=[f"in{c}"], makes=[f"tile{c}"])
            body.frag(read, ch=c, takes=[f"tile{c}"], makes=[f"f{c}"])
        body.compute(Gemm.MMA, takes=["f0", "f1", previous("sum")], makes=["sum"])
    product = annotate_ops(body.done(), GEMM_COSTS)
    return {"attention": attention, "product": product}


def some_order(ops, rng):
    """Ops moved about: by a few places each, so that many orders still make sense."""
    data = [op for op in ops if op.tag < 128]
    turned = rng.randrange(len(data))
    data = data[turned:] + data[:turned]
    for _ in range(rng.randrange(4)):
        i, j = rng.randrange(len(data)), rng.randrange(len(data))
        data.insert(j, data.pop(i))
    return data


@pytest.mark.parametrize("kind", ["attention", "product"])
def test_every_order_is_refused_or_computes_what_was_declared(kind):
    rng, ops = random.Random(7), bodies()[kind]
    kept = lagging = 0
    for _ in range(60):
        order = some_order(ops, rng)
        try:
            compiled = compile_schedule(Ordered(order))
        except (ConfigError, VerificationError):
            continue
        kept += 1
        lagging += compiled.protocol.kernel_k_base > 1
        carried = {t.value for op in order for t in op.takes if t.back}
        for trips in (1, 2, 4):
            tiles = compiled.protocol.kernel_k_base + trips
            held, wanted = interpreted(compiled, trips), expected(order, tiles)
            for name in carried:
                assert held["register", name] == wanted[name], (trips, name)
    assert kept >= 10
    assert lagging >= 2


class Explicit(PipelineSchedule):
    """Vector work takes a fragment, and the schedule itself waits for registers."""

    def config(self):
        return replace(mi355x_single_buffer(), lgkm_per_load_a=2, lgkm_per_load_b=2)

    def build_body(self):
        tags = {int(op.tag): op for op in bodies()["attention"]}
        load, store, read, work = (tags[n] for n in (0, 2, 4, 8))
        return [
            OpDesc.barrier(),
            replace(store, takes=load_takes("x"), makes=("tile",)),
            OpDesc.barrier(),
            replace(load, makes=("x",)),
            replace(read, takes=load_takes("tile"), makes=("f",)),
            replace(work, takes=(*load_takes("f"), previous("sum")), makes=("sum",)),
        ]

    def protocol(self, stagger_index):
        return Protocol(
            k_tiles_per_iteration=1,
            kernel_k_base=2,
            barrier=BarrierKind.EXECUTION,
            register_waits=RegisterWaits.EXPLICIT,
        )


def load_takes(name):
    return OpDesc.logical(0, takes=[name]).takes


def test_vector_work_waits_for_the_fragments_it_takes():
    compiled = compile_schedule(Explicit(), sync=SyncPolicy.PROVEN_WEAKEST)
    assert compiled.report.verdict == "clean"
    document = compiled.document()
    names = [e.op.name for e in document.kernel]
    waits = [i for i, n in enumerate(names) if n == "WAIT_LGKM" and i > names.index("READ_K")]
    assert waits
    for i in waits:
        kernel = (*document.kernel[:i], *document.kernel[i + 1 :])
        slots = tuple(replace(e, time_slot=n) for n, e in enumerate(kernel))
        assert verify(replace(document, kernel=slots, kernel_deps=())).verdict != "clean"
    with pytest.raises(VerificationError):
        compile_schedule(Explicit(), sync=SyncPolicy.REFERENCE)
