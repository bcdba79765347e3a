"""The checker against an explorer of every interleaving, on small launches and their mutants."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.check.code import kernel, launch
from tests.check.explorer import explore
from warploom.check import check
from warploom.check.launch import Launch
from warploom.errors import UnsupportedCodeError

BENCH = Path(__file__).parents[2] / "bench" / "syncbench"
CASES = BENCH / "cases"
BOTH = [
    "arrival_count_mismatch", "arrive_where_sync_is_needed", "bytes_expected_but_no_arrival",
    "conditional_write_read_without_sync", "copy_group_count_off_by_one",
    "cp_async_wait_after_sync", "expect_after_arrivals", "expect_tx_too_small",
    "flag_after_read_wait", "invalidated_while_awaited", "leader_arrives_for_its_warps",
    "mailbox_reused_before_read", "multicast_slot_of_the_neighbour", "named_barrier_ahead",
    "parity_of_another_barrier", "proxy_fence_by_one_thread", "remote_barrier_not_initialised",
    "sync_dropped_in_else", "waiter_can_be_lapped",
]  # fmt: skip
SLICE = ["bytes_expected_but_no_arrival", "expect_tx_too_small", "cp_async_wait_after_sync",
         "conditional_write_read_without_sync"]  # fmt: skip


def _mutants():
    spec = importlib.util.spec_from_file_location("syncbench_mutants", BENCH / "mutants.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found.mutants


def _case(name, form):
    return (CASES / name / f"{form}.ptx").read_text(), Launch.read(CASES / name / "launch.json")


@pytest.mark.parametrize("name", BOTH)
def test_some_interleaving_of_the_wrong_form_shows_it_and_none_of_the_fixed_one(name):
    assert explore(*_case(name, "wrong"), most=1500).wrong
    right = explore(*_case(name, "fixed"), most=1500)
    assert right.single
    assert right.complete


def _judged(name, states):
    text, made = _case(name, "fixed")
    base = explore(text, made, most=states)
    assert base.single
    wrong = 0
    for line, kind, lines in _mutants()(text.split("\n")):
        mutant = "\n".join(lines)
        seen = explore(mutant, made, most=states)
        if seen.wrong or (seen.outcomes and seen.outcomes != base.outcomes):
            wrong += 1
            found = check(mutant, made, orders=("forward", "reverse", "random"))
            assert not found.clean, f"{name}: line {line}: {kind}"
    return wrong


@pytest.mark.parametrize("name", SLICE)
def test_every_mutant_that_the_explorer_calls_wrong_is_found(name):
    assert _judged(name, 600)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_more_mutants(name):
    assert _judged(name, 1500)


ORDER = """ .shared .align 4 .b8 s[4];
 ld.param.u64 %d2, [y];
 mov.u32 %r1, %tid.x;
 mov.u32 %r2, s;
 setp.ge.u32 %p1, %r1, 32;
 @%p1 bra OTHER;
 st.shared.u32 [%r2], 7;
 bar.sync 0;
 bra OUT;
OTHER:
 bar.sync 0;
 ld.shared.u32 %r3, [%r2];
 st.global.u32 [%d2], %r3;
OUT:
"""


def test_the_explorer_knows_order_deadlock_and_what_it_does_not_know():
    made = launch(block=64)
    good = explore(kernel(ORDER), made)
    assert good.single
    assert good.complete
    late = ORDER.replace(" bar.sync 0;\n ld.shared.u32 %r3, [%r2];", " ld.shared.u32 %r3, [%r2];")
    assert explore(kernel(late + " bar.sync 0;\n"), made).wrong
    stuck = ORDER.replace(" st.shared.u32 [%r2], 7;\n bar.sync 0;", " bar.sync 1, 64;")
    assert "deadlock" in explore(kernel(stuck), made).outcomes
    with pytest.raises(UnsupportedCodeError, match="wgmma"):
        explore(kernel(" wgmma.fence.sync.aligned;"), made)
