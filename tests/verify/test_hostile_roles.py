"""Hostile role documents: a verdict or a typed error, soon and in little memory."""

from __future__ import annotations

import contextlib
import copy
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.mbarrier.samples import gemm_document
from warploom.errors import DocumentError
from warploom.ir.format1 import read_schedule
from warploom.verify import verify_file
from warploom.verify.flow import known_flow
from warploom.verify.roles import verify_roles

from .test_defects import FOLDER

BASE = json.loads((FOLDER / "release_nobody_waits_for.json").read_text())
GEMM = json.loads((FOLDER / "warp_then_warpgroup_sync_false_alarm.json").read_text())


def changed(data, change):
    data = copy.deepcopy(data)
    change(data)
    return data


def depth(n):
    return lambda d: d["rings"][0].update(depth=n)


def tiny_depth(n):
    def change(d):
        d["rings"][0].update(depth=n, parts=[{"name": "A", "offset": 0, "bytes": 16}])
        for p in d["programs"]:
            for phase in ("prologue", "kernel"):
                p[phase] = [e for e in p[phase] if e.get("part") != "B"]
                for e in p[phase]:
                    e.update({"bytes": 16} if "bytes" in e else {})
                    e.update({"slots": e["slots"][:1]} if e.get("slots") else {})

    return change


def peel(n):
    return lambda d: [p.update(peel=n) for p in d["programs"]]


def kernel_times(n):
    return lambda d: d["programs"][1].update(kernel=d["programs"][1]["kernel"] * n)


def instances(n):
    return lambda d: d["programs"][1].update(instances=n)


def equal_entries(n):
    def change(d):
        mma = next(e for e in d["programs"][1]["prologue"] if e["entry"] == "Mma")
        at = d["programs"][1]["prologue"].index(mma)
        d["programs"][1]["prologue"][at:at] = [mma] * n

    return change


def equal_copies(n):
    def change(d):
        row = d["programs"][0]["kernel"]
        at = next(i for i, e in enumerate(row) if e["entry"] == "Load")
        row[at:at] = [row[at]] * n

    return change


def equal_fills(n):
    def change(d):
        part = [{"name": "A", "offset": 0, "bytes": 16}]
        d["rings"].append({**d["rings"][0], "name": "own", "parts": part})
        fill = {"entry": "Compute", "op": "make", "k": 0, "reads": [], "writes": [], "slots": []}
        fill |= {"fills": [], "fills_slots": [{"ring": "own", "part": "A"}], "args": []}
        d["programs"][1]["kernel"] += [fill] * n

    return change


HOSTILE = {
    "depth 10": depth(10),
    "depth 200": depth(200),
    "depth 10^9": depth(10**9),
    "tiny slots, depth 30": tiny_depth(30),
    "tiny slots, depth 5000": tiny_depth(5000),
    "peel 10^6": peel(10**6),
    "peel 300": peel(300),
    "kernel x 500": kernel_times(500),
    "kernel x 40": kernel_times(40),
    "instances 4096": instances(4096),
    "instances 7": instances(7),
    "cluster 4096": lambda d: d.update(cluster=4096),
    "cluster 16": lambda d: d.update(cluster=16),
    "equal products": equal_entries(9_000),
    "more equal products": equal_entries(25_000),
    "equal copies": equal_copies(800),
    "equal fills": equal_fills(1_500),
    "no programs": lambda d: d.update(programs=[]),
    "registers -5": lambda d: d["programs"][1]["registers"][0].__setitem__(1, -5),
    "no arrivals": lambda d: d["rings"][0].update(empty_arrivals=0),
}


@pytest.mark.parametrize("data", [BASE, GEMM], ids=["named", "gemm"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_verdict_or_an_error_and_soon(name, data):
    text = json.dumps(changed(data, HOSTILE[name]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    verdict = "malformed"
    with contextlib.suppress(DocumentError):
        verdict = verify_roles(read_schedule(text)).verdict
    assert verdict in ("malformed", "clean", "race", "timing", "not judged")
    assert time.process_time() - start < 8
    # What this document took: tests before it in the process may have left a higher mark.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2 * 1024 * 1024


@pytest.mark.parametrize("back", [50, 5_000, 10**9])
def test_operands_of_long_ago(back):
    document = gemm_document()
    flow = known_flow(document)
    ops = tuple(
        replace(op, operands=tuple(replace(o, back=back if o.back else 0) for o in op.operands))
        for op in flow.ops
    )
    start = time.process_time()
    with contextlib.suppress(DocumentError):
        declared = replace(document, flow=replace(flow, ops=ops))
        assert verify_roles(declared).verdict == "race"
    assert time.process_time() - start < 8


def test_very_many_trip_counts_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(GEMM))
    verdict = verify_file(path, range(1, 20_001))
    assert verdict.to_json()["verdict"] == "malformed"
    assert verify_file(path, range(5_000, 5_001)).to_json()["verdict"] == "not judged"
    assert verify_file(path, range(90, 92)).to_json()["verdict"] == "clean"


IMPOSSIBLE = {
    "id 0": ("barriers", 0, "id", 0),
    "id 16": ("barriers", 0, "id", 16),
    "id negative": ("barriers", 0, "id", -3),
    "no warps": ("barriers", 0, "threads", 50),
    "too many threads": ("programs", 1, "threads", 2000),
    "nobody's buffer": ("buffers", 0, "role", "nobody"),
    "empty part": ("rings", 0, "parts", 0, "bytes", 0),
    "too many arrivals": ("rings", 0, "full_arrivals", 1 << 20),
    "remote arrival": ("programs", 1, "kernel", 5, "ctas", 2),
    "turn": ("programs", 1, "kernel", 6, "turn", -1),
    "instance": ("programs", 1, "kernel", 6, "instance", 1),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_declarations_that_cannot_be_are_malformed(name):
    *path, value = IMPOSSIBLE[name]
    data = copy.deepcopy(BASE)
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(DocumentError) as error:
        read_schedule(json.dumps(data))
    assert error.value.path.startswith("$.")


def many_rings(n):
    return lambda d: d.update(
        rings=[{**d["rings"][0], "name": "x" * 500 + str(i)} for i in range(n)]
    )


def heavy(kind):
    million = 1_000_000
    return {
        "lists": "[" + "[]," * (7 * million) + "[]]",
        "objects": "[" + '{"":{}},' * (2 * million) + "{}]",
        "numbers": '{"programs": [' + "0.5," * (5 * million) + "1]}",
        "deep": "[" * (20 * million),
        "one text": '{"programs": "' + "x" * (20 * million) + '"}',
        "too long": " " * (100 * million),
        "many programs": json.dumps(
            {**GEMM, "programs": [{**GEMM["programs"][0], "name": str(i)} for i in range(30_000)]}
        ),
        "many entries": json.dumps(changed(GEMM, kernel_times(20_000))),
        "many names": json.dumps(changed(GEMM, many_rings(9_000))),
    }[kind]


HEAVY = ("lists", "objects", "numbers", "deep", "one text", "too long")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*HEAVY, "many programs", "many entries", "many names"])
def test_heavy_texts_are_refused_soon_and_in_little_memory(kind, tmp_path):
    path = tmp_path / "heavy.json"
    path.write_text(heavy(kind))
    code = (
        "import resource, sys\n"
        "from warploom.verify import verify_file\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "print(verify_file(sys.argv[1]).to_json()['verdict'])\n"
    )
    start = time.monotonic()
    run = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() in ("malformed", "race")
    assert time.monotonic() - start < 30  # 10 s on a machine with nothing else to do
