"""Every entry kind in every list of every kind of role is emitted as verified, or refused."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from itertools import product
from typing import get_args

import pytest

from tests.mbarrier.samples import SHIPPED, lowered
from warploom.codegen.cuda.device import device, noted
from warploom.codegen.cuda.legality import group_barrier, with_barriers
from warploom.codegen.cuda.lowering import Site, base_table
from warploom.codegen.cuda.tile.helpers import FUNCTIONS, NEEDS, definitions
from warploom.codegen.cuda.tile.source import _Writer
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import BackendError
from warploom.ir.elementwise import ELEMENTWISE
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import BufferCopy, NamedBarrier, Part, Per, RoleRing, Scope, Side, SlotRead
from warploom.passes.build_module import build_module
from warploom.targets.h200 import h200
from warploom.verify.roles import verify_roles

COPY = BufferCopy(buffer="out", copy=0)
ENTRIES = (
    WaitFull(ring="ab"),
    WaitEmpty(ring="ab"),
    Expect(ring="ab", bytes=64),
    Load(op="load", ring="ab", part="A", bytes=64),
    Load(op="load", ring="ab", part="A", bytes=64, multicast=2),
    Load(op="load", ring="ab", part="A", bytes=64, by_threads=True),
    Load(op="load", ring="ab", part="A", bytes=64, by_threads=True, multicast=2),
    *(Arrive(ring="ab", scope=s) for s in Scope),
    *(Arrive(ring="ab", scope=s, ctas=2) for s in Scope),
    Arrive(ring="ab", side=Side.FULL),
    MmaFence(),
    Mma(op="mma", slots=(SlotRead(ring="ab", part="A"),), accumulator="acc"),
    Commit(),
    WaitGroup(pending=0),
    Compute(op="work"),
    ProxyFence(),
    *(ScopeSync(scope=s) for s in Scope),
    NamedSync(barrier="turn"),
    NamedArrive(barrier="turn", turn=1),
    NamedSync(barrier="turn", instance=1),
    NamedArrive(barrier="turn", turn=1, instance=0),
    *(BulkStore(op="store", source=COPY, scope=s) for s in Scope),
    BulkCommit(),
    BulkWait(pending=0),
    BulkWait(pending=2, source_read=False),
    ClusterSync(),
)
ALONE = {"Expect", "Load"}  # a single thread's matter
PRODUCTS = {"Mma", "MmaFence", "Commit", "WaitGroup"}
WARPS = {"NamedSync", "NamedArrive", *PRODUCTS}
LISTS = ("setup", "prologue", "kernel", "epilogue", "finish")
KNOWN = sorted({f.name for e in ENTRIES for f in fields(e)} - {"k", "op", "reason", "barrier"})

TURN = NamedBarrier(name="turn", id=1, threads=256, count=2)


def document(threads, cluster=1):
    program = RoleProgram(
        name="role", instances=2, threads=threads, peel=0, prologue=(), kernel=(), epilogue=()
    )
    ring = RoleRing(
        name="ab",
        depth=2,
        parts=(Part(name="A", offset=0, bytes=64),),
        full_arrivals=1,
        empty_arrivals=1,
    )
    return RolesDocument(
        name="d",
        target="h200",
        strategy="x",
        rings=(ring,),
        programs=(program,),
        barriers=(TURN,),
        cluster=cluster,
    )


def lower(entry, threads, phase="kernel", made=None):
    made = made or document(threads)
    table = base_table()
    for op in ("load", "mma", "work", "store"):
        table = table.with_op(op, lambda e, s: ["call();"])
    return table.lower(entry, Site(document=made, program=made.programs[0], phase=phase))


def test_the_walk_misses_no_kind():
    assert {type(e) for e in ENTRIES} == set(get_args(RoleEntry))


def refused(entry, threads, cluster, phase):
    """Whether no code does what the judge takes the entry for."""
    kind, scope = type(entry).__name__, getattr(entry, "scope", None)
    beyond = kind == "ClusterSync" and (cluster == 1 or phase != "finish")
    beyond = beyond or (getattr(entry, "ctas", 1) > 1 and (cluster == 1 or threads == 1))
    beyond = beyond or getattr(entry, "multicast", 1) > cluster
    shares = getattr(entry, "by_threads", False)
    beyond = beyond or (shares and entry.multicast > 1)
    unfit = kind in (ALONE if threads > 1 else WARPS) and not shares
    unfit = unfit or (shares and threads == 1)
    unfit = unfit or (threads == 1 and kind in ("ScopeSync", "BulkStore") and scope != "thread")
    unfit = unfit or (threads == 96 and (kind in PRODUCTS or scope not in (None, "warp")))
    return beyond or unfit


@pytest.mark.parametrize("phase", LISTS)
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("threads", [1, 96, 128])
def test_an_entry_becomes_code_or_is_refused(threads, cluster, phase):
    for entry in ENTRIES:
        made = document(threads, cluster)
        program = replace(made.programs[0], **{phase: (entry,)})
        made = replace(made, programs=(program,))
        if refused(entry, threads, cluster, phase):
            with pytest.raises(BackendError, match="judged"):
                lower(entry, threads, phase, made)
            continue
        lines = lower(entry, threads, phase, made)
        # A sync of one thread with itself is no code; CTAs meet where all threads end.
        nothing = isinstance(entry, ScopeSync) and entry.scope is Scope.THREAD
        assert lines or nothing or isinstance(entry, ClusterSync), entry
        if getattr(entry, "ctas", 1) > 1:
            assert all("_at(" in line and "lane < 2" in line for line in lines)


@pytest.mark.parametrize("name", ["gemm", "clustered", "grouped_gathered", "attention"])
def test_every_list_of_the_real_roles_takes_an_entry_or_refuses_it(name):
    """As above, by the tables of whole kernels; and what lines name is known to the role."""
    made = lowered(name)
    ring = made.document.rings[0].name
    declared = replace(made.document, barriers=(replace(TURN, id=9),))
    plain = [replace(e, ring=ring) if hasattr(e, "ring") else e for e in ENTRIES]
    plain = [e for e in plain if not hasattr(e, "op")]
    for program, phase in product(declared.programs, LISTS):
        bad = [e for e in plain if refused(e, program.threads, declared.cluster, phase)]
        alone = replace(
            program,
            **{n: tuple(e for e in plain if e not in bad) if n == phase else () for n in LISTS},
        )
        programs = tuple(alone if p is program else p for p in declared.programs)
        stated = replace(made, document=replace(declared, programs=programs))
        writer = _Writer(build_module(made.kernel, stated), h200(), stamps=False)
        writer.kernel_text()
        part = writer.last
        tables = {"producer": part.producer, "consumer": part.plain, "gatherer": part.gatherer}
        text = "\n".join(part.list_lines(part.role(program.name), phase, tables[program.name]))
        unknown = {"instance", "warp_in_group"} & set(re.findall(r"\w+", text))
        assert program.name == "consumer" or not unknown, (program.name, phase, text)
        site = Site(document=part.document, program=part.role(program.name), phase=phase)
        for entry in bad:
            with pytest.raises(BackendError, match="judged"):
                tables[program.name].lower(entry, site)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (WaitFull(ring="ab", k=1), "mbar_wait(smem + AB_FULL + 8 * ab.at<1>().slot, ab.at<1>().ph"),
        (WaitFull(ring="ab", parity=1), "ab.phase ^ 1);"),
        (WaitEmpty(ring="ab", parity=0), "ab.phase);"),
        (Arrive(ring="ab", side=Side.FULL), "if (lane == 0) mbar_arrive(smem + AB_FULL + "),
        (Arrive(ring="ab"), "if (lane == 0) mbar_arrive(smem + AB_EMPTY + "),
        (NamedSync(barrier="turn"), "named_sync(1 + instance, 256);"),
        (NamedSync(barrier="turn", instance=1), "if (instance == 1) named_sync(1 + instance, 256)"),
        (NamedArrive(barrier="turn", turn=1), "named_arrive(1 + (instance + 1) % 2, 256);"),
        (BulkWait(pending=2), "if (lane == 0) bulk_wait_read<2>();"),
        (BulkWait(pending=2, source_read=False), "if (lane == 0) bulk_wait<2>();"),
        (WaitGroup(pending=3), "wgmma_wait<3>();"),
    ],
)
def test_options_of_entries_are_in_the_text(entry, text):
    assert text in lower(entry, 128)[0]


def test_a_use_may_be_any_number_of_rounds_away():
    """A slot is the same every lap, the phase bit of a barrier every two."""
    for entry in (e for e in ENTRIES if getattr(e, "ring", "")):
        alone = type(entry).__name__ in ALONE and not getattr(entry, "by_threads", False)
        threads = 1 if alone else 128
        if refused(entry, threads, 2, "kernel"):
            continue
        made = document(threads, 2)
        near, far = (lower(replace(entry, k=k), threads, made=made) for k in (1, -3))
        assert near == far
    times = (
        626,
        1096,
        626,
        1288,
        1186,
        1322,
        0,
        1376,
        1656,
    )  # waits two uses back in a ring of one
    made = lowered("scan_parts", schedule=times)
    assert any(
        isinstance(e, WaitEmpty) and abs(e.k) > made.document.ring(e.ring).depth
        for p in made.document.programs
        for e in p.kernel
    )
    assert verify_roles(made.document).clean
    assert emit_kernel(made).text


def other_values(made, entry, field):
    """Another value that a field may have."""
    value = getattr(entry, field)
    match value:
        case bool():
            return [not value]
        case Scope() | Side():
            return [v for v in type(value) if v is not value][:1]
        case int():
            return [1 - value if field == "parity" else value + 1]
        case tuple():
            return [value[:-1]] if value else []
        case BufferCopy():
            return [replace(value, copy=value.copy + 1)]
    others = {"ring": [r.name for r in made.rings if r.name != value], "instance": [0]}
    return others.get(field, [])[:1]


def changed_once(made):
    """The document with one field changed: one of every field of every kind of every role."""
    once = {r.name for r in made.rings if r.per is Per.TILE}
    done = set()
    for program, (phase, row) in ((p, x) for p in made.programs for x in p.phases()):
        for (i, entry), field in product(enumerate(row), ("k", *KNOWN)):
            key = program.name, type(entry), field
            if not hasattr(entry, field) or key in done:
                continue
            if field == "k" and (phase == "epilogue" or getattr(entry, "ring", "") in once):
                continue  # a tile's own ops and rings know no iteration
            for value in other_values(made, entry, field):
                done.add(key)
                new = (*row[:i], replace(entry, **{field: value}), *row[i + 1 :])
                edited = replace(program, **{phase: new})
                programs = tuple(edited if p is program else p for p in made.programs)
                yield key, replace(made, programs=programs)


@pytest.mark.parametrize("name", ["gemm", "clustered", "attention"])
def test_no_field_of_an_entry_is_ignored(name):
    """Another value gives another text, or is refused."""
    made = lowered(name)
    plain = emit_kernel(made).text
    for key, document in changed_once(made.document):
        if key[1:] == (Compute, "k"):
            continue  # work on registers is the same for every iteration; the judge counts them
        try:
            text = emit_kernel(replace(made, document=document)).text
        except BackendError:
            continue
        assert text != plain, key


def test_one_arrival_is_one_thread():
    one = "if (lane == 0 && warp_in_group == 0) mbar_arrive"
    assert lower(Arrive(ring="ab", scope=Scope.THREAD), 128)[0].startswith(one)
    assert lower(Arrive(ring="ab", scope=Scope.WARPGROUP), 128)[0].startswith(one)
    assert lower(Arrive(ring="ab"), 128)[0].startswith("if (lane == 0) mbar_arrive")
    assert lower(Arrive(ring="ab", scope=Scope.THREAD), 1)[0].startswith("mbar_arrive")


def test_groups_meet_at_barriers_nobody_declared():
    made = document(128)
    assert group_barrier(made, made.programs[0]) == 3
    assert lower(ScopeSync(scope=Scope.WARPGROUP), 128) == ["named_sync(3 + instance, 128);"]
    full = replace(made, barriers=(NamedBarrier(name="turn", id=1, threads=256, count=14),))
    with pytest.raises(BackendError, match="no hardware barrier is left"):
        lower(ScopeSync(scope=Scope.WARPGROUP), 128, made=full)


def test_groups_of_other_roles_and_of_other_loops_meet_elsewhere():
    made = document(128)
    other = replace(made.programs[0], name="other")
    two = replace(made, programs=(*made.programs, other))
    assert [group_barrier(two, p) for p in two.programs] == [3, 5]
    second = replace(made, name="second", barriers=(replace(TURN, id=3),))
    assert group_barrier(with_barriers(made, [second]), made.programs[0]) == 5


CALL = re.compile(r"\b([a-z_][a-z0-9_]*)\s*(?:<[^;(){}]*>)?\s*\(")


def called(text):
    return {name for name in CALL.findall(text) if name in FUNCTIONS}


def test_device_functions_say_what_they_call():
    for name, text in FUNCTIONS.items():
        assert called(text) - {name} == set(NEEDS.get(name, ())), name
    for row in ELEMENTWISE.values():
        assert called(f"{row.cuda} {row.cuda_int}") == set(row.cuda_calls), row.fn


def test_a_call_of_what_is_not_defined_is_refused():
    with noted() as names:
        assert f"{device.mbar_wait}(bar);" == "mbar_wait(bar);"
        with pytest.raises(BackendError, match="no_such_function"):
            device["no_such_function"]
        assert not hasattr(device, "no_such_function")
    assert names == {"mbar_wait"}
    assert FUNCTIONS["mbar_wait"] in definitions(names)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_kernels_are_emitted(name):
    text = emit_kernel(lowered(name)).text
    body = text[text.index("__global__") :]
    defined = {n for n, x in FUNCTIONS.items() if x in text}
    wanted = called(re.sub(r"//[^\n]*", "", body) + "".join(re.findall(r"^DEVICE.*", text, re.M)))
    assert called(body) <= defined <= wanted | {c for n in defined for c in NEEDS.get(n, ())}
    assert body.count("await_kernel_before();") == 1  # launches come early: see runtime/plan.py
    before = body[body.index("{") : body.index("await_kernel_before();")]
    assert not re.findall(r"\w\[(?!\])|\bldg?\b|load|tma_", before)  # nothing is read until then


def test_lanes_that_read_by_themselves_meet_before_one_of_them_releases():
    """Scales in slots are read by ordinary loads; products keep their warps together."""
    made = lowered("block_scaled")
    consumer = next(p for p in made.document.programs if p.name == "consumer")
    entries = [e for _, row in consumer.phases() for e in row]
    read = {s.ring for e in entries if isinstance(e, Compute) for s in e.slots}
    released = {e.ring for e in entries if isinstance(e, Arrive) and e.side is Side.EMPTY}
    assert read & released
    lines = [line.strip() for line in emit_kernel(made).text.splitlines()]
    for ring in read & released:
        start = f"if (lane == 0) mbar_arrive(smem + {ring.upper()}_EMPTY"
        arrivals = [i for i, line in enumerate(lines) if line.startswith(start)]
        assert arrivals
        assert all(lines[i - 1] == "__syncwarp();" for i in arrivals)


@pytest.mark.parametrize(
    "change",
    [{"carries_phase": False}, {"instances": 1}, {"threads": 256}, {"registers": (("acc_in", 1),)}],
)
def test_roles_are_emitted_as_the_kernel_has_them(change):
    made = lowered("gemm")
    programs = tuple(
        replace(p, **change) if p.name == "consumer" else p for p in made.document.programs
    )
    with pytest.raises(BackendError, match="not the kernel's"):
        emit_kernel(replace(made, document=replace(made.document, programs=programs)))
