"""One small schedule per hazard, each the right one with one thing taken away."""

from dataclasses import replace

import pytest

from warploom.errors import ConfigError, DocumentError
from warploom.ir import BarrierKind, RegisterWaits, schedule_from_json, schedule_to_json
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ResourceKind, ScheduleEntry
from warploom.verify import Assumptions, Code, Limits, Severity, verify

from .documents import document, golden_document, phase

ONCE = range(1)
"""Only the run without loop iterations, for schedules that have no kernel."""


def codes(doc, **options):
    return {f.code.value for f in verify(doc, **options).races()}


def once(prologue, epilogue, **options):
    return codes(document(prologue, "", epilogue, **options), trips=ONCE)


GOOD = "LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0] L0"


def test_the_small_schedule_is_clean_when_nothing_is_missing():
    assert once(GOOD, "M[0,0]") == set()


LOOP = {
    "prologue": "LA[0,0]0 LB[0,0]0 LA[1,0]1 LB[1,0]1 W2 B",
    "kernel": "FA[0,0] FB[0,0] L0 W0 B M[0,0] LA[0,0]0 LB[0,0]0 "
    "FA[1,0] FB[1,0] L0 W0 B M[0,0] LA[1,0]1 LB[1,0]1",
    "epilogue": "FA[0,0] FB[0,0] L0 W0 B M[0,0] FA[1,0] FB[1,0] L0 M[0,0]",
    "k_tiles_per_iteration": 2,
    "kernel_k_base": 2,
}


def test_a_double_buffered_loop_is_clean_for_all_trip_counts():
    report = verify(document(**LOOP))
    assert report.findings == ()
    assert (report.trips_proven, report.depth) == ("all", 1)


@pytest.mark.parametrize(
    ("prologue", "epilogue", "found"),
    [
        ("LA[0,0]0 LB[0,0]0 B FA[0,0] FB[0,0] L0", "M[0,0]", {"RAW-LDS"}),
        ("LA[0,0]0 LB[0,0]0 W0 FA[0,0] FB[0,0] L0", "M[0,0]", {"RAW-LDS"}),
        ("LA[0,0]0 LB[0,0]0 B W0 FA[0,0] FB[0,0] L0", "M[0,0]", {"RAW-LDS"}),
        ("LA[0,0]0 LB[0,0]0 W1 B FA[0,0] FB[0,0] L0", "M[0,0]", {"RAW-LDS"}),
        ("LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0] L1", "M[0,0]", {"RAW-REG"}),
        ("LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0]", "M[0,0]", {"RAW-REG"}),
        ("LA[0,0]0 W0 B FA[0,0] L0", "M[0,0]", {"TOKEN"}),
        ("LA[0,0]0 LB[0,0]1 W0 B FA[0,0] FB[0,0] L0", "M[0,0]", {"TOKEN"}),
        ("LA[0,0]0 W0 B FA[0,0] FB[0,0] L0", "M[0,0]", {"TOKEN"}),
        (GOOD, "M[0,0] M[0,0]", {"COVERAGE"}),
        (GOOD, "", {"COVERAGE"}),
        ("LA[0,0]1 LB[0,0]1 W0 B FA[0,0] FB[0,0] L0", "M[0,0]", {"COVERAGE"}),
        ("LA[0,0]1 LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0] L0", "M[0,0]", {"WAW-LDS"}),
    ],
)
def test_one_defect_one_code(prologue, epilogue, found):
    assert once(prologue, epilogue) == found


def test_the_next_load_may_not_land_while_another_wave_reads():
    racy = LOOP | {
        "kernel": LOOP["kernel"].replace("L0 W0 B M[0,0] LA[0,0]0", "L0 M[0,0] LA[0,0]0 W0 B")
    }
    found = [f for f in verify(document(**racy)).races() if f.code is Code.WAR_LDS]
    assert found
    assert found[0].waves[0] != found[0].waves[1]


