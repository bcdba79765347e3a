"""One documented promise, its verdict, and the tests that rows name."""

from __future__ import annotations

from dataclasses import dataclass

GOLDEN = "golden/test_replay::test_family_equals_the_reference"
DOC = "compile/test_documented::"
CONFIG = "compile/test_documented_configs::"
SYNC = "compile/test_stated_sync::"
UNIT = "compile/test_units::"
FEAS = "compile/test_feasible::"
VALUES = "errors/test_values::"
SINGLE = "compile/test_single_buffer::"
WARN = "errors/test_warnings::"
SAME, BETTER, DEVIATION = "same", "better", "deviation"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One documented promise."""

    text: str
    where: str
    test: str
    verdict: str = SAME
    note: str = ""


def same(text: str, where: str, test: str) -> Item:
    return Item(text=text, where=where, test=test)


def better(text: str, where: str, test: str, note: str) -> Item:
    return Item(text=text, where=where, test=test, verdict=BETTER, note=note)


def deviation(text: str, where: str, test: str, note: str) -> Item:
    return Item(text=text, where=where, test=test, verdict=DEVIATION, note=note)
