"""The Chrome trace: its schema, nesting, and that Perfetto reads it where its reader is at hand."""

import json
import os
import shutil
from itertools import pairwise

import jsonschema
import pytest

from warploom.viz import perfetto_trace

# The Trace Event Format as its document describes it, for the event types used here.
COMMON = {
    "name": {"type": "string"},
    "cat": {"type": "string"},
    "ts": {"type": "number", "minimum": 0},
    "pid": {"type": "integer"},
    "tid": {"type": "integer"},
    "args": {"type": "object"},
}


def event(ph, required, **properties):
    return {
        "type": "object",
        "properties": {"ph": {"const": ph}, **COMMON, **properties},
        "required": ["ph", "name", "ts", "pid", "tid", *required],
        "additionalProperties": False,
    }


ID = {"id": {"type": ["integer", "string"]}}
NAMES = ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]
SCHEMA = {
    "type": "object",
    "properties": {
        "traceEvents": {
            "type": "array",
            "items": {
                "oneOf": [
                    event("X", ["dur", "cat"], dur={"type": "number", "minimum": 0}),
                    event("M", ["args"], name={"enum": NAMES}),
                    event("i", ["s"], s={"enum": ["g", "p", "t"]}),
                    event("b", ["id", "cat"], **ID),
                    event("e", ["id", "cat"], **ID),
                    event("s", ["id", "cat"], **ID),
                    event("f", ["id", "cat"], bp={"const": "e"}, **ID),
                ]
            },
        },
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["traceEvents"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def trace(fourwave):
    return json.loads(json.dumps(perfetto_trace(fourwave)))


def test_trace_follows_the_schema(trace):
    jsonschema.validate(trace, SCHEMA)


def test_the_schema_refuses_damage(trace):
    events = [dict(trace["traceEvents"][-1], ph="?")]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"traceEvents": events}, SCHEMA)


def test_complete_events_of_a_thread_do_not_overlap(trace):
    threads = {}
    for item in trace["traceEvents"]:
        if item["ph"] == "X":
            threads.setdefault((item["pid"], item["tid"]), []).append(item)
    assert len(threads) == 4 * 5  # four waves: stream, stalls and three units
    for items in threads.values():
        spans = sorted((item["ts"], item["ts"] + item["dur"]) for item in items)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_asynchronous_events_and_flows_come_in_pairs(trace):
    for first, second in (("b", "e"), ("s", "f")):
        begins = [(e["cat"], e["id"], e["pid"]) for e in trace["traceEvents"] if e["ph"] == first]
        ends = [(e["cat"], e["id"], e["pid"]) for e in trace["traceEvents"] if e["ph"] == second]
        assert begins
        assert sorted(begins) == sorted(ends)
        assert len(set(begins)) == len(begins)


def test_every_op_and_stall_is_in_the_trace(trace, fourwave):
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == 2 * len(fourwave.ops) + len(fourwave.stalls)
    causes = {e["args"]["cause"] for e in spans if "cause" in e["args"]}
    assert causes == {stall.cause.text for stall in fourwave.stalls}


def test_perfetto_reads_it(trace, tmp_path):
    reader = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if reader is None:
        pytest.skip("no trace_processor_shell on PATH or in TRACE_PROCESSOR")
    processor = pytest.importorskip("perfetto.trace_processor")
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    config = processor.TraceProcessorConfig(bin_path=reader)
    with processor.TraceProcessor(trace=str(path), config=config) as tp:
        count = next(iter(tp.query("select count(*) as n from slice"))).n
        errors = list(tp.query("select name from stats where severity = 'error' and value > 0"))
    assert count >= sum(e["ph"] == "X" for e in trace["traceEvents"])
    assert errors == []
