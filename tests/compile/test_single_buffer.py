"""Single buffer, general: all loads and stores, separate operands, sub-tiles, bodies of any kind.

The schedules are an author's own, written from the documented interface alone.
"""

from dataclasses import replace
from enum import IntEnum

import pytest

from warploom import (
    ConfigError,
    OpCost,
    OpDesc,
    OpRole,
    PipelineBody,
    PipelineSchedule,
    ProgramError,
    ResourceKind,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    TargetCostModel,
    annotate_ops,
    compile_schedule,
    given,
    mi355x_double_buffer,
    mi355x_single_buffer,
    optimize_within_barriers,
    previous,
    read_schedule,
    simulate,
    single_buffer_reorder,
    verify,
    write_schedule,
)

ROLES = {
    "LOAD": (ResourceKind.GLOBAL_MEM, 200, OpRole.GLOBAL_LOAD),
    "STORE": (ResourceKind.LDS, 20, OpRole.SHARED_STORE),
    "READ": (ResourceKind.LDS, 20, OpRole.FRAGMENT_LOAD),
    "MMA": (ResourceKind.MMA_UNIT, 64, OpRole.COMPUTE),
    "WORK": (ResourceKind.VALU, 40, OpRole.VALU_COMPUTE),
}


def priced(kinds):
    """A cost model of an author's own tags, by what each does."""
    return TargetCostModel({tag: OpCost(*ROLES[kind]) for tag, kind in kinds.items()})


class Gemm(IntEnum):
    LOAD_A = 0
    LOAD_B = 1
    STORE_A = 2
    STORE_B = 3
    READ_A = 4
    READ_B = 5
    MMA = 6


GEMM_COSTS = priced({t: t.name.split("_")[0] for t in Gemm})


class SeparateLoads(PipelineSchedule):
    """A and B each have their own load and store, ``parts`` of them."""

    parts = 1

    def config(self):
        return mi355x_single_buffer()

    def declare_ops(self):
        with PipelineBody() as body:
            for tag, ch in (
                (Gemm.LOAD_A, 0),
                (Gemm.LOAD_B, 1),
                (Gemm.STORE_A, 0),
                (Gemm.STORE_B, 1),
            ):
                body.fan(self.parts, tag, ch=ch)
            body.barrier()
            body.fan(2, Gemm.READ_A, ch=0)
            body.fan(2, Gemm.READ_B, ch=1)
            body.grid(2, 2, Gemm.MMA)
        return body.done()

    def build_body(self):
        ops = annotate_ops(self.declare_ops(), GEMM_COSTS)
        return optimize_within_barriers(single_buffer_reorder(ops, self.config()), self.config())


class SubTiles(SeparateLoads):
    """Loads that differ in sub-tile are different slots."""

    parts = 2


class Attention(IntEnum):
    LOAD_K = 0
    LOAD_V = 1
    STORE_K = 2
    STORE_V = 3
    READ_K = 4
    READ_V = 5
    QK = 6
    MAX = 7
    EXP = 8
    RESCALE = 9
    PV = 10


ATTENTION_COSTS = priced(
    {t: t.name.split("_")[0] for t in Attention if "_" in t.name}
    | {Attention.QK: "MMA", Attention.PV: "MMA"}
    | dict.fromkeys((Attention.MAX, Attention.EXP, Attention.RESCALE), "WORK")
)


