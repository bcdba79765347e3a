"""``warploom search`` of tile kernels: measured by the user's function, kept, refused in words."""

import json

import pytest

from tests.cli.runner import warploom
from warploom.compiler.disk_cache import DiskCache
from warploom.errors import ConfigError

SPEC = "gemm@m=1024,n=1024,k=512"
PINS = (
    "m=128",
    "k=64",
    "consumer_warpgroups=2",
    "store_from_registers=true",
    "epilogue_stages=1",
    "a_in_registers=true",
)
FEW = ["--shapes", "2", "--trials", "4", *(w for p in PINS for w in ("--pin", p))]


def run(*words):
    return warploom("search", *words)


@pytest.fixture
def measure(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def took(config):\n    return 9 / config.extent('n')\n")
    return f"{path}:took"


def test_a_users_measure_ranks_and_the_best_is_kept(measure, tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))
    store, plot = tmp_path / "found.json", tmp_path / "plot.svg"
    files = ["--store", str(store), "--plot", str(plot)]
    done = run(SPEC, *FEW, "--measure", measure, *files, "--keep")
    assert done.returncode == 0, done.stderr
    assert "kept: calls of gemm on these sizes run" in done.stdout
    assert plot.read_text().startswith("<svg")
    again = run(SPEC, *FEW, "--measure", measure, "--store", str(store), "--json")
    found = json.loads(again.stdout)
    times = [r["ms"] for r in found["rows"] if r["ms"] is not None]
    assert times == sorted(times)
    assert found["measured"]
    cache = DiskCache(tmp_path / "cache")
    (entry,) = cache.entries(["tuned"])
    kept = json.loads(cache.get("tuned", entry.key))
    assert kept["config"]["n"] == found["rows"][0]["config"]["n"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tile", "128x128x64"], "is a tile kernel"),
        (["--choose", "causal"], "says nothing"),
        (["--pin", "q=3", "--shapes", "1"], "cannot be pinned"),
    ],
)
def test_mistakes_are_reported(words, said):
    done = run(SPEC, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_nothing_measured_is_not_kept(monkeypatch):
    monkeypatch.setattr("warploom.cli.search.why_no_gpu", lambda: "no GPU")
    done = run(SPEC, *FEW, "--keep")
    assert done.returncode == 2
    assert "nothing is kept" in done.stderr


def test_what_was_measured_before_is_not_pinned(monkeypatch):
    """A search of a kernel for which a config ships looks at others, too."""

    def only_look(compiled, **_):
        assert not compiled.pins
        raise ConfigError("looked", fix="nothing")

    monkeypatch.setattr("warploom.cli.search.search_tiles", only_look)
    done = run("attention@b=1,h=8,g=8,s=4096,t=4096,d=128", "--choose", "causal=true")
    assert "looked" in done.stderr
