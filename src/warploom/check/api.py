"""``check``: one entry for both kinds of machine code."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from warploom.axioms import resolve
from warploom.check.launch import Launch
from warploom.errors import CheckError, UnsupportedCodeError, WarploomError, cannot_read
from warploom.report import CodeReport

MAX_FILE = 64 << 20
KINDS = {".ptx": "ptx", ".s": "amdgcn", ".amdgcn": "amdgcn", ".gcn": "amdgcn"}

INTERNAL = "the checker failed on this file"
"""How an error of the checker itself is reported; such a report is never clean."""

Against = Callable[..., Any]


def check(
    source: str | Path,
    launch: Launch | Mapping[str, Any] | str | Path | None = None,
    *,
    against: Against | None = None,
    axioms: Mapping[str, bool] | None = None,
    entry: str = "",
    seed: int = 0,
    **options: Any,  # noqa: ANN401 (options of one kind of machine code)
) -> CodeReport:
    """Check machine code, given as a file or as its text, for every timing of one launch.

    ``launch`` is a ``Launch``, its JSON values, or a launch file. ``against`` computes the expected
    outputs: it is called with the input arrays by name and returns arrays by name (or one array
    where there is one output). ``axioms`` sets axioms by name. What cannot be read or is not
    modelled is a report as well (``malformed``, ``unsupported``), never an exception.
    """
    name, began = name_of(source), time.perf_counter()
    try:
        text = read_source(source)
        made = read_launch(launch)
        settings = resolve(axioms)
        kind = kind_of(text, name)
        if kind == "ptx":
            from warploom.check.ptx.check import check_ptx

            report = check_ptx(
                text,
                made,
                axioms=settings,
                against=against,
                entry=entry,
                seed=seed,
                file=name,
                **options,
            )
        else:
            try:
                amdgcn = import_module("warploom.check.amdgcn")
            except ModuleNotFoundError:
                raise UnsupportedCodeError("AMDGCN assembly", where=name) from None
            report = amdgcn.check_amdgcn(
                text,
                made,
                axioms=settings,
                against=against,
                entry=entry,
                seed=seed,
                file=name,
                **options,
            )
    except UnsupportedCodeError as error:
        return CodeReport(file=name, entry=entry, unsupported=str(error))
    except WarploomError as error:
        return CodeReport(file=name, entry=entry, error=str(error))
    except (MemoryError, RecursionError):
        return CodeReport(file=name, entry=entry, error="the file or launch is too large to check")
    except Exception as error:
        what = f"{INTERNAL}: {type(error).__name__}: {error}"
        return CodeReport(file=name, entry=entry, unsupported=what)
    report.figures["seconds"] = round(time.perf_counter() - began, 3)  # type: ignore[index]
    return report


def name_of(source: str | Path) -> str:
    """The name reports use: the file's, or that it was given as text (of several lines)."""
    return "<source>" if isinstance(source, str) and "\n" in source else str(source)


def read_source(source: str | Path) -> str:
    """The text of machine code; a text of several lines is itself."""
    if isinstance(source, str) and "\n" in source:
        return source
    path = Path(source)
    try:
        if path.stat().st_size > MAX_FILE:
            raise CheckError(f"the file is larger than {MAX_FILE} bytes", where=str(path))
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise CheckError(cannot_read(path, error)) from None


def read_launch(launch: Launch | Mapping[str, Any] | str | Path | None) -> Launch:
    """A launch of whatever form."""
    if isinstance(launch, Launch):
        return launch
    if launch is None:
        raise CheckError(
            "no launch given",
            where="launch",
            why="grid, block, parameters and tensors are not in the machine code",
            fix="--launch launch.json; docs/howto/check.md describes the file",
        )
    if isinstance(launch, Mapping):
        return Launch.from_json(dict(launch))
    return Launch.read(launch)


def kind_of(text: str, name: str) -> str:
    """``ptx`` or ``amdgcn``: by the name of the file, else by what the text begins with."""
    result = KINDS.get(Path(name).suffix.lower())
    if result is not None:
        return result
    if ".amdgcn_target" in text or ".amdhsa_kernel" in text:
        return "amdgcn"
    if ".version" in text[:65536] and ".target" in text:
        return "ptx"
    raise CheckError(
        "neither PTX nor AMDGCN assembly",
        where=name,
        why="PTX has .version and .target, AMDGCN has .amdgcn_target",
        fix="give a .ptx, .s or .amdgcn file",
    )
