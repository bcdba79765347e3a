"""The public search: candidates, scores, store, pool, measure, finer ops."""

import json
import signal
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from math import inf

import pytest

import warploom
from tests.modulo.test_hunt import HIDDEN, MODEL
from warploom import KernelGeometry, Pipeline4Wave, SearchOptions, mi355x_costs, mi355x_target
from warploom.autotune.subjects import baselines, compiled_order, subject_of
from warploom.errors import ConfigError
from warploom.interp.executor import execute
from warploom.ir.schedule_ops import OpRole
from warploom.modulo import ModuloOp, ModuloOptions, ModuloProblem, Role, solve_modulo
from warploom.modulo.sequence import as_result, program_of
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.modulo import auto
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.search_engine import worker_pool
from warploom.sim import MachineCosts, simulate

CHIP = mi355x_costs(mma_cycles=512)
BRIEF = SearchOptions(evaluations=4)


def fourwave(tile=(256, 256, 64)):
    g = KernelGeometry.four_wave(tile)
    return Pipeline4Wave(g, target=mi355x_target(g.vm_per_load_a, g.vm_per_load_b))


def test_the_best_is_clean_and_ranked():
    found = warploom.search(fourwave(), CHIP, options=BRIEF)
    assert found.best.report.verdict == "clean"
    scores = [row.score for row in found.rows]
    assert scores == sorted(scores)
    own = next(row.score for row in found.rows if row.origin == "identity")
    assert found.score == scores[0] <= own
    assert found.bound == 4096
    assert "bound 4096" in found.table()
    assert found.stopped == "evaluations spent"


def test_the_time_limit_covers_the_start():
    """What is there when time is up comes back with its bound: one order, nothing hunted."""
    options = replace(BRIEF, seconds=1e-6, splits=((1, 1), (2, 1), (2, 2)))
    found = warploom.search(fourwave(), CHIP, options=options)
    assert (found.evaluations, found.stopped) == (1, "time limit")
    assert found.best.report.verdict == "clean"
    assert found.bound == 4096 <= found.score


def hidden(result):
    """Cycles on the hidden machine, of a schedule made for the model."""
    own = as_result(HIDDEN, program_of(result))
    return inf if own is None else own.ii


def test_the_hidden_machine_by_the_public_call():
    bound = solve_modulo(HIDDEN, ModuloOptions(goals=()))
    options = SearchOptions(evaluations=250, goal=bound.ii)
    found = warploom.search(MODEL, measure=hidden, options=options)
    assert found.score == bound.ii
    assert hidden(found.best) == bound.ii
    assert found.bound is None


def test_a_body_without_a_measure_is_scored_by_its_own_costs():
    found = warploom.search(MODEL, options=SearchOptions(evaluations=12))
    assert found.score >= solve_modulo(MODEL, ModuloOptions(goals=())).ii
    assert found.score >= found.bound


def test_open_roles_are_settled_first():
    ops = tuple(ModuloOp(name=f"o{i}", issue=2) for i in range(3))
    body = ModuloProblem(name="open", ops=ops, roles=(Role(name="p"), Role(name="q")))
    found = warploom.search(body, options=SearchOptions(evaluations=8))
    assert found.score == 4


def test_scores_are_kept_and_a_search_goes_on(tmp_path):
    calls = []

    def measure(result):
        calls.append(1)
        return hidden(result)

    store = tmp_path / "deep" / "scores.jsonl"
    options = SearchOptions(evaluations=8)
    first = warploom.search(MODEL, measure=measure, options=options, store=store)
    known = len(calls)
    assert known == len(store.read_text().splitlines())
    store.write_text(store.read_text() + '{"key": "cut o')
    second = warploom.search(MODEL, measure=measure, options=options, store=store)
    whole = [line for line in store.read_text().splitlines() if line.endswith("}")]
    assert len(whole) == len(calls)  # the line after the cut one is not lost
    assert second.score <= first.score
    assert len(calls) < 2 * known
    assert any(row.origin.startswith("resumed") for row in second.rows)


def test_a_measure_that_fails_makes_a_candidate_useless():
    seen = []

    def moody(compiled):
        seen.append(compiled)
        if len(seen) % 2:
            raise RuntimeError("the device is busy")
        return float(len(compiled.kernel))

    options = replace(BRIEF, evaluations=2)
    found = warploom.search(fourwave(), CHIP, measure=moody, options=options)
    assert found.score < inf
    assert found.bound is None
    assert all(c.report.verdict == "clean" for c in seen)


def test_a_pool_of_processes_scores_the_same():
    options = replace(BRIEF, evaluations=3)
    alone = warploom.search(fourwave(), CHIP, options=options)
    pooled = warploom.search(fourwave(), CHIP, options=replace(options, workers=2))
    assert {(r.origin, r.score) for r in alone.rows} & {(r.origin, r.score) for r in pooled.rows}
    assert pooled.best.report.verdict == "clean"


def test_ctrl_c_hands_back_what_there_is():
    """Before any order was hunted down: the schedule's own."""

    def interrupted(step):
        raise KeyboardInterrupt

    found = warploom.search(fourwave(), CHIP, options=BRIEF, progress=interrupted)
    assert found.stopped == "interrupt"
    assert found.best.report.verdict == "clean"
    assert found.bound == 4096 <= found.score


