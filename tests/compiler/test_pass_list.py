"""Every pass can be printed and dumped, and emission goes on from what was dumped."""

import json

import pytest

from warploom.compiler import pass_list
from warploom.errors import ConfigError, DocumentError, VerificationError
from warploom.ir import read_schedule, write_schedule
from warploom.kernels.attention_grad_ends import prepared
from warploom.kernels.gemm import gemm
from warploom.kernels.scan import scan
from warploom.passes.driver import LOOP_PASSES


@pytest.fixture(scope="module")
def made():
    return gemm.with_config(m=128, n=128).compile("bf16", without=("bias", "residual"))


@pytest.fixture
def dumped(made, tmp_path):
    made.dump_passes(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", pass_list.NAMES)
def test_a_kernel_is_printed_after_every_pass(made, name):
    assert made.after(name).strip()


@pytest.mark.parametrize("old", sorted(pass_list.ALIASES))
def test_former_names_of_passes_are_taken(made, old):
    assert made.after(old) == made.after(pass_list.ALIASES[old])


def test_the_list_names_every_pass_once():
    lines = pass_list.screen().splitlines()
    assert [line.split()[1] for line in lines] == list(pass_list.NAMES)
    assert len(set(pass_list.NAMES)) == len(pass_list.NAMES)


def test_unknown_passes_are_refused(made):
    with pytest.raises(ConfigError, match="no pass"):
        made.after("nothing")


def test_a_kernel_without_a_loop_has_no_loop_passes(tmp_path):
    row = prepared.compile("bf16", sizes={"d": 64}, without=("turns",))
    assert "prepared" in row.after("parse")
    with pytest.raises(ConfigError, match="has no loop"):
        row.after("layout")
    row.dump_passes(tmp_path)
    names = {p.stem.partition("_")[2] for p in tmp_path.glob("[0-9]*.txt")}
    assert names == {p.name for p in (*pass_list.KERNEL_PASSES, *pass_list.MODULE_PASSES)}
    with pytest.raises(DocumentError, match="no role programs"):
        pass_list.resume(tmp_path)


def test_a_dump_holds_every_pass_and_resumes_to_the_same_source(made, dumped):
    names = [p.stem.partition("_")[2] for p in sorted(dumped.glob("[0-9]*.txt"))]
    assert names == list(pass_list.NAMES)
    assert set(json.loads((dumped / "passes.json").read_text())["seconds"]) == {
        p.stem for p in dumped.glob("[0-9]*.txt")
    }
    assert pass_list.resume(dumped) == made.cuda


def test_edited_programs_are_verified_before_they_are_emitted(dumped):
    path = dumped / "programs.loop0.json"
    data = json.loads(write_schedule(read_schedule(path.read_text())))
    for program in data["programs"]:
        program["kernel"] = [e for e in program["kernel"] if e["entry"] != "WaitFull"]
    path.write_text(json.dumps(data))
    with pytest.raises(VerificationError):
        pass_list.resume(dumped)


def test_a_folder_that_was_not_dumped_is_refused(tmp_path):
    with pytest.raises(DocumentError, match="no dumped passes"):
        pass_list.resume(tmp_path)


def test_each_loop_of_a_tile_goes_through_all_passes():
    made = scan.compile("bf16", sizes={"t": 64, "d": 64, "j": 64, "e": 64, "r": 4})
    _, records = pass_list.trace(made, made.choices[0].config)
    loops = {r.state.number for r in records}
    assert [r.of for r in records] == list(LOOP_PASSES) * len(loops)


def test_a_dump_for_a_target_of_ones_own_is_refused_by_name(dumped):
    path = dumped / "passes.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"target": "mine"}))
    with pytest.raises(DocumentError, match="target 'mine' is none that ships"):
        pass_list.resume(dumped)
