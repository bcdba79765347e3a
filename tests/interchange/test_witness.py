"""A witness keeps its content through JSON, and damaged ones raise a typed error."""

import json

import pytest

from warploom.errors import DocumentError
from warploom.ir import Point, Step, StepKind, WaveId, Witness, witness_from_json, witness_to_json
from warploom.ir.schedule_ops import Phase

WITNESS = Witness(
    document="demo",
    code="RAW-LDS",
    trip_count=1,
    waves=(WaveId(0, 0), WaveId(0, 1)),
    steps=(
        Step(kind=StepKind.ADVANCE, wave=WaveId(0, 1), point=None),
        Step(kind=StepKind.ADVANCE, wave=WaveId(0, 0), point=Point(Phase.KERNEL, 3, 0), note="x"),
        Step(kind=StepKind.LAND, wave=WaveId(0, 1), point=Point(Phase.PROLOGUE, 0)),
    ),
    outcome="wave 0.0 reads a stale tile",
)


def test_json_round_trip():
    assert witness_from_json(json.loads(json.dumps(witness_to_json(WITNESS)))) == WITNESS


def test_text_numbers_the_steps_and_names_the_held_operation():
    text = WITNESS.text()
    assert "2. wave 0.0 may run up to kernel[3] of iteration 0: x" in text
    assert "held: the operation of wave 0.1 at prologue[0]" in text
    assert text.endswith("=> wave 0.0 reads a stale tile")


@pytest.mark.parametrize("bad", [None, [], {}, {"schema": "warploom.witness/1"}, 3])
def test_damaged_witnesses_raise_a_document_error(bad):
    with pytest.raises(DocumentError):
        witness_from_json(bad)
