"""Passes of a kernel for MI355X: all of them printed, dumped, and resumed from edited schedules."""

# ruff: noqa: F821

import json

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import warploom as wl
from warploom.compiler import amd_pass_list, pass_list
from warploom.errors import BackendError, ConfigError, DocumentError, VerificationError
from warploom.ir.serialize import kernel_from_json, kernel_to_json
from warploom.kernels.gemm import gemm
from warploom.runtime.mi355x import CompiledMi355x


@wl.kernel
def scaled(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, by: float):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc * by


@wl.kernel
def doubled(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] + x[m, n]


@pytest.fixture(scope="module")
def made():
    return scaled.with_config(m=64, n=64, k=32).compile("bf16", target="mi355x")


@pytest.fixture
def dumped(made, tmp_path):
    made.dump_passes(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", amd_pass_list.NAMES)
def test_every_pass_can_be_printed(made, name):
    assert made.after(name).strip()


@pytest.mark.parametrize("old", sorted(amd_pass_list.ALIASES))
def test_old_names(made, old):
    assert made.after(old) == made.after(amd_pass_list.ALIASES[old])


def test_one_screen():
    lines = pass_list.screen("mi355x").splitlines()
    assert [line.split()[1] for line in lines] == list(amd_pass_list.NAMES)
    assert len(lines) <= 24


def test_an_unknown_pass(made):
    with pytest.raises(ConfigError, match="no pass"):
        made.after("ptxas")


def test_a_kernel_without_a_pipelined_loop_says_why():
    plain = doubled.compile("f32", target="mi355x")
    assert "not pipelined" in plain.after("tiles")
    with pytest.raises(ConfigError, match="no pipelined loop"):
        plain.after("sync")


def test_a_dump_names_every_pass_with_its_time(made, dumped):
    names = [p.name[3:-4] for p in sorted(dumped.glob("??_*.txt"))]
    assert names == list(amd_pass_list.NAMES)
    state = json.loads((dumped / "passes.json").read_text())
    assert list(state["seconds"]) == names
    assert state["seconds"]["codegen"] > 0
    assert amd_pass_list.is_dump(str(dumped))
    assert not pass_list.is_dump(str(dumped))


def test_a_dump_of_plain_loops_has_no_schedule(tmp_path):
    doubled.compile("f32", target="mi355x").dump_passes(tmp_path)
    assert not list(tmp_path.glob("schedule.loop*.json"))
    assert not list(tmp_path.glob("*_sync.txt"))


def test_resuming_gives_the_same_code(made, dumped):
    again = CompiledMi355x.resumed(dumped)
    assert again.assembly == made.assembly
    a, b = np.ones((70, 104)), np.ones((40, 104))
    out = again.execute({"x": a, "w": b}, {"by": 0.5}).outputs["out"]
    assert (out == 52).all()


def changed(folder, edit):
    path = folder / "schedule.loop0.json"
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data))


def test_a_schedule_with_a_wait_left_out_is_refused(dumped):
    def weaker(data):
        kernel = data["phases"]["kernel"] if "phases" in data else data["kernel"]
        waits = [e for e in kernel if "WAIT_VM" in json.dumps(e)]
        kernel.remove(waits[0])

    changed(dumped, weaker)
    with pytest.raises((VerificationError, DocumentError)):
        CompiledMi355x.resumed(dumped)


def test_a_schedule_of_another_kernel_is_refused(dumped, tmp_path):
    other = gemm.with_config(m=64, n=64, k=32).compile(
        "bf16", target="mi355x", without=["bias", "residual"]
    )
    more = tmp_path / "more"
    other.dump_passes(more)
    (dumped / "schedule.loop0.json").write_text((more / "schedule.loop0.json").read_text())
    with pytest.raises(BackendError, match="is not one of the loop"):
        CompiledMi355x.resumed(dumped)


def test_more_schedules_than_loops_are_refused(dumped):
    (dumped / "schedule.loop1.json").write_text((dumped / "schedule.loop0.json").read_text())
    with pytest.raises(BackendError, match="more than loops"):
        CompiledMi355x.resumed(dumped)


def test_no_dump(tmp_path):
    with pytest.raises(DocumentError, match="no dumped passes"):
        amd_pass_list.resume(tmp_path)
    assert not amd_pass_list.is_dump(str(tmp_path))
    assert not amd_pass_list.is_dump("x" * 5000)


def test_kernels_go_to_json_and_back(made):
    kernel = amd_pass_list.expanded(made.kernel)
    assert kernel_from_json(kernel_to_json(kernel)) == kernel
    with pytest.raises(DocumentError):
        kernel_from_json("{")
