"""An order that was solved once is read from disk, checked, and solved anew where that fails."""

import json

import pytest

from warploom.compiler import compile_cache as kept
from warploom.compiler.disk_cache import DiskCache
from warploom.kernels.gemm import gemm
from warploom.passes import driver as column


@pytest.fixture
def solves(tmp_path, monkeypatch):
    """How often the solver was asked, and the folder of what is kept."""
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    asked, real = [], column.solve_alike

    def solve(*given):
        asked.append(given)
        return real(*given)

    monkeypatch.setattr(column, "solve_alike", solve)
    return asked, DiskCache(tmp_path)


def compiled(**tiles):
    text = gemm.with_config(**tiles) if tiles else gemm
    made = text.compile("bf16", without=("bias", "residual"))
    return made.lower(made.choices[0].config)


def test_an_order_is_solved_once(solves):
    asked, _ = solves
    first, again = compiled(), compiled()
    assert len(asked) == 1
    assert first.result == again.result
    assert first.document == again.document
    compiled(m=128, n=192, k=64)
    assert len(asked) == 2


def test_where_no_solver_is_what_any_found_is_taken(solves, monkeypatch):
    asked, cache = solves
    monkeypatch.setattr(kept, "_solver", lambda: "9.9")
    first = compiled()
    assert len(list(cache.entries(["order"]))) == 2
    monkeypatch.setattr(kept, "_solver", lambda: "")
    assert compiled().document == first.document
    assert len(asked) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"[]",
        lambda data: json.dumps({**data, "times": []}).encode(),
        lambda data: json.dumps({**data, "times": [0] * len(data["times"])}).encode(),
        lambda data: json.dumps({**data, "ii": 1}).encode(),
        lambda data: json.dumps({**data, "limit": {"kind": "nothing"}}).encode(),
    ],
)
def test_a_damaged_order_is_none(solves, damage):
    asked, cache = solves
    first = compiled()
    for entry in list(cache.entries(["order"])):
        data = json.loads(cache.get("order", entry.key))
        cache.put("order", entry.key, damage(data))
    assert compiled().document == first.document
    assert len(asked) == 2
