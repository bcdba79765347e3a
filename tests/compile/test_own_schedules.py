"""Schedules of an author's own, from the documented interface alone: rings, hooks, targets, fp8."""

from dataclasses import replace
from enum import IntEnum
from functools import partial

import pytest

from warploom import (
    BarrierStrategy,
    DeclarativeSchedule,
    GeometryError,
    KernelGeometry,
    KOffsetKind,
    OpCost,
    OpDesc,
    OpRole,
    Phase,
    Pipeline4Wave,
    PipelineBody,
    PipelineSchedule,
    ProgramError,
    ResourceKind,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    TargetCostModel,
    TargetProfile,
    WarpStaggerRule,
    annotate_ops,
    compile_schedule,
    derive_edges_from_ops,
    double_buffer_reorder,
    emit_minimal_barrier_block,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
    partition_edges,
    partition_reorder,
    simulate,
    verify,
)
from warploom.pipeline.schedules.shipped import shipped, single_buffer


class Ops(IntEnum):
    LOAD_A = 0
    LOAD_B = 1
    FRAG_A = 2
    FRAG_B = 3
    MMA = 4


COSTS = TargetCostModel(
    {
        Ops.LOAD_A: OpCost(ResourceKind.GLOBAL_MEM, 300, OpRole.GLOBAL_LOAD),
        Ops.LOAD_B: OpCost(ResourceKind.GLOBAL_MEM, 300, OpRole.GLOBAL_LOAD),
        Ops.FRAG_A: OpCost(ResourceKind.LDS, 30, OpRole.FRAGMENT_LOAD, vgpr_def=8),
        Ops.FRAG_B: OpCost(ResourceKind.LDS, 30, OpRole.FRAGMENT_LOAD, vgpr_def=8),
        Ops.MMA: OpCost(ResourceKind.MMA_UNIT, 40, OpRole.COMPUTE),
    }
)
STAGES = 3


class Ring(PipelineSchedule):
    """Three buffers, three K-partitions: p computes stage p and fills the stage before it."""

    def __init__(self, strategy=SchedulingStrategy.CSP):
        self.strategy = strategy

    def config(self):
        ring = mi355x_double_buffer(2, 2, 2, depth=STAGES)
        return replace(
            ring, warp_stagger=WarpStaggerRule.none(), lgkm_per_load_a=4, lgkm_per_load_b=4
        )

    def declare_ops(self):
        with PipelineBody() as body:
            for p in range(STAGES):
                free, k = (p - 1) % STAGES, KOffsetKind.ahead(p - 1)
                body.fan(2, Ops.FRAG_A, ch=0, stage=p)
                body.fan(2, Ops.FRAG_B, ch=1, stage=p)
                body.fan(2, Ops.LOAD_A, ch=0, stage=free, k=k)
                body.fan(2, Ops.LOAD_B, ch=1, stage=free, k=k)
                body.grid(2, 2, Ops.MMA)
        return body.done()

    def build_body(self):
        return partition_reorder(annotate_ops(self.declare_ops(), COSTS), self.config(), STAGES)

    def derive_edges(self, body):
        return partition_edges(body, self.config())

    def schedule_config(self):
        return ScheduleConfig(scheduling=self.strategy)


RULED = (SchedulingStrategy.IDENTITY, SchedulingStrategy.GREEDY, SchedulingStrategy.CSP)


@pytest.mark.parametrize("strategy", [*RULED, SchedulingStrategy.MODULO])
def test_a_ring_of_three_stages_under_every_strategy(strategy):
    compiled = compile_schedule(Ring(strategy), sync=SyncPolicy.PROVEN_WEAKEST)
    assert compiled.report.verdict == "clean"
    assert compiled.report.trips_proven == "all"
    ops = [e.op for e in compiled.kernel if e.op.tag < 128]
    assert len(ops) % (STAGES * 12) == 0