class SingleBufferAttention(PipelineSchedule):
    """QK, softmax, PV: every op names what it takes and what it makes."""

    overlapped = True

    def config(self):
        return mi355x_single_buffer()

    def declare_ops(self):
        tags = Attention
        with PipelineBody() as body:
            body.load(tags.LOAD_K, ch=0, makes=["k_in"])
            body.load(tags.LOAD_V, ch=1, makes=["v_in"])
            body.store(tags.STORE_K, ch=0, takes=["k_in"], makes=["k_tile"])
            body.store(tags.STORE_V, ch=1, takes=["v_in"], makes=["v_tile"])
            body.barrier()
            for i in range(2):
                body.frag(tags.READ_K, ch=0, sub=i, takes=["k_tile"], makes=[f"k{i}"])
                body.compute(tags.QK, sub=i, takes=[f"k{i}", given("q")], makes=[f"s{i}"])
            body.vector(tags.MAX, takes=["s0", "s1", previous("top")], makes=["top", "keep"])
            body.vector(
                tags.EXP, takes=["s0", "s1", "top", "keep", previous("sum")], makes=["p", "sum"]
            )
            for j in range(2):
                body.vector(
                    tags.RESCALE, sub=j, takes=[previous(f"o{j}"), "keep"], makes=[f"kept{j}"]
                )
                body.frag(tags.READ_V, ch=1, sub=j, takes=["v_tile"], makes=[f"v{j}"])
                body.compute(tags.PV, sub=j, takes=["p", f"v{j}", f"kept{j}"], makes=[f"o{j}"])
        return body.done()

    def build_body(self):
        ops = annotate_ops(self.declare_ops(), ATTENTION_COSTS)
        if not self.overlapped:
            return [*ops, OpDesc.barrier()]
        return optimize_within_barriers(single_buffer_reorder(ops, self.config()), self.config())


class Sequential(SingleBufferAttention):
    """The same body, one tile after the other."""

    overlapped = False


OWN = (SeparateLoads, SubTiles, SingleBufferAttention, Sequential)


def runs(compiled, name):
    entries = (*compiled.prologue, *compiled.kernel, *compiled.epilogue)
    return sum(e.op.name == name for e in entries)


@pytest.mark.parametrize("schedule", OWN)
@pytest.mark.parametrize("sync", [None, SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST])
def test_a_single_buffer_body_is_proven_for_all_trip_counts(schedule, sync):
    compiled = compile_schedule(schedule(), sync=sync)
    assert compiled.report.verdict == "clean"
    assert compiled.report.trips_proven == "all"
    assert not compiled.report.not_judged
    assert compiled.changes == ()
    assert simulate(compiled).cycles > 0
    document = compiled.document()
    text = write_schedule(document)
    assert read_schedule(text) == document
    assert write_schedule(read_schedule(text)) == text
    assert verify(read_schedule(text)).verdict == "clean"


def test_prologue_and_epilogue_keep_all_loads_and_stores():
    compiled = compile_schedule(SeparateLoads())
    ops = [e.op for e in compiled.prologue]
    assert [op.name for op in ops if op.role is OpRole.GLOBAL_LOAD] == ["LOAD_A", "LOAD_B"] * 2
    assert [op.name for op in ops if op.role is OpRole.SHARED_STORE] == ["STORE_A", "STORE_B"]
    assert [op.name for op in ops if op.role is OpRole.FRAGMENT_LOAD] == ["READ_A", "READ_B"]
    last = [e.op.name for e in compiled.epilogue if e.op.role is OpRole.SHARED_STORE]
    assert last == ["STORE_A", "STORE_B"]


def test_the_reference_keeps_the_first_and_is_found_wrong():
    compiled = compile_schedule(SeparateLoads(), sync=SyncPolicy.REFERENCE, on_race="report")
    assert runs(compiled, "LOAD_B") == 1  # the kernel's own; none in the prologue
    assert compiled.report.verdict != "clean"


def test_loads_run_beside_the_products_of_the_tile_before():
    compiled = compile_schedule(SingleBufferAttention())
    names = [e.op.name for e in compiled.kernel]
    assert compiled.protocol.kernel_k_base == 1
    assert names.index("STORE_K") < names.index("LOAD_K") < names.index("QK")
    assert [e.op.name for e in compiled.prologue][:2] == ["LOAD_K", "LOAD_V"]
    assert "LOAD_K" not in [e.op.name for e in compiled.epilogue]
    assert compile_schedule(Sequential()).protocol.kernel_k_base == 0


def without(document, phase, index):
    entries = getattr(document, phase)
    kept = [e for i, e in enumerate(entries) if i != index]
    return replace(
        document,
        kernel_deps=(),
        **{phase: tuple(replace(e, time_slot=i) for i, e in enumerate(kept))},
    )


