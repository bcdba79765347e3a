"""Small CUDA kernels in right and wrong forms: every wrong one found, every right one clean."""

from __future__ import annotations

import pytest

from tests.check.test_pairs import FOUND, SYNC, launch_of
from tests.check.variants import VARIANTS
from warploom.check import check
from warploom.compiler.cubin import find_toolchain, ptx_of
from warploom.errors import BackendError

SLICE = ["bounded_tries", "single_try", "give_up_trap", "elect_vs_lane0", "relaxed_data_and_flag",
         "nc_load_of_written", "dsmem_before_start", "atomic_shared_flag"]  # fmt: skip

# Sums of a product stay where they are: the compiler moves none across this line.
TIE = """#define TIE(d) \\
  asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) :: "memory")"""


def _reports(name):
    try:
        find_toolchain()
    except BackendError:
        pytest.skip("no CUDA compiler")
    labels, code, given = VARIANTS[name]
    head = SYNC.read_text().replace("#pragma once", "")
    for v, label in enumerate(labels):
        text = ptx_of(f"#define V {v}\n{TIE}\n{head}\n{code}")
        for old, new in given.get("sub", {}).get(v, ()):
            assert old in text
            text = text.replace(old, new)
        yield label, check(text, launch_of(given))


def _judge(name):
    for label, report in _reports(name):
        if label == "ok":
            assert report.clean, report.text()
        else:
            assert report.verdict in FOUND, report.text()


@pytest.mark.parametrize("name", SLICE)
def test_variants(name):
    _judge(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in VARIANTS if n not in SLICE])
def test_more_variants(name):
    _judge(name)


def test_the_leader_of_an_election_is_an_axiom():
    (_, mine), (_, other), _ = _reports("elect_vs_lane0")
    assert not mine.without
    assert any(a.startswith("elect_lowest=on") and "is race" in a for a in other.assumes)
    assert other.without == (("elect_lowest", "race"),)
    assert other.to_json()["without"] == {"elect_lowest": "race"}
    assert "with the axiom elect_lowest turned off (elect_lowest=off): race" in other.text()
