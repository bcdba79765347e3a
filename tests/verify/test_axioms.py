"""Verdicts on counter schedules name the axioms about the hardware that they rest on."""

import json

import pytest

import warploom as w
from tests.cli.runner import warploom
from warploom.verify import Assumptions
from warploom.verify.report import verify_document

FOUR_WAVE = w.compile_schedule(w.Pipeline4Wave(w.KernelGeometry.four_wave((256, 256, 64))))


def named(report):
    return [a.partition(":")[0] for a in report.assumes]


def test_partial_waits_rest_on_order():
    report = w.verify(FOUR_WAVE.document())
    assert named(report) == ["vm_order=on", "lds_order=on"]
    assert named(FOUR_WAVE.report) == named(report)


def test_both_verdicts_are_reported_where_they_differ():
    without = w.verify(FOUR_WAVE.document(), assumptions=Assumptions(vm_in_order=False))
    assert without.verdict == "race"
    assert named(without) == ["vm_order=off", "lds_order=on"]
    both = verify_document(FOUR_WAVE.document())
    assert both.verdict == "clean"
    assert both.assumes[-1] == f"vm_order=off: race, {len(without.findings)} finding(s)"


def test_a_schedule_without_partial_waits_does_not_rest_on_vm_order():
    drained = w.DeclarativeSchedule(
        w.ScheduleConfig(auto_waits=False, wait_vm_last=0, wait_lgkm_first=0)
    )
    report = w.verify(w.compile_schedule(drained, on_race="report").document())
    assert "vm_order=on" not in named(report)


@pytest.mark.parametrize("schedule", ["pingpong", "fourwave", "single_buffer"])
def test_the_command_names_them(schedule):
    done = warploom("verify", schedule, "--json")
    assumed = json.loads(done.stdout)["assumes"]
    staged = schedule == "single_buffer"  # loads land in registers; LLVM waits for them
    assert any(a.startswith("vm_order=on: ") for a in assumed) is not staged
    assert any(a.startswith("lds_order=on: ") for a in assumed)
