"""Files of any origin: an error or a verdict, never a traceback or a hang."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.check.code import HEAD, kernel, launch
from warploom.check import check
from warploom.check.api import INTERNAL

CASES = sorted((Path(__file__).parents[2] / "bench" / "syncbench" / "cases").glob("*/fixed.ptx"))


def ends(text, given, **more):
    start = time.perf_counter()
    report = check(text, given, **more)
    assert time.perf_counter() - start < 60
    assert INTERNAL not in report.unsupported, report.unsupported
    return report


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        "\0\1\2\n" * 50,
        "// nothing\n.version 8.0\n.target sm_90a\n",
        ".version 8.0\n.target sm_90a\n.visible .entry kernel(\n",
        HEAD,
        HEAD + "}}}}\n",
        HEAD + "bra nowhere;\n}\n",
        HEAD + "mov.u32 %r99999, 1;\n}\n",
        HEAD + "frobnicate.b32 %r1, %r2;\n ret;\n}\n",
        HEAD + "{" * 3000,
        ".version 8.0\n.target sm_90a\n.shared .b8 s[99999999999999];\n",
        "ELF" * 1000 + "\n",
    ],
)
def test_files_that_are_no_kernels(text):
    assert ends(text, launch()).exit_code == 2


def test_endless_loops_end():
    forever = ends(kernel("L: bra L;"), launch(), budget=200_000)
    assert forever.verdict.value in ("unsupported", "deadlock")
    counting = ends(kernel("L: add.s32 %r1, %r1, 1; bra L;"), launch(), budget=200_000)
    assert counting.exit_code != 0


def test_a_spin_on_a_flag_that_nobody_sets_is_a_deadlock():
    body = "ld.param.u64 %d1, [y]; L: ld.volatile.global.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, 7;"
    report = ends(kernel(body + " @%p1 bra L;"), launch(y={"init": "zero"}))
    assert report.verdict.value == "deadlock"


def test_sizes_beyond_reason_are_refused():
    given = launch(grid=[1 << 30, 1, 1])
    assert ends(kernel("mov.u32 %r1, 1;"), given).exit_code == 2
    wide = launch(x={"shape": [1 << 26]})
    assert ends(kernel("mov.u32 %r1, 1;"), wide).exit_code == 2


def test_a_missing_file_and_a_folder(tmp_path):
    assert check(tmp_path / "none.ptx", launch()).verdict.value == "malformed"
    assert check(tmp_path, launch()).verdict.value == "malformed"
    assert check(CASES[0], None).verdict.value == "malformed"


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files(seed):
    rng = random.Random(seed)
    for _ in range(15):
        path = rng.choice(CASES)
        text = path.read_text()
        way = rng.randrange(3)
        if way == 0:
            text = text[: rng.randrange(len(text))]
        elif way == 1:
            letters = list(text)
            for _ in range(4):
                letters[rng.randrange(len(letters))] = rng.choice('{}[](),;:.%@!_|+-09ax \n"\\')
            text = "".join(letters)
        else:
            lines = text.split("\n")
            for _ in range(2):
                lines.pop(rng.randrange(len(lines)))
            text = "\n".join(lines)
        ends(text + "\n", path.parent / "launch.json", budget=60_000)


def test_initial_values_beyond_a_variable():
    text = kernel(" nop;").replace(
        ".visible .entry", ".global .align 4 .b8 g[3] = {1, 2, 3, 4, 5};\n.visible .entry"
    )
    report = check(text, launch())
    assert report.error
    assert "initial values" in report.error or "values" in report.error
