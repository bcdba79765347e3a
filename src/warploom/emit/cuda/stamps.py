"""Kernels that write down the clock: stamps are entries of their own, put into a document.

A *span* is the time a CTA works on its tiles, and how many iterations these had: two clock readings
a tile. A *trace* reads the clock behind every entry of the loop, for a few iterations of CTA 0: it
slows the loop down, so the interval of the traced kernel belongs beside its figures.

Stamps touch nothing of the schedule; the verifier judges a stamped document like any other. The
numbers go to arrays of the module (``SPANS``, ``STAMPS``), which the host reads by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.document.roles import (
    BulkStore,
    Compute,
    Load,
    Mma,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.emit.cuda.holds import RESULTS, Extended, lines, with_program
from warploom.emit.cuda.lowering import Lowering
from warploom.errors import BackendError

SPANS, STAMPS = "warploom_spans", "warploom_stamps"
SPAN_FIELDS = 3  # first and last clock, iterations
MOST_CTAS = 1024
THREADS = 128  # of an instance

_SPAN_TEXT = f"""\
extern "C" {{ __device__ unsigned long long {SPANS}[{SPAN_FIELDS * MOST_CTAS}]; }}
"""

_STAMP_TEXT = """\
extern "C" {{ __device__ unsigned long long {name}[{size}]; }}
// The clock, not before `pin` is known; no value compares equal to the pattern.
__device__ __forceinline__ void stamp(int slot, unsigned int pin) {{
  unsigned long long now = 0;
  asm volatile("{{\\n.reg .pred known;\\nsetp.ne.u32 known, %1, 0x7fffdead;\\n"
               "@known mov.u64 %0, %%clock64;\\n}}" : "+l"(now) : "r"(pin) : "memory");
  {name}[slot] = now;
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which iterations of a tile are traced."""

    first: int = 8
    count: int = 16


def spanned(document: RolesDocument, role: str = "consumer") -> Extended:
    """The document with the clock read around every tile of the role's first instance."""
    program = document.program(role)
    stamped = replace(
        program,
        prologue=(Compute(op="span.start", reason="the clock"), *program.prologue),
        epilogue=(*program.epilogue, Compute(op="span.end", reason="the clock")),
    )
    base = f"{SPANS}[{SPAN_FIELDS} * blockIdx.x"
    first_thread = f"if (threadIdx.x == {THREADS}) "
    return Extended(
        document=with_program(document, stamped),
        text=_SPAN_TEXT,
        ops={
            "span.start": lines(
                f"{first_thread}atomicMin(&{base}], (unsigned long long)clock64());"
            ),
            "span.end": lines(
                f"{first_thread}{{",
                f"  atomicMax(&{base} + 1], (unsigned long long)clock64());",
                f"  atomicAdd(&{base} + 2], (unsigned long long)k_tiles);",
                "}",
            ),
        },
    )


def traced(document: RolesDocument, window: Window, role: str = "consumer") -> Extended:
    """The document with the clock read behind every entry of the role's loop."""
    program = document.program(role)
    if window.count < 1 or window.first < program.peel:
        raise BackendError(
            f"iterations {window.first} to {window.first + window.count} cannot be traced",
            where="Window",
            fix=f"the loop begins with iteration {program.peel}",
        )
    kernel: list[RoleEntry] = []
    ops: dict[str, Lowering] = {}
    for i, entry in enumerate(program.kernel):
        name = f"stamp.{i}"
        kernel += [entry, Compute(op=name, reason="the clock")]
        ops[name] = lines(*_stamp(window, len(program.kernel), i, _pin(entry)))
    size = program.instances * window.count * len(program.kernel)
    return Extended(
        document=with_program(document, replace(program, kernel=tuple(kernel))),
        text=_STAMP_TEXT.format(name=STAMPS, size=size),
        ops=ops,
    )


def _stamp(window: Window, entries: int, index: int, pin: str) -> list[str]:
    slot = f"(instance * {window.count} + k - {window.first}) * {entries} + {index}"
    inside = f"k >= {window.first} && k < {window.first + window.count}"
    return [
        f"if (blockIdx.x == 0 && threadIdx.x % {THREADS} == 0 && {inside})",
        f"  stamp({slot}, {pin});",
    ]


def _pin(entry: RoleEntry) -> str:
    """A register the entry wrote, as an expression: its stamp waits for it."""
    written = entry.writes if isinstance(entry, Compute) else ()
    return RESULTS[written[-1]][-1] if written and written[-1] in RESULTS else "0"


def labels(program: RoleProgram) -> tuple[str, ...]:
    """What stands behind each stamp of a program's loop."""
    return tuple(_label(e) for e in program.kernel)


def _label(entry: RoleEntry) -> str:
    match entry:
        case Compute() | Mma() | Load() | BulkStore():
            return entry.op
        case WaitFull() | WaitEmpty():
            return f"wait {entry.ring}"
        case WaitGroup():
            return f"wait group {entry.pending}"
        case NamedSync():
            return "take turn"
        case NamedArrive():
            return "give turn"
        case _:
            return type(entry).__name__
