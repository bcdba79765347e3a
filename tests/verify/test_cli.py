"""``warploom verify FILE.json``: exit codes and reports, on good, racy and malformed files."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.runner import warploom
from warploom.ir import write_schedule
from warploom.verify import exit_code, verify_file
from warploom.verify.report import parse_trips, render

from .documents import golden_document, pingpong_named


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    texts = {
        "clean.json": write_schedule(pingpong_named("CSP", 1)),
        "racy.json": write_schedule(golden_document("fourwave", "geom0_default")),
        "broken.json": '{"schema": "warploom.schedule/1", "nmae": 3}',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def run(*arguments):
    return warploom("verify", *arguments)


def test_exit_codes_and_json_lines(files):
    done = run(*(str(files / f"{n}.json") for n in ("clean", "broken", "racy")), "--format", "json")
    assert done.returncode == 2
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["verdict"] for r in reports] == ["clean", "malformed", "race"]
    assert [set(r) for r in reports] == [
        {"file", "verdict", "trips_proven", "assumes", "findings"}
    ] * 3
    assert reports[0]["trips_proven"] == "all"
    assert "broken.json" in done.stderr
    assert "nmae" in done.stderr
    finding = reports[2]["findings"][0]
    keys = {"code", "severity", "trip_count", "where", "slot", "waves", "why", "fix"}
    assert set(finding) == keys
    assert set(finding["where"][0]) == {"phase", "index", "iteration", "op"}


@pytest.mark.parametrize(("name", "code"), [("clean", 0), ("racy", 1), ("broken", 2), ("gone", 2)])
def test_exit_code_of_one_file(files, name, code):
    assert exit_code([verify_file(files / f"{name}.json")]) == code


def test_trips_restrict_the_verdict(files):
    verdict = verify_file(files / "racy.json", range(1))
    assert verdict.report.trips_proven == "0..0"
    assert {f.trip_count for f in verdict.report.findings} == {0}


@pytest.mark.parametrize("text", ["", "x", "3..1", "-1..2", "1..2..3", "9999999999", "1..", "²"])
def test_bad_ranges_are_refused(text):
    from warploom.errors import ConfigError

    with pytest.raises(ConfigError):
        parse_trips(text)


def test_a_bad_range_on_the_command_line_is_a_usage_error(files):
    done = run(str(files / "clean.json"), "--trips", "5..1")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_any_terminal_encoding_is_served(files, tmp_path):
    text = (files / "racy.json").read_text().replace("MMA_LOAD_B", "\\ud800é\u2028→")
    path = tmp_path / "naïve.json"
    path.write_text(text, encoding="utf-8")
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "warploom", "verify", str(path), "--format", "text"]
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 1, done.stderr


def test_text_reports_name_file_verdict_and_fix(files):
    text = render(verify_file(files / "racy.json"), "text")
    assert all(word in text for word in ("race", "fix", "racy.json"))