def test_a_fragment_load_that_rotates_too_early():
    doc = document(
        "LA[0,0]0 LB[0,0]0 LA[1,0]1 LB[1,0]1 W0 B FA[0,0] FB[0,0] FA[1,0] L0",
        "",
        "M[0,0] FB[1,0] L0 M[0,0]",
        kernel_k_base=2,
    )
    (finding,) = verify(doc, trips=ONCE).races()
    assert finding.code is Code.WAR_REG
    assert finding.where[0].op == "FRAG_A[1,0]"
    assert finding.slot == "register A[0]"


def test_writes_of_the_same_tile_do_no_harm():
    """Two loads of one tile into one slot can not be told apart."""
    doc = document("LB[0,0]0 LA[0,0]0 LA[0,0]0 W1 B FA[0,0] FB[0,0] L0", "", "M[0,0]")
    report = verify(doc, trips=ONCE)
    assert [(f.code, f.severity) for f in report.findings] == [(Code.WAW_LDS, Severity.INFO)]


def test_what_is_harmless_for_one_trip_count_can_race_for_another():
    """Without iterations nobody uses the fragments; with some, the loop does."""
    doc = document(
        "LA[0,0]1 LB[0,0]1 LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0] L0",
        "M[0,0] B",
        "LA[0,0]- LB[0,0]- W0 B FA[0,0] FB[0,0] L0 M[0,0]",
    )
    found = {(f.severity, f.trip_count) for f in verify(doc).findings if f.code is Code.WAW_LDS}
    assert found == {(Severity.INFO, 0), (Severity.RACE, 1)}


def test_a_racing_read_that_no_mma_takes_is_information():
    doc = document(GOOD + " B LA[0,0]1", "", "M[0,0] FA[0,0]")
    (finding,) = verify(doc, trips=ONCE).findings
    assert (finding.code, finding.severity) == (Code.DEAD_READ, Severity.INFO)


def test_groups_that_drift_need_one_barrier_more():
    staggered = {"groups": 2, "waves_per_group": 4, "stagger_index": 0, "tail_barriers": (1, 0)}
    assert once(GOOD, "M[0,0]", **staggered) == {"RAW-LDS"}
    assert once(GOOD.replace(" B ", " B B "), "M[0,0]", **staggered) == set()
    in_front = staggered | {"stagger_index": 4}
    assert once(GOOD, "M[0,0]", **in_front) == set()


@pytest.mark.parametrize("index", [7, 8, 99])
def test_a_stagger_index_at_or_past_the_end_of_the_prologue(index):
    """It means the end of the prologue: the extra barriers come after the last entry."""
    options = {"groups": 2, "stagger_index": index, "tail_barriers": (1, 0)}
    assert once(GOOD, "M[0,0]", **options) == set()


def test_unequal_barrier_totals_deadlock():
    doc = document(GOOD, "", "M[0,0]", groups=2, stagger_index=0, tail_barriers=(0, 0))
    finding = next(f for f in verify(doc, trips=ONCE).races() if f.code is Code.DEADLOCK)
    assert [w.group for w in finding.waves] == [1, 0]
    assert "tail_barriers [1, 0]" in finding.fix


def test_a_count_the_hardware_can_not_express_does_not_wait():
    costs = {"vm": (40, 40)}
    weak = "LA[0,0]0 LB[0,0]0 LA[1,0]0 LB[1,0]0 W80 B FA[0,0] FB[0,0] L0"
    assert once(weak, "M[0,0]", **costs) == {"RAW-LDS", "ENCODING"}
    clamped = weak.replace("W80", "W62")
    assert once(clamped, "M[0,0]", **costs) == set()


@pytest.mark.parametrize(
    ("wait", "finding"), [("W62", None), ("W63", 62), ("L14", None), ("L15", 14)]
)
def test_the_largest_waits(wait, finding):
    report = verify(document(GOOD + f" {wait}", "", "M[0,0]"), trips=ONCE)
    assert [f.code for f in report.findings] == ([Code.ENCODING] if finding else [])
    assert all(f.severity is Severity.INFO and str(finding) in f.fix for f in report.findings)


