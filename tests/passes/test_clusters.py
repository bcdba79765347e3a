"""Clusters: CTAs one below the other fetch what their rows share once, and wait for one another."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.mbarrier.samples import meeting
from warploom.compiler.compiled import Compiled
from warploom.compiler.described import binary_of
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError
from warploom.interp.executor.roles import first_fault
from warploom.ir.mbarrier_dialect import Arrive, Load, WaitEmpty
from warploom.ir.tile import DType
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.passes.heuristics import choose
from warploom.passes.tile_order import tiles_of
from warploom.verify.roles import verify_roles

HALF = dict.fromkeys(("a", "b", "out"), DType.BF16)
SIZES = {"m": 1000, "n": 3000, "k": 5000}
SLOW = pytest.mark.slow
TILE = {"m": 128, "n": 64, "consumer_warpgroups": 2}


@cache
def compiled(**pins):
    kernel = gemm.specialise(
        HALF, constants={"activation": None, "alpha": 1.0}, without=frozenset({"bias", "residual"})
    )
    return Compiled(kernel, sizes=SIZES, pins={**TILE, **pins})


@cache
def lowered(**pins):
    made = compiled(**pins)
    return made.lower(made.choices[0].config)


def entries(document, kind):
    return [e for p in document.programs for _, row in p.phases() for e in row if type(e) is kind]


def changed(document, kind, change):
    """The document with every entry of a kind changed, or left out where that gives None."""

    def row(listed):
        made = (change(e) if type(e) is kind else e for e in listed)
        return tuple(e for e in made if e is not None)

    phases = ("setup", "prologue", "kernel", "epilogue", "finish")
    programs = [replace(p, **{n: row(getattr(p, n)) for n in phases}) for p in document.programs]
    return replace(document, programs=tuple(programs))


@pytest.mark.parametrize(
    ("size", "split"),
    [(2, 1), pytest.param(2, 2, marks=SLOW), pytest.param(4, 1, marks=SLOW)],
)
def test_shares_are_fetched_into_every_cta(size, split):
    document = lowered(cluster=size, split_k=split).document
    assert document.cluster == size
    loads = {e.multicast: e.bytes for e in entries(document, Load)}
    assert loads == {1: 128 * 128, size: 64 * 128 // size}
    assert {e.ctas for e in entries(document, Arrive)} == {size}
    assert document.rings[0].empty_arrivals == 2 * 4 * size
    assert verify_roles(document).clean
    if size == 2:
        assert first_fault(document, (2, 1), range(2)) is None


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (Arrive, lambda e: replace(e, ctas=1)),  # the others' slots are overwritten
        (Load, lambda e: replace(e, multicast=1)),
        (WaitEmpty, lambda e: None if e.k > 0 else e),  # a CTA leaves while others reach it
    ],
)
def test_what_a_cluster_needs_is_missed(kind, change):
    assert not verify_roles(changed(lowered(cluster=2).document, kind, change)).clean


def test_the_text_meets_casts_and_arrives():
    text = emit_kernel(lowered(cluster=2)).text
    assert "__cluster_dims__(2, 1, 1)" in text
    assert text.count("cluster_start();") == 1
    assert "cluster_sync" not in text  # they leave when all slots are free
    assert text.count("_EMPTY + 8 * ring_v2_v3.at<7>().slot") == 1
    assert "rank * 32, 3" in text
    assert "if (lane < 2) mbar_arrive_at(" in text
    assert "mbar_wait(" not in text.replace("mbar_wait_cluster", "")
    plain = emit_kernel(lowered(cluster=1)).text
    assert "cluster" not in plain.replace("shared::cluster", "").replace("release.cluster", "")


def test_ctas_that_meet_in_the_end_do_so_with_a_release():
    made = lowered(cluster=2)
    document = meeting(made.document)
    assert verify_roles(document).clean
    text = emit_kernel(replace(made, document=document)).text
    assert text.rstrip().endswith("  cluster_sync();\n}")
    assert "barrier.cluster.arrive.release;" in text


def test_the_launch_counts_clusters():
    made = compiled(cluster=2)
    config = made.choices[0].config
    assert tiles_of(made.rewritten, config, SIZES) == 4 * 47
    odd = SIZES | {"m": 1025}  # nine rows of tiles: the last cluster has one without rows
    assert tiles_of(made.rewritten, config, odd) == 5 * 47


@pytest.mark.slow
def test_a_cluster_is_compiled_and_described():
    made = compiled(cluster=2)
    built = made.build(made.choices[0].config)
    assert built.cubin.report.kept
    assert binary_of(made, built=built).cluster == 2


def test_rows_across_lines_are_fetched_together():
    """K = 5000: rows start anywhere in a line of memory, and cost the copy engine twice."""
    kernel = compiled().rewritten
    assert choose(kernel, SIZES)[0].config.cluster > 1
    assert choose(kernel, {"m": 4096, "n": 4096, "k": 4096})[0].config.cluster == 1


def test_where_nothing_is_shared_clusters_are_refused():
    heads = dict.fromkeys(("q", "k", "v", "out"), DType.BF16)
    kernel = attention.specialise(
        heads,
        sizes={"d": 64},
        constants={"causal": False},
        without=frozenset({"lse", "lengths"}),
    )
    with pytest.raises(KernelError, match="clusters of 2 CTAs"):
        choose(kernel, pins={"cluster": 2})
    with pytest.raises(KernelError, match="shares of a tile"):
        choose(compiled().rewritten, SIZES, pins={"m": 128, "n": 72, "cluster": 2})
