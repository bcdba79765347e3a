"""Edits of role documents: wrong values, wrong protocols."""

from __future__ import annotations

import json

from tests.mbarrier.samples import lowered
from warploom.ir.format1 import write_schedule

from .test_hand_edits import (
    ATTENTION,
    CLUSTER,
    GEMM,
    RELEASE,
    add,
    at,
    both,
    drop,
    each,
    matches,
    move,
    of,
    put,
    remote,
    swap,
    twice,
)

IN_TILES = ("prologue", "kernel", "epilogue")
FENCE, COMMIT = {"entry": "MmaFence"}, {"entry": "Commit"}
PROXY, WARP = {"entry": "ProxyFence"}, {"entry": "ScopeSync", "scope": "warp"}


def text(name, **pins):
    return lambda: json.loads(write_schedule(lowered(name, **pins).document))


BASES = {
    "gemm": lambda: GEMM,
    "attention": lambda: ATTENTION,
    "cluster": lambda: CLUSTER,
    "text gemm": text("gemm", m=128, n=256, consumer_warpgroups=2, stages=3, epilogue_stages=4),
    "text attention": text("attention"),
    "grad": text("packed_grad"),
}


def entry(data, phase, role="consumer", **wanted):
    return next(e for e in of(data, role)[phase] if matches(e, wanted))


def copied(source, target, where=99, role="consumer", **wanted):
    """An entry of one list stands in another one, too."""
    return lambda d: of(d, role)[target].insert(where, entry(d, source, role, **wanted))


def past(phase, wanted, other, by=0):
    """The first entry that matches, moved in front of the first that matches another (or after)."""

    def edit(data):
        row = of(data)[phase]
        found = next(e for e in row if matches(e, wanted))
        row.remove(found)
        row.insert(next(i for i, e in enumerate(row) if matches(e, other)) + by, found)

    return edit


def moved(source, target, where=99, role="consumer", **wanted):
    def edit(data):
        found = entry(data, source, role, **wanted)
        of(data, role)[source].remove(found)
        of(data, role)[target].insert(where, found)

    return edit


def reversed_slots(**wanted):
    return each(lambda e: [e | {"slots": e["slots"][::-1]}], entry="Mma", **wanted)


def later(step, ring, role="consumer", phase="kernel"):
    """All that a list says of a ring, of another iteration."""

    def other(e):
        slots = any(s["ring"] == ring for s in e.get("slots", []))
        return [e | {"k": e["k"] + step} if e.get("ring") == ring or slots else e]

    return each(other, role=role, phase=phase)


def renamed(old, new, *fields, **wanted):
    def other(e):
        return [e | {f: [new if n == old else n for n in e.get(f, [])] for f in fields}]

    return each(other, **wanted)


def exchanged(one, two, field, **wanted):
    names = {one: two, two: one}
    return each(lambda e: [e | {field: [names.get(n, n) for n in e[field]]}], **wanted)


