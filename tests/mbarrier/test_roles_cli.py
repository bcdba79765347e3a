"""``warploom verify`` judges role programs beside the other schedules."""

from __future__ import annotations

import json
from dataclasses import replace

from typer.testing import CliRunner

from warploom.cli import build_app
from warploom.ir.format1 import write_schedule

from .samples import gemm_document


def judged(tmp_path, document, *options):
    path = tmp_path / "roles.json"
    path.write_text(write_schedule(document))
    return CliRunner().invoke(build_app(("verify",)), ["verify", str(path), *options])


def test_a_derived_schedule_is_clean(tmp_path):
    result = judged(tmp_path, gemm_document(), "--format", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (report["verdict"], report["trips_proven"], report["findings"]) == ("clean", ">= 1", [])


def test_a_defect_gives_exit_code_1_and_names_both_ends(tmp_path):
    document = gemm_document()
    ring = replace(document.rings[0], empty_arrivals=9)
    result = judged(tmp_path, replace(document, rings=(ring,)), "--format", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["verdict"] == "race"
    assert {f["code"] for f in report["findings"]} >= {"ARRIVALS"}
    assert report["findings"][0]["where"][0]["role"] == "consumer"
    text = judged(tmp_path, replace(document, rings=(ring,)))
    assert "initialised for 9 arrivals and gets 8" in text.stdout


def test_trips_restrict_the_verdict(tmp_path):
    result = judged(tmp_path, gemm_document(), "--trips", "1..3", "--format", "json")
    assert json.loads(result.stdout)["trips_proven"] != "all"


def test_a_damaged_document_is_malformed(tmp_path):
    path = tmp_path / "roles.json"
    path.write_text('{"schema": "warploom.schedule/1", "programs": 3}')
    result = CliRunner().invoke(build_app(("verify",)), ["verify", str(path)])
    assert result.exit_code == 2
    assert "malformed" in result.stdout


def test_a_range_too_long_to_judge_is_refused_at_once(tmp_path):
    result = judged(tmp_path, gemm_document(), "--trips", "1..999999999")
    assert result.exit_code == 2
    assert "tile lengths" in result.stdout
