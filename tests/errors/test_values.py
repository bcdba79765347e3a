"""Every public constructor and function judges its values: a typed error that names the field."""

from dataclasses import fields, is_dataclass
from enum import Enum
from random import Random

import pytest

import warploom as w
from warploom.ir import Counters, Protocol

STRATEGY = w.SchedulingStrategy
LOAD = w.OpDesc.op(0, w.ResourceKind.GLOBAL_MEM, 200, w.OpRole.GLOBAL_LOAD, channel=0)
MMA = w.OpDesc.op(5, w.ResourceKind.MMA_UNIT, 16, w.OpRole.COMPUTE)
COST = w.OpCost(w.ResourceKind.LDS, 20, w.OpRole.FRAGMENT_LOAD)
GEOMETRY = w.KernelGeometry.four_wave((128, 128, 64))
HINTS = w.AMDScheduleHints(4, 4, 2, 16, 16, 2, 2)
BLOCK = w.MMABlockSpec(mma=MMA)
PINGPONG = w.DeclarativeSchedule(lgkm_a=8, lgkm_b=4)
GRAPH = w.LoopBody.of([LOAD, MMA])


def record(value):
    """A constructor with the values of a sound record."""
    names = [f.name for f in fields(value) if f.init]
    return type(value), {name: getattr(value, name) for name in names}


RECORDS = (
    w.ScheduleConfig(),
    w.mi355x_double_buffer(),
    w.BlockSizing.default_2x2(),
    w.LoopCarriedSpec.none(),
    w.FragOrder.b_first(),
    w.WarpStaggerRule.fixed(3),
    w.BarrierStrategy.default(),
    w.WaitStrategy.default(),
    w.LoadStrategy.default(),
    w.OpCost(w.ResourceKind.LDS, 20, w.OpRole.FRAGMENT_LOAD, 8, 0),
    w.mi355x_target(),
    GEOMETRY,
    HINTS,
    LOAD,
    w.DepEdge.flow(0, 1),
    w.ScheduleEntry(op=LOAD, time_slot=0, phase=w.Phase.KERNEL),
    w.EdgeRule(),
    w.OpNode(LOAD, 5),
    BLOCK,
    w.PipelineProgram.of([BLOCK]),
    w.Pipe((LOAD,)),
    GEOMETRY.shape,
    Counters(vm_per_load=(4, 4), lgkm_per_load=(8, 8)),
    Protocol(stagger_index=1),
)

