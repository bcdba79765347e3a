"""``simulate``, ``timeline``, ``graph``, ``diff``, ``explore`` and ``doctor``."""

import json
from types import SimpleNamespace

import pytest

from warploom.cli.explore import source_rows
from warploom.compiler.disk_cache import DiskCache, digest

from .runner import warploom


def test_simulate_gives_figures_and_json():
    text = warploom("simulate", "fourwave", "--trips", "4")
    assert text.returncode == 0, text.stderr
    assert "cycles a K-tile" in text.stdout
    data = json.loads(warploom("simulate", "fourwave", "--trips", "4", "--json").stdout)
    assert data["cycles"] > 0


@pytest.mark.parametrize(
    ("form", "start"), [("text", ""), ("svg", "<svg"), ("html", "<!"), ("perfetto", "{")]
)
def test_timeline_forms(form, start, tmp_path):
    path = tmp_path / "picture"
    done = warploom("timeline", "pingpong", "--format", form, "--trips", "2", "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert path.read_text().lstrip().lower().startswith(start)


@pytest.mark.parametrize(
    ("command", "ending", "start"),
    [
        (("timeline", "pingpong"), "svg", "<svg"),
        (("timeline", "pingpong"), "html", "<!doctype"),
        (("timeline", "pingpong"), "json", "{"),
        (("timeline", "pingpong"), "txt", "pingpong"),
        (("graph", "pingpong"), "dot", "digraph"),
        (("graph", "pingpong"), "svg", "<svg"),
        (("diff", "pingpong", "fourwave"), "html", "<!doctype"),
    ],
)
def test_the_ending_of_a_file_says_the_form(command, ending, start, tmp_path):
    path = tmp_path / f"picture.{ending}"
    done = warploom(*command, "-o", path)
    assert done.returncode in (0, 1), done.stderr
    assert path.read_text().lstrip().lower().startswith(start)


def test_graph_forms():
    assert "critical recurrence" in warploom("graph", "pingpong").stdout
    assert warploom("graph", "pingpong", "--format", "dot").stdout.startswith("digraph")
    assert len(json.loads(warploom("graph", "pingpong", "--json").stdout)["edges"]) == 54


def test_what_was_not_checked_has_its_place_in_a_ranking(monkeypatch):
    def load(source):
        verdict = "not judged" if source == "large.json" else "clean"
        report = SimpleNamespace(verdict=verdict)
        part = SimpleNamespace(
            loop=None,
            document=SimpleNamespace(target="h200"),
            report=lambda: report,
            pace=lambda: None,
        )
        return SimpleNamespace(loops=[part])

    monkeypatch.setattr("warploom.cli.explore.load", load)
    rows = source_rows(["large.json", "small.json"])
    assert [r["verdict"] for r in rows] == ["clean", "not judged"]


def test_facts_are_shown_as_people_read_them(tmp_path):
    page = tmp_path / "d.html"
    warploom("diff", "pingpong", "fourwave", "-o", page)
    for text in (warploom("diff", "pingpong", "fourwave").stdout, page.read_text()):
        assert "2180" in text
        assert "2180.0" not in text
        assert "94%" in text


def test_diff_of_equal_and_different_schedules():
    assert warploom("diff", "pingpong", "pingpong").returncode == 0
    done = warploom("diff", "pingpong", "fourwave", "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["equal"] is False
    assert data["facts"][0]["verdict"] == "clean"


def test_explore_ranks_and_keeps(tmp_path):
    arguments = ["explore", "--schedule", "fourwave", "-j", "1", "--cache", str(tmp_path / "c")]
    done = warploom(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 3
    again = warploom(*arguments, "--csv", str(tmp_path / "x.csv"))
    assert "3 configurations" in again.stdout
    head, *rows = again.stdout.splitlines()[:4]
    assert head.split()[0] == "sync"  # what all have alike is left out
    assert {r.split()[0] for r in rows} == {"REFERENCE", "PROVEN_WEAKEST", "PROVEN_FEWEST"}
    assert (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "nothing"],
        ["timeline", "pingpong", "-o", "/nowhere/at/all"],
        ["explore", "--strategy", "luck"],
        ["explore", "--tile", "3"],
        ["graph", "missing.json"],
    ],
)
def test_mistakes_exit_2(arguments):
    done = warploom(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_doctor_speaks_of_extras():
    done = warploom("doctor", "--json")
    names = {c["what"] for c in json.loads(done.stdout)["checks"]}
    assert {"numpy", "ortools", "llvmlite", "GPU"} <= names
    assert "warploom" in warploom("doctor").stdout


def test_doctor_without_a_gpu_says_what_is_missing():
    done = warploom("doctor", "--gpu")
    if done.returncode == 0:
        assert "TFLOPS" in done.stdout
    else:
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "fix" in done.stderr


def test_help_names_every_command():
    text = warploom("--help").stdout
    for command in ("compile", "show", "verify", "simulate", "timeline", "graph", "diff"):
        assert command in text


def test_verify_speaks_json_like_the_others(tmp_path):
    path = tmp_path / "p.json"
    warploom("compile", "pingpong", "-o", str(path))
    assert json.loads(warploom("verify", str(path), "--json").stdout)["verdict"] == "clean"


def test_modulo_on_the_command_line():
    done = warploom("compile", "fourwave", "--scheduling", "modulo")
    assert done.returncode == 0, done.stderr
    assert "proven for all trip counts" in done.stdout


def test_the_page_of_a_comparison_draws_the_interval_of_its_table(tmp_path):
    page = tmp_path / "d.html"
    warploom("diff", "pingpong", "fourwave", "-o", str(page))
    found = json.loads(warploom("diff", "pingpong", "fourwave", "--json").stdout)
    text = page.read_text()
    for facts in found["facts"]:
        assert f"II {facts['interval']:g} cycles" in text


def test_the_cache_is_listed_and_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    kept = DiskCache(tmp_path)
    kept.put("cubin", digest("a"), b"code")
    kept.put("order", digest("b"), b"{}")
    found = json.loads(warploom("cache", "--json").stdout)
    assert found["folder"] == str(tmp_path)
    assert [n for n, k in found["kinds"].items() if k["entries"]] == ["cubin", "order"]
    assert "machine code" in warploom("cache").stdout
    assert "removed 1 entries" in warploom("cache", "--clear", "--kind", "order").stdout
    assert [e.kind for e in kept.entries()] == ["cubin"]
    wrong = warploom("cache", "--kind", "kernels")
    assert wrong.returncode == 2
    assert "no kind 'kernels'" in wrong.stderr
