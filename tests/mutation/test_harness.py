"""The harness itself, and a sample of the score: all defects found, no false alarm."""

import json
from dataclasses import replace

import pytest

from tests.mutation import Verdict, decide, mutants, score, table
from tests.mutation.__main__ import main
from tests.mutation.harness import program_key
from tests.mutation.judging import judge_by_verifier
from tests.mutation.mutants import has_effect
from tests.mutation.random_bodies import random_schedule
from tests.mutation.subjects import subject, subjects
from warploom.verify import verify

OPERATORS = {
    "drop barrier",
    "drop op",
    "drop wait",
    "extra tail barrier",
    "flip accumulator",
    "flip barrier after the prologue",
    "flip channel",
    "flip drain before the epilogue",
    "flip k-offset",
    "flip stage",
    "flip subtile",
    "move",
    "move stagger",
    "no stagger",
    "strengthen wait",
    "swap",
    "weaken wait",
}


def test_every_operator_and_every_phase_is_used():
    found = list(mutants(subject("ping-pong CSP, 1 global")))
    assert {m.operator for m in found} == OPERATORS
    assert {m.where.split("[")[0] for m in found} >= {"prologue", "kernel", "epilogue"}


def test_one_change_each():
    original = subject("single buffer, 1 slice")
    for mutant in mutants(original):
        assert mutant.document != original


def test_hints_do_not_make_a_new_program():
    document = subject("single buffer, 2 slices")
    bare = tuple(e for e in document.kernel if has_effect(e.op))
    assert len(bare) < len(document.kernel)
    assert program_key(replace(document, kernel=bare)) == program_key(document)


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("ping-pong CSP, 1 global", 160),
        ("ping-pong GREEDY, 0 globals", 240),
        ("4-wave, weakest", 40),
        ("4-wave, fewest", 80),
        ("single buffer, 2 slices", 3),
        ("random body 2", 4),
    ],
)
def test_sample_of_the_score(name, every):
    result = score(subject(name), judge_by_verifier, every=every, show_witnesses=True)
    assert result.suspects == []
    assert result.defective > 0
    assert result.witnesses["not shown"] == 0


def test_a_verifier_that_sees_nothing_is_found_out():
    result = score(subject("random body 2"), lambda _: Verdict(racy=False), every=5)
    assert result.kinds["survived"] == result.defective > 0
    assert all(o.kind == "survived" for o in result.suspects)


def test_a_verifier_that_always_shouts_is_found_out():
    result = score(subject("random body 2"), lambda _: Verdict(racy=True), every=5)
    assert result.kinds["false alarm"] == result.harmless > 0


def test_random_schedules_are_correct_tight_and_reproducible():
    document = random_schedule(2)
    assert document == random_schedule(2)
    assert not decide(document).defective
    assert verify(document).verdict == "clean"
    kernel = [i for i, e in enumerate(document.kernel) if e.op.tag >= 128]
    assert kernel
    for i in kernel:
        row = document.kernel
        assert decide(replace(document, kernel=row[:i] + row[i + 1 :])).defective


def test_command_line(tmp_path, capsys):
    file = tmp_path / "score.json"
    status = main(["--only", "single buffer, 1", "--every", "6", "--json", str(file)])
    assert status == 0
    assert "false alarms" in capsys.readouterr().out
    [row] = json.loads(file.read_text())
    assert row["defective"] == row["killed"] > 0
    assert row["distinct"] == row["defective"] + row["harmless"]


def test_command_line_names_the_subjects_when_none_matches(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--only", "no such schedule"])
    assert stop.value.code == 2
    assert "4-wave, weakest" in capsys.readouterr().err


def test_table_adds_up():
    result = score(subject("single buffer, 1 slice"), judge_by_verifier, every=10)
    lines = table([result, result]).splitlines()
    assert lines[-1].split()[:2] == ["all", str(2 * result.distinct)]


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", list(subjects()))
def test_full_score(name):
    result = score(subject(name), judge_by_verifier, show_witnesses=True)
    assert result.suspects == []
    assert result.witnesses["not shown"] == 0