FUNCTIONS = {
    w.ScheduleConfig.from_strategies: record(w.ScheduleConfig())[1],
    w.KernelGeometry.four_wave: {
        "tile": (128, 128, 64),
        "mma": (16, 16, 32),
        "elem_bytes": 2,
        "is_fp8": False,
    },
    w.KernelGeometry.ping_pong: {"tile": (256, 256, 64), "elem_bytes": 2, "is_fp8": False},
    w.mi355x_target: {"vm_per_load_a": 4, "vm_per_load_b": 4, "max_globals": 1, "depth": 2},
    w.mi355x_double_buffer: {"vm_per_load_a": 4, "vm_per_load_b": 4, "max_globals": 1},
    w.TargetCostModel: {"costs": {3: COST}},
    w.TargetCostModel().with_cost: {"tag": 3, "cost": COST},
    w.TargetCostModel().set_cost: {"tag": 3, "cost": COST},
    w.annotate_ops: {"ops": [LOAD], "model": w.mi355x_cost_model()},
    w.derive_edges_from_ops: {"body": [LOAD, MMA], "config": w.mi355x_double_buffer()},
    w.derive_cross_stage_rotation_edges: {"body": [LOAD, MMA]},
    w.filter_spurious_cross_stage_flow: {"edges": [w.DepEdge.flow(0, 1)], "body": [LOAD, MMA]},
    w.double_buffer_reorder: {"ops": [LOAD, MMA] * 2, "config": w.mi355x_double_buffer()},
    w.derive_wait_counts: {"program": [BLOCK] * 8, "config": w.mi355x_double_buffer()},
    w.derive_safe_max_globals: {"num_k_mmas": 2},
    w.emit_minimal_barrier_block: {"block": BLOCK, "wrap_waits": True, "global_before_frag": False},
    w.optimal_schedule: {"body": GRAPH, "max_vgpr": 10, "work_limit": 10},
    w.optimal_schedule_with_halves: {
        "body": GRAPH,
        "max_globals_per_block": 1,
        "lds_contention_penalty": 0,
        "max_vgpr": 100,
    },
    w.LoopBody.of: {"ops": [LOAD, MMA], "edges": [w.DepEdge.flow(0, 1)]},
    w.PipelineBody().load: {"tag": 1, "ch": 0, "stage": 0, "sub": 0, "k": w.KOffsetKind.K0},
    w.PipelineBody().fan: {"n": 2, "tag": 1, "ch": 0, "stage": 0, "k": w.KOffsetKind.K0},
    w.PipelineBody().grid: {"m": 2, "n": 2, "tag": 1, "ch": 0},
    w.PipelineBody().extend: {"other": w.PipelineBody()},
    w.DeclarativeSchedule: {
        "is_fp8": False,
        "lgkm_a": 8,
        "lgkm_b": 4,
        "config": w.ScheduleConfig(),
        "target": w.mi355x_target(),
    },
    w.Pipeline4Wave: {
        "geometry": GEOMETRY,
        "config": w.Pipeline4Wave._default_schedule_config(),
        "target": w.mi355x_target(2, 2),
    },
    w.SingleBufferSchedule: {
        "num_k_tiles": 2,
        "hints": HINTS,
        "target": w.mi355x_single_buffer_target(),
    },
    w.build_schedule: {"is_fp8": False, "lgkm_a": 8, "lgkm_b": 4, "on_race": "raise"},
    w.build_fourwave_schedule: {"geometry": GEOMETRY, "on_race": "raise"},
    w.compile_schedule: {
        "schedule": PINGPONG,
        "sync": w.SyncPolicy.REFERENCE,
        "on_race": "raise",
        "strengthen": False,
        "insist_on_registers": False,
    },
}

# Fields that may be None, and those any value of their type is good for.
OPTIONAL = {
    "machine",
    "costs",
    "config",
    "target",
    "max_vgpr",
    "work_limit",
    "sync",
    "stagger_index",
}
ANY = {"producer_half", "lc_producer", "lc_consumer", "producer_ordinal", "consumer_ordinal"}
ANY_SIGN = {"producer_idx", "consumer_idx", "loop_distance", "latency", "ch", "channel"}


class Stranger:
    """No value of ours."""

    def __repr__(self):
        raise ValueError("cannot even be shown")


class Other(Enum):
    CSP = 2


def wrong_values(name, sound):
    """Values of the wrong type or range for a field whose sound value is known."""
    pool = [Stranger(), object(), 1j, lambda: None, Other.CSP, {"a": 1}, {1, 2}]
    if name not in OPTIONAL:
        pool.append(None)
    match sound:
        case bool():
            return [*pool, 1, 0, "no", "True", 2.5, []]
        case Enum():
            return [*pool, sound.name, sound.name.lower(), sound.value, 77, 2.5, []]
        case int():
            below = [] if name in ANY_SIGN else [-77] if name in ANY else [-1, -77]
            return [*pool, *below, "3", 2.5, float("nan"), True, [1], "csp"]
        case str():
            words = ["ignore", "Raise", "", "rais"] if name == "on_race" else []
            return [*pool, *words, 3, 2.5, [], True]
        case list() | tuple():
            short = [] if name == "tail_barriers" else [[3]]
            words = [] if name == "makes" else [["x"]]
            return [*pool, *short, *words, 3, "abc", [None], (1, 2.5, 3), True]
        case dict():
            return [Stranger(), 3, "abc", {200: COST}, {-1: COST}, {"x": COST}, {1: 2}, [COST]]
        case _:
            return [*pool, 3, "abc", [], True, 2.5]


