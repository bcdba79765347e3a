"""Claims of README and results page rest on files in ``bench/results``, losses included."""

import importlib.util
import re
from pathlib import Path
from statistics import geometric_mean

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
RESULTS = (ROOT / "docs" / "reference" / "results.md").read_text()


def module():
    spec = importlib.util.spec_from_file_location("claims", ROOT / "bench" / "lib" / "claims.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


claims = module()


def test_both_tables_are_computed_from_the_files():
    table = "\n".join(claims.summary())
    assert table in README
    assert table in RESULTS
    assert "\n".join(claims.provenance()) in RESULTS


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda c: c.work)
def test_a_claim_names_file_script_tree_and_date(claim):
    assert (ROOT / "bench" / "results" / f"{claim.file}.json").exists()
    assert (ROOT / "bench" / claim.script).exists()
    assert re.fullmatch(r"[0-9a-f]{8}", claim.recorded)
    row = claims.row(claim)
    last = max(claims.day(c) for c in claims.CLAIMS)
    marked = claims.STALE if claims.day(claim) < last else ""
    assert row["measured"] == claims.day(claim) + marked
    assert re.fullmatch(r"2026-\d\d-\d\d", claims.day(claim))
    assert re.fullmatch(r"[0-9a-f]{8}", claims.tree(claim).removesuffix(claims.STALE))
    found = claims.ratios(claim)
    assert row["warploom"].startswith(f"{geometric_mean(found):.2f}")
    assert int(row["slower in"].strip("*")) == sum(r < 1 for r in found)


def test_losses_that_the_readme_tells_are_those_of_the_files():
    by_work = {c.work: claims.ratios(c) for c in claims.CLAIMS}
    words = " ".join(README.split())
    lost = sum(r < 1 for r in by_work["decoding, one query"])
    assert f"torch is ahead in {lost} of 8 decoding cases" in words
    lost = sum(r < 1 for r in by_work["attention forward, the same run"])
    assert f"FlashAttention-3 is ahead in {lost} of 10 forward cases" in words
    four = by_work["weights of 4 bits, 16 to 256 rows"]
    eight = by_work["weights of 8 bits (fp8), 16 to 256 rows"]
    assert [r < 1 for r in four] == [False, False, False, True]
    assert [r < 1 for r in eight] == [False, False, True, True]


def test_backward_at_head_dimension_256_is_what_its_table_has():
    claim = next(c for c in claims.CLAIMS if c.where == "d=256")
    text = (ROOT / "bench" / "results" / "h200_attention_grad.md").read_text()
    mean = re.search(r"geometric mean, D = 256 \(\d\) \|[ |]*\*\*([\d.]+)\*\*", text)[1]
    assert f"{geometric_mean(claims.ratios(claim)):.2f}" == f"{float(mean):.2f}"


def test_peers_that_were_missing_are_reported():
    assert "FA3" in next(c for c in claims.CLAIMS if "backward, head dim 64" in c.work).missing
    assert "FlashAttention-3 is missing from the backward run" in " ".join(README.split())
