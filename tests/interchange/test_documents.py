"""``warploom.schedule/1``: what is written is read back, and damage is named with its path."""

import copy
import json
from dataclasses import replace
from enum import IntEnum

import pytest
from hypothesis import given, settings, strategies as st

from warploom import (
    DeclarativeSchedule,
    DocumentError,
    KernelGeometry,
    Pipeline4Wave,
    compile_schedule,
    read_schedule,
    write_schedule,
)
from warploom.ir import schedule_from_json
from warploom.ir.schedule_ops import OpDesc

PINGPONG = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4)).document()
FOURWAVE = compile_schedule(Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64)))).document()
TEXT = write_schedule(PINGPONG)


@pytest.mark.parametrize("document", [PINGPONG, FOURWAVE], ids=["pingpong", "fourwave"])
def test_round_trip_gives_the_same_bytes(document):
    text = write_schedule(document)
    again = read_schedule(text)
    assert again == document
    assert write_schedule(again) == text
    assert write_schedule(read_schedule(json.dumps(json.loads(text)))) == text


def paths(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*path, key))


PATHS = [p for p in paths(json.loads(TEXT)) if p]


def at(document, path):
    for key in path:
        document = document[key]
    return document


def damaged(path, change):
    document = json.loads(TEXT)
    change(at(document, path[:-1]), path[-1])
    return document


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(PATHS),
    st.sampled_from([None, -7, 10**30, 1.5, "nonsense", [], {}, True, [[]], {"a": 1}]),
)
def test_any_replaced_value_is_read_or_refused_with_a_path(path, value):
    def change(parent, key):
        parent[key] = copy.deepcopy(value)

    document = damaged(path, change)
    try:
        outcome = write_schedule(schedule_from_json(document))
    except DocumentError as error:
        outcome = error.path
    assert outcome.startswith(("{", "$"))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([p for p in PATHS if isinstance(p[-1], str)]))
def test_a_missing_key_is_named(path):
    with pytest.raises(DocumentError, match=f"missing key '{path[-1]}'"):
        schedule_from_json(damaged(path, lambda parent, key: parent.pop(key)))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([p for p in PATHS if isinstance(p[-1], str)]))
def test_an_unknown_key_is_named_with_the_nearest(path):
    def change(parent, key):
        parent[key + "x"] = parent[key]

    with pytest.raises(DocumentError, match=f"unknown key '{path[-1]}x'") as caught:
        schedule_from_json(damaged(path, change))
    assert "did you mean" in caught.value.fix


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1" * 5000, "[" * 100_000, '{"schema": 1, "schema": 2}', "\x00", "NaN"],
)
def test_text_that_is_no_document(text):
    with pytest.raises(DocumentError):
        read_schedule(text)


def test_bytes_that_are_no_text():
    with pytest.raises(DocumentError):
        read_schedule(b"\xff\xfe\x00")


def test_foreign_documents_may_leave_lists_empty():
    document = json.loads(TEXT)
    document.update(body=[], edges=[], kernel_deps=[])
    assert schedule_from_json(document).body == ()


class Tag(IntEnum):
    FILL_A, FILL_B, FILL, MMA = 5, 6, 7, 8


def test_ops_without_a_channel_have_the_one_their_tag_stands_for():
    def found(*ops):
        body = tuple(OpDesc(tag=tag, channel=channel) for tag, channel in ops)
        return replace(PINGPONG, prologue=(), kernel=(), epilogue=(), body=body).channels()

    assert PINGPONG.channels() == FOURWAVE.channels() == {0: 0, 1: 1, 3: 0, 4: 1}
    assert found((Tag.FILL_B, -1), (Tag.MMA, -1)) == {6: 1}  # by name alone; nothing known
    assert found((Tag.FILL, 0), (Tag.FILL, 1), (Tag.FILL, 1)) == {7: 1}  # the commonest
    assert found((Tag.FILL_A, 0), (Tag.FILL_A, 1), (Tag.FILL_A, 1)) == {5: 0}  # the name, in use
    assert found((Tag.FILL_A, 1)) == {5: 1}  # the name is not in use