def test_a_negative_count_is_malformed():
    doc = document(GOOD, "", "M[0,0]")
    with pytest.raises(ConfigError, match="negative"):
        OpDesc.wait_vm(-1)
    data = schedule_to_json(doc)
    data["prologue"][2]["op"]["wait_value"] = -1
    with pytest.raises(DocumentError) as error:
        schedule_from_json(data)
    assert "prologue[2]" in error.value.path


@pytest.mark.parametrize("change", [{"role": "COMPUTE"}, {"role": "GLOBAL_LOAD"}, {"tag": 140}])
def test_waits_that_do_other_work_and_tags_of_nobody_are_malformed(change):
    data = schedule_to_json(document(GOOD, "", "M[0,0]"))
    data["prologue"][2]["op"] |= change
    with pytest.raises(DocumentError) as error:
        verify(schedule_from_json(data))
    assert "prologue[2]" in error.value.path


def test_without_order_only_waiting_for_nothing_in_flight_proves_anything():
    prologue = "LA[0,0]0 LB[0,0]0 LA[1,0]1 W1 B FA[0,0] FB[0,0] LA[0,1]1 L0"
    doc = document(prologue, "", "M[0,0]")
    assert codes(doc, trips=ONCE) == set()
    assert codes(doc, trips=ONCE, assumptions=Assumptions(vm_in_order=False)) == {"RAW-LDS"}
    doc = document(GOOD.replace("L0", "X") + " FA[0,1] L1", "", "M[0,0]")
    assert codes(doc, trips=ONCE) == set()
    assert codes(doc, trips=ONCE, assumptions=Assumptions(lds_in_order=False)) == {"RAW-REG"}


def test_what_only_a_full_counter_orders_is_a_race_or_reported():
    doc = document(
        "LA[0,0]0 LB[0,0]0 LA[1,0]1 LB[1,0]1 B FA[0,0] FB[0,0] L0", "", "M[0,0]", vm=(63, 63)
    )
    assert codes(doc, trips=ONCE) == {"RAW-LDS"}
    report = verify(doc, trips=ONCE, assumptions=Assumptions(issue_stalls=True))
    assert report.verdict == "clean"
    assert all("A3" in f.why for f in report.findings)
    assert {f.severity for f in report.findings} == {Severity.INFO}


STAGED = {
    "kernel_k_base": 2,
    "barrier": BarrierKind.FENCING,
    "register_waits": RegisterWaits.COMPILER,
}
STAGED_TEXT = (
    "LA[0,0] SA[0,0] B LA[0,0] FA[0,0]",
    "M[0,0] B SA[0,0] LA[0,0] B FA[0,0]",
    "M[0,0] B SA[0,0] B FA[0,0] M[0,0]",
)


def test_stores_with_fencing_barriers():
    assert codes(document(*STAGED_TEXT, **STAGED)) == set()
    assert verify(document(*STAGED_TEXT, **STAGED)).trips_proven == "all"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"register_waits": RegisterWaits.EXPLICIT}, {"RAW-REG"}),
        ({"barrier": BarrierKind.EXECUTION}, {"RAW-LDS"}),
    ],
)
def test_stores_need_someone_to_wait(change, found):
    assert codes(document(*STAGED_TEXT, **(STAGED | change))) == found


def test_the_waits_of_the_code_generator_count():
    """With execution barriers, the read of the last tile is complete where the MMA took it."""
    options = STAGED | {"barrier": BarrierKind.EXECUTION}
    guarded = [t.replace("SA[0,0]", "SA[0,0] L0") for t in STAGED_TEXT]
    assert codes(document(*guarded, **options)) == set()


def test_a_dropped_store_barrier_is_found():
    text = STAGED_TEXT[0], STAGED_TEXT[1].replace("M[0,0] B", "M[0,0]"), STAGED_TEXT[2]
    assert "WAR-LDS" in codes(document(*text, **STAGED))


def test_the_drain_between_loop_and_epilogue_repairs_the_seam():
    doc = golden_document("fourwave", "geom0_default")
    drained = replace(doc, protocol=replace(doc.protocol, epilogue_drain=True))
    seams = [f for f in verify(drained).races() if f.where[1].phase is Phase.EPILOGUE]
    assert seams == []


