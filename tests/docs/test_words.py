"""One word a thing: what of the glossary can be checked."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/warploom", "docs", "tests", "bench", "scripts", "examples")
SOURCE = ("src/warploom", "docs/explain", "docs/howto", "docs/tutorial", "docs/kernels")
GLOSSARY = (ROOT / "docs/reference/glossary.md").read_text()


def lines(*folders):
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md") and path != Path(__file__):
                yield from ((path, line) for line in path.read_text().splitlines())


def said(words, *folders, unless="$^"):
    """Lines with the words, but for those with what allows them."""
    wrong, right = re.compile(words), re.compile(unless)
    return [f"{p}: {x}" for p, x in lines(*folders) if wrong.search(x) and not right.search(x)]


def test_every_word_has_one_row():
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.M)
    words = Counter(word for row in rows for word in row.split(", "))
    bold = Counter(re.findall(r"\*\*(.+?)\*\*", GLOSSARY))
    assert [w for w, n in words.items() if n > 1] == []
    assert [w for w, n in bold.items() if n > 1] == []


def test_behind_is_said_of_what_lags():
    """A group falls behind, a walk leaves behind; what comes later comes after."""
    lags = r"(lags?|falls?|leave them|runs?|barriers?|group is|share of ``ii``|one) (.* )?behind"
    allowed = rf"{lags}|compiler's back|behind (or level|= |else)|behind else"
    assert said(r"\bbehind\b", *FOLDERS, unless=allowed) == []


def test_an_op_lags_and_has_no_stage():
    """A stage is storage, and an order knows none; its schedule has lags, cycles, an overlap."""
    assert said(r"(?i)stage", "src/warploom/order", unless="staged") == []
    assert said(r"(?i)pipeline stage|stages? of an op\b", *SOURCE) == []


def test_a_phase_is_prologue_kernel_or_epilogue():
    """An mbarrier has a phase bit and completes laps; an op of a schedule issues in a cycle."""
    assert said(r"(?i)barriers?('s)? phases?(?! bit)", *SOURCE) == []
    assert said(r"(?i)\bphases?\b(?! bit)", "src/warploom/order", unless="Phases from") == []
    for name in ("order", "graph", "slots"):
        assert "phase" not in (
            (ROOT / f"src/warploom/verify/roles/{name}.py").read_text().replace("phases()", "")
        )


def test_a_wave_is_of_lanes():
    """Tiles that run at once are a round."""
    assert said(r"(?i)\bwaves?\b", "src/warploom/lower", "src/warploom/launch") == []


@pytest.mark.parametrize("words", [r"\bkernel turns?\b", r"\bturns? of the loop\b"])
def test_the_loop_has_iterations_and_no_turns(words):
    assert said(words, *SOURCE) == []