def test_workers_leave_ctrl_c_to_the_search():
    with worker_pool(1) as pool:
        assert pool.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN


class Dead(Executor):
    """A pool whose workers were killed."""

    def submit(self, *call):
        raise BrokenProcessPool


def test_what_dead_workers_leave_is_done_here():
    options = replace(BRIEF, evaluations=3)
    found = warploom.search(fourwave(), CHIP, options=options, executor=Dead())
    assert found == replace(
        warploom.search(fourwave(), CHIP, options=options), seconds=found.seconds
    )


def test_without_a_limit_a_search_counts_and_looks_at_no_clock():
    assert SearchOptions().most_evaluations == 120
    assert SearchOptions(seconds=5).most_evaluations > 10**6
    assert SearchOptions(seconds=5, evaluations=7).most_evaluations == 7


def test_nonsense_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot keep results"):
        warploom.search(MODEL, store=tmp_path)
    for wrong in ({"evaluations": 0}, {"seconds": 0}):
        with pytest.raises(ConfigError):
            SearchOptions(**wrong)
    with pytest.raises(ConfigError):
        warploom.search("fourwave")
    with pytest.raises(ConfigError):
        SearchOptions(workers=0)
    with pytest.raises(ConfigError):
        subject_of(fourwave(), CHIP, (3, 1))


def test_finer_ops_are_the_same_work_in_smaller_pieces():
    coarse, fine = subject_of(fourwave(), CHIP, (1, 1)), subject_of(fourwave(), CHIP, (2, 2))
    assert fine.bench.units.vm_per_load == (2, 2)
    assert fine.bench.units.lgkm_per_load == (4, 4)

    def held(subject):
        ops = subject.bench.parts.problem.ops
        return {
            u: sum(h.cycles for o in ops for h in o.holds() if h.unit == u)
            for u in subject.bench.parts.problem.units()
        }

    assert held(coarse) == held(fine)
    assert len(fine.bench.parts.ops) == 64


@pytest.mark.parametrize("split", [(2, 2), (2, 1)])
def test_a_finer_kernel_is_clean_and_computes_the_product(split):
    subject = subject_of(fourwave(), CHIP.with_mfma(16), split)
    order = subject.programs([("identity", tuple(range(len(subject.body))))])
    compiled = compiled_order(subject, order[0][1], 1)
    assert compiled.report.verdict == "clean"
    mmas = sum(e.op.role is OpRole.COMPUTE for e in compiled.kernel)
    assert mmas == 8 * split[0] * split[1]
    assert execute(compiled.document(), trips=2).correct


def test_the_baselines_are_the_schedules_own_strategies():
    names = [name for name, _ in baselines(DeclarativeSchedule(False, 8, 4))]
    assert names[0] == "identity"
    assert "csp" in names or "greedy" in names


def test_auto_is_a_strategy_that_beats_the_schedules_own(monkeypatch):
    monkeypatch.setattr(auto, "AUTO_EVALUATIONS", 4)  # the first few find one
    monkeypatch.setattr(auto, "AUTO_STARTS", 1)
    compiled = compile_schedule(auto_pingpong())
    assert compiled.report.verdict == "clean"
    assert compiled.document().strategy == "AUTO"
    proven = compile_schedule(DeclarativeSchedule(False, 8, 4), sync=SyncPolicy.PROVEN_WEAKEST)
    runs = [simulate(d.document(), MachineCosts(), trips=24).ii for d in (compiled, proven)]
    tiles = compiled.protocol.k_tiles_per_iteration / 2
    assert runs[0] / tiles < runs[1]


@pytest.mark.slow
def test_auto_is_deterministic():
    first, second = compile_schedule(auto_pingpong()), compile_schedule(auto_pingpong())
    assert first.kernel == second.kernel


def auto_pingpong():
    config = ScheduleConfig(scheduling=SchedulingStrategy.AUTO)
    return DeclarativeSchedule(False, 8, 4, config=config)


def test_the_shadow_of_matrix_instructions():
    compute = dict(mi355x_costs(mma_cycles=512, mfma_cycles=32).by_role)[OpRole.COMPUTE]
    assert (compute.issue, compute.occupancy) == (484, 512)
    finer = dict(mi355x_costs(mma_cycles=512, mfma_cycles=32).with_finer_mmas(4).by_role)
    assert (finer[OpRole.COMPUTE].issue, finer[OpRole.COMPUTE].occupancy) == (100, 128)
    with pytest.raises(ConfigError):
        mi355x_costs(mma_cycles=16, mfma_cycles=32)


def test_the_command(tmp_path):
    from tests.cli.runner import warploom as command

    out = tmp_path / "best.json"
    options = ("--seconds", "1", "--no-build", "--json", "--out", out)  # builds are slow under load
    done = command("search", "fourwave", *options)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert table["score"] == table["rows"][0]["score"]
    assert command("verify", out).returncode == 0
    assert command("search", "nothing").returncode == 2
