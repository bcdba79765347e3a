"""The multi-program document form: round trips, and precise errors for everything else."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from tests.mbarrier.gemm_kernel import GemmKernel
from warploom.errors import DocumentError
from warploom.ir.format1 import read_schedule, schedule_from_json, schedule_to_json, write_schedule
from warploom.ir.mbarrier_dialect import Arrive, BulkStore, Compute, RolesDocument
from warploom.ir.rings import BufferCopy, Side, SlotRead

from .flows import gemm_flow
from .samples import gemm_document, lowered

DOCUMENT = gemm_document()
DATA = schedule_to_json(DOCUMENT)


@pytest.mark.parametrize(
    "kernel", [GemmKernel(), GemmKernel(tile_m=256, tile_n=208), GemmKernel(cluster=(1, 2))]
)
def test_documents_round_trip_to_the_byte(kernel):
    document = gemm_document(kernel)
    text = write_schedule(document)
    assert read_schedule(text) == document
    assert write_schedule(read_schedule(text)) == text


def test_one_entry_a_line():
    lines = write_schedule(DOCUMENT).splitlines()
    assert sum('"entry": "Load"' in line for line in lines) == 2


def test_the_two_forms_are_told_apart():
    assert isinstance(schedule_from_json(DATA), RolesDocument)
    without = {k: v for k, v in DATA.items() if k != "programs"}
    with pytest.raises(DocumentError, match="unknown key"):
        schedule_from_json(without)
    with pytest.raises(DocumentError, match="expected an object"):
        schedule_from_json([])


def test_prices_of_former_versions_are_read():
    data = schedule_to_json(lowered("gemm").document)
    for key in ("shared", "step", "own"):
        data["costs"].pop(key, None)
    assert schedule_from_json(data | {"costs": data["costs"] | {"waiting": ["tensor"]}}).costs


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
        schedule_from_json(damaged(path, value))
    assert where in error.value.path


def test_unknown_missing_and_repeated_keys():
    with pytest.raises(DocumentError, match="unknown key 'dephts'"):
        schedule_from_json({**DATA, "dephts": 1})
    with pytest.raises(DocumentError, match="missing key 'rings'"):
        schedule_from_json({k: v for k, v in DATA.items() if k != "rings"})
    with pytest.raises(DocumentError, match="twice"):
        read_schedule('{"schema": 1, "schema": 2}')
    with pytest.raises(DocumentError, match="declared twice"):
        schedule_from_json({**DATA, "rings": DATA["rings"] * 2})
    with pytest.raises(DocumentError, match="JSON"):
        read_schedule("[" * 100000)


def paths(value, prefix=()):
    yield prefix
    if isinstance(value, dict | list):
        for key, v in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(v, (*prefix, key))


PATHS = [p for p in paths(DATA) if p]


@settings(max_examples=75, deadline=None)
@given(
    path=st.sampled_from(PATHS),
    value=st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.just([])),
)
def test_any_damage_reads_or_raises_a_document_error(path, value):
    data = json.loads(json.dumps(damaged(path, value)))
    try:
        document = schedule_from_json(data)
    except DocumentError:
        return
    assert schedule_from_json(schedule_to_json(document)) == document


FLOWING = gemm_flow(replace(DOCUMENT, tile=(128, 256), dtype="bf16"))


def test_flow_tile_and_dtype_round_trip():
    text = write_schedule(FLOWING)
    assert read_schedule(text) == FLOWING
    assert write_schedule(read_schedule(text)) == text
    assert sum('"line": "gemm.py:7"' in line for line in text.splitlines()) == 1


def test_documents_without_the_later_fields_read_and_write_as_before():
    text = write_schedule(DOCUMENT)
    assert not any(f'"{k}"' in text for k in ("flow", "tile", "dtype", "side", "fills_slots"))
    assert read_schedule(text).flow is None


def test_slots_filled_by_consumers_and_reducing_stores_round_trip():
    fill = Compute(op="hand", writes=(), fills_slots=(SlotRead(ring="ab", part="A"),))
    full = Arrive(ring="ab", side=Side.FULL)
    add = BulkStore(op="add", source=BufferCopy(buffer="c", copy=0), k=-1, reduce=True)
    producer, consumer = DOCUMENT.programs
    consumer = replace(consumer, kernel=(*consumer.kernel, fill, full, add))
    document = replace(DOCUMENT, programs=(producer, consumer))
    assert read_schedule(write_schedule(document)) == document


BAD_FLOW = [
    (("ops", 0, "role"), "nobody", "ops[0].role"),
    (("ops", 0, "results"), ["sum"], "ops[2].results"),
    (("ops", 0, "when"), "never", "ops[0].when"),
    (("ops", 1, "name"), "load.A", "ops[1].name"),
    (("ops", 2, "operands", 0, "value"), "Z", "ops[2].operands[0]"),
    (("ops", 2, "operands", 2, "back"), -1, "operands[2].back"),
    (("ops", 2, "operands", 2, "before"), "A", "ops[2].operands[2]"),
    (("ops", 0, "operands"), [{"value": "c0_0"}], "ops[0].operands[0]"),
    (("homes", 0, "place"), "ab.C", "homes[0].place"),
    (("homes", 2, "place"), "ab", "homes[2].place"),
    (("homes", 3, "place"), "c#7", "homes[3].place"),
    (("homes", 3, "place"), "c#-1", "homes[3].place"),
    (("homes", 1, "value"), "A", "homes[1]"),
    (("homes", 1, "value"), "Z", "homes[1]"),
    (("homes",), [], "flow.homes"),
]


@pytest.mark.parametrize(("path", "value", "where"), BAD_FLOW, ids=[str(b[:2]) for b in BAD_FLOW])
def test_damaged_flow_is_named_with_its_path(path, value, where):
    data = copy.deepcopy(schedule_to_json(FLOWING))
    at = data["flow"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(DocumentError) as error:
        schedule_from_json(data)
    assert where in error.value.path
