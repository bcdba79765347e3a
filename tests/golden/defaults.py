"""How the recorded inputs fare by default, and not only with the reference's waits."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import families  # noqa: E402

from warploom import SyncPolicy, compile_schedule  # noqa: E402
from warploom.errors import VerificationError, WarploomError, WarploomWarning  # noqa: E402

FAMILIES = ("pingpong", "fourwave", "single_buffer", "generic_compile", "verify_failures")
POLICIES = {"default": None, "documented waits": SyncPolicy.REFERENCE}


def verdict(family, inputs, sync):
    """``clean``, ``race`` or ``refused``, and why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        try:
            schedule = families.schedule_of(family, inputs)
            compiled = compile_schedule(schedule, sync=sync)
        except VerificationError as error:
            return "race", _race(error)
        except WarploomError as error:
            return "refused", f"{type(error).__name__}: {_reason(error)}"
    assert compiled.report.verdict == "clean"
    return "clean", ""


def _race(error):
    codes = {f.code.value for f in error.report.findings}
    if codes & {"TOKEN", "COVERAGE", "WAR-REG"}:
        return "the recorded body mixes or loses K-tiles in any timing; no wait can repair that"
    if error.__cause__ is not None:
        return "the recorded manual waits are too weak, and nobody asked to strengthen them"
    return "waits are missing or too weak"


def _reason(error):
    check = getattr(error, "check", "")
    if check:
        return f"check {check}"
    return "".join("N" if c.isdigit() else c for c in error.what.split(":")[0])[:70]


def recorded():
    """Every recorded compilation with a result: (family, inputs)."""
    for family in FAMILIES:
        for case in json.loads((HERE / f"{family}.json").read_text())["cases"]:
            yield family, case["inputs"]


def section():
    """The page's section, all compilations made now."""
    tables, reasons = {}, Counter()
    for family, inputs in recorded():
        for name, sync in POLICIES.items():
            said, why = verdict(family, inputs, sync)
            tables[family, name, said] = tables.get((family, name, said), 0) + 1
            if said != "clean":
                reasons[name, said, why] += 1
    lines = [
        "## Recorded inputs, compiled by default",
        "",
        "The golden replay compares with `SyncPolicy.REFERENCE`, entry by entry. This is what the",
        "same inputs give a user who leaves `sync` alone, and with the documented waits judged.",
        "",
        "| family | waits | clean | race | refused |",
        "|---|---|---|---|---|",
    ]
    for family in FAMILIES:
        for name in POLICIES:
            row = [tables.get((family, name, s), 0) for s in ("clean", "race", "refused")]
            lines.append(f"| {family} | {name} | {row[0]} | {row[1]} | {row[2]} |")
    lines += ["", "| waits | verdict | why | inputs |", "|---|---|---|---|"]
    for (name, said, why), count in sorted(reasons.items()):
        lines.append(f"| {name} | {said} | {why} | {count} |")
    return "\n".join(lines)
