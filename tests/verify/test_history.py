"""Failures that real kernels of this kind have had: each faulty schedule is built, and named."""

from dataclasses import replace

from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleOps
from warploom.verify import Code, verify

from .documents import document, golden_document, pingpong_named

HALF = (
    "W16 L0 B FB[{s},1] X LA[{s},0]{k} M[0,0] FA[{s},1] X LB[{s},0]{k} L8 M[0,1] "
    "W16 L0 B FA[{o},0] X LB[{s},1]{k} M[1,0] FB[{o},0] X LA[{s},1]{k} M[1,1]"
)
FOUR_WAVE = {
    "prologue": "LA[0,0]0 LB[0,0]0 LB[0,1]0 LA[0,1]0 LA[1,0]1 LB[1,0]1 LB[1,1]1 LA[1,1]1 "
    "W28 B FA[0,0] W24 B FB[0,0]",
    "kernel": HALF.format(s=0, o=1, k=0) + " " + HALF.format(s=1, o=0, k=1),
    "epilogue": "W0 B FB[0,1] L8 M[0,0] FA[0,1] L8 M[0,1] FA[1,0] L8 M[1,0] FB[1,0] M[1,1] "
    "FB[1,1] L8 M[0,0] FA[1,1] L8 M[0,1] FA[0,0] L8 M[1,0] FB[0,0] M[1,1] B",
    "vm": (4, 4),
    "lgkm": (8, 8),
    "waves_per_group": 4,
    "k_tiles_per_iteration": 2,
    "kernel_k_base": 2,
}


def races(doc):
    return verify(doc).races()


def codes(doc):
    return {f.code for f in races(doc)}


def with_kernel(words):
    return document(**(FOUR_WAVE | {"kernel": " ".join(words)}))


def without(doc, which, keep):
    """The document with some entries of a phase taken out."""
    name = which.name.lower()
    return replace(doc, **{name: tuple(e for i, e in enumerate(doc.phase(which)) if keep(i, e.op))})


def test_the_repaired_four_wave_schedule_is_clean():
    report = verify(document(**FOUR_WAVE))
    assert report.races() == ()
    assert {f.code for f in report.findings} <= {Code.DEAD_READ}


def test_1_no_barrier_between_a_drain_and_reads_of_other_waves_data():
    words = FOUR_WAVE["kernel"].split()
    words.remove("B")
    assert Code.RAW_LDS in codes(with_kernel(words))


def test_2_no_lgkm_drain_in_the_epilogue():
    doc = pingpong_named("CSP", 1)
    bare = without(doc, Phase.EPILOGUE, lambda i, op: op.tag != ScheduleOps.WAIT_LGKM)
    assert Code.RAW_REG in codes(bare)


def test_3_without_iterations_the_prologue_runs_straight_into_the_epilogue():
    doc = golden_document("fourwave", "geom0_default")
    early = [f for f in races(doc) if f.trip_count == 0]
    assert early
    assert {(f.code, f.where[0].phase, f.where[1].phase) for f in early} == {
        (Code.RAW_LDS, Phase.PROLOGUE, Phase.EPILOGUE)
    }


def test_4_the_seam_between_loop_and_epilogue_rests_on_latency():
    doc = golden_document("fourwave", "geom0_default")
    seams = [f for f in races(doc) if f.trip_count > 0 and f.where[1].phase is Phase.EPILOGUE]
    assert {(f.code, f.where[0].phase) for f in seams} == {(Code.RAW_LDS, Phase.KERNEL)}


def test_5_a_fragment_read_hoisted_over_the_load_in_front_of_it():
    words = FOUR_WAVE["kernel"].split()
    words.remove("FB[0,1]")
    assert Code.RAW_LDS in codes(with_kernel(["FB[0,1]", *words]))


def test_8_a_completion_load_counted_as_a_prefetch():
    """The wait in front of the half's boundary is four units too weak."""
    doc = pingpong_named("CSP", 1)
    weak = tuple(
        replace(e, op=OpDesc.wait_vm(16)) if e.op.tag == ScheduleOps.WAIT_VM else e
        for e in doc.kernel
    )
    found = codes(replace(doc, kernel=weak))
    assert Code.RAW_LDS in found


def test_9_a_prefetch_that_lands_during_the_next_blocks_read():
    assert codes(pingpong_named("IDENTITY", 1)) == {Code.WAR_LDS}


def test_10_a_prefetch_moved_ahead_of_the_read_it_overwrites():
    doc = pingpong_named("CSP", 1)
    prefetch = next(
        i for i, e in enumerate(doc.kernel) if e.op.role is OpRole.GLOBAL_LOAD and e.is_prefetch
    )
    moved = (doc.kernel[prefetch], *doc.kernel[:prefetch], *doc.kernel[prefetch + 1 :])
    assert Code.TOKEN in codes(replace(doc, kernel=moved))


def test_11_cross_stage_reads_without_a_drain():
    words = FOUR_WAVE["kernel"].split()
    middle = [i for i, w in enumerate(words) if w == "W16"][1]
    assert Code.RAW_LDS in codes(with_kernel([*words[:middle], *words[middle + 1 :]]))
