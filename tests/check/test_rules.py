"""Rules of the ISA and of the memory model, each in a right and a wrong form."""

from __future__ import annotations

import numpy as np
import pytest

from tests.check.code import LOADS, kernel, launch
from warploom.axioms import parse_axiom
from warploom.check import check
from warploom.errors import CheckError

SHARED = " .shared .align 16 .b8 s[1024];\n .shared .align 8 .b64 bar;\n"
OWN = " mov.u32 %r20, s; shl.b32 %r21, %r1, 2; add.s32 %r22, %r20, %r21;\n"


def verdict(body, block=64, **more):
    given = launch(block, **more.pop("given", {}))
    return check(kernel(SHARED + LOADS + OWN + body), given, **more)


def codes(report):
    return {f.code for f in report.defects()}


EXCHANGE = """ st.shared.u32 [%r22], %r2;
 {sync}
 xor.b32 %r23, %r21, 252; add.s32 %r23, %r20, %r23;
 ld.shared.u32 %r10, [%r23];
 st.global.u32 [%d5], %r10;"""


def test_a_barrier_orders_and_its_absence_is_a_race_with_both_lines():
    assert verdict(EXCHANGE.format(sync="bar.sync 0;")).clean
    report = verdict(EXCHANGE.format(sync=""))
    assert report.verdict.value == "race"
    (found, *_) = report.defects()
    lines = {e.instruction.split()[0] for e in found.events}
    assert lines == {"st.shared.u32", "ld.shared.u32"}
    assert found.address.space == "shared"
    assert found.address.name == "s"


def test_convergence_orders_control_but_not_memory():
    near = EXCHANGE.replace("252", "124")  # within a warp
    assert verdict(near.format(sync="bar.warp.sync -1;")).clean
    shuffle = "shfl.sync.idx.b32 %r30, %r2, 0, 31, -1;"
    assert "RAW-LANES" in codes(verdict(near.format(sync=shuffle)))


def test_the_same_value_twice_is_a_note():
    report = verdict(" mov.u32 %r10, 5; st.global.u32 [%d2], %r10;")
    assert report.clean
    assert {n.code for n in report.notes()} == {"SAME-VALUE"}
    assert verdict(" st.global.u32 [%d2], %r1;").verdict.value == "race"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (" ld.global.u32 %r10, [%d1+65536]; st.global.u32 [%d5], %r10;", "OUT-OF-BOUNDS"),
        (" ld.shared.u32 %r10, [%r22+4096];", "OUT-OF-BOUNDS"),
        (" ld.global.v2.u32 {%r10, %r11}, [%d4];", "MISALIGNED"),
        (" st.global.u32 [%d4], %r2;", "WRITES-INPUT"),
        (" bar.sync 16;", "BARRIER"),
        (" bar.sync 1, 48;", "BARRIER"),
        (" mov.u32 %r30, bar; mbarrier.arrive.shared.b64 _, [%r30];", "NO-INIT"),
        (" setmaxnreg.inc.sync.aligned.u32 20;", "REGISTERS"),
        (" trap;", "TRAP"),
    ],
)
def test_broken_rules(body, code):
    report = verdict(body)
    assert code in codes(report), report.text()
    assert report.exit_code == 1


def test_an_aligned_instruction_in_a_divergent_branch():
    body = " setp.eq.u32 %p1, %r1, 0; @%p1 bra A; bra B; A: bar.sync 0; B: bar.sync 0;"
    report = verdict(body, 32)
    assert report.verdict.value in ("invalid", "deadlock"), report.text()


def test_lanes_that_left_early_do_not_hold_a_barrier():
    body = " setp.gt.u32 %p1, %r1, 40; @%p1 ret; bar.sync 0; st.global.u32 [%d5], %r2;"
    assert verdict(body).clean


def test_a_deadlock_names_who_waits_for_what():
    body = """ setp.ge.u32 %p1, %r1, 32; @%p1 bra B;
    bar.sync 1, 64; ret;
    B: bar.sync 2, 64;"""
    report = verdict(body)
    assert report.verdict.value == "deadlock"
    told = "\n".join(report.defects()[0].witness)
    assert "named barrier 1" in told
    assert "named barrier 2" in told


def test_registers_move_only_where_some_were_given_back():
    body = """ setp.ge.u32 %p1, %r1, 128; @%p1 bra B;
    {give}
    ret;
    B: setmaxnreg.inc.sync.aligned.u32 168;"""
    known = {"registers": 128}
    give = "setmaxnreg.dec.sync.aligned.u32 40;"
    full = {"x": {"shape": [512]}, "y": {"shape": [512]}}
    assert verdict(body.format(give=give), 256, given={**known, **full}).clean
    assert verdict(body.format(give=""), 256, given={**known, **full}).verdict.value == "deadlock"
    unknown = verdict(body.format(give=""), 256, given=full)
    assert unknown.clean
    assert any("register sums are not judged" in a for a in unknown.assumes)


def test_what_never_ran_is_listed():
    report = verdict(" setp.gt.u32 %p1, %r1, 1000; @%p1 bra A; ret; A: st.global.u32 [%d5], %r2;")
    assert report.clean
    assert any("st.global.u32" in line for line in report.never_run)


def test_an_unknown_instruction_counts_when_it_is_reached():
    body = " setp.gt.u32 %p1, %r1, 1000; @!%p1 ret; tcgen05.fence::before_thread_sync;"
    assert verdict(body).clean
    report = verdict(" tcgen05.fence::before_thread_sync;")
    assert report.verdict.value == "unsupported"
    assert "tcgen05" in report.unsupported
    assert "line" in report.unsupported


def test_outputs_are_compared():
    body = " add.s32 %r10, %r2, 1; st.global.u32 [%d5], %r10;"
    more = {"given": {"x": {"shape": [192]}, "y": {"shape": [64]}}}
    assert verdict(body, against=lambda x: x[:64] + 1, **more).clean
    wrong = verdict(body, against=lambda x: x[:64] + 2, **more)
    assert wrong.verdict.value == "wrong"
    assert wrong.exit_code == 1


def test_draws_are_listed():
    body = " atom.global.add.u32 %r10, [%d2], 1;"
    report = verdict(body, given={"y": {"role": "inout", "init": "zero"}})
    assert report.clean
    assert any(a.startswith("draw:") for a in report.assumes)


def test_axioms_are_known_by_name():
    report = verdict("", axioms={"nonsense": True})
    assert report.verdict.value == "malformed"
    with pytest.raises(CheckError):
        parse_axiom("war_proxy=maybe")


def test_a_report_is_json_of_the_documented_form():
    found = verdict(EXCHANGE.format(sync="")).to_json()
    assert {"file", "entry", "verdict", "launches", "assumes", "findings"} <= found.keys()
    finding = found["findings"][0]
    assert {"code", "events", "address", "why", "witness", "fix"} <= finding.keys()
    event = finding["events"][0]
    assert {"line", "instruction", "cta", "warp", "thread", "iteration"} <= event.keys()
    import json

    json.dumps(found)


def test_orders_do_not_change_values():
    out = [{}, {}]
    for order, held in zip(("forward", "reverse"), out, strict=True):
        body = EXCHANGE.format(sync="bar.sync 0;")
        assert verdict(body, orders=(order,), outputs=held).clean
    np.testing.assert_array_equal(out[0]["y"], out[1]["y"])