CASES = [(*record(r),) for r in RECORDS] + list(FUNCTIONS.items())


def test_the_sound_values_are_accepted():
    for call, sound in CASES:
        call(**sound)


def test_a_thousand_wrong_values_name_their_field():
    rng = Random(14)
    tried = 0
    while tried < 1000:
        call, sound = rng.choice(CASES)
        name = rng.choice(sorted(set(sound) - {"stated"}))
        wrong = rng.choice(wrong_values(name, sound[name]))
        tried += 1
        with pytest.raises(w.WarploomError) as caught:
            call(**{**sound, name: wrong})
        said = str(caught.value)
        assert name in said, f"{call}: {name} = {type(wrong)}: {said}"


def test_every_field_of_every_record_is_checked():
    for call, sound in CASES:
        if not is_dataclass(call):
            continue
        for name in set(sound) - {"stated"}:
            for wrong in wrong_values(name, sound[name]):
                with pytest.raises(w.WarploomError, match=name):
                    call(**{**sound, name: wrong})


@pytest.mark.parametrize("name", ["csp", "CSP", 2])
def test_names_and_numbers_of_members_are_refused_with_the_member(name):
    with pytest.raises(w.ConfigError, match=r"SchedulingStrategy\.CSP"):
        w.ScheduleConfig(scheduling=name)
    with pytest.raises(w.ConfigError, match=r"SyncPolicy\.REFERENCE"):
        w.compile_schedule(PINGPONG, sync="reference")


@pytest.mark.parametrize("depth", [9, 10**6, 2.5, -1])
def test_depths_no_ring_has(depth):
    with pytest.raises(w.ConfigError, match="depth"):
        w.mi355x_double_buffer(depth=depth)


@pytest.mark.parametrize("amount", [-3, 999])
def test_a_stagger_outside_the_prologue(amount):
    from dataclasses import replace

    with pytest.raises(w.ConfigError, match="fixed_amount"):
        w.compile_schedule(
            w.DeclarativeSchedule(
                w.ScheduleConfig(),
                replace(w.mi355x_double_buffer(), warp_stagger=w.WarpStaggerRule.fixed(amount)),
                w.mi355x_cost_model(),
            )
        )


@pytest.mark.parametrize(
    "hook",
    [
        "config",
        "build_body",
        "derive_edges",
        "schedule_config",
        "build_explicit_blocks",
        "bootstrap_frags",
        "sync_policy",
        "protocol",
    ],
)
@pytest.mark.parametrize("value", [None, 3, [3], "text"])
def test_what_a_hook_returns_is_checked(hook, value):
    schedule = type("Odd", (w.DeclarativeSchedule,), {hook: lambda self, *_: value})()
    with pytest.raises(w.ConfigError, match=hook):
        w.compile_schedule(schedule)


def test_transform_kernel_is_checked():
    class Odd(w.SingleBufferSchedule):
        def transform_kernel(self, ker, body):
            return None

    with pytest.raises(w.ConfigError, match="transform_kernel"):
        w.compile_schedule(Odd(2, HINTS))


def test_positional_numbers_do_not_become_flags():
    with pytest.raises(w.ConfigError, match="is_fp8 = 8"):
        w.DeclarativeSchedule(8, 4)


@pytest.mark.parametrize("size", [(999, 1, 1), (128, 128, 48), (4096, 4096, 64)])
def test_a_geometry_no_kernel_has(size):
    values = record(GEOMETRY)[1] | dict(zip(("BM", "BN", "BK"), size, strict=True))
    with pytest.raises(w.GeometryError):
        w.KernelGeometry(**values)