@pytest.mark.parametrize("schedule", OWN)
def test_whatever_is_left_out_of_the_loop_is_found(schedule):
    """Every op and every barrier of the kernel is needed."""
    document = compile_schedule(schedule()).document()
    for index, entry in enumerate(document.kernel):
        assert verify(without(document, "kernel", index)).verdict != "clean", entry.op.label()


@pytest.mark.parametrize("schedule", [SingleBufferAttention, SubTiles])
def test_whatever_is_left_out_of_the_ends_is_found(schedule):
    document = compile_schedule(schedule()).document()
    for phase in ("prologue", "epilogue"):
        for index, entry in enumerate(getattr(document, phase)):
            if entry.op.tag < 128:
                found = verify(without(document, phase, index)).verdict
                assert found != "clean", (phase, entry.op.label())


def test_exchanged_ops_are_found():
    """An op that runs in front of what makes its operand finds the tile before."""
    document = compile_schedule(SingleBufferAttention()).document()
    names = [e.op.name for e in document.kernel]
    for first, second in (("MAX", "EXP"), ("QK", "MAX"), ("RESCALE", "PV"), ("READ_V", "PV")):
        i = len(names) - 1 - names[::-1].index(first)
        j = names.index(second, i)
        kernel = list(document.kernel)
        kernel[i], kernel[j] = replace(kernel[j], time_slot=i), replace(kernel[i], time_slot=j)
        changed = replace(document, kernel=tuple(kernel), kernel_deps=())
        assert verify(changed).verdict != "clean", (first, second)


def test_a_slot_that_is_overwritten_too_early_is_found():
    """The two sub-tiles of a channel are different slots, and each is guarded."""
    document = compile_schedule(SubTiles()).document()
    stores = [e.op for e in document.kernel if e.op.role is OpRole.SHARED_STORE]
    assert {(op.channel, op.subtile) for op in stores} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    for store in stores:
        kernel = [e for e in document.kernel if e.op != store]
        moved = next(e for e in document.kernel if e.op == store)
        kernel.insert(0, moved)  # in front of the barrier and of the reads
        entries = tuple(replace(e, time_slot=i) for i, e in enumerate(kernel))
        changed = replace(document, kernel=entries, kernel_deps=())
        assert verify(changed).verdict != "clean", store.label()


def body_of(*ops):
    class Own(PipelineSchedule):
        def config(self):
            return mi355x_single_buffer()

        def build_body(self):
            return annotate_ops(list(ops), GEMM_COSTS)

    return Own()


def op(tag, channel=-1, subtile=0, takes=(), makes=()):
    return OpDesc.logical(tag, channel=channel, subtile=subtile, takes=takes, makes=makes)


LOAD = op(Gemm.LOAD_A, 0, makes=["a"])
STORE = op(Gemm.STORE_A, 0, takes=["a"], makes=["tile"])
READ = op(Gemm.READ_A, 0, takes=["tile"], makes=["f"])
MMA = op(Gemm.MMA, takes=["f", previous("c")], makes=["c"])
BARRIER = OpDesc.barrier()


def test_the_smallest_named_body():
    compiled = compile_schedule(body_of(LOAD, STORE, BARRIER, READ, MMA, BARRIER))
    assert compiled.report.verdict == "clean"


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ((LOAD, STORE, READ, op(Gemm.MMA)), "names no value"),
        ((LOAD, STORE, READ, replace(MMA, makes=("f",))), "as READ_A"),
        ((LOAD, STORE, READ, op(Gemm.MMA, takes=["g"], makes=["c"])), "no op of the body defines"),
        ((LOAD, STORE, READ, op(Gemm.MMA, takes=["a"], makes=["c"])), "is stored and read"),
        ((LOAD, op(Gemm.MMA, takes=["a"], makes=["c"])), "straight from a load"),
        ((LOAD, replace(STORE, channel=1), READ, MMA), "channel"),
        ((LOAD, STORE, READ, MMA, replace(MMA, makes=("d",))), "cannot be told"),
        ((LOAD, STORE, READ, op(Gemm.MMA, takes=["f", given("c")], makes=["c"])), "as given"),
        ((LOAD, STORE, READ, op(Gemm.MMA, takes=["f"], makes=["c d"])), "no name"),
        ((LOAD, op(Gemm.STORE_A, 0, makes=["tile"]), READ, MMA), "takes 0 and defines 1"),
    ],
)
def test_names_that_say_too_little_are_refused(ops, message):
    with pytest.raises(ConfigError, match=message):
        compile_schedule(body_of(*ops))


