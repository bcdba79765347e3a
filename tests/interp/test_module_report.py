"""All verifications of a module in one report, for modules that come from a file too."""

from __future__ import annotations

import copy
import json
import time

import pytest
from typer.testing import CliRunner

from warploom.cli import build_app
from warploom.errors import DocumentError
from warploom.interp.module_report import verify_module
from warploom.ir.serialize import from_json, to_json
from warploom.kernels.gemm import gemm


@pytest.fixture(scope="module")
def data():
    made = gemm.compile("bf16", without=["bias", "residual"], sizes={"m": 256, "n": 256, "k": 256})
    return json.loads(to_json(made.module_of(made.choices[0].config)))


def verified(tmp_path, data, *options):
    path = tmp_path / "module.json"
    path.write_text(json.dumps(data))
    begun = time.process_time()
    done = CliRunner().invoke(build_app(("verify",)), ["verify", str(path), *options])
    assert time.process_time() - begun < 5
    return done


def nodes(value, path=()):
    """All places of JSON values."""
    yield path, value
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        yield from nodes(item, (*path, key))


def changed(data, path, value):
    made = copy.deepcopy(data)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def test_a_module_is_verified_whole(tmp_path, data):
    done = verified(tmp_path, data, "--json")
    assert done.exit_code == 0, done.stdout
    found = json.loads(done.stdout)
    assert found["verdict"] == "clean"
    assert found["assumes"] == []  # its values were compared with the author's kernel
    assert found["dataflow"]["sizes"]
    assert any("all sizes" in claim for claim in found["coverage"])


def test_its_kernel_is_what_it_must_compute(tmp_path, data):
    """The author's kernel multiplies by alpha; here it would add it."""
    places = [p for p, v in nodes(data["module"]["kernel"]) if v == "mul"]
    assert places
    done = verified(tmp_path, changed(data, ("module", "kernel", *places[0]), "add"), "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["findings"][0]["code"] == "DATAFLOW"


def test_a_ring_that_counts_one_arrival_more(tmp_path, data):
    ring = ("module", "storage", "rings", 0, "empty_arrivals")
    done = verified(tmp_path, changed(data, ring, 5), "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["verdict"] == "race"


HUGE = (10**18, -1, 0, 10**9, 3)


def test_numbers_of_any_size_give_a_verdict_and_soon(tmp_path, data):
    """Every seventh number of the module, replaced: an answer, no hang, no raw error."""
    places = [p for p, v in nodes(data) if isinstance(v, int) and not isinstance(v, bool)]
    assert len(places) > 100
    for n, place in enumerate(places[::7]):
        done = verified(tmp_path, changed(data, place, HUGE[n % len(HUGE)]), "--json")
        assert done.exit_code in (0, 1, 2)
        assert done.exception is None or isinstance(done.exception, SystemExit), place


@pytest.mark.parametrize("value", [None, "x", [], {}, 1.5, True])
def test_values_of_other_kinds_are_malformed(tmp_path, data, value):
    places = [p for p, v in nodes(data) if isinstance(v, int) and not isinstance(v, bool)]
    for place in places[::41]:
        done = verified(tmp_path, changed(data, place, value))
        assert done.exit_code in (0, 1, 2)
        assert done.exception is None or isinstance(done.exception, SystemExit), place


def test_a_module_without_roles_is_malformed(data):
    with pytest.raises(DocumentError):
        verify_module(from_json(json.dumps(changed(data, ("module", "roles"), []))))
