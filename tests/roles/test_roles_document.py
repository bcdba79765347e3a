"""The multi-program document form: round trips, and precise errors for everything else."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.document.roles_json import (
    is_roles_json,
    read_roles,
    roles_from_json,
    roles_to_json,
    write_roles,
)
from warploom.errors import DocumentError
from warploom.hopper import GemmKernel

from .samples import gemm_document

DOCUMENT = gemm_document()
DATA = roles_to_json(DOCUMENT)


@pytest.mark.parametrize(
    "kernel", [GemmKernel(), GemmKernel(tile_m=256, tile_n=208), GemmKernel(cluster=(1, 2))]
)
def test_documents_round_trip_to_the_byte(kernel):
    document = gemm_document(kernel)
    text = write_roles(document)
    assert read_roles(text) == document
    assert write_roles(read_roles(text)) == text


def test_one_entry_a_line():
    lines = write_roles(DOCUMENT).splitlines()
    assert sum('"entry": "Load"' in line for line in lines) == 2


def test_the_two_forms_are_told_apart():
    assert is_roles_json(DATA)
    assert not is_roles_json({"prologue": []})
    assert not is_roles_json([])


def damaged(path, value):
    data = copy.deepcopy(DATA)
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return data


BAD = [
    (("schema",), "warploom.schedule/9", "schema"),
    (("rings", 0, "depth"), 0, "rings[0].depth"),
    (("rings", 0, "depth"), True, "rings[0].depth"),
    (("rings", 0, "per"), "hour", "rings[0].per"),
    (("rings", 0, "name"), 3, "rings[0].name"),
    (("cluster",), 0, "cluster"),
    (("programs", 0, "kernel", 0, "entry"), "Pray", "kernel[0].entry"),
    (("programs", 0, "kernel", 0, "parity"), 2, "kernel[0].parity"),
    (("programs", 0, "kernel", 0, "ring"), "xy", "kernel[0]"),
    (("programs", 0, "kernel", 2, "part"), "C", "kernel[2]"),
    (("programs", 1, "kernel", 2, "accumulator"), "d", "kernel[2]"),
    (("programs", 1, "kernel", 4, "pending"), -1, "kernel[4].pending"),
    (("programs", 1, "kernel"), {}, "kernel"),
    (("programs", 0), "producer", "programs[0]"),
    (("proof", "limit"), None, "proof.limit"),
    (("buffers", 0, "copies"), 1, "epilogue"),
]


@pytest.mark.parametrize(("path", "value", "where"), BAD, ids=[str(b[0]) for b in BAD])
def test_damage_is_named_with_its_path(path, value, where):
    with pytest.raises(DocumentError) as error:
        roles_from_json(damaged(path, value))
    assert where in error.value.path


def test_unknown_missing_and_repeated_keys():
    with pytest.raises(DocumentError, match="unknown key 'dephts'"):
        roles_from_json({**DATA, "dephts": 1})
    with pytest.raises(DocumentError, match="missing key 'rings'"):
        roles_from_json({k: v for k, v in DATA.items() if k != "rings"})
    with pytest.raises(DocumentError, match="twice"):
        read_roles('{"schema": 1, "schema": 2}')
    with pytest.raises(DocumentError, match="declared twice"):
        roles_from_json({**DATA, "rings": DATA["rings"] * 2})
    with pytest.raises(DocumentError, match="JSON"):
        read_roles("[" * 100000)


def paths(value, prefix=()):
    yield prefix
    if isinstance(value, dict | list):
        for key, v in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(v, (*prefix, key))


PATHS = [p for p in paths(DATA) if p]


@settings(max_examples=150, deadline=None)
@given(
    path=st.sampled_from(PATHS),
    value=st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.just([])),
)
def test_any_damage_reads_or_raises_a_document_error(path, value):
    data = json.loads(json.dumps(damaged(path, value)))
    try:
        document = roles_from_json(data)
    except DocumentError:
        return
    assert roles_from_json(roles_to_json(document)) == document
