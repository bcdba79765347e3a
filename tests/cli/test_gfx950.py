"""``warploom emit gfx950``, ``check-isa`` and ``emulate`` as a user runs them."""

import json

import pytest

pytest.importorskip("llvmlite")

from warploom.cli.kernels import kernel_names

from .runner import warploom


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    done = warploom(
        "emit", "gfx950", "--schedule", "fourwave", "--tile", "64x64x32", "--mma", "16x16x32",
        "-o", str(folder), "--hip",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "exact: " in done.stdout
    assert "matrix bound" in done.stdout
    return folder


def test_all_files_are_there(folder):
    names = {p.name for p in folder.iterdir()}
    assert {"kernel.s", "kernel.o", "kernel.json", "kernel.schedule.json", "kernel.hip"} <= names
    assert json.loads((folder / "kernel.json").read_text())["tile"]["block"] == [64, 64, 32]


def test_the_written_kernel_passes_the_gate(folder):
    done = warploom("check-isa", str(folder / "kernel.s"))
    assert done.returncode == 0
    assert done.stdout.startswith("exact")


def test_a_changed_kernel_does_not(folder, tmp_path):
    text = (folder / "kernel.s").read_text()
    broken = tmp_path / "broken.s"
    broken.write_text(text.replace("lgkmcnt(1)", "lgkmcnt(2)", 1))
    done = warploom(
        "check-isa", str(broken), "--sidecar", str(folder / "kernel.json"),
        "--schedule", str(folder / "kernel.schedule.json"),
    )  # fmt: skip
    assert done.returncode == 1
    assert "! s_waitcnt lgkmcnt(1)" in done.stdout


def test_the_written_kernel_computes(folder):
    done = warploom(
        "emulate", str(folder / "kernel.s"), "--m", "70", "--n", "50", "--k", "128",
        "--timing", "late", "--timing", "random-3", "--order", "forward", "--order", "mixed",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("right") == 4
    assert "1 loop iteration(s)" in done.stdout


def test_a_broken_kernel_computes_wrong(folder, tmp_path):
    text = (folder / "kernel.s").read_text()
    broken = tmp_path / "broken.s"
    broken.write_text(text.replace("\ts_barrier\n", ""))
    done = warploom(
        "emulate", str(broken), "--sidecar", str(folder / "kernel.json"), "--timing", "starved"
    )
    assert done.returncode == 1
    assert "WRONG" in done.stdout


def test_sizes_and_timings_are_checked(folder):
    done = warploom("emulate", str(folder / "kernel.s"), "--k", "100")
    assert done.returncode == 2
    assert "pad K" in done.stderr
    done = warploom("emulate", str(folder / "kernel.s"), "--timing", "soon")
    assert done.returncode == 2
    assert "no timing 'soon'" in done.stderr


def test_a_racy_schedule_is_not_emitted_unasked(tmp_path):
    done = warploom(
        "emit", "gfx950", "--schedule", "fourwave", "--sync", "reference", "-o", str(tmp_path / "x")
    )
    assert done.returncode == 1
    assert "can race" in done.stderr
    assert not (tmp_path / "x").exists()


def test_missing_files_are_named(tmp_path):
    done = warploom("check-isa", str(tmp_path / "none.s"))
    assert done.returncode == 2
    assert "none.s" in done.stderr


def test_documents_can_be_emitted(folder, tmp_path):
    done = warploom(
        "emit", "gfx950", "--schedule", str(folder / "kernel.schedule.json"),
        "--tile", "64x64x32", "-o", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernel.s").read_text() == (folder / "kernel.s").read_text()


@pytest.mark.parametrize(("schedule", "mma"), [("fourwave", "32x32x64"), ("pingpong", "16x16x128")])
def test_a_document_says_of_which_type_its_elements_are(schedule, mma, tmp_path):
    document = str(tmp_path / "x.json")
    tile = ("--tile", "128x128x128")
    done = warploom("compile", schedule, "--dtype", "fp8", *tile, "-o", document)
    assert done.returncode == 0, done.stderr
    done = warploom("emit", "gfx950", document, "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert f"128x128x128 fp8, mfma {mma}" in done.stdout
    done = warploom("emit", "gfx950", document, "--dtype", "bf16", "-o", str(tmp_path / "other"))
    assert done.returncode == 2
    assert "the schedule is for fp8 elements" in done.stderr
    assert not (tmp_path / "other").exists()


def test_single_buffer_has_a_default_tile_of_fp8(tmp_path):
    done = warploom("emit", "gfx950", "single_buffer", "--dtype", "fp8", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "128x128x128 fp8" in done.stdout


def test_the_schedule_of_a_tile_kernel_is_no_kernel(tmp_path):
    document = str(tmp_path / "x.json")
    tile = ("--tile", "64x64x32")
    done = warploom("compile", "gemm", "--target", "mi355x", *tile, "-o", document)
    assert done.returncode == 0, done.stderr
    done = warploom("emit", "gfx950", document, *tile, "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "emit the kernel" in done.stderr


def test_the_folder_names_its_assembly(folder):
    done = warploom("check-isa", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("exact")


def test_machine_readable_output(folder, tmp_path):
    gate = json.loads(warploom("check-isa", str(folder / "kernel.s"), "--json").stdout)
    assert gate["exact"] is True
    assert gate["resources"]["vgpr_spills"] == 0
    done = warploom("emulate", str(folder / "kernel.s"), "--timing", "late", "--json")
    report = json.loads(done.stdout)
    assert report["trips"] == 3
    assert report["runs"] == [
        {"timing": "late", "order": "forward", "right": True, "error": 0.0, "allowed": 0.0}
    ]


@pytest.fixture(scope="module")
def attention(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention")
    done = warploom(
        "emit", "gfx950", "attention@d=64", "--tile", "64x32", "--choose", "causal=true",
        "-o", str(folder),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "proven" in done.stdout
    assert "exact: " in done.stdout
    assert "registers: " in done.stdout
    return folder


@pytest.mark.slow
def test_attention_passes_the_gate_and_computes(attention):
    done = warploom("check-isa", str(attention / "kernel.s"))
    assert done.returncode == 0
    done = warploom("emulate", str(attention / "kernel.s"), "--size", "s=70")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("right") == 2


def test_commands_take_the_schedule_of_attention(attention):
    schedule = str(attention / "kernel.schedule.json")
    done = warploom("verify", schedule)
    assert done.returncode == 0
    assert "clean (trip counts: all" in done.stdout
    assert "VALU" in warploom("simulate", schedule).stdout
    assert "STEP_new" in warploom("show", schedule).stdout


def test_attention_takes_no_schedule_of_others(tmp_path):
    done = warploom("emit", "gfx950", "attention", "--schedule", "fourwave", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "attention.py" in done.stderr


def test_any_tile_kernel_is_emitted_and_executed(tmp_path):
    done = warploom("emit", "gfx950", "swiglu", "--tile", "64x32x32", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "swiglu on gfx950: pipelined" in said
    assert "proven" in said
    kernel = str(tmp_path / "kernel.s")
    done = warploom("emulate", kernel, "--m", "9", "--size", "k=33")
    assert done.returncode == 0, done.stderr
    assert "k 33, m 9, n 33" in done.stdout
    assert done.stdout.count("right") == 2
    done = warploom("check-isa", kernel)
    assert done.returncode == 0, done.stderr
    assert "exact: " in done.stdout
    for words in (("--size", "z=3"), ("--size", "m")):
        assert warploom("emulate", kernel, *words).returncode == 2
    done = warploom("run", "swiglu", "--on", "mi355x", "--tile", "64x32x32")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("right") == 4
    assert warploom("run", "swiglu", "--on", "mi3").returncode == 2
    done = warploom("show", "swiglu", "--target", "mi355x", "--tile", "64x32x32")
    assert "pipelined" in done.stdout, done.stderr
    assert "WAIT_VM" in done.stdout
    done = warploom("verify", "swiglu", "--target", "mi355x", "--tile", "64x32x32")
    assert done.returncode == 0, done.stderr
    done = warploom("emit", "gfx950", "swiglu", "--tile", "64x32", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "m, n, k" in done.stderr
    done = warploom("emit", "gfx950", "swiglu", "--schedule", "fourwave", "-o", str(tmp_path))
    assert done.returncode == 2


def test_a_kernel_without_a_pipelined_loop(tmp_path):
    source = "tests/codegen_amdgcn/tile_kernels.py:listed"
    done = warploom("emit", "gfx950", source, "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "not pipelined: the loop over 'k'" in " ".join(done.stdout.split())
    done = warploom("check-isa", str(tmp_path / "kernel.s"))
    assert done.returncode == 2
    assert "warploom emulate" in done.stderr
    done = warploom("verify", source, "--target", "mi355x")
    assert done.returncode == 0, done.stderr
    assert "executed as machine code" in " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", kernel_names())
def test_every_shipped_kernel_runs_on_gfx950(name, tmp_path):
    """Emitted, and executed from its files against NumPy, one element more than a tile."""
    dtype = ("--dtype", "fp8") if "scaled" in name else ()
    done = warploom("emit", "gfx950", name, *dtype, "-o", str(tmp_path))
    if name == "grouped_scattered":  # its usual result is bf16
        assert done.returncode == 2
        assert "declare 'out' as wl.f32" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    done = warploom("emulate", str(tmp_path / "kernel.s"))
    assert done.returncode == 0, done.stdout + done.stderr