def test_channels_follow_from_the_tag_or_the_name():
    doc = document(GOOD, "", "M[0,0]")
    nameless = [replace(e, op=replace(e.op, channel=-1)) for e in doc.prologue]
    assert codes(replace(doc, prologue=tuple(nameless)), trips=ONCE) == set()
    unknown = [replace(e, op=replace(e.op, tag=99)) if e.op.tag == 0 else e for e in nameless]
    with pytest.raises(DocumentError, match="channel"):
        verify(replace(doc, prologue=tuple(unknown)))


def test_budgets():
    doc = document(GOOD, "", "M[0,0]")
    sizes = {"slot_bytes": (1024, 2048)}
    assert codes(doc, trips=ONCE, limits=Limits(lds_bytes=3072, **sizes)) == set()
    report = verify(doc, limits=Limits(lds_bytes=3071, waves=1, vgprs=0, **sizes))
    assert [f.code for f in report.races()].count(Code.CAPACITY) == 2
    assert codes(doc, trips=ONCE, limits=Limits(waves=1)) == {"CAPACITY"}


def test_ranges_of_trip_counts():
    doc = document(**LOOP)
    assert verify(doc, trips=range(2, 10**9)).trips_proven == f"2..{10**9 - 1}"
    for bad in (range(0), range(-1, 3), range(0, 9, 2)):
        with pytest.raises(ConfigError):
            verify(doc, trips=bad)


def test_a_race_in_the_wanted_range_only():
    """Clean without iterations: the range decides what is judged."""
    racy = document(**(LOOP | {"kernel": LOOP["kernel"].replace("L0 W0 B", "L0 B", 1)}))
    assert verify(racy, trips=range(1)).verdict == "clean"
    assert verify(racy, trips=range(1, 4)).verdict == "race"
    assert verify(racy).verdict == "race"


DEPTH_2 = {
    "prologue": "LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0] L0 B LA[0,0]1 LB[0,0]1 W0 B",
    "kernel": "M[0,0] FA[0,0] FB[0,0] L0 B LA[0,0]1 LB[0,0]1",
    "epilogue": "W0 L0 B LA[0,0]- LB[0,0]- W0 B FA[0,0] FB[0,0] L0 M[0,0]",
}


def test_a_chain_over_two_back_edges_races_only_from_three_iterations_on():
    """Loads of iteration i are read in i + 1 and used in i + 2; the epilogue reloads."""
    racy = document(**DEPTH_2)
    report = verify(racy)
    assert report.depth == 2
    assert min(f.trip_count for f in report.races()) == 3
    assert verify(racy, trips=range(3)).verdict == "clean"
    right = DEPTH_2 | {"kernel": DEPTH_2["kernel"].replace("FA", "W0 B FA")}
    assert verify(document(**right)).verdict == "clean"


def test_a_loop_that_lives_on_the_prologue_alone_is_wrong_from_two_iterations_on():
    """Nothing moves from iteration to iteration, and 0 and 1 iterations are right."""
    doc = document(
        "LA[0,0]0 LB[0,0]0 W0 B FA[0,0] FB[0,0] L0 B",
        "M[0,0]",
        "LA[0,0]- LB[0,0]- W0 B FA[0,0] FB[0,0] L0 M[0,0]",
    )
    report = verify(doc)
    assert {(f.code, f.trip_count) for f in report.races()} == {(Code.COVERAGE, 2)}


def test_a_loop_that_reads_the_prologues_tile_one_iteration_ahead_is_wrong_from_three_on():
    """Iteration 0 uses tile 0, iteration 1 tile 1, and iteration 2 uses tile 1 again."""
    doc = document(
        "LA[0,0]0 LB[0,0]0 LA[1,0]1 LB[1,0]1 W0 B FA[0,0] FB[0,0] L0 B",
        "M[0,0] FA[1,0] FB[1,0] L0 B",
        "LA[0,0]- LB[0,0]- W0 B FA[0,0] FB[0,0] L0 M[0,0]",
    )
    report = verify(doc)
    assert {(f.code, f.trip_count) for f in report.races()} == {(Code.COVERAGE, 3)}
    assert report.depth == 2


