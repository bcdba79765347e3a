"""Holds and clock stamps: entries put into a proven document at emission, and what ptxas does."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise

import pytest

from warploom.document.roles import Compute, WaitGroup
from warploom.emit.cuda import emit_attention
from warploom.emit.cuda.holds import Extended, held
from warploom.emit.cuda.stamps import SPANS, STAMPS, Window, labels, spanned, traced
from warploom.errors import BackendError
from warploom.launch import build
from warploom.launch.shipped import SHIPPED_ATTENTION, shipped_schedule
from warploom.verify.roles import verify_roles

from .test_cuda_compile import disassembler

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
needs_sass = pytest.mark.skipif(disassembler() is None, reason="no cuobjdump")
KERNEL = SHIPPED_ATTENTION[0]
DOCUMENT = shipped_schedule(KERNEL.name)


def without(document, *prefixes):
    """The entries of the consumer without the added ones."""
    program = document.program("consumer")
    return [
        [e for e in entries if not getattr(e, "op", "").startswith(prefixes)]
        for _, entries in program.phases()
    ]


@pytest.mark.parametrize("kernel", SHIPPED_ATTENTION, ids=lambda k: k.name)
def test_extended_documents_are_the_schedule_and_stay_proven(kernel):
    document = shipped_schedule(kernel.name)
    for extended, prefix in (
        (held(document), "hold."),
        (spanned(document), "span."),
        (traced(document, Window(first=4, count=8)), "stamp."),
    ):
        assert without(extended.document, prefix) == without(document, prefix)
        assert verify_roles(extended.document).clean
        assert extended.document != document


def test_a_hold_stands_between_work_and_the_wait_behind_it():
    kernel = held(DOCUMENT).document.program("consumer").kernel
    names = [getattr(e, "op", type(e).__name__) for e in kernel]
    at = next(i for i, n in enumerate(names) if n.startswith("hold."))
    assert isinstance(kernel[at + 1], WaitGroup)
    assert kernel[at + 1].pending == 0
    before = [n for n in names[:at] if n in ("max", "exp", "cvt", "rescale")]
    assert before[-2:] == ["max", "exp"]
    text = emit_attention(DOCUMENT, replace(KERNEL, hold=True))
    assert "hold(__float_as_uint(l[0]));" in text
    assert "hold(" not in emit_attention(DOCUMENT, KERNEL)


def test_nothing_is_held_where_no_work_is():
    program = DOCUMENT.program("consumer")
    idle = replace(program, kernel=tuple(e for e in program.kernel if not isinstance(e, Compute)))
    empty = replace(DOCUMENT, programs=(DOCUMENT.program("producer"), idle))
    assert held(empty) == Extended(document=empty, text="", ops={})


def test_stamps_of_the_loop_are_numbered_and_labelled():
    window = Window(first=4, count=8)
    trace = traced(DOCUMENT, window)
    program = DOCUMENT.program("consumer")
    entries = len(program.kernel)
    assert len(trace.ops) == entries == len(labels(program))
    assert f"{STAMPS}[{program.instances * 8 * entries}]" in trace.text
    text = emit_attention(trace.document, KERNEL, more=trace.ops)
    slots = re.findall(r"stamp\(\(instance \* 8 \+ k - 4\) \* (\d+) \+ (\d+), ", text)
    assert [int(i) for _, i in slots] == list(range(entries))
    assert {"qk", "exp", "take turn", "wait group 1"} <= set(labels(program))


def test_a_window_before_the_loop_is_refused():
    with pytest.raises(BackendError, match="cannot be traced"):
        traced(DOCUMENT, Window(first=0, count=4))


def compiled(extended, kernel, tmp_path):
    source = extended.text + emit_attention(extended.document, kernel, more=extended.ops)
    return build.compile_source(source, cache_dir=tmp_path)


def sass(cubin, tmp_path):
    path = tmp_path / "kernel.cubin"
    path.write_bytes(cubin.data)
    done = subprocess.run(
        [disassembler(), "--dump-sass", str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout


@needs_nvcc
@pytest.mark.parametrize("kernel", SHIPPED_ATTENTION[::2], ids=lambda k: k.name)
def test_stamped_and_held_kernels_compile_without_spills(kernel, tmp_path):
    document = shipped_schedule(kernel.name)
    base = held(document)
    for stamps in (spanned(base.document), traced(base.document, Window(first=4, count=8))):
        report = compiled(base.then(stamps), kernel, tmp_path).report
        assert (report.spill_bytes, report.messages) == (0, ())
        symbol = SPANS if "span.start" in stamps.ops else STAMPS
        assert symbol in stamps.text


def loop_order(text):
    """Exponentials and the wait that retires PV, from the wait that retires QK on."""
    found = re.findall(r"MUFU\.EX2|WARPGROUP\.DEPBAR\.LE gsb0, 0x\d|BAR\.SYNC", text)
    start = found.index("WARPGROUP.DEPBAR.LE gsb0, 0x1")
    return found[start : found.index("BAR.SYNC", start)]


@needs_nvcc
@needs_sass
def test_held_exponentials_run_before_the_wait_for_pv(tmp_path):
    """What the assembler does without holds is in the documentation; with them it must not."""
    cubin = build.compile_source(
        emit_attention(DOCUMENT, replace(KERNEL, hold=True)), cache_dir=tmp_path
    )
    order = loop_order(sass(cubin, tmp_path))
    wait = order.index("WARPGROUP.DEPBAR.LE gsb0, 0x0")
    assert order[:wait].count("MUFU.EX2") >= 64
    assert "MUFU.EX2" not in order[wait:]


@needs_nvcc
@needs_sass
def test_every_stamp_reads_the_clock_behind_its_work(tmp_path):
    trace = traced(DOCUMENT, Window(first=4, count=8))
    text = sass(compiled(trace, KERNEL, tmp_path), tmp_path)
    found = re.findall(r"CS2R [^;]*CLOCK|MUFU\.EX2|F2FP|HGMMA", text)
    clocks = [i for i, name in enumerate(found) if name.startswith("CS2R")]
    assert len(clocks) == len(DOCUMENT.program("consumer").kernel)
    between = [found[a + 1 : b] for a, b in pairwise(clocks)]
    assert sum(part.count("MUFU.EX2") >= 64 for part in between) == 1
    assert sum(part.count("F2FP") == 32 for part in between) == 1
