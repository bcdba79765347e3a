"""The verdict with an axiom turned off, numbers that differ by rounding, polls that never end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.check.code import LOADS, compute, kernel, launch
from tests.check.pairs_more import MORE
from tests.check.test_pairs import SYNC, launch_of
from warploom.check import check
from warploom.compiler.cubin import find_toolchain, ptx_of
from warploom.errors import BackendError
from warploom.report import Verdict

CASES = Path(__file__).parents[2] / "bench" / "syncbench" / "cases"


def case(name: str, form: str, **more):
    folder = CASES / name
    return check(folder / f"{form}.ptx", json.loads((folder / "launch.json").read_text()), **more)


@pytest.mark.parametrize(
    ("name", "axiom"),
    [("leader_arrives_for_its_warps", "late_waiters"), ("read_before_grid_wait", "grid_wait")],
)
def test_a_report_with_findings_gives_the_verdict_without_the_axiom(name, axiom):
    found = case(name, "wrong")
    assert not found.clean
    line = next(a for a in found.assumes if a.startswith(f"{axiom}=on"))
    assert "Turned off, the verdict is clean." in line
    assert {f.axiom for f in found.defects()} == {axiom}
    assert case(name, "wrong", axioms={axiom: False}).clean


def test_a_clean_report_gives_the_verdict_without_an_axiom_it_uses():
    """A slot that was only read, and is then overwritten by a copy, without a proxy fence."""
    found = case("slot_released_by_one_lane", "fixed")
    assert found.clean
    line = next(a for a in found.assumes if a.startswith("war_proxy=on"))
    off = case("slot_released_by_one_lane", "fixed", axioms={"war_proxy": False})
    assert off.verdict is Verdict.RACE
    assert "Turned off, the verdict is race (PROXY at lines" in line


def test_each_warp_reads_its_own_rows_of_a():
    """A warp overwrites the rows of A that it read itself, after its own wait."""
    try:
        find_toolchain()
    except BackendError:
        pytest.skip("no CUDA compiler")
    code, given = MORE["wg_epilogue_smem_reuse"]
    assert "(t+64)%128" in code  # another warp's rows: the wrong form
    text = ptx_of(SYNC.read_text().replace("#pragma once", "") + code.replace("(t+64)%128", "t"))
    found = check(text, launch_of(given))
    assert found.clean, found.text()
    line = next(a for a in found.assumes if a.startswith("wgmma_rows=on"))
    assert "Turned off, the verdict is race" in line


SUM = """ add.u32 %r5, %r1, 1;
 cvt.rn.f32.u32 %f1, %r5;
 rcp.rn.f32 %f1, %f1;
 mul.f32 %f2, %f1, 0f3F8CCCCD;
{more}
 shfl.sync.bfly.b32 %r6, %r7, 1, 31, -1;
 mov.b32 %f4, %r6;
 fma.rn.f32 %f5, %f1, 0f3F8CCCCD, %f4;
 mov.u64 %d6, held;
 cvta.to.shared.u64 %d7, %d6;
 shr.u32 %r8, %r1, 1;
 mul.wide.u32 %d9, %r8, 4;
 add.s64 %d6, %d6, %d9;
 {store}
"""


def fused(more: str, store: str):
    """Lanes of a pair add their products to each other's: one product is not rounded."""
    body = LOADS + SUM.format(more=more, store=store)
    text = kernel(body).replace("{\n .reg .pred", "{\n .shared .align 4 .b8 held[64];\n .reg .pred")
    return check(text, launch())


def test_sums_in_two_orders_are_a_note():
    found = fused(" mov.b32 %r7, %f2;", "st.shared.f32 [%d6], %f5;")
    assert found.clean, found.text()
    assert [f.code for f in found.notes()] == ["ROUNDING"]
    assert "by rounding alone" in found.text()


def test_other_numbers_are_a_race():
    found = fused(" mov.b32 %r7, %f1;", "st.shared.f32 [%d6], %f1;")
    assert found.verdict is Verdict.RACE
    assert [f.code for f in found.defects()] == ["WAW-LANES"]


def test_neighbouring_integers_are_a_race():
    """Counts that differ by one are no rounding, however they look as numbers."""
    found = fused(" mov.b32 %r7, %f1; add.u32 %r9, %r1, 70000;", "st.shared.u32 [%d6], %r9;")
    assert found.verdict is Verdict.RACE


POLL = """ mov.u64 %d6, 0;
AGAIN:
 atom.global.cas.b32 %r5, [%d2], 0, 1;
 setp.ne.u32 %p1, %r5, 0;
 @%p1 bra AGAIN;
"""


def test_a_lock_that_nobody_frees():
    """Polling with atomics changes nothing, so the loop is seen to repeat itself."""
    found = check(kernel(LOADS + POLL), launch(y={"init": "zero", "role": "inout"}), budget=60_000)
    assert found.verdict is Verdict.DEADLOCK, found.text()
    assert found.findings[0].witness[0].startswith("in this order: ")


def test_inlined_lines_lead_to_the_author():
    text = kernel(LOADS + " .loc 1 7 3\n")
    text = text.replace(
        ".visible", '.file 1 "author.cu"\n.file 2 "lib.h"\n.file 3 "deep.h"\n.visible'
    )
    chain = """ .loc 1 12 3
 .loc 2 40 5, function_name $L__i0, inlined_at 1 12 3
 .loc 3 90 7, function_name $L__i1, inlined_at 2 40 5
"""
    text = text.replace(" .loc 1 7 3\n", chain + " st.global.u32 [%d2], %r1;\n")
    found = check(text, launch())
    assert found.verdict is Verdict.RACE
    assert {e.source for f in found.defects() for e in f.events} == {"author.cu:12"}


CALLED = """.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.func (.param .b32 r) twice (.param .b32 a)
{
 .reg .b32 %r<3>;
 ld.param.u32 %r1, [a];
 add.u32 %r2, %r1, %r1;
 st.param.b32 [r], %r2;
 ret;
}
.visible"""


def test_printf_and_calls_under_a_predicate():
    body = """ mov.u32 %r10, 5;
 setp.lt.u32 %p1, %r1, 8;
 {
 .param .b32 q0;
 .param .b32 q1;
 st.param.b32 [q0], %r2;
 @%p1 call (q1), twice, (q0);
 @%p1 ld.param.b32 %r10, [q1];
 }
 {
 .param .b64 f0;
 .param .b64 f1;
 .param .b32 f2;
 st.param.b64 [f0], %d1;
 st.param.b64 [f1], %d1;
 call.uni (f2), vprintf, (f0, f1);
 }
 st.global.u32 [%d5], %r10;
"""
    out: dict[str, np.ndarray] = {}
    text = kernel(LOADS + body).replace(".visible", CALLED)
    asked = launch(x={"values": list(range(256))}, y={"shape": [32]})
    assert check(text, asked, outputs=out).clean
    assert out["y"].tolist() == [2 * i if i < 8 else 5 for i in range(32)]


@pytest.mark.parametrize("text", ["max.s16x2.relu", "max.relu.s16x2"])
def test_two_halves_and_zero(text):
    words = np.random.default_rng(3).integers(0, 1 << 32, 96, dtype=np.uint32)
    halves = words.view(np.int16).reshape(3, 32, 2)
    wanted = np.maximum(np.maximum(halves[0], halves[1]), 0).astype(np.int16)
    found = compute(f" {text} %r10, %r2, %r3;\n", words)
    assert found.tolist() == np.ascontiguousarray(wanted).view(np.uint32).reshape(-1).tolist()