def test_a_loop_that_starts_with_the_prologues_tile_is_checked_for_one_more_iteration():
    """Iterations 0 and 1 find the tile the register held before; iteration 2 does not."""
    full = "W0 L0 B"
    loads = "LA[0,0]{k} LB[0,0]{k}"
    doc = document(
        f"{loads.format(k=2)} {full} FA[0,0] FB[0,0] {full}",
        f"FA[0,0] FB[0,0] M[0,0] {full} {loads.format(k=1)} {full}",
        f"{loads.format(k='-')} {full}",
    )
    report = verify(doc)
    assert report.depth == 3
    assert 3 in {f.trip_count for f in report.races() if f.code is Code.RAW_REG}


def test_loads_of_the_next_tile_that_outrun_the_loop_are_not_proven_for_all():
    doc = document(
        "LA[0,0] LB[0,0] W0 B",
        "FA[0,0] FB[0,0] L0 B M[0,0] LA[0,0] LA[0,0] LB[0,0] W0 B",
        "FA[0,0] FB[0,0] L0 M[0,0]",
    )
    report = verify(doc)
    assert report.trips_proven != "all"
    assert "TOKEN" in {f.code.value for f in report.races()}


def grid_schedule(rows, columns, stages):
    """A fully synchronised pipeline with one stage per partition and any grid."""

    def loads(stage, offset):
        a = " ".join(f"LA[{stage},{i}]{offset}" for i in range(rows))
        return a + " " + " ".join(f"LB[{stage},{j}]{offset}" for j in range(columns))

    def multiply(stage):
        a = " ".join(f"FA[{stage},{i}]" for i in range(rows))
        b = " ".join(f"FB[{stage},{j}]" for j in range(columns))
        cells = " ".join(f"M[{i},{j}]" for i in range(rows) for j in range(columns))
        return f"{a} {b} L0 B {cells}"

    prologue = " ".join(loads(s, s) for s in range(stages)) + " W0 B"
    kernel = " ".join(f"{multiply(s)} {loads(s, s)} W0 B" for s in range(stages))
    epilogue = " ".join(multiply(s) for s in range(stages))
    return {
        "prologue": prologue,
        "kernel": kernel,
        "epilogue": epilogue,
        "k_tiles_per_iteration": stages,
        "kernel_k_base": stages,
    }


@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (4, 4), (1, 5)])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_any_grid_and_any_number_of_partitions(grid, stages):
    texts = grid_schedule(*grid, stages)
    assert verify(document(**texts)).findings == ()
    last = f"M[{grid[0] - 1},{grid[1] - 1}]"
    assert codes(document(**(texts | {"kernel": texts["kernel"].replace(last, "X", 1)}))) == {
        "COVERAGE"
    }


def test_an_empty_document_multiplies_nothing():
    assert codes(document()) == {"COVERAGE"}


def test_ops_without_effect_change_nothing():
    doc = document(**LOOP)
    padded = {k: v.replace(" ", " X ") for k, v in LOOP.items() if isinstance(v, str)}
    assert verify(document(**(LOOP | padded))).findings == verify(doc).findings
    assert phase("X", Phase.KERNEL)[0].op.tag == 132


def test_what_no_judge_understands_is_not_clean():
    plain = document(**LOOP)
    vector = OpDesc.op(9, ResourceKind.VALU, 8, OpRole.VALU_COMPUTE)
    third = OpDesc.op(10, ResourceKind.GLOBAL_MEM, 8, OpRole.GLOBAL_LOAD, channel=2)
    for op, said in ((vector, "vector work"), (third, "channels besides 0 and 1")):
        entry = ScheduleEntry(op=op, time_slot=0, phase=Phase.KERNEL)
        report = verify(replace(plain, kernel=(*plain.kernel, entry)))
        assert report.verdict == "not judged"
        assert not report.clean
        assert said in report.trouble
