"""Damaged and hostile documents: always a verdict or a typed error, in bounded time."""

import json
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from warploom.errors import WarploomError
from warploom.ir import schedule_from_json, schedule_to_json, write_schedule
from warploom.verify import Code, Limits, verify, verify_file
from warploom.verify.report import render

from .documents import document, pingpong_named

TEXT = write_schedule(pingpong_named("CSP", 1))
DATA = json.loads(TEXT)


def judged(path, content):
    path.write_bytes(content)
    verdict = verify_file(path)
    assert verdict.exit_code in (0, 1, 2)
    json.loads(render(verdict, "json"))
    assert render(verdict, "text")
    return verdict


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"a":' * 5_000,
        b"1" * 10_000,
        b"NaN",
        TEXT[: len(TEXT) // 2].encode(),
        TEXT.replace('"groups": 2', '"groups": 1e400').encode(),
        TEXT.replace('"groups": 2', '"groups": ' + "9" * 5000).encode(),
        TEXT.replace('"groups": 2', '"groups": true').encode(),
        TEXT.replace('"vm_per_load": [4, 4]', '"vm_per_load": [-4, 4]').encode(),
        TEXT.replace('"channel": 0', '"channel": 7').encode(),
        TEXT.replace('"name": "strategy', '"name": "\\ud800\\u001b[31m').encode(),
        TEXT.replace('"LOAD_A"', '"' + "A" * 9_000 + '"').encode(),
    ],
)
def test_no_file_makes_the_judge_fall_over(tmp_path, content):
    judged(tmp_path / "document.json", content)


def test_a_folder_and_a_missing_file_are_malformed(tmp_path):
    assert verify_file(tmp_path).exit_code == 2
    assert verify_file(tmp_path / "missing.json").exit_code == 2


def leaves(data, path=()):
    """All places of a document that hold a plain value."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


LEAVES = list(leaves(DATA))
STRANGE = [
    None,
    -1,
    0,
    1,
    2,
    3,
    15,
    63,
    64,
    255,
    10**6,
    10**9,
    10**30,
    "",
    "K1",
    "x",
    0.5,
    True,
    [],
]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_any_damaged_value_gives_a_verdict_or_a_typed_error(seed):
    rng = random.Random(seed)
    data = json.loads(TEXT)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = data
        *path, last = rng.choice(LEAVES)
        for key in path:
            at = at[key]
        at[last] = rng.choice(STRANGE)
    try:
        report = verify(schedule_from_json(data))
    except WarploomError:
        return
    assert report.verdict in ("clean", "timing", "race")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_any_damaged_text_gives_a_verdict_or_a_typed_error(tmp_path_factory, seed):
    rng = random.Random(seed)
    raw = bytearray(TEXT.encode())
    for _ in range(rng.choice((1, 3, 30))):
        raw[rng.randrange(len(raw))] = rng.choice(b'{}[],:"0123456789aK-_ ')
    judged(tmp_path_factory.getbasetemp() / "damaged.json", bytes(raw))


def timed(doc):
    start = time.process_time()
    try:
        verdict = verify(doc).verdict
    except WarploomError:
        verdict = "refused"
    return verdict, time.process_time() - start


def words(rng, count, kinds):
    return " ".join(rng.choice(kinds) for _ in range(count))


KINDS = ["LA[0,0]0", "LB[0,1]1", "FA[0,0]", "FB[0,1]", "M[0,0]", "M[0,1]", "B", "W0", "L0", "W99"]


@pytest.mark.parametrize(
    "kinds",
    [
        KINDS,
        ["LA[0,0]0", "FA[0,0]", "M[0,0]"],
        ["LA[0,0]", "LB[0,0]"],
        ["B"],
        ["W1000000000"],
        ["M[0,0]", "M[7,0]"],
        ["SA[0,0]", "LA[0,0]", "FA[0,0]", "M[0,0]"],
    ],
)
def test_thousands_of_entries_are_checked_in_seconds(kinds):
    rng = random.Random(5)
    doc = document(words(rng, 1000, kinds), words(rng, 2000, kinds), words(rng, 1000, kinds))
    verdict, seconds = timed(doc)
    assert verdict in ("clean", "race")
    assert seconds < 10


def test_findings_are_limited_and_counted():
    rng = random.Random(5)
    report = verify(
        document(words(rng, 900, KINDS), words(rng, 1800, KINDS), words(rng, 900, KINDS))
    )
    assert report.omitted > 0
    assert len(report.findings) <= 750
    assert f"{report.omitted} more" in report.text()


@pytest.mark.slow
def test_over_a_hundred_thousand_entries_are_checked_or_refused_not_hung():
    doc = document("LA[0,0]0 " * 51_000, "LA[0,0]0 " * 51_000, "")
    assert timed(doc)[0] in ("race", "refused")


def test_accumulators_far_apart_cost_nothing():
    doc = document("", " ".join(f"M[{i},{10**6 + i}]" for i in range(300)), "")
    assert timed(doc)[0] == "race"


def test_a_trip_count_that_can_not_be_unrolled_is_refused_not_tried():
    doc = pingpong_named("IDENTITY", 1)
    with pytest.raises(WarploomError, match="too large"):
        verify(doc, trips=range(10**8, 10**8 + 1))


def test_giant_costs_and_many_groups():
    protocol = {"groups": 64, "waves_per_group": 16, "tail_barriers": tuple(range(64))[::-1]}
    base = "LA[0,0]0 LB[0,0]0 W0 " + "B " * 64 + "FA[0,0] FB[0,0] L0"
    doc = document(base, "", "M[0,0]", vm=(10**9, 10**9), stagger_index=0, **protocol)
    assert verify(doc, trips=range(1), limits=Limits(waves=None)).verdict == "clean"
    assert verify(doc, trips=range(1)).codes() == {Code.CAPACITY}
    weak = document(base.replace("B ", "", 1), "", "M[0,0]", stagger_index=0, **protocol)
    assert verify(weak, trips=range(1), limits=Limits(waves=None)).verdict == "race"


def test_the_same_document_gives_the_same_report():
    data = schedule_to_json(pingpong_named("IDENTITY", 2))
    assert verify(schedule_from_json(data)) == verify(schedule_from_json(data))
