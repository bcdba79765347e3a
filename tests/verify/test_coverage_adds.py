# ruff: noqa: F821 (axes of kernels are strings)
"""Vectors added to memory by several warps: right; a tile added twice, or a warp too few: wrong."""

from dataclasses import replace

import pytest

import warploom as wl
from tests.ir.modules import edited
from warploom.ir import operations as ops
from warploom.verify.coverage import verify_coverage


@wl.kernel
def column_sums(
    y: wl.In["m", "k"],
    w: wl.In["n", "k"],
    cols: wl.Out["n", wl.f32],
    rows: wl.Out["m", wl.f32],
):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(y.k):
        acc += y[m, k] @ w[n, k].T
    cols[n] += acc.sum(axis=0)
    rows[m] += acc.sum(axis=1)


@pytest.fixture(scope="module")
def made():
    compiled = column_sums.compile("bf16", sizes={"m": 65, "n": 24, "k": 64})
    return compiled.module_of(compiled.choices[0].config)


def test_shares_of_warps_are_added(made):
    report = verify_coverage(made)
    assert report.verdict == "clean", str(report)
    assert "add a share each" in str(report)


def test_sums_that_leave_elements_out_are_found(made):
    def moved(x):
        if not isinstance(x, ops.VectorStore) or x.tensor != "cols":
            return None
        return replace(x, at=(x.at[0] + 1,))

    assert verify_coverage(edited(made, moved)).verdict == "wrong"
