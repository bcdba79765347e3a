"""Kernels of two products on gfx950 as commands see them: scheduled and emitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from warploom.cli.kernels import TileKernel
from warploom.cli.screen import Answer, working, write_file
from warploom.cli.subject import Subject
from warploom.document import ScheduleDocument
from warploom.emit.gfx950 import EmittedKernel, GemmTile, write_kernel
from warploom.emit.gfx950.attention import (
    AttentionText,
    attention_schedule,
    attention_text,
    attention_tile,
    fit_attention,
    held_registers,
)
from warploom.errors import BackendError, ConfigError


def scheduled(kernel: TileKernel, tile: str | None = None) -> ScheduleDocument:
    """The solved and guarded schedule of a kernel; no compiler is asked."""
    with working(f"scheduling {kernel.text.name}"):
        return attention_schedule(*_tiled(kernel, tile)).document


def _tiled(kernel: TileKernel, tile: str | None) -> tuple[AttentionText, GemmTile]:
    """The text and its tile, queries x keys x head."""
    text = attention_text(kernel.compiled.kernel)
    made = attention_tile(text)
    if tile is not None:
        parts = [int(p) for p in tile.lower().split("x") if p.isdigit()]
        if len(parts) != 3 or parts[2] != text.width or parts[0] % 32 or not all(parts):
            fix = f"queries in steps of 32, keys and the head, e.g. 128x64x{text.width}"
            raise ConfigError(f"{tile!r} is no tile of {kernel.text.name}", where="--tile", fix=fix)
        made = attention_tile(text, keys=parts[1], waves=parts[0] // 32)
    return text, made


def emit_two_products(kernel: TileKernel, spec: str, tile: str | None, output: Path) -> Answer:
    """Schedule, prove, emit, gate and write a kernel, and say what came out."""
    text, made = _tiled(kernel, tile)
    with working(f"scheduling and emitting {kernel.text.name}"):
        schedule, found = fit_attention(text, made)
    subject = Subject(spec=spec, document=schedule.document)
    subject.require_proof("")
    source = {"spec": spec, "dtype": kernel.dtype, "choices": dict(kernel.choices)}
    found = replace(found, sidecar=found.sidecar | {"text": source})
    head = f"{subject.name}: {made.label()}, scheduled for {subject.document.target}, proven"
    held = held_registers(found.plan, found.gate.resources).text()
    return emitted(subject, found, output, [head, schedule.status(), held])


def emitted(
    subject: Subject,
    kernel: EmittedKernel[Any],
    output: Path,
    lines: list[str],
    more: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    """Write a kernel's files, and say what came out."""
    try:
        paths = [str(p) for p in write_kernel(kernel, output)]
    except OSError as error:
        raise BackendError(f"cannot write to {output}: {error.strerror}") from None
    for name, text in more.items():
        write_file(output / name, text)
        paths.append(str(output / name))
    head, *rest = lines
    shown = [head, f"pace: {subject.pace_text()}", kernel.gate.text(), *rest]
    pace = subject.pace()
    data = {
        "files": paths,
        "gate": kernel.gate.to_json(),
        "sidecar": kernel.sidecar,
        "pace": pace.to_json() if pace else None,
    }
    return Answer(lambda: "\n".join([*shown, "wrote " + ", ".join(paths)]), lambda: data)
