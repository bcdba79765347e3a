"""Damaged files and launches, drawn at random: a verdict or an error of ours, never a traceback."""

from __future__ import annotations

import json
import re

from hypothesis import given, settings, strategies as st

from tests.check.code import LOADS, kernel, launch
from tests.check_amdgcn.small import BUFFER, assembled, small_launch
from warploom.axioms import resolve
from warploom.check.amdgcn import check_amdgcn
from warploom.check.launch import Launch
from warploom.check.ptx.check import check_ptx
from warploom.errors import WarploomError

PTX = kernel(
    LOADS
    + """ .shared .align 128 .b8 s[512];
 .shared .align 8 .b64 bar;
 .reg .pred q;
 setp.eq.u32 q, %r1, 0;
 @q mbarrier.init.shared::cta.b64 [bar], 1;
 bar.sync 0;
 @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
 @q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], 128, [bar];
WAIT:
 mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
 @!%p1 bra WAIT;
 shl.b32 %r5, %r1, 2;
 mov.u32 %r6, s;
 add.u32 %r6, %r6, %r5;
 ld.shared.u32 %r7, [%r6];
 shfl.sync.bfly.b32 %r8, %r7, 1, 31, 0xffffffff;
 mad.lo.s32 %r10, %r8, 3, %r2;
 st.global.u32 [%d5], %r10;
"""
)
AMD = assembled(
    BUFFER
    + """
	s_lshl_b32 s12, s3, 2
	s_mov_b32 m0, s12
	s_nop 0
	buffer_load_dword v1, s[8:11], 0 offen lds
	s_waitcnt vmcnt(0)
	s_barrier
	ds_read_b32 v4, v2
	s_waitcnt lgkmcnt(0)
	v_mov_b32_dpp v4, v4 row_shr:1 row_mask:0xf bank_mask:0xf
	global_store_dword v1, v4, s[6:7]
"""
)
LAUNCH = json.dumps(launch())
TOKEN = re.compile(r"-?\d+|[%$.@\w]+|[^\s\w]")
ODD = (
    "", "-1", "18446744073709551616", "999999999999999999999999", "0x7fffffff", "nan", "{" * 400,
    "(" * 400, '"', "/*", "\0", ";", "%r99999", "v[0:99999]", "s[-1:4]", ".b128", ".v4", "[", "]",
)  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["replace", "delete", "copy", "cut", "line"]),
        st.floats(0, 1, exclude_max=True),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(ODD),
    ),
    min_size=1,
    max_size=4,
)


def damaged(text: str, edits: list[tuple[str, float, float, str]]) -> str:
    """The text with tokens replaced, removed or repeated, lines moved, or an end cut off."""
    for kind, one, two, odd in edits:
        found = list(TOKEN.finditer(text))
        if not found:
            break
        a, b = found[int(one * len(found))], found[int(two * len(found))]
        if kind == "cut":
            text = text[: a.start()]
        elif kind == "line":
            lines = text.split("\n")
            lines.insert(int(two * len(lines)), lines[int(one * len(lines))])
            text = "\n".join(lines)
        else:
            new = {"replace": odd, "delete": "", "copy": b.group()}[kind]
            text = text[: a.start()] + new + text[a.end() :]
    return text


def judged(text: str, given: object, check) -> None:
    try:
        report = check(text, given)
    except WarploomError:
        return
    assert json.dumps(report.to_json())
    assert report.text()


def ptx(text, given):
    orders = ("forward", "starve0")
    return check_ptx(text, given, axioms=resolve(None), orders=orders, budget=20_000)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(EDITS)
def test_damaged_ptx(edits):
    judged(damaged(PTX, edits), Launch.from_json(launch()), ptx)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(EDITS)
def test_damaged_assembly(edits):
    def check(text, given):
        return check_amdgcn(text, given, axioms=resolve(None))

    judged(damaged(AMD, edits), small_launch(), check)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(EDITS)
def test_damaged_launches(edits):
    text = damaged(LAUNCH, edits)
    try:
        found = Launch.from_json(json.loads(text))
    except (WarploomError, json.JSONDecodeError, RecursionError):
        return
    judged(PTX, found, ptx)