def test_halves_are_refused_for_three_stages_with_what_to_use():
    ring = Ring()
    priced = annotate_ops(ring.declare_ops(), COSTS)
    with pytest.raises(ProgramError) as caught:
        double_buffer_reorder(priced, ring.config())
    assert caught.value.fix == "partition_reorder(ops, config, 3)"
    assert sorted(map(str, partition_reorder(priced, ring.config(), STAGES))) == sorted(
        map(str, priced)
    )


def test_offsets_of_a_ring_have_names():
    names = [KOffsetKind.ahead(n) for n in range(-1, 8)]
    assert names[:4] == [KOffsetKind.K_PREV, KOffsetKind.K0, KOffsetKind.K1, KOffsetKind.K_NEXT]
    assert [k.signed_bk_multiple() for k in names] == list(range(-1, 8))


@pytest.mark.slow
def test_auto_orders_a_ring_of_three_stages_and_is_heard():
    heard = []

    def observer(step, value):
        if step == "search":
            heard.append((value.evaluations, value.best))

    compiled = compile_schedule(Ring(SchedulingStrategy.AUTO), observer=observer)
    assert compiled.report.verdict == "clean"
    counts = [n for n, _ in heard]
    assert counts == sorted(counts)
    assert len(heard) >= 3
    assert counts[-1] <= 40  # a fixed number of evaluations bounds the search
    assert heard[-1][1] <= heard[len(heard) // 2][1]
    again = compile_schedule(Ring(SchedulingStrategy.AUTO))
    assert again.kernel == compiled.kernel


class EveryHook(DeclarativeSchedule):
    """All hooks of a double buffer; each notes that it was called."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.called = []

    def config(self):
        config = super().config()
        return replace(config, warp_stagger=WarpStaggerRule.none())

    def build_body(self):
        self.called.append("build_body")
        return super().build_body()

    def derive_edges(self, body):
        self.called.append("derive_edges")
        return derive_edges_from_ops(body, self.config())

    def schedule_config(self):
        minimal = BarrierStrategy.minimal_no_set_prio(wrap_waits=True)
        return ScheduleConfig.from_strategies(
            scheduling=SchedulingStrategy.CSP,
            partial_prologue_drain=True,
            lgkm_per_load_a=self.lgkm_a,
            lgkm_per_load_b=self.lgkm_b,
            **minimal,
        )

    def build_explicit_blocks(self, body, program):
        self.called.append("build_explicit_blocks")
        assert len(program.blocks) == self.config().total_blocks()
        blocks = [emit_minimal_barrier_block(b, wrap_waits=True) for b in program.blocks]
        blocks[-1] = []  # the template's own
        return blocks

    def bootstrap_frags(self):
        self.called.append("bootstrap_frags")
        first = next(op for op in self.build_body() if op.role is OpRole.FRAGMENT_LOAD)
        return [replace(first, stage=0, subtile=0)]

    def sync_policy(self):
        return SyncPolicy.PROVEN_FEWEST


@pytest.mark.parametrize("tile", [(128, 256, 64), (256, 256, 64)])
def test_all_hooks_are_called_and_the_result_is_proven(tile):
    geometry = KernelGeometry.ping_pong(tile)
    schedule = EveryHook(geometry=geometry)
    compiled = compile_schedule(schedule)
    assert set(schedule.called) >= {
        "build_body",
        "derive_edges",
        "build_explicit_blocks",
        "bootstrap_frags",
    }
    assert compiled.report.verdict == "clean"
    assert compiled.shape == geometry.shape
    assert compiled.shape.tile == tile
    assert compiled.prologue[-1].op.role is OpRole.FRAGMENT_LOAD
    assert any("WAIT" in e.op.name for e in compiled.kernel)


def test_an_own_target_and_own_costs():
    """Eight waves on a machine with slow memory: the order follows the costs."""
    slow = mi355x_cost_model()
    for tag in (0, 1):
        slow.set_cost(tag, OpCost(ResourceKind.GLOBAL_MEM, 2000, OpRole.GLOBAL_LOAD))
    target = TargetProfile(slow, mi355x_target(2, 2, 1).pipeline, name="slow")
    compiled = compile_schedule(DeclarativeSchedule(target=target, lgkm_a=8, lgkm_b=4))
    assert compiled.target == "slow"
    assert compiled.report.verdict == "clean"
    usual = compile_schedule(DeclarativeSchedule(target=mi355x_target(2, 2, 1), lgkm_a=8, lgkm_b=4))
    assert compiled.order.makespan > usual.order.makespan
    assert simulate(compiled).cycles > 0


@pytest.mark.parametrize("tile", [(128, 128, 128), (128, 256, 128), (192, 128, 128), (64, 64, 256)])
@pytest.mark.parametrize("mma", [(16, 16, 128), (32, 32, 64)])
def test_fp8_with_another_geometry(tile, mma):
    if tile[0] // 2 % (2 * mma[0]) or tile[1] // 2 % (2 * mma[1]):
        pytest.skip("a quadrant of a wave is no whole number of matrix instructions")
    geometry = KernelGeometry.four_wave(tile, mma=mma, elem_bytes=1, is_fp8=True)
    compiled = compile_schedule(Pipeline4Wave(geometry))
    assert compiled.report.verdict == "clean"
    units = compiled.document().counters
    assert units.lgkm_per_load == (geometry.lgkm_per_load_a, geometry.lgkm_per_load_b)
    broken = compiled.document()
    waits = [i for i, e in enumerate(broken.kernel) if e.op.name == "WAIT_LGKM"]
    kernel = tuple(
        replace(e, op=OpDesc.wait_lgkm(15)) if i == waits[0] else e
        for i, e in enumerate(broken.kernel)
    )
    assert all(e.phase is Phase.KERNEL for e in kernel)
    assert verify(replace(broken, kernel=kernel)).verdict != "clean"


@pytest.mark.parametrize(
    ("make", "element", "size"),
    [
        (KernelGeometry.four_wave, "fp16", 2),
        (KernelGeometry.ping_pong, "bf16", 2),
        (KernelGeometry.four_wave, "fp8", 1),
    ],
)
def test_documents_say_of_which_type_the_elements_are(make, element, size):
    mma = (16, 16, 32 if size == 2 else 128)
    kind = {"elem_bytes": size, "is_fp8": size == 1}
    geometry = make((128, 128, 128), mma, **kind, element=element)
    own = Pipeline4Wave if make == KernelGeometry.four_wave else DeclarativeSchedule
    shape = compile_schedule(own(geometry=geometry)).document().shape
    assert (shape.tile, shape.mma, shape.dtype) == ((128, 128, 128), mma, element)
    assert replace(geometry, element="") == make((128, 128, 128), mma, **kind)
    for wrong in ("fp8", "bf16", "f32"):
        if wrong == element or (size == 2 and wrong == "bf16"):
            continue
        with pytest.raises(GeometryError, match=wrong):
            make((128, 128, 128), mma, **kind, element=wrong)


@pytest.mark.parametrize(
    ("tile", "mma", "message"),
    [
        ((96, 128, 64), (32, 32, 16), "BM = 96"),
        ((128, 16, 64), None, "BN = 16"),
        ((128, 128, 40), None, "BK = 40"),
        ((0, 128, 64), None, "BM = 0"),
    ],
)
def test_a_single_buffer_is_of_whole_matrix_instructions(tile, mma, message):
    with pytest.raises(GeometryError, match=message):
        single_buffer(tile, "bf16", mma)


def test_an_unknown_element_type_is_named():
    for make in (
        lambda: single_buffer((128, 128, 64), "f64"),
        lambda: shipped("pingpong", (256, 256, 64), "int8"),
    ):
        with pytest.raises(GeometryError, match="no element type"):
            make()


@pytest.mark.parametrize("name", ["pingpong", "fourwave", "single_buffer"])
def test_a_matrix_instruction_that_the_chip_has_not_is_refused(name):
    make = single_buffer if name == "single_buffer" else partial(shipped, name)
    with pytest.raises(GeometryError, match="no fp8 matrix instruction of shape 16x16x32") as found:
        make((128, 128, 128), "fp8", mma=(16, 16, 32))
    assert "16x16x128" in found.value.fix
