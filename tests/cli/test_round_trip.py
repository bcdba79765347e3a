"""Every schedule as a document: written, read, and taken by every command that takes documents."""

import json
from pathlib import Path

import pytest

from tests.cli.runner import warploom
from warploom import read_schedule, write_schedule

FOLDER = Path(__file__).parents[1] / "compile"
OWN = FOLDER / "test_single_buffer.py"
PRODUCTS = {
    "pingpong": "pingpong",
    "fourwave": "fourwave",
    "single_buffer": "single_buffer",
    "pingpong by interval": "pingpong --scheduling modulo",
    "separate loads": f"{OWN}:SeparateLoads",
    "sub-tiles": f"{OWN}:SubTiles",
}
OTHERS = {
    "attention": f"{OWN}:SingleBufferAttention",
    "sequential attention": f"{OWN}:Sequential",
}
LOOKING = (
    ("verify",),
    ("show",),
    ("timeline",),
    ("timeline", "--format", "svg"),
    ("simulate",),
    ("graph",),
    ("repair",),
)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    made = {}
    for name, source in (PRODUCTS | OTHERS).items():
        made[name] = folder / f"{len(made)}.json"
        done = warploom("compile", *source.split(), "-o", made[name])
        assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("name", [*PRODUCTS, *OTHERS])
def test_a_document_is_read_as_it_was_written(documents, name):
    text = documents[name].read_text()
    assert write_schedule(read_schedule(text)) == text


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
@pytest.mark.parametrize("name", [*PRODUCTS, *OTHERS])
def test_every_command_takes_every_document(documents, name, command):
    done = warploom(command[0], documents[name], *command[1:])
    assert done.returncode == 0, (done.stdout[-400:], done.stderr)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_executed(documents, name):
    done = warploom("run", documents[name])
    assert done.returncode == 0, (done.stdout[-400:], done.stderr)
    assert "WRONG" not in done.stdout


@pytest.mark.parametrize("name", OTHERS)
def test_other_work_is_refused_by_the_executor_of_products(documents, name):
    done = warploom("run", documents[name])
    assert done.returncode == 2
    assert "no part of a matrix product" in done.stderr


EMITTED = ("pingpong", "fourwave", "single_buffer", "separate loads", "sub-tiles")


@pytest.mark.parametrize("name", EMITTED)
def test_emitted_documents_are_checked_and_emulated_from_disk(documents, name, tmp_path):
    pytest.importorskip("llvmlite")
    done = warploom("emit", "gfx950", documents[name], "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert warploom("check-isa", tmp_path / "kernel.s").stdout.startswith("exact")
    done = warploom("emulate", tmp_path / "kernel.s", "--timing", "random-1", "--json")
    assert done.returncode == 0, done.stdout
    assert all(run["right"] for run in json.loads(done.stdout)["runs"])
    text = (tmp_path / "kernel.schedule.json").read_text()
    assert read_schedule(text) == read_schedule(documents[name].read_text())


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_lowering_is_refused_before_anything_is_written(documents, name, tmp_path):
    done = warploom("emit", "gfx950", documents[name], "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "there is no lowering" in done.stderr
    assert not (tmp_path / "out").exists()


SHAPES = {
    "bf16": ("16x16x32", "32x32x16"),
    "fp16": ("16x16x32", "32x32x16"),
    "fp8": ("16x16x128", "32x32x64"),
}
BRIEF = (("single_buffer", "fp16", "32x32x16"), ("fourwave", "fp16", "16x16x32"))


def combinations():
    for schedule in ("pingpong", "fourwave", "single_buffer"):
        for dtype, shapes in SHAPES.items():
            for mma in shapes:
                case = (schedule, dtype, mma)
                slow = () if case in BRIEF else (pytest.mark.slow,)
                yield pytest.param(*case, marks=slow)


@pytest.mark.parametrize(("schedule", "dtype", "mma"), list(combinations()))
def test_a_document_alone_says_what_is_emitted(schedule, dtype, mma, tmp_path):
    """Tile, element type and matrix instruction are asked for once, when it is compiled."""
    pytest.importorskip("llvmlite")
    wide = schedule == "pingpong" and mma.startswith("32")  # two buffers of it fill the LDS
    tile = f"128x256x{128 if dtype == 'fp8' else 64}" if wide else "128x128x128"
    asked = ("--tile", tile, "--dtype", dtype, "--mma", mma)
    document = tmp_path / "x.json"
    done = warploom("compile", schedule, *asked, "-o", document)
    assert done.returncode == 0, done.stderr
    shape = read_schedule(document.read_text()).shape
    assert (*shape.tile, *shape.mma) == tuple(int(n) for n in f"{tile}x{mma}".split("x"))
    assert shape.dtype == dtype
    for command in (("verify",), ("timeline",), ("simulate",)):
        assert warploom(command[0], document, *command[1:]).returncode == 0
    out, direct = tmp_path / "out", tmp_path / "direct"
    done = warploom("emit", "gfx950", document, "-o", out)
    assert done.returncode == 0, done.stderr
    assert warploom("emit", "gfx950", schedule, *asked, "-o", direct).returncode == 0
    for name in ("kernel.s", "kernel.schedule.json"):
        assert (out / name).read_text() == (direct / name).read_text()
    assert warploom("check-isa", out).returncode == 0
    assert warploom("emulate", out, "--timing", "random-1").returncode == 0


def test_a_matrix_instruction_is_of_built_in_schedules(documents):
    done = warploom("compile", documents["pingpong"], "--mma", "32x32x16")
    assert done.returncode == 2
    assert "--mma is of built-in schedules" in done.stderr
