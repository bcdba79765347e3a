"""Further documents edited by hand, most with a declared dataflow: every class once more."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace

import pytest

from tests.mbarrier.samples import SHIPPED, lowered
from tests.verify.more_edits import (
    BASES,
    COMMIT,
    FENCE,
    IN_TILES,
    PROTOCOL,
    PROXY,
    VALUES,
    WARP,
    past,
)
from warploom.errors import DocumentError
from warploom.ir.format1 import read_schedule
from warploom.ir.mbarrier_dialect import (
    BulkWait,
    MmaFence,
    ProxyFence,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Scope
from warploom.verify.roles import verify_roles

from .test_hand_edits import (
    EMPTY,
    add,
    at,
    both,
    cases,
    drop,
    each,
    move,
    of,
    put,
    remote,
    twice,
)


def flow_op(data, name):
    return next(op for op in data["flow"]["ops"] if op["name"] == name)


def barrier(**fields):
    return lambda d: d["barriers"].append({"name": "x", "threads": 128, "count": 1} | fields)


IMPOSSIBLE = {
    "gemm": {
        "a part at an odd byte": at("rings", 0, "parts", 1, offset=16384 + 8),
        "half a copy unit": both(
            at("rings", 0, "parts", 1, bytes=32768 - 8),
            put({"bytes": 32768 - 8}, entry="Load", part="B"),
            put({"bytes": 49152 - 8}, entry="Expect"),
        ),
        "a copy to no CTA": put({"multicast": 0}, entry="Load"),
        "an arrival at no CTA": put({"ctas": 0}, entry="Arrive"),
        "a barrier never there": barrier(id=3, count=0),
        "a barrier of fewer than none": barrier(id=3, count=-1),
        "an announcement below 0": put({"bytes": -1}, entry="Expect"),
        "no threads": at("consumer", threads=0),
        "half a warp that meets": at("consumer", threads=16),
        "registers asked for by eights and one": at("consumer", most_registers=241),
        "more registers than there are": at("consumer", most_registers=512),
        "a ring of nothing": at("rings", 0, parts=[]),
        "a lap beyond counting": put({"k": 10**12}, entry="WaitFull", phase="kernel"),
        "shared memory by a byte": at("buffers", 0, bytes=2**40),
    },
    "text gemm": {
        "staging copies at odd bytes": at("buffers", 0, bytes=8191),
        "and where no store begins": at("buffers", 0, bytes=8192 - 16),
    },
    "attention": {
        "a turn of nobody": put({"instance": 7}, entry="NamedSync", phase="kernel"),
        "more threads than a CTA has": at("barriers", 0, threads=2048),
    },
    "cluster": {
        "three of a cluster of two": put({"multicast": 3}, entry="Load", part="B"),
        "a cluster of 32": at(cluster=32),
        "arrivals at four of two": both(remote(2, 16), put({"ctas": 4}, entry="Arrive")),
        "registers for all, none left": both(
            at("consumer", most_registers=240), at("producer", most_registers=240)
        ),
    },
    "grad": {
        "a value defined twice": lambda d: d["flow"]["ops"].append(
            flow_op(d, "dot_v38") | {"name": "other"}
        ),
        "a value of nobody": lambda d: flow_op(d, "dot_v38")["operands"].append({"value": "?"}),
        "a home of nothing": lambda d: d["flow"]["homes"][0].update(place="nowhere"),
        "a head that reads the loop": lambda d: flow_op(d, "start_tile").update(
            operands=[{"value": "p"}]
        ),
        "a value of the next iteration": lambda d: flow_op(d, "dot_v38")["operands"][0].update(
            back=-1
        ),
        "nothing is ever stored": lambda d: [op.pop("stores", 0) for op in d["flow"]["ops"]],
    },
}
RIGHT = {
    "gemm": {
        "the producer waits for its last slots": lambda d: of(d, "producer")["finish"].extend(
            EMPTY | {"k": k} for k in range(d["rings"][0]["depth"])
        ),
        "a slot is waited for before all tiles": add("setup", 0, EMPTY, "producer"),
        "loads in the other order": lambda d: of(d, "producer")["kernel"].append(
            of(d, "producer")["kernel"].pop(2)
        ),
        "announced in two parts": both(
            put({"bytes": 24576}, entry="Expect"),
            twice(entry="Expect"),
            at("rings", 0, full_arrivals=2),
        ),
        "the consumer waits for its own release": add("kernel", 0, EMPTY | {"k": 1}),
        "an empty group in flight": both(
            each(lambda e: [COMMIT, e], entry="WaitGroup"), put({"pending": 1}, entry="WaitGroup")
        ),
        "two syncs for one": twice(entry="ScopeSync"),
        "nothing in flight": put({"pending": 0}, entry="WaitGroup"),
        "a fence more between products": add("kernel", 1, FENCE),
        "proxy fences by all": add("kernel", 0, PROXY),
        "an array named like a slot": both(
            at("consumer", registers=[["ab.A", 64]]),
            put({"accumulator": "ab.A"}, entry="Mma"),
            put({"reads": ["ab.A"]}, op="convert_c"),
        ),
    },
    "attention": {
        "turns by number": put({"turn": 2}, entry="NamedSync", phase="kernel"),
        "the turn before the keys": move("kernel", 1, 0),
    },
    "text gemm": {
        "stores drained at every tile": add(
            "epilogue", 99, {"entry": "BulkWait", "pending": 0, "source_read": True}
        ),
    },
    "text attention": {
        "K released after the exponentials": move("kernel", 12, 13),
        # K two further on is copied after V one further on, and that after this product's end.
        "K released before its product ends": past(
            "kernel", {"entry": "Arrive", "ring": "ring_v11"}, {"entry": "NamedArrive"}
        ),
    },
    "grad": {
        "one more meeting of a warp": add("kernel", 16, WARP),
        # Of two slots, the other consumer's share of the last one says that the one before is over.
        "ds not waited for": drop(entry="WaitEmpty", ring="ring_ds_here"),
    },
}


def edited(name, edit):
    data = copy.deepcopy(BASES[name]())
    edit(data)
    return json.dumps(data)


@pytest.mark.parametrize(("name", "edit"), cases(VALUES) + cases(PROTOCOL))
def test_what_is_wrong_is_not_clean(name, edit):
    report = verify_roles(read_schedule(edited(name, edit)))
    assert report.verdict in ("race", "timing"), report.text()
    assert all(f.why and f.fix for f in report.findings)


@pytest.mark.parametrize(("name", "edit"), cases(IMPOSSIBLE))
def test_what_cannot_be_is_refused(name, edit):
    try:
        report = verify_roles(read_schedule(edited(name, edit)))
    except DocumentError:
        return
    assert report.verdict == "race", report.text()


@pytest.mark.parametrize(("name", "edit"), cases(RIGHT))
def test_what_is_right_is_clean(name, edit):
    report = verify_roles(read_schedule(edited(name, edit)))
    assert report.verdict == "clean", report.text()


def more_order(rng, document):
    """The document with one fence, sync or wait more, or with a stronger wait."""
    program = rng.choice([p for p in document.programs if p.threads > 1])
    phase = rng.choice([n for n, row in program.phases() if n in IN_TILES and row])
    row = list(getattr(program, phase))
    i = rng.randrange(len(row))
    again = [row[i]] if isinstance(row[i], WaitFull | WaitEmpty | MmaFence) else []
    if isinstance(row[i], WaitGroup | BulkWait) and row[i].pending:
        row[i] = replace(row[i], pending=0)
    else:
        syncs = [ScopeSync(scope=s) for s in (Scope.WARP, Scope.WARPGROUP)]
        row.insert(i, rng.choice([ProxyFence(), *syncs, *again]))
    changed = replace(program, **{phase: tuple(row)})
    return replace(
        document, programs=tuple(changed if p is program else p for p in document.programs)
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n in ("gemm", "attention") else pytest.mark.slow)
        for n in SHIPPED
    ],
)
def test_more_order_is_no_defect(name):
    rng, document = random.Random(name), lowered(name).document
    for _ in range(12):
        report = verify_roles(more_order(rng, document))
        assert report.verdict == "clean", report.text()