def test_operands_of_different_tiles_are_refused_with_the_value():
    left = op(Gemm.READ_A, 0, 0, takes=["tile"], makes=["f"])
    late = op(Gemm.READ_A, 0, 1, takes=["tile"], makes=["g"])
    both = op(Gemm.MMA, takes=["f", "g"], makes=["c"])
    with pytest.raises(ConfigError, match="different tiles"):
        compile_schedule(body_of(left, LOAD, BARRIER, STORE, BARRIER, late, both))


class NamedRing(SingleBufferAttention):
    def config(self):
        return mi355x_double_buffer()


class NamedModulo(SingleBufferAttention):
    def schedule_config(self):
        return ScheduleConfig(scheduling=SchedulingStrategy.MODULO)


@pytest.mark.parametrize("schedule", [NamedRing, NamedModulo])
def test_names_are_refused_where_they_would_not_be_read(schedule):
    with pytest.raises(ConfigError, match="not from names"):
        compile_schedule(schedule())


def test_a_store_without_its_load_is_refused():
    ops = [
        OpDesc.logical(Gemm.LOAD_A, channel=0),
        OpDesc.logical(Gemm.STORE_A, channel=0),
        OpDesc.logical(Gemm.STORE_A, channel=0, subtile=1),
        OpDesc.logical(Gemm.READ_A, channel=0),
        OpDesc.logical(Gemm.MMA),
    ]
    with pytest.raises((ConfigError, ProgramError), match="load_0_1"):
        compile_schedule(body_of(*ops))


class Unnamed(IntEnum):
    LOAD = 0
    STORE = 1
    READ = 2
    QK = 3
    SOFTMAX = 4
    PV = 5


class AttentionByRoles(PipelineSchedule):
    """Attention as roles and channels alone say it, with or without its softmax."""

    def __init__(self, *, softmax, reordered):
        self.softmax, self.reordered = softmax, reordered

    def config(self):
        return mi355x_single_buffer()

    def build_body(self):
        roles = {
            Unnamed.LOAD: (ResourceKind.GLOBAL_MEM, OpRole.GLOBAL_LOAD),
            Unnamed.STORE: (ResourceKind.LDS, OpRole.SHARED_STORE),
            Unnamed.READ: (ResourceKind.LDS, OpRole.FRAGMENT_LOAD),
            Unnamed.QK: (ResourceKind.MMA_UNIT, OpRole.COMPUTE),
            Unnamed.SOFTMAX: (ResourceKind.VALU, OpRole.VALU_COMPUTE),
            Unnamed.PV: (ResourceKind.MMA_UNIT, OpRole.COMPUTE),
        }
        costs = TargetCostModel({t: OpCost(unit, 20, role) for t, (unit, role) in roles.items()})
        body = PipelineBody()
        for ch in (0, 1):
            body.load(Unnamed.LOAD, ch=ch)
        for ch in (0, 1):
            body.store(Unnamed.STORE, ch=ch)
        body.frag(Unnamed.READ, ch=0)
        body.compute(Unnamed.QK)
        if self.softmax:
            body.vector(Unnamed.SOFTMAX)
        body.frag(Unnamed.READ, ch=1)
        body.compute(Unnamed.PV)
        ops = annotate_ops(body.done(), costs)
        return single_buffer_reorder(ops, self.config()) if self.reordered else ops


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("reordered", [False, True])
def test_a_body_that_is_no_product_is_reported_to_name_its_values(softmax, reordered):
    with pytest.raises((ConfigError, ProgramError)) as caught:
        compile_schedule(AttentionByRoles(softmax=softmax, reordered=reordered))
    assert "no matrix product" in str(caught.value)
    assert "takes" in caught.value.fix
