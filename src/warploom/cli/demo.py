"""``warploom demo``: what the project does, on one screen, from this very machine."""

from __future__ import annotations

import inspect
import shlex
import shutil
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli import gpu
from warploom.cli.display import display
from warploom.cli.problem import make_problem
from warploom.cli.screen import columns, paint, require_ending, say, wrapped, write_file
from warploom.cli.source import load
from warploom.cli.subject import Subject
from warploom.interp.executor import Scripted, execute
from warploom.ir import ScheduleDocument
from warploom.ir.schedule_ops import ScheduleOps
from warploom.kernels.swiglu import swiglu
from warploom.verify import verify, witness
from warploom.viz import timeline_html, timeline_strip
from warploom.viz.text import LABEL

SHOWN = ("swiglu", "gemm", "attention", "fourwave")
DRAWN = {"fourwave": (), "attention": ("tensor", "mufu")}
WIDEST = 100
NEXT = {
    "warploom show gemm": "every entry and why",
    "warploom timeline attention": "a picture; -o x.html",
    "warploom diff pingpong fourwave": "side by side",
    "warploom emit h200 gemm -o out": "CUDA source and cubin",
}


def demo_command(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The page; default: a temporary file.")
    ] = None,
) -> None:
    """Declare, compile, prove, draw, break and catch: one screen in a few seconds.

    Example: warploom demo
    """
    require_ending(output, ".html", ".htm")
    width = min(WIDEST, columns())
    subjects = {name: load(name) for name in SHOWN}
    _title("1. What you write: one iteration, here of two products")
    say("\n".join(f"   {line}" for line in _declaration(width)))
    _title("2. What you get: order, waits, barriers, proven and priced")
    _table(subjects, width)
    _title("3. What it looks like: letters are ops, columns cycles")
    for name, lanes in DRAWN.items():
        run = subjects[name].simulate(12)
        lines = timeline_strip(run, width=width - 3, lanes=lanes, paint=paint)
        scale = lines[0][:LABEL].replace("1 column =", f"{name},").strip()
        lines[0] = f"{scale:<{LABEL}}{lines[0][LABEL:]}"
        say("\n".join(f"   {line.rstrip()}" for line in lines))
    drawn = subjects["attention"]
    shown = display(drawn)
    run = shown.simulate(6)
    path = output or Path(tempfile.mkdtemp(prefix="warploom-")) / "timeline.html"
    page = timeline_html(
        run,
        pace=drawn.pace(),
        reasons=drawn.reasons(),
        lines=shown.lines(),
        title=shown.title,
        codes=shown.codes(),
        panels=shown.panels(),
        clock_hz=drawn.clock_hz,
    )
    write_file(path, page)
    say(f"   as a page: {path}")
    _title("4. Now weaken one wait by one unit, and see it caught")
    _broken(subjects["fourwave"], width)
    _gpu(subjects["gemm"])
    _title("Next (the tutorial begins at docs/index.md)")
    called = program()
    ways = {f"{called}{command.removeprefix('warploom')}": what for command, what in NEXT.items()}
    wide = max(map(len, ways))
    for command, what in ways.items():
        say(f"   {command:<{wide}} {what}" if wide + len(what) + 4 <= width else f"   {command}")


def program() -> str:
    """How to call this program from here: by its name where the shell finds it, else by path."""
    here = Path(sys.argv[0]).absolute()
    found = shutil.which("warploom")
    if found is not None and here.name.startswith("warploom"):
        return "warploom" if Path(found).resolve() == here.resolve() else _from_here(here)
    return "warploom" if found is not None else _from_here(here)


def _from_here(path: Path) -> str:
    if not path.name.startswith("warploom"):
        return f"{_from_here(Path(sys.executable).parent / 'warploom')}"
    cwd = Path.cwd()
    text = str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
    return shlex.quote(text)


def _title(text: str) -> None:
    for line in textwrap.wrap(text, min(WIDEST, columns()), subsequent_indent="   "):
        say(paint(line, "title"))


def _declaration(width: int) -> list[str]:
    """A kernel as its author wrote it; a long signature is broken at its commas."""
    lines: list[str] = []
    text = inspect.getsource(swiglu.function)
    head, _, body = text.partition("):\n")
    head = " ".join(head.split()).replace("( ", "(").removesuffix(",").replace(" def ", "\ndef ", 1)
    for line in f"{head}):\n{body}".splitlines():
        deeper = " " * (len(line) - len(line.lstrip()) + 8)
        lines += textwrap.wrap(
            line, width - 3, subsequent_indent=deeper, break_long_words=False
        ) or [""]
    return lines


def _table(subjects: dict[str, Subject], width: int) -> None:
    wide = width >= 78
    tile = f"{'tile':<21}" if wide else ""
    say(f"   kernel    target {tile}verdict cycles/tile  bound matrix")
    for name, subject in subjects.items():
        report, pace = subject.report(), subject.pace()
        assert pace is not None
        word = paint(f"{report.verdict:<7}", "good" if report.verdict == "clean" else "bad")
        busy = "-" if pace.matrix is None else f"{pace.matrix:.0%}"
        tile = f"{subject.work().replace(' queries x ', 'x').replace(' keys,', ''):<21}"
        say(
            f"   {name:<9} {subject.document.target:<7}{tile if wide else ''}{word} "
            f"{pace.per_tile:>11g} {pace.bound / pace.tiles:>6g} {busy:>6}"
        )
    text = (
        "clean: no race for any timing and trip count; cycles are simulated, on measured (h200) "
        "or public (mi355x) rates"
    )
    say("\n".join(wrapped("   ", text, width)))


def _broken(subject: Subject, width: int) -> None:
    document = subject.document
    assert isinstance(document, ScheduleDocument)
    at = next(i for i, e in enumerate(document.kernel) if e.op.tag == ScheduleOps.WAIT_VM)
    entry = document.kernel[at]
    weaker = replace(entry, op=replace(entry.op, wait_value=entry.op.wait_value + 1))
    broken = replace(document, kernel=(*document.kernel[:at], weaker, *document.kernel[at + 1 :]))
    finding = verify(broken).findings[0]
    shown = witness(broken, finding)
    done = execute(broken, timing=Scripted(shown))
    say(f"   kernel[{at}] {entry.op.label()} -> {weaker.op.label()}: {paint('race', 'bad')}")
    steps = [line for line in shown.text().splitlines()[3:] if "=>" not in line]
    for line in steps:
        say("\n".join(wrapped("     ", line.strip(), width)))
    wrong = "a wrong product" if not done.correct else "the right product"
    say(f"   on real matrices that order computes {paint(wrong, 'bad')}")


def _gpu(subject: Subject) -> None:
    missing = gpu.why_no_gpu()
    if missing:
        _title(f"5. No Hopper GPU to race the library on: {missing}")
        return
    assert subject.kernel is not None
    bound = gpu.Bound(make_problem(subject.kernel, None, [], timed=True))
    errors, _ = bound.check()
    times = bound.race(rounds=4)
    ours, theirs = times["warploom"], times["library"]
    _title(f"5. On the GPU here: {bound.problem.words}, error {max(errors.values()):.1e}")
    say(f"   warploom {ours:.3f} ms, library {theirs:.3f} ms: {theirs / ours:.3f} x")
