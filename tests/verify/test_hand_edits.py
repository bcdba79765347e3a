"""Documents edited by hand as an outsider would: each wrong one is found, each right one clean."""

from __future__ import annotations

import copy
import json

import pytest

from warploom.errors import DocumentError
from warploom.ir.format1 import read_schedule
from warploom.verify.roles import verify_roles

from .test_defects import FOLDER

LISTS = ("setup", "prologue", "kernel", "epilogue", "finish")


def base(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


GEMM = base("warp_then_warpgroup_sync_false_alarm")
ATTENTION = base("attention_count_1_deadlock")
ATTENTION["barriers"][0]["count"] = 2
CLUSTER = base("cluster_sync_in_loop_emits_nothing")
BASES = {"gemm": GEMM, "attention": ATTENTION, "cluster": CLUSTER}


def of(data, role="consumer"):
    return next(p for p in data["programs"] if p["name"] == role)


def matches(entry, wanted):
    return all(entry.get(key) == value for key, value in wanted.items())


def each(replacement, role="", phase="", **wanted):
    """Every matching entry becomes what ``replacement`` makes of it."""

    def edit(data):
        for program in data["programs"]:
            for name in LISTS:
                if role in ("", program["name"]) and phase in ("", name):
                    program[name] = [
                        new
                        for e in program[name]
                        for new in (replacement(e) if matches(e, wanted) else [e])
                    ]

    return edit


def drop(**wanted):
    return each(lambda e: [], **wanted)


def twice(**wanted):
    return each(lambda e: [e, e], **wanted)


def put(changes, **wanted):
    return each(lambda e: [e | changes], **wanted)


def swap(phase, first, second):
    def edit(data):
        row = of(data)[phase]
        i, j = (next(n for n, e in enumerate(row) if matches(e, w)) for w in (first, second))
        row[i], row[j] = row[j], row[i]

    return edit


def move(phase, i, j):
    def edit(data):
        row = of(data)[phase]
        row.insert(j, row.pop(i))

    return edit


def add(phase, i, entry, role="consumer"):
    return lambda data: of(data, role)[phase].insert(i, entry)


def at(*path, **changes):
    def edit(data):
        place = data
        for key in path:
            place = of(data, key) if key in ("producer", "consumer") else place[key]
        place.update(changes)

    return edit


def both(*edits):
    def edit(data):
        for e in edits:
            e(data)

    return edit


def exchanged(old, new, **wanted):
    """Names of ops exchanged."""

    def other(e):
        op = e["op"].replace(old, "?").replace(new, old).replace("?", new)
        return [e | {"op": op}]

    return each(other, entry="Load", role="producer", phase="kernel", **wanted)


SYNC = {"entry": "ScopeSync", "scope": "warpgroup"}
EMPTY = {"entry": "WaitEmpty", "ring": "ab", "k": 0, "parity": 1}
RELEASE = {"entry": "Arrive", "ring": "ab", "k": 0, "scope": "warp", "ctas": 1}
ONE_THREAD = put({"scope": "thread"}, entry="Arrive")
COMPUTE = {"entry": "Compute", "k": 0, "reads": ["acc"], "writes": ["acc"], "slots": []}
COMPUTE |= {"op": "magic", "fills": [], "args": []}


def remote(ctas, arrivals):
    """Slots of a cluster released by arrivals in ``ctas`` CTAs, not by meeting."""
    return both(
        each(lambda e: [], phase="kernel", entry="ClusterSync"),
        each(lambda e: [], phase="prologue", entry="ClusterSync"),
        add("kernel", 0, EMPTY, "producer"),
        *(add(phase, 99, RELEASE | {"ctas": ctas}) for phase in ("prologue", "kernel")),
        at("rings", 0, empty_arrivals=arrivals),
    )


def one_operand(data):
    data["rings"][0]["parts"].pop()
    drop(part="B")(data)
    put({"bytes": 16384}, entry="Expect")(data)
    each(lambda e: [e | {"slots": e["slots"][:1]}], entry="Mma")(data)


def two_halves(data):
    put({"bytes": 8192}, part="A")(data)
    twice(part="A", entry="Load")(data)


VALUES = {
    "gemm": {
        "A and B exchanged": exchanged("A", "B"),
        "A times A": each(lambda e: [e | {"slots": e["slots"][:1] * 2}], entry="Mma"),
        "one operand": one_operand,
        "the first product sums": put({"accumulate": True}, phase="prologue", entry="Mma"),
        "products replace": put({"accumulate": False}, phase="kernel", entry="Mma"),
        "nothing converted": drop(op="convert_c"),
        "nothing stored": drop(op="store_c"),
        "stored first": swap("epilogue", {"op": "convert_c"}, {"op": "store_c"}),
        "another iteration": put({"k": -1}, phase="kernel", entry="Mma"),
        "another copy": put({"source": {"buffer": "c", "copy": 1}}, op="store_c"),
        "a store that adds": put({"reduce": True}, op="store_c"),
        "an op nobody knows": add("kernel", 99, COMPUTE),
    },
    "attention": {
        "converted before exponentials": swap("kernel", {"op": "exp"}, {"op": "cvt"}),
        "and in the prologue": swap("prologue", {"op": "exp"}, {"op": "cvt"}),
        "exponentials before the maximum": swap("kernel", {"op": "exp"}, {"op": "max"}),
        **{f"no {op}": drop(op=op) for op in ("rescale", "max", "exp", "cvt", "start_tile")},
        **{f"no {op} at the end": drop(op=op) for op in ("finish_rows", "store_o")},
        **{f"{op} twice": twice(op=op, phase="kernel") for op in ("rescale", "max", "exp", "cvt")},
        "stored before it is ready": swap("epilogue", {"op": "finish_rows"}, {"op": "store_o"}),
        "PV replaces": put({"accumulate": False}, op="pv", phase="kernel"),
        "QK sums": put({"accumulate": True}, op="qk", phase="kernel"),
        "QK into P": put({"accumulator": "p"}, op="qk", phase="kernel"),
        "K and V exchanged": exchanged("LOAD_K", "LOAD_V"),
        "halves of K exchanged": exchanged("c0", "c1", ring="K"),
    },
    "cluster": {
        "a piece is left out": drop(args=[0, 64]),
        "a piece twice, another never": put({"args": [0, 0]}, args=[0, 64]),
    },
}
PROTOCOL = {
    "gemm": {
        "positions restart": both(*(at(r, carries_phase=False) for r in ("producer", "consumer"))),
        "no credit": put({"parity": 0}, entry="WaitEmpty"),
        "the other parity": put({"parity": 1}, entry="WaitFull", phase="kernel"),
        "empty of the use before": put({"k": -1}, entry="WaitEmpty"),
        "one group more in flight": put({"pending": 1}, entry="WaitGroup", phase="kernel"),
        "a hundred groups in flight": put({"pending": 100}, entry="WaitGroup", phase="kernel"),
        "released by one thread": ONE_THREAD,
        "and counted so": both(ONE_THREAD, at("rings", 0, empty_arrivals=1)),
        "one thread meets itself": put({"scope": "thread"}, entry="ScopeSync"),
        "only warps meet": drop(entry="ScopeSync", scope="warpgroup"),
        "no proxy fence": drop(entry="ProxyFence"),
        "a fence after the meeting": move("epilogue", 3, 5),
        "a fence before the writes": move("epilogue", 3, 2),
        "a store never committed": drop(entry="BulkCommit"),
        "nobody waits for the last store": drop(phase="finish", entry="BulkWait"),
        "a product never committed": drop(phase="kernel", entry="Commit"),
        "no fence of registers": drop(phase="prologue", entry="MmaFence"),
        "read before the products end": drop(phase="prologue", entry="WaitGroup"),
        "half a warpgroup": both(at("consumer", threads=64), at("rings", 0, empty_arrivals=2)),
        "halves into one place": two_halves,
    },
    "attention": {
        "no first turn": drop(phase="setup"),
        "the first turn to the wrong one": put({"instance": 0}, phase="setup"),
        "turns of 128": at("barriers", 0, threads=128),
        "turns of 384": at("barriers", 0, threads=384),
        "the other turn": put({"turn": 1}, entry="NamedSync", phase="kernel"),
        "two arrivals": twice(entry="NamedArrive", phase="kernel"),
        "one instance arrives": put({"instance": 0}, entry="NamedArrive", phase="kernel"),
        "Q never released": drop(entry="Arrive", ring="Q"),
        "the last V never released": drop(phase="epilogue", entry="Arrive", ring="V"),
        "Q released at once": both(
            drop(entry="Arrive", ring="Q"), add("prologue", 0, RELEASE | {"ring": "Q"})
        ),
        "Q not waited for": drop(phase="prologue", role="producer", entry="WaitEmpty"),
        "V not waited for": drop(phase="kernel", role="producer", entry="WaitEmpty", ring="V"),
        "one role restarts": at("producer", carries_phase=False),
    },
    "cluster": {
        "one role leaves early": drop(phase="finish", role="consumer", entry="ClusterSync"),
        "nobody meets in the loop": both(
            drop(phase="kernel", entry="ClusterSync"), drop(phase="prologue", entry="ClusterSync")
        ),
        "both operands multicast": put({"multicast": 2}, part="A"),
        "released in one CTA": remote(1, 8),
        "remote releases miscounted": remote(2, 8),
        "left with arrivals under way": both(
            remote(2, 16), drop(phase="finish", entry="ClusterSync")
        ),
    },
}
IMPOSSIBLE = {
    "gemm": {
        "parts overlap": at("rings", 0, "parts", 1, offset=8192),
        "no bytes": put({"bytes": 0}, entry="Load"),
        "fewer than none": put({"bytes": -16384}, entry="Load"),
        "an offset below 0": at("rings", 0, "parts", 0, offset=-16384),
        "no slots": at("rings", 0, depth=0),
        "too many slots": at("rings", 0, depth=5),
        "multicast of one CTA": put({"multicast": 2, "bytes": 16384}, part="B"),
        "released in two CTAs": put({"ctas": 2}, entry="Arrive"),
        "memory of the producer": at("buffers", 0, role="producer"),
        "no copies": at("buffers", 0, copies=0),
        "a copy too far": put({"source": {"buffer": "c", "copy": 2}}, op="store_c"),
        "memory beyond the chip": at("buffers", 0, bytes=200_000),
        "registers below 0": at("consumer", registers=[["acc", -5]]),
        "registers beyond a thread": at("consumer", registers=[["acc", 300]]),
        "consumers beyond the SM": at("consumer", instances=4),
        "nobody": at("consumer", instances=0),
        "part of a warp": at("consumer", threads=100),
        "a count below 0": put({"pending": -1}, entry="WaitGroup"),
        "a count that is true": put({"pending": True}, entry="WaitGroup"),
        "a count with a point": put({"pending": 0.0}, entry="WaitGroup"),
        "a third parity": put({"parity": 2}, entry="WaitFull"),
        "a ring nobody declared": put({"ring": "zz"}, entry="WaitFull"),
        "registers nobody declared": put({"accumulator": "zz"}, entry="Mma"),
        "two of one name": lambda data: data["rings"].append(data["rings"][0]),
        "two roles of one name": lambda data: data["programs"].append(data["programs"][1]),
    },
    "attention": {
        "ids beyond the chip": at("barriers", 0, id=15),
        "the CTA's own id": at("barriers", 0, id=0),
        "ids shared": lambda d: d["barriers"].append(d["barriers"][0] | {"name": "x", "id": 2}),
    },
    "cluster": {"a cluster of one": at(cluster=1)},
}
RIGHT = {
    "gemm": {
        "as it is": at(),
        "more slots": at("rings", 0, depth=3),
        "one slot": at("rings", 0, depth=1),
        "an earlier wait": put({"k": 1}, entry="WaitEmpty"),
        "one thread releases after a meeting": both(
            ONE_THREAD,
            *(add(phase, 5, SYNC) for phase in ("prologue", "kernel")),
            at("rings", 0, empty_arrivals=1),
        ),
        "more meetings": add("epilogue", 1, SYNC),
        "more fences": add("kernel", 1, {"entry": "MmaFence"}),
        "the same wait twice": twice(entry="WaitFull", phase="kernel"),
        "stores waited for in full": put({"source_read": False}, entry="BulkWait"),
    },
    "attention": {
        "as it is": at(),
        "all products waited for": put({"pending": 0}, entry="WaitGroup"),
    },
    "cluster": {
        "as it is": at(),
        "remote releases": remote(2, 16),
        "four CTAs by twos": at(cluster=4),
        "all meet in the loop": drop(phase="finish", entry="ClusterSync"),
    },
}


def cases(table):
    return [
        pytest.param(name, edit, id=f"{name}: {what}")
        for name, edits in table.items()
        for what, edit in edits.items()
    ]


def edited(name, edit):
    data = copy.deepcopy(BASES[name])
    edit(data)
    return json.dumps(data)


@pytest.mark.parametrize(("name", "edit"), cases(VALUES) + cases(PROTOCOL))
def test_what_is_wrong_is_not_clean(name, edit):
    report = verify_roles(read_schedule(edited(name, edit)))
    assert report.verdict in ("race", "not judged", "timing"), report.text()
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
    assert verify_roles(read_schedule(edited(name, edit))).verdict == "clean"
