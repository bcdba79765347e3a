"""The documented debug forms."""

from warploom import DeclarativeSchedule, WaitCounts, compile_schedule
from warploom.ir.schedule_ops import KOffsetKind
from warploom.pipeline.block_expand.program import dump_program_blocks
from warploom.pipeline.listing import (
    default_op_name,
    format_entry,
    format_phase_header,
    format_wait_counts,
    k_offset_name,
    split_blocks,
)

COMPILED = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))


def test_dump_names_slots_and_purposes(capsys):
    dump_program_blocks(COMPILED.program, COMPILED.config)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        "=== Half 0 ===",
        "  Block 0 :",
        "    pre_op_0: tag= 4 stage= 0 ch= 1",
        "    pre_op_1: tag= 3 stage= 0 ch= 0",
        "    global_load: tag= 0 stage= 1 ch= 0  [completion]",
        "    mma: tag= 5 stage= 0 sub= 0",
        "  Block 1 :",
    ]
    assert "    global_load: tag= 1 stage= 0 ch= 1  [prefetch]" in lines


def test_documented_line_forms():
    assert default_op_name(3) == "OP             "
    assert default_op_name(132) == "SCHED_BARRIER  "
    assert default_op_name(133) == "?              "
    assert k_offset_name(KOffsetKind.K_PREV) == "KPREV"
    assert k_offset_name(KOffsetKind.NONE) == "-    "
    entry = COMPILED.kernel[2]
    assert format_entry("K", 2, default_op_name(0), entry) == (
        "K [2] OP              s=1 sub=1 k=KPREV wait=0 pf=False"
    )
    assert format_phase_header("kernel", 70) == "kernel (70 entries)\n" + "-" * 80
    assert format_wait_counts("kernel", WaitCounts.of(COMPILED.kernel)) == (
        "  kernel: 2 vmcnt, 8 lgkmcnt (0 coalesced vm+lgkm), 16 s_barrier, 4 sched_barrier"
    )


def test_blocks_of_a_listing_cover_it():
    blocks = split_blocks(COMPILED.kernel)
    assert len(blocks) == 8
    assert blocks[0] == (0, 11)
    assert blocks[-1][1] == len(COMPILED.kernel)
