"""Reasons of waits survive the way through JSON, into listings and pages."""

import json

import pytest

from warploom import (
    KernelGeometry,
    Pipeline4Wave,
    compile_schedule,
    read_schedule,
    verify,
    write_schedule,
)
from warploom.cli.source import load

from .runner import warploom


@pytest.fixture(scope="module")
def compiled():
    return compile_schedule(Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64))))


def test_a_document_carries_every_reason(compiled):
    text = write_schedule(compiled)
    again = read_schedule(text)
    found = {
        (e.phase, i): e.reason
        for entries in (again.prologue, again.kernel, again.epilogue)
        for i, e in enumerate(entries)
        if e.reason
    }
    assert found == {(r.phase, r.index): r.text for r in compiled.reasons}
    assert write_schedule(again) == text


def test_a_reason_changes_nothing(compiled):
    document = compiled.document()
    bare = json.loads(write_schedule(document))
    for phase in ("prologue", "kernel", "epilogue"):
        for entry in bare[phase]:
            entry.pop("reason", None)
    without = read_schedule(json.dumps(bare))
    assert without == document
    assert verify(without) == verify(document)


def test_listings_and_pages_of_a_file_show_them(tmp_path):
    path = tmp_path / "fourwave.json"
    warploom("compile", "fourwave", "-o", path)
    assert "must be complete" in warploom("show", path).stdout
    data = json.loads(warploom("show", path, "--json").stdout)
    assert any("must be complete" in text for text in data["reasons"].values())
    page = warploom("timeline", path, "--trips", "2", "--format", "html").stdout
    held = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert any("must be complete" in text for text in held["reasons"].values())


def test_roles_too(tmp_path):
    path = tmp_path / "gemm.json"
    warploom("compile", "gemm", "-o", path)
    page = warploom("timeline", path, "--format", "html").stdout
    held = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert any(key.startswith("consumer.kernel ") for key in held["reasons"])
    listing = warploom("show", path).stdout
    assert "legend" in listing
    assert "WaitFull, WaitEmpty" in listing


def test_a_malformed_reason_is_an_error(tmp_path):
    data = json.loads(warploom("compile", "pingpong", "--json").stdout)
    data["kernel"][0]["reason"] = 3
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(data))
    done = warploom("show", path)
    assert done.returncode == 2
    assert "$.kernel[0].reason" in done.stderr


@pytest.mark.parametrize("name", ["gemm", "attention", "rms_gemm", "attention_grad"])
def test_every_op_has_a_line_of_the_author_or_says_what_it_is(name):
    subject = load(name)
    lines = subject.lines()
    for op in subject.simulate(8).ops:
        assert ".py" in lines[op.place.label], op.place.label
