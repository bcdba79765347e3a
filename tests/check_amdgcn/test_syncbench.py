"""SyncBench, AMD: every wrong form is found, every fixed form is clean."""

import json
from pathlib import Path

import pytest

from warploom.axioms import resolve
from warploom.check.amdgcn import check_amdgcn, read_kernel
from warploom.check.amdgcn.uses import is_dma
from warploom.check.launch import Launch

FOLDER = Path(__file__).parents[2] / "bench" / "syncbench" / "amd"
CASES = {c["name"]: c for c in json.loads((FOLDER / "cases.json").read_text())}


def verdict(name, form):
    folder = FOLDER / name
    text = (folder / f"{form}.s").read_text()
    return check_amdgcn(text, Launch.read(folder / "launch.json"), axioms=resolve(None))


@pytest.mark.parametrize("name", CASES)
def test_the_wrong_form_is_found_and_the_fixed_form_is_clean(name):
    wrong = verdict(name, "wrong")
    assert wrong.verdict.value in CASES[name]["expected"], wrong.text()
    fixed = verdict(name, "fixed")
    assert fixed.clean, fixed.text()
    assert not fixed.never_run


def test_enough_cases_with_addresses_and_reasons():
    assert len(CASES) >= 10
    for case in CASES.values():
        assert case["thread"].startswith("https://github.com/")
        assert case["why"]
        assert case["target"] in ("gfx942", "gfx950")


def test_the_files_are_what_the_script_writes(tmp_path, monkeypatch):
    import importlib.util

    spec = importlib.util.spec_from_file_location("build", FOLDER / "build.py")
    build = importlib.util.module_from_spec(spec)
    import sys

    monkeypatch.setitem(sys.modules, "build", build)
    spec.loader.exec_module(build)
    monkeypatch.setattr(build, "HERE", tmp_path)
    build.main()
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert made
    for path in made:
        assert (tmp_path / path).read_text() == (FOLDER / path).read_text(), path


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_without_vm_order_is_what_a_run_without_it_says(name):
    """Every file with LDS-DMA names the axiom and gives both verdicts."""
    text = (FOLDER / name / "fixed.s").read_text()
    uses_dma = any(is_dma(i) for i in read_kernel(text).instructions)
    said = [a for a in verdict(name, "fixed").assumes if a.startswith("vm_order")]
    assert bool(said) is uses_dma
    if not uses_dma:
        return
    launch = Launch.read(FOLDER / name / "launch.json")
    off = check_amdgcn(text, launch, axioms=resolve({"vm_order": False})).verdict.value
    word = "the same" if off == "clean" else off
    assert said[0].endswith(f"Turned off, the verdict is {word}.")
