"""Whatever a command writes, to standard output or error, fits 60, 80 and 120 columns."""

import inspect
import json

import pytest
from hypothesis import given, strategies as st

from tests.frontend import two_loops
from tests.viz.test_pages_in_a_browser import stamps
from warploom.cli.screen import fit, wrapped

from .runner import warploom

WIDTHS = (60, pytest.param(80, marks=pytest.mark.slow), 120)
ESCAPE = "\x1b["


def too_wide(text, width):
    """Lines that could have been broken: a word alone, such as a path, stays whole."""
    return [x for x in text.splitlines() if len(x) > width and len(x.split()) > 2]


def check(done, width):
    assert too_wide(done.stdout, width) == []
    assert too_wide(done.stderr, width) == []
    assert ESCAPE not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


SAID = (
    ("show", "fourwave"),
    ("show", "gemm"),
    ("show", "gemm", "--details"),
    ("show", "--list"),
    ("compile", "pingpong"),
    ("compile", "mine.py:two_loops"),
    ("verify", "gemm", "racy.json", "racy_roles.json", "broken.json", "--witness"),
    ("verify", "pingpong", "--trips", "1..4"),
    ("repair", "racy.json"),
    ("repair", "racy_roles.json"),
    ("simulate", "pingpong", "--trips", "4"),
    ("simulate", "attention"),
    ("timeline", "pingpong", "--trips", "2"),
    ("timeline", "attention", "--trips", "2"),
    ("timeline", "gemm", "--trips", "2", "--stamps", "stamps.json"),
    ("graph", "gemm"),
    ("graph", "pingpong"),
    ("diff", "pingpong", "fourwave"),
    ("diff", "gemm", "mine.py:two_loops"),
    ("explore", "gemm", "racy.json", "nothing.json"),
    ("explore", "gemm", "--shape", "512x512x512", "--top", "3"),
    ("explore", "--tile", "64x64x32", "--strategy", "greedy", "-j", "1", "--cache", "c"),
    ("costs", "h200"),
    ("costs", "mi355x"),
    ("search", "gemm@m=64,n=64,k=64", "--shapes", "1", "--trials", "1", "--seconds", "0.1"),
    ("emit", "h200", "gemm", "--no-build", "-o", "out"),
    ("run", "pingpong", "--runs", "1"),
    ("run", "gemm", "--host", "--runs", "1"),
    ("doctor",),
)
REFUSED = (
    ("show",),
    ("show", "nothing_of_this_name_which_is_rather_long_and_has_no_near_match"),
    ("show", "gem"),
    ("show", "attention@q=64"),
    ("show", "pingpong", "--tile", "7x7"),
    ("show", "pingpong", "--tile", "99999999999999x1x1"),
    ("show", "gemm", "--after", "nothing"),
    ("show", "."),
    ("show", "folder.json"),
    ("show", "broken.json"),
    ("show", "mine.py:nothing"),
    ("show", "fails.py:make"),
    ("compile", "pingpong", "--scheduling", "nothing"),
    ("compile", "pingpong", "--strange-option"),
    ("compile", "gemm", "-o", "no/such/folder/which/cannot/be/written/to/gemm.json"),
    ("verify", "nothing.json", "folder.json", "binary.json", "broken.json"),
    ("verify", "gemm", "--trips", "9..1"),
    ("repair", "broken.json"),
    ("simulate", "gemm", "--target", "pingpong"),
    ("simulate", "pingpong", "--trips", "-1"),
    ("timeline", "gemm", "--stamps", "broken.json"),
    ("timeline", "gemm", "--format", "nothing"),
    ("graph", "bare.json"),
    ("diff", "gemm"),
    ("explore", "--tile", "x"),
    ("explore", "--shape", "1x1x1"),
    ("costs", "nothing"),
    ("search", "gemm@m=64,n=64,k=64", "--tile", "1x1x1"),
    ("emit", "h200", "pingpong"),
    ("emit", "h200", "racy_roles.json"),
    ("emit", "gfx950", "own.json"),
    ("emit", "nothing"),
    ("run", "gemm", "--shape", "3x"),
    ("run", "gemm", "--set", "nope=1"),
    ("bench", "pingpong"),
    ("check-isa", "nothing.s"),
    ("emulate", "nothing.s"),
    ("emulate", "folder.json"),
    ("nothing",),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sources of every kind, right ones, racy ones and such as nobody can read."""
    folder = tmp_path_factory.mktemp("s")
    (folder / "folder.json").mkdir()
    (folder / "mine.py").write_text(inspect.getsource(two_loops))
    (folder / "fails.py").write_text("def make():\n    raise ValueError('no ' * 60)\n")
    (folder / "broken.json").write_text('{"schema": "warploom.schedule/1"}')
    (folder / "binary.json").write_bytes(bytes(range(256)))
    written = {}
    for name, source in (("racy", "pingpong"), ("racy_roles", "gemm")):
        assert warploom("compile", source, "-o", folder / f"{name}.json").returncode == 0
        written[name] = json.loads((folder / f"{name}.json").read_text())
    bare = {k: v for k, v in written["racy"].items() if k not in ("body", "edges")}
    for entry in written["racy"]["kernel"]:
        entry["op"]["wait_value"] *= 2
    consumer = next(p for p in written["racy_roles"]["programs"] if p["name"] == "consumer")
    next(e for e in consumer["kernel"] if "pending" in e)["pending"] += 1
    written["racy_roles"]["name"] = "mine"
    for name, data in (*written.items(), ("bare", bare), ("stamps", stamps())):
        (folder / f"{name}.json").write_text(json.dumps(data))
    return folder


@pytest.fixture(params=WIDTHS)
def width(request, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


@pytest.mark.parametrize("words", SAID, ids=" ".join)
def test_what_is_said_fits(words, width):
    done = warploom(*words)
    assert done.stdout
    check(done, width)


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_is_refused_fits(words, width):
    done = warploom(*words)
    assert done.returncode == 2 or (words[:2] == ("emit", "h200") and done.returncode == 1)
    check(done, width)


@pytest.mark.parametrize("words", [("verify", "racy.json"), ("show", "nothing"), ("doctor",)])
def test_a_width_may_be_asked_for(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    narrow, wide = (warploom(*words, "--width", str(n)) for n in (60, 120))
    check(narrow, 60)
    check(wide, 120)
    assert narrow.stdout + narrow.stderr != wide.stdout + wide.stderr
    assert " ".join(narrow.stderr.split()) == " ".join(wide.stderr.split())


@given(
    st.text(st.sampled_from("ab  \n-/"), max_size=200),
    st.integers(10, 40),
)
def test_breaking_lines_loses_no_word(text, width):
    fitting = fit(text, width)
    assert fitting.split() == text.split()
    assert too_wide(fitting, width) == []
    assert fit(fitting, width) == fitting


def test_colour_takes_no_room():
    assert wrapped("  ", "\x1b[1mred\x1b[0m " * 9, 40) == [
        "  " + " ".join(["\x1b[1mred\x1b[0m"] * 9)
    ]