PIECE = {"args": [0, 64]}
FULL = {"entry": "Arrive", "side": "full"}
RELEASED_DS = {"entry": "Arrive", "ring": "ring_ds_here", "side": None}
VALUES = {
    "gemm": {
        "B times A": reversed_slots(),
        "a product before all tiles": copied("prologue", "setup", entry="Mma"),
        "a conversion after all tiles": copied("epilogue", "finish", 0, op="convert_c"),
        "a store after all tiles": copied("epilogue", "finish", 0, op="store_c"),
        "all of the tail before all tiles": moved("epilogue", "setup", op="convert_c"),
    },
    "attention": {
        "rescaled twice in the prologue": twice(op="rescale", phase="prologue"),
        "the maximum never rescales": drop(op="rescale", phase="kernel"),
        "maximum in the epilogue, too": copied("kernel", "epilogue", 0, op="max"),
        "the tile starts at its end": moved("prologue", "epilogue", op="start_tile"),
        "the tile starts in every iteration": moved("prologue", "kernel", 0, op="start_tile"),
        "the tile starts once for all tiles": moved("prologue", "setup", op="start_tile"),
        "rows finished in every iteration": moved("epilogue", "kernel", op="finish_rows"),
        "V of the other ring": each(
            lambda e: [e | {"slots": [s | {"ring": "K"} for s in e["slots"]]}], op="pv"
        ),
        "P from S": renamed("p", "s", "registers", op="pv"),
        "weights from the maximum": renamed("s", "m", "reads", op="cvt"),
    },
    "text gemm": {
        "B times A": reversed_slots(phase="kernel"),
        "an op of the loop runs after all tiles": copied("kernel", "finish", entry="Mma"),
        "a piece stored again after all tiles": copied("epilogue", "finish", entry="BulkStore"),
        "pieces exchanged on their way out": both(
            put({"args": [9, 9]}, entry="BulkStore", args=[0, 0]),
            put({"args": [0, 0]}, entry="BulkStore", args=[0, 64]),
            put({"args": [0, 64]}, entry="BulkStore", args=[9, 9]),
        ),
        "a piece filled with another's numbers": put(
            {"args": [0, 0]}, entry="Compute", args=[0, 64]
        ),
        "a piece declared, never stored": drop(entry="BulkStore", **PIECE),
        "the tile before is stored": both(
            each(lambda e: [], phase="epilogue", op="fill_out", args=[0, 192]),
            lambda d: of(d)["prologue"].insert(
                0, entry(BASES["text gemm"](), "epilogue", op="fill_out", args=[0, 192])
            ),
        ),
        "loads exchanged": both(
            put({"op": "?"}, entry="Load", part="v2"),
            put({"op": "load_ring_v2_v3.v2"}, entry="Load", part="v3"),
            put({"op": "load_ring_v2_v3.v3"}, entry="Load", op="?"),
        ),
    },
    "text attention": {
        "keys an iteration late": both(
            later(-1, "ring_v11"),
            add("prologue", 4, {"entry": "WaitFull", "ring": "ring_v11", "k": 0, "parity": 0}),
        ),
        "values an iteration early": later(1, "ring_v27"),
        "the sum is rescaled after the product": swap(
            "kernel", {"op": "make_v25"}, {"op": "dot_o_1"}
        ),
        "the maximum from the exponentials": swap(
            "kernel", {"op": "make_v13_here"}, {"op": "make_p"}
        ),
        "queries fetched once for all tiles": moved("prologue", "setup", op="fetch_qs"),
        "queries fetched in every iteration": copied("prologue", "kernel", 0, op="fetch_qs"),
        "the sums are finished twice": twice(op="finish_sums"),
        "the store takes the maximum for the sum": exchanged(
            "l_in", "top_in", "reads", op="store_out"
        ),
        "exponentials without the new maximum": renamed("top_in", "l_in", "reads", op="make_p"),
        "scores added up": put({"accumulate": True}, op="dot_v13", phase="kernel"),
        "the last product is forgotten": drop(op="dot_o_1", phase="epilogue"),
        "the tile is stored before the last product": move("epilogue", 10, 0),
        "the next tile's queries": swap("prologue", {"op": "fetch_qs"}, {"op": "dot_v13"}),
        "values twice in a product": each(
            lambda e: [e | {"slots": e["slots"] * 2}], op="dot_o_1", phase="epilogue"
        ),
        "weights twice in a product": each(
            lambda e: [e | {"registers": e["registers"] * 2}], op="dot_o_1", phase="kernel"
        ),
    },
    "grad": {
        "dv from ds": renamed("kept_v32_here", "kept_ds_here", "registers", op="dot_gv_1"),
        "dk from p": renamed("kept_ds_here", "kept_v32_here", "registers", op="dot_gk_1"),
        "dq adds twice": twice(entry="BulkStore"),
        "dq adds once more at the end": copied("kernel", "finish", 0, entry="BulkStore"),
        "dq of the iteration before": swap("kernel", {"op": "fill_dq"}, {"op": "dot_v38"}),
        "dq replaces": put({"reduce": False}, entry="BulkStore"),
        "sums never start": drop(op="start_tile"),
        "sums start in every iteration": moved("prologue", "kernel", 0, op="start_tile"),
        "dk for dv": exchanged("gk_in", "gv_in", "reads", entry="Compute", phase="epilogue"),
        "ds of the iteration before": swap("kernel", {"op": "put_ds_here"}, {"op": "make_ds_here"}),
        "keys for values": each(
            lambda e: [e | {"slots": [{"ring": "ring_ks", "part": "ks"}, *e["slots"][1:]]}],
            op="dot_v27",
        ),
        "ds times keys the other way": reversed_slots(op="dot_v38"),
        "the logsumexp is not read": each(lambda e: [e | {"slots": []}], op="make_p"),
    },
}
PROTOCOL = {
    "gemm": {
        "all slots announced before anything is loaded": moved(
            "kernel", "prologue", role="producer", entry="Expect"
        ),
        "two arrivals of a warp, none of the others": each(
            lambda e: [e | {"scope": "thread"}] * 8, entry="Arrive"
        ),
        "the fence of registers is a warp's business": each(
            lambda e: [WARP], entry="MmaFence", phase="prologue"
        ),
        "products end after all tiles": moved("kernel", "finish", 0, entry="WaitGroup"),
        "slots are freed after all tiles": moved("kernel", "finish", 0, entry="Arrive"),
        "the use after the last is waited for": add(
            "finish", 0, {"entry": "WaitFull", "ring": "ab", "k": 0, "parity": 0}
        ),
        "an arrival for the use after the last": add("finish", 0, RELEASE | {"side": "full"}),
        "a copy after all tiles": copied("kernel", "finish", role="producer", entry="Load"),
        "a copy before all tiles": copied("kernel", "setup", role="producer", entry="Load"),
        "a bigger slot than is announced": put({"bytes": 49152 + 16}, entry="Expect"),
        "announced, and announced again": twice(entry="Expect"),
    },
    "attention": {
        "turns in one instance only": put({"instance": 1}, entry="NamedSync", phase="kernel"),
        "a turn more in the epilogue": copied("kernel", "epilogue", 0, entry="NamedSync"),
        "a turn less at the end": drop(entry="NamedArrive", phase="epilogue"),
        "a turn is taken twice": copied("kernel", "kernel", 0, entry="NamedSync"),
        "three barriers for two": at("barriers", 0, count=3),
        "turns of four instances": at("barriers", 0, threads=512),
        "the other's turn is given first": both(
            put({"turn": 0}, entry="NamedArrive", phase="kernel"),
            put({"turn": 1}, entry="NamedSync", phase="kernel"),
        ),
        "Q is waited for with the other parity": put(
            {"parity": 1}, entry="WaitFull", ring="Q", phase="prologue"
        ),
        "all of Q is released with the first V": both(
            drop(entry="Arrive", ring="Q"), add("prologue", 99, RELEASE | {"ring": "V"})
        ),
        "K is announced as V": each(lambda e: [e | {"ring": "V"}], entry="Expect", ring="K"),
        "one thread releases K": put({"scope": "thread"}, entry="Arrive", ring="K"),
    },
    "cluster": {
        "copies to one CTA, bytes of two": put({"multicast": 1}, entry="Load", part="B"),
        "CTAs meet in one role": drop(entry="ClusterSync", role="producer"),
        "CTAs meet once more in the consumer": twice(
            entry="ClusterSync", role="consumer", phase="finish"
        ),
        "released where it was read, copied by the other": remote(1, 16),
        "released by both, counted once": both(remote(2, 16), at("rings", 0, empty_arrivals=8)),
        "no CTA waits for the other's slot": both(
            remote(2, 16), drop(entry="WaitEmpty", role="producer")
        ),
    },
    "text gemm": {
        "stores of a warp wait for nobody": drop(entry="ScopeSync", phase="epilogue"),
        "the last store of the CTA only read": put({"source_read": True}, phase="finish"),
        "four stores in flight from three copies": both(
            each(
                lambda e: [e | {"fills": [{"buffer": "out", "copy": 2}]}],
                op="fill_out",
                args=[0, 192],
            ),
            each(
                lambda e: [e | {"source": {"buffer": "out", "copy": 2}}],
                op="store_out",
                args=[0, 192],
            ),
        ),
        "stores of all warps by one thread": put({"scope": "thread"}, entry="BulkStore"),
        "and of the warpgroup": put({"scope": "warpgroup"}, entry="BulkStore"),
        "one group for all stores": both(
            drop(entry="BulkCommit"), add("finish", 0, {"entry": "BulkCommit"})
        ),
    },
    "text attention": {
        "weights overwritten while they are multiplied": move("kernel", 14, 17),
        "the sum is rescaled in flight": swap(
            "kernel", {"entry": "WaitGroup", "pending": 0}, {"op": "make_v25"}
        ),
        "V released before its product ends": past(
            "kernel", {"entry": "Arrive", "ring": "ring_v27"}, {"op": "make_v13_here"}
        ),
        "the fence before the second product only": move("kernel", 2, 5),
        "no fence at all": drop(entry="MmaFence"),
        "queries released before they are fetched": move("prologue", 3, 1),
        "every turn is the first": put({"instance": 0}, entry="NamedSync", phase="epilogue"),
    },
    "grad": {
        "ds announced before it is written": past("kernel", FULL, {"op": "put_ds_here"}),
        "ds announced before the fence": past("kernel", FULL, {"entry": "ProxyFence"}),
        "ds fenced after it is announced": past("kernel", {"entry": "ProxyFence"}, FULL, 1),
        "ds fenced by one warp": put({"scope": "thread"}, entry="Arrive", side="full"),
        "ds overwritten while it is multiplied": both(
            drop(entry="WaitEmpty", ring="ring_ds_here"), at("rings", 4, depth=1)
        ),
        "ds released at once": both(
            past("kernel", RELEASED_DS, {"op": "dot_v38"}), at("rings", 4, depth=1)
        ),
        "two consumers, one of them announces": at("rings", 4, full_arrivals=4),
        "dq staged over itself": drop(entry="BulkWait", phase="kernel"),
        "keys released in the loop": moved("epilogue", "kernel", entry="Arrive", ring="ring_ks"),
        "scales read after the release": past(
            "kernel", {"entry": "Arrive", "ring": "ring_qs"}, {"op": "make_p"}
        ),
    },
}
